"""The Python kernel over its wire protocol, without a box: what a cell means."""

import os
import pathlib
import re
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import kernels  # noqa: E402
import wire  # noqa: E402


@pytest.fixture(scope="module")
def shared():
    with kernels.kernel("python") as kernel:
        yield kernel


@pytest.fixture
def fresh():
    with kernels.kernel("python") as kernel:
        yield kernel


def interrupt_when_printing(kernel, code):
    """Runs a cell and interrupts it once it has printed something."""
    running = kernel.start(code)

    def wait():
        if running.started.wait(wire.WAIT_MAX):
            kernel.interrupt()

    helper = threading.Thread(target=wait, daemon=True)
    helper.start()
    done = kernel.finish(running)
    helper.join()
    return done


# ---- a cell and its value -------------------------------------------------------------------

def test_ready_names_language_and_version(shared):
    assert shared.ready.text("language") == "python"
    assert shared.ready.text("version").startswith("3.")


@pytest.mark.parametrize("code, text", [
    ("1 + 1", "2"),
    ("x = 1", None),
    ("x = 1\nx + 1", "2"),
    ("5;", None),
    ("5 ; # quiet", None),
    ("'a;b'", "'a;b'"),
    ("None", None),
    ("  y = 2\n  y * 3", "6"),
    ("{'b': 1, 'a': 2}", "{'b': 1, 'a': 2}"),
    ("(1,)", "(1,)"),
    ("{3, 1, 2}", "{1, 2, 3}"),
    ("a = []; a.append(a); a", "[[...]]"),
    ("import asyncio\nawait asyncio.sleep(0)\n'woken'", "'woken'"),
    ("__name__", "'__main__'"),
    ("", None),
    ("# only a comment", None),
])
def test_value_of_the_last_expression(shared, code, text):
    done = shared.execute(code)
    assert (done.status, done.text) == ("ok", text)


def test_wide_containers_take_a_line_per_item(shared):
    assert shared.execute("list(range(40))").text == "[" + ",\n ".join(map(str, range(40))) + "]"


def test_long_sequences_are_cut(shared):
    assert shared.execute("list(range(5000))").text.endswith(" 999,\n ...]")


def test_names_of_earlier_values(fresh):
    fresh.execute("41")
    fresh.execute("42")
    assert fresh.execute("(_, __, _1, Out[2], In[1])").text == "(42, 41, 41, 42, '41')"


def test_state_survives_an_exception(shared):
    shared.execute("kept = 7")
    shared.execute("kept = 8; 1/0")
    assert shared.execute("kept").text == "8"


def test_tasks_continue_in_the_next_cell_that_awaits(shared):
    shared.execute("import asyncio\nasync def work(): return 'done'\ntask = asyncio.ensure_future(work())\nawait asyncio.sleep(0)")
    assert shared.execute("await task").text == "'done'"


@pytest.mark.parametrize("code, text", [
    ("t = asyncio.create_task(f())\nawait t", "1"),
    ("asyncio.get_running_loop().is_running()", "True"),
    ("t = asyncio.ensure_future(f())", None),
])
def test_a_loop_runs_where_a_cell_uses_it(fresh, code, text):
    fresh.execute("import asyncio\nasync def f(): return 1")
    done = fresh.execute(code)
    assert done.status == "ok", done.error and done.error.text("traceback")
    assert (done.result["text/plain"] if done.result else None) == text
    assert fresh.execute("await f()").result["text/plain"] == "1"


def test_functions_that_multiprocessing_forks_run_in_children(shared):
    done = shared.execute("import multiprocessing as m\ndef f(n): return n * n\n"
                          "with m.Pool(2) as p: r = p.map(f, [1, 2, 3])\nr")
    assert done.text == "[1, 4, 9]"


# ---- errors ---------------------------------------------------------------------------------

