#!/usr/bin/python3
"""A front that an attacker owns: whatever a test wants is sent to the daemon as a frame.

    with CapturedFront(reckon) as front:
        status, fields = front.ask("EVENTS", KEY=key, SESSION=session, EXECUTION=execution, ...)

The daemon starts this file in place of reckon-front. As a program it passes frames on between the daemon and the one
connection that the test makes to the daemon's port. Nothing of it is fenced.
"""
import copy
import fcntl
import os
import pathlib
import queue
import re
import shutil
import socket
import struct
import sys
import threading

HEAD = struct.Struct("=IHHQII")
FIELD = struct.Struct("=II")
MAGIC = 0x31464B52
SOCKET, LISTENER = 3, 4
READY, CANCEL, HANDOFF, REPLY, ERROR, CONNECTION = 1, 2, 3, 64, 65, 66
BLOB, CALL = 1, 2  # FRONT_FLAG_…
INLINE_MAX = 48 << 10


# What goes along with a frame of the test's: nothing, or descriptors that only the front has.
NOTHING, CLIENT, FILE, DATAGRAM, LISTENING, RETURNED, TWO = range(7)


def pass_up(daemon, test, returned):
    """Frames of the daemon to the test; connections that it hands to us are kept for RETURNED."""
    while True:
        frame, fds, _, _ = socket.recv_fds(daemon, 1 << 20, 4)
        if not frame:
            os._exit(0)
        if HEAD.unpack_from(frame)[1] == CONNECTION:
            returned.put(fds.pop(0))
        for fd in fds:
            os.close(fd)
        test.sendall(struct.pack("=I", len(frame)) + frame)


def descriptors(what, listener, returned):
    """Those that a frame takes along; to be closed."""
    if what in (CLIENT, TWO):
        return [listener.accept()[0].detach() for _ in range(1 if what == CLIENT else 2)]
    if what == FILE:
        return [os.open(__file__, os.O_RDONLY)]
    if what == DATAGRAM:
        return [socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()]
    if what == LISTENING:
        return [os.dup(LISTENER)]
    return [returned.get()] if what == RETURNED else []


