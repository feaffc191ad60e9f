"""What `reckon serve` persists: sessions, their files and their history across kill -9 and
restarts."""

import calendar
import io
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import tarfile
import threading
import time

import pytest
from reckon_serve import SECONDS, Server, wait_gone
from waiting import eventually

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)

MAKE = """
import os, pathlib, random
for name in ("deep/er/empty", "deep/mode"):
    os.makedirs(name)
os.chmod("deep/mode", 0o750)
open("text.txt", "w").write("hello\\n")
open("nothing", "w").close()
open("script.sh", "w").write("#!/bin/sh\\n"); os.chmod("script.sh", 0o755)
open("secret", "w").write("s"); os.chmod("secret", 0o400)
random.seed(7); open("deep/er/random.bin", "wb").write(random.randbytes(3_000_001))
with open("sparse", "wb") as f:
    f.seek(200_000_000); f.write(b"end")
os.symlink("text.txt", "link"); os.symlink("/etc/passwd", "deep/outside"); os.symlink("gone", "dangling")
os.link("text.txt", "zz_same"); os.mkfifo("pipe", 0o600)
open(b"raw-\\xff\\n name", "wb").write(b"bytes")
open("schön 🐟.txt", "w").write("é")
os.utime("text.txt", ns=(10**18, 10**18 + 123456789)); os.utime("deep/er/empty", (1000, 1000))
"""

LOOK = """
import hashlib, json, os, stat
def look():
    found = {}
    for top, dirs, files in os.walk(b"."):
        for name in dirs + files:
            path = os.path.join(top, name)
            st = os.lstat(path)
            entry = [stat.filemode(st.st_mode), st.st_uid]
            if stat.S_ISLNK(st.st_mode):
                entry.append(os.readlink(path).decode("latin-1"))
            elif stat.S_ISREG(st.st_mode):
                entry += [st.st_size, st.st_nlink, st.st_blocks < 20000,
                          hashlib.sha256(open(path, "rb").read()).hexdigest()]
            if not stat.S_ISLNK(st.st_mode):
                entry.append(st.st_mtime_ns)
            found[path.decode("latin-1")] = entry
    return found
print(json.dumps(look(), sort_keys=True))
"""


def look(server, session):
    record = server.execute(session, LOOK)
    assert record["status"] == "ok", record["error"]
    return json.loads(record["stdout"])


def diagnostics(record, code):
    return [each for each in record["diagnostics"] if each["code"] == code]


def crash(server):
    front = server.front()
    server.stop(signal.SIGKILL)
    wait_gone(front)
    server.start()


# ---- what is restored ----------------------------------------------------------------------------

def test_files_of_every_kind_are_restored(server):
    session = server.create(env={"COLOUR": "blue"}, limits={"wall_s": 20})
    record = server.execute(session, MAKE)
    assert record["status"] == "ok", record["error"]
    assert diagnostics(record, "files_not_kept") == []
    before = look(server, session)
    assert len(before) == 17
    crash(server)

    shown = server.ask("GET", f"/sessions/{session}").json
    assert (shown["status"], shown["kernel"]) == ("live", "lost") and "restored_at" not in shown
    assert look(server, session) == before
    shown = server.ask("GET", f"/sessions/{session}").json
    assert (shown["status"], shown["kernel"]) == ("live", "ready") and shown["restored_at"]
    assert shown["limits"] == {"wall_s": 20}
    assert server.execute(session, "import os\nprint(os.environ['COLOUR'])")["stdout"] == "blue\n"
    # A second crash also restores what the second box changed.
    server.execute(session, "os.remove('script.sh')\nopen('text.txt', 'a').write('more')")
    before = look(server, session)
    crash(server)
    assert look(server, session) == before


