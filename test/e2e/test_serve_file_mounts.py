"""Files of a tenant that are mounted in a session: below /mnt/files, read-only, as long as the
session exists."""

import hashlib
import os
import pathlib
import signal

import pytest
from reckon_serve import Server
from test_serve_tenant_files import store
from test_serve_tenants import using
from waiting import eventually

LARGE = os.urandom(4 << 20)


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


def folders(server, kind="fm_"):
    mounts = pathlib.Path(server.reckon.state) / "mounts"
    return sorted(each.name for each in mounts.glob(f"{kind}*")) if mounts.exists() else []


def end(server, session):
    assert server.ask("DELETE", f"/sessions/{session}").status == 200


def printed(server, session, code, **more):
    record = server.execute(session, code, **more)
    assert record["status"] == "ok", record
    return record["stdout"]


def test_mounted_files_do_not_count_in_the_disk_limit(server):
    large = store(server, LARGE, "large.bin").json
    small = store(server, b"a,b\n1,2\n", "t.csv").json
    session = server.create(limits={"disk_bytes": 1 << 20}, files=[
        {"file": large["id"], "mount": True}, {"file": small["id"], "mount": True, "path": "in/deep/é u.csv"},
        {"file": small["id"], "path": "copied.csv"}])
    look = ("import hashlib, os\nprint(hashlib.sha256(open('/mnt/files/large.bin','rb').read()).hexdigest())\n"
            "print(open('/mnt/files/in/deep/é u.csv').read(), os.listdir('/mnt/data'))")
    expected = f"{hashlib.sha256(LARGE).hexdigest()}\na,b\n1,2\n ['copied.csv']\n"
    assert printed(server, session, look) == expected
    # Processes and other kernels see the mounted files; listings of the workspace do not contain
    # them.
    done = server.ask("POST", f"/sessions/{session}/processes", {"command": "cat /mnt/files/in/*/* > out"}).json
    server.ask("GET", f"/sessions/{session}/processes/{done['id']}/wait")
    assert server.ask("GET", f"/sessions/{session}/files/out").body == b"a,b\n1,2\n"
    assert "a,b" in printed(server, session, "cat '/mnt/files/in/deep/é u.csv'", language="bash")
    names = [each["path"] for each in server.ask("GET", f"/sessions/{session}/files").json["files"]]
    assert sorted(names) == ["copied.csv", "out"]
    # The session keeps the mounted files when the tenant deletes them.
    for file in (large, small):
        assert server.ask("DELETE", f"/files/{file['id']}").status == 200
    assert printed(server, session, look.replace(", os.listdir('/mnt/data')", "")).startswith(expected[:64])
    end(server, session)
    eventually(lambda: not folders(server) and not folders(server, "te_"))


WRITES = """
import ctypes, os, stat
at, deep = '/mnt/files/a.txt', '/mnt/files/d'
libc = ctypes.CDLL(None, use_errno=True)
def mount(*args):
    if libc.mount(*args) < 0:
        raise OSError(ctypes.get_errno(), 'mount')
def reopened():
    fd = os.open(at, os.O_RDONLY)
    os.close(os.open(f'/proc/self/fd/{fd}', os.O_RDWR))
tries = [lambda: open(at, 'w'), lambda: open(at, 'a'), lambda: os.truncate(at, 0), lambda: os.unlink(at),
         lambda: os.rename(at, '/mnt/files/b'), lambda: os.rename('/mnt/data/x', at), lambda: os.chmod(at, 0o666),
         lambda: os.chown(at, 1000, 1000), lambda: os.utime(at, (1, 1)), lambda: os.link(at, '/mnt/files/b'),
         lambda: os.link(at, '/mnt/data/b'), lambda: os.symlink('x', '/mnt/files/b'), lambda: os.mkdir('/mnt/files/b'),
         lambda: os.rmdir(deep), lambda: open(deep + '/new', 'w'), lambda: os.setxattr(at, 'user.x', b'1'),
         lambda: os.mknod('/mnt/files/b'), reopened, lambda: open('/mnt/files/../new', 'w'),
         lambda: mount(b'', b'/mnt/files', None, 32, None), lambda: os.rename('/mnt/files', '/mnt/other')]
open('/mnt/data/x', 'w').write('x')
for number, each in enumerate(tries):
    try:
        each()
        print('done', number)
    except OSError:
        pass
print(open(at).read(), sorted(os.listdir('/mnt/files')), oct(stat.S_IMODE(os.stat(at).st_mode)))
"""


