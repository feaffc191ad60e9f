"""SandboxFusion's API: its own client and the reward function of verl, both from PyPI."""
import base64
import concurrent.futures
import importlib.util
import logging
import sys

import pytest
import sandbox_fusion
from one_shot import ask, check_client_gone, check_nothing_stays, oversized, post, url
from reckon_cli import ROOT
from reckon_serve import Server
from sandbox_fusion import (EvalResult, GetPromptByIdRequest, GetPromptsRequest, RunCodeRequest,
                            RunJupyterRequest, SubmitRequest, SummaryMapping, TestConfig)

API = "/sandboxfusion"
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
MAPPING = SummaryMapping(Success="good", Failed="bad", CompileFailed="no compile",
                         CompileTimeout="slow compile", RunFailed="no run", RunTimeout="slow")


@pytest.fixture
def server(reckon):
    with Server(reckon) as running:
        sandbox_fusion.set_endpoint(url(running, API))
        yield running


def run(code, language="python", **more):
    return sandbox_fusion.run_code(RunCodeRequest(code=code, language=language, **more),
                                   max_attempts=1)


def summary(result):
    return sandbox_fusion.summary_run_code_result(result, MAPPING)


# ---- its client -----------------------------------------------------------------------------

@pytest.mark.parametrize("language, code", [
    ("python", "print(input())"), ("bash", "cat"),
    ("nodejs", "console.log(require('fs').readFileSync(0, 'utf8').trim())"),
    ("cpp", "#include <iostream>\nint main() { std::string x; std::cin >> x; std::cout << x; }")])
def test_each_language_reads_its_input(server, language, code):
    result = run(code, language, stdin="süß\n")
    assert result.status == "Success" and result.message == ""
    assert result.run_result.status == "Finished" and result.run_result.return_code == 0
    assert result.run_result.stdout.strip() == "süß" and result.run_result.stderr == ""
    assert (result.compile_result is not None) == (language == "cpp")
    assert summary(result) == "good"


LANGUAGES = {
    "python": "print(6 * 7)", "pytest": "def test(): assert 6 * 7 == 42", "bash": "echo $((6 * 7))",
    "nodejs": "console.log(6 * 7)", "perl": "print 6 * 7", "ruby": "puts 6 * 7", "lua": "print(6 * 7)",
    "php": "echo 6 * 7;", "sql": "select 6 * 7;",
    "cpp": "#include <cstdio>\nint main() { printf(\"%d\", 6 * 7); }",
    "verilog": "module m; initial begin $display(\"%0d\", 6 * 7); $finish; end endmodule",
    "java": "public class Main { public static void main(String[] a) { System.out.print(6 * 7); } }",
    "go": "package main\nimport \"fmt\"\nfunc main() { fmt.Print(6 * 7) }",
    "go_test": "package main\nimport \"testing\"\nfunc TestIt(t *testing.T) {}",
    "rust": "fn main() { print!(\"{}\", 6 * 7); }", "typescript": "const x: number = 6 * 7; console.log(x)",
    "csharp": "class M { static void Main() { System.Console.Write(6 * 7); } }",
    "D_ut": "import std.stdio; unittest { assert(6 * 7 == 42); } void main() { write(6 * 7); }",
    "scala": "object Main extends App { print(6 * 7) }", "kotlin_script": "print(6 * 7)",
    "julia": "print(6 * 7)", "R": "cat(6 * 7)", "swift": "print(6 * 7)", "lean": "#eval 6 * 7",
    "racket": "#lang racket\n(display (* 6 7))", "python2": "print 6 * 7",
    "cuda": "#include <cstdio>\nint main() { printf(\"%d\", 6 * 7); }", "jest": "test('x', () => {})",
    "junit": "", "gtest": "", "react": "", "python_gpu": "",
}
# Languages that every test host has, some of them from tools/packages.txt.
INSTALLED = {"python", "bash", "nodejs", "perl", "lua", "php", "sql", "cpp", "verilog"}
COMPILED = {"cpp", "verilog", "java", "go", "rust", "csharp", "D_ut", "scala", "swift", "cuda"}


