"""Files of a session while a cell runs in it: requests do not wait, are safe, and each change is
reported once."""
import concurrent.futures
import io
import os
import pathlib
import signal
import tarfile
import threading
import time

import pytest
from reckon_serve import Server

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)
# Runs until a client puts the named file; a request that waited for the cell would never end.
UNTIL = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('{0}'): time.sleep(.01)\n"


@pytest.fixture
def server(reckon):
    with Server(reckon) as running:
        yield running
        assert "level=error" not in running.log()


def begin(server, session, code=UNTIL.format("end")):
    execution = server.background(session, code)
    server.wait_running(session, execution)
    while server.ask("GET", f"/sessions/{session}/files/begun").status == 404:
        time.sleep(.01)
    return execution


def status_of(server, session, execution):
    return server.ask("GET", f"/sessions/{session}/executions/{execution}").json["status"]


def tar_of(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_every_request_about_files_is_answered_while_a_cell_runs(server):
    session = server.create()
    path = f"/sessions/{session}"
    server.ask("PUT", f"{path}/files/before", b"1")
    execution = begin(server, session, "open('mine', 'w').write('cell')\n" + UNTIL.format("end"))

    assert server.ask("PUT", f"{path}/files/in/a.csv", b"x,y\n").status == 200
    got = server.ask("GET", f"{path}/files/in/a.csv")
    assert got.body == b"x,y\n" and got.headers["ETag"]
    assert server.ask("GET", f"{path}/files/mine").body == b"cell"
    listed = {each["path"] for each in server.ask("GET", f"{path}/files?recursive=true").json["files"]}
    assert listed == {"before", "begun", "mine", "in/a.csv"}
    assert server.ask("POST", f"{path}/files/move", {"from": "in/a.csv", "to": "in/b.csv"}).status == 200
    assert server.ask("POST", f"{path}/files/mkdir", {"path": "made"}).status == 200
    assert server.ask("DELETE", f"{path}/files/before").status in (200, 204)
    assert server.ask("PUT", f"{path}/archive?path=un", tar_of(one=b"1", two=b"2")).status == 200
    packed = server.ask("GET", f"{path}/archive?format=tar")
    with tarfile.open(fileobj=io.BytesIO(packed.body)) as archive:
        names = set(archive.getnames())
        assert archive.extractfile("un/two").read() == b"2"
    assert {"in/b.csv", "un/one", "un/two", "mine", "made"} <= names
    assert not any(".reckon" in name for name in names)
    assert status_of(server, session, execution) == "running"

    server.ask("PUT", f"{path}/files/end", b"")
    record = server.poll(session, execution)
    assert record["status"] == "ok"
    # The record lists the files that the cell wrote, not those that a client put meanwhile.
    assert {each["path"] for each in record["files"]} == {"begun", "mine"}
    record = server.execute(session, "print(sorted(os.listdir('.')), open('in/b.csv').read())")
    assert "'end', 'in', 'made', 'mine', 'un'" in record["stdout"] and "x,y" in record["stdout"]
    assert record["files"] == []


def test_a_cell_that_overwrites_an_upload_reports_it(server):
    session = server.create()
    execution = begin(server, session, UNTIL.format("end") + "open('end', 'w').write('mine now')")
    server.ask("PUT", f"/sessions/{session}/files/end", b"put")
    record = server.poll(session, execution)
    assert {(each["path"], each["change"]) for each in record["files"]} == {
        ("begun", "created"), ("end", "modified")}


def test_files_are_reachable_while_all_workers_are_busy(reckon):
    with Server(reckon, "--workers", "2") as server:
        sessions = [server.create() for _ in range(3)]
        running = [begin(server, session) for session in sessions[:2]]
        for session in sessions:
            path = f"/sessions/{session}/files/f"
            assert server.ask("PUT", path, b"1").status == 200
            assert server.ask("GET", path).body == b"1"
        for session, execution in zip(sessions, running):
            assert status_of(server, session, execution) == "running"
            server.ask("PUT", f"/sessions/{session}/files/end", b"")
            assert server.poll(session, execution)["status"] == "ok"


def test_contexts_do_not_delay_files(server):
    session = server.create()
    made = server.ask("POST", f"/sessions/{session}/contexts", {"language": "python"}).json["id"]
    execution = server.background(session, UNTIL.format("end"), context=made)
    server.wait_running(session, execution)
    assert server.ask("PUT", f"/sessions/{session}/files/end", b"").status == 200
    assert server.poll(session, execution)["status"] == "ok"


@as_root
def test_uploads_during_a_cell_survive_a_crash(server):
    """After a crash the clients' changes persist, and everything that the running cell wrote is
    lost."""
    session = server.create()
    path = f"/sessions/{session}"
    server.execute(session, "open('old', 'w').write('old'); open('gone', 'w')")
    execution = begin(server, session, "open('old', 'w').write('half')\n" + UNTIL.format("end"))
    assert server.ask("PUT", f"{path}/files/deep/put", b"put").status == 200
    assert server.ask("DELETE", f"{path}/files/gone").status in (200, 204)
    server.stop(signal.SIGKILL)
    server.start()
    assert status_of(server, session, execution) == "lost"
    assert server.ask("GET", f"{path}/files/deep/put").body == b"put"
    assert server.ask("GET", f"{path}/files/old").body == b"old"
    assert server.ask("GET", f"{path}/files/gone").status == 404
    assert server.ask("GET", f"{path}/files/begun").status == 404


def test_variables_wait_for_the_kernel_by_default(server):
    session = server.create()
    path = f"/sessions/{session}"
    execution = begin(server, session, "x = 1\n" + UNTIL.format("end"))
    refused = server.ask("GET", f"{path}/variables?wait=0")
    assert (refused.status, refused.code) == (429, "busy") and refused.headers["Retry-After"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask, "GET", f"{path}/variables")
        server.ask("PUT", f"{path}/files/end", b"")
        assert "x" in [each["name"] for each in waiting.result().json["variables"]]
    server.poll(session, execution)
    names = server.ask("GET", f"{path}/variables?wait=0").json["variables"]
    assert "x" in [each["name"] for each in names]
    assert server.ask("GET", f"{path}/variables?wait=maybe").status == 400


def test_close_and_restart_during_uploads(server):
    """Uploads during a restart succeed; uploads during a close succeed or get 410."""
    session = server.create()
    path = f"/sessions/{session}"
    execution = begin(server, session)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        puts = [pool.submit(server.ask, "PUT", f"{path}/files/f{n}", b"1" * 100000)
                for n in range(8)]
        restarted = pool.submit(server.ask, "POST", f"{path}/restart", {})
        assert [each.result().status for each in puts] == [200] * 8
        assert restarted.result().status == 200
    assert server.poll(session, execution)["status"] == "killed"
    assert len(server.ask("GET", f"{path}/files").json["files"]) == 9
    begin(server, session)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        puts = [pool.submit(server.ask, "PUT", f"{path}/files/g{n}", b"1" * 100000)
                for n in range(8)]
        assert server.ask("DELETE", path).status in (200, 204)
        assert {each.result().status for each in puts} <= {200, 410}
    assert server.ask("GET", f"{path}/files").status == 410


def test_last_write_wins_between_cells_and_uploads(server):
    """A cell and uploads write one file in turn; after a crash the file has the content that a
    client read last."""
    session = server.create()
    path = f"/sessions/{session}"
    stop = threading.Event()

    def put():
        n = 0
        while not stop.is_set():
            n += 1
            assert server.ask("PUT", f"{path}/files/f", str(n).encode()).status == 200

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        putting = pool.submit(put)
        for n in range(15):
            server.execute(session, f"open('f', 'w').write('cell {n}')")
        stop.set()
        putting.result()
    last = server.ask("GET", f"{path}/files/f").body
    server.execute(session, "pass")
    server.stop(signal.SIGKILL)
    server.start()
    assert server.ask("GET", f"{path}/files/f").body == last


SWAP = """
import contextlib, os, shutil, time
os.makedirs('real/sub', exist_ok=True)
open('real/passwd', 'w').write('inside'); open('real/sub/passwd', 'w').write('inside')
open('begun', 'w').close()
targets = ['/etc', '/', '/proc/self/root/etc', '../../../../../../etc', '/mnt/../etc']
n = 0
while not os.path.exists('end'):
    n += 1
    try:
        os.symlink(targets[n % len(targets)], 'next')
        os.rename('real', 'aside')
        os.rename('next', 'real')
        time.sleep(.001)
        for name in os.listdir('.'):
            if name.startswith('.reckon-'):
                os.rename(name, 'taken%d' % n)
                os.symlink('/etc', name)
        os.unlink('real')
        os.rename('aside', 'real')
    except OSError:
        # A request made something meanwhile: as it was, and on.
        with contextlib.suppress(OSError):
            os.unlink('next')
        if os.path.lexists('aside'):
            if os.path.islink('real'):
                os.unlink('real')
            shutil.rmtree('real', ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rename('aside', 'real')
    time.sleep(.002)
"""


def test_a_box_that_swaps_folders_for_links_gets_nothing_out(server):
    """Each request reads and writes inside the workspace or fails, whatever the box swaps
    meanwhile."""
    session = server.create()
    path = f"/sessions/{session}"
    execution = begin(server, session, SWAP)
    host = pathlib.Path("/etc/passwd").read_bytes()
    etc = set(os.listdir("/etc")) | set(os.listdir("/"))
    deadline = time.monotonic() + 8
    seen = set()
    while time.monotonic() < deadline:
        for name in ("real/passwd", "real/sub/passwd"):
            answer = server.ask("GET", f"{path}/files/{name}")
            assert answer.status in (200, 403, 404, 409), answer
            assert answer.status != 200 or answer.body == b"inside"
            seen.add(answer.status)
        answer = server.ask("PUT", f"{path}/files/real/escaped", b"out")
        assert answer.status in (200, 403, 404, 409, 500), answer
        answer = server.ask("PUT", f"{path}/archive?path=real", tar_of(escaped2=b"out"))
        assert answer.status in (200, 403, 404, 409, 500), answer
        packed = server.ask("GET", f"{path}/archive?format=tar")
        assert host not in packed.body
        listed = server.ask("GET", f"{path}/files?recursive=true")
        assert b"shadow" not in listed.body
        server.ask("POST", f"{path}/files/move", {"from": "real/escaped", "to": "real/moved"})
        server.ask("DELETE", f"{path}/files/real/sub/none")
    assert 200 in seen and len(seen) > 1, seen
    assert set(os.listdir("/etc")) | set(os.listdir("/")) == etc
    assert pathlib.Path("/etc/passwd").read_bytes() == host
    assert server.ask("PUT", f"{path}/files/end", b"").status == 200
    record = server.poll(session, execution)
    assert record["status"] == "ok", record
