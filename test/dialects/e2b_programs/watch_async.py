"""Watching changes of files with E2B's asynchronous Python SDK."""
import asyncio
import os

from e2b import AsyncSandbox, NotFoundException
from e2b.sandbox.filesystem.watch_handle import FilesystemEventType as Type


async def wait_until(is_so):
    for _ in range(600):
        if is_so():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not come")


async def main():
    sandbox = await AsyncSandbox.create(timeout=300)
    await sandbox.files.make_dir("watched/deep")
    found, ends = [], []
    handle = await sandbox.files.watch_dir("watched", on_event=lambda event: found.append((event.type, event.name)),
                                           on_exit=ends.append, recursive=True)
    await sandbox.files.write("watched/deep/file", "x")
    await wait_until(lambda: (Type.CREATE, "deep/file") in found)
    await sandbox.commands.run("cd watched/deep && echo y >> file && mv file moved && rm moved")
    for wanted in ((Type.WRITE, "deep/file"), (Type.RENAME, "deep/file"), (Type.CREATE, "deep/moved"),
                   (Type.REMOVE, "deep/moved")):
        await wait_until(lambda: wanted in found)
    await handle.stop()
    try:
        raise AssertionError(await sandbox.files.watch_dir("nope", on_event=print))
    except NotFoundException:
        pass
    await sandbox.kill()


asyncio.run(main())
# The SDK's HTTP client (native code) sometimes aborts without a message while the interpreter exits,
# if a stream was cancelled.
os._exit(0)
