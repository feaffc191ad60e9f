"""MCP over HTTP: tools, state, results, and what is refused."""
import base64
import json
import struct
import threading
import time

import pytest
from mcp_client import LEGACY, META, MODERN, Mcp, text_of
from reckon_serve import SECONDS, Server

pytestmark = pytest.mark.one_user  # a protocol; the sessions behind it are tested elsewhere


@pytest.fixture(params=["legacy", "modern"])
def mcp(server, request):
    return Mcp(server, modern=request.param == "modern")


def test_a_session_of_ten_calls(mcp):
    first = mcp.run("import math; x = 41")
    assert first["isError"] is False and "no output" in text_of(first)
    session = first["structuredContent"]["session"]
    more = {"session": session} if mcp.modern else {}
    again = mcp.run("x + 1", **more)
    assert text_of(again).startswith("42")
    assert again["structuredContent"]["session"] == session
    wrong = mcp.run("y = {'sales': 1}\ny['salse']", **more)
    assert wrong["isError"] is True and "KeyError" in text_of(wrong)
    assert wrong["structuredContent"]["status"] == "error"
    assert "wrote 6 bytes" in text_of(mcp.call("files", action="write", path="in/a.txt",
                                               text="héllo", **more))
    assert "héllo" in text_of(mcp.run("print(open('in/a.txt').read())", **more))
    out = mcp.run("open('out.csv', 'w').write('a,b\\n1,2\\n')", **more)
    [link] = [block for block in out["content"] if block["type"] == "resource_link"]
    assert link["name"] == "out.csv" and link["size"] == 8
    [content] = mcp.ask("resources/read", {"uri": link["uri"]})["contents"]
    assert content["text"] == "a,b\n1,2\n" and content["uri"] == link["uri"]
    listed = text_of(mcp.call("files", action="list", **more))
    assert "in/a.txt" in listed and "out.csv" in listed
    resources = mcp.ask("resources/list")["resources"]
    assert {each["name"] for each in resources} == {"in/a.txt", "out.csv"}
    for each in resources:
        assert mcp.ask("resources/read", {"uri": each["uri"]})["contents"][0]["text"]
    assert "was restarted" in text_of(mcp.call("session", action="restart", **more))
    assert "NameError" in text_of(mcp.run("x", **more))
    assert "was reset" in text_of(mcp.call("session", action="reset", **more))
    assert text_of(mcp.call("files", action="list", **more)) == "no files\n"
    assert "ended" in text_of(mcp.call("session", action="end", **more))
    assert text_of(mcp.call("session", action="list")) == "no live sessions\n"


def test_the_session_argument_is_optional(server):
    """An older client has a default session; a modern client gets the id of a new one."""
    legacy, other, modern = Mcp(server), Mcp(server), Mcp(server, modern=True)
    legacy.run("x = 1")
    assert "NameError" in text_of(other.run("x"))
    first = modern.run("x = 2")["structuredContent"]["session"]
    second = modern.run("x = 3")["structuredContent"]["session"]
    assert first != second
    assert text_of(modern.run("x", session=first)).startswith("2")
    assert text_of(legacy.run("x", session=second)).startswith("3")
    assert text_of(legacy.run("x")).startswith("1")
    gone = modern.run("x", session="se_00000000000000000000000000")
    assert gone["isError"] is True


def test_a_figure_is_an_image(mcp):
    drawn = mcp.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]); plt.title('squares')")
    [image] = [block for block in drawn["content"] if block["type"] == "image"]
    assert image["mimeType"] == "image/png"
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    [uri] = drawn["structuredContent"]["figures"]
    [content] = mcp.ask("resources/read", {"uri": uri})["contents"]
    assert content["blob"] == image["data"]


