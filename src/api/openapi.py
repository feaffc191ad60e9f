"""The OpenAPI document of the field table, put into what is written by hand."""
PREFIX = "/reckon/v1/"
ERROR = {"$ref": "#/components/responses/Error"}
ENV_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"


def schema_of(field):
    """JSON Schema of one field."""
    schema = dict(field.schema or {})
    if field.schema is None:
        schema = plain_schema(field)
    if field.nullable:
        schema["type"] = [schema["type"], "null"]
    if field.doc and field.place != "whole":
        schema["description"] = field.doc
    if field.example is not None:
        schema["examples"] = [field.example]
    if field.default is not None:
        schema["default"] = field.default
    return schema


def plain_schema(field):
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
        return struct_schema(field.of)
    if field.kind == "word":
        return {"type": "string"} | ({"const": field.words[0]} if len(field.words) == 1 else
                                     {"enum": list(field.words)})
    if field.kind == "env":
        return {"type": "object", "additionalProperties": {"type": "string"},
                "propertyNames": {"pattern": ENV_NAME}, "maxProperties": field.maximum}
    if field.kind == "many":
        return {"type": "array", "items": struct_schema(field.of)}
    return text_schema(field)


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
        # Of any length: one that no id can be names nothing. In a path it cannot be empty anyway.
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
        schema["properties"] = {field.name: schema_of(field) for field in fields}
    return schema


def struct_schema(struct):
    if struct.schema:
        return {"$ref": f"#/components/schemas/{struct.schema}"}
    return object_schema(struct.fields)


def statuses(call):
    """Of errors, that this call can have."""
    found = {400, *call.errors}
    if call.scope is not None:
        found |= {401, 403, 408, 429, 500, 503}
    if call.verb in ("POST", "PATCH"):
        found |= {408, 413, 415}
    return sorted(found)


def answer_of(call):
    if call.media:
        return {call.media.split(";")[0]: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": struct_schema(call.gives_struct)}}


def answers_of(call):
    """By status."""
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
        answers[str(call.status)]["content"]["text/event-stream"] = {}
        answers[str(call.status)]["headers"] = {"Reckon-Execution": {
            "description": "With events: the execution's id", "schema": {"type": "string"}}}
    return answers


def parameter(field):
    schema = schema_of(field)
    schema.pop("description", None)
    return {"name": field.name, "in": field.place, "required": field.required,
            "description": field.doc, "schema": schema}


def body_of(call, schemas):
    schema = object_schema(call.body_fields, is_answer=False)
    if call.body:
        assert schemas.setdefault(call.body, schema) == schema, f"{call.body} twice"
        schema = {"$ref": f"#/components/schemas/{call.body}"}
    return {"required": any(field.required for field in call.body_fields),
            "content": {"application/json": {"schema": schema}}}


def operation(call, schemas):
    made = {"operationId": call.operation or call.name, "summary": call.summary}
    if call.description:
        made["description"] = call.description
    made["responses"] = answers_of(call)
    made["responses"] |= {str(status): ERROR for status in statuses(call)}
    outside = [field for field in call.takes if field.place in ("path", "query", "header")]
    if outside:
        made["parameters"] = [parameter(field) for field in outside]
    if call.verb in ("POST", "PATCH"):
        made["requestBody"] = body_of(call, schemas)
    if call.scope is None:
        made["security"] = []
    else:
        made["x-reckon-scope"] = call.scope
    if call.own_scope is not None:
        made["x-reckon-scope-own"] = call.own_scope
    return made


def structs_of(struct):
    """It, and all that it is made of."""
    yield struct
    for field in struct.fields:
        if field.of is not None:
            yield from structs_of(field.of)


def document(base, calls):
    """`base` with an operation for each call."""
    schemas = base["components"]["schemas"]
    for call in calls:
        for struct in (*structs_of(call.takes_struct), *structs_of(call.gives_struct)):
            if struct.schema:
                schema = {"description": struct.doc} | object_schema(struct.fields)
                assert schemas.setdefault(struct.schema, schema) == schema, f"{struct.schema} twice"
        path = call.path if call.path.startswith("/") else PREFIX + call.path
        operations = base["paths"].setdefault(path, {})
        assert call.verb.lower() not in operations, f"{call.verb} {path} is written by hand, too"
        operations[call.verb.lower()] = operation(call, schemas)
    return base
