"""Helpers for dialects whose clients send a program and get its result: requests, large bodies, disconnects.

    with Server(reckon) as server:
        answer = post(server, "/dify/v1/sandbox/run", {...})
        check_nothing_stays(server)
"""
import json
import socket
import time

from reckon_serve import SECONDS

ENDED = ("closed", "expired", "lost")


def ask(server, method, path, body=None, headers=None, key=True):
    """One request with the key in X-Api-Key; a dict or list goes as JSON."""
    own = {"X-Api-Key": server.key} if key else {}
    if body is not None and not isinstance(body, (bytes, str)) and \
            not hasattr(body, "read"):
        body = json.dumps(body)
    return server.ask(method, path, body,
                      {"Content-Type": "application/json", **own, **(headers or {})}, key=False,
                      prefix="")


def post(server, path, body, **more):
    return ask(server, "POST", path, body, **more)


def url(server, path, scheme="http"):
    """A URL that contains the key, for clients that accept only a URL."""
    return f"{scheme}://any:{server.key}@127.0.0.1:{server.port}{path}"


def sessions(server):
    return server.ask("GET", "/sessions?limit=500").json["sessions"]


def runs(server, session):
    """Whether a cell or a process of the session runs."""
    return session["pending"] or server.ask(
        "GET", f"/sessions/{session['id']}/processes?state=running").json["processes"]


def check_nothing_stays(server, least=1):
    """Checks that there were at least `least` sessions and that none of them lives."""
    end = time.monotonic() + SECONDS
    while live := [each for each in sessions(server) if each["status"] not in ENDED]:
        assert time.monotonic() < end, live
        time.sleep(0.02)
    assert len(sessions(server)) >= least


def check_client_gone(server, path, body):
    """Checks that the session ends when a client disconnects while its program runs.

    `body` must start a program that runs for longer than this test waits.
    """
    text = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {server.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode()
    before = {each["id"] for each in sessions(server)}
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as sock:
        sock.sendall(head + text)
        end = time.monotonic() + SECONDS
        while not (running := [each for each in sessions(server) if each["id"] not in before and
                               each["status"] == "live" and runs(server, each)]):
            assert time.monotonic() < end, "it does not begin"
            time.sleep(0.02)
    end = time.monotonic() + SECONDS
    while server.ask("GET", "/sessions/" + running[0]["id"]).status != 410:
        assert time.monotonic() < end, "the session outlives its client"
        time.sleep(0.02)


def oversized(server, path, size):
    """(status, body) for a request whose Content-Length is `size`."""
    raw = server.raw((f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {server.key}\r\n"
                      "Content-Type: application/json\r\nConnection: close\r\n"
                      f"Content-Length: {size}\r\n\r\n").encode())
    head, _, body = raw.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)
