"""Generates calls.h, calls.c and the OpenAPI document from the field table.

usage: generate.py DOCS CALLS_H CALLS_C OPENAPI

DOCS is the folder of the schemas of records and answers.
"""
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from table import CALLS, ERRORS, STRUCTS  # noqa: E402 - needs the path set above
from openapi import document  # noqa: E402

NOTE = "/* Made by src/api/generate.py of the field table, src/api/table. */\n"
C_TYPES = {"flag": "bool ", "number": "uint64_t ", "text": "const char *", "id": "const char *",
           "code": "struct api_bytes ", "json": "struct api_bytes ", "env": "struct api_list ",
           "object": "struct api_bytes ", "many": "struct api_list ", "seconds": "uint64_t ",
           "time": "uint64_t ", "words": "uint64_t ", "money": "uint64_t ",
           "base64": "struct api_bytes "}


def structs():
    """Each struct once: the named ones, then those that each call takes and gives."""
    seen = {}
    for call in CALLS:
        for each in (call.takes_struct, call.gives_struct):
            seen.setdefault(each.name, each)
            assert seen[each.name] is each, f"{each.name} twice"
    named = {each.name: each for each in STRUCTS}
    for name, each in seen.items():
        assert named.setdefault(name, each) is each, f"{name} twice"
    return list(named.values())


def enum_of(struct, field):
    return f"api_{struct.name}_{field.name}"


def comment(text):
    assert "*/" not in text
    return f" /* {text} */" if text else ""


def write_words(struct, field, out):
    name = enum_of(struct, field)
    numbers = [1 << at if field.kind == "words" else at + 1 for at in range(len(field.words))]
    words = ", ".join(f"{name.upper()}_{re.sub('[^A-Z0-9]', '_', word.upper())} = {number}"
                      for number, word in zip(numbers, field.words))
    out.append(f"enum {name} {{ {words} }};")


def write_struct(struct, out):
    for field in struct.fields:
        if field.words:
            write_words(struct, field, out)
    out.append(f"/* {struct.doc} */")
    out.append(f"struct api_{struct.name} {{")
    for field in struct.fields:
        kind = (f"enum {enum_of(struct, field)} " if field.kind == "word" else
                f"const struct api_{field.of.name} *" if field.kind == "one" else
                C_TYPES[field.kind])
        doc = field.doc + (f"; of struct api_{field.of.name}" if field.kind == "many" else "")
        if field.has_given:
            out.append(f"\tbool has_{field.member};")
        out.append(f"\t{kind}{field.member};{comment(doc)}")
    if not struct.fields:
        out.append("\tchar nothing;")
    out.append("};\n")


def header():
    out = [NOTE, "#pragma once\n", '#include "api/describe.h"\n']
    for struct in structs():
        write_struct(struct, out)
    out.append("/* X(NAME, name, struct it takes, struct it gives), for each call of reckond. */")
    out.append("#define API_EACH_CALL(X) \\")
    out.append(" \\\n".join(f"\tX({call.name.upper()}, {call.name}, {call.takes_struct.name}, "
                            f"{call.gives_struct.name})" for call in CALLS if not call.local) +
               "\n")
    out.append("/* Numbers of the calls, in frames too. */")
    out.append("enum api_id {")
    out += [f"\tAPI_{call.name.upper()} = {number}," for number, call in enumerate(CALLS, 1)]
    out.append("};\n")
    out.append(f"#define API_CALL_COUNT {len(CALLS) + 1} /* 0 is none */")
    out.append("extern const struct api_call api_calls[API_CALL_COUNT];")
    out += [f"extern const struct api_type api_type_{each.name};" for each in structs()]
    out.append("\n/* What is wrong; numbers of it are in frames and in the database. */")
    out.append("enum api_error {")
    out += [f"\tAPI_ERR_{error.word} = {error.number},{comment(error.doc)}" for error in ERRORS]
    out.append("};\n")
    out.append(f"#define API_ERROR_COUNT {len(ERRORS)}")
    out.append("extern const struct api_error_row api_errors[API_ERROR_COUNT];")
    return "\n".join(out) + "\n"


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def field_row(struct, field):
    given = (f"offsetof(struct api_{struct.name}, has_{field.member})" if field.has_given else
             "API_NO_OFFSET")
    parts = [f".name = {quoted(field.name)}", f".kind = API_{field.kind.upper()}",
             f".place = API_{field.place.upper()}",
             f".offset = offsetof(struct api_{struct.name}, {field.member})",
             f".given_offset = {given}", f".least = {field.least}ull",
             f".most = {field.maximum}ull"]
    if field.required:
        parts.append(".is_required = true")
    if field.nullable:
        parts.append(".is_nullable = true")
    if field.form in ("path", "session-name", "day", "line"):
        parts.append(f".form = API_FORM_{field.form.upper().replace('-', '_')}")
    if field.default_value is not None:
        parts += [".has_default = true", f".default_value = {field.default_value}ull"]
    if field.short:
        assert field.short in {each.name for each in field.of.fields}, field.name
        parts.append(f".short_name = {quoted(field.short)}")
    if field.excludes:
        parts.append(f".excludes = excludes_{struct.name}_{field.member}")
    if field.needs:
        parts += need(struct, field)
    if field.status:
        parts.append(f".status = {field.status}")
    if field.words:
        parts.append(f".words = words_{struct.name}_{field.member}")
    if field.of is not None:
        parts.append(f".type = &api_type_{field.of.name}")
    return "\t{ " + ",\n\t  ".join(parts) + " },"


