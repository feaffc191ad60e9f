"""The text editor of Anthropic's code execution, in each version of the tool; the model is scripted."""
import json

import pytest
from model_server import ModelServer, Reply
from test_serve_anthropic import REQUEST, Speaking, types, user

pytestmark = pytest.mark.one_user

NAME = "text_editor_code_execution"
VERSIONS = ["code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]
LENT = {"name": "look_up", "input_schema": {"type": "object"}, "allowed_callers": VERSIONS}


def edit(command, path, **more):
    return {"name": NAME, "raw": json.dumps({"command": command, "path": path, **more}),
            "id": f"call_{command}_{len(str(more))}"}


def ask(client, streams, **body):
    if not streams:
        return client.messages.create(**REQUEST, **body)
    with client.messages.stream(**REQUEST, **body) as stream:
        return stream.get_final_message()


def results(message):
    return [block.content for block in message.content if block.type == f"{NAME}_tool_result"]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lent", [False, True], ids=["bash", "python"])
def test_a_file_is_made_shown_and_changed(reckon, version, streams, lent):
    text = "one\ntwo 'quoted' \"and\" $HOME `x` \\n ü😀\nthree\nRECKON_EDIT\n"
    show = "print(open('sub/a.txt').read(), end='')" if lent else "cat sub/a.txt"
    script = [Reply(text="I write.", calls=[edit("create", "sub/a.txt", file_text=text)]),
              Reply(calls=[edit("view", "/mnt/data/sub/a.txt"), edit("view", "sub/a.txt", view_range=[2, 3])]),
              Reply(calls=[edit("str_replace", "sub/a.txt", old_str="three", new_str="3\n3b"), show]),
              Reply(calls=[edit("create", "sub/a.txt", file_text="new"), edit("view", "sub")]), Reply(text="Done."),
              Reply(text="Again.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        client = server.client()
        tools = [{"type": version, "name": "code_execution"}, *([LENT] if lent else [])]
        message = ask(client, streams, tools=tools, messages=[user("?")])
        cell = "code_execution" if lent else "bash_code_execution"
        pair = ["server_tool_use", f"{NAME}_tool_result"]
        assert types(message) == ["text", *pair * 4, "server_tool_use", f"{cell}_tool_result", *pair * 2, "text"]
        calls = [block for block in message.content if block.type == "server_tool_use"]
        assert [call.name for call in calls] == [NAME] * 4 + [cell] + [NAME] * 2
        assert calls[0].input == {"command": "create", "path": "sub/a.txt", "file_text": text}
        assert [block.tool_use_id for block in message.content if "result" in block.type] == [call.id for call in calls]
        made, whole, part, changed, again, folder = results(message)
        assert (made.type, made.is_file_update) == (f"{NAME}_create_result", False) and again.is_file_update
        assert (whole.type, whole.file_type, whole.content) == (f"{NAME}_view_result", "text", text)
        assert (whole.start_line, whole.num_lines, whole.total_lines) == (1, 4, 4)
        assert (part.start_line, part.num_lines, part.total_lines) == (2, 2, 4)
        assert part.content == "".join(text.splitlines(True)[1:3])
        assert changed.type == f"{NAME}_str_replace_result" and changed.lines == ["-three", "+3", "+3b"]
        assert (changed.old_start, changed.old_lines, changed.new_start, changed.new_lines) == (3, 1, 3, 2)
        shown = next(block.content for block in message.content if block.type == f"{cell}_tool_result")
        assert shown.stdout == text.replace("three", "3\n3b") and folder.content == "sub/a.txt\n"
        # The client sends the history back unchanged; none of its calls run again.
        last = ask(client, streams, tools=tools, container=message.container.id,
                   messages=[user("?"), message.to_param(), user("And?")])
        assert last.content[0].text == "Again."
    offered = {tool["function"]["name"] for tool in model.requests[0].body["tools"]}
    assert NAME in offered and len(model.requests) == 6
    sent = model.requests[5].body["messages"]
    called = [call["function"] for each in sent for call in each.get("tool_calls", [])]
    assert json.loads(called[0]["arguments"]) == calls[0].input and called[0]["name"] == NAME
    answered = [each["content"] for each in sent if each["role"] == "tool"]
    assert text.strip() in answered[1] and "-three" in answered[3] and len(answered) == 7


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("lent", [False, True], ids=["bash", "python"])
def test_edit_errors(reckon, streams, lent):
    make = ("open('b.bin', 'wb').write(b'\\xff\\x00'); open('two', 'w').write('x x')" if lent
            else "printf '\\377\\000' >b.bin; printf 'x x' >two")
    wrong = [edit("view", "nothing"), edit("str_replace", "nothing/here", old_str="a", new_str="b"),
             edit("view", "b.bin"), edit("view", "two", view_range=[2, 3]), edit("str_replace", "two", old_str="x"),
             edit("str_replace", "two", old_str="y", new_str="x"), edit("create", "/usr/x", file_text=""),
             edit("create", "two/x", file_text=""), edit("create", "x"), edit("insert", "two", insert_line=0),
             edit("view", "/dev/zero"), {"name": NAME, "raw": "nonsense", "id": "call_x"}]
    script = [Reply(calls=[make, *wrong[:6]]), Reply(calls=wrong[6:]), Reply(text="No.")]
    with ModelServer(*script) as model, Speaking(reckon, model, default="max-steps = 30") as server:
        message = ask(server.client(), streams, messages=[user("?")], tools=[
            {"type": VERSIONS[0], "name": "code_execution"}, *([LENT] if lent else [])])
    codes = [content.error_code for content in results(message)]
    assert {content.type for content in results(message)} == {f"{NAME}_tool_result_error"}
    assert codes[:2] == ["file_not_found"] * 2
    assert len(codes) == len(wrong) and set(codes[2:]) <= {"invalid_tool_input", "file_not_found"}
    words = [content.error_message for content in results(message)]
    assert "not a text" in words[2] and "of 1 lines" in words[3] and "2 times" in words[4]
    assert "not in the file" in words[5] and "Read-only" in words[6] and "file_text" in words[8]
    assert message.content[-1].text == "No." and message.stop_reason == "end_turn"


def test_code_that_replaces_the_editor(reckon):
    """Code replaces the editor program: broken output gives `unavailable`, and members with invalid
    values are dropped."""
    shadow = "function /opt/reckon/bin/reckon-edit { printf '%s\\n' \"$SAID\"; }; SAID='{\"type\":\"view\"'"
    script = [Reply(calls=[shadow, edit("view", "a"), "SAID='{\"type\":\"error\",\"error_code\":\"mine\"}'", edit("view", "b"),
                           "SAID='{\"type\":\"str_replace\",\"lines\":[1,{}],\"old_start\":-1}'", edit("view", "c")]),
              Reply(text="Ha.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        message = ask(server.client(), False, messages=[user("?")],
                      tools=[{"type": VERSIONS[0], "name": "code_execution"}])
    first, second, third = results(message)
    assert first.error_code == second.error_code == "unavailable"
    assert third.old_start is None and third.type == f"{NAME}_str_replace_result"


def test_editor_is_not_offered_in_old_versions_or_without_tools(reckon):
    script = [Reply(text="Hi."), Reply(text="Hi.")]
    with ModelServer(*script) as model, Speaking(reckon, model) as server:
        client = server.client()
        ask(client, False, messages=[user("?")], tools=[{"type": "code_execution_20250522", "name": "code_execution"}])
        ask(client, False, messages=[user("?")])
    assert all(NAME not in json.dumps(asked.body) for asked in model.requests)
