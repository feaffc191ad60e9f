"""The warden: what its own user's processes may send it, and what happens when parts of it die."""
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
    """Connects to the shared warden as its own user; gone before the host is weighed."""
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
    """SO_PEERCRED is whose credentials connect() is called with."""
    os.setresgid(user.gid, user.gid, 0)
    os.setresuid(user.uid, user.uid, 0)
    try:
        sock.connect(path)
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


class Requests:
    """Makes requests to the warden, good and bad."""

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
    """Ended, perhaps with a word why: the event, or what all versions have in common."""
    try:
        said = sock.recv(65536)
        if len(said) >= 8 and struct.unpack_from("<H", said, 6)[0] in (0, REFUSED):
            said = sock.recv(65536)
        return said == b""
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
def test_another_version_is_told_ours(connect, requests, neighbour, size):
    """Whatever length its requests have."""
    sock = connect()
    sock.send(requests.make(1, version=99, size=size))
    assert sock.recv(65536) == struct.pack("<IHH", requests.layout["magic"],
                                           requests.layout["version"], 0)
    assert dropped(sock)
    neighbour.check()


def test_a_client_that_is_refused_is_told_why(connect, requests, neighbour):
    sock = connect()
    sock.send(requests.make(1))
    sock.recv(65536)
    sock.send(b"x")
    said = sock.recv(65536)
    assert struct.unpack_from("<H", said, 6)[0] == REFUSED
    assert struct.unpack_from("<i", said, requests.layout["error"])[0] < 0
    assert b"not understood" in said
    assert dropped(sock)
    neighbour.check()


@pytest.fixture
def sock(connect, requests):
    """A connection that said hello."""
    made = connect()
    made.send(requests.make(1))
    assert struct.unpack_from("<IHH", made.recv(65536)) == (
        requests.layout["magic"], requests.layout["version"], 1)
    return made


@pytest.mark.parametrize("kind", [0, 3, 4, 5, 6, 7, 9, 10, 11, 12, 21, 22, 23, 64, 65535])
def test_sessions_of_another_connection(sock, requests, neighbour, kind):
    """BEGIN, USAGE, INTERRUPT, CLOSE, BRANCH, CONTEXT, RESTART, END, DOOR, LEASE, BUSY of every
    number that others may have; ADOPT without a lease."""
    for number in [*range(0, 60), 0xFFFFFFFF]:
        sock.send(requests.make(kind, seq=number + 1 & 0xFFFFFFFF, session=number))
        if kind == 3:  # has no answer; what comes then is that of the USAGE behind it
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
    """What the refusals above are worth something against."""
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


def test_many_connections_that_say_nothing(connect, neighbour, driver):
    socks = [connect() for _ in range(200)]
    neighbour.check()
    for sock in socks:
        sock.close()
    neighbour.check()


def test_a_client_that_reads_no_answers(sock, requests, neighbour):
    sock.setblocking(False)
    sent = 0
    try:
        while sent < 20000:
            sock.send(requests.make(4, seq=sent + 2, session=1))
            sent += 1
    except BlockingIOError:
        pass
    neighbour.check()


def test_the_client_is_killed(place, state, driver, weight, base_weight):
    """Sessions end with their connection, whatever they were doing."""
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


def test_a_warden_that_was_killed_is_told(place, state):
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
        # The engine goes on with a new warden, which removes the dead one's cgroups.
        assert driver.open().ask("answer = 2") == 2
    finally:
        driver.close()


def test_the_warden_is_killed_at_any_moment(place, state, weight, base_weight):
    """While it builds boxes and zygotes their makings have no parent that ends with it yet."""
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
    last = Driver(place, state, "--private")  # removes the cgroups of the dead
    last.open().expect("ok", "1")
    last.close()
    over = weight.settle(base_weight)
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
