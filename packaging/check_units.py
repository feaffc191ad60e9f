#!/usr/bin/python3
"""Do kernels outlive reckon.service? For a machine whose pid 1 is systemd, as root.

usage: check_units.py URL KEY-FILE

Crashes, restarts and stops the service, and asks for a variable after each; then ends wardens whose
boxes are frozen and looks for what is left. As check.py: needs nothing but Python, and the last line
is "ok: N checks".
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

SECONDS = 90
UNIT = "reckon.service"
WARDENS = "reckon-warden@*.service"


class Client:
    def __init__(self, url, key_file):
        self.url, self.key_file, self.checks = url + "/reckon/v1", key_file, 0

    def ask(self, method, path, body=None):
        key = re.search(r"rk_\S+", self.key_file.read_text())[0]
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, method=method,
                                         headers={"Authorization": "Bearer " + key})
        answer = urllib.request.urlopen(request, timeout=SECONDS)
        return json.loads(answer.read())

    def wait(self):
        """Until it answers."""
        until = time.monotonic() + SECONDS
        while True:
            try:
                return self.ask("GET", "/health")
            except (OSError, TypeError):
                if time.monotonic() > until:
                    sys.exit("check_units.py: the service does not answer\n" + journal())
            time.sleep(0.1)

    def create(self):
        return "/sessions/" + self.ask("POST", "/sessions", {})["id"]

    def run(self, session, code):
        record = self.ask("POST", session + "/executions", {"code": code})
        return record["stdout"].strip() if record["status"] == "ok" else record["error"]

    def check(self, what, is_so, seen):
        if not is_so:
            sys.exit(f"check_units.py: {what}: {seen!r}\n" + journal())
        self.checks += 1
        print(f"  {what}", flush=True)


def systemctl(*words):
    return subprocess.run(["systemctl", *words], check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()


def start():
    systemctl("reset-failed", UNIT)  # we start it oftener than anybody
    systemctl("start", UNIT)


def journal():
    return subprocess.run(["journalctl", "-o", "short-monotonic", "--no-pager", "-n", "60"],
                          check=False, text=True, stdout=subprocess.PIPE).stdout


def value(unit, name):
    return systemctl("show", "--value", "-p", name, unit)


def wardens():
    text = systemctl("list-units", "--plain", "--no-legend", "--state=active", WARDENS)
    return [line.split()[0] for line in text.splitlines()]


def kill(unit):
    pid = value(unit, "MainPID")
    os.kill(int(pid), signal.SIGKILL)
    return pid


def processes(words):
    return [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
            if words in read(path)]


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def eventually(what):
    until = time.monotonic() + SECONDS
    while not what() and time.monotonic() < until:
        time.sleep(0.2)
    return what()


def groups(pid):
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text()


def outlives(client):
    """Of each way in which the service ends and begins again."""
    session = client.create()
    client.run(session, "x = 1")
    found = wardens()
    client.check("a warden has a unit of its own", len(found) == 1, found)
    pid = value(found[0], "MainPID")
    client.check("and a group of its own", f"reckon.slice/{found[0]}" in groups(pid), groups(pid))
    before = kill(UNIT)
    eventually(lambda: value(UNIT, "MainPID") not in ("0", before))
    client.wait()
    seen = client.run(session, "x += 1\nprint(x)")
    client.check("a crash of reckond keeps variables", seen == "2", seen)
    systemctl("restart", UNIT)
    client.wait()
    seen = client.run(session, "x += 1\nprint(x)")
    client.check("so does a restart of the service", seen == "3", seen)
    systemctl("stop", UNIT)
    client.check("what is stopped has no process left", value(UNIT, "ControlGroup") == "" or
                 not pathlib.Path("/sys/fs/cgroup/unified" + value(UNIT, "ControlGroup")).exists(),
                 systemctl("status", UNIT))
    time.sleep(1)
    start()
    client.wait()
    seen = client.run(session, "x += 1\nprint(x)")
    client.check("so do a stop and a start", seen == "4", seen)
    client.check("all with one warden", wardens() == found, wardens())
    return session


def is_left(client, session, how, words):
    """Whether `how` leaves nothing of a box that is frozen, and the session goes on without it."""
    client.run(session, f"import subprocess\nx = 1\nsubprocess.Popen(['sleep', '{words}'])")
    client.check(f"{how[0]}: it runs", processes(words.encode()), words)
    systemctl("stop", UNIT)
    how[1]()
    client.check(f"{how[0]}: nothing of a frozen box is left",
                 eventually(lambda: not processes(words.encode())), processes(words.encode()))
    start()
    client.wait()
    seen = client.run(session, "print('x' in globals())")
    client.check(f"{how[0]}: its session goes on", seen == "False", seen)


def main():
    client = Client(sys.argv[1], pathlib.Path(sys.argv[2]))
    client.wait()
    session = outlives(client)
    is_left(client, session, ("a warden is killed", lambda: [kill(each) for each in wardens()]),
            "31557611")
    is_left(client, session, ("a warden is stopped", lambda: systemctl("stop", WARDENS)), "31557612")
    is_left(client, session, ("the slice is stopped", lambda: systemctl("stop", "reckon.slice")),
            "31557613")
    systemctl("stop", "reckon-warden.socket")
    systemctl("stop", "reckon.slice")
    start()
    client.wait()
    print(f"ok: {client.checks} checks")


if __name__ == "__main__":
    main()
