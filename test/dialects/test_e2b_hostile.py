"""Requests that E2B's SDKs do not send, and details that they rely on; errors have E2B's format."""
import base64
import gzip
import hashlib
import json
import socket
import struct
import threading
import time
import urllib.parse

from e2b_client import ENVD, INTERPRETER
from reckon_serve import SECONDS
from waiting import eventually

STREAM = {"Content-Type": "application/connect+json"}
UNARY = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
WRONG = "e2b_" + "0" * 64


def envelope(message, flags=0):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


def envelopes(data):
    """[(flags, JSON)] of a complete stream."""
    found = []
    while data:
        flags, length = struct.unpack_from(">BI", data)
        assert len(data) >= 5 + length
        found.append((flags, json.loads(data[5:5 + length])))
        data = data[5 + length:]
    return found


def start(server, sandbox, body, **headers):
    """Calls Start and returns (status, envelopes)."""
    status, _, text = server.data(sandbox, ENVD, "POST", "/process.Process/Start", body, **STREAM | headers)
    return status, envelopes(text) if isinstance(text, bytes) else text


def test_a_wrong_key_is_401_in_each_form(server):
    for method, path in (("GET", "/v2/sandboxes"), ("POST", "/sandboxes"), ("GET", "/sandboxes/x"),
                         ("DELETE", "/sandboxes/x"), ("GET", "/snapshots"), ("DELETE", "/templates/sn_x"), ("GET", "/templates")):
        for key in (WRONG, "", "rk_nothing", "e2b_zz", "e2b_" + "0" * 200):
            status, headers, error = server.control(method, path, {"templateID": "base"} if method == "POST" else None,
                                                    key=key)
            if status == 429:
                return  # the daemon limits unknown keys from one address
            assert (status, error["code"]) == (401, 401), (path, key, error)
            assert headers["Content-Type"] == "application/json"
            assert "E2B_API_KEY" in error["message"]


def test_requests_without_a_token_are_401(server):
    sandbox = server.sandbox()
    status, _, error = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/Stat", {"path": "~"}, token=False,
                                   **UNARY)
    assert (status, error["code"]) == (401, "unauthenticated")
    status, _, error = server.data(sandbox, ENVD, "GET", "/files?path=x", token=False)
    assert (status, error["code"], error["message"]) == (401, 401, error["message"])
    status, _, text = server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "1"}, token=False)
    assert status == 401 and isinstance(text, bytes)
    for path in ("/contexts", "/health"):
        assert server.data(sandbox, INTERPRETER, "GET", path, token=False)[0] == 401
    status, [(flags, message)] = start(server, sandbox, envelope({"process": {"cmd": "true"}}), token=False)
    assert (status, flags, message["error"]["code"]) == (200, 2, "unauthenticated")


def test_a_token_is_valid_for_its_sandbox_only(server):
    mine, other = server.sandbox(), server.sandbox()
    mixed = {"sandboxID": other["sandboxID"], "envdAccessToken": mine["envdAccessToken"]}
    assert server.data(mine, INTERPRETER, "POST", "/execute", {"code": "1"})[0] == 200
    assert server.data(mixed, INTERPRETER, "POST", "/execute", {"code": "1"})[0] == 403
    assert server.data(mixed, ENVD, "GET", "/files?path=x")[0] == 403
    assert server.data(mixed, ENVD, "POST", "/process.Process/List", {}, **UNARY)[2]["code"] == "permission_denied"
    status, _, error = server.control("GET", "/v2/sandboxes", key=mine["envdAccessToken"])
    assert (status, error["code"]) == (403, 403)


def test_a_deleted_sandbox_is_502_or_404_at_the_control_plane(server):
    sandbox = server.sandbox()
    assert server.control("DELETE", f"/sandboxes/{sandbox['sandboxID']}")[0] == 204
    for port, method, path, body in (
            (ENVD, "GET", "/health", None), (ENVD, "GET", "/files?path=x", None), (INTERPRETER, "GET", "/health", None),
            (INTERPRETER, "POST", "/execute", {"code": "1"}), (INTERPRETER, "GET", "/contexts", None),
            (ENVD, "POST", "/filesystem.Filesystem/Stat", {"path": "~"}), (ENVD, "POST", "/process.Process/List", {})):
        status, headers, error = server.data(sandbox, port, method, path, body, **UNARY)
        assert (status, error["code"], error["sandboxId"]) == (502, 502, sandbox["sandboxID"]), (path, error)
        assert error["message"].startswith("The sandbox was not found")
    status, _, error = server.data(sandbox, ENVD, "POST", "/process.Process/Start",
                                   envelope({"process": {"cmd": "/bin/true"}}), **STREAM)
    assert (status, error["code"]) == (502, 502)
    never = {"sandboxID": "0" * 26, "envdAccessToken": server.e2b_key}
    for odd in ("0" * 26, "x", "UPPER", "a-b", "i" * 63, "i" * 64, "%00"):
        status, _, error = server.data(never | {"sandboxID": odd}, ENVD, "GET", "/health")
        assert (status, error["code"]) == (502, 502), odd
        assert server.control("GET", f"/sandboxes/{odd}")[2]["code"] in (400, 404)
    for path in ("timeout", "connect", "refreshes", "pause", "fork"):
        status, _, error = server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/{path}", {"timeout": 60})
        assert (status, error["code"]) == (404, 404), path
    assert server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/timeout", {"timeout": "x"})[0] == 400


