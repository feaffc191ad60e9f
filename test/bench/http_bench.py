#!/usr/bin/python3
"""Compares a cell over HTTP with the same cell in a Jupyter kernel, alternately, in one run.

usage: test/bench/http_bench.py [--runs N] [--install] [--json]       (as root)

--install puts ipykernel, jupyter_client, jupyter_server and websocket-client into build/bench-venv
first. Compare the ratios; the times are this machine's.

  health            GET /health on a persistent connection
  warm cell         POST …/executions with `x += 1`, to the record
  first cell        POST /sessions and then a first cell, in a parked kernel
  keep              the same in one request, POST /executions with `keep`
  once              without it: the session ends with the execution
  kept              PATCH of a session: parsed in the fence, written and synced, without a box
  jupyter_client    the warm cell through its sockets, to the reply
  Jupyter Server    the same cell through its HTTP and WebSocket, to the reply
  bare, synced      the lower bound of any server: bare.c, which syncs its answer to the disk
  bare              bare.c without the disk

The requests alternate one by one, so each begins with cold caches. Then the same warm cells run
back to back, in alternating blocks. Then 500 readers follow an execution of 200 events: from its end
at the first reader to its end at the last.

The clients for Reckon and for the WebSocket are a few lines around a socket, so that the benchmark
compares servers; jupyter_client is the client that its users have.
"""
import argparse
import json
import os
import pathlib
import re
import secrets
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/bench-venv"
PEERS = ["ipykernel", "jupyter_client", "jupyter_server", "websocket-client"]
PREFIX = "/reckon/v1"
BUDGETS = {"jupyter_client / warm cell": (">=", 10), "first cell / health": ("<=", 5),
           "keep / health": ("<=", 5), "once / health": ("<=", 5),
           "jupyter_client / warm cell, back to back": (">=", 10)}
BLOCK, BLOCKS = 50, 6  # cells of a block, of which the first fifth does not count; blocks of each
START_SECONDS = 60
READERS = 500
LINES = """import time
time.sleep(2)
for i in range(200): print(i, flush=True); time.sleep(0.001)"""


