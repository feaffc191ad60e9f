"""Code that outlives its cell: its output is counted, and never in the output of a later cell."""
import tempfile
import time

import pytest
from attack import Driver, show

pytestmark = pytest.mark.one_user

# Each prints STRAY as long as it lives, in another way that a cell can print.
OUTLIVES = {
    "thread": "def talk():\n    while True: print('STRAY'); time.sleep(0.01)\n"
              "threading.Thread(target=talk, daemon=True).start()",
    "thread without newlines": "def talk():\n    while True: print('STRAY', end=''); time.sleep(0.01)\n"
                               "threading.Thread(target=talk, daemon=True).start()",
    "thread on stderr": "def talk():\n    while True: sys.stderr.write('STRAY\\n'); time.sleep(0.01)\n"
                        "threading.Thread(target=talk, daemon=True).start()",
    "timer": "def talk():\n    print('STRAY'); t = threading.Timer(0.01, talk); t.daemon = True; t.start()\n"
             "talk()",
    "executor": "import concurrent.futures as cf\n"
                "def talk():\n    while True: print('STRAY'); time.sleep(0.01)\n"
                "pool = cf.ThreadPoolExecutor(1); f = pool.submit(talk)",
    "captured stream": "out = sys.stdout\ndef talk():\n    while True: out.write('STRAY\\n'); time.sleep(.01)\n"
                       "threading.Thread(target=talk, daemon=True).start()",
    "captured print": "import functools\nsay = functools.partial(print, file=sys.__stdout__, flush=True)\n"
                      "def talk():\n    while True: say('STRAY'); time.sleep(0.01)\n"
                      "threading.Thread(target=talk, daemon=True).start()",
    "binary buffer": "def talk():\n    while True: sys.stdout.buffer.write(b'STRAY\\n'); time.sleep(.01)\n"
                     "threading.Thread(target=talk, daemon=True).start()",
    "logging": "import logging\nlogging.basicConfig(stream=sys.stdout, force=True)\n"
               "def talk():\n    while True: logging.error('STRAY'); time.sleep(0.01)\n"
               "threading.Thread(target=talk, daemon=True).start()",
    "traceback of a thread": "def talk():\n    time.sleep(0.05); raise ValueError('STRAY')\n"
                             "for _ in range(30): threading.Thread(target=talk).start()",
    "subprocess": "p = subprocess.Popen('while :; do echo STRAY; sleep 0.01; done', shell=True)",
    "subprocess on stderr": "p = subprocess.Popen('while :; do echo STRAY >&2; sleep 0.01; done', "
                            "shell=True)",
    "shell job": "!(while :; do echo STRAY; sleep 0.01; done) &",
    "multiprocessing": "import multiprocessing as mp\ndef talk():\n"
                       "    while True: print('STRAY', flush=True); time.sleep(0.01)\n"
                       "p = mp.get_context('fork').Process(target=talk, daemon=True); p.start()",
    "fork": "if os.fork() == 0:\n    while True: os.write(1, b'STRAY\\n'); time.sleep(0.01)",
}


@pytest.fixture(scope="module")
def driver(place):
    made = Driver(place, place.user.own(tempfile.mkdtemp(prefix="state-", dir=place.base)))
    yield made
    made.close()


@pytest.fixture
def box(driver):
    opened = driver.open(prelude=False)
    opened.expect("ok", "import os, subprocess, sys, threading, time")
    yield opened
    opened.close()


def strays(record):
    """Diagnostics about output of earlier cells."""
    return [note for note in record["diagnostics"]
            if note["code"] in ("background_output", "stray_output")]


