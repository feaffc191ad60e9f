"""A question that ends without an answer keeps its session, and `ask --resume` continues in it.

One test for each way to end, and for each option with which the session ends with the program.
"""
import base64
import http.client
import json
import os
import re
import signal
import socket
import threading
import time

import jsonschema
import private_daemon
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, TIMEOUT, parse_json
from terminal import Terminal
from test_ask import WAYS
from waiting import eventually

# These tests do not depend on the user.
pytestmark = pytest.mark.one_user

LINE = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/run.schema.json").read_text()))
ASK = json.loads((ROOT / "docs/ask.schema.json").read_text())
FAST = ("-t", "python")
FAILS = Reply(status=401, error={"error": {"message": "the key has expired", "type": "x"}})
SETS = Reply(calls=["x = 41\nwith open('made.txt', 'w') as f: f.write('made')"])
LOOKS = Reply(calls=["print(x + 1, open('made.txt').read(), open('in.txt').read())"])
BUSY = "import time\nprint('ru' + 'ns', flush=True)\ntime.sleep(60)"  # the source does not contain the word
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg==")


def env(model, **more):
    return {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "sk-4711", **more}


def command(*args):
    return "ask", "--model", "openai/m", *FAST, *args


def ask(reckon, model, *args, **options):
    return reckon(*command(*args), env=env(model), **options)


def live(reckon):
    """Names of the sessions in the private daemon, without starting it."""
    if not private_daemon.daemons(reckon):
        return []
    return [session["name"] for session in
            parse_json(reckon("session", "ls", "--json").expect(0).stdout)]


def stored_run(reckon):
    """The id of the only run and its lines, after a check against the schema."""
    [run] = (reckon.state / "runs").iterdir()
    lines = [parse_json(line) for line in (run / "run.jsonl").read_bytes().splitlines()]
    for line in lines:
        LINE.validate(line)
    return run.name, lines


def check_notice(reckon, done):
    """Checks that the session exists and that `done` names the command to resume; returns the run's id."""
    run, lines = stored_run(reckon)
    assert live(reckon) == [f"ask-{run}"], done.err
    assert f"session ask-{run} is kept, with its variables and files" in done.err
    assert "until nobody used it for 8 h" in done.err
    assert f"reckon ask --resume {run} goes on with the question" in done.err
    return run


def resume_and_check(reckon, model, *args, output="42 made data"):
    """Resumes the run: the question is not repeated, variables and files exist, and the session ends."""
    run, _ = stored_run(reckon)
    requested = len(model.requests)
    model.script[:] = [LOOKS, Reply(text="It is 42.")]
    done = reckon("ask", "--resume", run, *args, env=env(model)).expect(0)
    assert done.out == "It is 42.\n" and output in done.err
    assert "is gone" not in done.err and "kept" not in done.err
    first_messages = model.requests[requested].body["messages"]
    assert [message["role"] for message in first_messages].count("user") == 1
    assert first_messages[1]["content"].startswith("How much?")
    assert len(model.requests) == requested + 2
    assert live(reckon) == []
    _, lines = stored_run(reckon)
    assert [line["type"] for line in lines].count("question") == 1
    assert lines[-1] == {**lines[-1], "type": "session", "id": None}
    assert lines[-2]["stop"] == "answer" and lines[-2]["text"] == "It is 42."
    return done


@pytest.fixture(autouse=True)
def input_file(reckon):
    reckon.file("in.txt", "data")


# ---- with an answer ---------------------------------------------------------------------------

def test_an_answer_ends_the_session(reckon):
    with ModelServer(SETS, LOOKS, Reply(text="It is 42.")) as model:
        done = ask(reckon, model, "How much?", "in.txt").expect(0)
    assert done.out == "It is 42.\n" and "42 made data" in done.err
    assert "session" not in done.err and "--resume" not in done.err
    run, lines = stored_run(reckon)
    assert private_daemon.daemons(reckon) and live(reckon) == []
    sessions = [(line["name"], line["url"]) for line in lines if line["type"] == "session"]
    assert sessions == [(f"ask-{run}", None), (None, None)]
    assert "has its answer" in reckon("ask", "--resume", env=env(model)).expect(2).err


