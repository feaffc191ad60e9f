"""Reckon instead of a Docker executor: reckon run --entry with flags of Docker, and the code of docs/docker.md."""
import os
import re
import subprocess
import sys

import pytest
from reckon_cli import ROOT
from reckon_serve import Server

BLOCKS = re.findall(r"## ([^\n]+)\n[^#]*?```python\n(.*?)```", (ROOT / "docs/docker.md").read_text(), re.S)
PROGRAM = """import sys, lib.helper
print(lib.helper.answer, end="")
print("careful", file=sys.stderr)
"""


@pytest.fixture
def folder(reckon):
    place = reckon.work / "program"
    (place / "lib").mkdir(parents=True)
    (place / "lib/helper.py").write_text("answer = 'süß 42'\n")
    (place / "main.py").write_text(PROGRAM)
    return place


def entry(reckon, folder, *more, code=None, arguments=(), **options):
    if code is not None:
        (folder / "main.py").write_text(code)
    return reckon("run", "--entry", "main.py", *more, str(folder), *(["--", *arguments] if arguments else []),
                  **options)


def test_a_folder_is_a_program(reckon, folder):
    done = entry(reckon, folder).expect(0)
    assert (done.out, done.err) == ("süß 42", "careful\n")
    done = entry(reckon, folder, arguments=["a b", "--flag"],
                 code="import os, sys; print(__name__, sys.argv[1:], os.listdir()); sys.exit(7)").expect(7)
    assert done.out.startswith("__main__ ['a b', '--flag'] [")


def test_the_flags_of_docker_run(reckon, folder):
    (folder / "data.txt").write_text("from outside")
    done = entry(reckon, folder, "--image", "python", "--memory", "512m", "--cpus", "0.5", "--pids", "64",
                 "--network", "none", "--timeout", "30", "--env", "A=b", "-w", "lib", "--stdin", "-",
                 "--mount", f"{folder}:/mnt/in",
                 code="import os, socket; print(os.getcwd(), os.environ['A'], input(),"
                      " open('/mnt/in/data.txt').read(), socket.socket().connect_ex(('192.0.2.1', 80)) != 0)",
                 stdin="typed\n").expect(0)
    assert done.out == "/mnt/data/lib b typed from outside True\n"


def test_the_exit_status_of_a_program(reckon, folder):
    done = entry(reckon, folder, "--timeout", "0.5",
                 code="import time; print(1, flush=True); time.sleep(60)").expect(124)
    assert done.out == "1\n" and "timed out" in done.err
    done = entry(reckon, folder, code="import os; os.kill(os.getpid(), 11)").expect(139)
    assert (done.out, done.err) == ("", "")
    done = entry(reckon, folder, "--memory", "128m", "--timeout", "30",
                 code="x = []\nwhile True: x.append(b'1' * (1 << 22))")
    assert done.status == 137 or (done.status == 1 and "MemoryError" in done.err)
    text = "x" * 3000000
    assert entry(reckon, folder, code=f"print('x' * {len(text)})").expect(0).out == text + "\n"


def test_errors_are_reported_before_anything_runs(reckon, folder):
    def wrong(*args, word):
        done = reckon("run", *args).expect(2)
        assert word in done.err and done.out == ""

    wrong("--entry", "none.py", str(folder), word="none.py")
    wrong("--entry", "../main.py", str(folder), word="below")
    wrong("--entry", "lib", str(folder), word="what runs")
    wrong("--entry", "main.py", word="folder")
    wrong("--entry", "main.py", str(folder / "main.py"), word="main.py")
    wrong("--entry", "main.py", "--json", str(folder), word="--json")
    wrong("--entry", "main.py", "-c", "1", str(folder), word="-c")
    wrong("--network", "host", "-c", "1", word="no network")
    wrong("-w", "/tmp", "-c", "1", word="--entry")
    (folder / "link.py").symlink_to(folder / "main.py")
    wrong("--entry", "link.py", str(folder), word="regular")
    done = entry(reckon, folder, code="import os; print(os.path.exists('link.py'))").expect(0)
    assert done.out == "False\n" and "left out" in done.err


@pytest.mark.parametrize("name", ["With the command", "With a daemon"])
@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_the_recipes_of_the_page_run(reckon, folder, name):
    [code] = [text for title, text in BLOCKS if title == name]
    code += f"\nimport sys\nprint([execute({str(folder)!r}, each) for each in (30, 0.5)])\n"
    with Server(reckon) as server:
        env = {**os.environ, **reckon.env, "RECKON_URL": f"http://127.0.0.1:{server.port}",
               "RECKON_API_KEY": server.key, "PATH": f"{reckon.place.program.parent}:{os.environ['PATH']}"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        assert done.stdout == repr([(0, "süß 42".encode(), b"careful\n")] * 2) + "\n"
        (folder / "main.py").write_text("import time; print('so far', flush=True); time.sleep(60)")
        code = code.replace("(30, 0.5)", "(0.5,)")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        assert done.stdout.startswith("[(124, b'so far\\n', ")
