"""Processes and terminals of a session over HTTP: started, followed, written to, ended,
recorded."""
import base64
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import time

import pytest
from reckon_serve import Server

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture
def server(reckon):
    with Server(reckon) as running:
        yield running
        assert "level=error" not in running.log()


@pytest.fixture
def session(server):
    return server.create()


def start(server, session, command=None, **body):
    if command is not None:
        body["command"] = command
    answer = server.ask("POST", f"/sessions/{session}/processes", body)
    assert answer.status == 201, answer
    return answer.json["id"]


def ask(server, session, process, method="GET", what="", body=None):
    return server.ask(method, f"/sessions/{session}/processes/{process}{what}", body)


def wait(server, session, process):
    answer = ask(server, session, process, what="/wait?timeout_s=60")
    assert answer.status == 200, answer
    assert answer.json["state"] != "running", answer
    return answer.json


def write(server, session, process, data=b"", **more):
    return ask(server, session, process, "POST", "/stdin",
               {"data": base64.b64encode(data).decode(), **more})


def collect(events):
    """The bytes of each stream, and the end."""
    out = {}
    for _, name, data in events:
        if name == "stream":
            out[data["name"]] = out.get(data["name"], b"") + base64.b64decode(data["data"])
        elif name == "end":
            return out, data
        else:
            assert name == "start", (name, data)
    raise AssertionError("no end")


def follow(server, session, process, after=0):
    with server.events("GET", f"/sessions/{session}/processes/{process}/events?after={after}") as (
            events, _):
        return collect(events)


def run(server, session, command=None, **body):
    """Events of a process that is started with them."""
    if command is not None:
        body["command"] = command
    with server.events("POST", f"/sessions/{session}/processes", {**body, "stream": True}) as (
            events, response):
        assert response.headers["Reckon-Process"].startswith("pr_")
        return collect(events)


def until(events, stream, *texts):
    """The id of the event with which all texts have arrived."""
    seen = b""
    for number, name, data in events:
        if name == "stream" and data["name"] == stream:
            seen += base64.b64decode(data["data"])
            if all(text in seen for text in texts):
                return number
    raise AssertionError(f"{texts} do not come: {seen}")


def children_named(text):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


def wait_for_none(text):
    deadline = time.monotonic() + 60
    while children_named(text):
        assert time.monotonic() < deadline, text
        time.sleep(.05)


# ---- one process ------------------------------------------------------------------------------


def test_output_and_exit_code_are_events(server, session):
    out, end = run(server, session, "echo out; echo err >&2; exit 3")
    assert out == {"stdout": b"out\n", "stderr": b"err\n"}
    assert end == {"event": "end", "state": "ended", "cause": "exit", "exit_code": 3}


def test_record_of_a_process(server, session):
    process = start(server, session, "echo a > made; exec sleep 0.1", cwd="/tmp", tag="mine",
                    env={"SECRET": "no-one-else-s"})
    record = wait(server, session, process)
    assert record["id"] == process and record["session"] == session
    assert (record["state"], record["cause"], record["exit_code"]) == ("ended", "exit", 0)
    assert record["command"] == "echo a > made; exec sleep 0.1" and record["cwd"] == "/tmp"
    assert record["tag"] == "mine" and record["pid"] > 1
    assert record["usage"]["wall_s"] >= 0.1 and record["usage"]["processes_peak"] >= 1
    assert record["usage"]["limits"] == {}
    assert record["created_at"] <= record["ended_at"]
    assert "no-one-else-s" not in str(record)
    assert "signal" not in record and "files" not in record  # /tmp is not the workspace
    assert record == ask(server, session, process).json


def test_arguments_reach_the_program_unchanged(server, session):
    arguments = ["a b", "", "*", "'\"", "ä", "$HOME"]
    out, _ = run(server, session, argv=["printf", "[%s]\n", *arguments])
    assert out["stdout"].decode() == "".join(f"[{each}]\n" for each in arguments)
    listed = server.ask("GET", f"/sessions/{session}/processes").json["processes"]
    assert listed[0]["argv"] == ["printf", "[%s]\n", *arguments] and "command" not in listed[0]


