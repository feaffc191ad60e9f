"""Several kernels in one session over HTTP: contexts, restarts, kernels that died."""
import threading

import pytest

WAIT = ("import os, time\nopen('{0}', 'w').close()\n"
        "while not os.path.exists('{1}'): time.sleep(.01)\nprint('met')")


def context(server, session, **body):
    answer = server.ask("POST", f"/sessions/{session}/contexts", body)
    assert answer.status == 201, answer
    assert answer.json["session"] == session and answer.json["id"].startswith("ctx_")
    return answer.json["id"]


def lost_of(record):
    return [note for note in record["diagnostics"] if note["code"] == "kernel_lost"]


def test_contexts_share_files_and_nothing_else(server):
    session = server.create()
    shell = context(server, session, language="bash")
    other = context(server, session, cwd="/tmp", env={"WHO": "other"})
    server.execute(session, "x = 1; open('f', 'w').write('from python')")
    record = server.execute(session, "cat f; X=2", context=shell)
    assert record["stdout"] == "from python"
    assert record["kernel"] == "bash" and record["context"] == shell
    record = server.execute(session, "import os; print(os.getcwd(), os.environ['WHO'])",
                            context=other)
    assert record["stdout"] == "/tmp other\n"
    assert server.execute(session, "x", context=other)["error"]["name"] == "NameError"
    assert server.execute(session, "print(x)")["stdout"] == "1\n"
    assert server.execute(session, "echo $X", context=shell)["stdout"] == "2\n"
    listed = server.ask("GET", f"/sessions/{session}/contexts").json
    assert [(each["id"], each["language"], each["cwd"], each["kernel"], each["pending"])
            for each in listed["contexts"]] == [
        (shell, "bash", "/mnt/data", "ready", 0), (other, "python", "/tmp", "ready", 0)]


def test_variables_completion_and_inspection_are_per_context(server):
    session = server.create()
    other = context(server, session)
    server.execute(session, "first_name = 1")
    server.execute(session, "other_name = 'é'", context=other)
    path = f"/sessions/{session}"
    names = server.ask("GET", f"{path}/variables?context={other}").json["variables"]
    assert [each["name"] for each in names] == ["other_name"]
    names = server.ask("GET", f"{path}/variables").json["variables"]
    assert [each["name"] for each in names] == ["first_name"]
    answer = server.ask("POST", f"{path}/complete", {"code": "other_", "context": other})
    assert "other_name" in answer.json["matches"]
    assert "other_name" not in server.ask("POST", f"{path}/complete", {"code": "other_"}).json["matches"]
    answer = server.ask("POST", f"{path}/inspect", {"code": "other_name", "context": other}).json
    assert answer["found"] and "str" in answer["data"]["text/plain"]
    for code, status, indent in (("x = 1", "complete", ""), ("if x:", "incomplete", "    "),
                                 ("x = ", "invalid", ""), ("", "complete", "")):
        for where in ({}, {"context": other}):
            answer = server.ask("POST", f"{path}/is_complete", {"code": code, **where})
            assert (answer.status, answer.json) == (200, {"status": status, "indent": indent})
    assert server.ask("POST", f"{path}/is_complete", {}).status == 400
    answer = server.ask("POST", f"{path}/inspect", {"code": "other_name"}).json
    assert answer == {"found": False, "data": {}, "metadata": {}}
    server.execute(session, "def twice(n):\n    'Doubles.'\n    return n * 2")
    plain, detail = (server.ask("POST", f"{path}/inspect", {"code": "twice", "detail": value})
                     .json["data"]["text/plain"] for value in (False, True))
    assert "Doubles." in plain and "return n * 2" not in plain and "return n * 2" in detail


def test_contexts_run_at_the_same_time_and_each_in_order(server):
    """Each execution waits for the other, so they would never end one after the other."""
    session = server.create()
    other = context(server, session)
    first = server.background(session, WAIT.format("a", "b"))
    second = server.background(session, WAIT.format("b", "a"), context=other)
    assert server.poll(session, first)["stdout"] == "met\n"
    assert server.poll(session, second)["stdout"] == "met\n"
    server.execute(session, "seen = []", context=other)
    for number in range(4):
        server.background(session, f"seen.append({number})", context=other)
    assert server.execute(session, "print(seen)", context=other)["stdout"] == "[0, 1, 2, 3]\n"


