"""The bash kernel over its wire protocol, without a box."""

import os
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import kernels  # noqa: E402
import wire  # noqa: E402
from waiting import eventually  # noqa: E402


@pytest.fixture
def kernel():
    with kernels.kernel("bash") as kernel:
        yield kernel


def restarted(done):
    return [note for note in done.notes if note.startswith("shell_restarted:")]


def test_streams_and_status(kernel):
    done = kernel.execute("echo out; echo err >&2")
    assert (done.stdout, done.stderr, done.status, done.error) == ("out\n", "err\n", "ok", None)
    done = kernel.execute("sh -c 'exit 3'")
    assert (done.status, done.error.text("name"), done.error.text("value")) == ("error", "ExitStatus", "3")


def test_state_persists(kernel, tmp_path):
    kernel.execute(f"x=5; export E=6; f() {{ echo f$1; }}; a=(1 2); alias hi='echo hey'; cd {tmp_path}; umask 027")
    done = kernel.execute("echo $x; sh -c 'echo $E'; f 7; echo ${a[1]}; pwd; umask\nhi")
    assert done.stdout.split() == ["5", "6", "f7", "2", str(tmp_path), "0027", "hey"]


def test_the_history_contains_no_commands_of_the_kernel(kernel):
    assert kernel.execute("history").stdout == ""


def test_each_cell_has_its_own_standard_input(kernel):
    assert kernel.execute("cat; read x; echo $x", stdin=b"given").stdout == "given\n"
    assert kernel.execute("cat").stdout == ""
    assert kernel.execute("echo next").stdout == "next\n"


def test_syntax_error_and_unset_variable_keep_the_shell(kernel):
    kernel.execute("x=1")
    done = kernel.execute("if; then")
    assert done.status == "error" and "syntax error" in done.stderr
    assert kernel.execute("echo ${none:?gone}").status == "error"
    done = kernel.execute("echo $x")
    assert (done.stdout, restarted(done)) == ("1\n", [])


def test_exit_ends_the_cell_and_keeps_state(kernel, tmp_path):
    done = kernel.execute(f"y=7; g() {{ echo g; }}; cd {tmp_path}; exit 3; echo never")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.error.text("value") == "3" and restarted(done)
    done = kernel.execute("echo $y; g; pwd")
    assert done.stdout.split() == ["7", "g", str(tmp_path)]
    assert kernel.execute("(exit 4)").error.text("value") == "4"


@pytest.mark.parametrize("code", ["exec true", "kill -9 $$", "set -e; false", "trap - EXIT; exit 1"])
def test_a_shell_that_ends_is_replaced(kernel, code):
    kernel.execute("before='kept by\nthe kernel'")
    assert restarted(kernel.execute(code))
    assert kernel.execute("echo \"$before\"").stdout == "kept by\nthe kernel\n"


@pytest.mark.parametrize("wait", [
    "sh -c 'echo go; sleep 1000'",
    "echo go; while :; do :; done",
    "(sh -c 'echo go; sleep 1000')",
    "sh -c 'echo go; sleep 1000' | cat",
    "echo go; wait $!; read x < <(sleep 1000)",
])
def test_interrupt_reaches_the_command_and_keeps_the_shell(kernel, wait):
    running = kernel.start(f"q=1; {wait}; echo never")
    helper = threading.Thread(daemon=True, target=lambda: running.started.wait(wire.WAIT_MAX)
                              and kernel.interrupt())
    helper.start()
    done = kernel.finish(running)
    helper.join()
    assert (done.status, done.stdout) == ("interrupted", "go\n")
    assert done.error.text("name") == "KeyboardInterrupt"
    done = kernel.execute("echo $q")
    assert (done.stdout, restarted(done)) == ("1\n", [])


