"""Hints about limits name the limits of the session.

Separate from test_hints.py, whose session still forks while this module checks for leftovers.
"""
import pytest


@pytest.mark.parametrize("memory", ["1G", "512M", "300M"])
def test_a_hint_names_the_memory_limit(reckon, memory):
    name = {"1G": "1 GiB", "512M": "512 MiB", "300M": "300 MiB"}[memory]
    for template in "python", "data":
        record = reckon.record("x = bytearray(10 << 30)", "-t", template, "--memory", memory)
        assert record["error"]["name"] == "MemoryError"
        assert any(f"a session may have {name}" in hint for hint in record["error"]["hints"]), record["error"]


def test_a_hint_names_the_whole_limit_with_memory_in_use(reckon):
    code = "import numpy\nkept = numpy.ones(20_000_000)\nx = bytearray(10 << 30)"
    record = reckon.record(code, "-t", "data")
    assert any("a session may have 1 GiB" in hint for hint in record["error"]["hints"])


def test_input_without_stdin_suggests_a_value_in_the_code(reckon):
    error = reckon.record("name = input('name? ')", "-t", "python")["error"]
    assert error["name"] == "EOFError" and "put the value into the code" in error["value"]
