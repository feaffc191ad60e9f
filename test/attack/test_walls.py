"""Redundant walls: each is tested on its own, because an attack that two walls stop tests neither.

tools/wall-test removes one wall at a time and checks that the test named there fails.
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


# A program started by execve is dumpable and so may write its own files in /proc: only Landlock
# prevents that.
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
    out, err = kernel.ask(WRITE_OWN_NAME)
    assert out == "" and "Permission denied" in err


@pytest.mark.skipif(landlock_abi() < 6, reason="Landlock without scopes")
def test_landlock_keeps_signals_in(kernel):
    """A kernel cannot signal pid 1, which has the same uid but is outside of its Landlock domain."""
    assert kernel.ask("import os; answer = [attempt(os.kill, 1, 0), attempt(os.kill, os.getpid(), 0)]") \
        == ["EPERM", None]


@AS_ROOT
def test_no_user_namespace_can_be_made_in_a_box(kernel):
    done = subprocess.run(["nsenter", "-U", "--preserve-credentials", "-t", str(kernel.pid), "cat",
                           "/proc/sys/user/max_user_namespaces"], capture_output=True, text=True,
                          check=True)
    assert done.stdout == "0\n"


def mounts_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        yield words[4], set(words[5].split(","))


@AS_ROOT
def test_no_mount_of_a_box_allows_set_user_ids(driver, place, state):
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
    """The content of a file of the process's cgroup, v1 or v2."""
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
    """The cgroups of a box have limits of their own, in addition to its rlimits."""
    box = driver.open(pids=40, memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    for kernel in (box, box.branch()):
        assert 40 <= int(group_file(kernel.pid, "pids", "pids.max")) <= 44
        v1 = group_file(kernel.pid, "memory", "memory.limit_in_bytes") \
            if os.path.isdir("/sys/fs/cgroup/memory") else None
        assert (v1 or group_file(kernel.pid, "memory", "memory.max")) == str(80 * MIB)


def test_a_kernel_is_not_dumpable(kernel):
    """Other processes of its uid cannot read a kernel's /proc files, and a crash writes no core."""
    assert kernel.ask("import resource; answer = [call('prctl', 3), "
                      "resource.getrlimit(resource.RLIMIT_CORE)]") == [0, [0, 0]]


def test_pid_1_has_its_own_filter(box):
    """pid 1 has its own seccomp filter and no_new_privs."""
    own = os.readlink(f"/proc/{box.pid}/ns/pid")
    init = next(pid for pid in os.listdir("/proc") if pid.isdigit() and
                status_of(pid).get("Name") == "reckon-init" and
                os.readlink(f"/proc/{pid}/ns/pid") == own)
    status = status_of(init)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
