"""Volumes and snapshots of a daemon by command: reckon volume, reckon snapshot, and the commands that use them."""
import re
import shutil
import subprocess

import pytest

from model_server import ModelServer, Reply
from private_daemon import daemons, end
from reckon_cli import parse_json
from test_client import Fake, http

HTTP = re.compile(r"\b(GET|POST|PUT|DELETE|HTTP|/reckon/v1|read_only)\b")


@pytest.fixture
def private(reckon):
    """`reckon`, whose private daemon (one for each state directory) is ended after the test."""
    yield reckon
    end(reckon)


def refused(done, *words, status=2):
    """Checks for an error in terms of the command line, not of HTTP."""
    done.expect(status)
    assert all(word in done.err for word in words) and not HTTP.search(done.err), done.err
    assert done.out == ""
    return done


# ---- volume ---------------------------------------------------------------------------------

def test_read_commands_do_not_start_a_daemon(reckon):
    for what in ("volume", "snapshot"):
        done = reckon(what, "ls").expect(0)
        assert done.out == "" and f"no {what}s" in done.err
        assert reckon(what, "ls", "--json").expect(0).out == "[]\n"
        assert (reckon(what, "ls", "-q").expect(0).out, reckon(what, "ls", "-q").err) == ("", "")
        reckon(what, "show", "x").expect(2)
        reckon(what, "rm", "x").expect(2)
    reckon("snapshot", "create", "x").expect(2)
    reckon("files", "ls", "--volume", "x").expect(2)
    assert not daemons(reckon)


def test_a_volume_is_made_shown_listed_and_removed(private):
    assert private("volume", "create", "models").expect(0).out == "models\n"
    made = parse_json(private("volume", "create", "other", "--json").expect(0).stdout)
    assert made["name"] == "other" and made["id"].startswith("vol_")
    assert private("volume", "ls", "-q").expect(0).out == "models\nother\n"
    assert [each["name"] for each in parse_json(private("volume", "ls", "--json").stdout)] == [
        "models", "other"]
    head, first, second = private("volume", "ls").expect(0).out.splitlines()
    assert head.split() == ["NAME", "SIZE", "ENTRIES", "SESSIONS", "AGE", "ID"]
    assert first.startswith("models  ") and "vol_" in first and made["id"] in second
    for name in ("other", made["id"]):
        shown = private("volume", "show", name).expect(0).out
        assert re.search(r"^name +other$", shown, re.M) and re.search(r"^limit +10 GiB$", shown, re.M)
        assert parse_json(private("volume", "show", name, "--json").stdout)["id"] == made["id"]
    refused(private("volume", "create", "models"), "there is a volume of this name")
    for name in ("", "a b", "vol_a", "../x", "x" * 64):
        refused(private("volume", "create", name), "1 to 63 letters")
    refused(private("volume", "create"), "missing argument NAME")
    for args in (["show"], ["show", ""], ["rm"]):
        refused(private("volume", *args), "missing argument VOLUME", "reckon volume ls")
    for args in (["show", "nix"], ["rm", "nix"], ["show", "nix" * 99], ["rm", "n/x"]):
        refused(private("volume", *args), "there is no volume n", "reckon volume ls")
    # rm tries each argument, a name or an id.
    refused(private("volume", "rm", "nix", made["id"], "models"), "nix")
    assert private("volume", "ls", "-q").expect(0).out == ""


def test_sessions_have_volumes_that_outlive_them(private):
    private("volume", "create", "shared").expect(0)
    private("volume", "create", "input").expect(0)
    private("run", "-s", "one", "-t", "python", "-v", "shared", "-v", "input:/mnt/in:ro",
            "-c", "open('/mnt/shared/x', 'w').write('6 * 7')").expect(0)
    done = private("run", "-s", "one", "-c", "open('/mnt/in/x', 'w')").expect(1)
    assert "Read-only file system" in done.out + done.err
    # The mounts of the session may be repeated, but not changed.
    again = ["-v", "shared:/mnt/shared:rw", "-v", "input:/mnt/in:ro"]
    private("run", "-s", "one", *again, "-c", "1").expect(0)
    for other in ("shared:ro", "shared:/mnt/else", "input:/mnt/in", "input"):
        refused(private("run", "-s", "one", "-v", other, "-c", "1"), "--volume cannot be changed")
    assert private("session", "create", "two", "-t", "python", "-v", "shared:/mnt/deep/er").expect(0)
    assert private("run", "-s", "two", "-c", "eval(open('/mnt/deep/er/x').read())").expect(0).out == "42\n"
    refused(private("volume", "rm", "shared"), "2 sessions have the volume mounted")
    private("session", "rm", "one", "two").expect(0)
    done = private("repl", "-s", "three", "-t", "python", "-v", "shared",
                   stdin="print(open('/mnt/shared/x').read())\n").expect(0)
    assert "6 * 7" in done.out


