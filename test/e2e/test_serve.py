"""`reckon serve`: sessions over HTTP, their life, their queue, their files and their end."""

import hashlib
import json
import os
import signal
import threading
import time

import pytest
from reckon_serve import SECONDS, Server, memory_kib, wait_gone

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


# ---- life ---------------------------------------------------------------------------------------

def test_life_of_a_session(server):
    answer = server.ask("POST", "/sessions", {
        "template": "python", "language": "python", "limits": {"wall_s": 20, "processes": 64},
        "env": {"COLOUR": "blue"}, "metadata": {"who": ["me", 1]}, "idle_timeout_s": 600})
    assert answer.status == 201
    made = answer.json
    session = made["id"]
    assert made["status"] == "live" and made["template"] == "python"
    assert made["limits"] == {"wall_s": 20, "processes": 64}
    assert made["metadata"] == {"who": ["me", 1]} and made["idle_timeout_s"] == 600

    record = server.execute(session, "import os\nx = 6\nos.environ['COLOUR']")
    assert record["status"] == "ok" and record["session"] == session
    assert record["results"][0]["data"]["text/plain"] == "'blue'"
    assert record["receipt"]["limits"]["wall_s"] == 20
    record = server.execute(session, "print(x * 7)")
    assert (record["stdout"], record["sequence"]) == ("42\n", 2)
    assert server.execute(session, "1/0")["error"]["name"] == "ZeroDivisionError"

    assert server.ask("GET", f"/sessions/{session}").json["pending"] == 0
    changed = server.ask("PATCH", f"/sessions/{session}",
                         {"metadata": {}, "idle_timeout_s": 5.5}).json
    assert (changed["metadata"], changed["idle_timeout_s"]) == ({}, 5.5)
    assert [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]] == [session]

    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    gone = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
    assert (gone.status, gone.code) == (410, "session_closed")
    assert server.ask("GET", "/sessions").json["sessions"][0]["status"] == "closed"


