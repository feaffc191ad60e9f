"""The hosted shell of OpenAI's Responses: commands of a model in a container, with OpenAI's own SDK."""
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import CODE, MODEL, OUTPUTS, WEATHER, Speaking, types
from waiting import eventually

pytestmark = pytest.mark.one_user

SHELL = {"type": "shell", "environment": {"type": "container_auto"}}


def shell(*commands, call="call_1", **limits):
    return {"raw": json.dumps({"commands": list(commands), **limits}), "name": "shell", "id": call}


def outcomes(item):
    return [each.outcome.exit_code if each.outcome.type == "exit" else each.outcome.type for each in item.output]


def test_commands(reckon):
    call = shell("cd /tmp; x=5; echo out; echo err >&2", "echo $x; pwd; (exit 3)", "echo made > /mnt/data/a.txt")
    with ModelServer(Reply(text="I look.", calls=[call]), Reply(text="See sandbox:/mnt/data/a.txt.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        response = client.responses.create(model=MODEL, input="?", tools=[SHELL])
        assert types(response) == ["message", "shell_call", "shell_call_output", "message"]
        shell_call, output, message = response.output[1:]
        assert shell_call.action.commands == json.loads(call["raw"])["commands"] and shell_call.status == "completed"
        assert shell_call.action.timeout_ms is None and shell_call.action.max_output_length is None
        assert shell_call.environment.type == "container_reference"
        assert (output.call_id, output.status, output.max_output_length) == (shell_call.call_id, "completed", None)
        assert [(each.stdout, each.stderr) for each in output.output] == [("out\n", "err\n"), ("5\n/tmp\n", ""), ("", "")]
        assert outcomes(output) == [0, 3, 0]
        # Files of commands are in a container, and the answer cites them.
        citation, = message.content[0].annotations
        assert citation.container_id == shell_call.environment.container_id
        files = client.containers.files
        assert files.content.retrieve(citation.file_id, container_id=citation.container_id).read() == b"made\n"
        # The stored response has the same items.
        assert client.responses.retrieve(response.id).output == response.output
    tool, reading = [each["function"] for each in model.requests[0].body["tools"]]
    assert tool["name"] == "shell" and tool["parameters"]["required"] == ["commands"] and reading["name"] == "read_output"
    result = model.requests[1].body["messages"][-1]
    assert result["role"] == "tool" and result["tool_call_id"] == "call_1"
    assert "$ cd /tmp" in result["content"] and "out\n" in result["content"] and "err\n" in result["content"]
    assert "exit" in result["content"].lower() and "3" in result["content"]


def test_sdk_reads_streams(reckon):
    with ModelServer(Reply(calls=[shell("echo one", "echo two >&2; false")]), Reply(text="Done.")) as model, \
            Speaking(reckon, model) as server:
        with server.client().responses.stream(model=MODEL, input="?", tools=[SHELL]) as stream:
            events = list(stream)
            response = stream.get_final_response()
    assert types(response) == ["shell_call", "shell_call_output", "message"]
    names = [event.type.removeprefix("response.") for event in events]
    command = [f"shell_call_command.{what}" for what in ("added", "delta", "done")]
    content = [f"shell_call_output_content.{what}" for what in ("delta", "done")]
    assert names[:16] == ["created", "in_progress", "output_item.added", *command, *command, "output_item.done",
                          "output_item.added", *content, *content, "output_item.done"]
    assert events[2].item.action.commands == [] and events[9].item.action.commands == ["echo one", "echo two >&2; false"]
    assert [(each.command_index, each.command) for each in events[5:9:3]] == [(0, "echo one"), (1, "echo two >&2; false")]
    assert events[10].item.output == [] and events[10].item.status == "in_progress"
    assert (events[11].delta.stdout, events[11].delta.stderr) == ("one\n", None)
    assert (events[13].delta.stdout, events[13].delta.stderr) == (None, "two\n")
    assert events[14].output[0].outcome.exit_code == 1 and events[14].command_index == 1
    assert events[15].item == response.output[1]
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_limits_of_a_call(reckon):
    late = shell("x=1; sleep 60; echo never", "echo $x", timeout_ms=1500)
    long = shell("printf 'äöü%.0s' {1..3000}; echo more >&2", "printf ab; printf cdefgh >&2", call="call_2",
                 max_output_length=5)
    with ModelServer(Reply(calls=[late]), Reply(calls=[long]), Reply(text="So.")) as model, \
            Speaking(reckon, model) as server:
        response = server.client().responses.create(model=MODEL, input="?", tools=[SHELL])
        assert types(response) == ["shell_call", "shell_call_output"] * 2 + ["message"]
        first, cut = response.output[1], response.output[3]
        # A timeout ends only its own command: the shell continues, with its variables.
        assert outcomes(first) == ["timeout", 0] and first.output[1].stdout == "1\n"
        assert response.output[0].action.timeout_ms == 1500
        assert cut.max_output_length == 5 == response.output[2].action.max_output_length
        assert [(each.stdout, each.stderr) for each in cut.output] == [("äöüäö", ""), ("ab", "cde")]
        assert len(model.requests[2].body["messages"][-1]["content"]) < 1000


def test_shell_with_code_and_functions(reckon):
    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_3"}
    tools = [CODE, SHELL, WEATHER]
    with ModelServer(Reply(calls=["open('n.txt', 'w').write('7')", shell("cat n.txt; k=9"), call]), Reply(text="Hm."),
                     Reply(calls=[shell("echo $k")]), Reply(text="Nine.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        first = client.responses.create(model=MODEL, input="?", tools=tools, include=OUTPUTS)
        assert types(first) == ["code_interpreter_call", "shell_call", "shell_call_output", "function_call"]
        assert first.output[2].output[0].stdout == "7"
        container = first.output[0].container_id
        assert first.output[1].environment.container_id == container
        # The next request brings the function's output; then the same shell continues.
        second = client.responses.create(model=MODEL, previous_response_id=first.id, tools=tools, input=[
            {"type": "function_call_output", "call_id": "call_3", "output": "warm"}])
        assert second.output_text == "Hm."
        third = client.responses.create(model=MODEL, previous_response_id=second.id, tools=[SHELL], input="k?",
                                        tool_choice={"type": "shell"})
        assert third.output[1].output[0].stdout == "9\n" and third.output[0].environment.container_id == container
    system = model.requests[0].body["messages"][0]["content"]
    assert "`python`" in system and "`shell`" in system
    assert [each["function"]["name"] for each in model.requests[0].body["tools"]] == [
        "python", "read_output", "shell", "get_weather"]
    assert [each["function"]["name"] for each in model.requests[2].body["tools"]] == ["shell", "read_output"]
    assert model.requests[2].body["tool_choice"]["function"]["name"] == "shell"


def test_history_that_the_client_stores(reckon):
    with ModelServer(Reply(calls=[shell("v=1; false")]), Reply(text="It failed."), Reply(calls=[shell("echo $v")]),
                     Reply(text="One.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        question = [{"role": "user", "content": "Go."}]
        first = client.responses.create(model=MODEL, input=question, tools=[SHELL], store=False)
        again = question + [item.to_dict() for item in first.output] + [{"role": "user", "content": "v?"}]
        second = client.responses.create(model=MODEL, input=again, tools=[SHELL], store=False)
        assert second.output[1].output[0].stdout == "1\n"
    sent = model.requests[2].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"])["commands"] == ["v=1; false"]
    assert sent[3]["content"] == "[exit status 1]"


def test_in_the_background_and_after_a_restart(reckon):
    with ModelServer(Reply(text="I run.", calls=[shell("echo 1", "sleep 1; (exit 4)")]), Reply(text="Done.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        conversation = client.conversations.create()
        begun = client.responses.create(model=MODEL, input="?", tools=[SHELL], background=True, conversation=conversation.id)
        done = eventually(lambda: (now := client.responses.retrieve(begun.id)).status == "completed" and now)
        assert types(done) == ["message", "shell_call", "shell_call_output", "message"]
        assert outcomes(done.output[2]) == [0, 4]
        stored = [item.type for item in client.conversations.items.list(conversation.id, order="asc")]
        assert stored == ["message", *types(done)]
        with client.responses.retrieve(begun.id, stream=True) as stream:
            events = list(stream)
        with client.responses.retrieve(begun.id, stream=True, starting_after=9) as stream:
            assert list(stream) == events[10:]
        # When the events are no longer in memory, the steps are still stored.
        server.stop()
        server.start()
        with server.client().responses.retrieve(begun.id, stream=True) as stream:
            late = list(stream)[-1].response
        assert types(late) == ["shell_call", "shell_call_output", "message"]
        assert late.output[0].action.commands == ["echo 1", "sleep 1; (exit 4)"]
        assert [each.stdout for each in late.output[1].output] == ["1\n", ""] and outcomes(late.output[1]) == [0, 4]


def test_memory_of_a_new_container(reckon):
    with ModelServer(Reply(calls=[shell("true")]), Reply(text="So."), Reply(calls=["1"]), Reply(text="So.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        for tool in ({"type": "shell", "environment": {"type": "container_auto", "memory_limit": "4g"}},
                     {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}}):
            cell = client.responses.create(model=MODEL, input="?", tools=[tool]).output[0]
            container = cell.container_id if cell.type == "code_interpreter_call" else cell.environment.container_id
            assert client.containers.retrieve(container).memory_limit == "4g"
        with pytest.raises(openai.BadRequestError, match="memory_limit"):
            client.responses.create(model=MODEL, input="?", tools=[
                {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "5g"}}])


def test_a_container_by_its_id_with_files(reckon):
    with ModelServer(Reply(calls=[shell("cat told.txt kept.txt")]), Reply(text="Both.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        first = client.files.create(file=("kept.txt", b"kept"), purpose="user_data")
        second = client.files.create(file=("told.txt", b"told"), purpose="user_data")
        container = client.containers.create(name="c", file_ids=[first.id])
        for tools in ([{"type": "shell", "environment": {"type": "container_reference", "container_id": container.id}},
                       {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [second.id]}}],):
            response = client.responses.create(model=MODEL, input="?", tools=tools)
        assert response.output[1].output[0].stdout == "toldkept"
        assert response.output[0].environment.container_id == container.id


@pytest.mark.parametrize("environment", [{}, {"environment": {"type": "local"}}])
def test_a_shell_of_the_application(reckon, environment):
    """The older form: the client runs the commands and sends their output back, and nothing runs in
    a box."""
    tool = {"type": "shell", **environment}
    with ModelServer(Reply(text="I ask.", calls=[shell("ls", timeout_ms=10)]), Reply(text="Empty.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        with client.responses.stream(model=MODEL, input="?", tools=[tool]) as stream:
            first = stream.until_done().get_final_response()
        assert types(first) == ["message", "shell_call"]
        call = first.output[1]
        assert (call.call_id, call.action.commands, call.action.timeout_ms) == ("call_1", ["ls"], 10)
        assert call.environment.type == "local"
        last = client.responses.create(model=MODEL, previous_response_id=first.id, tools=[tool], input=[
            {"type": "shell_call_output", "call_id": "call_1", "output": [
                {"stdout": "nothing", "stderr": "", "outcome": {"type": "timeout"}}]}])
        assert last.output_text == "Empty."
    assert model.requests[1].body["messages"][-1]["content"] == "nothing\n[timed out]"


def test_calls_that_cannot_be_run(reckon):
    bad = [{"raw": raw, "name": "shell", "id": f"call_{i}"} for i, raw in enumerate((
        "{}", '{"commands": [1]}', '{"commands": "echo as text"}', json.dumps({"commands": ["true"] * 65}),
        '{"commands": ["echo \\u0000"]}', '{"action": {"commands": ["echo nested"]}}'))]
    with ModelServer(Reply(calls=bad), Reply(text="So.")) as model, Speaking(reckon, model) as server:
        response = server.client().responses.create(model=MODEL, input="?", tools=[SHELL])
    assert types(response) == ["shell_call", "shell_call_output"] * 2 + ["message"]
    assert [response.output[i].output[0].stdout for i in (1, 3)] == ["as text\n", "nested\n"]
    results = [each["content"] for each in model.requests[1].body["messages"] if each["role"] == "tool"]
    assert [each.startswith("Error: ") for each in results] == [True, True, False, True, True, False]


@pytest.mark.parametrize("tools, words", [
    ([{"type": "shell", "environment": {"type": "cloud"}}], "environment"),
    ([{"type": "shell", "environment": {"type": "container_reference"}}], "container_id"),
    ([{"type": "shell", "environment": {"type": "container_auto", "skills": [{"type": "inline"}]}}], "skills"),
    ([{"type": "shell", "environment": {"type": "container_auto", "network_policy": {
        "type": "allowlist", "allowed_domains": ["a.example"]}}}], "network"),
    ([SHELL, SHELL], "one shell"),
    ([SHELL, {**WEATHER, "name": "shell"}], "name of the shell"),
    ([{"type": "code_interpreter", "container": "cntr_1"},
      {"type": "shell", "environment": {"type": "container_reference", "container_id": "cntr_2"}}], "one container")])
def test_refused(reckon, tools, words):
    with ModelServer() as model, Speaking(reckon, model) as server:
        with pytest.raises(openai.BadRequestError, match=words) as refused:
            server.client().responses.create(model=MODEL, input="?", tools=tools)
        assert refused.value.type == "invalid_request_error"
        assert not model.requests


def test_a_deleted_container(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client()
        gone = client.containers.create(name="c").id
        client.containers.delete(gone)
        for container in (gone, "cntr_01ARZ3NDEKTSV4RRFFQ69G5FAV", "cntr_../x"):
            with pytest.raises(openai.NotFoundError):
                client.responses.create(model=MODEL, input="?", tools=[
                    {"type": "shell", "environment": {"type": "container_reference", "container_id": container}}])
        assert not model.requests


def test_disconnect_ends_the_command(reckon):
    with ModelServer(Reply(calls=[shell("kept=1; sleep 300")]), Reply(calls=[shell("echo $kept")]), Reply(text="So.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        with client.responses.create(model=MODEL, input="?", tools=[SHELL], stream=True) as stream:
            for event in stream:
                if event.type == "response.output_item.added" and event.item.type == "shell_call_output":
                    break
                if event.type == "response.output_item.done":
                    container = event.item.environment.container_id
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        response = client.responses.create(model=MODEL, input="?", tools=[
            {"type": "shell", "environment": {"type": "container_reference", "container_id": container}}])
        assert response.output[1].output[0].stdout == "1\n"
