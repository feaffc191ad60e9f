"""WebSocket: the same events as SSE, with a real client, and with frames that a hostile one may
send.

Valid clients are `websockets` (PyPI); the invalid frames are made by hand, see RFC 6455 §5.
"""
import base64
import contextlib
import json
import os
import socket
import struct
import time

import pytest
from reckon_serve import PREFIX, SECONDS, Server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
IDLE = 200
COUNT = "import time\nfor i in range(5):\n    print(i, flush=True); time.sleep(0.05)"


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


@pytest.fixture(scope="module", name="session")
def make_session(server):
    return server.create()


def start(server, session, code):
    return server.ask("POST", f"/sessions/{session}/executions",
                      {"code": code, "background": True}).json["id"]


def url(server, path):
    return f"ws://127.0.0.1:{server.port}{PREFIX}{path}"


def events_url(server, session, execution, query=""):
    return url(server, f"/sessions/{session}/executions/{execution}/events{query}")


def key_of(server):
    return {"Authorization": f"Bearer {server.key}"}


def read_all(connection):
    """(messages, the code of the close)"""
    messages = []
    try:
        while True:
            messages.append(json.loads(connection.recv(timeout=SECONDS)))
    except ConnectionClosed as closed:
        return messages, closed.rcvd.code


def test_events_come_as_messages(server, session):
    execution = start(server, session, COUNT)
    with connect(events_url(server, session, execution),
                 additional_headers=key_of(server)) as socket_:
        messages, code = read_all(socket_)
    assert code == 1000
    assert messages[-1]["event"] == "done"
    assert messages[-1]["data"]["record"]["stdout"] == "0\n1\n2\n3\n4\n"
    ids = [message["id"] for message in messages]
    assert ids == list(range(1, len(ids) + 1))
    stream = server.ask("GET", f"/sessions/{session}/executions/{execution}/events").body.decode()
    assert [message["event"] for message in messages] == [
        line[7:] for line in stream.splitlines() if line.startswith("event: ")]


def test_events_continue_after_an_id(server, session):
    execution = start(server, session, COUNT)
    with connect(events_url(server, session, execution),
                 additional_headers=key_of(server)) as first:
        seen = json.loads(first.recv(timeout=SECONDS))["id"]
    with connect(events_url(server, session, execution, f"?after={seen}"),
                 additional_headers=key_of(server)) as second:
        messages, _ = read_all(second)
    assert messages[0]["id"] == seen + 1


def test_a_page_gives_its_key_as_a_subprotocol(server, session):
    execution = start(server, session, "1")
    with connect(events_url(server, session, execution),
                 subprotocols=["reckon.v1", f"reckon.key.{server.key}"],
                 origin=f"http://localhost:{server.port}") as socket_:
        assert socket_.subprotocol == "reckon.v1"
        assert read_all(socket_)[0][-1]["event"] == "done"


@pytest.mark.parametrize("headers, status", [
    ({}, 401), ({"Authorization": "Bearer rk_wrong"}, 401),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403)])
def test_a_socket_that_is_refused_gets_an_error(server, session, headers, status):
    execution = start(server, session, "1")
    given = {**(key_of(server) if "Origin" in headers else {}), **headers}
    with pytest.raises(InvalidStatus) as refused, \
            connect(events_url(server, session, execution), additional_headers=given):
        pass
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body)["error"]["code"]


def test_an_unknown_execution_is_an_error_before_the_upgrade(server, session):
    with pytest.raises(InvalidStatus) as refused, \
            connect(events_url(server, session, "ex_0000000000000000000000000000"),
                    additional_headers=key_of(server)):
        pass
    assert refused.value.response.status_code in (400, 404)


def test_an_old_version_gets_the_supported_one(server, session):
    execution = start(server, session, "1")
    answer = server.ask("GET", f"/sessions/{session}/executions/{execution}/events", headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "8",
        "Sec-WebSocket-Key": "x" * 24})
    assert answer.status == 426
    assert answer.headers["Sec-WebSocket-Version"] == "13"


# ---- by hand ------------------------------------------------------------------------------------

