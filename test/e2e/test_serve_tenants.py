"""Tenants of `reckon serve`: keys, scopes, isolation between tenants, quotas, usage."""

import concurrent.futures
import contextlib
import csv
import hashlib
import io
import json
import pathlib
import re
import sqlite3
import struct
import time

import field_table
import pytest
from captured_front import CapturedFront
from reckon_serve import SECONDS, Server, is_alive

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCOPES = ["admin", "sessions", "execute", "files", "read", "agent"]
VERBS = ["get", "post", "put", "patch", "delete"]
UNKNOWN = {"path": "a/b", "collection": "x", "file": "x", "id": "x", "context": "x", "link": "x", "template": "python",
           "session": "se_01M80J7V9Z7WCA235G7GJNP5HC",
           "execution": "ex_01M80J7V9Z7WCA235G7GJNP5HC",
           "process": "pr_01M80J7V9Z7WCA235G7GJNP5HC",
           "handle": "out_0123456789abcdef0123456789abcdef",
           "artifact": "ar_0123456789abcdef0123456789abcdef", "volume": "vol_00000000000000000000000000",
           "snapshot": "sn_01M80J7V9Z7WCA235G7GJNP5HC"}

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@contextlib.contextmanager
def using(server, key):
    """Send requests with another key."""
    before, server.key = server.key, key
    try:
        yield server
    finally:
        server.key = before


def make_tenant(server, name, **quotas):
    answer = server.ask("POST", "/tenants", {"name": name, "quotas": quotas})
    assert answer.status == 201, answer
    return answer.json["id"]


def make_key(server, tenant=None, scopes=("sessions", "execute", "files", "read"), **body):
    answer = server.ask("POST", "/keys", {"scopes": list(scopes), **body,
                                          **({"tenant": tenant} if tenant else {})})
    assert answer.status == 201, answer
    return answer.json


def operations():
    """(path, method, operation) of the document, for all operations that take a key."""
    document = field_table.document()
    return [(path.removeprefix("/reckon/v1"), verb, methods[verb])
            for path, methods in document["paths"].items() for verb in VERBS
            if path.startswith("/reckon/v1/") and verb in methods and methods[verb].get("security") != []]


def fill(path_of, **names):
    names = {**UNKNOWN, **names}
    return re.sub(r"\{(\w+)\}", lambda match: names[match[1]], path_of)


BODIES = {"POST /sessions/{session}/executions": {"code": "1"},
          "POST /sessions/{session}/complete": {"code": "a"},
          "POST /sessions/{session}/inspect": {"code": "a"},
          "POST /sessions/{session}/is_complete": {"code": "a"},
          "POST /sessions/{session}/files/move": {"from": "a.txt", "to": "b.txt"},
          "POST /sessions/{session}/files/mkdir": {"path": "d"},
          "POST /sessions/{session}/files/copy": {"file": "x"},
          "POST /sessions/{session}/links": {"path": "a.txt"},
          "POST /sessions/{session}/processes": {"command": "true"},
          "POST /sessions/{session}/processes/{process}/resize": {"rows": 1, "cols": 1},
          "POST /sessions/{session}/executions/{execution}/input": {"end": True},
          "POST /sessions/{session}/executions/{execution}/tool_results":
              {"results": [{"id": "tc_1", "value": 1}]},
          "POST /agent": {"question": "?"},
          "PUT /sessions/{session}/archive": "x",
          "PUT /sessions/{session}/files/{path}": "x"}


def body_of(path, verb):
    return BODIES.get(f"{verb.upper()} {path}", {} if verb in ("post", "patch") else None)


# ---- keys ---------------------------------------------------------------------------------------

def test_life_of_a_key(server):
    made = make_key(server, scopes=["read"], name="for the dashboard", expires_s=3600)
    assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", made["key"]) and made["id"].startswith("key_")
    assert (made["name"], made["scopes"], made["state"]) == ("for the dashboard", ["read"], "active")
    assert made["expires_at"] > made["created_at"]
    listed = server.ask("GET", "/keys").json["keys"]
    assert [each["name"] for each in listed] == ["for the dashboard", "first"]
    assert all("key" not in each for each in listed)
    assert "used_at" in listed[1] and "used_at" not in listed[0]
    with using(server, made["key"]):
        assert server.ask("GET", "/sessions").status == 200
    assert server.ask("DELETE", f"/keys/{made['id']}").json == {}
    with using(server, made["key"]):
        gone = server.ask("GET", "/sessions")
        assert (gone.status, gone.code) == (401, "unauthorized")
    again = server.ask("DELETE", f"/keys/{made['id']}")
    assert (again.status, again.code) == (404, "key_not_found")


def test_keys_are_not_stored_in_clear(server, reckon):
    made = make_key(server, scopes=["read"])
    for path in pathlib.Path(reckon.state).rglob("reckond.db*"):
        content = path.read_bytes()
        for key in (made["key"], server.key):
            assert key.encode() not in content and key[3:].encode() not in content


@as_root
def test_keys_expire_and_outlive_the_daemon(reckon):
    with Server(reckon) as server:
        short = make_key(server, scopes=["read"], expires_s=1)
        long = make_key(server, scopes=["read"], expires_s=3600)
        server.stop()
        server.start()
        with using(server, short["key"]):
            deadline = time.monotonic() + SECONDS
            while (answer := server.ask("GET", "/sessions")).status == 200:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert (answer.status, answer.code) == (401, "key_expired")
        with using(server, long["key"]):
            assert server.ask("GET", "/sessions").status == 200
        states = {each["id"]: each["state"] for each in server.ask("GET", "/keys").json["keys"]}
        assert (states[short["id"]], states[long["id"]]) == ("expired", "active")


