"""The rest of the catalogue of attacks: locks, overlays, cgroups, timing, randomness, memory."""
import json
import os
import pathlib
import platform
import re
import secrets
import subprocess

import pytest
from attack import MIB, Driver, Refused
from test_branch import DENY_PTRACE
from syscalls import NUMBERS

REFUSED = {"EPERM", "EACCES", "ENOSYS", "EINVAL", "EROFS", "ENOENT", "EOPNOTSUPP", "ENOTSUP", "ENODEV",
           "ENOTTY", "EXDEV", "EBADF"}

# ---- files that all sessions share -------------------------------------------------------------


def test_locks_on_a_library_stop_nobody(driver):
    """Linux refuses leases and exclusive record locks on shared files; flock does not stop another
    session from reading or executing them. (SECURITY.md says what flock reveals to a neighbour.)"""
    one, two = driver.open(), driver.open()
    held = one.ask(r'''
import fcntl, os, struct
fds = [os.open(p, os.O_RDONLY) for p in ("/usr/bin/env", "/usr/lib/os-release")]
answer = [[attempt(fcntl.fcntl, fd, 1024, 1), attempt(fcntl.fcntl, fd, 1024, 0),
           attempt(fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
           attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)] for fd in fds]
''')
    for lease, other_lease, record, _ in held:
        assert lease == "EPERM" and other_lease == "EPERM" and record == "EBADF"
    assert two.ask(r'''
import subprocess
answer = [subprocess.run(["/usr/bin/env", "true"], timeout=10).returncode,
          len(open("/usr/lib/os-release").read()) > 0]
''') == [0, True]


def test_overlay_tricks(box):
    """Linux lets every user make a whiteout (device 0/0), and xattrs control an overlay: both are
    refused in a box."""
    answer = box.ask(r'''
import os, stat
open("plain", "w").close()
answer = [attempt(os.mknod, "/mnt/data/white", stat.S_IFCHR | 0o600, 0),
          attempt(os.mknod, "/tmp/white", stat.S_IFCHR | 0o600, 0),
          attempt(os.mknod, "/dev/shm/block", stat.S_IFBLK | 0o600, 0)]
answer += [attempt(os.setxattr, "plain", name, b"y") for name in
           ("trusted.overlay.opaque", "trusted.overlay.redirect", "security.capability",
            "security.ima", "system.posix_acl_access")]
''')
    assert set(map(str, answer)) <= REFUSED, answer


def test_groups_cannot_be_reached(box):
    """A box has no cgroup file system, so it cannot write release_agent or cgroup.procs."""
    answer = box.ask(r'''
import json
import os
def write(path, text):
    with open(path, "w") as f: f.write(text)
places = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/cgroup", "/proc/self/cgroup",
          "/proc/1/root/sys/fs/cgroup"]
answer = [attempt(write, f"{p}/{n}", "1") for p in places
          for n in ("release_agent", "notify_on_release", "cgroup.procs", "tasks", "memory.max")]
answer += [call("mount", b"c", b"/tmp", kind, 0, data) for kind, data in
           ((b"cgroup", b"rdma"), (b"cgroup", b"memory"), (b"cgroup2", 0), (b"overlay", 0))]
''')
    assert set(map(str, answer)) <= REFUSED | {"ENOTDIR"}, answer


# ---- what a neighbour does ---------------------------------------------------------------------


def test_a_neighbours_processes_do_not_move_numbers(driver):
    """Each box counts its own pids and inodes, so a neighbour's activity does not advance them."""
    watcher, busy = driver.open(), driver.open()
    look = r'''
import os, socket, tempfile
def look():
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
    with tempfile.NamedTemporaryFile(dir="/mnt/data") as f: inode = os.stat(f.name).st_ino
    return [child, inode]
'''
    first = watcher.ask(look + "answer = look()")
    busy.expect("ok", "import os\nfor _ in range(300):\n    c = os.fork()\n    if c == 0: os._exit(0)\n"
                      "    os.waitpid(c, 0)\n    open(f'f{_}', 'w').close()")
    then = watcher.ask("answer = look()")
    assert then[0] - first[0] <= 3 and then[1] - first[1] <= 4, (first, then)
    assert driver.open().ask(look + "answer = look()")[0] < 100


