"""Snapshots: the files of a session as they were, from which new sessions begin."""
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import signal
import sqlite3
import time

import pytest
from leftovers import PATIENCE
from reckon_serve import Server, bearer
from waiting import eventually


def snapshot(server, session, headers=None, **body):
    answer = server.ask("POST", f"/sessions/{session}/snapshots", body, headers)
    assert answer.status == 201, answer
    time.sleep(0.002)  # ids of one millisecond have no order
    return answer.json


def listed(server, query="", headers=None):
    answer = server.ask("GET", f"/snapshots{query}", headers=headers)
    assert answer.status == 200, answer
    return answer.json["snapshots"]


def begin(server, made, **body):
    answer = server.ask("POST", "/sessions", {"snapshot": made["id"], **body})
    assert answer.status == 201, answer
    return answer.json


def run(server, session, code):
    record = server.execute(session, code)
    assert record["status"] == "ok", record
    return record["stdout"]


def disk_bytes(server, tenant):
    return server.ask("GET", f"/tenants/{tenant}").json["now"]["disk_bytes"]


def test_a_new_session_begins_with_the_snapshot(server):
    session = server.create(env={"COLOUR": "red", "SIZE": "1"}, limits={"wall_s": 20, "output_bytes": 5000})
    run(server, session, """
import os
x = 5
os.makedirs('d/e')
open('d/e/a', 'w').write('as it was')
os.chmod('d/e/a', 0o640)
os.utime('d/e/a', (1000, 1000))
os.symlink('d/e/a', 'link')
os.link('d/e/a', 'same')
open('nothing', 'w')
""")
    made = snapshot(server, session, name="first")
    assert made["id"].startswith("sn_") and made["name"] == "first" and made["session"] == session
    assert (made["memory"], made["template"], made["language"]) == (False, "python", "python")
    assert made["limits"]["wall_s"] == 20 and made["bytes"] == len("as it was")
    assert server.ask("GET", f"/snapshots/{made['id']}").json == made
    run(server, session, "open('d/e/a', 'w').write('changed since'); os.remove('link')")
    fresh = begin(server, made)
    assert fresh["limits"] == made["limits"] and fresh["template"] == "python"
    assert run(server, fresh["id"], """
import os
print(open('d/e/a').read(), os.readlink('link'), os.path.samefile('same', 'd/e/a'), os.path.getsize('nothing'))
print(oct(os.stat('d/e/a').st_mode)[-3:], os.stat('d/e/a').st_mtime, 'x' in globals(), os.environ['COLOUR'])
""") == "as it was d/e/a True 0\n640 1000.0 False red\n"
    assert run(server, session, "print(x, open('d/e/a').read())") == "5 changed since\n"


def test_given_options_override_the_snapshot(server):
    made = snapshot(server, server.create(env={"A": "1", "B": "2"}, limits={"wall_s": 20, "files": 500},
                                          policy={"isolate_cpu": ["speculation"]}))
    assert made["name"] is None and made["files"] == 0
    fresh = begin(server, made, env={"B": "3"}, limits={"wall_s": 9}, language="bash")
    assert (fresh["limits"]["wall_s"], fresh["limits"]["files"], fresh["language"]) == (9, 500, "bash")
    assert fresh["policy"]["isolate_cpu"] == ["speculation"]
    assert run(server, fresh["id"], "echo $A$B") == "13\n"
    many = {f"V{number}": "" for number in range(254)}
    assert begin(server, made, env=many)
    answer = server.ask("POST", "/sessions", {"snapshot": made["id"], "env": many | {"V254": ""}})
    assert (answer.status, answer.code) == (400, "invalid"), answer


def test_a_snapshot_outlives_its_session_and_the_daemon(server):
    session = server.create()
    run(server, session, "open('a', 'w').write('kept')")
    made = snapshot(server, session)
    server.stop(signal.SIGKILL)
    server.start()
    assert listed(server) == [made]
    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    assert listed(server, f"?session={session}") == [made]
    fresh = begin(server, made)["id"]
    # The new session has files of its own, whatever happens to the snapshot or the daemon.
    assert server.ask("DELETE", f"/snapshots/{made['id']}").status == 200
    server.stop(signal.SIGKILL)
    server.start()
    assert run(server, fresh, "print(open('a').read())") == "kept\n"
    assert listed(server) == []


