"""Folders of the host that a model requests through `reckon mcp`: the questions, and what is always refused."""
import json
import os

import pytest
from mcp_client import META, MODERN, Mcp, text_of
from mcp_stdio import Stdio
from reckon_serve import Server

pytestmark = pytest.mark.usefixtures("no_daemon_stays")

ACCEPT, DECLINE, CANCEL = ({"action": each} for each in ("accept", "decline", "cancel"))
CAN_ASK = {"elicitation": {}}
READ = "print(open('/mnt/project/a.txt').read())"


@pytest.fixture
def home(reckon):
    """The home folder of a user, with a project."""
    folder = reckon.work / "home"
    (folder / "project" / "inner").mkdir(parents=True)
    (folder / "project" / "a.txt").write_text("of the person")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, reckon.place.user.uid, reckon.place.user.gid)
    return folder


def start(reckon, home, *answers, capabilities=None, **more):
    """A client whose user gives these answers; a further question would fail."""
    left = list(answers)
    client = Stdio(reckon, *more.pop("args", ()), answer=lambda _: left.pop(0),
                   env={"HOME": str(home), **more.pop("env", {})}, **more)
    client.initialize(CAN_ASK if capabilities is None else capabilities)
    return client


def mount(client, path, **more):
    return client.ask("tools/call", {"name": "session",
                                     "arguments": {"action": "mount", "path": str(path), **more}})


def test_the_user_grants_a_folder_for_reading(reckon, home):
    client = start(reckon, home, ACCEPT)
    granted = mount(client, "~/project")
    assert not granted["isError"], granted
    assert f"[/mnt/project is the host's folder {home}/project, for reading alone]" in text_of(granted)
    [question] = client.questions
    assert question["message"].startswith(f"Let code read the folder\n\n{home}/project\n\nof this computer?")
    assert "(Asked for as ~/project)" in question["message"] and question["mode"] == "form"
    # The default session has the folder.
    assert text_of(client.run(READ)).startswith("of the person")
    wrote = client.run("try: open('/mnt/project/new', 'w')\nexcept OSError as error: print(error.strerror)")
    assert "Read-only file system" in text_of(wrote) and not (home / "project/new").exists()
    # The question is asked once.
    again = mount(client, home / "project")
    assert not again["isError"] and "as before" in text_of(again) and len(client.questions) == 1
    assert client.close() == 0


def test_an_existing_session_does_not_get_the_folder(reckon, home):
    client = start(reckon, home, ACCEPT, ACCEPT, ACCEPT)
    client.run("x = 41")
    granted = mount(client, home / "project")
    other = granted["structuredContent"]["session"]
    assert "pass this id" in text_of(granted)
    assert text_of(client.run("x + 1")).startswith("42")
    assert "FileNotFoundError" in text_of(client.run(READ))
    assert text_of(client.run(READ, session=other)).startswith("of the person")
    # Writing is another question, and code in that session needs approval.
    written = mount(client, home / "project", write=True)
    assert f"[/mnt/project-2 is the host's folder {home}/project, also for writing]" in text_of(written)
    assert client.questions[1]["message"].startswith("Let code read AND CHANGE the folder")
    assert not client.run("open('/mnt/project-2/new', 'w').write('x')",
                          session=written["structuredContent"]["session"])["isError"]
    assert client.questions[2]["message"].startswith("Run this code?")
    assert (home / "project/new").read_text() == "x" and client.close() == 0


def test_a_refusal_is_remembered(reckon, home):
    client = start(reckon, home, DECLINE, CANCEL, DECLINE, ACCEPT)
    declined = mount(client, home / "project")
    assert declined["isError"] and "the user declined" in text_of(declined)
    for path, more in (("~/project", {}), ("~/project", {"write": True}), (home / "project/.", {})):
        again = mount(client, path, **more)
        assert again["isError"] and "not asked again" in text_of(again)
    assert len(client.questions) == 1
    # A folder inside is another question; a question without an answer can be asked again.
    cancelled = mount(client, home / "project/inner", write=True)
    assert cancelled["isError"] and "did not answer" in text_of(cancelled)
    assert "declined" in text_of(mount(client, home / "project/inner", write=True))
    assert "not asked again" in text_of(mount(client, home / "project/inner", write=True))
    assert not mount(client, home / "project/inner")["isError"]
    assert len(client.questions) == 4 and client.close() == 0


