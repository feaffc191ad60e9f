"""The commands that use a daemon: one with a port and a key, and the private one."""
import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time

import pytest
from waiting import eventually

from private_daemon import daemons, end
from reckon_cli import ROOT, parse_json, record_validator
from reckon_serve import Server
from test_documents import STEP, matches, shell

SECONDS = 60


def sockets(reckon):
    return list((reckon.place.runtime / "reckon").glob("daemon-*.sock"))


def where(server):
    return {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}


# ---- the private daemon ---------------------------------------------------------------------

def test_read_commands_do_not_start_a_daemon(reckon):
    done = reckon("session", "ls").expect(0)
    assert done.out == "" and "no sessions" in done.err
    reckon("session", "show", "x").expect(2)
    reckon("logs").expect(2)
    reckon("files", "ls").expect(2)
    assert not daemons(reckon)


def test_the_private_daemon_is_started_once_for_many(private):
    running = [private.popen("session", "create", f"s{i}", "-t", "python") for i in range(6)]
    for i, process in enumerate(running):
        out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out, err) == (0, f"s{i}\n".encode(), b"")
    assert len(daemons(private)) == 1
    assert len(parse_json(private("session", "ls", "--json").stdout)) == 6


def test_another_runtime_directory_finds_the_same_daemon(private):
    """cron and sudo set another directory; the lock file of the daemon says where it listens."""
    private("run", "-s", "kept", "-t", "python", "-c", "x = 6 * 7").expect(0)
    other = private.cwd / "other"
    other.mkdir(mode=0o700)
    private.user.own(other)
    env = {"XDG_RUNTIME_DIR": str(other)}
    assert private("run", "-s", "kept", "-c", "x", env=env).expect(0).out == "42\n"
    assert len(daemons(private)) == 1 and not list(other.rglob("daemon-*.sock"))
    # A daemon that was started with the other directory is found with this one.
    end(private)
    private("run", "-s", "new", "-t", "python", "-c", "y = 7", env=env).expect(0)
    assert list(other.rglob("daemon-*.sock"))
    assert private("run", "-s", "new", "-c", "y").expect(0).out == "7\n"
    assert len(daemons(private)) == 1


def test_the_private_daemon_is_shown_and_stopped(private):
    assert "does not run" in private("daemon", "status").expect(1).out
    assert parse_json(private("daemon", "status", "--json").expect(1).stdout) == {"running": False}
    assert "does not run" in private("daemon", "stop").expect(0).out
    private("run", "-s", "kept", "-t", "python", "-c", "open('f', 'w').write('1'); x = 1").expect(0)
    (pid,) = daemons(private)
    shown = private("daemon", "status", env={"RECKON_URL": "http://127.0.0.1:1"}).expect(0).out
    (path,) = sockets(private)
    assert f"{pid}\n" in shown and f"{path}\n" in shown and "1 with variables" in shown
    found = parse_json(private("daemon", "status", "--json").expect(0).stdout)
    assert found["running"] and found["pid"] == pid and found["sessions_with_variables"] == 1
    assert "1 session would lose variables (-f" in private("daemon", "stop").expect(2).err
    assert daemons(private) == [pid]
    private("daemon", "stop", "-f").expect(0)
    assert not daemons(private)
    # The next daemon has the files of the session.
    private("files", "get", "-s", "kept", "f").expect(0)
    assert (private.cwd / "f").read_text() == "1"


def test_only_the_user_can_access_the_socket(private):
    private("session", "create").expect(0)
    for path in sockets(private):
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("as_user", ["root"], indirect=True)  # the test connects as root, so root must own the daemon
def test_the_socket_accepts_any_host_header(private):
    private("session", "create").expect(0)
    (path,) = sockets(private)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(SECONDS)
        sock.connect(str(path))
        sock.sendall(b"GET /reckon/v1/health HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert sock.recv(4096).split()[1] == b"200"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_another_user_gets_no_answer_on_the_socket(private):
    private("session", "create").expect(0)
    ask = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
           "s.sendall(b'GET /reckon/v1/health HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');"
           "print(len(s.recv(99)))")
    (path,) = sockets(private)
    folders = [path.parent, *path.parent.parents][:-2]
    before = [folder.stat().st_mode & 0o7777 for folder in folders]
    try:
        for folder, mode in zip(folders, before):
            folder.chmod(mode | 0o011)
        path.chmod(0o666)
        for user, answer in ((0, True), (65533, False)):
            done = subprocess.run([sys.executable, "-c", ask, path], user=user, group=user,
                                  extra_groups=[], check=False, capture_output=True, text=True)
            assert (done.returncode == 0 and done.stdout.strip() == "99") == answer, done
    finally:
        for folder, mode in zip(folders, before):
            folder.chmod(mode)


def test_a_stale_socket_is_replaced_and_a_loss_is_reported(private):
    private("run", "-s", "kept", "-t", "python", "-c", "x = 1").expect(0)
    end(private, signal.SIGKILL)
    assert sockets(private)
    done = private("run", "-s", "kept", "-t", "python", "-c", "'x' in globals()").expect(0, 125)
    assert len(daemons(private)) == 1
    if done.status == 0 and "False" in done.out:
        assert "session kept is lost" in done.err or "note: " in done.err


def test_an_idle_daemon_exits_and_removes_its_socket(private):
    with private.start("serve", "--private", "--idle-exit", "1", "--state",
                       private.state) as process:
        assert re.fullmatch(rb"reckon: listening on unix:\S+\.sock\n", process.stdout.readline())
        before = sockets(private)
        second = private("serve", "--private", "--state", private.state).expect(2)
        assert "already running" in second.err or "another reckond" in second.err
        assert process.wait(SECONDS) == 0
        assert before and not set(before) & set(sockets(private))


def test_a_daemon_that_does_not_start_is_reported_with_the_reason(private):
    (private.state / "private").write_text("no directory")
    done = private("session", "create").expect(125)
    assert "your private daemon does not start" in done.err and "private" in done.err


# ---- names ----------------------------------------------------------------------------------

def test_names_of_live_sessions_are_unique(reckon):
    with Server(reckon) as server:
        first = server.create(name="a.b-c_1")
        taken = server.ask("POST", "/sessions", {"template": "python", "name": "a.b-c_1"})
        assert (taken.status, taken.code) == (409, "session_exists")
        found = server.ask("GET", "/sessions?name=a.b-c_1").json["sessions"]
        assert [(one["id"], one["name"]) for one in found] == [(first, "a.b-c_1")]
        assert server.ask("GET", "/sessions?name=other").json["sessions"] == []
        assert server.ask("DELETE", f"/sessions/{first}").status == 200
        second = server.create(name="a.b-c_1")
        found = server.ask("GET", "/sessions?name=a.b-c_1").json["sessions"]
        assert [(one["id"], one["status"]) for one in found] == [(second, "live"),
                                                                 (first, "closed")]
        assert server.ask("GET", f"/sessions/{server.create()}").json["name"] is None