def test_error_has_name_value_frames_and_no_frames_of_the_kernel(shared):
    done = shared.execute("def f():\n    return {}['salse']\nf()", filename="<cell 70>")
    error = done.error
    assert done.status == "error"
    assert (error.text("name"), error.text("value")) == ("KeyError", "'salse'")
    assert error.frames == [("<cell 70>", "3", "<module>", "f()"),
                            ("<cell 70>", "2", "f", "return {}['salse']")]
    text = error.text("traceback")
    assert text.startswith("Traceback (most recent call last):\n")
    assert "return {}['salse']" in text
    assert "reckon" not in text and "\x1b" not in text


def test_chained_exceptions_are_in_the_traceback(shared):
    error = shared.execute("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e").error
    assert "ZeroDivisionError" in error.text("traceback")
    assert "direct cause" in error.text("traceback")


def test_await_adds_no_frames_of_the_event_loop(shared):
    error = shared.execute("async def f():\n    raise ValueError(1)\nawait f()").error
    assert [frame[2] for frame in error.frames] == ["<module>", "f"]


def test_syntax_error_shows_the_place(shared):
    error = shared.execute("x = 1\ny = (2", filename="<cell 71>").error
    assert error.text("name") == "SyntaxError"
    assert error.frames == [("<cell 71>", "2", "<module>", "y = (2")]
    assert "^" in error.text("traceback")


def test_deep_stack_is_cut_to_its_ends(shared):
    error = shared.execute("def f(n):\n    if n: return f(n - 1)\n    1/0\nf(300)").error
    assert len(error.frames) == 50
    assert error.frames[0][3] == "f(300)"
    assert error.frames[-1][3] == "1/0"
    assert "more frames" in error.text("traceback")


@pytest.mark.parametrize("code, status, name", [
    ("exit()", "ok", None),
    ("import sys; sys.exit(0)", "ok", None),
    ("sys.exit(3)", "error", "SystemExit"),
    ("raise KeyboardInterrupt", "interrupted", "KeyboardInterrupt"),
    ("raise MemoryError", "error", "MemoryError"),
    ("raise ExceptionGroup('g', [ValueError(1)])", "error", "ExceptionGroup"),
])
def test_status_after_exits_and_errors(shared, code, status, name):
    done = shared.execute(code)
    assert done.status == status
    assert (done.error.text("name") if done.error else None) == name
    assert shared.execute("1").text == "1"


# ---- streams and their order ----------------------------------------------------------------

def test_streams_and_displays_keep_their_order(shared):
    done = shared.execute("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\n"
                          "display('D')\nprint('d')\n'R'")
    assert done.order == [("stdout", "a\n"), ("stderr", "b\n"), ("stdout", "c\n"),
                          (wire.DISPLAY, "'D'"), ("stdout", "d\n"), (wire.RESULT, "'R'")]


def test_output_of_subprocesses_keeps_its_place(shared):
    done = shared.execute("import subprocess, os\nsys.stdout.write('1')\n"
                          "subprocess.run('echo 2; echo 3 >&2', shell=True)\nprint('4')\n"
                          "os.system('echo 5')\nprint('6', file=sys.stderr)\n")
    assert done.order == [("stdout", "12\n"), ("stderr", "3\n"), ("stdout", "4\n5\n"),
                          ("stderr", "6\n")]


def test_output_of_c_code_keeps_its_place(shared):
    done = shared.execute("import ctypes\nlibc = ctypes.CDLL(None)\nprint('1')\n_ = libc.puts(b'2')\nprint('3')")
    assert done.stdout == "1\n2\n3\n"


def test_a_forked_child_repeats_no_output_and_sends_no_replies(shared):
    done = shared.execute("import os\nsys.stdout.write('x')\npid = os.fork()\n"
                          "if pid: _ = os.waitpid(pid, 0)\nelse: display('child')\n'end'")
    assert done.stdout == "x"
    assert done.displays == []
    assert done.text == "'end'"


def test_sync_is_not_sent_without_need(shared):
    assert shared.execute("2").syncs == 0
    assert shared.execute("print(1)\n2").syncs == 1


