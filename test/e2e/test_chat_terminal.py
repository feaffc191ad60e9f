"""reckon chat at a terminal: another model, a question taken back, thoughts, how far it is."""
import json
import threading

import pytest
from model_server import ModelServer, Reply
from terminal import Terminal

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

FAST = ("-t", "python")


@pytest.fixture
def slow_model():
    """Answers when it is let go."""
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


def said_of(asked):
    return json.dumps(asked.body)


def test_another_model_goes_on_with_the_talk(reckon):
    script = [Reply(calls=["x = 41\nprint(x)"], thought="secret plan"), Reply(text="x is 41."),
              Reply(calls=["print(x + 1)"]), Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["Set x.", "/model anthropic/c", "Add one.", "/model"])
    assert [asked.protocol for asked in model.asked] == ["chat", "chat", "messages", "messages"]
    assert model.asked[2].body["model"] == "c"
    assert model.asked[2].headers["x-api-key"] == "k2"
    told = said_of(model.asked[2])
    assert "Set x." in told and "x is 41." in told and "secret plan" not in told
    assert "secret plan" in said_of(model.asked[1])  # the one that thought it gets it back
    assert done.out.splitlines()[-1] == "It is 42."
    assert "anthropic/c goes on" in done.err and "not what the other one thought" in done.err
    assert "anthropic/c; /model PROVIDER/NAME" in done.err


def test_a_model_that_cannot_be_had_leaves_the_chat_as_it_is(reckon):
    script = [Reply(text="Yes."), Reply(text="Still here.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["Hello?", "/model nobody/x", "/model gemini/x", "Again?"])
    assert done.out == "Yes.\nStill here.\n"
    assert done.err.count("/model") >= 2 and "goes on" not in done.err
    assert "Hello?" in said_of(model.asked[1])


def test_a_question_is_taken_back(reckon):
    script = [Reply(text="Fine."), Reply(calls=["y = 7"]), Reply(text="Done badly."),
              Reply(calls=["print(y)"]), Reply(text="It is 7.")]
    with ModelServer(*script) as model:
        done = piped(reckon, model, ["First?", "Second wrong question", "/undo", "Third?"])
    told = said_of(model.asked[3])
    assert "First?" in told and "Fine." in told
    assert "Second wrong" not in told and "Done badly" not in told
    assert "taken back: Second wrong question" in done.err
    # The session has no way back, which is said; the variable is there.
    assert "what its 1 cell did to variables and files stays" in done.err
    assert done.out.splitlines()[-1] == "It is 7."


def test_all_can_be_taken_back_and_stays_so_when_resumed(reckon):
    with ModelServer(Reply(text="One."), Reply(text="Two.")) as model:
        done = piped(reckon, model, ["First?", "Second?", "/undo", "/undo", "/undo"])
    assert "there is no question to take back" in done.err
    shown = reckon("runs", "show").expect(0).out
    assert shown.count("(taken back") == 2
    transcript = json.loads(reckon("runs", "show", "--json").expect(0).out)
    assert [question["undone"] for question in transcript["questions"]] == [True, True]
    with ModelServer(Reply(text="Three.")) as model:
        reckon("chat", "--resume", "--base-url", model.url + "/v1", env=env_of(model), stdin="Third?\n").expect(0)
    assert "First?" not in said_of(model.asked[0]) and "Second?" not in said_of(model.asked[0])


def test_thoughts_are_one_line_until_they_are_asked_for(reckon):
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


def test_a_status_line_says_how_far_it_is_and_goes(reckon, slow_model):
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
def test_a_terminal_that_cannot_has_no_status_line(reckon, slow_model, more):
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
