"""Looking at the session without running a cell: variables, completion, inspection."""

import inspect
import keyword
import re
import sys
import types

from _reckon import cell, magics, pretty, wire

_VARIABLES_MAX = 1000
_MATCHES_MAX = 1000
_type = type
_HIDDEN = {"In", "Out", "exit", "quit"}
_NOT_DATA = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
_BIG = (list, tuple, dict, set, frozenset, str, bytes, bytearray)


def _quiet(function, otherwise):
    """The result of a look at a hostile object."""
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise


def _shape(value):
    if isinstance(value, _BIG):
        return str(len(value))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) < 10 and all(isinstance(n, int) for n in shape):
        return str(tuple(int(n) for n in shape)) if shape else ""
    return ""


def _size(value):
    usage = getattr(value, "memory_usage", None)
    if usage is not None and _type(value).__module__.startswith("pandas."):
        used = usage(deep=False)
        return str(int(used.sum() if hasattr(used, "sum") else used))
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return str(int(size))
    return str(sys.getsizeof(value))


def _preview(value):
    if isinstance(value, (str, bytes, bytearray)):
        text = repr(value[:130])
    elif isinstance(value, _BIG) and len(value) > 60:
        text = pretty.safe_repr(_type(value)(list(value)[:30]), 300) if _type(value) in (
            list, tuple) else f"{_type(value).__name__} of {len(value)} items"
    else:
        text = pretty.safe_repr(value, 400)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"


def _is_users(name, value):
    return not (name.startswith("_") or name in _HIDDEN or isinstance(value, _NOT_DATA))


def variables():
    """VARIABLES."""
    fields = []
    for name, value in list(cell.namespace.items()):
        if _type(name) is not str or not _is_users(name, value):
            continue
        if len(fields) >= 5 * _VARIABLES_MAX:
            break
        fields += [
            (wire.VAR_NAME, name),
            (wire.VAR_TYPE, _type(value).__name__),
            (wire.VAR_SHAPE, _quiet(lambda: _shape(value), "")),
            (wire.VAR_SIZE, _quiet(lambda: _size(value), "")),
            (wire.VAR_PREVIEW, _quiet(lambda: _preview(value), "")),
        ]
    wire.send(wire.VARIABLES_REPLY, fields)
    return True


_PATH = re.compile(r"(?P<path>(?:[^\W\d]\w*\.)*)(?P<stem>(?:[^\W\d]\w*)?)$")
_KEY = re.compile(r"(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\[(?P<quote>['\"])(?P<stem>[^'\"\n]*)$")


def _resolve(path):
    """The object a dotted name stands for; only plain look-ups, no calls."""
    first, *rest = path.split(".")
    names = cell.namespace
    if first in names:
        value = names[first]
    else:
        value = cell.builtins.__dict__[first]
    for name in rest:
        value = getattr(value, name)
    return value


def _names(path, stem):
    if path:
        names = _quiet(lambda: dir(_resolve(path)), [])
    else:
        names = [*cell.namespace, *cell.builtins.__dict__, *keyword.kwlist]
    found = {n for n in names if _type(n) is str and n.startswith(stem)}
    if not stem.startswith("_"):
        found = {n for n in found if not n.startswith("_")}
    return sorted(found)


def _keys(path, stem):
    value = _quiet(lambda: _resolve(path), None)
    columns = getattr(value, "columns", None)
    keys = value if isinstance(value, dict) else columns if columns is not None else ()
    return _quiet(lambda: [k for k in list(keys) if _type(k) is str and k.startswith(stem)], [])


def complete(source, cursor):
    """COMPLETE: names, attributes, keywords, keys of dicts and columns. Offsets are bytes."""
    before = source[:cursor].decode("utf-8", "replace")
    match = _KEY.search(before)
    if match is not None:
        matches = _keys(match["path"], match["stem"])
    else:
        match = _PATH.search(before)
        matches = _names(match["path"].rstrip("."), match["stem"])
    start = cursor - len(match["stem"].encode("utf-8"))
    fields = [(wire.CURSOR_START, str(start)), (wire.CURSOR_END, str(cursor))]
    fields += [(wire.MATCH, name) for name in matches[:_MATCHES_MAX]]
    wire.send(wire.COMPLETE_REPLY, fields)
    return True


def _word_at(source, cursor):
    """The dotted name around the cursor, or the function whose call it is in."""
    text = source.decode("utf-8", "replace")
    at = len(source[:cursor].decode("utf-8", "replace"))
    for match in re.finditer(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", text):
        if match.start() <= at <= match.end():
            return match[0]
    call = re.findall(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)\([^()]*$", text[:at])
    return call[-1] if call else None


def _describe(name, value, detailed=False):
    lines = []
    if callable(value):
        signature = _quiet(lambda: str(inspect.signature(value)), None)
        if signature is not None:
            lines.append(f"Signature: {name}{signature}")
    lines.append(f"Type: {_type(value).__name__}")
    if not isinstance(value, _NOT_DATA):
        lines.append(f"Value: {_quiet(lambda: _preview(value), '')}")
    doc = _quiet(lambda: inspect.getdoc(value), None)
    if isinstance(doc, str):
        lines += ["", wire.clip(doc, 64 * 1024)]
    source = _quiet(lambda: inspect.getsource(value), None) if detailed else None
    if isinstance(source, str):
        lines += ["", "Source:", wire.clip(source, 64 * 1024)]
    return "\n".join(lines)


def describe(name, detailed):
    """The text of name? and name??, or None."""
    try:
        value = _resolve(name)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return _describe(name, value, detailed)


magics.describe, magics.preview = describe, _preview


def inspect_(source, cursor):
    """INSPECT: signature, type, value and documentation."""
    fields = []
    name = _word_at(source, cursor)
    try:
        value = _resolve(name) if name else None
        found = name is not None
    except KeyboardInterrupt:
        raise
    except BaseException:
        found = False
    if found:
        fields = [(wire.MIME, "text/plain"), (wire.DATA, _describe(name, value))]
    wire.send(wire.INSPECT_REPLY, fields)
    return True
