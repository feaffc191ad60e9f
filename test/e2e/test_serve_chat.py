"""OpenAI's Chat Completions in front of the daemon, with OpenAI's own SDK; the model is scripted."""
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import MODEL, PNG, Speaking

pytestmark = pytest.mark.one_user

CODE = {"type": "code_interpreter"}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather.",
                                            "parameters": {"type": "object", "properties": {}}}}
CALL = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_1"}


def user(content):
    return {"role": "user", "content": content}


def test_code_runs_here(reckon):
    with ModelServer(Reply(text="I compute.", calls=["print(6 * 7)"]), Reply(text="It is 42.", cached=10)) as model, \
            Speaking(reckon, model) as server:
        answer = server.client().chat.completions.create(
            model=MODEL, tools=[CODE], temperature=0.5, stop="END", max_completion_tokens=99,
            messages=[{"role": "developer", "content": "Be brief."}, user("6 times 7?")])
        sessions = server.ask("GET", "/sessions").json["sessions"]
    choice, = answer.choices
    assert choice.message.content == "I compute.\n\nIt is 42." and choice.finish_reason == "stop"
    assert choice.message.tool_calls is None and answer.model == MODEL and answer.id.startswith("chatcmpl-")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens,
            answer.usage.prompt_tokens_details.cached_tokens) == (200, 40, 240, 10)
    body = model.requests[0].body
    assert (body["temperature"], body["stop"]) == (0.5, ["END"]) and 99 in (
        body.get("max_tokens"), body.get("max_completion_tokens"))
    assert [each["status"] for each in sessions] == ["closed"]


def test_functions_and_streams(reckon):
    with ModelServer(Reply(text="I look.", calls=["print(1)", CALL]), Reply(text="Warm.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client("/v1")
        with client.chat.completions.stream(model=MODEL, tools=[CODE, WEATHER], messages=[user("?")],
                                            stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            first = stream.get_final_completion()
        choice, = first.choices
        call, = choice.message.tool_calls
        assert choice.finish_reason == "tool_calls" and choice.message.content == "I look."
        assert (call.id, call.function.name, json.loads(call.function.arguments)) == (
            "call_1", "get_weather", {"city": "Bern"})
        assert first.usage.total_tokens == 120
        answer = client.chat.completions.create(model=MODEL, tools=[WEATHER], messages=[
            user("?"), choice.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "12"}])
        assert answer.choices[0].message.content == "Warm."
    sent = model.requests[1].body["messages"]
    assert [each["role"] for each in sent] == ["user", "assistant", "tool"]
    assert sent[2] == {"role": "tool", "tool_call_id": "call_1", "content": "12"}


def test_a_plain_model(reckon):
    with ModelServer(Reply(text="A pixel."), Reply(calls=[CALL])) as model, Speaking(reckon, model) as server:
        client = server.client()
        answer = client.chat.completions.create(model=MODEL, messages=[
            {"role": "system", "content": "Rules."}, user("Hello"), {"role": "assistant", "content": "Hi."},
            user([{"type": "text", "text": "What is it?"},
                  {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}])])
        assert answer.choices[0].message.content == "A pixel."
        called = client.chat.completions.create(model=MODEL, tools=[WEATHER], tool_choice="required",
                                                messages=[user("?")])
        assert called.choices[0].message.content is None and len(called.choices[0].message.tool_calls) == 1
    body = model.requests[0].body
    assert [each["role"] for each in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"] == "Rules." and not body.get("tools")
    assert model.requests[1].body["tool_choice"] == "required"


def test_errors(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no", "type": "invalid_request_error"}})
    with ModelServer(trouble, Reply(text="A", cut=True), trouble, trouble) as model, \
            Speaking(reckon, model) as server:
        client = server.client()

        def refused(error, **body):
            with pytest.raises(error) as caught:
                client.chat.completions.create(**{"model": MODEL, "messages": [user("?")], **body})
            return caught.value.body

        assert refused(openai.NotFoundError, model="claude")["code"] == "model_not_found"
        for wrong in ({"n": 2}, {"response_format": {"type": "grammar"}}, {"tools": [{"type": "x"}]},
                      {"messages": [{"role": "nobody", "content": ""}]}, {"messages": [{"role": "tool", "content": ""}]},
                      {"messages": [user([{"type": "input_audio"}])]}, {"messages": []}):
            assert refused(openai.BadRequestError, **wrong)["type"] == "invalid_request_error"
        assert refused(openai.InternalServerError)["type"] == "server_error"
        # In the middle of a stream the error is an event, because the status is already sent.
        with pytest.raises(openai.APIError) as caught:
            for _ in client.chat.completions.create(model=MODEL, messages=[user("?")], stream=True):
                pass
        assert caught.value.type == "server_error"
        for body in (b"", b"{", b"[]", b'{"model": "m"}', b'{"a":' * 100):
            answer = server.ask("POST", "/v1/chat/completions", body, prefix="")
            assert answer.status == 400 and answer.json["error"]["message"]
