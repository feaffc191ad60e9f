"""The `text` of an execution for a model: its contents, how to read the rest, and repeats."""
import re

import pytest
from reckon_cli import templates_dir

pytestmark = pytest.mark.one_user  # the text of a record is the same for each user

BUDGET = 16 * 1024


@pytest.fixture
def run(reckon):
    """The records of cells run in one session, each valid and within its budget."""
    def run(*cells, args=(), budget=BUDGET):
        words = [word for cell in cells for word in ("-c", cell)]
        records = reckon.records("--keep-going", *args, *words)
        assert len(records) == len(cells)
        for record in records:
            assert len(record["text"].encode()) <= budget
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", record["text"])
        return records
    return run


def left_out(record, part):
    (entry,) = [entry for entry in record["text_left_out"] if entry["part"] == part]
    return entry


# ---- streams ----------------------------------------------------------------------------------

def test_short_output_is_complete(run):
    (record,) = run("print('a'); print('b'); 7")
    assert record["text"] == "a\nb\n7"
    assert record["text_left_out"] == []
    assert record["repeat"] is None


def test_a_repeated_line_is_shown_once_with_its_count(run):
    (record,) = run("for i in range(4214): print('waiting')\nprint('done')")
    assert record["text"] == "waiting\n… the line above 4,213 more times\ndone"
    assert record["text_left_out"] == []


def test_a_log_of_a_loop_is_folded_if_the_text_is_limited(run):
    code = "for i in range(100): print(f'epoch {i}: loss {1 / (i + 1):.4f}')"
    (whole,) = run(code)
    assert whole["text"].count("\n") == 99
    (short,) = run(code, args=["--max-text", "1K"], budget=1024)
    assert "… lines 4 to 97 are like these, with other numbers …" in short["text"]
    assert short["text"].startswith("epoch 0: loss 1.0000\nepoch 1:")
    assert left_out(short, "stdout")["handle"] in short["text"]


def test_a_flood_has_head_tail_and_the_command_for_the_middle(run, reckon):
    code = "import random; random.seed(1)\n" \
           "for i in range(5000): print(i, ''.join(random.choices('abcdefgh ', k=random.randrange(60))))"
    (record,) = run(code)
    entry = left_out(record, "stdout")
    assert entry["lines_total"] == 5000
    assert entry["bytes_total"] == len(record["stdout"].encode())
    assert entry["bytes_shown"] <= BUDGET
    mark = re.search(r"^… ([\d,]+) lines \(([\d,]+) bytes\) left out; "
                     r"(reckon output (out_\w+) --lines (\d+):(\d+))$", record["text"], re.M)
    lines, size, command, handle, first, last = mark.groups()
    assert handle == entry["handle"]
    head, tail = record["text"].split(mark[0])
    whole = record["stdout"].splitlines(keepends=True)
    assert head == "".join(whole[: int(first) - 1])
    assert tail.strip("\n") == "".join(whole[int(last):]).strip("\n")
    middle = whole[int(first) - 1 : int(last)]
    assert int(lines.replace(",", "")) == len(middle)
    assert int(size.replace(",", "")) == len("".join(middle).encode())
    assert reckon(*command.split()[1:], "--all").expect(0).out == "".join(middle)


def test_a_stream_past_its_limit_is_counted_as_a_whole(run, reckon):
    (record,) = run("for i in range(20000): print('row', i, 'xyz'[i * 7919 % 3] * (i * 31 % 7))",
                    args=["--max-output", "64K"])
    entry = left_out(record, "stdout")
    assert entry["lines_total"] == 20000
    assert entry["bytes_total"] == record["truncated"]["stdout"]["bytes_total"]
    assert entry["handle"] == record["truncated"]["stdout"]["handle"]
    mark = re.search(r"^… [\d,]+ lines \([\d,]+ bytes\) left out; reckon output \w+ "
                     r"--lines (\d+):(\d+)$", record["text"], re.M)
    whole = reckon("output", entry["handle"], "--all").expect(0).out.splitlines()
    assert len(whole) == 20000
    head, tail = record["text"].split(mark[0])
    assert head.splitlines()[-1] == whole[int(mark[1]) - 2]
    assert tail.strip("\n").splitlines()[0] == whole[int(mark[2])]


