"""The quick-starts of E2B's READMEs, as they stand in the packages: nothing is changed but the environment.

Each block of code that makes a sandbox and prints what it gave is taken out of the README of the installed
package and run. Those that name another service's address (`new E2B({... domain ...})`) are not quick-starts.
"""
import pathlib
import re

import pytest
from reckon_cli import ROOT

pytestmark = pytest.mark.one_user  # what depends on the user is in test_e2b_python

# The README of `e2b` of 2025 is about an interpreter that knows no address but E2B's; that of `e2b` 2.39.0 for
# JavaScript imports a default that the package has for CommonJS alone, and fails before it asks anything.
PYTHON = [(version, package) for version in ("new", "old") for package in ("e2b", "e2b_code_interpreter")]
NODE = [("new", "e2b"), ("new", "@e2b/code-interpreter"), ("old", "@e2b/code-interpreter")]


def quick_starts(text, languages):
    """[(code, what its comment says that it prints)]"""
    blocks = re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", text, re.M | re.S)
    return [(block, said[1].strip()) for block in blocks if "E2B(" not in block
            and (said := re.search(r"(?:console\.log|print)\(.*\)\s*(?://|#) (?:outputs )?(.*)$", block, re.M))]


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
        # What they leave open is their own program's to end; node waits for nothing of it.
        program = tmp_path / f"{number}.mjs"
        program.write_text(code)
        assert server.run(["node", program]).strip() == expected, code
