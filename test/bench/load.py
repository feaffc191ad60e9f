#!/usr/bin/python3
"""Runs many sessions of one daemon with cells whose results are known: all results must be right,
and nothing may be left over.

usage: test/bench/load.py [--sessions N] [--live N] [--tenants N] [--seed N]
       [--rootless] [--hold [--rounds N]]
       (as root; needs the template python)

Each session has a model of its variables and files. The test compares with before: processes,
descriptors of reckond, its front and the warden, cgroups, mounts and network namespaces; and memory
in the last third of the run with that in the second.

With --hold all sessions live at once, and --live is the number of clients: in each round every
session runs one cell of a random kind. Memory is compared if there are 30 rounds or more.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

from reckon_serve import memory_kib  # noqa: E402

SETTLE_SECONDS = 30
# A warden recycles network namespaces and so keeps some open: as many as were in use at once, which
# is far fewer than there are sessions.
RECYCLED = {"networks", "warden fds"}
NETWORKS_KEPT = 64  # STATE_NETNS_MAX
# Memory is flat if it does not grow from the second third of a run to the last by more than it varies
# while cells run: their records, SQLite's cache, fragmentation.
GROWTH_SHARE, GROWTH_KIB = 0.05, 2048
SAMPLES = 30
ROUNDS_TO_JUDGE = 30  # after a third each session has its files, and the events of its last cells
QUIET_SECONDS = 15  # the daemon scans workspaces after 5 s, and returns freed memory 5 s later
QUIET_SHARE, QUIET_KIB = 0.03, 384


class Wrong(AssertionError):
    """The daemon returned a wrong result."""


def expect(is_so, what, seen):
    if not is_so:
        raise Wrong(f"{what}: {str(seen)[:600]}")


class Session:
    """One session and a model of its state."""

    def __init__(self, server, rng):
        self.server, self.rng = server, rng
        self.total, self.files, self.alive = 0, {}, True
        self.id = self.create()
        self.path = f"/sessions/{self.id}"
        self.run("total = 0")

    def create(self):
        while True:
            answer = self.server.ask("POST", "/sessions", {
                "template": "python", "limits": {"memory_bytes": 256 << 20, "output_bytes": 65536}})
            if answer.status == 201:
                return answer.json["id"]
            expect(answer.status == 429, "a session is opened or the client must wait", answer)
            time.sleep(float(answer.headers["Retry-After"]) * self.rng.random())

    def run(self, code, status="ok", headers=None, **body):
        record = self.server.execute(self.id, code, headers, **body)
        expect(record["status"] == status, f"{code!r} ends with {status}", record)
        expect(record["session"] == self.id, "the record is this session's", record)
        return record

    # Each of the following methods is one kind of work.

    def state(self):
        n = self.rng.randrange(1000)
        self.total += n
        record = self.run(f"total += {n}; print(total)")
        expect(record["stdout"] == f"{self.total}\n", f"total is {self.total}", record)

    def value(self):
        a, b = self.rng.randrange(10 ** 9), self.rng.randrange(10 ** 9)
        record = self.run(f"{a} * {b}")
        expect(record["results"][0]["data"]["text/plain"] == str(a * b), "a product", record)

    def error(self):
        record = self.run(f"[][{self.rng.randrange(9)}]", "error")
        expect(record["error"]["name"] == "IndexError", "an IndexError", record["error"])

    def file(self):
        name, size = f"f{self.rng.randrange(4)}.bin", self.rng.randrange(50_000)
        self.files[name] = bytes([size % 251]) * size
        record = self.run(f"open('{name}', 'wb').write(bytes([{size % 251}]) * {size})")
        expect([file["size"] for file in record["files"] if file["path"] == name] in ([size], []),
               f"{name} has {size} bytes", record["files"])
        self.look(name)

    def upload(self):
        name, data = f"u{self.rng.randrange(4)}.bin", self.rng.randbytes(self.rng.randrange(50_000))
        self.files[name] = data
        answer = self.server.ask("PUT", f"{self.path}/files/{name}", data)
        expect(answer.status == 200, "an upload", answer)
        record = self.run(f"d = open('{name}', 'rb').read(); print(len(d), sum(d))")
        expect(record["stdout"] == f"{len(data)} {sum(data)}\n", "what was uploaded", record)

    def look(self, name=None):
        name = name or (self.rng.choice(sorted(self.files)) if self.files else None)
        if name:
            answer = self.server.ask("GET", f"{self.path}/files/{name}")
            expect((answer.status, answer.body) == (200, self.files[name]), f"{name}'s bytes",
                   (answer.status, len(answer.body), len(self.files[name])))

    def events(self):
        lines = self.rng.randrange(1, 60)
        code = f"for i in range({lines}): print(i, flush=True)"
        text, ids = "", []
        with self.server.events("POST", f"{self.path}/executions",
                                {"code": code, "stream": True}) as (events, _):
            for number, name, data in events:
                ids.append(number)
                if name == "stream":
                    text += data["text"]
        expect(name == "done" and data["record"]["status"] == "ok", "the last event", name)
        expect(ids == sorted(set(ids)), "ids ascend", ids)
        expect(text == "".join(f"{i}\n" for i in range(lines)), "each line, in order", text)

    def background(self):
        n = self.rng.randrange(10 ** 6)
        record = self.server.poll(self.id, self.server.background(self.id, f"print({n} + 1)"))
        expect(record["stdout"] == f"{n + 1}\n", "an execution in the background", record)

    def once(self):
        headers, n = {"Idempotency-Key": f"k{self.rng.getrandbits(64)}"}, self.rng.randrange(1000)
        self.total += n
        records = [self.run(f"total += {n}; print(total)", headers=headers) for _ in range(2)]
        expect(records[0] == records[1] and records[0]["stdout"] == f"{self.total}\n",
               "one execution for two requests", records)

    def timeout(self):
        self.survive(self.run("while True: pass", "timeout", timeout_s=0.3))

    def survive(self, record):
        """Resets the model if a kernel did not react to its interrupt in time and lost its variables."""
        if any(note["code"] == "kernel_lost" for note in record["diagnostics"]):
            self.run("total = 0")
            self.total = 0

    def interrupt(self):
        execution = self.server.background(self.id, "import time\nwhile True: time.sleep(1)")
        while self.server.ask("GET", f"{self.path}/executions/{execution}").json["status"] == "queued":
            time.sleep(0.01)
        expect(self.server.ask("POST", f"{self.path}/interrupt").status == 200, "interrupt", "")
        record = self.server.poll(self.id, execution)
        expect(record["status"] == "interrupted", "it was interrupted", record)
        self.survive(record)

    def output(self):
        size = self.rng.randrange(70_000, 300_000)
        record = self.run(f"print('x' * {size})")
        cut = record["truncated"]["stdout"]
        expect(cut["bytes_total"] == size + 1, "all of its bytes are counted", cut)
        answer = self.server.ask("GET", f"/outputs/{cut['handle']}")
        expect(answer.status == 200 and answer.body == b"x" * size + b"\n", "the whole output",
               (answer.status, len(answer.body)))

    def memory(self):
        record = self.run("held = bytearray(600 << 20)", "error")
        expect(record["error"]["name"] == "MemoryError", "a MemoryError", record["error"])

    def program(self):
        n = self.rng.randrange(1000)
        record = self.run(f"import subprocess; print(subprocess.run(['echo', '{n}'], "
                          "capture_output=True, text=True).stdout.strip())")
        expect(record["stdout"] == f"{n}\n", "a program's output", record)

    def figure(self):
        n = self.rng.randrange(2, 9)
        record = self.run("from IPython.display import display, SVG\n"
                          f"display(SVG('<svg width=\"{n}\" height=\"{n}\"></svg>'))")
        data = [result["data"] for result in record["results"]]
        expect(any(f'width="{n}"' in str(each.get("image/svg+xml", "")) for each in data),
               "the picture that was drawn", data)

    def restart(self):
        expect(self.server.ask("POST", f"{self.path}/restart").status == 200, "a restart", "")
        record = self.run("total", "error")
        expect(record["error"]["name"] == "NameError", "a fresh kernel", record["error"])
        self.run(f"total = {self.total}")
        self.look()

    def context(self):
        answer = self.server.ask("POST", f"{self.path}/contexts", {})
        expect(answer.status == 201, "a context", answer)
        number, n = answer.json["id"], self.rng.randrange(10 ** 6)
        record = self.run(f"own = {n}; own + 1", context=number)
        expect(record["results"][0]["data"]["text/plain"] == str(n + 1), "its value", record)
        record = self.run("own", "error")
        expect(record["error"]["name"] == "NameError", "what is a context's alone", record["error"])
        answer = self.server.ask("DELETE", f"{self.path}/contexts/{number}")
        expect(answer.status in (200, 204), "its end", answer)

    WORK = {state: 8, value: 8, error: 3, file: 4, upload: 3, look: 4, events: 3, background: 2,
            once: 2, timeout: 0.4, interrupt: 0.6, output: 1, memory: 0.6, program: 1, figure: 1,
            restart: 0.5, context: 0.5}

    def step(self):
        """Does one random kind of work; returns its name."""
        kind = self.rng.choices(list(self.WORK), list(self.WORK.values()))[0]
        kind(self)
        return kind.__name__

    def live(self, cells):
        """Runs this many cells and ends the session; returns the count of each kind."""
        kinds = self.rng.choices(list(self.WORK), list(self.WORK.values()), k=cells)
        for kind in kinds:
            kind(self)
        record = self.run("print(total)")
        expect(record["stdout"] == f"{self.total}\n", "variables stay to the end", record)
        for name in self.files:
            self.look(name)
        self.end()
        return collections.Counter(kind.__name__ for kind in kinds)

    def end(self):
        if self.rng.random() < 0.1:
            self.run("import os; os._exit(3)", "kernel_died")
            record = self.run("print(total)", "error")
            expect(record["error"]["name"] == "NameError", "the variables are gone", record)
            self.look()
        expect(self.server.ask("DELETE", self.path).status in (200, 204), "deleted", "")
        answer = self.server.ask("POST", f"{self.path}/executions", {"code": "1"})
        expect(answer.status == 410, "it is closed", answer)


# ---- resources ----------------------------------------------------------------------------------

def wardens(leftovers):
    return [int(item[1]) for item in leftovers.new()
            if item[0] == "process" and item[2].startswith("reckon-warden")]


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def network_namespaces(pids):
    """The number of network namespaces that these processes are in or have open."""
    found = set()
    for pid in pids:
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
            for fd in os.scandir(f"/proc/{pid}/fd"):
                target = os.readlink(fd.path)
                if target.startswith("net:["):
                    found.add(target)
        except OSError:
            continue
    return len(found)


def weigh(server, leftovers):
    front = server.front()
    items = collections.Counter(item[0] for item in leftovers.new())
    return {"processes": items["process"], "cgroups": items["cgroup"], "mounts": items["mount"],
            "networks": network_namespaces(
                item[1] for item in leftovers.new() if item[0] == "process"),
            "reckond fds": descriptors(server.process.pid), "front fds": descriptors(front),
            "warden fds": sum(map(descriptors, wardens(leftovers)))}


def memory(server, leftovers):
    """Memory of the daemon's processes; the warden may be older than the snapshot of the leftovers."""
    wardens_of_all = [int(pid) for _, pid, name in leftovers.processes()
                      if name.startswith("reckon-warden ")]
    return {"reckond": memory_kib(server.process.pid), "front": memory_kib(server.front()),
            "warden": sum(map(memory_kib, wardens_of_all))}


