"""E2B's Python SDKs, as they are on PyPI, with nothing changed but the environment's variables."""
import pathlib

import pytest
from e2b_client import E2BServer
from sdks import python_sdk

PROGRAMS = pathlib.Path(__file__).with_name("e2b_programs")
VERSIONS = {"new": ("e2b-code-interpreter==2.11.5", "e2b==2.63.0"),
            "old": ("e2b-code-interpreter==2.9.0", "e2b==2.45.0"),
            # The interpreter package of that time cannot be told where code runs.
            "2025": ("e2b==2.7.0",)}
PROGRAMS_OF_ALL = ("control", "files", "commands", "watch", "watch_async")


@pytest.fixture
def server(reckon):
    with E2BServer(reckon) as running:
        yield running


@pytest.mark.parametrize("version, program", [
    *((version, program) for version in VERSIONS for program in PROGRAMS_OF_ALL),
    *((version, program) for version in ("new", "old") for program in ("readme", "interpreter", "charts", "ports"))])
def test_programs_run_unchanged(server, version, program):
    printed = server.run([python_sdk(*VERSIONS[version]), PROGRAMS / f"{program}.py"])
    if program == "readme":
        assert printed == "2\n"
