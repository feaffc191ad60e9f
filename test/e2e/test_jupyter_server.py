"""The interface of Jupyter Server: raw requests of its clients, and jupyter_kernel_client from PyPI.

The gateway test uses the jupyter_server of build/sdks/jupyter; AutoGen and a file of Open WebUI are in
build/sdks/autogen.
"""
import base64
import contextlib
import hashlib
import json
import os
import random
import re
import socket
import struct
import subprocess
import time
import urllib.request
import uuid

import jupyter_kernel_client
import pytest
import websocket
from reckon_cli import ROOT
from reckon_serve import SECONDS

API = "/jupyter/api"
V1 = "v1.kernel.websocket.jupyter.org"
JUPYTER = ROOT / "build/sdks/jupyter/venv"
CLIENTS = ROOT / "build/sdks/autogen/venv"
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def ask(server, method, path, body=None, key=None, **headers):
    return server.ask(method, path if path.startswith("/jupyter") else API + path, body, {
        "Authorization": f"token {server.key if key is None else key}", **headers}, key=False,
        prefix="")


def start(server, **body):
    answer = ask(server, "POST", "/kernels", json.dumps(body) if body else b"",
                 **{"Content-Type": "application/octet-stream"})
    assert answer.status == 201, answer
    assert answer.headers["Location"] == f"{API}/kernels/{answer.json['id']}"
    assert str(uuid.UUID(answer.json["id"])) == answer.json["id"]
    return answer.json["id"]


class Channels:
    """A WebSocket of a kernel, in the JSON format or in the binary format v1."""

    def __init__(self, server, kernel, is_v1=False, session="s", **more):
        self.is_v1 = is_v1
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{server.port}{API}/kernels/{kernel}/channels?session_id={session}",
            header=[f"Authorization: token {server.key}"], timeout=SECONDS,
            subprotocols=[V1] if is_v1 else None, **more)

    def send(self, kind, content, channel="shell", buffers=()):
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "username": "u", "session": "s",
                  "date": "", "version": "5.3", "of_mine": [1]}
        if not self.is_v1:
            self.socket.send(json.dumps({"channel": channel, "header": header, "parent_header": {},
                                         "metadata": {}, "content": content, "buffers": {}}))
            return header
        parts = [channel.encode(), *(json.dumps(each).encode() for each in
                                     (header, {}, {}, content)), *buffers]
        at, offsets = 8 * (len(parts) + 2), []
        for part in parts:
            offsets.append(at)
            at += len(part)
        self.socket.send_binary(struct.pack(f"<{len(parts) + 2}Q", len(parts) + 1, *offsets, at) +
                                b"".join(parts))
        return header

    def receive(self):
        opcode, data = self.socket.recv_data()
        if not self.is_v1:
            assert opcode == websocket.ABNF.OPCODE_TEXT
            message = json.loads(data)
            for key in ("msg_id", "msg_type"):
                assert message[key] == message["header"][key]
            return message
        assert opcode == websocket.ABNF.OPCODE_BINARY
        [count] = struct.unpack_from("<Q", data)
        offsets = struct.unpack_from(f"<{count}Q", data, 8)
        assert offsets[0] == 8 * (count + 1) and offsets[-1] == len(data)
        parts = [data[a:b] for a, b in zip(offsets, offsets[1:])]
        header, parent, metadata, content = map(json.loads, parts[1:5])
        return {"channel": parts[0].decode(), "header": header, "parent_header": parent,
                "metadata": metadata, "content": content, "msg_type": header["msg_type"]}

    def until_idle(self, header):
        """[(type, content)] of the messages of this request between busy and idle."""
        seen = []
        while True:
            message = self.receive()
            if message["parent_header"] != header:
                continue
            seen.append((message["msg_type"], message["content"]))
            if message["content"].get("execution_state") == "idle":
                assert seen[0] == ("status", {"execution_state": "busy"})
                return seen[1:-1]

    def request(self, kind, content, channel="shell"):
        return self.until_idle(self.send(kind, content, channel))

    def run(self, code, **more):
        return self.request("execute_request", {"code": code, **more})

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def kernel(server, is_v1=False, **body):
    own = start(server, **body)
    channels = Channels(server, own, is_v1)
    try:
        yield own, channels
    finally:
        channels.close()
        ask(server, "DELETE", f"/kernels/{own}")


# ---- REST -----------------------------------------------------------------------------------

def test_version_and_kernelspecs(server):
    assert ask(server, "GET", "/jupyter/api", key="").json["version"]
    specs = ask(server, "GET", "/kernelspecs?1795415449341").json
    assert specs["default"] == "python3" and {"python3", "bash"} == set(specs["kernelspecs"])
    for name, spec in specs["kernelspecs"].items():
        assert spec["name"] == name and spec["resources"] == {}
        assert {"argv", "display_name", "language", "env"} <= set(spec["spec"])
        assert ask(server, "GET", f"/kernelspecs/{name}").json == spec


def test_a_kernel_from_start_to_end(server):
    other = server.create()  # not a kernel of this interface
    own = start(server)
    assert start(server, name="bash", path=None, env={"A": "b"}) != own
    listed = ask(server, "GET", "/kernels").json
    assert {each["name"] for each in listed} == {"python3", "bash"} and len(listed) == 2
    model = ask(server, "GET", f"/kernels/{own}").json
    assert model in listed
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", model["last_activity"])
    assert (model["execution_state"], model["connections"]) == ("idle", 0)
    assert ask(server, "POST", f"/kernels/{own}/interrupt").status == 204
    assert ask(server, "POST", f"/kernels/{own}/restart", "{}").json["id"] == own
    answer = ask(server, "DELETE", f"/kernels/{own}")
    assert (answer.status, answer.body) == (204, b"")
    for method, what in (("GET", ""), ("DELETE", ""), ("POST", "/restart"), ("POST", "/interrupt"),
                         ("GET", "/channels")):
        answer = ask(server, method, f"/kernels/{own}{what}")
        assert answer.status == 404 and "Kernel does not exist" in answer.json["message"]
    assert server.ask("GET", f"/sessions/{other}").json["status"] == "live"


