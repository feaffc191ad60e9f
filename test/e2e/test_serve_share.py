"""How tenants share the processors, read from the accounts of control groups.

The tests compare only ratios of processor time that two tenants got in the same moments, so that a
slow or busy host does not matter. They are skipped on a host that gives the warden no control over
processors.
"""
import contextlib
import glob
import json
import os
import pathlib
import signal
import tempfile
import time

import pytest
from leftovers import Leftovers
from reckon_cli import Reckon
from reckon_serve import Server
from test_serve_tenants import as_root, using
from turns import SHORT, policy_of, turn_of

ROOT = pathlib.Path("/sys/fs/cgroup")
LOOK_S = 4
BUSY = 8
# As many processes as there are processors, so that each session could use the whole host.
SPIN = ("import os\nfor _ in range(os.cpu_count()):\n    if os.fork() == 0:\n"
        "        while True: pass\nwhile True: pass")


def accounts(host):
    """{group: nanoseconds} of all groups of our wardens, in either version of control groups."""
    ours = {f"reckon-{pid}" for _, pid, name in host.processes()
            if name.startswith("reckon-warden ")}
    found = {}
    # Not Path.glob(), which does not expect that a directory disappears while it looks; groups do.
    names = [name for where in ("cpu*", "**") for name in
             glob.iglob(f"{ROOT}/{where}/reckon-*/group-*", recursive=True)]
    for group in map(pathlib.Path, names):
        if group.parent.name in ours:
            with contextlib.suppress(OSError):
                found[group] = account(group)
    return found


def account(group):
    if (group / "cpu.weight").exists():
        used = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return int(used["usage_usec"]) * 1000
    return sum(box_account(group, box) for box in os.listdir(group) if box.startswith("box-"))


def box_account(group, box):
    for path in (group / box, ROOT / "cpuacct" / group.parent.name / box):
        if (path / "cpuacct.usage").exists():
            return int((path / "cpuacct.usage").read_text())
    return 0


def shares(server, mine, other):
    """The share of `mine` in the time that both got during LOOK_S seconds."""
    before = accounts(server.host)
    time.sleep(LOOK_S)
    after = accounts(server.host)
    used = {group: after[group] - before[group] for group in (mine, other)}
    assert sum(used.values()) > 0
    return used[mine] / sum(used.values())


@pytest.fixture
def server(place):
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base)),
                "--workers", "32") as running:
        running.host = Leftovers(place.program_dirs)
        yield running


def has_groups(server):
    walls = json.loads(server.reckon("doctor", "--json").stdout)["walls"]
    return {wall["name"]: wall["state"] for wall in walls}["cpu groups"] == "on"


def spinning(server, key, count):
    """The group that appeared for the sessions of this key, which are busy now."""
    before = set(accounts(server.host))
    with using(server, key):
        for _ in range(count):
            session = server.create(limits={"wall_s": 120})
            server.wait_running(session, server.background(session, SPIN))
    made = set(accounts(server.host)) - before
    assert len(made) == 1, made
    return made.pop()


@as_root
def test_a_busy_tenant_leaves_another_its_share(server):
    if not has_groups(server):
        pytest.skip("this host does not let the warden share processors out")
    _, many = server.newcomer("many")
    tenant, one = server.newcomer("one")
    greedy = spinning(server, many, BUSY)
    modest = spinning(server, one, 1)
    time.sleep(1)
    # By boxes the share would be a ninth; by tenants it is a half.
    fair = shares(server, modest, greedy)
    assert fair > 0.33, fair
    assert server.ask("PATCH", f"/tenants/{tenant}",
                      {"quotas": {"cpu_weight": 1000}}).status == 200
    time.sleep(1)
    # By weight the share is ten elevenths.
    heavy = shares(server, modest, greedy)
    assert heavy > 0.66, heavy
    answer = server.ask("PATCH", f"/tenants/{tenant}",
                        {"quotas": {"cpu_weight": None, "cpu_percent": 2}})
    assert answer.json["quotas"] == {"cpu_percent": 2}
    time.sleep(1)
    # The cap is a fiftieth of one processor; the other tenant gets the rest, as far as the host is
    # ours.
    capped = shares(server, modest, greedy)
    assert capped < 0.15, capped
    # Tenants without sessions do not have groups.
    for key in (many, one):
        with using(server, key):
            for session in server.ask("GET", "/sessions").json["sessions"]:
                server.ask("DELETE", f"/sessions/{session['id']}")
    deadline = time.monotonic() + 30
    while {greedy, modest} & set(accounts(server.host)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not {greedy, modest} & set(accounts(server.host))


@as_root
def test_later_processes_are_in_the_tenants_group(server):
    """Contexts, restarts, and processes that outlive a cell."""
    if not has_groups(server):
        pytest.skip("this host does not let the warden share processors out")
    _, key = server.newcomer("team", cpu_percent=150)
    before = set(accounts(server.host))
    with using(server, key):
        session = server.create(limits={"cpu_percent": 400})
        server.execute(session, "import os\nif os.fork() == 0:\n    while True: pass")
        group = (set(accounts(server.host)) - before).pop()
        context = server.ask("POST", f"/sessions/{session}/contexts", {}).json["id"]
        assert server.ask("POST", f"/sessions/{session}/restart").status == 200
        server.execute(session, "import os\nif os.fork() == 0:\n    while True: pass")
        answer = server.ask("POST", f"/sessions/{session}/executions",
                            {"code": "import subprocess\np = subprocess.Popen(['sleep', '60'])",
                             "context": context})
        assert answer.status == 200, answer
        pids = [pid for procs in group.rglob("cgroup.procs") for pid in procs.read_text().split()]
        # The fresh kernel and its child, the context and its child: the group contains all of them.
        names = sorted(pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids)
        assert "sleep" in names and len(names) >= 4, names
        inside = {pid for pid in pids}
        for pid in pids:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
            assert set(children.read_text().split()) <= inside


@as_root
def test_kernels_are_not_as_urgent_as_the_daemon(server):
    """Daemon and front have a higher priority, which processes that they start do not inherit."""
    def niceness(pid):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])

    session = server.create()
    assert niceness(server.process.pid) == niceness(server.front()) == -5
    record = server.execute(session, "import os; print(os.getpriority(os.PRIO_PROCESS, 0))")
    assert record["stdout"] == "0\n"
    assert os.getpriority(os.PRIO_PROCESS, 0) == 0


