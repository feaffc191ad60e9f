"""Sessions that are paused: everything in them is frozen, and continues as if nothing had
happened."""
import concurrent.futures
import time

from reckon_serve import SECONDS, Server
from waiting import eventually


COUNT = """
import threading, time
counted = 0
def count():
    global counted
    while True:
        counted += 1
        time.sleep(0.01)
threading.Thread(target=count, daemon=True).start()
"""


def code_of(answer):
    return answer.status, answer.json["error"]["code"]


def pause(server, session):
    answer = server.ask("POST", f"/sessions/{session}/pause")
    assert answer.status == 200, answer.body
    return answer.json


def resume(server, session):
    answer = server.ask("POST", f"/sessions/{session}/resume")
    assert answer.status == 200 and "paused_at" not in answer.json, answer.body
    return answer.json


def text(server, session, code, **more):
    return server.execute(session, code, **more)["stdout"]


def test_everything_freezes_and_continues(server):
    session = server.create()
    server.execute(session, COUNT + "x = 41\nopen('kept', 'w').write('here')")
    context = server.ask("POST", f"/sessions/{session}/contexts", {"language": "bash"}).json["id"]
    server.execute(session, "y=of-bash", context=context)
    loop = "import time\nwhile True: open('ticks', 'a').write('.'); time.sleep(0.02)"
    process = server.ask("POST", f"/sessions/{session}/processes", {"argv": ["python3", "-uc", loop]}).json
    before = int(text(server, session, "print(counted)"))
    paused = pause(server, session)
    assert paused["status"] == "live" and paused["paused_at"].endswith("Z")
    time.sleep(1.5)
    assert server.ask("GET", f"/sessions/{session}").json["paused_at"] == paused["paused_at"]
    resume(server, session)
    assert int(text(server, session, "print(counted)")) - before < 100, "it counted meanwhile"
    assert text(server, session, "print(x + 1, open('kept').read())") == "42 here\n"
    assert text(server, session, "echo $y", context=context) == "of-bash\n"
    shown = server.ask("GET", f"/sessions/{session}/processes/{process['id']}").json
    assert shown["state"] == "running" and shown["pid"] == process["pid"]
    ticks = len(server.ask("GET", f"/sessions/{session}/files/ticks").body)
    eventually(lambda: len(server.ask("GET", f"/sessions/{session}/files/ticks").body) > ticks,
               "the process does not go on")


def test_a_paused_session_refuses_what_needs_its_box(server):
    session = server.create(name="asleep")
    server.execute(session, "x = 1")
    pause(server, session)
    for method, path, body in (
            ("POST", "executions", {"code": "1"}), ("GET", "files", None), ("PUT", "files/a", b"a"),
            ("GET", "variables", None), ("POST", "contexts", {}), ("POST", "processes", {"argv": ["true"]}),
            ("GET", "ports", None), ("GET", "ports/80/", None), ("GET", "watch", None), ("POST", "restart", {}),
            ("GET", "archive", None), ("POST", "restore", {}), ("POST", "pause", None)):
        answer = server.ask(method, f"/sessions/{session}/{path}", body)
        assert code_of(answer) == (409, "session_paused"), (path, answer.body)
    for path in ("", "/executions", "/contexts", "/processes", "/metrics", "/token", "/artifacts"):
        assert server.ask("GET", f"/sessions/{session}{path}").status == 200, path
    assert server.ask("GET", "/sessions?status=live").json["sessions"][0]["paused_at"]
    assert server.ask("PATCH", f"/sessions/{session}", {"metadata": {"a": 1}}).status == 200
    resume(server, session)
    resume(server, session)  # a session that is not paused does not change
    assert text(server, session, "print(x)") == "1\n"
    pause(server, session)
    assert server.ask("DELETE", f"/sessions/{session}").status == 200
    assert server.ask("POST", f"/sessions/{session}/resume").status == 410


def test_a_pause_waits_for_running_cells(server):
    session = server.create()
    server.ask("POST", f"/sessions/{session}/executions",
               {"code": "import time\ntime.sleep(1.5); x = 7", "background": True})
    begun = time.monotonic()
    pause(server, session)
    assert time.monotonic() - begun > 0.7
    resume(server, session)
    assert text(server, session, "print(x)") == "7\n"


def test_files_persist_without_memory(server):
    for at_resume in (False, True):
        session = server.create()
        server.execute(session, "x = 1\nopen('kept', 'w').write('here')")
        process = server.ask("POST", f"/sessions/{session}/processes", {"argv": ["sleep", "1000"]}).json["id"]
        answer = server.ask("POST", f"/sessions/{session}/pause", {"memory": at_resume})
        assert answer.status == 200 and answer.json["paused_at"], answer.body
        answer = server.ask("POST", f"/sessions/{session}/resume", {"memory": not at_resume})
        assert answer.status == 200 and "paused_at" not in answer.json, answer.body
        record = server.execute(session, "print(open('kept').read(), 'x' in globals())")
        assert record["stdout"] == "here False\n" and "x" in str(record["diagnostics"])
        shown = server.ask("GET", f"/sessions/{session}/processes/{process}").json
        assert shown["state"] == "lost" and "paused" in shown["why"]