def test_sync_for_streams_is_bounded(shared):
    done = shared.execute("for i in range(6000):\n    print(i)\n    print(i, file=sys.stderr)")
    assert 9000 < done.syncs < 10100
    lines = "".join(f"{i}\n" for i in range(6000))
    assert (done.stdout, done.stderr) == (lines, lines)


def test_text_that_is_not_utf8(shared):
    done = shared.execute("print('\\ud800é\\x00')\n_ = sys.stdout.buffer.write(b'\\xff\\n')")
    assert b"".join(e[1] for e in done.events) == b"\\ud800\xc3\xa9\x00\n\xff\n"


def test_background_thread_is_reported_not_mixed_in(fresh):
    fresh.execute("import threading\ngo, done = threading.Event(), threading.Event()\n"
                  "def work():\n    go.wait(); print('late'); done.set()\n"
                  "threading.Thread(target=work).start()")
    done = fresh.execute("go.set(); _ = done.wait(30); print('mine')")
    assert done.stdout == "mine\n"
    assert any(note.startswith("background_output:") and "late" in note for note in done.notes)


def test_a_line_of_a_background_thread_is_not_split(fresh):
    """The thread writes the text before the end of the cell, and the newline after it."""
    first = fresh.execute("import sys, threading\nsaid, go = threading.Event(), threading.Event()\n"
                          "def work():\n    sys.stdout.write('late'); said.set()\n"
                          "    go.wait(); sys.stdout.write('\\n')\n"
                          "print('one', end='')\n"
                          "t = threading.Thread(target=work); t.start(); _ = said.wait(30)")
    assert first.stdout == "one"
    second = fresh.execute("go.set(); t.join(30); print('two')")
    assert second.stdout == "two\n"
    assert [n.partition("cells: ")[2] for n in [*first.notes, *second.notes] if "background" in n] == [
        "late\n"]


def test_text_of_a_thread_that_ended_needs_no_newline(fresh):
    done = fresh.execute("import threading\nt = threading.Thread(target=lambda: print('in', end=''))\n"
                         "t.start(); t.join()")
    assert (done.stdout, done.notes) == ("in", [])


def test_threads_of_the_cell_are_its_own(fresh):
    done = fresh.execute("import threading\nt = threading.Thread(target=print, args=('in',))\nt.start(); t.join()")
    assert (done.stdout, done.notes) == ("in\n", [])
    fresh.execute("import asyncio\nawait asyncio.to_thread(print, 'warm')")
    assert fresh.execute("await asyncio.to_thread(print, 'again')").stdout == "again\n"


@pytest.mark.parametrize("exit_code", ["sys.exit(3)", "exit()", "raise SystemExit", "quit(1)"])
def test_exit_in_a_thread_ends_neither_the_cell_nor_the_kernel(fresh, exit_code):
    done = fresh.execute(f"import sys, threading\nkept = 1\ndef work():\n    {exit_code}\n"
                         "t = threading.Thread(target=work); t.start(); t.join()\nprint('on')")
    assert (done.stdout, done.stderr) == ("on\n", "")
    assert done.done.text("status") == "ok"
    assert fresh.execute("print(kept, t.is_alive())").stdout == "1 False\n"


def test_exit_in_a_thread_after_the_cell(fresh):
    fresh.execute("import sys, threading\nkept, go = 1, threading.Event()\ndef work():\n"
                  "    go.wait(); sys.exit(3)\nt = threading.Thread(target=work); t.start()")
    assert fresh.execute("go.set(); t.join(); print(kept)").stdout == "1\n"


# ---- names of variables, which a lost kernel reports ----------------------------------------

def names(done):
    return done.done.all("var_name"), done.done.all("var_gone")


def test_names_are_reported_when_they_appear_and_disappear(fresh):
    assert names(fresh.execute("import os, math as m\nx, y = 1, 2\ndef f(): pass\n"
                               "class C: pass\n_hidden = 3")) == (["x", "y", "f", "C"], [])
    assert names(fresh.execute("x = 'another value'; z = 3")) == (["z"], [])
    assert names(fresh.execute("del y, z; w = 1")) == (["w"], ["y", "z"])
    assert names(fresh.execute("1 / 0; never = 1")) == ([], [])
    assert names(fresh.execute("before = 1\n1 / 0")) == (["before"], [])
    assert names(fresh.execute("y = 5")) == (["y"], [])


