"""Anthropic's API with hostile or broken input: other tenants' ids, expired containers, invalid
bodies, clients that disconnect, providers that are down or send garbage. Each error has the
vendor's format."""
import http.client
import json
import socket

import anthropic
import pytest
from model_server import ModelServer, Reply
from test_serve_anthropic import BASH, CODE, REQUEST, Speaking, user
from test_serve_anthropic_programmatic import result, tools
from waiting import eventually

pytestmark = pytest.mark.one_user
SCOPES = ["agent", "sessions", "execute", "files", "read"]


def error_of(answer, status, kind):
    assert answer.status == status, answer
    body = answer.json
    assert body["type"] == "error" and body["error"]["type"] == kind and body["error"]["message"], answer
    assert answer.headers["request-id"] == body["request_id"]
    return body["error"]["message"]


def failed(client, streams, error=anthropic.APIStatusError, **body):
    """The error that the SDK raises; in a stream that has begun, the error is the last event."""
    with pytest.raises(error) as caught:
        if streams:
            with client.messages.stream(**REQUEST, **body) as stream:
                stream.get_final_message()
        else:
            client.messages.create(**REQUEST, **body)
    assert caught.value.body["type"] == "error" and caught.value.body["request_id"], caught.value
    return caught.value.body["error"]


def test_ids_of_another_tenant(reckon):
    with ModelServer(Reply(calls=["echo secret >out.txt"]), Reply(text="Ok."), Reply(calls=["await query_database('x')"]),
                     Reply(text="Ok.")) as model, Speaking(reckon, model) as server:
        mine = server.client()
        file = mine.files.upload(file=("a.txt", b"secret", "text/plain"))
        message = mine.messages.create(**REQUEST, tools=[BASH], messages=[user("?")])
        left = message.content[1].content.content[0].file_id
        waiting = mine.messages.create(**REQUEST, tools=tools(), messages=[user("?")])
        _, key = server.newcomer("other", SCOPES)
        request = {**REQUEST, "tools": [BASH], "messages": [user("?")]}
        answered = [user("?"), waiting.to_param(), user([result(waiting.content[-1])])]
        upload = [user([{"type": "container_upload", "file_id": file.id}])]
        for method, path, body in (
                ("GET", f"/files/{file.id}", None), ("GET", f"/files/{file.id}/content", None),
                ("DELETE", f"/files/{file.id}", None), ("GET", f"/files/{left}", None),
                ("GET", f"/files/{left}/content", None),
                ("POST", "/messages", {**request, "container": message.container.id}),
                ("POST", "/messages", {**request, "container": {"id": message.container.id}}),
                ("POST", "/messages", {**request, "messages": upload}),
                ("POST", "/messages", {**request, "tools": tools(), "container": waiting.container.id,
                                       "messages": json.loads(json.dumps(answered, default=dict))})):
            answer = server.ask(method, "/v1" + path, body, {"Authorization": f"Bearer {key}"}, prefix="/anthropic")
            error_of(answer, 404, "not_found_error")
            assert b"secret" not in answer.body
        other = server.client(api_key=key)
        assert not list(other.files.list()) and [each.id for each in mine.files.list()] == [file.id]
        # The code still waits for the result of its own tenant.
        last = mine.messages.create(**REQUEST, tools=tools(), container=waiting.container.id, messages=answered)
        assert last.content[-1].text == "Ok."


@pytest.mark.parametrize("streams", [False, True])
def test_a_container_that_has_expired(reckon, streams):
    with ModelServer(Reply(calls=["echo 1 >a.txt"]), Reply(text="Ok.")) as model, \
            Speaking(reckon, model, args=("--idle-timeout", "1")) as server:
        client = server.client()
        message = client.messages.create(**REQUEST, tools=[BASH], messages=[user("?")])
        session = message.container.id.replace("container_", "se_")
        eventually(lambda: server.ask("GET", f"/sessions/{session}").json.get("status") != "live")
        more = {"tools": [BASH], "container": message.container.id, "messages": [user("?")]}
        error = failed(client, streams, anthropic.NotFoundError, **more)
        assert error["type"] == "not_found_error" and "expired" in error["message"]
        # The client can still download the file that its code wrote.
        assert client.files.download(message.content[1].content.content[0].file_id).read() == b"1\n"
        assert len(model.requests) == 2