class Raw:
    """A socket after its handshake, for frames of any kind."""

    def __init__(self, server, path):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        self.socket.sendall((
            f"GET {PREFIX}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive, Upgrade\r\n"
            "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
            f"Authorization: Bearer {server.key}\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        assert b" 101 " in self.file.readline()
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, opcode, payload=b"", fin=True, rsv=0, masked=True, length=None):
        size = len(payload) if length is None else length
        head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
        bit = 0x80 if masked else 0
        if size < 126:
            head += bytes([bit | size])
        elif size < 1 << 16:
            head += bytes([bit | 126]) + struct.pack(">H", size)
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4) if masked else b""
        if masked:
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.socket.sendall(head + mask + payload)

    def receive(self):
        """(opcode, payload), or None at the end."""
        head = self.file.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 0x7f
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
        return head[0] & 0xf, self.file.read(size)

    def close_code(self):
        """The code of the close frame; None without one."""
        code = None
        with contextlib.suppress(ConnectionResetError):
            while (frame := self.receive()) is not None:
                if frame[0] == 8:
                    code = struct.unpack(">H", frame[1][:2])[0] if frame[1] else 1005
        return code


@pytest.fixture(name="quiet")
def follow_silence(server, session):
    """A socket that follows an execution without output."""
    execution = start(server, session, "import time; time.sleep(60)")
    with Raw(server, f"/sessions/{session}/executions/{execution}/events?after=1000") as raw:
        yield raw
    server.ask("POST", f"/sessions/{session}/executions/{execution}/cancel")


def test_a_ping_is_answered(quiet):
    quiet.send(9, b"here?")
    while (frame := quiet.receive())[0] != 10:
        pass
    assert frame == (10, b"here?")


def test_a_close_is_answered(quiet):
    quiet.send(8, struct.pack(">H", 1000) + b"bye")
    assert quiet.close_code() == 1000


def test_a_message_in_pieces_with_a_ping_between_is_one(quiet):
    quiet.send(1, "{\"a\": \"ü".encode()[:8], fin=False)
    quiet.send(9, b"x")
    quiet.send(0, "ü".encode()[1:] + b"\"}")
    while quiet.receive()[0] != 10:
        pass
    quiet.send(8, struct.pack(">H", 1000))
    assert quiet.close_code() == 1000


@pytest.mark.parametrize("frame, code", [
    ({"opcode": 1, "payload": b"x", "masked": False}, 1002),
    ({"opcode": 1, "payload": b"x", "rsv": 4}, 1002),
    ({"opcode": 3, "payload": b"x"}, 1002),
    ({"opcode": 0, "payload": b"x"}, 1002),
    ({"opcode": 9, "payload": b"x", "fin": False}, 1005),
    ({"opcode": 9, "payload": b"x" * 126}, 1005),
    ({"opcode": 8, "payload": b"\x01"}, 1005),
    ({"opcode": 8, "payload": struct.pack(">H", 999)}, 1002),
    ({"opcode": 1, "payload": b"\xff\xfe"}, 1007),
    ({"opcode": 1, "payload": b"x" * 5000}, 1009),
    ({"opcode": 2, "payload": b"x", "length": 1 << 40}, 1009),
    ({"opcode": 2, "length": 4097}, 1009),
    ({"opcode": 2, "length": (1 << 64) - 1}, 1005)], ids=str)
def test_an_invalid_frame_closes_with_its_code(quiet, frame, code):
    """1005 is a close without a code, which wslay sends for a frame that is impossible."""
    started = time.monotonic()
    quiet.send(**frame)
    assert quiet.close_code() == code
    assert time.monotonic() - started < 15  # not at the ping, which comes after 30 s


def test_a_frame_head_in_pieces(quiet):
    """The announced length counts, wherever the network cuts the head, also after valid frames."""
    quiet.send(9, b"x" * 125)
    quiet.send(2, b"x" * 4096, fin=False)
    for byte in b"\x80\xfe" + struct.pack(">H", 200) + b"mask":
        quiet.socket.sendall(bytes([byte]))
        time.sleep(0.01)
    assert quiet.receive() == (10, b"x" * 125)
    started = time.monotonic()
    assert quiet.close_code() == 1009
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("opcode, pieces, code", [
    (2, [b"x"] * 4097, 1009), (2, [b"x" * 4000, b"x" * 97], 1009), (1, [b"\xe2", b"\x82"], 1007),
    (1, [b"\xe2\x82", b"\xac", b"\xff"], 1007), (2, [b"x" * 4000, b"", b"x" * 96], None),
    (1, [b"\xe2", b"\x82", b"\xac"], None)],
    ids=["too many", "too long", "half a character", "no text", "as long as may be", "a character cut"])
