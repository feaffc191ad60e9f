#!/usr/bin/env python3
"""Fail if two source files define the same function.

usage: check_clones.py SRC

Two functions are the same if their parameters have the same types, and their bodies of TOKENS_MIN
tokens or more differ only in the names of parameters and locals; comments and whitespace do not
count. Move such a function to where both files may include it: src/base, the reader or writer that it
is about (codec/json_get.h), or the header of their folder. There is no list of exceptions.
"""
import collections
import pathlib
import re
import sys

from c_text import functions, without_comments

TOKENS_MIN = 20  # about three lines; sharing a shorter function would not help the reader
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|->|\w+|\S')
TYPE = r"(?:(?:struct|enum|union) \w+|\w+_t|bool|char|double|float|int|long|short|unsigned|FILE|DIR)"
LOCAL = re.compile(rf"(?:^|\(|;)\s*(?:(?:static|const|cleanup_\w+)\s+)*{TYPE}\b[\s*]*"
                   r"(?:const\s+)?\**(\w+)(?=\s*[=;,\[])", re.M)


def parameters_of(head):
    """The names of the parameters: the last word of each, or the name of a function pointer."""
    flat = re.sub(r"\(\*(\w+)\)\s*\([^()]*\)", r"\1", head[1:-1])
    return [found[-1] for found in (re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", part))
                                    for part in flat.split(",")) if found]


def tokens_of(text, names):
    """Yields tokens; names of parameters and locals, but not of members, become their number."""
    last = ""
    for token in TOKEN.findall(text):
        yield token if last in (".", "->") else names.get(token, token)
        last = token


def clones(src):
    """Yields [(path, line, name), …] for each function that several files define, longest first."""
    found = collections.defaultdict(list)
    for path in sorted(src.rglob("*.[ch]")):
        for line, name, head, body in functions(without_comments(path.read_text(encoding="utf-8"))):
            own = parameters_of(head) + LOCAL.findall(body)
            names = {word: f"${number}" for number, word in reversed(list(enumerate(own)))}
            tokens = list(tokens_of(body, names))
            if len(tokens) >= TOKENS_MIN:
                found[(*tokens_of(head, names), *tokens)].append((path, line, name))
    for key in sorted(found, key=len, reverse=True):
        if len({path for path, _, _ in found[key]}) > 1:
            yield found[key]


def main():
    src = pathlib.Path(sys.argv[1])
    complaints = [" = ".join(f"{path}:{line}: {name}()" for path, line, name in places)
                  for places in clones(src)]
    print("\n".join(complaints) if complaints else f"{src}: no function stands in two files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
