"""Clients that generators make from the OpenAPI document work without changes.

Each creates a session, executes (an answer, an error, in the background with its events), writes,
reads and lists a file, is refused, and deletes the session. tools/setup.sh installs the generators
from the lock files of test/sdks/generated into build/sdks/generated.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from reckon_cli import ROOT
from reckon_serve import Server

SOURCES = ROOT / "test" / "sdks" / "generated"
TOOLS = ROOT / "build" / "sdks" / "generated"
SECONDS = 300
EXPECTED = {
    "stdout": "42\n", "kinds": ["stream", "stream", "execute_result"],
    "raised": "ZeroDivisionError", "events": "done", "put": 5, "got": "hello",
    "listed": ["a/ä 1.txt"], "refused": [400, "invalid", True], "deleted": 200, "gone": 410}

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("as_user", ["root"], indirect=True)]


def run(*command, cwd, **env):
    path = f"{ROOT / 'build/venv/bin'}:{TOOLS / 'venv/bin'}:{os.environ['PATH']}"
    done = subprocess.run(command, cwd=cwd, env={**os.environ, "PATH": path, **env},
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        pytest.fail(f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}", pytrace=False)
    return done.stdout


@pytest.fixture(name="server")
def serve(reckon):
    with Server(reckon) as running:
        yield running


@pytest.fixture(name="document")
def fetch_document(server, tmp_path):
    """The document as the server sends it."""
    path = tmp_path / "openapi.json"
    path.write_bytes(server.ask("GET", "/openapi.json").body)
    return path


def drive(server, *command, cwd, **env):
    return json.loads(run(*command, f"http://127.0.0.1:{server.port}", server.key, cwd=cwd, **env))


def test_openapi_python_client(server, document, tmp_path):
    made = run("openapi-python-client", "generate", "--path", str(document), "--meta", "none",
               "--output-path", str(tmp_path / "openapi_python"), cwd=tmp_path)
    assert "WARNING" not in made, made
    assert drive(server, str(TOOLS / "venv/bin/python"), str(SOURCES / "python_client.py"),
                 cwd=tmp_path, PYTHONPATH=str(tmp_path)) == EXPECTED


def test_openapi_generator(server, document, tmp_path):
    run("openapi-generator-cli", "generate", "-i", str(document), "-g", "python", "-o",
        str(tmp_path / "made"), "--additional-properties=packageName=openapi_generated",
        cwd=tmp_path)
    assert drive(server, str(TOOLS / "venv/bin/python"), str(SOURCES / "generator_client.py"),
                 cwd=tmp_path, PYTHONPATH=str(tmp_path / "made")) == EXPECTED


def test_openapi_typescript(server, document, tmp_path):
    """The program is checked strictly against the types, and run. Without the option, a field with
    a default would be required."""
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(SOURCES / "typescript_client.ts", tmp_path)
    bin_dir = pathlib.Path("node_modules/.bin")
    run("node", str(bin_dir / "openapi-typescript"), "--default-non-nullable=false", str(document),
        "-o", "schema.d.ts", cwd=tmp_path)
    run("node", str(bin_dir / "tsc"), "--strict", "--noUncheckedIndexedAccess", "--module",
        "nodenext", "--target", "es2022", "--skipLibCheck", "--types", "node",
        "typescript_client.ts", cwd=tmp_path)
    assert drive(server, "node", "typescript_client.js", cwd=tmp_path) == EXPECTED
