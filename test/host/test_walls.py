"""A machine that is there for a wall has it on: so that the attacks there meet the wall itself, and
not only the refusal that every host gives.

What the walls are like from outside is in test/attack/test_side_channels.py; here is what a user
sees of them.
"""
import json
import pathlib
import platform

import pytest

OPTIONAL = {"core scheduling": "core", "speculation control": "speculation"}
FIELDS = ("Speculation_Store_Bypass", "SpeculationIndirectBranch")


def doctor(reckon):
    done = reckon("doctor", "--json").expect(0, 1)
    return {wall["name"]: wall for wall in json.loads(done.out)["walls"]}


@pytest.fixture
def optional(walls):
    """Names of --isolate-cpu that this machine has the means for."""
    return [OPTIONAL[name] for name in walls if name in OPTIONAL]


def test_doctor_calls_them_on(reckon, walls):
    found = doctor(reckon)
    assert {name: found[name]["state"] for name in walls} == dict.fromkeys(walls, "on")
    others = set(OPTIONAL) - set(walls)
    assert {name: found[name]["state"] for name in others} == dict.fromkeys(others, "absent")


def test_all_other_walls_stand_in_one_hierarchy(reckon):
    """cgroup v2 alone, as root and in a group that was delegated to a user."""
    assert pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    found = doctor(reckon)
    expected = {name: "on" for name in found if name not in OPTIONAL}
    if found["own uid per session"]["state"] == "partial":
        expected["own uid per session"] = "partial"  # an ordinary user has one
    assert {name: found[name]["state"] for name in expected} == expected
    assert found["memory limit"]["detail"] == "cgroup v2"


def test_a_strict_session_may_ask_for_them(reckon, optional):
    if not optional:
        pytest.skip("this machine is there for no such wall")
    done = reckon("run", "-t", "python", "--isolate-cpu", ",".join(optional), "-c", "print(1)")
    assert (done.status, done.out, done.err) == (0, "1\n", "")
    strict = reckon("run", "-t", "python", "--private", "--strict", "--isolate-cpu",
                    ",".join(optional), "-c", "print(1)")
    if reckon.user.is_root:
        assert (strict.status, strict.out, strict.err) == (0, "1\n", "")
    else:  # one uid for all sessions is a wall that strictness does not do without
        assert strict.status == 125 and "strict mode" in strict.err


def test_the_record_tells_of_no_missing_wall(reckon, optional):
    if not optional:
        pytest.skip("this machine is there for no such wall")
    record = reckon.record("1", "-t", "python", "--isolate-cpu", ",".join(optional))
    assert [note for note in record["diagnostics"] if note["code"] == "wall_missing"] == []


def test_the_record_tells_of_each_missing_wall(reckon, optional):
    missing = set(OPTIONAL.values()) - set(optional)
    if not missing:
        pytest.skip("this machine has all of them")
    record = reckon.record("1", "-t", "python", "--isolate-cpu", ",".join(sorted(missing)))
    told = [note for note in record["diagnostics"] if note["code"] == "wall_missing"]
    assert len(told) == len(missing)


def test_a_kernel_cannot_speculate(reckon, optional):
    """What the cell reads of itself; outside, test_side_channels.py reads the same."""
    if platform.machine() != "x86_64" or "speculation" not in optional:
        pytest.skip("this machine is there for no such wall")
    # /proc of a box is of processes alone, and its own status is among them.
    code = "print(''.join(line for line in open('/proc/self/status') if 'pecul' in line))"
    loose = dict(line.split(":\t") for line in
                 reckon.record(code, "-t", "python")["stdout"].split("\n") if line)
    assert loose == dict(zip(FIELDS, ("thread vulnerable", "conditional enabled")))
    held = dict(line.split(":\t") for line in
                reckon.record(code, "-t", "python", "--isolate-cpu", "speculation")["stdout"]
                .split("\n") if line)
    assert held == dict(zip(FIELDS, ("thread force mitigated", "conditional force disabled")))