def test_malformed_messages(server):
    sandbox = server.sandbox()
    good = envelope({"process": {"cmd": "/bin/true"}})
    for body, code in ((b"", "invalid_argument"), (good[:4], "invalid_argument"), (good[:-1], "invalid_argument"),
                       (good + good, "invalid_argument"), (good + b"x", "invalid_argument"),
                       (struct.pack(">BI", 0, 1 << 31), "resource_exhausted"), (b"\x80" + good[1:], "invalid_argument"),
                       (envelope({}, flags=1), "unimplemented"), (envelope({}, flags=2), "invalid_argument"),
                       (envelope(b"{"), "invalid_argument"), (envelope(b"[" * 100), "invalid_argument"),
                       (envelope({}), "invalid_argument"), (envelope({"process": {"cmd": "a\0b"}}), "invalid_argument"),
                       (envelope({"process": {"cmd": "/no/such"}}), "invalid_argument"),
                       (envelope({"process": {"cmd": "/bin/true", "args": [1]}}), "invalid_argument"),
                       (envelope({"process": {"cmd": "/bin/true", "envs": {"A=B": "1"}}}), "invalid_argument")):
        status, messages = start(server, sandbox, body)
        assert status == 200, (body, messages)
        assert [(flags, message["error"]["code"]) for flags, message in messages] == [(2, code)], (body, messages)
    status, messages = start(server, sandbox, good)
    assert [list(message.get("event", message)) for _, message in messages] == [["start"], ["end"], []]
    assert server.data(sandbox, ENVD, "POST", "/process.Process/Start", good,
                       **{"Content-Type": "application/connect+proto"})[0] == 200
    assert server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/Nothing", {}, **UNARY)[2]["code"] == "unimplemented"
    assert server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/WatchDir", envelope({"path": "/"}), **STREAM)[0] == 200
    for method, body, code in (("Stat", {}, None), ("Stat", {"path": "/nope"}, "not_found"),
                               ("Stat", {"path": "../../etc"}, None), ("Move", {}, "invalid_argument"),
                               ("Remove", {"path": "/home/user"}, "invalid_argument"),
                               ("Stat", {"path": "x" * 5000}, "invalid_argument"), ("Stat", [], None),
                               ("ListDir", {"path": "none"}, "not_found"), ("Stat", {"path": "none"}, "not_found")):
        status, _, answer = server.data(sandbox, ENVD, "POST", f"/filesystem.Filesystem/{method}", body, **UNARY)
        assert answer.get("code") == code and (status == 200) == (code is None), (method, body, answer)
    for selector in ({}, {"pid": 0}, {"pid": -1}, {"pid": 1 << 40}, {"tag": ""}):
        answer = server.data(sandbox, ENVD, "POST", "/process.Process/SendSignal",
                             {"process": selector, "signal": "SIGNAL_SIGKILL"}, **UNARY)[2]
        assert answer["code"] == "invalid_argument", selector