def test_of_concurrent_requests_one_gets_the_name(reckon):
    with Server(reckon) as server, concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(
            lambda _: server.ask("POST", "/sessions", {"template": "python", "name": "x"}).status,
            range(4)))
        assert sorted(answers) == [201, 409, 409, 409]


@pytest.mark.one_user
@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü", "x" * 64, "se_1", "a\x00b", 5, None])
def test_invalid_names_are_refused(reckon, name):
    with Server(reckon) as server:
        answer = server.ask("POST", "/sessions", {"name": name})
        assert (answer.status, answer.code) == (400, "invalid") and "name" in answer.json[
            "error"]["message"]


# ---- run -s ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def shared(place):
    """One private daemon for the tests that only run cells: a session each."""
    import tempfile

    from reckon_cli import Reckon
    made = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    made("session", "create", "-t", "python").expect(0)
    yield made
    end(made)


@pytest.fixture
def session(shared, request):
    name = re.sub(r"[^A-Za-z0-9]", "-", request.node.name)[-60:].lstrip("-")
    shared("session", "create", name, "-t", "python").expect(0)
    yield name
    shared("session", "rm", name).expect(0, 125)


# Each runs with a session and without; output and exit status are the same.
ALIKE = {
    "output": ["-c", "print('a'); 1 + 1"],
    "nothing": ["-c", ""],
    "streams": ["-c", "import sys; print('o'); print('e', file=sys.stderr)"],
    "no newline": ["-c", "print('x', end='')", "-c", "print('y')"],
    "error": ["-c", "1/0"],
    "syntax": ["-c", "def"],
    "the first failure": ["-c", "raise SystemExit(3)", "-c", "print(2)"],
    "keep going": ["--keep-going", "-c", "1/0", "-c", "print(2)", "-c", "x"],
    "time limit": ["--timeout", "0.3", "-c", "while True: pass"],
    "a value that is long": ["-c", "list(range(2000))"],
    "much output": ["-c", "for i in range(5000): print(i)"],
    "unicode": ["-c", "print('\U0001f40d ü \\u202e')"],
    "a file": ["-c", "open('f.txt', 'w').write('x' * 3000); None"],
    "a display": ["-c", "from IPython.display import HTML; HTML('<b>x</b>')"],
    "input": ["-c", "input()"],
    "exit": ["-c", "import os; os._exit(3)"],
}


def comparable(text):
    """Removes ids and the texts that differ with a session."""
    text = re.sub(r"reckon: made session .*\n", "", text)
    text = re.sub(r"kernel_died: .*", "kernel_died", text)
    return re.sub(r"(ar|out)_[0-9a-f]+", r"\1_", text)


@pytest.mark.one_user
@pytest.mark.parametrize("args", ALIKE.values(), ids=ALIKE.keys())
def test_a_session_makes_no_difference(shared, session, args):
    alone = shared("run", "-t", "python", *args)
    with_session = shared("run", "-t", "python", "-s", session, *args)
    assert with_session.status == alone.status
    assert with_session.out == alone.out
    assert comparable(with_session.err) == comparable(alone.err)


def test_a_named_session_keeps_its_files_when_its_kernel_dies(shared, session):
    died = "open('f', 'w').write('kept'); import os; os._exit(3)"
    done = shared("run", "-s", session, "-c", died).expect(1)
    assert "files stay in the session" in done.err and "end with this command" not in done.err
    assert shared("run", "-s", session, "-c", "open('f').read()").expect(0).out == "'kept'\n"


def test_files_go_in_and_come_out_alike(shared, session):
    shared.file("in.csv", "a,b\n1,2\n")
    code = "open('out/r.txt', 'w').write(open('d/in.csv').read().upper()); None"
    make = "import os; os.mkdir('out')"
    for folder, more in (("alone", []), ("kept", ["-s", session])):
        shared("run", "-t", "python", *more, "-f", "in.csv:d/in.csv", "-o", folder, "-c", make,
               "-c", code).expect(0)
        assert (shared.cwd / folder / "out/r.txt").read_text() == "A,B\n1,2\n"


@pytest.mark.one_user
def test_json_completes_a_record_that_was_streamed(shared):
    """The `done` event omits output of more than 6 MiB; --json completes the record from the events."""
    done = shared("run", "-t", "python", "-s", "wide", "--max-output", "8M", "--json", "-c",
                  "print('x' * 7_000_000); 1").expect(0)
    shared("session", "rm", "wide").expect(0)
    [record] = done.lines()
    assert "streamed" not in record
    assert len(record["stdout"]) == 7_000_001
    assert record["results"][0]["data"]["text/plain"] == "1"


@pytest.mark.one_user
def test_records_and_events_are_those_of_a_run(shared, session):
    done = shared("run", "-s", session, "--json", "-c", "y = 1", "-c", "y + 1").expect(0)
    first, second = done.lines()
    for record in (first, second):
        record_validator().validate(record)
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert second["results"][0]["data"]["text/plain"] == "2"
    events = shared("run", "-s", session, "--events", "-c", "print(y); y").expect(0).lines()
    alone = shared("run", "-t", "python", "--events", "-c", "y = 1\nprint(y); y").lines()
    assert [(e["event"], e["seq"]) for e in events] == [(e["event"], e["seq"]) for e in alone]
    assert [sorted(e) for e in events] == [sorted(e) for e in alone]
    record_validator().validate(events[-1]["record"])


@pytest.mark.one_user
def test_max_text_and_receipt_go_with_each_run(shared, session):
    (record,) = shared("run", "-s", session, "--json", "--max-text", "2K", "-c",
                       "for i in range(9999): print(i)").expect(0).lines()
    assert len(record["text"]) <= 2048
    done = shared("run", "-s", session, "--receipt", "-c", "1").expect(0)
    assert "receipt of cell 1: ok" in done.err and "memory" in done.err


def test_run_creates_a_missing_session_and_reports_it(private):
    first = private("run", "-s", "new", "-t", "python", "-c", "x = [1]").expect(0)
    assert first.err == "reckon: made session new (reckon session rm new ends it)\n"
    second = private("run", "-s", "new", "-c", "x.append(2); x").expect(0)
    assert (second.out, second.err) == ("[1, 2]\n", "")


