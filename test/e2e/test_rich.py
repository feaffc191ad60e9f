"""Rich results: what libraries and IPython.display show, charts as data, and what -o saves."""

import base64
import json
import pathlib
import struct
import sys

import jsonschema
import pytest
from reckon_cli import ROOT

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import kernels  # noqa: E402
import wire  # noqa: E402

pytestmark = pytest.mark.skipif(kernels.TREE is None, reason="the template data is not built")
CHART, TABLE = "application/vnd.reckon.chart+json", "application/vnd.reckon.table+json"
PLOTLY = "application/vnd.plotly.v1+json"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
SCHEMA = json.loads((ROOT / "docs" / "chart.schema.json").read_text())
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


@pytest.fixture(scope="module")
def kernel():
    with kernels.data_kernel() as kernel:
        kernel.execute("import numpy as np, pandas as pd, matplotlib.pyplot as plt, base64\n"
                       "from IPython.display import *\n"
                       f"PNG = base64.b64decode('{PNG}')\n"
                       "df = pd.DataFrame({'a': [1, 2, 3], 'c': list('xyz')})")
        yield kernel


def size_of(png):
    return struct.unpack(">II", png[16:24])


def only_display(done):
    """The only display of an execution."""
    assert done.status == "ok", done.error
    (display,) = done.displays
    return display.bundle


def metadata(packet):
    return json.loads(packet.text("metadata") or "{}")


# ---- figures ----------------------------------------------------------------------------------

def test_a_figure_comes_after_the_value(kernel):
    done = kernel.execute("print('a')\nplt.plot([1, 2])")
    assert [event[0] for event in done.order] == ["stdout", wire.RESULT, wire.DISPLAY]


def test_each_figure_is_shown_once(kernel):
    done = kernel.execute("for n in range(3):\n    plt.plot([n])\n    plt.show()\n    print(n)")
    assert [event[0] for event in done.order] == [wire.DISPLAY, "stdout"] * 3
    done = kernel.execute("fig, ax = plt.subplots(); ax.plot([1]); plt.close(fig)")
    assert done.displays == []
    assert "image/png" in kernel.execute("fig").result
    done = kernel.execute("plt.figure().subplots(); plt.figure().subplots(); None")
    assert len(done.displays) == 2


def test_a_figure_without_content_has_no_picture(kernel):
    assert set(only_display(kernel.execute("plt.figure();"))) == {"text/plain"}
    assert "image/png" in only_display(kernel.execute("plt.figure().text(0, 0, 'x');"))


@pytest.mark.parametrize(("formats", "mimes"), [
    ("'svg'", {"image/svg+xml"}), ("'jpeg'", {"image/jpeg"}), ("'pdf'", {"application/pdf"}),
    ("'png', 'svg'", {"image/png", "image/svg+xml"})])
def test_figure_formats(kernel, formats, mimes):
    kernel.execute("from matplotlib_inline.backend_inline import set_matplotlib_formats\n"
                   f"set_matplotlib_formats({formats})")
    try:
        found = set(only_display(kernel.execute("plt.plot([1, 2]);")))
    finally:
        kernel.execute("set_matplotlib_formats('png')")
    assert found == mimes | {"text/plain", CHART}


def test_config_of_figures(kernel):
    plain = size_of(only_display(kernel.execute("plt.plot([1]);"))["image/png"])
    done = kernel.execute("%config InlineBackend.figure_format = 'retina'\nplt.plot([1]);")
    big = size_of(only_display(done)["image/png"])
    assert big[0] >= 2 * plain[0] - 4
    assert metadata(done.displays[0])["image/png"]["width"] == big[0] // 2
    done = kernel.execute("%config InlineBackend.figure_format = 'png'\n"
                          "%config InlineBackend.print_figure_kwargs = {'bbox_inches': None}\nplt.plot([1]);")
    assert size_of(only_display(done)["image/png"]) == (640, 480)
    kernel.execute("%config InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight'}")
    assert kernel.execute("%config InlineBackend.figure_format = 'bmp'").status == "error"


def test_close_figures_false_leaves_figures_open(kernel):
    kernel.execute("%config InlineBackend.close_figures = False")
    try:
        only_display(kernel.execute("fig, ax = plt.subplots(); ax.plot([1]);"))
        assert kernel.execute("1").displays == []
        only_display(kernel.execute("ax.plot([2]);"))
    finally:
        kernel.execute("%config InlineBackend.close_figures = True\nplt.close('all')")


