"""Folders of the host that `reckon mcp --mount` grants: reading, writing, and what is refused."""
import json
import os
import pathlib
import signal
import socket

import private_daemon
import pytest
from mcp_client import META, MODERN, Mcp, text_of
from mcp_stdio import Stdio
from reckon_serve import Server

pytestmark = pytest.mark.usefixtures("no_daemon_stays")

ACCEPT, DECLINE = ({"action": each, "content": {}} for each in ("accept", "decline"))


@pytest.fixture
def project(reckon):
    """A folder of the user, next to a file that is not granted."""
    folder = reckon.work / "home" / "project"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("granted")
    (folder.parent / "secret.txt").write_text("never granted")
    (folder / "out").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to("..")
    for path in (folder.parent, folder, folder / "a.txt", folder.parent / "secret.txt"):
        os.chown(path, reckon.place.user.uid, reckon.place.user.gid, follow_symlinks=False)
    return folder


def sessions(reckon):
    return {each["id"]: each for each in json.loads(reckon("session", "ls", "--all", "--json").stdout)}


def start(reckon, *mounts, capabilities=None, **more):
    words = [word for mount in mounts for word in ("--mount", str(mount))]
    client = Stdio(reckon, *words, **more)
    client.initialize(capabilities)
    return client


LOOK = """
import os, glob
def attempt(what):
    try:
        return what()
    except OSError as error:
        return type(error).__name__
print(open('/mnt/project/a.txt').read())
print([attempt(lambda: open(path).read()) for path in (
    '/mnt/project/out', '/mnt/project/up/secret.txt', '/mnt/project/../secret.txt', %r)])
print(attempt(lambda: open('/mnt/project/new', 'w')), attempt(lambda: os.remove('/mnt/project/a.txt')))
print(sorted(os.listdir('/mnt')))
"""


def test_a_folder_is_read_only(reckon, project):
    client = start(reckon, project)
    shown = client.run(LOOK % str(project.parent / "secret.txt"))
    text = text_of(shown)
    assert f"[/mnt/project is the host's folder {project}, for reading alone]" in text
    lines = text.splitlines()
    lines = lines[lines.index("granted"):]
    assert lines[1:4] == [str(["FileNotFoundError"] * 4), "OSError OSError",
                          "['data', 'project']"], text
    assert (project / "a.txt").read_text() == "granted" and not (project / "new").exists()
    # The notice comes once; a further session of this client has the folder and the notice, too.
    assert "[/mnt/project is" not in text_of(client.run("1"))
    new = client.ask("tools/call", {"name": "session", "arguments": {"action": "new"}})
    other = new["structuredContent"]["session"]
    assert "[/mnt/project is" in text_of(new)
    assert "granted" in text_of(client.run("print(open('/mnt/project/a.txt').read())", session=other))
    [mount] = sessions(reckon)[other]["mounts"]
    assert mount == {"target": "/mnt/project", "source": str(project), "writable": False}
    # Both sessions end with the program that granted the folder, even if it is killed.
    os.kill(client.process.pid, signal.SIGKILL)
    client.process.wait(60)
    while {each["status"] for each in sessions(reckon).values()} != {"closed"}:
        pass
    assert sessions(reckon)[other]["mounts"] == []


def test_code_needs_approval_with_a_writable_folder(reckon, project):
    answers = [ACCEPT, DECLINE]
    client = start(reckon, f"{project}:/mnt/work:rw", capabilities={"elicitation": {}},
                   answer=lambda _: answers.pop(0))
    write = "open('/mnt/work/new', 'w').write('by code')"
    assert not client.run(write)["isError"]
    assert (project / "new").read_text() == "by code" and (project / "new").stat().st_uid == reckon.place.user.uid
    declined = client.run(write.replace("new", "never"))
    assert declined["isError"] and "declined" in text_of(declined) and not (project / "never").exists()
    assert client.questions[0]["message"].startswith(f"Run this code?\n\n{write}")
    assert "can change files in the folders" in client.questions[0]["message"]
    # Other tools need no approval.
    assert not client.ask("tools/call", {"name": "files", "arguments": {
        "action": "write", "path": "x", "text": ""}})["isError"]
    assert len(client.questions) == 2 and client.close() == 0


