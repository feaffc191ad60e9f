"""The running daemon under attack by a box or a client, and when one of its processes dies.

One `reckon serve` has two tenants. After each attack the victim's session must still print its
secret, and the daemon and its front must be the same processes as before.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import secrets
import signal
import tempfile
import threading
import time

import pytest
from attack import PRELUDE, HostUsage, status_of
from leftovers import Leftovers
from reckon_cli import Reckon, parse_json
from reckon_serve import Server
from test_network import addresses_of_this_host
from waiting import eventually

pytestmark = pytest.mark.one_user

UNREACHABLE = {"ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "EACCES", "EADDRNOTAVAIL", "EINVAL"}
ENDS = {"ok", "error", "killed", "kernel_died", "timeout", "infra_error", "output_limit",
        "out_of_memory", "interrupted"}
HELPERS = PRELUDE.replace("{NUMBERS}", "{}")
MIB = 1 << 20


def new_server(place, *args):
    return Server(Reckon(place, tempfile.mkdtemp(prefix="daemon-", dir=place.base)), *args)


@pytest.fixture(scope="module")
def server(place):
    with new_server(place) as running:
        yield running


class Victim:
    """A session of another tenant."""

    def __init__(self, server):
        tenant = server.ask("POST", "/tenants", {"name": "victim"}).json["id"]
        key = server.ask("POST", "/keys", {"tenant": tenant, "scopes": [
            "sessions", "execute", "files", "read"]}).json["key"]
        self.secret = secrets.token_hex(16)
        self.server, self.key = server, key
        with self.speaking():
            self.session = server.create()
            server.execute(self.session, f"secret = '{self.secret}'")
        self.pids = server.process.pid, server.front()

    @contextlib.contextmanager
    def speaking(self):
        before, self.server.key = self.server.key, self.key
        try:
            yield
        finally:
            self.server.key = before

    def check(self):
        with self.speaking():
            record = self.server.execute(self.session, "print(secret)")
        assert record["stdout"].split() == [self.secret]
        assert self.pids == (self.server.process.pid, self.server.front())


@pytest.fixture(scope="module")
def victim(server):
    return Victim(server)


@pytest.fixture
def box(server, victim):
    """An attacker's session with the helpers of the other attacks."""
    session = server.create()
    server.execute(session, HELPERS)
    yield session
    server.ask("DELETE", f"/sessions/{session}")
    victim.check()


def ask_box(server, session, code):
    """Runs the code in a cell and returns its variable `answer`."""
    record = server.execute(session, code + "\nimport json; print(json.dumps(answer))")
    assert record["status"] == "ok", record
    return json.loads(record["stdout"].splitlines()[-1])


def survives(server, session, code, **more):
    record = server.execute(session, code, timeout_s=6, **more)
    assert record["status"] in ENDS, record
    return record


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    return int(status_of(pid)["VmRSS"].split()[0]) * 1024


# ---- the network of a box of the daemon -----------------------------------------------------------

def test_the_daemon_cannot_be_reached_from_its_boxes(server, box):
    answer = ask_box(server, box, f'''
import socket
def reach(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(2); s.connect((address, {server.port})); return "connected"
answer = [attempt(reach, a) for a in {addresses_of_this_host()!r} + ["::1", "::ffff:127.0.0.1",
          "0.0.0.0", "169.254.169.254", "fd00:ec2::254", "10.0.0.1"]]
''')
    assert set(answer) <= UNREACHABLE, answer


def test_a_box_has_no_sockets_or_state_of_the_daemon(server, box):
    state = server.reckon.state
    places = [str(path) for path in pathlib.Path(state).rglob("*")][:200] + \
        [str(state), "/run/reckon", str(server.reckon.place.runtime)]
    answer = ask_box(server, box, f'''
import os, socket
answer = [os.path.lexists(p) for p in {places!r}] + \\
         [attempt(socket.socket(socket.AF_UNIX).connect, p) == "ENOENT" for p in {places[-5:]!r}]
''')
    assert not any(answer[:len(places)])
    assert all(answer[len(places):])