def test_serving_threads_have_shorter_slices_than_kernels(server):
    """Linux lets a thread with a shorter slice run before the next tick of the clock."""
    known = turn_of(0) != 0
    session = server.create()
    assert server.execute(session, "1")["status"] == "ok"
    loop = server.process.pid
    threads = {int(task) for task in os.listdir(f"/proc/{loop}/task")} - {loop}
    assert {turn_of(task) for task in (loop, server.front())} == {100_000 * known}
    # Real-time priority where it is allowed (test_base_rt_boost.c), except for the thread that
    # moves the log into the tables, for which nobody waits.
    slow = [task for task in threads if policy_of(task) != os.SCHED_RR and
            turn_of(task) != 200_000 * known]
    assert len(slow) <= 1, slow
    # Processes that they start have neither: short slices slow down computation.
    others = [int(pid) for _, pid, name in server.host.processes()
              if name.startswith(("reckon-zygote", "reckon-init", "reckon-warden"))]
    assert others and {policy_of(pid) for pid in others} == {os.SCHED_OTHER}
    kernels = [int(pid) for _, pid, name in server.host.processes()
               if name.startswith("reckon-zygote")]
    assert min(map(turn_of, kernels)) >= SHORT * known


def share_files(group):
    """(weight, microseconds in 100 ms or "max") as either version spells them."""
    if (group / "cpu.weight").exists():
        return ((group / "cpu.weight").read_text().strip(),
                (group / "cpu.max").read_text().split()[0])
    quota = (group / "cpu.cfs_quota_us").read_text().strip()
    return (group / "cpu.shares").read_text().strip(), "max" if quota == "-1" else quota


def eventually_one_has(host, before, weight, quota):
    """Wait until a group that did not exist before has this weight and quota."""
    wanted = {(str(weight), quota), (str(weight * 1024 // 100), quota)}
    deadline, seen = time.monotonic() + 30, set()
    while time.monotonic() < deadline:
        seen = set()
        for group in set(accounts(host)) - before:
            with contextlib.suppress(OSError):
                seen.add(share_files(group))
        if seen & wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"no group has {wanted}: {seen}")


@as_root
def test_shares_of_tenants_without_quotas_come_from_the_configuration(place):
    """A reload changes live sessions at once; the quota of a tenant itself takes precedence."""
    reckon = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    config = reckon.file("reckond.conf",
                         "[quotas]\nquota-cpu-weight = 317\nquota-cpu-percent = 150\n")
    host = Leftovers(place.program_dirs)
    before = set(accounts(host))
    with Server(reckon, "--config", config) as server:
        if not has_groups(server):
            pytest.skip("this host does not let the warden share processors out")
        _, own = server.newcomer("own", cpu_weight=523)
        server.create()
        eventually_one_has(host, before, 317, "150000")
        with using(server, own):
            server.create()
        eventually_one_has(host, before, 523, "150000")
        config.write_text("[quotas]\nquota-cpu-weight = 719\n")
        server.process.send_signal(signal.SIGHUP)
        eventually_one_has(host, before, 719, "max")
        eventually_one_has(host, before, 523, "max")
    config.write_text("[quotas]\nquota-cpu-weight = 0\n")
    refused = reckon("serve", "--config", config, "--check-config").expect(2)
    assert b"quota-cpu-weight" in refused.stderr and b"from 1 to 10000" in refused.stderr
