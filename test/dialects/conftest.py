"""Tests of dialects use a daemon that is set up for E2B's clients; other dialects work there too."""
import pytest
from e2b_client import E2BServer


@pytest.fixture
def server(reckon):
    with E2BServer(reckon) as running:
        yield running
