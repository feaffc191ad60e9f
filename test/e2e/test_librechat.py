"""LibreChat's Code API: requests as both generations of clients send them, and the code tool of npm.

@librechat/agents is installed by tools/setup.sh, from the lock files of test/sdks/librechat and, for
the previous generation, librechat-before.
"""
import base64
import concurrent.futures
import io
import json
import os
import pathlib
import re
import subprocess
import time

import pytest
from node_clients import node
from one_shot import ask, check_client_gone, check_nothing_stays, oversized, post
from reckon_cli import ROOT

API = "/librechat"
CLIENT = pathlib.Path(__file__).with_name("librechat_client.mjs")
NPM = str(ROOT / "build/sdks/librechat")
BEFORE = pathlib.Path(__file__).with_name("librechat_before_client.mjs")
NPM_BEFORE = str(ROOT / "build/sdks/librechat-before")
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def execute(server, lang, code, files=(), **more):
    answer = post(server, API + "/exec", {"lang": lang, "code": code, "files": list(files),
                                          "user_id": "u", "entity_id": "e", **more})
    assert answer.status == 200, answer
    for text in (answer.json["session_id"], *(each["id"] for each in answer.json["files"])):
        assert re.fullmatch(r"[A-Za-z0-9_-]{21}", text)
    return answer.json


def names(done):
    return {each["name"]: each for each in done["files"]}


def download(server, file):
    answer = ask(server, "GET", f"{API}/download/{file['storage_session_id']}/{file['id']}"
                                f"?kind=user&id=x")
    assert answer.status == 200, answer
    assert answer.headers["Content-Disposition"] == "attachment"
    return answer.body


def test_a_program(server):
    done = execute(server, "py", "import sys; print(sys.argv[1:]); print('e', file=sys.stderr)",
                   args=["a b", "c'd"])
    assert done["stdout"] == """['a b', "c'd"]\n""" and done["stderr"] == "e\n"
    assert done["code"] == 0 and done["files"] == []
    assert execute(server, "cpp", "#include <cstdio>\nint main() { puts(\"42\"); }")["stdout"] == "42\n"
    done = execute(server, "c", "int main( {")
    assert done["code"] == 1 and "error" in done["stderr"]
    done = execute(server, "bash", "echo 1; sleep 60", timeout=500)
    assert (done["stdout"], done["code"]) == ("1\n", None) and "Time limit" in done["stderr"]
    done = execute(server, "py", "while True: print('x' * 1000)")
    assert "length exceeded" in done["stderr"]
    check_nothing_stays(server, 5)


def test_files_are_passed_from_run_to_run(server):
    made = execute(server, "py", "import os; os.mkdir('out'); open('out/ä.bin', 'wb').write(b'\\0\\xff');"
                                 "open('same.txt', 'w').write('same'); open('twin', 'w').write('same')")
    assert set(names(made)) == {"out/ä.bin", "same.txt", "twin"}
    for file in made["files"]:
        assert file["session_id"] == file["storage_session_id"] == made["session_id"]
    assert download(server, names(made)["out/ä.bin"]) == b"\0\xff"
    # Files are passed back in the formats of old and new clients; one changes, one does not.
    old = {key: names(made)["same.txt"][key] for key in ("id", "name", "session_id")}
    new = {**names(made)["out/ä.bin"], "kind": "user", "resource_id": "r"}
    del new["session_id"]
    done = execute(server, "bash", "cat same.txt; printf more >> out/ä.bin; echo n > new.csv",
                   [old, new])
    assert done["stdout"] == "same"
    files = names(done)
    assert set(files) == {"out/ä.bin", "same.txt", "new.csv"}
    assert files["same.txt"] == {**names(made)["same.txt"], "inherited": True}
    assert files["out/ä.bin"]["modified_from"] == {
        "id": new["id"], "storage_session_id": new["storage_session_id"]}
    assert files["out/ä.bin"]["storage_session_id"] == done["session_id"] != made["session_id"]
    assert download(server, files["out/ä.bin"]) == b"\0\xffmore"
    assert download(server, names(made)["out/ä.bin"]) == b"\0\xff"  # the old version stays
    # Under another name, and from several sessions; a deleted file is not listed.
    done = execute(server, "bash", "cat a/b; cat new.csv; rm new.csv",
                   [{**files["same.txt"], "name": "a/b"}, files["new.csv"]])
    assert done["stdout"] == "samen\n" and set(names(done)) == {"a/b"}


