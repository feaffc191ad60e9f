"""OpenAI's API in front of the daemon, with OpenAI's own SDK; the model is scripted."""
import base64
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_agent import Asking
from waiting import eventually

pytestmark = pytest.mark.one_user

CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
OUTPUTS = ["code_interpreter_call.outputs"]
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a city.",
           "strict": False, "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")
MODEL = "gpt-9"
DRAW = ("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nopen('out.csv', 'w').write('a\\n1\\n')\n"
        "x = 42\nprint('x')\nx")


class Speaking(Asking):
    """A daemon whose model aliases map every name `gpt-*` to the scripted model."""

    def __init__(self, reckon, model, **options):
        super().__init__(reckon, model, prices="[aliases]\ngpt-* = scripted/m\n", **options)

    def client(self, path="/openai/v1", **options):
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}{path}",
                             api_key=options.pop("api_key", self.key), max_retries=0, **options)


def types(response):
    return [item.type for item in response.output]


def test_code_interpreter(reckon):
    text = "Ü: [the file](sandbox:/mnt/data/out.csv), not [this](sandbox:/mnt/data/none.csv)."
    script = [Reply(text="I draw.", calls=[DRAW]), Reply(text=text, usage=(300, 30), cached=50, reasoning=7)]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        client = server.client()
        response = client.responses.create(model=MODEL, instructions="Be brief.", input="Draw.",
                                           tools=[CODE], include=OUTPUTS, metadata={"a": "b"})
        assert types(response) == ["message", "code_interpreter_call", "message"]
        assert response.status == "completed" and response.model == MODEL
        assert response.id.startswith("resp_") and response.metadata == {"a": "b"}
        assert response.output_text == "I draw." + text and response.error is None
        cell = response.output[1]
        assert cell.status == "completed" and cell.code == DRAW and cell.id.startswith("ci_")
        assert [each.type for each in cell.outputs] == ["logs", "image"]
        assert cell.outputs[0].logs == "x\n42"
        assert base64.b64decode(cell.outputs[1].url.partition("base64,")[2]).startswith(b"\x89PNG")
        usage = response.usage
        assert (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens,
                usage.output_tokens_details.reasoning_tokens, usage.total_tokens) == (400, 50, 50, 7, 450)
        # A file that the answer names is a citation, by which the client downloads it.
        citation, = response.output[2].content[0].annotations
        assert citation.type == "container_file_citation" and citation.filename == "out.csv"
        assert text[citation.start_index:citation.end_index] == "sandbox:/mnt/data/out.csv"
        assert citation.container_id == cell.container_id
        files = client.containers.files
        assert files.content.retrieve(citation.file_id, container_id=cell.container_id).read() == b"a\n1\n"
        assert files.retrieve(citation.file_id, container_id=cell.container_id).path == "/mnt/data/out.csv"
        assert response._request_id
    assert "Be brief." in model.requests[0].body["messages"][0]["content"]