def test_errors_have_the_format_of_jupyter_server(server):
    def refused(answer, status):
        assert answer.status == status, answer
        assert set(answer.json) == {"message", "reason"} and answer.json["message"]

    own = start(server)
    for path in ("/kernels", "/kernelspecs", f"/kernels/{own}", f"/kernels/{own}/channels"):
        refused(ask(server, "GET", path, key=""), 403)
        refused(ask(server, "GET", path, key="rk_wrong"), 403)
    assert server.ask("GET", f"{API}/kernels?token={server.key}", key=False, prefix="").status == 200
    refused(ask(server, "GET", "/kernels/x"), 404)
    refused(ask(server, "GET", "/kernels/" + "0" * 2000), 404)
    refused(ask(server, "GET", f"/kernels/{uuid.uuid4()}"), 404)
    refused(ask(server, "GET", "/kernelspecs/x"), 404)
    refused(ask(server, "GET", "/sessions/x"), 404)
    refused(ask(server, "GET", "/nothing"), 404)
    refused(ask(server, "POST", "/kernels", '{"name": "cobol"}'), 404)
    refused(ask(server, "POST", "/kernels", "{"), 400)
    refused(ask(server, "GET", f"/kernels/{own}/channels"), 426)  # without a WebSocket handshake
    # A session of another interface is not a kernel.
    session = server.create()
    bits = 0
    for letter in session[3:]:
        bits = bits << 5 | "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(letter)
    refused(ask(server, "DELETE", f"/kernels/{uuid.UUID(int=bits)}"), 404)
    assert server.ask("GET", f"/sessions/{session}").json["status"] == "live"


def test_status_and_identity(server):
    assert ask(server, "GET", "/status").json["kernels"] == 0
    start(server)
    status = ask(server, "GET", "/status").json
    assert set(status) == {"connections", "kernels", "last_activity", "started"}
    assert status["kernels"] == 1
    me = ask(server, "GET", '/me?permissions=%7B%22contents%22%3A%5B%22read%22%5D%7D').json
    assert me["permissions"] == {"contents": ["read"]} and me["identity"]["username"]
    assert ask(server, "GET", "/me?permissions=%5B").json["permissions"] == {}


def test_cors_allows_pages_of_this_machine(server):
    """A browser sends a preflight before the token, and hides answers from pages that are not allowed."""
    for path in ("/kernels", "/contents/a.txt", "", "/nothing"):
        preflight = ask(server, "OPTIONS", path or "/jupyter/api", key="", **{
            "Origin": "http://localhost:8000", "Access-Control-Request-Method": "DELETE",
            "Access-Control-Request-Headers": "authorization"})
        assert preflight.status == 200 and preflight.body == b""
        assert preflight.headers["Access-Control-Allow-Origin"] == "http://localhost:8000"
        assert "DELETE" in preflight.headers["Access-Control-Allow-Methods"]
        assert "authorization" in preflight.headers["Access-Control-Allow-Headers"].split(", ")
    for origin, allowed in (("http://localhost:8000", True), (f"http://127.0.0.1:{server.port}", True),
                            ("http://evil.example", False), ("null", False),
                            ("http://localhost:8000/" + "x" * 200, False)):
        for key, status in ((None, 200), ("rk_wrong", 403)):
            answer = ask(server, "GET", "/kernels", key=key, Origin=origin)
            assert answer.status == status
            assert answer.headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)
    # Unknown paths and methods are errors.
    assert ask(server, "OPTIONS", "/jupyter/files/x").status == 404
    assert ask(server, "TRACE", "/kernels").status in (404, 405)


def visit(server, method, path, body=None, **headers):
    """A request of a browser, without a token; redirects are not followed."""
    return server.ask(method, path, body, headers, key=False, prefix="")


def cookies(answer):
    return [value.split(";")[0] for value in answer.headers.get_all("Set-Cookie", [])]


