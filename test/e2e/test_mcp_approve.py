"""MCP with approval: the user is asked before code runs and before files or sessions change."""
import asyncio
import json
import threading

import httpx2
import mcp as sdk
import private_daemon
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_client import Mcp, text_of
from reckon_serve import SECONDS, Server

pytestmark = pytest.mark.one_user  # a protocol; the sessions behind it are tested elsewhere

CAN = {"elicitation": {}}


@pytest.fixture
def server(reckon):
    with Server(reckon, "--mcp-approve") as running:
        yield running


def call_tool(mcp, tool="run_code", answer=None, state=None, **arguments):
    """A modern call: its result, which may be the question."""
    params = {"name": tool, "arguments": arguments}
    if answer is not None:
        params["inputResponses"] = {"approve": {"action": answer, "content": {}}}
    if state is not None:
        params["requestState"] = state
    return mcp.ask("tools/call", params)


def test_a_modern_client_gets_a_question_and_calls_again(server):
    mcp = Mcp(server, modern=True, capabilities=CAN, name="work")
    outcome = call_tool(mcp, code="x = 40 + 2\nx")
    assert outcome["resultType"] == "input_required" and "content" not in outcome
    [(key, question)] = outcome["inputRequests"].items()
    assert key == "approve" and question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Run this code?\n\nx = 40 + 2\nx"
    assert question["params"]["requestedSchema"] == {"type": "object", "properties": {}}
    assert server.ask("GET", "/sessions").json["sessions"] == []
    state = outcome["requestState"]
    done = call_tool(mcp, code="x = 40 + 2\nx", answer="accept", state=state)
    assert done["resultType"] == "complete" and text_of(done).startswith("42")
    # An answer is valid for one call.
    assert call_tool(mcp, code="x = 40 + 2\nx", answer="accept", state=state)["resultType"] == "input_required"


def test_an_answer_is_valid_for_one_call(server):
    mcp = Mcp(server, modern=True, capabilities=CAN, name="work")
    state = call_tool(mcp, code="1")["requestState"]
    for arguments in ({"code": "open('/mnt/data/a', 'w')"}, {"code": "1", "language": "bash"}):
        again = call_tool(mcp, answer="accept", state=state, **arguments)
        assert again["resultType"] == "input_required" and again["requestState"] != state
    assert call_tool(mcp, code="1", answer="accept", state="qu_nobody")["resultType"] == "input_required"
    assert call_tool(mcp, code="1", answer="accept")["resultType"] == "input_required"
    assert call_tool(mcp, code="1", state=state)["resultType"] == "input_required"
    other = Mcp(server, modern=True, capabilities=CAN, name="elsewhere")
    assert call_tool(other, code="1", answer="accept", state=state)["resultType"] == "input_required"
    assert server.ask("GET", "/sessions").json["sessions"] == []
    assert text_of(call_tool(mcp, code="1", answer="accept", state=state)).startswith("1")


@pytest.mark.parametrize("answer, reason", [("decline", "declined"), ("cancel", "did not approve"),
                                            ("perhaps", "did not approve")])
def test_calls_that_are_not_approved_do_not_run(server, answer, reason):
    mcp = Mcp(server, modern=True, capabilities=CAN)
    state = call_tool(mcp, code="1")["requestState"]
    refused = call_tool(mcp, code="1", answer=answer, state=state)
    assert refused["isError"] is True and reason in text_of(refused)
    assert server.ask("GET", "/sessions").json["sessions"] == []
    assert call_tool(mcp, code="1", answer="accept", state=state)["resultType"] == "input_required"


