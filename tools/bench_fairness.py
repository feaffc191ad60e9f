#!/usr/bin/python3
"""Measures how the load of one tenant affects the latency of another, with a new daemon.

    tools/bench_fairness.py [--workers N] [--sessions N] [--cells N] [--rounds N] [--sync-us N]
                            [--build DIR ...]

Tenant Y runs short cells, alternately alone and while tenant X has N sessions with cells that compute.
As root the client runs at real-time priority, so that its own waiting for a processor does not count.
Prints both 99th percentiles and their ratio. With --sync-us the state is in memory and each sync takes
this time, so that other load on the disk has no effect. Several builds alternate. Nothing is asserted,
because times depend on the host; test/unit/test_host_pool.c tests fairness by counting.
"""
import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOAD = "import time\nend = time.process_time() + 0.02\nwhile time.process_time() < end: pass"


class Daemon:
    def __init__(self, build, workers, state, sync_us):
        disk = {"LD_PRELOAD": str(ROOT / "build/test/support/held_sync.so"),
                "HELD_SYNC_US": str(sync_us)} if sync_us else {}
        self.process = subprocess.Popen(
            [build / "bin/reckon", "serve", "--listen", "127.0.0.1:0", "--state", state,
             "--workers", str(workers)], stdout=subprocess.PIPE, text=True,
            start_new_session=True,  # as for a service
            env={"RECKON_TEMPLATES": "/var/lib/reckon/templates", **os.environ, **disk})
        for line in self.process.stdout:
            if found := re.search(r"shown this once: (rk_\S+)", line):
                self.key = found[1]
            if found := re.search(r"listening on http://[^:]+:(\d+)", line):
                self.port = int(found[1])
                return
        raise SystemExit("the daemon did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def client(self, key):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

        def ask(method, path, body=None):
            connection.request(method, "/reckon/v1" + path, json.dumps(body) if body else None,
                               {"Authorization": f"Bearer {key}"})
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status >= 400:
                raise SystemExit(f"{method} {path}: {answer}")
            return answer
        return ask

    def tenant(self, name):
        admin = self.client(self.key)
        tenant = admin("POST", "/tenants", {"name": name})["id"]
        return admin("POST", "/keys", {"tenant": tenant, "scopes": ["sessions", "execute"]})["key"]


def in_real_time(is_so):
    """Sets the client's priority: at real-time priority it does not wait for a processor."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO if is_so else os.SCHED_OTHER,
                              os.sched_param(1 if is_so else 0))


def latencies(ask, session, cells):
    times = []
    for _ in range(cells):
        begin = time.monotonic()
        ask("POST", f"/sessions/{session}/executions", {"code": "1"})
        times.append(time.monotonic() - begin)
    return times


def keep_busy(daemon, key, sessions, stop):
    """Runs the other tenant's load, in another process, so that its threads do not delay ours."""
    in_real_time(False)

    def work():
        ask = daemon.client(key)
        session = ask("POST", "/sessions", {"template": "python"})["id"]
        while not stop.is_set():
            ask("POST", f"/sessions/{session}/executions", {"code": LOAD})
        ask("DELETE", f"/sessions/{session}")

    threads = [threading.Thread(target=work) for _ in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(daemon, args):
    """Latencies alone and under load, of one round; rounds repeat, because the host may be busy."""
    x, y = daemon.tenant("x"), daemon.tenant("y")
    ask = daemon.client(y)
    session = ask("POST", "/sessions", {"template": "python"})["id"]
    latencies(ask, session, 20)
    in_real_time(True)
    alone = latencies(ask, session, args.cells)
    stop = multiprocessing.Event()
    load = multiprocessing.Process(target=keep_busy, args=(daemon, x, args.sessions, stop))
    load.start()
    time.sleep(1)
    loaded = latencies(ask, session, args.cells)
    stop.set()
    load.join()
    in_real_time(False)
    return alone, loaded


def p99(times):
    return statistics.quantiles(times, n=100)[98]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2 * os.cpu_count())
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--cells", type=int, default=200, help="cells in each round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--sync-us", type=int, default=0, help="simulated time of a sync")
    parser.add_argument("--build", type=pathlib.Path, action="append", help="(build)")
    args = parser.parse_args()
    builds = args.build or [ROOT / "build"]
    times = {build: ([], []) for build in builds}
    for _ in range(args.rounds):
        for build in builds:
            with tempfile.TemporaryDirectory(dir="/dev/shm" if args.sync_us else None) as state:
                daemon = Daemon(build, args.workers, state, args.sync_us)
                try:
                    for all_of, some in zip(times[build], measure(daemon, args)):
                        all_of += some
                finally:
                    daemon.stop()
    print(f"workers {args.workers}, busy sessions of the other tenant {args.sessions}")
    for build, (alone, loaded) in times.items():
        print(build)
        for name, some in (("alone", alone), ("with load", loaded)):
            print(f"{name:10} median {statistics.median(some) * 1000:7.2f} ms"
                  f"   p99 {p99(some) * 1000:7.2f} ms")
        print(f"ratio of p99 {p99(loaded) / p99(alone):.2f}, of medians "
              f"{statistics.median(loaded) / statistics.median(alone):.2f}")


if __name__ == "__main__":
    main()
