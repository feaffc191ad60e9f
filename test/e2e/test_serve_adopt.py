"""Kernels that outlive `reckon serve`: kill -9, a stop and an upgrade keep the variables or report their loss."""

import contextlib
import http.client
import io
import pathlib
import signal
import tarfile
import threading
import time

import pytest
from leftovers import PATIENCE
from one_shot import post
from reckon_serve import Server, kill, wait_gone
from test_serve_durable import wardens
from waiting import eventually

GRACE = 60


@pytest.fixture
def server(reckon):
    with Server(reckon, "--adopt-grace", str(GRACE)) as running:
        yield running
        # Kernels that a stop leaves behind would wait for the next daemon.
        for each in running.ask("GET", "/sessions").json["sessions"]:
            running.ask("DELETE", f"/sessions/{each['id']}")


def crash(server, pause=0):
    front = server.front()
    server.stop(signal.SIGKILL)
    wait_gone(front)
    time.sleep(pause)
    server.start()


def ok(record):
    assert record["status"] == "ok", record["error"]
    return record["stdout"]


def lost(record):
    return [each for each in record["diagnostics"] if each["code"] == "kernel_lost"]


def metric(server, result):
    text = server.ask("GET", "/metrics", prefix="").body.decode()
    name = f'reckon_sessions_adopted_total{{result="{result}"}} '
    return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1])


def test_variables_survive_a_crash(server):
    session = server.create(env={"COLOUR": "blue"})
    other = server.create()
    ok(server.execute(session, "import os\nx = {'deep': [1, 2]}\nopened = open('log', 'w')\n"
                               "opened.write('one')\nopened.flush()\nopen('/tmp/t', 'w').write('t')"))
    ok(server.execute(other, "x = 'other'"))
    pid = ok(server.execute(session, "print(os.getpid())"))
    for number in range(3):
        crash(server)
        record = server.execute(session, "x['deep'].append(len(x['deep']))\nopened.write('+')\n"
                                         "opened.flush()\nprint(x, os.environ['COLOUR'])\n"
                                         "print(open('/tmp/t').read(), open('log').read())")
        assert ok(record).splitlines() == [
            f"{{'deep': {[1, 2] + list(range(2, 3 + number))}}} blue", "t one" + "+" * (number + 1)]
        assert not lost(record) and record["sequence"] == 3 + number
        assert ok(server.execute(other, "print(x)")) == "other\n"
        assert metric(server, "ok") == 2 and metric(server, "failed") == 0
        shown = server.ask("GET", f"/sessions/{session}").json
        assert (shown["status"], shown["kernel"]) == ("live", "ready") and "restored_at" not in shown
        assert server.ask("GET", f"/sessions/{session}/files/log").body == b"one" + b"+" * (number + 1)
    assert ok(server.execute(session, "print(os.getpid())")) == pid
    names = {each["name"] for each in
             server.ask("GET", f"/sessions/{session}/variables").json["variables"]}
    assert {"x", "opened"} <= names
    entries = server.ask("GET", "/audit?limit=500").json["entries"]
    assert [each["action"] for each in entries].count("session.adopt") == 6


def test_a_shell_survives_a_crash(server):
    session = server.create(language="bash")
    ok(server.execute(session, "cd /tmp; name=value; greet() { echo hello $1; }; sleep 1000 &"))
    crash(server)
    record = server.execute(session, "greet $name; pwd; jobs -r | wc -l")
    assert ok(record) == "hello value\n/tmp\n1\n" and not lost(record)