@pytest.mark.one_user
def test_fixed_options_may_be_repeated_but_not_changed(private):
    made = ["-t", "python", "-l", "python", "--memory", "512M", "--disk", "256M", "--pids", "64",
            "--cpus", "0.5", "--cpu-time", "20", "--max-output", "64K"]
    private("run", "-s", "x", *made, "-c", "1").expect(0)
    private("run", "-s", "x", *made, "-c", "1").expect(0)
    for option, value in (("template", "data"), ("memory", "1G"), ("disk", "1G"), ("pids", "65"), ("cpus", "1"), ("cpu-time", "21"),
                          ("max-output", "65K"), ("env", "A=1")):
        done = private("run", "-s", "x", f"--{option}", value, "-c", "print('ran')").expect(2)
        assert f"--{option} cannot be changed" in done.err and done.out == ""


def test_a_session_runs_cells_of_each_language(private):
    private("run", "-s", "both", "-t", "python", "-c", "x = 6").expect(0)
    done = private("run", "-s", "both", "-l", "bash", "-c", "N=7; echo $N > n", "-c", "echo $N")
    assert done.expect(0).out == "7\n"
    assert private("run", "-s", "both", "-l", "bash", "-c", "echo $N").expect(0).out == "7\n"
    assert private("run", "-s", "both", "-c", "x * int(open('n').read())").expect(0).out == "42\n"
    done = private("run", "-s", "both", "-l", "cobol", "-c", "1").expect(2)
    assert "cobol" in done.err and done.out == ""


@pytest.mark.one_user
@pytest.mark.parametrize("args", [["--mount", "."], ["--stdin", "-"], ["--strict"], ["--private"],
                                  ["--isolate-cpu", "core"]])
def test_options_that_cannot_be_used_with_a_session(reckon, args):
    done = reckon("run", "-s", "x", *args, "-c", "1").expect(2)
    assert f"{args[0]} cannot be used with -s" in done.err
    assert not daemons(reckon)


@pytest.mark.one_user
def test_input_is_checked_before_anything_is_made(reckon):
    for args in (["nofile.py"], ["-f", "nofile", "-c", "1"], ["--json", "--events", "-c", "1"],
                 ["--memory", "no", "-c", "1"]):
        reckon("run", "-s", "x", *args).expect(2)
    assert not daemons(reckon)
    assert "invalid session name" in reckon("run", "-s", "a/b", "-c", "1").expect(2).err
    assert "need -s" in reckon("run", "--url", "http://x", "-c", "1").expect(2).err


def test_ctrl_c_stops_the_cell_and_keeps_the_variables(shared, session):
    shared("run", "-s", session, "-c", "kept = 7").expect(0)
    code = "print('go', flush=True)\nimport time; time.sleep(600)"
    with shared.start("run", "-s", session, "--timeout", "500", "-c", code) as process:
        assert process.stdout.readline() == b"go\n"
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1 and b"interrupted on request" in err
    assert shared("run", "-s", session, "-c", "kept").expect(0).out == "7\n"


def test_a_second_ctrl_c_detaches_from_the_session(shared, session):
    code = ("import signal, time\nsignal.signal(signal.SIGINT, lambda *_: print('no', flush=True))\n"
            "print('go', flush=True)\nwhile True: time.sleep(1)")
    with shared.start("run", "-s", session, "--timeout", "500", "-c", code) as process:
        assert process.stdout.readline() == b"go\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == b"no\n"
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130 and f"left session {session}".encode() in err


def test_on_disconnect_decides_about_the_cell_of_a_killed_client(shared, session):
    """After kill -9 the cell continues, or is interrupted with --on-disconnect cancel."""
    code = "print('go', flush=True)\nimport time; time.sleep({})\nprint('whole')"
    for wanted, seconds, status in (([], 1, "ok"), (["--on-disconnect", "continue"], 1, "ok"),
                                    (["--on-disconnect", "cancel"], 300, "interrupted")):
        with shared.start("run", "-s", session, "--timeout", "500", *wanted, "-c",
                          code.format(seconds)) as process:
            assert process.stdout.readline() == b"go\n"
            os.kill(process.pid, signal.SIGKILL)
            process.wait(SECONDS)

        def last():
            return parse_json(shared("logs", "-s", session, "-n", "1", "--json").stdout)[-1]
        eventually(lambda: last()["status"] not in ("queued", "running"))
        assert last()["status"] == status
    done = shared("logs", "-s", session, last()["id"], "--json").expect(0)
    assert "client_gone" in done.out
    for args in (["-c", "1"], ["-s", session, "-c", "1"]):
        done = shared("run", "--on-disconnect", "cancel" if "-s" not in args else "stop", *args)
        assert done.status == 2 and "--on-disconnect" in done.err


def test_ctrl_c_of_a_waiting_client_does_not_stop_another_cell(shared, session):
    first = ("print('go', flush=True)\nimport os, time\n"
             "while not os.path.exists('stop'): time.sleep(0.05)\nprint('ended')")
    with shared.start("run", "-s", session, "--timeout", "500", "-c", first) as running:
        assert running.stdout.readline() == b"go\n"
        with shared.start("run", "-s", session, "-c", "print('late')") as waiting:
            assert b"is busy" in waiting.stderr.readline()
            eventually(lambda: len(parse_json(shared("logs", "-s", session, "--json").stdout)) == 2)
            os.kill(waiting.pid, signal.SIGINT)
            assert b"waits for its turn" in waiting.stderr.readline()
            os.kill(waiting.pid, signal.SIGINT)
            assert waiting.wait(SECONDS) == 130
        assert running.poll() is None
        os.kill(running.pid, signal.SIGINT)
        running.communicate(timeout=SECONDS)
        assert running.returncode == 1


def test_a_closed_stdout_ends_the_command(shared, session):
    with shared.start("run", "-s", session, "-c", "while True: print('x' * 999)") as process:
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(SECONDS) == 141


# ---- files and logs -------------------------------------------------------------------------

