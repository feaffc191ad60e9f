"""The toy dialect, which is only a folder, shares connections and errors with the native API.

These tests need a build with -Dextra_dialects=toy: tools/run-tests makes one in its lane clang, and
runs this file with RECKON_BIN. By hand:

    meson setup build-toy -Dextra_dialects=toy && ninja -C build-toy
    RECKON_BIN=build-toy/bin/reckon build/venv/bin/pytest test/dialects
"""
import http.client
import json
import time

import pytest
from reckon_serve import PREFIX, SECONDS, parse_json

pytestmark = pytest.mark.one_user  # nothing in a protocol depends on the user

SHOUT = "text = open('input').read(); open('output', 'w').write(text.upper()); print(len(text))"


def toy(server, method="GET", path="/toy", body=None, connection=None, **headers):
    """Sends a request with the key in X-Api-Key, where the toy expects it: (status, text)."""
    own = connection or server.connect()
    try:
        own.request(method, path, body, {"X-Api-Key": server.key, **headers})
        answer = own.getresponse()
        return answer.status, answer.read().decode()
    finally:
        if connection is None:
            own.close()


def native(server, connection, path="/sessions"):
    connection.request("GET", PREFIX + path, headers=server.headers())
    answer = connection.getresponse()
    return answer.status, parse_json(answer.read())


def states(server):
    return {each["name"]: each for each in server.ask("GET", "/ready").json["dialects"]}


def wait_for(server, state):
    end = time.monotonic() + SECONDS
    while states(server)["toy"]["state"] != state:
        assert time.monotonic() < end, states(server)
        time.sleep(0.02)


def crash(server):
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        toy(server, "POST", "/toy/crash")


def test_one_request_is_several_calls(server):
    """A request with X-Toy goes to the toy, also on a path of the native API."""
    status, text = toy(server, "POST", PREFIX + "/sessions", "many words", **{"X-Toy": SHOUT})
    events = [dict(line.split(": ", 1) for line in event.splitlines())
              for event in text.split("\n\n") if event]
    names = [event["event"] for event in events]
    assert status == 200 and names[-2:] == ["done", "file"], text
    assert [int(event["id"]) for event in events[:-1]] == list(range(1, len(events)))
    stream = events[names.index("stream")]
    assert json.loads(stream["data"])["text"] == "10\n"
    assert events[-1]["data"] == "MANY WORDS"
    [session] = server.ask("GET", "/sessions").json["sessions"]
    assert session["status"] == "closed"


def test_one_connection_has_requests_of_both_dialects(server):
    """Requests to both dialects on one connection: each process passes the connection to the other."""
    connection = server.connect()
    assert states(server)["toy"]["state"] == "idle"
    for _ in range(3):
        assert native(server, connection)[0] == 200
        sock = connection.sock
        assert toy(server, connection=connection) == (200, "hello from toy\n")
        assert connection.sock is sock
    assert native(server, connection)[0] == 200
    connection.close()
    assert states(server)["toy"] == {"name": "toy", "state": "up", "restarts": 0}
    assert toy(server) == (200, "hello from toy\n")  # also as the first request of a connection


def test_requests_of_both_dialects_may_be_pipelined(server):
    def head(path, *more):
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", *more]
        return "\r\n".join([*lines, "", ""]).encode()

    answers = server.raw(head(PREFIX + "/health") + head("/toy") + head(PREFIX + "/health") +
                         head("/toy", "Connection: close"))
    assert answers.count(b"HTTP/1.1 200 OK") == 4
    assert answers.count(b"hello from toy") == 2
    assert answers.endswith(b"hello from toy\n")


def test_errors_have_the_format_of_the_dialect(server):
    headers = {"X-Toy": "1", "X-Api-Key": "rk_wrong"}
    status, text = toy(server, "POST", "/toy", "", **headers)
    assert status == 401 and text.startswith("toy: unauthorized: "), text
    # The toy ignores the headers in which other dialects expect a key.
    status, text = toy(server, "POST", "/toy", "", **{**headers, **server.headers()})
    assert (status, text.split(": ")[1]) == (401, "unauthorized")
    assert toy(server, path="/toy/nothing") == (404,
                                                "toy: not_found: the toy knows nothing of this\n")
    # Errors of httpd have the toy's format as well.
    status, text = toy(server, "GET", "/toy", "a body where none is taken")
    assert status == 413 and text.startswith("toy: body_too_large: ")
    # Errors of the native API keep their own format.
    assert server.ask("GET", "/sessions/se_none").code == "session_not_found"


def test_a_body_that_is_too_long_leaves_no_file(server):
    status, text = toy(server, "POST", "/toy", b"x" * ((1 << 20) + 1), **{"X-Toy": SHOUT})
    assert (status, text.split(": ")[1]) == (413, "body_too_large")
    [session] = server.ask("GET", "/sessions").json["sessions"]  # it lives until its idle timeout
    assert server.ask("GET", f"/sessions/{session['id']}/files").json["files"] == []


def test_a_crash_of_a_dialect_harms_no_other(server):
    session = server.create()
    server.execute(session, "x = 42")
    connection = server.connect()
    assert native(server, connection)[0] == 200
    sock = connection.sock
    for crashes in range(1, 9):
        crash(server)
        wait_for(server, "down")
        assert states(server)["toy"]["restarts"] == crashes - 1
        assert states(server)["native"] == {"name": "native", "state": "up", "restarts": 0}
        assert toy(server) == (200, "hello from toy\n")
    # The native connection and the variables of the session survive.
    assert native(server, connection)[0] == 200
    assert connection.sock is sock
    connection.close()
    assert server.execute(session, "x")["results"][0]["data"]["text/plain"] == "42"
