"""LangChain against Reckon: the code interpreter as a bound tool; whole, and as a stream."""
import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-9", use_responses_api=True, base_url=os.environ["OPENAI_BASE_URL"],
                   api_key=os.environ["OPENAI_API_KEY"], include=["code_interpreter_call.outputs"])
bound = model.bind_tools([{"type": "code_interpreter", "container": {"type": "auto"}}])
answer = bound.invoke("Calculate.")
calls = [block for block in answer.content_blocks if block["type"].startswith("server_tool")]
assert any("print(6*7)" in str(call) for call in calls), answer.content_blocks
assert "42" in str(calls), calls
print("whole", answer.text)
whole = None
for chunk in bound.stream("Calculate."):
    whole = chunk if whole is None else whole + chunk
print("stream", whole.text)
