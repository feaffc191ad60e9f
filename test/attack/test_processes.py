"""Programs and terminals next to a kernel: same walls, own limits, ended with the session."""
import os
import pathlib
import re
import signal
import time

import pytest
from attack import MIB, Refused, status_of
from test_contexts import WALLS, check_same_walls, same_namespace, settle

NOT_FOUND, INVALID, LIMIT, TIMEOUT, LOST = -2, -1, -4, -5, -8


def host_pid(box, inner):
    """The host's pid of the process that has this pid in the box."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and same_namespace(entry, box) and \
                status_of(entry.name).get("NSpid", "").split()[-1:] == [str(inner)]:
            return int(entry.name)
    raise LookupError(f"no process {inner} in the box")


def inside(box, name):
    """The host's pids of the box's processes that have this name."""
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and same_namespace(entry, box)
            and name in status_of(entry.name).get("Name", "")]


def refused(code, what, *args, **more):
    with pytest.raises(Refused) as info:
        what(*args, **more)
    assert info.value.code == code, info.value
    return info.value


def ended(process, seconds=60):
    state = process.wait(seconds)
    assert not state["running"]
    return state


# ---- what a program is ------------------------------------------------------------------------


def test_a_command_has_pipes_and_a_status(driver):
    box = driver.open(prelude=False, env=["WHO=session", "B=1"])
    run = box.process("echo out; echo err >&2; echo $WHO $B $PWD; exit 3", env=["B=2"])
    assert run.read_all(1) == b"out\nsession 2 /mnt/data\n"
    assert run.read_all(2) == b"err\n"
    state = ended(run)
    assert (state["cause"], state["exit_code"], state["signal"]) == ("exit", 3, 0)
    assert state["processes_peak"] >= 1
    if driver.place.user.is_root:  # without cgroups Linux counts in ticks
        assert state["cpu_ns"] > 0
    assert box.processes() == [{"number": run.number, "pid": run.pid, "running": False}]
    run.close()
    assert box.processes() == []
    assert box.expect("ok", "print(1)")["stdout"] == "1\n"


def test_input_is_piped_and_ends(driver):
    box = driver.open(prelude=False)
    run = box.process(argv=["cat"], input=True)
    assert run.write("hello\n") == 6
    assert run.read_until(b"hello\n") == b"hello\n"
    run.close_input()
    assert ended(run)["exit_code"] == 0
    assert box.process("cat; echo end").read_all() == b"end\n"  # no input without a pipe


def test_a_failed_start_names_the_cause(driver):
    box = driver.open(prelude=False)
    assert "no-such-program" in refused(NOT_FOUND, box.process, argv=["no-such-program"]).message
    assert "/nowhere" in refused(INVALID, box.process, "true", cwd="/nowhere").message
    refused(INVALID, box.process, argv=["/etc/hostname"])  # not executable
    refused(INVALID, box.process, "true", cwd="relative")
    refused(INVALID, box.process, "true", env=["=x"])
    refused(INVALID, box.process, "true", argv=["true"])
    refused(INVALID, box.process)
    refused(INVALID, box.process, "true", terminal=True, rows=5000)
    assert box.processes() == []


def test_descriptors_and_pids_are_those_of_the_box(driver):
    box = driver.open(prelude=False)
    run = box.process(argv=["ls", "-1", "/proc/self/fd"])
    assert run.read_all().split() == [b"0", b"1", b"2", b"3"]  # 3: the directory that ls reads
    run = box.process("echo $$; echo again > /dev/stdout; echo third >> /dev/stderr")
    assert run.read_all().split() == [str(run.pid).encode(), b"again"]
    assert run.read_all(2) == b"third\n"
    ignored = box.process("grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ulimit -c")
    lines = ignored.read_all().split()
    assert lines[1::2][:2] == [b"0" * 16] * 2 and lines[-1] == b"0", lines


def test_signals_reach_the_group(driver):
    box = driver.open(prelude=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1):
        run = box.process("sleep 1000 & sleep 1000; wait")
        settle(lambda: len(inside(box, "sleep")) == 2)
        run.signal(int(number))
        state = ended(run)
        assert (state["cause"], state["signal"]) == ("signal", number)
        settle(lambda: inside(box, "sleep") == [])
        refused(NOT_FOUND, run.signal, 15)
    trap = box.process("trap 'echo caught' USR1; echo ready; while :; do sleep 0.05; done")
    trap.read_until(b"ready")
    trap.signal(int(signal.SIGUSR1), leader=True)
    trap.read_until(b"caught")
    refused(INVALID, trap.signal, 0)
    refused(INVALID, trap.signal, 64)
    trap.close()


def test_time_limits_have_their_own_causes(driver):
    box = driver.open(prelude=False)
    run = box.process("echo before; sleep 1000 & sleep 1000", wall_ms=300)
    assert ended(run)["cause"] == "timeout" and run.read_all() == b"before\n"
    burn = box.process("(while :; do :; done) & while :; do :; done", cpu_ms=300)
    state = ended(burn)
    assert state["cause"] == "cpu_limit" and 250e6 < state["cpu_ns"] < 3e9
    assert inside(box, "sleep") == [] and inside(box, "sh") == []


@pytest.mark.one_user
def test_out_of_memory_ends_the_program_and_not_the_session(driver):
    box = driver.open(prelude=False, memory_bytes=128 * MIB, disk_bytes=16 * MIB)
    box.expect("ok", "x = 5")
    eater = "import os\nif os.fork():\n    pass\nheld = [b'x' * (1 << 20) for _ in range(100)]\nos.wait()"
    run = box.process(argv=["python3", "-c", eater])
    state = ended(run)
    assert state["cause"] in ("out_of_memory", "exit") and state["memory_peak"] > 64 * MIB, state
    assert box.run("x")["status"] in ("ok", "kernel_died", "out_of_memory")


def test_usage_includes_child_processes(driver):
    box = driver.open(prelude=False)
    run = box.process("for i in 1 2 3 4 5; do sleep 0.3 & done; "
                      "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; wait")
    idle = box.process("sleep 1000")
    state = ended(run)
    assert state["cpu_ns"] > 20e6 and state["wall_ns"] >= 300e6
    if os.geteuid() == 0 and driver.place.user.is_root:
        assert state["processes_peak"] >= 6
        assert idle.state()["cpu_ns"] < state["cpu_ns"] / 2
    assert idle.state()["running"]


# ---- its walls --------------------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [False, True])
def test_a_process_has_the_walls_of_a_kernel(driver, terminal):
    box = driver.open(prelude=False)
    run = box.process(argv=["sleep", "1000"], terminal=terminal)
    pid = host_pid(box, run.pid)
    ours, theirs = status_of(box.pid), status_of(pid)
    assert {key: ours[key] for key in WALLS} == {key: theirs[key] for key in WALLS}
    assert theirs["Seccomp"] == "2" and theirs["CapBnd"].strip("0") == ""
    names = ("pid", "mnt", "net", "ipc", "uts", "cgroup", "user")
    for name in names:
        assert os.stat(f"/proc/{pid}/ns/{name}").st_ino == os.stat(f"/proc/{box.pid}/ns/{name}").st_ino
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        for kernel in pathlib.Path(f"/proc/{box.pid}/cgroup").read_text().splitlines():
            if kernel.startswith(f"{number}:{controllers}:") and "reckon-" in kernel:
                assert (path + "/").startswith(kernel.split(":", 2)[2] + "/"), (path, kernel)
    limits = [pathlib.Path(f"/proc/{each}/limits").read_text().splitlines()
              for each in (pid, box.pid)]
    for mine, its in zip(*limits):
        if not mine.startswith("Max data size"):
            assert mine == its


def test_system_calls_and_files_that_a_process_is_refused(driver):
    box = driver.open()
    code = """
