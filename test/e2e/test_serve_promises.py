"""Smaller promises of the daemon: idempotency keys that are not used up, expired content, lost
sessions, clocks."""
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import signal
import sqlite3
import struct
import time

import pytest
from reckon_serve import Server
from test_serve_busy_files import UNTIL, begin
from test_serve_durable import wardens
from test_serve_faults import descriptors, few_descriptors
from waiting import eventually

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)
ROOT = pathlib.Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def database(reckon):
    with contextlib.closing(sqlite3.connect(reckon.state / "reckond.db")) as opened, opened:
        yield opened


def audit(server):
    return server.ask("GET", "/audit?limit=500").json["entries"]


def execute(server, session, code, key):
    return server.ask("POST", f"/sessions/{session}/executions", {"code": code},
                      {"Idempotency-Key": key})


# ---- keys ---------------------------------------------------------------------------------------

@as_root  # root may set another process's limits
def test_a_key_is_not_used_up_by_a_refused_execution(reckon):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "x = 1")
        server.stop()
        server.start()
        with few_descriptors(server.process.pid, 1):
            refused = execute(server, session, "6*7", "mine")
        assert (refused.status, refused.code) == (503, "overloaded"), refused
        done = execute(server, session, "6*7", "mine")
        assert done.status == 200 and done.json["status"] == "ok", done
        assert execute(server, session, "6*7", "mine").json["id"] == done.json["id"]
        assert execute(server, session, "other", "mine").code == "idempotency_conflict"


@as_root
def test_no_session_is_lost_without_descriptors(reckon):
    """The descriptors run out at any step of making the new box."""
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "open('a', 'w').write('kept')")
        server.stop()
        server.start()
        seen = []
        for room in range(1, 40):
            with few_descriptors(server.process.pid, room):
                begun = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
                # Reading is not refused in advance, and makes the box, too.
                answer = server.ask("GET", f"/sessions/{session}/files/a")
            assert begun.status == 200 or begun.code == "overloaded", (room, begun)
            seen.append("ok" if answer.status == 200 else answer.code)
            if seen[-1] == "ok":
                break
            assert answer.status in (500, 503), (room, answer)
        assert answer.body == b"kept", seen
        assert set(seen[:-1]) & {"overloaded", "unavailable"}, seen


def test_a_key_is_not_used_up_by_a_full_queue(reckon):
    with Server(reckon) as server:
        session = server.create()
        running = begin(server, session)
        waiting = [server.background(session, "pass") for _ in range(16)]
        refused = execute(server, session, "6*7", "mine")
        assert (refused.status, refused.code) == (429, "busy"), refused
        server.ask("PUT", f"/sessions/{session}/files/end", b"")
        for each in [running, *waiting]:
            assert server.poll(session, each)["status"] == "ok"
        assert execute(server, session, "6*7", "mine").json["status"] == "ok"


# ---- expired content, lost sessions -------------------------------------------------------------

def test_collected_content_is_expired_and_unknown_is_not_found(reckon):
    with Server(reckon) as server:
        session = server.create()
        record = server.execute(session, "open('a.txt', 'w').write('one'); open('b', 'w').write('2')")
        handles = [each["artifact"] for each in record["files"]]
        first, second = handles
        assert server.ask("GET", f"/artifacts/{first}").body == b"one"
        server.stop()
        digits = first.partition("_")[2]
        with database(reckon) as opened:
            opened.execute("DELETE FROM object WHERE digits = ?", [digits])
            opened.execute("INSERT INTO tombstone(tenant, digits, removed_at)"
                           " SELECT tenant, ?, '2026-01-02T03:04:05.678Z' FROM session", [digits])
        [path] = (reckon.state / "artifacts").glob(f"*/{second.partition('_')[2]}*")
        path.unlink()
        server.start()
        gone = server.ask("GET", f"/artifacts/{first}")
        assert (gone.status, gone.code) == (410, "expired")
        assert "2026-01-02T03:04:05.678Z" in gone.json["error"]["cause"]
        gone = server.ask("GET", f"/artifacts/{second}")
        assert (gone.status, gone.code) == (410, "expired")
        for handle in ("ar_" + "0" * 32, "out_" + "f" * 32):
            kind = "outputs" if handle.startswith("out") else "artifacts"
            assert server.ask("GET", f"/{kind}/{handle}").status == 404


def test_sessions_lost_at_a_start_are_in_the_audit_log(reckon):
    with Server(reckon) as server:
        lost, alive = server.create(), server.create()
        running = begin(server, alive)
        server.stop(9)
        with database(reckon) as opened:
            opened.execute("DELETE FROM kept WHERE session = ?", [lost])
        server.start()
        found = [entry for entry in audit(server) if entry["action"] == "session.end"]
        assert [(entry["target"], entry["outcome"], entry["actor"]) for entry in found] == [
            (lost, "lost", "daemon")]
        assert found[0]["tenant"].startswith("te_")
        [entry] = [entry for entry in audit(server) if entry["action"] == "execution.lost"]
        assert entry["detail"].startswith("count=1 ")
        assert server.ask("GET", f"/sessions/{lost}/files").code == "session_lost"
        assert server.ask("GET", f"/sessions/{alive}/executions/{running}").json["status"] == "lost"
    assert "is whole" in reckon("audit", "verify").expect(0).out


