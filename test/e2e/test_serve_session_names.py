"""A session's name in the place of its id, over HTTP."""

import pytest

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


def test_a_name_does_what_the_id_does(server):
    name = "tuesday-" + "x" * 55  # longer than an id can be
    session = server.create(name=name)
    path = f"/sessions/{name}"
    assert server.ask("GET", path).json["id"] == session
    assert server.execute(name, "x = 42; print(x)")["session"] == session
    assert server.ask("PUT", f"{path}/files/a.txt", b"a").status in (200, 201)
    assert server.ask("GET", f"{path}/files/a.txt").body == b"a"
    assert [file["path"] for file in server.ask("GET", f"{path}/files").json["files"]] == ["a.txt"]
    (row,) = server.ask("GET", f"{path}/executions").json["executions"]
    assert row["session"] == session
    assert server.ask("GET", f"{path}/executions/{row['id']}").json["stdout"] == "42\n"
    events = server.ask("GET", f"{path}/executions/{row['id']}/events").body
    assert b"event: done" in events
    assert server.ask("GET", f"{path}/variables").json["variables"][0]["name"] == "x"
    token = server.ask("GET", f"{path}/token").json["token"]
    mine = {"Authorization": f"Bearer {token}"}
    assert server.ask("GET", path, headers=mine, key=False).json["id"] == session
    # The token of a session does not open another session by its name.
    server.create(name="other")
    assert server.ask("GET", "/sessions/other", headers=mine, key=False).status == 403
    assert server.ask("DELETE", path).status in (200, 204)
    assert server.ask("DELETE", "/sessions/other").status in (200, 204)


def test_a_name_means_the_live_session_or_else_the_newest(server):
    first = server.create(name="again")
    server.execute(first, "1")
    server.ask("DELETE", "/sessions/again")
    gone = server.ask("GET", "/sessions/again")
    assert gone.status == 410 and first in gone.json["error"]["message"]
    rows = server.ask("GET", "/sessions/again/executions").json["executions"]
    assert [row["session"] for row in rows] == [first]
    second = server.create(name="again")
    assert server.ask("GET", "/sessions/again").json["id"] == second != first
    assert server.ask("DELETE", f"/sessions/{second}").status in (200, 204)


def test_names_belong_to_tenants(server):
    _, key = server.newcomer(scopes=["sessions", "execute", "read"])
    session = server.create(name="mine")
    theirs = {"Authorization": f"Bearer {key}"}
    assert server.ask("GET", "/sessions/mine", headers=theirs, key=False).status == 404
    made = server.ask("POST", "/sessions", {"template": "python", "name": "mine"}, headers=theirs,
                      key=False).json["id"]
    assert server.ask("GET", "/sessions/mine", headers=theirs, key=False).json["id"] == made
    assert server.ask("GET", "/sessions/mine").json["id"] == session
    server.ask("DELETE", "/sessions/mine", headers=theirs, key=False)
    server.ask("DELETE", "/sessions/mine")


@pytest.mark.parametrize("name", ["nobody", "se_nobody", "-", ".", "x" * 63, "x" * 64, "%00", "a%2Fb"])
def test_unknown_names(server, name):
    answer = server.ask("GET", f"/sessions/{name}")
    assert answer.status in (400, 404), answer
