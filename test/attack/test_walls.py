"""Walls behind other walls: each is looked at by itself, so that none can go and nobody notices.

An attack that two walls stop tells nothing about either. tools/wall-test takes each of them away and
demands that the test named there fails.
"""
import os
import pathlib
import subprocess

import pytest
from attack import MIB, status_of

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="looks into the box from the host as root")


@pytest.fixture(params=["fresh", "branch"])
def kernel(request, box):
    if request.param == "fresh":
        return box
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    return box.branch()


# A program started by execve is dumpable, so its own files in /proc are its own to write to: only
# Landlock keeps it from that. (The shell's number of the line is what it says of the refusal.)
WRITE_OWN_NAME = r'''
import subprocess
done = subprocess.run(["sh", "-c", "echo x > /proc/self/comm && cat /proc/self/comm"],
                      capture_output=True, text=True)
answer = [done.stdout, done.stderr]
'''


def landlock_abi():
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


@pytest.mark.skipif(landlock_abi() < 1, reason="no Landlock here")
def test_landlock_keeps_files_from_being_written(kernel):
    out, told = kernel.ask(WRITE_OWN_NAME)
    assert out == "" and "Permission denied" in told


@pytest.mark.skipif(landlock_abi() < 6, reason="Landlock without scopes")
def test_landlock_keeps_signals_in(kernel):
    """pid 1 of the box has the same uid, but is not in the kernel's domain."""
    assert kernel.ask("import os; answer = [attempt(os.kill, 1, 0), attempt(os.kill, os.getpid(), 0)]") \
        == ["EPERM", None]


@AS_ROOT
def test_no_user_namespace_fits_in_a_box(kernel):
    done = subprocess.run(["nsenter", "-U", "--preserve-credentials", "-t", str(kernel.pid), "cat",
                           "/proc/sys/user/max_user_namespaces"], capture_output=True, text=True,
                          check=True)
    assert done.stdout == "0\n"


def mounts_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        yield words[4], set(words[5].split(","))


@AS_ROOT
def test_no_mount_of_a_box_takes_set_user_ids(driver, place, state):
    folder = place.base / "writable"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    box = driver.open(shared=folder)
    mounts = dict(mounts_of(box.pid))
    assert {"/", "/usr", "/mnt/data", "/mnt/shared", "/tmp", "/dev/shm", "/proc"} <= set(mounts)
    terminals = {"/dev/tty", "/dev/pts"}  # the box's own: devpts has no other device
    devices = {"/dev/" + name for name in ("null", "zero", "full", "random", "urandom")}
    for point, options in mounts.items():
        assert "nosuid" in options, (point, options)
        assert "nodev" in options or point in devices or point in terminals, (point, options)
    for point in ("/", "/usr", "/opt/reckon", "/mnt"):
        assert "ro" in mounts[point], (point, mounts[point])


def group_file(pid, controller, name):
    """What stands in a file of the process's control group, v1 or v2."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return pathlib.Path(f"/sys/fs/cgroup/{controller}{path}/{name}").read_text().strip()
    for parent in (path, os.path.dirname(path)):
        file = pathlib.Path(f"/sys/fs/cgroup{parent}/{name}")
        if file.exists() and file.read_text().strip() != "max":
            return file.read_text().strip()
    return "max"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_groups_have_limits(driver):
    """A box's own rlimits would stop a fork bomb as well; the group counts what they do not."""
    box = driver.open(pids=40, memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    for kernel in (box, box.branch()):
        assert 40 <= int(group_file(kernel.pid, "pids", "pids.max")) <= 44
        v1 = group_file(kernel.pid, "memory", "memory.limit_in_bytes") \
            if os.path.isdir("/sys/fs/cgroup/memory") else None
        assert (v1 or group_file(kernel.pid, "memory", "memory.max")) == str(80 * MIB)


def test_a_kernel_is_not_dumpable(kernel):
    """What /proc shows of it is not for others of its uid, and a crash writes no core."""
    assert kernel.ask("import resource; answer = [call('prctl', 3), "
                      "resource.getrlimit(resource.RLIMIT_CORE)]") == [0, [0, 0]]


def test_pid_1_can_do_nothing_but_wait(box):
    """It has a filter of its own: a captured one has no system call."""
    own = os.readlink(f"/proc/{box.pid}/ns/pid")
    init = next(pid for pid in os.listdir("/proc") if pid.isdigit() and
                status_of(pid).get("Name") == "reckon-init" and
                os.readlink(f"/proc/{pid}/ns/pid") == own)
    status = status_of(init)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
