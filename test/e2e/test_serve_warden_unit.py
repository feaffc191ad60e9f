"""`reckon serve` whose warden a service manager starts in a control group of its own.

This test is the manager: like systemd it runs the daemon in a group, ends every process of the
group when the daemon ends, and starts the next daemon in the same group. tools/package-test does it
with systemd.
"""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest
from reckon_serve import Server
from test_serve_adopt import lost, ok, running
from test_serve_durable import wardens
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
# A hierarchy that follows processes: systemd's own of v1, or v2.
HIERARCHIES = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup")
SECRET = "hunter2"


class Group:
    """A control group, as systemd makes one for a unit."""

    def __init__(self, name, sweeper):
        top = next(pathlib.Path(each) for each in HIERARCHIES if
                   pathlib.Path(each, "cgroup.procs").exists())
        self.top, self.path = top, top / f"reckon-test-{os.getpid()}-{name}"
        self.path.mkdir()
        self.sweeper = sweeper

    def pids(self):
        found = []
        for path in [self.path, *self.path.rglob("*/")]:
            with contextlib.suppress(OSError):
                found += [int(each) for each in (path / "cgroup.procs").read_text().split()]
        return found

    def end(self):
        """End every process of the group, and run ExecStopPost=, as systemd does when a main
        process has ended."""
        def is_empty():
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if self.pids():  # processes that a dead warden had frozen
                subprocess.run([self.sweeper, "--sweep"], check=False)
            return not self.pids()
        eventually(is_empty)

    @contextlib.contextmanager
    def entered(self):
        """Processes that are started meanwhile are born in the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self.top / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.end()
        for path in [*sorted(self.path.rglob("*/"), reverse=True), self.path]:
            with contextlib.suppress(OSError):
                path.rmdir()


class Manager:
    """Starts a warden for each connection, in a group for wardens."""

    def __init__(self, reckon, group):
        self.program = reckon.place.program.parent.parent / "libexec/reckon-warden"
        self.group, self.path, self.started = group, str(reckon.work / "manager.sock"), []
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.bind(self.path)
        self.door.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            with connection:
                number = connection.fileno()
                self.started.append(subprocess.Popen(
                    ["sh", "-c", f'echo $$ >"$1"/cgroup.procs; exec "$2" --request-fd {number}',
                     "sh", self.group.path, self.program], pass_fds=[number],
                    env={"PATH": os.environ["PATH"], "SECRET_TOKEN": SECRET}))

    def close(self):
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()
        self.thread.join()
        for each in self.started:
            with contextlib.suppress(ProcessLookupError):
                each.terminate()
            each.wait(20)


@pytest.fixture
def groups(reckon):
    sweeper = reckon.place.program.parent.parent / "libexec/reckon-warden"
    made = Group("service", sweeper), Group("wardens", sweeper)
    yield made
    for each in made:
        each.remove()


@pytest.fixture
def manager(reckon, groups):
    running_one = Manager(reckon, groups[1])
    yield running_one
    running_one.close()


@contextlib.contextmanager
def service(reckon, group, path):
    """A daemon in the group of its service."""
    server = Server(reckon, "--adopt-grace", "60", env={"RECKON_WARDEN_SOCKET": str(path)})
    with group.entered():
        server.start()
    try:
        yield server
        for each in server.ask("GET", "/sessions").json["sessions"]:
            server.ask("DELETE", f"/sessions/{each['id']}")
    finally:
        server.stop()


def again(server, group, number):
    """The service ends by this signal, and its manager starts it again."""
    server.stop(number)
    group.end()
    assert not group.pids()
    with group.entered():
        server.start()


def test_kernels_outlive_the_group_of_the_daemon(reckon, groups, manager):
    with service(reckon, groups[0], manager.path) as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        warden, = manager.started
        assert warden.pid in groups[1].pids() and warden.pid not in groups[0].pids()
        for number, signal_number in enumerate([signal.SIGKILL, signal.SIGTERM, signal.SIGKILL]):
            again(server, groups[0], signal_number)
            record = server.execute(session, "x += 1\nprint(x)")
            assert ok(record) == f"{number + 2}\n" and not lost(record)
        assert len(manager.started) == 1 and "will not outlive" not in server.log()


def test_a_warden_that_ends_is_requested_again(reckon, groups, manager):
    with service(reckon, groups[0], manager.path) as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        manager.started[0].kill()
        manager.started[0].wait()
        eventually(lambda: server.ask("POST", f"/sessions/{session}/executions",
                                      {"code": "1"}).status == 200)
        assert len(manager.started) == 2 and manager.started[1].pid in groups[1].pids()


@pytest.mark.parametrize("path", ["/nonexistent/manager.sock", "/etc/passwd", "relative"])
def test_without_a_manager_the_warden_is_in_the_daemons_group(reckon, groups, path):
    """Then its boxes end with the service; the log and the record say so."""
    with service(reckon, groups[0], path) as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        assert set(wardens(reckon)) <= set(groups[0].pids())
        assert ("will not outlive" in server.log()) == (path != "/etc/passwd")
        again(server, groups[0], signal.SIGKILL)
        record = server.execute(session, "print('x' in globals())")
        assert ok(record) == "False\n" and len(lost(record)) == 1


def test_a_stop_leaves_no_frozen_process(reckon, groups, manager):
    """With cgroup v1, SIGKILL does not end frozen processes: the unit's ExecStopPost= does."""
    with service(reckon, groups[0], manager.path) as server:
        session = server.create()
        ok(server.execute(session, "import subprocess\nx = 1\n"
                                   "subprocess.Popen(['sleep', '31557604'])"))
        assert running(b"31557604")
        server.stop(signal.SIGKILL)
        groups[0].end()
        time.sleep(0.5)
        manager.started[0].kill()
        manager.started[0].wait()
        for pid in groups[1].pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert subprocess.run([manager.program, "--sweep"], check=False).returncode == 0
        eventually(lambda: not running(b"31557604"))
        eventually(lambda: not groups[1].pids())
        with groups[0].entered():
            server.start()
        record = server.execute(session, "print('x' in globals())")
        assert ok(record) == "False\n" and len(lost(record)) == 1


def test_a_sweep_does_not_touch_live_boxes(reckon, groups, manager):
    with service(reckon, groups[0], manager.path) as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        subprocess.run([manager.program, "--sweep"], check=True)
        assert ok(server.execute(session, "print(x)")) == "1\n"
        server.stop(signal.SIGKILL)
        groups[0].end()
        subprocess.run([manager.program, "--sweep"], check=True)
        with groups[0].entered():
            server.start()
        record = server.execute(session, "print(x)")
        assert ok(record) == "1\n" and not lost(record)
