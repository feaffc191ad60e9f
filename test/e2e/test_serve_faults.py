"""Faults of a machine that the daemon survives: no descriptors, a full disk, a broken database, a
clock that jumps.

Each fault is reported in one clear error, loses nothing that was persisted, and ends with its
cause.
"""
import contextlib
import copy
import os
import resource
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time

import pytest
from reckon_cli import ROOT
from reckon_serve import PREFIX, Server, parse_events
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
SECONDS = 30
IDLE = 10_000


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def few_descriptors(pid, more):
    """Let the process open only `more` descriptors in addition to those that it has."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid) + more, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


# ---- descriptors --------------------------------------------------------------------------------

def test_no_descriptors_for_sessions(reckon):
    with Server(reckon) as server:
        old = server.create()
        server.execute(old, "x = 6")
        with few_descriptors(server.process.pid, 3):
            answers = [server.ask("POST", path, body) for path, body in (
                ("/sessions", {"template": "python"}), ("/executions", {"code": "1"}),
                (f"/sessions/{old}/executions", {"code": "x"}),
                (f"/sessions/{old}/contexts", {"language": "python"}),
                (f"/sessions/{old}/processes", {"command": "true"}))]
            for answer in answers:
                assert (answer.status, answer.code) == (503, "overloaded"), answer
                assert "open files" in answer.json["error"]["message"]
                assert answer.headers["Retry-After"]
            ready = server.ask("GET", "/ready")
            assert (ready.status, ready.code) == (503, "not_ready"), ready
            assert "open files" in ready.json["error"]["message"]
            assert server.ask("GET", f"/sessions/{old}").status == 200
        assert server.ask("GET", "/ready").status == 200
        assert server.execute(old, "print(x * 7)")["stdout"] == "42\n"
        assert server.execute(server.create(), "print(1)")["stdout"] == "1\n"


def test_few_descriptors_for_connections(reckon):
    """A front with few descriptors accepts connections while it has two for each; clients that wait
    are served later."""
    (reckon.work / "runtime").mkdir(mode=0o700)
    limited = copy.copy(reckon)
    limited.place = copy.copy(reckon.place)
    limited.place.program = reckon.file("limited", "#!/bin/sh\nulimit -n 128\n"
                                        f'exec {reckon.place.program} "$@"\n')
    limited.place.program.chmod(0o755)
    # A warden of its own, which has the same limit unless it may raise it.
    limited.env = {**reckon.env, "XDG_RUNTIME_DIR": str(reckon.user.own(reckon.work / "runtime"))}
    with Server(limited) as server, contextlib.ExitStack() as stack:
        front = server.front()
        waiting = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))
                   for _ in range(200)]
        for sock in waiting:
            with contextlib.suppress(OSError):
                sock.sendall(f"GET {PREFIX}/health HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.5)
        before = cpu_seconds(front)
        time.sleep(1)
        assert cpu_seconds(front) - before < 0.5, "it turns round and round"
        statuses = set()
        for sock in waiting:
            with contextlib.suppress(OSError):
                statuses.add(sock.recv(12)[9:])
        assert statuses - {b""} == {b"200", b"503"}
        stack.close()
        eventually(lambda: health(server) == 200)
        assert server.front() == front
        answer = server.ask("POST", "/sessions", {"template": "python"})
        assert answer.status == 201 or answer.status == 503 and \
            "the limit of open files is 128" in answer.json["error"]["message"], answer


def health(server):
    with contextlib.suppress(OSError):
        return server.ask("GET", "/health").status


def test_ten_thousand_idle_connections(reckon):
    """With as many idle connections as descriptors allow, the next request is still answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(IDLE, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with Server(reckon, "--header-timeout", "3600") as server, contextlib.ExitStack() as stack:
            front = server.front()
            with open(f"/proc/{front}/limits", encoding="utf-8") as file:
                limit, = (line.split()[3] for line in file if line.startswith("Max open files"))
            allowed = (int(limit) - 64) // 2
            count = min(count, allowed - 10)
            for _ in range(count):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))
            eventually(lambda: descriptors(front) > count)
            session = server.create()
            assert server.execute(session, "print(6 * 7)")["stdout"] == "42\n"
            stack.close()
            eventually(lambda: descriptors(front) < 64)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_clients_that_vanish_in_the_middle_of_a_stream(reckon):
    """Fifty clients reset their connections instead of closing them; no descriptor of theirs stays
    open."""
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "1")
        front = server.front()
        base = descriptors(front), descriptors(server.process.pid)
        execution = server.background(session, "import time\n"
                                      "for i in range(40): print(i, flush=True); time.sleep(0.05)")
        request = (f"GET {PREFIX}/sessions/{session}/executions/{execution}/events HTTP/1.1\r\n"
                   f"Host: localhost\r\nAuthorization: Bearer {server.key}\r\n\r\n").encode()
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", server.port), SECONDS) as sock:
                sock.sendall(request)
                assert sock.recv(64).startswith(b"HTTP/1.1 200")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        record = server.poll(session, execution)
        assert record["stdout"] == "".join(f"{i}\n" for i in range(40))
        eventually(lambda: descriptors(front) <= base[0])
        eventually(lambda: descriptors(server.process.pid) <= base[1] + 4)