@as_root
def test_rotation_leaves_time_to_change(server):
    old = make_key(server, scopes=["read", "files"], name="robot")
    new = server.ask("POST", f"/keys/{old['id']}/rotate", {"overlap_s": 1.5})
    assert new.status == 201
    assert (new.json["name"], new.json["scopes"]) == ("robot", ["files", "read"])
    assert new.json["key"] != old["key"] and "expires_at" not in new.json
    statuses = set()
    deadline = time.monotonic() + SECONDS
    while True:
        with using(server, new.json["key"]):
            assert server.ask("GET", "/sessions").status == 200
        with using(server, old["key"]):
            answer = server.ask("GET", "/sessions")
        statuses.add(answer.status)
        if answer.status == 401:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert answer.code == "key_expired" and statuses == {200, 401}
    with using(server, server.ask("POST", f"/keys/{new.json['id']}/rotate",
                                  {"overlap_s": 0}).json["key"]):
        assert server.ask("GET", "/sessions").status == 200
    with using(server, new.json["key"]):
        assert server.ask("GET", "/sessions").code == "key_expired"


@as_root
def test_the_last_admin_key_stays(server):
    first = server.ask("GET", "/keys").json["keys"][0]
    answer = server.ask("DELETE", f"/keys/{first['id']}")
    assert (answer.status, answer.code) == (409, "last_admin_key")
    tenant = first["tenant"]
    for method, body in (("PATCH", {"state": "suspended"}), ("DELETE", None)):
        answer = server.ask(method, f"/tenants/{tenant}", body)
        assert (answer.status, answer.code) == (409, "last_admin_key")
    second = make_key(server, scopes=["admin"])
    assert server.ask("DELETE", f"/keys/{first['id']}").status == 200
    with using(server, second["key"]):
        assert server.ask("DELETE", f"/keys/{second['id']}").code == "last_admin_key"
        assert len(server.ask("GET", "/keys").json["keys"]) == 1


@as_root
def test_a_daemon_without_an_admin_key_makes_one(reckon):
    with Server(reckon) as server:
        make_key(server, scopes=["read"])
        server.stop()
        assert len(server.lines) == 3
        server.start()
        assert len(server.lines) == 1, "there is a key, so none is made"
        server.stop()
        database = sqlite3.connect(pathlib.Path(reckon.state) / "reckond.db")
        with database:
            database.execute("UPDATE key SET expires_ms = 1 WHERE scopes & 1")
        database.close()
        before = server.key
        server.start()
        assert server.key != before
        assert server.ask("GET", "/keys").status == 200


@pytest.mark.parametrize("path, body, word", [
    ("/keys", {}, "scopes"), ("/keys", {"scopes": []}, "scopes"),
    ("/keys", {"scopes": ["all"]}, "all"), ("/keys", {"scopes": "admin"}, "scopes"),
    ("/keys", {"scopes": [1]}, "scopes"), ("/keys", {"scopes": ["read"], "expires_s": 0}, "expires_s"),
    ("/keys", {"scopes": ["read"], "expires": 5}, "expires"),
    ("/keys", {"scopes": ["read"], "name": ""}, "name"),
    ("/keys", {"scopes": ["read"], "name": "a\nb"}, "name"),
    ("/keys", {"scopes": ["read"], "name": "a\0b"}, "name"),
    ("/tenants", {}, "name"), ("/tenants", {"name": "a", "quota": {}}, "quota"),
    ("/tenants", {"name": "a", "quotas": []}, "quotas"),
    ("/tenants", {"name": "a", "quotas": {"session": 1}}, "quotas.session"),
    ("/tenants", {"name": "a", "quotas": {"sessions": 0}}, "quotas.sessions"),
    ("/tenants", {"name": "a", "quotas": {"sessions": -1}}, "quotas.sessions"),
    ("/tenants", {"name": "a", "quotas": {"max_wall_s": "1"}}, "quotas.max_wall_s"),
    ("/tenants", {"name": "a", "state": "suspended"}, "state"),
    ("/tenants", {"name": "x" * 64}, "name"),
])
@as_root
def test_invalid_keys_and_tenants(server, path, body, word):
    answer = server.ask("POST", path, body)
    assert (answer.status, answer.code) == (400, "invalid")
    assert word in answer.json["error"]["message"]


@as_root
def test_an_id_that_is_too_long_is_unknown(server):
    answer = server.ask("POST", "/keys", {"scopes": ["read"], "tenant": "x" * 40})
    assert (answer.status, answer.code) == (404, "tenant_not_found")


# ---- scopes -------------------------------------------------------------------------------------

@as_root
def test_each_operation_takes_its_scope_and_no_other(server):
    """The matrix of all operations and scopes, from the document."""
    keys = {scope: make_key(server, scopes=[scope])["key"] for scope in SCOPES}
    every = operations()
    assert len(every) > 25
    for path, verb, operation in every:
        needed = operation["x-reckon-scope"]
        assert needed in SCOPES, (path, verb)
        for scope, key in keys.items():
            with using(server, key):
                answer = server.ask(verb.upper(), fill(path), body_of(path, verb))
            if scope == needed:
                assert answer.status not in (401, 403), (path, verb, scope, answer)
            elif answer.status != 400:
                # The front may report an invalid body before the daemon checks the scope.
                assert (answer.status, answer.code) == (403, "scope_missing"), (path, verb, scope)
                assert answer.json["error"]["scope"] == needed
        if verb in ("post", "patch") and path in ("/tenants", "/keys"):
            with using(server, keys["read"]):
                answer = server.ask("POST", path, {"name": "a", "scopes": ["read"]}
                                    if path == "/keys" else {"name": "a"})
            assert answer.code == "scope_missing"


