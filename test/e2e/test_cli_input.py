"""input() in `reckon run` reads from the terminal, also in a session of a daemon."""

import pytest
from reckon_serve import Server
from terminal import Terminal

pytestmark = pytest.mark.one_user  # a terminal shows the same to each user

CODE = "name = input('Who? ')\nimport getpass\nprint(f'<{name}>', len(getpass.getpass('Secret: ')))"


@pytest.fixture(params=["own", "daemon"])
def run(request, reckon):
    """Opens a terminal in which `reckon run` runs this code, in a session of its own or a daemon's."""
    if request.param == "own":
        yield lambda code: Terminal(reckon, "run", "-c", code)
        return
    with Server(reckon) as server:
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}
        yield lambda code: Terminal(reckon, "run", "-s", "asks", "-c", code, env=env)


def test_input_and_getpass_read_from_the_terminal(run):
    with run(CODE) as term:
        term.wait("Who?").write("Ada\n")
        term.wait("Secret:").write("hidden\n")
        term.wait("<Ada> 6")
        assert term.end() == 0
        assert "hidden" not in term.text


def test_the_end_of_input(run):
    with run("try: input('More? ')\nexcept EOFError: print('no more')") as term:
        term.wait("More?").write("\x04")
        term.wait("no more")
        assert term.end() == 0


def test_an_interrupt(run):
    with run("input('Who? ')") as term:
        term.wait("Who?").write("\x03")
        term.wait("interrupted on request")
        assert term.end() != 0


def test_a_prompt_cannot_move_the_cursor(run):
    with run("print(input('\\x1b[2Jgone\\x1b]0;title\\x07> '))") as term:
        term.wait("gone").write("x\n")
        assert term.end() == 0
        assert b"\x1b[2J" not in term.raw and b"\x1b]0" not in term.raw


def test_input_fails_without_a_terminal(reckon):
    done = reckon("run", "-c", "input('Who? ')", stdin="from a pipe\n")
    assert done.status == 1 and "nobody answers input()" in done.err + done.out, done
