"""Limits of what OpenAI's API stores, at their edges: threads, conversations, references, files,
pages.

Beyond a limit a request is refused by name, or the oldest entries are left out.
"""
import tempfile

import pytest
from model_server import ModelServer, Reply
from one_shot import ask, post
from reckon_cli import Reckon
from test_serve_openai import MODEL, Speaking
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
MIB = 1 << 20
CALLS = Reply(calls=[{"raw": "{}", "name": "f", "id": f"c{number}"} for number in range(16)])


@pytest.fixture(scope="module")
def model():
    def answer(request):
        last = request["messages"][-1]
        if "Say much." in str(last["content"]):
            return Reply(text="é" * MIB, pieces=MIB // 4)
        if "Print much." in str(last["content"]):
            return Reply(calls=["print('\\'\"' * 500000)"])
        return CALLS if "Call them." in str(request) else Reply(text="Hi.")

    with ModelServer(answer) as running:
        yield running


@pytest.fixture(scope="module")
def server(place, model):
    with Speaking(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base)), model) as running:
        yield running


def call(server, method, path, body=None):
    return ask(server, method, f"/openai/v1{path}", body, headers={"Authorization": f"Bearer {server.key}"})


def good(server, method, path, body=None):
    answer = call(server, method, path, body)
    assert answer.status == 200, (path, answer)
    return answer.json


def refused(server, method, path, body, words, status=400):
    answer = call(server, method, path, body)
    assert answer.status == status, (path, answer.status, answer.body[:300])
    error = answer.json["error"]
    assert error["type"] == "invalid_request_error" and words in error["message"], error


def says(text="?"):
    return {"role": "user", "content": text}


def function(name="f"):
    return {"type": "function", "function": {"name": name}}


def finished(server, thread, run, status="completed"):
    def looks():
        now = good(server, "GET", f"/threads/{thread}/runs/{run}")
        assert now["status"] in ("queued", "in_progress", status), now
        return now["status"] == status

    eventually(looks)


def runs(server, thread, assistant, status="completed", **more):
    run = good(server, "POST", f"/threads/{thread}/runs", {"assistant_id": assistant, **more})["id"]
    finished(server, thread, run, status)
    return run


def user_texts(model):
    """All texts of the user in the last request to the model."""
    return "\n\n".join(each["content"] for each in model.requests[-1].body["messages"] if each["role"] == "user")


# ---- Assistants -------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def assistant(server):
    return good(server, "POST", "/assistants", {"model": MODEL})["id"]


def test_a_long_thread_leaves_out_its_oldest_messages(server, model, assistant):
    """If a thread is too long, the model does not get the oldest messages, but the last one, which
    is the question."""
    thread = good(server, "POST", "/threads", {"messages": [says(f"m{n}.") for n in range(1000)]})["id"]
    runs(server, thread, assistant)
    assert user_texts(model) == "\n\n".join(f"m{n}." for n in range(1000))
    good(server, "POST", f"/threads/{thread}/messages", says("Last."))
    runs(server, thread, assistant)  # 1002 messages with the answer before
    assert user_texts(model) == "\n\n".join([*(f"m{n}." for n in range(2, 1000)), "Last."])


def test_tools_of_an_assistant(server, assistant):
    tools = [function(f"f{number}") for number in range(129)]
    made = good(server, "POST", "/assistants", {"model": MODEL, "tools": tools[:128]})["id"]
    refused(server, "POST", "/assistants", {"model": MODEL, "tools": tools}, "tools: there are at most 128")
    thread = good(server, "POST", "/threads", {"messages": [says()]})["id"]
    runs(server, thread, made)
    # A run may have its own tools.
    runs(server, thread, assistant, tools=tools[:128])
    refused(server, "POST", f"/threads/{thread}/runs", {"assistant_id": assistant, "tools": tools},
            "tools: there are at most 128")


def test_files_of_an_assistant_and_a_thread(server, assistant):
    def resources(count):
        return {"tool_resources": {"code_interpreter": {"file_ids": ["file-x"] * count}}}

    for path, body in (("/assistants", {"model": MODEL}), (f"/assistants/{assistant}", {}), ("/threads", {})):
        good(server, "POST", path, {**body, **resources(50)})
        refused(server, "POST", path, {**body, **resources(51)}, "file_ids: there are at most 50")
    good(server, "POST", f"/assistants/{assistant}", resources(0))