def test_files_and_folders_go_both_ways(shared, session):
    tree = {"up/a.txt": b"a", "up/d/e/f.bin": bytes(range(256)) * 5000, "up/ü b?#%.txt": b"u"}
    for name, content in tree.items():
        (shared.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        shared.user.own((shared.cwd / name).parent)
        shared.file(name, content)
    shared("files", "put", "-s", session, "up").expect(0)
    listed = parse_json(shared("files", "ls", "-s", session, "--json").expect(0).stdout)
    assert {one["path"]: one["size"] for one in listed} == {n: len(c) for n, c in tree.items()}
    shared("files", "get", "-s", session, "up", "-o", "down").expect(0)
    for name, content in tree.items():
        assert (shared.cwd / "down" / name).read_bytes() == content
    assert "already exists" in shared("files", "get", "-s", session, "up", "-o",
                                        "down").expect(2).err
    shared("files", "get", "-f", "-s", session, "up", "-o", "down").expect(0)
    assert shared("files", "get", "-s", session, "up/a.txt", "-o", "-").expect(0).stdout == b"a"
    shared("files", "get", "-s", session, "up/a.txt", "-o", "named").expect(0)
    assert (shared.cwd / "named").read_bytes() == b"a"
    # A file is saved under its last part: in the current, an existing and a new folder.
    shared("files", "get", "-s", session, "up/a.txt").expect(0)
    shared("files", "get", "-s", session, "up/a.txt", "-o", "down").expect(0)
    shared("files", "get", "-s", session, "up/a.txt", "up/d", "-o", "new/").expect(0)
    for path in ("a.txt", "down/a.txt", "new/a.txt"):
        assert (shared.cwd / path).read_bytes() == b"a"
    assert (shared.cwd / "new/d/e/f.bin").read_bytes() == tree["up/d/e/f.bin"]
    assert "already exists" in shared("files", "get", "-s", session, "up/a.txt").expect(2).err
    shared("files", "rm", "-s", session, "up").expect(0)
    assert shared("files", "ls", "-s", session).expect(0).out == ""
    shutil.rmtree(shared.cwd / "up")
    shutil.rmtree(shared.cwd / "down")


LONG = "n" * 200


def test_a_folder_keeps_links_modes_and_empty_entries(shared, session):
    """put and get transfer one archive; links that lead out of the folder are reported and left out."""
    top = shared.cwd / "tree"
    (top / "empty" / LONG).mkdir(parents=True)
    (top / "sub").mkdir()
    (top / "sub" / f"{LONG}.txt").write_bytes(b"long" * 300)
    (top / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (top / "zero").write_bytes(b"")
    (top / "here").symlink_to("run.sh")
    (top / "sub" / "up").symlink_to("../run.sh")
    (top / "sub" / "far").symlink_to(f"{LONG}.txt")
    (top / "out").symlink_to("../../etc/passwd")
    (top / "rooted").symlink_to("/etc/passwd")
    os.mkfifo(top / "pipe")
    (top / "run.sh").chmod(0o750)
    (top / "zero").chmod(0o640)
    (top / "sub").chmod(0o750)
    os.utime(top / "zero", (10**9, 10**9))
    for folder, names, files in os.walk(top):
        for name in [".", *names, *files]:
            if shared.user.uid:
                os.lchown(os.path.join(folder, name), shared.user.uid, shared.user.uid)
    done = shared("files", "put", "-s", session, "tree").expect(0)
    for name in ("out", "rooted", "pipe"):
        assert f"tree/{name} " in done.err, done.err
    printed = shared("run", "-s", session, "-c", "import os, subprocess\n"
                     "print(os.readlink('tree/here'), os.readlink('tree/sub/up'), "
                     "oct(os.stat('tree/run.sh').st_mode), os.listdir('tree/empty'),"
                     "subprocess.run(['sh', 'tree/sub/up'], capture_output=True, text=True).stdout)\n"
                     "os.symlink('zero', 'tree/made'); os.symlink('/etc/passwd', 'tree/bad')\n"
                     "os.chmod('tree/sub', 0o500)").expect(0)
    assert printed.out.split() == ["run.sh", "../run.sh", "0o100750", f"['{LONG}']", "ran"]
    done = shared("files", "get", "-s", session, "tree", "-o", "back").expect(0)
    assert "1 left out: links that lead out" in done.err
    back = shared.cwd / "back" / "tree"
    assert sorted(path.relative_to(back).as_posix() for path in back.rglob("*")) == sorted(
        ["empty", f"empty/{LONG}", "sub", f"sub/{LONG}.txt", "sub/up", "sub/far", "run.sh", "zero",
         "here", "made"])
    assert (back / f"sub/{LONG}.txt").read_bytes() == b"long" * 300
    assert os.readlink(back / "made") == "zero" and os.readlink(back / "sub/up") == "../run.sh"
    assert os.readlink(back / "sub/far") == f"{LONG}.txt"
    mask = 0o022
    assert (back / "run.sh").stat().st_mode & 0o777 == 0o750 & ~mask
    assert (back / "zero").stat().st_mode & 0o777 == 0o640
    assert (back / "sub").stat().st_mode & 0o777 == 0o500
    assert (back / "zero").stat().st_mtime == 10**9
    # Without -f, existing files stay unchanged; -f replaces a link itself.
    (back / "run.sh").write_text("mine")
    (back / "here").unlink()
    (back / "here").symlink_to("zero")
    assert "already exists" in shared("files", "get", "-s", session, "tree", "-o",
                                        "back").expect(2).err
    assert (back / "run.sh").read_text() == "mine"
    (back / "sub").chmod(0o700)
    shared("files", "get", "-f", "-s", session, "tree", "-o", "back").expect(0)
    assert (back / "run.sh").read_text().startswith("#!") and os.readlink(back / "here") == "run.sh"
    # The whole workspace.
    shared("files", "get", "-s", session, ".", "-o", "all").expect(0)
    assert os.readlink(shared.cwd / "all/tree/here") == "run.sh"



def test_missing_and_invalid_files_are_errors(shared, session):
    assert "no such file" in shared("files", "get", "-s", session, "x").expect(2).err
    assert "no file x" in shared("files", "rm", "-s", session, "x").expect(2).err
    assert "invalid file name" in shared("files", "rm", "-s", session, ".").expect(2).err
    assert "there is no session named nope" in shared("files", "ls", "-s", "nope").expect(2).err
    for name in ("..", "../..", "../executions", "a/../..", "./x", "/x", "a//b"):
        for verb in ("rm", "get"):
            shared("files", verb, "-s", session, name).expect(2)
    shared("run", "-s", session, "-c", "1").expect(0)
    assert "missing argument FILE" in shared("files", "get", "-s", session).expect(2).err


def test_an_upload_beyond_the_workspace_is_refused(private):
    private("session", "create", "small", "-t", "python", "--disk", "2M").expect(0)
    private.file("big", b"\0" * (3 << 20))
    done = private("files", "put", "-s", "small", "big").expect(2)
    assert "big" in done.err
    assert private("files", "ls", "-s", "small").expect(0).out == ""


@pytest.mark.one_user
def test_logs_list_executions_also_of_a_removed_session(shared, session):
    shared("run", "-s", session, "--keep-going", "-c", "print('one')", "-c", "1/0", "-c",
           "# \x1b[31mred\nfirst = 1").expect(1)
    rows = shared("logs", "-s", session).expect(0).out.splitlines()
    assert rows[0].split()[:2] == ["#", "STATUS"]
    assert [row.split()[:2] for row in rows[1:]] == [["1", "ok"], ["2", "error"], ["3", "ok"]]
    assert "print('one')" in rows[1] and "\x1b" not in rows[3]
    assert shared("logs", "-s", session, "1").expect(0).out == "one\n"
    assert "ZeroDivisionError" in shared("logs", "-s", session, "2").expect(0).out
    record = parse_json(shared("logs", "-s", session, "--json", "2").expect(0).stdout)
    assert record["status"] == "error"
    assert shared("logs", "-s", session, record["id"]).expect(0).out
    assert "no execution 9" in shared("logs", "-s", session, "9").expect(2).err
    assert len(parse_json(shared("logs", "-s", session, "-n", "2", "--json").stdout)) == 2
    shared("session", "rm", session).expect(0)
    assert len(shared("logs", "-s", session).expect(0).out.splitlines()) == 4
    shared("session", "create", session, "-t", "python").expect(0)


@pytest.mark.one_user
def test_follow_shows_each_execution_once_after_its_end(shared, session):
    with shared.start("logs", "-s", session, "--follow") as process:
        shared("run", "-s", session, "-c", "print(1)", "-c", "2").expect(0)
        lines = [process.stdout.readline() for _ in range(2)]
        while not lines[-1].split()[:1] == [b"2"]:
            lines.append(process.stdout.readline())
        assert sum(line.split()[:2] == [b"1", b"ok"] for line in lines) == 1


@pytest.mark.one_user
def test_truncated_output_can_be_read_locally_and_from_the_server(reckon):
    with Server(reckon) as server:
        env = where(server)
        (record,) = reckon("run", "-s", "x", "-t", "python", "--json", "--max-text", "1K", "-c",
                           "for i in range(400_000): print(i)", env=env).expect(0).lines()
        handle = record["truncated"]["stdout"]["handle"]
        url = ["--url", env["RECKON_URL"]]
        remote_tail = reckon("output", *url, "--tail", "2", handle, env=env).expect(0).out
        assert remote_tail == "399998\n399999\n"
        assert reckon("output", *url, "--range", "2-3", handle, env=env).expect(0).out == "1\n"
        reckon("output", *url, handle, "-o", "all.txt", env=env).expect(0)
        assert (reckon.cwd / "all.txt").read_text().splitlines() == list(map(str, range(400_000)))
        assert reckon("output", *url, "out_" + "0" * 32, env=env).expect(2).out == ""
        assert reckon("output", "--tail", "2", handle).expect(0).out == remote_tail  # the same store
        reckon("run", "-s", "x", "-c", "open('f', 'w').write('kept'); None", env=env).expect(0)
        (record,) = reckon("run", "-s", "x", "--json", "-c", "open('g', 'w').write('kept'); None",
                           env=env).expect(0).lines()
        artifact = record["files"][0]["artifact"]
        assert reckon("artifact", *url, artifact, env=env).expect(0).out == "kept"


# ---- the end of a session -------------------------------------------------------------------

def test_the_end_of_a_session_is_reported(shared, session):
    done = shared("run", "-s", session, "-c", "import os; os._exit(1)").expect(1)
    assert done.status == 1
    assert "no kernel" in shared("session", "ls").expect(0).out
    done = shared("run", "-s", session, "-c", "2").expect(0)
    assert done.out == "2\n" and "fresh kernel" in done.err
    shared("session", "rm", session).expect(0)
    done = shared("session", "rm", session).expect(125)
    assert f"session {session} is" in done.err
    shown = shared("session", "show", session).expect(0).out
    assert re.search(r"^status +(closed|lost)$", shown, re.M) and re.search(r"^why +\w", shown, re.M)
    identity = parse_json(shared("session", "show", session, "--json").stdout)["id"]
    assert "its variables and files are gone" in shared("run", "-s", identity, "-c",
                                                        "1").expect(125).err


def test_a_session_has_one_status(shared, session):
    """`ls`, `show` and the API have one word for the same state."""
    def shown(*args):
        return shared("session", *args).expect(0).out

    rows = parse_json(shared("session", "ls", "--json").expect(0).stdout)
    (row,) = [row for row in rows if row["name"] == session]
    assert row["status"] == "live"
    assert re.search(rf"^{session} +live ", shown("ls"), re.M)
    assert re.search(r"^status +live$", shown("show", session), re.M)
    with shared.start("run", "-s", session, "-c", "print('go', flush=True)\nimport time; time.sleep(600)") as process:
        assert process.stdout.readline() == b"go\n"
        assert re.search(rf"^{session} +busy ", shown("ls"), re.M)
        assert re.search(r"^status +busy$", shown("show", session), re.M)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)


@pytest.mark.one_user
def test_shells_complete_names_of_sessions_and_templates(shared, session):
    """bash completes the names; --quiet prints names alone, for loops of a shell."""
    assert session in shared("session", "ls", "--quiet").expect(0).out.splitlines()
    templates = shared("template", "ls", "-q").expect(0).out.splitlines()
    assert "python" in templates and "NAME" not in templates
    script = shared("--completion", "bash").expect(0).out + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reckon; echo "${COMPREPLY[*]}"; }
