"""No descriptor of a busy daemon is closed twice, or used after it was closed.

A second close() closes what another thread opened meanwhile: the upload of another client then
fails with "Bad file descriptor". test/support/closed_twice.c detects it although the number is in
use again.
"""
import concurrent.futures
import contextlib
import http.client
import io
import itertools
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tarfile
import time

import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT
from reckon_serve import PREFIX, SECONDS, Server
from waiting import eventually

pytestmark = pytest.mark.one_user

SHIM = ROOT / "build/test/support/closed_twice.so"
MIB = 2**20
BIG = 300 * MIB
ANSWERS = (Reply(calls=["print(open('a.txt').read())"]), Reply(text="Read."))


def watched(reckon):
    """The environment that makes programs record double closes, and the file that they record them
    in."""
    found = reckon.work / "closed-twice"
    reckon.user.own(reckon.work)
    return {"LD_PRELOAD": str(SHIM), "CLOSED_TWICE_FILE": str(found)}, found


def archive():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for name in ("one", "folder/two"):
            info = tarfile.TarInfo(name)
            info.size = 1000
            made.addfile(info, io.BytesIO(b"x" * 1000))
    return out.getvalue()


class Client:
    """One of many: each does one thing at a time, on connections of its own."""

    def __init__(self, server, number):
        self.server, self.chance = server, random.Random(number)
        self.session = server.create()

    def put_and_disconnect(self):
        """Send a part of 64 MiB, then disconnect."""
        with socket.create_connection(("127.0.0.1", self.server.port), SECONDS) as sock:
            head = (f"PUT {PREFIX}/sessions/{self.session}/files/left.bin HTTP/1.1\r\nHost: x\r\n"
                    f"Authorization: Bearer {self.server.key}\r\nContent-Length: {64 * MIB}\r\n\r\n")
            with contextlib.suppress(OSError):  # the daemon may refuse it before all is sent
                sock.sendall(head.encode() + bytes(self.chance.randrange(4 * MIB)))

    def ask(self, *args, **more):
        """Responses such as 404 or "busy" are fine; internal errors of the daemon are not."""
        answer = self.server.ask(*args, **more)
        assert answer.status < 500 or answer.code in ("unavailable", "busy", "overloaded"), answer
        assert b"descriptor" not in answer.body, answer
        return answer

    def of_session(self, method, what, body=None):
        return self.ask(method, f"/sessions/{self.session}{what}", body)

    def put(self):
        self.of_session("PUT", "/files/b.bin", bytes(self.chance.randrange(2 * MIB)))
        self.of_session("GET", "/files/b.bin")

    def put_archive(self):
        self.of_session("PUT", "/archive", archive())
        self.of_session("GET", "/archive?format=zip")

    def put_bad_archive(self):
        self.of_session("PUT", "/archive", archive()[:-40])

    def execute(self):
        self.of_session("POST", "/executions", {"code": "open('n', 'a').write('1'); print(1)"})

    def cancel(self):
        made = self.of_session("POST", "/executions", {
            "code": "import time; time.sleep(30)", "background": True})
        time.sleep(self.chance.random() / 20)
        if made.status == 202:
            self.of_session("POST", f"/executions/{made.json['id']}/cancel", {})

    def question(self):
        self.ask("POST", "/agent", {"question": "?", "template": "python",
                                    "files": [{"path": "a.txt", "text": "1"}]})

    def question_and_disconnect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        connection.request("POST", f"{PREFIX}/agent", '{"question": "?", "template": "python"}',
                           self.server.headers())
        time.sleep(self.chance.random() / 10)
        connection.close()

    def context(self):
        made = self.of_session("POST", "/contexts", {})
        if made.status == 201:
            self.of_session("POST", "/executions", {"code": "1", "context": made.json["id"]})
            self.of_session("DELETE", f"/contexts/{made.json['id']}")

    def pause(self):
        self.of_session("POST", "/pause", {"memory": self.chance.random() < 0.5})
        self.put()
        self.of_session("POST", "/resume", {})

    def watch_and_disconnect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        connection.request("GET", f"{PREFIX}/sessions/{self.session}/watch", None,
                           self.server.headers())
        self.put()
        connection.close()

    def look(self):
        for what in ("/ports", "/files", "/versions/b.bin", "/artifacts", "/variables"):
            self.of_session("GET", what)
    def process(self):
        made = self.of_session("POST", "/processes", {"argv": ["sleep", "30"]})
        if made.status == 201:
            self.of_session("DELETE", f"/processes/{made.json['id']}")

    def once(self):
        self.ask("POST", "/executions", {"code": "print(open('a').read())", "template": "python",
                                         "files": [{"path": "a", "text": "x"}]})

    def store(self):
        made = self.ask("POST", "/files?name=stored.txt", b"stored")
        if made.status == 201:
            file = {"file": made.json["id"], "path": "stored.txt"}
            self.of_session("POST", "/files/copy", file)
            opened = self.ask("POST", "/sessions", {
                "template": "python", "files": [file, {**file, "mount": True}]})
            if opened.status == 201:
                self.ask("DELETE", f"/sessions/{opened.json['id']}")
            self.ask("DELETE", f"/files/{made.json['id']}")

    def renew(self):
        """The session ends while the upload that its client abandoned may still run."""
        with socket.create_connection(("127.0.0.1", self.server.port), SECONDS):
            self.put_and_disconnect()
            self.ask("DELETE", f"/sessions/{self.session}")
        self.session = self.server.create()

    def work(self, until):
        done = 0
        things = (self.put, self.put, self.put_and_disconnect, self.put_archive, self.put_bad_archive,
                  self.execute, self.execute, self.cancel, self.question, self.question_and_disconnect,
                  self.context, self.pause, self.watch_and_disconnect, self.look, self.process, self.once,
                  self.store, self.renew)
        while time.monotonic() < until:
            self.chance.choice(things)()
            done += 1
        return done


