"""gzip and metadata of files with E2B's Python SDK."""
import inspect
import io

from e2b import InvalidArgumentException, Sandbox

sandbox = Sandbox.create(timeout=300)
files = sandbox.files
text = "the same line again\n" * 50000

written = files.write("packed.txt", text, gzip=True)
assert (written.path, written.name) == ("/home/user/packed.txt", "packed.txt")
assert files.get_info("packed.txt").size == len(text)
assert files.read("packed.txt", gzip=True) == text == files.read("packed.txt")
assert b"".join(files.read("packed.txt", format="stream", gzip=True)) == text.encode()
files.write("streamed.bin", io.BytesIO(bytes(range(256)) * 9000), gzip=True)
assert files.read("streamed.bin", format="bytes", gzip=True) == bytes(range(256)) * 9000
files.write("empty", "", gzip=True)
assert files.read("empty", gzip=True) == ""
files.write("/tmp/packed.txt", text, gzip=True)
assert files.read("/tmp/packed.txt") == text == files.read("/tmp/packed.txt", gzip=True)

if "metadata" in inspect.signature(files.write).parameters:
    kept = {"author": "ann", "note": "it's 100% ASCII: a=b; c"}
    for path in ("noted.txt", "/tmp/noted.txt"):
        assert files.write(path, "x", metadata=kept).metadata == kept
        assert files.get_info(path).metadata == kept
        assert sandbox.commands.run(f"python3 -c 'import os; print(os.getxattr(\"{path}\", \"user.e2b.author\"))'").stdout == "b'ann'\n"
    many = files.write_files([{"path": "both/a", "data": "1"}, {"path": "both/b", "data": "2"}], metadata={"Set": "2"})
    assert [each.metadata for each in many] == [{"set": "2"}, {"set": "2"}], many
    files.write("both/plain", "3")
    assert {each.name: each.metadata for each in files.list("both")} == {"a": {"set": "2"}, "b": {"set": "2"}, "plain": None}
    # Metadata moves with the file, and an upload without metadata removes it.
    assert files.rename("both/a", "both/c").metadata == {"set": "2"}
    assert files.get_info("both/c").metadata == {"set": "2"}
    assert files.write("both/c", "4", gzip=True, metadata={"set": "3"}).metadata == {"set": "3"}
    assert files.get_info("both/c").metadata == {"set": "3"}
    for path in ("both/c", "/tmp/noted.txt"):
        assert not files.write(path, "5").metadata
        assert not files.get_info(path).metadata
    # Metadata that code sets as an xattr is reported as well.
    sandbox.commands.run("python3 -c 'import os; os.setxattr(\"both/plain\", \"user.e2b.by\", b\"code\")'")
    assert files.get_info("both/plain").metadata == {"by": "code"}
    for wrong in ({"bad key": "x"}, {"key": "ümlaut"}):
        try:
            raise AssertionError(files.write("wrong", "x", metadata=wrong))
        except InvalidArgumentException:
            pass
sandbox.kill()
