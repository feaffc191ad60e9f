"""Programs of a session that listen on ports, over HTTP: lists, links, pages, streams, tunnels."""
import http.client
import json
import re
import socket
import threading
import time

import pytest
from reckon_serve import SECONDS, Server

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def server(place):
    import tempfile

    from reckon_cli import Reckon
    reckon = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    with Server(reckon, "--allow-host", "reckon.example.com") as running:
        yield running
        assert running.ask("GET", "/health").status == 200
        assert "level=error" not in running.log()


SERVER = r'''
import http.server, threading, json, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        if self.path.startswith("/stream"):
            self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            for i in range(3):
                piece = b"piece %d\n" % i
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece)); self.wfile.flush(); gate.wait(60) if i == 0 else None
            self.wfile.write(b"0\r\n\r\n"); return
        if self.path.startswith("/big"):
            n = int(self.path.split("=")[1]); self.send_response(200)
            self.send_header("Content-Length", str(n)); self.end_headers()
            block = bytes(range(256)) * 256
            while n > 0: self.wfile.write(block[:n]); n -= len(block)
            return
        if self.path == "/go": gate.set()
        if self.path == "/away": return self.answer(b"", 302, [("Location", "/there?x=1")])
        if self.path == "/cookies":
            return self.answer(b"", 200, [("Set-Cookie", "a=1"), ("Set-Cookie", "reckon_port=stolen"),
                ("Set-Cookie", "b=2; Domain=localhost"), ("Strict-Transport-Security", "max-age=9")])
        self.answer(json.dumps({"path": self.path, "method": self.command,
            "headers": [[k.lower(), v] for k, v in self.headers.items()]}).encode())
    do_DELETE = do_OPTIONS = do_PATCH = do_GET
    def do_HEAD(self): self.answer(b"x" * 10)
    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while True:
                n = int(self.rfile.readline(), 16); body += self.rfile.read(n); self.rfile.readline()
                if n == 0: break
        else: body = self.rfile.read(int(self.headers["Content-Length"]))
        import hashlib
        self.answer(json.dumps({"length": len(body), "sha": hashlib.sha256(body).hexdigest(),
            "headers": [[k.lower(), v] for k, v in self.headers.items()]}).encode())
    do_PUT = do_POST
    def answer(self, body, status=200, more=()):
        self.send_response(status); self.send_header("Content-Type", "application/json")
        for pair in more: self.send_header(*pair)
        self.send_header("Content-Length", str(len(body))); self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)
class Threads(http.server.ThreadingHTTPServer):
    request_queue_size = 128
gate = threading.Event()
httpd = Threads(("127.0.0.1", 8000), Handler)
threading.Thread(target=httpd.serve_forever, daemon=True).start()
'''

# `raw()` sends the same bytes to each connection.
RAW = r'''
import socket, threading, time
def raw(port, *pieces, reads=True, hold=False):
    server = socket.create_server(("127.0.0.1", port), backlog=64)
    def serve():
        while True:
            c, _ = server.accept()
            threading.Thread(target=one, args=(c,), daemon=True).start()
    def one(c):
        try:
            if reads: c.recv(65536)
            for piece in pieces: c.sendall(piece)
            if hold: time.sleep(3600)
        except OSError: pass
        c.close()
    threading.Thread(target=serve, daemon=True).start()
'''


@pytest.fixture
def pages(server, session):
    server.execute(session, SERVER)
    return f"/sessions/{session}/ports/8000"


def label(session, port=8000):
    return f"{port}-{session[3:].lower()}"


def by_host(server, session, path="/", port=8000, method="GET", body=None, host=None, **headers):
    """One request with the port's own host name."""
    connection = server.connect()
    try:
        connection.request(method, path, body, {
            "Host": host or f"{label(session, port)}.localhost:{server.port}",
            **{name.replace("_", "-"): value for name, value in headers.items()}})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def link(server, session, port=8000, **more):
    answer = server.ask("POST", f"/sessions/{session}/links", {"port": port, **more})
    assert answer.status == 201, answer
    return answer.json


