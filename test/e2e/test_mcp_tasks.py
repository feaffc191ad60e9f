"""MCP's tasks, of 2025-11-25 and as an extension: code that runs while its client does something else."""
import json

import pytest
from mcp_client import Mcp, text_of

pytestmark = pytest.mark.one_user  # a protocol; the sessions behind it are tested elsewhere

WAITS = "import os, time\nprint('begun')\nwhile not os.path.exists('go'): time.sleep(0.01)\n6 * 7"


def begin(mcp, code, **more):
    made = mcp.ask("tools/call", {"name": "run_code", "arguments": {"code": code, **more},
                                  "task": {"ttl": 60000}})
    assert set(made) == {"task"}
    return made["task"]


def refused(mcp, method, **params):
    return mcp.post(mcp.message(method, params))[2]["error"]["code"]


def test_a_task_is_an_execution(server):
    mcp = Mcp(server)
    assert mcp.about["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    task = begin(mcp, WAITS)
    assert task["status"] == "working" and task["ttl"] is None and task["pollInterval"] == 1000
    name = task["taskId"]
    shown = mcp.ask("tasks/get", {"taskId": name})
    assert shown["status"] == "working" and shown["createdAt"] == task["createdAt"]
    mcp.call("files", action="write", path="go", text="")
    result = mcp.ask("tasks/result", {"taskId": name})
    assert text_of(result).startswith("begun\n") and "42" in text_of(result)
    assert result["isError"] is False
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": name}
    assert "{session}/{execution}".format_map(result["structuredContent"]) == name
    ended = mcp.ask("tasks/get", {"taskId": name})
    assert ended["status"] == "completed" and ended["createdAt"]
    # The result can be read again, also by a client that only knows the id.
    assert text_of(Mcp(server).ask("tasks/result", {"taskId": name})) == text_of(result)
    assert refused(mcp, "tasks/cancel", taskId=name) == -32602


def test_tasks_that_fail_are_cancelled_and_are_listed(server):
    mcp = Mcp(server)
    assert mcp.ask("tasks/list") == {"tasks": []}
    wrong = begin(mcp, "1 / 0")["taskId"]
    result = mcp.ask("tasks/result", {"taskId": wrong})
    assert result["isError"] is True and "ZeroDivisionError" in text_of(result)
    endless = begin(mcp, "while True: pass")["taskId"]
    waits = begin(mcp, "print('never')")["taskId"]
    for each in (waits, endless):
        assert mcp.ask("tasks/cancel", {"taskId": each})["status"] == "cancelled"
    assert {each["taskId"]: each["status"] for each in mcp.ask("tasks/list")["tasks"]} == {
        wrong: "failed", endless: "cancelled", waits: "cancelled"}
    for each in (waits, endless):
        assert mcp.ask("tasks/get", {"taskId": each})["status"] == "cancelled"
        assert mcp.ask("tasks/result", {"taskId": each})["isError"] is True
    assert text_of(mcp.run("6 * 7")).startswith("42")


HAS_TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def poll(mcp, name):
    while True:
        shown = mcp.ask("tasks/get", {"taskId": name})
        assert shown["resultType"] == "complete" and shown["ttlMs"] is None
        if shown["status"] != "working":
            return shown
        assert "result" not in shown


def test_the_extension(server):
    """A modern client with the extension gets a task for a call with a long time limit, and only then."""
    mcp = Mcp(server, modern=True, capabilities=HAS_TASKS, name="work")
    assert mcp.ask("server/discover")["capabilities"]["extensions"] == HAS_TASKS["extensions"]
    assert mcp.run("6 * 7")["resultType"] == "complete"
    task = mcp.run(WAITS, timeout_s=600)
    assert task["resultType"] == "task" and task["status"] == "working" and "content" not in task
    assert task["pollIntervalMs"] == 1000 and task["createdAt"]
    name = task["taskId"]
    assert mcp.ask("tasks/get", {"taskId": name})["status"] == "working"
    mcp.call("files", action="write", path="go", text="")
    ended = poll(mcp, name)
    assert ended["status"] == "completed" and "42" in text_of(ended["result"])
    assert ended["result"]["isError"] is False
    wrong = poll(mcp, mcp.run("1 / 0", timeout_s=600)["taskId"])
    assert wrong["status"] == "completed" and wrong["result"]["isError"] is True
    endless = mcp.run("while True: pass", timeout_s=600)["taskId"]
    for _ in range(2):
        assert mcp.ask("tasks/cancel", {"taskId": endless})["resultType"] == "complete"
        shown = mcp.ask("tasks/get", {"taskId": endless})
        assert shown["status"] == "cancelled" and "result" not in shown
    assert mcp.ask("tasks/update", {"taskId": endless, "inputResponses": {}})["resultType"] == "complete"
    assert mcp.run("1", timeout_s=600, session="se_0")["isError"] is True
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        assert refused(mcp, method, taskId="se_0/ex_0") == -32602
        assert refused(Mcp(server, modern=True), method, taskId=name) == -32021
    for method in ("tasks/list", "tasks/result"):
        assert refused(mcp, method, taskId=name) == -32601
    assert Mcp(server, modern=True).run("6 * 7", timeout_s=600)["resultType"] == "complete"


def messages(mcp, message):
    """Yields the messages of a stream as they arrive."""
    connection = mcp.server.connect()
    connection.request("POST", "/mcp", json.dumps(message), mcp.headers(message))
    answer = connection.getresponse()
    while line := answer.readline().decode():
        if line.startswith("data: ") and line != "data: \n":
            yield json.loads(line[6:])
    connection.close()


def test_tasks_result_reports_the_final_status_before_the_result(server):
    mcp = Mcp(server)
    name = begin(mcp, WAITS)["taskId"]
    stream = messages(mcp, mcp.message("tasks/result", {"taskId": name}, "t"))
    assert next(stream)["params"]["message"] == "begun\n"
    mcp.call("files", action="write", path="go", text="")
    status, result = stream
    assert status["method"] == "notifications/tasks/status" and "42" in text_of(result["result"])
    assert status["params"]["taskId"] == name and status["params"]["status"] == "completed"
    assert status["params"]["ttl"] is None and status["params"]["createdAt"]


def listen(mcp, names):
    return messages(mcp, mcp.message("subscriptions/listen", {"notifications": {"taskIds": names}}))


def test_subscribers_get_the_status_of_their_tasks(server):
    mcp = Mcp(server, modern=True, capabilities=HAS_TASKS, name="work")
    name = mcp.run(WAITS, timeout_s=600)["taskId"]
    ended = mcp.run("1 / 0", timeout_s=600, session=mcp.call("session", action="new")[
        "structuredContent"]["session"])["taskId"]
    poll(mcp, ended)
    stream = listen(mcp, [name, "se_0/ex_0", 7, ended])
    assert next(stream)["params"]["notifications"] == {"taskIds": [name, ended]}
    first = {each["params"]["taskId"]: each for each in (next(stream), next(stream))}
    # A new stream reports the status of each task again.
    stream.close()
    stream = listen(mcp, [name, ended])
    next(stream)
    assert {each["params"]["taskId"]: each["params"]["status"] for each in (next(stream), next(stream))} == {
        each: about["params"]["status"] for each, about in first.items()}
    assert all(each["method"] == "notifications/tasks" for each in first.values())
    assert first[name]["params"]["status"] == "working" and "result" not in first[name]["params"]
    assert first[ended]["params"]["result"]["isError"] is True
    mcp.call("files", action="write", path="go", text="")
    last = next(stream)["params"]
    assert last["taskId"] == name and last["status"] == "completed" and "42" in text_of(last["result"])
    assert "io.modelcontextprotocol/subscriptionId" in last["_meta"]
    stream.close()
    # A stream has at most 16 tasks; more are an error.
    stream = listen(mcp, [ended] * 16)
    assert next(stream)["params"]["notifications"] == {"taskIds": [ended] * 16}
    stream.close()
    status, _, answer = mcp.post(mcp.message("subscriptions/listen", {"notifications": {"taskIds": [ended] * 17}}))
    assert status == 400 and answer["error"]["code"] == -32602 and answer["error"]["data"] == {"field": "taskIds", "limit": 16}
    assert answer["error"]["message"] == "taskIds: at most 16, there are 17"
    # A client without the extension gets no tasks.
    other = listen(Mcp(server, modern=True), [name])
    assert next(other)["params"]["notifications"] == {}
    other.close()


def test_invalid_tasks(server):
    mcp = Mcp(server)
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        for bad in ("se_0/ex_0", "x", "", 7, "a/b/c"):
            assert refused(mcp, method, taskId=bad) == -32602
        assert refused(mcp, method) == -32602
    call = {"arguments": {"action": "list"}, "task": {}}
    assert refused(mcp, "tools/call", name="session", **call) == -32601
    assert refused(mcp, "tools/call", name="run_code", arguments={}, task={}) == -32000
    modern = Mcp(server, modern=True)
    assert refused(modern, "tasks/get", taskId="x") == -32021
    assert text_of(modern.ask("tools/call", {"name": "run_code", "arguments": {"code": "6 * 7"},
                                             "task": {}})).startswith("42")
