"""Running the daemon: its configuration, metrics and logs, how it stops and starts."""
import concurrent.futures
import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest
import yaml
from leftovers import PATIENCE
from prometheus_client.parser import text_string_to_metric_families
from reckon_cli import parse_json
from reckon_serve import Server, kill, read_all, wait_gone
from waiting import eventually as until

# A daemon that is starting does not respond yet.
eventually = functools.partial(until, despite=(OSError, http.client.HTTPException))

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


# ---- configuration ------------------------------------------------------------------------------

def test_documentation_lists_the_options(reckon):
    reckond = next(folder / "reckond" for folder in reckon.place.program_dirs
                   if (folder / "reckond").exists())
    tables = subprocess.run([reckond, "describe"], stdout=subprocess.PIPE, check=True, text=True)
    assert tables.stdout in (ROOT / "docs" / "configuration.md").read_text()


def test_check_config_reports_every_error(reckon):
    path = reckon.file("bad.conf", "[server]\nwrokers = 3\nworkers = 0\n\n[log]\nlog-level = loud\n")
    done = reckon("serve", "--config", path, "--check-config").expect(2)
    for line, words in ((2, "wrokers"), (3, "1 to 1024"), (6, "debug info warn error")):
        assert any(f"line {line}: " in text and words in text for text in done.err.splitlines()), done
    good = reckon.file("good.conf", "[server]\nworkers = 3\n")
    assert "good" in reckon("serve", "--config", good, "--check-config").expect(0).out
    assert "workers" in reckon("serve", "--config", good, "--workers=0").expect(2).err
    assert "nowhere" in reckon("serve", "--config", "/nowhere", "--check-config").expect(125).err


# ---- numbers ------------------------------------------------------------------------------------

def metrics(server, **options):
    """{(name, labels as a sorted tuple): value}, by Prometheus' own parser."""
    answer = server.ask("GET", "/metrics", prefix="", **options)
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    found, families = {}, set()
    for family in text_string_to_metric_families(answer.body.decode()):
        assert family.documentation, family
        # To OpenMetrics `x_total` is the counter `x`: no gauge may have that name.
        assert family.name not in families, family
        families.add(family.name)
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def total(found, name, **labels):
    return sum(value for (sample, have), value in found.items()
               if sample == name and set(labels.items()) <= set(have))


def test_metrics_count_what_happens(reckon):
    with Server(reckon) as server:
        before = metrics(server)
        session = server.create()
        server.execute(session, "sum(range(2_000_000))")
        server.execute(session, "1/0")
        server.execute(session, "import time; time.sleep(30)", timeout_s=0.2)
        server.ask("GET", "/sessions/se_none")
        after = metrics(server)
        for status in ("ok", "error", "timeout"):
            assert total(after, "reckon_executions_total", status=status) == 1
        assert total(after, "reckon_limits_reached_total", limit="wall_time") == 1
        assert total(after, "reckon_execution_wall_seconds_count") == 3
        assert total(after, "reckon_execution_wall_seconds_sum") > 0.2
        assert total(after, "reckon_execution_cpu_seconds_count") == 3
        for family in ("reckon_commit_seconds", "reckon_sync_seconds"):
            assert total(after, f"{family}_count") >= 3 and total(after, f"{family}_sum") > 0
        assert total(after, "reckon_execution_cpu_seconds_sum") > 0
        assert total(after, "reckon_tenant_executions_total") == 3
        assert total(after, "reckon_tenant_sessions") == 1
        assert total(after, "reckon_lifetime_cpu_seconds_total") > 0
        assert total(after, "reckon_session_starts_total") == 1
        assert total(after, "reckon_session_start_seconds_count") == 1
        for phase in ("queue", "warden", "shell", "spawn", "ready"):
            assert total(after, "reckon_session_start_phase_seconds_count", phase=phase) == 1
        assert total(after, "reckon_session_start_phase_seconds_sum", phase="warden") > 0
        assert total(after, "reckon_sessions", phase="live") == 1
        assert total(after, "reckon_queue_wait_seconds_count", queue="workers") >= 4
        # A request is counted when its response has been sent.
        assert (total(after, "reckon_http_requests_total", code="4xx")
                - total(before, "reckon_http_requests_total", code="4xx")) == 1
        assert total(after, "reckon_http_requests_total", code="2xx") >= 4
        assert total(after, "reckon_http_sent_bytes_total") > 1000
        assert total(after, "reckon_http_request_seconds_bucket", le="+Inf") == \
            total(after, "reckon_http_request_seconds_count")
        assert total(after, "reckon_ready") == 1
        assert total(after, "process_resident_memory_bytes") > 1 << 20
        # No label has a value that a client chose.
        assert session not in str(after)
        server.ask("DELETE", f"/sessions/{session}")
        assert total(metrics(server), "reckon_session_ends_total", state="closed") == 1
        lifetime = total(after, "reckon_lifetime_executions_total")
        assert lifetime == 3
        server.stop()
        server.start()
        again = metrics(server)
        assert total(again, "reckon_lifetime_executions_total") == 3
        assert total(again, "reckon_lifetime_sessions_total") == 1
        assert total(again, "reckon_executions_total") == 0


