"""Published notebooks give the same outputs in a Reckon kernel as in ipykernel.

They come from source packages (test/sdks/jupyter/sources.txt) and are not stored here; ipykernel and
the console are in build/sdks/jupyter and use the packages of the template.
"""
import asyncio
import json
import os
import pathlib
import re
import subprocess

import nbclient
import nbformat
import pytest
from reckon_cli import ROOT
from reckon_serve import SECONDS
from test_jupyter_kernel import jupyter  # noqa: F401

JUPYTER = ROOT / "build/sdks/jupyter/venv/bin"
SOURCES = ROOT / "build/sdks/jupyter/sources"
NOTEBOOKS = (
    "nbclient/tests/files/Clear Output", "nbclient/tests/files/Factorials", "nbclient/tests/files/Output",
    "nbclient/tests/files/Skip Exceptions", "nbclient/tests/files/UnicodePy3",
    "nbconvert/tests/exporters/files/rst_output", "nbconvert/tests/exporters/files/pngmetadata",
    "seaborn/doc/_docstrings/color_palette", "seaborn/doc/_docstrings/mpl_palette",
    "xarray/doc/examples/weather-data")
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def kernel_of_python(jupyter):  # noqa: F811
    """ipykernel, with the packages that the template `data` has."""
    [packages] = pathlib.Path(os.environ.get("RECKON_TEMPLATES", "/var/lib/reckon/templates")).glob(
        "data/tree/lib/python*/site-packages")
    folder = jupyter.work / "jupyter/kernels/python3"
    folder.mkdir()
    (folder / "kernel.json").write_text(json.dumps({
        "argv": [str(JUPYTER / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "x", "language": "python",
        "env": {"PYTHONPATH": str(packages), "MPLBACKEND": "module://matplotlib_inline.backend_inline"}}))


def outcome(output):
    """The content of an output, without paths of files, addresses and generated ids."""
    kind = output["output_type"]
    if kind == "stream":
        return kind, output["name"], re.sub(r"(/tmp/ipykernel_\d+/\d+\.py|<cell \d+>)", "FILE", output["text"])
    if kind == "error":
        return kind, output["ename"], output["evalue"]
    data = {}
    for media, value in output["data"].items():
        if media.startswith("image/"):
            value = "an image"
        data[media] = re.sub(r"\b0x[0-9a-f]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", value)
    return kind, data


async def execute(path, kernel):
    notebook = nbformat.read(path, 4)
    client = nbclient.NotebookClient(notebook, kernel_name=kernel, timeout=SECONDS, allow_errors=True,
                                     coalesce_streams=True,
                                     resources={"metadata": {"path": str(path.parent)}})
    await client.async_execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.execution_count, [outcome(each) for each in cell.outputs]) for cell in cells]


async def both(path):
    return await asyncio.gather(execute(path, "reckon-data"), execute(path, "python3"))


def test_notebooks(jupyter):  # noqa: F811
    jupyter("jupyter", "install", "-t", "data", "--name", "reckon-data").expect(0)
    kernel_of_python(jupyter)
    for name in NOTEBOOKS:
        package, _, inside = name.partition("/")
        [home] = SOURCES.glob(f"{package}-*/")
        ours, theirs = asyncio.run(both(home / f"{inside}.ipynb"))
        assert any(outputs for _, outputs in theirs), name
        assert ours == theirs, name


def test_console(jupyter):  # noqa: F811
    output_path = jupyter.work / "console"
    with open(output_path, "wb") as out:  # not a pipe, which processes of the kernel could hold open
        done = subprocess.run(
            [JUPYTER / "jupyter-console", "--kernel", "reckon-python", "--simple-prompt"],
            input=b"x = 6\nprint(x * 7)\n1 / 0\nexit\n", stdout=out, stderr=out, timeout=SECONDS,
            check=False, cwd=jupyter.cwd, env={**os.environ, "HOME": str(jupyter.work)})
    text = output_path.read_text()
    assert done.returncode == 0, text
    assert "Python in a Reckon session" in text and "42" in text and "ZeroDivisionError" in text
