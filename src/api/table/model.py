"""What the rows of the field table are made of, and what a row must keep.

A field is of one kind, which says how it looks in C, in a frame, in JSON and in the OpenAPI document:

    kind     C                      JSON
    flag     bool                   true, false; 0 or 1 in a query
    number   uint64_t               a whole number
    text     const char *           a string without NUL
    id       const char *           a string; what no id can be becomes "-", which nothing is called
    code     struct api_bytes       a string, may hold NUL
    word     an enum, 0: not given  one of the words
    json     struct api_bytes       any value, made by reckond
    env      struct api_list        an object of strings; in C each NAME=value
    many     struct api_list        an array of the struct `of`

A number or flag that may be left out has a `has_NAME` beside it; of the others the C value says it.
"""
from dataclasses import dataclass, field
from typing import Optional

KINDS = ("flag", "number", "text", "id", "code", "word", "json", "env", "many")
PLACES = ("body", "path", "query", "whole")  # whole: the answer is this field's value itself
ID_MAX = 31
TEXT_MAX = 64 << 20


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    doc: str = ""
    place: str = "body"
    required: bool = False
    nullable: bool = False  # of an answer: null when there is none, else it is left out
    least: int = 0          # of a number its value, of a text its bytes, of a list its entries
    most: Optional[int] = None
    words: tuple = ()
    of: Optional["Struct"] = None
    form: str = ""          # of a text: "path" (absolute), "date-time"
    schema: Optional[dict] = None  # JSON Schema where the kind does not say enough
    example: object = None

    def __post_init__(self):
        assert self.kind in KINDS, f"{self.name}: kind {self.kind}"
        assert self.place in PLACES, f"{self.name}: place {self.place}"
        assert (self.kind == "word") == bool(self.words), f"{self.name}: words"
        assert (self.kind == "many") == (self.of is not None), f"{self.name}: of"
        assert self.form in ("", "path", "date-time"), f"{self.name}: form {self.form}"
        assert self.place != "path" or self.required, f"{self.name}: a path has all its parts"
        assert self.doc or self.schema or self.words, f"{self.name}: no documentation"

    @property
    def maximum(self):
        if self.most is not None:
            return self.most
        return {"number": (1 << 64) - 1, "id": ID_MAX, "env": 256, "many": 100000}.get(
            self.kind, TEXT_MAX)

    @property
    def has_given(self):
        """Whether a bool beside it says that it is there."""
        return self.kind in ("flag", "number") and not self.required


@dataclass(frozen=True)
class Struct:
    name: str
    doc: str
    fields: tuple
    schema: str = ""  # its name in the OpenAPI document; "": it stands where it is used

    def __post_init__(self):
        names = [each.name for each in self.fields]
        assert len(set(names)) == len(names), f"{self.name}: a field twice"


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
    media: str = ""        # of an answer that is no JSON
    takes_struct: Struct = field(init=False)
    gives_struct: Struct = field(init=False)

    def __post_init__(self):
        put = object.__setattr__
        put(self, "takes_struct", Struct(f"{self.name}_in", f"What {self.name} is asked with.",
                                         self.takes))
        put(self, "gives_struct", self.gives if isinstance(self.gives, Struct) else
            Struct(f"{self.name}_out", f"What {self.name} answers.", self.gives))
        parts = {part[1:-1] for part in self.path.split("/") if part.startswith("{")}
        of_path = {each.name for each in self.takes if each.place == "path"}
        assert parts == of_path, f"{self.name}: {parts} in the path, {of_path} in the table"
        assert self.verb in ("GET", "POST", "PUT", "PATCH", "DELETE"), self.name
        assert self.verb in ("POST", "PATCH") or not self.body_fields, f"{self.name}: no body"
        whole = [each for each in self.gives_struct.fields if each.place == "whole"]
        assert not whole or len(self.gives_struct.fields) == 1, f"{self.name}: whole, and more"
        assert not self.media or whole, f"{self.name}: {self.media} of fields"

    @property
    def body_fields(self):
        return tuple(each for each in self.takes if each.place == "body")

    @property
    def whole(self):
        return any(each.place == "whole" for each in self.gives_struct.fields)
