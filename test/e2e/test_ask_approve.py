"""reckon ask --approve: what the user sees before a cell runs, and what the answers do."""

import pytest
from model_server import ModelServer, Reply
from terminal import Terminal

pytestmark = pytest.mark.one_user

ARGS = ("ask", "--model", "openai/m", "-t", "python", "--approve", "always")
DELETE = "import shutil; shutil.rmtree('/mnt/precious')"
HIDDEN = {
    "conceal": f"x = 1  \x1b[8m; {DELETE}\x1b[0m # add up",
    "black on black": f"x = 1  \x1b[30;40m; {DELETE}\x1b[0m # add up",
    "overwritten": f"{DELETE}\rx = 1" + " " * 60,
    "turned round": f"x = 1 # \u202e\u2066{DELETE}\u2069\u202c",
    "eight bit": f"x = 1  \x9b8m; {DELETE}\x9b0m",
}


def env(model):
    return {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "sk-x"}


def cell_on(screen):
    """The characters of the lines that show code, with their attributes."""
    return [row[x] for row in screen.buffer.values() if row[0].data == "\u2502"
            for x in range(2, screen.columns)]


@pytest.mark.parametrize("way", HIDDEN)
def test_nothing_in_a_cell_is_hidden(reckon, way):
    with ModelServer(Reply(calls=[HIDDEN[way]]), Reply(text="finished")) as model:
        with Terminal(reckon, *ARGS, "?", env=env(model), columns=120) as term:
            term.wait("[q]uit:")
            before = term.raw.decode()
            cell = cell_on(term.screen)
            term.write("n\n").wait("finished")
            assert term.end() == 0
    shown = "".join(char.data for char in cell).rstrip()
    assert DELETE in shown, shown
    # Each hidden character is an escape in reverse video, which printed text does not get.
    escapes = "".join(char.data for char in cell if char.reverse)
    assert escapes.startswith(("\\x1b", "\\r", "\\u202e\\u2066", "\\x9b")), escapes
    assert {(char.fg, char.bg) for char in cell} == {("default", "default")}
    assert not any(hidden in before for hidden in "\u202e\u2066\x9b")
    assert "\x1b[8m" not in before and "\x1b[30" not in before


def test_the_cell_is_shown_once_before_the_question(reckon):
    """With --json, too, the terminal shows the cell, and only once."""
    with ModelServer(Reply(calls=["print('sent', 'off')"]), Reply(text="finished")) as model:
        with Terminal(reckon, *ARGS, "--json", "?", env=env(model)) as term:
            term.wait("[q]uit:")
            assert term.text.count("print('sent', 'off')") == 1
            term.write("y\n")
            assert term.end() == 0
    assert "sent off" in term.text


def test_ctrl_c_at_the_prompt_ends(reckon):
    with ModelServer(Reply(calls=["print('it', 'ran')"]), Reply(text="never")) as model:
        with Terminal(reckon, *ARGS, "?", env=env(model)) as term:
            term.wait("[q]uit:").key("ctrl-c")
            assert term.end() == 130
            assert "it ran" not in term.text
        assert len(model.requests) == 1


@pytest.mark.parametrize("words", ["abort", "yikes", "\x16\0", "", "never"])
def test_other_words_repeat_the_question(reckon, words):
    """Neither a word that only begins like one nor a NUL character approves."""
    with ModelServer(Reply(calls=["print('it', 'ran')"]), Reply(text="finished")) as model:
        with Terminal(reckon, *ARGS, "?", env=env(model)) as term:
            term.wait("[q]uit:").write(words + "\n")
            term.until(lambda: term.text.count("[q]uit:") == 2, "asks again").write("no\n")
            term.wait("finished")
            assert term.end() == 0
            assert "it ran" not in term.text


def test_input_before_the_question_is_not_an_answer(reckon):
    """A cell imitates the question, and the user answers it before the real one comes."""
    forged = "print('Run it? [y]es, [n]o, [a]ll, [q]\\x75it: '); import time; time.sleep(2)"
    with ModelServer(Reply(calls=[forged]), Reply(calls=["print('it', 'ran')"]),
                     Reply(text="finished")) as model:
        with Terminal(reckon, *ARGS, "?", env=env(model)) as term:
            term.wait("from here on, [q]uit:").write("y\n")
            term.wait("[a]ll, [q]uit:").write("a\n")
            term.until(lambda: term.text.count("from here on") == 2, "asks").write("n\n")
            term.wait("finished")
            assert term.end() == 0
            assert "it ran" not in term.text
