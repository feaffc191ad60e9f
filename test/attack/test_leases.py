"""Leased boxes: only a client with the lease key gets the box, once, and nothing runs meanwhile."""
import array
import os
import secrets
import socket
import struct
import time

import pytest
import wire
from leftovers import PATIENCE
from test_lifecycle import connect, requests  # noqa: F401

BEGIN, USAGE, CLOSE, CONTEXT, DOOR, LEASE, ADOPT, BUSY = 3, 4, 6, 9, 12, 23, 24, 25


class Client:
    """A connection to the warden, as libreckon has one."""

    def __init__(self, connect, requests):
        self.connect, self.requests, self.seq = connect, requests, 0
        self.sock = connect()
        self.sock.settimeout(60)
        self.ask(1)

    def send(self, kind, **members):
        self.seq += 1
        self.sock.send(self.requests.make(kind, seq=self.seq, **members))

    def ask(self, kind, **members):
        """(error, the session's number, the reply, descriptors)"""
        self.send(kind, **members)
        data, fds, _, _ = socket.recv_fds(self.sock, 65536, 4)
        assert struct.unpack_from("<I", data, 8)[0] == self.seq
        error = struct.unpack_from("<i", data, self.requests.layout["error"])[0]
        return error, struct.unpack_from("<I", data, 12)[0], data, fds

    def open(self):
        error, session, _, fds = self.ask(2, template=b"python", language=b"python")
        assert error == 0
        return session, Kernel(*fds)

    def lease(self, session, key, seconds=60):
        error, *_ = self.ask(LEASE, session=session, lease=key, seconds=seconds)
        return error

    def adopt(self, key):
        error, session, data, fds = self.ask(ADOPT, lease=key)
        if error != 0:
            assert fds == []
            return None
        at = self.requests.layout["ran"]
        count = struct.unpack_from("<I", data, at)[0]
        ran = [data[at + 4 + 32 * i:at + 36 + 32 * i].partition(b"\0")[0].decode() for i in range(count)]
        return session, Kernel(*fds), ran

    def context(self, session, key=None):
        """Opens a context, or adopts a leased one if there is a key: (its kernel, its connection)."""
        kind, what = (CONTEXT, b"python") if key is None else (ADOPT, key)
        error, _, data, fds = self.ask(kind, session=session, lease=what)
        if error != 0:
            assert fds == []
            return None
        member = Member(self.requests, socket.socket(fileno=fds[1]), session,
                        struct.unpack_from("<I", data, 16)[0])
        return Kernel(fds[0], os.open("/", os.O_RDONLY)), member

    def close(self):
        self.sock.close()


class Member:
    """The connection of a context."""

    def __init__(self, requests, sock, session, number):
        self.requests, self.sock, self.session, self.number = requests, sock, session, number

    def lease(self, key, seconds=60):
        data = bytearray(self.requests.make(LEASE, session=self.session, lease=key, seconds=seconds))
        struct.pack_into("<I", data, 16, self.number)
        self.sock.send(data)
        return struct.unpack_from("<i", self.sock.recv(65536), self.requests.layout["error"])[0]

    def close(self):
        self.sock.close()


class Kernel(wire.Kernel):
    """A kernel's control socket that the warden passed to the client."""

    def __init__(self, control, workspace):  # pylint: disable=super-init-not-called
        self.control = socket.socket(fileno=control)
        self.workspace, self.ids = workspace, 0

    def raw(self, kind, fields=(), ident=0, fds=()):
        payload, count = wire.pack(fields)
        head = wire.HEAD.pack(wire.MAGIC, kind, 0, ident, len(payload), count)
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.control.sendmsg([head + payload], passed)

    def read(self):
        data = self.control.recv(1 << 20)
        return wire.HEAD.unpack_from(data)[1], wire.HEAD.unpack_from(data)[3]

    def until(self, kind, ident):
        self.control.settimeout(30)
        while True:
            found = self.read()
            if found == (wire.SYNC, ident):
                self.raw(wire.SYNC_ACK, ident=ident)
            elif found == (kind, ident):
                return

    def run(self, code, ident):
        """Runs a cell and returns its output."""
        ours, theirs = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        for end in (theirs, null):
            os.chmod(f"/proc/self/fd/{end}", 0o666)
        self.raw(wire.EXECUTE, [("code", code)], ident, [theirs, null, null])
        os.close(theirs)
        os.close(null)
        self.until(wire.DONE, ident)
        os.set_blocking(ours, False)
        try:
            return os.read(ours, 65536).decode()
        except BlockingIOError:
            return ""
        finally:
            os.close(ours)

    def close(self):
        self.control.close()
        os.close(self.workspace)