def test_writing_with_clients_that_cannot_ask(reckon, project):
    """The user granted writing with --mount, so code runs; with --approve the client must be able to ask."""
    client = start(reckon, f"{project}:rw")
    assert not client.run("open('/mnt/project/new', 'w').write('x')")["isError"]
    assert client.close() == 0 and (project / "new").read_text() == "x"
    client = Stdio(reckon, "--mount", f"{project}:rw", "--approve")
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    refused = client.ask("tools/call", {"name": "run_code", "arguments": {"code": "1"}, "_meta": meta})
    assert refused["isError"] and "cannot ask" in text_of(refused)
    assert client.close() == 0


NOT_GRANTED = [
    ("/", "the whole host"), ("/..", "the whole host"), ("/usr/../..", "the whole host"),
    ("{home}/rooted", "the whole host"), ("{home}/nowhere", "No such file"),
    ("{home}/secret.txt", "not a directory"), ("{home}:rw", "your home folder"),
    ("{home}/project/..:/mnt/x:rw", "your home folder"), ("{state}", "what Reckon keeps"),
    ("{state}/private", "what Reckon keeps"), ("{home}/project:/mnt/data", "the workspace itself"),
    ("{home}/project:/etc", "not a place for a mount"), ("{home}/project:/mnt/../etc", "not a place"),
    ("{home}/project:/mnt/a/b", "cannot be mounted at"), ("{home}/data", "cannot be mounted at"),
    ("", "invalid directory")]


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_folders_that_are_refused(reckon, project):
    home = project.parent
    (home / "rooted").symlink_to("/")
    (home / "data").mkdir()
    reckon("session", "ls")
    config = home / "config.json"
    for spec, reason in NOT_GRANTED:
        spec = spec.format(home=home, state=reckon.state)
        done = reckon("mcp", "--mount", spec, env={"HOME": str(home)})
        assert done.status != 0 and reason in done.stderr.decode(), (spec, done)
    for spec in ("/", f"{home}:rw", str(home / "nowhere")):
        done = reckon("mcp", "install", "--client", "cursor", "--config", config, "--mount", spec,
                      env={"HOME": str(home)})
        assert done.status != 0, done
    assert not config.exists()


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_two_folders_at_one_path_and_too_many_folders(reckon, project):
    other = project.parent / "other" / "project"
    other.mkdir(parents=True)
    done = reckon("mcp", "--mount", project, "--mount", other)
    assert done.status == 2 and b"two folders cannot be mounted at /mnt/project" in done.stderr
    done = reckon("mcp", *[word for _ in range(9) for word in ("--mount", str(project))])
    assert done.status == 2 and b"at most 8" in done.stderr


def test_a_granted_folder_that_is_replaced_is_refused(reckon, project):
    """Code that can write to one granted folder cannot replace another by a folder that is not granted."""
    inner = project / "inner"
    inner.mkdir()
    os.chown(inner, reckon.place.user.uid, reckon.place.user.gid)
    client = start(reckon, f"{project}:rw", inner)
    client.run(f"import os\nos.rename('/mnt/project/inner', '/mnt/project/gone')\n"
               f"os.symlink({str(project.parent)!r}, '/mnt/project/inner')")
    assert (project / "inner").is_symlink()
    for _ in ("a link", "a folder"):
        new = client.ask("tools/call", {"name": "session", "arguments": {"action": "new"}})
        assert new["isError"] and "is not the folder that was granted any more" in text_of(new)
        (project / "inner").unlink(missing_ok=True) if (project / "inner").is_symlink() else None
        (project / "inner").mkdir(exist_ok=True)
    assert client.close() == 0


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_only_a_private_daemon_mounts(reckon, project):
    with Server(reckon) as server:
        url = f"http://127.0.0.1:{server.port}"
        for more in (("--url", url), ()):
            done = reckon("mcp", "--mount", project, *more,
                          env={"RECKON_URL": url, "RECKON_API_KEY": server.key})
            assert done.status == 2 and b"mounts no folders of this computer" in done.stderr
        # The id of an existing grant is not valid for another daemon.
        client = start(reckon, project)
        assert not client.run("1")["isError"]
        [grant] = runtime(reckon).glob("grant-gr_*")
        mcp = Mcp(server)
        mcp.more = {"Reckon-Grant": grant.name[len("grant-"):]}
        refused = mcp.run("1")
        assert refused["isError"] and "mounts no folders of its host" in text_of(refused)
        answer = server.ask("POST", "/sessions", {"grant": mcp.more["Reckon-Grant"]})
        assert answer.status == 403 and answer.code == "denied"
        assert client.close() == 0 and not grant.exists()


