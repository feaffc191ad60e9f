"""`reckon run --tools FILE`: code in a box that calls programs of the host."""

import json
import os
import sys
import time

import pytest
from reckon_serve import Server
from terminal import Terminal
from waiting import eventually

pytestmark = pytest.mark.one_user  # the programs run outside the box


@pytest.fixture
def tools(reckon):
    """Writes a file of tools, from {name: command}."""
    def write(**commands):
        path = reckon.cwd / "tools.json"
        path.write_text(json.dumps([{"name": name, "command": command, "description": f"{name} it"}
                                    for name, command in commands.items()]))
        reckon.user.own(path)
        return path
    return write


def python(code):
    return [sys.executable, "-c", code]


def test_a_program_answers(reckon, tools):
    path = tools(add=python("import json, sys; a = json.load(sys.stdin); print(json.dumps({'sum': a['a'] + a['b']}))"),
                 echo=["cat"], text=["echo", "-n", "no JSON"], fails=["sh", "-c", "exit 3"], missing=["/no/such"],
                 much=["head", "-c", "6000000", "/dev/zero"])
    done = reckon("run", "--tools", path, "-c", """
print(await tools.add(a=1, b=2), tools.text.sync(), tools.echo.sync(x=['é', None]))
for tool in (tools.fails, tools.missing, tools.much):
    try: tool.sync()
    except tools.ToolError as error: print(error)
print(tools)""", "-c", "import asyncio\n"
                  "found = await asyncio.gather(*(tools.echo(n=n) for n in range(30)))\n"
                  "print(found == [{'n': n} for n in range(30)])")
    assert done.status == 0, done
    first, *rest = done.out.splitlines()
    assert first == "{'sum': 3} no JSON {'x': ['é', None]}"
    assert rest[:3] == ["exit status 3", "/no/such cannot be run", "it printed more than 5 MiB"], rest
    assert "tools.add(...): add it" in rest and rest[-1] == "True"


def test_arguments_of_a_call_are_not_commands(reckon, tools):
    path = tools(echo=["cat"])
    done = reckon("run", "--tools", path, "-c", """
print(tools.echo.sync(command=['touch', 'forged'], argv='; touch forged'))
try: tools.rm.sync()
except AttributeError as error: print(error)""")
    assert done.status == 0 and "there is no tool rm; there are: echo" in done.out
    assert not (reckon.cwd / "forged").exists()


def test_the_end_of_a_cell_ends_its_programs(reckon, tools):
    mark = f"{os.getpid()}.{time.monotonic_ns() % 100000}"
    path = tools(slow=["sleep", f"9{mark}"])
    done = reckon("run", "--timeout", "60", "--tools", path, "-c",
                  "import asyncio\nt = asyncio.ensure_future(tools.slow())\nawait asyncio.sleep(0.3)\nprint('over')")
    assert done.status == 0 and done.out == "over\n", done
    eventually(lambda: not any(f"9{mark}" in text for text in commands()), "it still runs")


def commands():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                yield file.read()
        except OSError:
            continue


@pytest.mark.parametrize("text, why", [
    ("", "JSON"), ("{}", "list"), ("[]", "list"), ('[{"command": ["a"]}]', "name"), ('[{"name": "a"}]', "command"),
    ('[{"name": "a", "command": []}]', "command"), ('[{"name": "a", "command": [1]}]', "strings"),
    ('[{"name": "a", "command": ["a"], "parameters": 1}]', "parameters"),
    ('[{"name": "a", "command": ["a"]}, {"name": "a", "command": ["a"]}]', "two tools")])
def test_invalid_files_of_tools(reckon, text, why):
    path = reckon.cwd / "wrong.json"
    path.write_text(text)
    reckon.user.own(path)
    done = reckon("run", "--tools", path, "-c", "1")
    assert done.status == 2 and why in done.err and "wrong.json" in done.err, done


def test_a_missing_file_of_tools(reckon):
    assert reckon("run", "--tools", "/no/such", "-c", "1").status == 2
    assert reckon("run", "-s", "x", "--tools", "/no/such", "-c", "1").status == 2


# ---- a session of a daemon ----------------------------------------------------------------------

@pytest.fixture
def daemon(reckon):
    with Server(reckon) as server:
        reckon.env.update(RECKON_URL=f"http://127.0.0.1:{server.port}", RECKON_API_KEY=server.key)
        yield server