def test_names_are_limited_in_number_and_length(fresh):
    reported, _ = names(fresh.execute("globals().update({f'n{i}': i for i in range(1000)})"))
    assert len(reported) == 50 and reported[-1] == "n999"
    reported, _ = names(fresh.execute("globals()['long' * 100] = 1; short = 2"))
    assert reported == ["short"]


def test_hostile_keys_of_the_namespace(fresh):
    """Keys that are not exactly of type str are ignored, and their methods are not called."""
    done = fresh.execute("class Key(str):\n    def __eq__(self, other): raise KeyError('asked')\n"
                         "    def __hash__(self): return hash('zzz')\n"
                         "globals()[Key('trap')] = 1\nglobals()[7] = 2\nafter = 3")
    assert done.done.text("status") == "ok"
    reported, _ = names(done)
    assert "after" in reported and "Key" in reported and len(reported) == 2
    assert names(fresh.execute("more = 1"))[0] == ["more"]


# ---- input ----------------------------------------------------------------------------------

def test_input_without_a_client_is_an_eof_error(shared):
    error = shared.execute("input('q')").error
    assert error.text("name") == "EOFError"
    assert "put the value into the code" in error.text("value")


def test_input_reads_stdin_first_and_then_requests_a_line(shared):
    done = shared.execute("[input('a'), input('b')]", stdin=b"one\n", input_allowed=True,
                          on_input=lambda packet: "two:" + packet.text("prompt"))
    assert done.text == "['one', 'two:b']"


def test_standard_input_does_not_leak_into_the_next_cell(shared):
    assert shared.execute("sys.stdin.readline()", stdin=b"1\n2\n3\n").text == "'1\\n'"
    assert shared.execute("sys.stdin.read()", stdin=b"4").text == "'4'"


def test_password_is_marked(shared):
    passwords = []
    done = shared.execute("import getpass\ngetpass.getpass()", input_allowed=True,
                          on_input=lambda packet: passwords.append(packet.text("password")) or "s")
    assert (passwords, done.text) == (["1"], "'s'")


def test_end_of_input_is_an_eof_error(shared):
    done = shared.execute("input()", input_allowed=True, on_input=lambda packet: None)
    assert done.error.text("name") == "EOFError"


# ---- interrupts -----------------------------------------------------------------------------

@pytest.mark.parametrize("wait", [
    "import time; time.sleep(1000)",
    "while True: pass",
    "import subprocess; subprocess.run(['sleep', '1000'])",
    "import asyncio; await asyncio.sleep(1000)",
])
def test_interrupt_keeps_variables(shared, wait):
    done = interrupt_when_printing(shared, f"held = 5\nprint('go')\n{wait}")
    assert done.status == "interrupted"
    assert done.error.text("name") == "KeyboardInterrupt"
    assert shared.execute("held").text == "5"


def test_interrupt_between_cells_hits_at_most_the_next_cell(shared):
    shared.interrupt()
    assert shared.execute("import time; time.sleep(0.05); 1").status in ("ok", "interrupted")
    for _ in range(20):
        assert shared.execute("1").text == "1"


# ---- rich results ---------------------------------------------------------------------------

def test_hooks_make_a_bundle(shared):
    bundle = shared.execute("class R:\n    def __repr__(self): return 'plain'\n"
                            "    def _repr_html_(self): return '<b>h</b>'\n"
                            "    def _repr_png_(self): return b'\\x89PNG'\n"
                            "    def _repr_json_(self): return {'a': 1}\nR()").result
    assert bundle == {"text/plain": "plain", "text/html": "<b>h</b>", "image/png": b"\x89PNG",
                      "application/json": '{"a": 1}'}