def test_each_language_runs_or_is_reported_as_missing(server):
    def one(name):
        return post(server, API + "/run_code", {"code": LANGUAGES[name], "language": name,
                                                "compile_timeout": 60, "run_timeout": 60}).json

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(zip(LANGUAGES, pool.map(one, LANGUAGES), strict=True))
    missing = {name for name, result in results.items() if result["status"] == "SandboxError"}
    assert not missing & INSTALLED
    for name, result in results.items():
        if name in missing:
            assert f"{name} is not installed" in result["message"], result
            assert result["run_result"] is None and result["compile_result"] is None
        else:
            assert result["status"] == "Success", (name, result)
            assert (result["compile_result"] is not None) == (name in COMPILED)
            assert "42" in result["run_result"]["stdout"] or "test" in name, (name, result)


def test_exit_codes_signals_and_limits(server):
    result = run("import sys; print(1); sys.exit(3)")
    assert (result.status, result.run_result.return_code) == ("Failed", 3)
    assert result.run_result.stdout == "1\n" and summary(result) == "no run"
    result = run("import os; os.kill(os.getpid(), 11)")
    assert (result.run_result.status, result.run_result.return_code) == ("Finished", -11)
    assert run("import os; os.kill(os.getpid(), 9)").run_result.return_code == -9
    assert run("raise SystemExit(137)").run_result.return_code == 137
    result = run("print(1, flush=True); x = bytearray(1 << 30)", memory_limit_MB=256, run_timeout=30)
    assert (result.status, result.run_result.status) == ("Failed", "Finished")
    assert result.run_result.stdout == "1\n"
    assert result.run_result.return_code == (1 if "MemoryError" in result.run_result.stderr else -9)
    result = run("print(1, flush=True)\nimport time; time.sleep(30)", run_timeout=0.5)
    assert result.status == "Failed" and result.run_result.status == "TimeLimitExceeded"
    assert result.run_result.return_code is None and result.run_result.stdout == "1\n"
    assert summary(result) == "slow"
    result = run("int main( {", "cpp")
    assert result.status == "Failed" and result.run_result is None
    assert result.compile_result.return_code == 1 and "error" in result.compile_result.stderr
    assert summary(result) == "no compile"
    # Without an input, stdin is at its end.
    assert run("print(repr(__import__('sys').stdin.read()))").run_result.stdout == "''\n"
    check_nothing_stays(server, 8)


def test_files(server):
    files = {"in/a.txt": base64.b64encode(b"secret").decode(),
             "/tmp/there/b.txt": base64.b64encode(b"\0\xff").decode(),
             "null.txt": None, "IGNORE_THIS_FILE_1": "not base 64"}
    code = ("import os; os.makedirs('out'); open('out/c', 'wb').write(open('/tmp/there/b.txt', 'rb')"
            ".read()); print(open('in/a.txt').read()); open('/tmp/d', 'w').write('d'); 1 / 0")
    result = run(code, files=files, fetch_files=["out/c", "/tmp/d", "missing", "./in/a.txt",
                                                 "/mnt/data/in/a.txt", "/etc/shadow"])
    assert result.run_result.stdout == "secret\n" and result.status == "Failed"
    got = {name: base64.b64decode(text) for name, text in result.files.items()}
    assert got == {"out/c": b"\0\xff", "/tmp/d": b"d", "./in/a.txt": b"secret",
                   "/mnt/data/in/a.txt": b"secret"}


def test_a_large_output_is_whole(server):
    result = run("print('x' * 3000000); import sys; print('y' * 2000000, file=sys.stderr)")
    assert len(result.run_result.stdout) == 3000001 and len(result.run_result.stderr) == 2000001
    result = run("import sys; print('oops', end='', file=sys.stderr, flush=True)\nwhile True: print('x' * 1000)", run_timeout=60)
    assert (result.status, result.run_result.return_code) == ("Failed", -9)
    assert len(result.run_result.stdout) == 16 << 20
    assert result.run_result.stderr == "oops\noutput limit exceeded\n"


