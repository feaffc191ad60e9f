"""Runs the code of a hint before it is offered: in a forked child, which ends afterwards.

The child has a copy of all values, so nothing that it computes reaches the session. It may read,
but not write: an audit hook refuses to change a file, start a program or use a socket, no file
can grow, and the kernel's descriptors are closed. It has half a second, half a GiB more than the
kernel, and is the first process that the OOM killer ends. If no child can be started, the code
is not offered: a wrong hint is worse than none.
"""

import ast
import gc
import os
import resource
import select
import signal
import sys
import warnings
from time import perf_counter as _clock

_type = type
_fork, _pipe, _write, _close, _exit = os.fork, os.pipe, os.write, os.close, os._exit
_wait, _kill, _closerange, _open, _read = os.waitpid, os.kill, os.closerange, os.open, os.read
_select, _setrlimit, _add_hook = select.select, resource.setrlimit, sys.addaudithook
_compile, _eval, _parse, _walk = compile, eval, ast.parse, ast.walk
_SECONDS, _MEMORY, _CODE_MAX, _TRIALS_MAX = 0.5, 512 << 20, 4000, 6
_READ_ONLY = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr")
_REFUSED = ("os.", "shutil.", "subprocess.", "socket.", "sqlite3.", "ctypes.", "pty.", "fcntl.",
            "signal.", "tempfile.", "urllib.", "http.", "smtplib.", "ftplib.", "mmap.", "syslog.",
            "winreg.", "resource.", "sys.addaudithook", "builtins.input")  # fmt: skip
_EFFECTS = ("to_", "save", "write", "dump", "unlink", "remove", "rmtree", "rename", "mkdir", "put",
            "commit", "execute", "send", "post", "urlopen", "download", "upload", "exec", "eval",
            "system", "popen", "spawn", "fork", "kill", "input", "sleep", "show", "print")  # fmt: skip


def _guard(event, arguments):
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 and _type(arguments[2]) is int else 0
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            return
    elif not event.startswith(_REFUSED) or event.startswith(_READ_ONLY):
        return
    raise PermissionError("a trial changes nothing")


def _is_harmless(tree):
    """Whether the code calls nothing that, by its name, has side effects."""
    for node in _walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return False
        if name.lower().startswith(_EFFECTS) and name not in ("to_numpy", "to_datetime", "to_numeric"):
            return False
    return True


def _confine(result_fd):
    """In the child: drops everything that belongs to the kernel, except the pipe."""
    for number in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        own = _open("/proc/self/oom_score_adj", os.O_WRONLY)
        _write(own, b"1000")
    except OSError:
        pass
    os.dup2(result_fd, 3, inheritable=False)
    _closerange(4, 65536)
    null = _open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    _setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _setrlimit(resource.RLIMIT_CORE, (0, 0))
    _setrlimit(resource.RLIMIT_CPU, (1, 1))
    with open("/proc/self/statm", "rb") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize() + _MEMORY
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    _setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard),) * 2)
    _add_hook(_guard)


def _child(result_fd, tree, place):
    answer = b"0"
    try:
        gc.disable()
        _confine(result_fd)
        warnings.simplefilter("ignore")
        names = {**place.locals()}
        _eval(_compile(tree, "<trial>", "eval"), place.globals(), names)
        answer = b"1"
    except BaseException:
        pass
    try:
        _write(3, answer)
    finally:
        _exit(0)


def _run(tree, place, seconds):
    ours, result_fd = _pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = _fork()
        if child == 0:
            try:
                _child(result_fd, tree, place)
            finally:
                _exit(0)
    except BaseException:
        _close(ours)
        _close(result_fd)
        raise
    _close(result_fd)
    try:
        ready, _, _ = _select([ours], [], [], seconds)
        return bool(ready) and _read(ours, 1) == b"1"
    finally:
        _close(ours)
        _kill(child, signal.SIGKILL)
        _wait(child, 0)


def runs(facts, code):
    """Whether an expression yields a value in place of the failing one."""
    place = facts.user
    trials = facts.trials
    if place is None or len(code) > _CODE_MAX or trials >= _TRIALS_MAX:
        return False
    facts.trials = trials + 1
    facts.check_time()
    started = _clock()
    try:
        tree = _parse(code.strip(), mode="eval")
        return _is_harmless(tree) and _run(tree, place, _SECONDS)
    except (SyntaxError, ValueError, OSError, RuntimeError, RecursionError):
        return False
    finally:
        facts.until += _clock() - started  # the trial has its own time limit
