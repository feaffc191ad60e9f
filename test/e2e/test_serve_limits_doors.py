"""Each limit of the other protocols at its edge: N is accepted, and N + 1 is refused by name."""

import pytest
from e2b_client import E2BServer
from model_server import ModelServer
from one_shot import ask, post
from reckon_serve import Server
from test_serve_agent import Asking

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
MIB = 1 << 20
BODIES = {  # maximum length of a body, by path
    "/reckon/v1/sessions": 8 * MIB,  # API_JSON_MAX
    "/dify/v1/sandbox/run": 16 * MIB,  # BODY_MAX
    "/sandboxfusion/run_code": 64 * MIB,  # FUSION_BODY_MAX
    "/sandboxfusion/submit": 64 * MIB,
    "/piston/api/v2/execute": 64 * MIB,  # PISTON_BODY_MAX
    "/librechat/exec": 50 * MIB,  # LIBRECHAT_BODY_MAX
    "/librechat/exec/programmatic": 50 * MIB,
    "/openai/v1/chat/completions": 32 * MIB,  # OPENAI_BODY_MAX
    "/openai/v1/responses": 32 * MIB,
    "/anthropic/v1/messages": 32 * MIB,  # ANTHROPIC_BODY_MAX
    "/gemini/v1beta/models/gemini-x:generateContent": 32 * MIB,  # GEMINI_BODY_MAX
    "/mcp": 12 * MIB,  # RPC_MESSAGE_MAX
    "/jupyter/api/sessions": MIB,  # SERVER_BODY_MAX
}


@pytest.fixture(scope="module")
def longest():
    return b"[]" + b" " * (max(BODIES.values()) - 2)


@pytest.mark.parametrize("path", BODIES)
def test_maximum_length_of_a_body(reckon, longest, path):
    """A body of the maximum length is read, whatever error its content causes; one byte more is
    refused."""
    size = BODIES[path]
    with ModelServer() as model, Asking(reckon, model) as server:
        headers = {"Accept": "application/json, text/event-stream"}
        read = post(server, path, longest[:size], headers={**headers, "Authorization": f"Bearer {server.key}"})
        status = -read.json["code"] if path.startswith("/dify") else read.status
        assert 400 <= status < 500 and status not in (401, 404, 413), read
        # It is refused before its body is sent.
        raw = server.raw((f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.key}\r\n"
                          f"X-Api-Key: {server.key}\r\nContent-Type: application/json\r\nAccept: {headers['Accept']}\r\n"
                          f"Connection: close\r\nContent-Length: {size + 1}\r\n\r\n").encode())
        assert int(raw.split()[1]) == 413, raw


def test_maximum_length_of_a_body_of_e2b(reckon, longest):
    with E2BServer(reckon) as server:
        size = 8 * MIB  # E2B_BODY_MAX
        assert server.control("POST", "/sandboxes", longest[:size])[0] == 400
        assert server.control("POST", "/sandboxes", longest[:size] + b" ")[0] == 413


# ---- how many -----------------------------------------------------------------------------------

PISTON = {"language": "python", "version": "*", "files": [{"content": "print(1)"}]}
FUSION = {"code": "print(1)", "language": "python"}
# An error of the judge about something else means that it accepted the count: nothing needs to run.
LATE = {"dataset": "x", "completion": "print(1)"}


def submission(count):
    return {**LATE, "config": {"language": "python", "dataset_type": "CommonOJDataset", "run_timeout": -1,
                               "provided_data": {"test": [{"input": {}, "output": {}}] * count}}}


COUNTS = [  # path, words of the refusal, maximum, and a body with that many
    ("/piston/api/v2/execute", "files", 1000,  # PISTON_FILES_MAX
     lambda n: {**PISTON, "files": [{"name": f"f{i}", "content": "1"} for i in range(n)], "language": "none"}),
    ("/piston/api/v2/execute", "args", 1000,  # PISTON_ARGS_MAX
     lambda n: {**PISTON, "args": ["x"] * n}),
    ("/piston/api/v2/execute", "run_timeout", 600000,  # MS_MAX
     lambda n: {**PISTON, "run_timeout": n}),
    ("/piston/api/v2/execute", "compile_timeout", 600000,
     lambda n: {**PISTON, "compile_timeout": n}),
    ("/sandboxfusion/run_code", "files", 1000,  # FUSION_FILES_MAX
     lambda n: {**FUSION, "files": {f"f{i}": "MQ==" for i in range(n)}}),
    ("/sandboxfusion/run_code", "run_timeout", 3600,  # FUSION_TIMEOUT_MS_MAX
     lambda n: {**FUSION, "run_timeout": n}),
    ("/sandboxfusion/run_jupyter", "at most 1000 cells", 1000,  # CELLS_MAX
     lambda n: {"cells": [""] * (n - 1) + [1]}),
    ("/sandboxfusion/submit", "provided_data", 1000, submission),  # TESTS_MAX
    ("/sandboxfusion/list_ids", "provided_data", 100000,  # ROWS_MAX
     lambda n: {"dataset": "x", "config": {"dataset_type": "CommonOJDataset",
                                           "provided_data": [{"id": 1, "content": ""}] * n}}),
    ("/librechat/exec/programmatic", "of 1 to 100 tools", 100,  # LIBRECHAT_TOOLS_MAX
     lambda n: {"code": "print(1)", "tools": [{"name": f"t{i}"} for i in range(n)]}),
    ("/librechat/exec/programmatic", "of 1 to 64 results", 64,  # LIBRECHAT_RESULTS_MAX
     lambda n: {"continuation_token": "x", "tool_results": [{"call_id": "x", "result": 1, "is_error": False}] * n}),
]


