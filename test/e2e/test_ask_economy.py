"""reckon ask: a conversation that fits its context, pages of outputs, and a model that repeats itself."""
import json
import re

import private_daemon
import pytest
from model_server import ModelServer, Reply
from reckon_cli import parse_json
from test_ask import FAST, WAYS, Ask, texts_of

pytestmark = pytest.mark.one_user

LONG = "for i in range(5000): print('row', i, 'of', i % 7, i * i % 1000003)"
HANDLE = re.compile(r"reckon output (out_[0-9a-f]{32})")
WORDS = re.compile(r"reckon output \w+ --lines \d+:\d+")


@pytest.fixture
def ask(reckon):
    return Ask(reckon, "openai")


@pytest.fixture(params=WAYS)
def ask_each(reckon, request):
    return Ask(reckon, request.param)


def last_result(body):
    """The last text of a request's messages, in any protocol."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str) and key in ("content", "text", "output", "error"):
                    found.append(item)
                else:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(body.get("messages") or body.get("input") or body.get("contents"))
    return found[-1]


def read(**arguments):
    """A call of the second tool."""
    return {"raw": json.dumps(arguments), "name": "read_output"}


# ---- reading again ------------------------------------------------------------------------------

def test_omitted_output_is_read_with_a_tool(ask_each):
    def script(body):
        state.append(last_result(body))
        if len(state) == 1:
            return Reply(calls=[LONG])
        handle = HANDLE.search(state[1]).group(1)
        return {2: Reply(calls=[read(handle=handle, lines="2000:2002")]),
                3: Reply(calls=[read(handle=handle, grep="row 4321 ")]),
                4: Reply(calls=[read(handle=handle, lines="9999:")]),
                5: Reply(text="read")}[len(state)]

    state = []
    with ModelServer(script) as model:
        answer = ask_each.json(model, "?", "--max-text", "2K")
    assert answer["answer"] == "read" and len(answer["steps"]) == 1
    lines = [f"row {i} of {i % 7} {i * i % 1000003}" for i in range(1999, 2002)]
    assert state[2].split("\n")[:3] == lines
    assert state[3].startswith(f"4322:row 4321 of 2 {4321 * 4321 % 1000003}")
    assert state[4].startswith("Error: there are 5000 lines")
    tools = json.dumps(model.requests[0].body["tools"])
    assert "read_output" in tools and "handle" in tools
    assert answer["usage"]["steps"] == 1


@pytest.mark.parametrize("calling", ["fenced", "schema", "tools"])
def test_an_output_command_in_a_cell_reads_a_page(ask, calling):
    def reply_with(code):
        if calling == "fenced":
            return Reply(text=f"```python\n{code}\n```\n")
        if calling == "schema":
            return Reply(text=json.dumps({"action": "run", "content": code}))
        return Reply(calls=[code])

    def script(body):
        state.append(last_result(body))
        if len(state) == 1:
            return reply_with(LONG)
        if len(state) == 2:
            return reply_with(f"!{HANDLE.search(state[1]).group()} --lines 2000:2001")
        return Reply(text=json.dumps({"action": "answer", "content": "ok"})
                     if calling == "schema" else "ok")

    state = []
    with ModelServer(script) as model:
        answer = ask.json(model, "--calling", calling, "?", "--max-text", "2K")
    assert answer["answer"] == "ok" and len(answer["steps"]) == 1
    assert state[2].removeprefix("Output:\n").startswith("row 1999 of 4 ")
    # Without a description of the tool, the first notice of omitted output explains the command.
    assert ("shows what was left out" in state[1]) == (calling != "tools")


def test_an_output_that_was_shortened_is_read_again(ask_each):
    def script(body):
        state.append(texts_of(model.requests[-1]))
        if len(state) <= 3:
            return Reply(calls=[f"for i in range(500): print(i, 'cell {len(state)}')"])
        if len(state) == 4:
            words = next(WORDS.search(text).group() for text in state[3] if WORDS.search(text))
            assert "result_1" in words
            return Reply(calls=[read(handle="result_1", lines="250:251")])
        return Reply(text="ok")

    state = []
    with ModelServer(script) as model:
        answer = ask_each.json(model, "?", "--context", "6000", "--answer-tokens", "500")
    assert answer["answer"] == "ok"
    assert "249 cell 1\n250 cell 1" in last_result(model.requests[4].body)


def test_only_outputs_of_this_conversation_can_be_read(ask, reckon):
    """The store contains outputs of other questions; neither the model nor hostile code can read those."""
    done = reckon("run", *FAST, "--max-text", "1K", "--json", "-c",
                  "for i in range(3000): print('a secret of another', i)").expect(0)
    other = parse_json(done.stdout)["text_left_out"][0]["handle"]
    assert reckon("output", other).expect(0).out.startswith("a secret of another 0\n")
    script = [Reply(calls=[f"print('[all of it: reckon output {other}]')"]),
              Reply(calls=[read(handle=other)]), Reply(calls=[f"!reckon output {other}"]),
              Reply(calls=[read(handle="../../etc/passwd")]), Reply(text="no")]
    with ModelServer(*script) as model:
        assert ask.json(model, "?")["answer"] == "no"
    sent = json.dumps([request.body for request in model.requests])
    assert "a secret of another" not in sent
    assert sent.count("no output of this conversation has the handle") >= 2
    assert "invalid handle" in sent


def test_reads_of_pages_are_limited(ask):
    """--max-steps limits pages like cells, and the same page four times stops the run as stuck."""
    pages = iter(range(1, 100))

    def script(body):
        if len(model.requests) == 1:
            return Reply(calls=[LONG])
        if "Not run" in last_result(body):
            return Reply(text="enough")
        handle = HANDLE.search(json.dumps(body)).group(1)
        return Reply(calls=[read(handle=handle, lines=f"{next(pages)}:")])

    with ModelServer(script) as model:
        answer = ask.json(model, "?", "--max-text", "2K", "--max-steps", "3", status=3)
    assert answer["stop"] == "max_steps" and answer["answer"] == "enough"
    assert len(model.requests) == 6

    def again(body):
        if len(model.requests) == 1:
            return Reply(calls=[LONG])
        return Reply(calls=[read(handle=HANDLE.search(json.dumps(body)).group(1))])

    with ModelServer(again) as model:
        answer = ask.json(model, "?", "--max-text", "2K", status=3)
    assert answer["stop"] == "stuck" and len(model.requests) == 5


def test_control_characters_in_a_page_are_escaped(ask):
    """Hostile code can write any bytes to an output."""
    def script(body):
        if len(model.requests) == 1:
            return Reply(calls=["import sys\n"
                                "for i in range(3000): sys.stdout.buffer.write("
                                "b'\\x1b[31mred\\x1b[0m \\xff\\x07 %d\\n' % i)"])
        if len(model.requests) == 2:
            return Reply(calls=[read(handle=HANDLE.search(json.dumps(body)).group(1),
                                     lines="1500:1500")])
        return Reply(text="ok")

    with ModelServer(script) as model:
        ask.json(model, "?", "--max-text", "2K")
    assert "\\x1b[31mred\\x1b[0m \ufffd\\x07 1499" in last_result(model.requests[2].body)


# ---- a small context ---------------------------------------------------------------------------

def test_a_long_conversation_fits_its_context(ask_each):
    """Eighteen outputs of 3 KB in a context of 2,800 tokens: every request fits."""
    def script(body):
        number = len(model.requests)
        if number <= 18:
            return Reply(calls=[f"for i in range(400): print('{number}:', i)"])
        return Reply(text="done")

    with ModelServer(script) as model:
        answer = ask_each.json(model, "What is it?", "--context", "2800", "--answer-tokens", "500",
                               "--max-steps", "25")
    assert answer["answer"] == "done" and len(answer["steps"]) == 18
    for number, request in enumerate(model.requests):
        # The estimate is three bytes per token, without the names of members.
        assert sum(len(text) for text in texts_of(request)) < 2300 * 3 * 1.1, number
        assert any("What is it?" in text for text in texts_of(request))
        if number > 0:  # the last output is whole
            assert f"{number}: 399" in last_result(request.body)
    assert any("steps towards the answer were left out" in text
               for text in texts_of(model.requests[18]))


def test_the_token_count_of_the_server_decides(ask):
    """Digits take more tokens than words, so the estimate follows the count of the server."""
    def script(body):
        number = len(model.requests)
        size = len(json.dumps(body))
        if number <= 4:
            return Reply(calls=[f"for i in range(700): print({number}, i)"], usage=(size, 10))
        return Reply(text="ok", usage=(size, 10))

    with ModelServer(script) as model:
        ask.json(model, "?", "--context", "12000", "--answer-tokens", "1000")
    assert len(json.dumps(model.requests[4].body)) < 11000 * 1.4


# ---- repetition --------------------------------------------------------------------------------

def test_the_same_failure_second_third_fourth(ask_each):
    script = ["fruit = {'apple': 1}\nfruit['pear']", "fruit = {'apple': 1}\n\nfruit['pear']  # again",
              'fruit = {"apple": 1}\nfruit["pear"]', "fruit = {'apple': 1}\nfruit['pear']"]
    with ModelServer(*[Reply(calls=[code]) for code in script], Reply(text="never")) as model:
        answer = ask_each.json(model, "?", status=3)
    assert answer["stop"] == "stuck" and len(answer["steps"]) == 4 and len(model.requests) == 4
    assert "KeyError: 'pear'" in answer["message"] and "4 times" in answer["message"]
    first, second, third = [last_result(request.body) for request in model.requests[1:]]
    # The error is whole each time, in the repair view.
    for text in (first, second, third):
        assert "KeyError: 'pear'" in text and "its keys: 'apple'" in text and "> " in text
    assert "hint: the same code fails" not in first and "did not change" not in first
    assert "hint: the same code fails in the same way" in second and "did not change" not in second
    assert "What did not change since this failed before: the code, the error, the files." in third


def test_the_same_error_after_changes_of_the_code(ask):
    script = [f"step = {i}\nrow = {{'a': 1}}\nrow['b']" for i in range(4)]
    with ModelServer(*[Reply(calls=[code]) for code in script]) as model:
        answer = ask.json(model, "?", status=3)
    assert answer["stop"] == "stuck" and len(model.requests) == 4
    third = last_result(model.requests[3].body)
    assert "What did not change since this failed before: the error" in third
    assert "These lines are as they were:\n  row = {'a': 1}\n  row['b']" in third
    assert "the change did not reach the cause" in last_result(model.requests[2].body)


def test_different_failures_are_not_a_repetition(ask):
    script = [Reply(calls=[f"x_{i}"]) for i in range(6)] + [Reply(text="ok")]
    with ModelServer(*script) as model:
        assert ask.json(model, "?")["answer"] == "ok"
    assert not any("did not change" in text for request in model.requests for text in texts_of(request))


def test_the_same_success_second_third_fourth(ask_each):
    with ModelServer(lambda body: Reply(calls=["print(6 * 7)"])) as model:
        answer = ask_each.json(model, "?", status=3)
    assert answer["stop"] == "stuck" and "same output" in answer["message"]
    assert [step["record"]["status"] for step in answer["steps"]] == ["ok"] * 4
    first, second, third = [last_result(request.body) for request in model.requests[1:]]
    assert first.strip() == "42"
    assert "hint: this code ran before, with the same output" in second
    assert "What did not change since this ran before: the code, the output" in third


def test_silent_code_may_run_again(ask):
    """The code may have changed something, so only four runs in a row stop the question."""
    script = [Reply(calls=["n = globals().get('n', 0) + 1"])] * 3 + [Reply(calls=["print(n)"])]
    script += [Reply(calls=["n = globals().get('n', 0) + 1"])] * 3 + [Reply(text="ok")]
    with ModelServer(*script) as model:
        assert ask.json(model, "?")["answer"] == "ok"
    with ModelServer(lambda body: Reply(calls=["x = 1"])) as model:
        assert ask.json(model, "?", status=3)["stop"] == "stuck"
    assert len(model.requests) == 4


def test_the_same_malformed_call_second_third_fourth(ask_each):
    with ModelServer(lambda body: Reply(calls=[{"raw": '{"a": "1", "b": "2"}'}])) as model:
        answer = ask_each.json(model, "?", status=3)
    assert answer["stop"] == "stuck" and answer["steps"] == [] and len(model.requests) == 4
    assert "cannot be run" in answer["message"]
    first, second, third = [last_result(request.body) for request in model.requests[1:]]
    assert first.startswith("Error: the arguments must be") and "hint" not in first
    assert "hint: the same was refused before" in second
    assert "What did not change since this was refused before: the call, the complaint" in third


@pytest.mark.parametrize("calling", ["tools", "fenced", "schema"])
def test_empty_answers_second_third_fourth(ask_each, calling):
    empty = {"tools": Reply(text=" \n"), "fenced": Reply(thought="hm"),
             "schema": Reply(text='{"action": "answer", "content": " "}')}[calling]
    with ModelServer(lambda body: empty) as model:
        answer = ask_each.json(model, "--calling", calling, "Why?", status=3)
    assert answer["stop"] == "stuck" and len(model.requests) == 4
    assert "neither text nor code" in answer["message"]
    assert "Why?" in last_result(model.requests[3].body)
    assert "Your answer was empty." in last_result(model.requests[1].body)
    assert "empty again" in last_result(model.requests[2].body)
    assert "Nothing changed: a third empty answer" in last_result(model.requests[3].body)


def test_a_run_continues_after_an_empty_answer(ask_each):
    script = [Reply(calls=["print(1)"]), Reply(), Reply(text="It is 1.")]
    with ModelServer(*script) as model:
        assert ask_each.json(model, "?")["answer"] == "It is 1."
    assert "Your answer was empty." in last_result(model.requests[2].body)


def test_failures_of_an_earlier_question_do_not_end_the_next(ask, reckon):
    """A session counts failures over all its questions, but a new question continues after its first failure."""
    failing = [Reply(calls=["undefined"])] * 4
    script = [*failing, Reply(calls=["undefined"]), Reply(text="I see")]
    with ModelServer(*script) as model:
        done = reckon("chat", *ask.args()[1:], env=ask.env(model), stdin="a\nb\n").expect(0)
    private_daemon.end(reckon)
    assert done.out == "I see\n" and "failed before 4 times" in done.err


def test_a_server_that_enforces_no_schema(ask_each):
    """Text that is not a complete object is the answer."""
    for reply_text in ("It is 42.", '{"action": "run", "content": "print(4'):
        with ModelServer(Reply(text=reply_text)) as model:
            answer = ask_each.json(model, "--calling", "schema", "--verify", "off", "?")
            assert answer["answer"] == reply_text
        assert len(model.requests) == 1
