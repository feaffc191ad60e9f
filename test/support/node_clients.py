"""Clients that run on Node: tools/setup.sh installs those of test/sdks/NAME into build/sdks/NAME, and
Node itself into the tests' virtual environment."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ROOT / "build/sdks/mcp/node_modules"


def node():
    """Node 22 or newer, which MCP's own programs need: the wheel's."""
    return str(pathlib.Path(sys.executable).with_name("node"))
