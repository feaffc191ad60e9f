"""Kills a daemon at the Nth change of its state directory, and checks its state after a restart.

The script sends one request after the other and stores the responses in a model. After the crash the
daemon starts again: the effect of every answered request must exist, byte by byte, and that of the
one unanswered request either completely or not at all.
"""
import collections
import contextlib
import dataclasses
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import sqlite3

from reckon_serve import Server, wait_gone

SHIM = pathlib.Path(__file__).resolve().parent.parent.parent / "build/test/support/reckon-crash.so"
LIST = ("import json, os\nfound = {}\nfor top, _, files in os.walk('.'):\n"
        "    for name in files:\n        path = os.path.join(top, name)\n"
        "        found[path[2:]] = open(path, 'rb').read().decode()\n"
        "print(json.dumps(found, sort_keys=True))")
BIG = "x" * 100_000
# The daemon moves old audit entries to sealed files within the first second, and removes unused
# artifacts that are older than an hour.
ARGS = ("--audit-entries", "20", "--store-keep", "3600")
AUDITED = 90  # requests that prepare() adds to the audit
# With these arguments kernels may survive the crash; their counters must match the history.
ADOPT = (*ARGS, "--adopt-grace", "120")
COUNT = "n = globals().get('n', 0) + 1\n"
CONTEXT_COUNT = "of_context = globals().get('of_context', 0) + 1\n"


@dataclasses.dataclass
class Model:
    """The state according to the responses."""
    key: str
    old: str  # a session from before the script
    files: dict = dataclasses.field(default_factory=dict)  # session: {path: content}
    records: dict = dataclasses.field(default_factory=dict)  # execution: (session, record)
    keys: dict = dataclasses.field(default_factory=dict)  # key: (session, code, record)
    closed: set = dataclasses.field(default_factory=set)
    pending: tuple = ()  # (session, its files afterwards) of the current request
    closing: str = ""
    background: dict = dataclasses.field(default_factory=dict)  # execution: session
    started: dict = dataclasses.field(default_factory=dict)  # process: session
    ended: dict = dataclasses.field(default_factory=dict)  # process: (session, record)
    contexts: dict = dataclasses.field(default_factory=dict)  # context: (session, has it run)
    making: str = ""  # the session in which the current request creates a context
    deleting: str = ""  # the context that the current request deletes
    deleted: dict = dataclasses.field(default_factory=dict)  # context: session
    live_keys: dict = dataclasses.field(default_factory=dict)  # text: id
    revoked: dict = dataclasses.field(default_factory=dict)
    revoking: str = ""
    versions: dict = dataclasses.field(default_factory=dict)  # (session, path): the listed versions
    audited: list = dataclasses.field(default_factory=list)  # (action, target) of answered requests
    documents: dict = dataclasses.field(default_factory=dict)  # id: value
    storing: tuple = ()  # (id, value) of the current request; None: it deletes the document
    once: dict = dataclasses.field(default_factory=dict)  # key: (session, request, process or "")
    calling: dict = dataclasses.field(default_factory=dict)  # execution: (session, call or "")
    stored: dict = dataclasses.field(default_factory=dict)  # file of the tenant: content
    keeping: tuple = ()  # (file or "", content) of the current request; None: it deletes the file
    old_artifact: tuple = ()  # (handle, content): unused

    def expect(self, session, **files):
        """Sets the files that the session has after the current request."""
        self.pending = (session, {name: text for name, text in
                                  {**self.files[session], **files}.items() if text is not None})

    def answered(self):
        if self.pending:
            self.files[self.pending[0]] = self.pending[1]
        self.pending = ()


class Gone(Exception):
    """The daemon has ended."""


def ask(server, *args, **options):
    try:
        answer = server.ask(*args, **options)
    except (OSError, http.client.HTTPException) as error:
        raise Gone from error
    # The front may live a moment longer and report that the daemon has ended.
    if answer.status in (502, 503):
        raise Gone
    return answer


