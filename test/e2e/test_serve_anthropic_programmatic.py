"""Anthropic's programmatic tool calling: code in a container awaits the application's tools."""
import contextlib
import json

import anthropic
import pytest
from model_server import ModelServer, Reply
from test_serve_anthropic import REQUEST, Speaking, types, user
from waiting import eventually

pytestmark = pytest.mark.one_user

VERSIONS = ["code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]
GATHER = """import asyncio
regions = ["West", "East"]
found = await asyncio.gather(*[query_database(sql=region) for region in regions])
print({region: sum(row["revenue"] for row in rows) for region, rows in zip(regions, found)})"""
ONE = "rows = await query_database({'sql': 'SELECT 1'})\nprint(rows)"


def tools(version=VERSIONS[1]):
    return [{"type": version, "name": "code_execution"},
            {"name": "query_database", "description": "Runs SQL; returns rows as JSON objects.",
             "input_schema": {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]},
             "allowed_callers": [version]}]


def result(call, content="[]", **more):
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, **more}


def calls_of(message):
    return [block for block in message.content if block.type == "tool_use"]


@contextlib.contextmanager
def speaking(reckon, *script, **options):
    with ModelServer(*script) as model, Speaking(reckon, model, **options) as server:
        server.model = model
        yield server


def asker(client, streams, **body):
    def ask(messages, **more):
        if not streams:
            return client.messages.create(**REQUEST, **body, messages=messages, **more)
        with client.messages.stream(**REQUEST, **body, messages=messages, **more) as stream:
            return stream.get_final_message()
    return ask


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_code_awaits_tools_in_parallel(reckon, version, streams):
    script = [Reply(text="I query.", calls=["x = 5\n" + GATHER]), Reply(text="West leads.", usage=(300, 30)),
              Reply(calls=["print(x)"]), Reply(text="Five.")]
    with speaking(reckon, *script) as server:
        ask = asker(server.client(), streams, tools=tools(version))
        history = [user("Which region leads?")]
        first = ask(history)
        assert types(first)[:3] == ["text", "server_tool_use", "tool_use"] and first.stop_reason == "tool_use"
        assert first.content[1].name == "code_execution" and first.container.expires_at
        assert first.usage.output_tokens == 20
        caller = version.replace("20260521", "20260120")  # callers of 20260521 are reported as 20260120
        rows, queried, second = {"West": 10, "East": 4}, [], first
        while second.stop_reason == "tool_use":  # one round if both calls arrive in one message
            calls = calls_of(second)
            assert {(call.caller.type, call.caller.tool_id) for call in calls} == {(caller, first.content[1].id)}
            queried += [call.input["sql"] for call in calls]
            history += [second.to_param(), user([result(call, json.dumps([{"revenue": rows[call.input["sql"]]}]))
                                                 for call in calls])]
            second = ask(history, container=first.container.id)
        assert queried == ["West", "East"]
        # The same cell has continued: its result belongs to the first `server_tool_use`.
        assert types(second) == ["code_execution_tool_result", "text"]
        assert second.content[0].tool_use_id == first.content[1].id
        assert second.content[0].content.stdout == "{'West': 10, 'East': 4}\n"
        assert (second.stop_reason, second.id != first.id) == ("end_turn", True)
        assert (second.usage.input_tokens, second.usage.output_tokens) == (300, 30)
        # The model gets each message of the history once, and the code in it does not run again.
        history += [second.to_param(), user("And x?")]
        third = ask(history, container=first.container.id)
        assert third.content[1].content.stdout == "5\n" and third.content[2].text == "Five."
    sent = server.model.requests[2].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "West" in sent[3]["content"] and "query_database" in sent[0]["content"]
    names = [tool["function"]["name"] for tool in server.model.requests[0].body["tools"]]
    assert "query_database" not in names


def test_code_awaits_tools_in_sequence(reckon):
    code = "for i in range(3):\n    print(await query_database(str(i)))"
    with speaking(reckon, Reply(calls=[code]), Reply(text="Three.")) as server:
        ask = asker(server.client(), False, tools=tools())
        history, container, seen = [user("?")], {}, []
        while True:
            message = ask(history, **container)
            if message.stop_reason != "tool_use":
                break
            call, = calls_of(message)
            seen.append(call.input["sql"])
            container = {"container": message.container.id}
            history += [message.to_param(), user([result(call, [{"type": "text", "text": "row " + call.input["sql"]}],
                                                         is_error=len(seen) == 4)])]
        assert seen == ["0", "1", "2"] and message.content[0].content.stdout == "row 0\nrow 1\nrow 2\n"
        assert len(server.model.requests) == 2