def test_mimebundle_comes_first(shared):
    bundle = shared.execute("class M:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                            "        return {'text/html': 'mine', 'text/x': 'y'}\n"
                            "    def _repr_html_(self): return 'other'\nM()").result
    assert bundle["text/html"] == "mine" and bundle["text/x"] == "y"


def test_display_handle_updates_in_place(shared):
    done = shared.execute("from IPython.display import HTML, Markdown, clear_output\n"
                          "h = display(HTML('<i>1</i>'), display_id='id1')\nh.update(Markdown('2'))\n"
                          "clear_output(wait=True)\ndisplay({'text/latex': 'x'}, raw=True)")
    first, update, clear, raw = done.events
    assert (first.type, first.text("display_id")) == (wire.DISPLAY, "id1")
    assert first.bundle["text/html"] == "<i>1</i>"
    assert (update.type, update.text("display_id")) == (wire.UPDATE_DISPLAY, "id1")
    assert update.bundle["text/markdown"] == "2"
    assert (clear.type, clear.text("wait")) == (wire.CLEAR_OUTPUT, "1")
    assert raw.bundle == {"text/latex": "x"}


def test_large_results_travel_whole(shared):
    done = shared.execute("class B:\n    def _repr_html_(self): return 'x' * 5_000_000\nB()")
    assert len(done.result["text/html"]) == 5_000_000


# ---- shell escapes and magics ---------------------------------------------------------------

def test_shell_escapes(shared):
    done = shared.execute("who = 'me'\n!echo hello $who {who}\nlines = !printf 'a\\nb'\nlines")
    assert (done.stdout, done.text) == ("hello me me\n", "['a', 'b']")


def test_escapes_in_strings_are_text(shared):
    assert shared.execute("'''\n!rm x\n%pip\n'''").text == "'\\n!rm x\\n%pip\\n'"


def test_cell_magics(shared, tmp_path):
    assert shared.execute("%%bash\necho $((6 * 7))").stdout == "42\n"
    assert shared.execute(f"%%writefile {tmp_path}/f.txt\nline").status == "ok"
    assert (tmp_path / "f.txt").read_text() == "line\n"
    assert shared.execute("%matplotlib inline\n3").text == "3"


def test_errors_after_a_magic_are_the_ones_reported(shared):
    error = shared.execute("%matplotlib inline\nx = = 1").error
    assert error.text("name") == "SyntaxError"
    assert "line 2" in error.text("traceback")


def test_time_shows_value_and_time(shared):
    done = shared.execute("%%time\nv = 20\nv + 1")
    assert done.text == "21"
    assert re.fullmatch(r"CPU times: user .+, sys: .+, total: .+\nWall time: .+\n", done.stdout)
    done = shared.execute("%timeit -n 2 -r 3 v + 1")
    assert re.fullmatch(r".+ ± .+ per loop \(mean ± std. dev. of 3 runs, 2 loops each\)\n", done.stdout)


def test_lines_below_a_cell_magic_keep_their_numbers(shared):
    frames = shared.execute("%%time\n\n1/0").error.all("frame_line")
    assert frames[-1] == "3"


def test_help(shared):
    shared.execute("def helped(a):\n    'What it does.'\n    return a")
    assert "What it does." in shared.execute("helped?").stdout
    assert "return a" in shared.execute("helped??").stdout
    assert "not found" in shared.execute("nobody?").stdout


def test_bare_magic_words_are_names_first(shared):
    assert shared.execute("pwd").text.startswith("'/")
    assert shared.execute("pwd = 3\npwd").text == "3"
    assert shared.execute("pwd").text == "3"


def test_cells_get_the_ipython_shell_and_libraries_do_not(shared):
    assert shared.execute("import IPython\nIPython.get_ipython() is get_ipython()").text == "True"
    assert shared.execute("import types; library = types.ModuleType('library')\n"
                          "exec('import IPython\\nfound = IPython.get_ipython()', library.__dict__)\n"
                          "library.found").text is None