def follow(server, session, body=None, execution=None):
    path = f"/sessions/{session}/executions" + (f"/{execution}/events" if execution else "")
    with server.events("GET" if execution else "POST", path, body) as (events, response):
        return [(name, data) for _, name, data in events], response


@as_root
def test_an_execute_key_reads_only_its_own_executions(server):
    session = server.create()
    others = server.background(session, "print('theirs')")
    server.poll(session, others)
    mine, twin = (make_key(server, scopes=["execute"])["key"] for _ in range(2))
    with using(server, mine):
        events, response = follow(server, session, {"code": "print('mine')", "stream": True})
        assert [name for name, _ in events][-1] == "done", events
        assert events[-1][1]["record"]["stdout"] == "mine\n"
        execution = response.headers["Reckon-Execution"]
        assert follow(server, session, execution=execution)[0] == events
        begun = server.background(session, "print('later')")
        assert server.poll(session, begun)["stdout"] == "later\n"
        # Until the event buffer is gone, and after that.
        for _ in range(6):
            server.execute(session, "1")
        last = follow(server, session, execution=execution)[0][-1]
        assert (last[0], last[1]["record"]) == ("done", events[-1][1]["record"])
    for key, named in ((mine, others), (twin, execution), (twin, begun),
                       (mine, UNKNOWN["execution"])):
        with using(server, key):
            for path in ("", "/events"):
                answer = server.ask("GET", f"/sessions/{session}/executions/{named}{path}")
                assert (answer.status, answer.code) == (403, "scope_missing"), (path, answer)
    with using(server, mine):
        assert server.ask("GET", f"/sessions/{session}/executions").code == "scope_missing"
    # After a restart this key can still read its execution, and no other key of that kind can.
    server.stop()
    server.start()
    with using(server, mine):
        shown = server.ask("GET", f"/sessions/{session}/executions/{execution}")
        assert shown.json["stdout"] == "mine\n"
        last = follow(server, session, execution=execution)[0][-1]
        assert (last[0], last[1]["record"]) == ("done", events[-1][1]["record"])
    with using(server, twin):
        assert server.ask("GET", f"/sessions/{session}/executions/{execution}").code == \
            "scope_missing"


@as_root
def test_goes_on_from_a_captured_front_reveals_nothing(reckon):
    """The member `goes_on` of a captured front opens nothing: a key reads only its own
    executions."""
    with CapturedFront(reckon) as front:
        error, made = front.call("session_create", front.key, template="python")
        assert error is None
        session = made["id"]
        error, theirs = front.call("execute", front.key, session=session, code="'secret'",
                                   background=True)
        assert error is None
        theirs = theirs["execution"]["id"]
        weak = front.call("key_create", front.key, scopes=4)[1]["key"]
        for goes_on in (None, True):
            error, answer = front.call("execution_events", weak, session=session,
                                       execution=theirs, goes_on=goes_on)
            assert (error, answer["scope"]) == ("SCOPE", "read")
        error, answer = front.call("execution_show", weak, session=session, execution=theirs)
        assert (error, answer["scope"]) == ("SCOPE", "read")
        # Nor does an execution that the front has just started with another key.
        number = front.send_call("execute", front.key, session=session, code="'more'",
                                 background=True)
        error, answer = front.call("execution_events", weak, session=session, execution=theirs,
                                   goes_on=True, after=0)
        assert error == "SCOPE" and number < front.number
        error, mine = front.call("execute", weak, session=session, code="'mine'", background=True)
        assert error is None
        error, answer = front.call("execution_events", weak, session=session,
                                   execution=mine["execution"]["id"], after=0, goes_on=True)
        assert error is None and b"mine" in b"".join(each["data"] for each in answer["events"])
        assert "the front is gone" not in front.server.log()


@as_root
def test_calls_of_a_captured_front_are_limited_by_the_key(reckon):
    with CapturedFront(reckon) as front:
        error, made = front.call("session_create", front.key, template="python")
        assert error is None
        session = made["id"]
        weak = front.call("key_create", front.key, scopes=16)[1]["key"]
        other = front.call("tenant_create", front.key, name="other")[1]["id"]
        stranger = front.call("key_create", front.key, tenant=other, scopes=63)[1]["key"]
        for row in field_table.table().CALLS:
            if row.local:
                continue
            given = {field.name: session if field.name == "session" else "ctx_x"
                     for field in row.takes_struct.fields if field.place == "path"}
            given |= {field.name: 16 if field.kind == "words" else
                      min(1 << 40, field.maximum) if field.kind == "number" else
                      "{}" if field.kind == "object" else
                      [{"id": "x", "error": "x"}] if field.kind == "many" else "a"
                      for field in row.takes_struct.fields
                      if field.required and field.place in ("body", "query", "internal")}
            # A call without a key needs a ticket or a token, which nobody has given.
            closed = {"link_get": "DENIED", "file_commit": "NOT_FOUND",
                      "archive_commit": "NOT_FOUND",
                      "stored_commit": "NOT_FOUND", "volume_commit": "NOT_FOUND",
                      "session_signed": "UNAUTHORIZED", "port_link_connect": "DENIED"}.get(row.name)
            for key in (None, "rk_" + "A" * 43):
                error, _ = front.call(row.name, key, **given)
                assert error == ("UNAUTHORIZED" if row.scope else closed), row.name
            error, answer = front.call(row.name, weak, **given)
            assert (error == "SCOPE") == (row.scope not in (None, "any", "read")), row.name
            error, answer = front.call(row.name, stranger, **given)
            if "session" in given and row.scope:
                assert error == "SESSION_NOT_FOUND", row.name
        assert front.call("variables", weak, session=session, wait=1)[0] is None
        assert "the front is gone" not in front.server.log()