def test_malformed_uploads(server):
    sandbox = server.sandbox()
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\nx\r\n'
    for headers, path, body, expected in (
            (form, "", part % b"a" + b"--b--", 200), (form, "", part % b"a", 400), (form, "", b"", 400),
            (form, "", part % b"../../etc/x" + b"--b--", 403), (form, "", part % b"" + b"--b--", 400),
            (form, "", part % b"a" + part % b"a" + b"--b--", 400), (form, "a/b", part % b"c" + b"--b--", 400),
            ({"Content-Type": "multipart/form-data"}, "", part % b"a", 400), ({"Content-Type": "text/plain"}, "a", b"x", 400),
            ({"Content-Type": "application/octet-stream"}, "", b"x", 400),
            ({"Content-Type": "application/octet-stream"}, "new/one", b"x", 200),
            ({"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}, "z", b"x", 400),
            ({"Content-Type": "application/octet-stream", "Content-Encoding": "br"}, "z", b"x", 400),
            ({"Content-Type": "application/octet-stream"}, "/", b"x", 400)):
        status, _, answer = server.data(sandbox, ENVD, "POST", f"/files?path={path}", body, **headers)
        assert status == expected, (headers, path, body, answer)
        assert status == 200 or answer["code"] == expected
    assert server.data(sandbox, ENVD, "GET", "/files?path=new/one")[2] == b"x"
    assert server.data(sandbox, ENVD, "GET", "/files?path=new/one&username=nobody-such")[0] == 401
    listed = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/ListDir", {"path": "~", "depth": 9}, **UNARY)[2]
    assert sorted(each["path"] for each in listed["entries"]) == ["/home/user/a", "/home/user/new", "/home/user/new/one"]


def test_malformed_compressed_uploads(server):
    """A damaged upload, or one that unpacks to more than the sandbox's disk, leaves no file."""
    made = server.ask("POST", "/sessions", {"limits": {"disk_bytes": 8 << 20}}).json
    sandbox = {"sandboxID": made["id"].removeprefix("se_").lower(), "envdAccessToken": server.e2b_key}
    packed = {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
    form = {"Content-Type": "multipart/form-data; boundary=b", "Content-Encoding": "gzip"}
    good = gzip.compress(b"good")
    bomb = gzip.compress(bytes(64 << 20))
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--'
    for headers, path, body, expected in (
            (packed, "ok", good, 200), (packed, "two", good + good, 200), (packed, "tmp", gzip.compress(b""), 200),
            (packed, "/tmp/ok", good, 200), (form, "", gzip.compress(part), 200),
            (packed, "bad", b"", 400), (packed, "bad", good[:-3], 400), (packed, "bad", good + b"more", 400),
            (packed, "bad", b"good", 400), (packed, "bad", bomb, 413), (packed, "/tmp/bad", bomb, 413),
            (form, "", bomb, 413), (form, "", part, 400), (packed, "/etc/bad", good, 403)):
        status, _, answer = server.data(sandbox, ENVD, "POST", f"/files?path={path}", body, **headers)
        assert status == expected, (headers, path, len(body), answer)
    assert server.data(sandbox, ENVD, "GET", "/files?path=two")[2] == b"goodgood"
    assert server.data(sandbox, ENVD, "GET", "/files?path=f")[2] == b"x"
    for path in ("bad", "/tmp/bad", "/etc/bad"):
        assert server.data(sandbox, ENVD, "GET", f"/files?path={path}")[0] == 404


def test_downloads_are_compressed_on_request(server):
    sandbox = server.sandbox()
    plain = {"Content-Type": "application/octet-stream"}
    text = b"the same again\n" * 100_000
    server.data(sandbox, ENVD, "POST", "/files?path=a", text, **plain)
    for accept, more, is_packed in (("gzip", {}, True), ("gzip, deflate", {}, False), ("identity", {}, False),
                                    ("gzip", {"Range": "bytes=3-9"}, False)):
        status, headers, body = server.data(sandbox, ENVD, "GET", "/files?path=a", **{"Accept-Encoding": accept}, **more)
        assert status == (206 if more else 200)
        assert (headers["Content-Encoding"] == "gzip") is is_packed and headers["Vary"] == "Accept-Encoding"
        assert (gzip.decompress(body) if is_packed else body) == (text[3:10] if more else text)
    assert len(server.data(sandbox, ENVD, "GET", "/files?path=a", **{"Accept-Encoding": "gzip"})[2]) < len(text) // 50


def test_malformed_metadata(server):
    sandbox = server.sandbox()
    plain = {"Content-Type": "application/octet-stream"}
    for headers in ({"X-Metadata-": "x"}, {"X-Metadata-a": "\xe4"}, {"X-Metadata-a": "x" * 5000},
                    {"X-Metadata-" + "a" * 247: "x"}, {f"X-Metadata-{n}": "x" * 500 for n in range(9)}):
        status, _, answer = server.data(sandbox, ENVD, "POST", "/files?path=a", b"x", **plain, **headers)
        assert (status, answer["code"]) == (400, 400), (headers, answer)
    assert server.data(sandbox, ENVD, "GET", "/files?path=a")[0] == 404
    status, _, answer = server.data(sandbox, ENVD, "POST", "/files?path=a", b"x", **plain, **{"X-Metadata-Big": "y" * 4000})
    assert answer == [{"path": "/home/user/a", "name": "a", "type": "file", "metadata": {"big": "y" * 4000}}], answer


def test_invalid_parameters_are_refused(server):
    for body in ({}, {"templateID": ""}, {"templateID": 5}, {"templateID": "base", "timeout": 0},
                 {"templateID": "base", "timeout": -5}, {"templateID": "base", "timeout": 1 << 40},
                 {"templateID": "base", "timeout": "x"}, {"templateID": "base", "metadata": {"a": 1}},
                 {"templateID": "base", "envVars": {"A=": "1"}},
                 {"templateID": "base", "envVars": ["A"]}, {"templateID": "base", "autoPause": "x"},
                 {"templateID": "base", "metadata": ["a"]}, {"templateID": "base", "metadata": "a"},
                 {"templateID": "base", "metadata": []}, {"templateID": "base", "envVars": []},
                 {"templateID": "base", "envVars": "A=1"}, {"templateID": "base", "autoResume": True},
                 {"templateID": "base", "autoResume": {"enabled": True}}, {"templateID": "base", "autoPauseMemory": False},
                 {"templateID": "base", "autoPause": True, "autoPauseMemory": 1},
                 {"templateID": "base", "autoPause": True, "autoPauseMemory": False, "autoResume": {"enabled": True}},
                 {"templateID": "base", "volumeMounts": [{"name": "a", "path": "/a"}]},
                 {"templateID": "base", "metadata": {"a": "x" * 20000}}, [], "{", b"\xff"):
        status, _, error = server.control("POST", "/v2/sandboxes", body)
        assert (status, error["code"]) == (400, 400), (body, error)
    assert server.control("POST", "/v2/sandboxes", {"templateID": "nothing"})[2]["code"] == 404
    assert server.control("GET", "/v2/sandboxes")[2] == []
    sandbox = server.sandbox()
    for query in ("limit=0", "limit=101", "limit=x", "metadata=%zz", "startedAfter=x"):
        assert server.control("GET", f"/v2/sandboxes?{query}")[0] == 400, query
    assert server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/resume", {})[0] == 409
    for body in ({"count": 0}, {"count": 101}, {"count": "1"}, {"timeout": 0}, {"timeout": "x"}, {"timeout": 1 << 40}, [], "{", b"\xff"):
        status, _, error = server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/fork", body)
        assert (status, error["code"]) == (400, 400), (body, error)
    assert server.control("POST", "/sandboxes/01m80j7v9z7wca235g7gjnp5hc/fork", {})[0] == 404
    for query in ("", "?sandbox_ids=", "?sandbox_ids=%zz", f"?sandbox_ids={','.join(f'a{i}' for i in range(101))}", f"?sandbox_ids={'a' * 9000}"):
        assert server.control("GET", f"/sandboxes/metrics{query}")[0] == 400, query
    assert server.control("GET", f"/sandboxes/metrics?sandbox_ids={','.join(f'a{i}' for i in range(100))}")[2] == {"sandboxes": {}}
    assert server.control("GET", f"/sandboxes/metrics?sandbox_ids={sandbox['sandboxID']}", key="e2b_" + "0" * 64)[0] == 401
    for body in ({}, {"code": 1}, {"code": "1", "context_id": "a", "language": "b"},
                 {"code": "1", "env_vars": {"A=": "1"}}, {"code": "1", "env_vars": {"A": 1}},
                 {"code": "1", "env_vars": ["A"]}):
        assert server.data(sandbox, INTERPRETER, "POST", "/execute", body)[0] == 400, body
    assert server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "1", "context_id": "ctx_none"})[0] == 404
    half = {"E2b-Sandbox-Id": sandbox["sandboxID"]}
    assert server.request("GET", "/health", headers=half)[2]["code"] == 400


def test_both_api_versions_and_sort_order(server):
    status, _, first = server.control("POST", "/sandboxes", {"templateID": "base", "metadata": {"n": "1"}})
    assert status == 201
    second = server.sandbox(metadata={"n": "2"})
    ids = [first["sandboxID"], second["sandboxID"]]
    assert [each["sandboxID"] for each in server.control("GET", "/sandboxes")[2]] == ids[::-1]
    status, headers, page = server.control("GET", "/v2/sandboxes?order=asc&limit=1")
    assert [each["sandboxID"] for each in page] == ids[:1]
    page = server.control("GET", f"/v2/sandboxes?order=asc&limit=1&nextToken={headers['x-next-token']}")
    assert [each["sandboxID"] for each in page[2]] == ids[1:] and page[1]["x-next-token"] is None
    assert server.control("GET", "/v2/sandboxes?state=paused")[2] == []
    assert server.control("POST", f"/sandboxes/{ids[0]}/connect", {"timeout": 10})[0] == 200
    assert server.control("POST", f"/v2/sandboxes/{ids[0]}/connect", {})[0] == 200
    assert server.control("POST", f"/sandboxes/{ids[0]}/refreshes", {"duration": 100})[0] == 204
    assert server.control("GET", "/templates/aliases/base")[2]["templateID"] == "base"
    assert server.control("GET", "/templates/aliases/nothing")[0] == 404
    assert {"name", "sandboxID"} & set(server.control("GET", f"/v2/sandboxes/{ids[0]}/logs")[2]) == set()


def test_cors_allows_every_origin(server):
    sandbox = server.sandbox()
    status, headers, _ = server.data(sandbox, INTERPRETER, "OPTIONS", "/execute", token=False, Origin="https://x.example",
                                     **{"Access-Control-Request-Method": "POST"})
    assert status == 204 and headers["Access-Control-Allow-Origin"] == "*"
    assert server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "1"})[1]["Access-Control-Allow-Origin"] == "*"