def test_the_daemon_of_the_environment_gets_nothing(reckon):
    """The session of a plain question is on this host, whatever RECKON_URL says."""
    with ModelServer(SETS, FAILS) as model:
        url = {"RECKON_URL": "http://127.0.0.1:1", "RECKON_API_KEY": "rk-x"}
        done = reckon(*command("How much?", "in.txt"), env=env(model, **url)).expect(125)
        run = check_notice(reckon, done)
        model.script[:] = [LOOKS, Reply(text="It is 42.")]
        reckon("ask", "--resume", run, env=env(model, **url)).expect(0)
    assert live(reckon) == []


# ---- ways to end without an answer --------------------------------------------------------------

def test_a_provider_that_refuses(reckon):
    with ModelServer(SETS, FAILS) as model:
        done = ask(reckon, model, "How much?", "in.txt").expect(125)
        assert "the key has expired" in done.err
        check_notice(reckon, done)
        resume_and_check(reckon, model)


def test_before_any_cell_ran(reckon):
    with ModelServer(FAILS) as model:
        check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        model.script[:] = [SETS, LOOKS, Reply(text="It is 42.")]
        done = reckon("ask", "--resume", env=env(model)).expect(0)
    assert "42 made data" in done.err and "is gone" not in done.err
    assert [message["role"] for message in model.requests[1].body["messages"]] == ["system", "user"]
    assert live(reckon) == []


def test_a_server_that_is_dead(reckon):
    def dies(body):
        if len(body["messages"]) == 2:
            return SETS
        return Reply(status=503, headers={"Retry-After": "3600"}, error={"error": {"message": "x"}})

    with ModelServer(dies) as model:
        first = model.url
        check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
    # The restarted server has another address, which the user passes.
    with ModelServer() as model:
        assert model.url != first
        resume_and_check(reckon, model, "--base-url", model.url + "/v1")


def test_a_server_that_does_not_listen(reckon):
    gone = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-4711"}
    done = reckon(*command("--max-time", "4s", "How much?", "in.txt"), env=gone)
    assert done.status in (3, 125)
    check_notice(reckon, done)


def test_a_stream_that_breaks(reckon):
    with ModelServer(SETS, *[Reply(text="I think", cut=True)] * 9) as model:
        done = ask(reckon, model, "--max-time", "60s", "How much?", "in.txt").expect(3, 125)
        check_notice(reckon, done)
        resume_and_check(reckon, model)
    # The incomplete answer is not part of the conversation.
    assert "I think" not in json.dumps(model.requests[-1].body["messages"])


def test_the_limit_of_steps(reckon):
    script = [SETS, Reply(calls=["y = x"]), Reply(text="I need more."), Reply(text="More.")]
    with ModelServer(*script) as model:
        done = ask(reckon, model, "--max-steps", "1", "How much?", "in.txt").expect(3)
        check_notice(reckon, done)
        resume_and_check(reckon, model)


def test_the_limit_of_tokens(reckon):
    with ModelServer(Reply(calls=SETS.calls, usage=(5000, 5000))) as model:
        done = ask(reckon, model, "--max-tokens", "9000", "How much?", "in.txt").expect(3)
        check_notice(reckon, done)
        resume_and_check(reckon, model)


def test_the_budget_and_the_total_cost(reckon):
    with ModelServer(Reply(calls=SETS.calls, usage=(1000, 0))) as model:
        price = ("--price", "1000:0")
        done = ask(reckon, model, *price, "--budget", "1", "How much?", "in.txt").expect(3)
        check_notice(reckon, done)
        resume_and_check(reckon, model, *price)
    _, lines = stored_run(reckon)
    # 1000 tokens before the resume, and twice 100 after it.
    assert lines[-2]["usage"]["input_tokens"] == 1200 and lines[-2]["usage"]["requests"] == 3
    assert lines[-2]["cost"] == pytest.approx(1.2)