def test_attachments_of_a_message(server):
    thread = good(server, "POST", "/threads", {})["id"]
    for count in (20, 21):
        body = {**says(), "attachments": [{"file_id": "file-x"}] * count}
        if count == 20:
            good(server, "POST", f"/threads/{thread}/messages", body)
        else:
            refused(server, "POST", f"/threads/{thread}/messages", body, "attachments: there are at most 20")


def test_outputs_of_tools(server, assistant):
    thread = good(server, "POST", "/threads", {"messages": [says("Call them.")]})["id"]
    run = runs(server, thread, assistant, "requires_action", tools=[function()])
    outputs = [{"tool_call_id": f"c{number}", "output": "x"} for number in range(17)]
    path = f"/threads/{thread}/runs/{run}/submit_tool_outputs"
    refused(server, "POST", path, {"tool_outputs": outputs}, "tool_outputs: from 1 to 16")
    refused(server, "POST", path, {"tool_outputs": []}, "tool_outputs: from 1 to 16")
    good(server, "POST", path, {"tool_outputs": outputs[:16]})


# ---- conversations of Responses -----------------------------------------------------------------------

def responds(server, status=200, **body):
    answer = call(server, "POST", "/responses", {"model": MODEL, "input": "Last.", **body})
    assert answer.status == status, answer
    return answer.json


def test_a_long_conversation_keeps_its_end(server, model):
    conversation = good(server, "POST", "/conversations", {})["id"]
    for first in range(0, 2000, 20):
        good(server, "POST", f"/conversations/{conversation}/items",
             {"items": [says(f"m{number}.") for number in range(first, first + 20)]})
    responds(server, conversation=conversation)
    assert user_texts(model) == "\n\n".join([*(f"m{number}." for number in range(2000)), "Last."])
    error = responds(server, 400, conversation=conversation)["error"]
    assert "more than 2000 items" in error["message"] and "truncation" in error["message"], error
    # 2002 items are stored: the two oldest are left out.
    responds(server, conversation=conversation, truncation="auto")
    texts = user_texts(model).split("\n\n")
    assert texts[0] == "m2." and texts[-2:] == ["Last.", "Last."] and len(texts) == 2000


def test_items_at_once(server):
    conversation = good(server, "POST", "/conversations", {"items": [says()] * 20})["id"]
    good(server, "POST", f"/conversations/{conversation}/items", {"items": [says()] * 20})
    for path in ("/conversations", f"/conversations/{conversation}/items"):
        refused(server, "POST", path, {"items": [says()] * 21}, "items: an array of at most 20")
    assert len(good(server, "GET", f"/conversations/{conversation}/items?limit=100")["data"]) == 40


def test_an_item_that_is_too_long_to_store_is_refused(server, model):
    """The limit counts the item as JSON, with its id and its other members."""
    conversation = good(server, "POST", "/conversations", {})["id"]
    around = len(f'{{"object":{{"id":"msg_{"0" * 26}i00000","type":"message","status":"completed","role":"user","content":'
                 '[{"type":"input_text","text":""}]}}')
    good(server, "POST", f"/conversations/{conversation}/items", {"items": [says("x" * (MIB - around))]})
    responds(server, conversation=conversation, input="y" * (MIB - around))
    stored = good(server, "GET", f"/conversations/{conversation}/items?order=asc")["data"]
    assert [len(item["content"][0]["text"]) for item in stored] == [MIB - around] * 2 + [3]
    count = len(model.requests)
    long = says("x" * (MIB - around + 1))
    refused(server, "POST", f"/conversations/{conversation}/items", {"items": [long]}, "at most 1 MiB", 413)
    refused(server, "POST", "/conversations", {"items": [long]}, "at most 1 MiB", 413)
    for given in (long["content"], [long]):
        responds(server, 413, conversation=conversation, input=given)
    assert len(model.requests) == count