def test_an_unknown_magic_is_an_error_in_the_words_of_ipython(shared):
    error = shared.execute("%nosuch 1").error
    assert error.text("name") == "UsageError"
    assert error.text("value") == "Line magic function `%nosuch` not found."
    assert error.text("traceback") == "UsageError: Line magic function `%nosuch` not found."
    assert "%pip" in shared.execute("%lsmagic").stdout


# ---- inspection, configuration --------------------------------------------------------------

def test_variables(fresh):
    fresh.execute("import os\nn = 3\nname = 'x' * 500\nitems = [1, 2]\n_hidden = 1\ndef f(): pass\n"
                  "class Bad:\n    def __repr__(self): raise SystemExit\nbad = Bad()")
    reply = fresh.ask(wire.VARIABLES)
    found = dict(zip(reply.all("var_name"), zip(reply.all("var_type"), reply.all("var_shape"),
                                                reply.all("var_preview"))))
    assert list(found) == ["n", "name", "items", "bad", "f", "Bad"]
    assert found["n"] == ("int", "", "3")
    assert found["items"] == ("list", "2", "[1, 2]")
    assert len(found["name"][2]) <= 120
    assert found["bad"][2] == "<Bad object>", "its __repr__ is not called"


@pytest.mark.parametrize("code, match, start", [
    ("completed_na", "completed_name", 0),
    ("x = 'é'.upp", "upper", 9),
    ("completed_name.bit_le", "bit_length", 15),
    ("whi", "while", 0),
    ("table_of['ke", "key", 10),
])
def test_completion(shared, code, match, start):
    shared.execute("completed_name = 1\ntable_of = {'key': 1}")
    code = code.replace("'é'.upp", "str.upp")
    start = len(code) - 3 if "str.upp" in code else start
    reply = shared.ask(wire.COMPLETE, code=code, cursor=len(code.encode()))
    assert match in reply.all("match")
    assert int(reply.text("cursor_start")) == start
    assert int(reply.text("cursor_end")) == len(code.encode())


@pytest.mark.parametrize("code, status, indent", [
    ("1 + 1", "complete", None),
    ("", "complete", None),
    ("x = (1,", "incomplete", ""),
    ("f(", "incomplete", "    "),
    ("for i in range(3):", "incomplete", "    "),
    ("for i in range(3):\n    print(i)", "incomplete", "    "),
    ("for i in range(3):\n    print(i)\n", "complete", None),
    ("for i in range(3):\n    print(i)\n    ", "complete", None),
    ("def f():\n    if x:\n        return 1", "incomplete", "    "),
    ("if x: y", "incomplete", ""),
    ("@property", "incomplete", ""),
    ("try:\n    x\nexcept E:", "incomplete", "    "),
    ("'''text", "incomplete", ""),
    ("'''text\n'''", "complete", None),
    ("x = 1 + \\", "incomplete", ""),
    ("await thing()", "complete", None),
    ("async with a as b:", "incomplete", "    "),
    ("!ls -l", "complete", None),
    ("!ls \\", "incomplete", ""),
    ("%time 1 + 1", "complete", None),
    ("len?", "complete", None),
    ("for i in x:\n    !echo {i}", "incomplete", "    "),
    ("%%bash", "incomplete", ""),
    ("%%bash\necho 1", "incomplete", ""),
    ("%%bash\necho 1\n", "complete", None),
    ("x = = 1", "invalid", None),
    ("  x\n y", "invalid", None),
    ("print 'a'", "invalid", None),
    ("1 +", "invalid", None),
    ("\\d = '\\d'", "invalid", None),
    ("'\\d'", "complete", None),
])
def test_is_complete(shared, code, status, indent):
    reply = shared.ask(wire.IS_COMPLETE, code=code)
    assert (reply.text("status"), reply.text("indent")) == (status, indent)


def test_is_complete_works_with_overwritten_builtins(shared):
    shared.execute("import builtins\nkept = compile\nbuiltins.compile = SyntaxError = None")
    assert shared.ask(wire.IS_COMPLETE, code="for i in x:").text("status") == "incomplete"
    assert shared.execute("builtins.compile = kept\ndel SyntaxError, kept").status == "ok"