@pytest.mark.parametrize("modern", [False, True])
def test_a_client_names_its_default_session(server, modern):
    mcp = Mcp(server, modern, name="work")
    first = mcp.run("x = 1")
    assert "[session" not in text_of(first)
    assert text_of(mcp.run("x + 1")).startswith("2")
    mcp.call("files", action="write", path="a.txt", text="hello")
    assert [each["name"] for each in mcp.ask("resources/list")["resources"]] == ["a.txt"]
    assert "(the default)" in text_of(mcp.call("session", action="list"))
    again = Mcp(server, not modern, name="work")
    assert text_of(again.run("x + 2")).startswith("3")
    assert "NameError" in text_of(Mcp(server, modern, name="other").run("x"))
    [found] = server.ask("GET", "/sessions?name=work").json["sessions"]
    assert found["id"] == first["structuredContent"]["session"] and found["idle_timeout_s"] == 14400
    for bad in ("se_1", "a b", "x" * 64):
        status, _, answer = mcp.post(mcp.message("tools/list"), headers={"Reckon-Session": bad})
        assert status == 400 and "must be a name" in answer["error"]["message"]

    def end(**headers):
        assert server.ask("DELETE", "/mcp", headers={"Reckon-Session": "work", **headers},
                          prefix="").status == 204
        return server.ask("GET", "/sessions?name=work").json["sessions"][0]["status"]

    # The session survives the end of one of its clients; then its name ends it.
    assert end(**{"Mcp-Session-Id": mcp.session or again.session}) == "live"
    assert end() == "closed"


def test_a_named_session_obeys_the_idle_limit_of_its_tenant(reckon):
    with Server(reckon) as server:
        tenant = server.ask("POST", "/tenants", {"name": "short"}).json
        server.ask("PATCH", f"/tenants/{tenant['id']}", {"quotas": {"max_idle_timeout_s": 60}})
        made = server.ask("POST", "/keys", {"name": "k", "tenant": tenant["id"],
                                            "scopes": ["read", "execute", "sessions"]}).json
        server.key, admin = made["key"], server.key
        assert text_of(Mcp(server, name="work").run("6 * 7")).startswith("42")
        [found] = server.ask("GET", "/sessions").json["sessions"]
        assert found["idle_timeout_s"] <= 60
        server.key = admin


def pixels(png):
    data = base64.b64decode(png)
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_a_large_figure_is_shown_smaller(mcp):
    drawn = mcp.run("import matplotlib.pyplot as plt\nplt.figure(figsize=(30, 20))\n"
                    "plt.plot([1, 4, 9]); plt.title('squares')")
    assert [block["type"] for block in drawn["content"]] == ["text", "image", "resource_link"]
    [image] = [block for block in drawn["content"] if block["type"] == "image"]
    assert max(pixels(image["data"])) == 1568 and "too large" not in text_of(drawn)
    [uri] = drawn["structuredContent"]["figures"]
    [link] = [block for block in drawn["content"] if block["type"] == "resource_link"]
    assert link["uri"] == uri
    [original] = mcp.ask("resources/read", {"uri": uri})["contents"]
    assert max(pixels(original["blob"])) > 1568
    assert len(base64.b64decode(original["blob"])) == link["size"]


def noise(mcp, count=1):
    """Images that no compression makes small."""
    return mcp.run("import numpy as np\nfrom PIL import Image\nrandom = np.random.default_rng(1)\n"
                   f"for i in range({count}):\n"
                   "    pixels = random.integers(0, 255, (600, 800, 3)).astype('uint8')\n"
                   "    image = Image.fromarray(pixels)\n    display(image)\nimage.save('big.png')")


def test_a_photograph_is_shown_smaller(mcp):
    shown = noise(mcp)
    assert [block["type"] for block in shown["content"]] == [
        "text", "image", "resource_link", "resource_link"]
    assert shown["content"][1]["mimeType"] == "image/jpeg" and len(json.dumps(shown)) < 1 << 20
    [uri] = shown["structuredContent"]["figures"]
    [original] = mcp.ask("resources/read", {"uri": uri})["contents"]
    assert base64.b64decode(original["blob"]).startswith(b"\x89PNG")


def test_figures_that_are_too_large_are_links(mcp):
    shown = noise(mcp, 4)
    uris = shown["structuredContent"]["figures"]
    images = [block for block in shown["content"] if block["type"] == "image"]
    assert len(uris) == 4 and 0 < len(images) < 4 and len(json.dumps(shown)) < 1 << 20
    assert f"too large to show: read {uris[-1]}" in text_of(shown)
    [original] = mcp.ask("resources/read", {"uri": uris[-1]})["contents"]
    data = base64.b64decode(original["blob"])
    assert data.startswith(b"\x89PNG") and len(data) > 1 << 20
    read = mcp.call("files", action="read", path="big.png",
                    session=shown["structuredContent"]["session"])
    assert [block["type"] for block in read["content"]] == ["text", "resource_link"]


