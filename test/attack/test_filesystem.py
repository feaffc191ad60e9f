"""The file system: no files of the host, only the workspace is writable, and quotas apply."""
import os
import pathlib
import tempfile

import pytest
from attack import MIB, Refused

NO_WRITE = {"EROFS", "EACCES", "EPERM"}


def test_write_to_the_system(box):
    answer = box.ask(r'''
import os
places = ["/x", "/usr/x", "/usr/lib/python3/x", "/usr/lib/python3.11/os.py", "/etc/x", "/etc/passwd",
          "/bin/x", "/bin/sh", "/opt/x", "/opt/reckon/x", "/opt/reckon/reckon-init",
          "/opt/template/x", "/home/x", "/run/x", "/var/x", "/dev/x", "/mnt/x", "/proc/x", "/lib64/x"]
answer = {p: attempt(os.open, p, os.O_RDWR | os.O_CREAT, 0o644) for p in places}
''')
    assert set(answer.values()) <= NO_WRITE | {"ENOENT"}, answer


def test_delete_rename_and_link_in_the_system(box):
    answer = box.ask(r'''
import os
answer = [attempt(os.unlink, "/etc/passwd"), attempt(os.rename, "/etc/passwd", "/etc/shadow"),
          attempt(os.mkdir, "/usr/share/x"), attempt(os.symlink, "/etc", "/usr/share/link"),
          attempt(os.chmod, "/usr/bin/env", 0o777), attempt(os.chown, "/etc/passwd", 1000, 1000),
          attempt(os.utime, "/usr/bin/env"), attempt(os.truncate, "/usr/bin/env", 0)]
''')
    assert set(answer) <= NO_WRITE, answer


def test_remount_writable(box):
    answer = box.ask(r'''
attr = _ct.create_string_buffer(32)
_ct.c_uint64.from_buffer(attr, 8).value = 1
answer = [call("mount", b"none", b"/usr", 0, 32 | 4096, 0), call("mount", b"none", b"/", 0, 32, 0),
          call("mount_setattr", -100, b"/usr", 0, attr, 32),
          call("mount", b"tmpfs", b"/mnt/data", b"tmpfs", 0, 0), call("umount2", b"/mnt/data", 2)]
''')
    assert set(answer) <= {"EPERM", "ENOSYS"}


def test_find_files_of_the_host(box, place):
    with tempfile.NamedTemporaryFile(prefix="host-marker-", dir="/tmp") as marker:
        os.chmod(marker.name, 0o644)
        here = str(pathlib.Path(__file__).resolve())
        answer = box.ask(f'''
import os
places = ["/root", "/home/agent", "/var/lib/reckon", "/var/log", "/var/run/docker.sock", "/boot",
          "/run/reckon", "/srv", "/media", "/sys", "/etc/shadow", "/etc/ssh", "/etc/sudoers",
          "/etc/machine-id", "/work", {marker.name!r}, {here!r}, {str(place.base)!r}]
answer = {{p: attempt(os.stat, p) for p in places}}
''')
    assert set(answer.values()) == {"ENOENT"}, answer


def test_only_known_names_are_at_the_top(box):
    assert set(box.ask("import os; answer = os.listdir('/')")) == {
        "bin", "dev", "etc", "home", "lib", "lib64", "mnt", "opt", "proc", "run", "sbin", "tmp",
        "usr", "var"}


def test_climb_out_of_the_root(box):
    answer = box.ask(r'''
import os
root = os.stat("/")
held = os.open("/", os.O_RDONLY)
up = os.stat("/" + "../" * 50)
through = attempt(os.stat, "/proc/self/root/../../..")
answer = {"up": [up.st_ino, up.st_dev] == [root.st_ino, root.st_dev],
          "proc": through if isinstance(through, str) else
                  [through.st_ino, through.st_dev] == [root.st_ino, root.st_dev],
          "chroot": call("chroot", b"/tmp"),
          "fchdir": attempt(os.fchdir, held),
          "cwd": os.stat(".." ).st_ino == root.st_ino}
''')
    assert answer["up"] and answer["cwd"]
    assert answer["proc"] in (True, "EACCES", "EPERM")
    assert answer["chroot"] in ("EPERM", "ENOSYS")


def test_no_descriptor_leads_out_of_the_box(box):
    answer = box.ask(r'''
import os, stat
out = []
for name in os.listdir("/proc/self/fd"):
    try:
        st = os.fstat(int(name))
        up = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=int(name)) \
            if stat.S_ISDIR(st.st_mode) else None
    except OSError:
        continue
    if up is not None:
        out.append(sorted(os.listdir(up)))
answer = [names for names in out if "root" in names or "work" in names]
''')
    assert answer == []


def test_hard_link_of_a_system_file(box):
    answer = box.ask("import os; answer = [attempt(os.link, p, '/mnt/data/l') for p in "
                     "('/usr/bin/env', '/etc/passwd', '/opt/reckon/reckon-init')]")
    assert set(answer) <= {"EXDEV", "EPERM", "EROFS", "EACCES"}