def runtime(reckon):
    return pathlib.Path(reckon.env["XDG_RUNTIME_DIR"]) / "reckon"


def create(reckon, grant):
    """The status of the private daemon's answer."""
    newest = max(runtime(reckon).glob("*.program"), key=lambda each: each.stat().st_mtime_ns)
    with socket.socket(socket.AF_UNIX) as private:
        private.connect(str(newest.with_suffix(".sock")))
        body = json.dumps({"grant": grant})
        private.sendall(f"POST /reckon/v1/sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                        f"{body}".encode())
        return int(private.makefile().readline().split()[1])


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_invalid_grants_are_refused(reckon, project):
    """Copies of a grant, links to it, and ids without a grant are refused; the grant itself is accepted."""
    client = start(reckon, project)
    client.run("1")
    folder = runtime(reckon)
    [grant] = folder.glob("grant-gr_*")
    text = grant.read_bytes()
    private = Stdio(reckon)
    dead = "gr_" + "0" * 26
    (folder / f"grant-{dead}").write_bytes(text)
    (folder / f"grant-{dead}").chmod(0o600)
    linked = "gr_" + "1" * 26
    (folder / f"grant-{linked}").symlink_to(grant)
    try:
        for each in (dead, linked, "gr_" + "2" * 26, "../x", "x", "", "gr_" + "a" * 26):
            assert create(reckon, each) in (400, 403), each
        assert create(reckon, grant.name[len("grant-"):]) == 201
    finally:
        for each in (dead, linked):
            (folder / f"grant-{each}").unlink(missing_ok=True)
        private.close()
        client.close()


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_a_named_session_without_the_folders_is_refused(reckon, project):
    plain = Stdio(reckon, "-s", "work")
    plain.initialize()
    plain.run("x = 1")
    assert plain.close() == 0
    client = Stdio(reckon, "-s", "work", "--mount", str(project))
    client.initialize()
    refused = client.run("x")
    assert refused["isError"] and "opened without the folders" in text_of(refused)
    ended = client.ask("tools/call", {"name": "session", "arguments": {"action": "end"}})
    assert not ended["isError"]
    assert "granted" in text_of(client.run("print(open('/mnt/project/a.txt').read())"))
    assert client.close() == 0


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_folders_are_mounted_again_after_a_crash_of_the_daemon(reckon, project):
    client = start(reckon, project)
    client.run("open('kept', 'w').write('1')")
    private_daemon.end(reckon, signal.SIGKILL)
    shown = text_of(client.run("print(open('/mnt/project/a.txt').read(), open('kept').read())"))
    assert "granted 1" in shown
    assert client.close() == 0


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_install_writes_the_folders_to_the_configuration(reckon, project):
    config = project.parent / "config.json"
    done = reckon("mcp", "install", "--client", "cursor", "--config", config, "--mount",
                  f"{project}/../project:/mnt/p:rw", "--mount", project, "--approve")
    assert done.status == 0, done
    args = json.loads(config.read_text())["mcpServers"]["reckon"]["args"]
    assert args == ["mcp", "--approve", "--mount", f"{project}:/mnt/p:rw", "--mount", str(project)]
    done = reckon("mcp", "install", "--client", "cursor", "--config", config, "--mount", project,
                  "--url", "http://127.0.0.1:1")
    assert done.status == 2 and b"cannot be used together" in done.stderr