def test_a_figure_can_update_a_display(kernel):
    done = kernel.execute("h = display('a', display_id=True)\nfig, ax = plt.subplots(); ax.plot([1])\n"
                          "plt.close(); h.update(fig)")
    kinds = [event[0] for event in done.order]
    assert kinds == [wire.DISPLAY, wire.UPDATE_DISPLAY]


def test_seaborn_and_animation(kernel):
    kernel.execute("import seaborn as sns\nfrom matplotlib.animation import FuncAnimation")
    assert only_display(kernel.execute("sns.pairplot(pd.DataFrame({'a': [1, 2], 'b': [2, 1]}));"))["image/png"]
    done = kernel.execute("fig, ax = plt.subplots(); line, = ax.plot([0, 1])\n"
                          "a = FuncAnimation(fig, lambda i: line.set_ydata([0, i]), frames=2)\nplt.close()\n"
                          "HTML(a.to_jshtml())")
    assert "<script" in done.result["text/html"]


# ---- other libraries --------------------------------------------------------------------------

def test_plotly(kernel):
    kernel.execute("import plotly.express as px, plotly.io as pio")
    shown = [kernel.execute("f = px.line(x=[1, 2], y=[3, 4]); f").result]
    shown += [only_display(kernel.execute(code)) for code in (
        "f.show()", "display(f)", "f.show(renderer='notebook')", "f.show(renderer='browser')")]
    for bundle in shown:
        assert json.loads(bundle[PLOTLY])["data"][0]["type"] == "scatter"
        assert "plotly" in bundle["text/html"] and len(bundle["text/html"]) < 50_000
    assert kernel.execute("pio.renderers.default").text == "'plotly_mimetype'"
    assert kernel.execute("import plotly.offline\nplotly.offline.init_notebook_mode()").displays == []


def test_altair_and_bokeh(kernel):
    done = kernel.execute("import altair as alt\nalt.Chart(df).mark_bar().encode(x='c', y='a')")
    assert "vegaEmbed" in done.result["text/html"]
    done = kernel.execute("from bokeh.plotting import figure, show\nfrom bokeh.io import output_notebook\n"
                          "output_notebook()\np = figure(); p.line([1, 2], [3, 4]); show(p)")
    assert only_display(done)["text/html"].lstrip().startswith("<!DOCTYPE html>")


def test_sympy(kernel):
    done = kernel.execute("import sympy; x = sympy.Symbol('x'); sympy.Integral(x**2, x)")
    assert done.result["text/latex"].startswith("$\\displaystyle \\int")
    with kernels.data_kernel() as other:
        done = other.execute("import sympy; sympy.init_printing(); sympy.Symbol('x')**2")
        assert other.execute("[sympy.Symbol('x')**2]").result["text/latex"].count("x^{2}") == 1
        assert set(done.result) == {"text/plain", "text/latex", "image/png"}


def test_tables_of_other_libraries(kernel):
    kernel.execute("import polars as pl, pyarrow as pa")
    for code in ("pl.DataFrame({'a': [1, 2], 'b': ['x', None]})", "pa.table({'a': [1, 2], 'b': ['x', None]})"):
        table = json.loads(kernel.execute(code).result[TABLE])
        assert [column["name"] for column in table["columns"]] == ["a", "b"]
        assert (table["data"], table["rows"], table["index"]) == ([[1, "x"], [2, None]], 2, None)
    table = json.loads(kernel.execute("pl.DataFrame(np.zeros((1000, 2)))").result[TABLE])
    assert (table["rows"], table["shown"]) == (1000, 200)


def test_table_with_an_index_of_several_levels(kernel):
    table = json.loads(kernel.execute("df.set_index(['c', 'a'])['a':].assign(n=1)").result[TABLE])
    assert table["index"]["name"] == "c, a" and table["index"]["values"][0] == ["x", 1]


def test_pictures_of_every_mode(kernel):
    code = ("from PIL import Image as P\n"
            "for mode in '1 L P RGB RGBA CMYK YCbCr LAB HSV I F LA PA RGBX RGBa La I;16'.split():\n"
            "    display(P.new(mode, (4, 3)))")
    done = kernel.execute(code)
    assert [size_of(packet.bundle["image/png"]) for packet in done.displays] == [(4, 3)] * 17
    assert done.notes == []
    done = kernel.execute("P.new('L', (6000, 6000))")
    width, height = size_of(done.result["image/png"])
    assert width == height and width * height <= 20_000_000
    assert any("36 megapixels" in note for note in done.notes)


