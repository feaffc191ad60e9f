"""MCP up to 2025-11-25: a client resumes a broken stream with the id of its last event."""
import base64
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import pytest
from mcp_client import LEGACY, Mcp, text_of
from node_clients import MODULES, node
from reckon_serve import SECONDS

CLIENT = pathlib.Path(__file__).with_name("mcp_resume.mjs")
WAITS = "import os, time\nprint('one')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('two')\n6 * 7"

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


class Stream:
    """The events of one answer, as they come."""

    def __init__(self, mcp, method, message=None, headers=None):
        self.connection = mcp.server.connect()
        found = mcp.headers(message)
        found.update(headers or {})
        self.connection.request(method, "/mcp", json.dumps(message) if message else None,
                                {name: value for name, value in found.items() if value})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self):
        """(id, message); None at the end."""
        event, data = None, None
        while line := self.answer.readline().decode():
            if line.startswith("id: "):
                event = line[4:-1]
            elif line.startswith("data: "):
                data = line[6:-1]
            elif line == "\n" and data is not None:
                return event, json.loads(data) if data else None
        return None

    def rest(self):
        found = []
        while each := self.next():
            found.append(each)
        self.close()
        return found

    def close(self):
        self.connection.close()


def begin(mcp, code=WAITS):
    """A call whose stream ends after the progress of its first line."""
    message = mcp.message("tools/call", {"name": "run_code", "arguments": {"code": code}}, "t")
    stream = Stream(mcp, "POST", message)
    prime, first = stream.next(), stream.next()
    stream.close()
    assert prime[1] is None and first[1]["params"]["message"] == "one\n"
    assert prime[0] and first[0] and prime[0] != first[0]
    return message["id"], prime[0], first[0]


def resume(mcp, event, **headers):
    return Stream(mcp, "GET", None, {"Last-Event-ID": event, "Content-Type": None, **headers})


