"""What IPython has beyond running cells: get_ipython(), magics, modules of the workspace."""
import re

import pytest

pytestmark = pytest.mark.one_user  # the language is the same for each user


@pytest.fixture
def run(reckon):
    """The records of cells run in one session."""
    def run(*cells, args=()):
        return reckon.records("--keep-going", *args, *[word for cell in cells for word in ("-c", cell)])
    return run


def texts(records):
    return [record["text"] for record in records]


# ---- modules --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["test", "code", "tabulate", "utils"])
def test_the_workspace_comes_first(run, name):
    records = run(f"open('{name}.py', 'w').write('here = True')", f"import {name}; {name}.here",
                  "import sys; sys.path[0]")
    assert records[1]["text"].splitlines()[0] == "True" and records[2]["text"] == "''"


def test_a_spawned_process_finds_functions_of_cells(run):
    records = run("import math, sys\nSCALE = 3\nprint('once')",
                  "def scaled(n):\n    return math.floor(n * SCALE)\nclass Box:\n    size = 2",
                  "1/0",
                  "import multiprocessing as mp\n"
                  "with mp.get_context('spawn').Pool(2) as pool:\n    print(pool.map(scaled, [1, 2.5]))")
    assert records[3]["stdout"] == "[3, 7]\n" and records[3]["status"] == "ok"


# ---- get_ipython() --------------------------------------------------------------------------------

def test_events_are_called(run):
    records = run("seen = []\nip = get_ipython()\n"
                  "def before(info): seen.append(('before', info.raw_cell))\n"
                  "def after(result): seen.append(('after', result.success, result.result))\n"
                  "def plain(): seen.append('pre')\n"
                  "ip.events.register('pre_run_cell', before)\nip.events.register('post_run_cell', after)\n"
                  "ip.events.register('pre_execute', plain)",
                  "1 + 1", "1/0", "ip.events.unregister('post_run_cell', after)\nprint(seen)",
                  "ip.events.register('no_such', plain)")
    assert "('before', '1 + 1'), ('after', True, 2)" in records[3]["stdout"]
    assert "('before', '1/0'), ('after', False, None)" in records[3]["stdout"]
    assert records[3]["stdout"].startswith("[('after', True, None), 'pre', ")
    assert records[4]["error"]["name"] == "KeyError"


def test_a_callback_that_fails_does_not_end_the_cell(run):
    records = run("def bad(): 1/0\nget_ipython().events.register('pre_execute', bad)", "print('on')")
    assert records[1]["status"] == "ok" and "on\n" in records[1]["stdout"]
    assert "Error in callback" in records[1]["stdout"] + records[1]["stderr"]


def test_transformers_change_cells(run):
    records = run("import ast\nip = get_ipython()\n"
                  "ip.input_transformers_cleanup.append(lambda lines: [l.replace('zz', '40') for l in lines])\n"
                  "ip.input_transformers_post.append(lambda lines: [l.replace('yy', '2') for l in lines])",
                  "zz + yy", "ip.transform_cell('zz + yy\\n%time')",
                  "ip.input_transformers_cleanup.clear(); ip.input_transformers_post.clear()\n"
                  "class Twice(ast.NodeTransformer):\n"
                  "    def visit_Constant(self, node):\n"
                  "        return ast.Constant(node.value * 2) if node.value == 21 else node\n"
                  "ip.ast_transformers.append(Twice())", "21", "ip.ast_transformers.clear()", "21")
    assert records[1]["text"] == "42" and records[4]["text"] == "42" and records[6]["text"] == "21"
    assert "40 + 2" in records[2]["text"]


def test_an_exception_handler_is_called(run):
    records = run("def handle(shell, kind, value, tb, tb_offset=None): print('caught', kind.__name__, value)\n"
                  "get_ipython().set_custom_exc((ZeroDivisionError,), handle)", "1/0", "int('x')")
    assert records[1]["stdout"] == "caught ZeroDivisionError division by zero\n"
    assert records[1]["status"] == "error" and records[2]["stdout"] == ""


