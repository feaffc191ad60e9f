"""The disk of the state directory is full: everything that is stored can be read, downloaded and
deleted.

The tests go through the rows of the API's table, so that they also cover rows that are added later.
"""
import contextlib
import re
import signal
import subprocess

import field_table
import pytest
from e2b_client import ENVD, E2BServer
from mcp_client import Mcp
from reckon_serve import Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

# Operations that the tests do not call: models and runs, an endless stream, the end of a drain.
ELSEWHERE = {
    "GET agent/{id}", "GET agent/{id}/events", "GET agent/{id}/conversation", "DELETE agent/{id}",
    "DELETE agent", "GET models", "GET sessions/{session}/watch", "DELETE drain",
}
CODE = r"""
import os
os.mkdir('d')
open('a', 'w').write('a' * 9)
open('d/b', 'w').write('b' * 90_000)
print('y' * 2_000_000)
"""


@pytest.fixture
def small_disk(reckon):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", reckon.state],
                   check=True)
    yield reckon.state
    subprocess.run(["umount", "-l", reckon.state], check=True)


def fill(folder):
    for name in ("filler", "crumbs"):  # the second fills what the reserve frees after the first
        with contextlib.suppress(OSError), open(folder / name, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))


def ready(server):
    """The reason why the daemon is not ready: a disk this small always gives one."""
    answer = server.ask("GET", "/ready")
    assert (answer.status, answer.code) == (503, "not_ready"), answer
    return answer.json["error"]["message"].removeprefix("the disk of the state directory ")


class StoredObjects:
    """One object of each kind that a daemon stores; `names` are the parameters of the table's
    paths."""

    def __init__(self, server):
        def make(path, body, **headers):
            answer = server.ask("POST", path, body, headers)
            assert answer.status in (200, 201), (path, answer)
            return answer.json
        self.session = make("/sessions", {"template": "python"})["id"]
        own = f"/sessions/{self.session}"
        record = server.execute(self.session, CODE)
        process = make(f"{own}/processes", {"command": "echo out"})["id"]
        assert server.ask("GET", f"{own}/processes/{process}/wait").status == 200
        self.volume = make("/volumes", {"name": "shared"})["id"]
        assert server.ask("PUT", "/volumes/shared/files/v", b"vol").status == 201
        link = make(f"{own}/links", {"path": "a"})
        self.names = {
            "session": self.session, "execution": record["id"], "process": process,
            "context": make(f"{own}/contexts", {"language": "python"})["id"], "link": link["id"],
            "artifact": record["files"][0]["artifact"],
            "snapshot": make(f"{own}/snapshots", {})["id"],
            "volume": "shared", "file": make("/files?name=x", b"abc")["id"], "collection": "c",
            "handle": record["truncated"]["stdout"]["handle"],
            "token": link["url"].split("/links/")[1].split("/")[0], "template": "python",
        }
        self.document = make("/documents/c", {"value": {"a": 1}})["id"]
        self.tenant = make("/tenants", {"name": "other"})["id"]
        self.key = make("/keys", {"name": "k", "scopes": ["read"]})["id"]

    def path(self, call):
        """The row's path with the ids of the stored objects."""
        names = {**self.names, "id": {"documents": self.document, "tenants": self.tenant,
                                      "keys": self.key}.get(call.path.split("/")[0], ""),
                 "path": "v" if call.path.startswith("volumes") else "d/b" if "session" in call.path
                 else "a"}
        return re.sub(r"\{(\w+)\}", lambda match: names[match[1]], call.path)


def rows(verb):
    return [call for call in field_table.table().CALLS
            if call.verb == verb and call.path and f"{verb} {call.path}" not in ELSEWHERE]


def ask(server, call, path):
    query = "?path=v" if call.name == "volume_stat" else ""
    return server.ask(call.verb, ("/" if path[0] != "/" else "") + path + query,
                      **({"prefix": ""} if path[0] == "/" else {}))


def check_reads(server, stored):
    for call in rows("GET"):
        if call.name in ("ready",):
            continue
        answer = ask(server, call, stored.path(call))
        assert answer.status == 200, (call.path, answer)
        if call.name == "file_get":
            assert answer.body == b"b" * 90_000


def check_deletions(server, stored):
    """Parts are deleted before the objects that contain them; the table lists sessions first."""
    for call in sorted(rows("DELETE"), key=lambda call: -call.path.count("/")):
        answer = ask(server, call, stored.path(call))
        assert answer.status == 200, (call.path, answer)


def test_stored_objects_can_be_read_and_deleted(reckon, small_disk):
    with Server(reckon) as server:
        stored = StoredObjects(server)
        fill(small_disk)
        assert ready(server) == "is full"
        for _ in range(2):
            check_reads(server, stored)
        check_deletions(server, stored)
        assert server.ask("GET", f"/sessions/{stored.session}").code == "session_closed"
        for name in ("filler", "crumbs"):
            (small_disk / name).unlink(missing_ok=True)
        assert ready(server) == "has less than 64 MiB left"
        assert server.execute(server.create(), "print(1)")["stdout"] == "1\n"