def execute(server, model, session, code, key=None, context=None, **files):
    model.expect(session, **files)
    request = {"code": CONTEXT_COUNT + code, "context": context} if context else {"code": COUNT + code}
    answer = ask(server, "POST", f"/sessions/{session}/executions", request,
                 {"Idempotency-Key": key} if key else None)
    assert answer.status == 200, answer
    model.answered()
    model.records[answer.json["id"]] = (session, answer.json)
    model.audited += [("execution.start", answer.json["id"]), ("execution.end", answer.json["id"])]
    if context:
        model.contexts[context] = (session, True)
    if key:
        model.keys[key] = (session, request, answer.json)
    return answer.json


def create(server, model):
    answer = ask(server, "POST", "/sessions", {"template": "python", "env": {"A": "b"}})
    assert answer.status == 201, answer
    model.files[answer.json["id"]] = {}
    model.audited.append(("session.create", answer.json["id"]))
    return answer.json["id"]


def start(server, model, session, command):
    answer = ask(server, "POST", f"/sessions/{session}/processes", {"command": command})
    assert answer.status == 201, answer
    model.started[answer.json["id"]] = session
    model.audited.append(("process.start", answer.json["id"]))
    return answer.json["id"]


def start_once(server, model, session, key, command):
    """Starts a process with an idempotency key, twice: both responses are the same process."""
    request = {"command": command}
    for _ in range(2):
        model.once.setdefault(key, (session, request, ""))
        answer = ask(server, "POST", f"/sessions/{session}/processes", request, {"Idempotency-Key": key})
        assert answer.status == 201 and model.once[key][2] in ("", answer.json["id"]), answer
        model.once[key] = (session, request, answer.json["id"])
        model.started[answer.json["id"]] = session
    model.audited.append(("process.start", answer.json["id"]))
    return answer.json["id"]


def events_of(server, path):
    try:
        with server.events("GET", f"{path}/events") as (events, _):
            yield from ((name, data) for _, name, data in events)
    except (OSError, http.client.HTTPException, ValueError, AssertionError) as error:
        raise Gone from error
    raise Gone


def call_tool(server, model, session, **files):
    """Runs code that calls a tool, which the client answers, and writes the result to a file."""
    model.expect(session, **files)
    answer = ask(server, "POST", f"/sessions/{session}/executions", {
        "code": COUNT + "open('t', 'w').write(tools.get.sync(n=1))", "tools": [{"name": "get"}], "background": True})
    assert answer.status == 202, answer
    execution = answer.json["id"]
    model.calling[execution] = (session, "")
    path = f"/sessions/{session}/executions/{execution}"
    for name, data in events_of(server, path):
        if name == "tool_call":
            model.calling[execution] = (session, data["id"])
            taken = ask(server, "POST", f"{path}/tool_results", {"results": [{"id": data["id"], "value": "given"}]})
            assert taken.json == {"accepted": 1}, taken
        elif name == "done":
            assert data["record"]["status"] == "ok", data
            model.records[execution] = (session, data["record"])
            break
    model.answered()


def store_file(server, model, content, name="crash.txt"):
    model.keeping = ("", content)
    answer = ask(server, "POST", f"/files?name={name}", content)
    assert answer.status == 201, answer
    model.stored[answer.json["id"]] = content
    model.keeping = ()
    return answer.json["id"]


def remove_file(server, model, file):
    model.keeping = (file, None)
    assert ask(server, "DELETE", f"/files/{file}").status == 200
    del model.stored[file]
    model.keeping = ()


def copy_file(server, model, session, file, path):
    model.expect(session, **{path: model.stored[file].decode()})
    answer = ask(server, "POST", f"/sessions/{session}/files/copy", {"file": file, "path": path})
    assert answer.status == 200, answer
    model.answered()


def wait_for(server, model, process):
    session = model.started[process]
    answer = ask(server, "GET", f"/sessions/{session}/processes/{process}/wait")
    assert answer.status == 200 and answer.json["state"] == "ended", answer
    model.answered()
    model.ended[process] = (session, answer.json)
    model.audited.append(("process.end", process))