def test_unknown_ids_of_sessions(server):
    for method, path, body in [("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None),
                               ("POST", "/executions", {"code": "1"}), ("GET", "/executions", None),
                               ("GET", "/variables", None), ("GET", "/files", None),
                               ("POST", "/interrupt", None), ("GET", "/files/a", None),
                               ("DELETE", "/files/a", None), ("PUT", "/files/a", "x"),
                               ("POST", "/complete", {"code": "a"}),
                               ("GET", "/executions/ex_1", None),
                               ("GET", "/executions/ex_1/events", None)]:
        for name in ("se_01M80J7V9Z7WCA235G7GJNP5HC", "x", "a%2Fb", "-" * 500):
            answer = server.ask(method, f"/sessions/{name}{path}", body)
            assert (answer.status, answer.code) == (404, "session_not_found"), (method, path)


def test_bash(server):
    session = server.create(language="bash")
    server.execute(session, "n=3")
    assert server.execute(session, "echo $((n * 2))")["stdout"] == "6\n"


def test_unknown_templates_and_languages_are_refused(server):
    answer = server.ask("POST", "/sessions", {"template": "no-such"})
    assert answer.status in (400, 404) and "no-such" in answer.json["error"]["message"]
    answer = server.ask("POST", "/sessions", {"template": "python", "language": "cobol"})
    assert answer.status in (400, 404) and "cobol" in answer.json["error"]["message"]
    assert server.ask("GET", "/sessions").json["sessions"] == []


@as_root
def test_idle_sessions_expire(reckon):
    with Server(reckon, "--idle-timeout", "1") as server:
        session = server.create()
        other = server.create(idle_timeout_s=600)
        deadline = time.monotonic() + SECONDS
        while (answer := server.ask("GET", f"/sessions/{session}")).status == 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert (answer.status, answer.code) == (410, "session_expired")
        assert server.execute(other, "1")["status"] == "ok"


def test_a_dead_kernel_is_reported(server):
    """The session stays, with its files; the next cell runs in a fresh kernel, and says so."""
    session = server.create()
    server.execute(session, "x = 1; open('kept', 'w').write('k')")
    record = server.execute(session, "import os\nos.kill(os.getpid(), 9)")
    assert record["status"] == "kernel_died"
    answer = server.ask("GET", f"/sessions/{session}/variables")
    assert (answer.status, answer.code) == (409, "kernel_lost")
    assert "variables" in answer.json["error"]["message"] and answer.json["error"]["remedy"]
    fresh = server.execute(session, "print(open('kept').read())")
    assert fresh["stdout"] == "k\n"
    lost, = [note for note in fresh["diagnostics"] if note["code"] == "kernel_lost"]
    assert lost["detail"]["variables"] == ["x"] and "signal 9" in lost["message"]
    assert server.ask("GET", f"/sessions/{session}/executions/{record['id']}").json == record


@as_root
def test_max_sessions_limits_live_sessions(reckon):
    with Server(reckon, "--max-sessions", "1") as server:
        first = server.create()
        answer = server.ask("POST", "/sessions", {"template": "python"})
        assert (answer.status, answer.code) == (429, "busy")
        assert int(answer.headers["Retry-After"]) > 0
        server.ask("DELETE", f"/sessions/{first}")
        server.create()


# ---- executions ---------------------------------------------------------------------------------

def test_requests_of_one_session_run_in_order(server):
    session = server.create()
    server.execute(session, "seen = []")
    ids = [server.background(session, f"import time; time.sleep(0.05); seen.append({n})")
           for n in range(5)]
    assert server.execute(session, "print(seen)")["stdout"] == "[0, 1, 2, 3, 4]\n"
    assert [server.poll(session, each)["sequence"] for each in ids] == [2, 3, 4, 5, 6]
    listed = server.ask("GET", f"/sessions/{session}/executions?limit=3").json
    assert [each["sequence"] for each in listed["executions"]] == [7, 6, 5]
    listed = server.ask("GET", f"/sessions/{session}/executions?before={listed['next']}").json
    assert [each["sequence"] for each in listed["executions"]] == [4, 3, 2, 1]


def test_sessions_do_not_wait_for_each_other(server):
    slow, fast = server.create(), server.create()
    running = server.background(slow, "while True: pass")
    assert server.execute(fast, "1")["status"] == "ok"
    assert server.ask("GET", f"/sessions/{slow}/executions/{running}").json["status"] == "running"
    server.ask("POST", f"/sessions/{slow}/interrupt")
    assert server.poll(slow, running)["status"] == "interrupted"


def test_a_full_queue_answers_with_retry_after(server):
    session = server.create()
    running = server.background(session, "while True: pass", timeout_s=60)
    queued = []
    while True:
        answer = server.ask("POST", f"/sessions/{session}/executions",
                            {"code": "1", "background": True})
        if answer.status != 202:
            break
        assert len(queued) < 100
        queued.append(answer.json["id"])
    assert (answer.status, answer.code) == (429, "busy")
    assert int(answer.headers["Retry-After"]) > 0
    server.ask("POST", f"/sessions/{session}/interrupt")
    assert server.poll(session, running)["status"] == "interrupted"
    assert {server.poll(session, each)["status"] for each in queued} == {"ok"}


def test_interrupt_keeps_the_variables(server):
    session = server.create()
    assert server.ask("POST", f"/sessions/{session}/interrupt").json == {"interrupted": False}
    server.execute(session, "kept = 5")
    # Immediately, so that the interrupt may arrive just before the code starts.
    for _ in range(3):
        running = server.background(session, "while True: pass", timeout_s=60)
        assert server.ask("POST", f"/sessions/{session}/interrupt", "{}").status == 200
        assert server.poll(session, running)["status"] == "interrupted"
    assert server.execute(session, "print(kept)")["stdout"] == "5\n"


def test_a_time_limit_of_one_execution(server):
    session = server.create()
    record = server.execute(session, "n = 1\nwhile True: pass", timeout_s=0.3)
    assert record["status"] == "timeout"
    assert server.execute(session, "print(n)")["stdout"] == "1\n"


def test_text_for_a_small_window(server):
    session = server.create()
    record = server.execute(session, "print('line\\n' * 5000)", max_text=1024)
    assert len(record["text"].encode()) <= 1024 < len(record["stdout"])
    answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "", "max_text": 9})
    assert (answer.status, answer.code) == (400, "invalid")


def test_delete_ends_what_runs(server):
    session = server.create()
    running = server.background(session, "while True: pass", timeout_s=60)
    waiting = server.background(session, "1")
    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    assert server.poll(session, running)["status"] == "interrupted"
    assert server.poll(session, waiting)["status"] == "failed"


