"""Cells have the same outputs in Reckon as in recordings of IPython: tools/replay over test/data."""

import json
import os
import subprocess
import sys

import pytest
from reckon_cli import ROOT, templates_dir

TRANSCRIPTS = ROOT / "test" / "data" / "transcripts"


@pytest.fixture
def replay(tmp_path):
    """Runs tools/replay with a state of its own."""
    program = os.environ.get("RECKON_BIN", ROOT / "build/bin/reckon")
    libexec = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(program))), "libexec")
    env = {**os.environ, "RECKON_STATE": str(tmp_path / "state"), "RECKON_LIBEXEC": libexec,
           "RECKON_TEMPLATES": str(templates_dir())}

    def run(*arguments):
        return subprocess.run([sys.executable, ROOT / "tools" / "replay", *arguments], env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170)

    return run


@pytest.mark.parametrize(("names", "template"), [
    (["kernel"], "python"), (["data", "values", "dialect", "behaviour", "libraries"], "data")])
def test_cells_have_the_outputs_of_ipython(replay, names, template):
    files = [TRANSCRIPTS / f"{name}.jsonl" for name in names]
    done = replay(*files, "--template", template, "--threshold", "100", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [cell for file in files for line in file.read_text().splitlines()
             for cell in json.loads(line)["cells"]]
    counted = sum(int(part.split()[-1]) for line in done.stdout.splitlines()
                  if line.startswith("cells ") for part in line.partition("): ")[2].split(", ") if part)
    assert counted == len(cells) > 30


def test_every_transcript_is_replayed():
    assert {path.stem for path in TRANSCRIPTS.glob("*.jsonl")} == {
        "kernel", "data", "values", "dialect", "behaviour", "libraries"}


def test_differences_are_found_and_named(replay, tmp_path):
    header = f"{'-' * 75}\nNameError  Traceback (most recent call last)\n"
    cells = [("1 + 1", "2"), ("1 + 1", "3"), ("[1,  2]", "[1,2]"), ("print(1)", ""), ("5;", "5"),
             ("1/0", header), ("undefined", header), ("2", header), ("1/0", "2")]
    path = tmp_path / "wrong.jsonl"
    path.write_text(json.dumps({"id": "wrong", "cells": [
        {"code": code, "output": output} for code, output in cells]}) + "\n")
    done = replay(path, "--template", "python")
    assert done.returncode == 1
    kinds = [line[3:].partition(":")[0] for line in done.stdout.splitlines() if line.startswith("-- ")]
    assert kinds == ["error missing", "error type different", "error unexpected", "numbers",
                     "output missing", "output unexpected"]
    assert "cells without an error: 2 of 6 agree" in done.stdout
    assert "cells that raise: 1 of 3 agree" in done.stdout
