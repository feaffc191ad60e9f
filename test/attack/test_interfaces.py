"""Kernel interfaces that no cell needs: each call is refused and reported, and the process lives."""
import pytest

REFUSED = {"EPERM", "ENOSYS"}

CALLS = {  # attack: one or more calls of which none may succeed
    "bpf": [("bpf", cmd, 0, 0) for cmd in range(0, 38)],
    "io_uring": [("io_uring_setup", 8, 0), ("io_uring_enter", 0, 1, 1, 0, 0, 0),
                 ("io_uring_register", 0, 0, 0, 0)],
    "userfaultfd": [("userfaultfd", 0), ("userfaultfd", 1)],
    "perf_event_open": [("perf_event_open", 0, 0, -1, -1, 0)],
    "keyrings": [("keyctl", 0, -3, 1), ("keyctl", 6, -3), ("add_key", 0, 0, 0, 0, -3),
                 ("request_key", 0, 0, 0, -3)],
    "modules": [("init_module", 0, 0, 0), ("finit_module", 0, 0, 0), ("delete_module", 0, 0)],
    "kexec_and_reboot": [("kexec_load", 0, 0, 0, 0), ("kexec_file_load", 0, 0, 0, 0, 0),
                         ("reboot", 0xfee1dead, 672274793, 0, 0)],
    "administration": [("swapon", 0, 0), ("swapoff", 0), ("acct", 0), ("quotactl", 0, 0, 0, 0),
                       ("syslog", 3, 0, 0), ("syslog", 10, 0, 0), ("vhangup",),
                       ("sysfs", 3), ("ustat", 0, 0)],
    "io_ports_and_ldt": [("iopl", 3), ("ioperm", 0x80, 1, 1), ("modify_ldt", 0, 0, 0)],
    "mounts": [("mount", 0, 0, 0, 0, 0), ("umount2", 0, 2), ("pivot_root", 0, 0), ("chroot", 0),
               ("open_tree", -100, 0, 1), ("move_mount", 0, 0, 0, 0, 4), ("fsopen", 0, 0),
               ("fsconfig", 0, 6, 0, 0, 0), ("fsmount", 0, 0, 0), ("fspick", -100, 0, 0),
               ("mount_setattr", 0, 0, 0, 0, 0), ("statmount", 0, 0, 0, 0),
               ("listmount", 0, 0, 0, 0)],
    "watching_others": [("fanotify_init", 0, 0), ("fanotify_mark", 0, 0, 0, 0, 0),
                        ("inotify_init1", 0), ("inotify_add_watch", 0, 0, 0),
                        ("lookup_dcookie", 0, 0, 0), ("nfsservctl", 0, 0, 0)],
    "splice": [("splice", 0, 0, 1, 0, 1, 0), ("tee", 0, 1, 1, 0), ("vmsplice", 1, 0, 0, 0)],
    "memfd_secret": [("memfd_secret", 0)],
    "aio": [("io_setup", 1, 0), ("io_submit", 0, 0, 0)],
    "sysv_and_queues": [("shmget", 0, 4096, 0o1600), ("shmat", 0, 0, 0), ("semget", 0, 1, 0o1600),
                        ("msgget", 0, 0o1600), ("mq_open", 0, 0o100, 0o600, 0)],
    "numa": [("move_pages", 0, 0, 0, 0, 0, 0), ("migrate_pages", 0, 0, 0, 0),
             ("mbind", 0, 0, 0, 0, 0, 0)],
    "personality": [("personality", 0x0400000), ("personality", 0x0040000),
                    ("personality", 0x0100000)],
    "clocks": [("clock_settime", 0, 0), ("settimeofday", 0, 0), ("adjtimex", 0),
               ("clock_adjtime", 0, 0)],
    "host_name": [("sethostname", 0, 0), ("setdomainname", 0, 0)],
    "file_handles": [("open_by_handle_at", -100, 0, 0), ("name_to_handle_at", -100, 0, 0, 0, 0)],
    "other_processes": [("ptrace", 0, 0, 0, 0), ("ptrace", 16, 1, 0, 0),
                        ("ptrace", 0x4206, 1, 0, 0), ("process_vm_readv", 1, 0, 0, 0, 0, 0),
                        ("process_vm_writev", 1, 0, 0, 0, 0, 0), ("pidfd_getfd", 0, 0, 0),
                        ("kcmp", 1, 1, 0, 0, 0), ("process_madvise", 0, 0, 0, 0, 0),
                        ("process_mrelease", 0, 0)],
    "realtime": [("sched_setscheduler", 0, 1, 0), ("sched_setattr", 0, 0, 0)],
    "obsolete": [("remap_file_pages", 0, 0, 0, 0, 0), ("uselib", 0), ("create_module", 0, 0),
                 ("lsm_set_self_attr", 0, 0, 0, 0)],
    "capabilities": [("capset", 0, 0)],
}


