"""OpenAI's Assistants (v2) with OpenAI's own SDK; the model is scripted."""
import json

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import MODEL, Speaking
from test_serve_openai_responses import GatedReply, script
from waiting import eventually

pytestmark = [pytest.mark.one_user,
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CODE = {"type": "code_interpreter"}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}}}}
CALL = {"raw": '{"city": "Bern"}', "name": "get_weather", "id": "call_1"}
PLOT = ("import pandas as pd, matplotlib.pyplot as plt\nd = pd.read_csv('revenue.csv')\n"
        "plt.plot(d['year'], d['revenue'])\nplt.show()\nd.describe().to_csv('summary.csv')\nprint(len(d))")


def test_the_data_visualisation_sample(reckon, tmp_path):
    """The vendor's sample, but for address, key and model."""
    (tmp_path / "revenue.csv").write_text("year,revenue\n2024,1\n2025,3\n")
    answer = "Ü: the [summary](sandbox:/mnt/data/summary.csv)."
    with ModelServer(Reply(text="I plot.", calls=[PLOT]), Reply(text=answer, usage=(300, 30))) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        file = client.files.create(file=open(tmp_path / "revenue.csv", "rb"), purpose="assistants")
        assistant = client.beta.assistants.create(
            name="Data visualizer",
            description="You are great at creating beautiful data visualizations. You analyze data present in "
                        ".csv files, understand trends, and come up with data visualizations relevant to those trends.",
            model=MODEL, tools=[{"type": "code_interpreter"}],
            tool_resources={"code_interpreter": {"file_ids": [file.id]}})
        thread = client.beta.threads.create(messages=[{
            "role": "user", "content": "Create 3 data visualizations based on the trends in this file.",
            "attachments": [{"file_id": file.id, "tools": [{"type": "code_interpreter"}]}]}])
        run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                                       instructions="Be brief.")
        assert run.status == "completed", run.last_error
        assert (run.usage.prompt_tokens, run.usage.total_tokens) == (400, 450) and run.completed_at
        messages = client.beta.threads.messages.list(thread_id=thread.id).data
        assert [(each.role, each.run_id) for each in messages] == [("assistant", run.id)] * 2 + [("user", None)]
        image, text = messages[0].content
        assert image.type == "image_file"
        assert client.files.content(image.image_file.file_id).read().startswith(b"\x89PNG")
        assert client.files.retrieve(image.image_file.file_id).purpose == "assistants_output"
        note, = text.text.annotations
        assert text.text.value == answer and note.text == "sandbox:/mnt/data/summary.csv"
        assert answer[note.start_index:note.end_index] == note.text
        assert client.files.content(note.file_path.file_id).read().startswith(b",year,revenue\ncount,2.0")
        assert client.files.retrieve(note.file_path.file_id).filename == "summary.csv"
        steps = client.beta.threads.runs.steps.list(run_id=run.id, thread_id=thread.id, order="asc").data
        assert [step.type for step in steps] == ["message_creation", "tool_calls", "message_creation"]
        assert steps[2].step_details.message_creation.message_id == messages[0].id
        cell, = steps[1].step_details.tool_calls
        assert cell.code_interpreter.input == PLOT
        logs, picture = cell.code_interpreter.outputs
        assert logs.logs == "2\n" and picture.image.file_id == image.image_file.file_id
        assert client.beta.threads.runs.steps.retrieve(steps[1].id, run_id=run.id, thread_id=thread.id) == steps[1]
        for wrong in ("file-i0_0_0", "file-ax", "file-i01ARZ3NDEKTSV4RRFFQ69G5FAV_01ARZ3NDEKTSV4RRFFQ69G5FAV_0",
                      image.image_file.file_id[:-1] + "9"):
            with pytest.raises(openai.NotFoundError):
                client.files.content(wrong)
    first = model.requests[0].body["messages"]
    assert "Be brief." in first[0]["content"] and "- revenue.csv (file-" in first[0]["content"]
    assert first[1]["content"].startswith("Create 3 data")