@pytest.mark.parametrize("kind", ["socket", "pipe", "folder"])
def test_pipes_sockets_and_folders_are_moved_but_not_read(server, kind):
    """Opening a pipe or connecting to a socket would block until its other side appears."""
    session = server.create()
    make = {"socket": "socket.socket(socket.AF_UNIX).bind('odd')", "pipe": "os.mkfifo('odd')",
            "folder": "os.mkdir('odd')"}[kind]
    record = server.execute(session, f"import os, socket\n{make}\nopen('plain', 'w').write('here')")
    assert record["status"] == "ok"
    at = f"/sessions/{session}/files"
    listed = {each["path"]: each["kind"] for each in server.ask("GET", at).json["files"]}
    assert listed["plain"] == "file" and listed.get("odd") != "file"
    for method, body in (("GET", None), ("HEAD", None), ("PUT", b"over it")):
        answer = server.ask(method, f"{at}/odd", body)
        assert 400 <= answer.status < 500, (method, answer)
    answer = server.ask("GET", f"/sessions/{session}/archive?format=tar")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
        assert "plain" in archive.getnames()
    assert server.ask("POST", f"{at}/move", {"from": "odd", "to": "odder"}).status == 200
    record = server.execute(session, "print(sorted(os.listdir()))")
    assert record["stdout"] == "['odder', 'plain']\n"
    crash(server)
    # A pipe and a folder are restored, a socket is not.
    record = server.execute(session, "import os\nprint(sorted(os.listdir()))")
    restored = [] if kind == "socket" else ["odder"]
    assert record["stdout"] == f"{[*restored, 'plain']}\n"
    if restored:
        assert server.ask("DELETE", f"{at}/odder").status == 200
    assert server.ask("GET", f"{at}/plain").body == b"here"


def test_the_next_cell_reports_lost_variables(server):
    session = server.create()
    first = server.execute(session, "alpha = 1\nbeta = [2]")
    assert {each["name"] for each in
            server.ask("GET", f"/sessions/{session}/variables").json["variables"]} >= {"alpha"}
    server.execute(session, "1")
    crash(server)
    record = server.execute(session, "alpha")
    assert record["status"] == "error" and record["error"]["name"] == "NameError"
    lost, = diagnostics(record, "kernel_lost")
    assert "crash" in lost["message"] and "started again" in lost["message"]
    assert {"alpha", "beta"} <= set(lost["detail"]["variables"])
    assert "alpha was a variable of a kernel that is gone" in record["error"]["hints"][0]
    assert record["error"]["hints"][0] in record["text"]
    assert record["sequence"] == 3 and record["session"] == session
    assert diagnostics(server.execute(session, "1"), "kernel_lost") == []
    path = f"/sessions/{session}/executions"
    assert server.ask("GET", f"{path}/{first['id']}").json == first
    assert [each["sequence"] for each in server.ask("GET", path).json["executions"]] == [4, 3, 2, 1]


def test_a_session_without_cells_reports_no_loss(server):
    session = server.create()
    assert server.ask("PUT", f"/sessions/{session}/files/a/b.txt", b"up").status in (200, 201)
    crash(server)
    assert server.ask("GET", f"/sessions/{session}").json["kernel"] == "ready"
    assert server.ask("GET", f"/sessions/{session}/files/a/b.txt").body == b"up"
    assert diagnostics(server.execute(session, "1"), "kernel_lost") == []


def test_uploads_and_deletes_are_persisted(server):
    session = server.create()
    for name in ("a", "b", "c"):
        server.ask("PUT", f"/sessions/{session}/files/{name}", name.encode() * 100)
    server.ask("DELETE", f"/sessions/{session}/files/b")
    server.ask("PUT", f"/sessions/{session}/files/c", b"other")
    crash(server)
    files = server.ask("GET", f"/sessions/{session}/files").json["files"]
    assert [each["path"] for each in files] == ["a", "c"]
    assert server.ask("GET", f"/sessions/{session}/files/c").body == b"other"


def test_a_graceful_stop_keeps_sessions(reckon):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "import mmap\nopen('m', 'wb').write(bytes(8192))\n"
                                "f = open('m', 'r+b')\nm = mmap.mmap(f.fileno(), 8192)\nm[0] = 1")
        assert server.execute(session, "m[1] = 2")["status"] == "ok"  # does not change the file's times
        assert server.stop() == 0
        server.start()
        assert server.ask("GET", f"/sessions/{session}").json["kernel"] == "lost"
        record = server.execute(session, "print(list(open('m', 'rb').read(3)))")
        assert record["stdout"] == "[1, 2, 0]\n"
        lost, = diagnostics(record, "kernel_lost")
        assert "was stopped at" in lost["message"]


