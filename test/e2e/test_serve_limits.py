"""Each limit at its edge: the last valid value is accepted and works; one more is refused by name.

The limits are read from the OpenAPI document, so that none is forgotten.
"""
import re
import urllib.parse

import pytest
from reckon_serve import PREFIX

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)
HUGE = 200_000  # longer texts are too slow for this test


@pytest.fixture
def document(server):
    return server.ask("GET", "/openapi.json").json


def refused(answer, name):
    assert answer.status == 400 and answer.code == "invalid", (name, answer)
    assert name.rpartition(".")[2] in answer.json["error"]["message"], (name, answer)


# ---- limits of a session ------------------------------------------------------------------------

def test_limits_of_a_session_at_their_edges(server, document):
    """The minimum works; the maximum works, or is refused at once because of the host. Neither
    gives a 500."""
    for name, schema in document["components"]["schemas"]["Limits"]["properties"].items():
        step = 1 if schema["type"] == "integer" else 0.001
        for value in (schema["minimum"], schema["maximum"]):
            answer = server.ask("POST", "/sessions", {"template": "python", "limits": {name: value}})
            if value == schema["maximum"] and answer.status == 400:
                assert "this host has" in answer.json["error"]["message"], answer
                continue
            assert answer.status == 201, (name, value, answer)
            session = answer.json["id"]
            assert answer.json["limits"] == {name: value}
            ran = server.ask("POST", f"/sessions/{session}/executions", {"code": "print(1)"})
            assert ran.status == 200 and ran.json["status"] in ("ok", "timeout"), (name, value, ran)
            for method, path, body in (("PUT", "files/x", b"x"),
                                       ("POST", "processes", {"command": "true"})):
                answer = server.ask(method, f"/sessions/{session}/{path}", body)
                assert answer.status in (200, 201, 413), (name, value, answer)
            assert server.ask("DELETE", f"/sessions/{session}").status == 200
        for value in (schema["minimum"] - step, schema["maximum"] + step):
            refused(server.ask("POST", "/sessions", {"limits": {name: value}}), name)


@as_root
def test_all_limits_at_their_least(server, document):
    limits = {name: schema["minimum"]
              for name, schema in document["components"]["schemas"]["Limits"]["properties"].items()}
    answer = server.ask("POST", "/sessions", {"template": "python", "limits": limits})
    assert answer.status == 201, answer
    ran = server.ask("POST", f"/sessions/{answer.json['id']}/executions", {"code": "1"})
    assert ran.status == 200, ran


