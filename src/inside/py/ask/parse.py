"""Where a cursor is in incomplete code: in a string, in a call, after a dot."""

import re

_WORD = re.compile(r"[^\W\d]\w*")
_PREFIX = re.compile(r"[rbfuRBFU]{1,2}$")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_TEXT_MAX = 200_000  # before the cursor; earlier text matters little
_PIECES_MAX = 100  # in one expression: names, calls, subscripts


def _name_start(text, end):
    """The start of the name that ends at `end`; `end` if there is none."""
    start = end
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while start < end and not (text[start].isidentifier()):
        start += 1
    return start


class Place:
    """
    before   the text up to the cursor
    string   where the string around the cursor begins, or None
    quote    its quotes, and `prefix` what precedes them
    open     [(bracket, offset)] of unclosed brackets, the innermost last
    comment  whether the cursor is in a comment
    """

    def __init__(self, before):
        self.before = before = before[-_TEXT_MAX:]
        self.string, self.quote, self.prefix = None, "", ""
        self.open, self.comment = [], False
        self.strings = []  # (start, end) of complete strings
        at = 0
        while at < len(before):
            at = self._step(before, at)
        self.line_start = before.rfind("\n") + 1

    def _step(self, text, at):
        char = text[at]
        if char == "#":
            end = text.find("\n", at)
            self.comment = end < 0
            return len(text) if end < 0 else end
        if char in "'\"":
            return self._string(text, at)
        if char in "([{":
            self.open.append((char, at))
        elif char in ")]}" and self.open and self.open[-1][0] == _CLOSING[char]:
            self.open.pop()
        return at + 1

    def _string(self, text, at):
        quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
        found = _PREFIX.search(text, max(0, at - 2), at)
        prefix = found[0] if found and not text[: found.start()][-1:].isalnum() else ""
        end = at + len(quote)
        while end < len(text):
            if text[end] == "\\":
                end += 2
            elif text.startswith(quote, end):
                self.strings.append((at - len(prefix), end + len(quote)))
                return end + len(quote)
            elif text[end] == "\n" and len(quote) == 1:
                return end  # an unclosed string ends with the cell
            else:
                end += 1
        self.string, self.quote, self.prefix = at, quote, prefix
        return len(text)

    @property
    def content(self):
        """The text of the unfinished string so far."""
        return self.before[self.string + len(self.quote):]

    @property
    def line(self):
        return self.before[self.line_start:]

    def expression(self, end):
        """The offset of the primary expression that ends at `end`."""
        text, at = self.before, end
        for _ in range(_PIECES_MAX):
            if at <= 0:
                break
            before = self._piece(text, at)
            if before is None:
                break
            at = before
            gap = len(text[:at].rstrip(" \t"))
            if gap and text[gap - 1] == "." and text[at:at + 1] not in ("(", "["):
                at = gap - 1
                continue
            if text[at:at + 1] in ("(", "[") and gap and (
                    text[gap - 1].isalnum() or text[gap - 1] in "_)]'\""):
                at = gap
                continue
            break
        return at

    def _piece(self, text, at):
        """The start of the name, literal or bracket that ends at `at`."""
        for start, end in reversed(self.strings):
            if end == at:
                return start
        if text[at - 1] in ")]}":
            return self._bracket(text, at - 1)
        start = _name_start(text, at)
        return start if start < at else None

    def _bracket(self, text, at):
        """The opening bracket for a closing one, ignoring strings."""
        inside = Place.__new__(Place)
        inside.open, inside.strings, inside.string = [], [], None
        opened, step = {}, 0
        while step <= at:
            char = text[step]
            if step == at:
                return inside.open[-1][1] if inside.open else None
            step = inside._step(text, step)
        return opened.get(at)


def names_in(source):
    """Names that the code assigns, before it has run."""
    found = set()
    for pattern in (r"(?:^|[\s;,(])([^\W\d]\w*)\s*(?::[^=\n]+)?=(?!=)", r"\b(?:def|class)\s+([^\W\d]\w*)",
                    r"\bfor\s+([^\W\d]\w*)", r"\bas\s+([^\W\d]\w*)"):
        found.update(re.findall(pattern, source[:_TEXT_MAX]))
    return found


def word_before(text):
    """The unfinished name at the end of a text, "" if there is none."""
    return text[_name_start(text, len(text)):]


def word_at(text, at):
    """(start, end) of the name around an offset, or None."""
    for found in _WORD.finditer(text, max(0, at - 200), min(len(text), at + 200)):
        if found.start() <= at <= found.end():
            return found.start(), found.end()
    return None