def test_output_that_is_too_long_is_paged(mcp):
    printed = mcp.run("for i in range(20000): print('line', i)", max_text=2000)
    assert len(text_of(printed).encode()) < 2400
    [handle, *_] = printed["structuredContent"]["outputs"]
    page = mcp.call("output", handle=handle, offset=0, length=1024)
    assert text_of(page).startswith("line 0\nline 1\n") and "go on with offset 1024" in text_of(page)


def test_the_whole_output_of_a_call_is_paged(mcp):
    """The output has several parts, none of which was truncated by itself; the pages have them in order."""
    code = ("import sys\nfor i in range(400): print('line', i)\n"
            "for i in range(400): print('ä', i, file=sys.stderr)\nprint('last', end='')\n"
            "raise ValueError('m' * 3000)")
    printed = mcp.run(code, max_text=1024)
    handle = printed["structuredContent"]["outputs"][-1]
    assert handle == "{session}/{execution}".format_map(printed["structuredContent"])
    assert f"[all of it: output, handle {handle}]" in text_of(printed)
    whole, offset = "", 0
    while True:
        page = text_of(mcp.call("output", handle=handle, offset=offset, length=1001))
        text, mark, rest = page.partition("\n[bytes ")
        whole += text
        if not mark:
            break
        offset = int(rest.split("offset ")[1].rstrip("]\n"))
    lines = "".join(f"line {i}\n" for i in range(400)) + "".join(f"ä {i}\n" for i in range(400))
    assert whole.startswith(lines + "last\n") and whole.count("m" * 3000) == 1
    assert "[there are" in text_of(mcp.call("output", handle=handle, offset=10 ** 9))
    for bad in ("se_0/ex_0", handle + "/x", handle[:-1]):
        assert mcp.call("output", handle=bad)["isError"] is True
    assert "all of it" not in text_of(mcp.run("print(1)"))


def test_a_flood_of_output_is_limited(mcp):
    flood = mcp.run("import os\nfor i in range(100): os.write(1, b'x' * (1 << 20))", max_text=4096)
    assert len(json.dumps(flood)) < 20000
    assert not mcp.run("1")["isError"]


def test_limits_and_crashes_are_reported(mcp):
    session = mcp.run("x = 5")["structuredContent"]["session"]
    late = mcp.run("while True: pass", timeout_s=0.5, session=session)
    assert late["isError"] is True and late["structuredContent"]["status"] == "timeout"
    assert text_of(mcp.run("x", session=session)).startswith("5")
    dead = mcp.run("import os; os.abort()", session=session)
    assert dead["isError"] is True and dead["structuredContent"]["status"] == "kernel_died"
    assert "NameError" in text_of(mcp.run("x", session=session))


def test_progress_is_what_the_code_prints(mcp):
    result = mcp.call("run_code", token="t1", code="print('one')\nprint('two')")
    updates = [each["params"] for each in mcp.notifications]
    assert "".join(each["message"] for each in updates) == "one\ntwo\n"
    assert all(each["progressToken"] == "t1" for each in updates)
    numbers = [each["progress"] for each in updates]
    assert numbers == sorted(set(numbers)) and text_of(result).startswith("one\ntwo")


def wait_for_execution(server, session):
    end = time.monotonic() + SECONDS
    while True:
        found = server.ask("GET", f"/sessions/{session}/executions").json["executions"]
        if found and found[0]["status"] == "running":
            return found[0]["id"]
        assert time.monotonic() < end, found
        time.sleep(0.02)


def test_an_older_client_cancels_by_a_notification(server):
    mcp = Mcp(server)
    session = mcp.run("x = 7")["structuredContent"]["session"]
    message = mcp.message("tools/call", {"name": "run_code", "arguments": {
        "code": "import time\nopen('begun', 'w').close()\nwhile True: time.sleep(0.01)"}})
    answers = []
    thread = threading.Thread(target=lambda: answers.append(mcp.post(message)))
    thread.start()
    execution = wait_for_execution(server, session)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled",
              "params": {"requestId": message["id"]}}
    # A client with another session cannot cancel it.
    assert Mcp(server).post(cancel)[0] == 202
    assert server.ask("GET", f"/sessions/{session}/executions/{execution}").json["status"] == "running"
    assert mcp.post(cancel)[0] == 202
    thread.join(SECONDS)
    [(status, _, answer)] = answers
    assert status == 200 and answer is None
    assert server.poll(session, execution)["status"] == "interrupted"
    assert text_of(mcp.run("x")).startswith("7")


