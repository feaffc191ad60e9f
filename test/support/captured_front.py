#!/usr/bin/python3
"""A front that an attacker controls: it sends any frame that a test wants to the daemon.

    with CapturedFront(reckon) as front:
        error, events = front.call("execution_events", key, session=session, execution=execution)

The daemon starts this file instead of reckon-front-native. As a program it relays frames between the daemon and the one
connection that the test makes to the daemon's port. It does not enter the fence.
"""
import copy
import fcntl
import os
import pathlib
import queue
import select
import shutil
import socket
import struct
import sys
import threading

HEAD = struct.Struct("=IHHQII")
MAGIC = 0x31464B52
SOCKET, LISTENER = 3, 4
READY, CANCEL, HANDOFF, REPLY, ERROR, CONNECTION = 1, 2, 3, 64, 65, 66
BLOB, CALL = 1, 2  # FRONT_FLAG_…
INLINE_MAX = 48 << 10


# The descriptors to send with a frame of the test: none, or some that only the front has.
NOTHING, CLIENT, FILE, DATAGRAM, LISTENING, RETURNED, TWO = range(7)


def unsealed(frame, files):
    """The frame with the payload of its sealed file, which is closed, in place."""
    magic, kind, flags, number, size, reserved = HEAD.unpack_from(frame)
    if not flags & BLOB:
        return frame
    frame = HEAD.pack(magic, kind, flags ^ BLOB, number, size, reserved) + os.pread(files[-1], size, 0)
    os.close(files.pop())
    return frame


def pass_up(daemon, test, returned):
    """Relays frames of the daemon to the test, each with its number of descriptors; stores connections
    that the daemon hands to this front for RETURNED."""
    while True:
        frame, files, _, _ = socket.recv_fds(daemon, 1 << 20, 4)
        if not frame:
            os._exit(0)
        frame = unsealed(frame, files)
        count = len(files)
        if HEAD.unpack_from(frame)[1] == CONNECTION:
            returned.put(files.pop(0))
        for file in files:
            os.close(file)
        test.sendall(struct.pack("=II", len(frame), count) + frame)


def descriptors(what, listener, returned):
    """The descriptors to send with a frame; the caller closes them."""
    if what in (CLIENT, TWO):
        return [listener.accept()[0].detach() for _ in range(1 if what == CLIENT else 2)]
    if what == FILE:
        return [os.open(__file__, os.O_RDONLY)]
    if what == DATAGRAM:
        return [socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()]
    if what == LISTENING:
        return [os.dup(LISTENER)]
    return [returned.get()] if what == RETURNED else []


def wait_for_test(daemon, listener):
    """Waits for the test's connection; ends with the daemon if none comes, as a real front does."""
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    waiting.register(daemon, select.POLLRDHUP)
    if all(where != listener.fileno() for where, _ in waiting.poll()):
        os._exit(0)


def relay():
    daemon = socket.socket(fileno=SOCKET)
    listener = socket.socket(fileno=LISTENER)
    daemon.send(HEAD.pack(MAGIC, READY, 0, 0, 0, 0))
    listener.setblocking(True)
    wait_for_test(daemon, listener)
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


class CapturedFront:
    """A daemon with such a front, and the attacker's connection to the front."""

    TREE = "captured"

    def __init__(self, reckon, *args):
        tree = reckon.work / self.TREE
        if not tree.exists():
            self.arrange(reckon.place.program.parent.parent, tree)
        captured = copy.copy(reckon)
        captured.place = copy.copy(reckon.place)
        captured.place.program = tree / "bin/reckon"
        self.server = Server(captured, *args)
        self.number = self.files = 0

    @staticmethod
    def arrange(real, tree):
        """Makes a tree of programs, because they look for each other in their own folder: reckon and
        reckond are copies, the front is this file, the others are symbolic links."""
        (tree / "bin").mkdir(parents=True)
        (tree / "libexec").mkdir()
        shutil.copy2(real / "bin/reckon", tree / "bin/reckon")
        for path in (real / "libexec").iterdir():
            if path.name == "reckond":
                shutil.copy2(path, tree / "libexec/reckond")
            elif path.name != "reckon-front-native" and not path.name.endswith(".p"):
                (tree / "libexec" / path.name).symlink_to(path)
        shutil.copy2(pathlib.Path(__file__), tree / "libexec/reckon-front-native")
        (tree / "libexec/reckon-front-native").chmod(0o755)

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

    def cancel(self, number):
        """Reports that the client of request `number` has disconnected."""
        self.send_frame(CANCEL, 0, number, b"")

    def send_frame(self, kind, flags, number, payload, reserved=0, along=NOTHING):
        if len(payload) > INLINE_MAX:
            flags |= BLOB
        frame = HEAD.pack(MAGIC, kind, flags, number, len(payload), reserved) + payload
        self.sock.sendall(struct.pack("=IB", len(frame), along) + frame)

    def call(self, name, key, /, **values):
        """Makes a call; returns (None, its result), or (the error's name, the struct of the error)."""
        number = self.send_call(name, key, **values)
        while True:
            got, is_error, answer = self.receive()
            if got == number:
                break
        if is_error:
            failure = field_table.read(field_table.table().common.FAILURE, answer)
            return field_table.errors()[failure["error"]], failure
        return None, field_table.read(field_table.call(name)[1].gives_struct, answer)

    def send_call(self, name, key, /, number=None, **values):
        """Sends a request; returns its id."""
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
        """(id, whether it is an error, its image); self.files is the number of its descriptors."""
        size, self.files = struct.unpack("=II", self.stream.read(8))
        frame = self.stream.read(size)
        _, kind, flags, number, _, _ = HEAD.unpack_from(frame)
        assert kind in (REPLY, ERROR) and flags & CALL
        return number, kind == ERROR, frame[HEAD.size:]
