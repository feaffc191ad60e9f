"""The first programs of other projects' pages, unchanged but for addresses and keys.

If the page comes with the package, the test reads it there; the programs below are copies from the pages.
"""
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys

import pytest
import sandbox_fusion
from one_shot import url
from reckon_cli import ROOT
from reckon_serve import SECONDS

CLIENTS = ROOT / "build/sdks/autogen/venv/bin/python"
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

# https://pypi.org/project/aiopyston, Example
PYSTON = """import asyncio
from pyston import PystonClient,File


async def main():
    client = PystonClient()
    output = await client.execute("python", [File("print('Hello world')")])
    print(output)

loop = asyncio.get_event_loop()
loop.run_until_complete(main())
"""
# https://github.com/engineer-man/piston, readme: "Interactive execution" and "Execute" have no program; this is the body
# of its example.
PISTON_BODY = """{
    "language": "js",
    "version": "*",
    "files": [
        {
            "name": "my_code.js",
            "content": "console.log(process.argv)"
        }
    ],
    "stdin": "",
    "args": [
        "1",
        "2",
        "3"
    ],
    "run_timeout": 3000,
    "compile_timeout": 10000,
    "compile_memory_limit": -1,
    "run_memory_limit": -1
}"""
# https://bytedance.github.io/SandboxFusion, Getting started
FUSION = """from sandbox_fusion import run_code, RunCodeRequest

print(run_code(RunCodeRequest(code='print("Hello, world!")', language='python')))
"""


def run(text, python=sys.executable, before=(), **env):
    done = subprocess.run([*before, python, "-c", text], capture_output=True, text=True, timeout=2 * SECONDS,
                          check=False, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


def change(text, *pairs):
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def blocks_of(package):
    return re.findall(r"```py\n(.*?)```", importlib.metadata.metadata(package).get_payload() or
                      importlib.metadata.metadata(package)["Description"], re.DOTALL)


def test_jupyter_kernel_client(server):
    """The program requires the kernel on the client's machine, so the client gets the host name of the box."""
    program = change(blocks_of("jupyter_kernel_client")[0],
                     ("http://localhost:8888", f"http://127.0.0.1:{server.port}/jupyter"),
                     ("MY_TOKEN", server.key))
    name, user = server.execute(server.create(), "import os, platform\n"
                                "print(platform.node(), os.environ.get('USER', 'John Smith'))"
                                )["text"].splitlines()[0].split(" ", 1)
    output = run(program, before=["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"', name], USER=user)
    assert f"Hey {user} from {name}." in output and "'status': 'ok'" in output


def test_autogen(server):
    show = ("import inspect\nfrom autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor\n"
            "print(inspect.getdoc(DockerJupyterCodeExecutor))")
    [program] = re.findall(r"directly:\n\n.*?code-block:: python\n\n(.*?)\n\n *Example", run(show, CLIENTS), re.DOTALL)
    # Without Docker: connect to the running server with a class of the same package.
    program = change(
        inspect.cleandoc("    " + program.strip() if program.startswith("    ") else program),
        ("async with DockerJupyterServer() as jupyter_server:", "if True:"),
        ("jupyter_server=jupyter_server", "jupyter_server=JupyterConnectionInfo(host='127.0.0.1:"
         f"{server.port}/jupyter', use_https=False, port=None, token='{server.key}')"))
    output = run("from autogen_ext.code_executors.docker_jupyter._jupyter_server import JupyterConnectionInfo\n" +
                 program, CLIENTS)
    assert "hello world!" in output and "exit_code=0" in output


def test_pyston(server):
    program = change(PYSTON, ("PystonClient()", f"PystonClient(base_url={url(server, '/piston/api/v2/')!r})"))
    assert "Hello world" in run(program)


def test_piston(server):
    answer = server.ask("POST", "/piston/api/v2/execute", PISTON_BODY, {
        "X-Api-Key": server.key, "Content-Type": "application/json"}, key=False, prefix="")
    assert answer.status == 200 and answer.json["language"] == "javascript"
    assert re.search(r"node.*my_code\.js'?,\s*'1',\s*'2',\s*'3'", answer.json["run"]["output"], re.DOTALL)
    assert answer.json["run"]["code"] == 0


def test_sandbox_fusion(server):
    assert sandbox_fusion.__all__
    output = run(FUSION, SANDBOX_FUSION_ENDPOINT=url(server, "/sandboxfusion"))
    assert "Success" in output and "Hello, world!" in output
