"""`reckon mcp`: the bridge to the private daemon, and what install and doctor do."""
import json
import time

import private_daemon
import pytest
from mcp_client import LEGACY, META, MODERN, text_of
from mcp_stdio import Stdio


@pytest.fixture
def reckon(reckon):
    yield reckon
    private_daemon.end(reckon)


def test_an_older_client(reckon):
    client = Stdio(reckon)
    assert client.initialize()["protocolVersion"] == LEGACY
    assert not client.run("x = 20")["isError"]
    assert text_of(client.run("x + 1")).startswith("21")
    # Several at once, answered as they end; one of them is cancelled and has no answer.
    slow = client.begin("tools/call", {"name": "run_code", "arguments": {
        "code": "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"},
        "_meta": {"progressToken": "p"}})
    assert len(client.ask("tools/list")["tools"]) == 4
    with client.changed:
        assert client.changed.wait_for(lambda: client.notifications, 60)
    assert client.notifications[0]["params"] == {"progressToken": "p", "progress": 1,
                                                 "message": "begun\n"}
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
    assert text_of(client.run("x")).startswith("20")
    assert slow not in client.answers
    assert client.close() == 0


def test_a_modern_client(reckon):
    client = Stdio(reckon)
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}

    def call(code, **more):
        return {"name": "run_code", "arguments": {"code": code, **more}, "_meta": meta}

    assert MODERN in client.ask("server/discover", {"_meta": meta})["supportedVersions"]
    session = client.ask("tools/call", call("x = 3"))["structuredContent"]["session"]
    assert text_of(client.ask("tools/call", call("x"))).startswith("3")  # its default session
    slow = client.begin("tools/call", call("while True: pass", session=session))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                 "params": {"requestId": slow, "_meta": meta}})
    assert text_of(client.ask("tools/call", call("x", session=session))).startswith("3")
    assert slow not in client.answers
    assert sessions(reckon)[session]["status"] == "live"
    wrong = client.wait(client.begin("ping", {"_meta": meta}))
    assert wrong["error"]["code"] == -32601
    name = client.wait(client.begin("tools/call", {"name": "überall", "_meta": meta}))
    assert name["error"]["code"] == -32602
    assert client.close() == 0
    assert sessions(reckon)[session]["status"] == "closed"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_a_fast_answer_is_not_kept_back(reckon):
    """One that has come before the bridge begins to wait for more."""
    client = Stdio(reckon)
    client.initialize()
    late = 0
    for _ in range(60):
        begin = time.monotonic()
        client.ask("ping")
        late += time.monotonic() - begin > 0.9
    assert late < 3 and client.close() == 0


def sessions(reckon):
    return {each["id"]: each for each in json.loads(reckon("session", "ls", "--all", "--json").stdout)}


def test_a_session_by_its_name(reckon):
    """It is there for the next client, of whichever era."""
    first = Stdio(reckon, "-s", "work")
    first.initialize()
    session = first.run("x = 5")["structuredContent"]["session"]
    assert first.close() == 0
    found = sessions(reckon)[session]
    assert found["status"] == "live" and found["name"] == "work"
    second = Stdio(reckon, "--session", "work")
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    shown = second.ask("tools/call", {"name": "run_code", "arguments": {"code": "x + 1"},
                                      "_meta": meta})
    assert text_of(shown).startswith("6")
    assert second.close() == 0
    bad = reckon("mcp", "-s", "a b")
    assert bad.status == 2 and b"expected a name" in bad.stderr


def test_what_is_no_message_has_an_answer(reckon):
    client = Stdio(reckon)
    client.process.stdin.write(b"{\n")
    client.process.stdin.flush()
    assert client.wait(None)["error"]["message"]
    assert "initialize" in client.wait(client.begin("tools/list"))["error"]["message"]
    client.initialize()
    assert client.ask("ping") == {}
    assert client.close() == 0


def test_a_daemon_that_ended_is_started_again(reckon):
    client = Stdio(reckon)
    client.initialize()
    assert client.ask("ping") == {}
    private_daemon.end(reckon)
    assert text_of(client.run("6 * 7")).startswith("42")
    assert client.close() == 0


def test_the_session_ends_with_its_client(reckon):
    client = Stdio(reckon)
    client.initialize()
    session = client.run("1")["structuredContent"]["session"]
    assert client.close() == 0
    shown = reckon("session", "ls", "--all", "--json")
    [found] = [each for each in json.loads(shown.stdout) if each["id"] == session]
    assert found["status"] == "closed"


def test_doctor_calls_every_tool(reckon):
    done = reckon("mcp", "doctor")
    assert done.status == 0, done
    assert [line.split() for line in done.stdout.decode().splitlines()] == [
        [name, "ok"] for name in ("initialize", "tools/list", "run_code", "files", "output", "session")]


def test_install_and_uninstall(reckon):
    path = reckon.work / "config.json"
    path.write_text('{"theme": "dark", "mcpServers": {"other": {"command": "x", "n": 1.5}}}')
    before = json.loads(path.read_text())
    done = reckon("mcp", "install", "--client", "cursor", "--config", str(path))
    assert done.status == 0 and b'+     "reckon": {' in done.stdout, done
    after = json.loads(path.read_text())
    entry = after["mcpServers"].pop("reckon")
    assert after == before and entry["args"] == ["mcp"] and entry["command"].endswith("/reckon")
    [backup] = path.parent.glob("config.json.before-reckon")
    assert json.loads(backup.read_text()) == before
    again = reckon("mcp", "install", "--client", "cursor", "--config", str(path))
    assert b"needs no change" in again.stdout
    assert reckon("mcp", "uninstall", "--client", "cursor", "--config", str(path)).status == 0
    assert json.loads(path.read_text()) == before
    reckon("mcp", "install", "--client", "cursor", "--config", str(path), "--approve", "-s", "work")
    assert json.loads(path.read_text())["mcpServers"]["reckon"]["args"] == [
        "mcp", "--session", "work", "--approve"]
    path.write_text("{ // a comment\n}")
    bad = reckon("mcp", "install", "--client", "cursor", "--config", str(path))
    assert bad.status != 0 and path.read_text() == "{ // a comment\n}"
    assert b"by hand" in bad.stderr
    assert reckon("mcp", "install", "--client", "emacs").status == 2
