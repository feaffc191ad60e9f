"""The isolation of reckon-agent, tested from inside."""
import os
import socket
import subprocess

import pytest
from reckon_cli import ROOT

PROBE = ROOT / "build/test/support/reckon-agent-probe"


@pytest.fixture(scope="module")
def attempts(as_user):
    with socket.create_server(("127.0.0.1", 0)) as wanted, \
            socket.create_server(("127.0.0.1", 0)) as other:
        # An ordinary user may have no access to the build folder, so run the opened file.
        descriptor = os.open(PROBE, os.O_RDONLY)
        done = subprocess.run(
            [f"/proc/self/fd/{descriptor}", *(str(end.getsockname()[1]) for end in (wanted, other))],
            capture_output=True, text=True, check=True, pass_fds=[descriptor], **as_user.switch)
        os.close(descriptor)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def test_what_the_agent_needs_works(attempts):
    needed = {name: code for name, code in attempts.items() if name.startswith("needed: ")}
    assert len(needed) == 4 and set(needed.values()) == {"0"}, needed


def test_a_captured_agent_opens_runs_and_reaches_nothing_else(attempts):
    tried = {name: code for name, code in attempts.items() if not name.startswith("needed: ")}
    assert len(tried) >= 30
    worked = [name for name, code in tried.items() if code == "0"]
    assert not worked
    # Landlock refuses the first with EACCES, the filter refuses the others with EPERM.
    assert {tried[name] for name in ("open", "certificates", "another port", "bind")} == {"13"}
    assert {tried[name] for name in ("write", "create", "exec", "fork", "ptrace", "kill", "map to run",
                                     "make run", "setuid", "dumpable", "io_uring")} == {"1"}
