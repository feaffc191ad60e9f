"""reckon ask with a real model on this host: llama.cpp's server and SmolLM2, by three protocols.

The model has 135 million parameters, so nothing is expected of what it says but that it goes the
whole way: prompt, stream, code, box, output, and an end. It always takes the likeliest word, so that
it says the same every time.
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

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def models():
    """What `reckon model install` makes, once for all runs: it takes 200 MB."""
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


@pytest.mark.parametrize("provider", ["local", "local-responses", "local-messages"])
def test_blocks_of_code_go_all_the_way(local, provider):
    answer = local(provider, "Print the sum of squares from 1 to 10.")
    (step,) = answer["steps"]
    assert "print(" in step["code"]
    assert step["record"]["status"] == "ok" and step["record"]["stdout"].strip().isdigit()
    assert answer["stop"] in ("answer", "max_steps", "length", "max_time")
    assert answer["usage"]["input_tokens"] > 100 and answer["usage"]["output_tokens"] > 20


def test_an_object_that_a_grammar_enforces(local):
    answer = local("local", "--calling", "schema", "Run this code: print(6 * 7)")
    (step,) = answer["steps"]
    assert step["code"] and "{" not in step["code"], "the object's content, not the object"
    assert step["record"]["status"] in ("ok", "error")
    assert answer["stop"] in ("answer", "max_steps", "length", "max_time")


def test_models_are_listed_added_and_removed(reckon, models, tmp_path):
    (reckon.state / "models").mkdir()
    (reckon.state / "models/runtime").symlink_to(models / "runtime")
    assert reckon("model", "ls").expect(0).out.startswith("local/smollm2\t")
    mine = reckon.file("mine.gguf", b"GGUF\3\0\0\0")
    done = reckon("model", "install", mine).expect(0)
    assert "local/mine" in done.out
    assert "local/mine\t" in reckon("model", "ls").out
    # What is no model is said by the server, and ends the question.
    done = reckon("ask", "--model", "local/mine", *FEW, "?", timeout=150).expect(125)
    assert "did not start" in done.err
    assert "no model is called" in reckon("ask", "--model", "local/other", *FEW, "?").err
    assert reckon("model", "rm", "mine").expect(0)
    assert "mine" not in reckon("model", "ls").out and mine.exists()


@pytest.mark.parametrize("args,words", [
    ((), "what to do"), (("install", "nothing.gguf"), "not a GGUF file"),
    (("rm", "../x"), "is no name"), (("rm", "x"), "no model is called"),
    (("install", "--fast"), "unknown option"),
])
def test_what_model_refuses(reckon, args, words):
    done = reckon("model", *args).expect(1, 2)
    assert words in done.err


def test_without_a_model_it_says_how_to_get_one(reckon):
    done = reckon("ask", "--model", "local/smollm2", *FEW, "?").expect(125)
    assert "reckon model install" in done.err