def test_a_client_that_disconnects_interrupts_the_kernel(server):
    sandbox = server.sandbox()
    server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "x = 41"})
    body = json.dumps({"code": "import time\nprint('begun', flush=True)\ntime.sleep(10000)"})
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as client:
        client.sendall(f"POST /execute HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {sandbox['sandboxID']}\r\n"
                       f"E2b-Sandbox-Port: {INTERPRETER}\r\nX-Access-Token: {sandbox['envdAccessToken']}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        seen = b""
        while b"begun" not in seen:
            seen += client.recv(65536)
    status, _, text = server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "x + 1"})
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line.get("text") for line in lines if line["type"] == "result"] == ["42"]
    assert lines[0]["type"] == "number_of_executions" and lines[-1]["type"] == "end_of_execution"


def test_a_command_has_a_deadline_and_outlives_its_client(server):
    sandbox = server.sandbox()
    message = envelope({"process": {"cmd": "/bin/sleep", "args": ["1000"]}, "tag": "mine"})
    status, messages = start(server, sandbox, message, **{"Connect-Timeout-Ms": "300"})
    assert status == 200 and messages[-1] == (2, {"error": {"code": "deadline_exceeded", "message": "context deadline exceeded"}})
    connection = server.connect()
    connection.request("POST", "/process.Process/Start", message, {
        "E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(ENVD), "Keepalive-Ping-Interval": "1",
        "X-Access-Token": sandbox["envdAccessToken"], **STREAM})
    answer = connection.getresponse()
    read = b""
    while b"keepalive" not in read:
        read += answer.read1(4096)
    connection.close()
    listed = server.data(sandbox, ENVD, "POST", "/process.Process/List", {}, **UNARY)[2]["processes"]
    assert [(each["config"]["cmd"], each["tag"]) for each in listed] == [("/bin/sleep", "mine")]
    assert server.data(sandbox, ENVD, "POST", "/process.Process/SendSignal",
                       {"process": {"tag": "mine"}, "signal": "SIGNAL_SIGTERM"}, **UNARY)[2] == {}
    eventually(lambda: not server.data(sandbox, ENVD, "POST", "/process.Process/List", {}, **UNARY)[2]["processes"])
    # Connecting to a process that has ended repeats its end event.
    status, _, text = server.data(sandbox, ENVD, "POST", "/process.Process/Connect",
                                  envelope({"process": {"tag": "mine"}}), **STREAM)
    events = [message for _, message in envelopes(text)]
    assert events[1]["event"]["end"] == {"exitCode": -1, "exited": False, "status": "signal: terminated",
                                         "error": "signal: terminated"}