def test_changed_files_are_reported_and_stored(server, session):
    server.execute(session, "open('old', 'w').write('1')")
    record = wait(server, session, start(server, session, "echo 2 > new; rm old"))
    [artifact] = record["files"].pop("artifacts")
    assert record["files"] == {"changed": ["new"], "deleted": ["old"], "truncated": False}
    assert server.ask("GET", f"/sessions/{session}/files/new").body == b"2\n"
    [version] = server.ask("GET", f"/sessions/{session}/versions/new").json["versions"]
    assert version["source"] == "process" and version["size"] == 2
    assert version["artifact"] == artifact
    assert server.ask("GET", f"/artifacts/{artifact}").body == b"2\n"


def test_binary_output_arrives_unchanged(server, session):
    out, _ = run(server, session, r"printf '\377\000\376\303'; printf '\200' >&2")
    assert out == {"stdout": b"\xff\x00\xfe\xc3", "stderr": b"\x80"}


def test_its_standard_input_is_written_and_closed(server, session):
    process = start(server, session, "cat; echo over", stdin=True)
    assert write(server, session, process, b"one\xff\n").json == {"written": 5}
    answer = ask(server, session, process, "POST", "/stdin", {"text": "zwei ä\n", "close": True})
    assert answer.json == {"written": 8}
    assert write(server, session, process, b"", close=True).status in (200, 409)
    assert follow(server, session, process)[0]["stdout"] == b"one\xff\nzwei \xc3\xa4\nover\n"
    refused = write(server, session, process, b"more")
    assert (refused.status, refused.code) == (409, "process_ended")


def test_a_process_without_stdin_reads_nothing(server, session):
    assert run(server, session, "cat; echo $?")[0] == {"stdout": b"0\n"}
    process = start(server, session, "sleep 60")
    answer = write(server, session, process, b"x")
    assert (answer.status, answer.code) == (400, "invalid")


def test_fifty_megabytes_of_input(server, session):
    piece = os.urandom(4 << 20)
    process = start(server, session, argv=["sha256sum"], stdin=True)
    total = hashlib.sha256()
    for _ in range(13):
        total.update(piece)
        assert write(server, session, process, piece).json == {"written": len(piece)}
    assert write(server, session, process, close=True).status == 200
    assert follow(server, session, process)[0]["stdout"].split()[0].decode() == total.hexdigest()


def test_unread_input_is_bounded(server, session):
    process = start(server, session, "sleep 60", stdin=True)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(write, server, session, process, bytes(4 << 20)) for _ in range(6)]
        refused = next(each for each in concurrent.futures.as_completed(sent)).result()
        assert (refused.status, refused.code) == (429, "busy")
        ask(server, session, process, "DELETE")
        rest = [each.result() for each in sent]
    assert {each.status for each in rest} <= {409, 429}


def test_signals_reach_it(server, session):
    process = start(server, session, "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done")
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        until(events, "stdout", b"ready")
        assert ask(server, session, process, "POST", "/signal",
                   {"signal": "USR1", "to": "process"}).status == 200
        until(events, "stdout", b"usr1")
        assert ask(server, session, process, "POST", "/signal").status == 200
        _, end = collect(events)
    assert (end["cause"], end["signal"]) == ("signal", "TERM")
    record = wait(server, session, process)
    assert record["signal"] == "TERM" and "exit_code" not in record
    answer = ask(server, session, process, "POST", "/signal", {"signal": "KILL"})
    assert (answer.status, answer.code) == (409, "process_ended")


def test_time_limits_end_it(server, session):
    assert run(server, session, "sleep 60", timeout_s=0.2)[1]["cause"] == "timeout"
    assert run(server, session, "while :; do :; done", cpu_s=0.2)[1]["cause"] == "cpu_limit"


def test_background_children_are_killed_unless_detached(server, session, as_user):
    run(server, session, "sleep 98100 & echo")
    _, end = run(server, session, "sleep 98200 > /dev/null 2>&1 & echo", detach=True)
    assert end["exit_code"] == 0
    assert children_named("98200") and not children_named("98100")
    process = server.ask("GET", f"/sessions/{session}/processes").json["processes"][0]["id"]
    assert ask(server, session, process, "DELETE").status == 200
    if not as_user.is_root:  # without cgroups the daemon does not know whose child it is
        server.ask("DELETE", f"/sessions/{session}")
    wait_for_none("98200")


