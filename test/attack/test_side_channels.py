"""Walls against side channels of the processor (core scheduling, speculation), read from the host.

Every test runs on every host: where Linux supports the wall it must be on; elsewhere the record
must have a diagnostic, and a strict session must be refused.
"""
import ctypes
import os

import pytest
from attack import status_of

CORE, SPECULATION = 8, 16
SHARE_A_CORE = "core scheduling was asked for and this host has none"
SPECULATE = "speculation was to be off and this host cannot turn all of it off"
PR_SCHED_CORE, GET, THREAD = 62, 0, 0
HELD = ("not vulnerable", "thread force mitigated", "globally mitigated", "not affected",
        "conditional force disabled", "always disabled")
SWITCHED = ("thread", "conditional")

libc = ctypes.CDLL(None, use_errno=True)


def cookie_of(pid):
    """The core scheduling cookie of a process; None if the host does not support it."""
    cookie = ctypes.c_ulonglong()
    done = libc.prctl(PR_SCHED_CORE, GET, pid, THREAD, ctypes.byref(cookie))
    return cookie.value if done == 0 else None


def wall_messages(record):
    return [note["message"] for note in record["diagnostics"] if note["code"] == "wall_missing"]


def family_of(box):
    """Processes that share the box's cookie: the kernel, its children, pid 1 and the twin."""
    inside = os.stat(f"/proc/{box.pid}/ns/pid").st_ino
    found = {int(status_of(box.pid)["PPid"])} if box.about["has_twin"] else set()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}/ns/pid").st_ino == inside:
                found.add(int(name))
        except OSError:
            pass
    return found


@pytest.fixture
def guarded(driver):
    return driver.open(flags=CORE | SPECULATION, prelude=False)


def check_core(box, record):
    own = cookie_of(os.getpid())
    if own is None:
        assert any(text.startswith(SHARE_A_CORE) for text in wall_messages(record)), record["diagnostics"]
        return None
    assert not any(text.startswith(SHARE_A_CORE) for text in wall_messages(record))
    cookies = {cookie_of(pid) for pid in family_of(box)}
    assert len(cookies) == 1 and not cookies & {0, own}, cookies
    return cookies.pop()


def check_speculation(pid, record):
    """Compares with the status of the test's own process, which shows what the host can switch."""
    fields = ("Speculation_Store_Bypass", "SpeculationIndirectBranch")
    host = [status_of(os.getpid()).get(name, "") for name in fields]
    box = [status_of(pid).get(name, "") for name in fields]
    for before, now in zip(host, box):
        if before.startswith(SWITCHED):
            assert now in HELD, (before, now)
        else:
            assert now == before
    is_held = all(now in HELD for now in box)
    assert is_held != any(text.startswith(SPECULATE) for text in wall_messages(record)), (box, record)


def test_a_core_is_not_shared(guarded, driver):
    first = check_core(guarded, guarded.expect("ok", "x = 1"))
    other = driver.open(flags=CORE, prelude=False)
    second = check_core(other, other.expect("ok", "x = 1"))
    plain = driver.open(prelude=False)
    assert wall_messages(plain.expect("ok", "x = 1")) == []
    if first is not None:
        assert first != second
        assert cookie_of(plain.pid) == 0


def test_speculation_is_off(guarded):
    check_speculation(guarded.pid, guarded.expect("ok", "x = 1"))


def test_child_processes_inherit_both_walls(guarded):
    record = guarded.expect("ok", "import subprocess; p = subprocess.Popen(['sleep', '60'])")
    check_core(guarded, record)
    children = [pid for pid in family_of(guarded) if status_of(pid).get("Name") == "sleep"]
    assert len(children) == 1
    check_speculation(children[0], record)


def test_code_cannot_remove_either_wall(guarded):
    before = guarded.expect("ok", "import ctypes; call = ctypes.CDLL(None).prctl")
    # PR_SET_SPECULATION_CTRL with PR_SPEC_ENABLE, PR_SCHED_CORE_CREATE: 0 would be success.
    assert 0 not in guarded.ask("answer = [call(53, 0, 2, 0, 0), call(53, 1, 2, 0, 0), "
                                "call(62, 1, 0, 0, 0)]")
    check_core(guarded, before)
    check_speculation(guarded.pid, before)


@pytest.mark.parametrize("language", ["python", "bash"])
def test_every_kernel_has_both_walls(driver, language):
    box = driver.open(flags=CORE | SPECULATION, language=language, prelude=False)
    record = box.expect("ok", "true" if language == "bash" else "1")
    check_core(box, record)
    check_speculation(box.pid, record)


def test_a_branch_has_its_own_cookie(guarded):
    if not guarded.about["has_twin"]:
        pytest.skip("no twins on this host")
    first = check_core(guarded, guarded.expect("ok", "x = 1"))
    copy = guarded.branch()
    record = copy.expect("ok", "assert x == 1")
    second = check_core(copy, record)
    check_speculation(copy.pid, record)
    assert first is None or first != second


def test_strict_refuses_what_the_host_lacks(reckon):
    host = status_of(os.getpid())
    can_hold = all(host.get(name, "") in HELD or host.get(name, "").startswith(SWITCHED)
                   for name in ("Speculation_Store_Bypass", "SpeculationIndirectBranch"))
    for name, is_supported in (("core", cookie_of(os.getpid()) is not None),
                               ("speculation", can_hold)):
        plain = reckon("run", "-t", "python", "--private", "--strict", "-c", "print(1)")
        done = reckon("run", "-t", "python", "--private", "--strict", "--isolate-cpu", name, "-c",
                      "print(1)")
        if plain.status == 0 and is_supported:
            assert (done.status, done.out) == (0, "1\n"), done.err
        else:
            assert done.status == 125 and done.out == ""
            assert done.err.count("\n") == 1 and "strict mode" in done.err
