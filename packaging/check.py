#!/usr/bin/python3
"""Does this installation work? Asks a running daemon for a bit of everything that needs a privilege.

usage: check.py URL KEY-FILE

Needs nothing but Python: it runs in a chroot, a container, on a fresh machine. KEY-FILE holds the
key anywhere in its text. The last line is "ok: N checks"; the first that fails ends it with 1.
"""
import json
import re
import sys
import time
import urllib.error
import urllib.request

SECONDS = 120


class Client:
    def __init__(self, url, key):
        self.url, self.key, self.checks = url + "/reckon/v1", key, 0

    def ask(self, method, path, body=None):
        """Status and body, JSON as what it says; a wrong status is for the caller to judge."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.url + path, data, method=method, headers={
            "Authorization": "Bearer " + self.key})
        try:
            answer = urllib.request.urlopen(request, timeout=SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        text = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text

    def create(self, **what):
        status, session = self.ask("POST", "/sessions", what)
        assert status == 201, session
        return "/sessions/" + session["id"]

    def run(self, session, code, **what):
        status, record = self.ask("POST", session + "/executions", {"code": code, **what})
        assert status == 200, record
        return record

    def check(self, what, is_so, seen):
        if not is_so:
            sys.exit(f"check.py: {what}: {seen!r}")
        self.checks += 1
        print(f"  {what}", flush=True)


WALLS = """
import os, socket
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    network = "reached"
except OSError:
    network = "none"
print(os.getuid(), int(status["CapEff"], 16), status["Seccomp"].strip(), network,
      len([name for name in os.listdir("/proc") if name.isdigit()]))
"""


def check_python(client):
    session = client.create()
    record = client.run(session, WALLS)
    client.check("a cell runs behind its walls", record["stdout"].startswith("1000 0 2 none "),
                 record)
    client.run(session, "kept = 41")
    client.check("variables stay", client.run(session, "print(kept + 1)")["stdout"] == "42\n", "")
    status, _ = client.ask("PUT", session + "/files/in.txt", b"from outside")
    client.check("a file goes in", status < 300, status)
    record = client.run(session, "open('out.txt', 'w').write(open('in.txt').read().upper())")
    client.check("a file is kept", [file["path"] for file in record["files"]] == ["out.txt"], record)
    client.check("a file comes out",
                 client.ask("GET", session + "/files/out.txt") == (200, b"FROM OUTSIDE"), "")
    record = client.run(session, "while True: pass", timeout_s=1)
    client.check("a time limit stops a cell", record["status"] == "timeout", record)
    record = client.run(session, "import subprocess; print(subprocess.run('id -u; ls -d /mnt/data',"
                                 " shell=True, capture_output=True, text=True).stdout, kept)")
    client.check("its kernel lives on, and starts programs",
                 record["stdout"] == "1000\n/mnt/data\n 41\n", record)
    client.check("it ends", client.ask("DELETE", session)[0] in (200, 204), "")
    client.check("its id says so", client.ask("GET", session)[0] in (200, 410), "")


def check_bash(client):
    session = client.create(language="bash")
    record = client.run(session, "cd /tmp; touch here; n=3")
    record = client.run(session, "pwd; echo $((n * 14))")
    client.check("bash keeps its state", record["stdout"] == "/tmp\n42\n", record)
    client.ask("DELETE", session)


def check_limits(client):
    session = client.create(limits={"memory_bytes": 256 << 20, "disk_bytes": 16 << 20})
    record = client.run(session, "held = bytearray(1 << 30)")
    client.check("memory is bounded", record["error"] and record["error"]["name"] == "MemoryError",
                 record)
    record = client.run(session, "open('big', 'wb').write(bytes(64 << 20))")
    client.check("the workspace is bounded", record["status"] == "error", record)
    record = client.run(session, "1")
    client.check("what it used is told", record["receipt"]["memory_peak_bytes"] > 0, record)
    client.ask("DELETE", session)


def check_many(client):
    sessions = [client.create() for _ in range(8)]
    answers = [client.run(session, f"import os; print({n} * 6)")["stdout"]
               for n, session in enumerate(sessions)]
    client.check("eight sessions at once", answers == [f"{n * 6}\n" for n in range(8)], answers)
    for session in sessions:
        client.ask("DELETE", session)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        key = re.search(r"rk_[\w-]+", file.read())
    if not key:
        sys.exit(f"check.py: no key in {sys.argv[2]}")
    client = Client(sys.argv[1].rstrip("/"), key.group())
    started = time.monotonic()
    status, health = client.ask("GET", "/health")
    client.check("the daemon answers", status == 200 and health["status"] == "ok", health)
    check_python(client)
    check_bash(client)
    check_limits(client)
    check_many(client)
    print(f"ok: {client.checks} checks in {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
