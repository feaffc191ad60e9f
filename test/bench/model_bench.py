#!/usr/bin/env python3
"""Measures the latency that Anthropic's and Gemini's APIs add in front of a model: of a token and of the end of
the stream, through Reckon, direct, and through a relay that only copies bytes (the floor of one more process).

    test/bench/model_bench.py [TOKENS [ROUNDS]]         starts a daemon of its own from build/bin

The model is the server of openai_bench.py, whose tokens contain the time at which they were sent. All ways alternate.
"""
import http.client
import http.server
import json
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from openai_bench import RECKON, Model

ASKED = {"messages": [{"role": "user", "content": "?"}], "model": "s/m", "max_tokens": 1000}


def copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(port):
    """Starts a process that forwards a new port to this one; returns (process, port)."""
    listener = socket.create_server(("127.0.0.1", 0))
    code = (f"import socket, sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
            f"import model_bench\nmodel_bench.serve(socket.socket(fileno={listener.fileno()}), {port})")
    process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[listener.fileno()])
    return process, listener.getsockname()[1]


def serve(listener, port):
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for each in (near, far):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=copy, args=(near, far), daemon=True).start()
        threading.Thread(target=copy, args=(far, near), daemon=True).start()


def ask(port, path, body, key):
    """Microseconds from sending to reading each token, and from sending the last token to the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, json.dumps(body), {
        "Content-Type": "application/json", "Authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"})
    delays, last = [], 0
    for line in connection.getresponse():
        now = time.monotonic_ns()
        for sent in re.findall(rb'"(?:content|text)": ?"(\d{6,}) "', line):
            delays.append((now - int(sent)) / 1000)
            last = int(sent)
    end = (time.monotonic_ns() - last) / 1000
    connection.close()
    return delays, end


def daemon(place, port):
    models = pathlib.Path(place, "models.ini")
    models.write_text(f"[default]\nmodel = s/m\n[provider s]\nprotocol = chat\n"
                      f"base-url = http://127.0.0.1:{port}/v1\nkey = sk-x\n[aliases]\n* = s/m\n")
    models.chmod(0o600)
    process = subprocess.Popen([RECKON, "serve", "--listen", "127.0.0.1:0", "--state", f"{place}/state",
                                "--models", models], stdout=subprocess.PIPE, text=True)
    said = ""
    while "listening on" not in said:
        said += process.stdout.readline()
    return (process, int(re.search(r"listening on http://127\.0\.0\.1:(\d+)", said)[1]),
            re.search(r"rk_[A-Za-z0-9_-]{43}", said)[0])


def main(tokens, rounds):
    Model.tokens = tokens
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    direct = server.server_address[1]
    between, between_port = relay(direct)
    with tempfile.TemporaryDirectory() as place:
        process, port, key = daemon(place, direct)
        try:
            content = {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}
            ways = {"direct": (direct, "/v1/chat/completions", {**ASKED, "stream": True}),
                    "relay": (between_port, "/v1/chat/completions", {**ASKED, "stream": True}),
                    "anthropic": (port, "/anthropic/v1/messages", {**ASKED, "stream": True}),
                    "gemini": (port, "/gemini/v1beta/models/m:streamGenerateContent?alt=sse", content)}
            seen = {name: ([], []) for name in ways}
            for _ in range(rounds):
                for name, (where, path, body) in ways.items():
                    delays, end = ask(where, path, body, key)
                    assert len(delays) == tokens, (name, len(delays))
                    seen[name][0].extend(delays)
                    seen[name][1].append(end)
        finally:
            for each in (process, between):
                each.terminate()
                each.wait()
    token, end = (statistics.median(each) for each in seen["direct"])
    for name, (delays, ends) in seen.items():
        each, last = statistics.median(delays), statistics.median(ends)
        print(f"{name:9} a token {each:7.0f} us ({each / token:5.1f} x)   the end {last:7.0f} us ({last / end:5.1f} x)")


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["200", "10"][len(sys.argv) - 1:])))
