"""The quick-starts of E2B's READMEs run unchanged: only environment variables name the server.

A quick-start is a code block in the README of the installed package that prints a result and says
in a comment which; blocks that configure a client (`new E2B({... domain ...})`) are left out.
"""
import pathlib
import re

import pytest
from reckon_cli import ROOT

pytestmark = pytest.mark.one_user  # what depends on the user is in test_e2b_python

# Left out: the README of `e2b` of 2025 (its interpreter only works with E2B's own server) and that of
# `e2b` 2.39.0 for JavaScript (it imports a default export that the package has for CommonJS only).
PYTHON = [(version, package) for version in ("new", "old") for package in ("e2b", "e2b_code_interpreter")]
NODE = [("new", "e2b"), ("new", "@e2b/code-interpreter"), ("old", "@e2b/code-interpreter")]


def quick_starts(text, languages):
    """[(code, the output that its comment promises)]"""
    blocks = re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", text, re.M | re.S)
    return [(block, comment[1].strip()) for block in blocks if "E2B(" not in block
            and (comment := re.search(r"(?:console\.log|print)\(.*\)\s*(?://|#) (?:outputs )?(.*)$", block, re.M))]


@pytest.mark.parametrize("version, package", PYTHON)
def test_python(server, tmp_path, version, package):
    venv = ROOT / f"build/sdks/e2b-{version}/venv"
    (metadata,) = venv.glob(f"lib/python3*/site-packages/{package}-*.dist-info/METADATA")
    found = quick_starts(metadata.read_text(), ["python", "py"])
    assert found, metadata
    for number, (code, expected) in enumerate(found):
        program = tmp_path / f"{number}.py"
        program.write_text(code)
        assert server.run([venv / "bin/python", program]).strip() == expected, code


@pytest.mark.parametrize("version, package", NODE)
def test_javascript(server, tmp_path, version, package):
    modules = ROOT / f"build/sdks/e2b-{version}/node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    found = quick_starts(pathlib.Path(modules, package, "README.md").read_text(),
                         ["ts", "js", "typescript", "javascript"])
    assert found, package
    for number, (code, expected) in enumerate(found):
        program = tmp_path / f"{number}.mjs"
        program.write_text(code)
        assert server.run(["node", program]).strip() == expected, code
