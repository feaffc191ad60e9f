"""A thousand sessions of one daemon, and a longer run of the requests generated from its OpenAPI file.

LOAD_SESSIONS sets the number of sessions, LOAD_SEED the seed; the seed is printed.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import pytest
from leftovers import Leftovers
from load import hold, level, load
from reckon_cli import ROOT, Reckon
from reckon_serve import Server

SESSIONS = int(os.environ.get("LOAD_SESSIONS", "1000"))
SEED = int(os.environ.get("LOAD_SEED", random.SystemRandom().randrange(1 << 32)))
LIVE = 40
TENANTS = 20
ROUNDS = 30  # in each round every session runs one cell
CLIENTS = 12
LEVEL_ROUNDS = 333  # repeated three times, with one cell in each of twenty sessions
SCHEMA_EXAMPLES = 400
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("as_user", ["root"], indirect=True)]


def test_a_thousand_sessions(place):
    print(f"seed {SEED}")
    leftovers = Leftovers(place.program_dirs)
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as server:
        print(load(server, leftovers, SESSIONS, LIVE, SEED, TENANTS))
        assert server.stop() == 0, server.log()
        assert "the front is gone" not in server.log()


def test_a_thousand_sessions_at_once(place):
    print(f"seed {SEED}")
    leftovers = Leftovers(place.program_dirs)
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base)),
                "--max-sessions", str(SESSIONS + CLIENTS)) as server:
        print(hold(server, leftovers, SESSIONS, CLIENTS, SEED, TENANTS, ROUNDS))
        assert server.stop() == 0, server.log()
        assert "the front is gone" not in server.log()


def test_memory_does_not_grow_over_twenty_thousand_cells(place):
    print(f"seed {SEED}")
    leftovers = Leftovers(place.program_dirs)
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as server:
        print(level(server, leftovers, 20, CLIENTS, SEED, 4, LEVEL_ROUNDS))
        assert server.stop() == 0, server.log()


def test_many_generated_requests(as_user):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                    pathlib.Path(ROOT, "test/e2e/test_serve_schema.py")], check=True,
                   env={**os.environ, "SCHEMA_EXAMPLES": str(SCHEMA_EXAMPLES),
                        "SCHEMA_SEED": str(seed)})
