"""Each limit of the models' dialects at its edge: N is answered, and N + 1 is refused.

One row is one limit of one dialect. A refusal is a client error in the dialect's own format, and
its message names the limit; it is never a 500.
"""
import base64
import collections
import json
import tempfile

import pytest
from model_server import ModelServer, Reply
from one_shot import post
from reckon_cli import Reckon
from test_serve_openai import MODEL, Speaking

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
MIB = 1 << 20
TEXT = 4 * MIB  # MODEL_TEXT_MAX
ARGUMENTS = MIB  # MODEL_ARGS_MAX

# name, maximum, words of the refusal, and a body with `n`
Row = collections.namedtuple("Row", "name most words body")


@pytest.fixture(scope="module")
def server(place):
    with ModelServer(lambda _: Reply(text="Hi.")) as model, \
            Speaking(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base)), model) as running:
        yield running


def padded(n, **rest):
    """An object that is `n` bytes long as JSON."""
    return {**rest, "a": "x" * (n - len(json.dumps({**rest, "a": ""}, separators=(",", ":"))))}


def bytes_of(n):
    return base64.b64encode(b"a" * n).decode()


def image(n):
    return f"data:image/png;base64,{'A' * n}"


def turns(n, roles=("user", "assistant")):
    """The roles of `n` messages, of which the last is the user's."""
    return [roles[(n - 1 - i) % 2] for i in range(n)]


def named(n):
    return [f"f{number}" for number in range(n)]


def check(server, path, row, is_error):
    taken = post(server, path, row.body(row.most), headers={"Authorization": f"Bearer {server.key}"})
    assert taken.status == 200, (row.name, taken.status, taken.body[:300])
    over = post(server, path, row.body(row.most + 1), headers={"Authorization": f"Bearer {server.key}"})
    assert over.status in (400, 413), (row.name, over.status, over.body[:300])
    is_error(over)
    assert row.words in over.json["error"]["message"], (row.name, over.json)


# ---- OpenAI ---------------------------------------------------------------------------------------

