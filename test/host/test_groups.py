"""Control groups where there is one hierarchy, and several wardens of a user have groups in it.

test/unit/test_box_cgroup.c tries the same on a fake tree; on hosts with v1 hierarchies an ordinary
user's warden has no groups at all.
"""
import os
import pathlib
import signal

import pytest
from leftovers import Leftovers

CGROUPS = pathlib.Path("/sys/fs/cgroup")


def wardens():
    """Paths of the wardens' groups."""
    return {folder for folder, _, _ in os.walk(CGROUPS)
            if os.path.basename(folder).startswith("reckon-")}


def test_a_warden_that_ends_leaves_anothers_groups_alone(reckon):
    reckon("run", "-t", "python", "-c", "1").expect(0)
    before = wardens()
    assert len(before) == 1, before
    reckon("run", "-t", "python", "--private", "-c", "1").expect(0)
    assert wardens() == before
    # Among them were those of a box that waits for the next run.
    for _ in range(3):
        reckon("run", "-t", "python", "-c", "1").expect(0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_warden_told_to_end_takes_its_groups_with_it(reckon, place, number):
    seen = Leftovers(place.program_dirs)
    seen.before = set()
    reckon("run", "-t", "python", "-c", "1").expect(0)
    mine = wardens()
    assert mine
    # By the number that a user sees first: the process that waits for the one in the namespace.
    for path in mine:
        os.kill(int(path.rpartition("-")[2]), number)
    left = seen.wait_for_none()
    assert not left