def cookie_of(server, session, port=8000):
    """Follow a link as a browser does: two redirects, and a cookie."""
    connection = server.connect()
    connection.request("GET", link(server, session, port)["url"] + "page?q=1")
    first = connection.getresponse()
    first.read()
    assert first.status == 303
    where = re.fullmatch(r"//([^/]+)(/page\?reckon_link=[\w-]+&q=1)", first.headers["Location"])
    assert where[1] == f"{label(session, port)}.localhost:{server.port}"
    second, _ = by_host(server, session, where[2], port)
    assert (second.status, second.headers["Location"]) == (303, "/page?q=1")
    cookie = second.headers["Set-Cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax")
    return cookie.split(";")[0]


# ---- lists and closed ports ---------------------------------------------------------------------


def test_ports_are_listed(server, session):
    assert server.ask("GET", f"/sessions/{session}/ports").json == {"ports": []}
    server.execute(session, RAW + "raw(9000); raw(8100)\n"
                   "held = socket.create_server(('127.0.0.2', 8200))")
    assert server.ask("GET", f"/sessions/{session}/ports").json == {"ports": [
        {"port": 8100, "address": "127.0.0.1", "reachable": True},
        {"port": 8200, "address": "127.0.0.2", "reachable": False},
        {"port": 9000, "address": "127.0.0.1", "reachable": True}]}
    answer = server.ask("GET", f"/sessions/{session}/ports/8200/")
    assert (answer.status, answer.code) == (502, "port_closed")


@pytest.mark.parametrize("port", ["0", "65536", "99999999999", "08000", "http", "80a", "-1", "%38"])
def test_invalid_ports(server, session, port):
    answer = server.ask("GET", f"/sessions/{session}/ports/{port}/")
    assert (answer.status, answer.code) == (400, "invalid")
    if port.isdigit():
        response, body = by_host(server, session, port=port, X_Reckon_Key=server.key)
        assert (response.status, json.loads(body)["error"]["code"]) == (400, "invalid")


def test_a_closed_port_and_an_unknown_session(server, session):
    answer = server.ask("GET", f"/sessions/{session}/ports/8000/")
    assert (answer.status, answer.code) == (502, "port_closed")
    assert "listens" in answer.json["error"]["remedy"]
    answer = server.ask("GET", f"/sessions/se_{'0' * 26}/ports/8000/")
    assert (answer.status, answer.code) == (404, "session_not_found")
    answer = server.ask("GET", "/sessions/nonsense/ports/8000/")
    assert (answer.status, answer.code) == (404, "session_not_found")


# ---- by path ------------------------------------------------------------------------------------


def test_a_page_by_path(server, pages, session):
    answer = server.ask("GET", f"{pages}/some/page%20x?a=1&b=%2F", headers={
        "X-Own": "kept", "Cookie": "console=secret", "X-Forwarded-For": "1.2.3.4",
        "Connection": "keep-alive, X-Drop", "X-Drop": "1"})
    assert answer.status == 200
    assert answer.json["path"] == "/some/page%20x?a=1&b=%2F"
    sent = dict(answer.json["headers"])
    assert sent["host"] == "localhost:8000"
    assert sent["x-own"] == "kept"
    assert sent["x-forwarded-prefix"] == f"/reckon/v1{pages}"
    assert sent["x-forwarded-host"] == f"127.0.0.1:{server.port}"
    # The program gets neither our credentials nor what a proxy must not pass on.
    assert not {"authorization", "cookie", "x-forwarded-for", "x-drop"} & set(sent)
    assert server.key not in answer.body.decode()
    # A page that a browser shows from this path has no origin.
    assert answer.headers.get_all("Content-Security-Policy") == ["sandbox"]


