"""The host name of a request: a page whose name resolves to the daemon (DNS rebinding) gets
nothing."""
import json
import socket

import pytest
from reckon_serve import PREFIX, SECONDS, Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def ask(server, host, path=f"{PREFIX}/health", **headers):
    """(status, JSON)"""
    connection = server.connect()
    try:
        connection.request("GET", path, headers={"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.fixture(scope="module", name="server")
def serve(place):
    import tempfile

    from reckon_cli import Reckon
    reckon = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    with Server(reckon, "--allow-host", "reckon.example.com, box") as running:
        yield running
        assert "the front is gone" not in running.log()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:7263", "[::1]:7263", "localhost",
                                  "a.localhost:1", "reckon.example.com", "x.reckon.example.com:443",
                                  "BOX"])
def test_allowed_names(server, host):
    assert ask(server, host)[0] == 200


@pytest.mark.parametrize("path", ["/reckon/v1/health", "/reckon/v1/openapi.json", "/nothing",
                                  "/metrics", "/reckon/v1/sessions"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:7263", "127.0.0.1.evil.example",
                                  "localhost.evil.example", "xreckon.example.com"])
def test_a_page_that_rebinds_its_name(server, host, path):
    """A browser sends the page's own name, whatever address it resolves to; a key does not change
    the refusal."""
    for headers in {}, server.headers(), {"X-Forwarded-Host": "localhost", "Forwarded": "host=localhost"}:
        status, answer = ask(server, host, path, **headers)
        assert status == 421
        assert answer["error"]["code"] == "misdirected"
        assert "--allow-host" in answer["error"]["remedy"]
        assert "status" not in answer and "openapi" not in answer


def test_a_dialect_refuses_in_its_own_format(server):
    """Piston's errors have a `message`; the connection is handed over before the name is
    checked."""
    status, answer = ask(server, "evil.example", "/piston/api/v2/runtimes")
    assert status == 421
    assert "evil.example" in answer["message"]
    assert ask(server, "localhost", "/piston/api/v2/runtimes")[0] == 401


def test_a_page_cannot_open_a_socket(server):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "http://evil.example"}
    assert ask(server, "evil.example", f"{PREFIX}/health", **upgrade)[0] == 421
    assert ask(server, "localhost", f"{PREFIX}/health", **upgrade)[0] == 403
    upgrade["Origin"] = "https://reckon.example.com"
    assert ask(server, "reckon.example.com", f"{PREFIX}/health", **upgrade)[0] == 200


def test_the_connection_stays_open(server):
    """A refused name does not close the connection of a request without a body."""
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as sock, \
            sock.makefile("rb") as stream:
        for host, status in (b"evil.example", b"421"), (b"localhost", b"200"):
            sock.sendall(b"GET /reckon/v1/health HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
            assert stream.readline().split()[1] == status
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            stream.read(length)


def test_names_are_refused_without_allow_host(reckon):
    with Server(reckon) as server:
        assert ask(server, "reckon.example.com")[0] == 421
        assert ask(server, "localhost")[0] == 200
