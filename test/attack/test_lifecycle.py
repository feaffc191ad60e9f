"""The warden: malformed and foreign requests from its own user, and the death of its processes."""
import os
import pathlib
import random
import signal
import socket
import struct
import time

import pytest
from attack import Driver, Refused, status_of


@pytest.fixture
def connect(place, driver):
    """Connects to the shared warden as its own user; closed before the leftovers are counted."""
    sockets = []

    def connected():
        path = next(pathlib.Path(place.runtime, "reckon").glob("warden-*.sock"))
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sockets.append(sock)
        if place.user.is_root:
            sock.connect(str(path))
        else:
            connect_as(place.user, sock, str(path))
        sock.settimeout(5)
        return sock

    yield connected
    for sock in sockets:
        sock.close()


def connect_as(user, sock, path):
    """Connects with the user's ids, because SO_PEERCRED has the ids of the caller of connect()."""
    os.setresgid(user.gid, user.gid, 0)
    os.setresuid(user.uid, user.uid, 0)
    try:
        sock.connect(path)
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


class Requests:
    """Makes valid and malformed requests to the warden."""

    def __init__(self, layout):
        self.layout = layout

    def make(self, kind, seq=1, session=0, magic=None, version=None, size=None, **members):
        data = bytearray(size or self.layout["size"])
        fields = struct.pack("<IHHII", self.layout["magic"] if magic is None else magic,
                             self.layout["version"] if version is None else version, kind, seq,
                             session)
        data[:16] = fields[:len(data)]
        for name, value in members.items():
            at = self.layout[name]
            value = value if isinstance(value, bytes) else struct.pack("<I", value)
            data[at:at + len(value)] = value
        return bytes(data)

    def open(self, template=b"python", language=b"python", mount_count=0, target=b"/mnt/x"):
        return self.make(2, seq=2, template=template, language=language, mount_count=mount_count,
                         target=target)


@pytest.fixture
def requests(driver):
    return Requests(driver("layout"))


REFUSED = 65


def dropped(sock):
    """The warden closed the connection, perhaps after a REFUSED event or its version."""
    try:
        reply = sock.recv(65536)
        if len(reply) >= 8 and struct.unpack_from("<H", reply, 6)[0] in (0, REFUSED):
            reply = sock.recv(65536)
        return reply == b""
    except ConnectionResetError:
        return True


MALFORMED = {
    "byte": lambda r: b"x", "zeros": lambda r: b"\0" * 64,
    "ones": lambda r: b"\xff" * r.layout["size"], "magic": lambda r: r.make(1, magic=1),
    "version": lambda r: r.make(1, version=99), "open-before-hello": lambda r: r.open(),
    "probe-before-hello": lambda r: r.make(8), "head-alone": lambda r: r.make(1, size=16),
    "short": lambda r: r.make(1, size=r.layout["size"] - 1),
    "long": lambda r: r.make(1, size=r.layout["size"] + 1)}


@pytest.mark.parametrize("attack", MALFORMED)
def test_malformed_requests(connect, requests, neighbour, attack):
    sock = connect()
    sock.send(MALFORMED[attack](requests))
    assert dropped(sock)
    neighbour.check()


@pytest.mark.parametrize("size", [16, None, 8000])
def test_another_version_is_answered_with_ours(connect, requests, neighbour, size):
    """The warden answers a request of another version with its own version, whatever its length."""
    sock = connect()
    sock.send(requests.make(1, version=99, size=size))
    assert sock.recv(65536) == struct.pack("<IHH", requests.layout["magic"],
                                           requests.layout["version"], 0)
    assert dropped(sock)
    neighbour.check()


def test_a_refused_client_gets_the_reason(connect, requests, neighbour):
    sock = connect()
    sock.send(requests.make(1))
    sock.recv(65536)
    sock.send(b"x")
    event = sock.recv(65536)
    assert struct.unpack_from("<H", event, 6)[0] == REFUSED
    assert struct.unpack_from("<i", event, requests.layout["error"])[0] < 0
    assert b"not understood" in event
    assert dropped(sock)
    neighbour.check()