@pytest.mark.parametrize("code, shown", [
    # as tqdm writes to a terminal, and with each state in a line of its own
    ("for i in range(11): print(f'\\r{i * 10:3d}%|{\"#\" * i:10}| {i}/10 [00:01<00:02]', end='')",
     "100%|##########| 10/10 [00:01<00:02]"),
    ("for i in range(11): print(f'{i * 10:3d}%|{\"#\" * i:10}| {i}/10 [00:01<00:02]')",
     "… 10 earlier states of the bar below\n100%|##########| 10/10 [00:01<00:02]\n"
     "[all 397 bytes: reckon output out_"),
    ("for c in '|/-': print(c + '\\b', end='')\nprint('done')", "done"),
])
def test_a_progress_bar_is_shown_in_its_last_state(run, code, shown):
    (record,) = run(code)
    assert record["text"].startswith(shown)


def test_blobs_and_long_lines_are_shortened(run, reckon):
    (record,) = run("import base64, random; random.seed(2)\n"
                    "print('png', base64.b64encode(random.randbytes(9000)).decode())\n"
                    "print('é' * 5000)")
    first, second, _ = record["text"].split("\n")
    assert first == "png [base64, 12,000 bytes]"
    assert re.fullmatch("é{1200} … 3,100 characters … é{700}", second)
    handle = left_out(record, "stdout")["handle"]
    assert reckon("output", handle, "--all").expect(0).out == record["stdout"]


def test_a_flood_cannot_push_the_error_out(run):
    (record,) = run("for i in range(100000): print('x' * (i % 97))\n1/0", args=["--max-text", "1K"],
                    budget=1024)
    assert "ZeroDivisionError: division by zero" in record["text"]
    assert "1/0" in record["text"]


def test_a_long_error_keeps_both_ends(run):
    (record,) = run("raise ValueError('\\n'.join(f'{i} ' + 'abcdefg'[i % 7] * (i % 50) "
                    "for i in range(3000)))")
    assert "ValueError: 0" in record["text"]
    assert "\n2999 " in record["text"]
    assert left_out(record, "error")["handle"] in record["text"]


@pytest.mark.parametrize("value", ["1023", "2M", "x"])
def test_max_text_has_limits(reckon, value):
    assert "--max-text" in reckon("run", "--max-text", value, "-c", "1").expect(2).err


def test_combining_marks_stay_with_their_letters(run):
    (record,) = run("print('e\\u0301' * 4000)", args=["--max-text", "1K"], budget=1024)
    shown = re.sub(r"… .* …|\[all.*\]|… .*", "", record["text"])
    assert re.fullmatch("(e\u0301|\\s)+", shown)


# ---- results ----------------------------------------------------------------------------------

def test_a_large_list_is_summarized_and_stored(run, reckon):
    (record,) = run("list(range(3000))")
    (result,) = record["results"]
    assert record["text"].startswith("list: 3,000 items, of int (the first 1,000)\n"
                                     "first: 0, 1, 2, 3, 4, 5, 6, 7\nlast: 2997, 2998, 2999\n")
    assert result["data"]["text/plain"].startswith("[0,\n 1,\n")
    entry = left_out(record, "result")
    assert entry["index"] == 0
    assert reckon("output", entry["handle"], "--all").expect(0).out == result["data"]["text/plain"]


def test_a_short_value_has_no_summary(run):
    (record,) = run("{'a': [1, 2, 3]}")
    assert "text/vnd.reckon.summary" not in record["results"][0]["data"]


def test_hostile_values_have_a_text(run):
    records = run(
        "class Bad:\n    def __repr__(self): raise ValueError('no')\n[Bad()] * 900",
        "class List(list):\n    def __len__(self): raise ValueError('no')\nList(range(2000))",
        "d = {}\nd['self'] = d\nd.update((i, 'x' * 50) for i in range(500))\nd",
        "class Meta(type):\n    @property\n    def __module__(self): raise SystemExit(3)\n"
        "class Odd(metaclass=Meta):\n    shape = dtype = 'x' * 5000\n"
        "    def __repr__(self): return 'odd ' * 900\nOdd()",
        "['\\x1b[31m\\ud800' * 400] * 20")
    for record in records:
        assert record["text"]
        assert "display_failed" not in [note["code"] for note in record["diagnostics"]]
    # Values whose methods raise may fail the cell; values that are merely odd are shown.
    assert [record["status"] for record in records[2:3] + records[-1:]] == ["ok", "ok"]


