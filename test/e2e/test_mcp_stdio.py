"""`reckon mcp`: the bridge to the private daemon, and what install and doctor do."""
import json
import os
import stat
import subprocess
import time

import private_daemon
import pytest
from mcp_client import LEGACY, META, MODERN, text_of
from mcp_stdio import Stdio

pytestmark = pytest.mark.usefixtures("no_daemon_stays")


def test_an_older_client(reckon):
    client = Stdio(reckon)
    assert client.initialize()["protocolVersion"] == LEGACY
    assert not client.run("x = 20")["isError"]
    assert text_of(client.run("x + 1")).startswith("21")
    # Several calls at once; one of them is cancelled and gets no answer.
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
def test_a_fast_answer_is_not_delayed(reckon):
    """An answer may arrive before the bridge starts to wait for it."""
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


def test_a_named_session_outlives_its_client(reckon):
    """The next client finds the session, whatever its revision of the protocol."""
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


def test_invalid_messages_get_an_error(reckon):
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


def put(reckon, path, text):
    """Writes a file that belongs to the user."""
    path.write_text(text)
    os.chown(path, reckon.place.user.uid, reckon.place.user.gid)


def test_install_and_uninstall(reckon):
    path = reckon.work / "config.json"
    put(reckon, path, '{"theme": "dark", "mcpServers": {"other": {"command": "x", "n": 1.5}}}')
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
    assert reckon("mcp", "install", "--client", "emacs").status == 2


PLACES = {"claude-code": (".claude.json", "mcpServers"), "cursor": (".cursor/mcp.json", "mcpServers"),
          "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
          "gemini": (".gemini/settings.json", "mcpServers"), "vscode": (".config/Code/User/mcp.json", "servers"),
          "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers")}


@pytest.mark.parametrize("client", PLACES)
def test_each_client_has_its_configuration_file(reckon, client):
    """Missing folders are created; uninstall leaves an empty list of servers."""
    name, key = PLACES[client]
    home = reckon.work / "home"
    home.mkdir()
    os.chown(home, reckon.place.user.uid, reckon.place.user.gid)
    done = reckon("mcp", "install", "--client", client, env={"HOME": str(home)})
    assert done.status == 0 and f"{home}/{name}:\n+ {{\n+   \"{key}\": {{\n".encode() in done.stdout, done
    written = json.loads((home / name).read_text())
    assert list(written) == [key] and written[key]["reckon"]["args"] == ["mcp"]
    assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert list(home.rglob("*.before-reckon")) == []
    done = reckon("mcp", "uninstall", "--client", client, env={"HOME": str(home)})
    assert done.status == 0 and json.loads((home / name).read_text()) == {key: {}}
    assert f"the file as it was: {home}/{name}.before-reckon".encode() in done.stdout
    assert json.loads((home / f"{name}.before-reckon").read_text()) == written


COMMENTED = """\
\ufeff// of the person
{
\t/* two, /* not nested */
\t"z": 1e3, "url": "http://x/*no*/", // a comment, with "quotes" }
\t"mcpServers": {
\t\t"other": {"command": "x", "args": ["a",], "É": "\\"}//"}, // it
\t},
\t"last": 1.50,
}
"""


def test_install_changes_nothing_but_its_entry(reckon):
    """Comments, order, numbers and trailing commas stay; so does what the user added to the entry."""
    path = reckon.work / "config.json"
    put(reckon, path, COMMENTED)
    done = reckon("mcp", "install", "--client", "vscode", "--config", path)
    assert done.status == 0, done
    assert path.read_text().startswith(COMMENTED[:COMMENTED.index('"last": 1.50') + 12] + ',\n\t"servers": {')
    put(reckon, path, COMMENTED)
    done = reckon("mcp", "install", "--client", "cursor", "--config", path)
    assert done.status == 0 and b'+ \t\t"reckon": {' in done.stdout, done
    text = path.read_text()
    start = text.index(',\n\t\t"reckon": {')
    end = text.index("\n\t\t}", start) + 4
    assert text[:start] + text[end:] == COMMENTED and text.endswith(
        COMMENTED[-len(', // it\n\t},\n\t"last": 1.50,\n}\n'):])
    put(reckon, path, text.replace('"type": "stdio"', '"env": {"A": "b"}, "type": "stdio"'))
    done = reckon("mcp", "install", "--client", "cursor", "--config", path, "--approve")
    assert done.status == 0 and '"env": {\n\t\t\t\t"A": "b"' in path.read_text()
    assert '"--approve"' in path.read_text()
    assert reckon("mcp", "uninstall", "--client", "cursor", "--config", path).status == 0
    assert path.read_text() == COMMENTED
    assert b"needs no change" in reckon("mcp", "uninstall", "--client", "cursor", "--config", path).stdout