def test_broken_bodies(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        deep = b'{"messages":' * 200 + b"1" + b"}" * 200
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            for body in (b"", b"{", b"[]", b'"x"', b"\xff\xfe", b'{"a": 1, "a": 2}', deep, b"{}\x00", b"null",
                         b'{"model": {}}', b'{"model": "claude-x", "messages": {}}',
                         b'{"model": "claude-x", "messages": [1]}', b'{"model": "claude-x", "messages": [{"role": "user"}]}',
                         b'{"model": "claude-x", "messages": [{"role": "user", "content": {}}]}',
                         b'{"model": "claude-x", "messages": [{"role": 1, "content": "a"}]}'):
                error_of(server.ask("POST", path, body, prefix="/anthropic"), 400, "invalid_request_error")
            answer = server.ask("POST", path, b"x", {"Content-Length": str(33 << 20)}, prefix="/anthropic")
            error_of(answer, 413, "request_too_large")
            answer = server.ask("POST", path, b"{}", {"Authorization": "Bearer rk_no"}, prefix="/anthropic")
            error_of(answer, 401, "authentication_error")
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        for body, headers in ((b"", form), (b"--x\r\n", form), (b"--x--\r\n", form), (b"{}", {}), (b"--x\r\n\r\na\r\n--x--", form),
                              (b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\na\r\n--x--\r\n', form)):
            error_of(server.ask("POST", "/v1/files", body, headers, prefix="/anthropic"), 400, "invalid_request_error")
        for path in ("/v1/files/..%2f..", "/v1/files/file_%00", "/v1/files/" + "f" * 3000, "/v1/models/..", "/v1/none",
                     "/v1/messages/batches", "/v1/files/file_1/content/more"):
            answer = server.ask("GET", path, prefix="/anthropic")
            assert answer.status in (400, 404) and answer.json["error"]["type"] in (
                "invalid_request_error", "not_found_error"), (path, answer)
        assert not model.requests


@pytest.mark.parametrize("streams", [False, True])
def test_unknown_and_invalid_tools(reckon, streams):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client()
        for kind in ("code_execution_20990101", "code_execution", "text_editor_20250728", "bash_20250124", "", "x" * 5000,
                     "text_editor_code_execution"):
            error = failed(client, streams, anthropic.BadRequestError, messages=[user("?")],
                           tools=[{"type": kind, "name": "code_execution"}])
            assert error["type"] == "invalid_request_error" and error["message"].startswith("tools: "), error
        for tool in ({"type": 5}, {}, {"name": "a"}, {"name": "a", "input_schema": "b"}, [], 5, None, "code_execution",
                     {"name": "a b", "input_schema": {}}):
            answer = server.ask("POST", "/v1/messages", {**REQUEST, "messages": [user("?")], "tools": [tool]},
                                prefix="/anthropic")
            error_of(answer, 400, "invalid_request_error")
        assert not model.requests


def test_invented_tool_call_ids(reckon):
    """Tool results with invented ids: the reply reports the code as unavailable, and the model
    continues."""
    with ModelServer(*[Reply(text="Gone.")] * 8) as model, Speaking(reckon, model) as server:
        client = server.client()
        made = client.messages.create(**REQUEST, tools=[CODE], messages=[user("?")]).container.id
        for made_up in ("toolu_code_1_2_3_4", "toolu_code_" + "9" * 40 + "_1_1_1", "toolu_code___", "toolu_1", "x" * 500,
                        "toolu_code_01ARZ3NDEKTSV4RRFFQ69G5FAV_18446744073709551616_99999999999999999999999_1"):
            call = {"type": "tool_use", "id": made_up, "name": "query_database", "input": {},
                    "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_01ARZ3NDEKTSV4RRFFQ69G5FAV"}}
            history = [user("?"), {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": call["caller"]["tool_id"], "name": "code_execution", "input": {"code": "1"}},
                call]}, user([{"type": "tool_result", "tool_use_id": made_up, "content": "1"}])]
            message = client.messages.create(**REQUEST, tools=tools(), container=made, messages=history)
            assert message.content[0].content.error_code == "unavailable" and message.content[-1].text == "Gone."


def test_disconnect_interrupts_the_run(reckon):
    with ModelServer(Reply(calls=["sleep 60"]), Reply(text="No.")) as model, Speaking(reckon, model) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", "/anthropic/v1/messages", json.dumps(
            {**REQUEST, "tools": [BASH], "messages": [user("?")]}), server.headers())
        eventually(lambda: model.requests)
        connection.close()
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        assert len(model.requests) == 1