def test_login_with_a_password(server):
    """VS Code and Open WebUI log in like this: the password is an API key."""
    for path, then in (("/jupyter/", "%2Fjupyter%2F"), ("/jupyter/tree?", "%2Fjupyter%2Ftree")):
        answer = visit(server, "GET", path)
        assert (answer.status, answer.headers["Location"]) == (302, f"/jupyter/login?next={then}")
    answer = visit(server, "GET", "/jupyter/login?next=%2Fjupyter%2Ftree%3Fa%3D1")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
    assert 'action="/jupyter/login?next=%2Fjupyter%2Ftree%3Fa%3D1"' in answer.body.decode()
    [xsrf] = cookies(answer)
    assert re.fullmatch("_xsrf=[0-9a-f]{32}", xsrf) and xsrf[6:] in answer.body.decode()

    def log_in(password, path="/jupyter/login", **headers):
        return visit(server, "POST", path, f"{xsrf}&password={password}", **{
            "Content-Type": "application/x-www-form-urlencoded", "Cookie": xsrf,
            "X-XSRFToken": xsrf[6:], **headers})

    for wrong in ("rk_wrong", "", "a%22b", "x" * 1000):
        answer = log_in(wrong)
        assert answer.status == 401 and "Invalid credentials" in answer.body.decode()
        assert [each[:6] for each in cookies(answer)] == ["_xsrf="]
    for then, location in (("", "/jupyter/"), ("?next=%2Fjupyter%2Ftree", "/jupyter/tree"),
                           ("?next=https%3A%2F%2Fevil.example", "/jupyter/"),
                           ("?next=%2F%2Fevil.example", "/jupyter/"),
                           ("?next=%2Fjupyterx", "/jupyter/"), ("?next=%2Fjupyter%2F%5Ca", "/jupyter/")):
        answer = log_in(server.key, "/jupyter/login" + then)
        assert (answer.status, answer.headers["Location"]) == (302, location)
    [cookie] = cookies(answer)
    name, _, value = cookie.partition("=")
    assert name == f"reckon-jupyter-{server.port}" and re.fullmatch("[0-9a-f]{32}", value)
    # VS Code sends the attributes of the cookie, too.
    for sent in (cookie, f"{xsrf}; {cookie}; HttpOnly; Path=/; SameSite=Strict"):
        assert visit(server, "GET", "/jupyter/api/kernels", Cookie=sent).json == []
        assert visit(server, "GET", "/jupyter/tree", Cookie=sent).status == 200
    answer = visit(server, "GET", "/jupyter/login", Cookie=cookie)
    assert (answer.status, answer.headers["Location"]) == (302, "/jupyter/")
    # A page of another origin, even on another port of this machine, cannot use the cookie.
    own = f"http://127.0.0.1:{server.port}"
    for origin, status in ((own, 201), ("http://127.0.0.1:1", 403), ("https://evil.example", 403)):
        assert visit(server, "POST", "/jupyter/api/kernels", b"", Cookie=cookie,
                     Origin=origin).status == status
        assert log_in(server.key, Origin=origin).status == (302 if status == 201 else 403)
    assert visit(server, "POST", "/jupyter/api/kernels", b"", Cookie=cookie, **{
        "Sec-Fetch-Site": "same-site"}).status == 403
    [kernel_] = visit(server, "GET", "/jupyter/api/kernels", Cookie=cookie).json
    address = f"ws://127.0.0.1:{server.port}{API}/kernels/{kernel_['id']}/channels"
    for origin in ("http://127.0.0.1:1", "http://localhost"):
        with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
            websocket.create_connection(address, cookie=cookie, origin=origin, timeout=SECONDS)
    websocket.create_connection(address, cookie=cookie, origin=own, timeout=SECONDS).close()
    # A token overrides the cookie; unknown cookies are refused.
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=cookie,
                 Authorization="token rk_wrong").status == 403
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=f"{name}=x").status == 403
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=f"{name}=").status == 403
    assert visit(server, "GET", "/reckon/v1/sessions", Cookie=cookie).status == 401
    answer = visit(server, "GET", "/jupyter/logout", Cookie=cookie)
    assert answer.status == 200 and cookies(answer) == [f"{name}="]
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=cookie).status == 403
    # Only the 256 cookies that were used last stay valid.
    first, *_ = cookies(log_in(server.key))
    second, *_ = cookies(log_in(server.key))
    for _ in range(254):
        assert log_in(server.key).status == 302
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=first).status == 200
    assert log_in(server.key).status == 302
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=first).status == 200
    assert visit(server, "GET", "/jupyter/api/kernels", Cookie=second).status == 403


def test_a_socket_of_events_stays_open_and_silent(server):
    address = f"ws://127.0.0.1:{server.port}{API}/events/subscribe"
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(address, timeout=SECONDS)
    socket = websocket.create_connection(f"{address}?token={server.key}", timeout=SECONDS)
    socket.send("{}")
    socket.settimeout(0.5)
    with pytest.raises(websocket.WebSocketTimeoutException):
        socket.recv()
    socket.close()


def test_settings_of_clients(server):
    """As in Jupyter Server, PATCH merges into the existing settings, and null removes a member."""
    assert ask(server, "GET", "/nbconvert").json == {}
    assert ask(server, "GET", "/config/lab").json == {}
    assert ask(server, "PATCH", "/config/lab", '{"a": {"b": 1, "c": 2}}').json == {"a": {"b": 1, "c": 2}}
    assert ask(server, "PATCH", "/config/lab", '{"a": {"b": null}, "d": 3}').json == {"a": {"c": 2}, "d": 3}
    assert ask(server, "PUT", "/config/lab", '{"e": 5}').json == ask(server, "GET", "/config/lab").json == {"e": 5}
    for method, path, body, status in (("GET", "/config", None, 404), ("GET", "/config/a/b", None, 404),
                                       ("PUT", "/config/lab", "[]", 400), ("PATCH", "/config/lab", "{", 400),
                                       ("DELETE", "/config/lab", None, 405), ("POST", "/nbconvert", "{}", 404)):
        assert ask(server, method, path, body).status == status, (method, path)
        assert ask(server, method, path, body, key="rk_wrong").status in (403, 404, 405)