def test_folders_that_are_refused_without_a_question(reckon, home):
    for name in (".ssh", ".config/secret", "project/.git", "with keys/.ssh"):
        (home / name).mkdir(parents=True)
    (home / "keys").symlink_to(".ssh")
    (home / "proc").symlink_to("/proc/self/cwd")
    for name in ("a\nb", "a\u202eb", "\u200b", "a\x1b[2J"):
        (home / name).mkdir()
    (home / os.fsdecode(b"\xff\xfe")).mkdir()
    client = start(reckon, home)
    client.run("1")
    for path, reason in (
            ("/", "whole computer"), ("/..", "whole computer"), ("~/proc/../..", ""), ("~", "home folder"),
            (home.parent, "home folder"), ("~/project/..", "home folder"), ("~/.ssh", "hidden"),
            ("~/keys", "hidden"), ("~/project/../keys", "hidden"), ("~/.config/secret", "hidden"),
            ("~/project/.git", "hidden"), ("~/with keys", "keys or passwords"), ("/proc", "of the system"),
            ("/proc/self", "of the system"), ("/proc/self/root", "whole computer"), ("/sys/kernel", "of the system"),
            ("/dev/shm", "of the system"), ("/etc", "of the system"), ("/run", ""), ("/home", "of the system"),
            (reckon.state, "what Reckon keeps"), (reckon.state / "private", "what Reckon keeps"),
            ("~/nowhere", "no such folder"), ("~/project/a.txt", "not a folder"), ("project", "absolute"),
            ("~root/x", "absolute"), ("", "absolute"), ("../x", "absolute"), ("/" + "x" * 5000, "missing"),
            ("~/a\nb", "could not see"), ("~/a\u202eb", "could not see"), ("~/\u200b", "could not see"),
            ("~/a\x1b[2J", "could not see"), ("~/a\0b", "missing")):
        refused = mount(client, path)
        assert refused["isError"] and reason in text_of(refused), (path, refused)
    assert "path is missing" in text_of(client.ask(
        "tools/call", {"name": "session", "arguments": {"action": "mount"}}))
    assert client.questions == [] and client.close() == 0


def test_the_real_path_is_shown(reckon, home):
    (home / "here").symlink_to("project/inner")
    client = start(reckon, home, DECLINE)
    mount(client, "~/project/../here")
    assert f"\n\n{home}/project/inner\n\n" in client.questions[0]["message"]
    assert "(Asked for as ~/project/../here)" in client.questions[0]["message"]
    assert client.close() == 0


def test_hidden_characters_of_the_requested_path_are_escaped(reckon, home):
    (home / "a\u202eb\x1b[8m\nc").symlink_to("project/inner")
    client = start(reckon, home, DECLINE)
    mount(client, "~/a\u202eb\x1b[8m\nc")
    assert r"(Asked for as ~/a\u202eb\x1b[8m\x0ac)" in client.questions[0]["message"]
    assert client.close() == 0


def test_a_folder_that_is_replaced_before_the_answer_is_refused(reckon, home):
    def swap(_):
        (home / "project/inner").rmdir()
        (home / "project/inner").symlink_to(home)
        return ACCEPT

    client = Stdio(reckon, answer=swap, env={"HOME": str(home)})
    client.initialize(CAN_ASK)
    refused = mount(client, home / "project/inner")
    assert refused["isError"] and "another folder now" in text_of(refused)
    assert not client.run("import os; print(os.listdir('/mnt'))")["isError"]
    assert client.close() == 0


def test_roots_limit_the_folders(reckon, home):
    (home / "out").mkdir()
    client = start(reckon, home, ACCEPT, capabilities={**CAN_ASK, "roots": {}},
                   roots=["http://x/", "file://", f"file://{home}/pro%6Aect", "file:///%zz"])
    outside = mount(client, home / "out")
    assert outside["isError"] and "roots" in text_of(outside) and client.questions == []
    assert "roots" in text_of(mount(client, home / "project/../out"))
    assert not mount(client, home / "project")["isError"] and len(client.questions) == 1
    assert client.close() == 0
    nowhere = start(reckon, home, capabilities={**CAN_ASK, "roots": {}})
    assert "roots" in text_of(mount(nowhere, home / "project")) and nowhere.close() == 0


def modern(client, arguments, capabilities=None, **params):
    meta = {META + "protocolVersion": MODERN,
            META + "clientCapabilities": CAN_ASK if capabilities is None else capabilities}
    return client.ask("tools/call", {"name": "session", "arguments": arguments, "_meta": meta, **params})