def test_the_limit_of_time(reckon):
    """The limit ends the running cell, whose own limit is longer; the session keeps its variables."""
    with ModelServer(SETS, Reply(calls=[BUSY])) as model:
        began = time.monotonic()
        done = ask(reckon, model, "--max-time", "4s", "--timeout", "50s", "How much?", "in.txt").expect(3)
        assert time.monotonic() - began < 30
        assert "runs" in done.err and "the time limit of 4 s was reached" in done.err
        check_notice(reckon, done)
        _, lines = stored_run(reckon)
        assert [line for line in lines if line["type"] == "answer"][-1]["stop"] == "max_time"
        resume_and_check(reckon, model)


def test_the_limit_of_time_ends_a_cell_that_ignores_interrupts(reckon):
    stubborn = ("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                "while True: time.sleep(60)")
    with ModelServer(SETS, Reply(calls=[stubborn])) as model:
        began = time.monotonic()
        done = ask(reckon, model, "--max-time", "3s", "--timeout", "90s", "How much?", "in.txt").expect(3)
        assert time.monotonic() - began < 45
        assert "the time limit of 3 s was reached" in done.err
        check_notice(reckon, done)
        resume_and_check(reckon, model)


def test_the_limit_of_time_ends_the_wait_behind_other_cells(reckon):
    with reckon.start("run", "-s", "shared", *FAST, "--timeout", "90s", "-c", BUSY) as other:
        assert other.stdout.readline() == b"runs\n"
        with ModelServer(Reply(calls=["open('made.txt', 'w').write('made')"])) as model:
            began = time.monotonic()
            done = ask(reckon, model, "-s", "shared", "--max-time", "3s", "How much?", "in.txt").expect(3)
            assert time.monotonic() - began < 30
        assert "the time limit of 3 s was reached" in done.err
        # The other client's cell continues; the waiting cell never runs.
        assert other.poll() is None
        os.killpg(other.pid, signal.SIGINT)
        other.communicate(timeout=TIMEOUT)
    assert reckon("run", "-s", "shared", "-c", "import os; print(os.listdir())").expect(0).out == "['in.txt']\n"


def test_the_limit_of_time_in_a_session_of_its_own(reckon):
    with ModelServer(SETS, Reply(calls=[BUSY])) as model:
        began = time.monotonic()
        done = ask(reckon, model, "--no-keep", "--max-time", "3s", "--timeout", "50s", "How much?",
                   "in.txt").expect(3)
        assert time.monotonic() - began < 30
    assert "runs" in done.err and "the time limit of 3 s was reached" in done.err


def test_each_question_of_a_chat_has_its_time(reckon):
    quick = Reply(calls=["import time; time.sleep(1.5); print('sle' + 'pt')"])
    with ModelServer(Reply(calls=[BUSY]), quick, quick, Reply(text="It is 42.")) as model:
        done = reckon("chat", "--model", "openai/m", *FAST, "--max-time", "4s", env=env(model),
                      stdin="one?\ntwo?\n")
    assert done.err.count("the time limit of 4 s was reached") == 1
    assert done.err.count("slept") == 2 and "It is 42." in done.out


def test_ctrl_c(reckon):
    with ModelServer(SETS, Reply(calls=[BUSY]), Reply(text="never")) as model:
        with Terminal(reckon, *command("How much?", "in.txt"), columns=200,
                      env=env(model)) as term:
            term.wait("runs").write("\x03")
            term.wait("goes on with the question")
            assert term.end() == 130
        run, _ = stored_run(reckon)
        assert live(reckon) == [f"ask-{run}"]
        resume_and_check(reckon, model)


def test_sigint_during_a_request(reckon):
    release = threading.Event()

    def blocks(body):
        if len(body["messages"]) == 2:
            return SETS
        requested.set()
        release.wait(TIMEOUT)
        return Reply(text="too late")

    requested = threading.Event()
    with ModelServer(blocks) as model:
        with reckon.start(*command("How much?", "in.txt"), env=env(model)) as process:
            assert requested.wait(TIMEOUT)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT)
            release.set()
        assert process.returncode == 130 and b"goes on with the question" in err
        run, _ = stored_run(reckon)
        assert live(reckon) == [f"ask-{run}"]


