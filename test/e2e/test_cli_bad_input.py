"""Mistakes of a user: one line of message, the right exit status, and no side effects."""
import os
import re
import subprocess

import pytest

pytestmark = pytest.mark.one_user  # the errors come before anything starts


def refused(reckon, *args, status=2, **options):
    """Runs it and checks that it was refused in one line; returns the line."""
    before = sorted(path.name for path in reckon.cwd.rglob("*"))
    done = reckon(*args, **options).expect(status)
    assert done.out == ""
    assert re.fullmatch(r"reckon: [^\n]+: [^\n]+\n", done.err), done.err
    assert sorted(path.name for path in reckon.cwd.rglob("*")) == before
    return done.err


def refused_at_once(reckon, *args, **options):
    """The same, and no engine was opened: it would have made folders in the state directory."""
    line = refused(reckon, *args, **options)
    assert not list(reckon.state.iterdir())
    return line


# ---- options ----------------------------------------------------------------------------------

@pytest.mark.parametrize("args, words", [
    (["--tiemout", "3", "-c", "1"], ["--tiemout", "did you mean --timeout?"]),
    (["--frobnicate", "-c", "1"], ["--frobnicate", "reckon run --help"]),
    (["-z", "-c", "1"], ["-z"]),
    (["-c"], ["-c", "CODE"]),
    (["-c", "1", "--memory"], ["--memory", "SIZE"]),
    (["--json=x", "-c", "1"], ["--json", "no value"]),
    (["--json", "--events", "-c", "1"], ["--json", "--events"]),
    (["-l", "cobol", "-c", "1"], ["--language", "cobol", "python, bash"]),
    (["--timeout", "0", "-c", "1"], ["--timeout", "'0'"]),
    (["--timeout", "-1", "-c", "1"], ["--timeout", "'-1'"]),
    (["--timeout", "fast", "-c", "1"], ["--timeout", "fast", "30s"]),
    (["--timeout", "9999h", "-c", "1"], ["--timeout", "168h"]),
    (["--memory", "lots", "-c", "1"], ["--memory", "lots", "512M"]),
    (["--memory", "1K", "-c", "1"], ["--memory", "1K", "16 MiB"]),
    (["--memory", "99999999999G", "-c", "1"], ["--memory"]),
    (["--disk", "1", "-c", "1"], ["--disk", "1 MiB"]),
    (["--max-output", "1G", "-c", "1"], ["--max-output", "64 MiB"]),
    (["--cpus", "0", "-c", "1"], ["--cpus", "0.5"]),
    (["--cpus", "many", "-c", "1"], ["--cpus", "many"]),
    (["--pids", "0", "-c", "1"], ["--pids", "from 1"]),
    (["--pids", "1.5", "-c", "1"], ["--pids", "1.5"]),
    (["--isolate-cpu", "cores", "-c", "1"], ["--isolate-cpu", "cores", "core,speculation"]),
    (["--isolate-cpu", "core,", "-c", "1"], ["--isolate-cpu", "core,"]),
    (["--env", "1X=3", "-c", "1"], ["--env", "1X=3"]),
    (["--env", "NAME", "-c", "1"], ["--env", "NAME"]),
    (["-t", "no such/name", "-c", "1"], ["--template", "no such/name"]),
    (["-f", "x:../y", "-c", "1"], ["--file", "../y"]),
    (["-f", "x:/etc/y", "-c", "1"], ["--file", "/etc/y"]),
    (["-m", ".:/etc", "-c", "1"], ["--mount", "/etc", "/mnt"]),
    (["-m", ".:/mnt/data", "-c", "1"], ["--mount", "workspace"]),
])
def test_options(reckon, args, words):
    line = refused_at_once(reckon, "run", *args)
    for word in words:
        assert word in line


def test_a_template_that_was_never_made(reckon):
    assert "never-made" in refused(reckon, "run", "-t", "never-made", "-o", "out", "-c", "1")


def test_nine_mounts_are_too_many(reckon):
    mounts = [word for i in range(9) for word in ("-m", f".:/mnt/d{i}")]
    assert "at most 8" in refused_at_once(reckon, "run", *mounts, "-c", "1")


# ---- sources ----------------------------------------------------------------------------------

def test_a_missing_source(reckon):
    assert "nowhere.py" in refused_at_once(reckon, "run", "nowhere.py")