def test_a_modern_client_calls_again(reckon, home):
    client = Stdio(reckon, env={"HOME": str(home)})
    request = {"action": "mount", "path": "~/project"}
    first = modern(client, request)
    assert first["resultType"] == "input_required" and first["inputRequests"]["folder"][
        "method"] == "elicitation/create"
    state = first["requestState"]
    yes = {"folder": ACCEPT}
    # An answer about another folder, for writing, or to another question does not count.
    for arguments, other in (({**request, "path": "~/project/inner"}, state), ({**request, "write": True}, state),
                             (request, "fo_" + "0" * 26), (request, None)):
        more = {"requestState": other} if other else {}
        assert modern(client, arguments, inputResponses=yes, **more)["resultType"] == "input_required"
    granted = modern(client, request, inputResponses=yes, requestState=state)
    assert not granted["isError"] and "for reading alone" in text_of(granted)
    # An answer is valid once.
    assert "as before" in text_of(modern(client, request, inputResponses=yes, requestState=state))
    inner = {"action": "mount", "path": "~/project/inner"}
    state = modern(client, inner)["requestState"]
    assert modern(client, inner, inputResponses={"folder": DECLINE}, requestState=state)["isError"]
    assert "not asked again" in text_of(modern(client, inner, inputResponses=yes, requestState=state))
    assert client.close() == 0


def test_a_modern_client_with_roots_is_asked_twice(reckon, home):
    client = Stdio(reckon, env={"HOME": str(home)})
    can = {**CAN_ASK, "roots": {}}
    request = {"action": "mount", "path": "~/project"}
    first = modern(client, request, can)
    assert first["inputRequests"]["folder"]["method"] == "roots/list"
    roots = {"folder": {"roots": [{"uri": f"file://{home}/project"}]}}
    second = modern(client, request, can, inputResponses=roots, requestState=first["requestState"])
    assert second["inputRequests"]["folder"]["method"] == "elicitation/create"
    assert second["requestState"] != first["requestState"]
    # The state of the first question does not answer the second.
    third = modern(client, request, can, inputResponses={"folder": ACCEPT}, requestState=first["requestState"])
    assert third["inputRequests"]["folder"]["method"] == "roots/list"
    done = modern(client, request, can, inputResponses={"folder": ACCEPT}, requestState=second["requestState"])
    assert not done["isError"] and client.close() == 0


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_many_questions_and_answers_without_a_question(reckon, home):
    client = Stdio(reckon, answer=lambda _: None, env={"HOME": str(home)})
    client.initialize(CAN_ASK)
    client.send({"jsonrpc": "2.0", "id": "fo_" + "0" * 26, "result": ACCEPT})
    waiting = [client.begin("tools/call", {"name": "session", "arguments": {
        "action": "mount", "path": "~/project"}}) for _ in range(8)]
    assert "too many questions" in text_of(mount(client, "~/project"))
    # A cancelled call has no answer and makes room for another one.
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting[0]}})
    last = client.begin("tools/call", {"name": "session", "arguments": {
        "action": "mount", "path": "~/project/inner"}})
    with client.changed:
        assert client.changed.wait_for(lambda: len(client.questions) == 9, 60)
    assert text_of(client.run("6 * 7")).startswith("42") and last not in client.answers
    assert client.close() == 0 and not set(waiting) & set(client.answers)


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_clients_that_cannot_ask_get_no_folders(reckon, home):
    def actions(client):
        [tool] = [each for each in client.ask("tools/list")["tools"] if each["name"] == "session"]
        return tool["inputSchema"]["properties"]["action"]["enum"]

    for can in ({}, {"elicitation": {"url": {}}}):
        client = start(reckon, home, capabilities=can)
        refused = mount(client, home / "project")
        assert refused["isError"] and "cannot ask" in text_of(refused) and "mount" not in actions(client)
        assert client.close() == 0
    client = start(reckon, home)
    tools = client.ask("tools/list")["tools"]
    assert "mount" in actions(client) and len(json.dumps(tools)) < 1800 * 4 and client.close() == 0


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_only_a_private_daemon_grants_folders(reckon, home):
    with Server(reckon) as server:
        for modern_era in (False, True):
            mcp = Mcp(server, modern_era, capabilities=CAN_ASK)
            mcp.more = {"Reckon-Folders": "ask"}
            refused = mcp.call("session", action="mount", path=str(home / "project"))
            assert refused["isError"] and "no folder of a computer" in text_of(refused)
            mcp.more |= {"Reckon-Grant-Later": "gr_" + "0" * 26}
            refused = mcp.call("session", action="mount", path=str(home / "project"))
            assert refused["isError"] and "mounts no folders of its host" in text_of(refused)
        client = start(reckon, home, args=("--url", f"http://127.0.0.1:{server.port}"),
                       env={"RECKON_API_KEY": server.key})
        assert "no folder of a computer" in text_of(mount(client, home / "project"))
        assert "mount:" not in json.dumps(client.ask("tools/list")) and client.close() == 0