@pytest.mark.parametrize("attack", CALLS)
def test_refused(box, attack):
    answers = box.ask(f"answer = [call(*args) for args in {CALLS[attack]!r}]")
    assert set(answers) <= REFUSED, list(zip(CALLS[attack], answers))


def test_a_denial_is_reported(box):
    record = box.run("call('mount', 0, 0, 0, 0, 0); call('mount', 0, 0, 0, 0, 0)")
    assert record["receipt"]["syscalls_denied"] == {"mount": 2}
    assert any(note["code"] == "syscall_denied" for note in record["diagnostics"])


@pytest.mark.parametrize("option", [
    pytest.param(35, id="PR_SET_MM"), pytest.param(0x59616d61, id="PR_SET_PTRACER"),
    pytest.param(62, id="PR_SCHED_CORE"), pytest.param(8, id="PR_SET_KEEPCAPS"),
    pytest.param(28, id="PR_SET_SECUREBITS"), pytest.param(47, id="PR_CAP_AMBIENT"),
    pytest.param(26, id="PR_SET_TSC"), pytest.param(24, id="PR_CAPBSET_DROP"),
    pytest.param(69, id="PR_SET_IO_FLUSHER"), pytest.param(59, id="PR_SET_SYSCALL_USER_DISPATCH")])
def test_prctl_is_refused(box, option):
    assert box.ask(f"answer = call('prctl', {option}, 2, 0, 0, 0)") == "EPERM"


ATTACH = r'''
import socket, struct
code = _ct.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffffffff) * 4096)
prog = struct.pack("HxxxxxxQ", 4096, _ct.addressof(code))
sockets = [socket.socket(family, kind) for family in (socket.AF_UNIX, socket.AF_INET,
           socket.AF_INET6) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
answer = [attempt(s.setsockopt, socket.SOL_SOCKET, option, value) for s in sockets
          for option, value in ((26, prog), (50, struct.pack("i", 3)), (51, prog),
                                (52, struct.pack("i", 3)), (44, 1), (27, 0), (68, 0))]
'''


def test_socket_filters_are_refused(box):
    """BPF programs use kernel memory that is charged to nobody, and the host's space for BPF code."""
    assert set(box.ask(ATTACH)) == {"EPERM"}
    assert box.run("").get("status") == "ok"


def test_unlisted_socket_options_do_not_exist(box):
    answer = box.ask(r'''
import socket
s = socket.socket()
answer = [attempt(s.setsockopt, level, option, b"x" * 64) for level, option in
          ((6, 31), (6, 19), (6, 14), (6, 13), (0, 64), (0, 35), (41, 64), (17, 103), (17, 100),
           (1, 60), (1, 36), (1, 25), (1, 10), (282, 1), (132, 1), (255, 1))]
''')
    assert set(answer) == {"ENOPROTOOPT"}


