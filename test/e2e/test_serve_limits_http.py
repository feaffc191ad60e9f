"""Limits of heads, queries and tokens at their edges: N passes, N + 1 is refused, and nothing is
cut to N."""
import pytest
from one_shot import ask
from test_serve_ports import by_host, label

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
HEALTH = b"GET /reckon/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


@pytest.fixture
def session(module_server):
    made = module_server.create()
    yield made
    module_server.ask("DELETE", f"/sessions/{made}")


@pytest.mark.parametrize("head, most", [
    (lambda n: HEALTH + b"X: " + b"x" * (n - len(HEALTH) - 7) + b"\r\n\r\n", 16384),  # HTTP_HEAD_MAX
    (lambda n: b"GET /reckon/v1/health?a=" + b"x" * (n - len(HEALTH) - 5) + HEALTH[len(b"GET /reckon/v1/health"):]
     + b"\r\n", 16384),
    (lambda n: HEALTH + b"".join(b"X%d: x\r\n" % number for number in range(n - 2)) + b"\r\n", 64),  # HTTP_HEADERS_MAX
], ids=["header", "query", "headers"])
def test_heads(module_server, head, most):
    for over in (0, 1):
        status = int(module_server.raw(head(most + over)).split()[1])
        assert (status == 431) == (over == 1) and status < 500, status


# ---- tokens of links to ports (PORTS_TOKEN_MAX) -------------------------------------------------------

def test_the_token_of_a_link_is_not_cut_to_a_cookie(module_server, session):
    for size, status in ((95, 303), (96, 401)):
        token = "a" * size
        response, _ = by_host(module_server, session, f"/page?reckon_link={token}&q=1")
        assert response.status == status, size
        cookie = response.headers["Set-Cookie"]
        assert cookie.startswith(f"reckon_port={token};") if status == 303 else cookie is None


def test_the_token_of_a_url(module_server, session):
    for size, status in ((95, 303), (96, 404)):
        answer = module_server.ask("GET", f"/ports/{label(session)}/{'a' * size}/", key=False)
        assert answer.status == status, (size, answer)
        if status == 303:
            assert answer.headers["Location"].endswith(f"?reckon_link={'a' * size}")


def test_the_token_of_a_cookie(module_server, session):
    bodies = [by_host(module_server, session, Cookie=f"reckon_port={'a' * size}")[1] for size in (95, 96)]
    # The daemon looks up the first token, which is unknown; the second one is too long to be a
    # token.
    assert b"not open for everybody" not in bodies[0] and b"not open for everybody" in bodies[1], bodies


# ---- queries -------------------------------------------------------------------------------------------

def test_a_key_is_found_behind_long_parameters(module_server):
    """Other parameters of a query may have any length."""
    for rest in ("a=1", "a=" + "x" * 511, "a=" + "x" * 512, "a=" + "x" * 4000, "n" * 64 + "=1", "flag", "%zz=1"):
        answer = ask(module_server, "GET", f"/jupyter/api/status?{rest}&token={module_server.key}", key=False)
        assert answer.status == 200, (rest[:20], answer)


def test_a_cursor_that_is_too_long_is_refused(module_server):
    """A cursor that is too long is refused, and does not give the first page."""
    headers = {"Authorization": f"Bearer {module_server.key}"}
    for path in ("/openai/v1/assistants?after=", "/openai/v1/containers?after=", "/openai/v1/files?after=",
                 "/anthropic/v1/files?after_id=", "/gemini/v1beta/files?pageToken="):
        for size in (399, 400):  # NAME_SIZE, with the NUL; an id of 399 bytes is valid but unknown
            answer = ask(module_server, "GET", f"{path}{'x' * size}&limit=1", headers=headers)
            assert (b"malformed" in answer.body) == (answer.status == 400) == (size == 400), (path, answer)
