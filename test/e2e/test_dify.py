"""dify-sandbox's API: what Dify's code nodes send, and the client from PyPI."""
import base64
import json

import pytest
from dify_sandbox import DifySandboxClient
from one_shot import ask, check_client_gone, check_nothing_stays, oversized, post

RUN = "/dify/v1/sandbox/run"
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

# The code that Dify generates for a code node: inputs in base64, the result between two marks.
NODE = """
def main(arg: str) -> dict:
    return {"result": arg * 200000}

import json
from base64 import b64decode

inputs_obj = json.loads(b64decode('%s').decode('utf-8'))
output_obj = main(**inputs_obj)
output_json = json.dumps(output_obj, indent=4)
print(f'''<<RESULT>>{output_json}<<RESULT>>''')
"""


def run(server, code, language="python3", **more):
    answer = post(server, RUN, {"language": language, "code": code, "preload": "",
                                "enable_network": True, **more})
    assert answer.status == 200, answer
    assert set(answer.json) == {"code", "message", "data"}
    assert answer.json["code"] == 0 and answer.json["message"] == "success"
    return answer.json["data"]


def test_a_code_node(server):
    inputs = base64.b64encode(json.dumps({"arg": "süß!"}).encode()).decode()
    data = run(server, NODE % inputs)
    assert data["error"] == "" and data["exit_code"] == 0
    _, result, _ = data["stdout"].split("<<RESULT>>")  # more than a megabyte, and whole
    assert json.loads(result) == {"result": "süß!" * 200000}
    assert run(server, "print(x)", preload="x = 5")["stdout"] == "5\n"
    check_nothing_stays(server, 2)


def test_warnings_are_not_errors_but_failures_are(server):
    data = run(server, "import sys; print(1); print('careful', file=sys.stderr)")
    assert data == {"stdout": "1\n", "stderr": "careful\n", "error": "", "exit_code": 0}
    data = run(server, "1/0")
    assert data["exit_code"] == 1
    assert data["error"].startswith("process exited with code 1\n")
    assert "ZeroDivisionError" in data["error"]
    assert run(server, "import os; os.kill(os.getpid(), 9)")["error"] == "process ended by signal 9\n"
    assert run(server, "x = []\nwhile True: x.append(b'1' * (1 << 24))")["error"] != ""
    data = run(server, "console.log(6 * 7)", "nodejs")
    assert (data["stdout"], data["error"]) == ("42\n", "")


def test_files_do_not_remain_for_the_next_run(server):
    run(server, "open('left', 'w').write('x')")
    assert run(server, "import os; print(os.path.exists('left'))")["stdout"] == "False\n"


def test_the_client_from_pypi(server):
    client = DifySandboxClient(base_url=f"http://127.0.0.1:{server.port}/dify", api_key=server.key)
    assert client.health_check()
    assert client.run_python("print('hi')").stdout == "hi\n"
    assert client.run_nodejs("console.log('hi')").stdout == "hi\n"


def test_errors_have_the_format_of_dify(server):
    def refused(answer, status, code):
        assert answer.status == status, answer
        assert set(answer.json) == {"code", "message", "data"} and answer.json["data"] is None
        assert answer.json["code"] == code and answer.json["message"]

    good = {"language": "python3", "code": "1"}
    refused(post(server, RUN, good, key=False), 401, -401)
    refused(post(server, RUN, good, headers={"X-Api-Key": "dify-sandbox"}), 401, -401)
    refused(post(server, RUN, {**good, "language": "ruby"}), 400, -400)
    refused(post(server, RUN, {"language": "python3"}), 200, -400)
    refused(post(server, RUN, {"language": "python3", "code": 1}), 200, -400)
    for body in ("", "[]", "{", '{"code": "1", "code": "2"}', b"\xff"):
        refused(post(server, RUN, body), 200, -400)
    refused(ask(server, "GET", "/dify/nothing"), 404, -404)
    status, body = oversized(server, RUN, 1 << 30)
    assert status == 413 and body["code"] == -413


def test_a_client_disconnect_ends_the_run(server):
    check_client_gone(server, RUN, {"language": "python3", "code": "import time; time.sleep(25)"})


def test_dependencies_are_listed(server):
    answer = ask(server, "GET", "/dify/v1/sandbox/dependencies?language=python3")
    assert answer.status == 200
    names = {each["name"].lower() for each in answer.json["data"]["dependencies"]}
    assert "pip" in names
    assert all(set(each) == {"name", "version"} for each in
               answer.json["data"]["dependencies"])
    assert post(server, "/dify/v1/sandbox/dependencies/update",
                {"language": "python3"}).json["code"] == 0
