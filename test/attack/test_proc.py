"""/proc, /sys and pid 1: a box finds only its own processes and nothing of the host."""
import os
import pathlib

import pytest
from attack import status_of


def test_proc_lists_only_own_processes(box):
    answer = box.ask(r'''
import os
answer = {"pids": sorted(int(n) for n in os.listdir("/proc") if n.isdigit()), "own": os.getpid(),
          "rest": sorted(n for n in os.listdir("/proc") if not n.isdigit())}
own = os.stat("/proc/self/").st_dev
answer["uncovered"] = [n for n in answer["rest"] if os.lstat("/proc/" + n).st_dev == own
                       and not os.path.islink("/proc/" + n)]
answer["links"] = sorted(n for n in answer["rest"] if os.path.islink("/proc/" + n))
''')
    assert set(answer["pids"]) <= {1, answer["own"]}
    assert answer["uncovered"] == []
    assert set(answer["links"]) <= {"self", "thread-self", "mounts", "net"}


def test_pid_1_is_opaque(box):
    answer = box.ask(r'''
import os
answer = {n: attempt(lambda: len(open("/proc/1/" + n, "rb").read()))
          for n in ("environ", "mem", "maps", "stack", "syscall", "auxv", "io", "pagemap")}
answer.update({n: attempt(os.readlink, "/proc/1/" + n) for n in ("root", "cwd", "exe", "ns/mnt")})
answer["fd"] = attempt(os.listdir, "/proc/1/fd")
answer["kill"] = [attempt(os.kill, 1, s) for s in (0, 9, 15, 19)]
''')
    kills = answer.pop("kill")
    assert set(map(str, answer.values())) <= {"EACCES", "EPERM", "ENOENT"}, answer
    assert set(map(str, kills)) <= {"None", "EPERM"}
    assert box.ask("answer = 1") == 1


def test_init_seen_from_outside(box):
    parent = next(pid for pid in children_of_ns(box.pid))
    assert status_of(parent)["Name"] == "reckon-init"
    if os.geteuid() == 0:
        assert pathlib.Path(f"/proc/{parent}/environ").read_bytes().strip(b"\0") == b""
        assert os.listdir(f"/proc/{parent}/fd") == []
        assert status_of(parent)["Seccomp"] == "2"


def children_of_ns(pid):
    """Host pids of pid 1 of this process's pid namespace."""
    own = os.readlink(f"/proc/{pid}/ns/pid")
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/ns/pid") == own and \
                    status_of(entry).get("NSpid", "").split()[-1:] == ["1"]:
                yield int(entry)
        except OSError:
            continue


def test_kernel_knobs_cannot_be_written(box):
    answer = box.ask(r'''
import os
names = ["sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sys/vm/panic_on_oom",
         "sys/vm/overcommit_memory", "sys/kernel/hostname", "sys/kernel/sysrq", "sysrq-trigger",
         "sys/net/ipv4/ip_forward", "sys/user/max_user_namespaces", "sys/fs/binfmt_misc/register"]
answer = {n: attempt(os.open, "/proc/" + n, os.O_WRONLY) for n in names}
''')
    assert set(answer.values()) <= {"EACCES", "EROFS", "ENOENT", "EPERM"}, answer


MADE_UP = {"version", "cpuinfo", "meminfo", "loadavg", "stat", "swaps", "uptime"}  # see test_procview.py


def test_kernel_information_is_absent(box):
    answer = box.ask(r'''
import os
names = ["kcore", "kmsg", "kallsyms", "keys", "key-users", "sched_debug", "timer_list", "slabinfo",
         "config.gz", "iomem", "ioports", "interrupts", "modules", "mounts_", "net/../sys", "version",
         "cmdline", "cpuinfo", "meminfo", "loadavg", "stat", "diskstats", "partitions", "vmallocinfo",
         "pagetypeinfo", "kpagecount", "kpageflags", "swaps", "uptime", "sysvipc/shm", "acpi", "scsi"]
answer = {n: attempt(lambda: os.listdir("/proc/" + n) if os.path.isdir("/proc/" + n) else
                     open("/proc/" + n, "rb").read().decode()) for n in names}
''')
    shown = {name for name, text in answer.items() if text not in ("ENOENT", "ENOTDIR", "", [])}
    assert shown - {"net/../sys"} <= MADE_UP, answer


def test_own_proc_settings_cannot_be_written(box):
    answer = box.ask(r'''
def write(name, text):
    with open("/proc/self/" + name, "w") as f: f.write(text)
answer = {n: attempt(write, n, t) for n, t in [
    ("oom_score_adj", "-1000"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"),
    ("attr/current", "x"), ("attr/exec", "x"), ("autogroup", "-20"), ("loginuid", "0"),
    ("sched", "0"), ("projid_map", "0 0 1"), ("make-it-fail", "1"), ("timens_offsets", "1 1 0")]}
''')
    assert not {n: a for n, a in answer.items() if a is None}, answer


