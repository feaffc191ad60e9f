"""A daemon for E2B's SDKs: the environment variables of their programs, and requests without an SDK."""
import http.client
import json
import os
import pathlib
import signal
import subprocess

from reckon_serve import SECONDS, Server

ENVD, INTERPRETER = 49983, 49999


class E2BServer(Server):
    def start(self):
        super().start()
        printed = self.reckon("e2b", "env", "--url", f"http://127.0.0.1:{self.port}", "--key", self.key)
        lines = [line.removeprefix("export ").partition("=") for line in printed.stdout.decode().splitlines()]
        self.variables = {name: value for name, _, value in lines}
        self.e2b_key = self.variables["E2B_API_KEY"]

    def run(self, command, **more):
        """Runs a program that uses an SDK, which must succeed; returns its output."""
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("E2B_") and not name.lower().endswith("_proxy")}
        clean |= self.variables | {"PYTHONFAULTHANDLER": "1"} | more
        for _ in range(3):
            done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=3 * SECONDS)
            # The newest Python SDK sometimes aborts without a message on a loaded machine.
            if done.returncode != -signal.SIGABRT:
                break
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}\n{done.stderr[-6000:]}\n{self.log()[-2000:]}"
        return done.stdout

    def control(self, method, path, body=None, key=None, **headers):
        """(status, headers, JSON or text)"""
        return self.request(method, path, body, {"X-API-Key": self.e2b_key if key is None else key, **headers})

    def request(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            connection.request(method, path, body, headers or {})
            return take(connection.getresponse())
        finally:
            connection.close()

    def sandbox(self, **body):
        status, _, made = self.control("POST", "/v2/sandboxes", {"templateID": "base", **body})
        assert status == 201, made
        return made

    def data(self, sandbox, port, method, path, body=None, token=True, **headers):
        """One request to envd or the interpreter of a sandbox, or to another of its ports."""
        more = {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(port)}
        if token:
            more["X-Access-Token"] = sandbox["envdAccessToken"]
        return self.request(method, path, body, more | headers)


def take(response: http.client.HTTPResponse):
    text = response.read()
    try:
        return response.status, response.headers, json.loads(text)
    except ValueError:
        return response.status, response.headers, text


def front_of(server):
    """The pid of the front of the E2B dialect."""
    [pid] = {int(pid) for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
             for pid in (task / "children").read_text().split()
             if pathlib.Path(f"/proc/{pid}/comm").read_text() == "reckon-front-e2\n"}
    return pid