def test_timeouts_stop_during_a_pause(server):
    session = server.create(expires_in_s=3, idle_timeout_s=2)
    pause(server, session)
    time.sleep(4)
    assert server.ask("GET", f"/sessions/{session}").json["status"] == "live"
    assert server.ask("POST", f"/sessions/{session}/resume", {"expires_in_s": 2}).status == 200
    assert text(server, session, "print(1)") == "1\n"
    eventually(lambda: server.ask("GET", f"/sessions/{session}").json.get("status") != "live", "it never ends")


def test_time_limit_of_a_process_stops_during_a_pause(server):
    session = server.create()
    process = server.ask("POST", f"/sessions/{session}/processes",
                         {"argv": ["sleep", "1.5"], "timeout_s": 3}).json["id"]
    pause(server, session)
    time.sleep(3.5)
    resume(server, session)
    ended = server.ask("GET", f"/sessions/{session}/processes/{process}/wait?timeout_s=60").json
    assert (ended["state"], ended["exit_code"]) == ("ended", 0), ended


def test_pause_on_timeout_and_auto_resume(server):
    session = server.create(expires_in_s=1, on_timeout="pause", auto_resume=True)
    server.execute(session, "x = 5")
    end = time.monotonic() + SECONDS
    while "paused_at" not in (shown := server.ask("GET", f"/sessions/{session}").json):
        assert time.monotonic() < end and shown["status"] == "live"
        time.sleep(0.1)
    assert (shown["on_timeout"], shown["auto_resume"]) == ("pause", True)
    changed = server.ask("PATCH", f"/sessions/{session}", {"expires_in_s": 600, "on_timeout": "end"}).json
    assert changed["on_timeout"] == "end"
    assert text(server, session, "print(x)") == "5\n"
    assert "paused_at" not in server.ask("GET", f"/sessions/{session}").json
    session = server.create(expires_in_s=1, on_timeout="pause_files")
    server.execute(session, "open('kept', 'w').write('here')")
    while "paused_at" not in server.ask("GET", f"/sessions/{session}").json:
        assert time.monotonic() < end + SECONDS
    resume(server, session)
    assert text(server, session, "print(open('kept').read())") == "here\n"
    for wrong in ({"on_timeout": "sleep"}, {"auto_resume": "yes"}):
        assert server.ask("PATCH", f"/sessions/{session}", wrong).status == 400


def test_repeated_pauses(server):
    session = server.create()
    server.execute(session, "n = 0")
    for i in range(5):
        pause(server, session)
        resume(server, session)
        assert text(server, session, "n += 1; print(n)") == f"{i + 1}\n"


def test_limit_of_waiting_resumes(reckon):
    """While no worker is free, sixteen requests wait for the session to resume, and one more is
    refused."""
    with Server(reckon, "--workers", "1") as server, concurrent.futures.ThreadPoolExecutor(17) as pool:
        asleep, other = server.create(), server.create()
        pause(server, asleep)
        server.background(other, "import time; time.sleep(3)")
        eventually(lambda: server.ask("GET", f"/sessions/{other}").json["pending"] == 1, "it runs")
        path = f"/sessions/{asleep}/resume"
        answers = [each.result() for each in [pool.submit(server.ask, "POST", path) for _ in range(17)]]
        refused = [answer for answer in answers if answer.status != 200]
        assert [answer.code for answer in refused] == ["busy"], answers
        assert refused[0].headers["Retry-After"]


def test_a_restart_of_the_daemon_keeps_files_and_reports_the_loss(server):
    session = server.create()
    server.execute(session, "x = 1\nopen('kept', 'w').write('here')")
    paused = pause(server, session)
    server.stop()
    server.start()
    shown = server.ask("GET", f"/sessions/{session}").json
    assert (shown["status"], shown["paused_at"]) == ("live", paused["paused_at"])
    assert code_of(server.ask("GET", f"/sessions/{session}/files/kept")) == (409, "session_paused")
    resume(server, session)
    record = server.execute(session, "print(open('kept').read()); print('x' in globals())")
    assert record["stdout"] == "here\nFalse\n"
    assert "x" in str(record["diagnostics"]), record["diagnostics"]


def test_the_command_pauses_and_resumes(reckon):
    reckon("run", "-s", "tuesday", "-c", "x = 6").expect(0)
    reckon("session", "pause", "tuesday").expect(0)
    assert "paused" in reckon("session", "ls").expect(0).out
    assert "paused_at" in reckon("session", "show", "tuesday").expect(0).out
    refused = reckon("run", "-s", "tuesday", "-c", "x").expect(2).err
    assert "reckon session resume SESSION" in refused and "POST" not in refused
    assert "paused already" in reckon("session", "pause", "tuesday").expect(2).err
    reckon("session", "resume", "tuesday").expect(0)
    assert reckon("run", "-s", "tuesday", "-c", "x * 7").expect(0).out == "42\n"
    reckon("session", "rm", "tuesday").expect(0)
    reckon("daemon", "stop")
