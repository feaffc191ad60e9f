"""Programs that try to outlive their session, to hide what they use, or to forge events of the
daemon."""
import concurrent.futures
import contextlib
import signal
import urllib.parse

import pytest
from reckon_serve import Server
from test_serve_processes import ask, children_named, collect, follow, run, start, wait, wait_for_none
from waiting import eventually

# Leaves its process group, its session and its parent, closes everything, and ignores signals.
ESCAPE = """
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(2):
    if os.fork(): os._exit(0)
    os.setsid()
os.closerange(0, 1024)
os.execvp("sleep", ["sleep", sys.argv[1]])
"""


@pytest.fixture
def server(reckon):
    with Server(reckon) as running:
        yield running
        assert "level=error" not in running.log()
        assert "the front is gone" not in running.log()


@pytest.fixture
def session(server):
    return server.create()


def escape(server, session, mark, **more):
    """Start a program that escapes from its process group, its session and its parent."""
    process = start(server, session, argv=["python3", "-c", ESCAPE, mark], **more)
    return process


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("how", ["delete", "kill", "stop"])
def test_nothing_outlives_its_session(reckon, detach, how, as_user):
    mark = f"9731{int(detach)}{len(how)}"
    with Server(reckon) as server:
        session = server.create()
        process = escape(server, session, mark, detach=detach)
        assert wait(server, session, process)["exit_code"] == 0
        if detach:
            eventually(lambda: children_named(mark))
        elif as_user.is_root:
            wait_for_none(mark)  # ends with the process, however far it escaped; rootless boxes have no cgroups
        runs = start(server, session, argv=["sleep", mark])
        assert ask(server, session, runs).json["state"] == "running"
        if how == "delete":
            assert server.ask("DELETE", f"/sessions/{session}").status == 200
        else:
            server.stop(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        wait_for_none(mark)


def test_usage_includes_hidden_descendants(server, session, as_user):
    """The CPU time of a descendant that hides in a new session counts for the process and its
    limit."""
    burn = ("import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
            "  end = time.process_time() + {0}\n  while time.process_time() < end: pass\n"
            "  open('burnt', 'w').close()\n os._exit(0)\n"
            "while not os.path.exists('burnt'): time.sleep(.01)\n")
    process = start(server, session, argv=["python3", "-c", burn.format(.5)])
    used = wait(server, session, process)["usage"]
    if as_user.is_root:  # rootless boxes have no cgroups: usage is that of children that the process waited for
        assert used["cpu_user_s"] + used["cpu_system_s"] >= .4
        server.ask("DELETE", f"/sessions/{session}/files/burnt")
        limited = start(server, session, argv=["python3", "-c", burn.format(50)], cpu_s=.5)
        assert wait(server, session, limited)["cause"] == "cpu_limit"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_memory_limit_of_a_session_spares_the_kernel(server):
    session = server.create(limits={"memory_bytes": 128 << 20, "disk_bytes": 1 << 20})
    server.execute(session, "x = 42")
    # Many, each within what one process may have.
    eat = "b = bytearray(60 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nimport time; time.sleep(5)"
    eaters = [start(server, session, argv=["python3", "-c", eat]) for _ in range(5)]
    ends = [wait(server, session, each) for each in eaters]
    assert any(end["cause"] == "out_of_memory" or end.get("signal") == "KILL" for end in ends), ends
    record = server.execute(session, "1")
    assert record["status"] == "ok", record


def test_a_fork_bomb_affects_only_its_own_session(server, session):
    other = server.create()
    bomb = start(server, session, "f() { f | f & sleep 100; }; f; f; sleep 100")
    assert run(server, other, "echo fine")[0] == {"stdout": b"fine\n"}
    assert server.execute(other, "1")["status"] == "ok"
    assert ask(server, session, bomb, "DELETE").status == 200
    assert wait(server, session, bomb)["state"] == "ended"
    assert server.ask("DELETE", f"/sessions/{session}").status == 200


def test_output_cannot_forge_events(server, session):
    forged = '\n\nid: 99\nevent: end\ndata: {"event":"end","exit_code":0}\n\n'
    out, end = run(server, session, argv=["sh", "-c", 'printf %s "$0"; exit 3', forged])
    assert out["stdout"].decode() == forged and end["exit_code"] == 3


def test_hostile_tags_and_commands_are_not_interpreted(server, session):
    tags = ["' OR 1=1 --", "%", "a&tag=b", "../..", '"><script>', "\u202etxt", "\U0001f600" * 30]
    made = {tag: start(server, session, "sleep 100", tag=tag) for tag in tags}
    for tag, process in made.items():
        found = server.ask("GET", f"/sessions/{session}/processes?tag={urllib.parse.quote(tag)}").json
        assert [each["id"] for each in found["processes"]] == [process], tag
        assert found["processes"][0]["tag"] == tag
    command = "true \x1b[2J\r\n\\\"'$(echo)"
    assert ask(server, session, start(server, session, command)).json["command"] == command


def test_readers_are_bounded(server, session):
    process = start(server, session, "cat", stdin=True)
    path = f"/sessions/{session}/processes/{process}/events"
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(server.events("GET", path))[0] for _ in range(64)]
        for each in readers:
            assert next(each)[1] == "start"
        refused = server.ask("GET", path)
        assert (refused.status, refused.code) == (429, "busy")
        readers.pop()
        stack.pop_all().close()
    # Readers that disconnect make room.
    ask(server, session, process, "POST", "/stdin", {"text": "x", "close": True})
    assert follow(server, session, process)[0] == {"stdout": b"x"}


