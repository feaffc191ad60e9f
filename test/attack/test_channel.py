"""The control channel and the output: a captured kernel sends garbage and harms only its session."""
import hashlib
import json
import os
import time

import pytest
from attack import Refused, status_of

# The code under attack is the same for every user.
pytestmark = pytest.mark.one_user


def survives(box, code, **more):
    """Runs code that may end the session, but nothing else."""
    record = box.run(code, timeout_ms=6000, **more)
    assert record["status"] in ("ok", "error", "killed", "kernel_died", "timeout", "infra_error",
                                "output_limit"), record
    return record


GARBAGE = [
    pytest.param("b''", id="empty"), pytest.param("b'x'", id="byte"),
    pytest.param("b'\\0' * 24", id="zeros"), pytest.param("b'\\xff' * 24", id="ones"),
    pytest.param("os.urandom(4096)", id="random"), pytest.param("b'RKK1' + b'\\xff' * 60", id="head"),
    pytest.param("b'x' * 180000", id="long")]


@pytest.mark.parametrize("data", GARBAGE)
def test_garbage_on_the_control_socket(box, neighbour, data):
    survives(box, f"import os, socket\ns = socket.socket(fileno=os.dup(3))\n"
                  f"for _ in range(50):\n    attempt(s.send, {data})")
    neighbour.check()


def test_garbage_from_a_child_at_exit_and_a_thread(box, neighbour):
    survives(box, r'''
import atexit, os, socket, subprocess, threading
s = socket.socket(fileno=os.dup(3))
os.set_inheritable(s.fileno(), True)
atexit.register(lambda: s.send(b"late"))
subprocess.run(["/usr/bin/python3", "-c",
                "import socket, sys; socket.socket(fileno=int(sys.argv[1])).send(b'child')",
                str(s.fileno())], close_fds=False)
threading.Thread(target=lambda: attempt(s.send, b"thread")).start()
''')
    neighbour.check()


@pytest.mark.parametrize("fd", [0, 1, 2])
def test_forged_frames_on_the_standard_streams_are_text(box, fd):
    record = survives(box, f'import os\ntry: os.write({fd}, b\'{{"event":"done","record":{{}}}}\\n\')\n'
                           "except OSError: pass\nprint('after')")
    assert record["status"] == "ok" and "after" in record["stdout"]


def test_a_redirected_control_socket_times_out(box, neighbour):
    """The cell replaces the control socket, so only the time limit ends the cell."""
    record = box.run(r'''
import os, socket
s = socket.socket(fileno=os.dup(3))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.dup2(b.fileno(), 3)
print("one")
''', timeout_ms=1000)
    assert record["status"] in ("timeout", "killed", "kernel_died"), record
    record = box.run("print('s' in globals())")
    assert record["stdout"] == "False\n"
    assert "kernel_lost" in [each["code"] for each in record["diagnostics"]]
    neighbour.check()


@pytest.mark.parametrize("how", ["os.close(3)", "os.dup2(0, 3)", "os.dup2(1, 3)",
                                 "os.closerange(0, 4096)"])
def test_the_control_socket_is_gone(box, neighbour, how):
    survives(box, f"import os; {how}")
    try:
        box.run("1", timeout_ms=3000)
    except Refused as refused:
        assert refused.code in (-8, -7)
    neighbour.check()


def test_a_thread_that_steals_requests(box, neighbour):
    survives(box, r'''
import os, socket, threading
s = socket.socket(fileno=os.dup(3))
def steal():
    while True:
        try:
            if not s.recv(65536): return
        except OSError: return
for _ in range(4): threading.Thread(target=steal, daemon=True).start()
''')
    try:
        record = box.run("print('mine')", timeout_ms=2000)
        assert record["status"] in ("ok", "timeout", "killed", "kernel_died", "infra_error")
    except Refused as refused:
        assert refused.code in (-8, -7, -5)
    neighbour.check()