def test_abstract_sockets_of_two_sessions(server, box):
    other = server.create()
    server.execute(other, "import socket; s = socket.socket(socket.AF_UNIX)\n"
                          "s.bind('\\0meet'); s.listen()")
    assert ask_box(server, box, "import socket; s = socket.socket(socket.AF_UNIX)\n"
                                "answer = attempt(s.connect, '\\0meet')") == "ECONNREFUSED"
    server.ask("DELETE", f"/sessions/{other}")


def test_loopback_works_inside(server, box):
    assert ask_box(server, box, r'''
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: listener.accept()[0].sendall(b"hello")).start()
answer = socket.create_connection(listener.getsockname()).recv(9).decode()
''') == "hello"


# ---- the channel ----------------------------------------------------------------------------------

def test_nothing_is_inherited(server, box):
    """A kernel's descriptors, environment and command line contain nothing of the daemon's, and its
    descriptors are the same in every session."""
    code = ("import os\nfds = {}\n"
            "for fd in os.listdir('/proc/self/fd'):\n"
            "    try: fds[int(fd)] = os.readlink('/proc/self/fd/' + fd)\n"
            "    except OSError: pass\n"
            "answer = [sorted(k for k, v in fds.items() if '/proc/' not in v), dict(os.environ),\n"
            "          open('/proc/self/cmdline').read()]")
    first = ask_box(server, box, code)
    other = server.create()
    second = ask_box(server, other, code)
    server.ask("DELETE", f"/sessions/{other}")
    assert first[0] == second[0]
    for _, env, cmdline in (first, second):
        shown = json.dumps([env, cmdline])
        for secret in (server.key, server.key[3:], str(server.reckon.state), "RECKON_"):
            assert secret not in shown, (secret, shown)


def test_forged_frames_on_every_descriptor(server, box):
    record = survives(server, box, r'''
import atexit, os, subprocess
frames = [b'{"event":"done","record":{}}\n', b"\n\nevent: done\ndata: {}\n\n", b"RKK1" + b"\xff" * 60,
          b"HTTP/1.1 200 OK\r\n\r\n", os.urandom(512)]
def forge():
    for fd in os.listdir("/proc/self/fd"):
        for frame in frames: attempt(os.write, int(fd), frame)
atexit.register(forge)
subprocess.run(["/usr/bin/python3", "-c", "import os\nfor fd in range(3, 64):\n try: os.write(fd, b'x' * 99)\n"
                "\n except OSError: pass"], close_fds=False)
forge()
''')
    assert record["id"].startswith("ex_")
    listed = server.ask("GET", f"/sessions/{box}/executions").json["executions"]
    assert [row["id"] for row in listed][0] == record["id"]


@pytest.mark.parametrize("harm", [
    pytest.param("import os; os.close(3)", id="closed"),
    pytest.param("import os; os.dup2(0, 3)", id="replaced"),
    pytest.param("import os; os.closerange(0, 4096)", id="all-closed"),
    pytest.param("import os, socket, threading\ns = socket.socket(fileno=os.dup(3))\n"
                 "for _ in range(4): threading.Thread(target=lambda: [s.recv(65536) for _ in "
                 "range(99)], daemon=True).start()", id="stolen")])
def test_a_closed_or_stolen_control_socket(server, box, harm):
    """A kernel whose requests were stolen is reported as lost; the session keeps its files."""
    server.ask("PUT", f"/sessions/{box}/files/kept.txt", b"kept")
    survives(server, box, "before = 1")
    survives(server, box, harm)
    survives(server, box, "1")
    for _ in range(3):
        record = survives(server, box, "print(open('kept.txt').read(), 'before' in globals())")
        if record["status"] == "ok":
            break
    assert record["stdout"] in ("kept True\n", "kept False\n"), record
    if record["stdout"] == "kept False\n":
        rows = server.ask("GET", f"/sessions/{box}/executions").json["executions"]
        all_notes = [server.ask("GET", f"/sessions/{box}/executions/{row['id']}").json["diagnostics"]
                     for row in rows]
        assert any(note["code"] == "kernel_lost" for notes in all_notes for note in notes)


