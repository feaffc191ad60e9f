"""Snapshots with E2B's Python SDK: created, listed, used for new sandboxes, deleted."""
import asyncio
import inspect

from e2b import AsyncSandbox, NotFoundException, Sandbox, SandboxException, Template


def refused(call, kind, *words):
    try:
        result = call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(result)


def ids(paginator):
    found = []
    while paginator.has_next:
        found += [each.snapshot_id for each in paginator.next_items()]
    return found


sandbox = Sandbox.create(timeout=300, envs={"COLOUR": "red"})
assert sandbox.list_snapshots().next_items() == []
sandbox.files.write("notes/a.txt", "as it was")
sandbox.commands.run("chmod 600 notes/a.txt; ln -s a.txt notes/latest")
first = sandbox.create_snapshot()
assert first.snapshot_id.startswith("sn_") and first.names == []
sandbox.files.write("notes/a.txt", "changed since")
second = Sandbox.create_snapshot(sandbox.sandbox_id, name="team/base-files:v2")
assert second.names == ["base-files:v2"]
third = sandbox.create_snapshot(name="base-files:default")
assert third.names == ["base-files"]
if "mode" in inspect.signature(Sandbox.create_snapshot).parameters:
    refused(lambda: sandbox.create_snapshot(mode="full"), SandboxException, "400", "memory")
    fourth = sandbox.create_snapshot(mode="filesystem")
    assert Sandbox.delete_snapshot(fourth.snapshot_id) is True

newest = [third.snapshot_id, second.snapshot_id, first.snapshot_id]
assert ids(sandbox.list_snapshots()) == newest
assert ids(Sandbox.list_snapshots(limit=1)) == newest
assert ids(Sandbox.list_snapshots(sandbox_id="01m80j7v9z7wca235g7gjnp5hc")) == []
for name, found in (("base-files", newest[:2]), ("team/base-files", newest[:2]), ("base-files:v2", newest[1:2]),
                    ("base", []), (first.snapshot_id, newest[2:])):
    if "name" in inspect.signature(Sandbox.list_snapshots).parameters:
        assert ids(Sandbox.list_snapshots(name=name)) == found, name

# Snapshots outlive their sandbox.
sandbox.kill()
with Sandbox.create(first.snapshot_id, timeout=300, envs={"SIZE": "1"}) as fresh:
    assert fresh.files.read("notes/a.txt") == "as it was"
    assert fresh.commands.run("stat -c %a notes/a.txt; cat notes/latest; echo $COLOUR$SIZE $E2B_TEMPLATE_ID").stdout == (
        f"600\nas it wasred1 {first.snapshot_id}\n")
    assert fresh.get_info().template_id == first.snapshot_id
    fresh.files.write("notes/a.txt", "its own")
    again = fresh.create_snapshot()
for called in ("base-files", "team/base-files:v2", second.snapshot_id):
    with Sandbox.create(called, timeout=300) as fresh:
        assert fresh.files.read("notes/a.txt") == "changed since", called
with Sandbox.create(again.snapshot_id) as fresh:
    # Deleting a snapshot does not affect the sandbox that was created from it.
    assert Sandbox.delete_snapshot(again.snapshot_id) is True
    assert fresh.files.read("notes/a.txt") == "its own"
assert Template.exists(first.snapshot_id) and Template.exists("base-files") and not Template.exists(again.snapshot_id)


async def asynchronous():
    async with await AsyncSandbox.create(second.snapshot_id, timeout=300) as other:
        assert await other.files.read("notes/a.txt") == "changed since"
        made = await other.create_snapshot(name="of-async")
        assert [each.snapshot_id for each in await other.list_snapshots().next_items()] == [made.snapshot_id]
        assert await AsyncSandbox.delete_snapshot("of-async") is True
        assert await AsyncSandbox.delete_snapshot(made.snapshot_id) is False

asyncio.run(asynchronous())
for each in newest:
    assert Sandbox.delete_snapshot(each) is True
    assert Sandbox.delete_snapshot(each) is False
assert ids(Sandbox.list_snapshots()) == []
for kind in (first.snapshot_id, "base-files"):
    refused(lambda kind=kind: Sandbox.create(kind), (NotFoundException, SandboxException), "snapshot")
refused(lambda: Sandbox.create_snapshot(sandbox.sandbox_id), SandboxException)
