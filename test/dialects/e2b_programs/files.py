"""Files with E2B's Python SDK."""
import io
import urllib.error
import urllib.request

from e2b import FileType, InvalidArgumentException, NotFoundException, Sandbox

sandbox = Sandbox.create(timeout=300)
files = sandbox.files

written = files.write("hello.txt", "hello")
assert (written.path, written.name) == ("/home/user/hello.txt", "hello.txt")
assert written.type in (FileType.FILE, "file")  # depends on the SDK's version
assert files.read("hello.txt") == "hello" == files.read("/home/user/hello.txt")
assert files.read("/home/user/../user/./hello.txt") == "hello"
big = bytes(range(256)) * 20000
files.write("/home/user/deep/er/big.bin", big)
assert files.read("deep/er/big.bin", format="bytes") == big
files.write("streamed.bin", io.BytesIO(big))
assert b"".join(files.read("streamed.bin", format="stream")) == big
files.write("empty", "")
assert files.read("empty") == ""
files.write('a "quoted" näme --b; x.txt', "--x\r\n\r\n--")
assert files.read('a "quoted" näme --b; x.txt') == "--x\r\n\r\n--"
many = files.write_files([{"path": "many/a", "data": "1"}, {"path": "many/b", "data": b"\x00\xff"}])
assert [each.path for each in many] == ["/home/user/many/a", "/home/user/many/b"]
assert files.read("many/b", format="bytes") == b"\x00\xff"

info = files.get_info("hello.txt")
assert (info.name, info.type, info.path, info.size) == ("hello.txt", FileType.FILE, "/home/user/hello.txt", 5)
assert files.get_info("deep").type == FileType.DIR
assert files.exists("hello.txt") and files.exists("deep/er") and not files.exists("nope")
assert [each.name for each in files.list("deep")] == ["er"]
assert [each.path for each in files.list("deep", depth=3)] == ["/home/user/deep/er", "/home/user/deep/er/big.bin"]
assert {"deep", "hello.txt", "many"} <= {each.name for each in files.list("/home/user")}

assert files.make_dir("made/of/many") is True and files.make_dir("made/of/many") is False
moved = files.rename("hello.txt", "made/moved.txt")
assert moved.path == "/home/user/made/moved.txt" and not files.exists("hello.txt")
files.remove("made")
assert not files.exists("made")
files.remove("made")

for missing in (lambda: files.read("nope"), lambda: files.rename("nope", "x"), lambda: files.list("nope"),
                lambda: files.get_info("nope")):
    try:
        raise AssertionError(missing())
    except NotFoundException:
        pass
for wrong in (lambda: files.write("deep", "a folder is there"), lambda: files.read("deep"),
              lambda: files.list("many/a"), lambda: files.write("/home/user", "")):
    try:
        raise AssertionError(wrong())
    except InvalidArgumentException:
        pass

# URLs with a signature need no other authentication.
sandbox.files.write("seen.txt", "by both")


def get(url, data=None, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, data, headers)).read()


assert get(sandbox.download_url("seen.txt")) == b"by both"
assert get(sandbox.download_url("seen.txt", user="user", use_signature_expiration=100)) == b"by both"
form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nsigned\r\n--b--\r\n'
get(sandbox.upload_url("signed.txt"), form, **{"Content-Type": "multipart/form-data; boundary=b"})
assert files.read("signed.txt") == "signed"
for url in (sandbox.download_url("seen.txt") + "x", sandbox.download_url("seen.txt").replace("seen", "empty"),
            sandbox.download_url("seen.txt", use_signature_expiration=-100),
            sandbox.upload_url("seen.txt"), sandbox.download_url("seen.txt").split("&signature")[0]):
    try:
        raise AssertionError(get(url))
    except urllib.error.HTTPError as error:
        assert error.code == 401, (url, error)
        assert b'"code":401' in error.read()
sandbox.kill()
