"""Volumes: folders of a tenant that outlive sessions and that several mount at once."""
import json
import os

import pytest
from reckon_serve import Server, bearer
from waiting import eventually


def volume(server, name="shared"):
    answer = server.ask("POST", "/volumes", {"name": name})
    assert answer.status == 201, answer
    return answer.json


def put(server, named, path, body=b"x", query=""):
    return server.ask("PUT", f"/volumes/{named}/files/{path}{query}", body)


def get(server, named, path):
    return server.ask("GET", f"/volumes/{named}/files/{path}")


def entries(server, named, query=""):
    answer = server.ask("GET", f"/volumes/{named}/entries{query}")
    assert answer.status == 200, answer
    return answer.json["entries"]


def run(server, session, code):
    record = server.execute(session, code)
    assert record["status"] == "ok", record
    return record["stdout"]["text"] if isinstance(record["stdout"], dict) else record["stdout"]


def test_a_volume_is_made_listed_shown_and_removed(server):
    made = volume(server)
    assert made["name"] == "shared" and made["id"].startswith("vol_")
    assert (made["bytes"], made["entries"], made["sessions"]) == (0, 0, 0)
    assert server.ask("GET", "/volumes").json["volumes"] == [made]
    for named in ("shared", made["id"]):
        assert server.ask("GET", f"/volumes/{named}").json == made
    again = server.ask("POST", "/volumes", {"name": "shared"})
    assert (again.status, again.code) == (409, "exists")
    assert server.ask("DELETE", "/volumes/shared").status == 200
    assert server.ask("GET", "/volumes").json["volumes"] == []
    assert server.ask("DELETE", "/volumes/shared").status == 404
    folder = server.reckon.state / "volumes" / made["id"]
    eventually(lambda: not folder.exists())
    assert volume(server)["id"] != made["id"]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", ".a", "vol_a", "-", "ä", "a" * 64, "a\n", 5, None])
def test_invalid_names(server, name):
    answer = server.ask("POST", "/volumes", {"name": name})
    assert (answer.status, answer.code) == (400, "invalid"), answer
    assert server.ask("GET", "/volumes").json["volumes"] == []


def test_at_most_a_hundred(server):
    for number in range(100):
        volume(server, f"v{number}")
    answer = server.ask("POST", "/volumes", {"name": "more"})
    assert (answer.status, answer.code) == (413, "limit")
    assert len(server.ask("GET", "/volumes").json["volumes"]) == 100


def test_files_without_a_session(server):
    volume(server)
    written = put(server, "shared", "a/b.txt", b"hello", "?mode=416")
    assert written.status == 201, written
    assert {name: written.json[name] for name in ("path", "kind", "bytes", "mode")} == {
        "path": "a/b.txt", "kind": "file", "bytes": 5, "mode": 0o640}
    assert get(server, "shared", "a/b.txt").body == b"hello"
    assert server.ask("GET", "/volumes/shared/files/a/b.txt", headers={"Range": "bytes=1-2"}).body == b"el"
    assert put(server, "shared", "a/b.txt", b"other").status == 201
    assert get(server, "shared", "a/b.txt").body == b"other"
    assert put(server, "shared", "no/such/place", b"x", "?parents=0").status == 404
    made = server.ask("POST", "/volumes/shared/mkdir", {"path": "x/y", "mode": 0o700})
    assert (made.status, made.json["kind"], made.json["mode"]) == (201, "folder", 0o700)
    assert server.ask("POST", "/volumes/shared/mkdir", {"path": "x/y"}).status == 201
    assert server.ask("POST", "/volumes/shared/mkdir", {"path": "x/y", "parents": False}).code == "exists"
    assert server.ask("POST", "/volumes/shared/mkdir", {"path": "n/y", "parents": False}).status == 404
    assert server.ask("POST", "/volumes/shared/mkdir", {"path": "a/b.txt/c"}).status == 403
    assert [each["path"] for each in entries(server, "shared")] == ["a", "x"]
    assert [each["path"] for each in entries(server, "shared", "?depth=9")] == ["a", "a/b.txt", "x", "x/y"]
    assert [each["path"] for each in entries(server, "shared", "?path=x")] == ["x/y"]
    changed = server.ask("PATCH", "/volumes/shared/files/a/b.txt", {"mode": 0o600})
    assert (changed.status, changed.json["mode"]) == (200, 0o600)
    assert server.ask("GET", "/volumes/shared/stat?path=a/b.txt").json["mode"] == 0o600
    assert server.ask("GET", "/volumes/shared/stat").json["kind"] == "folder"
    assert server.ask("DELETE", "/volumes/shared/files/a").status == 200
    assert [each["path"] for each in entries(server, "shared")] == ["x"]
    assert get(server, "shared", "a/b.txt").status == 404
    eventually(lambda: server.ask("GET", "/volumes/shared").json["entries"] == 2)


