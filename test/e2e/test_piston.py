"""Piston's API, version 2: what its clients send, and one of them from PyPI."""
import asyncio
import base64
import contextlib
import json
import struct

import pyston
import pytest
import websocket
from one_shot import ask, check_client_gone, check_nothing_stays, oversized, post, url
from reckon_serve import SECONDS

API = "/piston/api/v2"
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
STAGE = {"stdout", "stderr", "output", "code", "signal", "message", "status", "cpu_time",
         "wall_time", "memory"}


def execute(server, language, *files, version="*", **more):
    files = [{"content": each} if isinstance(each, str) else each for each in files]
    answer = post(server, API + "/execute",
                  {"language": language, "version": version, "files": files, **more})
    assert answer.status == 200, answer
    assert set(answer.json) <= {"language", "version", "run", "compile"}
    assert set(answer.json["run"]) == STAGE
    return answer.json


def test_python(server):
    done = execute(server, "python", "import sys; print(input(), sys.argv[1:])", stdin="hi\n",
                   args=["a b", "c'd", "$x"], version="3.x")
    assert done["run"]["stdout"] == """hi ['a b', "c'd", '$x']\n"""
    assert done["run"]["code"] == 0 and done["run"]["signal"] is None
    assert done["run"]["status"] is None
    assert done["language"] == "python" and done["version"].startswith("3.")
    assert "compile" not in done
    check_nothing_stays(server)


def test_all_documented_parameters_at_once(server):
    done = execute(server, "js", {"name": "my_code.js", "content": "console.log(process.argv.slice(2))"},
                   stdin="", args=["1", "2", "3"], compile_timeout=10000, run_timeout=3000,
                   compile_cpu_time=10000, run_cpu_time=3000, compile_memory_limit=-1,
                   run_memory_limit=-1)
    assert done["language"] == "javascript" and done["run"]["output"] == "[ '1', '2', '3' ]\n"


def test_files_of_each_encoding(server):
    code = "import sub.b; print(sub.b.x, open('raw', 'rb').read(), open('hex', 'rb').read())"
    done = execute(server, "py", {"name": "raw", "content": base64.b64encode(b"\0\xff").decode(),
                                  "encoding": "base64"},
                   {"name": "it's main.py", "content": code},
                   {"name": "hex", "content": "00ff", "encoding": "hex"},
                   {"name": "sub/b.py", "content": "x = 7"})
    assert done["run"]["stdout"] == r"7 b'\x00\xff' b'\x00\xff'" + "\n", done


def test_a_compiled_language(server):
    done = execute(server, "c++", "#include <iostream>\nint main() { std::cout << 42; return 3; }")
    assert done["compile"]["code"] == 0
    assert (done["run"]["stdout"], done["run"]["code"], done["run"]["status"]) == ("42", 3, "RE")
    done = execute(server, "c", "int main( {")
    assert done["compile"]["code"] == 1 and "error" in done["compile"]["stderr"]
    assert done["run"] == done["compile"]  # as Piston answers


def test_exit_codes_signals_and_limits(server):
    done = execute(server, "python", "import time; print(1, flush=True); time.sleep(60)",
                   run_timeout=300)["run"]
    assert (done["signal"], done["status"], done["code"]) == ("SIGKILL", "TO", None)
    assert done["stdout"] == "1\n"
    done = execute(server, "python", "import os; os.kill(os.getpid(), 11)")["run"]
    assert (done["signal"], done["status"], done["code"]) == ("SIGSEGV", "SG", None)
    assert done["stderr"] == ""
    # The exit status that a shell uses for a signal, but no signal.
    done = execute(server, "python", "raise SystemExit(139)")["run"]
    assert (done["signal"], done["status"], done["code"]) == (None, "RE", 139)
    done = execute(server, "python", "while True: pass", run_timeout=60000, run_cpu_time=200)["run"]
    assert (done["signal"], done["status"], done["message"]) == ("SIGKILL", "TO",
                                                                 "Time limit exceeded")
    done = execute(server, "python", "while True: print('x' * 1000)", run_timeout=60000)["run"]
    assert (done["signal"], done["status"]) == ("SIGKILL", "OL")
    assert len(done["stdout"]) == 16 << 20 and done["message"] == "stdout length exceeded"
    done = execute(server, "bash", "yes >&2", run_timeout=60000)["run"]
    assert (done["signal"], done["status"]) == ("SIGKILL", "EL")
    assert len(done["stderr"]) == 16 << 20 and done["message"] == "stderr length exceeded"
    done = execute(server, "bash", "echo 1; sleep 0.3; echo 2 >&2; sleep 0.3; echo 3")["run"]
    assert (done["stdout"], done["stderr"], done["output"]) == ("1\n3\n", "2\n", "1\n2\n3\n")
    done = execute(server, "python", "x = bytearray(1 << 30)", run_memory_limit=256 << 20,
                   run_timeout=20000)["run"]
    assert "MemoryError" in done["stderr"] or \
        (done["signal"], done["status"], done["message"]) == ("SIGKILL", "SG", "Memory limit exceeded")
    check_nothing_stays(server, 8)


