"""The command of MCP's inspector drives every tool: each call is a client of its own, of a session with
a name."""
import json
import os
import re
import signal
import subprocess
import threading

import private_daemon
import pytest
from node_clients import MODULES, node
from reckon_serve import Server
from test_mcp_sdk import FIGURE, look

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


class Inspector:
    """`where`: the server, as options of the inspector."""

    def __init__(self, reckon, where, era="legacy"):
        self.words = [node(), str((MODULES / ".bin/mcp-inspector").resolve()), "--cli", *where,
                      "--protocol-era", era]
        self.env = {**reckon.env, "MCP_CATALOG_PATH": str(reckon.work / "catalog.json")}

    def start(self, *words):
        return subprocess.Popen([*self.words, *words], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def begin(self, tool, **arguments):
        return self.start("--method", "tools/call", "--tool-name", tool, "--tool-args-json",
                          json.dumps(arguments))

    @staticmethod
    def result(process):
        text, err = process.communicate(timeout=120)
        assert text, err
        return json.loads(text)

    def call(self, tool, **arguments):
        return self.result(self.begin(tool, **arguments))

    def run(self, code, **more):
        return self.call("run_code", code=code, **more)


def text_of(result):
    return result["content"][0]["text"]


def over_http(reckon, server, era):
    return Inspector(reckon, [
        f"http://127.0.0.1:{server.port}/mcp", "--transport", "http", "--header",
        f"Authorization: Bearer {server.key}", "--header", "Reckon-Session: work"], era)


def over_stdio(reckon, era):
    # The inspector passes on little of its environment, but `reckon mcp` must find this test's daemon.
    return Inspector(reckon, [
        "/usr/bin/env", *(f"{name}={value}" for name, value in reckon.env.items()),
        str(reckon.place.program), "mcp", "-s", "work"], era)


def end_daemon(reckon):
    """A server that the inspector has left behind may start it once more."""
    while private_daemon.daemons(reckon):
        private_daemon.end(reckon)


def count(inspector, pairs):
    """Pairs of concurrent calls run one after the other, so no increment is lost."""
    inspector.run("x = 0")
    for _ in range(pairs):
        for process in [inspector.begin("run_code", code="x += 1") for _ in range(2)]:
            inspector.result(process)
    assert text_of(inspector.run("print(x)")).split()[0] == str(2 * pairs)


def take_file(inspector):
    wrote = inspector.run("open('out.csv', 'w').write('a,b\\n1,2\\n')")
    links = [each for each in wrote["content"] if each["type"] == "resource_link"]
    assert len(links) == 1, wrote
    read = inspector.result(inspector.start("--method", "resources/read", "--uri", links[0]["uri"]))
    assert read["contents"][0]["text"] == "a,b\n1,2\n"


def crash(inspector):
    crashed = inspector.run("import os\nos.kill(os.getpid(), 9)")
    assert crashed["isError"] and crashed["structuredContent"]["status"] == "kernel_died"
    assert "False" in text_of(inspector.run("print('x' in globals())"))


def draw(inspector):
    drawn = inspector.run(FIGURE)
    assert look(next(each["data"] for each in drawn["content"]
                     if each["type"] == "image")) == ("red", "blue")


def time_out(inspector):
    late = inspector.run("while True: pass", timeout_s=0.5)
    assert late["isError"] and late["structuredContent"]["status"] == "timeout"


def flood(inspector):
    """Of 100 MB the model gets an excerpt, and can read the rest."""
    result = inspector.run("line = 'y' * 65535\nfor _ in range(1600): print(line)")
    assert not result["isError"] and len(text_of(result)) < 20000
    handle = result["structuredContent"]["outputs"][0]
    assert "yyyy" in text_of(inspector.call("output", handle=handle, offset=40000, length=1024))


def cancel(inspector):
    """A killed client cancels its code, and the call that waits behind it runs."""
    inspector.run("x = 41")
    endless = inspector.begin("run_code", code="open('begun', 'w')\nwhile True: pass")
    while "begun" not in text_of(inspector.call("files", action="list")):
        pass
    waits = inspector.begin("run_code", code="print(x + 1)")
    threading.Timer(0.2, os.killpg, (endless.pid, signal.SIGKILL)).start()
    assert text_of(inspector.result(waits)).startswith("42")
    endless.communicate()


def test_every_tool_over_http(reckon):
    with Server(reckon) as server:
        inspector = over_http(reckon, server, "modern")
        count(inspector, 4)
        draw(inspector)
        take_file(inspector)
        time_out(inspector)
        flood(inspector)
        crash(inspector)
        assert "ended" in text_of(inspector.call("session", action="end"))


def test_every_tool_over_stdio(reckon):
    """Each call starts a `reckon mcp` of its own, of one session and one private daemon."""
    try:
        inspector = over_stdio(reckon, "legacy")
        count(inspector, 1)
        draw(inspector)
        take_file(inspector)
        assert "a,b" in text_of(inspector.call("files", action="read", path="out.csv"))
        time_out(inspector)
        flood(inspector)
        cancel(inspector)
        crash(inspector)
        assert "ended" in text_of(inspector.call("session", action="end"))
    finally:
        end_daemon(reckon)


def test_a_call_is_cancelled_with_its_connection(reckon):
    """In revision 2026-07-28, closing the connection cancels the call."""
    with Server(reckon) as server:
        cancel(over_http(reckon, server, "modern"))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_prints_the_result(reckon, era):
    with Server(reckon) as server:
        done = over_http(reckon, server, era).begin("run_code", code="6 * 7")
        text, err = done.communicate(timeout=120)
        assert done.returncode == 0 and re.search(r'"text": "42', text), err
