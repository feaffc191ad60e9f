"""Questions of running code to its client over HTTP: lines of input and calls of tools, also of
hostile code."""

import concurrent.futures
import contextlib
import threading
import time

import pytest
from leftovers import PATIENCE
from reckon_serve import Server
from test_serve_tenants import make_key, using

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

ADD = {"name": "add", "description": "Adds two numbers", "parameters": {
    "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}


@pytest.fixture(scope="module")
def server(module_server):
    return module_server


class Asking:
    """An execution, and the answers to its questions."""

    def __init__(self, server, session, code, **body):
        self.server = server
        answer = server.ask("POST", f"/sessions/{session}/executions",
                            {"code": code, "background": True, **body})
        assert answer.status == 202, answer
        self.path = f"/sessions/{session}/executions/{answer.json['id']}"
        self.session, self.id = session, answer.json["id"]

    def answer(self, **body):
        return self.server.ask("POST", f"{self.path}/input", body)

    def results(self, *results):
        return self.server.ask("POST", f"{self.path}/tool_results", {"results": list(results)})

    def events(self, after=0):
        """(name, data) of each event, until the end."""
        with self.server.events("GET", f"{self.path}/events?after={after}") as (events, _):
            for _, name, data in events:
                yield name, data

    def until(self, name, after=0):
        return next(data for each, data in self.events(after) if each == name)

    def record(self):
        return self.server.poll(self.session, self.id)


def questions_of(asking):
    """Each question, as it comes; the record is in asking.last at the end."""
    for name, data in asking.events():
        if name in ("input_request", "tool_call"):
            yield data
        elif name == "done":
            asking.last = data["record"]


# ---- input --------------------------------------------------------------------------------------

def test_a_line_of_input(server, session):
    asking = Asking(server, session, "name = input('Who? ')\nprint(f'<{name}>')\n"
                    "import getpass\nprint(len(getpass.getpass()))", allow_input=True)
    answers = iter(["Ada\u00e9", "secret"])
    seen = []
    for question in questions_of(asking):
        seen.append((question["prompt"], question["password"]))
        assert asking.answer(text=next(answers), seq=question["seq"]).status == 200
        assert asking.answer(text="again", seq=question["seq"]).code == "not_waiting"
    assert seen == [("Who? ", False), ("Password: ", True)]
    assert asking.last["status"] == "ok" and asking.last["stdout"] == "<Ada\u00e9>\n6\n"
    assert asking.answer(text="late").code == "not_waiting"


def test_input_without_a_client_raises_an_error(server, session):
    record = server.execute(session, "input('x')")
    assert record["error"]["name"] == "EOFError" and "nobody answers input()" in record["error"]["value"]
    asking = Asking(server, session, "import time\ntime.sleep(60)")
    server.wait_running(session, asking.id)
    assert asking.answer(text="x").code == "not_waiting"
    server.ask("POST", f"{asking.path}/cancel")


def test_end_of_input_and_timeout_of_waiting(server, session):
    asking = Asking(server, session, "try: input()\nexcept EOFError as e: print(e)", allow_input=True)
    for _ in questions_of(asking):
        assert asking.answer(end=True).status == 200
    assert asking.last["stdout"] == "the input was ended\n"
    record = server.execute(session, "for _ in range(3):\n    try: input()\n    except EOFError: print('E')",
                            allow_input=True, wait_s=0.5)
    assert record["status"] == "ok" and record["stdout"] == "E\n" * 3


def test_time_limit_stops_while_code_waits(server, session):
    asking = Asking(server, session, "print(input())\nwhile True: pass", allow_input=True, timeout_s=2)
    asking.until("input_request")
    time.sleep(3)
    assert asking.answer(text="after the limit").status == 200
    record = asking.record()
    assert record["status"] == "timeout" and record["stdout"] == "after the limit\n"


def test_an_interrupt_ends_a_question(server, session):
    for code, options in (("input()", {"allow_input": True}), ("tools.add.sync()", {"tools": [ADD]}),
                          ("await tools.add()", {"tools": [ADD]})):
        asking = Asking(server, session, "x = 1\n" + code, **options)
        next(questions_of(asking))
        assert server.ask("POST", f"{asking.path}/cancel").json["cancelled"] is True
        assert asking.record()["status"] == "interrupted", code
        assert asking.answer(text="x").code == "not_waiting"
        assert server.execute(session, "x")["status"] == "ok"


# ---- tools --------------------------------------------------------------------------------------

def test_a_call_of_a_tool(server, session):
    code = ("print(await tools.add(a=1, b=2))\nprint(tools.add.sync(a='x', b=[None]))\n"
            "print(tools)\nprint(tools.add.__doc__)")
    asking = Asking(server, session, code, tools=[ADD])
    seen = []
    for call in questions_of(asking):
        seen.append((call["name"], call["arguments"]))
        done = asking.results({"id": call["id"], "value": {"sum": 3, "é": [1.5, None]}})
        assert done.status == 200 and done.json == {"accepted": 1}
        assert asking.results({"id": call["id"], "value": 1}).code == "not_waiting"
    assert seen == [("add", {"a": 1, "b": 2}), ("add", {"a": "x", "b": [None]})]
    shown = str({"sum": 3, "é": [1.5, None]})
    assert asking.last["stdout"] == f"{shown}\n{shown}\ntools.add(a, b): Adds two numbers\nAdds two numbers\n"
    # The tools exist in their own cell only.
    assert server.execute(session, "tools")["error"]["name"] == "NameError"


def test_every_kind_of_answer(server, session):
    code = ("for n in range(5):\n    try:\n        print(repr(tools.add.sync(n=n)))\n"
            "    except tools.ToolDenied as e:\n        print('denied', e)\n"
            "    except tools.ToolError as e:\n        print('error', e)")
    answers = [{"value": None}, {"error": "it broke\n"}, {"denied": "no"}, {"value": "x" * 1000000}, {"value": False}]
    asking = Asking(server, session, code.replace("repr(tools.add.sync(n=n))", "repr(tools.add.sync(n=n))[:9]"),
                    tools=[ADD])
    for call in questions_of(asking):
        assert asking.results({"id": call["id"], **answers[call["arguments"]["n"]]}).status == 200
    assert asking.last["stdout"] == "None\nerror it broke\n\ndenied no\n'xxxxxxxx\nFalse\n", asking.last


def test_many_at_once_answered_together_and_in_any_order(server, session):
    code = ("import asyncio\nfound = await asyncio.gather(*(tools.add(n=n) for n in range(60)))\n"
            "print(found == [n * n for n in range(60)])")
    asking = Asking(server, session, code, tools=[ADD])
    calls = []
    for call in questions_of(asking):
        calls.append(call)
        if len(calls) == 60:
            first = [{"id": each["id"], "value": each["arguments"]["n"] ** 2} for each in calls[::-1]]
            assert asking.results(*first[:30]).json["accepted"] == 30
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                done = list(pool.map(asking.results, first[30:]))
            assert all(each.status == 200 for each in done)
    assert asking.last["stdout"] == "True\n", asking.last


def test_threads_call_too(server, session):
    code = ("import threading\nfound = {}\ndef run(n): found[n] = tools.add.sync(n=n)\n"
            "all = [threading.Thread(target=run, args=(n,)) for n in range(8)]\n"
            "[t.start() for t in all]; [t.join() for t in all]\nprint(sorted(found.items()) == [(n, -n) for n in range(8)])")
    asking = Asking(server, session, code, tools=[ADD])
    for call in questions_of(asking):
        asking.results({"id": call["id"], "value": -call["arguments"]["n"]})
    assert asking.last["stdout"] == "True\n", asking.last


def test_code_waits_while_its_client_is_away(server, session):
    asking = Asking(server, session, "print(await tools.add())", tools=[ADD], timeout_s=1)
    call = asking.until("tool_call")  # the connection is closed then
    time.sleep(3)
    again = asking.until("tool_call")
    assert again == call
    assert asking.results({"id": call["id"], "value": "back"}).status == 200
    record = asking.record()
    assert record["status"] == "ok" and record["stdout"] == "back\n"
    assert record["receipt"]["cpu_user_s"] + record["receipt"]["cpu_system_s"] < 1


def test_nobody_answers(server, session):
    record = server.execute(session, "for _ in range(2):\n    try: tools.add.sync()\n"
                            "    except tools.ToolError as e: print(e)", tools=[ADD], wait_s=0.5)
    first, second = record["stdout"].splitlines()
    assert "nobody answered" in first and "wait no longer" in second


def test_contexts_have_their_own_questions(server, session):
    context = server.ask("POST", f"/sessions/{session}/contexts", {}).json["id"]
    asking = Asking(server, session, "print(tools.add.sync(), input())", tools=[ADD], allow_input=True,
                    context=context)
    other = Asking(server, session, "print(tools.add.sync())", tools=[ADD])
    mine, theirs = asking.until("tool_call"), other.until("tool_call")
    assert mine["id"] == theirs["id"]  # an id is unique within its execution only
    other.results({"id": theirs["id"], "value": "other"})
    asking.results({"id": mine["id"], "value": "mine"})
    asking.until("input_request")
    asking.answer(text="line")
    assert (asking.record()["stdout"], other.record()["stdout"]) == ("mine line\n", "other\n")


def test_tools_of_a_session(server):
    other = {"name": "other"}
    session = server.create(tools=[{**ADD, "description": "é \"quoted\""}, other])
    def calls(code, **body):
        asking = Asking(server, session, code, **body)
        return answered(asking, lambda arguments: {"value": arguments}), asking.last
    seen, record = calls("print(tools.add.sync(a=1), tools.other.sync(), [t.__name__ for t in tools])\n"
                         "print(tools.add.__doc__, tools.add.parameters)")
    assert seen == [("add", {"a": 1}), ("other", {})], record
    assert record["stdout"] == ("{'a': 1} {} ['add', 'other']\né \"quoted\" %s\n" % ADD["parameters"]), record
    # Tools of an execution replace those of the session; contexts have the session's tools, too.
    assert calls("print([t.__name__ for t in tools])", tools=[{"name": "mine"}])[1]["stdout"] == "['mine']\n"
    assert calls("reckon-tool other", language="bash")[0] == [("other", {})]
    server.ask("DELETE", f"/sessions/{session}")


def test_tools_of_a_session_are_shown_and_changed(server):
    at = f"/sessions/{server.create(tools=[ADD])}"
    assert server.ask("GET", at).json["tools"] == [ADD]
    listed = next(row for row in server.ask("GET", "/sessions").json["sessions"] if row["id"] in at)
    assert "tools" not in listed
    # A PATCH without tools does not change them, and a running execution keeps those that it began
    # with.
    waits = Asking(server, at.split("/")[-1], "print(tools.add.sync())")
    call = waits.until("tool_call")
    assert server.ask("PATCH", at, {"metadata": {"a": 1}}).json["tools"] == [ADD]
    assert server.ask("PATCH", at, {"tools": [{"name": "other"}]}).json["tools"] == [{"name": "other"}]
    waits.results({"id": call["id"], "value": 1})
    assert waits.record()["stdout"] == "1\n"
    record = server.execute(at.split("/")[-1], "[t.__name__ for t in tools]")
    assert record["results"][0]["data"]["text/plain"] == "['other']"
    for tools, text in (([{"name": "a b"}], "letters"), ([ADD, ADD], "same name"), ([ADD] * 65, "64"), ({}, "list")):
        answer = server.ask("PATCH", at, {"tools": tools, "metadata": {"a": 2}})
        assert answer.status == 400 and text in answer.json["error"]["message"], (tools, answer)
    assert server.ask("GET", at).json["metadata"] == {"a": 1}
    for none in ([], None):
        server.ask("PATCH", at, {"tools": [ADD]})
        assert "tools" not in server.ask("PATCH", at, {"tools": none}).json
    assert server.execute(at.split("/")[-1], "tools")["error"]["name"] == "NameError"
    server.ask("DELETE", at)


def test_tools_of_a_session_outlive_the_daemon(reckon):
    with Server(reckon) as server:
        key, session = server.key, server.create(tools=[{"name": "early"}])
        assert server.execute(session, "x = 1")["status"] == "ok"
        server.ask("PATCH", f"/sessions/{session}", {"tools": [ADD]})
    with Server(reckon, key=key) as server:
        asking = Asking(server, session, "print(tools.add.sync(n=1))")
        assert answered(asking, lambda _: {"value": "kept"}) == [("add", {"n": 1})]
        assert asking.last["stdout"] == "kept\n", asking.last


def test_invalid_tools_of_a_session_are_refused(server):
    large = {"type": "object", "description": "x" * 60000}
    for tools, text in (([{"name": "a b"}], "letters"), ([ADD, ADD], "same name"), ([ADD] * 65, "64"), ([{}], "name"),
                        ([{"name": f"t{n}", "parameters": large} for n in range(5)], "256 KiB")):
        answer = server.ask("POST", "/sessions", {"tools": tools})
        assert answer.status == 400 and text in answer.json["error"]["message"], (tools, answer)


def test_invalid_tools_and_answers_are_refused(server, session):
    run = f"/sessions/{session}/executions"
    for tools, text in (([{}], "name"), ([{"name": "a b"}], "letters"), ([{"name": ""}], "name"),
                        ([ADD, ADD], "same name"), ([ADD] * 65, "64"), ([{**ADD, "parameters": []}], "object"),
                        ([{**ADD, "x": 1}], "unknown field")):
        answer = server.ask("POST", run, {"code": "1", "tools": tools})
        assert answer.status == 400 and text in answer.json["error"]["message"], (tools, answer)
    asking = Asking(server, session, "print(tools.add.sync())", tools=[ADD])
    call = asking.until("tool_call")["id"]
    for results in ([], [{"id": call}], [{"id": call, "value": 1, "error": "x"}],
                    [{"id": call, "value": "x" * (5 << 20)}], [{"value": 1}], {"id": call, "value": 1}):
        answer = server.ask("POST", f"{asking.path}/tool_results", {"results": results})
        assert answer.status == 400, (results, answer)
    assert server.ask("POST", f"{asking.path}/input", {}).status == 400
    assert server.ask("POST", f"{asking.path}/input", {"text": "x", "end": True}).status == 400
    assert asking.answer(text="nothing asked for a line").code == "not_waiting"
    assert asking.results({"id": "tc_99", "value": 1}).code == "not_waiting"
    nothing = f"{run}/ex_01M80J7V9Z7WCA235G7GJNP5HC"
    assert server.ask("POST", f"{nothing}/input", {"text": "x"}).code == "execution_not_found"
    _, key = server.newcomer("questions-other")
    with using(server, key):
        assert asking.answer(text="x").code == "session_not_found"
        assert asking.results({"id": call, "value": "stolen"}).code == "session_not_found"
    with using(server, make_key(server, scopes=["read"])["key"]):
        assert asking.results({"id": call, "value": "stolen"}).code == "scope_missing"
    assert asking.results({"id": call, "value": "mine"}).status == 200
    assert asking.record()["stdout"] == "mine\n"


# ---- programs that call tools -------------------------------------------------------------------

@pytest.fixture
def bash(server):
    made = server.create(language="bash")
    yield made
    server.ask("DELETE", f"/sessions/{made}")


def answered(asking, answer):
    """Answer each call with answer(arguments) and return the calls; the record is in
    asking.last."""
    calls = []
    for call in questions_of(asking):
        calls.append((call["name"], call["arguments"]))
        assert asking.results({"id": call["id"], **answer(call["arguments"])}).status == 200
    return calls


def test_bash_calls_tools(server, bash):
    code = """x=$(reckon-tool add '{"a": 1, "b": [null, "é"]}'); echo "$x $?"
echo '{"n": 2}' | reckon-tool add -
reckon-tool -r add '{"text": 1}'; reckon-tool add '{"text": 1}'; reckon-tool add
reckon-tool add '{"error": 1}'; echo $?
reckon-tool add '{"denied": 1}'; echo $?
y=1"""
    def answer(arguments):
        if "error" in arguments or "denied" in arguments:
            return {name: f"{name}!\n" for name in arguments}
        return {"value": "a\nb" if "text" in arguments else arguments}
    for _ in range(2):  # the shell stays, a cell's tools do not
        asking = Asking(server, bash, code, tools=[ADD])
        calls = answered(asking, answer)
        assert calls[:2] == [("add", {"a": 1, "b": [None, "é"]}), ("add", {"n": 2})] and len(calls) == 7
        assert asking.last["status"] == "ok", asking.last
        assert asking.last["stdout"] == ('{"a":1,"b":[null,"é"]} 0\n{"n":2}\na\nb\n"a\\nb"\n{}\n1\n3\n'), asking.last
        assert asking.last["stderr"] == "reckon-tool: error!\n\nreckon-tool: denied!\n\n"
        record = server.execute(bash, "reckon-tool add; echo $? $y; env | grep -c RECKON_TOOLS")
        assert record["stdout"] == "1 1\n0\n" and "this cell has no tools" in record["stderr"], record


def test_bash_calls_many_at_once_and_in_a_new_shell(server, bash):
    server.execute(bash, "exit 0")
    asking = Asking(server, bash, "for n in $(seq 30); do reckon-tool add \"{\\\"n\\\": $n}\" & done | sort -n", tools=[ADD])
    calls = []
    for call in questions_of(asking):
        calls.append({"id": call["id"], "value": call["arguments"]["n"]})
        if len(calls) == 30:
            assert asking.results(*calls).json["accepted"] == 30
    assert asking.last["stdout"].split() == [str(n) for n in range(1, 31)], asking.last


def test_invalid_calls_of_bash_reach_no_client(server, bash):
    asking = Asking(server, bash, """for words in "rm" "add []" "add {" "add x y" "" "-x add" 'a"b'; do
reckon-tool $words 2>/dev/null; echo -n "$? "; done
head -c 200000 /dev/zero | tr '\\0' a | reckon-tool add - 2>/dev/null; echo -n "$? "
exec 200>&-; reckon-tool add""", tools=[ADD])
    assert answered(asking, lambda _: {"value": 1}) == []
    assert asking.last["stdout"] == "1 2 2 2 2 2 1 2 ", asking.last
    assert "there are no tools here" in asking.last["stderr"]


def test_an_interrupt_ends_a_call_of_bash(server, bash):
    asking = Asking(server, bash, "x=1; reckon-tool add; echo later", tools=[ADD])
    next(questions_of(asking))
    assert server.ask("POST", f"{asking.path}/cancel").json["cancelled"] is True
    record = asking.record()
    assert record["status"] == "interrupted" and record["stdout"] == "", record
    assert server.execute(bash, "echo $x")["stdout"] == "1\n"


def test_a_job_that_outlives_its_cell_calls_nothing(server, bash):
    """The job sleeps until the next cell, and gets an error because its own cell has ended."""
    server.execute(bash, "(sleep 0.2; reckon-tool add '{\"late\": 1}' 2>late; echo $? >>late) &")
    time.sleep(1)
    asking = Asking(server, bash, "while ! grep -q '^1$' late 2>/dev/null; do sleep 0.05; done; cat late", tools=[ADD])
    assert answered(asking, lambda _: {"value": 1}) == []
    assert "has no tools, or it ended" in asking.last["stdout"], asking.last


def test_a_flood_of_bash_is_bounded(server, bash):
    asking = Asking(server, bash, """python3 - <<'END'
import array, json, socket
s = socket.socket(fileno=200)
sent = 0
for packet in [b'x', b'{"name":"add","arguments":{}}', b'y' * 190000] * 400:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [theirs.fileno()]))])
    theirs.close(); mine.close(); sent += 1
s.send(b'{"name":"add","arguments":{}}'); s.detach()
print(sent)
END
until reckon-tool add '{"last": 1}' 2>/dev/null; do sleep 0.1; done""", tools=[ADD], timeout_s=60)
    calls = []
    for call in questions_of(asking):
        calls.append(call)
        asking.results({"id": call["id"], "value": "fine"})
    assert asking.last["status"] == "ok" and asking.last["stdout"] == '1200\n"fine"\n', asking.last
    assert [call["arguments"] for call in calls if call["arguments"]] == [{"last": 1}] and len(calls) <= 401


def test_a_command_in_a_python_cell_calls_tools(server, session):
    asking = Asking(server, session, """!reckon-tool add '{"n": 1}'
found = !reckon-tool add '{"n": 2}'
print(found)
import os; print("RECKON_TOOLS_FD" in os.environ)""", tools=[ADD])
    assert answered(asking, lambda arguments: {"value": arguments}) == [("add", {"n": 1}), ("add", {"n": 2})]
    assert asking.last["stdout"] == "{\"n\":1}\n['{\"n\":2}']\nFalse\n", asking.last
    record = server.execute(session, "!reckon-tool add")
    assert "there are no tools here" in record["stderr"], record


# ---- hostile code -------------------------------------------------------------------------------

HOSTILE = """
import array, json, os, socket
channel = tools.add._channel
raw = channel._socket
def send(packet, *fds):
    raw.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
def ask(packet):
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    send(packet, theirs.fileno())
    theirs.close()
    data, found, _, _ = mine.recvmsg(1, 64)
    return os.pread(array.array('i', found[0][2][:4])[0], 10000, 0).decode() if found else None
good = json.dumps({'name': 'add', 'arguments': {}}).encode()
"""


def run(server, session, code, **answers):
    """The record of a hostile cell, and the calls that its client got."""
    asking = Asking(server, session, HOSTILE + code, tools=[ADD], timeout_s=60)
    calls = []
    for call in questions_of(asking):
        calls.append(call)
        asking.results({"id": call["id"], **(answers or {"value": 1})})
    assert server.execute(server.create(), "6*7")["status"] == "ok"
    return asking.last, calls


def test_forged_calls_reach_no_client(server, session):
    record, calls = run(server, session, """
for packet in (b'x', b'{}', b'[]', b'null', b'{"name":"rm","arguments":{}}', b'{"name":"add"}',
               b'{"name":"add","arguments":[]}', b'{"name":["add"],"arguments":{}}',
               b'{"name":"add\\\\u0000x","arguments":{}}', b'{"name":"add","arguments":{"a":1,"a":2}}',
               b'{"name":"add","arguments":' + b'{"a":' * 100 + b'1' + b'}' * 101, b'\\xff\\xfe',
               b'{"name":"' + b'a' * 100000 + b'","arguments":{}}'):
    print(ask(packet))
""")
    assert calls == [] and record["status"] == "ok", record
    assert all('"error"' in line for line in record["stdout"].splitlines()), record["stdout"]


def test_descriptors_that_are_not_sockets(server, session):
    record, calls = run(server, session, """
r, w = os.pipe()
file = os.open('f', os.O_RDWR | os.O_CREAT)
full = os.open('/dev/full', os.O_WRONLY)
stuck, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
stuck.setblocking(False)
try:
    while True: stuck.send(b'x' * 1000)
except BlockingIOError: pass
for fd in (r, w, file, full, stuck.fileno(), raw.fileno(), 0, 1):
    send(good, fd)
send(good)                 # none at all
try: send(good, r, w)      # too many
except OSError: pass
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); listener.bind('\\0x'); listener.listen()
send(good, listener.fileno())
print(ask(good), os.fstat(file).st_size)
""")
    assert record["status"] == "ok" and record["stdout"] == '{"value":1} 0\n', record
    assert all(call["name"] == "add" for call in calls) and len(calls) == 10, len(calls)


def test_a_flood_is_bounded(server, session):
    record, calls = run(server, session, """
import threading
answers = []
kept = []
def collect(n):
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    send(good, theirs.fileno()); theirs.close(); kept.append(mine)
sent = 0
try:
    while True:
        if len(kept) > 500: kept.pop(0).close()
        collect(sent); sent += 1
except OSError as error:
    print(isinstance(error, ConnectionError), sent < 6000)
""")
    assert record["stdout"] == "True True\n", record
    assert 0 < len(calls) <= 1000


def test_limit_of_waiting_calls(server, session):
    asking = Asking(server, session, """
import asyncio
first = [asyncio.ensure_future(tools.add(n=n)) for n in range(64)]
await asyncio.sleep(0)
errors = []
for _ in range(16):
    try: await tools.add()
    except tools.ToolError as error: errors.append(str(error))
print(*errors, sep='\\n', flush=True)
print(sum(await asyncio.gather(*first)))""", tools=[ADD])
    calls = []
    for name, data in asking.events():
        calls += [data["id"]] if name == "tool_call" else []
        if name == "stream" and len(calls) == 64:
            assert "64 calls wait already" in data["text"]
            asking.results(*({"id": each, "value": 1} for each in calls))
            calls.append("done")
    assert len(calls) == 65
    assert asking.record()["stdout"].splitlines()[16:] == ["64"]


def test_another_process_cannot_read_or_forge_an_answer(server, session):
    """Another process of the box reads nothing, and what it writes is not taken for an answer."""
    record, calls = run(server, session, """
import subprocess, sys
os.set_inheritable(raw.fileno(), True)
child = subprocess.run([sys.executable, '-c', '''
import socket, sys
s = socket.socket(fileno=int(sys.argv[1])); s.settimeout(0.5)
s.send(b'{"id":"tc_1","value":"forged"}'); s.send(b'{"value":"forged"}')
try: print(s.recv(100))
except TimeoutError: print("nothing")
''', str(raw.fileno())], pass_fds=[raw.fileno()], capture_output=True, text=True)
print(child.stdout.strip(), tools.add.sync())
""", value="true")
    assert record["stdout"] == "nothing true\n", record
    assert len(calls) == 1


def test_the_daemon_dies_while_code_waits(reckon):
    server = Server(reckon)
    server.start()
    key = server.key
    session = server.create()
    asking = Asking(server, session, "tools.add.sync()", tools=[ADD])
    call = asking.until("tool_call")
    import signal
    server.stop(signal.SIGKILL)
    with Server(reckon, key=key) as server:
        asking.server = server
        answer = asking.results({"id": call["id"], "value": 1})
        assert answer.code == "not_waiting", answer
        assert server.ask("GET", asking.path).json["status"] == "lost"
        assert server.execute(session, "1")["status"] == "ok"
