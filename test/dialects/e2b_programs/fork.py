"""Forks with E2B's Python SDK: files are copied; a fork that would lose processes or variables is refused."""
import asyncio

from e2b import AsyncSandbox, Sandbox, SandboxException
from e2b_code_interpreter import Sandbox as Interpreter


def refused(call, *words):
    try:
        result = call()
    except SandboxException as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(result)


sandbox = Sandbox.create(timeout=300, envs={"COLOUR": "red"}, metadata={"who": "ann"})
sandbox.files.write("notes/a.txt", "as it was")
one, two = sandbox.fork(timeout=300, count=2)
assert len({sandbox.sandbox_id, one.sandbox_id, two.sandbox_id}) == 3
one.files.write("notes/a.txt", "its own")
assert [each.files.read("notes/a.txt") for each in (sandbox, one, two)] == ["as it was", "its own", "as it was"]
assert two.commands.run("echo $COLOUR").stdout == "red\n"
assert two.get_info().metadata == {"who": "ann"} and two.get_info().template_id == "base"
(third,) = Sandbox.fork(two.sandbox_id, timeout=300)
assert third.files.read("notes/a.txt") == "as it was" and third.is_running() and sandbox.is_running()
if hasattr(Sandbox, "list_snapshots"):
    assert Sandbox.list_snapshots().next_items() == []

# A fork would lose running processes and variables, so it is refused while there are any.
handle = sandbox.commands.run("sleep 1000", background=True)
refused(sandbox.fork, "409", f"process {handle.pid}")
handle.kill()
while sandbox.commands.list():
    pass
assert sandbox.fork()[0].kill() is True
with Interpreter.create(timeout=300) as other:
    assert other.fork()[0].kill() is True
    other.run_code("x = 1")
    refused(other.fork, "409", "variables")
sandbox.pause() if hasattr(sandbox, "pause") else sandbox.beta_pause()
refused(sandbox.fork, "paused")
for each in (sandbox, one, two, third):
    each.kill()
refused(sandbox.fork)


async def asynchronous():
    async with await AsyncSandbox.create(timeout=300) as first:
        await first.files.write("a", "b")
        forks = await first.fork(timeout=300, count=2)
        for fork in forks:
            assert await fork.files.read("a") == "b"
            await fork.kill()

asyncio.run(asynchronous())
