"""Official SDKs of model APIs from PyPI and npm, two versions each: the samples of the vendors' documentation
run with another address, key and model."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from model_server import ModelServer, Reply
from reckon_serve import SECONDS
from sdks import WHEELS, node_sdk, python_sdk
from test_serve_agent import Asking

pytestmark = pytest.mark.one_user

PROGRAMS = pathlib.Path(__file__).with_name("model_programs")
ANTHROPIC = {"python-new": ("anthropic==2.13.0",), "python-old": ("anthropic==1.17.0",),
             "node-new": ("@anthropic-ai/sdk@1.14.0", "zod@4.1.12"),
             "node-old": ("@anthropic-ai/sdk@0.137.0", "zod@4.1.12")}
EDITOR = "text_editor_code_execution"
GEMINI = {"python-new": ("google-genai==3.6.1",), "python-old": ("google-genai==2.34.0",),
          "node-new": ("@google/genai@3.3.0",), "node-old": ("@google/genai@2.32.0",)}


def function(name, arguments="{}"):
    return {"name": name, "raw": arguments, "id": "call_1"}


def run(reckon, tmp_path, packages, program, script):
    """The output of the program and the requests to the model."""
    with ModelServer(*script) as model, \
            Asking(reckon, model, prices="[aliases]\nclaude-* = scripted/m\ngemini-* = scripted/m\n") as server:
        url = f"http://127.0.0.1:{server.port}"
        if packages[0].startswith("@"):
            (tmp_path / "node_modules").symlink_to(node_sdk(*packages) / "node_modules")
            shutil.copy2(PROGRAMS / f"{program}.mjs", tmp_path)
            command = [str(WHEELS / "node"), str(tmp_path / f"{program}.mjs")]
        else:
            command = [python_sdk(*packages), PROGRAMS / f"{program}.py"]
        clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3 * SECONDS, env=clean | {
            "ANTHROPIC_BASE_URL": f"{url}/anthropic", "ANTHROPIC_API_KEY": server.key,
            "GOOGLE_GEMINI_BASE_URL": f"{url}/gemini", "GEMINI_API_KEY": server.key})
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}\n{server.log()[-2000:]}"
        return json.loads(done.stdout.splitlines()[-1]), model.requests


@pytest.mark.parametrize("version", ANTHROPIC)
def test_anthropic(reckon, tmp_path, version):
    script = [Reply(calls=["awk -F, 'NR>1{s+=$2}END{print s}' data.csv | tee chart.txt"]), Reply(text="Eight."),
              Reply(text="I query.", calls=["rows = await query_database('SELECT *')\nprint(max(rows, key=lambda row: "
                                            "row['revenue'])['customer_id'])"]), Reply(text="C1 leads."),
              Reply(thought="Hm.", text="Look: ", calls=["echo 1", function(EDITOR, '{"command": "view", "path": "."}')]),
              Reply(text="done."),
              Reply(calls=[function("get_weather", '{"location": "SF"}')]), Reply(text="Mild.")]
    seen, requests = run(reckon, tmp_path, ANTHROPIC[version], "anthropic_samples", script)
    assert (seen["file"], seen["stop"]) == ("8\n", "end_turn")
    assert (seen["caller"], seen["sql"]) == ("code_execution_20250825", "SELECT *")
    assert seen["programmatic"] == ["C1\n", "C1 leads.", "end_turn"]
    assert seen["text"] == "Look: done."
    assert seen["blocks"] == ["thinking", "text", "server_tool_use", "bash_code_execution_tool_result",
                              "server_tool_use", f"{EDITOR}_tool_result", "text"]
    assert seen["runner"] == ["tool_use", "Mild."] and seen["error"] == "not_found_error"
    assert seen["tokens"] and "scripted/m" in seen["models"]
    assert "68" in json.dumps(requests[-1].body)


@pytest.mark.parametrize("version", GEMINI)
def test_gemini(reckon, tmp_path, version):
    draw = ("import matplotlib.pyplot as plt\nprint(open('input_file_0.csv').read().strip(), "
            "open('input_file_1.txt').read().strip())\nplt.plot([1, 2])\nplt.show()")
    script = [Reply(text="Ask."), Reply(text="I sum.", calls=["print(5117)"]), Reply(text="5117."),
              Reply(text="First."), Reply(text="Second."), Reply(calls=[draw]), Reply(text="Drawn."),
              Reply(calls=[function("power_disco_ball" if "python" in version else "lights",
                                    '{"power": true}' if "python" in version else "{}")]), Reply(text="It spins."),
              Reply(calls=["x = 1", function("lights")])]
    seen, requests = run(reckon, tmp_path, GEMINI[version], "gemini_samples", script)
    assert seen["hello"] == "Ask." and seen["chat"] == ["I sum.", "print(5117)", "5117\n", "5117."]
    assert seen["stream"] == ["First.", "Second."] and seen["history"]
    assert seen["chart"] == ["89504e47"] and "a,b" in seen["printed"][0] and "x;y" in seen["printed"][0]
    assert seen["function"] == "It spins." and seen["tokens"]
    assert seen["both"] == [[True, False], [False, False], [False, True]]
    assert "You are a mathematician." in json.dumps(requests[0].body)
    assert "First." in json.dumps(requests[4].body)
