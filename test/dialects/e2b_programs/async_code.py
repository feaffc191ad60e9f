"""Each call of the interpreter, with E2B's asynchronous Python SDK."""
import asyncio

from e2b_code_interpreter import AsyncSandbox, NotFoundException, TimeoutException


async def raises(expected, call):
    try:
        raise AssertionError(await call)
    except expected as error:
        return error


async def contexts(sandbox):
    context = await sandbox.create_code_context(language="python", cwd="/tmp")
    assert (context.language, context.cwd) == ("python", "/tmp")
    await sandbox.run_code("y = 5", context=context)
    assert (await sandbox.run_code("y", context=context)).text == "5"
    assert (await sandbox.run_code("y")).error.name == "NameError"
    assert context.id in [each.id for each in await sandbox.list_code_contexts()]
    await sandbox.restart_code_context(context)
    assert (await sandbox.run_code("y", context=context)).error.name == "NameError"
    await sandbox.remove_code_context(context)
    await raises(NotFoundException, sandbox.run_code("1", context=context))


async def code(sandbox):
    out, err, results = [], [], []

    async def take(message):  # a callback may be a coroutine
        out.append(message.line)

    done = await sandbox.run_code("print('hello'); import sys; print('no', file=sys.stderr); 'x'", on_stdout=take,
                                  on_stderr=lambda message: err.append(message.line), on_result=results.append)
    assert (out, err, done.text, len(results)) == (["hello\n"], ["no\n"], "x", 1)
    assert done.execution_count == 1
    errors = []
    failed = await sandbox.run_code("1/0", on_error=errors.append)
    assert failed.error.name == "ZeroDivisionError" and len(errors) == 1
    ask = "import os; [os.environ.get(n) for n in ('OWN', 'E2B_SANDBOX', 'E2B_SANDBOX_ID', 'E2B_TEMPLATE_ID')]"
    told = (await sandbox.run_code(ask, envs={"OWN": "1"})).text
    assert told == str(["1", "true", sandbox.sandbox_id, "code-interpreter-v1"]), told
    shown = await sandbox.run_code("echo $E2B_SANDBOX $E2B_SANDBOX_ID", language="bash")
    assert "".join(shown.logs.stdout) == f"true {sandbox.sandbox_id}\n"
    # Concurrent cells run one after the other; a cell whose client stops waiting is interrupted.
    both = await asyncio.gather(*(sandbox.run_code(f"import time; time.sleep(0.3); {n}") for n in (1, 2)))
    assert [each.text for each in both] == ["1", "2"]
    await raises(TimeoutException, sandbox.run_code("import time; time.sleep(300)", timeout=1))
    assert (await sandbox.run_code("6 * 7")).text == "42"
    await sandbox.files.write("seen", "by both")
    assert (await sandbox.run_code("open('seen').read()")).text == "by both"


async def main():
    sandbox = await AsyncSandbox.create(timeout=300)
    await code(sandbox)
    await contexts(sandbox)
    waits = asyncio.create_task(sandbox.run_code("import time; time.sleep(300)"))
    await asyncio.sleep(1)
    assert await sandbox.kill()
    await raises(TimeoutException, waits)


asyncio.run(main())