def put_big(server, session, until):
    """300 MB again and again, as `reckon files put` does it."""
    for count in itertools.count(1):
        answer = server.ask("PUT", f"/sessions/{session}/files/big.bin", bytes(BIG))
        assert (answer.status, answer.json["size"]) == (200, BIG), answer
        if time.monotonic() >= until:
            return count


def models_of(reckon, model):
    file = reckon.work / "models.ini"
    file.write_text("[default]\nmodel = scripted/m\n[provider scripted]\nprotocol = chat\n"
                    f"base-url = {model.url}/v1\nkey = sk-1\n")
    file.chmod(0o600)
    return reckon.user.own(file)


def is_watched(process):
    return str(SHIM) in pathlib.Path(f"/proc/{process.pid}/maps").read_text()


TWICE = """
import contextlib, fcntl, os
first = os.open("/dev/null", os.O_RDONLY)
os.close(first)
second = os.open("/dev/null", os.O_RDONLY)
with contextlib.suppress(OSError):
    os.close(first)
with contextlib.suppress(OSError):
    fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, 0)
print(first != second, os.fstat(second).st_size)
"""


def test_double_closes_are_detected(reckon):
    """The numbers differ, so that the second close() does not hit another file."""
    env, found = watched(reckon)
    done = subprocess.run([sys.executable, "-I", "-c", TWICE], env={**os.environ, **env}, text=True,
                          check=True, stdout=subprocess.PIPE, **reckon.user.switch)
    assert done.stdout == "True 0\n"
    report = found.read_text()
    assert re.findall(r"^([a-z ]+): descriptor", report, re.M) == [
        "closed twice", "duplicated after it was closed"]
    assert "closed_twice.so(close" in report


def test_a_busy_daemon_closes_nothing_twice(reckon):
    env, found = watched(reckon)
    with ModelServer(*ANSWERS * 2000) as model:
        with Server(reckon, "--models", models_of(reckon, model), env=env) as server:
            assert is_watched(server.process)
            until = time.monotonic() + float(os.environ.get("DESCRIPTOR_SECONDS", "20"))
            big = server.create(limits={"disk_bytes": 2 * BIG})
            clients = [Client(server, number) for number in range(6)]
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                putting = pool.submit(put_big, server, big, until)
                counts = list(pool.map(lambda client: client.work(until), clients))
            assert putting.result() >= 1 and min(counts) >= 1
            server.stop()
            assert "Bad file descriptor" not in server.log()
    assert not found.exists(), found.read_text()


def test_large_uploads_during_agent_runs(reckon):
    """Commands upload and ask at the same time, in one session of a private daemon and in sessions
    of their own."""
    env, found = watched(reckon)
    reckon.env.update(env)
    for name, size in (("big.bin", BIG), ("a.txt", 1)):
        with open(reckon.file(name), "wb") as file:
            file.truncate(size)
    with ModelServer(*ANSWERS * 100) as model, \
            reckon.start("serve", "--private", "--state", reckon.state) as daemon:
        eventually(lambda: reckon("daemon", "status").status == 0, "the daemon")
        assert is_watched(daemon)
        reckon.env["RECKON_MODELS"] = str(models_of(reckon, model))
        reckon("session", "create", "s", "-t", "python", "--disk", "1G").expect(0)
        ask = ("ask", "--verify", "off", "--no-keep")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            puts = pool.submit(lambda: [reckon("files", "put", "-s", "s", "big.bin")
                                        for _ in range(3)])
            runs = [pool.submit(lambda more=more: [reckon(*ask, *more, "?", "a.txt")
                                                   for _ in range(4)])
                    for more in (("-s", "s"), ("-t", "python"), ("-t", "python"))]
            for done in (each for thread in (puts, *runs) for each in thread.result()):
                assert "descriptor" not in done.expect(0).err, done
        daemon.terminate()
        daemon.wait(SECONDS)
    assert not found.exists(), found.read_text()
