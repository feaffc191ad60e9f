"""The process that speaks HTTP dies repeatedly: the daemon and its executions continue."""

import http.client
import threading
import time

from reckon_serve import SECONDS, Server, is_alive, kill, wait_gone

KILLS = 100


def until(server, condition):
    """Wait until `condition` returns something; a request that fails is repeated, as a client
    does."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if found := condition():
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


def test_connections_wait_for_the_next_front(reckon):
    """The daemon owns the listening socket, so connections wait in it."""
    with Server(reckon) as server:
        pids = set()
        for _ in range(15):  # most of them in a pause before the next start
            pids.add(pid := next_front(server, pids))
            kill(pid)
            wait_gone(pid)
            assert server.ask("GET", "/ready", key=False).json["status"] == "ready"
        assert "the front is gone" in server.log()


def test_requests_during_a_crash_get_a_response_or_a_close(reckon):
    with Server(reckon) as server:
        session = server.create()
        outcomes, over = [], threading.Event()

        def ask():
            while not over.is_set():
                try:
                    outcomes.append(server.execute(session, "6 * 7")["status"])
                except (OSError, http.client.HTTPException):
                    outcomes.append("closed")

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
        assert set(outcomes) <= {"ok", "closed"} and "ok" in outcomes and "closed" in outcomes
        assert server.execute(session, "6 * 7")["status"] == "ok"