@pytest.fixture
def sock(connect, requests):
    """A connection after the HELLO exchange."""
    made = connect()
    made.send(requests.make(1))
    assert struct.unpack_from("<IHH", made.recv(65536)) == (
        requests.layout["magic"], requests.layout["version"], 1)
    return made


@pytest.mark.parametrize("kind", [0, 3, 4, 5, 6, 7, 9, 10, 11, 12, 21, 22, 23, 64, 65535])
def test_sessions_of_another_connection(sock, requests, neighbour, kind):
    """A connection sends each kind of request with the session numbers that others may have: each
    is refused, or the warden closes the connection."""
    for number in [*range(0, 60), 0xFFFFFFFF]:
        sock.send(requests.make(kind, seq=number + 1 & 0xFFFFFFFF, session=number))
        if kind == 3:  # BEGIN has no reply, so the reply is that of the USAGE after it
            sock.send(requests.make(4, seq=number + 1 & 0xFFFFFFFF, session=number))
        try:
            answer = sock.recv(65536)
        except ConnectionResetError:
            break
        if answer == b"":
            break
        assert struct.unpack_from("<i", answer, requests.layout["error"])[0] < 0, "a stranger's session was found"
    neighbour.check()


@pytest.mark.parametrize("fds, members", [
    pytest.param(0, {"template": b"../../etc"}, id="template-climbs"),
    pytest.param(0, {"template": b"a" * 64}, id="template-unterminated"),
    pytest.param(0, {"template": b"\0" * 8}, id="template-empty"),
    pytest.param(0, {"template": b"\xff\xfe"}, id="template-bytes"),
    pytest.param(0, {"language": b"../bash"}, id="language"),
    pytest.param(0, {"language": b"b" * 64}, id="language-unterminated"),
    pytest.param(0, {"mount_count": 1}, id="mount-without-directory"),
    pytest.param(0, {"mount_count": 0xFFFFFFFF}, id="mounts-overflow"),
    pytest.param(3, {"mount_count": 0}, id="directories-nobody-asked-for"),
    pytest.param(1, {"mount_count": 1, "target": b"/etc"}, id="target-etc"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/../etc"}, id="target-climbs"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/data"}, id="target-workspace"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/data/x"}, id="target-in-workspace"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt//data"}, id="target-two-slashes"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/./data"}, id="target-dot"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/"}, id="target-mnt"),
    pytest.param(1, {"mount_count": 1, "target": b"/mnt/" + b"m" * 251}, id="target-unterminated")])
def test_malformed_open(sock, requests, neighbour, fds, members):
    held = [os.open("/usr/share", os.O_RDONLY) for _ in range(fds)]
    try:
        socket.send_fds(sock, [requests.open(**members)], held)
        answer = sock.recv(65536)
        assert answer == b"" or struct.unpack_from("<i", answer, requests.layout["error"])[0] < 0
    except ConnectionResetError:
        pass
    finally:
        for fd in held:
            os.close(fd)
    neighbour.check()


