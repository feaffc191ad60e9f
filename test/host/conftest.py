"""Only on machines of tools/host-test: it says which walls a machine is there for."""
import os

import pytest

collect_ignore_glob = [] if "HOST_TEST_WALLS" in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
def walls():
    return [name for name in os.environ["HOST_TEST_WALLS"].split(",") if name]
