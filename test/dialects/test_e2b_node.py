"""E2B's JavaScript SDKs, as they are on npm, with nothing changed but the environment's variables."""
import pathlib
import shutil

import pytest
from reckon_cli import ROOT

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
NAMES = ("readme", "all", "watch", "pause", "volumes", "snapshots", "templates", "fork")


def runs(server, folder, version, program):
    # Node looks for modules where the program lies.
    (folder / "node_modules").symlink_to(ROOT / f"build/sdks/e2b-{version}/node_modules")
    shutil.copy2(PROGRAMS / f"{program}.mjs", folder)
    printed = server.run(["node", folder / f"{program}.mjs"])
    if program == "readme":
        assert printed == "2\n"


@pytest.mark.parametrize("program", NAMES)
def test_programs_run_unchanged(server, tmp_path, program):
    runs(server, tmp_path, "new", program)


@pytest.mark.one_user  # they differ in what they ask; what depends on the user is above
@pytest.mark.parametrize("program", NAMES)
def test_programs_of_an_earlier_version_run_unchanged(server, tmp_path, program):
    runs(server, tmp_path, "old", program)