def test_a_well_formed_open_is_answered(sock, requests):
    """A valid OPEN succeeds, which shows that the tests above are refused for their one defect."""
    sock.settimeout(30)
    sock.send(requests.open())
    answer, fds, _, _ = socket.recv_fds(sock, 65536, 4)
    for fd in fds:
        os.close(fd)
    assert struct.unpack_from("<i", answer, requests.layout["error"])[0] == 0 and len(fds) == 2


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_another_user_is_refused(place, neighbour, driver):
    path = next(pathlib.Path(place.runtime, "reckon").glob("warden-*.sock"))
    pid = os.fork()
    if pid == 0:
        os.setresgid(65533, 65533, 65533)
        os.setresuid(65533, 65533, 65533)
        try:
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(str(path))
        except PermissionError:
            os._exit(0)
        except OSError:
            os._exit(1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    neighbour.check()


def test_many_silent_connections(connect, neighbour, driver):
    socks = [connect() for _ in range(200)]
    neighbour.check()
    for sock in socks:
        sock.close()
    neighbour.check()


def test_a_client_that_reads_no_replies(sock, requests, neighbour):
    sock.setblocking(False)
    sent = 0
    try:
        while sent < 20000:
            sock.send(requests.make(4, seq=sent + 2, session=1))
            sent += 1
    except BlockingIOError:
        pass
    neighbour.check()


def test_the_client_is_killed(place, state, driver, host_usage, base_usage):
    """Sessions end with their client, also with child processes, a branch or a running cell."""
    doomed = Driver(place, state)
    boxes = [doomed.open() for _ in range(3)]
    boxes[0].expect("ok", "import subprocess\n"
                          "for _ in range(5): subprocess.Popen(['sleep', '1000'])")
    boxes[1].branch()
    boxes[2].start("while True: pass")
    time.sleep(0.2)
    doomed.kill()
    driver.open().expect("ok", "1")


@pytest.mark.parametrize("name", ["reckon-zygote-python"])
def test_the_zygote_is_killed(place, state, name):
    driver = Driver(place, state, "--private")
    try:
        box = driver.open(flags=4)
        box.expect("ok", "x = 1")
        kernels = {box.pid}
        for pid in zygotes_of(driver, name):
            if pid not in kernels:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
        assert box.ask("answer = x") == 1, "a running session needs no zygote"
        for _ in range(3):
            driver.open(flags=4).expect("ok", "1")
    finally:
        driver.close()


def zygotes_of(driver, name):
    """Host pids of this driver's zygotes: children of its warden that run outside of every box."""
    wardens, found = {driver.process.pid}, []
    for _ in range(3):
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                status = status_of(entry)
                if status.get("Name", "").startswith("reckon-warden") and \
                        int(status.get("PPid", 0)) in wardens:
                    wardens.add(int(entry))
    for entry in os.listdir("/proc"):
        status = status_of(entry) if entry.isdigit() else {}
        if int(status.get("PPid", 0)) in wardens and status["Name"] == name[:15]:
            found.append(int(entry))
    assert found
    return found


def test_a_killed_warden_is_reported(place, state):
    driver = Driver(place, state, "--private")
    try:
        box = driver.open()
        box.start("import time; time.sleep(100)")
        time.sleep(0.3)
        warden = next(int(e) for e in os.listdir("/proc") if e.isdigit() and
                      status_of(e).get("PPid") == str(driver.process.pid))
        os.kill(warden, signal.SIGKILL)
        try:
            record = box.finish()
            assert record["status"] in ("infra_error", "kernel_died"), record
        except Refused as refused:
            assert refused.code == -8
        # The engine continues with a new warden, which removes the cgroups of the dead one.
        assert driver.open().ask("answer = 2") == 2
    finally:
        driver.close()


def test_the_warden_is_killed_at_any_moment(place, state, host_usage, base_usage):
    """A warden killed while it builds boxes and zygotes must not leave half-made ones behind."""
    moments = random.Random(7)
    for _ in range(12):
        driver = Driver(place, state, "--private")
        driver.send("open", template="python", flags=0, limits={}, env=[])
        deadline, wardens = time.monotonic() + 5, []
        while not wardens and time.monotonic() < deadline:
            wardens = [int(e) for e in os.listdir("/proc") if e.isdigit() and
                       status_of(e).get("PPid") == str(driver.process.pid)]
        time.sleep(moments.random() * 0.12)
        for pid in wardens:
            os.kill(pid, signal.SIGKILL)
        driver.kill()
    last = Driver(place, state, "--private")  # removes the cgroups of the dead wardens
    last.open().expect("ok", "1")
    last.close()
    over = host_usage.settle(base_usage)
    assert not over, over


def test_sessions_of_two_clients_do_not_mix(place, state, neighbour, driver):
    other = Driver(place, state)
    try:
        one, two = driver.open(), other.open()
        one.expect("ok", "who = 'one'")
        two.expect("ok", "who = 'two'")
        assert [one.ask("answer = who"), two.ask("answer = who")] == ["one", "two"]
    finally:
        other.close()


def test_start_and_end_many(driver):
    for _ in range(30):
        box = driver.open(prelude=False)
        box.expect("ok", "1")
        box.close()