def need(struct, field):
    """The row's members for `needs`: a flag that must be true, or a word."""
    name, value, *or_none = field.needs
    other = next(each for each in struct.fields if each.name == name)
    number = other.words.index(value) + 1 if other.words else 1
    assert other.kind == "word" or (other.kind == "flag" and value is True), field.name
    return [f".needs = {quoted(name)}", f".needs_value = {number}"] + (
        [".needs_or_none = true"] if or_none else [])


def type_rows(struct, out):
    for field in struct.fields:
        if field.words:
            words = ", ".join(quoted(word) for word in field.words)
            out.append(f"static const char *const words_{struct.name}_{field.member}[] = "
                       f"{{ {words}, NULL }};")
        if field.excludes:
            names = ", ".join(map(quoted, field.excludes))
            assert set(field.excludes) <= {each.name for each in struct.fields}, field.name
            out.append(f"static const char *const excludes_{struct.name}_{field.member}[] = "
                       f"{{ {names}, NULL }};")
    if struct.fields:
        out.append(f"static const struct api_field fields_{struct.name}[] = {{")
        out += [field_row(struct, field) for field in struct.fields]
        out.append("};")
    fields = f"fields_{struct.name}" if struct.fields else "NULL"
    out.append(f"const struct api_type api_type_{struct.name} = {{ {quoted(struct.name)}, "
               f"sizeof(struct api_{struct.name}), {fields}, {len(struct.fields)} }};\n")


def scope_of(scope):
    return f"API_SCOPE_{scope.upper()}" if scope else "API_SCOPE_NONE"


def offset_of(call, name):
    """The offset of an id in the struct that the call takes."""
    return (f"offsetof(struct api_{call.takes_struct.name}, {name})"
            if any(each.name == name and each.kind == "id" for each in call.takes) else
            "API_NO_OFFSET")


def call_row(call):
    verb = f"HTTP_VERB_{call.verb}" if call.verb else "(enum http_verb)0"
    parts = [f".name = {quoted(call.name)}", f".path = {quoted(call.path)}",
             f".verb = {verb}", f".status = {call.status}",
             f".takes = &api_type_{call.takes_struct.name}",
             f".gives = &api_type_{call.gives_struct.name}",
             f".scope = {scope_of(call.scope)}", f".own_scope = {scope_of(call.own_scope)}",
             f".session_offset = {offset_of(call, 'session')}",
             f".execution_offset = {offset_of(call, 'execution')}"]
    if call.media:
        parts.append(f".media = {quoted(call.media)}")
    for flag, name in ((call.whole, "is_whole"), (call.gives_file, "gives_descriptor"),
                       (call.gives_events, "gives_events"), (call.is_part, "is_part"),
                       (call.local, "is_local"), (call.begins, "begins"),
                       (call.begins or call.grows, "grows"),
                       (call.needs_box, "needs_box")):
        if flag:
            parts.append(f".{name} = true")
    if call.commits:
        assert call.commits in {each.name for each in CALLS}, call.name
        parts.append(f".commits = API_{call.commits.upper()}")
    return f"\t[API_{call.name.upper()}] = {{ " + ",\n\t  ".join(parts) + " },"


def source():
    out = [NOTE, '#include "api/calls.h"\n', "#include <stddef.h>\n"]
    for struct in structs():
        type_rows(struct, out)
    out.append("const struct api_call api_calls[API_CALL_COUNT] = {")
    out += [call_row(call) for call in CALLS]
    out.append("};\n")
    out.append("const struct api_error_row api_errors[API_ERROR_COUNT] = {")
    out += [f"\t[API_ERR_{error.word}] = {{ {quoted(error.name)}, {error.status} }},"
            for error in ERRORS]
    out.append("};")
    return "\n".join(out) + "\n"


def main():
    docs, to_header, to_source, to_document = map(pathlib.Path, sys.argv[1:])
    to_header.write_text(header(), encoding="utf-8")
    to_source.write_text(source(), encoding="utf-8")
    to_document.write_text(json.dumps(document(docs), indent=1, ensure_ascii=False) + "\n",
                           encoding="utf-8")


if __name__ == "__main__":
    main()
