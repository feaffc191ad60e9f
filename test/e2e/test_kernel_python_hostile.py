"""The Python kernel against code that wants to break it: it answers, or it ends."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import kernels  # noqa: E402
import wire  # noqa: E402


@pytest.fixture
def kernel():
    with kernels.kernel("python") as kernel:
        yield kernel


def still_whole(kernel):
    """Text, value, display and error all arrive. The session has sys, and builtins as b."""
    done = kernel.execute("_ = sys.__stdout__.write('text\\n')\nb.display({'z': [1]})\n\n1/0")
    assert done.order == [("stdout", "text\n"), (wire.DISPLAY, "{'z': [1]}"), (wire.ERROR, None)]
    assert done.error.text("name") == "ZeroDivisionError"
    assert done.error.frames[-1][1] == "4"
    assert kernel.execute("{'k': 1}").text == "{'k': 1}"


@pytest.mark.parametrize("attack", [
    "import builtins\nfor n in 'len isinstance open print getattr type str repr sorted list dict id hasattr super'.split(): setattr(builtins, n, None)",
    "import builtins\nbuiltins.__import__ = None; builtins.__build_class__ = None",
    "import json, threading, re, io, linecache, traceback, ast, asyncio, os, random\n"
    "json.dumps = json.JSONEncoder = re.match = re.fullmatch = re.compile = io.BytesIO = None\n"
    "io.TextIOWrapper = io.BufferedReader = traceback.TracebackException = linecache.getline = None\n"
    "ast.parse = ast.Expr = threading.Thread = asyncio.wait = os.read = os.write = None",
    "import sys\nsys.stdout = None; sys.stderr = None; sys.stdin = None",
    "import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
    "import sys\nsys.stdout = sys.stderr = open('/dev/full', 'w')",
    "import sys\nsys.modules.clear()",
    "import sys\nfor n in [m for m in sys.modules if 'reckon' in m]: del sys.modules[n]",
    "import sys\nsys.settrace(lambda *a: 1/0)",
    "import sys\nsys.setprofile(lambda *a: 1/0)",
    "import sys\nsys.setrecursionlimit(40)",
    "import sys\nsys.setrecursionlimit(10**9)",
    "import sys\nsys.excepthook = sys.displayhook = sys.unraisablehook = None",
    "import gc\ngc.disable(); gc.set_threshold(1)",
    "def f(): f()\nf()",
    "globals().clear()\nimport builtins as b, sys",
    "import linecache\nlinecache.clearcache(); linecache.cache = None",
    "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "import sys\nsys.meta_path.clear(); sys.path.clear(); sys.path_hooks.clear()",
    "import sys\nsys.addaudithook(lambda *a: None)",
    "import os\nos.environ.clear(); os.chdir('/proc/self')",
])
def test_the_kernel_survives(kernel, attack):
    kernel.execute("import builtins as b, sys")
    kernel.execute(attack)
    kernel.execute("1")
    still_whole(kernel)


@pytest.mark.parametrize("code", [
    "import os\nos.close(3)",
    "import os\nos.dup2(os.open('/dev/null', os.O_RDWR), 3)",
    "import os\nos.closerange(0, 100)",
    "import os\nos._exit(5)",
    "import ctypes\nctypes.string_at(0)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "import os\nos.execv('/bin/true', ['true'])",
])
def test_a_kernel_without_its_socket_ends(code):
    kernel = kernels.kernel("python")
    with pytest.raises(wire.Gone):
        kernel.execute(code)
    assert kernel.process.wait(timeout=wire.WAIT_MAX) is not None
    kernel.close()


def test_forged_frames_affect_only_their_own_execution(kernel):
    """A frame that code writes to descriptor 3 can only add events to its own execution."""
    done = kernel.execute(
        "import os, struct\nhead = struct.pack('=IHHQII', 0x314b4b52, 34 - 1, 0, %d, 0, 0)\n"
        "for fd in (1, 2): _ = os.write(fd, head)\n_ = os.write(3, head)\nprint('real')\n1" % (kernel.ids + 1))
    assert done.stdout.endswith("real\n") and done.text == "1"
    assert len(done.displays) == 1 and done.displays[0].fields == []


def test_children_do_not_get_the_socket(kernel):
    done = kernel.execute("import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], close_fds=False)")
    assert "3" in done.stdout.split()  # ls itself opens the directory with the free number
    target = kernel.execute("import subprocess\n_ = subprocess.run('readlink /proc/$$/fd/*', shell=True, close_fds=False)")
    assert "socket:" not in target.stdout


@pytest.mark.parametrize("body, name, value", [
    ("raise ValueError('no')", "ValueError", "no"),
    ("return 5", "TypeError", "__repr__ returned non-string (type int)"),
    ("return repr(self)", "RecursionError", "maximum recursion depth exceeded"),
])
def test_hostile_repr(kernel, body, name, value):
    """A failing repr is an error of the cell, as in a notebook; _ has the value nevertheless."""
    for shown in ("H()", "[H()]"):
        done = kernel.execute(f"class H:\n    def __repr__(self): {body}\n{shown}")
        assert done.status == "error" and done.error.text("name") == name
        assert done.error.text("value").startswith(value)
        assert kernel.execute("type(_).__name__").text in ("'H'", "'list'")
    displayed = kernel.execute("display(H())")
    assert displayed.status == "ok"
    assert displayed.displays[0].bundle["text/plain"].startswith(f"<repr of H failed: {name}")


def test_a_repr_that_exits_is_text(kernel):
    done = kernel.execute("class H:\n    def __repr__(self): raise SystemExit\nH()")
    assert done.status == "ok" and done.text == "<repr of H failed: SystemExit>"


def test_a_repr_that_lies_about_itself_is_plain_text(kernel):
    """repr() may return a subclass of str, whose methods are not used."""
    done = kernel.execute("class S(str):\n    def splitlines(self, *_): return ['forged']\n"
                          "    def __len__(self): return 0\n"
                          "class H:\n    def __repr__(self): return S('hello')\nH()")
    assert done.status == "ok" and done.text == "hello"


def test_huge_repr_is_bounded(kernel):
    done = kernel.execute("class H:\n    def __repr__(self): return 'x' * 30_000_000\nH()")
    assert len(done.text) < 2**20 + 100
    assert "more characters" in done.text


def test_hooks_that_fail_are_reported_in_notes(kernel):
    done = kernel.execute("class H:\n    def _repr_html_(self): 1/0\n    def _repr_png_(self): return 5\nH()")
    assert done.status == "ok" and "text/plain" in done.result
    assert sum(note.startswith("display_failed:") for note in done.notes) == 2


def test_getattr_that_answers_everything(kernel):
    done = kernel.execute("class H:\n    def __getattr__(self, name): return lambda *a, **k: 'fake'\nH()")
    assert set(done.result) == {"text/plain"}


@pytest.mark.parametrize("body", ["raise SystemExit", "return 5", "1/0", "return 'x' * 10_000_000"])
def test_hostile_exception(kernel, body):
    done = kernel.execute(f"class E(Exception):\n    def __str__(self): {body}\nraise E")
    assert done.status == "error"
    assert done.error.text("name") == "E"
    assert len(done.error.text("value")) < 70_000
    assert len(done.error.text("traceback")) < 300_000


def test_long_chain_of_exceptions(kernel):
    done = kernel.execute("e = None\nfor i in range(3000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e")
    assert done.error.text("name") == "ValueError"
    kernel.execute("import sys, builtins as b")
    still_whole(kernel)


def test_large_source(kernel):
    done = kernel.execute("x = '" + "y" * 3_000_000 + "'\nlen(x)")
    assert done.text == "3000000"
    done = kernel.execute("x = (" + "1," * 500_000)
    assert done.error.text("name") == "SyntaxError"
    assert len(done.error.text("traceback")) < 300_000


def test_huge_output(kernel):
    done = kernel.execute("print('x' * 20_000_000)\nfor i in range(100_000): print()")
    assert len(done.stdout) == 20_000_001 + 100_000


def test_reader_that_closes_its_pipe(kernel):
    running = kernel.start("for i in range(10_000): print(i)\nprint('e', file=__import__('sys').stderr)\n7")
    import os

    for fd in [fd for fd, name in running.pipes.items() if name == "stdout"]:
        os.close(fd)
        del running.pipes[fd]
    done = kernel.finish(running)
    assert (done.status, done.stderr, done.text) == ("ok", "e\n", "7")


def test_text_too_large_for_a_packet_is_left_out(kernel):
    done = kernel.execute("class H:\n    def _repr_html_(self): return 'x' * (40 << 20)\nH()")
    assert "text/html" not in done.result
    assert any(note.startswith("display_limit:") for note in done.notes)


def test_one_stolen_request_does_not_stop_the_others(kernel):
    kernel.execute("import os, threading, socket\n"
                   "s = socket.socket(fileno=os.dup(3))\n"
                   "stolen = []\n"
                   "threading.Thread(target=lambda: stolen.append(s.recv(1 << 17)), daemon=True).start()")
    for _ in range(3):  # one of these goes to the thread; the others are answered
        kernel.send(wire.VARIABLES, (), 9000)
    replies = [kernel.receive(), kernel.receive()]
    assert all(reply.type == wire.VARIABLES_REPLY for reply in replies)


def test_recursion_that_uses_all_memory_is_a_memory_error():
    """CPython forgets to set an exception when the stack of a recursion cannot grow any further."""
    with kernels.kernel("python") as kernel:
        done = kernel.execute("import resource, sys\n"
                              "resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))\n"
                              "sys.setrecursionlimit(10**9)\ndef f():\n    f()\nf()")
        assert done.error.text("name") == "MemoryError"
        assert kernel.execute("1 + 1").text == "2"
        depth = ("import sys\nn, t = 0, sys.last_traceback\n"
                 "while t: n, t = n + 1, t.tb_next\nn")
        assert int(kernel.execute(depth).text) < 20000  # most of its frames were released


def test_an_exception_lost_in_deep_recursion_is_a_memory_error(kernel):
    """The traceback is short if the exception is lost during unwinding. Without a raised limit, the
    SystemError stays."""
    forgotten = "raise SystemError('error return without exception set')"
    assert kernel.execute(forgotten).error.text("name") == "SystemError"
    done = kernel.execute("import sys\nsys.setrecursionlimit(10**9)\n" + forgotten)
    assert done.error.text("name") == "MemoryError"