def make_context(server, model, session):
    model.making = session
    answer = ask(server, "POST", f"/sessions/{session}/contexts", {})
    assert answer.status == 201, answer
    model.making = ""
    model.contexts[answer.json["id"]] = (session, False)
    return answer.json["id"]


def delete_context(server, model, context):
    session, _ = model.contexts[context]
    model.deleting = context
    assert ask(server, "DELETE", f"/sessions/{session}/contexts/{context}").status in (200, 204)
    model.deleting = ""
    model.deleted[context] = model.contexts.pop(context)[0]


def make_key(server, model):
    answer = ask(server, "POST", "/keys", {"name": "more", "scopes": ["read"]})
    assert answer.status == 201, answer
    model.live_keys[answer.json["key"]] = answer.json["id"]
    model.audited.append(("key.create", answer.json["id"]))
    return answer.json["key"]


def revoke_key(server, model, text):
    model.revoking = text
    answer = ask(server, "DELETE", f"/keys/{model.live_keys[text]}")
    assert answer.status in (200, 204), answer
    model.revoking = ""
    model.revoked[text] = model.live_keys.pop(text)
    model.audited.append(("key.revoke", model.revoked[text]))


def look_at_versions(server, model, session, path):
    answer = ask(server, "GET", f"/sessions/{session}/versions/{path}")
    assert answer.status == 200, answer
    model.versions[session, path] = answer.json["versions"]


def store(server, model, name, value):
    """Stores a document, or deletes it if the value is None."""
    model.storing = (name, value)
    if value is None:
        answer = ask(server, "DELETE", f"/documents/crash/{name}")
    else:
        answer = ask(server, "PUT", f"/documents/crash/{name}",
                     {"value": value, "metadata": {"n": str(value["n"])}})
    assert answer.status == 200, answer
    model.audited.append((f"document.{'put' if value else 'delete'}", f"crash/{name}"))
    model.documents.pop(name, None)
    if value is not None:
        model.documents[name] = value
    model.storing = ()


def script(server, model):
    old = model.old
    for name in ("a", "b"):
        store(server, model, name, {"n": 1, "text": BIG})
    survived, passing = make_key(server, model), make_key(server, model)
    execute(server, model, old, "open('old', 'a').write('+')", old="seed+")
    session = create(server, model)
    execute(server, model, session, "x = 1\nopen('a', 'w').write('one')\n"
            f"open('big', 'w').write('x' * {len(BIG)})", a="one", big=BIG)
    model.expect(session, up="loaded")
    assert ask(server, "PUT", f"/sessions/{session}/files/up", b"loaded").status in (200, 201)
    model.answered()
    execute(server, model, session, "open('a', 'a').write('two')\nprint(x)", key="k", a="onetwo")
    look_at_versions(server, model, session, "a")
    look_at_versions(server, model, session, "up")
    store(server, model, "a", {"n": 2})
    store(server, model, "b", None)
    revoke_key(server, model, passing)
    first, second = make_context(server, model, session), make_context(server, model, session)
    execute(server, model, session, "mine = 1\nopen('c', 'w').write('context')", key="kc",
            context=first, c="context")
    execute(server, model, session, "2", context=second)
    delete_context(server, model, second)
    model.expect(session, up=None)
    assert ask(server, "DELETE", f"/sessions/{session}/files/up").status == 200
    model.answered()
    start(server, model, session, "sleep 1000")
    model.expect(session, p="process\n")
    wait_for(server, model, start(server, model, session, "echo process > p; exit 3"))
    model.expect(session, p="process\n", q="once\n")
    wait_for(server, model, start_once(server, model, session, "once", "echo once >> q; exit 3"))
    start_once(server, model, session, "runs", "sleep 1000")
    call_tool(server, model, session, t="given")
    passing, file = (store_file(server, model, content) for content in (b"passing", b"stored"))
    copy_file(server, model, session, file, "s")
    remove_file(server, model, passing)
    other = create(server, model)
    execute(server, model, other, "import os\nos.makedirs('d')\nopen('d/f', 'w').write('deep')",
            **{"d/f": "deep"})
    model.closing = other
    assert ask(server, "DELETE", f"/sessions/{other}").status == 200
    model.closing = ""
    model.closed.add(other)
    model.audited.append(("session.end", other))
    model.expect(session, b="late")
    answer = ask(server, "POST", f"/sessions/{session}/executions",
                 {"code": COUNT + "open('b', 'w').write('late')", "background": True})
    assert answer.status == 202
    model.background[answer.json["id"]] = session
    execute(server, model, session, "1", b="late")
    execute(server, model, session, "mine += 1", context=first)
    make_context(server, model, old)
    look_at_versions(server, model, session, "b")
    execute(server, model, old, "import os\nos.rename('old', 'new')", old=None, new="seed+")
    revoke_key(server, model, survived)


