"""Contexts after a restart of the daemon: the same ids, with fresh kernels that report lost
variables."""
import concurrent.futures
import os
import signal

import pytest
from reckon_serve import wait_gone
from test_serve_contexts import context, lost_of
from test_serve_durable import wardens

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def again(server, number=signal.SIGKILL):
    server.stop(number)
    server.start()


def listed(server, session):
    return server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_contexts_are_restored_with_their_ids(server, number):
    session = server.create()
    shell = context(server, session, language="bash")
    other = context(server, session, cwd="/tmp", env={"WHO": "other"})
    unused = context(server, session)
    server.execute(session, "first = 1; open('f', 'w').write('kept')")
    server.execute(session, "X=2; cat f", context=shell)
    server.execute(session, "of_other = 3", context=other)
    before = listed(server, session)
    again(server, number)
    after = listed(server, session)
    assert [(each["id"], each["language"], each["cwd"], each["created_at"]) for each in after] == [
        (each["id"], each["language"], each["cwd"], each["created_at"]) for each in before]
    assert [each["kernel"] for each in after] == ["lost", "lost", "ready"]

    # The first request after the restart is for a context, so the daemon makes the box for it.
    record = server.execute(session, "import os; print(os.getcwd(), os.environ['WHO'])\nof_other",
                            context=other)
    assert record["stdout"] == "/tmp other\n" and record["error"]["name"] == "NameError"
    assert record["context"] == other
    [note] = lost_of(record)
    assert note["detail"]["variables"] == ["of_other"] and "daemon" in note["detail"]["why"]
    record = server.execute(session, "cat f; echo -n $X", context=shell)
    assert record["stdout"] == "kept"
    assert "X" in lost_of(record)[0]["detail"]["variables"]
    [note] = lost_of(server.execute(session, "1"))
    assert note["detail"]["variables"] == ["first"]
    assert lost_of(server.execute(session, "1", context=unused)) == []
    assert {each["kernel"] for each in listed(server, session)} == {"ready"}
    # The loss is reported once.
    assert lost_of(server.execute(session, "1", context=other)) == []


def test_deleted_contexts_stay_deleted(server):
    session = server.create()
    gone, stays = context(server, session), context(server, session)
    server.execute(session, "x = 1", context=gone)
    assert server.ask("DELETE", f"/sessions/{session}/contexts/{gone}").status == 200
    again(server)
    assert [each["id"] for each in listed(server, session)] == [stays]
    answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1", "context": gone})
    assert answer.code == "context_not_found"
    # A context whose kernel has not started again can be deleted, too.
    assert server.ask("DELETE", f"/sessions/{session}/contexts/{stays}").status == 200
    again(server)
    assert listed(server, session) == []
    assert server.execute(session, "1")["status"] == "ok"


def test_seven_contexts_resume_at_once(server):
    """Seven contexts get requests at once, while the session does not have a box yet."""
    session = server.create()
    made = [context(server, session) for _ in range(7)]
    for number, each in enumerate(made):
        server.execute(session, f"v{number} = {number}", context=each)
    again(server)
    answer = server.ask("POST", f"/sessions/{session}/contexts", {})
    assert answer.status == 413 and "8 kernels" in answer.json["error"]["message"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        records = list(pool.map(lambda each: server.execute(session, "1+1", context=each), made))
    for number, record in enumerate(records):
        assert record["context"] == made[number]
        assert lost_of(record)[0]["detail"]["variables"] == [f"v{number}"]


def test_a_second_restart_without_a_request_before(server):
    session = server.create()
    other = context(server, session)
    server.execute(session, "x = 1", context=other)
    again(server)
    again(server)
    [note] = lost_of(server.execute(session, "1", context=other))
    assert note["detail"]["variables"] == ["x"]
    server.execute(session, "y = 2", context=other)
    again(server)
    [note] = lost_of(server.execute(session, "1", context=other))
    assert note["detail"]["variables"] == ["y"]


def test_variables_and_restart_of_a_context_without_a_kernel(server):
    session = server.create()
    other = context(server, session)
    server.execute(session, "x = 1", context=other)
    again(server)
    answer = server.ask("GET", f"/sessions/{session}/variables?context={other}")
    assert answer.json == {"variables": []}
    again(server)
    assert server.ask("POST", f"/sessions/{session}/restart", {"context": other}).status == 200
    # After an explicit restart the loss is not reported.
    assert lost_of(server.execute(session, "1", context=other)) == []


def test_a_new_context_while_the_session_has_no_box(server):
    session = server.create()
    server.execute(session, "open('f', 'w').write('kept')")
    again(server)
    other = context(server, session)
    assert server.execute(session, "print(open('f').read())", context=other)["stdout"] == "kept\n"


@as_root
def test_contexts_survive_the_death_of_a_warden(server):
    session = server.create()
    other = context(server, session)
    server.execute(session, "x = 1; open('f', 'w').write('kept')", context=other)
    for pid in wardens(server.reckon):
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    server.ask("POST", f"/sessions/{session}/executions", {"code": "1", "context": other})
    record = server.execute(session, "print(open('f').read())\nx", context=other)
    assert record["stdout"] == "kept\n" and record["error"]["name"] == "NameError"
    assert [each["id"] for each in listed(server, session)] == [other]


def test_an_ended_session_has_no_contexts(server):
    session = server.create()
    context(server, session)
    server.ask("DELETE", f"/sessions/{session}")
    again(server)
    assert server.ask("GET", f"/sessions/{session}/contexts").status == 410
