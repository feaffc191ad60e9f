#!/usr/bin/env python3
"""Fail if a local variable with a cleanup attribute can reach its cleanup uninitialised.

usage: check_cleanup.py FOLDER...

A return runs the cleanup of every variable that is declared above it; the cleanup of an uninitialised
one (clang 14 does not clear it) frees or closes garbage. So the declaration must initialise the
variable, or a call must get it before the first statement that leaves the block, and not after && or ||.
"""
import pathlib
import re
import sys

from c_text import functions, without_comments

DECLARED = re.compile(r"^\s+(?:cleanup_\w+|__attribute__\(\(cleanup\(\w+\)\)\))\s+([^;]*);", re.M)
LEAVES = re.compile(r"\b(?:return|break|continue|goto)\b")
MAYBE = re.compile(r"&&|\|\||\?")


def bare_names(declared):
    """Yields the names without an initialiser: `two` of `struct buf one = BUF_INIT(8), two`."""
    flat, before = declared, None
    while flat != before:  # innermost first
        before, flat = flat, re.sub(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "", flat)
    for part in flat.split(","):
        if "=" not in part:
            yield re.findall(r"\w+", part)[-1]


def is_branch(before):
    """Whether the code after this beginning of a statement runs conditionally."""
    start = re.match(r"\s*(?:(?:else|do)\b|(?:if|for|while|switch)\s*\()", before)
    if start is None or not start.group().endswith("("):
        return start is not None
    depth = 1
    for byte in before[start.end():]:
        depth += (byte == "(") - (byte == ")")
        if depth == 0:
            return True
    return False


def is_given(name, rest):
    """Whether a call gets the variable before a statement of the block's rest leaves the block."""
    depth = 0
    for statement in re.findall(r"[^;{}]*[;{}]", rest):
        found = re.search(rf"\b{name}\b", statement)
        leaves = LEAVES.search(statement)
        if found and not (leaves and leaves.start() < found.start()):
            before = statement[:found.start()]
            if depth == 0 and not MAYBE.search(before) and not is_branch(before):
                return True
        if leaves:
            return False
        depth += (statement[-1] == "{") - (statement[-1] == "}")
    return True


def block_of(body, at):
    """The text from `at` to the end of its block."""
    depth = 0
    for index in range(at, len(body)):
        depth += (body[index] == "{") - (body[index] == "}")
        if depth < 0:
            return body[at:index]
    return body[at:]


def check(path):
    text = without_comments(path.read_text(encoding="utf-8"))
    for line, _, head, body in functions(text):
        start = text.index(body, text.index(head)) if body else 0
        for found in DECLARED.finditer(body):
            for name in bare_names(found.group(1)):
                if not is_given(name, block_of(body, found.end())):
                    yield f"{path}:{text.count(chr(10), 0, start + found.start(1)) + 1}: {name}"


def main():
    complaints = [f"{line} has no value where its cleanup may run" for folder in sys.argv[1:]
                  for path in sorted(pathlib.Path(folder).rglob("*.[ch]")) for line in check(path)]
    print("\n".join(complaints) if complaints else "every local is initialised before its cleanup")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
