"""Writes the reference of the native API, docs/api-reference.md, from the field table.

usage: reference.py FILE
"""
import pathlib
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from openapi import PREFIX, answers_of, schema_of, statuses  # noqa: E402 - needs the path set above
from table import ERRORS, HTTP_ERRORS, PARTS  # noqa: E402

HEAD = """# Reference of the HTTP interface

Made of the field table, `src/api/table`, by `src/api/reference.py`; [http-api.md](http-api.md) shows
how it is used, `GET /reckon/v1/openapi.json` is the same for programs. Paths stand behind
`/reckon/v1/` unless they begin with `/`. A field that is not named here is refused.
"""
KINDS = {"flag": "true, false", "number": "whole number", "seconds": "seconds", "time": "RFC 3339",
         "text": "string", "id": "string", "code": "string", "words": "list of words",
         "json": "JSON", "object": "object", "env": "object of strings", "base64": "base64",
         "money": "number", "one": "object", "many": "list"}


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def wrapped(text):
    return textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)


def kind_of(field):
    if field.kind == "word":
        return " or ".join(f"`{word}`" for word in field.words)
    if field.kind == "words":
        return "list of " + ", ".join(f"`{word}`" for word in field.words)
    if field.kind == "flag" and field.place == "query":
        return "0 or 1"
    return KINDS[field.kind]


def bounds_of(field):
    schema = schema_of(field)
    known = [f"{word} {schema[key]}" for word, key in (
        ("from", "minimum"), ("to", "maximum"), ("least", "minLength"), ("most", "maxLength"),
        ("most", "maxItems")) if key in schema and schema[key] != 0]
    if "default" in schema:
        known.append(f"default {schema['default']}".replace("True", "true").replace("False",
                                                                                    "false"))
    return ", ".join(known)


def doc_of(field):
    doc = field.doc or (field.of.doc if field.of else "")
    if field.excludes:
        doc += "; not with " + ", ".join(f"`{name}`" for name in field.excludes)
    return doc


def rows_of(fields, prefix=""):
    for field in fields:
        place = "header" if field.place == "http" else field.place
        need = " (needed)" if field.required and place != "path" else ""
        yield (f"| `{prefix}{field.name}`{need} | {place} | {cell(kind_of(field))} | "
               f"{cell(bounds_of(field))} | {cell(doc_of(field))} |")
        if field.kind in ("one", "many"):
            yield from rows_of(field.of.fields, f"{prefix}{field.name}.")


def section_of(call):
    lines = [f"### {call.verb} {call.path}", "", *wrapped(f"{call.summary}.")]
    if call.description:
        lines += ["", *wrapped(call.description)]
    scope = ("No key is needed." if call.scope is None else f"Scope `{call.scope}`" + (
        f"; `{call.own_scope}` for what the key itself began." if call.own_scope else "."))
    answers = "; ".join(f"{status}: {answer['description'].split('. ')[0].rstrip('.')}"
                        for status, answer in sorted(answers_of(call).items()))
    lines += ["", *wrapped(f"{scope} Answers {answers}. "
                           f"Errors {', '.join(map(str, statuses(call)))}.")]
    fields = [field for field in call.takes if field.place not in ("path", "internal")]
    if fields:
        lines += ["", "| field | where | what | bounds | |", "|---|---|---|---|---|",
                  *rows_of(fields)]
    return lines


def reference():
    lines = [HEAD]
    for part in PARTS:
        lines += [f"## {part.TAG[0]}", "", f"{part.TAG[1]}.", ""]
        for call in part.CALLS:
            if call.path:
                lines += [*section_of(call), ""]
    lines += ["## Errors", "", '`{"error": {"code", "message", "cause", "remedy"}}`; some have '
              "`scope`, `quota` or `queue` besides.", "", "| code | status | |", "|---|---|---|"]
    rows = [(each.name, each.status, each.doc) for each in ERRORS] + list(HTTP_ERRORS)
    lines += [f"| `{name}` | {status} | {cell(doc)} |" for name, status, doc in sorted(rows)]
    assert PREFIX in HEAD
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
