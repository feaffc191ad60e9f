"""Whether a cell is complete: a terminal asks before it runs one. Nothing is executed."""

import ast
import re
import warnings

from _reckon import magic, wire

_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | 0x4000  # ALLOW_INCOMPLETE_INPUT
_BLOCKS = tuple(getattr(ast, name) for name in (
    "FunctionDef AsyncFunctionDef ClassDef For AsyncFor While If With AsyncWith Try TryStar Match"
).split() if hasattr(ast, name))
_LEAVES = re.compile(r"\s*(?:return|pass|break|continue|raise)\b")
_OPENS = re.compile(r"(?::|[(\[{])\s*(?:#.*)?$")
_compile, _SyntaxError, _STEP = compile, SyntaxError, 4


def _parse(source):
    """(tree, None), or (None, the status) if it cannot be parsed."""
    try:
        return _compile(source + "\n", "<cell>", "exec", _FLAGS, dont_inherit=True), None
    except _SyntaxError as error:
        return None, "incomplete" if "incomplete input" in str(error.msg) else "invalid"
    except (ValueError, OverflowError, MemoryError, RecursionError):
        return None, "complete"  # running it reports the error


def _status(source):
    lines = source.split("\n")
    ended = not lines[-1].strip()  # an empty line ends a block, as at Python's prompt
    if source.lstrip().startswith("%%"):
        return "complete" if ended and len(lines) > 1 else "incomplete"
    if lines[-1].endswith("\\"):
        return "incomplete"
    tree, why = _parse(source)
    if tree is None and why == "invalid":
        made, _ = magic.transform(source, "<cell>", _FLAGS & ~ast.PyCF_ONLY_AST)
        tree, why = _parse(made) if made is not source else (None, why)
    if tree is None:
        return why
    if tree.body and isinstance(tree.body[-1], _BLOCKS) and not ended:
        return "incomplete"
    return "complete"


def _indent(source):
    """The indentation of the next line."""
    last = next((line for line in reversed(source.split("\n")) if line.strip()), "")
    space = last[: len(last) - len(last.lstrip())]
    if _OPENS.search(last):
        return space + " " * _STEP
    if _LEAVES.match(last):
        return space[:-_STEP]
    return space


def judge(source):
    """Replies to IS_COMPLETE."""
    text = source.decode("utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = _status(text) if text.strip() else "complete"
    fields = [(wire.STATUS, status)]
    if status == "incomplete":
        fields.append((wire.INDENT, _indent(text)))
    wire.send(wire.IS_COMPLETE_REPLY, fields)
    return True
