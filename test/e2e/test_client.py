"""The commands that ask a daemon, against real ones: a port with a key, and the private one."""
import os
import pathlib
import signal
import time

import pytest

from reckon_cli import parse_json
from reckon_serve import Server

SECONDS = 60


@pytest.fixture
def private(reckon):
    """`reckon`, whose private daemon (one for each state directory) is ended after the test."""
    yield reckon
    for pid in daemons(reckon):
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda p=pid: not pathlib.Path(f"/proc/{p}").exists())


def daemons(reckon):
    """The private daemon of this state directory: it holds its lock until it ends."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"reckond") and str(reckon.state).encode() in words:
            found.append(int(entry.name))
    return found


def sockets(reckon):
    return list((reckon.place.runtime / "reckon").glob("daemon-*.sock"))


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_without_a_daemon_there_are_no_sessions_and_none_is_started(reckon):
    done = reckon("session", "ls").expect(0)
    assert done.out == "" and "no sessions" in done.err
    assert not daemons(reckon)


def test_the_private_daemon_is_started_once_for_many(private):
    running = [private.popen("session", "ls", "--all", "--json") for _ in range(8)]
    for process in running:
        out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out, err) == (0, b"[]\n", b"")
    assert len(daemons(private)) == 1


def test_the_socket_is_the_users_alone(private):
    private("session", "ls", "--all").expect(0)
    for path in sockets(private):
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_stale_socket_is_replaced(private):
    private("session", "ls", "--all").expect(0)
    (pid,) = daemons(private)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not daemons(private))
    private("session", "ls", "--all").expect(0)
    assert len(daemons(private)) == 1


def test_sessions_of_a_server_are_listed(reckon):
    with Server(reckon) as server:
        session = server.create()
        gone = server.create()
        assert server.ask("DELETE", f"/sessions/{gone}").status == 200
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}
        done = reckon("session", "ls", "--json", env=env).expect(0)
        assert [one["id"] for one in parse_json(done.stdout)] == [session]
        done = reckon("session", "ls", "--all", env=env)
        lines = done.expect(0).out.splitlines()
        assert lines[0].split() == ["NAME", "STATUS", "RUNTIME", "AGE", "ID", "WHY"]
        assert len(lines) == 3 and gone in lines[1] and session in lines[2]
        assert "a client closed it" in lines[1]