def test_progress_bars_are_text(kernel):
    done = kernel.execute("from tqdm.notebook import tqdm, trange\nfor i in tqdm(range(3)): pass\n"
                          "import tqdm.auto\nfor i in tqdm.auto.tqdm(range(3)): pass")
    assert done.status == "ok" and done.stderr.count("100%") == 2
    done = kernel.execute("import ipywidgets")
    assert done.error.text("name") == "ModuleNotFoundError"


# ---- IPython.display --------------------------------------------------------------------------

@pytest.mark.parametrize(("code", "mime", "start"), [
    ("HTML('<b>')", "text/html", "<b>"),
    ("Markdown('# x')", "text/markdown", "# x"),
    ("Latex('$x$')", "text/latex", "$x$"),
    ("Math('x')", "text/latex", "$\\displaystyle x$"),
    ("SVG('<?xml version=\"1.0\"?><svg/>')", "image/svg+xml", "<svg/>"),
    ("JSON({'a': [1]})", "application/json", '{"a": [1]}'),
    ("GeoJSON({'type': 'Point'})", "application/geo+json", '{"type": "Point"}'),
    ("Javascript('x()', lib='l.js')", "application/javascript", "new Promise"),
    ("Code('x = 1', language='python')", "text/html", "<"),
    ("IFrame('http://x', 1, 2, a=3)", "text/html", '<iframe width="1"'),
    ("YouTubeVideo('id')", "text/html", "<iframe"),
    ("Video(url='http://x/v.mp4')", "text/html", '<video src="http://x/v.mp4"'),
    ("Video(b'x', embed=True, mimetype='video/mp4')", "text/html", "<video controls>"),
    ("Image(url='http://x/a.png', width=10)", "text/html", '<img src="http://x/a.png"'),
    ("Audio([0, 1, 0], rate=8000)", "audio/wav", "RIFF"),
    ("Audio(url='http://x/a.mp3')", "text/html", "<audio"),
    ("FileLink('no.txt')", "text/html", "Path (<tt>no.txt"),
    ("ProgressBar(3)", "text/html", "<progress"),
])
def test_display_classes(kernel, code, mime, start):
    done = kernel.execute(code)
    assert done.status == "ok", done.error.text("traceback")
    found = done.result[mime]
    found = found[:400].decode("latin-1") if isinstance(found, bytes) else found
    assert found.startswith(start)
    name = code.partition("(")[0]
    if name in ("HTML", "Image", "Video", "JSON"):
        assert done.text == f"<IPython.core.display.{name} object>"


def test_images_from_bytes_and_files(kernel):
    done = kernel.execute("Image(PNG, width=100)")
    assert metadata(done.packets(wire.RESULT)[0]) == {
        "image/png": {"width": 100}}
    kernel.execute("import tempfile, os; path = os.path.join(tempfile.mkdtemp(), 'i.png')\n"
                   "_ = open(path, 'wb').write(PNG)")
    assert kernel.execute("Image(path)").result["image/png"] == base64.b64decode(PNG)
    for code in ("Image('no.png')", "Image()", "Image(PNG, format='tiff')", "JSON(5)",
                 "Audio([1])", "Video('no.mp4')", "display('x', raw=True)"):
        assert kernel.execute(code).status == "error", code


def test_display_of_one_form(kernel):
    done = kernel.execute("display_html(HTML('<b>')); display_png(PNG, raw=True); display_json({'a': 1}, raw=True)")
    assert [set(packet.bundle) for packet in done.displays] == [
        {"text/html"}, {"image/png"}, {"application/json"}]
    done = kernel.execute("display(HTML('x'), include=['text/html']); display(HTML('x'), exclude=['text/html'])")
    assert [set(packet.bundle) for packet in done.displays] == [{"text/html"}, {"text/plain"}]


def test_progress_bar_moves(kernel):
    done = kernel.execute("for i in ProgressBar(2): pass")
    assert [event[0] for event in done.order] == [wire.DISPLAY] + [wire.UPDATE_DISPLAY] * 3


