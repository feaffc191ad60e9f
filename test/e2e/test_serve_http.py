"""HTTP as hostile or broken clients speak it, against `reckon serve`."""

import contextlib
import json
import pathlib
import re
import socket
import time

import field_table
import pytest
from reckon_serve import Server, memory_kib, read_all

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

HEAD = b"GET /reckon/v1/health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def running(place, tmp_path_factory):
    """One server for the module: nothing that a client sends may spoil it for the next."""
    import tempfile

    from reckon_cli import Reckon
    reckon = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    with Server(reckon, "--header-timeout", "1", "--body-timeout", "1") as server:
        yield server
        assert server.ask("GET", "/health").status == 200
        assert "the front is gone" not in server.log()


def parse(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), body


def refused(server, data, *statuses):
    """The server responds once, with an error as JSON, and closes the connection."""
    status, headers, body = parse(server.raw(data))
    assert status in statuses, (status, body)
    assert headers["Connection"] == "close" and headers["Content-Type"] == "application/json"
    assert int(headers["Content-Length"]) == len(body), "nothing comes behind the first answer"
    assert set(json.loads(body)["error"]) == {"code", "message", "cause", "remedy"}


SMUGGLED = b"GET /reckon/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /reckon/v1/sessions HTTP/1.1\r\nHost: localhost\r\n"
KEYED = POST + b"Authorization: Bearer @KEY@\r\n"  # so that the body is read


@pytest.mark.parametrize("data", [
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef" + SMUGGLED,
    POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Content-Length: 5, 5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Content-Length: -5\r\n\r\n" + SMUGGLED,
    POST + b"Content-Length: +5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Content-Length: 0x5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Content-Length: 5 5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Content-Length:\r\n\r\n" + SMUGGLED,
    POST + b"Content-Length: 99999999999999999999\r\n\r\n" + SMUGGLED,
    POST + b"Content-Length : 5\r\n\r\nabcde" + SMUGGLED,
    POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nabcde\r\n0\r\n\r\n" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\n5\nabcde\n0\n\n" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc" + SMUGGLED,
    KEYED + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nHost: y\r\n\r\n" + SMUGGLED,
    b"POST /reckon/v1/sessions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"X: a\r\n b\r\n\r\n",
    HEAD + b"X:\r\n\tb\r\n\r\n",
    HEAD + b" X: a\r\n\r\n",
    HEAD.replace(b"\r\n", b"\n") + b"\n",
    HEAD + b"X: a\n\r\n",
    HEAD + b"X: a\rb\r\n\r\n",
    HEAD + b"X: a\0b\r\n\r\n",
    HEAD + b"X: a\x01b\r\n\r\n",
    HEAD + b"X\x01: a\r\n\r\n",
    HEAD + b"X: a\x7f\r\n\r\n",
    HEAD + b": a\r\n\r\n",
    HEAD + b"no colon\r\n\r\n",
    HEAD + b"Host: y\r\n\r\n",
    HEAD + b"Host: localhost\r\n\r\n",
    b"GET /reckon/v1/health HTTP/1.1\r\n\r\n",
    b"GET /reckon/v1/health HTTP/1.1\r\nHost:\r\n\r\n",
    b"GET /reckon/v1/health HTTP/1.1\r\nHost: a b\r\n\r\n",
    b"GET /reckon/v1/health HTTP/1.1\r\nHost: a/b\r\n\r\n",
    b"G\x01T /reckon/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"get /reckon/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://x/reckon/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /a\x80b HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT x:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /reckon/v1/health\r\n\r\n",
    b"GET /reckon/v1/health HTTP/1.2\r\nHost: localhost\r\n\r\n",
    b"GET /reckon/v1/health HTTP/2.0\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /reckon/v1/health HTTP/11\r\nHost: localhost\r\n\r\n",
    b"\r\n\r\n" + HEAD + b"\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    HEAD + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
])
def test_known_smuggling_requests_are_refused(running, data):
    refused(running, data.replace(b"@KEY@", running.key.encode()), 400, 501, 505)


