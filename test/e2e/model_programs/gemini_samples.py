"""The samples of Google's documentation for code execution: chat, files, functions. Prints the results as
one line of JSON."""
import json

from google import genai
from google.genai import types

seen = {}
client = genai.Client()

# ---- the chat
chat = client.chats.create(
    model="gemini-2.5-flash",
    config=types.GenerateContentConfig(
        system_instruction="You are a mathematician.",
        tools=[types.Tool(code_execution=types.ToolCodeExecution)]
    ),
)

response = chat.send_message("I have a math question for you.")
seen["hello"] = response.text

response = chat.send_message(
    "What is the sum of the first 50 prime numbers? "
    "Generate and run code for the calculation, and make sure you get all 50."
)
seen["chat"] = []
for part in response.candidates[0].content.parts:
    if part.text is not None:
        seen["chat"].append(part.text)
    if part.executable_code is not None:
        seen["chat"].append(part.executable_code.code)
    if part.code_execution_result is not None:
        seen["chat"].append(part.code_execution_result.output)

# ---- the same as a stream; the chat keeps the history
chat = client.chats.create(model="gemini-2.5-flash", config=types.GenerateContentConfig(
    tools=[types.Tool(code_execution=types.ToolCodeExecution)]))
seen["stream"] = ["".join(chunk.text or "" for chunk in chat.send_message_stream(question))
                  for question in ("One?", "Two?")]
seen["history"] = len(chat.get_history(curated=True)) > 3

# ---- input and output
with open("data.csv", "w") as file:
    file.write("a,b\n1,2\n")
myfile = client.files.upload(file="data.csv", config={"mime_type": "text/csv"})
response = client.models.generate_content(
    model="gemini-2.5-flash",
    contents=[myfile, types.Part.from_bytes(data=b"x;y\n", mime_type="text/plain"), "Draw it."],
    config=types.GenerateContentConfig(tools=[types.Tool(code_execution=types.ToolCodeExecution)]),
)
parts = response.candidates[0].content.parts
seen["chart"] = [part.inline_data.data[:4].hex() for part in parts if part.inline_data is not None]
seen["printed"] = [part.code_execution_result.output for part in parts if part.code_execution_result is not None]


# ---- a function together with code execution
def power_disco_ball(power: bool) -> dict:
    """Powers the spinning disco ball."""
    return {"status": f"Disco ball powered {'on' if power else 'off'}"}


response = client.models.generate_content(
    model="gemini-2.5-flash", contents="Party!", config=types.GenerateContentConfig(tools=[power_disco_ball]))
seen["function"] = response.text
both = types.GenerateContentConfig(
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    tools=[types.Tool(code_execution=types.ToolCodeExecution), types.Tool(function_declarations=[
        types.FunctionDeclaration(name="lights", parameters_json_schema={"type": "object", "properties": {}})])])
response = client.models.generate_content(model="gemini-2.5-flash", contents="Both.", config=both)
seen["both"] = [[part.executable_code is not None, part.function_call is not None]
                for part in response.candidates[0].content.parts]
seen["tokens"] = client.models.count_tokens(model="gemini-2.5-flash", contents="Hello there").total_tokens > 1
client.files.delete(name=myfile.name)
print(json.dumps(seen))
