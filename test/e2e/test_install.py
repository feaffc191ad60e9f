"""An installed tree runs, as it was installed and wherever it was moved to."""
import json
import os
import re
import shutil
import subprocess
import urllib.request

import pytest
from reckon_cli import ROOT

SECONDS = 60


@pytest.fixture(scope="module")
def moved(place):
    """A tree that is not where its prefix says, and within the user's reach."""
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


def test_its_daemon_finds_the_rest(reckon, moved):
    """reckond is in libexec, beside its front and the warden."""
    log = open(reckon.work / "serve.log", "wb")
    with subprocess.Popen([moved / "bin/reckon", "serve", "--listen", "127.0.0.1:0", "--state",
                           reckon.state], cwd=reckon.cwd, env=reckon.env, text=True,
                          stdout=subprocess.PIPE, stderr=log, **reckon.user.switch) as daemon:
        try:
            said = ""
            while "listening" not in said:
                line = daemon.stdout.readline()
                assert line, (reckon.work / "serve.log").read_text()
                said += line
            key = re.search(r"rk_[\w-]+", said)[0]
            url = re.search(r"listening on (\S+)", said)[1] + "/reckon/v1"

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
    """The daemon's warden would wait for the next caller; it runs another file than the module's."""
    warden = os.stat(tree / "libexec/reckon/reckon-warden")
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            found = os.stat(f"/proc/{entry}/exe")
            if (found.st_dev, found.st_ino) == (warden.st_dev, warden.st_ino):
                os.kill(int(entry), 15)
        except OSError:
            continue
