"""POST /reckon/v1/executions: code in a session of its own, which ends with it or stays."""
import concurrent.futures
import http.client
import json

import pytest
from reckon_cli import record_validator
from reckon_serve import PREFIX, SECONDS, Server
from waiting import eventually

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def once(server, code, **more):
    answer = server.ask("POST", "/executions", {"template": "python", "code": code, **more})
    assert answer.status == 200, answer
    record_validator().validate(answer.json)
    return answer.json


def sessions(server, status="live"):
    return [row for row in server.ask("GET", "/sessions").json["sessions"]
            if row["status"] == status]


def test_the_session_ends_with_the_execution(server):
    record = once(server, "open('/mnt/data/a.txt', 'w').write('kept')\nprint(6 * 7)\n2 ** 10")
    assert (record["status"], record["stdout"]) == ("ok", "42\n")
    assert record["results"][-1]["data"]["text/plain"] == "1024"
    session = record["session"]
    gone = server.ask("GET", f"/sessions/{session}")
    assert (gone.status, gone.code) == (410, "session_closed"), gone
    assert "ended" in gone.json["error"]["cause"]
    again = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
    assert (again.status, again.code) == (410, "session_closed")
    eventually(lambda: not sessions(server))
    # The file that it made and its history outlive the session.
    file = record["files"][0]
    assert server.ask("GET", f"/artifacts/{file['artifact']}").body == b"kept"
    rows = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
    assert [row["status"] for row in rows] == ["ok"]


def test_files_exist_before_the_code_runs(server):
    code = "import os\nprint(open('a/b.txt').read(), list(open('c.bin', 'rb').read()), open('d').read())"
    stored = server.ask("POST", "/files?name=x.txt", b"kept")
    assert stored.status == 201, stored
    files = [{"path": "a/b.txt", "text": "hello"}, {"path": "c.bin", "base64": "AP8="},
             {"path": "d", "file": stored.json["id"]}]
    for more in ({}, {"keep": True}, {"stream": True}, {"Idempotency": "k"}):
        headers = {"Idempotency-Key": "k"} if more.pop("Idempotency", None) else {}
        answer = server.ask("POST", "/executions", {
            "template": "python", "code": code, "files": files, **more}, headers=headers)
        assert answer.status == 200 and b"hello [0, 255] kept" in answer.body, answer
    bad = [({"path": "../x", "text": ""}, "leads out"), ({"path": "/etc/x", "text": ""}, "leads out"),
           ({"path": "x"}, "neither text"), ({"path": "x", "text": "", "base64": ""}, ""),
           ({"path": "x", "file": "file_nope"}, "")]
    for file, why in bad:
        refused = server.ask("POST", "/executions", {"code": "1", "files": [file]})
        assert refused.status in (400, 404) and why in refused.json["error"]["message"], refused
    # Files that do not fit into the workspace give an error, and no session is left over.
    refused = server.ask("POST", "/executions", {
        "template": "python", "code": "1", "limits": {"disk_bytes": 1 << 20},
        "files": [{"path": "big", "text": "x" * (2 << 20)}]})
    assert (refused.status, refused.code) == (413, "limit"), refused
    eventually(lambda: len(sessions(server)) == 1)  # the session with keep


def test_each_execution_has_a_session_of_its_own(server):
    def run(i):
        return once(server, f"import os\nassert not os.listdir('/mnt/data')\n"
                            f"open('/mnt/data/x', 'w').write('x')\nprint({i})")["stdout"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(24))) == [f"{i}\n" for i in range(24)]
    eventually(lambda: not sessions(server))
    assert len(sessions(server, "closed")) == 24


@as_root
def test_members_of_a_session_apply(server):
    assert once(server, "echo $WORD-$((6 * 7))", language="bash",
                env={"WORD": "sand"})["stdout"] == "sand-42\n"
    record = once(server, "b = bytearray(200 << 20)", limits={"memory_bytes": 100 << 20})
    assert record["error"]["name"] == "MemoryError", record["error"]
    record = once(server, "while True: pass", timeout_s=0.3)
    assert record["status"] == "timeout"
    assert len(once(server, "print('x' * 100000)", max_text=1024)["text"]) <= 1024
    session = once(server, "1", metadata={"a": "b"})["session"]
    row = next(row for row in sessions(server, "closed") if row["id"] == session)
    assert row["metadata"] == {"a": "b"}
    eventually(lambda: not sessions(server))