def test_each_kernel_reports_its_language(server):
    shell_version = subprocess.run(["bash", "-c", "echo ${BASH_VERSION%%(*}"], capture_output=True,
                                   text=True, check=True).stdout.strip()
    wanted = {
        "python3": {"name": "python", "mimetype": "text/x-python", "file_extension": ".py",
                    "pygments_lexer": "ipython3", "nbconvert_exporter": "python",
                    "codemirror_mode": {"name": "ipython", "version": 3}},
        "bash": {"name": "bash", "version": shell_version, "mimetype": "text/x-sh", "file_extension": ".sh",
                 "pygments_lexer": "bash", "codemirror_mode": "shell"}}
    for spec, language in wanted.items():
        channels = Channels(server, start(server, name=spec))
        info = channels.request("kernel_info_request", {})[0][1]["language_info"]
        if spec == "python3":
            assert re.fullmatch(r"3\.\d+(\.\d+)?", info.pop("version"))
        assert info == language
        channels.close()


def test_sessions(server):
    def post(path, kernel=None, **more):
        answer = ask(server, "POST", "/sessions", json.dumps(
            {"path": path, "type": "notebook", "name": "", "kernel": kernel or {}, **more}))
        assert answer.status == 201, answer
        assert answer.headers["Location"] == f"{API}/sessions/{answer.json['id']}"
        return answer.json

    assert ask(server, "GET", "/sessions").json == []
    one = post("work/a.ipynb", {"name": "python3"})
    assert (one["path"], one["type"], one["notebook"]["path"]) == (
        "work/a.ipynb", "notebook", "work/a.ipynb")
    assert post("work/a.ipynb") == one  # one for each path
    two = post("b.ipynb", {"name": "bash"})
    assert two["kernel"]["name"] == "bash" and two["kernel"]["id"] != one["kernel"]["id"]
    assert {each["id"] for each in ask(server, "GET", "/sessions").json} == {one["id"], two["id"]}
    kernels = {each["id"] for each in ask(server, "GET", "/kernels").json}
    assert kernels == {one["kernel"]["id"], two["kernel"]["id"]}
    # The kernel sees the files of the contents API.
    assert ask(server, "PUT", "/contents/in.txt", json.dumps(
        {"type": "file", "format": "text", "content": "süß"})).status == 201
    channels = Channels(server, one["kernel"]["id"])
    assert channels.run("print(open('/mnt/data/in.txt').read())\nx = 1")[1][1]["text"] == "süß\n"
    [(_, found)] = channels.request("complete_request", {"code": "op", "cursor_pos": 2})
    assert "open" in found["matches"]
    assert ask(server, "POST", f"/kernels/{one['kernel']['id']}/restart").status == 200
    assert channels.run("x")[-1][1]["ename"] == "NameError"
    channels.close()
    # PATCH changes the path or the kernel; the replaced kernel ends.
    path = f"/sessions/{one['id']}"
    moved = ask(server, "PATCH", path, json.dumps({"path": "c.ipynb", "name": "c"})).json
    assert (moved["path"], moved["name"], moved["kernel"]["id"]) == (
        "c.ipynb", "c", one["kernel"]["id"])
    other = ask(server, "PATCH", path, json.dumps({"kernel": {"name": "bash"}})).json
    assert other["id"] == one["id"] and other["kernel"]["name"] == "bash"
    assert ask(server, "GET", f"/kernels/{one['kernel']['id']}").status == 404
    assert ask(server, "GET", path).json == other
    # A session of an existing kernel ends with the kernel.
    alone = start(server)
    three = post("d.ipynb", {"id": alone})
    assert three["kernel"]["id"] == alone
    assert ask(server, "DELETE", f"/kernels/{alone}").status == 204
    assert ask(server, "GET", f"/sessions/{three['id']}").status == 404
    for session in (one, two):
        assert ask(server, "DELETE", f"/sessions/{session['id']}").status == 204
        assert ask(server, "DELETE", f"/sessions/{session['id']}").status == 404
    assert ask(server, "GET", "/sessions").json == ask(server, "GET", "/kernels").json == []
    for body in ("[]", "{", '{"type": "notebook"}'):
        assert ask(server, "POST", "/sessions", body).status == 400
    for body in ('{"path": "e", "kernel": {"name": "cobol"}}', json.dumps(
            {"path": "e", "kernel": {"id": str(uuid.uuid4())}})):
        assert ask(server, "POST", "/sessions", body).status == 404


