"""Hints about limits name them as they were set.

Apart from test_hints.py, whose one session goes on to fork while this module looks at what is left.
"""
import pytest


@pytest.mark.parametrize("memory", ["1G", "512M", "300M"])
def test_the_memory_limit_has_its_own_number(reckon, memory):
    name = {"1G": "1 GiB", "512M": "512 MiB", "300M": "300 MiB"}[memory]
    for template in "python", "data":
        record = reckon.record("x = bytearray(10 << 30)", "-t", template, "--memory", memory)
        assert record["error"]["name"] == "MemoryError"
        assert any(f"a session may have {name}" in hint for hint in record["error"]["hints"]), record["error"]


def test_what_a_session_holds_does_not_change_its_limit(reckon):
    code = "import numpy\nkept = numpy.ones(20_000_000)\nx = bytearray(10 << 30)"
    record = reckon.record(code, "-t", "data")
    assert any("a session may have 1 GiB" in hint for hint in record["error"]["hints"])


def test_input_says_what_the_code_can_do(reckon):
    error = reckon.record("name = input('name? ')", "-t", "python")["error"]
    assert error["name"] == "EOFError" and "put the value into the code" in error["value"]
