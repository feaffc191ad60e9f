"""A saved run can run again: the script by itself and in a box, the notebook in a kernel.

The run has a cell that fails after it did something, figures, commands, an await, files, and paths as
models write them.
"""
import base64
import json
import os
import re
import subprocess

import nbclient
import nbformat
import private_daemon
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, Reckon, templates_dir
from test_ask import Ask

pytestmark = pytest.mark.one_user

JUPYTER = ROOT / "build/sdks/jupyter/venv/bin/python"
PACKAGES = templates_dir() / "data/tree/lib/python3.11/site-packages"
QUESTION = "Which city sold most?"
CELLS = [
    # A file of the question, by its path in the box.
    "import csv\nrows = list(csv.DictReader(open('/mnt/data/sales.csv')))\nprint(len(rows), 'rows')",
    # Changes something, prints, and fails.
    'total = {}\nfor row in rows:\n    total[row["city"]] = total.get(row["city"], 0) '
    "+ int(row['units'])\nprint('so far', total)\nbest = total['Nowhere']\nbest = 'never'",
    "best = max(total, key=total.get)\nprint('best:', best)",
    # Never ran: it does not compile.
    "total = {\nbest = ",
    # Magics and commands, and quotes that the script must preserve.
    "%time count = len(rows)\n!echo \"{best} of $count\" > note.txt\nwords = !cat note.txt\n"
    "if words:\n    !echo again >> note.txt\nprint(words, '''three''')",
    "import asyncio\nasync def twice(x):\n    await asyncio.sleep(0)\n    return 2 * x\n"
    'doubled = await twice(count)\nprint("""doubled""", doubled)',
    "from __future__ import annotations\ndisplay(doubled)\ns = '''\n%not a magic\n!nor a command\n'''",
    # Two figures of two cells, each by itself.
    "import matplotlib.pyplot as plt\nplt.plot([1, 2], [1, 2])\nplt.savefig('/mnt/data/one.png')",
    "plt.bar(list(total), list(total.values()))\nprint(len(plt.gca().lines), 'lines')\n"
    "plt.savefig('two.png')",
    "open('result.txt', 'w').write(f'{best} {total[best]} {count} {doubled} {len(s)}\\n')",
    "import sys\nprint('to the end')\nsys.exit(3)",
    "while True:\n    pass",
    "print('after all', open('/mnt/data/result.txt').read().strip())",
]
RESULT = "Oslo 7 3 6 29\n"
SALES = "city,units\nRome,4\nOslo,7\nBern,1\n"


@pytest.fixture(scope="module")
def saved(place, tmp_path_factory):
    """The folder with the run in each form, and the `reckon` that has the run."""
    reckon = Reckon(place, place.folder("exported"))
    reckon.file("sales.csv", SALES)
    script = [Reply(text="I try.", calls=[cell]) for cell in CELLS] + [Reply(text="**Oslo**.")]
    ask = Ask(reckon, "openai")
    ask.args = lambda *args: ("ask", "--model", "openai/m", "-t", "data", *args)
    with ModelServer(*script) as model:
        done = ask(model, "-o", "out", "--save", "run.py", "--timeout", "15s", "--max-steps", "20",
                   QUESTION, "sales.csv", timeout=170).expect(0)
    assert "cells that failed: the script goes on behind them" in done.err
    for name in ("run.ipynb", "run.md"):
        reckon("runs", "save", name).expect(0)
    private_daemon.end(reckon)
    return reckon


def fresh(saved, tmp_path, *names):
    for name in names:
        (tmp_path / name).write_bytes((saved.cwd / name).read_bytes())
    return tmp_path


