"""Text of a value, as IPython shows it: wide containers broken into lines, keys in order."""

import re
from collections import Counter, OrderedDict, defaultdict, deque

from _reckon import wire

TEXT_MAX = 1 << 20
_WIDTH = 79
_ITEMS_MAX = 1000
_DEPTH_MAX = 60
_type = type


def safe_repr(value, limit=TEXT_MAX):
    """repr() that neither raises nor returns more than `limit` characters."""
    try:
        text = repr(value)
        if _type(text) is not str:
            text = str.__str__(text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<repr of {_type(value).__name__} failed: {describe(error)}>"
    return wire.clip(text, limit)


def describe(error, limit=200):
    """'Name: message' of an exception whose __str__ may be hostile."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = "no message"
    name = _type(error).__name__
    return wire.clip(f"{name}: {text}" if text else name, limit)


def _in_order(values):
    try:
        return sorted(values)
    except KeyboardInterrupt:
        raise
    except Exception:
        return list(values)


class _TooMuch(Exception):
    pass


class _Printer:
    """
    Layout: a container that fits the line stays on it; otherwise each item gets a line, indented
    by its depth. `budget` bounds the work over the whole value.
    """

    def __init__(self):
        self.budget = TEXT_MAX
        self.open = set()

    def spend(self, text):
        self.budget -= len(text) + 1
        if self.budget < 0:
            raise _TooMuch
        return text

    def parts(self, value):
        """(start, end, [(prefix, item)], empty tail) of a container we lay out, or None."""
        kind = _type(value)
        rep = kind.__repr__
        if kind is list or kind is tuple or kind is deque and False:
            ends = "[]" if kind is list else "()"
            items = [("", item) for item in value[:_ITEMS_MAX]]
            return ends[0], ends[1], items, len(value)
        if kind is dict or rep is OrderedDict.__repr__ and kind is OrderedDict:
            return self._mapping("{", "}", value) if kind is dict else self._mapping(
                "OrderedDict({", "})", value)
        if kind is defaultdict:
            return self._mapping(f"defaultdict({safe_repr(value.default_factory, 200)}, {{", "})", value)
        if kind is Counter:
            keys = [key for key, _ in value.most_common(_ITEMS_MAX)]
            return self._mapping("Counter({", "})", value, keys)
        if kind in (set, frozenset):
            if not value:
                return None
            ordered = _in_order(value)[:_ITEMS_MAX]
            start, end = ("{", "}") if kind is set else ("frozenset({", "})")
            return start, end, [("", item) for item in ordered], len(value)
        return None

    def _mapping(self, start, end, value, keys=None):
        if keys is None:
            keys = list(value)
            keys = _in_order(keys) if len(keys) < _ITEMS_MAX else keys
        keys = keys[:_ITEMS_MAX]
        return start, end, [(safe_repr(key, 10000) + ": ", value[key]) for key in keys], len(value)

    def flat(self, value, room, depth=0):
        """The value on one line, or None when it does not fit into `room`."""
        parts = self.parts(value) if depth < _DEPTH_MAX else None
        if parts is None:
            text = safe_repr(value)
            return text if len(text) <= room and "\n" not in text else None
        start, end, items, total = parts
        if id(value) in self.open:
            return f"{start}...{end}"
        self.open.add(id(value))
        try:
            pieces = []
            left = room - len(start) - len(end)
            for prefix, item in items:
                text = self.flat(item, left - len(prefix), depth + 1)
                if text is None:
                    return None
                pieces.append(prefix + text)
                left -= len(prefix) + len(text) + 2
                if left < -2:
                    return None
            if total > len(items):
                pieces.append("...")
            tail = "," if _type(value) is tuple and total == 1 else ""
            text = start + ", ".join(pieces) + tail + end
            return text if len(text) <= room else None
        finally:
            self.open.discard(id(value))

    def lay_out(self, value, column, depth):
        text = self.flat(value, _WIDTH - column, depth)
        if text is not None:
            return self.spend(text)
        parts = self.parts(value) if depth < _DEPTH_MAX else None
        if parts is None:
            return self.spend(safe_repr(value))
        start, end, items, total = parts
        if id(value) in self.open:
            return self.spend(f"{start}...{end}")
        self.open.add(id(value))
        try:
            indent = depth + len(start)
            lines = []
            for prefix, item in items:
                self.spend(prefix)
                lines.append(prefix + self.lay_out(item, indent + len(prefix), indent))
            if total > len(items):
                lines.append("...")
            tail = "," if _type(value) is tuple and total == 1 else ""
            return start + (",\n" + " " * indent).join(lines) + tail + end
        finally:
            self.open.discard(id(value))


def pretty(value):
    """The text/plain of a value; bounded, never raises (but for an interrupt)."""
    try:
        return wire.clip(_Printer().lay_out(value, 0, 0), TEXT_MAX)
    except _TooMuch:
        return safe_repr(value)
    except RecursionError:
        return safe_repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<repr of {_type(value).__name__} failed: {describe(error)}>"
