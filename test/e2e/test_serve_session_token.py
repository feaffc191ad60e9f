"""A session's token: a key for this one session, which ends with it."""
import pytest

pytestmark = pytest.mark.one_user  # access rights are the same for each user


def token_of(server, session, key=None):
    headers = {"Authorization": f"Bearer {key}"} if key else None
    answer = server.ask("GET", f"/sessions/{session}/token", headers=headers)
    assert answer.status == 200, answer
    return answer.json["token"]


def with_token(server, token, method, path, body=None):
    return server.ask(method, path, body, {"Authorization": f"Bearer {token}"}, key=False)


def test_a_token_works_like_a_key_in_its_session(server):
    session = server.create()
    token = token_of(server, session)
    assert token.startswith("st_" + session[3:])
    assert token == token_of(server, session)
    answer = with_token(server, token, "POST", f"/sessions/{session}/executions",
                        {"code": "open('a.txt', 'w').write('hi'); 6 * 7"})
    assert answer.json["results"][0]["data"]["text/plain"] == "42"
    assert with_token(server, token, "GET", f"/sessions/{session}/files/a.txt").body == b"hi"
    execution = answer.json["id"]
    assert with_token(server, token, "GET",
                      f"/sessions/{session}/executions/{execution}").status == 200
    assert with_token(server, token, "PATCH", f"/sessions/{session}",
                      {"metadata": {"a": 1}}).json["metadata"] == {"a": 1}


def test_a_token_does_nothing_elsewhere(server):
    session, other = server.create(), server.create()
    token = token_of(server, session)
    for method, path in (("GET", f"/sessions/{other}"), ("GET", "/sessions"), ("GET", "/keys"),
                         ("POST", "/sessions"), ("GET", "/templates"), ("GET", "/sessions/se_none"),
                         ("GET", f"/sessions/{session}/token"), ("DELETE", f"/sessions/{other}")):
        answer = with_token(server, token, method, path, {} if method == "POST" else None)
        assert (answer.status, answer.code) == (403, "token_elsewhere"), path
    assert server.ask("GET", f"/sessions/{other}").json["status"] == "live"


def test_forged_tokens_are_refused(server):
    session = server.create()
    token = token_of(server, session)
    for forged in (token[:-1] + ("A" if token[-1] != "A" else "E"), token[:29] + "ff" + token[31:],
                   token[:29] + "zz" + token[31:], token + "A", token[:-1],
                   token[:5] + ("0" if token[5] != "0" else "1") + token[6:]):
        answer = with_token(server, forged, "GET", f"/sessions/{session}")
        assert (answer.status, answer.code) == (401, "unauthorized"), forged


def test_a_token_ends_with_its_session(server):
    session = server.create()
    token = token_of(server, session)
    assert with_token(server, token, "DELETE", f"/sessions/{session}").status == 200
    answer = with_token(server, token, "GET", f"/sessions/{session}")
    assert (answer.status, answer.code) == (410, "session_closed")


def test_a_token_ends_with_its_key(server):
    makers = [server.ask("POST", "/keys", {"name": name, "scopes": ["sessions", "read"]}).json
              for name in ("gone", "stays")]
    session = server.create()
    gone, stays = (token_of(server, session, maker["key"]) for maker in makers)
    assert gone != stays
    assert with_token(server, gone, "GET", f"/sessions/{session}").status == 200
    assert server.ask("DELETE", f"/keys/{makers[0]['id']}").status == 200
    answer = with_token(server, gone, "GET", f"/sessions/{session}")
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert with_token(server, stays, "GET", f"/sessions/{session}").status == 200


def test_a_token_has_the_scopes_of_its_key(server):
    made = server.ask("POST", "/keys", {"name": "few", "scopes": ["sessions", "read"]}).json
    session = server.create()
    token = token_of(server, session, made["key"])
    assert with_token(server, token, "GET", f"/sessions/{session}").status == 200
    answer = with_token(server, token, "POST", f"/sessions/{session}/executions", {"code": "1"})
    assert (answer.status, answer.code) == (403, "scope_missing")
    reader = server.ask("POST", "/keys", {"name": "reads", "scopes": ["read"]}).json
    answer = server.ask("GET", f"/sessions/{session}/token",
                        headers={"Authorization": f"Bearer {reader['key']}"})
    assert (answer.status, answer.code) == (403, "scope_missing")


def test_lists_can_be_limited_to_live_sessions(server):
    alive, gone = server.create(), server.create()
    assert server.ask("DELETE", f"/sessions/{gone}").status == 200
    live = server.ask("GET", "/sessions?status=live").json["sessions"]
    assert {each["status"] for each in live} == {"live"}
    assert alive in [each["id"] for each in live]
    assert gone in [each["id"] for each in server.ask("GET", "/sessions").json["sessions"]]
    assert server.ask("GET", "/sessions?status=live&name=a").status == 400