@pytest.fixture
def client(connect, requests):  # noqa: F811
    made = []

    def new():
        made.append(Client(connect, requests))
        return made[-1]

    yield new
    for each in made:
        each.close()


def leased(client, key, seconds=60, code=None):
    """A new session with a lease; its client is still connected."""
    first = client()
    session, kernel = first.open()
    kernel.until(wire.READY, 0)
    if code is not None:
        kernel.run(code, 1)
    assert first.lease(session, key, seconds) == 0
    return first, session, kernel


def adopted(client, key):
    """Adopts the box, which works once the warden has noticed that the last client ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        mine = client()
        found = mine.adopt(key)
        if found is not None:
            return mine, *found
        time.sleep(0.05)
    raise AssertionError("no box has this lease")


def test_the_lease_key_gets_the_box_once(client, neighbour):
    key = secrets.token_bytes(32)
    first, _, kernel = leased(client, key, code="x = 41")
    # Nobody can adopt the box while a client has it, not even that client.
    assert client().adopt(key) is None and first.adopt(key) is None
    first.close()
    second, session, kernel, ran = adopted(client, key)
    assert ran == []
    kernel.raw(wire.PING, ident=77)
    kernel.until(wire.PONG, 77)
    assert kernel.run("print(x + 1)", 78) == "42\n"
    assert client().adopt(key) is None
    assert second.ask(CLOSE, session=session)[0] == 0
    second.close()
    time.sleep(0.2)
    assert client().adopt(key) is None
    neighbour.check()


def test_a_wrong_lease_gets_nothing(client, neighbour):
    key = secrets.token_bytes(32)
    first, session, _ = leased(client, key)
    first.close()
    stranger = client()
    wrong = [bytes(32), b"\xff" * 32, secrets.token_bytes(32)]
    wrong += [key[:at] + bytes([key[at] ^ 1]) + key[at + 1:] for at in range(32)]
    for each in wrong:
        assert stranger.adopt(each) is None
    # Requests with the session's number fail as well.
    for kind in (USAGE, CLOSE, DOOR, LEASE, BUSY):
        assert stranger.ask(kind, session=session, lease=key, seconds=60)[0] < 0
    second, session, kernel, _ = adopted(client, key)
    assert second.ask(CLOSE, session=session)[0] == 0
    neighbour.check()


def test_a_lease_belongs_to_one_session(client, neighbour):
    key = secrets.token_bytes(32)
    first, session, _ = leased(client, key)
    other = client()
    another, _ = other.open()
    assert other.lease(another, key) < 0
    assert other.lease(another, bytes(32)) < 0
    assert other.lease(another, secrets.token_bytes(32), 3601) < 0
    # A connection that only belongs to the box cannot lease it, nor adopt another.
    door = first.ask(DOOR, session=session)[3][0]
    member = socket.socket(fileno=door)
    member.send(first.requests.make(LEASE, seq=1, session=session, lease=key, seconds=60))
    assert struct.unpack_from("<i", member.recv(65536), first.requests.layout["error"])[0] < 0
    member.send(first.requests.make(ADOPT, seq=2, lease=key))
    assert member.recv(65536) == b""
    member.close()
    assert first.ask(CLOSE, session=session)[0] == 0
    neighbour.check()


def test_a_busy_box_ends_with_its_client(client, neighbour):
    for what in ("begun", "busy", "taken back"):
        key = secrets.token_bytes(32)
        first, session, kernel = leased(client, key)
        if what == "begun":
            first.send(BEGIN, session=session, execution=b"ex_1")
        elif what == "busy":
            assert first.ask(BUSY, session=session, is_busy=1)[0] == 0
        else:
            assert first.lease(session, key, 0) == 0
        first.close()
        kernel.close()
        time.sleep(0.5)
        assert client().adopt(key) is None, what
    neighbour.check()


def test_executions_are_reported_and_busy_is_counted(client, neighbour):
    key = secrets.token_bytes(32)
    first, session, _ = leased(client, key)
    assert first.ask(BUSY, session=session, is_busy=0)[0] < 0
    for on in (1, 1, 0, 0):
        assert first.ask(BUSY, session=session, is_busy=on)[0] == 0
    for number in range(40):
        first.send(BEGIN, session=session, execution=b"ex_%d" % number)
        assert first.ask(USAGE, session=session, lease=struct.pack("<I", 1))[0] == 0
    first.close()
    second, session, _, ran = adopted(client, key)
    assert sorted(ran) == sorted(f"ex_{number}" for number in range(8, 40))
    assert second.ask(CLOSE, session=session)[0] == 0
    neighbour.check()


def test_a_leased_context_is_adopted_with_its_box(client, neighbour):
    """A context has its own lease; only the client that adopted the box gets it, once. A context
    without a lease ends."""
    key, own, other = (secrets.token_bytes(32) for _ in range(3))
    first, session, _ = leased(client, key)
    kernel, member = first.context(session)
    plain, without = first.context(session)
    for each in (kernel, plain):
        each.until(wire.READY, 0)
        each.run("import os\ny = 41", 1)
    assert member.lease(bytes(32)) < 0 and member.lease(own) == 0
    # Nobody can adopt the context while a client has it.
    assert first.context(session, own) is None
    for each in (member, without, first):  # the box's connection last, as when a process ends
        each.close()
    second, session, _, _ = adopted(client, key)
    stranger = client()
    assert stranger.context(session, own) is None
    for wrong in (bytes(32), other, key, own[:-1] + bytes([own[-1] ^ 1])):
        assert second.context(session, wrong) is None
    kernel, member = second.context(session, own)
    kernel.raw(wire.PING, ident=77)
    kernel.until(wire.PONG, 77)
    assert kernel.run("print(y + 1)", 78) == "42\n"
    assert second.context(session, own) is None
    # A context without a lease ends with its connection.
    assert member.lease(own, 0) == 0
    member.close()
    time.sleep(0.5)
    assert second.context(session, own) is None
    assert second.ask(CLOSE, session=session)[0] == 0
    neighbour.check()


def ticks(workspace):
    fd = os.open("ticks", os.O_RDONLY, dir_fd=workspace)
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


TICK = """
import subprocess, threading, time, os
def tick():
    while True:
        with open('ticks', 'a') as file:
            file.write('.')
        time.sleep(0.01)
