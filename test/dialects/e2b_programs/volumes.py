"""Volumes with E2B's Python SDK: created, filled, mounted in two sandboxes, deleted."""
import asyncio
import io

from e2b import AsyncVolume, NotFoundException, Sandbox, SandboxException, Volume
from e2b.exceptions import VolumeException


def refused(call, kind, *words):
    try:
        result = call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(result)


volume = Volume.create("models")
assert volume.name == "models" and volume.token
assert [(each.volume_id, each.name) for each in Volume.list()] == [(volume.volume_id, "models")]
assert Volume.get_info(volume.volume_id).token == volume.token
refused(lambda: Volume.create("models"), VolumeException, "409")
refused(lambda: Volume.create("no name"), VolumeException, "400", "letters")
refused(lambda: Volume.get_info("vol_none"), NotFoundException)
assert Volume.destroy("vol_none") is False

# Files of a volume can be read and written without a sandbox.
entry = volume.write_file("/config.json", '{"a": 1}')
assert (entry.name, entry.path, entry.type.value, entry.size) == ("config.json", "/config.json", "file", 8)
assert (entry.uid, entry.gid, entry.mode) == (1000, 1000, 0o644)
assert volume.read_file("config.json") == '{"a": 1}'
assert volume.read_file("/config.json", format="bytes") == b'{"a": 1}'
assert b"".join(volume.read_file("/config.json", format="stream")) == b'{"a": 1}'
volume.write_file("/config.json", b"{}", force=True, mode=0o600)
assert volume.get_info("/config.json").mode == 0o600
refused(lambda: volume.write_file("/a/b/c", "x"), NotFoundException)
large = bytes(range(256)) * (4 << 12)
volume.write_file("/a/b/c", io.BytesIO(large), force=True)
assert volume.read_file("/a/b/c", format="bytes") == large
folder = volume.make_dir("/data", mode=0o750)
assert (folder.type.value, folder.mode) == ("directory", 0o750)
refused(lambda: volume.make_dir("/data"), VolumeException, "409")
assert volume.make_dir("/data/x/y", force=True).path == "/data/x/y"
assert [each.path for each in volume.list("/")] == ["/a", "/config.json", "/data"]
assert [each.path for each in volume.list("/", depth=3)] == [
    "/a", "/a/b", "/a/b/c", "/config.json", "/data", "/data/x", "/data/x/y"]
assert volume.update_metadata("/config.json", mode=0o640, uid=1000, gid=1000).mode == 0o640
refused(lambda: volume.update_metadata("/config.json", uid=5), VolumeException, "400", "1000")
refused(lambda: volume.write_file("/config.json", "x", uid=7), VolumeException, "400")
assert volume.exists("/data") and not volume.exists("/nothing")
refused(lambda: volume.list("/nothing"), NotFoundException)
refused(lambda: volume.read_file("/nothing"), NotFoundException)
refused(lambda: volume.read_file("/../../etc/passwd"), VolumeException, "400")
refused(lambda: volume.read_file("/data"), VolumeException, "403")
volume.remove("/data")
assert not volume.exists("/data")

# Two sandboxes mount the volume at once.
one = Sandbox.create(timeout=300, volume_mounts={"/mnt/models": volume})
two = Sandbox.create(timeout=300, volume_mounts={"/mnt/elsewhere": "models"})
one.commands.run("echo trained > /mnt/models/weights; ln -s weights /mnt/models/latest; chmod 600 /mnt/models/weights")
assert two.commands.run("cat /mnt/elsewhere/latest; id -u; stat -c %u /mnt/elsewhere/config.json").stdout == (
    "trained\n1000\n1000\n")
link = volume.get_info("/latest")
assert (link.type.value, link.target) == ("symlink", "weights")
assert volume.read_file("/weights") == "trained\n"
volume.write_file("/weights", "better")
assert one.commands.run("cat /mnt/models/weights").stdout == "better"
assert [(each["name"], each["path"]) if isinstance(each, dict) else (each.name, each.path)
        for each in one.get_info().volume_mounts or []] == [("models", "/mnt/models")]
refused(lambda: Volume.destroy(volume.volume_id), VolumeException, "409", "session")
refused(lambda: Sandbox.create(volume_mounts={"/mnt/a": "none"}), SandboxException, "none")
refused(lambda: Sandbox.create(volume_mounts={"/srv/a": volume}), SandboxException, "400", "/mnt")

# The volume outlives its sandboxes, and stays mounted over a pause.
two.kill()
one.pause()
refused(lambda: Volume.destroy(volume.volume_id), VolumeException, "409")
Sandbox.connect(one.sandbox_id)
assert one.commands.run("cat /mnt/models/weights").stdout == "better"
one.kill()
with Sandbox.create(timeout=300, volume_mounts={"/mnt/models": volume}) as third:
    assert third.commands.run("cat /mnt/models/weights").stdout == "better"


async def asynchronous():
    other = await AsyncVolume.connect(volume.volume_id)
    assert await other.read_file("/weights") == "better"
    assert [each.path for each in await other.list("/a")] == ["/a/b"]
    assert await AsyncVolume.destroy(volume.volume_id) is True

asyncio.run(asynchronous())
assert Volume.list() == []
refused(lambda: volume.read_file("/weights"), NotFoundException)
