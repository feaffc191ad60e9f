"""Clients of OpenAI's API, each as its users have it: SDKs of two generations, LangChain, Agents, Vercel.

tools/setup.sh installs them from test/sdks/openai and test/sdks/openai-before.
"""
import json
import os
import subprocess

import pytest
from model_server import ModelServer, Reply
from node_clients import node
from reckon_cli import ROOT
from reckon_serve import SECONDS
from test_serve_openai import PNG, Speaking
from test_serve_openai_items import Reasoning

PROGRAMS, MADE = ROOT / "test/sdks/openai", ROOT / "build/sdks"
WEATHER = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_1"}
pytestmark = pytest.mark.one_user


def reply(body):
    """Runs code if the request has that tool, calls get_weather for a question about it, then answers."""
    last = body["messages"][-1]
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    if last["role"] == "tool":
        return Reply(text=f"It is {last['content'].strip()}.")
    if "weather" in str(last["content"]) and "get_weather" in names:
        return Reply(calls=[WEATHER])
    return Reply(calls=["print(6*7)"]) if "python" in names else Reply(text="I guess 42.")


def run_at(server, *words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=SECONDS, env={
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "MODULES": str(MADE / "openai"), "PNG": PNG,
        "OPENAI_API_KEY": server.key, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/openai/v1"})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def run(reckon, *words):
    with ModelServer(reply) as model, Speaking(reckon, model) as server:
        return run_at(server, *words)


def test_python_of_the_previous_generation(reckon):
    assert run(reckon, MADE / "openai-before/venv/bin/python", PROGRAMS / "python_client.py") == {
        "responses": "It is 42.", "chat": "I guess 42.", "threads": "It is 42.", "poll": "completed"}


@pytest.mark.parametrize("package", ["openai", "openai-before"])
def test_node(reckon, package):
    assert run(reckon, node(), PROGRAMS / "node_client.mjs", package) == {
        "responses": "code_interpreter_call,message It is 42.", "chat": "I guess 42.",
        "tools": "It is 12 degrees in Bern.", "threads": "It is 42.", "poll": "completed"}


@pytest.mark.parametrize("words", [
    (MADE / "openai/venv/bin/python", PROGRAMS / "python_lists.py"),
    (MADE / "openai-before/venv/bin/python", PROGRAMS / "python_lists.py"),
    (node(), PROGRAMS / "node_lists.mjs", "openai"), (node(), PROGRAMS / "node_lists.mjs", "openai-before")],
    ids=["python", "python-before", "node", "node-before"])
def test_lists(reckon, words):
    """Files, containers, and files of a container: the SDKs see each, in both orders."""
    assert run(reckon, *words) == {
        "files": "43210", "pages": "43210", "ascending": "01234", "purpose": "420", "after": "10",
        "containers": "43210", "containers-limit": "43210", "containers-limit-order": "01234",
        "containers-after-order": "34", "inside": "43210", "inside-limit": "43210", "inside-limit-order": "01234"}


def thinking_reply(body):
    """Replies with thoughts; calls the shell if the request has that tool, and then answers."""
    last, names = body["input"][-1], [tool["name"] for tool in body.get("tools") or []]
    if last["type"] == "function_call_output":
        return Reply(thought="So.", text="It was one.")
    if "shell" in names:
        return Reply(thought="Hm.", calls=[{"raw": '{"commands": ["echo 1", "exit 3"]}', "name": "shell", "id": "call_1"}])
    sees = any(part["type"] == "input_image" for part in last["content"])
    return Reply(thought="Hm.", text="I see." if sees else "Fine.")


@pytest.mark.parametrize("words", [
    (MADE / "openai/venv/bin/python", PROGRAMS / "python_items.py"),
    (MADE / "openai-before/venv/bin/python", PROGRAMS / "python_items.py"),
    (node(), PROGRAMS / "node_items.mjs", "openai"), (node(), PROGRAMS / "node_items.mjs", "openai-before")],
    ids=["python", "python-before", "node", "node-before"])
def test_items(reckon, words):
    with ModelServer(thinking_reply) as model, Reasoning(reckon, model, "responses") as server:
        tenant, = server.ask("GET", "/tenants").json["tenants"]
        assert server.ask("PATCH", f"/tenants/{tenant['id']}", {"quotas": {"requests_per_s": 5000}}).status == 200
        assert run_at(server, *words) == {
            "shell": "echo 1,exit 3 1 3", "reference": "Fine.", "sealed": "true", "image": "I see.",
            "thread": "completed", "limit": "5000", "error": "true invalid_request_error"}
        bodies = [json.dumps(request.body) for request in model.requests]
    # The encrypted reasoning went back to the provider; the referenced answer is in the request.
    assert ["It was one." in each for each in bodies[:4]] == [False, False, True, False]
    assert [each.count("c2VjcmV0IHRob3VnaHRz") for each in bodies] == [0, 1, 0, 0, 1, 0, 0, 0]
    assert f"data:image/png;base64,{PNG}" in bodies[5] and f"data:image/png;base64,{PNG}" in bodies[6]


def test_langchain(reckon):
    assert run(reckon, MADE / "openai/venv/bin/python", PROGRAMS / "langchain_client.py") == {
        "whole": "It is 42.", "stream": "It is 42."}


def test_agents(reckon):
    assert run(reckon, MADE / "openai/venv/bin/python", PROGRAMS / "agents_client.py") == {
        "whole": "It is 42.", "stream": "It is 12 degrees in Bern."}


def test_vercel(reckon):
    assert run(reckon, node(), PROGRAMS / "vercel_client.mjs") == {
        "whole": "It is 42.", "stream": "It is 42.", "outputs": '[{"type":"logs","logs":"42\\n"}]'}
