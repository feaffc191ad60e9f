"""OpenAI's API with hostile or broken input: other tenants' ids, invalid bodies, clients that
disconnect, providers that are down or send garbage."""
import http.client
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import CODE, MODEL, Speaking
from waiting import eventually

pytestmark = [pytest.mark.one_user,
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SCOPES = ["agent", "sessions", "execute", "files", "read"]


def test_ids_of_another_tenant(reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="One."), Reply(text="Two."), Reply(text="Three.")) as model, \
            Speaking(reckon, model) as server:
        mine = server.client()
        response = mine.responses.create(model=MODEL, input="?", tools=[CODE])
        conversation = mine.conversations.create(items=[{"role": "user", "content": "secret"}])
        item, = mine.conversations.items.list(conversation.id)
        hidden = mine.responses.create(model=MODEL, input="?", background=True)
        file = mine.files.create(file=("a.txt", b"secret"), purpose="assistants")
        assistant = mine.beta.assistants.create(model=MODEL)
        thread = mine.beta.threads.create(messages=[{"role": "user", "content": "secret"}])
        run = mine.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        step, = mine.beta.threads.runs.steps.list(run.id, thread_id=thread.id)
        _, key = server.newcomer("other", SCOPES)
        other = server.client(api_key=key)
        own = other.beta.threads.create()
        other_assistant = other.beta.assistants.create(model=MODEL)
        container = response.output[0].container_id
        runs = f"/threads/{thread.id}/runs"
        for method, path, body in (
                ("GET", f"/responses/{response.id}", None), ("GET", f"/responses/{response.id}?stream=true", None),
                ("DELETE", f"/responses/{response.id}", None), ("GET", f"/responses/{response.id}/input_items", None),
                ("POST", f"/responses/{hidden.id}/cancel", {}), ("GET", f"/conversations/{conversation.id}", None),
                ("POST", f"/conversations/{conversation.id}", {}), ("DELETE", f"/conversations/{conversation.id}", None),
                ("GET", f"/conversations/{conversation.id}/items", None), ("POST", f"/conversations/{conversation.id}/items", {"items": []}),
                ("GET", f"/conversations/{conversation.id}/items/{item.id}", None), ("GET", f"/containers/{container}", None),
                ("GET", f"/containers/{container}/files", None), ("GET", f"/files/{file.id}/content", None),
                ("DELETE", f"/files/{file.id}", None), ("GET", f"/assistants/{assistant.id}", None),
                ("POST", f"/assistants/{assistant.id}", {}), ("DELETE", f"/assistants/{assistant.id}", None),
                ("GET", f"/threads/{thread.id}", None), ("DELETE", f"/threads/{thread.id}", None),
                ("GET", f"/threads/{thread.id}/messages", None), ("GET", runs, None), ("GET", f"{runs}/{run.id}", None),
                ("GET", f"{runs}/{run.id}/steps/{step.id}", None), ("POST", f"{runs}/{run.id}/cancel", {}),
                ("GET", f"/threads/{own.id}/runs/{run.id}", None),
                ("POST", f"/threads/{own.id}/runs", {"assistant_id": assistant.id}),
                ("POST", f"{runs}", {"assistant_id": other_assistant.id}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "conversation": conversation.id}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "previous_response_id": response.id}),
                ("POST", "/responses", {"model": MODEL, "input": [{"type": "item_reference", "id": response.output[0].id}]}),
                ("POST", "/responses", {"model": MODEL, "input": [{"role": "user", "content": [
                    {"type": "input_file", "file_id": file.id}]}]}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "tools": [{"type": "code_interpreter",
                                                                                "container": container}]}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "tools": [{"type": "shell", "environment": {
                    "type": "container_reference", "container_id": container}}]}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "tools": [{"type": "shell", "environment": {
                    "type": "container_auto", "file_ids": [file.id]}}]})):
            answer = server.ask(method, path, body, {"Authorization": f"Bearer {key}"}, prefix="/openai/v1")
            assert answer.status == 404, (method, path, answer)
            assert answer.json["error"]["type"] == "invalid_request_error" and answer.headers["x-request-id"]
            assert b"secret" not in answer.body
        assert mine.conversations.items.list(conversation.id).data == [item]


