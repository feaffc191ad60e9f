"""E2B's JavaScript SDKs from npm, unchanged: only environment variables name the server."""
import pathlib
import shutil

import pytest
from reckon_cli import ROOT

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
NAMES = ("readme", "all", "watch", "pause", "volumes", "snapshots", "templates", "fork")


def runs(server, folder, version, program):
    # Node looks for modules in the program's directory.
    (folder / "node_modules").symlink_to(ROOT / f"build/sdks/e2b-{version}/node_modules")
    shutil.copy2(PROGRAMS / f"{program}.mjs", folder)
    printed = server.run(["node", folder / f"{program}.mjs"])
    if program == "readme":
        assert printed == "2\n"


@pytest.mark.parametrize("program", NAMES)
def test_programs_run_unchanged(server, tmp_path, program):
    runs(server, tmp_path, "new", program)


@pytest.mark.one_user  # the test above covers what depends on the user
@pytest.mark.parametrize("program", NAMES)
def test_programs_of_an_earlier_version_run_unchanged(server, tmp_path, program):
    runs(server, tmp_path, "old", program)
