"""Sessions under load, and checks of each while processes of the daemon are killed.

Each cell appends its own value to the file `log` and to the variable `runs`. Values of answered
requests must be there; those of unanswered requests may be; no value may be there twice.
"""
import http.client
import random
import time

from reckon_serve import SECONDS

GONE = (OSError, http.client.HTTPException)
CELL = ("import os\nruns = globals().get('runs', [])\n"
        "with open('log', 'a') as file: file.write('{0}\\n')\n"
        "runs.append('{0}')\nprint('{0}')")
SHOW = ("import os\nprint(*globals().get('runs', []))\n"
        "print(open('log').read().replace('\\n', ' ') if os.path.exists('log') else '')")
LAST = 12  # records of each session that a check reads again


class Unanswered(Exception):
    """A request got no answer, so its effect is unknown."""


def unless_gone(ask, *args):
    """Returns the answer; raises Unanswered for failures that are allowed while a process dies."""
    try:
        answer = ask(*args)
    except GONE as error:
        raise Unanswered(repr(error)) from error
    if answer.status == 503:
        assert int(answer.headers["Retry-After"]) >= 1, answer
        raise Unanswered(f"503 {answer.code}")
    return answer


def has_lost(record):
    return any(note["code"] == "kernel_lost" for note in record["diagnostics"])


class Line:
    """The requests to one kernel and its answers: the session's first kernel, or that of a context."""

    def __init__(self, context=""):
        self.context = context
        self.requested, self.answered = set(), set()
        self.current = set()  # answered values that the present kernel must have
        self.recorded = set()  # values whose record was read later with an idempotency key
        self.surprises = 0  # how often variables were lost although nothing ran in the box

    def note(self, value, records, was_idle):
        if any(has_lost(each) for each in records):
            self.current.clear()
            self.surprises += was_idle
        self.answered.add(value)
        self.current.add(value)

    def check_log(self, log):
        mine = {value for value in log if value in self.requested}
        assert len(set(log)) == len(log), f"run twice: {log}"
        missing = (self.answered | self.recorded) - mine
        assert not missing, f"{missing} were answered, and are lost: {log}"

    def check(self, values, log, was_idle, ran_since):
        """Checks `values` of the variable and `log` of the file. `ran_since` is called if a value is
        missing, and returns the values that ran since the last recorded loss."""
        self.check_log(log)
        assert len(set(values)) == len(values) and set(values) <= set(log), (values, log)
        if missing := self.current - set(values):
            since = ran_since()
            assert since is not None and not missing & since, \
                f"{self.context}: {missing} are lost, and no record reports it: {values}; {since}"
            self.current -= missing
            self.surprises += was_idle


