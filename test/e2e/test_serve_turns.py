"""When the disk is slow or broken: who waits for whom, and what is told.

test/support/held_sync.c is the disk. Nothing is asserted about how long something takes, only about
what came before what.
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


def test_nobody_waits_for_the_end_of_the_audit(reckon):
    """Its file is renamed: a busy disk takes its time for that, too."""
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
    """A file whose being there makes the daemon's disk busy; a server on that disk."""
    path = reckon.work / "held"
    env = {"LD_PRELOAD": str(ROOT / "build/test/support/held_sync.so"), "HELD_SYNC_FILE": str(path)}
    with Server(reckon, env=env) as server:
        try:
            yield path, server
        finally:
            path.unlink(missing_ok=True)


class Request(threading.Thread):
    """One that is made beside others; `answer` and `at` when it was answered."""

    def __init__(self, server, *given, **more):
        super().__init__()
        self.server, self.given, self.more = server, given, more
        self.answer = self.at = None
        self.start()

    def run(self):
        self.answer = self.server.ask(*self.given, **self.more)
        self.at = time.monotonic()


def Asked(server, session, code, headers=None, **more):
    """A cell."""
    return Request(server, "POST", f"/sessions/{session}/executions", {"code": code, **more},
                   headers=headers or {})


def has_run(name):
    """Whether a cell made this file: seen from outside, since every answer waits for the disk. What is
    in /tmp is not kept, so that only the end of the cell is to be brought there."""
    return bool(glob.glob(f"/proc/[0-9]*/root/tmp/{name}"))


@contextlib.contextmanager
def at_work(server):
    """A session in which something runs all the time: so others are at work."""
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


def test_cells_run_while_another_is_brought_to_the_disk(disk):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        first = Asked(server, one, f"open('/tmp/first-{one}', 'w').close()")
        eventually(lambda: has_run(f"first-{one}"))
        time.sleep(0.2)  # so that its end is on its way to the disk
        second = Asked(server, other, f"open('/tmp/second-{other}', 'w').close()")
        eventually(lambda: has_run(f"second-{other}"))
        # Both have run, and neither is told before it is kept; nor is anything else.
        third = Asked(server, one, "1")
        time.sleep(0.2)
        assert first.is_alive() and second.is_alive() and third.is_alive()
        free = time.monotonic()
        busy.unlink()
        for asked in (first, second, third):
            asked.join(SECONDS)
            assert asked.answer.status == 200 and asked.at >= free
    rows = server.ask("GET", f"/sessions/{one}/executions").json["executions"]
    assert [row["status"] for row in rows] == ["ok", "ok"]


def test_a_disk_that_fails_is_told_to_everybody_who_waits(disk):
    busy, server = disk
    one, other = server.create(), server.create()
    server.execute(one, "x = 6")
    with at_work(server):
        busy.touch()
        asked = [Asked(server, one, f"open('/tmp/a-{one}', 'w').close()"),
                 Asked(server, other, f"open('/tmp/a-{other}', 'w').close()")]
        eventually(lambda: has_run(f"a-{one}") and has_run(f"a-{other}"))
        time.sleep(0.2)
        busy.write_text("fail")
        for each in asked:
            each.join(SECONDS)
            assert each.answer.status == 500 and each.answer.code == "internal", each.answer
            assert "could not be kept" in each.answer.json["error"]["message"]
        busy.unlink()
        # It is over with its cause: variables and files are there, and kept from now on.
        for session in (one, other):
            record = server.execute(session, f"open('/tmp/a-{session}').close(); print(7)")
            assert record["stdout"] == "7\n", record
        assert server.execute(one, "print(x)")["stdout"] == "6\n"
    assert "could not be kept" in server.log()