def test_more_requests_at_once_than_can_run(server, caplog):
    requests = [RunCodeRequest(code=f"print({i})", language="python", run_timeout=60)
                for i in range(200)]
    with caplog.at_level(logging.DEBUG, "sandbox_fusion"):
        results = sandbox_fusion.run_concurrent(sandbox_fusion.run_code,
                                                args=[[each] for each in requests])
    assert [each.run_result.stdout for each in results] == [f"{i}\n" for i in range(200)]
    assert "will retry" not in caplog.text
    check_nothing_stays(server, 200)


def test_cells(server):
    cells = ["a = 123", "a", "print(a)", "import sys; sys.stderr.write('careful')",
             "raise RuntimeError('bad')", "a + 1", "open('left', 'w').write('x')"]
    result = sandbox_fusion.run_jupyter(RunJupyterRequest(cells=cells, fetch_files=["left"]),
                                        max_attempts=1)
    assert result.status == "Success" and result.driver.status == "Finished"
    assert len(result.cells) == len(cells)
    assert result.cells[1].display[0]["text/plain"] == "123"
    assert result.cells[2].stdout == "123\n" and result.cells[3].stderr == "careful"
    [error] = result.cells[4].error
    assert (error["ename"], error["evalue"]) == ("RuntimeError", "bad") and error["traceback"]
    assert result.cells[5].display[0]["text/plain"] == "124"
    assert base64.b64decode(result.files["left"]) == b"x"
    result = sandbox_fusion.run_jupyter(
        RunJupyterRequest(cells=["print(1)", "import time; time.sleep(60)", "print(2)"],
                          total_timeout=1.5), max_attempts=1)
    assert result.status == "Failed" and result.driver.status == "TimeLimitExceeded"
    assert [each.stdout for each in result.cells] == ["1\n", ""]
    check_nothing_stays(server, 2)


def submit(completion, tests, language="python", **extra):
    return sandbox_fusion.submit(SubmitRequest(
        dataset="x", id="7", completion=completion, config=TestConfig(
            dataset_type="CommonOJDataset", language=language, extra=extra,
            provided_data={"test": [{"input": {"stdin": stdin}, "output": {"stdout": want}}
                                    for stdin, want in tests]})), max_attempts=1)


def test_numbers_of_a_judge(server):
    """A word of more than 63 characters is compared as text, not as a number."""
    for digits in (61, 62):
        printed = f"```python\nprint('1.' + '0' * {digits})\n```"
        assert submit(printed, [("", "1")]).accepted == (digits == 61)
        assert submit(printed, [("", "1." + "0" * digits)]).accepted



def test_an_answer_against_tests(server):
    answer = "First:\n```python\nprint('no')\n```\nBetter:\n```python\nprint(int(input()) * 2.0)\n```\n"
    result = submit(answer, [("2", "4"), ("3\n", " 6.000001 \n")])
    assert isinstance(result, EvalResult) and result.accepted and result.id == 7
    assert result.extracted_code == "print(int(input()) * 2.0)\n"
    assert [each.passed for each in result.tests] == [True, True]
    result = submit(answer, [("2", "5"), ("3", "6")])
    assert not result.accepted and [each.passed for each in result.tests] == [False]
    result = submit(answer, [("2", "5"), ("3", "6")], run_all_cases=True)
    assert not result.accepted and [each.passed for each in result.tests] == [False, True]
    assert not submit("no code at all", [("2", "5")]).accepted
    cpp = "```cpp\n#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x * x; }\n```"
    result = submit(cpp, [("3", "9"), ("4", "16")], "cpp")
    assert result.accepted and result.tests[0].exec_info.compile_result.return_code == 0


