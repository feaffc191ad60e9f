"""Daemon, front, warden and agent are killed under load, 200 times with SOAK_SECONDS set:
everything that was answered persists, nothing runs twice, idle kernels outlive the daemon, and
nothing is left over."""
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import re
import signal
import threading
import time

import pytest
from kill_run import CELL, GONE, work
from model_server import ModelServer, Reply
from reckon_serve import wait_gone
from test_serve_agent import Asking, agents
from test_serve_durable import wardens
from waiting import eventually

KILLS = int(os.environ.get("SOAK_KILLS", "200" if "SOAK_SECONDS" in os.environ else "10"))
CLIENTS = 3
# Runs whose client lost its front continue while the next ones run.
ARGS = ("--adopt-grace", "120", "--agent-runs", "64", "--agent-runs-tenant", "64",
        "--log-level", "info")
VALUE = re.compile(r"v[0-9a-f]+x")
WHOM_ALL = ("daemon", "front", "warden", "agent")
WHOM = ["daemon"] * 5 + ["front"] * 2 + ["warden"] * 2 + ["agent"] * 1


def model(body):
    """One cell for each question, then an answer; each takes a moment, as with real models."""
    time.sleep(0.1)
    if body["messages"][-1]["role"] == "tool":
        return Reply(text="Done.")
    return Reply(calls=[CELL.format(VALUE.findall(json.dumps(body["messages"][-1]))[-1])])


def victims(server, whom):
    """Its process ids; an empty list if it does not run at the moment."""
    if whom == "agent":
        deadline = time.monotonic() + 2
        while not (found := agents(server)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return found[:1]
    return {"daemon": lambda: [server.process.pid], "front": lambda: [server.front()],
            "warden": lambda: wardens(server.reckon)}[whom]()


def kill(server, whom):
    """Of the two processes of a rootless warden, one is killed; the other one ends with it."""
    pids = victims(server, whom)
    if whom == "warden" and pids:
        pids = [random.choice(pids)]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


def is_healthy(server):
    return server.ask("GET", "/health").status == 200


def check(server, clients, whom, counts, **options):
    for mine in clients:
        mine[:] = [session for session in mine if session.check(**options)]
        for session in mine:
            counts["kept"] += session.kept * (whom == "daemon")
            for line in session.lines:
                assert whom == "warden" or line.surprises == 0, (
                    f"{session.id} {line.context}: idle, and lost with the {whom}",
                    adoption_log(server, session))
                line.surprises = 0
    known = {session.id for mine in clients for session in mine}
    for each in live(server):  # created, but the client never got the id
        if each["id"] not in known:
            assert server.ask("DELETE", f"/sessions/{each['id']}").status in (200, 410)


def adoption_log(server, session):
    return [line for line in server.log().splitlines()
            if session.id in line and "adopt" in line][-4:]


def live(server):
    return [each for each in server.ask("GET", "/sessions?limit=500").json["sessions"]
            if each["status"] == "live"]


@pytest.mark.slow
def test_answers_survive_kills_of_every_process(reckon):
    seed = int(os.environ.get("SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print("SOAK_SEED", seed)
    chance = random.Random(seed)
    counts, seen = collections.Counter(), collections.Counter()
    clients = [[] for _ in range(CLIENTS)]
    with (ModelServer(model) as scripted, Asking(reckon, scripted, *ARGS) as server,
          concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool):
        while sum(counts[whom] for whom in WHOM_ALL) < KILLS:
            ends = threading.Event()
            jobs = [pool.submit(work, server, mine, chance.getrandbits(32), ends, seen)
                    for mine in clients]
            time.sleep(chance.uniform(0.3, 1.2))
            whom = chance.choice(WHOM)
            try:
                front = server.front()
                counts[whom] += kill(server, whom)
                if whom == "daemon":
                    ends.set()
                    server.stop(signal.SIGKILL)
                    wait_gone(front)
                    time.sleep(chance.uniform(0, 0.5))
                    server.start()
                else:  # clients continue to send requests while it is missing
                    time.sleep(chance.uniform(0, 0.5))
                    eventually(lambda: is_healthy(server), despite=GONE)
                    assert server.process.poll() is None, server.log()
            finally:
                ends.set()
                for job in jobs:
                    job.result()
            try:
                check(server, clients, whom, counts)
            except AssertionError as error:
                raise AssertionError(f"after the {whom}, {dict(counts)}: {error}") from error
        check(server, clients, "", counts, last=10 ** 6)
        print(dict(counts), dict(seen))
        for mine in clients:
            for session in mine:
                assert server.ask("DELETE", f"/sessions/{session.id}").status == 200
        assert live(server) == []
        assert counts["kept"] >= counts["daemon"], counts
        assert server.stop() == 0
    assert "whole" in reckon("audit", "verify", "--state", reckon.state).expect(0).out
    assert list((reckon.state / "artifacts/tmp").iterdir()) == []