def test_download_through_a_link(box, tmp_path):
    box.expect("ok", r'''
import os
os.symlink("/etc/shadow", "shadow"); os.symlink("/etc/passwd", "passwd")
os.symlink("/proc/self/root/etc/passwd", "magic"); os.symlink("/", "top")
os.mkdir("dir"); os.symlink("../../..", "dir/up")
''')
    for path in ("shadow", "passwd", "magic", "top/etc/passwd", "dir/up/etc/passwd",
                 "../../etc/passwd", "/etc/passwd", "dir/../../../etc/passwd"):
        target = tmp_path / "got"
        target.write_bytes(b"")
        target.chmod(0o666)
        tmp_path.chmod(0o777)
        with pytest.raises(Refused):
            box.get(path, target)
        assert target.read_bytes() == b""


def test_upload_through_a_link(box, place):
    source = place.base / "upload"
    source.write_bytes(b"planted")
    place.user.own(source)
    box.expect("ok", "import os; os.symlink('/tmp', 'out'); os.symlink('/tmp/f', 'f')")
    for path in ("f", "out/x", "../x", "/tmp/x", "a/../../x", "", ".", "a//b", "x" * 5000):
        with pytest.raises(Refused):
            box.put(source, path)
    assert box.ask("import os; answer = os.listdir('/tmp')") == []


def test_download_while_the_name_is_swapped(box, place):
    secret = pathlib.Path("/etc/passwd").read_bytes()
    box.expect("ok", r'''
import os, threading
open("inside", "w").write("inside"); os.symlink("/etc/passwd", "link"); os.link("inside", "out.csv")
stop = False
def swap():
    while not stop:
        for other in ("link", "inside"):
            try:
                os.link(other, "next", follow_symlinks=False); os.replace("next", "out.csv")
            except OSError: pass
threading.Thread(target=swap, daemon=True).start()
''')
    target = place.base / "swapped"
    target.write_bytes(b"")
    place.user.own(target)
    seen = set()
    for _ in range(1500):
        try:
            box.get("out.csv", target)
            seen.add(target.read_bytes())
        except Refused:
            seen.add(None)
    assert seen <= {b"inside", None} and secret not in seen and b"inside" in seen


def test_download_of_a_fifo_directory_or_socket(box, place):
    target = place.base / "odd"
    target.write_bytes(b"")
    place.user.own(target)
    box.expect("ok", "import os, socket; os.mkfifo('fifo'); os.mkdir('dir'); "
                     "s = socket.socket(socket.AF_UNIX); s.bind('sock')")
    for path in ("fifo", "dir", "sock"):
        with pytest.raises(Refused):
            box.get(path, target)
    assert {f["path"] for f in box.files()} == set()


def test_a_huge_sparse_file(box, place):
    target = place.base / "sparse"
    target.write_bytes(b"")
    place.user.own(target)
    record = box.run("f = open('big', 'wb'); f.truncate(1 << 40)")
    assert record["status"] == "error" and record["error"]["name"] == "OSError"
    record = box.run("f = open('big', 'wb'); f.truncate(900 << 20); f.close()")
    assert record["status"] == "ok"
    assert [f["size"] for f in box.files()] == [900 << 20]


def test_many_files_and_deep_directories(driver):
    box = driver.open(inodes=4000)
    record = box.run(r'''
import os
for i in range(2000): open(f"f{i}", "w").close()
path = "."
try:
    for i in range(900):
        path += "/d"; os.mkdir(path)
except OSError as e: print(e)
''', timeout_ms=20000)
    assert record["status"] == "ok"
    assert len(record["files"]) <= 2000
    assert box.ask("answer = 1") == 1


def test_fill_the_workspace(driver, neighbour):
    box = driver.open(disk_bytes=16 * MIB, memory_bytes=256 * MIB)
    answer = box.ask(r'''
import errno, os
answer = None
try:
    with open("fill", "wb", 0) as f:
        while True: f.write(b"x" * 65536)
except OSError as e: answer = errno.errorcode[e.errno]
os.unlink("fill")
''')
    assert answer in ("ENOSPC", "EFBIG")
    neighbour.box.expect("ok", "open('more', 'wb').write(b'x' * (1 << 20)) == 1 << 20")


def test_use_up_the_inodes(driver, neighbour):
    box = driver.open(inodes=500)
    answer = box.ask(r'''
import errno, os
answer = None
try:
    for i in range(5000): open(f"f{i}", "w").close()
except OSError as e: answer = errno.errorcode[e.errno]
''')
    assert answer == "ENOSPC"
    neighbour.box.expect("ok", "open('one-more', 'w').close()")


