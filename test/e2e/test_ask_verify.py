"""The check of an answer's numbers and links against the outputs of its run."""
import json

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json
from terminal import Terminal

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

SCHEMA = json.loads((ROOT / "docs/ask.schema.json").read_text())
FAST = ("-t", "python")


@pytest.fixture
def ask(reckon):
    def run(model, *args, command="ask", status=0, **options):
        env = {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "k",
               **options.pop("env", {})}
        return reckon(command, "--model", "openai/m", *FAST, *args, env=env,
                      **options).expect(status)
    return run


@pytest.fixture
def ask_json(ask):
    def run(model, *args, **options):
        answer = parse_json(ask(model, "--json", *args, **options).stdout)
        jsonschema.validate(answer, SCHEMA)
        return answer
    return run


def last_text(request):
    """The text of the last message to the model."""
    content = request.body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


PRINTS = Reply(calls=["print('mean', 1234.5678, 'share', 0.1234)"])


def test_a_supported_answer_is_requested_once(ask_json):
    with ModelServer(PRINTS, Reply(text="The mean is 1,234.57, the share 12.3 % in 2024.")) as model:
        answer = ask_json(model, "How much?")
    assert answer["checked"] == {"numbers": 2, "links": 0, "unsupported_count": 0,
                                 "unsupported": []}
    assert answer["usage"]["requests"] == 2


def test_the_model_can_correct_unsupported_numbers(ask_json):
    script = [PRINTS, Reply(text="The mean is 1,234.57, the sum 98,765."),
              Reply(calls=["print(98764)"]),
              Reply(text="The mean is 1,234.57, the sum 98,764.")]
    with ModelServer(*script) as model:
        answer = ask_json(model, "How much?")
    assert answer["answer"] == "The mean is 1,234.57, the sum 98,764."
    assert answer["checked"]["unsupported_count"] == 0
    assert len(answer["steps"]) == 2 and answer["stop"] == "answer"
    correction = last_text(model.requests[2])
    assert "98,765" in correction and "1,234.57" not in correction
    assert len(model.requests) == 4


def test_a_number_that_stays_unsupported_is_marked(ask):
    script = [PRINTS, Reply(text="It is 98,765."), Reply(text="It is 98,766, I am sure.")]
    with ModelServer(*script) as model:
        done = ask(model, "How much?")
    assert done.stdout.decode() == "It is 98,766, I am sure.\n"
    assert "reckon: 1 number of the answer is in no output of this run: 98,766" in done.stderr.decode()
    assert "the answer has 1 number in no output: 98,765; the model is asked once more" \
        in done.stderr.decode()
    assert len(model.requests) == 3


def test_a_correction_may_run_one_cell_then_the_first_answer_counts(ask_json):
    script = [PRINTS, Reply(text="It is 98,765."), Reply(calls=["print(1)"]),
              Reply(calls=["print(2)"]), Reply(calls=["print(3)"])]
    with ModelServer(*script) as model:
        answer = ask_json(model, "How much?")
    assert answer["answer"] == "It is 98,765." and answer["stop"] == "answer"
    assert len(answer["steps"]) == 2
    assert [claim["text"] for claim in answer["checked"]["unsupported"]] == ["98,765"]


def test_the_first_answer_counts_if_the_correction_fails(ask_json):
    script = [PRINTS, Reply(text="It is 98,765."),
              Reply(status=400, error={"error": {"message": "no more"}})]
    with ModelServer(*script) as model:
        answer = ask_json(model, "How much?")
    assert answer["answer"] == "It is 98,765." and answer["stop"] == "answer"
    assert answer["message"] is None
    assert answer["checked"]["unsupported_count"] == 1


def test_an_answer_at_the_limit_of_tokens_is_only_marked(ask_json):
    with ModelServer(PRINTS, Reply(text="It is 98,765.")) as model:
        answer = ask_json(model, "How much?", "--max-tokens", "200")
    assert answer["answer"] == "It is 98,765."
    assert answer["checked"]["unsupported_count"] == 1


@pytest.mark.parametrize("how, checked", [("off", None), ("mark", 1)])
def test_verify_off_and_mark_request_no_correction(ask_json, how, checked):
    with ModelServer(PRINTS, Reply(text="It is 98,765.")) as model:
        answer = ask_json(model, "How much?", "--verify", how)
    assert len(model.requests) == 2
    assert (answer["checked"] or {}).get("unsupported_count") == checked


