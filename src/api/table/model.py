"""What the rows of the field table are made of, and what a row must keep.

A field is of one kind, which says how it looks in C, in a frame, in JSON and in the OpenAPI document:

    kind     C                      JSON
    flag     bool                   true, false; 0 or 1 in a query
    number   uint64_t               a whole number
    seconds  uint64_t NAME_ms       a number of seconds; NAME ends in _s, bounds are milliseconds
    time     uint64_t NAME_ms       a string as in RFC 3339; in C milliseconds since 1970
    text     const char *           a string without NUL
    id       const char *           a string; what no id can be becomes "-", which nothing is called
    code     struct api_bytes       a string, may hold NUL
    word     an enum, 0: not given  one of the words
    words    uint64_t, a bit each   an array of the words
    json     struct api_bytes       any value
    object   struct api_bytes       an object, kept as it came but for white space
    env      struct api_list        an object of strings; in C each NAME=value
    base64   struct api_bytes       a string in base 64; in C the bytes themselves
    money    uint64_t NAME_micro    an amount, up to six decimals; bounds are millionths
    one      a pointer, or NULL     the struct `of`
    many     struct api_list        an array of the struct `of`

A text in a path takes all that is left of it, decoded. A number, time or flag that may be left out has a `has_NAME` beside it; of the others the C value
says it. Of one that may be null a null is 0.
"""
from dataclasses import dataclass, field
from typing import Optional

KINDS = ("flag", "number", "seconds", "time", "text", "id", "code", "word", "words", "json",
         "object", "env", "base64", "money", "one", "many")
# whole: the answer is this field's value itself; of several one is given.
# internal: what speaks for a client says it, no client can.
# http: a header that HTTP itself acts on: documented, and in no struct.
PLACES = ("body", "path", "query", "header", "whole", "internal", "http")
GIVEN_KINDS = ("flag", "number", "seconds", "time", "money")
FORMS = ("", "path", "date-time", "session-name", "day", "line")
ID_MAX = 31
TEXT_MAX = 64 << 20


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    doc: str = ""
    place: str = "body"
    required: bool = False
    nullable: bool = False  # of an answer: null when there is none, else it is left out; of a
    #                         `many` that is taken: none is another thing than left out
    excludes: tuple = ()    # names of fields that may not be given (a flag: be true) beside it
    needs: Optional[tuple] = None  # (name, value): the field that must be so beside it; or, with
    #                                a True as third, be left out
    status: int = 0         # of a whole answer; 0: that of the call
    least: int = 0          # of a number its value, of a text its bytes, of a list its entries
    most: Optional[int] = None
    words: tuple = ()
    of: Optional["Struct"] = None
    form: str = ""          # of a text: "path" (absolute), "date-time", "session-name", "day",
    #                         "line" (no control characters)
    default: object = None  # what holds when it is left out, where that is a plain value; a client
    #                         that sends it says no more than one that leaves it out
    short: str = ""         # of a `many`: the field of an entry that is given as a string alone
    schema: Optional[dict] = None  # JSON Schema where the kind does not say enough
    example: object = None

    def __post_init__(self):
        assert self.kind in KINDS, f"{self.name}: kind {self.kind}"
        assert self.place in PLACES, f"{self.name}: place {self.place}"
        assert (self.kind in ("word", "words")) == bool(self.words), f"{self.name}: words"
        assert (self.kind in ("one", "many")) == (self.of is not None), f"{self.name}: of"
        assert self.form in FORMS, f"{self.name}: form {self.form}"
        assert self.kind != "seconds" or "_s" in self.name, f"{self.name}: in seconds"
        assert self.place != "http" or self.kind == "text", f"{self.name}: a header is text"
        assert self.place != "path" or self.required, f"{self.name}: a path has all its parts"
        assert self.doc or self.schema or self.words or self.of, f"{self.name}: no documentation"

    @property
    def member(self):
        """Its name in C."""
        name = self.name.lower().replace("-", "_")
        if self.kind == "seconds":
            return name[:-2] + "_ms" if name.endswith("_s") else name.replace("_s_", "_ms_")
        return name + {"time": "_ms", "money": "_micro"}.get(self.kind, "")

    @property
    def maximum(self):
        if self.most is not None:
            return self.most
        return {"number": (1 << 64) - 1, "seconds": (1 << 63) - 1, "time": (1 << 63) - 1,
                "money": 1 << 53, "id": ID_MAX, "env": 256, "many": 100000}.get(self.kind, TEXT_MAX)

    @property
    def has_given(self):
        """Whether a bool beside it says that it is there."""
        return not self.required and (
            self.kind in GIVEN_KINDS or (self.kind == "many" and self.nullable))

    @property
    def default_value(self):
        """In C; None: there is none."""
        if self.default is None:
            return None
        if self.kind == "word":
            return self.words.index(self.default) + 1
        assert self.kind in ("flag", "number", "seconds"), f"{self.name}: default of no number"
        return int(self.default * 1000) if self.kind == "seconds" else int(self.default)


