"""The client that openapi-python-client makes: usage: python_client.py URL KEY"""
import io
import json
import sys

from openapi_python import AuthenticatedClient
from openapi_python.api.executions import events, execute
from openapi_python.api.files import get_file, list_files, put_file
from openapi_python.api.sessions import create_session, delete_session, show_session
from openapi_python.models import Error, ExecutionCreate, SessionCreate
from openapi_python.types import File

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
session = create_session.sync(client=client, body=SessionCreate(template="python")).id
record = execute.sync(session, client=client, body=ExecutionCreate(
    code="import sys; print(6 * 7); print('e', file=sys.stderr); [1, 2]"))
failed = execute.sync(session, client=client, body=ExecutionCreate(code="1/0"))
accepted = execute.sync(session, client=client,
                        body=ExecutionCreate(code="for i in range(3): print(i)", background=True))
stream = events.sync_detailed(session, accepted.id, client=client).content.decode()
put = put_file.sync(session, "a/ä 1.txt", client=client, body=File(io.BytesIO(b"hello")))
refused = execute.sync_detailed(session, client=client, body=ExecutionCreate(code="1", timeout_s=-1))
print(json.dumps({
    "stdout": record.stdout, "kinds": [output.output_type for output in record.outputs],
    "raised": failed.error.name,
    "events": [line[7:] for line in stream.splitlines() if line.startswith("event: ")][-1],
    "put": put.size, "got": get_file.sync(session, "a/ä 1.txt", client=client).payload.read().decode(),
    "listed": [file.path for file in list_files.sync(session, client=client, path="a").files],
    "refused": [refused.status_code, refused.parsed.error.code, isinstance(refused.parsed, Error)],
    "deleted": delete_session.sync_detailed(session, client=client).status_code,
    "gone": show_session.sync_detailed(session, client=client).status_code}))
