"""Whole requests to models, as golden files: each protocol, each way of calling, fresh and resumed.

What a model is sent decides what it answers, and no assertion about a part of it notices that
another part is gone. After a change that is meant: RECKON_GOLDEN=write pytest THIS_FILE, then read
the diff.
"""
import json
import os
import re

import pytest
from model_server import ModelServer
from reckon_cli import ROOT
from test_ask import WAYS
from test_ask_runs import Chat, wish, words_of

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]
FOLDER = ROOT / "test/data/bodies"
# What is another one in each run, or on each host.
PASSING = [(r"\b(?:run|se|ex|ar|out)_[0-9A-Za-z]{20,}", "ID"), (r"\b\d+(?:\.\d+)? (?:ms|s)\b", "TIME"),
           (r"Python 3\.\d+(?:\.\d+)?", "Python 3"), (r"\b\d{4}-\d\d-\d\d\b", "DATE")]


def golden(asked):
    text = json.dumps([{"path": each.path, "body": each.body} for each in asked], indent=1,
                      ensure_ascii=False)
    for pattern, word in PASSING:
        text = re.sub(pattern, word, text)
    return text + "\n"


@pytest.mark.parametrize("calling", ["tools", "fenced", "schema"])
@pytest.mark.parametrize("provider", WAYS)
def test_requests_are_what_they_were(reckon, provider, calling):
    script = [wish("x = 6 * 7\nprint('set')", calling), words_of("It is set.", calling),
              wish("print(x)\n1 / 0", calling), words_of("It is 42.", calling)]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model, provider, calling)
        chat(["Set x."])
        chat(["What is x?"], "--resume")
    assert len(model.asked) == 4
    for name, asked in (("fresh", model.asked[:2]), ("resumed", model.asked[2:])):
        path = FOLDER / f"{provider}-{calling}-{name}.json"
        if os.environ.get("RECKON_GOLDEN") == "write":
            path.write_text(golden(asked), encoding="utf-8")
        assert golden(asked) == path.read_text(encoding="utf-8"), path.name
