"""Official SDKs of other services, each version installed in its own folder below the temporary directory.

    python = python_sdk("e2b-code-interpreter==2.11.5", "e2b==2.63.0")     the path of a python
    modules = node_sdk("@e2b/code-interpreter@2.8.0", "e2b@2.51.0")        a folder with node_modules
    site = python_tree("streamlit==1.67.0")                                a folder of these wheels and no others

The test fails if an SDK is not installed yet and the registries cannot be reached.
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
WHEELS = pathlib.Path(sys.executable).parent  # a wheel installs node and npm here


def install(kind, packages, commands):
    """Runs the commands in a folder, unless they have succeeded there before; returns the folder."""
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
    """Installs packages without dependencies, for a box whose template has those."""
    return install("tree", packages, lambda at: (
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--compile", "--target", str(at / "site"), *packages],)) / "site"


def node_sdk(*packages):
    return install("node", packages, lambda at: (
        ["npm", "init", "--yes"],
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *packages]))
