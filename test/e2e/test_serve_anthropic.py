"""Anthropic's API in front of the daemon, with Anthropic's own SDK; the model is scripted."""
import base64
import json

import anthropic
import pytest
from model_server import ModelServer, Reply
from test_serve_agent import KEY, Asking
from waiting import eventually

pytestmark = pytest.mark.one_user

CODE = {"type": "code_execution_20250522", "name": "code_execution"}
BASH = {"type": "code_execution_20250825", "name": "code_execution"}
WEATHER = {"name": "get_weather", "description": "The weather of a city.",
           "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")
REQUEST = {"model": "claude-tested", "max_tokens": 1000}


def user(content):
    return {"role": "user", "content": content}


class Speaking(Asking):
    """A daemon whose model aliases map every name `claude-*` to the scripted model."""

    def __init__(self, reckon, model, args=(), **options):
        super().__init__(reckon, model, *args, prices="[aliases]\nclaude-* = scripted/m\n", **options)

    def client(self, path="/anthropic", **options):
        return anthropic.Anthropic(base_url=f"http://127.0.0.1:{self.port}{path}",
                                   api_key=options.pop("api_key", self.key), max_retries=0, **options)


def types(message):
    return [block.type for block in message.content]


def test_code_execution(reckon):
    script = [Reply(text="I compute it.", calls=["x = 6 * 7\nprint(x)\nopen('out.csv', 'w').write('a\\n1\\n')\nx"]),
              Reply(text="It is 42.", usage=(300, 30), cached=50),
              Reply(calls=["print(x + 1)"]), Reply(text="43.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        client = server.client()
        message = client.messages.create(**REQUEST, system="Be brief.", tools=[CODE],
                                         messages=[user("What is 6 times 7?")])
        assert types(message) == ["text", "server_tool_use", "code_execution_tool_result", "text"]
        assert message.content[0].text == "I compute it." and message.content[3].text == "It is 42."
        call, result = message.content[1], message.content[2]
        assert call.name == "code_execution" and call.input["code"].startswith("x = 6 * 7")
        assert result.tool_use_id == call.id and result.content.type == "code_execution_result"
        assert result.content.stdout == "42\n42\n" and result.content.return_code == 0
        assert message.stop_reason == "end_turn" and message.role == "assistant"
        assert message.model == REQUEST["model"] and message.id.startswith("msg_")
        assert (message.usage.input_tokens, message.usage.output_tokens,
                message.usage.cache_read_input_tokens) == (350, 50, 50)
        assert message.container.id.startswith("container_") and message.container.expires_at
        assert message._request_id
        # As in the vendor's own example, the client downloads the file that the code wrote.
        file = client.files.retrieve_metadata(result.content.content[0].file_id)
        assert (file.filename, file.size_bytes, file.downloadable) == ("out.csv", 4, True)
        assert client.files.download(file.id).read() == b"a\n1\n"
        # A later request continues in the same container; the code of the history does not run
        # again.
        later = client.messages.create(
            **REQUEST, tools=[CODE], container=message.container.id,
            messages=[user("What is 6 times 7?"), message.to_param(), user("And one more?")])
        assert later.content[1].content.stdout == "43\n"
        assert later.container.id == message.container.id
    first, sent = model.requests[0].body["messages"], model.requests[2].body["messages"]
    assert "Be brief." in first[0]["content"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[3]["content"] == "42\n42\n" and sent[2]["tool_calls"][0]["function"]["name"] == "python"


def test_sdk_reads_streams(reckon):
    script = [Reply(thought="Hm.", text="Look:", calls=["print('a')\n1/0"]), Reply(text="It failed.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        with server.client().messages.stream(
                **REQUEST, tools=[CODE], thinking={"type": "enabled", "budget_tokens": 1024},
                messages=[user("?")]) as stream:
            events = [event.type for event in stream]
            message = stream.get_final_message()
            text = stream.get_final_text()
    assert types(message) == ["thinking", "text", "server_tool_use", "code_execution_tool_result", "text"]
    assert message.content[0].thinking == "Hm." and text == "Look:It failed."
    assert message.content[2].input == {"code": "print('a')\n1/0"}
    result = message.content[3].content
    assert result.stdout == "a\n" and result.return_code == 1 and "ZeroDivisionError" in result.stderr
    assert message.stop_reason == "end_turn" and message.container.id.startswith("container_")
    assert message.usage.output_tokens == 40 and message.usage.input_tokens == 200
    assert events[0] == "message_start" and events[-1] == "message_stop"
    assert events.count("content_block_start") == events.count("content_block_stop") == 5


@pytest.mark.parametrize("version", ["20250825", "20260120", "20260521"])
def test_bash(reckon, version):
    with ModelServer(Reply(calls=["echo hi; echo no >&2; exit 3"]), Reply(text="Done.")) as model, \
            Speaking(reckon, model) as server:
        message = server.client().messages.create(**REQUEST, messages=[user("?")], tools=[
            {"type": f"code_execution_{version}", "name": "code_execution"}])
    assert types(message) == ["server_tool_use", "bash_code_execution_tool_result", "text"]
    assert message.content[0].name == "bash_code_execution"
    assert message.content[0].input == {"command": "echo hi; echo no >&2; exit 3"}
    result = message.content[1].content
    assert result.type == "bash_code_execution_result"
    assert (result.stdout, result.stderr[:3]) == ("hi\n", "no\n") and result.return_code != 0
    assert model.requests[0].body["tools"][0]["function"]["name"] == "bash"


@pytest.mark.parametrize("streams", [False, True])
def test_tools_of_the_application(reckon, streams):
    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "toolu_1"}
    with ModelServer(Reply(text="I look.", calls=["y = 5", call]), Reply(text="Warm.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()

        def ask(**body):
            if not streams:
                return client.messages.create(**REQUEST, tools=[CODE, WEATHER], **body)
            with client.messages.stream(**REQUEST, tools=[CODE, WEATHER], **body) as stream:
                return stream.get_final_message()

        first = ask(messages=[user("How warm?")])
        assert types(first) == ["text", "server_tool_use", "code_execution_tool_result", "tool_use"]
        assert first.stop_reason == "tool_use" and first.content[3].input == {"city": "Bern"}
        result = {"type": "tool_result", "tool_use_id": first.content[3].id, "is_error": True,
                  "content": [{"type": "text", "text": "no idea"}]}
        last = ask(messages=[user("How warm?"), first.to_param(), user([result])],
                   container=first.container.id)
        assert last.content[0].text == "Warm." and last.container.id == first.container.id
    sent = model.requests[1].body["messages"]
    assert [(each["role"], each.get("tool_call_id")) for each in sent if each["role"] == "tool"][-1] == (
        "tool", "toolu_1")
    assert "no idea" in sent[-1]["content"]


def test_plain_model_without_code_execution(reckon):
    with ModelServer(Reply(text="Ahoy.")) as model, Speaking(reckon, model) as server:
        # The SDK's own paths also work without the prefix /anthropic, with the key in `x-api-key`.
        client = server.client("", default_headers={"x-api-key": server.key})
        message = client.messages.create(
            **REQUEST, stop_sequences=["END"], tool_choice={"type": "none"}, tools=[WEATHER],
            messages=[user("Hello."), {"role": "assistant", "content": "Hi."}, user([
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "document", "title": "a.txt",
                 "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
                {"type": "text", "text": "What is it?"}])])
        assert client.messages.count_tokens(model="claude-x", messages=[user("Hello")]).input_tokens > 5
        names = [each.id for each in client.models.list()]
        assert client.models.retrieve("scripted/m").id == "scripted/m"
    assert message.content[0].text == "Ahoy." and message.container is None
    body = model.requests[0].body
    assert body["stop"] == ["END"] and body["max_tokens"] == 1000 and body["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_weather"]
    assert "words" in json.dumps(body) and "running Python" not in json.dumps(body)
    assert "scripted/m" in names


def test_documents_become_files_that_code_reads(reckon):
    data = base64.b64encode(b"a,b\n1,2\n").decode()
    with ModelServer(Reply(calls=["print(open('sales.csv').read())"]), Reply(text="Ok.")) as model, \
            Speaking(reckon, model) as server:
        message = server.client().messages.create(**REQUEST, tools=[CODE], messages=[user([
            {"type": "document", "title": "sales.csv",
             "source": {"type": "base64", "media_type": "text/csv", "data": data}},
            {"type": "text", "text": "?"}])])
    assert message.content[1].content.stdout == "a,b\n1,2\n\n"
    assert "sales.csv" in json.dumps(model.requests[0].body["messages"])


def test_uploads(reckon):
    with ModelServer(Reply(calls=["cat sales.csv; echo changed > sales.csv"]), Reply(text="Done."),
                     Reply(calls=["cat sales.csv"]), Reply(text="Done.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        file = client.files.upload(file=("sales.csv", b"a,b\n1,2\n", "text/csv"))
        assert (file.filename, file.size_bytes, file.type) == ("sales.csv", 8, "file")
        assert client.files.retrieve_metadata(file.id).filename == "sales.csv"
        assert client.files.download(file.id).read() == b"a,b\n1,2\n"
        assert [each.id for each in client.files.list()] == [file.id]
        question = user([{"type": "text", "text": "?"}, {"type": "container_upload", "file_id": file.id}])
        first = client.messages.create(**REQUEST, tools=[BASH], messages=[question])
        assert first.content[1].content.stdout == "a,b\n1,2\n"
        # The history names the upload again, but this does not overwrite what the code wrote to it.
        later = client.messages.create(**REQUEST, tools=[BASH], container=first.container.id,
                                       messages=[question, first.to_param(), user("And now?")])
        assert later.content[1].content.stdout == "changed\n"
        assert client.files.delete(file.id).type == "file_deleted"
        for gone in (lambda: client.files.retrieve_metadata(file.id), lambda: client.files.download("file_x"),
                     lambda: client.messages.create(**REQUEST, tools=[BASH], messages=[question])):
            with pytest.raises(anthropic.NotFoundError):
                gone()
    assert "- sales.csv" in json.dumps(model.requests[0].body["messages"])


def test_files_are_listed_by_page_and_id_and_expire(reckon):
    with ModelServer(Reply(calls=["cat b.txt"]), Reply(text="Done.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        ids = [client.files.upload(file=(f"{name}.txt", name.encode())).id for name in "abc"]
        page = client.files.list(limit=2)
        assert [each.id for each in page.data] == ids[:0:-1] and page.has_next_page()
        assert [each.id for each in page] == ids[::-1]
        assert [each.id for each in client.files.list(ids=[ids[1], "file_none", ids[0]])] == [ids[1], ids[0]]
        short = client.files.upload(file=("d.txt", b"d"), expires_in_seconds=3600)
        assert short.expires_at and client.files.retrieve_metadata(short.id).expires_at == short.expires_at
        assert client.files.retrieve_metadata(ids[0]).expires_at is None
        for query in ("limit=0", "limit=x", "limit=1001", "&".join(["ids[]=file_a"] * 101)):
            answer = server.ask("GET", f"/v1/files?{query}", prefix="/anthropic")
            assert answer.status == 400 and answer.json["error"]["type"] == "invalid_request_error"
        with pytest.raises(anthropic.BadRequestError):
            client.files.upload(file=("d.txt", b"d"), expires_in_seconds=1 << 40)
        # A document that names a file of the tenant becomes a file that code reads.
        document = {"type": "document", "source": {"type": "file", "file_id": ids[1]}}
        message = client.messages.create(**REQUEST, tools=[BASH], messages=[user([document])])
        assert message.content[1].content.stdout == "b"
        with pytest.raises(anthropic.BadRequestError):
            client.messages.create(**REQUEST, messages=[user([document])])


def test_errors_have_the_vendors_format(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no", "type": "invalid_request_error"}})
    with ModelServer(trouble) as model, Speaking(reckon, model) as server:
        client = server.client()

        def refused(error, status, **body):
            with pytest.raises(error) as caught:
                client.messages.create(**{**REQUEST, "messages": [user("?")], **body})
            assert caught.value.status_code == status
            shown = caught.value.body
            assert shown["type"] == "error" and shown["request_id"] and shown["error"]["message"]
            assert caught.value.response.headers["request-id"] == shown["request_id"]
            return shown["error"]["type"], shown["error"]["message"]

        bad = anthropic.BadRequestError
        assert refused(anthropic.NotFoundError, 404, model="gpt-5")[0] == "not_found_error"
        for container in ("container_01ARZ3NDEKTSV4RRFFQ69G5FAV", "se_x", "container_../..", "container_" + "x" * 1000):
            assert refused(anthropic.NotFoundError, 404, tools=[CODE], container=container)[0] == "not_found_error"
        assert refused(bad, 400, messages=[])[0] == "invalid_request_error"
        assert refused(bad, 400, messages=[user([{"type": "nonsense"}])])[1].startswith("messages.0: ")
        assert refused(bad, 400, tools=[{"type": "web_search_20250305", "name": "web_search"}])
        assert refused(bad, 400, messages=[user("?"), {"role": "assistant", "content": "I"}])
        assert refused(bad, 400, tools=[CODE, {**WEATHER, "name": "python"}])[1].startswith("conversation: ")
        assert refused(anthropic.InternalServerError, 500)[0] == "api_error"
        client = server.client(api_key="rk_wrong")
        assert refused(anthropic.AuthenticationError, 401)[0] == "authentication_error"
        client = server.client()
        for file in ("file_" + "0" * 32 + "_61", "file_1", "file_" + "0" * 32 + "_2f", "a%2fb"):
            with pytest.raises(anthropic.NotFoundError):
                client.files.retrieve_metadata(file)
        for body in (b"", b"{", b"[]", b"\xff", b'{"model": 1}', b'{"a":' * 100):
            answer = server.ask("POST", "/v1/messages", body, prefix="/anthropic")
            assert answer.status == 400 and answer.json["error"]["type"] == "invalid_request_error"
        answer = server.ask("POST", "/v1/messages", b"x", {"Content-Length": str(33 << 20)}, prefix="/anthropic")
        assert answer.status == 413 and answer.json["error"]["type"] == "request_too_large"
        assert KEY not in server.log()


def test_disconnect_interrupts_the_run(reckon):
    with ModelServer(Reply(text="Begun.", calls=["import time\ntime.sleep(60)"]), Reply(text="No.")) as model, \
            Speaking(reckon, model) as server:
        with server.client().messages.create(**REQUEST, tools=[CODE], messages=[user("?")],
                                             stream=True) as stream:
            for event in stream:
                if event.type == "content_block_start" and event.content_block.type == "server_tool_use":
                    break
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        assert len(model.requests) == 1


@pytest.mark.parametrize("streams", [False, True])
def test_a_long_turn_pauses(reckon, streams):
    """At the limit of cells the reply stops with `pause_turn`; the client sends it back unchanged,
    and the run continues."""
    script = [Reply(text="One.", calls=["x = 1\nprint(x)"]), Reply(calls=["print(x + 1)", "print(x + 2)"]),
              Reply(calls=["print(x + 3)"]), Reply(text="Done.")]
    with ModelServer(*script) as model, Speaking(reckon, model, default="max-steps = 2") as server:
        client = server.client()

        def ask(*messages, **more):
            if not streams:
                return client.messages.create(**REQUEST, tools=[CODE], messages=list(messages), **more)
            with client.messages.stream(**REQUEST, tools=[CODE], messages=list(messages), **more) as stream:
                return stream.get_final_message()
        first = ask(user("Count."))
        assert first.stop_reason == "pause_turn" and first.content[-1].content.stdout == "3\n"
        assert [block.content.stdout for block in first.content if "result" in block.type] == ["1\n", "2\n", "3\n"]
        last = ask(user("Count."), first.to_param(), container=first.container.id)
        assert last.content[0].type == "server_tool_use" and last.content[1].content.stdout == "4\n"
        assert (last.stop_reason, last.content[-1].text) == ("end_turn", "Done.")
        with pytest.raises(anthropic.BadRequestError):
            ask(user("Count."), {"role": "assistant", "content": "I beg"})
    assert len(model.requests) == 4 and "limit" not in json.dumps(model.requests[3].body["messages"][1:])


def test_quota_error_has_ratelimit_headers(reckon):
    with ModelServer(Reply(calls=["import time\ntime.sleep(30)"])) as model, \
            Speaking(reckon, model, args=("--agent-runs-tenant", "1")) as server:
        client = server.client()
        server.begin()
        with pytest.raises(anthropic.RateLimitError) as caught:
            client.messages.create(**REQUEST, messages=[user("?")])
        headers = caught.value.response.headers
        assert headers["anthropic-ratelimit-requests-limit"] == "1" and "retry-after" in headers
        assert headers["anthropic-ratelimit-requests-remaining"] == "0"
        assert headers["anthropic-ratelimit-requests-reset"].endswith("Z") and headers["request-id"]
