"""Commands and terminals with E2B's Python SDK."""
import threading
import time

from e2b import (AuthenticationException, CommandExitException, InvalidArgumentException, NotFoundException, PtySize,
                 Sandbox, TimeoutException)

sandbox = Sandbox.create(timeout=300, envs={"FROM_CREATE": "1"})
commands = sandbox.commands

done = commands.run("echo out; echo err >&2; pwd; echo $FROM_CREATE $OWN $E2B_SANDBOX_ID", envs={"OWN": "2"})
assert done.exit_code == 0 and done.stderr == "err\n", done
assert done.stdout == f"out\n/home/user\n1 2 {sandbox.sandbox_id}\n", done
assert commands.run("pwd", cwd="/tmp").stdout == "/tmp\n"
assert commands.run("wc -c; id -un", user="root").stdout == "0\nuser\n"

seen = []
commands.run("for i in 1 2 3; do echo $i; sleep 0.05; done", on_stdout=seen.append)
assert "".join(seen) == "1\n2\n3\n", seen
large = commands.run("head -c 3000000 /dev/zero | tr '\\0' x")
assert len(large.stdout) == 3000000

try:
    raise AssertionError(commands.run("echo before; exit 3"))
except CommandExitException as error:
    assert (error.exit_code, error.stdout, error.error) == (3, "before\n", "exit status 3"), error
try:
    raise AssertionError(commands.run("kill -9 $$"))
except CommandExitException as error:
    assert (error.exit_code, error.error) == (-1, "signal: killed"), error
for wrong, expected in ((lambda: commands.run("true", cwd="/nowhere"), InvalidArgumentException),
                        (lambda: commands.run("true", user="nobody-such"), AuthenticationException)):
    try:
        raise AssertionError(wrong())
    except expected:
        pass
try:
    raise AssertionError(commands.run("sleep 100", timeout=1))
except TimeoutException:
    pass


def wait_until(is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come")


wait_until(lambda: not commands.list())

# A background command: input, the list of commands, a second connection, the end.
handle = commands.run("echo $$; while read line; do echo got $line; done; echo over", background=True, stdin=True)
[listed] = commands.list()
assert listed.pid == handle.pid and listed.cmd == "/bin/bash" and "read line" in listed.args[-1]
commands.send_stdin(handle.pid, "first\n")
time.sleep(0.3)
other = commands.connect(handle.pid)
assert other.pid == handle.pid
commands.send_stdin(handle.pid, "second\n")
if hasattr(commands, "close_stdin"):
    commands.close_stdin(handle.pid)
    assert other.wait().stdout == "got second\nover\n"
    assert handle.wait().stdout == f"{handle.pid}\ngot first\ngot second\nover\n"
else:
    handle.kill()
wait_until(lambda: not commands.list())

# Streamed input: the command receives the first part while the stream is still open.
if hasattr(commands, "stream_input"):
    handle = commands.run("while read line; do echo $line >> lines; done", background=True, stdin=True)


    def chunks():
        yield "one\n"
        wait_until(lambda: sandbox.files.exists("lines") and sandbox.files.read("lines") == "one\n")
        yield b"two\nthree\n"
        yield "x" * 100000 + "\n"


    commands.stream_input(handle.pid, chunks())
    wait_until(lambda: sandbox.files.read("lines") == "one\ntwo\nthree\n" + "x" * 100000 + "\n")
    handle.kill()
    wait_until(lambda: not commands.list())

handle = commands.run("sleep 1000 & sleep 1000", background=True)
assert handle.kill() is True
try:
    handle.wait()
    raise AssertionError("it was killed")
except CommandExitException as error:
    assert error.error == "signal: killed"
wait_until(lambda: commands.kill(handle.pid) is False)
try:
    commands.connect(999999)
    raise AssertionError("it connects to nothing")
except NotFoundException:
    pass

# A client that disconnects does not end the command.
handle = commands.run("sleep 0.5; echo alive > left", background=True)
handle.disconnect()
wait_until(lambda: sandbox.files.exists("left"))

output = bytearray()
terminal = sandbox.pty.create(PtySize(rows=30, cols=100))
reader = threading.Thread(target=lambda: terminal.wait(on_pty=output.extend))
reader.start()
sandbox.pty.send_stdin(terminal.pid, b"stty size; echo is $TERM\n")
wait_until(lambda: b"is xterm-256color" in output)
assert b"30 100" in output
sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=120))
sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
reader.join()
assert b"40 120" in output, output

# The sandbox is killed while a command runs.
timer = threading.Timer(1, sandbox.kill)
timer.start()
try:
    commands.run("sleep 300", timeout=100)
    raise AssertionError("it has ended")
except Exception as error:
    # The type depends on the SDK's version, but is never the end of the command.
    assert not isinstance(error, (AssertionError, CommandExitException)), error
timer.join()