def with_logic(completion, logic, tests=(("", "42"),), language="python"):
    return sandbox_fusion.submit(SubmitRequest(
        dataset="x", id=1, completion=completion, config=TestConfig(
            dataset_type="CommonOJDataset", language=language, custom_extract_logic=logic,
            provided_data={"test": [{"input": {"stdin": stdin}, "output": {"stdout": want}}
                                    for stdin, want in tests]})), max_attempts=1)


FENCED = "```python\nprint(41)\n```\n"


@pytest.mark.parametrize("logic, code", [
    ("block, = extract_fenced_code(completion)\n"
     "submit_code_blocks([CodeBlock(priority=40, code=block.code + ' + 1', language='python')])",
     "print(41) + 1"),
    ("submit_code_blocks([CodeBlock(priority=30, code='a', language='python'),"
     "CodeBlock(priority=30, code='b', language='cpp')])", "a"),
    ("submit_code_blocks([CodeBlock(priority=31, code='a', language=''),"
     "CodeBlock(priority=31, code='b', language='')])", "b"),
    ("submit_code_blocks([CodeBlock(priority=20, code='a', language='python')])", "print(41)\n"),
    ("submit_code_blocks(extract_heuristic_code(completion, 'python'))", "print(41)\n"),
    ("assert extract_fenced_code('```Py\\nx\\n```')[0].language == 'python'", "print(41)\n"),
    ("print('noise')", "print(41)\n")])
def test_custom_logic_extracts_the_code(server, logic, code):
    assert with_logic(FENCED, logic).extracted_code == code
    check_nothing_stays(server, 2)


def test_code_that_custom_logic_extracted_runs(server):
    logic = "submit_code_blocks([CodeBlock(priority=10, code=completion[5:], language='python')])"
    result = with_logic("Code:print(input() * 2)", logic, [("ab", "abab"), ("c", "cc")])
    assert result.accepted and result.extracted_code == "print(input() * 2)"
    found = with_logic("First\ndef f():\n    return 1\nprint()", "submit_code_blocks(extract_heuristic_code(completion))")
    assert found.extracted_code == "def f():\n    return 1\n"


@pytest.mark.parametrize("logic, why", [
    ("1/0", "ZeroDivisionError"), ("def", "SyntaxError"), ("submit_code_blocks(['x'])", "CodeBlock"),
    ("import os; os._exit(0)", "failed"), ("import os; os.kill(os.getpid(), 9)", "failed"),
    ("submit_code_blocks([CodeBlock(1, 'x')] * 1001)", "1000 blocks")])
def test_errors_of_custom_logic_are_reported(server, logic, why):
    """Custom logic runs in a box; the daemon continues."""
    answer = post(server, API + "/submit", {"dataset": "x", "id": 1, "completion": FENCED, "config": {
        "dataset_type": "CommonOJDataset", "language": "python", "custom_extract_logic": logic,
        "provided_data": {"test": []}}})
    assert answer.status == 400 and "custom_extract_logic" in answer.json["detail"], answer
    assert why in answer.json["detail"]
    many = with_logic(FENCED, "submit_code_blocks([CodeBlock(40, 'x')] * 1000)")  # BLOCKS_MAX
    assert many.extracted_code == "x"


def test_long_tests_are_shortened_if_they_passed(server):
    long = "ü" * 3000
    answer = "```python\nprint(input())\n```"
    for more, cut in (({}, True), ({"return_full_case": True}, False)):
        result = submit(answer, [(long, long)], **more)
        shown = result.tests[0].test_info["input"]["stdin"]
        assert result.accepted and (shown == long) != cut
        assert not cut or (len(shown.encode()) <= 1000 and shown.strip("ü") == "...")
    for size in (1000, 1001):  # SHOWN_MAX
        text = "x" * size
        assert (submit(answer, [(text, text)]).tests[0].test_info["input"]["stdin"] == text) == (size == 1000)
    assert submit(answer, [(long, "x")]).tests[0].test_info["input"]["stdin"] == long


# ---- data in the request ------------------------------------------------------------------------

