"""POST /reckon/v1/agent: a scripted model answers questions through the daemon."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import time

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json, record_validator
from reckon_serve import SECONDS, Server, kill
from waiting import eventually

pytestmark = pytest.mark.one_user

SCHEMA = parse_json((ROOT / "docs/ask.schema.json").read_bytes())
KEY = "sk-never-to-be-seen-31337"
FAST = {"template": "python"}
SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(60)"


class Asking(Server):
    """A daemon whose models file names the scripted model."""

    def __init__(self, reckon, model, *args, default="", prices="", key_env="",
                 **options):
        self.file = reckon.work / "models.ini"
        self.file.write_text(
            f"[default]\nmodel = scripted/m\nretries = 1\n{default}\n"
            f"[provider scripted]\nprotocol = chat\nbase-url = {model.url}/v1\n"
            f"{f'key-env = {key_env}' if key_env else f'key = {KEY}'}\n"
            f"{prices}\n[model scripted/other]\ncalling = fenced\n")
        self.file.chmod(0o600)
        reckon.user.own(self.file)
        super().__init__(reckon, "--models", self.file, *args, **options)

    def run(self, question="?", status=200, **body):
        answer = self.ask("POST", "/agent", {"question": question, **FAST, **body})
        assert answer.status == status, answer
        if status == 200:
            jsonschema.validate(answer.json, SCHEMA)
        return answer.json if status < 300 else answer

    def in_session(self, session, question="?", **body):
        answer = self.ask("POST", "/agent", {"question": question, "session": session, **body})
        assert answer.status == 200, answer
        jsonschema.validate(answer.json, SCHEMA)
        return answer.json

    def begin(self, question="?", **body):
        return self.run(question, 202, background=True, **body)["id"]

    def wait(self, run):
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.ask("GET", f"/agent/{run}")
            assert answer.status == 200, answer
            if "stop" in answer.json:
                jsonschema.validate(answer.json, SCHEMA)
                return answer.json
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)

    def wait_event(self, run, wanted):
        with self.events("GET", f"/agent/{run}/events") as (events, _):
            for _, name, data in events:
                if name == wanted:
                    return data
        raise AssertionError(f"{wanted} did not come")


@pytest.fixture
def asking(reckon):
    with contextlib.ExitStack() as stack:
        def start(*script, args=(), **options):
            model = stack.enter_context(ModelServer(*script))
            server = stack.enter_context(Asking(reckon, model, *args, **options))
            server.model = model
            return server
        yield start


def requests(server):
    return [str(request.body) for request in server.model.requests]


def agents(server):
    """The pids of the daemon's agents."""
    found = []
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    names = {}
    for pid in found:
        with contextlib.suppress(OSError):
            names[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return [pid for pid, name in names.items() if name == "reckon-agent"]


# ---- question in, answer out --------------------------------------------------------------------

def test_a_question_is_answered(asking):
    server = asking(Reply(text="I compute.", calls=["x = 6 * 7\nprint(y)"]),
                    Reply(calls=["print(x); open('out.txt', 'w').write('42')"]),
                    Reply(text="It is **42**."))
    answer = server.run("What is 6 times 7?")
    assert answer["answer"] == "It is **42**." and answer["stop"] == "answer"
    assert answer["model"] == "scripted/m" and answer["id"].startswith("run_")
    assert [step["status"] for step in answer["steps"]] == ["error", "ok"]
    assert answer["steps"][1]["record"]["stdout"] == "42\n"
    assert answer["usage"]["input_tokens"] == 300 and answer["cost"] is None
    assert "What is 6 times 7?" in requests(server)[0] and "NameError" in requests(server)[1]
    assert server.model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    file, = answer["files"]
    assert (file["path"], file["size"]) == ("out.txt", 2)
    assert server.ask("GET", file["url"], prefix="").body == b"42"
    # Its session has ended, and its executions are in the history like any.
    ended = server.ask("GET", f"/sessions/{answer['session']}")
    assert (ended.status, ended.code) == (410, "session_closed")
    listed = server.ask("GET", f"/sessions/{answer['session']}/executions").json["executions"]
    assert [each["id"] for each in listed] == [step["execution"] for step in
                                               reversed(answer["steps"])]
    for step in answer["steps"]:
        shown = server.ask("GET", f"/sessions/{answer['session']}/executions/{step['execution']}")
        assert shown.json == step["record"]
    assert server.ask("GET", f"/agent/{answer['id']}").json == answer
    assert agents(server) == []


def test_a_question_in_an_existing_session(asking):
    server = asking(Reply(calls=["total = price * 2\nprint(total)"]), Reply(text="10."),
                    Reply(calls=["print(total + 1)"]), Reply(text="11."))
    session = server.create()
    server.execute(session, "price = 5")
    first = server.in_session(session, "Twice the price?")
    assert first["answer"] == "10." and first["session"] == session
    assert server.execute(session, "total")["results"][0]["data"]["text/plain"] == "10"
    second = server.in_session(session, "And one more?")
    assert second["steps"][0]["record"]["stdout"] == "11\n"
    sequences = [step["record"]["sequence"] for answer in (first, second)
                 for step in answer["steps"]]
    assert sequences == [2, 4]
    # Each question is a conversation of its own, without the earlier questions.
    assert "Twice the price?" not in requests(server)[2]
    assert server.ask("GET", f"/sessions/{session}").json["status"] == "live"


def test_keep_keeps_a_new_session(asking):
    server = asking(Reply(calls=["kept = 1"]), Reply(text="Done."))
    answer = server.run("Set it.", keep=True)
    assert server.execute(answer["session"], "kept")["status"] == "ok"


def test_files_come_with_a_question(asking):
    code = "print(sorted(__import__('os').listdir()), open('a.csv').read(), open('b/c.bin','rb').read())"
    server = asking(Reply(calls=[code]), Reply(text="Seen."))
    answer = server.run("What is there?", files=[
        {"path": "a.csv", "text": "x\u00e4"}, {"path": "b/c.bin", "base64": "AAECAw=="}, "later.txt"])
    assert answer["steps"][0]["record"]["stdout"] == \
        "['a.csv', 'b'] x\u00e4 b'\\x00\\x01\\x02\\x03'\n"
    for line in ("a.csv (3 bytes)", "b/c.bin (4 bytes)", "later.txt"):
        assert line in requests(server)[0]


@pytest.mark.parametrize("body, why", [
    ({"files": [{"path": "a", "text": "1", "base64": "AA=="}]}, "files"),
    ({"files": [{"path": "a", "base64": "?"}]}, "base64"),
    ({"files": [{"text": "1"}]}, "path is missing"),
    ({"files": [7]}, "files"), ({"files": {}}, "list"),
    ({"question": ""}, "question"), ({"question": 1}, "question"), ({"oops": 1}, "oops"),
    ({"limits": {"steps": 0}}, "limits.steps"), ({"limits": {"wall_s": -1}}, "limits.wall_s"),
    ({"limits": {"budget": "1"}}, "limits.budget"), ({"limits": {"x": 1}}, "limits.x"),
    ({"stream": True, "background": True}, "cannot be used together"),
    ({"session": "se_1", "keep": True}, "session and keep"), ({"model": ""}, "model"),
    ({"limits": {"budget": 1}}, "price"),
])
def test_invalid_requests_name_the_member(asking, body, why):
    server = asking(Reply(text="never"))
    answer = server.ask("POST", "/agent", {"question": "?", **body})
    assert (answer.status, answer.code) == (400, "invalid") and why in answer.json["error"]["message"]
    assert server.model.requests == []


def test_an_invalid_file_fails_before_the_model_is_requested(asking):
    server = asking(Reply(text="never"))
    answer = server.run(status=400, files=[{"path": "../x", "text": "1"}])
    assert answer.code == "invalid" and server.model.requests == []


# ---- following ----------------------------------------------------------------------------------

def follow(server, body=None, path="/agent", method="POST", **headers):
    with server.events(method, path, body, headers) as (events, response):
        return list(events), response


def test_events_are_in_order_and_the_last_has_the_answer(asking):
    server = asking(Reply(text="I try.", thought="Hm.", calls=["print('a'); 1/0"]),
                    Reply(text="It is infinite."))
    events, response = follow(server, {"question": "?", "stream": True, **FAST})
    names = [name for _, name, _ in events]
    assert names[0] == "run" and names[-1] == "done"
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    data = {name: each for _, name, each in events}
    run = data["run"]["id"]
    assert response.headers["Reckon-Run"] == run
    assert response.headers["Location"] == f"/reckon/v1/agent/{run}"
    assert names.index("turn") < names.index("cell") < names.index("stream") \
        < names.index("error") < names.index("record")
    assert "".join(each["text"] for _, name, each in events if name == "text") == \
        "I try.It is infinite."
    assert "".join(each["text"] for _, name, each in events if name == "thought") == "Hm."
    assert data["cell"]["code"] == "print('a'); 1/0" and data["cell"]["step"] == 0
    assert data["cell"]["execution"] == data["record"]["execution"] == data["record"]["record"]["id"]
    record_validator().validate(data["record"]["record"])
    answer = data["done"]["answer"]
    jsonschema.validate(answer, SCHEMA)
    assert answer["answer"] == "It is infinite." and answer["steps"][0]["record"] == \
        data["record"]["record"]
    # Events after an id, by header and by query.
    middle = names.index("cell")
    again, _ = follow(server, method="GET", path=f"/agent/{run}/events",
                      **{"Last-Event-ID": str(events[middle][0])})
    assert again == events[middle + 1:]
    again, _ = follow(server, method="GET", path=f"/agent/{run}/events?after={len(events) - 1}")
    assert [name for _, name, _ in again] == ["done"]


def test_a_stream_by_its_header(asking):
    server = asking(Reply(text="x"))
    events, _ = follow(server, {"question": "?", **FAST}, Accept="text/event-stream")
    assert events[-1][2]["answer"]["answer"] == "x"


def test_in_the_background(asking):
    server = asking(Reply(calls=["print(1)"]), Reply(text="x"))
    begun = server.run(status=202, background=True)
    assert begun["status"] in ("preparing", "running") and begun["model"] == "scripted/m"
    assert server.wait(begun["id"])["answer"] == "x"


def test_a_run_continues_after_its_stream_lost_the_client(asking):
    server = asking(Reply(calls=["import time; time.sleep(1); print('on')"]), Reply(text="x"))
    with server.events("POST", "/agent", {"question": "?", "stream": True, **FAST}) as (events, _):
        run = next(events)[2]["id"]
    assert server.wait(run)["steps"][0]["record"]["stdout"] == "on\n"


# ---- ending -------------------------------------------------------------------------------------

ENDLESS = Reply(raw=b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
                endless=b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\n')


@pytest.mark.parametrize("reply, event", [(ENDLESS, "text"), (Reply(calls=[SLEEP]), "stream")])
def test_an_interrupt(asking, reply, event):
    server = asking(reply)
    run = server.begin()
    server.wait_event(run, event)
    assert server.ask("POST", f"/agent/{run}/interrupt").json == {"interrupted": 1}
    answer = server.wait(run)
    assert answer["stop"] == "interrupted"
    if event == "stream":
        assert answer["steps"][0]["record"]["status"] == "interrupted"
    assert server.ask("POST", f"/agent/{run}/interrupt").json == {"interrupted": 0}
    assert agents(server) == []


def test_a_client_disconnect_cancels_the_run(asking):
    server = asking(lambda _: Reply(calls=[SLEEP]))
    session = server.create()
    connection = server.connect()
    connection.request("POST", "/reckon/v1/agent", json.dumps({"question": "?",
                                                               "session": session}),
                       server.headers())
    eventually(lambda: server.ask("GET", f"/sessions/{session}/executions").json["executions"])
    connection.close()
    eventually(lambda: not agents(server))
    execution, = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
    assert server.poll(session, execution["id"])["status"] == "interrupted"
    assert len(server.model.requests) == 1


def gone_by(record):
    return [each["code"] for each in record["diagnostics"]] == ["client_gone"]


def test_on_disconnect_continue_continues_the_run(asking):
    server = asking(Reply(calls=["print('begun', flush=True)\nimport time; time.sleep(0.7)"]),
                    Reply(text="All the same."))
    session = server.create()
    connection = server.connect()
    connection.request("POST", "/reckon/v1/agent", json.dumps({
        "question": "?", "session": session, "on_disconnect": "continue"}), server.headers())
    eventually(lambda: server.ask("GET", f"/sessions/{session}/executions").json["executions"])
    connection.close()
    eventually(lambda: len(server.model.requests) >= 2 and not agents(server))
    execution, = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
    assert execution["status"] == "ok"


def test_grace_zero_ends_a_run_with_its_stream(asking):
    server = asking(Reply(calls=[SLEEP]))
    body = {"question": "?", "stream": True, "disconnect_grace_s": 0, "keep": True, **FAST}
    with server.events("POST", "/agent", body) as (events, _):
        run = next(data["id"] for _, name, data in events if name == "run")
        assert any(name == "stream" for _, name, _ in events)
    answer = server.wait(run)
    assert answer["stop"] == "interrupted" and "went away" in answer["message"]
    assert gone_by(server.poll(answer["session"], answer["steps"][0]["execution"]))
    assert agents(server) == []


def test_a_cell_cancelled_before_its_start_is_reported_to_the_model(asking):
    server = asking(Reply(calls=["print('never')"]), Reply(text="Without it, then."))
    session = server.create()
    first = server.background(session, SLEEP)
    server.wait_running(session, first)
    run = server.ask("POST", "/agent", {"question": "?", "session": session,
                                        "background": True}).json["id"]
    cell = server.wait_event(run, "cell")["execution"]
    path = f"/sessions/{session}/executions/{cell}/cancel"
    assert server.ask("POST", path).json == {"cancelled": True}
    assert server.wait(run)["answer"] == "Without it, then."
    assert "before it began" in requests(server)[1]
    assert server.ask("POST", f"/sessions/{session}/interrupt").json == {"interrupted": True}


def test_a_run_continues_after_a_crash_of_the_front(asking):
    server = asking(Reply(calls=["print('begun', flush=True)\nimport time; time.sleep(0.7)"]),
                    Reply(text="There."))
    body = {"question": "?", "stream": True, "disconnect_grace_s": 0, **FAST}
    with server.events("POST", "/agent", body) as (events, _):
        run = next(data["id"] for _, name, data in events if name == "run")
        assert any(name == "stream" for _, name, _ in events)
        kill(server.front())
        eventually(lambda: "the front was started again" in server.log())
    assert server.wait(run)["answer"] == "There."


def test_the_session_is_deleted_during_a_run(asking):
    server = asking(Reply(calls=[SLEEP]))
    session = server.create()
    run = server.ask("POST", "/agent", {"question": "?", "session": session,
                                        "background": True}).json["id"]
    server.wait_event(run, "stream")
    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    answer = server.wait(run)
    assert answer["stop"] == "session_lost" and agents(server) == []


def test_an_agent_that_is_killed(asking):
    server = asking(Reply(calls=[SLEEP]), Reply(text="Again."))
    session = server.create()
    run = server.ask("POST", "/agent", {"question": "?", "session": session,
                                        "background": True}).json["id"]
    server.wait_event(run, "stream")
    pid, = agents(server)
    kill(pid)
    answer = server.wait(run)
    assert answer["stop"] == "failed" and "reckon-agent" in answer["message"]
    assert agents(server) == []
    # The cell was interrupted, and the session still answers questions.
    assert server.poll(session, answer["steps"][0]["execution"])["status"] == "interrupted"
    assert server.in_session(session)["answer"] == "Again."


def test_the_daemon_stops_during_a_run(asking):
    server = asking(Reply(calls=["kept = 1"]), Reply(calls=[SLEEP]), Reply(text="Back."))
    session = server.create()
    run = server.ask("POST", "/agent", {"question": "?", "session": session,
                                        "background": True}).json["id"]
    with server.events("GET", f"/agent/{run}/events") as (events, _):
        assert any(name == "stream" for _, name, _ in events)
        agent, = agents(server)
        assert server.stop() == 0
        assert not pathlib.Path(f"/proc/{agent}").exists()
    server.start()
    assert server.ask("GET", f"/agent/{run}").json["stop"] == "interrupted"
    statuses = [each["status"] for each in
                server.ask("GET", f"/sessions/{session}/executions").json["executions"]]
    assert statuses == ["interrupted", "ok"]
    assert server.in_session(session)["answer"] == "Back."


def test_a_stop_with_grace_lets_it_finish(asking):
    server = asking(Reply(calls=["import time; print('on', flush=True); time.sleep(1)"]),
                    Reply(text="Finished."), args=("--stop-grace", "30"))
    with server.events("POST", "/agent", {"question": "?", "stream": True, **FAST}) as (events, _):
        for _, name, data in events:
            if name == "stream":
                server.process.send_signal(signal.SIGTERM)
    assert name == "done" and data["answer"]["answer"] == "Finished."
    assert server.stop() == 0


def test_a_stop_with_grace_waits_until_the_answer_is_delivered(asking):
    """The front is stopped while the answer is made, so it reads the answer late."""
    server = asking(Reply(calls=["print('on', flush=True)\n"
                                 "import os, time\nwhile not os.path.exists('go'): time.sleep(.01)\n"
                                 "time.sleep(1)"]),
                    Reply(text="Finished."), args=("--stop-grace", "60"))
    session = server.create()
    question = {"question": "?", "session": session, "stream": True}
    with server.events("POST", "/agent", question) as (events, _):
        for _, name, data in events:
            if name == "stream":
                break
        assert server.ask("PUT", f"/sessions/{session}/files/go", b"").status == 200
        front = server.front()
        server.process.send_signal(signal.SIGTERM)
        os.kill(front, signal.SIGSTOP)
        eventually(lambda: len(server.model.requests) == 2)
        time.sleep(0.7)  # a daemon that does not wait would stop in this time
        os.kill(front, signal.SIGCONT)
        for _, name, data in events:
            pass
    assert name == "done" and data["answer"]["answer"] == "Finished."
    assert server.stop() == 0


def test_a_draining_daemon_takes_questions_only_in_existing_sessions(asking):
    server = asking(Reply(text="x"))
    session = server.create()
    assert server.ask("POST", "/drain").status == 200
    assert server.run(status=503).code == "draining"
    assert server.in_session(session)["answer"] == "x"


# ---- limits -------------------------------------------------------------------------------------

@pytest.mark.parametrize("limits, script, stop", [
    ({"steps": 1}, [Reply(calls=["1"]), Reply(calls=["2"]), Reply(text="I had to stop.")],
     "max_steps"),
    ({"tokens": 100}, [Reply(calls=["1"])], "max_tokens"),
    ({"wall_s": 1.5}, [Reply(calls=["import time; time.sleep(2)"])], "max_time"),
])
def test_limits_of_a_question(asking, limits, script, stop):
    assert asking(*script).run(limits=limits)["stop"] == stop


def test_a_cell_ends_with_the_time_of_its_question(asking):
    server = asking(Reply(calls=["x = 7; import time; time.sleep(25); x = 8"]))
    session = server.create()
    assert server.in_session(session, limits={"wall_s": 1.5})["stop"] == "max_time"
    [row] = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
    assert row["status"] == "timeout"
    assert server.execute(session, "print(x)")["stdout"] == "7\n"


def test_the_cost_and_the_budget(asking):
    server = asking(Reply(calls=["1"]), Reply(text="x"), Reply(calls=["1"]), Reply(text="never"),
                    prices="price-in = 1\nprice-out = 2\n")
    assert server.run()["cost"] == 0.00028
    answer = server.run(limits={"budget": 0.0001})
    assert answer["stop"] == "budget" and answer["cost"] == 0.00014


def test_the_models_file_limits_the_limits_of_requests(asking):
    server = asking(Reply(text="x"), Reply(text="y"),
                    default="max-steps = 3\nmax-time = 60\nmax-tokens = 5000")
    for limits in ({"steps": 4}, {"wall_s": 61}, {"tokens": 5001}):
        assert server.run(status=403, limits=limits).code == "denied"
    assert server.run(limits={"steps": 3, "wall_s": 60, "tokens": 5000})["answer"] == "x"


def test_agent_runs_are_limited_in_total_and_per_tenant(asking):
    server = asking(lambda _: Reply(calls=[SLEEP]), args=("--agent-runs-tenant", "2",
                                                          "--agent-runs", "3"))
    runs = [server.begin(), server.begin()]
    refused = server.run(status=429)
    assert refused.code == "quota_exceeded" and refused.headers["Retry-After"] == "5"
    assert refused.json["error"]["quota"]["name"] == "agent_runs"
    _, key = server.newcomer("b", ["agent", "read"])
    ours, server.key = server.key, key
    server.begin()
    busy = server.run(status=429)
    assert busy.code == "busy"
    server.key = ours
    server.ask("POST", f"/agent/{runs[0]}/interrupt")
    assert server.wait(runs[0])["stop"] == "interrupted"
    server.begin()


def test_a_quota_of_the_tenant_applies_to_cells_of_runs(asking):
    server = asking(Reply(calls=["print('never')"]), Reply(text="I may not."),
                    args=("--quota-executions", "1"))
    session = server.create()
    other = server.create()
    running = server.background(other, SLEEP)
    answer = server.in_session(session)
    assert answer["answer"] == "I may not." and answer["steps"][0]["status"] == "refused"
    assert "quota" in requests(server)[1]
    server.ask("POST", f"/sessions/{other}/interrupt")
    server.poll(other, running)


# ---- models -------------------------------------------------------------------------------------

def test_a_model_of_the_models_file(asking):
    server = asking(Reply(text="```python\nprint(6*7)\n```"), Reply(text="42"))
    answer = server.run(model="scripted/other")
    assert answer["model"] == "scripted/other" and len(answer["steps"]) == 1
    assert server.model.requests[0].body["model"] == "other"


@pytest.mark.parametrize("model", ["scripted/expensive", "openai/m", "nobody/m", "local/smollm2",
                                   "x", "/", "scripted/"])
def test_models_that_the_file_does_not_name(asking, model):
    server = asking(Reply(text="never"), env={"OPENAI_API_KEY": "sk-of-whoever-started-it"})
    answer = server.run(status=409, model=model)
    assert answer.code == "model_missing" and "models.ini" in answer.json["error"]["remedy"]
    assert server.model.requests == [] and "sk-of" not in answer.body.decode()


def test_without_a_file_there_is_no_model(reckon):
    with Server(reckon, env={"OPENAI_API_KEY": "x", "RECKON_MODEL": "openai/m"}) as server:
        answer = server.ask("POST", "/agent", {"question": "?"})
        assert (answer.status, answer.code) == (409, "model_missing")


def test_the_daemon_does_not_start_with_an_invalid_models_file(reckon):
    with ModelServer() as model:
        server = Asking(reckon, model, prices="oops = 1\n")
        with pytest.raises(AssertionError, match="did not start"):
            server.start()
        assert server.process.wait(SECONDS) == 2
        assert "oops" in server.log() and KEY not in server.log()


def test_the_models_file_is_reloaded(asking):
    server = asking(Reply(text="x"), Reply(text="y"))
    good = server.file.read_text()
    assert server.run()["answer"] == "x"
    server.file.write_text("[default]\noops = 1\n")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "the models were not reloaded" in server.log())
    assert server.run()["answer"] == "y"
    server.file.write_text(good.replace("model = scripted/m", "model = scripted/new"))
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.run(status=202, background=True)["model"] == "scripted/new")