def test_imports_of_ipython_modules(kernel):
    for line in ("from IPython import get_ipython, display", "from IPython.core.display_functions import display",
                 "from IPython.core.interactiveshell import InteractiveShell", "from IPython.display import display",
                 "from IPython.core.magic import register_line_magic, Magics, magics_class, line_magic",
                 "from IPython.core.pylabtools import figsize, print_figure",
                 "from IPython.lib.display import Audio, Code", "from IPython.lib.pretty import pprint",
                 "from IPython.core.getipython import get_ipython",
                 "import matplotlib; matplotlib.use('module://matplotlib_inline.backend_inline')",
                 "import matplotlib; matplotlib.use('inline')", "matplotlib.use('Agg')"):
        done = kernel.execute(line)
        assert done.status == "ok", (line, done.error.text("traceback"))
    assert only_display(kernel.execute("plt.plot([1]);"))["image/png"]


def test_magics_that_cells_define(kernel):
    kernel.execute("@register_line_magic\ndef shout(line): return line.upper()\n"
                   "@magics_class\nclass Mine(Magics):\n    @line_magic\n    def whisper(self, line): return line.lower()\n"
                   "get_ipython().register_magics(Mine)")
    assert kernel.execute("%shout abc").text == "'ABC'"
    assert kernel.execute("%whisper ABC").text == "'abc'"


def test_ast_node_interactivity(kernel):
    cell = "1\nx = 2\nx + 1"
    shown = {"last_expr": ["3"], "all": ["1", "3"], "none": [], "last": ["3"]}
    try:
        for mode, values in shown.items():
            kernel.execute(f"InteractiveShell.ast_node_interactivity = '{mode}'")
            done = kernel.execute(cell)
            assert [packet.bundle["text/plain"] for packet in done.packets(wire.RESULT)] == values
            assert kernel.execute("x;").packets(wire.RESULT) == []
        kernel.execute("%config InteractiveShell.ast_node_interactivity = 'last_expr_or_assign'")
        assert kernel.execute("x = 5").text == "5"
    finally:
        kernel.execute("get_ipython().ast_node_interactivity = 'last_expr'")
    assert kernel.execute("1\n2").text == "2"


# ---- hooks ------------------------------------------------------------------------------------

def value_with(kernel, body):
    return kernel.execute(f"class A:\n    def __repr__(self): return 'A!'\n    {body}\nA()")


@pytest.mark.parametrize(("body", "mimes"), [
    ("def _repr_mimebundle_(self, include, exclude): return {'text/html': 'H'}, {'text/html': {'m': 1}}", {"text/html"}),
    ("def _repr_mimebundle_(self): return {'text/html': 'H'}", {"text/html"}),
    ("def _repr_mimebundle_(self, **_): return {5: 'x', 'text/html': 'H'}", {"text/html", "5"}),
    ("def _repr_mimebundle_(self, **_): return 5", set()),
    ("def _repr_html_(self): return 'x', {'isolated': True}", {"text/html"}),
    ("def _repr_html_(self): return None", set()),
    ("_repr_html_ = 'text'", set()),
    ("def _repr_html_(self): raise NotImplementedError", set()),
    ("def __getattr__(self, name): raise ValueError(name)", set()),
    ("def __getattr__(self, name): return lambda *a, **k: 'x'", set()),
    ("def _repr_json_(self): return {'a': float('nan'), (1, 2): {3}}", {"application/json"}),
])
def test_hooks(kernel, body, mimes):
    done = value_with(kernel, body)
    assert done.status == "ok" and done.text == "A!"
    assert set(done.result) == mimes | {"text/plain"}
    assert done.notes == []


@pytest.mark.parametrize(("body", "note"), [
    ("def _repr_html_(self): return 1 / 0", "_repr_html_: ZeroDivisionError: division by zero (<cell"),
    ("def _repr_html_(self): return self._repr_html_()", "_repr_html_: RecursionError"),
    ("def _repr_html_(self): return 5", "_repr_html_: TypeError"),
    ("def _repr_html_(self): raise SystemExit", "_repr_html_: SystemExit"),
    ("def _repr_html_(self): return 'x' * 40_000_000", "text/html of 40000000 characters"),
    ("def _repr_png_(self): return 'no base64!'", "_repr_png_: Error"),
    ("def _ipython_display_(self): return 1 / 0", "_ipython_display_: ZeroDivisionError"),
    ("def _repr_json_(self): a = []; a.append(a); a.append(a); return a", "_repr_json_: ValueError"),
])
def test_hostile_hooks_leave_the_text(kernel, body, note):
    done = value_with(kernel, body)
    assert done.status == "ok" and set(done.result) == {"text/plain"} and done.text == "A!"
    assert len(done.notes) == 1 and note in done.notes[0]


