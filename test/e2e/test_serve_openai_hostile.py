"""OpenAI's API against those who mean harm, or get it wrong: other tenants' ids, broken bodies, early leavers."""
import http.client
import json
import os

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import CODE, MODEL, Speaking
from waiting import eventually

ONE_USER = ["root" if os.geteuid() == 0 else "rootless"]
pytestmark = [pytest.mark.parametrize("as_user", ONE_USER, indirect=True),
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SCOPES = ["agent", "sessions", "execute", "files", "read"]


def test_ids_of_another_tenant(reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="One."), Reply(text="Two."), Reply(text="Three.")) as model, \
            Speaking(reckon, model) as server:
        mine = server.client()
        response = mine.responses.create(model=MODEL, input="?", tools=[CODE])
        talk = mine.conversations.create(items=[{"role": "user", "content": "secret"}])
        item, = mine.conversations.items.list(talk.id)
        hidden = mine.responses.create(model=MODEL, input="?", background=True)
        file = mine.files.create(file=("a.txt", b"secret"), purpose="assistants")
        assistant = mine.beta.assistants.create(model=MODEL)
        thread = mine.beta.threads.create(messages=[{"role": "user", "content": "secret"}])
        run = mine.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        step, = mine.beta.threads.runs.steps.list(run.id, thread_id=thread.id)
        tenant = server.ask("POST", "/tenants", {"name": "other"}).json["id"]
        key = server.ask("POST", "/keys", {"tenant": tenant, "scopes": SCOPES}).json["key"]
        other = server.client(api_key=key)
        own = other.beta.threads.create()
        other_assistant = other.beta.assistants.create(model=MODEL)
        container = response.output[0].container_id
        runs = f"/threads/{thread.id}/runs"
        for method, path, body in (
                ("GET", f"/responses/{response.id}", None), ("GET", f"/responses/{response.id}?stream=true", None),
                ("DELETE", f"/responses/{response.id}", None), ("GET", f"/responses/{response.id}/input_items", None),
                ("POST", f"/responses/{hidden.id}/cancel", {}), ("GET", f"/conversations/{talk.id}", None),
                ("POST", f"/conversations/{talk.id}", {}), ("DELETE", f"/conversations/{talk.id}", None),
                ("GET", f"/conversations/{talk.id}/items", None), ("POST", f"/conversations/{talk.id}/items", {"items": []}),
                ("GET", f"/conversations/{talk.id}/items/{item.id}", None), ("GET", f"/containers/{container}", None),
                ("GET", f"/containers/{container}/files", None), ("GET", f"/files/{file.id}/content", None),
                ("DELETE", f"/files/{file.id}", None), ("GET", f"/assistants/{assistant.id}", None),
                ("POST", f"/assistants/{assistant.id}", {}), ("DELETE", f"/assistants/{assistant.id}", None),
                ("GET", f"/threads/{thread.id}", None), ("DELETE", f"/threads/{thread.id}", None),
                ("GET", f"/threads/{thread.id}/messages", None), ("GET", runs, None), ("GET", f"{runs}/{run.id}", None),
                ("GET", f"{runs}/{run.id}/steps/{step.id}", None), ("POST", f"{runs}/{run.id}/cancel", {}),
                ("GET", f"/threads/{own.id}/runs/{run.id}", None),
                ("POST", f"/threads/{own.id}/runs", {"assistant_id": assistant.id}),
                ("POST", f"{runs}", {"assistant_id": other_assistant.id}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "conversation": talk.id}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "previous_response_id": response.id}),
                ("POST", "/responses", {"model": MODEL, "input": "?", "tools": [{"type": "code_interpreter",
                                                                                "container": container}]})):
            answer = server.ask(method, path, body, {"Authorization": f"Bearer {key}"}, prefix="/openai/v1")
            assert answer.status == 404, (method, path, answer)
            assert answer.json["error"]["type"] == "invalid_request_error" and answer.headers["x-request-id"]
            assert b"secret" not in answer.body
        assert mine.conversations.items.list(talk.id).data == [item]


def test_broken_requests(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client()
        talk, thread = client.conversations.create(), client.beta.threads.create()
        deep = b'{"a":' * 70 + b"1" + b"}" * 70
        for path in ("/responses", "/chat/completions", "/conversations", f"/conversations/{talk.id}",
                     f"/conversations/{talk.id}/items", "/assistants", "/threads", f"/threads/{thread.id}",
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
                     f"/conversations/{talk.id}/items/msg_x", "/responses/resp_x?stream=true&starting_after=99999999999999999999"):
            assert server.ask("GET", path, prefix="/openai/v1").status in (400, 404), path
        many = {"items": [{"role": "user", "content": "?"}] * 21}
        assert server.ask("POST", f"/conversations/{talk.id}/items", many, prefix="/openai/v1").status == 400
        # What does not fit into a document is refused, and leaves nothing.
        with pytest.raises(openai.APIStatusError) as caught:
            client.conversations.items.create(talk.id, items=[{"role": "user", "content": "x" * (2 << 20)}])
        assert caught.value.status_code == 413 and not client.conversations.items.list(talk.id).data


def test_a_client_that_leaves_a_run_in_the_background(reckon):
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
