"""Whole requests to models, as golden files: each protocol, each way of calling, fresh and resumed.

An assertion about one part of a request does not notice that another part is missing, so these tests
compare whole requests. After an intended change: RECKON_GOLDEN=write pytest THIS_FILE, then read the
diff.
"""
import json
import os
import re

import pytest
from model_server import ModelServer
from reckon_cli import ROOT
from test_ask import WAYS
from test_ask_runs import Chat, cell_reply, answer_reply

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]
FOLDER = ROOT / "test/data/bodies"
# Values that differ in each run or on each host.
VARIABLE_VALUES = [(r"\b(?:run|se|ex|ar|out)_[0-9A-Za-z]{20,}", "ID"), (r"\b\d+(?:\.\d+)? (?:ms|s)\b", "TIME"),
                   (r"Python 3\.\d+(?:\.\d+)?", "Python 3"), (r"\b\d{4}-\d\d-\d\d\b", "DATE")]


def golden(requests):
    text = json.dumps([{"path": each.path, "body": each.body} for each in requests], indent=1,
                      ensure_ascii=False)
    for pattern, word in VARIABLE_VALUES:
        text = re.sub(pattern, word, text)
    return text + "\n"


@pytest.mark.parametrize("calling", ["tools", "fenced", "schema"])
@pytest.mark.parametrize("provider", WAYS)
def test_requests_match_the_golden_files(reckon, provider, calling):
    script = [cell_reply("x = 6 * 7\nprint('set')", calling), answer_reply("It is set.", calling),
              cell_reply("print(x)\n1 / 0", calling), answer_reply("It is 42.", calling)]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model, provider, calling)
        chat(["Set x."])
        chat(["What is x?"], "--resume")
    assert len(model.requests) == 4
    for name, requests in (("fresh", model.requests[:2]), ("resumed", model.requests[2:])):
        path = FOLDER / f"{provider}-{calling}-{name}.json"
        if os.environ.get("RECKON_GOLDEN") == "write":
            path.write_text(golden(requests), encoding="utf-8")
        assert golden(requests) == path.read_text(encoding="utf-8"), path.name