def watch(server, sandbox, body, **headers):
    """Calls WatchDir and waits until it ends: ([messages], the last one)."""
    status, _, text = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/WatchDir", envelope(body),
                                  **STREAM | headers)
    assert status == 200
    *messages, (flags, end) = envelopes(text)
    assert flags == 2
    return [message for _, message in messages], end


def test_a_watch_lasts_until_the_clients_deadline(server):
    messages, end = watch(server, server.sandbox(), {"path": "~"},
                          **{"Connect-Timeout-Ms": "1500", "Keepalive-Ping-Interval": "1"})
    assert messages[0] == {"start": {}} and {"keepalive": {}} in messages
    assert end["error"]["code"] == "deadline_exceeded"


def test_a_watch_of_too_many_folders_is_refused(server):
    sandbox = server.sandbox()
    status, _, _ = server.data(sandbox, INTERPRETER, "POST", "/execute",
                               {"code": "import os\nfor i in range(1100): os.makedirs(f'many/{i}')"})
    assert status == 200
    messages, end = watch(server, sandbox, {"path": "many", "recursive": True})
    assert messages == [{"start": {}}] and end["error"]["code"] == "resource_exhausted"
    for path in ("", "/", "/etc", "../..", "a" * 5000, "a\0b", 7, None):
        messages, end = watch(server, sandbox, {"path": path, "recursive": "yes"}, **{"Connect-Timeout-Ms": "100"})
        assert end["error"]["code"] in ("invalid_argument", "not_found", "deadline_exceeded"), path


def ask(server, sandbox, method, **message):
    return server.data(sandbox, ENVD, "POST", f"/filesystem.Filesystem/{method}", message, **UNARY)[2]


def test_watchers_belong_to_their_sandbox(server):
    sandbox, other = server.sandbox(), server.sandbox()
    made = ask(server, sandbox, "CreateWatcher", path="~", includeEntry=True)["watcherId"]
    assert ask(server, sandbox, "GetWatcherEvents", watcherId=made) == {"events": []}
    assert ask(server, other, "GetWatcherEvents", watcherId=made)["code"] == "not_found"
    for wrong in ("", ":", "fw_", "x" * 31, "x" * 5000, "../..", "fw_\0", made[:-1] + "\n", None, 7):
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            if isinstance(wrong, str) and wrong.partition(":")[0] == made.partition(":")[0]:
                continue
            assert ask(server, sandbox, method, watcherId=wrong)["code"] == "not_found", wrong
    server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "open('new', 'w').write('hello')"})
    until = time.monotonic() + SECONDS
    found = {}
    while "new" not in found and time.monotonic() < until:
        found |= {each["name"]: each for each in ask(server, sandbox, "GetWatcherEvents", watcherId=made)["events"]}
    assert found["new"]["entry"]["path"] == "/home/user/new"
    assert ask(server, sandbox, "RemoveWatcher", watcherId=made) == {}
    for method in ("GetWatcherEvents", "RemoveWatcher"):
        assert ask(server, sandbox, method, watcherId=made)["code"] == "not_found"


def test_watchers_of_a_folder_are_bounded(server):
    sandbox = server.sandbox()
    made = [ask(server, sandbox, "CreateWatcher", path="~")["watcherId"] for _ in range(16)]
    assert ask(server, sandbox, "CreateWatcher", path="~")["code"] == "resource_exhausted"
    assert ask(server, sandbox, "RemoveWatcher", watcherId=made[3]) == {}
    assert "watcherId" in ask(server, sandbox, "CreateWatcher", path="~")


