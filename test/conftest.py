"""Fixtures of the tests that run built programs (e2e, soak).

A test that uses `reckon` runs once as root and once as an ordinary user if the suite runs as root,
otherwise once as the current user. A test can choose one user:

    @pytest.mark.parametrize("as_user", ["root"], indirect=True)

A test or module in which no wall, limit or path depends on the user runs once:

    @pytest.mark.one_user                             as root if the suite runs as root

Each module has one warden per user. When the module is done its fixture ends that warden, and the
module fails if a process, a cgroup or a mount is left over.
"""
import os
import shutil
import signal
import tempfile

import private_daemon
import pytest
from leftovers import PATIENCE, Leftovers
from reckon_cli import ROOTLESS_ID, Place, Reckon, User
from reckon_serve import Server

TEST_SECONDS = 180 * PATIENCE  # no measurement, only stops a test that hangs


def pytest_generate_tests(metafunc):
    """Runs tests as both users, or as one with the mark one_user, unless a test chooses itself."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "as_user" in metafunc.fixturenames and not any("as_user" in mark.args[0] for mark in marks):
        users = ["root", "rootless"] if os.geteuid() == 0 else ["rootless"]
        one = metafunc.definition.get_closest_marker("one_user")
        metafunc.parametrize("as_user", users[:1] if one else users, indirect=True)


@pytest.fixture(scope="module")
def as_user(request):
    """The user that runs `reckon` in this test."""
    if request.param == "root":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        return User("root", 0, 0)
    if os.geteuid() == 0:
        return User("rootless", ROOTLESS_ID, ROOTLESS_ID)
    return User("rootless", os.geteuid(), os.getegid())


@pytest.fixture(scope="module")
def place(as_user):
    """The user's directories for one module; fails if something is left over afterwards."""
    base = tempfile.mkdtemp(prefix=f"reckon-e2e-{as_user.name}-")
    try:
        made = Place(base, as_user)
        leftovers = Leftovers(made.program_dirs)
        yield made
        leftovers.end_wardens()
        left = leftovers.wait_for_none()
        leftovers.kill()
        assert not left, f"left behind: {left}"
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def reckon(place):
    """Runs the built program; see reckon_cli.Reckon. State and working directory are fresh."""
    made = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    yield made
    private_daemon.end(made)


@pytest.fixture
def no_daemon_stays(reckon):
    """Ends the user's private daemon, which a command may have started, after the test."""
    yield
    private_daemon.end(reckon)


@pytest.fixture
def private(reckon, no_daemon_stays):
    """`reckon`, whose private daemon is ended after the test."""
    return reckon


@pytest.fixture
def server(reckon):
    """`reckon serve` with its own state directory."""
    with Server(reckon) as running:
        yield running


@pytest.fixture(scope="module")
def module_server(place):
    """One `reckon serve` for all tests of a module, none of which may crash its front."""
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running
        assert "the front is gone" not in running.log()


@pytest.fixture
def session(server):
    made = server.create()
    yield made
    server.ask("DELETE", f"/sessions/{made}")


@pytest.fixture(autouse=True)
def time_limit(request):
    """Ends a test that hangs, so that the others still run."""
    if request.node.get_closest_marker("slow"):
        yield
        return

    def stop(*_):
        raise TimeoutError(f"the test did not end in {TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
