"""`reckon serve` killed before or during each change of its state directory, and the order of these
changes. With SOAK_SECONDS set the tests crash at every change, else at a sample of them."""

import collections
import contextlib
import copy as copying
import http.client
import os
import re
import signal
import time

import pytest
import serve_crash
from leftovers import PATIENCE
from reckon_serve import Server

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)
SAMPLE = 14
SECONDS = float(os.environ.get("SOAK_SECONDS", "40"))

pytestmark = [
    as_root, pytest.mark.skipif("b_sanitize" in os.environ.get("RECKON_BIN", "")
                                or "asan" in os.environ.get("RECKON_BIN", ""),
                                reason="the sanitizers want to be preloaded first")]


@pytest.fixture
def seed(reckon):
    return serve_crash.prepare(reckon, reckon.work / "seed")


def changes(reckon, model, **options):
    """All changes of a run without a crash."""
    state, log = reckon.work / "whole", reckon.work / "changes"
    serve_crash.copy(reckon, reckon.work / "seed", state)
    assert serve_crash.run(reckon, model, state, log=log, **options)
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def crash_everywhere(reckon, seed, args):
    """The number of crashes, and the number of sessions whose variables survived them."""
    total = len(changes(reckon, copying.deepcopy(seed), args=args))
    assert total > 60
    everything = "SOAK_SECONDS" in os.environ
    step = 1 if everything else total / SAMPLE
    points = [1 + int(step * number) for number in range(total if everything else SAMPLE)]
    deadline = time.monotonic() + SECONDS
    done = ended = survived = 0
    for point in points:
        if time.monotonic() > deadline:
            break
        model = copying.deepcopy(seed)
        state = reckon.work / f"crash-{point}"
        serve_crash.copy(reckon, reckon.work / "seed", state)
        try:
            ended += serve_crash.run(reckon, model, state, crash_at=point, args=args)
            survived += serve_crash.check(reckon, model, state, args)
        except AssertionError as error:
            raise AssertionError(f"change {point} of {total}: {error}") from error
        done += 1
    print(f"{done} of {total} changes, variables kept in {survived} sessions")
    # Changes by threads come in any order, so the last points may lie behind the end of a run.
    assert done >= 4 and ended <= 1 + done // 5
    return done, survived


@pytest.mark.slow
def test_answered_requests_survive_crashes(reckon, seed):
    _, survived = crash_everywhere(reckon, seed, serve_crash.ARGS)
    assert survived == 0


@pytest.mark.slow
def test_crashes_with_kernels_that_outlive_the_daemon(reckon, seed):
    done, survived = crash_everywhere(reckon, seed, serve_crash.ADOPT)
    assert survived >= done // 3


def is_log(path):
    return path == "reckond.db-wal"


def test_objects_are_synced_before_the_log_names_them(reckon, seed):
    """The daemon syncs the bytes of each new object, renames it, syncs its directory, and only then
    syncs a log that may name it: one that was written after the rename. Without arguments, nothing
    archives the audit log meanwhile."""
    synced, named, state = set(), {}, collections.Counter()
    written = set()  # objects that had their names before something was written to the log
    for line in changes(reckon, copying.deepcopy(seed), args=()):
        what, *paths = line.split(" ", 2)
        if what == "write" and paths[0].startswith("artifacts/tmp/"):
            synced.discard(paths[0])
        elif what == "sync" and paths[0].startswith("artifacts/tmp/"):
            synced.add(paths[0])
        elif what == "syncfs":
            synced.update(path for path in state if path.startswith("artifacts/tmp/"))
            named = dict.fromkeys(named, True)
        elif what == "rename" and paths[0].startswith("artifacts/"):
            assert paths[0] in synced, f"{paths[0]} was named before it was on the disk"
            named[paths[1]] = False
            written.discard(paths[1])
        elif what == "sync" and re.fullmatch(r"artifacts/[0-9a-f]{2}", paths[0]):
            for path in named:
                if path.startswith(paths[0] + "/"):
                    named[path] = True
        elif what == "write" and is_log(paths[0]):
            written.update(named)
        elif what == "sync" and is_log(paths[0]):
            late = [path for path in written if not named[path]]
            assert not late, f"the log names {late}, whose names are not on the disk"
            state["log"] += 1
        state[paths[0]] += 1
    assert len(named) >= 6 and state["log"] >= 8, (named, state["log"])


