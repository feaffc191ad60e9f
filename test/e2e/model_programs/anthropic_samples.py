"""The samples of Anthropic's documentation: code execution with files, programmatic tool calling, a stream,
the tool runner. Prints the results as one line of JSON."""
import json

import anthropic
from anthropic import Anthropic, beta_tool

seen = {}
client = Anthropic()

# ---- code execution with files
with open("data.csv", "w") as file:
    file.write("city,sales\nBern,3\nBasel,5\n")

# Upload a file
file_object = client.beta.files.upload(
    file=open("data.csv", "rb"),
)

# Use the file_id with code execution
response = client.beta.messages.create(
    model="claude-opus-4-5",
    betas=["code-execution-2025-08-25", "files-api-2025-04-14"],
    max_tokens=4096,
    messages=[{
        "role": "user",
        "content": [
            {"type": "text", "text": "Analyze this CSV data"},
            {"type": "container_upload", "file_id": file_object.id}
        ]
    }],
    tools=[{
        "type": "code_execution_20250825",
        "name": "code_execution"
    }]
)


def extract_file_ids(response):
    file_ids = []
    for item in response.content:
        if item.type == 'bash_code_execution_tool_result':
            content_item = item.content
            if content_item.type == 'bash_code_execution_result':
                for file in content_item.content:
                    if hasattr(file, 'file_id'):
                        file_ids.append(file.file_id)
    return file_ids


for file_id in extract_file_ids(response):
    file_metadata = client.beta.files.retrieve_metadata(file_id)
    file_content = client.beta.files.download(file_id)
    file_content.write_to_file(file_metadata.filename)
seen["file"] = open("chart.txt").read()
seen["stop"] = response.stop_reason

# ---- programmatic tool calling
tools = [
    {
        "type": "code_execution_20250825",
        "name": "code_execution"
    },
    {
        "name": "query_database",
        "description": "Execute a SQL query against the sales database. Returns a list of rows as JSON objects.",
        "input_schema": {
            "type": "object",
            "properties": {
                "sql": {
                    "type": "string",
                    "description": "SQL query to execute"
                }
            },
            "required": ["sql"]
        },
        "allowed_callers": ["code_execution_20250825"]
    }
]
question = {"role": "user", "content": "Query customer purchase history from the last quarter and identify our top 5 "
                                       "customers by revenue"}
response = client.beta.messages.create(
    model="claude-sonnet-4-5",
    betas=["advanced-tool-use-2025-11-20"],
    max_tokens=4096,
    messages=[question],
    tools=tools
)
assert response.stop_reason == "tool_use", response
call = response.content[-1]
seen["caller"], seen["sql"] = call.caller.type, call.input["sql"]
assert call.caller.tool_id == response.content[-2].id
response = client.beta.messages.create(
    model="claude-sonnet-4-5",
    betas=["advanced-tool-use-2025-11-20"],
    max_tokens=4096,
    container=response.container.id,  # Reuse the container
    messages=[
        question,
        {"role": "assistant", "content": response.content},
        {"role": "user", "content": [{
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": "[{\"customer_id\": \"C1\", \"revenue\": 45000}, {\"customer_id\": \"C2\", \"revenue\": 38000}]"
        }]}
    ],
    tools=tools
)
seen["programmatic"] = [response.content[0].content.stdout, response.content[-1].text, response.stop_reason]

# ---- a stream
with client.messages.stream(
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
    model="claude-opus-4-5",
    thinking={"type": "enabled", "budget_tokens": 1024},
    tools=[{"type": "code_execution_20260521", "name": "code_execution"}],
) as stream:
    seen["text"] = "".join(stream.text_stream)
    seen["blocks"] = [block.type for block in stream.get_final_message().content]


# ---- the tool runner
@beta_tool
def get_weather(location: str) -> str:
    """Get the weather for a given location.

    Args:
        location: The city and state, e.g. San Francisco, CA
    """
    return json.dumps({"location": location, "temperature": "68°F"})


runner = client.beta.messages.tool_runner(
    max_tokens=1024,
    model="claude-sonnet-4-5",
    tools=[get_weather],
    messages=[{"role": "user", "content": "What is the weather in SF?"}],
)
seen["runner"] = [message.content[-1].text if message.stop_reason == "end_turn" else message.stop_reason
                  for message in runner]
try:
    client.messages.create(model="gpt", max_tokens=1, messages=[{"role": "user", "content": "?"}])
except anthropic.NotFoundError as error:
    seen["error"] = error.type if hasattr(error, "type") else error.body["error"]["type"]
seen["tokens"] = client.messages.count_tokens(model="claude-x", messages=[question]).input_tokens > 10
seen["models"] = [model.id for model in client.models.list()]
print(json.dumps(seen))
