"""
An exception as an ERROR packet: plain text without the kernel's own frames, limited in size; and
the result of repair.py. If making it fails, the exception itself is still reported.
"""

import linecache
import traceback
from collections import deque
from itertools import islice

from _reckon import wire

VALUE_MAX = 64 * 1024
TRACEBACK_MAX = 256 * 1024
_FIRST, _LAST = 10, 40
_MARK = "<reckon>"
_TracebackException = traceback.TracebackException
_StackSummary, _FrameSummary = traceback.StackSummary, traceback.FrameSummary
_walk = traceback.walk_tb
_getline = linecache.getline
_SYNTAX = (SyntaxError, IndentationError, TabError)
_type = type

_trace_of = BaseException.__dict__["__traceback__"].__get__

explain = None  # set by repair.py
failed = {}  # file name of a failed cell -> the line at which it failed
sources = {}  # file name of a cell -> its lines, in case user code empties linecache


def _is_ours(trace):
    return trace.tb_frame.f_code.co_filename.startswith(_MARK)


def strip(trace):
    """The traceback from the first frame that does not belong to the kernel."""
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
        # A cell with await runs in the event loop; hide the loop's frame.
        if trace is not None and trace.tb_frame.f_code.co_name == "run_until_complete":
            trace = trace.tb_next
    return trace


def _source(file, line):
    lines = sources.get(file)
    if lines is not None:
        return lines[line - 1] if 0 < line <= len(lines) else ""
    try:
        return _getline(file, line)
    except Exception:
        return ""


def _frame_fields(trace):
    first, last, total = [], deque(maxlen=_LAST), 0
    while trace is not None:
        if not _is_ours(trace):
            total += 1
            entry = (trace.tb_frame.f_code, trace.tb_lineno)
            (first if total <= _FIRST else last).append(entry)
        trace = trace.tb_next
    fields = []
    for code, line in first + list(last):
        fields += [
            (wire.FRAME_FILE, code.co_filename),
            (wire.FRAME_LINE, str(line or 0)),
            (wire.FRAME_FUNCTION, code.co_name),
            (wire.FRAME_SOURCE, wire.clip(_source(code.co_filename, line or 0).strip(), 500)),
        ]
    return fields


def _syntax_fields(error):
    """A cell that cannot be parsed has no frame; readers need the place of the error."""
    return [
        (wire.FRAME_FILE, str(error.filename or "")),
        (wire.FRAME_LINE, str(int(error.lineno or 0))),
        (wire.FRAME_FUNCTION, "<module>"),
        (wire.FRAME_SOURCE, wire.clip(str(error.text or "").strip(), 500)),
    ]


def _drop_ours(report, seen):
    """Removes the kernel's frames from chained exceptions, too."""
    if report is None or id(report) in seen or len(seen) > 100:
        return
    seen.add(id(report))
    report.stack[:] = [f for f in report.stack if not f.filename.startswith(_MARK)]
    for other in [report.__cause__, report.__context__, *(report.exceptions or ())]:
        _drop_ours(other, seen)


def _beginning(trace):
    """The part of a deep stack that limit=-_LAST omits: its first frames, and how many more."""
    total = sum(1 for _ in _walk(trace))
    missing = total - _LAST
    if missing <= 0:
        return []
    first = list(_StackSummary.extract(islice(_walk(trace), min(missing, _FIRST))))
    if missing > _FIRST:
        first.append(_FrameSummary(f"({missing - _FIRST} more frames)", 0, "…", line=""))
    return first


def _plain_text(name, value, frames):
    """A traceback made only of strings, used if the normal way fails."""
    places = [data for tag, data in frames if tag in (wire.FRAME_FILE, wire.FRAME_LINE)]
    lines = [f'  File "{places[at]}", line {places[at + 1]}' for at in range(0, len(places), 2)]
    head = ["Traceback (most recent call last):"] if lines else []
    return "\n".join([*head, *lines, f"{name}: {value}" if value else name])


def _text(error, trace):
    report = _TracebackException(
        _type(error), error, trace, limit=-_LAST, compact=True, max_group_width=10,
        max_group_depth=5)
    report.stack[:0] = _beginning(trace)
    _drop_ours(report, set())
    if not report.stack:
        report.stack = None
    pieces, size = [], 0
    for piece in report.format():
        pieces.append(piece)
        size += len(piece)
        if size > TRACEBACK_MAX:
            break
    text = "".join(pieces)
    if len(text) > TRACEBACK_MAX:
        half = TRACEBACK_MAX // 2
        text = text[:half] + "\n… (cut) …\n" + text[-half:]
    return text.rstrip("\n")


def fields(error):
    """The fields of ERROR. Works for any exception object, whatever its methods do."""
    name = _type(error).__name__
    trace = strip(_trace_of(error))
    try:
        value = str(error)
        if _type(value) is not str:
            value = str.__str__(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        value = f"<str of {name} failed>"
    if len(value) > VALUE_MAX:  # the important part may be at either end
        half = VALUE_MAX // 2
        value = f"{value[:half]}… ({len(value) - VALUE_MAX} more characters) …{value[-half:]}"
    try:
        text = _text(error, trace)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = None
    frames = _frame_fields(trace)
    if not frames and any(_type(error) is kind for kind in _SYNTAX):
        frames = _syntax_fields(error)
    if text is None:
        text = _plain_text(name, value, frames)
    return [(wire.NAME, name), (wire.VALUE, value), (wire.TRACEBACK, text),
            *_repair_fields(error, name, value, trace), *frames]


def _note_failure(trace):
    """Notes at which line a cell failed: later lines did not run."""
    if trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file in sources:
            failed.pop(file, None)
            failed[file] = trace.tb_lineno or 0
        if len(failed) > 100:
            failed.pop(next(iter(failed)))


def _repair_fields(error, name, value, trace):
    """REPAIR and HINT; none if they cannot be made, because the traceback is enough."""
    try:
        view, hints = explain(error, name, value, trace, _source)
        _note_failure(trace)
        return [(wire.REPAIR, view), *[(wire.HINT, hint) for hint in hints]] if view else []
    except KeyboardInterrupt:
        raise
    except BaseException:
        return []


def send(error):
    try:
        wire.send(wire.ERROR, fields(error))
    except KeyboardInterrupt:
        wire.send(wire.ERROR, fields(KeyboardInterrupt()))