@as_root
@pytest.mark.parametrize("kind,flags,payload,reserved", [
    (0, 2, b"", 0), (999, 2, b"", 0),  # no such calls
    (3, 0, b"", 0), (64, 0, b"", 0), (1, 0, b"", 0),  # frames that no front sends, or not twice
    (2, 0, b"x", 0), (2, 0, b"", 1), (2, 4, b"", 0),  # a CANCEL with content
])
def test_a_wrong_frame_ends_only_the_front(reckon, kind, flags, payload,
                                           reserved):
    with CapturedFront(reckon) as front:
        front.send_frame(kind, flags, 1, payload, reserved)
        assert front.sock.recv(1) == b""
        assert is_alive(front.server.process.pid)
        assert "the front is gone" in front.server.log()


@as_root
def test_a_ticket_of_another_front_commits_nothing(reckon):
    """A call without a key may name only a ticket that the same front process has got."""
    with CapturedFront(reckon) as front:
        session = front.call("session_create", front.key, template="python")[1]["id"]
        error, place = front.call("file_put", front.key, session=session, path="a")
        assert error is None and place["ticket"] == front.number and place["size_max"] > 0
        for ticket in (place["ticket"] + 1, place["ticket"] + (1 << 20), (1 << 64) - 1, 0):
            assert front.call("file_commit", None, ticket=ticket)[0] == "NOT_FOUND"
        assert front.call("archive_commit", None, ticket=place["ticket"])[0] == "NOT_FOUND"
        error, put = front.call("file_commit", None, ticket=place["ticket"])
        assert (error, put["path"], put["size"]) == (None, "a", 0)
        assert front.call("file_commit", None, ticket=place["ticket"])[0] == "NOT_FOUND"
        error, place = front.call("file_put", front.key, session=session, path="b")
        front.cancel(place["ticket"])
        assert front.call("file_commit", None, ticket=place["ticket"])[0] == "NOT_FOUND"
        assert "the front is gone" not in front.server.log()


@as_root
@pytest.mark.parametrize("payload", [
    b"", b"\0", b"\xff" * 11, b"\xff" * 12 + b"x", b"\x01\0\0\0\0" + b"\xff" * 8,
    b"\xfe\xff\xff\xff" + b"\xff" * 8, struct.pack("=I", 129) + b"k" * 129 + b"\xff" * 8,
], ids=range(7))
def test_an_invalid_image_ends_only_the_front(reckon, payload):
    with CapturedFront(reckon) as front:
        front.send_frame(field_table.call("health")[0], 2, 1, payload)
        assert front.sock.recv(1) == b""
        assert is_alive(front.server.process.pid)
        assert "the front is gone" in front.server.log()


# ---- tenants ------------------------------------------------------------------------------------

@as_root
def test_life_of_a_tenant(server):
    tenant = make_tenant(server, "büro", sessions=2, max_wall_s=2.5)
    shown = server.ask("GET", f"/tenants/{tenant}").json
    assert (shown["name"], shown["state"]) == ("büro", "active")
    assert shown["quotas"] == {"sessions": 2, "max_wall_s": 2.5}
    assert shown["now"] == {"sessions": 0, "executions": 0, "disk_bytes": 0}
    assert server.ask("POST", "/tenants", {"name": "büro"}).code == "name_taken"
    changed = server.ask("PATCH", f"/tenants/{tenant}",
                         {"name": "office", "quotas": {"sessions": None, "queued": 7}}).json
    assert (changed["name"], changed["quotas"]) == ("office", {"max_wall_s": 2.5, "queued": 7})
    assert [each["name"] for each in server.ask("GET", "/tenants").json["tenants"]] == [
        "office", "default"]
    assert server.ask("GET", f"/tenants?limit=1&before={tenant}").json["tenants"][0][
        "name"] == "default"
    assert server.ask("GET", "/tenants/te_x").code == "tenant_not_found"
    assert server.ask("PATCH", f"/tenants/{tenant}", {"state": "gone"}).code == "invalid"


@as_root
def test_a_suspended_tenant_and_a_deleted_one(server):
    tenant, key = server.newcomer("guest")
    with using(server, key):
        session = server.create()
    server.ask("PATCH", f"/tenants/{tenant}", {"state": "suspended"})
    with using(server, key):
        answer = server.ask("GET", f"/sessions/{session}")
        assert (answer.status, answer.code) == (403, "tenant_suspended")
    server.ask("PATCH", f"/tenants/{tenant}", {"state": "active"})
    with using(server, key):
        assert server.execute(session, "1")["status"] == "ok"
    assert server.ask("DELETE", f"/tenants/{tenant}").json == {}
    with using(server, key):
        assert server.ask("GET", "/sessions").code == "unauthorized"
    assert server.ask("GET", f"/tenants/{tenant}").code == "tenant_not_found"
    assert server.ask("GET", "/health").status == 200
    make_tenant(server, "guest")  # the name is free again
    server.stop()
    server.start()
    assert sorted(each["name"] for each in server.ask("GET", "/tenants").json["tenants"]) == [
        "default", "guest"]


@as_root
def test_tenants_and_quotas_outlive_the_daemon(server):
    tenant, key = server.newcomer("kept", sessions=1, max_memory_bytes=1 << 28)
    with using(server, key):
        session = server.create()
    server.stop()
    server.start()
    assert server.ask("GET", f"/tenants/{tenant}").json["quotas"] == {
        "sessions": 1, "max_memory_bytes": 1 << 28}
    with using(server, key):
        assert server.ask("GET", f"/sessions/{session}").status in (200, 410)
        assert [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]] == [session]
    assert server.ask("GET", "/sessions").json["sessions"] == []
    assert [each["id"] for each in server.ask(
        "GET", f"/sessions?tenant={tenant}").json["sessions"]] == [session]