def growth(sizes, share, kib):
    """The processes that grew too much from the second third of these samples to the last."""
    third = len(sizes) // 3
    grown = {}
    for name in sizes[0]:
        before, after = (statistics.median(size[name] for size in part)
                         for part in (sizes[third:2 * third], sizes[-third:]))
        if after - before > before * share + kib:
            grown[name] = [size[name] for size in sizes]
    return grown


def at_rest(server, leftovers):
    """The resources in use once the idle warden has made its parked kernels and pooled boxes."""
    deadline = time.monotonic() + SETTLE_SECONDS
    before = None
    while (now := weigh(server, leftovers)) != before and time.monotonic() < deadline:
        before = now
        time.sleep(3)
    return now


def settle(server, leftovers, base, slack):
    """Waits for resources to be freed; returns those of which there are more than before."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        now = weigh(server, leftovers)
        more = {name: (base[name], count) for name, count in now.items()
                if count > base[name] + (slack if name in RECYCLED else 0)}
        if more and time.monotonic() > deadline:
            more["names"] = collections.Counter(
                item[2].split()[0] for item in leftovers.new() if item[0] == "process")
        if not more or time.monotonic() > deadline:
            return more
        time.sleep(0.2)


def clients_of(server, tenants):
    """Creates tenants; yields a copy of the server with the key of each."""
    for number in range(tenants):
        tenant = server.ask("POST", "/tenants", {"name": f"load-{number}"})
        expect(tenant.status == 201, "a tenant is made", tenant)
        key = server.ask("POST", "/keys", {"tenant": tenant.json["id"],
                                           "scopes": ["sessions", "execute", "files", "read"]})
        expect(key.status == 201, "its key is made", key)
        client = copy.copy(server)
        client.key = key.json["key"]
        yield client


def is_apart(clients):
    """Checks that no tenant sees a session of another."""
    seen = [{entry["id"] for entry in client.ask("GET", "/sessions?limit=500").json["sessions"]}
            for client in clients]
    expect(all(seen) and len(set().union(*seen)) == sum(map(len, seen)), "each sees its own",
           [len(each) for each in seen])


def load(server, leftovers, sessions, live, seed, tenants, cells=(4, 16), is_flat=True):
    """Runs the sessions; returns statistics. Raises Wrong, for growing memory only if `is_flat`."""
    clients = list(clients_of(server, tenants))
    counts, done, lock = collections.Counter(), [], threading.Lock()
    sizes = []

    def one(number):
        rng = random.Random(seed * 1_000_003 + number)
        made = Session(clients[number % tenants], rng).live(rng.randrange(*cells))
        with lock:
            counts.update(made)
            done.append(number)
            if len(done) % max(1, sessions // SAMPLES) == 0:
                sizes.append(memory(server, leftovers))

    def run(numbers):
        with concurrent.futures.ThreadPoolExecutor(live) as pool:
            for future in [pool.submit(one, number) for number in numbers]:
                future.result()

    run(range(sessions, sessions + live))  # pools fill, threads start, caches grow
    counts.clear()
    done.clear()
    sizes.clear()
    base = at_rest(server, leftovers)
    started = time.monotonic()
    run(range(sessions))
    seconds = time.monotonic() - started
    is_apart(clients)
    more = settle(server, leftovers, base, live + 4)
    expect(not more, "nothing stays behind (before, after)", more)
    grown = growth(sizes, GROWTH_SHARE, GROWTH_KIB) if is_flat else {}
    expect(not grown, "memory is flat (KiB)", grown)
    return {"sessions": sessions, "live": live, "tenants": tenants, "seed": seed, "seconds": round(seconds, 1),
            "executions": sum(counts.values()), "kinds": dict(counts), "base": base,
            "memory_kib": sizes[-1], "reckond_kib": [size["reckond"] for size in sizes]}


def opened(clients, sessions, live, seed):
    """Opens this many sessions that live at the same time."""
    def one(number):
        return Session(clients[number % len(clients)], random.Random(seed * 1_000_003 + number))

    with concurrent.futures.ThreadPoolExecutor(live) as pool:
        return list(pool.map(one, range(sessions)))


def hold(server, leftovers, sessions, live, seed, tenants, rounds):
    """Runs all sessions at once; returns statistics. Raises Wrong."""
    clients = list(clients_of(server, tenants))
    warm = opened(clients, live, live, seed + 1)
    for session in warm:
        session.end()
    base = at_rest(server, leftovers)
    started = time.monotonic()
    held = opened(clients, sessions, live, seed)
    opening = time.monotonic() - started
    is_apart(clients)
    counts, sizes = collections.Counter(), []

    with concurrent.futures.ThreadPoolExecutor(live) as pool:
        for _ in range(rounds):
            counts.update(pool.map(Session.step, held))
            sizes.append(memory(server, leftovers))
        list(pool.map(Session.end, held))
    seconds = time.monotonic() - started
    more = settle(server, leftovers, base, NETWORKS_KEPT + 4)
    expect(not more, "nothing stays behind (before, after)", more)
    grown = growth(sizes, GROWTH_SHARE, GROWTH_KIB) if rounds >= ROUNDS_TO_JUDGE else {}
    expect(not grown, "memory is flat (KiB)", grown)
    return {"live sessions": sessions, "clients": live, "tenants": tenants, "seed": seed,
            "rounds": rounds, "opened in seconds": round(opening, 1), "seconds": round(seconds, 1),
            "executions": sum(counts.values()), "kinds": dict(counts), "base": base,
            "memory_kib": sizes[-1], "reckond_kib": [size["reckond"] for size in sizes]}


def level(server, leftovers, sessions, live, seed, tenants, rounds):
    """Runs `rounds` rounds of one cell per session, three times, with a pause after each; returns the
    memory of the processes after each pause. Raises Wrong."""
    clients = list(clients_of(server, tenants))
    held, sizes = opened(clients, sessions, live, seed), []
    with concurrent.futures.ThreadPoolExecutor(live) as pool:
        for _ in range(3):
            for _ in range(rounds):
                list(pool.map(Session.step, held))
            time.sleep(QUIET_SECONDS)
            sizes.append(memory(server, leftovers))
        list(pool.map(Session.end, held))
    grown = growth(sizes, QUIET_SHARE, QUIET_KIB)
    expect(not grown, "memory is flat (KiB)", grown)
    return {"cells": 3 * rounds * sessions, "seed": seed, "memory_kib": sizes}


def main():
    import tempfile

    from leftovers import Leftovers
    from reckon_cli import ROOTLESS_ID, Place, Reckon, User
    from reckon_serve import Server
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--live", type=int, default=20)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--hold", action="store_true", help="all sessions live at once")
    parser.add_argument("--rounds", type=int, default=6, help="with --hold: cells of each")
    parser.add_argument("--rootless", action="store_true", help="as an ordinary user")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="reckon-load-") as base:
        user = User("rootless", ROOTLESS_ID, ROOTLESS_ID) if given.rootless else User("root", 0, 0)
        place = Place(base, user)
        leftovers = Leftovers(place.program_dirs)
        try:
            with Server(Reckon(place, tempfile.mkdtemp(dir=base)), "--max-sessions",
                        str(given.sessions + given.live)) as server:
                done = (hold(server, leftovers, given.sessions, given.live, given.seed,
                             given.tenants, given.rounds) if given.hold else
                        load(server, leftovers, given.sessions, given.live, given.seed,
                             given.tenants))
                print(json.dumps(done))
        finally:
            leftovers.end_wardens()
            left = leftovers.wait_for_none()
            leftovers.kill()
        if left:
            sys.exit(f"left behind: {left}")


if __name__ == "__main__":
    main()
