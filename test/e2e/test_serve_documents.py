"""Documents of `reckon serve`: stored, compared and set, listed by metadata, expired, counted."""

import concurrent.futures
import json
import signal
import urllib.parse

import pytest
from reckon_serve import Server
from test_serve_tenants import make_key, using
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


def put(server, path, value=None, headers=None, **body):
    return server.ask("PUT", f"/documents/{path}", {"value": value or {}, **body}, headers)


def ids(server, collection, **query):
    if "metadata" in query:
        query["metadata"] = json.dumps(query["metadata"])
    answer = server.ask("GET", f"/documents/{collection}?{urllib.parse.urlencode(query, quote_via=urllib.parse.quote)}")
    assert answer.status == 200, answer
    return [each["id"] for each in answer.json["documents"]], answer.json["next"]


def test_a_document_is_what_was_stored(server):
    value = {"text": "é\U0001f40d\n", "n": 1.5, "big": 9007199254740993, "list": [None, True, {}]}
    made = put(server, "a/x", value, metadata={"kind": "one"})
    assert made.status == 200 and "value" not in made.json
    found = server.ask("GET", "/documents/a/x")
    assert found.json == {**made.json, "value": value} and found.json["metadata"] == {"kind": "one"}
    assert dict(found.headers)["ETag"] == f'"{found.json["etag"]}"'
    again = put(server, "a/x", {"other": 1}).json
    assert again["etag"] != made.json["etag"] and again["created_at"] == made.json["created_at"]
    assert server.ask("GET", "/documents/a/x").json["value"] == {"other": 1}
    assert again["metadata"] == {} and again["expires_at"] is None
    assert server.ask("DELETE", "/documents/a/x").status == 200
    for method in ("GET", "DELETE"):
        assert server.ask(method, "/documents/a/x").code == "not_found"
    assert server.ask("PATCH", "/documents/a/x", {"value": {}}).code == "not_found"


def test_an_id_is_generated(server):
    made = server.ask("POST", "/documents/given", {"value": {"n": 1}})
    assert made.status == 201 and made.json["id"].startswith("doc_")
    assert server.ask("GET", f"/documents/given/{made.json['id']}").json["value"] == {"n": 1}


def test_create_if_absent_and_compare_and_set(server):
    absent = {"If-None-Match": "*"}
    first = put(server, "cas/x", {"n": 0}, absent)
    assert first.status == 200
    assert put(server, "cas/x", {"n": 9}, absent).code == "precondition_failed"
    match = {"If-Match": f'"{first.json["etag"]}"'}
    second = put(server, "cas/x", {"n": 1}, match)
    assert second.status == 200
    for method, body in (("PUT", {"value": {}}), ("PATCH", {"value": {}}), ("DELETE", None)):
        assert server.ask(method, "/documents/cas/x", body, match).status == 412
    assert put(server, "cas/none", {}, {"If-Match": "*"}).status == 412
    # A document that was deleted and created again has another etag.
    server.ask("DELETE", "/documents/cas/x")
    put(server, "cas/x")
    assert put(server, "cas/x", {}, {"If-Match": f'"{second.json["etag"]}"'}).status == 412
    assert server.ask("GET", "/documents/cas/x").json["value"] == {}


def test_concurrent_compare_and_set_loses_no_update(server):
    put(server, "count/x", {"n": 0})

    def add(_):
        while True:
            found = server.ask("GET", "/documents/count/x").json
            done = put(server, "count/x", {"n": found["value"]["n"] + 1},
                       {"If-Match": f'"{found["etag"]}"'})
            if done.status == 200:
                return
            assert done.status == 412, done

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert server.ask("GET", "/documents/count/x").json["value"] == {"n": 40}


