"""A daemon with two dialects: an attacker controls the native one (captured_front.py), the other is toy_dialect.py.

    with TwoDialects(reckon) as front:
        client = front.hand_off(b"GET /toy HTTP/1.1\\r\\n\\r\\n")
        TwoDialects.answer(client)
"""
import pathlib
import shutil
import socket
import struct

from captured_front import CLIENT, HANDOFF, HEAD, CapturedFront
from reckon_cli import ROOT, parse_json
from reckon_serve import SECONDS, read_all
from toy_dialect import HANDOFF as HANDOFF_HEAD

NATIVE, TOY = 0, 1


class TwoDialects(CapturedFront):
    TREE = "two_dialects"

    @staticmethod
    def arrange(real, tree):
        CapturedFront.arrange(real, tree)
        shutil.copy2(ROOT / "build/test/support/reckond-two-dialects", tree / "libexec/reckond")
        shutil.copy2(pathlib.Path(__file__).with_name("toy_dialect.py"), tree / "libexec/reckon-front-toy")
        (tree / "libexec/reckon-front-toy").chmod(0o755)

    @property
    def slow(self):
        """The toy does not become ready while this file exists."""
        return self.server.reckon.place.program.parent.parent / "libexec/slow"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), SECONDS)

    def hand_off(self, data, dialect=TOY, hops=0):
        """Hands a new connection, from which the captured front has read `data`, to a dialect; returns the client's end."""
        client = self.connect()
        self.send_handoff(HANDOFF_HEAD.pack(dialect, hops) + data)
        return client

    def send_handoff(self, payload, along=CLIENT, **head):
        self.send_frame(HANDOFF, head.get("flags", 0), head.get("number", 0), payload, head.get("count", 0), along)

    def receive_connection(self):
        """(hops, bytes) of a connection that is handed to this front; RETURNED sends its descriptor."""
        size, _ = struct.unpack("=II", self.stream.read(8))
        frame = self.stream.read(size)
        dialect, hops = HANDOFF_HEAD.unpack_from(frame, HEAD.size)
        assert dialect == NATIVE
        return hops, frame[HEAD.size + HANDOFF_HEAD.size:]

    def dialects(self):
        """The entries of /ready, by dialect."""
        error, ready = self.call("ready", "")
        assert error is None, ready
        return {each["name"]: each for each in ready["dialects"]}

    @staticmethod
    def answer(client):
        """The toy's response as JSON; None if the connection was closed without one."""
        with client:
            data = read_all(client)
        return parse_json(data.partition(b"\r\n\r\n")[2]) if data else None