def test_idempotency(server):
    session = server.create()
    server.execute(session, "n = 0")
    headers = {"Idempotency-Key": "first"}
    records = [server.execute(session, "n += 1", headers) for _ in range(3)]
    assert len({record["id"] for record in records}) == 1
    # Also while the execution runs, in the background, blocking and as a stream.
    path, body = f"/sessions/{session}/executions", {"code": "import time; time.sleep(.5); n += 1"}
    again = {"Idempotency-Key": "second"}
    first = server.ask("POST", path, {**body, "background": True}, again).json["id"]
    assert server.execute(session, body["code"], again)["id"] == first
    with server.events("POST", path, {**body, "stream": True}, again) as (events, _):
        assert [data for _, name, data in events if name == "done"][0]["record"]["id"] == first
    assert server.execute(session, "print(n)")["stdout"] == "2\n"
    answer = server.ask("POST", path, {"code": "n += 2"}, headers)
    assert (answer.status, answer.code) == (409, "idempotency_conflict")
    other = server.create()
    assert server.execute(other, "n = 1", headers)["id"] != records[0]["id"]


def test_variables_and_completion(server):
    session = server.create()
    server.execute(session, "alpha = [1, 2]\nalphabet = 'x'")
    variables = server.ask("GET", f"/sessions/{session}/variables").json["variables"]
    assert {"alpha", "alphabet"} <= {each["name"] for each in variables}
    answer = server.ask("POST", f"/sessions/{session}/complete", {"code": "alph"}).json
    assert {"alpha", "alphabet"} <= set(answer["matches"])
    answer = server.ask("POST", f"/sessions/{session}/complete", {"code": "alph", "cursor": 9})
    assert (answer.status, answer.code) == (400, "invalid")


# ---- events -------------------------------------------------------------------------------------

CELL = "import time\nfor i in range(6): print(i, flush=True); time.sleep(0.1)\n'end'"


def test_events_arrive_while_the_code_runs(server):
    session = server.create()
    with server.events("POST", f"/sessions/{session}/executions",
                       {"code": CELL, "stream": True}) as (events, response):
        assert response.headers["Reckon-Execution"].startswith("ex_")
        first = next(events)
        assert (first[1], first[2]["text"]) == ("stream", "0\n")
        path = response.headers["Location"].removeprefix("/reckon/v1")
        assert server.ask("GET", path).json["status"] == "running"
        rest = list(events)
    everything = [first, *rest]
    assert [number for number, _, _ in everything] == list(range(1, len(everything) + 1))
    assert "".join(data["text"] for _, name, data in everything if name == "stream") == \
        "0\n1\n2\n3\n4\n5\n"
    assert [name for _, name, _ in everything][-2:] == ["execute_result", "done"]
    assert everything[-1][2]["record"] == server.ask("GET", path).json


def test_events_can_be_read_again_after_an_id(server):
    session = server.create()
    execution = server.background(session, CELL)
    path = f"/sessions/{session}/executions/{execution}/events"
    with server.events("GET", path) as (events, _):
        everything = list(events)
    assert everything[-1][1] == "done"
    with server.events("GET", path, headers={"Last-Event-ID": "3"}) as (events, _):
        assert list(events) == everything[3:]
    with server.events("GET", path + f"?after={len(everything)}") as (events, _):
        assert not list(events)
    # Events of older executions are dropped, but `done` is made from the record.
    for _ in range(6):
        server.execute(session, "1")
    with server.events("GET", path + "?after=2") as (events, _):
        (_, name, data), = events
    assert name == "done" and data["record"] == everything[-1][2]["record"]


def test_a_stream_that_loses_its_client_does_not_stop_the_cell(server):
    session = server.create()
    with server.events("POST", f"/sessions/{session}/executions",
                       {"code": CELL, "stream": True}) as (events, response):
        next(events)
        execution = response.headers["Reckon-Execution"]
    assert server.poll(session, execution)["stdout"] == "0\n1\n2\n3\n4\n5\n"


def test_missing_events_are_counted_in_gaps(server):
    session = server.create()
    code = "for i in range(12000): print(i, flush=True); print(i, end='', file=__import__('sys')" \
           ".stderr, flush=True)"
    execution = server.background(session, code, timeout_s=60)
    server.poll(session, execution)
    path = f"/sessions/{session}/executions/{execution}/events"
    with server.events("GET", path) as (events, _):
        got = list(events)
    assert got[-1][1] == "done"
    ids = [number for number, name, _ in got if name != "gap"]
    missing = sum(data["missing"] for _, name, data in got if name == "gap")
    assert ids == sorted(set(ids)) and len(ids) + missing == ids[-1]
    # The buffer has 4096 events.
    assert (missing > 0) == (ids[-1] > 4096)


