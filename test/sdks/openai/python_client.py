"""OpenAI's own SDK, of any version: what it checks by itself while it reads streams."""
import warnings

import openai

warnings.simplefilter("ignore")
client = openai.OpenAI()
CODE = {"type": "code_interpreter", "container": {"type": "auto"}}

with client.responses.stream(model="gpt-9", input="Calculate.", tools=[CODE]) as stream:
    response = stream.until_done().get_final_response()
assert [item.type for item in response.output] == ["code_interpreter_call", "message"], response
print("responses", response.output_text)

with client.chat.completions.stream(model="gpt-9", messages=[{"role": "user", "content": "Calculate."}],
                                    tools=[]) as stream:
    completion = stream.get_final_completion()
print("chat", completion.choices[0].message.content)

assistant = client.beta.assistants.create(model="gpt-9", tools=[{"type": "code_interpreter"}])
thread = client.beta.threads.create(messages=[{"role": "user", "content": "Calculate."}])
with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
    stream.until_done()
    message = stream.get_final_messages()[-1]
print("threads", message.content[0].text.value)
run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
print("poll", run.status)