import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
for name, args in (("setns", (0, 0)), ("unshare", (0x10000000,)), ("ptrace", (16, 1, 0, 0)),
                   ("mount", (0, 0, 0, 0, 0)), ("chroot", (b"/",))):
    print(name, getattr(libc, name)(*args), errno.errorcode.get(ctypes.get_errno()))
for path in ("/proc/1/root", "/proc/1/fd", "/sys/fs/cgroup", "/dev/kmsg", "/dev/mem"):
    try:
        print(path, os.listdir(path) if os.path.isdir(path) else open(path))
    except OSError as e:
        print(path, "refused")
"""
    lines = box.process(argv=["python3", "-c", code]).read_all().decode().splitlines()
    assert [line.split()[1:] for line in lines[:5]] == [["-1", "EPERM"]] * 5, lines
    assert all(line.endswith("refused") for line in lines[5:]), lines


# ---- terminals --------------------------------------------------------------------------------


def test_a_terminal_has_a_name_a_size_and_input(driver):
    box = driver.open(prelude=False)
    run = box.process("tty; stty size; echo $TERM; ps -o tty= -p $$ 2>/dev/null; read x; stty size; "
                      "echo got $x", terminal=True, rows=30, columns=100)
    shown = run.read_until(b"xterm-256color").decode()
    assert re.search(r"/dev/pts/\d+", shown) and "30 100" in shown
    run.resize(50, 160)
    run.write("hello\n")
    shown = run.read_until(b"got hello").decode()
    assert "50 160" in shown
    assert ended(run)["exit_code"] == 0


def test_control_characters_are_signals(driver):
    box = driver.open(prelude=False)
    run = box.process("trap 'echo interrupted' INT; echo ready; sleep 1000; echo after; cat; echo end",
                      terminal=True)
    run.read_until(b"ready")
    settle(lambda: len(inside(box, "sleep")) == 1)
    run.write("\x03")
    run.read_until(b"after")
    run.write("\x04")
    run.read_until(b"end")
    assert ended(run)["exit_code"] == 0
    job = box.process(argv=["bash", "-i"], terminal=True, env=["PS1=@@ "])
    job.read_until(b"@@ ")
    job.write("sleep 1000\n")
    settle(lambda: len(inside(box, "sleep")) == 1)
    job.write("\x1a")
    shown = job.read_until(b"Stopped")
    if b"@@" not in shown.partition(b"Stopped")[2]:
        job.read_until(b"@@ ")  # bash may drop input that arrives before the prompt
    job.write("kill -KILL %1\n")
    settle(lambda: inside(box, "sleep") == [])
    job.write("\x04")
    job.read_until(b"exit")
    job.close()


def test_programs_open_terminals_of_their_own(driver):
    box = driver.open(prelude=False)
    code = ("import pty, os\npid, fd = pty.fork()\n"
            "if pid == 0: os.execlp('tty', 'tty')\n"
            "print(os.read(fd, 100).decode(), os.waitpid(pid, 0)[1])")
    assert re.match(rb"/dev/pts/\d+\s+0", box.process(argv=["python3", "-c", code]).read_all())
    assert re.match(r"/dev/pts/\d+\s+0", box.expect("ok", code)["stdout"])


def test_no_program_can_insert_terminal_input(driver):
    """TIOCSTI is refused, on the program's own terminal and on another one of the same session."""
    box = driver.open(prelude=False)
    code = """
import fcntl, os, glob, errno
def feed(fd):
    try:
        fcntl.ioctl(fd, 0x5412, b"x")
        return "fed"
    except OSError as e:
        return errno.errorcode[e.errno]
print(feed(0), feed(os.open("/dev/tty", os.O_RDWR)))
for path in sorted(glob.glob("/dev/pts/[0-9]*")):
    print(path, feed(os.open(path, os.O_RDWR | os.O_NOCTTY)))
for number in (0x541c, 0x5423, 0x1_0000_5412):  # TIOCLINUX, TIOCSETD, and with high bits set
    try:
        fcntl.ioctl(0, number, b"\\1\\0\\0\\0"); print("allowed")
    except (OSError, OverflowError) as e:
        print(type(e).__name__)
"""
    victim = box.process(argv=["cat"], terminal=True)
    run = box.process(argv=["python3", "-c", code], terminal=True)
    shown = run.read_until(b"pts/1").decode()
    ended(run)
    assert "fed" not in shown and "allowed" not in shown and shown.count("EPERM") >= 3, shown
    assert victim.read(timeout=0.3)[0] == b""


