#!/usr/bin/python3
"""Compares starting a program in a session over HTTP with other means to start one in a box.

usage: test/bench/process_bench.py [--runs N] [--json]       (as root)

  exec true          POST …/processes with `stream`, `true` without a shell, to its end event
  reckon exec        the command: reckon exec -s NAME -- true
  nsenter            nsenter -t PID … true, into the pid, mount and other namespaces of the same box
  crun exec          crun exec NAME true, in a running container; if crun is installed
  terminal echo      a byte to …/stdin of a terminal that runs `cat`, to its event; one connection each
  pty echo           the same on a terminal of this host, without a daemon
  tool call          code calls a tool: from its event, over the request to …/tool_results, to the event of
                     the next call; one connection each
  health             GET /health, which needs no session
  output             100 MB from `head -c` as events, read and decoded

The requests alternate one by one. Compare the ratios; the times are this machine's.
"""
import argparse
import base64
import json
import os
import pathlib
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tty

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/support"))
import http.client  # noqa: E402

PREFIX = "/reckon/v1"
CRUN = "reckon-process-bench"


class Daemon:
    def __init__(self, state):
        self.env = {**os.environ, "RECKON_STATE": state}
        self.process = subprocess.Popen([ROOT / "build/bin/reckon", "serve", "--listen", "127.0.0.1:0",
                                         "--state", state], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            if "shown this once: " in line:
                self.key = line.split("shown this once: ")[1].strip()
            if "listening on http://" in line:
                self.host = line.rpartition("http://")[2].strip()
                break
        self.env |= {"RECKON_URL": f"http://{self.host}", "RECKON_API_KEY": self.key}
        self.connections = {}

    def connection(self, name):
        if name not in self.connections:
            self.connections[name] = http.client.HTTPConnection(self.host)
        return self.connections[name]

    def open(self, name, method, path, body=None, **headers):
        connection = self.connection(name)
        connection.request(method, PREFIX + path, None if body is None else json.dumps(body),
                           {"Authorization": f"Bearer {self.key}", **headers})
        return connection.getresponse()

    def ask(self, method, path, body=None, name="plain"):
        response = self.open(name, method, path, body)
        data = response.read()
        assert response.status < 300, data
        return json.loads(data)

    def end(self):
        self.process.terminate()
        self.process.wait()


def events(response):
    name = None
    for line in response:
        if line.startswith(b"event: "):
            name = line[7:].strip()
        elif line.startswith(b"data: "):
            yield name, line[6:]


def timed(what):
    begun = time.perf_counter()
    what()
    return (time.perf_counter() - begun) * 1000


def exec_true(daemon, session):
    response = daemon.open("exec", "POST", f"/sessions/{session}/processes",
                           {"argv": ["true"], "stream": True})
    names = [name for name, _ in events(response)]
    assert names[-1] == b"end", names


def inner_pid(daemon, session):
    """Starts a process in the box; returns its pid on this host."""
    mark = "98765.4321"
    daemon.ask("POST", f"/sessions/{session}/processes", {"argv": ["sleep", mark]})
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{mark}\0".encode():
                return int(path.parent.name)
        except OSError:
            pass
    raise LookupError(mark)


class Terminal:
    """A terminal of a session that runs cat, with a stream of its events."""

    def __init__(self, daemon, session):
        self.daemon = daemon
        made = daemon.ask("POST", f"/sessions/{session}/processes", {
            "command": "stty raw -echo; echo ready; exec cat", "pty": {}})
        self.path = f"/sessions/{session}/processes/{made['id']}"
        self.events = events(daemon.open("terminal", "GET", self.path + "/events"))
        while b"ready" not in self.next():
            pass

    def next(self):
        for name, data in self.events:
            if name == b"stream":
                return base64.b64decode(json.loads(data)["data"])
        raise EOFError

    def echo(self):
        self.daemon.ask("POST", self.path + "/stdin", {"data": "eA=="}, name="keys")
        assert self.next() == b"x"


class Calls:
    """An execution that calls a tool repeatedly."""

    def __init__(self, daemon, session, count):
        self.daemon = daemon
        response = daemon.open("calls", "POST", f"/sessions/{session}/executions", {
            "code": f"for _ in range({count}): tools.one.sync(n=1)", "tools": [{"name": "one"}], "stream": True})
        self.path = f"/sessions/{session}/executions/{response.headers['Reckon-Execution']}/tool_results"
        self.events = events(response)
        self.call = self.next()

    def next(self):
        for name, data in self.events:
            if name == b"tool_call":
                return json.loads(data)["id"]
        raise EOFError

    def round(self):
        self.daemon.ask("POST", self.path, {"results": [{"id": self.call, "value": 1}]}, name="results")
        self.call = self.next()


class Local:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            tty.setraw(0)
            os.execvp("cat", ["cat"])
        time.sleep(.2)

    def echo(self):
        os.write(self.fd, b"x")
        assert os.read(self.fd, 10) == b"x"


def start_crun(folder):
    if not shutil.which("crun"):
        return None
    bundle = pathlib.Path(folder) / "bundle"
    bundle.mkdir()
    subprocess.run(["crun", "spec"], cwd=bundle, check=True)
    config = json.loads((bundle / "config.json").read_text())
    config["root"] = {"path": "/", "readonly": True}
    config["process"] |= {"terminal": False, "args": ["sleep", "100000"]}
    (bundle / "config.json").write_text(json.dumps(config))
    done = subprocess.run(["crun", "run", "-d", "-b", bundle, CRUN], capture_output=True)
    return None if done.returncode else lambda: subprocess.run(["crun", "exec", CRUN, "true"], check=True)


def output(daemon, session):
    begun = time.perf_counter()
    response = daemon.open("output", "POST", f"/sessions/{session}/processes", {
        "argv": ["head", "-c", "100000000", "/dev/zero"], "stream": True, "when_full": "wait"})
    size = sum(len(base64.b64decode(json.loads(data)["data"])) for name, data in events(response)
               if name == b"stream")
    assert size == 100_000_000, size
    return size / 1e6 / (time.perf_counter() - begun)


def measure(daemon, folder, runs):
    daemon.ask("POST", "/sessions", {"template": "python", "name": "bench"})
    session = daemon.ask("GET", "/sessions?name=bench")["sessions"][0]["id"]
    pid = inner_pid(daemon, session)
    terminal, local = Terminal(daemon, session), Local()
    calls = Calls(daemon, session, runs + 10)
    rows = {
        "exec true": lambda: exec_true(daemon, session),
        "reckon exec": lambda: subprocess.run(
            [ROOT / "build/bin/reckon", "exec", "-n", "-s", "bench", "--", "true"], env=daemon.env,
            check=True, stdin=subprocess.DEVNULL),
        "nsenter": lambda: subprocess.run(["nsenter", "-t", str(pid), "-m", "-p", "-n", "-i", "-u",
                                           "true"], check=True),
        "crun exec": start_crun(folder),
        "terminal echo": terminal.echo,
        "pty echo": local.echo,
        "tool call": calls.round,
        "health": lambda: daemon.ask("GET", "/health", name="health"),
    }
    rows = {name: what for name, what in rows.items() if what is not None}
    times = {name: [] for name in rows}
    for number in range(runs + 5):
        for name, what in rows.items():
            took = timed(what)
            if number >= 5:
                times[name].append(took)
    rate = statistics.median(output(daemon, session) for _ in range(3))
    return {name: statistics.median(each) for name, each in times.items()}, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(str(pathlib.Path(folder) / "state"))
        try:
            medians, rate = measure(daemon, folder, options.runs)
        finally:
            daemon.end()
            if shutil.which("crun"):
                subprocess.run(["crun", "delete", "-f", CRUN], capture_output=True)
    ratios = {f"{ours} / {other}": medians[ours] / medians[other]
              for ours, other in (("exec true", "nsenter"), ("exec true", "crun exec"),
                                  ("reckon exec", "nsenter"), ("terminal echo", "pty echo"), ("tool call", "health"))
              if other in medians}
    if options.json:
        print(json.dumps({"median_ms": medians, "ratios": ratios, "output_mb_per_s": rate}))
        return
    for name, ms in medians.items():
        print(f"{name:16} {ms:9.3f} ms")
    for name, ratio in ratios.items():
        print(f"{name:32} {ratio:6.2f}")
    print(f"output {rate:.0f} MB/s")


if __name__ == "__main__":
    main()
