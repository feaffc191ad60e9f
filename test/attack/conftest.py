"""Fixtures of the attack tests: a box for the attack, and a second session that must not notice it.

A test gets a `box` and tries to break out of it, or to do harm. After each test the second session,
the neighbour, must still print its secret, and the host must use no more resources than before:
processes, mounts, cgroups, descriptors of the warden, socket buffers, slabs, BPF code, open files
and keys.
"""
import platform
import secrets
import tempfile

import pytest
from attack import Driver, HostUsage
from host_counters import HostCounters
from leftovers import Leftovers


@pytest.fixture(scope="module")
def state(place):
    return place.user.own(tempfile.mkdtemp(prefix="state-", dir=place.base))


@pytest.fixture(scope="module")
def host_usage(place):
    return HostUsage(Leftovers(place.program_dirs))


class Neighbour:
    """A session of the same user that takes no part in the attack."""

    def __init__(self, driver):
        self.secret = secrets.token_hex(16)
        self.box = driver.open(prelude=False)
        self.box.expect("ok", f"secret = '{self.secret}'; open('secret.txt', 'w').write(secret)")

    def check(self):
        record = self.box.expect("ok", "print(secret, open('secret.txt').read())")
        assert record["stdout"].split() == [self.secret, self.secret]


@pytest.fixture(scope="module")
def neighbour(request, place, state, host_usage):
    """The neighbour has its own driver, so that a test can use it while the attack runs."""
    driver = Driver(place, state)
    try:
        made = Neighbour(driver)
        # Open one session of each kind, so that zygotes and pooled boxes count as the baseline.
        for template in getattr(request.module, "TEMPLATES", ["python"]):
            for language in ("python", "bash"):
                warm = driver.open(template, flags=4, language=language)
                warm.expect("ok", "true" if language == "bash" else "1")
                warm.close()
        yield made
    finally:
        driver.close()


@pytest.fixture(scope="module")
def base_usage(neighbour, host_usage):
    return host_usage.when_stable()  # once the warden has made its parked kernels and pooled boxes


@pytest.fixture
def driver(place, state, neighbour, base_usage, host_usage):
    """A driver for one test; its teardown compares the host and the neighbour with before."""
    made = Driver(place, state)
    counters = HostCounters()
    try:
        yield made
    finally:
        made.close()
    neighbour.check()
    over = host_usage.settle(base_usage)
    assert not over, f"more than before the attack: {over}"
    over = counters.grown()
    assert not over, f"the host holds more than before the attack: {over}"


@pytest.fixture
def box(driver):
    if platform.machine() != "x86_64":
        pytest.skip("the attacks' system call numbers are those of x86-64")
    return driver.open()
