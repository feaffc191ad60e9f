"""The APIs of OpenAI, Anthropic and Google with a real model on this host: llama.cpp's server and
SmolLM2.

As in test_ask_local.py the tests do not depend on what the model says, but check that a request
goes the whole way: the vendor's SDK, conversation, prompt, stream, code, box, output, and an end.
"""

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from reckon_serve import Server
from test_ask_local import models, server  # noqa: F401 fixtures

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

QUESTION = "Print the sum of squares from 1 to 10."


class Speaking(Server):
    """A daemon that maps every model name to the model of the local server."""

    def __init__(self, reckon, model, protocol):
        file = reckon.work / "models.ini"
        path = "" if protocol == "messages" else "/v1"
        file.write_text(
            "[default]\nmodel = here/smollm2\nmax-steps = 1\nanswer-tokens = 80\nmax-time = 100\n"
            f"[provider here]\nprotocol = {protocol}\nbase-url = {model.url}{path}\nkey = {model.key}\n"
            "calling = fenced\ncontext = 4096\n[model here/smollm2]\n[aliases]\n* = here/smollm2\n")
        file.chmod(0o600)
        super().__init__(reckon, "--models", file)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
def test_responses(reckon, server, protocol):  # noqa: F811
    with Speaking(reckon, server, protocol) as daemon:
        client = openai.OpenAI(base_url=daemon.url + "/openai/v1", api_key=daemon.key, max_retries=0)
        with client.responses.stream(model="gpt-any", input=QUESTION, include=["code_interpreter_call.outputs"],
                                     tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]) as stream:
            kinds = {event.type for event in stream}
            response = stream.get_final_response()
    cells = [item for item in response.output if item.type == "code_interpreter_call"]
    assert cells and "print(" in cells[0].code and cells[0].outputs[0].logs.strip().isdigit()
    assert {"response.code_interpreter_call_code.delta", "response.code_interpreter_call.completed"} <= kinds
    assert response.status in ("completed", "incomplete") and response.usage.output_tokens > 20


def test_messages(reckon, server):  # noqa: F811
    with Speaking(reckon, server, "chat") as daemon:
        client = anthropic.Anthropic(base_url=daemon.url + "/anthropic", api_key=daemon.key, max_retries=0)
        with client.messages.stream(
                model="claude-any", max_tokens=80, messages=[{"role": "user", "content": QUESTION}],
                tools=[{"type": "code_execution_20250522", "name": "code_execution"}]) as stream:
            message = stream.get_final_message()
    results = [block for block in message.content if block.type == "code_execution_tool_result"]
    assert results and results[0].content.stdout.strip().isdigit()
    assert message.stop_reason in ("end_turn", "max_tokens", "pause_turn") and message.usage.output_tokens > 20


@pytest.mark.parametrize("streams", [False, True])
def test_generate_content(reckon, server, streams):  # noqa: F811
    with Speaking(reckon, server, "chat") as daemon:
        client = genai.Client(api_key=daemon.key, http_options=types.HttpOptions(base_url=daemon.url + "/gemini"))
        request = {"model": "gemini-any", "contents": QUESTION, "config": types.GenerateContentConfig(
            max_output_tokens=80, tools=[types.Tool(code_execution=types.ToolCodeExecution())])}
        found = (list(client.models.generate_content_stream(**request)) if streams
                 else [client.models.generate_content(**request)])
    parts = [part for response in found for part in response.candidates[0].content.parts or []]
    codes = [part.executable_code for part in parts if part.executable_code]
    results = [part.code_execution_result for part in parts if part.code_execution_result]
    assert codes and "print(" in codes[0].code and results[0].output.strip().isdigit()
    assert codes[0].id == results[0].id and results[0].outcome == types.Outcome.OUTCOME_OK
    assert found[-1].candidates[0].finish_reason.name in ("STOP", "MAX_TOKENS", "TOO_MANY_TOOL_CALLS")
    assert found[-1].usage_metadata.candidates_token_count > 20


def test_chat_completions(reckon, server):  # noqa: F811
    with Speaking(reckon, server, "chat") as daemon:
        client = openai.OpenAI(base_url=daemon.url + "/v1", api_key=daemon.key, max_retries=0)
        completion = client.chat.completions.create(
            model="gpt-any", max_tokens=40, temperature=0,
            messages=[{"role": "user", "content": "What is the capital of France?"}])
    assert completion.choices[0].message.content and completion.choices[0].finish_reason in ("stop", "length")
    assert 0 < completion.usage.completion_tokens <= 40