@pytest.mark.parametrize("command", range(1, 10))
def test_an_interrupt_that_comes_as_the_cell_ends(kernel, command):
    """Bash gets the interrupt while it writes its state, and drops that line; the kernel sends it again."""
    done = kernel.execute(f"q=1; n=0; trap '(( n++ == {command} )) && kill -INT $$' DEBUG")
    assert done.status == "ok"
    done = kernel.execute("trap - DEBUG; echo $q $n")
    assert (done.stdout[:2], restarted(done)) == ("1 ", [])
    assert int(done.stdout[2:]) > command


@pytest.mark.parametrize("how", ["kill -INT $$", "kill -INT 0", "sh -c 'kill -INT 0'"])
def test_a_cell_that_interrupts_itself(kernel, how):
    """Bash drops the line, and with it the answer that ends the cell."""
    done = kernel.execute(f"q=1; {how}; sleep 0.1; echo never")
    assert (done.status, done.stdout, restarted(done)) == ("error", "", [])
    assert done.error.text("value") == "130"
    done = kernel.execute("echo $q; sleep 1; (exit 3)")
    assert (done.stdout, done.error.text("value")) == ("1\n", "3")


def test_background_jobs_continue(kernel, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    kernel.execute(f"cat {fifo} > {tmp_path}/got 2>/dev/null &")
    assert kernel.execute("jobs -r | wc -l").stdout.strip() == "1"
    assert kernel.execute(f"echo through > {fifo}; wait; cat {tmp_path}/got").stdout == "through\n"


def test_late_output_is_not_in_the_next_cell(kernel):
    kernel.execute("(sleep 0.2; echo late) &")
    done = kernel.execute("wait; echo mine")
    assert done.stdout == "mine\n"


@pytest.mark.parametrize("code", [
    "exec 0<&- 1>&- 2>&-",
    "builtin() { :; }; eval() { :; }; printf() { :; }; unset -f builtin eval printf",
    "kill -9 $__reckon_holder",
    "unset __reckon_holder",
    "set -u; set -o pipefail; shopt -s nullglob failglob",
    "IFS=x; PATH=; cd /; unset HOME",
    "alias builtin=false eval=false printf=false",
    "trap '' INT TERM; trap 'echo trapped' EXIT",
    "PROMPT_COMMAND='echo prompt'; PS1='x> '",
    "for i in $(seq 300); do eval \"v$i=$i\"; done",
])
def test_hostile_cells(kernel, code):
    kernel.execute(code)
    done = kernel.execute("echo alive")
    assert done.stdout == "alive\n" and done.status == "ok"


def test_binary_and_large_output(kernel):
    done = kernel.execute("head -c 5000000 /dev/zero; printf '\\377'")
    assert len(b"".join(e[1] for e in done.events)) == 5_000_001


def test_large_cells_and_heredocs(kernel):
    text = "z" * 200_000
    assert kernel.execute(f"x={text}; echo ${{#x}}").stdout == "200000\n"
    assert kernel.execute("cat <<'END'\n$a `b` \"c\" 'd'\nEND").stdout == "$a `b` \"c\" 'd'\n"


def test_configure_reaches_running_and_later_shells(kernel):
    kernel.send(wire.CONFIGURE, [("env", "A=it's a")])
    assert kernel.execute("echo \"$A\"").stdout == "it's a\n"
    kernel.send(wire.CONFIGURE, [("env", "B=2 $x")])
    assert kernel.execute("printenv B").stdout == "2 $x\n"
    kernel.execute("exit")
    assert kernel.execute("printenv A; printenv B").stdout == "it's a\n2 $x\n"


def test_variables(kernel):
    assert kernel.ask(wire.VARIABLES).fields == []
    kernel.execute("n=5; declare -i i=6; arr=(a b); declare -A m=([k]=v); fn() { :; }")
    reply = kernel.ask(wire.VARIABLES)
    found = dict(zip(reply.all("var_name"), zip(reply.all("var_type"), reply.all("var_preview"))))
    assert found == {"n": ("string", '"5"'), "i": ("integer", '"6"'), "arr": ("array", '([0]="a" [1]="b")'),
                     "m": ("map", '([k]="v" )'), "fn": ("function", "")}


@pytest.mark.parametrize("code, matches, start", [
    ("echo $my_v", ["my_value"], 6),
    ("echo é ${my_", ["my_value"], len("echo é ${".encode())),
    ("my_f", ["my_function"], 0),
    ("$HOM", ["HOME"], 1),
    ("$__reckon", [], 1),
    ("no_such", [], 0),
])
def test_completion(kernel, code, matches, start):
    kernel.execute("my_value=5; my_function() { :; }")
    reply = kernel.ask(wire.COMPLETE, code=code, cursor=len(code.encode()))
    assert reply.all("match") == matches
    assert int(reply.text("cursor_start")) == start
    assert int(reply.text("cursor_end")) == len(code.encode())


def test_inspection_is_empty(kernel):
    assert kernel.ask(wire.INSPECT, code="ech", cursor=3).fields == []


def test_branch_begins_with_the_state(kernel, tmp_path):
    kernel.execute(f"x=5; f() {{ echo f; }}; cd {tmp_path}")
    kernel.send(wire.RESUME)
    done = kernel.execute("echo $x; f; pwd")
    assert done.stdout.split() == ["5", "f", str(tmp_path)]


def test_seed_makes_random_repeat():
    values = []
    for _ in range(2):
        with kernels.kernel("bash") as kernel:
            kernel.send(wire.CONFIGURE, [("seed", "11")])
            values.append(kernel.execute("echo $RANDOM $RANDOM").stdout)
    assert values[0] == values[1]


def test_nothing_outlives_the_kernel():
    kernel = kernels.kernel("bash")
    shell = int(kernel.execute("echo $$").stdout)
    kernel.close()
    eventually(lambda: not os.path.exists(f"/proc/{shell}"), "the shell ends with its kernel")


@pytest.mark.parametrize("code, status", [
    ("echo 1", "complete"),
    ("for i in 1 2; do", "incomplete"),
    ("for i in 1 2; do\necho $i\ndone", "complete"),
    ("echo 'a", "incomplete"),
    ("echo $(date", "incomplete"),
    ("cat <<E\nx", "incomplete"),
    ("cat <<E\nx\nE", "complete"),
    ("echo a \\", "incomplete"),
    ("echo a \\\\", "complete"),
    ("f() {", "incomplete"),
    ("done", "invalid"),
    ("touch /tmp/reckon-was-executed", "complete"),
    ("", "complete"),
])
def test_is_complete(kernel, code, status):
    assert kernel.ask(wire.IS_COMPLETE, code=code).text("status") == status
    assert not os.path.exists("/tmp/reckon-was-executed")


def test_names_are_reported_when_they_appear_and_disappear(kernel):
    def names(code):
        done = kernel.execute(code)
        return done.done.all("var_name"), done.done.all("var_gone")

    assert names("x=1; declare -a list=(1 2); f() { :; }; local_only=") == (
        ["list", "local_only", "x", "f"], [])
    assert names("x=2") == ([], [])
    assert names("unset x; unset -f f; y=1") == (["y"], ["x", "f"])
    reported, _ = names("for i in $(seq 100); do declare n$i=$i; done")
    assert len(reported) <= 50


def test_an_idle_kernel_answers_a_ping_after_stale_packets(kernel):
    """The earlier request is answered first; the stale packets have no effect."""
    kernel.execute("x=41")
    kernel.send(wire.VARIABLES, ident=5)
    kernel.send(wire.SYNC_ACK, ident=3)
    kernel.send(wire.INPUT_REPLY, ident=3)
    kernel.send(wire.PING, ident=1 << 60)
    found = [kernel.receive() for _ in range(2)]
    assert [(each.type, each.id) for each in found] == [(wire.VARIABLES_REPLY, 5), (wire.PONG, 1 << 60)]
    assert kernel.execute("echo $((x + 1))").stdout == "42\n"
