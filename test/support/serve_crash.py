"""A daemon that ends at the Nth change of its state directory, and what must be there afterwards.

The script asks for one thing after the other; what was answered is the model. After the crash the
daemon is started again: everything that was answered is there, byte by byte, and of the one request
that was not answered either all or nothing.
"""
import dataclasses
import http.client
import json
import pathlib
import shutil
import signal

from reckon_serve import Server, wait_gone

SHIM = pathlib.Path(__file__).resolve().parent.parent.parent / "build/test/support/reckon-crash.so"
LIST = ("import json, os\nfound = {}\nfor top, _, files in os.walk('.'):\n"
        "    for name in files:\n        path = os.path.join(top, name)\n"
        "        found[path[2:]] = open(path, 'rb').read().decode()\n"
        "print(json.dumps(found, sort_keys=True))")
BIG = "x" * 100_000


@dataclasses.dataclass
class Model:
    """What the answers said."""
    key: str
    old: str  # a session that was there before
    files: dict = dataclasses.field(default_factory=dict)  # session: {path: content}
    records: dict = dataclasses.field(default_factory=dict)  # execution: (session, record)
    keys: dict = dataclasses.field(default_factory=dict)  # key: (session, code, record)
    closed: set = dataclasses.field(default_factory=set)
    pending: tuple = ()  # (session, files as they are when it was done) of what is asked now
    closing: str = ""
    background: dict = dataclasses.field(default_factory=dict)  # execution: session

    def expect(self, session, **files):
        """What is asked now is going to change the session's files like this."""
        self.pending = (session, {name: text for name, text in
                                  {**self.files[session], **files}.items() if text is not None})

    def answered(self):
        if self.pending:
            self.files[self.pending[0]] = self.pending[1]
        self.pending = ()


class Gone(Exception):
    """The daemon is not there any more."""


def ask(server, *args, **options):
    try:
        answer = server.ask(*args, **options)
    except (OSError, http.client.HTTPException) as error:
        raise Gone from error
    # Its front may live a moment longer, and say that nobody answers it.
    if answer.status in (502, 503):
        raise Gone
    return answer


def execute(server, model, session, code, key=None, **files):
    model.expect(session, **files)
    answer = ask(server, "POST", f"/sessions/{session}/executions", {"code": code},
                 {"Idempotency-Key": key} if key else None)
    assert answer.status == 200, answer
    model.answered()
    model.records[answer.json["id"]] = (session, answer.json)
    if key:
        model.keys[key] = (session, code, answer.json)
    return answer.json


def create(server, model):
    answer = ask(server, "POST", "/sessions", {"template": "python", "env": {"A": "b"}})
    assert answer.status == 201, answer
    model.files[answer.json["id"]] = {}
    return answer.json["id"]


def script(server, model):
    old = model.old
    execute(server, model, old, "open('old', 'a').write('+')", old="seed+")
    session = create(server, model)
    execute(server, model, session, "x = 1\nopen('a', 'w').write('one')\n"
            f"open('big', 'w').write('x' * {len(BIG)})", a="one", big=BIG)
    model.expect(session, up="loaded")
    assert ask(server, "PUT", f"/sessions/{session}/files/up", b"loaded").status in (200, 201)
    model.answered()
    execute(server, model, session, "open('a', 'a').write('two')\nprint(x)", key="k", a="onetwo")
    model.expect(session, up=None)
    assert ask(server, "DELETE", f"/sessions/{session}/files/up").status == 200
    model.answered()
    other = create(server, model)
    execute(server, model, other, "import os\nos.makedirs('d')\nopen('d/f', 'w').write('deep')",
            **{"d/f": "deep"})
    model.closing = other
    assert ask(server, "DELETE", f"/sessions/{other}").status == 200
    model.closing = ""
    model.closed.add(other)
    model.expect(session, b="late")
    answer = ask(server, "POST", f"/sessions/{session}/executions",
                 {"code": "open('b', 'w').write('late')", "background": True})
    assert answer.status == 202
    model.background[answer.json["id"]] = session
    execute(server, model, session, "1", b="late")
    execute(server, model, old, "import os\nos.rename('old', 'new')", old=None, new="seed+")


def prepare(reckon, path):
    """A state with a key and a session, to be copied for each crash."""
    path.mkdir()
    reckon.user.own(path)
    reckon.state = path
    with Server(reckon) as server:
        model = Model(server.key, "")
        model.old = create(server, model)
        execute(server, model, model.old, "open('old', 'w').write('seed')", old="seed")
    return model


def copy(reckon, seed, path):
    shutil.copytree(seed, path)
    for each in [path, *path.rglob("*")]:
        reckon.user.own(each)


def run(reckon, model, state, crash_at=None, log=None):
    """The script against a daemon of `state`; whether it came to its end."""
    reckon.state = state
    env = {"LD_PRELOAD": str(SHIM), "RECKON_CRASH_DIR": str(state)}
    if crash_at is not None:
        env["RECKON_CRASH_AT"] = str(crash_at)
    if log is not None:
        env["RECKON_CRASH_LOG"] = str(log)
    server = Server(reckon, key=model.key, env=env)
    front = None
    try:
        server.start()
        front = server.front()
        script(server, model)
    except (AssertionError, Gone, OSError):
        if server.process.poll() is None:
            server.process.wait(10)
        assert server.process.returncode == -signal.SIGKILL, server.log()
        if front is not None:
            wait_gone(front)
        server.process.stdout.close()
        return False
    server.stop(signal.SIGKILL)
    wait_gone(front)
    return True


def files_of(server, session):
    answer = server.ask("POST", f"/sessions/{session}/executions", {"code": LIST})
    if answer.status != 200:
        return answer.code
    assert answer.json["status"] == "ok", answer.json["error"]
    return json.loads(answer.json["stdout"])


def check(reckon, model, state):
    """Starts it again, without crashes, and compares."""
    reckon.state = state
    with Server(reckon, key=model.key) as server:
        for execution, (session, record) in model.records.items():
            path = f"/sessions/{session}/executions/{execution}"
            assert server.ask("GET", path).json == record
        for key, (session, code, record) in model.keys.items():
            answer = server.ask("POST", f"/sessions/{session}/executions", {"code": code},
                                {"Idempotency-Key": key})
            assert answer.json == record
        for execution, session in model.background.items():
            shown = server.ask("GET", f"/sessions/{session}/executions/{execution}")
            assert shown.status == 200 and shown.json["status"] in ("lost", "ok")
        for session in model.closed:
            assert server.ask("GET", f"/sessions/{session}").code == "session_closed"
        for session, files in model.files.items():
            if session in model.closed:
                continue
            found = files_of(server, session)
            if session == model.closing and found == "session_closed":
                continue
            allowed = [files]
            if model.pending and model.pending[0] == session:
                allowed.append(model.pending[1])
            assert found in allowed, (session, found, allowed)
        listed = server.ask("GET", "/sessions").json["sessions"]
        assert all(each["status"] in ("live", "closed") for each in listed), listed
    leftovers = [each.name for each in (state / "artifacts/tmp").iterdir()]
    assert leftovers == [], leftovers
