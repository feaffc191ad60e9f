"""Runs whose code calls tools of the client: POST /reckon/v1/agent with `tools`."""
import contextlib

import pytest
from model_server import ModelServer, Reply
from test_serve_agent import FAST, Asking

pytestmark = pytest.mark.one_user

QUERY = {"name": "query", "description": "Rows of a region.", "parameters": {
    "type": "object", "properties": {"region": {"type": "string"}, "limit": {"type": "integer"}}}}
CODE = """import asyncio
west, east = await asyncio.gather(query("West"), tools.query(region="East", limit=2))
print(sum(west) + sum(east), await query({"region": "North"}))"""


def calls_of(events, count):
    """The calls of the code, the execution, and the number of the last event."""
    calls, execution = [], None
    for number, name, data in events:
        execution = data.get("execution", execution)
        calls += [data] if name == "tool_call" else []
        if len(calls) == count:
            return calls, execution, number
    raise AssertionError(calls)


def test_code_awaits_the_client(reckon):
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(ModelServer(Reply(calls=[CODE]), Reply(text="So much."),
                                                Reply(calls=["print(query)"]), Reply(text="Gone.")))
        server = stack.enter_context(Asking(reckon, model))
        body = {"question": "How much?", **FAST, "tools": [QUERY], "stream": True, "keep": True}
        with server.events("POST", "/agent", body) as (events, head):
            calls, execution, number = calls_of(events, 2)
            run = head.headers["Reckon-Run"]
            session = server.ask("GET", f"/agent/{run}").json["session"]
        assert [call["arguments"] for call in calls] == [{"region": "West"}, {"region": "East", "limit": 2}]
        assert all(0 < call["wait_s"] <= 600 for call in calls)
        # That connection is closed; another one sends the results and follows the run.
        where = f"/sessions/{session}/executions/{execution}/tool_results"
        results = [{"id": call["id"], "value": [1, 2]} for call in calls]
        assert server.ask("POST", where, {"results": results}).json["accepted"] == 2
        with server.events("GET", f"/agent/{run}/events", headers={"Last-Event-ID": str(number)}) as (events, _):
            calls, _, _ = calls_of(events, 1)
            assert calls[0]["arguments"] == {"region": "North"}
            server.ask("POST", where, {"results": [{"id": calls[0]["id"], "error": "no such region"}]})
            last = [(name, data) for _, name, data in events][-1]
        assert last[0] == "done" and last[1]["answer"]["answer"] == "So much."
        assert "no such region" in last[1]["answer"]["steps"][0]["record"]["stderr"] + str(
            last[1]["answer"]["steps"][0]["record"]["error"])
        prompt = str(model.requests[0].body)
        assert "`query`: Rows of a region." in prompt and "await NAME" in prompt
        # A run without these tools does not have them.
        gone = server.in_session(session)
        assert gone["steps"][0]["record"]["error"]["name"] == "NameError"


def test_a_call_without_a_result_fails_after_its_wait(reckon):
    script = [Reply(calls=["try:\n    await query('West')\nexcept tools.ToolError as error:\n    print('late:', error)"]),
              Reply(text="Nobody.")]
    with ModelServer(*script) as model, Asking(reckon, model) as server:
        answer = server.run(tools=[QUERY], wait_s=1)
        assert answer["answer"] == "Nobody."
        assert "late: nobody answered" in answer["steps"][0]["record"]["stdout"]
        twice = server.run(status=400, tools=[QUERY, QUERY])
        assert twice.code == "invalid"
