"""Each limit of LibreChat's protocol at its edge: N is accepted, and N + 1 is refused by name."""
import collections
import json

import pytest
from one_shot import post

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
API = "/librechat"
MIB = 1 << 20

# name, maximum, words of the refusal, path, and a body with `n`
Row = collections.namedtuple("Row", "name most words path body")


def run(**more):
    return {"lang": "bash", "code": "printf '%s' \"${#1}\"", "user_id": "u", **more}


def program(code="print(1)", names=("t",), **more):
    return {"code": code, "tools": [{"name": name} for name in names], "user_id": "u", **more}


ROWS = [
    Row("files", 200, "at most 200", "/exec", lambda n: run(files=[
        {"id": "x" * 21, "name": f"f{number}", "storage_session_id": "y" * 21} for number in range(n)])),
    Row("user", 255, "at most 255", "/exec", lambda n: run(user_id="u" * n)),
    Row("entity", 255, "at most 255", "/exec", lambda n: run(entity_id="e" * n)),
    Row("entity of a query", 255, "at most 255", "/exec?entity_id=", lambda n: run(query="e" * n)),
    Row("value of a query", 511, "511 bytes", "/exec?other=", lambda n: run(query="e" * n)),
    Row("hint", 255, "at most 255", "/exec", lambda n: run(runtime_session_hint="h" * n)),
    Row("args", 32768 - len(" ''"), "at most 32 KiB", "/exec", lambda n: run(args="a" * n)),
    Row("code of a program", 4 * MIB, "at most 4 MiB", "/exec/programmatic",
        lambda n: program("print(1)\n#" + "x" * (n - 10))),
    Row("name of a tool", 250, "1 to 250", "/exec/programmatic", lambda n: program(names=["t" * n])),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bounds(module_server, row):
    def answer(n):
        body = row.body(n)
        return post(module_server, f"{API}{row.path}{body.pop('query', '')}", body)

    taken, over = answer(row.most), answer(row.most + 1)
    if row.name == "files":  # these files do not exist
        assert taken.status in (403, 404), taken
    else:
        assert taken.status == 200, (row.name, taken.status, taken.body[:300])
    if row.name == "args":
        assert taken.json["stdout"] == str(row.most), taken.json
    assert over.status == 400 and over.json["error"], (row.name, over.status, over.body[:300])
    assert row.words in json.dumps(over.json), (row.name, over.json)


def test_output(module_server):
    """Output of a stream beyond 1 MiB is left out, and stderr says so."""
    for size in (MIB, MIB + 1):
        done = post(module_server, API + "/exec", run(code=f"head -c {size} /dev/zero | tr '\\0' x")).json
        assert done["stdout"] == "x" * MIB and (done["stderr"] == "") == (size == MIB), done["stderr"]


def test_the_result_of_a_tool(module_server):
    """The limit counts the result as JSON. If it is longer, the code gets an error and the program
    continues."""
    for size, printed in ((5 * MIB - 2, str(5 * MIB - 2)), (5 * MIB - 1, "the result has more than 5 MiB")):
        waits = post(module_server, API + "/exec/programmatic", program(
            "try:\n    print(len(await t()))\nexcept Exception as error:\n    print(error)")).json
        call, = waits["tool_calls"]
        done = post(module_server, API + "/exec/programmatic", {
            "continuation_token": waits["continuation_token"], "user_id": "u",
            "tool_results": [{"call_id": call["id"], "result": "r" * size, "is_error": False}]}).json
        assert printed in done["stdout"], done
    waits = post(module_server, API + "/exec/programmatic", program("t '{}' | wc -c", lang="bash")).json
    call, = waits["tool_calls"]
    done = post(module_server, API + "/exec/programmatic", {
        "continuation_token": waits["continuation_token"], "user_id": "u",
        "tool_results": [{"call_id": call["id"], "result": "r" * (5 * MIB - 2), "is_error": False}]}).json
    assert int(done["stdout"]) in range(5 * MIB - 2, 5 * MIB + 2), done


def test_output_of_a_program_with_tools(module_server):
    """Of more than 2 MiB the beginning and the end remain, and stderr says so."""
    for size in (2 * MIB, 2 * MIB + 1):
        for stream in ("stdout", "stderr"):
            done = post(module_server, API + "/exec/programmatic", program(
                f"import sys\nprint('x' * {size}, end='', file=sys.{stream})")).json
            assert done["status"] == "completed", done["error"]
            if size == 2 * MIB:
                assert done["stdout"] + done["stderr"] == "x" * size
            else:
                assert done[stream].count("x") in range(MIB, MIB + 99)
                assert done["stderr"].endswith(f"{stream} length exceeded\n")