def test_doctor_and_verify_make_no_secret(reckon):
    with Server(reckon) as server:
        server.create()
    with database(reckon) as opened:
        opened.execute("DELETE FROM meta WHERE typeof(value) = 'blob' AND length(value) = 32")
        before = opened.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
    done = reckon("doctor", "--state", reckon.state, "--json", "--strict").expect(1)
    assert "secret" in done.out
    assert reckon("audit", "verify").status == 125
    with database(reckon) as opened:
        assert opened.execute("SELECT name, value FROM meta ORDER BY name").fetchall() == before


# ---- clocks -------------------------------------------------------------------------------------

HOUR, YEAR = 3600, 365 * 86400


@pytest.mark.parametrize("leaps", [(3 * HOUR, -3 * HOUR, 0), (10 * YEAR, 0), (-20 * YEAR, 0)])
def test_clock_jumps_remove_nothing(reckon, leaps):
    """A clock that jumps removes neither history nor sessions, whether they are idle or expire
    later."""
    jump = reckon.file("jump", struct.pack("q", 0))
    preload = {"LD_PRELOAD": str(ROOT / "build/test/support/clock_jump.so"),
               "CLOCK_JUMP_FILE": str(jump)}
    args = ("--history-keep", "86400", "--session-keep", "86400", "--idle-timeout", "600")
    with Server(reckon, *args, env=preload) as server, open(jump, "r+b", buffering=0) as file:
        session, ends = server.create(), server.create(expires_in_s=900)
        other = server.ask("POST", f"/sessions/{session}/contexts", {}).json["id"]
        first = server.execute(session, "n = 1")["id"]
        ended = server.create()
        server.ask("DELETE", f"/sessions/{ended}")
        for seconds in leaps:
            os.pwrite(file.fileno(), struct.pack("q", seconds), 0)
            time.sleep(2.5)  # the daemon looks for old data once a second
            assert server.ask("GET", f"/sessions/{session}/executions/{first}").status == 200, (seconds, server.log())
            assert server.ask("GET", f"/sessions/{ended}").code == "session_closed"
            for each in (session, ends):
                assert server.ask("GET", f"/sessions/{each}").json["status"] == "live", seconds
            assert server.execute(session, "n += 1; print(n)")["status"] == "ok"
            assert server.execute(session, "1", context=other)["status"] == "ok"
            server.ask("PUT", f"/sessions/{session}/files/f", str(seconds).encode())
            assert server.ask("GET", f"/sessions/{session}/files/f").body == str(seconds).encode()
            assert server.ask("GET", "/usage").status == 200
        made = server.create()
        assert made in [each["id"] for each in server.ask("GET", "/sessions?limit=500").json["sessions"]]
        rows = server.ask("GET", f"/sessions/{session}/executions?limit=500").json["executions"]
        numbers = [row["sequence"] for row in rows]
        assert numbers == sorted(numbers, reverse=True) and rows[-1]["id"] == first
        log = server.log()
        assert ("the clock leapt ahead" in log) == (max(leaps) > 0 or min(leaps) < 0)
        assert "level=error" not in log
        # After a restart with the right clock the session still works.
        server.stop()
        server.start()
        assert server.execute(session, "1")["status"] == "ok"
    assert "is whole" in reckon("audit", "verify").expect(0).out


def test_sessions_expire_although_the_clock_is_set_back(reckon):
    """A clock that is set back again and again does not keep sessions alive."""
    jump = reckon.file("jump", struct.pack("q", 0))
    preload = {"LD_PRELOAD": str(ROOT / "build/test/support/clock_jump.so"),
               "CLOCK_JUMP_FILE": str(jump)}
    with Server(reckon, env=preload) as server, open(jump, "r+b", buffering=0) as file:
        idle, ends = server.create(idle_timeout_s=1), server.create(expires_in_s=1)
        deadline = time.monotonic() + 30
        back = 0
        # A GET of a session does not count as use.
        while {server.ask("GET", f"/sessions/{each}").status for each in (idle, ends)} != {410}:
            assert time.monotonic() < deadline
            back -= 3600
            os.pwrite(file.fileno(), struct.pack("q", back), 0)
            time.sleep(.2)
        assert {server.ask("GET", f"/sessions/{each}").code for each in (idle, ends)} == {
            "session_expired"}


# ---- sessions whose row is written before their box exists --------------------------------------

def cannot_open(reckon, server, path, body, admin=None):
    """The warden dies while the session is opened, and no descriptors are left for another one."""
    def created():
        headers = {"Authorization": f"Bearer {admin or server.key}"}
        entries = server.ask("GET", "/audit?limit=500", headers=headers).json["entries"]
        return [each["action"] for each in entries].count("session.create")

    before = created()
    pids = list(wardens(reckon))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        pending = pool.submit(server.ask, "POST", path, body)
        eventually(lambda: created() > before)
        with few_descriptors(server.process.pid, 8 - descriptors(server.process.pid)):
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            return pending.result()