def test_terminals_of_other_boxes_cannot_be_named(driver):
    box, other = driver.open(prelude=False), driver.open(prelude=False)
    other_terminal = other.process(argv=["cat"], terminal=True)
    list_pts = "ls /dev/pts; ls -l /dev/ptmx; cat < /dev/tty || echo none"
    assert box.process(list_pts).read_all().split()[0] == b"ptmx"  # only the multiplexer
    own = box.process("tty; cat", terminal=True)
    assert b"/dev/pts/0" in own.read_until(b"pts/0")
    hostname = box.process("for i in 0 1 2 3 4; do echo x > /dev/pts/$i; done 2>/dev/null; true")
    ended(hostname)
    assert other_terminal.read(timeout=0.3)[0] == b""
    refuse = box.process("mknod n c 136 0 || echo refused; mknod /tmp/n c 5 2 || echo refused")
    assert refuse.read_all() == b"refused\nrefused\n"


def test_the_number_of_terminals_of_a_box_is_limited(driver):
    box = driver.open(prelude=False)
    code = ("import os\nheld = []\ntry:\n    while len(held) < 1000: held.append(os.openpty())\n"
            "except OSError as e: print(len(held), e.errno)")
    count, why = box.process(argv=["python3", "-c", code]).read_all().split()
    assert int(count) <= 96 and int(why) == 28
    assert box.process("tty", terminal=True).read_until(b"/dev/pts/")


