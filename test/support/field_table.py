"""The field table of src/api for tests: its calls, the OpenAPI document, encoded structs (images)."""
import functools
import importlib
import struct
import sys

from reckon_cli import ROOT

NUMBERS = ("flag", "number", "seconds", "time", "words", "money")


def part(name):
    """A module of src/api."""
    sys.path.insert(0, str(ROOT / "src/api"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@functools.cache
def table():
    return part("table")


@functools.cache
def errors():
    """The names of enum api_error, by number."""
    return [each.word for each in table().ERRORS]


def document():
    """The document that the daemon serves as openapi.json."""
    return part("openapi").document(ROOT / "docs")


def call(name):
    """The number of a call in frames, and its row of the table."""
    return next((number, each) for number, each in enumerate(table().CALLS, 1) if each.name == name)


def of_bytes(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("=I", 0xffffffff if value is None else len(value)) + (value or b"")


def of_field(field, value):
    if field.kind in NUMBERS:
        if field.has_given and value is None:
            return b"\0"
        given = b"\1" if field.has_given else b""
        return given + (struct.pack("=B", value) if field.kind == "flag" else struct.pack("=Q", value or 0))
    if field.kind == "word":
        return struct.pack("=B", field.words.index(value) + 1 if value else 0)
    if field.kind == "env":
        return struct.pack("=I", len(value or ())) + b"".join(map(of_bytes, value or ()))
    if field.kind == "one":
        return b"\0" if value is None else b"\1" + image(field.of, value)
    if field.kind == "many":
        if field.has_given and value is None:
            return b"\0"
        given = b"\1" if field.has_given else b""
        return given + struct.pack("=I", len(value or ())) + b"".join(image(field.of, each)
                                                                      for each in value or ())
    return of_bytes(value)


def image(of, values):
    """Encodes a struct of the table as in a frame (src/api/image.h)."""
    return b"".join(of_field(field, values.get(field.name)) for field in of.fields)


class Reader:
    """Decodes structs from an image."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def bytes(self):
        size = self.number("=I")
        if size == 0xffffffff:
            return None
        self.at += size
        return self.data[self.at - size:self.at]

    def field(self, field):
        if field.has_given and not self.number("=B"):
            return None
        if field.kind == "flag":
            return bool(self.number("=B"))
        if field.kind in NUMBERS:
            return self.number("=Q")
        if field.kind == "word":
            word = self.number("=B")
            return field.words[word - 1] if word else None
        if field.kind == "one":
            return self.struct(field.of) if self.number("=B") else None
        if field.kind in ("env", "many"):
            return [self.struct(field.of) if field.of else self.bytes()
                    for _ in range(self.number("=I"))]
        value = self.bytes()
        return value.decode() if field.kind in ("text", "id") and value is not None else value

    def struct(self, of):
        return {field.name: self.field(field) for field in of.fields}


def read(of, data):
    reader = Reader(data)
    value = reader.struct(of)
    assert reader.at == len(data)
    return value