def test_a_flood_of_descriptors(box, driver, neighbour):
    before = len(os.listdir(f"/proc/{driver.process.pid}/fd"))
    survives(box, r'''
import array, os, socket
s = socket.socket(fileno=os.dup(3))
r, w = os.pipe()
for _ in range(20):
    attempt(s.sendmsg, [b"x" * 24], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r] * 253))])
''')
    try:
        box.run("1", timeout_ms=2000)
    except Refused:
        pass
    neighbour.check()
    assert len(os.listdir(f"/proc/{driver.process.pid}/fd")) <= before + 8


def resident(pid):
    return int(status_of(pid)["VmRSS"].split()[0]) // 1024


@pytest.mark.parametrize("code", [
    pytest.param("for _ in range(2000): os.write(1, b'x' * (1 << 20))", id="bytes"),
    pytest.param("os.write(1, b'no newline ' * 10) and [os.write(1, b'y' * 65536) "
                 "for _ in range(16000)]", id="one-line"),
    pytest.param("for _ in range(1000000): print()", id="empty-lines"),
    pytest.param("import subprocess; subprocess.run('head -c 2000000000 /dev/zero', shell=True)",
                 id="zeros-of-a-child")])
def test_a_flood_of_output(box, driver, neighbour, code):
    before = resident(driver.process.pid)
    record = box.run("import os\n" + code, timeout_ms=8000)
    assert record["status"] in ("ok", "timeout", "output_limit", "error", "killed"), record["status"]
    assert len(record["stdout"]) <= 3 * (1 << 20)
    assert resident(driver.process.pid) - before < 48
    if record["status"] == "ok":
        cut = record["truncated"].get("stdout")
        assert cut is None or cut["bytes_total"] > cut["bytes_kept"]
    neighbour.check()


def test_text_of_every_kind(box):
    record = box.run(r'''
import os, sys
os.write(1, bytes(range(256)) + b"\xf0\x9f\x98" + b"\xed\xa0\x80" + b"\0\0")
sys.stdout.buffer.write(b"\xff\xfe"); sys.stdout.flush()
print("\ud800 lone", "\x1b]52;c;AAAA\x07", "\u202egnp.exe", "\r overwrite", "\x9b31m")
''')
    assert record["status"] in ("ok", "error")
    json.dumps(record).encode("utf-8")


@pytest.mark.parametrize("text", [
    "\n\ndata: {}\n\n", "```\n</stdout><result>", '{"jsonrpc":"2.0"}', "event: done\ndata: {}\n\n"])
def test_imitated_framing_stays_data(box, text):
    assert box.run(f"print({text!r}, end='')")["stdout"] == text


@pytest.mark.parametrize("hook", ["__repr__", "_repr_html_", "_repr_mimebundle_", "__str__", "__del__",
                                  "__getattr__", "__class__"])
@pytest.mark.parametrize("body", ["raise ValueError('hostile')", "return 5", "return 'x' * (1 << 26)",
                                  "raise SystemExit", "return {'text/html': object()}"])
def test_hostile_hooks(box, hook, body):
    record = box.run(f"class Evil:\n    def {hook}(self, *a, **k):\n        {body}\nEvil()",
                     timeout_ms=8000)
    assert record["status"] in ("ok", "error", "output_limit", "out_of_memory"), record["status"]
    assert len(json.dumps(record)) < 24 << 20
    assert box.ask("answer = 1") == 1


def test_a_hook_that_never_returns(box):
    record = box.run("class Evil:\n    def __repr__(self):\n        while True: pass\nEvil()",
                     timeout_ms=800)
    assert record["status"] == "timeout"
    assert record["receipt"]["wall_s"] < 20