@as_root
def test_errors_and_kernel_deaths_are_records(server):
    assert once(server, "1 / 0")["error"]["name"] == "ZeroDivisionError"
    assert once(server, "import os; os.kill(os.getpid(), 9)")["status"] == "kernel_died"
    eventually(lambda: not sessions(server))


@as_root
@pytest.mark.parametrize("body, word", [
    ({}, "code"), ({"code": 1}, "code"), ({"code": "1", "context": "ctx_1"}, "context"),
    ({"code": "1", "background": True}, "background"), ({"code": "1", "on_disconnect": "cancel"}, "on_disconnect"),
    ({"code": "1", "name": "mine"}, "name"), ({"code": "1", "idle_timeout_s": 5}, "idle_timeout_s"),
    ({"code": "1", "limits": {"wings": 2}}, "wings"), ({"code": "1", "env": []}, "env"),
])
def test_invalid_members_are_named(server, body, word):
    answer = server.ask("POST", "/executions", body)
    assert (answer.status, answer.code) == (400, "invalid")
    assert word in answer.json["error"]["message"]


@as_root
def test_a_failed_start_leaves_no_session(server):
    answer = server.ask("POST", "/executions", {"code": "1", "template": "no-such"})
    assert (answer.status, answer.code) == (404, "not_found"), answer
    answer = server.ask("POST", "/executions", {"code": "1", "template": "python",
                                                "language": "cobol"})
    assert answer.status == 400, answer
    assert not server.ask("GET", "/sessions").json["sessions"]


@as_root
@pytest.mark.parametrize("name, most, status", [("sessions", 1, 429), ("executions", 1, 429),
                                                ("max_wall_s", 5, 403)])
def test_quotas_limit_executions(server, name, most, status):
    tenant = server.ask("POST", "/tenants", {"name": "t", "quotas": {name: most}}).json["id"]
    key = server.ask("POST", "/keys", {"tenant": tenant, "name": "k",
                                       "scopes": ["sessions", "execute"]}).json["key"]
    whole, server.key = server.key, key
    try:
        session = server.create(limits={"wall_s": 4})
        server.background(session, "import time; time.sleep(60)", timeout_s=4)
        answer = server.ask("POST", "/executions",
                            {"code": "1", "template": "python", "timeout_s": 9})
    finally:
        server.key = whole
    assert (answer.status, answer.code) == (status, "quota_exceeded"), answer
    assert answer.json["error"]["quota"]["name"] == name, answer


@as_root
@pytest.mark.parametrize("quotas", [{"sessions": 1}, {"memory_bytes": 100 << 20}], ids=str)
def test_sequential_requests_do_not_exceed_their_own_quota(server, quotas):
    """The box of the previous request may still be closing when the client sends the next one."""
    tenant = server.ask("POST", "/tenants", {"name": "t", "quotas": quotas}).json["id"]
    whole = server.key
    server.key = server.ask("POST", "/keys", {"tenant": tenant, "name": "k",
                                              "scopes": ["sessions", "execute"]}).json["key"]
    try:
        for i in range(60):
            assert once(server, f"print({i})", limits={"memory_bytes": 100 << 20})["stdout"]
        # A session that is kept counts in the quota.
        once(server, "1", keep=True, limits={"memory_bytes": 100 << 20})
        eventually(lambda: server.ask("POST", "/executions", {
            "template": "python", "code": "1",
            "limits": {"memory_bytes": 100 << 20}}).code == "quota_exceeded")
    finally:
        server.key = whole


