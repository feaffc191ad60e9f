"""Kernel interfaces that no cell needs: each refused, the process lives, the denial is told."""
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


def test_a_denial_is_told(box):
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


def test_unknown_numbers_are_not_implemented(box):
    # 335 and 336 are the kernel's own way back from probes: newer ones exempt them from filters and
    # end whoever else makes the call.
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


def test_the_users_own_filter_cannot_relax_ours(box):
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


def test_garbage_arguments_to_every_number(box, neighbour):
    record = box.run(r'''
import os, random
skip = {1, 3, 9, 10, 11, 12, 15, 23, 24, 25, 34, 35, 37, 38, 56, 57, 58, 59, 60, 61, 62, 128, 130,
        200, 202, 219, 222, 230, 231, 232, 234, 247, 270, 271, 281, 288, 322, 335, 336, 424,
        435, 441, 449}
random.seed(1)
child = os.fork()
if child == 0:
    for fd in range(3, 64):
        try: os.close(fd)
        except OSError: pass
    for turn in range(20):
        for nr in range(0, 470):
            if nr not in skip:
                _libc.syscall(nr, *[_ct.c_long(random.choice((0, -1, 1, 2**63 - 1, 4096, 3, -100)))
                                    for _ in range(6)])
    os._exit(0)
import signal, time
for _ in range(100):
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid: break
    time.sleep(0.05)
else:
    os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
print("done")
''')
    assert record["status"] == "ok" and "done" in record["stdout"]
    neighbour.check()
