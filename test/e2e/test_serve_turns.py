"""A slow or broken disk: which requests wait for it, and which errors they get.

test/support/held_sync.c is the disk. The tests check only the order of events, not how long they
take.
"""
import contextlib
import glob
import pathlib
import threading
import time

import pytest
from reckon_cli import ROOT
from reckon_serve import Server
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
SECONDS = 60


def test_requests_do_not_wait_for_audit_head(reckon):
    """The daemon renames audit.head, which a busy disk delays, too."""
    held = reckon.work / "renames"
    env = {"LD_PRELOAD": str(ROOT / "build/test/support/held_sync.so"),
           "HELD_SYNC_FILE": str(reckon.work / "syncs"), "HELD_RENAME_FILE": str(held)}
    head = reckon.state / "audit.head"
    with Server(reckon, env=env) as server:
        session = server.create()
        eventually(head.exists)
        held.touch()
        try:
            server.ask("POST", f"/sessions/{session}/interrupt")
            before = head.read_text()
            eventually(lambda: (reckon.state / "audit.head.new").exists())
            for number in range(20):
                assert server.execute(session, f"print({number})")["stdout"] == f"{number}\n"
            assert head.read_text() == before
        finally:
            held.unlink()
        last = server.ask("GET", "/audit?limit=500").json["last"]
        eventually(lambda: int(head.read_text().split()[0]) >= last)
        server.stop()
        assert reckon("audit", "verify", "--state", reckon.state).status == 0


@pytest.fixture
def disk(reckon):
    """A file that makes the daemon's disk busy while it exists, and a server on that disk."""
    path = reckon.work / "held"
    env = {"LD_PRELOAD": str(ROOT / "build/test/support/held_sync.so"), "HELD_SYNC_FILE": str(path)}
    with Server(reckon, env=env) as server:
        try:
            yield path, server
        finally:
            path.unlink(missing_ok=True)


class Request(threading.Thread):
    """A request in a thread of its own; `answer` is its response and `at` the time of the
    response."""

    def __init__(self, server, *given, **more):
        super().__init__()
        self.server, self.given, self.more = server, given, more
        self.answer = self.at = None
        self.start()

    def run(self):
        self.answer = self.server.ask(*self.given, **self.more)
        self.at = time.monotonic()


def start_cell(server, session, code, headers=None, **more):
    """Execute a cell in a thread of its own."""
    return Request(server, "POST", f"/sessions/{session}/executions", {"code": code, **more},
                   headers=headers or {})


def has_run(name):
    """True if a cell has made this file. The test looks from outside, because every response waits
    for the disk. /tmp is not persisted, so that only the end of the cell has to be written."""
    return bool(glob.glob(f"/proc/[0-9]*/root/tmp/{name}"))


@contextlib.contextmanager
def at_work(server):
    """A session in which something runs all the time, so that the daemon has other work."""
    session = server.create()
    name = f"busy-{session}"
    path = f"/tmp/{name}"
    running = server.background(session, f"import os, time\nopen('{path}', 'w').close()\n"
                                         f"while os.path.exists('{path}'): time.sleep(0.01)")
    server.wait_running(session, running)
    eventually(lambda: has_run(name))
    try:
        yield session
    finally:
        for found in glob.glob(f"/proc/[0-9]*/root{path}"):
            with contextlib.suppress(OSError):
                pathlib.Path(found).unlink()


def test_cells_run_while_another_one_is_written(disk):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        first = start_cell(server, one, f"open('/tmp/first-{one}', 'w').close()")
        eventually(lambda: has_run(f"first-{one}"))
        time.sleep(0.2)  # so that its end is being written
        second = start_cell(server, other, f"open('/tmp/second-{other}', 'w').close()")
        eventually(lambda: has_run(f"second-{other}"))
        # Both cells have run, and no response is sent before its record is persisted.
        third = start_cell(server, one, "1")
        time.sleep(0.2)
        assert first.is_alive() and second.is_alive() and third.is_alive()
        free = time.monotonic()
        busy.unlink()
        for cell in (first, second, third):
            cell.join(SECONDS)
            assert cell.answer.status == 200 and cell.at >= free
    rows = server.ask("GET", f"/sessions/{one}/executions").json["executions"]
    assert [row["status"] for row in rows] == ["ok", "ok"]


def test_a_disk_error_is_reported_to_all_waiting_requests(disk):
    busy, server = disk
    one, other = server.create(), server.create()
    server.execute(one, "x = 6")
    with at_work(server):
        busy.touch()
        cells = [start_cell(server, one, f"open('/tmp/a-{one}', 'w').close()"),
                 start_cell(server, other, f"open('/tmp/a-{other}', 'w').close()")]
        eventually(lambda: has_run(f"a-{one}") and has_run(f"a-{other}"))
        time.sleep(0.2)
        busy.write_text("fail")
        for each in cells:
            each.join(SECONDS)
            assert each.answer.status == 500 and each.answer.code == "internal", each.answer
            assert "could not be kept" in each.answer.json["error"]["message"]
        busy.unlink()
        # When the disk works again, variables and files still exist and are persisted from now on.
        for session in (one, other):
            record = server.execute(session, f"open('/tmp/a-{session}').close(); print(7)")
            assert record["stdout"] == "7\n", record
        assert server.execute(one, "print(x)")["stdout"] == "6\n"
    assert "could not be kept" in server.log()


def test_a_stop_writes_everything_first(disk):
    busy, server = disk
    session = server.create()
    with at_work(server):
        busy.touch()
        cell = start_cell(server, session, f"open('/tmp/b-{session}', 'w').close(); print(8)")
        eventually(lambda: has_run(f"b-{session}"))
        time.sleep(0.2)
        server.process.terminate()
        time.sleep(0.2)
        assert cell.is_alive()
        busy.unlink()
        cell.join(SECONDS)
        assert cell.answer.status == 200 and cell.answer.json["stdout"] == "8\n", cell.answer
    server.process.wait(SECONDS)


