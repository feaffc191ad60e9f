"""A minimal client of `reckon mcp`, which exchanges lines of JSON."""
import json
import subprocess
import threading

from mcp_client import LEGACY


class Stdio:
    """A client of `reckon mcp`; it accepts responses in any order.
    `answer`: the user's answer to a question; `roots`: URIs of the folders that the client works on."""

    def __init__(self, reckon, *args, answer=None, roots=(), **more):
        self.answer, self.roots, self.questions = answer, roots, []
        self.process = reckon.popen("mcp", *args, stdin=subprocess.PIPE, **more)
        self.number, self.answers, self.notifications = 0, {}, []
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.changed:
                if message.get("method") == "roots/list":
                    self.send({"jsonrpc": "2.0", "id": message["id"],
                               "result": {"roots": [{"uri": each} for each in self.roots]}})
                elif "method" in message and "id" in message:
                    self.questions.append(message["params"])
                    answer = self.answer(message["params"])
                    if answer is not None:
                        self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
                elif "method" in message:
                    self.notifications.append(message)
                else:
                    self.answers[message.get("id")] = message
                self.changed.notify_all()

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method, params=None):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})
        return self.number

    def wait(self, number):
        with self.changed:
            assert self.changed.wait_for(lambda: number in self.answers, 60), self.answers
            return self.answers.pop(number)

    def ask(self, method, params=None):
        answer = self.wait(self.begin(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def initialize(self, capabilities=None):
        found = self.ask("initialize", {"protocolVersion": LEGACY, "capabilities": capabilities or {},
                                        "clientInfo": {"name": "test", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def run(self, code, **more):
        return self.ask("tools/call", {"name": "run_code", "arguments": {"code": code, **more}})

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status