def test_a_flood_of_descriptors(server, box):
    pid = server.process.pid
    before = descriptors(pid)
    survives(server, box, r'''
import array, os, socket
s = socket.socket(fileno=os.dup(3))
r, w = os.pipe()
for _ in range(20):
    attempt(s.sendmsg, [b"x" * 24], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r] * 253))])
''')
    survives(server, box, "1")
    eventually(lambda: descriptors(pid) <= before + 16, "descriptors stay open")


# ---- output ---------------------------------------------------------------------------------------

FLOODS = [
    pytest.param("for _ in range(10000): os.write(1, b'x' * MIB)", id="10-gb"),
    pytest.param("for _ in range(1000): os.write(1, b'y' * MIB)", id="a-line-of-1-gb"),
    pytest.param("for _ in range(1000000): print(_)", id="a-million-prints"),
    pytest.param("for _ in range(1000000): print()", id="a-million-empty-lines"),
    pytest.param("subprocess.run('head -c 2000000000 /dev/zero', shell=True)", id="of-a-child")]


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("stream", [False, True], ids=["record", "events"])
def test_a_flood_of_output(server, box, flood, stream):
    """The record has the first bytes and a limited size, and the memory of the daemon does not grow
    with the output."""
    pids = server.process.pid, server.front()
    before = [resident(pid) for pid in pids]
    code = f"import os, subprocess\nMIB = {MIB}\nos.write(1, b'first\\n')\n{flood}"
    if stream:
        path = f"/sessions/{box}/executions"
        with server.events("POST", path, {"code": code, "stream": True, "timeout_s": 8}) as (each, _):
            shown = 0
            for _, name, data in each:
                shown += len(json.dumps(data))
                record = data.get("record") if name == "done" else None
        assert shown < 64 * MIB
        if "streamed" in record:
            record = server.ask("GET", f"{path}/{record['id']}").json
    else:
        record = server.execute(box, code, timeout_s=8)
    assert record["status"] in ("ok", "timeout", "output_limit", "killed"), record["status"]
    assert record["stdout"].startswith("first\n") and len(record["stdout"]) <= 3 * MIB
    if record["status"] == "ok" and "stdout" in record["truncated"]:
        cut = record["truncated"]["stdout"]
        assert cut["bytes_total"] > cut["bytes_kept"]
    grown = [resident(pid) - was for pid, was in zip(pids, before)]
    assert max(grown) < 96 * MIB, grown


def test_output_that_is_not_text(server, box):
    """Each response is one JSON value in valid UTF-8, and output cannot forge events."""
    code = r'''
import os, sys
os.write(1, bytes(range(256)) + b"\xf0\x9f\x98" + b"\xed\xa0\x80" + b"\0\0")
print("\ud800 lone".encode("utf-8", "surrogatepass"), "\x1b]52;c;AAAA\x07", "\u202egnp.exe", "\r over")
print("\n\ndata: {}\n\nevent: done\ndata: {\"record\": {}}\n\nid: 1\n\n```\n</stdout>\x85\u2028\u2029", end="")
'''
    answer = server.ask("POST", f"/sessions/{box}/executions", {"code": code})
    record = parse_json(answer.body.decode("utf-8"))
    assert record["status"] == "ok"
    with server.events("POST", f"/sessions/{box}/executions", {"code": code, "stream": True}) as \
            (events, _):
        seen = list(events)
    assert [name for _, name, _ in seen].count("done") == 1 and seen[-1][1] == "done"
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][2]["record"]["stdout"] == record["stdout"]
    assert "\n\ndata: {}\n\nevent: done" in record["stdout"]


@pytest.mark.parametrize("body", ["raise ValueError('hostile')", "return 'x' * (1 << 30)", "return 5",
                                  "raise SystemExit", "while True: pass"])
def test_hostile_hooks(server, box, body):
    hooks = "".join(f"    def {hook}(self, *a, **k):\n        {body}\n"
                    for hook in ("__repr__", "_repr_html_", "_repr_mimebundle_", "__del__"))
    record = server.execute(box, f"class Evil:\n{hooks}Evil()", timeout_s=3)
    assert record["status"] in ENDS
    assert len(json.dumps(record)) < 24 * MIB


@pytest.mark.parametrize("code", [
    "class E(Exception):\n    def __str__(self): raise E()\nraise E()",
    "def f(n): return f(n - 1) if n else 1 / 0\n"
    "import sys; sys.setrecursionlimit(1000000); f(100000)",
    "compile('x = ' + '(' * 50_000_000, 'big', 'exec')"], ids=["str", "deep", "large"])