def test_removed_snapshots_are_gone(server):
    made = snapshot(server, server.create())
    assert server.ask("DELETE", f"/snapshots/{made['id']}").json == {}
    for method, path, body in (("GET", f"/snapshots/{made['id']}", None), ("DELETE", f"/snapshots/{made['id']}", None),
                               ("POST", "/sessions", {"snapshot": made["id"]})):
        answer = server.ask(method, path, body)
        assert (answer.status, answer.code) == (404, "not_found"), (method, answer)
    assert listed(server) == []


def test_sessions_that_begin_during_a_removal_have_all_files(server):
    session = server.create()
    run(server, session, "for n in range(200): open(str(n), 'w').write(str(n))")
    made = snapshot(server, session)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        pending = [threads.submit(server.ask, "POST", "/sessions", {"snapshot": made["id"]}) for _ in range(6)]
        while not any(each.done() for each in pending):
            time.sleep(0.001)
        assert server.ask("DELETE", f"/snapshots/{made['id']}").status == 200
        answers = [each.result() for each in pending]
    server.stop(signal.SIGKILL)
    server.start()
    begun = [answer.json["id"] for answer in answers if answer.status == 201]
    assert begun and all(answer.status in (201, 404) for answer in answers), answers
    for each in begun:
        assert run(server, each, "import os; print(len(os.listdir()), open('199').read())") == "200 199\n"


def test_a_snapshot_waits_for_executions(server):
    session = server.create()
    running = server.background(session, "import time; time.sleep(1); open('a', 'w').write('1')")
    server.wait_running(session, running)
    server.background(session, "open('b', 'w').write('2')")
    made = snapshot(server, session)
    assert (made["files"], made["bytes"]) == (2, 2)
    assert server.ask("PUT", f"/sessions/{session}/files/c", b"333").status == 200
    assert snapshot(server, session)["bytes"] == 5


def test_snapshot_of_a_paused_session_or_one_without_a_box(server):
    session = server.create()
    run(server, session, "open('a', 'w').write('12345')")
    server.stop(signal.SIGKILL)
    server.start()
    assert snapshot(server, session)["bytes"] == 5
    shown = server.ask("GET", f"/sessions/{session}").json
    assert shown["kernel"] == "lost"  # the snapshot did not need a box
    run(server, session, "open('b', 'w').write('6')")
    assert server.ask("POST", f"/sessions/{session}/pause", {}).status == 200
    made = snapshot(server, session)
    assert made["bytes"] == 6 and server.ask("GET", f"/sessions/{session}").json["paused_at"]
    assert run(server, begin(server, made)["id"], "print(open('b').read())") == "6\n"


def test_snapshot_of_a_session_whose_kernel_died(server):
    session = server.create()
    assert server.execute(session, "open('a', 'w').write('123'); import os; os._exit(1)")["status"] == "kernel_died"
    made = snapshot(server, session)
    assert made["bytes"] == 3
    assert run(server, begin(server, made)["id"], "print(open('a').read())") == "123\n"


def test_snapshot_of_a_closed_session(server):
    session = server.create()
    server.ask("DELETE", f"/sessions/{session}")
    gone = server.ask("POST", f"/sessions/{session}/snapshots", {})
    assert (gone.status, gone.code) == (410, "session_closed")
    never = server.ask("POST", "/sessions/se_01M80J7V9Z7WCA235G7GJNP5HC/snapshots", {})
    assert (never.status, never.code) == (404, "session_not_found")


def test_pages_and_filters(server):
    one, other = server.create(name="one"), server.create()
    made = [snapshot(server, one if number % 2 else other, name=f"n{number % 3}") for number in range(6)]
    ids = [each["id"] for each in reversed(made)]
    assert [each["id"] for each in listed(server)] == ids
    page = server.ask("GET", "/snapshots?limit=4").json
    assert [each["id"] for each in page["snapshots"]] == ids[:4] and page["next"] == ids[3]
    rest = server.ask("GET", f"/snapshots?limit=4&before={page['next']}").json
    assert [each["id"] for each in rest["snapshots"]] == ids[4:]
    for named in (one, "one"):
        assert [each["id"] for each in listed(server, f"?session={named}")] == ids[::2]
    assert [each["name"] for each in listed(server, "?name=n1")] == ["n1", "n1"]
    assert listed(server, "?name=none") == []
    assert server.ask("GET", "/snapshots?session=se_01M80J7V9Z7WCA235G7GJNP5HC").status == 404


