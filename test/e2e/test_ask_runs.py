"""Stored runs: their files, crashes, exports and resuming."""
import json
import os
import pathlib
import re
import signal
import stat
import time

import jsonschema
import nbformat
import private_daemon
import pytest
from cells import PICTURE
from model_server import ModelServer, Reply
from reckon_cli import ROOT, TIMEOUT, parse_json
from terminal import Terminal
from test_ask import WAYS
from waiting import eventually

# These tests do not depend on the user.
pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

KEY = "sk-never-to-be-seen-4711"
LINE = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/run.schema.json").read_text()))
WHOLE = json.loads((ROOT / "docs/transcript.schema.json").read_text())
ASK = json.loads((ROOT / "docs/ask.schema.json").read_text())
FAST = ("-t", "python")


def env(model, **more):
    return {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": KEY, **more}


def ask(reckon, model, *args, **options):
    return reckon("ask", "--model", "openai/m", *FAST, *args, env=env(model), **options)


def stored_runs(reckon):
    """Every run's folder, in no order."""
    folder = reckon.state / "runs"
    return list(folder.iterdir()) if folder.exists() else []


def lines_of(run):
    """Each line of a run, checked against the schema."""
    text = (run / "run.jsonl").read_bytes()
    assert text.endswith(b"\n")
    lines = [parse_json(line) for line in text.splitlines()]
    for line in lines:
        LINE.validate(line)
    return lines


def types_of(lines):
    return [line["type"] for line in lines]


SCRIPT = [Reply(text="I try.", calls=["1 / 0"]), Reply(text="Better:", calls=["print(6 * 7)"]),
          Reply(text="It is **42**.")]


# ---- files on the disk ------------------------------------------------------------------------

def test_a_question_is_stored_line_by_line(reckon):
    reckon.file("in.txt", "data")
    with ModelServer(*SCRIPT) as model:
        ask(reckon, model, "--price", "10000:0", "How much?", "in.txt").expect(0)
    [run] = stored_runs(reckon)
    lines = lines_of(run)
    assert types_of(lines) == [
        "run", "setting", "file", "session", "question", "usage", "said", "cell", "execution",
        "record", "usage", "said", "cell", "execution", "record", "usage", "answer", "session"]
    assert lines[0]["id"] == run.name and lines[0]["command"] == "ask"
    assert lines[1]["model"] == "openai/m" and lines[1]["base_url"] == model.url + "/v1"
    assert lines[3]["name"] == f"ask-{run.name}" and lines[-1]["id"] is None
    assert lines[2] == {**lines[2], "path": str(reckon.cwd / "in.txt"), "name": "in.txt"}
    assert lines[9]["record"]["error"]["name"] == "ZeroDivisionError"
    assert lines[14]["record"]["stdout"] == "42\n"
    assert lines[-2]["text"] == "It is **42**." and lines[-2]["stop"] == "answer"
    assert lines[-2]["usage"]["input_tokens"] == 300 and lines[-2]["cost"] == 3.0


def test_a_run_is_private_and_contains_no_key(reckon):
    with ModelServer(Reply(text="yes")) as model:
        ask(reckon, model, "--base-url", model.url + "/v1", "?").expect(0)
    [run] = stored_runs(reckon)
    for path, mode in ((run.parent, 0o700), (run, 0o700), (run / "run.jsonl", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path
    text = (run / "run.jsonl").read_text()
    assert KEY not in text
    assert lines_of(run)[1]["base_url"] == model.url + "/v1"


def test_no_keep_stores_no_run_but_save_works(reckon):
    with ModelServer(*SCRIPT) as model:
        ask(reckon, model, "--no-keep", "--save", "all.md", "?").expect(0)
    assert stored_runs(reckon) == []
    assert "It is **42**." in (reckon.cwd / "all.md").read_text()


def test_a_run_that_cannot_be_stored_still_gets_its_answer(reckon):
    reckon.file("runs", "in the way")
    (reckon.cwd / "runs").rename(reckon.state / "runs")
    with ModelServer(Reply(text="yes")) as model:
        done = ask(reckon, model, "?").expect(0)
    assert done.out == "yes\n" and "not kept" in done.err


def test_a_refused_cell_is_stored(reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="As you like.")) as model:
        with Terminal(reckon, "ask", "--model", "openai/m", *FAST, "--approve", "always", "?",
                      env=env(model)) as term:
            term.wait("[q]uit:").write("n\n")
            term.wait("As you like.")
            assert term.end() == 0
    [run] = stored_runs(reckon)
    [record] = [line for line in lines_of(run) if line["type"] == "record"]
    assert record["status"] == "refused" and record["record"] is None and record["left_out"] == 0


def test_records_that_are_too_long_are_stored_in_brief(reckon):
    code = ("from IPython.display import display\nfor i in range(8):\n"
            "    display({'text/plain': 'small', 'text/html': str(i) * (4 << 20)}, raw=True)")
    with ModelServer(Reply(calls=[code]), Reply(text="long")) as model:
        ask(reckon, model, "--max-output", "64M", "?").expect(0)
    [run] = stored_runs(reckon)
    [record] = [line for line in lines_of(run) if line["type"] == "record"]
    if record["record"] is None:
        assert record["left_out"] > 24 << 20 and "small" in record["text"]
    assert (run / "run.jsonl").stat().st_size < 32 << 20
    reckon("runs", "save", "brief.ipynb").expect(0)
    nbformat.validate(nbformat.read(reckon.cwd / "brief.ipynb", as_version=4))


def test_the_oldest_run_is_removed_at_the_limit(reckon):
    runs = reckon.user.own(reckon.state / "runs") if (reckon.state / "runs").exists() else None
    assert runs is None
    folder = reckon.state / "runs"
    folder.mkdir(mode=0o700)
    reckon.user.own(folder)
    for i in range(500):
        run = folder / f"200101-{i:05d}"
        run.mkdir(mode=0o700)
        path = run / "run.jsonl"
        path.write_text("{}\n")
        os.utime(path, (1000 + i, 1000 + i))
        reckon.user.own(run)
        reckon.user.own(path)
    with ModelServer(Reply(text="yes")) as model:
        ask(reckon, model, "?").expect(0)
    names = {run.name for run in stored_runs(reckon)}
    assert len(names) == 500 and "200101-00000" not in names and "200101-00001" in names


# ---- crashes ----------------------------------------------------------------------------------

def shown(process, words):
    """Reads stderr until it contains `words`."""
    text = b""
    while words.encode() not in text:
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, text
        text += piece
    return text.decode()


def test_a_crash_loses_nothing_that_was_shown(reckon):
    script = [Reply(calls=["print('first is done')"]),
              Reply(text="Next:", calls=["import time\nprint('second runs', flush=True)\n"
                                         "time.sleep(60)"])]
    with ModelServer(*script) as model:
        with reckon.start("ask", "--model", "openai/m", *FAST, "?", env=env(model)) as process:
            shown(process, "second runs")
            process.send_signal(signal.SIGKILL)
            process.wait()
    [run] = stored_runs(reckon)
    lines = lines_of(run)
    lines = [line for line in lines if line["type"] != "execution"]  # the cell may have just begun
    assert types_of(lines)[-5:] == ["cell", "record", "usage", "said", "cell"]
    assert lines[-4]["record"]["stdout"] == "first is done\n"
    assert "time.sleep(60)" in lines[-1]["code"]
    page = reckon("runs", "show").expect(0).out
    assert "first is done" in page and "the program ended while it ran" in page
    row = reckon("runs", "ls").expect(0).out.splitlines()[1]
    assert run.name in row and "cut off" in row
    whole = parse_json(reckon("runs", "show", "--json").expect(0).stdout)
    assert whole["questions"][0]["stop"] == "interrupted"
    assert whole["questions"][0]["usage"]["requests"] == 2


def test_an_incomplete_last_line_is_reported_and_left_out(reckon):
    with ModelServer(*SCRIPT) as model:
        ask(reckon, model, "?").expect(0)
    [run] = stored_runs(reckon)
    path = run / "run.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:whole.index(b'{"type":"session"', whole.index(b'{"type":"answer"')) - 20])
    done = reckon("runs", "show").expect(0)
    assert "half written" in done.err and "It is **42**." not in done.out
    assert "print(6 * 7)" in done.out


# ---- exports and the list ----------------------------------------------------------------------

def test_a_stored_run_is_saved_in_every_format(reckon):
    with ModelServer(*SCRIPT) as model:
        ask(reckon, model, "--save", "live.md", "How much?").expect(0)
    [run] = stored_runs(reckon)
    for name in ("a.ipynb", "a.py", "a.md", "a.json"):
        assert f"saved as {name}" in reckon("runs", "save", run.name[7:], name).expect(0).err
    book = nbformat.read(reckon.cwd / "a.ipynb", as_version=4)
    nbformat.validate(book)
    assert [cell.cell_type for cell in book.cells] == [
        "markdown", "markdown", "code", "markdown", "code", "markdown"]
    assert book.cells[4].outputs[0].text == "42\n"
    assert (reckon.cwd / "a.md").read_text() == (reckon.cwd / "live.md").read_text()
    assert reckon("run", *FAST, "a.py").expect(0).out == "42\n"
    whole = parse_json((reckon.cwd / "a.json").read_bytes())
    jsonschema.validate(whole, WHOLE)
    [question] = whole["questions"]
    jsonschema.validate(question, ASK)
    assert question["answer"] == "It is **42**." and whole["id"] == run.name
    assert "exists" in reckon("runs", "save", "a.md").expect(2).err
    assert "unknown file format" in reckon("runs", "save", "a.doc").expect(2).err


def test_runs_are_listed_and_removed(reckon):
    assert "no run was kept yet" in reckon("runs").expect(0).err
    for question in ("First\nthing", "Second \x1b[2Jthing"):
        with ModelServer(Reply(text="yes")) as model:
            ask(reckon, model, "--price", "10:10", question).expect(0)
    with Terminal(reckon, "runs", columns=80, lines=24) as term:
        assert term.end() == 0
        rows = term.text.strip().splitlines()
    assert re.match(r"ID +USED +MODEL", rows[0]) and len(rows) == 3
    assert "Second" in rows[1] and "First thing" in rows[2] and "0.0012" in rows[1]
    assert all(len(row) <= 80 for row in rows) and b"\x1b[2J" not in term.raw
    listed = reckon("runs", "ls", "--json").expect(0).lines()
    assert [row["questions"] for row in listed] == [1, 1]
    assert listed[1]["question"] == "First thing" and listed[1]["stop"] == "answer"
    reckon("runs", "rm", listed[1]["id"]).expect(0)
    assert [run.name for run in stored_runs(reckon)] == [listed[0]["id"]]
    assert "invalid run" in reckon("runs", "rm", listed[1]["id"]).expect(2).err


# ---- damaged and hostile runs ----------------------------------------------------------------

def write_run(reckon, text, name="261122-aaaaa"):
    """Writes a run as another program would."""
    folder = reckon.state / "runs"
    for path in (folder, folder / name):
        path.mkdir(mode=0o700, exist_ok=True)
        reckon.user.own(path)
    path = folder / name / "run.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    reckon.user.own(path)
    return name


BEGIN = ('{"type":"run","at":"2026-11-22T09:00:00.000Z","schema":"reckon.run/1",'
         '"id":"261122-aaaaa","command":"chat","version":"0.1.0"}\n')
SETTING = ('{"type":"setting","at":"2026-11-22T09:00:00.000Z","model":"openai/m","base_url":null,'
           '"language":"python","template":"python","calling":"tools","limits":{}}\n')


@pytest.mark.parametrize("text,words", [
    ("", "it is empty"), ("what\n", "line 1"), ("[]\n", "line 1: it is not an object"),
    (BEGIN + "{\n", "line 2"), (BEGIN.replace("/1", "/9"), "not reckon.run/1"),
    (BEGIN + BEGIN, "line 2: a second beginning"), (b"\xff\xfe\x00\n", "line 1"),
    (BEGIN + SETTING.replace("openai/m", "nothing"), "line 2"),
    (BEGIN + '{"type":"file","at":"t","path":"../x","name":"n"}\n', "line 2"),
    (BEGIN + '{"type":"cell","at":"t","cell":7,"code":"x"}\n', "line 2: a cell out of order"),
    (BEGIN + "x" * (33 << 20) + "\n", "line 2"),
    (BEGIN + '{"type":"question","at":"t","text":' + "[" * 100000 + "\n", "line 2"),
], ids=range(12))
def test_a_damaged_run_is_an_error_with_its_line(reckon, text, words):
    name = write_run(reckon, text)
    done = reckon("runs", "show", name).expect(125)
    assert words in done.err and f"run {name}" in done.err
    [row] = reckon("runs", "ls", "--json").expect(0).lines()
    assert words in row["damage"]
    assert "damaged" in reckon("runs").expect(0).out
    reckon("runs", "rm", name).expect(0)


def test_control_sequences_of_a_stored_run_are_escaped(reckon):
    hostile = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mred"
    name = write_run(reckon, BEGIN + SETTING +
                     f'{{"type":"question","at":"t","text":"{hostile}"}}\n'
                     f'{{"type":"cell","at":"t","cell":1,"code":"{hostile}"}}\n'
                     f'{{"type":"note","at":"t","text":"{hostile}"}}\n')
    for command in (("runs",), ("runs", "show", name)):
        with Terminal(reckon, *command) as term:
            assert term.end() == 0
        assert "owned" in term.text or command == ("runs",)
        assert b"\x1b]0;" not in term.raw and b"\x1b[2J" not in term.raw


# ---- resuming ---------------------------------------------------------------------------------

class Chat:
    """Runs `reckon chat` against one scripted model, which outlives it."""

    def __init__(self, reckon, model, provider="openai", calling="tools"):
        url, path, key = WAYS[provider]
        self.reckon, self.model = reckon, model
        self.env = {url: model.url + path, key: KEY}
        self.first = ("--model", f"{provider}/m", *FAST, "--calling", calling)

    def __call__(self, words, *args, status=0, command="chat", **options):
        settings = () if "--resume" in args else self.first
        return self.reckon(command, *settings, *args, env={**self.env, **options.pop("env", {})},
                           stdin="".join(f"{line}\n" for line in words), **options).expect(status)


def cell_reply(code, calling):
    """The reply by which a model runs `code` in that way of calling."""
    if calling == "tools":
        return Reply(text="So:", calls=[code])
    if calling == "fenced":
        return Reply(text=f"So:\n```python\n{code}\n```\n")
    return Reply(text=json.dumps({"action": "run", "content": code}))


def answer_reply(text, calling):
    return Reply(text=text if calling != "schema" else
                 json.dumps({"action": "answer", "content": text}))


def texts_of(request):
    found = []

    def walk(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, (dict, list)):
                walk(item)
            elif isinstance(item, str):
                found.append(item)

    walk(request.body)
    return found


@pytest.mark.parametrize("calling", ["tools", "fenced", "schema"])
@pytest.mark.parametrize("provider", WAYS)
def test_a_chat_is_resumed_with_its_conversation_and_variables(reckon, provider, calling):
    reckon.file("in.txt", "data")
    script = [cell_reply("x = 6 * 7\nopen('made.txt', 'w').write('kept')", calling),
              cell_reply("print('shown')" + PICTURE, calling), answer_reply("It is set.", calling),
              cell_reply("print(x, open('made.txt').read(), open('in.txt').read())", calling),
              answer_reply("It is 42.", calling)]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model, provider, calling)
        chat(["Set x."], "--vision", "on", "in.txt")
        done = chat(["What is x?"], "--resume")
    assert done.out == "It is 42.\n" and "42 kept data" in done.err
    request = model.requests[3]
    texts = texts_of(request)
    whole = "\n".join(texts)
    assert any(text.startswith("Set x.") and "in.txt" in text for text in texts)
    assert "made.txt" in whole and "It is set." in whole and "What is x?" in texts
    assert "1 image, not repeated" in whole and "DUlEQVR42mNkYPhfDwAC" not in json.dumps(request.body)
    assert "session" not in texts[-1]
    if calling == "tools" and provider == "openai":
        roles = [message["role"] for message in request.body["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant",
                         "user"]
        ids = [call["id"] for message in request.body["messages"]
               for call in message.get("tool_calls", [])]
        answers = [message["tool_call_id"] for message in request.body["messages"]
                   if message["role"] == "tool"]
        assert ids == answers and len(set(ids)) == 2
    if calling == "tools" and provider == "gemini":
        calls = [part for turn in request.body["contents"] for part in turn["parts"]
                 if "functionCall" in part]
        assert all(call["thoughtSignature"] for call in calls) and len(calls) == 2
    [run] = stored_runs(reckon)
    lines = lines_of(run)
    assert [line["type"] for line in lines].count("question") == 2
    assert lines[0]["command"] == "chat"


def test_an_output_is_read_again_after_a_resume(reckon):
    def script(_):
        turn = len(model.requests)
        if turn == 1:
            return Reply(calls=["for i in range(5000): print('row', i)"])
        if turn == 4:
            handle = re.search(r"out_[0-9a-f]+", "\n".join(texts_of(model.requests[3])))[0]
            return Reply(calls=[{"raw": json.dumps({"handle": handle, "lines": "2000:2001"}),
                                 "name": "read_output"}])
        return Reply(text="done")

    with ModelServer(script) as model:
        chat = Chat(reckon, model)
        chat(["Count."], "--max-text", "2K")
        chat(["Which is the 2000th?", "Is it?"], "--resume")
    assert "row 1999\nrow 2000" in "\n".join(texts_of(model.requests[4]))


def test_a_lost_session_is_reported_to_user_and_model(reckon):
    stays, goes = reckon.file("stays.txt", "here"), reckon.file("goes.txt", "not for long")
    script = [Reply(calls=["x = 1"]), Reply(text="ok"),
              Reply(calls=["import os\nprint(sorted(os.listdir()), 'x' in globals())"]),
              Reply(text="fresh")]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model)
        chat(["Set x."], "stays.txt", "goes.txt")
        [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
        reckon("session", "rm", session["name"]).expect(0)
        goes.unlink()
        done = chat(["What is there?"], "--resume")
    assert "is gone, with its variables" in done.err and "--rerun" in done.err
    assert "['stays.txt'] False" in done.err and stays.exists()
    whole = "\n".join(texts_of(model.requests[2]))
    assert "The session of this conversation is gone" in whole
    assert "there again: stays.txt" in whole and "not there any more: goes.txt" in whole
    [run] = stored_runs(reckon)
    assert [line for line in lines_of(run) if line["type"] == "note"]


def test_cells_run_again_in_a_new_session(reckon):
    script = [Reply(calls=["x = 6 * 7", "1 / 0", "import random\nopen('n', 'w').write('n')"]),
              Reply(text="ok"), Reply(calls=["print('x is', x)"]), Reply(text="There.")]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model)
        chat(["Set x."])
        [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
        reckon("session", "rm", session["name"]).expect(0)
        done = chat(["And?"], "--resume", "--rerun")
        assert "3 cells ran again, 0 ended otherwise" in done.err and "x is 42" in done.err
        assert "run again in it: 3 ran" in "\n".join(texts_of(model.requests[2]))
        model.script.append(Reply(text="Still."))
        assert "nothing runs again" in chat(["And?"], "--resume", "--rerun").err
    assert "--rerun needs" in reckon("chat", "--rerun", "--model", "openai/m").expect(2).err


def cells_again(reckon, *args, words):
    """Runs `ask --resume --rerun` at a terminal: the terminal's text and the texts of both requests."""
    with ModelServer(Reply(calls=["print(sorted(set('abc') & set(globals())))"]),
                     Reply(text="Ready.")) as model:
        with Terminal(reckon, "ask", "--resume", "--rerun", "--base-url", model.url + "/v1", *args,
                      "And?", env=env(model)) as term:
            for count, word in enumerate(words, 1):
                term.until(lambda: term.text.count("[q]uit:") == count, "asks").write(f"{word}\n")
            term.wait("Ready.")
            assert term.end() == 0
            assert term.text.count("[q]uit:") == len(words)
        return term.text, "\n".join(texts_of(model.requests[0])), "\n".join(texts_of(model.requests[1]))


def test_cells_that_run_again_need_approval_like_new_ones(reckon):
    with ModelServer(Reply(calls=["a = 1", "b = 2", "c = 3"]), Reply(text="ok")) as model:
        ask(reckon, model, "?").expect(0)
    shown, request_text, result = cells_again(reckon, "--approve", "always", words="ynyy")
    assert all(f"cell {number} of run" in shown for number in (1, 2, 3)) and "b = 2" in shown
    assert "2 cells ran again" in shown and "1 did not run, as you said" in shown
    assert "1 did not run, because the user did not allow it" in request_text and "['a', 'c']" in result
    # "a" approves all of them and the new cell of the model.
    shown, request_text, result = cells_again(reckon, "--approve", "always", words="a")
    assert "4 cells ran again" in shown and "['a', 'b', 'c']" in result
    # "q" ends the rerun; the model still gets the question, and its cell needs approval.
    shown, request_text, result = cells_again(reckon, "--approve", "always", words="yqy")
    assert "1 cell ran again" in shown and "the user stopped that" in request_text and "['a']" in result


def test_cells_that_run_again_need_approval_with_writable_mounts(reckon):
    (reckon.cwd / "shared").mkdir()
    reckon.user.own(reckon.cwd / "shared")
    with ModelServer(Reply(calls=["a = 1"]), Reply(text="ok")) as model:
        ask(reckon, model, "?").expect(0)
    assert "1 cell ran again" in cells_again(reckon, "-m", "shared", words="")[0]
    assert "cell 1 of run" in cells_again(reckon, "-m", "shared:rw", words="nya")[0]
    done = reckon("ask", "--resume", "--rerun", "-m", "shared:rw", "?", env={
        "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).expect(2)
    assert "no terminal to ask for leave" in done.err


def killed_chat(reckon, chat, word="busy"):
    """A chat whose program is killed while its cell runs; its code does not contain the word."""
    with reckon.start("chat", *chat.first, env=chat.env, stdin=-1) as process:
        process.stdin.write(b"Set x and wait.\n")
        process.stdin.flush()
        shown(process, word)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def waits_then(seconds, *more):
    return [Reply(calls=["x = 6 * 7"]),
            Reply(calls=[f"import time\nprint('bu' + 'sy', flush=True)\ntime.sleep({seconds})\n"
                         "print('all', 'of it')"]), *more]


def test_a_chat_continues_after_a_crash(reckon):
    """The cell continues in the daemon, and the resumed chat waits for its record."""
    with ModelServer(*waits_then(4, Reply(calls=["print('x is', x)"]),
                                 Reply(text="It went on."))) as model:
        chat = Chat(reckon, model)
        killed_chat(reckon, chat)
        [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
        assert session["status"] == "live"
        done = chat(["Where were we?"], "--resume")
    assert "waiting for it" in done.err and "its record is here now" in done.err
    assert "x is 42" in done.err and done.out == "It went on.\n"
    whole = "\n".join(texts_of(model.requests[2]))
    assert "all of it" in whole and "nobody knows" not in whole
    assert "[no answer: the program was ended before there was one]" in whole
    # The run now contains the record, with the id of the execution.
    lines = lines_of(stored_runs(reckon)[0])
    ids = [line["id"] for line in lines if line["type"] == "execution"]
    records = [line["record"] for line in lines if line["type"] == "record"]
    assert [record["id"] for record in records] == ids and len(ids) == 3
    assert records[1]["stdout"] == "busy\nall of it\n"


def test_ctrl_c_stops_a_cell_that_still_runs_after_a_resume(reckon):
    with ModelServer(*waits_then(60, Reply(text="Stopped, then."))) as model:
        chat = Chat(reckon, model)
        killed_chat(reckon, chat)
        with reckon.start("chat", "--resume", env=chat.env, stdin=-1) as process:
            process.stdin.write(b"And now?\n")
            process.stdin.flush()
            shown(process, "waiting for it")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
    assert b"its record is here now" in err and out == b"Stopped, then.\n"
    assert "busy" in "\n".join(texts_of(model.requests[2]))
    [record] = [line["record"] for line in lines_of(stored_runs(reckon)[0]) if line["type"] == "record"][1:]
    assert record["status"] == "interrupted"


def test_the_daemon_has_records_of_a_removed_session(reckon):
    with ModelServer(*waits_then(0.2, Reply(text="So it was."))) as model:
        chat = Chat(reckon, model)
        killed_chat(reckon, chat)
        [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
        deadline = time.monotonic() + TIMEOUT
        while "2 " not in (listed := reckon("logs", "-s", session["name"]).out) or \
                "running" in listed:
            assert time.monotonic() < deadline, listed
            time.sleep(0.1)
        reckon("session", "rm", session["name"]).expect(0)
        done = chat(["What was that?"], "--resume")
    assert "is gone, with its variables" in done.err and "its record is here now" in done.err
    assert "all of it" in "\n".join(texts_of(model.requests[2]))


def test_a_cell_without_a_record_is_reported_as_unknown(reckon):
    name = write_run(reckon, BEGIN + SETTING + "".join([
        '{"type":"session","at":"t","id":"se_01M80J7V9Z7WCA235G7GJNP5HC","name":"x","url":null}\n',
        '{"type":"question","at":"t","text":"q"}\n',
        '{"type":"cell","at":"t","cell":1,"code":"1"}\n',
        '{"type":"execution","at":"t","cell":1,"id":"../../../keys?x="}\n']))
    with ModelServer(Reply(text="fine")) as model:
        more = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url + "/v1"}
        done = reckon("chat", "--resume", name, env=more, stdin="more\n").expect(0)
        assert "nobody knows what this cell gave" in "\n".join(texts_of(model.requests[0]))
    assert "its record" not in done.err


def test_a_long_run_is_shortened_at_its_beginning(reckon):
    script = [Reply(text=f"answer {i} " + "long " * 400) for i in range(6)]
    with ModelServer(*script, Reply(text="end")) as model:
        chat = Chat(reckon, model)
        chat([f"question {i}" for i in range(6)])
        done = chat(["and now?"], "--resume", "--context", "4000")
    assert "is not told of the first" in done.err
    whole = "\n".join(texts_of(model.requests[-1]))
    assert "question 0" not in whole and "question 5" in whole and "left out here" in whole


def test_another_model_can_resume_a_question(reckon):
    script = [Reply(calls=["x = 1"]), Reply(text="first"), Reply(text="second")]
    with ModelServer(*script) as model:
        ask(reckon, model, "Set x.").expect(0)
        more = {**env(model), "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY}
        done = reckon("ask", "--resume", "--model", "anthropic/other", "Go on.", env=more).expect(0)
    assert done.out == "second\n" and "is gone, with its variables" in done.err
    assert model.requests[2].protocol == "messages"
    roles = [message["role"] for message in model.requests[2].body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    lines = lines_of(stored_runs(reckon)[0])
    assert [line["model"] for line in lines if line["type"] == "setting"] == [
        "openai/m", "anthropic/other"]


FAILS = Reply(status=401, error={"error": {"message": "the key has expired", "type": "x"}})


def test_a_failed_chat_resumes_in_its_session(reckon):
    script = [Reply(calls=["x = 41"]), FAILS, Reply(calls=["print(x + 1)"]), Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        chat = Chat(reckon, model)
        assert "the key has expired" in chat(["Set x."]).err
        done = chat(["Add one."], "--resume")
    assert done.out.splitlines()[-1] == "It is 42." and "is gone" not in done.err
    whole = "\n".join(texts_of(model.requests[2]))
    assert "Set x." in whole and "Add one." in whole


def test_a_failed_question_resumes_in_its_session(reckon):
    script = [Reply(calls=["x = 41"]), FAILS, Reply(calls=["print(x + 1)"]), Reply(text="It is 42.")]
    with ModelServer(*script) as model:
        failed = ask(reckon, model, "-s", "tuesday", "Set x.").expect(125)
        done = reckon("ask", "--resume", "Add one.", env=env(model)).expect(0)
    assert "the key has expired" in failed.err
    assert done.out == "It is 42.\n" and "is gone" not in done.err
    [session] = parse_json(reckon("session", "ls", "--json").expect(0).stdout)
    assert session["name"] == "tuesday"


def test_resume_sends_conversation_and_key_to_no_other_server(reckon):
    with ModelServer(Reply(text="one")) as model, ModelServer(Reply(text="two")) as other:
        ask(reckon, model, "?").expect(0)
        assert "now it would ask" in reckon("ask", "--resume", "more", env=env(other)).expect(2).err
        bare = {"OPENAI_API_KEY": KEY}
        assert "the provider's own service" in reckon("ask", "--resume", "more",
                                                      env=bare).expect(2).err
        assert other.requests == [] and len(model.requests) == 1
        # Without a key, the request contains nothing that the run does not contain.
        model.script.append(Reply(text="no key"))
        assert reckon("ask", "--resume", "more").expect(0).out == "no key\n"
        reckon("ask", "--resume", "--base-url", other.url + "/v1", "more", env=bare).expect(0)
        assert len(other.requests) == 1


def test_runs_that_cannot_be_resumed(reckon):
    assert "no run was kept" in reckon("chat", "--resume", "--model", "openai/m").expect(2).err
    with ModelServer(Reply(text="one"), Reply(text="two")) as model:
        ask(reckon, model, "?").expect(0)
        [run] = stored_runs(reckon)
        resume = ("chat", "--resume", run.name)
        assert "--language" in reckon(*resume, "-l", "bash", env=env(model)).expect(2).err
        assert "invalid run" in reckon("chat", "--resume=200101-aaaaa", env=env(model)).expect(2).err
        with reckon.start(*resume, env=env(model), stdin=-1) as process:
            # The second process could lock the run first, so wait until the first one has it.
            inode = f":{(run / 'run.jsonl').stat().st_ino} "
            eventually(lambda: inode in pathlib.Path("/proc/locks").read_text(), "the lock")
            assert "in use" in reckon(*resume, env=env(model)).err
            process.stdin.close()
            process.wait()
        name = write_run(reckon, BEGIN + SETTING + "{\n")
        assert "line 3" in reckon("chat", "--resume", name, env=env(model)).expect(125).err
        name = write_run(reckon, BEGIN + SETTING)
        assert "nothing to go on" in reckon("chat", "--resume", name, env=env(model)).expect(2).err


def test_a_hostile_run_gets_no_key_of_the_daemon(reckon):
    """The names and addresses in the run are untrusted: the daemon's key is not sent to them."""
    name = write_run(reckon, BEGIN + SETTING + "".join([
        '{"type":"session","at":"t","id":"se_../../keys","name":"../x","url":null}\n',
        '{"type":"file","at":"t","path":"/etc/shadow","name":"../../escape"}\n',
        '{"type":"file","at":"t","path":"/dev/zero","name":"zero"}\n',
        '{"type":"question","at":"t","text":"q\\u001b[2J"}\n']))
    with ModelServer(Reply(text="fine")) as model:
        more = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url + "/v1"}
        done = reckon("chat", "--resume", name, env=more, stdin="more\n")
        assert done.status in (0, 2, 125), done.err
        name = write_run(reckon, BEGIN + SETTING +
                         '{"type":"session","at":"t","id":"se_1","name":null,'
                         f'"url":"{model.url}"}}\n'
                         '{"type":"question","at":"t","text":"q"}\n', "261122-bbbbb")
        more["RECKON_API_KEY"] = "rk-secret"
        assert "says which one is meant" in reckon("chat", "--resume", name, env=more,
                                                   stdin="more\n").expect(125, 2).err
    assert all("rk-secret" not in json.dumps(request.headers) for request in model.requests)


# ---- sessions of a daemon ---------------------------------------------------------------------

def test_a_question_in_a_named_session(reckon):
    reckon.file("in.txt", "data")
    reckon("run", "-s", "tuesday", *FAST, "-c", "y = 7").expect(0)
    script = [Reply(calls=["x = 6 * y\nprint(open('in.txt').read())\n"
                           "open('out.txt', 'w').write('made')", PICTURE]), Reply(text="done")]
    with ModelServer(*script) as model:
        done = ask(reckon, model, "-s", "tuesday", "-o", "out", "?", "in.txt").expect(0)
    assert done.out == "done\n" and "data" in done.err
    assert (reckon.cwd / "out/out.txt").read_text() == "made"
    assert len(list((reckon.cwd / "out").glob("figure-*.png"))) == 1
    assert reckon("run", "-s", "tuesday", "-c", "print(x)").expect(0).out == "42\n"
    [session] = [line for line in lines_of(stored_runs(reckon)[0]) if line["type"] == "session"]
    assert session["name"] == "tuesday" and session["id"].startswith("se_")
    for option in (("-m", "."), ("--private",), ("--strict",), ("--isolate-cpu", "core")):
        assert "cannot be used with" in ask(reckon, model, "-s", "tuesday", *option, "?").expect(2).err
    assert "cannot be changed" in ask(reckon, model, "-s", "tuesday", "--memory", "64M",
                                      "?").expect(2).err


def test_a_session_that_ends_during_the_run_is_replaced(reckon):
    reckon.file("in.txt", "data")

    look = Reply(calls=["print(open('in.txt').read(), 'x' in globals())"])
    rest = iter([Reply(calls=["x = 1"]), look, look, Reply(text="on")])

    def answer(body):
        reply = next(rest)
        if len(body["messages"]) == 4:  # after the first cell
            reckon("session", "rm", "tuesday").expect(0)
        return reply

    with ModelServer(answer) as model:
        done = ask(reckon, model, "-s", "tuesday", "?", "in.txt").expect(0)
    assert "the session was lost" in done.err and "data False" in done.err
    assert "was not run" in "\n".join(texts_of(model.requests[2]))
    assert types_of(lines_of(stored_runs(reckon)[0])).count("session") == 2


def test_ctrl_c_stops_a_cell_of_a_daemon_and_keeps_the_session(reckon):
    # The code is shown before it runs, and must not contain the word.
    script = [Reply(calls=["x = 5\nimport time\nprint('ru' + 'ns', flush=True)\ntime.sleep(60)"]),
              Reply(text="never")]
    with ModelServer(*script) as model:
        with Terminal(reckon, "ask", "--model", "openai/m", *FAST, "-s", "tuesday", "?",
                      env=env(model)) as term:
            term.wait("runs").write("\x03")
            term.until(lambda: "KeyboardInterrupt" in term.text or "interrupted" in term.text,
                       "interrupted")
            assert term.end() == 130
    assert reckon("run", "-s", "tuesday", "-c", "print(x)").expect(0).out == "5\n"


def test_a_chat_without_a_daemon_warns_about_its_session(reckon):
    blocked = reckon.file("blocked", "no directory")
    with ModelServer(Reply(calls=["print(6 * 7)"]), Reply(text="done")) as model:
        done = reckon("chat", "--model", "openai/m", *FAST, stdin="?\n",
                      env=env(model, RECKON_URL="http://127.0.0.1:1")).expect(0)
    assert done.out == "done\n" and "end with it" in done.err and blocked.exists()
    [session] = [line for line in lines_of(stored_runs(reckon)[0]) if line["type"] == "session"]
    assert session["id"] is None


def test_a_chat_with_a_mount_starts_no_daemon(reckon):
    (reckon.cwd / "shared").mkdir()
    with ModelServer(Reply(calls=["print(6 * 7)"]), Reply(text="done")) as model:
        reckon("chat", "--model", "openai/m", *FAST, "-m", "shared", stdin="?\n",
               env=env(model)).expect(0)
    assert not private_daemon.daemons(reckon)