def test_sessions_share_a_volume_that_outlives_them(server):
    volume(server)
    one = server.create(volumes=[{"volume": "shared", "path": "/mnt/here"}])
    other = server.create(volumes=[{"volume": "shared", "read_only": True}])
    run(server, one, "open('/mnt/here/a', 'w').write('from one')")
    assert run(server, other, "print(open('/mnt/shared/a').read())") == "from one\n"
    refused = server.execute(other, "open('/mnt/shared/b', 'w')")
    assert refused["error"]["name"] == "OSError" and "Read-only" in str(refused["error"]), refused
    put(server, "shared", "b", b"from outside")
    assert run(server, one, "print(open('/mnt/here/b').read())") == "from outside\n"
    run(server, one, "open('/mnt/here/b', 'a').write('!')")
    assert get(server, "shared", "b").body == b"from outside!"
    shown = server.ask("GET", f"/sessions/{other}").json["volumes"]
    assert [(each["name"], each["path"], each["read_only"]) for each in shown] == [("shared", "/mnt/shared", True)]
    assert server.ask("GET", "/volumes/shared").json["sessions"] == 2
    held = server.ask("DELETE", "/volumes/shared")
    assert (held.status, held.code) == (409, "exists") and "2 sessions" in held.json["error"]["message"]
    for session in (one, other):
        assert server.ask("DELETE", f"/sessions/{session}").status == 200
    third = server.create(volumes=[{"volume": "shared"}])
    assert run(server, third, "print(open('/mnt/shared/a').read())") == "from one\n"
    server.ask("DELETE", f"/sessions/{third}")
    assert server.ask("DELETE", "/volumes/shared").status == 200


def test_a_volume_exists_after_a_restart(server):
    volume(server)
    put(server, "shared", "a", b"kept")
    session = server.create(volumes=[{"volume": "shared", "path": "/mnt/v"}])
    server.execute(session, "x = 1")
    server.stop()
    folders = server.reckon.state / "volumes"
    left = {name: folders / f"{name}{0:025}" for name in ("vol_0", "vol_1", "gone_vol_0")}
    for folder in left.values():
        folder.mkdir()
    (left["vol_1"] / "of an older database").touch()
    (left["gone_vol_0"] / "removed").touch()
    owner = folders.stat()
    for folder in left.values():
        os.chown(folder, owner.st_uid, owner.st_gid)
    server.start()
    assert [name for name, folder in left.items() if folder.exists()] == ["vol_1"]
    assert left["vol_1"].name in server.log()
    assert run(server, session, "print(open('/mnt/v/a').read())") == "kept\n"
    assert server.ask("GET", "/volumes/shared").json["sessions"] == 1
    assert server.ask("DELETE", "/volumes/shared").status == 409


def test_places_and_volumes_that_cannot_be_mounted(server):
    volume(server)
    volume(server, "other")
    for path in ("/a", "/mnt", "/mnt/", "/mnt/data", "/mnt/data/x", "/mnt/files", "/mnt/../etc", "/mnt/a/./b",
                 "/mnt//a", "mnt/a", "/mnt/a\n", "/etc", "/mnt/" + "a" * 300):
        answer = server.ask("POST", "/sessions", {"volumes": [{"volume": "shared", "path": path}]})
        assert (answer.status, answer.code) == (400, "invalid"), (path, answer)
    for second in ("/mnt/a", "/mnt/a/b", "/mnt/a/b/c"):
        answer = server.ask("POST", "/sessions", {"volumes": [
            {"volume": "shared", "path": "/mnt/a/b"}, {"volume": "other", "path": second}]})
        assert answer.status == 400, second
    missing = server.ask("POST", "/sessions", {"volumes": [{"volume": "none"}]})
    assert (missing.status, missing.code) == (404, "not_found")
    assert server.ask("POST", "/sessions", {"volumes": [{"volume": "shared"}] * 5}).status == 400
    assert server.ask("GET", "/sessions?status=live").json["sessions"] == []


def test_four_in_a_session(server):
    mounts = [{"volume": volume(server, f"v{number}")["id"], "path": f"/mnt/m{number}"} for number in range(5)]
    answer = server.ask("POST", "/sessions", {"volumes": mounts})
    assert (answer.status, answer.code) == (400, "invalid")
    session = server.create(volumes=mounts[:4])
    assert run(server, session, "import os; print(sorted(n for n in os.listdir('/mnt') if n[0] == 'm'))") == "['m0', 'm1', 'm2', 'm3']\n"


