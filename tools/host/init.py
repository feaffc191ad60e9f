"""The first process of a machine of tools/host-test: runs the steps of its plan, then ends it.

The plan and the tree are on the disk mounted at /srv. init.py writes the results (JUnit files, logs,
exit statuses) as one tar file to a port of the machine.
"""
import ctypes
import glob
import json
import os
import pathlib
import subprocess
import tarfile
import time
import traceback

SRV = pathlib.Path("/srv")
REPORTS = pathlib.Path("/tmp/reports")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
USER = 65533  # as in test/support/reckon_cli.py
DELEGATED = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads")
RB_AUTOBOOT = 0x1234567  # QEMU ends instead, because of -no-reboot
MOUNTS = (("proc", "/proc", ""), ("sysfs", "/sys", ""), ("tmpfs", "/tmp", "mode=1777"),
          ("tmpfs", "/run", "mode=755"), ("devpts", "/dev/pts", "ptmxmode=666"),
          ("tmpfs", "/dev/shm", "mode=1777"), ("cgroup2", "/sys/fs/cgroup", ""),
          ("securityfs", "/sys/kernel/security", ""))


def mount_all():
    for kind, target, how in MOUNTS:
        os.makedirs(target, exist_ok=True)
        subprocess.run(["mount", "-t", kind, *(["-o", how] if how else []), kind, target],
                       check=True)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(target, f"/dev/{name}")
    os.umask(0o022)


def place_tree(root):
    """Mounts the tree at the path where it was built, which some programs contain."""
    os.makedirs(root)
    subprocess.run(["mount", "--bind", SRV / "tree", root], check=True)
    os.makedirs("/var/lib/reckon")
    os.symlink(SRV / "templates", "/var/lib/reckon/templates")


def make_group(name, owner):
    """Makes a cgroup as systemd delegates one to a user: owned by the user, and marked."""
    controllers = (CGROUPS / "cgroup.controllers").read_text().split()
    (CGROUPS / "cgroup.subtree_control").write_text(
        " ".join(f"+{controller}" for controller in controllers))
    group = CGROUPS / name
    group.mkdir()
    for path in (group, *(group / file for file in DELEGATED)):
        os.chown(path, owner, owner)
    for mark in ("trusted.delegate", "user.delegate"):
        os.setxattr(group, mark, b"1")
    return group


def run(step, plan, group):
    name = step["name"]
    report = REPORTS / f"{name}.xml"
    if step["unit"]:
        command = [f"{plan['root']}/build/test/unit/{step['words'][0]}"]
    else:
        venv = pathlib.Path(plan["root"], "build/venv/bin/python")
        command = [str(venv if venv.exists() else "/usr/bin/python3"), "-m", "pytest", "-v", "-p",
                   "no:cacheprovider", f"--junitxml={report}", *step["words"]]
    is_user = step["user"] == "user"
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **plan["env"],
           "HOME": "/tmp/home" if is_user else "/root", "PYTHONDONTWRITEBYTECODE": "1"}
    if step["unit"]:
        env |= {"CMOCKA_MESSAGE_OUTPUT": "xml", "CMOCKA_XML_FILE": str(report)}
    if is_user:
        env |= {"RECKON_TEMPLATES": "/var/lib/reckon/templates"}

    # Enter the cgroup first, because a user's process could not move itself there.
    (group / "cgroup.procs").write_text(str(os.getpid()))
    who = {"user": USER, "group": USER, "extra_groups": []} if is_user else {}
    started = time.monotonic()
    with subprocess.Popen(command, cwd=plan["root"], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", **who) as process, \
            open(REPORTS / f"{name}.log", "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            print(line, end="", flush=True)
    (REPORTS / f"{name}.status").write_text(str(process.returncode))
    print(f"{plan['prefix']}{'ok  ' if process.returncode == 0 else 'FAIL'} "
          f"{' '.join(step['words'])} ({step['user']}, {time.monotonic() - started:.0f} s)",
          flush=True)


def way_out():
    """Opens the port for results, which tools/host-test reads even if the machine ends early."""
    for name in glob.glob("/sys/class/virtio-ports/*/name"):
        if pathlib.Path(name).read_text().strip() == "results":
            return open("/dev/" + name.split("/")[-2], "wb")
    raise FileNotFoundError("no port for results")


def send(out, path):
    """Writes a file as a tar member at once, because the machine may be killed at any time."""
    data = path.read_bytes()
    head = tarfile.TarInfo(path.name)
    head.size = len(data)
    out.write(head.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE))
    out.flush()


def main():
    mount_all()
    REPORTS.mkdir()
    REPORTS.chmod(0o1777)
    os.makedirs("/tmp/home")
    os.chown("/tmp/home", USER, USER)
    plan = json.loads((SRV / "plan.json").read_text())
    place_tree(plan["root"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    groups = {"root": CGROUPS, "user": make_group("tests-user", USER)}
    with way_out() as out:
        for step in plan["steps"]:
            run(step, plan, groups[step["user"]])
            for path in sorted(REPORTS.glob(f"{step['name']}.*")):
                send(out, path)


try:
    main()
except BaseException:
    traceback.print_exc()
finally:
    os.sync()
    ctypes.CDLL(None).reboot(RB_AUTOBOOT)
