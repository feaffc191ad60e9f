#!/usr/bin/env python3
"""check_limits - checks that each limit of the C sources has a boundary test, or a reason for none.

usage: tools/check_limits.py [--list] [ROOT]

A limit is a macro whose name ends in _MAX or _SIZE. A limit that is only the length of an array or a
buffer needs no test, because shared code enforces it and has boundary tests (test_base_buf,
test_codec_json_read). Every other limit needs a line in test/data/limits.txt:

    FILE NAME...: test/FOLDER/TEST::CASE   the case that tests N and N + 1
    FILE NAME...: why there is no such test

FILE is the file's name without folders. It is an error if a limit has no line, or if the limit or the
test case of a line does not exist. --list prints the number of limits of each kind.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:MAX|SIZE)\b")
DEFINED = re.compile(r"\s*#define\s+([A-Z][A-Z0-9_]*_(?:MAX|SIZE))\s")
# Uses of a limit that are only the length of an array or a buffer.
SHARED = re.compile(r"""BUF_INIT\([^()]*(?:\([^()]*\)[^()]*)*\)
                      | \b(?:\w+_)?max\ =\ \w+
                      | \[[^\[\]]*\]
                      | json_read_(?:parse|compact)\(.*
                      | v?snprintf\(.*
                      | mem_new0?\(.* | arena_new\(.*
                      | _Static_assert\(.*
                      | /\*.* | ^\s*\*.* | //.*""", re.X)
CASE = re.compile(r"(test/\S+)::(\w+)$")


def sources(root):
    return {path: path.read_text(encoding="utf-8").split("\n")
            for path in sorted((root / "src").rglob("*.[ch]"))}


def is_compared(files, places, path, number, name):
    """Whether code compares the limit, or passes it to a function that does."""
    for where, at in places:
        if (where, at) == (path, number) or (path.suffix == ".c" and where != path):
            continue
        line = files[where][at]
        whole = files[where][at - 1].strip() + " " + line.strip()  # a call may start on the previous line
        if name in SHARED.sub("", line) and name in SHARED.sub("", whole):
            return True
    return False


def limits(files):
    """{(file, name): whether it needs a line}"""
    places = collections.defaultdict(list)
    for path, lines in files.items():
        for number, line in enumerate(lines):
            for name in set(LIMIT.findall(line)):
                places[name].append((path, number))
    found = {}
    for path, lines in files.items():
        for number, line in enumerate(lines):
            if match := DEFINED.match(line):
                found[(path.name, match[1])] = found.get((path.name, match[1])) or \
                    is_compared(files, places[match[1]], path, number, match[1])
    return found


def table(text):
    """{(file, name): test or reason}, and the malformed lines"""
    found, wrong = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        head, colon, said = line.partition(": ")
        file, *names = head.split()
        if not colon or not names or not said.strip():
            wrong.append(f"line {number}: expected FILE NAME...: TEST or REASON")
        for name in names:
            if (file, name) in found:
                wrong.append(f"line {number}: {file} {name} stands there twice")
            found[file, name] = said.strip()
    return found, wrong


def has_case(root, said):
    path, name = CASE.match(said).groups()
    file = root / path
    return file.is_file() and re.search(rf"\b{name}[(),]", file.read_text(encoding="utf-8")) is not None


def problems(root):
    found = limits(sources(root))
    said, wrong = table((root / "test/data/limits.txt").read_text(encoding="utf-8"))
    wrong += [f"{file} {name}: no line in test/data/limits.txt says which test shows N and N + 1, or why none does"
              for (file, name), needs in found.items() if needs and (file, name) not in said]
    wrong += [f"test/data/limits.txt: there is no {name} in {file}" for file, name in said
              if (file, name) not in found]
    wrong += [f"test/data/limits.txt: {file} {name}: there is no {text}" for (file, name), text in said.items()
              if CASE.match(text) and not has_case(root, text)]
    return wrong


def main():
    given = [each for each in sys.argv[1:] if each != "--list"]
    root = pathlib.Path(given[0]) if given else ROOT
    if "--list" in sys.argv[1:]:
        found = limits(sources(root))
        said = table((root / "test/data/limits.txt").read_text(encoding="utf-8"))[0]
        tested = sum(CASE.match(text) is not None for text in said.values())
        print(f"{len(found)} limits: {tested} with a pair of their own, {len(said) - tested} argued, "
              f"{len(set(found) - set(said))} that only measure an array or end a buffer")
    wrong = problems(root)
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
