#!/usr/bin/env python3
"""Fail if a source file, a function or a folder is too large for a reader.

A .c file may have 600 lines (more is a warning, more than 1000 an error), a header 400, a function
body 100, a folder of src 25 C files. There is no list of exceptions: split the file, or make
subfolders.
"""
import collections
import pathlib
import sys

SOURCE_SOFT, SOURCE_HARD, HEADER_HARD, FUNCTION_HARD = 600, 1000, 400, 100
FOLDER_HARD = 25


def functions(lines):
    """Yields (line number, length) of each body; kernel bracing puts both braces in column 0."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            yield start, number - start - 1
            start = None


def check(path):
    """Returns (failures, warnings) for one file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    failures, warnings = [], []
    hard = HEADER_HARD if path.suffix == ".h" else SOURCE_HARD
    if len(lines) > hard:
        failures.append(f"{path}: {len(lines)} lines, at most {hard}")
    elif path.suffix == ".c" and len(lines) > SOURCE_SOFT:
        warnings.append(f"{path}: {len(lines)} lines, better below {SOURCE_SOFT}")
    for number, length in functions(lines):
        if length > FUNCTION_HARD:
            failures.append(f"{path}:{number}: a function of {length} lines, at most {FUNCTION_HARD}")
    return failures, warnings


def crowded(paths):
    """Yields a line for each folder of src with too many C files."""
    folders = collections.Counter(path.parent for path in paths if "src" in path.parts)
    for folder, count in sorted(folders.items()):
        if count > FOLDER_HARD:
            yield f"{folder}: {count} files, at most {FOLDER_HARD}"


def main():
    failed = []
    for folder in sys.argv[1:]:
        paths = sorted(pathlib.Path(folder).rglob("*.[ch]"))
        failed += crowded(paths)
        for path in paths:
            failures, warnings = check(path)
            failed += failures
            for warning in warnings:
                print("warning:", warning)
    print("\n".join(failed) if failed else "every file, function and folder is within its size")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