def test_no_cookies_on_the_api_origin(server, pages):
    answer = server.ask("GET", f"{pages}/cookies")
    assert answer.status == 200
    assert "Set-Cookie" not in answer.headers
    answer = server.ask("GET", f"{pages}/away")
    assert answer.headers["Location"] == f"/reckon/v1{pages}/there?x=1"


def test_the_program_has_its_own_authorization(server, pages):
    answer = server.ask("GET", f"{pages}/", key=False, headers={
        "X-Reckon-Key": server.key, "Authorization": "Bearer of-the-program"})
    sent = dict(answer.json["headers"])
    assert sent["authorization"] == "Bearer of-the-program"
    assert "x-reckon-key" not in sent


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "PATCH"])
def test_methods(server, pages, method):
    assert server.ask(method, f"{pages}/x").json["method"] == method


def test_bodies_both_ways(server, pages):
    import hashlib
    body = bytes(range(256)) * 20000
    want = {"length": len(body), "sha": hashlib.sha256(body).hexdigest()}
    answer = server.ask("POST", f"{pages}/x", body).json
    assert {key: answer[key] for key in want} == want
    pieces = [body[at:at + 77777] for at in range(0, len(body), 77777)]
    connection = server.connect()
    connection.request("PUT", f"/reckon/v1{pages}/x", iter(pieces), server.headers(),
                       encode_chunked=True)
    answer = json.loads(connection.getresponse().read())
    assert {key: answer[key] for key in want} == want
    assert dict(answer["headers"])["transfer-encoding"] == "chunked"


