"""The calls of the field table as reckond handles them, sent by a captured front without HTTP.

Each result is decoded by its row of the table to the last byte; a file comes with it if the row
says so.
"""
import json

import field_table
import pytest
from captured_front import CapturedFront
from model_server import ModelServer, Reply

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


class Asking:
    """Calls with the daemon's first key."""

    def __init__(self, front, session=None):
        self.front, self.session = front, session

    def values(self, name, values):
        if self.session and "session" in {each.name for each in field_table.call(name)[1].takes}:
            return {"session": self.session, **values}
        return values

    def __call__(self, name, /, **values):
        error, answer = self.front.call(name, self.front.key, **self.values(name, values))
        assert error is None, (name, answer)
        assert self.front.files == field_table.call(name)[1].gives_file, name
        return answer

    def fail(self, name, /, **values):
        error, _ = self.front.call(name, self.front.key, **self.values(name, values))
        assert not self.front.files
        return error


@pytest.fixture
def ask(reckon):
    with CapturedFront(reckon) as front:
        asking = Asking(front)
        asking.session = asking("session_create", template="python",
                                limits={"output_bytes": 4096})["id"]
        yield asking
        assert "the front is gone" not in front.server.log()


def put(ask, path, **conditions):
    ticket = ask("file_put", path=path, **conditions)["ticket"]
    return ask("file_commit", ticket=ticket)


def test_files(ask):
    assert put(ask, "up/a.txt")["size"] == 0
    ask("execute", code="open('x.txt', 'w').write('hi')")
    listed = json.loads(ask("file_list")["files"])
    assert [each["path"] for each in listed["files"]] == ["up/a.txt", "x.txt"]
    listed = json.loads(ask("file_list", recursive=False, limit=1)["files"])
    assert [each["kind"] for each in listed["files"]] == ["folder"] and listed["next"] == "up"
    got = ask("file_get", path="x.txt")
    assert (got["size"], got["mime"]) == (2, "text/plain") and got["etag"] and got["modified"]
    assert ask("file_move", **{"from": "x.txt", "to": "y.txt"}) == {"path": "y.txt",
                                                                    "replaced": None}
    over = {"from": "y.txt", "to": "up/a.txt"}
    assert ask.fail("file_move", **over) == "EXISTS"
    assert ask("file_move", overwrite=True, **over)["replaced"].startswith("ar_")
    assert ask("file_mkdir", path="d/e") == {}
    assert ask.fail("file_delete", path="d") == "INVALID"
    assert ask("file_delete", path="d", recursive=True) == {"deleted": 2}
    for name in ("file_get", "file_delete"):
        assert ask.fail(name, path="none") == "NOT_FOUND"


def test_conditions_of_files(ask):
    etag = put(ask, "a", **{"If-None-Match": "*"})["etag"]
    assert etag
    error, _ = ask.front.call("file_commit", None, ticket=ask(
        "file_put", path="a", **{"If-None-Match": "*"})["ticket"])
    assert error == "PRECONDITION"
    assert ask.fail("file_delete", path="a", **{"If-Match": '"other"'}) == "PRECONDITION"
    assert ask("file_delete", path="a", **{"If-Match": "*"}) == {"deleted": 1}


def test_archives(ask):
    put(ask, "up/a.txt")
    whole, part = ask("archive_get"), ask("archive_get", format="zip", path="up")
    assert whole["counts"] | {"folders": 0} == part["counts"] == {
        "files": 1, "folders": 0, "links": 0, "skipped": 0, "changed": 0}
    assert whole["size"] > 0 and part["size"] > 0
    ticket = ask("archive_put")["ticket"]
    assert ask.fail("archive_commit", ticket=ticket) == "INVALID", "nothing is not an archive"


