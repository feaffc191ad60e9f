"""The classes of the field table's rows, and the rules for a row.

A field's kind decides its form in C, in a frame, in JSON and in the OpenAPI document:

    kind     C                      JSON
    flag     bool                   true, false; 0 or 1 in a query
    number   uint64_t               a whole number
    seconds  uint64_t NAME_ms       a number of seconds; NAME ends in _s, bounds are milliseconds
    time     uint64_t NAME_ms       a string as in RFC 3339; in C milliseconds since 1970
    text     const char *           a string without NUL
    id       const char *           a string; an impossible id becomes "-", which is never found
    code     struct api_bytes       a string, may hold NUL
    word     an enum, 0: not given  one of the words
    words    uint64_t, a bit each   an array of the words
    json     struct api_bytes       any value
    object   struct api_bytes       an object, stored unchanged except for white space
    env      struct api_list        an object of strings; in C NAME=value each
    base64   struct api_bytes       a base64 string; in C the bytes themselves
    money    uint64_t NAME_micro    an amount, up to six decimals; bounds are millionths
    one      a pointer, or NULL     the struct `of`
    many     struct api_list        an array of the struct `of`

A text in a path takes the decoded rest of the path. An optional number, time or flag has a bool
`has_NAME`; the C value of the other kinds shows whether they are given. A null is 0 in C.
"""
from dataclasses import dataclass, field
from typing import Optional

KINDS = ("flag", "number", "seconds", "time", "text", "id", "code", "word", "words", "json",
         "object", "env", "base64", "money", "one", "many")
# whole: the answer is this field's value itself; if there are several, one is given.
# internal: only a dialect can set it, not a client.
# http: a header that HTTP itself handles: documented, but in no struct.
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
    nullable: bool = False  # in an answer: null if missing, instead of leaving it out; for a
    #                         `many` in a request: empty differs from left out
    excludes: tuple = ()    # names of fields that cannot be given (a flag: be true) with it
    needs: Optional[tuple] = None  # (name, value): a field that must have this value; with a
    #                                True as third item it may also be left out
    status: int = 0         # of an answer that is this field; 0: the call's status
    least: int = 0          # a number's value, a text's bytes, a list's entries
    most: Optional[int] = None
    words: tuple = ()
    of: Optional["Struct"] = None
    form: str = ""          # of a text: "path" (absolute), "date-time", "session-name", "day",
    #                         "line" (no control characters)
    default: object = None  # the value if it is left out, if that is a plain value; sending it is
    #                         the same as leaving it out
    short: str = ""         # of a `many`: an entry may be a string, which is this field's value
    schema: Optional[dict] = None  # JSON Schema, if the kind is not enough
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
        """The field's name in C."""
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
        """Whether a bool `has_NAME` says if it is given."""
        return not self.required and (
            self.kind in GIVEN_KINDS or (self.kind == "many" and self.nullable))

    @property
    def default_value(self):
        """The default in C, or None."""
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
    schema: str = ""  # its name in the OpenAPI document; "": it is written inline

    def __post_init__(self):
        names = [each.name for each in self.fields]
        assert len(set(names)) == len(names), f"{self.name}: a field twice"


NOTHING = Struct("nothing", "An answer that says no more than that it was done.", (),
                 schema="Empty")


@dataclass(frozen=True)
class Call:
    name: str
    verb: str
    path: str              # in the native API, below its prefix; absolute if it begins with "/"
    summary: str
    answer: str            # description of the answer in the OpenAPI document
    scope: Optional[str]   # the scope that the key needs; None: no key is needed
    takes: tuple = ()
    gives: object = ()     # fields, or a Struct
    status: int = 200
    errors: tuple = ()     # statuses in addition to those that its scope and verb imply
    operation: str = ""    # operationId in the OpenAPI document; "": the name
    body: str = ""         # name of the body's schema in the OpenAPI document
    media: str = ""        # of an answer that is not JSON
    description: str = ""
    own_scope: Optional[str] = None  # enough for objects that the same key created
    streams: str = ""      # the answer may be a stream of events of this schema (of a Struct)
    head: tuple = ()       # a header of that answer, and its meaning
    gives_events: bool = False  # the answer is always such a stream
    gives_file: bool = False    # the reply has a descriptor: of a file, or to write to
    commits: str = ""      # of an upload: the call that takes the file; its answer counts
    is_part: bool = False  # part of a client's request that another call counts
    begins: bool = False   # starts something: refused while the daemon drains; implies grows
    grows: bool = False    # stores more data: refused while the disk is full
    needs_box: bool = False  # needs the session's box: a paused session refuses or is resumed
    local: bool = False    # the dialect answers it without reckond
    file_media: tuple = ("application/octet-stream", "*/*")
    also_media: tuple = ()  # of an answer that may also have another media type
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
