"""A small client of the kernel protocol (src/wire/kernel.h), independent of the C one.

It reads pipes and packets like a host: on SYNC it drains the pipes before it acknowledges, so
`Execution.events` has the order of the program.
"""

import array
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, field

from leftovers import PATIENCE

MAGIC = 0x314B4B52
HEAD = struct.Struct("=IHHQII")
FIELD = struct.Struct("=II")
INLINE_MAX = 64 * 1024

(EXECUTE, VARIABLES, COMPLETE, INSPECT, INPUT_REPLY, SYNC_ACK, SHUTDOWN, CONFIGURE, RESUME,
 IS_COMPLETE) = range(1, 11)
PING = 17
(READY, DISPLAY, UPDATE_DISPLAY, RESULT, ERROR, CLEAR_OUTPUT, INPUT_REQUEST, SYNC, DONE,
 VARIABLES_REPLY, COMPLETE_REPLY, INSPECT_REPLY, IS_COMPLETE_REPLY, PONG) = range(32, 46)
TAGS = dict(
    code=1, filename=2, cursor=3, text=4, env=5, seed=6, input_allowed=7, language=16, version=17,
    mime=18, data=19, display_id=20, metadata=21, name=22, value=23, traceback=24, repair=25, hint=47,
    frame_file=26, frame_line=27, frame_function=28, frame_source=29, wait=30, prompt=31,
    password=32, status=33, var_name=34, var_type=35, var_shape=36, var_size=37, var_preview=38,
    cursor_start=39, cursor_end=40, match=41, note=42, open_fd=43, open_path=44, open_flags=45,
    open_offset=46, var_kind=48, var_omitted=49, detail=50, indent=60,
    var_gone=61, cwd=62)
NAMES = {number: name for name, number in TAGS.items()}
BINARY = ("image/png", "image/jpeg", "image/vnd.reckon.scaled", "application/pdf", "audio/wav")
WAIT_MAX = 60 * PATIENCE  # seconds without an event after which the kernel hangs


class Gone(Exception):
    """The kernel has ended."""


@dataclass
class Packet:
    type: int
    id: int
    fields: list

    def get(self, name, default=None):
        return next((value for key, value in self.fields if key == name), default)

    def text(self, name, default=None):
        value = self.get(name)
        return default if value is None else value.decode("utf-8")

    def all(self, name):
        return [value.decode("utf-8") for key, value in self.fields if key == name]

    @property
    def bundle(self):
        found, mime = {}, None
        for key, value in self.fields:
            if key == "mime":
                mime = value.decode()
            elif key == "data":
                found[mime] = value if mime in BINARY else value.decode("utf-8")
        return found

    @property
    def frames(self):
        keys = ("frame_file", "frame_line", "frame_function", "frame_source")
        return list(zip(*(self.all(key) for key in keys)))


@dataclass
class Execution:
    events: list = field(default_factory=list)  # ("stdout", bytes) | ("stderr", bytes) | Packet
    syncs: int = 0
    done: Packet = None
    late: list = field(default_factory=list)

    def _stream(self, name):
        return b"".join(e[1] for e in self.events if isinstance(e, tuple) and e[0] == name)

    @property
    def stdout(self):
        return self._stream("stdout").decode("utf-8", "replace")

    @property
    def stderr(self):
        return self._stream("stderr").decode("utf-8", "replace")

    def packets(self, kind):
        return [e for e in self.events if isinstance(e, Packet) and e.type == kind]

    @property
    def result(self):
        found = self.packets(RESULT)
        assert len(found) <= 1
        return found[0].bundle if found else None

    @property
    def text(self):
        return self.result and self.result.get("text/plain")

    @property
    def displays(self):
        return self.packets(DISPLAY)

    @property
    def error(self):
        found = self.packets(ERROR)
        assert len(found) <= 1
        return found[0] if found else None

    @property
    def status(self):
        return self.done.text("status")

    @property
    def notes(self):
        return self.done.all("note")

    @property
    def order(self):
        """The events in short: stdout and stderr text merged per run, packets by type."""
        out = []
        for event in self.events:
            if isinstance(event, tuple):
                text = event[1].decode("utf-8", "replace")
                if out and out[-1][0] == event[0]:
                    out[-1] = (event[0], out[-1][1] + text)
                else:
                    out.append((event[0], text))
            else:
                out.append((event.type, event.bundle.get("text/plain")))
        return out


def pack(fields):
    out = []
    for name, value in fields:
        value = value.encode() if isinstance(value, str) else value
        out.append(FIELD.pack(TAGS[name], len(value)) + value)
    return b"".join(out), len(out)


def unpack(payload, count):
    fields, at = [], 0
    while at < len(payload):
        tag, size = FIELD.unpack_from(payload, at)
        at += FIELD.size
        assert at + size <= len(payload), "field longer than its payload"
        fields.append((NAMES[tag], payload[at : at + size]))
        at += size
    assert len(fields) == count
    return fields