def test_a_context_opens_while_the_session_is_busy(server):
    session = server.create()
    running = server.background(session, "while True: pass")
    other = context(server, session)
    assert server.execute(session, "print(1)", context=other)["stdout"] == "1\n"
    assert server.ask("POST", f"/sessions/{session}/interrupt", {"context": other}).json == {
        "interrupted": False}
    assert server.ask("POST", f"/sessions/{session}/interrupt").json == {"interrupted": True}
    assert server.poll(session, running)["status"] == "interrupted"
    running = server.background(session, "while True: pass", context=other)
    server.wait_running(session, running)
    assert server.ask("POST", f"/sessions/{session}/interrupt", {"context": other}).json == {
        "interrupted": True}
    assert server.poll(session, running)["status"] == "interrupted"


def test_deleting_a_context_keeps_the_others(server):
    session = server.create()
    other, third = context(server, session), context(server, session)
    server.execute(session, "x = 1")
    running = server.background(session, "while True: pass", context=other)
    waiting = server.background(session, "1", context=other)
    server.wait_running(session, running)
    answer = server.ask("DELETE", f"/sessions/{session}/contexts/{other}")
    assert (answer.status, answer.json) == (200, {})
    assert server.poll(session, running)["status"] == "killed"
    assert server.poll(session, waiting)["status"] == "failed"
    for method, path, body in (
            ("DELETE", f"contexts/{other}", None), ("GET", f"variables?context={other}", None),
            ("POST", "executions", {"code": "1", "context": other}),
            ("POST", "restart", {"context": other}), ("POST", "interrupt", {"context": "ctx_none"}),
            ("POST", "complete", {"code": "x", "context": "nonsense with spaces"})):
        answer = server.ask(method, f"/sessions/{session}/{path}", body)
        assert (answer.status, answer.code) == (404, "context_not_found"), (path, answer)
    listed = server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]
    assert [each["id"] for each in listed] == [third]
    assert server.execute(session, "print(x)")["stdout"] == "1\n"


def test_an_execution_names_its_language(server):
    """The first execution in another language opens a context, and later ones use it; the session's
    own language opens none."""
    session = server.create()
    server.execute(session, "x = 1", language="python")
    first, second = (server.background(session, code, language="bash")
                     for code in ("N=5; echo one > f", "echo $N"))
    record, other = server.poll(session, first), server.poll(session, second)
    assert (record["kernel"], record["status"]) == ("bash", "ok")
    assert other["stdout"] == "5\n" and other["context"] == record["context"]
    assert server.execute(session, "print(x, open('f').read())", language="python")[
        "stdout"] == "1 one\n\n"
    listed = server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]
    assert [(each["id"], each["language"]) for each in listed] == [(record["context"], "bash")]
    here = {"context": record["context"]}
    assert server.execute(session, "echo $N", language="bash", **here)["stdout"] == "5\n"
    answer = server.ask("POST", f"/sessions/{session}/executions",
                        {"code": "1", "language": "python", **here})
    assert (answer.status, answer.code) == (400, "invalid")
    assert record["context"] in answer.json["error"]["message"]


def test_unknown_language(server):
    session = server.create()
    path = f"/sessions/{session}/executions"
    answer = server.ask("POST", path, {"code": "1", "language": "cobol"})
    assert (answer.status, answer.code) == (400, "invalid")
    assert "cobol" in answer.json["error"]["message"]
    waiting = server.background(session, "1", language="cobol")
    answer = server.poll(session, waiting)
    assert answer["status"] == "failed" and "cobol" in answer["why"], answer
    for language in ("", 3, "x" * 64, None):
        answer = server.ask("POST", path, {"code": "1", "language": language})
        assert (answer.status, answer.code) == (400, "invalid"), language
    assert server.ask("GET", f"/sessions/{session}/contexts").json["contexts"] == []
    assert server.execute(session, "print(1)")["stdout"] == "1\n"


def test_one_idempotency_key_is_for_one_kernel(server):
    session = server.create()
    key = {"Idempotency-Key": "once"}
    path = f"/sessions/{session}/executions"
    body = {"code": "echo $$", "language": "bash"}
    first = server.ask("POST", path, body, headers=key).json
    assert server.ask("POST", path, body, headers=key).json == first
    for other in ({"code": "echo $$"}, {**body, "context": first["context"]}):
        answer = server.ask("POST", path, other, headers=key)
        assert (answer.status, answer.code) == (409, "idempotency_conflict"), other


def test_a_language_cannot_open_a_ninth_kernel(server):
    session = server.create()
    for _ in range(7):
        context(server, session)
    answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1", "language": "bash"})
    assert (answer.status, answer.code) == (413, "limit")


def test_limit_of_contexts(server):
    session = server.create()
    for _ in range(7):
        context(server, session)
    answer = server.ask("POST", f"/sessions/{session}/contexts", {})
    assert (answer.status, answer.code) == (413, "limit")
    assert "context" in answer.json["error"]["remedy"]


