"""The fence of reckon-front and reckon-unarchiver: seen from outside, and attacked from inside."""

import os
import pathlib
import socket
import subprocess

import pytest
from reckon_cli import ROOT
from reckon_serve import Server

PROBE = ROOT / "build/test/support/reckon-fence-probe"


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_the_front_from_outside(reckon):
    with Server(reckon) as server:
        assert server.ask("GET", "/health").status == 200
        status = status_of(server.front())
        assert status["Seccomp"] == "2"
        assert status["NoNewPrivs"] == "1"
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert int(status[name], 16) == 0, name
        uids = set(status["Uid"].split())
        if reckon.user.is_root:
            assert int(status["CapBnd"], 16) == 0
            assert uids.isdisjoint({"0"}) and len(uids) == 1
            assert set(status["Gid"].split()) == uids and status["Groups"].strip() == ""
        if os.geteuid() == 0:
            folder = pathlib.Path(f"/proc/{server.front()}/fd")
            opened = {os.readlink(path) for path in folder.iterdir()}
            known = ("socket:", "anon_inode:", "/dev/null", "pipe:", str(reckon.work / "serve.log"))
            assert all(name.startswith(known) for name in opened), opened
            assert str(reckon.state) not in str(opened)
            limits = pathlib.Path(f"/proc/{server.front()}/limits").read_text()
            row = next(line for line in limits.splitlines() if line.startswith("Max processes"))
            assert row.split()[2] == "0"


def test_the_daemon_serves_no_connection_itself(reckon):
    with Server(reckon) as server:
        connection = server.connect()
        connection.request("GET", "/reckon/v1/health")
        assert connection.getresponse().read()
        inodes = set()
        for path in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
            target = os.readlink(path)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        table = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
        states = [line.split()[3] for line in table if line.split()[9] in inodes]
        connection.close()
        assert states == ["0A"], "only the listening socket, which it keeps for the next front"


def attempts_of(as_user, *args):
    probe = PROBE
    if not as_user.is_root and os.geteuid() == 0:
        # The build may be in a folder that an ordinary user cannot enter: run the probe by its open
        # descriptor.
        descriptor = os.open(PROBE, os.O_RDONLY)
        done = subprocess.run([f"/proc/self/fd/{descriptor}", *args], capture_output=True,
                              text=True, check=True, pass_fds=[descriptor], **as_user.switch)
        os.close(descriptor)
    else:
        done = subprocess.run([probe, *args], capture_output=True, text=True, check=True)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def attempts(as_user):
    return attempts_of(as_user)


def test_a_captured_front_opens_runs_and_reaches_nothing(attempts):
    needed = {name: code for name, code in attempts.items() if name.startswith("needed: ")}
    assert len(needed) == 2 and set(needed.values()) == {"0"}
    tried = {name: code for name, code in attempts.items() if name not in needed}
    assert len(tried) >= 25
    worked = [name for name, code in tried.items() if code == "0"]
    assert not worked
    assert {tried[name] for name in ("open", "exec", "socket", "connect", "ptrace", "fork",
                                     "map to run", "make run")} == {"1"}


def test_a_captured_unarchiver_opens_runs_and_reaches_nothing(as_user):
    attempts = attempts_of(as_user, "peek")
    tried = {name: code for name, code in attempts.items() if not name.startswith("needed: ")}
    assert attempts["needed: memory"] == "0" and len(tried) >= 30
    assert not [name for name, code in tried.items() if code == "0"]
    assert tried["write to a file"] == "27", "the bound of files that it writes is 0"


UNARCHIVER = ROOT / "build/libexec/reckon-unarchiver"


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
@pytest.mark.parametrize("job", [["unpack"], ["pack", "tar"]])
def test_the_unarchiver_from_outside(as_user, job):
    """The unarchiver behind its fence, while it waits for its archive (an empty pipe) or its
    frames."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader, writer = os.pipe()

    def arrange():
        high = [os.dup(each) for each in (theirs.fileno(), reader)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)
        os.closerange(5, 256)

    unarchiver = subprocess.Popen([UNARCHIVER, *job], preexec_fn=arrange, close_fds=False,
                                  stdin=subprocess.DEVNULL, env={})
    try:
        theirs.close()
        assert int.from_bytes(ours.recv(65536)[4:6], "little") == 1, "READY"
        status = status_of(unarchiver.pid)
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"):
            assert int(status[name], 16) == 0, name
        uids = set(status["Uid"].split())
        assert uids == set(status["Gid"].split()) and len(uids) == 1 and "0" not in uids
        assert status["Groups"].strip() == ""
        limits = pathlib.Path(f"/proc/{unarchiver.pid}/limits").read_text()
        for name, value in (("Max processes", "0"), ("Max cpu time", "120"),
                            ("Max data size", str(384 << 20)), ("Max core file size", "0")):
            row = next(line for line in limits.splitlines() if line.startswith(name))
            assert row[len(name):].split()[0] == value
        assert {int(each.name) for each in pathlib.Path(f"/proc/{unarchiver.pid}/fd").iterdir()} <= \
            {0, 1, 2, 3, 4}
    finally:
        unarchiver.kill()
        unarchiver.wait()
        ours.close()
        os.close(reader)
        os.close(writer)
