"""Logs of sandboxes, in both versions of the API: output of code and commands."""
import json
import struct
import time
import urllib.parse

import pytest
from e2b_client import ENVD, INTERPRETER
from reckon_serve import SECONDS
from waiting import eventually

pytestmark = pytest.mark.one_user  # nothing in a protocol depends on the user


@pytest.fixture
def sandbox(server):
    made = server.sandbox()
    assert server.data(made, INTERPRETER, "POST", "/execute", {
        "code": "import sys\nprint('from code')\nprint('second')\nprint('warned', file=sys.stderr)"})[0] == 200
    server.data(made, INTERPRETER, "POST", "/execute", {"code": "1/0"})
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "echo of a command; echo bad >&2; exit 3"]}}).encode()
    status, _, _ = server.data(made, ENVD, "POST", "/process.Process/Start", struct.pack(">BI", 0, len(message)) + message,
                               **{"Content-Type": "application/connect+json"})
    assert status == 200
    eventually(lambda: find(server, made, search="process ended"))
    return made


def find(server, sandbox, version="/v2", **query):
    path = f"{version}/sandboxes/{sandbox['sandboxID']}/logs?{urllib.parse.urlencode(query, quote_via=urllib.parse.quote)}"
    status, _, answer = server.control("GET", path)
    assert status == 200, answer
    return answer["logs"]


def test_lines_have_a_level_and_a_time(server, sandbox):
    lines = find(server, sandbox)
    seen = [(each["level"], each["message"]) for each in lines]
    for expected in (("info", "from code"), ("info", "second"), ("warn", "warned"), ("info", "of a command"),
                     ("warn", "bad"), ("debug", "process ended: exit status 3")):
        assert seen.count(expected) == 1, (expected, seen)
    assert [message for level, message in seen if level == "debug" and message.startswith("process started: ")
            and "of a command" in message], seen
    assert [message for level, message in seen if level == "error" and "division by zero" in message], seen
    assert [each["timestamp"] for each in lines] == sorted(each["timestamp"] for each in lines)
    assert {each["fields"]["logger"] for each in lines} == {"execution", "process"}


def test_filters(server, sandbox):
    every = find(server, sandbox)
    backward = find(server, sandbox, direction="backward")
    assert backward == every[::-1]
    assert find(server, sandbox, limit=2) == every[:2]
    assert find(server, sandbox, limit=2, direction="backward") == backward[:2]
    assert {each["level"] for each in find(server, sandbox, level="warn")} == {"warn", "error"}
    assert [each["message"] for each in find(server, sandbox, search="command", level="info")] == ["of a command"]
    later = int(time.time() * 1000) + 100000
    assert find(server, sandbox, cursor=later) == []
    assert find(server, sandbox, cursor=later, direction="backward") == backward
    first = server.control("GET", f"/sandboxes/{sandbox['sandboxID']}/logs?limit=3")[2]
    assert [each["line"] for each in first["logs"]] == [each["message"] for each in every[:3]]
    assert first["logEntries"] == every[:3]
    for wrong in ("limit=x", "limit=100000", "cursor=x", "direction=up", "level=loud", "search=" + "x" * 300):
        assert server.control("GET", f"/v2/sandboxes/{sandbox['sandboxID']}/logs?{wrong}")[0] == 400, wrong
    assert server.control("GET", f"/v2/sandboxes/{'0' * 26}/logs")[2]["code"] == 404


def test_many_lines_are_bounded(server):
    made = server.sandbox()
    server.data(made, INTERPRETER, "POST", "/execute", {"code": "for i in range(20000): print(i, 'x' * 20)"})
    assert len(find(server, made)) <= 1000
    assert find(server, made, limit=1)[0]["message"].startswith("0 x")


def test_repeated_queries_do_not_use_up_followers(server):
    made = server.sandbox()
    session = "se_" + made["sandboxID"].upper()
    process = server.ask("POST", f"/sessions/{session}/processes", {"command": "echo here; sleep 1000"}).json["id"]
    end = time.monotonic() + SECONDS
    while not find(server, made, search="here", level="info"):
        assert time.monotonic() < end
    for _ in range(70):  # at most 64 clients may follow a process at once
        assert [each["message"] for each in find(server, made, search="here", level="info")] == ["here"]
    assert server.ask("DELETE", f"/sessions/{session}/processes/{process}").status == 200
