"""One warden runs many sessions with all kinds of failures for SOAK_SECONDS: nothing may pile up.

The seed is printed; SOAK_SEED repeats a run's choices.
"""
import concurrent.futures
import os
import pathlib
import random
import time

import pytest
from leftovers import Leftovers

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
SEED = int(os.environ.get("SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
WORKERS = 2

# name: (arguments, code, expected statuses)
CASES = {
    "value": ([], "6*7", {"ok"}),
    "exception": ([], "1/0", {"error"}),
    "endless": (["--timeout", "1s"], "while True: pass", {"timeout"}),
    "memory": (["--memory", "256M"], "x = bytearray(900 << 20)", {"error", "out_of_memory"}),
    "processes": (["--pids", "16"], "import os, time\nfor _ in range(100):\n"
                                    "    if os.fork() == 0:\n        time.sleep(1000)", {"error"}),
    "exit": ([], "import os; os._exit(3)", {"kernel_died"}),
    "output": (["--max-output", "64K"], "print('x' * (8 << 20))", {"ok", "output_limit"}),
    "orphan": ([], "import subprocess\n"
                   "subprocess.Popen(['sleep', '1000'], start_new_session=True).pid > 0", {"ok"}),
    "files": ([], "for i in range(50):\n    open(f'f{i}', 'wb').write(b'x' * 10000)", {"ok"}),
    "shell": (["-l", "bash"], "echo $((6 * 7)); false", {"ok", "error"}),
}


def work(reckon, rng, until):
    """Runs random cases; returns the count of each."""
    counts = dict.fromkeys([*CASES, "abandoned"], 0)
    while time.monotonic() < until:
        name = rng.choice(list(counts))
        counts[name] += 1
        if name == "abandoned":
            with reckon.start("run", "-c", "import time; time.sleep(1000)"):
                time.sleep(rng.random())
            continue
        arguments, code, statuses = CASES[name]
        record = reckon.record(code, *arguments)
        assert record["status"] in statuses, (name, record)
    return counts


def weigh(leftovers):
    """The numbers of new processes, of the wardens' descriptors, and of their resident KiB."""
    processes = [item for item in leftovers.new() if item[0] == "process"]
    fds = rss = 0
    for _, pid, name in processes:
        if name.startswith("reckon-warden "):
            fds += len(os.listdir(f"/proc/{pid}/fd"))
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            rss += int(status.split("VmRSS:")[1].split()[0])
    return len(processes), fds, rss


def settle(leftovers, limit):
    """Waits until the number of processes is at most `limit`; returns the last measurement."""
    deadline = time.monotonic() + 60
    while (weight := weigh(leftovers))[0] > limit and time.monotonic() < deadline:
        time.sleep(0.2)
    return weight


@pytest.mark.slow
def test_nothing_piles_up(place, reckon):
    print("SOAK_SEED", SEED)
    leftovers = Leftovers(place.program_dirs)
    start = time.monotonic()

    def both(share, salt):
        until = start + SECONDS * share
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            jobs = [pool.submit(work, reckon, random.Random(f"{SEED}/{salt}/{n}"), until)
                    for n in range(WORKERS)]
            return [job.result() for job in jobs]

    # A warm-up of a fifth of the time loads templates, parked kernels and the allocator.
    both(0.2, "warm")
    reckon.record("6*7")
    time.sleep(2)
    processes, fds, rss = weigh(leftovers)
    assert fds > 0, "the shared warden is not running"
    print("after the warm-up:", processes, fds, rss)
    print("cases:", both(1.0, "soak"))
    reckon.record("6*7")
    after = settle(leftovers, processes)
    print("at the end:", *after)
    assert after[0] <= processes
    assert after[1] <= fds + 4
    assert after[2] <= rss * 1.5 + 8192
