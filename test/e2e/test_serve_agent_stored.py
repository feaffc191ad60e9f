"""Runs of POST /reckon/v1/agent: idempotency keys, and answers that outlive the daemon."""
import contextlib
import pathlib
import sqlite3
import time

import jsonschema
import pytest
from model_server import Reply
from reckon_serve import SECONDS, kill
from test_serve_agent import (FAST, SCHEMA, SLEEP, agents, asking,  # noqa: F401
                              follow, using)

pytestmark = pytest.mark.one_user

KEY = {"Idempotency-Key": "one question"}


def ask(server, headers=KEY, status=200, **body):
    answer = server.ask("POST", "/agent", {"question": "?", **FAST, **body}, headers)
    assert answer.status == status, answer
    return answer.json


def crash(server):
    kill(server.process.pid)
    server.stop()
    server.start()


def rows(server):
    with contextlib.closing(sqlite3.connect(pathlib.Path(server.reckon.state) / "reckond.db")) as db:
        return db.execute("SELECT id, state, idempotency, question, size FROM run ORDER BY id").fetchall()


# ---- idempotency --------------------------------------------------------------------------------

def test_a_question_with_an_idempotency_key_runs_once(asking):  # noqa: F811
    server = asking(Reply(calls=["print('once')"]), Reply(text="Only once."),
                    Reply(text="Another one."))
    first = ask(server)
    assert ask(server) == first and len(server.model.requests) == 2
    # Also in the background and as a stream.
    assert ask(server, status=202, background=True) == {
        "id": first["id"], "session": first["session"], "model": "scripted/m", "status": "ended"}
    events, response = follow(server, {"question": "?", "stream": True, **FAST}, **KEY)
    assert response.headers["Reckon-Run"] == first["id"]
    assert events[-1][1:] == ("done", {"event": "done", "answer": first})
    assert len(server.model.requests) == 2
    # Also after a restart, and a crash.
    server.stop()
    server.start()
    assert ask(server) == first
    crash(server)
    assert ask(server) == first and len(server.model.requests) == 2
    assert ask(server, {"Idempotency-Key": "another"})["answer"] == "Another one."


@pytest.mark.parametrize("other", [
    {"question": "another"}, {"model": "scripted/other"}, {"keep": True}, {"limits": {"steps": 3}},
    {"files": [{"path": "a", "text": "1"}]}, {"template": "data"}, {"language": "python"}])
def test_another_question_with_the_same_key_is_refused(asking, other):  # noqa: F811
    server = asking(Reply(text="x"))
    ask(server)
    answer = server.ask("POST", "/agent", {"question": "?", **FAST, **other}, KEY)
    assert (answer.status, answer.code) == (409, "idempotency_conflict")
    assert len(server.model.requests) == 1


def test_a_repeated_request_during_the_run_gets_the_same_answer(asking):  # noqa: F811
    """A blocking request repeats the question while a stream follows it."""
    server = asking(Reply(calls=["print('begun', flush=True)\nimport time; time.sleep(1)"]),
                    Reply(text="The same."))
    body = {"question": "?", "stream": True, **FAST}
    with server.events("POST", "/agent", body, {**KEY}) as (events, response):
        assert any(name == "stream" for _, name, _ in events)
        again = ask(server)
        assert again["id"] == response.headers["Reckon-Run"]
        *_, (_, name, data) = events
    assert (name, data["answer"]) == ("done", again) and len(server.model.requests) == 2


def test_an_idempotency_key_belongs_to_its_tenant(asking):  # noqa: F811
    server = asking(lambda _: Reply(text="x"))
    ours = ask(server)["id"]
    with using(server, server.newcomer("a", ["agent", "read"])[1]):
        assert ask(server)["id"] != ours
        for path in ("", "/events"):
            answer = server.ask("GET", f"/agent/{ours}{path}")
            assert (answer.status, answer.code) == (404, "run_not_found")
    assert len(server.model.requests) == 2


def test_a_refused_question_does_not_use_up_its_key(asking):  # noqa: F811
    server = asking(Reply(calls=[SLEEP]), Reply(text="Now."), args=("--agent-runs", "1"))
    other = server.begin()
    server.wait_event(other, "stream")
    assert ask(server, status=429)["error"]["code"] == "busy"
    server.ask("POST", f"/agent/{other}/interrupt")
    server.wait(other)
    assert ask(server, status=409, model="scripted/none")["error"]["code"] == "model_missing"
    assert ask(server, status=400, limits={"budget": 1})["error"]["code"] == "invalid"
    # An unknown session and an invalid file: the model got no request.
    missing = server.ask("POST", "/agent", {"question": "?", "session": "se_none"}, KEY)
    assert missing.status == 404
    failed = ask(server, status=400, files=[{"path": "../x", "text": "1"}])
    assert failed["error"]["code"] == "invalid"
    assert len(server.model.requests) == 1
    assert ask(server)["answer"] == "Now."


