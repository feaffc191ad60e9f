"""Official SDKs of other services, each version in a place of its own that lasts for a run of the machine.

    python = python_sdk("e2b-code-interpreter==2.11.5", "e2b==2.63.0")     the path of a python
    modules = node_sdk("@e2b/code-interpreter@2.8.0", "e2b@2.51.0")        a folder with node_modules
    site = python_tree("streamlit==1.67.0")                                a folder of these wheels and no others

Where the registries cannot be reached, and nothing is there yet, the test fails.
"""
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

PLACE = pathlib.Path(os.environ.get("RECKON_SDKS", pathlib.Path(tempfile.gettempdir()) / f"reckon-sdks-{os.getuid()}"))
MINUTES = 10 * 60
WHEELS = pathlib.Path(sys.executable).parent  # node and npm are a wheel in the tests' environment


def install(kind, packages, commands):
    """The folder in which the commands have succeeded, now or earlier."""
    name = kind + "-" + hashlib.sha256(json.dumps([sys.version_info[:2], packages]).encode()).hexdigest()[:16]
    PLACE.mkdir(mode=0o700, exist_ok=True)
    folder, made = PLACE / name, PLACE / name / "made"
    with open(PLACE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for command in commands(folder):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MINUTES,
                                  env={**os.environ, "PATH": f"{WHEELS}:{os.environ['PATH']}"})
            if done.returncode != 0:
                pytest.fail(f"{packages} cannot be installed here: {done.stderr[-300:]}")
        made.touch()
    return folder


def python_sdk(*packages):
    folder = install("python", packages, lambda at: (
        [sys.executable, "-m", "venv", str(at / "venv")],
        [str(at / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages]))
    return folder / "venv/bin/python"


def python_tree(*packages):
    """For a box, whose template has what they need besides."""
    return install("tree", packages, lambda at: (
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--compile", "--target", str(at / "site"), *packages],)) / "site"


def node_sdk(*packages):
    return install("node", packages, lambda at: (
        ["npm", "init", "--yes"],
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *packages]))