def test_calls_that_need_approval_and_calls_that_do_not(server):
    mcp = Mcp(server, modern=True, capabilities=CAN, name="work")

    def question(tool, **arguments):
        outcome = call_tool(mcp, tool, **arguments)
        if outcome["resultType"] == "complete":
            return None
        return outcome["inputRequests"]["approve"]["params"]["message"]

    assert question("files", action="write", path="a.txt", text="x").startswith("Write the file a.txt")
    assert question("files", action="delete", path="a.txt") == "Delete a.txt of the session?"
    assert question("session", action="reset").startswith("Reset the session? Its variables and files")
    assert question("session", action="end", session="work").startswith("End the session work?")
    assert question("session", action="restart").startswith("Restart the session?")
    for tool, arguments in (("session", {"action": "new"}), ("session", {"action": "list"}),
                            ("files", {"action": "list"}), ("files", {"action": "read", "path": "a"}),
                            ("output", {"handle": "out_0"}), ("run_code", {}),
                            ("files", {"action": "burn"})):
        assert question(tool, **arguments) is None, (tool, arguments)
    # The question shows all of the code, so its length is limited; escapes do not count towards that.
    assert question("run_code", code="ä" * 32768).endswith("\n" + "ä" * 32768)
    assert question("run_code", code="\a" * 65536).endswith("\\x07" * 65536)
    long = call_tool(mcp, code="ä" * 32768 + "#")
    assert long["isError"] is True and "longer than the 64 KiB" in text_of(long)
    assert question("run_code", code="ls", language="bash") == "Run this bash code?\n\nls"
    much = call_tool(mcp, "files", action="write", path="a", text="#" * 2_000_000)
    assert much["isError"] is True and "too long to ask" in text_of(much)


@pytest.mark.parametrize("hidden, shown", [
    ("x = 1\x1b[8m; rm()", r"x = 1\x1b[8m; rm()"), ("rm()\rx = 1", r"rm()\rx = 1"),
    ("# \u202e\u2066rm()\u2069", r"# \u202e\u2066rm()\u2069"), ("a\u200bb", r"a\u200bb"),
    ("\x9b8m", r"\x9b8m")])
def test_nothing_in_a_question_is_hidden(server, hidden, shown):
    """A client may show it in a terminal, or right to left."""
    mcp = Mcp(server, modern=True, capabilities=CAN)
    for tool, arguments, words in (
            ("run_code", {"code": f"\tprint()\n{hidden}\nä"}, f"code?\n\n    print()\n{shown}\nä"),
            ("run_code", {"code": "1", "language": hidden}, f"Run this {shown} code"),
            ("files", {"action": "write", "path": hidden, "text": "x"}, f"the file {shown} of"),
            ("files", {"action": "delete", "path": hidden}, f"Delete {shown} of"),
            ("session", {"action": "end", "session": hidden}, f"End the session {shown}?")):
        outcome = call_tool(mcp, tool, **arguments)
        message = outcome["inputRequests"]["approve"]["params"]["message"]
        assert words in message and not set(message) & set("\x1b\r\u202e\u2066\u200b\x9b"), message


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
def test_a_client_that_cannot_ask_gets_an_error(server, modern, capabilities):
    mcp = Mcp(server, modern, capabilities)
    refused = mcp.run("1")
    assert refused["isError"] is True and "this client cannot ask" in text_of(refused)
    assert not mcp.call("session", action="list")["isError"]


def test_a_client_can_request_approval_itself(reckon):
    with Server(reckon) as server:
        mcp = Mcp(server, modern=True, capabilities=CAN)
        assert text_of(mcp.run("6 * 7")).startswith("42")
        mcp.more = {"Reckon-Approve": "1"}
        assert call_tool(mcp, code="1")["resultType"] == "input_required"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
@pytest.mark.parametrize("how", ["file", "environment"])
def test_approval_can_be_configured(reckon, how):
    config = reckon.file("reckon.ini", b"[mcp]\nmcp-approve = yes\n")
    args, env = ((("--config", config), {}) if how == "file" else ((), {"RECKON_MCP_APPROVE": "1"}))
    with Server(reckon, *args, env=env) as server:
        mcp = Mcp(server, modern=True, capabilities=CAN)
        assert call_tool(mcp, code="1")["resultType"] == "input_required"


def test_a_client_cannot_turn_approval_off(server):
    mcp = Mcp(server, modern=True, capabilities=CAN)
    mcp.more = {"Reckon-Approve": "0"}
    assert call_tool(mcp, code="1")["resultType"] == "input_required"


