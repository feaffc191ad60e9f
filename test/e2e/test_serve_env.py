"""Environment variables of one execution: set while it runs, and as before when it has ended."""
import json

import pytest

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
PYTHON = "import os; print(os.environ.get('A'), os.environ.get('B'))"
BASH = "echo ${A-None} ${B-None}"


@pytest.fixture
def session(server):
    return server.create(env={"B": "of the session"})


@pytest.mark.parametrize("language, code, dies, stops", [
    ("python", PYTHON, "import os; os._exit(3)", "import os; os.environ['B'] = 'own'; 1 / 0"),
    ("bash", BASH, "exit 3", "export B=own; false")])
def test_one_execution(server, session, language, code, dies, stops):
    def run(code, **more):
        return server.execute(session, code, language=language, **more)

    def shown(**more):
        return run(code, **more)["stdout"].strip()

    own = {"A": "it's \"$A\"\n ü \\", "B": "other"}
    assert shown() == "None of the session"
    assert run(code, env=own)["stdout"].split() == ["it's", '"$A"', "ü", "\\", "other"]
    assert shown() == "None of the session"
    # Programs that the cell starts see the variables. They are reset however the cell ends, and
    # whatever it does to them.
    see = f"!{BASH}" if language == "python" else f"bash -c '{BASH}'"
    assert run(see, env={"A": "1"})["stdout"] == "1 of the session\n"
    for ending in (stops, dies):
        run(ending, env=own)
        assert shown() == "None of the session", ending
    # A variable that a cell sets itself persists, also after an execution that overrides it.
    run("os.environ['A'] = '7'" if language == "python" else "export A=7")
    assert shown(env={"A": "8"}) == "8 of the session"
    assert shown() == "7 of the session"
    # Variables that bash does not let anybody set do not stop the cell.
    assert shown(env={"UID": "5", "SHELLOPTS": "x", "C": ""}) == "7 of the session"
    assert shown() == "7 of the session"


def test_any_number_of_variables(server):
    """A list of three variables fills its memory from malloc() exactly, so it must not be read past
    its end."""
    code = "import os; print(*(os.environ[f'A{i}'] for i in range(%d)), os.environ.get('A%d'))"
    for count in range(1, 9):
        env = {f"A{i}": str(i) for i in range(count)}
        shown = " ".join([*env.values(), "None\n"])
        named = server.create(env=env)
        assert server.execute(named, code % (count, count))["stdout"] == shown
        assert server.execute(named, code % (count, count), env=env)["stdout"] == shown
        server.ask("DELETE", f"/sessions/{named}")


def test_invalid_variables_idempotency_and_history(server, session):
    def ask(body, **headers):
        return server.ask("POST", f"/sessions/{session}/executions", {"code": PYTHON, **body}, headers)

    for env in ({"": "x"}, {"A=B": "x"}, {"A-B": "x"}, {"A": 1}, {"A": "x\0"}, ["A"], {"A": "x" * 40000},
                {f"A{i}": "x" for i in range(300)}):
        assert ask({"env": env}).code == "invalid", env
    key = {"Idempotency-Key": "k"}
    first = ask({"env": {"A": "secret-1"}}, **key)
    assert first.json["stdout"] == "secret-1 of the session\n"
    assert ask({"env": {"A": "secret-1"}}, **key).json["id"] == first.json["id"]
    assert ask({"env": {"A": "secret-2"}}, **key).code == "idempotency_conflict"
    # The history does not contain the values.
    assert ask({"code": "len(os.environ['A'])", "env": {"A": "secret-3"}}).json["results"]
    history = server.ask("GET", f"/sessions/{session}/executions").json
    assert "secret-3" not in json.dumps(history)