# ---- files --------------------------------------------------------------------------------------

def test_files(server):
    session = server.create()
    path = f"/sessions/{session}/files"
    content = os.urandom(300_000)
    assert server.ask("PUT", f"{path}/in/a%20b.bin", content).status == 200
    assert server.ask("PUT", f"{path}/empty", b"").status == 200
    record = server.execute(session, "import hashlib; d = open('in/a b.bin', 'rb').read()\n"
                                     "hashlib.sha256(d).hexdigest()")
    assert record["results"][0]["data"]["text/plain"] == f"'{hashlib.sha256(content).hexdigest()}'"
    assert record["files"] == []
    listed = server.ask("GET", path).json["files"]
    assert {each["path"]: each["size"] for each in listed} == {"in/a b.bin": 300_000, "empty": 0}
    got = server.ask("GET", f"{path}/in/a%20b.bin")
    assert got.body == content and got.headers["Content-Disposition"] == \
        "attachment; filename=\"a b.bin\"; filename*=UTF-8''a%20b.bin"
    part = server.ask("GET", f"{path}/in/a%20b.bin", headers={"Range": "bytes=1000-1999"})
    assert (part.status, part.body) == (206, content[1000:2000])
    assert part.headers["Content-Range"] == "bytes 1000-1999/300000"
    assert server.ask("GET", f"{path}/in/a%20b.bin",
                      headers={"Range": "bytes=-10"}).body == content[-10:]
    assert server.ask("GET", f"{path}/empty", headers={"Range": "bytes=5-"}).status == 416
    assert server.ask("DELETE", f"{path}/in/a%20b.bin").status == 200
    assert server.ask("GET", f"{path}/in/a%20b.bin").code == "not_found"
    assert server.ask("DELETE", f"{path}/in/a%20b.bin").code == "not_found"