"""
    for words in (("run", "-s"), ("files", "get", "-s"), ("session", "rm"), ("exec", "--session")):
        probe = script + f"complete_words reckon {' '.join(words)} {session[:-1]}"
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True,
                              env={**shared.env, "PATH": f"{shared.place.program.parent}:/usr/bin:/bin"},
                              **shared.user.switch)
        assert session in done.stdout.split(), (words, done)
    probe = script + "complete_words reckon run -t pyth"
    done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True,
                          env={**shared.env, "PATH": f"{shared.place.program.parent}:/usr/bin:/bin"})
    assert done.stdout.split() == ["python"]
    for shell in ("zsh", "fish"):
        assert "reckon session ls --quiet" in shared("--completion", shell).expect(0).out


def test_restart_keeps_files_and_forgets_variables(shared, session):
    shared("run", "-s", session, "-c", "x = 1; open('f', 'w').close()").expect(0)
    assert shared("session", "restart", session).expect(0).out == ""
    assert shared("run", "-s", session, "-c", "'x' in globals(), __import__('os').listdir()"
                  ).expect(0).out == "(False, ['f'])\n"


def test_create_takes_limits_and_prints_the_name(private):
    assert private("session", "create", "n", "-t", "python", "--idle", "1h", "--memory", "256M",
                   "--env", "A=1", "--env", "A=2").expect(0).out == "n\n"
    assert private("run", "-s", "n", "-c", "import os; os.environ['A']").expect(0).out == "'2'\n"
    shown = parse_json(private("session", "show", "n", "--json").expect(0).stdout)
    assert shown["idle_timeout_s"] == 3600 and shown["limits"]["memory_bytes"] == 256 << 20
    assert re.fullmatch(r"se_\w{26}\n", private("session", "create", "-t", "python").out)
    assert "already exists" in private("session", "create", "n").expect(2).err
    for args in (["se_x"], ["a", "b"], ["--idle", "0"], ["--idle", "9999h"], ["a/b"]):
        private("session", "create", *args).expect(2)
    assert "there are 2 sessions" in private("files", "ls").expect(2).err


# ---- invalid and broken servers -------------------------------------------------------------

class Fake:
    """Accepts connections, reads a head, and answers each with the next of `answers`."""

    def __init__(self, *answers):
        self.answers, self.heads = answers, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(SECONDS)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def serve(self):
        number = 0
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                answer = self.answers[min(number, len(self.answers) - 1)]
                number += 1
                with connection, contextlib.suppress(OSError):
                    self.answer(connection, answer)

    def answer(self, connection, answer):
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = connection.recv(65536)
            if not chunk:
                return
            head += chunk
        self.heads.append(head)
        for piece in answer() if callable(answer) else [answer]:
            connection.sendall(piece)


def http(status, body, kind="application/json", more=""):
    body = body if isinstance(body, bytes) else body.encode()
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\n{more}\r\n").encode() + body


def endless_body():
    yield b"HTTP/1.1 500 X\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    for _ in range(300):
        yield b" " * 65536


ODD = {
    "html": (http(200, "<html>hi</html>", "text/html"), "not an answer of Reckon's"),
    "html 404": (http(404, "<html>no</html>", "text/html"), "answered 404 with text/html"),
    "no json": (http(200, "{"), "not JSON"),
    "another's error": (http(403, '{"detail": "no"}'), "answered 403 with application/json"),
    "gateway": (http(502, "bad gateway", "text/plain"), "try again"),
    "redirect": (http(302, "", more="Location: http://127.0.0.1:1/\r\n"), "answered 302"),
    "garbage": (b"SSH-2.0-OpenSSH_9.2\r\n", "is that a Reckon daemon?"),
    "nothing": (b"", "closed the connection"),
    "cut": (http(200, '{"sessions": []}')[:-3], "closed the connection"),
    "endless": (endless_body, "answered 500"),
    "endless head": (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 2_000_000, ""),
}


@pytest.mark.one_user
@pytest.mark.parametrize("answer, words", ODD.values(), ids=ODD.keys())
def test_a_server_that_is_not_reckon_is_an_error(reckon, answer, words):
    key = "rk_THEKEYTHATISSECRET"
    with Fake(answer) as fake:
        env = {"RECKON_URL": fake.url, "RECKON_API_KEY": key}
        for command in (["session", "ls"], ["run", "-s", "x", "-c", "1"]):
            done = reckon(*command, env=env).expect(125)
            assert words in done.err and done.out == "" and done.err.count("\n") == 1
            assert key not in done.err
        assert all(f"Bearer {key}".encode() in head for head in fake.heads)


def busy(retry_s):
    error = {"code": "overloaded", "message": "no room", "cause": None, "remedy": None}
    return http(503, json.dumps({"error": error}), more=f"Retry-After: {retry_s}\r\n")


@pytest.mark.one_user
def test_an_overloaded_server_is_retried_after_its_delay(reckon):
    nothing = http(200, json.dumps({"sessions": [], "next": None}))
    with Fake(busy(1), busy(1), nothing) as fake:
        done = reckon("session", "ls", env={"RECKON_URL": fake.url}).expect(0)
    assert len(fake.heads) == 3
    assert done.err.count("no room") == done.err.count("--no-wait") == 1
    for options, retry_s in ((["--no-wait"], 1), ([], 61)):
        with Fake(busy(retry_s), nothing) as fake:
            done = reckon("session", "ls", *options, env={"RECKON_URL": fake.url}).expect(125)
        assert len(fake.heads) == 1 and done.err.count("\n") == 1 and "no room" in done.err


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_requests_over_the_rate_of_a_tenant_are_retried(reckon):
    with Server(reckon) as server:
        _, key = server.newcomer("slow", requests_per_s=1)
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": key}
        run = ["run", "-s", "n", "-t", "python", "-c", "print(6*7)"]
        done = reckon(*run, env=env).expect(0)
        assert done.out == "42\n"
        assert done.err.count("--no-wait") == 1 and "requests_per_s" in done.err
        (reckon.work / "f.txt").write_text("x" * 1000)
        reckon("files", "put", str(reckon.work / "f.txt"), "-s", "n", env=env).expect(0)
        assert reckon("files", "ls", "-s", "n", env=env).expect(0).out.count("f.txt") == 1
        assert "requests_per_s" in reckon(*run, "--no-wait", env=env).expect(125).err


@pytest.mark.one_user
def test_control_characters_of_a_server_do_not_reach_the_terminal(reckon):
    evil = json.dumps({"error": {"code": "x\x1b[2J", "message": "\x1b]0;t\x07gone\nforged: line",
                                 "cause": None, "remedy": "\x1b[31m\r"}})
    with Fake(http(410, evil)) as fake:
        done = reckon("session", "ls", env={"RECKON_URL": fake.url}).expect(125)
    assert done.err.count("\n") == 1 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.err)


@pytest.mark.one_user
def test_pages_of_a_list_are_joined(reckon):
    session = {"sessions": [{"id": "se_1", "name": "x", "status": "live"}], "next": None}
    first = {"files": [{"path": "a", "kind": "folder"}, {"path": "a/b", "kind": "file", "size": 1}],
             "next": "c 1"}
    second = {"files": [{"path": "c", "size": 2}], "next": None}
    answers = [http(200, json.dumps(page)) for page in (session, first, second)]
    with Fake(*answers) as fake:
        done = reckon("files", "ls", "-s", "x", "--json", env={"RECKON_URL": fake.url}).expect(0)
    assert [one["path"] for one in parse_json(done.stdout)] == ["a/b", "c"]
    assert b"GET /reckon/v1/sessions/se_1/files?cursor=c%201 " in fake.heads[2]


ONE_SESSION = http(200, json.dumps({"sessions": [{"id": "se_1", "name": "x", "status": "live"}],
                                    "next": None}))


@pytest.mark.one_user
def test_files_are_transferred_one_by_one_without_archives(reckon):
    missing = http(404, json.dumps({"error": {"code": "not_found", "message": "no such path"}}))
    listed = http(200, json.dumps({"files": [{"path": "a", "kind": "folder"},
                                             {"path": "a/b", "kind": "file", "size": 1}],
                                   "next": None}))
    with Fake(ONE_SESSION, missing, listed, http(200, b"", "text/plain")) as fake:
        reckon("files", "get", "-s", "x", "a", "-o", "to/",
               env={"RECKON_URL": fake.url}).expect(0)
    assert (reckon.cwd / "to/a/b").read_bytes() == b""
    with Fake(ONE_SESSION, missing, http(200, "{}")) as fake:
        reckon("files", "put", "-s", "x", "to/a", env={"RECKON_URL": fake.url}).expect(0)
    assert [head.split(b" ")[:2] for head in fake.heads[1:]] == [
        [b"PUT", b"/reckon/v1/sessions/se_1/archive?path=a"],
        [b"PUT", b"/reckon/v1/sessions/se_1/files/a/b"]]


def archive_of(*entries):
    """A tar of (name, kind, bytes or target)."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o4777
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            else:
                info.linkname = content
                tar.addfile(info)
    return file.getvalue()