def test_errors_of_tools_and_of_requests(reckon):
    code = "try:\n    await query_database('x')\nexcept tools.ToolError as error:\n    print('failed:', error)"
    with speaking(reckon, Reply(calls=[code]), Reply(text="It failed.")) as server:
        ask = asker(server.client(), False, tools=tools())
        first = ask([user("?")])
        call, = calls_of(first)
        history = [user("?"), first.to_param()]

        def refused(content, words, **more):
            with pytest.raises(anthropic.BadRequestError) as caught:
                ask([*history, user(content)], **more)
            assert words in caught.value.message
        here = {"container": first.container.id}
        refused([result(call)], "container_id is required when there are pending tool uses")
        refused([result(call), {"type": "text", "text": "and"}], "nothing else", **here)
        refused([{"type": "text", "text": "no"}], "without tool_result blocks", **here)
        # None of the refused requests has answered the code.
        last = ask([*history, user([result(call, "no table", is_error=True)])], **here)
        assert last.content[0].content.stdout == "failed: no table\n" and last.content[1].text == "It failed."
        for body, words in (({"tools": tools()[1:]}, "not among the tools"),
                            ({"tools": [tools()[0], {**tools()[1], "strict": True}]}, "strict")):
            with pytest.raises(anthropic.BadRequestError) as caught:
                server.client().messages.create(**REQUEST, **body, messages=[user("?")])
            assert words in caught.value.message


@pytest.mark.parametrize("streams", [False, True])
def test_results_for_a_run_that_has_ended(reckon, streams):
    """The run was interrupted, or the ids are forged: its result is `unavailable`, and the model
    continues."""
    with speaking(reckon, Reply(calls=[ONE]), Reply(text="Again."), Reply(text="Forged.")) as server:
        ask = asker(server.client(), streams, tools=tools())
        first = ask([user("?")])
        call, = calls_of(first)
        run = "run_" + first.id.removeprefix("msg_").split("_")[0]
        assert server.ask("POST", f"/agent/{run}/interrupt").json["interrupted"]
        server.wait(run)
        last = ask([user("?"), first.to_param(), user([result(call)])], container=first.container.id)
        assert types(last) == ["code_execution_tool_result", "text"]
        assert last.content[0].content.error_code == "unavailable"
        assert last.content[0].tool_use_id == first.content[0].id and last.content[1].text == "Again."
        content = json.loads(json.dumps(first.to_param()["content"], default=lambda each: each.to_dict()))
        content[1]["id"] = "toolu_code_01HZZZZZZZZZZZZZZZZZZZZZZZ_1_9_1"
        forged = ask([user("?"), {"role": "assistant", "content": content},
                      user([{"type": "tool_result", "tool_use_id": content[1]["id"], "content": "1"}])],
                     container=first.container.id)
        assert forged.content[1].text == "Forged."
    sent = server.model.requests[1].body["messages"]
    assert "not answered in time" in sent[-1]["content"] and sent[-1]["role"] == "tool"


def test_tool_results_after_the_timeout(reckon):
    """After --tool-wait the code gets an error and continues without a client; a later request gets
    its output."""
    code = "try:\n    await query_database('x')\nexcept tools.ToolError as error:\n    print('late')"
    with speaking(reckon, Reply(calls=[code]), Reply(text="It was late."),
                  args=("--tool-wait", "1")) as server:
        ask = asker(server.client(), False, tools=tools())
        first = ask([user("?")])
        eventually(lambda: len(server.model.requests) == 2)
        call, = calls_of(first)
        last = ask([user("?"), first.to_param(), user([result(call)])], container=first.container.id)
    assert types(last) == ["code_execution_tool_result", "text"] and last.content[1].text == "It was late."
    assert last.content[0].content.stdout == "late\n"


def test_another_tenant_cannot_answer(reckon):
    """Another tenant sends this tenant's ids with a container of its own: the code does not get
    that result."""
    with speaking(reckon, Reply(calls=[ONE]), Reply(calls=["x = 1"]), Reply(text="Mine."), Reply(text="Gone."),
                  Reply(text="Answered.")) as server:
        first = asker(server.client(), False, tools=tools())([user("?")])
        _, key = server.newcomer(scopes=["agent", "sessions", "read", "files", "execute"])
        theirs = asker(server.client(api_key=key), False, tools=tools())
        own = theirs([user("?")])
        call, = calls_of(first)
        with pytest.raises(anthropic.NotFoundError):
            theirs([user("?"), first.to_param(), user([result(call)])], container=first.container.id)
        planted = theirs([user("?"), first.to_param(), user([result(call, "planted")])], container=own.container.id)
        assert planted.content[0].content.error_code == "unavailable" and planted.content[1].text == "Gone."
        last = asker(server.client(), False, tools=tools())(
            [user("?"), first.to_param(), user([result(call, "[7]")])], container=first.container.id)
        assert last.content[0].content.stdout == "[7]\n" and last.content[1].text == "Answered."
