"""The audit log: its entries, that it survives kills, and that changes of it are detected."""
import contextlib
import hashlib
import signal
import sqlite3

import pytest
from reckon_cli import parse_json
from reckon_serve import Server
from waiting import eventually

pytestmark = pytest.mark.one_user  # the daemon writes the same entries for each user


def entries(server, **query):
    found, after = [], 0
    while True:
        page = server.ask("GET", f"/audit?limit=7&after={after}").json
        found += page["entries"]
        if not page["entries"] or found[-1]["sequence"] == page["last"]:
            return found
        after = found[-1]["sequence"]


def of(found, action):
    return [entry for entry in found if entry["action"] == action]


def verify(reckon):
    return reckon("audit", "verify", "--state", reckon.state)


def chain(entry, before):
    """Compute the documented hash independently of the daemon."""
    data = b"reckon.audit/1" + before + entry["sequence"].to_bytes(8, "little")
    for name in ("at", "actor", "tenant", "request", "action", "target", "outcome", "detail"):
        text = entry[name].encode()
        data += len(text).to_bytes(4, "little") + text
    return hashlib.blake2b(data, digest_size=32).digest()


@contextlib.contextmanager
def database(reckon):
    with contextlib.closing(sqlite3.connect(reckon.state / "reckond.db")) as opened, opened:
        yield opened


def some_work(server):
    session = server.create()
    server.execute(session, "secret = 'xyzzy'", {"X-Request-Id": "mine"})
    server.ask("PUT", f"/sessions/{session}/files/a.txt", b"content")
    server.ask("GET", f"/sessions/{session}/files/a.txt")
    server.ask("DELETE", f"/sessions/{session}/files/a.txt")
    server.ask("DELETE", f"/sessions/{session}/files/a.txt")
    server.ask("DELETE", f"/sessions/{session}")
    return session


def test_actions_are_recorded(reckon):
    with Server(reckon) as server:
        session = some_work(server)
        server.ask("POST", "/drain")
        server.ask("DELETE", "/drain")
        server.process.send_signal(signal.SIGHUP)
        server.ask("GET", "/sessions", key=False)
        server.ask("GET", "/health")
        assert server.ask("GET", "/audit", key=False).status == 401
        assert server.ask("GET", "/audit?before=x").status == 400
        found = entries(server)
        raw = server.ask("GET", "/audit?limit=500").body
        key = server.key
        server.stop()
    actions = [entry["action"] for entry in found if entry["target"] == session]
    assert actions == ["session.create", "execution.start", "execution.end", "file.put",
                       "file.get", "file.delete", "file.delete", "session.end"]
    assert [entry["outcome"] for entry in of(found, "file.delete")] == ["ok", "failed"]
    assert of(found, "session.end")[0]["outcome"] == "closed"
    start = of(found, "execution.start")[0]
    assert start["request"] == "mine"
    code = hashlib.blake2b(b"secret = 'xyzzy'", digest_size=32).hexdigest()
    assert f"blake2b={code}" in start["detail"]
    people = {entry["actor"] for entry in found if entry["target"] == session}
    assert len(people) == 1 and next(iter(people)).startswith("key_")
    assert len(of(found, "daemon.drain")) == len(of(found, "daemon.undrain")) == 1
    assert key.encode() not in raw and b"xyzzy" not in raw
    before = bytes(32)
    for number, entry in enumerate(found, 1):
        assert entry["sequence"] == number
        before = chain(entry, before)
        assert entry["hash"] == before.hex()
    # Denied requests share one entry with a count, which is written when the daemon stops at the
    # latest.
    listed = reckon("audit", "ls", "--json", "--state", reckon.state).expect(0)
    recorded = [parse_json(line) for line in listed.out.splitlines()]
    assert recorded[:len(found)] == found
    assert [entry["detail"] for entry in of(recorded, "request.denied")] == ["count=2"]
    assert recorded[-1]["action"] == "daemon.stop"
    assert of(recorded, "config.reload")
    assert "is whole" in verify(reckon).expect(0).out
    after = reckon("audit", "ls", "--after", len(recorded) - 1, "--state", reckon.state).expect(0)
    assert after.out.startswith(f"{len(recorded)} ") and after.out.count("\n") == 1