threading.Thread(target=tick, daemon=True).start()
subprocess.Popen(['sh', '-c', 'while :; do printf . >> ticks; sleep 0.01; done'])
os.setsid() if os.fork() == 0 and time.sleep(31557600) else None
"""


def test_a_leased_box_is_frozen_and_expires(client, neighbour):
    """Threads and child processes of a leased box are frozen, and the box ends with its lease."""
    key = secrets.token_bytes(32)
    first, _, kernel = leased(client, key, seconds=2, code=TICK)
    before = ticks(kernel.workspace)
    time.sleep(0.3)
    assert ticks(kernel.workspace) > before
    first.close()
    deadline = time.monotonic() + 10
    while (now := ticks(kernel.workspace)) != before:
        assert time.monotonic() < deadline
        before = now
        time.sleep(0.3)
    time.sleep(0.5)
    assert ticks(kernel.workspace) == before
    kernel.close()
    time.sleep(3 * PATIENCE)
    assert client().adopt(key) is None
    neighbour.check()


def test_many_leased_boxes_expire(client, neighbour):
    """All leases expire; the fixtures check that nothing of the boxes remains on the host."""
    keys = [secrets.token_bytes(32) for _ in range(12)]
    for key in keys:
        leased(client, key, seconds=2)[0].close()
    time.sleep(4 * PATIENCE)
    stranger = client()
    assert [stranger.adopt(key) for key in keys] == [None] * len(keys)
    neighbour.check()


def test_a_new_box_with_the_same_lease_ends_the_old_one(client, neighbour):
    """A second box with the same lease key replaces the first, as after a restore of the session."""
    key = secrets.token_bytes(32)
    first, session, kernel = leased(client, key, code="x = 'old'")
    first.close()
    time.sleep(0.3)
    second, session, kernel = leased(client, key, code="x = 'new'")
    second.close()
    third, session, kernel, _ = adopted(client, key)
    assert kernel.run("print(x)", 100) == "new\n"
    assert third.ask(CLOSE, session=session)[0] == 0
    neighbour.check()
