"""Executions that are cancelled: by a request, or by the disconnect of a client that requested
this."""
import contextlib
import json
import socket
import time

import pytest
from captured_front import CapturedFront
from reckon_serve import PREFIX, kill
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

CANCEL = {"on_disconnect": "cancel"}
BUSY = "kept = 1\nimport time\nprint('begun', flush=True)\nfor i in range(1200): time.sleep(0.05)"


def executions(server, session):
    """Newest first."""
    return server.ask("GET", f"/sessions/{session}/executions").json["executions"]


def with_status(server, session, status):
    return [each["id"] for each in executions(server, session) if each["status"] == status]


@contextlib.contextmanager
def blocking(server, session, code, headers=None, **body):
    """Send a request without reading its response; yields the connection and the execution's id."""
    known = {each["id"] for each in executions(server, session)}
    connection = server.connect()
    connection.request("POST", f"{PREFIX}/sessions/{session}/executions",
                       json.dumps({"code": code, **body}), server.headers(headers))
    try:
        yield connection, eventually(lambda: [each["id"] for each in executions(server, session)
                                         if each["id"] not in known], "it is not there")[0]
    finally:
        connection.close()


@contextlib.contextmanager
def streaming(server, session, code=None, execution=None, begun=True, **body):
    """Read events until the execution has begun; yields (iterator, id)."""
    path = f"/sessions/{session}/executions" + (f"/{execution}/events" if execution else "")
    with server.events("GET" if execution else "POST", path,
                       None if execution else {"code": code, "stream": True, **body}) as (events,
                                                                                        response):
        if begun:
            assert next(events)[1] == "stream"
        yield events, execution or response.headers["Reckon-Execution"]


def ended_by_disconnect(record):
    """True if the record says that the disconnect of its client ended it."""
    return [each["code"] for each in record["diagnostics"]].count("client_gone") == 1


def assert_cancelled(server, session, execution):
    record = server.poll(session, execution)
    assert record["status"] == "interrupted" and ended_by_disconnect(record), record
    # The kernel still exists, as after any interrupt.
    assert server.execute(session, "kept")["results"][0]["data"]["text/plain"] == "1"