# ---- isolation between tenants ------------------------------------------------------------------

def things_of(server):
    """A session with one of everything that has an id."""
    session = server.create(metadata={"secret": "mine"})
    record = server.execute(session, "open('a.txt', 'w').write('secret')\nprint('x' * 3000000)")
    return {"session": session, "execution": record["id"],
            "handle": record["truncated"]["stdout"]["handle"],
            "artifact": record["files"][0]["artifact"], "path": "a.txt",
            "snapshot": server.ask("POST", f"/sessions/{session}/snapshots", {}).json["id"]}


def same(theirs, unknown, names):
    """True if the responses are equal but for the requested id."""
    def plain(answer):
        text = answer.body.decode()
        for name in sorted({*names.values(), *UNKNOWN.values()} - {"a/b", "x", "python"}):
            text = text.replace(name, "ID")
        headers = {key: value if key not in ("Date", "Reckon-Request-Id", "traceparent") else ""
                   for key, value in answer.headers.items()}
        return answer.status, headers, text
    return plain(theirs) == plain(unknown)


def test_ids_of_another_tenant_are_unknown(server):
    """Every operation with an id, with ids of another tenant and with unknown ones."""
    _, key = server.newcomer("victim")
    with using(server, key):
        names = things_of(server)
        live = server.background(names["session"], "import time; time.sleep(60)")
    _, attacker = server.newcomer("attacker")
    tried = 0
    with using(server, attacker):
        own = server.create()
        for path, verb, operation in operations():
            if not re.search(r"\{(session|execution|handle|artifact)\}", path):
                continue
            body = body_of(path, verb)
            for execution in (names["execution"], live):
                their = {**names, "execution": execution}
                theirs = server.ask(verb.upper(), fill(path, **their), body)
                unknown = server.ask(verb.upper(), fill(path, path=names["path"]), body)
                assert theirs.status == 404, (path, verb, theirs)
                assert same(theirs, unknown, their), (path, verb, theirs, unknown)
                if "{execution}" in path:
                    mixed = {**their, "session": own}
                    theirs = server.ask(verb.upper(), fill(path, **mixed), body)
                    unknown = server.ask(verb.upper(), fill(path, session=own), body)
                    assert theirs.status == 404 and same(theirs, unknown, mixed), (path, verb)
                tried += 1
        assert server.ask("GET", f"/sessions/{own}/executions?before={names['execution']}"
                          ).json == {"executions": [], "next": None}
        assert [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]] == [own]
    assert tried > 30
    with using(server, key):
        assert server.ask("GET", f"/sessions/{names['session']}").json["status"] == "live"
        server.ask("POST", f"/sessions/{names['session']}/interrupt")  # so that requests that wait for `live` continue
        assert server.ask("GET", f"/sessions/{names['session']}/files/a.txt").body == b"secret"
        assert server.ask("GET", f"/artifacts/{names['artifact']}").body == b"secret"
        assert len(server.ask("GET", f"/outputs/{names['handle']}").body) == 3000001
        server.ask("DELETE", f"/sessions/{names['session']}")
    with using(server, attacker):
        for path, verb, _ in operations():
            if "{session}" in path:
                theirs = server.ask(verb.upper(), fill(path, **names), body_of(path, verb))
                unknown = server.ask(verb.upper(), fill(path, path="a.txt"), body_of(path, verb))
                assert theirs.status == 404 and same(theirs, unknown, names), (path, verb)


def test_content_cannot_be_claimed(server):
    """Neither the hash of a file nor a display of it gives access to its content."""
    content = b"the victim's own words"
    handle = "ar_" + hashlib.sha256(content).hexdigest()[:32]
    _, key = server.newcomer("victim")
    with using(server, key):
        session = server.create()
        server.execute(session, f"open('f', 'wb').write({content!r})")
        assert server.ask("GET", f"/artifacts/{handle}").body == content
    _, attacker = server.newcomer("attacker")
    with using(server, attacker):
        session = server.create()
        server.execute(session, "from IPython.display import display\n"
                       f"display({{'application/json': {{'artifact': '{handle}', "
                       f"'handle': '{handle}', 'files': [{{'artifact': '{handle}'}}]}}}}, raw=True)")
        for path in (f"/artifacts/{handle}", f"/outputs/{handle}"):
            answer = server.ask("GET", path)
            assert (answer.status, answer.code) == (404, "not_found")
        # A tenant with the same content has the same handle, which reveals nothing.
        server.execute(session, f"open('f', 'wb').write({content!r})")
        assert server.ask("GET", f"/artifacts/{handle}").body == content


def test_idempotency_keys_are_a_sessions_own(server):
    _, one = server.newcomer("one")
    _, two = server.newcomer("two")
    for key, value in ((one, 1), (two, 2)):
        with using(server, key):
            session = server.create()
            record = server.execute(session, f"print({value})", {"Idempotency-Key": "same"})
            assert record["stdout"] == f"{value}\n"


@as_root
def test_other_tenants_take_an_admin_key(server):
    tenant, key = server.newcomer("one")
    other = make_tenant(server, "two")
    with using(server, key):
        for path in ("/usage", "/sessions"):
            assert server.ask("GET", f"{path}?tenant={tenant}").status == 200
            for name in (other, "te_none"):
                answer = server.ask("GET", f"{path}?tenant={name}")
                assert (answer.status, answer.code) == (403, "scope_missing")
                assert answer.json["error"]["scope"] == "admin"
    for path in ("/usage", "/sessions", "/keys"):
        assert server.ask("GET", f"{path}?tenant={tenant}").status == 200
        answer = server.ask("GET", f"{path}?tenant=te_none")
        assert (answer.status, answer.code) == (404, "tenant_not_found")