def test_a_value_that_displays_itself(kernel):
    done = value_with(kernel, "def _ipython_display_(self): display('shown')")
    assert done.packets(wire.RESULT) == [] and only_display(done)["text/plain"] == "'shown'"
    assert kernel.execute("[Out[max(Out)]]").text == "[A!]"


# ---- charts as data ---------------------------------------------------------------------------

FIGURES = {
    "line": "plt.plot([1, 2], [3, 4]); plt.xlabel('Time (s)'); plt.ylabel('Length [m]')",
    "line dates": "plt.plot(pd.date_range('2024-01-01', periods=3), [1, 2, 3])",
    "line of periods": "pd.Series([1, 2], index=pd.date_range('2024-01-01', periods=2)).plot()",
    "line categories": "plt.plot(['a', 'b'], [1, 2])",
    "line log": "plt.loglog([1, 10], [1, 2])",
    "line nan": "plt.plot([1, 2], [float('nan'), float('inf')])",
    "line reference": "plt.plot([1, 2, 3], [1, 2, 1]); plt.axhline(2)",
    "line band": "plt.plot([1, 2, 3], [1, 2, 1]); plt.fill_between([1, 2, 3], 0, 1)",
    "scatter": "plt.scatter([1, 2], [3, 4], label='s')",
    "scatter dates": "plt.scatter(pd.date_range('2024-01-01', periods=2), [1, 2])",
    "bar": "plt.bar(['a', 'b'], [3, 4]); plt.xlabel('X'); plt.ylabel('Y (kg)')",
    "bar equal": "plt.bar(['a', 'b'], [3, 3])",
    "bar horizontal": "plt.barh(['a', 'b'], [3, 4]); plt.xlabel('X')",
    "bar grouped": "pd.DataFrame({'m': [1, 2], 'w': [3, 4]}, index=['a', 'b']).plot.bar()",
    "bar stacked": "pd.DataFrame({'m': [1, 2], 'w': [3, 4]}, index=['a', 'b']).plot.bar(stacked=True)",
    "bar errors": "plt.bar(['a', 'b'], [3, 4], yerr=[1, 1])",
    "bar hist": "plt.hist([1, 2, 2, 4], bins=2)",
    "pie": "plt.pie([90, 10], labels=['x', 'y'], autopct='%d')",
    "box_and_whisker": "plt.boxplot([[1, 2, 3, 4, 5, 20]], patch_artist=True, tick_labels=['a'])",
    "box_and_whisker flat": "plt.boxplot([[1, 2, 3, 4, 5, 20]], patch_artist=True, orientation='horizontal')",
    "box_and_whisker seaborn": "import seaborn; seaborn.boxplot(pd.DataFrame({'a': [1, 2, 3, 4, 9]}))",
    "superchart": "f, a = plt.subplots(1, 2); a[0].plot([1]); f.suptitle('both')",
    "superchart twin": "f, a = plt.subplots(); a.plot([1, 2]); a.twinx().bar([1, 2], [5, 6])",
    "superchart image": "plt.imshow(np.eye(3)); plt.colorbar()",
    "unknown": "plt.figure().add_subplot(projection='3d').plot([1], [2], [3])",
    "unknown graph": "import networkx; networkx.draw(networkx.path_graph(3))",
    "unknown mixed": "plt.bar(['a'], [1]); plt.plot(['a', 'b', 'c'], [1, 2, 3])",
}


def chart(kernel, code):
    return json.loads(only_display(kernel.execute(code + "\nNone"))[CHART])


@pytest.mark.parametrize("name", FIGURES)
def test_charts_follow_the_schema(kernel, name):
    found = chart(kernel, FIGURES[name])
    assert found["type"] == name.split()[0]
    VALIDATOR.validate(found)