# The examples of RFC 7396 whose target and patch are objects.
@pytest.mark.parametrize("target, patch, merged", [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"é": 1}, {"é": None, "b": "\u00e9"}, {"b": "é"}),
])
def test_a_merge_patch(server, target, patch, merged):
    put(server, "merge/x", target, metadata={"a": "1", "b": "2"})
    done = server.ask("PATCH", "/documents/merge/x",
                      {"value": patch, "metadata": {"a": None, "c": "3"}})
    assert done.status == 200, done
    found = server.ask("GET", "/documents/merge/x").json
    assert found["value"] == merged and found["metadata"] == {"b": "2", "c": "3"}
    assert ids(server, "merge", metadata={"c": "3"})[0] == ["x"]
    assert ids(server, "merge", metadata={"a": "1"})[0] == []


def test_lists_both_ways_and_by_metadata(server):
    for n in range(10):
        put(server, f"list/d{n}", {"n": n},
            metadata={"parity": str(n % 2), "third": str(n % 3), "é\"": "\\"})
    names = [f"d{n}" for n in range(10)]
    assert ids(server, "list") == (names[::-1], None)
    assert ids(server, "list", order="asc") == (names, None)
    assert ids(server, "list", limit=3) == (["d9", "d8", "d7"], "d7")
    assert ids(server, "list", limit=3, before="d7") == (["d6", "d5", "d4"], "d4")
    assert ids(server, "list", limit=9, before="d1") == (["d0"], None)
    assert ids(server, "list", limit=3, order="asc", after="d7") == (["d8", "d9"], None)
    assert ids(server, "list", limit=2, order="asc", after="d2", before="d6") == (["d3", "d4"], "d4")
    assert ids(server, "list", metadata={"parity": "1"}) == (["d9", "d7", "d5", "d3", "d1"], None)
    assert ids(server, "list", metadata={"parity": "1", "third": "0"}) == (["d9", "d3"], None)
    assert ids(server, "list", metadata={"third": "0", "parity": "1"}, order="asc", limit=1) == (["d3"], "d3")
    assert ids(server, "list", metadata={"é\"": "\\"}, limit=1)[0] == ["d9"]
    assert ids(server, "list", metadata={"third": "7"}) == ids(server, "nothing") == ([], None)
    assert ids(server, "list", metadata={}) == (names[::-1], None)
    # A change does not move a document in the list.
    put(server, "list/d0", {"n": -1}, metadata={})
    assert ids(server, "list", order="asc")[0] == names
    assert "d0" not in ids(server, "list", metadata={"parity": "0"})[0]
    with_values = server.ask("GET", "/documents/list?limit=1").json["documents"][0]
    without = server.ask("GET", "/documents/list?limit=1&values=0").json["documents"][0]
    assert with_values.pop("value") == {"n": 9} and with_values == without
    assert server.ask("GET", "/documents/list?before=never").code == "not_found"


def test_a_page_of_large_documents_ends_early(server):
    for n in range(12):
        assert put(server, f"large/d{n}", {"x": "x" * 1000000}).status == 200
    names, following, pages = [], None, 0
    while following or not pages:
        page, following = ids(server, "large", **({"before": following} if following else {}))
        names, pages = names + page, pages + 1
    assert names == [f"d{n}" for n in range(11, -1, -1)] and pages > 1


def test_a_collection_is_cleared(server):
    for n in range(1200):
        put(server, f"clear/d{n}", metadata={"keep": str(n % 100 == 0)})
    some = "/documents/clear?metadata=" + urllib.parse.quote('{"keep":"False"}')
    assert server.ask("DELETE", some).json == {"deleted": 1000, "more": True}
    assert server.ask("DELETE", some).json == {"deleted": 188, "more": False}
    assert len(ids(server, "clear", limit=500)[0]) == 12
    assert server.ask("DELETE", "/documents/clear").json == {"deleted": 12, "more": False}
    assert server.ask("DELETE", "/documents/clear").json == {"deleted": 0, "more": False}