def test_a_later_missing_source_stops_the_first_cell_too(reckon):
    reckon.file("first.py", "print('ran')")
    refused_at_once(reckon, "run", "first.py", "nowhere.py")


def test_a_directory_as_source(reckon):
    assert "is a directory" in refused_at_once(reckon, "run", "/tmp")


def test_a_device_as_source_is_refused(reckon):
    assert "regular file" in refused_at_once(reckon, "run", "/dev/zero")


def test_a_fifo_as_source_is_refused(reckon):
    os.mkfifo(reckon.cwd / "fifo")
    reckon.user.own(reckon.cwd / "fifo")
    assert "regular file" in refused_at_once(reckon, "run", "fifo")


def test_a_binary_as_source(reckon):
    line = refused_at_once(reckon, "run", "/bin/true")
    assert "NUL byte" in line or "UTF-8" in line
    reckon.file("nul.py", b"x = 1\ny = '\0'\n")
    assert "NUL byte in line 2" in refused_at_once(reckon, "run", "nul.py")


def test_a_source_in_another_encoding(reckon):
    reckon.file("latin.py", "x = 1\nname = 'Gr\u00fc\u00dfe'\n".encode("latin-1"))
    line = refused_at_once(reckon, "run", "latin.py")
    assert "0xfc in line 2" in line
    assert "UTF-8" in line


def test_an_enormous_source(reckon):
    reckon.file("big.py", b"#" * (4 * 1024 * 1024 + 1))
    assert "4 MiB" in refused_at_once(reckon, "run", "big.py")
    assert "4 MiB" in refused_at_once(reckon, "run", "-", stdin=b"#" * (4 * 1024 * 1024 + 1))


def test_stdin_twice(reckon):
    assert "only once" in refused_at_once(reckon, "run", "-", "-", stdin="1")
    assert "only once" in refused_at_once(reckon, "run", "--stdin", "-", "-", stdin="1")


def test_nothing_to_run_on_a_terminal(reckon):
    main, side = os.openpty()
    try:
        with reckon.start("run", stdin=side) as process:
            _, err = process.communicate(timeout=60)
        assert process.returncode == 2
        assert err.startswith(b"reckon: run: nothing to run (")
    finally:
        os.close(main)
        os.close(side)


# ---- files and directories --------------------------------------------------------------------

def test_missing_files(reckon):
    assert "nowhere.csv" in refused_at_once(reckon, "run", "-f", "nowhere.csv", "-c", "1")
    assert "nowhere.txt" in refused_at_once(reckon, "run", "--stdin", "nowhere.txt", "-c", "1")
    assert "nowhere" in refused_at_once(reckon, "run", "-m", "nowhere", "-c", "1")


def test_a_directory_where_a_file_should_be(reckon):
    (reckon.cwd / "dir").mkdir()
    assert "is a directory" in refused_at_once(reckon, "run", "--stdin", "dir", "-c", "1")


def test_a_file_where_a_directory_should_be(reckon):
    reckon.file("file", "x")
    assert "not a directory" in refused_at_once(reckon, "run", "-m", "file", "-c", "1")
    assert "not a directory" in refused_at_once(reckon, "run", "-o", "file", "-c", "1")
    assert "file/below" in refused_at_once(reckon, "run", "-o", "file/below", "-c", "1")


def test_two_files_of_one_name(reckon):
    (reckon.cwd / "a").mkdir()
    reckon.file("a/x.csv", "1")
    reckon.file("x.csv", "2")
    assert "x.csv" in refused_at_once(reckon, "run", "-f", "x.csv", "-f", "a/x.csv", "-c", "1")


def test_a_mount_with_the_name_of_the_workspace(reckon):
    (reckon.cwd / "data").mkdir()
    reckon.user.own(reckon.cwd / "data")
    assert "workspace" in refused_at_once(reckon, "run", "-m", "data", "-c", "1")


@pytest.mark.parametrize("as_user", ["rootless"], indirect=True)
def test_files_without_permission(reckon):
    path = reckon.file("secret", "x")
    path.chmod(0)
    for option in ("-f", "--stdin"):
        assert "Permission denied" in refused_at_once(reckon, "run", option, "secret", "-c", "1")
    assert "Permission denied" in refused_at_once(reckon, "run", "secret")
    assert "Permission denied" in refused_at_once(reckon, "run", "-o", "/etc/out", "-c", "1")
    assert "Permission denied" in refused_at_once(reckon, "run", "-m", "/etc:/mnt/etc:rw", "-c", "1")