def test_chunked_upload(server):
    session = server.create()
    connection = server.connect()
    connection.request("PUT", f"/reckon/v1/sessions/{session}/files/c", iter([b"ab", b"cd" * 9]),
                       server.headers(), encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()
    assert server.execute(session, "print(open('c').read())")["stdout"] == "ab" + "cd" * 9 + "\n"


@pytest.mark.parametrize("path", ["../a", "a/../../b", "/etc/passwd", "a//b", "%2e%2e/a", "a%00b",
                                  "a%0ab", ".", "%ff", "a/"])
def test_invalid_paths_of_files(server, path):
    session = server.create()
    for method, body in (("GET", None), ("PUT", b"x"), ("DELETE", None)):
        answer = server.ask(method, f"/sessions/{session}/files/{path}", body)
        assert answer.status == 400, (method, answer)
        assert answer.code == "invalid"


def test_links_are_not_followed(server):
    session = server.create()
    server.execute(session, "import os; os.symlink('/etc/passwd', 'l'); os.symlink('/etc', 'd')")
    path = f"/sessions/{session}/files"
    for name in ("l", "d/passwd"):
        assert server.ask("GET", f"{path}/{name}").status in (403, 404)
        assert server.ask("PUT", f"{path}/{name}", b"x").status in (403, 404)
    assert server.ask("GET", path).json["files"] == []
    assert server.ask("DELETE", f"{path}/l").status == 200


def test_an_incomplete_upload_leaves_no_file(server):
    session = server.create()
    connection = server.connect()
    connection.putrequest("PUT", f"/reckon/v1/sessions/{session}/files/half")
    for name, value in server.headers({"Content-Length": "100000"}).items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(b"x" * 50_000)
    connection.close()
    time.sleep(0.2)
    assert server.ask("GET", f"/sessions/{session}/files").json["files"] == []
    assert server.execute(session, "import os; print(os.listdir())")["stdout"] == "[]\n"


def test_an_upload_larger_than_the_workspace_is_refused(server):
    session = server.create(limits={"disk_bytes": 1 << 20})
    path = f"/sessions/{session}/files/big"
    answer = server.ask("PUT", path, b"x" * (1 << 21))
    assert (answer.status, answer.code) == (413, "limit")
    assert server.ask("PUT", path, b"x" * 1000).status == 200


@as_root
def test_a_large_upload_takes_no_memory(server):
    size, piece = 256 << 20, b"0123456789abcdef" * 65536
    session = server.create(limits={"disk_bytes": 1 << 30})
    pids = [server.process.pid, server.front()]
    before = [memory_kib(pid) for pid in pids]
    connection = server.connect()
    connection.putrequest("PUT", f"/reckon/v1/sessions/{session}/files/large")
    for name, value in server.headers({"Content-Length": str(size)}).items():
        connection.putheader(name, value)
    connection.endheaders()
    most = list(before)
    for _ in range(size // len(piece)):
        connection.send(piece)
        most = [max(a, memory_kib(pid)) for a, pid in zip(most, pids)]
    assert json.loads(connection.getresponse().read())["size"] == size
    connection.request("GET", f"/reckon/v1/sessions/{session}/files/large", None, server.headers())
    response = connection.getresponse()
    got = 0
    while part := response.read(1 << 20):
        got += len(part)
        most = [max(a, memory_kib(pid)) for a, pid in zip(most, pids)]
    connection.close()
    assert got == size
    for was, is_now in zip(before, most):
        assert is_now - was < 16 * 1024, (before, most)


def test_truncated_output_and_artifacts(server):
    session = server.create(limits={"output_bytes": 2048})
    record = server.execute(session, "print('0123456789' * 1000)\nopen('f.txt', 'w').write('kept')")
    handle = record["truncated"]["stdout"]["handle"]
    whole = server.ask("GET", f"/outputs/{handle}").body
    assert whole == b"0123456789" * 1000 + b"\n"
    assert server.ask("GET", f"/outputs/{handle}?offset=5000&length=20").body == whole[5000:5020]
    assert server.ask("GET", f"/outputs/{handle}?offset=99999").status == 416
    artifact = record["files"][0]["artifact"]
    server.ask("DELETE", f"/sessions/{session}")
    assert server.ask("GET", f"/artifacts/{artifact}").body == b"kept"
    assert server.ask("GET", "/artifacts/ar_" + "0" * 32).code == "not_found"
    assert server.ask("GET", "/artifacts/x").code == "not_found"


# ---- life of the daemon -------------------------------------------------------------------------

def test_killed_and_started_again(reckon):
    with Server(reckon) as server:
        session = server.create(metadata={"a": 1})
        record = server.execute(session, "x = 1\nprint('before')")
        closed = server.create()
        server.ask("DELETE", f"/sessions/{closed}")
        running = server.background(session, "while True: pass", timeout_s=100)
        headers = {"Idempotency-Key": "k"}
        waiting = threading.Thread(daemon=True, target=lambda: ask_quietly(server, session, headers))
        waiting.start()
        time.sleep(0.3)
        front = server.front()
        server.stop(signal.SIGKILL)
        waiting.join(SECONDS)
        wait_gone(front)

        server.start()
        assert not any("API key" in line for line in server.lines)
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"}, headers)
        assert answer.status == 200 and answer.json["status"] == "lost"
        assert server.ask("GET", f"/sessions/{closed}").code == "session_closed"
        path = f"/sessions/{session}/executions"
        assert server.ask("GET", f"{path}/{record['id']}").json == record
        lost = server.ask("GET", f"{path}/{running}").json
        assert lost["status"] == "lost" and "crash" in lost["why"]
        listed = server.ask("GET", path).json["executions"]
        assert [each["status"] for each in listed] == ["lost", "lost", "ok"]
        with server.events("GET", f"{path}/{running}/events") as (events, _):
            (_, name, data), = events
        assert name == "failed" and data["error"]["code"] == "execution_lost"
        assert server.execute(session, "1")["status"] == "ok"


def ask_quietly(server, session, headers):
    try:
        server.ask("POST", f"/sessions/{session}/executions", {"code": "1"}, headers)
    except (ConnectionError, OSError):
        pass


def test_a_graceful_stop_answers_with_the_record(reckon):
    with Server(reckon) as server:
        session = server.create()
        answers = []
        code = "import time\ntry:\n  while True: time.sleep(0.01)\nfinally: print('cleaned')"
        request_thread = threading.Thread(daemon=True, target=lambda: answers.append(
            server.ask("POST", f"/sessions/{session}/executions", {"code": code})))
        request_thread.start()
        while server.ask("GET", f"/sessions/{session}").json["pending"] == 0:
            time.sleep(0.01)
        time.sleep(0.3)
        assert server.stop() == 0
        request_thread.join(SECONDS)
        assert answers[0].status == 200 and answers[0].json["status"] == "interrupted"
        assert answers[0].json["stdout"] == "cleaned\n"
        server.start()
        assert server.ask("GET", f"/sessions/{session}").json["kernel"] == "lost"
        record = server.execute(session, "1")
        assert "the daemon was stopped at" in record["diagnostics"][0]["message"]


def test_a_front_that_dies_is_replaced(server):
    session = server.create()
    server.execute(session, "x = 7")
    front = server.front()
    os.kill(front, signal.SIGKILL)
    wait_gone(front)
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            assert server.ask("GET", "/health").status == 200
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert server.front() != front
    assert server.execute(session, "print(x)")["stdout"] == "7\n"
    assert "started again" in server.log()


def test_keys(reckon):
    with Server(reckon) as server:
        assert sum("API key" in line for line in server.lines) == 1
        for headers in ({}, {"Authorization": "Bearer rk_" + "A" * 43},
                        {"Authorization": "Bearer "}, {"Authorization": server.key},
                        {"Authorization": "Basic " + server.key},
                        {"Authorization": f"Bearer {server.key}x"},
                        {"Authorization": f"Bearer {server.key[:-1]}"},
                        {"Authorization": "Bearer rk_" + "A" * 4000}):
            answer = server.ask("GET", "/sessions", headers=headers, key=False)
            assert (answer.status, answer.code) == (401, "unauthorized"), headers
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        # The key is checked before a long body is read.
        answer = server.ask("POST", "/sessions", b"x" * 200_000, {"Authorization": "Bearer no"},
                            key=False)
        assert answer.status == 401
        assert server.ask("GET", "/health", key=False).status == 200
        stored = b"".join(path.read_bytes() for path in reckon.state.iterdir() if path.is_file())
        assert stored and server.key.encode() not in stored
        assert server.key not in server.log()
        server.stop()
        server.start()
        assert len(server.lines) == 1
        assert server.ask("GET", "/sessions").status == 200


def test_invalid_options_and_ports_in_use(reckon):
    for args, word in [(["--listen", "0.0.0.0:0"], "--public"), (["--listen", "localhost:1"], "127"),
                       (["--listen", "127.0.0.1"], "ADDRESS:PORT"),
                       (["--workers", "0"], "1 to 1024"), (["--max-sessions", "many"], "4000")]:
        done = reckon("serve", *args)
        assert done.status == 2, done
        assert word in done.err and done.err.count("\n") == 1
    with Server(reckon) as server:
        done = reckon("serve", "--listen", "127.0.0.1:0", "--state", reckon.state)
        assert done.status == 2 and "another reckond" in done.err
        done = reckon("serve", "--listen", f"127.0.0.1:{server.port}", "--state",
                      reckon.work / "other")
        assert done.status == 125 and "listen on" in done.err


@pytest.mark.parametrize("own", [False, True], ids=["usual", "own"])
def test_templates_with_another_state_folder(reckon, own):
    """`--state` moves keys and history; templates stay in the usual folder, unless the new one has them."""
    usual = reckon.work / "usual"
    usual.mkdir()
    reckon.user.own(usual)
    reckon.env["RECKON_STATE"] = str(usual)
    templates = reckon.env.pop("RECKON_TEMPLATES")
    ((reckon.state if own else usual) / "templates").symlink_to(templates)
    with Server(reckon) as server:
        assert server.execute(server.create(), "print(1)")["stdout"] == "1\n"


def test_a_stored_record_equals_the_returned_one(server):
    session = server.create()
    record = server.execute(session, "print('\\x00\\ud800' if False else '\\u2028')")
    again = server.ask("GET", f"/sessions/{session}/executions/{record['id']}")
    assert json.dumps(again.json) == json.dumps(record)


def events_of(server, session, execution):
    with server.events("GET", f"/sessions/{session}/executions/{execution}/events") as (events, _):
        return list(events)


def test_the_tenant_with_most_events_loses_its_oldest(reckon):
    """The events of ended executions share one limit. Beyond it, the tenant with the most events loses
    its oldest ones, but `done` of those executions is still available."""
    noise = "from IPython.display import display\ndisplay({{'text/plain': '{}' * (3 << 20)}}, raw=True)"
    with Server(reckon) as server:
        noisy = Server(reckon, key=server.newcomer("noisy", ["sessions", "execute", "read"])[1])
        noisy.port = server.port
        quiet = server.create()
        small = server.execute(quiet, "print('hello')")
        whole = events_of(server, quiet, small["id"])
        assert [name for _, name, _ in whole] == ["stream", "done"]
        made = []
        for letter in "abcd":
            session = noisy.create()
            made += [(session, noisy.execute(session, noise.format(letter))["id"]) for _ in range(2)]
        assert events_of(server, quiet, small["id"]) == whole
        oldest, newest = (events_of(noisy, *each) for each in (made[0], made[-1]))
        assert [name for _, name, _ in oldest] == ["done"]
        assert "display_data" in [name for _, name, _ in newest]
        record = noisy.ask("GET", f"/sessions/{made[0][0]}/executions/{made[0][1]}").json
        assert oldest[-1][2]["record"] == record and record["status"] == "ok"


def notes_of(record):
    return sorted((note["code"], note["message"]) for note in record["diagnostics"])


def test_a_policy_matches_the_command_line_and_persists(reckon):
    """What the host does not support is reported in the words of `reckon run --isolate-cpu`."""
    wanted = {"network": "none", "isolate_cpu": ["core", "speculation"]}
    done = reckon("run", "-t", "python", "--json", "--isolate-cpu", "core,speculation", "-c", "1")
    record = json.loads(done.out)
    with Server(reckon) as server:
        plain = server.create()
        assert server.ask("GET", f"/sessions/{plain}").json["policy"] == {
            "network": "none", "isolate_cpu": []}
        assert notes_of(server.execute(plain, "1")) == []
        session = server.create(policy=wanted)
        assert notes_of(server.execute(session, "1")) == notes_of(record)
        for policy in ({"network": "all"}, {"isolate_cpu": "core"}, {"isolate_cpu": ["cores"]},
                       {"isolate_cpu": [1]}, {"nonsense": 1}, [], None):
            answer = server.ask("POST", "/sessions", {"policy": policy})
            assert (answer.status, answer.code) == (400, "invalid"), policy
            assert "policy" in answer.json["error"]["message"]
        answer = server.ask("PATCH", f"/sessions/{session}", {"policy": wanted})
        assert (answer.status, answer.code) == (400, "invalid")
        server.stop(signal.SIGKILL)
        server.start()
        assert server.ask("GET", f"/sessions/{session}").json["policy"] == wanted
        again = [note for note in notes_of(server.execute(session, "1"))
                 if note[0] != "kernel_lost"]
        assert again == notes_of(record)


def test_a_strict_daemon_creates_what_strict_runs_accept(reckon):
    with Server(reckon, "--strict") as server:
        for isolate in ([], ["core"], ["speculation"]):
            flags = ["--isolate-cpu", isolate[0]] if isolate else []
            plain = reckon("run", "-t", "python", "--private", "--strict", *flags, "-c", "1")
            answer = server.ask("POST", "/sessions",
                                {"template": "python", "policy": {"isolate_cpu": isolate}})
            if plain.status == 0:
                assert answer.status == 201, answer
            else:
                assert answer.status == 503 and "strict" in answer.json["error"]["message"], answer


@pytest.mark.parametrize("char", ["y", r"\x01"], ids=["plain", "escaped"])
def test_a_stream_of_many_megabytes_ends_with_done(reckon, char):
    """`done` does not repeat the streamed output; the stored record has all of it."""
    with Server(reckon) as server:
        session = server.create(limits={"output_bytes": 64 << 20, "wall_s": 120})
        code = f"for _ in range(20): print('{char}' * 999999)"
        with server.events("POST", f"/sessions/{session}/executions",
                           {"code": code, "stream": True}) as (events, _):
            *_, (_, name, data) = events
        assert name == "done"
        record = data["record"]
        assert record["streamed"] and record["stdout"] == "" and record["outputs"] == []
        assert len(json.dumps(record)) < 1 << 20
        stored = server.ask("GET", f"/sessions/{session}/executions/{record['id']}").json
        assert len(stored["stdout"]) == 20 * 1000000 and "streamed" not in stored