@pytest.mark.parametrize("value", ["", "x" * 129])
def test_invalid_idempotency_keys(asking, value):  # noqa: F811
    server = asking(Reply(text="never"))
    assert ask(server, {"Idempotency-Key": value}, status=400)["error"]["code"] == "invalid"
    assert server.model.requests == []


# ---- after a restart ----------------------------------------------------------------------------

@pytest.mark.parametrize("end", ["stop", "crash"])
def test_an_answer_outlives_the_daemon(asking, end):  # noqa: F811
    server = asking(Reply(text="I try.", calls=["print(6 * 7)\nopen('a', 'w').write('a')"]),
                    Reply(text="It is 42."))
    answer = server.run()
    run = answer["id"]
    if end == "stop":
        server.stop()
        server.start()
    else:
        crash(server)
    assert server.ask("GET", f"/agent/{run}").json == answer
    assert server.ask("GET", answer["files"][0]["url"], prefix="").body == b"a"
    events, _ = follow(server, method="GET", path=f"/agent/{run}/events")
    assert [(name, data["answer"]) for _, name, data in events] == [("done", answer)]
    events, _ = follow(server, method="GET", path=f"/agent/{run}/events", **{"Last-Event-ID": "7"})
    assert [(number, name) for number, name, _ in events] == [(8, "done")]
    assert server.ask("POST", f"/agent/{run}/interrupt").json == {"interrupted": 0}
    assert len(server.model.requests) == 2


def test_a_run_that_a_crash_interrupted_reports_that(asking):  # noqa: F811
    server = asking(Reply(calls=["print('begun', flush=True)\nimport time; time.sleep(60)"]),
                    Reply(text="never"))
    session = server.create()
    run = server.ask("POST", "/agent", {"question": "What? \u00e4", "session": session,
                                        "background": True}, KEY).json["id"]
    server.wait_event(run, "stream")
    crash(server)
    answer = server.ask("GET", f"/agent/{run}")
    assert answer.status == 200
    jsonschema.validate(answer.json, SCHEMA)
    assert answer.json["stop"] == "interrupted" and answer.json["answer"] is None
    assert "restarted while" in answer.json["message"] and answer.json["session"] == session
    assert answer.json["question"] == "What? \u00e4" and answer.json["model"] == "scripted/m"
    events, _ = follow(server, method="GET", path=f"/agent/{run}/events")
    assert [(name, data["answer"]) for _, name, data in events] == [("done", answer.json)]
    # The question does not run again.
    again = server.ask("POST", "/agent", {"question": "What? \u00e4", "session": session}, KEY)
    assert again.json == answer.json and len(server.model.requests) == 1
    assert agents(server) == []
    assert any(each["action"] == "agent.lost" for each in server.ask("GET", "/audit").json["entries"])
    crash(server)
    assert server.ask("GET", f"/agent/{run}").json["message"] == answer.json["message"]


def test_a_run_that_a_stop_interrupted_has_its_steps(asking):  # noqa: F811
    server = asking(Reply(text="I wait.", calls=[SLEEP]))
    run = server.begin()
    server.wait_event(run, "stream")
    assert server.stop() == 0
    server.start()
    answer = server.wait(run)
    assert answer["stop"] == "interrupted"
    assert [step["code"] for step in answer["steps"]] == [SLEEP]
    assert answer["message"] == "the daemon is stopping"


def test_a_failure_is_stored_too(asking):  # noqa: F811
    server = asking(Reply(text="never"))
    begun = server.ask("POST", "/agent", {"question": "?", "background": True, **FAST,
                                          "files": [{"path": "../x", "text": "1"}]})
    run = begun.json["id"]
    deadline = time.monotonic() + SECONDS
    while (answer := server.ask("GET", f"/agent/{run}")).status < 300:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    server.stop()
    server.start()
    after = server.ask("GET", f"/agent/{run}")
    assert (after.status, after.code) == (answer.status, answer.code) == (400, "invalid")
    assert after.json["error"]["message"] == answer.json["error"]["message"]
    events, _ = follow(server, method="GET", path=f"/agent/{run}/events")
    assert [(name, data["error"]["code"]) for _, name, data in events] == [("failed", "invalid")]