def test_five_hundred_readers_of_one_execution(reckon):
    """Each reader gets every event, in order."""
    with Server(reckon) as server:
        session = server.create()
        execution = server.background(session, "import time\ntime.sleep(0.5)\n"
                                      "for i in range(100): print(i, flush=True)")
        path = f"{PREFIX}/sessions/{session}/executions/{execution}/events"
        with contextlib.ExitStack() as stack:
            readers = []
            for _ in range(500):
                connection = server.connect()
                stack.callback(connection.close)
                connection.request("GET", path, None, server.headers())
                readers.append(connection)
            seen = [list(parse_events(connection.getresponse())) for connection in readers]
        for events in seen:
            assert events == seen[0]
        assert [number for number, _, _ in seen[0]] == list(range(1, len(seen[0]) + 1))
        assert "".join(data["text"] for _, name, data in seen[0] if name == "stream") == \
            "".join(f"{i}\n" for i in range(100))
        assert seen[0][-1][1] == "done"


# ---- disk ---------------------------------------------------------------------------------------

@pytest.fixture
def small_disk(reckon):
    """The state directory on a disk of 12 MB."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", reckon.state],
                   check=True)
    yield reckon.state
    subprocess.run(["umount", "-l", reckon.state], check=True)


def fill(folder):
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_full_disk(reckon, small_disk):
    with Server(reckon) as server:
        session = server.create()
        before = server.execute(session, "x = 6; print('kept')")
        fill(small_disk)
        # The response has the output of the code, or an error that names the full disk.
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "x += 1; print(x)"})
        assert answer.status == 200 and answer.json["stdout"] == "7\n" or \
            answer.status in (500, 503, 507) and "space" in answer.body.decode(), answer
        upload = server.ask("PUT", f"/sessions/{session}/files/a", bytes(1 << 20))
        assert (upload.status, upload.code) == (507, "disk_full")
        assert server.ask("GET", "/health").status == 200
        # All other responses have a status that the OpenAPI document lists.
        paths = server.ask("GET", "/openapi.json").json["paths"]
        for method, path, body in (
                ("POST", "/sessions", {"template": "python"}), ("PATCH", "/sessions/{session}", {}),
                ("POST", "/sessions/{session}/executions", {"code": "1"}),
                ("POST", "/executions", {"template": "python", "code": "1"}),
                ("POST", "/sessions/{session}/contexts", {}), ("POST", "/tenants", {"name": "t"}),
                ("POST", "/keys", {"name": "k", "scopes": ["execute"]})):
            answer = server.ask(method, path.replace("{session}", session), body)
            assert str(answer.status) in paths[PREFIX + path][method.lower()]["responses"], \
                (method, path, answer)
        (small_disk / "filler").unlink()
        after = server.execute(session, "print(x)")
        assert after["stdout"] in ("6\n", "7\n")
        assert server.ask("PUT", f"/sessions/{session}/files/a", b"now").status == 200
        rows = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
        assert {before["id"], after["id"]} <= {row["id"] for row in rows}
        assert server.ask("GET", f"/sessions/{session}/executions/{before['id']}").json == before


def test_a_full_disk_can_be_read_and_cleared(reckon, small_disk):
    code = "open('a','w').write('a' * 9)\nopen('b','w').write('b' * 90_000)\nprint('y' * 90_000)"
    with Server(reckon) as server:
        sessions = [server.create() for _ in range(3)]
        records = [server.execute(each, code) for each in sessions]
        session, execution = sessions[0], records[0]["id"]
        link = server.ask("POST", f"/sessions/{session}/links", {"path": "a"}).json
        key = server.ask("POST", "/keys", {"name": "k", "scopes": ["execute"]}).json["id"]
        stored = server.ask("POST", "/files?name=x", b"abc").json["id"]
        document = server.ask("POST", "/documents/c", {"value": {"a": 1}}).json["id"]
        fill(small_disk)
        for _ in range(2):
            ready = server.ask("GET", "/ready")
            assert (ready.status, ready.code) == (503, "not_ready"), ready
            assert ready.json["error"]["message"] == "the disk of the state directory is full"
            for path in ("/sessions", f"/sessions/{session}", f"/sessions/{session}/executions",
                         f"/sessions/{session}/executions/{execution}",
                         f"/sessions/{session}/executions/{execution}/events",
                         f"/sessions/{session}/files", f"/sessions/{session}/files/a",
                         f"/sessions/{session}/files/b", f"/sessions/{session}/archive",
                         f"/sessions/{session}/archive?format=zip", f"/sessions/{session}/variables",
                         f"/sessions/{session}/artifacts", f"/sessions/{session}/receipts",
                         f"/artifacts/{records[0]['files'][1]['artifact']}", f"/files/{stored}/content",
                         f"/documents/c/{document}", "/usage", "/audit", "/keys"):
                answer = server.ask("GET", path)
                assert answer.status == 200, (path, answer)
            for method, path, body in (("POST", "/sessions", {}),
                                       ("POST", f"/sessions/{session}/executions", {"code": "1"}),
                                       ("PUT", f"/sessions/{session}/files/n", b"n"),
                                       ("POST", "/documents/c", {"value": {}})):
                answer = server.ask(method, path, body)
                assert (answer.status, answer.code) == (507, "disk_full"), (path, answer)
        for method, path in (("DELETE", f"/sessions/{session}/files/a"),
                             ("POST", f"/sessions/{session}/interrupt"),
                             ("DELETE", f"/sessions/{session}/links/{link['id']}"),
                             ("DELETE", f"/keys/{key}"), ("DELETE", f"/files/{stored}"),
                             ("DELETE", f"/documents/c/{document}"),
                             *(("DELETE", f"/sessions/{each}") for each in sessions)):
            answer = server.ask(method, path)
            assert answer.status == 200, (path, answer)
        for each in sessions:
            assert server.ask("GET", f"/sessions/{each}").code == "session_closed"
        assert server.ask("GET", f"/sessions/{session}/executions/{execution}").json == records[0]
        assert server.log().count("the disk of the state directory is full") == 1, server.log()
        (small_disk / "filler").unlink()
        assert server.execute(server.create(), "print(1)")["stdout"] == "1\n"
        server.stop(signal.SIGKILL)
        server.start()
        assert {row["id"] for row in server.ask("GET", "/sessions").json["sessions"]
                if row["status"] == "closed"} >= set(sessions)


def test_a_process_is_not_started_if_its_key_cannot_be_stored(reckon, small_disk):
    with Server(reckon) as server:
        session = server.create()
        path = f"/sessions/{session}/processes"

        def start():
            return server.ask("POST", path, {"command": "echo x >> runs #" + "x" * 100000}, {"Idempotency-Key": "k"})
        fill(small_disk)
        refused = start()
        assert (refused.status, refused.code) == (507, "disk_full"), refused
        (small_disk / "filler").unlink()
        assert server.ask("GET", path).json["processes"] == []
        # The idempotency key is still free, and the command has not run.
        started = start()
        assert started.status == 201, started
        server.ask("GET", f"{path}/{started.json['id']}/wait")
        assert start().json["id"] == started.json["id"]
        assert server.ask("GET", f"/sessions/{session}/files/runs").body == b"x\n"


def test_a_disk_that_is_full_at_the_start(reckon, small_disk):
    fill(small_disk)
    done = reckon("serve", "--listen", "127.0.0.1:0", "--state", small_disk)
    assert done.status == 125 and "space" in done.err, done
    (small_disk / "filler").unlink()
    with Server(reckon) as server:
        assert server.ask("GET", "/sessions").json["sessions"] == []


# ---- the database -------------------------------------------------------------------------------

def refused(reckon, *words):
    done = reckon("serve", "--listen", "127.0.0.1:0", "--state", reckon.state)
    assert done.status == 125, done
    for word in words:
        assert word in done.err, done.err


@pytest.fixture
def used(reckon):
    """A state directory with a session's history; returns its key and the record."""
    with Server(reckon) as server:
        session = server.create()
        record = server.execute(session, "print('kept')")
        return server.key, session, record