def test_hostile_exceptions(server, box, code):
    record = survives(server, box, code)
    assert record["status"] in ENDS - {"ok"}
    assert len(json.dumps(record)) < 24 * MIB


def test_a_bomb_of_displays(server, box):
    record = survives(server, box, "for i in range(10000): display(i)")
    assert record["status"] in ("ok", "output_limit", "timeout")
    assert len(record["results"]) < 1000 and record["diagnostics"]


# ---- clients --------------------------------------------------------------------------------------

def test_sessions_of_other_tenants_are_not_found(server, victim, box):
    """A session of another tenant and an unknown session both return 404 session_not_found."""
    stranger = server.ask("POST", "/keys", {"tenant": server.ask(
        "POST", "/tenants", {"name": "stranger"}).json["id"], "scopes": [
            "sessions", "execute", "files", "read"]}).json["key"]
    guess = "se_" + "0" * len(victim.session[3:])
    before, server.key = server.key, stranger
    try:
        for path in ("", "/executions", "/files", "/files/secret", "/variables", "/receipts"):
            theirs = server.ask("GET", f"/sessions/{victim.session}{path}")
            nobodys = server.ask("GET", f"/sessions/{guess}{path}")
            assert (theirs.status, theirs.code) == (nobodys.status, nobodys.code) == \
                (404, "session_not_found"), path
        for trick in (f"{victim.session}%00", f"x/../{victim.session}", f"%2e%2e/{victim.session}",
                      f"./{victim.session}", f"{victim.session}%2ffiles", victim.session.lower(),
                      f"{victim.session}.", f" {victim.session}".replace(" ", "%20"), "..", "%2e%2e"):
            assert server.ask("GET", f"/sessions/{trick}").status in (400, 404), trick
    finally:
        server.key = before


def test_two_clients_never_interleave(server, box):
    """Each record has all of its own output; cells of one kernel run one after the other."""
    server.execute(box, "depth = 0")
    code = ("depth += 1\nassert depth == 1\nimport time\n"
            "for i in range(5): print('{0}', flush=True); time.sleep(.002)\ndepth -= 1")

    def client(name):
        for turn in range(6):
            record = server.execute(box, code.format(f"{name}{turn}"))
            assert record["status"] == "ok" and record["stdout"] == f"{name}{turn}\n" * 5
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(client, name) for name in ("a", "b")]:
            done.result()


def test_a_session_is_closed_during_all_kinds_of_requests(server, victim, box):
    """A session is closed under cells, uploads, downloads, archives and new contexts."""
    for turn in range(6):
        session = server.create()
        server.execute(session, f"open('big', 'wb').write(b'x' * {8 * MIB})")
        path, stop = f"/sessions/{session}", threading.Event()
        calls = [("POST", f"{path}/executions", {"code": "import time\nwhile True: time.sleep(.01)"}),
                 ("PUT", f"{path}/files/up", b"y" * (8 * MIB)), ("GET", f"{path}/files/big", None),
                 ("GET", f"{path}/archive?path=.&format=zip", None), ("POST", f"{path}/contexts", {}),
                 ("GET", f"{path}/variables", None), ("POST", f"{path}/restart", {})]

        def repeat_call(method, where, body, until=stop):
            seen = set()
            while not until.is_set():
                with contextlib.suppress(OSError, __import__("http.client").client.HTTPException):
                    seen.add(server.ask(method, where, body).status)
            return seen
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            running = [pool.submit(repeat_call, *each) for each in calls]
            time.sleep(0.05 * turn)
            assert server.ask("DELETE", path).status in (200, 204)
            time.sleep(0.1)
            stop.set()
            seen = set().union(*(each.result() for each in running))
        assert not seen & {500, 502}, seen
        assert server.ask("GET", path).status == 410
    victim.check()


# ---- parts that die -------------------------------------------------------------------------------

def everything(place):
    """All of Reckon's processes, cgroups and mounts, not only those since a snapshot."""
    leftovers = Leftovers(place.program_dirs)
    leftovers.before = set()
    return leftovers