def test_invalid_requests_are_refused(server):
    wrong = [
        ("PUT", "bad/x", {}, "value is missing"), ("PUT", "bad/x", {"value": []}, "object"),
        ("PUT", "bad/x", {"value": "x"}, "object"),
        ("PUT", "bad/x", {"value": {"x": "x" * (1 << 20)}}, "1048576"),
        ("PUT", "bad/x", {"value": {}, "metadata": {"a": 1}}, "strings"),
        ("PUT", "bad/x", {"value": {}, "metadata": {"a": None}}, "strings"),
        ("PUT", "bad/x", {"value": {}, "metadata": {str(n): "" for n in range(17)}}, "16"),
        ("PUT", "bad/x", {"value": {}, "metadata": {"a": "x" * 513}}, "512"),
        ("PUT", "bad/x", {"value": {}, "metadata": {"a" * 65: ""}}, "64"),
        ("PUT", "bad/x", {"value": {}, "expires_at": "2001-01-01T00:00:00Z"}, "passed"),
        ("PUT", "bad/x", {"value": {}, "expires_in_s": 1, "expires_at": "2040-01-01T00:00:00Z"},
         "cannot be used together"),
        ("PUT", "bad/%2e%2e%2fx", {"value": {}}, "letters"), ("PUT", f"bad/{'x' * 65}", {"value": {}}, "64"),
        ("POST", "b%20d", {"value": {}}, "letters"),
        ("GET", "bad?metadata=xy", None, "object"), ("GET", "bad?metadata=[1]", None, "object"),
        ("GET", "bad?metadata={\"a\":1}".replace('"', "%22"), None, "strings"),
        ("GET", "bad?order=up", None, "asc"), ("GET", "bad?limit=0", None, "limit"),
        ("DELETE", "bad?metadata=" + "[" * 2000, None, "object"),
    ]
    for method, path, body, text in wrong:
        answer = server.ask(method, f"/documents/{path}", body)
        assert answer.status == 400 and answer.code == "invalid" and text in answer.json["error"]["message"] + \
            str(answer.json["error"]["remedy"]), (method, path, answer)
    assert ids(server, "bad") == ([], None)
    put(server, "grow/x", {"a": "x" * 600000})
    grown = server.ask("PATCH", "/documents/grow/x", {"value": {"b": "x" * 600000}})
    assert grown.code == "invalid" and "1 MiB" in grown.json["error"]["message"]
    assert list(server.ask("GET", "/documents/grow/x").json["value"]) == ["a"]


def test_tenants_do_not_see_each_others_documents(server):
    put(server, "shared/x", {"whose": "first"}, metadata={"a": "b"})
    tenant, key = server.newcomer("documents-other")
    with using(server, key):
        assert server.ask("GET", "/documents/shared/x").code == "not_found"
        assert server.ask("PATCH", "/documents/shared/x", {"value": {}}).code == "not_found"
        assert server.ask("DELETE", "/documents/shared/x").code == "not_found"
        assert ids(server, "shared") == ids(server, "shared", metadata={"a": "b"}) == ([], None)
        assert server.ask("DELETE", "/documents/shared").json["deleted"] == 0
        assert server.ask("GET", "/documents/shared?before=x").code == "not_found"
        assert put(server, "shared/x", {"whose": "other"}, {"If-None-Match": "*"}).status == 200
    assert server.ask("GET", "/documents/shared/x").json["value"] == {"whose": "first"}
    assert server.ask("DELETE", f"/tenants/{tenant}").status == 200
    assert rows(server, "SELECT count(*) FROM document WHERE tenant = ?", tenant) == [(0,)]
    assert rows(server, "SELECT count(*) FROM document_label WHERE tenant = ?", tenant) == [(0,)]


def rows(server, sql, *values):
    import contextlib
    import sqlite3
    path = next(server.reckon.state.glob("**/reckond.db"))
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
        return opened.execute(sql, values).fetchall()


def test_scopes(server):
    read = make_key(server, scopes=["read"])["key"]
    write = make_key(server, scopes=["files"])["key"]
    with using(server, read):
        assert ids(server, "scopes") == ([], None)
        assert put(server, "scopes/x").code == "scope_missing"
        assert server.ask("DELETE", "/documents/scopes").code == "scope_missing"
    with using(server, write):
        assert put(server, "scopes/x").status == 200
        assert server.ask("GET", "/documents/scopes/x").code == "scope_missing"


