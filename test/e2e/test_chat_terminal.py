"""reckon chat at a terminal: another model, /undo, thoughts, the status line."""
import json
import threading

import pytest
from model_server import ModelServer, Reply
from terminal import Terminal

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

FAST = ("-t", "python")


@pytest.fixture
def slow_model():
    """A model that answers after `go` is set."""
    go = threading.Event()

    def answer(_):
        go.wait(30)
        return Reply(text="Done.")

    model = ModelServer(answer)
    model.go = go
    yield model
    go.set()


def env_of(model, **more):
    return {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "k2", "LC_ALL": "C.UTF-8", **more}


def chat(reckon, model, *more, **options):
    return Terminal(reckon, "chat", "--model", "openai/m", *FAST, *more,
                    env=env_of(model, **options.pop("env", {})), columns=100, **options)


def piped(reckon, model, lines, *more):
    return reckon("chat", "--model", "openai/m", *FAST, *more, env=env_of(model),
                  stdin="".join(line + "\n" for line in lines)).expect(0)


def body_text(request):
    return json.dumps(request.body)


def test_another_model_continues_the_conversation(reckon):
    script = [Reply(calls=["x = 41\nprint(x)"], thought="secret plan"), Reply(text="x is 41."),
              Reply(calls=["print(x + 1)"]), Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["Set x.", "/model anthropic/c", "Add one.", "/model"])
    assert [request.protocol for request in model.requests] == ["chat", "chat", "messages", "messages"]
    assert model.requests[2].body["model"] == "c"
    assert model.requests[2].headers["x-api-key"] == "k2"
    text = body_text(model.requests[2])
    assert "Set x." in text and "x is 41." in text and "secret plan" not in text
    assert "secret plan" in body_text(model.requests[1])  # the model that wrote the thought gets it back
    assert done.out.splitlines()[-1] == "It is 42."
    assert "anthropic/c goes on" in done.err and "not what the other one thought" in done.err
    assert "anthropic/c; /model PROVIDER/NAME" in done.err


def test_an_unavailable_model_does_not_change_the_chat(reckon):
    script = [Reply(text="Yes."), Reply(text="Still here.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["Hello?", "/model nobody/x", "/model gemini/x", "Again?"])
    assert done.out == "Yes.\nStill here.\n"
    assert done.err.count("/model") >= 2 and "goes on" not in done.err
    assert "Hello?" in body_text(model.requests[1])


def test_undo_removes_a_question(reckon):
    script = [Reply(text="Fine."), Reply(calls=["y = 7"]), Reply(text="Done badly."),
              Reply(calls=["print(y)"]), Reply(text="It is 7.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["First?", "Second wrong question", "/undo", "Third?"])
    text = body_text(model.requests[3])
    assert "First?" in text and "Fine." in text
    assert "Second wrong" not in text and "Done badly" not in text
    assert "taken back: Second wrong question" in done.err
    # Undo does not restore the session, and the chat reports that; the variable still exists.
    assert "what its 1 cell did to variables and files stays" in done.err
    assert done.out.splitlines()[-1] == "It is 7."


def test_undone_questions_stay_undone_after_a_resume(reckon):
    with ModelServer(Reply(text="One."), Reply(text="Two.")) as model:
        done = piped(reckon, model, ["First?", "Second?", "/undo", "/undo", "/undo"])
    assert "there is no question to take back" in done.err
    shown = reckon("runs", "show").expect(0).out
    assert shown.count("(taken back") == 2
    transcript = json.loads(reckon("runs", "show", "--json").expect(0).out)
    assert [question["undone"] for question in transcript["questions"]] == [True, True]
    with ModelServer(Reply(text="Three.")) as model:
        reckon("chat", "--resume", "--base-url", model.url + "/v1", env=env_of(model), stdin="Third?\n").expect(0)
    assert "First?" not in body_text(model.requests[0]) and "Second?" not in body_text(model.requests[0])


def test_thoughts_are_one_line_until_the_thoughts_command(reckon):
    thought = "I look at the \x1b[31mdata first.\nThen I count."
    with ModelServer(Reply(text="Counted.", thought=thought)) as model:
        with chat(reckon, model) as term:
            term.wait("you>")
            term.enter("How many?")
            term.wait("Counted.")
            term.wait("thought for 0 s: I look at the \\x1b[31mdata first. (/thoughts)")
            assert "Then I count." not in term.text
            term.enter("/thoughts")
            term.wait("Then I count.")
            assert "\x1b[31mdata" not in term.raw.decode()


def test_a_status_line_shows_progress_and_disappears(reckon, slow_model):
    with slow_model as model:
        with chat(reckon, model, "--price", "1:1") as term:
            term.wait("you>")
            term.enter("How many?")
            term.wait("waits for the model · step 1 · 0 tokens · cost 0.0000")
            model.go.set()
            term.wait("Done.")
            term.wait("you>")
            assert "waits for the model" not in term.text


@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=str)
def test_the_status_line_of_plain_terminals(reckon, slow_model, more):
    """A dumb terminal gets no status line; with NO_COLOR, the status line has no attributes."""
    with slow_model as model:
        with chat(reckon, model, env=more) as term:
            term.wait("you>")
            term.enter("How many?")
            if "TERM" in more:
                term.pump(1.0)
            else:
                term.wait("waits for the model")
            model.go.set()
            term.wait("Done.")
            raw = term.raw.decode()
    assert ("waits for the model" in raw) == ("TERM" not in more)
    assert "\x1b[2m" not in raw