def test_ended_sessions_stay_ended(reckon):
    with Server(reckon) as server:
        closed, idle, live = server.create(), server.create(idle_timeout_s=1), server.create()
        server.execute(live, "open('f', 'w').write('x')")
        server.ask("DELETE", f"/sessions/{closed}")
        eventually(lambda: server.ask("GET", f"/sessions/{idle}").status != 200)
        crash(server)
        for session, code, state in [(closed, "session_closed", 410),
                                     (idle, "session_expired", 410),
                                     ("se_" + "0" * 26, "session_not_found", 404)]:
            answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
            assert (answer.status, answer.code) == (state, code)
        assert server.execute(live, "print(open('f').read())")["stdout"] == "x\n"


def test_idle_time_counts_over_a_restart(reckon):
    with Server(reckon) as server:
        session = server.create(idle_timeout_s=3)
        other = server.create(idle_timeout_s=600)
        server.stop(signal.SIGKILL)
        time.sleep(3.2)
        server.start()
        deadline = time.monotonic() + SECONDS
        while (answer := server.ask("GET", f"/sessions/{session}")).status == 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert answer.code == "session_expired"
        assert server.execute(other, "1")["status"] == "ok"


# ---- running executions --------------------------------------------------------------------------

def test_running_executions_are_lost(server):
    session = server.create()
    path = f"/sessions/{session}/executions"
    server.execute(session, "open('before', 'w').write('b')")
    running = server.background(session, "import time\nopen('during', 'w').write('d')\n"
                                         "print('begun', flush=True)\ntime.sleep(100)")
    headers = {"Idempotency-Key": "k"}
    with server.events("GET", f"{path}/{running}/events") as (events, _):
        assert next(iter(events))[1] == "stream"
        queued = server.background(session, "1")
        crash(server)
    for execution in (running, queued):
        shown = server.ask("GET", f"{path}/{execution}").json
        assert shown["status"] == "lost" and "crash" in shown["why"]
    with server.events("GET", f"{path}/{running}/events",
                       headers={"Last-Event-ID": "1"}) as (events, _):
        (_, name, data), = events
    assert name == "failed" and data["error"]["code"] == "execution_lost"
    record = server.execute(session, "import os\nprint(sorted(os.listdir()))", headers)
    assert record["stdout"] == "['before']\n"  # the state after the last request that ended
    assert diagnostics(record, "kernel_lost")


def test_idempotency_key_gives_the_old_record(server):
    session = server.create()
    headers = {"Idempotency-Key": "once"}
    code = "open('n', 'a').write('x')\nprint('ran')"
    first = server.execute(session, code, headers)
    crash(server)
    assert server.execute(session, code, headers) == first
    assert server.execute(session, "print(open('n').read())")["stdout"] == "x\n"
    other = server.ask("POST", f"/sessions/{session}/executions", {"code": "2"}, headers)
    assert other.code == "idempotency_conflict"


# ---- files that cannot be restored ---------------------------------------------------------------

def objects(reckon):
    return {path.name: path for path in pathlib.Path(reckon.state, "artifacts").glob("??/*")}


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_workspace_is_unavailable_while_content_is_missing(reckon, harm):
    with Server(reckon) as server:
        session, other = server.create(), server.create()
        server.execute(session, "open('a', 'w').write('first')\nopen('b', 'w').write('second')\n"
                                "import os\nos.link('b', 'c')")
        server.execute(other, "open('c', 'w').write('third')")
        server.stop(signal.SIGKILL)
        victim, = [path for path in objects(reckon).values() if path.read_bytes() == b"second"]
        if harm == "missing":
            victim.unlink()
        else:
            victim.write_bytes(b"secxnd")
        server.start()
        for method, path, body in 2 * [("POST", "executions", {"code": "1"}), ("GET", "files/a", None),
                                       ("POST", "restore", {})]:
            answer = server.ask(method, f"/sessions/{session}/{path}", body)
            assert (answer.status, answer.code) == (503, "unavailable"), answer
            assert answer.headers["Retry-After"]
            message = answer.json["error"]["message"]
            assert "b could not be restored" in message and harm in message and "1 more" in message, message
            shown = server.ask("GET", f"/sessions/{session}").json
            assert shown["status"] == "live"
            assert shown["files_missing"]["count"] == 2, shown
            assert shown["files_missing"]["paths"] == ["b", "c"], shown
        assert server.execute(other, "print(open('c').read())")["stdout"] == "third\n"
        # Another session writes the same content, which completes the first workspace.
        server.execute(other, "open('again', 'w').write('second')")
        record = server.execute(session, "print(open('a').read(), open('b').read(), open('c').read())")
        assert record["stdout"] == "first second second\n"
        assert "files_missing" not in server.ask("GET", f"/sessions/{session}").json


