"""sys.stdout, sys.stderr and sys.stdin of a kernel, and input()."""

import _thread
import builtins
import getpass
import io
import os
import sys
import threading

import _reckon_c
from _reckon import wire

_read = os.read
_TextIOWrapper, _BufferedReader = io.TextIOWrapper, io.BufferedReader
_type = type


class _Buffer(io.RawIOBase):
    """The binary side of a stream (sys.stdout.buffer)."""

    def __init__(self, number):
        self._number = number

    def write(self, data):
        return wire.write_bytes(self._number, data)

    def writable(self):
        return True

    def flush(self):
        wire.flush()

    def fileno(self):
        return self._number

    def close(self):
        wire.flush()


class Stream(io.TextIOBase):
    """
    A text stream for descriptor 1 or 2. close() does nothing, because later cells need the stream.
    """

    encoding = "UTF-8"
    errors = "backslashreplace"
    newlines = None
    line_buffering = True
    write_through = False
    mode = "w"

    def __init__(self, number, name):
        self._number = number
        self.name = name
        self._buffer = _Buffer(number)

    @property
    def buffer(self):
        return self._buffer

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {_type(text).__name__}")
        return wire.write(self._number, text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        wire.flush()

    def fileno(self):
        return self._number

    def isatty(self):
        return False

    def writable(self):
        return True

    def readable(self):
        return False

    def seekable(self):
        return False

    def reconfigure(self, **_options):
        """Accepted for programs that ask for UTF-8, which the stream already uses."""

    def close(self):
        wire.flush()

    def __repr__(self):
        return f"<{self.name} of the kernel>"


class _Input(io.RawIOBase):
    """Descriptor 0, without reading ahead beyond one execution."""

    used = False

    def readable(self):
        return True

    def readinto(self, into):
        self.used = True
        data = _read(0, len(into))
        into[: len(data)] = data
        return len(data)

    def fileno(self):
        return 0

    def close(self):
        pass


stdout = Stream(1, "stdout")
stderr = Stream(2, "stderr")
_stdin = None
_input_allowed = False


def _new_stdin():
    raw = _Input()
    text = _TextIOWrapper(_BufferedReader(raw), "utf-8", "surrogateescape")
    text.raw_input = raw
    return text


def begin(input_allowed):
    """Before a cell: creates a new standard input, and makes the streams writable again."""
    global _stdin, _input_allowed
    _input_allowed = input_allowed
    if _stdin is None or _stdin.raw_input.used or _stdin.closed:
        mine = sys.__dict__.get("stdin")
        replace = mine is None or mine is _stdin or mine.closed
        _stdin = _new_stdin()
        sys.__stdin__ = _stdin
        if replace:
            sys.stdin = _stdin
    for name, stream in (("stdout", stdout), ("stderr", stderr)):
        present = sys.__dict__.get(name)
        if present is not stream and (present is None or getattr(present, "closed", False) is True):
            setattr(sys, name, stream)


def _no_input():
    return EOFError("nobody answers input() here: put the value into the code, as in name = 'Ada'"
                    " (whoever runs it may pass standard input: reckon run --stdin FILE)")


def _ask(prompt, password):
    fields = [(wire.PROMPT, prompt)]
    if password:
        fields.append((wire.PASSWORD, "1"))
    wire.send(wire.INPUT_REQUEST, fields)
    answer = wire.receive_input()
    if answer is None:
        raise EOFError("the input was ended")
    return answer.removesuffix("\n")


def read_line(prompt="", /):
    """input(): reads standard input first; at its end asks the host, if that answers."""
    prompt = str(prompt)
    stdin = sys.stdin if sys.stdin is not None else _stdin
    if stdin is not _stdin:
        return _original_input(prompt)
    line = stdin.readline()
    if line:
        if prompt:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        return line.removesuffix("\n")
    if not _input_allowed or not wire.is_executing():
        raise _no_input()
    return _ask(prompt, False)


def read_password(prompt="Password: ", stream=None):
    """getpass.getpass()."""
    line = _stdin.readline() if _stdin is not None else ""
    if line:
        return line.removesuffix("\n")
    if not _input_allowed or not wire.is_executing():
        raise _no_input()
    return _ask(str(prompt), True)


def _start_new_thread(function, arguments, keywords=None, /):
    """Start a new thread and return its identifier."""
    if not callable(function):
        raise TypeError("first arg must be callable")
    return _original_start(_owned(function), arguments, *(() if keywords is None else (keywords,)))


_original_start, _owned = _thread.start_new_thread, _reckon_c.owned
_start_new_thread.__name__ = _start_new_thread.__qualname__ = "start_new_thread"
_thread.start_new_thread = _thread.start_new = _start_new_thread
threading._start_new_thread = _start_new_thread
_original_input = input
read_line.__name__ = read_line.__qualname__ = "input"
builtins.input = read_line
getpass.getpass = read_password
sys.stdin = sys.__stdin__ = None
sys.stdout = sys.__stdout__ = stdout
sys.stderr = sys.__stderr__ = stderr
