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
SECONDS = 2 * PATIENCE  # how long something may take to disappear once its warden was told to end


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


class Leftovers:
    """Compares the host with how it was when this object was made."""

    def __init__(self, program_dirs, cgroup_root="/sys/fs/cgroup"):
        self.programs = {}
        for folder in program_dirs:
            for path in pathlib.Path(folder).iterdir():
                if path.is_file() and os.access(path, os.X_OK):
                    self.programs[identity(path)] = path.name
        self.cgroup_root = pathlib.Path(cgroup_root)
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
            except OSError:  # gone, a kernel thread, or not ours to look at: then by its name
                name = about[0] if about[0].startswith("reckon-") else None
            if name is not None:
                found.add(("process", entry, f"{name} {about[2]}"))
        return found

    def cgroups(self):
        """{("cgroup", path, "")} of Reckon's cgroups that hold no process any more. Those below a
        warden that lives, reckon-PID, are not counted: it may be another one's, and it removes
        them; ours have ended before they are looked for."""
        found = set()
        for folder, below, _ in os.walk(self.cgroup_root):
            below[:] = [name for name in below if not self.is_of_a_live_warden(name)]
            if "reckon" in os.path.basename(folder) and not self.populated(folder):
                found.add(("cgroup", folder, ""))
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