class Kernel:
    """A kernel process with its control socket as descriptor 3."""

    def __init__(self, argv, **popen):
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock = mine
        self.ids = 0

        def place():
            os.dup2(its.fileno(), 3)

        if its.fileno() == 3:
            os.set_inheritable(3, True)
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3,), **popen)
        its.close()
        try:
            self.ready = self.receive()
        except Gone:
            self.process.wait()
            raise
        assert self.ready.type == READY

    def close(self):
        self.sock.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, kind, fields=(), ident=0, fds=()):
        payload, count = pack(fields)
        flags, blob = 0, None
        head = HEAD.pack(MAGIC, kind, 1 if len(payload) > INLINE_MAX else 0, ident, len(payload), count)
        if len(payload) > INLINE_MAX:
            import fcntl

            blob = os.memfd_create("payload", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            with open(blob, "wb", closefd=False) as file:
                file.write(payload)
            fcntl.fcntl(blob, 1033, 0xF)  # F_ADD_SEALS: seal, shrink, grow, write
            fds, payload = [*fds, blob], b""
        control = []
        if fds:
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        self.sock.sendmsg([head + payload], control)
        if blob is not None:
            os.close(blob)

    def receive(self, timeout=WAIT_MAX):
        self.sock.settimeout(timeout)
        try:
            data, control, flags, _ = self.sock.recvmsg(HEAD.size + INLINE_MAX, 64)
        except ConnectionResetError:
            raise Gone from None
        if not data:
            raise Gone
        assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
        magic, kind, flags, ident, length, count = HEAD.unpack_from(data)
        assert magic == MAGIC, "packet without magic number"
        payload = data[HEAD.size :]
        if flags & 1:
            (fd,) = struct.unpack("i", control[0][2])
            with mmap.mmap(fd, length, prot=mmap.PROT_READ) as view:
                payload = bytes(view)
            os.close(fd)
        else:
            assert not control
        assert len(payload) == length
        return Packet(kind, ident, unpack(payload, count))

    def execute(self, code, **options):
        return self.finish(self.start(code, **options))

    def start(self, code, filename=None, input_allowed=False, stdin=b"", on_input=None):
        """Sends EXECUTE; finish() receives the results."""
        self.ids += 1
        running = _Running(self, self.ids, on_input)
        fields = [("code", code), ("filename", filename or f"<cell {self.ids}>")]
        if input_allowed:
            fields.append(("input_allowed", "1"))
        self.send(EXECUTE, fields, self.ids, running.open_pipes(stdin))
        running.close_far_ends()
        return running

    def finish(self, running):
        return running.run()

    def ask(self, kind, **fields):
        self.ids += 1
        self.send(kind, [(name, str(value)) for name, value in fields.items()], self.ids)
        reply = self.receive()
        assert reply.id == self.ids
        return reply

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


class _Running:
    def __init__(self, kernel, ident, on_input):
        self.kernel, self.ident, self.on_input = kernel, ident, on_input
        self.out = Execution()
        self.pipes = {}
        self.started = threading.Event()

    def open_pipes(self, stdin):
        self.far = []
        for name in ("stdout", "stderr"):
            near, far = os.pipe()
            os.set_blocking(near, False)
            self.pipes[near] = name
            self.far.append(far)
        near, far = os.pipe()
        if len(stdin) > 60000:
            threading.Thread(target=self._feed, args=(far, stdin), daemon=True).start()
        else:
            os.write(far, stdin)
            os.close(far)
        self.far.append(near)
        return self.far

    @staticmethod
    def _feed(fd, data):
        with open(fd, "wb") as file:
            file.write(data)

    def close_far_ends(self):
        for fd in self.far:
            os.close(fd)

    def _read(self, fd):
        """Reads the available output; removes the pipe at its end."""
        while True:
            try:
                data = os.read(fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                os.close(fd)
                del self.pipes[fd]
                return
            self.started.set()
            self.out.events.append((self.pipes[fd], data))

    def _drain(self):
        for fd in list(self.pipes):
            self._read(fd)

    def run(self):
        try:
            self._loop()
        finally:
            for fd in self.pipes:
                os.close(fd)
            self.pipes = {}
        return self.out

    def _loop(self):
        sock = self.kernel.sock
        while self.out.done is None:
            ready, _, _ = select.select([sock, *self.pipes], [], [], WAIT_MAX)
            assert ready, "the kernel hangs"
            if sock in ready:
                self._packet(self.kernel.receive())
                continue
            for fd in ready:
                if fd in self.pipes:
                    self._read(fd)

    def _packet(self, packet):
        assert packet.id == self.ident
        if packet.type == SYNC:
            self.out.syncs += 1
            self._drain()
            self.kernel.send(SYNC_ACK, (), self.ident)
        elif packet.type == DONE:
            self._drain()
            self.out.done = packet
        elif packet.type == INPUT_REQUEST:
            self.out.events.append(packet)
            answer = self.on_input(packet)
            self.kernel.send(INPUT_REPLY, [] if answer is None else [("text", answer)], self.ident)
        else:
            assert DISPLAY <= packet.type < INPUT_REQUEST, packet.type
            self.out.events.append(packet)


def table(bundle):
    return json.loads(bundle["application/vnd.reckon.table+json"])