def test_nothing_leads_out_of_a_volume(server):
    secret = server.reckon.state / "secret"
    secret.write_text("the daemon's")
    volume(server)
    session = server.create(volumes=[{"volume": "shared", "path": "/mnt/v"}])
    run(server, session, f"""
import os
os.symlink({str(secret)!r}, '/mnt/v/link')
os.symlink({str(server.reckon.state)!r}, '/mnt/v/folder')
os.symlink('..', '/mnt/v/up')
os.mkfifo('/mnt/v/pipe')
os.mkdir('/mnt/v/real')
open('/mnt/v/real/file', 'w').write('mine')
""")
    for path in ("link", "folder/secret", "up/secret", "pipe", "real"):
        answer = get(server, "shared", path)
        assert answer.status in (403, 404) and b"the daemon" not in answer.body, (path, answer)
    for path in ("../secret", "%2e%2e/secret", "real/../../secret", "a%00b", "%2fetc%2fpasswd"):
        answer = get(server, "shared", path)
        assert answer.status in (400, 404) and b"the daemon" not in answer.body, (path, answer)
        assert put(server, "shared", path).status in (400, 403, 404), path
    assert put(server, "shared", "folder/new").status == 403
    assert put(server, "shared", "pipe").status == 201  # replaced, never opened
    assert put(server, "shared", "link", b"mine").status == 201
    assert put(server, "shared", "real").status == 403
    assert server.ask("PATCH", "/volumes/shared/files/folder", {"mode": 0o777}).status == 403
    assert server.ask("POST", "/volumes/shared/mkdir", {"path": "folder/x"}).status == 403
    kinds = {each["path"]: (each["kind"], each.get("target")) for each in entries(server, "shared", "?depth=64")}
    assert kinds["folder"] == ("link", str(server.reckon.state)) and kinds["up"] == ("link", "..")
    assert not any(path.startswith(("folder/", "up/")) for path in kinds)
    assert server.ask("DELETE", "/volumes/shared/files/folder").status == 200
    assert server.ask("DELETE", "/volumes/shared/files/up").status == 200
    assert secret.read_text() == "the daemon's"
    assert run(server, session, "print(open('/mnt/v/link').read())") == "mine\n"


def test_other_tenants_have_no_access(server):
    made = volume(server)
    other, theirs = server.newcomer("other")
    theirs = bearer(theirs)
    for named in ("shared", made["id"]):
        for method, path, body in (("GET", "", None), ("DELETE", "", None), ("GET", "/token", None),
                                   ("GET", "/entries", None), ("GET", "/files/a", None), ("PUT", "/files/a", b"x"),
                                   ("POST", "/mkdir", {"path": "a"}), ("DELETE", "/files/a", None)):
            assert server.ask(method, f"/volumes/{named}{path}", body, theirs).status == 404, (method, path)
        assert server.ask("POST", "/sessions", {"volumes": [{"volume": named}]}, theirs).status == 404
    assert server.ask("GET", "/volumes", headers=theirs).json["volumes"] == []
    assert server.ask("POST", "/volumes", {"name": "shared"}, theirs).status == 201
    assert put(server, "shared", "a").status == 201
    assert server.ask("GET", "/volumes/shared/files/a", headers=theirs).status == 404
    folders = server.reckon.state / "volumes"
    assert len(list(folders.iterdir())) == 2
    assert server.ask("DELETE", f"/tenants/{other}").status == 200
    eventually(lambda: [each.name for each in folders.iterdir()] == [made["id"]])


def test_a_token_is_for_one_volume(server):
    made, other = volume(server), volume(server, "other")
    session = server.create()
    token = server.ask("GET", "/volumes/shared/token").json["token"]
    assert token.startswith("vt_") and server.ask("GET", "/volumes/shared/token").json["token"] == token
    bearer = {"Authorization": f"Bearer {token}"}
    one = f"/volumes/{made['id']}"
    assert server.ask("PUT", f"{one}/files/a", b"mine", bearer).status == 201
    assert server.ask("GET", f"{one}/files/a", headers=bearer).body == b"mine"
    assert len(server.ask("GET", f"{one}/entries", headers=bearer).json["entries"]) == 1
    for method, path, body in (("DELETE", one, None), ("GET", f"{one}/token", None), ("GET", "/volumes", None),
                               ("GET", f"/volumes/{other['id']}/entries", None), ("GET", "/sessions", None),
                               ("PUT", f"/volumes/{other['id']}/files/a", b"x"), ("GET", f"/sessions/{session}", None),
                               ("POST", "/sessions", {"volumes": [{"volume": made["id"]}]}), ("GET", "/keys", None)):
        answer = server.ask(method, path, body, bearer)
        assert (answer.status, answer.code) == (403, "token_elsewhere"), (method, path, answer)
    of_session = server.ask("GET", f"/sessions/{session}/token").json["token"]
    assert server.ask("GET", f"{one}/entries", headers={"Authorization": f"Bearer {of_session}"}).status == 403
    for forged in (token[:-1] + ("A" if token[-1] != "A" else "B"), "vt_" + of_session[3:], token.replace("vt_", "st_"),
                   token[:3] + other["id"][4:] + token[29:]):
        assert server.ask("GET", f"{one}/entries", headers={"Authorization": f"Bearer {forged}"}).status == 401
    assert server.ask("DELETE", one).status == 200
    assert server.ask("GET", f"{one}/entries", headers=bearer).status == 404