def test_the_last_messages_of_a_thread(reckon):
    """The model gets as many messages as requested; files of the others are in the container,
    too."""
    with ModelServer(Reply(calls=["print(open('a.txt').read())"]), Reply(text="Fine."), Reply(text="All."),
                     Reply(text="One.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        runs = client.beta.threads.runs
        file = client.files.create(file=("a.txt", b"of the first"), purpose="assistants")
        assistant = client.beta.assistants.create(model=MODEL, tools=[CODE])
        thread = client.beta.threads.create(messages=[
            {"role": "user", "content": "One?", "attachments": [{"file_id": file.id, "tools": [CODE]}]},
            {"role": "assistant", "content": "Two."}, {"role": "user", "content": "Three?"}])

        def run(**more):
            made = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, **more)
            assert made.status == "completed", made.last_error
            return made

        made = run(truncation_strategy={"type": "last_messages", "last_messages": 1}, max_prompt_tokens=5000,
                   max_completion_tokens=900)
        assert (made.truncation_strategy.type, made.truncation_strategy.last_messages) == ("last_messages", 1)
        assert (made.max_prompt_tokens, made.max_completion_tokens) == (5000, 900)
        steps = runs.steps.list(made.id, thread_id=thread.id, order="asc").data
        assert steps[0].step_details.tool_calls[0].code_interpreter.outputs[0].logs == "of the first\n"
        client.beta.threads.messages.create(thread.id, role="user", content="Five?")
        for strategy in (None, {"type": "auto"}):
            made = run(truncation_strategy=strategy) if strategy else run()
            assert (made.truncation_strategy.type, made.truncation_strategy.last_messages) == ("auto", None)
            if strategy is None:
                client.beta.threads.messages.create(thread.id, role="user", content="Seven?")
        for wrong in ({"type": "last_messages"}, {"type": "last_messages", "last_messages": 0}, {"type": "none"},
                      {"type": "last_messages", "last_messages": 1.5}, "auto"):
            with pytest.raises(openai.BadRequestError, match="truncation_strategy"):
                runs.create(thread.id, assistant_id=assistant.id, truncation_strategy=wrong)

    def sent(number):
        return [each["content"] for each in model.requests[number].body["messages"] if each["role"] != "system"]

    assert sent(0) == ["Three?"] and sent(2)[:2] == ["One?", "Two."] and sent(2)[-1] == "Five?"
    assert sent(3)[0] == "One?"


class Handler(openai.AssistantEventHandler):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_text_delta(self, delta, snapshot):
        self.seen.append(("text", snapshot.value))

    def on_tool_call_delta(self, delta, snapshot):
        if delta.code_interpreter.input:
            self.seen.append(("input", snapshot.code_interpreter.input))
        for output in delta.code_interpreter.outputs or ():
            self.seen.append((output.type, getattr(output, "logs", None)))

    def on_image_file_done(self, image_file):
        self.seen.append(("image", image_file.file_id[:6]))

    def on_message_done(self, message):
        self.seen.append(("message", len(message.content)))


def test_streaming(reckon):
    code = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nopen('a.txt', 'w').write('1')\nprint('hi')"
    with ModelServer(Reply(calls=[code]), Reply(text="See sandbox:/mnt/data/a.txt.", pieces=20)) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        assistant = client.beta.assistants.create(model=MODEL, instructions="Rules.", tools=[CODE])
        thread = client.beta.threads.create()
        client.beta.threads.messages.create(thread.id, role="user", content=[{"type": "text", "text": "Draw."}])
        handler = Handler()
        with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id,
                                             event_handler=handler) as stream:
            stream.until_done()
            assert stream.current_run.status == "completed"
            message, = stream.get_final_messages()
        assert handler.seen[:4] == [("input", code), ("logs", "hi\n"), ("image", None), ("text", "See sandbox:/mnt/dat")]
        assert ("image", "file-i") in handler.seen and handler.seen[-1] == ("message", 2)
        assert message.content[1].text.annotations[0].text == "sandbox:/mnt/data/a.txt"
        stored = client.beta.threads.messages.list(thread.id, limit=1).data[0]
        assert stored.content[1].text.value == "See sandbox:/mnt/data/a.txt." and stored.id == message.id
        assert stored.content[1].text.annotations[0].file_path.file_id
        with client.beta.threads.create_and_run_stream(
                assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "?"}]}) as stream:
            names = [event.event for event in stream]
    assert names[:3] == ["thread.created", "thread.run.created", "thread.run.queued"]
    assert names[-1] == "thread.run.failed"  # the script is over


@pytest.mark.parametrize("streams", [False, True])
def test_functions_of_the_application(reckon, streams):
    with ModelServer(Reply(calls=["x = 5", CALL]), Reply(calls=["print(x)"]), Reply(text="Warm."),
                     Reply(text="Yes.")) as model, Speaking(reckon, model) as server:
        client = server.client()
        runs = client.beta.threads.runs
        assistant = client.beta.assistants.create(model=MODEL, tools=[CODE, WEATHER])
        thread = client.beta.threads.create(messages=[{"role": "user", "content": "How warm?"}])
        if streams:
            with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
                stream.until_done()
                run = stream.current_run
        else:
            run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        assert run.status == "requires_action"
        call, = run.required_action.submit_tool_outputs.tool_calls
        assert (call.id, call.function.name, json.loads(call.function.arguments)) == (
            "call_1", "get_weather", {"city": "Bern"})
        with pytest.raises(openai.BadRequestError, match="already has an active run"):
            runs.create(thread_id=thread.id, assistant_id=assistant.id)
        with pytest.raises(openai.BadRequestError, match="tool_outputs"):
            runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=[
                {"tool_call_id": "call_x", "output": "?"}])
        outputs = [{"tool_call_id": "call_1", "output": "12 degrees"}]
        if streams:
            with runs.submit_tool_outputs_stream(run_id=run.id, thread_id=thread.id, tool_outputs=outputs) as stream:
                stream.until_done()
                done = stream.current_run
        else:
            done = runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, tool_outputs=outputs)
        assert (done.status, done.id, done.required_action) == ("completed", run.id, None)
        steps = runs.steps.list(run.id, thread_id=thread.id, order="asc").data
        assert [(step.type, step.status) for step in steps] == [
            ("tool_calls", "completed")] * 3 + [("message_creation", "completed")]
        assert steps[1].step_details.tool_calls[0].function.output == "12 degrees"
        assert steps[2].step_details.tool_calls[0].code_interpreter.outputs[0].logs == "5\n"
        # The next run sends the model what ran before.
        client.beta.threads.messages.create(thread.id, role="user", content="Sure?")
        again = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        assert again.status == "completed"
        sent = model.requests[3].body["messages"]
        assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "assistant", "tool",
                                                   "assistant", "tool", "assistant", "user"]
        assert [each["content"] for each in sent if each["role"] == "tool"][1:] == ["12 degrees", "5\n"]
        assert [run.id for run in runs.list(thread.id)] == [again.id, run.id]


