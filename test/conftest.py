"""Fixtures of the tests that run built programs (e2e, soak).

A test that takes `reckon` runs once as root and once as an ordinary user when the suite has root,
and once as whoever started it otherwise. One that needs a particular user says so:

    @pytest.mark.parametrize("as_user", ["root"], indirect=True)

Each module has one warden per user. When the module is done that warden is told to end, and the
module fails if a process, a cgroup or a mount stays behind.
"""
import os
import shutil
import signal
import tempfile

import pytest
from leftovers import PATIENCE, Leftovers
from reckon_cli import ROOTLESS_ID, Place, Reckon, User

TEST_SECONDS = 180 * PATIENCE  # measures nothing; only keeps one test from hanging the suite


@pytest.fixture(scope="module", params=["root", "rootless"] if os.geteuid() == 0 else ["rootless"])
def as_user(request):
    """Who runs `reckon` in this test."""
    if request.param == "root":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        return User("root", 0, 0)
    if os.geteuid() == 0:
        return User("rootless", ROOTLESS_ID, ROOTLESS_ID)
    return User("rootless", os.geteuid(), os.getegid())


@pytest.fixture(scope="module")
def place(as_user):
    """The user's directories for one module; fails when something outlives it."""
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
    return Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))


@pytest.fixture(autouse=True)
def time_limit(request):
    """Ends a test that waits for what never comes, so that the others still run."""
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