def test_inspection(shared):
    shared.execute("def documented(a, b=2):\n    'What it does.'")
    text = shared.ask(wire.INSPECT, code="documented(", cursor=11).bundle["text/plain"]
    assert "documented(a, b=2)" in text and "What it does." in text
    assert shared.ask(wire.INSPECT, code="no_such_name", cursor=3).fields == []


def test_configure_sets_environment_and_seed():
    values = []
    for _ in range(2):
        with kernels.kernel("python") as kernel:
            kernel.send(wire.CONFIGURE, [("env", "RECKON_T=a=b"), ("seed", "7")])
            assert kernel.execute("import os; os.environ['RECKON_T']").text == "'a=b'"
            values.append(kernel.execute("import random; random.random()").text)
    assert values[0] == values[1]


def test_no_packages_of_the_distribution(shared):
    path = shared.execute("import sys; sys.path").text
    assert "dist-packages" not in path and "site-packages" not in path
    done = shared.execute("import subprocess\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)\nsys.flags.utf8_mode")
    assert done.stdout == "1\n" and done.text.endswith("1")


def test_module_that_starts_a_thread_is_refused(tmp_path):
    import subprocess

    module = pathlib.Path(tmp_path) / "venv" / "bin"
    module.mkdir(parents=True)
    (module / "python3").symlink_to("/usr/bin/python3")
    (module.parent / "pyvenv.cfg").write_text("home = /usr/bin\n")
    version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
                             capture_output=True, text=True, check=True).stdout.strip()
    site = module.parent / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (site / "threaded.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n")
    (site / "calm.py").write_text("value = 5\n")
    done = subprocess.run([kernels.DIRECT, "--template", module.parent, "python", "threaded"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert "module threaded started thread" in done.stderr
    with kernels.kernel("--template", module.parent, "python", "calm") as kernel:
        assert kernel.execute("import sys, calm; (calm.value, sys.prefix)").text == f"(5, '{module.parent}')"


def test_resume_restores_what_a_branch_loses(fresh, tmp_path):
    path = pathlib.Path(tmp_path) / "data"
    path.write_text("0123456789")
    fresh.execute(f"import os, random, signal\nos.chdir('{tmp_path}')\n_ = os.umask(0o027)\n"
                  f"file = open('{path}'); number = file.fileno(); _ = file.seek(4)\n"
                  "_ = signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nrandom.seed(1); state = random.getstate()")
    number = fresh.execute("number").text
    fresh.execute("os.close(number)")
    fresh.send(wire.RESUME, [("open_fd", number), ("open_path", str(path)),
                             ("open_flags", str(os.O_RDONLY)), ("open_offset", "4")])
    assert fresh.execute("os.read(number, 3)").text == "b'456'"
    assert fresh.execute("oct(os.umask(0)), os.getcwd() == %r" % str(tmp_path)).text == "('0o27', True)"
    assert fresh.execute("random.getstate() == state").text == "False"
    assert fresh.execute("import asyncio; await asyncio.sleep(0); 1").text == "1"


def test_resume_reports_lost_threads_and_files(fresh):
    fresh.execute("1")
    fresh.send(wire.RESUME, [("open_fd", "9"), ("open_path", "/nonexistent/x"),
                             ("open_flags", "0"), ("open_offset", "0")])
    assert any(note.startswith("files_lost:") for note in fresh.execute("1").notes)


def test_an_idle_kernel_answers_a_ping_after_stale_packets(fresh):
    """The earlier request is answered first; the stale packets have no effect."""
    fresh.execute("x = 41")
    fresh.send(wire.VARIABLES, ident=5)
    fresh.send(wire.SYNC_ACK, ident=3)
    fresh.send(wire.INPUT_REPLY, ident=3)
    fresh.send(wire.PING, ident=1 << 60)
    found = [fresh.receive() for _ in range(2)]
    assert [(each.type, each.id) for each in found] == [(wire.VARIABLES_REPLY, 5), (wire.PONG, 1 << 60)]
    assert fresh.execute("print(x + 1)").stdout == "42\n"
