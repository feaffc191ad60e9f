"""The program itself, before anything runs in a box."""
import re

from reckon_cli import ROOT


def test_the_version_is_that_of_the_project(reckon):
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert version in reckon("--version").expect(0).out


def test_help_goes_to_stdout(reckon):
    done = reckon("--help").expect(0)
    assert "run" in done.out
    assert done.err == ""


def test_an_unknown_command_is_status_2(reckon):
    done = reckon("no-such-command").expect(2)
    assert done.out == ""
    assert "no-such-command" in done.err