FILE, FOLDER, LINK = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
GOOD = archive_of(("f", FILE, b"good"), ("n" * 150, FILE, b"long"))
HOSTILE = {
    "climbs": archive_of(("good", FILE, b""), ("../evil", FILE, b"x")),
    "absolute": archive_of(("/tmp/evil", FILE, b"x")),
    "climbs late": archive_of(("a/../../evil", FILE, b"x")),
    "link out": archive_of(("good", FILE, b""), ("l", LINK, "../..")),
    "link to root": archive_of(("l", LINK, "/")),
    "link out from below": archive_of(("d", FOLDER, ""), ("d/l", LINK, "../../x")),
    "link out by a long name": archive_of(("l", LINK, "../" * 60 + "x")),
    "through a link": archive_of(("d", FOLDER, ""), ("l", LINK, "d"), ("l/evil", FILE, b"x")),
    "control": archive_of(("e\x1b[2J", FILE, b"x")),
    "sum": b"x" + GOOD[1:],
    "cut in a file": GOOD[:600],
    "cut at a head": GOOD[:1024],
    "no archive": b"<html>" * 200,
    "empty": b"",
    "endless extra": GOOD[:1024] + tarfile.TarInfo("x").tobuf()[:156] + b"x" + bytes(355),
}


@pytest.mark.parametrize("archive", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_archives_create_nothing_outside(reckon, archive):
    place = reckon.cwd / "deep" / "to"
    with Fake(ONE_SESSION, http(200, archive, "application/x-tar")) as fake:
        done = reckon("files", "get", "-s", "x", "a", "-o", "deep/to/",
                      env={"RECKON_URL": fake.url}).expect(2, 125)
    assert done.err.count("\n") == 1 and "\x1b" not in done.err
    found = {path.name for path in reckon.cwd.rglob("*")}
    assert not {name for name in found if "evil" in name} and not os.path.lexists("/tmp/evil")
    assert found <= {"deep", "to", "a", "d", "l"}
    # Only "through a link" is detected late; the other archives create nothing at all.
    assert archive == HOSTILE["through a link"] or not list(place.iterdir())


@pytest.mark.one_user
def test_wrong_addresses_are_refused_before_anything_is_sent(reckon):
    for url in ("127.0.0.1:1", "ftp://x", "http://", "http://h:0", "http://u:geheim@h", "unix:x",
                "http://h/\r\nX: y", "http://h?x"):
        done = reckon("session", "ls", "--url", url).expect(2)
        assert "write http://HOST:PORT" in done.err and "geheim" not in done.err


@pytest.mark.one_user
def test_a_failed_connection_is_reported_with_a_suggestion(reckon):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = reckon("session", "ls", "--url", f"http://127.0.0.1:{port}").expect(125)
    assert "cannot connect" in done.err and "reckon serve" in done.err
    done = reckon("session", "ls", "--url", f"unix:{reckon.work}/none.sock").expect(125)
    assert "cannot connect" in done.err
    done = reckon("session", "ls", "--url", "http://no-such-host.invalid").expect(125)
    assert "the name is not known" in done.err


@pytest.mark.one_user
def test_a_wrong_key_is_an_error_and_never_shown(reckon):
    with Server(reckon) as server:
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}"}
        done = reckon("session", "ls", env=env).expect(125)
        assert "an API key is needed" in done.err
        done = reckon("session", "ls", env={**env, "RECKON_API_KEY": "rk_wrong"}).expect(125)
        assert "rk_wrong" not in done.err and "key" in done.err
        done = reckon("session", "ls", env={**env, "RECKON_API_KEY": "rk\r\nX: y"}).expect(2)
        assert "no key has" in done.err
        done = reckon("session", "ls", "--key", server.key, env=env).expect(0)
        assert "list of processes" in done.err and server.key not in done.err