def test_hosts_of_envd_and_of_the_interpreter(server):
    """SDKs that do not support E2B_SANDBOX_URL name sandbox and port only in the host name."""
    sandbox = server.sandbox()
    token = {"X-Access-Token": sandbox["envdAccessToken"]}

    def ask(port, method, path, body=None, sandbox_id=sandbox["sandboxID"], headers=token, **more):
        host = {"Host": f"{port}-{sandbox_id}.localhost:{server.port}"}
        return server.request(method, path, body, host | headers | more)

    assert ask(ENVD, "GET", "/health")[0] == 204
    assert ask(INTERPRETER, "GET", "/health", sandbox_id=sandbox["sandboxID"].upper())[::2] == (200, "OK")
    assert b'"text":"42"' in ask(INTERPRETER, "POST", "/execute", {"code": "6 * 7"})[2]
    assert ask(ENVD, "POST", "/filesystem.Filesystem/ListDir", {"path": "~"}, **UNARY)[2] == {"entries": []}
    assert ask(ENVD, "GET", "/health", headers={})[0] == 401
    assert ask(ENVD, "GET", "/health", sandbox_id="0" * 26)[0] == 403
    # Such a host name reaches neither the control plane nor another dialect, and envd on its port only.
    for path in ("/v2/sandboxes", "/reckon/v1/sessions", "/v1/files", "/"):
        assert ask(ENVD, "GET", path, headers={"X-API-Key": server.e2b_key})[0] == 404, path
    assert ask(3000, "GET", "/health", headers={"X-Reckon-Key": sandbox["envdAccessToken"]})[0] == 502


def test_malformed_input_streams(server):
    sandbox = server.sandbox()
    status, messages = start(server, sandbox, envelope(
        {"process": {"cmd": "/bin/sh", "args": ["-c", "cat > got & echo"]}, "stdin": True, "tag": "none"}))
    assert status == 200

    def stream(*parts):
        status, _, text = server.data(sandbox, ENVD, "POST", "/process.Process/StreamInput", b"".join(parts), **STREAM)
        assert status == 200
        return [message for _, message in envelopes(text)]

    first, data = envelope({"start": {"process": {"tag": "none"}}}), envelope({"data": {"input": {"stdin": "eA=="}}})
    assert stream(first)[-1]["error"]["code"] == "not_found"  # it has ended
    for wrong in ((), (data,), (first[:-1],), (envelope(b"{"),), (envelope({}, flags=1),), (envelope({}),),
                  (struct.pack(">BI", 0, 1 << 31),), (b"\x80" * 9,)):
        assert stream(*wrong)[-1]["error"]["code"] in ("invalid_argument", "unimplemented", "resource_exhausted"), wrong


def signed(sandbox, path, operation="read", token=None):
    text = f"{path}:{operation}::{token or sandbox['envdAccessToken']}"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    return urllib.parse.urlencode({"path": path, "signature": "v1_" + digest})


def test_a_signature_is_valid_for_its_sandbox_only(server):
    one, other = server.sandbox(), server.sandbox()
    for sandbox, text in ((one, b"one"), (other, b"other")):
        status, _, _ = server.data(sandbox, ENVD, "POST", "/files?path=a", text,
                                   **{"Content-Type": "application/octet-stream"})
        assert status == 200
    for _ in range(3):  # looked up, then cached
        assert server.request("GET", f"/files?{signed(one, 'a')}")[2] == b"one"
        assert server.request("GET", f"/files?{signed(other, 'a')}")[2] == b"other"
    name = {"Host": f"{ENVD}-{one['sandboxID']}.localhost:{server.port}"}
    assert server.request("GET", f"/files?{signed(one, 'a')}", headers=name)[2] == b"one"
    assert server.request("GET", f"/files?{signed(other, 'a')}", headers=name)[0] == 401
    assert server.request("GET", f"/files?{signed(one, 'a', 'write')}")[0] == 401
    assert server.control("DELETE", f"/sandboxes/{one['sandboxID']}")[0] == 204
    assert server.request("GET", f"/files?{signed(one, 'a')}")[0] == 401
    assert server.request("GET", f"/files?{signed(other, 'a')}")[2] == b"other"


def test_two_clients_on_one_sandbox(server):
    """Each client gets its own results; cells of one kernel run one after the other."""
    sandbox = server.sandbox()
    found = {}

    def work(name):
        for i in range(10):
            code = f"import time; time.sleep(0.01); print('{name}', {i})"
            text = server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": code})[2]
            found.setdefault(name, []).extend(json.loads(line).get("text") for line in text.splitlines()
                                              if b'"stdout"' in line)
            path = f"/files?path={name}"
            server.data(sandbox, ENVD, "POST", path, f"{name}{i}".encode(), **{"Content-Type": "application/octet-stream"})
            assert server.data(sandbox, ENVD, "GET", path)[2] == f"{name}{i}".encode()

    clients = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert found == {name: [f"{name} {i}\n" for i in range(10)] for name in ("a", "b")}


def test_an_upload_that_is_cut_off_leaves_nothing(server):
    sandbox = server.sandbox()
    for path in ("/files?path=half", "/process.Process/Start", "/filesystem.Filesystem/Stat"):
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as client:
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {sandbox['sandboxID']}\r\n"
                           f"E2b-Sandbox-Port: {ENVD}\r\nX-Access-Token: {sandbox['envdAccessToken']}\r\n"
                           "Content-Type: application/octet-stream\r\nContent-Length: 100000\r\n\r\nhalf".encode())
    assert server.data(sandbox, ENVD, "GET", "/files?path=half")[0] == 404
    assert server.data(sandbox, ENVD, "GET", "/health")[0] == 204
    assert server.data(sandbox, ENVD, "POST", "/process.Process/List", {}, **UNARY)[2] in ({}, {"processes": []})


