"""`reckon forward` makes a port of a session available as a local port."""
import re
import signal
import socket
import subprocess
import threading
import urllib.request

import pytest
from reckon_serve import SECONDS
from test_serve_ports import ECHO, RAW, SERVER, read_all

pytestmark = pytest.mark.one_user  # the client's side; ports of a box are in test_serve_ports


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


class Forward:
    def __init__(self, server, session, ports, *more):
        self.process = server.reckon.popen(
            "forward", "-s", session, *more, ports, stderr=subprocess.PIPE,
            env={"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key})
        line = self.process.stdout.readline().decode()
        found = re.match(rf"reckon: 127\.0\.0\.1:(\d+) is port \d+ of session {session};", line)
        assert found, (line, self.process.stderr.read())
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out.decode(), err.decode()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)


def test_bytes_both_ways(server, session):
    server.execute(session, ECHO)
    with Forward(server, session, "8000:0", "--no-link") as forward:
        body = bytes(range(256)) * 20000
        sock = forward.connect()
        threading.Thread(target=lambda: (sock.sendall(body), sock.shutdown(socket.SHUT_WR))).start()
        assert read_all(sock) == body + b"bye"
        socks = [forward.connect() for _ in range(50)]
        for number, sock in enumerate(socks):
            sock.sendall(b"%d" % number)
            sock.shutdown(socket.SHUT_WR)
        assert [read_all(sock) for sock in socks] == [b"%dbye" % number for number in range(50)]


def test_a_page_and_its_link(server, session):
    server.execute(session, SERVER)
    with Forward(server, session, "8000:0") as forward:
        with urllib.request.urlopen(f"http://127.0.0.1:{forward.port}/page") as answer:
            assert b'"path": "/page"' in answer.read()
        line = forward.process.stdout.readline().decode()
        assert re.fullmatch(rf"reckon: in a browser: http://127\.0\.0\.1:{server.port}"
                            r"/reckon/v1/ports/8000-[0-9a-z]{26}/[\w-]+/\n", line)
        assert len(server.ask("GET", f"/sessions/{session}/links").json["links"]) == 1
        assert forward.end()[0] == 0
    assert server.ask("GET", f"/sessions/{session}/links").json["links"] == []


def test_a_port_that_opens_later(server, session):
    forward = Forward(server, session, "8000:0")
    assert read_all(forward.connect()) == b""
    server.execute(session, RAW + 'raw(8000, b"\\0binary first", reads=False)')
    assert read_all(forward.connect()) == b"\0binary first"
    status, _, found = forward.end(signal.SIGTERM)
    assert status == 0
    assert "nothing in the session listens on port 8000 yet" in found
    assert "nothing listens on port 8000" in found


@pytest.mark.parametrize("ports", ["0", "65536", "http", "80:x", "80:", ":80", "80:90:1", "-1", ""])
def test_invalid_ports(server, ports):
    done = server.reckon("forward", "--url", f"http://127.0.0.1:{server.port}", "--", ports)
    assert done.status == 2
    assert "invalid value" in done.err


def test_a_local_port_that_is_in_use(server, session):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = server.reckon("forward", "-s", session, f"8000:{taken.getsockname()[1]}", env={
            "RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key})
    assert done.status == 125
    assert "8000:0 for a free one" in done.err