def test_a_stop_brings_everything_to_the_disk(disk):
    busy, server = disk
    session = server.create()
    with at_work(server):
        busy.touch()
        asked = Asked(server, session, f"open('/tmp/b-{session}', 'w').close(); print(8)")
        eventually(lambda: has_run(f"b-{session}"))
        time.sleep(0.2)
        server.process.terminate()
        time.sleep(0.2)
        assert asked.is_alive()
        busy.unlink()
        asked.join(SECONDS)
        assert asked.answer.status == 200 and asked.answer.json["stdout"] == "8\n", asked.answer
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
def test_what_is_kept_before_it_runs_holds_nobody_up(disk, more):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        first = Asked(server, one, touch(f"first-{one}"), **more)
        time.sleep(0.2)
        second = Asked(server, other, touch(f"second-{other}"))
        eventually(lambda: has_run(f"second-{other}"))
        # Nor may what was asked for later on the same kernel run before it.
        behind = Asked(server, one, touch(f"behind-{one}"))
        time.sleep(0.2)
        assert not has_run(f"first-{one}") and not has_run(f"behind-{one}")
        assert first.is_alive() and second.is_alive() and behind.is_alive()
        busy.unlink()
        for asked in (first, second, behind):
            asked.join(SECONDS)
        assert first.answer.status == (202 if "background" in more else 200), first.answer
        assert behind.answer.json["status"] == second.answer.json["status"] == "ok"
        assert server.execute(one, f"print(open('/tmp/first-{one}').read())")["stdout"] == "x\n"


@FIRST
def test_what_could_not_be_kept_before_it_runs_does_not_run(disk, more):
    busy, server = disk
    one = server.create()
    with at_work(server):
        busy.touch()
        first = Asked(server, one, touch(f"never-{one}"), **more)
        time.sleep(0.2)
        behind = Asked(server, one, touch(f"behind-{one}"))
        time.sleep(0.2)
        busy.write_text("fail")
        first.join(SECONDS)
        behind.join(SECONDS)
        assert first.answer.status == 500 and first.answer.code == "internal", first.answer
        assert behind.answer is not None  # whose turn it was then
        assert not has_run(f"never-{one}")
        busy.unlink()
        again = Asked(server, one, touch(f"never-{one}"), **more)
        again.join(SECONDS)
        assert again.answer.status == (202 if "background" in more else 200), again.answer
        # In one queue: it has run when this does, once.
        assert server.execute(one, f"print(open('/tmp/never-{one}').read())")["stdout"] == "x\n"


def test_code_in_a_session_of_its_own_that_could_not_be_kept_does_not_run(disk):
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
def test_what_a_request_writes_holds_nobody_up(disk, name):
    busy, server = disk
    one, other = server.create(), server.create()
    with at_work(server):
        busy.touch()
        asked = WRITES[name](server, one)
        time.sleep(0.2)
        second = Asked(server, other, touch(f"second-{other}"))
        eventually(lambda: has_run(f"second-{other}"))
        assert asked.is_alive() and second.is_alive()
        busy.unlink()
        asked.join(SECONDS)
        second.join(SECONDS)
        assert asked.answer.status in (200, 201, 204), asked.answer
        assert second.answer.json["status"] == "ok"
    there = server.ask("GET", f"/sessions/{one}")
    assert there.status == (410 if name == "delete" else 200) or there.json["state"] == "closed"
    if name == "patch":
        assert there.json["metadata"] == {"a": "b"}


@pytest.mark.parametrize("name", WRITES)
def test_what_a_request_wrote_and_the_disk_did_not_take_is_told(disk, name):
    busy, server = disk
    one = server.create()
    count = live(server)
    with at_work(server):
        busy.touch()
        asked = WRITES[name](server, one)
        time.sleep(0.2)
        busy.write_text("fail")
        asked.join(SECONDS)
        busy.unlink()
        if name == "delete":  # the box is gone whatever the disk does, and its row says so later
            assert asked.answer.status in (204, 500), asked.answer
            eventually(lambda: server.ask("GET", f"/sessions/{one}").status == 410 or
                       server.ask("GET", f"/sessions/{one}").json["state"] != "live")
        else:
            assert asked.answer.status == 500, asked.answer
            assert asked.answer.code == "internal"
            assert server.execute(one, "print(7)")["stdout"] == "7\n"
    if name in ("create", "once"):
        # Nor is there one of which nobody knows; `at_work` has opened one.
        eventually(lambda: live(server) == count + 1)