def test_contents(server):
    def contents(method, path="", body=None, status=200):
        answer = ask(server, method, f"/contents{path}", body if body is None else json.dumps(body))
        assert answer.status == status, answer
        return answer.json if answer.body else None

    keys = {"name", "path", "type", "created", "last_modified", "mimetype", "content", "format",
            "size", "writable", "hash", "hash_algorithm"}
    assert contents("GET")["content"] == []
    assert not server.ask("GET", "/sessions").json["sessions"]  # nothing was written yet
    contents("GET", "/a.txt", status=404)
    made = contents("POST", "", {"type": "notebook"}, 201)
    assert set(made) == keys and made["path"] == "Untitled.ipynb" and made["type"] == "notebook"
    assert contents("POST", "", {"type": "notebook"}, 201)["path"] == "Untitled1.ipynb"
    assert contents("POST", "", {"type": "file"}, 201)["path"] == "untitled.txt"
    assert contents("POST", "", {"type": "file", "ext": ".py"}, 201)["path"] == "untitled.py"
    assert contents("POST", "", {"type": "directory"}, 201)["path"] == "Untitled Folder"
    inner = contents("POST", "/Untitled%20Folder", {"type": "file"}, 201)
    assert inner["path"] == "Untitled Folder/untitled.txt"
    contents("POST", "/nowhere", {"type": "file"}, 404)
    contents("POST", "", {"type": "file", "ext": "/../x"}, 400)
    # The hash is that of the file's bytes, with content=0, too.
    for name, content in (("hash.txt", "süß\n"), ("hash.ipynb", '{"cells": [], "metadata": {}}')):
        contents("PUT", f"/{name}", {"type": "file", "format": "text", "content": content}, 201)
        sha256 = hashlib.sha256(content.encode()).hexdigest()
        for query, known in (("?hash=1", True), ("?hash=1&content=0", True), ("", False), ("?hash=0", False)):
            shown = contents("GET", f"/{name}{query}")
            assert set(shown) == keys and (shown["content"] is None) == ("content=0" in query)
            assert (shown["hash"], shown["hash_algorithm"]) == (
                (sha256, "sha256") if known else (None, None))
        contents("DELETE", f"/{name}", status=204)
    assert contents("GET", "?hash=1")["hash"] is None
    # A notebook is JSON and comes back unchanged.
    notebook = {"cells": [], "metadata": {"ä": [1, 2.5, None]}, "nbformat": 4, "nbformat_minor": 5}
    saved = contents("PUT", "/Untitled.ipynb", {"type": "notebook", "format": "json",
                                                "content": notebook})
    assert set(saved) == keys and saved["content"] is None
    read = contents("GET", "/Untitled.ipynb?content=1&type=notebook&1795415449341")
    assert read["content"] == notebook and read["format"] == "json" and set(read) == keys
    assert contents("GET", "/Untitled.ipynb?content=0")["content"] is None
    assert json.loads(contents("GET", "/Untitled.ipynb?type=file")["content"]) == notebook
    # Text and bytes, small and in pieces.
    contents("PUT", "/a/b/c.txt", {"type": "file", "format": "text", "content": "süß"}, 201)
    read = contents("GET", "/a/b/c.txt")
    assert (read["content"], read["format"], read["size"]) == ("süß", "text", 5)
    data = bytes(range(256)) * 100
    for chunk, piece in ((1, data[:10000]), (2, data[10000:20000]), (-1, data[20000:])):
        ask(server, "PUT", "/contents/bytes.bin", json.dumps({
            "type": "file", "format": "base64", "chunk": chunk,
            "content": base64.b64encode(piece).decode()}))
    read = contents("GET", "/bytes.bin")
    assert read["format"] == "base64" and base64.b64decode(read["content"]) == data
    assert contents("GET", "/bytes.bin?format=text", status=400)["reason"] == "bad type"
    answer = ask(server, "GET", "/jupyter/files/bytes.bin?download=1")
    assert answer.body == data and answer.headers["Content-Disposition"] == "attachment"
    # Folders.
    folder = contents("GET", "/a")
    assert (folder["type"], folder["format"]) == ("directory", "json")
    [entry] = folder["content"]
    assert (entry["path"], entry["type"], set(entry)) == ("a/b", "directory", keys)
    names = {each["name"] for each in contents("GET")["content"]}
    assert names == {"Untitled.ipynb", "Untitled1.ipynb", "untitled.txt", "untitled.py",
                     "Untitled Folder", "a", "bytes.bin"}
    assert contents("GET", "/a?type=file", status=400)["reason"] == "bad type"
    assert contents("GET", "/a/b/c.txt?type=directory", status=400)["reason"] == "bad type"
    assert contents("PUT", "/new", {"type": "directory"}, 201)["type"] == "directory"
    # Copies, renames and deletion.
    assert contents("POST", "", {"copy_from": "/a/b/c.txt"}, 201)["path"] == "c-Copy1.txt"
    assert contents("POST", "/a", {"copy_from": "a/b/c.txt"}, 201)["path"] == "a/c-Copy1.txt"
    assert contents("PATCH", "/c-Copy1.txt", {"path": "d.txt"})["path"] == "d.txt"
    assert "exists" in contents("PATCH", "/d.txt", {"path": "a/b/c.txt"}, 409)["message"]
    contents("PATCH", "/nothing", {"path": "e"}, 404)
    contents("DELETE", "/a", status=204)
    contents("DELETE", "/a", status=404)
    # Invalid contents, and paths that lead out of the folder.
    for model in ({}, {"type": "file", "format": "text"},
                  {"type": "file", "format": "base64", "content": "?"},
                  {"type": "notebook", "format": "json", "content": "text"}):
        contents("PUT", "/bad", model, 400)
    contents("PUT", "/no.ipynb", {"type": "file", "format": "text", "content": "[1"}, 201)
    assert contents("GET", "/no.ipynb", status=400)["reason"] == "bad type"
    for path in ("/../x", "/%2e%2e/x", "/a/../../x", "/x%00y", "/" + "x" * 5000):
        answer = ask(server, "GET", f"/contents{path}")
        assert answer.status in (400, 403, 404), (path, answer)
        answer = ask(server, "PUT", f"/contents{path}", json.dumps(
            {"type": "file", "format": "text", "content": "x"}))
        assert answer.status in (400, 403, 404), (path, answer)


