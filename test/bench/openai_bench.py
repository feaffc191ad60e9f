#!/usr/bin/env python3
"""Measures the latency that OpenAI's API adds in front of a model: of a token and of the end of the stream.

    test/bench/openai_bench.py [TOKENS [ROUNDS]]        starts a daemon of its own from build/bin

The model is a server in this program, whose tokens contain the time at which they were sent. Requests through
Reckon and direct ones alternate.
"""
import http.client
import http.server
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RECKON = pathlib.Path(__file__).resolve().parents[2] / "build/bin/reckon"
PAUSE = 0.002


class Model(http.server.BaseHTTPRequestHandler):
    tokens = 0

    def log_message(self, *_):
        pass

    def chunk(self, delta, finish=None):
        self.wfile.write(b"data: " + json.dumps({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for _ in range(self.tokens):
            time.sleep(PAUSE)
            self.chunk({"content": f"{time.monotonic_ns()} "})
        self.chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def ask(port, path, body, key):
    """Microseconds from sending to reading each token, and from sending the last token to the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json",
                                                        "Authorization": f"Bearer {key}"})
    delays, last = [], 0
    for line in connection.getresponse():
        now = time.monotonic_ns()
        for sent in re.findall(rb'"(?:content|delta)": ?"(\d+) "', line):
            delays.append((now - int(sent)) / 1000)
            last = int(sent)
    end = (time.monotonic_ns() - last) / 1000
    connection.close()
    return delays, end


def main(tokens, rounds):
    Model.tokens = tokens
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        models = pathlib.Path(place, "models.ini")
        models.write_text(f"[default]\nmodel = s/m\n[provider s]\nprotocol = chat\n"
                          f"base-url = http://127.0.0.1:{server.server_address[1]}/v1\nkey = sk-x\n")
        models.chmod(0o600)
        daemon = subprocess.Popen([RECKON, "serve", "--listen", "127.0.0.1:0", "--state", f"{place}/state",
                                   "--models", models], stdout=subprocess.PIPE, text=True)
        try:
            said = ""
            while "listening on" not in said:
                said += daemon.stdout.readline()
            key = re.search(r"rk_[A-Za-z0-9_-]{43}", said)[0]
            port = int(re.search(r"listening on http://127\.0\.0\.1:(\d+)", said)[1])
            chat = {"model": "s/m", "stream": True, "messages": [{"role": "user", "content": "?"}]}
            ways = {"direct": (server.server_address[1], "/v1/chat/completions", chat),
                    "chat": (port, "/openai/v1/chat/completions", chat),
                    "responses": (port, "/openai/v1/responses", {"model": "s/m", "stream": True, "input": "?"})}
            seen = {name: ([], []) for name in ways}
            for _ in range(rounds):
                for name, (where, path, body) in ways.items():
                    delays, end = ask(where, path, body, key)
                    assert len(delays) == tokens, (name, len(delays))
                    seen[name][0].extend(delays)
                    seen[name][1].append(end)
        finally:
            daemon.terminate()
            daemon.wait()
    direct = {"token": statistics.median(seen["direct"][0]), "end": statistics.median(seen["direct"][1])}
    for name, (delays, ends) in seen.items():
        token, end = statistics.median(delays), statistics.median(ends)
        print(f"{name:9} a token {token:7.0f} us ({token / direct['token']:5.1f} x)   "
              f"the end {end:7.0f} us ({end / direct['end']:5.1f} x)")


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["200", "10"][len(sys.argv) - 1:])))