def test_formats_of_a_configuration(reckon):
    path = reckon.work / "config.json"
    for text in ("", "  \n", "{}", '{"mcpServers": {}}', '{"mcpServers":{"reckon":{"command":"old"}}}',
                 '{"mcpServers": {"reckon": 7, "b": {}}, "z": {"mcpServers": {}}}', "{ // none\n}",
                 '{"a": "mcpServers", "mcpServers": {"a": {}, "reckon": [], "b": "}"}}'):
        put(reckon, path, text)
        done = reckon("mcp", "install", "--client", "cursor", "--config", path)
        assert done.status == 0, (text, done)
        if "//" not in text:
            written = json.loads(path.read_text())
            assert written["mcpServers"].pop("reckon")["args"] == ["mcp"]
            assert "// none" not in path.read_text()
        done = reckon("mcp", "uninstall", "--client", "cursor", "--config", path)
        if "//" not in text:
            assert done.status == 0 and json.loads(path.read_text()) == written
    assert "// none" in path.read_text() or "// none" not in text


@pytest.mark.parametrize("as_user", ["rootless"], indirect=True)
def test_invalid_and_protected_files_are_not_changed(reckon):
    """Files that are invalid or not writable stay unchanged, and no backup is made."""
    path = reckon.work / "config.json"
    for text in ("[]", "7", '{"mcpServers": []}', '{"mcpServers": 7}', '{"a": 1', '{"a": 1} x', "{},", "/*",
                 '{"a" 1}', "{'a': 1}", '{"a": 1, "a": 2}', "\0", '{"mcpServers": {"a": {}},, "b": 1}'):
        put(reckon, path, text)
        done = reckon("mcp", "install", "--client", "cursor", "--config", path)
        assert done.status == 2 and b"by hand" in done.stderr and path.read_text() == text, (text, done)
    put(reckon, path, "{}")
    path.chmod(0o400)
    done = reckon("mcp", "install", "--client", "cursor", "--config", path)
    assert done.status != 0 and b"Permission denied" in done.stderr and path.read_text() == "{}"
    folder = reckon.work / "folder"
    folder.mkdir(0o755)
    put(reckon, folder / "config.json", "{}")
    for bad, reason in ((folder / "config.json", b"Permission denied"), (folder / "new", b"Permission denied"),
                        (folder, b"Is a directory"), (path / "x", b"Not a directory")):
        done = reckon("mcp", "install", "--client", "cursor", "--config", bad)
        assert done.status != 0 and reason in done.stderr and str(bad).encode() in done.stderr, done
    assert (folder / "config.json").read_text() == "{}" and list(reckon.work.rglob("*.before-reckon")) == []


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_a_client_of_windows_starts_it_through_wsl(reckon):
    env = {"WSL_DISTRO_NAME": "Debian", "HOME": str(reckon.work)}
    done = reckon("mcp", "install", "--client", "claude-desktop", env=env)
    assert done.status == 2 and b"/mnt/c/Users/YOU/AppData/Roaming/Claude" in done.stderr
    path = reckon.work / "config.json"
    assert reckon("mcp", "install", "--client", "claude-desktop", "--config", path, env=env).status == 0
    assert json.loads(path.read_text())["mcpServers"]["reckon"]["args"] == ["mcp"]
    script = ('mount -t tmpfs none /mnt && mkdir -p /mnt/c && "$0" mcp install --client claude-desktop '
              "--config /mnt/c/config.json >&2 && cat /mnt/c/config.json")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, str(reckon.place.program)],
                          env={**reckon.env, **env}, capture_output=True, check=True)
    entry = json.loads(done.stdout)["mcpServers"]["reckon"]
    assert entry["command"] == "wsl.exe" and entry["args"][:3] == ["-d", "Debian", "--"]
    assert entry["args"][3].endswith("/reckon") and entry["args"][4:] == ["mcp"]