def relay():
    daemon = socket.socket(fileno=SOCKET)
    listener = socket.socket(fileno=LISTENER)
    daemon.send(HEAD.pack(MAGIC, READY, 0, 0, 0, 0))
    listener.setblocking(True)
    test, _ = listener.accept()
    returned = queue.SimpleQueue()
    threading.Thread(target=pass_up, args=(daemon, test, returned), daemon=True).start()
    stream = test.makefile("rb")
    while head := stream.read(5):
        size, what = struct.unpack("=IB", head)
        fds = descriptors(what, listener, returned)
        frame = stream.read(size)
        if size > INLINE_MAX + HEAD.size:
            blob = os.memfd_create("frame", os.MFD_ALLOW_SEALING)
            os.write(blob, frame[HEAD.size:])
            fcntl.fcntl(blob, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            fds, frame = [*fds, blob], frame[:HEAD.size]
        socket.send_fds(daemon, [frame], fds)
        for fd in fds:
            os.close(fd)
    os._exit(0)


if __name__ == "__main__":
    relay()

import field_table  # noqa: E402
from reckon_cli import ROOT  # noqa: E402 - the program has none of the tests' modules
from reckon_serve import SECONDS, Server  # noqa: E402


def names(kind, prefix):
    """NAME: number, of an enum of wire/front.h."""
    header = (ROOT / "src/wire/front.h").read_text()
    body = re.search(rf"enum {kind} {{(.*?)\n}};", header, re.S)[1]
    return {name: int(number) for name, number in re.findall(rf"{prefix}(\w+) = (\d+)", body)}


def errors():
    header = (ROOT / "src/wire/front.h").read_text()
    body = re.search(r"enum front_error {(.*?)\n};", header, re.S)[1]
    return re.findall(r"^\s*FRONT_ERR_(\w+)", body, re.M)


class CapturedFront:
    """A daemon with such a front, and the attacker's end of it."""

    TREE = "captured"

    def __init__(self, reckon, *args):
        tree = reckon.work / self.TREE
        if not tree.exists():
            self.arrange(reckon.place.program.parent.parent, tree)
        captured = copy.copy(reckon)
        captured.place = copy.copy(reckon.place)
        captured.place.program = tree / "bin/reckon"
        self.server = Server(captured, *args)
        self.types, self.tags = names("front_type", "FRONT_"), names("front_tag", "FRONT_TAG_")
        self.tag_names = {number: name for name, number in self.tags.items()}
        self.errors = errors()
        self.number = 0

    @staticmethod
    def arrange(real, tree):
        """Programs look for others beside themselves: these two are copies, the rest is named."""
        (tree / "bin").mkdir(parents=True)
        (tree / "libexec").mkdir()
        shutil.copy2(real / "bin/reckon", tree / "bin/reckon")
        for path in (real / "libexec").iterdir():
            if path.name == "reckond":
                shutil.copy2(path, tree / "libexec/reckond")
            elif path.name != "reckon-front" and not path.name.endswith(".p"):
                (tree / "libexec" / path.name).symlink_to(path)
        shutil.copy2(pathlib.Path(__file__), tree / "libexec/reckon-front")
        (tree / "libexec/reckon-front").chmod(0o755)

    def __enter__(self):
        self.server.start()
        self.sock = socket.create_connection(("127.0.0.1", self.server.port), SECONDS)
        self.stream = self.sock.makefile("rb")
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.sock.close()
        self.server.stop()

    @property
    def key(self):
        return self.server.key

    def send(self, name, number=None, **fields):
        """The request's id."""
        payload = b""
        for tag, value in fields.items():
            value = (value.encode() if isinstance(value, str) else
                     struct.pack("=Q", value) if isinstance(value, int) else value)
            payload += FIELD.pack(self.tags[tag], len(value)) + value
        if number is None:
            self.number += 1
            number = self.number
        self.send_frame(self.types[name], 0, number, payload, len(fields))
        return number

    def send_frame(self, kind, flags, number, payload, count=0, along=NOTHING):
        if len(payload) > INLINE_MAX:
            flags |= BLOB
        frame = HEAD.pack(MAGIC, kind, flags, number, len(payload), count) + payload
        self.sock.sendall(struct.pack("=IB", len(frame), along) + frame)

    def call(self, name, key, /, **values):
        """A typed call: the error's name or None, then what it gives; a record as fields."""
        number = self.send_call(name, key, **values)
        while True:
            got, error, answer = self.receive()
            if got == number:
                break
        if error is None and isinstance(answer, bytes):
            answer = field_table.read(field_table.call(name)[1].gives_struct, answer)
        return error, answer

    def send_call(self, name, key, /, number=None, **values):
        """The request's id."""
        kind, row = field_table.call(name)
        caller = {"key": key, "request": "captured"}
        if number is None:
            self.number += 1
            number = self.number
        self.send_frame(kind, CALL, number,
                        field_table.image(field_table.table().common.CALLER, caller) +
                        field_table.image(row.takes_struct, values))
        return number

    def receive(self):
        """(id, None or the error's name, {tag: bytes})"""
        size, = struct.unpack("=I", self.stream.read(4))
        frame = self.stream.read(size)
        _, kind, flags, number, _, _ = HEAD.unpack_from(frame)
        at, fields = HEAD.size, {}
        if flags & CALL:
            return number, None, frame[at:]
        while at < len(frame):
            tag, length = FIELD.unpack_from(frame, at)
            at += FIELD.size
            fields[self.tag_names[tag]] = frame[at:at + length]
            at += length
        if kind == ERROR:
            return number, self.errors[struct.unpack("=Q", fields["ERROR"])[0]], fields
        assert kind == REPLY
        return number, None, fields

    def ask(self, name, **fields):
        number = self.send(name, **fields)
        while True:
            got, error, answer = self.receive()
            if got == number:
                return error, answer
