"""Runs reckon-agent alone: the test is its parent and answers its cells from a script (wire/agent.h)."""
import dataclasses
import os
import pathlib
import socket
import struct
import subprocess

from wire import FIELD, HEAD, MAGIC

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
AGENT = ROOT / "build/libexec/reckon-agent"
START, ASK, RESULT, PAGED = 1, 2, 3, 10
READY, TEXT, NOTICE, EXECUTE, DONE, PAGE, CODE, DISCARD = 32, 33, 35, 37, 38, 40, 41, 44
STOPS = ["answer", "max_steps", "max_tokens", "budget", "max_time", "stuck", "length", "refused",
         "interrupted", "session_lost", "failed", "tool_calls"]
PROTOCOLS = {"openai": (0, "/v1"), "openai-responses": (1, "/v1"), "anthropic": (2, ""), "gemini": (3, "")}


@dataclasses.dataclass
class Output:
    """The output of the agent for one question."""
    cells: list = dataclasses.field(default_factory=list)
    pages: list = dataclasses.field(default_factory=list)
    notices: list = dataclasses.field(default_factory=list)
    discarded: list = dataclasses.field(default_factory=list)
    code: str = ""  # streamed while the model writes it
    text: str = ""
    stop: str = ""
    message: str = ""
    answer: str = ""


def send(sock, kind, number, fields):
    payload = b"".join(FIELD.pack(tag, len(value)) + value for tag, value in fields)
    assert len(payload) < 60000, "of longer ones the wire makes a memory file"
    sock.send(HEAD.pack(MAGIC, kind, 0, number, len(payload), len(fields)) + payload)


def receive(sock):
    """(type, id, {tag: value}), or None if the agent has ended."""
    data, fds, _, _ = socket.recv_fds(sock, 1 << 17, 1)
    if not data:
        return None
    _, kind, _, number, size, count = HEAD.unpack_from(data)
    payload = data[HEAD.size:]
    if fds:
        payload = os.pread(fds[0], size, 0)
        os.close(fds[0])
    fields, at = {}, 0
    for _ in range(count):
        tag, length = FIELD.unpack_from(payload, at)
        at += FIELD.size
        fields[tag] = payload[at:at + length]
        at += length
    return kind, number, fields


def start(url, provider, calling=0, context=100000, program=AGENT, retries=4):
    """Starts an agent and sends its settings; returns it and our end of its socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    agent = subprocess.Popen([program], env={"RECKON_LOG": "error"}, close_fds=False,
                             preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
    theirs.close()
    settings = struct.pack("=19Q", PROTOCOLS[provider][0], calling, 0, 8, 0, 0, 30000, context, 500,
                           retries, *[0] * 9)
    send(ours, START, 0, [(1, settings), (2, b"m"), (3, url.encode()), (4, b"key"), (5, b"python")])
    return agent, ours


def ask(url, provider, question="?", run=lambda code: ("ok", "done"), calling=0, context=100000,
        path=None, program=AGENT, retries=4):
    """Asks one question; `run` returns status and text of a cell, `path` is appended to the URL."""
    path = PROTOCOLS[provider][1] if path is None else path
    agent, ours = start(url + path, provider, calling, context, program, retries)
    output = Output()
    try:
        while not output.stop:
            frame = receive(ours)
            assert frame is not None, f"the agent ended with {agent.wait()}"
            kind, number, fields = frame
            if kind == READY:
                send(ours, ASK, 0, [(9, question.encode())])
            elif kind == TEXT:
                output.text += fields[9].decode()
            elif kind == CODE:
                output.code += fields[9].decode()
            elif kind == DISCARD:
                output.discarded.append(fields[9].decode())
                output.text = output.code = ""
            elif kind == NOTICE:
                output.notices.append(fields[9].decode())
            elif kind == EXECUTE:
                output.cells.append(fields[14].decode())
                status, text = run(output.cells[-1])
                send(ours, RESULT, number, [(11, status.encode()), (9, text.encode())])
            elif kind == PAGE:
                output.pages.append(fields[25].decode())
                send(ours, PAGED, number, [(11, b"ok"), (9, b"a page")])
            elif kind == DONE:
                output.stop = STOPS[struct.unpack("=Q", fields[16])[0]]
                output.message = fields.get(17, b"").decode()
                output.answer = fields.get(9, b"").decode()
    finally:
        ours.close()
        agent.kill()
        agent.wait()
    return output
