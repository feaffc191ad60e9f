"""The repair view and the hints of failing cells: test/data/failing, and hostile exceptions."""

import json
import os
import re
import subprocess

import pytest
from reckon_cli import ROOT, record_validator, templates_dir
from repair_cells import Sandbox, read_cells as read_repairs

FAILING = sorted((ROOT / "test" / "data" / "failing").glob("*.cells"))
BUILD = ROOT / "build"
DRIVER = os.environ.get("RECKON_DRIVER", BUILD / "test" / "support" / "reckon-driver")
VIEW_MAX, HINT_MAX, HINTS_MAX = 4096, 500, 5
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def read_cells(path):
    """
    [(words of the head, code)]. A head is a line `#%% Type | text | text`: the exception, and what
    its view or hints must contain; `#%% setup` runs without an exception, `#%% setup fails` with one.
    """
    cells = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("#%% "):
            cells.append(([part.strip() for part in line[4:].strip().split(" | ")], []))
        else:
            cells[-1][1].append(line)
    return [(head, "".join(body).rstrip("\n")) for head, body in cells]


class Session:
    """Cells of one session, through the test driver of the C library."""

    def __init__(self, state, template, **limits):
        env = {"RECKON_LIBEXEC": str(BUILD / "libexec"), **os.environ, "RECKON_STATE": str(state),
               "RECKON_TEMPLATES": str(templates_dir())}
        self.driver = subprocess.Popen([str(DRIVER), "--private"], env=env, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.session = self.ask(op="open", template=template, **limits)["session"]

    def ask(self, **request):
        self.driver.stdin.write(json.dumps(request) + "\n")
        self.driver.stdin.flush()
        answer = json.loads(self.driver.stdout.readline())
        assert "failed" not in answer, answer
        return answer

    def run(self, code):
        answer = self.ask(op="exec", session=self.session, code=code, timeout_ms=60000)
        return answer.get("record", answer)

    def close(self):
        self.driver.stdin.close()
        self.driver.wait(timeout=60)
        self.driver.stdout.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    session = Session(tmp_path_factory.mktemp("hostile"), "data")
    yield session
    session.close()


def view_of(record):
    """The view with its hints, after the checks that apply to every view."""
    error = record["error"]
    view, hints = error["repair"], error["hints"]
    assert view, f"no view: {error['traceback']}"
    assert len(view.encode()) <= VIEW_MAX
    assert len(hints) <= HINTS_MAX
    for hint in hints:
        assert 0 < len(hint.encode()) <= HINT_MAX and "\n" not in hint
    text = "\n".join([view, *(f"hint: {hint}" for hint in hints)])
    assert not CONTROL.search(text), CONTROL.search(text)
    assert view in record["text"]
    assert all(f"hint: {hint}" in record["text"] for hint in hints)
    assert "Traceback (most recent call last)" not in record["text"]
    return text


@pytest.mark.parametrize("path", FAILING, ids=lambda path: path.stem)
def test_a_failing_cell_names_its_cause(path, tmp_path):
    session = Session(tmp_path, "data")
    wrong = []
    for number, (head, code) in enumerate(read_cells(path), 1):
        record = session.run(code)
        record_validator().validate(record)
        if head[0].startswith("setup"):
            assert (record["error"] is not None) == (head[0] == "setup fails"), (number, record["error"])
            continue
        error = record["error"]
        if error is None or error["name"] != head[0]:
            wrong.append(f"{path.name} cell {number}: {head[0]} wanted, got {error and error['name']}\n{code}")
            continue
        text = view_of(record)
        missing = [part for part in head[1:] if part not in text]
        if missing:
            wrong.append(f"{path.name} cell {number} lacks {missing}:\n{code}\n---\n{text}")
        if error["name"].endswith(("SyntaxError", "IndentationError", "TabError")):
            assert error["name"] in error["traceback"]
        else:
            assert "raceback (most recent call last):" in error["traceback"]
            assert error["value"].split("\n")[0] in error["traceback"]
        assert error["frames"] and error["frames"][-1]["file"]
    session.close()
    assert not wrong, "\n\n".join(wrong)


def test_there_are_enough_cells():
    heads = [head for path in FAILING for head, _ in read_cells(path) if not head[0].startswith("setup")]
    assert len(heads) >= 200
    assert len({head[0] for head in heads}) >= 30
    assert all(len(head) > 1 for head in heads)


def test_the_traceback_is_complete_with_a_view(hostile):
    record = hostile.run("import pandas as pd\ndef f(table):\n    return table['b']\nf(pd.DataFrame({'a': [1]}))")
    lines = record["error"]["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "KeyError: 'b'"
    assert sum("pandas/" in line for line in lines) >= 2
    assert "line 3, in f" in record["error"]["repair"]
    assert record["error"]["repair"].count("pandas/") == 1


LOOPS = "class {0}:\n    def {1}(self, *a):\n        while True: pass\n"


@pytest.mark.parametrize(("code", "name", "says"), [
    # Methods that would never return, or raise: none of them may be called.
    (LOOPS.format("R", "__repr__") + "def f(bad):\n    return bad + 1\nf(R())", "TypeError", "bad = R object"),
    (LOOPS.format("G", "__getattribute__") + "def f(bad):\n    return [bad][1]\nf(G())", "IndexError", "bad = G object"),
    (LOOPS.format("G", "__getattr__") + "def f(bad):\n    return [bad][1]\nf(G())", "IndexError", "G object"),
    (LOOPS.format("L", "__len__") + "def f(bad):\n    return [bad][1]\nf(L())", "IndexError", "L object"),
    (LOOPS.format("H", "__hash__") + "def f(bad):\n    return [bad][1]\nf(H())", "IndexError", "H object"),
    (LOOPS.format("E", "__eq__") + "def f(bad):\n    d = {'aa': bad}\n    return d['ab']\nf(E())", "KeyError", "'aa'"),
    ("class C:\n    @property\n    def __class__(self):\n        while True: pass\ndef f(bad):\n    return [bad][1]\nf(C())",
     "IndexError", "C object"),
    ("class D:\n    @property\n    def __dict__(self):\n        while True: pass\ndef f(bad):\n    return [bad][1]\nf(D())",
     "IndexError", "D object"),
    ("class M(type):\n    @property\n    def __name__(cls):\n        while True: pass\n    def __eq__(cls, o):\n"
     "        while True: pass\n    def __hash__(cls): return 1\n"
     "class N(metaclass=M): pass\ndef f(bad):\n    return [bad][1]\nf(N())", "IndexError", "N object"),
    ("class T(dict):\n    def items(self):\n        while True: pass\n    __iter__ = keys = __getitem__ = items\n"
     "def f(bad):\n    return [bad][1]\nf(T(a=1))", "IndexError", "T {'a': 1}"),
    ("class S(str):\n    def __repr__(self):\n        while True: pass\n    __len__ = __str__ = __repr__\n"
     "def f(bad):\n    return [1][2]\nf(S('abc'))", "IndexError", "S of 3 characters"),
    ("class I(int):\n    def __repr__(self): 1/0\ndef f(bad):\n    return [1][bad]\nf(I(7))", "IndexError", "I(7)"),
    # Hostile exceptions.
    ("class E1(Exception):\n    def __str__(self): 1/0\nraise E1('x')", "E1", "E1"),
    ("class E2(Exception):\n    def __str__(self): return 5\nraise E2('x')", "E2", "E2"),
    ("class E3(Exception):\n    @property\n    def __traceback__(self): 1/0\n    @property\n    def __cause__(self): 1/0\n"
     "raise E3('x')", "E3", "E3"),
    ("class E4(Exception):\n    def __getattribute__(self, n): 1/0\nraise E4('x')", "E4", "raise E4"),
    ("class E5(KeyError):\n    args = property(lambda s: 1/0)\nraise E5('x')", "E5", "raise E5"),
    ("class E6(SyntaxError):\n    lineno = property(lambda s: 1/0)\nraise E6('x')", "E6", "raise E6"),
    ("class E7(NameError):\n    name = 5\nraise E7(\"name 'zz' is not defined\")", "E7", "raise E7"),
    ("e = SyntaxError('m'); e.lineno = 10**30; e.filename = 5; e.text = b'x'\nraise e", "SyntaxError", "raise e"),
    ("e = SyntaxError('m', ('f', 1, -5, 'a\\x1b[31mb', 1, 10**9))\nraise e", "SyntaxError", "SyntaxError: m"),
    ("e = ValueError('x'); e.__notes__ = 7\nraise e", "ValueError", "ValueError: x"),
    ("e = ValueError('x'); e.__cause__ = e\nraise e", "ValueError", "ValueError: x"),
    ("a, b = ValueError('a'), ValueError('b'); a.__cause__ = b; b.__cause__ = a\nraise a", "ValueError", "caused by ValueError: b"),
    ("raise type('\\x1b[31mRed', (Exception,), {})('\\x1b[2J\\x07boo')", None, "boo"),
    ("raise ValueError('\\u202egnp.exe\\x9b31m')", "ValueError", "gnp.exe"),
    ("x = '\\x1b[31m' * 3\nassert x == 1", "AssertionError", "x is '"),
    ("raise KeyError('x' * 10_000_000)", "KeyError", "KeyError: 'xxx"),
    ("big = 'y' * 10_000_000\nbig + 1", "TypeError", "10000000 characters"),
    ("big = list(range(3_000_000))\nbig[10**9]", "IndexError", "3000000 items"),
    ("exec('\\n'.join(f'v{i} = {i}' for i in range(10000)))\nv1 + 'a'", "TypeError", "v1 = 1"),
    ("def f():\n    " + "; ".join(f"v{i} = {i}" for i in range(10000)) + "\n    return [][v3]\nf()", "IndexError", "v3 = 3"),
    ("x = []\nfor _ in range(100000): x = [x]\nx + 1", "TypeError", "x = "),
    ("x = []; x.append(x); d = {}; d['d'] = d\nx[d['d'] and 5]", "IndexError", "x = [[[…]]]"),
    ("def f(n): return f(n + 1)\nf(0)", "RecursionError", "f() calls itself"),
    ("class R:\n    def __repr__(self): return repr(self)\nrepr(R())", "RecursionError", "__repr__"),
    ("n = 10 ** 100000\nn + 'a'", "TypeError", "int of 332193 bits"),
    ("s = '\\ud800'\ns + 1", "TypeError", "s = "),
    ("def f(x):\n    return 1 / x" + " " * 5000 + "# " + "z" * 100000 + "\nf(0)", "ZeroDivisionError", "x is 0 here"),
    ("x = 0\n" + "1 + " * 500 + "1 / x", "ZeroDivisionError", "x is 0 here"),
    ("Ünï = {'ключ': 1}\nÜnï['клюц']", "KeyError", "Ünï has the key 'ключ'"),
    ("import pandas as pd\nwide = pd.DataFrame({f'c{i}': [i] for i in range(5000)})\nwide['zzz']", "KeyError", "5000 columns"),
    ("import pandas as pd\nclass B:\n    def __repr__(self):\n        while True: pass\n"
     "t = pd.DataFrame({'a': [B()], 'b': [1]})\nt['A']", "KeyError", "t has the column 'a'"),
    ("import numpy as np\nclass B:\n    def __repr__(self):\n        while True: pass\n"
     "o = np.array([B(), B()], dtype=object)\no[5]", "IndexError", "o has the shape (2,)"),
    ("raise ExceptionGroup('many', [ValueError(str(i) * 1000) for i in range(500)])", "ExceptionGroup", "500 exceptions"),
    ("import sys\ndef tracer(*a): 1/0\nsys.settrace(None)\n{}['k']", "KeyError", "'k'"),
    ("import re, ast, difflib, linecache\nre.compile = ast.walk = ast.parse = difflib.SequenceMatcher = None\n"
     "linecache.getline = None\n{'ab': 1}['abc']", "KeyError", "'abc'"),
], ids=lambda value: None)
def test_a_hostile_failure_is_reported(hostile, code, name, says):
    record = hostile.run(code)
    assert record["status"] == "error", (record["status"], record["stderr"])
    if name is not None:
        assert record["error"]["name"] == name
    text = view_of(record)
    assert says in text, text
    assert record["error"]["traceback"]
    assert hostile.run("6 * 7")["results"][0]["data"]["text/plain"] == "42"


def test_the_traceback_is_shown_without_a_view(tmp_path):
    session = Session(tmp_path, "python")
    record = session.run("import sys\nsys.modules['_reckon.repair'].hints.collect = None\n"
                         "sys.modules['_reckon.repair'].case.Case = None\n1/0")
    assert record["error"]["repair"] is None
    assert record["error"]["hints"] == []
    assert record["error"]["traceback"].endswith("ZeroDivisionError: division by zero")
    assert "Traceback (most recent call last)" in record["text"]
    session.close()


def test_exhausted_memory_is_reported(tmp_path):
    session = Session(tmp_path, "python")
    record = session.run("kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))")
    assert record["error"]["name"] in ("MemoryError", "OutOfMemory")
    record = session.run("kept = None\n{'a': 1}['b']")
    if record["error"]["name"] == "KeyError":
        assert "'a'" in view_of(record)
    session.close()


def test_the_command_line_shows_the_traceback_and_the_hints(reckon):
    done = reckon("run", "-c", "fruit = {'apple': 1}\nfruit['aple']").expect(1)
    assert "Traceback (most recent call last):" in done.err
    assert done.err.index("KeyError: 'aple'") < done.err.index("hint: fruit has the key 'apple'")
    assert "> 2 |" not in done.err


# ---- failing cells with a known repair (tools/repair-rate) ---------------------------------------

def test_there_are_sixty_cells_to_repair():
    cells = read_repairs()
    assert len(cells) == len({cell.name for cell in cells}) == 60
    assert len({cell.error for cell in cells}) >= 15
    assert all(cell.before and cell.fails and cell.repaired and cell.check for cell in cells)


def test_each_cell_fails_and_its_repair_passes_the_check(tmp_path):
    """The check must fail without the repair, or it would not test the repair."""
    sandbox = Sandbox({"RECKON_STATE": str(tmp_path), "RECKON_TEMPLATES": str(templates_dir())})
    wrong = []
    for cell in read_repairs():
        before, fails, unrepaired, repaired, check = sandbox.run(cell.before, cell.fails, cell.check,
                                                                 cell.repaired, cell.check)
        failure = fails["error"] and fails["error"]["name"]
        statuses = [record["status"] for record in (before, unrepaired, repaired, check)]
        if failure != cell.error or statuses != ["ok", "error", "ok", "ok"]:
            wrong.append(f"{cell.name}: {failure}, {statuses}\n{check['text']}\n{repaired['text']}")
        elif not fails["error"]["repair"] or fails["error"]["repair"] not in fails["text"]:
            wrong.append(f"{cell.name}: no view")
    sandbox.close()
    assert not wrong, "\n\n".join(wrong)