@pytest.mark.parametrize("streams", [False, True])
def test_a_provider_that_is_down(reckon, streams):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with ModelServer() as model:
        with Speaking(reckon, model) as server:
            server.file.write_text(server.file.read_text().replace(model.url, f"http://127.0.0.1:{port}")
                                   .replace("retries = 1", "retries = 0"))
            server.stop()
            server.start()
            error = failed(server.client(), streams, anthropic.InternalServerError, messages=[user("?")])
            assert error["type"] == "api_error" and "connect" in error["message"]


LIES = [Reply(raw=b"<html>busy</html>"), Reply(raw=b""), Reply(raw=b"data: {\"choices\": [\n\n"), Reply(raw=b"data: []\n\n"),
        Reply(raw=b"\x00\xff\xfe\n\n"), Reply(raw=b'data: {"choices":[{"delta":{"tool_calls":7}}]}\n\n'),
        Reply(raw=b"event: message\ndata: 5\n\ndata: [DONE]\n\n"), Reply(text="Begun", cut=True),
        Reply(text="Begun", broken_after="no more"), Reply(status=302), Reply(status=200, endless=b"data: {}\n\n" * 1000),
        Reply(raw=b"data: " + b"x" * (9 << 20) + b"\n\n")]


@pytest.mark.parametrize("streams", [False, True])
def test_invalid_replies_of_a_provider(reckon, streams):
    key = None
    for lie in LIES:
        with ModelServer(*[lie] * 4) as model, Speaking(reckon, model, default="max-time = 20", key=key) as server:
            client, key = server.client(), server.key
            try:
                message = (client.messages.create(**REQUEST, messages=[user("?")]) if not streams else None)
                if streams:
                    with client.messages.stream(**REQUEST, messages=[user("?")]) as stream:
                        message = stream.get_final_message()
            except anthropic.APIStatusError as error:
                assert error.body["type"] == "error" and error.body["error"]["type"] in (
                    "api_error", "overloaded_error"), (lie, error)
                assert error.body["error"]["message"] and error.body["request_id"]
            else:  # an empty answer, or one that a limit ended
                assert message.type == "message" and message.stop_reason in ("end_turn", "max_tokens"), (lie, message)
            assert server.ask("GET", "/v1/models", prefix="/anthropic").status == 200


def test_ratelimit_headers(reckon):
    with ModelServer(Reply(text="One."), Reply(text="Two."), Reply(calls=["import time\ntime.sleep(30)"])) as model, \
            Speaking(reckon, model, args=("--agent-runs-tenant", "2")) as server:
        client = server.client()
        whole = client.messages.with_raw_response.create(**REQUEST, messages=[user("?")])
        with client.messages.stream(**REQUEST, messages=[user("?")]) as stream:
            for headers in (whole.headers, stream.response.headers):
                assert headers["anthropic-ratelimit-requests-limit"] == "2"
                assert headers["anthropic-ratelimit-requests-remaining"] == "1" and headers["request-id"]
                assert "retry-after" not in headers
            stream.until_done()
        server.begin()
        eventually(lambda: len(model.requests) == 3)
    # The vendor has no header for a quota of sessions, so the response has only `retry-after`.
    with ModelServer(Reply(text="One.")) as model, Speaking(
            reckon, model, args=("--quota-sessions", "1"), key=server.key) as server:
        server.create(template="python")
        with pytest.raises(anthropic.RateLimitError) as caught:
            server.client().messages.create(**REQUEST, tools=[CODE], messages=[user("?")])
        headers = caught.value.response.headers
        assert caught.value.body["error"]["type"] == "rate_limit_error" and int(headers["retry-after"]) > 0
        assert "anthropic-ratelimit-requests-limit" not in headers
