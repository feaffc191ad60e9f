"""The helpers of the end-to-end tests: they parse strictly and find leaks."""
import os
import pathlib
import shutil
import subprocess

import pytest
from leftovers import Leftovers, own_groups
from reckon_cli import Done, parse_json, reachable


@pytest.mark.parametrize("text", [
    '{"a": NaN}', '{"a": Infinity}', '{"a": 1, "a": 2}', b'"\xff"', "{", "", "1 2",
])
def test_invalid_json_is_refused(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_each_line_is_parsed():
    done = Done(("reckon",), 0, '{"a": "ü"}\n[1]\n'.encode(), b"")
    assert done.lines() == [{"a": "ü"}, [1]]


def test_an_unexpected_status_shows_the_output():
    done = Done(("reckon", "run"), 1, b"some output", b"some reason")
    assert done.expect(0, 1) is done
    with pytest.raises(AssertionError, match="(?s)some output.*some reason"):
        done.expect(0)


@pytest.fixture
def programs(tmp_path):
    """A folder with two programs that are copies of sleep."""
    folder = tmp_path / "libexec"
    folder.mkdir()
    for name in ("reckon-warden", "reckon-init"):
        shutil.copy(shutil.which("sleep"), folder / name)
    return folder


@pytest.fixture
def cgroups(tmp_path):
    """Two folders in which a warden would make its cgroups."""
    homes = [tmp_path / "cgroup" / name for name in ("memory", "pids")]
    for home in homes:
        home.mkdir(parents=True)
    return homes


def plant_cgroup(homes, name, procs):
    folder = homes[0] / name
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text(procs)
    return folder


def test_a_leftover_process_is_found_under_any_name(programs, cgroups, tmp_path):
    leftovers = Leftovers([programs], cgroups)
    alias = tmp_path / "innocent"
    alias.symlink_to(programs / "reckon-init")
    with subprocess.Popen([alias, "1000"]) as process:
        try:
            left = leftovers.wait_for_none(0)
            assert [item[:2] for item in left] == [("process", str(process.pid))]
            assert left[0][2].startswith("reckon-init ")
            leftovers.kill()
            assert process.wait(30) == -9
        finally:
            process.kill()
    assert leftovers.wait_for_none() == []


def test_older_processes_and_cgroups_do_not_count(programs, cgroups):
    plant_cgroup(cgroups, "reckon-4194305", "")
    with subprocess.Popen([programs / "reckon-init", "1000"]) as process:
        try:
            leftovers = Leftovers([programs], cgroups)
            assert leftovers.new() == []
            leftovers.kill()
            assert process.poll() is None
        finally:
            process.kill()


def test_only_new_wardens_are_ended(programs, cgroups):
    with subprocess.Popen([programs / "reckon-warden", "1000"]) as old:
        leftovers = Leftovers([programs], cgroups)
        with subprocess.Popen([programs / "reckon-warden", "1000"]) as new, \
                subprocess.Popen([programs / "reckon-init", "1000"]) as other:
            try:
                leftovers.end_wardens()
                assert new.wait(30) == -15
                assert other.poll() is None
                assert old.poll() is None
            finally:
                for process in (old, new, other):
                    process.kill()


def test_empty_cgroups_are_leftovers_and_busy_ones_are_not(programs, cgroups):
    leftovers = Leftovers([programs], cgroups)
    empty = plant_cgroup(cgroups, "reckon-4194305", "")  # no process has such a large pid
    busy = plant_cgroup(cgroups, "reckon-4194306", "")
    (busy / "session").mkdir()
    (busy / "session" / "cgroup.procs").write_text("12345\n")
    plant_cgroup(cgroups, "somebody-else", "")
    # Cgroups of a warden in a container do not count.
    plant_cgroup(cgroups, "reckon-package-test-1", "")
    plant_cgroup(cgroups, "somebody-else/reckon-4194307", "")
    assert leftovers.new() == [("cgroup", str(empty), "")]


def test_cgroups_are_searched_where_a_warden_makes_them():
    """A cgroup that the test makes below its own is found, in v1 and in v2."""
    homes = own_groups()
    assert homes and all(home.is_dir() for home in homes)
    leftovers = Leftovers([])
    made = []
    try:
        for home in homes:
            try:
                (home / "reckon-4194305").mkdir()
                made.append(home / "reckon-4194305")
            except OSError:
                continue  # without root, or in a read-only hierarchy
        found = {path for _, path, _ in leftovers.new() if path.endswith("reckon-4194305")}
        assert found == {str(path) for path in made}
    finally:
        for folder in made:
            folder.rmdir()


def test_mounts_are_read_from_this_namespace():
    points = {point for _, point, _ in Leftovers.mounts()}
    text = pathlib.Path("/proc/self/mountinfo").read_text()
    assert all("reckon" in point and point in text for point in points)
    assert len(points) <= text.count("reckon")


def test_a_folder_without_permission_is_not_reachable(tmp_path):
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    stranger = os.geteuid() + 1
    assert not reachable(inner, stranger)
    assert reachable("/usr/bin/env", stranger)