ROWS = [{"id": 7, "content": "Add.", "labels": {"a": [1]}}, {"id": "x", "content": "Süb.", "labels": '{"b": 2}'},
        {"id": 9, "content": "Mul."}]


def of_rows(rows, language="python"):
    return TestConfig(dataset_type="CommonOJDataset", language=language, provided_data=rows)


def test_prompts_are_made_of_rows_in_the_request(server):
    prompts = sandbox_fusion.get_prompts(GetPromptsRequest(dataset="x", config=of_rows(ROWS)))
    assert [prompt.id for prompt in prompts] == [7, "x", 9]
    assert [prompt.labels for prompt in prompts] == [{"a": [1]}, {"b": 2}, {}]
    assert prompts[1].prompt.startswith("Süb.\n\n") and "in python" in prompts[1].prompt
    none = sandbox_fusion.get_prompts(GetPromptsRequest(dataset="x", config=of_rows(ROWS, None), offset=1, limit=1))
    assert [prompt.id for prompt in none] == ["x"] and "standard input" in none[0].prompt
    one = sandbox_fusion.get_prompt_by_id(GetPromptByIdRequest(dataset="x", id=7, config=of_rows(ROWS[0])))
    assert one == prompts[0]

    def send(path, rows, **more):
        return post(server, API + path, {"dataset": "x", **more, "config": {
            "dataset_type": "CommonOJDataset", "provided_data": rows}})

    assert send("/list_ids", ROWS).json == [7, "x", 9]
    assert send("/list_ids", ROWS, offset=2).json == [9] and send("/list_ids", ROWS, offset=99).json == []
    for path, rows in (("/get_prompts", ROWS[0]), ("/get_prompts", [{"id": 1}]), ("/list_ids", [[]]),
                       ("/get_prompt_by_id", ROWS), ("/get_prompt_by_id", {"id": 1, "content": 1})):
        answer = send(path, rows, id=1)
        assert answer.status == 400 and "provided_data" in answer.json["detail"]
    for more in ({"offset": -1}, {"limit": "x"}):
        assert send("/get_prompts", ROWS, **more).status == 422
    assert send("/get_prompt_by_id", ROWS[0]).status == 422
    assert send("/get_metrics", None, results=[]).json == {}
    assert send("/get_metrics", None).status == 422
    assert send("/get_metrics_function", None).json == {"function": None}


