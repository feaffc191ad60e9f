"""Variables, completion and inspection of a Python kernel: what is found, and what is never called."""
import kernels
import pytest
import wire


@pytest.fixture(scope="module")
def kernel():
    with kernels.kernel("python") as made:
        yield made


@pytest.fixture
def fresh():
    with kernels.kernel("python") as made:
        yield made


@pytest.fixture(scope="module")
def data():
    if kernels.TREE is None:
        pytest.skip("the template data is not built")
    with kernels.data_kernel() as made:
        made.execute("import pandas as pd, numpy as np\n"
                     "df = pd.DataFrame({'price': [1.5, 2.5], 'name of it': ['a', 'b'], 'n': [1, 2]})\n"
                     "a = np.arange(6.0).reshape(2, 3)\ns = df.price")
        yield made


def variables(kernel):
    """name -> (type, shape, size, preview, kind), in their order."""
    reply = kernel.ask(wire.VARIABLES)
    columns = [reply.all(f"var_{c}") for c in ("type", "shape", "size", "preview", "kind")]
    return dict(zip(reply.all("var_name"), zip(*columns)))


def complete(kernel, code, cursor=None):
    reply = kernel.ask(wire.COMPLETE, code=code,
                       cursor=len(code.encode()) if cursor is None else cursor)
    start, end = int(reply.text("cursor_start")), int(reply.text("cursor_end"))
    assert 0 <= start <= end <= len(code.encode())
    return reply.all("match"), start


def inspect(kernel, code, **more):
    reply = kernel.ask(wire.INSPECT, code=code, cursor=len(code.encode()), **more)
    return reply.bundle.get("text/plain") if reply.fields else None


# ---- variables ------------------------------------------------------------------------------

@pytest.mark.parametrize("code, type_, shape, preview", [
    ("3", "int", "", "3"),
    ("True", "bool", "", "True"),
    ("'x' * 500", "str", "500", "'" + "x" * 118 + "…"),
    ("[1, 2]", "list", "2", "[1, 2]"),
    ("(1,)", "tuple", "1", "(1,)"),
    ("{'a': [1]}", "dict", "1", "{'a': [1]}"),
    ("set()", "set", "0", "set()"),
    ("10 ** 9000", "int", "", "an integer of 29898 bits"),
    ("range(5)", "range", "", "range(0, 5)"),
    ("__import__('datetime').date(2026, 1, 2)", "date", "", "datetime.date(2026, 1, 2)"),
    ("__import__('collections').defaultdict(list, a=1)", "defaultdict", "1",
     "defaultdict({'a': 1})"),
    ("[[[[[1]]]]]", "list", "1", "[[[[…]]]]"),
])
def test_a_variable(kernel, code, type_, shape, preview):
    kernel.execute(f"value = {code}")
    found = variables(kernel)["value"]
    assert found[:2] == (type_, shape) and found[3:] == (preview, "data")
    assert int(found[2]) > 0


def test_functions_and_classes_follow_the_data(fresh):
    fresh.execute("import os\nfrom math import sin\nfrom collections import OrderedDict\n"
                  "def f(a, b: int = 2, *c, d=None, **e) -> str: pass\n"
                  "class Point:\n    def __init__(self, x, y=0): self.x = x; self.y = y\n"
                  "p = Point(1)\n_hidden = 1\nasync def g(x, /, y, *, z): pass")
    found = variables(fresh)
    assert list(found) == ["p", "f", "g", "Point"]
    assert found["p"][3] == "<Point object: x=1, y=0>"
    assert found["f"][3:] == ("f(a, b: int = 2, *c, d=None, **e) -> str", "function")
    assert found["g"][3] == "g(x, /, y, *, z)"
    assert found["Point"][3:] == ("class Point(x, y=0)", "class")


def test_variables_are_capped_and_the_rest_is_counted(fresh):
    fresh.execute("for i in range(1500): globals()[f'v{i}'] = i\ndel i")
    reply = fresh.ask(wire.VARIABLES)
    assert len(reply.all("var_name")) == 1000 and reply.text("var_omitted") == "500"


def test_variables_of_data_packages(data):
    found = variables(data)
    assert found["df"][:2] == ("DataFrame", "(2, 3)")
    assert found["df"][3].startswith("3 columns: price float64, name of it ")
    assert found["a"][:2] == ("ndarray", "(2, 3)")
    assert found["a"][2] == "48" and found["a"][3] == "float64: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0"
    assert found["s"][3] == "price float64: 1.5, 2.5"


