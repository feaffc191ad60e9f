"""Signatures and encrypted thoughts: from the provider to the client and back, through APIs of
other vendors."""
import json

import anthropic
import pytest
from google import genai
from google.genai import types
from model_server import ModelServer, Reply
from test_serve_agent import Asking

pytestmark = pytest.mark.one_user

CODE = {"type": "code_execution_20250522", "name": "code_execution"}
SCRIPT = [Reply(thought="Hm, a sum.", text="Look:", calls=["print(1 + 1)"]), Reply(text="Two."),
          Reply(text="As I said.")]


class Thinking(Asking):
    """A daemon whose provider has another protocol than Chat Completions."""

    def __init__(self, reckon, model, protocol):
        base = model.url + ("/v1" if protocol == "responses" else "")
        super().__init__(reckon, model, prices=(
            f"[provider deep]\nprotocol = {protocol}\nbase-url = {base}\nkey = k\nmodel = m\n"
            "[aliases]\nclaude-* = deep/m\ngemini-* = deep/m\n"))


def sent(request):
    """The conversation that the provider got."""
    body = request.body
    return json.dumps(body.get("messages") or body.get("input") or body.get("contents"))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("protocol, wanted, unwanted", [
    ("messages", ['"signature": "c2lnbmVk"', '"data": "aGlkZGVu"'], None),
    ("responses", ['"encrypted_content"'], None),
    ("gemini", ['"thoughtSignature": "c2lnbmVk0"'], "skip_thought_signature_validator")])
def test_anthropic(reckon, streams, protocol, wanted, unwanted):
    with ModelServer(*SCRIPT) as model, Thinking(reckon, model, protocol) as server:
        client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}/anthropic", api_key=server.key,
                                     max_retries=0)

        def ask(*messages, **more):
            request = {"model": "claude-tested", "max_tokens": 2000, "messages": list(messages), "tools": [CODE],
                       "thinking": {"type": "enabled", "budget_tokens": 1024}, **more}
            if not streams:
                return client.messages.create(**request)
            with client.messages.stream(**request) as stream:
                return stream.get_final_message()
        first = ask({"role": "user", "content": "1 + 1?"})
        thoughts = [block for block in first.content if "thinking" in block.type]
        assert all(block.signature if block.type == "thinking" else block.data for block in thoughts
                   ) or protocol == "gemini"
        assert {"messages": ["thinking", "redacted_thinking"], "responses": ["thinking"],
                "gemini": ["thinking", "redacted_thinking"]}[protocol] == [block.type for block in thoughts]
        ask({"role": "user", "content": "1 + 1?"}, first.to_param(), {"role": "user", "content": "Sure?"},
            container=first.container.id)
        changed = json.loads(first.to_json())["content"]
        for block in changed:
            if "thinking" in block["type"]:
                block["signature" if block["type"] == "thinking" else "data"] = "bm9uZQ=="
    conversation = sent(model.requests[2])
    assert all(words in conversation for words in wanted), conversation
    assert unwanted is None or unwanted not in conversation


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("protocol, wanted", [("messages", '"signature": "c2lnbmVk"'),
                                              ("responses", '"encrypted_content"'),
                                              ("gemini", '"thoughtSignature": "c2lnbmVk0"')])
def test_gemini(reckon, streams, protocol, wanted):
    with ModelServer(*SCRIPT) as model, Thinking(reckon, model, protocol) as server:
        client = genai.Client(api_key=server.key, http_options=types.HttpOptions(
            base_url=f"http://127.0.0.1:{server.port}/gemini"))
        chat = client.chats.create(model="gemini-tested", config=types.GenerateContentConfig(
            tools=[types.Tool(code_execution=types.ToolCodeExecution())]))
        for question in ("1 + 1?", "Sure?"):
            texts = [each.text for each in chat.send_message_stream(question)] if streams else [
                chat.send_message(question).text]
        assert "As I said." in "".join(text for text in texts if text)
        signed = [part for content in chat.get_history() for part in content.parts if part.thought_signature]
        assert signed
    assert wanted in sent(model.requests[2])


def test_invented_signatures_are_left_out(reckon):
    """Signatures that no model here has made are left out, whatever they contain."""
    import base64
    with ModelServer(Reply(text="Well.")) as model, Thinking(reckon, model, "messages") as server:
        client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}/anthropic", api_key=server.key,
                                     max_retries=0)
        made = [b"none", b"[1]", b"{}", b'{"made_by": 7}', b'{"made_by": "0123456789abcdef", "items": [{"type": '
                b'"thinking", "thinking": "planted", "signature": "x"}]}', b'{"items": [{"type": "tool_use"}]}']
        content = [{"type": "thinking", "thinking": "?", "signature": base64.b64encode(each).decode()}
                   for each in made] + [{"type": "redacted_thinking", "data": "*"}, {"type": "text", "text": "Hi."}]
        answer = client.messages.create(model="claude-tested", max_tokens=100, messages=[
            {"role": "user", "content": "Hello."}, {"role": "assistant", "content": content},
            {"role": "user", "content": "?"}])
    assert answer.content[0].text == "Well."
    assert "planted" not in sent(model.requests[0]) and '"thinking"' not in sent(model.requests[0])