# ---- quotas -------------------------------------------------------------------------------------

def refused(answer, status, name, limit):
    assert (answer.status, answer.code) == (status, "quota_exceeded"), answer
    quota = answer.json["error"]["quota"]
    assert (quota["name"], quota["limit"]) == (name, limit)
    assert name in answer.json["error"]["message"]
    if status == 429:
        assert int(answer.headers["Retry-After"]) > 0
        assert set(answer.json["error"]["queue"]) == {"position", "estimate_s"}
    return quota["value"]


@as_root
def test_a_hundred_creations_at_once_never_exceed_the_quota(server):
    tenant, key = server.newcomer("eager", sessions=5)
    with using(server, key):
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(
                lambda _: server.ask("POST", "/sessions", {"template": "python"}), range(100)))
        made = [answer for answer in answers if answer.status == 201]
        assert len(made) == 5
        for answer in answers:
            if answer.status != 201:
                assert refused(answer, 429, "sessions", 5) == 5
        assert server.ask("DELETE", f"/sessions/{made[0].json['id']}").status == 200
        server.create()
        assert server.ask("POST", "/sessions", {}).status == 429
    assert server.ask("GET", f"/tenants/{tenant}").json["now"]["sessions"] == 5
    server.create()  # another tenant is not concerned


@as_root
def test_executions_and_queue(server):
    _, key = server.newcomer("busy", executions=3, queued=1)
    with using(server, key):
        session = server.create()
        running = server.background(session, "while True: pass")
        waiting = server.background(session, "1")
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "2"})
        assert refused(answer, 429, "queued", 1) == 1
        other, third = server.create(), server.create()
        also = server.background(other, "while True: pass")
        answer = server.ask("POST", f"/sessions/{third}/executions", {"code": "2"})
        assert refused(answer, 429, "executions", 3) == 3
        for each in (session, other):
            server.ask("POST", f"/sessions/{each}/interrupt")
        for each, execution in ((session, running), (session, waiting), (other, also)):
            server.poll(each, execution)
        assert server.execute(third, "2")["status"] == "ok"


@as_root
def test_quotas_limit_the_limits_of_a_session(server):
    _, key = server.newcomer("small", max_memory_bytes=1 << 28, max_wall_s=5, max_processes=40,
                      max_idle_timeout_s=60, memory_bytes=1 << 29)
    with using(server, key):
        for limits, name, limit in (({"memory_bytes": 1 << 30}, "max_memory_bytes", 1 << 28),
                                    ({"wall_s": 6}, "max_wall_s", 5),
                                    ({"processes": 41}, "max_processes", 40)):
            refused(server.ask("POST", "/sessions", {"limits": limits}), 403, name, limit)
        refused(server.ask("POST", "/sessions", {"idle_timeout_s": 61}), 403,
                "max_idle_timeout_s", 60)
        made = server.ask("POST", "/sessions", {"template": "python", "limits": {"processes": 30}})
        assert made.json["limits"] == {"memory_bytes": 1 << 28, "wall_s": 5, "processes": 30}
        assert made.json["idle_timeout_s"] == 60
        session = made.json["id"]
        refused(server.ask("POST", f"/sessions/{session}/executions",
                           {"code": "1", "timeout_s": 5.5}), 403, "max_wall_s", 5)
        refused(server.ask("PATCH", f"/sessions/{session}", {"idle_timeout_s": 61}), 403,
                "max_idle_timeout_s", 60)
        server.create()
        answer = server.ask("POST", "/sessions", {"template": "python"})
        assert refused(answer, 429, "memory_bytes", 1 << 29) == 3 << 28


@as_root
def test_cpu_time_of_an_hour(server):
    tenant, key = server.newcomer("thirsty", cpu_s_per_hour=0.2)
    with using(server, key):
        session = server.create()
        server.execute(session, "import time\nend = time.process_time() + 0.4\n"
                       "while time.process_time() < end: pass")
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
        assert refused(answer, 429, "cpu_s_per_hour", 0.2) >= 0.3
        assert int(answer.headers["Retry-After"]) > 2000
    server.ask("PATCH", f"/tenants/{tenant}", {"quotas": {"cpu_s_per_hour": None}})
    with using(server, key):
        assert server.execute(session, "1")["status"] == "ok"


@as_root
def test_requests_of_a_second(server):
    _, key = server.newcomer("chatty", requests_per_s=5)
    with using(server, key):
        answers = [server.ask("GET", "/sessions") for _ in range(60)]
    limited = [answer for answer in answers if answer.status == 429]
    assert len(limited) > 10 and answers[0].status == 200
    assert refused(limited[0], 429, "requests_per_s", 5) == 5
    assert server.ask("GET", "/sessions").status == 200


@as_root
def test_disk(server):
    tenant, key = server.newcomer("hoarder", disk_bytes=1 << 20)
    with using(server, key):
        session = server.create()
        answer = server.ask("PUT", f"/sessions/{session}/files/a", b"x" * (2 << 20))
        refused(answer, 413, "disk_bytes", 1 << 20)
        # The file counts in the workspace and as a version.
        assert server.ask("PUT", f"/sessions/{session}/files/a", b"x" * (1 << 18)).status == 200
        refused(server.ask("PUT", f"/sessions/{session}/files/b", b"x" * (600 << 10)), 413,
                "disk_bytes", 1 << 20)
        server.execute(session, "open('c', 'wb').write(b'y' * 700000)")
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "1"})
        assert refused(answer, 413, "disk_bytes", 1 << 20) > 1 << 20
        refused(server.ask("POST", "/sessions", {}), 413, "disk_bytes", 1 << 20)
    assert server.ask("GET", f"/tenants/{tenant}").json["now"]["disk_bytes"] > 1 << 20


