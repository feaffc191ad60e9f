"""Output of commands in terminals: figures, progress, colours; and in dumb terminals."""
import re

import pytest

from reckon_cli import parse_json
from terminal import Terminal

pytestmark = pytest.mark.one_user  # the output is the same for each user

PICTURE = ("import base64\nclass Picture:\n    def _repr_png_(self):\n        return base64.b64decode('"
           "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJ"
           "RU5ErkJggg==')\nPicture()\n")
PLAIN = ({"TERM": "dumb"}, {"NO_COLOR": "1"})


def sees(reckon, *args, **more):
    with Terminal(reckon, *args, **more) as term:
        status = term.end()
        return status, term.raw.decode(errors="replace")


def test_run_shows_figures_where_the_terminal_can(reckon):
    for env, sign in (({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, "\x1b_G"),
                      ({"TERM": "xterm-256color"}, "\x1b[")):
        status, seen = sees(reckon, "run", "-t", "python", "-c", PICTURE, env=env, graphics=True)
        assert status == 0 and sign in seen and "saved as" not in seen
    assert not (reckon.cwd / "reckon-figures").exists()
    status, seen = sees(reckon, "run", "-t", "python", "-c", PICTURE, term="dumb")
    assert status == 0 and "saved as reckon-figures/figure-1-1.png" in seen
    assert (reckon.cwd / "reckon-figures/figure-1-1.png").exists()


def test_run_in_a_session_shows_figures(private):
    status, seen = sees(private, "run", "-s", "x", "-t", "python", "-c", PICTURE,
                        env={"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, graphics=True)
    assert status == 0 and "\x1b_G" in seen


def test_no_color_and_dumb_terminals_have_no_colours(reckon):
    """This includes colours in the output of code; a pipe gets that output unchanged."""
    code = ("import sys; esc = chr(27); print(f'{esc}[31mred{esc}[0m')\n"
            "print(f'{esc}[1merr', file=sys.stderr); 1/0")
    assert "\x1b[31mred" in sees(reckon, "run", "-t", "python", "-c", code)[1]
    for env in PLAIN:
        status, seen = sees(reckon, "run", "-t", "python", "-c", code, env=env)
        assert status == 1 and "red" in seen and "err" in seen and "ZeroDivisionError" in seen
        assert "\x1b" not in seen and "\\x1b" not in seen
    done = reckon("run", "-t", "python", "-c", code, env={"NO_COLOR": "1"}).expect(1)
    assert "\x1b[31mred" in done.out


@pytest.mark.parametrize("env", PLAIN)
def test_commands_draw_without_colours(private, env):
    """Tables, checks, logs and help."""
    private("run", "-s", "x", "-t", "python", "-c", "1").expect(0)
    for args in (("doctor",), ("session", "ls"), ("files", "ls"), ("logs",), ("ps",), ("models",),
                 ("daemon", "status"), ("template", "ls"), ("--help",), ("run", "--help")):
        seen = sees(private, *args, env=env)[1]
        assert not re.search(r"\x1b\[[0-9;]*m", seen), (args, seen)
        if env.get("TERM") == "dumb":
            assert "\x1b" not in seen, (args, seen)


def test_put_and_get_show_their_progress(private):
    big = private.cwd / "big.bin"
    with open(big, "wb") as file:
        file.truncate(300 * 2**20)
    private.user.own(big)
    private("session", "create", "x", "-t", "python").expect(0)
    status, seen = sees(private, "files", "put", "-s", "x", "big.bin")
    assert status == 0
    assert re.search(r"\rreckon: big\.bin: [\d.]+ MB of 315 MB, [\d.]+ [MG]B/s, \d+ s left\x1b\[K", seen)
    assert seen.endswith("\r\x1b[K")
    status, seen = sees(private, "files", "get", "-f", "-s", "x", "big.bin", "-o", "back.bin")
    assert status == 0 and "B/s" in seen
    assert parse_json(private("files", "ls", "--json").stdout)[0]["size"] == 300 * 2**20
    # A pipe gets no progress.
    assert private("files", "put", "-s", "x", "big.bin").expect(0).err == ""
