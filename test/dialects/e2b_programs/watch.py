"""Polling changes of files with E2B's Python SDK."""
import time

from e2b import InvalidArgumentException, NotFoundException, Sandbox
from e2b.sandbox.filesystem.watch_handle import FilesystemEventType as Type

sandbox = Sandbox.create(timeout=300)
files = sandbox.files
files.make_dir("watched/deep")


def until(handle, *wanted):
    """Polls until all of these events have been reported; returns the events."""
    found = []
    for _ in range(600):
        found += [(event.type, event.name) for event in handle.get_new_events()]
        if set(wanted) <= set(found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{wanted} do not come: {found}")


flat = files.watch_dir("watched")
every = files.watch_dir("/home/user/watched", recursive=True)
again = files.watch_dir("watched")
assert flat.get_new_events() == []
files.write("watched/new", "hello")
until(flat, (Type.CREATE, "new"))
sandbox.commands.run("cd watched && echo x >> new && chmod 600 new && mv new other && rm other && echo > deep/file")
changes = ((Type.WRITE, "new"), (Type.CHMOD, "new"), (Type.RENAME, "new"), (Type.CREATE, "other"),
           (Type.REMOVE, "other"))
found = until(flat, *changes)
assert (Type.CREATE, "new") not in found, "it was told before"
assert not [name for _, name in found if "/" in name]
until(every, (Type.CREATE, "new"), *changes, (Type.CREATE, "deep/file"))
until(again, (Type.CREATE, "new"), *changes)

# More events than fit into one response of reckond.
sandbox.commands.run("cd watched && for i in $(seq 1500); do : > a-name-that-is-long-enough-$i; done")
until(flat, (Type.CREATE, "a-name-that-is-long-enough-1"), (Type.CREATE, "a-name-that-is-long-enough-1500"))

flat.stop()
try:
    raise AssertionError(files.watch_dir("nope"))
except NotFoundException:
    pass
for wrong in ("/etc", "watched/a-name-that-is-long-enough-1"):
    try:
        raise AssertionError(files.watch_dir(wrong))
    except InvalidArgumentException:
        pass
files.remove("watched")
until(again, (Type.REMOVE, "."))
assert again.get_new_events() == []
again.stop()
every.stop()

# A watcher that is stopped makes room for another.
for i in range(20):
    files.make_dir(f"many/{i}")
    files.watch_dir(f"many/{i}").stop()
sandbox.kill()
