"""get_host() with E2B's Python SDK: the host name of a port, and a server that answers there."""
import http.client
import os
import time

from e2b import Sandbox

sandbox = Sandbox.create(timeout=300)
sandbox.files.write("served.txt", "from inside")
sandbox.commands.run("python3 -m http.server 3000", background=True)
host = sandbox.get_host(3000)
where = os.environ["E2B_API_URL"].removeprefix("http://")
assert host == f"3000-{sandbox.sandbox_id}.localhost:{where.partition(':')[2]}", host


def get(**headers):
    # Not every resolver knows names below localhost, so the Host header has the name.
    connection = http.client.HTTPConnection(where)
    connection.request("GET", "/served.txt", headers={"Host": host, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read()


for _ in range(600):
    status, body = get(**{"X-Reckon-Key": sandbox.traffic_access_token})
    if status != 502:
        break
    time.sleep(0.05)
assert (status, body) == (200, b"from inside"), (status, body)
assert get()[0] == 401
sandbox.kill()
