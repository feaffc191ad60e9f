"""How answers in Markdown are shown: rendered on a terminal, unchanged elsewhere."""
import re

import pytest
from model_server import ModelServer, Reply
from terminal import Terminal

pytestmark = pytest.mark.one_user

ANSWER = """## Sales

The **north** sold *most*, by `sum()`; see [the table](https://example.com/t). It is so much more
than the others that it needs a second line.

1. one
2. two

| Region | Units |
|--------|------:|
| north  | 1,234 |
| 東京都 | 5 |

```python
print(6 * 7)
```
"""
DRAWN = """Sales

The north sold most, by sum(); see the
table (https://example.com/t). It is so
much more than the others that it needs
a second line.

1. one
2. two

Region │ Units
───────┼──────
north  │ 1,234
東京都 │     5

  print(6 * 7)
"""
# Two by two pixels; saved, and not displayed.
SAVE = """import base64
open("/mnt/data/a b.png", "wb").write(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD9"
    "1JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg=="))
"""


def args(*more):
    return ("ask", "-t", "python", "--no-keep", "--verify", "off", "--model", "openai/m", *more, "?")


def env(model, **more):
    return {"OPENAI_BASE_URL": model.url + "/v1", "LC_ALL": "C.UTF-8", **more}


def test_markdown_is_drawn_at_a_terminal(reckon):
    with ModelServer(Reply(text=ANSWER)) as model:
        with Terminal(reckon, *args(), env=env(model), columns=40) as term:
            assert term.end() == 0
            raw = term.raw.decode()
            shown = [line.rstrip() for line in term.text.splitlines() if line.strip()]
    assert shown == [line for line in DRAWN.splitlines() if line]
    assert "\x1b[0;1mnorth\x1b[0m" in raw and "\x1b[0;36mprint(6 * 7)\x1b[0m" in raw
    assert "\x1b]8;;https://example.com/t\x1b\\https://example.com/t\x1b]8;;\x1b\\" in raw


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_markdown_is_unchanged_on_plain_terminals(reckon, more):
    with ModelServer(Reply(text=ANSWER)) as model:
        with Terminal(reckon, *args(), env=env(model, **more), columns=120) as term:
            assert term.end() == 0
            raw = term.raw.decode()
    assert raw.replace("\r\n", "\n").strip() == ANSWER.strip()


def test_a_pipe_gets_what_the_model_wrote(reckon):
    with ModelServer(Reply(text=ANSWER)) as model:
        assert reckon(*args(), env=env(model)).expect(0).out == ANSWER


def test_words_are_seen_before_their_block_is_complete(reckon):
    delta = b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    with ModelServer(Reply(raw=delta % b"A first *word",
                           endless=b": still here\n\n")) as model:
        with Terminal(reckon, *args(), env=env(model)) as term:
            term.wait("A first *word").write("\x03")
            assert term.end() == 130


@pytest.mark.parametrize("images,drawn", [("blocks", r"\x1b\[[0-9;]*[34]8;"),
                                          ("kitty", "\x1b_G"), ("sixel", "\x1bP"), ("none", None)])
@pytest.mark.parametrize("link", ["sandbox:/mnt/data/a%20b.png", "</mnt/data/a b.png>", "a%20b.png"])
def test_pictures_that_an_answer_links_to_are_shown(reckon, images, drawn, link):
    script = [Reply(calls=[SAVE]), Reply(text=f"Here: ![chart]({link})\n\nDone.")]
    with ModelServer(*script) as model:
        with Terminal(reckon, *args("--images", images), env=env(model), pixels=(640, 480),
                      graphics=True) as term:
            assert term.end() == 0
            raw = term.raw.decode(errors="replace")
    behind = raw.split("[image: ")[-1]
    assert "Done." in behind
    assert re.search(drawn, behind.split("Done.")[0]) if drawn else "\x1b_G" not in behind


@pytest.mark.parametrize("link", ["https://example.com/x.png", "/etc/hostname", "../../etc/hostname",
                                  "sandbox:/mnt/data/../../etc/hostname", "sandbox:/mnt/data/none.png",
                                  "sandbox:/mnt/data/text.png", "sandbox:/mnt/data/link.png"])
def test_other_links_show_nothing(reckon, link):
    code = ("open('/mnt/data/text.png', 'w').write('no picture')\n"
            "import os; os.symlink('/etc/hostname', '/mnt/data/link.png')")
    with ModelServer(Reply(calls=[code]), Reply(text=f"![x]({link})\n\nDone.")) as model:
        with Terminal(reckon, *args("--images", "kitty"), env=env(model), pixels=(640, 480),
                      graphics=True) as term:
            assert term.end() == 0
            raw = term.raw.decode(errors="replace")
    assert "[image: " in raw and "Done." in raw and "\x1b_G" not in raw


def test_control_sequences_in_an_answer_are_escaped(reckon):
    evil = ("**\x1b]0;owned\x07** [x](https://a.b/\x1b]8;;http://c.d\x07) `\x1b[2J`\n\n"
            "|\x1b]52;c;b3duZWQ=\x07|\n|-|\n|\x9b2J|\n\n```\n\x1b[3J\n```\n")
    with ModelServer(Reply(text=evil)) as model:
        with Terminal(reckon, *args(), env=env(model)) as term:
            assert term.end() == 0
            raw = term.raw.decode()
    assert "\x07" not in raw and "\x1b[2J" not in raw and "\x1b[3J" not in raw
    assert "\x1b]0" not in raw and "\x1b]52" not in raw and "\x9b" not in raw
    assert "\\x1b]0;owned\\x07" in raw
