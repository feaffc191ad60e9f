"""Sessions under load, and what must be true of each whatever was killed meanwhile.

Every value is written once: to the file `log` and to the variable `runs`. What was answered is
there; what was asked and not answered may be there; nothing is there twice.
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
LAST = 12  # records of each session that are looked at again; all of them at the end


class Unanswered(Exception):
    """It may have been done, and may not."""


def unless_gone(ask, *args):
    """The answer; what a request may get while something of the daemon dies is Unanswered."""
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
    """What one kernel was told, and has said: the session's own, or a context's."""

    def __init__(self, context=""):
        self.context = context
        self.asked, self.answered = set(), set()
        self.current = set()  # of those that were answered: what its present kernel has
        self.recorded = set()  # told later, with a key: of whichever kernel
        self.surprises = 0  # times that its variables were gone although nothing ran in the box

    def note(self, value, records, was_idle):
        if any(has_lost(each) for each in records):
            self.current.clear()
            self.surprises += was_idle
        self.answered.add(value)
        self.current.add(value)

    def check_log(self, log):
        mine = {value for value in log if value in self.asked}
        assert len(set(log)) == len(log), f"run twice: {log}"
        missing = (self.answered | self.recorded) - mine
        assert not missing, f"{missing} were answered, and are lost: {log}"

    def check(self, kept, log, was_idle, told):
        """`kept` is the variable, `log` the lines of the file, `told` what ran since the last loss
        that a record told, asked for when something is missing."""
        self.check_log(log)
        assert len(set(kept)) == len(kept) and set(kept) <= set(log), (kept, log)
        if missing := self.current - set(kept):
            since = told()
            assert since is not None and not missing & since, \
                f"{self.context}: {missing} are lost, and nothing tells: {kept}; {since}"
            self.current -= missing
            self.surprises += was_idle


class Session:
    """A session with a context, and what its client was told of it."""

    def __init__(self, server):
        self.server = server
        self.leaves = False
        self.is_idle = True  # nothing runs in it, as far as its client knows
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

    # ---- what its client does ----

    def cell(self, value, key, line):
        body = {"code": CELL.format(value), **({"context": line.context} if line.context else {})}
        line.asked.add(value)
        if key:
            self.keys[key] = (body, None, line)
        was_idle, self.is_idle = self.is_idle, False
        answer = unless_gone(self.ask, "POST", "/executions", body,
                             {"Idempotency-Key": key} if key else None)
        # One that died while it ran: the warden took it along.
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
        """Without a look at its end: what it wrote may be lost, but is never there twice."""
        command = {"command": f"echo {value} >> started"}
        answer = unless_gone(self.ask, "POST", "/processes", command, {"Idempotency-Key": value})
        assert answer.status == 201, answer
        self.processes[value] = answer.json["id"]

    def question(self, value):
        """The model that is asked has one cell run, which is as the others."""
        line = self.lines[0]
        line.asked.add(value)
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

    # ---- what must be true ----

    def show(self, line):
        """(variable, lines of the file, is the kernel another one)"""
        body = {"code": SHOW, **({"context": line.context} if line.context else {})}
        deadline = time.monotonic() + SECONDS
        # The first to find out that the warden is gone is told to ask again.
        while (answer := self.ask("POST", "/executions", body)).status == 503:
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)
        assert answer.status == 200 and answer.json["status"] == "ok", answer
        kept, log = answer.json["stdout"].split("\n")[:2]
        return kept.split(), log.split(), has_lost(answer.json)

    def told_since_loss(self, line):
        """What ran in it since the last record that told of a loss; None when no record did."""
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
        """False: it is over, as its client had asked."""
        answer = self.ask("GET")
        if self.leaves and answer.status == 410:
            return False
        assert answer.status == 200, answer
        self.is_idle, self.leaves = self.is_idle and not self.leaves, False
        self.kept = 0
        for line in self.lines:
            kept, log, is_lost = self.show(line)
            assert not is_lost or kept == [], kept
            line.check(kept, log, self.is_idle, lambda line=line: self.told_since_loss(line))
            self.kept += kept != []
        self.is_idle = True
        self.check_told(last)
        return True

    def check_told(self, last):
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
    """One client: its requests come one after the other, until it is told to stop."""
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
