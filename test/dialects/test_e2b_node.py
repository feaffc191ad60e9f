"""E2B's JavaScript SDKs, as they are on npm, with nothing changed but the environment's variables."""
import pathlib
import shutil

import pytest
from e2b_client import E2BServer
from reckon_cli import ROOT

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
VERSIONS = ("new", "old")  # build/sdks/e2b-…


@pytest.fixture
def server(reckon):
    with E2BServer(reckon) as running:
        yield running


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", ["readme", "all", "watch", "pause", "volumes"])
def test_programs_run_unchanged(server, tmp_path, version, program):
    # Node looks for modules where the program lies.
    (tmp_path / "node_modules").symlink_to(ROOT / f"build/sdks/e2b-{version}/node_modules")
    shutil.copy2(PROGRAMS / f"{program}.mjs", tmp_path)
    printed = server.run(["node", tmp_path / f"{program}.mjs"])
    if program == "readme":
        assert printed == "2\n"