# ---- permissions ------------------------------------------------------------------------------

@contextlib.contextmanager
def using(server, key):
    ours, server.key = server.key, key
    yield
    server.key = ours


def test_runs_need_the_agent_scope(asking):
    server = asking(Reply(text="x"))
    key = server.ask("POST", "/keys", {"scopes": ["sessions", "execute", "files", "read"]}).json
    with using(server, key["key"]):
        answer = server.run(status=403)
        assert answer.code == "scope_missing" and answer.json["error"]["scope"] == "agent"
    key = server.ask("POST", "/keys", {"scopes": ["agent", "read"]}).json["key"]
    with using(server, key):
        assert server.run()["answer"] == "x"
    assert server.ask("POST", "/agent", {"question": "?"}, key=False).status == 401


def test_a_key_with_only_the_agent_scope_gets_its_own_answers(asking):
    server = asking(lambda _: Reply(text="For you."))
    theirs = server.run("theirs")["id"]
    mine, twin = (server.ask("POST", "/keys", {"scopes": ["agent"]}).json["key"] for _ in range(2))
    with using(server, mine):
        assert server.run()["answer"] == "For you."
        events, response = follow(server, {"question": "?", "stream": True, **FAST})
        assert [name for _, name, _ in events][-1] == "done", events
        run = response.headers["Reckon-Run"]
        assert follow(server, method="GET", path=f"/agent/{run}/events")[0] == events
        assert server.wait(server.begin())["answer"] == "For you."
        assert server.ask("GET", f"/agent/{run}").json == events[-1][2]["answer"]
    for key, named in ((mine, theirs), (twin, run), (mine, "run_01M80J7V9Z7WCA235G7GJNP5HC")):
        with using(server, key):
            for path in ("", "/events"):
                answer = server.ask("GET", f"/agent/{named}{path}")
                assert (answer.status, answer.code) == (403, "scope_missing")


