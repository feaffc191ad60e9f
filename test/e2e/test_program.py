"""The program itself, before anything runs in a box."""
import re

from reckon_cli import ROOT


def test_version_is_the_projects(reckon):
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert version in reckon("--version").expect(0).out


def test_help_goes_to_stdout(reckon):
    done = reckon("--help").expect(0)
    assert "run" in done.out
    assert done.err == ""


def test_a_wrong_call_is_status_2_and_says_so(reckon):
    done = reckon("no-such-command").expect(2)
    assert done.out == ""
    assert "no-such-command" in done.err