def openai_error(answer):
    error = answer.json["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["type"] == "invalid_request_error"


def function(name, **more):
    return {"type": "function", "name": name, **more}


def responses(*input, **more):
    return {"model": MODEL, "input": list(input) or "?", **more}


def says(text="?", **more):
    return {"role": "user", "content": text, **more}


def called(call_id="c", arguments="{}", name="f0"):
    return [says(), {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments},
            {"type": "function_call_output", "call_id": call_id, "output": "x"}]


CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL = {"type": "shell", "environment": {"type": "container_auto"}}
F0 = {"tools": [function("f0")]}

RESPONSES = [
    Row("functions", 128, "128 tools", lambda n: responses(tools=[function(name) for name in named(n)])),
    Row("functions beside code and a shell", 128, "128 tools", lambda n: responses(
        tools=[CODE, SHELL] + [function(name) for name in named(n)])),
    Row("name of a function", 128, "tools[0]", lambda n: responses(tools=[function("f" * n)])),
    Row("parameters of a function", ARGUMENTS, "parameters", lambda n: responses(
        tools=[function("f", parameters=padded(n))])),
    Row("name of a model", 318, "318", lambda n: responses() | {"model": "gpt-" + "x" * (n - 4)}),
    Row("text", TEXT, "text", lambda n: responses() | {"input": "x" * n}),
    Row("instructions", TEXT, "instructions", lambda n: responses(instructions="x" * n)),
    Row("messages", 4000, "4000 messages", lambda n: responses(
        *({"role": role, "content": "t"} for role in turns(n)))),
    Row("images", 16, "16 images", lambda n: responses(
        says([{"type": "input_image", "image_url": image(4)}] * n))),
    Row("image", 8 * MIB, "8388608", lambda n: responses(
        says([{"type": "input_image", "image_url": image(n)}]))),
    Row("files", 100, "100 files", lambda n: responses(
        says([{"type": "input_file", "filename": name, "file_data": "QQ=="} for name in named(n)]))),
    Row("file", 6 * MIB, "6 MiB", lambda n: responses(
        says([{"type": "input_file", "filename": "f", "file_data": bytes_of(n)}]))),
    Row("calls", 16, "16 calls", lambda n: responses(
        says(), *(called(f"c{i}")[1] for i in range(n)), *(called(f"c{i}")[2] for i in range(n)), **F0)),
    Row("id of a call", 256, "256", lambda n: responses(*called("c" * n), **F0)),
    Row("name of a call", 128, "128", lambda n: responses(*called(name="f" * n), **F0)),
    Row("arguments of a call", ARGUMENTS, "arguments", lambda n: responses(
        *called(arguments=json.dumps(padded(n), separators=(",", ":"))), **F0)),
    Row("output of a call", TEXT, "text", lambda n: responses(
        *called()[:2], {**called()[2], "output": "x" * n}, **F0)),
]


def chat(*messages, **more):
    return {"model": MODEL, "messages": list(messages) or [says()], **more}


def chat_function(name, **more):
    return {"type": "function", "function": {"name": name, **more}}


CHAT = [
    Row("functions", 128, "128 tools", lambda n: chat(tools=[chat_function(name) for name in named(n)])),
    Row("functions beside code", 128, "128 tools", lambda n: chat(
        tools=[{"type": "code_interpreter"}] + [chat_function(name) for name in named(n)])),
    Row("stops", 16, "16 texts", lambda n: chat(stop=named(n))),
    Row("name of a model", 318, "318", lambda n: chat() | {"model": "gpt-" + "x" * (n - 4)}),
    Row("system", TEXT, "text", lambda n: chat({"role": "system", "content": "x" * n}, says())),
    Row("text", TEXT, "text", lambda n: chat(says("x" * n))),
    Row("messages", 4000, "4000 messages", lambda n: chat(
        *({"role": role, "content": "t"} for role in turns(n)))),
    Row("images", 16, "16 images", lambda n: chat(
        says([{"type": "image_url", "image_url": {"url": image(4)}}] * n))),
    Row("files", 100, "100 files", lambda n: chat(
        says([{"type": "file", "file": {"filename": name, "file_data": "QQ=="}} for name in named(n)]))),
    Row("file", 6 * MIB, "6 MiB", lambda n: chat(
        says([{"type": "file", "file": {"filename": "f", "file_data": bytes_of(n)}}]))),
    Row("calls", 16, "16 calls", lambda n: chat(
        says(), {"role": "assistant", "tool_calls": [{"id": name, **chat_function("f0", arguments="{}")}
                                                     for name in named(n)]},
        *({"role": "tool", "tool_call_id": name, "content": "x"} for name in named(n)),
        tools=[chat_function("f0")])),
]


@pytest.mark.parametrize("row", RESPONSES, ids=lambda row: row.name)
def test_responses(server, row):
    check(server, "/openai/v1/responses", row, openai_error)


@pytest.mark.parametrize("row", CHAT, ids=lambda row: row.name)
def test_chat_completions(server, row):
    check(server, "/openai/v1/chat/completions", row, openai_error)


# ---- Anthropic ------------------------------------------------------------------------------------

def anthropic_error(answer):
    assert answer.json["type"] == "error" and answer.json["error"]["type"] in (
        "invalid_request_error", "request_too_large"), answer.json


def message(*messages, **more):
    return {"model": MODEL, "max_tokens": 100, "messages": list(messages) or [says()], **more}


def tool(name, **more):
    return {"name": name, "input_schema": {"type": "object"}, **more}


def tool_turns(uses):
    return [says(), {"role": "assistant", "content": uses},
            says([{"type": "tool_result", "tool_use_id": use["id"], "content": "x"} for use in uses])]


def document(data):
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}


def picture(n):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * n}}


RUNS = {"type": "code_execution_20250825", "name": "code_execution"}

ANTHROPIC = [
    Row("tools", 128, "128 tools", lambda n: message(tools=[tool(name) for name in named(n)])),
    Row("tools beside code", 128, "128 tools", lambda n: message(
        tools=[RUNS] + [tool(name) for name in named(n)])),
    Row("tools that code calls", 64, "64", lambda n: message(
        tools=[RUNS] + [tool(name, allowed_callers=["code_execution_20250825"]) for name in named(n)])),
    Row("name of a tool", 128, "tools[0]", lambda n: message(tools=[tool("f" * n)])),
    Row("stops", 16, "16 texts", lambda n: message(stop_sequences=named(n))),
    Row("name of a model", 318, "318", lambda n: message() | {"model": "gpt-" + "x" * (n - 4)}),
    Row("system", TEXT, "instructions", lambda n: message(system="x" * n)),
    Row("text", TEXT, "text", lambda n: message(says("x" * n))),
    Row("messages", 4000, "4000 messages", lambda n: message(
        *({"role": role, "content": "t"} for role in turns(n)))),
    Row("images", 16, "16 images", lambda n: message(says([picture(4)] * n))),
    Row("image", 8 * MIB, "8388608", lambda n: message(says([picture(n - n % 4 + 4 * (n % 4))]))),
    Row("documents", 100, "100", lambda n: message(says([document("QQ==")] * n))),
    Row("document", 6 * MIB, "6291456", lambda n: message(says([document(bytes_of(n))]))),
    Row("calls", 16, "16 calls", lambda n: message(
        *tool_turns([{"type": "tool_use", "id": name, "name": "f0", "input": {}} for name in named(n)]),
        tools=[tool("f0")])),
    Row("id of a call", 256, "256", lambda n: message(
        *tool_turns([{"type": "tool_use", "id": "c" * n, "name": "f0", "input": {}}]), tools=[tool("f0")])),
    Row("input of a call", ARGUMENTS, "arguments", lambda n: message(
        *tool_turns([{"type": "tool_use", "id": "c", "name": "f0", "input": padded(n)}]), tools=[tool("f0")])),
]


