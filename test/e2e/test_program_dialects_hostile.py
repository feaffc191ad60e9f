"""Invalid and hostile bodies at the APIs whose clients send programs."""
import json

import pytest
from one_shot import check_nothing_stays, post
from reckon_serve import Server

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
APIS = {  # path: a valid body, and a member of each error body
    "/sandboxfusion/run_code": ({"code": "print(1)", "language": "python"}, "detail"),
    "/sandboxfusion/run_jupyter": ({"cells": ["print(1)"]}, "detail"),
    "/piston/api/v2/execute": ({"language": "python", "version": "*",
                                "files": [{"content": "print(1)"}]}, "message"),
    "/librechat/exec": ({"lang": "py", "code": "print(1)"}, "error"),
    "/librechat/exec/programmatic": ({"code": "print(1)", "tools": [{"name": "t"}]}, "error"),
    "/dify/v1/sandbox/run": ({"language": "python3", "code": "print(1)"}, "code"),
}


@pytest.fixture(scope="module")
def bodies():
    """Bodies that are invalid for each of the APIs."""
    return [b"", b"null", b"[]", b"1", b"\"x\"", b"{", b"{}x", b"\xff\xfe{}", b"{\"a\":1,\"a\":2}",
            b"{\"code\":NaN}", b"{\"code\":\"\\ud800\"}", b"{\"code\":" + b"[" * 100000,
            b"{\"x\":" * 60 + b"1" + b"}" * 60]


@pytest.mark.parametrize("path", APIS)
def test_invalid_bodies_are_refused_in_the_format_of_the_api(reckon, bodies, path):
    good, key = APIS[path]
    with Server(reckon) as server:
        for body in bodies:
            answer = post(server, path, body)
            status = -answer.json["code"] if path.startswith("/dify") else answer.status
            assert 400 <= status < 500, (body[:40], answer)
            assert key in answer.json, (body[:40], answer)
        assert post(server, path, good).status == 200  # the server still works
        assert post(server, path, good, headers={"Content-Type": "application/json; charset=utf-8"}).status == 200
        check_nothing_stays(server, 2)


@pytest.mark.parametrize("path, change", [
    ("/piston/api/v2/execute", {"args": ["a\0b"]}),
    ("/piston/api/v2/execute", {"files": [{"name": "a\0b", "content": ""}]}),
    ("/piston/api/v2/execute", {"files": [{"name": "x" * 5000, "content": ""}]}),
    ("/piston/api/v2/execute", {"files": [{"name": "/etc/passwd", "content": ""}]}),
    ("/piston/api/v2/execute", {"args": ["x" * 100000]}),
    ("/sandboxfusion/run_code", {"files": {"a\0b": ""}}),
    ("/sandboxfusion/run_code", {"files": {"x" * 5000: ""}}),
    ("/sandboxfusion/run_code", {"files": {"../x": ""}}),
    ("/librechat/exec", {"args": ["a\0b"]}),
    ("/librechat/exec", {"args": ["x" * 100000]}),
])
def test_invalid_names_and_arguments(reckon, path, change):
    good, key = APIS[path]
    with Server(reckon) as server:
        answer = post(server, path, json.dumps({**good, **change}))
        assert 400 <= answer.status < 500 and key in answer.json, answer
        check_nothing_stays(server, 0)


def test_output_that_is_not_utf_8(reckon):
    """Invalid bytes of the output become replacement characters; control characters stay."""
    with Server(reckon) as server:
        code = "import sys; sys.stdout.buffer.write(b'\\xff\\x00a\\x1b[31m')"
        for path, where in (("/sandboxfusion/run_code", ("run_result", "stdout")),
                            ("/piston/api/v2/execute", ("run", "stdout")),
                            ("/librechat/exec", ("stdout",)), ("/dify/v1/sandbox/run", ("data", "stdout"))):
            body = json.loads(json.dumps(APIS[path][0]).replace("print(1)", code.replace("\\", "\\\\")))
            value = post(server, path, body).json
            for name in where:
                value = value[name]
            assert value == "\ufffd\0a\x1b[31m", (path, value)
