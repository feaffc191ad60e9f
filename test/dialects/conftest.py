"""Tests of dialects ask a daemon as E2B's clients see it; of others, too, whom that does not disturb."""
import pytest
from e2b_client import E2BServer


@pytest.fixture
def server(reckon):
    with E2BServer(reckon) as running:
        yield running