def test_an_older_client_cancels_the_question(server):
    mcp = Mcp(server, capabilities=CAN)
    message = mcp.message("tools/call", {"name": "run_code", "arguments": {"code": "1"}})
    connection = server.connect()
    connection.request("POST", "/mcp", json.dumps(message), mcp.headers(message))
    answer = connection.getresponse()
    line = answer.readline()
    while not line.startswith(b"data: "):
        line = answer.readline()
    question = json.loads(line[6:])
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Run this code?\n\n1"
    rest = []
    thread = threading.Thread(target=lambda: rest.append(answer.read()))
    thread.start()
    assert mcp.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": message["id"]}})[0] == 202
    thread.join(SECONDS)
    assert rest and b"result" not in rest[0]
    connection.close()
    # The answer comes too late.
    assert mcp.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})[0] == 202
    assert server.ask("GET", "/sessions").json["sessions"] == []


async def drive(transport, mode):
    """MCP's own client, whose user approves code and declines deletions."""
    seen = []

    async def answer(_, params):
        seen.append(params.message)
        return sdk.types.ElicitResult(action="decline" if "Delete" in params.message else "accept",
                                      content={})

    async with sdk.Client(transport, mode=mode, elicitation_callback=answer) as client:
        ran = await client.call_tool("run_code", {"code": "open('a.txt', 'w').write('abc'); 6 * 7"})
        session = ran.structured_content["session"]
        deletion = await client.call_tool("files", {"action": "delete", "path": "a.txt", "session": session})
        files = await client.call_tool("files", {"action": "list", "session": session})
    return (ran.content[0].text[:2], deletion.is_error, "declined" in deletion.content[0].text,
            "a.txt" in files.content[0].text, len(seen))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_approval_with_the_sdk_over_http(server, mode):
    async def main():
        headers = {"Authorization": f"Bearer {server.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            url = f"http://127.0.0.1:{server.port}/mcp"
            return await drive(streamable_http_client(url, http_client=http), mode)

    assert asyncio.run(main()) == ("42", True, True, True, 2)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_approval_with_the_sdk_over_stdio(reckon, mode):
    parameters = StdioServerParameters(command=str(reckon.place.program), args=["mcp", "--approve"],
                                       env=reckon.env)
    try:
        assert asyncio.run(drive(sdk.stdio_client(parameters), mode)) == ("42", True, True, True, 2)
    finally:
        private_daemon.end(reckon)


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_a_key_that_needs_approval(reckon):
    """Only this key and its successor need approval, and their clients cannot turn it off."""
    with Server(reckon) as server:
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}
        made = json.loads(reckon("key", "create", "desk", "--mcp-approve", "--json", env=env).stdout)
        plain = server.ask("POST", "/keys", {"scopes": made["scopes"]}).json
        assert (made["mcp_approve"], plain["mcp_approve"]) == (True, False)
        listed = {each["id"]: each["mcp_approve"] for each in server.ask("GET", "/keys").json["keys"]}
        assert listed[made["id"]] is True and listed[plain["id"]] is False
        successor = server.ask("POST", f"/keys/{made['id']}/rotate", {}).json
        assert successor["mcp_approve"] is True
        admin = server.key
        for key, is_asked in ((plain["key"], False), (made["key"], True), (successor["key"], True)):
            server.key = key
            for modern in (False, True):
                silent = Mcp(server, modern)
                silent.more = {"Reckon-Approve": "0"}
                refused = silent.run("print('ran')")
                assert refused["isError"] is is_asked and ("cannot ask" in text_of(refused)) is is_asked
            mcp = Mcp(server, modern=True, capabilities=CAN, name="work")
            outcome = call_tool(mcp, code="6 * 7")
            assert (outcome["resultType"] == "input_required") is is_asked
            if is_asked:
                outcome = call_tool(mcp, code="6 * 7", answer="accept", state=outcome["requestState"])
            assert text_of(outcome).startswith("42")
        server.key = admin
        assert server.ask("POST", "/keys", {"scopes": ["read"], "mcp_approve": "yes"}).status == 400