@pytest.mark.one_user
def test_invalid_volumes_and_snapshots_name_the_option(private):
    private("session", "create", "there", "-t", "python").expect(0)
    for words, *args in (
            ("there is no volume nix", "-v", "nix"),
            ("invalid volume name '/srv'", "-v", "/srv:/mnt/x"),
            ("invalid volume name './x'", "--volume", "./x"),
            ("is not a place for a mount", "-v", "nix:/srv"),
            ("is not a place for a mount", "-v", "nix:/mnt/../etc"),
            ("is the workspace itself", "-v", "nix:/mnt/data/x"),
            ("there is no snapshot nix", "--snapshot", "nix"),
            ("there is no snapshot sn_", "--snapshot", "sn_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            ("--snapshot: it is empty", "--snapshot", "")):
        refused(private("run", "-s", "new", *args, "-c", "1"), words,
                "--snapshot" if args[0] == "--snapshot" else "--volume")
        refused(private("session", "create", "new", *args), words)
    refused(private("run", "-s", "there", "--snapshot", "nix", "-c", "1"), "--snapshot cannot be changed")
    assert private("session", "ls", "-q").expect(0).out == "there\n"
    # Without a session of a daemon there are no volumes and snapshots.
    for args, option in ((["-v", "x"], "--volume"), (["--snapshot", "x"], "--snapshot")):
        refused(private("run", *args, "-c", "1"), f"{option} needs -s")
        refused(private("repl", *args), f"{option} needs -s")


def test_a_session_has_at_most_four_volumes(private):
    names = [f"v{number}" for number in range(5)]
    for name in names:
        private("volume", "create", name).expect(0)
    four = [word for name in names[:4] for word in ("-v", name)]
    private("session", "create", "four", "-t", "python", *four).expect(0)
    refused(private("session", "create", "five", *four, "-v", "v4"), "at most 4 volumes")


def test_files_of_a_volume_go_both_ways(private):
    tree = {"up/a.txt": b"a", "up/d/e/f.bin": bytes(range(256)) * 500, "up/ü b?#%.txt": b"u"}
    for name, content in tree.items():
        (private.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        private.user.own((private.cwd / name).parent)
        private.file(name, content)
    (private.cwd / "up/a.txt").chmod(0o750)
    private("volume", "create", "shared").expect(0)
    of = ("--volume", "shared")
    assert "no files" in private("files", "ls", *of).expect(0).err
    private("files", "put", *of, "up").expect(0)
    private("files", "put", *of, "up/a.txt:b/c.txt").expect(0)
    listed = parse_json(private("files", "ls", *of, "--json").expect(0).stdout)
    assert {one["path"]: one["bytes"] for one in listed} == {
        "b/c.txt": 1, **{n: len(c) for n, c in tree.items()}}
    assert {one["path"]: one["mode"] for one in listed}["up/a.txt"] == 0o750
    for path, count in (("up", 3), ("up/", 3), ("up/d", 1), ("up/a.txt", 1), (".", 4)):
        lines = private("files", "ls", *of, path).expect(0).out.splitlines()
        assert len(lines) == 1 + count, (path, lines)
    assert private("files", "ls", *of, "nix").expect(0).out == ""
    private("files", "get", *of, "up", "-o", "down").expect(0)
    for name, content in tree.items():
        assert (private.cwd / "down" / name).read_bytes() == content
    refused(private("files", "get", *of, "up", "-o", "down"), "already exists")
    private("files", "get", *of, "-f", "up/d", "b/c.txt", "-o", "down").expect(0)
    assert (private.cwd / "down/c.txt").read_bytes() == b"a"
    assert (private.cwd / "down/d/e/f.bin").read_bytes() == tree["up/d/e/f.bin"]
    assert private("files", "get", *of, "b/c.txt", "-o", "-").expect(0).stdout == b"a"
    private("files", "get", *of, "b/c.txt", "-o", "named").expect(0)
    assert (private.cwd / "named").read_bytes() == b"a"
    refused(private("files", "get", *of, "nix"), "there is no such file")
    private("files", "rm", *of, "up/").expect(0)
    assert private("files", "ls", *of).out.count("\n") == 2
    refused(private("files", "rm", *of, "up"), "there is no up")
    refused(private("files", "rm", *of, "."), "invalid file name")
    refused(private("files", "ls", "-s", "x", *of), "cannot be used together")
    refused(private("files", "ls", "--volume", "nix"), "there is no volume nix")
    shutil.rmtree(private.cwd / "down")


# ---- snapshot -------------------------------------------------------------------------------

def test_a_snapshot_is_created_used_and_removed(private):
    private("run", "-s", "one", "-t", "python", "--env", "A=1", "-c",
            "open('f', 'w').write('first'); x = 1").expect(0)
    first = private("snapshot", "create", "one", "-n", "clean").expect(0).out.strip()
    assert re.fullmatch(r"sn_\w{26}", first)
    private("run", "-s", "one", "-c", "open('f', 'w').write('second')").expect(0)
    second = parse_json(private("snapshot", "create", "one", "--name", "clean", "--json").expect(0).stdout)
    third = private("snapshot", "create", "one").expect(0).out.strip()
    assert second["name"] == "clean" and second["files"] == 1
    assert private("snapshot", "ls", "-q").expect(0).out == f"{third}\n{second['id']}\n{first}\n"
    assert private("snapshot", "ls", "-s", "one", "--json").expect(0).out.count("sn_") == 3
    head, *rows = private("snapshot", "ls").expect(0).out.splitlines()
    assert head.split() == ["NAME", "FILES", "SIZE", "RUNTIME", "AGE", "ID", "SESSION"] and len(rows) == 3
    shown = private("snapshot", "show", "clean").expect(0).out
    assert re.search(rf"^id +{second['id']}$", shown, re.M) and re.search(r"^files +1$", shown, re.M)
    assert parse_json(private("snapshot", "show", first, "--json").expect(0).stdout)["id"] == first
    private("session", "rm", "one").expect(0)
    # A name means the newest snapshot of that name; an id means exactly one.
    code = "import os; open('f').read(), os.environ['A'], 'x' in globals()"
    assert private("run", "-s", "two", "--snapshot", "clean", "-c", code).expect(0).out == "('second', '1', False)\n"
    private("session", "create", "three", "--snapshot", first).expect(0)
    assert private("run", "-s", "three", "-c", code).expect(0).out == "('first', '1', False)\n"
    assert private("snapshot", "ls", "-s", "three", "-q").expect(0).out == ""
    # rm refuses a name that several snapshots have.
    refused(private("snapshot", "rm", "clean"), "several snapshots are named clean", "by its id")
    private("snapshot", "rm", first).expect(0)
    refused(private("snapshot", "rm", first, "clean", third), f"there is no snapshot {first}")
    assert private("snapshot", "ls", "-q").expect(0).out == ""
    assert private("run", "-s", "two", "-c", "open('f').read()").expect(0).out == "'second'\n"


@pytest.mark.one_user
def test_errors_of_snapshot_commands(private):
    private("session", "create", "one", "-t", "python").expect(0)
    refused(private("snapshot", "create"), "missing argument SESSION", "reckon session ls")
    refused(private("snapshot", "create", "nix"), "there is no session named nix")
    refused(private("snapshot", "create", "one", "-n", ""), "--name", "empty")
    refused(private("snapshot", "create", "one", "-n", "sn_x"), "--name", "sn_")
    refused(private("snapshot", "create", "one", "two"), "unexpected argument 'two'")
    for args in (["show"], ["rm"]):
        refused(private("snapshot", *args), "missing argument SNAPSHOT", "reckon snapshot ls")
    for name in ("a\nb", "x" * 129):
        refused(private("snapshot", "create", "one", "-n", name), "one line of 1 to 128")
    for args in (["show", "nix"], ["rm", "nix"], ["show", "a b"], ["show", "sn_x"]):
        refused(private("snapshot", *args), f"there is no snapshot {args[1]}", "reckon snapshot ls")
    refused(private("snapshot", "ls", "-s", "nix"), "there is no session named nix")


@pytest.mark.one_user
def test_files_missing_in_a_snapshot_are_reported(reckon):
    """The server had no room for two files; control characters of its text do not reach the terminal."""
    session = '{"sessions": [{"id": "se_1", "name": "one", "status": "live"}]}'
    snapshot = '{"id": "sn_1", "files": 1, "files_not_kept": {"count": 2, "why": "large\\u001b[2J: no room"}}'
    with Fake(http("200 OK", session), http("201 Created", snapshot)) as server:
        done = reckon("snapshot", "create", "one", "--url", server.url).expect(0)
    assert done.out == "sn_1\n" and "2 files are not in it: large" in done.err
    assert "no room" in done.err and "\x1b" not in done.err


# ---- ask, chat ------------------------------------------------------------------------------

def ask(reckon, model, *args, how="ask", **options):
    return reckon(how, "--model", "openai/m", "-t", "python", *args, **options,
                  env={"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "sk-1"})


def test_a_question_has_a_volume_and_the_files_of_a_snapshot(private):
    private("volume", "create", "models").expect(0)
    private("volume", "create", "facts").expect(0)
    private("run", "-s", "one", "-t", "python", "-v", "facts", "-c",
            "open('a.txt', 'w').write('of one'); open('/mnt/facts/f', 'w').write('fact')").expect(0)
    private("snapshot", "create", "one", "-n", "begun").expect(0)
    with ModelServer(Reply(calls=["print(open('a.txt').read(), open('/mnt/facts/f').read())\n"
                                  "open('/mnt/models/m', 'w').write('made')"]),
                     Reply(text="Done.")) as model:
        done = ask(private, model, "-v", "models", "-v", "facts:/mnt/facts:ro", "--snapshot", "begun",
                   "What?").expect(0)
        request_text = str(model.requests[0].body)
    assert done.out == "Done.\n" and "of one fact" in done.err
    assert "/mnt/models, /mnt/facts (read-only)." in request_text and "files of an earlier session" in request_text
    # The answer ends the session; what was written to the volume stays.
    assert private("session", "ls", "-q").expect(0).out == "one\n"
    private("files", "get", "--volume", "models", "m").expect(0)
    assert (private.cwd / "m").read_text() == "made"


@pytest.mark.one_user
def test_a_chat_and_its_resume_have_the_volume(private):
    private("volume", "create", "models").expect(0)
    writes = Reply(calls=["open('/mnt/models/m', 'w').write('made')"])
    reads = Reply(calls=["print(open('/mnt/models/m').read())"])
    with ModelServer(writes, Reply(text="One."), reads, Reply(text="Two."), reads,
                     Reply(text="Three.")) as model:
        ask(private, model, "-v", "models", how="chat", stdin="one?\n").expect(0)
        done = ask(private, model, "--resume", how="chat", stdin="two?\n").expect(0)
        assert "made\n" in done.err and "/mnt/models" in str(model.requests[2].body)
        refused(ask(private, model, "--resume", "-v", "other", how="chat", stdin="two?\n"),
                "--volume cannot be changed")
        refused(ask(private, model, "--resume", "--snapshot", "x", how="chat", stdin="two?\n"),
                "--snapshot cannot be changed")
        done = ask(private, model, "--session", "named", "-v", "models", "three?").expect(0)
        assert "made\n" in done.err and done.out == "Three.\n"


@pytest.mark.one_user
@pytest.mark.parametrize("args, words", [
    (["-v", "nix"], "--volume: there is no volume nix"),
    (["--snapshot", "nix"], "--snapshot: there is no snapshot nix"),
    (["-v", "a b"], "--volume"),
    (["--snapshot", ""], "--snapshot: it is empty"),
    (["-v", "nix", "--no-keep"], "--volume and --no-keep cannot be used together"),
    (["--snapshot", "nix", "--private"], "--snapshot cannot be used with --mount, "),
])
def test_missing_volumes_and_snapshots_fail_before_a_request(private, args, words):
    with ModelServer() as model:
        done = ask(private, model, *args, "What?")
        refused(done, words, status=done.status)
        assert done.status in (2, 125) and not model.requests


# ---- help -----------------------------------------------------------------------------------

@pytest.mark.one_user
@pytest.mark.parametrize("command", [
    f"{what}{sub}" for what in ("volume", "snapshot") for sub in ("", " create", " ls", " show", " rm")])
def test_help_is_one_screen(reckon, command):
    done = reckon(*command.split(), "--help").expect(0)
    lines = done.out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert lines[0].startswith(f"Usage: reckon {command}")


@pytest.mark.one_user
def test_shells_complete_names_of_volumes_and_snapshots(private):
    private("volume", "create", "models").expect(0)
    private("session", "create", "one", "-t", "python").expect(0)
    snapshot = private("snapshot", "create", "one").expect(0).out.strip()
    script = private("--completion", "bash").expect(0).out + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reckon; echo "${COMPREPLY[*]}"; }
"""
    for words, name in (("volume rm mod", "models"), ("run -v mod", "models"), ("volume sh", "show"),
                        ("files ls --volume mod", "models"), (f"run --snapshot {snapshot[:-2]}", snapshot),
                        ("ask -v mod", "models"), (f"chat --snapshot {snapshot[:-2]}", snapshot),
                        (f"snapshot show {snapshot[:-2]}", snapshot)):
        done = subprocess.run(["bash", "-c", f"{script}complete_words reckon {words}"], capture_output=True,
                              text=True, check=True, **private.user.switch,
                              env={**private.env, "PATH": f"{private.place.program.parent}:/usr/bin:/bin"})
        assert done.stdout.split() == [name], (words, done)
