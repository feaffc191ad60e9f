"""Short turns of a processor for who begins, long ones for who computes: sched_slice.c.

What is read is what Linux keeps for each task.
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


def test_a_cell_begins_with_short_turns_and_goes_on_with_long_ones(driver, usual):
    box = driver.open(prelude=False)
    for _ in range(3):
        box.background(BUSY)
        eventually(lambda: turn_of(box.pid) == on_this_host(usual, LONG))
        assert box.join()["status"] == "ok"
        # On a busy host a short cell may last as long as one that computes.
        eventually(lambda: box.expect("ok", "1") and
                   turn_of(box.pid) == on_this_host(usual, SHORT))


def test_its_threads_go_on_with_long_ones(driver, usual):
    box = driver.open(prelude=False)
    box.background("import threading, time\n"
                   "other = threading.Thread(target=time.sleep, args=(2,))\nother.start()\n" + BUSY)
    eventually(lambda: len(tasks(box)) == 2 and
               {turn_of(task) for task in tasks(box)} == {on_this_host(usual, LONG)})
    assert box.join()["status"] == "ok"


def test_a_branch_begins_anew(driver, usual):
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


def test_one_that_dies_or_goes_amid_its_beginning_takes_nobody_along(driver):
    """The warden keeps those that begin in a list, and none of it may lead nowhere."""
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


def test_a_nicer_cell_stays_as_nice_as_it_is(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "import os; os.nice(7)")
    box.expect("ok", BUSY)
    box.expect("ok", "assert os.getpriority(os.PRIO_PROCESS, 0) == 7")