@as_root  # root may set another process's limits
def test_a_session_that_cannot_be_opened_is_only_in_the_audit_log(reckon):
    with Server(reckon) as server:
        first = server.create()
        made = server.ask("POST", "/sessions", {"template": "python", "name": "second"})
        assert made.status == 201
        refused = cannot_open(reckon, server, "/sessions", {"template": "python", "name": "third"})
        assert refused.status >= 500, refused
        listed = server.ask("GET", "/sessions").json["sessions"]
        assert [each["id"] for each in listed] == [made.json["id"], first]
        assert [each["sessions"] for each in server.ask("GET", "/usage").json["usage"]] == [2]
        recorded = [each for each in audit(server) if each["action"].startswith("session.")]
        assert [each["action"] for each in recorded] == ["session.create"] * 3 + ["session.end"]
        assert recorded[3]["target"] == recorded[2]["target"] not in (first, made.json["id"])
        assert recorded[3]["outcome"] == "lost" and "could not be opened" in recorded[3]["detail"]
        assert server.ask("GET", f"/sessions/{recorded[3]['target']}").status == 404
        # Its name can be used again.
        third = server.ask("POST", "/sessions", {"template": "python", "name": "third"})
        assert third.status == 201
        server.stop()
        server.start()
        listed = server.ask("GET", "/sessions").json["sessions"]
        assert [each["id"] for each in listed] == [third.json["id"], made.json["id"], first]


@as_root
def test_no_execution_is_written_before_its_session_opens(reckon):
    """The row of an execution needs that of its session, which is removed if the session cannot be
    opened."""
    with Server(reckon) as server:
        def actions():
            return [each["action"] for each in audit(server)]

        other = server.create()  # so that one thread opens the next session and then runs its code
        before = actions()
        with contextlib.ExitStack() as goes_on, concurrent.futures.ThreadPoolExecutor(1) as pool:
            for pid in wardens(reckon):
                os.kill(pid, signal.SIGSTOP)
                goes_on.callback(os.kill, pid, signal.SIGCONT)
            pending = pool.submit(server.ask, "POST", "/executions",
                                  {"template": "python", "code": "print(1)"})
            eventually(lambda: actions() == [*before, "session.create"])
            # A request for the history writes what has begun, and so does a timer.
            server.ask("GET", f"/sessions/{other}/executions")
            time.sleep(0.05)
            assert actions() == [*before, "session.create"]
            goes_on.close()
            assert pending.result().json["stdout"] == "1\n"
        assert actions()[len(before):][:3] == ["session.create", "execution.start", "execution.end"]


@as_root
def test_no_execution_exists_if_its_session_cannot_be_opened(reckon):
    with Server(reckon) as server:
        _, key = server.newcomer("t", ["sessions", "execute", "read"], executions=1)
        whole, server.key = server.key, key
        body = {"template": "python", "code": "print(1)", "keep": True, "name": "mine"}
        server.create()
        refused = cannot_open(reckon, server, "/executions", body, admin=whole)
        assert refused.status >= 500, refused
        # Neither the name of the session nor the quota of executions is taken.
        again = server.ask("POST", "/executions", body)
        assert (again.status, again.json["stdout"]) == (200, "1\n")
        server.key = whole
        recorded = [each for each in audit(server) if each["action"].startswith("execution.")]
        assert [each["action"] for each in recorded] == ["execution.start", "execution.end"]
        assert {each["target"] for each in recorded} == {again.json["session"]}


def test_sessions_that_a_stop_refused_do_not_exist(reckon):
    """The daemon stops while it opens sessions: those that it has refused do not exist
    afterwards."""
    with Server(reckon) as server:
        server.create()
        server.create()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            pending = [threads.submit(server.ask, "POST", "/sessions", {"template": "python"})
                       for _ in range(8)]
            time.sleep(0.01)
            server.process.terminate()
            answers = []
            for each in pending:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    answers.append(each.result())
        server.process.wait(30)
        made = [each.json["id"] for each in answers if each.status == 201]
    with Server(reckon, key=server.key) as server:
        listed = [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]
                  if each["status"] == "live"]
        # A session whose response got lost may exist; one that was refused does not.
        assert set(made) <= set(listed)
        assert len(listed) <= 2 + 8 - sum(each.status == 503 for each in answers)


# ---- the prewarmed engine -----------------------------------------------------------------------

def to_wardens(pid):
    """Sockets of a daemon's process: one for each connection to a warden, and a few others."""
    links = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(fd))
    return sum(link.startswith("socket:") for link in links)


@as_root  # the test finds wardens by their user
def test_the_prewarmed_engine_may_have_died(reckon):
    with Server(reckon) as server:
        before = to_wardens(server.process.pid)
        server.create()
        # Two of the session, one of its kernel, and one of the prewarmed engine.
        eventually(lambda: to_wardens(server.process.pid) == before + 4)
        for pid in wardens(reckon):
            os.kill(pid, signal.SIGKILL)
        made = [server.create() for _ in range(3)]
        assert [server.execute(each, "6*7")["status"] for each in made] == ["ok"] * 3