def prepare(reckon, path):
    """Makes a state directory with a key and a session, which is copied for each crash."""
    path.mkdir()
    reckon.user.own(path)
    reckon.state = path
    with Server(reckon) as server:
        model = Model(server.key, "")
        model.old = create(server, model)
        execute(server, model, model.old, "open('old', 'w').write('seed')", old="seed")
        for _ in range(AUDITED):
            server.ask("DELETE", f"/sessions/{model.old}/files/nothing")
    model.old_artifact = leave_old(reckon, path)
    return model


def leave_old(reckon, state):
    """Adds an unused artifact of a tenant to the directory that the daemon checks first."""
    number = 0
    while not (digits := hashlib.sha256(str(number).encode()).hexdigest()).startswith("00"):
        number += 1
    folder = state / "artifacts/00"
    folder.mkdir(exist_ok=True)
    (folder / digits).write_text(str(number))
    os.utime(folder / digits, (1, 1))
    for each in (folder, folder / digits):
        reckon.user.own(each)
    with contextlib.closing(sqlite3.connect(state / "reckond.db")) as opened, opened:
        opened.execute("INSERT INTO object SELECT tenant, ?, ? FROM session LIMIT 1",
                       [digits[:32], len(str(number))])
    return f"ar_{digits[:32]}", str(number)


def copy(reckon, seed, path):
    shutil.copytree(seed, path)
    for each in [path, *path.rglob("*")]:
        reckon.user.own(each)


def run(reckon, model, state, crash_at=None, log=None, args=ARGS):
    """Runs the script with a daemon of `state`; returns whether the script completed."""
    reckon.state = state
    env = {"LD_PRELOAD": str(SHIM), "RECKON_CRASH_DIR": str(state)}
    if crash_at is not None:
        env["RECKON_CRASH_AT"] = str(crash_at)
    if log is not None:
        env["RECKON_CRASH_LOG"] = str(log)
    server = Server(reckon, *args, key=model.key, env=env)
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


def has_lost(record):
    return any(note["code"] == "kernel_lost" for note in record["diagnostics"])


def counted_by(server, session, count=COUNT, context=None):
    """The cells that the kernel must have counted: those with a stored end, since its last loss."""
    listed = server.ask("GET", f"/sessions/{session}/executions?limit=200").json["executions"]
    found = []
    for each in listed:  # the newest first
        if not each["code"].startswith(count) or each["status"] != "ok":
            continue
        record = server.ask("GET", f"/sessions/{session}/executions/{each['id']}").json
        if context not in (None, record.get("context")):
            continue
        found.append(each)
        if has_lost(record):
            break
    return found


def check_variables(server, model):
    """Variables either reflect exactly the cells with a stored end, or a diagnostic reports their loss."""
    survived = 0
    for session in model.files:
        counted = counted_by(server, session)
        answer = server.ask("POST", f"/sessions/{session}/executions", {"code": "print(globals().get('n', 0))"})
        if answer.status != 200:
            assert session in model.closed or session == model.closing, answer
            continue
        if has_lost(answer.json):
            assert answer.json["stdout"] == "0\n", answer.json
            continue
        assert answer.json["stdout"] == f"{len(counted)}\n", (session, answer.json["stdout"], counted)
        survived += counted != []
    return survived


