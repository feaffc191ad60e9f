"""Files of a tenant in `reckon serve`: stored, listed, read, copied into sessions, collected."""

import hashlib
import json
import os
import signal
import time
import urllib.parse

import pytest
from leftovers import PATIENCE
from reckon_serve import Server
from test_serve_documents import rows
from test_serve_tenants import make_key, using
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


def store(server, content, name="a.csv", **query):
    if "metadata" in query:
        query["metadata"] = json.dumps(query["metadata"])
    text = urllib.parse.urlencode({"name": name, **query}, quote_via=urllib.parse.quote)
    return server.ask("POST", f"/files?{text}", content)


def ids(server, **query):
    if "metadata" in query:
        query["metadata"] = json.dumps(query["metadata"])
    answer = server.ask("GET", "/files?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote))
    assert answer.status == 200, answer
    return [each["id"] for each in answer.json["files"]], answer.json["next"]


def test_a_file_is_what_was_stored(server):
    content = b"\x89PNG\r\n\x1a\n" + os.urandom(3 << 20)
    made = store(server, content, "é b.png", purpose="vision", metadata={"user": "ann"})
    assert made.status == 201, made
    stored = made.json
    assert stored["id"].startswith("file_") and stored["name"] == "é b.png"
    assert stored["bytes"] == len(content) and stored["media_type"] == "image/png"
    assert stored["sha256"].endswith(hashlib.sha256(content).hexdigest())
    assert stored["metadata"] == {"user": "ann", "purpose": "vision"} and stored["expires_at"] is None
    assert server.ask("GET", f"/files/{stored['id']}").json == stored
    path = f"/files/{stored['id']}/content"
    whole = server.ask("GET", path)
    assert whole.body == content and whole.headers["Content-Type"] == "image/png"
    assert "%C3%A9%20b.png" in whole.headers["Content-Disposition"]
    part = server.ask("GET", path, headers={"Range": "bytes=100-199"})
    assert (part.status, part.body) == (206, content[100:200])
    assert server.ask("GET", path, headers={"If-None-Match": whole.headers["ETag"]}).status == 304
    assert server.ask("GET", path, headers={"Range": "bytes=99999999-"}).status == 416
    assert server.ask("DELETE", f"/files/{stored['id']}").status == 200
    for gone in (f"/files/{stored['id']}", path):
        assert server.ask("GET", gone).code == "not_found"
    assert server.ask("DELETE", f"/files/{stored['id']}").code == "not_found"


def test_lists(server):
    tenant, key = server.newcomer("files-lists")
    with using(server, key):
        made = [store(server, b"x%d" % n, f"f{n}.txt", purpose="odd" if n % 2 else "even",
                      metadata={"n": str(n)}).json["id"] for n in range(5)]
        assert ids(server) == (made[::-1], None)
        assert ids(server, order="asc", limit=2) == (made[:2], made[1])
        assert ids(server, order="asc", limit=3, after=made[1]) == (made[2:], None)
        assert ids(server, before=made[1]) == ([made[0]], None)
        assert ids(server, purpose="odd") == ([made[3], made[1]], None)
        assert ids(server, purpose="odd", metadata={"n": "1"}) == ([made[1]], None)
        assert ids(server, purpose="odd", metadata={"n": "2"}) == ([], None)
        # Documents of a client are separate, and no collection name leads to files.
        for name in ("files", "%2Ffiles", "-", "."):
            assert server.ask("GET", f"/documents/{name}").json["documents"] == []
            assert server.ask("GET", f"/documents/{name}/{made[0]}").code == "not_found"
            assert server.ask("DELETE", f"/documents/{name}").json["deleted"] == 0
    assert server.ask("DELETE", f"/tenants/{tenant}").status == 200
    assert rows(server, "SELECT count(*) FROM document WHERE tenant = ?", tenant) == [(0,)]


def test_copied_into_sessions(server):
    made = store(server, b"a,b\n1,2\n", "t.csv").json
    session = server.create(files=[{"file": made["id"]}, {"file": made["id"], "path": "in/deep/u.csv"}])
    record = server.execute(session, "print(open('t.csv').read() + open('in/deep/u.csv').read())")
    assert record["stdout"] == "a,b\n1,2\na,b\n1,2\n\n" and record["files"] == []
    done = server.ask("POST", f"/sessions/{session}/files/copy", {"file": made["id"], "path": "later"})
    assert done.status == 200 and done.json["path"] == "later" and done.json["artifact"] == made["artifact"]
    server.execute(session, "open('t.csv', 'a').write('3,4')")  # a copy
    assert server.ask("GET", f"/files/{made['id']}/content").body == b"a,b\n1,2\n"
    versions = server.ask("GET", f"/sessions/{session}/versions/later").json["versions"]
    assert [each["artifact"] for each in versions] == [made["artifact"]]
    missing = "file_01M80J7V9Z7WCA235G7GJNP5HC"
    copy = f"/sessions/{session}/files/copy"
    assert server.ask("POST", copy, {"file": missing}).code == "not_found"
    assert server.ask("POST", copy, {"file": made["id"], "path": "../x"}).status == 400
    before = len(server.ask("GET", "/sessions").json["sessions"])
    assert server.ask("POST", "/sessions", {"files": [{"file": missing}]}).code == "not_found"
    assert len(server.ask("GET", "/sessions").json["sessions"]) == before
    refused = server.ask("POST", "/sessions", {"files": [{"file": made["id"], "path": "/etc/passwd"},
                                                         {"file": made["id"]}]})
    assert refused.status == 400, refused
    live = [each for each in server.ask("GET", "/sessions").json["sessions"] if each["status"] == "live"]
    assert [each["id"] for each in live] == [session]
    large = store(server, os.urandom(2 << 20)).json["id"]
    refused = server.ask("POST", "/sessions", {"files": [{"file": large}], "limits": {"disk_bytes": 1 << 20}})
    assert refused.status == 413, refused
    server.ask("DELETE", f"/files/{made['id']}")
    assert server.ask("GET", f"/sessions/{session}/files/later").body == b"a,b\n1,2\n"


def test_invalid_uploads_are_refused(server):
    for query, text in (({"name": ""}, "name"), ({"name": "a/b"}, "'/'"), ({"name": ".."}, "'/'"),
                        ({"name": "x" * 256}, "name"), ({"name": "a\nb"}, "malformed"),
                        ({"metadata": "x"}, "object"), ({"metadata": {"a": 1}}, "strings"),
                        ({"expires_in_s": 0}, "expires_in_s"), ({"purpose": ""}, "purpose"),
                        ({"other": 1}, "unknown")):
        answer = store(server, b"x", **query)
        assert answer.status == 400 and text in answer.json["error"]["message"], (query, answer)
    assert server.ask("POST", "/files", b"x").status == 400
    assert ids(server)[0] == [] or all(each.startswith("file_") for each in ids(server)[0])


def test_tenants_scopes_and_quotas(server):
    mine = store(server, b"mine").json["id"]
    tenant, key = server.newcomer("files-quota", disk_bytes=200000)
    with using(server, key):
        assert server.ask("GET", f"/files/{mine}").code == "not_found"
        assert server.ask("GET", f"/files/{mine}/content").code == "not_found"
        assert server.ask("DELETE", f"/files/{mine}").code == "not_found"
        assert server.ask("POST", "/sessions", {"files": [{"file": mine}]}).code == "not_found"
        assert ids(server) == ([], None)
        first = store(server, os.urandom(150000))
        assert first.status == 201
        assert store(server, os.urandom(150000)).status == 413
        assert len(ids(server)[0]) == 1
    weak = make_key(server, scopes=["read", "sessions"])["key"]
    with using(server, weak):
        assert store(server, b"x").code == "scope_missing"
        assert server.ask("DELETE", f"/files/{mine}").code == "scope_missing"
        assert server.ask("POST", "/sessions", {"files": [{"file": mine}]}).code == "scope_missing"
        assert server.ask("GET", f"/files/{mine}/content").body == b"mine"


def test_expired_files_are_gone(server):
    made = store(server, b"short", expires_in_s=1).json
    assert made["expires_at"] is not None
    eventually(lambda: server.ask("GET", f"/files/{made['id']}").status != 200, "it does not expire")
    assert server.ask("GET", f"/files/{made['id']}/content").code == "not_found"
    eventually(lambda: rows(server, "SELECT count(*) FROM document WHERE id = ?", made["id"]) == [(0,)],
               "its row stays")


def test_answered_uploads_survive_a_kill(reckon):
    with_content = {}
    server = Server(reckon)
    server.start()
    key = server.key
    for n in range(5):
        content = os.urandom(100000)
        with_content[store(server, content).json["id"]] = content
    session = server.create(files=[{"file": name, "path": name} for name in with_content])
    server.stop(signal.SIGKILL)
    with Server(reckon, key=key) as server:
        for name, content in with_content.items():
            assert server.ask("GET", f"/files/{name}/content").body == content
            assert server.ask("GET", f"/sessions/{session}/files/{name}").body == content


def test_the_collector_keeps_content_of_files(reckon):
    """The content is in the store's first directory, which the collector visits first."""
    number = 0
    while not hashlib.sha256(str(number).encode()).hexdigest().startswith("00"):
        number += 1
    server = Server(reckon, "--store-keep", "1")
    with server:
        key, made = server.key, store(server, str(number).encode()).json
    path = next(server.reckon.state.glob("artifacts/00/*"))
    for stays in (True, False):
        os.utime(path, (1, 1))
        with Server(reckon, "--store-keep", "1", key=key) as server:
            deadline = time.monotonic() + 30 * PATIENCE
            if stays:
                time.sleep(2)
                content = server.ask("GET", f"/files/{made['id']}/content")
                assert content.body == str(number).encode()
                assert server.ask("DELETE", f"/files/{made['id']}").status == 200
            while path.exists() and not stays:
                assert time.monotonic() < deadline, "it stays in the store"
                time.sleep(0.1)