def test_sdk_reads_streams(reckon):
    script = [Reply(thought="Hm.", text="Look:", calls=["open('a b.txt', 'w').write('1')\n1/0"]),
              Reply(text="See sandbox:/mnt/data/a b.txt.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        with server.client().responses.stream(model=MODEL, input="?", tools=[CODE], include=OUTPUTS,
                                              reasoning={"summary": "auto"}) as stream:
            events = list(stream)
            response = stream.get_final_response()
    assert types(response) == ["reasoning", "message", "code_interpreter_call", "message"]
    assert response.output[0].summary[0].text == "Hm."
    assert "ZeroDivisionError" in response.output[2].outputs[0].logs
    assert response.output[3].content[0].annotations[0].filename == "a b.txt"
    assert response.output_text == "Look:See sandbox:/mnt/data/a b.txt."
    names = [event.type for event in events if not event.type.endswith(".delta")]
    assert names == [
        "response.created", "response.in_progress",
        "response.output_item.added", "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added", "response.content_part.added", "response.output_text.done",
        "response.content_part.done", "response.output_item.done",
        "response.output_item.added", "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call_code.done", "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed", "response.output_item.done",
        "response.output_item.added", "response.content_part.added",
        "response.output_text.annotation.added", "response.output_text.done",
        "response.content_part.done", "response.output_item.done", "response.completed"]
    assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.parametrize("streams", [False, True])
def test_functions_of_the_application(reckon, streams):
    call = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_1"}
    with ModelServer(Reply(text="I look.", calls=["y = 5", call]), Reply(calls=["print(y)"]),
                     Reply(text="Warm.")) as model, Speaking(reckon, model) as server:
        client = server.client()

        def ask(**body):
            if not streams:
                return client.responses.create(model=MODEL, tools=[CODE, WEATHER], include=OUTPUTS, **body)
            with client.responses.stream(model=MODEL, tools=[CODE, WEATHER], include=OUTPUTS,
                                         **body) as stream:
                for _ in stream:
                    pass
                return stream.get_final_response()

        first = ask(input="How warm?")
        assert types(first) == ["message", "code_interpreter_call", "function_call"]
        function = first.output[2]
        assert (function.call_id, function.name, json.loads(function.arguments)) == (
            "call_1", "get_weather", {"city": "Bern"})
        # The earlier response brings its container along, with the variables.
        last = ask(previous_response_id=first.id, input=[
            {"type": "function_call_output", "call_id": function.call_id, "output": "12 degrees"}])
        assert types(last) == ["code_interpreter_call", "message"] and last.output_text == "Warm."
        assert last.output[0].outputs[0].logs == "5\n"
        assert last.output[0].container_id == first.output[1].container_id
        assert last.previous_response_id == first.id
    results = [each for each in model.requests[1].body["messages"] if each["role"] == "tool"]
    assert results[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"}


def test_the_history_as_input(reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="One."), Reply(text="Two."),
                     Reply(text="Three.")) as model, Speaking(reckon, model) as server:
        client = server.client("/v1")
        first = client.responses.create(model=MODEL, input="?", tools=[CODE], include=OUTPUTS, store=False)
        second = client.responses.create(model=MODEL, input=[
            {"role": "developer", "content": "Rules."}, {"role": "user", "content": "?"}, *first.output,
            {"role": "user", "content": [
                {"type": "input_text", "text": "And this?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
                {"type": "input_file", "filename": "sales.csv",
                 "file_data": "data:text/csv;base64," + base64.b64encode(b"a\n").decode()}]}])
        assert second.output_text == "Two."
        third = client.responses.create(model=MODEL, input="Go on.", previous_response_id=second.id)
        assert third.output_text == "Three."
        # A response with store=False cannot be continued.
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input="?", previous_response_id=first.id)
    sent = model.requests[2].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[3]["content"] == "1\n" and "sales.csv" in json.dumps(sent[5])
    assert "tools" not in model.requests[2].body or not model.requests[2].body["tools"]
    assert [each["content"] for each in model.requests[3].body["messages"][-2:]] == ["Two.", "Go on."]


def test_stored_responses(reckon):
    with ModelServer(Reply(calls=["print(1)"]), Reply(text="One."), Reply(text="Two."),
                     Reply(text="Three.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        first = client.responses.create(model=MODEL, input="?", tools=[CODE], include=OUTPUTS)
        assert client.responses.retrieve(first.id).to_dict() == first.to_dict()
        item, = client.responses.input_items.list(first.id)
        assert item.role == "user" and item.content[0].text == "?"
        with client.responses.stream(model=MODEL, previous_response_id=first.id, input=[
                {"role": "user", "content": "A"}, {"role": "user", "content": "B"}]) as stream:
            second = stream.until_done().get_final_response()
        assert [each.content[0].text for each in client.responses.input_items.list(second.id)] == ["B", "A"]
        assert client.responses.retrieve(second.id).output_text == "Two."
        client.responses.delete(first.id)
        for gone in (lambda: client.responses.retrieve(first.id), lambda: client.responses.delete(first.id),
                     lambda: client.responses.create(model=MODEL, input="?", previous_response_id=first.id)):
            with pytest.raises(openai.NotFoundError):
                gone()
        hidden = client.responses.create(model=MODEL, input="?", store=False)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(hidden.id)
    assert [run["content"] for run in model.requests[2].body["messages"]][-1] == "A\n\nB"


def test_containers(reckon):
    with ModelServer(Reply(calls=["print(open('/mnt/data/in.txt', 'w').write('hello'))"]),
                     Reply(text="Done.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        made = client.containers.create(name="mine", memory_limit="1g",
                                        expires_after={"anchor": "last_active_at", "minutes": 5})
        assert made.id.startswith("cntr_") and made.name == "mine" and made.status == "running"
        assert (made.expires_after.minutes, made.memory_limit) == (5, "1g")
        response = client.responses.create(
            model=MODEL, input="?", tools=[{"type": "code_interpreter", "container": made.id}])
        assert response.output[0].container_id == made.id and response.output[0].outputs is None
        assert [each.id for each in client.containers.list()] == [made.id]
        file, = client.containers.files.list(container_id=made.id)
        assert (file.path, file.bytes, file.container_id) == ("/mnt/data/in.txt", 5, made.id)
        content = client.containers.files.content.retrieve(file.id, container_id=made.id)
        assert content.read() == b"hello"
        assert client.containers.files.retrieve(file.id, container_id=made.id).bytes == 5
        client.containers.files.delete(file.id, container_id=made.id)
        assert not list(client.containers.files.list(container_id=made.id))
        client.containers.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            client.containers.retrieve(made.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input="?",
                                    tools=[{"type": "code_interpreter", "container": made.id}])


def test_files_and_containers(reckon):
    with ModelServer(Reply(calls=["print(open('sales.csv').read(), open('more.txt').read())"]), Reply(text="Done."),
                     Reply(calls=["print(open('b.txt').read())"]), Reply(text="Done.")) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        sales = client.files.create(file=("sales.csv", b"a,b\n1,2\n"), purpose="user_data")
        assert sales.id.startswith("file-") and (sales.filename, sales.bytes, sales.purpose, sales.status) == (
            "sales.csv", 8, "user_data", "processed")
        more = client.files.create(file=("../more.txt", b"\r\n--x"), purpose="assistants")
        assert client.files.content(more.id).read() == b"\r\n--x" and more.filename == "more.txt"
        assert [each.id for each in client.files.list()] == [more.id, sales.id]
        assert client.files.retrieve(sales.id) == sales
        # As in the vendor's own example.
        response = client.responses.create(model=MODEL, input="?", include=OUTPUTS, tools=[
            {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [sales.id, more.id]}}])
        assert response.output[0].outputs[0].logs.startswith("a,b\n1,2\n")
        assert "- sales.csv\n- more.txt" in model.requests[0].body["messages"][0]["content"]
        container = client.containers.create(name="mine", file_ids=[sales.id])
        added = client.containers.files.create(container_id=container.id, file=("b.txt", b"hello"))
        assert (added.path, added.bytes, added.source) == ("/mnt/data/b.txt", 5, "user")
        client.containers.files.create(container_id=container.id, file_id=more.id)
        assert sorted(each.path for each in client.containers.files.list(container_id=container.id)) == [
            "/mnt/data/b.txt", "/mnt/data/more.txt", "/mnt/data/sales.csv"]
        response = client.responses.create(model=MODEL, input="?", include=OUTPUTS, tools=[
            {"type": "code_interpreter", "container": container.id}])
        assert response.output[0].outputs[0].logs == "hello\n"
        brief = client.files.create(file=("c.csv", b"c"), purpose="user_data",
                                    expires_after={"anchor": "created_at", "seconds": 3600})
        assert brief.expires_at - brief.created_at in (3599, 3600, 3601) and sales.expires_at is None
        for seconds in (3599, 2592001, -1):
            with pytest.raises(openai.BadRequestError, match="expires_after"):
                client.files.create(file=("c.csv", b"c"), purpose="user_data",
                                    expires_after={"anchor": "created_at", "seconds": seconds})
        assert client.files.delete(sales.id).deleted
        for gone in (lambda: client.files.retrieve(sales.id), lambda: client.files.content("file-x"),
                     lambda: client.containers.files.create(container_id=container.id, file_id=sales.id),
                     lambda: client.responses.create(model=MODEL, input="?", tools=[
                         {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [sales.id]}}])):
            with pytest.raises(openai.NotFoundError):
                gone()
        for kind, body in (("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"--b\r\n\r\n"),
                           ("multipart/form-data; boundary=b", b"--b--"), ("application/json", b"{}")):
            answer = server.ask("POST", "/files", body, {"Content-Type": kind}, prefix="/openai/v1")
            assert answer.status == 400 and answer.json["error"]["type"] == "invalid_request_error"


def test_errors_have_the_vendors_format(reckon):
    trouble = Reply(status=400, error={"error": {"message": "no", "type": "invalid_request_error"}})
    with ModelServer(trouble, trouble) as model, Speaking(reckon, model) as server:
        client = server.client()

        def refused(error, status, **body):
            with pytest.raises(error) as caught:
                client.responses.create(**{"model": MODEL, "input": "?", **body})
            assert caught.value.status_code == status
            assert caught.value.response.headers["x-request-id"]
            return caught.value.body

        bad, missing = openai.BadRequestError, openai.NotFoundError
        assert refused(missing, 404, model="claude")["code"] == "model_not_found"
        for other in ("resp_01ARZ3NDEKTSV4RRFFQ69G5FAV", "run_x", "resp_../..", "resp_" + "x" * 1000):
            assert refused(missing, 404, previous_response_id=other)["message"]
        for other in ("cntr_01ARZ3NDEKTSV4RRFFQ69G5FAV", "se_x", "cntr_a b/", "cntr_" + "x" * 1000):
            assert refused(missing, 404, tools=[{"type": "code_interpreter", "container": other}])
        assert refused(bad, 400, tools=[{"type": "web_search"}])["type"] == "invalid_request_error"
        assert refused(bad, 400, tools=[{"type": "code_interpreter"}])
        assert "network" in refused(bad, 400, tools=[{"type": "code_interpreter", "container": {
            "type": "auto", "network_policy": {"type": "allowlist", "allowed_domains": ["a.b"]}}}])["message"]
        assert refused(bad, 400, input=[{"type": "nonsense"}])["message"].startswith("input[0]: ")
        assert refused(bad, 400, input=[{"role": "user", "content": [
            {"type": "input_image", "image_url": "https://example.com/a.png"}]}])
        assert refused(bad, 400, background=True, store=False)
        assert refused(bad, 400, tools=[CODE, {**WEATHER, "name": "python"}])["message"].startswith("conversation: ")
        assert refused(openai.InternalServerError, 500)["type"] == "server_error"
        with client.responses.create(model=MODEL, input="?", stream=True) as stream:
            last = list(stream)[-1]
        assert last.type == "response.failed" and last.response.error.code == "server_error"
        client = server.client(api_key="rk_wrong")
        assert refused(openai.AuthenticationError, 401)["code"] == "invalid_api_key"
        for path in ("/containers/cntr_1/files/cfile_p2e2e2f", "/containers/x/files/cfile_1/content",
                     "/containers/%2e%2e", "/containers/a/b/c", "/nothing", "/models/none"):
            assert server.ask("GET", path, prefix="/openai/v1").status == 404
        answer = server.ask("POST", "/v1/responses", b"x", {"Content-Length": str(33 << 20)}, prefix="")
        assert answer.status == 413 and answer.json["error"]["type"] == "invalid_request_error"
        for body in (b"", b"{", b"[]", b"\xff", b'{"model": 1}', b'{"a":' * 100):
            answer = server.ask("POST", "/v1/responses", body, prefix="")
            assert answer.status == 400 and answer.json["error"]["type"] == "invalid_request_error"


def test_models(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client("/v1")
        assert [each.id for each in client.models.list()] == ["scripted/m", "scripted/other"]
        assert client.models.retrieve("scripted/m").object == "model"


def test_disconnect_interrupts_the_run(reckon):
    with ModelServer(Reply(calls=["import time\ntime.sleep(60)"]), Reply(text="No.")) as model, \
            Speaking(reckon, model) as server:
        with server.client().responses.create(model=MODEL, input="?", tools=[CODE], stream=True) as stream:
            for event in stream:
                if event.type == "response.code_interpreter_call.interpreting":
                    break
        eventually(lambda: 'reckon_agent_runs_total{stop="interrupted"} 1'
                   in server.ask("GET", "/metrics", prefix="").body.decode())
        assert len(model.requests) == 1
