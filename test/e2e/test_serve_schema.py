"""The daemon does what the OpenAPI document says, also for requests that nobody thought of.

schemathesis makes valid and invalid requests from the document that is served, and checks each
response: its status, media type and body are in the document, invalid requests get a 4xx, and no
response is a 500. SCHEMA_EXAMPLES is the number of requests for each operation and kind.

A valid request may still be refused, because a document cannot express that a cursor is within the
code, or a range within a file. No wrong keys are tried, because the daemon slows down clients that
try many.
"""
import contextlib
import os
import threading

import hypothesis
import pytest
import schemathesis
import schemathesis.config
import schemathesis.openapi
from hypothesis import strategies as st
from reckon_serve import PREFIX, Server
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "20"))
SEED = int(os.environ.get("SCHEMA_SEED", "7263"))
KNOWN = 0.7  # of the requests name objects that exist
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("as_user", ["root"], indirect=True)]


@pytest.fixture(scope="module")
def server(place):
    import tempfile

    from reckon_cli import Reckon
    reckon = Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))
    with Server(reckon, "--max-sessions", "8") as running:
        yield running
        assert "the front is gone" not in running.log()


@pytest.fixture(scope="module")
def schema(server):
    # The key is always valid, so that no request is refused because of it.
    config = schemathesis.config.SchemathesisConfig.from_dict({
        "generation": {"with-security-parameters": False}})
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}{PREFIX}/openapi.json",
                                         config=config)


class World:
    """Objects that requests can name; made again when a request has removed them."""

    def __init__(self, server):
        self.server, self.ids = server, {}
        self.refresh()

    def refresh(self):
        self.server.ask("DELETE", "/drain")
        session = self.ids.get("session")
        if session and self.server.ask("GET", f"/sessions/{session}").status == 200:
            return
        for entry in self.server.ask("GET", "/sessions?limit=500").json["sessions"]:
            self.server.ask("DELETE", f"/sessions/{entry['id']}")
        session = self.server.create(limits={"wall_s": 2, "output_bytes": 4096})
        record = self.server.execute(session, "open('kept.txt', 'w').write('x'); print('y' * 9000)")
        process = self.server.ask("POST", f"/sessions/{session}/processes", {
            "command": "cat", "stdin": True, "tag": "kept", "timeout_s": 1})
        self.ids = {"session": session, "execution": record["id"], "path": "kept.txt",
                    "process": process.json["id"],
                    "artifact": record["files"][0]["artifact"],
                    "handle": record["truncated"]["stdout"]["handle"]}
        key = self.server.ask("POST", "/keys", {"scopes": ["read"]})
        tenant = self.server.ask("POST", "/tenants", {"name": f"t{key.json['id'][-20:].lower()}"})
        assert (key.status, tenant.status) == (201, 201), (key, tenant)
        self.key, self.tenant = key.json["id"], tenant.json["id"]

    def known(self, path):
        """Values for the parameters of this path."""
        return {**self.ids, "id": self.tenant if "/tenants/" in path else self.key}


def operations():
    from field_table import document
    return [(method, path) for path, item in document()["paths"].items()
            for method in ("get", "put", "post", "patch", "delete") if method in item]


@contextlib.contextmanager
def ends(server, path, parameters):
    """A watch does not end by itself: the end of its session ends it."""
    session = str(parameters.get("session"))
    end = threading.Timer(0.3, lambda: server.ask("DELETE", f"/sessions/{session}"))
    if path.endswith("/watch") and session.startswith("se_"):
        end.start()
    try:
        yield
    finally:
        end.cancel()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE],
                         ids=["right", "wrong"])
@pytest.mark.parametrize("method,path", operations(), ids=lambda word: word.replace(PREFIX, ""))
def test_an_operation_does_what_the_document_says(server, schema, method, path, mode):
    world = World(server)
    operation = schema[path][method]

    @hypothesis.seed(SEED)
    @hypothesis.settings(max_examples=EXAMPLES, deadline=None, database=None,
                         phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def ask(case, data):
        known = {name: value for name, value in world.known(path).items()
                 if name in case.path_parameters}
        if known and data.draw(st.floats(0, 1)) < KNOWN:
            case.path_parameters.update(known)
        with ends(server, path, case.path_parameters):
            case.call_and_validate(headers=server.headers(),
                                   excluded_checks=[positive_data_acceptance, ignored_auth])
        world.refresh()

    try:
        ask()
    except hypothesis.errors.Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "nothing right can be asked"
