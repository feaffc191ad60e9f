"""check_words.py finds phrases and names that are not plain English."""
import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/check_words.py"


def check(*arguments):
    done = subprocess.run([sys.executable, TOOL, *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


@pytest.mark.parametrize("name, text, found", [
    ("src/a.c", "int f(void)\n{\n\tint told = 0;\n\treturn told;\n}\n", "a.c:3: told"),
    ("src/a.h", "#define KEPT_MAX 3\n", "a.h:1: KEPT_MAX"),
    ("src/a.h", "/* It is told once.\n * Twice. */\nint was_asked;\n", "a.h:3: was_asked"),
    ("src/a.c", 'int a; /* told */\nconst char *b = "kept\\"told";\n', None),
    ("src/a.c", "size_t toldness, keptal;\n", None),
    ("include/a.h", "size_t not_kept;\n", None),
    ("src/a.c", "/* 'x' is no number */\n", "a.c:1: say what it is not"),
    ("docs/a.md", "# An `x` is no number.\n", "a.md:1: say what it is not"),
    ("src/cli/a.c", 'say("HTTP 404");\n', "a.c:1: name what happened"),
    ("src/cli/a.c", 'say("try GET /health");\n', "a.c:1: name the command"),
    ("src/host/a.c", 'say("try GET /health");\n', None),
])
def test_a_phrase_or_name_is_found(tmp_path, name, text, found):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    subprocess.run(["git", "-C", tmp_path, "add", name], check=True)
    status, output = check(tmp_path)
    assert (status, found is None or found in output) == (0 if found is None else 1, True), output


@pytest.mark.parametrize("subject, status", [
    ("box, lib: name what is stored", 0),
    ("Name what is stored", 1),
    ("box: name what is stored.", 1),
    ("box: wip", 1),
    ("box: " + "x" * 95, 0),
    ("box: " + "x" * 96, 1),
    ("fixup! box: anything.", 0),
])
def test_a_commit_subject_is_judged(tmp_path, subject, status):
    message = tmp_path / "message"
    message.write_text(subject + "\n", encoding="utf-8")
    assert check(tmp_path, message)[0] == status
