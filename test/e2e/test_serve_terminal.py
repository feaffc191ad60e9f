"""A process's terminal over one WebSocket: bytes both ways, size and signals as text."""
import contextlib
import json

import pytest
from reckon_serve import PREFIX, SECONDS, Server
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
TERMINAL = "reckon.terminal.v1"


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


@pytest.fixture(scope="module", name="session")
def make_session(server):
    return server.create()


def start(server, session, command, **body):
    answer = server.ask("POST", f"/sessions/{session}/processes", {"command": command, **body})
    assert answer.status == 201, answer
    return answer.json["id"]


def attach(server, session, process, key=None):
    return connect(f"ws://127.0.0.1:{server.port}{PREFIX}/sessions/{session}/processes/{process}/events",
                   subprotocols=[TERMINAL, "reckon.v1"], max_size=None,
                   additional_headers={"Authorization": f"Bearer {key or server.key}"})


class Terminal:
    """Received data: bytes together, events one by one."""

    def __init__(self, connection):
        self.connection, self.bytes, self.events = connection, b"", []
        assert connection.subprotocol == TERMINAL

    def read(self):
        message = self.connection.recv(timeout=SECONDS)
        if isinstance(message, bytes):
            self.bytes += message
        else:
            self.events.append(json.loads(message))

    def until(self, want):
        while want not in self.bytes:
            self.read()

    def until_event(self, name):
        while not self.events or self.events[-1]["event"] != name:
            self.read()
        return self.events[-1]["data"]

    def close_code(self):
        try:
            while True:
                self.read()
        except ConnectionClosed as closed:
            return closed.rcvd.code


def test_a_shell(server, session):
    process = start(server, session, "exec sh", pty={"rows": 24, "cols": 80})
    with attach(server, session, process) as connection:
        shell = Terminal(connection)
        connection.send(b"echo $((6 * 7))$(stty size)\n")
        shell.until(b"4224 80")
        connection.send(json.dumps({"rows": 40, "cols": 133}))
        connection.send(b"stty size\n")
        shell.until(b"40 133")
        connection.send(b"sleep 1000 || echo stopped\n\x03")
        connection.send(b"\nexit 7\n")
        end = shell.until_event("end")
        assert end["exit_code"] == 7
        assert shell.close_code() == 1000


def test_the_terminal_is_interrupted_while_it_floods(server, session):
    process = start(server, session, "exec sh", pty={})
    with attach(server, session, process) as connection:
        shell = Terminal(connection)
        connection.send(b"yes\n")
        shell.until(b"y\r\ny\r\n")
        connection.send(b"\x03")
        connection.send(b"echo back$((1 + 1))\n")
        shell.until(b"back2")
        connection.send(json.dumps({"signal": "KILL"}))
        assert shell.until_event("end")["signal"] == "KILL"


def test_pipes(server, session):
    """Messages of standard error carry its name; the input can be closed."""
    process = start(server, session, "cat; echo done >&2", stdin=True)
    with attach(server, session, process) as connection:
        pipes = Terminal(connection)
        data = bytes(range(256)) * 200
        connection.send(data)
        connection.send(json.dumps({"close": True}))
        end = pipes.until_event("end")
        assert pipes.bytes == data and end["exit_code"] == 0
        streams = [each["data"] for each in pipes.events if each["event"] == "stream"]
        assert [each["name"] for each in streams] == ["stderr"]


@pytest.mark.parametrize("text, code", [("no JSON", "invalid"), ('{"rows": 1}', "invalid"),
                                        ('{"signal": "FLY"}', "invalid"), ("[]", "invalid"),
                                        ('{"rows": 0, "cols": 0}', "invalid")])
def test_invalid_messages_are_reported_and_end_nothing(server, session, text, code):
    process = start(server, session, "exec cat", pty={})
    with attach(server, session, process) as connection:
        terminal = Terminal(connection)
        connection.send(text)
        assert terminal.until_event("error")["error"]["code"] == code
        connection.send(b"still\n")
        terminal.until(b"still\r\nstill")
    server.ask("DELETE", f"/sessions/{session}/processes/{process}")


def test_a_read_key_cannot_write(server, session):
    key = server.ask("POST", "/keys", {"name": "reader", "scopes": ["read"]}).json["key"]
    process = start(server, session, "exec cat", pty={})
    with attach(server, session, process, key) as connection:
        terminal = Terminal(connection)
        connection.send(b"mine\n")
        assert terminal.until_event("error")["error"]["code"] == "scope_missing"
        server.ask("POST", f"/sessions/{session}/processes/{process}/stdin", {"text": "theirs\n"})
        terminal.until(b"theirs")
        assert b"mine" not in terminal.bytes
    server.ask("DELETE", f"/sessions/{session}/processes/{process}")


def test_two_clients_and_one_disconnects(server, session):
    process = start(server, session, "exec cat", pty={})
    with attach(server, session, process) as one:
        with attach(server, session, process) as other:
            one.send(b"hello\n")
            Terminal(other).until(b"hello\r\nhello")
        Terminal(one).until(b"hello\r\nhello")
        assert server.ask("GET", f"/sessions/{session}/processes/{process}").json["state"] == "running"
    server.ask("DELETE", f"/sessions/{session}/processes/{process}")


def test_fifty_at_once(server):
    session = server.create()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(attach(server, session,
                                                  start(server, session, "exec cat", pty={})))
                       for _ in range(50)]
        for number, connection in enumerate(connections):
            connection.send(b"n%d\n" % number)
        for number, connection in enumerate(connections):
            Terminal(connection).until(b"n%d\r\nn%d\r\n" % (number, number))
    server.ask("DELETE", f"/sessions/{session}")
