"""reckon exec, shell, ps, kill: programs in a session of the private daemon, from a real terminal."""
import contextlib
import json
import os
import signal
import time

import private_daemon
import pytest
from terminal import Terminal
from waiting import eventually

SECONDS = 60


@pytest.fixture
def session(reckon):
    assert reckon("session", "create", "box").status == 0
    yield "box"
    private_daemon.end(reckon)


def exec_(reckon, *argv, options=(), **more):
    return reckon("exec", "-s", "box", *options, "--", *argv, **more)


def listed(reckon, *options):
    done = reckon("ps", "-s", "box", "--json", *options)
    assert done.status == 0, done
    return json.loads(done.stdout)


# ---- exec -------------------------------------------------------------------------------------


def test_output_and_exit_code_are_those_of_the_program(reckon, session):
    done = exec_(reckon, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.status, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert exec_(reckon, "sh", "-c", "kill -9 $$").status == 128 + signal.SIGKILL
    done = exec_(reckon, "printf", "[%s]", "a b", "--json", "-s", "*")
    assert done.stdout == b"[a b][--json][-s][*]"


def test_piped_bytes_stay_unchanged(reckon, session):
    data = os.urandom(20_000_000)
    done = exec_(reckon, "cat", stdin=data)
    assert done.status == 0 and done.stdout == data
    assert exec_(reckon, "cat", options=["-n"], stdin=b"not passed on").stdout == b""


def test_options_set_the_folder_and_variables(reckon, session):
    done = exec_(reckon, "sh", "-c", "pwd; echo $A; echo ${HOSTNAME_OF_CALLER:-none}",
                 options=["-C", "/tmp", "-e", "A=b c"], env={"HOSTNAME_OF_CALLER": "secret"})
    assert done.stdout == b"/tmp\nb c\nnone\n"


def test_a_missing_session_is_created(reckon):
    done = reckon("exec", "-s", "fresh", "--", "echo", "hello")
    assert (done.status, done.stdout) == (0, b"hello\n")
    assert b"fresh" in done.stderr
    private_daemon.end(reckon)


@pytest.mark.parametrize("argv,status,says", [
    (["exec", "-s", "box"], 2, b"missing argument COMMAND"),
    (["exec", "-s", "box", "ls", "-l"], 2, b"put -- before the command"),
    (["exec", "-s", "box", "-t", "-d", "--", "ls"], 2, b"cannot be used together"),
    (["exec", "-s", "box", "--", "no-such-program"], 2, b"no-such-program"),
    (["exec", "-s", "box", "-C", "/no/such", "--", "ls"], 2, b"/no/such"),
    (["exec", "-s", "box", "-e", "A", "--", "ls"], 2, b"--env"),
    (["shell", "-s", "box"], 2, b"standard input is not a terminal"),
    (["shell", "-s", "box", "ls"], 2, b"ls"),
    (["kill", "-s", "box"], 2, b"missing argument PROCESS"),
    (["kill", "-s", "box", "nothing"], 2, b"no process nothing runs there"),
    (["kill", "-s", "box", "--signal", "NOPE", "pr_01JD8Z4J9Q0123456789ABCDEF"], 2, b""),
])
def test_errors_are_reported(reckon, session, argv, status, says):
    done = reckon(*argv)
    assert done.status == status and says in done.stderr, done
    assert done.stdout == b""


def test_a_time_limit_is_reported(reckon, session):
    done = exec_(reckon, "sleep", "60", options=["--timeout", "200ms"])
    assert done.status == 124 and b"timed out" in done.stderr


def test_a_signal_goes_to_the_program(reckon, session):
    with reckon.start("exec", "-s", "box", "--", "sh", "-c",
                      "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep .05; done"
                      ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"caught\n"
        assert process.wait(SECONDS) == 9


def test_a_killed_command_hangs_up_its_program(reckon, session):
    with reckon.start("exec", "-s", "box", "--", "sh", "-c", "echo ready; exec sleep 1000") as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    eventually(lambda: listed(reckon) == [], "it stays")
    assert listed(reckon, "-a")[0]["signal"] == "HUP"


def test_a_closed_stdout_ends_the_program(reckon, session):
    with reckon.start("exec", "-s", "box", "--", "yes") as process:
        assert process.stdout.read(4) == b"y\ny\n"
        process.stdout.close()
        assert process.wait(SECONDS) == 141
    eventually(lambda: listed(reckon) == [], "it stays")


def test_detached_programs_are_listed_and_killed(reckon, session):
    done = exec_(reckon, "sleep", "1000", options=["-d", "--tag", "slow"])
    assert done.status == 0
    id_ = done.stdout.decode().strip()
    assert [(each["id"], each["tag"]) for each in listed(reckon)] == [(id_, "slow")]
    text = reckon("ps", "-s", "box").out
    assert text.splitlines()[0].split()[:3] == ["ID", "PID", "STATE"]
    assert id_ in text and "running" in text and "sleep 1000" in text
    assert reckon("kill", "-s", "box", "slow").status == 0
    eventually(lambda: listed(reckon) == [], "it stays")
    assert "TERM" in reckon("ps", "-a", "-s", "box").out
    by_pid = exec_(reckon, "sleep", "1000", options=["-d"]).stdout.decode().strip()
    pid = listed(reckon)[0]["pid"]
    assert reckon("kill", "-s", "box", "--signal", "SIGKILL", str(pid)).status == 0
    eventually(lambda: listed(reckon) == [], "it stays")
    assert listed(reckon, "-a")[0]["id"] == by_pid
    assert reckon("kill", "-s", "box", "-a", by_pid).status == 0


# ---- at a terminal ----------------------------------------------------------------------------


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\u202e\x9b31m"


def test_listings_and_output_cannot_write_to_the_terminal(reckon, session):
    exec_(reckon, "true", HOSTILE, options=["-d"])
    with Terminal(reckon, "ps", "-a", "-s", "box", columns=200) as term:
        assert term.end() == 0
        assert b"\x1b]0" not in term.raw and b"\x1b[2J" not in term.raw and b"\x1b[31m" not in term.raw
    with Terminal(reckon, "exec", "-s", "box", "-n", "--", "printf", "%s", HOSTILE) as term:
        assert term.end() == 0
        assert b"\x1b]0" not in term.raw and b"\x1b[2J" not in term.raw
    # A pipe gets the output unchanged.
    assert exec_(reckon, "printf", "%s", HOSTILE).stdout == HOSTILE.encode()


@contextlib.contextmanager
def shell(reckon, **options):
    with Terminal(reckon, "shell", "-s", "box", **options) as term:
        term.wait("box:")
        yield term


def exit_shell(term, status=0):
    term.write("exit\r")
    assert term.end() == status
    assert term.process.returncode == status


def test_a_shell_is_a_terminal(reckon, session):
    with shell(reckon, columns=91, lines=31) as term:
        term.write("tty; stty size; echo $TERM\r")
        term.wait("/dev/pts/").wait("31 91").wait("xterm-256color")
        term.resize(120, 44)
        while "44 120" not in term.text:  # the input may arrive before the new size
            term.write("stty size\r")
            term.pump(.5)
        term.write("sleep 1000\r")
        term.until(lambda: term.line.endswith("sleep 1000") or "sleep 1000" in term.text, "echo")
        time.sleep(.3)
        term.key("ctrl-c")
        term.write("echo code $?\r")
        term.wait("code 130")
        term.write("echo typed > f; exit 5\r")
        assert term.end() == 5
    assert exec_(reckon, "cat", "f").stdout == b"typed\n"


def test_the_terminal_is_restored_afterwards(reckon, session):
    import termios
    with Terminal(reckon, "shell", "-s", "box") as term:
        before = termios.tcgetattr(term.master)
        term.wait("box:")
        assert not termios.tcgetattr(term.master)[3] & termios.ICANON
        exit_shell(term)
        assert termios.tcgetattr(term.master) == before


def test_vim_edits_a_file(reckon, session):
    # The emulator of these tests does not know the sequences that vim sends to an xterm.
    with shell(reckon, term="linux") as term:
        term.write("vim -u NONE notes\r")
        term.until(lambda: term.text.count("~") > 20, "vim's screen")
        term.write("ifirst line\rsecond line\x1b")
        term.wait("second line")
        term.resize(60, 20)
        while "columns=60" not in term.text:  # until vim has the new size
            term.write(":set columns?\r")
            term.pump(.2)
        term.write("\r:wq\r")
        term.wait("box:")
        exit_shell(term)
    assert exec_(reckon, "cat", "notes").stdout == b"first line\nsecond line\n"


def test_less_pages(reckon, session):
    exec_(reckon, "sh", "-c", "seq 1 500 > numbers")
    with Terminal(reckon, "exec", "-t", "-s", "box", "--", "less", "numbers", lines=24) as term:
        term.wait("\n23")
        term.write("G")
        term.wait("\n500")
        term.write("?^123$\r")
        term.until(lambda: "123" in term.screen.display[0], "the match at the top")
        term.write("q")
        assert term.end() == 0


def test_htop_fills_the_screen_and_follows_its_size(reckon, session):
    exec_(reckon, "sleep", "12345", options=("-d",))
    with Terminal(reckon, "exec", "-t", "-s", "box", "--", "htop", columns=100, lines=30, term="linux") as term:
        term.until(lambda: "Quit" in term.screen.display[29] and "Load average" in term.text, "htop's screen")
        # It sees itself, and no other program of the session or of the host.
        term.wait("htop")
        assert "12345" not in term.text and "reckon" not in term.text
        term.resize(80, 20)
        # The emulator keeps its last lines, which contain "Quit": an empty screen shows when htop has
        # redrawn. A resize after that would end htop's help like a key.
        term.screen.reset()
        term.until(lambda: "Quit" in term.screen.display[19], "the last line of its new size")
        term.write("\x1b[[A")  # F1 of a Linux console
        term.until(lambda: "(C)" in term.text, "its help")
        term.write("q")
        term.until(lambda: "Quit" in term.screen.display[19], "its screen")
        term.write("q")
        assert term.end() == 0


def test_closing_the_terminal_hangs_up_the_shell(reckon, session):
    with shell(reckon):
        assert len(listed(reckon)) == 1
    eventually(lambda: listed(reckon) == [], "the shell stays")


def test_help_describes_the_commands(reckon):
    for name in ("exec", "shell", "ps", "kill"):
        done = reckon(name, "--help")
        assert done.status == 0 and f"reckon {name}".encode() in done.stdout
        assert name in reckon("--help").out
