"""POST /reckon/v1/executions with an Idempotency-Key: code runs once, however often it is
requested."""
import concurrent.futures
import http.client
import json

import pytest
from reckon_cli import record_validator
from reckon_serve import PREFIX, SECONDS, Server
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def ask(server, code, key="one", **more):
    return server.ask("POST", "/executions", {"template": "python", "code": code, **more},
                      headers={"Idempotency-Key": key})


def once(server, code, key="one", **more):
    answer = ask(server, code, key, **more)
    assert answer.status == 200, answer
    record_validator().validate(answer.json)
    return answer.json


def sessions(server):
    return server.ask("GET", "/sessions").json["sessions"]


def disconnect(server, code, **more):
    """Send a request and disconnect when the code runs; returns the id of its session."""
    connection = server.connect()
    connection.request("POST", f"{PREFIX}/executions",
                       json.dumps({"template": "python", "code": code, **more}),
                       {**server.headers(), "Idempotency-Key": "one"})
    eventually(lambda: sessions(server))
    session = sessions(server)[0]["id"]
    eventually(lambda: [row["status"] for row in server.ask(
        "GET", f"/sessions/{session}/executions").json["executions"]] == ["running"])
    connection.close()
    return session


def test_the_same_request_gives_the_same_record(server):
    code = "import uuid\nprint(uuid.uuid4())"
    first = once(server, code)
    assert once(server, code) == first
    eventually(lambda: sessions(server)[0]["status"] == "closed")
    assert once(server, code) == first
    assert len(sessions(server)) == 1
    assert once(server, code, "two")["stdout"] != first["stdout"]
    assert len(sessions(server)) == 2


@pytest.mark.parametrize("other", [{"code": "2"}, {"env": {"A": "b"}}, {"timeout_s": 9},
                                   {"language": "bash"}, {"metadata": {"a": 1}}, {"keep": True},
                                   {"limits": {"wall_s": 9}}], ids=str)
def test_another_request_is_refused(server, other):
    once(server, "1")
    answer = ask(server, **{"code": "1", **other})
    assert (answer.status, answer.code) == (409, "idempotency_conflict"), answer


@pytest.mark.parametrize("key, status", [("k" * 128, 200), ("k" * 129, 400), ("", 400)],
                         ids=["longest", "too long", "empty"])
def test_length_of_a_key(server, key, status):
    assert ask(server, "1", key).status == status


def test_many_at_once_run_it_once(server):
    code = "import time, uuid\ntime.sleep(0.3)\nprint(uuid.uuid4())"

    def run(_):
        while (answer := ask(server, code)).status == 503:
            assert answer.headers["Retry-After"] == "1"
        return answer.json["stdout"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(run, range(8)))) == 1
    assert len(sessions(server)) == 1


def test_execution_continues_after_a_disconnect(server):
    session = disconnect(server, "import time\ntime.sleep(1)\nprint('done')")
    record = once(server, "import time\ntime.sleep(1)\nprint('done')")
    assert (record["status"], record["stdout"], record["session"]) == ("ok", "done\n", session)
    eventually(lambda: sessions(server)[0]["status"] == "closed")


def test_with_keep_the_session_exists_after_a_disconnect(server):
    code = "import time\ntime.sleep(0.5)\nx = 6"
    session = disconnect(server, code, keep=True, expires_in_s=600)
    # `expires_in_s` now means another moment, but the request is the same.
    assert once(server, code, keep=True, expires_in_s=600)["session"] == session
    # The key belongs to the tenant; within the session the same key is another one.
    headers = {"Idempotency-Key": "one"}
    assert server.execute(session, "x += 1\nprint(x)", headers)["stdout"] == "7\n"
    assert server.execute(session, "x += 1\nprint(x)", headers)["stdout"] == "7\n"
    server.ask("DELETE", f"/sessions/{session}")
    assert once(server, code, keep=True, expires_in_s=600)["session"] == session
    assert len(sessions(server)) == 1


def test_keys_are_a_tenants_own(server):
    whole = server.key
    mine = once(server, "print(1)")
    tenant = server.ask("POST", "/tenants", {"name": "t"}).json["id"]
    server.key = server.ask("POST", "/keys", {"tenant": tenant, "name": "k",
                                              "scopes": ["execute"]}).json["key"]
    theirs = once(server, "print(2)")
    server.key = whole
    assert (mine["stdout"], theirs["stdout"]) == ("1\n", "2\n")
    assert once(server, "print(1)") == mine


def test_refused_requests_do_not_use_up_the_key(server):
    assert ask(server, "1", template="no-such").status == 404
    assert ask(server, "1", timeout_s=0.5).status == 200
    whole = server.key
    tenant = server.ask("POST", "/tenants", {"name": "t", "quotas": {"executions": 1}}).json["id"]
    server.key = server.ask("POST", "/keys", {"tenant": tenant, "name": "k",
                                              "scopes": ["sessions", "execute"]}).json["key"]
    session = server.create()
    running = server.background(session, "import time; time.sleep(600)")
    assert ask(server, "print(1)").code == "quota_exceeded"
    server.ask("POST", f"/sessions/{session}/executions/{running}/cancel")
    eventually(lambda: ask(server, "print(1)").status == 200)
    assert once(server, "print(1)")["stdout"] == "1\n"
    server.key = whole


def test_a_crash_is_reported_and_the_code_does_not_run_again(reckon):
    code = "import time\ntime.sleep(600)"
    with Server(reckon) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        done = once(server, "print(1)", "two")
        pending = pool.submit(ask, server, code)
        eventually(lambda: [row for row in sessions(server) if row["status"] == "live" and
                            server.ask("GET", f"/sessions/{row['id']}/executions")
                            .json["executions"][:1]])
        server.process.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            pending.result(SECONDS)
        server.process.wait(SECONDS)
        server.start()
        answer = ask(server, code)
        assert (answer.status, answer.code) == (410, "execution_lost"), answer
        assert "new key" in answer.json["error"]["remedy"]
        assert once(server, "print(1)", "two") == done
        eventually(lambda: all(row["status"] == "closed" for row in sessions(server)))


def test_a_stop_interrupts_the_execution(reckon):
    code = "import time\ntime.sleep(600)"
    with Server(reckon) as server:
        disconnect(server, code)
        server.process.terminate()
        server.process.wait(SECONDS)
        server.start()
        assert once(server, code)["status"] == "interrupted"


def test_a_cancelled_execution_gives_its_record(server):
    code = "import time\ntime.sleep(600)"
    session = disconnect(server, code)
    row = server.ask("GET", f"/sessions/{session}/executions").json["executions"][0]
    server.ask("POST", f"/sessions/{session}/executions/{row['id']}/cancel")
    assert once(server, code)["status"] == "interrupted"