def test_runs_and_sessions_of_other_tenants_are_not_found(asking):
    server = asking(Reply(calls=[SLEEP]))
    session = server.create()
    run = server.ask("POST", "/agent", {"question": "secret", "session": session,
                                        "background": True}).json["id"]
    server.wait_event(run, "stream")
    _, key = server.newcomer("b", ["agent", "read"])
    with using(server, key):
        answer = server.ask("POST", "/agent", {"question": "?", "session": session})
        assert (answer.status, answer.code) == (404, "session_not_found")
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/interrupt")):
            answer = server.ask(method, f"/agent/{run}{path}")
            assert "secret" not in answer.body.decode()
            if path == "/events":
                assert "run_not_found" in answer.body.decode()
            else:
                assert (answer.status, answer.code) == (404, "run_not_found")
    assert len(server.model.requests) == 1 and len(agents(server)) == 1


# ---- hostile models -----------------------------------------------------------------------------

ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x00\u2028<script>alert(1)</script>"


def test_control_characters_of_a_model_are_escaped(asking):
    server = asking(Reply(text=ESCAPES, calls=["print(1)"]), Reply(text=ESCAPES))
    events, _ = follow(server, {"question": "?", "stream": True, **FAST})
    answer = events[-1][2]["answer"]
    raw = server.ask("GET", f"/agent/{answer['id']}").body
    assert b"\x1b" not in raw and b"\x00" not in raw and b"\x07" not in raw
    assert "owned" in answer["answer"]


