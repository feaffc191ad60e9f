"""E2B's Python SDKs from PyPI, unchanged: only environment variables name the server."""
import pathlib

import pytest
from reckon_cli import ROOT

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
# Programs for all versions in build/sdks/e2b-*, and for all but that of 2025, whose interpreter has
# no setting for the server.
PROGRAMS_OF_ALL = ("control", "files", "elsewhere", "commands", "watch", "watch_async", "async_calls", "pause", "templates")
PROGRAMS_OF_TWO = ("readme", "encoded", "interpreter", "async_code", "charts", "ports", "pause_code", "calls",
                   "volumes", "snapshots", "fork")


def runs(server, request, version, program):
    sampled = {"E2B_TEST_SAMPLED": "1"} if "rootless" not in request.node.name else {}
    printed = server.run([ROOT / f"build/sdks/e2b-{version}/venv/bin/python", PROGRAMS / f"{program}.py"],
                         **sampled)
    if program == "readme":
        assert printed == "2\n"


@pytest.mark.parametrize("program", PROGRAMS_OF_ALL + PROGRAMS_OF_TWO)
def test_programs_run_unchanged(server, request, program):
    runs(server, request, "new", program)


@pytest.mark.one_user  # the test above covers what depends on the user
@pytest.mark.parametrize("version, program", [
    *(("old", program) for program in PROGRAMS_OF_ALL + PROGRAMS_OF_TWO),
    *(("2025", program) for program in PROGRAMS_OF_ALL)])
def test_programs_of_earlier_versions_run_unchanged(server, request, version, program):
    runs(server, request, version, program)
