"""Live branches: what a branch has, what it does not have, and which attacks on one are refused.

The tests named pitfall_1 to pitfall_14 cover the known pitfalls of forking a process through a twin
that shares its memory.
"""
import os
import pathlib
import platform
import signal
import textwrap
import time

import pytest
from attack import MIB, Driver, Refused, status_of
from leftovers import PATIENCE
from reckon_cli import templates_dir
from syscalls import NUMBERS

TAMPERED, BUSY, LOST = -3, -1, -8
TEMPLATES = [name for name in ("python", "data")
             if (templates_dir() / name / "template.ini").exists()]

# The machine code of a system call, and of a trap of the same length.
CALL, TRAP = ((b"\x01\x00\x00\xd4", b"\x00\x00\x20\xd4") if platform.machine() == "aarch64"
              else (b"\x0f\x05", b"\xcc\x90"))


@pytest.fixture
def parent(driver):
    box = driver.open()
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    return box


@pytest.mark.parametrize("as_user", ["root"], indirect=True)  # only root has a memory cgroup here
def test_pitfall_1_memory_is_charged_to_the_box(driver):
    """The twin, which is outside of the box, owns the mappings: the box's limit must still apply."""
    box = driver.open(memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    record = box.run(r'''
import mmap
# Shared pages do not count against RLIMIT_DATA: only the group can stop this.
held = [mmap.mmap(-1, 1 << 20) for _ in range(400)]
for m in held:
    for at in range(0, 1 << 20, 4096): m[at] = 1
''')
    assert record["status"] == "out_of_memory", record
    assert record["receipt"]["memory_peak_bytes"] <= 81 * MIB


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_pitfall_1_in_a_branch(driver):
    box = driver.open(memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    box.expect("ok", "x = bytearray(b'x' * (20 << 20))")
    copy = box.branch()
    record = copy.run(r'''
import mmap
held = [mmap.mmap(-1, 1 << 20) for _ in range(400)]
for m in held:
    for at in range(0, 1 << 20, 4096): m[at] = 1
''')
    assert record["status"] == "out_of_memory", record
    assert box.ask("answer = len(x)") == 20 << 20


def test_pitfall_2_a_forged_rseq_critical_section(parent):
    """The twin shares the memory with rseq_cs, and must ignore a value that the box forged there."""
    record = parent.run(r'''
import mmap, struct
offset = _ct.c_ssize_t.in_dll(_libc, "__rseq_offset").value
_libc.pthread_self.restype = _ct.c_ulong
area = _libc.pthread_self() + offset
x = 41
garbage = struct.pack("<Q", 0x4141414141414000)
_ct.memmove(area + 8, garbage, 8)
''')
    if record["status"] == "ok":
        try:
            copy = parent.branch()
            copy.run("x + 1")
        except Refused:
            pass
    else:
        assert record["status"] == "kernel_died"


def test_pitfall_3_the_warden_is_killed(place, state):
    driver = Driver(place, state, "--private")
    try:
        box = driver.open()
        box.expect("ok", "x = 1; import subprocess; subprocess.Popen(['sleep', '1000'])")
        copies = [box.branch() for _ in range(3)]
        copies[0].expect("ok", "x")
        warden = warden_of(driver)
        kernels = [b.pid for b in (box, *copies)]
        namespaces = {os.readlink(f"/proc/{pid}/ns/pid") for pid in kernels} \
            if os.geteuid() == 0 else set()
        os.kill(warden, signal.SIGKILL)
        wait_until_dead(kernels, namespaces)
        with pytest.raises(Refused) as refused:
            box.run("x")
        assert refused.value.code == -8
    finally:
        driver.close()
    # The next warden removes the cgroups of the dead one.
    after = Driver(place, state, "--private")
    try:
        after.open().expect("ok", "1")
        left = [folder for folder, _, _ in os.walk("/sys/fs/cgroup")
                if os.path.basename(folder) == f"reckon-{warden}"]
        assert left == []
    finally:
        after.close()


def alive(pids, namespaces):
    """The processes of this list, and of these pid namespaces, that have not ended."""
    found = {pid for pid in pids if status_of(pid).get("State", "X")[0] not in "XZ"}
    for entry in os.listdir("/proc") if namespaces else []:
        try:
            inside = entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") in namespaces
        except OSError:
            continue
        if inside and status_of(entry).get("State", "X")[0] not in "XZ":
            found.add(int(entry))
    return found


def wait_until_dead(pids, namespaces):
    deadline = time.monotonic() + 5 * PATIENCE
    while alive(pids, namespaces):
        assert time.monotonic() < deadline, "something outlived its warden"
        time.sleep(0.02)


def warden_of(driver):
    """The private warden: the driver's child."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and status_of(entry).get("PPid") == str(driver.process.pid) and \
                status_of(entry).get("Name", "").startswith("reckon-warden"):
            return int(entry)
    raise LookupError("no warden")


def test_pitfall_4_a_chain_of_branches(parent):
    parent.expect("ok", "trail = ['a']; open('f', 'w').write('a')")
    at = parent
    for letter in "bcdefgh":
        following = at.branch()
        following.expect("ok", f"trail.append('{letter}'); open('f', 'a').write('{letter}')")
        if os.geteuid() == 0:
            assert os.readlink(f"/proc/{following.pid}/ns/pid") != \
                os.readlink(f"/proc/{at.pid}/ns/pid")
        at.close()
        at = following
    assert at.ask("answer = [''.join(trail), open('f').read()]") == ["abcdefgh", "abcdefgh"]
    assert at.ask("import os; answer = [sorted(p for p in os.listdir('/proc') if p.isdigit()), "
                  "os.getpid()]") == [["2"], 2]


def test_pitfall_5_no_capability_in_a_branch(parent):
    copy = parent.branch()
    for box in (parent, copy):
        status = status_of(box.pid)
        assert {int(status[f], 16) for f in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {0}
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert copy.ask("answer = [call('mount', 0, 0, 0, 0, 0), call('unshare', 1 << 28)]") == [
        "EPERM", "EPERM"]
    assert copy.run("call('bpf', 0, 0, 0)")["receipt"]["syscalls_denied"] == {"bpf": 1}


def test_pitfall_6_threads_are_not_in_a_branch(parent):
    parent.expect("ok", r'''
import threading, time
ticks = 0
def tick():
    global ticks
    while True: ticks += 1; time.sleep(0.001)
for _ in range(3): threading.Thread(target=tick, daemon=True).start()
lock = threading.Lock()
''')
    copy = parent.branch()
    record = copy.run("before = ticks; time.sleep(0.05); print(ticks == before, "
                      "len(open('/proc/self/status').read()) > 0, threading.active_count())")
    assert record["stdout"] == "True True 1\n"
    assert any(note["code"] == "threads_lost" for note in record["diagnostics"]), record
    assert parent.ask("before = ticks; time.sleep(0.05); answer = ticks > before") is True
    # Thread pools work in the branch.
    assert copy.ask("from concurrent.futures import ThreadPoolExecutor\n"
                    "answer = list(ThreadPoolExecutor(2).map(lambda n: n * n, range(4)))") == [
                        0, 1, 4, 9]


def test_pitfall_7_cwd_umask_and_handlers(parent):
    parent.expect("ok", r'''
import os, signal
os.makedirs("deep/er"); os.chdir("deep/er"); os.umask(0o027)
hits = []
signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
''')
    copy = parent.branch()
    answer = copy.ask(r'''
os.kill(os.getpid(), signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR2)
mask = os.umask(0); os.umask(mask)
answer = [os.getcwd(), mask, hits]
''')
    assert answer == ["/mnt/data/deep/er", 0o027, [1]]
    record = copy.run("while True: pass", interrupt_after_ms=200, timeout_ms=10000)
    assert record["status"] == "interrupted"
    assert copy.ask("answer = hits") == [1]


def test_pitfall_8_program_code_is_changed(driver):
    """The cell replaces the system call where the twin waits by a trap while the session is idle."""
    box = driver.open()
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    box.expect("ok", f"CALL, TRAP = {CALL}, {TRAP}" + r'''
import threading
address = _ct.cast(_libc.syscall, _ct.c_void_p).value
assert _libc.mprotect(_ct.c_void_p(address & ~4095), _ct.c_size_t(8192), 7) == 0
at = _ct.string_at(address, 64).index(CALL)
# Late, because the kernel needs the call until it is idle; undone in time for the next cell.
for after, code in ((0.3, TRAP), (1.3, CALL)):
    threading.Timer(after, _ct.memmove, (address + at, code, len(code))).start()
''')
    time.sleep(0.6)
    with pytest.raises(Refused) as refused:
        box.branch()
    assert refused.value.code == TAMPERED and "changed program code" in refused.value.message
    time.sleep(1)
    assert box.branch().ask("answer = at") == box.ask("answer = at")


def test_pitfall_8_a_thread_races(driver):
    """A thread flips the twin's instruction back and forth while the session is branched."""
    if platform.machine() != "x86_64":
        pytest.skip("the racing loop is x86-64's")
    box = driver.open()
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    # Racing code may not itself use syscall(): a machine code loop in a thread of its own.
    box.expect("ok", RACE)
    outcomes = set()
    for _ in range(40):
        try:
            copy = box.branch()
            outcomes.add("branched")
            copy.close()
        except Refused as refused:
            outcomes.add(refused.message)
            check_refusal(refused)
            if refused.code == LOST:
                return
    assert box.expect("ok", "stop()")
    assert outcomes


def check_refusal(refused):
    """The warden must refuse before it runs a step in the twin. Code that changes while it runs may
    also end the racer's own session (LOST)."""
    assert refused.code in (BUSY, LOST) or "changed program code" in refused.message, refused


RACE = r'''
import mmap, struct, threading
address = _ct.cast(_libc.syscall, _ct.c_void_p).value
assert _libc.mprotect(_ct.c_void_p(address & ~4095), _ct.c_size_t(8192), 7) == 0
at = address + _ct.string_at(address, 64).index(b"\x0f\x05")
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
flag = _ct.addressof(_ct.c_char.from_buffer(page)) + 2048
# loop: mov word [rdi], 0x9090; mov word [rdi], 0x050f; cmp byte [rsi], 0; je loop; ret
page[0:16] = bytes.fromhex("66c7079090" "66c7070f05" "803e00" "74f1" "c3")
run = _ct.CFUNCTYPE(None, _ct.c_void_p, _ct.c_void_p)(flag - 2048)
race = threading.Thread(target=run, args=(at, flag), daemon=True)
race.start()
def stop():
    page[2048] = 1; race.join(); _ct.memmove(at, b"\x0f\x05", 2)
'''


def test_pitfall_8_shared_pages_under_the_code(driver):
    """The page with the twin's instruction is shared memory, which a branch would share as well."""
    box = driver.open()
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    record = box.run(f"CALL = {CALL}" + r'''
import mmap, os
address = _ct.cast(_libc.syscall, _ct.c_void_p).value
low = address & ~4095
text = _ct.string_at(low, 8192)
fd = os.memfd_create("code"); os.write(fd, text)
_libc.mmap.restype = _ct.c_void_p
_libc.mmap.argtypes = [_ct.c_void_p, _ct.c_size_t, _ct.c_int, _ct.c_int, _ct.c_int, _ct.c_long]
mapped = _libc.mmap(low, 8192, 7, 0x11, fd, 0)
print(mapped == low)
at = address + _ct.string_at(address, 64).index(CALL)
''')
    assert record["stdout"] == "True\n", record
    try:
        copy = box.branch()
    except Refused as refused:
        assert refused.code == TAMPERED
    else:
        # Later writes of the parent must not reach the branch.
        box.expect("ok", "_ct.memmove(at + 16, b'\\xcc' * 8, 8)")
        assert copy.ask("answer = _ct.string_at(at + 16, 8) == b'\\xcc' * 8") is False
    assert box.ask("answer = 1") == 1


def test_shared_memory_is_not_shared_with_a_branch(parent):
    parent.expect("ok", r'''
import mmap
m = mmap.mmap(-1, 3 * 4096); m[0:5] = b"first"
f = open("mapped", "w+b"); f.write(b"file " * 1000); f.flush()
g = mmap.mmap(f.fileno(), 4096)
''')
    copy = parent.branch()
    assert copy.ask("answer = [m[0:5].decode(), g[0:4].decode()]") == ["first", "file"]
    copy.expect("ok", "m[0:5] = b'other'; g[0:4] = b'copy'")
    assert parent.ask("answer = [m[0:5].decode(), g[0:4].decode(), open('mapped').read(4)]") == [
        "first", "file", "file"]
    parent.expect("ok", "m[0:5] = b'later'")
    assert copy.ask("answer = m[0:5].decode()") == "other"


def test_too_much_shared_memory_is_refused(parent):
    parent.expect("ok", "import mmap; m = mmap.mmap(-1, 300 << 20); m[0] = 1")
    with pytest.raises(Refused) as refused:
        parent.branch()
    assert refused.value.code == -4 and refused.value.remedy
    parent.expect("ok", "m.close()")
    assert parent.branch().ask("answer = 1") == 1


def test_pitfall_8_a_process_that_shares_the_memory(parent):
    """A clone(CLONE_VM) process is not listed in /proc/PID/task, but can change the memory."""
    if platform.machine() != "x86_64":
        pytest.skip("the racing loop is x86-64's")
    record = parent.run(RACE.replace("race = threading.Thread(target=run, args=(at, flag), "
                                     "daemon=True)\nrace.start()", r'''
stack = mmap.mmap(-1, 65536)
clone = _libc.clone
clone.argtypes = [_ct.c_void_p, _ct.c_void_p, _ct.c_int, _ct.c_void_p]
entry = bytes.fromhex("4889f8" "488b38" "488b7008") # rdi -> (at, flag); falls into the loop
page[512:512 + 10] = entry; page[522:538] = page[0:16]
page[1024:1040] = struct.pack("<QQ", at, flag)
child = clone(flag - 2048 + 512, _ct.addressof(_ct.c_char.from_buffer(stack)) + 65536 - 64,
              0x100 | 17, flag - 2048 + 1024)
print(child > 0)'''))
    assert record["status"] == "ok" and "True" in record["stdout"], record
    for _ in range(30):
        try:
            parent.branch().close()
        except Refused as refused:
            check_refusal(refused)
            if refused.code == LOST:
                return


def test_pitfall_9_locks_sockets_and_pipes(parent):
    parent.expect("ok", r'''
import fcntl, os, socket, subprocess
f = open("locked", "w"); fcntl.flock(f, fcntl.LOCK_EX)
a, b = socket.socketpair(); r, w = os.pipe()
child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.PIPE)
listening = socket.create_server(("127.0.0.1", 0))
''')
    copy = parent.branch()
    answer = copy.ask(r'''
answer = [attempt(a.send, b"x"), attempt(os.write, w, b"x"), attempt(listening.accept),
          attempt(os.kill, child.pid, 0), attempt(child.stdout.read, 1)]
''')
    assert set(answer[:3]) == {"EBADF"} and answer[3] == "ESRCH"
    assert parent.ask("answer = [a.send(b'x'), os.write(w, b'x'), child.poll()]") == [1, 1, None]
    parent.expect("ok", "child.kill()")


DENY_PTRACE = r'''
import ctypes, os, struct, sys
insns = [(0x20, 0, 0, 0), (0x15, 0, 1, PTRACE), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in insns))
class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
prog = Prog(len(insns), ctypes.cast(code, ctypes.c_void_p))
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0:
    libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, ctypes.byref(prog), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
'''.replace("PTRACE", str(NUMBERS["ptrace"]))


def test_pitfall_10_without_ptrace(place, state):
    """Without ptrace there are no twins: sessions work, and branch is refused as unsupported."""
    driver = Driver(place, state, "--private", wrap=("/usr/bin/python3", "-c", DENY_PTRACE))
    try:
        box = driver.open()
        assert box.about["has_twin"] is False
        assert box.ask("answer = 6 * 7") == 42
        with pytest.raises(Refused) as refused:
            box.branch()
        assert refused.value.code == -9 and "twin" in refused.value.message
        assert box.ask("answer = 1") == 1
        record = box.run("import os; os._exit(3)")
        assert record["status"] == "kernel_died" and "exit status 3" in record["error"]["value"]
        kernels = [driver.open().pid for _ in range(3)]
        namespaces = {os.readlink(f"/proc/{pid}/ns/pid") for pid in kernels} \
            if os.geteuid() == 0 else set()
        os.kill(warden_of(driver), signal.SIGKILL)
        wait_until_dead(kernels, namespaces)
    finally:
        driver.close()


def test_pitfall_12_bash(driver):
    box = driver.open(language="bash")
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    box.expect("ok", "x=5; cd /tmp; f() { echo from f; }; echo data > /mnt/data/file")
    try:
        copy = box.branch()
    except Refused as refused:
        assert refused.message
    else:
        record = copy.run("echo $x; pwd; f; cat /mnt/data/file")
        assert record["status"] == "ok", record
        assert record["stdout"] == "5\n/tmp\nfrom f\ndata\n"
    record = box.run("echo $x")
    assert record["stdout"] == "5\n"


def template_with(place, name, module):
    """A template directory with one template that preloads `module` (source text)."""
    folder = pathlib.Path(place.base, "templates-" + name)
    tree = folder / name / "tree"
    packages = tree / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (tree / "bin").mkdir()
    (tree / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n"
                                     "include-system-site-packages = false\n")
    (packages / f"{name}_module.py").write_text(textwrap.dedent(module))
    (folder / name / "template.ini").write_text(
        f"[template]\nname = {name}\npython = 3.11\n[preload]\nmodules = {name}_module\n")
    return folder


def test_pitfall_13_a_preload_that_starts_a_thread(place, state):
    folder = template_with(place, "threads", """
        import threading, time
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        """)
    driver = Driver(place, state, "--private", env={"RECKON_TEMPLATES": str(folder)})
    try:
        with pytest.raises(Refused) as refused:
            driver.open(template="threads", flags=4)
        assert "threads_module" in refused.value.message and "thread" in refused.value.message
    finally:
        driver.close()


def test_pitfall_14_the_distributions_packages(box):
    answer = box.ask(r'''
import os, sys
answer = [[p for p in sys.path if "dist-packages" in p],
          [n for d in ("/usr/lib/python3/dist-packages", "/usr/local/lib/python3.11/dist-packages")
           if os.path.isdir(d) for n in os.listdir(d)]]
''')
    assert answer == [[], []]


# ---- what a branch has ------------------------------------------------------------------------

def test_a_branch_has_the_variables_and_files(parent):
    parent.expect("ok", r'''
import collections, io, sqlite3
numbers = {i: [i] * 3 for i in range(10000)}
def count():
    n = 0
    while True: n += 1; yield n
g = count(); next(g); next(g)
closure = (lambda k: lambda v: v + k)(10)
f = open("log", "w+"); f.write("one\n"); f.flush()
with open("data.bin", "wb") as d: d.write(bytes(range(256)) * 100)
db = sqlite3.connect(":memory:"); db.execute("create table t(x)"); db.execute("insert into t values(7)")
''')
    copy = parent.branch()
    answer = copy.ask(r'''
f.write("branch\n"); f.flush()
answer = [len(numbers), next(g), closure(5), open("log").read(), len(open("data.bin", "rb").read()),
          db.execute("select x from t").fetchone()[0]]
''')
    assert answer == [10000, 3, 15, "one\nbranch\n", 25600, 7]
    copy.expect("ok", "numbers.clear(); open('data.bin', 'w').close()")
    assert parent.ask("answer = [len(numbers), next(g), open('log').read(), "
                      "len(open('data.bin', 'rb').read())]") == [10000, 3, "one\n", 25600]


def test_a_branch_of_a_data_frame(driver, place):
    if not (place.templates / "data/template.ini").exists():
        pytest.skip("the template data is not built")
    box = driver.open(template="data", flags=4)
    box.expect("ok", "import pandas as pd, numpy as np\n"
                     "df = pd.DataFrame({'a': np.arange(100000), 'b': np.random.rand(100000)})")
    copies = [box.branch() for _ in range(3)]
    for n, copy in enumerate(copies):
        copy.expect("ok", f"df.loc[0, 'a'] = {n + 100}")
    assert [c.ask("answer = [int(df.a[0]), len(df), float((df.a @ df.b) > 0)]") for c in copies] == [
        [n + 100, 100000, 1.0] for n in range(3)]
    assert box.ask("answer = int(df.a[0])") == 0


RANDOM = r'''
import random, os, uuid, secrets, ssl, sys, tempfile
answer = [random.random(), os.urandom(8).hex(), str(uuid.uuid4()), str(uuid.uuid1()),
          secrets.token_hex(8), ssl.RAND_bytes(8).hex(), tempfile.mktemp()]
if "numpy" in sys.modules:
    import numpy
    answer += [float(numpy.random.random()), float(numpy.random.default_rng().random())]
'''


@pytest.mark.parametrize("template", ["python", "data"])
def test_random_numbers_differ_in_branches_and_sessions(driver, place, template):
    if not (place.templates / template / "template.ini").exists():
        pytest.skip(f"the template {template} is not built")
    box = driver.open(template=template, flags=4)
    box.expect("ok", "import random, ssl, uuid, secrets; random.random(); ssl.RAND_bytes(4)")
    seen = [b.ask(RANDOM) for b in [box.branch() for _ in range(10)]] + [box.ask(RANDOM)]
    for _ in range(20):
        fresh = driver.open(template=template, prelude=False)
        seen.append(fresh.ask(RANDOM))
        fresh.close()
    for column in zip(*seen):
        assert len(set(column)) == len(seen), column


def test_a_session_can_be_branched_after_its_cell(driver, place, state):
    box = driver.open()
    box.expect("ok", "import threading, os")
    box.start("import time; time.sleep(1)")
    box.finish()
    assert box.branch().ask("answer = 1") == 1


def test_a_branch_with_a_duplicated_control_socket(parent):
    """A session whose code duplicated the control socket can be branched."""
    record = parent.run(r'''
import os, socket, threading, time
a, b = socket.socketpair()
keep = os.dup(3)
''')
    assert record["status"] == "ok"
    assert parent.branch().ask("answer = 1") == 1


def test_a_branch_cannot_reach_its_parent(parent):
    parent.expect("ok", "import os, socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0p'); "
                        "s.listen(); t = open('/dev/shm/p', 'w').write('x'); "
                        "open('/tmp/p', 'w').write('x')")
    copy = parent.branch()
    answer = copy.ask(r'''
answer = [attempt(socket.socket(socket.AF_UNIX).connect, "\0p"), os.path.exists("/dev/shm/p"),
          os.path.exists("/tmp/p"), sorted(n for n in os.listdir("/proc") if n.isdigit())]
''')
    assert answer == ["ECONNREFUSED", False, False, ["2"]]


def test_closing_the_parent_does_not_end_the_branch(parent):
    parent.expect("ok", "x = list(range(100000))")
    copy = parent.branch()
    parent.close()
    assert copy.ask("answer = sum(x)") == sum(range(100000))


def test_a_tree_of_branches(parent):
    parent.expect("ok", "depth = 0")
    level = [parent]
    for _ in range(4):
        level = [b.branch() for b in level for _ in range(2)]
        for n, b in enumerate(level):
            b.expect("ok", f"depth += 1; where = {n}")
    assert [b.ask("answer = [depth, where]") for b in level] == [[4, n] for n in range(16)]
