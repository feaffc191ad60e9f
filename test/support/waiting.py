"""Waits for conditions by polling."""
import contextlib
import time

from leftovers import PATIENCE

SECONDS = 60 * PATIENCE  # no measurement, only stops a wait that hangs


def eventually(is_so, what="it never came true", despite=()):
    """Waits until is_so() is true and returns its value; ignores errors of types in `despite`."""
    deadline = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(*despite):
            if found := is_so():
                return found
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
