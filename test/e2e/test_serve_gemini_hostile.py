"""Gemini's API with hostile or broken input: other tenants' files, invalid bodies, clients that
disconnect, providers that are down or send garbage. Each error has the vendor's format."""
import http.client
import json
import socket

import pytest
from google.genai import errors
from model_server import ModelServer, Reply
from test_serve_anthropic_hostile import LIES, SCOPES
from test_serve_gemini import CODE, MODEL, Speaking, config
from waiting import eventually

pytestmark = pytest.mark.one_user
METHODS = ["generate_content", "generate_content_stream"]
USER = {"role": "user", "parts": [{"text": "?"}]}


def error_of(answer, status, name):
    error = answer.json["error"]
    assert (answer.status, error["code"], error["status"]) == (status, status, name), answer
    assert error["message"] and isinstance(error["details"], list)
    return error


def failed(server, method, kind=errors.APIError, **body):
    """The error that the SDK raises; in a stream that has begun, the error is the last event."""
    with pytest.raises(kind) as caught:
        found = getattr(server.client().models, method)(model=MODEL, contents="?", **body)
        if method.endswith("stream"):
            list(found)
    return caught.value


def test_files_of_another_tenant(reckon):
    with ModelServer(*[Reply(text="Ok.")] * 3) as model, Speaking(reckon, model) as server:
        (reckon.work / "a.txt").write_text("secret")
        file = server.client().files.upload(file=reckon.work / "a.txt")
        _, key = server.newcomer("other", SCOPES)
        for method, path, body in (
                ("GET", f"/{file.name}", None), ("DELETE", f"/{file.name}", None),
                ("POST", f"/models/{MODEL}:generateContent", {"contents": [{"role": "user", "parts": [
                    {"fileData": {"fileUri": file.uri, "mimeType": "text/plain"}}]}]}),
                ("POST", f"/models/{MODEL}:generateContent", {"tools": [{"codeExecution": {}}], "contents": [
                    {"role": "user", "parts": [{"fileData": {"fileUri": file.uri, "mimeType": "text/csv"}}]}]})):
            answer = server.ask(method, "/v1beta" + path, body, {"Authorization": f"Bearer {key}"}, prefix="/gemini")
            error_of(answer, 404, "NOT_FOUND")
            assert b"secret" not in answer.body
        other = server.client(key=key)
        assert not list(other.files.list())
        assert [each.name for each in server.client().files.list()] == [file.name] and not model.requests


def test_broken_bodies(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        deep = b'{"contents":' * 200 + b"1" + b"}" * 200
        for method in ("generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse", "countTokens"):
            path = f"/v1beta/models/{MODEL}:{method}"
            for body in (b"", b"{", b"[]", b'"x"', b"\xff\xfe", b'{"a": 1, "a": 2}', deep, b"{}\x00", b"null",
                         b'{"contents": {}}', b'{"contents": [{"parts": 1}]}', b'{"contents": [{"parts": [1]}]}',
                         b'{"contents": [{"parts": [{}]}]}', b'{"contents": [{"role": 5, "parts": [{"text": "a"}]}]}',
                         b'{"contents": [{"parts": [{"fileData": 1}]}]}', b'{"contents": [{"parts": [{"functionCall": {}}]}]}'):
                error_of(server.ask("POST", path, body, prefix="/gemini"), 400, "INVALID_ARGUMENT")
            error_of(server.ask("POST", path, b"x", {"Content-Length": str(33 << 20)}, prefix="/gemini"),
                     413, "INVALID_ARGUMENT")
            error_of(server.ask("POST", path, b"{}", {"Authorization": "Bearer rk_no"}, prefix="/gemini"),
                     401, "UNAUTHENTICATED")
        for tool in ({"codeExecution2099": {}}, {"codeExecution": 1}, 5, [], {"functionDeclarations": 1}, {"functionDeclarations": [{}]},
                     {"functionDeclarations": [{"name": "a b"}]}, {"computerUse": {}}, {"codeExecution": {}, "googleMaps": {}}):
            answer = server.ask("POST", f"/v1beta/models/{MODEL}:generateContent", {"contents": [USER], "tools": [tool]},
                                prefix="/gemini")
            error_of(answer, 400, "INVALID_ARGUMENT")
        for path in ("/v1beta/files/..%2f..", "/v1beta/files/%00", "/v1beta/files/" + "f" * 3000, "/v1beta/models/..",
                     "/v9/models", "/v1beta/cachedContents"):
            answer = server.ask("GET", path, prefix="/gemini")
            assert answer.status in (400, 404) and answer.json["error"]["status"] in ("INVALID_ARGUMENT", "NOT_FOUND"), path
        assert not model.requests


def test_disconnect_interrupts_the_run(reckon):
    with ModelServer(Reply(calls=["import time\ntime.sleep(60)"]), Reply(text="No.")) as model, \
            Speaking(reckon, model) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", f"/gemini/v1beta/models/{MODEL}:generateContent", json.dumps(
            {"contents": [USER], "tools": [{"codeExecution": {}}]}), server.headers())
        eventually(lambda: model.requests)
        connection.close()
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        assert len(model.requests) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_provider_that_is_down(reckon, method):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with ModelServer() as model, Speaking(reckon, model) as server:
        server.file.write_text(server.file.read_text().replace(model.url, f"http://127.0.0.1:{port}")
                               .replace("retries = 1", "retries = 0"))
        server.stop()
        server.start()
        error = failed(server, method, errors.ServerError)
        assert (error.code, error.status) == (500, "INTERNAL") and "connect" in error.message


@pytest.mark.parametrize("method", METHODS)
def test_invalid_replies_of_a_provider(reckon, method):
    key = None
    for lie in LIES:
        with ModelServer(*[lie] * 4) as model, Speaking(reckon, model, default="max-time = 20", key=key) as server:
            key = server.key
            try:
                found = getattr(server.client().models, method)(model=MODEL, contents="?", config=config(CODE))
                last = list(found)[-1] if method.endswith("stream") else found
            except errors.ServerError as error:
                assert error.status in ("INTERNAL", "UNAVAILABLE") and error.message, (lie, error)
            else:  # an empty answer, or one that a limit ended
                assert last.candidates[0].finish_reason.name in ("STOP", "MAX_TOKENS", "OTHER"), (lie, last)
            assert server.ask("GET", "/v1beta/models", prefix="/gemini").status == 200


@pytest.mark.parametrize("method", METHODS)
def test_a_quota(reckon, method):
    with ModelServer(Reply(calls=["import time\ntime.sleep(30)"])) as model, \
            Speaking(reckon, model, args=("--agent-runs-tenant", "1")) as server:
        server.begin()
        error = failed(server, method, errors.ClientError)
        assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
        details = {each["@type"].rpartition(".")[2]: each for each in error.details["error"]["details"]}
        assert details["RetryInfo"]["retryDelay"] == "5s"
        assert details["QuotaFailure"]["violations"] == [{"quotaId": "agent_runs", "quotaValue": "1"}]
        assert error.response.headers["retry-after"] == "5"