@pytest.mark.parametrize("where", ["/tmp", "/dev/shm", "memfd"])
def test_memory_through_files_is_charged(driver, where):
    box = driver.open(memory_bytes=64 * MIB, disk_bytes=16 * MIB)
    record = box.run(rf'''
import os
def fill():
    fd = os.memfd_create("m") if {where!r} == "memfd" else os.open({where!r} + "/f", os.O_RDWR | os.O_CREAT)
    try:
        for i in range(512): os.write(fd, b"x" * (1 << 20))
    except OSError as e: return e.strerror
    return "written"
result = fill()
''')
    if driver.place.user.is_root or where != "memfd":
        assert record["status"] == "out_of_memory" or box.ask("answer = result") != "written"


def test_a_file_truncated_under_a_mapping(box):
    record = box.run(r'''
import mmap
f = open("m", "w+b"); f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192); f.truncate(0)
m[5000]
''')
    assert record["status"] == "kernel_died" and "signal 7" in record["error"]["value"]


def test_setuid_has_no_effect(box):
    answer = box.ask(r'''
import os, shutil, subprocess
shutil.copy("/usr/bin/id", "id"); os.chmod("id", 0o6755)
answer = [subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout.strip(),
          attempt(os.setxattr, "id", "security.capability", b"\1\0\0\2" + b"\xff" * 16),
          attempt(os.setxattr, "id", "trusted.overlay.opaque", b"y")]
''')
    assert answer[0] == "1000"
    assert not {answer[1], answer[2]} & {None}


@pytest.mark.parametrize("program", ["su", "mount", "passwd", "newuidmap", "pkexec", "sudo", "ping"])
def test_set_uid_programs_of_the_host(box, program):
    answer = box.ask(f'''
import subprocess, shutil
path = shutil.which({program!r})
done = path and subprocess.run([path, "root", "-c", "id -u"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=10)
answer = [done.returncode, done.stdout] if done else None
''')
    assert answer is None or (answer[0] != 0 or "0" not in answer[1].split())


def test_lock_a_shared_file(box, neighbour):
    answer = box.ask(r'''
import fcntl, os
fd = os.open("/usr/lib/python3.11/os.py", os.O_RDONLY)
answer = [attempt(fcntl.fcntl, fd, 1024, 0), attempt(fcntl.flock, fd, fcntl.LOCK_EX)]
''')
    assert answer[0] in ("EPERM", "EACCES")
    other = neighbour.box.run("import os; open('/usr/lib/python3.11/os.py').read(10) != ''")
    assert other["status"] == "ok"


def test_tmpfile_and_exchange_stay_inside(box):
    answer = box.ask(r'''
import os
fd = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600); os.write(fd, b"t")
linked = call("linkat", -100, b"/proc/self/fd/%d" % fd, -100, b"t", 0x400)
open("a", "w").write("a"); open("b", "w").write("b")
swapped = call("renameat2", -100, b"a", -100, b"b", 2)
answer = [linked, swapped, open("a").read()]
''')
    assert answer[0] in (0, "EACCES", "ENOENT", "EXDEV") and answer[1:] == [0, "b"]


def test_device_nodes(box):
    answer = box.ask(r'''
import os, stat
answer = [attempt(os.mknod, d + "/n", stat.S_IFCHR | 0o666, os.makedev(1, 1))
          for d in ("/mnt/data", "/tmp", "/dev/shm")]
answer += [attempt(os.mknod, "/mnt/data/b", stat.S_IFBLK | 0o666, os.makedev(8, 0)),
           attempt(os.mknod, "/mnt/data/w", stat.S_IFCHR, 0)]
''')
    assert set(answer[:4]) <= {"EPERM", "EACCES"} and answer[4] in ("EPERM", "EACCES", None)


def test_only_listed_devices_and_own_terminals(box):
    answer = box.ask(r'''
import os
answer = {"list": sorted(os.listdir("/dev")),
          "open": {n: attempt(os.open, "/dev/" + n, os.O_RDWR) for n in
                   ("kvm", "mem", "kmem", "port", "fuse", "userfaultfd", "net/tun", "loop-control",
                    "vsock", "vhost-vsock", "console", "sda", "vda", "kmsg", "pts/0")},
          "tty": attempt(os.open, "/dev/tty", os.O_RDWR),
          "ptmx": isinstance(attempt(os.open, "/dev/ptmx", os.O_RDWR), int),
          "pts": sorted(os.listdir("/dev/pts"))}
''')
    assert set(answer["list"]) <= {"null", "zero", "full", "random", "urandom", "shm", "fd", "stdin",
                                   "stdout", "stderr", "tty", "pts", "ptmx"}
    # A kernel has no terminal; /dev/pts contains only the one that it opened.
    assert answer["tty"] == "ENXIO" and answer["ptmx"] and answer["pts"] == ["0", "ptmx"]
    assert set(answer["open"].values()) == {"ENOENT"}


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_files_of_two_sessions_have_two_owners(driver):
    one, two = driver.open(), driver.open()
    assert one.about["host_uid"] != two.about["host_uid"]
    for box in (one, two):
        box.expect("ok", "open('mine', 'w').close()")
        owner = os.stat(f"/proc/{box.pid}/root/mnt/data/mine").st_uid
        assert owner == box.about["host_uid"] and owner >= 0x70000000
