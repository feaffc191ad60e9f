"""reckon_agent.h: a program in C asks a scripted model, with the shared library alone."""
import os
import pathlib
import re

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json

pytestmark = pytest.mark.one_user

SCHEMA = parse_json((ROOT / "docs/ask.schema.json").read_bytes())
KEY = "sk-never-to-be-seen-0815"
PICTURE = ("import base64\n"
           "class P:\n"
           "    def _repr_png_(self): return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"
           "CAYAAAAfFcSJAAAADUlEQVR42mNk' 'YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==')\n"
           "P()")
IMAGE = "DUlEQVR42mNkYPhfDwAC"  # base64 that spans both halves of the picture


def build(reckon):
    """The folder of this build's programs."""
    return pathlib.Path(os.environ.get("RECKON_BIN", ROOT / "build/bin/reckon")).parent.parent


def run(reckon, program, *args, **env):
    """Runs the program as this test's user."""
    here = build(reckon)
    real = reckon.place.program
    reckon.place.program = here / program
    try:
        return reckon(*args, env={"RECKON_LIBEXEC": str(real.parent.parent / "libexec"), **env})
    finally:
        reckon.place.program = real


class Lines:
    """The lines that a program printed, by their first word."""

    def __init__(self, done):
        self.done = done
        self.lines = done.out.splitlines()

    def of(self, word):
        return [line[len(word) + 1:] for line in self.lines if line.startswith(word + " ")]

    def answers(self):
        found = [parse_json(text) for text in self.of("answer")]
        for answer in found:
            jsonschema.validate(answer, SCHEMA)
        return found


@pytest.fixture
def lines(reckon):
    def call(model, *words, protocol="chat"):
        path = "/v1" if protocol in ("chat", "responses") else ""
        done = run(reckon, "test/support/reckon-agent-conversation", protocol, model.url + path, KEY,
                   *words).expect(0)
        assert KEY not in done.out + done.err
        return Lines(done)
    return call


def test_files_that_are_not_named_are_counted(lines):
    names = [f"@f{i:04}" for i in range(1003)]
    with ModelServer(Reply(text="Many."), Reply(text="As many as may be.")) as model:
        lines(model, *names, "?What is there?", *names[:1000], "?And now?")
        first, second = requests(model)
    assert "f0999 (0 bytes)" in first and "f1000" not in first
    assert "and 3 more, which are not named here" in first
    assert second.count("more, which are not named here") == 1  # of the first question alone


