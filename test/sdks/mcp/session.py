"""Ten calls with the official Python SDK; prints what came of them as JSON.

usage: session.py http URL KEY legacy|modern      session.py stdio legacy|modern COMMAND...
"""
import asyncio
import json
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FIGURE = ("import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt\n"
          "plt.figure(figsize=(30, 20)); plt.plot([1, 4, 9]); plt.show()")


def texts(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def use(client, era, has_figures):
    said = {}
    progress = []

    async def call(tool, progress_callback=None, **arguments):
        return await client.call_tool(tool, arguments, progress_callback=progress_callback)

    async def heard(done, total, message):
        progress.append(message)

    if era == "legacy":
        said["version"] = (await client.initialize()).protocol_version
    else:
        said["version"] = (await client.discover()).supported_versions[0]
    said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    first = await call("run_code", code="x = 20\nx + 1")
    said["first"] = texts(first)
    session = first.structured_content["session"]
    handle = {} if era == "legacy" else {"session": session}
    said["kept"] = texts(await call("run_code", code="print(x * 2)", **handle))
    said["bash"] = texts(await call("run_code", code="echo $((6*7)); pwd", language="bash", **handle))
    failed = await call("run_code", code="1/0", **handle)
    said["error"] = [failed.is_error, "ZeroDivisionError" in texts(failed)]
    late = await call("run_code", code="import time; time.sleep(30)", timeout_s=1, **handle)
    said["late"] = [late.is_error, late.structured_content["status"]]
    said["after"] = texts(await call("run_code", code="x", **handle))
    said["write"] = texts(await call("files", action="write", path="in/a.txt", text="hällo", **handle))
    said["read"] = texts(await call("files", action="read", path="in/a.txt", **handle))
    said["list"] = texts(await call("files", action="list", **handle))
    flood = await call("run_code", code="for i in range(20000): print('line', i)", max_text=2000,
                       progress_callback=heard, **handle)
    said["flood"] = [len(texts(flood)) < 4000, len(progress) > 0]
    outputs = flood.structured_content["outputs"]
    said["paged"] = texts(await call("output", handle=outputs[0], offset=0, length=20))[:14] if outputs else None
    made = await call("run_code", code="open('out.csv', 'w').write('a,b\\n1,2\\n')", **handle)
    links = [block for block in made.content if block.type == "resource_link"]
    said["link"] = [link.name for link in links]
    got = await client.read_resource(str(links[0].uri))
    said["resource"] = got.contents[0].text
    if has_figures:
        figure = await call("run_code", code=FIGURE, **handle)
        images = [block for block in figure.content if block.type == "image"]
        said["figure"] = [len(images), images[0].mime_type]
        with open("figure.png", "wb") as file:
            import base64
            file.write(base64.b64decode(images[0].data))
    crashed = await call("run_code", code="import os; os.kill(os.getpid(), 9)", **handle)
    said["crash"] = [crashed.is_error, crashed.structured_content["status"]]
    said["reborn"] = texts(await call("run_code", code="'x' in globals()", **handle))
    said["ended"] = texts(await call("session", action="end", **handle)).startswith("Ended: se_")
    missing = await call("files", action="list", session="se_nothing")
    said["missing"] = missing.is_error
    return said


async def main():
    kind, *rest = sys.argv[1:]
    if kind == "http":
        url, key, era, *more = rest
        async with (httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
                    streamable_http_client(url, http_client=http) as streams,
                    ClientSession(streams[0], streams[1]) as client):
            print(json.dumps(await use(client, era, "figures" in more)))
    else:
        era, command, *args = rest
        async with (stdio_client(StdioServerParameters(command=command, args=args)) as streams,
                    ClientSession(streams[0], streams[1]) as client):
            print(json.dumps(await use(client, era, False)))


asyncio.run(main())
