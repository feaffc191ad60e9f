"""DataFrames, figures, charts. Needs a virtual environment with pandas, matplotlib and Pillow."""

import json
import pathlib
import struct
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import kernels  # noqa: E402
import wire  # noqa: E402

pytestmark = pytest.mark.skipif(kernels.TREE is None, reason="RECKON_TEST_TEMPLATE_TREE is not set")
CHART = "application/vnd.reckon.chart+json"


@pytest.fixture(scope="module")
def kernel():
    with kernels.data_kernel() as kernel:
        kernel.execute("import numpy as np, pandas as pd, matplotlib.pyplot as plt")
        yield kernel


def chart(kernel, code):
    (display,) = kernel.execute(code + ";").displays
    return json.loads(display.bundle[CHART])


def test_the_warm_up_leaves_no_figures_and_threads(kernel):
    assert kernel.execute("plt.get_fignums()").text == "[]"
    assert kernel.execute("import os; len(os.listdir('/proc/self/task'))").text == "1"


def test_table_of_a_frame(kernel):
    bundle = kernel.execute("df = pd.DataFrame({'a': [1, 2], 'b': [1.5, None], 's': ['x', None],\n"
                            "  't': pd.to_datetime(['2020-01-02', None]), 'i': [float('inf'), 0]})\ndf").result
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.reckon.table+json"}
    table = wire.table(bundle)
    assert [c["name"] for c in table["columns"]] == ["a", "b", "s", "t", "i"]
    assert table["data"] == [[1, 1.5, "x", "2020-01-02T00:00:00", None], [2, None, None, None, 0.0]]
    assert (table["rows"], table["shown"]) == (2, 2)
    assert table["index"]["values"] == [0, 1]


def test_table_is_bounded(kernel):
    table = wire.table(kernel.execute("pd.DataFrame(np.zeros((10_000, 300)))").result)
    assert (table["rows"], table["shown"], len(table["data"])) == (10_000, 200, 200)
    assert (len(table["columns"]), table["columns_total"]) == (200, 300)


def test_table_of_a_series(kernel):
    table = wire.table(kernel.execute("pd.Series([1, 2, 3], name='n', index=list('abc'))").result)
    assert table["columns"][0]["name"] == "n"
    assert table["data"] == [[1], [2], [3]]
    assert table["index"]["values"] == ["a", "b", "c"]


def test_table_survives_odd_columns(kernel):
    table = wire.table(kernel.execute("pd.DataFrame([[1, {2}]], columns=[('a', 1), 5])").result)
    assert table["data"] == [[1, "{2}"]]


@pytest.mark.parametrize("code, value", [
    ("[1, 2.5, 'x', None, True, (1, 2)]", [1, 2.5, "x", None, True, [1, 2]]),
    ("{'a': {3: float('inf')}, None: [], True: 0}", {"a": {"3": None}, "null": [], "true": 0}),
    ("{'n': np.arange(4).reshape(2, 2), 'f': np.float64(1.5)}", {"n": [[0, 1], [2, 3]], "f": 1.5}),
    ("import datetime; [datetime.date(2024, 1, 2)]", ["2024-01-02"]),
    ("list(range(9999))", list(range(9999))),  # 10,000 values, the list itself counted
    ("list(range(10_000))", None),
    ("x = []\nfor _ in range(50): x = [x]\nx", ...),  # 50 levels below the first
    ("x = []\nfor _ in range(51): x = [x]\nx", None),
    ("['x' * ((256 << 10) - 4)]", ...),  # 256 KiB, brackets and quotes counted
    ("['x' * ((256 << 10) - 3)]", None),
    ("x = [1]; x.append(x); x", None),
    ("[{1, 2}]", None),
    ("{(1, 2): 3}", None),
    ("(1, 2)", None),
    ("class L(list): pass\nL([1])", None),
])
def test_a_list_or_dict_as_data(kernel, code, value):
    bundle = kernel.execute(code).result
    assert ("application/vnd.reckon.value+json" in bundle) == (value is not None)
    if value not in (None, ...):
        assert json.loads(bundle["application/vnd.reckon.value+json"]) == value


def test_figure_left_open_is_displayed_once_and_closed(kernel):
    done = kernel.execute("plt.plot([1, 2]); print('x')")
    (display,) = done.displays
    png = display.bundle["image/png"]
    size = json.loads(display.text("metadata"))["image/png"]
    assert png.startswith(b"\x89PNG")
    assert (size["width"], size["height"]) == struct.unpack(">II", png[16:24])
    assert display.bundle["text/plain"] == "<Figure size 640x480 with 1 Axes>"
    assert kernel.execute("plt.get_fignums()").text == "[]"
    assert kernel.execute("1").displays == []


def test_show_displays_in_its_place(kernel):
    done = kernel.execute("plt.plot([1])\nplt.show()\nprint('after')")
    assert [event[0] for event in done.order] == [wire.DISPLAY, "stdout"]
    assert done.stderr == ""