def assert_continues(server, session, execution, seconds=0.6):
    """Check that it runs for as long as three ticks of the daemon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        shown = server.ask("GET", f"/sessions/{session}/executions/{execution}")
        assert shown.json["status"] == "running", shown
        time.sleep(0.05)


def audit(server):
    return [(each["action"], each["detail"]) for each in server.ask("GET", "/audit").json["entries"]]


# ---- running executions -------------------------------------------------------------------------

def test_disconnect_while_waiting_for_the_record(server):
    session = server.create()
    server.execute(session, "kept = 1")
    with blocking(server, session, BUSY, **CANCEL) as (_, execution):
        eventually(lambda: with_status(server, session, "running"), "it does not run")
    assert_cancelled(server, session, execution)
    assert ("execution.cancel", f"execution={execution} its client went away") in audit(server)


def test_disconnect_while_reading_events(server):
    session = server.create()
    with streaming(server, session, BUSY, **CANCEL) as (_, execution):
        assert_continues(server, session, execution)
    assert_cancelled(server, session, execution)


@pytest.mark.parametrize("policy", [{}, {"on_disconnect": "continue"}])
def test_executions_continue_by_default(server, policy):
    session = server.create()
    code = "import time; time.sleep(0.7); print('whole')"
    with blocking(server, session, code, **policy) as (_, first):
        pass
    with streaming(server, session, code, begun=False, **policy) as (_, second):
        pass
    for execution in (first, second):
        assert server.poll(session, execution)["stdout"] == "whole\n"


def test_disconnect_ends_a_kernel_that_ignores_interrupts(server):
    """As after any interrupt that code ignores; here in a context of its own."""
    session = server.create()
    context = server.ask("POST", f"/sessions/{session}/contexts", {}).json["id"]
    deaf = ("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
            "print('begun', flush=True)\nwhile True:\n  try: time.sleep(60)\n"
            "  except BaseException: pass")
    with streaming(server, session, deaf, context=context, **CANCEL) as (_, execution):
        pass
    record = server.poll(session, execution)
    assert record["status"] in ("killed", "interrupted") and ended_by_disconnect(record)
    assert server.execute(session, "1")["status"] == "ok"


def test_a_half_closed_connection_counts_as_a_disconnect(server):
    session = server.create()
    server.execute(session, "kept = 1")
    with blocking(server, session, BUSY, **CANCEL) as (connection, execution):
        eventually(lambda: with_status(server, session, "running"), "it does not run")
        connection.sock.shutdown(socket.SHUT_WR)
        assert_cancelled(server, session, execution)
    with blocking(server, session, "import time; time.sleep(0.3); print(1)") as (connection, _):
        connection.sock.shutdown(socket.SHUT_WR)
        assert b'"stdout":"1\\n"' in connection.getresponse().read()


def test_a_running_cell_has_keepalive_probes_to_its_client(server):
    """Nothing is sent while a cell runs, so only keepalive probes can detect a dead peer."""
    session = server.create()
    with blocking(server, session, BUSY, **CANCEL) as (connection, _):
        mine = connection.sock.getsockname()[1]
        timers = [fields[5] for line in open("/proc/net/tcp", encoding="ascii")
                  if (fields := line.split())[1].endswith(f":{server.port:04X}")
                  and fields[2].endswith(f":{mine:04X}")]
        assert len(timers) == 1 and timers[0].startswith("02:"), timers


def test_a_stream_that_is_silent_at_first_stays_open(server):
    """The head of the stream and its first beat are written in one step, before a client can read a
    byte of either. The execution continues for the client that began it and for a reader, whose
    request has no body."""
    session = server.create()
    with server.events("POST", f"/sessions/{session}/executions", {
            "code": "import time; time.sleep(3.5)", "stream": True, **CANCEL}) as (events, response):
        execution = response.headers["Reckon-Execution"]
        with server.events("GET", f"/sessions/{session}/executions/{execution}/events") as (others, _):
            for each in (others, events):
                *_, (_, name, data) = each
                assert (name, data["record"]["status"]) == ("done", "ok")


@pytest.mark.slow
def test_a_reader_that_reads_nothing_counts_as_disconnected(server):
    """Its socket is open, but its buffers are full: it reads nothing for two beats of the
    stream."""
    session = server.create(limits={"output_bytes": 64 << 20})
    code = ("import time\nprint('x' * (16 << 20), flush=True)\nwhile True:\n    print('y', flush=True)\n"
            "    time.sleep(0.2)")
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        body = json.dumps({"code": code, "stream": True, "timeout_s": 600, **CANCEL})
        sock.sendall(f"POST {PREFIX}/sessions/{session}/executions HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.key}\r\nContent-Length: {len(body)}\r\n\r\n"
                     f"{body}".encode())
        execution = eventually(lambda: with_status(server, session, "running"), "it does not run")[0]
        record = server.poll(session, execution)
    assert ended_by_disconnect(record), record["status"]


def test_disconnect_while_the_response_is_written(server):
    """When a client disconnects during the response to its request, the execution has ended."""
    session = server.create(limits={"output_bytes": 8 << 20})
    code = "print('x' * (6 << 20))"
    with blocking(server, session, code, **CANCEL) as (connection, first):
        assert connection.sock.recv(10) == b"HTTP/1.1 2"
    with streaming(server, session, code, **CANCEL) as (events, second):
        next(events)
    for execution in (first, second):
        record = server.poll(session, execution)
        assert (record["status"], record["diagnostics"]) == ("ok", []) or ended_by_disconnect(record)
    assert server.poll(session, first)["status"] == "ok"


# ---- queued executions --------------------------------------------------------------------------

@pytest.mark.parametrize("follow", [blocking, streaming])
def test_disconnect_cancels_a_queued_execution(server, follow):
    session = server.create()
    first = server.background(session, BUSY)
    server.wait_running(session, first)
    third = None
    more = {"begun": False} if follow is streaming else {}
    with follow(server, session, "ran = True", **CANCEL, **more) as (_, waits):
        third = server.background(session, "'ran' in globals()")
        assert server.ask("GET", f"/sessions/{session}/executions/{waits}").json["status"] == "queued"
    shown = eventually(lambda: (answer := server.ask(
        "GET", f"/sessions/{session}/executions/{waits}").json)["status"] == "cancelled" and answer,
        "it still waits")
    assert "went away before it began" in shown["why"] and "ended_at" in shown
    with server.events("GET", f"/sessions/{session}/executions/{waits}/events") as (events, _):
        assert [(name, data["error"]["code"]) for _, name, data in events] == [
            ("failed", "execution_cancelled")]
    assert_continues(server, session, first, 0.3)
    server.ask("POST", f"/sessions/{session}/interrupt")
    assert server.poll(session, third)["results"][0]["data"]["text/plain"] == "False"
    # The history also says so after a restart of the daemon.
    server.stop()
    server.start()
    assert with_status(server, session, "cancelled") == [waits]
    with server.events("GET", f"/sessions/{session}/executions/{waits}/events") as (events, _):
        assert [data["error"]["code"] for _, _, data in events] == ["execution_cancelled"]


def test_cancelled_executions_free_their_quota_and_key(server):
    tenant = server.ask("POST", "/tenants", {"name": "a", "quotas": {"executions": 2}}).json["id"]
    server.key = server.ask("POST", "/keys", {"tenant": tenant, "scopes": [
        "sessions", "execute", "read"]}).json["key"]
    session = server.create()
    first = server.background(session, BUSY)
    key = {"Idempotency-Key": "once"}
    with blocking(server, session, "print('ran')", key, **CANCEL) as (_, waits):
        assert server.ask("POST", f"/sessions/{session}/executions", {"code": "1"}).status == 429
    eventually(lambda: with_status(server, session, "cancelled") == [waits], "it still waits")
    again = server.ask("POST", f"/sessions/{session}/executions",
                       {"code": "print('ran')", "background": True}, key)
    assert again.status == 202 and again.json["id"] != waits
    server.ask("POST", f"/sessions/{session}/interrupt")
    assert server.poll(session, again.json["id"])["stdout"] == "ran\n"
    assert server.poll(session, first)["status"] == "interrupted"


# ---- several readers, and reconnects -------------------------------------------------------------

def test_the_disconnect_of_the_last_reader_cancels(server):
    session = server.create()
    with streaming(server, session, BUSY, **CANCEL) as (_, execution):
        other = contextlib.ExitStack()
        events, _ = other.enter_context(streaming(server, session, execution=execution))
    # The client that began the execution has gone; the reader came later.
    assert_continues(server, session, execution)
    other.close()
    assert_cancelled(server, session, execution)


def test_a_reader_of_a_background_execution_cancels_nothing(server):
    session = server.create()
    execution = server.background(session, "import time\nprint('begun', flush=True)\n"
                                           "time.sleep(0.7)\nprint('whole')")
    with streaming(server, session, execution=execution):
        pass
    assert server.poll(session, execution)["stdout"] == "begun\nwhole\n"


def test_a_repeated_request_with_the_key_prevents_the_cancellation(server):
    session = server.create()
    key = {"Idempotency-Key": "k"}
    code = "import time\nprint('begun', flush=True)\ntime.sleep(1.5)"
    with blocking(server, session, code, key, **CANCEL) as (first, execution):
        eventually(lambda: with_status(server, session, "running"), "it does not run")
        with server.events("POST", f"/sessions/{session}/executions",
                           {"code": code, "stream": True}, key) as (events, response):
            assert response.headers["Reckon-Execution"] == execution
            first.close()
            *_, (_, name, data) = events
    assert (name, data["record"]["status"]) == ("done", "ok")


def test_grace_period_for_reconnects(server):
    session = server.create()
    with streaming(server, session, BUSY, **CANCEL, disconnect_grace_s=3600) as (_, execution):
        pass
    assert_continues(server, session, execution)
    server.ask("POST", f"/sessions/{session}/interrupt")
    assert not ended_by_disconnect(server.poll(session, execution))
    # A reader that comes within the grace prevents the cancellation until it disconnects.
    with streaming(server, session, BUSY, **CANCEL, disconnect_grace_s=0.5) as (_, execution):
        pass
    with streaming(server, session, execution=execution):
        assert_continues(server, session, execution, 1.2)
    assert_cancelled(server, session, execution)


def test_a_crash_of_the_front_cancels_nothing(server):
    """A crash of the front closes its connections, but is not a client disconnect. A reader that
    comes later counts as a client."""
    session, second = server.create(), server.create()
    with streaming(server, session, BUSY, **CANCEL) as (_, streamed), \
            blocking(server, second, BUSY, **CANCEL) as (_, waited):
        eventually(lambda: with_status(server, second, "running"), "it does not run")
        front = server.front()
        kill(front)
        eventually(lambda: "the front was started again" in server.log(), "there is no front")
    assert_continues(server, session, streamed)
    assert_continues(server, second, waited)
    with streaming(server, session, execution=streamed):
        pass
    assert_cancelled(server, session, streamed)
    server.ask("POST", f"/sessions/{second}/interrupt")
    assert not ended_by_disconnect(server.poll(second, waited))


def test_a_captured_front_cancels_only_what_requests_it(reckon):
    """A CANCEL ends an execution with on_disconnect=cancel, even with many readers, and nothing
    else."""
    def begin(front, session, **more):
        error, answer = front.call("execute", front.key, session=session, code=BUSY,
                                   stream=True, **more)
        assert error is None
        return front.number, answer["execution"]["id"]

    def status(front, session, execution):
        _, answer = front.call("execution_show", front.key, session=session, execution=execution)
        return answer["execution"]["status"] if answer["execution"] else "ended"

    with CapturedFront(reckon) as front:
        session = front.call("session_create", front.key, template="python")[1]["id"]
        number, execution = begin(front, session)
        eventually(lambda: status(front, session, execution) == "running", "it does not run")
        for each in (number, number + 1, 1, 1 << 40):
            front.cancel(each)
        time.sleep(0.5)
        assert status(front, session, execution) == "running"
        front.call("interrupt", front.key, session=session)
        eventually(lambda: status(front, session, execution) == "ended", "it goes on")
        number, execution = begin(front, session, on_disconnect="cancel", disconnect_grace_s=0)
        for _ in range(300):  # many readers
            front.send_call("execution_events", front.key, session=session, execution=execution,
                            after=1 << 40)
        eventually(lambda: status(front, session, execution) == "running", "it does not run")
        for each in range(number, front.number + 1):
            front.cancel(each)
        eventually(lambda: status(front, session, execution) == "ended", "it goes on")
        assert "the front is gone" not in front.server.log()


# ---- invalid requests ---------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/sessions/{session}/executions", "/agent"])
@pytest.mark.parametrize("body, word", [
    ({"on_disconnect": "stop"}, "on_disconnect"), ({"on_disconnect": None}, "on_disconnect"),
    ({"on_disconnect": True}, "on_disconnect"),
    ({"background": True, "on_disconnect": "cancel"}, "on_disconnect and background"),
    ({"background": True, "disconnect_grace_s": 1}, "disconnect_grace_s and background"),
    ({"on_disconnect": "continue", "disconnect_grace_s": 1}, "disconnect_grace_s"),
    ({"on_disconnect": "cancel", "disconnect_grace_s": -1}, "disconnect_grace_s"),
    ({"on_disconnect": "cancel", "disconnect_grace_s": 3601}, "disconnect_grace_s"),
    ({"on_disconnect": "cancel", "disconnect_grace_s": "1"}, "disconnect_grace_s"),
])
def test_invalid_members_are_named(server, path, body, word):
    session = server.create()
    answer = server.ask("POST", path.format(session=session),
                        {("code" if "executions" in path else "question"): "1", **body})
    assert (answer.status, answer.code) == (400, "invalid")
    assert word in answer.json["error"]["message"]


def test_members_that_equal_the_default_are_allowed(server):
    """A client that is generated from the OpenAPI document sends the defaults that it documents."""
    session = server.create()
    for body in ({"background": True}, {"stream": False}, {}):
        answer = server.ask("POST", f"/sessions/{session}/executions", {
            "code": "1", "on_disconnect": "continue", "disconnect_grace_s": 0, **body})
        assert answer.status == (202 if "background" in body else 200), answer
    answer = server.ask("POST", "/agent", {"question": "1", "background": True,
                                           "on_disconnect": "continue"})
    assert (answer.status, answer.code) == (400, "invalid")


def test_a_grace_without_cancel_is_invalid(server):
    answer = server.ask("POST", f"/sessions/{server.create()}/executions",
                        {"code": "1", "disconnect_grace_s": 1})
    assert (answer.status, answer.code) == (400, "invalid")


# ---- by a request -------------------------------------------------------------------------------

def cancel(server, session, execution):
    answer = server.ask("POST", f"/sessions/{session}/executions/{execution}/cancel")
    assert answer.status == 200, answer
    return answer.json["cancelled"]


def test_each_execution_can_be_cancelled(server):
    """A running execution is interrupted, a queued one never begins, one that has ended does not
    change, and the others continue."""
    session = server.create()
    done = server.execute(session, "kept = 1")["id"]
    running = server.background(session, BUSY)
    waiting = server.background(session, "open('waited', 'w')")
    last = server.background(session, "print('last')")
    server.wait_running(session, running)
    assert cancel(server, session, waiting) is True
    answer = server.poll(session, waiting)
    assert answer["status"] == "cancelled" and "before it began" in answer["why"]
    assert cancel(server, session, waiting) is False and cancel(server, session, done) is False
    assert cancel(server, session, running) is True
    record = server.poll(session, running)
    assert record["status"] == "interrupted"
    assert [each["code"] for each in record["diagnostics"]] == ["cancelled"]
    assert server.poll(session, last)["stdout"] == "last\n"
    assert server.execute(session, "import os; print(kept, os.path.exists('waited'))")[
        "stdout"] == "1 False\n"
    assert cancel(server, session, running) is False


def test_waiting_clients_get_the_cancellation(server):
    session = server.create()
    running = server.background(session, BUSY)
    with blocking(server, session, "1") as (connection, waiting):
        assert cancel(server, session, waiting)
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert (response.status, answer["error"]["code"]) == (410, "execution_cancelled")
    with streaming(server, session, execution=running) as (events, _):
        assert cancel(server, session, running)
        *_, (_, name, data) = events
        assert name == "done" and data["record"]["status"] == "interrupted"


def test_a_cell_of_a_context_is_cancelled_alone(server):
    session = server.create()
    here = server.background(session, BUSY)
    there = server.background(session, "echo begun; sleep 60", language="bash")
    for each in (here, there):
        server.wait_running(session, each)
    assert cancel(server, session, there)
    assert server.poll(session, there)["status"] == "interrupted"
    assert with_status(server, session, "running") == [here]
    assert cancel(server, session, here)


def test_invalid_cancel_requests(server):
    session, other = server.create(), server.create()
    running = server.background(session, BUSY)
    for path, code in ((f"{other}/executions/{running}", "execution_not_found"),
                       (f"{session}/executions/ex_none", "execution_not_found"),
                       (f"se_none/executions/{running}", "session_not_found")):
        answer = server.ask("POST", f"/sessions/{path}/cancel")
        assert (answer.status, answer.code) == (404, code), path
    answer = server.ask("POST", f"/sessions/{session}/executions/{running}/cancel", {"force": 1})
    assert (answer.status, answer.code) == (400, "invalid")
    assert with_status(server, session, "running") == [running]
    assert cancel(server, session, running)