TABLE = """
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
frame = pd.DataFrame({'region': rng.choice(['north', 'south'], 5000),
                      'amount': rng.normal(100, 20, 5000), 'when': pd.date_range('2024', periods=5000)})
frame.loc[3, 'amount'] = None
"""


@pytest.fixture
def data(run):
    if not (templates_dir() / "data").exists():
        pytest.skip("the template data is not built")
    return lambda *cells, **options: run(*cells, args=["-t", "data", *options.pop("args", ())],
                                         **options)


def test_a_table_is_summarized_by_columns_and_rows(data):
    (record,) = data(TABLE + "frame")
    text = record["text"]
    assert text.startswith("DataFrame: 5,000 rows x 3 columns, ")
    assert re.search(r"^  amount: float64; 1 missing; min -?[\d.]+, mean [\d.]+, max [\d.]+$", text, re.M)
    assert re.search(r"^  region: \w+; 2 distinct, top '(north|south)' x 2,\d+", text, re.M)
    assert re.search(r"^  when: datetime64\[\w+\]; 2024-01-01 00:00:00 to ", text, re.M)
    assert re.search(r"^  4999 ", text, re.M)
    (result,) = record["results"]
    assert result["data"]["text/plain"].endswith("[5000 rows x 3 columns]")
    assert len(result["data"]["text/vnd.reckon.summary"].encode()) <= 4096


def test_arrays_series_and_wide_tables(data):
    records = data(TABLE + "frame['amount']", "np.arange(1e6).reshape(1000, 1000)",
                   "pd.DataFrame(np.zeros((3, 2000)))", "np.zeros((3000, 1000))[:, ::2]",
                   "pd.DataFrame({f'c\\n{i}': ['é' * 300] * 90 for i in range(60)})")
    texts = [record["text"] for record in records]
    assert texts[0].startswith("Series 'amount': 5,000 values\n")
    assert "ndarray: 1,000 x 1,000, float64, 8.0 MB\nmin 0, mean 500000, max 999999" in texts[1]
    assert "… 1,970 more columns: float64 x 1,970" in texts[2]
    assert "(of a sample of " in texts[3]
    for record in records:
        assert len(record["results"][0]["data"]["text/vnd.reckon.summary"].encode()) <= 4096


def test_a_small_table_is_shown_unchanged(data):
    (record,) = data("import pandas as pd; pd.DataFrame({'a': [1, 2]})")
    assert record["text"] == "   a\n0  1\n1  2"
    assert "text/vnd.reckon.summary" not in record["results"][0]["data"]


