"""Hosts without some features: one line of message, the right exit status, and a working doctor."""

import os
import re
import shutil
import subprocess

import pytest
from syscalls import can_watch_every_map

only_a_user = pytest.mark.parametrize("as_user", ["rootless"], indirect=True)

# A user namespace that allows no other one, like some distributions and containers.
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\""


def in_namespace(reckon, script, *args):
    return subprocess.run(
        [shutil.which("unshare") or "/usr/bin/unshare", "--user", "--map-root-user",
         "sh", "-c", script, "sh", str(reckon.place.program), *args],
        cwd=reckon.cwd, env=reckon.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, **reckon.user.switch)


@only_a_user
def test_no_user_namespaces(reckon):
    done = in_namespace(reckon, NO_NAMESPACES, "run", "-t", "python", "--private", "-c", "print(1)")
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "user namespace" in done.stderr and "max_user_namespaces" in done.stderr


@only_a_user
def test_doctor_explains_what_is_missing(reckon):
    done = in_namespace(reckon, NO_NAMESPACES, "doctor")
    assert done.returncode == 0
    line = next(line for line in done.stdout.splitlines() if line.startswith("user namespace"))
    assert "off" in line


def test_doctor_starts_with_one_sentence(reckon):
    """The walls that every host should have follow, and then the optional ones."""
    walls = reckon("doctor", "--json").expect(0).lines()[0]["walls"]
    missing = [wall["name"] for wall in walls
               if wall["state"] in ("off", "partial") and not wall["optional"]]
    text = reckon("doctor").expect(0).out
    first, rest = text.split("\n", 1)
    assert ("Every wall stands" in first) == (not missing)
    assert all(name in first for name in missing) and first.endswith(".")
    every, optional = rest.split("\nOPTIONAL")
    for wall in walls:
        assert f"\n{wall['name']} " in (optional if wall["optional"] else every)
    assert {"seccomp", "user namespace"} <= {wall["name"] for wall in walls if not wall["optional"]}
    assert "core scheduling" in optional
    none = reckon("doctor", env={"RECKON_TEMPLATES": str(reckon.cwd)}).expect(0).out
    assert "no template is built (reckon template build data)" in none.split("\n")[0]


@only_a_user
def test_root_of_a_namespace_with_one_uid(reckon):
    done = in_namespace(reckon, 'exec "$@"', "run", "-t", "python", "--private", "-c",
                        "import os; print(os.getuid())")
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr


@only_a_user
def test_strict_refuses_without_every_wall(reckon):
    done = reckon("run", "-t", "python", "--strict", "--private", "-c", "print(1)")
    assert done.status == 125
    assert done.err.count("\n") == 1 and "strict" in done.err


def test_state_directory_that_cannot_be_written(reckon):
    path = reckon.cwd / "state-is-a-file"
    reckon.file(path.name, "x")
    done = reckon("run", "-t", "python", "-c", "print(1)", env={"RECKON_STATE": str(path)})
    assert done.status == 125
    assert done.err.count("\n") == 1 and "RECKON_STATE" in done.err
    assert os.path.getsize(path) == 1


@only_a_user
def test_limits_that_are_not_enforced_are_reported(reckon):
    record = reckon.record("1", "-t", "python", "--cpus", "0.5", "--memory", "500M")
    notes = [note for note in record["diagnostics"] if note["code"] == "limit_not_held"]
    enforced = {line.split("  ")[0] for line in reckon("doctor").out.splitlines() if "  on  " in line}
    assert len(notes) == len({"memory limit", "cpu limit"} - enforced)


def test_default_limits_that_are_not_enforced_are_not_reported(reckon):
    record = reckon.record("1", "-t", "python")
    assert record["diagnostics"] == []


def test_pages_that_every_session_touches_are_recorded(reckon):
    """Sessions work without these pages, too, so the test reads the warden's log."""
    done = reckon("run", "-t", "python", "--private", "-c", "import time; time.sleep(2)",
                  "-c", "print(1)", env={"RECKON_LOG": "info"})
    assert done.out == "1\n"
    counts = [int(number) for number in re.findall(r"zygote ready.* hot=(\d+)", done.err)]
    assert len(counts) == 2 and min(counts) == 0, done.err  # the cold zygote has none
    assert (max(counts) > 100) == can_watch_every_map(), counts
