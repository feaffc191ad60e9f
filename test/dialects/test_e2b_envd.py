"""envd's endpoints that no SDK uses: environment variables, metrics, and files composed of parts."""
import json
import time

from e2b_client import ENVD, INTERPRETER
from reckon_serve import SECONDS

PLAIN = {"Content-Type": "application/octet-stream"}
UNARY = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}


def get(server, sandbox, path, **more):
    return server.data(sandbox, ENVD, "GET", path, **more)


def put(server, sandbox, **files):
    for path, content in files.items():
        assert server.data(sandbox, ENVD, "POST", f"/files?path={path}", content, **PLAIN)[0] == 200


def compose(server, sandbox, sources, destination, **more):
    return server.data(sandbox, ENVD, "POST", "/files/compose",
                       {"source_paths": sources, "destination": destination, **more})


def names(server, sandbox, path="~"):
    listed = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/ListDir", {"path": path, "depth": 9}, **UNARY)[2]
    return sorted(each["path"] for each in listed["entries"])


def test_variables(server):
    given = {"A": "b=c", "EMPTY": "", "LINES": "one\ntwo é", "E2B_SANDBOX_ID": "mine", "E2B_TEMPLATE_ID": "other"}
    sandbox = server.sandbox(envVars=given)
    status, headers, answer = get(server, sandbox, "/envs")
    assert status == 200 and headers["Content-Type"] == "application/json" and headers["Cache-Control"] == "no-store"
    assert answer == given | {"E2B_SANDBOX": "true", "E2B_SANDBOX_ID": sandbox["sandboxID"]}
    plain = server.sandbox()
    assert get(server, plain, "/envs")[2] == {"E2B_SANDBOX": "true", "E2B_SANDBOX_ID": plain["sandboxID"], "E2B_TEMPLATE_ID": "base"}
    # Code has the same variables.
    code = "import json, os; print(json.dumps({name: os.environ.get(name) for name in ('A', 'EMPTY', 'LINES', 'E2B_TEMPLATE_ID', 'E2B_SANDBOX_ID')}))"
    lines = server.data(sandbox, INTERPRETER, "POST", "/execute", {"code": code})[2].decode().splitlines()
    [printed] = [each["text"] for each in map(json.loads, lines) if each["type"] == "stdout"]
    assert json.loads(printed).items() <= answer.items()
    many = server.sandbox(envVars={f"V{i}": "x" * 100 for i in range(254)})
    assert len(get(server, many, "/envs")[2]) == 257
    # A fork inherits them, and they survive a restart of the daemon.
    [forked] = server.control("POST", f"/sandboxes/{plain['sandboxID']}/fork", {"timeout": 600})[2]
    assert get(server, forked["sandbox"], "/envs")[2]["E2B_TEMPLATE_ID"] == "base"
    server.stop()
    server.start()
    assert get(server, sandbox, "/envs")[2]["LINES"] == given["LINES"]


def test_variables_and_metrics_need_the_sandboxs_token(server):
    sandbox, other = server.sandbox(envVars={"A": "secret"}), server.sandbox()
    weak = server.ask("POST", "/keys", {"name": "k", "scopes": ["read"]}).json["key"]
    for path in ("/envs", "/metrics"):
        assert get(server, sandbox, path, token=False)[0] == 401
        mixed = {"sandboxID": other["sandboxID"], "envdAccessToken": sandbox["envdAccessToken"]}
        assert get(server, mixed, path)[0] == 403
        assert server.data(sandbox, ENVD, "POST", path, {})[0] == 405
    # A key without the scope to run code cannot read the values.
    status, _, error = get(server, sandbox | {"envdAccessToken": weak}, "/envs")
    assert status == 403 and "secret" not in str(error)
    assert get(server, sandbox | {"envdAccessToken": weak}, "/metrics")[0] == 200
    assert server.control("POST", f"/sandboxes/{other['sandboxID']}/pause")[0] == 204
    assert server.control("DELETE", f"/sandboxes/{sandbox['sandboxID']}")[0] == 204
    for path in ("/envs", "/metrics"):
        for gone in (sandbox, other):
            status, _, error = get(server, gone, path)
            assert (status, error["code"], error["sandboxId"]) == (502, 502, gone["sandboxID"])


def test_metrics(server, request):
    sandbox = server.sandbox()
    status, _, answer = get(server, sandbox, "/metrics")
    assert status == 200 and sorted(answer) == ["cpu_count", "cpu_used_pct", "disk_total", "disk_used", "mem_cache", "mem_total",
                                              "mem_total_mib", "mem_used", "mem_used_mib", "ts"]
    assert abs(answer["ts"] - time.time()) < 3 * SECONDS and answer["cpu_count"] >= 1
    assert answer["mem_total"] == answer["mem_total_mib"] << 20 > 0 and answer["disk_total"] > 0
    if "rootless" in request.node.name:
        return  # without root there are no cgroups to measure with
    # The values are those of the control plane.
    end = time.monotonic() + SECONDS
    while not (samples := server.control("GET", f"/sandboxes/{sandbox['sandboxID']}/metrics")[2]):
        assert time.monotonic() < end
        time.sleep(0.2)
    answer, last = get(server, sandbox, "/metrics")[2], samples[-1]
    assert answer["ts"] >= last["timestampUnix"]
    assert (answer["mem_total"], answer["disk_total"], answer["cpu_count"]) == (last["memTotal"], last["diskTotal"], last["cpuCount"])
    assert answer["mem_used"] > 0 and answer["mem_used_mib"] == answer["mem_used"] >> 20


