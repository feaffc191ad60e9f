"""POST /reckon/v1/agent with a conversation: a run parks for the application and continues."""

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json
from test_serve_agent import Asking, FAST

pytestmark = pytest.mark.one_user

ANSWER = parse_json((ROOT / "docs/ask.schema.json").read_bytes())
CONVERSATION = parse_json((ROOT / "docs/conversation.schema.json").read_bytes())
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")
WEATHER = {"name": "get_weather", "description": "The weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


def conversation(*messages, **more):
    document = {"schema": "reckon.conversation/1", "messages": list(messages), **more}
    jsonschema.validate(document, CONVERSATION)
    return document


def weather(city, call="w1"):
    return {"raw": f'{{"city": "{city}"}}', "name": "get_weather", "id": call}


def ask(server, status=200, **body):
    answer = server.ask("POST", "/agent", body)
    assert answer.status == status, answer
    if status == 200:
        jsonschema.validate(answer.json, ANSWER)
    return answer.json


def conversation_of(server, run):
    answer = server.ask("GET", f"/agent/{run}/conversation")
    assert answer.status == 200, answer
    jsonschema.validate(answer.json, CONVERSATION)
    return answer.json


def test_a_conversation_instead_of_a_question(reckon):
    document = conversation(
        {"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Ahoy."},
        {"role": "user", "text": "What is this?", "images": [{"mime": "image/png", "base64": PNG}],
         "files": ["sales.csv"]},
        instructions="Speak like a pirate.", sampling={"temperature": 0.5})
    with ModelServer(Reply(calls=["print(6 * 7)"]), Reply(text="A pixel.")) as model:
        with Asking(reckon, model, prices="images = yes") as server:
            answer = ask(server, conversation=document,
                         files=[{"path": "sales.csv", "text": "a\n1\n"}], **FAST)
            after = conversation_of(server, answer["id"])
    assert answer["answer"] == "A pixel." and answer["stop"] == "answer" and "calls" not in answer
    assert answer["steps"][0]["record"]["stdout"] == "42\n"
    body = model.requests[0].body
    assert body["temperature"] == 0.5 and "pirate" in str(body) and PNG in str(body)
    assert [each["role"] for each in after["messages"]] == [
        "user", "assistant", "user", "assistant", "tool", "assistant"]


def test_parked_and_ended_runs_continue(reckon):
    script = [Reply(text="Let me see.", calls=["x = 5", weather("Bern")]),
              Reply(calls=["print(x * 2)"]), Reply(text="Ten."), Reply(text="Still ten.")]
    with ModelServer(*script) as model:
        with Asking(reckon, model) as server:
            parked = ask(server, conversation=conversation(
                {"role": "user", "text": "How warm?"}, tools=[WEATHER]), **FAST)
            assert parked["stop"] == "tool_calls"
            assert parked["calls"] == [{"id": "w1", "name": "get_weather",
                                        "arguments": {"city": "Bern"}}]
            assert len(parked["steps"]) == 1
            again = server.ask("GET", f"/agent/{parked['id']}").json
            assert again == parked
            metrics = server.ask("GET", "/metrics", prefix="").body.decode()
            assert 'reckon_agent_runs_total{stop="tool_calls"} 1' in metrics
            answer = ask(server, continues=parked["id"],
                         results=[{"id": "w1", "text": "12 degrees"}])
            # The run continues in the same session, where the variable `x` still exists.
            assert answer["session"] == parked["session"]
            assert answer["steps"][0]["record"]["stdout"] == "10\n"
            assert answer["answer"] == "Ten." and answer["stop"] == "answer"
        with Asking(reckon, model, key=server.key) as server:
            later = ask(server, continues=answer["id"], question="Sure?", **FAST)
            assert later["answer"] == "Still ten."
            # A deleted run is not found, whether this daemon ran it or only its database has it.
            for run in (answer["id"], later["id"]):
                assert server.ask("DELETE", f"/agent/{run}").status == 200
                for method, path in (("DELETE", ""), ("GET", ""), ("GET", "/conversation"), ("GET", "/events")):
                    assert server.ask(method, f"/agent/{run}{path}").status == 404
            assert ask(server, 404, continues=later["id"], question="?")["error"]["code"] == "run_not_found"
    results = [each for each in model.requests[1].body["messages"] if each["role"] == "tool"]
    assert results[-1] == {"role": "tool", "tool_call_id": "w1", "content": "12 degrees"}
    assert model.requests[3].body["messages"][-1]["content"] == "Sure?"


def test_runs_that_cannot_continue(reckon):
    with ModelServer(Reply(text="One."), Reply(text="Two.")) as model:
        with Asking(reckon, model) as server:
            plain = ask(server, question="?", **FAST)
            assert ask(server, 410, continues=plain["id"], question="?")["error"]["code"] == "expired"
            assert ask(server, 404, continues="run_01ARZ3NDEKTSV4RRFFQ69G5FAV", question="?")[
                "error"]["code"] == "run_not_found"
            for wrong in ({}, {"continues": plain["id"]}, {"results": [{"id": "a", "text": "b"}]},
                          {"question": "?", "conversation": conversation({"role": "user"})},
                          {"conversation": []}):
                assert ask(server, 400, **wrong)["error"]["code"] == "invalid"
            good = ask(server, question="?", keep_conversation=True, **FAST)
            lost = ask(server, continues=good["id"], results=[{"id": "none", "text": "x"}], **FAST)
            assert lost["stop"] == "failed" and "waits for a result" in lost["message"]
            bad = ask(server, conversation={"messages": [{"role": "nobody"}]}, **FAST)
            assert bad["stop"] == "failed" and "conversation" in bad["message"]


def test_events_stream_code_while_the_model_writes_it(reckon):
    with ModelServer(Reply(thought="Hm.", calls=["print('one')"]), Reply(text="Done.")) as model:
        with Asking(reckon, model) as server:
            body = {"conversation": conversation({"role": "user", "text": "?"}), "stream": True, **FAST}
            with server.events("POST", "/agent", body) as (events, _):
                received = [(name, data) for _, name, data in events]
    written = "".join(data["text"] for name, data in received if name == "code")
    assert written == "print('one')"
    names = [name for name, _ in received]
    assert names.index("thought") < names.index("code") < names.index("cell") < names.index("record")


def test_aliases(reckon):
    aliases = "[aliases]\ngpt-5* = scripted/other\nfast = scripted\n* = scripted/m\n"
    with ModelServer(Reply(text="One."), Reply(text="Two."), Reply(text="Three.")) as model:
        with Asking(reckon, model, prices=f"model = p\n{aliases}") as server:
            assert ask(server, question="?", model="gpt-5.1-mini", **FAST)["model"] == "scripted/other"
            assert ask(server, question="?", model="fast", **FAST)["model"] == "scripted/p"
            assert ask(server, question="?", model="claude", **FAST)["model"] == "scripted/m"
            names = [each["name"] for each in server.ask("GET", "/models").json["models"]]
    assert names == ["scripted/m", "scripted/p", "scripted/other", "fast"]
    assert [each.body["model"] for each in model.requests] == ["other", "p", "m"]


def test_a_shell(reckon):
    """A conversation with a shell and without code: each command is an execution of the session."""
    call = {"raw": '{"commands": ["x=1; echo a", "exit 4"], "timeout_ms": 20000}', "name": "shell", "id": "s1"}
    document = conversation({"role": "user", "text": "?"}, shell=True, code=False)
    with ModelServer(Reply(calls=[call]), Reply(text="Four."), Reply(text="Again.")) as model, \
            Asking(reckon, model) as server:
        begun = ask(server, 202, conversation=document, background=True, keep=True)["id"]
        answer = server.wait(begun)
        jsonschema.validate(answer, ANSWER)
        assert (answer["answer"], answer["stop"]) == ("Four.", "answer")
        assert [(step["code"], step["status"]) for step in answer["steps"]] == [("x=1; echo a", "ok"), ("exit 4", "error")]
        assert [step["command"] for step in answer["steps"]] == [
            {"index": 0, "count": 2, "commands": ["x=1; echo a", "exit 4"], "timeout_ms": 20000, "max_output_length": None},
            {"index": 1, "count": 2}]
        with server.events("GET", f"/agent/{begun}/events") as (events, _):
            cells = [data for _, name, data in events if name == "cell"]
        assert [each["command"]["index"] for each in cells] == [0, 1] and cells[1]["code"] == "exit 4"
        record = answer["steps"][1]["record"]
        assert (record["error"]["name"], record["error"]["value"]) == ("ExitStatus", "4")
        listed = server.ask("GET", f"/sessions/{answer['session']}/executions").json["executions"]
        assert {each["id"] for each in listed} == {step["execution"] for step in answer["steps"]}
        # The stored conversation continues with the shell; a model without tool calls cannot use
        # one.
        assert conversation_of(server, begun)["shell"] is True and conversation_of(server, begun)["code"] is False
        assert ask(server, continues=begun, question="And?", **FAST)["answer"] == "Again."
        wrong = ask(server, conversation=document, model="scripted/other", **FAST)
        assert wrong["stop"] == "failed" and "without tool calls" in wrong["message"]
    assert [tool["function"]["name"] for tool in model.requests[2].body["tools"]] == ["shell", "read_output"]