def test_invalid_contexts(server):
    session = server.create()
    for body in ({"language": "cobol"}, {"template": "data"}, {"cwd": "relative"}, {"nonsense": 1},
                 {"env": {"A B": "1"}}):
        answer = server.ask("POST", f"/sessions/{session}/contexts", body)
        assert (answer.status, answer.code) == (400, "invalid"), body
    answer = server.ask("POST", "/sessions/se_none/contexts", {})
    assert (answer.status, answer.code) == (404, "session_not_found")


def test_restart_keeps_files_and_other_contexts(server):
    session = server.create()
    other = context(server, session)
    server.execute(session, "y = 2", context=other)
    server.execute(session, "x = 1; open('f', 'w').write('kept'); open('/tmp/t', 'w').write('too')")
    assert server.ask("POST", f"/sessions/{session}/restart").json == {}
    record = server.execute(session, "print('x' in globals(), open('f').read(), "
                                     "open('/tmp/t').read())")
    assert record["stdout"] == "False kept too\n" and not lost_of(record)
    assert server.execute(session, "print(y)", context=other)["stdout"] == "2\n"
    assert server.ask("POST", f"/sessions/{session}/restart", {"context": other}).json == {}
    assert server.execute(session, "y", context=other)["error"]["name"] == "NameError"


@pytest.mark.parametrize("of", ["session", "context"])
def test_restart_ends_running_and_fails_queued_executions(server, of):
    session = server.create()
    where = {} if of == "session" else {"context": context(server, session)}
    running = server.background(session, "import time\nwhile True: time.sleep(1)", **where)
    waiting = server.background(session, "print('with variables that are gone')", **where)
    server.wait_running(session, running)
    assert server.ask("POST", f"/sessions/{session}/restart", where).status == 200
    assert server.poll(session, running)["status"] == "killed"
    assert server.poll(session, waiting)["status"] == "failed"
    assert server.execute(session, "print(1)", **where)["stdout"] == "1\n"


def test_a_lost_kernel_is_shown_until_the_next_execution(server):
    session = server.create()
    other = context(server, session)
    show = lambda: server.ask("GET", f"/sessions/{session}").json  # noqa: E731
    assert show()["kernel"] == "ready" and show()["status"] == "live"
    server.execute(session, "x = 1; open('f', 'w').write('kept')")
    assert server.execute(session, "import os; os._exit(3)")["status"] == "kernel_died"
    assert show()["kernel"] == "lost" and show()["status"] == "live"
    assert server.ask("GET", f"/sessions/{session}/files/f").body == b"kept"
    answer = server.ask("PUT", f"/sessions/{session}/files/g", b"new")
    assert answer.status == 200
    record = server.execute(session, "print(open('f').read(), open('g').read())")
    assert record["stdout"] == "kept new\n"
    assert lost_of(record)[0]["detail"]["variables"] == ["x"]
    assert show()["kernel"] == "ready"
    server.execute(session, "import os; os._exit(3)", context=other)
    listed = server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]
    assert listed[0]["kernel"] == "lost" and show()["kernel"] == "ready"
    assert server.ask("POST", f"/sessions/{session}/restart", {"context": other}).status == 200
    listed = server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]
    assert listed[0]["kernel"] == "ready"


def test_closing_a_session_with_busy_contexts(server):
    session = server.create()
    contexts = [context(server, session) for _ in range(3)]
    running = [server.background(session, "while True: pass", context=each) for each in contexts]
    for each in running:
        server.wait_running(session, each)
    answer = server.ask("DELETE", f"/sessions/{session}")
    assert answer.status == 200
    for each in running:
        assert server.poll(session, each)["status"] in ("killed", "kernel_died", "infra_error")
    answer = server.ask("GET", f"/sessions/{session}/contexts")
    assert (answer.status, answer.code) == (410, "session_closed")


def test_contexts_that_are_opened_while_the_session_is_closed(server):
    """The requests come in any order, and each gets a response."""
    for _ in range(5):
        session = server.create()
        answers = []
        threads = [threading.Thread(daemon=True, target=lambda: answers.append(
            server.ask("POST", f"/sessions/{session}/contexts", {}))) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert server.ask("DELETE", f"/sessions/{session}").status == 200
        for thread in threads:
            thread.join(60)
        assert len(answers) == 3
        assert {answer.status for answer in answers} <= {201, 404, 410, 500}, answers


def test_a_stream_of_a_context(server):
    session = server.create()
    other = context(server, session)
    answer = server.ask("POST", f"/sessions/{session}/executions",
                        {"code": "print('streamed')", "context": other, "stream": True})
    assert answer.status == 200 and b"streamed" in answer.body and b"event: done" in answer.body
    assert other.encode() in answer.body
