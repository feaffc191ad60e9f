"""Several kernels in one box, and restarted ones: all have equal walls, and losses are reported."""
import pathlib
import time

import pytest
from attack import MIB, Refused, show, status_of

KERNEL_LOST, LIMIT, INVALID, LOST = -10, -4, -1, -8
WALLS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
         "Uid", "Gid", "Groups")
NAMESPACES = ("pid", "mnt", "net", "ipc", "uts", "cgroup", "user")


def codes(record):
    return [note["code"] for note in record["diagnostics"]]


def lost(record):
    """The kernel_lost diagnostic of a record."""
    found = [note for note in record["diagnostics"] if note["code"] == "kernel_lost"]
    assert found, show(record)
    return found[0]


def namespaces(pid):
    return {name: pathlib.Path(f"/proc/{pid}/ns/{name}").stat().st_ino for name in NAMESPACES}


def groups(pid):
    """The cgroups that limit memory and processes."""
    lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    found = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            if name in ("memory", "pids"):
                found[name] = path
    return found


def limits(pid):
    text = pathlib.Path(f"/proc/{pid}/limits").read_text()
    return {line[:26].strip(): line[26:68].split() for line in text.splitlines()[1:]
            if not line.startswith("Max data size")}  # depends on the memory of the zygote


# ---- the same walls --------------------------------------------------------------------------


def check_same_walls(first, second):
    ours, theirs = status_of(first), status_of(second)
    assert ours and theirs
    assert {key: ours[key] for key in WALLS} == {key: theirs[key] for key in WALLS}
    assert theirs["Seccomp"] == "2" and theirs["CapBnd"].strip("0") == ""
    assert namespaces(first) == namespaces(second)
    assert groups(first) == groups(second)
    assert limits(first) == limits(second)