# ---- other commands ---------------------------------------------------------------------------

@pytest.mark.parametrize("args, words", [
    (["rnu"], ["rnu", "did you mean reckon run?"]),
    (["docter"], ["did you mean reckon doctor?"]),
    (["frobnicate"], ["reckon --help"]),
    (["help", "rnu"], ["did you mean reckon run?"]),
    (["doctor", "x"], ["unexpected argument 'x'"]),
    (["version", "x"], ["unexpected argument 'x'"]),
    (["template"], ["template", "ls"]),
    (["output"], ["output", "HANDLE"]),
    (["output", "out_x", "--range", "9-1"], ["--range", "'9-1'"]),
    (["output", "out_x", "--lines", "0:3"], ["--lines", "'0:3'"]),
    (["output", "out_x", "--head", "0"], ["--head"]),
    (["output", "out_x", "--head", "1", "--tail", "1"], ["cannot be used together"]),
    (["output", "out_x", "--grep", ""], ["--grep"]),
    (["output", "out_x", "--range", "0-9", "--grep", "a"], ["--grep", "--range"]),
    (["output", "out_x", "--lines", "1:2", "-o", "x"], ["-o"]),
    (["artifact", "ar_x", "--lines", "1:2"], ["--lines"]),
    (["output", "../../etc/passwd"], ["../../etc/passwd"]),
    (["output", "out_" + "0" * 32], ["out_" + "0" * 32]),
    (["artifact", "ar_x"], ["ar_x"]),
    (["artifact", "a", "b"], ["unexpected argument 'b'"]),
    (["artifact", "ar_00000000000000000000000000000000", "-o", "/nowhere/x"], ["/nowhere/x"]),
    (["artifact", "ar_00000000000000000000000000000000", "-o", "/tmp"], ["is a directory"]),
])
def test_other_commands(reckon, args, words):
    line = refused(reckon, *args)
    for word in words:
        assert word in line


def test_a_missing_command_shows_the_help_and_is_an_error(reckon):
    done = reckon().expect(2)
    assert done.out == ""
    assert "Usage: reckon COMMAND" in done.err


def test_a_missing_artifact_leaves_no_file(reckon):
    refused(reckon, "artifact", "ar_00000000000000000000000000000000", "-o", "x")
    assert not list(reckon.cwd.iterdir())


def test_a_message_cannot_be_forged_by_a_file_name(reckon):
    line = refused(reckon, "run", "x\nreckon: all is well\x1b[2J")
    assert "\\n" in line
    assert "\x1b" not in line


# ---- help -------------------------------------------------------------------------------------

ONLY_IN_THE_MANUAL = {"private", "url", "key"}  # help is one screen
COMMANDS = ["run", "repl", "ask", "chat", "model", "session", "files", "logs", "serve", "key", "tenant",
            "usage", "doctor", "forward", "daemon", "drain", "undrain", "audit", "template", "output", "artifact",
            "bench", "version", "help"]


@pytest.mark.parametrize("args", [["--help"], ["help"], *([c, "--help"] for c in COMMANDS),
                                  *(["help", c] for c in COMMANDS)])
def test_help_fits_one_screen(reckon, args):
    done = reckon(*args).expect(0)
    lines = done.out.splitlines()
    assert done.err == ""
    assert lines[0].startswith("Usage: reckon")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_help_of_run_has_every_option_of_the_manual(reckon):
    manual = reckon("--manual", "run").expect(0).out
    shown = reckon("run", "--help").expect(0).out
    options = re.findall(r"^\*.*?--([a-z-]+)\*", manual, re.M)
    assert len(options) >= 18
    for option in sorted(set(options) - ONLY_IN_THE_MANUAL):
        assert f"--{option}" in shown


def test_completion_of_bash_is_bash(reckon):
    script = reckon("--completion", "bash").expect(0).out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    probe = script + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reckon; echo "${COMPREPLY[*]}"; }
complete_words reckon do
complete_words reckon run --mem
complete_words reckon run -l b
"""
    done = subprocess.run(["bash"], input=probe, text=True, check=True, capture_output=True)
    assert done.stdout.splitlines() == ["doctor", "--memory", "bash"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completions_name_every_command(reckon, shell):
    script = reckon("--completion", shell).expect(0).out
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", script)


def test_completion_for_another_shell(reckon):
    assert "bash, zsh or fish" in refused(reckon, "--completion", "csh")