def expressions():
    """(where, PromQL, legend) of the alert rules and the dashboard that are shipped."""
    folder = ROOT / "share/monitoring"
    for group in yaml.safe_load((folder / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("critical", "warning")
            assert set(rule["annotations"]) == {"summary", "description"}
            yield rule["alert"], rule["expr"], ""
    for panel in json.loads((folder / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_alerts_and_dashboard_use_existing_metrics(reckon):
    with Server(reckon) as server:
        server.execute(server.create(), "1")
        found = metrics(server)
    labels = {}
    for name, have in found:
        labels.setdefault(name, set()).update(label for label, _ in have)
    values = {value for _, have in found for _, value in have}
    count = 0
    for where, query, shown in expressions():
        names = re.findall(r"\b((?:reckon|process)_\w+)", query)
        assert (names or where == "ReckonDown") and set(names) <= set(labels), (where, names)
        known = {"instance", "job", "le"}.union(*(labels[name] for name in names))
        by = {word.strip() for each in re.findall(r"by \(([^)]*)\)", query)
              for word in each.split(",")}
        assert by | set(re.findall(r"\{\{(\w+)\}\}", shown)) <= known, (where, query)
        for label, value in re.findall(r"(\w+)=\"(\w+)\"", query):
            assert label in known and (label == "job" or value in values), (where, label, value)
        assert query.count("(") == query.count(")") and query.count("{") == query.count("}")
        count += 1
    assert count > 40


def test_a_front_that_is_replaced_keeps_its_counts(reckon):
    with Server(reckon) as server:
        for _ in range(5):
            server.ask("GET", "/health")
        before = total(metrics(server), "reckon_http_requests_total")
        kill(server.front())
        eventually(lambda: server.ask("GET", "/health").status == 200)
        after = metrics(server)
        assert total(after, "reckon_http_requests_total") > before >= 5
        assert total(after, "reckon_front_restarts_total") == 1


def test_access_to_metrics(reckon):
    with Server(reckon) as server:
        assert server.ask("GET", "/metrics", prefix="", key=False).code == "unauthorized"
        assert total(metrics(server), "reckon_requests_denied_total") == 1
        key = server.ask("POST", "/keys", {"scopes": ["read"]}).json["key"]
        answer = server.ask("POST", "/sessions", {}, {"Authorization": f"Bearer {key}"}, key=False)
        assert (answer.status, answer.code) == (403, "scope_missing")
        assert total(metrics(server), "reckon_requests_denied_total") == 2
    with Server(reckon, "--metrics", "loopback", key=server.key) as server:
        assert metrics(server, key=False)
        assert server.ask("GET", "/sessions", key=False).status == 401
    with Server(reckon, "--metrics", "off", key=server.key) as server:
        assert server.ask("GET", "/metrics", prefix="").status == 404


def test_a_session_has_samples(reckon):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "x = bytearray(64 << 20)")

        def samples():
            answer = server.ask("GET", f"/sessions/{session}/metrics").json
            assert answer["session"] == session
            return answer["samples"]

        # The first sample may be from before the cell allocated its memory.
        eventually(lambda: samples() and samples()[-1]["memory_bytes"] > 60 << 20)
        newest = samples()[-1]
        server.execute(session, "sum(i * i for i in range(3_000_000))")
        eventually(lambda: samples()[-1]["cpu_s"] > newest["cpu_s"])
        times = [sample["t"] for sample in samples()]
        assert times == sorted(times)


# ---- the log ------------------------------------------------------------------------------------

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def test_a_request_can_be_followed(reckon):
    with Server(reckon, "--log-level", "info", "--log-format", "json") as server:
        session = server.create()
        answer = server.ask("POST", f"/sessions/{session}/executions?", {"code": "secret = 'xyzzy'"},
                            {"traceparent": PARENT, "X-Request-Id": "mine-1.a"})
        assert answer.headers["Reckon-Request-Id"] == "mine-1.a"
        version, trace, span, flags = answer.headers["traceparent"].split("-")
        assert (version, trace, flags) == ("00", TRACE, "01")
        assert span not in PARENT and len(span) == 16
        mine = []

        def is_logged():  # the front writes its line when the response is on its way
            whole = [line for line in server.log().splitlines() if line.endswith("}")]
            mine[:] = [line for line in map(parse_json, whole)
                       if line.get("request") == "mine-1.a"]
            return {line["msg"] for line in mine} == {"execution ended", "request"}

        assert eventually(is_logged)
        for line in mine:
            assert (line["session"], line["trace"], line["span"]) == (session, TRACE, span)
        access = next(line for line in mine if line["msg"] == "request")
        assert access["path"] == "/reckon/v1/sessions/{session}/executions"
        assert (access["method"], access["status"]) == ("POST", 200)
        assert access["out"] > len(answer.body)
        assert server.key not in server.log() and "xyzzy" not in server.log()


def test_invalid_ids_and_traces_are_ignored(reckon):
    with Server(reckon, "--log-level", "info") as server:
        for bad in ("", "a b", "x" * 65, 'x"', "\u00e9", "rq_1/2"):
            answer = server.ask("GET", "/health", headers={"X-Request-Id": bad})
            assert answer.headers["Reckon-Request-Id"].startswith("rq_"), bad
        assert server.ask("GET", "/health",
                          headers={"X-Request-Id": "x" * 64}).headers["Reckon-Request-Id"] == "x" * 64
        for bad in (PARENT.upper(), PARENT + "-", "00-" + "0" * 32 + PARENT[35:], "x"):
            assert "traceparent" not in server.ask("GET", "/health",
                                                   headers={"traceparent": bad}).headers
        # The response to invalid HTTP has an id, too.
        assert b"\r\nReckon-Request-Id: rq_" in server.raw(b"NONSENSE\r\n\r\n")
        ids = {server.ask("GET", "/health").headers["Reckon-Request-Id"] for _ in range(10)}
        assert len(ids) == 10


def test_a_flood_is_bounded(reckon):
    with Server(reckon, "--log-level", "info", "--log-rate", "5") as server:
        connection = server.connect()
        for _ in range(400):
            connection.request("GET", "/reckon/v1/health")
            connection.getresponse().read()
        eventually(lambda: server.ask("GET", "/health").status == 200
                   and "log lines were dropped" in server.log())
        assert server.log().count("msg=\"request\" ") < 300


def test_an_open_client_connection_does_not_delay_the_stop(reckon):
    """The client has its response, and the server has closed its side: the stop need not wait for
    more."""
    with Server(reckon) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /reckon/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b'"status":"ok"' in read_all(client)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 1.5 * PATIENCE  # waiting for the client would take two seconds


# ---- ready, drain -------------------------------------------------------------------------------

def test_a_drained_daemon_is_not_ready_and_takes_no_sessions(reckon):
    with Server(reckon) as server:
        assert server.ask("GET", "/ready", key=False).json["status"] == "ready"
        session = server.create()
        assert server.ask("POST", "/drain", key=False).status == 401
        assert server.ask("POST", "/drain", {"now": True}).status == 400
        assert server.ask("POST", "/drain").json == {"draining": True, "sessions": 1}
        answer = server.ask("POST", "/sessions", {"template": "python"})
        assert (answer.status, answer.code) == (503, "draining")
        assert int(answer.headers["Retry-After"]) > 0
        answer = server.ask("GET", "/ready", key=False)
        assert (answer.status, answer.code) == (503, "not_ready")
        assert server.ask("GET", "/health", key=False).status == 200
        # Existing sessions continue.
        assert server.execute(session, "6*7")["status"] == "ok"
        assert total(metrics(server), "reckon_draining") == 1
        assert server.ask("DELETE", "/drain").json == {"draining": False, "sessions": 1}
        assert server.ask("GET", "/ready", key=False).status == 200
        server.create()


# ---- signals ------------------------------------------------------------------------------------

def test_a_reload_changes_reloadable_options(reckon):
    path = reckon.file("reckond.conf", "[sessions]\nmax-sessions = 1\n")
    with Server(reckon, "--config", path) as server:
        server.create()
        assert server.ask("POST", "/sessions", {"template": "python"}).code == "busy"
        path.write_text("[server]\nworkers = 9\n[sessions]\nmax-sessions = 2\n[log]\nlog-level = info\n")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "options=workers" in server.log())
        server.create()
        assert "msg=\"request\" " in server.log() or eventually(
            lambda: "msg=\"request\" " in server.log())
        assert total(metrics(server), "reckon_workers") == 64
        # An invalid file changes nothing, and the log names the error.
        path.write_text("[sessions]\nmax-sessions = 5\nmax-sesions = 6\n")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "line=3" in server.log() and "max-sesions" in server.log())
        assert server.ask("POST", "/sessions", {"template": "python"}).code == "busy"
        found = metrics(server)
        assert total(found, "reckon_config_reloads_total", result="ok") == 1
        assert total(found, "reckon_config_reloads_total", result="failed") == 1


def test_a_stop_gives_running_cells_their_time(reckon):
    with Server(reckon, "--stop-grace", "60") as server:
        session = server.create()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = pool.submit(server.execute, session,
                                  "import time; print('in', flush=True); time.sleep(1.5); 'done'")
            eventually(lambda: total(metrics(server), "reckon_workers_busy") == 1)
            server.process.send_signal(signal.SIGTERM)
            eventually(lambda: server.ask("GET", "/ready", key=False).status == 503)
            record = running.result()
        assert record["results"][0]["data"]["text/plain"] == "'done'"
        assert server.stop() == 0


def test_nothing_new_begins_during_a_stop(reckon):
    with Server(reckon, "--stop-grace", "60") as server:
        session, other = server.create(), server.create()
        context = server.ask("POST", f"/sessions/{other}/contexts", {"language": "python"}).json["id"]
        wait = "import time; print('in', flush=True); time.sleep(2); 'done'"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = [pool.submit(server.ask, "POST", f"/sessions/{session}/executions", {"code": wait}),
                       pool.submit(server.ask, "POST", f"/sessions/{other}/executions",
                                   {"code": wait, "context": context})]
            eventually(lambda: total(metrics(server), "reckon_workers_busy") == 2)
            queued = pool.submit(server.ask, "POST", f"/sessions/{session}/executions",
                                 {"code": "open('begun', 'w')"})
            eventually(lambda: server.ask("GET", f"/sessions/{session}").json["pending"] == 2)
            server.process.send_signal(signal.SIGTERM)
            eventually(lambda: server.ask("GET", "/ready", key=False).status == 503)
            for method, path, body in (
                    ("POST", f"/sessions/{other}/executions", {"code": "open('begun', 'w')"}),
                    ("POST", f"/sessions/{other}/processes", {"command": "touch begun"}),
                    ("POST", f"/sessions/{other}/contexts", {"language": "python"}),
                    ("POST", f"/sessions/{other}/restart", {}), ("POST", f"/sessions/{other}/resume", {}),
                    ("POST", f"/sessions/{other}/restore", {}),
                    ("POST", "/agent", {"question": "?", "session": other}),
                    ("POST", "/sessions", {}), ("POST", "/executions", {"code": "1"})):
                answer = server.ask(method, path, body)
                assert (answer.status, answer.code) == (503, "unavailable"), (path, answer)
                assert answer.headers["Retry-After"]
            assert queued.result().status == 503 and queued.result().code == "unavailable"
            # Files can be listed meanwhile.
            assert server.ask("GET", f"/sessions/{other}/files").json["files"] == []
            for each in running:
                assert each.result().json["results"][0]["data"]["text/plain"] == "'done'"
        assert server.stop() == 0
        server.start()
        assert server.execute(session, "import os; print(os.listdir())")["stdout"] == "[]\n"


def test_an_upgrade_refuses_nobody(reckon):
    refused, answered = [], []
    ends = threading.Event()

    def ask_on(server):
        while not ends.is_set():
            try:
                answered.append(server.ask("GET", "/health", key=False).status)
            except ConnectionRefusedError as error:
                refused.append(error)
            except (OSError, http.client.HTTPException):
                pass  # connected, but the old front ended before it got the request

    with Server(reckon) as server:
        session = server.create()
        asking = threading.Thread(target=ask_on, args=(server,), daemon=True)
        asking.start()
        for _ in range(2):
            pid = server.process.pid
            old = server.front()
            count = len(answered)
            assert "told" in reckon("serve", "--upgrade", "--state", reckon.state).expect(0).out
            wait_gone(old)
            eventually(lambda: len(answered) > count + 50)
            assert server.process.poll() is None and server.process.pid == pid
        ends.set()
        asking.join()
        assert not refused
        assert set(answered) == {200}
        assert server.ask("GET", f"/sessions/{session}").status in (200, 410)
        server.create()
    done = reckon("serve", "--upgrade", "--state", reckon.state)
    assert done.status != 0 and "no daemon" in done.err


def test_a_socket_that_was_passed_is_taken(reckon):
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            tempfile.TemporaryDirectory(dir=reckon.work) as folder:
        os.chmod(folder, 0o777)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(f"{folder}/notify")
        os.chmod(f"{folder}/notify", 0o777)
        notify.settimeout(60)
        program = reckon.place.program
        # LISTEN_PID has to be the pid of the program itself: a shell becomes it.
        script = ('exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve --state "$1" '
                  '--listen 127.0.0.1:1' % listener.fileno())
        process = subprocess.Popen(
            ["bash", "-c", script, program, reckon.state], pass_fds=[listener.fileno()],
            stdout=subprocess.PIPE, env={**reckon.env, "NOTIFY_SOCKET": f"{folder}/notify"},
            **reckon.user.switch)
        try:
            assert notify.recv(4096) == b"READY=1"
            with contextlib.closing(http.client.HTTPConnection(*listener.getsockname())) as client:
                client.request("GET", "/reckon/v1/health")
                assert client.getresponse().status == 200
            process.send_signal(signal.SIGHUP)
            assert notify.recv(4096).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert notify.recv(4096) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            assert notify.recv(4096) == b"STOPPING=1"
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            notify.close()


# ---- commands -----------------------------------------------------------------------------------

def test_drain_from_the_command_line(reckon):
    with Server(reckon) as server:
        env = {"RECKON_URL": f"http://127.0.0.1:{server.port}", "RECKON_API_KEY": server.key}
        session = server.create()
        assert "draining: 1 session left" in reckon("drain", env=env).expect(0).out
        assert server.ask("POST", "/sessions", {"template": "python"}).code == "draining"
        with reckon.start("drain", "--wait", "--json", env=env) as waiting:
            server.ask("DELETE", f"/sessions/{session}")
            out, _ = waiting.communicate(timeout=60)
        assert parse_json(out) == {"draining": True, "sessions": 0}
        assert "accepting new sessions" in reckon("undrain", env=env).expect(0).out
        server.create()
        assert reckon("drain", env={**env, "RECKON_API_KEY": "rk_wrong"}).status == 125


def checks(done):
    return {check["name"]: check for check in parse_json(done.stdout)["checks"]}


def test_the_doctor_looks_at_the_service(reckon):
    assert reckon("doctor", "--state", reckon.work / "nowhere").status == 125
    with Server(reckon) as server:
        found = checks(reckon("doctor", "--service", "--json").expect(0))
        for name in ("state directory", "database", "clock", "audit", "daemon", "listening",
                     "front", "program"):
            assert found[name]["state"] == "ok", found[name]
        assert str(server.port) in found["listening"]["detail"]
        server.ask("POST", "/drain")
        found = checks(reckon("doctor", "--service", "--json").expect(0))
        assert found["listening"]["state"] == "partial"
        assert "drain" in found["listening"]["detail"]
        # A daemon that the doctor looks at continues.
        assert server.ask("GET", "/sessions").status == 200
    found = checks(reckon("doctor", "--state", reckon.state, "--json").expect(0))
    assert found["daemon"]["state"] == "absent" and "front" not in found
    reckon.state.chmod(0o777)
    (reckon.state / "audit.head").unlink()
    with open(reckon.state / "reckond.db", "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (os.fstat(file.fileno()).st_size - 4096))
    done = reckon("doctor", "--state", reckon.state, "--json", "--strict").expect(1)
    for name in ("state directory", "database", "audit"):
        assert checks(done)[name]["state"] == "bad", checks(done)[name]
        assert checks(done)[name]["remedy"]


# ---- retention ----------------------------------------------------------------------------------

def test_retention_removes_old_history_and_reports_it(reckon):
    with Server(reckon) as server:
        session = server.create()
        first = server.execute(session, "1")["id"]
        gone = server.create()
        other = server.execute(gone, "2")["id"]
        server.ask("DELETE", f"/sessions/{gone}")
        server.stop()
        # One second is the minimum.
        server.args = ("--history-keep", "1")
        server.start()
        live = server.create()
        server.execute(live, "3")
        eventually(lambda: server.ask("GET", f"/sessions/{session}/executions/{first}").status != 200)
        answer = server.ask("GET", f"/sessions/{session}/executions/{first}")
        assert (answer.status, answer.code) == (410, "expired")
        assert server.ask("GET", f"/sessions/{gone}").code == "session_closed"
        assert server.ask("GET", f"/sessions/{live}/executions/ex_none").code == "execution_not_found"
        eventually(lambda: server.ask("GET", f"/sessions/{gone}/executions").json["executions"] == [])
        eventually(lambda: total(metrics(server), "reckon_retention_removed_total",
                                 kind="execution") >= 3)
        server.stop()
        server.args = ("--session-keep", "1")
        server.start()
        eventually(lambda: server.ask("GET", f"/sessions/{gone}").code == "expired")
        assert server.ask("GET", f"/sessions/{gone}/executions/{other}").status == 410
        young = server.create()
        eventually(lambda: [each["action"] for each in server.ask("GET", "/audit?limit=500").json["entries"]]
                   .count("retention.remove") >= 2)
        # A live session is not removed.
        assert server.execute(young, "6*7")["status"] == "ok"
    assert "is whole" in reckon("audit", "verify").expect(0).out