def test_arguments_of_ten_megabytes(asking):
    huge = {"code": "x = '" + "a" * (10 << 20) + "'"}
    server = asking(Reply(calls=[{"args": huge}], pieces=65536), Reply(text="Too much."))
    answer = server.run()
    assert answer["answer"] == "Too much."
    assert all(step["record"] is None or len(step["code"]) < 2 << 20 for step in answer["steps"])


def test_an_answer_without_end(asking):
    flood = Reply(raw=b"data: " + b"x" * 65536, endless=b"x" * 65536)
    server = asking(flood, flood)
    assert server.run()["stop"] == "failed"


def test_code_with_a_nul_character_does_not_run(asking):
    server = asking(Reply(calls=[{"raw": '{"code": "print(1)\\u0000"}'}]), Reply(text="Sorry."))
    answer = server.run()
    assert answer["answer"] == "Sorry."
    assert all(step["record"] is None for step in answer["steps"])


def test_errors_of_the_provider_are_reported(asking):
    server = asking(Reply(status=401, error={"error": {"message": "no such key", "type": "x"}}))
    answer = server.run()
    assert answer["stop"] == "failed" and "no such key" in answer["message"]


# ---- checks of answers --------------------------------------------------------------------------

def test_an_answer_is_checked_and_corrected_once(asking):
    server = asking(Reply(calls=["print('mean', 1234.5); open('a.csv', 'w').write('x')"]),
                    Reply(text="It is 98,765. [a](sandbox:/mnt/data/a.csv) "
                               "[b](sandbox:/mnt/data/b.csv)"),
                    Reply(text="It is 1,234.5. [a](sandbox:/mnt/data/a.csv)"))
    answer = server.run()
    assert answer["answer"].startswith("It is 1,234.5.")
    assert answer["checked"] == {"numbers": 1, "links": 1, "unsupported_count": 0,
                                 "unsupported": []}
    assert "98,765" in requests(server)[2] and "b.csv" in requests(server)[2]
    with server.events("GET", f"/agent/{answer['id']}/events") as (events, _):
        names = [name for _, name, _ in events]
    assert names.count("discard") == 1 and names[-1] == "done"


