"""Connections from outside to ports of a box reach its loopback only, and open nothing to the box."""
import os
import pathlib
import socket
import time

import pytest
from attack import Refused
from test_processes import refused

NOT_FOUND, INVALID, TIMEOUT = -2, -1, -5
CONCURRENT = 32  # RECKON_SESSION_CONCURRENT: another thread may call while one executes

ECHO = '''
import socket, threading
def serve(server, name):
    while True:
        c, peer = server.accept()
        c.sendall(name.encode() + b" " + c.recv(100) + b" from " + str(peer[0]).encode()); c.close()
def listen(address, port, name, family=socket.AF_INET):
    server = socket.socket(family); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port)); server.listen(8)
    threading.Thread(target=serve, args=(server, name), daemon=True).start()
'''


def test_listeners_on_loopback_are_reached(driver):
    box = driver.open(prelude=False)
    box.expect("ok", ECHO + '''
listen("127.0.0.1", 8000, "four"); listen("::1", 8001, "six", socket.AF_INET6)
listen("0.0.0.0", 8002, "any"); listen("127.0.0.2", 8003, "second")
''')
    assert box.exchange(8000, "hello") == b"four hello from 127.0.0.1"
    assert box.exchange(8001, "hello") == b"six hello from ::1"
    assert box.exchange(8002, "hello") == b"any hello from 127.0.0.1"
    refused(NOT_FOUND, box.exchange, 8003, "")
    assert sorted((each["port"], each["address"], each["loopback"]) for each in box.ports()) == [
        (8000, "127.0.0.1", True), (8001, "::1", True), (8002, "0.0.0.0", True),
        (8003, "127.0.0.2", False)]


def test_a_port_is_reached_while_a_cell_runs(driver):
    box = driver.open(prelude=False, flags=CONCURRENT)
    box.expect("ok", ECHO + 'listen("127.0.0.1", 8000, "four")')
    box.background("s = socket.create_server(('127.0.0.1', 8009)); c, _ = s.accept(); c.close(); print('met')")
    until = time.monotonic() + 60
    while not any(each["port"] == 8009 for each in box.ports()):
        assert time.monotonic() < until
    assert box.exchange(8000, "now") == b"four now from 127.0.0.1"
    box.exchange(8009)
    assert box.join()["stdout"] == "met\n"


def test_other_boxes_and_the_host_are_not_reached(driver):
    one, two = driver.open(prelude=False), driver.open(prelude=False)
    one.expect("ok", ECHO + 'listen("0.0.0.0", 8000, "one")')
    refused(NOT_FOUND, two.exchange, 8000)
    with socket.create_server(("0.0.0.0", 0)) as server:  # of the host
        refused(NOT_FOUND, one.exchange, server.getsockname()[1])


@pytest.mark.parametrize("port", [0, 65536, 1 << 31])
def test_invalid_port_numbers(driver, port):
    refused(INVALID, driver.open(prelude=False).exchange, port)


def test_a_server_that_does_not_accept(driver):
    box = driver.open(prelude=False)
    box.expect("ok", '''
import socket
server = socket.socket(); server.bind(("127.0.0.1", 8000)); server.listen(0)
fill = []
for _ in range(3):
    c = socket.socket(); c.setblocking(False); c.connect_ex(("127.0.0.1", 8000)); fill.append(c)
''')
    refused(TIMEOUT, box.exchange, 8000, seconds=1)
    assert box.expect("ok", "print(1)")["stdout"] == "1\n"


def test_many_listeners_are_bounded(driver):
    box = driver.open(prelude=False)
    box.expect("ok", '''
import socket
held = []
for port in range(20000, 20300):
    held.append(socket.create_server(("127.0.0.1", port)))
''')
    assert len(box.ports()) == 256


def wardens_running():
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == "reckon-warden":
                os.readlink(entry / "ns/net")
                found.append(entry)
        except OSError:
            pass
    return found


def test_the_warden_stays_in_its_network_namespace(driver):
    """The warden stays in its network namespace and leaks no descriptors of connections."""
    box = driver.open(prelude=False)
    box.expect("ok", ECHO + 'listen("127.0.0.1", 8000, "four")')
    inner = os.readlink(f"/proc/{box.pid}/ns/net")
    wardens = wardens_running()
    before = {entry: os.readlink(entry / "ns/net") for entry in wardens}
    descriptors = {entry: len(os.listdir(entry / "fd")) for entry in wardens}
    for _ in range(50):
        assert box.exchange(8000, "x") == b"four x from 127.0.0.1"
        refused(NOT_FOUND, box.exchange, 8001)
    assert {entry: os.readlink(entry / "ns/net") for entry in wardens} == before
    assert inner not in before.values()
    for entry in wardens:  # they make boxes meanwhile, which need a few descriptors
        assert len(os.listdir(entry / "fd")) < descriptors[entry] + 50


def test_a_network_with_a_connection_is_not_recycled(driver):
    """The warden does not recycle a network namespace that a connection from outside entered, so
    that a late connection cannot reach the next box."""
    if not driver.place.user.is_root:
        pytest.skip("the namespace is looked up by the kernel's pid")
    seen = set()
    for _ in range(4):
        box = driver.open(prelude=False)
        name = os.readlink(f"/proc/{box.pid}/ns/net")
        assert name not in seen
        seen.add(name)
        refused(NOT_FOUND, box.exchange, 8000)
        held = os.open(f"/proc/{box.pid}/ns/net", os.O_RDONLY)  # or Linux reuses its inode
        box.close()
        seen.add(held)


def test_a_port_of_a_closed_session(driver):
    box = driver.open(prelude=False)
    box.close()
    with pytest.raises(Refused):
        box.exchange(8000)
