"""Backups of a state directory: made while a daemon works, restored elsewhere or into its store."""
import re
import shutil
import sqlite3
import threading

import pytest
from reckon_serve import Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def backup(reckon, target, *args, state=None, status=0):
    done = reckon("backup", "--state", state or reckon.state, *args, target)
    assert done.status == status, done
    return done


def copied(done):
    return int(re.search(r"copied (\d+)", done.out)[1])


def snapshots(target):
    return sorted(path.name for path in (target / "snapshots").iterdir())


def objects(folder):
    return {path.name: path for path in folder.glob("??/*")}


def test_backup_during_work_has_all_answered_requests(reckon, tmp_path):
    target, again = tmp_path / "backup", tmp_path / "again"
    with Server(reckon) as server:
        session = server.create()
        first = server.execute(session, "open('kept', 'w').write('first')\nprint('one')")
        ends = threading.Event()

        def work():
            other = server.create()
            number = 0
            while not ends.is_set():
                server.execute(other, f"open('f{{number}}', 'w').write('{{number}}' * 999)".format(
                    number=number))
                number += 1

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(3):
                done = backup(reckon, target)
                assert " 0 missing or damaged" in done.out
        finally:
            ends.set()
            worker.join()
        key = server.key
        backup(reckon, target, "--verify")
        taken = reckon("restore", "--state", again, target)
        assert taken.status == 0, taken
    for path in (target, again, again / "reckond.db", *objects(target / "objects").values()):
        assert path.stat().st_mode & 0o077 == 0, path
    assert reckon("audit", "verify", "--state", again).status == 0
    with Server(reckon, "--state", str(again), key=key) as server:
        assert server.ask("GET", f"/sessions/{session}/executions/{first['id']}").json == first
        record = server.execute(session, "print(open('kept').read())")
        assert record["stdout"] == "first\n"
        assert "damage" not in server.log()
        live = [row["id"] for row in server.ask("GET", "/sessions?status=live").json["sessions"]]
        assert len(live) == 2
        other, = set(live) - {session}
        # The session that was busy during the backups opens with its files.
        assert server.ask("GET", f"/sessions/{other}/files").status == 200


def test_backup_copies_new_files_and_removes_unused_ones(reckon, tmp_path):
    target = tmp_path / "backup"
    with Server(reckon) as server:
        session, gone = server.create(), server.create()
        server.execute(session, "open('a', 'w').write('a' * 5000)")
        server.execute(gone, "open('b', 'w').write('b' * 5000)")
        assert copied(backup(reckon, target)) >= 2
        first, = snapshots(target)
        old = set(objects(target / "objects"))
        server.execute(session, "open('c', 'w').write('c' * 5000)")
        assert copied(backup(reckon, target)) == 1
        assert len(snapshots(target)) == 2
        assert set(objects(target / "objects")) > old
        # With --keep 1, a backup removes older snapshots and the objects that no snapshot names.
        shutil.rmtree(target / "snapshots" / first)
        (target / "snapshots" / "20000101T000000Z").mkdir()
        for name, text in (("objects", ""), ("segments", "")):
            (target / "snapshots" / "20000101T000000Z" / name).write_text(text)
        stray = target / "objects" / "ab" / ("ab" + "0" * 62)
        stray.parent.mkdir(exist_ok=True)
        stray.write_text("nobody's")
        backup(reckon, target, "--keep", "1")
        assert len(snapshots(target)) == 1 and not stray.exists()
        backup(reckon, target, "--verify")


def test_missing_and_damaged_files_are_named(reckon, tmp_path):
    target = tmp_path / "backup"
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "open('a', 'w').write('some text')")
        server.stop()
        victim, = [path for path in objects(reckon.state / "artifacts").values()
                   if path.read_bytes() == b"some text"]
        victim.write_bytes(b"some tixt")
        done = backup(reckon, target, status=1)
        assert victim.name[:16] in done.err and "damaged" in done.err
        victim.write_bytes(b"some text")
        shutil.rmtree(target)
        backup(reckon, target)
        copy = objects(target / "objects")[victim.name]
        copy.write_bytes(b"some tixt")
        done = backup(reckon, target, "--verify", status=1)
        assert victim.name[:16] in done.err and "damaged" in done.err
        again = tmp_path / "again"
        taken = reckon("restore", "--state", again, target)
        assert taken.status == 1 and "damaged" in taken.err, taken
        assert victim.name not in objects(again / "artifacts")
        copy.unlink()
        assert "missing" in backup(reckon, target, "--verify", status=1).err


def test_restore_objects_while_the_daemon_runs(reckon, tmp_path):
    target = tmp_path / "backup"
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "open('a', 'w').write('some text')")
        backup(reckon, target)
        server.stop()
        victim, = [path for path in objects(reckon.state / "artifacts").values()
                   if path.read_bytes() == b"some text"]
        victim.unlink()
        server.start()
        assert server.ask("GET", f"/sessions/{session}/files/a").status == 503
        refused = reckon("restore", "--state", reckon.state, target)
        assert refused.status == 125 and "--objects" in refused.err, refused
        taken = reckon("restore", "--objects", "--state", reckon.state, target)
        assert taken.status == 0 and copied(taken) == 1, taken
        assert server.ask("GET", f"/sessions/{session}/files/a").body == b"some text"


def test_restore_replaces_nothing(reckon, tmp_path):
    target = tmp_path / "backup"
    with Server(reckon) as server:
        server.create()
        backup(reckon, target)
    before = (reckon.state / "reckond.db").read_bytes()
    refused = reckon("restore", "--state", reckon.state, target)
    assert refused.status == 125 and "holds a database already" in refused.err
    assert (reckon.state / "reckond.db").read_bytes() == before
    for args in (("backup",), ("backup", "--keep", "0", target), ("restore",)):
        assert reckon(*args).status == 2
    assert reckon("restore", "--state", tmp_path / "x", tmp_path / "nowhere").status == 125
    assert not list(sqlite3.connect(target / "snapshots" / snapshots(target)[0] / "reckond.db")
                    .execute("PRAGMA foreign_key_check"))
