"""A Reckon session as a kernel on this machine: jupyter_client, nbclient, papermill, jupyter_kernel_test."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import jupyter_client
import jupyter_client.connect
import jupyter_client.kernelspec
import nbclient
import nbformat
import pytest
import zmq
from leftovers import PATIENCE
from reckon_cli import ROOT

SECONDS = 60 * PATIENCE
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture
def jupyter(reckon, monkeypatch):
    """Jupyter's folders with Reckon's kernels; Jupyter and `reckon` use the state and warden of this test."""
    for name, value in {**reckon.env, "JUPYTER_DATA_DIR": str(reckon.work / "jupyter"),
                        "JUPYTER_RUNTIME_DIR": str(reckon.work / "runtime"),
                        "JUPYTER_CONFIG_DIR": str(reckon.work / "config")}.items():
        monkeypatch.setenv(name, value)
    reckon.env["JUPYTER_DATA_DIR"] = os.environ["JUPYTER_DATA_DIR"]
    for language in ("python", "bash"):
        done = reckon("jupyter", "install", "-l", language, "-t", "python").expect(0)
        assert done.out.endswith(f"jupyter/kernels/reckon-{language}/kernel.json\n")
    return reckon


@contextlib.contextmanager
def kernel(name="reckon-python", **options):
    manager = jupyter_client.KernelManager(kernel_name=name)
    manager.start_kernel(**options)
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_late_subscriber_gets_the_idle_status(jupyter):
    """The two sockets connect independently; the console waited forever for an "idle" that it had missed."""
    manager = jupyter_client.KernelManager(kernel_name="reckon-python")
    manager.start_kernel()
    client = manager.client()
    others = dict.fromkeys(("stdin", "hb", "control"), False)
    try:
        client.start_channels(shell=True, iopub=False, **others)
        request_id = client.kernel_info()
        time.sleep(0.3)
        client.start_channels(shell=False, iopub=True, **others)
        while True:
            message = client.get_iopub_msg(timeout=SECONDS)
            if (message["parent_header"].get("msg_id"), message["content"].get("execution_state")) == (
                    request_id, "idle"):
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client, code, **options):
    """(reply, [(type, content) of what was published])"""
    seen = []
    reply = client.execute_interactive(
        code, timeout=SECONDS, output_hook=lambda message: seen.append(
            (message["msg_type"], message["content"])), **options)
    assert [seen[0], seen[-1]] == [("status", {"execution_state": state})
                                   for state in ("busy", "idle")]
    return reply["content"], seen[1:-1]


def test_the_suite_of_jupyter(jupyter):
    done = subprocess.run([sys.executable, "-m", "unittest", "jupyter_conformance"],
                          cwd=ROOT / "test/support", capture_output=True, text=True,
                          timeout=170 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\nOK", done.stderr)


def test_cells(jupyter):
    with kernel() as (_, client):
        assert run(client, "x = 6")[0]["status"] == "ok"
        reply, seen = run(client, "print('a'); x * 7")
        assert reply["execution_count"] == 2
        assert [kind for kind, _ in seen] == ["execute_input", "stream", "execute_result"]
        assert seen[2][1]["data"] == {"text/plain": "42"}
        reply, seen = run(client, "1 / 0")
        assert reply["ename"] == "ZeroDivisionError" and seen[-1][0] == "error"
        assert seen[-1][1]["traceback"] == reply["traceback"]
        # A silent cell publishes nothing and does not count.
        reply, seen = run(client, "x = 7; x", silent=True)
        assert (reply["execution_count"], seen) == (3, [])
        reply, _ = run(client, "", user_expressions={"a": "x + 1", "b": "nothing"})
        assert reply["user_expressions"]["a"]["data"]["text/plain"] == "8"
        assert reply["user_expressions"]["b"]["ename"] == "NameError"
        reply, _ = run(client, "", user_expressions={f"e{i}": f"x + {i}" for i in range(17)})
        assert reply["user_expressions"]["e15"]["data"]["text/plain"] == "22"
        assert reply["user_expressions"]["e16"]["ename"] == "TooManyExpressions"
        # An update of a display.
        _, seen = run(client, "from IPython.display import display\n"
                              "h = display(1, display_id=True); h.update(2)")
        assert [kind for kind, _ in seen[1:]] == ["display_data", "update_display_data"]
        assert len({each["transient"]["display_id"] for _, each in seen[1:]}) == 1


def test_input(jupyter):
    with kernel() as (_, client):
        prompts = []

        def answer(message):
            prompts.append(message["content"])
            client.input("süß")

        _, seen = run(client, "import getpass; input('? '), getpass.getpass('! ')",
                      stdin_hook=answer, allow_stdin=True)
        assert prompts == [{"prompt": "? ", "password": False}, {"prompt": "! ", "password": True}]
        assert seen[-1][1]["data"]["text/plain"] == "('süß', 'süß')"
        assert run(client, "input()", allow_stdin=False)[0]["status"] == "error"


def test_interrupt_restart_and_end(jupyter):
    with kernel() as (manager, client):
        def started():
            while True:
                message = client.get_iopub_msg(timeout=SECONDS)
                if message["msg_type"] == "stream":
                    return

        run(client, "x = 1")
        sleeping = "print(1, flush=True)\nimport time; time.sleep(600)"
        client.execute(sleeping)
        later = client.execute("x")
        started()
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=SECONDS)["content"]
        assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
        while (message := client.get_iopub_msg(timeout=SECONDS))["msg_type"] != "error":
            pass
        assert message["content"]["ename"] == "KeyboardInterrupt"
        # The cell that waited was not run.
        reply = client.get_shell_msg(timeout=SECONDS)
        assert reply["parent_header"]["msg_id"] == later
        assert reply["content"]["status"] == "aborted"
        assert run(client, "x")[0]["status"] == "ok"
        # An interrupt also ends the wait for a line.
        client.execute("input()", allow_stdin=True)
        assert client.get_stdin_msg(timeout=SECONDS)["msg_type"] == "input_request"
        manager.interrupt_kernel()
        assert client.get_shell_msg(timeout=SECONDS)["content"]["ename"] == "KeyboardInterrupt"
        manager.restart_kernel()
        client.wait_for_ready(timeout=SECONDS)
        assert run(client, "x")[0]["ename"] == "NameError"
        # A running cell does not prevent the shutdown.
        client.execute(sleeping)
        started()
        manager.shutdown_kernel()
        assert not manager.is_alive()


def test_a_cell_sent_after_an_error_reply_runs(jupyter):
    with kernel() as (_, client):
        for number in range(40):
            for _ in range(2):
                client.execute("1 / 0")
            assert client.get_shell_msg(timeout=SECONDS)["content"]["status"] == "error"
            client.get_shell_msg(timeout=SECONDS)  # of the second cell: aborted, or run if it arrived late
            client.execute(str(number))
            assert client.get_shell_msg(timeout=SECONDS)["content"]["status"] == "ok", number


def test_completion_inspection_and_kernel_info(jupyter):
    with kernel() as (_, client):
        run(client, "äöü = 1; number_of_things = 2")
        found = client.complete("äöü + numb", reply=True, timeout=SECONDS)["content"]
        assert (found["cursor_start"], found["cursor_end"]) == (6, 10)
        assert "number_of_things" in found["matches"]
        found = client.inspect("len", reply=True, timeout=SECONDS)["content"]
        assert found["found"] and "text/plain" in found["data"]
        assert client.comm_info(reply=True, timeout=SECONDS)["content"]["comms"] == {}
        info = client.kernel_info(reply=True, timeout=SECONDS)["content"]
        assert info["language_info"]["name"] == "python"
        assert info["language_info"]["version"].startswith("3.")
        assert info["language_info"]["codemirror_mode"] == {"name": "ipython", "version": 3}
        assert info["language_info"]["pygments_lexer"] == "ipython3"
        # The target does not exist, so the kernel closes the comm.
        client.shell_channel.send(client.session.msg("comm_open", {
            "comm_id": "c", "target_name": "jupyter.widget", "data": {}}))
        kinds = []
        while "comm_close" not in kinds:
            kinds.append(client.get_iopub_msg(timeout=SECONDS)["msg_type"])
        assert "stream" in kinds


def test_a_kernel_that_dies_is_reported(jupyter):
    with kernel() as (_, client):
        run(client, "x = 1")
        reply, seen = run(client, "import os; os._exit(3)")
        assert reply["status"] == "error" and seen[-1][0] == "error"
        assert run(client, "x")[0]["ename"] == "NameError"


def test_nbclient_and_papermill(jupyter):
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell("number = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("print(number * 2)"),
        nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
        nbformat.v4.new_code_cell("number"),
    ], metadata={"kernelspec": {"name": "reckon-python", "display_name": "x", "language": "python"}})
    nbclient.NotebookClient(notebook, timeout=SECONDS).execute()
    nbformat.validate(notebook)
    outputs = [cell.outputs for cell in notebook.cells]
    assert outputs[1][0].text == "2\n" and outputs[2][0].ename == "ZeroDivisionError"
    assert outputs[3][0].data["text/plain"] == "1"
    del notebook.cells[2]
    path = jupyter.work / "in.ipynb"
    nbformat.write(notebook, path)
    done = subprocess.run([sys.executable, "-m", "papermill", "--no-progress-bar", "-p", "number",
                           "21", str(path), str(jupyter.work / "out.ipynb")],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    made = nbformat.read(jupyter.work / "out.ipynb", 4)
    assert [cell.outputs[0].text for cell in made.cells if cell.source.startswith("print")] == ["42\n"]


def test_autogen(jupyter, tmp_path):
    """AutoGen's executor for local kernels, in a virtual environment of its own."""
    jupyter("jupyter", "install", "-t", "data", "--name", "reckon-data").expect(0)
    with open(jupyter.work / "said", "w+") as out:  # not a pipe, which processes of the kernel could hold open
        done = subprocess.run(
            [ROOT / "build/sdks/autogen/venv/bin/python", ROOT / "test/support/jupyter_clients.py",
             "autogen_local", "-", "reckon-data", tmp_path], stdout=out, stderr=subprocess.STDOUT,
            timeout=2 * SECONDS, check=False)
        out.seek(0)
        printed = out.read()
    assert done.returncode == 0, printed
    good, bad, plot = json.loads(printed.splitlines()[-1])
    assert (good[0], good[1].split()) == (0, ["42", "6"])
    assert bad[0] != 0 and "ZeroDivisionError" in bad[1]
    assert (plot[0], plot[2]) == (0, [".png"])