def test_core_dumps_are_off(box):
    answer = box.ask(r'''
import resource, os
child = os.fork()
if child == 0:
    os.abort()
status = os.waitpid(child, 0)[1]
answer = [resource.getrlimit(resource.RLIMIT_CORE), os.WCOREDUMP(status), attempt(
    resource.setrlimit, resource.RLIMIT_CORE, (1, 1)), os.listdir(".")]
''')
    assert answer[0] == [0, 0] and answer[1] is False and answer[2] == "ValueError"
    assert answer[3] == []


def test_overwrite_its_own_program(box):
    """/proc/self/exe cannot be opened for writing, not even after its exec ended (CVE-2019-5736)."""
    answer = box.ask(r'''
import os, subprocess
script = """
import os, sys
for path in ('/proc/self/exe', '/proc/%d/exe' % os.getppid()):
    try: os.open(path, os.O_RDWR); print('open')
    except OSError as e: print(e.errno)
"""
answer = [attempt(os.open, "/proc/self/exe", os.O_RDWR),
          subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True).stdout]
''')
    assert answer[0] in ("EROFS", "EACCES", "ETXTBSY", "EPERM")
    assert "open" not in answer[1]


def test_write_through_proc_self_mem(box):
    answer = box.ask(r'''
import os
call("prctl", 4, 1, 0, 0, 0)
answer = attempt(os.open, "/proc/self/mem", os.O_RDWR)
if isinstance(answer, int):
    answer = "own"
''')
    assert answer in ("own", "EACCES", "EPERM")


def test_no_sys_no_cgroups(box):
    answer = box.ask(r'''
import os
answer = {"sys": attempt(os.listdir, "/sys"), "cgroup": open("/proc/self/cgroup").read(),
          "mount": call("mount", b"c", b"/tmp", b"cgroup2", 0, 0),
          "mounts": open("/proc/self/mountinfo").read()}
''')
    assert answer["sys"] in ("ENOENT", [])
    assert answer["mount"] in ("EPERM", "ENOSYS")
    assert "reckon-" not in answer["cgroup"]
    assert not [line for line in answer["mounts"].splitlines() if "cgroup" in line.partition(" - ")[2]]


def test_no_terminal(box):
    answer = box.ask(r'''
import fcntl, os, termios
out = []
for fd in (0, 1, 2, 3):
    out.append(attempt(os.tcgetpgrp, fd))
    out.append(attempt(fcntl.ioctl, fd, 0x5412, b"x"))
    out.append(attempt(fcntl.ioctl, fd, 0x541c, b"\3"))
    out.append(call("ioctl", fd, (1 << 32) | 0x5412, b"x"))
answer = out
''')
    assert set(answer) <= {"ENOTTY", "EPERM", "EBADF", "ENOTSOCK", "EINVAL"}, answer


def test_environment_contains_nothing_of_the_host(driver):
    box = driver.open()
    environment = box.ask("import os; answer = dict(os.environ)")
    assert set(environment) <= {
        "HOME", "USER", "LOGNAME", "LANG", "TZ", "PATH", "TERM", "MPLBACKEND", "LC_CTYPE",
        "PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS", "FONTCONFIG_FILE",
        "XDG_CACHE_HOME", "PIP_RETRIES"}, environment
    assert not any("/work" in value or "/root" in value for value in environment.values())


def test_descriptors_at_start(box):
    answer = box.ask(r'''
import os
answer = {}
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try: answer[name] = os.readlink("/proc/self/fd/" + name)
    except OSError: pass
''')
    extra = {fd: path for fd, path in answer.items() if int(fd) > 3}
    allowed = ("pipe:", "anon_inode:[eventpoll]", "/dev/null", "anon_inode:[eventfd]",
               "socket:", "/proc/")
    assert answer["3"].startswith("socket:")
    assert all(path.startswith(allowed) for path in extra.values()), extra
    if os.geteuid() == 0:
        outside = {os.readlink(f"/proc/{box.pid}/fd/{fd}") for fd in os.listdir(
            f"/proc/{box.pid}/fd")}
        assert not any("net:[" in path or "pidfd" in path or "seccomp" in path for path in outside)


def test_a_second_session_inherits_no_descriptors(driver):
    one = driver.open()
    one.expect("ok", "f = open('mine', 'w'); import socket; s = socket.socketpair()")
    two = driver.open()
    assert len(two.ask("import os; answer = os.listdir('/proc/self/fd')")) <= 10


@pytest.mark.parametrize("name", ["_reckon", "__main__"])
def test_command_line_contains_no_secret(box, name):
    line = box.ask("answer = open('/proc/self/cmdline').read().split('\\0')")
    assert line[0].startswith("/opt/reckon/reckon-zygote-")
    assert not any("/work" in word or "/root" in word or "/var" in word for word in line), name
