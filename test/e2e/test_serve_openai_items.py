"""Items of Responses that clients send back: by their ids, with encrypted reasoning, with files of
the tenant."""
import base64
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_agent import KEY
from test_serve_openai import CODE, MODEL, OUTPUTS, PNG, Speaking, types
from test_serve_openai_hostile import SCOPES

pytestmark = [pytest.mark.one_user,
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SEALED = ["reasoning.encrypted_content"]


class Reasoning(Speaking):
    """A daemon whose provider sends thoughts in its own format."""

    def __init__(self, reckon, model, protocol):
        super().__init__(reckon, model)
        self.file.write_text(f"[default]\nmodel = thinking/m\nretries = 1\n[provider thinking]\n"
                             f"protocol = {protocol}\nbase-url = {model.url}/v1\nkey = {KEY}\n"
                             f"[aliases]\ngpt-* = thinking/m\nother-* = thinking/n\n[model thinking/n]\n"
                             f"[model thinking/m]\nimages = yes\n")


class Seeing(Speaking):
    """A daemon whose model takes images."""

    def __init__(self, reckon, model):
        super().__init__(reckon, model)
        self.file.write_text(self.file.read_text() + "[model scripted/m]\nimages = yes\n")


def sealed(response):
    return [item.encrypted_content for item in response.output if item.type == "reasoning"]


# ---- by their ids ------------------------------------------------------------------------------

def test_item_references(reckon):
    script = [Reply(text="I run.", calls=["x = 3\nprint(x)"]), Reply(text="Three."), Reply(text="Again."),
              Reply(text="Of talk."), Reply(text="Last.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        client = server.client()
        first = client.responses.create(model=MODEL, input="Count.", tools=[CODE], include=OUTPUTS)
        named = [{"type": "item_reference", "id": item.id} for item in first.output]
        second = client.responses.create(model=MODEL, tools=[CODE], input=[
            {"role": "user", "content": "Count."}, *named[:2], {"id": named[2]["id"]}, {"role": "user", "content": "On."}])
        assert second.output_text == "Again."
        conversation = client.conversations.create(items=[{"role": "user", "content": "My name is Ada."}])
        item, = client.conversations.items.list(conversation.id)
        # A conversation refers to an item of another one: the model gets the item, and only new
        # items are stored.
        third = client.responses.create(model=MODEL, conversation=client.conversations.create().id, input=[
            {"type": "item_reference", "id": item.id}, {"type": "item_reference", "id": first.output[-1].id},
            {"role": "user", "content": "Who?"}])
        stored = client.conversations.items.list(third.conversation.id, order="asc").data
        assert [each.content[0].text for each in stored] == ["Who?", "Of talk."]
        client.responses.create(model=MODEL, conversation=third.conversation.id, input="So?")
    sent = model.requests[2].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"code": "x = 3\nprint(x)"}
    assert sent[3]["content"] == "3\n" and sent[4]["content"] == "Three."
    assert "Ada" in sent_text(model.requests[3]) and "Three." in sent_text(model.requests[3])
    assert sent_text(model.requests[4]).count("Who?") == 1


def sent_text(request):
    return json.dumps(request.body["messages"])


def test_unknown_references(reckon):
    with ModelServer(Reply(text="secret"), Reply(text="unkept")) as model, Speaking(reckon, model) as server:
        mine = server.client()
        stored = mine.responses.create(model=MODEL, input="?").output[0].id
        unstored = mine.responses.create(model=MODEL, input="?", store=False).output[0].id
        stored_item, = mine.conversations.items.list(mine.conversations.create(items=[{"role": "user", "content": "secret"}]).id)
        other = server.client(api_key=server.newcomer(scopes=SCOPES)[1])
        for client, item in ((mine, unstored), (mine, stored[:-1] + "9"), (mine, "msg_" + "0" * 28), (mine, "rs_"), (mine, "../x"),
                             (mine, "x" * 4000), (other, stored), (other, stored_item.id)):
            with pytest.raises(openai.NotFoundError, match="not found. Items are not persisted") as refused:
                client.responses.create(model=MODEL, input=[{"type": "item_reference", "id": item},
                                                            {"role": "user", "content": "?"}])
            assert refused.value.type == "invalid_request_error" and "secret" not in str(refused.value)
        with pytest.raises(openai.BadRequestError, match="at most 500"):
            mine.responses.create(model=MODEL, input=[{"type": "item_reference", "id": stored}] * 501)
        assert len(model.requests) == 2


# ---- encrypted reasoning -----------------------------------------------------------------------

@pytest.mark.parametrize("protocol", ["responses", "messages"])
def test_encrypted_reasoning_returns_to_its_model(reckon, protocol):
    script = [Reply(thought="Hm.", text="I run.", calls=["x = 1\nprint(x)"]), Reply(thought="So.", text="One."),
              Reply(text="Two."), Reply(text="Three.")]
    with ModelServer(*script) as model, Reasoning(reckon, model, protocol) as server:
        client = server.client()
        first = client.responses.create(model=MODEL, input="?", tools=[CODE], store=False, include=SEALED + OUTPUTS)
        thoughts = [item for item in first.output if item.type == "reasoning"]
        assert types(first)[0] == "reasoning" and thoughts[0].encrypted_content and thoughts[0].summary == []
        assert "Hm." not in str(first.output)
        again = [{"role": "user", "content": "?"}, *(item.to_dict() for item in first.output),
                 {"role": "user", "content": "On."}]
        client.responses.create(model=MODEL, input=again, tools=[CODE], store=False)
        # Another model gets nothing of it.
        client.responses.create(model="other-1", input=again, tools=[CODE], store=False)
    back = json.dumps(model.requests[2].body)
    for mark in ("c2VjcmV0IHRob3VnaHRz",) if protocol == "responses" else ("c2lnbmVk", "aGlkZGVu"):
        assert back.count(mark) == 2 and mark not in json.dumps(model.requests[3].body)
    if protocol == "responses":
        kinds = [item["type"] for item in model.requests[2].body["input"]]
        assert kinds == ["message", "reasoning", "message", "function_call", "function_call_output", "reasoning",
                         "message", "message"]


def test_encrypted_reasoning_streams_after_its_summary(reckon):
    with ModelServer(Reply(thought="Hm.", text="Yes."), Reply(thought="Hm.", text="Yes.")) as model, \
            Reasoning(reckon, model, "responses") as server:
        client = server.client()
        with client.responses.stream(model=MODEL, input="?", include=SEALED, reasoning={"summary": "auto"}) as stream:
            events = list(stream)
            response = stream.get_final_response()
        assert types(response) == ["reasoning", "message"]
        assert response.output[0].summary[0].text == "Hm." and sealed(response)[0]
        done = [event.item for event in events if event.type == "response.output_item.done"]
        assert done[0].encrypted_content == sealed(response)[0]
        names = [event.type for event in events]
        assert names.index("response.reasoning_summary_part.done") < names.index("response.output_item.done")
        # A request that does not include it gets nothing of it.
        plain = client.responses.create(model=MODEL, input="?", reasoning={"summary": "auto"})
        assert sealed(plain) == [None]


@pytest.mark.parametrize("content", ["", "no base 64!", base64.b64encode(b"[1]").decode(), base64.b64encode(
    json.dumps({"made_by": "0", "items": [{"type": "reasoning"}] * 99}).encode()).decode(), "A" * 100000])
def test_foreign_reasoning_is_ignored(reckon, content):
    with ModelServer(Reply(text="Fine.")) as model, Reasoning(reckon, model, "responses") as server:
        response = server.client().responses.create(model=MODEL, input=[
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": content},
            {"role": "assistant", "content": "Once."}, {"role": "user", "content": "?"}])
        assert response.output_text == "Fine."
    assert [item["type"] for item in model.requests[0].body["input"]] == ["message", "message"]


# ---- files and images --------------------------------------------------------------------------

def test_files_by_their_ids(reckon):
    with ModelServer(Reply(calls=["print(open('a.csv').read())"]), Reply(text="Seen."), Reply(text="Again.")) as model, \
            Seeing(reckon, model) as server:
        client = server.client()
        image = client.files.create(file=("p.png", base64.b64decode(PNG)), purpose="vision")
        table = client.files.create(file=("a.csv", b"a\n1\n"), purpose="user_data")
        conversation = client.conversations.create()
        response = client.responses.create(model=MODEL, tools=[CODE], include=OUTPUTS, conversation=conversation.id, input=[
            {"role": "user", "content": [{"type": "input_text", "text": "What is it?"},
                                         {"type": "input_image", "file_id": image.id},
                                         {"type": "input_file", "file_id": table.id}]}])
        assert response.output[0].outputs[0].logs == "a\n1\n\n"
        client.responses.create(model=MODEL, conversation=conversation.id, input="And now?")
        for request in (model.requests[0], model.requests[2]):
            assert f"data:image/png;base64,{PNG}" in json.dumps(request.body)
        assert "a.csv" in sent_text(model.requests[0])
        client.files.delete(image.id)
        for part, status, words in (({"type": "input_image", "file_id": image.id}, 404, "."),
                                    ({"type": "input_image", "file_id": table.id}, 400, "not an image"),
                                    ({"type": "input_image", "file_id": "file-x/../y"}, 404, "No such File"),
                                    ({"type": "input_file"}, 400, "file_id")):
            with pytest.raises(openai.APIStatusError, match=words) as refused:
                client.responses.create(model=MODEL, input=[{"role": "user", "content": [part]}])
            assert refused.value.status_code == status and refused.value.type == "invalid_request_error"
        large = client.files.create(file=("l.bin", b"\0" * (7 << 20)), purpose="user_data")
        with pytest.raises(openai.BadRequestError, match="6 MiB"):
            client.responses.create(model=MODEL, input=[{"role": "user", "content": [
                {"type": "input_file", "file_id": large.id}]}])


def test_images_in_a_thread(reckon):
    with ModelServer(Reply(text="Red."), Reply(text="Blue.")) as model, \
            Seeing(reckon, model) as server:
        client = server.client()
        image = client.files.create(file=("p.png", base64.b64decode(PNG)), purpose="vision")
        url = "data:image/jpeg;base64,/9j/4AAQ"
        assistant = client.beta.assistants.create(model=MODEL)
        thread = client.beta.threads.create(messages=[{"role": "user", "content": [
            {"type": "text", "text": "Which colour?"}, {"type": "image_file", "image_file": {"file_id": image.id}}]}])
        assert client.beta.threads.messages.list(thread.id).data[0].content[1].image_file.file_id == image.id
        run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        assert run.status == "completed"
        client.beta.threads.messages.create(thread.id, role="user", content=[
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}}])
        client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        first, second = (json.dumps(request.body) for request in model.requests)
        assert f"data:image/png;base64,{PNG}" in first and url not in first
        assert f"data:image/png;base64,{PNG}" in second and url in second
        other = server.client(api_key=server.newcomer("o", SCOPES)[1])
        elsewhere = other.beta.threads.create()
        for who, where, part, status in (
                (client, thread, {"type": "image_url", "image_url": {"url": "http://a.example/p.png"}}, 400),
                (client, thread, {"type": "image_file", "image_file": {"file_id": "file-01ARZ3NDEKTSV4RRFFQ69G5FAV"}}, 404),
                (client, thread, {"type": "image_file", "image_file": {}}, 404),
                (other, elsewhere, {"type": "image_file", "image_file": {"file_id": image.id}}, 404)):
            with pytest.raises(openai.APIStatusError) as refused:
                who.beta.threads.messages.create(where.id, role="user", content=[part])
            assert refused.value.status_code == status and refused.value.type == "invalid_request_error"
        # The run finds out that a file is not an image, and is refused.
        text = client.files.create(file=("t.txt", b"text"), purpose="vision")
        client.beta.threads.messages.create(thread.id, role="user", content=[
            {"type": "image_file", "image_file": {"file_id": text.id}}])
        with pytest.raises(openai.BadRequestError, match="not an image"):
            client.beta.threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
