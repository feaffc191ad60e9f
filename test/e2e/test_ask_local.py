"""reckon ask with a real model on this host: llama.cpp's server and SmolLM2, by three protocols.

The model has 135 million parameters, so the tests do not check what it answers, only that a run gets
through prompt, stream, code, box, output and an end. The model always takes the likeliest word, so its
answers are the same every time.
"""
import fcntl
import os
import pathlib
import subprocess

import jsonschema
import pytest
from reckon_cli import ROOT, parse_json
from test_ask import SCHEMA

MODELS = ROOT / "build/models"
FEW = ("-t", "python", "--max-steps", "1", "--answer-tokens", "80", "--max-time", "100s")

# The same, for a server that already exists.
SHORT = ("-t", "python", "--context", "4096", "--answer-tokens", "60", "--max-time", "100s")
FORMATS = ["openai", "openai-responses", "anthropic"]

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def models():
    """Installs the model once for all test runs, because it takes 200 MB."""
    if os.uname().machine != "x86_64":
        pytest.skip("the pinned server is for x86-64")
    MODELS.mkdir(parents=True, exist_ok=True)
    program = pathlib.Path(os.environ.get("RECKON_BIN", ROOT / "build/bin/reckon"))
    with open(MODELS / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([program, "model", "install"], check=True, timeout=900,
                       env={**os.environ, "RECKON_STATE": str(MODELS)})
    return MODELS / "models"


@pytest.fixture
def local(reckon, models):
    (reckon.state / "models").symlink_to(models)

    def ask(provider, *args):
        done = reckon("ask", "--model", f"{provider}/smollm2", *FEW, "--json", *args, timeout=150)
        answer = parse_json(done.expect(0, 3).stdout)
        jsonschema.validate(answer, SCHEMA)
        return answer

    return ask


class Server:
    """llama.cpp's server as `reckon ask` starts it, once for all questions below.

    It runs on one processor: its threads wait for each other in loops, which is slow on a busy host.
    """

    def __init__(self, models):
        self.key = "a-key-of-this-test"
        env = {**os.environ, "RECKON_STATE": str(models.parent)}
        self.process = subprocess.Popen([ROOT / "build/libexec/reckon-model", "serve", "smollm2", "4096"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        os.sched_setaffinity(self.process.pid, {min(os.sched_getaffinity(0))})
        self.process.stdin.write(self.key + "\n")
        self.process.stdin.flush()
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def ask(self, reckon, provider, *args):
        url = self.url if provider == "anthropic" else self.url + "/v1"
        done = reckon("ask", "--model", f"{provider}/smollm2", "--base-url", url, *SHORT, "--json", *args,
                      env={"OPENAI_API_KEY": self.key, "ANTHROPIC_API_KEY": self.key}, timeout=150)
        answer = parse_json(done.expect(0, 3).stdout)
        jsonschema.validate(answer, SCHEMA)
        assert answer["stop"] in ("answer", "max_steps", "length", "max_time", "stuck")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(models):
    server = Server(models)
    yield server
    server.close()


def test_a_model_on_this_host_answers(local):
    """`reckon ask` starts the server itself."""
    answer = local("local", "Print the sum of squares from 1 to 10.")
    (step,) = answer["steps"]
    assert "print(" in step["code"]
    assert step["record"]["status"] == "ok" and step["record"]["stdout"].strip().isdigit()
    assert answer["stop"] in ("answer", "max_steps", "length", "max_time")
    assert answer["usage"]["input_tokens"] > 100 and answer["usage"]["output_tokens"] > 20


@pytest.mark.parametrize("provider", FORMATS)
def test_blocks_of_code_in_several_steps(reckon, server, provider):
    """A small model writes the same code again; each step streams, runs and goes back with the history."""
    answer = server.ask(reckon, provider, "--calling", "fenced", "--max-steps", "2",
                        "Print the sum of squares from 1 to 10.")
    assert len(answer["steps"]) == 2 and answer["usage"]["requests"] >= 3
    for step in answer["steps"]:
        assert "print(" in step["code"]
        assert step["record"]["status"] == "ok" and step["record"]["stdout"].strip().isdigit()
    assert answer["usage"]["input_tokens"] > 500, "each request contains the history"


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_an_object_that_a_grammar_enforces(reckon, server, provider):
    answer = server.ask(reckon, provider, "--calling", "schema", "--max-steps", "2",
                        "Run this code: print(6 * 7)")
    assert answer["steps"] and answer["usage"]["requests"] >= 2
    for step in answer["steps"]:
        assert step["code"] and "{" not in step["code"], "the object's content, not the object"
        assert step["record"]["status"] in ("ok", "error")


def test_a_server_that_enforces_no_schema(reckon, server):
    """llama.cpp's Messages API does not enforce the schema, so the text of the model may be its answer."""
    answer = server.ask(reckon, "anthropic", "--calling", "schema", "--max-steps", "1",
                        "Run this code: print(6 * 7)")
    assert answer["steps"] or answer["answer"]


@pytest.mark.parametrize("provider", FORMATS)
def test_tools_are_offered_and_an_answer_comes(reckon, server, provider):
    """The template of this model does not support tools, so it may call none."""
    answer = server.ask(reckon, provider, "--calling", "tools", "--max-steps", "1",
                        "Run this code: print(6 * 7)")
    assert answer["steps"] or answer["answer"]
    assert answer["usage"]["requests"] >= 1 and answer["usage"]["output_tokens"] > 0


def test_models_are_listed_added_and_removed(reckon, models, tmp_path):
    (reckon.state / "models").mkdir()
    (reckon.state / "models/runtime").symlink_to(models / "runtime")
    assert reckon("model", "ls").expect(0).out.startswith("local/smollm2\t")
    mine = reckon.file("mine.gguf", b"GGUF\3\0\0\0")
    done = reckon("model", "install", mine).expect(0)
    assert "local/mine" in done.out
    assert "local/mine\t" in reckon("model", "ls").out
    # The server refuses a file that is not a model, which ends the question.
    done = reckon("ask", "--model", "local/mine", *FEW, "?", timeout=150).expect(125)
    assert "did not start" in done.err
    assert "no model is called" in reckon("ask", "--model", "local/other", *FEW, "?").err
    assert reckon("model", "rm", "mine").expect(0)
    assert "mine" not in reckon("model", "ls").out and mine.exists()


@pytest.mark.parametrize("args,words", [
    ((), "missing subcommand"), (("install", "nothing.gguf"), "not a GGUF file"),
    (("rm", "../x"), "is not a name"), (("rm", "x"), "no model is called"),
    (("install", "--fast"), "unknown option"),
])
def test_invalid_arguments_of_model(reckon, args, words):
    done = reckon("model", *args).expect(1, 2)
    assert words in done.err


def test_a_missing_model_is_reported_with_the_command_to_install(reckon):
    done = reckon("ask", "--model", "local/smollm2", *FEW, "?").expect(125)
    assert "reckon model install" in done.err
