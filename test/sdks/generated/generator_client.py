"""The client that openapi-generator makes: usage: generator_client.py URL KEY"""
import json
import sys

import openapi_generated as api
from openapi_generated.exceptions import ApiException

client = api.ApiClient(api.Configuration(host=sys.argv[1], access_token=sys.argv[2]))
sessions, executions, files = (make(client) for make in
                               (api.SessionsApi, api.ExecutionsApi, api.FilesApi))


def status_of(call, *args):
    """(status, code) of a call that is refused."""
    try:
        call(*args)
    except ApiException as refusal:
        return [refusal.status, json.loads(refusal.body)["error"]["code"]]
    return [200, None]


def execute(**fields):
    answer = executions.execute(session, api.ExecutionCreate(**fields))
    return getattr(answer, "actual_instance", answer)  # of 200 a record or an execution, of 202 one


session = sessions.create_session(api.SessionCreate(template="python")).id
record = execute(code="import sys; print(6 * 7); print('e', file=sys.stderr); [1, 2]")
failed = execute(code="1/0")
accepted = execute(code="for i in range(3): print(i)", background=True)
stream = executions.events_without_preload_content(session, accepted.id).data.decode()
put = files.put_file(session, "a/ä 1.txt", b"hello")
print(json.dumps({
    "stdout": record.stdout,
    "kinds": [output.actual_instance.output_type for output in record.outputs],
    "raised": failed.error.name,
    "events": [line[7:] for line in stream.splitlines() if line.startswith("event: ")][-1],
    "put": put.size, "got": bytes(files.get_file(session, "a/ä 1.txt")).decode(),
    "listed": [file.path for file in files.list_files(session, path="a").files],
    "refused": [*status_of(executions.execute, session, api.ExecutionCreate.model_construct(
        code="1", timeout_s=-1)), True],
    "deleted": sessions.delete_session_with_http_info(session).status_code,
    "gone": status_of(sessions.show_session, session)[0]}))
