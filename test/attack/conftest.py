"""Attacks run beside a neighbour: a second session with a secret, untouched by each of them.

A test gets a `box` and tries to break out of it, or to do harm. After each test the neighbour must
still answer with its secret, and what the host carries (processes, mounts, cgroups, descriptors of
the warden; buffers of sockets, slabs, code of BPF, open files, keys) must be back to what it was
before.
"""
import platform
import secrets
import tempfile

import pytest
from attack import Driver, Weight
from host_counters import HostCounters
from leftovers import Leftovers


@pytest.fixture(scope="module")
def state(place):
    return place.user.own(tempfile.mkdtemp(prefix="state-", dir=place.base))


@pytest.fixture(scope="module")
def weight(place):
    return Weight(Leftovers(place.program_dirs))


class Neighbour:
    """A session of the same user that has nothing to do with the attack."""

    def __init__(self, driver):
        self.secret = secrets.token_hex(16)
        self.box = driver.open(prelude=False)
        self.box.expect("ok", f"secret = '{self.secret}'; open('secret.txt', 'w').write(secret)")

    def check(self):
        record = self.box.expect("ok", "print(secret, open('secret.txt').read())")
        assert record["stdout"].split() == [self.secret, self.secret]


@pytest.fixture(scope="module")
def neighbour(request, place, state, weight):
    """Has a driver of its own, so that it can be asked while the attack runs."""
    driver = Driver(place, state)
    try:
        made = Neighbour(driver)
        # One session of each kind, so that what is kept for the next one is there.
        for template in getattr(request.module, "TEMPLATES", ["python"]):
            for language in ("python", "bash"):
                warm = driver.open(template, flags=4, language=language)
                warm.expect("ok", "true" if language == "bash" else "1")
                warm.close()
        yield made
    finally:
        driver.close()


@pytest.fixture(scope="module")
def base_weight(neighbour, weight):
    return weight.steady()  # parked kernels and spare boxes are made when nobody waits


@pytest.fixture
def driver(place, state, neighbour, base_weight, weight):
    """For sessions of one test; afterwards the host and the neighbour are as they were."""
    made = Driver(place, state)
    counters = HostCounters()
    try:
        yield made
    finally:
        made.close()
    neighbour.check()
    over = weight.settle(base_weight)
    assert not over, f"more than before the attack: {over}"
    over = counters.grown()
    assert not over, f"the host holds more than before the attack: {over}"


@pytest.fixture
def box(driver):
    if platform.machine() != "x86_64":
        pytest.skip("the attacks' system call numbers are those of x86-64")
    return driver.open()
