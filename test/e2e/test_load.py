"""Sixty sessions with cells whose answers are known; test/soak has a thousand of them.

RECKON_BIN may name a tree whose daemon was built with sanitizers (tools/run-tests asan): the log
and the exit status then contain their findings.
"""
import os
import random
import tempfile

import pytest
from leftovers import Leftovers
from load import load
from reckon_cli import Reckon
from reckon_serve import Server

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("as_user", ["root"], indirect=True)]


def test_sixty_sessions_give_no_wrong_answer_and_leave_nothing(place):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    leftovers = Leftovers(place.program_dirs)
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as server:
        # A sanitizer's allocator does not return freed memory; its leak detector checks instead.
        print(load(server, leftovers, sessions=60, live=8, seed=seed, tenants=5,
                   is_flat="asan" not in os.environ.get("RECKON_BIN", "")))
        status = server.stop()
        log = server.log()
        assert status == 0, log
        for word in ("the front is gone", "AddressSanitizer", "detected memory leaks",
                     "runtime error"):
            assert word not in log, log
