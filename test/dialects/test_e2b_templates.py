"""Builds of templates without an SDK: refusals, ownership, limits, and recovery from crashes."""
import io
import json
import os
import signal
import tarfile
import time

from e2b_client import front_of
from reckon_serve import SECONDS
from waiting import eventually

HASH = "a" * 64


def archive(**files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    return packed.getvalue()


def ask(server, name="mine", key=None, **body):
    """Creates a build, which waits for its steps."""
    status, _, made = server.control("POST", "/v3/templates", {"name": name, **body}, key=key)
    assert status == 202 and made["templateID"] == name.partition(":")[0], made
    return made


def begin(server, made, *steps, key=None, **more):
    return server.control("POST", f"/v2/templates/{made['templateID']}/builds/{made['buildID']}", {"steps": list(steps), **more}, key=key)


def look(server, made, query="", key=None):
    status, _, built = server.control("GET", f"/templates/{made['templateID']}/builds/{made['buildID']}/status{query}", key=key)
    assert status == 200, built
    return built


def finish(server, made, wanted="ready"):
    end = time.monotonic() + SECONDS
    while (built := look(server, made))["status"] in ("waiting", "building"):
        assert time.monotonic() < end, built
        time.sleep(0.05)
    assert built["status"] == wanted, built
    return built


def build(server, *steps, name="mine", wanted="ready", **more):
    made = ask(server, name)
    status, headers, answer = begin(server, made, *steps, **more)
    assert (status, headers["Content-Length"], answer) == (202, "0", b""), answer
    return made, finish(server, made, wanted)


def run(*args):
    return {"type": "RUN", "args": list(args)}


def refused(answer, status):
    assert answer[0] == answer[2].get("code") == status, (answer[0], answer[2])
    return answer[2]["message"]


def get(server, path):
    return server.ask("GET", f"/{path}").json


def documents(server):
    return {name: get(server, f"documents/e2b.{name}")["documents"] for name in ("templates", "builds", "build-logs")}


def test_malformed_build_requests(server):
    for body in ({}, {"name": ""}, {"name": 5}, {"name": "a b"}, {"name": "sn_a"}, {"name": "a/"}, {"name": "a:"}, {"name": "a:b:c"}, {"name": "a" * 64},
                 {"name": "a:" + "b" * 64}, {"name": "é"}, {"name": "a\0"}, {"name": "../a"[3:] + "\n"}, {"name": "a", "tags": "b"},
                 {"name": "a", "tags": ["b c"]}, {"name": "a", "tags": [1]}, {"name": "a", "tags": [""]}, {"name": "a", "tags": ["t"] * 33},
                 {"name": "a", "memoryMB": 0}, {"name": "a", "memoryMB": "1"}, {"name": "a", "memoryMB": (1 << 20) + 1},
                 {"name": "a", "cpuCount": -1}, {"name": "a", "cpuCount": 1025}, [], "{", b"\xff"):
        refused(server.control("POST", "/v3/templates", body), 400)
    for taken in ("base", "code-interpreter-v1", "Base", "team/base:v1"):
        assert "this server" in refused(server.control("POST", "/v3/templates", {"name": taken}), 409)
    assert documents(server) == {"templates": [], "builds": [], "build-logs": []}
    made = ask(server, "a" * 63 + ":" + "b" * 63, tags=["t"] * 32)
    assert made["tags"] == ["b" * 63] + ["t"] * 32 and made["names"] == made["aliases"] == ["a" * 63]
    ask(server, "a", memoryMB=1 << 20, cpuCount=1024)
    made = ask(server)
    for steps in ("a", {}, [1], [{}], [{"type": "ADD", "args": []}], [run()], [run("a", "nobody")], [run("a", "user", "b")], [run("a\0b")], [run(1)],
                  [{"type": "RUN", "args": "true"}], [{"type": "ENV", "args": ["A"]}], [{"type": "ENV", "args": []}],
                  [{"type": "ENV", "args": ["1A", "b"]}], [{"type": "ENV", "args": ["A;id", "b"]}], [{"type": "WORKDIR", "args": []}],
                  [{"type": "WORKDIR", "args": [""]}], [{"type": "USER", "args": ["x'y"]}], [{"type": "COPY", "args": ["a", "b"]}],
                  [{"type": "COPY", "args": ["a", "b"], "filesHash": "../x"}], [{"type": "COPY", "args": ["a", "b"], "filesHash": HASH}],
                  [{"type": "COPY", "args": ["a", "b", "", "999"], "filesHash": HASH}],
                  [{"type": "COPY", "args": ["a", "b", "nobody"], "filesHash": HASH}], [run("true")] * 101, [run("x" * 120000)]):
        refused(server.control("POST", f"/v2/templates/mine/builds/{made['buildID']}", {"steps": steps}), 400)
    for more in ({"fromImage": "alpine:3"}, {"fromImage": 5}, {"fromTemplate": ["base"]}, {"fromImageRegistry": {"type": "aws"}}, {"startCmd": 1}, {"readyCmd": "a\0"},
                 {"startCmd": "x" * 16385}):
        refused(begin(server, made, **more), 400)
    refused(begin(server, made, fromTemplate="nothing"), 404)
    refused(begin(server, {**made, "templateID": "other"}), 404)
    refused(begin(server, {**made, "buildID": "0" * 36}), 404)
    refused(begin(server, {**made, "buildID": "x"}), 404)
    # No refused request starts a build or leaves a session.
    assert look(server, made)["status"] == "waiting"
    assert get(server, "sessions?status=live")["sessions"] == []
    for query in ("logsOffset=x", "logsOffset=-1", "limit=101", "level=none", "logsOffset=%zz"):
        refused(server.control("GET", f"/templates/mine/builds/{made['buildID']}/status?{query}"), 400)
    for path in (f"mine/builds/{HASH}/status", f"other/builds/{made['buildID']}/status", "mine/builds/%2e%2e/status", "a%2fb/tags", "mine/tags", "mine"):
        refused(server.control("GET", f"/templates/{path}"), 404)
    for method, where, body in (("GET", "/templates/mine/files/x", None), ("PUT", f"/templates/mine/files/{'A' * 64}?token=x", b""),
                                ("POST", "/templates/tags", {"target": "mine", "tags": []}), ("POST", "/templates/tags", {"tags": ["a"]}),
                                ("POST", "/templates/tags", {"target": "mine:v 1", "tags": ["a"]}), ("DELETE", "/templates/tags", {"name": "mine"}),
                                ("DELETE", "/templates/tags", {"name": 1, "tags": ["a"]}), ("POST", "/templates/tags", [])):
        refused(server.control(method, where, body), 400)
    refused(server.control("POST", "/templates/tags", {"target": "mine", "tags": ["a"]}), 404)
    refused(server.control("GET", f"/templates/other/files/{HASH}"), 404)
    for path in ("/templates", "/v2/templates", "/templates/mine", f"/templates/mine/builds/{made['buildID']}"):
        assert "builds no images" in refused(server.control("POST", path, {"dockerfile": "FROM x"}), 501), path


def test_methods_that_a_path_does_not_support(server):
    for method, path, allowed in (("DELETE", "/templates/a/tags", "GET"), ("POST", "/templates/a/files/b", "GET, PUT"),
                                  ("PUT", "/templates/tags", "GET, POST, PATCH, DELETE")):
        status, headers, error = server.control(method, path, {})
        assert (status, error["code"], headers["Allow"]) == (405, 405, allowed), (method, path, error)
    refused(server.control("GET", "/templates/a/b/c"), 404)


def test_files_are_uploaded_for_one_build(server):
    made = ask(server)
    status, _, link = server.control("GET", f"/templates/mine/files/{HASH}")
    assert status == 201 and link["present"] is False and link["url"].startswith(f"http://127.0.0.1:{server.port}/templates/mine/files/{HASH}?token=st_")
    path = link["url"].partition(str(server.port))[2]
    packed = archive(**{"a.txt": b"sent"})
    assert server.request("PUT", path.partition("?")[0], packed)[0] == 401
    assert server.request("PUT", path[:-4] + "xxxx", packed)[0] == 401
    assert server.request("PUT", path, packed)[0] == 200
    copy = {"type": "COPY", "args": ["a.txt", "/home/user/"], "filesHash": HASH}
    assert "not sent" in refused(begin(server, made, copy, {**copy, "filesHash": "b" * 64}), 400)
    assert begin(server, made, copy)[0] == 202
    finish(server, made)
    assert server.request("PUT", path, packed)[0] in (401, 404, 410)
    sandbox = server.sandbox(templateID="mine")
    assert server.data(sandbox, 49983, "GET", "/files?path=a.txt")[2] == b"sent"
    # An upload that is not an archive, or has a path that leaves it, fails the build.
    for packed, word in ((b"nothing", "tar"), (archive(**{"../../a.txt": b"out"}), "")):
        made = ask(server, "other")
        path = server.control("GET", f"/templates/other/files/{HASH}")[2]["url"].partition(str(server.port))[2]
        assert server.request("PUT", path, packed)[0] == 200
        assert begin(server, made, copy)[0] == 202
        built = finish(server, made, "error")
        assert built["reason"]["step"] == "1" and word in built["reason"]["message"], built
    # The sessions of builds are not listed as sandboxes.
    assert [each["sandboxID"] for each in server.control("GET", "/v2/sandboxes")[2]] == [sandbox["sandboxID"]]


def test_a_failed_build_names_its_step(server):
    made, built = build(server, run("echo one"), {"type": "ENV", "args": ["A", "b"]}, run("echo two; echo three >&2; exit 9"), wanted="error")
    assert built["reason"]["step"] == "3" and built["reason"]["message"].endswith("exit status 9"), built
    entries = built["reason"]["logEntries"]
    assert ("3", "warn", "three") in [(each["step"], each["level"], each["message"]) for each in entries]
    assert ("1", "info", "one") in [(each["step"], each["level"], each["message"]) for each in built["logEntries"]]
    whole = [each["message"] for each in built["logEntries"]]
    assert [each["message"] for each in look(server, made, "?logsOffset=2&limit=3")["logEntries"]] == whole[2:5]
    assert [each["message"] for each in look(server, made, "?level=error")["logEntries"]] == [built["reason"]["message"]]
    assert look(server, made, "?logsOffset=1000")["logEntries"] == []
    assert [each["message"] for each in server.control("GET", f"/templates/mine/builds/{made['buildID']}/logs")[2]["logs"]] == whole
    refused(begin(server, made), 409)
    # No template exists; only the failed build and its log remain.
    refused(server.control("POST", "/v2/sandboxes", {"templateID": "mine"}), 404)
    refused(server.control("GET", "/templates/aliases/mine"), 404)
    left = documents(server)
    assert (left["templates"], len(left["builds"]), len(left["build-logs"])) == ([], 1, 1)
    assert get(server, "sessions?status=live")["sessions"] == [] and get(server, "snapshots")["snapshots"] == []


def test_a_build_log_is_limited(server):
    made, built = build(server, run("yes | head -n 5000; head -c 3000 /dev/zero | tr '\\0' x; echo; printf '\\377\\n'"), run("echo after"))
    at, entries = 0, []
    while page := look(server, made, f"?logsOffset={at}")["logEntries"]:
        assert len(page) <= 100
        entries += [each["message"] for each in page]
        at += len(page)
    assert 1400 < entries.count("y") < 1500 and "(further lines are left out)" in entries
    assert "RUN echo after" in entries and "after" not in entries
    made, built = build(server, run("head -c 3000 /dev/zero | tr '\\0' x; echo; printf '\\377\\n'"))
    assert "x" * 2000 in [each["message"] for each in built["logEntries"]] and "�" in [each["message"] for each in built["logEntries"]]


def test_other_tenants_do_not_see_a_template(server):
    build(server, run("echo mine > a"))
    listed = {each["templateID"]: each for each in server.control("GET", "/templates")[2]}
    assert listed["mine"]["buildStatus"] == "ready" and listed["mine"]["names"] == ["mine"]
    shown = server.control("GET", "/templates/mine")[2]
    assert [each["status"] for each in shown["builds"]] == ["ready"]
    tenant = server.ask("POST", "/tenants", {"name": "other"}).json
    key = server.ask("POST", "/keys", {"tenant": tenant["id"], "name": "k", "scopes": ["sessions", "execute", "files", "read"]}).json["key"]
    refused(server.control("POST", "/v2/sandboxes", {"templateID": "mine"}, key=key), 404)
    for path in ("/templates/mine", "/templates/mine/tags", "/templates/aliases/mine", f"/templates/mine/builds/{shown['buildID']}/status"):
        refused(server.control("GET", path, key=key), 404)
    refused(server.control("POST", "/templates/tags", {"target": "mine", "tags": ["a"]}, key=key), 404)
    refused(server.control("DELETE", "/templates/mine", key=key), 404)
    assert "mine" not in [each["templateID"] for each in server.control("GET", "/templates", key=key)[2]]
    # A template of the same name in another tenant is a different one.
    made = ask(server, key=key)
    assert begin(server, made, key=key)[0] == 202
    while look(server, made, key=key)["status"] != "ready":
        time.sleep(0.05)
    assert server.control("GET", "/templates/mine")[2]["buildID"] == shown["buildID"]
    assert server.control("DELETE", "/templates/mine")[0] == 204
    refused(server.control("DELETE", "/templates/mine"), 404)
    assert documents(server) == {"templates": [], "builds": [], "build-logs": []} and get(server, "snapshots")["snapshots"] == []
    assert server.control("POST", "/v2/sandboxes", {"templateID": "mine"}, key=key)[0] == 201


def test_builds_without_a_tag_keep_only_their_outcome(server):
    first, _ = build(server, run("echo first"), name="mine:v1")
    second, _ = build(server, name="mine:v1")
    assert [each["id"] for each in documents(server)["builds"]] == [second["buildID"], first["buildID"]]
    assert len(get(server, "snapshots")["snapshots"]) == 1 and server.control("GET", "/snapshots")[2] == []
    assert server.control("POST", "/templates/tags", {"target": "mine:v1", "tags": ["v2"]})[2] == {"buildID": second["buildID"], "tags": ["v2"]}
    assert server.control("DELETE", "/templates/tags", {"name": "mine", "tags": ["v1"]})[0] == 204
    assert [each["tag"] for each in server.control("GET", "/templates/mine/tags")[2]] == ["v2"]
    assert server.control("DELETE", "/templates/tags", {"name": "mine", "tags": ["v2"]})[0] == 204
    assert documents(server)["templates"] == [] and get(server, "snapshots")["snapshots"] == []
    for made in (first, second):
        assert look(server, made)["status"] == "ready"
    assert "first" in [each["message"] for each in look(server, first)["logEntries"]]
    # Builds without a tag expire, and so do their logs.
    for each in documents(server)["builds"] + documents(server)["build-logs"]:
        assert each["expires_at"] is not None, each
    refused(server.control("POST", "/v2/sandboxes", {"templateID": "mine"}), 404)
    refused(server.control("POST", "/templates/tags", {"target": "mine:v1", "tags": ["v3"]}), 404)


def test_only_the_newest_build_outcomes_are_stored(server):
    ended = {"template": "mine", "status": "error", "why": "long ago", "tags": [], "env": []}
    ids = [f"{i:08x}-0000-4000-8000-000000000000" for i in range(40)]
    for each in ids:
        assert server.ask("PUT", f"/documents/e2b.builds/{each}", {"value": ended, "metadata": {"template": "mine", "state": "over"}}).status == 200
    made, _ = build(server)
    # Old outcomes are removed after the build is reported as ready.
    eventually(lambda: {each["id"] for each in documents(server)["builds"]} == {made["buildID"], *ids[-32:]})
    assert look(server, {**made, "buildID": ids[-1]})["reason"]["message"] == "long ago"
    refused(server.control("GET", f"/templates/mine/builds/{ids[0]}/status"), 404)


def stored_statuses(server, *names):
    """Waits until no session lives, without a request for a build; returns the stored status of each."""
    end = time.monotonic() + SECONDS
    while get(server, "sessions?status=live")["sessions"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    return [get(server, f"documents/e2b.builds/{each['buildID']}")["value"]["status"] for each in names]


def test_a_build_outcome_is_stored_without_a_status_request(server):
    good, bad, cut = ask(server), ask(server, "bad"), ask(server, "cut")
    assert begin(server, good, run("echo made > a; echo told"))[0] == 202
    assert begin(server, bad, run("echo why >&2; exit 3"))[0] == 202
    assert stored_statuses(server, good, bad) == ["ready", "error"]
    assert begin(server, cut, run("sleep 1000"))[0] == 202
    for _ in range(2):
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        server.start()
        built = look(server, good)
        assert built["status"] == "ready" and "told" in [each["message"] for each in built["logEntries"]], built
        built = look(server, bad)
        assert built["status"] == "error" and built["reason"]["message"].endswith("exit status 3"), built
        assert "why" in [each["message"] for each in built["reason"]["logEntries"]]
        built = finish(server, cut, "error")
        assert "daemon" in built["reason"]["message"] or "gone" in built["reason"]["message"], built
    sandbox = server.sandbox(templateID="mine")
    assert server.data(sandbox, 49983, "GET", "/files?path=a")[2] == b"made\n"


def test_a_build_continues_without_its_client_or_the_front(server):
    made = ask(server)
    connection = server.connect()
    connection.request("POST", f"/v2/templates/mine/builds/{made['buildID']}", json.dumps({"steps": [run("sleep 1; echo made > a")]}),
                       {"X-API-Key": server.e2b_key})
    answer = connection.getresponse()
    assert (answer.status, answer.read(), answer.headers["Connection"]) == (202, b"", "close")
    connection.close()
    assert stored_statuses(server, made) == ["ready"]
    # If the front that follows a build is killed, a status request completes the build.
    other = ask(server, "other")
    assert begin(server, other, run("sleep 1; echo made > a"))[0] == 202
    front = front_of(server)
    os.kill(front, signal.SIGKILL)
    # Until it has ended, it may still take a request. The next request starts another one.
    eventually(lambda: not os.path.exists(f"/proc/{front}"))
    finish(server, other)
    # A status request and the front together complete a build only once.
    again = ask(server, "again")
    assert begin(server, again, run("true"))[0] == 202
    finish(server, again)
    assert stored_statuses(server, made, other, again) == ["ready"] * 3 and len(get(server, "snapshots")["snapshots"]) == 3


def test_a_daemon_stops_at_once_during_a_build(server):
    made = ask(server)
    assert begin(server, made, run("sleep 1000"))[0] == 202
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < SECONDS / 2
    server.start()
    finish(server, made, "error")


def test_concurrent_builds_are_limited(server):
    made = [ask(server, f"t{i}") for i in range(5)]
    for each in made[:4]:
        assert begin(server, each, run("sleep 1000"))[0] == 202
    refused(begin(server, made[4], run("true")), 429)
    assert server.control("DELETE", "/templates/t0")[0] == 204
    assert begin(server, made[4], run("true"))[0] == 202
    finish(server, made[4])
    for _ in range(32):
        ask(server, "many")
    refused(server.control("POST", "/v3/templates", {"name": "many"}), 429)


def test_limits_of_steps_commands_variables_and_tags(server):
    build(server, *[run("true")] * 100, startCmd="true " + "#" * 16379, readyCmd="true " + "#" * 16379)

    # The limit includes NAME= and a NUL.
    build(server, {"type": "ENV", "args": ["A", "x" * 32700, "B", "x" * (32768 - 32703 - 3)]}, name="large")
    _, built = build(server, {"type": "ENV", "args": ["A", "x" * 32700, "B", "x" * (32768 - 32703 - 2)]}, name="larger", wanted="error")
    assert "32 KiB" in built["reason"]["message"]

    def assign(first, count):
        return server.control("POST", "/templates/tags", {"target": "mine", "tags": [f"t{i}" for i in range(first, first + count)]})[0]

    for first in range(0, 992, 32):
        assert assign(first, 32) == 201
    assert (assign(992, 7), assign(999, 1)) == (201, 400)
    assert len(server.control("GET", "/templates/mine/tags")[2]) == 1000


def test_a_crash_ends_running_builds_only(server):
    build(server, run("echo before > a"))
    made = ask(server)
    assert begin(server, made, run("echo begun; sleep 1000"))[0] == 202
    waiting = ask(server, "waiting")
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    built = finish(server, made, "error")
    assert "daemon" in built["reason"]["message"] or "gone" in built["reason"]["message"], built
    assert look(server, waiting)["status"] == "waiting"
    sandbox = server.sandbox(templateID="mine")
    assert server.data(sandbox, 49983, "GET", "/files?path=a")[2] == b"before\n"
    assert begin(server, waiting)[0] == 202
    finish(server, waiting)


def test_a_template_that_is_never_ready_creates_no_sandbox(server):
    build(server, startCmd="true", readyCmd="[ -e /home/user/.e2b-build ] || kill -9 $PPID")
    status, _, error = server.control("POST", "/v2/sandboxes", {"templateID": "mine"})
    assert status == 500 and "ready command" in error["message"], error
    assert server.control("GET", "/v2/sandboxes")[2] == []