def test_checkpoints(server):
    def put(text):
        assert ask(server, "PUT", "/contents/d/a.txt", json.dumps(
            {"type": "file", "format": "text", "content": text})).status in (200, 201)

    place = "/contents/d/a.txt/checkpoints"
    put("one")
    assert ask(server, "GET", place).json == []
    answer = ask(server, "POST", place)
    assert answer.status == 201 and answer.json["id"] == "checkpoint"
    assert [each["id"] for each in ask(server, "GET", place).json] == ["checkpoint"]
    put("two")
    assert ask(server, "POST", f"{place}/checkpoint").status == 204
    assert ask(server, "GET", "/contents/d/a.txt").json["content"] == "one"
    # The checkpoint is where Jupyter itself puts it, and is not listed.
    assert [each["name"] for each in ask(server, "GET", "/contents/d").json["content"]] == ["a.txt"]
    [home] = server.ask("GET", "/sessions?status=live").json["sessions"]
    stored = server.ask("GET", f"/sessions/{home['id']}/files/d/.ipynb_checkpoints/a-checkpoint.txt")
    assert stored.body == b"one" and home["name"] == "jupyter"
    assert ask(server, "DELETE", f"{place}/checkpoint").status == 204
    assert ask(server, "POST", f"{place}/checkpoint").status == 404
    assert ask(server, "POST", f"{place}/other").status == 404
    assert ask(server, "POST", "/contents/nothing/checkpoints").status == 404


def test_terminals(server):
    def connect(name):
        return websocket.create_connection(
            f"ws://127.0.0.1:{server.port}/jupyter/terminals/websocket/{name}?token={server.key}",
            timeout=SECONDS)

    def until(socket, word):
        text = ""
        while word not in text:
            kind, *rest = json.loads(socket.recv())
            if kind == "stdout":
                text += rest[0]
            else:
                assert kind == "setup"
        return text

    assert ask(server, "GET", "/terminals").json == []
    answer = ask(server, "POST", "/terminals")
    assert answer.status == 200 and set(answer.json) == {"name", "last_activity"}
    name = answer.json["name"]
    assert ask(server, "GET", "/terminals").json == [answer.json]
    assert ask(server, "GET", f"/terminals/{name}").json == answer.json
    socket = connect(name)
    assert json.loads(socket.recv()) == ["setup", {}]
    socket.send(json.dumps(["set_size", 31, 97, 0, 0]))
    for text in ("", "{", "[]", '["stdin"]', '["stdin", 1]', '["set_size"]', '["set_size", -1, 1]',
                 '{"a": 1}'):
        socket.send(text)
    socket.send(json.dumps(["stdin", "stty size; printf 'gr\\303\\274n\\377.\\n'\r"]))
    assert "31 97" in until(socket, "grün\ufffd.")
    # A second connection gets the earlier output.
    again = connect(name)
    until(again, "31 97")
    socket.send(json.dumps(["stdin", "exit\r"]))
    for each in (socket, again):
        while json.loads(each.recv())[0] != "disconnect":
            pass
        each.close()
    assert ask(server, "GET", "/terminals").json == []
    assert ask(server, "DELETE", f"/terminals/{name}").status == 404
    name = ask(server, "POST", "/terminals", "{}").json["name"]
    assert ask(server, "DELETE", f"/terminals/{name}").status == 204
    with pytest.raises(websocket.WebSocketBadStatusException):
        connect("nothing")


# ---- the WebSocket --------------------------------------------------------------------------

