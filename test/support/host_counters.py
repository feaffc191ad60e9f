"""What the kernel of this host holds for everybody, where no process or group shows it.

    counters = HostCounters()      as it is now
    counters.grown()               {} once all is back, else what is not: (before, now)

Others work on this host as well, so only growth beyond what they do in a few seconds counts.
"""
import contextlib
import os
import pathlib
import re
import time

from leftovers import PATIENCE

MIB = 1 << 20
SLACK = {  # an attack that leaves something behind leaves many times that
    "socket buffers": 64 * MIB,
    "unreclaimable slab": 192 * MIB,
    "BPF code": 2 * MIB,
    "open files": 4096,
    "keys": 64,
    "per-cpu memory": 64 * MIB,
    "kernel stacks": 64 * MIB,
    "warnings of the kernel": 0,
}
# What Linux writes to its log of an error of its own; not that it ended a program.
WARNING = re.compile(rb"WARNING: CPU|BUG: |Oops: |KASAN: |UBSAN: |rcu: .*stall|list_\w+ corruption")


def text_of(path):
    with contextlib.suppress(OSError):
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def warnings():
    """Their number in the kernel's log."""
    count = 0
    with contextlib.suppress(OSError):  # who may not read it; the end of the log
        fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                with contextlib.suppress(BrokenPipeError):  # overwritten meanwhile
                    count += WARNING.search(os.read(fd, 8192)) is not None
        finally:
            os.close(fd)
    return count


def read():
    """All of them, in bytes or numbers; what cannot be read is 0."""
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
        """Buffers and slabs are freed behind a closed session's back: it waits for that."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            now = read()
            over = {key: (self.before[key], now[key]) for key in SLACK
                    if now[key] > self.before[key] + SLACK[key]}
            if not over or time.monotonic() > deadline:
                return over
            time.sleep(0.1)