def check_files(folder):
    assert (folder / "result.txt").read_text(encoding="utf-8") == RESULT
    assert (folder / "note.txt").read_text(encoding="utf-8") == "Oslo of 3\nagain\n"
    for name in ("one.png", "two.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def check_output(text):
    found = [line for line in text.splitlines() if line.startswith(
        ("3 rows", "so far", "best:", "[", "doubled", "0 lines", "1 lines", "to the end", "after"))]
    assert found == ["3 rows", "so far {'Rome': 4, 'Oslo': 7, 'Bern': 1}", "best: Oslo",
                     "['Oslo of 3'] three", "doubled 6", "0 lines", "to the end",
                     "after all " + RESULT.strip()], text


def test_the_script_runs_by_itself(saved, tmp_path):
    """`python3 run.py` in a folder that contains only the script and its input."""
    folder = fresh(saved, tmp_path, "run.py", "sales.csv")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MPLBACKEND": "agg",
           "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(["/usr/bin/python3", "run.py"], cwd=folder, env=env, timeout=120,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    check_output(done.stdout)
    check_files(folder)
    assert "KeyError: 'Nowhere'" in done.stderr and "SystemExit: 3" in done.stderr


def test_the_script_runs_in_a_box(saved):
    done = saved("run", "-t", "data", "-f", "sales.csv", "-o", "again", "run.py",
                 timeout=120).expect(0)
    check_output(done.out)
    check_files(saved.cwd / "again")


def test_the_script_marks_failed_cells(saved):
    text = (saved.cwd / "run.py").read_text(encoding="utf-8")
    assert "# %% [2] failed with KeyError; what it had done stays\n_failed(r'''\ntotal = {}" in text
    assert "# %% [4] failed with SyntaxError" in text
    assert re.search(r"# %% \[12\] not here: it did not end by itself \(timeout\)\n"
                     r"# while True:\n#     pass\n", text)
    # A cell that is plain Python is unchanged.
    assert "\nbest = max(total, key=total.get)\nprint('best:', best)\n" in text
    assert "/mnt/data" not in re.sub(r"(?m)^#.*", "", text)


def test_the_notebook_runs_again(saved, tmp_path, monkeypatch):
    """nbclient with ipykernel continues after failed cells and skips the cell that timed out."""
    folder = fresh(saved, tmp_path, "run.ipynb", "sales.csv")
    book = nbformat.read(folder / "run.ipynb", as_version=4)
    nbformat.validate(book)
    tags = [cell.metadata.get("tags") for cell in book.cells if cell.cell_type == "code"]
    assert [at for at, tag in enumerate(tags) if tag == ["raises-exception"]] == [1, 3, 10]
    assert [at for at, tag in enumerate(tags) if tag == ["skip-execution"]] == [11]
    spec = tmp_path / "share/jupyter/kernels/python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(json.dumps(
        {"argv": [str(JUPYTER), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
         "display_name": "Python 3", "language": "python",
         "env": {"PYTHONPATH": str(PACKAGES),
                 "MPLBACKEND": "module://matplotlib_inline.backend_inline"}}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "share/jupyter"))
    again = nbclient.NotebookClient(nbformat.from_dict(book), timeout=60,
                                    resources={"metadata": {"path": str(folder)}}).execute()
    cells = [cell for cell in again.cells if cell.cell_type == "code"]
    text = "".join(output.get("text", "") for cell in cells for output in cell.outputs
                   if output.output_type == "stream")
    check_output(text)
    assert cells[1].outputs[-1].ename == "KeyError"
    images = [output.data["image/png"] for cell in cells for output in cell.outputs
              if "image/png" in output.get("data", {})]
    assert len(images) == 2
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)
    check_files(folder)


def test_the_page_has_its_images(saved):
    page = (saved.cwd / "run.md").read_text(encoding="utf-8")
    images = re.findall(r"!\[PNG\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)", page)
    assert len(images) == 2
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)


def test_a_chart_is_saved_once(saved):
    """A figure that the code saved to a file is not saved again, unless it changed or the file is missing."""
    assert not [path.name for path in (saved.cwd / "out").iterdir() if "figure" in path.name]
    start = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\n"
    for name, code, figures in (
            ("a", "plt.savefig('a.png', dpi=150, bbox_inches='tight')", 0),
            ("b", "fig.savefig('/mnt/data/b')\nplt.show()", 0),
            ("c", "fig.savefig('c.svg')\nfig", 0),
            ("d", "fig.savefig('d.png')\nax.set_title('changed')", 1),
            ("e", "fig.savefig('/tmp/e.png')", 1),
            ("f", "fig.savefig('f.png')\nimport os\nos.remove('f.png')", 1)):
        done = saved("run", "-t", "data", "-o", f"once-{name}", "-c", start + code).expect(0)
        names = [path.name for path in (saved.cwd / f"once-{name}").iterdir()]
        assert len([each for each in names if each.startswith("figure")]) == figures, (name, names)
        assert len(names) == (2 if name == "d" else 1), (name, done.err)