@pytest.mark.parametrize("harm", ["noise", "half", "middle"])
def test_a_broken_database_is_reported_and_not_changed(reckon, used, harm):
    path = reckon.state / "reckond.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    whole = path.read_bytes()
    broken = {"noise": os.urandom(len(whole)), "half": whole[:len(whole) // 2],
              "middle": whole[:4096] + os.urandom(len(whole) - 4096)}[harm]
    path.write_bytes(broken)
    for name in ("reckond.db-wal", "reckond.db-shm"):
        (reckon.state / name).unlink(missing_ok=True)
    refused(reckon, "database", "reckond.db")
    assert path.read_bytes() == broken, "it was changed"
    path.write_bytes(whole)
    key, session, record = used
    with Server(reckon, key=key) as server:
        assert server.ask("GET", f"/sessions/{session}/executions/{record['id']}").json == record


def test_a_locked_database_is_reported(reckon, used):
    holder = sqlite3.connect(reckon.state / "reckond.db")
    holder.execute("BEGIN IMMEDIATE")
    try:
        refused(reckon, "locked", "reckond.db")
    finally:
        holder.close()
    with Server(reckon, key=used[0]) as server:
        assert server.ask("GET", "/sessions").status == 200


@contextlib.contextmanager
def writing(reckon):
    """Another process has an open write transaction in the database."""
    holder = sqlite3.connect(reckon.state / "reckond.db", timeout=SECONDS)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


def in_background(what, *args, **options):
    """Run a call in a thread; its result is in the list once the thread has ended."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(what(*args, **options)), daemon=True)
    thread.start()
    return thread, answers


def run(server, session, code, **body):
    return server.ask("POST", f"/sessions/{session}/executions", {"code": code, **body})


def test_executions_wait_for_another_writer_of_the_database(reckon):
    """Cells begin before and during the other transaction; the daemon's loop continues
    meanwhile."""
    with Server(reckon) as server:
        session, other = server.create(), server.create()
        server.execute(session, "n = 1")
        path = f"/sessions/{session}/executions"
        early = server.background(session, "import time; time.sleep(.5); n += 1; print(n)")
        with writing(reckon):
            thread, answers = in_background(run, server, other, "print('during')")
            put, stored = in_background(server.ask, "PUT", f"/sessions/{other}/files/f", b"during")
            time.sleep(1.5)
            assert server.ask("GET", "/health").status == 200
            assert server.ask("GET", "/sessions").status == 200
            shown = server.ask("GET", f"{path}/{early}").json
            assert shown["status"] in ("queued", "running"), shown
            assert answers == [] and stored == []
        thread.join(SECONDS)
        put.join(SECONDS)
        assert [(answer.status, answer.json["stdout"]) for answer in answers] == [(200, "during\n")]
        assert [answer.status for answer in stored] == [200]
        record = server.poll(session, early)
        assert (record["status"], record["stdout"]) == ("ok", "2\n")
        server.stop(9)
        server.start()
        assert server.ask("GET", f"{path}/{early}").json == record
        assert server.ask("GET", f"/sessions/{other}/files/f").body == b"during"
        assert server.execute(session, "6*7")["status"] == "ok"
    assert "is whole" in reckon("audit", "verify", "--state", reckon.state).expect(0).out


def test_waiting_too_long_for_another_writer_is_an_error(reckon):
    with Server(reckon) as server:
        session = server.create()
        before = server.execute(session, "n = 1")
        path = f"/sessions/{session}/executions"
        keyed = {"Idempotency-Key": "k"}
        once = "open('ran', 'a').write('x')"
        begun = server.background(session, "import time; time.sleep(.3)")
        with writing(reckon):
            refused = [server.ask("POST", "/keys", {"name": "x", "scopes": ["read"]}),
                       server.ask("POST", f"/sessions/{session}/executions", {"code": once}, keyed)]
            thread, answers = in_background(run, server, session,
                                            "n += 1; _ = open('late', 'w').write('late')")
            thread.join(SECONDS)
            assert [answer.status for answer in answers] == [500]
            error = answers[0].json["error"]
            assert "could not be kept" in error["message"] and "locked" in error["cause"]
            assert error["remedy"]
            # A refused execution has not begun, so the client may repeat it.
            assert [answer.status >= 500 for answer in refused] == [True, True], refused
            assert refused[1].code == "unavailable" and refused[1].headers["Retry-After"]
            assert server.ask("GET", "/health").status == 200
            assert server.ask("GET", f"{path}/{before['id']}").json == before
        # The other transaction has ended, and everything that was answered persists.
        assert server.execute(session, "print(n)")["stdout"] == "2\n"
        answer = server.ask("POST", path, {"code": once}, keyed)
        assert answer.status == 200 and answer.json["status"] == "ok"
        assert server.execute(session, "print(open('ran').read())")["stdout"] == "x\n"
        for _ in range(6):  # so that the earlier executions are no longer in memory
            server.execute(session, "1")
        listed = {row["id"]: row for row in server.ask("GET", path).json["executions"]}
        assert listed[begun]["status"] == "failed"
        assert not {row["status"] for row in listed.values()} & {"queued", "running", "pending"}
        key = server.ask("POST", "/keys", {"name": "x", "scopes": ["read"]})
        assert key.status == 201
        server.stop(9)
        server.start()
        assert server.ask("GET", f"{path}/{before['id']}").json == before
        # The next transaction persists the file of a cell whose record was not persisted.
        assert server.execute(session, "print(open('late').read())")["stdout"] == "late\n"
    assert "is whole" in reckon("audit", "verify", "--state", reckon.state).expect(0).out


# ---- the clock ----------------------------------------------------------------------------------

def test_a_clock_that_jumps(reckon):
    """The clock jumps a month ahead and back, and two days back: idle sessions do not expire, and
    the order of executions stays."""
    jump = reckon.file("jump", struct.pack("q", 0))
    preload = {"LD_PRELOAD": str(ROOT / "build/test/support/clock_jump.so"),
               "CLOCK_JUMP_FILE": str(jump)}
    with Server(reckon, env=preload) as server, open(jump, "r+b", buffering=0) as file:
        session = server.create()
        done = [server.execute(session, "n = 1; print(n)")]
        for seconds in (30 * 86400, 0, -2 * 86400, 0):
            os.pwrite(file.fileno(), struct.pack("q", seconds), 0)
            before = server.execute(session, "n += 1; print(n)")
            time.sleep(0.5)  # two runs of the check for idle sessions
            done.append(before)
            assert before["receipt"]["wall_s"] < 20
        years = {record["started_at"][:10] for record in done}
        assert len(years) == 3, f"the clock did not jump: {years}"
        assert done[-1]["stdout"] == "5\n"
        assert server.ask("GET", f"/sessions/{session}").json["status"] == "live"
        rows = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
        assert [row["id"] for row in rows] == [record["id"] for record in reversed(done)]
        page = server.ask("GET", f"/sessions/{session}/executions?limit=2").json
        rest = server.ask("GET", f"/sessions/{session}/executions?limit=9&before={page['next']}").json
        assert [row["id"] for row in page["executions"] + rest["executions"]] == \
            [row["id"] for row in rows]


DAY = 86400


@contextlib.contextmanager
def set_clock(reckon, *args):
    """A daemon, and a function that shifts its clock by a number of seconds."""
    jump = reckon.file("jump", struct.pack("q", 0))
    preload = {"LD_PRELOAD": str(ROOT / "build/test/support/clock_jump.so"),
               "CLOCK_JUMP_FILE": str(jump)}
    with Server(reckon, *args, env=preload) as server, open(jump, "r+b", buffering=0) as file:
        def turn(seconds):
            os.pwrite(file.fileno(), struct.pack("q", seconds), 0)
            time.sleep(0.5)  # two ticks
        yield server, turn


def with_key(server, **body):
    answer = server.ask("POST", "/keys", {"name": "short", "scopes": ["read"], **body})
    assert answer.status == 201, answer
    client = copy.copy(server)
    client.key = answer.json["key"]
    return client


def link_to(server, session, **body):
    answer = server.ask("POST", f"/sessions/{session}/links", {"path": "f", **body})
    assert answer.status == 201, answer
    url = answer.json["url"].removeprefix(PREFIX)
    return lambda: server.ask("GET", url, key=False).status


def test_keys_and_links_under_a_clock_that_jumps(reckon):
    """A clock that is set ahead makes keys and links expire until it is right again. A clock that
    is set back does not revive expired ones, and new ones last as long as they should."""
    with set_clock(reckon) as (server, turn):
        session = server.create()
        server.ask("PUT", f"/sessions/{session}/files/f", b"content")
        brief, long = with_key(server, expires_s=1), with_key(server, expires_s=3 * DAY)
        hour = with_key(server, expires_s=3600)
        link, late = (link_to(server, session, expires_in_s=each) for each in (3600, 3 * DAY))
        over = link_to(server, session, expires_in_s=1)
        assert {client.ask("GET", "/sessions").status for client in (long, hour)} == {200}
        eventually(lambda: brief.ask("GET", "/sessions").code == "key_expired"
                   if brief.ask("GET", "/sessions").status == 401 else False)
        eventually(lambda: over() == 410)
        turn(DAY)
        assert hour.ask("GET", "/sessions").code == "key_expired"
        assert (long.ask("GET", "/sessions").status, server.ask("GET", "/sessions").status) == (200, 200)
        assert (link(), late()) == (410, 200)
        turn(0)
        assert hour.ask("GET", "/sessions").status == 200 and link() == 200
        turn(-DAY)
        assert brief.ask("GET", "/sessions").code == "key_expired" and over() == 410
        assert hour.ask("GET", "/sessions").status == 200 and link() == 200
        made = with_key(server, expires_s=8)
        assert made.ask("GET", "/sessions").status == 200
        eventually(lambda: made.ask("GET", "/sessions").status == 401)
        assert made.ask("GET", "/sessions").code == "key_expired"
        turn(0)
        assert hour.ask("GET", "/sessions").status == 200
        assert server.execute(session, "1")["status"] == "ok"


def test_quotas_under_a_clock_that_jumps(reckon):
    """Windows of quotas use a clock that nobody sets: a jump neither ends nor prolongs one."""
    with set_clock(reckon) as (server, turn):
        tenant = server.ask("POST", "/tenants", {
            "name": "thirsty", "quotas": {"cpu_s_per_hour": 0.2, "requests_per_s": 5}}).json["id"]
        client = with_key(server, tenant=tenant, scopes=["sessions", "execute", "read"])
        session = client.create()
        client.execute(session, "import time\nend = time.process_time() + 0.4\n"
                                "while time.process_time() < end: pass")
        used = server.ask("GET", f"/usage?tenant={tenant}").status
        assert used == 200
        for seconds in (0, DAY, -DAY, 0):
            turn(seconds)
            answer = client.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
            assert (answer.status, answer.json["error"]["quota"]["name"]) == (429, "cpu_s_per_hour")
            assert 2000 < int(answer.headers["Retry-After"]) <= 3600
            # The quota of requests per second limits 40 requests at once, but allows some of them.
            turn(seconds)
            statuses = [client.ask("GET", "/sessions").status for _ in range(40)]
            assert 429 in statuses and statuses.count(200) >= 1, statuses
            eventually(lambda: client.ask("GET", "/sessions").status == 200)
            time.sleep(1)
        assert server.execute(server.create(), "1")["status"] == "ok"
