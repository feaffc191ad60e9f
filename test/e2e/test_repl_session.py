"""reckon repl -s NAME: the console in a session of a daemon."""
import os
import re
import signal

import nbformat
import pytest
from terminal import Terminal
from test_client import comparable, session, shared  # noqa: F401
from test_repl import PICTURE, pytestmark  # noqa: F401

# Each runs with a session and without; output and exit status are the same.
ALIKE = {
    "a value": "x = 6\nx * 7\n",
    "a block": "for i in range(2):\n    print(i)\n\ndef f():\n    return 1\n\nf()\n",
    "streams": "import sys\nprint('o')\nprint('e', file=sys.stderr)\n",
    "an error": "1 / 0\nprint('on')\n",
    "variables": "x = [1, 2]\n%vars\n",
    "no variables": "%vars\n",
    "a picture": PICTURE + "\ntwo\n\n%get -f figure-3-1.png got.png\n",
    "files": "open('f.txt', 'w').write('x' * 3000)\n%files\n%get -f f.txt\n%get no.txt\n",
    "a file goes in": "%put in.txt d/in.txt\nopen('d/in.txt').read()\n%put no.txt\n",
    "restart": "x = 1\n%restart\nx\n",
    "the kernel dies": "x = 1\nimport os; os._exit(1)\n1 + 1\n",
    "no input": "input('?')\n",
    "commands": "1\n%time-limit 5s\n%time-limit none\n%history\n%nothing\n%run in.py\n",
}


def without_times(text):
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", comparable(text))
    return re.sub(r"files (are kept|stay until this console ends) ", "files ", text)


@pytest.mark.parametrize("cells", ALIKE.values(), ids=ALIKE.keys())
def test_a_session_makes_no_difference(shared, session, cells):
    shared.file("in.txt", "seven")
    shared.file("in.py", "print('from a file')\n")
    alone = shared("repl", "-t", "python", stdin=cells)
    with_session = shared("repl", "-s", session, "-t", "python", stdin=cells)
    assert with_session.status == alone.status
    assert without_times(with_session.out) == without_times(alone.out)
    assert without_times(with_session.err) == without_times(alone.err)


def test_the_console_shares_variables_with_run(shared, session):
    shared("run", "-s", session, "-c", "x = 6").expect(0)
    assert shared("repl", "-s", session, stdin="y = x * 7\n").expect(0).err == ""
    assert shared("run", "-s", session, "-c", "y").expect(0).out == "42\n"


def test_a_saved_notebook_has_the_outputs_of_a_streamed_record(shared):
    """The `done` event omits output of more than 6 MiB, so the console fetches the whole record."""
    done = shared("repl", "-t", "python", "-s", "wide-console", "--max-output", "8M",
                  stdin="print('x' * 7_000_000)\n%save -f wide.ipynb\n").expect(0)
    shared("session", "rm", "wide-console").expect(0)
    assert "saved as wide.ipynb" in done.err
    notebook = nbformat.read(shared.cwd / "wide.ipynb", 4)
    nbformat.validate(notebook)
    assert len(notebook.cells[0].outputs[0].text) == 7_000_001


def test_the_default_language_is_that_of_the_session(shared):
    shared("session", "create", "shell", "-t", "python", "-l", "bash").expect(0)
    done = shared("repl", "-s", "shell", stdin="N=7\nif true; then\necho $N\nfi\n").expect(0)
    assert done.out == "7\n"
    assert shared("repl", "-s", "shell", "-l", "python", stdin="x = 6\nx * 7\n%vars\n").expect(
        0).out.startswith("42\nname  type")
    shared("session", "rm", "shell").expect(0)


def test_a_removed_session_is_reported_and_restart_creates_it_again(shared, session):
    shared.file("in.txt", "seven")
    with shared.start("repl", "-s", session, "-f", "in.txt", stdin=-1) as console:
        console.stdin.write(b"open('made.txt', 'w').write('m'); print('go', flush=True)\n")
        console.stdin.flush()
        assert console.stdout.readline() == b"go\n"
        shared("session", "rm", session).expect(0)
        out, err = console.communicate(
            b"1\n%restart\nprint(open('in.txt').read() + open('made.txt').read())\n", timeout=60)
    assert out == b"sevenm\n"
    assert b"%restart begins a new one" in err
    assert f"made session {session}".encode() in err and b"2 files kept" in err


@pytest.fixture
def console(shared, session):
    with Terminal(shared, "repl", "-s", session) as term:
        term.session = session
        yield term


def test_input_reads_from_the_terminal(console):
    console.wait(f"python, session {console.session}.")
    console.prompt(1).enter("name = input('name? ')").wait("name? ").enter("Ada").prompt(2)
    console.cell(2, "print('hello', name)")
    assert "hello Ada" in console.text


def test_tab_completes_and_blocks_continue(console):
    console.cell(1, "long_name = 42")
    console.prompt(2).type("long_n")
    console.key("tab").wait("long_name")
    console.key("enter").prompt(3)
    assert "Out[2]: 42" in console.text
    console.enter("for i in [1]:").until(lambda: console.line.endswith("┆"), "a second line")


def test_ctrl_c_stops_a_cell_and_a_second_one_detaches(console, shared):
    console.prompt(1).enter("import time; x = 5; time.sleep(600)").pump(1)
    console.key("ctrl-c").wait("interrupted").prompt(2)
    console.cell(2, "x + 1")
    assert "Out[2]: 6" in console.text
    console.enter("while True:").until(lambda: console.line.endswith("┆"), "a second line")
    console.enter("try: time.sleep(600)").enter("except KeyboardInterrupt: print('no', flush=True)")
    console.key("enter").pump(1)
    console.key("ctrl-c").wait("no")
    os.kill(console.process.pid, signal.SIGINT)
    console.wait(f"left session {console.session}")
    assert console.process.wait(60) == 0


def test_the_session_stays_when_the_console_ends(console, shared):
    console.cell(1, "x = 42")
    console.key("ctrl-d")
    assert console.process.wait(60) == 0
    assert shared("run", "-s", console.session, "-c", "x").expect(0).out == "42\n"


@pytest.mark.parametrize("args", [["--mount", "."], ["--strict"], ["--private"],
                                  ["--isolate-cpu", "core"]])
def test_options_that_cannot_be_used_with_a_session(shared, args):
    done = shared("repl", "-s", "x", *args, stdin="1\n").expect(2)
    assert f"{args[0]} cannot be used with -s" in done.err
    assert "need -s" in shared("repl", "--url", "http://x", stdin="1\n").expect(2).err