@pytest.mark.parametrize("is_known", [True, False])
def test_restore_intact_drops_missing_files(reckon, is_known):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "open('a', 'w').write('first')\nopen('b', 'w').write('second')")
        server.stop(signal.SIGKILL)
        victim, = [path for path in objects(reckon).values() if path.read_bytes() == b"second"]
        victim.unlink()
        server.start()
        if is_known:
            assert server.ask("GET", f"/sessions/{session}/files/a").status == 503
        answer = server.ask("POST", f"/sessions/{session}/restore", {"intact": True})
        assert answer.status == 200, answer
        assert server.ask("GET", f"/sessions/{session}/files/a").body == b"first"
        record = server.execute(session, "import os\nprint(sorted(os.listdir()))")
        assert record["stdout"] == "['a']\n"
        lost, = diagnostics(record, "kernel_lost")
        assert "1 files are missing in the store" in lost["message"] and "b could" in lost["message"]
        assert "files_missing" not in server.ask("GET", f"/sessions/{session}").json
        # The missing file is given up, so the session also works after the next crash.
        crash(server)
        assert server.execute(session, "print(os.listdir() if 'os' in dir() else 1)")["stdout"] == "1\n"


@as_root
def test_session_restore_intact_command(reckon):
    with Server(reckon) as server:
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}
        session = server.create(name="tuesday")
        server.execute(session, "open('a', 'w').write('first')\nopen('b', 'w').write('second')")
        done = reckon("session", "restore", "tuesday", "--intact", env=env).expect(0)
        assert (done.out, done.err) == ("", "")  # the session has a box and misses nothing
        server.stop(signal.SIGKILL)
        victim, = [path for path in objects(reckon).values() if path.read_bytes() == b"second"]
        victim.unlink()
        server.start()
        env["RECKON_URL"] = f"http://127.0.0.1:{server.port}"
        for _ in range(2):
            before = time.monotonic()
            done = reckon("session", "restore", "tuesday", env=env).expect(125)
            assert time.monotonic() - before < 30  # the command does not wait for the missing content
            assert "b could not be restored" in done.err and "--intact" in done.err
        assert "files missing  1 (" in reckon("session", "show", "tuesday", env=env).expect(0).out
        reckon("session", "restore", "tuesday", "--intact", env=env).expect(0)
        assert "files missing" not in reckon("session", "show", "tuesday", env=env).expect(0).out
        done = reckon("run", "-s", "tuesday", "-c", "import os; print(os.listdir())", env=env)
        assert done.expect(0).out == "['a']\n"
        assert "no session named" in reckon("session", "restore", "nosuch", env=env).expect(2).err
        assert "missing argument SESSION" in reckon("session", "restore", env=env).expect(2).err


