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

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
SECONDS = 60


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


class Asked(threading.Thread):
    """A cell, asked for beside others; `answer` and `at` when it was answered."""

    def __init__(self, server, session, code):
        super().__init__()
        self.server, self.path, self.code = server, f"/sessions/{session}/executions", code
        self.answer = self.at = None
        self.start()

    def run(self):
        self.answer = self.server.ask("POST", self.path, {"code": self.code})
        self.at = time.monotonic()


def eventually(is_so):
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