def test_a_modern_client_cancels_by_disconnecting(server):
    mcp = Mcp(server, modern=True)
    session = mcp.run("x = 7")["structuredContent"]["session"]
    message = mcp.message("tools/call", {"name": "run_code", "arguments": {
        "session": session, "code": "while True: pass"}})
    connection = server.connect()
    connection.request("POST", "/mcp", json.dumps(message), mcp.headers(message))
    execution = wait_for_execution(server, session)
    connection.sock.close()
    connection.close()
    assert server.poll(session, execution)["status"] == "interrupted"
    assert text_of(mcp.run("x", session=session)).startswith("7")


def test_a_link_leads_to_any_name(mcp):
    """Also to a name that a URI must escape."""
    name = "in/50% of ä.bin"
    written = mcp.call("files", action="write", path=name,
                       base64=base64.b64encode(b"\0\xff").decode())
    session = {"session": text_of(written).split("[session ")[1].split("]")[0]} if mcp.modern else {}
    read = mcp.call("files", action="read", path=name, **session)
    [link] = [block for block in read["content"] if block["type"] == "resource_link"]
    [content] = mcp.ask("resources/read", {"uri": link["uri"]})["contents"]
    assert base64.b64decode(content["blob"]) == b"\0\xff"


def test_two_clients_at_once_and_one_that_is_killed(server):
    first, second = Mcp(server), Mcp(server)
    session = first.run("x = 1")["structuredContent"]["session"]
    second.run("x = 2")
    message = first.message("tools/call", {"name": "run_code", "arguments": {
        "code": "import time\ntime.sleep(600)", "timeout_s": 600}})
    connection = first.server.connect()
    connection.request("POST", "/mcp", json.dumps(message), first.headers(message))
    execution = wait_for_execution(server, session)
    assert text_of(second.run("x")).startswith("2")
    connection.sock.close()  # the disconnect of an older client does not cancel
    connection.close()
    assert text_of(second.run("x + 1")).startswith("3")
    assert server.ask("GET", f"/sessions/{session}/executions/{execution}").json["status"] == "running"
    assert server.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": first.session},
                      prefix="").status == 204
    assert text_of(second.run("x")).startswith("2")


def test_invalid_arguments_are_errors_for_the_model(mcp):
    for arguments, reason in (({}, "code is missing"), ({"code": 1}, "code is missing"),
                              ({"code": "1", "timeout": 1}, "unknown argument 'timeout'"),
                              ({"code": "1", "timeout_s": "x"}, "timeout_s must be a number"),
                              ({"code": "1", "session": "no such"}, "session must be"),
                              ({"code": "1", "language": "cobol"}, "cobol")):
        answer = mcp.call("run_code", **arguments)
        assert answer["isError"] is True and reason in text_of(answer), answer
    for tool, arguments, reason in (
            ("files", {"action": "burn"}, "action must be"),
            ("files", {"action": "read"}, "path is missing"),
            ("files", {"action": "write", "path": "a", "base64": "!"}, "base64"),
            ("output", {"handle": "out_none"}, "error"), ("session", {}, "action must be"),
            ("session", {"action": "end", "session": "nobody"}, "no live session")):
        answer = mcp.call(tool, **arguments)
        assert answer["isError"] is True and reason in text_of(answer), answer


def test_the_list_of_tools(mcp):
    tools = {each["name"]: each for each in mcp.ask("tools/list")["tools"]}
    assert list(tools) == ["run_code", "files", "output", "session"]
    assert len(json.dumps(list(tools.values()))) < 1800 * 4
    assert tools["output"]["annotations"]["readOnlyHint"] is True
    assert all(tools[name]["annotations"]["destructiveHint"]
               for name in ("run_code", "files", "session"))
    assert not any("test_" in name for name in tools)


