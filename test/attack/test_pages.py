"""Page faults of a session: the warden copies pages that the first cell writes before it starts."""
import time

import pytest
from syscalls import can_watch_every_map

WAIT_WARM, NO_PARKED = 4, 1
TEMPLATES = ["python", "data"]


def faults(box):
    """Minor page faults of the kernel: field 10 of /proc/PID/stat."""
    with open(f"/proc/{box.pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[7])


def first_cell(driver, flags):
    box = driver.open(template="data", flags=flags, prelude=False)
    ready = faults(box)
    box.expect("ok", "x = 1")
    count = faults(box) - ready
    box.close()
    return count


def test_a_parked_kernel_has_fewer_page_faults(driver):
    """The first cell in a parked kernel has far fewer page faults than in one made on demand. The
    test opens sessions until it gets a parked one, because no interface shows when one is parked."""
    if not can_watch_every_map():
        return  # the warden copies no pages ahead on such a host
    on_demand = first_cell(driver, WAIT_WARM | NO_PARKED)
    counts = []
    # A parked kernel has about a third of some sixty faults; two equal kernels differ by less.
    while not counts or min(counts) > on_demand * 0.6:
        assert len(counts) < 20, (on_demand, counts)
        time.sleep(0.3)
        counts.append(first_cell(driver, WAIT_WARM))


@pytest.mark.parametrize("flags", [WAIT_WARM, WAIT_WARM | NO_PARKED], ids=["parked", "on-demand"])
def test_page_faults_of_a_first_cell(driver, flags):
    """Start and first cell have fewer than 120 page faults each if the host can report which pages
    are written, and more if it cannot."""
    box = driver.open(flags=flags, prelude=False)
    ready = faults(box)
    box.expect("ok", "x = 1")
    first = faults(box)
    assert (ready < 120 and first - ready < 120) == can_watch_every_map(), (ready, first)
