"""Time limits and interrupts keep the variables wherever CPython can be interrupted at all."""
import tempfile

import pytest
from attack import Driver, show

pytestmark = pytest.mark.one_user

SETUP = ("import asyncio, os, queue, signal, socket, subprocess, sys, threading, time\n"
         "kept = {'a': [1, 2]}")
FOR_EVER = {
    "loop": "while True: pass",
    "nested": "def f(n):\n    while True: g(n)\ndef g(n): return n and g(n - 1)\nf(50)",
    "generator": "def g():\n    while True: yield 1\nsum(g())",
    "sleep": "time.sleep(100)",
    "regex": "import re; re.match('(a+)+$', 'a' * 40 + 'b')",
    "json": "import json; text = '[' + '1,' * 200_000 + '1]'\nwhile True: json.loads(text)",
    "integers": "x = 3\nwhile True: x = x * x % 10**20000",
    "join": "while True: ','.join(['abc'] * 10**5)",
    "sqlite": "import sqlite3; sqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 "
              "union all select x + 1 from c) select count(*) from c').fetchall()",
    "subprocess": "subprocess.run(['sleep', '100'])",
    "os.system": "os.system('sleep 100; true')",
    "shell": "!sleep 100; true",
    "script": "%%bash\nsleep 100\ntrue",
    "a stopped child": "p = subprocess.Popen(['sleep', '100']); p.send_signal(19); p.wait()",
    "pool": "import multiprocessing as mp; mp.get_context('fork').Pool(2).map(time.sleep, [100, 100])",
    "join a thread": "t = threading.Thread(target=time.sleep, args=(60,), daemon=True)\n"
                     "t.start(); t.join()",
    "lock": "l = threading.Lock(); l.acquire(); l.acquire()",
    "queue": "queue.Queue().get()",
    "condition": "c = threading.Condition(); c.acquire(); c.wait()",
    "await": "await asyncio.sleep(100)",
    "busy task": "async def f():\n    while True: await asyncio.sleep(0)\nawait f()",
    "recv": "a, b = socket.socketpair(); a.recv(1)",
    "read": "r, w = os.pipe(); os.read(r, 1)",
    "pause": "signal.pause()",
    "c function": "import ctypes\nwhile True: ctypes.CDLL(None).usleep(1000)",
    "finally": "while True:\n    try: time.sleep(100)\n    finally: cleaned = True",
    "swallowed once": "try: time.sleep(100)\nexcept KeyboardInterrupt: pass\ntime.sleep(100)",
    "in __del__": "class D:\n    def __del__(self): time.sleep(0.05)\nwhile True: D()",
    "in __repr__": "class R:\n    def __repr__(self):\n        while True: pass\nR()",
    "import": "open('slow.py', 'w').write('import time; time.sleep(100)')\nimport slow",
    "atexit": "import atexit; atexit.register(time.sleep, 100); time.sleep(100)",
    "flood": "while True: print('x' * 100)",
    "%%time": "%%time\ntime.sleep(100)",
}
# Code that ignores interrupts: it ends by force, and the kernel stays.
STUBBORN = {
    "except pass": "while True:\n    try: time.sleep(100)\n    except KeyboardInterrupt: pass",
    "bare except": "def f():\n    while True:\n        try:\n            while True: pass\n"
                   "        except: continue\nf()",
    "finally continue": "def f():\n    while True:\n        try: time.sleep(100)\n"
                        "        finally: continue\nf()",
    "ignored": "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    "handled": "signal.signal(signal.SIGINT, lambda *_: None)\ntime.sleep(100)",
    "default action": "signal.signal(signal.SIGINT, signal.SIG_DFL)\ntime.sleep(100)",
    "task": "async def f():\n    while True:\n        try: time.sleep(100)\n"
            "        except BaseException: pass\nawait f()",
}
# Code that no interrupt reaches: only the end of the process stops it.
DEAF = {
    "sum": "sum(range(10**12))",
    "blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass",
}
DATA = {
    "matmul": "a = np.random.rand(600, 600)\nwhile True: a @ a",
    "sort": "a = np.random.rand(300_000)\nwhile True: np.sort(a)",
    "ufunc": "a = np.random.rand(300_000)\nwhile True: np.sin(a)",
    "apply": "pd.DataFrame({'k': range(10**6)}).groupby('k').apply(lambda g: g.sum())",
    "merge": "d = pd.DataFrame({'k': np.arange(10000) % 1000})\nwhile True: d.merge(d, on='k')",
    "read_csv": "import io; text = 'a,b\\n' + '1,x\\n' * 10**5\n"
                "while True: pd.read_csv(io.StringIO(text))",
    "optimize": "from scipy.optimize import differential_evolution as d\n"
                "d(lambda x: float(np.sum(x ** 2)), [(-5, 5)] * 50, maxiter=10**9, tol=0, atol=-1)",
    "sympy": "import sympy; x, y = sympy.symbols('x y')\n"
             "while True: sympy.expand((x + y + 1) ** 40)",
}


