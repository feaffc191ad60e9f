"""MCP's own clients drive every tool: the Python SDK, the TypeScript SDKs, the inspector's command."""
import asyncio
import json
import pathlib
import subprocess

import httpx2
import mcp
import private_daemon
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from node_clients import MODULES, node
from reckon_serve import Server

CLIENT = pathlib.Path(__file__).with_name("mcp_client.mjs")
TOOLS = ["run_code", "files", "output", "session"]
EXPECTED = {"tools": TOOLS, "text": "42", "isError": True, "resource": "hello", "listed": True,
            "page": "0\n1\n2"}

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


async def drive(client):
    """The same calls as mcp_client.mjs makes."""
    async with client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        first = await client.call_tool("run_code", {"code": "x = 6"})
        more = {"session": first.structured_content["session"]}
        again = await client.call_tool("run_code", {"code": "print(x * 7)", **more})
        wrong = await client.call_tool("run_code", {"code": "1 / 0", **more})
        await client.call_tool("files", {"action": "write", "path": "a.txt", "text": "hello", **more})
        resources = (await client.list_resources()).resources
        contents = (await client.read_resource(str(resources[0].uri))).contents
        listed = await client.call_tool("session", {"action": "list"})
        cut = await client.call_tool("run_code", {
            "code": "for i in range(9000): print(i)", "max_text": 1024, **more})
        page = await client.call_tool("output", {
            "handle": cut.structured_content["outputs"][0], "length": 1024})
        return {"tools": names, "text": again.content[0].text.split("\n")[0],
                "isError": wrong.is_error, "resource": contents[0].text,
                "listed": more["session"] in listed.content[0].text,
                "page": page.content[0].text[:5]}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_python_over_http(reckon, mode):
    async def main(server):
        headers = {"Authorization": f"Bearer {server.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
            return await drive(mcp.Client(transport, mode=mode))

    with Server(reckon) as server:
        assert asyncio.run(main(server)) == EXPECTED


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_python_over_stdio(reckon, mode):
    parameters = StdioServerParameters(command=str(reckon.place.program), args=["mcp"], env=reckon.env)
    try:
        assert asyncio.run(drive(mcp.Client(parameters, mode=mode))) == EXPECTED
    finally:
        private_daemon.end(reckon)


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
    try:
        assert run_node(reckon, version, "stdio", str(reckon.place.program)) == EXPECTED
    finally:
        private_daemon.end(reckon)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector(reckon, era):
    inspector = MODULES / ".bin/mcp-inspector"
    with Server(reckon) as server:
        done = subprocess.run(
            [node(), str(inspector.resolve()), "--cli", f"http://127.0.0.1:{server.port}/mcp",
             "--transport", "http", "--header", f"Authorization: Bearer {server.key}",
             "--protocol-era", era, "--method", "tools/call", "--tool-name", "run_code",
             "--tool-args-json", json.dumps({"code": "6 * 7"})],
            env={**reckon.env, "MCP_CATALOG_PATH": str(reckon.work / "catalog.json")},
            capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and '"text": "42' in done.stdout, done