def requests(model):
    return [str(request.body) for request in model.requests]


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages", "gemini"])
def test_a_question_is_answered_by_running_code(lines, protocol):
    script = [Reply(text="I compute.", calls=["x = 6 * 7\nprint(y)"]),
              Reply(calls=["print(x); open('out.txt', 'w').write('42')"]),
              Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        output = lines(model, "?What is 6 times 7?", protocol=protocol)
    answer, = output.answers()
    assert output.of("text") == ["It is 42."] and output.of("stop") == ["answer"]
    assert output.of("steps") == ["2 -2 ok"] and output.of("tokens") == ["300"]
    assert [step["record"]["status"] for step in answer["steps"]] == ["error", "ok"]
    assert answer["steps"][1]["record"]["stdout"] == "42\n"
    assert [(file["path"], file["size"]) for file in answer["files"]] == [("out.txt", 2)]
    assert answer["usage"]["requests"] == 3 and answer["cost"] is None
    assert "NameError" in requests(model)[1]
    kinds = [line.split()[0] for line in output.of("event")]
    at = kinds.index("cell")
    assert "text" in kinds[:at] and kinds[at - 1] == "turn"
    assert kinds[at + 1] == "output" and "record" in kinds[at:]
    assert [line for line in output.of("event") if line.startswith("record")] == ["record 0 error",
                                                                                  "record 1 ok"]


def test_a_second_question_continues_the_conversation(lines):
    script = [Reply(calls=["n = 20"]), Reply(text="Set."), Reply(calls=["print(n + mine)"]),
              Reply(text="22.")]
    with ModelServer(*script) as model:
        output = lines(model, "?Set n.", "=mine = 2", "?Add mine.")
    first, second = output.answers()
    assert first["answer"] == "Set." and second["answer"] == "22."
    assert [len(answer["steps"]) for answer in (first, second)] == [1, 1]
    assert second["steps"][0]["record"]["stdout"] == "22\n"
    assert second["usage"]["requests"] == 2
    assert "Set n." in requests(model)[2] and "Set." in requests(model)[2]


def test_named_files_are_in_the_request(lines):
    with ModelServer(Reply(text="I see.")) as model:
        lines(model, "=open('a b.csv', 'w').write('x' * 77)", "@a b.csv", "?What is there?")
    assert "a b.csv (77 bytes)" in requests(model)[0]


def test_images_are_sent_if_the_caller_allows_it(lines):
    for images in (0, 1):
        with ModelServer(Reply(calls=[PICTURE]), Reply(text="A dot.")) as model:
            lines(model, f"+images={images}", "?Draw a dot.")
        assert (IMAGE in requests(model)[1]) == bool(images)


def test_a_cell_that_is_not_allowed_does_not_run(lines):
    with ModelServer(Reply(calls=["open('x', 'w')"]), Reply(text="Pity.")) as model:
        output = lines(model, "-refuse", "?Write x.", "=import os; print(os.listdir())")
    answer, = output.answers()
    assert answer["answer"] == "Pity." and answer["steps"][0]["record"] is None
    assert answer["steps"][0]["status"] == "refused" and answer["files"] == []
    assert "not allowed" in requests(model)[1]
    assert output.of("cell") == ["ok 0 []"]


FIGURES = "print('mean', 1234.5678); open('there.txt', 'w').write('1')"
CLAIMS = "The mean is 1,234.57, the sum 98,765; see [a](sandbox:/mnt/data/{}.txt)."


def test_claims_of_an_answer_are_checked(lines):
    """Unsupported claims are reported to the model once, and then to the caller."""
    script = [Reply(calls=[FIGURES]), Reply(text=CLAIMS.format("not")),
              Reply(text="No. " + CLAIMS.format("gone"))]
    with ModelServer(*script) as model:
        output = lines(model, "?How much?")
    answer, = output.answers()
    assert output.of("checked") == ["1 2 1 1 1"]
    assert output.of("claim") == ["0 98,765", "1 gone.txt"] and output.of("claims") == ["end -2"]
    assert answer["checked"] == {
        "numbers": 2, "links": 1, "unsupported_count": 2,
        "unsupported": [{"kind": "number", "text": "98,765"}, {"kind": "link", "text": "gone.txt"}]}
    assert len(model.requests) == 3 and "98,765" in str(model.requests[2].body)


@pytest.mark.parametrize("how, checked, claims", [
    ("mark", "1 2 1 1 0", ["0 98,765"]), ("off", "0 0 0 0 0", [])])
def test_the_caller_chooses_how_claims_are_checked(lines, how, checked, claims):
    with ModelServer(Reply(calls=[FIGURES]), Reply(text=CLAIMS.format("there"))) as model:
        output = lines(model, f"+verify={how}", "?How much?")
    assert (output.of("checked"), output.of("claim")) == ([checked], claims)
    assert len(model.requests) == 2


def test_nothing_is_checked_without_an_answer(lines):
    with ModelServer(Reply(calls=["1"]), Reply(calls=["2"])) as model:
        output = lines(model, "+steps=1", "?Loop.")
    assert output.of("checked") == ["0 0 0 0 0"] and output.of("claims") == ["end -2"]


@pytest.mark.parametrize("word", ["-stop=cell", "-stop=output", "-alarm=1500"])
def test_an_interrupt_ends_the_question_and_not_the_conversation(lines, word):
    script = [Reply(calls=["import time\nprint('begun', flush=True)\nkept = 1\ntime.sleep(60)"]),
              Reply(text="Again.")]
    with ModelServer(*script) as model:
        output = lines(model, word, "?Sleep.", "?Awake?", "=print(6 * 7)")
    first, second = output.answers()
    assert first["stop"] == "interrupted"
    expected = "refused" if word == "-stop=cell" else "interrupted"
    assert first["steps"][0]["status"] == expected
    assert second["answer"] == "Again." and output.of("cell") == ["ok 0 42"]


def test_an_interrupt_while_the_model_writes(lines):
    def endless(_):
        return Reply(raw=b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
                     endless=b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\n')
    with ModelServer(endless) as model:
        output = lines(model, "-alarm=700", "?Write for ever.")
    assert output.of("stop") == ["interrupted"]


@pytest.mark.parametrize("option, script, stop", [
    ("+steps=1", [Reply(calls=["1"]), Reply(calls=["2"]), Reply(text="I had to stop.")],
     "max_steps"),
    ("+tokens=100", [Reply(calls=["1"]), Reply(calls=["2"])], "max_tokens"),
    ("+wall_ms=1500", [Reply(calls=["import time; time.sleep(3)"])], "max_time"),
])
def test_limits_end_a_question(lines, option, script, stop):
    with ModelServer(*script) as model:
        output = lines(model, option, "?Go on.")
    assert output.of("stop") == [stop]


def test_a_cell_ends_with_the_time_of_its_question(lines):
    with ModelServer(Reply(calls=["import time\ntime.sleep(25)\nprint('sl' + 'ept')"])) as model:
        output = lines(model, "+wall_ms=1500", "?Go on.")
    assert output.of("stop") == ["max_time"]
    assert "slept" not in output.done.out


def test_a_budget_is_counted_by_the_prices(lines):
    with ModelServer(Reply(calls=["1"]), Reply(text="x")) as model:
        output = lines(model, "+price=1000000", "+budget=100", "?Spend.")
    answer, = output.answers()
    assert answer["stop"] == "budget" and answer["cost"] == 0.00012


def test_errors_of_the_provider_are_reported(lines):
    refused = Reply(status=401, error={"error": {"message": "no such key", "type": "x"}})
    with ModelServer(refused, Reply(text="Now.")) as model:
        output = lines(model, "?One", "?Two")
    first, second = output.answers()
    assert first["stop"] == "failed" and "no such key" in first["message"]
    assert first["answer"] is None and second["answer"] == "Now."


def test_an_agent_that_is_killed_ends_the_conversation(lines):
    with ModelServer(Reply(calls=["1"])) as model:
        output = lines(model, "-kill", "?One", "?Two", "=print('alive')")
    assert re.match(r"-8 reckon-agent\b|-6 reckon-agent\b", output.of("error")[0])
    assert output.of("error")[1] == "-8 this conversation has ended"
    assert output.of("cell") == ["ok 0 alive"]


@pytest.mark.parametrize("words, why", [
    (["+steps=5000", "?x"], "max_steps"),
    (["+budget=5", "?x"], "a budget needs a price"),
    (["+verify=twice", "?x"], "verify"),
    (["?"], "a question is UTF-8 text"),
])
def test_invalid_options_and_questions_are_reported(lines, reckon, words, why):
    with ModelServer() as model:
        done = run(reckon, "test/support/reckon-agent-conversation", "chat", model.url, KEY, *words)
    assert done.out.startswith("error -1 ") and why in done.out


def test_text_images_and_files_of_cells(lines):
    with ModelServer() as model:
        output = lines(model, "=1/0", "=1/0", f"={PICTURE}",
                       "=open('f.txt', 'w').write('abc'); print('\u00e4')")
    assert [line.split()[:2] for line in output.of("cell")] == [
        ["error", "0"], ["error", "2"], ["ok", "0"], ["ok", "0"]]
    assert output.of("image") == ["image/png 1x1 70"]
    created, = output.of("file")
    assert re.fullmatch(r"created f.txt 3 ar_\w+", created)
    assert "cell ok 0 \u00e4" in output.lines


def test_the_example(reckon):
    script = [Reply(calls=["print(open('/mnt/data/sales.csv').read())"]), Reply(text="Bern.")]
    reckon.file("sales.csv", "city,sales\nBern,2\n")
    with ModelServer(*script) as model:
        done = run(reckon, "test/unit/ask", "Which city?", "sales.csv",
                   OPENAI_BASE_URL=model.url + "/v1", OPENAI_API_KEY=KEY, MODEL="m").expect(0)
    answer = parse_json(done.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert answer["answer"] == "Bern." and "sales.csv (18 bytes)" in requests(model)[0]
    assert done.err == "cell 1: 41 bytes of code\ncell 1: ok\n"
