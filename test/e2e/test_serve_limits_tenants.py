"""As many tenants and keys as the daemon allows, and one more. The test writes all but the last
into the database."""
import contextlib
import pathlib
import sqlite3

import pytest
from reckon_serve import Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def written(server, query, rows):
    server.stop()
    path, = pathlib.Path(server.reckon.state).rglob("*.db")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executemany(query, rows)
    server.start()


def number(value):
    return f"{value + 10 ** 9:026d}"


def test_tenants(reckon):
    with Server(reckon) as server:
        written(server, "INSERT INTO tenant VALUES(?, ?, 'active', '2026-01-01T00:00:00.000Z')",
                ((f"te_{number(n)}", f"t{n}") for n in range(4096 - 2)))  # besides the first one
        assert server.ask("POST", "/tenants", {"name": "last"}).status == 201
        answer = server.ask("POST", "/tenants", {"name": "more"})
        assert 400 <= answer.status < 500 and "4096 tenants" in answer.json["error"]["message"], answer
        # A tenant can be removed when their number is at its maximum.
        assert server.ask("DELETE", f"/tenants/te_{number(0)}").status in (200, 202)


def test_keys(reckon):
    with Server(reckon) as server:
        first = server.ask("GET", "/tenants").json["tenants"][0]["id"]
        there = len(server.ask("GET", "/keys").json["keys"])
        written(server, "INSERT INTO key(id, tenant, name, hash, scopes, created_at, expires_ms, lifetime_ms) VALUES(?, ?, 'k', ?, 1,"
                " '2026-01-01T00:00:00.000Z', 0, 0)",
                ((f"key_{number(n)}", first, n.to_bytes(32, "big")) for n in range(16384 - there - 1)))
        assert server.ask("POST", "/keys", {"name": "last", "scopes": ["read"]}).status == 201
        answer = server.ask("POST", "/keys", {"name": "more", "scopes": ["read"]})
        assert 400 <= answer.status < 500 and "16384 keys" in answer.json["error"]["message"], answer
