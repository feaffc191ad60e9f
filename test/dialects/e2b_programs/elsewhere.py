"""Files outside of /home/user with E2B's Python SDK."""
from e2b import FileType, InvalidArgumentException, NotFoundException, Sandbox, SandboxException

sandbox = Sandbox.create(timeout=300)
files, run = sandbox.files, lambda command: sandbox.commands.run(command).stdout

# Files and commands use the same /tmp, that of the sandbox.
assert files.write("/tmp/deep/er/note.txt", "hello").path == "/tmp/deep/er/note.txt"
assert run("cat /tmp/deep/er/note.txt") == "hello" == files.read("/tmp/deep/er/note.txt")
big = bytes(range(256)) * 20000
files.write("/dev/shm/big.bin", big)
assert files.read("/dev/shm/big.bin", format="bytes") == big
assert b"".join(files.read("/dev/shm/big.bin", format="stream")) == big
files.write("/tmp/empty", "")
assert files.read("/tmp/empty") == ""
many = files.write_files([{"path": "/tmp/many/a", "data": "1"}, {"path": "here", "data": "2"}])
assert [each.path for each in many] == ["/tmp/many/a", "/home/user/here"]

info = files.get_info("/tmp/deep/er/note.txt")
assert (info.name, info.type, info.path, info.size) == ("note.txt", FileType.FILE, "/tmp/deep/er/note.txt", 5)
assert (info.mode, info.permissions, info.owner, info.group) == (0o644, "-rw-r--r--", "user", "user"), info
assert files.get_info("/tmp").permissions == "dtrwxrwxrwx", files.get_info("/tmp")
assert files.exists("/tmp/deep") and not files.exists("/tmp/nope") and not files.exists("/nope/at/all")
assert [each.path for each in files.list("/tmp/deep", depth=3)] == ["/tmp/deep/er", "/tmp/deep/er/note.txt"]
assert {"etc", "home", "tmp", "usr"} <= {each.name for each in files.list("/")}
assert files.make_dir("/tmp/made/of/many") is True and files.make_dir("/tmp/made/of/many") is False
assert files.rename("/tmp/deep/er/note.txt", "/tmp/made/moved.txt").path == "/tmp/made/moved.txt"
# Files and whole directories can move between the home directory and others.
assert files.rename("/tmp/made", "/home/user/made").type == FileType.DIR
assert files.read("made/moved.txt") == "hello" and not files.exists("/tmp/made")
assert files.rename("here", "/tmp/there").path == "/tmp/there" and files.read("/tmp/there") == "2"
files.remove("/tmp/deep")
assert not files.exists("/tmp/deep")
files.remove("/tmp/deep")

# The system's files can be read but not written.
assert "user:x:1000:" in files.read("/etc/passwd")
assert files.get_info("/etc/passwd").type == FileType.FILE
for missing in (lambda: files.read("/tmp/nope"), lambda: files.list("/tmp/nope"), lambda: files.read("/root/x"),
                lambda: files.get_info("/tmp/nope"), lambda: files.rename("/tmp/nope", "/tmp/x")):
    try:
        raise AssertionError(missing())
    except NotFoundException:
        pass
for wrong in (lambda: files.read("/tmp"), lambda: files.list("/tmp/there"), lambda: files.make_dir("/tmp/there")):
    try:
        raise AssertionError(wrong())
    except InvalidArgumentException:
        pass
for denied in (lambda: files.write("/etc/passwd", "x"), lambda: files.write("/root/x", "x"), lambda: files.write("/x", ""),
               lambda: files.remove("/usr/bin/env"), lambda: files.make_dir("/opt/x"),
               lambda: files.rename("/etc/passwd", "/tmp/passwd2")):
    try:
        raise AssertionError(denied())
    except SandboxException as error:
        assert "denied" in str(error), error
assert "user:x:1000:" in files.read("/etc/passwd")

# Modes and symbolic links work in the home directory and elsewhere.
run("touch /home/user/run.sh; chmod 750 /home/user/run.sh; ln -s /tmp/there /home/user/link; ln -s nowhere /home/user/broken; "
    "mkdir /tmp/folder; touch /tmp/folder/x; ln -s /tmp/folder /home/user/folder")
script = files.get_info("run.sh")
assert (script.mode, script.permissions) == (0o750, "-rwxr-x---"), script
for link in (files.get_info("link"), {each.name: each for each in files.list("/home/user")}["link"]):
    assert (link.symlink_target, link.permissions) == ("/tmp/there", "Lrwxrwxrwx"), link
    assert link.type == FileType.FILE and link.path == "/home/user/link", link
assert files.read("link") == "2"
assert [each.path for each in files.list("/home/user/folder")] == ["/home/user/folder/x"]
assert files.read("folder/x") == ""
assert "broken" not in {each.name for each in files.list("/home/user")}

# File operations do not appear in the client's list of commands.
assert sandbox.commands.list() == []
sandbox.kill()