def test_host_wide_numbers(box):
    """Files that would show the load of neighbours do not exist, or belong to the session. (The docs
    say what uname and sysinfo reveal.)"""
    answer = box.ask(r'''
import json
import os
names = ["/proc/loadavg", "/proc/stat", "/proc/uptime", "/proc/meminfo", "/proc/diskstats",
         "/proc/vmstat", "/proc/net/dev", "/proc/net/sockstat", "/proc/schedstat", "/proc/pressure/cpu",
         "/proc/interrupts", "/proc/softirqs", "/proc/buddyinfo", "/proc/zoneinfo", "/sys/class/net",
         "/sys/devices/system/cpu", "/proc/sys/fs/inode-nr", "/proc/sys/fs/file-nr", "/proc/locks"]
own = os.stat("/proc/self/").st_dev
# /proc/net leads to the box's own network namespace.
answer = [n for n in names if os.path.exists(n) and os.stat(n).st_dev == own and "/net/" not in n]
import tempfile
answer.append(len({tempfile.mktemp() for _ in range(100)}))
''')
    assert answer == [100]


def test_fresh_bash_kernels_draw_different_numbers(driver):
    draw = "echo $RANDOM $RANDOM $SRANDOM $(mktemp -u)"
    seen = [driver.open(language="bash").run(draw)["stdout"] for _ in range(8)]
    assert all(len(line.split()) == 4 for line in seen)
    for column in zip(*(line.split() for line in seen)):
        assert len(set(column)) >= len(seen) - 1, column  # 15 bits may meet once


# The cell joins the halves at run time, so that the search does not find its own source.
SEARCH = r'''
found = 0
needle = bytes.fromhex(FIRST) + bytes.fromhex(SECOND)
def areas():
    _libc.prctl(4, 1, 0, 0, 0)
    for line in open("/proc/self/maps"):
        span, flags, *_ = line.split()
        if flags[0] == "r" and not line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
            yield [int(x, 16) for x in span.split("-")]
for low, high in list(areas()):
    if high - low > 1 << 28: continue
    text = _ct.string_at(low, high - low)
    at = text.find(needle)
    while at >= 0:
        found += 1
        at = text.find(needle, at + 1)
    del text
answer = found
'''


def test_nothing_of_the_host_is_in_a_kernels_memory(place, state):
    """A kernel contains neither a secret of the warden's environment nor code of another session."""
    outer, inner = secrets.token_hex(16), secrets.token_hex(16)
    driver = Driver(place, state, "--private", env={"OPENAI_API_KEY": outer})
    try:
        other = driver.open()
        other.expect("ok", f"secret = '{inner}'")
        boxes = [driver.open(), driver.open(language="python", flags=1)]
        for box in boxes:
            for secret in (outer, inner):
                half = secret.encode().hex()
                code = SEARCH.replace("FIRST", repr(half[:32])).replace("SECOND", repr(half[32:]))
                # The needle itself is in memory a few times: as bytes, and as a copy of a page.
                assert box.ask(code) <= 6, "found"
        # The search does find a secret that exists.
        boxes[0].expect("ok", f"kept = [('{inner}' + str(i)).encode() for i in range(50)]")
        half = inner.encode().hex()
        code = SEARCH.replace("FIRST", repr(half[:32])).replace("SECOND", repr(half[32:]))
        assert boxes[0].ask(code) >= 50
    finally:
        driver.close()


# ---- special kinds of memory -------------------------------------------------------------------


PIPE = "os.pipe()"
SOCKETS = "[end.detach() for end in socket.socketpair()]"