def test_a_long_input(server):
    text = "x" * 79 + "\n"
    count = "import sys; print(sum(len(line) for line in sys.stdin))"
    done = execute(server, "python", count, stdin=text * 50000, run_timeout=30000)["run"]
    assert done["stdout"] == "4000000\n"
    # A program that does not read it, and one that reads a part.
    assert execute(server, "python", "print(1)", stdin=text * 50000)["run"]["stdout"] == "1\n"
    assert execute(server, "bash", "read x; echo ${#x}; exec <&-; sleep 0.1; echo over",
                   stdin=text * 50000)["run"]["stdout"] == "79\nover\n"
    # Output is read while input is written.
    done = execute(server, "bash", "cat", stdin=text * 50000, run_timeout=30000)["run"]
    assert done["stdout"] == text * 50000


def test_runtimes_are_what_runs(server):
    runtimes = ask(server, "GET", API + "/runtimes").json
    assert {"python", "bash"} <= {each["language"] for each in runtimes}
    for each in runtimes:
        assert set(each) == {"language", "version", "aliases"} and each["version"]
    packages = ask(server, "GET", API + "/packages").json
    assert [each["language"] for each in packages] == [each["language"] for each in runtimes]
    assert all(each["installed"] for each in packages)
    refused = post(server, API + "/packages", {"language": "python", "version": "2"})
    assert refused.status == 403 and "template" in refused.json["message"]


def test_a_client_from_pypi(server):
    """The client takes only an address: the key is the password in it."""
    async def use():
        client = pyston.PystonClient(base_url=url(server, API + "/"))
        try:
            output = await client.execute("python", [pyston.File("print(6 * 7)")])
            return output.run_stage.output, await client.languages()
        finally:
            await client.close_session()
            del client  # its finalizer needs the event loop

    output, languages = asyncio.run(use())
    assert output == "42\n" and "python" in languages


@pytest.mark.parametrize("wanted, fits", [
    ("*", True), ("3", True), ("3.x", True), ("^3.1", True), (">=3.2 <4", True), ("~3", True),
    ("2 || 3", True), ("2||>=3 <4", True), ("2 || 4", False), ("2", False), ("<3", False), ("4.x", False), ("nonsense", False)])
def test_versions(server, wanted, fits):
    answer = post(server, API + "/execute", {"language": "python", "version": wanted,
                                             "files": [{"content": ""}]})
    if fits:
        assert answer.status == 200
    else:
        assert (answer.status, answer.json) == (400,
                                                {"message": f"python-{wanted} runtime is unknown"})


def test_errors_have_the_format_of_piston(server):
    good = {"language": "python", "version": "*", "files": [{"content": "1"}]}

    def refused(body, message, status=400, **more):
        answer = post(server, API + "/execute", body, **more)
        assert answer.status == status, answer
        assert set(answer.json) == {"message"} and message in answer.json["message"]

    refused({**good, "language": None}, "language is required as a string")
    refused({**good, "version": 3}, "version is required as a string")
    refused({**good, "files": {}}, "files is required as an array")
    refused({**good, "files": [{}]}, "files[0].content is required as a string")
    refused({**good, "files": []}, "files must include at least one utf8 encoded file")
    refused({**good, "files": [{"content": "00", "encoding": "hex"}]}, "utf8 encoded file")
    refused({**good, "files": [{"content": "1"}, {"content": "0g", "encoding": "hex"}]}, "hex")
    refused({**good, "files": [{"content": "1"}, {"content": "?", "encoding": "base64"}]}, "")
    refused({**good, "files": [{"content": "1", "name": "../../x"}]}, "")
    refused({**good, "language": "cobol"}, "cobol-* runtime is unknown")
    refused({**good, "run_timeout": "1"}, "if specified, run_timeout must be a number")
    refused({**good, "run_timeout": 1e12}, "run_timeout cannot exceed the configured limit")
    refused({**good, "args": [1]}, "args")
    refused("{", "")
    refused(good, "key", status=401, key=False)
    refused(good, "key", status=401, headers={"X-Api-Key": "rk_wrong"})
    refused(good, "application/json", status=415, headers={"Content-Type": "text/plain"})
    assert ask(server, "GET", "/piston/api/v2/nothing").status == 404
    status, body = oversized(server, API + "/execute", 1 << 30)
    assert status == 413 and set(body) == {"message"}
    check_nothing_stays(server, 0)