def test_boxes_are_frozen_while_there_is_no_daemon(server):
    session = server.create()
    ok(server.execute(session, """
import os, threading, time, subprocess
gaps = [0]
def watch():
    last = time.monotonic()
    while True:
        time.sleep(0.02)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
threading.Thread(target=watch, daemon=True).start()
child = subprocess.Popen(["sh", "-c", "while :; do date +%s%N >> ticks; sleep 0.1; done"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def ticks():
    return [int(each) for each in open("ticks")] if os.path.exists("ticks") else []
def go_on():  # until each has ticked, the first time perhaps with what it saw before
    seen = len(gaps), len(ticks())
    while len(gaps) < seen[0] + 2 or len(ticks()) < seen[1] + 2:
        time.sleep(0.01)
go_on()
"""))
    crash(server, pause=2)
    record = server.execute(session, "go_on()\ntold = ticks()\n"
                                     "print(max(gaps), max(b - a for a, b in zip(told, told[1:])) / 1e9,"
                                     " child.poll())")
    thread, program, status = ok(record).split()
    assert float(thread) > 1.9 and float(program) > 1.9 and status == "None"


@pytest.mark.parametrize("how", ["SIGTERM", "SIGUSR2"])
def test_variables_survive_a_stop_and_an_upgrade(server, how):
    session = server.create()
    ok(server.execute(session, "x = 41\nopen('kept', 'w').write('file')"))
    if how == "SIGTERM":
        assert server.stop() == 0
        server.start()
    else:
        server.process.send_signal(signal.SIGUSR2)
        for line in server.process.stdout:
            if b"listening on" in line:
                break
    record = server.execute(session, "print(x + 1, open('kept').read())")
    assert ok(record) == "42 file\n" and not lost(record)
    assert metric(server, "ok") == 1


def test_a_running_cell_is_lost_and_reported(server):
    """The state of a running cell is unknown, so its kernel ends, and the next record reports the loss."""
    session, idle = server.create(), server.create()
    ok(server.execute(session, "x = 1"))
    ok(server.execute(idle, "x = 1"))
    execution = server.background(session, "x = 2\nimport time\ntime.sleep(1000)")
    server.wait_running(session, execution)
    crash(server)
    shown = server.ask("GET", f"/sessions/{session}/executions/{execution}").json
    assert shown["status"] == "lost"
    record = server.execute(session, "print('x' in globals())")
    assert ok(record) == "False\n" and len(lost(record)) == 1
    record = server.execute(idle, "print(x)")
    assert ok(record) == "1\n" and not lost(record)


def test_a_running_context_loses_all_kernels_and_files(server):
    """Changes of the running cell to the files must not remain."""
    session = server.create()
    context = context_of(server, session)
    ok(server.execute(session, "x = 1"))
    ok(server.execute(session, "y = 1", context=context))
    server.wait_running(session, server.background(
        session, "open('half', 'w').write('x')\nimport time\ntime.sleep(1000)", context=context))
    crash(server)
    for where in ({}, {"context": context}):
        record = server.execute(session, "import os\nprint({'x', 'y'} & set(globals()), os.listdir())",
                                **where)
        assert ok(record) == "set() []\n" and len(lost(record)) == 1


def context_of(server, session, **body):
    return server.ask("POST", f"/sessions/{session}/contexts", body).json["id"]


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_variables_of_contexts_survive(server, how):
    session = server.create(env={"COLOUR": "blue"})
    ok(server.execute(session, "x = 1"))
    python = context_of(server, session, env={"SIZE": "7"})
    shell, fresh = context_of(server, session, language="bash"), context_of(server, session)
    gone = context_of(server, session)
    ok(server.execute(session, "y = 2", context=python))
    ok(server.execute(session, "name=value", context=shell))
    ok(server.execute(session, "z = 3", context=gone))
    server.ask("DELETE", f"/sessions/{session}/contexts/{gone}")
    for _ in range(2):
        if how == "SIGKILL":
            crash(server)
        else:
            assert server.stop() == 0
            server.start()
        for context, code, stdout in (
                (python, "import os\nprint(y, os.environ['SIZE'], os.environ['COLOUR'])", "2 7 blue\n"),
                (shell, "echo $name", "value\n"), (fresh, "print(1)", "1\n")):
            record = server.execute(session, code, context=context)
            assert ok(record) == stdout and not lost(record)
        names = server.ask("GET", f"/sessions/{session}/variables?context={python}").json["variables"]
        assert "y" in {each["name"] for each in names}
    shown = server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]
    assert {each["id"]: each["kernel"] for each in shown} == dict.fromkeys(
        (python, shell, fresh), "ready")
    # A context whose kernel was restarted survives, too, and so does its session.
    assert server.ask("POST", f"/sessions/{session}/restart", {"context": python}).status == 200
    ok(server.execute(session, "y = 4", context=python))
    crash(server)
    assert ok(server.execute(session, "print(y)", context=python)) == "4\n"
    assert not lost(server.execute(session, "x"))


