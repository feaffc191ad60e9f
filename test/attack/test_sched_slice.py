"""The warden gives a cell short time slices when it begins and long ones later: sched_slice.c.

The tests read the slice of each task with sched_getattr().
"""
import os
import time

import pytest
from turns import LONG, SHORT, turn_of
from waiting import eventually

BUSY = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"


@pytest.fixture
def usual():
    return turn_of(0)


def on_this_host(usual, turn):
    return turn if usual else 0


def tasks(box):
    return [int(name) for name in os.listdir(f"/proc/{box.pid}/task")]


def test_a_cell_begins_with_short_slices_and_gets_long_ones(driver, usual):
    box = driver.open(prelude=False)
    for _ in range(3):
        box.background(BUSY)
        eventually(lambda: turn_of(box.pid) == on_this_host(usual, LONG))
        assert box.join()["status"] == "ok"
        # On a busy host a short cell may last as long as one that computes.
        eventually(lambda: box.expect("ok", "1") and
                   turn_of(box.pid) == on_this_host(usual, SHORT))


def test_threads_of_a_cell_get_long_slices(driver, usual):
    box = driver.open(prelude=False)
    box.background("import threading, time\n"
                   "other = threading.Thread(target=time.sleep, args=(2,))\nother.start()\n" + BUSY)
    eventually(lambda: len(tasks(box)) == 2 and
               {turn_of(task) for task in tasks(box)} == {on_this_host(usual, LONG)})
    assert box.join()["status"] == "ok"


def test_a_branch_begins_with_short_slices(driver, usual):
    box = driver.open(prelude=False)
    box.expect("ok", BUSY)
    assert turn_of(box.pid) == on_this_host(usual, LONG)
    copy = box.branch()
    eventually(lambda: copy.expect("ok", "1") and
               turn_of(copy.pid) == on_this_host(usual, SHORT))
    assert turn_of(box.pid) == on_this_host(usual, LONG)
    copy.background(BUSY)
    eventually(lambda: turn_of(copy.pid) == on_this_host(usual, LONG))
    assert copy.join()["status"] == "ok"


def test_a_kernel_that_ends_as_its_cell_begins_harms_no_other(driver):
    """The warden lists the kernels whose cell begins; a kernel that dies or restarts must leave the
    list, or the warden crashes and other sessions end."""
    stays = driver.open(prelude=False)
    for _ in range(10):
        box = driver.open(prelude=False)
        other = box.context()
        assert box.run("import os; os._exit(1)")["status"] == "kernel_died"
        other.background("import time; time.sleep(9)")
        box.restart()
        box.expect("ok", "1")
        box.close()
        stays.expect("ok", "1")
    time.sleep(0.01)
    stays.expect("ok", "1")


def test_a_cell_keeps_its_nice_value(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "import os; os.nice(7)")
    box.expect("ok", BUSY)
    box.expect("ok", "assert os.getpriority(os.PRIO_PROCESS, 0) == 7")