@dataclass(frozen=True)
class Struct:
    name: str
    doc: str
    fields: tuple
    schema: str = ""  # its name in the OpenAPI document; "": it stands where it is used

    def __post_init__(self):
        names = [each.name for each in self.fields]
        assert len(set(names)) == len(names), f"{self.name}: a field twice"


NOTHING = Struct("nothing", "An answer that says no more than that it was done.", (),
                 schema="Empty")


@dataclass(frozen=True)
class Call:
    name: str
    verb: str
    path: str              # of the native API, behind its prefix; whole when it begins with "/"
    summary: str
    answer: str            # what the answer is, in the OpenAPI document
    scope: Optional[str]   # that the key must have; None: no key is needed
    takes: tuple = ()
    gives: object = ()     # fields, or a Struct
    status: int = 200
    errors: tuple = ()     # statuses beside those that any call with such a scope and verb can have
    operation: str = ""    # in the OpenAPI document; "": the name
    body: str = ""         # name of the body's schema there
    media: str = ""        # of an answer that is not JSON
    description: str = ""
    own_scope: Optional[str] = None  # enough for what the key itself began
    streams: str = ""      # the answer may be a stream of events: of which, a Struct's schema
    head: tuple = ()       # of such an answer: a header, and what it says
    gives_events: bool = False  # and is never anything else
    gives_file: bool = False    # a descriptor comes along: of a file, or to write to
    commits: str = ""      # of an upload: the call that takes what was written; its answer is ours
    is_part: bool = False  # of a request that is counted by another call
    begins: bool = False   # something that a daemon that stops does not begin; it grows, too
    grows: bool = False    # it adds to what is kept, and is refused while the disk is full
    needs_box: bool = False  # of its session: one that is paused refuses, or is resumed for it
    local: bool = False    # answered by what speaks for the client, of itself
    file_media: tuple = ("application/octet-stream", "*/*")
    also_media: tuple = ()  # of an answer that may have another form
    takes_struct: Struct = field(init=False)
    gives_struct: Struct = field(init=False)

    def __post_init__(self):
        put = object.__setattr__
        put(self, "takes_struct", Struct(f"{self.name}_in", f"What {self.name} is asked with.",
                                         tuple(each for each in self.takes
                                               if each.place != "http")))
        gives = self.gives or NOTHING
        put(self, "gives_struct", gives if isinstance(gives, Struct) else
            Struct(f"{self.name}_out", f"What {self.name} answers.", gives))
        parts = {part[1:-1] for part in self.path.split("/") if part.startswith("{")}
        of_path = {each.name for each in self.takes if each.place == "path"}
        assert parts == of_path, f"{self.name}: {parts} in the path, {of_path} in the table"
        assert self.verb in ("GET", "POST", "PUT", "PATCH", "DELETE") or not (
            self.verb or self.path), self.name
        assert (self.verb in ("POST", "PATCH") or (self.verb == "PUT" and not self.gives_file)
                or not self.body_fields), f"{self.name}: no body"
        whole = [each for each in self.gives_struct.fields if each.place == "whole"]
        assert not whole or len(self.gives_struct.fields) == len(whole), f"{self.name}: and more"
        assert not self.commits or (self.verb in ("PUT", "POST") and self.gives_file), self.name
        assert not self.media or whole, f"{self.name}: {self.media} of fields"

    @property
    def body_fields(self):
        return tuple(each for each in self.takes if each.place == "body")

    @property
    def whole(self):
        return any(each.place == "whole" for each in self.gives_struct.fields)
