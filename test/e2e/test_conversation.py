"""A conversation instead of a question: messages, the application's tools, parked runs (reckon_agent.h)."""
import base64
import json
import os
import pathlib

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json

PROTOCOLS = ["chat", "responses", "messages", "gemini"]
pytestmark = pytest.mark.one_user
EACH = pytest.mark.parametrize("protocol", PROTOCOLS)

SCHEMA = parse_json((ROOT / "docs/conversation.schema.json").read_bytes())
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")
WEATHER = {"name": "get_weather", "description": "The weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def conversation(*messages, **more):
    document = {"schema": "reckon.conversation/1", "messages": list(messages), **more}
    jsonschema.validate(document, SCHEMA)
    return document


def user(text, **more):
    return {"role": "user", "text": text, **more}


def weather(city, call="w1"):
    return {"raw": json.dumps({"city": city}), "name": "get_weather", "id": call}


class Output:
    """The lines that the program printed, by their first word."""

    def __init__(self, done):
        self.lines = done.out.splitlines()

    def of(self, word):
        return [line[len(word) + 1:] for line in self.lines if line.startswith(word + " ")]


@pytest.fixture
def run_agent(reckon):
    """Runs reckon-agent-conversation with these words; each call is a process of its own."""
    here = pathlib.Path(os.environ.get("RECKON_BIN", ROOT / "build/bin/reckon")).parent.parent

    def call(model, protocol, *words, documents=None):
        for name, document in (documents or {}).items():
            text = document if isinstance(document, str) else json.dumps(document)
            (reckon.cwd / name).write_text(text)
        path = "/v1" if protocol in ("chat", "responses") else ""
        real = reckon.place.program
        reckon.place.program = here / "test/support/reckon-agent-conversation"
        try:
            done = reckon(protocol, model.url + path, "key", *words,
                          env={"RECKON_LIBEXEC": str(real.parent.parent / "libexec")})
        finally:
            reckon.place.program = real
        return Output(done.expect(0))

    call.cwd = reckon.cwd
    return call


def walk(value):
    """Every object in a request."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def results_of(body):
    """{call id: text} of the tool results in a request, in any protocol."""
    found = {}
    for item in walk(body):
        if item.get("role") == "tool":
            found[item["tool_call_id"]] = item["content"]
        elif item.get("type") == "function_call_output":
            found[item["call_id"]] = item["output"]
        elif item.get("type") == "tool_result":
            found[item["tool_use_id"]] = item["content"][0]["text"]
        elif "functionResponse" in item:
            response = item["functionResponse"]["response"]
            found[item["functionResponse"].get("id")] = response.get("output", response.get("error"))
    return found


def tool_names(body):
    return [item["name"] for tool in body["tools"] for item in walk(tool)
            if "name" in item and ("description" in item or "parameters" in item)]


@EACH
def test_messages_instructions_images_and_files(run_agent, protocol):
    document = conversation(
        {"role": "system", "text": "Speak like a pirate."},
        user("Hello."), {"role": "assistant", "text": "Ahoy."},
        user("What is this?", images=[{"mime": "image/png", "base64": PNG}], files=["sales.csv (9 bytes)"]))
    with ModelServer(Reply(text="A pixel.")) as model:
        output = run_agent(model, protocol, "&doc.json", ">", documents={"doc.json": document})
    body = model.requests[0].body
    text = json.dumps(body)
    assert output.of("text") == ["A pixel."] and output.of("stop") == ["answer"]
    assert "Speak like a pirate." in text and "You answer questions by running Python" in text
    assert text.index("Hello.") < text.index("Ahoy.") < text.index("What is this?")
    assert PNG in text and "sales.csv (9 bytes)" in text


@EACH
def test_a_parked_run_continues_in_another_process(run_agent, protocol):
    document = conversation(user("Is it warm in Bern?"), tools=[WEATHER])
    script = [Reply(thought="Hm.", text="Let me look.", calls=[weather("Bern"), "print(6 * 7)"]),
              Reply(text="20 degrees; and 42.")]
    with ModelServer(*script) as model:
        first = run_agent(model, protocol, "+keep=1", "&doc.json", "*kept.json", ">", documents={"doc.json": document})
        assert first.of("stop") == ["tool_calls"] and len(model.requests) == 1
        assert first.of("call") == ['w1 get_weather {"city":"Bern"}']
        assert first.of("steps")[0].startswith("1 ") and first.of("steps")[0].endswith("ok")
        stored = parse_json((run_agent.cwd / "kept.json").read_bytes())
        jsonschema.validate(stored, SCHEMA)
        second = run_agent(model, protocol, "+keep=1", "&kept.json", ">w1=20 degrees", "*after.json", ">")
    assert second.of("text") == ["20 degrees; and 42."] and second.of("stop") == ["answer"]
    assert tool_names(model.requests[0].body) == ["python", "read_output", "get_weather"]
    results = results_of(model.requests[1].body)
    assert results["w1"] == "20 degrees" and "42" in results.values() and len(results) == 2
    assert list(results).index("w1") == 0, "in the order of the calls"
    # The document preserved what the provider requires in the next request.
    marks = {"chat": '"reasoning_content": "Hm."', "responses": "c2VjcmV0IHRob3VnaHRz",
             "messages": '"signature": "c2lnbmVk"', "gemini": '"thoughtSignature": "c2lnbmVk0"'}
    assert marks[protocol] in json.dumps(model.requests[1].body)
    assert parse_json((run_agent.cwd / "after.json").read_bytes())["messages"][-1]["text"] == "20 degrees; and 42."
    # The token count covers the whole run.
    assert int(second.of("tokens")[0]) == 200


@EACH
def test_results_in_the_same_process_and_calls_without_a_result(run_agent, protocol):
    calls = [weather("Bern", "w1"), weather("Basel", "w2"), weather("Chur", "w3")]
    document = conversation(user("Where is it warm?"), tools=[WEATHER], code=False, instructions="Be brief.")
    with ModelServer(Reply(calls=calls), Reply(text="In Basel.")) as model:
        output = run_agent(model, protocol, "&doc.json", ">", "!w3=no such city", ">w2=20", ">",
                           documents={"doc.json": document})
    assert output.of("stop") == ["tool_calls", "answer"] and len(output.of("call")) == 3
    body = model.requests[1].body
    assert tool_names(body) == ["get_weather"] and "running Python" not in json.dumps(body)
    results = results_of(body)
    assert list(results) == ["w1", "w2", "w3"] and results["w2"] == "20" and results["w3"] == "no such city"
    assert "gave no result" in results["w1"]


@EACH
def test_a_question_instead_of_results(run_agent, protocol):
    document = conversation(user("Where is it warm?"), tools=[WEATHER])
    with ModelServer(Reply(calls=[weather("Bern")]), Reply(text="Never mind.")) as model:
        output = run_agent(model, protocol, "&doc.json", ">", "?Forget it.", documents={"doc.json": document})
    assert output.of("stop") == ["tool_calls", "answer"]
    assert "gave no result" in results_of(model.requests[1].body)["w1"]


@EACH
def test_sampling_parameters_are_sent_to_the_provider(run_agent, protocol):
    document = conversation(
        user("?"), tools=[WEATHER], tool_choice="get_weather", parallel_tool_calls=False,
        sampling={"temperature": 0.25, "top_p": 0.5, "seed": 7, "stop": ["END"], "max_tokens": 99,
                  "reasoning_effort": "low"})
    with ModelServer(Reply(text="x")) as model:
        run_agent(model, protocol, "&doc.json", ">", documents={"doc.json": document})
    body = model.requests[0].body
    if protocol == "chat":
        assert (body["temperature"], body["top_p"], body["seed"], body["stop"]) == (0.25, 0.5, 7, ["END"])
        assert body["max_tokens"] == 99 and body["reasoning_effort"] == "low"
        assert body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
        assert body["parallel_tool_calls"] is False
    elif protocol == "responses":
        assert (body["temperature"], body["top_p"], body["max_output_tokens"]) == (0.25, 0.5, 99)
        assert body["reasoning"] == {"effort": "low"} and body["parallel_tool_calls"] is False
        assert body["tool_choice"] == {"type": "function", "name": "get_weather"}
    elif protocol == "messages":
        assert (body["temperature"], body["stop_sequences"], body["max_tokens"]) == (0.25, ["END"], 99)
        assert body["output_config"] == {"effort": "low"} and body["thinking"] == {"type": "adaptive"}
        assert body["tool_choice"] == {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}
    else:
        config = body["generationConfig"]
        assert (config["temperature"], config["topP"], config["seed"]) == (0.25, 0.5, 7)
        assert config["stopSequences"] == ["END"] and config["maxOutputTokens"] == 99
        assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}


@EACH
def test_code_streams_while_it_is_written(run_agent, protocol):
    source = 'print("a\\n\u00e4\U0001f600", 6 * 7)'
    with ModelServer(Reply(calls=[source], pieces=3), Reply(text="ok")) as model:
        output = run_agent(model, protocol, "?Go.")
    lines = [line for line in output.lines if line.startswith("event ")]
    pieces = [line.split(" ", 4)[4] for line in lines if line.startswith("event code ")]
    assert "".join(pieces) == source
    assert len(pieces) > 3 or protocol == "gemini", "Gemini sends a call whole"
    names = [line.split()[1] for line in lines]
    assert names.index("code") < names.index("cell")


@EACH
def test_max_calls_limits_cells_and_tool_calls(run_agent, protocol):
    document = conversation(user("Where is it warm?"), tools=[WEATHER], max_calls=2)
    script = [Reply(calls=["print(1)", weather("Bern")]), Reply(calls=[weather("Basel", "w2")]),
              Reply(text="In Bern.")]
    with ModelServer(*script) as model:
        output = run_agent(model, protocol, "&doc.json", ">", ">w1=20", ">", documents={"doc.json": document})
    assert output.of("stop") == ["tool_calls", "max_steps"] and output.of("text")[-1] == "In Bern."
    assert "limit of calls" in results_of(model.requests[2].body)["w2"]


@EACH
def test_a_failed_run_can_be_resumed(run_agent, protocol):
    script = [Reply(calls=["x = 41"]), Reply(status=400, error={"error": {"message": "no"}}), Reply(text="ok")]
    with ModelServer(*script) as model:
        first = run_agent(model, protocol, "+keep=1", "*kept.json", "?Count.", "=print(x)", ">")
    assert first.of("stop") == ["failed", "answer"] and first.of("cell")[0].startswith("ok")
    with ModelServer(Reply(text="again")) as model:
        second = run_agent(model, protocol, "&kept.json", ">")
    assert second.of("text") == ["again"] and "x = 41" in json.dumps(model.requests[0].body)


def test_thoughts_are_not_sent_to_another_model(run_agent):
    document = conversation(user("?"), tools=[WEATHER])
    with ModelServer(Reply(thought="Secret.", text="T", calls=[weather("Bern")])) as model:
        run_agent(model, "chat", "+keep=1", "&doc.json", "*kept.json", ">", documents={"doc.json": document})
    for protocol in PROTOCOLS:
        with ModelServer(Reply(text="ok")) as other:
            output = run_agent(other, protocol, "&kept.json", ">w1=20", ">")
        assert output.of("text") == ["ok"] and "Secret." not in json.dumps(other.requests[0].body)
        assert results_of(other.requests[0].body)


@pytest.mark.parametrize("document,words", [
    ("{", "conversation"), ("[]", "schema"), ({"schema": "x"}, "schema"),
    ({"messages": [{"role": "robot"}]}, "messages[0]: its role"),
    ({"messages": [{"role": "user", "text": 7}]}, '"text" is not text'),
    ({"messages": [{"role": "user", "images": [{"mime": "text/html", "base64": "x"}]}]}, "an image has"),
    ({"messages": [{"role": "tool", "results": [{"id": "x"}]}]}, "results follow"),
    ({"messages": [{"role": "user"}, {"role": "assistant", "calls": [{"id": "a"}]}]}, 'a call has "id"'),
    ({"messages": [{"role": "assistant", "calls": [{"id": "a", "name": "b", "arguments": {}}]},
                   {"role": "tool", "results": [{"id": "c"}]}]}, "no call of the message before"),
    ({"tools": [{"name": "../x"}]}, "tools[0]: a tool has a name"),
    ({"tools": [WEATHER, WEATHER]}, "tools[1]: there are two"),
    ({"tools": [{"name": "python"}], "messages": [{"role": "user"}]}, "that of a tool of Reckon"),
    ({"tool_choice": "nothing", "messages": [{"role": "user"}]}, "names no tool"),
    ({"messages": []}, "nothing is left to answer"),
    ({"messages": [{"role": "user"}, {"role": "assistant", "text": "ok"}]}, "nothing is left to answer"),
])
def test_invalid_documents(run_agent, document, words):
    if isinstance(document, dict):
        document = {"schema": "reckon.conversation/1", **document}
    with ModelServer() as model:
        output = run_agent(model, "chat", "&doc.json", ">", documents={"doc.json": document})
    assert output.of("stop") == ["failed"] and words in output.of("message")[0] and not model.requests


def test_results_of_unknown_calls(run_agent):
    document = conversation(user("?"), tools=[WEATHER])
    for word in (">w9=20", ">=20"):
        with ModelServer(Reply(calls=[weather("Bern")]), Reply(text="ok")) as model:
            output = run_agent(model, "chat", "&doc.json", ">", word, ">", ">w1=20", ">",
                               documents={"doc.json": document})
        assert output.of("stop") == ["tool_calls", "failed", "answer"]
        assert "waits for a result" in output.of("message")[1] and len(model.requests) == 2