@pytest.mark.parametrize("body,status,code", [
    ({"argv": ["no-such-program"]}, 404, "not_found"),
    ({"command": "true", "cwd": "/no/such"}, 400, "invalid"),
    ({}, 400, "invalid"),
    ({"command": "true", "argv": ["true"]}, 400, "invalid"),
    ({"argv": []}, 400, "invalid"),
    ({"command": "true", "cwd": "relative"}, 400, "invalid"),
    ({"command": "true", "tag": "a\nb"}, 400, "invalid"),
    ({"command": "true", "tag": "x" * 129}, 400, "invalid"),
    ({"command": "true", "pty": {"rows": 0}}, 400, "invalid"),
    ({"command": "true", "pty": {"cols": 1001}}, 400, "invalid"),
    ({"command": "true", "disconnect_grace_s": 1}, 400, "invalid"),
    ({"argv": ["echo", "x" * 131072, "y" * 131072]}, 413, "limit"),
])
def test_invalid_starts_are_refused(server, session, body, status, code):
    answer = server.ask("POST", f"/sessions/{session}/processes", body)
    assert (answer.status, answer.code) == (status, code)
    assert server.ask("GET", f"/sessions/{session}/processes").json == {
        "processes": [], "next": None}


def test_unknown_processes_are_not_found(server, session):
    other = start(server, server.create(), "sleep 60")
    for method, what in (("GET", ""), ("GET", "/events"), ("GET", "/wait"), ("POST", "/stdin"),
                         ("POST", "/signal"), ("DELETE", "")):
        for name in ("pr_01JD8Z4J9Q0123456789ABCDEF", other, "..", "%00"):
            answer = ask(server, session, name, method, what, {} if method == "POST" else None)
            assert answer.status in (400, 404), answer
            if answer.status == 404 and name == other:
                assert answer.code == "process_not_found"


# ---- with cells, and with other clients -------------------------------------------------------


def test_a_cell_and_processes_run_at_the_same_time(server, session):
    execution = server.background(session, "import os, time\n"
                                  "while not os.path.exists('end'): time.sleep(.01)\n6*7")
    server.wait_running(session, execution)
    assert run(server, session, "echo beside")[0] == {"stdout": b"beside\n"}
    run(server, session, "touch end")
    assert server.poll(session, execution)["status"] == "ok"


def test_a_process_lives_through_a_kernels_restart(server, session):
    process = start(server, session, "cat", stdin=True)
    assert server.ask("POST", f"/sessions/{session}/restart", {}).status == 200
    write(server, session, process, b"still here", close=True)
    assert follow(server, session, process)[0] == {"stdout": b"still here"}


def test_several_readers_and_reconnects(server, session):
    process = start(server, session, "cat", stdin=True)
    path = f"/sessions/{session}/processes/{process}/events"
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(server.events("GET", path))[0] for _ in range(5)]
        write(server, session, process, b"first\n")
        numbers = {until(each, "stdout", b"first") for each in readers}
        assert len(numbers) == 1
        readers.pop()  # one of them reads no further
        write(server, session, process, b"second\n")
        write(server, session, process, b"", close=True)
        for each in readers:
            assert collect(each)[0] == {"stdout": b"second\n"}
    # From the beginning, after the id of an event, and by the header.
    assert follow(server, session, process)[0] == {"stdout": b"first\nsecond\n"}
    assert follow(server, session, process, after=numbers.pop())[0] == {"stdout": b"second\n"}
    with server.events("GET", path, headers={"Last-Event-ID": "1"}) as (events, _):
        assert collect(events)[0] == {"stdout": b"first\nsecond\n"}
    assert ask(server, session, process).json["last_event"] == 4


def test_disconnect_ends_nothing_by_default(server, session):
    with server.events("POST", f"/sessions/{session}/processes",
                       {"command": "echo a; read line; echo b", "stdin": True, "stream": True}) as (
            events, response):
        process = response.headers["Reckon-Process"]
        until(events, "stdout", b"a")
    write(server, session, process, b"\n")
    assert follow(server, session, process)[0] == {"stdout": b"a\nb\n"}


def test_disconnect_kills_if_the_client_requested_it(server, session):
    with server.events("POST", f"/sessions/{session}/processes", {
            "command": "trap '' HUP; echo a; while :; do sleep 0.1; done", "stream": True,
            "on_disconnect": "kill"}) as (events, response):
        process = response.headers["Reckon-Process"]
        until(events, "stdout", b"a")
    record = wait(server, session, process)
    assert record["signal"] == "KILL" and record["why"] == "nobody followed it any more"


