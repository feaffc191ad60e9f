"""An interrupted fork leaves no snapshot: its client disconnects, its front or the daemon is killed."""
import json
import os
import signal
import socket
import struct
import threading
import time

from e2b_client import front_of
from reckon_serve import SECONDS


def snapshots(server):
    return server.ask("GET", "/snapshots").json["snapshots"]


def begin(server, sandbox, count):
    """Requests forks and returns the connection once the snapshot exists."""
    sock = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    body = json.dumps({"count": count, "timeout": 600})
    sock.sendall(f"POST /sandboxes/{sandbox['sandboxID']}/fork HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {server.e2b_key}\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    end = time.monotonic() + SECONDS
    while not snapshots(server):
        assert time.monotonic() < end
    return sock


def reset(sock):
    """Closes with RST, because after a FIN a client may still wait for its response."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def gone(server):
    end = time.monotonic() + SECONDS
    while left := snapshots(server):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def make(server):
    """A sandbox with so many files that restoring them takes a while."""
    sandbox = server.sandbox(timeout=600)
    body = b"".join(b'--b\r\nContent-Disposition: form-data; name="file"; filename="f%d"\r\n\r\n%d\r\n' % (i, i) for i in range(250))
    assert server.data(sandbox, 49983, "POST", "/files", body + b"--b--", **{"Content-Type": "multipart/form-data; boundary=b"})[0] == 200
    return sandbox


def audited(server, action):
    return [each for each in server.ask("GET", "/audit?limit=500").json["entries"] if each["action"] == action]


def test_a_fork_whose_client_disconnects(server):
    sandbox = make(server)
    reset(begin(server, sandbox, 20))
    gone(server)
    assert [each["target"] for each in audited(server, "snapshot.create")] == [each["target"] for each in audited(server, "snapshot.delete")]
    # The same holds for clients that disconnect before the snapshot is made.
    for _ in range(5):
        connection = server.connect()
        connection.request("POST", f"/sandboxes/{sandbox['sandboxID']}/fork", json.dumps({"count": 20}), {"X-API-Key": server.e2b_key})
        reset(connection.sock)
    time.sleep(1)
    gone(server)
    # A client that waits gets all forks, and no snapshot remains either.
    made = server.control("POST", f"/sandboxes/{sandbox['sandboxID']}/fork", {"count": 2, "timeout": 600})[2]
    assert [list(each) for each in made] == [["sandbox"]] * 2 and snapshots(server) == []
    assert server.data(made[1]["sandbox"], 49983, "GET", "/files?path=f7")[2] == 7


def test_a_fork_whose_front_is_killed(server):
    sock = begin(server, make(server), 20)
    os.kill(front_of(server), signal.SIGKILL)
    gone(server)
    sock.close()


def test_a_fork_whose_daemon_is_killed(server):
    sandbox = make(server)
    mine = server.ask("POST", f"/sessions/se_{sandbox['sandboxID'].upper()}/snapshots", {"name": "mine"}).json["id"]
    assert server.ask("DELETE", f"/snapshots/{mine}").status in (200, 204)
    sock = begin(server, sandbox, 20)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    sock.close()
    server.start()
    gone(server)
    # A snapshot that a client made survives a crash.
    stored = server.ask("POST", f"/sessions/se_{sandbox['sandboxID'].upper()}/snapshots", {"name": "mine"}).json["id"]
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    time.sleep(2)
    assert [each["id"] for each in snapshots(server)] == [stored]


def test_a_client_cannot_request_a_held_snapshot(server):
    sandbox = server.sandbox()
    answer = server.ask("POST", f"/sessions/se_{sandbox['sandboxID'].upper()}/snapshots", {"held": True})
    assert answer.status == 400 and "held" in str(answer.json), answer.json
