"""Runs a published client of Jupyter and prints its results as JSON: jupyter_clients.py NAME PORT TOKEN FOLDER.

The interpreter is that of build/sdks/autogen.
"""
import asyncio
import json
import pathlib
import sys
import types

NAME, PORT, TOKEN, FOLDER = sys.argv[1:]
HOST = f"127.0.0.1:{PORT}/jupyter"
PLOT = """import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()"""


def ag2():
    from autogen.coding import CodeBlock
    from autogen.coding.jupyter import JupyterCodeExecutor, JupyterConnectionInfo
    info = JupyterConnectionInfo(host=HOST, use_https=False, port=None, token=TOKEN)
    executor = JupyterCodeExecutor(info, output_dir=FOLDER)

    def run(*codes):
        done = executor.execute_code_blocks([CodeBlock(code=code, language="python") for code in codes])
        return [done.exit_code, done.output, [pathlib.Path(each).suffix for each in done.output_files]]

    found = [run("x = 6", "print(x * 7)\nx"), run("1 / 0"), run(PLOT)]
    executor.restart()
    found.append(run("x"))
    executor.stop()
    return found


def autogen_ext():
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor
    from autogen_ext.code_executors.docker_jupyter._jupyter_server import JupyterConnectionInfo

    async def use():
        info = JupyterConnectionInfo(host=HOST, use_https=False, port=None, token=TOKEN)
        found = []
        async with DockerJupyterCodeExecutor(info, output_dir=pathlib.Path(FOLDER)) as executor:
            for codes in (("x = 6", "print(x * 7)\nx"), ("1 / 0",), (PLOT,)):
                done = await executor.execute_code_blocks(
                    [CodeBlock(code=code, language="python") for code in codes], CancellationToken())
                found.append([done.exit_code, done.output, [each.suffix for each in done.output_files]])
        return found

    return asyncio.run(use())


def autogen_local():
    """A client that starts a kernelspec, whose name is TOKEN."""
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from autogen_ext.code_executors.jupyter import JupyterCodeExecutor

    async def use():
        found = []
        async with JupyterCodeExecutor(kernel_name=TOKEN, output_dir=pathlib.Path(FOLDER)) as executor:
            for codes in (("x = 6", "print(x * 7)\nx"), ("1 / 0",), (PLOT,)):
                done = await executor.execute_code_blocks(
                    [CodeBlock(code=code, language="python") for code in codes], CancellationToken())
                found.append([done.exit_code, done.output, [each.suffix for each in done.output_files]])
        return found

    return asyncio.run(use())


def open_webui():
    """Two modules of it are stubs: one setting, and JSON."""
    env, codec = types.ModuleType("open_webui.env"), types.ModuleType("open_webui.utils.json_codec")
    env.AIOHTTP_CLIENT_ALLOW_REDIRECTS = False
    codec.JSONCodec = json
    sys.modules |= {"open_webui.env": env, "open_webui.utils.json_codec": codec}
    sys.path.insert(0, str(pathlib.Path(sys.prefix).parent / "pieces"))
    from open_webui.utils.code_interpreter import execute_code_jupyter

    async def use():
        found = []
        for code, token, password in (
                ("import sys\nx = 1; print('süß'); print('e', file=sys.stderr)\nx + 41", TOKEN, ""),
                ("1 / 0", TOKEN, ""), (PLOT, TOKEN, ""), ("x", TOKEN, ""), ("1", "rk_wrong", ""),
                ("6 * 7", "", TOKEN), ("1", "", "rk_wrong")):
            found.append(await execute_code_jupyter(f"http://{HOST}", code, token, password, timeout=60))
        return found

    return asyncio.run(use())


print(json.dumps(globals()[NAME]()))
