"""Changes in a session's files, as events."""
import json
import os
import pathlib
import signal
import tempfile
import time

import pytest
from reckon_cli import Reckon
from reckon_serve import Server


@pytest.fixture(scope="module")
def server(place):
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running
        assert running.ask("GET", "/health").status == 200
        assert "level=error" not in running.log()


class Watch:
    """A stream of events; each is (id, name, data)."""

    def __init__(self, server, session, query="", headers=None, start="start"):
        self.connection = server.connect()
        self.connection.request("GET", f"/reckon/v1/sessions/{session}/watch?{query}",
                                headers=server.headers(headers))
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.last = None
        if start:
            assert self.next()[0] == start

    def data(self):
        self.next()
        return self.latest

    def next(self):
        lines = {}
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if not line and lines:
                break
            assert line or self.response.fp is not None, "the stream has ended"
            if line and not line.startswith(":"):
                key, value = line.split(": ", 1)
                lines[key] = value
        data = json.loads(lines["data"])
        assert data.get("event", lines["event"]) == lines["event"]
        self.last, self.latest = lines.get("id", self.last), data
        return lines["event"], data.get("path"), data.get("kind"), data.get("from")

    def until(self, *wanted):
        """Events up to and including this one."""
        found = []
        while not found or found[-1][:len(wanted)] != wanted:
            found.append(self.next())
        return found

    def close(self):
        self.connection.close()


def test_each_kind(server, session):
    watch = Watch(server, session)
    server.execute(session, "open('a', 'w').write('x'); import os; os.chmod('a', 0o600); "
                   "os.rename('a', 'b'); os.mkdir('d'); os.remove('b'); os.rmdir('d')")
    found = watch.until("remove", "d")
    assert [each for each in found if each[0] != "attrib"] == [
        ("create", "a", "file", None), ("write", "a", "file", None), ("rename", "b", "file", "a"),
        ("create", "d", "folder", None), ("remove", "b", "file", None),
        ("remove", "d", "folder", None)]
    assert ("attrib", "a", "file", None) in found


def test_an_upload_is_seen_when_it_is_complete(server, session):
    watch = Watch(server, session)
    server.ask("PUT", f"/sessions/{session}/files/data.csv", b"a,b\n")
    found = watch.until("create", "data.csv")
    assert not any(".reckon-" in str(each) for each in found)


def test_folders_below(server, session):
    server.execute(session, "import os; os.makedirs('old/deep'); os.mkdir('into')")
    flat, deep = Watch(server, session), Watch(server, session, "recursive=1")
    below = Watch(server, session, "path=old&recursive=1")
    server.execute(session, "open('old/deep/x', 'w').close(); os.makedirs('new/a/b'); "
                   "open('new/a/b/y', 'w').close(); os.rename('old/deep', 'into/moved'); "
                   "open('into/moved/z', 'w').close(); open('end', 'w').close()")
    found = deep.until("create", "end")
    assert ("create", "old/deep/x", "file", None) in found
    assert ("create", "new/a/b/y", "file", None) in found
    assert ("rename", "into/moved", "folder", "old/deep") in found
    assert ("create", "into/moved/z", "file", None) in found
    assert {each[1] for each in flat.until("create", "end")} <= {"new", "old", "end"}
    assert below.until("remove", "deep")[0] == ("create", "deep/x", "file", None)


def test_a_watched_folder_is_removed(server, session):
    server.execute(session, "import os; os.mkdir('d')")
    watch = Watch(server, session, "path=d")
    server.execute(session, "os.rmdir('d')")
    assert watch.until("end")
    assert watch.response.read() == b""
    answer = server.ask("GET", f"/sessions/{session}/watch?path=d")
    assert (answer.status, answer.code) == (404, "not_found")
    server.execute(session, "os.mkdir('d')")
    watch = Watch(server, session, "path=d")  # a new one
    server.execute(session, "open('d/x', 'w').close()")
    watch.until("create", "x")


def test_a_broken_connection_continues_after_its_last_event(server, session):
    watch = Watch(server, session)
    server.execute(session, "open('a', 'w').close()")
    watch.until("create", "a")
    watch.close()
    server.execute(session, "open('b', 'w').close()")
    again = Watch(server, session, headers={"Last-Event-ID": watch.last}, start=None)
    assert again.until("create", "b")[0][0] != "start"
    stale = Watch(server, session, headers={"Last-Event-ID": "7"}, start="overflow")
    server.execute(session, "open('c', 'w').close()")
    assert stale.until("create", "c")[0] == ("create", "c", "file", None)


