"""How far something is, at a terminal: amount, rate and time left, and nothing of it afterwards."""
import os
import re

import private_daemon
import pytest
from terminal import Terminal

ONE_USER = ["root" if os.geteuid() == 0 else "rootless"]
pytestmark = pytest.mark.parametrize("as_user", ONE_USER, indirect=True)

SIZE = 300 * 1000 * 1000
LINE = re.compile(r"reckon: .*big: [\d.]+ [kM]?B of 300 MB, [\d.]+ [kM]?B/s, (\d+ min )?\d+ s left")


@pytest.fixture
def big(reckon):
    file = reckon.work / "big"
    with open(file, "wb") as stream:
        stream.truncate(SIZE)
    reckon.user.own(file)
    yield file
    private_daemon.end(reckon)


def lines_of(term):
    """What stood on the line, one after the other."""
    return [piece.split("\x1b[K")[0] for piece in term.raw.decode().split("\r")]


def test_files_put_and_get_say_how_far_they_are(reckon, big):
    reckon("session", "create", "s", "-t", "python", "--disk", "1G", "--memory", "1G").expect(0)
    with Terminal(reckon, "files", "put", "-s", "s", str(big), columns=100) as term:
        assert term.end() == 0
        assert any(LINE.search(line) for line in lines_of(term)), term.raw
        assert "left" not in term.text
    big.unlink()
    with Terminal(reckon, "files", "get", "-s", "s", "big", "-o", "back",
                  columns=100) as term:
        assert term.end() == 0
        assert "left" not in term.text