def test_versions_artifacts_outputs_and_receipts(ask):
    put(ask, "a.txt")
    record = json.loads(ask("execute", code="print('y' * 9000)")["record"])
    version = ask("version_list", path="a.txt")["versions"][0]
    assert (version["path"], version["source"], version["execution"]) == ("a.txt", "upload", None)
    page = ask("artifact_list", limit=1)
    assert page["artifacts"] == [version] and page["next"]
    assert ask("artifact_list", before=page["next"]) == {"artifacts": [], "next": None}
    receipt = ask("receipt_list")["receipts"][0]
    assert (receipt["execution"], receipt["status"]) == (record["id"], record["status"])
    assert json.loads(receipt["receipt"]) == record["receipt"]
    assert ask("artifact_get", artifact=version["artifact"])["etag"] == version["artifact"]
    assert ask("output_get", handle=record["truncated"]["stdout"]["handle"])["size"] == 9001
    assert ask.fail("output_get", handle="out_x") == "NOT_FOUND"
    assert ask("artifact_delete", artifact=version["artifact"]) == {}
    assert ask.fail("artifact_delete", artifact=version["artifact"]) == "NOT_FOUND"
    assert ask("artifact_list") == {"artifacts": [], "next": None}


def test_links(ask):
    put(ask, "a b.txt")
    artifact = ask("artifact_list")["artifacts"][0]["artifact"]
    to_file, once = ask("link_create", path="a b.txt"), ask("link_create", artifact=artifact,
                                                            max_downloads=1)
    assert to_file["url"].endswith("/a%20b.txt") and to_file["name"] == "a b.txt"
    token, used = (each["url"].split("/")[4] for each in (to_file, once))
    assert ask("link_get", token=token, path="x")["name"] == "a b.txt"
    ask("link_get", token=used, path="x", head_only=True)
    ask("link_get", token=used, path="x")
    assert ask.fail("link_get", token=used, path="x") == "LINK_GONE"
    assert ask.fail("link_get", token="x", path="x") == "DENIED"
    assert ask.fail("link_create") == "INVALID"
    links = ask("link_list")["links"]
    assert [each["id"] for each in links] == [once["id"], to_file["id"]]
    assert [each["downloads"] for each in links] == [1, 1]
    assert ask("link_delete", link=to_file["id"]) == {}
    assert ask.fail("link_delete", link=to_file["id"]) == "NOT_FOUND"
    assert ask.fail("link_get", token=token, path="x") == "LINK_GONE"


def follow(ask, execution, after=0):
    """Names of an execution's events; each call requests the events after the last batch."""
    names, goes_on = [], None
    while True:
        batch = ask("execution_events", execution=execution, after=after, goes_on=goes_on)
        for event in batch["events"]:
            assert event["id"] == after + 1 and not batch["missing"]
            assert json.loads(event["data"])["event"] == event["name"]
            after, names = event["id"], [*names, event["name"]]
        assert batch["events"] or batch["is_last"]
        if batch["is_last"]:
            assert batch["failure"] is None
            return names
        goes_on = True


def test_events_are_pulled(ask):
    begun = ask("execute", code="for i in range(3):\n print(i, flush=True)", stream=True)
    execution = begun["execution"]["id"]
    names = follow(ask, execution)
    assert names[-1] == "done" and "stream" in names
    assert follow(ask, execution, after=len(names) - 1) == ["done"]
    for _ in range(6):
        ask("execute", code="1")
    batch = ask("execution_events", execution=execution)
    assert [each["name"] for each in batch["events"]] == ["done"] and batch["is_last"]
    assert ask("execution_show", execution=execution)["record"] in batch["events"][0]["data"]


def test_events_of_a_cancelled_execution_end(ask):
    running = ask("execute", code="import time; time.sleep(60)", background=True)
    waiting = ask("execute", code="1", stream=True)["execution"]["id"]
    assert ask("execution_cancel", execution=waiting) == {"cancelled": True}
    batch = ask("execution_events", execution=waiting)
    assert batch["is_last"] and batch["events"] == []
    assert field_table.errors()[batch["failure"]["error"]] == "EXECUTION_CANCELLED"
    ask("execution_cancel", execution=running["execution"]["id"])


def test_same_idempotency_key_gives_the_same_record(ask):
    same = {"code": "import random; print(random.random())", "Idempotency-Key": "k"}
    assert ask("execute", **same) == ask("execute", **same)
    assert ask("execute_once", **same) == ask("execute_once", **same)
    assert ask.fail("execute_once", **same, keep=True) == "CONFLICT"