def test_a_models_own_item_that_is_too_long_is_cut(server):
    """The response has `store: false`; the conversation stores a part of the item, which says how
    much is missing."""
    conversation = good(server, "POST", "/conversations", {})["id"]
    made = responds(server, conversation=conversation, input="Say much.")
    text = made["output"][0]["content"][0]["text"]
    assert text == "é" * MIB and made["store"] is False
    assert call(server, "GET", f"/responses/{made['id']}").status == 404
    assert responds(server, previous_response_id=made["id"], input="?")["store"] is True
    item, = (each for each in good(server, "GET", f"/conversations/{conversation}/items")["data"] if each["role"] == "assistant")
    cut = item["content"][0]["text"]
    assert item["id"] == made["output"][0]["id"] and cut.startswith("é" * (MIB // 4))
    assert cut.endswith(f"\n[{MIB + MIB // 2} more bytes are not kept: an item of a conversation has at most 1 MiB]")
    # The output of a cell is cut, its code is stored whole.
    conversation = good(server, "POST", "/conversations", {})["id"]
    responds(server, conversation=conversation, input="Print much.", tools=[
        {"type": "code_interpreter", "container": {"type": "auto"}}])
    items = good(server, "GET", f"/conversations/{conversation}/items?order=asc&include=code_interpreter_call.outputs")["data"]
    assert [each["type"] for each in items] == ["message", "code_interpreter_call", "message"]
    assert items[1]["code"] == "print('\\'\"' * 500000)"
    assert "more bytes are not kept" in items[1]["outputs"][0]["logs"]


def test_references(server):
    first = responds(server)["output"][0]["id"]
    references = [{"type": "item_reference", "id": first}] * 501
    responds(server, input=[says(), *references[:500], says()])
    error = responds(server, 400, input=[says(), *references, says()])["error"]
    assert "at most 500 item references" in error["message"], error


# ---- files, containers and pages ----------------------------------------------------------------------

@pytest.fixture(scope="module")
def file(server):
    body = b"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n" \
           b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n1\r\n--b--\r\n"
    answer = post(server, "/openai/v1/files", body, headers={
        "Authorization": f"Bearer {server.key}", "Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status == 200, answer
    return answer.json["id"]


def test_a_form(server):
    """The limit counts the whole form; a larger one is refused before it is sent."""
    begin = b"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n" \
            b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
    size, end = 64 * MIB, b"\r\n--b--\r\n"
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "multipart/form-data; boundary=b"}
    answer = post(server, "/openai/v1/files", begin + b"x" * (size - len(begin) - len(end)) + end, headers=headers)
    assert answer.status == 200 and answer.json["bytes"] == size - len(begin) - len(end), answer
    good(server, "DELETE", f"/files/{answer.json['id']}")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    raw = server.raw(f"POST /openai/v1/files HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n"
                     f"Content-Length: {size + 1}\r\n\r\n".encode())
    assert int(raw.split()[1]) == 413, raw


def test_files_of_an_input(server, file):
    parts = [{"type": "input_file", "file_id": file}] * 101
    responds(server, input=[{"role": "user", "content": parts[:100]}])
    error = responds(server, 400, input=[{"role": "user", "content": parts}])["error"]
    assert "at most 100 files" in error["message"], error


def test_files_of_a_container(server, file):
    made = good(server, "POST", "/containers", {"name": "c", "file_ids": [file] * 50})["id"]
    good(server, "DELETE", f"/containers/{made}")
    before = good(server, "GET", "/containers")["data"]
    refused(server, "POST", "/containers", {"name": "c", "file_ids": [file] * 51}, "file_ids: there are at most 50")
    error = responds(server, 400, tools=[{"type": "code_interpreter", "container": {
        "type": "auto", "file_ids": [file] * 51}}])["error"]
    assert "file_ids: there are at most 50" in error["message"]
    assert good(server, "GET", "/containers")["data"] == before  # a refused request does not make a container


def test_minutes_and_names_of_a_container(server):
    for minutes, status in ((1, 200), (43200, 200), (0, 400), (43201, 400)):
        answer = call(server, "POST", "/containers", {"name": "c", "expires_after": {
            "anchor": "last_active_at", "minutes": minutes}})
        assert answer.status == status, (minutes, answer)
        if status == 200:
            good(server, "DELETE", f"/containers/{answer.json['id']}")


def test_pages_of_containers(server):
    """A live container is found, however many others have ended."""
    made = [good(server, "POST", "/containers", {"name": f"c{number}"})["id"] for number in range(3)]
    first = good(server, "GET", "/containers?limit=2")
    assert [each["id"] for each in first["data"]] == [made[2], made[1]] and first["has_more"]
    rest = good(server, "GET", f"/containers?limit=1&after={made[1]}")
    assert rest["data"][0]["id"] == made[0]
    for each in made[1:]:
        good(server, "DELETE", f"/containers/{each}")
    assert good(server, "GET", "/containers?limit=1")["data"][0]["id"] == made[0]
    good(server, "DELETE", f"/containers/{made[0]}")
    for limit, status in ((1, 200), (100, 200), (0, 400), (101, 400)):
        assert call(server, "GET", f"/containers?limit={limit}").status == status


def test_pages_of_files(server):
    """A page of so many files takes several calls to the daemon."""
    made = []
    for each in good(server, "GET", "/files")["data"]:  # what other tests left
        good(server, "DELETE", f"/files/{each['id']}")
    for number in range(502):
        answer = server.ask("POST", f"/files?name=f{number}&purpose={'ab'[number % 2]}", b"x")
        assert answer.status == 201, answer
        made.append(answer.json["id"].replace("file_", "file-"))
    everything = good(server, "GET", "/files")
    assert [each["id"] for each in everything["data"]] == made[::-1] and not everything["has_more"]
    assert (everything["first_id"], everything["last_id"]) == (made[-1], made[0])
    page = good(server, "GET", "/files?limit=501&order=asc")
    assert [each["id"] for each in page["data"]] == made[:501] and page["has_more"]
    page = good(server, "GET", f"/files?order=asc&after={made[500]}")
    assert [each["id"] for each in page["data"]] == made[501:] and not page["has_more"]
    assert len(good(server, "GET", "/files?purpose=a")["data"]) == 251
    empty = good(server, "GET", f"/files?after={made[0]}")
    assert empty == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    for query, status in (("limit=0", 400), ("limit=10000", 200), ("limit=10001", 400), ("after=file-none", 404)):
        assert call(server, "GET", f"/files?{query}").status == status


def test_pages_of_a_containers_files(server):
    made = good(server, "POST", "/containers", {"name": "c"})["id"]
    session = made.replace("cntr_", "se_")
    for number in range(21):
        assert server.ask("PUT", f"/sessions/{session}/files/{number:02}", b"1").status == 200
    page = good(server, "GET", f"/containers/{made}/files")
    assert len(page["data"]) == 20 and page["has_more"] and page["last_id"] == page["data"][-1]["id"]
    page = good(server, "GET", f"/containers/{made}/files?after={page['last_id']}")
    assert [each["path"] for each in page["data"]] == ["/mnt/data/00"] and not page["has_more"]
    for query, status in (("limit=0", 400), ("limit=100", 200), ("limit=101", 400), ("after=cfile_p30", 404),
                          ("after=x", 404)):
        assert call(server, "GET", f"/containers/{made}/files?{query}").status == status
    good(server, "DELETE", f"/containers/{made}")


def test_paths_of_a_container(server):
    """The id of a file contains its path and has a maximum length: a file with a longer path is not
    listed."""
    made = good(server, "POST", "/containers", {"name": "c"})["id"]
    session = made.replace("cntr_", "se_")
    for size in (180, 181):
        assert server.ask("PUT", f"/sessions/{session}/files/{'d' * 100}/{'f' * (size - 101)}", b"1").status == 200
    files = good(server, "GET", f"/containers/{made}/files")["data"]
    assert [len(each["path"]) for each in files] == [len("/mnt/data/") + 180]
    assert call(server, "GET", f"/containers/{made}/files/{files[0]['id']}/content").body == b"1"
    good(server, "DELETE", f"/containers/{made}")
