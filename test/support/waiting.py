"""Waiting for what has no descriptor to wait on."""
import contextlib
import time

from leftovers import PATIENCE

SECONDS = 60 * PATIENCE  # no wait may hang the suite; nothing is measured with it


def eventually(is_so, what="it never came true", despite=()):
    """Waits until it holds, and returns what it gave; an error of `despite` may pass meanwhile."""
    deadline = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(*despite):
            if found := is_so():
                return found
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