def test_malformed_messages(server):
    mcp = Mcp(server)

    def refused(body, status=400, **headers):
        found, _, answer = mcp.post(None, headers=headers, body=body)
        assert found == status, (found, answer)
        return answer["error"]["code"]

    assert refused(b"{") == -32700
    assert refused(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}') == -32700
    assert refused(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}') == -32700
    assert refused(b"[" * 100 + b"]" * 100) == -32700
    assert refused(b"[]") == -32600
    assert refused(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]') == -32600
    assert refused(b'{"id":1,"method":"ping"}') == -32600
    assert refused(b'{"jsonrpc":"2.0","id":null,"method":"ping"}') == -32600
    assert refused(b'{"jsonrpc":"2.0","id":{},"method":"ping"}') == -32600
    assert refused(b'{"jsonrpc":"2.0","id":1}') == -32600
    assert refused(b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}') == -32600
    assert refused(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}') == -32602
    assert refused(b"x" * (13 << 20), 413) == -32000
    ping = json.dumps(mcp.message("ping"))
    assert refused(ping, 415, **{"Content-Type": "text/plain"}) == -32000
    assert refused(ping, 406, Accept="text/html") == -32000
    assert refused(ping, 403, Origin="http://evil.example.com") == -32000
    assert refused(ping, 401, Authorization="Bearer rk_wrong") == -32000
    assert refused(ping, **{"MCP-Protocol-Version": "1999-01-01"}) == -32022
    assert refused(ping, 404, **{"Mcp-Session-Id": "mcp-3-0-nobody"}) == -32000
    assert mcp.post(mcp.message("no/such"))[2]["error"]["code"] == -32601
    assert mcp.post(mcp.message("tools/call", {"name": "nothing"}))[2]["error"]["code"] == -32602
    assert mcp.post(mcp.message("tools/list", {"cursor": "x"}))[2]["error"]["code"] == -32602
    assert mcp.post(mcp.message("resources/read", {"uri": "reckon://files/x/y"}))[2]["error"]["code"] == -32002
    assert mcp.post(mcp.message("ping"), headers={"Origin": "http://localhost:3000"})[0] == 200
    # A repeated id is a new request; an answer without a question is accepted and dropped.
    for _ in range(2):
        assert mcp.post({"jsonrpc": "2.0", "id": 7, "method": "ping"})[2]["result"] == {}
    assert mcp.post({"jsonrpc": "2.0", "id": "rq_nobody", "result": {}})[0] == 202
    assert mcp.ask("ping") == {}


def test_required_members_of_a_modern_request(server):
    mcp = Mcp(server, modern=True)

    def refused(message, status=400, **headers):
        found, _, answer = mcp.post(message, headers=headers)
        assert found == status, (found, answer)
        assert answer["id"] == message["id"]
        return answer["error"]["code"]

    good = mcp.message("tools/list")
    assert refused(good, **{"Mcp-Method": "tools/call"}) == -32020
    assert refused(good, **{"MCP-Protocol-Version": LEGACY}) == -32020
    bad = mcp.message("tools/list")
    bad["params"]["_meta"][META + "protocolVersion"] = "2099-01-01"
    assert refused(bad, **{"MCP-Protocol-Version": "2099-01-01"}) == -32022
    bad = mcp.message("tools/list")
    del bad["params"]["_meta"][META + "clientCapabilities"]
    assert refused(bad) == -32602
    bad = mcp.message("tools/list")
    del bad["params"]["_meta"]
    assert refused(bad) == -32602
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"):
        assert refused(mcp.message(method), 404) == -32601
    about = mcp.ask("server/discover")
    assert MODERN in about["supportedVersions"] and about["resultType"] == "complete"
    assert about["_meta"][META + "serverInfo"]["name"] == "reckon"


def test_a_session_ends(server):
    mcp = Mcp(server)
    mcp.run("x = 1")

    def delete(**headers):
        return server.ask("DELETE", "/mcp", headers=headers, prefix="").status

    assert delete() == 405
    assert server.ask("GET", "/mcp", prefix="").status == 405
    assert delete(**{"Mcp-Session-Id": mcp.session}) == 204
    assert delete(**{"Mcp-Session-Id": mcp.session}) == 404
    assert mcp.post(mcp.message("ping"))[0] == 404
    [session] = server.ask("GET", "/sessions").json["sessions"]
    assert session["status"] == "closed" and session["name"] == mcp.session


def test_a_new_process_finds_the_default_session(server):
    """The front process stores nothing that its successor lacks."""
    import os
    import signal
    import subprocess
    mcp = Mcp(server)
    mcp.run("x = 11")
    pids = subprocess.run(["pgrep", "-P", str(server.process.pid), "-f", "reckon-front-mcp"],
                          capture_output=True, text=True, check=True).stdout.split()
    assert len(pids) == 1
    os.kill(int(pids[0]), signal.SIGKILL)
    end = time.monotonic() + SECONDS
    while True:
        try:
            assert text_of(mcp.run("x")).startswith("11")
            return
        except OSError:
            assert time.monotonic() < end