def install():
    subprocess.run(["/usr/bin/python3", "-m", "venv", VENV], check=True)
    subprocess.run([VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", *PEERS],
                   check=True)


class Wire:
    """An HTTP/1.1 client on one connection."""

    def __init__(self, port, key):
        self.key = key
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else b""
        self.sock.sendall(f"{method} {PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\n"
                          f"Authorization: Bearer {self.key}\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        got = b""
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += self.sock.recv(65536)
        length = int(re.search(rb"Content-Length: (\d+)", got[:end])[1])
        while len(got) < end + 4 + length:
            got += self.sock.recv(65536)
        return int(got[9:12]), got[end + 4:]


class Reckon:
    """`reckon serve` with its own directory."""

    def __init__(self, base):
        self.process = subprocess.Popen(
            [ROOT / "build/bin/reckon", "serve", "--listen", "127.0.0.1:0", "--state", base],
            stdout=subprocess.PIPE, text=True, env={
                **os.environ, "XDG_RUNTIME_DIR": base, "RECKON_TEMPLATES": os.environ.get(
                    "RECKON_TEMPLATES", "/var/lib/reckon/templates")})
        said = ""
        while "listening" not in said:
            said += self.process.stdout.readline()
        self.wire = Wire(int(re.search(r"listening on \S+:(\d+)", said)[1]),
                         re.search(r"rk_[\w-]+", said)[0])
        self.warm = self.open()
        self.cell(self.warm, "x = 0")

    def open(self):
        status, body = self.wire.request("POST", "/sessions", {"template": "data"})
        assert status == 201, body
        return json.loads(body)["id"]

    def cell(self, session, code):
        status, body = self.wire.request("POST", f"/sessions/{session}/executions", {"code": code})
        assert status == 200 and b'"status":"ok"' in body, body

    def health(self):
        assert self.wire.request("GET", "/health")[0] == 200

    def warm_cell(self):
        self.cell(self.warm, "x += 1")

    def first_cell(self):
        session = self.open()
        self.cell(session, "x = 1")
        return session

    def kept(self):
        status, body = self.wire.request("PATCH", f"/sessions/{self.warm}", {"metadata": {}})
        assert status == 200, body

    def once(self, **more):
        status, body = self.wire.request("POST", "/executions",
                                         {"template": "data", "code": "x = 1", **more})
        assert status == 200 and b'"status":"ok"' in body, body
        return json.loads(body)["session"]

    def keep(self):
        return self.once(keep=True)

    def follow(self, execution):
        sock = socket.create_connection(self.wire.sock.getpeername())
        sock.sendall(f"GET {PREFIX}/sessions/{self.warm}/executions/{execution}/events HTTP/1.1\r\n"
                     f"Host: localhost\r\nAuthorization: Bearer {self.wire.key}\r\n\r\n".encode())
        sock.setblocking(False)
        return sock

    def readers(self):
        """Seconds from the first reader's `done` to the last one's, and the bytes that all received."""
        body = self.wire.request("POST", f"/sessions/{self.warm}/executions",
                                 {"code": LINES, "background": True})[1]
        ended, size, texts = [], 0, {}
        with selectors.DefaultSelector() as all_of_them:
            for _ in range(READERS):
                sock = self.follow(json.loads(body)["id"])
                texts[sock] = b""
                all_of_them.register(sock, selectors.EVENT_READ)
            while texts:
                for key, _ in all_of_them.select():
                    got = key.fileobj.recv(65536)
                    size += len(got)
                    texts[key.fileobj] = texts[key.fileobj][-16:] + got
                    assert got, "a reader was left alone"
                    if b"event: done" in texts[key.fileobj]:
                        ended.append(time.perf_counter())
                        all_of_them.unregister(key.fileobj)
                        del texts[key.fileobj]
                        key.fileobj.close()
        return ended[-1] - ended[0], size

    def end(self):
        self.process.terminate()
        self.process.wait()


class Bare:
    """bare.c: no sandbox, no record."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([ROOT / "build/test/bench/bare", *arguments],
                                        stdout=subprocess.PIPE, text=True)
        self.wire = Wire(int(self.process.stdout.readline()), "none")
        self.cell("x = 0")

    def cell(self, code="x += 1"):
        status, body = self.wire.request("POST", "/executions", {"code": code})
        assert status == 200 and b'"ok"' in body, body

    def end(self):
        self.wire.sock.close()
        self.process.wait()


class Client:
    """A kernel through jupyter_client."""

    def __init__(self):
        from jupyter_client.manager import start_new_kernel
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.cell("x = 0")

    def cell(self, code="x += 1"):
        sent = self.client.execute(code)
        while True:
            reply = self.client.get_shell_msg(timeout=START_SECONDS)
            if reply["parent_header"].get("msg_id") == sent:
                assert reply["content"]["status"] == "ok"
                return

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Server:
    """A kernel of a Jupyter Server, through its WebSocket."""

    def __init__(self, base):
        import websocket
        token = secrets.token_hex(16)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [VENV / "bin/python", "-m", "jupyter_server", "--allow-root", "--no-browser",
             "--ip=127.0.0.1", f"--port={port}", f"--IdentityProvider.token={token}",
             f"--ServerApp.root_dir={base}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        url = f"127.0.0.1:{port}/api/kernels"
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                kernel = json.load(urllib.request.urlopen(urllib.request.Request(
                    f"http://{url}", b"{}", {"Authorization": f"token {token}"})))["id"]
                break
            except OSError:
                assert time.monotonic() < deadline, "Jupyter Server does not start"
                time.sleep(0.2)
        self.socket = websocket.create_connection(f"ws://{url}/{kernel}/channels?token={token}",
                                                  timeout=START_SECONDS)
        self.socket.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.cell("x = 0")

    def cell(self, code="x += 1"):
        sent = uuid.uuid4().hex
        self.socket.send(json.dumps({
            "channel": "shell", "parent_header": {}, "metadata": {}, "buffers": [],
            "header": {"msg_id": sent, "msg_type": "execute_request", "username": "", "session": "b",
                       "version": "5.3"},
            "content": {"code": code, "silent": False, "store_history": True,
                        "user_expressions": {}, "allow_stdin": False}}))
        while True:
            # Otherwise our delayed acknowledgement, 40 ms, would count as time of Jupyter Server.
            self.socket.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            message = json.loads(self.socket.recv())
            if message["msg_type"] == "execute_reply" and \
                    message["parent_header"].get("msg_id") == sent:
                assert message["content"]["status"] == "ok"
                return

    def end(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def take_turns(ours, peers, times, runs):
    """Calls the same peers before each call to Reckon, so that each finds the caches equally cold."""
    calls = {"health": ours.health, "warm cell": ours.warm_cell, "first cell": ours.first_cell,
             "keep": ours.keep, "once": ours.once, "kept": ours.kept}
    for _ in range(runs):
        for name, call in calls.items():
            for peer in ("jupyter_client", "Jupyter Server"):
                seconds, _ = timed(peers[peer].cell)
                if name == "health":
                    times[peer].append(seconds)
            seconds, session = timed(call)
            times[name].append(seconds)
            if session is not None:
                ours.wire.request("DELETE", f"/sessions/{session}")
                time.sleep(0.15)  # until the next kernel is parked
        for name in ("bare, synced", "bare"):
            peers["Jupyter Server"].cell()
            times[name].append(timed(peers[name].cell)[0])


def back_to_back(ours, peers, times):
    for _ in range(BLOCKS):
        for name, call in (("warm cell", ours.warm_cell),
                           *((name, peer.cell) for name, peer in peers.items())):
            block = [timed(call)[0] for _ in range(BLOCK)]
            times.setdefault(f"{name}, back to back", []).extend(block[BLOCK // 5:])


def measure(base, runs):
    ours = Reckon(base)
    peers = {"jupyter_client": Client(), "Jupyter Server": Server(base),
             "bare, synced": Bare(f"{base}/bare.log"), "bare": Bare()}
    times = {name: [] for name in ("health", "warm cell", "first cell", "keep", "once", "kept", *peers)}
    try:
        take_turns(ours, peers, times, runs)
        back_to_back(ours, peers, times)
        times["readers"] = ours.readers()
    finally:
        ours.end()
        for peer in peers.values():
            peer.end()
    return times


def report(times, runs):
    seconds, size = times.pop("readers")
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratios = {f"{name} / {by}": medians[name] / medians[by] for name, by in (
        ("jupyter_client", "warm cell"), ("Jupyter Server", "warm cell"),
        ("jupyter_client", "bare, synced"), ("jupyter_client", "bare"),
        ("jupyter_client", "kept"), ("kept", "health"),
        ("warm cell", "health"), ("first cell", "health"), ("keep", "health"), ("once", "health"))}
    for name in ("warm cell", "bare, synced", "bare"):
        ratios[f"jupyter_client / {name}, back to back"] = (
            medians["jupyter_client, back to back"] / medians[f"{name}, back to back"])
    return {"runs": runs, "load": os.getloadavg()[0],
            "readers": {"count": READERS, "first_to_last_ms": round(seconds * 1e3, 1),
                        "bytes": size},
            "median_ms": {name: round(value * 1e3, 3) for name, value in medians.items()},
            "p90_ms": {name: round(sorted(values)[int(len(values) * 0.9)] * 1e3, 3)
                       for name, values in times.items()},
            "ratio": {name: round(value, 2) for name, value in ratios.items()}}


def show(result):
    for name, value in result["median_ms"].items():
        print(f"{name:44} {value:9.3f} ms   p90 {result['p90_ms'][name]:9.3f} ms")
    for name, value in result["ratio"].items():
        sign, budget = BUDGETS.get(name, ("", None))
        met = "" if budget is None else \
            f"   budget {sign} {budget}: " + \
            ("met" if (value >= budget if sign == ">=" else value <= budget) else "missed")
        print(f"{name:44} {value:9.2f}{met}")
    readers = result["readers"]
    print(f"{readers['count']} readers of one execution: {readers['bytes'] / 1e6:.1f} MB; the end "
          f"reaches the last {readers['first_to_last_ms']} ms after the first")
    print(f"{result['runs']} runs, load {result['load']:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.install:
        install()
    python = VENV / "bin/python"
    if not python.exists():
        sys.exit("http_bench: call it with --install first")
    if pathlib.Path(sys.prefix) != VENV:
        os.execv(python, [python, *(word for word in sys.argv if word != "--install")])
    with tempfile.TemporaryDirectory(prefix="reckon-http-bench-") as base:
        result = report(measure(base, given.runs), given.runs)
    print(json.dumps(result)) if given.json else show(result)


if __name__ == "__main__":
    main()