def check_executions(server, model):
    for execution, (session, record) in model.records.items():
        path = f"/sessions/{session}/executions/{execution}"
        assert server.ask("GET", path).json == record
    for key, (session, request, record) in model.keys.items():
        answer = server.ask("POST", f"/sessions/{session}/executions", request,
                            {"Idempotency-Key": key})
        assert answer.json == record
    for execution, session in model.background.items():
        shown = server.ask("GET", f"/sessions/{session}/executions/{execution}")
        assert shown.status == 200 and shown.json["status"] in ("lost", "ok")


def check_processes(server, model):
    """Ended processes have the reported record; those that ran are lost, never running."""
    for process, session in model.started.items():
        found = server.ask("GET", f"/sessions/{session}/processes/{process}")
        assert found.status == 200, found
        if process in model.ended:
            assert found.json == model.ended[process][1]
        else:
            assert found.json["state"] == "lost" or found.json.get("exit_code") == 3, found.json
    for session in model.files:
        listed = server.ask("GET", f"/sessions/{session}/processes").json.get("processes", [])
        assert {each["state"] for each in listed} <= {"lost", "ended"}, listed


def check_once(server, model):
    """A repeated idempotency key returns the process of the first response; without a response it may
    start one now. Either way the process is listed once."""
    for key, (session, request, process) in model.once.items():
        answer = server.ask("POST", f"/sessions/{session}/processes", request, {"Idempotency-Key": key})
        assert answer.status == 201, answer
        assert process in ("", answer.json["id"]), (process, answer)
        if process:
            assert answer.json["state"] == "lost" or answer.json.get("exit_code") == 3, answer
        else:
            server.ask("DELETE", f"/sessions/{session}/processes/{answer.json['id']}")
        listed = server.ask("GET", f"/sessions/{session}/processes").json["processes"]
        assert len([each for each in listed if each.get("command") == request["command"] and
                    each["id"] == answer.json["id"]]) == 1, listed


def check_tools(server, model):
    """Code that waited for a tool's result is lost, and a late result is refused."""
    for execution, (session, call) in model.calling.items():
        path = f"/sessions/{session}/executions/{execution}"
        if execution not in model.records:
            assert server.ask("GET", path).json["status"] in ("lost", "ok")
        late = server.ask("POST", f"{path}/tool_results", {"results": [{"id": call or "tc_1", "value": 1}]})
        assert late.code == "not_waiting", late


def check_stored(server, model):
    listed = server.ask("GET", "/files").json["files"]
    found = {each["id"]: server.ask("GET", f"/files/{each['id']}/content").body for each in listed}
    file, content = model.keeping or ("", None)
    assert {name: body for name, body in found.items() if name != file and name in model.stored} == {
        name: body for name, body in model.stored.items() if name != file}, (found, model.keeping)
    more = [body for name, body in found.items() if name not in model.stored]
    assert more in ([], [content]), (found, model.keeping)


def check_files(server, model):
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


def check_documents(server, model):
    listed = server.ask("GET", "/documents/crash").json["documents"]
    found = {each["id"]: each["value"] for each in listed}
    allowed = [model.documents]
    if model.storing:
        name, value = model.storing
        after = {**model.documents, name: value}
        allowed.append({name: value for name, value in after.items() if value is not None})
    assert found in allowed, (list(found), model.storing)
    for name, value in found.items():
        one = server.ask("GET", f"/documents/crash?metadata=%7B%22n%22:%22{value['n']}%22%7D")
        assert name in [each["id"] for each in one.json["documents"]]


def check_versions(server, model):
    """All listed versions exist, in the same order and with the same content."""
    for (session, path), listed in model.versions.items():
        found = server.ask("GET", f"/sessions/{session}/versions/{path}").json["versions"]
        assert [each for each in found if each in listed] == listed, (path, found, listed)
        assert len(found) <= len(listed) + 1, (path, found, listed)
        for each in listed:
            body = server.ask("GET", f"/artifacts/{each['artifact']}").body
            assert each["sha256"] in (None, hashlib.sha256(body).hexdigest()), each
    handle, content = model.old_artifact
    answer = server.ask("GET", f"/artifacts/{handle}")
    assert (answer.status, answer.body) == (200, content.encode()) or \
        (answer.status, answer.code) == (410, "expired"), answer