def test_tenants_and_keys_are_recorded(reckon):
    with Server(reckon) as server:
        tenant = server.ask("POST", "/tenants", {"name": "acme"}).json["id"]
        made = server.ask("POST", "/keys", {"tenant": tenant, "scopes": ["sessions", "execute"]}).json
        their = Server(reckon, key=made["key"])
        their.port = server.port
        session = their.create()
        assert their.ask("GET", "/audit").status == 403
        server.ask("PATCH", f"/tenants/{tenant}", {"state": "suspended"})
        server.ask("DELETE", f"/keys/{made['id']}")
        server.ask("DELETE", f"/tenants/{tenant}")
        found = entries(server)
        assert made["key"].encode() not in server.ask("GET", "/audit?limit=500").body
    assert [entry["target"] for entry in of(found, "tenant.create")] == [tenant]
    assert made["id"] in [entry["target"] for entry in of(found, "key.create")]
    assert [entry["target"] for entry in of(found, "key.revoke")] == [made["id"]]
    assert "state=suspended" in of(found, "tenant.change")[0]["detail"]
    assert of(found, "tenant.delete")
    created = of(found, "session.create")[0]
    assert (created["target"], created["tenant"], created["actor"]) == (session, tenant, made["id"])
    assert "is whole" in verify(reckon).expect(0).out


@pytest.mark.parametrize("change, words", [
    ("UPDATE audit SET detail = 'nothing' WHERE sequence = 3", "entry 3 is not"),
    ("UPDATE audit SET actor = 'x', hash = zeroblob(32) WHERE sequence = 2", "entry 2 is not"),
    ("DELETE FROM audit WHERE sequence = 4", "entry 4 is missing"),
    ("DELETE FROM audit WHERE sequence = 1", "entry 1 is missing"),
    ("DELETE FROM audit WHERE sequence > 5", "entries 6 to"),
    ("DELETE FROM audit", "entries 1 to"),
])
def test_changes_of_the_database_are_detected(reckon, change, words):
    with Server(reckon) as server:
        some_work(server)
    assert "is whole" in verify(reckon).expect(0).out
    with database(reckon) as opened:
        opened.execute(change)
    assert words in verify(reckon).expect(1).out


def test_audit_head_has_a_seal(reckon):
    with Server(reckon) as server:
        some_work(server)
    head = reckon.state / "audit.head"
    whole = head.read_text()
    sequence, hash_, seal = whole.split()
    # Cut off the last entry and rewrite audit.head to match, without the secret of the seal.
    with database(reckon) as opened:
        opened.execute("DELETE FROM audit WHERE sequence = ?", [int(sequence)])
        last = opened.execute("SELECT hash FROM audit ORDER BY sequence DESC").fetchone()[0]
    head.write_text(f"{int(sequence) - 1} {last.hex()} {seal}\n")
    assert "seal" in verify(reckon).expect(1).out
    head.write_text("nonsense\n")
    assert "damaged" in verify(reckon).expect(1).out
    head.unlink()
    assert "missing" in verify(reckon).expect(1).out
    # The daemon still serves, and reports the damage in its log and in the audit log.
    with Server(reckon, key=server.key) as server:
        assert "lost its end" in server.log()
        assert of(entries(server), "audit.damage")[0]["detail"] == "audit.head is missing"


