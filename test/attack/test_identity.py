"""A kernel's identity (ids, capabilities, namespaces), read from the host, cannot be changed."""
import os

import pytest
from attack import status_of

SIX = ("mnt", "net", "ipc", "uts", "cgroup", "user", "pid")


def check_walls(pid, user):
    status = status_of(pid)
    for field in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        assert int(status[field], 16) == 0, field
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    owner = {int(uid) for uid in status["Uid"].split()}
    assert 0 not in owner and len(owner) == 1
    if user.is_root:
        assert owner.pop() >= 0x70000000
        assert status["Groups"] == ""
    if os.geteuid() == 0:
        for name in SIX:
            assert os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")


def test_walls_of_a_fresh_kernel(box, driver):
    check_walls(box.pid, driver.place.user)


def test_walls_of_a_branch(box, driver):
    box.expect("ok", "x = 1")
    copy = box.branch()
    check_walls(copy.pid, driver.place.user)
    if os.geteuid() == 0:
        for name in SIX:
            assert os.readlink(f"/proc/{copy.pid}/ns/{name}") != \
                os.readlink(f"/proc/{box.pid}/ns/{name}"), name


def test_walls_of_a_bash_kernel(driver):
    box = driver.open(language="bash")
    box.expect("ok", "true")
    check_walls(box.pid, driver.place.user)
    for entry in os.listdir("/proc"):  # the shell itself, a child of the kernel
        if entry.isdigit() and status_of(entry).get("PPid") == str(box.pid):
            check_walls(entry, driver.place.user)


def test_a_child_inherits_the_walls(box, driver):
    answer = box.ask(r'''
import subprocess
text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
answer = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
''')
    assert int(answer["CapEff"], 16) == int(answer["CapBnd"], 16) == 0
    assert answer["Seccomp"] == "2" and answer["NoNewPrivs"] == "1"


@pytest.mark.parametrize("flag", [
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80])
def test_no_new_namespace(box, flag):
    answer = box.ask(f'''
args = _ct.create_string_buffer(88)
_ct.c_uint64.from_buffer(args, 0).value = {flag}
_ct.c_uint64.from_buffer(args, 32).value = 17
answer = [call("unshare", {flag}), call("clone3", args, 88)]
''' + (f'answer.append(call("clone", {flag} | 17, 0, 0, 0, 0))' if flag != 0x80 else ""))
    assert set(answer) <= {"EPERM", "ENOSYS"}


def test_the_unshare_program_fails(box):
    answer = box.ask(r'''
import subprocess
answer = [subprocess.run(["unshare", f, "true"], capture_output=True).returncode
          for f in ("-r", "-m", "-n", "-p", "-U", "-i", "-u", "-C", "-T")]
''')
    assert 0 not in answer


def test_nested_user_namespaces_are_at_zero(box):
    if os.geteuid() != 0:
        pytest.skip("needs root to join the namespace")
    pid = os.fork()
    if pid == 0:
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        status = 1
        fd = os.open(f"/proc/{box.pid}/ns/user", os.O_RDONLY)
        if libc.setns(fd, 0x10000000) == 0 and libc.unshare(0x10000000) == -1:
            status = 0 if ctypes.get_errno() in (28, 1) else 2
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_join_other_namespaces(box):
    answer = box.ask(r'''
import os
out = []
for base in ("/proc/1/ns", "/proc/self/ns"):
    for name in ("mnt", "net", "pid", "user", "ipc", "uts", "cgroup", "time"):
        fd = attempt(os.open, f"{base}/{name}", os.O_RDONLY)
        out.append(fd if isinstance(fd, str) else call("setns", fd, 0))
fd = call("pidfd_open", 1, 0)
out.append(call("setns", fd, 0x7e020000) if isinstance(fd, int) else fd)
answer = out
''')
    assert set(answer) <= {"EPERM", "EACCES", "ENOENT", "ENOSYS"}, answer


def test_become_another_user(box, driver):
    other = driver.open()
    neighbour_uid = other.about["host_uid"]
    answer = box.ask(f'''
out = []
for uid in (0, 1, 999, 1001, 65534, {neighbour_uid}):
    out += [call("setuid", uid), call("setresuid", uid, uid, uid), call("setgid", uid),
            call("setresgid", uid, uid, uid)]
groups = (_ct.c_uint * 2)(0, 4)
out.append(call("setgroups", 2, groups))
call("setfsuid", 0)
import os
answer = [out, os.getresuid(), attempt(os.open, "/usr/x", os.O_CREAT | os.O_WRONLY)]
''')
    assert set(answer[0]) <= {"EPERM", "EINVAL"}
    assert answer[1] == [1000, 1000, 1000] and answer[2] in ("EROFS", "EACCES")


def test_raise_capabilities(box):
    answer = box.ask(r'''
head = _ct.create_string_buffer(8); _ct.c_uint32.from_buffer(head, 0).value = 0x20080522
data = _ct.create_string_buffer(b"\xff" * 24)
answer = [call("capset", head, data), call("prctl", 47, 2, 21, 0, 0), call("prctl", 8, 1, 0, 0, 0),
          call("prctl", 28, 1, 0, 0, 0)]
answer.append([l for l in open("/proc/self/status") if l.startswith("Cap") and int(l[7:], 16)])
''')
    assert set(answer[:4]) == {"EPERM"} and answer[4] == []


def test_signal_everything(box, neighbour):
    """kill(-1), and kill of every pid that the host may use, reach only the box's processes."""
    record = box.run(r'''
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
reached = []
for pid in range(1, 70000):
    try: os.kill(pid, 0); reached.append(pid)
    except OSError: pass
attempt(os.kill, -1, signal.SIGTERM)
print(set(reached) <= {1, os.getpid()})
''')
    assert record["status"] == "ok" and record["stdout"] == "True\n"
    neighbour.check()


@pytest.mark.parametrize("how", ["attempt(os.kill, -1, 9)", "os.killpg(0, 9)", "os.kill(os.getpid(), 9)"])
def test_kill_the_kernel_and_its_group(box, how, neighbour):
    record = box.run(f"import os; {how}; import time; time.sleep(1); print('alive')")
    assert record["status"] in ("kernel_died", "ok"), record
    neighbour.check()


def test_stop_everything(box, neighbour):
    record = box.run("import os, signal\nfor pid in (1, -1): attempt(os.kill, pid, signal.SIGSTOP)\n"
                     "os.kill(os.getpid(), signal.SIGSTOP)", timeout_ms=1500)
    assert record["status"] in ("timeout", "killed", "kernel_died", "ok"), record["status"]
    neighbour.check()


def test_a_twin_has_only_the_capabilities_it_needs(box):
    """A twin, outside of the box, needs SYS_ADMIN and SYS_CHROOT to join it, SYS_PTRACE to branch."""
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    needed = 1 << 21 | 1 << 18 | 1 << 19
    for kernel in (box, box.branch()):
        twin = status_of(status_of(kernel.pid)["PPid"])
        assert twin["Name"].startswith("reckon-zygote"), twin["Name"]
        for field in ("CapPrm", "CapEff", "CapBnd"):
            assert int(twin[field], 16) & ~needed == 0, (field, twin[field])
        assert int(twin["CapInh"], 16) == 0 and int(twin["CapAmb"], 16) == 0