def test_a_folder_of_this_machine(jupyter):
    jupyter("jupyter", "install", "--name", "here", "--display-name", "Here", "-t", "python",
            "-m", ".:/mnt/work:rw", "--memory", "512M").expect(0)
    spec = json.loads((jupyter.work / "jupyter/kernels/here/kernel.json").read_text())
    assert spec["display_name"] == "Here" and "--mount=.:/mnt/work:rw" in spec["argv"]
    jupyter.file("data.csv", "a,b\n")
    with kernel("here", cwd=str(jupyter.cwd)) as (_, client):
        _, seen = run(client, "print(open('/mnt/work/data.csv').read(), end='')")
        assert seen[-1][1]["text"] == "a,b\n"
    assert "here" in jupyter_client.kernelspec.KernelSpecManager().find_kernel_specs()
    jupyter("jupyter", "uninstall", "here").expect(0)
    assert not (jupyter.work / "jupyter/kernels/here").exists()


def test_messages_that_are_not_signed(jupyter):
    """Messages without a valid signature are dropped, and the client with the key continues."""
    with kernel() as (manager, client):
        run(client, "x = 1")
        info = manager.get_connection_info()
        socket = zmq.Context.instance().socket(zmq.DEALER)
        socket.linger = 0
        try:
            socket.connect(f"tcp://{info['ip']}:{info['shell_port']}")
            header = json.dumps({"msg_id": "1", "msg_type": "execute_request"}).encode()
            content = json.dumps({"code": "x = 2"}).encode()
            for parts in ([b"<IDS|MSG>", b"", header, b"{}", b"{}", content],
                          [b"<IDS|MSG>", b"0" * 64, header, b"{}", b"{}", content],
                          [b"<IDS|MSG>", b"0" * 64, header], [b"x"] * 100, [b""]):
                socket.send_multipart(parts)
            # A signed message that is sent twice runs once.
            message = client.session.msg("execute_request", {
                "code": "x += 10", "silent": False, "store_history": True, "user_expressions": {},
                "allow_stdin": False, "stop_on_error": True})
            signed = client.session.serialize(message)
            for _ in range(2):
                socket.send_multipart(signed)
            assert socket.poll(SECONDS * 1000)
            socket.recv_multipart()
            _, seen = run(client, "x")
            assert seen[-1][1]["data"]["text/plain"] == "11"
            assert not socket.poll(100)
        finally:
            socket.close()