# ---- the end ----------------------------------------------------------------------------------

DAEMON = ("import os, signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
          "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
          "os.execlp('sleep', 'left-daemon', '1000')")


def test_a_daemon_of_a_process_ends_with_it(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "import subprocess; kept = subprocess.Popen(['sleep', '1000'])")
    run = box.process(argv=["python3", "-c", DAEMON])
    ended(run)
    if driver.place.user.is_root:  # without a freezer a daemon stays until the session ends
        settle(lambda: len(inside(box, "sleep")) == 1)
    assert box.expect("ok", "print(kept.poll())")["stdout"] == "None\n"


@pytest.mark.one_user
def test_a_detached_server_runs_until_it_is_closed(driver):
    box = driver.open(prelude=False)
    run = box.process("python3 -m http.server 8123 >/dev/null 2>&1 & echo started", detach=True)
    assert run.read_all() == b"started\n"
    state = ended(run)
    assert state["exit_code"] == 0
    fetch = "import urllib.request, time\nfor i in range(100):\n    try:\n" \
            "        print(urllib.request.urlopen('http://127.0.0.1:8123').status); break\n" \
            "    except OSError: time.sleep(.1)"
    assert box.expect("ok", fetch)["stdout"] == "200\n"
    assert run.state()["left"] >= 1
    box.restart()  # ends the kernel's processes only
    assert box.expect("ok", fetch)["stdout"] == "200\n"
    run.close()
    assert box.expect("ok", "import socket; print(socket.socket().connect_ex(('127.0.0.1', 8123)))"
                      )["stdout"] == "111\n"


def test_processes_and_kernels_end_independently(driver):
    box = driver.open(prelude=False)
    run = box.process("echo here; sleep 1000")
    run.read_until(b"here")
    box.expect("ok", "x = 1")
    box.restart()
    assert run.state()["running"]
    assert box.run("import os; os._exit(3)")["status"] == "kernel_died"
    assert run.state()["running"]
    run.close()
    assert box.expect("ok", "print(2)")["stdout"] == "2\n"


