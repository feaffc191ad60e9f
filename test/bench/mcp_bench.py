#!/usr/bin/env python3
"""Compares a tool call of MCP with the same cell over the native API: medians and their ratios.

    reckon serve &
    RECKON_API_KEY=rk_… test/bench/mcp_bench.py http://127.0.0.1:7263 [CALLS [RECKON]]

Each runs `1` in its own session on one connection, alternately: the native API, two versions of MCP
over HTTP, and `reckon mcp` (the program RECKON) on pipes. The floors are requests that run nothing:
`GET /health`, and for each kind of MCP a `tools/list`, which checks the key.
"""
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.parse

META = "io.modelcontextprotocol/"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
RECKON = pathlib.Path(__file__).resolve().parents[2] / "build/bin/reckon"


class Native:
    def __init__(self, address, key):
        self.connection = http.client.HTTPConnection(address.hostname, address.port)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}

    def ask(self, method, path, body=None, **headers):
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {**self.headers, **headers})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            sys.exit(f"{path}: {answer.status} {text[:300]!r}")
        return answer, json.loads(text)

    def prepare(self):
        self.session = self.ask("POST", "/reckon/v1/sessions", {})[1]["id"]

    def floor(self):
        self.ask("GET", "/reckon/v1/health")

    def call(self):
        self.ask("POST", f"/reckon/v1/sessions/{self.session}/executions", {"code": "1"})


class Mcp(Native):
    """MCP 2026-07-28: each request has the protocol version and names its session."""
    arguments = {"code": "1"}

    def message(self, method, params=None):
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}

    def send(self, method, params=None):
        names = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if params:
            names["Mcp-Name"] = params["name"]
        return self.ask("POST", "/mcp", self.message(method, params), **names)[1]["result"]

    def prepare(self):
        self.arguments = {**self.arguments, "session": self.run()["structuredContent"]["session"]}

    def run(self):
        result = self.send("tools/call", {"name": "run_code", "arguments": self.arguments})
        if result["isError"]:
            sys.exit(str(result))
        return result

    def floor(self):
        self.send("tools/list")

    def call(self):
        self.run()


INITIALIZE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Legacy(Mcp):
    """MCP 2025-11-25: a handshake, then requests that use the default session."""
    names = {}

    def message(self, method, params=None):
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}

    def send(self, method, params=None):
        return self.ask("POST", "/mcp", self.message(method, params), **self.names)[1]["result"]

    def prepare(self):
        answer, _ = self.ask("POST", "/mcp", self.message("initialize", INITIALIZE))
        self.names = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": LEGACY}
        self.run()


class Stdio(Legacy):
    """`reckon mcp` between this client and the daemon."""

    def __init__(self, program, url):
        self.process = subprocess.Popen([program, "mcp", "--url", url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def send(self, method, params=None):
        self.process.stdin.write(json.dumps(self.message(method, params)).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def prepare(self):
        self.send("initialize", INITIALIZE)
        self.run()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    address = urllib.parse.urlsplit(sys.argv[1])
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    key = os.environ["RECKON_API_KEY"]
    stdio = Stdio(sys.argv[3] if len(sys.argv) > 3 else RECKON, sys.argv[1])
    clients = {"native API": Native(address, key), f"MCP {MODERN}": Mcp(address, key),
               f"MCP {LEGACY}": Legacy(address, key), "reckon mcp": stdio}
    for client in clients.values():
        client.prepare()
    took = {(name, what): [] for name in clients for what in ("floor", "call")}
    for _ in range(calls):
        for name, what in took:
            begin = time.perf_counter()
            getattr(clients[name], what)()
            took[name, what].append(time.perf_counter() - begin)
    stdio.close()
    medians = {each: statistics.median(times) * 1000 for each, times in took.items()}
    for name in clients:
        print(f"{name:15} call {medians[name, 'call']:.2f} ms, "
              f"{medians[name, 'call'] / medians['native API', 'call']:.2f} of native; "
              f"floor {medians[name, 'floor']:.2f} ms, "
              f"{medians[name, 'floor'] / medians['native API', 'floor']:.2f} of health")


if __name__ == "__main__":
    main()