def test_a_session_survives_if_only_its_context_has_a_kernel(server):
    session = server.create()
    context = context_of(server, session)
    ok(server.execute(session, "y = 2", context=context))
    crash(server)
    assert ok(server.execute(session, "print(y)", context=context)) == "2\n"


def test_processes_are_lost_and_the_kernel_survives(server):
    session = server.create()
    ok(server.execute(session, "x = 1"))
    process = server.ask("POST", f"/sessions/{session}/processes",
                         {"command": "sleep 1000"}).json["id"]
    crash(server)
    assert server.ask("GET", f"/sessions/{session}/processes/{process}").json["state"] == "lost"
    record = server.execute(session, "import os\nprint(x, [each for each in os.listdir('/proc')"
                                     " if each.isdigit() and 'sleep' in open(f'/proc/{each}/comm').read()])")
    assert ok(record) == "1 []\n" and not lost(record)
    # New processes work in the adopted box.
    answer = server.ask("POST", f"/sessions/{session}/processes", {"command": "echo on > made"})
    assert answer.status == 201
    eventually(lambda: server.ask("GET", f"/sessions/{session}/files/made").status == 200)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_the_session_of_a_request_ends_with_the_daemon(server, how):
    """The connection of the client is gone, so the session ends at once, not after its idle time."""
    other = server.create()
    ok(server.execute(other, "x = 1"))

    def ask():
        with contextlib.suppress(OSError, http.client.HTTPException):
            post(server, "/piston/api/v2/execute", {
                "language": "python", "version": "*", "run_timeout": 60000,
                "files": [{"content": "import time\ntime.sleep(31557603)", "name": "held.py"}]})

    request_thread = threading.Thread(target=ask)
    request_thread.start()
    eventually(lambda: running(b"held.py"))
    request_session, = (each["id"] for each in server.ask("GET", "/sessions").json["sessions"]
             if each["id"] != other)
    if how == "SIGKILL":
        crash(server)
    else:
        server.stop()
        server.start()
    request_thread.join()
    eventually(lambda: server.ask("GET", f"/sessions/{request_session}").status == 410)
    error = server.ask("GET", f"/sessions/{request_session}").json["error"]
    assert error["code"] == "session_closed", error
    if how == "SIGKILL":
        assert "the request that it was for is over" in str(error), error
    assert ok(server.execute(other, "print(x)")) == "1\n"


def test_files_can_be_transferred_after_a_crash(server):
    session = server.create()
    ok(server.execute(session, "x = 1"))
    at = f"/sessions/{session}/files"
    for number in range(2):
        assert server.ask("PUT", f"{at}/up", b"%d" % number).status in (200, 201)
        crash(server)
        assert server.ask("GET", f"{at}/up").body == b"%d" % number
        assert ok(server.execute(session, "print(x, open('up').read())")) == f"1 {number}\n"
        assert server.ask("DELETE", f"{at}/up").status == 200
        assert ok(server.execute(session, "import os\nprint(os.listdir())")) == "[]\n"