def end_front(server):
    """Kills the process that speaks MCP, and waits until it is gone."""
    [pid] = [int(pid) for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
             for pid in (task / "children").read_text().split()
             if pathlib.Path(f"/proc/{pid}/comm").read_text() == "reckon-front-mc\n"]
    os.kill(pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


def messages_of(events):
    return [message["params"]["message"] for _, message in events[:-1]]


def test_a_resumed_stream_repeats_missed_events_and_continues(server):
    mcp = Mcp(server)
    number, prime, first = begin(mcp)
    stream = resume(mcp, prime)
    again = stream.next()
    # It is the same event; the next one does not exist yet.
    assert again[0] == first and again[1]["params"] == {"progressToken": "t", "progress": 1, "message": "one\n"}
    mcp.call("files", action="write", path="go", text="")
    rest = stream.rest()
    assert messages_of(rest) == ["two\n"] and rest[0][1]["params"]["progress"] == 2
    assert rest[-1][1]["id"] == number and text_of(rest[-1][1]["result"]).startswith("one\ntwo\n")
    # A stream resumes after any event, also when the call has ended, and from a new front process.
    end_front(server)
    assert messages_of(resume(mcp, first).rest()) == ["two\n"]
    ended = resume(mcp, rest[0][0]).rest()
    assert messages_of(ended) == [] and ended[-1][1] == rest[-1][1]
    assert "42" in text_of(ended[-1][1]["result"])


def test_the_stream_of_a_task_resumes(server):
    """tasks/result ends with its own answer, whichever event its stream resumes after."""
    mcp = Mcp(server)
    task = mcp.ask("tools/call", {"name": "run_code", "arguments": {"code": WAITS}, "task": {}})["task"]["taskId"]
    message = mcp.message("tasks/result", {"taskId": task}, "t")
    stream = Stream(mcp, "POST", message)
    prime, first = stream.next(), stream.next()
    stream.close()
    assert prime[1] is None and first[1]["params"]["message"] == "one\n"
    again = resume(mcp, prime[0])
    assert again.next() == first
    mcp.call("files", action="write", path="go", text="")
    progress, status, result = again.rest()
    assert progress[1]["params"] == {"progressToken": "t", "progress": 2, "message": "two\n"}
    assert status[1]["method"] == "notifications/tasks/status" and status[1]["params"]["status"] == "completed"
    assert result[1]["id"] == message["id"] and "42" in text_of(result[1]["result"])
    assert result[1]["result"]["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task}
    # When the task has ended, after each of its events, from a new front process.
    end_front(server)
    for event, left in ((first[0], 3), (progress[0], 2), (status[0], 2)):
        rest = resume(mcp, event).rest()
        assert len(rest) == left and rest[-1][1] == result[1]
    session, execution = task.split("/")
    for bad, code in ((f"t.{first[0]}", 400), ("t.", 400), (f"t.se_0.{execution}.0.0.{b64('1')}.", 404)):
        assert resume(mcp, bad).status == code, bad


def test_a_resumed_call_is_cancelled_like_any_other(server):
    mcp = Mcp(server)
    number, _, first = begin(mcp)
    stream = resume(mcp, first)
    rest = []
    thread = threading.Thread(target=lambda: rest.extend(stream.rest() or ["nothing"]))
    thread.start()
    while not rest:
        assert mcp.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": number}})[0] == 202
        thread.join(0.1)
    thread.join(SECONDS)
    assert rest == ["nothing"]
    assert text_of(mcp.run("6 * 7")).startswith("42")


def b64(text):
    return base64.b64encode(text.encode()).decode()


def test_invalid_ids_of_events(server):
    mcp = Mcp(server)
    _, prime, _ = begin(mcp)
    session, execution = prime.split(".")[:2]
    good = f"{session}.{execution}.0.0"
    for bad in ("x", "0", "....", good, f"{good}.", f"{good}.{b64('1')}", f"{good}..",
                f"{good}.{b64('null')}.", f"{good}.{b64('{}')}.", f"{good}.{b64('1 2')}.",
                f"{good}.{b64('1')}.{b64('[]')}", f"{good}.!!.", f"{good}.{b64('1')}.." ,
                f"{session}/{execution}.0.0.{b64('1')}.", f"{session}.{execution}.-1.0.{b64('1')}.",
                f"{good}.{b64('1' * 300)}.", "a" * 5000):
        assert resume(mcp, bad).status == 400, bad
    for unknown in (f"se_0.ex_0.0.0.{b64('1')}.", f"{session}.ex_0.0.0.{b64('1')}."):
        assert resume(mcp, unknown).status == 404
    # A resumed stream needs a key of the tenant and valid headers.
    stranger = server.ask("POST", "/tenants", {"name": "other"}).json
    key = server.ask("POST", "/keys", {"tenant": stranger["id"], "scopes": ["execute", "read"]}).json
    assert resume(mcp, prime, Authorization=f"Bearer {key['key']}").status == 404
    assert resume(mcp, prime, Authorization=None).status == 401
    assert resume(mcp, prime, Accept="application/json").status == 406
    assert resume(mcp, prime, **{"Mcp-Session-Id": None}).status == 400
    assert resume(mcp, prime, **{"Mcp-Session-Id": "mcp-3-0-" + "0" * 26}).status == 200
    assert resume(mcp, prime, Origin="http://evil.example").status == 403
    assert Stream(mcp, "GET", None, {"Content-Type": None}).status == 405
    for version in ("2026-07-28", "1999-01-01"):
        assert resume(mcp, prime, **{"MCP-Protocol-Version": version}).status == 405


def test_events_without_ids(server):
    """Older clients would take an event without data for a message; modern clients repeat the call instead."""
    modern = Mcp(server, modern=True)
    message = modern.message("tools/call", {"name": "run_code", "arguments": {"code": "print(1)"}}, "t")
    assert [event for event, _ in Stream(modern, "POST", message).rest()] == [None, None]
    older = Mcp(server)
    assert older.session.startswith("mcp-3-") and LEGACY == "2025-11-25"
    older.session = older.session.replace("mcp-3-", "mcp-1-")
    message = older.message("tools/call", {"name": "run_code", "arguments": {"code": "print(1)"}}, "t")
    stream = Stream(older, "POST", message, {"MCP-Protocol-Version": "2025-03-26"})
    assert all(message is not None for _, message in stream.rest())


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_typescript_sdk_resumes(reckon, server, version):
    done = subprocess.run([node(), str(CLIENT), version, str(MODULES), str(server.port), server.key],
                          env=reckon.env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    came = json.loads(done.stdout)
    assert came["seen"] == ["one", "two"] and came["text"][:2] == ["one", "two"], came
    assert came["had"] == "string" and came["resumptions"] >= 1, came
    if version == "v1":
        assert came["other"][:2] == ["one", "two"], came