def test_unlisted_requests_to_files_do_not_exist(box):
    answer = box.ask(r'''
import fcntl, os
fds = [os.open(p, os.O_RDONLY) for p in ("/dev/null", "/usr/bin/env", "/mnt/data", "/proc/self/maps",
                                         "/proc/self/ns/user")]
answer = [attempt(fcntl.ioctl, fd, request, bytes(128)) for fd in fds for request in
          (0xae01, 0x4c00, 0xc020660b, 0xc0686611, 0xb701, 0xb702, 0x80086601, 0x1276, 0xc018937e,
           0xc0109428, 0x5015, 0x54e3)]
''')
    assert set(answer) == {"ENOTTY"}


def test_files_that_a_neighbour_reads_cannot_be_observed(box):
    """A box cannot find out whether a page of a shared file is in the page cache, nor evict one."""
    answer = box.ask(r'''
import os
fd = os.open("/usr/bin/env", os.O_RDONLY)
size = os.fstat(fd).st_size
os.read(fd, size)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
page = _ct.create_string_buffer(1)
_libc.mmap.restype = _ct.c_void_p
at = _libc.mmap(None, _ct.c_size_t(4096), 1, 1, fd, 0)
_libc.mincore(_ct.c_void_p(at), _ct.c_size_t(4096), page)
answer = [attempt(os.preadv, fd, [bytearray(1)], 0, os.RWF_NOWAIT), call(306, fd),
          call(162), page.raw[0]]
''')
    assert answer == ["ENOTSUP", "EPERM", "EPERM", 1]


def test_unknown_numbers_are_not_implemented(box):
    # Newer kernels exempt 335 and 336 (return from uprobes) from seccomp filters and kill any other
    # caller.
    answer = box.ask("answer = [call(n) for n in (*range(337, 424), *range(470, 600), 999, "
                     "0x3fffffff)]")
    assert set(answer) == {"ENOSYS"}


MACHINE_CODE = r'''
import mmap
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
page.write(bytes.fromhex("{code}"))
_ct.CFUNCTYPE(_ct.c_long)(_ct.addressof(_ct.c_char.from_buffer(page)))()
'''


@pytest.mark.parametrize("code", [
    pytest.param("b814000000cd80c3", id="int80"),           # getpid of the 32 bit ABI
    pytest.param("b82700004048c7c7000000000f05c3", id="x32")])
def test_a_foreign_abi_kills(box, driver, code):
    record = box.run(MACHINE_CODE.replace("{code}", code))
    assert record["status"] == "killed" or record["status"] == "kernel_died"
    assert "system call" in (record["error"]["value"] + str(record["diagnostics"]))


def test_a_filter_of_the_box_cannot_relax_ours(box):
    answer = box.ask(r'''
import os, struct
child = os.fork()
if child == 0:
    allow = _ct.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
    class Prog(_ct.Structure):
        _fields_ = [("len", _ct.c_ushort), ("filter", _ct.c_void_p)]
    prog = Prog(1, _ct.cast(allow, _ct.c_void_p))
    loaded = call("seccomp", 1, 0, _ct.byref(prog))
    os._exit(7 if loaded == 0 and call("mount", 0, 0, 0, 0, 0) == "EPERM" else 1)
answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
''')
    assert answer == 7


def test_a_second_listener_is_refused(box):
    answer = box.ask(r'''
import struct
allow = _ct.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
class Prog(_ct.Structure):
    _fields_ = [("len", _ct.c_ushort), ("filter", _ct.c_void_p)]
prog = Prog(1, _ct.cast(allow, _ct.c_void_p))
answer = call("seccomp", 1, 8, _ct.byref(prog))
''')
    assert answer in ("EBUSY", "EPERM")