@pytest.mark.parametrize("ends", [PIPE, SOCKETS], ids=["pipes", "sockets"])
@pytest.mark.parametrize("as_user", ["root"], indirect=True)  # only a group counts them
def test_pipes_that_nobody_reads(driver, neighbour, ends):
    box = driver.open(memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    record = box.run(r'''
import fcntl, os, socket
for _ in range(6):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                r, w = ENDS; kept += [r, w]; os.set_blocking(w, False)
                attempt(fcntl.fcntl, w, 1031, 1 << 20)
                while attempt(os.write, w, bytes(1 << 16)) == 1 << 16: pass
        except OSError: pass
        import time; time.sleep(100)
import time; time.sleep(3)
'''.replace("ENDS", ends), timeout_ms=15000)
    assert record["status"] in ("out_of_memory", "ok", "error", "kernel_died"), record
    assert 48 * MIB <= record["receipt"]["memory_peak_bytes"] <= 82 * MIB
    neighbour.check()


def test_special_kinds_of_memory_are_refused(box):
    answer = box.ask(r'''
import mmap
MAP, NONE = 0x22, -1
_libc.mmap.restype = _ct.c_void_p
def map_(length, flags): return call("mmap", 0, length, 3, MAP | flags, NONE, 0)
answer = {
    "locked": [call(151, 1 | 2), call(149, _ct.addressof(_ct.create_string_buffer(1 << 24)),
                                             1 << 24)],
    "huge": [map_(1 << 30, 0x40000), map_(1 << 21, 0x40000 | 21 << 26)],
    "all at once": map_(1 << 42, 0x8000),
    "poison": [call("madvise", 0, 4096, advice) for advice in (100, 101)],
    "secret": call("memfd_secret", 0),
    "fault": call("userfaultfd", 0),
    "keys": [call(330, 0, 0) for _ in range(20)][-1],
}
''')
    assert str(answer["all at once"]) == "ENOMEM" and answer["poison"] == ["EPERM", "EPERM"]
    assert answer["secret"] == "EPERM" and answer["fault"] == "EPERM"
    assert set(map(str, answer["huge"])) <= {"ENOMEM", "EINVAL", "EPERM"}
    assert set(map(str, answer["locked"])) <= {"ENOMEM", "EPERM", "EAGAIN"}
    assert answer["keys"] in ("ENOSPC", "EINVAL", "ENOSYS", "EOPNOTSUPP")
    assert box.ask("answer = 1") == 1


def test_own_files_in_proc_cannot_be_written(box):
    """A kernel cannot write the files in /proc/self that set ids, limits or labels."""
    answer = box.ask(r'''
import json
import os
call("prctl", 4, 1, 0, 0, 0)
def write(name, text):
    with open("/proc/self/" + name, "w") as f: f.write(text)
answer = {n: attempt(write, n, "1") for n in ("coredump_filter", "timerslack_ns", "uid_map", "gid_map",
          "setgroups", "attr/current", "attr/fscreate", "oom_adj", "oom_score_adj", "clear_refs",
          "comm", "task/%d/comm" % os.getpid())}
''')
    assert set(map(str, answer.values())) <= REFUSED, answer


BOMB = r'''
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = zlib.compress(bytes(1 << 20)) * 4
bomb = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 16, 6, 0, 0, 0)) +
        chunk(b"IDAT", rows) + chunk(b"IEND", b""))
svg = ("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script>"
       "<image href='file:///etc/passwd'/></svg>")
class Bomb:
    def _repr_png_(self): return bomb
    def _repr_svg_(self): return svg
    def _repr_html_(self): return "<script>alert(1)</script>"
display(Bomb())
'''


def test_malicious_images_are_passed_on_undecoded(box):
    """Reckon does not decode images: it passes on the bytes, limited in size."""
    record = box.expect("ok", BOMB)
    data = record["displays"][0]["data"] if "displays" in record else {}
    assert "image/png" in str(record) and len(str(record)) < 4 * MIB, sorted(data)
    assert box.ask("answer = 1") == 1


# ---- live branches and many starts -------------------------------------------------------------

BUSY_THREADS = r'''
import threading
numbers, lock, stop = {}, threading.Lock(), False
def change():
    n = 0
    while not stop:
        n += 1
        with lock: numbers[n % 1000] = [n] * (n % 50)
def allocate():
    malloc, free = _libc.malloc, _libc.free
    malloc.restype = _ct.c_void_p; free.argtypes = [_ct.c_void_p]
    while not stop:
        kept = [malloc(size * 100) for size in range(1, 200)]
        for p in kept: free(p)
threads = [threading.Thread(target=f, daemon=True) for f in (change, change, allocate, allocate)]
for t in threads: t.start()
'''


def test_a_branch_while_threads_hold_locks(driver):
    """A branch either has consistent data or is refused, and the parent continues."""
    box = driver.open(wall_ms=5000)
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    box.expect("ok", BUSY_THREADS)
    outcomes = []
    for _ in range(12):
        try:
            copy = box.branch()
        except Refused as refused:
            outcomes.append(refused.message)
            continue
        record = copy.run("ok = all(len(set(v)) <= 1 for v in list(numbers.values()))\n"
                          "x = [bytes(1000) for _ in range(10000)]\nprint(ok)", timeout_ms=3000)
        outcomes.append(record["stdout"].strip() or record["status"])
        copy.close()
    assert "False" not in outcomes and set(outcomes) & {"True"}, outcomes
    assert box.ask("stop = True\nfor t in threads: t.join()\nanswer = len(numbers)") > 0


@pytest.mark.parametrize("depth, goes", [(256, True), (257, False)])
def test_a_branch_of_a_deep_workspace(driver, depth, goes):
    """The warden copies at most 256 nested directories; a session that it refuses to branch lives."""
    box = driver.open()
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    box.expect("ok", f"import os\nfor _ in range({depth}):\n    os.mkdir('d'); os.chdir('d')\n"
                     "open('bottom', 'w').write('here'); os.chdir('/mnt/data')\nx = 41")
    if not goes:
        with pytest.raises(Refused) as refused:
            box.branch()
        assert "nested deeper than 256" in refused.value.message
        assert box.ask("answer = x") == 41
        return
    copy = box.branch()
    assert copy.ask(f"answer = [x, open('d/' * {depth} + 'bottom').read()]") == [41, "here"]


@pytest.mark.one_user
def test_many_starts_leave_nothing_in_the_kernel(driver):
    """Linux frees namespaces late; the number of them must not grow with the number of sessions."""
    def measure():
        text = pathlib.Path("/proc/slabinfo").read_text(encoding="ascii") if os.geteuid() == 0 else ""
        slab = {name: int(count) for name, count in re.findall(r"^(\S+)\s+(\d+)", text, re.M)}
        return slab.get("net_namespace", 0), slab.get("pid_namespace", 0)
    before = measure()
    for _ in range(150):
        driver.open(prelude=False).close()
    after = measure()
    assert after[0] - before[0] < 60 and after[1] - before[1] < 60, (before, after)


# ---- walls that the host lacks -----------------------------------------------------------------

@pytest.mark.parametrize("call, wall", [(444, "landlock"), (446, "landlock"), (317, "seccomp")])
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_a_missing_wall_is_reported_and_strict_refuses(reckon, place, as_user, call, wall):
    """A kernel without Landlock, or a container whose filter denies seccomp(): doctor reports the
    missing wall, and --strict refuses to run."""
    deny = DENY_PTRACE.replace(f"(0x15, 0, 1, {NUMBERS['ptrace']})", f"(0x15, 0, 1, {call})")
    assert deny != DENY_PTRACE
    deny = deny.replace("os.execv(sys.argv[1], sys.argv[1:])",
                        f"os.execv({str(place.program)!r}, ['reckon'] + sys.argv[1:])")

    def without(*args):
        env = {**reckon.env, "HOME": str(place.home)}
        return subprocess.run(["/usr/bin/python3", "-c", deny, *args], env=env, cwd=reckon.cwd,
                              capture_output=True, text=True, timeout=120, check=False,
                              start_new_session=True, **reckon.user.switch)

    strict = without("run", "--private", "--strict", "-t", "python", "-c", "print('ran')")
    assert strict.returncode != 0 and "ran" not in strict.stdout
    # Without root another wall is missing first: the box's own uid.
    assert wall in strict.stderr.lower() or not as_user.is_root, strict.stderr
    doctor = json.loads(without("doctor", "--json").stdout.splitlines()[0])
    assert {each["name"]: each["state"] for each in doctor["walls"]}[wall] == "off", doctor
    plain = without("run", "--private", "-t", "python", "-c", "print('ran')")
    if call != 444:  # no session starts without seccomp, or with Landlock rules not in force
        assert plain.returncode != 0 and "ran" not in plain.stdout and plain.stderr
    else:
        assert plain.stdout == "ran\n", plain.stderr