@pytest.mark.parametrize("path, word, most, body", COUNTS, ids=[f"{row[0]}-{row[1]}" for row in COUNTS])
def test_maximum_counts(reckon, path, word, most, body):
    def is_refused(answer):
        return answer.status == 400 and word in answer.body.decode() or \
            answer.status == 422 and word in answer.body.decode()

    with Server(reckon) as server:
        assert not is_refused(post(server, path, body(most))), most
        assert is_refused(post(server, path, body(most + 1))), post(server, path, body(most + 1))


def test_lists_of_openai_have_pages_of_a_hundred(reckon):
    with Server(reckon) as server:
        for limit, status in ((1, 200), (100, 200), (101, 400), (0, 400)):  # LIST_MAX
            answer = ask(server, "GET", f"/openai/v1/assistants?limit={limit}",
                         headers={"Authorization": f"Bearer {server.key}"})
            assert answer.status == status, (limit, answer)


def test_maximum_ids_in_a_list_of_anthropics_files(reckon):
    with Server(reckon) as server:
        for count, status in ((100, 200), (101, 400)):  # LIST_IDS_MAX
            ids = "&".join(f"ids=file_{number}" for number in range(count))
            answer = ask(server, "GET", f"/anthropic/v1/files?{ids}")
            assert answer.status == status, (count, answer)


def test_pages_of_files(reckon):
    """Anthropic's `limit` is refused above 1000; Gemini's `pageSize` may be larger than its maximum
    of 100."""
    with Server(reckon) as server:
        stored = [server.ask("POST", f"/files?name=f{number}", b"x").json["id"] for number in range(3)]
        for limit, status in ((1, 200), (1000, 200), (0, 400), (1001, 400)):
            assert ask(server, "GET", f"/anthropic/v1/files?limit={limit}").status == status, limit
        for size, count in ((1, 1), (2, 2), (100, 3), (101, 3)):
            answer = ask(server, "GET", f"/gemini/v1beta/files?pageSize={size}",
                         headers={"X-Goog-Api-Key": server.key})
            assert len(answer.json["files"]) == count and ("nextPageToken" in answer.json) == (count < 3), answer
        assert len(stored) == 3


def test_ids_of_mcp(reckon):
    """RPC_ID_MAX counts the id as JSON, with a NUL."""
    with Server(reckon) as server:
        for size in (509, 510):
            body = {"jsonrpc": "2.0", "id": "i" * size, "method": "ping"}
            answer = post(server, "/mcp", body, headers={"Accept": "application/json, text/event-stream",
                                                         "Authorization": f"Bearer {server.key}"})
            # The response repeats an id that is short enough.
            assert answer.json.get("id") == (body["id"] if size == 509 else None), (size, answer)


# ---- sums, and kernels ---------------------------------------------------------------------------

def test_sums(reckon):
    with Server(reckon) as server:
        for over in (0, 1):
            # API_ENV_TOTAL_MAX counts each with its "=" and a NUL.
            env = {"A": "x" * 16000, "B": "x" * (32768 - 16003 - 3 + over)}
            answer = server.ask("POST", "/sessions", {"env": env})
            assert answer.status == (400 if over else 201), answer
            # DB_DOCUMENT_MAX counts the value as JSON.
            value = {"x": "x" * ((1 << 20) - len('{"x":""}') + over)}
            answer = server.ask("PUT", "/documents/bounds/x", {"value": value})
            assert answer.status == (400 if over else 200), (answer.status, answer.body[:200])


def test_kernels_of_a_session(reckon):
    with Server(reckon) as server:  # HOST_KERNELS_MAX counts the session's own kernel
        session = server.create()
        made = [server.ask("POST", f"/sessions/{session}/contexts", {}).status for _ in range(8)]
        assert made == [201] * 7 + [413], made


# ---- E2B ----------------------------------------------------------------------------------------

def test_counts_of_e2b(reckon):
    with E2BServer(reckon) as server:
        for count, status in ((254, 201), (255, 400)):  # ENV_COUNT_MAX
            assert server.control("POST", "/v2/sandboxes", {
                "templateID": "base", "envVars": {f"V{i}": "1" for i in range(count)}})[0] == status, count
        for seconds, status in ((365 * 86400, 201), (365 * 86400 + 1, 400)):  # TIMEOUT_S_MAX
            assert server.control("POST", "/v2/sandboxes", {"templateID": "base", "timeout": seconds})[0] == status
        for limit, status in ((100, 200), (101, 400), (0, 400)):  # LIMIT_MAX
            assert server.control("GET", f"/v2/sandboxes?limit={limit}")[0] == status, limit
        for count, status in ((32, 200), (33, 400)):  # PAIRS_MAX
            pairs = "%26".join(f"k{number}%3Dv" for number in range(count))
            assert server.control("GET", f"/v2/sandboxes?metadata={pairs}")[0] == status, count
