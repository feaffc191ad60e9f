"""The official conformance suite of MCP, in both of its revisions, against a daemon with its fixtures."""
import http.server
import json
import re
import subprocess
import threading

import pytest
from node_clients import MODULES, node
from reckon_serve import Server

INDEX = MODULES / "@modelcontextprotocol/conformance/dist/index.js"

pytestmark = pytest.mark.parametrize("as_user", ["rootless"], indirect=True)


@pytest.mark.parametrize("revision, scenarios", [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_scored_scenario_passes(reckon, revision, scenarios):
    with Server(reckon, env={"RECKON_MCP_CONFORMANCE": "1"}) as server:
        done = subprocess.run(
            [node(), str(INDEX), "server", "--url", f"http://localhost:{server.port}/mcp",
             "--requirements", revision, "-o", str(reckon.work / revision)],
            capture_output=True, text=True, timeout=150, check=False)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    summary = text[text.index("=== SUMMARY ==="):]
    scored = summary[:summary.index("Not scored")]
    unscored = set(re.findall(r"[✓✗] ([\w-]+) \(", summary))
    passed = set(re.findall(r"✓ ([\w-]+):", scored)) - unscored
    failed = set(re.findall(r"✗ ([\w-]+):", scored)) - unscored
    assert not failed, (failed, summary)
    assert len(passed) == scenarios, summary
    assert done.returncode == 0, summary


class WithKey(http.server.BaseHTTPRequestHandler):
    """A proxy that adds a key: the suite has none, but tasks run code and need one."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        connection = self.server.daemon_server.connect()
        connection.request("POST", self.path, body, {
            **dict(self.headers), "Authorization": f"Bearer {self.server.daemon_server.key}"})
        answer = connection.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        connection.close()

    def log_message(self, *_):
        pass


# Scenarios that the suite does not score, with the checks that fail: they need a task that requests input
# or fails without a result. Left out: tasks-mrtr-input and -composition (no task of Reckon requests
# input), tasks-status-notifications (the suite itself skips it).
UNSCORED = {
    "tasks-capability-negotiation": set(), "tasks-wire-fields": set(), "tasks-request-state-removal": set(),
    "tasks-request-headers": set(), "tasks-required-task-error": set(),
    "tasks-lifecycle": {"sep-2663-tasks-get-status-failed"},
    "tasks-dispatch-and-envelope": {"tasks-result-type-complete-on-non-task-responses"},
}


def test_scenarios_of_tasks(reckon):
    with Server(reckon, env={"RECKON_MCP_CONFORMANCE": "1"}) as server, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), WithKey) as proxy:
        proxy.daemon_server = server
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        running = {name: subprocess.Popen(
            [node(), str(INDEX), "server", "--url", f"http://localhost:{proxy.server_port}/mcp",
             "--scenario", name, "--spec-version", "2026-07-28", "--force", "-o", str(reckon.work / name)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name in UNSCORED}
        for name, done in running.items():
            done.wait(150)
            [checks] = (reckon.work / name).glob("*/checks.json")
            failed = {each["id"]: each.get("errorMessage") for each in json.loads(checks.read_text())
                      if each["status"] != "SUCCESS"}
            assert set(failed) == UNSCORED[name], (name, failed)
        proxy.shutdown()


def test_without_the_fixtures_a_key_is_needed(reckon):
    with Server(reckon) as server:
        answer = server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                            {"Content-Type": "application/json"}, key=False, prefix="")
        assert answer.status == 401 and json.loads(answer.body)["error"]["data"]["code"] == "unauthorized"