def test_a_daemon_that_is_killed_on_a_full_disk_restarts(reckon, small_disk):
    """Its sessions get boxes again so that their files can be read, and can be deleted."""
    with Server(reckon) as server:
        stored = StoredObjects(server)
        fill(small_disk)
        assert ready(server) == "is full"
        server.stop(signal.SIGKILL)
        server.start()
        own = f"/sessions/{stored.session}"
        for path in (own, f"{own}/files", f"{own}/files/d/b", f"{own}/archive", f"{own}/executions",
                     f"/artifacts/{stored.names['artifact']}", "/volumes/shared/files/v"):
            answer = server.ask("GET", path)
            assert answer.status == 200, (path, answer)
        for path in (f"{own}/files/a", f"/snapshots/{stored.names['snapshot']}", "/volumes/shared",
                     own):
            answer = server.ask("DELETE", path)
            assert answer.status == 200, (path, answer)


# ---- in other protocols -------------------------------------------------------------------------

FORM = (b"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n"
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nabc\r\n"
        b"--b--\r\n")
FORM_TYPE = {"Content-Type": "multipart/form-data; boundary=b"}


def openai(server):
    file = server.ask("POST", "/openai/v1/files", FORM, FORM_TYPE, prefix="").json["id"]
    container = server.ask("POST", "/openai/v1/containers", {"name": "c"}, prefix="").json["id"]
    yield [("/openai/v1/files", None), (f"/openai/v1/files/{file}", None),
           (f"/openai/v1/files/{file}/content", b"abc"), ("/openai/v1/containers", None),
           (f"/openai/v1/containers/{container}", None),
           (f"/openai/v1/containers/{container}/files", None)]
    yield [f"/openai/v1/files/{file}", f"/openai/v1/containers/{container}"]


def anthropic(server):
    file = server.ask("POST", "/anthropic/v1/files", FORM, FORM_TYPE, prefix="").json["id"]
    yield [("/anthropic/v1/files", None), (f"/anthropic/v1/files/{file}", None)]
    yield [f"/anthropic/v1/files/{file}"]


def librechat(server):
    code = {"lang": "py", "code": "open('a', 'w').write('abc')", "user_id": "u", "entity_id": "e"}
    done = server.ask("POST", "/librechat/exec", code, prefix="").json
    place = f"{done['files'][0]['storage_session_id']}/{done['files'][0]['id']}?kind=user&id=x"
    yield [(f"/librechat/download/{place}", b"abc")]
    yield []


def jupyter(server):
    kernel = server.ask("POST", "/jupyter/api/kernels", {"name": "python3"}, prefix="").json["id"]
    file = {"type": "file", "format": "text", "content": "abc"}
    assert server.ask("PUT", "/jupyter/api/contents/a.txt", file, prefix="").status == 201
    yield [("/jupyter/api/kernels", None), (f"/jupyter/api/kernels/{kernel}", None),
           ("/jupyter/api/contents", None), ("/jupyter/api/contents/a.txt", None),
           ("/jupyter/files/a.txt", b"abc")]
    yield ["/jupyter/api/contents/a.txt", f"/jupyter/api/kernels/{kernel}"]


@pytest.mark.parametrize("protocol", [openai, anthropic, librechat, jupyter])
def test_a_protocol_reads_and_deletes(reckon, small_disk, protocol):
    with Server(reckon) as server:
        steps = protocol(server)
        reads = next(steps)
        fill(small_disk)
        assert ready(server) == "is full"
        for path, content in 2 * reads:
            answer = server.ask("GET", path, prefix="")
            assert answer.status == 200, (path, answer)
            assert content in (None, answer.body), path
        for path in next(steps):
            answer = server.ask("DELETE", path, prefix="")
            assert answer.status in (200, 204), (path, answer)


def test_mcp_reads_and_deletes(reckon, small_disk):
    with Server(reckon) as server:
        mcp = Mcp(server)
        ran = mcp.call("run_code", code="open('a', 'w').write('abc')")
        session = ran["structuredContent"]["session"]
        fill(small_disk)
        assert ready(server) == "is full"
        for action, more in (("list", {}), ("read", {"path": "a"}), ("delete", {"path": "a"})):
            answer = mcp.call("files", action=action, session=session, **more)
            assert not answer["isError"], (action, answer)
        assert mcp.ask("resources/list")["resources"] is not None
        assert not mcp.call("session", action="end", session=session)["isError"]


def test_e2b_reads_and_deletes(reckon, small_disk):
    with E2BServer(reckon) as server:
        sandbox = server.sandbox()
        path = "/files?path=/home/user/a.txt&username=user"
        status, _, made = server.data(sandbox, ENVD, "POST", path, FORM, **FORM_TYPE)
        assert status == 200, made
        fill(small_disk)
        assert ready(server) == "is full"
        assert server.data(sandbox, ENVD, "GET", path)[::2] == (200, b"abc")
        for path in ("/v2/sandboxes", f"/sandboxes/{sandbox['sandboxID']}"):
            assert server.control("GET", path)[0] == 200
        assert server.control("DELETE", f"/sandboxes/{sandbox['sandboxID']}")[0] == 204
