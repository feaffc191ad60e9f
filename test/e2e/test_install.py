"""An installed tree runs also after it was moved."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

import pytest
from reckon_cli import ROOT
from waiting import eventually

SECONDS = 60


@pytest.fixture(scope="module")
def moved(place):
    """An installed tree, moved from its prefix to a folder that the user can reach."""
    target = place.base / "destdir"
    subprocess.run(["meson", "install", "-C", ROOT / "build", "--no-rebuild", "--quiet",
                    "--destdir", target], check=True, capture_output=True)
    tree = place.base / "elsewhere"
    prefix, = (path.parent.parent for path in target.rglob("bin/reckon"))
    shutil.move(prefix, tree)
    return tree


def call(reckon, tree, *words, **options):
    return subprocess.run([tree / "bin/reckon", *words], cwd=reckon.cwd, env=reckon.env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                          check=False, **reckon.user.switch, **options)


def test_it_runs_cells(reckon, moved):
    done = call(reckon, moved, "run", "--private", "-c", "print(6 * 7)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")
    done = call(reckon, moved, "run", "--private", "-l", "bash", "-c", "echo $((6 * 7))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_it_finds_the_definitions_of_its_templates(reckon, moved):
    reckon.env["RECKON_TEMPLATES"] = str(reckon.state / "templates")
    done = call(reckon, moved, "template", "build", "python")
    assert done.returncode == 0, done.stderr
    done = call(reckon, moved, "run", "--private", "-c", "print(6 * 7)")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


def test_its_daemon_finds_its_front_and_warden(reckon, moved):
    """reckond runs from libexec and finds its front and the warden."""
    log = open(reckon.work / "serve.log", "wb")
    with subprocess.Popen([moved / "bin/reckon", "serve", "--listen", "127.0.0.1:0", "--state",
                           reckon.state], cwd=reckon.cwd, env=reckon.env, text=True,
                          stdout=subprocess.PIPE, stderr=log, **reckon.user.switch) as daemon:
        try:
            printed = ""
            while "listening" not in printed:
                line = daemon.stdout.readline()
                assert line, (reckon.work / "serve.log").read_text()
                printed += line
            key = re.search(r"rk_[\w-]+", printed)[0]
            url = re.search(r"listening on (\S+)", printed)[1] + "/reckon/v1"

            def ask(path, body):
                request = urllib.request.Request(url + path, json.dumps(body).encode(),
                                                 {"Authorization": "Bearer " + key})
                return json.load(urllib.request.urlopen(request, timeout=SECONDS))

            session = ask("/sessions", {})["id"]
            assert ask(f"/sessions/{session}/executions", {"code": "print(6 * 7)"})["stdout"] == "42\n"
        finally:
            daemon.terminate()
            daemon.wait(SECONDS)
            end_wardens(moved)


def end_wardens(tree):
    """Ends the wardens of this tree, which would wait for the next client."""
    warden = os.stat(tree / "libexec/reckon/reckon-warden")
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            found = os.stat(f"/proc/{entry}/exe")
            if (found.st_dev, found.st_ino) == (warden.st_dev, warden.st_ino):
                os.kill(int(entry), 15)
        except OSError:
            continue


# ---- upgrades -----------------------------------------------------------------------------------

def replace_program(tree, name):
    """Replaces the program as an upgrade does: another file under the same name."""
    path = tree / "libexec/reckon" / name
    shutil.copy2(path, f"{path}.new")
    os.rename(f"{path}.new", path)
    os.utime(path)


def running(tree, name):
    """PIDs of the processes that run this program or a version that it replaced."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            path = os.path.realpath(os.readlink(f"/proc/{entry}/exe").removesuffix(" (deleted)"))
            state = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if path == os.path.realpath(tree / "libexec/reckon" / name) and state not in "ZX":
            found.append(int(entry))
    return found


def test_a_replaced_warden_ends_after_its_last_client(reckon, moved):
    code = "import time\nprint('begun', flush=True)\ntime.sleep(2)\nprint('done')"
    first = subprocess.Popen([moved / "bin/reckon", "run", "-c", code], cwd=reckon.cwd,
                             env=reckon.env, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, **reckon.user.switch)
    try:
        assert first.stdout.readline() == "begun\n"
        old = set(running(moved, "reckon-warden"))
        assert old
        replace_program(moved, "reckon-warden")
        # The old warden serves its client to the end; the next client gets a new one.
        done = call(reckon, moved, "run", "-c", "print(2)")
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
        assert set(running(moved, "reckon-warden")) - old
        assert first.communicate(timeout=SECONDS)[0] == "done\n" and first.returncode == 0
        eventually(lambda: not old & set(running(moved, "reckon-warden")))
    finally:
        first.kill()
        first.wait()
        end_wardens(moved)


def test_an_old_private_daemon_is_replaced_if_no_variables_are_lost(reckon, moved):
    def ask(*words):
        done = call(reckon, moved, *words)
        assert done.returncode == 0, done.stderr
        return done

    try:
        ask("run", "-s", "kept", "-c", "x = 6; open('file', 'w').write('7')")
        (old,) = running(moved, "reckond")
        assert "version" not in ask("session", "ls").stderr
        replace_program(moved, "reckond")
        done = ask("run", "-s", "kept", "-c", "print(x)")
        assert done.stdout == "6\n" and "1 session would lose variables" in done.stderr
        assert running(moved, "reckond") == [old]
        ask("session", "rm", "kept")
        done = ask("session", "ls")
        assert "was started anew" in done.stderr
        (new,) = running(moved, "reckond")
        assert new != old
        # A session without a kernel has no variables to lose.
        ask("run", "-s", "parked", "-c", "open('file', 'w').write('7')")
        os.kill(new, 15)
        eventually(lambda: not running(moved, "reckond"))
        assert "parked" in ask("session", "ls").stdout
        replace_program(moved, "reckond")
        done = ask("files", "ls", "-s", "parked")
        assert "file" in done.stdout and "was started anew" in done.stderr
        assert "version" not in ask("session", "ls").stderr
    finally:
        for pid in running(moved, "reckond"):
            os.kill(pid, 15)
        eventually(lambda: not running(moved, "reckond"))
        end_wardens(moved)
