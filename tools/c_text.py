"""Functions for checkers of C sources: remove comments, find functions in kernel style."""
import re

COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.S)
HEAD = re.compile(r"^\w[^\n;={}]*?(\w+)(\([^;{}]*\))\s*$", re.M)


def without_comments(text):
    """The text with comments replaced by blanks, so that line numbers stay the same."""
    return COMMENT.sub(lambda found: found.group() if found.group()[0] in "\"'"
                       else re.sub(r"[^\n]", " ", found.group()), text)


def functions(text):
    """Yields (line, name, parameters, body); both braces are in column 0."""
    at = 0
    while (start := text.find("\n{\n", at)) >= 0:
        end = text.find("\n}", start)
        if end < 0:
            return
        heads = list(HEAD.finditer(text, at, start))
        if heads and heads[-1].end() >= start:
            yield text.count("\n", 0, heads[-1].start()) + 1, *heads[-1].groups(), text[start + 2:end]
        at = end
