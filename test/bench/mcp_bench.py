#!/usr/bin/env python3
"""What a tool call of MCP costs beside the same cell over the native API: medians, and their ratio.

    reckon serve &
    RECKON_API_KEY=rk_… test/bench/mcp_bench.py http://127.0.0.1:7263 [CALLS]

Both run `1` in a session of their own on one connection, in turns.
"""
import http.client
import json
import os
import statistics
import sys
import time
import urllib.parse

META = "io.modelcontextprotocol/"


class Caller:
    def __init__(self, address, key):
        self.connection = http.client.HTTPConnection(address.hostname, address.port)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}

    def ask(self, path, body, **headers):
        begin = time.perf_counter()
        self.connection.request("POST", path, json.dumps(body), {**self.headers, **headers})
        answer = self.connection.getresponse()
        text = answer.read()
        took = time.perf_counter() - begin
        if answer.status not in (200, 201):
            sys.exit(f"{path}: {answer.status} {text[:300]!r}")
        return took, json.loads(text)


def tool_call(arguments):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "run_code", "arguments": arguments,
        "_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}}}


def main():
    address = urllib.parse.urlsplit(sys.argv[1])
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    native, mcp = (Caller(address, os.environ["RECKON_API_KEY"]) for _ in range(2))
    names = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_code"}
    session = native.ask("/reckon/v1/sessions", {})[1]["id"]
    other = mcp.ask("/mcp", tool_call({"code": "1"}), **names)[1]
    other = other["result"]["structuredContent"]["session"]
    took = {"native": [], "mcp": []}
    for _ in range(calls):
        took["native"].append(native.ask(f"/reckon/v1/sessions/{session}/executions", {"code": "1"})[0])
        took["mcp"].append(mcp.ask("/mcp", tool_call({"code": "1", "session": other}), **names)[0])
    medians = {name: statistics.median(times) * 1000 for name, times in took.items()}
    print(f"native {medians['native']:.2f} ms, MCP {medians['mcp']:.2f} ms, "
          f"ratio {medians['mcp'] / medians['native']:.2f} ({calls} calls each)")


if __name__ == "__main__":
    main()