@pytest.mark.one_user
def test_a_key_is_removed_from_the_process_arguments(reckon):
    started = threading.Event()

    def hang():
        started.set()
        time.sleep(1)
        yield http(401, "{}")

    with Fake(hang) as fake, reckon.start("session", "ls", "--url", fake.url, "--key=rk_hidden",
                                          stderr=subprocess.DEVNULL) as process:
        assert started.wait(SECONDS)
        words = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"session" in words and b"rk_hidden" not in words
        assert b"rk_hidden" in fake.heads[0]


@pytest.mark.one_user
def test_code_that_looks_like_the_key_option_runs(private):
    private("run", "-s", "x", "-t", "python", "-c", "'--key=5'").expect(0)
    done = private("run", "-s", "x", "-c", "--5").expect(0)
    assert done.out == "5\n" and "list of processes" not in done.err


# ---- connections that break -----------------------------------------------------------------

class Breaking:
    """A proxy of a daemon that cuts each event stream after the next number of bytes in `cuts`."""

    def __init__(self, port, cuts):
        self.target, self.cuts = port, list(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests = []

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        with connection, socket.create_connection(("127.0.0.1", self.target)) as upstream:
            threading.Thread(target=self.copy_in, args=(connection, upstream), daemon=True).start()
            self.copy_out(connection, upstream)
            # Shut down first: close() does not end the read of the other thread.
            for end in (connection, upstream):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def copy_in(self, connection, upstream):
        with contextlib.suppress(OSError):
            while chunk := connection.recv(65536):
                self.requests.append(chunk)
                upstream.sendall(chunk)
            upstream.shutdown(socket.SHUT_WR)

    def copy_out(self, connection, upstream):
        sent, limit = 0, None
        with contextlib.suppress(OSError):
            while chunk := upstream.recv(512):
                if b"text/event-stream" in chunk and self.cuts:
                    sent, limit = 0, self.cuts.pop(0)
                if limit is not None and sent + len(chunk) >= limit:
                    connection.sendall(chunk[:limit - sent])
                    return
                connection.sendall(chunk)
                sent += len(chunk)


@pytest.mark.one_user
@pytest.mark.parametrize("cuts", [[1500], [300, 700, 1900, 350], [400] * 5],
                         ids=["once", "often", "again and again"])
def test_a_broken_stream_resumes_where_it_broke(reckon, cuts):
    with Server(reckon) as server, Breaking(server.port, cuts) as broken:
        env = {"RECKON_URL": f"http://127.0.0.1:{broken.port}", "RECKON_API_KEY": server.key}
        code = ("import time\nn = globals().get('n', 0) + 1\n"
                "for i in range(60):\n    print(i, flush=True); time.sleep(0.005)\nn")
        done = reckon("run", "-s", "x", "-t", "python", "-c", code, env=env).expect(0)
        assert done.out == "".join(f"{i}\n" for i in range(60)) + "1\n"
        assert not broken.cuts
        assert any(b"Last-Event-ID" in request for request in broken.requests)


@pytest.mark.one_user
def test_a_request_whose_answer_was_lost_runs_once(reckon):
    """The client repeats the request with the same idempotency key, so it gets the same execution."""
    with Server(reckon) as server, Breaking(server.port, [1]) as broken:
        env = {"RECKON_URL": f"http://127.0.0.1:{broken.port}", "RECKON_API_KEY": server.key}
        code = "n = globals().get('n', 0) + 1; n"
        done = reckon("run", "-s", "x", "-t", "python", "-c", code, env=env).expect(0)
        assert done.out == "1\n"
        posts = [r for r in broken.requests if r.startswith(b"POST") and b"/executions" in r]
        keys = {re.search(rb"Idempotency-Key: (\S+)", post)[1] for post in posts}
        assert len(posts) == 2 and len(keys) == 1


# The client tries to reconnect for several seconds before it fails.
@pytest.mark.one_user
def test_a_server_that_dies_while_a_cell_runs_is_an_error(reckon):
    server = Server(reckon)
    server.start()
    code = "print('go', flush=True)\nimport time; time.sleep(600)"
    with reckon.start("run", "-s", "x", "-t", "python", "--timeout", "500", "-c", code,
                      env=where(server)) as process:
        assert process.stdout.readline() == b"go\n"
        server.stop(signal.SIGKILL)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 125
    assert b"the connection broke while the cell ran" in err


def test_a_private_daemon_that_dies_while_a_cell_runs_is_an_error(private):
    code = "print('go', flush=True)\nimport time; time.sleep(600)"
    with private.start("run", "-s", "x", "-t", "python", "--timeout", "500", "-c",
                       code) as process:
        assert process.stdout.readline() == b"go\n"
        end(private, signal.SIGKILL)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 125
    assert b"cannot connect to your private daemon" in err
    shown = private("session", "show", "x").expect(0).out
    assert re.search(r"^status +[\w ]+$", shown, re.M)


def test_a_session_that_is_removed_while_a_cell_runs_is_an_error(shared, session):
    code = "print('go', flush=True)\nimport time; time.sleep(600)"
    with shared.start("run", "-s", session, "--timeout", "500", "-c", code) as process:
        assert process.stdout.readline() == b"go\n"
        shared("session", "rm", session).expect(0)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode in (1, 125) and err


# ---- programs and help ----------------------------------------------------------------------

def test_only_the_client_links_libcurl(reckon):
    program = reckon.place.program
    assert b"libcurl" not in program.read_bytes()
    client = program.parent.parent / "libexec" / "reckon-client"
    assert b"libcurl" in client.read_bytes()
    assert reckon("doctor").status in (0, 1)
    done = subprocess.run([client], check=False, capture_output=True)
    assert done.returncode == 2


HELP = ["session", "session create", "session ls", "session show", "session rm",
        "session restart", "session pause", "session resume", "session restore", "daemon", "daemon status",
        "daemon stop", "files", "files ls", "files get", "files put", "files rm", "logs", "run"]


@pytest.mark.one_user
@pytest.mark.parametrize("command", HELP)
def test_help_is_one_screen(reckon, command):
    done = reckon(*command.split(), "--help").expect(0)
    lines = done.out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert lines[0].startswith(f"Usage: reckon {command}")


@pytest.mark.one_user
def test_typing_errors_get_suggestions(reckon):
    assert "reckon session create?" in reckon("session", "craete").expect(2).err
    assert "--memory?" in reckon("session", "create", "--memroy", "1G").expect(2).err
    assert reckon("help", "session", "ls").expect(0).out == reckon("session", "ls", "-h").out
    assert "reckon session ls?" in reckon("help", "session", "lss").expect(2).err
    assert "missing subcommand" in reckon("files").expect(2).err
    assert "missing argument SESSION" in reckon("session", "rm").expect(2).err


@pytest.mark.parametrize("as_user", ["rootless"], indirect=True)
@pytest.mark.parametrize("page, least", [("sessions", 11), ("volumes", 7), ("snapshots", 6)])
def test_the_commands_of_the_pages(private, page, least):
    """As an ordinary user; test_guides.py runs them as root."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    steps = [(command, shown)
             for block in re.findall(r"^```console\n(.*?)^```$", text, flags=re.M | re.S)
             for command, shown in STEP.findall(block)]
    assert len(steps) >= least
    for command, shown in steps:
        output = shell(private, command)
        assert matches(shown, output), f"$ {command}\n--- shown\n{shown}\n--- printed\n{output}"