def test_requests_to_a_paused_sandbox(server):
    sandbox = server.sandbox()
    path = f"/sandboxes/{sandbox['sandboxID']}"
    assert server.control("POST", f"{path}/pause", {})[0] == 204
    assert server.control("POST", f"{path}/pause")[2]["code"] == 409
    for port, method, request, body in (
            (ENVD, "GET", "/health", None), (ENVD, "GET", "/files?path=x", None), (INTERPRETER, "GET", "/health", None),
            (INTERPRETER, "POST", "/execute", {"code": "1"}),
            (ENVD, "POST", "/filesystem.Filesystem/MakeDir", {"path": "x"})):
        status, _, error = server.data(sandbox, port, method, request, body, **UNARY)
        assert (status, error["code"], error["sandboxId"]) == (502, 502, sandbox["sandboxID"]), (request, error)
        assert "paused" in error["message"]
    assert server.control("GET", path)[2]["state"] == "paused"
    assert server.control("GET", "/sandboxes")[2] == []  # version 1 lists only running sandboxes
    assert [each["state"] for each in server.control("GET", "/v2/sandboxes")[2]] == ["paused"]
    assert server.control("POST", f"{path}/timeout", {"timeout": 600})[0] == 204
    assert server.control("POST", f"{path}/resume", {"timeout": "x"})[0] == 400
    assert server.control("POST", f"{path}/resume", {"memory": 5})[0] == 400
    assert server.control("POST", f"{path}/resume", {"timeout": 100})[0] == 201
    assert server.control("POST", f"{path}/resume", {"timeout": 100})[0] == 409
    assert server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": "1"})[0] == 200
    assert server.control("POST", f"{path}/pause", {"memory": False})[0] == 204
    assert server.control("POST", f"/v2{path}/connect", {})[0] == 201
    assert server.control("POST", f"/v2{path}/connect", {})[0] == 200


def test_invalid_volume_requests(server):
    for body in ({}, {"name": ""}, {"name": 5}, {"name": "a b"}, {"name": "vol_a"}, {"name": "a\0b"}, [], "{", b"\xff"):
        status, _, error = server.control("POST", "/volumes", body)
        assert (status, error["code"]) == (400, 400), (body, error)
    assert server.control("POST", "/volumes", {"name": "v"}, key="e2b_" + "0" * 64)[0] == 401
    made = server.control("POST", "/volumes", {"name": "v"})[2]
    other = server.control("POST", "/volumes", {"name": "w"})[2]
    assert set(made) == {"volumeID", "name", "token"}
    assert server.control("POST", "/volumes", {"name": "v"})[2]["code"] == 409
    for method, path, status in (("GET", "/volumes/none", 404), ("DELETE", "/volumes/none", 404), ("GET", "/volumes/a%2f..", 400),
                                 ("PUT", "/volumes", 405), ("GET", "/volumes/v/w/x", 404)):
        assert server.control(method, path)[0] == status, path
    for mounts in ("v", {"name": "v"}, ["v"], [{"name": "v"}], [{"path": "/mnt/v"}], [{"name": "v", "path": 5}],
                   [{"name": "v", "path": "/mnt/data"}], [{"name": "v", "path": "/mnt/../etc"}], [{"name": "v", "path": "/etc"}],
                   [{"name": "v", "path": "/mnt/a"}] * 2, [{"name": "v", "path": f"/mnt/{n}"} for n in range(5)]):
        status, _, error = server.control("POST", "/v2/sandboxes", {"templateID": "base", "volumeMounts": mounts})
        assert (status, error["code"]) == (400, 400), (mounts, error)
    assert server.control("POST", "/v2/sandboxes", {"templateID": "base", "volumeMounts": [{"name": "n", "path": "/mnt/v"}]})[0] == 404
    assert server.control("GET", "/v2/sandboxes")[2] == []

    def content(method, rest, body=None, token=made["token"], named=made["volumeID"]):
        status, _, answer = server.request(method, f"/volumecontent/{named}/{rest}", body, {"Authorization": f"Bearer {token}"})
        return status, answer

    assert content("PUT", "file?path=/a", b"x")[0] == 201
    for token in ("", "x", made["token"][:-1], "vt_" + "A" * 97, server.sandbox()["envdAccessToken"]):
        status, error = content("GET", "dir?path=/", token=token)
        assert status in (401, 403) and isinstance(error["code"], str) and error["message"], (token, error)
    assert content("GET", "dir?path=/", token=other["token"])[0] == 403
    assert content("GET", "dir?path=/", named="v")[0] == 403  # a token is valid for the volume's id only
    assert content("GET", "dir?path=/", token=server.e2b_key)[0] == 200
    assert content("GET", "dir?path=/&depth=64")[0] == 200
    for method, rest, body in (
            ("GET", "dir?path=/&depth=0", None), ("GET", "dir?path=/&depth=65", None), ("GET", "dir?path=/&depth=x", None),
            ("GET", "dir?path=%zz", None), ("GET", "file?path=/", None), ("GET", "file?path=../a", None), ("GET", "file?path=/a/../b", None),
            ("GET", f"file?path={'a' * 5000}", None), ("PUT", "file?path=/", b"x"), ("PUT", "file?path=/a&mode=512", b"x"),
            ("PUT", "file?path=/a&mode=-1", b"x"), ("PUT", "file?path=/a&uid=5", b"x"), ("DELETE", "path?path=/", None),
            ("PUT", f"file?path={'a' * 300}", b"x"), ("PATCH", "path?path=/a", {"mode": 1.5}), ("PATCH", "path?path=/a", {"mode": "x"}),
            ("PATCH", "path?path=/a", {"uid": 5}), ("PATCH", "path?path=/", {"mode": 0}), ("PATCH", "path?path=/a", [])):
        status, error = content(method, rest, body)
        assert status in (400, 409) and isinstance(error["code"], str), (method, rest[:40], status, error)
    for rest in ("file?path=/none", "path?path=/none", "dir?path=/none", "nothing?path=/a", "file/x"):
        assert content("GET", rest)[0] == 404, rest
    assert content("POST", "path?path=/a")[0] == 405
    assert content("GET", "file?path=/a")[1] == b"x"


