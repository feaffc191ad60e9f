"""E2B's Python SDKs, as they are on PyPI, with nothing changed but the environment's variables."""
import pathlib

import pytest
from e2b_client import E2BServer
from reckon_cli import ROOT

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
VERSIONS = ("new", "old", "2025")  # build/sdks/e2b-…; the interpreter of 2025 cannot be told where code runs
PROGRAMS_OF_ALL = ("control", "files", "elsewhere", "commands", "watch", "watch_async", "async_calls", "pause")


@pytest.fixture
def server(reckon):
    with E2BServer(reckon) as running:
        yield running


@pytest.mark.parametrize("version, program", [
    *((version, program) for version in VERSIONS for program in PROGRAMS_OF_ALL),
    *((version, program) for version in ("new", "old") for program in ("readme", "encoded", "interpreter", "async_code", "charts", "ports", "pause_code", "calls", "volumes"))])
def test_programs_run_unchanged(server, request, version, program):
    sampled = {"E2B_TEST_SAMPLED": "1"} if "rootless" not in request.node.name else {}
    printed = server.run([ROOT / f"build/sdks/e2b-{version}/venv/bin/python", PROGRAMS / f"{program}.py"],
                         **sampled)
    if program == "readme":
        assert printed == "2\n"
