"""One command removes all conversations of a tenant, or of a key, completely."""
import contextlib
import json
import sqlite3

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import CODE, MODEL, OUTPUTS, Speaking

pytestmark = [pytest.mark.one_user,
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]

MARK = "xylophone"


def found(reckon):
    """Tables of the database that contain the mark."""
    with contextlib.closing(sqlite3.connect(reckon.state / "reckond.db")) as db:
        tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name for name in tables for row in db.execute(f'SELECT * FROM "{name}"')
                if any(MARK.encode() in (value if isinstance(value, bytes) else str(value).encode()) for value in row)}


def create_conversations(client):
    """A response, one of a conversation, one in the background, and a run of a thread."""
    client.responses.create(model=MODEL, input=MARK, tools=[CODE], include=OUTPUTS)
    conversation = client.conversations.create(items=[{"role": "user", "content": MARK}])
    client.responses.create(model=MODEL, input=MARK, tools=[CODE], conversation=conversation.id)
    client.responses.create(model=MODEL, input=MARK, background=True)
    assistant = client.beta.assistants.create(model=MODEL, tools=[{"type": "code_interpreter"}])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": MARK}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "completed"


def test_forgetting_a_tenant_removes_everything(reckon):
    def reply(body):
        if body["messages"][-1]["role"] == "tool" or not body.get("tools"):
            return Reply(text=f"Said {MARK}.")
        return Reply(calls=[f"open('{MARK}.txt', 'w').write('1')\nprint('{MARK}')"])

    with ModelServer(reply) as model, Speaking(reckon, model) as server:
        create_conversations(server.client())
        other = server.ask("POST", "/tenants", {"name": "other"}).json["id"]
        key = server.ask("POST", "/keys", {"tenant": other, "scopes": [
            "agent", "sessions", "execute", "files", "read"]}).json
        create_conversations(server.client(api_key=key["key"]))
        assert {"run", "execution", "document", "version"} <= found(reckon)
        reach = ("--url", f"http://127.0.0.1:{server.port}", "--key")

        # The conversations of another tenant stay, and only an administrator can remove them.
        reckon("tenant", "forget", *reach, server.key).expect(0)
        assert not server.ask("GET", "/documents/conversation.openai.responses").json["documents"]
        assert "run" in found(reckon)
        refused = server.ask("DELETE", "/agent?tenant=" + server.ask("GET", "/tenants").json["tenants"][-1]["id"],
                             headers={"Authorization": f"Bearer {key['key']}"})
        assert refused.status in (403, 404)
        done = json.loads(reckon("tenant", "forget", "other", "--json", *reach, server.key).expect(0).out)
        assert done["runs"] == 4 and done["documents"] > 8 and done["sessions"] == 4, done
        assert found(reckon) == set()
        # The assistant itself is not a conversation, so it stays.
        assert len(server.client().beta.assistants.list().data) == 1
        # The daemon still serves requests.
        assert server.client().responses.create(model=MODEL, input="?").output_text == f"Said {MARK}."


def test_forgetting_one_key(reckon):
    with ModelServer(*[Reply(calls=["print(1)"]), Reply(text="One.")] * 2) as model, Speaking(reckon, model) as server:
        mine = server.client().responses.create(model=MODEL, input="?", tools=[CODE])
        key = server.ask("POST", "/keys", {"scopes": ["agent", "sessions", "execute", "files", "read"]}).json
        client = server.client(api_key=key["key"])
        theirs = client.responses.create(model=MODEL, input="?", tools=[CODE])
        done = server.ask("DELETE", f"/agent?key={key['id']}").json
        assert (done["runs"], done["executions"], done["sessions"], done["more"]) == (1, 1, 0, False)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input="?", previous_response_id=theirs.id)
        session = theirs.output[0].container_id.replace("cntr_", "se_")
        assert not server.ask("GET", f"/sessions/{session}/executions").json["executions"]
        assert server.ask("GET", f"/agent/{mine.id.replace('resp_', 'run_')}").status == 200