def killed(reckon, model, word):
    with reckon.start(*command("How much?", "in.txt"), env=env(model)) as process:
        text = b""
        while word not in text:
            piece = os.read(process.stderr.fileno(), 4096)
            assert piece, text
            text += piece
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_kill_9_while_a_cell_runs(reckon):
    """The cell continues: the resumed run waits for its output and sends it to the model."""
    waits = "import time\nprint('ru' + 'ns', flush=True)\ntime.sleep(2)\nprint('all', 'of it')"
    with ModelServer(SETS, Reply(calls=[waits])) as model:
        killed(reckon, model, b"runs")
        run, _ = stored_run(reckon)
        assert live(reckon) == [f"ask-{run}"]
        done = resume_and_check(reckon, model)
        assert "its record is here now" in done.err
    assert "all of it" in json.dumps(model.requests[2].body["messages"])


def test_kill_9_during_a_request(reckon):
    release, requested = threading.Event(), threading.Event()

    def blocks(body):
        if len(body["messages"]) == 2:
            return SETS
        requested.set()
        release.wait(TIMEOUT)
        return Reply(text="too late")

    with ModelServer(blocks) as model:
        with reckon.start(*command("How much?", "in.txt"), env=env(model)) as process:
            assert requested.wait(TIMEOUT)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            release.set()
    with ModelServer() as model:
        resume_and_check(reckon, model, "--base-url", model.url + "/v1")