def test_nothing_outlives_the_session(driver):
    box = driver.open(prelude=False)
    runs = [box.process(argv=["python3", "-c", DAEMON], detach=True) for _ in range(3)]
    runs.append(box.process("trap '' TERM INT HUP; while :; do sleep 1; done"))
    runs.append(box.process("exec python3 -c 'import socket; s = socket.create_server((\"\", 8124)); "
                            "s.accept()'"))
    runs.append(box.process("sleep 1000", terminal=True))
    settle(lambda: len(inside(box, "sleep")) >= 3)
    left = [pid for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
            and same_namespace(entry, box) for pid in [int(entry.name)]]
    assert len(left) >= 6
    box.close()
    settle(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in left))
    for run in runs:
        refused(LOST, run.state)
        run.close()
    again = driver.open(prelude=False)  # perhaps in the recycled network namespace
    assert again.expect("ok", "import socket; socket.create_server(('', 8124)); print('free')"
                        )["stdout"] == "free\n"


def test_processes_end_with_a_dead_client(driver, place, state):
    from attack import Driver
    other = Driver(place, state)
    box = other.open(prelude=False)
    box.process("sleep 1000", detach=True)
    settle(lambda: inside(box, "sleep"))
    pids = inside(box, "sleep")
    other.kill()
    settle(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids))


@pytest.mark.one_user
def test_daemons_cannot_escape_accounting(driver):
    """CPU time of a daemon that changed session and parent counts for the process that started it,
    and its limit still applies."""
    box = driver.open(prelude=False)
    burn = ("import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
            "import time\nend = time.process_time() + .5\nwhile time.process_time() < end: pass\n"
            "open('/mnt/data/burnt', 'w').close()")
    run = box.process(argv=["python3", "-c", burn], detach=True)
    ended(run)
    box.expect("ok", "import os, time\nwhile not os.path.exists('burnt'): time.sleep(.05)")
    other = box.process("true")
    assert ended(other)["cpu_ns"] < 200e6
    limited = box.process(argv=["python3", "-c", burn.replace(".5", "50") + "\n"], detach=True,
                          cpu_ms=300)
    assert not limited.wait()["running"]


# ---- many -------------------------------------------------------------------------------------


@pytest.mark.one_user
def test_two_hundred_processes_and_fifty_terminals(driver):
    box = driver.open(prelude=False, pids=400)
    runs = [box.process(argv=["sleep", "1000"]) for _ in range(200)]
    terminals = [box.process(argv=["cat"], terminal=True) for _ in range(50)]
    assert len(box.processes()) == 250
    for at, terminal in enumerate(terminals):
        terminal.write(f"line {at}\n")
    for at, terminal in enumerate(terminals):
        terminal.read_until(f"line {at}".encode())
    assert all(run.state()["running"] for run in runs[::20])
    assert box.expect("ok", "print(3)")["stdout"] == "3\n"
    more = [box.process("sleep 1000") for _ in range(6)]
    assert "processes" in refused(LIMIT, box.process, "true").message
    more.pop().close()
    assert ended(box.process("exit 7"))["exit_code"] == 7


@pytest.mark.one_user
def test_the_process_limit_includes_started_programs(driver):
    box = driver.open(prelude=False, pids=16)
    runs = []
    with pytest.raises(Refused) as info:
        for _ in range(40):
            runs.append(box.process(argv=["sleep", "1000"]))
    assert info.value.code == LIMIT and 8 <= len(runs) <= 16, (info.value, len(runs))
    for run in runs:
        run.close()
    assert ended(box.process("exit 0"))["exit_code"] == 0


def test_a_stopped_launch_does_not_block_other_boxes(driver):
    """A program of the box stops every new process: starts fail in time, and another box works."""
    box, other = driver.open(prelude=False), driver.open(prelude=False)
    box.expect("ok", """
import os, signal, subprocess, sys
subprocess.Popen([sys.executable, '-c', '''
import os, signal
me = {os.getpid(), os.getppid()}
while True:
    for pid in range(2, 200):
        if pid not in me:
            try: os.kill(pid, signal.SIGSTOP)
            except OSError: pass
'''])
""")
    start = time.monotonic()
    for _ in range(5):
        try:
            box.process("true").close()
        except Refused as why:
            assert why.code in (TIMEOUT, LOST), why
            break
    assert time.monotonic() - start < 60
    assert other.expect("ok", "print(4)")["stdout"] == "4\n"