def test_many_sessions_are_restored_at_once(reckon):
    with Server(reckon) as server:
        sessions = [server.create() for _ in range(8)]
        for number, session in enumerate(sessions):
            server.execute(session, f"open('n', 'w').write('{number}')")
        crash(server)
        answers = {}

        def ask(number, session):
            answers[number] = server.execute(session, "print(open('n').read())")["stdout"]

        threads = [threading.Thread(target=ask, args=each, daemon=True)
                   for each in enumerate(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert answers == {number: f"{number}\n" for number in range(8)}


@as_root
def test_state_is_private_and_removed_with_the_session(reckon):
    with Server(reckon) as server:
        session = server.create(env={"TOKEN": "very-secret"})
        server.execute(session, "open('f', 'w').write('x' * 100)")
        for top, dirs, files in os.walk(reckon.state):
            for name in dirs + files:
                path = pathlib.Path(top, name)
                if "templates" not in path.parts and not path.is_symlink():
                    assert path.stat().st_mode & 0o077 == 0, path
        server.ask("DELETE", f"/sessions/{session}")
        server.stop()
        database = sqlite3.connect(pathlib.Path(reckon.state, "reckond.db"))
        assert database.execute("SELECT count(*) FROM kept").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM file").fetchone() == (0,)


# ---- a full disk --------------------------------------------------------------------------------

@pytest.fixture
def small_disk(reckon):
    """The state directory on a disk of 24 MiB."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=755", "tmpfs", reckon.state],
                   check=True)
    try:
        yield reckon
    finally:
        subprocess.run(["umount", "-l", reckon.state], check=True)


@as_root
def test_files_that_do_not_fit_on_the_disk_are_named(small_disk):
    with Server(small_disk) as server:
        session = server.create()
        record = server.execute(session, "open('small', 'w').write('s')\nimport random\n"
                                         "open('large', 'wb').write(random.randbytes(40 << 20))")
        assert record["status"] == "ok"
        note, = diagnostics(record, "files_not_kept")
        assert note["detail"] == {"count": 1} and "large" in note["message"]
        shown = server.ask("GET", f"/sessions/{session}").json
        assert shown["files_not_kept"]["count"] == 1 and "large" in shown["files_not_kept"]["why"]
        crash(server)
        record = server.execute(session, "import os\nprint(sorted(os.listdir()))")
        assert record["stdout"] == "['small']\n"
        lost, = diagnostics(record, "kernel_lost")
        assert "large" in lost["message"]
        assert "files_not_kept" not in server.ask("GET", f"/sessions/{session}").json


def fill(small_disk, room=700 << 10):
    """Fill the disk: the row of an execution still fits before it runs, a long record does not."""
    filler = small_disk.state / "filler"
    with open(filler, "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(1 << 16))
    os.truncate(filler, filler.stat().st_size - room)
    return filler


@as_root
def test_a_record_without_room_is_an_error(small_disk):
    with Server(small_disk) as server:
        session = server.create()
        server.execute(session, "open('f', 'w').write('before')")
        path = f"/sessions/{session}/executions"
        filler = fill(small_disk)
        answer = server.ask("POST", path, {"code": "print('x' * 900_000)\nx = 5"})
        assert (answer.status, answer.code) == (507, "disk_full"), (answer, server.log())
        newest = server.ask("GET", path).json["executions"][0]
        assert newest["status"] == "failed" and "could not be kept" in newest["why"]
        filler.unlink()
        # The kernel has run the code nevertheless.
        assert server.execute(session, "open('g', 'w').write('after')\nprint(x)")["stdout"] == "5\n"
        crash(server)
        record = server.execute(session, "print(open('f').read(), open('g').read())")
        assert record["stdout"] == "before after\n"


@as_root
def test_a_session_ends_if_its_first_record_does_not_fit(small_disk):
    with Server(small_disk) as server:
        before = server.create()
        filler = fill(small_disk)
        answer = server.ask("POST", "/executions", {
            "code": "print('x' * 900_000)", "template": "python", "keep": True})
        assert (answer.status, answer.code) == (507, "disk_full"), (answer, server.log())
        filler.unlink()
        eventually(lambda: [row["id"] for row in server.ask("GET", "/sessions").json["sessions"]
                            if row["status"] == "live"] == [before])


@as_root
@pytest.mark.parametrize("is_early", [True, False])
def test_code_of_an_unpersisted_session_harms_no_other_records(small_disk, is_early):
    with Server(small_disk) as server:
        session = server.create()
        if not is_early:  # as after a session of another language
            server.create(language="bash")
        filler = fill(small_disk, room=0)
        # The code starts while the session's row is written, and does not end when the write fails.
        refused = server.ask("POST", "/executions", {
            "template": "python", "code": "import time\nfor _ in range(20):\n"
                                          "    try: time.sleep(.1)\n    except: pass"})
        assert (refused.status, refused.code) == (507, "disk_full"), refused
        filler.unlink()
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            assert server.execute(session, "print(1)")["stdout"] == "1\n"
        eventually(lambda: [row["id"] for row in server.ask("GET", "/sessions").json["sessions"]
                            if row["status"] == "live"][-1:] == [session])
        assert "FOREIGN KEY" not in server.log()


# ---- boxes that are gone ------------------------------------------------------------------------

def test_sessions_survive_the_death_of_a_warden(server):
    requests = {"executions": ("POST", {"code": "1"}), "files/d/f": ("GET", None),
                "files/new": ("PUT", b"new"), "variables": ("GET", None),
                "contexts": ("POST", {"language": "python"}), "restart": ("POST", {}),
                "processes": ("POST", {"command": "true"}), "ports": ("GET", None)}
    sessions = {server.create(): path for path in requests}
    for session in sessions:
        server.execute(session, "import os\nos.mkdir('d')\nopen('d/f', 'w').write('kept')\nx = 1")
    for pid in wardens(server.reckon):
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    answers = {path: server.ask(requests[path][0], f"/sessions/{session}/{path}", requests[path][1])
               for session, path in sessions.items()}
    for path, answer in answers.items():
        assert answer.status < 300 or answer.status == 503 and answer.code == "unavailable" and \
            int(answer.headers["Retry-After"]) >= 1, (path, answer)
    for session in sessions:
        ask = {"code": "print(open('d/f').read())\nx"}
        answer = server.ask("POST", f"/sessions/{session}/executions", ask)
        if answer.status == 503:  # the first request after the death may fail, as above
            answer = server.ask("POST", f"/sessions/{session}/executions", ask)
        record = answer.json
        assert record["stdout"] == "kept\n" and record["error"]["name"] == "NameError", record
        assert server.ask("GET", f"/sessions/{session}").json["restored_at"]


def test_a_key_is_not_used_up_by_a_dead_warden(server):
    session = server.create()
    server.execute(session, "1")
    for pid in wardens(server.reckon):
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    path, headers = f"/sessions/{session}/executions", {"Idempotency-Key": "k"}
    assert server.ask("POST", path, {"code": "print(5)"}, headers).status == 503
    assert server.ask("POST", path, {"code": "print(5)"}, headers).json["stdout"] == "5\n"


def wardens(reckon):
    """The wardens of this module's user."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            program = pathlib.Path(os.readlink(entry / "exe")) if entry.name.isdigit() else None
            if program and program.name == "reckon-warden" and \
                    program.parent in reckon.place.program_dirs and \
                    entry.stat().st_uid == reckon.user.uid:
                found.append(int(entry.name))
        except OSError:
            continue
    assert found
    return found


# ---- expiry and limits ---------------------------------------------------------------------------

def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def expire(server, session):
    deadline = time.monotonic() + SECONDS
    while (answer := server.ask("GET", f"/sessions/{session}")).status == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer


def test_a_session_ends_when_its_time_is_over(reckon):
    with Server(reckon) as server:
        soon, never = server.create(expires_in_s=1.2), server.create(expires_in_s=1)
        later = server.create(expires_at=moment(3600))
        shown = server.ask("GET", f"/sessions/{later}").json["expires_at"]
        assert abs(calendar.timegm(time.strptime(shown[:19], "%Y-%m-%dT%H:%M:%S"))
                   - time.time() - 3600) < 60
        changed = server.ask("PATCH", f"/sessions/{never}", {"expires_at": None})
        assert changed.status == 200 and "expires_at" not in changed.json
        answer = expire(server, soon)
        assert answer.code == "session_expired" and "time" in answer.json["error"]["cause"]
        over = server.create(expires_in_s=2)
        server.stop(signal.SIGKILL)
        time.sleep(2.1)
        server.start()
        assert expire(server, over).code == "session_expired"
        assert server.ask("GET", f"/sessions/{never}").status == 200
        assert server.ask("GET", f"/sessions/{later}").json["expires_at"] == shown


@pytest.mark.parametrize("body", [
    {"expires_at": "tomorrow"}, {"expires_at": "2001-01-01T00:00:00Z"}, {"expires_in_s": 0},
    {"expires_at": "2030-13-01T00:00:00Z"}, {"expires_at": "9999-01-01T00:00:00Z"},
    {"expires_in_s": 5, "expires_at": "2030-01-01T00:00:00Z"}, {"expires_at": 5}])
def test_invalid_times(server, body):
    answer = server.ask("POST", "/sessions", {"template": "python", **body})
    assert (answer.status, answer.code) == (400, "invalid")
    assert "expires_" in answer.json["error"]["message"]


def test_limits_that_can_change(server):
    session = server.create()
    changed = server.ask("PATCH", f"/sessions/{session}", {"limits": {"wall_s": 0.5}})
    assert changed.json["limits"]["wall_s"] == 0.5
    assert server.execute(session, "while True: pass")["status"] == "timeout"
    answer = server.ask("PATCH", f"/sessions/{session}", {"limits": {"memory_bytes": 1 << 30}})
    assert (answer.status, answer.code) == (400, "invalid")
    assert "limits.memory_bytes" in answer.json["error"]["message"]
    crash(server)
    assert server.ask("GET", f"/sessions/{session}").json["limits"]["wall_s"] == 0.5
    assert server.execute(session, "while True: pass")["status"] == "timeout"
