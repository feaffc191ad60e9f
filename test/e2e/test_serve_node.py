"""The daemon and a client of Node: fetch, web streams, AbortController."""
import json
import pathlib
import shutil
import subprocess

import pytest
from reckon_serve import Server

CLIENT = pathlib.Path(__file__).with_name("serve_client.mjs")

pytestmark = pytest.mark.parametrize("as_user", ["rootless"], indirect=True)


def test_a_client_of_node(reckon):
    with Server(reckon) as server:
        done = subprocess.run([shutil.which("node") or "node", str(CLIENT),
                               f"http://127.0.0.1:{server.port}", server.key],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {
            "stdout": "42\n", "error": "ZeroDivisionError",
            "refused": [400, "invalid", "string"],
            "streamed": "".join(f"é {i}\n" for i in range(5)), "last": "done",
            "afterLeaving": "True\n", "put": 200, "cached": 304,
            "inBox": "['Überblick 1.bin']\n", "counted": "12\n", "once": "112\n",
            "deleted": 200, "gone": 410}