def test_content_of_charts(kernel):
    def elements(name):
        return chart(kernel, FIGURES[name])["elements"]

    assert elements("line dates")[0]["points"][0] == ["2024-01-01T00:00:00", 1]
    assert elements("line of periods")[0]["points"][0][0] == "2024-01-01T00:00:00"
    assert elements("line categories")[0]["points"] == [["a", 1], ["b", 2]]
    assert elements("line nan")[0]["points"] == [[1, None], [2, None]]
    assert len(elements("line reference")) == 1
    assert [(e["label"], e["value"]) for e in elements("bar equal")] == [("a", 3), ("b", 3)]
    assert [(e["label"], e["group"]) for e in elements("bar grouped")] == [
        ("a", "m"), ("b", "m"), ("a", "w"), ("b", "w")]
    assert [(e["label"], e["value"]) for e in elements("bar hist")] == [("1.75", 3), ("3.25", 1)]
    (box,) = elements("box_and_whisker")
    (flat,) = elements("box_and_whisker flat")
    assert box == {"label": "a", "min": 1, "first_quartile": 2.25, "median": 3.5, "third_quartile": 4.75,
                   "max": 5, "outliers": [20]}
    assert {**flat, "label": "a"} == box
    assert chart(kernel, FIGURES["bar horizontal"])["y_label"] == "X"


def test_charts_are_limited_in_size(kernel):
    found = chart(kernel, "plt.plot(np.arange(100_001))")
    (series,) = found["elements"]
    VALIDATOR.validate(found)
    assert series["points_total"] == 100_001 and 9_000 <= len(series["points"]) <= 10_000
    assert series["points"][1] == [11, 11]
    found = chart(kernel, "plt.bar(range(1500), range(1500))")
    VALIDATOR.validate(found)
    assert (len(found["elements"]), found["elements_total"]) == (1000, 1500)
    found = chart(kernel, "for n in range(20): plt.plot(np.zeros(9_000))")
    assert sum(len(series["points"]) for series in found["elements"]) <= 41_000


# ---- reckon run -o ----------------------------------------------------------------------------

DISPLAYS = """
from IPython.display import *
display(Markdown("# x"), JSON({"b": [1, None], "a": "ü"}), Audio([0, 1, 0], rate=8000), HTML("<b>ü</b>"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'/>"))
display({"application/pdf": b"%PDF-1.4"}, raw=True)
display({"application/vnd.vegalite.v5+json": {"mark": "bar"}}, raw=True)
display({"text/html": "<!DOCTYPE html><p>x", "text/plain": "p"}, raw=True)
display("text")
"""


def test_displays_are_saved_in_their_best_form(reckon):
    done = reckon("run", "-o", "out", "-c", DISPLAYS).expect(0)
    saved = {path.name: path.read_bytes() for path in (reckon.cwd / "out").iterdir()}
    assert saved.pop("display-1-3.wav").startswith(b"RIFF")
    assert json.loads(saved.pop("display-1-2.json")) == {"b": [1, None], "a": "ü"}
    assert saved == {
        "display-1-1.md": b"# x",
        "display-1-4.html": '<!doctype html>\n<meta charset="utf-8">\n<b>ü</b>'.encode(),
        "figure-1-1.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "figure-1-2.pdf": b"%PDF-1.4",
        "display-1-5.vl.json": b'{"mark":"bar"}',
        "display-1-6.html": b"<!DOCTYPE html><p>x",
    }
    assert "display (WAV, " in done.err and "saved as out/display-1-3.wav" in done.err


def test_displays_that_can_be_saved_are_reported(reckon):
    done = reckon("run", "-c", DISPLAYS).expect(0)
    reported = [line.split(",")[0] for line in done.err.splitlines()
                if "use -o DIR" in line or "saved as reckon-figures/" in line]
    assert reported == ["display (WAV", "display (HTML", "figure (SVG", "figure (PDF"]
    assert sorted(path.name for path in (reckon.cwd / "reckon-figures").iterdir()) == [
        "figure-1-1.svg", "figure-1-2.pdf"]


def test_a_page_of_plotly_is_saved(reckon):
    reckon("run", "-t", "data", "-o", "out", "-c", "import plotly.express as px\n"
           "px.line(x=[1, 2], y=[3, 4]).show()\n1").expect(0)
    assert "plotly" in (reckon.cwd / "out/display-1-1.html").read_text()


def test_a_table_is_printed_and_not_saved(reckon):
    done = reckon("run", "-t", "data", "-o", "out", "-c", "import pandas as pd\n"
                  "pd.DataFrame({'a': [1]})").expect(0)
    assert "a" in done.out and "saved" not in done.err
    assert not list((reckon.cwd / "out").iterdir())
