"""As node_items.mjs, with OpenAI's own SDK for Python, of any version."""
import base64
import os
import warnings

import openai

warnings.simplefilter("ignore")
client = openai.OpenAI(max_retries=0)
MODEL = "gpt-9"

with client.responses.stream(model=MODEL, input="Count.", tools=[
        {"type": "shell", "environment": {"type": "container_auto"}}]) as stream:
    shell = stream.until_done().get_final_response()
call, told = [item for item in shell.output if item.type != "reasoning"][:2]
print("shell", ",".join(call.action.commands), told.output[0].stdout.strip(), told.output[1].outcome.exit_code)

named = client.responses.create(model=MODEL, input=[{"type": "item_reference", "id": shell.output[-1].id},
                                                    {"role": "user", "content": "?"}])
print("reference", named.output_text)

INCLUDE = ["reasoning.encrypted_content"]
first = client.responses.create(model=MODEL, input="Think.", store=False, include=INCLUDE)
sealed = next(item for item in first.output if item.type == "reasoning").encrypted_content
client.responses.create(model=MODEL, store=False, include=INCLUDE, input=[
    {"role": "user", "content": "Think."}, *first.output, {"role": "user", "content": "On."}])
print("sealed", str(bool(sealed)).lower())

file = client.files.create(file=("p.png", base64.b64decode(os.environ["PNG"])), purpose="vision")
seen = client.responses.create(model=MODEL, input=[{"role": "user", "content": [
    {"type": "input_image", "file_id": file.id, "detail": "auto"}]}])
print("image", seen.output_text)

assistant = client.beta.assistants.create(model=MODEL)
thread = client.beta.threads.create(messages=[{"role": "user", "content": [
    {"type": "image_file", "image_file": {"file_id": file.id}}]}])
run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
print("thread", run.status)

raw = client.responses.with_raw_response.create(model=MODEL, input="?")
print("limit", raw.headers["x-ratelimit-limit-requests"])
try:
    client.responses.create(model=MODEL, input=[{"type": "item_reference", "id": "msg_1"}])
except openai.NotFoundError as error:
    print("error", "true", error.type)
