"""Responses of OpenAI's API that outlive a request: in the background, replayed, in conversations."""
import threading

import openai
import pydantic
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import CODE, MODEL, OUTPUTS, WEATHER, Speaking, types
from waiting import eventually

pytestmark = pytest.mark.one_user


class GatedReply:
    """A reply that the model gives when the test opens its gate."""

    def __init__(self, reply):
        self.reply, self.gate = reply, threading.Event()

    def __call__(self, _):
        self.gate.wait(30)
        return self.reply


def script(*replies):
    """A function for the model that takes the next reply, and calls it if it is a function."""
    left = list(replies)

    def next_reply(body):
        reply = left.pop(0)
        return reply(body) if callable(reply) else reply
    return next_reply


def test_in_the_background(reckon):
    last = GatedReply(Reply(text="Done."))
    with ModelServer(script(Reply(text="I count.", calls=["print(1)"]), last)) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        queued = client.responses.create(model=MODEL, input="Count.", tools=[CODE], include=OUTPUTS,
                                         background=True, metadata={"a": "b"})
        assert (queued.status, queued.background, queued.output) == ("queued", True, [])
        going = eventually(lambda: (now := client.responses.retrieve(queued.id)) and len(now.output) == 2 and now)
        assert going.status == "in_progress" and types(going) == ["message", "code_interpreter_call"]
        assert going.output[1].outputs[0].logs == "1\n"
        last.gate.set()
        done = eventually(lambda: (now := client.responses.retrieve(queued.id)).status == "completed" and now)
        assert done.output[:2] == going.output and done.output_text == "I count.Done."
        assert done.metadata == {"a": "b"} and done.created_at == queued.created_at and done.usage.total_tokens
        assert client.responses.retrieve(queued.id) == done
        item, = client.responses.input_items.list(queued.id)
        assert item.content[0].text == "Count."
        # Cancelling a response that has ended changes nothing.
        assert client.responses.cancel(queued.id) == done
        client.responses.delete(queued.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(queued.id)


def test_a_stream_continues_where_it_broke_off(reckon):
    last = GatedReply(Reply(text="Done, see sandbox:/mnt/data/a.txt."))
    with ModelServer(script(Reply(thought="Hm.", calls=["open('a.txt', 'w').write('1')"]), last)) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        seen = []
        with client.responses.create(model=MODEL, input="?", tools=[CODE], background=True, stream=True,
                                     reasoning={"summary": "auto"}) as stream:
            for event in stream:
                seen.append(event)
                if event.type == "response.code_interpreter_call.interpreting":
                    break
        response = seen[0].response.id
        last.gate.set()
        with client.responses.retrieve(response, stream=True, starting_after=seen[-1].sequence_number) as stream:
            rest = list(stream)
        assert [event.sequence_number for event in seen + rest] == list(range(len(seen) + len(rest)))
        assert rest[-1].type == "response.completed"
        whole = rest[-1].response
        assert types(whole) == ["reasoning", "code_interpreter_call", "message"]
        # The whole stream again, as the SDK validates it.
        for _ in range(2):
            with client.responses.stream(response_id=response) as stream:
                again = list(stream)
                assert stream.get_final_response().output_text == whole.output_text
        assert [event.type for event in again] == [event.type for event in seen + rest]
        # When the events are no longer in memory, the answer is still stored.
        server.stop()
        server.start()
        client = server.client()
        assert client.responses.retrieve(response).to_dict() == whole.to_dict()
        with client.responses.stream(response_id=response, starting_after=1000) as stream:
            pass
        with client.responses.retrieve(response, stream=True, starting_after=1000) as stream:
            assert [event.type for event in stream] == ["response.completed"]
        with client.responses.retrieve(response, stream=True) as stream:
            events = list(stream)
        assert types(events[-1].response) == ["code_interpreter_call", "message"]


def test_cancelled(reckon):
    with ModelServer(Reply(text="Wait.", calls=["import time\ntime.sleep(60)"]), Reply(text="No.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        begun = client.responses.create(model=MODEL, input="?", tools=[CODE], background=True)
        eventually(lambda: client.responses.retrieve(begun.id).output)
        ended = client.responses.cancel(begun.id)
        assert ended.status == "cancelled" and ended.output_text == "Wait." and ended.error is None
        assert client.responses.cancel(begun.id) == ended == client.responses.retrieve(begun.id)
        assert len(model.requests) == 1
        whole = client.responses.create(model=MODEL, input="?")
        with pytest.raises(openai.BadRequestError, match="synchronous"):
            client.responses.cancel(whole.id)
        for what in (client.responses.cancel, client.responses.retrieve):
            with pytest.raises(openai.NotFoundError):
                what("resp_01ARZ3NDEKTSV4RRFFQ69G5FAV")
        with pytest.raises(openai.BadRequestError, match="store"):
            client.responses.create(model=MODEL, input="?", background=True, store=False)


def test_failed_in_the_background(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no such luck", "type": "invalid_request_error"}})
    with ModelServer(trouble, trouble) as model, Speaking(reckon, model) as server:
        client = server.client()
        begun = client.responses.create(model=MODEL, input="?", background=True)
        ended = eventually(lambda: (now := client.responses.retrieve(begun.id)).status == "failed" and now)
        assert ended.error.code == "server_error" and "no such luck" in ended.error.message


def test_conversations(reckon):
    with ModelServer(Reply(calls=["x = 5\nprint(x)"]), Reply(text="Five."), Reply(calls=["print(x + 1)"]),
                     Reply(text="Six."), Reply(text="Seven.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        conversation = client.conversations.create(metadata={"topic": "numbers"}, items=[
            {"type": "message", "role": "user", "content": "My name is Ada."}])
        assert conversation.id.startswith("conv_") and conversation.object == "conversation"
        assert client.conversations.retrieve(conversation.id) == conversation
        assert client.conversations.update(conversation.id, metadata={"topic": "n"}).metadata == {"topic": "n"}
        first = client.responses.create(model=MODEL, input="Count.", tools=[CODE], conversation=conversation.id)
        assert first.conversation.id == conversation.id and first.output[0].outputs is None
        # Variables persist, and the model gets the earlier output again.
        second = client.responses.create(model=MODEL, input=[{"role": "user", "content": "On."}], tools=[CODE],
                                         conversation={"id": conversation.id}, include=OUTPUTS)
        assert second.output[0].outputs[0].logs == "6\n"
        assert second.output[0].container_id == first.output[0].container_id
        sent = model.requests[2].body["messages"]
        assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert sent[1]["content"] == "My name is Ada.\n\nCount." and sent[3]["content"] == "5\n"
        items = list(client.conversations.items.list(conversation.id, order="asc", limit=2))
        assert [item.type for item in items] == ["message", "message", "code_interpreter_call", "message",
                                                 "message", "code_interpreter_call", "message"]
        assert items[2].outputs is None and items[0].content[0].text == "My name is Ada."
        newest = client.conversations.items.list(conversation.id, limit=2, include=OUTPUTS).data
        assert newest[0].content[0].text == "Six." and newest[1].outputs[0].logs == "6\n"
        assert client.conversations.items.retrieve(items[1].id, conversation_id=conversation.id) == items[1]
        client.conversations.items.delete(items[0].id, conversation_id=conversation.id)
        added = client.conversations.items.create(conversation.id, items=[{"role": "user", "content": "One more."}])
        assert added.data[0].content[0].text == "One more."
        # A response in the background adds its items, too.
        client.responses.create(model=MODEL, input="Quick.", conversation=conversation.id, background=True)
        eventually(lambda: client.conversations.items.list(conversation.id).data[0].content[0].text == "Seven.",
                   despite=(openai.BadRequestError,))
        client.conversations.delete(conversation.id)
        for gone in (lambda: client.conversations.retrieve(conversation.id), lambda: client.conversations.delete(conversation.id),
                     lambda: client.conversations.items.list(conversation.id),
                     lambda: client.responses.create(model=MODEL, input="?", conversation=conversation.id)):
            with pytest.raises(openai.NotFoundError):
                gone()
        assert not server.ask("GET", "/documents/conversation.openai.conversation_items").json["documents"]


def test_functions_in_a_conversation(reckon):
    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_1"}
    with ModelServer(Reply(calls=[call]), Reply(text="Warm.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        conversation = client.conversations.create()
        client.responses.create(model=MODEL, input="Bern?", tools=[WEATHER], conversation=conversation.id)
        last = client.responses.create(model=MODEL, tools=[WEATHER], conversation=conversation.id, input=[
            {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"}])
        assert last.output_text == "Warm."
    assert [each["role"] for each in model.requests[1].body["messages"]] == ["user", "assistant", "tool"]


class City(pydantic.BaseModel):
    name: str
    people: int


BERN = '{"name": "Bern", "people": 134000}'


def test_structured_output(reckon):
    with ModelServer(Reply(text="I look.", calls=["print(134000)"]), Reply(text=BERN), Reply(text='{"name": "Bern"}'),
                     Reply(text=BERN), Reply(text=BERN), Reply(text=BERN), Reply(text="{}"),
                     *[Reply(text="Bern, of course.")] * 4) as model, Speaking(reckon, model) as server:
        client = server.client()
        first = client.responses.create(model=MODEL, input="Bern?", tools=[CODE], text={"format": {
            "type": "json_schema", "name": "City", "strict": True, "schema": City.model_json_schema()}})
        assert City.model_validate_json(first.output[-1].content[0].text).people == 134000
        wanted = model.requests[0].body["response_format"]
        assert (wanted["type"], wanted["json_schema"]["name"], wanted["json_schema"]["strict"]) == ("json_schema", "City", True)
        assert wanted["json_schema"]["schema"]["required"] == ["name", "people"]
        # Output that does not match the schema is never shown: the model is asked again.
        parsed = client.responses.parse(model=MODEL, input="Bern?", text_format=City)
        assert parsed.output_parsed == City(name="Bern", people=134000)
        assert 'has no "people"' in model.requests[3].body["messages"][-1]["content"]
        with client.responses.stream(model=MODEL, input="Bern?", text_format=City) as stream:
            assert stream.until_done().get_final_response().output_parsed.name == "Bern"
        chat = client.chat.completions.parse(model=MODEL, messages=[{"role": "user", "content": "Bern?"}],
                                             response_format=City)
        assert chat.choices[0].message.parsed.people == 134000
        loose = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "?"}],
                                               response_format={"type": "json_object"})
        assert loose.choices[0].message.content == "{}"
        with pytest.raises(openai.InternalServerError, match="did not obey"):
            client.responses.parse(model=MODEL, input="Bern?", text_format=City)
        for wrong in ({"type": "json_schema", "name": "x"}, {"type": "grammar"},
                      {"type": "json_schema", "name": "a b", "schema": {}}):
            with pytest.raises(openai.BadRequestError):
                client.responses.create(model=MODEL, input="?", text={"format": wrong})