@pytest.mark.parametrize("body", [{"name": ""}, {"name": "a" * 129}, {"name": 5}, {"name": "a\nb"}, {"name": "a\0"}, {"memory": True}, []])
def test_invalid_requests(server, body):
    session = server.create()
    answer = server.ask("POST", f"/sessions/{session}/snapshots", body)
    assert (answer.status, answer.code) == (400, "invalid"), answer
    assert listed(server) == []
    assert snapshot(server, session, name="a" * 128)["name"] == "a" * 128


@pytest.mark.parametrize("given, status", [("", 400), ("x", 404), ("se_01M80J7V9Z7WCA235G7GJNP5HC", 404), ("a" * 500, 400), ("../..", 404), (5, 400), (["a"], 400)])
def test_unknown_snapshots(server, given, status):
    answer = server.ask("POST", "/sessions", {"snapshot": given})
    assert answer.status == status, answer
    assert server.ask("GET", "/sessions?status=live").json["sessions"] == []


def test_at_most_a_hundred(server):
    session = server.create()
    for _ in range(100):
        made = snapshot(server, session)
    answer = server.ask("POST", f"/sessions/{session}/snapshots", {})
    assert (answer.status, answer.code) == (413, "limit"), answer
    server.ask("DELETE", f"/snapshots/{made['id']}")
    assert snapshot(server, session)
    assert len(listed(server)) == 100


def test_other_tenants_have_no_access(server):
    session = server.create()
    run(server, session, "open('a', 'w').write('mine')")
    made = snapshot(server, session, name="mine")
    other = bearer(server.newcomer("other")[1])
    assert listed(server, headers=other) == [] and listed(server, "?name=mine", headers=other) == []
    for method, path, body in (("GET", f"/snapshots/{made['id']}", None), ("DELETE", f"/snapshots/{made['id']}", None),
                               ("POST", "/sessions", {"snapshot": made["id"]}), ("POST", f"/sessions/{session}/snapshots", {}),
                               ("GET", f"/snapshots?session={session}", None)):
        assert server.ask(method, path, body, other).status == 404, path
    assert listed(server) == [made]


def test_a_token_is_for_its_session(server):
    session, other = server.create(), server.create()
    token = {"Authorization": f"Bearer {server.ask('GET', f'/sessions/{session}/token').json['token']}"}
    made = snapshot(server, session, token)
    assert listed(server, f"?session={session}", token) == [made]
    for method, path, body in (("POST", f"/sessions/{other}/snapshots", {}), ("GET", "/snapshots", None),
                               ("GET", f"/snapshots/{made['id']}", None), ("DELETE", f"/snapshots/{made['id']}", None)):
        answer = server.ask(method, path, body, token)
        assert (answer.status, answer.code) == (403, "token_elsewhere"), (path, answer)


def test_snapshots_count_in_the_tenants_quota(server):
    tenant, key = server.newcomer("small", disk_bytes=3_000_000)
    key = bearer(key)
    session = server.ask("POST", "/sessions", {"template": "python"}, key).json["id"]

    def write(name, size):
        """Write a file in the background after an execution, so that only the workspace contains
        it."""
        server.execute(session, f"""
import os, threading
def later():
    time.sleep(0.3)
    open('{name}.part', 'wb').write(os.urandom({size}))
    os.rename('{name}.part', '{name}')
import time
threading.Thread(target=later).start()
""", key)
        eventually(lambda: server.ask("GET", f"/sessions/{session}/files/{name}", headers=key).status != 404,
                   "it does not come")

    write("a", 1 << 20)
    before = disk_bytes(server, tenant)
    made = snapshot(server, session, key)
    after = disk_bytes(server, tenant)
    assert 1 << 20 <= after - before < (1 << 20) + 2000
    again = snapshot(server, session, key)
    assert 0 < disk_bytes(server, tenant) - after < 2000  # the same content counts once
    assert server.ask("DELETE", f"/snapshots/{again['id']}", headers=key).status == 200
    assert disk_bytes(server, tenant) == after
    write("b", 1_200_000)
    full = server.ask("POST", f"/sessions/{session}/snapshots", {}, key)
    assert (full.status, full.code) == (413, "quota_exceeded"), full
    assert full.json["error"]["quota"]["name"] == "disk_bytes"
    assert listed(server, headers=key) == [made]
    assert server.ask("DELETE", f"/sessions/{session}", headers=key).status == 200
    used = disk_bytes(server, tenant)
    assert used >= 1 << 20
    server.stop(signal.SIGKILL)
    server.start()
    assert disk_bytes(server, tenant) == used


