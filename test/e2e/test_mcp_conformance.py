"""The official conformance suite of MCP, in both of its revisions, against a daemon with its fixtures."""
import json
import re
import subprocess

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


def test_the_fixtures_are_nowhere_else(reckon):
    with Server(reckon) as server:
        answer = server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                            {"Content-Type": "application/json"}, key=False, prefix="")
        assert answer.status == 401 and json.loads(answer.body)["error"]["data"]["code"] == "unauthorized"