def test_a_figure_is_a_reference_and_its_data(data, reckon):
    (record,) = data("import matplotlib.pyplot as plt\n"
                     "plt.plot(range(12), range(12), label='a'); plt.plot(range(12), [3] * 12, label='b')\n"
                     "plt.title('Sales by month'); plt.xlabel('month'); plt.ylabel('USD')\nplt.show()")
    (result,) = record["results"]
    artifact = result["artifacts"]["image/png"]
    assert re.search(rf"^\[image/png \d+x\d+, \d+ KB: {artifact}\]$", record["text"], re.M)
    assert "chart: line, 'Sales by month', x: month, y: USD, 12 points x 2 series" in record["text"]
    reckon("artifact", artifact, "-o", "figure.png").expect(0)
    assert (reckon.cwd / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")


IMAGES = """
import numpy as np
from IPython.display import Image as Shown, display
from PIL import Image
rng = np.random.default_rng(1)
def noise(width, height, mode="RGB"):
    return Image.fromarray(rng.integers(0, 256, (height, width, len(mode)), "uint8"), mode)
"""


@pytest.mark.parametrize("code, whole, scaled", [
    ("display(Image.new('RGB', (3000, 1500)))", ("image/png", 3000, 1500), ("image/png", 1568, 784)),
    ("display(Image.new('P', (10, 9000), 3))", ("image/png", 10, 9000), ("image/png", 2, 1568)),
    ("display(noise(2000, 1000, 'RGBA'))", ("image/png", 2000, 1000), ("image/jpeg", 1568, 784)),
    ("noise(1200, 800).save('n.jpg', quality=99); display(Shown('n.jpg'))",
     ("image/jpeg", 1200, 800), ("image/jpeg", 1200, 800)),
    ("Image.new('L', (4000, 40)).save('g.jpg'); display(Shown('g.jpg'))",
     ("image/jpeg", 4000, 40), ("image/png", 1568, 16)),
    ("display(Image.new('RGB', (1568, 1568)))", ("image/png", 1568, 1568), None),
])
def test_a_large_image_has_a_scaled_copy(data, reckon, code, whole, scaled):
    (record,) = data(IMAGES + code)
    (result,) = record["results"]
    shown_image = re.search(r"^\[(image/\w+) (\d+)x(\d+), [^]]*\]$", record["text"], re.M)
    assert (shown_image[1], int(shown_image[2]), int(shown_image[3])) == whole
    assert not any(mime.startswith("image/vnd") for mime in result["data"])
    if scaled is None:
        assert "scaled" not in result and "scaled" not in shown_image[0]
        return
    small = result["scaled"]
    assert (small["mime"], small["width"], small["height"]) == scaled
    assert f"; scaled: {scaled[0]} {scaled[1]}x{scaled[2]}, " in shown_image[0] and small["artifact"] in shown_image[0]
    reckon("artifact", small["artifact"], "-o", "small").expect(0)
    assert (reckon.cwd / "small").stat().st_size == small["size"]


def test_every_image_of_a_result_is_stored(data):
    (record,) = data(IMAGES + "display(noise(20, 10))")
    (result,) = record["results"]
    assert set(result["artifacts"]) == {"image/png", "image/jpeg"}
    assert all(handle in record["text"] for handle in result["artifacts"].values())


# ---- reckon output ----------------------------------------------------------------------------

@pytest.fixture
def handle(run):
    (record,) = run("for i in range(1, 9001): print(f'{i:06}', 'é' * (i * 7919 % 13))")
    return left_out(record, "stdout")["handle"]


def test_output_is_read_page_by_page(reckon, handle):
    seen, words, pages = "", ["output", handle], 0
    while words:
        done = reckon(*words).expect(0)
        assert 0 < len(done.out.encode()) <= 16 * 1024
        seen += done.out
        more = re.search(r"more: reckon (output \S+ --lines \d+:\d+)", done.err)
        words = more[1].split() if more else None
        pages += 1
    assert seen == reckon("output", handle, "--all").expect(0).out
    assert pages > 5


def test_options_select_parts_of_an_output(reckon, handle):
    assert reckon("output", handle, "--head", "1").expect(0).out.startswith("000001 ")
    assert reckon("output", handle, "--tail", "1").expect(0).out.startswith("009000 ")
    assert reckon("output", handle, "--lines", "5:6").expect(0).out.split()[0] == "000005"
    assert reckon("output", handle, "--range", "0:5").expect(0).out == "000001"
    found = reckon("output", handle, "--grep", "000777").expect(0)
    assert found.out.startswith("777:000777 ")
    assert "none of 9000 lines" in reckon("output", handle, "--grep", "nowhere").expect(0).err
    assert "there are 9000 lines" in reckon("output", handle, "--lines", "9001:").expect(2).err


# ---- repeats ----------------------------------------------------------------------------------

def test_the_same_failure_is_noticed(run):
    records = run("x = [1]\nx[5]", "x = [1]\nx[5]  # once more\n", "print('else')",
                  "x  =  [1]\n\nx[5]")
    assert records[0]["repeat"] is None
    assert records[1]["repeat"]["count"] == 2
    assert records[2]["repeat"] is None
    repeat = records[3]["repeat"]
    assert (repeat["count"], repeat["first_sequence"], repeat["sequences"]) == (3, 1, [1, 2, 4])
    assert repeat["same_code"] and repeat["same_error"]
    assert repeat["unchanged"] == ["code", "error", "files"]
    assert records[3]["text"].splitlines()[-1] == \
        "[seen 3 times in this session (executions 1, 2, 4): same error, code unchanged; " \
        "files unchanged since]"
    codes = [note["code"] for note in records[3]["diagnostics"]]
    assert codes == ["repeated_failure"]


def test_a_repeat_reports_what_changed(run):
    records = run("f = open('in.csv')\nint(f.read())", "print(1)\nf = open('in.csv')",
                  "_ = open('in.csv', 'w').write('x')", "f = open('in.csv')\nint(f.read())",
                  "import time\nint(f.read())", "f.nothing")
    assert records[1]["repeat"]["same_code"] is False
    assert records[1]["repeat"]["same_error"] is True
    assert records[3]["repeat"]["same_code"] is True
    assert records[3]["repeat"]["same_error"] is False
    assert records[3]["repeat"]["unchanged"] == ["code"]
    assert records[5]["repeat"] is None


def test_errors_that_differ_in_numbers_and_random_names_are_the_same(run):
    code = "import tempfile, random\nraise OSError(f'{tempfile.mktemp()} at {random.random()}')"
    records = run(code, code)
    assert records[1]["repeat"]["same_error"] is True


def test_another_session_has_no_repeats(run):
    assert run("1/0")[0]["repeat"] is None
    assert run("1/0")[0]["repeat"] is None


def test_the_line_about_repeats_is_in_the_shortest_text(run):
    code = "for i in range(9000): print('x' * (i % 70))\nraise ValueError('y ' * 3000)"
    records = run(code, code, args=["--max-text", "1K"], budget=1024)
    assert records[1]["text"].splitlines()[-1].startswith("[seen 2 times in this session")


def test_the_same_output_three_times_is_noted(run):
    records = run(*["print('pending')"] * 4)
    notes = [[note["code"] for note in record["diagnostics"]] for record in records]
    assert notes == [[], [], ["repeated_execution"], ["repeated_execution"]]


def test_cells_without_output_may_be_repeated(run, reckon):
    assert [record["diagnostics"] for record in run(*["x = 1"] * 4)] == [[]] * 4
    cells = [word for _ in range(4) for word in ("-c", "print(1)")]
    assert reckon("run", *cells).expect(0).err == ""  # nor is there a note on the command line


def test_repeats_in_bash(run):
    records = run("ls /nowhere-$((1+1))\nfalse", "ls  /nowhere-$((1+1)) # again\nfalse",
                  args=["-l", "bash"])
    assert records[1]["repeat"]["count"] == 2


# ---- order ------------------------------------------------------------------------------------

LOOP = """
import sys
from IPython.display import display, HTML
for name in ("north", "south"):
    print("##", name)
    display(HTML(f"<b>{name}</b>"))
    print("warn", name, file=sys.stderr)
name
"""


def merged(events):
    """The outputs that correspond to the events: consecutive texts of one stream are one entry."""
    outputs = []
    for event in events:
        kind = event["event"]
        if kind == "stream":
            if outputs and outputs[-1].get("name") == event["name"]:
                outputs[-1]["text"] += event["text"]
            else:
                outputs.append({"output_type": "stream", "name": event["name"], "text": event["text"]})
        elif kind in ("display_data", "execute_result"):
            outputs.append({"output_type": kind, "data": event["data"], "metadata": event["metadata"]})
        elif kind == "error":
            outputs.append({"output_type": "error", "ename": event["error"]["name"],
                            "evalue": event["error"]["value"],
                            "traceback": event["error"]["traceback"].splitlines()})
    return outputs


def test_outputs_of_a_loop_are_in_order(run):
    (record,) = run(LOOP)
    html = "<IPython.core.display.HTML object>"
    assert record["text"] == (f"## north\n{html}\n[stderr]\nwarn north\n"
                              f"[stdout]\n## south\n{html}\n[stderr]\nwarn south\n'south'")
    kinds = [(output["output_type"], output.get("name")) for output in record["outputs"]]
    assert kinds == [("stream", "stdout"), ("display_data", None), ("stream", "stderr"),
                     ("stream", "stdout"), ("display_data", None), ("stream", "stderr"),
                     ("execute_result", None)]


@pytest.mark.parametrize("code", [
    LOOP,
    "print('a'); display(1); 1/0",
    "import os\nos.system('echo from a program')\ndisplay(2)\nprint('after')",
    "display(1)\nfrom IPython.display import clear_output\nprint('x')\nclear_output()\nprint('y')",
])
def test_outputs_correspond_to_the_events(reckon, code):
    events = reckon.events(code)
    record = events[-1]["record"]
    expected = merged(events)
    if "clear_output" in code:
        expected = [{"output_type": "stream", "name": "stdout", "text": "x\ny\n"}]
    for output in record["outputs"]:
        assert output.pop("execution_count", 1) == 1
    assert record["outputs"] == expected


def test_outputs_are_valid_in_a_notebook(run):
    (record,) = run(LOOP + "\n1/0")
    cell = {"cell_type": "code", "id": "a", "execution_count": 1, "metadata": {}, "source": LOOP,
            "outputs": record["outputs"]}
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    assert record["outputs"][-1]["ename"] == "ZeroDivisionError"