def upload(server, path, fields, files, status=200, chunked=False, headers=None):
    """A form as axios and form-data send it: fields first, names in raw UTF-8 with their folders."""
    lines = []
    for name, value in fields:
        lines.append(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, data in files:
        lines.append(f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                     'Content-Type: text/plain\r\n\r\n'.encode() + data + b"\r\n")
    body = b"".join(lines) + b"--x--\r\n"
    answer = ask(server, "POST", API + path, body=io.BytesIO(body) if chunked else body,
                 headers={"Content-Type": "multipart/form-data; boundary=x", **(headers or {})})
    assert answer.status == status, answer
    return answer.json


def test_uploads(server):
    done = upload(server, "/upload", [("kind", "user"), ("id", "1")], [("pptx/ä b.md", b"hello")])
    assert done["message"] == "success" and done["session_id"] == done["storage_session_id"]
    [file] = done["files"]
    assert file["filename"] == "pptx/ä b.md"
    references = {"id": file["fileId"], "name": file["filename"],
                  "storage_session_id": done["storage_session_id"], "kind": "user", "resource_id": "1"}
    assert download(server, references) == b"hello"
    listed = ask(server, "GET", f"{API}/files/{done['session_id']}?detail=full").json
    assert [each["metadata"]["original-filename"] for each in listed] == ["pptx/ä b.md"]
    ran = execute(server, "bash", "cat 'pptx/ä b.md'; printf 2 >> 'pptx/ä b.md'", [references])
    assert ran["stdout"] == "hello"
    assert names(ran)["pptx/ä b.md"]["modified_from"]["id"] == file["fileId"]
    check_nothing_stays(server, 2)


def test_a_batch_and_read_only_files(server):
    done = upload(server, "/upload/batch", [("kind", "skill"), ("read_only", "true")],
                  [("a.txt", b"a"), ("../b", b"b"), ("c/d.bin", bytes(range(256)) * 5000),
                   ("/etc/passwd", b""), (".hidden", b"")], chunked=True)
    assert (done["message"], done["succeeded"], done["failed"]) == ("partial_success", 2, 3)
    assert [each["status"] for each in done["files"]] == ["success", "error", "success", "error",
                                                          "error"]
    references = [{"id": each["fileId"], "name": each["filename"],
                   "storage_session_id": done["storage_session_id"]}
                  for each in done["files"] if each["status"] == "success"]
    assert download(server, references[1]) == bytes(range(256)) * 5000
    shown = ask(server, "GET", f"{API}/sessions/{done['session_id']}/objects/{references[0]['id']}")
    assert shown.json["readOnly"] is True
    # Read-only files stay unchanged, whatever the program does to them.
    ran = execute(server, "bash", "echo more >> a.txt; rm c/d.bin; echo n > new", references)
    files = names(ran)
    assert files["a.txt"]["id"] == references[0]["id"] and files["a.txt"]["inherited"]
    assert files["c/d.bin"]["inherited"] and "inherited" not in files["new"]
    assert upload(server, "/upload/batch", [], [("..", b"")], status=400)["message"] == "error"


@pytest.mark.parametrize("body, media", [
    (b"", "multipart/form-data; boundary=x"), (b"--x\r\n", "multipart/form-data; boundary=x"),
    (b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nnever ends",
     "multipart/form-data; boundary=x"), (b"{}", "application/json"), (b"--x--\r\n", "nothing")])
def test_invalid_forms(server, body, media):
    for path in ("/upload", "/upload/batch"):
        answer = ask(server, "POST", API + path, body=body, headers={"Content-Type": media})
        assert answer.status == 400, answer
        assert set(answer.json) >= {"message"}
    check_nothing_stays(server, 0)


def test_files_of_a_session_are_listed(server):
    done = execute(server, "py", "open('a.txt', 'w').write('hello'); open('b', 'w')")
    listed = ask(server, "GET", f"{API}/v1/files/{done['session_id']}?detail=full").json
    assert {each["metadata"]["original-filename"] for each in listed} >= {"a.txt"}
    [file] = [each for each in listed if each["metadata"]["original-filename"] == "a.txt"]
    assert file["id"] == names(done)["a.txt"]["id"] and file["size"] == 5
    # Old clients cut the id out of the name.
    assert file["name"].split("/")[1].split(".")[0] == file["id"]
    shown = ask(server, "GET", f"{API}/sessions/{done['session_id']}/objects/{file['id']}").json
    assert shown["originalFilename"] == "a.txt" and shown["readOnly"] is False
    assert shown["lastModified"].endswith("Z")


def test_deleted_files_are_gone(server):
    done = execute(server, "py", "open('a.txt', 'w').write('a'); open('b.txt', 'w').write('b')")
    for name, path in (("a.txt", "/files/{session_id}/{id}"),
                       ("b.txt", "/v1/sessions/{session_id}/objects/{id}")):
        file = names(done)[name]
        where = API + path.format(**file)
        assert ask(server, "DELETE", where, key=False).status == 401
        assert ask(server, "DELETE", where).json["message"]
        assert ask(server, "DELETE", where).status == 404
        assert ask(server, "GET", f"{API}/download/{file['session_id']}/{file['id']}").status == 404
        listed = ask(server, "GET", f"{API}/files/{done['session_id']}?detail=full").json
        assert file["id"] not in [each["id"] for each in listed]
        answer = post(server, API + "/exec", {"lang": "bash", "code": "ls", "files": [file]})
        assert answer.status == 403
    assert listed == []


def test_files_of_other_tenants_are_not_found(server):
    admin = server.key
    done = execute(server, "py", "open('a.txt', 'w').write('secret')")
    _, server.key = server.newcomer()
    file = done["files"][0]
    answer = post(server, API + "/exec", {"lang": "bash", "code": "cat a.txt", "files": [file]})
    assert (answer.status, answer.json["error"]) == (403, "Unauthorized file reference")
    for path in (f"/download/{file['session_id']}/{file['id']}",
                 f"/sessions/{file['session_id']}/objects/{file['id']}"):
        assert ask(server, "GET", API + path).status == 404
        assert ask(server, "DELETE", API + path.replace("download", "files")).status == 404
    assert ask(server, "GET", f"{API}/files/{file['session_id']}").json == []
    server.key = admin


def use(server, file, user=None, status=200, **more):
    """Runs a program of `user` that reads this file."""
    answer = post(server, API + "/exec", {"lang": "bash", "code": "cat a.txt", "files": [
        {**file, "name": "a.txt"}], **({"user_id": user} if user else {}), **more.pop("body", {})}, **more)
    assert answer.status == status, answer
    if status == 403:
        assert answer.json["error"] == "Unauthorized file reference"
    return answer.json


def token_of(user):
    """A token as LibreChat makes it for each user; the server does not check its signature."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return ".".join((part({"alg": "EdDSA"}), part({"sub": user, "iss": "librechat"}), "c2ln"))


def test_users_of_one_key_do_not_see_one_another(server):
    made = execute(server, "bash", "printf secret > a.txt", user_id="alice", entity_id="")
    file = made["files"][0]
    assert use(server, file, "alice")["stdout"] == "secret"
    use(server, file, "bob", 403)
    use(server, file, "bob", 403, body={"entity_id": "agent_1"})
    use(server, file, "bob", 403, body={"files": [{**file, "name": "a.txt", "kind": "agent",
                                                   "resource_id": ""}]})
    # A request with the key and without a user comes from LibreChat itself.
    assert use(server, file)["stdout"] == "secret"
    bob = {"User-Id": "bob"}
    where = f"{file['session_id']}/{file['id']}"
    assert ask(server, "GET", f"{API}/download/{where}", headers=bob).status == 404
    assert ask(server, "GET", f"{API}/sessions/{where.replace('/', '/objects/')}", headers=bob).status == 404
    assert ask(server, "GET", f"{API}/files/{file['session_id']}", headers=bob).json == []
    assert ask(server, "DELETE", f"{API}/files/{where}", headers=bob).status == 403
    for headers in ({}, {"User-Id": "alice"}, {"Authorization": f"Bearer {token_of('alice')}"}):
        assert ask(server, "GET", f"{API}/download/{where}", headers=headers).body == b"secret"
        assert len(ask(server, "GET", f"{API}/files/{file['session_id']}", headers=headers).json) == 1
    # The token of a user overrides the user in the body.
    bearer = {"Authorization": f"Bearer {token_of('bob')}"}
    use(server, file, "alice", 403, headers=bearer)
    for broken in ("x", "a.b.c", "..", "a." + "A" * 5000 + ".c", "a.e30.c", "a.W10.c"):
        assert use(server, file, "alice", headers={"Authorization": f"Bearer {broken}"})["stdout"] == "secret"
    for long in ({"body": {"user_id": "x" * 300}}, {"headers": {"User-Id": "x" * 300}},
                 {"body": {"entity_id": "x" * 300}}):
        use(server, file, status=400, **long)
    # A program that waits for its tools belongs to its user, too.
    paused = programmatic(server, code="print(await t())", tools=[{"name": "t"}], user_id="alice")
    answers = {"continuation_token": paused["continuation_token"],
               "tool_results": results(paused["tool_calls"], 1)}
    assert programmatic(server, 403, user_id="bob", **answers)["error"]
    assert programmatic(server, user_id="alice", **answers)["stdout"] == "1\n"


@pytest.mark.parametrize("fields, asks", [
    ([("entity_id", "agent_1")], {"entity_id": "agent_1"}),
    ([("kind", "agent"), ("id", "agent_1")], {"kind": "agent", "resource_id": "agent_1"}),
    ([("kind", "skill"), ("id", "agent_1"), ("version", "3")], {"kind": "skill", "resource_id": "agent_1"})])
def test_users_of_an_entity_can_read_its_files(server, fields, asks):
    done = upload(server, "/upload", fields, [("a.txt", b"shared")], headers={"User-Id": "alice"})
    file = {"id": done["files"][0]["fileId"], "storage_session_id": done["storage_session_id"]}
    of_file = {key: value for key, value in asks.items() if key != "entity_id"}
    body = {key: value for key, value in asks.items() if key == "entity_id"}
    ran = use(server, {**file, **of_file}, "bob", body=body)
    assert ran["stdout"] == "shared" and ran["files"][0]["inherited"]
    use(server, file, "bob", 403)
    use(server, {**file, **{**of_file, **({"resource_id": "agent_2"} if of_file else {})}}, "bob", 403,
        body={**body, **({"entity_id": "agent_2"} if body else {})})
    assert use(server, file, "alice")["stdout"] == "shared"
    query = "entity_id=agent_1" if body else f"kind={asks['kind']}&id=agent_1"
    where = f"{API}/download/{done['session_id']}/{file['id']}"
    assert ask(server, "GET", f"{where}?{query}", headers={"User-Id": "bob"}).body == b"shared"
    assert ask(server, "GET", where, headers={"User-Id": "bob"}).status == 404
    # A version that a run of bob writes belongs to bob.
    changed = execute(server, "bash", "printf 2 >> a.txt", [{**file, **of_file, "name": "a.txt"}],
                      user_id="bob", **({"entity_id": "agent_1"} if body else {"entity_id": ""}))
    use(server, names(changed)["a.txt"], "alice", 403, body=body)
    assert use(server, names(changed)["a.txt"], "bob")["stdout"] == "shared2"


def test_errors_have_the_format_of_librechat(server):
    good = {"lang": "bash", "code": "true"}

    def refused(body, status, error=None, path="/exec", **more):
        answer = post(server, API + path, body, **more)
        assert answer.status == status, answer
        assert set(answer.json) <= {"error", "message", "details"} and answer.json["message"]
        assert error is None or answer.json["error"] == error

    refused({**good, "lang": "cobol"}, 400, "Unsupported language: cobol")
    refused({"code": "1"}, 400, "Unsupported language: ")
    refused({"lang": "bash"}, 400, "invalid_request")
    refused({**good, "args": [1]}, 400)
    refused({**good, "files": [{}]}, 403, "Unauthorized file reference")
    refused({**good, "files": [{"id": "A" * 21, "session_id": "B" * 21}]}, 403)
    refused({**good, "files": [{}] * 201}, 400, "too_many_files")
    refused("{", 400)
    refused(good, 401, key=False)
    refused(good, 401, headers={"X-Api-Key": "rk_wrong"})
    refused(good, 409, "execution_profile_mismatch",
            headers={"X-CodeAPI-Expected-Profile": "stateful"})
    asks = {"code": "1", "tools": [{"name": "a"}]}
    for body in ({**asks, "tools": []}, {**asks, "tools": [{"name": "a"}] * 101}, {"code": "1"},
                 {**asks, "tools": [{"name": "%"}]}, {**asks, "tools": [{}]}, {**asks, "lang": "c"},
                 {**asks, "code": 1}, {"continuation_token": "x", "tool_results": [{}]},
                 {"continuation_token": "ex_A.1", "tool_results": []}, "{"):
        refused(body, 400, path="/exec/programmatic")
    refused({**asks, "files": [{}]}, 403, path="/exec/programmatic")
    refused({"continuation_token": f"ex_{'0' * 26}.1", "tool_results": [{"call_id": "tc_1"}]}, 404,
            "invalid_continuation_token", path="/exec/programmatic")
    refused(asks, 401, path="/exec/programmatic", key=False)
    assert post(server, API + "/exec/programmatic/cancel", {"request_id": "x"}).json == {
        "status": "already_completed"}
    for path in ("/nothing", "/upload", "/download/a/b", "/download/a/b/c/d/e", f"/download/{'a' * 21}/{'b' * 21}",
                 "/sessions/a/objects/b", "/files/" + "x" * 3000):
        assert ask(server, "GET", API + path).status == 404, path
    assert ask(server, "GET", API + "/files/x").json == []
    assert ask(server, "GET", API + "/files/x", key=False).status == 401
    assert ask(server, "GET", API + "/health", key=False).status == 200
    status, body = oversized(server, API + "/exec", 1 << 30)
    assert status == 413 and body["error"] == "body_too_large"


def test_a_key_in_the_path(server):
    path = f"{API}/{server.key}/v1"
    answer = post(server, path + "/exec", {"lang": "bash", "code": "echo x > a.txt"}, key=False)
    assert answer.status == 200
    file = answer.json["files"][0]
    answer = ask(server, "GET", f"{path}/download/{file['session_id']}/{file['id']}", key=False)
    assert answer.body == b"x\n"
    assert post(server, f"{API}/rk_wrong/v1/exec", {"lang": "bash", "code": ""},
                key=False).status == 401
    assert server.key not in server.log()


def test_a_client_disconnect_ends_the_run(server):
    check_client_gone(server, API + "/exec", {"lang": "bash", "code": "sleep 90",
                                              "timeout": 100000})


def tool(server, base, headers, *calls):
    done = subprocess.run([node(), str(CLIENT), NPM, base,
                           json.dumps(headers), *map(json.dumps, calls)],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("where", ["header", "path"])
def test_the_code_tool(server, where):
    in_path = where == "path"
    base = f"http://127.0.0.1:{server.port}{API}/{server.key + '/' if in_path else ''}v1"
    headers = {} if in_path else {"X-API-Key": server.key}
    first, second, third, wrong, stateful = tool(
        server, base, headers,
        {"lang": "py", "code": "print(6 * 7); open('x.csv', 'w').write('1')"},
        {"lang": "bash", "code": "cat x.csv; printf 2 >> x.csv"},
        {"lang": "bash", "code": "cat x.csv"},
        {"lang": "rs", "code": "fn main() {"},
        {"lang": "py", "code": "1", "profile": "stateful"})
    assert first["content"].startswith("stdout:\n42\n\nGenerated files:")
    assert second["content"].startswith("stdout:\n1\n\nGenerated files:")
    assert third["content"] == "stdout:\n12"  # no new files to list
    assert third["artifact"]["files"][0]["inherited"]
    assert "rejected" in wrong.get("error", "") or "stderr" in wrong["content"]
    assert "execution profile" in stateful["error"]


def test_the_code_tool_with_a_persistent_session(server):
    base, headers = f"http://127.0.0.1:{server.port}{API}/v1", {"X-API-Key": server.key, "User-Id": "ann"}
    stateful = {"profile": "stateful", "hint": "conversation-1"}
    first, second, other, plain, both = tool(
        server, base, headers,
        {"lang": "py", "code": "open('kept.txt', 'w').write('1'); open('.hidden', 'w').write('2')", **stateful},
        {"lang": "bash", "code": "cat kept.txt .hidden; ls /tmp", **stateful},
        {"lang": "bash", "code": "ls -A", **stateful, "hint": "conversation-2"},
        {"lang": "bash", "code": "cat .hidden"},
        {"lang": "bash", "code": "cat kept.txt", "hint": "conversation-1"})
    assert first["artifact"]["runtime_status"] == "new"
    assert [each["name"] for each in first["artifact"]["files"]] == ["kept.txt"]
    assert second["content"].startswith("stdout:\n12"), second
    assert second["artifact"]["runtime_status"] == "reused"
    assert second["artifact"]["runtime_session_id"] == first["artifact"]["runtime_session_id"]
    assert "hidden" not in other["content"] and other["artifact"]["runtime_status"] == "new"
    assert "No such file" in plain["content"] and "runtime_status" not in plain["artifact"]
    assert both["content"].startswith("stdout:\n1")


def test_a_persistent_session(server):
    """Another user gets another session for the same hint; a second program at the same time is refused."""
    def run(code, user="ann", **headers):
        return ask(server, "POST", API + "/exec", {"lang": "bash", "code": code, "runtime_session_hint": "c"},
                   headers={"User-Id": user, **headers})
    assert run("echo 1 > kept").json["runtime_status"] == "new"
    theirs = run("ls -A", user="bob")
    assert theirs.json["runtime_status"] == "new" and "kept" not in theirs.json["stdout"]
    assert "runtime_status" not in run("true", **{"X-CodeAPI-Expected-Profile": "default"}).json
    with concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(run, "sleep 5; cat kept")
        time.sleep(2)
        busy = run("true")
        assert (busy.status, busy.json["error"]) == (409, "runtime_session_busy")
        assert slow.result().json["stdout"] == "1\n"
    mine = run("cat kept")
    assert (mine.json["stdout"], mine.json["runtime_status"]) == ("1\n", "reused")
    # A session that was ended is created again.
    for each in server.ask("GET", "/sessions?status=live").json["sessions"]:
        server.ask("DELETE", f"/sessions/{each['id']}")
    again = run("cat kept")
    assert again.status == 200, again
    assert (again.json["code"], again.json["runtime_status"]) == (1, "new")
    assert ask(server, "POST", API + "/exec", {"lang": "bash", "code": "true", "runtime_session_hint": "c" * 256}).status == 400


def test_the_code_tool_of_the_previous_generation(server):
    """This client lists the files of a session itself, and cuts their ids out of their names."""
    def use_before(base, key, *calls):
        done = subprocess.run([node(), str(BEFORE), NPM_BEFORE, base, key, *map(json.dumps, calls)],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    base = f"http://127.0.0.1:{server.port}{API}/v1"
    first, second, other, failed, tools, after = use_before(
        base, server.key,
        {"lang": "py", "user_id": "alice", "code": "print(6 * 7); open('x.csv', 'w').write('1')"},
        {"lang": "py", "user_id": "alice", "after": 0, "args": ["x.csv"],
         "code": "import sys; print(open('x.csv').read() + open(sys.argv[1]).read()); open('y.csv', 'w').write('2')"},
        {"lang": "py", "user_id": "bob", "code": "print(open('x.csv').read())", "after": 0},
        {"lang": "c", "code": "int main( {"},
        {"code": "print(await asyncio.gather(get_weather(city='x'), get_time()))\n"
                 "open('f', 'w').write('1')", "tools": ["get-weather", "get_time"]},
        {"lang": "py", "code": "print(open('f').read())", "after": 4})
    assert first["content"].startswith("stdout:\n42\n\nGenerated files:\n- /mnt/data/x.csv")
    assert second["content"].startswith("stdout:\n11\n\nGenerated files:\n")
    assert {each["name"] for each in second["artifact"]["files"]} == {"x.csv", "y.csv"}
    assert "403" in other["error"]  # a file of another user
    assert "error" in failed["content"]
    assert tools["content"].startswith(
        "stdout:\n[{'tool': 'get-weather', 'input': {'city': 'x'}}, {'tool': 'get_time', 'input': {}}]")
    assert after["content"].startswith("stdout:\n1")
    [wrong] = use_before(base, "rk_wrong", {"lang": "py", "code": "1"})
    assert "401" in wrong["error"]


# ---- code that calls tools --------------------------------------------------------------------


def programmatic(server, status=200, **body):
    answer = post(server, API + "/exec/programmatic", body)
    assert answer.status == status, answer
    return answer.json


def results(calls, *values):
    return [{"call_id": call["id"], "result": value, "is_error": False}
            for call, value in zip(calls, values, strict=True)]


def test_a_program_that_calls_tools(server):
    inputs = execute(server, "bash", "echo a > in.txt; echo b > other.txt")["files"]
    code = ("print('before')\nfirst = await asyncio.gather(get_weather(city='SF'), "
            "get_weather(city='NY'))\nprint(first)\n"
            "open('in.txt', 'a').write(str(await class_tool()))\n'not told'")
    paused = programmatic(server, code=code, files=inputs,
                          tools=[{"name": "get-weather", "parameters": {}}, {"name": "class"}])
    assert paused["status"] == "tool_call_required" and paused["partial_stdout"] == "before\n"
    calls = paused["tool_calls"]
    assert [(each["name"], each["input"]) for each in calls] == [
        ("get-weather", {"city": "SF"}), ("get-weather", {"city": "NY"})]
    next_one = programmatic(server, continuation_token=paused["continuation_token"],
                            tool_results=results(calls, [1, {"ä": None}], "text"))
    [call] = next_one["tool_calls"]
    assert call["name"] == "class" and next_one["session_id"] == paused["session_id"]
    # A token is for one round.
    programmatic(server, 409, continuation_token=paused["continuation_token"],
                 tool_results=results(calls, 1, 2))
    done = programmatic(server, continuation_token=next_one["continuation_token"],
                        tool_results=results([call], 7))
    assert done["status"] == "completed" and done["stderr"] == ""
    assert done["stdout"] == "before\n[[1, {'ä': None}], 'text']\n"
    files = names(done)
    assert set(files) == {"in.txt", "other.txt"} and files["other.txt"]["inherited"]
    assert files["in.txt"]["modified_from"]["storage_session_id"] == inputs[0]["session_id"]
    assert download(server, files["in.txt"]) == b"a\n7"
    programmatic(server, 404, continuation_token=next_one["continuation_token"],
                 tool_results=results([call], 7))
    check_nothing_stays(server, 2)


@pytest.mark.parametrize("lang", ["py", "bash"])
def test_a_hundred_tools(server, lang):
    """An execution has at most 64 tools of its own; calls of the others reach the client by their names, too."""
    tools = [{"name": f"tool-{i}"} for i in range(98)] + [{"name": "more"}, {"name": "x" * 200}]
    called = ["tool_0", "tool_62", "tool_63", "tool_97", "more", "x" * 200]
    code = {"py": "print(await asyncio.gather(" + ", ".join(f"{name}(a='{i}')" for i, name in enumerate(called))
                  + "), await tool_64())",
            "bash": "\n".join(f"{name} '{{\"a\": \"{i}\"}}'" for i, name in enumerate(called)) + "\ntool_64"}
    answer, seen = programmatic(server, code=code[lang], lang=lang, tools=tools), []
    while answer["status"] == "tool_call_required":
        calls = answer["tool_calls"]
        seen += [(call["name"], call["input"]) for call in calls]
        answer = programmatic(server, continuation_token=answer["continuation_token"],
                              tool_results=results(calls, *[call["name"][:8] for call in calls]))
    names_of = ["tool-0", "tool-62", "tool-63", "tool-97", "more", "x" * 200]
    assert sorted(seen, key=str) == sorted([*zip(names_of, [{"a": str(i)} for i in range(6)]), ("tool-64", {})], key=str)
    shown = [name[:8] for name in names_of]
    assert answer["stdout"] == (f"{shown} tool-64\n" if lang == "py" else "\n".join([*shown, "tool-64", ""]))


def test_an_invalid_tool_number_calls_none_of_the_other_tools(server):
    paused = programmatic(server, code="import builtins\nawait builtins.tools['more'](tool=999, input={})",
                          tools=[{"name": f"t{i}"} for i in range(70)])
    assert paused["tool_calls"][0]["name"] == "more"


def test_a_program_that_fails_between_its_calls(server):
    def ask_one(code, **more):
        return programmatic(server, code=code, tools=[{"name": "t"}], **more)

    paused = ask_one("try:\n    await t()\nexcept Exception as e:\n    print(e)\n1 / 0")
    done = programmatic(server, continuation_token=paused["continuation_token"], tool_results=[
        {"call_id": "tc_1", "result": None, "is_error": True, "error_message": "no table"}])
    assert (done["status"], done["error"]) == ("error", "Sandbox exited with code 1")
    assert done["stdout"] == "no table\n" and "line 5" in done["stderr"]
    paused = ask_one("print(await t())")
    done = programmatic(server, continuation_token=paused["continuation_token"],
                        tool_results=results(paused["tool_calls"], "x" * (5 << 20)))
    assert "5 MiB" in done["stderr"]
    assert ask_one("while True: pass", timeout=300)["error"] == "Time limit exceeded"
    assert ask_one("exit 3", lang="bash")["error"] == "Sandbox exited with code 3"
    assert ask_one("t '[]' || echo $?", lang="bash")["stdout"] == "2\n"  # an array is not a valid input
    check_nothing_stays(server, 5)


def test_another_tenant_cannot_continue_a_program(server):
    paused = programmatic(server, code="await t()", tools=[{"name": "t"}])
    own, (_, server.key) = server.key, server.newcomer()
    programmatic(server, 404, continuation_token=paused["continuation_token"],
                 tool_results=results(paused["tool_calls"], 1))
    server.key = own
    assert programmatic(server, continuation_token=paused["continuation_token"],
                        tool_results=results(paused["tool_calls"], 1))["status"] == "completed"


def test_the_tools_for_programmatic_calling(server):
    python, bash, failed, aborted = tool(
        server, f"http://127.0.0.1:{server.port}{API}/v1", {"X-API-Key": server.key},
        {"lang": "py", "tools": ["get-weather", "a.b"],
         "code": "print(await asyncio.gather(get_weather(city='x'), ab()))\nopen('f', 'w').write('1')"},
        {"lang": "bash", "tools": ["get-weather", "a.b"],
         "code": "{ x=$(get_weather '{\"a\": 1}'); echo \"$x\" > x; } &\na_b; wait; cat x f"},
        {"lang": "py", "tools": ["fails"], "code": "await fails()"},
        {"lang": "py", "tools": ["slow"], "code": "await slow()\nimport time; time.sleep(50)",
         "abort": True})
    assert python["content"].startswith(
        "stdout:\n[{'tool': 'get-weather', 'input': {'city': 'x'}}, {'tool': 'a.b', 'input': {}}]")
    assert [each["name"] for each in python["artifact"]["files"]] == ["f"]
    assert bash["content"].startswith('stdout:\n{"tool":"a.b","input":{}}\n{"tool":"get-weather",'
                                      '"input":{"a":1}}\n1')
    assert "stderr" not in bash["content"]
    assert "exited with code 1" in failed["error"] and "no such table" in failed["error"]
    assert "time limit" not in aborted["error"]
    check_nothing_stays(server, 4)  # with the aborted one


def test_the_code_tool_with_a_wrong_key(server):
    [answer] = tool(server, f"http://127.0.0.1:{server.port}{API}/v1", {"X-API-Key": "rk_no"},
                    {"lang": "py", "code": "1"})
    assert "not authorized" in answer["error"]