def test_documents_count_in_the_disk_quota(server):
    tenant, key = server.newcomer("documents-quota", disk_bytes=100000)

    def used():
        return server.ask("GET", f"/tenants/{tenant}").json["now"]["disk_bytes"]

    with using(server, key):
        assert put(server, "q/a", {"x": "x" * 60000}).status == 200
        refused = put(server, "q/b", {"x": "x" * 60000})
        assert refused.code == "quota_exceeded" and refused.json["error"]["quota"]["name"] == "disk_bytes"
        assert put(server, "q/a", {"x": "y" * 60000}).status == 200  # the replaced document no longer counts
    assert 60000 < used() < 62000
    with using(server, key):
        assert server.ask("PATCH", "/documents/q/a", {"value": {"x": None}}).status == 200
        assert put(server, "q/b", {"x": "x" * 60000}).status == 200
        assert server.ask("DELETE", "/documents/q").json["deleted"] == 2
    assert used() == 0


def test_changes_are_in_the_audit_log(server):
    put(server, "audit/x")
    server.ask("DELETE", "/documents/audit/x")
    put(server, "audit/y")
    server.ask("DELETE", "/documents/audit")
    entries = server.ask("GET", "/audit?limit=500").json["entries"]
    last = server.ask("GET", f"/audit?after={entries[-1]['sequence'] - 1}").json["last"]
    found = server.ask("GET", f"/audit?after={max(0, last - 8)}").json["entries"]
    assert [(each["action"], each["target"]) for each in found if "document" in each["action"]][-4:] == [
        ("document.put", "audit/x"), ("document.delete", "audit/x"), ("document.put", "audit/y"),
        ("document.clear", "audit")]


def test_expired_documents_are_gone(server):
    tenant, key = server.newcomer("documents-expiry")
    with using(server, key):
        made = put(server, "expiry/x", {"n": 1}, metadata={"a": "b"}, expires_in_s=1)
        assert made.json["expires_at"] is not None
        eventually(lambda: server.ask("GET", "/documents/expiry/x").status != 200, "it does not expire")
        assert ids(server, "expiry") == ids(server, "expiry", metadata={"a": "b"}) == ([], None)
        assert put(server, "expiry/x", {"n": 2}, {"If-None-Match": "*"}).status == 200
        put(server, "expiry/y", expires_in_s=1)
    eventually(lambda: rows(server, "SELECT count(*) FROM document WHERE tenant = ?", tenant) == [(1,)],
               "its row stays")
    assert server.ask("GET", f"/tenants/{tenant}").json["now"]["disk_bytes"] < 700
    with using(server, key):
        patched = server.ask("PATCH", "/documents/expiry/x", {"expires_in_s": 1000})
        assert patched.json["expires_at"] is not None
        assert server.ask("GET", "/documents/expiry/x").json["value"] == {"n": 2}


def test_answered_writes_survive_a_kill(reckon):
    server = Server(reckon)
    server.start()
    key, stored = server.key, {}

    def store(n):
        for m in range(1000):
            try:
                answer = put(server, f"kill/d{n}-{m}", {"n": m}, metadata={"n": str(n)})
            except OSError:
                return
            if answer.status != 200:
                return
            stored[answer.json["id"]] = answer.json["etag"]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        running = [pool.submit(store, n) for n in range(4)]
        eventually(lambda: len(stored) >= 50, "nothing is stored")
        server.stop(signal.SIGKILL)
        for each in running:
            each.result()
    with Server(reckon, key=key) as server:
        for name, etag in stored.items():
            assert server.ask("GET", f"/documents/kill/{name}").json["etag"] == etag
        used = server.ask("GET", "/tenants").json["tenants"][0]["now"]["disk_bytes"]
        assert used >= 512 * len(stored)
        assert ids(server, "kill", metadata={"n": "0"}, order="asc")[0][0] == "d0-0"