@pytest.mark.parametrize("how, unsupported", [("mark", 1), ("off", None)])
def test_verify_off_and_mark_request_no_correction(asking, how, unsupported):
    server = asking(Reply(calls=["print(17)"]), Reply(text="It is 98,765."))
    answer = server.run(verify=how)
    assert (answer["checked"] or {}).get("unsupported_count") == unsupported
    assert len(server.model.requests) == 2


def test_links_are_not_checked_in_an_existing_session(asking):
    server = asking(Reply(text="[a](sandbox:/mnt/data/a.csv)"))
    session = server.ask("POST", "/sessions", {**FAST}).json["id"]
    answer = server.in_session(session)
    assert answer["checked"]["links"] == 0 and answer["checked"]["unsupported_count"] == 0


def test_a_conversation_is_marked_and_not_corrected(asking):
    server = asking(Reply(calls=["print(17)"]), Reply(text="It is 98,765."))
    answer = server.ask("POST", "/agent", {**FAST, "conversation": {
        "schema": "reckon.conversation/1", "code": True,
        "messages": [{"role": "user", "text": "How much?"}]}}).json
    assert answer["answer"] == "It is 98,765." and len(server.model.requests) == 2
    assert [claim["text"] for claim in answer["checked"]["unsupported"]] == ["98,765"]


