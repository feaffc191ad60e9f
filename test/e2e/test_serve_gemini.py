"""Gemini's API in front of the daemon, with Google's own SDK; the model is scripted."""
import base64
import json
import urllib.parse

import pytest
from google import genai
from google.genai import errors, types
from model_server import ModelServer, Reply
from test_serve_agent import KEY, Asking
from waiting import eventually

pytestmark = pytest.mark.one_user

MODEL = "gemini-tested"
CODE = types.Tool(code_execution=types.ToolCodeExecution())
WEATHER = types.Tool(function_declarations=[types.FunctionDeclaration(
    name="get_weather", description="The weather of a city.", parameters=types.Schema(
        type=types.Type.OBJECT, required=["city"], properties={
            "city": types.Schema(type=types.Type.STRING),
            "type": types.Schema(type=types.Type.ARRAY, min_items=1, nullable=True,
                                 items=types.Schema(type=types.Type.INTEGER))}))])
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('drawn')"


class Speaking(Asking):
    """A daemon whose model aliases map every name `gemini-*` to the scripted model."""

    def __init__(self, reckon, model, args=(), **options):
        super().__init__(reckon, model, *args, prices="[aliases]\ngemini-* = scripted/m\n", **options)

    def client(self, path="/gemini", key=None, **options):
        self.last = genai.Client(api_key=key or self.key, http_options=types.HttpOptions(
            base_url=f"http://127.0.0.1:{self.port}{path}", **options))
        return self.last  # a client without a reference is closed


def config(*tools, **options):
    return types.GenerateContentConfig(tools=list(tools), **options, automatic_function_calling=(
        types.AutomaticFunctionCallingConfig(disable=True)))


def kinds(parts):
    """The name of the member that each part has."""
    return [next(name for name in ("text", "executable_code", "code_execution_result", "inline_data",
                                   "function_call") if getattr(part, name) is not None) for part in parts]


def parts_of(response):
    return response.candidates[0].content.parts


def gathered(stream):
    """All parts of a stream, with adjacent texts joined; and its last response."""
    parts = []
    for response in stream:
        for part in parts_of(response) or []:
            if parts and part.text is not None and parts[-1].text is not None and parts[-1].thought == part.thought:
                parts[-1].text += part.text
            else:
                parts.append(part)
    return parts, response


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_text(reckon, version):
    with ModelServer(Reply(text="Ahoy.", usage=(300, 30), cached=50, reasoning=10)) as model, \
            Speaking(reckon, model) as server:
        client = server.client(api_version=version)
        response = client.models.generate_content(model=MODEL, contents=[
            types.Content(role="user", parts=[types.Part(text="Hello.")]),
            types.Content(role="model", parts=[types.Part(text="Hm.", thought=True), types.Part(text="Hi.")]),
            types.Content(role="user", parts=[types.Part(text="What is it?"),
                                              types.Part.from_bytes(data=PNG, mime_type="image/png"),
                                              types.Part.from_bytes(data="wordsÿþ".encode(),
                                                                    mime_type="text/plain")])],
            config=config(system_instruction="Be brief.", temperature=0.5, top_p=0.9, seed=7,
                          stop_sequences=["END"], max_output_tokens=1000))
        assert client.models.count_tokens(model=MODEL, contents="Hello").total_tokens > 5
        assert "models/scripted/m" in [each.name for each in client.models.list()]
        assert client.models.get(model="scripted/m").display_name == "scripted/m"
    assert response.text == "Ahoy." and response.candidates[0].finish_reason == types.FinishReason.STOP
    assert response.model_version == MODEL and response.response_id.startswith("run_")
    usage = response.usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count,
            usage.cached_content_token_count, usage.total_token_count) == (300, 20, 10, 50, 330)
    body = model.requests[0].body
    assert (body["temperature"], body["top_p"], body["seed"], body["stop"], body["max_tokens"]) == (
        0.5, 0.9, 7, ["END"], 1000)
    sent = json.dumps(body["messages"], ensure_ascii=False)
    assert "Be brief." in sent and "wordsÿþ" in sent and "running Python" not in sent
    assert base64.b64encode(PNG).decode() in sent and "Hm." not in sent and "Hi." in sent
    assert "tools" not in body