def test_many_processes_start_and_end_at_once(server, session):
    def one(number):
        out, end = run(server, session, f"echo {number}; exit {number % 200}")
        assert out == {"stdout": f"{number}\n".encode()}
        assert end["exit_code"] == number % 200

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(100)))
    listed = server.ask("GET", f"/sessions/{session}/processes?limit=500").json["processes"]
    assert len(listed) == 100 and {each["state"] for each in listed} == {"ended"}


def test_a_session_that_ends_while_programs_start_leaves_no_process(server):
    for _ in range(3):
        session = server.create()
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            starts = [pool.submit(server.ask, "POST", f"/sessions/{session}/processes",
                                  {"argv": ["sleep", "97320"]}) for _ in range(8)]
            ended = pool.submit(server.ask, "DELETE", f"/sessions/{session}")
            assert ended.result().status == 200
            assert {each.result().status for each in starts} <= {201, 410, 503}
        wait_for_none("97320")
        listed = server.ask("GET", f"/sessions/{session}/processes").json["processes"]
        assert {each["state"] for each in listed} <= {"ended"}


def test_stored_output_of_floods_is_bounded(server, session):
    """After twenty processes with full buffers events can still be read, and the daemon stays
    small."""
    flood = "head -c 9000000 /dev/zero"
    made = [start(server, session, flood) for _ in range(20)]
    for process in made:
        wait(server, session, process)
    text = server.ask("GET", "/metrics", prefix="").body.decode()
    resident = int(next(line for line in text.splitlines()
                        if line.startswith("process_resident_memory_bytes ")).split()[1])
    assert resident < 250 << 20, resident
    names = [name for name, _ in _named(server, session, made[0])]
    assert names[-1] == "end" and "gap" in names


def _named(server, session, process):
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        for _, name, data in events:
            yield name, data


def test_background_changes_persist_at_a_stop(reckon):
    """The process never ended: the daemon looks for its changes at a graceful stop."""
    with Server(reckon) as server:
        session = server.create()
        process = start(server, session, "echo kept > f; echo ready; sleep 1000")
        with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
            assert [next(events)[1] for _ in range(2)] == ["start", "stream"]
        server.stop(signal.SIGTERM)
        server.start()
        assert server.ask("GET", f"/sessions/{session}/files/f").body == b"kept\n"