def test_it_survives_a_kill_at_any_moment(reckon):
    with Server(reckon) as server:
        session = server.create()
        for _ in range(3):
            running = server.background(session, "import time; time.sleep(60)")
            server.process.kill()
            server.process.wait()
            server.process.stdout.close()
            server.start()
            found = entries(server)
            # The entry exists: one transaction writes it together with the row of the execution.
            assert running in of(found, "execution.start")[-1]["detail"]
            assert not of(found, "audit.damage")
            session = server.create()
            assert "is whole" in verify(reckon).expect(0).out


def test_command_line_errors(reckon):
    assert reckon("audit").expect(2)
    assert reckon("audit", "prune").expect(2)
    assert reckon("audit", "ls", "--after=x", "--state", reckon.state).expect(2)
    assert reckon("audit", "ls", "--state", reckon.work / "nowhere").status == 125


# ---- entries in sealed files --------------------------------------------------------------------

def segments(reckon):
    return sorted(path.name for path in (reckon.state / "audit").glob("*.seg"))


def rows(reckon):
    with database(reckon) as opened:
        return opened.execute("SELECT count(*), min(sequence) FROM audit").fetchone()


def fill(server, count):
    """Write at least `count` entries."""
    session = server.create()
    for _ in range(count // 2):
        server.ask("DELETE", f"/sessions/{session}/files/nothing")
        server.ask("GET", f"/sessions/{session}/files/nothing")
    server.ask("DELETE", f"/sessions/{session}")


def listed(reckon, *args):
    done = reckon("audit", "ls", "--json", *args, "--state", reckon.state).expect(0)
    return [parse_json(line) for line in done.out.splitlines()]


def test_excess_entries_move_to_sealed_files(reckon):
    with Server(reckon, "--audit-entries", "40") as server:
        fill(server, 150)
        eventually(lambda: segments(reckon), "a segment")
        eventually(lambda: rows(reckon)[0] < 40 + 64, "fewer rows")
        assert rows(reckon)[1] > 1
        # Readers get every entry, over HTTP and without the daemon.
        found = entries(server)
        assert [entry["sequence"] for entry in found] == list(range(1, len(found) + 1))
        assert of(found, "audit.archive")[0]["target"] == segments(reckon)[0]
        assert server.ask("GET", "/audit").json["first"] == 1
        assert server.ask("GET", "/audit?after=5&limit=3").json["entries"] == found[5:8]
        border = rows(reckon)[1]
        assert server.ask("GET", f"/audit?after={border - 3}&limit=5").json["entries"] == \
            found[border - 3:border + 2]
        assert "is whole" in verify(reckon).expect(0).out
    assert listed(reckon)[:len(found)] == found
    assert listed(reckon, "--after", 2, "--limit", 4) == found[2:6]
    before = bytes(32)
    for entry in found:
        before = chain(entry, before)
        assert entry["hash"] == before.hex()
    for path in (reckon.state / "audit").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    done = verify(reckon).expect(0)
    assert f"is whole: {len(listed(reckon))} entries" in done.out
    # A daemon with --audit-entries 0 continues the same chain.
    with Server(reckon, "--audit-entries", "0", key=server.key) as server:
        assert entries(server)[:len(found)] == found
    assert "is whole" in verify(reckon).expect(0).out


def test_old_entries_move_to_sealed_files(reckon):
    with Server(reckon, "--audit-keep", "2") as server:
        fill(server, 20)
        eventually(lambda: rows(reckon)[1] > 20, "old rows are moved")
        assert entries(server)[0]["sequence"] == 1
        assert "is whole" in verify(reckon).expect(0).out


def test_removal_of_sealed_files_is_recorded(reckon):
    with Server(reckon, "--audit-entries", "40", "--audit-archive-size", "1") as server:
        fill(server, 150)
        pruned = eventually(lambda: of(entries(server), "audit.prune"), "a segment is removed")
        found = entries(server)
        first = found[0]["sequence"]
        assert first > 1 and segments(reckon) == []
        assert server.ask("GET", "/audit").json["first"] == first
        last = pruned[-1]
        assert last["detail"].startswith(f"through={first - 1} hash=")
        # The chain continues from the hash that the entry names.
        before = bytes.fromhex(last["detail"].partition("hash=")[2])
        for entry in found:
            before = chain(entry, before)
            assert entry["hash"] == before.hex()
    done = verify(reckon).expect(0).out
    assert f"is whole from entry {first} on" in done
    assert f"entries 1 to {first - 1} were removed, as entry {last['sequence']} says" in done


def test_old_sealed_files_are_removed(reckon):
    args = ("--audit-keep", "1", "--audit-archive-keep", "3")
    with Server(reckon, *args) as server:
        fill(server, 20)
        eventually(lambda: of(entries(server), "audit.prune"), "a segment is removed")
        assert "were removed" in verify(reckon).expect(0).out


@pytest.fixture
def archived(reckon):
    with Server(reckon, "--audit-entries", "40") as server:
        for _ in range(2):
            count = len(segments(reckon)) if (reckon.state / "audit").exists() else 0
            fill(server, 150)
            eventually(lambda: (reckon.state / "audit").exists() and len(segments(reckon)) > count,
                       "a segment")
    assert "is whole" in verify(reckon).expect(0).out
    return [reckon.state / "audit" / name for name in segments(reckon)], server.key


@pytest.mark.parametrize("where", ["begin", "middle", "end", "seal"])
def test_changes_of_a_sealed_file_are_detected(reckon, archived, where):
    path = archived[0][-1]
    whole = path.read_bytes()
    at = {"begin": 3, "middle": len(whole) // 2, "end": len(whole) - 100, "seal": len(whole) - 1}[where]
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    done = verify(reckon).expect(1).out
    assert path.name in done or "damaged" in done
    for cut in (0, 10, len(whole) - 40):
        path.write_bytes(whole[:cut])
        verify(reckon).expect(1)
    path.write_bytes(whole)
    verify(reckon).expect(0)


def test_missing_and_swapped_sealed_files_are_detected(reckon, archived):
    paths, _ = archived
    assert len(paths) > 1
    for path in (paths[0], paths[-1]):
        whole = path.read_bytes()
        path.unlink()
        assert "missing" in verify(reckon).expect(1).out
        path.write_bytes(whole)
    # The second file in the place of the first.
    first, second = paths[0].read_bytes(), paths[1].read_bytes()
    paths[0].write_bytes(second)
    verify(reckon).expect(1)
    paths[0].write_bytes(first)
    verify(reckon).expect(0)
    # Without any sealed file, the log starts at the rows in the database.
    for path in paths:
        path.unlink()
    assert "no entry says" in verify(reckon).expect(1).out


def test_leftover_sealed_files_are_renamed(reckon, archived):
    """Before the daemon writes sealed files of the same names, it renames the leftovers of a crash
    or a restored database to `.other`."""
    with database(reckon) as opened:
        base = opened.execute("SELECT value FROM meta WHERE name = 'audit_base'").fetchone()[0]
        base = int(base.split()[0])
    folder = reckon.state / "audit"
    names = [f"{base + 1:020}-{base + 9:020}.seg", f"{base + 1:020}-{base + 10 ** 6:020}.seg"]
    for name in [*names, "new", "nonsense.seg"]:
        (folder / name).write_bytes(b"half a file")
        reckon.user.own(folder / name)
    assert "is whole" in verify(reckon).expect(0).out
    with Server(reckon, "--audit-entries", "10", key=archived[1]) as server:
        fill(server, 150)
        eventually(lambda: rows(reckon)[1] > base + 60, "rows are moved")
        assert [entry["sequence"] for entry in entries(server)] == \
            list(range(1, len(entries(server)) + 1))
    left = {path.name for path in folder.iterdir()}
    assert {f"{name}.other" for name in names} <= left and not set(names) & left
    assert "is whole" in verify(reckon).expect(0).out