def test_a_client_disconnect_ends_the_run(server):
    check_client_gone(server, API + "/execute", {
        "language": "python", "version": "*", "run_timeout": 100000,
        "files": [{"content": "import time; time.sleep(90)"}]})


# ---- the WebSocket --------------------------------------------------------------------------

def connect(server, **more):
    return websocket.create_connection(f"ws://127.0.0.1:{server.port}{API}/connect", timeout=SECONDS,
                                       **{"header": [f"X-Api-Key: {server.key}"], **more})


def send_json(socket, **message):
    socket.send(json.dumps(message))


def init(socket, language, *files, **more):
    send_json(socket, type="init", language=language, version="*", files=[
        {"content": each} if isinstance(each, str) else each for each in files], **more)


def until_closed(socket):
    """([message], the code that closed it)"""
    received = []
    while True:
        opcode, data = socket.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return received, struct.unpack("!H", data[:2])[0]
        received.append(json.loads(data))


def until(socket, kind):
    """The next message of this type, and the text that was written before."""
    text = ""
    while True:
        message = json.loads(socket.recv())
        if message["type"] == kind:
            return message, text
        text += message.get("data", "")


def text_in(received, stream="stdout"):
    return "".join(each["data"] for each in received if each["type"] == "data" and each["stream"] == stream)


def test_an_interactive_program(server):
    socket = connect(server)
    init(socket, "python", "import sys\nprint('name? ', end='', flush=True)\nname = input()\n"
         "print('hi', name, sys.argv[1:], file=sys.stderr)\nsys.exit(3)", args=["a b"], run_timeout=60000)
    assert until(socket, "runtime")[0]["language"] == "python"
    assert until(socket, "stage")[0] == {"type": "stage", "stage": "run"}
    assert until(socket, "data")[0] == {"type": "data", "stream": "stdout", "data": "name? "}
    send_json(socket, type="data", stream="stdin", data="sü")
    send_json(socket, type="data", stream="stdin", data="ß\n")
    received, code = until_closed(socket)
    assert text_in(received, "stderr") == "hi süß ['a b']\n" and code == 4999
    assert received[-1]["type"] == "exit" and (received[-1]["stage"], received[-1]["code"], received[-1]["signal"]) == (
        "run", 3, None)
    check_nothing_stays(server)


def test_stages_of_a_compiled_language(server):
    socket = connect(server)
    init(socket, "c", "#include <stdio.h>\nint main() { int x; scanf(\"%d\", &x); printf(\"%d\", x * 7); }",
         run_timeout=60000)
    assert until(socket, "stage")[0]["stage"] == "compile"
    assert (lambda end: (end["stage"], end["code"]))(until(socket, "exit")[0]) == ("compile", 0)
    assert until(socket, "stage")[0]["stage"] == "run"
    send_json(socket, type="data", stream="stdin", data="6\n")
    received, code = until_closed(socket)
    assert (text_in(received), received[-1]["code"], code) == ("42", 0, 4999)
    socket = connect(server)
    init(socket, "c", "int main( {")
    received, code = until_closed(socket)
    assert [each["stage"] for each in received if each["type"] == "stage"] == ["compile"]
    assert "error" in text_in(received, "stderr") and (received[-1]["code"], code) == (1, 4999)


def test_signals_and_limits_of_an_interactive_program(server):
    socket = connect(server)
    init(socket, "python", "import time\ntry:\n    print(1, flush=True)\n    time.sleep(60)\n"
         "except KeyboardInterrupt: print('int', flush=True)\ntime.sleep(60)", run_timeout=100000)
    until(socket, "data")
    send_json(socket, type="signal", signal="SIGINT")
    assert until(socket, "data")[0]["data"] == "int\n"
    send_json(socket, type="signal", signal="SIGTERM")
    end, _ = until(socket, "exit")
    assert (end["code"], end["signal"]) == (None, "SIGTERM")
    for code, how in (("import time; time.sleep(60)", ("SIGKILL", "TO")),
                      ("while True: print('x' * 100000)", ("SIGKILL", "OL"))):
        socket = connect(server)
        init(socket, "python", code, run_timeout=500 if how[1] == "TO" else 60000)
        received, closed = until_closed(socket)
        assert (received[-1]["signal"], received[-1]["status"], closed) == (*how, 4999)
        assert len(text_in(received)) <= 16 << 20
    # Bytes that are not UTF-8, and a character in two pieces.
    socket = connect(server)
    init(socket, "python", "import sys, time\nout = sys.stdout.buffer\nfor each in (b'\\xc3', b'\\xbc\\xff', "
         "b'\\xe2\\x82'):\n    out.write(each); out.flush(); time.sleep(0.2)")
    received, _ = until_closed(socket)
    assert text_in(received).startswith("ü\ufffd\ufffd")