def test_errors_name_the_quota_or_the_scope(ask):
    front = ask.front
    tenant = ask("tenant_create", name="small",
                 quotas={"max_wall_s": 2500, "max_memory_bytes": 64 << 20})["id"]
    key = ask("key_create", tenant=tenant, scopes=2)["key"]
    for limits, name, value, limit, in_ms in (
            ({"wall_s": 60000}, "max_wall_s", 60000, 2500, True),
            ({"memory_bytes": 128 << 20}, "max_memory_bytes", 128 << 20, 64 << 20, False)):
        error, failure = front.call("session_create", key, limits=limits)
        assert error.startswith("QUOTA") and failure["scope"] is None
        assert failure["quota"] == {"name": name, "value": value, "limit": limit, "in_ms": in_ms}
    error, failure = front.call("key_list", key)
    assert (error, failure["scope"], failure["quota"]) == ("SCOPE", "admin", None)


def test_runs_of_a_daemon_without_a_model(ask):
    assert ask.fail("run_create", question="1", files=[{"path": "a", "base64": b"\0"}]) == \
        "MODEL_MISSING"
    for name in ("run_show", "run_events", "run_interrupt"):
        assert ask.fail(name, id="run_x") == "RUN_NOT_FOUND"


def follow_run(ask, run):
    """Names of a run's events, the data of the last one, and the failure."""
    after, names, goes_on = 0, [], None
    while True:
        batch = ask("run_events", id=run, after=after, goes_on=goes_on)
        names += [each["name"] for each in batch["events"]]
        after = max([each["id"] for each in batch["events"]], default=after)
        if batch["is_last"]:
            return names, batch["events"][-1]["data"] if batch["events"] else b"", batch["failure"]
        goes_on = True


def test_runs(reckon):
    with ModelServer(Reply(calls=["print(open('in.bin', 'rb').read(), open('t').read())"]),
                     Reply(text="Done.")) as model:
        file = reckon.work / "models.ini"
        file.write_text(f"[default]\nmodel = scripted/m\n[provider scripted]\nprotocol = chat\n"
                        f"base-url = {model.url}/v1\nkey = k\n")
        file.chmod(0o600)
        reckon.user.own(file)
        with CapturedFront(reckon, "--models", file) as front:
            ask = Asking(front)
            same = {"question": "?", "template": "python", "Idempotency-Key": "k", "files": [
                {"path": "in.bin", "base64": b"\0\1"}, {"path": "t", "text": b"x"}]}
            begun = ask("run_create", followed=True, **same)["run"]
            assert begun["id"].startswith("run_") and begun["model"] == "scripted/m"
            names, last, failure = follow_run(ask, begun["id"])
            assert names[0] == "run" and names[-1] == "done" and failure is None
            answer = json.loads(last)["answer"]
            assert answer["answer"] == "Done."
            assert answer["steps"][0]["record"]["stdout"] == "b'\\x00\\x01' x\n"
            shown = ask("run_show", id=begun["id"])
            assert json.loads(shown["answer"]) == answer and shown["run"] is None
            # A repeated request gets the same run, in the foreground and in the background.
            assert ask("run_create", **same) == {"answer": shown["answer"], "run": None}
            again = ask("run_create", background=True, **same)["run"]
            assert (again["id"], again["status"]) == (begun["id"], "ended")
            assert ask.fail("run_create", **{**same, "question": "!"}) == "CONFLICT"
            assert ask("run_interrupt", id=begun["id"]) == {"interrupted": False}
            assert len(model.requests) == 2
            assert "the front is gone" not in front.server.log()


def test_other_calls(ask):
    assert ask("key_check") == {"requests": None, "mcp_approve": False}
    assert json.loads(ask("audit_list", limit=3)["page"])["entries"]
    assert ask("restart") == {} and ask("session_delete") == {}
    assert ask.fail("file_list") == "SESSION_CLOSED"
