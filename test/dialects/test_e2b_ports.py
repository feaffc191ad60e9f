"""Ports of a sandbox, reached by the headers that E2B's proxy accepts and by host names."""
import base64
import hashlib
import os
import socket

import pytest
from reckon_serve import SECONDS
from waiting import eventually

pytestmark = pytest.mark.one_user  # nothing in a protocol depends on the user

PROGRAM = """
import base64, hashlib, http.server, json

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.headers["Upgrade"] == "websocket":
            text = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(text.encode()).digest()).decode())
            self.end_headers()
            head = self.rfile.read(2)
            mask, masked = self.rfile.read(4), self.rfile.read(head[1] & 127)
            said = bytes(byte ^ mask[i % 4] for i, byte in enumerate(masked))
            self.wfile.write(bytes([0x81, len(said) + 3]) + b"you" + said)
            self.close_connection = True
            return
        size = int(self.headers["Content-Length"] or 0)
        body = json.dumps({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                           "body": self.rfile.read(size).decode()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "a=b")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Handler).serve_forever()
"""


@pytest.fixture
def sandbox(server):
    made = server.sandbox()
    code = f"import subprocess\nopen('served.py', 'w').write({PROGRAM!r})\nsubprocess.Popen(['python3', 'served.py'])"
    assert server.data(made, 49999, "POST", "/execute", {"code": code})[0] == 200
    eventually(lambda: server.data(made, 3000, "GET", "/")[0] != 502)
    return made


def test_requests_reach_the_program_without_keys(server, sandbox):
    token = sandbox["trafficAccessToken"]
    for headers in ({"E2b-Traffic-Access-Token": token}, {"X-Access-Token": token}):
        status, answered, seen = server.data(sandbox, 3000, "POST", "/sandboxes/x?a=1", b"sent", token=False,
                                             **headers, Authorization="Bearer mine", Cookie="own=1; reckon_port=no")
        assert (status, seen["path"], seen["body"]) == (200, "/sandboxes/x?a=1", "sent")
        assert seen["headers"]["authorization"] == "Bearer mine" and seen["headers"]["cookie"] == "own=1"
        assert token not in str(seen) and not [name for name in seen["headers"] if name.startswith("e2b-")]
        # The program answers on the API's origin, so it may not set cookies there.
        assert answered["Set-Cookie"] is None
    host = {"Host": f"3000-{sandbox['sandboxID']}.localhost:{server.port}", "E2b-Traffic-Access-Token": token}
    status, _, seen = server.request("GET", "/by-name", headers=host)
    assert (status, seen["path"]) == (200, "/by-name") and token not in str(seen)


def test_a_websocket_passes(server, sandbox):
    key = base64.b64encode(os.urandom(16)).decode()
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as client:
        client.sendall(f"GET /ws HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {sandbox['sandboxID']}\r\n"
                       f"E2b-Sandbox-Port: 3000\r\nE2b-Traffic-Access-Token: {sandbox['trafficAccessToken']}\r\n"
                       f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                       f"Sec-WebSocket-Key: {key}\r\n\r\n".encode())
        mask = os.urandom(4)
        client.sendall(bytes([0x81, 0x80 | 2]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(b"hi")))
        seen = b""
        while not seen.endswith(b"youhi"):
            piece = client.recv(4096)
            assert piece, seen
            seen += piece
    expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
    assert seen.startswith(b"HTTP/1.1 101") and expected in seen


def test_errors_are_those_of_e2b_s_proxy(server, sandbox):
    status, _, error = server.data(sandbox, 3001, "GET", "/")
    assert (status, error["code"], error["port"], error["sandboxId"]) == (502, 502, 3001, sandbox["sandboxID"])
    assert error["message"].startswith("The sandbox is running but port is not open")
    assert server.data(sandbox, 3000, "GET", "/", token=False)[0] == 401
    assert server.data(sandbox, 3000, "GET", "/", token=False, **{"X-Access-Token": "st_" + "x" * 97})[0] == 401
    other = server.sandbox()
    mixed = sandbox | {"envdAccessToken": other["envdAccessToken"]}
    assert server.data(mixed, 3000, "GET", "/")[0] == 403
    for port in ("0", "65536", "x", "-1", "080", ""):
        assert server.data(sandbox, port, "GET", "/")[2]["code"] in (400, 404), port
    assert server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/pause")[0] == 204
    status, _, error = server.data(sandbox, 3000, "GET", "/")
    assert (status, error["code"]) == (502, 502) and "paused" in error["message"]
    assert server.control("POST", f"/v2/sandboxes/{sandbox['sandboxID']}/connect", {})[0] == 201
    assert server.data(sandbox, 3000, "GET", "/again")[2]["path"] == "/again"
    assert server.control("DELETE", f"/sandboxes/{sandbox['sandboxID']}")[0] == 204
    status, _, error = server.data(sandbox, 3000, "GET", "/")
    assert (status, error["code"]) == (502, 502) and error["message"].startswith("The sandbox was not found")
