"""Resources of the host's Linux kernel that no process or cgroup shows.

    counters = HostCounters()      reads the counters
    counters.grown()               {} once all are as before, else {name: (before, now)}

Other programs run on this host as well, so only growth beyond a slack counts.
"""
import contextlib
import os
import pathlib
import re
import time

from leftovers import PATIENCE

MIB = 1 << 20
SLACK = {  # a leak of an attack is many times larger
    "socket buffers": 64 * MIB,
    "unreclaimable slab": 192 * MIB,
    "BPF code": 2 * MIB,
    "open files": 4096,
    "keys": 64,
    "per-cpu memory": 64 * MIB,
    "kernel stacks": 64 * MIB,
    "warnings of the kernel": 0,
}
# Messages about errors in the Linux kernel itself, not about programs that it killed.
WARNING = re.compile(rb"WARNING: CPU|BUG: |Oops: |KASAN: |UBSAN: |rcu: .*stall|list_\w+ corruption")


def text_of(path):
    with contextlib.suppress(OSError):
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def warnings():
    """The number of such messages in the kernel's log."""
    count = 0
    with contextlib.suppress(OSError):  # permission denied, or the end of the log
        fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                with contextlib.suppress(BrokenPipeError):  # overwritten meanwhile
                    count += WARNING.search(os.read(fd, 8192)) is not None
        finally:
            os.close(fd)
    return count


def read():
    """All counters, in bytes or numbers; 0 for one that cannot be read."""
    meminfo = dict(re.findall(r"^(\w+):\s+(\d+) kB", text_of("/proc/meminfo"), re.M))
    buffers = re.findall(r"^(?:TCP|UDP|UDPLITE):.* mem (\d+)", text_of("/proc/net/sockstat"), re.M)
    code = re.findall(r"^\S+\s+(\d+) bpf_", text_of("/proc/vmallocinfo"), re.M)
    files = text_of("/proc/sys/fs/file-nr").split()
    keys = re.findall(r"^\s*\d+:\s+\d+ (\d+)/", text_of("/proc/key-users"), re.M)
    return {
        "socket buffers": sum(map(int, buffers)) * 4096,
        "unreclaimable slab": int(meminfo.get("SUnreclaim", 0)) * 1024,
        "BPF code": sum(map(int, code)),
        "open files": int(files[0]) if files else 0,
        "keys": sum(map(int, keys)),
        "per-cpu memory": int(meminfo.get("Percpu", 0)) * 1024,
        "kernel stacks": int(meminfo.get("KernelStack", 0)) * 1024,
        "warnings of the kernel": warnings(),
    }


class HostCounters:
    def __init__(self):
        self.before = read()

    def grown(self, seconds=10):
        """Waits, because Linux frees buffers and slabs late; returns the counters that have grown."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            now = read()
            over = {key: (self.before[key], now[key]) for key in SLACK
                    if now[key] > self.before[key] + SLACK[key]}
            if not over or time.monotonic() > deadline:
                return over
            time.sleep(0.1)