def test_the_key_of_a_run_is_known_after_a_restart(asking):  # noqa: F811
    server = asking(lambda _: Reply(text="x"))
    mine, twin = (server.ask("POST", "/keys", {"scopes": ["agent"]}).json["key"] for _ in range(2))
    with using(server, mine):
        run = server.run()["id"]
    server.stop()
    server.start()
    with using(server, mine):
        assert server.ask("GET", f"/agent/{run}").json["answer"] == "x"
        assert follow(server, method="GET", path=f"/agent/{run}/events")[0][-1][1] == "done"
    with using(server, twin):
        assert server.ask("GET", f"/agent/{run}").code == "scope_missing"


# ---- retention ----------------------------------------------------------------------------------

def test_runs_expire_with_the_history(asking):  # noqa: F811
    server = asking(lambda _: Reply(text="x"), args=("--history-keep", "1h"))
    old, new = server.run()["id"], server.run()["id"]
    server.stop()
    aged = "run_01JD8Z4J9Q" + old[14:]  # an id of 2024: ids contain their time
    with sqlite3.connect(pathlib.Path(server.reckon.state) / "reckond.db") as db:
        db.execute("UPDATE run SET id = ? WHERE id = ?", (aged, old))
    db.close()
    server.start()
    deadline = time.monotonic() + SECONDS
    while (answer := server.ask("GET", f"/agent/{aged}")).status == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (answer.status, answer.code) == (410, "expired")
    assert server.ask("GET", f"/agent/{new}").json["answer"] == "x"
    assert server.ask("GET", f"/agent/run_{'0' * 25}").code == "run_not_found"


def test_the_oldest_answers_are_dropped_at_the_limit(asking):  # noqa: F811
    """A tenant can store 256 MiB; the rows of dropped answers stay in the state `dropped`."""
    server = asking(lambda _: Reply(text="x"))
    runs = [ask(server, {"Idempotency-Key": str(number)})["id"] for number in range(3)]
    server.stop()
    with sqlite3.connect(pathlib.Path(server.reckon.state) / "reckond.db") as db:
        db.execute("UPDATE run SET size = ? WHERE id <> ?", (130 << 20, runs[2]))
    db.close()
    server.start()
    runs.append(server.run()["id"])
    states = {row[0]: row[1] for row in rows(server)}
    assert [states[run] for run in runs] == ["dropped", "ended", "ended", "ended"]
    answer = server.ask("GET", f"/agent/{runs[0]}")
    assert (answer.status, answer.code) == (410, "expired")
    assert ask(server, {"Idempotency-Key": "0"}, status=410)["error"]["code"] == "expired"
    assert server.ask("GET", f"/agent/{runs[1]}").json["answer"] == "x"
    assert len(server.model.requests) == 4


def test_an_ended_run_does_not_store_its_question_again(asking):  # noqa: F811
    server = asking(Reply(text="x"))
    run = ask(server)["id"]
    server.stop()
    [(stored_id, state, key, question, size)] = rows(server)
    assert (stored_id, state, key, question) == (run, "ended", KEY["Idempotency-Key"], None) and size > 0


# ---- outputs ------------------------------------------------------------------------------------

def test_truncated_output_of_a_run_is_read_page_by_page(asking):  # noqa: F811
    """Outputs of a run's cell can be read by offset and length, and by range, also after a restart."""
    server = asking(Reply(calls=["for i in range(400000): print('line', i)"]), Reply(text="Long."))
    record = server.run()["steps"][0]["record"]
    handle = record["truncated"]["stdout"]["handle"]
    whole = "".join(f"line {i}\n" for i in range(400000)).encode()
    assert server.ask("GET", f"/outputs/{handle}").body == whole
    page = server.ask("GET", f"/outputs/{handle}?offset=1000&length=50")
    assert page.body == whole[1000:1050]
    page = server.ask("GET", f"/outputs/{handle}", headers={"Range": "bytes=-20"})
    assert (page.status, page.body) == (206, whole[-20:])
    server.stop()
    server.start()
    assert server.ask("GET", f"/outputs/{handle}?length=7").body == b"line 0\n"
    with using(server, server.ask("POST", "/keys", {"scopes": ["agent"]}).json["key"]):
        assert server.ask("GET", f"/outputs/{handle}").code == "scope_missing"