def test_history_lists_of_magics_and_reset(run):
    records = run("x = 41", "x + 1", "ip = get_ipython()\n"
                  "print(list(ip.history_manager.get_range(start=1, stop=3)))\n"
                  "print(list(ip.history_manager.get_tail(1)), ip.history_manager.input_hist_raw[1])\n"
                  "print('alias' in ip.magics_manager.lsmagic()['line'], 'time' in ip.magics_manager.magics['cell'])",
                  "get_ipython().reset()", "x", "get_ipython().no_such_thing")
    assert records[2]["stdout"].splitlines() == [
        "[(0, 1, 'x = 41'), (0, 2, 'x + 1')]", "[(0, 2, 'x + 1')] x = 41", "True True"]
    assert records[4]["error"]["name"] == "NameError"
    assert records[5]["error"]["name"] == "AttributeError"


# ---- magics ---------------------------------------------------------------------------------------

def test_store_saves_and_restores_values(run):
    records = run("x, d = 5, {'a': 1}\n%store x d", "%store", "del x, d\n%store -r\nprint(x, d)",
                  "%store -d x\n%store -r x", "%store -z\n%store")
    assert "Stored 'x' (int)" in records[0]["stdout"]
    assert "x" in records[1]["stdout"] and "-> 5" in records[1]["stdout"]
    assert records[2]["stdout"] == "5 {'a': 1}\n"
    assert "no stored variable" in records[3]["stdout"]
    assert "->" not in records[4]["stdout"]


def test_doctest_mode_ipy_files_and_code_wrap(run):
    records = run("%doctest_mode", "[1, {'a': 2}]", "%doctest_mode",
                  "open('s.ipy', 'w').write('!echo from a command\\ny = 7\\n%pwd')", "%run s.ipy", "y",
                  "%%code_wrap noted\nprint('before')\n__code__\nprint('after')\n__ret__", "1 + 1",
                  "%code_wrap --remove noted", "2 + 2")
    assert "Doctest mode is: ON" in records[0]["stdout"] and "Doctest mode is: OFF" in records[2]["stdout"]
    assert "from a command" in records[4]["stdout"] and records[5]["text"] == "7"
    assert records[7]["text"] == "before\nafter\n2"
    assert records[9]["text"] == "4"


def test_misused_magics_do_not_fail_in_our_code(run):
    """Each magic gets an unknown option, and each cell magic no cell: errors do not come from our code."""
    (record,) = run("found = get_ipython().magics_manager.lsmagic()\n"
                    "print(*sorted(found['line']))\nprint(*sorted(found['cell']))")
    line, cell = (words.split() for words in record["stdout"].splitlines())
    assert len(line) > 40 and len(cell) > 10
    apart = {"exit", "quit", "debug", "reset", "reset_selective", "pip", "conda", "mamba", "micromamba",
             "uv", "cd", "pushd", "popd", "bookmark", "rehashx", "system", "sx", "sc"}
    misused = [f"%{name} --no-such-option -\u00e9 'open" for name in line if name not in apart]
    misused += [f"%%{name}" for name in cell] + [f"%%{name} --no-such\n" for name in cell]
    misused += ["%", "%%", "%no_such", "%%no_such\n1", "%%time\n%%time\n%", "x = %no_such", "!", "%time %time %"]
    records = run("x = 41", *misused, "x + 1")
    wrong = []
    for code, record in zip(misused, records[1:]):
        assert record["status"] in ("ok", "error"), (code, record)
        if "_reckon" in str(record.get("error")):
            wrong.append((code, record["error"]["name"], record["error"]["value"]))
    assert not wrong, wrong
    assert records[-1]["text"] == "42"


def test_a_debugger_without_input_shows_the_place_and_continues(run):
    records = run("def f(n):\n    return 1 / n", "f(0)", "%debug", "%pdb on", "f(0)", "%pdb off", "f(0)")
    assert "return 1 / n" in records[2]["stdout"] and records[2]["status"] == "ok"
    assert "Automatic pdb calling has been turned ON" in records[3]["stdout"]
    assert "-> return 1 / n" in records[4]["stdout"] and records[4]["error"]["name"] == "ZeroDivisionError"
    assert records[6]["stdout"] == ""


