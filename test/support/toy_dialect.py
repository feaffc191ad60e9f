#!/usr/bin/python3
"""A second dialect, for tests of the daemon: it serves connections that are handed to it.

The daemon of test/support/meson.build (reckond-two-dialects) starts this file as reckon-front-toy. The first word
of the path chooses what it does with a connection:

    /crash   crashes
    /back    hands the connection back to the native dialect, which would make a loop
    /call    makes the call in the body (its number, its payload as hex) and responds with the reply
    others   responds with hops and bytes of the handoff, and its pid

While a file `slow` exists in its folder it does not send READY. It does not enter the fence.
"""
import json
import os
import pathlib
import signal
import socket
import struct
import time

HEAD = struct.Struct("=IHHQII")
HANDOFF = struct.Struct("=II")
MAGIC = 0x31464B52
READY, HAND_OFF, REPLY, CONNECTION = 1, 3, 64, 66
BLOB, CALL = 1, 2


class Toy:
    def __init__(self):
        self.daemon = socket.socket(fileno=3)
        self.number = 0

    def send(self, kind, payload=b"", flags=0, number=0, fds=()):
        head = HEAD.pack(MAGIC, kind, flags, number, len(payload), 0)
        socket.send_fds(self.daemon, [head + payload], fds)

    def receive(self):
        """(kind, flags, id, payload, descriptors)"""
        frame, fds, _, _ = socket.recv_fds(self.daemon, 1 << 20, 4)
        if not frame:
            os._exit(0)
        _, kind, flags, number, _, _ = HEAD.unpack_from(frame)
        payload = frame[HEAD.size:]
        if flags & BLOB:
            with os.fdopen(fds.pop(), "rb") as blob:
                payload = os.pread(blob.fileno(), 1 << 20, 0)
        return kind, flags, number, payload, fds

    def call(self, body):
        kind, payload = body.split()
        self.number += 1
        self.send(int(kind), bytes.fromhex(payload.decode()), CALL, self.number)
        while True:
            kind, flags, number, payload, _ = self.receive()
            if number == self.number:
                return {"is_reply": kind == REPLY, "payload": payload.hex()}

    def serve(self, connection, hops, data):
        size = len(data)
        while b"\r\n\r\n" not in data:
            if not (more := connection.recv(1 << 16)):
                return
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        word = head.split()[1].split(b"/")[1]
        if word == b"crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if word == b"back":
            self.send(HAND_OFF, HANDOFF.pack(0, hops) + data, fds=[connection.fileno()])
            return
        answer = self.call(body) if word == b"call" else {"hops": hops, "bytes": size, "pid": os.getpid()}
        text = json.dumps(answer).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(text), text))

    def run(self):
        while pathlib.Path(__file__).with_name("slow").exists():
            time.sleep(0.01)
        self.send(READY)
        while True:
            kind, _, _, payload, fds = self.receive()
            if kind == CONNECTION:
                connection = socket.socket(fileno=fds.pop())
                connection.setblocking(True)
                _, hops = HANDOFF.unpack_from(payload)
                with connection:
                    self.serve(connection, hops, payload[HANDOFF.size:])


if __name__ == "__main__":
    Toy().run()