def test_many_readers(server, session):
    watches = [Watch(server, session) for _ in range(20)]
    server.execute(session, "open('a', 'w').close()")
    for each in watches:
        each.until("create", "a")


FLOOD = """import os, threading, time
def flood():
    time.sleep(.5)
    for i in range(15000):
        open('x', 'w').close(); os.remove('x')
    for i in range(300):  # one may be among what the kernel had no room for
        open(f'end{i}', 'w').close(); time.sleep(.2)
threading.Thread(target=flood, daemon=True).start()"""


def test_more_events_than_the_buffers_have_room_for(server, session):
    watch = Watch(server, session)
    assert server.execute(session, FLOOD)["status"] == "ok"
    os.kill(server.process.pid, signal.SIGSTOP)  # so that the daemon reads more slowly than the box writes
    time.sleep(4)
    os.kill(server.process.pid, signal.SIGCONT)
    found = [watch.next()]
    while not str(found[-1][1]).startswith("end"):
        found.append(watch.next())
    assert any(each[0] in ("overflow", "gap") for each in found)


def test_folders_are_bounded(server, session):
    server.execute(session, "import os\nfor i in range(1500): os.mkdir(f'd{i:04}')")
    watch = Watch(server, session, "recursive=1", start=None)
    assert watch.data() == {"event": "start", "limited": True}
    assert server.ask("GET", "/health").status == 200


def test_a_tree_that_is_moved_in_does_not_block_the_daemon(server, session):
    server.execute(session, "import os\nos.mkdir('/tmp/t')\n"
                   "for i in range(30):\n os.mkdir(f'/mnt/data/d{i}')\n"
                   " for j in range(500): open(f'/mnt/data/d{i}/{j}', 'w').close()\nos.mkdir('in')")
    watch = Watch(server, session, "recursive=1")
    server.execute(session, "for i in range(30): os.rename(f'd{i}', f'in/d{i}')\n"
                   "open('end', 'w').close()")
    assert ("rename", "in/d29", "folder", "d29") in watch.until("create", "end")


def test_names_that_are_not_plain_text(server, session):
    watch = Watch(server, session)
    server.execute(session, r"open(b'/mnt/data/\xff\n\"x', 'w').close(); open('end', 'w').close()")
    assert watch.until("create", "end")[0][1] == '?\n"x'


def test_limit_of_watches_of_a_session(server, session):
    server.execute(session, "import os\nfor i in range(9): os.mkdir(f'd{i}')")
    held = [Watch(server, session, f"path=d{i}") for i in range(8)]
    answer = server.ask("GET", f"/sessions/{session}/watch?path=d8")
    assert (answer.status, answer.code) == (429, "busy")
    assert len(held) == 8


def test_limit_of_watches_of_a_folder(server, session):
    """64 clients follow one folder; one more gets an error, and the others continue."""
    held = [Watch(server, session) for _ in range(64)]  # WATCH_WAITERS_MAX
    more = Watch(server, session)
    assert more.next()[0] == "failed" and "too many clients" in more.latest["error"]["message"]
    server.execute(session, "open('a', 'w').close()")
    assert held[0].until("create")[0][1] == held[63].until("create")[0][1] == "a"


@pytest.mark.parametrize("query,status", [
    ("path=../x", 400), ("path=/etc", 400), ("path=nothing", 404), ("path=link", 404),
    ("path=file", 404), ("recursive=2", 400), ("path=", 400)])
def test_invalid_paths(server, session, query, status):
    server.execute(session, "import os; os.symlink('/etc', 'link'); open('file', 'w').close()")
    answer = server.ask("GET", f"/sessions/{session}/watch?{query}")
    assert answer.status in (status, 400, 403, 404) and answer.status < 500, answer
    assert answer.code


def test_the_session_ends(server):
    session = server.create()
    watch = Watch(server, session)
    server.ask("DELETE", f"/sessions/{session}")
    assert watch.next()[0] == "failed"
    assert watch.response.read() == b""


def test_watches_end_with_their_sessions(server):
    """No inotify instance is left over."""
    pid = server.process.pid

    def instances():
        return sum("inotify" in os.readlink(entry) for entry in
                   pathlib.Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink())
    before = instances()
    sessions = [server.create() for _ in range(3)]
    watches = [Watch(server, each, "recursive=1") for each in sessions]
    assert instances() == before + 3
    for each in sessions:
        server.ask("DELETE", f"/sessions/{each}")
    for each in watches:
        each.until("failed")
    assert instances() == before
