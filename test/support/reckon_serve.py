"""A running `reckon serve`, and a minimal HTTP client for it.

    with Server(reckon) as server:
        session = server.create(template="python")
        record = server.execute(session, "6*7")
        answer = server.ask("GET", "/sessions")        status, headers, body, json
"""
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from leftovers import PATIENCE
from reckon_cli import parse_json, record_validator

PREFIX = "/reckon/v1"
SECONDS = 60 * PATIENCE


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return parse_json(self.body)

    @property
    def code(self):
        """The error's code; every error has this shape."""
        error = self.json["error"]
        assert {"code", "message", "cause", "remedy"} <= set(error), error
        assert set(error) <= {"code", "message", "cause", "remedy", "scope", "quota", "queue"}, error
        assert error["message"]
        return error["code"]


def bearer(key):
    """The header of a key."""
    return {"Authorization": f"Bearer {key}"}


class Server:
    """`reckon serve` on a free port; the end of the block ends the daemon and waits for it. Its kernels end with
    it unless `adopts` is set or the arguments have --adopt-grace or --config."""

    def __init__(self, reckon, *args, key=None, env=None, adopts=False):
        self.reckon, self.args, self.key, self.env = reckon, args, key, env
        if not adopts and not {"--adopt-grace", "--config"} & set(args):
            self.args = (*args, "--adopt-grace", "0")
        self.process = self.port = None
        self.lines = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.process = self.reckon.popen(
            "serve", "--listen", "127.0.0.1:0", "--state", self.reckon.state, *self.args,
            env=self.env, stderr=open(self.reckon.work / "serve.log", "ab"))
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.decode())
            if key := re.search(r"shown this once: (rk_[A-Za-z0-9_-]{43})$", self.lines[-1]):
                self.key = key[1]
            if ready := re.fullmatch(r"reckon: listening on http://127\.0\.0\.1:(\d+)\n",
                                     self.lines[-1]):
                self.port = int(ready[1])
                return
        raise AssertionError(f"it did not start: {self.lines} {self.log()}")

    def log(self):
        return (self.reckon.work / "serve.log").read_text()

    def stop(self, number=signal.SIGTERM):
        if self.process is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        try:
            status = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.process.stdout.close()
        self.process = None
        return status

    def front(self):
        """The pid of the native front. Retries, because Linux may omit a child from its list while others
        start and end."""
        end = time.monotonic() + SECONDS
        while len(fronts := self.fronts()) != 1:
            assert time.monotonic() < end, fronts
            time.sleep(0.02)
        return fronts[0]

    def fronts(self):
        found = set()
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for pid in (task / "children").read_text().split():
                    if pathlib.Path(f"/proc/{pid}/comm").read_text() == "reckon-front-na\n":
                        found.add(int(pid))
        return list(found)

    # ---- requests ----

    def connect(self, timeout=SECONDS):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def headers(self, extra=None):
        return {"Authorization": f"Bearer {self.key}", **(extra or {})}

    def ask(self, method, path, body=None, headers=None, key=True, prefix=PREFIX):
        """Sends one request on a new connection; a dict or list is sent as JSON."""
        if body is not None and not isinstance(body, (bytes, str)) and not hasattr(body, "read"):
            body = json.dumps(body)
        connection = self.connect()
        try:
            connection.request(method, prefix + path, body,
                               self.headers(headers) if key else (headers or {}))
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def newcomer(self, name="other", scopes=("sessions", "execute", "files", "read"), **quotas):
        """Creates a tenant; returns its id and a key for it."""
        tenant = self.ask("POST", "/tenants", {"name": name, "quotas": quotas})
        assert tenant.status == 201, tenant
        key = self.ask("POST", "/keys", {"tenant": tenant.json["id"], "scopes": list(scopes)})
        assert key.status == 201, key
        return tenant.json["id"], key.json["key"]

    def create(self, **body):
        answer = self.ask("POST", "/sessions", {"template": "python", **body})
        assert answer.status == 201, answer
        return answer.json["id"]

    def execute(self, session, code, headers=None, **body):
        answer = self.ask("POST", f"/sessions/{session}/executions", {"code": code, **body},
                          headers)
        assert answer.status == 200, answer
        record_validator().validate(answer.json)
        return answer.json

    def background(self, session, code, **body):
        answer = self.ask("POST", f"/sessions/{session}/executions",
                          {"code": code, "background": True, **body})
        assert answer.status == 202, answer
        return answer.json["id"]

    def poll(self, session, execution):
        """Waits for the end of an execution; returns the record."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            answer = self.ask("GET", f"/sessions/{session}/executions/{execution}")
            assert answer.status == 200, answer
            if answer.json["status"] not in ("queued", "running"):
                return answer.json
            time.sleep(0.02)
        raise AssertionError("it does not end")

    def wait_running(self, session, execution):
        """Waits until the execution has begun; its code runs a moment later."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            answer = self.ask("GET", f"/sessions/{session}/executions/{execution}")
            if answer.json["status"] == "running":
                return
            assert answer.json["status"] == "queued", answer
            time.sleep(0.02)
        raise AssertionError("it does not begin")

    @contextlib.contextmanager
    def events(self, method, path, body=None, headers=None):
        """A stream of events: yields an iterator over (id, name, data)."""
        connection = self.connect()
        connection.request(method, PREFIX + path, None if body is None else json.dumps(body),
                           self.headers(headers))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        try:
            yield parse_events(response), response
        finally:
            response.close()
            connection.close()

    def raw(self, data, timeout=SECONDS):
        """Sends bytes; returns the whole response, until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as sock:
            sock.sendall(data)
            return read_all(sock)


def read_all(sock):
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(65536):
            parts.append(part)
    return b"".join(parts)


def parse_events(response):
    fields = {}
    for line in response:
        line = line.decode("utf-8").rstrip("\n")
        if line.startswith(":"):
            continue
        if line == "":
            if fields:
                yield (int(fields["id"]) if "id" in fields else None, fields["event"],
                       parse_json(fields["data"]))
            fields = {}
            continue
        name, _, value = line.partition(": ")
        assert name in ("id", "event", "data") and name not in fields, line
        fields[name] = value


def memory_kib(pid):
    """The resident anonymous memory of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError(f"{pid} is gone")


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(pid):
    deadline = time.monotonic() + SECONDS
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} stays"
        time.sleep(0.02)


def kill(pid, number=signal.SIGKILL):
    os.kill(pid, number)