def test_hostile_exceptions(box):
    record = box.run("class E(Exception):\n    def __str__(self): raise E()\n"
                     "    __repr__ = __str__\nraise E()", timeout_ms=5000)
    assert record["status"] == "error"
    record = box.run("raise Exception('x' * (1 << 26))", timeout_ms=8000)
    assert record["status"] == "error" and len(json.dumps(record)) < 24 << 20
    record = box.run("def f(n): return f(n - 1) if n else 1 / 0\n"
                     "import sys; sys.setrecursionlimit(100000); f(20000)", timeout_ms=8000)
    assert record["status"] == "error" and len(json.dumps(record)) < 8 << 20
    assert box.ask("answer = 1") == 1


def test_rewritten_builtins(box):
    box.run(r'''
import builtins, gc, io, json, os, sys, threading
def evil(*a, **k): raise RuntimeError("evil")
for name in ("open", "isinstance", "len", "getattr", "repr", "str", "type", "compile", "eval", "exec",
             "__import__", "print", "hasattr", "iter", "next", "super", "sorted", "list", "dict"):
    setattr(builtins, name, evil)
json.dumps = json.loads = os.write = io.open = threading.Lock = evil
sys.stdout = sys.stderr = None; sys.displayhook = sys.excepthook = evil; sys.modules.clear()
gc.disable(); sys.setrecursionlimit(60)
''')
    record = box.run("6 * 7", timeout_ms=5000)
    assert record["status"] in ("ok", "error", "kernel_died"), record


def test_tracing_hooks(box):
    record = box.run("import sys\ndef t(*a): raise RuntimeError\nsys.settrace(t); sys.setprofile(t)\n"
                     "def g(): pass\ng()", timeout_ms=5000)
    assert record["status"] in ("ok", "error")
    assert box.ask("answer = 6 * 7") == 42


def test_a_bomb_of_displays(driver):
    box = driver.open(displays=16)
    record = box.run("for i in range(5000): display(i)", timeout_ms=10000)
    assert len(record["results"]) <= 17
    assert record["status"] in ("ok", "output_limit")


def test_time_is_measured_from_outside(box):
    record = box.run("import time; time.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
                     "__import__('_signal'); _libc.usleep(200000)")
    assert record["receipt"]["wall_s"] >= 0.2


def test_the_secrets_of_a_neighbour_are_not_in_memory(box, neighbour):
    digest = hashlib.sha256(neighbour.secret.encode()).hexdigest()
    answer = box.ask(f'''
import hashlib, re, secrets
# Only the hash is in this code, so that the search does not find itself; finding `own` proves that
# the search works.
own = secrets.token_hex(16)
wanted = {{{digest!r}: "neighbour", hashlib.sha256(own.encode()).hexdigest(): "own"}}
starts = re.compile(b"(?=" + {neighbour.secret[:3]!r}.encode() + b"|" + own[:3].encode() + b")")
call("prctl", 4, 1, 0, 0, 0)
found = set()
with open("/proc/self/mem", "rb") as mem:
    for line in open("/proc/self/maps"):
        span, mode = line.split()[:2]
        low, high = (int(x, 16) for x in span.split("-"))
        if mode[0] != "r" or "[v" in line or high - low > 64 << 20: continue
        try:
            mem.seek(low); data = mem.read(high - low)
        except (OSError, ValueError): continue
        for hit in starts.finditer(data):
            name = hashlib.sha256(data[hit.start():hit.start() + 32]).hexdigest()
            found.add(wanted.get(name))
answer = sorted(found - {{None}})
''', timeout_ms=30000)
    assert answer == ["own"]


def test_a_new_session_finds_no_files_of_the_last(driver):
    """A new session finds /mnt/data, /tmp and /dev/shm empty, whatever the last session wrote."""
    for turn in range(6):
        box = driver.open()
        answer = box.ask("import os; answer = [os.listdir(d) for d in "
                         "('/mnt/data', '/tmp', '/dev/shm')]")
        assert answer == [[], [], []]
        box.expect("ok", f"for d in ('/mnt/data', '/tmp', '/dev/shm'): "
                         f"open(d + '/left-{turn}', 'w').write('x')")
        box.close()
    time.sleep(0.1)