def test_a_message_in_pieces(quiet, opcode, pieces, code):
    """The limit applies to the whole message, and text is validated across its pieces; a ping may
    come between them."""
    for at, piece in enumerate(pieces):
        quiet.send(0 if at > 0 else opcode, piece, fin=at == len(pieces) - 1)
        if at == 0:
            quiet.send(9, b"between")
    if code is None:
        assert quiet.receive() == (10, b"between")
        quiet.send(9, b"after")
        assert quiet.receive() == (10, b"after")
        quiet.send(8, struct.pack(">H", 1000))
    assert quiet.close_code() == (code or 1000)


def test_a_message_to_a_process(server, session):
    process = server.ask("POST", f"/sessions/{session}/processes", {"command": "sleep 60"}).json["id"]
    for size in (65536, 65537):  # INPUT_MAX
        with Raw(server, f"/sessions/{session}/processes/{process}/events") as raw:
            raw.send(2, b"x" * size)
            if size == 65536:
                raw.send(9, b"after")
                while raw.receive() != (10, b"after"):
                    pass
            else:
                assert raw.close_code() == 1009


def test_many_small_pieces_take_no_more_room_than_their_bytes(server, session):
    process = server.ask("POST", f"/sessions/{session}/processes", {"command": "sleep 60"}).json["id"]
    front = server.front()
    with Raw(server, f"/sessions/{session}/processes/{process}/events") as raw:
        before = int(open(f"/proc/{front}/statm").read().split()[1])
        raw.send(2, b"x", fin=False)
        piece = bytes([0x00, 0x81, 0, 0, 0, 0]) + b"x"
        raw.socket.sendall(piece * 60000)
        raw.send(9, b"seen")
        while raw.receive()[0] != 10:
            pass
        grown = int(open(f"/proc/{front}/statm").read().split()[1]) - before
    server.ask("DELETE", f"/sessions/{session}/processes/{process}")
    assert grown < 256  # pages: 1 MiB


def test_a_flood_of_pings_without_a_reader_costs_nothing(server, quiet):
    """The front reads no further from a client that takes no pongs, so its memory does not grow."""
    front = server.front()
    before = int(open(f"/proc/{front}/statm").read().split()[1])
    quiet.socket.settimeout(2)
    ping = b"\x89\xfd\x00\x00\x00\x00" + b"x" * 125
    with contextlib.suppress(TimeoutError, OSError):
        for _ in range(2000):
            quiet.socket.sendall(ping * 100)
    assert int(open(f"/proc/{front}/statm").read().split()[1]) - before < 1024  # pages: 4 MiB
    assert server.ask("GET", "/health").status == 200


def test_many_idle_sockets(server, session):
    execution = start(server, session, "import time; time.sleep(60)")
    path = f"/sessions/{session}/executions/{execution}/events?after=1000"
    with contextlib.ExitStack() as stack:
        raws = [stack.enter_context(Raw(server, path)) for _ in range(IDLE)]
        assert server.ask("GET", "/health").status == 200
        for raw in raws[:20]:
            raw.send(9, b"p")
            while raw.receive()[0] != 10:
                pass
        server.ask("POST", f"/sessions/{session}/executions/{execution}/cancel")
        assert {raw.close_code() for raw in raws} == {1000}


def test_disconnect_ends_nothing(server, session):
    execution = start(server, session, "import time; time.sleep(60)")
    with Raw(server, f"/sessions/{session}/executions/{execution}/events"):
        pass
    assert server.ask("GET", f"/sessions/{session}/executions/{execution}").json["status"] == "running"
    server.ask("POST", f"/sessions/{session}/executions/{execution}/cancel")