def test_a_slow_reader_gets_the_size_of_the_gap(server, session):
    process = start(server, session, "head -c 60000000 /dev/zero; echo; echo over")
    wait(server, session, process)
    missing, seen = 0, 0
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        for _, name, data in events:
            if name == "gap":
                missing += data["missing"]
            if name == "stream":
                last = base64.b64decode(data["data"])
                seen += len(last)
    assert missing > 100 and 1000000 < seen < 10000000 and last.endswith(b"over\n")


def test_when_full_wait_loses_nothing(server, session):
    with server.events("POST", f"/sessions/{session}/processes", {
            "argv": ["sh", "-c", "head -c 12000000 /dev/zero | tr '\\0' x"],
            "when_full": "wait", "stream": True}) as (events, _):
        time.sleep(1)  # the stream is not read
        out, end = collect(events)
    assert len(out["stdout"]) == 12000000 and end["exit_code"] == 0


def test_a_flood_leaves_the_daemon_usable(server, session):
    noisy = [start(server, session, "yes " + "y" * 1000) for _ in range(8)]
    assert run(server, session, "echo heard")[0] == {"stdout": b"heard\n"}
    assert server.execute(session, "print(1)")["stdout"] == "1\n"
    for process in noisy:
        assert ask(server, session, process, "DELETE").status == 200
    for process in noisy:
        assert wait(server, session, process)["cause"] == "signal"


# ---- idempotency keys
# -----------------------------------------------------------------------------

def start_once(server, session, key="one", **body):
    return server.ask("POST", f"/sessions/{session}/processes", body, headers={"Idempotency-Key": key})


@as_root
def test_one_key_starts_one_process(server, session):
    again = {"command": "echo x >> /mnt/data/runs; cat", "stdin": True}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: start_once(server, session, **again), range(16)))
    started = {answer.json["id"] for answer in answers if answer.status == 201}
    assert len(started) == 1 and {answer.status for answer in answers} <= {201, 503}, answers
    (process,) = started
    shown = start_once(server, session, **again)
    assert shown.json["id"] == process and shown.json["state"] == "running"
    write(server, session, process, b"", close=True)
    wait(server, session, process)
    # A repeated request also gets the end of the process, and its events.
    assert start_once(server, session, **again).json["cause"] == "exit"
    with server.events("POST", f"/sessions/{session}/processes", {**again, "stream": True},
                       {"Idempotency-Key": "one"}) as (events, response):
        assert response.headers["Reckon-Process"] == process and collect(events)[1]["exit_code"] == 0
    assert start_once(server, session, "two", **again).json["id"] != process
    other = server.create()
    assert start_once(server, other, **again).json["id"] != process
    assert len(server.ask("GET", f"/sessions/{session}/processes").json["processes"]) == 2
    assert server.execute(session, "open('runs').read()")["results"][0]["data"]["text/plain"] == r"'x\nx\n'"


@as_root
@pytest.mark.parametrize("other", [
    {"command": "false"}, {"argv": ["true"]}, {"command": "true", "env": {"A": "b"}},
    {"command": "true", "stdin": True}, {"command": "true", "pty": {}}, {"command": "true", "tag": "x"},
    {"command": "true", "timeout_s": 9}, {"command": "true", "cwd": "/tmp"}], ids=str)
def test_another_process_of_the_same_key_is_refused(server, session, other):
    assert start_once(server, session, command="true").status == 201
    answer = start_once(server, session, **other)
    assert (answer.status, answer.code) == (409, "idempotency_conflict"), answer


@as_root
def test_a_failed_start_does_not_use_up_the_key(server, session):
    refused = start_once(server, session, argv=["/no/such"])
    assert refused.status == 404, refused
    assert server.ask("GET", f"/sessions/{session}/processes").json["processes"] == []
    assert start_once(server, session, command="true").status == 201


@as_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_key_is_known_to_the_next_daemon(reckon, number):
    body = {"command": "echo x >> /mnt/data/runs; sleep 1000"}
    server = Server(reckon)
    server.start()
    session = server.create()
    started = start_once(server, session, **body).json
    server.stop(number)
    with Server(reckon, key=server.key) as again:
        shown = start_once(again, session, **body)
        assert (shown.status, shown.json["id"], shown.json["state"]) == (201, started["id"], "lost"), shown
        assert start_once(again, session, "two", command="true").json["state"] == "running"
        assert start_once(again, session, command="false").code == "idempotency_conflict"