def test_the_collector_keeps_content_of_snapshots(reckon):
    """The content is in the store's first directory, which the collector visits first."""
    number = 0
    while not hashlib.sha256(str(number).encode()).hexdigest().startswith("00"):
        number += 1
    with Server(reckon, "--store-keep", "1") as server:
        key, session = server.key, server.create()
        assert server.ask("PUT", f"/sessions/{session}/files/a", str(number).encode()).status == 200
        made = snapshot(server, session)
        server.ask("DELETE", f"/sessions/{session}/files/a")
        server.ask("DELETE", f"/sessions/{session}")
    # The history that names the content expires, too.
    with Server(reckon, "--session-keep", "1", key=key) as server:
        eventually(lambda: server.ask("GET", f"/sessions/{session}").json["error"]["code"] == "expired",
                   "its history stays")
    path = next(pathlib.Path(reckon.state).glob("artifacts/00/*"))
    for stays in (True, False):
        os.utime(path, (1, 1))
        with Server(reckon, "--store-keep", "1", key=key) as server:
            deadline = time.monotonic() + 60 * PATIENCE
            if stays:
                time.sleep(3)
                fresh = begin(server, made)["id"]
                assert server.ask("GET", f"/sessions/{fresh}/files/a").body == str(number).encode()
                assert server.ask("DELETE", f"/sessions/{fresh}").status == 200
                assert server.ask("DELETE", f"/snapshots/{made['id']}").status == 200
            while path.exists() and not stays:
                assert time.monotonic() < deadline, "it stays in the store"
                time.sleep(0.1)


def test_missing_content_gives_no_session(server):
    session = server.create()
    run(server, session, "open('a', 'w').write('first')\nopen('b', 'w').write('second')")
    made = snapshot(server, session)
    server.ask("DELETE", f"/sessions/{session}")
    store = pathlib.Path(server.reckon.state, "artifacts")
    victim, = [path for path in store.glob("??/*") if path.read_bytes() == b"second"]
    content = victim.read_bytes()
    victim.unlink()
    answer = server.ask("POST", "/sessions", {"snapshot": made["id"]})
    assert (answer.status, answer.code) == (503, "unavailable"), answer
    assert "b" in answer.json["error"]["message"]
    assert server.ask("GET", "/sessions?status=live").json["sessions"] == []
    owner = store.stat()
    victim.write_bytes(content)
    os.chown(victim, owner.st_uid, owner.st_gid)
    assert run(server, begin(server, made)["id"], "print(open('b').read())") == "second\n"


def test_a_smaller_disk_has_no_room_for_the_snapshot(server):
    session = server.create()
    run(server, session, "import os; open('a', 'wb').write(os.urandom(8 << 20))")
    made = snapshot(server, session)
    answer = server.ask("POST", "/sessions", {"snapshot": made["id"], "limits": {"disk_bytes": 1 << 20}})
    assert (answer.status, answer.code) == (413, "limit"), answer
    assert "a does not fit" in answer.json["error"]["message"]
    assert server.ask("GET", "/sessions?status=live").json["sessions"][0]["id"] == session


def test_a_backup_contains_snapshots(reckon):
    with Server(reckon) as server:
        session = server.create()
        assert server.ask("PUT", f"/sessions/{session}/files/a", b"in a snapshot").status == 200
        snapshot(server, session)
        server.ask("DELETE", f"/sessions/{session}")
        target = reckon.work / "backup"
        assert reckon("backup", "--state", reckon.state, target).status == 0
    name = hashlib.sha256(b"in a snapshot").hexdigest()
    assert (target / "objects" / name[:2] / name).read_bytes() == b"in a snapshot"


def test_deleting_a_tenant_removes_its_snapshots(server):
    tenant, key = server.newcomer("leaves")
    key = bearer(key)
    session = server.ask("POST", "/sessions", {"template": "python"}, key).json["id"]
    made = snapshot(server, session, key)
    assert server.ask("DELETE", f"/tenants/{tenant}").status == 200
    assert server.ask("GET", f"/snapshots/{made['id']}", headers=key).status == 401
    server.stop()
    with contextlib.closing(sqlite3.connect(server.reckon.state / "reckond.db")) as database:
        for table in ("snapshot", "snapshot_file"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