def test_invalid_snapshot_requests(server):
    path = f"/sandboxes/{server.sandbox()['sandboxID']}/snapshots"
    for body in ({"name": ""}, {"name": 5}, {"name": "a\0b"}, {"name": "a\nb"}, {"name": "a" * 129}, {"name": "sn_a"}, {"name": "team/"},
                 {"name": ":default"}, {"memory": True}, [], "{", b"\xff"):
        status, _, error = server.control("POST", path, body)
        assert (status, error["code"]) == (400, 400), (body, error)
    assert server.control("GET", "/snapshots")[2] == []
    assert server.control("POST", "/sandboxes/01m80j7v9z7wca235g7gjnp5hc/snapshots", {})[0] == 404
    made = []
    for _ in range(3):
        made.append(server.control("POST", path, {"name": "a" * 128, "memory": False})[2])
        time.sleep(0.002)  # ids of one millisecond have no order
    assert made[0]["names"] == ["a" * 128] and set(made[0]) == {"snapshotID", "names"}
    for query in ("limit=0", "limit=101", "limit=x", "name=%zz", f"name={'a' * 300}"):
        assert server.control("GET", f"/snapshots?{query}")[0] == 400, query
    status, headers, page = server.control("GET", "/snapshots?limit=2")
    assert [each["snapshotID"] for each in page] == [each["snapshotID"] for each in made[:0:-1]]
    status, headers, page = server.control("GET", f"/snapshots?limit=2&nextToken={headers['x-next-token']}")
    assert page == made[:1] and "x-next-token" not in headers
    assert server.control("GET", "/snapshots?sandboxID=x&nextToken=y")[2] == []
    for method, where, status in (("DELETE", "/templates/none", 404), ("DELETE", "/templates/sn_none", 404), ("DELETE", "/templates/a%2f..", 404),
                                  ("POST", "/snapshots", 405), ("DELETE", f"/snapshots/{made[0]['snapshotID']}", 404)):
        assert server.control(method, where, {} if method == "POST" else None)[0] == status, where
    for named in ("sn_none", "sn_" + "0" * 26, "sn_" + "a" * 500, "b" * 200):
        assert server.control("POST", "/v2/sandboxes", {"templateID": named})[0] in (400, 404), named
    assert len(server.control("GET", "/v2/sandboxes")[2]) == 1


def test_methods_that_a_path_does_not_support(server):
    for method, path, allowed in (("PUT", "/sandboxes", "GET, POST"), ("POST", "/snapshots", "GET"), ("PATCH", "/sandboxes/x", "GET, DELETE"),
                                  ("GET", "/sandboxes/x/fork", "POST"), ("PUT", "/volumes/x", "GET, DELETE")):
        status, headers, error = server.control(method, path, {})
        assert (status, error["code"], headers["Allow"]) == (405, 405, allowed), (method, path, error)
    for method in ("GET", "POST", "DELETE"):
        for path in ("/secrets", "/secrets/a", "/sandboxes/a/b"):
            status, _, error = server.control(method, path, {})
            assert (status, error["code"]) == (404, 404), (method, path, error)
    sandbox = server.sandbox()
    for port, method, path, allowed in ((ENVD, "PUT", "/files", "GET, POST"), (INTERPRETER, "GET", "/execute", "POST"),
                                        (INTERPRETER, "PUT", "/contexts", "GET, POST")):
        status, headers, _ = server.data(sandbox, port, method, path, {})
        assert (status, headers["Allow"]) == (405, allowed), path


def test_metrics_of_several_sandboxes(server):
    sandboxes = [server.sandbox() for _ in range(2)]
    for each in sandboxes:
        assert server.data(each, 49999, "POST", "/execute", {"code": "1"})[0] == 200
    ids = [each["sandboxID"] for each in sandboxes]
    end = time.monotonic() + SECONDS
    while set((metrics := server.control("GET", f"/sandboxes/metrics?sandbox_ids={ids[0]},nothing,{ids[1]},{ids[0]}")[2])["sandboxes"]) != set(ids):
        assert time.monotonic() < end, metrics
        time.sleep(0.1)
    for each in ids:
        last = server.control("GET", f"/sandboxes/{each}/metrics")[2][-1]
        shown = metrics["sandboxes"][each]
        assert set(shown) == set(last) and shown["memTotal"] == last["memTotal"] and 0 < shown["timestampUnix"] <= last["timestampUnix"]
