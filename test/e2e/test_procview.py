"""/proc in a box: its own processes, the session's own numbers, and nothing of the host."""
import pytest

NUMBERS = """
import psutil, time
total = psutil.virtual_memory().total
begun = psutil.boot_time()
psutil.cpu_percent()
end = time.time() + 0.4
while time.time() < end: pass
busy = psutil.cpu_percent()
before = psutil.virtual_memory().available
kept = bytearray(100 << 20)
time.sleep(0.05)
print(total, abs(time.time() - begun) < 600, busy > 4, before - psutil.virtual_memory().available > 90 << 20)
print(psutil.cpu_count(), psutil.swap_memory().total, psutil.cpu_times().idle > 0)
"""


@pytest.mark.parametrize("memory", ["1G", "700M"])
def test_psutil_reports_the_numbers_of_the_session(reckon, memory):
    record = reckon.record(NUMBERS, "-t", "data", "--memory", memory)
    total = {"1G": 1 << 30, "700M": 700 << 20}[memory]
    assert record["status"] == "ok", record["text"]
    first, second = record["stdout"].splitlines()
    assert first == f"{total} True True True"
    assert second.endswith("0 True")


FREE = """
import ctypes, os, re, subprocess, time
def free(text):
    return int(re.search(r"MemFree: *([0-9]+)", text)[1]) >> 10
def unseen():
    libc = ctypes.CDLL(None)
    text = ctypes.create_string_buffer(512)
    libc.read(libc.open(b"/proc/meminfo", 0), text, 511)
    return free(text.value.decode())
readers = {
    "open": lambda: free(open("/proc/meminfo").read()),
    "bytes": lambda: free(open(b"/proc/meminfo").read()),
    "os.open": lambda: free(os.read(os.open("/proc/meminfo", os.O_RDONLY), 512).decode()),
    "program": lambda: free(subprocess.run(["cat", "/proc/meminfo"], capture_output=True, text=True).stdout),
    "shell": lambda: free(os.popen("cat /proc/meminfo").read()),
}
"""


@pytest.mark.parametrize("reader", ["open", "bytes", "os.open", "program", "shell"])
def test_reads_in_a_cell_get_current_numbers(reckon, reader):
    code = f"before = readers['{reader}']()\nkept = bytearray(100 << 20)\ntime.sleep(0.05)\n" \
           f"print(90 < before - readers['{reader}']() < 200)"
    assert reckon.records("-c", FREE, "-c", code)[1]["stdout"] == "True\n"


def test_reads_by_c_code_get_the_numbers_of_the_last_long_cell(reckon):
    records = reckon.records("-c", FREE, "-c", "before = unseen()\nkept = bytearray(100 << 20)\ntime.sleep(0.05)",
                             "-c", "time.sleep(0.05)\nprint(90 < before - unseen() < 200)")
    assert records[2]["stdout"] == "True\n"


def test_programs_work(reckon):
    record = reckon.record("free -m; uptime; ps aux | tail -1; nproc", "-l", "bash", "--memory", "512M")
    assert record["stderr"] == "" and "Mem:             512" in record["stdout"]
    assert "load average" in record["stdout"]


def test_loky_works(reckon):
    code = "import joblib\nprint(joblib.Parallel(n_jobs=2)(joblib.delayed(pow)(i, 2) for i in (3, 4)))"
    record = reckon.record(code, "-t", "data")
    assert (record["stdout"], record["stderr"]) == ("[9, 16]\n", "")


def test_proc_shows_nothing_of_the_host(reckon):
    """Each name in /proc that is not a process is on another file system than procfs."""
    code = """
import os
own = os.stat("/proc/self/").st_dev
shown = [name for name in os.listdir("/proc") if not name.isdigit() and not os.path.islink("/proc/" + name)]
print("uncovered", [name for name in shown if os.lstat("/proc/" + name).st_dev == own])
told = {}
for folder, _, names in (x for name in shown for x in (
        os.walk("/proc/" + name) if os.path.isdir("/proc/" + name) else [("/proc", [], [name])])):
    for name in names:
        told[f"{folder}/{name}"] = open(f"{folder}/{name}").read()
print("told", sorted(path for path, text in told.items() if text and "/proc/sys/" not in path))
for path in "/proc/sys/kernel/hostname", "/proc/sys/kernel/pid_max", "/proc/cmdline", "/proc/kallsyms", "/proc/meminfo":
    try:
        open(path, "a").write("x")
        print("wrote", path)
    except OSError:
        pass
"""
    lines = reckon.record(code, "-t", "python")["stdout"].splitlines()
    assert lines[0] == "uncovered []"
    known = {"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "swaps", "uptime", "version", "vmstat"}
    assert lines[1].startswith("told ")
    assert {path.removeprefix("/proc/") for path in eval(lines[1][5:])} <= known
    assert not [line for line in lines if line.startswith("wrote")]


def test_numbers_survive_damage_by_the_box(reckon):
    code = ("import os\nfor name in os.listdir('/run/box'):\n    os.unlink('/run/box/' + name)\n"
            "os.mkfifo('/run/box/meminfo'); os.symlink('/etc/passwd', '/run/box/stat')")
    records = reckon.records("--keep-going", "-c", code, "-c", "print(open('/proc/meminfo').read()[:8])")
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert records[1]["stdout"] == "MemTotal\n"
