"""Variables of code survive a pause, with E2B's synchronous and asynchronous Python SDKs."""
import asyncio

from e2b_code_interpreter import AsyncSandbox, Sandbox

sandbox = Sandbox.create(timeout=300)
sandbox.run_code("x = 41")
context = sandbox.create_code_context(language="bash")
sandbox.run_code("y=of-bash", context=context)
sandbox.pause()
again = Sandbox.connect(sandbox.sandbox_id)
assert again.run_code("x + 1").text == "42"
assert "".join(again.run_code("echo $y", context=context).logs.stdout) == "of-bash\n"
assert again.kill()


async def main():
    sandbox = await AsyncSandbox.create(timeout=300)
    await sandbox.run_code("x = 1")
    slow = asyncio.create_task(sandbox.run_code("import time; time.sleep(1); x = 2; x"))
    await asyncio.sleep(0.3)
    await sandbox.pause()  # waits until the cell has ended
    assert (await slow).text == "2"
    assert not await sandbox.is_running()
    again = await AsyncSandbox.connect(sandbox.sandbox_id)
    assert (await again.run_code("x")).text == "2"
    await again.kill()


asyncio.run(main())
