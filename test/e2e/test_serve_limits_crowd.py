"""As many concurrent requests as the daemon accepts, and one more, which gets 429 `busy`."""
import contextlib
import http.client
import json
import select
import socket

import pytest
from reckon_serve import PREFIX, SECONDS, Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
SLEEP = {"argv": ["sleep", "300"]}


class Open:
    """Requests whose responses are not read yet."""

    def __init__(self, server):
        self.server, self.sockets = server, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in self.sockets:
            sock.close()

    def begin(self, method, path, body=b"", length=None):
        sock = socket.create_connection(("127.0.0.1", self.server.port), SECONDS)
        self.sockets.append(sock)
        sock.sendall(f"{method} {PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {self.server.key}\r\n"
                     f"Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body)
        return sock

    def one_is_busy(self, then):
        """All places are taken when the first request is refused. `then` completes the others;
        returns their statuses."""
        assert select.select(self.sockets, [], [], SECONDS)[0], "nobody is refused"
        then()
        statuses = []
        for sock in self.sockets:
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            statuses.append(answer.status)
            body = json.loads(answer.read() or b"{}")
            assert answer.status != 429 or body["error"]["code"] == "busy", body
        assert statuses.count(429) == 1, statuses
        statuses.remove(429)
        return set(statuses)


def test_uploads(reckon):
    """Sixty-four files are uploaded at once; one more is refused, and none of them is cut off."""
    with Server(reckon) as server, Open(server) as sending:
        session = server.create()
        for number in range(65):
            sending.begin("PUT", f"/sessions/{session}/files/f{number}", b"x", 2)

        def end():
            for sock in sending.sockets:
                with contextlib.suppress(OSError):  # the one that was refused
                    sock.sendall(b"y")
        assert sending.one_is_busy(end) == {200}
        files = server.ask("GET", f"/sessions/{session}/files").json["files"]
        assert [each["size"] for each in files] == [2] * 64, files[:1]
        assert server.ask("PUT", f"/sessions/{session}/files/one", b"more").status == 200


def test_processes_and_waits_for_one_of_them(reckon):
    with Server(reckon) as server, Open(server) as waiting:
        session = server.create(limits={"processes": 600, "memory_bytes": 2 << 30})
        path = f"/sessions/{session}/processes"
        first, *others = [server.ask("POST", path, SLEEP) for _ in range(256)]
        assert {answer.status for answer in (first, *others)} == {201}
        refused = server.ask("POST", path, SLEEP)
        assert (refused.status, refused.code) == (429, "busy"), refused
        assert int(refused.headers["Retry-After"]) >= 1
        for _ in range(257):
            waiting.begin("GET", f"{path}/{first.json['id']}/wait")
        assert waiting.one_is_busy(lambda: kill(server, session, first.json["id"])) == {200}
        assert server.ask("POST", path, SLEEP).status == 201


def kill(server, session, process):
    answer = server.ask("POST", f"/sessions/{session}/processes/{process}/signal",
                        {"signal": "KILL"})
    assert answer.status == 200, answer


@pytest.mark.parametrize("sizes", [[4 << 20] * 4 + [1], [1] * 257], ids=["bytes", "parts"])
def test_input_that_a_process_does_not_read(reckon, sizes):
    """At most 16 MiB wait, in at most 256 parts."""
    with Server(reckon) as server, Open(server) as sending:
        session = server.create()
        path = f"/sessions/{session}/processes"
        process = server.ask("POST", path, {**SLEEP, "stdin": True}).json["id"]
        # The pipe is full, so all later input waits.
        assert server.ask("POST", f"{path}/{process}/stdin", {"text": "x" * 65536}).status == 200
        for size in sizes:
            sending.begin("POST", f"{path}/{process}/stdin", json.dumps({"text": "y" * size}).encode())
        assert 429 not in sending.one_is_busy(lambda: kill(server, session, process))
