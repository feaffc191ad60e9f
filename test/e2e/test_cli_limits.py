"""Each limit of the command line: N items are accepted, N + 1 are refused with one line."""
import json
import os

import pytest

pytestmark = pytest.mark.parametrize("as_user", ["root" if os.geteuid() == 0 else "rootless"], indirect=True)
LATER = "--frobnicate"  # an unknown option: its error shows that everything before it is valid


def named(count):
    return [f"V{number}=1" for number in range(count)]


def each(option, values):
    return [word for value in values for word in (option, value)]


# The message for one item too many, the limit, and the options before LATER.
COUNTS = [
    ("at most 1000 cells", 1000, lambda n: ["run", *each("-c", ["1"] * n)]),  # RUN_CELLS_MAX
    ("at most 1000 files", 1000, lambda n: ["run", *each("-f", ["x"] * n)]),  # RUN_FILES_MAX
    ("at most 8 directories", 8, lambda n: ["run", *each("-m", ["/x"] * n)]),  # RUN_MOUNTS_MAX
    ("at most 1000 variables", 1000, lambda n: ["run", *each("--env", named(n))]),  # RUN_ENV_MAX
    ("more than 256 variables", 256, lambda n: ["exec", *each("--env", named(n))]),  # VARIABLES_MAX
    ("name is too long", 8192, lambda n: ["run", "-f", "x" * (n - 2) + ":y"]),  # SPEC_MAX
    ("name is too long", 8192, lambda n: ["run", "-m", "/" + "x" * (n - 1)]),
    ("from 1 to 1000", 1000, lambda n: ["ask", "--max-steps", str(n)]),  # ASK_STEPS_MAX
    ("-n: from 1 to 500", 500, lambda n: ["runs", "ls", "-n", str(n)]),  # LINES_MAX
    ("--lines: from 1 to 500", 500, lambda n: ["logs", "--lines", str(n)]),
]


@pytest.mark.parametrize("words, most, options", COUNTS, ids=[f"{number}-{row[0]}" for number, row in enumerate(COUNTS)])
def test_limits_of_counts(reckon, words, most, options):
    accepted = reckon(*options(most), LATER).expect(2)
    assert LATER in accepted.err and words not in accepted.err, accepted.err
    refused = reckon(*options(most + 1), LATER).expect(2)
    assert words in refused.err and LATER not in refused.err and refused.err.count("\n") == 1, refused.err
    assert refused.out == ""


def test_arguments_of_a_program(reckon):
    code = "import sys; print(len(sys.argv) - 1)"
    assert reckon("run", "-c", code, "--", *["x"] * 10000).expect(0).out == "10000\n"  # RUN_ARGUMENTS_MAX
    assert "at most 10000 arguments" in reckon("run", "-c", code, "--", *["x"] * 10001).expect(2).err


def test_tools_of_a_file(reckon):
    """TOOLS_MAX, and ARGUMENTS_MAX of each command."""
    path = reckon.cwd / "tools.json"

    def run(tools, words):
        path.write_text(json.dumps([{"name": f"t{number}", "command": ["cat"] * words} for number in range(tools)]))
        reckon.user.own(path)
        return reckon("run", "--tools", path, "-c", "print(len(list(tools)) if hasattr(tools, '__iter__') else 'ok')")

    run(64, 64).expect(0)
    assert "1 to 64 tools" in run(65, 1).expect(2).err
    assert "1 to 64 strings" in run(1, 65).expect(2).err


def test_cells_of_a_notebook(reckon):
    """RUN_CELLS_MAX applies to the cells of a notebook, too."""
    path = reckon.cwd / "long.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": ["1/0"]}
    for count, words in ((1000, "ZeroDivisionError"), (1001, "more than 1000 cells")):
        path.write_text(json.dumps({"cells": [cell] * count, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        reckon.user.own(path)
        done = reckon("run", path)
        assert words in done.out + done.err, done.err[-500:]
        assert done.status != 0
