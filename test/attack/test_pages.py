"""What a session's memory costs: pages that it writes to are copied while nobody waits."""
import pytest
from syscalls import can_watch_every_map

WAIT_WARM, NO_PARKED = 4, 1


def faults(box):
    """Page faults of the kernel that needed no disk: field 10 of its stat."""
    with open(f"/proc/{box.pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[7])


@pytest.mark.parametrize("flags", [WAIT_WARM, WAIT_WARM | NO_PARKED], ids=["parked", "on-demand"])
def test_a_first_cell_finds_its_pages_copied(driver, flags):
    """A count, the same in each run: many more, before and in the cell, where the host does not say
    which pages are written to."""
    box = driver.open(flags=flags, prelude=False)
    ready = faults(box)
    box.expect("ok", "x = 1")
    first = faults(box)
    assert (ready < 120 and first - ready < 120) == can_watch_every_map(), (ready, first)