def test_lists_find_by_tag_pid_and_state_and_have_pages(server, session):
    ended = [start(server, session, "true", tag="t") for _ in range(3)]
    for process in ended:
        wait(server, session, process)
    runs = start(server, session, "sleep 60", tag="u")
    pid = ask(server, session, runs).json["pid"]

    def found(query):
        answer = server.ask("GET", f"/sessions/{session}/processes?{query}")
        return [each["id"] for each in answer.json["processes"]], answer.json["next"]

    assert found("tag=t") == (ended[::-1], None)
    assert found(f"pid={pid}&state=running") == ([runs], None)
    assert found("state=ended&tag=u") == ([], None)
    first, more = found("limit=2")
    assert first == [runs, ended[2]]
    assert found(f"limit=2&before={more}")[0] == [ended[1], ended[0]]


def out_of_one_that_runs(server, session, process):
    """None if it has ended, because not all events of so many processes are stored."""
    if ask(server, session, process).json["state"] != "running":
        return None
    try:
        return follow(server, session, process)[0]
    except AssertionError as gap:
        if "gap" in str(gap):
            return None
        raise


def test_two_hundred_at_once(server):
    session = server.create(limits={"processes": 1000, "memory_bytes": 1 << 30})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        started = list(pool.map(lambda n: start(server, session, f"read line; echo $line-{n}",
                                                stdin=True), range(200)))
        with_terminals = list(pool.map(
            lambda n: start(server, session, f"read line; echo t$line-{n}", pty={}), range(50)))
        refused = [server.ask("POST", f"/sessions/{session}/processes", {"command": "sleep 60"})
                   for _ in range(7)]
        assert [each.status for each in refused] == [201] * 6 + [429]
        assert refused[-1].code == "busy"
        for process in started + with_terminals:
            assert ask(server, session, process).json["state"] == "running"
        for result in pool.map(lambda p: write(server, session, p, b"hi\n"),
                               started + with_terminals):
            assert result.status == 200
        outs = list(pool.map(lambda p: out_of_one_that_runs(server, session, p), started))
        for process in started + with_terminals:
            assert wait(server, session, process)["exit_code"] == 0
    assert all(out is None or out["stdout"] == f"hi-{n}\n".encode() for n, out in enumerate(outs))


# ---- terminals --------------------------------------------------------------------------------


def test_a_terminal_has_a_size_and_a_line_discipline(server, session):
    process = start(server, session, "stty size; trap 'stty size' WINCH; tty; "
                    "while :; do read line && echo got $line; done", pty={"rows": 33, "cols": 101})
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        until(events, "pty", b"33 101", b"/dev/pts/")
        assert ask(server, session, process, "POST", "/resize",
                   {"rows": 50, "cols": 120}).status == 200
        write(server, session, process, b"line\n")
        until(events, "pty", b"50 120")
        refused = write(server, session, process, b"", close=True)
        assert (refused.status, refused.code) == (400, "invalid")
        write(server, session, process, b"\x03")  # Ctrl-C
        assert collect(events)[1]["signal"] == "INT"
    assert ask(server, session, process).json["pty"] == {"rows": 50, "cols": 120}


def test_resize_needs_a_terminal(server, session):
    process = start(server, session, "sleep 60")
    answer = ask(server, session, process, "POST", "/resize", {"rows": 50, "cols": 120})
    assert (answer.status, answer.code) == (400, "invalid")


# ---- ends of sessions and daemons -------------------------------------------------------------