@as_root
def test_measured_memory(server):
    _, key = server.newcomer("large", memory_used_bytes=150 << 20)
    with using(server, key):
        session = server.create()
        server.execute(session, "x = b'x' * (200 << 20)")
        answer = server.ask("POST", "/sessions", {"template": "python"})
        assert refused(answer, 429, "memory_used_bytes", 150 << 20) > 200 << 20
        server.ask("DELETE", f"/sessions/{session}")
        server.create()


# ---- guessing -----------------------------------------------------------------------------------

@as_root
def test_guessing_keys_is_throttled_and_harms_nobody(server):
    _, bystander = server.newcomer("bystander")
    with using(server, bystander):
        assert server.ask("GET", "/sessions").status == 200
    answers = []
    for n in range(100):
        with using(server, f"rk_{n:043}"):
            answers.append(server.ask("GET", "/sessions"))
    assert [answer.status for answer in answers[:30]] == [401] * 30
    last = answers[-1]
    assert (last.status, last.code) == (429, "too_many_attempts") and last.headers["Retry-After"]
    # Valid keys still work from the same address, and so do requests that need no key.
    with using(server, bystander):
        assert server.ask("GET", "/sessions").status == 200
    assert server.ask("GET", "/sessions").status == 200
    assert server.ask("GET", "/health", key=False).status == 200
    assert server.ask("GET", "/sessions", key=False).status == 401


@as_root
def test_unknown_keys_of_every_form_get_one_answer(server):
    bodies = set()
    for key in ("x", "rk_", "rk_" + "a" * 43, server.key[:-1], server.key + "a", server.key.lower()):
        with using(server, key):
            answer = server.ask("GET", "/sessions")
        assert answer.status == 401
        bodies.add(answer.body)
    assert len(bodies) == 1


# ---- usage --------------------------------------------------------------------------------------

@as_root
def test_usage_by_day(server):
    tenant, key = server.newcomer("measured")
    with using(server, key):
        session = server.create()
        record = server.execute(session, "import time\nend = time.process_time() + 0.2\n"
                                "while time.process_time() < end: pass")
        server.execute(session, "open('a', 'w').write('x' * 5000)")
        server.ask("PUT", f"/sessions/{session}/files/b", b"x" * 4000)
        server.ask("GET", f"/sessions/{session}/files/b")
        days = server.ask("GET", "/usage").json["usage"]
    assert len(days) in (1, 2)
    day = days[-1]
    assert (day["tenant"], sum(each["executions"] for each in days)) == (tenant, 2)
    assert sum(each["cpu_s"] for each in days) > 0.15  # control groups count in ticks
    assert sum(each["wall_s"] for each in days) >= int(record["receipt"]["wall_s"] * 1000) / 1000
    assert sum(each["bytes_in"] for each in days) > 4000
    assert sum(each["bytes_out"] for each in days) > 4000
    assert day["disk_bytes"] >= 9000 and sum(each["sessions"] for each in days) == 1
    server.execute(server.create(), "1")
    every = server.ask("GET", "/usage").json["usage"]
    assert {each["tenant"] for each in every} > {tenant}
    assert server.ask("GET", f"/usage?tenant={tenant}").json["usage"] == days
    assert server.ask("GET", "/usage?from=2000-01-01&to=2000-12-31").json["usage"] == []
    for query in ("from=x", "to=2026-1-1", "format=xml", "day=2026-01-01"):
        assert server.ask("GET", f"/usage?{query}").code == "invalid"
    server.stop()
    server.start()
    assert server.ask("GET", f"/usage?tenant={tenant}").json["usage"] == days


