"""More than a gigabyte goes through `reckon serve` in each direction: its processes do not grow."""
import json
import tarfile

import pytest
from reckon_serve import Server, memory_kib

pytestmark = pytest.mark.slow

PIECE = bytes(range(256)) * 4096  # 1 MiB
COUNT = 1100
GROWTH_KIB = 16 * 1024


def send(server, path, pieces, length):
    connection = server.connect(timeout=600)
    connection.putrequest("PUT", f"/reckon/v1{path}")
    for name, value in server.headers({"Content-Length": str(length)}).items():
        connection.putheader(name, value)
    connection.endheaders()
    for piece in pieces:
        connection.send(piece)
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    assert response.status == 200, body
    return body


def receive(server, path):
    connection = server.connect(timeout=600)
    connection.request("GET", f"/reckon/v1{path}", None, server.headers())
    response = connection.getresponse()
    assert response.status == 200, response.read()
    got = 0
    while part := response.read(1 << 20):
        got += len(part)
    connection.close()
    return got


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_memory_does_not_grow_with_a_gigabyte_of_files(reckon):
    with Server(reckon) as server:
        session = server.create(limits={"disk_bytes": 3 << 30, "file_bytes": 2 << 30})
        pids = [server.process.pid, server.front()]
        before = [memory_kib(pid) for pid in pids]
        size = COUNT << 20
        put = send(server, f"/sessions/{session}/files/in/large", (PIECE for _ in range(COUNT)),
                   size)
        assert put["size"] == size and put["artifact"] is None, "too large for an artifact"
        assert receive(server, f"/sessions/{session}/files/in/large") == size
        assert receive(server, f"/sessions/{session}/archive?format=tar&path=in") > size
        server.ask("DELETE", f"/sessions/{session}/files/in?recursive=1")

        head = tarfile.TarInfo("large")
        head.size = size
        reply = send(server, f"/sessions/{session}/archive",
                    (piece for part in ([head.tobuf()], (PIECE for _ in range(COUNT)))
                     for piece in part), size + 512)
        assert reply["bytes"] == size
        after = [memory_kib(pid) for pid in pids]
        assert all(now - was < GROWTH_KIB for was, now in zip(before, after)), (before, after)
