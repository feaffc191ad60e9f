"""POST /reckon/v1/executions with events: the client of code in a session of its own reads them and
answers questions and tool calls."""
import json

import pytest
from reckon_cli import record_validator
from reckon_serve import PREFIX
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

ADD = {"name": "add", "description": "Adds", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


def asks(server, code, key=None, **more):
    headers = {"Idempotency-Key": key} if key else {}
    return server.events("POST", "/executions", {"template": "python", "code": code, **more}, headers)


def status(server, session):
    answer = server.ask("GET", f"/sessions/{session}")
    return "live" if answer.status == 200 else answer.code


def is_over(server, session):
    return eventually(lambda: status(server, session) == "session_closed")


@pytest.mark.parametrize("how", ["field", "header"])
def test_events_of_an_execution_and_the_end_of_its_session(server, how):
    code = "print('é' * 3)\nopen('/mnt/data/a', 'w').write('x')\n6 * 7"
    more = {"stream": True} if how == "field" else {}
    headers = {} if how == "field" else {"Accept": "text/event-stream"}
    with server.events("POST", "/executions", {"template": "python", "code": code, **more}, headers) as (
            events, response):
        seen = list(events)
    first, rest = seen[0][2], seen[1:]
    assert seen[0][:2] == (None, "execution") and set(first) == {"event", "id", "session"}
    assert response.headers["Reckon-Execution"] == first["id"]
    assert response.headers["Location"].endswith(f"/sessions/{first['session']}/executions/{first['id']}")
    assert [number for number, _, _ in rest] == list(range(1, len(rest) + 1))
    assert [name for _, name, _ in rest] == ["stream", "execute_result", "done"]
    record = rest[-1][2]["record"]
    assert (record["id"], record["session"], record["status"]) == (first["id"], first["session"], "ok")
    is_over(server, first["session"])
    stored = server.ask("GET", f"/sessions/{first['session']}/executions/{first['id']}").json
    record_validator().validate(stored)
    assert stored["stdout"] == "ééé\n" and server.ask(
        "GET", f"/artifacts/{stored['files'][0]['artifact']}").body == b"x"


def test_code_asks_and_calls_tools(server):
    code = "print(input('Who? '), tools.add.sync(a=1, b=2))\ntry: tools.add.sync()\n" \
           "except tools.ToolDenied as e: print(e)"
    calls, at = [], None
    with asks(server, code, stream=True, allow_input=True, tools=[ADD]) as (events, _):
        for _, name, data in events:
            if name == "execution":
                at = f"/sessions/{data['session']}/executions/{data['id']}"
            elif name == "input_request":
                assert server.ask("POST", f"{at}/input", {"text": "Ada", "seq": data["seq"]}).status == 200
            elif name == "tool_call":
                calls.append(data["arguments"])
                result = {"value": 3} if len(calls) == 1 else {"denied": "no more"}
                assert server.ask("POST", f"{at}/tool_results", {"results": [{"id": data["id"], **result}]}).json == {
                    "accepted": 1}
            elif name == "done":
                record = data["record"]
    assert calls == [{"a": 1, "b": 2}, {}]
    assert record["status"] == "ok" and record["stdout"] == "Ada 3\nno more\n"
    late = server.ask("POST", f"{at}/input", {"text": "late"})
    assert (late.status, late.code) == (409, "not_waiting")


@pytest.mark.parametrize("field", [{"allow_input": True}, {"tools": [ADD]}], ids=["input", "tools"])
def test_questions_without_events_are_refused(server, field):
    answer = server.ask("POST", "/executions", {"template": "python", "code": "1", **field})
    assert (answer.status, answer.code) == (400, "invalid") and "stream" in str(answer.json)


@pytest.mark.parametrize("tools", [[ADD, ADD], [{"name": "a b"}], [{"name": f"t{n}"} for n in range(65)]],
                         ids=["twice", "name", "many"])
def test_tools_are_checked(server, tools):
    answer = server.ask("POST", "/executions", {"code": "1", "stream": True, "tools": tools})
    assert (answer.status, answer.code) == (400, "invalid")


def disconnect(server, body, headers=None):
    """Send a request, read until the first question, and disconnect: (session, execution)."""
    connection = server.connect()
    connection.request("POST", f"{PREFIX}/executions", json.dumps({"template": "python", "stream": True, **body}),
                       server.headers(headers or {}))
    response = connection.getresponse()
    begun = None
    while b"event: input_request" not in (line := response.readline()):
        if line.startswith(b"data:") and b'"execution"' in line:
            begun = json.loads(line[5:])
    response.close()
    connection.close()
    return begun["session"], begun["id"]


def test_disconnect_interrupts_the_execution(server):
    session, execution = disconnect(server, {"code": "input()", "allow_input": True})
    is_over(server, session)
    record = server.ask("GET", f"/sessions/{session}/executions/{execution}").json
    assert record["status"] == "interrupted"


def test_with_a_key_another_connection_continues(server):
    body = {"code": "print('a')\nprint(input())", "allow_input": True}
    session, execution = disconnect(server, body, {"Idempotency-Key": "k"})
    with asks(server, key="k", stream=True, **body) as (events, _):
        seen = []
        for _, name, data in events:
            seen.append(name)
            if name == "execution":
                assert (data["session"], data["id"]) == (session, execution)
            elif name == "input_request":
                assert server.ask("POST", f"/sessions/{session}/executions/{execution}/input",
                                  {"text": "b"}).status == 200
            elif name == "done":
                last = data["record"]
    assert seen[0] == "execution" and last["stdout"] == "a\nb\n"
    is_over(server, session)
    # The other events end with the session; the first and the last one are still available.
    with asks(server, key="k", stream=True, **body) as (events, _):
        seen = list(events)
    assert seen[0][1] == "execution" and seen[-1][2]["record"]["id"] == execution
    other = server.ask("POST", "/executions", {"template": "python", "stream": True, **body, "tools": [ADD]},
                       headers={"Idempotency-Key": "k"})
    assert (other.status, other.code) == (409, "idempotency_conflict")


def test_a_session_that_stays(server):
    with asks(server, "x = 6 * 7", stream=True, keep=True, name="stays") as (events, _):
        session = next(events)[2]["session"]
        assert [name for _, name, _ in events] == ["done"]
    assert server.execute(session, "x")["results"][0]["data"]["text/plain"] == "42"
    server.ask("DELETE", f"/sessions/{session}")


def test_much_output_is_read_to_its_end(server):
    """The reader is slower than the program: the session stays until the client has read its
    output."""
    code = "import os\nfor i in range(40): os.write(1, (b'%d' % (i % 10)) * 100000)"
    total = 0
    with asks(server, code, stream=True, limits={"output_bytes": 8 << 20}) as (events, _):
        session = next(events)[2]["session"]
        for _, name, data in events:
            assert name in ("stream", "done"), data
            total += len(data["text"]) if name == "stream" else 0
    assert total == 4000000
    is_over(server, session)