def test_large_shapes_and_wide_frames(data):
    data.execute("huge = np.broadcast_to(np.int8(1), (10**5, 10**5)); wide = "
                 "pd.DataFrame(np.zeros((1, 3000))); odd = np.array([[1], 'x', None], dtype=object)")
    found = variables(data)
    assert found["huge"][1:3] == ("(100000, 100000)", str(10**10))
    assert found["wide"][3].startswith("3000 columns: 0 float64") and len(found["wide"][3]) <= 120
    assert found["odd"][3] == "object: [1], 'x', None"


TRAP = "\n    def {0}(self, *a): calls.append({0!r}); raise SystemExit"
HOSTILE = {
    "methods": "class H:" + "".join(TRAP.format(n) for n in (
        "__repr__", "__str__", "__len__", "__iter__", "__eq__", "__hash__", "__getattr__",
        "__getattribute__", "__dir__", "__sizeof__", "__format__", "__bool__", "__instancecheck__",
        "__reduce__", "__contains__", "__getitem__", "__call__")) + "\nh = H.__new__(H)",
    "properties": "class H:\n    shape = property(lambda s: calls.append('shape'))\n"
                  "    nbytes = columns = __doc__ = __signature__ = __wrapped__ = shape\nh = H()",
    "__class__ lies": "class H:\n    __class__ = property(lambda s: calls.append('class') or dict)\n"
                      "h = H()",
    "__dict__ lies": "class H:\n    __dict__ = property(lambda s: calls.append('dict'))\nh = H()",
    "metaclass": "class M(type):\n    def __getattribute__(c, n): calls.append(n); raise SystemExit\n"
                 "    def __instancecheck__(c, o): calls.append('i'); return True\n"
                 "    def __repr__(c): calls.append('r'); raise SystemExit\n"
                 "    def __call__(c, *a): calls.append('c')\n"
                 "    def __dir__(c): calls.append('d'); return []\n"
                 "class H(metaclass=M): pass\nh = object.__new__(H); calls.clear()",
    "subclass of list": "class H(list):" + "".join(TRAP.format(n) for n in (
        "__repr__", "__len__", "__iter__", "__getitem__")) + "\nh = H([1])",
    "subclass of str": "class H(str):" + "".join(TRAP.format(n) for n in (
        "__repr__", "__len__", "__getitem__", "__str__")) + "\nh = H('x')",
    "subclass of dict": "class H(dict):" + "".join(TRAP.format(n) for n in (
        "__repr__", "items", "keys", "__iter__", "__len__")) + "\nh = H(a=1)",
    "subclass of int": "class H(int):" + "".join(TRAP.format(n) for n in (
        "__repr__", "bit_length", "__index__")) + "\nh = H(5)",
    "exception": "class H(Exception):" + TRAP.format("__repr__") + TRAP.format("__str__") +
                 "\n    args = property(lambda s: calls.append('args'))\nh = H(1)",
    "descriptor": "class D:\n    def __get__(s, *a): calls.append('get')\nclass H: x = D(); "
                  "__init__ = D(); __annotations__ = D()\nh = H.__new__(H)\ncalls.clear()",
    "in a container": "class H:" + TRAP.format("__repr__") + "\nh = [{'k': (H(),)}]",
    "in a default": "class H:" + TRAP.format("__repr__") + "\ndef h(a=H(), *, b: H() = H()): pass",
    "endless repr": "class H:\n    def __repr__(self):\n        while True: pass\nh = H()",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_methods_of_the_cells_classes_are_not_called(fresh, name):
    done = fresh.execute(f"calls = []\n{HOSTILE[name]}")
    assert done.status == "ok", done.error and done.error.text("traceback")
    before = fresh.execute("print(len(calls))").stdout
    assert "h" in variables(fresh)
    for code in ("h.", "h.x.", "h[", "h['", "h(", "h(a", "H.", "H(", "h.shape.", "h.__class__."):
        complete(fresh, code)
    for code in ("h", "H", "h.x", "h(", "h.shape"):
        inspect(fresh, code, detail=1)
    assert fresh.execute("print(len(calls), calls)").stdout.split()[0] == before.strip()


@pytest.mark.parametrize("code, text", [
    ("h = []; h.append(h)", "[[…]]"),
    ("h = {}; h['a'] = h", "{'a': {…}}"),
    ("class N: pass\nh = N(); h.me = h", "<N object: me=<N object>>"),
    ("import collections\nP = collections.namedtuple('P', 'x y')\nh = P(1, 2)", "P(x=1, y=2)"),
    ("import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int\nh = D(4)", "D(x=4)"),
    ("import enum\nclass C(enum.Enum): RED = 1\nh = C.RED", "<C.RED: 1>"),
    ("class S: __slots__ = ('a', 'b')\nh = S(); h.a = 1", "<S object: a=1>"),
    ("class L(list): pass\nh = L([1])", "L([1])"),
    ("class E(ValueError): pass\nh = E('no')", "E('no')"),
    ("h = [list(range(10**6))] * 1000", None),
    ("h = {i: 'x' * 10**5 for i in range(100)}", None),
])
def test_preview_of_odd_objects(fresh, code, text):
    assert fresh.execute(code).status == "ok"
    found = variables(fresh)["h"][3]
    assert found == text or text is None and len(found) <= 120


def test_a_library_that_loops_in_its_repr_is_bounded(fresh):
    fresh.execute("import argparse, fractions\nh = fractions.Fraction(1, 2)\nkept = 5\n"
                  "def forever(self):\n    while True: pass\nfractions.Fraction.__repr__ = forever")
    assert variables(fresh)["kept"][3] == "5"
    assert fresh.execute("print(kept)").stdout == "5\n"


# ---- completion -----------------------------------------------------------------------------

@pytest.mark.parametrize("code, match", [
    ("completed_na", "completed_name"),
    ("whi", "while"),
    ("prin", "print"),
    ("completed_name.bit_le", "bit_length"),
    ("x = [].app", "append"),
    ("'a'.upper().spl", "split"),
    ("{}.ite", "items"),
    ("(1, 2).cou", "count"),
    ("f'{completed_na", "completed_name"),
    ("f'{text.upp", "upper"),
    ("table['ke", "key"),
    ("table['inner']['de", "deep"),
    ("nested.table['ke", "key"),
    ("nested.inner.val", "value"),
    ("make().val", "value"),
    ("Inner().val", "value"),
    ("items[0].bit_c", "bit_count"),
    ("call_me(alph", "alpha="),
    ("call_me(1, be", "beta="),
    ("call_me(f(1), be", "beta="),
    ("Inner(sta", "start="),
    ("import colle", "collections"),
    ("import os, colle", "collections"),
    ("import xml.et", "etree"),
    ("from xml.", "dom"),
    ("from os import getc", "getcwd"),
    ("from wave import Wave_r", "Wave_read"),
    ("from xml.etree import ElementT", "ElementTree"),
    ("new_name = 5\nnew_na", "new_name"),
    ("for each in x:\n    ea", "each"),
    ("%timei", "%timeit"),
    ("%%ba", "%%bash"),
    ("x = 'not closed\nprin", "print"),
    ("print('a', completed_na", "completed_name"),
])
def test_completion(kernel, code, match):
    kernel.execute("completed_name = 1\ntext = 'x'\ntable = {'key': 1, 'inner': {'deep': 2}, 3: 4}\n"
                   "items = [1]\n"
                   "class Inner:\n    def __init__(self, start=1): self.value = start\n"
                   "class Nested: pass\nnested = Nested(); nested.table = table\n"
                   "nested.inner = Inner()\ndef make() -> Inner: return Inner()\n"
                   "def call_me(alpha, beta=2): pass\n_private = 1")
    found, start = complete(kernel, code)
    assert match in found, found[:50]
    assert (code.encode()[:start].decode() + match).startswith(code[:start])
    assert match.startswith(code[start:])


def test_completion_does_not_import(fresh):
    for code in ("import wav", "from wave import W", "import xml.etree.", "from wave import "):
        complete(fresh, code)
    assert fresh.execute("import sys; print('wave' in sys.modules)").stdout == "False\n"


def test_names_in_comments_are_not_completed(kernel):
    assert complete(kernel, "x = 1  # prin")[0] == []


def test_order_and_private_names(kernel):
    kernel.execute("class O:\n    b = a = _a = 1\n    __c = 2\no = O()")
    assert complete(kernel, "o.")[0] == ["a", "b"]
    found = complete(kernel, "o._")[0]
    assert found[:2] == ["_O__c", "_a"] and found[2].startswith("__")


def test_offsets_are_bytes(kernel):
    kernel.execute("größe = 1; d = {'schlüssel': 1}")
    found, start = complete(kernel, "x = 'é'; grö")
    assert found == ["größe"] and start == len("x = 'é'; ".encode())
    assert complete(kernel, "é = d['schlü") == (["schlüssel"], len("é = d['".encode()))
    reply = kernel.ask(wire.COMPLETE, code="grö", cursor=3)  # within a character
    assert int(reply.text("cursor_end")) == 3


def test_files(kernel, tmp_path):
    (tmp_path / "data dir").mkdir()
    (tmp_path / "data.csv").touch()
    (tmp_path / ".hidden").touch()
    kernel.execute(f"import os; os.chdir({str(tmp_path)!r})")
    assert complete(kernel, "open('da") == (["data dir/", "data.csv"], 6)
    assert complete(kernel, f"open('{tmp_path}/da") == (
        ["data dir/", "data.csv"], len(f"open('{tmp_path}/".encode()))
    assert complete(kernel, "!cat da")[0] == ["data dir/", "data.csv"]
    assert complete(kernel, "open('/no such place/x")[0] == []


def test_completion_of_data(data):
    assert complete(data, "df['pr")[0] == ["price"]
    assert complete(data, "df['name")[0] == ["name of it"]
    assert complete(data, "df[['n', 'pr")[0] == ["price"]
    assert complete(data, "df.loc[:, 'pr")[0] == ["price"]
    assert complete(data, "df.groupby('pr")[0] == ["price"]
    assert "price" in complete(data, "df.pr")[0]
    assert "sep=" in complete(data, "pd.read_csv('x', se")[0]
    assert "mean" in complete(data, "df['price'].me")[0]
    assert "reset_index" in complete(data, "df.head().reset_i")[0]
    assert "DataFrame" in complete(data, "from pandas import DataF")[0]
    assert "reshape" in complete(data, "a.resh")[0]
    assert "numpy" in complete(data, "import num")[0]


@pytest.mark.parametrize("code", [
    "(" * 5000, "'" * 4999, "f'{" * 2000, "a." * 5000, "[" * 3000 + "'", "x" * 100_000, "\\" * 999,
    "a[" * 2000 + "'k", "\x00.", "é" * 1000 + ".", "'''", "x = (1,\n" * 500, "%", "%%", "!", "import ",
    "from . import ", "from .. import a", "lambda: (yield).", "1.", "1..", "...", "))))", "]['",
    "print(", "a(b(c(d(", "{'a': {'b': [", "# " * 999, "\r\n\t.", "\ufeffx.", "a..b", "import a..b",
])
def test_completion_of_nonsense(kernel, code):
    complete(kernel, code)
    inspect(kernel, code)
    for cursor in range(0, len(code.encode()), max(1, len(code) // 7)):
        complete(kernel, code, cursor)
    assert kernel.execute("1 + 1").result["text/plain"] == "2"


def test_a_thousand_matches_at_most(fresh):
    fresh.execute("for i in range(3000): globals()[f'many{i}'] = i")
    assert len(complete(fresh, "many")[0]) == 1000


# ---- inspection -----------------------------------------------------------------------------

def test_inspection(kernel):
    kernel.execute("def documented(a, b=2):\n    'What it does.'\n    return a\n"
                   "class K:\n    'A class.'\n    def method(self, x): 'It does x.'\nk = K()")
    for code in ("documented", "documented(", "documented(1, ", "x = documented(k"[:14]):
        text = inspect(kernel, code)
        assert "documented(a, b=2)" in text and "What it does." in text
    assert "return a" not in inspect(kernel, "documented")
    assert "return a" in inspect(kernel, "documented", detail=1)
    assert "K()" in inspect(kernel, "K") and "A class." in inspect(kernel, "K")
    assert "It does x." in inspect(kernel, "k.method(")
    assert "Type: K" in inspect(kernel, "k")
    assert inspect(kernel, "no_such_name") is None and inspect(kernel, "") is None
    assert "len(obj, /)" in inspect(kernel, "len(")


def test_inspection_of_data(data):
    assert "read_csv(" in inspect(data, "pd.read_csv(") and "sep" in inspect(data, "pd.read_csv(")
    assert "3 columns: price float64" in inspect(data, "df")


def test_inspection_leaves_nothing_behind(fresh):
    fresh.execute("import sys; before = None; before = set(globals())")
    variables(fresh), complete(fresh, "sys."), inspect(fresh, "sys.path", detail=1)
    done = fresh.execute("print({n for n in globals() if n[0] != '_'} - before, sys.gettrace(), 0)")
    assert done.stdout.startswith("set() None ")
