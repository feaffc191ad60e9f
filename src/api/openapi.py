"""The OpenAPI document of the field table, with the schemas in docs/ of records and answers."""
import json

from table import CALLS, ERRORS, HTTP_ERRORS, PARTS, TAGS
from events import EXECUTION_EVENTS, PROCESS_EVENTS, RUN_EVENTS, WATCH_EVENTS

PREFIX = "/reckon/v1/"
ERROR = {"$ref": "#/components/responses/Error"}
ENV_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"


def schema_of(field, is_answer=True):
    """JSON Schema of one field."""
    schema = dict(field.schema or {})
    if field.schema is None:
        schema = plain_schema(field, is_answer)
    if field.nullable and "$ref" in schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
    elif field.nullable:
        schema["type"] = [schema["type"], "null"]
    if field.doc and field.place != "whole":
        schema["description"] = field.doc
    if field.example is not None:
        schema["examples"] = [field.example]
    if field.default is not None:
        # In a query a flag is 0 or 1.
        is_number = field.kind == "flag" and field.place == "query"
        schema["default"] = int(field.default) if is_number else field.default
    return schema


def plain_schema(field, is_answer=True):
    if field.kind == "flag":
        return ({"type": "integer", "enum": [0, 1]} if field.place == "query" else
                {"type": "boolean"})
    if field.kind == "number":
        return {"type": "integer", "minimum": field.least} | (
            {"maximum": field.most} if field.most is not None else {})
    if field.kind == "seconds":
        return seconds_schema(field)
    if field.kind == "time":
        return {"type": "string", "format": "date-time"}
    if field.kind == "words":
        return {"type": "array", "items": {"type": "string", "enum": list(field.words)}} | (
            {"minItems": 1} if field.required else {})
    if field.kind == "object":
        return {"type": "object"}
    if field.kind == "one":
        return struct_schema(field.of, is_answer)
    if field.kind == "word":
        return {"type": "string"} | ({"const": field.words[0]} if len(field.words) == 1 else
                                     {"enum": list(field.words)})
    if field.kind == "env":
        return {"type": "object", "additionalProperties": {"type": "string"},
                "propertyNames": {"pattern": ENV_NAME}, "maxProperties": field.maximum}
    if field.kind == "many":
        return many_schema(field)
    if field.kind == "base64":
        return {"type": "string", "contentEncoding": "base64"}
    if field.kind == "money":
        return {"type": "number", "minimum": plain_number(field.least / 1000000),
                "maximum": plain_number(field.maximum / 1000000)}
    return text_schema(field)


def many_schema(field):
    items = struct_schema(field.of)
    if field.short:
        alone = next(each for each in field.of.fields if each.name == field.short)
        items = {"anyOf": [plain_schema(alone), items]}
    return {"type": "array", "items": items} | (
        {"maxItems": field.most} if field.most is not None else {})


def seconds_schema(field):
    schema = {"type": "number"}
    if field.least:
        schema["minimum"] = plain_number(field.least / 1000)
    if field.most is not None:
        schema["minimum"] = plain_number(field.least / 1000)
        schema["maximum"] = plain_number(field.most / 1000)
    return schema


def plain_number(value):
    return int(value) if value == int(value) else value


def text_schema(field):
    schema = {"type": "string"}
    if field.form == "path":
        return schema | {"pattern": "^/", "maxLength": field.maximum}
    if field.form == "day":
        return schema | {"pattern": r"^\d{4}-\d{2}-\d{2}$"}
    if field.form == "session-name":
        return schema | {"pattern": "^[A-Za-z0-9._-]{1,63}$"}
    if field.form == "line":
        schema["pattern"] = r"^[^\x00-\x1f\x7f]*$"
    elif field.form:
        schema["format"] = field.form
    if field.kind == "id":
        # No pattern: an impossible id is simply not found. A path part is never empty.
        return schema if field.place == "path" else schema | {"minLength": 1, "maxLength": 63}
    if field.kind in ("text", "code") and field.most is not None and (
            field.least or field.kind == "text"):
        schema |= {"minLength": field.least, "maxLength": field.most}
    return schema


