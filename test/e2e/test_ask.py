"""reckon ask: a scripted model, a real agent, a real session."""
import json
import os
import pathlib
import re
import signal
import time

import jsonschema
import nbformat
import private_daemon
import pytest
from cells import PICTURE
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json
from terminal import Terminal
from waiting import eventually

# These tests do not depend on the user; test_ask_fence.py and test_ask_local.py run as root and as
# an ordinary user.
pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

SCHEMA = json.loads((ROOT / "docs/ask.schema.json").read_text())
KEY = "sk-never-to-be-seen-4711"
# For tests that do not need pandas.
FAST = ("-t", "python")

# Base64 that spans both halves of PICTURE's data.
IMAGE = "DUlEQVR42mNkYPhfDwAC"

# provider: variable of the base URL, path behind it, variable of the key
WAYS = {
    "openai": ("OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "openai-responses": ("OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "anthropic": ("ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
    "gemini": ("GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
}


class Ask:
    """Runs `reckon ask` against a scripted model."""

    def __init__(self, reckon, provider):
        self.reckon = reckon
        self.provider = provider

    def env(self, model):
        url, path, key = WAYS[self.provider]
        return {url: model.url + path, key: KEY}

    def args(self, *args):
        return ("ask", "--model", f"{self.provider}/m", *FAST, *args)

    def __call__(self, model, *args, **options):
        env = {**self.env(model), **options.pop("env", {})}
        return self.reckon(*self.args(*args), env=env, **options)

    def json(self, model, *args, status=0, **options):
        done = self(model, "--json", *args, **options).expect(status)
        answer = parse_json(done.stdout)
        jsonschema.validate(answer, SCHEMA)
        return answer


@pytest.fixture
def ask(reckon):
    return Ask(reckon, "openai")


@pytest.fixture(params=WAYS)
def ask_each(reckon, request):
    return Ask(reckon, request.param)


def texts_of(request):
    """Every text in a request, in order, whatever the protocol."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, str):
            found.append(value)

    walk(request.body)
    return found


# ---- the loop ---------------------------------------------------------------------------------

def test_create_execute_observe_repair(ask_each):
    script = [Reply(text="I compute it.", calls=["x = 6 * 7\nprint(y)"]),
              Reply(calls=["print(x)"]),
              Reply(text="It is **42**.")]
    with ModelServer(*script) as model:
        answer = ask_each.json(model, "What is 6 times 7?")
    assert answer["answer"] == "It is **42**."
    assert answer["stop"] == "answer"
    assert [step["record"]["status"] for step in answer["steps"]] == ["error", "ok"]
    assert answer["steps"][1]["record"]["stdout"] == "42\n"
    assert "What is 6 times 7?" in texts_of(model.requests[0])
    assert any("NameError" in text for text in texts_of(model.requests[1]))
    assert any(text.strip() == "42" for text in texts_of(model.requests[2]))
    assert answer["usage"]["requests"] == 3 and answer["usage"]["steps"] == 2
    assert answer["usage"]["input_tokens"] == 300 and answer["usage"]["output_tokens"] == 60


def test_bytes_may_come_one_at_a_time(ask_each):
    script = [Reply(text="Gr\u00fc\u00dfe \U0001f600", thought="Hm \u2014 so",
                    calls=["print('\u00e4\U0001f600')"], bytewise=True),
              Reply(text="f\u00fcr \u4f60\u597d", bytewise=True, pieces=1)]
    with ModelServer(*script) as model:
        answer = ask_each.json(model, "?")
    assert answer["answer"] == "f\u00fcr \u4f60\u597d"
    assert answer["steps"][0]["record"]["stdout"] == "\u00e4\U0001f600\n"
    assert any("Gr\u00fc\u00dfe \U0001f600" in text for text in texts_of(model.requests[1]))


def test_several_calls_at_once_run_in_order_and_each_is_answered(ask_each):
    script = [Reply(calls=["n = 1; print('one', n)", "n += 1; print('two', n)"]),
              Reply(text="done")]
    with ModelServer(*script) as model:
        answer = ask_each.json(model, "?")
    assert [step["record"]["stdout"] for step in answer["steps"]] == ["one 1\n", "two 2\n"]
    texts = texts_of(model.requests[1])
    assert [text.strip() for text in texts if text.strip() in ("one 1", "two 2")] == [
        "one 1", "two 2"]


@pytest.mark.parametrize("raw", ["print('it ran')", "```python\nprint('it ran')\n```",
                                 '{"source": "print(\'it ran\')"}',
                                 '{"code": "```python\\nprint(\'it ran\')\\n```"}'])
def test_malformed_arguments_that_are_clear_run(ask, raw):
    with ModelServer(Reply(calls=[{"raw": raw}]), Reply(text="ok")) as model:
        answer = ask.json(model, "?")
    assert answer["steps"][0]["record"]["stdout"] == "it ran\n"


def test_calls_without_code_get_errors_and_end_the_run(ask_each):
    with ModelServer(*[Reply(calls=[{"raw": "{}"}])] * 6) as model:
        answer = ask_each.json(model, "?", status=3)
    assert answer["stop"] == "stuck" and answer["steps"] == []
    assert len(model.requests) == 4
    assert any("no code" in text or "one text" in text for text in texts_of(model.requests[1]))


def test_repeated_ids_of_calls_become_unique(ask):
    calls = [{"raw": '{"code": "print(1)"}', "id": "same"},
             {"raw": '{"code": "print(2)"}', "id": "same"}]
    with ModelServer(Reply(calls=calls), Reply(text="ok")) as model:
        ask.json(model, "?")
    messages = model.requests[1].body["messages"]
    sent = [call["id"] for call in messages[2]["tool_calls"]]
    assert len(set(sent)) == 2
    assert [message["tool_call_id"] for message in messages[3:5]] == sent


def test_files_go_in_and_come_out(ask, reckon):
    reckon.file("in.txt", "from outside")
    script = [Reply(calls=["t = open('in.txt').read(); open('out.txt', 'w').write(t.upper())"]),
              Reply(text="See [it](sandbox:/mnt/data/out.txt) or sandbox:/mnt/dat.")]
    with ModelServer(*script) as model:
        answer = ask.json(model, "shout", "in.txt", "-o", "made")
    assert any("in.txt (12 B)" in text for text in texts_of(model.requests[0]))
    assert (reckon.cwd / "made/out.txt").read_text() == "FROM OUTSIDE"
    assert answer["answer"] == "See [it](made/out.txt) or sandbox:/mnt/dat."
    (file,) = answer["files"]
    assert file["path"] == "out.txt" and file["saved"] == "made/out.txt" and file["size"] == 12


def test_a_directory_goes_in_whole(ask, reckon):
    for name in ("data/a.txt", "data/deep/b.txt"):
        (reckon.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        reckon.file(name, name)
    (reckon.cwd / "data/link").symlink_to("/etc/passwd")
    code = "import pathlib; print(sorted(str(p) for p in pathlib.Path('data').rglob('*') if p.is_file()))"
    with ModelServer(Reply(calls=[code]), Reply(text="Two.")) as model:
        answer = ask.json(model, "What is there?", "data")
    assert answer["steps"][0]["record"]["stdout"] == "['data/a.txt', 'data/deep/b.txt']\n"
    reported = "\n".join(texts_of(model.requests[0]))
    assert "data/a.txt (10 B)" in reported and "data/deep/b.txt (15 B)" in reported and "data/link" not in reported


@pytest.mark.parametrize("where", [(), ("-s", "x")])
def test_links_to_missing_files_are_reported(ask, reckon, where):
    answer = ("See [one](sandbox:/mnt/data/a%20b.csv), [two](sandbox:/mnt/data/gone.csv), "
              "![three](sandbox:/mnt/data/plots/no.png) and sandbox:/mnt/data/also.txt.")
    try:
        with ModelServer(Reply(calls=["open('a b.csv', 'w').write('1')"]), Reply(text=answer)) as model:
            done = ask(model, *where, "?").expect(0)
    finally:
        private_daemon.end(reckon)
    reported = [line for line in done.err.splitlines() if "there is no such file" in line]
    assert [name for name in ("a b.csv", "gone.csv", "plots/no.png", "also.txt")
            if any(f"links to {name}," in line for line in reported)] == ["gone.csv", "plots/no.png", "also.txt"]
    assert len(reported) == 3 and done.out == f"{answer}\n"


def test_images_are_sent_only_with_vision(ask_each):
    script = [Reply(calls=[PICTURE]), Reply(text="a dot")]
    with ModelServer(*script) as model:
        ask_each.json(model, "?", "--vision", "on")
        assert IMAGE in json.dumps(model.requests[1].body)
    script = [Reply(calls=[PICTURE]), Reply(text="a dot")]
    with ModelServer(*script) as model:
        ask_each.json(model, "?", "--vision", "off")
        assert IMAGE not in json.dumps(model.requests[1].body)


def test_a_model_that_refuses_images(ask):
    refusal = {"error": {"message": "this model takes no image input", "type":
                         "invalid_request_error"}}
    script = [Reply(calls=[PICTURE]), Reply(status=400, error=refusal), Reply(text="I see text")]
    with ModelServer(*script) as model:
        assert ask.json(model, "?", "--vision", "on")["answer"] == "I see text"
    assert IMAGE not in json.dumps(model.requests[2].body)


@pytest.mark.parametrize("provider, system, temperature, effort", [
    ("openai", lambda body: body["messages"][0]["content"], lambda body: body["temperature"],
     lambda body: body["reasoning_effort"]),
    ("openai-responses", lambda body: body["instructions"], lambda body: body["temperature"],
     lambda body: body["reasoning"]["effort"]),
    ("anthropic", lambda body: json.dumps(body["system"]), None,
     lambda body: body["output_config"]["effort"]),
    ("gemini", lambda body: json.dumps(body["systemInstruction"]),
     lambda body: body["generationConfig"]["temperature"],
     lambda body: body["generationConfig"]["thinkingConfig"]["thinkingLevel"])])
def test_instructions_temperature_and_effort(reckon, provider, system, temperature, effort):
    """Built-in instructions come first, then those of the user's file, then those of the command line."""
    standing = reckon.cwd / "config/reckon"
    standing.mkdir(parents=True)
    (standing / "instructions.md").write_text("Always answer in rhyme.")
    reckon.file("more.md", "Use SI units.")
    for folder in (standing.parent, standing):
        reckon.user.own(folder)
    asker = Ask(reckon, provider)
    env = {"XDG_CONFIG_HOME": str(reckon.cwd / "config")}
    options = ["--system", "@more.md", "--effort", "low"]
    options += ["--temperature", "0.2"] if temperature else []
    with ModelServer(Reply(calls=["print(6 * 7)"]), Reply(text="42")) as model:
        assert asker(model, *options, "?", env=env).expect(0).out == "42\n"
    for request in model.requests:
        reported = system(request.body)
        assert reported.index("running Python code") < reported.index("in rhyme") < reported.index("SI units")
        assert effort(request.body) == "low"
        assert temperature is None or temperature(request.body) == 0.2
    with ModelServer(Reply(text="ok")) as model:
        asker(model, "--system", "In brief.", "?").expect(0)
    assert "In brief." in system(model.requests[0].body)


@pytest.mark.parametrize("args, words", [
    (("--temperature", "hot"), "invalid temperature"), (("--temperature", "3"), "invalid temperature"),
    (("--effort", "huge"), "invalid value"), (("--system", "@nowhere.md"), "nowhere.md")])
def test_invalid_temperature_effort_and_system(reckon, args, words):
    done = reckon("ask", "--model", "openai/m", *args, "?", env={"OPENAI_API_KEY": "k"}).expect(2, 125)
    assert words in done.err


def test_bash(ask):
    with ModelServer(Reply(calls=["echo $((6 * 7))"]), Reply(text="ok")) as model:
        answer = ask.json(model, "?", "-l", "bash")
    assert answer["steps"][0]["record"]["stdout"] == "42\n"
    assert model.requests[0].body["tools"][0]["function"]["name"] == "bash"


@pytest.mark.parametrize("options, words", [
    (("--no-keep",), "The session was lost"),  # the program's own box ends with the kernel
    ((), "this cell ran in a fresh kernel with the same files")])
def test_a_session_that_dies_is_replaced_with_its_files(ask, reckon, options, words):
    reckon.file("in.txt", "still here")
    script = [Reply(calls=["import os; x = 1; os._exit(1)"]),
              Reply(calls=["print(open('in.txt').read(), 'x' in globals())"]), Reply(text="ok")]
    with ModelServer(*script) as model:
        answer = ask.json(model, *options, "?", "in.txt")
    assert any(words in text for request in model.requests[1:] for text in texts_of(request))
    assert answer["steps"][1]["record"]["stdout"] == "still here False\n"


# ---- details of each protocol -------------------------------------------------------------------

def test_thoughts_return_unchanged(reckon):
    script = [Reply(thought="Let me think", text="Now.", calls=["print(1)", "print(2)"]),
              Reply(text="ok")]
    for provider in ("openai-responses", "anthropic", "gemini"):
        with ModelServer(*script) as model:
            Ask(reckon, provider).json(model, "?")
        body = model.requests[1].body
        if provider == "openai-responses":
            kinds = [item["type"] for item in body["input"]]
            assert kinds == ["message", "reasoning", "message", "function_call", "function_call",
                             "function_call_output", "function_call_output"]
            assert body["input"][1]["encrypted_content"] == "c2VjcmV0IHRob3VnaHRz"
            assert body["store"] is False and body["input"][3]["call_id"] == "call_0"
            assert [item["call_id"] for item in body["input"][5:]] == ["call_0", "call_1"]
        elif provider == "anthropic":
            first, answer, results = body["messages"]
            assert [block["type"] for block in answer["content"]] == [
                "thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
            assert answer["content"][0] == {"type": "thinking", "thinking": "Let me think",
                                            "signature": "c2lnbmVk"}
            assert answer["content"][3]["input"] == {"code": "print(1)"}
            assert [block["tool_use_id"] for block in results["content"]] == ["call_0", "call_1"]
            assert [block["is_error"] for block in results["content"]] == [False, False]
            assert "cache_control" in results["content"][1] and "cache_control" in body["system"][0]
            assert "anthropic-version" in model.requests[1].headers
        else:
            question, answer, results = body["contents"]
            assert [part for part in answer["parts"] if "functionCall" in part] == [
                {"functionCall": {"name": "python", "args": {"code": f"print({i + 1})"}},
                 "thoughtSignature": f"c2lnbmVk{i}"} for i in range(2)]
            responses = [part["functionResponse"] for part in results["parts"]]
            assert responses == [{"name": "python", "response": {"output": "1"}},
                                 {"name": "python", "response": {"output": "2"}}]


def test_images_are_where_each_protocol_expects_them(reckon):
    for provider in WAYS:
        with ModelServer(Reply(calls=["print(0)", PICTURE]), Reply(text="ok")) as model:
            Ask(reckon, provider).json(model, "?", "--vision", "on")
        body = model.requests[1].body
        if provider == "openai":
            assert [message["role"] for message in body["messages"]] == [
                "system", "user", "assistant", "tool", "tool", "user"]
            url = body["messages"][-1]["content"][1]["image_url"]["url"]
            assert url.startswith("data:image/png;base64,") and IMAGE in url
        elif provider == "openai-responses":
            assert IMAGE in body["input"][-1]["output"][1]["image_url"]
        elif provider == "anthropic":
            assert body["messages"][-1]["content"][-1]["content"][1]["source"] == {
                "type": "base64", "media_type": "image/png",
                "data": body["messages"][-1]["content"][-1]["content"][1]["source"]["data"]}
        else:
            assert IMAGE in body["contents"][-1]["parts"][1]["functionResponse"]["parts"][0][
                "inlineData"]["data"]


def test_a_paused_answer_continues(reckon):
    with ModelServer(Reply(text="First, ", stop="pause"), Reply(text="done.")) as model:
        answer = Ask(reckon, "anthropic").json(model, "?")
    assert answer["answer"] == "done." and len(model.requests) == 2
    assert model.requests[1].body["messages"][-1]["role"] == "assistant"


def test_a_malformed_call_is_requested_once_more(reckon):
    ask = Ask(reckon, "gemini")
    with ModelServer(Reply(stop="malformed"), Reply(text="ok")) as model:
        assert ask.json(model, "?")["answer"] == "ok"
    assert model.requests[0].body == model.requests[1].body
    with ModelServer(*[Reply(stop="malformed")] * 2) as model:
        assert ask.json(model, "?", status=125)["stop"] == "failed"


def test_the_retry_delay_of_gemini_is_reported(reckon):
    error = {"error": {"code": 429, "message": "slower", "status": "RESOURCE_EXHAUSTED",
                       "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo",
                                    "retryDelay": "90s"}]}}
    with ModelServer(Reply(status=429, error=error)) as model:
        assert "90 s" in Ask(reckon, "gemini")(model, "?").expect(125).err


@pytest.mark.parametrize("stop,name,status", [("length", "length", 3), ("filter", "refused", 3)])
def test_an_answer_that_is_cut_or_refused(ask_each, stop, name, status):
    with ModelServer(Reply(text="I would", stop=stop)) as model:
        answer = ask_each.json(model, "?", status=status)
    assert answer["stop"] == name and answer["answer"] == "I would"


def test_every_token_is_counted(ask_each):
    with ModelServer(Reply(text="ok", usage=(1000, 50), cached=800, reasoning=30)) as model:
        usage = ask_each.json(model, "?")["usage"]
    assert usage == {"requests": 1, "steps": 0, "input_tokens": 1000, "cached_tokens": 800,
                     "output_tokens": 50, "reasoning_tokens": 30}


# ---- models that call no tools -----------------------------------------------------------------

def test_blocks_of_code(ask_each):
    script = [Reply(text="Look:\n```json\n{}\n```\n```python\nx = 6 * 7\nprint(x)\n```\n"
                         "The output is 41.\n" + "and on " * 1000),
              Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        done = ask_each(model, "--calling", "fenced", "?").expect(0)
    assert done.out == "It is 42.\n"
    assert "41" not in done.err and "\u2502 x = 6 * 7\n\u2502 print(x)\n42\n" in done.err
    texts = texts_of(model.requests[1])
    assert any(text == "Output:\n42" for text in texts) and not any("41" in text for text in texts)
    assert "tools" not in model.requests[0].body


def test_objects_that_obey_a_schema(ask_each):
    script = [Reply(text=json.dumps({"action": "run", "content": "print(6 * 7)"})),
              Reply(text=json.dumps({"action": "answer", "content": "It is 42."}))]
    with ModelServer(*script) as model:
        done = ask_each(model, "--calling", "schema", "?").expect(0)
    assert done.out == "It is 42.\n"
    assert "additionalProperties" in json.dumps(model.requests[0].body)
    assert any(text == "Output:\n42" for text in texts_of(model.requests[1]))


# ---- limits -----------------------------------------------------------------------------------

def test_the_model_answers_once_after_the_limit_of_cells(ask):
    script = [Reply(calls=[f"print({i})"]) for i in range(3)] + [Reply(text="so far: 1")]
    with ModelServer(*script) as model:
        answer = ask.json(model, "?", "--max-steps", "2", status=3)
    assert answer["stop"] == "max_steps" and answer["answer"] == "so far: 1"
    assert len(answer["steps"]) == 2
    assert any(text.startswith("Not run: the limit of 2") for text in texts_of(model.requests[3]))


def test_repeating_a_failed_cell_ends_the_run(ask):
    with ModelServer(lambda body: Reply(calls=["undefined_name"])) as model:
        answer = ask.json(model, "?", status=3)
    assert answer["stop"] == "stuck"
    assert len(answer["steps"]) == 4
    assert any("seen 3 times" in text for text in texts_of(model.requests[3]))


def test_tokens_and_money_are_limited(ask):
    with ModelServer(lambda body: Reply(calls=["print(1)"], usage=(1000, 100))) as model:
        answer = ask.json(model, "?", "--max-tokens", "2000", status=3)
        assert answer["stop"] == "max_tokens" and answer["usage"]["requests"] == 2
    with ModelServer(lambda body: Reply(calls=["print(1)"], usage=(1000, 100),
                                        cached=400)) as model:
        answer = ask.json(model, "?", "--price", "2:10:0.5", "--budget", "0.005", status=3)
    # (600 * 2 + 400 * 0.5 + 100 * 10) / 1e6 for each request
    assert answer["stop"] == "budget" and answer["cost"] == pytest.approx(3 * 0.0024)
    assert answer["usage"]["cached_tokens"] == 1200


def test_writes_to_a_cache_are_billed(reckon):
    """Cache writes cost 25 % more than other input, or the price in models.ini."""
    ask = Ask(reckon, "anthropic")
    reply = Reply(text="ok", usage=(1000, 100), cached=400, written=2000)
    with ModelServer(reply) as model:
        answer = ask.json(model, "?", "--price", "2:10:0.5")
    fresh = 600 * 2 + 400 * 0.5 + 100 * 10
    assert answer["cost"] == pytest.approx((fresh + 2000 * 2.5) / 1e6)
    ini = reckon.file("models.ini", "[model anthropic/m]\nprice-in = 2\nprice-out = 10\n"
                      "price-cached = 0.5\nprice-cache-write = 4\n")
    ini.chmod(0o600)
    with ModelServer(reply) as model:
        answer = ask.json(model, "?", env={"RECKON_MODELS": str(ini)})
    assert answer["cost"] == pytest.approx((fresh + 2000 * 4) / 1e6)


def test_time_is_limited_also_while_the_model_writes(ask):
    tick = b'data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n'
    with ModelServer(Reply(raw=b"", endless=tick)) as model:
        began = time.monotonic()
        answer = ask.json(model, "?", "--max-time", "1s", status=3)
        assert time.monotonic() - began < 30
    assert answer["stop"] == "max_time"


def test_older_output_is_shortened_to_fit(ask):
    script = [Reply(calls=["for i in range(700): print(i, 'first')"]),
              Reply(calls=["for i in range(700): print(i, 'then')"]),
              Reply(text="ok")]
    with ModelServer(*script) as model:
        ask.json(model, "?", "--context", "4500", "--max-text", "16K")
    first, last = texts_of(model.requests[1]), texts_of(model.requests[2])
    assert any("699 first" in text for text in first)
    assert any("699 then" in text for text in last)
    assert any("of this older output were left out" in text for text in last)


# ---- errors -----------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_request_to_a_busy_server_is_retried(ask_each, status):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "too many of you"}}
    script = [Reply(status=status, error=error, headers={"Retry-After": "0.05"}),
              Reply(text="there")]
    with ModelServer(*script) as model:
        done = ask_each(model, "?").expect(0)
    assert done.out == "there\n"
    assert "too many of you; trying again in" in done.err


def test_a_too_long_retry_delay_fails_the_run(ask):
    error = {"error": {"message": "come back tomorrow", "code": "rate_limit_exceeded"}}
    with ModelServer(Reply(status=429, error=error, headers={"Retry-After": "3600"})) as model:
        done = ask(model, "?").expect(125)
    assert "come back tomorrow" in done.err and "3600 s" in done.err
    assert len(model.requests) == 1


@pytest.mark.parametrize("status,error,words", [
    (401, {"error": {"message": "no such key", "code": "invalid_api_key"}}, "check the key"),
    (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, "no credit"),
    (404, {"error": {"message": "no such model"}}, "no such model"),
])
def test_permanent_errors_are_not_retried(ask_each, status, error, words):
    with ModelServer(Reply(status=status, error=error)) as model:
        done = ask_each(model, "?").expect(125)
    assert words in done.err and len(model.requests) == 1


def test_an_error_within_the_stream(ask_each):
    script = [Reply(text="Now ", broken_after="overheated", headers={"Retry-After": "0.02"})] * 5
    with ModelServer(*script) as model:
        done = ask_each(model, "?").expect(125)
    assert "overheated" in done.err and len(model.requests) == 5


def test_a_broken_stream_is_requested_again(ask_each):
    with ModelServer(Reply(calls=["print(1)"], cut=True), Reply(text="there")) as model:
        assert ask_each.json(model, "?")["answer"] == "there"
    script = [Reply(calls=["x = 41"]), Reply(text="Half an ans", cut=True), Reply(text="So: ", calls=["print(x + 1)"]),
              Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        answer = ask_each.json(model, "?")
    # The session continues, and the last request does not contain the incomplete answer.
    assert answer["answer"] == "It is 42." and answer["steps"][1]["record"]["stdout"] == "42\n"
    assert "Half" not in str(texts_of(model.requests[-1]))
    with ModelServer(*script) as model:
        done = ask_each(model, "?").expect(0)
    assert "does not count; trying again" in done.err and done.out.strip() == "It is 42."


@pytest.mark.parametrize("raw", [
    b"data: {\n\n", b"data: [1\n\n", b'data: {"a": 1, "a": 2}\n\n', b"\xff\xfe\n\ndata: \xff\n\n",
    b"data: " + b"x" * (9 << 20) + b"\n\n",
    b'data: {"choices":[{"delta":{"content":"\\ud800"}}]}\n\n', b"",
])
def test_malformed_streams(ask_each, raw):
    with ModelServer(lambda body: Reply(raw=raw)) as model:
        done = ask_each(model, "?", "--max-time", "3s").expect(3, 125)
    assert done.err.startswith("reckon: ") and "Traceback" not in done.err


def test_a_server_that_never_ends(ask):
    comment = b": " + b"x" * 65536 + b"\n"
    with ModelServer(Reply(raw=b"", endless=comment)) as model:
        done = ask(model, "?").expect(125)
    assert "more than 64 MiB" in done.err


def test_a_server_that_does_not_listen(ask, reckon):
    with ModelServer() as model:
        pass
    done = ask(model, "?", "--max-time", "2s").expect(3, 125)
    assert "reckon: " in done.err


def test_a_page_instead_of_a_stream(ask):
    page = Reply(raw=b"<html>login</html>", headers={"Content-Type": "text/html"})
    with ModelServer(page) as model:
        assert "not a stream of events" in ask(model, "?").expect(125).err


# ---- the terminal -----------------------------------------------------------------------------

def test_stdout_gets_the_answer_and_stderr_the_steps(ask):
    script = [Reply(text="Let me see.", calls=["print('working')"]), Reply(text="Here you are.")]
    with ModelServer(*script) as model:
        done = ask(model, "?").expect(0)
    assert done.out == "Here you are.\n"
    assert "Let me see.\n\u2502 print('working')\nworking\n" in done.err


def test_control_sequences_do_not_reach_the_terminal(ask, reckon):
    evil = "\x1b]0;owned\x07\x1b[2Jtext\x9b31m\x1b[31mred"
    script = [Reply(text=evil, calls=[f"# {evil}\nprint('x')"]), Reply(text="end " + evil)]
    with ModelServer(*script) as model:
        with Terminal(reckon, *ask.args("?"), env=ask.env(model)) as term:
            assert term.end() == 0
            shown = term.raw.decode()
    assert "\x1b]" not in shown and "\x1b[2J" not in shown and "\x07" not in shown
    assert "\\x1b]0;owned" in shown and "end " in shown


def test_ctrl_c_ends_stream_and_cell(ask, reckon):
    tick = b'data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n'
    with ModelServer(Reply(raw=tick, endless=b": still here\n\n")) as model:
        with reckon.start(*ask.args("?"), env=ask.env(model)) as process:
            eventually(lambda: model.requests)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
    with ModelServer(Reply(calls=["print('begun', flush=True)\nwhile True: pass"])) as model:
        with reckon.start(*ask.args("?"), env=ask.env(model)) as process:
            while b"begun" not in process.stderr.readline():
                pass
            while b"begun" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
    assert len(model.requests) == 1


@pytest.mark.parametrize("args,words", [
    (("?",), "no model is chosen"),
    (("--model", "openai", "?"), "has no model of its own"),
    (("--model", "nobody/m", "?"), "is not PROVIDER/NAME"),
    (("--model", "openai/m", "?"), "there is no key for openai"),
    (("--model", "openai/m", "--base-url", "ftp://x", "?"), "invalid address"),
    (("--model", "openai/m", "--base-url", "http://x"), "there is no question"),
    (("--model", "openai/m", "--base-url", "http://x", "?", "missing.csv"), "missing.csv"),
    (("--model", "openai/m", "--base-url", "http://x", "--budget", "1", "?"), "needs --price"),
    (("--model", "openai/m", "--base-url", "http://x", "--price", "1:-2", "?"), "invalid price"),
    (("--model", "openai/m", "--base-url", "http://x", "--max-steps", "0", "?"), "out of range"),
    (("--model", "openai/m", "--base-url", "http://x", "--approve", "always", "?"),
     "no terminal to ask"),
])
def test_invalid_arguments_fail_before_anything_starts(reckon, args, words):
    done = reckon("ask", *args).expect(2)
    assert words in done.err and done.err.count("\n") == 1
    assert not list(reckon.state.iterdir())


# ---- the fence, and the key -------------------------------------------------------------------

def agent_of(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "reckon-agent":
            return child
    return None


def test_privileges_and_open_files_of_the_agent(ask, reckon):
    with ModelServer(Reply(raw=b": wait\n\n", endless=b": wait\n\n")) as model:
        with reckon.start(*ask.args("?"), env=ask.env(model)) as process:
            eventually(lambda: model.requests)
            agent = agent_of(process.pid)
            lines = pathlib.Path(f"/proc/{agent}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
            for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                assert int(status[name], 16) == 0, name
            if reckon.user.is_root:
                assert int(status["CapBnd"], 16) == 0
                assert "0" not in status["Uid"].split()
            if os.geteuid() == 0:
                for name in ("cmdline", "environ"):
                    shown = pathlib.Path(f"/proc/{agent}/{name}").read_bytes()
                    assert KEY.encode() not in shown
                opened = {os.readlink(path)
                          for path in pathlib.Path(f"/proc/{agent}/fd").iterdir()}
                assert all(re.match(r"socket:|pipe:|anon_inode:|/dev/null", name)
                           for name in opened), opened
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130


def test_the_key_goes_to_the_model_and_nowhere_else(ask_each, reckon):
    # The cell prints every environment and command line that it can read.
    look = ("import os, glob\nprint(dict(os.environ))\n"
            "for p in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n"
            "    try: print(open(p, 'rb').read())\n    except OSError: pass")
    with ModelServer(Reply(calls=[look]), Reply(text="ok")) as model:
        done = ask_each(model, "--json", "?", "-o", "out", env={"RECKON_LOG": "debug"}).expect(0)
    assert KEY in str(model.requests[0].headers)
    assert KEY not in json.dumps([request.body for request in model.requests])
    assert KEY not in " ".join(request.path for request in model.requests)
    assert KEY.encode() not in done.stdout + done.stderr
    for path in reckon.work.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_an_encrypted_server_by_name(ask, reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="safe")) as model:
        certificate = model.encrypt(reckon.work)
        reckon.user.own(certificate)
        done = ask(model, "?", env={"SSL_CERT_FILE": str(certificate)}).expect(0)
        assert done.out == "safe\n"
        done = ask(model, "?", "--max-time", "3s").expect(125)
    assert "certificate" in done.err.lower()
    done = reckon("ask", "--model", "openai/m", "--base-url", "http://model.invalid", *FAST,
                  "--max-time", "20s", "?").expect(125, 3)
    assert "resolve" in done.err.lower() or "time limit" in done.err


def test_an_unknown_tool_runs_nothing(ask_each):
    """The argument is meant for another tool, so it must not run as code."""
    names = ["web_search", "functions.web_search", "Python3", "bash", "\u202epython"]
    script = [Reply(calls=[{"raw": json.dumps({"query": "print('it', 'ran')"}), "name": name}])
              for name in names]
    script.insert(2, Reply(calls=[{"raw": json.dumps({"code": "print('fine', 'too')"}),
                                   "name": "functions.python"}]))
    with ModelServer(*script, Reply(text="done")) as model:
        answer = ask_each.json(model, "?")
    assert answer["answer"] == "done"
    assert [step["record"]["stdout"] for step in answer["steps"]] == ["fine too\n"]
    last = texts_of(model.requests[-1])
    assert any('no tool "web_search"' in text and "python and read_output" in text
               for text in last)
    assert not any(text.strip() == "it ran" for text in last)


# ---- approval --------------------------------------------------------------------------------

def test_cells_wait_for_approval(ask, reckon):
    script = [Reply(calls=["print('first ran')"]), Reply(calls=["print('second ran')"]),
              Reply(calls=["print('third', 'ran')"]), Reply(calls=["print('fourth', 'ran')"]),
              Reply(text="finished")]
    with ModelServer(*script) as model:
        with Terminal(reckon, *ask.args("--approve", "always", "?"), env=ask.env(model)) as term:
            term.wait("[q]uit:").write("n\n")
            term.until(lambda: term.text.count("[q]uit:") == 2, "asks again").write("y\n")
            term.until(lambda: term.text.count("[q]uit:") == 3, "asks again").write("a\n")
            term.wait("finished")
            assert term.end() == 0
            assert term.text.count("[q]uit:") == 3
            assert "fourth ran" in term.text and "third ran" in term.text
    texts = texts_of(model.requests[1])
    assert any("did not allow this cell" in text for text in texts)
    assert not any(text.strip() == "first ran" for text in texts)
    with ModelServer(Reply(calls=["print(1)"])) as model:
        with Terminal(reckon, *ask.args("--approve", "always", "?"), env=ask.env(model)) as term:
            term.wait("[q]uit:").write("q\n")
            assert term.end() == 130
    assert len(model.requests) == 1


def test_only_writable_mounts_require_approval(ask, reckon):
    (reckon.cwd / "shared").mkdir()
    reckon.user.own(reckon.cwd / "shared")
    script = [Reply(calls=["print('ran', 'it')"]), Reply(text="finished")]
    for mount, asks in ((("-m", "shared"), False), (("-m", "shared:rw"), True)):
        with ModelServer(*script) as model:
            with Terminal(reckon, *ask.args(*mount, "?"), env=ask.env(model)) as term:
                if asks:
                    term.wait("[q]uit:").write("y\n")
                term.wait("finished")
                assert term.end() == 0
                assert ("[q]uit" in term.text) == asks and "ran it" in term.text
    with ModelServer(*script) as model:
        done = ask(model, "-m", "shared:rw", "--approve", "never", "?").expect(0)
        assert done.out == "finished\n"


# ---- saved runs -------------------------------------------------------------------------------

def test_a_run_is_saved_as_notebook_script_page_and_json(ask, reckon):
    question = "How much?\nBe exact."
    script = [Reply(text="I try.", calls=["1 / 0"]),
              Reply(text="Better:", calls=["print('```')\nx = 42", PICTURE]),
              Reply(text="It is `42`.")]
    for name in ("run.ipynb", "run.py", "run.md", "run.json"):
        with ModelServer(*script) as model:
            done = ask(model, "--save", name, question).expect(0)
        assert f"saved as {name}" in done.err
    book = nbformat.read(reckon.cwd / "run.ipynb", as_version=4)
    nbformat.validate(book)
    assert [cell.cell_type for cell in book.cells] == [
        "markdown", "markdown", "code", "markdown", "code", "code", "markdown"]
    assert book.cells[0].source == "> How much?\n> Be exact."
    assert book.cells[2].outputs[0].ename == "ZeroDivisionError"
    assert book.cells[4].outputs[0].text == "```\n"
    assert IMAGE in book.cells[5].outputs[0].data["image/png"].replace("\n", "")
    assert book.cells[6].source == "It is `42`."
    # The script catches the error of the failed cell, so that it can run again.
    text = (reckon.cwd / "run.py").read_text()
    assert "_failed(r'''\n1 / 0\n''')" in text and "# It is `42`." in text
    done = reckon("run", *FAST, "run.py").expect(0)
    assert done.out.startswith("```\n") and "ZeroDivisionError: division by zero" in done.err
    page = (reckon.cwd / "run.md").read_text()
    assert page.startswith("> How much?\n> Be exact.\n\nI try.\n\n```python\n1 / 0\n```\n")
    assert "````python\nprint('```')\nx = 42\n````\n\n````text\n```\n````\n" in page
    # The page embeds its images. The notebook tags the failed cell, so that it can run again.
    assert re.search(r"^!\[PNG\]\(data:image/png;base64,[A-Za-z0-9+/]*" + IMAGE, page, re.M)
    assert [cell.metadata.get("tags") for cell in book.cells if cell.cell_type == "code"] == [
        ["raises-exception"], None, None]
    answer = json.loads((reckon.cwd / "run.json").read_text())
    jsonschema.validate(answer, SCHEMA)
    assert answer["answer"] == "It is `42`."


@pytest.mark.parametrize("name,words", [("run.docx", "unknown file format"), ("old.md", "exists"),
                                        ("no/such/../x.txt", "unknown file format")])
def test_an_invalid_save_path_fails_before_the_request(ask, reckon, name, words):
    reckon.file("old.md", "mine")
    with ModelServer() as model:
        assert words in ask(model, "--save", name, "?").expect(2).err
    assert model.requests == [] and (reckon.cwd / "old.md").read_text() == "mine"


# ---- chats ------------------------------------------------------------------------------------

def test_a_chat_remembers_messages_and_variables(ask_each, reckon):
    reckon.file("in.txt", "data")
    script = [Reply(calls=["x = 6 * 7"]), Reply(text="It is set."), Reply(calls=["print(x)"]),
              Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        done = reckon("chat", *ask_each.args()[1:], "in.txt", env=ask_each.env(model),
                      stdin="Set x.\n\n  \nWhat is x?\n").expect(0)
    assert done.out == "It is set.\nIt is 42.\n"
    last = texts_of(model.requests[3])
    assert [text for text in last if text.startswith(("Set x.", "What is"))] == [
        "Set x.\n\nFiles in /mnt/data:\n- in.txt (4 B)\n", "What is x?"]
    assert any(text.strip() == "42" for text in last) and "It is set." in "".join(last)


def test_a_chat_continues_after_an_error(ask, reckon):
    error = {"error": {"message": "no such thing", "code": "bad"}}
    script = [Reply(status=400, error=error), Reply(calls=["undefined"]), Reply(text="fine")]
    with ModelServer(*script) as model:
        done = reckon("chat", *ask.args()[1:], env=ask.env(model), stdin="a\nb\n").expect(0)
    assert done.out == "fine\n" and "no such thing" in done.err
    assert reckon("chat", *ask.args()[1:], "--json", env=ask.env(model), stdin="a\n").expect(2)


def questions(request):
    return [message["content"] for message in request.body["messages"] if message["role"] == "user"]


def test_line_editing_and_commands_of_a_chat(ask, reckon):
    """History, editing keys and a paste of several lines work. "/cost" is a command, "/mnt/data" is not."""
    reckon.file("in.csv", "a,b\n1,2\n")
    script = [Reply(text="first answer", usage=(1000, 100)), Reply(text="second answer", usage=(2000, 50)),
              Reply(text="third answer"), Reply(text="fourth answer")]
    with ModelServer(*script) as model:
        with Terminal(reckon, "chat", *ask.args("--price", "1:10")[1:], env=ask.env(model), columns=100) as term:
            def prompts(count):
                term.until(lambda: term.text.count("you>") == count, f"prompt {count}")

            prompts(1)
            term.type("what is x?").key("home").type("Say: ").key("enter")
            term.wait("first answer")
            prompts(2)
            term.paste("two lines,\nasked at once").key("enter")
            term.wait("second answer")
            prompts(3)
            term.type("/cost").key("enter")
            term.wait("3000 tokens in (0 cached), 150 out, cost 0.0045")
            prompts(4)
            term.type("/file in.csv").key("enter")
            term.wait("in.csv is in /mnt/data")
            prompts(5)
            term.key("up", "up").key("enter")
            term.until(lambda: term.text.count("cost 0.0045") == 2, "the cost again")
            prompts(6)
            term.type("and now?").key("enter")
            term.wait("third answer")
            prompts(7)
            term.type("/nosuch").key("enter")
            term.wait("there is no /nosuch")
            prompts(8)
            term.type("/save chat.md").key("enter")
            term.wait("saved as chat.md")
            prompts(9)
            term.type("/mnt/data/in.csv has what?").key("enter")
            term.wait("fourth answer")
            prompts(10)
            term.key("ctrl-d")
            assert term.end() == 0
    private_daemon.end(reckon)
    last = [questions(request)[-1] for request in model.requests]
    assert last[0].startswith("Say: what is x?") and last[1] == "two lines,\nasked at once"
    assert "and now?" in last[2] and "in.csv" in "".join(questions(model.requests[2])[2:])
    assert "/mnt/data/in.csv has what?" in last[3] and len(model.requests) == 4
    assert "third answer" in (reckon.cwd / "chat.md").read_text()


def test_ctrl_c_in_a_chat_stops_the_answer_alone(ask, reckon):
    tick = b'data: {"choices":[{"index":0,"delta":{"content":"going on "}}]}\n\n'
    with ModelServer(Reply(raw=tick, endless=b": wait\n\n"), Reply(text="back again")) as model:
        with Terminal(reckon, "chat", *ask.args()[1:], env=ask.env(model)) as term:
            term.wait("you>").write("first\n")
            term.wait("going on").write("\x03")
            term.until(lambda: term.text.count("you>") == 2, "prompts").write("second\n")
            term.wait("back again")
            term.until(lambda: term.text.count("you>") == 3, "prompts").write("\x03")
            # The greeting contains it, too.
            term.until(lambda: term.text.count("Ctrl-D leaves") == 2, "the hint").write("\x04")
            assert term.end() == 0


def test_ctrl_c_at_the_prompt_is_not_lost(ask, reckon):
    """A signal that arrives between the prompt and the wait for a line counts, too."""
    with ModelServer(Reply(text="fine")) as model:
        with Terminal(reckon, "chat", *ask.args()[1:], env=ask.env(model)) as term:
            for count in range(1, 31):
                term.until(lambda: term.text.count("you>") == count, f"prompt {count}")
                term.write("\x03")
            term.until(lambda: term.text.count("you>") == 31, "the last prompt").write("\x04")
            assert term.end() == 0


def test_ctrl_d_right_after_ctrl_c_ends_the_chat(ask, reckon):
    with ModelServer(Reply(text="fine")) as model:
        with Terminal(reckon, "chat", *ask.args()[1:], env=ask.env(model)) as term:
            term.wait("you>").write("\x03\x04")
            assert term.end() == 0
