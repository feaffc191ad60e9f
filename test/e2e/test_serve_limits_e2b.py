"""Each limit of E2B's protocol at its edge: N is accepted, and N + 1 is refused in E2B's own
format."""
import base64
import collections
import json
import struct
import tempfile

import pytest
from e2b_client import ENVD, INTERPRETER, E2BServer
from reckon_cli import Reckon

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
STREAM = {"Content-Type": "application/connect+json"}
UNARY = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
MIB = 1 << 20

# name, maximum, words of the refusal, and a function that sends a request with `n` and returns its
# error
Row = collections.namedtuple("Row", "name most words ask")


@pytest.fixture(scope="module")
def server(place):
    with E2BServer(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running


@pytest.fixture(scope="module")
def sandbox(server):
    return server.sandbox()


# ---- envd: its calls ----------------------------------------------------------------------------------

def started(server, sandbox, process, **more):
    """Start a process; returns its error, or {}, and all messages."""
    body = json.dumps({"process": process, **more}).encode()
    status, _, data = server.data(sandbox, ENVD, "POST", "/process.Process/Start",
                                  struct.pack(">BI", 0, len(body)) + body, **STREAM)
    assert status == 200, data
    messages = []
    while data:
        length, = struct.unpack_from(">xI", data)
        messages.append(json.loads(data[5:5 + length]))
        data = data[5 + length:]
    return messages[-1].get("error", {}), messages


def called(server, sandbox, method, body):
    status, _, answer = server.data(sandbox, ENVD, "POST", f"/filesystem.Filesystem/{method}", body, **UNARY)
    return {} if status == 200 else answer


def folders(n):
    """A path of `n` bytes, of names that are short enough."""
    return ("d" * 99 + "/") * (n // 100) + "e" * (n % 100)


CALLS = [
    Row("arguments", 4095, "too long", lambda server, sandbox, n:
        started(server, sandbox, {"cmd": "/bin/true", "args": ["x"] * n})[0]),
    Row("variables", 240, "240 variables", lambda server, sandbox, n:
        started(server, sandbox, {"cmd": "/bin/true", "envs": {f"V{number}": "1" for number in range(n)}})[0]),
    Row("path", 4095 - len("/home/user/"), "path", lambda server, sandbox, n:
        called(server, sandbox, "Stat", {"path": folders(n)})),
    Row("message", 4 * MIB, "", lambda server, sandbox, n:
        called(server, sandbox, "Stat", json.dumps({"path": "/home/user"}).ljust(n).encode())),
]


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.name)
def test_calls(server, sandbox, row):
    taken, over = (row.ask(server, sandbox, row.most + more) for more in (0, 1))
    assert taken.get("code") in (None, "not_found"), taken
    assert over["code"] in ("invalid_argument", "resource_exhausted") and row.words in over["message"], over


def test_a_side_of_a_terminal(server, sandbox):
    """A larger side is cut to the maximum."""
    for side, shown in ((1000, 1000), (1001, 1000)):
        _, messages = started(server, sandbox, {"cmd": "/bin/stty", "args": ["size"]},
                              pty={"size": {"cols": side, "rows": side}})
        printed = b"".join(base64.b64decode(message["event"]["data"]["pty"]) for message in messages
                           if "data" in message.get("event", {}))
        assert printed.split() == [b"%d" % shown] * 2, messages


def test_maximum_depth_of_a_list(server, sandbox):
    path = "/".join(["deep"] + ["d"] * 33)
    assert called(server, sandbox, "MakeDir", {"path": path}) == {}
    for depth, seen in ((31, 31), (32, 32), (33, 32)):
        status, _, answer = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/ListDir",
                                        {"path": "deep", "depth": depth}, **UNARY)
        assert status == 200 and len(answer["entries"]) == seen, (depth, answer)


def test_watchers_of_a_folder(server, sandbox):
    assert called(server, sandbox, "MakeDir", {"path": "watched"}) == {}
    made = [called(server, sandbox, "CreateWatcher", {"path": "watched"}) for _ in range(17)]  # WATCH_READERS_MAX
    assert made[:16] == [{}] * 16 and made[16]["code"] == "resource_exhausted", made


# ---- envd: files --------------------------------------------------------------------------------------

def put(server, sandbox, path, body, **headers):
    status, _, answer = server.data(sandbox, ENVD, "POST", f"/files?path={path}", body,
                                    **{"Content-Type": "application/octet-stream", **headers})
    return {} if status == 200 else answer


FILES = [
    Row("metadata", 4096, "4096 bytes", lambda server, sandbox, n: put(
        server, sandbox, "/dev/shm/m", b"x", **{"X-Metadata-a": "x" * (n - 1)})),
    Row("name of metadata", 246, "246 bytes", lambda server, sandbox, n: put(
        server, sandbox, "m", b"x", **{"X-Metadata-" + "a" * n: "x"})),
    Row("file beside the workspace", 64 * MIB, "64 MiB", lambda server, sandbox, n: put(
        server, sandbox, "/tmp/large", b"x" * n)),
]


@pytest.mark.parametrize("row", FILES, ids=lambda row: row.name)
def test_files(server, sandbox, row):
    taken, over = (row.ask(server, sandbox, row.most + more) for more in (0, 1))
    assert taken == {} or "4096 bytes" not in taken["message"] and row.name == "metadata", taken
    assert over["code"] in (400, 413) and row.words in over["message"], over


# ---- the interpreter and the control plane ------------------------------------------------------------

def test_the_folder_of_a_context_is_not_cut(server, sandbox):
    """reckond accepts a folder of at most 1023 bytes; a longer one is refused, not cut."""
    most = 1023 - len("/mnt/data/")
    assert called(server, sandbox, "MakeDir", {"path": folders(most)}) == {}
    where = "/home/user/" + folders(most)
    status, _, answer = server.data(sandbox, INTERPRETER, "POST", "/contexts", {"cwd": where})
    assert status == 200 and answer["cwd"] == where, answer
    status, _, shown = server.data(sandbox, INTERPRETER, "POST", "/execute", {
        "code": "import os\nlen(os.getcwd())", "context_id": answer["id"]})
    assert status == 200 and b"1023" in shown, shown
    status, _, answer = server.data(sandbox, INTERPRETER, "POST", "/contexts", {"cwd": where + "e"})
    assert status == 400 and "cwd" in str(answer), answer


QUERIES = [
    ("/snapshots?sandboxID=", 255),  # VALUE_SIZE with the NUL
    ("/v2/sandboxes?metadata=a%3D", 4095 - len("a=")),
]


@pytest.mark.parametrize("path, most", QUERIES)
def test_queries(server, path, most):
    for over in (0, 1):
        status, _, answer = server.control("GET", path + "x" * (most + over))
        if over == 1:
            assert (status, answer["code"]) == (400, 400) and "malformed" in answer["message"], answer
        else:
            assert status in (200, 404) or "malformed" not in answer["message"], answer