def test_a_kernel_ends_with_the_process_that_started_it(jupyter):
    path = jupyter.work / "other.json"
    jupyter_client.connect.write_connection_file(str(path), key=b"k")
    starter = subprocess.Popen(["sh", "-c", '"$0" jupyter kernel -t python -f "$1" & echo $!; read x',
                                str(jupyter.place.program), str(path)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    pid = int(starter.stdout.readline())
    client = jupyter_client.BlockingKernelClient(connection_file=str(path))
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=SECONDS)
    starter.kill()
    starter.wait()
    starter.stdin.close()
    starter.stdout.close()
    end = time.monotonic() + SECONDS
    while pathlib.Path(f"/proc/{pid}").exists() and "Z" != pathlib.Path(
            f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]:
        assert time.monotonic() < end
        time.sleep(0.05)
    client.stop_channels()


@pytest.mark.parametrize("text, why", [
    ("", "JSON"), ("{}", "shell_port is not a port"), ('{"shell_port": 99999}', "shell_port"),
    (json.dumps({f"{name}_port": 1 for name in ("shell", "iopub", "stdin", "control", "hb")}),
     "transport"),
    (json.dumps({**{f"{name}_port": 1 for name in ("shell", "iopub", "stdin", "control", "hb")},
                 "transport": "tcp", "ip": "127.0.0.1", "key": "", "signature_scheme": "md5"}),
     "hmac-sha256")])
def test_bad_connection_files(jupyter, text, why):
    path = jupyter.file("connection.json", text)
    done = jupyter("jupyter", "kernel", "-f", path).expect(2)
    assert why in done.err or why == "JSON"


def test_bad_command_lines(jupyter):
    for words, why in ((["kernel"], "-f is missing"), (["kernel", "x"], "unexpected argument"),
                       (["install", "--name", "a/b"], "invalid kernel name"),
                       (["install", "--memory", "many"], "--memory"), (["uninstall"], "missing"),
                       (["install", "x"], "unexpected argument"), (["nothing"], "nothing")):
        assert why in jupyter("jupyter", *words).expect(2).err
    assert jupyter("jupyter", "uninstall", "nothing").status != 0