def test_files_are_composed(server):
    sandbox = server.sandbox()
    put(server, sandbox, **{"up/1": b"one ", "up/2": b"", "up/3": bytes(300_000), "/tmp/4": b"four", "old": b"was there"})
    status, _, answer = compose(server, sandbox, ["up/1", "~/up/2", "/home/user/up/3", "/tmp/4", "up/1"], "new/whole.bin", username="user")
    assert (status, answer) == (200, {"path": "/home/user/new/whole.bin", "name": "whole.bin", "type": "file"})
    assert get(server, sandbox, "/files?path=new/whole.bin")[2] == b"one " + bytes(300_000) + b"fourone "
    assert names(server, sandbox) == ["/home/user/new", "/home/user/new/whole.bin", "/home/user/old", "/home/user/up"]
    assert get(server, sandbox, "/files?path=/tmp/4")[0] == 404
    entry = server.data(sandbox, ENVD, "POST", "/filesystem.Filesystem/Stat", {"path": "new/whole.bin"}, **UNARY)[2]["entry"]
    assert (entry["permissions"], entry["owner"], entry["size"]) == ("-rw-r--r--", "user", "300012")
    # The destination may exist, or be elsewhere in the box.
    put(server, sandbox, a=b"a", b=b"b")
    assert compose(server, sandbox, ["a"], "old")[0] == 200
    assert compose(server, sandbox, ["b", "old"], "/tmp/x/y")[2]["path"] == "/tmp/x/y"
    assert get(server, sandbox, "/files?path=/tmp/x/y")[2] == b"ba"
    assert names(server, sandbox) == ["/home/user/new", "/home/user/new/whole.bin", "/home/user/up"]
    # The file survives a restart as other files do.
    server.stop()
    server.start()
    assert len(get(server, sandbox, "/files?path=new/whole.bin")[2]) == 300_012


def test_invalid_compose_requests(server):
    sandbox = server.sandbox()
    put(server, sandbox, a=b"a", b=b"b", **{"d/c": b"c"})
    before = names(server, sandbox)
    for sources, destination, status, word in (
            ([], "x", 400, "source_paths"), (None, "x", 400, "source_paths"), ("a", "x", 400, "source_paths"), ([1], "x", 400, "texts"),
            ([""], "x", 400, "texts"), (["a\0"], "x", 400, "texts"), (["a"] * 1001, "x", 400, "1000"), (["a"], "", 400, "destination"),
            (["a"], None, 400, "destination"), (["a"], 5, 400, "destination"), (["a", "none"], "x", 404, "/home/user/none"),
            (["none"], "new/x", 404, "not found"), (["a", "d"], "x", 400, "regular"), (["a", "b"], "a", 400, "same"),
            (["a", "b"], "/home/user/./b", 400, "same"), (["a"], "/mnt/data/a", 400, "same"), (["a"], "d", 400, ""),
            (["a"], "b/x", 400, ""), (["a"], "/etc/x", 403, "denied"), (["a"], "/run/e2b/x", 403, "denied"), (["/dev/null"], "x", 400, "regular"),
            (["a"], "x" * 5000, 400, "too long"), (["x" * 5000], "x", 400, "too long"), (["../../etc/shadow"], "x", 404, "")):
        answered, _, error = compose(server, sandbox, sources, destination)
        assert (answered, error["code"]) == (status, status) and word in error["message"], (sources, destination, error)
    assert compose(server, sandbox, ["a"], "x", username="nobody-such")[0] == 401
    assert compose(server, sandbox, ["a"], "x", username="root")[0] == 200
    put(server, sandbox, a=b"a")
    assert server.data(sandbox, ENVD, "POST", "/files/compose", b"{")[0] == 400
    assert server.data(sandbox, ENVD, "POST", "/files/compose", b"[]")[0] == 400
    assert server.data(sandbox, ENVD, "GET", "/files/compose")[0] == 405
    assert compose(server, sandbox | {"envdAccessToken": server.sandbox()["envdAccessToken"]}, ["a"], "x")[0] == 403
    assert server.data(sandbox, ENVD, "POST", "/files/compose", {"source_paths": ["a"], "destination": "x"}, token=False)[0] == 401
    assert names(server, sandbox) == sorted([*before, "/home/user/x"])
    assert get(server, sandbox, "/files?path=a")[2] == b"a"
    # A thousand sources are accepted; a file that does not fit on the disk leaves nothing.
    assert compose(server, sandbox, ["a"] * 1000, "y")[0] == 200
    assert get(server, sandbox, "/files?path=y")[2] == b"a" * 1000
    made = server.ask("POST", "/sessions", {"limits": {"disk_bytes": 8 << 20}}).json
    small = {"sandboxID": made["id"].removeprefix("se_").lower(), "envdAccessToken": server.e2b_key}
    put(server, small, a=bytes(5 << 20))
    status, _, error = compose(server, small, ["a"], "b")
    assert (status, error["code"]) == (507, 507), error
    assert names(server, small) == ["/home/user/a"]