def ended(server, session):
    shown = eventually(lambda: (found := server.ask("GET", f"/sessions/{session}")).status == 410 and found
                  or (found.status == 200 and found.json["status"] != "live" and found))
    return shown.body.decode()


@pytest.mark.parametrize("code, why", [
    ("open('/mnt/v/big', 'wb').write(b'x' * (3 << 20))", "max-volume"),
    # Folders without read permission count, too.
    ("import os; os.mkdir('/mnt/v/d'); open('/mnt/v/d/big', 'wb').write(b'x' * (3 << 20)); os.chmod('/mnt/v/d', 0)",
     "max-volume"),
    ("import os\nos.chdir('/mnt/v')\nfor i in range(70):\n    os.mkdir('d')\n    os.chdir('d')\n", "64 folders"),
], ids=["bytes", "closed", "depth"])
def test_a_session_that_writes_too_much_ends(reckon, code, why):
    with Server(reckon, "--max-volume", "1M") as server:
        made = volume(server)
        assert made["limit_bytes"] == 1 << 20
        writer = server.create(volumes=[{"volume": "shared", "path": "/mnt/v"}])
        reader = server.create(volumes=[{"volume": "shared", "path": "/mnt/v", "read_only": True}])
        server.execute(writer, "1")
        server.ask("POST", f"/sessions/{writer}/executions", {"code": code + "\nimport time; time.sleep(600)",
                                                              "background": True})
        assert why in ended(server, writer)
        assert server.execute(reader, "print(1)")["status"] == "ok"
        if why == "max-volume":
            full = put(server, "shared", "more", b"x" * 10)
            assert (full.status, full.code) == (413, "limit")
            full = server.ask("POST", "/sessions", {"volumes": [{"volume": "shared"}]})
            assert (full.status, full.code) == (413, "limit") and "read-only" in full.json["error"]["remedy"]
        for each in entries(server, "shared"):
            assert server.ask("DELETE", f"/volumes/shared/files/{each['path']}").status == 200
        eventually(lambda: server.ask("GET", "/volumes/shared").json["bytes"] == 0)
        again = server.create(volumes=[{"volume": "shared", "path": "/mnt/v"}])
        assert run(server, again, "import os; print(os.listdir('/mnt/v'))") == "[]\n"


def test_volumes_count_in_the_tenants_quota(server):
    theirs = bearer(server.newcomer("small", disk_bytes=1 << 20)[1])
    assert server.ask("POST", "/volumes", {"name": "a"}, theirs).status == 201
    too_large = server.ask("PUT", "/volumes/a/files/x", b"x" * (2 << 20), theirs)
    assert too_large.status == 413 and too_large.json["error"]["quota"]["name"] == "disk_bytes"
    assert server.ask("PUT", "/volumes/a/files/x", b"x" * (900 << 10), theirs).status == 201
    assert server.ask("PUT", "/volumes/a/files/y", b"x" * (900 << 10), theirs).status == 413
    assert server.ask("DELETE", "/volumes/a/files/x", headers=theirs).status == 200
    eventually(lambda: server.ask("PUT", "/volumes/a/files/y", b"x" * (900 << 10), theirs).status == 201)


def test_scopes(server):
    volume(server)
    key = server.ask("POST", "/keys", {"name": "r", "scopes": ["read", "sessions"]}).json["key"]
    reader = {"Authorization": f"Bearer {key}"}
    assert server.ask("GET", "/volumes", headers=reader).status == 200
    for method, path, body in (("POST", "/volumes", {"name": "b"}), ("DELETE", "/volumes/shared", None),
                               ("GET", "/volumes/shared/token", None), ("GET", "/volumes/shared/entries", None),
                               ("PUT", "/volumes/shared/files/a", b"x"),
                               ("POST", "/sessions", {"volumes": [{"volume": "shared"}]})):
        answer = server.ask(method, path, body, reader)
        assert (answer.status, answer.code) == (403, "scope_missing"), (method, path)


def test_missing_content_is_reported(server):
    made = volume(server)
    (server.reckon.state / "volumes" / made["id"]).rmdir()
    answer = server.ask("POST", "/sessions", {"volumes": [{"volume": "shared"}]})
    assert answer.status == 503 and "backup" in json.dumps(answer.json), answer
    answer = server.ask("GET", "/volumes/shared/entries")
    assert answer.status == 503 and "backup" in answer.json["error"]["remedy"], answer
    assert server.ask("DELETE", "/volumes/shared").status == 200