@pytest.mark.parametrize("mode", [(), ("--json",), ("--events",)])
def test_a_session_of_a_daemon(reckon, daemon, tools, mode):
    path = tools(echo=["cat"], fails=["sh", "-c", "exit 3"], here=["sh", "-c", "echo $RECKON_TEST_HERE"],
                 large=python("print('x' * 900000)"))
    done = reckon("run", "-s", "work", "--tools", path, *mode, "-c", """
import asyncio
found = await asyncio.gather(*(tools.echo(n=n) for n in range(60)))
print(found == [{'n': n} for n in range(60)], tools.here.sync())
print(sum(map(len, await asyncio.gather(*(tools.large() for _ in range(6))))))
try: tools.fails.sync()
except tools.ToolError as error: print(error)""", "-c", "print(tools.echo.sync(again=1))",
                  env={"RECKON_TEST_HERE": "on this side"})
    assert done.status == 0, done
    for text in ("True on this side", "5400000", "exit status 3", "{'again': 1}"):
        assert text in done.out, done
    done = reckon("run", "-s", "work", "-l", "bash", "--tools", path, "-c", "reckon-tool echo '{\"b\": 1}'")
    assert (done.status, done.out) == (0, '{"b":1}\n'), done
    assert reckon("run", "-s", "work", "-c", "tools").status == 1


def test_the_end_of_a_cell_of_a_daemon_ends_its_programs(reckon, daemon, tools):
    mark = f"{os.getpid()}.{time.monotonic_ns() % 100000}"
    path = tools(slow=["sleep", f"8{mark}"])
    done = reckon("run", "-s", "work", "--tools", path, "-c",
                  "import asyncio\nt = asyncio.ensure_future(tools.slow())\nawait asyncio.sleep(0.3)\nprint('over')")
    assert done.status == 0 and done.out == "over\n", done
    eventually(lambda: not any(f"8{mark}" in text for text in commands()), "it still runs")


# ---- approval -----------------------------------------------------------------------------------

ASKS = """
for n in range(5):
    try: print('got', tools.touch.sync(file=f'made-{n}\x1b[2J\u202e'))
    except tools.ToolDenied as error: print('denied:', error)
print('other', tools.other.sync())"""


@pytest.mark.parametrize("where", ["own", "daemon"])
def test_calls_are_approved_at_the_terminal(reckon, tools, where, request):
    if where == "daemon":
        request.getfixturevalue("daemon")
    path = tools(touch=["sh", "-c", "echo x >>made; echo '\"fine\"'"], other=["echo", "1"])
    with Terminal(reckon, "run", *(["-s", "asks"] if where == "daemon" else []), "--tools", path, "--approve",
                  "-c", ASKS) as term:
        def question(count):  # what is typed before the question does not count
            term.until(lambda: term.text.count("[a]lways this tool:") >= count, f"question {count}")
            return term
        question(1).wait("made-0").write("n\n")
        term.wait("denied: the user at the terminal said no")
        question(2).wait("made-1").write("perhaps\n")
        assert not (reckon.cwd / "made").exists()
        question(3).write("y\n")
        question(4).wait("made-2").write("always\n")
        question(5).wait("│ other {}").write("y\n")
        term.wait("other 1")
        assert term.end() == 0
        assert term.text.count("got fine") == 4 and "made-3" not in term.text
        assert b"\x1b[2J" not in term.raw
    assert (reckon.cwd / "made").read_text() == "x\n" * 4


def test_nothing_in_a_call_is_hidden(reckon, tools):
    """JSON does not escape characters that reverse text or are invisible, so the question escapes them."""
    with Terminal(reckon, "run", "--tools", tools(a=["touch", "made"]), "--approve",
                  "-c", r"tools.a.sync(x='\u202e\u2066rm\u2069\u200b')") as term:
        term.wait("Call it?").write("n\n")
        assert term.end() != 0
    assert r"\u202e\u2066rm\u2069\u200b" in term.text
    assert not set("\u202e\u2066\u2069\u200b") & set(term.raw.decode())


def test_an_interrupt_ends_the_question_of_approval(reckon, tools):
    with Terminal(reckon, "run", "--tools", tools(a=["touch", "made"]), "--approve", "-c", "tools.a.sync()") as term:
        term.wait("Call it?").write("\x03")
        term.wait("interrupted on request")
        assert term.end() != 0
    assert not (reckon.cwd / "made").exists()


def test_without_a_terminal_each_call_is_denied(reckon, tools):
    done = reckon("run", "--tools", tools(a=["touch", "made"]), "--approve", "-c", """
try: tools.a.sync()
except tools.ToolDenied as error: print(error)""")
    assert (done.status, done.out) == (0, "there is no terminal to ask whether it may run\n"), done
    assert not (reckon.cwd / "made").exists()
    done = reckon("run", "--approve", "-c", "1")
    assert done.status == 2 and "--approve needs --tools" in done.err, done
