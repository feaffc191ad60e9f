"""MCP's own clients drive every tool: the Python SDK and the TypeScript SDKs."""
import asyncio
import base64
import json
import pathlib
import re
import subprocess

import httpx2
import mcp
import private_daemon
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from node_clients import MODULES, node
from png_pixels import rows
from reckon_serve import Server

CLIENT = pathlib.Path(__file__).with_name("mcp_client.mjs")
TOOLS = ["run_code", "files", "output", "session"]
EXPECTED = {"tools": TOOLS, "counted": "10", "isError": True, "resource": "hello", "listed": True,
            "page": "0\n1\n2", "figure": ("red", "blue"), "file": "a,b\n1,2\n", "late": [True, "timeout"],
            "cancelled": "cancelled", "kept": "10", "flood": [False, True, True],
            "crash": [True, "kernel_died"], "after": True}
FIGURE = re.search(r"FIGURE = `(.*?)`", CLIENT.read_text(), re.DOTALL)[1]

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def look(encoded):
    """What an image shows on its left and on its right side."""
    names = {(255, 0, 0): "red", (0, 0, 255): "blue"}
    found = list(rows(base64.b64decode(encoded)))
    middle = found[len(found) // 2]
    return tuple(names.get(middle[len(middle) * part // 4]) for part in (1, 3))


async def cancel(run):
    """A call that its client cancels after the first progress."""
    begun = asyncio.Event()

    async def on_progress(*_):
        begun.set()

    async def call():
        await run("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)",
                  progress_callback=on_progress)

    task = asyncio.create_task(call())
    await begun.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return "cancelled"
    return "ended"


async def drive(client):
    """The same calls as mcp_client.mjs makes."""
    async with client:
        more = {}

        async def run(code, args=None, **about):
            return await client.call_tool("run_code", {"code": code, **more, **(args or {})}, **about)

        def text(result):
            return result.content[0].text

        names = [tool.name for tool in (await client.list_tools()).tools]
        more["session"] = (await run("x = 0")).structured_content["session"]
        for _ in range(10):
            await run("x += 1")
        counted = text(await run("print(x)")).split("\n")[0]
        wrong = await run("1 / 0")
        await client.call_tool("files", {"action": "write", "path": "a.txt", "text": "hello", **more})
        resources = (await client.list_resources()).resources
        contents = (await client.read_resource(str(resources[0].uri))).contents
        listed = await client.call_tool("session", {"action": "list"})
        cut = await run("for i in range(9000): print(i)", {"max_text": 1024})
        page = await client.call_tool("output", {
            "handle": cut.structured_content["outputs"][0], "length": 1024})
        drawn = await run(FIGURE)
        wrote = await run("open('out.csv', 'w').write('a,b\\n1,2\\n')")
        [link] = [block for block in wrote.content if block.type == "resource_link"]
        file = (await client.read_resource(str(link.uri))).contents[0].text
        late = await run("while True: pass", {"timeout_s": 0.5})
        cancelled = await cancel(run)
        counted_again = text(await run("print(x)")).split("\n")[0]
        flood = await run("line = 'y' * 65535\nfor _ in range(1600): print(line)")
        crash = await run("import os\nos.kill(os.getpid(), 9)")
        after = text(await run("print('x' in globals())")).split("\n")
        return {"tools": names, "counted": counted, "isError": wrong.is_error,
                "resource": contents[0].text, "listed": more["session"] in text(listed),
                "page": text(page)[:5],
                "figure": look(next(each.data for each in drawn.content if each.type == "image")),
                "file": file, "late": [late.is_error, late.structured_content["status"]],
                "cancelled": cancelled, "kept": counted_again,
                "flood": [flood.is_error, len(text(flood)) < 20000,
                          len(flood.structured_content["outputs"]) > 0],
                "crash": [crash.is_error, crash.structured_content["status"]],
                "after": "False" in after}


def over_http(server, mode):
    async def main():
        headers = {"Authorization": f"Bearer {server.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
            return await drive(mcp.Client(transport, mode=mode))

    return main()


def over_stdio(reckon, mode):
    return drive(mcp.Client(StdioServerParameters(command=str(reckon.place.program), args=["mcp"],
                                                  env=reckon.env), mode=mode))


async def at_once(*clients):
    return await asyncio.gather(*clients)


def test_python_over_http(reckon):
    """Two clients at once, one of each era."""
    with Server(reckon) as server:
        assert asyncio.run(at_once(over_http(server, "auto"), over_http(server, "legacy"))) == [EXPECTED] * 2


def test_python_over_stdio(reckon):
    try:
        assert asyncio.run(at_once(over_stdio(reckon, "auto"), over_stdio(reckon, "legacy"))) == [EXPECTED] * 2
    finally:
        private_daemon.end(reckon)


def run_node(reckon, *args):
    done = subprocess.run([node(), str(CLIENT), args[0], str(MODULES), *args[1:]], env=reckon.env,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    came = json.loads(done.stdout)
    return {**came, "figure": look(came["figure"])}


@pytest.mark.parametrize("version", ["v1", "v2", "v2-legacy"])
def test_typescript(reckon, version):
    with Server(reckon) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        assert run_node(reckon, version, "http", url, server.key) == EXPECTED
    try:
        assert run_node(reckon, version, "stdio", str(reckon.place.program)) == EXPECTED
    finally:
        private_daemon.end(reckon)