def test_syncs_of_a_cell(reckon, seed):
    """The number of syncs of a cell; docs/durability.md states it. The test takes the minimum of
    several cells, because the daemon also syncs for its own purposes (pages of the log, a
    series)."""
    log = reckon.work / "changes"
    reckon.state = reckon.work / "seed"
    env = {"LD_PRELOAD": str(serve_crash.SHIM), "RECKON_CRASH_DIR": str(reckon.state),
           "RECKON_CRASH_LOG": str(log)}

    def cost(server, session, code, **options):
        before = len(log.read_text().splitlines())
        assert server.execute(session, code, **options)["status"] == "ok"
        lines = log.read_text().splitlines()[before:]
        return sum(line.startswith("sync") for line in lines)

    def least(server, session, code):
        return min(cost(server, session, code.format(n)) for n in range(4))

    with Server(reckon, key=seed.key, env=env) as server:
        session = server.create()
        server.execute(session, "1")
        assert least(server, session, "x = 1\nprint(x)") == 1
        assert 3 <= least(server, session, "open('a', 'w').write('new {}')") <= 4
        assert least(server, session, "open('a').read()") == 1
        assert min(cost(server, session, "2", headers={"Idempotency-Key": f"k{n}"})
                   for n in range(4)) == 2
        many = "for i in range(1000): open(f'f{i}', 'w').write(f'NEW {i}')"
        assert min(cost(server, session, many.replace("NEW", str(n)))
                   for n in range(2)) <= 1000 / 64 + 4
    with Server(reckon, "--durability", "relaxed", key=seed.key, env=env) as server:
        session = server.create()
        assert least(server, session, "open('a', 'w').write('newer {}')") == 0


ARCHIVED = 150  # entries, of which all but a few move out of the database
REMOVE = ("--audit-entries", "10", "--audit-archive-size", "1")


def until_removed(server, state):
    """Wait until a segment was written and removed; return False if the daemon ends before."""
    deadline = time.monotonic() + 60 * PATIENCE
    folder = state / "audit"
    while not folder.exists() or list(folder.glob("*.seg")) or not list_of(server, "audit.prune"):
        if server.process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "nothing is removed"
        time.sleep(0.05)
    return True


def list_of(server, action):
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, KeyError):
        return [each for each in server.ask("GET", "/audit?limit=500").json["entries"]
                if each["action"] == action]
    return []


@pytest.mark.slow
def test_audit_is_whole_after_crashes_during_archiving(reckon):
    """Kill the daemon at each change of the audit folder, and at the changes of the database in
    between."""
    seed = reckon.work / "audited"
    seed.mkdir()
    reckon.user.own(seed)
    reckon.state = seed
    with Server(reckon) as server:
        for _ in range(ARCHIVED):
            server.ask("GET", "/artifacts/ar_" + "0" * 32)

    def run(name, **crash):
        state = reckon.state = reckon.work / name
        serve_crash.copy(reckon, seed, state)
        env = {"LD_PRELOAD": str(serve_crash.SHIM), "RECKON_CRASH_DIR": str(state), **crash}
        killed = Server(reckon, *REMOVE, key=server.key, env=env)
        with contextlib.suppress(AssertionError):
            killed.start()
        came = killed.process.poll() is None and until_removed(killed, state)
        if came:
            killed.stop(signal.SIGKILL)
        else:
            killed.process.wait(60)
            killed.process.stdout.close()
        return came

    log = reckon.work / "changes"
    assert run("whole", RECKON_CRASH_LOG=str(log))
    lines = log.read_text().splitlines()
    ours = [number for number, line in enumerate(lines, 1) if " audit/" in line or
            line.endswith(" audit")]
    assert [lines[number - 1].split()[0] for number in ours] == [
        "write", "sync", "rename", "sync", "unlink"], [lines[number - 1] for number in ours]
    ended = 0
    for point in range(ours[0], ours[-1] + 2):
        ended += run(f"crash-{point}", RECKON_CRASH_AT=str(point))
        done = reckon("audit", "verify", "--state", reckon.state).expect(0)
        assert "is whole" in done.out, (point, lines[point - 1])
        with Server(reckon, *REMOVE, key=server.key) as again:
            assert until_removed(again, reckon.state)
            pruned = list_of(again, "audit.prune")
            assert len({each["target"] for each in pruned}) == len(pruned), "told twice"
            assert not list_of(again, "audit.damage")
        done = reckon("audit", "verify", "--state", reckon.state).expect(0)
        assert "were removed, as entry" in done.out, (point, done.out)
        assert not list((reckon.state / "audit").glob("*.other"))
    assert ended <= 2