def test_code_and_a_chart(reckon):
    script = [Reply(text="I draw it.", calls=[DRAW]), Reply(text="Here."), Reply(text="A line.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        chat = server.client().chats.create(model=MODEL, config=config(CODE))
        response = chat.send_message("Draw.")
        parts = parts_of(response)
        assert kinds(parts) == ["text", "executable_code", "code_execution_result", "inline_data", "text"]
        assert response.executable_code == DRAW and response.code_execution_result.startswith("drawn")
        assert parts[1].executable_code.language == types.Language.PYTHON
        assert parts[2].code_execution_result.outcome == types.Outcome.OUTCOME_OK
        assert parts[1].executable_code.id == parts[2].code_execution_result.id
        assert parts[3].inline_data.mime_type == "image/png" and parts[3].inline_data.data.startswith(b"\x89PNG")
        assert server.ask("GET", f"/agent/{response.response_id}").json["answer"] == "Here."
        # The client sends the model's reply back unchanged; none of its code runs again.
        assert chat.send_message("What was it?").text == "A line."
    sent = model.requests[2].body["messages"]
    assert [each["role"] for each in sent][:4] == ["system", "user", "assistant", "tool"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"code": DRAW}
    assert sent[3]["content"].startswith("drawn")
    assert base64.b64encode(parts[3].inline_data.data).decode() in json.dumps(sent)
    assert len(model.requests) == 3


def test_a_stream_with_an_error_in_the_code(reckon):
    script = [Reply(thought="Hm.", text="Look:", calls=["print('a')\n1/0"]), Reply(text="It failed.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        parts, last = gathered(server.client().models.generate_content_stream(
            model=MODEL, contents="?",
            config=config(CODE, thinking_config=types.ThinkingConfig(include_thoughts=True))))
    assert [part.text for part in parts] == ["Hm.", "Look:", None, None, "It failed."]
    assert parts[0].thought and not parts[1].thought
    result = parts[3].code_execution_result
    assert result.outcome == types.Outcome.OUTCOME_FAILED
    assert result.output.startswith("a\n") and "ZeroDivisionError" in result.output
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata.total_token_count == 240
    assert "ZeroDivisionError" in json.dumps(model.requests[1].body["messages"])


def test_a_stream_as_an_array(reckon):
    with ModelServer(Reply(text="In pieces, each its own.", calls=["6 * 7"]), Reply(text="42.")) as model, \
            Speaking(reckon, model) as server:
        answer = server.ask("POST", f"/v1beta/models/{MODEL}:streamGenerateContent",
                            {"contents": [{"parts": [{"text": "?"}]}], "tools": [{"code_execution": {}}]},
                            prefix="/gemini")
    assert answer.status == 200 and len(answer.json) > 4
    parts = [part for each in answer.json for part in each["candidates"][0]["content"]["parts"]]
    assert "".join(part.get("text", "") for part in parts) == "In pieces, each its own.42."
    assert [part["codeExecutionResult"]["output"] for part in parts if "codeExecutionResult" in part] == ["42"]
    assert answer.json[-1]["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize("streams", [False, True])
def test_functions_of_the_application(reckon, streams):
    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_w"}
    with ModelServer(Reply(text="I look.", calls=["y = 5", call]), Reply(text="Warm.")) as model, \
            Speaking(reckon, model) as server:
        models = server.client().models

        def ask(contents):
            request = {"model": MODEL, "contents": contents, "config": config(CODE, WEATHER)}
            return (gathered(models.generate_content_stream(**request))[0] if streams
                    else parts_of(models.generate_content(**request)))

        question = types.Content(role="user", parts=[types.Part(text="How warm?")])
        first = ask([question])
        assert kinds(first) == ["text", "executable_code", "code_execution_result", "function_call"]
        assert (first[3].function_call.name, first[3].function_call.args) == ("get_weather", {"city": "Bern"})
        # The SDK sends function responses without an id.
        result = types.Part.from_function_response(name="get_weather", response={"error": "no idea"})
        last = ask([question, types.Content(role="model", parts=first), types.Content(role="user", parts=[result])])
        assert [part.text for part in last] == ["Warm."]
    schema = next(tool["function"]["parameters"] for tool in model.requests[0].body["tools"]
                  if tool["function"]["name"] == "get_weather")
    assert schema == {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"},
        "type": {"type": ["array", "null"], "minItems": 1, "items": {"type": "integer"}}}}
    sent = model.requests[1].body["messages"]
    assert sent[-1]["role"] == "tool" and sent[-1]["tool_call_id"] == "call_w" and "no idea" in sent[-1]["content"]


def test_the_sdk_calls_a_function_of_python(reckon):
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"warm in {city}"

    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_w"}
    with ModelServer(Reply(calls=[call]), Reply(text="Warm.")) as model, Speaking(reckon, model) as server:
        response = server.client().models.generate_content(
            model=MODEL, contents="?", config=types.GenerateContentConfig(tools=[get_weather]))
    assert response.text == "Warm." and "warm in Bern" in model.requests[1].body["messages"][-1]["content"]


def test_allowed_functions(reckon):
    other = types.Tool(function_declarations=[types.FunctionDeclaration(
        name="other", parameters_json_schema={"type": "object", "properties": {"a": {"type": "string"}}})])
    script = [Reply(text="1"), Reply(text="2")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        for names in (["other"], None):
            server.client().models.generate_content(
                model=MODEL, contents="?", config=config(WEATHER, other, tool_config=types.ToolConfig(
                    function_calling_config=types.FunctionCallingConfig(
                        mode="ANY", allowed_function_names=names))))
    first, second = (asked.body for asked in model.requests)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["other"]
    assert first["tools"][0]["function"]["parameters"]["properties"] == {"a": {"type": "string"}}
    assert first["tool_choice"] == {"type": "function", "function": {"name": "other"}}
    assert len(second["tools"]) == 2 and second["tool_choice"] == "required"


def test_files_are_written_where_code_reads_them(reckon):
    data = bytes(range(256))
    read = "print(open('input_file_0.csv').read(), open('input_file_1.png', 'rb').read() == %r)\n" % PNG
    read += "print(open('input_file_2', 'rb').read() == bytes(range(256)))"
    with ModelServer(Reply(calls=[read]), Reply(text="Ok.")) as model, Speaking(reckon, model) as server:
        response = server.client().models.generate_content(model=MODEL, config=config(CODE), contents=[
            types.Part.from_bytes(data=b"a,b\n1,2\n", mime_type="text/csv"),
            types.Part.from_bytes(data=PNG, mime_type="image/png"),
            types.Part.from_bytes(data=data, mime_type="application/octet-stream"), "?"])
    assert response.code_execution_result == "a,b\n1,2\n True\nTrue\n"
    sent = json.dumps(model.requests[0].body["messages"])
    assert "- input_file_0.csv" in sent and base64.b64encode(PNG).decode() in sent


def test_files(reckon, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_bytes(b"a,b\n1,2\n")
    image = tmp_path / "dot.png"
    image.write_bytes(PNG)
    read = "print(open('input_file_0.csv').read(), open('input_file_1.png', 'rb').read() == %r)" % PNG
    with ModelServer(Reply(calls=[read]), Reply(text="Ok.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        file = client.files.upload(file=path, config={"display_name": "sales of köln.csv"})
        dot = client.files.upload(file=image)
        assert (file.display_name, file.mime_type, file.size_bytes) == ("sales of köln.csv", "text/csv", 8)
        assert (dot.display_name, dot.mime_type) == ("dot.png", "image/png") and file.create_time
        assert file.state == types.FileState.ACTIVE and file.uri.endswith("/gemini/v1beta/" + file.name)
        assert client.files.get(name=file.name) == client.files.get(name=file.name)
        assert [each.name for each in client.files.list()] == [dot.name, file.name]
        response = client.models.generate_content(model=MODEL, contents=[file, dot, "?"], config=config(CODE))
        assert response.code_execution_result == "a,b\n1,2\n True\n"
        assert client.models.count_tokens(model=MODEL, contents=[file]).total_tokens > 5
        client.files.delete(name=file.name)
        unknown = types.Part.from_uri(file_uri="https://example.com/other", mime_type="text/csv")
        for gone in (lambda: client.files.get(name=file.name), lambda: client.files.delete(name="files/x"),
                     lambda: client.models.generate_content(model=MODEL, contents=[file, "?"], config=config(CODE)),
                     lambda: client.models.generate_content(model=MODEL, contents=[unknown], config=config(CODE))):
            with pytest.raises(errors.ClientError) as caught:
                gone()
            assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND")
        assert server.key not in server.log()
    sent = json.dumps(model.requests[0].body["messages"])
    assert "- input_file_0.csv" in sent and base64.b64encode(PNG).decode() in sent


def test_uploads_that_are_refused(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        def upload(status, headers, body=b"{}", **options):
            answer = server.ask("POST", "/v1beta/files", body, headers, prefix="/gemini/upload", **options)
            assert answer.status == answer.json["error"]["code"] == status, answer

        start = {"X-Goog-Upload-Command": "start"}
        upload(400, {})
        upload(400, {"X-Goog-Upload-Command": "upload"})
        upload(400, {"X-Goog-Upload-Command": "upload", "X-Goog-Upload-Offset": "9" * 15}, b"x")
        upload(400, {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "8"})
        upload(400, start, b"[")
        upload(400, start, json.dumps({"file": {"displayName": "x" * 300}}))
        upload(413, {**start, "X-Goog-Upload-Header-Content-Length": str(513 << 20)})
        upload(413, {**start, "X-Goog-Upload-Header-Content-Length": "9" * 40})
        upload(401, start, key=None)
        upload(401, {"X-Goog-Upload-Command": "upload, finalize"}, b"bytes", key=None)
        assert server.ask("GET", "/v1beta/files", prefix="/gemini").json == {"files": []}


def test_keys(reckon):
    with ModelServer(Reply(text="By header."), Reply(text="By query.")) as model, Speaking(reckon, model) as server:
        # The SDK's own path, without the prefix /gemini.
        assert server.client("").models.generate_content(model=MODEL, contents="?").text == "By header."
        path = f"/v1beta/models/{MODEL}:generateContent?key={urllib.parse.quote(server.key)}"
        answer = server.ask("POST", path, {"contents": [{"parts": [{"text": "?"}]}]}, prefix="/gemini", key=None)
        assert answer.json["candidates"][0]["content"]["parts"] == [{"text": "By query."}]
        with pytest.raises(errors.ClientError) as caught:
            server.client(key="rk_wrong").models.generate_content(model=MODEL, contents="?")
        assert (caught.value.code, caught.value.status) == (401, "UNAUTHENTICATED")
        assert caught.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
        assert server.key not in server.log()


def test_errors_have_the_vendors_format(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no", "type": "invalid_request_error"}})
    with ModelServer(trouble, trouble) as model, Speaking(reckon, model) as server:
        def check_error(answer, status, name):
            error = answer.json["error"]
            assert (answer.status, error["code"], error["status"]) == (status, status, name), answer
            assert error["message"] and isinstance(error["details"], list)
            return error["message"]

        def refused(status, name, body, model=MODEL, method="generateContent"):
            return check_error(server.ask("POST", f"/v1beta/models/{model}:{method}", body, prefix="/gemini"), status, name)

        def bad(**body):
            return refused(400, "INVALID_ARGUMENT", {"contents": [user], **body})

        user = {"role": "user", "parts": [{"text": "?"}]}
        spoken = {"role": "model", "parts": [{"text": "I"}]}
        for body in (b"", b"{", b"[]", b"\xff", b'{"contents": 1}', b'{"contents": [1]}', b'{"a":' * 100):
            assert refused(400, "INVALID_ARGUMENT", body)
        assert bad(contents=[]) and bad(contents=[{"role": "user"}]) and bad(contents=[{**user, "role": "x"}])
        assert bad(contents=[user, spoken]).startswith("contents[1]: ")
        assert bad(contents=[{"parts": [{"nonsense": {}}]}]).startswith("contents[0]: ")
        assert bad(contents=[{"parts": [{"functionResponse": {"name": "f", "response": {}}}]}])
        assert bad(contents=[user, {"role": "model", "parts": [{"codeExecutionResult": {"output": "x"}}]}, user])
        assert bad(contents=[{"parts": [{"inlineData": {"mimeType": "image/png", "data": "!"}}]}])
        assert bad(contents=[{"parts": [{"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}]}])
        image = {"inlineData": {"mimeType": "image/png", "data": "A" * (6 << 20)}}
        assert "images" in refused(413, "INVALID_ARGUMENT", {"contents": [{"parts": [image] * 5}]})
        assert "googleSearch" in bad(tools=[{"googleSearch": {}}])
        assert bad(tools=[{"functionDeclarations": [{"name": "f", "parameters": {"properties": {"a": 1}}}]}])
        assert bad(toolConfig={"functionCallingConfig": {"mode": "SOME"}})
        for key, value in (("temperature", "hot"), ("maxOutputTokens", 0), ("candidateCount", 2),
                           ("responseMimeType", "application/json"), ("responseModalities", ["AUDIO"])):
            assert key in bad(generationConfig={key: value})
        python = {"name": "python", "parameters": {"type": "OBJECT", "properties": {}}}
        assert bad(tools=[{"codeExecution": {}}, {"functionDeclarations": [python]}]).startswith("conversation: ")
        assert refused(404, "NOT_FOUND", {"contents": [user]}, model="gpt-5")
        assert refused(404, "NOT_FOUND", {"contents": [user]}, method="predict")
        assert check_error(server.ask("GET", "/v1beta/models/none", prefix="/gemini"), 404, "NOT_FOUND")
        assert check_error(server.ask("GET", "/v1beta/other", prefix="/gemini"), 404, "NOT_FOUND")
        assert check_error(server.ask("DELETE", "/v1beta/models/x", prefix="/gemini"), 405, "UNIMPLEMENTED")
        answer = server.ask("POST", f"/v1beta/models/{MODEL}:generateContent", b"x",
                            {"Content-Length": str(33 << 20)}, prefix="/gemini")
        assert check_error(answer, 413, "INVALID_ARGUMENT")
        assert not model.requests
        for method in ("generate_content", "generate_content_stream"):
            with pytest.raises(errors.ServerError) as caught:
                list(getattr(server.client().models, method)(model=MODEL, contents="?"))
            assert (caught.value.code, caught.value.status) == (500, "INTERNAL")
        assert KEY not in server.log()


def test_a_provider_that_breaks_off_in_a_stream(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no", "type": "invalid_request_error"}})
    with ModelServer(Reply(text="Begun.", calls=["1"]), trouble) as model, Speaking(reckon, model) as server:
        seen = []
        with pytest.raises(errors.ServerError) as caught:
            for response in server.client().models.generate_content_stream(
                    model=MODEL, contents="?", config=config(CODE)):
                seen += parts_of(response)
    assert "".join(part.text or "" for part in seen) == "Begun." and caught.value.status == "INTERNAL"


def test_disconnect_interrupts_the_run(reckon):
    with ModelServer(Reply(text="Begun.", calls=["import time\ntime.sleep(60)"]), Reply(text="No.")) as model, \
            Speaking(reckon, model) as server:
        stream = server.client().models.generate_content_stream(model=MODEL, contents="?", config=config(CODE))
        for response in stream:
            if any(part.executable_code for part in parts_of(response)):
                break
        stream.close()
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        assert len(model.requests) == 1


def test_a_large_file_in_pieces(reckon, tmp_path):
    """SDKs send a large file in several requests; code reads it, and the model does not get its
    content."""
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * (5 << 20))  # 20 MiB and a line
    code = "text = open('input_file_0.csv').read()\nprint(len(text), text[:3], text[-4:])"
    with ModelServer(Reply(calls=[code]), Reply(text="Read.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        file = client.files.upload(file=path, config={"mime_type": "text/csv"})
        assert file.size_bytes == path.stat().st_size and file.state == "ACTIVE"
        assert [each.name for each in client.files.list()] == [file.name]  # its pieces are gone
        response = client.models.generate_content(model=MODEL, contents=[file, "?", file], config=config(CODE))
        assert parts_of(response)[1].code_execution_result.output == f"{path.stat().st_size} a,b 1,2\n\n"
        eventually(lambda: not server.ask("GET", "/sessions?status=live").json["sessions"])
        with pytest.raises(errors.ClientError):
            client.models.generate_content(model=MODEL, contents=[file, "?"])  # without code, nothing could read it
    assert len(json.dumps(model.requests[0].body)) < 20000


def test_pieces_that_do_not_fit_together(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        def upload(status, command, offset, body=b"", url="/v1beta/files?upload_id=mine&name=a.txt", **options):
            answer = server.ask("POST", url, body, {"X-Goog-Upload-Command": command,
                                                    "X-Goog-Upload-Offset": str(offset)},
                                prefix="/gemini/upload", **options)
            assert answer.status == status, answer
            return answer
        upload(200, "upload", 0, b"one ")
        upload(200, "upload", 0, b"one ")  # a client tries again
        upload(200, "upload", 8, b"four")
        assert upload(200, "query", 0).headers["X-Goog-Upload-Size-Received"] == "4"
        upload(400, "upload, finalize", 8, b"!")  # 4 to 8 are missing
        upload(401, "upload", 4, b"two ", key=None)
        upload(200, "upload", 4, b"two ")
        assert upload(200, "query", 0).headers["X-Goog-Upload-Size-Received"] == "12"
        made = upload(200, "upload, finalize", 12, b"!").json["file"]
        assert (made["sizeBytes"], made["displayName"]) == ("13", "a.txt")
        assert server.ask("GET", f"/files/{made['name'].removeprefix('files/')}/content").body == b"one two four!"
        upload(200, "upload", 0, b"gone", url="/v1beta/files?upload_id=other")
        assert [each["name"] for each in server.ask("GET", "/v1beta/files", prefix="/gemini").json["files"]] == [
            made["name"]]
        assert upload(200, "cancel", 0, url="/v1beta/files?upload_id=other").headers[
            "X-Goog-Upload-Status"] == "cancelled"
        upload(400, "upload, finalize", 4, b"!", url="/v1beta/files?upload_id=other")
        assert len(server.ask("GET", "/files").json["files"]) == 1