def check_contexts(server, model, is_adopted):
    """Contexts exist; their variables either reflect the cells with a stored end, or are reported lost."""
    for session in {session for session, _ in model.contexts.values()} | {model.making or model.old}:
        if session in model.closed or session not in model.files:
            continue
        wanted = {context for context, (of, _) in model.contexts.items() if of == session}
        found = {each["id"] for each in
                 server.ask("GET", f"/sessions/{session}/contexts").json["contexts"]}
        assert wanted - {model.deleting} <= found, (session, wanted, found)
        assert len(found - wanted) <= (session == model.making), (session, wanted, found)
        for context in found:
            counted = counted_by(server, session, CONTEXT_COUNT, context)
            record = server.execute(session, "print(globals().get('of_context', 0))", context=context)
            assert record["status"] == "ok" and record["context"] == context, record
            has_run = model.contexts.get(context, ("", False))[1]
            assert has_lost(record) or is_adopted or not has_run, record
            expected = 0 if has_lost(record) else len(counted)
            assert record["stdout"] == f"{expected}\n", (record, counted)
    for context, session in model.deleted.items():
        answer = server.ask("POST", f"/sessions/{session}/executions",
                            {"code": "1", "context": context})
        assert answer.status in (404, 410), answer


def check_keys(server, model):
    for texts, statuses in ((model.live_keys, {200}), (model.revoked, {401})):
        for text in texts:
            client = Server(server.reckon, key=text)
            client.port = server.port
            status = client.ask("GET", "/sessions").status
            assert status in ({200, 401} if text == model.revoking else statuses), (status, texts)


def check_audit(server, model):
    """The audit has one entry for each answered request, without gaps in its numbers."""
    found, last = [], 0
    while last < (page := server.ask("GET", f"/audit?after={last}&limit=500").json)["last"]:
        found += page["entries"]
        last = found[-1]["sequence"]
    assert [each["sequence"] for each in found] == list(range(1, last + 1))
    counts = collections.Counter()
    for each in found:
        target = each["target"]
        for what in ("execution", "process"):
            if each["action"].startswith(f"{what}.") and f"{what}=" in each["detail"]:
                target = each["detail"].partition(f"{what}=")[2].split()[0]
        counts[each["action"], target] += 1
    for each in model.audited:
        most = model.audited.count(each) + (each[0] == "document.put")
        assert model.audited.count(each) <= counts[each] <= most, (each, counts[each])
    for each in ("execution.end", "process.end", "key.revoke", "session.end"):
        twice = [key for key, count in counts.items() if key[0] == each and count > 1]
        assert not twice, twice


def check(reckon, model, state, args=ARGS):
    """Restarts the daemon and compares it with the model; returns in how many sessions variables survived."""
    reckon.state = state
    with Server(reckon, *args, key=model.key) as server:
        survived = check_variables(server, model)
        check_keys(server, model)
        check_executions(server, model)
        check_processes(server, model)
        check_tools(server, model)
        check_stored(server, model)
        check_files(server, model)
        check_versions(server, model)
        check_documents(server, model)
        check_contexts(server, model, args == ADOPT)
        check_once(server, model)
        check_audit(server, model)
        listed = server.ask("GET", "/sessions").json["sessions"]
        assert all(each["status"] in ("live", "closed") for each in listed), listed
        for session in model.files if args == ADOPT else ():
            server.ask("DELETE", f"/sessions/{session}")
    done = reckon("audit", "verify", "--state", state)
    assert done.status == 0 and "is whole: " in done.out, done.out
    leftovers = [each.name for each in (state / "artifacts/tmp").iterdir()]
    assert leftovers == [], leftovers
    return survived
