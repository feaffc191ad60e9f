"""One system call of the warden fails while it opens a session: the start fails cleanly, or works.

strace makes the n-th call of a kind fail, in the warden only. Afterwards the next session opens,
the neighbour still prints its secret, and the host has no more leftovers than before.
"""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from attack import Driver, Refused, status_of

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

TURNS = int(os.environ.get("FAULT_TURNS", "3"))  # failures to try per system call
ERRORS = {  # errors that Linux returns for a correct call when a resource runs out
    "clone3": ["EAGAIN", "ENOMEM"], "mkdirat": ["ENOSPC", "ENOMEM"], "openat": ["EMFILE", "ENOMEM"],
    "write": ["ENOSPC", "ENOMEM"], "socketpair": ["EMFILE", "ENFILE"], "pidfd_open": ["EMFILE"],
    "sendmsg": ["ENOBUFS", "ETOOMANYREFS"], "recvmsg": ["ENOMEM"], "read": ["EIO", "ENOMEM"],
    "pread64": ["EIO", "ENODEV"], "newfstatat": ["ENOMEM"], "prlimit64": ["EPERM"],
    "setsockopt": ["ENOBUFS"], "epoll_ctl": ["ENOSPC", "ENOMEM"], "process_vm_writev": ["ENOMEM"],
    "ptrace": ["EPERM", "EIO"], "unlinkat": ["EBUSY"], "statfs": ["EIO"], "poll": ["ENOMEM"],
}
CALLS_MAX = {"openat": 73, "read": 35, "pread64": 30, "newfstatat": 32, "ptrace": 43, "write": 22,
             "prlimit64": 16, "unlinkat": 12, "recvmsg": 13, "mkdirat": 10, "socketpair": 10,
             "sendmsg": 10}  # about as many as one session on demand makes; others: 4


@contextlib.contextmanager
def failing(pid, call, error, when):
    """Makes the call fail; yields a function that says whether it did, once the block has ended."""
    strace = subprocess.Popen([shutil.which("strace") or "strace", "-p", str(pid), "-e", f"trace={call}",
                               "-e", f"inject={call}:error={error}:when={when}"],
                              stderr=subprocess.PIPE, text=True)
    assert "attached" in (said := strace.stderr.readline()), said
    seen = []
    try:
        yield lambda: "(INJECTED)" in "".join(seen)
    finally:
        strace.send_signal(signal.SIGINT)
        seen.append(strace.communicate(timeout=20)[1])


def warden_of(driver):
    return next(int(entry) for entry in os.listdir("/proc") if entry.isdigit()
                and status_of(entry).get("PPid") == str(driver.process.pid))


class Shaken:
    """A private warden, with a session (the witness) that must survive every failure."""

    def __init__(self, place, state):
        self.place, self.state, self.driver = place, state, None
        self.start()

    def start(self):
        self.driver = Driver(self.place, self.state, "--private")
        self.witness = self.open(0)
        self.witness.expect("ok", "lived = 0")
        self.open(4).close()
        self.warden = warden_of(self.driver)

    def open(self, flags):
        return self.driver.open(prelude=False, flags=flags)

    def check(self, may_lose):
        """The witness works; or, if the connection itself failed, its error says what is lost."""
        try:
            self.witness.expect("ok", "lived += 1")
            assert warden_of(self.driver) == self.warden
        except Refused as refused:
            assert may_lose and refused.code == -8 and "the session and its variables" in \
                refused.message, refused
            self.driver.close()
            self.start()
        again = self.open(4)
        assert again.run("print(1)")["stdout"] == "1\n"
        again.close()


@pytest.fixture(scope="module")
def shaken(place, state, neighbour):
    made = Shaken(place, state)
    yield made
    made.driver.close()


# The calls that carry messages of a client: after a failure the warden closes the connection.
CONNECTION = ("recvmsg", "sendmsg")


@pytest.mark.parametrize("call", sorted(ERRORS))
def test_a_call_of_the_warden_fails(shaken, neighbour, host_usage, call):
    host_usage.settle({}, 1)
    base = host_usage.measure()
    dice = random.Random(call)
    most = CALLS_MAX.get(call, 4)
    failed = 0
    for turn in sorted({1, *dice.sample(range(1, most + 1), min(TURNS, most))}):
        error = dice.choice(ERRORS[call])
        with failing(shaken.warden, call, error, turn) as did_fail:
            try:
                box = shaken.open(4)
                record = box.run("print(6 * 7)")
                assert record["status"] == "infra_error" or record["stdout"] == "42\n"
                box.close()
            except Refused as refused:
                assert refused.code < 0 and refused.message, refused
            time.sleep(0.2)  # the warden prepares the next box
        failed += did_fail()
        shaken.check(call in CONNECTION)
    assert failed, f"{call} was never called"
    neighbour.check()
    if call not in CONNECTION:  # after a lost connection a new warden runs: nothing to compare
        over = host_usage.settle(base, 10)
        assert not over, over