# ---- the key ------------------------------------------------------------------------------------

def environment(pid):
    return pathlib.Path(f"/proc/{pid}/environ").read_bytes() + \
        pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def test_the_key_goes_only_to_the_model(asking, reckon):
    show = "import os; print(os.environ, open('/proc/self/cmdline').read())"
    server = asking(Reply(calls=[show + "; print('begun', flush=True); "
                                        "import time; time.sleep(2)"]), Reply(text="x"),
                    key_env="MODEL_KEY", env={"MODEL_KEY": KEY, "RECKON_LOG": "debug"})
    run = server.begin("What is the key?")
    server.wait_event(run, "stream")
    agent, = agents(server)
    for pid in (server.front(), agent):
        assert KEY.encode() not in environment(pid)
    answer = server.wait(run)
    assert server.model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    audit = server.ask("GET", "/audit").body.decode()
    assert "agent.start" in audit and "agent.end" in audit
    for text in (json.dumps(answer), server.log(), audit, server.ask("GET", "/metrics", prefix="").body.decode()):
        assert KEY not in text
    for path in pathlib.Path(reckon.state).rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_captured_front_cannot_reach_the_key(asking):
    """The writable memory of the front does not contain the key."""
    server = asking(Reply(calls=[SLEEP]))
    run = server.begin()
    server.wait_event(run, "stream")
    memory = b""
    front = server.front()
    with open(f"/proc/{front}/mem", "rb", 0) as mem:
        for line in pathlib.Path(f"/proc/{front}/maps").read_text().splitlines():
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if "w" not in line.split()[1]:
                continue
            with contextlib.suppress(OSError, ValueError, OverflowError):
                mem.seek(first)
                memory += mem.read(last - first)
    assert memory and KEY.encode() not in memory
    server.ask("POST", f"/agent/{run}/interrupt")


