"""Many clients send requests while the daemon is killed: everything that it answered persists."""
import concurrent.futures
import http.client
import os
import random
import signal
import threading
import time

import pytest
from reckon_serve import Server
from waiting import eventually

pytestmark = pytest.mark.one_user

SECONDS = float(os.environ.get("SOAK_SECONDS", "10"))
CLIENTS = 6
SESSIONS = 2  # of each client
KILLED = (OSError, http.client.HTTPException)


class ExpectedValue:
    """The values that an item that is written again and again may have now."""

    def __init__(self):
        self.may = [None]

    def requested(self, value):
        self.may.append(value)

    def answered(self, value):
        self.may = [value]

    def check(self, got):
        assert got in self.may, f"{got!r} is none of {self.may}"
        self.may = [got]


class Session:
    """A session, and the state that the daemon has confirmed to its client."""

    def __init__(self, server, name):
        self.server, self.leaves = server, False
        self.files, self.mark, self.records, self.keys = {}, ExpectedValue(), {}, {}
        self.mark.answered(name)
        self.id = server.create(metadata={"mark": name})

    def ask(self, method, path="", *args):
        return self.server.ask(method, f"/sessions/{self.id}{path}", *args)

    def put(self, value):
        name = f"put-{int(value, 16) % 3}"
        file = self.files.setdefault(name, ExpectedValue())
        file.requested(value)
        assert self.ask("PUT", f"/files/{name}", value.encode()).status in (200, 201)
        file.answered(value)

    def cell(self, value, key=None):
        name = f"cell-{int(value, 16) % 3}"
        file = self.files.setdefault(name, ExpectedValue())
        file.requested(value)
        code = f"open('{name}', 'w').write('{value}')\nprint('{value}')"
        record = self.server.execute(self.id, code, key and {"Idempotency-Key": key})
        assert record["status"] == "ok", record
        file.answered(value)
        self.records[record["id"]] = f"{value}\n"
        if key:
            self.keys[key] = (record["id"], code)

    def rename(self, value):
        self.mark.requested(value)
        assert self.ask("PATCH", "", {"metadata": {"mark": value}}).status == 200
        self.mark.answered(value)

    def end(self):
        self.leaves = True
        assert self.ask("DELETE").status == 200

    def check(self):
        """False if the session has ended and its client requested this."""
        answer = self.ask("GET")
        if self.leaves and answer.status == 410:
            return False
        assert answer.status == 200, answer
        self.mark.check(answer.json["metadata"]["mark"])
        for name, file in self.files.items():
            got = self.ask("GET", f"/files/{name}")
            file.check(got.body.decode() if got.status == 200 else None)
        for execution, stdout in self.records.items():
            assert self.ask("GET", f"/executions/{execution}").json["stdout"] == stdout
        for key, (execution, code) in list(self.keys.items())[-2:]:
            again = self.ask("POST", "/executions", {"code": code}, {"Idempotency-Key": key})
            assert again.json["id"] == execution, "its code ran a second time"
        return True


class Once:
    """Code in a session of its own with an idempotency key, so that its client may repeat the
    request."""

    def __init__(self, value):
        self.value, self.id = value, None

    def ask(self, server):
        answer = server.ask("POST", "/executions", {"code": f"print('{self.value}')"},
                            {"Idempotency-Key": self.value})
        if answer.status == 410 and self.id is None:  # a crash interrupted it, which every repeat reports
            assert answer.code == "execution_lost", answer
            return
        assert answer.json["stdout"] == f"{self.value}\n", answer
        assert self.id in (None, answer.json["id"]), "its code ran a second time"
        self.id = answer.json["id"]


def work(server, mine, onces, seed, ends):
    """One client: it sends one request after the other until the daemon is gone."""
    chance = random.Random(seed)
    try:
        while not ends.is_set():
            value = f"{chance.getrandbits(64):x}"
            while len(mine) < SESSIONS:
                mine.append(Session(server, value))
            session = chance.choice(mine)
            act = chance.random()
            if act < 0.35:
                session.put(value)
            elif act < 0.75:
                session.cell(value, key=chance.choice([None, value]))
            elif act < 0.85:
                session.rename(value)
            elif act < 0.9:
                session.end()
                mine.remove(session)
            elif act < 0.95:
                onces.append(Once(value))
                onces[-1].ask(server)
            else:
                once = server.ask("POST", "/executions", {"code": f"print('{value}')"})
                assert once.json["stdout"] == f"{value}\n", once
    except KILLED:
        assert ends.wait(60), "the daemon refused what it should have answered"


def test_answers_to_many_clients_survive_kills(reckon):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance, end = random.Random(seed), time.monotonic() + SECONDS
    clients, onces = [[] for _ in range(CLIENTS)], [[] for _ in range(CLIENTS)]
    rounds = checked = 0
    with Server(reckon) as server, concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        while rounds < 2 or time.monotonic() < end:
            ends = threading.Event()
            jobs = [pool.submit(work, server, mine, own, chance.getrandbits(32), ends)
                    for mine, own in zip(clients, onces)]
            time.sleep(chance.uniform(0.5, 3))
            server.process.send_signal(signal.SIGKILL)
            ends.set()
            for job in jobs:
                job.result()
            server.stop(signal.SIGKILL)
            server.start()
            for mine in clients:
                mine[:] = [session for session in mine if session.check()]
                checked += sum(len(session.files) + len(session.records) for session in mine)
            for own in onces:
                for each in own[-3:]:
                    each.ask(server)
            # Sessions without a mark were made for single executions and end by themselves.
            eventually(lambda: all(each["metadata"] for each in live(server)))
            known = {session.id for mine in clients for session in mine}
            for each in live(server):  # created, but the client never got the id
                if each["id"] not in known:
                    assert server.ask("DELETE", f"/sessions/{each['id']}").status == 200
            rounds += 1
        assert checked > 10 * rounds, (checked, rounds)
        assert server.stop() == 0
    assert "whole" in reckon("audit", "verify", "--state", reckon.state).expect(0).out


def live(server):
    return [each for each in server.ask("GET", "/sessions?limit=500").json["sessions"]
            if each["status"] == "live"]