@as_root
def test_concurrent_requests_do_not_exceed_a_quota(server):
    tenant = server.ask("POST", "/tenants", {"name": "t", "quotas": {"executions": 1}}).json["id"]
    key = server.ask("POST", "/keys", {"tenant": tenant, "name": "k",
                                       "scopes": ["execute"]}).json["key"]

    def run(_):
        return server.ask("POST", "/executions", {
            "template": "python",
            "code": "import time; a = time.monotonic(); time.sleep(0.5)\n"
                    "print(a, time.monotonic())"})

    whole, server.key = server.key, key
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(run, range(16)))
    finally:
        server.key = whole
    ran = sorted(tuple(map(float, answer.json["stdout"].split())) for answer in answers
                 if answer.status == 200)
    assert ran and {answer.code for answer in answers if answer.status != 200} == {"quota_exceeded"}
    assert all(one[1] <= other[0] for one, other in zip(ran, ran[1:])), ran
    eventually(lambda: not sessions(server))


@as_root
def test_disconnect_interrupts_the_execution(server):
    connection = server.connect()
    connection.request("POST", f"{PREFIX}/executions", json.dumps(
        {"code": "import time; time.sleep(600)", "template": "python"}), server.headers())
    eventually(lambda: sessions(server))
    session = sessions(server)[0]["id"]
    eventually(lambda: server.ask("GET", f"/sessions/{session}/executions").json["executions"])
    connection.close()
    eventually(lambda: not sessions(server))
    rows = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
    assert [row["status"] for row in rows] == ["interrupted"], rows


@as_root
def test_a_crash_leaves_no_session_behind(reckon):
    with Server(reckon) as server:
        stays = server.create()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(server.ask, "POST", "/executions", {
                "code": "import time; time.sleep(600)", "template": "python"})
            eventually(lambda: len(sessions(server)) == 2)
            session, = {each["id"] for each in sessions(server)} - {stays}
            eventually(lambda: server.ask("GET", f"/sessions/{session}/executions")
                       .json["executions"][:1])
            server.process.kill()
            with pytest.raises((OSError, http.client.HTTPException)):
                pending.result(SECONDS)
        server.process.wait(SECONDS)
        server.start()
        eventually(lambda: [each["id"] for each in sessions(server)] == [stays])
        ended = server.ask("GET", f"/sessions/{session}")
        assert ended.status == 410 and ended.code == "session_closed"
        assert server.execute(stays, "print(1)")["stdout"] == "1\n"


@as_root
def test_a_stop_leaves_no_session_behind(reckon):
    with Server(reckon) as server:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(server.ask, "POST", "/executions", {
                "code": "import time; time.sleep(600)", "template": "python"})
            eventually(lambda: sessions(server))
            session = sessions(server)[0]["id"]
            eventually(lambda: server.ask("GET", f"/sessions/{session}/executions")
                       .json["executions"][:1])
            server.process.terminate()
            assert pending.result(SECONDS).json["status"] == "interrupted"
        server.process.wait(SECONDS)
        server.start()
        assert not sessions(server)
        rows = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
        assert [row["status"] for row in rows] == ["interrupted"]


# ---- sessions that are kept ----------------------------------------------------------------------

def test_keep_makes_a_session_that_stays(server):
    before = server.create()
    record = once(server, "x = 6\nopen('a.txt', 'w').write('kept')", keep=True, name="mine",
                  idle_timeout_s=600, metadata={"a": "b"}, env={"WORD": "sand"})
    session = record["session"]
    assert record["status"] == "ok" and record["sequence"] == 1
    row = server.ask("GET", f"/sessions/{session}").json
    assert (row["status"], row["name"], row["metadata"], row["idle_timeout_s"]) == (
        "live", "mine", {"a": "b"}, 600)
    again = server.execute(session, "import os\nprint(x * 7, os.environ['WORD'])")
    assert (again["stdout"], again["sequence"]) == ("42 sand\n", 2)
    assert server.ask("GET", f"/sessions/{session}/files/a.txt").body == b"kept"
    # Without keep the session ends, whatever others do.
    once(server, "1", keep=False)
    eventually(lambda: {row["id"] for row in sessions(server)} == {before, session})
    taken = server.ask("POST", "/executions",
                       {"template": "python", "code": "1", "keep": True, "name": "mine"})
    assert (taken.status, taken.code) == (409, "session_exists")
    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    assert server.ask("GET", f"/sessions/{session}").code == "session_closed"


