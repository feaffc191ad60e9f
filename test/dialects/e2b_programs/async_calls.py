"""Each call of a sandbox, its files, commands and terminals, with E2B's asynchronous Python SDK."""
import asyncio
import inspect
import os
import urllib.request

from e2b import (AsyncSandbox, AsyncTemplate, CommandExitException, FileType, NotFoundException, PtySize, SandboxException,
                 TimeoutException)


async def wait_until(is_so):
    for _ in range(600):
        if await is_so():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not come")


async def raises(expected, call):
    try:
        raise AssertionError(await call)
    except expected as error:
        return error


async def lives(sandbox):
    info = await sandbox.get_info()
    assert (info.sandbox_id, info.template_id, info.metadata) == (sandbox.sandbox_id, "base", {"kind": "async"})
    await sandbox.set_timeout(600)
    assert (await sandbox.get_info()).end_at > info.end_at
    assert await sandbox.is_running()
    again = await AsyncSandbox.connect(sandbox.sandbox_id)
    assert again.sandbox_id == sandbox.sandbox_id
    found = await AsyncSandbox.list(limit=10).next_items()
    assert sandbox.sandbox_id in [each.sandbox_id for each in found]
    assert isinstance(await sandbox.get_metrics(), list)
    assert sandbox.get_host(3000).startswith(f"3000-{sandbox.sandbox_id}.")
    if hasattr(sandbox, "pause"):
        await sandbox.pause()
        assert not await sandbox.is_running()
        again = await AsyncSandbox.connect(sandbox.sandbox_id)
        assert await again.is_running()


async def files(sandbox):
    files = sandbox.files
    assert (await files.write("a.txt", "hello")).path == "/home/user/a.txt"
    assert await files.read("a.txt") == "hello"
    assert bytes(await files.read("a.txt", format="bytes")) == b"hello"
    assert b"".join([each async for each in await files.read("a.txt", format="stream")]) == b"hello"
    write = getattr(files, "write_files", files.write)
    many = await write([{"path": "many/a", "data": "1"}, {"path": "/tmp/many/b", "data": b"2"}])
    assert [each.path for each in many] == ["/home/user/many/a", "/tmp/many/b"]
    assert [each.path for each in await files.list("many")] == ["/home/user/many/a"]
    info = await files.get_info("a.txt")
    assert (info.type, info.size, info.permissions) == (FileType.FILE, 5, "-rw-r--r--")
    assert await files.exists("many") and not await files.exists("nope")
    assert await files.make_dir("made") is True and await files.make_dir("made") is False
    assert (await files.rename("a.txt", "made/b.txt")).path == "/home/user/made/b.txt"
    await files.remove("made")
    await raises(NotFoundException, files.read("made/b.txt"))
    if "gzip" in inspect.signature(files.write).parameters:
        await files.write("packed", "same " * 1000, gzip=True)
        assert await files.read("packed", gzip=True) == "same " * 1000
    if "metadata" in inspect.signature(files.write).parameters:
        assert (await files.write("noted", "x", metadata={"by": "ann"})).metadata == {"by": "ann"}
        assert (await files.get_info("noted")).metadata == {"by": "ann"}
    events = []
    handle = await files.watch_dir("many", on_event=lambda event: events.append(event.name))
    await files.write("many/new", "x")

    async def is_seen():
        return "new" in events

    await wait_until(is_seen)
    await handle.stop()
    await files.write("signed", "by a url")
    read = urllib.request.urlopen
    assert await asyncio.to_thread(lambda: read(sandbox.download_url("signed")).read()) == b"by a url"


async def commands(sandbox):
    commands = sandbox.commands
    done = await commands.run("echo out; echo err >&2; pwd; echo $OWN $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID",
                              envs={"OWN": "1"})
    assert done.stdout == f"out\n/home/user\n1 true {sandbox.sandbox_id} base\n" and done.stderr == "err\n", done
    assert (await raises(CommandExitException, commands.run("exit 3"))).exit_code == 3
    await raises(TimeoutException, commands.run("sleep 100", timeout=1))
    seen = []
    handle = await commands.run("while read line; do echo got $line; done", background=True, stdin=True,
                                on_stdout=seen.append)
    assert [each.pid for each in await commands.list()] == [handle.pid]
    other = await commands.connect(handle.pid)
    await commands.send_stdin(handle.pid, "first\n")

    async def is_answered():
        return "".join(seen) == "got first\n"

    await wait_until(is_answered)
    if hasattr(commands, "close_stdin"):
        await commands.close_stdin(handle.pid)
        assert (await handle.wait()).exit_code == 0 and (await other.wait()).exit_code == 0
    else:
        await handle.kill()
    handle = await commands.run("sleep 1000", background=True)
    assert await commands.kill(handle.pid) is True
    assert (await raises(CommandExitException, handle.wait())).error == "signal: killed"

    async def is_gone():
        return await commands.kill(handle.pid) is False

    await wait_until(is_gone)


async def terminals(sandbox):
    output = bytearray()
    terminal = await sandbox.pty.create(PtySize(rows=30, cols=100), on_data=output.extend)
    await sandbox.pty.send_stdin(terminal.pid, b"stty size\n")

    async def has_size():
        return b"30 100" in output

    await wait_until(has_size)
    await sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=120))
    await sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
    await terminal.wait()
    assert b"40 120" in output
    terminal = await sandbox.pty.create(PtySize(rows=30, cols=100), on_data=output.extend)
    assert await sandbox.pty.kill(terminal.pid) is True


async def others(sandbox):
    if hasattr(sandbox, "git"):
        await sandbox.git.init("repository")
        assert await sandbox.files.exists("repository/.git")
    if hasattr(AsyncTemplate, "exists"):
        assert await AsyncTemplate.exists("base") and not await AsyncTemplate.exists("no-such-template")
    if hasattr(sandbox, "update_network"):
        await sandbox.update_network({"deny_out": ["0.0.0.0/0"], "allow_internet_access": False})
        assert "no network" in str(await raises(SandboxException, sandbox.update_network({"allow_out": ["example.com"]})))
    if hasattr(sandbox, "fork"):
        (fork,) = await sandbox.fork(timeout=60)
        assert await fork.is_running() and await fork.kill()


async def main():
    sandbox = await AsyncSandbox.create(timeout=300, metadata={"kind": "async"})
    for each in (lives, files, commands, terminals, others):
        await each(sandbox)
    assert await sandbox.kill() is True and await sandbox.kill() is False
    assert not await sandbox.is_running()
    await raises(NotFoundException, AsyncSandbox.connect(sandbox.sandbox_id))


asyncio.run(main())
# Skip the exit handlers, as in watch_async.py: a cancelled stream can abort the interpreter.
os._exit(0)
