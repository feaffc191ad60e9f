"""Pausing and resuming with E2B's Python SDK."""
import time

from e2b import NotFoundException, Sandbox, SandboxQuery, SandboxState


def wait_until(is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come")


def pause(sandbox, **more):
    """Pauses with the method that this version of the SDK has."""
    return getattr(sandbox, "pause", None or getattr(sandbox, "beta_pause", None))(**more)


has_pause = hasattr(Sandbox, "pause")
sandbox = Sandbox.create(timeout=300, metadata={"kind": "sleeper"})
sandbox.files.write("kept.txt", "here")
running = sandbox.commands.run("n=0; while true; do n=$((n+1)); echo $n > count; sleep 0.05; done", background=True)
wait_until(lambda: sandbox.files.exists("count"))
token = sandbox._envd_access_token

assert pause(sandbox) in (True, None)
if has_pause:
    assert pause(sandbox) is False, "it is paused already"
assert not sandbox.is_running()
info = sandbox.get_info()
assert info.state == SandboxState.PAUSED and info.metadata == {"kind": "sleeper"}
for state, expected in ((SandboxState.PAUSED, [sandbox.sandbox_id]), (SandboxState.RUNNING, [])):
    found = Sandbox.list(query=SandboxQuery(metadata={"kind": "sleeper"}, state=[state])).next_items()
    assert [each.sandbox_id for each in found] == expected, (state, found)
try:
    raise AssertionError(sandbox.files.read("kept.txt"))
except AssertionError:
    raise
except Exception as error:
    assert "paused" in str(error) or "not found" in str(error), error

again = Sandbox.connect(sandbox.sandbox_id, timeout=600)
assert again.sandbox_id == sandbox.sandbox_id and again._envd_access_token == token
assert again.is_running() and again.get_info().state == SandboxState.RUNNING
assert again.files.read("kept.txt") == "here"
# The command continues with the same pid.
assert [each.pid for each in again.commands.list()] == [running.pid]
stood = int(again.files.read("count") or 0)
wait_until(lambda: int(again.files.read("count") or 0) > stood)
again.commands.kill(running.pid)

for _ in range(3):
    pause(again)
    again = Sandbox.connect(sandbox.sandbox_id)
    assert again.files.read("kept.txt") == "here"

# The timeout pauses the sandbox and does not kill it.
create = Sandbox.create if has_pause else Sandbox.beta_create
at_end = {"lifecycle": {"on_timeout": "pause"}} if has_pause else {"auto_pause": True}
sleeper = create(timeout=2, **at_end)
sleeper.files.write("kept.txt", "here")
wait_until(lambda: sleeper.get_info().state == SandboxState.PAUSED)
assert Sandbox.connect(sleeper.sandbox_id, timeout=60).files.read("kept.txt") == "here"
assert sleeper.kill()

if has_pause:
    waker = Sandbox.create(timeout=2, lifecycle={"on_timeout": "pause", "auto_resume": True})
    waker.files.write("kept.txt", "here")
    lifecycle = waker.get_info().lifecycle
    assert (lifecycle["on_timeout"], lifecycle["auto_resume"]) == ("pause", True), lifecycle
    wait_until(lambda: waker.get_info().state == SandboxState.PAUSED)
    assert waker.files.read("kept.txt") == "here"
    assert waker.get_info().state == SandboxState.RUNNING
    waker.kill()

pause(again)
assert again.kill()
try:
    Sandbox.connect(sandbox.sandbox_id)
    raise AssertionError("it connects to a sandbox that is gone")
except NotFoundException:
    pass
