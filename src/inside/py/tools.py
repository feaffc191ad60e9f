"""Tools of the client: `await tools.NAME(**args)`, `tools.NAME.sync(**args)`, `await NAME(…)`.

A call is one packet on the execution's socket, with another socket for its answer. So many calls
can wait at the same time, in coroutines and threads, and each waits only for its own answer.
"""

import array
import asyncio
import builtins
import json
import os
import socket

_CALL_MAX = 128 * 1024
_ANSWER_MAX = 32 * 1024 * 1024
_loads, _dumps = json.loads, json.dumps
_Socket, _pair = socket.socket, socket.socketpair
_get_loop = asyncio.get_running_loop

_box = None  # the Tools of the running execution


class ToolError(Exception):
    """A tool failed, or did not answer."""


class ToolDenied(ToolError):
    """The client refused a call."""


ToolError.__module__ = ToolDenied.__module__ = "tools"


class Tool:
    """A tool of the client: await it, or call its .sync()."""

    def __init__(self, channel, declared):
        self._channel = channel
        self.__name__ = self.__qualname__ = declared["name"]
        self.__doc__ = declared["description"] or "A tool of the client."
        self.parameters = declared["parameters"]

    def __repr__(self):
        names = self.parameters.get("properties")
        names = ", ".join(map(str, names)) if isinstance(names, dict) else "..."
        return f"tools.{self.__name__}({names})"

    def _by_name(self, given, arguments):
        """Names positional arguments by the schema; a single dict can have all arguments."""
        if not given:
            return arguments
        names = self.parameters.get("properties")
        names = list(names) if isinstance(names, dict) else []
        if len(given) == 1 and not arguments and isinstance(given[0], dict) and set(given[0]) <= {*names}:
            return given[0]
        if len(given) > len(names):
            raise TypeError(f"{self!r} takes {len(names)} arguments in order, {len(given)} were given")
        for name, value in zip(names, given):
            if name in arguments:
                raise TypeError(f"{self!r} got {name} twice")
            arguments[name] = value
        return arguments

    async def __call__(self, /, *given, **arguments):
        answer = self._channel.call(self.__name__, self._by_name(given, arguments))
        loop = _get_loop()
        ready = loop.create_future()
        try:
            loop.add_reader(answer.fileno(), lambda: ready.done() or ready.set_result(None))
            await ready
            return _read(answer)
        finally:
            loop.remove_reader(answer.fileno())
            answer.close()

    def sync(self, /, *given, **arguments):
        """The same for code that does not await: blocks until the answer arrives."""
        with self._channel.call(self.__name__, self._by_name(given, arguments)) as answer:
            return _read(answer)


class _Channel:
    """The socket for calls, until the execution ends."""

    def __init__(self, fd):
        self._socket = _Socket(fileno=os.dup(fd))

    def call(self, name, arguments):
        """Sends a call; returns the socket for its answer."""
        packet = _dumps({"name": name, "arguments": arguments}, allow_nan=False).encode()
        if len(packet) > _CALL_MAX:
            raise ToolError(f"arguments of {len(packet)} bytes; at most {_CALL_MAX}: pass the name"
                            " of a file")
        if self._socket is None:
            raise ToolError("the execution that had this tool has ended")
        ours, theirs = _pair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._socket.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                                 array.array("i", [theirs.fileno()]))])
        except OSError as error:
            ours.close()
            raise ToolError("this execution may call no more tools") from error
        return ours

    def fileno(self):
        return -1 if self._socket is None else self._socket.fileno()

    def close(self):
        self._socket, old = None, self._socket
        if old is not None:
            old.close()


def _read(answer):
    _, ancillary, _, _ = answer.recvmsg(1, socket.CMSG_SPACE(4))
    if not ancillary:
        raise ToolError("the execution ended before an answer came")
    fd = array.array("i", ancillary[0][2])[0]
    try:
        text = os.pread(fd, _ANSWER_MAX, 0)
    finally:
        os.close(fd)
    found = _loads(text)
    if "value" in found:
        return found["value"]
    if "denied" in found:
        raise ToolDenied(found["denied"])
    raise ToolError(found["error"])


class Tools:
    """The tools of the client in this cell."""

    ToolError, ToolDenied = ToolError, ToolDenied

    def __init__(self, declared, channel):
        self._tools = {each["name"]: Tool(channel, each) for each in declared}

    def __getattr__(self, name):
        try:
            return self._tools[name]
        except KeyError:
            there = ", ".join(self._tools)
            raise AttributeError(f"there is no tool {name}; there are: {there}", name=name,
                                 obj=self) from None

    __getitem__ = __getattr__

    def __dir__(self):
        return [*self._tools, "ToolError", "ToolDenied"]

    def __iter__(self):
        return iter(self._tools.values())

    def __len__(self):
        return len(self._tools)

    def __repr__(self):
        return "\n".join(f"{tool!r}: {tool.__doc__}" for tool in self)


def begin(declared, fd):
    """Before a cell that has tools."""
    global _box
    end()
    channel = _Channel(fd)
    _box = (Tools(_loads(declared), channel), channel)
    builtins.tools = _box[0]
    for tool in _box[0]:
        if tool.__name__.isidentifier():
            # does not replace a builtin of the same name
            vars(builtins).setdefault(tool.__name__, tool)


def lent():
    """Options of a Popen whose program may call the cell's tools with reckon-tool."""
    fd = -1 if _box is None else _box[1].fileno()
    if fd < 0:
        return {}
    return {"pass_fds": (fd,), "env": {**os.environ, "RECKON_TOOLS_FD": str(fd)}}


def end():
    """After each cell."""
    global _box
    if _box is None:
        return
    (box, channel), _box = _box, None
    channel.close()
    if getattr(builtins, "tools", None) is box:
        del builtins.tools
    for tool in box:
        if vars(builtins).get(tool.__name__) is tool:
            delattr(builtins, tool.__name__)