@pytest.fixture(scope="module")
def driver(place):
    made = Driver(place, place.user.own(tempfile.mkdtemp(prefix="state-", dir=place.base)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def box(driver):
    opened = driver.open(prelude=False)
    opened.expect("ok", SETUP)
    return opened


def stop(box, code, number):
    """Runs `code` until a time limit (even `number`) or an interrupt (odd); returns the record."""
    how = {"timeout_ms": 300} if number % 2 == 0 else {"interrupt_after_ms": 250}
    record = box.run(code, **how)
    assert record["status"] == ("timeout" if number % 2 == 0 else "interrupted"), show(record)
    return record


def still_works(box):
    """The variables still exist, and no late interrupt hits the next cells."""
    for _ in range(2):
        record = box.expect("ok", "print(kept['a'], 6 * 7)")
        assert record["stdout"] == "[1, 2] 42\n", show(record)


@pytest.mark.parametrize("name", FOR_EVER)
def test_variables_survive_time_limits_and_interrupts(box, name):
    record = stop(box, FOR_EVER[name], list(FOR_EVER).index(name))
    assert "kernel_lost" not in [note["code"] for note in record["diagnostics"]]
    still_works(box)


@pytest.mark.parametrize("name", STUBBORN)
def test_stubborn_code_ends_and_variables_survive(box, name):
    record = stop(box, STUBBORN[name], list(STUBBORN).index(name))
    assert "kernel_lost" not in [note["code"] for note in record["diagnostics"]]
    still_works(box)
    box.expect("ok", "signal.signal(signal.SIGINT, signal.default_int_handler)")


def test_an_event_loop_is_replaced_after_a_forced_end(box):
    box.expect("ok", "async def wait(n): await asyncio.sleep(n); return n")
    stop(box, STUBBORN["task"], 0)
    assert box.expect("ok", "print(await wait(0))")["stdout"] == "0\n"


@pytest.mark.parametrize("name", DEAF)
def test_a_lost_kernel_is_reported_with_its_variables(driver, name):
    box = driver.open(prelude=False)
    box.expect("ok", SETUP + "\nfirst = second = 1\ndef third(): pass")
    assert {item["name"] for item in box.variables()} >= {"kept", "first"}
    record = box.run(DEAF[name], timeout_ms=500)
    assert record["status"] == "timeout" and "variables are gone" in record["error"]["value"]
    lost = [note for note in record["diagnostics"] if note["code"] == "kernel_lost"]
    assert lost, show(record)
    assert {"kept", "first", "second"} <= set(lost[0]["detail"]["variables"])


@pytest.mark.parametrize("name", DATA)
def test_data_packages(driver, place, name, cache={}):
    if not (place.templates / "data" / "template.ini").exists():
        pytest.skip("the template data is not built")
    if cache.get("driver") is not driver:
        cache.update(driver=driver, box=driver.open("data", flags=4, prelude=False))
        cache["box"].expect("ok", SETUP + "\nimport numpy as np, pandas as pd, scipy.optimize, sympy")
    stop(cache["box"], DATA[name], list(DATA).index(name))
    still_works(cache["box"])


def test_a_time_limit_ends_processes_that_the_cell_started(box):
    box.run("!sleep 4321; true", timeout_ms=500)
    box.run("os.system('sleep 4321; true')", timeout_ms=500)
    record = box.expect("ok", "print([p for p in os.listdir('/proc') if p.isdigit() and "
                              "b'4321' in open(f'/proc/{p}/cmdline', 'rb').read()])")
    assert record["stdout"] == "[]\n"


def test_os_system_returns_the_status_and_prints(box):
    record = box.expect("ok", "print(os.system('exit 3') >> 8, os.system('kill -9 $$'), "
                              "os.system('printf hello'))")
    assert record["stdout"] == "hello3 9 0\n", show(record)
