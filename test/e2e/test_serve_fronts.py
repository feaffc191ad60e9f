"""The process that speaks HTTP dies again and again: the daemon and what it runs go on."""

import http.client
import threading
import time

from reckon_serve import SECONDS, Server, is_alive, kill, wait_gone

KILLS = 100


def until(server, tell):
    """What `tell` says once it says something; whoever is not answered asks again, as a client does."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if found := tell():
                return found
        except (OSError, http.client.HTTPException):
            pass
        assert is_alive(server.process.pid), server.log()
        time.sleep(0.01)
    raise AssertionError(server.log())


def next_front(server, before):
    return until(server, lambda: [pid for pid in server.fronts() if pid not in before])[0]


def test_a_hundred_kills_in_a_row_lose_no_variable(reckon):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "x = 1")
        started = server.background(session, "import time; time.sleep(2); x += 1; 'slept'")
        pids = set()
        for _ in range(KILLS):
            pids.add(pid := next_front(server, pids))
            kill(pid)
        assert len(pids) == KILLS
        ready = until(server, lambda: server.ask("GET", "/ready", key=False)).json
        assert ready["status"] == "ready"
        [native] = [each for each in ready["dialects"] if each["name"] == "native"]
        assert (native["name"], native["state"]) == ("native", "up")
        assert native["restarts"] >= KILLS
        assert server.poll(session, started)["status"] == "ok"
        assert server.execute(session, "x")["results"][0]["data"]["text/plain"] == "2"


def test_who_connects_while_none_runs_is_answered_by_the_next(reckon):
    """The listening socket is the daemon's: connections wait in it."""
    with Server(reckon) as server:
        pids = set()
        for _ in range(15):  # most of them in a pause before the next start
            pids.add(pid := next_front(server, pids))
            kill(pid)
            wait_gone(pid)
            assert server.ask("GET", "/ready", key=False).json["status"] == "ready"
        assert "the front is gone" in server.log()


def test_who_asks_while_it_dies_gets_an_answer_or_a_closed_connection(reckon):
    with Server(reckon) as server:
        session = server.create()
        told, over = [], threading.Event()

        def ask():
            while not over.is_set():
                try:
                    told.append(server.execute(session, "6 * 7")["status"])
                except (OSError, http.client.HTTPException):
                    told.append("closed")

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            pids = set()
            for _ in range(20):
                pids.add(pid := next_front(server, pids))
                time.sleep(0.02)
                kill(pid)
            next_front(server, pids)
        finally:
            over.set()
            asking.join()
        assert set(told) <= {"ok", "closed"} and "ok" in told and "closed" in told
        assert server.execute(session, "6 * 7")["status"] == "ok"
