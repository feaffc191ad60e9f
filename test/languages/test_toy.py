"""A language is a folder: the toy language goes where Python and bash go, and no code knows of it.

For a build with -Dextra_languages=toy: tools/run-tests makes one in its lane clang, and runs this
file with RECKON_BIN. By hand:

    meson setup build-toy -Dextra_languages=toy && ninja -C build-toy
    RECKON_BIN=build-toy/bin/reckon RECKON_DRIVER=build-toy/test/support/reckon-driver \\
        build/venv/bin/pytest test/languages
"""
import json

import nbformat
import pytest
from attack import Driver
from reckon_cli import parse_json

SUMS = "1 + 2 ; three\n_ + 39"


def test_it_runs_from_the_command_line(reckon):
    reckon.file("more.toy", "_ + 100\n")
    assert reckon("run", "-l", "toy", "-c", SUMS, "more.toy").expect(0).out == "3\n42\n142\n"
    assert reckon("run", "more.toy").expect(0).out == "100\n"
    record = parse_json(reckon("run", "-l", "SUMS", "--json", "-c", "6 - 7").expect(0).out)
    assert (record["kernel"], record["status"]) == ("toy", "ok")
    assert record["results"][0]["data"] == {"text/plain": "-1"}


def test_its_errors_are_the_programs(reckon):
    done = reckon("run", "-l", "toy", "-c", "1\n2 * 3").expect(1)
    assert (done.out, "line 2: SumError: only + and - are known" in done.err) == ("1\n", True)
    # Repeats are found by the syntax of its row: comments and white space do not count.
    done = reckon("run", "-l", "toy", "--keep-going", "--json", "-c", "1*2", "-c", "1 * 2 ; again")
    records = [json.loads(line) for line in done.expect(1).out.splitlines()]
    assert "repeated_failure" in [note["code"] for note in records[1]["diagnostics"]]


def test_what_lists_languages_has_it(reckon):
    assert "python (default), bash or toy" in reckon("run", "--help").expect(0).out
    assert "python, bash, toy" in reckon("run", "-l", "cobol", "-c", "1").expect(2).err
    assert "python bash toy" in reckon("--completion", "bash").expect(0).out


def test_a_branch_has_its_variables(reckon):
    driver = Driver(reckon.place, reckon.state)
    try:
        parent = driver.open(language="toy")
        parent.expect("ok", "40 + 2")
        if not parent.about["has_twin"]:
            pytest.skip("no twins on this host")
        copy = parent.branch()
        parent.expect("ok", "_ - 42")
        assert copy.expect("ok", "_ + 1")["results"][0]["data"]["text/plain"] == "43"
        assert parent.expect("ok", "_ + 1")["results"][0]["data"]["text/plain"] == "1"
    finally:
        driver.close()


def test_it_runs_over_http_beside_others(server):
    session = server.create(language="toy")
    assert server.execute(session, SUMS)["stdout"] == "3\n"
    assert server.execute(session, "_ + 1")["results"][0]["data"]["text/plain"] == "43"
    other = server.ask("POST", f"/sessions/{session}/contexts", {"language": "python"})
    assert other.status == 201
    assert server.execute(session, "print(6 * 7)", context=other.json["id"])["stdout"] == "42\n"
    # In a session of another language it has a kernel of its own, too.
    session = server.create()
    record = server.execute(session, "1 + 1", language="toy")
    assert (record["kernel"], record["context"][:4]) == ("toy", "ctx_")
    assert server.execute(session, "_ + 1", language="toy")["results"][0]["data"] == {
        "text/plain": "3"}
    listed = server.ask("GET", "/templates").json["templates"]
    assert listed and all(each["languages"] == ["python", "bash", "toy"] for each in listed)
    refused = server.ask("POST", "/sessions", {"language": "cobol"})
    assert refused.status == 400 and "python, bash, toy" in json.dumps(refused.json)


def test_what_its_kernel_does_not_answer_is_answered_with_nothing(server):
    session = server.create(language="toy")
    path = f"/sessions/{session}"
    assert server.ask("GET", f"{path}/variables").json["variables"] == []
    assert server.ask("POST", f"{path}/complete", {"code": "1 +"}).json["matches"] == []
    assert server.execute(session, "2 + 2")["status"] == "ok"


def test_the_console_and_its_notebooks(reckon):
    assert reckon("repl", "-l", "toy", stdin="1 + 1\n%save a.ipynb\n%save a.toy\n").expect(0)
    book = nbformat.read(reckon.cwd / "a.ipynb", as_version=4)
    nbformat.validate(book)
    assert book.metadata.kernelspec == {"name": "toy", "display_name": "Toy", "language": "toy"}
    assert book.metadata.language_info == {"name": "toy", "file_extension": ".toy",
                                           "mimetype": "text/x-toy"}
    assert (reckon.cwd / "a.toy").read_text() == "; %% [1]\n1 + 1\n"