def test_large_input_and_output(server):
    line = "x" * 999 + "\n"
    socket = connect(server)
    init(socket, "bash", "head -c 3000000", run_timeout=60000)
    for _ in range(30):
        send_json(socket, type="data", stream="stdin", data=line * 100)
    received, code = until_closed(socket)
    assert (text_in(received), code) == (line * 3000, 4999)


def test_unknown_messages_before_init_are_limited(server):
    for count, closed in ((15, 4999), (16, 4001)):  # EARLY_MAX with init
        socket = connect(server)
        for _ in range(count):
            send_json(socket, type="nothing")
        init(socket, "python", "print(1)")
        received, code = until_closed(socket)
        assert code == closed and (text_in(received) == "1\n") == (closed == 4999), received


@pytest.mark.parametrize("messages, closed", [
    (['{"type": "data", "stream": "stdin", "data": "x"}'], 4003),
    (['{"type": "signal", "signal": "SIGINT"}'], 4003),
    ([], 4001), (['{"type": "nothing"}'], 4001),
    (["{"], 4002), (["[]"], 4002), (['{"a": 1, "a": 2}'], 4002), (["[" * 100000], 4002), ([b"{}"], 4002),
    (['{"type": "init"}'], 4002),
    (['{"type": "init", "language": "cobol", "version": "*", "files": [{"content": ""}]}'], 4002),
    (["INIT", '{"type": "init"}'], 4000),
    (["INIT", '{"type": "data", "stream": "stdout", "data": "x"}'], 4004),
    (["INIT", '{"type": "data", "stream": "stdin", "data": 1}'], 4002),
    (["INIT", '{"type": "signal", "signal": "SIGNOTHING"}'], 4005),
    (["INIT", '{"type": "signal"}'], 4005), (["INIT", "{"], 4002)])
def test_invalid_messages_close_the_connection_with_a_code(server, messages, closed):
    socket = connect(server)
    for each in messages:
        if each == "INIT":
            init(socket, "python", "import time; print(1, flush=True); time.sleep(60)", run_timeout=100000)
            until(socket, "data")
        elif isinstance(each, bytes):
            socket.send_binary(each)
        else:
            socket.send(each)
    received, code = until_closed(socket)
    assert code == closed, received
    assert (closed == 4002) == bool(received and received[-1]["type"] == "error" and received[-1]["message"])
    check_nothing_stays(server, "INIT" in messages)


def test_connections_need_a_key(server):
    for header, status in (([], 401), (["X-Api-Key: rk_wrong"], 401),
                           ([f"X-Api-Key: {server.key}", "Origin: http://evil.example"], 403)):
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            connect(server, header=header, suppress_origin=True)
        assert refused.value.status_code == status
    assert ask(server, "GET", API + "/connect").status == 426
    # Basic authentication, for clients that take only an address.
    basic = base64.b64encode(f"any:{server.key}".encode()).decode()
    socket = connect(server, header=[f"Authorization: Basic {basic}"])
    init(socket, "python", "print(6 * 7)")
    assert text_in(until_closed(socket)[0]) == "42\n"


def test_an_interactive_client_disconnect_ends_the_program(server):
    socket = connect(server)
    init(socket, "python", "import time; print(1, flush=True); time.sleep(90)", run_timeout=100000)
    until(socket, "data")
    socket.sock.close()
    check_nothing_stays(server)
    # A broken frame ends the program, too.
    socket = connect(server)
    init(socket, "python", "import time; print(1, flush=True); time.sleep(90)", run_timeout=100000)
    until(socket, "data")
    socket.sock.sendall(b"\xff\xff\xff\xff")
    with contextlib.suppress(websocket.WebSocketException, OSError):
        while socket.recv_data()[0] != websocket.ABNF.OPCODE_CLOSE:
            pass
    check_nothing_stays(server, 2)