def test_unusual_but_valid_requests(running):
    for data in (HEAD + b"Connection: close\r\n\r\n", b"\r\n" + HEAD + b"Connection: close\r\n\r\n",
                 b"GET /reckon/v1/health HTTP/1.0\r\n\r\n",
                 HEAD + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
                 HEAD + b"X:\r\nY: \xe9\r\nConnection: close\r\n\r\n",
                 HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"):
        status, headers, _ = parse(running.raw(data))
        assert status == 200 and headers["Connection"] == "close", data


def test_requests_sent_ahead_are_answered_in_order(running):
    count = 200
    with socket.create_connection(("127.0.0.1", running.port), 30) as sock:
        sock.sendall(b"".join(HEAD + b"\r\n" if n % 2 else
                              b"GET /reckon/v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
                              for n in range(count)) + HEAD + b"Connection: close\r\n\r\n")
        answer = read_all(sock)
    statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200" if n % 2 else b"404" for n in range(count)] + [b"200"]


def test_bytes_one_by_one(running):
    with socket.create_connection(("127.0.0.1", running.port), 30) as sock:
        for byte in HEAD + b"Connection: close\r\n\r\n":
            sock.send(bytes([byte]))
        assert parse(read_all(sock))[0] == 200


def test_a_head_that_is_too_large(running):
    refused(running, HEAD + b"X: " + b"a" * 20000 + b"\r\n\r\n", 431)
    refused(running, HEAD + b"X: a\r\n" * 100 + b"\r\n", 431)
    refused(running, b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431)


def test_a_body_that_is_too_large(running):
    key = f"Authorization: Bearer {running.key}\r\n".encode()
    refused(running, POST + key + b"Content-Length: 9000000\r\n\r\n", 413)
    chunks = b"".join(b"100000\r\n" + b"x" * 0x100000 + b"\r\n" for _ in range(9))
    with contextlib.suppress(ConnectionError):
        refused(running, POST + key + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, 413)
    refused(running, HEAD + b"Content-Length: 5\r\n\r\nabcde", 413)


def slowly(server, first, piece, pause):
    """Send a piece whenever the server is silent for `pause` seconds, until it closes; return its
    response."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 30) as sock:
        sock.sendall(first)
        sock.settimeout(pause)
        got = b""
        while time.monotonic() - begin < 30:
            try:
                part = sock.recv(65536)
            except TimeoutError:
                with contextlib.suppress(OSError):
                    sock.send(piece)
                continue
            except ConnectionError:
                break
            if not part:
                break
            got += part
    return got


def test_requests_of_one_connection_have_different_ids(running):
    connection = running.connect()
    try:
        ids = []
        for _ in range(3):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            ids.append(answer.headers["Reckon-Request-Id"])
        assert all(ids) and len(set(ids)) == 3, ids
    finally:
        connection.close()


def test_slow_loris(running):
    """A client that sends a little now and then does not keep a connection open for long."""
    assert parse(slowly(running, HEAD, b"X: a\r\n", 0.2))[0] == 408
    assert parse(slowly(running, b"G", b"E", 0.2))[0] in (400, 408)
    body = POST + f"Authorization: Bearer {running.key}\r\n".encode()
    assert parse(slowly(running, body + b"Content-Length: 5000\r\n\r\n", b"a", 0.2))[0] == 408
    chunked = body + b"Transfer-Encoding: chunked\r\n\r\n"
    assert parse(slowly(running, chunked, b"1\r\na\r\n", 0.2))[0] == 408
    assert parse(slowly(running, chunked + b"1;", b"x", 0.2))[0] == 408
    assert slowly(running, b"", b"", 0.2) == b"", "nothing asked, nothing said"


def test_continue(running):
    with socket.create_connection(("127.0.0.1", running.port), 30) as sock:
        sock.sendall(POST + b"Authorization: Bearer x\r\nExpect: 100-continue\r\n"
                            b"Content-Length: 100000\r\n\r\n")
        assert parse(sock.recv(65536))[0] == 401, "a body that nobody reads is not asked for"
    with socket.create_connection(("127.0.0.1", running.port), 30) as sock:
        sock.sendall(POST + f"Authorization: Bearer {running.key}\r\n".encode() +
                     b"Expect: 100-continue\r\nContent-Length: 9\r\nConnection: close\r\n\r\n")
        assert sock.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b'{"no": 1}')
        status, _, body = parse(read_all(sock))
    assert status == 400 and b"unknown field no" in body


@pytest.mark.parametrize("body, word", [
    (b'{"tempalte": "python"}', "tempalte"), (b'{"limits": {"memory": 1}}', "limits.memory"),
    (b'{"limits": {"memory_bytes": "1"}}', "limits.memory_bytes"),
    (b'{"limits": {"memory_bytes": 0}}', "limits.memory_bytes"),
    (b'{"limits": {"wall_s": 1e400}}', "JSON"), (b'{"limits": {"wall_s": -1}}', "limits.wall_s"),
    (b'{"limits": []}', "limits"), (b'{"env": {"a b": "c"}}', "a b"), (b'{"env": {"A": 1}}', "A"),
    (b'{"env": {"A": "\\u0000"}}', "A"), (b'{"metadata": []}', "metadata"),
    (b'{"metadata": {"a": "' + b"x" * 20000 + b'"}}', "metadata"),
    (b'{"idle_timeout_s": 0}', "idle_timeout_s"), (b'{"template": 1}', "template"),
    (b'{"template": ""}', "template"), (b"[]", "object"), (b"null", "object"),
    (b"{", "JSON"), (b'{"template": "a", "template": "b"}', "JSON"), (b'{"a": NaN}', "JSON"),
    (b"\xff", "JSON"), (b"[" * 5000, "JSON"), (b'{"a": "\\ud800"}', "JSON"),
])
def test_invalid_bodies(running, body, word):
    answer = running.ask("POST", "/sessions", body)
    assert (answer.status, answer.code) == (400, "invalid")
    assert word in answer.json["error"]["message"]


def test_invalid_requests(running):
    session = "/sessions/se_01M80J7V9Z7WCA235G7GJNP5HC"
    for method, path, body, status, code in [
            ("POST", session + "/executions", {}, 400, "invalid"),
            ("POST", session + "/executions", {"code": 1}, 400, "invalid"),
            ("POST", session + "/executions", {"code": "", "timeout": 1}, 400, "invalid"),
            ("POST", session + "/executions", {"code": "", "timeout_s": "1"}, 400, "invalid"),
            ("POST", session + "/executions", {"code": "", "stream": 1}, 400, "invalid"),
            ("POST", session + "/executions", {"code": "", "stream": True, "background": True},
             400, "invalid"),
            ("POST", session + "/interrupt", {"metadata": {}}, 400, "invalid"),
            ("POST", session + "/complete", {"code": "a", "cursor": -1}, 400, "invalid"),
            ("GET", "/sessions?limt=1", None, 400, "invalid"),
            ("GET", "/sessions?limit=x", None, 400, "invalid"),
            ("GET", "/sessions?limit", None, 400, "invalid"),
            ("GET", "/health?a=b", None, 400, "invalid"),
            ("GET", "/nothing", None, 404, "not_found"),
            ("GET", "/health/", None, 404, "not_found"),
            ("GET", "/sessions//executions", None, 404, "not_found"),
            ("GET", session + "/files/", None, 404, "not_found"),
            ("POST", "/health", None, 405, "method_not_allowed"),
            ("PUT", "/sessions", {}, 405, "method_not_allowed"),
            ("OPTIONS", "/sessions", None, 405, "method_not_allowed"),
            ("HEAD", session + "/interrupt", None, 405, None),
            ("DELETE", session + "/executions", None, 405, "method_not_allowed")]:
        answer = running.ask(method, path, body)
        assert answer.status == status, (method, path, answer)
        assert code is None or answer.code == code
        assert status != 405 or answer.headers["Allow"]
    answer = running.ask("POST", "/sessions", b"<a/>", {"Content-Type": "text/xml"})
    assert answer.status == 415
    own = "/sessions/" + running.create()
    for method, path in (("POST", "/sessions"), ("PUT", own + "/files/packed")):
        answer = running.ask(method, path, b"\x1f\x8b{}", {"Content-Encoding": "gzip"})
        assert (answer.status, answer.code) == (415, "unsupported_media_type")
        assert answer.headers["Accept-Encoding"] == "identity"
    assert running.ask("GET", own + "/files/packed").status == 404
    assert running.ask("POST", "/sessions", {}, {"Content-Encoding": "identity"}).status == 201
    answer = running.ask("POST", session + "/executions", {"code": ""},
                         {"Idempotency-Key": "x" * 129})
    assert answer.code == "invalid"
    answer = running.ask("GET", session + "/executions/ex_1/events", None, {"Last-Event-ID": "x"})
    assert answer.code == "invalid"


def test_many_idle_connections_cost_little(running):
    front = running.front()
    before = memory_kib(front)
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), 30))
        assert running.ask("GET", "/health").status == 200
        assert memory_kib(front) - before < 16 * 1024


def test_limit_of_connections(reckon):
    with Server(reckon, "--max-connections", "3") as server:
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                connection = server.connect()
                connection.request("GET", "/reckon/v1/health")
                assert connection.getresponse().read()
                stack.callback(connection.close)
            status, headers, body = parse(server.raw(b""))
            assert status == 503 and "Retry-After" in headers
            assert json.loads(body)["error"]["code"] == "overloaded"
            assert int(headers["Content-Length"]) == len(body)
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                if server.ask("GET", "/health").status == 200:
                    break
            assert time.monotonic() < deadline


def test_the_openapi_document_matches_the_server(running):
    document = running.ask("GET", "/openapi.json", key=False).json
    assert document == field_table.document()
    assert document["openapi"] == "3.1.0"
    every = {"get", "post", "put", "patch", "delete"}
    documented = {(path, method.upper()) for path, methods in document["paths"].items()
                  for method in every & set(methods)}
    rows = [(call.path, call.verb) for call in field_table.table().CALLS if call.path]
    assert documented == {(path if path[0] == "/" else "/reckon/v1/" + path, verb)
                          for path, verb in rows}
    for path, methods in document["paths"].items():
        real = path.replace("{session}", "se_x") \
            .replace("{execution}", "ex_x").replace("{path}", "a/b").replace("{handle}", "out_x") \
            .replace("{artifact}", "ar_x").replace("{id}", "x").replace("{link}", "lk_x") \
            .replace("{token}", "t").replace("{template}", "python") \
            .replace("{context}", "ctx_x").replace("{process}", "pr_x")
        real = re.sub(r"\{\w+\}", "x", real)
        # A path may also match another one, for example as the name of a file.
        fits = [each for each in document["paths"] if re.fullmatch(
            re.sub(r"\{\w+\}", "[^/]+", each.replace("{path}", ".+")), real)]
        known = set().union(*(every & set(document["paths"][each]) for each in fits))
        for method in every:
            answer = running.ask(method.upper(), real, key=False, prefix="")
            if method in set(methods):
                assert answer.status != 405, (method, path)
                assert str(answer.status) in methods[method]["responses"], (method, path, answer)
            elif method not in known:
                assert answer.status == 405, (method, path)
                allowed = {each.strip().lower() for each in answer.headers["Allow"].split(",")}
                has_head = "get" in known and not path.endswith(("/events", "/watch"))
                assert known | ({"head"} if has_head else set()) == allowed


def test_no_request_was_logged_as_an_error(running):
    assert pathlib.Path(running.reckon.work / "serve.log").exists()
    assert "level=error" not in running.log()


def test_an_empty_body_has_any_type(running):
    """Some clients send a content type without a body; a request with a body needs the type
    JSON."""
    for content, wanted in ((b"", 201), (b"{}", 415)):
        with socket.create_connection(("127.0.0.1", running.port), 30) as sock:
            sock.sendall(POST + f"Authorization: Bearer {running.key}\r\nConnection: close\r\n"
                         f"Content-Type: application/octet-stream\r\n"
                         f"Content-Length: {len(content)}\r\n\r\n".encode() + content)
            assert parse(read_all(sock))[0] == wanted


def test_requests_without_a_key_are_not_validated(reckon):
    with Server(reckon) as server:
        for method, path, body in (("GET", "/sessions?limit=x", None),
                                   ("POST", "/sessions", {"template": 7}),
                                   ("POST", "/sessions", b"{not json")):
            assert server.ask(method, path, body, key=False).status == 401
            assert server.ask(method, path, body).status == 400
        for status, body, headers in ((415, b"<a/>", {"Content-Type": "text/xml"}),
                                      (415, b"{}", {"Content-Encoding": "gzip"}),
                                      (413, b"", {"Content-Length": str(9 << 20)})):
            assert server.ask("POST", "/sessions", body, headers, key=False).status == 401
            assert server.ask("POST", "/sessions", body, headers).status == status


def test_ids_that_are_almost_right_are_unknown(running):
    """Neither a part of an id, another spelling of it, nor a path that would lead to it finds the
    session."""
    own = running.create()
    assert running.ask("GET", f"/sessions/{own}").status == 200
    tricks = [own[:-1], own + "0", own[:-1] + ("0" if own[-1] != "0" else "1"), own.swapcase(),
              own + "%00", own + "%20", "%20" + own, own + "%0a", own + "/.", own + "/..",
              "./" + own, "../sessions/" + own, f"x/../{own}", f"..%2fsessions%2f{own}", f"%2e%2e%2f{own}",
              own + "%2f", f"{own};x", "*", "%25", "se_%", "se_" + "_" * 26, "'%20or%20'1'='1",
              "..", ".", "%c0%ae%c0%ae", "se_" + "0" * 5000]
    for trick in tricks:
        for method, path in (("GET", ""), ("GET", "/files"), ("GET", "/token"), ("DELETE", "")):
            answer = running.ask(method, f"/sessions/{trick}{path}")
            assert answer.status in (400, 404, 405), (method, trick, path, answer)
    assert running.ask("GET", f"/sessions/{own}").status == 200
    assert running.execute(own, "print(1)")["stdout"] == "1\n"
