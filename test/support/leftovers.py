"""What Reckon left behind on this host: processes, cgroups, mounts.

Only what is new since a snapshot counts. Processes are recognised by the inode they execute, so
that neither another installation's processes nor a renamed one confuse the result, and so that it
works across mount namespaces.
"""
import os
import pathlib
import signal
import time

# How many times longer than on a host things may take: a slow machine (tools/host-test) says it.
PATIENCE = int(os.environ.get("RECKON_TEST_PATIENCE", "1"))
SECONDS = 10 * PATIENCE  # how long something may take to disappear once its warden was told to end


def identity(path):
    st = os.stat(path)
    return st.st_dev, st.st_ino


def stat_of(pid):
    """(comm, state, start time) of a process, or None when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    comm, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return comm, fields[0], fields[19]


def own_groups():
    """Our own group in each hierarchy, where a warden makes its own; in v2 the one above it too,
    from which a warden may have moved us down. Others on this host have theirs elsewhere."""
    mounts = {}  # controller, "" for v2: where
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
    """Compares the host with how it was when this object was made."""

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
        """{("process", "pid", "name start-time")}, without zombies: those are init's to reap."""
        found = set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            about = stat_of(entry)
            if about is None or about[1] in "ZX":
                continue
            try:
                name = self.programs.get(identity(f"/proc/{entry}/exe"))
            except FileNotFoundError:  # gone, going, or a kernel thread
                continue
            except OSError:  # not ours to look at: then by its name
                name = about[0] if about[0].startswith("reckon-") else None
            if name is not None:
                found.add(("process", entry, f"{name} {about[2]}"))
        return found

    def cgroups(self):
        """{("cgroup", path, "")} of wardens' groups that hold no process any more, where a warden
        of ours makes them. One of a warden that lives, reckon-PID, is not counted: it may be
        another one's, and it removes it; ours have ended before they are looked for."""
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
        """Waits until nothing new is left; returns what still is."""
        deadline = time.monotonic() + seconds
        while (left := self.new()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def end_wardens(self, seconds=SECONDS):
        """Asks the wardens that started since the snapshot to end, and waits until they have."""
        wardens = [item for item in self.new()
                   if item[0] == "process" and item[2].startswith("reckon-warden ")]
        for _, pid, _ in wardens:
            send(pid, signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while set(wardens) & self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)

    def kill(self):
        """So that what one module leaked does not count against the next."""
        for kind, pid, _ in self.new():
            if kind == "process":
                send(pid, signal.SIGKILL)


def send(pid, number):
    try:
        os.kill(int(pid), number)
    except (ProcessLookupError, PermissionError):
        pass