def test_a_large_answer_and_the_next_request(server, pages):
    size = 40 << 20
    connection = server.connect()
    for _ in range(2):  # on one connection of the client
        connection.request("GET", f"/reckon/v1{pages}/big?n={size}", headers=server.headers())
        response = connection.getresponse()
        assert response.headers["Content-Length"] == str(size)
        body = response.read()
        assert body == (bytes(range(256)) * (size // 256 + 1))[:size]
    connection.request("GET", "/reckon/v1/health")
    assert connection.getresponse().status == 200


def test_head(server, pages):
    answer = server.ask("HEAD", f"{pages}/x")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "10", b"")


def test_a_response_is_streamed(server, pages):
    connection = server.connect()
    connection.request("GET", f"/reckon/v1{pages}/stream", headers=server.headers())
    response = connection.getresponse()
    assert response.read(8) == b"piece 0\n"  # the program waits for the next request
    server.ask("GET", f"{pages}/go")
    assert response.read() == b"piece 1\npiece 2\n"


def test_a_program_that_answers_before_it_has_read(server, session):
    server.execute(session, RAW + 'raw(8000, b"HTTP/1.1 413 Too Large\\r\\nContent-Length: 4\\r\\n\\r\\n'
                   'nono", reads=False, hold=True)')
    sock = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    sock.sendall(f"POST /reckon/v1/sessions/{session}/ports/8000/ HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.key}\r\nContent-Length: 1000000000\r\n\r\n".encode())
    response = http.client.HTTPResponse(sock)
    response.begin()
    assert (response.status, response.read()) == (413, b"nono")
    assert response.headers["Connection"] == "close"


# ---- invalid responses of programs --------------------------------------------------------------


@pytest.mark.parametrize("pieces", [
    pytest.param('b"SSH-2.0-OpenSSH\\r\\n"', id="not-http"),
    pytest.param('b""', id="nothing"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\n"', id="half-a-head"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\n" + b"".join(b"X-%d: y\\r\\n" % i for i in range(200)) + '
                 'b"\\r\\n"', id="many-headers"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\nX: " + b"y" * 100000 + b"\\r\\n\\r\\n"', id="long-head"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\n", *[b"X: y\\r\\n" * 1000] * 10000', id="endless-head"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"'
                 ' b"0\\r\\n\\r\\n"', id="two-lengths"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: gzip\\r\\n\\r\\nxx"', id="encoding"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\nX: a\\r\\n b\\r\\n\\r\\n"', id="folded"),
    pytest.param('b"HTTP/1.1 200 OK\\r\\nX: a\\0b\\r\\n\\r\\n"', id="nul"),
    pytest.param('b"HTTP/1.1 200 OK\\nX: a\\n\\n"', id="bare-lines"),
    pytest.param('b"HTTP/1.1 101 Switching\\r\\nConnection: Upgrade\\r\\nUpgrade: x\\r\\n\\r\\nraw"',
                 id="switch"),
    pytest.param('b"HTTP/1.1 999 What\\r\\nContent-Length: 0\\r\\n\\r\\n"', id="status"),
    pytest.param('*[b"HTTP/1.1 100 Continue\\r\\n\\r\\n"] * 100000', id="interim-flood"),
    pytest.param('b"HTTP/2.0 200 OK\\r\\n\\r\\n"', id="version")])
def test_an_invalid_response_is_an_error(server, session, pieces):
    server.execute(session, RAW + f"raw(8000, {pieces})")
    answer = server.ask("GET", f"/sessions/{session}/ports/8000/")
    assert (answer.status, answer.code) == (502, "port_bad_answer")
    assert server.ask("GET", "/health").status == 200


def test_a_response_shorter_than_its_length(server, session):
    server.execute(session, RAW + 'raw(8000, b"HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nx")\n'
                   'raw(8001, b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nab")')
    for port in (8000, 8001):
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            server.ask("GET", f"/sessions/{session}/ports/{port}/")


def test_an_http_1_0_response_and_an_interim_one(server, session):
    server.execute(session, RAW + 'raw(8000, b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n'
                   'up to ", b"the end")\n'
                   'raw(8001, b"HTTP/1.1 103 Early\\r\\nLink: x\\r\\n\\r\\nHTTP/1.1 204 None\\r\\n\\r\\n")')
    answer = server.ask("GET", f"/sessions/{session}/ports/8000/")
    assert (answer.status, answer.body) == (200, b"up to the end")
    assert server.ask("GET", f"/sessions/{session}/ports/8001/").status == 204


def test_a_program_that_hangs(server, session):
    server.execute(session, RAW + "raw(8000, hold=True)\n"
                   "full = socket.socket(); full.bind(('127.0.0.1', 8001)); full.listen(0)")
    answer = server.ask("GET", f"/sessions/{session}/ports/8000/",
                        headers={"X-Reckon-Timeout": "1"})
    assert (answer.status, answer.code) == (504, "timeout")


def test_a_client_disconnects_from_a_port(server, session):
    server.execute(session, RAW + "raw(8000, hold=True)")
    sock = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    sock.sendall(f"GET /reckon/v1/sessions/{session}/ports/8000/ HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.key}\r\n\r\n".encode())
    count = ("import re\ntable = open('/proc/self/net/tcp').read()\n"
             "print(len(re.findall(r'^ *\\d+: 0100007F:1F40 \\S+ (0[148])', table, re.M)))")
    def connected():
        return int(server.execute(session, count)["stdout"])
    until = time.monotonic() + SECONDS
    while connected() != 1:
        assert time.monotonic() < until
    sock.close()


# ---- the port's own origin ----------------------------------------------------------------------


def test_a_link_opens_the_ports_own_origin(server, pages, session):
    cookie = cookie_of(server, session)
    response, body = by_host(server, session, "/reckon/v1/sessions?x=1", Cookie=f"z=1; {cookie}; y=2",
                             Authorization="Bearer of-the-program", X_Reckon="x")
    assert response.status == 200
    request = json.loads(body)
    assert request["path"] == "/reckon/v1/sessions?x=1"  # every path of this host belongs to the program
    sent = dict(request["headers"])
    assert sent["host"] == f"{label(session)}.localhost:{server.port}"
    assert sent["cookie"] == "z=1; y=2"
    assert sent["authorization"] == "Bearer of-the-program"
    assert response.headers["Content-Security-Policy"] is None
    response, _ = by_host(server, session, "/cookies", Cookie=cookie)
    assert response.headers.get_all("Set-Cookie") == ["a=1"]
    assert response.headers["Strict-Transport-Security"] is None


def test_a_key_in_a_header_is_enough(server, pages, session):
    response, body = by_host(server, session, "/x", X_Reckon_Key=server.key)
    assert response.status == 200
    assert server.key not in body.decode()
    response, body = by_host(server, session, "/x", X_Reckon_Key="rk_" + "x" * 43)
    assert response.status == 401


def test_access_needs_a_valid_key_or_cookie(server, pages, session):
    cookie = cookie_of(server, session)
    token = cookie.split("=")[1]
    for headers in ({}, {"Cookie": "reckon_port="}, {"Cookie": "reckon_port=a b;"},
                    {"Authorization": f"Bearer {server.key}"}):
        response, body = by_host(server, session, **headers)
        assert response.status == 401, body
    for wrong in (token[:-1] + ("A" if token[-1] != "A" else "B"), "lk_" + "0" * 69):
        response, body = by_host(server, session, Cookie=f"reckon_port={wrong}")
        assert response.status == 403, body
    other = server.create()
    response, body = by_host(server, other, Cookie=cookie)
    assert response.status == 403, body
    response, body = by_host(server, session, port=8001, Cookie=cookie)
    assert response.status == 403, body
    # The API accepts no cookie, and the token of a link to a port does not open a file.
    assert server.ask("GET", "/sessions", key=False, headers={"Cookie": cookie}).status == 401
    assert server.ask("GET", f"/links/{token}/x", key=False).status == 404


def test_requests_of_other_origins_are_refused(server, pages, session):
    cookie = cookie_of(server, session)
    own = f"http://{label(session)}.localhost:{server.port}"
    for origin, status in ((None, 200), (own, 200), ("null", 403), ("http://evil.example", 403),
                           (f"http://localhost:{server.port}", 403)):
        headers = {"Origin": origin} if origin else {}
        response, _ = by_host(server, session, method="POST", body=b"x", Cookie=cookie, **headers)
        assert response.status == status, origin
        response, _ = by_host(server, session, Cookie=cookie, Upgrade="websocket",
                              Connection="Upgrade", **headers)
        assert response.status == status, origin


def test_a_link_ends(server, pages, session):
    made = link(server, session)
    token = made["url"].split("/")[-2]
    assert by_host(server, session, Cookie=f"reckon_port={token}")[0].status == 200
    listed = server.ask("GET", f"/sessions/{session}/links").json["links"]
    assert [(each["name"], each["path"]) for each in listed] == [("8000", None)]
    assert server.ask("DELETE", f"/sessions/{session}/links/{made['id']}").status == 200
    response, body = by_host(server, session, Cookie=f"reckon_port={token}")
    assert (response.status, json.loads(body)["error"]["code"]) == (410, "link_gone")
    short = link(server, session, expires_in_s=1)["url"].split("/")[-2]
    until = time.monotonic() + SECONDS
    while by_host(server, session, Cookie=f"reckon_port={short}")[0].status == 200:
        assert time.monotonic() < until
        time.sleep(0.2)


def test_scopes(server, session):
    key = server.ask("POST", "/keys", {"name": "reader", "scopes": ["read", "files"]}).json["key"]
    headers = {"Authorization": f"Bearer {key}"}
    assert server.ask("GET", f"/sessions/{session}/ports", key=False, headers=headers).status == 200
    for method, path, body in (("GET", "ports/8000/", None), ("POST", "links", {"port": 8000})):
        answer = server.ask(method, f"/sessions/{session}/{path}", body, key=False, headers=headers)
        assert (answer.status, answer.code) == (403, "scope_missing")


@pytest.mark.parametrize("body", [{"port": 0}, {"port": 65536}, {"port": "8000"},
                                  {"port": 8000, "path": "x"}, {"port": 8000, "max_downloads": 2}])
def test_invalid_links(server, session, body):
    assert server.ask("POST", f"/sessions/{session}/links", body).status == 400


@pytest.mark.parametrize("path", ["x", "8000-x/abc/", "8000-" + "0" * 26, "8000-" + "0" * 26 + "/a b/",
                                  "8000-" + "0" * 26 + "/" + "a" * 200 + "/", "0-" + "0" * 26 + "/abc/"])
def test_urls_without_a_link(server, path):
    answer = server.ask("GET", f"/ports/{path.replace(' ', '%20')}", key=False)
    assert (answer.status, answer.code) == (404, "not_found")


def test_links_need_a_host_name(server, session):
    url = link(server, session)["url"]
    connection = server.connect()
    connection.request("GET", url, headers={"Host": "192.0.2.1:7263"})
    assert connection.getresponse().status == 400
    connection = server.connect()
    connection.request("GET", url, headers={"Host": "reckon.example.com"})
    where = connection.getresponse().headers["Location"]
    assert where.startswith(f"//{label(session)}.reckon.example.com/?reckon_link=")


# ---- tunnels ------------------------------------------------------------------------------------

ECHO = r'''
import socket, threading
echo_server = socket.create_server(("127.0.0.1", 8000), backlog=128)
def echo(c):
    with c:
        while data := c.recv(65536): c.sendall(data)
        c.sendall(b"bye")
def accept():
    while True: threading.Thread(target=echo, args=(echo_server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
'''


def tunnel(server, session, port=8000, ahead=b""):
    sock = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    sock.sendall(f"GET /reckon/v1/sessions/{session}/ports/{port} HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.key}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
                 .encode() + ahead)
    head = b""
    while b"\r\n\r\n" not in head:
        more = sock.recv(1)
        assert more, head
        head += more
    return sock, head.decode()


def read_all(sock):
    found = b""
    while more := sock.recv(1 << 20):
        found += more
    return found


def test_bytes_both_ways(server, session):
    server.execute(session, ECHO)
    sock, head = tunnel(server, session, ahead=b"sent ahead ")
    assert head.startswith("HTTP/1.1 101 ") and "\r\nUpgrade: tcp\r\n" in head
    body = bytes(range(256)) * 40000
    threading.Thread(target=lambda: (sock.sendall(body), sock.shutdown(socket.SHUT_WR))).start()
    assert read_all(sock) == b"sent ahead " + body + b"bye"


def test_a_hundred_at_once(server, session):
    server.execute(session, ECHO)
    socks = [tunnel(server, session)[0] for _ in range(100)]
    for number, sock in enumerate(socks):
        sock.sendall(b"%d" % number)
        sock.shutdown(socket.SHUT_WR)
    assert [read_all(sock) for sock in socks] == [b"%dbye" % number for number in range(100)]


def test_a_tunnel_to_a_closed_port(server, session):
    _, head = tunnel(server, session)
    assert head.startswith("HTTP/1.1 502 ")
    answer = server.ask("GET", f"/sessions/{session}/ports/8000")
    assert (answer.status, answer.code) == (404, "not_found")


def test_a_tunnel_ends_with_its_session(server):
    session = server.create()
    server.execute(session, ECHO)
    sock, _ = tunnel(server, session)
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"
    server.ask("DELETE", f"/sessions/{session}")
    assert sock.recv(1) == b""


def test_a_hundred_requests_at_once(server, pages):
    statuses = []

    def ask():
        statuses.append(server.ask("GET", f"{pages}/x").status)
    threads = [threading.Thread(target=ask) for _ in range(100)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert statuses == [200] * 100