def test_nothing_in_the_box_can_change_mounted_files(server):
    file = store(server, b"kept", "a.txt").json
    both = [{"file": file["id"], "mount": True, "path": path} for path in ("a.txt", "d/a.txt")]
    session, other = server.create(files=both), server.create(files=both)
    for language, code in (("python", WRITES), ("bash", f"python3 - <<'END'\n{WRITES}END")):
        assert printed(server, session, code, language=language) == "kept ['a.txt', 'd'] 0o444\n"
    assert printed(server, other, "print(open('/mnt/files/a.txt').read())") == "kept\n"
    assert server.ask("GET", f"/files/{file['id']}/content").body == b"kept"
    # No path leads from a mount to its neighbours on the host.
    assert printed(server, session, "import os\nprint(sorted(os.listdir('/mnt/files/..')), os.path.exists('/mnt/files/../mounts'))"
                   ) == "['data', 'files'] False\n"
    end(server, session)
    assert printed(server, other, "print(open('/mnt/files/d/a.txt').read())") == "kept\n"
    end(server, other)


def test_tenants_do_not_share_the_inode_of_a_mounted_file(server):
    """Two tenants store the same content: with one inode, links, locks and times would reveal the
    other tenant."""
    look = ("import fcntl, os\nopened = open('/mnt/files/same')\nfcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
            "print(os.fstat(opened.fileno()).st_ino, os.fstat(opened.fileno()).st_nlink)")
    tenant, key = server.newcomer("mounts-other")

    def one():
        file = store(server, b"the same content", "same").json["id"]
        session = server.create(files=[{"file": file, "mount": True}])
        return session, printed(server, session, look).split()
    session, mine = one()
    with using(server, key):
        theirs = one()[1]
        assert server.ask("POST", "/sessions", {"files": [{"file": "file_01M80J7V9Z7WCA235G7GJNP5HC",
                                                           "mount": True}]}).code == "not_found"
    assert mine[0] != theirs[0] and mine[1] == theirs[1] == "2"
    assert server.execute(server.create(), "open('/mnt/files/same')")["error"]["name"] == "FileNotFoundError"
    assert server.ask("DELETE", f"/tenants/{tenant}").status == 200
    end(server, session)
    eventually(lambda: not folders(server) and not folders(server, "te_"))


@pytest.mark.parametrize("paths, text", [
    (["../x"], "not a path"), (["/etc/passwd"], "not a path"), (["a/../b"], "not a path"), (["a//b"], "not a path"),
    (["a", "a"], "in each other"), (["a", "a/b"], "in each other"),
    (["a/b", "c", "a"], "in each other")], ids=str)
def test_invalid_mount_paths_are_refused(server, paths, text):
    file = store(server, b"x", "x").json["id"]
    before = folders(server)
    answer = server.ask("POST", "/sessions", {
        "files": [{"file": file, "mount": True, "path": path} for path in paths]})
    assert answer.status == 400 and text in answer.json["error"]["message"], answer
    assert folders(server) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_mounts_outlive_the_daemon_and_unused_ones_are_removed(reckon, number):
    server = Server(reckon)
    server.start()
    file = store(server, LARGE, "l").json["id"]
    session = server.create(files=[{"file": file, "mount": True}])
    assert printed(server, session, "x = 1\nprint(len(open('/mnt/files/l', 'rb').read()))") == f"{len(LARGE)}\n"
    server.ask("DELETE", f"/files/{file}")
    server.stop(number)
    left = pathlib.Path(reckon.state) / "mounts/fm_01M80J7V9Z7WCA235G7GJNP5HC/deep"
    left.mkdir(parents=True)
    for each in (left, left.parent):
        reckon.user.own(each)
    with Server(reckon, key=server.key) as again:
        assert printed(again, session, "print(len(open('/mnt/files/l', 'rb').read()))") == f"{len(LARGE)}\n"
        assert len(folders(again)) == 1
        end(again, session)
        eventually(lambda: not folders(again) and not folders(again, "te_"))