def test_a_debugger_reads_stdin(run, reckon):
    reckon.file("answers", "p k\nq\n")
    (record,) = run("import sys\ndef f(n):\n    k = n + 5\n    return k / n\ntry:\n    f(0)\n"
                    "except Exception as error:\n    sys.last_traceback = error.__traceback__\n%debug",
                    args=["--stdin", "answers"])
    assert "5\n" in record["stdout"].split("(Pdb) ")


def test_arguments_of_a_magic(run):
    records = run("from IPython.core.magic import register_line_magic\n"
                  "from IPython.core import magic_arguments\n"
                  "@register_line_magic\n@magic_arguments.magic_arguments()\n"
                  "@magic_arguments.argument('-n', '--number', type=int, default=1, help='how often')\n"
                  "@magic_arguments.argument('word')\n"
                  "def say(line):\n    'Says it.'\n    given = magic_arguments.parse_argstring(say, line)\n"
                  "    return given.word * given.number", "%say -n 2 ho", "%say --nope", "%say?")
    assert records[1]["text"] == "'hoho'" and records[2]["error"]["name"] == "UsageError"
    assert "-n NUMBER" in records[3]["stdout"] and "Says it." in records[3]["stdout"]


def test_pfile_and_tb(run):
    records = run("open('m.py', 'w').write('first = 1\\ndef f():\\n    return 1/0\\n')", "import m\n%pfile m.f",
                  "m.f()", "%tb", "x = 1 +", "%tb Plain")
    assert records[1]["stdout"] == "first = 1\ndef f():\n    return 1/0\n\n"
    trace = records[3]["stdout"] + records[3]["stderr"]
    assert trace.startswith("Traceback (most recent call last):") and "return 1/0" in trace
    assert "<reckon>" not in trace
    assert "SyntaxError" in records[5]["stdout"] + records[5]["stderr"]


def test_whos_is_a_table(run):
    records = run("%whos", "x = 6\nname = 'reckon'\ndef double(n):\n    return 2 * n\n", "%whos", "%whos int",
                  "%who", "%whos list")
    assert "Interactive namespace is empty" in records[0]["stdout"]
    lines = records[2]["stdout"].splitlines()
    assert lines[0].split() == ["Variable", "Type", "Data/Info"] and set(lines[1]) == {"-"}
    assert [line.split()[:2] for line in lines[2:]] == [
        ["double", "function"], ["name", "str"], ["x", "int"]]
    assert lines[3].split()[2:] == ["reckon"] and lines[4].split()[2:] == ["6"]
    assert "name" not in records[3]["stdout"] and re.search(r"^x +int +6$", records[3]["stdout"], re.M)
    assert records[4]["stdout"].split() == ["double", "name", "x"]
    assert "No variables match your requested type." in records[5]["stdout"]


# ---- figures --------------------------------------------------------------------------------------

MASKED = """
import numpy as np, matplotlib.pyplot as plt
y = np.ma.masked_greater([1.0, 2.0, 9.0, 4.0], 5)
fig, ax = plt.subplots()
ax.plot([0, 1, 2, 3], y)
plt.figure()
plt.scatter([0, 1, 2, 3], y);
"""


def test_masked_values_are_gaps_without_a_warning(run):
    (record,) = run(MASKED, args=["-t", "data"])
    charts = [result["data"]["application/vnd.reckon.chart+json"] for result in record["results"]]
    assert charts[0]["elements"][0]["points"] == [[0, 1], [1, 2], [2, None], [3, 4]]
    assert charts[1]["elements"][0]["points"] == [[0, 1], [1, 2], [None, None], [3, 4]]
    assert record["stderr"] == ""


def test_a_figure_that_cannot_be_drawn_fails_the_cell(run):
    broken, good = run("import matplotlib.pyplot as plt\nplt.rcParams['text.usetex'] = True\nplt.plot([1, 2])\n"
                       "plt.title('x')\nplt.figure(); plt.plot([1])\nprint('run')",
                       "plt.rcParams['text.usetex'] = False\nplt.plot([1, 2]);", args=["-t", "data"])
    assert broken["status"] == "error" and "latex" in broken["error"]["value"].lower()
    assert broken["stdout"] == "run\n"
    assert good["status"] == "ok" and "image/png" in good["results"][0]["data"]