def test_stdout_without_a_reader(reckon):
    """A run whose stdout is closed keeps its session, too."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with ModelServer(SETS, FAILS) as model:
            done = ask(reckon, model, "--json", "How much?", "in.txt", stdout=writer)
            check_notice(reckon, done)
            resume_and_check(reckon, model)
    finally:
        os.close(writer)


def test_a_resumed_run_that_fails_is_resumed_again(reckon):
    with ModelServer(SETS, FAILS) as model:
        run = check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        model.script[:] = [FAILS]
        assert check_notice(reckon, reckon("ask", "--resume", env=env(model)).expect(125)) == run
        resume_and_check(reckon, model)


def test_another_question_in_the_same_session(reckon):
    with ModelServer(SETS, FAILS) as model:
        check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        model.script[:] = [LOOKS, Reply(text="Fine.")]
        done = reckon("ask", "--resume", "And now?", env=env(model)).expect(0)
    assert "42 made data" in done.err and "is gone" not in done.err and live(reckon) == []
    assert model.requests[2].body["messages"][-1]["content"].startswith("And now?")


@pytest.mark.parametrize("calling", ["tools", "fenced", "schema"])
@pytest.mark.parametrize("provider", WAYS)
def test_every_provider_and_calling(reckon, provider, calling):
    def call(source):
        if calling == "tools":
            return Reply(calls=[source])
        if calling == "fenced":
            return Reply(text=f"```python\n{source}\n```")
        return Reply(text=json.dumps({"action": "run", "content": source}))

    last = "It is 42." if calling != "schema" else json.dumps({"action": "answer",
                                                                "content": "It is 42."})
    with ModelServer(call(SETS.calls[0]), FAILS) as model:
        where = {f"{name}_{what}": value for name in ("OPENAI", "ANTHROPIC", "GEMINI")
                 for what, value in (("BASE_URL", model.url + ("/v1" if name == "OPENAI" else "")),
                                     ("API_KEY", "sk-4711"))}
        args = ("ask", "--model", f"{provider}/m", "--calling", calling, *FAST)
        check_notice(reckon, reckon(*args, "How much?", "in.txt", env=where).expect(125))
        model.script[:] = [call(LOOKS.calls[0]), Reply(text=last)]
        done = reckon("ask", "--resume", env=where).expect(0)
    assert done.out == "It is 42.\n" and "42 made data" in done.err and live(reckon) == []


# ---- contents of a resumed session --------------------------------------------------------------

def test_a_resumed_run_has_its_images_and_files(reckon):
    image = reckon.file("dot.png", PIXEL)
    with ModelServer(SETS, FAILS) as model:
        check_notice(reckon, ask(reckon, model, "--vision", "on", "--image", "dot.png", "How much?",
                                 "in.txt").expect(125))
        image.unlink()  # the session has a copy
        model.script[:] = [Reply(calls=["print(len(open('dot.png', 'rb').read()), x)"]),
                           Reply(text="There.")]
        done = reckon("ask", "--resume", "--vision", "on", env=env(model)).expect(0)
    assert f"{len(PIXEL)} 41" in done.err
    [system, question, *rest] = model.requests[2].body["messages"]
    assert any(part["type"] == "image_url" for part in question["content"])
    assert base64.b64encode(PIXEL).decode() in json.dumps(question)
    assert [message["role"] for message in rest] == ["assistant", "tool"]


def test_files_made_before_the_resume_are_saved_with_the_answer(reckon):
    with ModelServer(SETS, FAILS) as model:
        check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        model.script[:] = [Reply(text="See [it](sandbox:/mnt/data/made.txt).")]
        done = reckon("ask", "--resume", "--json", "-o", "out", env=env(model)).expect(0)
    answer = parse_json(done.stdout)
    jsonschema.validate(answer, ASK)
    assert (reckon.cwd / "out/made.txt").read_text() == "made"
    assert answer["question"] == "How much?" and answer["stop"] == "answer"
    assert len(answer["steps"]) == 1 and answer["usage"]["requests"] == 2
    assert [file["saved"] for file in answer["files"]] == ["out/made.txt"]


def test_settings_of_the_session(reckon):
    """The session of the daemon gets the limits and the template of the command line."""
    with ModelServer(Reply(calls=["while True: pass"]), FAILS) as model:
        args = ("--memory", "300M", "--timeout", "1s")
        done = ask(reckon, model, *args, "How much?", "in.txt").expect(125)
        check_notice(reckon, done)
        assert "timeout" in done.err
        [name] = live(reckon)
        shown = parse_json(reckon("session", "show", name, "--json").expect(0).stdout)
        assert shown["limits"]["memory_bytes"] == 300 << 20 and shown["template"] == "python"


def test_two_runs_at_once(reckon):
    barrier = threading.Barrier(2, timeout=TIMEOUT)
    answers = {}

    def reply(body):
        question = body["messages"][1]["content"][:1]
        if len(body["messages"]) == 2:
            return Reply(calls=[f"x = {question!r}"])
        if len(body["messages"]) == 4:
            barrier.wait()  # both have run a cell
            return Reply(calls=["print('x is', x)"])
        return Reply(text=f"done {question}") if question == "a" else FAILS

    def run(question):
        answers[question] = ask(reckon, model, question)

    with ModelServer(reply) as model:
        threads = [threading.Thread(target=run, args=(question,)) for question in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers["a"].expect(0).out == "done a\n" and "x is a" in answers["a"].err
    assert "x is b" in answers["b"].expect(125).err
    [name] = live(reckon)
    assert f"session {name} is kept" in answers["b"].err
    # The remaining session belongs to one of the runs.
    runs = sorted((reckon.state / "runs").iterdir())
    assert name in [f"ask-{path.name}" for path in runs]


def test_only_one_of_two_can_resume_a_run(reckon):
    release, requested = threading.Event(), threading.Event()

    def blocks(_):
        requested.set()
        release.wait(TIMEOUT)
        return Reply(text="It is 42.")

    with ModelServer(SETS, FAILS) as model:
        run = check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
    with ModelServer(blocks) as model:
        args = ("ask", "--resume", run, "--base-url", model.url + "/v1")
        with reckon.start(*args, env=env(model)) as process:
            assert requested.wait(TIMEOUT)
            assert "in use" in reckon(*args, env=env(model)).expect(125).err
            release.set()
            process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0 and live(reckon) == []


# ---- a session that is lost ---------------------------------------------------------------------

def is_lost(reckon, model, run):
    requested = len(model.requests)
    for more in ((), ("And now?",)):
        done = reckon("ask", "--resume", run, *more, env=env(model)).expect(125)
        assert f"the session of run {run} is lost, with its variables and files" in done.err
        assert f"reckon ask --resume {run} --rerun" in done.err and "new one has begun" not in done.err
    assert len(model.requests) == requested and live(reckon) == []


@pytest.mark.parametrize("how", ["removed", "no_data"])
def test_a_lost_session_is_an_error_and_not_replaced(reckon, how):
    with ModelServer(SETS, FAILS) as model:
        run = check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        if how == "removed":
            reckon("session", "rm", f"ask-{run}").expect(0)
        else:
            private_daemon.end(reckon)
            for path in reckon.state.glob("private/reckond.db*"):
                path.unlink()
        is_lost(reckon, model, run)
        # --rerun replaces it.
        model.script[:] = [LOOKS, Reply(text="It is 42.")]
        done = reckon("ask", "--resume", run, "--rerun", env=env(model)).expect(0)
    assert "1 cell ran again, 0 ended otherwise" in done.err and "42 made data" in done.err
    assert done.out == "It is 42.\n" and live(reckon) == []
    assert "run again in it: 1 ran" in json.dumps(model.requests[2].body["messages"])


class OverSocket(http.client.HTTPConnection):
    """A connection to the private daemon, which identifies its user by the socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def test_an_expired_session_is_reported(reckon):
    with ModelServer(SETS, FAILS) as model:
        run = check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        status = reckon("daemon", "status").expect(0).out
        daemon = OverSocket(re.search(r"socket +(.*)", status)[1])
        [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
        assert session["idle_timeout_s"] == 8 * 3600
        daemon.request("PATCH", f"/reckon/v1/sessions/{session['id']}", '{"idle_timeout_s": 1}',
                       {"Content-Type": "application/json"})
        assert daemon.getresponse().status == 200
        daemon.close()
        eventually(lambda: live(reckon) == [], "it does not expire")
        is_lost(reckon, model, run)


def test_a_killed_daemon_keeps_the_files(reckon):
    """The run can be resumed after the daemon was killed, and its files still exist."""
    with ModelServer(SETS, FAILS) as model:
        run = check_notice(reckon, ask(reckon, model, "How much?", "in.txt").expect(125))
        private_daemon.end(reckon, signal.SIGKILL)
        model.script[:] = [Reply(calls=["print('x' in globals(), open('made.txt').read())"]),
                           Reply(text="So.")]
        done = reckon("ask", "--resume", run, env=env(model)).expect(0)
    assert "made" in done.err and done.out == "So.\n"
    assert live(reckon) == []


def test_a_session_that_is_removed_during_the_run(reckon):
    """The run continues in a new session and reports that."""
    def reply(body):
        if len(body["messages"]) == 2:
            return SETS
        if len(body["messages"]) == 4:
            [name] = live(reckon)
            reckon("session", "rm", name).expect(0)
            return Reply(calls=["print('x' in globals())"])
        return FAILS

    with ModelServer(reply) as model:
        done = ask(reckon, model, "How much?", "in.txt").expect(125)
    assert "the session was lost" in done.err and "a new one has begun" in done.err
    check_notice(reckon, done)


# ---- sessions that end with the program ---------------------------------------------------------

@pytest.mark.parametrize("options", [
    ("-m", "shared"), ("--strict",), ("--private",), ("--isolate-cpu", "core"), ("--no-keep",)],
    ids=lambda options: options[0].lstrip("-"))
def test_options_with_a_session_of_the_program(reckon, options):
    (reckon.cwd / "shared").mkdir()
    reckon.user.own(reckon.cwd / "shared")
    with ModelServer(SETS, FAILS) as model:
        done = ask(reckon, model, *options, "How much?", "in.txt").expect(125)
    assert not private_daemon.daemons(reckon)
    if "a wall is missing" in done.err:  # this host does not support --strict
        assert options == ("--strict",)
        return
    assert "the session ended with this command, with its variables and the files" in done.err
    if options == ("--no-keep",):
        assert "--resume" not in done.err and not (reckon.state / "runs").exists()
        return
    run, lines = stored_run(reckon)
    assert [line["id"] for line in lines if line["type"] == "session"] == [None]
    assert f"reckon ask --resume {run} --rerun runs its cells again" in done.err
    with ModelServer(LOOKS, Reply(text="It is 42.")) as model:
        done = reckon("ask", "--resume", run, "--rerun", *options, "--base-url",
                      model.url + "/v1", env=env(model)).expect(0)
    assert "42 made data" in done.err and done.out == "It is 42.\n"


def test_without_a_daemon(reckon):
    """The command warns that the session ends with it, and continues."""
    runtime = reckon.file("blocked", "no directory")
    with ModelServer(SETS, LOOKS, Reply(text="It is 42."), SETS, FAILS) as model:
        where = env(model)
        args = command("--url", "http://127.0.0.1:1", "How much?", "in.txt")
        done = reckon(*args, env=where).expect(0)
        assert "the session is of this question alone" in done.err and done.out == "It is 42.\n"
        done = reckon(*args, env=where).expect(125)
    assert "the session ended with this command" in done.err and runtime.exists()


def test_a_run_that_cannot_be_stored(reckon):
    """Nobody can resume such a run, so its session ends with the command."""
    reckon.file("runs", "in the way")
    (reckon.cwd / "runs").rename(reckon.state / "runs")
    with ModelServer(SETS, FAILS) as model:
        done = ask(reckon, model, "How much?", "in.txt").expect(125)
    assert "not kept" in done.err and "the session ended with this command" in done.err
    assert not private_daemon.daemons(reckon)


def test_a_question_that_fails_before_a_request_leaves_no_session(reckon):
    reckon.file("large.bin", bytes(4 << 20))
    with ModelServer() as model:
        done = ask(reckon, model, "--disk", "1M", "How much?", "large.bin")
        assert done.status != 0 and "large.bin" in done.err and "is kept" not in done.err
        assert private_daemon.daemons(reckon) and live(reckon) == []
    assert list((reckon.state / "runs").iterdir()) == [] and model.requests == []


def test_a_named_session_remains_and_can_be_resumed(reckon):
    with ModelServer(SETS, FAILS) as model:
        done = ask(reckon, model, "-s", "tuesday", "How much?", "in.txt").expect(125)
        run, _ = stored_run(reckon)
        assert "session tuesday is kept" in done.err and f"--resume {run} goes on" in done.err
        model.script[:] = [LOOKS, Reply(text="It is 42.")]
        reckon("ask", "--resume", run, env=env(model)).expect(0)
    assert live(reckon) == ["tuesday"]


def test_ask_resumes_a_chat_without_an_answer(reckon):
    """`ask` answers the question that failed in the chat, and the chat keeps its session."""
    with ModelServer(SETS, FAILS) as model:
        reckon("chat", "--model", "openai/m", *FAST, "in.txt", stdin="How much?\n",
               env=env(model)).expect(0)
        run, _ = stored_run(reckon)
        model.script[:] = [LOOKS, Reply(text="It is 42.")]
        done = reckon("ask", "--resume", run, env=env(model)).expect(0)
    assert done.out == "It is 42.\n" and live(reckon) == [f"chat-{run}"]
    page = reckon("runs", "show", run).expect(0).out
    assert page.count("How much?") == 1 and "It is 42." in page


def test_image_needs_a_question(reckon):
    reckon.file("dot.png", PIXEL)
    with ModelServer(FAILS) as model:
        ask(reckon, model, "--vision", "on", "How much?").expect(125)
        done = reckon("ask", "--resume", "--vision", "on", "--image", "dot.png",
                      env=env(model)).expect(2)
    assert "needs a question" in done.err


def test_help_describes_resume(reckon):
    text = re.sub(r"\s+", " ", reckon("ask", "--help").expect(0).out)
    assert "8 unused hours: reckon ask --resume [ID] goes on with the question" in text
    assert "With -m, --strict, --private, --isolate-cpu and --no-keep it ends in any case" in text