def test_a_crash_leaves_no_half_unpacked_archive(server):
    """After a crash at any moment, all files of the archive exist or none, and no temporary folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for number in range(2000):
            entry = tarfile.TarInfo(f"many/{number}")
            entry.size = 10
            archive.addfile(entry, io.BytesIO(b"0123456789"))
    for pause in (0.05, 0.3, 0.6, 1.0):
        session = server.create()
        ok(server.execute(session, "x = 1"))

        def put(session=session):
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.ask("PUT", f"/sessions/{session}/archive?format=tar", made.getvalue())

        request_thread = threading.Thread(target=put)
        request_thread.start()
        time.sleep(pause)
        crash(server)
        request_thread.join()
        record = server.execute(session, "import os\nprint('x' in globals(), os.listdir(),"
                                         " len(os.listdir('many')) if os.path.exists('many') else 0)")
        has_x, names, count = ok(record).partition(" ")[0], *ok(record).partition(" ")[2].rsplit(" ", 1)
        assert (names, count) in (("[]", "0\n"), ("['many']", "2000\n")), record
        assert (has_x == "True") != bool(lost(record))


def test_an_unreported_loss_is_reported_after_another_crash(server):
    """The kernel was lost, and the next one had run nothing when the daemon was killed again."""
    session = server.create()
    ok(server.execute(session, "x = 1"))
    execution = server.background(session, "import time\ntime.sleep(1000)")
    server.wait_running(session, execution)
    crash(server)
    assert server.ask("GET", f"/sessions/{session}/variables").status == 200
    crash(server)
    record = server.execute(session, "1")
    assert len(lost(record)) == 1
    crash(server)
    assert not lost(server.execute(session, "1"))


def test_boxes_end_after_the_grace_time(reckon):
    """If no daemon starts within --adopt-grace, the box ends and the variables are lost."""
    with Server(reckon, "--adopt-grace", "1") as server:
        session = server.create()
        ok(server.execute(session, "import subprocess\nx = 1\nopen('kept', 'w').write('file')\n"
                                   "subprocess.Popen(['sleep', '31557600'])"))
        crash(server, pause=4 * PATIENCE)
        record = server.execute(session, "print('x' in globals(), open('kept').read())")
        assert ok(record) == "False file\n" and len(lost(record)) == 1
        assert metric(server, "failed") == 1
        assert running(b"31557600") == []
        server.ask("DELETE", f"/sessions/{session}")


def test_a_dead_warden_leaves_no_frozen_box(reckon):
    """With cgroup v1 a frozen process cannot die; the next warden ends it."""
    with Server(reckon, "--adopt-grace", str(GRACE)) as server:
        session = server.create()
        ok(server.execute(session, "import subprocess\nx = 1\n"
                                   "subprocess.Popen(['sleep', '31557601'])"))
        front = server.front()
        server.stop(signal.SIGKILL)
        wait_gone(front)
        time.sleep(1)
        for pid in wardens(reckon):
            kill(pid)
        server.start()
        record = server.execute(session, "print('x' in globals())")
        assert ok(record) == "False\n" and len(lost(record)) == 1
        eventually(lambda: not running(b"31557601"))
        server.ask("DELETE", f"/sessions/{session}")


def running(words):
    return [each for each in pathlib.Path("/proc").iterdir() if each.name.isdigit() and
            words in read(each / "cmdline")]


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_idle_kernels_survive_by_default(reckon):
    with Server(reckon, adopts=True) as server:
        session = server.create()
        ok(server.execute(session, "x = 41"))
        crash(server)
        assert ok(server.execute(session, "print(x + 1)")) == "42\n"
        server.ask("DELETE", f"/sessions/{session}")


def test_with_grace_zero_no_kernel_survives(reckon):
    with Server(reckon, "--adopt-grace", "0") as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        crash(server)
        assert len(lost(server.execute(session, "1"))) == 1
        assert metric(server, "ok") == metric(server, "failed") == 0


def test_a_reload_can_turn_adoption_off(reckon):
    """After a reload with adopt-grace = 0, the next crash loses the kernel."""
    path = reckon.work / "reckond.conf"
    path.write_text("[sessions]\nadopt-grace = 60\n")
    with Server(reckon, "--config", path) as server:
        session = server.create()
        ok(server.execute(session, "x = 1"))
        path.write_text("[sessions]\nadopt-grace = 0\n")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: 'reloads_total{result="ok"} 1' in
                   server.ask("GET", "/metrics", prefix="").body.decode())
        ok(server.execute(session, "x = 2"))
        crash(server)
        assert len(lost(server.execute(session, "1"))) == 1
