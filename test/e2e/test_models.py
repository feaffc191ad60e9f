"""reckon models and models.ini: scripted servers of every protocol, good and hostile ones."""
import json
import re
import threading

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json

pytestmark = pytest.mark.one_user

KEY = "sk-never-to-be-seen-4711"
PATHS = {"chat": "/v1", "responses": "/v1", "messages": "", "gemini": ""}
UNSET = {name: "" for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY",
                               "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GEMINI_BASE_URL",
                               "RECKON_MODEL", "RECKON_MODELS")}


@pytest.fixture
def ini(reckon):
    """Writes models.ini where the user has it."""
    def write(text, mode=0o600):
        folder = reckon.place.home / ".config"
        for path in folder, folder / "reckon":
            path.mkdir(exist_ok=True)
            reckon.user.own(path)
        path = folder / "reckon/models.ini"
        path.write_text(text)
        path.chmod(mode)
        return reckon.user.own(path)
    yield write
    (reckon.place.home / ".config/reckon/models.ini").unlink(missing_ok=True)


@pytest.fixture
def models(reckon):
    def run(*args, env=None, **options):
        env = {**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": "", **(env or {})}
        return reckon("models", *args, env=env, **options)
    return run


def closed(schema):
    """The schema with unknown members forbidden: readers ignore those, this test does not."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if schema.get("type") == "object" and \
        "required" in schema else {}
    return {name: closed(each) for name, each in schema.items()} | more


SCHEMA = jsonschema.Draft202012Validator(closed(parse_json(
    (ROOT / "docs/models.schema.json").read_bytes())))


def catalog(done):
    """The output of `--json`, checked against its schema."""
    printed = parse_json(done.stdout)
    SCHEMA.validate(printed)
    return printed


def rows(done):
    return {row["provider"]: row for row in catalog(done)["providers"]}


def work(model, protocol="chat", *more):
    return "\n".join(["[provider work]", f"protocol = {protocol}",
                      f"base-url = {model.url}{PATHS[protocol]}", *more, ""])


# ---- the file ---------------------------------------------------------------------------------

def test_a_question_is_answered_by_a_provider_of_the_file(reckon, ini, models):
    script = [Reply(calls=["print(6 * 7)"], usage=(1000, 100), cached=400), Reply(text="42")]
    with ModelServer(*script) as model:
        ini("[default]\nmodel = work\n" + work(model, "messages", "key-env = WORK_KEY",
                                               "model = big", "images = no")
            + "[model work/big]\nprice-in = 2\nprice-cached = 0.5\nprice-out = 10\n")
        done = reckon("ask", "-t", "python", "--json", "?",
                      env={**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": "",
                           "WORK_KEY": KEY}).expect(0)
    answer = parse_json(done.stdout)
    assert answer["model"] == "work/big" and answer["answer"] == "42"
    assert answer["cost"] == pytest.approx(
        (600 * 2 + 400 * 0.5 + 100 * 10 + 100 * 2 + 20 * 10) / 1e6)
    assert [request.path for request in model.requests] == ["/v1/messages"] * 2
    assert model.requests[0].headers["x-api-key"] == KEY
    assert model.requests[0].body["model"] == "big"


def test_options_of_a_provider_are_in_the_file(reckon, ini):
    script = [Reply(calls=["print(6 * 7)"], thought="Hm"), Reply(text="42")]
    with ModelServer(*script) as model:
        ini(work(model, "chat", "headers = X-Title: Reckon | X-Team: a b", "answer-limit = max_completion_tokens",
                 "echo-thoughts = none"))
        env = {**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": ""}
        reckon("ask", "-t", "python", "--model", "work/m", "?", env=env).expect(0)
    for request in model.requests:
        assert request.headers["x-title"] == "Reckon" and request.headers["x-team"] == "a b"
        assert "max_completion_tokens" in request.body and "max_tokens" not in request.body
    assert "Hm" not in json.dumps(model.requests[1].body)


def test_prices_and_a_budget_of_the_file_end_a_question(reckon, ini):
    def never_done(_):
        return Reply(calls=["1"], usage=(1000, 100))

    with ModelServer(never_done) as model:
        ini("[default]\nbudget = 0.005\n" + work(model, "chat", "price-in = 2", "price-out = 10"))
        env = {**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": ""}
        args = ("ask", "-t", "python", "--json", "--model", "work/m", "?")
        answer = parse_json(reckon(*args, env=env).expect(3).stdout)
        assert answer["stop"] == "budget" and answer["cost"] == pytest.approx(0.006)
        # Flags override the file.
        done = reckon(*args, "--price", "20:100", "--max-steps", "2", "--budget", "0.001",
                      env=env).expect(3)
    assert parse_json(done.stdout)["cost"] == pytest.approx(0.03)


def test_environment_before_file_and_flag_before_both(ini, reckon):
    with ModelServer(Reply(text="of the file")) as one, \
            ModelServer(Reply(text="of the env")) as two, \
            ModelServer(Reply(text="of the flag")) as three:
        ini(f"[provider openai]\nbase-url = {one.url}/v1\nmodel = m\nkey = {KEY}\n")
        env = {**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": ""}
        args = ("ask", "-t", "python", "--model", "openai", "?")
        assert reckon(*args, env=env).expect(0).out == "of the file\n"
        env["OPENAI_BASE_URL"] = two.url + "/v1"
        env["OPENAI_API_KEY"] = "of-env"
        assert reckon(*args, env=env).expect(0).out == "of the env\n"
        assert reckon(*args, "--base-url", three.url + "/v1", env=env).expect(0).out == \
            "of the flag\n"
    assert one.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert two.requests[0].headers["authorization"] == "Bearer of-env"


def test_errors_of_the_file_are_reported_with_their_lines(ini, models, reckon):
    path = ini("[default]\nmodle = x\n[provider w]\nprotocol = smoke\n[model w/\n")
    done = models("--check").expect(2)
    assert [line for line in done.err.splitlines() if line.startswith(str(path))] == [
        f'{path}:2: "modle" is not known',
        f'{path}:4: "protocol" takes one of: chat responses messages gemini',
        f"{path}:5: a section is [default], [provider NAME], "
        "[model PROVIDER/NAME] or [aliases]"]
    done = reckon("ask", "--model", "openai/m", "?",
                  env={**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": "",
                       "OPENAI_API_KEY": "x"}).expect(2)
    assert 'line 2: "modle" is not known' in done.err
    ini("[provider openai]\nkey-env = A\n")
    assert "is good: 1 provider, 0 models" in models("--check").expect(0).err
    assert "none.ini: No such file" in models("--check", "--file", "none.ini").expect(2).err
    path.unlink()
    assert "is not there" in models("--check").expect(0).err


def test_a_key_in_a_file_that_others_read_is_refused(ini, models):
    ini(f"[provider openai]\nkey = {KEY}\n", 0o644)
    done = models("--check").expect(2)
    assert "others can read" in done.err and KEY not in done.err
    ini("[default]\n", 0o666)
    assert "can be written by others" in models().expect(2).err


# ---- the state of a provider ------------------------------------------------------------------

@pytest.mark.parametrize("protocol", PATHS)
def test_a_server_that_lists_its_models_works(ini, models, protocol):
    with ModelServer(models=("small", "big", "größer:1")) as model:
        ini(work(model, protocol, f"key = {KEY}", "model = big", "price-in = 1.50",
                 "price-out = 3"))
        done = models("--json").expect(0)
        shown = models("work").expect(0)
    row = rows(done)["work"]
    assert row["state"] == "works" and row["error"] is None and row["has_key"]
    assert row["models"] == ["small", "big", "größer:1"] and row["models_total"] == 3
    assert row["price"] == {"in": 1.5, "cached": 1.5, "out": 3}
    assert KEY in str(model.requests[0].headers) and KEY not in model.requests[0].path
    assert KEY.encode() not in done.stdout + done.stderr + shown.stdout + shown.stderr
    assert re.search(rf"work +works +{protocol} +big +key +{re.escape(model.url)}", shown.out)
    assert "  größer:1\n" in shown.out


def test_the_schema_describes_the_output(ini, models):
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)
    printed = catalog(models("--json").expect(1))
    assert printed == {"schema": "reckon.models/1", "file": None, "default": None, "providers": []}
    with ModelServer(models=("a",)) as model:
        path = ini("[default]\nmodel = work/a\n" + work(model, "chat", "price-in = 1", "price-out = 2"))
        printed = catalog(models("--json").expect(0))
        chosen = catalog(models("--json", "--offline", env={"RECKON_MODEL": "other/b"}).expect(0))
    assert (printed["file"], printed["default"]) == (str(path), "work/a")
    assert chosen["default"] == "other/b"
    [row] = printed["providers"]
    for wrong in ({"error": {"code": "lost", "message": "x", "remedy": ""}}, {"state": "failed"},
                  {"state": "well"}, {"models_total": None}, {"price": 1}, {"key": "rk"}):
        with pytest.raises(jsonschema.ValidationError):
            SCHEMA.validate({**printed, "providers": [{**row, **wrong}]})


def test_a_default_model_that_is_not_in_the_list_is_reported(ini, models):
    with ModelServer(models=("a",)) as model:
        ini(work(model, "chat", "model = b"))
        assert '"b" of models.ini is not in its list' in models().expect(0).err


def json_of(value, status=200):
    return lambda path: (status, "application/json", [json.dumps(value).encode()])


def raw(*pieces, status=200, kind="application/json"):
    return lambda path: (status, kind, pieces)


HOSTILE = {
    "no JSON": (raw(b"<html>hello</html>"), "the answer is not JSON"),
    "no list": (json_of({"hello": 1}), "not a list of models"),
    "a number": (json_of(7), "not a list of models"),
    "deep": (raw(b"[" * 100000), "the answer is not JSON"),
    "a stream": (raw(b"data: {}\n\n", kind="text/event-stream"), "not a list of models"),
    "endless": (lambda path: (200, "application/json", iter(lambda: b" " * 65536, None)),
                "more than"),
    "wrong key": (json_of({"error": {"message": f"bad key {KEY}, \x1b]0;x\x07", "type":
                                     "authentication_error"}}, 401), "check the key"),
    "no such page": (json_of({"error": "not here"}, 404), "is the address right"),
    "busy": (json_of({"error": {"message": "too many"}}, 429), "ask again"),
    "redirected": (lambda path: (302, "text/html", [b"go away"]), "HTTP 302"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_is_a_failed_provider(ini, models, name):
    listing, words = HOSTILE[name]
    with ModelServer(models=listing) as model:
        ini(work(model, "chat", f"key = {KEY}"))
        done = models("--json").expect(1)
        shown = models().expect(1)
    row = rows(done)["work"]
    assert row["state"] == "failed" and row["models"] == []
    assert words in row["error"]["message"] + row["error"]["remedy"]
    assert words in shown.err
    assert KEY not in done.out + done.err + shown.out + shown.err
    assert "\x1b" not in shown.err


def test_names_of_models_are_limited_and_escaped(ini, models):
    names = ["good", "x" * 300, "with space", "new\nline", "esc\x1b[31m", "", 7, None, "\u202eevil",
             "\x9b31m", *(f"m{i}" for i in range(5000))]
    listing = json_of({"data": [{"id": name} for name in names] + ["x", None]})
    with ModelServer(models=listing) as model:
        ini(work(model))
        row = rows(models("--json").expect(0))["work"]
        shown = models("work").expect(0)
    assert row["models"][:2] == ["good", "\u202eevil"]
    assert len(row["models"]) == 1000 and row["models_total"] == len(names) + 2
    assert "\x1b" not in shown.out and "\x9b" not in shown.out


def test_gemini_lists_what_can_answer(ini, models):
    listing = json_of({"models": [
        {"name": "models/g", "supportedGenerationMethods": ["countTokens", "generateContent"]},
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]}]})
    with ModelServer(models=listing) as model:
        ini(work(model, "gemini"))
        assert rows(models("--json").expect(0))["work"]["models"] == ["g"]
    assert model.requests[0].path == "/v1beta/models?pageSize=1000"


def test_a_server_that_does_not_listen_and_a_missing_key(ini, models):
    with ModelServer() as model:
        gone = model.url
    ini(f"[provider gone]\nprotocol = chat\nbase-url = {gone}/v1\n"
        "[provider shy]\nprotocol = chat\nbase-url = http://127.0.0.1:9/v1\nkey-env = SHY_KEY\n")
    done = models("--json").expect(1)
    found = rows(done)
    assert found["gone"]["state"] == "failed" and "running" in found["gone"]["error"]["remedy"]
    assert found["shy"]["state"] == "no key" and found["shy"]["error"]["remedy"] == "set SHY_KEY"
    found = rows(models("--json", "--offline", env={"SHY_KEY": "x"}).expect(0))
    assert {row["state"] for row in found.values()} == {"not asked"}


def test_a_server_that_hangs_does_not_hang_us(ini, models):
    def hang(path):
        def body():
            yield b"["
            stop.wait(40)
        return 200, "application/json", body()

    stop = threading.Event()
    try:
        with ModelServer(models=hang) as model:
            ini(work(model))
            row = rows(models("--json").expect(1))["work"]
            assert "no answer within" in row["error"]["message"]
            stop.set()
    finally:
        stop.set()


def test_providers_of_the_environment_are_listed(models, ini):
    with ModelServer(models=("claude",)) as model:
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url}
        found = rows(models("--json", env=env).expect(0))
        done = models(env=env).expect(0)
    assert found["anthropic"]["state"] == "works"
    assert found["anthropic"]["key_from"] == "ANTHROPIC_API_KEY"
    assert "openai" not in found and "not configured: openai " in done.err
    assert models(env={}).expect(1).out == ""
    assert "not a provider" in models("nobody").expect(2).err


def test_a_key_that_the_server_quotes_is_not_shown(reckon, ini):
    trouble = Reply(status=400, error={"error": {"message": f"{KEY} sent {KEY}", "type": "x"}})
    with ModelServer(trouble) as model:
        ini(work(model, "chat", f"key = {KEY}"))
        done = reckon("ask", "-t", "python", "--json", "--model", "work/m", "?",
                      env={**UNSET, "HOME": str(reckon.place.home), "XDG_CONFIG_HOME": ""})
    assert "*** sent ***" in done.err and KEY not in done.out + done.err
    for path in reckon.work.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