def settled(place):
    """Waits up to 2 s while idle, so that the warden makes its parked kernels and pooled boxes."""
    host_usage = HostUsage(everything(place))
    host_usage.settle({}, 2)
    return host_usage


def zygotes(leftovers):
    """Host pids of zygotes: children of a warden that run outside of every box."""
    pids = {int(item[1]): item[2] for item in leftovers.new() if item[0] == "process"}
    wardens = {pid for pid, name in pids.items() if name.startswith("reckon-warden")}
    return [pid for pid, name in pids.items() if name.startswith("reckon-zygote-python")
            and int(status_of(pid).get("PPid", 0)) in wardens]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_zygote_dies_or_hangs(place, number):
    """Running sessions continue; new ones start, or fail in time with a code and a remedy."""
    leftovers = everything(place)
    with new_server(place) as server:
        session = server.create()
        server.execute(session, "x = 1")
        found = zygotes(leftovers)
        assert found
        for pid in found:
            os.kill(pid, number)
        try:
            assert server.execute(session, "print(x)")["stdout"] == "1\n"
            for _ in range(4):
                answer = server.ask("POST", "/sessions", {"template": "python"})
                if answer.status == 201:
                    ran = server.ask("POST", f"/sessions/{answer.json['id']}/executions",
                                     {"code": "print(2)"})
                    assert ran.status != 200 or ran.json["stdout"] == "2\n" or \
                        ran.json["status"] == "infra_error"
                else:
                    assert answer.json["error"]["code"] and answer.json["error"]["remedy"], answer
            assert server.execute(session, "print(x)")["stdout"] == "1\n"
        finally:
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


def test_the_daemon_is_killed_under_a_hundred_cells(place, server):
    """No process, mount or cgroup of the cells outlives the daemon; after a restart the record and
    the files of a finished cell still exist."""
    warm = server.create()
    server.execute(warm, "1")
    server.ask("DELETE", f"/sessions/{warm}")
    host_usage = settled(place)
    base = host_usage.measure()
    doomed, before = new_server(place, "--max-sessions", "120"), count_sleepers()
    with doomed:
        sessions = [doomed.create() for _ in range(100)]
        done = doomed.execute(sessions[0], "open('f', 'w').write('kept'); print('done')")
        running = [doomed.background(session, "import subprocess, time\n"
                                     "subprocess.Popen(['sleep', '1000'])\ntime.sleep(1000)")
                   for session in sessions]
        for session, execution in list(zip(sessions, running))[:8]:
            doomed.wait_running(session, execution)
        doomed.process.kill()
        doomed.process.wait()
        eventually(lambda: count_sleepers() <= before, "what cells started outlives the daemon")
        doomed.process.stdout.close()
        doomed.start()
        assert doomed.ask("GET", f"/sessions/{sessions[0]}/executions/{done['id']}").json[
            "stdout"] == "done\n"
        assert doomed.execute(sessions[0], "print(open('f').read())")["stdout"] == "kept\n"
    over = host_usage.settle(base, 30)
    assert not over, over


def count_sleepers():
    """The number of processes named sleep in any other pid namespace."""
    found = [status_of(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return sum(1 for status in found if status.get("Name") == "sleep"
               and len(status.get("NSpid", "").split()) > 1)


# ---- wear -----------------------------------------------------------------------------------------

def test_starts_and_ends_leave_nothing(server, victim, place):
    """Six clients start and end three hundred sessions, which must leave nothing on the host."""
    for _ in range(6):  # make the zygotes and pooled boxes count as the baseline
        server.ask("DELETE", f"/sessions/{server.create()}")
    host_usage = settled(place)
    base, fds = host_usage.measure(), descriptors(server.process.pid)

    def client(_):
        for turn in range(50):
            session = server.create()
            if turn % 5 == 0:
                assert server.execute(session, "print(6 * 7)")["stdout"] == "42\n"
            assert server.ask("DELETE", f"/sessions/{session}").status in (200, 204)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(client, range(6)))
    over = host_usage.settle(base, 30)
    assert not over, over
    eventually(lambda: descriptors(server.process.pid) <= fds + 8, "descriptors stay open")
    victim.check()