# ---- pages of outputs ---------------------------------------------------------------------------

def test_only_outputs_of_the_run_can_be_read_again(asking):
    def last(body):
        return [m["content"] for m in body["messages"] if m["role"] == "tool"][-1]

    def script(body):
        turn = sum(m["role"] == "tool" for m in body["messages"])
        if turn == 0:
            return Reply(calls=["for i in range(9000): print('row', i)"])
        results.append(last(body))
        handle = re.search(r"out_[0-9a-z]+", results[0]).group()
        wanted = {1: handle, 2: secret}.get(turn)
        if wanted is None:
            return Reply(text="Read.")
        return Reply(calls=[{"raw": json.dumps({"handle": wanted, "lines": "5000:5001"}),
                             "name": "read_output"}])

    results = []
    server = asking(script)
    record = server.execute(server.create(), "print('secret ' * 400000)")
    secret = record["truncated"]["stdout"]["handle"]
    assert server.run()["answer"] == "Read."
    assert results[1].startswith("row 4999\nrow 5000\n") and "secret" not in results[2]


# ---- numbers ------------------------------------------------------------------------------------

def test_runs_are_counted_in_metrics(asking):
    server = asking(Reply(calls=["1"], cached=40, reasoning=3), Reply(text="x"),
                    prices="price-in = 1\nprice-out = 1\n")
    server.run()
    text = server.ask("GET", "/metrics", prefix="").body.decode()
    for line in ('reckon_agent_runs_total{stop="answer"} 1', "reckon_agent_steps_total 1",
                 'reckon_agent_tokens_total{kind="input"} 200',
                 'reckon_agent_tokens_total{kind="cached"} 40',
                 'reckon_agent_tokens_total{kind="output"} 40',
                 'reckon_agent_tokens_total{kind="reasoning"} 3',
                 "reckon_agent_cost_micro_total 240", "reckon_agent_runs_running 0"):
        assert line + "\n" in text, line


def test_many_at_once(asking):
    def reply(body):
        request = [m["content"] for m in body["messages"] if m["role"] == "user"][0]
        number = int(re.search(r"Number (\d+)", str(request))[1])
        done = any(m["role"] == "tool" for m in body["messages"])
        return Reply(text=f"{number * 2}") if done else Reply(calls=[f"print({number} * 2)"])
    server = asking(reply, args=("--agent-runs-tenant", "8"))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: server.run(f"Number {n}"), range(16)))
    assert [answer["answer"] for answer in answers] == [str(n * 2) for n in range(16)]
    assert [answer["steps"][0]["record"]["stdout"] for answer in answers] == \
        [f"{n * 2}\n" for n in range(16)]
    assert agents(server) == []
