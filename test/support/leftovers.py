"""Finds processes, cgroups and mounts that Reckon left over on this host.

Only those that are new since a snapshot count. A process is recognised by the inode that it executes,
so that processes of another installation do not count, a renamed one does, and the check works
across mount namespaces.
"""
import os
import pathlib
import signal
import time

# The factor by which time limits are longer: tools/host-test sets it for its slow machine.
PATIENCE = int(os.environ.get("RECKON_TEST_PATIENCE", "1"))
SECONDS = 10 * PATIENCE  # time limit for leftovers to disappear after their warden was ended


def identity(path):
    st = os.stat(path)
    return st.st_dev, st.st_ino


def stat_of(pid):
    """(comm, state, start time) of a process, or None if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    comm, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return comm, fields[0], fields[19]


def own_groups():
    """This process's cgroup in each hierarchy, in which a warden makes its own; in v2 also the parent,
    because a warden may have moved this process down. Other users' wardens use other cgroups."""
    mounts = {}  # controller ("" for v2): mount point
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, behind = line.partition(" - ")
        kind, _, options = behind.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            for name in options.split(",") if kind == "cgroup" else [""]:
                mounts[name] = before.split()[4]
    found = set()
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        mount = mounts.get(names.split(",")[0])
        if mount is None:
            continue
        own = pathlib.Path(mount + path.rstrip("/"))
        # A cgroup namespace shows paths that do not exist in its own mount.
        found.add(own if own.is_dir() else pathlib.Path(mount))
        if names == "" and path != "/" and own.is_dir():
            found.add(own.parent)
    return sorted(found)


class Leftovers:
    """Compares the host with a snapshot, which the constructor takes."""

    def __init__(self, program_dirs, cgroup_homes=None):
        self.programs = {}
        for folder in program_dirs:
            for path in pathlib.Path(folder).iterdir():
                if path.is_file() and os.access(path, os.X_OK):
                    self.programs[identity(path)] = path.name
        self.cgroup_homes = own_groups() if cgroup_homes is None else cgroup_homes
        self.before = self.everything()

    def everything(self):
        return self.processes() | self.cgroups() | self.mounts()

    def new(self):
        return sorted(self.everything() - self.before)

    def processes(self):
        """{("process", "pid", "name start-time")}, without zombies, which init reaps."""
        found = set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            about = stat_of(entry)
            if about is None or about[1] in "ZX":
                continue
            try:
                name = self.programs.get(identity(f"/proc/{entry}/exe"))
            except FileNotFoundError:  # ended, ending, or a kernel thread
                continue
            except OSError:  # permission denied: recognise it by its name
                name = about[0] if about[0].startswith("reckon-") else None
            if name is not None:
                found.add(("process", entry, f"{name} {about[2]}"))
        return found

    def cgroups(self):
        """{("cgroup", path, "")} of cgroups of dead wardens that contain no process. The cgroup of a
        live warden, reckon-PID, does not count: that warden may belong to another suite, and removes
        its cgroup itself; the tests end their own wardens first."""
        found = set()
        for home in self.cgroup_homes:
            for folder in pathlib.Path(home).glob("reckon-*"):
                if (folder.name[7:].isdigit() and not self.is_of_a_live_warden(folder.name)
                        and not self.populated(folder)):
                    found.add(("cgroup", str(folder), ""))
        return found

    @staticmethod
    def is_of_a_live_warden(group):
        kind, _, pid = group.rpartition("-")
        about = stat_of(pid) if kind == "reckon" and pid.isdigit() else None
        return about is not None and about[0] == "reckon-warden" and about[1] not in "ZX"

    @staticmethod
    def populated(cgroup):
        for folder, _, _ in os.walk(cgroup):
            try:
                if pathlib.Path(folder, "cgroup.procs").read_text().strip():
                    return True
            except OSError:
                continue  # removed meanwhile
        return False

    @staticmethod
    def mounts():
        """{("mount", mount point, "")} in this mount namespace."""
        found = set()
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                point = line.split()[4]
                if "reckon" in point:
                    found.add(("mount", point, ""))
        return found

    def wait_for_none(self, seconds=SECONDS):
        """Waits until there is nothing new; returns the items that are still there."""
        deadline = time.monotonic() + seconds
        while (left := self.new()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def end_wardens(self, seconds=SECONDS):
        """Ends the wardens that started since the snapshot, and waits for them."""
        wardens = [item for item in self.new()
                   if item[0] == "process" and item[2].startswith("reckon-warden ")]
        for _, pid, _ in wardens:
            send(pid, signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while set(wardens) & self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)

    def kill(self):
        """Kills new processes, so that leaks of one module do not count against the next."""
        for kind, pid, _ in self.new():
            if kind == "process":
                send(pid, signal.SIGKILL)


def send(pid, number):
    try:
        os.kill(int(pid), number)
    except (ProcessLookupError, PermissionError):
        pass