@pytest.mark.parametrize("is_v1", [False, True])
def test_cells(server, is_v1):
    with kernel(server, is_v1) as (_, channels):
        assert channels.run("x = 6")[-1] == ("execute_reply", {
            "status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []})
        seen = channels.run("print('süß'); x * 7")
        assert [kind for kind, _ in seen] == ["execute_input", "stream", "execute_result",
                                              "execute_reply"]
        assert seen[1][1] == {"name": "stdout", "text": "süß\n"}
        assert seen[2][1]["data"] == {"text/plain": "42"}
        seen = channels.run("1 / 0")
        assert [kind for kind, _ in seen] == ["execute_input", "error", "execute_reply"]
        assert seen[1][1]["ename"] == seen[2][1]["ename"] == "ZeroDivisionError"
        assert [kind for kind, _ in channels.run("x", silent=True)] == ["execute_reply"]
        assert channels.run("")[-1][1]["execution_count"] == 3
        seen = channels.run("from IPython.display import display\n"
                            "h = display(1, display_id=True); h.update(2)")
        assert [kind for kind, _ in seen[1:3]] == ["display_data", "update_display_data"]
        # Summaries for models are not sent, because no Jupyter client knows them.
        seen = channels.run("list(range(100000))")
        assert set(seen[1][1]["data"]) == {"text/plain"}


def test_a_dead_kernel_and_an_interrupted_cell(server):
    with kernel(server) as (own, channels):
        seen = channels.run("import os; os._exit(3)")
        assert [kind for kind, _ in seen[1:]] == ["error", "execute_reply"]
        assert seen[-1][1]["status"] == "error"
        # The states that Jupyter's own restarter reports, after all messages of the cell.
        for state in ("restarting", "starting"):
            message = channels.receive()
            assert (message["msg_type"], message["content"]) == ("status", {"execution_state": state})
            assert message["parent_header"] == {} and message["channel"] == "iopub"
        assert channels.run("6 * 7")[1][1]["data"]["text/plain"] == "42"
        header = channels.send("execute_request", {"code": "print(1, flush=True)\n"
                                                           "import time; time.sleep(600)"})
        later = channels.send("execute_request", {"code": "never = 1"})
        while channels.receive()["msg_type"] != "stream":
            pass
        # While the cell runs.
        info = channels.request("kernel_info_request", {}, "control")
        assert info[0][1]["language_info"]["name"] == "python"
        assert re.fullmatch(r"3\.\d+(\.\d+)?", info[0][1]["language_info"]["version"])
        assert ask(server, "GET", f"/kernels/{own}").json["execution_state"] == "busy"
        channels.send("interrupt_request", {}, "control")
        kinds, aborted = {}, []
        while not aborted:
            message = channels.receive()
            if message["msg_type"] == "execute_reply":
                kinds[message["parent_header"]["msg_id"]] = message["content"]
            if message["parent_header"] == later and message["content"].get(
                    "execution_state") == "idle":
                aborted.append(message)
        assert kinds[header["msg_id"]]["ename"] == "KeyboardInterrupt"
        assert kinds[later["msg_id"]]["status"] == "aborted"
        assert channels.run("never")[-1][1]["ename"] == "NameError"


def test_a_cell_after_an_error_runs(server):
    """A client that has read the error need not wait for the end of the cell."""
    with kernel(server) as (_, channels):
        channels.send("execute_request", {"code": "1 / 0"})
        while channels.receive()["msg_type"] != "error":
            pass
        assert channels.run("6 * 7")[1][1]["data"]["text/plain"] == "42"


def test_completion_inspection_and_comms(server):
    with kernel(server) as (_, channels):
        channels.run("äöü = 1; number_of_things = 2")
        [(kind, found)] = channels.request("complete_request", {"code": "äöü + numb",
                                                                "cursor_pos": 10})
        assert kind == "complete_reply" and "number_of_things" in found["matches"]
        assert (found["cursor_start"], found["cursor_end"]) == (6, 10)
        [(kind, found)] = channels.request("inspect_request", {"code": "len", "cursor_pos": 3})
        assert found["found"] and "text/plain" in found["data"]
        assert channels.request("comm_info_request", {})[0][1]["comms"] == {}
        assert channels.request("nothing_request", {}) == []
        [_, (kind, closed)] = channels.request("comm_open", {"comm_id": "c", "target_name": "t",
                                                             "data": {}})
        assert (kind, closed["comm_id"]) == ("comm_close", "c")


@pytest.mark.parametrize("is_v1", [False, True])
def test_input(server, is_v1):
    with kernel(server, is_v1) as (_, channels):
        def until(kind):
            while (message := channels.receive())["msg_type"] != kind:
                pass
            return message

        header = channels.send("execute_request", {
            "code": "import getpass\ninput('? ') + getpass.getpass('! ')", "allow_stdin": True})
        for prompt, password, answer in (("? ", False, "sü"), ("! ", True, "ß")):
            request = until("input_request")
            assert request["channel"] == "stdin" and request["parent_header"] == header
            assert request["content"] == {"prompt": prompt, "password": password}
            channels.send("input_reply", {"value": answer}, "stdin")
        assert until("execute_result")["content"]["data"]["text/plain"] == "'süß'"
        assert until("execute_reply")["content"]["status"] == "ok"
        # A reply without a request, an interrupted request, and a reply that is too long.
        channels.send("input_reply", {"value": "x"}, "stdin")
        header = channels.send("execute_request", {"code": "input()", "allow_stdin": True})
        until("input_request")
        channels.send("interrupt_request", {}, "control")
        assert until("execute_reply")["content"]["ename"] == "KeyboardInterrupt"
        channels.send("execute_request", {"code": "input()", "allow_stdin": True})
        until("input_request")
        channels.send("input_reply", {"value": "x" * 70000}, "stdin")
        assert until("execute_reply")["content"]["ename"] == "EOFError"
        assert channels.run("input()", allow_stdin=False)[-1][1]["status"] == "error"


def test_messages_too_large_for_json_clients_are_left_out(server):
    """Python's websockets accepts at most 1 MiB; clients of the binary format have no such limit."""
    big = "from IPython.display import HTML; HTML('x' * 2000000)"
    with kernel(server) as (_, channels):
        seen = channels.run(big)
        assert [kind for kind, _ in seen] == ["execute_input", "stream", "execute_reply"]
        assert "left out" in seen[1][1]["text"]
        seen = channels.run("for i in range(4): print('y' * 900000)")
        assert sum(len(each["text"]) for kind, each in seen if kind == "stream") > 900000
    with kernel(server, True) as (_, channels):
        assert len(channels.run(big)[1][1]["data"]["text/html"]) == 2000000


def test_garbage_is_dropped(server):
    with kernel(server) as (_, channels):
        for text in ("", "{", "[]", "{}", '{"header": {}}', '{"header": {"msg_type": 1}}',
                     '{"channel": 1, "header": {"msg_type": "x"}}', "[" * 100000):
            channels.socket.send(text)
        channels.socket.send_binary(b"\0" * 5)
        assert channels.run("1")[-1][1]["status"] == "ok"
    with kernel(server, True) as (_, channels):
        good = struct.pack("<7Q", 6, 56, 56, 56, 56, 56, 56)
        for data in (b"", b"\xff" * 100, good, struct.pack("<Q", 1 << 60), good[:30],
                     struct.pack("<7Q", 6, 56, 1 << 63, 56, 56, 56, 56)):
            channels.socket.send_binary(data)
        header = channels.send("execute_request", {"code": "1"}, buffers=[b"\xff\xfe"])
        assert channels.until_idle(header)[-1][1]["status"] == "ok"


def test_too_many_messages_end_the_connection(server):
    with kernel(server) as (_, channels):
        channels.send("execute_request", {"code": "import time; time.sleep(600)"})
        for _ in range(300):
            with contextlib.suppress(OSError):
                channels.send("execute_request", {"code": "1"})
        with pytest.raises((websocket.WebSocketException, OSError)):
            while True:
                opcode, data = channels.socket.recv_data()
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    assert struct.unpack("!H", data[:2]) == (1009,)
                    raise websocket.WebSocketConnectionClosedException


def test_a_shutdown_over_the_channel_ends_the_kernel(server):
    with kernel(server) as (own, channels):
        channels.request("shutdown_request", {"restart": False}, "control")
        assert ask(server, "GET", f"/kernels/{own}").status == 404


def test_a_cell_continues_without_its_connection(server):
    with kernel(server) as (own, channels):
        channels.send("execute_request", {"code": "print(1, flush=True)\nimport time\n"
                                                  "time.sleep(1); x = 42"})
        while channels.receive()["msg_type"] != "stream":
            pass
        channels.close()
        again = Channels(server, own)
        assert again.run("x")[1][1]["data"]["text/plain"] == "42"
        again.close()


# ---- clients --------------------------------------------------------------------------------

def test_the_requests_of_open_webui(server):
    """A kernel for each execution; the token in the query; an empty body of any type."""
    base, token = f"http://127.0.0.1:{server.port}/jupyter/", f"?token={server.key}"
    request = urllib.request.Request(base + "api/kernels" + token, b"", method="POST",
                                     headers={"Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        own = json.load(answer)["id"]
    socket = websocket.create_connection(
        f"ws://127.0.0.1:{server.port}{API}/kernels/{own}/channels{token}", timeout=SECONDS,
        header=["Sec-WebSocket-Extensions: permessage-deflate"])
    socket.send(json.dumps({
        "header": {"msg_id": "m", "msg_type": "execute_request", "username": "user",
                   "session": "s", "date": "", "version": "5.3"},
        "parent_header": {}, "metadata": {}, "content": {
            "code": "print(6 * 7)",
            "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
            "stop_on_error": True}, "channel": "shell"}))
    out = ""
    while True:
        message = json.loads(socket.recv())
        if message["parent_header"].get("msg_id") != "m":
            continue
        if message["msg_type"] == "stream":
            out += message["content"]["text"]
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    assert out == "42\n"
    # DELETE works while a cell runs, too.
    socket.send(json.dumps({"header": {"msg_id": "n", "msg_type": "execute_request"},
                            "content": {"code": "while True: pass"}, "channel": "shell"}))
    request = urllib.request.Request(base + f"api/kernels/{own}" + token, method="DELETE")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        assert answer.status == 204
    socket.close()


def use(client):
    assert client.execute("x = 6; x * 7")["outputs"][0]["data"]["text/plain"] == "42"
    done = client.execute("print(1)\n1 / 0")
    assert [each["output_type"] for each in done["outputs"]] == ["stream", "error"]
    client.interrupt()
    client.restart()
    assert client.execute("x")["outputs"][0]["ename"] == "NameError"


def test_jupyter_kernel_client(server):
    with jupyter_kernel_client.JupyterKernelClient(
            server_url=f"http://127.0.0.1:{server.port}/jupyter", token=server.key) as client:
        use(client)
    assert ask(server, "GET", "/kernels").json == []


def free_port():
    """A free port below the range for outgoing connections, which another test could use in the meantime."""
    for port in random.sample(range(20000, 32000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def test_a_gateway(server, reckon):
    """Jupyter's own server as a client, with kernels of the daemon."""
    port = free_port()
    gateway = subprocess.Popen(
        [f"{JUPYTER}/bin/jupyter", "server", "--allow-root", "--no-browser", f"--port={port}",
         "--ServerApp.token=local", f"--ServerApp.root_dir={reckon.cwd}", "--ServerApp.port_retries=0",
         f"--gateway-url=http://127.0.0.1:{server.port}/jupyter",
         f"--GatewayClient.auth_token={server.key}"], env={**os.environ, "HOME": str(reckon.work)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + SECONDS
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=SECONDS).close()
                break
            except OSError:
                assert time.monotonic() < end and gateway.poll() is None
                time.sleep(0.1)
        with jupyter_kernel_client.JupyterKernelClient(
                server_url=f"http://127.0.0.1:{port}", token="local") as client:
            use(client)
    finally:
        gateway.terminate()
        gateway.wait(SECONDS)


def run_client(name, *words):
    """Runs a client of test/support/jupyter_clients.py and returns its results."""
    done = subprocess.run([CLIENTS / "bin/python", ROOT / "test/support/jupyter_clients.py", name,
                           *map(str, words)], capture_output=True, text=True, timeout=2 * SECONDS,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["ag2", "autogen_ext"])
def test_autogen(server, name, tmp_path):
    found = run_client(name, server.port, server.key, tmp_path)
    (status, text, files) = found[0]
    assert (status, text.split(), files) == (0, ["42", "6"], [])
    assert found[1][0] != 0 and "ZeroDivisionError" in found[1][1]
    assert (found[2][0], found[2][2]) == (0, [".png"]), found[2]
    assert "{" not in found[2][1]  # a media type other than text or an image would be shown to the model as JSON
    if name == "ag2":  # ag2 restarts the kernel
        assert "NameError" in found[3][1]
    assert ask(server, "GET", "/kernels").json == []


def test_open_webui(server):
    good, bad, plot, fresh, stranger, by_password, mistaken = run_client("open_webui", server.port, server.key, "-")
    assert good == {"stdout": "süß", "stderr": "e", "result": "42"}
    assert "ZeroDivisionError" in bad["stderr"] and "\x1b" not in bad["stderr"]
    assert plot["result"].startswith("data:image/png;base64,")
    assert "NameError" in fresh["stderr"]  # a kernel for each execution
    assert "403" in stranger["stderr"]
    assert by_password["result"] == "42", by_password
    assert "401" in mistaken["stderr"]
    assert ask(server, "GET", "/kernels").json == []
