"""Opens several sessions at once and inspects them from the host, for test/attack.

    driver = Driver(place, state)           one reckon-driver, connected to the user's warden
    box = driver.open(pids=64)              a session; limits by name
    box.run("x = 5")                        the record
    box.ask("answer = x + 1")               6: the value of `answer`, through JSON
    copy = box.branch()
"""
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import time

from leftovers import PATIENCE
from reckon_cli import ROOT, reachable, record_validator
from syscalls import NUMBERS

LIMITS = ("wall_ms", "cpu_ms", "memory_bytes", "disk_bytes", "inodes", "file_bytes", "pids",
          "cpu_percent", "output_bytes", "displays")
MIB = 1 << 20
SECONDS = 60 * PATIENCE  # no measurement, only stops a call that hangs

# Helpers for attack code: system calls by name, and errors as their names.
PRELUDE = r'''
import ctypes as _ct, errno as _errno, os as _os
_libc = _ct.CDLL(None, use_errno=True)
_libc.syscall.restype = _ct.c_long
NR = {NUMBERS}
def call(nr, *args):
    """The result of a system call (name or number), or the name of its error."""
    _ct.set_errno(0)
    nr = NR[nr] if isinstance(nr, str) else nr
    result = _libc.syscall(_ct.c_long(nr), *[a if isinstance(a, (bytes, _ct._SimpleCData, _ct.Array,
        _ct.Structure, type(None))) or hasattr(a, "_obj") else _ct.c_long(a) for a in args])
    return _errno.errorcode.get(_ct.get_errno(), "?") if result == -1 else result
def attempt(what, *args, **more):
    """The result of a function, or the name of its error."""
    try:
        return what(*args, **more)
    except OSError as e:
        return _errno.errorcode.get(e.errno, repr(e))
    except Exception as e:
        return type(e).__name__
'''

class Refused(Exception):
    """The library returned an error: code is negative as in reckon.h."""

    def __init__(self, failed):
        super().__init__(f"{failed['message']} ({failed['code']})")
        self.code, self.message, self.remedy = failed["code"], failed["message"], failed["remedy"]


def driver_program(place):
    program = pathlib.Path(os.environ.get("RECKON_DRIVER",
                                          ROOT / "build/test/support/reckon-driver")).resolve()
    if place.user.is_root or reachable(program, place.user.uid):
        return program
    copy = place.base / "reckon-driver"
    if not copy.exists():
        shutil.copy2(program, copy)
    return copy