class Session:
    """A session with a context, and the answers that its client got."""

    def __init__(self, server):
        self.server = server
        self.leaves = False
        self.is_idle = True  # its client has no unanswered request
        self.records, self.keys, self.runs, self.processes = {}, {}, {}, {}
        self.id = unless_gone(self.ask_for_it).json["id"]
        self.lines = [Line()]
        answer = unless_gone(self.ask, "POST", "/contexts", {})
        assert answer.status == 201, answer
        self.lines.append(Line(answer.json["id"]))

    def ask_for_it(self):
        answer = self.server.ask("POST", "/sessions", {"template": "python",
                                                       "metadata": {"mark": "told"}})
        assert answer.status in (201, 503), answer
        return answer

    def ask(self, method, path="", *args):
        return self.server.ask(method, f"/sessions/{self.id}{path}", *args)

    # ---- requests of the client ----

    def cell(self, value, key, line):
        body = {"code": CELL.format(value), **({"context": line.context} if line.context else {})}
        line.requested.add(value)
        if key:
            self.keys[key] = (body, None, line)
        was_idle, self.is_idle = self.is_idle, False
        answer = unless_gone(self.ask, "POST", "/executions", body,
                             {"Idempotency-Key": key} if key else None)
        # A cell that was lost while it ran, because the warden died.
        if answer.status != 200 or answer.json["status"] != "ok":
            how = answer.code if answer.status != 200 else answer.json["status"]
            assert how in ("kernel_lost", "execution_lost", "kernel_died", "infra_error", "lost"), \
                answer
            raise Unanswered(how)
        line.note(value, [answer.json], was_idle)
        self.is_idle = was_idle
        self.records[answer.json["id"]] = f"{value}\n"
        if key:
            self.keys[key] = (body, answer.json["id"], line)

    def process(self, value):
        """Starts a process that writes a line; the line may be lost, but may not be there twice."""
        command = {"command": f"echo {value} >> started"}
        answer = unless_gone(self.ask, "POST", "/processes", command, {"Idempotency-Key": value})
        assert answer.status == 201, answer
        self.processes[value] = answer.json["id"]

    def question(self, value):
        """Asks the agent, whose model runs one cell like the others."""
        line = self.lines[0]
        line.requested.add(value)
        was_idle, self.is_idle = self.is_idle, False
        answer = unless_gone(self.server.ask, "POST", "/agent",
                             {"question": value, "session": self.id}, {"Idempotency-Key": value})
        assert answer.status == 200, answer
        self.runs[value] = answer.json["id"]
        stop = answer.json["stop"]
        records = [each["record"] for each in answer.json["steps"] if each["record"]]
        assert stop in ("answer", "failed", "interrupted", "session_lost", "stopped"), answer
        if stop != "answer" or not records or records[0]["status"] != "ok":
            raise Unanswered(f"a run: {stop}")
        line.note(value, records, was_idle)
        self.is_idle = was_idle

    def end(self):
        self.leaves = True
        assert unless_gone(self.ask, "DELETE").status == 200

    # ---- checks ----

    def show(self, line):
        """(values of the variable, lines of the file, whether the kernel was lost)"""
        body = {"code": SHOW, **({"context": line.context} if line.context else {})}
        deadline = time.monotonic() + SECONDS
        # The first request after the warden died gets 503 and must be repeated.
        while (answer := self.ask("POST", "/executions", body)).status == 503:
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)
        assert answer.status == 200 and answer.json["status"] == "ok", answer
        values, log = answer.json["stdout"].split("\n")[:2]
        return values.split(), log.split(), has_lost(answer.json)

    def ran_since_loss(self, line):
        """The values that ran since the last record with a lost kernel; None if there is none."""
        found = set()
        for each in self.ask("GET", "/executions?limit=200").json["executions"]:  # the newest first
            record = self.ask("GET", f"/executions/{each['id']}").json
            if record["status"] in ("queued", "running", "lost") or \
                    record.get("context", "") != line.context:
                continue
            found.add(record["stdout"].removesuffix("\n"))
            if has_lost(record):
                return found
        return None

    def check(self, last=LAST):
        """Checks the session; False if it has ended because its client deleted it."""
        answer = self.ask("GET")
        if self.leaves and answer.status == 410:
            return False
        assert answer.status == 200, answer
        self.is_idle, self.leaves = self.is_idle and not self.leaves, False
        self.kept = 0
        for line in self.lines:
            values, log, is_lost = self.show(line)
            assert not is_lost or values == [], values
            line.check(values, log, self.is_idle, lambda line=line: self.ran_since_loss(line))
            self.kept += values != []
        self.is_idle = True
        self.check_records(last)
        return True

    def check_records(self, last):
        for execution, stdout in list(self.records.items())[-last:]:
            assert self.ask("GET", f"/executions/{execution}").json["stdout"] == stdout
        for key, (body, execution, line) in list(self.keys.items())[-3:]:
            again = self.ask("POST", "/executions", body, {"Idempotency-Key": key})
            assert execution in (None, again.json.get("id")), "its code ran a second time"
            if again.status == 200 and execution is None and again.json["status"] == "ok":
                line.recorded.add(again.json["stdout"].strip())
                self.keys[key] = (body, again.json["id"], line)
        for value, run in list(self.runs.items())[-3:]:
            again = self.server.ask("POST", "/agent", {"question": value, "session": self.id},
                                    {"Idempotency-Key": value})
            assert again.json["id"] == run, (again, run)
        for process in list(self.processes.values())[-3:]:
            state = self.ask("GET", f"/processes/{process}").json
            assert state["state"] in ("lost", "running", "ended"), state
        started = self.ask("GET", "/files/started").body.decode().split() if self.processes else []
        assert len(set(started)) == len(started), f"started twice: {started}"


def work(server, mine, seed, ends, seen):
    """One client, which sends one request after the other until `ends` is set."""
    chance = random.Random(seed)
    while not ends.is_set():
        value = f"v{chance.getrandbits(64):x}x"
        try:
            while len([each for each in mine if not each.leaves]) < 2:
                mine.append(Session(server))
            session = chance.choice([each for each in mine if not each.leaves])
            act = chance.random()
            if act < 0.6:
                session.cell(value, chance.choice([None, value]), chance.choice(session.lines))
            elif act < 0.8:
                session.question(value)
            elif act < 0.95:
                session.process(value)
            else:
                session.end()
                mine.remove(session)
            seen["done"] += 1
        except Unanswered as error:
            seen[f"unanswered: {str(error)[:40]}"] += 1
            ends.wait(0.05)
