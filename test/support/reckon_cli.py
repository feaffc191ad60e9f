"""Runs the built `reckon` as a black box, as root or as an ordinary user.

    done = reckon("run", "-c", "print(6*7)")          its output and exit status
    record = reckon.record("print(6*7)")              the parsed reckon.execution/1
    events = reckon.events("print(6*7)")              the parsed event lines, `done` last
    with reckon.start("run", "-c", "input()") as p:   a running one, killed at the end
"""
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess

import jsonschema
from leftovers import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOTLESS_ID = 65533  # next to nobody's id, and otherwise unused
TIMEOUT = 90 * PATIENCE  # no measurement, only stops a call that hangs


# ---- JSON -----------------------------------------------------------------------------------

def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def refuse_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key occurs twice among {keys}")
    return dict(pairs)


def parse_json(text):
    """Parses strictly: bytes must be UTF-8; NaN, Infinity and duplicate keys are errors."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)


@functools.cache
def record_validator():
    schema = parse_json((ROOT / "docs" / "record.schema.json").read_bytes())
    schema.pop("$id")  # older validators would resolve references from this URL
    return jsonschema.validators.validator_for(schema)(schema)


# ---- users and directories ------------------------------------------------------------------

def reachable(path, uid):
    """Whether an ordinary user could open `path`: it may search every folder above."""
    path = pathlib.Path(path).resolve()
    for place in [path, *path.parents]:
        st = place.stat()
        if st.st_uid != uid and not st.st_mode & stat.S_IXOTH:
            return False
    return True


def templates_dir():
    """The directory of the templates of the user who started the tests."""
    if os.environ.get("RECKON_TEMPLATES"):
        return pathlib.Path(os.environ["RECKON_TEMPLATES"])
    if os.environ.get("RECKON_STATE"):
        return pathlib.Path(os.environ["RECKON_STATE"], "templates")
    if os.geteuid() == 0:
        return pathlib.Path("/var/lib/reckon/templates")
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local/state"
    return pathlib.Path(state, "reckon/templates")


@dataclasses.dataclass(frozen=True)
class User:
    """The user that runs `reckon`: name is "root" or "rootless"."""
    name: str
    uid: int
    gid: int

    @property
    def is_root(self):
        return self.uid == 0

    @property
    def switch(self):
        """Arguments of subprocess to become this user; empty if it is the current one."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path):
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid)
        return path


class Place:
    """A user's home, runtime directory and programs for the length of one test module."""

    def __init__(self, base, user):
        self.base = pathlib.Path(base)
        self.user = user
        self.base.chmod(0o755)
        user.own(self.base)
        self.home = self.folder("home")
        self.runtime = self.folder("runtime", 0o700)
        self.program = self.within_reach_program()
        self.templates = self.within_reach(templates_dir(), "templates")

    def folder(self, name, mode=0o755):
        path = self.base / name
        path.mkdir()
        path.chmod(mode)
        return self.user.own(path)

    def within_reach(self, path, name):
        """`path`, or a copy of it if it is in a folder that this user may not search."""
        if not path.exists() or reachable(path, self.user.uid) or self.user.is_root:
            return path
        return pathlib.Path(shutil.copytree(path, self.base / name, symlinks=True))

    def within_reach_program(self):
        program = pathlib.Path(os.environ.get("RECKON_BIN", ROOT / "build/bin/reckon")).resolve()
        if not program.exists():
            raise FileNotFoundError(f"{program} was not built, or RECKON_BIN names nothing")
        if self.user.is_root or reachable(program, self.user.uid):
            return program
        tree = self.base / "build"
        for name in ("bin", "libexec", "share"):
            if (program.parent.parent / name).is_dir():
                shutil.copytree(program.parent.parent / name, tree / name, symlinks=True,
                                ignore=shutil.ignore_patterns("*.p"))
        return tree / "bin" / program.name

    @property
    def program_dirs(self):
        """The folders of the executables of which no process may be left over."""
        folders = [self.program.parent, self.program.parent.parent / "libexec"]
        return [folder for folder in folders if folder.is_dir()]


# ---- running --------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Done:
    """The result of a command."""
    command: tuple
    status: int  # negative: the signal that ended it
    stdout: bytes
    stderr: bytes

    @property
    def out(self):
        return self.stdout.decode("utf-8")

    @property
    def err(self):
        return self.stderr.decode("utf-8")

    def lines(self):
        """Each line of standard output, parsed as JSON."""
        return [parse_json(line) for line in self.stdout.splitlines()]

    def expect(self, *statuses):
        """Returns self if the status is one of these; else fails and shows the output."""
        assert self.status in statuses, (
            f"{' '.join(self.command)}\nended with {self.status}, not {statuses}\n"
            f"--- stdout\n{self.stdout[-4000:].decode(errors='replace')}\n"
            f"--- stderr\n{self.stderr[-4000:].decode(errors='replace')}")
        return self


class Reckon:
    """`reckon` for one test, with its own state and working directory, and the module's warden."""

    def __init__(self, place, work):
        self.place = place
        self.user = place.user
        self.work = pathlib.Path(work)
        self.state = self.work / "state"
        self.cwd = self.work / "cwd"
        self.state.mkdir()
        self.cwd.mkdir()
        for path in (self.work, self.state, self.cwd):
            self.user.own(path)
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "HOME": str(place.home),
            "XDG_RUNTIME_DIR": str(place.runtime),
            "RECKON_STATE": str(self.state),
            "RECKON_TEMPLATES": str(place.templates),
        }
        for name in ("RECKON_LOG", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def file(self, name, content=b""):
        """Creates a file of this user in the working directory."""
        path = self.cwd / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.user.own(path)

    def popen(self, *args, env=None, cwd=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([str(self.place.program), *map(str, args)],
                                cwd=cwd or self.cwd, env={**self.env, **(env or {})},
                                start_new_session=True, **self.user.switch, **options)

    @contextlib.contextmanager
    def start(self, *args, **options):
        """A running `reckon`; its process group is killed when the block ends."""
        process = self.popen(*args, **options)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def __call__(self, *args, stdin=None, timeout=TIMEOUT, **options):
        """Runs `reckon ARGS` to its end; `stdin` is text or bytes."""
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*args, **options) as process:
            data = stdin.encode() if isinstance(stdin, str) else stdin
            try:
                out, err = process.communicate(data, timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                raise AssertionError(f"reckon {args} gave no answer in {timeout} s\n"
                                     f"{out!r}\n{err!r}") from None
            return Done(tuple(map(str, process.args)), process.returncode, out, err)

    def records(self, *args, **options):
        """`reckon run --json ARGS`: each record, checked against the schema."""
        done = self("run", "--json", *args, **options)
        records = done.lines()
        assert records, f"no record, status {done.status}: {done.stderr!r}"
        for record in records:
            record_validator().validate(record)
        return records

    def record(self, code, *args, **options):
        """The record of one cell."""
        records = self.records(*args, "-c", code, **options)
        assert len(records) == 1, records
        return records[0]

    def events(self, code, *args, **options):
        """The events of one cell, in order; the last one is `done`."""
        events = self("run", "--events", *args, "-c", code, **options).lines()
        assert events and events[-1]["event"] == "done", events[-3:]
        assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
        record_validator().validate(events[-1]["record"])
        return events