@pytest.mark.parametrize("row", ANTHROPIC, ids=lambda row: row.name)
def test_messages_of_anthropic(server, row):
    check(server, "/anthropic/v1/messages", row, anthropic_error)


# ---- Gemini ---------------------------------------------------------------------------------------

def gemini_error(answer):
    error = answer.json["error"]
    assert error["code"] == answer.status and error["status"] == "INVALID_ARGUMENT", error


def content(*parts, role="user"):
    return {"role": role, "parts": list(parts) or [{"text": "?"}]}


def contents(*contents, **more):
    return {"contents": list(contents) or [content()], **more}


def declared(names):
    return {"functionDeclarations": [{"name": name} for name in names]}


def inline(mime, data):
    return {"inlineData": {"mimeType": mime, "data": data}}


CODING = {"tools": [{"codeExecution": {}}]}

GEMINI = [
    Row("functions", 128, "128 tools", lambda n: contents(tools=[declared(named(n))])),
    Row("functions beside code", 128, "128 tools", lambda n: contents(
        tools=[{"codeExecution": {}}, declared(named(n))])),
    Row("name of a function", 128, "tools[0]", lambda n: contents(tools=[declared(["f" * n])])),
    Row("stops", 16, "16 texts", lambda n: contents(generationConfig={"stopSequences": named(n)})),
    Row("system", TEXT, "instructions", lambda n: contents(systemInstruction=content({"text": "x" * n}))),
    Row("text", TEXT, "text", lambda n: contents(content({"text": "x" * n}))),
    Row("contents", 4000, "4000 messages", lambda n: contents(
        *(content(role=role) for role in turns(n, ("user", "model"))))),
    Row("images", 16, "16 images", lambda n: contents(content(*[inline("image/png", "AAAA")] * n))),
    Row("files", 32, "32", lambda n: contents(content(*[inline("text/csv", "QQ==")] * n), **CODING)),
    Row("file", 6 * MIB, "6291456", lambda n: contents(content(inline("text/csv", bytes_of(n))), **CODING)),
    Row("files together", 6 * MIB, "6291456", lambda n: contents(
        content(inline("text/csv", bytes_of(n - 3)), inline("text/csv", bytes_of(3))), **CODING)),
    Row("files together, the last with padding", 6 * MIB, "6291456", lambda n: contents(
        content(inline("text/csv", bytes_of(n - 2)), inline("text/csv", bytes_of(2))), **CODING)),
    Row("calls", 16, "16 calls", lambda n: contents(
        content(), content(*[{"functionCall": {"name": "f0", "args": {}}}] * n, role="model"),
        content(*[{"functionResponse": {"name": "f0", "response": {}}}] * n), tools=[declared(["f0"])])),
]


def test_uploads_of_gemini(server):
    def upload(command, body=b"{}", offset=0, **headers):
        return post(server, "/gemini/upload/v1beta/files?upload_id=mine&name=a", body, headers={
            "X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": str(offset), "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Api-Key": server.key, **headers})

    for size, status in ((512 * MIB, 200), (512 * MIB + 1, 413)):  # UPLOAD_MAX, announced before the file is sent
        answer = upload("start", **{"X-Goog-Upload-Header-Content-Length": str(size)})
        assert answer.status == status, answer
    for offset, status in ((512 * MIB, 200), (512 * MIB + 1, 400)):
        assert (upload("upload", b"x", offset).status == 400) == (status == 400), offset
    for size, status in ((16 * MIB, 200), (16 * MIB + 1, 413)):  # PIECE_MAX
        answer = upload("upload", b"x" * size)
        assert answer.status == status, (size, answer.status, answer.body[:200])


@pytest.mark.parametrize("row", GEMINI, ids=lambda row: row.name)
def test_contents_of_gemini(server, row):
    check(server, f"/gemini/v1beta/models/{MODEL}:generateContent", row, gemini_error)