def test_figure_as_the_value_is_shown_once(kernel):
    done = kernel.execute("fig, ax = plt.subplots()\nfig")
    assert done.displays == []
    assert done.result["image/png"].startswith(b"\x89PNG")
    assert kernel.execute("plt.get_fignums()").text == "[]"


def test_figures_of_a_failing_cell_are_displayed(kernel):
    done = kernel.execute("plt.plot([1])\n1/0")
    assert done.status == "error" and len(done.displays) == 1


def test_display_bomb_is_capped(kernel):
    done = kernel.execute("plt.rcParams['figure.max_open_warning'] = 0\nfor i in range(70): plt.figure(figsize=(1, 1))")
    assert len(done.displays) == 64
    assert any(note.startswith("display_limit: 70 figures") for note in done.notes)


def test_giant_figure_is_scaled(kernel):
    done = kernel.execute("_ = plt.figure(figsize=(300, 300)).subplots()")
    width, height = struct.unpack(">II", done.displays[0].bundle["image/png"][16:24])
    assert width * height <= 20_500_000
    assert any("megapixels" in note for note in done.notes)


def test_line_chart(kernel):
    found = chart(kernel, "plt.plot([1, 2], [3, 4], label='up'); plt.xlabel('Time (s)'); plt.title('T')")
    assert found["type"] == "line" and found["title"] == "T"
    assert (found["x_label"], found["x_unit"], found["y_label"]) == ("Time (s)", "s", None)
    assert found["elements"] == [{"label": "up", "points": [[1, 3], [2, 4]]}]
    assert found["x_scale"] == "linear"


def test_scatter_bar_pie_and_box_charts(kernel):
    found = chart(kernel, "plt.scatter([1, 2], [3, 4])")
    assert (found["type"], found["elements"][0]["points"]) == ("scatter", [[1, 3], [2, 4]])
    found = chart(kernel, "plt.bar(['a', 'b'], [3, 4])")
    assert [(e["label"], e["value"]) for e in found["elements"]] == [("a", 3), ("b", 4)]
    found = chart(kernel, "plt.barh(['a', 'b'], [3, 4])")
    assert [(e["label"], e["value"]) for e in found["elements"]] == [("a", 3), ("b", 4)]
    found = chart(kernel, "plt.pie([90, 10], labels=['x', 'y'])")
    assert [(e["label"], e["angle"]) for e in found["elements"]] == [("x", 324), ("y", 36)]
    found = chart(kernel, "plt.boxplot([[1, 2, 3, 4, 5]], patch_artist=True)")
    (box,) = found["elements"]
    assert (box["min"], box["first_quartile"], box["median"], box["third_quartile"], box["max"]) == (1, 2, 3, 4, 5)


def test_chart_with_dates_and_several_axes(kernel):
    found = chart(kernel, "plt.plot(pd.to_datetime(['2020-01-01', '2020-01-02']), [1, 2])")
    assert found["x_scale"] == "datetime"
    assert found["elements"][0]["points"][0][0].startswith("2020-01-01T00:00:00")
    found = chart(kernel, "f, a = plt.subplots(1, 2); a[0].plot([1]); a[1].bar([1], [2]); f.suptitle('both')")
    assert (found["type"], found["title"]) == ("superchart", "both")
    assert [c["type"] for c in found["elements"]] == ["line", "bar"]


def test_a_chart_with_too_many_points_has_every_second(kernel):
    (series,) = chart(kernel, "plt.plot(np.zeros(10_001))")["elements"]
    assert (len(series["points"]), series["points_total"]) == (5_001, 10_001)


def test_picture(kernel):
    bundle = kernel.execute("from PIL import Image\nImage.new('CMYK', (3, 2))").result
    assert struct.unpack(">II", bundle["image/png"][16:24]) == (3, 2)


def test_forked_children_reseed_numpy(kernel):
    kernel.execute("np.random.seed(1); first = np.random.rand()")
    kernel.send(wire.RESUME)
    assert kernel.execute("second = np.random.rand(); np.random.seed(1); np.random.rand() == first, second == first").text == "(True, False)"


def test_variables_of_frames(kernel):
    kernel.execute("frame = pd.DataFrame({'a': [1, 2]}); arr = np.zeros((2, 3))")
    reply = kernel.ask(wire.VARIABLES)
    found = dict(zip(reply.all("var_name"), zip(reply.all("var_type"), reply.all("var_shape"), reply.all("var_size"))))
    assert found["frame"][:2] == ("DataFrame", "(2, 1)")
    assert found["arr"] == ("ndarray", "(2, 3)", "48")


def test_matplotlib_imported_by_a_cell():
    with kernels.kernel("--template", kernels.TREE, "python") as late:
        done = late.execute("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nprint('x')")
        assert [event[0] for event in done.order] == [wire.DISPLAY, "stdout"]