@as_root
def test_usage_as_csv(server):
    server.execute(server.create(), "1")
    for path, headers in (("/usage?format=csv", {}), ("/usage", {"Accept": "text/csv"})):
        answer = server.ask("GET", path, headers=headers)
        assert answer.headers["Content-Type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
        usage = server.ask("GET", "/usage").json["usage"]
        assert [{**row, "wall_s": float(row["wall_s"]), "cpu_s": float(row["cpu_s"])}
                for row in rows] == [{key: value if isinstance(value, str) or key.endswith("_s")
                                      and key != "memory_mib_s" else str(value)
                                      for key, value in each.items()} for each in usage]


# ---- an older database --------------------------------------------------------------------------

OLD = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE key(hash BLOB PRIMARY KEY, created_at TEXT NOT NULL) STRICT;
CREATE TABLE session(id TEXT PRIMARY KEY, state TEXT NOT NULL, template TEXT NOT NULL,
 language TEXT NOT NULL, limits BLOB NOT NULL, metadata TEXT, idle_ms INTEGER NOT NULL,
 created_at TEXT NOT NULL, ended_at TEXT, why TEXT) STRICT;
CREATE TABLE execution(id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES session(id),
 sequence INTEGER NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL,
 ended_at TEXT, why TEXT, idempotency TEXT, request_hash BLOB NOT NULL,
 code BLOB NOT NULL, record TEXT) STRICT;
CREATE INDEX execution_by_session ON execution(session, sequence);
CREATE UNIQUE INDEX execution_by_key ON execution(session, idempotency)
 WHERE idempotency IS NOT NULL;
PRAGMA user_version = 1;
"""


@as_root
def test_a_database_of_version_1(reckon):
    """The old data belongs to the first tenant, and its key keeps its scopes."""
    with Server(reckon) as server:
        session = server.create()
        record = server.execute(session, "open('a', 'w').write('kept')")
        key = server.key
        server.stop()
        path = pathlib.Path(reckon.state) / "reckond.db"
        new = sqlite3.connect(path)
        secret = new.execute("SELECT value FROM meta WHERE name = 'key_secret'").fetchone()[0]
        hashes = new.execute("SELECT hash, created_at FROM key").fetchall()
        row = new.execute("SELECT id, state, template, language, limits, metadata, idle_ms,"
                          " created_at, ended_at, why FROM session").fetchone()
        execution = new.execute("SELECT id, session, sequence, status, created_at, ended_at, why,"
                                " idempotency, request_hash, code, record FROM execution").fetchone()
        new.close()
        for each in path.parent.glob("reckond.db*"):
            each.unlink()
        old = sqlite3.connect(path)
        old.executescript(OLD)
        with old:
            old.execute("INSERT INTO meta VALUES('key_secret', ?)", (secret,))
            old.executemany("INSERT INTO key VALUES(?, ?)", hashes)
            old.execute(f"INSERT INTO session VALUES({','.join('?' * 10)})", row)
            old.execute(f"INSERT INTO execution VALUES({','.join('?' * 11)})", execution)
        old.close()
        path.chmod(0o600)
        server.start()
        assert server.key == key and len(server.lines) == 1
        assert [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]] == [session]
        assert server.ask("GET", f"/sessions/{session}/executions/{record['id']}").json == record
        assert server.ask("GET", f"/artifacts/{record['files'][0]['artifact']}").body == b"kept"
        keys = server.ask("GET", "/keys").json["keys"]
        # The old key does not get the scope `agent`, which may cost money.
        before = [scope for scope in SCOPES if scope != "agent"]
        assert [(each["name"], each["scopes"]) for each in keys] == [("first", before)]
        assert server.execute(server.create(), "1")["status"] == "ok"


# ---- admission ----------------------------------------------------------------------------------

@as_root
def test_a_host_without_memory_says_when_to_retry(reckon):
    # A little more than is free, but not more than the host has in all, which would give a 400.
    found = re.search(r"^MemAvailable: +(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)
    reserve = int(found[1]) // 1024 + 48
    with Server(reckon, "--memory-reserve", f"{reserve}M") as server:
        small = {"memory_bytes": 64 << 20, "disk_bytes": 8 << 20}
        answer = server.ask("POST", "/sessions", {"template": "python", "limits": small})
        assert (answer.status, answer.code) == (503, "overloaded")
        assert int(answer.headers["Retry-After"]) > 0
        assert set(answer.json["error"]["queue"]) == {"position", "estimate_s"}
        assert server.ask("GET", "/sessions").json["sessions"] == []


@as_root
def test_overcommit_of_memory(reckon):
    """A limit above the memory of the host is accepted with a high --overcommit, and refused with 1."""
    limits = {"memory_bytes": 1 << 45}
    with Server(reckon, "--overcommit", "100000") as server:
        server.create(limits=limits)
    with Server(reckon, "--overcommit", "1", key=server.key) as server:
        answer = server.ask("POST", "/sessions", {"template": "python", "limits": limits})
        assert (answer.status, answer.code) == (400, "invalid"), "waiting would not help"
        assert "limits.memory_bytes" in answer.json["error"]["message"]
        server.create()


# ---- the command line ---------------------------------------------------------------------------

@as_root
def test_commands(reckon):
    with Server(reckon) as server:
        def admin(*words):
            return reckon(*words, "--url", f"http://127.0.0.1:{server.port}", "--key", server.key)

        made = admin("tenant", "create", "team", "--quota", "sessions=3", "--quota",
                     "max_wall_s=2.5", "--json").expect(0)
        tenant = json.loads(made.out)
        assert tenant["quotas"] == {"sessions": 3, "max_wall_s": 2.5}
        admin("tenant", "set", "team", "--quota", "sessions=", "--quota", "queued=4").expect(0)
        shown = admin("tenant", "show", "team").expect(0).out
        assert "queued 4" in shown and "quota sessions" not in shown
        assert "team" in admin("tenant", "ls").expect(0).out
        assert "sessions" in admin("tenant", "create", "x", "--quota", "sessions").expect(2).err
        assert "nothing" in admin("tenant", "create", "x", "--quota", "nothing=1").expect(2).err

        made = admin("key", "create", "ci", "--tenant", "team", "--scope", "read", "--scope",
                     "sessions", "--expires", "90d").expect(0)
        key = made.out.strip()
        assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", key) and "once" in made.err
        with using(server, key):
            assert server.ask("GET", "/sessions").status == 200
            assert server.ask("GET", "/keys").code == "scope_missing"
        listed = json.loads(admin("key", "ls", "--tenant", "team", "--json").expect(0).out)
        assert [(each["name"], each["scopes"]) for each in listed] == [("ci", ["sessions", "read"])]
        assert "ci" in admin("key", "ls").expect(0).out
        new = admin("key", "rotate", listed[0]["id"], "--overlap", "0").expect(0).out.strip()
        with using(server, key):
            assert server.ask("GET", "/sessions").code == "key_expired"
        with using(server, new):
            server.create()
        admin("key", "rm", listed[0]["id"]).expect(0)
        assert "key_x" in admin("key", "rm", "key_x").expect(2).err
        assert "time" in admin("key", "create", "--expires", "soon").expect(2).err

        rows = list(csv.DictReader(io.StringIO(admin("usage", "--csv").expect(0).out)))
        assert [(row["tenant"], row["sessions"]) for row in rows] == [(tenant["id"], "1")]
        assert tenant["id"] in admin("usage", "--tenant", "team").expect(0).out
        assert json.loads(admin("usage", "--to", "2000-01-01", "--json").expect(0).out) == []
        admin("tenant", "set", "team", "--state", "suspended").expect(0)
        admin("tenant", "rm", "team").expect(0)
        assert "team" not in admin("tenant", "ls").expect(0).out