GARBAGE = r'''
import mmap, os, random, signal, struct, time
skip = {1, 3, 9, 10, 11, 12, 15, 23, 24, 25, 34, 35, 37, 38, 56, 57, 58, 59, 60, 61, 62, 128, 130,
        200, 202, 219, 222, 230, 231, 232, 234, 247, 270, 271, 281, 288, 322, 335, 336, 424,
        435, 441, 449}
values = (0, -1, 1, 2**63 - 1, 4096, 3, -100)
shared = mmap.mmap(-1, 4096)  # the child's progress: a call may block or end it
random.seed(SEED)

def go_on(turn, nr):
    for fd in range(3, 64):
        try: os.close(fd)
        except OSError: pass
    for turn in range(turn, 200):
        for nr in range(nr, 600):
            shared[:8] = struct.pack("ii", turn, nr)
            if nr not in skip:
                _libc.syscall(nr, *[_ct.c_long(random.choice(values)) for _ in range(6)])
        nr = 0

def watch(child):
    seen, since = b"", time.monotonic()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if shared[:8] != seen: seen, since = shared[:8], time.monotonic()
        elif time.monotonic() > since + 0.3:
            os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
            break
        time.sleep(0.005)

turn = nr = children = 0
while turn < 200 and children < 300:
    children += 1
    child = os.fork()
    if child == 0:
        random.seed(SEED + children)
        go_on(turn, nr)
        shared[:8] = struct.pack("ii", 200, 0)
        os._exit(0)
    watch(child)
    turn, nr = struct.unpack("ii", shared[:8])
    if turn < 200:
        skip.add(nr)  # this call blocks or ends the child
        turn, nr = (turn, nr + 1) if nr < 599 else (turn + 1, 0)
print(turn, children, sorted(skip))
'''


def test_garbage_arguments_to_every_number(box, neighbour):
    """A child makes 200 rounds of system calls with random arguments; as after every attack, the
    driver fixture checks that Linux logged no warning."""
    record = box.run(GARBAGE.replace("SEED", "1"), timeout_ms=60000)
    assert record["status"] == "ok" and record["stdout"].startswith("200 "), record
    neighbour.check()


def test_ordinary_programs_pass_the_lists(box):
    """The filters allow what asyncio, multiprocessing, subprocess and shutil need."""
    answer = box.ask(r'''
import asyncio, fcntl, multiprocessing, os, shutil, socket, struct, subprocess, tempfile, termios
answer = {}
async def talk():
    async def serve(reader, writer):
        writer.write((await reader.read(5)).upper()); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, reuse_port=True)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello"); got = await reader.read(5); writer.close(); server.close()
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    out, _ = await child.communicate(b"piped")
    return [got.decode(), out.decode()]
answer["asyncio"] = await talk()
with multiprocessing.get_context("fork").Pool(2) as pool:
    answer["pool"] = pool.map(abs, [-1, -2])
with socket.create_server(("::1", 0), family=socket.AF_INET6, dualstack_ipv6=False) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.settimeout(0.5)
    answer["options"] = [s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]
r, w = os.pipe(); os.write(w, b"abc")
answer["waiting"] = struct.unpack("i", fcntl.ioctl(r, termios.FIONREAD, bytes(4)))[0]
os.set_blocking(r, False); os.set_inheritable(w, True)
answer["tty"] = [os.isatty(r), attempt(termios.tcgetattr, r), attempt(os.get_terminal_size, r)]
with tempfile.TemporaryDirectory() as d:
    shutil.copytree("/usr/share/zoneinfo/Europe", d + "/copy")
    answer["copy"] = len(os.listdir(d + "/copy")) > 10 if os.path.isdir(d + "/copy") else False
    with open(d + "/lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
answer["shell"] = subprocess.run("cp --reflink=auto /usr/bin/env /tmp/env; ls --color /tmp/env; "
                                 "stty size 2>&1 | head -c 60; cat /tmp/env | wc -c | grep -c .",
                                 shell=True, capture_output=True, text=True).returncode
''')
    assert answer["asyncio"] == ["HELLO", "piped"] and answer["pool"] == [1, 2]
    assert answer["options"] != [0] and answer["waiting"] == 3 and answer["copy"] is True
    assert answer["tty"] == [False, "error", "ENOTTY"] and answer["shell"] == 0