class Driver:
    """A running reckon-driver of the user of `place`."""

    def __init__(self, place, state, *args, wrap=(), env=None):
        self.place = place
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
            "HOME": str(place.home), "XDG_RUNTIME_DIR": str(place.runtime),
            "RECKON_STATE": str(state), "RECKON_TEMPLATES": str(place.templates),
            "RECKON_LIBEXEC": str(place.program.parent.parent / "libexec"), **(env or {})}
        for name in ("RECKON_LOG", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.process = subprocess.Popen([*wrap, str(driver_program(place)), *args], env=self.env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd="/", start_new_session=True, **place.user.switch)

    def send(self, op, **more):
        line = json.dumps({"op": op, **more}, ensure_ascii=True) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def receive(self):
        # Each reply is one line, so Python's buffer is empty before the next one.
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            raise AssertionError(f"reckon-driver gave no answer in {SECONDS} s")
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"reckon-driver ended with {self.process.wait()}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise Refused(answer["failed"])
        return answer

    def __call__(self, op, **more):
        self.send(op, **more)
        return self.receive()

    def open(self, template="python", flags=0, language=None, prelude=True, env=None, shared=None,
             **limits):
        """Opens a session. shared: a directory of the host, mounted writable at /mnt/shared."""
        assert set(limits) <= set(LIMITS), limits
        more = {"language": language} if language else {}
        box = Box(self, self("open", template=template, flags=flags, limits=limits,
                             env=env or [], shared=[str(shared)] if shared else [], **more))
        if prelude and language in (None, "python"):
            box.expect("ok", PRELUDE.replace("{NUMBERS}", repr(NUMBERS)))
        return box

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Box:
    """One session."""

    def __init__(self, driver, opened):
        self.driver = driver
        self.name = opened["session"]
        self.about = opened

    def run(self, code, **more):
        record = self.driver("exec", session=self.name, code=code, **more)
        record_validator().validate(record)
        return record

    def start(self, code, **more):
        """Sends a cell without waiting; finish() reads its record."""
        self.driver.send("exec", session=self.name, code=code, **more)

    def finish(self):
        record = self.driver.receive()
        record_validator().validate(record)
        return record

    def expect(self, status, code, **more):
        record = self.run(code, **more)
        assert record["status"] == status, show(record)
        return record

    def ask(self, code, **more):
        """Runs a cell and returns its variable `answer`."""
        record = self.expect("ok", code + "\nimport json as _json; print('\\n@@' + "
                                          "_json.dumps(answer), flush=True)", **more)
        return json.loads(record["stdout"].rpartition("@@")[2])

    def branch(self):
        return Box(self.driver, self.driver("branch", session=self.name))

    def context(self, prelude=False, **more):
        """A further kernel in this session's box: language, cwd, env."""
        box = Box(self.driver, self.driver("context", session=self.name, **more))
        if prelude:
            box.expect("ok", PRELUDE.replace("{NUMBERS}", repr(NUMBERS)))
        return box

    def process(self, command=None, **more):
        """Starts a program in the box: argv, cwd, env, terminal, input, detach, limits."""
        if command is not None:
            more["command"] = command
        return Process(self.driver, self.driver("process_start", session=self.name, **more))

    def processes(self):
        return self.driver("process_list", session=self.name)

    def exchange(self, port, text="", seconds=SECONDS):
        """Sends `text` to a port of the box; returns the response up to the end of the connection."""
        answer = self.driver("port_exchange", session=self.name, port=port, text=text,
                             timeout_ms=int(seconds * 1000))
        return bytes.fromhex(answer["hex"])

    def ports(self):
        return self.driver("port_list", session=self.name)

    def background(self, code):
        """Runs a cell in a thread of the driver; join() waits for its record."""
        assert self.driver("start", session=self.name, code=code) == {"ok": True}

    def join(self):
        record = self.driver("join", session=self.name)
        record_validator().validate(record)
        return record

    def kill(self):
        self.driver("kill", session=self.name)

    def restart(self):
        return self.driver("restart", session=self.name)

    def check(self):
        return self.driver("check", session=self.name)

    def put(self, source, path):
        return self.driver("put", session=self.name, source=str(source), path=path)

    def get(self, path, target):
        return self.driver("get", session=self.name, path=path, target=str(target))

    def files(self):
        return self.driver("files", session=self.name)

    def variables(self):
        return self.driver("variables", session=self.name)

    def complete(self, code, cursor=None):
        """The result of reckon_complete(); the cursor is in bytes, by default at the end."""
        at = len(code.encode()) if cursor is None else cursor
        return self.driver("complete", session=self.name, code=code, cursor=at)

    def inspect(self, code, cursor=None, detail=0):
        at = len(code.encode()) if cursor is None else cursor
        return self.driver("inspect", session=self.name, code=code, cursor=at, detail=detail)

    def close(self):
        self.driver("close", session=self.name)

    @property
    def pid(self):
        """The kernel's pid on the host. An ordinary user's warden has its own pid namespace, so there
        the process is found by its pid in that namespace and by the box's workspace."""
        number = self.about["kernel_pid"]
        if self.driver.place.user.is_root:
            return number
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            if status_of(entry).get("NSpid", "").split()[1:2] != [str(number)]:
                continue
            try:
                if os.stat(f"/proc/{entry}/root/mnt/data").st_dev == self.about["device"]:
                    return int(entry)
            except OSError:
                continue
        raise LookupError(f"no process {number} in the warden's pid namespace")


class Process:
    """A program of a session, with its pipes or its terminal."""

    def __init__(self, driver, started):
        self.driver = driver
        self.index, self.number, self.pid = (started[key] for key in ("process", "number", "pid"))

    def __call__(self, op, **more):
        return self.driver(f"process_{op}", process=self.index, **more)

    def read(self, which=1, timeout=SECONDS):
        """(bytes, whether this is the end); no bytes if none arrived in time."""
        answer = self("read", which=which, timeout_ms=int(timeout * 1000))
        return bytes.fromhex(answer["hex"]), answer["end"]

    def read_all(self, which=1):
        found, end = b"", False
        while not end:
            more, end = self.read(which)
            found += more
        return found

    def read_until(self, wanted, which=1, seconds=SECONDS):
        """The output up to these bytes, with the rest of the last piece."""
        found, until = b"", time.monotonic() + seconds
        while wanted not in found:
            assert time.monotonic() < until, found
            more, end = self.read(which, timeout=1)
            found += more
            assert wanted in found or not end, found
        return found

    def write(self, text):
        return self("write", text=text)["written"]

    def close_input(self):
        return self("close_input")

    def signal(self, number, **more):
        return self("signal", number=number, **more)

    def resize(self, rows, columns):
        return self("resize", rows=rows, columns=columns)

    def state(self):
        return self("state")

    def wait(self, seconds=SECONDS):
        return self("wait", timeout_ms=int(seconds * 1000))

    def close(self):
        return self("close")


def show(record):
    text = json.dumps({key: record[key] for key in ("status", "error", "stdout", "stderr",
                                                    "diagnostics", "receipt")})
    return text[:4000]


def status_of(pid):
    """The fields of /proc/PID/status; empty if the process has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", text, re.M))


ACCOUNT = re.compile(r"/reckon-\d+/[\w-]+/(?:box/)?(?:cpu|cpuacct|memory|pids)\."
                     r"|^/proc/\d+/io$")
ACCOUNTS_KEPT = 256


class HostUsage:
    """What Reckon uses on the host: processes, mounts, cgroups, the wardens' descriptors."""

    def __init__(self, leftovers):
        self.leftovers = leftovers

    def measure(self):
        new = self.leftovers.new()
        processes = [item for item in new if item[0] == "process"]
        kinds = {}
        for _, pid, name in processes:
            kind = name.split()[0]
            kinds[kind] = kinds.get(kind, 0) + 1
            if kind == "reckon-warden":
                kinds["descriptors"] = kinds.get("descriptors", 0) + self.descriptors(pid)
        kinds["cgroups"] = self.boxes()
        kinds["mounts"] = sum(item[0] == "mount" for item in new)
        return kinds

    @staticmethod
    def descriptors(pid):
        """
        The number of a warden's descriptors, without those that it caches: network namespaces for the
        next boxes, and cgroup files of live boxes.
        """
        count = accounts = 0
        names = []
        with contextlib.suppress(OSError):  # the warden has ended
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        for name in names:
            is_account = bool(ACCOUNT.search(name))
            accounts += is_account
            assert not (is_account and name.endswith(" (deleted)")), name
            count += not is_account and not name.startswith("net:[")
        assert accounts <= ACCOUNTS_KEPT
        return count

    def boxes(self):
        """Directories of boxes in the wardens' cgroups."""
        names = {f"reckon-{pid}" for _, pid, name in self.leftovers.new()
                 if name.startswith("reckon-warden")}
        count = 0
        for folder, below, _ in os.walk("/sys/fs/cgroup"):
            if os.path.basename(folder) in names:
                count += len(below)
            below[:] = [name for name in below if "/reckon-" not in folder and
                        (name in names or not name.startswith("reckon-"))]
        return count

    def when_stable(self, quiet=1, seconds=10):
        """Waits until the usage has not changed for `quiet` seconds; returns it."""
        deadline = time.monotonic() + seconds * PATIENCE
        last, since = self.measure(), time.monotonic()
        while time.monotonic() < min(deadline, since + quiet * PATIENCE):
            time.sleep(0.03)
            now = self.measure()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def settle(self, wanted, seconds=4):
        """Waits until the usage is not above `wanted`; returns the items that still are."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            now = self.measure()
            over = {key: (wanted.get(key, 0), value) for key, value in now.items()
                    if value > wanted.get(key, 0)}
            if not over or time.monotonic() > deadline:
                return over
            time.sleep(0.03)