def test_broken_requests(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client()
        conversation, thread = client.conversations.create(), client.beta.threads.create()
        deep = b'{"a":' * 70 + b"1" + b"}" * 70
        for path in ("/responses", "/chat/completions", "/conversations", f"/conversations/{conversation.id}",
                     f"/conversations/{conversation.id}/items", "/assistants", "/threads", f"/threads/{thread.id}",
                     f"/threads/{thread.id}/messages", f"/threads/{thread.id}/runs", "/threads/runs", "/containers"):
            for body in (b"{", b"[]", b'"x"', b"\xff\xfe", b'{"a": 1, "a": 2}', deep, b'{"model": {}, "role": 3}\x00'):
                answer = server.ask("POST", path, body, prefix="/openai/v1")
                assert answer.status == 400, (path, body[:20], answer)
                assert answer.json["error"]["type"] == "invalid_request_error" and answer.headers["x-request-id"]
            answer = server.ask("POST", path, b"x", {"Content-Length": str(33 << 20)}, prefix="/openai/v1")
            assert answer.status == 413, (path, answer)
            answer = server.ask("POST", path, b"{}", {"Authorization": "Bearer rk_no"}, prefix="/openai/v1")
            assert answer.status == 401 and answer.json["error"]["code"] == "invalid_api_key"
        for path in ("/conversations/x", "/conversations/conv_%00", "/conversations/" + "c" * 300, "/assistants/..%2f..",
                     "/threads/thread_x/runs/run_x/steps", f"/threads/{thread.id}/nothing", f"/threads/{thread.id}/runs/a/b/c",
                     f"/conversations/{conversation.id}/items/msg_x", "/responses/resp_x?stream=true&starting_after=99999999999999999999"):
            assert server.ask("GET", path, prefix="/openai/v1").status in (400, 404), path
        many = {"items": [{"role": "user", "content": "?"}] * 21}
        assert server.ask("POST", f"/conversations/{conversation.id}/items", many, prefix="/openai/v1").status == 400
        # An item that does not fit into a document is refused, and nothing of it is stored.
        with pytest.raises(openai.APIStatusError) as caught:
            client.conversations.items.create(conversation.id, items=[{"role": "user", "content": "x" * (2 << 20)}])
        assert caught.value.status_code == 413 and not client.conversations.items.list(conversation.id).data


def test_disconnect_does_not_end_background_runs(reckon):
    with ModelServer(Reply(text="Slowly.", pieces=1), Reply(text="Slowly.", pieces=1)) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        assistant = client.beta.assistants.create(model=MODEL)
        thread = client.beta.threads.create(messages=[{"role": "user", "content": "?"}])
        for path, body in (("/responses", {"model": MODEL, "input": "?", "background": True, "stream": True}),
                           (f"/threads/{thread.id}/runs", {"assistant_id": assistant.id, "stream": True})):
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request("POST", "/openai/v1" + path, json.dumps(body), server.headers())
            event = connection.getresponse().readline()
            assert event.startswith(b"event: "), event
            connection.close()
        eventually(lambda: client.beta.threads.messages.list(thread.id).data[0].role == "assistant")
        run, = client.beta.threads.runs.list(thread.id)
        assert run.status == "completed"


def failures(client):
    """How each API reports that its model gave no answer: yields the messages of the errors."""
    request = {"model": MODEL, "messages": [{"role": "user", "content": "lie"}]}
    for ask in (lambda: client.responses.create(model=MODEL, input="lie"), lambda: client.chat.completions.create(**request)):
        with pytest.raises(openai.InternalServerError) as whole:
            ask()
        assert whole.value.type == "server_error" and whole.value.response.headers["x-should-retry"] == "false"
        yield str(whole.value)
    with client.responses.create(model=MODEL, input="lie", stream=True) as stream:
        last = list(stream)[-1]
    assert last.type == "response.failed" and last.response.error.code == "server_error"
    yield last.response.error.message
    with pytest.raises(openai.APIError) as broken:
        list(client.chat.completions.create(**request, stream=True))
    yield str(broken.value)
    assistant = client.beta.assistants.create(model=MODEL)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "lie"}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert (run.status, run.last_error.code) == ("failed", "server_error")
    yield run.last_error.message


def test_a_provider_that_is_down(reckon):
    with ModelServer() as model:
        pass
    with Speaking(reckon, model, default="max-time = 20") as server:
        for words in failures(server.client()):
            assert "connect" in words.lower() and "Traceback" not in words, words


@pytest.mark.parametrize("lie, words", [
    (Reply(raw=b"<html>Welcome!</html>"), ""), (Reply(raw=b"data: {not json\n\n"), ""), (Reply(raw=b"\xff\xfe\x00" * 9999), ""),
    (Reply(raw=b'data: {"choices": [{"delta": {"tool_calls": 7, "content": {"a": 1}}}]}\n\n'), ""),
    (Reply(text="Half an ans", cut=True), "middle"), (Reply(text="Well", broken_after="lightning"), "lightning"),
    (Reply(raw=b"data: " + b"x" * (9 << 20)), ""), (Reply(status=302, error={"moved": "http://127.0.0.1:1/"}), "302"),
    (Reply(status=500, error={"error": ["a", {"b": None}]}), "500"),
    (Reply(status=401, error={"error": {"message": "bad key"}}), "401")],
    ids=["html", "json", "bytes", "types", "cut", "broken", "endless", "redirect", "shape", "key"])
def test_invalid_replies_of_a_provider(reckon, lie, words):
    def reply(body):
        return lie if "lie" in json.dumps(body["messages"]) else Reply(text="Fine.")

    with ModelServer(reply) as model, Speaking(reckon, model) as server:
        client = server.client()
        for message in failures(client):
            assert message and words in message, message
        assert client.responses.create(model=MODEL, input="?").output_text == "Fine."


def test_invalid_tool_calls_of_a_provider(reckon):
    """Unknown tools, invalid arguments and impossible token counts: the model gets errors, and the
    run continues."""
    wild = [{"raw": "{", "name": "get_weather", "id": "x"}, {"raw": '{"commands": []}', "name": "shell", "id": "y" * 300},
            {"raw": '{"code": 5}', "name": "\u202e" * 50, "id": ""}]
    with ModelServer(Reply(calls=wild, usage=(-5, 1 << 62)), Reply(text="Fine.", usage=(-7, -1))) as model, \
            Speaking(reckon, model) as server:
        response = server.client().responses.create(model=MODEL, input="?", tools=[
            CODE, {"type": "shell", "environment": {"type": "container_auto"}}])
        assert response.output_text == "Fine." and [item.type for item in response.output] == ["message"]
    results = [each["content"] for each in model.requests[1].body["messages"] if each["role"] == "tool"]
    assert len(results) == 3 and all(each.startswith("Error: ") for each in results)