@as_root
def test_keep_applies_whatever_the_first_cell_does(server):
    failed = once(server, "x = 1\n1 / 0", keep=True)
    assert failed["error"]["name"] == "ZeroDivisionError"
    assert server.execute(failed["session"], "print(x)")["stdout"] == "1\n"
    slow = once(server, "x = 2\nimport time; time.sleep(600)", keep=True, timeout_s=0.3)
    assert slow["status"] == "timeout"
    assert server.execute(slow["session"], "print(x)")["stdout"] == "2\n"
    died = once(server, "import os; os.kill(os.getpid(), 9)", keep=True)
    assert died["status"] == "kernel_died"
    after = server.execute(died["session"], "print(3)")
    assert after["stdout"] == "3\n"
    assert "kernel_lost" in {note["code"] for note in after["diagnostics"]}
    assert len(sessions(server)) == 3


@as_root
def test_keep_needs_the_scope_sessions(server):
    key = server.ask("POST", "/keys", {"name": "k", "scopes": ["execute"]}).json["key"]
    whole, server.key = server.key, key
    try:
        refused = server.ask("POST", "/executions",
                             {"template": "python", "code": "1", "keep": True})
        once(server, "1")
    finally:
        server.key = whole
    assert (refused.status, refused.code) == (403, "scope_missing"), refused
    assert refused.json["error"]["scope"] == "sessions"
    eventually(lambda: not sessions(server))


def first_cell(server, pool, code="import time; time.sleep(600)"):
    """Start a session with keep and wait until its first cell runs: (its id, future of the
    response)."""
    pending = pool.submit(server.ask, "POST", "/executions", {
        "code": "open('a.txt', 'w').write('kept')\n" + code, "template": "python", "keep": True})
    eventually(lambda: sessions(server))
    session = sessions(server)[0]["id"]
    eventually(lambda: server.ask("GET", f"/sessions/{session}/executions").json["executions"])
    return session, pending


@as_root
def test_after_a_crash_only_answered_sessions_exist(reckon):
    with Server(reckon) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        session, pending = first_cell(server, pool)
        server.process.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            pending.result(SECONDS)
        server.process.wait(SECONDS)
        server.start()
        eventually(lambda: not sessions(server))
        assert server.ask("GET", f"/sessions/{session}").code == "session_closed"
        stays = once(server, "open('a.txt', 'w').write('kept')", keep=True)["session"]
        server.process.kill()
        server.process.wait(SECONDS)
        server.start()
        assert server.execute(stays, "print(open('a.txt').read())")["stdout"] == "kept\n"
        assert [row["id"] for row in sessions(server)] == [stays]


@as_root
def test_a_stop_during_the_first_cell_keeps_the_session(reckon):
    with Server(reckon) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        session, pending = first_cell(server, pool)
        server.process.terminate()
        record = pending.result(SECONDS).json
        assert (record["status"], record["session"]) == ("interrupted", session)
        server.process.wait(SECONDS)
        server.start()
        assert server.execute(session, "print(open('a.txt').read())")["stdout"] == "kept\n"


@as_root
def test_disconnect_during_the_first_cell_ends_the_session(server):
    connection = server.connect()
    connection.request("POST", f"{PREFIX}/executions", json.dumps(
        {"code": "import time; time.sleep(600)", "template": "python", "keep": True}),
        server.headers())
    eventually(lambda: sessions(server))
    connection.close()
    eventually(lambda: not sessions(server))


@as_root
def test_cancelling_the_first_cell_keeps_the_session(server):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        session, pending = first_cell(server, pool)
        execution = server.ask("GET", f"/sessions/{session}/executions").json["executions"][0]
        server.ask("POST", f"/sessions/{session}/executions/{execution['id']}/cancel")
        assert pending.result(SECONDS).json["status"] == "interrupted"
    assert server.execute(session, "print(1)")["stdout"] == "1\n"