@as_root
def test_memory_that_the_host_does_not_have_is_refused(server):
    """A session takes a sixteenth of its limit, and the daemon adds its reserve; without the
    reserve it would fit."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        total = int(file.readline().split()[1]) << 10
    answer = server.ask("POST", "/sessions", {"template": "python", "limits": {
        "memory_bytes": 16 * (total - (100 << 20))}})
    assert (answer.status, answer.code) == (400, "invalid"), answer
    assert "Retry-After" not in answer.headers


# ---- fields of every call -----------------------------------------------------------------------

class Document:
    def __init__(self, document):
        self.document = document

    def whole(self, schema):
        while "$ref" in schema:
            schema = self.document["components"][schema["$ref"].split("/")[-2]][
                schema["$ref"].split("/")[-1]]
        return schema

    def least(self, schema):
        """A minimal valid value."""
        schema = self.whole(schema)
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return self.least(schema[several][0])
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type")
        if kind == "string":
            return "a" * max(1, schema.get("minLength", 0))
        if kind in ("integer", "number"):
            return schema.get("minimum", 1)
        if kind == "array":
            return []
        if kind == "boolean":
            return False
        return {name: self.least(schema["properties"][name]) for name in schema.get("required", ())}

    def of_size(self, schema, size):
        """A list or an object with `size` entries."""
        if "maxProperties" in schema:
            return {f"A{number}": "1" for number in range(size)}
        entry = self.least(schema.get("items", {"type": "string"}))
        distinct = [dict(entry, name=f"n{number}") if isinstance(entry, dict) and "name" in entry
                    else entry for number in range(size)]
        return distinct

    def edges(self, schema):
        """(last valid value, first invalid value) for each bound."""
        schema = self.whole(schema)
        step = 0.001 if schema.get("type") == "number" else 1
        if "minimum" in schema:
            yield schema["minimum"], schema["minimum"] - step
        if "maximum" in schema:
            yield schema["maximum"], schema["maximum"] + step
        if schema.get("maxLength", HUGE) < HUGE and "pattern" not in schema:
            yield "a" * schema["maxLength"], "a" * (schema["maxLength"] + 1)
        if schema.get("minLength") == 1:
            yield "a", ""
        for most in ("maxItems", "maxProperties"):
            if most in schema:
                yield self.of_size(schema, schema[most]), self.of_size(schema, schema[most] + 1)

    def operations(self):
        for path, methods in self.document["paths"].items():
            if path.startswith(PREFIX):
                for method, operation in methods.items():
                    yield method.upper(), path[len(PREFIX):], operation

    def body(self, operation):
        content = operation.get("requestBody", {}).get("content", {})
        return self.whole(content.get("application/json", {}).get("schema", {}))


# Messages about another problem than a bound.
OTHER = re.compile("go(es)? with| needs? |unknown language|must be an object|are events|has neither")
# An invalid id may be reported as not found.
IDS = {"context", "session", "before", "after"}


def names_field(answer, name):
    return answer.status == 400 and re.search(rf"\b{re.escape(name)}\b",
                                              answer.json["error"]["message"], re.I)


def nowhere(path):
    """The path with unknown ids."""
    return re.sub(r"\{(\w+)\}", lambda part: "x" if part[1] in ("path", "collection") else
                  "se_01ARZ3NDEKTSV4RRFFQ69G5FAV", path)


@as_root
def test_each_field_of_a_body_has_its_documented_bounds(server, document):
    document, count, wrong = Document(document), 0, []
    for method, path, operation in document.operations():
        schema = document.body(operation)
        needed = {name: document.least(schema["properties"][name])
                  for name in schema.get("required", ())}
        for name, of in schema.get("properties", {}).items():
            for good, bad in document.edges(of):
                count += 1
                body = {**needed, name: good}
                taken = server.ask(method, nowhere(path), body)
                if names_field(taken, name) and not OTHER.search(taken.json["error"]["message"]):
                    wrong.append(("refused", method, path, name, str(good)[:40], taken.body))
                over = server.ask(method, nowhere(path), {**needed, name: bad})
                if not names_field(over, name):
                    wrong.append(("taken", method, path, name, str(bad)[:40], over.status, over.body))
    assert not wrong, "\n".join(map(str, wrong))
    assert count > 90, count


@as_root
def test_each_parameter_has_its_documented_bounds(server, document):
    document, count, wrong = Document(document), 0, []
    for method, path, operation in document.operations():
        parameters = [document.whole(each) for each in operation.get("parameters", ())]
        queried = {each["name"]: document.least(each["schema"]) for each in parameters
                   if each["in"] == "query" and each.get("required")}
        for parameter in parameters:
            name, place = parameter["name"], parameter["in"]
            if place not in ("query", "header"):
                continue
            for good, bad in document.edges(parameter["schema"]):
                if place == "header" and bad == "":
                    continue  # an empty header counts as absent
                count += 1
                answers = []
                for value in (good, bad):
                    where, headers = nowhere(path), {}
                    if place == "query":
                        where += "?" + urllib.parse.urlencode({**queried, name: value})
                    else:
                        headers[name] = str(value)
                    body = document.body(operation)
                    needed = {key: document.least(body["properties"][key])
                              for key in body.get("required", ())}
                    answers.append(server.ask(method, where, needed if body else None, headers))
                if names_field(answers[0], name) and not OTHER.search(answers[0].json["error"]["message"]):
                    wrong.append(("refused", method, path, name, str(good)[:40], answers[0].body))
                if not names_field(answers[1], name) and not (name in IDS and answers[1].status == 404):
                    wrong.append(("taken", method, path, name, str(bad)[:40], answers[1].status,
                                  answers[1].body))
    assert not wrong, "\n".join(map(str, wrong))
    assert count > 60, count


@as_root
def test_each_operation_documents_410_and_507(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert "{session}" not in path or "410" in operation["responses"], (method, path)
            assert method == "get" or "507" in operation["responses"], (method, path)