def test_the_models_file_can_turn_verification_off(ask_json, tmp_path):
    file = tmp_path / "models.ini"
    file.write_text("[default]\nverify = off\n")
    file.chmod(0o644)
    tmp_path.chmod(0o755)
    with ModelServer(PRINTS, Reply(text="It is 98,765.")) as model:
        answer = ask_json(model, "How much?", env={"RECKON_MODELS": str(file)})
    assert answer["checked"] is None and len(model.requests) == 2


def test_numbers_of_the_question_and_the_code_are_supported(ask_json):
    script = [Reply(calls=["limit = 4711\nprint('none')"]),
              Reply(text="None of the 815 rows is above 4,711.")]
    with ModelServer(*script) as model:
        answer = ask_json(model, "Which of the 815 rows are large?")
    assert answer["checked"]["unsupported_count"] == 0 and len(model.requests) == 2


def test_links_to_missing_files_are_reported_to_the_model(ask_json):
    script = [Reply(calls=["open('a.csv', 'w').write('x')"]),
              Reply(text="[a](sandbox:/mnt/data/a.csv) [b](sandbox:/mnt/data/b%20b.csv)"),
              Reply(calls=["open('b b.csv', 'w').write('x')"]),
              Reply(text="[b](sandbox:/mnt/data/b%20b.csv)")]
    with ModelServer(*script) as model:
        answer = ask_json(model, "Make files.")
    assert "b%20b.csv" in last_text(model.requests[2]) and "Numbers that" not in last_text(model.requests[2])
    assert answer["checked"] == {"numbers": 0, "links": 1, "unsupported_count": 0,
                                 "unsupported": []}


def test_verification_with_fenced_and_schema_calling(ask_json):
    script = [Reply(text="```python\nprint(17)\n```\n"), Reply(text="It is 18."),
              Reply(text="It is 17.")]
    with ModelServer(*script) as model:
        answer = ask_json(model, "How much?", "--calling", "fenced")
    assert answer["answer"] == "It is 17." and answer["checked"]["numbers"] == 1
    script = [Reply(text='{"action": "run", "content": "print(17)"}'),
              Reply(text='{"action": "answer", "content": "It is 18."}'),
              Reply(text='{"action": "answer", "content": "It is 17."}')]
    with ModelServer(*script) as model:
        answer = ask_json(model, "How much?", "--calling", "schema")
    assert answer["answer"] == "It is 17." and answer["checked"]["numbers"] == 1


def test_saved_files_contain_the_mark(ask, tmp_path, reckon):
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    script = [PRINTS, Reply(text="It is 98,765, see [x](sandbox:/mnt/data/x.png).")] * 3
    for form in ("md", "ipynb", "json"):
        with ModelServer(*script) as model:
            ask(model, "How much?", "--verify", "mark", "--save", str(out / f"a.{form}"))
    mark = "**Not verified.** In no output of this run: 98,765. No such file: x.png."
    assert f"> {mark}" in (out / "a.md").read_text()
    assert mark in (out / "a.ipynb").read_text()
    checked = json.loads((out / "a.json").read_text())["checked"]
    assert checked["unsupported"] == [{"kind": "number", "text": "98,765"},
                                      {"kind": "link", "text": "x.png"}]
    shown = reckon("runs", "show").expect(0)
    assert mark in shown.stdout.decode()


def test_the_next_question_of_a_chat_knows_the_outputs_of_the_last(ask):
    script = [PRINTS, Reply(text="It is 99."), Reply(text="It is 1,235."),
              Reply(text="As said, 1,235 and 0.12.")]
    with ModelServer(*script) as model:
        done = ask(model, command="chat", stdin="How much?\nAgain?\n")
    assert len(model.requests) == 4
    assert "of the answer" not in done.stderr.decode()
    # The conversation contains neither the first answer nor the correction request.
    texts = json.dumps(model.requests[3].body["messages"])
    assert "It is 99." not in texts and "looked up" not in texts


def test_a_terminal_shows_unsupported_numbers(reckon):
    script = [PRINTS, Reply(text="The mean is **1,236.00**."), Reply(text="The mean is **1,236.00**.")]
    with ModelServer(*script) as model:
        env = {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "k"}
        with Terminal(reckon, "ask", "--model", "openai/m", *FAST, "How much?", env=env) as term:
            term.wait("1 number of the answer is in no output of this run: 1,236.00")
