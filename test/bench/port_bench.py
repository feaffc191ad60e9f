"""Compares the throughput of a port of a box with that of the same program on this host.

    python3 test/bench/port_bench.py URL KEY          of a running `reckon serve`, with template python

Prints MB/s of one connection and the ratio to the direct connection, alternately; and requests per second.
`relay` is the lower bound of a process in between: it only forwards pieces of 64 KiB.
"""
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

SIZE, ROUNDS, REQUESTS = 512 << 20, 5, 300
PROGRAM = '''
import socket, threading
block = bytes(1 << 20)
def serve(c):
    with c:
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            more = c.recv(65536)
            if not more: return
            head += more
        size = int(head.split(b"/n=")[1].split()[0])
        c.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % size)
        while size > 0:
            c.sendall(block[:size]); size -= len(block)
server = socket.create_server(("127.0.0.1", PORT), backlog=128)
def accept():
    while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''
HERE = "\nprint(server.getsockname()[1], flush=True)\naccept()"
RELAY = '''
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
buffer = memoryview(bytearray(65536))
while True:
    client, _ = server.accept()
    with client, socket.create_connection(("127.0.0.1", PORT)) as program:
        program.sendall(client.recv(65536))
        while n := program.recv_into(buffer):
            client.sendall(buffer[:n])
'''


def read(host, port, path, headers, ahead=b""):
    """(seconds, bytes) of one response, which is discarded."""
    begin = time.monotonic()
    sock = socket.create_connection((host, port))
    if ahead:
        sock.sendall(ahead)
        while b"\r\n\r\n" not in (head := sock.recv(65536)):
            assert head
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n".encode())
    total, buffer = 0, bytearray(1 << 20)
    while n := sock.recv_into(buffer):
        total += n
    sock.close()
    return time.monotonic() - begin, total


def run(code):
    """Starts a program on this host; returns it and the port on which it listens."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def main():
    url, key = urllib.parse.urlsplit(sys.argv[1]), {"Authorization": f"Bearer {sys.argv[2]}"}

    def call(method, path, body):
        connection = http.client.HTTPConnection(url.hostname, url.port)
        connection.request(method, f"/reckon/v1{path}", json.dumps(body), key)
        return json.loads(connection.getresponse().read())
    session = call("POST", "/sessions", {"template": "python"})["id"]
    call("POST", f"/sessions/{session}/executions", {
        "code": PROGRAM.replace("PORT", "8000")
        + "\nthreading.Thread(target=accept, daemon=True).start()"})
    direct, direct_port = run(PROGRAM.replace("PORT", "0") + HERE)
    relay, relay_port = run(RELAY.replace("PORT", str(direct_port)))
    base = f"/reckon/v1/sessions/{session}/ports/8000"
    tunnel = (f"GET {base} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key['Authorization']}\r\n"
              "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n").encode()
    ways = {
        "direct": lambda n: read("127.0.0.1", direct_port, f"/n={n}", {}),
        "relay": lambda n: read("127.0.0.1", relay_port, f"/n={n}", {}),
        "by path": lambda n: read(url.hostname, url.port, f"{base}/n={n}", key),
        "tunnel": lambda n: read(url.hostname, url.port, f"/n={n}", {}, tunnel),
    }
    rates = {name: [] for name in ways}
    for _ in range(ROUNDS):  # alternately, because the machine may have other load
        for name, way in ways.items():
            seconds, total = way(SIZE)
            assert total >= SIZE, (name, total)
            rates[name].append(SIZE / seconds / 1e6)
    best = {name: statistics.median(each) for name, each in rates.items()}
    for name, rate in best.items():
        print(f"{name:8} {rate:8.0f} MB/s  {rate / best['direct']:.2f}")
    for name, way in ways.items():
        begin = time.monotonic()
        for _ in range(REQUESTS):
            way(1)
        print(f"{name:8} {REQUESTS / (time.monotonic() - begin):8.0f} requests/s, one after the other")
    direct.kill()
    relay.kill()
    call("DELETE", f"/sessions/{session}", None)


if __name__ == "__main__":
    main()
