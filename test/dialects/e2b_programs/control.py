"""The control plane with E2B's Python SDK."""
import datetime
import os

from e2b import NotFoundException, Sandbox, SandboxQuery

first = Sandbox.create(timeout=60, metadata={"user id": "a&b=c", "kind": "x"}, envs={"FROM_CREATE": "1"})
second = Sandbox.create(timeout=60, metadata={"kind": "x"})

info = first.get_info()
assert info.sandbox_id == first.sandbox_id
assert info.metadata == {"user id": "a&b=c", "kind": "x"}
assert info.template_id == "base" and info.state.value == "running"
life = info.end_at - info.started_at
assert datetime.timedelta(seconds=55) < life < datetime.timedelta(seconds=65), life
first.set_timeout(600)
assert first.get_info().end_at - info.end_at > datetime.timedelta(seconds=500)
first.set_timeout(120)
assert first.get_info().end_at - info.end_at < datetime.timedelta(seconds=300)

# Connecting can extend a sandbox's timeout, but not shorten it.
assert Sandbox.connect(first.sandbox_id, timeout=10).sandbox_id == first.sandbox_id
assert first.get_info().end_at - info.end_at > datetime.timedelta(seconds=30)
Sandbox.connect(first.sandbox_id, timeout=900)
assert first.get_info().end_at - info.end_at > datetime.timedelta(seconds=700)

found = Sandbox.list(query=SandboxQuery(metadata={"user id": "a&b=c"})).next_items()
assert [each.sandbox_id for each in found] == [first.sandbox_id], found
both = Sandbox.list(query=SandboxQuery(metadata={"kind": "x"}), limit=1)
seen = []
while both.has_next:
    page = both.next_items()
    assert len(page) == 1
    seen += [each.sandbox_id for each in page]
assert seen == [second.sandbox_id, first.sandbox_id], seen

assert first.is_running() and second.is_running()
first.files.write("big", b"x" * 5_000_000)
measured = first.get_metrics()
assert measured or "E2B_TEST_SAMPLED" not in os.environ  # there may be no samples without cgroups
for metrics in measured[-1:]:
    assert metrics.mem_used > 0 and metrics.mem_total == 1 << 30 and metrics.cpu_count >= 1, metrics
    assert 5_000_000 <= metrics.disk_used < metrics.disk_total == 1 << 30, metrics
assert second.kill() is True and second.kill() is False
assert not second.is_running() and first.is_running()
try:
    Sandbox.connect(second.sandbox_id)
    raise AssertionError("it connects to a sandbox that is gone")
except NotFoundException:
    pass
assert first.kill()