KEYED = {"headers": {"Idempotency-Key": "one"}}
FIRST = pytest.mark.parametrize("more", [{"background": True}, KEYED, {**KEYED, "background": True}],
                                ids=["background", "key", "both"])
WRITES = {
    "create": lambda server, session: Request(server, "POST", "/sessions", {"template": "python"}),
    "once": lambda server, session: Request(server, "POST", "/executions",
                                            {"template": "python", "code": "1"}),
    "patch": lambda server, session: Request(server, "PATCH", f"/sessions/{session}",
                                             {"metadata": {"a": "b"}}),
    "delete": lambda server, session: Request(server, "DELETE", f"/sessions/{session}"),
}


def live(server):
    return sum(row["status"] == "live" for row in server.ask("GET", "/sessions").json["sessions"])


def touch(name):
    return f"open('/tmp/{name}', 'a').write('x')"


@FIRST
def test_executions_written_in_advance_delay_no_others(disk, more):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        first = start_cell(server, one, touch(f"first-{one}"), **more)
        time.sleep(0.2)
        second = start_cell(server, other, touch(f"second-{other}"))
        eventually(lambda: has_run(f"second-{other}"))
        # A later request for the same kernel must not run before it, either.
        behind = start_cell(server, one, touch(f"behind-{one}"))
        time.sleep(0.2)
        assert not has_run(f"first-{one}") and not has_run(f"behind-{one}")
        assert first.is_alive() and second.is_alive() and behind.is_alive()
        busy.unlink()
        for cell in (first, second, behind):
            cell.join(SECONDS)
        assert first.answer.status == (202 if "background" in more else 200), first.answer
        assert behind.answer.json["status"] == second.answer.json["status"] == "ok"
        assert server.execute(one, f"print(open('/tmp/first-{one}').read())")["stdout"] == "x\n"


@FIRST
def test_executions_that_cannot_be_written_in_advance_do_not_run(disk, more):
    busy, server = disk
    one = server.create()
    with at_work(server):
        busy.touch()
        first = start_cell(server, one, touch(f"never-{one}"), **more)
        time.sleep(0.2)
        behind = start_cell(server, one, touch(f"behind-{one}"))
        time.sleep(0.2)
        busy.write_text("fail")
        first.join(SECONDS)
        behind.join(SECONDS)
        assert first.answer.status == 500 and first.answer.code == "internal", first.answer
        assert behind.answer is not None  # it is answered, too
        assert not has_run(f"never-{one}")
        busy.unlink()
        again = start_cell(server, one, touch(f"never-{one}"), **more)
        again.join(SECONDS)
        assert again.answer.status == (202 if "background" in more else 200), again.answer
        # In the same queue: the code has run once before this code runs.
        assert server.execute(one, f"print(open('/tmp/never-{one}').read())")["stdout"] == "x\n"


def test_code_in_its_own_session_does_not_run_if_it_is_not_written(disk):
    busy, server = disk
    one = server.create()
    given = (server, "POST", "/executions", {"template": "python", "code": touch(f"once-{one}") +
                                             f"\nprint(open('/tmp/once-{one}').read())"})
    with at_work(server):
        busy.touch()
        first = Request(*given, **KEYED)
        time.sleep(0.2)
        assert first.is_alive() and not has_run(f"once-{one}")
        busy.write_text("fail")
        first.join(SECONDS)
        assert first.answer.status == 500 and first.answer.code == "internal", first.answer
        assert not has_run(f"once-{one}")
        busy.unlink()
        again = Request(*given, **KEYED)
        again.join(SECONDS)
        assert again.answer.status == 200 and again.answer.json["stdout"] == "x\n", again.answer


@pytest.mark.parametrize("name", WRITES)
def test_writes_of_a_request_delay_no_others(disk, name):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        writing = WRITES[name](server, one)
        time.sleep(0.2)
        second = start_cell(server, other, touch(f"second-{other}"))
        eventually(lambda: has_run(f"second-{other}"))
        assert writing.is_alive() and second.is_alive()
        busy.unlink()
        writing.join(SECONDS)
        second.join(SECONDS)
        assert writing.answer.status in (200, 201, 204), writing.answer
        assert second.answer.json["status"] == "ok"
    shown = server.ask("GET", f"/sessions/{one}")
    assert shown.status == (410 if name == "delete" else 200) or shown.json["state"] == "closed"
    if name == "patch":
        assert shown.json["metadata"] == {"a": "b"}


@pytest.mark.parametrize("name", WRITES)
def test_a_failed_write_of_a_request_is_an_error(disk, name):
    busy, server = disk
    one = server.create()
    count = live(server)
    with at_work(server):
        busy.touch()
        writing = WRITES[name](server, one)
        time.sleep(0.2)
        busy.write_text("fail")
        writing.join(SECONDS)
        busy.unlink()
        if name == "delete":  # the box ends whatever the disk does, and its row is written later
            assert writing.answer.status in (204, 500), writing.answer
            eventually(lambda: server.ask("GET", f"/sessions/{one}").status == 410 or
                       server.ask("GET", f"/sessions/{one}").json["state"] != "live")
        else:
            assert writing.answer.status == 500, writing.answer
            assert writing.answer.code == "internal"
            assert server.execute(one, "print(7)")["stdout"] == "7\n"
    if name in ("create", "once"):
        # No session exists that no client knows; `at_work` has opened one.
        eventually(lambda: live(server) == count + 1)