# ---- verl -----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def verl():
    """Imports only verl's folder of the sandbox: the rest of verl needs libraries for GPUs."""
    [place] = (ROOT / "build/sdks/verl").glob(
        "venv/lib/python3*/site-packages/verl/utils/reward_score/sandbox_fusion")
    spec = importlib.util.spec_from_file_location("verl_sandbox", place / "__init__.py",
                                                  submodule_search_locations=[str(place)])
    module = sys.modules["verl_sandbox"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verdicts(verl, server, code, inputs, outputs, **more):
    score, details = verl.compute_score(url(server, API + "/run_code"), None, 1024,
                                        f"Thus:\n```python\n{code}\n```\n",
                                        {"inputs": inputs, "outputs": outputs, **more},
                                        continuous=True)
    return score, [each["status"] if isinstance(each, dict) else each for each in details]


def test_the_verdicts_of_verl(verl, server):
    double = "print(int(input()) * 2)"
    assert verdicts(verl, server, double, ["1", "2"], ["2", "4"]) == (1.0, ["success"] * 2)
    score, states = verdicts(verl, server, double, ["1", "2", "x"], ["2", "5", "1"])
    assert score == pytest.approx(1 / 3)
    assert states == ["success", "wrong_answer", "runtime_error"]
    score, states = verdicts(verl, server, "while True: pass", ["1"], ["2"])
    assert (score, states) == (0.0, ["timeout"])
    function = "def twice(x):\n    return 2 * x"
    assert verdicts(verl, server, function, ["1", "4"], ["2", "8"], fn_name="twice")[0] == 1.0


def test_a_batch_of_verl(verl, server):
    """No verdict may be an error of Reckon, which would count as a failure of the model."""
    def one(number):
        return verdicts(verl, server, f"print(int(input()) + {number})",
                        [str(i) for i in range(6)], [str(i + number) for i in range(6)])

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for score, states in pool.map(one, range(32)):
            assert (score, states) == (1.0, ["success"] * 6)


# ---- errors ---------------------------------------------------------------------------------

def test_errors_have_the_format_of_sandboxfusion(server):
    good = {"code": "1", "language": "python"}

    def invalid(body, field, path="/run_code"):
        answer = post(server, API + path, body)
        assert answer.status == 422, answer
        [detail] = answer.json["detail"]
        assert set(detail) == {"type", "loc", "msg", "input"}
        assert detail["loc"] == ["body", field] if field else ["body"]

    invalid({**good, "language": "cobol"}, "language")
    invalid({"code": "1"}, "language")
    invalid({"language": "python"}, "code")
    invalid({**good, "code": 1}, "code")
    invalid({**good, "run_timeout": "1"}, "run_timeout")
    invalid({**good, "run_timeout": -1}, "run_timeout")
    invalid({**good, "run_timeout": 1e300}, "run_timeout")
    invalid({**good, "memory_limit_MB": 1e300}, "memory_limit_MB")
    invalid({**good, "files": []}, "files")
    invalid({**good, "files": {"a": 1}}, "files")
    invalid({**good, "files": {"a": "?"}}, "files")
    invalid({**good, "files": {"/proc/1/x": ""}}, "files")
    invalid("{", None)
    invalid("[]", None)
    invalid({"cells": "1"}, "cells", "/run_jupyter")
    invalid({"cells": [1]}, "cells", "/run_jupyter")
    invalid({"cells": [], "kernel": "bash"}, "kernel", "/run_jupyter")
    # A known language that is not installed.
    answer = post(server, API + "/run_code", {**good, "language": "react"})
    assert answer.status == 200 and answer.json["status"] == "SandboxError"
    assert "react" in answer.json["message"] and answer.json["files"] == {}

    def refused(answer, status):
        assert answer.status == status, answer
        assert isinstance(answer.json["detail"], str)

    refused(post(server, API + "/run_code", good, key=False), 401)
    refused(post(server, API + "/run_code", good, headers={"X-Api-Key": "rk_wrong"}), 401)
    refused(post(server, API + "/submit", {"dataset": "x", "config": {}}), 400)
    for path in ("/submit", "/list_ids", "/get_prompts", "/get_prompt_by_id", "/get_metrics",
                 "/get_metrics_function"):
        answer = post(server, API + path, {"dataset": "humaneval", "config": {}})
        refused(answer, 400)
        assert answer.json["detail"] == "no eval class found for dataset humaneval"
        refused(post(server, API + path, {"dataset": "humaneval"}, key=False), 401)
        invalid({"config": {}}, "dataset", path)
        if path != "/submit" and "metrics" not in path:
            refused(post(server, API + path, {"dataset": "x", "id": 1, "config": {
                "dataset_type": "CommonOJDataset"}}), 400)
    assert ask(server, "GET", API + "/list_datasets").json == ["CommonOJDataset"]
    refused(ask(server, "GET", API + "/nothing"), 404)
    assert ask(server, "GET", API + "/v1/ping", key=False).json == "pong"
    status, body = oversized(server, API + "/run_code", 1 << 30)
    assert status == 413 and isinstance(body["detail"], str)
    # Limits that are below what a program needs to start are raised.
    assert post(server, API + "/run_code",
                {**good, "memory_limit_MB": 1}).json["status"] == "Success"


@pytest.mark.parametrize("path, body", [
    ("/run_code", {"code": "import time; time.sleep(90)", "language": "python",
                   "run_timeout": 100}),
    ("/run_jupyter", {"cells": ["import time; time.sleep(90)"], "total_timeout": 100})])
def test_a_client_disconnect_ends_the_run(server, path, body):
    check_client_gone(server, API + path, body)