def test_cancelled_and_removed(reckon):
    last = GatedReply(Reply(text="No."))
    with ModelServer(script(Reply(text="Wait.", calls=["print(1)"]), last, Reply(calls=[CALL]), last)) as model, \
            Speaking(reckon, model) as server:
        client = server.client()
        runs = client.beta.threads.runs
        assistant = client.beta.assistants.create(model=MODEL, tools=[CODE, WEATHER])
        thread = client.beta.threads.create(messages=[{"role": "user", "content": "?"}])
        run = runs.create(thread_id=thread.id, assistant_id=assistant.id)
        assert run.status == "queued"
        eventually(lambda: len(model.requests) == 2)
        assert runs.retrieve(run.id, thread_id=thread.id).status == "in_progress"
        with pytest.raises(openai.BadRequestError, match="goes on"):
            client.beta.threads.delete(thread.id)
        ended = runs.cancel(run.id, thread_id=thread.id)
        assert ended.status == "cancelled" and ended.cancelled_at
        assert client.beta.threads.messages.list(thread.id).data[0].content[0].text.value == "Wait."
        with pytest.raises(openai.BadRequestError, match="Cannot cancel run with status 'cancelled'"):
            runs.cancel(run.id, thread_id=thread.id)
        waiting = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        assert waiting.status == "requires_action"
        assert runs.cancel(waiting.id, thread_id=thread.id).status == "cancelled"
        last.gate.set()
        assert runs.update(run.id, thread_id=thread.id, metadata={"a": "b"}).metadata == {"a": "b"}
        assert client.beta.threads.delete(thread.id).deleted
        for collection in ("threads", "thread_messages", "thread_runs", "thread_run_steps"):
            assert not server.ask("GET", f"/documents/conversation.openai.{collection}").json["documents"], collection
        assert server.ask("GET", f"/agent/{run.id}").status == 404
        for gone in (lambda: client.beta.threads.retrieve(thread.id), lambda: client.beta.threads.messages.list(thread.id),
                     lambda: runs.retrieve(run.id, thread_id=thread.id),
                     lambda: runs.create(thread_id=thread.id, assistant_id=assistant.id)):
            with pytest.raises(openai.NotFoundError):
                gone()


def test_assistants_and_messages(reckon):
    with ModelServer() as model, Speaking(reckon, model) as server:
        client = server.client("/v1")
        assistants = client.beta.assistants
        made = [assistants.create(model=MODEL, name=str(i), metadata={"n": str(i)}) for i in range(3)]
        assert [each.name for each in assistants.list(limit=2)] == ["2", "1", "0"]
        assert [each.name for each in assistants.list(order="asc", after=made[0].id)] == ["1", "2"]
        changed = assistants.update(made[0].id, instructions="Rules.", tools=[CODE])
        assert (changed.name, changed.instructions, changed.model, changed.created_at) == (
            "0", "Rules.", MODEL, made[0].created_at)
        assert assistants.retrieve(made[0].id) == changed
        assert assistants.delete(made[0].id).deleted
        with pytest.raises(openai.NotFoundError, match="No assistant found"):
            assistants.retrieve(made[0].id)
        thread = client.beta.threads.create(metadata={"a": "b"})
        assert client.beta.threads.update(thread.id, metadata={"a": "c"}).metadata == {"a": "c"}
        messages = client.beta.threads.messages
        message = messages.create(thread.id, role="user", content="?", metadata={"x": "y"})
        assert messages.update(message.id, thread_id=thread.id, metadata={"x": "z"}).metadata == {"x": "z"}
        assert messages.retrieve(message.id, thread_id=thread.id).content[0].text.value == "?"
        other = client.beta.threads.create()
        with pytest.raises(openai.NotFoundError):
            messages.retrieve(message.id, thread_id=other.id)
        assert messages.delete(message.id, thread_id=thread.id).deleted and not list(messages.list(thread.id))
        for wrong in (lambda: assistants.create(model=MODEL, tools=[{"type": "file_search"}]),
                      lambda: assistants.list(limit=0), lambda: messages.create(thread.id, role="tool", content="?"),
                      lambda: messages.create(thread.id, role="user", content=[]),
                      lambda: client.beta.threads.runs.create(thread_id=thread.id, assistant_id=None)):
            with pytest.raises(openai.BadRequestError):
                wrong()
