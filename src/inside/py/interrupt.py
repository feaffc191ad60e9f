"""Makes interrupts reach code that blocks, see python/interrupt.c."""

import _signal
import os
import posix
import sys

import _reckon_c
from _reckon import programs, wire

_SIGINT, _OUR_OWN, _EINVAL = 2, _signal.SIGRTMAX, 22
_SQLITE_STEPS = 100_000  # steps of its virtual machine, a few milliseconds
_set_handler = _signal.signal
_taken = _reckon_c.interrupt_taken


def _signal_signal(signalnum, handler, /):
    """Set the action for the given signal."""
    if signalnum == _OUR_OWN:
        raise OSError(_EINVAL, "Invalid argument")
    before = _set_handler(signalnum, handler)
    if signalnum == _SIGINT:
        _taken()
    return before


def _system(command):
    """Execute the command in a subshell."""
    sys.audit("os.system", command)
    wire.settle()
    status = programs.run_group(["/bin/sh", "-c", os.fsencode(command)]).returncode
    return -status if status < 0 else status << 8  # as wait() returns it


def _nothing():
    """Called by SQLite during a query, so that Python handles its signals; 0 means continue."""
    return 0


def sqlite(module):
    """Hook of sqlite3: makes queries interruptible."""
    original = module.connect

    def connect(*arguments, **options):
        connection = original(*arguments, **options)
        connection.set_progress_handler(_nothing, _SQLITE_STEPS)
        return connection

    connect.__name__ = connect.__qualname__ = "connect"
    connect.__doc__ = original.__doc__
    module.connect = connect
    inner = sys.modules.get("sqlite3.dbapi2")
    if inner is not None:
        inner.connect = connect


def hook():
    """In the zygote, before the first cell."""
    _set_handler(_OUR_OWN, _reckon_c.interrupt_hard)
    _signal_signal.__name__ = _signal_signal.__qualname__ = "signal"
    _signal_signal.__module__ = "_signal"
    _signal.signal = _signal_signal
    _system.__name__ = _system.__qualname__ = "system"
    _system.__module__ = "posix"
    os.system = posix.system = _system
    sys.unraisablehook = _reckon_c.unraisablehook
