"""Kernel memory that a box causes, such as socket buffers, has a limit as well."""
import pytest
from attack import MIB

# Eight processes open pairs of sockets that nobody reads, and fill each until it accepts no more.
FILL = r'''
import os, socket, time
HELD = 0
def fill(sock, data=bytes(60000)):
    sock.setblocking(False)
    sent = 0
    try:
        while sent < 64 << 20: sent += sock.send(data)
    except OSError: pass
    return sent
def pairs(count):
    server = socket.create_server(("127.0.0.1", 0), backlog=1000)
    for _ in range(count):
        try:
            one = socket.create_connection(server.getsockname(), timeout=2); two = server.accept()[0]
        except OSError: return
        yield one, two
        if KIND == "udp":
            one.close(); two.close()
def run(ready):
    kept, total = [], 0
    for one, two in pairs(120):
        if KIND == "tcp":
            for s in (one, two):
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20) if BIG else None
                total += fill(s)
            kept += [one, two]
        else:
            a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(("127.0.0.1", 0))
            a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
            b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); b.connect(a.getsockname())
            b.setblocking(False)
            try:
                for _ in range(200): total += b.send(bytes(60000))
            except OSError: pass
            kept += [a, b]
    os.write(ready, b"%d " % total)
    time.sleep(100)
r, w = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        run(w); os._exit(0)
os.close(w)
text = b""
while text.count(b" ") < 8:
    more = os.read(r, 4096)
    if not more: break
    text += more
answer = sum(map(int, text.split()))
'''


def buffered_bytes():
    """Bytes in the TCP and UDP buffers of the whole host."""
    pages = 0
    for line in open("/proc/net/sockstat", encoding="utf-8"):
        words = line.split()
        if words[0] in ("TCP:", "UDP:"):
            pages += int(words[words.index("mem") + 1])
    return pages * 4096


@pytest.mark.parametrize("kind, big", [("tcp", False), ("tcp", True), ("udp", True)])
def test_buffers_of_sockets(driver, as_user, kind, big):
    before = buffered_bytes()
    box = driver.open(memory_bytes=128 * MIB, disk_bytes=16 * MIB, wall_ms=60000)
    box.ask(FILL.replace("KIND", repr(kind)).replace("BIG", repr(big)))
    now = buffered_bytes() - before
    # With a cgroup, socket memory is limited to an eighth of the box's memory, but Linux still
    # grants each socket 32 KiB. Without one, the number of descriptors is the limit.
    most = 144 * MIB if as_user.is_root else 8 * 240 * (2 * 256 << 10)
    assert now <= most, f"{now / MIB:.0f} MiB"
    box.close()