@pytest.mark.parametrize("name", OUTLIVES)
def test_output_of_earlier_cells_is_separated_and_reported(box, name):
    box.expect("ok", OUTLIVES[name])
    notes = []
    for number in range(3):
        time.sleep(0.05)
        record = box.expect("ok", f"print('mine'); time.sleep(0.05); sys.stderr.write('too {number}')")
        assert record["stdout"] == "mine\n" and record["stderr"] == f"too {number}", show(record)
        notes += strays(record)
    assert notes
    for note in notes:
        counted = note["detail"].get("bytes") or int(note["message"].split()[0])
        assert counted > 0 and "earlier cells" in note["message"]


def test_tqdm_in_a_thread(driver, place):
    if not (place.templates / "data" / "template.ini").exists():
        pytest.skip("the template data is not built")
    box = driver.open("data", prelude=False)
    box.expect("ok", "import sys, threading, time\nfrom tqdm import tqdm\n"
                     "def bar():\n    for _ in tqdm(range(10**6), mininterval=0.01): time.sleep(0.005)\n"
                     "threading.Thread(target=bar, daemon=True).start()")
    time.sleep(0.1)
    record = box.expect("ok", "time.sleep(0.1); print('mine')")
    assert (record["stdout"], record["stderr"]) == ("mine\n", ""), show(record)
    assert strays(record)


def test_a_task_does_not_run_between_cells(box):
    """asyncio tasks run only while a cell awaits; their output belongs to that cell."""
    box.expect("ok", "import asyncio\nasync def talk():\n    while True:\n        print('TASK')\n"
                     "        await asyncio.sleep(0.01)")
    assert box.expect("ok", "task = asyncio.create_task(talk())")["stdout"] in ("", "TASK\n")
    time.sleep(0.05)
    assert box.expect("ok", "print('mine')")["stdout"] == "mine\n"
    record = box.expect("ok", "await asyncio.sleep(0.05); print('awaited')")
    assert "TASK" in record["stdout"] and record["stdout"].endswith("awaited\n")


def test_a_logging_handler_of_an_earlier_cell_writes_to_the_current_one(box):
    """The handler writes to standard output, and the current cell is the one that logs."""
    box.expect("ok", "import logging\nlogging.basicConfig(stream=sys.stdout, force=True, "
                     "format='%(message)s')\nsaved = sys.stdout")
    record = box.expect("ok", "logging.error('logged'); saved.write('saved\\n')")
    assert record["stdout"].splitlines()[:2] == ["logged", "saved"], show(record)
    assert not strays(record)


def test_atexit_does_not_run_between_cells(box):
    box.expect("ok", "import atexit; atexit.register(print, 'STRAY')")
    for _ in range(2):
        assert box.expect("ok", "print('mine')")["stdout"] == "mine\n"


def test_a_pool_of_workers_answers_in_later_cells(box):
    """The processes of the pool belong to an earlier cell, so their output is dropped and counted."""
    box.expect("ok", "import multiprocessing as mp\ndef work(x): print('STRAY', flush=True); return x + 1\n"
                     "pool = mp.get_context('fork').Pool(2)")
    record = box.expect("ok", "print(pool.map(work, [1, 2]))")
    assert record["stdout"] == "[2, 3]\n", show(record)
    time.sleep(0.05)
    notes = strays(record) + strays(box.expect("ok", "1"))
    assert sum(note["detail"].get("bytes", 0) for note in notes) == 2 * len("STRAY\n"), notes


def test_the_count_is_exact(box):
    box.expect("ok", "gate = threading.Event()\ndef talk(): gate.wait(); print('x' * 999)\n"
                     "t = threading.Thread(target=talk); t.start()")
    box.expect("ok", "go = subprocess.Popen('sleep 0.1; printf %0500d 0', shell=True)")
    record = box.expect("ok", "gate.set(); t.join(); go.wait(); print('mine')")
    assert record["stdout"] == "mine\n"
    record["diagnostics"] += box.expect("ok", "1")["diagnostics"]
    counts = {note["code"]: note for note in strays(record)}
    assert counts["background_output"]["message"].startswith("1000 bytes printed by threads")
    assert counts["stray_output"]["detail"] == {"bytes": 500}