def test_processes_end_with_their_session_and_stay_listed(server, session):
    process = start(server, session, "echo a; sleep 1000")
    ended = start(server, session, "exit 4")
    wait(server, session, ended)
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        until(events, "stdout", b"a")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, server, session, process, what="/wait")
            assert server.ask("DELETE", f"/sessions/{session}").status == 200
            assert waiting.result().json["cause"] == "session_ended"
        assert collect(events)[1]["cause"] == "session_ended"
    listed = server.ask("GET", f"/sessions/{session}/processes").json["processes"]
    assert [(each["id"], each["state"], each.get("exit_code")) for each in listed] == [
        (ended, "ended", 4), (process, "ended", None)]
    out, end = {}, None
    with server.events("GET", f"/sessions/{session}/processes/{ended}/events") as (events, _):
        names = [name for _, name, _ in events]
    assert names == ["gap", "end"]
    assert server.ask("POST", f"/sessions/{session}/processes", {"command": "true"}).status == 410


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_daemon_and_are_reported_lost(reckon, number):
    mark = f"98765{number}"
    with Server(reckon) as server:
        session = server.create()
        ended = start(server, session, "exit 5")
        wait(server, session, ended)
        process = start(server, session, argv=["sleep", mark], tag="t")
        assert children_named(mark)
        server.stop(number)
        wait_for_none(mark)
        server.start()
        listed = server.ask("GET", f"/sessions/{session}/processes").json["processes"]
        assert [(each["id"], each["state"]) for each in listed] == [
            (process, "lost"), (ended, "ended")]
        assert "daemon" in listed[0]["why"] and listed[0]["ended_at"]
        assert ask(server, session, process, "POST", "/signal").code == "process_ended"
        with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
            assert [data["state"] for _, name, data in events if name == "end"] == ["lost"]
        # The session continues in a new box.
        assert run(server, session, "echo again")[0] == {"stdout": b"again\n"}


# ---- keys, quotas, accounts -------------------------------------------------------------------


@as_root
def test_scopes_and_quotas_apply(server, session):
    def key(*scopes):
        return server.ask("POST", "/keys", {"scopes": list(scopes)}).json["key"]

    admin = server.key
    process = start(server, session, "sleep 60")
    server.key = key("read")
    assert ask(server, session, process).status == 200
    assert server.ask("POST", f"/sessions/{session}/processes", {"command": "true"}).code == (
        "scope_missing")
    for what in ("/stdin", "/signal"):
        assert ask(server, session, process, "POST", what, {}).code == "scope_missing"
    server.key = admin
    server.key = key("execute")
    mine = start(server, session, "echo mine")
    assert wait(server, session, mine)["exit_code"] == 0
    assert follow(server, session, mine)[0] == {"stdout": b"mine\n"}
    assert ask(server, session, process).code == "scope_missing"
    server.key = admin

    tenant = server.ask("GET", "/tenants").json["tenants"][0]["id"]
    assert server.ask("PATCH", f"/tenants/{tenant}", {"quotas": {"processes": 2}}).status == 200
    start(server, session, "sleep 60")
    answer = server.ask("POST", f"/sessions/{session}/processes", {"command": "true"})
    assert (answer.status, answer.code) == (429, "quota_exceeded")
    assert answer.json["error"]["quota"] == {"name": "processes", "value": 2, "limit": 2}
    ask(server, session, process, "DELETE")
    wait(server, session, process)
    assert run(server, session, "echo again")[0] == {"stdout": b"again\n"}
    assert server.ask("PATCH", f"/tenants/{tenant}", {"quotas": {"max_wall_s": 1}}).status == 200
    answer = server.ask("POST", f"/sessions/{session}/processes", {"command": "true", "timeout_s": 2})
    assert answer.code == "quota_exceeded"
    assert run(server, session, "sleep 60")[1]["cause"] == "timeout"
    # The limit of the process was that of the quota.
    newest = server.ask("GET", f"/sessions/{session}/processes").json["processes"][0]
    assert newest["usage"]["limits"] == {"wall_s": 1}, newest


@as_root
def test_processes_are_in_the_audit_log_and_the_metrics(server, session):
    def counts():
        text = server.ask("GET", "/metrics", prefix="").body.decode()
        return [int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M)[1]) for name in (
            'reckon_processes_total{cause="signal"}', "reckon_processes_running")]

    ended, running = counts()
    process = start(server, session, "cat", stdin=True)
    assert counts()[1] == running + 1
    ask(server, session, process, "POST", "/signal")
    wait(server, session, process)
    entries = server.ask("GET", "/audit?limit=100").json["entries"]
    recorded = [(each["action"], each["outcome"]) for each in entries if process in each["detail"]]
    assert sorted(recorded) == [("process.end", "signal"), ("process.signal", "ok"),
                                ("process.start", "ok")]
    assert counts() == [ended + 1, running]