def object_schema(fields, is_answer=True):
    schema = {"type": "object"}
    required = [field.name for field in fields
                if field.required or (is_answer and field.nullable)]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if fields:
        schema["properties"] = {field.name: schema_of(field, is_answer) for field in fields}
    return schema


def struct_schema(struct, is_answer=True):
    if struct.schema:
        return {"$ref": f"#/components/schemas/{struct.schema}"}
    return object_schema(struct.fields, is_answer)


def statuses(call):
    """The error statuses of this call."""
    found = {400, *call.errors}
    # Any call that changes something can meet a full disk when its transaction is committed.
    if call.verb not in ("GET", ""):
        found.add(507)
    if call.scope is not None:
        found |= {401, 403, 408, 429, 500, 503}
    if call.verb in ("POST", "PATCH") or call.body_fields:
        found |= {408, 413, 415}
    return sorted(found)


def answer_of(call):
    if call.media:
        return {call.media.split(";")[0]: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": struct_schema(call.gives_struct)}}


def bytes_of(call):
    """Answers with a file: all of it, a range, or nothing because the client has it."""
    content = {media: {"schema": {"type": "string", "format": "binary"}}
               for media in call.file_media}
    answers = {"200": {"description": call.answer, "content": content},
               "206": {"description": "The range that was asked for", "content": content}}
    if any(field.name == "If-None-Match" for field in call.takes):
        answers["304"] = {"description": "It is the one that If-None-Match names"}
    if call.name == "archive_get":
        answers["200"]["headers"] = {"Reckon-Archive": {
            "description": "files=, folders=, links=, skipped=, changed=",
            "schema": {"type": "string"}}}
    return answers


def stream_of(call):
    """A stream of server-sent events: OpenAPI 3.1 has no schema for their contents."""
    return {"text/event-stream": {
        "x-reckon-event": {"$ref": f"#/components/schemas/{call.streams}"}}}


def answers_of(call):
    """The answers of a call by status."""
    if call.commits:
        return answers_of(next(each for each in CALLS if each.name == call.commits))
    if call.gives_file:
        return bytes_of(call)
    if call.gives_events:
        return {"200": {"description": call.answer, "content": stream_of(call)}}
    if not call.whole or call.media:
        content = answer_of(call) | {media: {"schema": {"type": "string"}}
                                     for media in call.also_media}
        return {str(call.status): {"description": call.answer, "content": content}}
    found = {}
    for field in call.gives_struct.fields:
        found.setdefault(field.status or call.status, []).append(field)
    answers = {}
    for status, fields in sorted(found.items()):
        schemas = [schema_of(field) for field in fields]
        schema = {"anyOf": schemas} if len(schemas) > 1 else schemas[0]
        answers[str(status)] = {
            "description": call.answer if status == call.status else fields[0].doc,
            "content": {"application/json": {"schema": schema}}}
    if call.streams:
        name, doc = call.head
        answers[str(call.status)]["content"] |= stream_of(call)
        answers[str(call.status)]["headers"] = {
            name: {"description": doc, "schema": {"type": "string"}}}
    return answers


def parameter(field):
    schema = schema_of(field)
    schema.pop("description", None)
    return {"name": field.name, "in": "header" if field.place == "http" else field.place,
            "required": field.required, "description": field.doc, "schema": schema}


def body_of(call, schemas):
    schema = object_schema(call.body_fields, is_answer=False)
    if call.body:
        assert schemas.setdefault(call.body, schema) == schema, f"{call.body} twice"
        schema = {"$ref": f"#/components/schemas/{call.body}"}
    return {"required": any(field.required for field in call.body_fields),
            "content": {"application/json": {"schema": schema}}}


def operation(call, schemas):
    made = {"operationId": call.operation or call.name, "tags": [TAGS[call.name]],
            "summary": call.summary}
    if call.description:
        made["description"] = call.description
    made["responses"] = answers_of(call)
    made["responses"] |= {str(status): ERROR for status in statuses(call)}
    outside = [field for field in call.takes
               if field.place in ("path", "query", "header", "http")]
    if outside:
        made["parameters"] = [parameter(field) for field in outside]
    if call.verb in ("POST", "PATCH") or call.body_fields:
        made["requestBody"] = body_of(call, schemas)
    if call.commits:
        made["requestBody"] = {"required": True, "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
    if call.scope is None:
        made["security"] = []
    else:
        made["x-reckon-scope"] = call.scope
    if call.own_scope is not None:
        made["x-reckon-scope-own"] = call.own_scope
    return made


def structs_of(struct):
    """The struct and all structs that it contains."""
    yield struct
    for field in struct.fields:
        if field.of is not None:
            yield from structs_of(field.of)


def error_schema():
    """The schema of every error answer."""
    by_name = {}
    for name, status, doc in ((each.name, each.status, each.doc) for each in ERRORS):
        by_name.setdefault(name, f"{name} ({status}): {doc}")
    for name, status, doc in HTTP_ERRORS:
        by_name.setdefault(name, f"{name} ({status}): {doc}")
    text_or_null = {"type": ["string", "null"]}
    error = {
        "code": {"type": "string", "examples": ["session_not_found"],
                 "description": "For programs. More may be added. " + " ".join(by_name.values())},
        "message": {"type": "string", "description": "What happened, for people"},
        "cause": text_or_null | {"description": "Why"},
        "remedy": text_or_null | {"description": "What to do"},
        "scope": {"type": "string", "description": "Of scope_missing: what the key lacks"},
        "quota": closed({"name": {"type": "string"}, "value": {"type": "number"},
                         "limit": {"type": "number"}}),
        "queue": closed({"position": {"type": "integer"}, "estimate_s": {"type": "number"}}),
    }
    return closed({"error": closed(error, ("code", "message", "cause", "remedy"))})


def closed(properties, required=None):
    return {"type": "object", "required": list(required or properties),
            "additionalProperties": False, "properties": properties}


def components_of(schema, name):
    """A schema file of docs/ as components: NAME, and NAME plus the $def's name for each $def."""
    def words(text):
        return "".join(part.capitalize() for part in text.split("_"))

    def moved(value):
        if isinstance(value, dict):
            return {key: f"#/components/schemas/{name}{words(each.rpartition('/')[2])}"
                    if key == "$ref" and each.startswith("#/$defs/") else moved(each)
                    for key, each in value.items()}
        return [moved(each) for each in value] if isinstance(value, list) else value

    whole = {key: value for key, value in schema.items()
             if key not in ("$schema", "$id", "$defs", "title")}
    return {name: moved(whole)} | {name + words(each): moved(value)
                                   for each, value in schema.get("$defs", {}).items()}


FILE = {"type": "object", "required": ["path", "kind", "modified"], "properties": {
    "path": {"type": "string"}, "kind": {"enum": ["file", "folder", "link"]},
    "size": {"type": "integer"}, "mime": {"type": "string"},
    "modified": {"type": "string", "format": "date-time"},
    "etag": {"type": ["string", "null"], "description": "null: it changed a moment ago"},
    "mode": {"type": "integer", "description": "Permission bits; with details"},
    "target": {"type": "string", "description": "Of a link, which details alone list"},
    "attributes": {"type": "object", "additionalProperties": {"type": "string"},
                   "description": "Extended attributes of the user that are text; with details"}}}
FILE_LIST = {"type": "object", "required": ["files", "next", "complete"], "properties": {
    "files": {"type": "array", "items": {"$ref": "#/components/schemas/File"}},
    "next": {"type": ["string", "null"], "description": "For `cursor`; null: there is no more"},
    "complete": {"type": "boolean", "description": "false: more is there than is looked at"}}}
STRINGS = {"type": "array", "items": {"type": "string"}}
TEMPLATE = {"type": "object", "required": ["name", "python", "languages", "preload", "env",
                                           "limits", "packages"], "properties": {
    "name": {"type": "string"}, "python": {"type": ["string", "null"]}, "languages": STRINGS,
    "preload": STRINGS, "env": {"type": "object"}, "limits": {"type": "object"},
    "packages": {"type": "array", "items": {
        "type": "object", "required": ["name", "version"],
        "properties": {"name": {"type": "string"}, "version": {"type": "string"}}}}}}


def answer_schema(schema):
    """ask.schema.json as the daemon uses it: with typed records and with ids."""
    answer = components_of(schema, "Answer")["Answer"]
    properties = answer["properties"]
    step = properties["steps"]["items"]
    step["properties"]["record"]["anyOf"] = [{"$ref": "#/components/schemas/Record"},
                                             {"type": "null"}]
    step["required"] = ["code", "status", "execution", "record"]
    file = properties["files"]["items"]
    file["properties"]["url"] = {
        "type": ["string", "null"],
        "description": "Where its content is, also when the session has ended"}
    file["required"] = ["path", "size", "url"]
    answer["properties"] = {"id": {"type": "string"}, "session": {"type": "string"}} | properties
    answer["required"] = ["id", "session", *answer["required"]]
    return {"Answer": answer}


def say_enum_for_const(schema):
    """Replaces `const` by an enum: many client generators do not support `const`."""
    if isinstance(schema, list):
        return [say_enum_for_const(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    said = {key: say_enum_for_const(value) for key, value in schema.items()}
    if isinstance(said.get("const"), str):
        return {"type": "string", "enum": [said.pop("const")]} | said
    return said


def add_discriminators(schemas):
    """Adds a discriminator to each choice that one property decides, for generated clients."""
    for choice in schemas.values():
        names = [one.get("$ref", "").rpartition("/")[2] for one in choice.get("oneOf", ())]
        if not names or not all(names):
            continue
        words = [{key: value["enum"][0] for key, value in schemas[name]["properties"].items()
                  if len(value.get("enum", ())) == 1} for name in names]
        for key in set(words[0]).intersection(*words[1:]):
            choice["discriminator"] = {"propertyName": key, "mapping": {
                word[key]: f"#/components/schemas/{name}" for word, name in zip(words, names)}}


def components(docs):
    record = json.loads((docs / "record.schema.json").read_text(encoding="utf-8"))
    ask = json.loads((docs / "ask.schema.json").read_text(encoding="utf-8"))
    conversation = json.loads((docs / "conversation.schema.json").read_text(encoding="utf-8"))
    schemas = components_of(record, "Record") | answer_schema(ask)
    schemas |= components_of(conversation, "Conversation")
    schemas |= {"Error": error_schema(), "File": FILE, "FileList": FILE_LIST,
                "Template": TEMPLATE}
    for name, events in (("ExecutionEvent", EXECUTION_EVENTS), ("RunEvent", RUN_EVENTS),
                         ("ProcessEvent", PROCESS_EVENTS), ("WatchEvent", WATCH_EVENTS)):
        for event, schema in events.items():
            schemas.setdefault(event, schema)
        schemas[name] = {"oneOf": [{"$ref": f"#/components/schemas/{event}"} for event in events]}
    schemas = say_enum_for_const(schemas)
    add_discriminators(schemas)
    return {
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "rk_…"}},
        "responses": {"Error": {
            "description": "What is wrong, why, and what to do",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}},
        "schemas": schemas}


def document(docs):
    """The whole document; `docs` is the folder of the schemas."""
    whole = {
        "openapi": "3.1.0",
        "info": {"title": "Reckon", "version": "1",
                 "description": "Sessions that run code: docs/http-api.md",
                 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/", "description": "The daemon that handed this out"},
                    {"url": "http://127.0.0.1:7263",
                     "description": "`reckon serve`, where it listens unless told otherwise"}],
        "security": [{"key": []}],
        "tags": [{"name": part.TAG[0], "description": part.TAG[1]} for part in PARTS],
        "paths": {}, "components": components(docs)}
    schemas = whole["components"]["schemas"]
    for call in CALLS:
        for struct in (*structs_of(call.takes_struct), *structs_of(call.gives_struct)):
            if struct.schema:
                schema = {"description": struct.doc} | object_schema(struct.fields)
                assert schemas.setdefault(struct.schema, schema) == schema, f"{struct.schema} twice"
        if not call.path:
            continue
        path = call.path if call.path.startswith("/") else PREFIX + call.path
        operations = whole["paths"].setdefault(path, {})
        assert call.verb.lower() not in operations, f"{call.verb} {path} twice"
        operations[call.verb.lower()] = operation(call, schemas)
    return whole
