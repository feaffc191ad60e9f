"""Translates !cmd, %magic, %%magic, name? and pasted prompts of a cell to plain Python.

Plain Python always wins: a line is only examined if the parser stops there, so text in strings
and continuation lines is never changed. magics.py implements the commands.
"""

import keyword
import re

from _reckon import magics

_LINES_MAX = 500
_TARGET = r"[A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_]\w*)*"
_ESCAPE = re.compile(rf"^(\s*)(?:({_TARGET})\s*=\s*)?([!%])(.*)$")
_NAMES = r"(%{0,2}[A-Za-z_*][\w.*]*)"
_HELP = re.compile(rf"^(\s*)(?:(\?{{1,2}})\s*{_NAMES}|{_NAMES}(\?{{1,2}}))\s*;?\s*$")
_CELL = re.compile(r"^%%(\w+|!)?[ \t]*(.*)\n?")
_SHELL_CELL = re.compile(r"^!!(.*)", re.S)
_NUMBERED = re.compile(r"^\s*In \[\d+\]: ")  # could also be an annotation of In[3]
_PROMPT = re.compile(r"^\s*(?:>>> ?|In \[\d+\]: ?)")
_MORE = re.compile(r"^\s*(?:>>> ?|In \[\d+\]: ?|\.{3,}: ?|\.\.\. ?)")
_WORD = re.compile(r"^(\w+)(?![\w.])\s*(?!\s*=)(.*)$")
_compile = compile
_NAME = "__reckon_magic__"


def _parse(source, name, flags):
    """
    (syntax tree, error), of which one is None; both, if compiling the cell will report the error.
    """
    try:
        return _compile(source, name, "exec", flags | 0x400), None  # PyCF_ONLY_AST
    except SyntaxError as error:
        return None, error
    except (ValueError, OverflowError, MemoryError, RecursionError):
        return None, None


def _without_prompts(source):
    """Removes pasted prompts of a Python shell."""
    lines = source.split("\n")
    if not _PROMPT.match(lines[0]):
        return source
    return "\n".join(_MORE.sub("", line) for line in lines)


def _dedented(source):
    """Removes the first line's indentation, if all lines have it."""
    lines = source.lstrip("\n").split("\n")
    space = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if not space or any(line.strip() and not line.startswith(space) for line in lines):
        return source
    leading_lines = "\n" * (len(source) - len(source.lstrip("\n")))
    return leading_lines + "\n".join(line.removeprefix(space) for line in lines)


def _cell_magic(source):
    """A call for source that begins with %%magic, or None."""
    start = source.lstrip()
    match = _CELL.match(start)
    if match is not None and _HELP.match(start):
        return None
    if match is None:
        match = _SHELL_CELL.match(start)
        return f"{_NAME}.shell_lines({match[1]!r})" if match else None
    above = source[: len(source) - len(start)].count("\n") + 2
    body = start[match.end() :]
    body += "\n" if body and not body.endswith("\n") else ""
    return f"{_NAME}.cell({match[1] or ''!r}, {match[2].strip()!r}, {body!r}, {above})"


def _rewrite(line):
    """A line with a leading ! or %, or a ? at either end, as Python; or None."""
    if line.strip() == "?":
        return f"{_NAME}.help('')"
    match = _HELP.match(line)
    if match is not None:
        name, marks = match[3] or match[4], match[2] or match[5]
        return f"{match[1]}{_NAME}.help({name!r}, {len(marks) > 1})"
    match = _ESCAPE.match(line)
    if match is None:
        return None
    indent, target, sign, rest = match.groups()
    rest = rest.strip()
    if sign == "!":
        call = "shell_lines" if target or rest.startswith("!") else "shell"
        rest = rest.removeprefix("!")
    else:
        call = "line"
    call = f"{_NAME}.{call}({rest!r})"
    return f"{indent}{target} = {call}" if target else f"{indent}{call}"


def _automagic(source):
    """A call for a one-line cell that is a magic without %: `pwd`, `pip install x`."""
    line = source.strip()
    match = _WORD.match(line)
    if match is None or "\n" in line:
        return None
    if not match[2] and magics.macro(match[1]) is not None:
        return magics.macro(match[1])
    if keyword.iskeyword(match[1]) or not magics.is_automagic(match[1]):
        return None
    return f"{_NAME}.line({match[1] + ' ' + match[2]!r})"


def _continued(lines, at):
    """Joins lines that a backslash continues."""
    while lines[at].endswith("\\") and at + 1 < len(lines) and _ESCAPE.match(lines[at]):
        lines[at] = lines[at][:-1] + lines.pop(at + 1)


def _transformed(source, name, flags):
    tree, error = _parse(source, name, flags)
    if error is None and not _NUMBERED.match(source):
        return source, tree
    for attempt in (_without_prompts, _dedented):
        made = attempt(source)
        if made is not source:
            source = made
            tree, error = _parse(source, name, flags)
        if error is None:
            return source, tree
    cell = _cell_magic(source)
    if cell is not None:
        return cell, None
    lines = source.split("\n")
    for _ in range(_LINES_MAX):
        at = (error.lineno or 0) - 1
        if not 0 <= at < len(lines):
            break
        _continued(lines, at)
        new = _rewrite(lines[at])
        if new is None:
            break
        lines[at] = new
        tree, error = _parse("\n".join(lines), name, flags)
        if error is None:
            break
    return "\n".join(lines), tree


def transform(source, name, flags):
    """(the cell as plain Python, its syntax tree or None). Plain Python is returned unchanged."""
    made = _automagic(source)
    return (made, None) if made else _transformed(source, name, flags)


def plain(source):
    """Translates code in a magic's argument to plain Python."""
    return transform(source, "<magic>", 0)[0]


magics.plain = plain