@pytest.mark.parametrize("how", ["context", "restart", "restarted context"])
def test_every_later_kernel_has_the_walls_of_the_first(driver, how):
    box, other = driver.open(), driver.open(prelude=False)
    first = other  # the first kernel of another session is the reference
    second = box
    if how != "restart":
        second = box.context(prelude=True)
    if how != "context":
        second.restart()
        second.expect("ok", "1")
    if how == "restart":
        pids = [entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
        inside = [int(entry.name) for entry in pids
                  if same_namespace(entry, box) and status_of(entry.name).get("Name") != "reckon-init"]
        assert len(inside) == 1
        pid = inside[0]
        ours, theirs = status_of(first.pid), status_of(pid)
        # In another box the uid on the host differs (as root); all other fields are equal.
        names = [name for name in WALLS if name not in ("Uid", "Gid")]
        assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
        assert limits(first.pid) == limits(pid)
    elif how == "context":
        check_same_walls(box.pid, second.pid)


def same_namespace(entry, box):
    try:
        return (entry / "root/mnt/data").stat().st_dev == box.about["device"]
    except OSError:
        return False


def test_system_calls_that_a_context_is_refused(driver):
    context = driver.open().context(prelude=True)
    answer = context.ask("""
answer = {name: call(name, 0, 0, 0, 0, 0) for name in
          ("ptrace", "bpf", "mount", "unshare", "setns", "keyctl", "io_uring_setup",
           "userfaultfd", "perf_event_open", "open_by_handle_at", "process_vm_readv")}
answer["dumpable"] = call("prctl", 3, 0, 0, 0, 0)
answer["uid"] = _os.getuid()
answer["etc"] = attempt(open, "/etc/shadow", "w") if True else 0
answer["fds"] = sorted(int(n) for n in _os.listdir("/proc/self/fd"))[:4]
""")
    for name, result in answer.items():
        if name not in ("dumpable", "uid", "etc", "fds"):
            assert result in ("EPERM", "ENOSYS", "EACCES"), (name, result)
    assert answer["dumpable"] == 0 and answer["uid"] == 1000
    assert answer["etc"] in ("EROFS", "EACCES", "ENOENT")
    assert answer["fds"] == [0, 1, 2, 3]


def test_denied_calls_are_reported_to_the_context_that_made_them(driver):
    box = driver.open()
    context = box.context(prelude=True)
    record = context.expect("ok", "call('bpf', 0, 0, 0)")
    assert record["receipt"]["syscalls_denied"] == {"bpf": 1}
    assert box.expect("ok", "1")["receipt"]["syscalls_denied"] == {}


def test_contexts_cannot_reach_each_other(driver):
    """Contexts share files and loopback, but cannot read each other's /proc files and memory."""
    box = driver.open()
    context = box.context(prelude=True)
    box.expect("ok", "secret = 'of the first'")
    pid = box.ask("answer = _os.getpid()")
    assert context.ask(f"""
answer = [attempt(open, '/proc/{pid}/mem', 'rb'), attempt(open, '/proc/{pid}/environ', 'rb'),
          attempt(_os.listdir, '/proc/{pid}/fd'), call('ptrace', 16, {pid}, 0, 0)]
""") == ["ENOENT"] * 3 + ["EPERM"]
    assert context.run("secret")["error"]["name"] == "NameError"


# ---- one box ----------------------------------------------------------------------------------


def test_python_and_bash_share_files_and_loopback(driver):
    box = driver.open(prelude=False)
    shell = box.context(language="bash")
    box.expect("ok", "open('from_python.txt', 'w').write('p')")
    assert shell.expect("ok", "cat from_python.txt; echo b > from_bash.txt; X=1")["stdout"] == "p"
    assert box.expect("ok", "print(open('from_bash.txt').read())")["stdout"] == "b\n\n"
    assert {entry["path"] for entry in box.files()} == {"from_python.txt", "from_bash.txt"}
    assert shell.files() == box.files()
    box.expect("ok", "import socket; s = socket.create_server(('127.0.0.1', 7777))")
    assert shell.expect("ok", "exec 9<>/dev/tcp/127.0.0.1/7777 && echo reached")["stdout"] == \
        "reached\n"
    record = shell.expect("ok", "echo $X")
    assert record["stdout"] == "1\n" and record["kernel"] == "bash"
    assert record["context"].startswith("ctx_")


def test_each_context_has_its_own_variables_and_directory(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "import os; os.makedirs('sub'); x = 1")
    context = box.context(cwd="/mnt/data/sub", env=["WHO=second"])
    assert context.expect("ok", "import os; print(os.getcwd(), os.environ['WHO'])")["stdout"] == \
        "/mnt/data/sub second\n"
    assert context.run("x")["error"]["name"] == "NameError"
    assert box.expect("ok", "print(x, os.getcwd(), os.environ.get('WHO'))")["stdout"] == \
        "1 /mnt/data None\n"
    context.restart()
    assert context.expect("ok", "import os; print(os.getcwd(), os.environ['WHO'])")["stdout"] == \
        "/mnt/data/sub second\n"
    assert "cwd_missing" in codes(box.context(cwd="/nowhere").expect("ok", "1"))
    assert "cwd_missing" in codes(box.context(cwd="/nowhere", language="bash").expect("ok", "pwd"))


def test_all_contexts_share_the_sequence_numbers(driver):
    box = driver.open(prelude=False)
    context = box.context()
    numbers = [each.expect("ok", "1")["sequence"] for each in (box, context, box, context)]
    assert numbers == [1, 2, 3, 4]
    box.restart()
    assert box.expect("ok", "1")["sequence"] == 5


def test_contexts_run_at_the_same_time(driver):
    """Each cell waits for a file of the other: run one after the other, they would never end."""
    box = driver.open(prelude=False)
    context = box.context()
    wait = ("import os, time\nopen('{0}', 'w').close()\n"
            "while not os.path.exists('{1}'): time.sleep(.01)\nprint('met')")
    box.background(wait.format("a", "b"))
    context.background(wait.format("b", "a"))
    first, second = box.join(), context.join()
    assert first["stdout"] == second["stdout"] == "met\n"
    assert "shared_measurement" in codes(first) and "shared_measurement" in codes(second)
    # Each new file is reported once, in the record that ended first.
    assert sorted(file["path"] for record in (first, second) for file in record["files"]) == \
        ["a", "b"]
    assert "shared_measurement" not in codes(box.expect("ok", "1"))


@pytest.mark.one_user
def test_memory_is_one_for_all_kernels(driver):
    """Each kernel stays below its own limit; together they exceed the box's limit."""
    box = driver.open(prelude=False, memory_bytes=256 * MIB, disk_bytes=64 * MIB)
    kernels = [box, *(box.context() for _ in range(3))]
    for each in kernels:
        each.run("held = b'x' * (120 << 20)")
    # The box has 320 MiB, so at most two kernels with 120 MiB survive.
    alive = [each for each in kernels if refused_code(each.check) == 0]
    assert 1 <= len(alive) <= 2
    for each in kernels:
        record = each.expect("ok", "print('held' in globals())")
        assert record["stdout"] == f"{each in alive}\n"
        assert ("kernel_lost" in codes(record)) == (each not in alive)
        if each not in alive:
            assert "out of memory" in lost(record)["detail"]["why"]


@pytest.mark.one_user
def test_processes_are_counted_together(driver):
    box = driver.open(pids=32)
    context = box.context(prelude=True)
    sleepers = "import subprocess\nmade = []\ntry:\n    while len(made) < 100:\n" \
               "        made.append(subprocess.Popen(['sleep', '1000']))\n" \
               "except OSError as e:\n    pass\nanswer = len(made)"
    assert box.ask(sleepers) < 32
    assert context.ask(sleepers) < 4


def test_a_flood_of_contexts_is_refused(driver):
    box = driver.open(prelude=False)
    contexts = []
    with pytest.raises(Refused) as refused:
        for _ in range(20):
            contexts.append(box.context())
    assert refused.value.code == LIMIT and len(contexts) == 7
    assert "context" in refused.value.remedy
    contexts.pop().close()
    assert box.context().expect("ok", "print(1)")["stdout"] == "1\n"


def test_a_context_of_another_template_or_language_is_refused(driver):
    box = driver.open(prelude=False)
    for wrong in ({"template": "data"}, {"language": "cobol"}, {"cwd": "relative"}):
        with pytest.raises(Refused) as refused:
            box.context(**wrong)
        assert refused.value.code == INVALID, wrong
    assert box.context(template="python").expect("ok", "print(2)")["stdout"] == "2\n"


@pytest.mark.one_user
def test_closing_a_context_ends_only_its_processes(driver):
    box = driver.open(prelude=False)
    context = box.context()
    start = "import subprocess, sys\nd = subprocess.Popen([sys.executable, '-c', '''\nimport os\n" \
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n" \
            "        os.execlp(\"sleep\", \"{0}\", \"1000\")\n    os._exit(0)\n'''])\nd.wait()"
    box.expect("ok", start.format("first-daemon"))
    context.expect("ok", start.format("second-daemon"))
    settle(lambda: running(box) == {"first-daemon", "second-daemon"})  # after their exec
    context.close()
    settle(lambda: running(box) == {"first-daemon"})
    assert box.expect("ok", "print('here')")["stdout"] == "here\n"


def running(box):
    """Names of the daemons in a box, seen from outside."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and same_namespace(entry, box):
            try:
                name = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
            except OSError:
                continue
            if name.endswith("-daemon"):
                found.add(name)
    return found


def settle(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_closing_the_session_ends_its_contexts(driver):
    box = driver.open(prelude=False)
    context = box.context()
    context.expect("ok", "x = 1")
    box.close()
    for call in (context.check, context.variables, lambda: context.run("x")):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == LOST
    context.close()


# ---- a kernel's death, and restart -----------------------------------------------------------

DEATHS = {
    "exit": ("import os; os._exit(3)", "kernel_died", "exit status 3"),
    "signal": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "kernel_died", "signal 9"),
    "crash": ("import ctypes; ctypes.string_at(0)", "kernel_died", "signal 11"),
    "descriptor 3": ("import os; os.write(3, b'x'); import time; time.sleep(10)", "kernel_died",
                     "protocol"),
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_dead_kernel_is_reported_and_the_session_lives(driver, how):
    code, status, why = DEATHS[how]
    box = driver.open(prelude=False)
    context = box.context()
    context.expect("ok", "mine = 'other'")
    box.expect("ok", "first = 1; second = [2]\nopen('kept.txt', 'w').write('k')\n"
                     "open('/tmp/kept.txt', 'w').write('t')")
    record = box.expect(status, code)
    assert set(lost(record)["detail"]["variables"]) == {"first", "second"}
    with pytest.raises(Refused) as refused:
        box.check()
    assert refused.value.code == KERNEL_LOST and why in refused.value.message
    assert {entry["path"] for entry in box.files()} == {"kept.txt"}
    record = box.expect("ok", "print(open('kept.txt').read(), open('/tmp/kept.txt').read())")
    assert record["stdout"] == "k t\n"
    note = lost(record)
    assert set(note["detail"]["variables"]) == {"first", "second"} and why in note["detail"]["why"]
    assert "first" in record["text"] and "kernel_lost" in record["text"]
    assert box.run("first")["error"]["name"] == "NameError"
    assert "kernel_lost" not in codes(box.expect("ok", "1"))
    assert context.expect("ok", "print(mine)")["stdout"] == "other\n"


def test_a_session_survives_out_of_memory(driver):
    box = driver.open(prelude=False, memory_bytes=256 * MIB, disk_bytes=64 * MIB)
    context = box.context()
    context.expect("ok", "mine = 1")
    box.expect("ok", "x = 1; open('kept.txt', 'w').write('k')")
    record = box.run("import os\nblocks = []\nfor _ in range(8):\n    if os.fork() == 0:\n"
                     "        b = bytearray(200 << 20)\n        import time; time.sleep(100)\n"
                     "blocks.append(bytearray(220 << 20))\nimport time; time.sleep(3)")
    if record["status"] != "out_of_memory":
        # Linux killed only children, so the kernel lives.
        assert record["status"] in ("ok", "error", "kernel_died"), show(record)
    box.expect("ok", "print(open('kept.txt').read())")
    assert box.expect("ok", "print(open('kept.txt').read())")["stdout"] == "k\n"


def test_uninterruptible_code_loses_the_kernel_but_no_files(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "x = 1; open('kept.txt', 'w').write('k')")
    record = box.run("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
                     "while True: pass", timeout_ms=300)
    assert record["status"] == "timeout"
    assert lost(record)["detail"]["variables"] == ["x"]
    record = box.expect("ok", "print(open('kept.txt').read())")
    assert record["stdout"] == "k\n" and lost(record)


def test_kill_ends_the_kernel_at_once(driver):
    box = driver.open(prelude=False)
    other = box.context()
    box.background("open('began', 'w').close()\nimport time\nwhile True: time.sleep(1)")
    while not other.ask("import os; answer = os.path.exists('began')"):
        time.sleep(0.05)
    box.kill()
    record = box.join()
    assert record["status"] == "killed"
    assert box.expect("ok", "print(1)")["stdout"] == "1\n"


def test_restart_keeps_files_and_ends_processes(driver):
    box = driver.open(prelude=False)
    box.expect("ok", "x = 1\nopen('a', 'w').write('a'); open('/tmp/b', 'w').write('b')\n"
                     "import subprocess\np = subprocess.Popen(['sleep', '1000'], "
                     "executable='/bin/sleep')\nimport os\nopen('/dev/shm/c', 'w').write('c')")
    box.restart()
    record = box.expect("ok", "print(open('a').read(), open('/tmp/b').read(), "
                              "open('/dev/shm/c').read())\nprint('x' in globals())\n"
                              "import os; print([n for n in os.listdir('/proc') if n.isdigit()])")
    lines = record["stdout"].splitlines()
    assert lines[:2] == ["a b c", "False"] and "kernel_lost" not in codes(record)
    assert len(eval(lines[2])) == 1, lines  # itself: pid 1 is not shown


def test_fifty_restarts_leave_nothing_behind(driver):
    box = driver.open(prelude=False)
    context = box.context()
    for number in range(25):
        for each in (box, context):
            each.restart()
            each.expect("ok", f"n = {number}")
    assert box.expect("ok", "print(n)")["stdout"] == "24\n"
    # The driver fixture compares the host's resources with before.


def test_a_fork_bomb_in_one_context_while_the_other_is_restarted(driver):
    box = driver.open(prelude=False, pids=64)
    context = box.context()
    context.expect("ok", "mine = 1")
    bomb = "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" \
           "end = time.time() + 8\ndef bomb():\n    while time.time() < end:\n        try:\n" \
           "            if os.fork() == 0:\n                os.setsid()\n" \
           "        except OSError:\n            time.sleep(.001)\n    os._exit(0)\n" \
           "if os.fork() == 0: bomb()\n"
    box.expect("ok", bomb)
    time.sleep(0.3)
    for _ in range(3):
        context.restart()
        assert context.expect("ok", "print('fresh')")["stdout"] == "fresh\n"
    box.restart()
    assert box.expect("ok", "print('quiet')")["stdout"] == "quiet\n"
    assert box.expect("ok", "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))"
                      )["stdout"] == "1\n"  # itself: kernels do not see each other


def test_a_dead_pid_1_is_the_end_of_the_session(driver):
    """The host's administrator kills pid 1 of a box: requests then fail with LOST."""
    box = driver.open(prelude=False)
    box.expect("ok", "x = 1")
    init = [entry.name for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
            and same_namespace(entry, box) and status_of(entry.name).get("Name") == "reckon-init"]
    import os
    import signal
    os.kill(int(init[0]), signal.SIGKILL)
    settle(lambda: refused_code(box.check) in (KERNEL_LOST, LOST))
    with pytest.raises(Refused) as refused:
        box.run("x")
    assert refused.value.code == LOST and refused_code(box.check) == LOST


def refused_code(call):
    try:
        call()
    except Refused as refused:
        return refused.code
    return 0


def test_a_branch_copies_only_the_first_kernel(driver):
    box = driver.open(prelude=False)
    context = box.context()
    box.expect("ok", "x = 1; open('a', 'w').write('a')")
    copy = box.branch()
    assert copy.expect("ok", "print(x, open('a').read())")["stdout"] == "1 a\n"
    assert context.expect("ok", "y = 2; print(y)")["stdout"] == "2\n"
    with pytest.raises(Refused) as refused:
        context.branch()
    assert refused.value.code == INVALID
    copy.restart()
    assert copy.expect("ok", "print('x' in globals(), open('a').read())")["stdout"] == "False a\n"
    assert box.expect("ok", "print(x)")["stdout"] == "1\n"
