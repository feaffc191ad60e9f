"""Two of MCP's own clients at once on one session: over HTTP, and over two `reckon mcp` of one user."""
import asyncio
import json
import pathlib
import subprocess

import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from node_clients import MODULES, node
from reckon_serve import Server

CLIENT = pathlib.Path(__file__).with_name("mcp_two.mjs")
EXPECTED = {"counted": "12", "files": ["of one", "of the other"], "cancelled": "cancelled",
            "wentOn": "went on 12", "crash": [True, "kernel_died"],
            "fresh": "False ['one.txt', 'other.txt']", "alone": "42"}

pytestmark = [pytest.mark.parametrize("as_user", ["root"], indirect=True), pytest.mark.usefixtures("no_daemon_stays")]


def run_node(reckon, *args):
    done = subprocess.run([node(), str(CLIENT), args[0], str(MODULES), *args[1:]], env=reckon.env,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("version", ["v1", "v2", "v2-legacy"])
def test_typescript(reckon, version):
    with Server(reckon) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        assert run_node(reckon, version, "http", url, server.key) == EXPECTED
    assert run_node(reckon, version, "stdio", str(reckon.place.program)) == EXPECTED


async def give_up(run, one, behind):
    """A call that its client cancels once another one waits behind it."""
    begun = asyncio.Event()

    async def on_progress(*_):
        begun.set()

    task = asyncio.create_task(run(
        one, "print('begun', flush=True)\nwhile True: time.sleep(0.01)", progress_callback=on_progress))
    await begun.wait()
    waiting = asyncio.create_task(behind())
    await asyncio.sleep(0.05)
    task.cancel()
    try:
        await task
        return "ended", await waiting
    except asyncio.CancelledError:
        return "cancelled", await waiting


async def drive(first, second):
    """The same calls as mcp_two.mjs makes."""
    async with second as other:
        async with first as one:
            opened = await one.call_tool("session", {"action": "new"})
            more = {"session": opened.structured_content["session"]}

            def run(who, code, **about):
                return who.call_tool("run_code", {"code": code, **more}, **about)

            async def text(called):
                return (await called).content[0].text.strip().split("\n")

            await run(one, "import time\nx = 0")
            add = "seen = x\ntime.sleep(0.01)\nx = seen + 1"
            await asyncio.gather(*(run((one, other)[i % 2], add) for i in range(12)))
            counted = await text(run(other, "print(x)"))
            await asyncio.gather(*(who.call_tool("files", {
                "action": "write", "path": path, "text": content, **more}) for who, path, content in (
                    (one, "one.txt", "of one"), (other, "other.txt", "of the other"))))
            files = [(await text(who.call_tool("files", {"action": "read", "path": path, **more})))[0]
                     for who, path in ((other, "one.txt"), (one, "other.txt"))]
            cancelled, went_on = await give_up(run, one, lambda: text(run(other, "print('went on', x)")))
            crash = await run(one, "import os\nos.kill(os.getpid(), 9)")
            fresh = await text(run(other, "import os\nprint('x' in globals(), sorted(os.listdir()))"))
        alone = await text(run(other, "print(6 * 7)"))
        await other.call_tool("session", {"action": "end", **more})
        return {"counted": counted[0], "files": files, "cancelled": cancelled, "wentOn": went_on[0],
                "crash": [crash.is_error, crash.structured_content["status"]], "fresh": next(line for line in fresh if line.startswith("False")),
                "alone": alone[0]}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_python(reckon, mode):
    async def over_http(server):
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {server.key}"}, timeout=60) as http:
            return await drive(*(mcp.Client(streamable_http_client(
                f"http://127.0.0.1:{server.port}/mcp", http_client=http), mode=mode) for _ in range(2)))

    with Server(reckon) as server:
        assert asyncio.run(over_http(server)) == EXPECTED
    assert asyncio.run(drive(*(mcp.Client(StdioServerParameters(
        command=str(reckon.place.program), args=["mcp"], env=reckon.env), mode=mode)
        for _ in range(2)))) == EXPECTED
