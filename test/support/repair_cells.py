"""The set of failing cells with known repairs, test/data/repair, and sessions to run them in.

A file holds cells in this form; all of it is Python:

    #%% NAME | EXCEPTION | TASK      runs before; TASK is what the cells are for
    #%% fails                        the cell, which raises EXCEPTION
    #%% repaired                     the correct cell
    #%% check                        passes after a repair, and not after the failure
"""
import dataclasses
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("RECKON_BUILD", ROOT / "build"))
DRIVER = os.environ.get("RECKON_DRIVER", BUILD / "test" / "support" / "reckon-driver")
FOLDER = ROOT / "test" / "data" / "repair"
OPENED_MAX = 200  # sessions of one driver
TIMEOUT_MS = 20000


@dataclasses.dataclass
class RepairCell:
    """One failing cell."""
    name: str
    error: str
    task: str
    before: str = ""
    fails: str = ""
    repaired: str = ""
    check: str = ""


def read_cells(folder=FOLDER):
    cells = []
    for path in sorted(folder.glob("*.cells")):
        part = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#%% "):
                head = [word.strip() for word in line[4:].split(" | ")]
                if len(head) == 3:
                    cells.append(RepairCell(*head))
                    part = "before"
                else:
                    (part,) = head
            else:
                setattr(cells[-1], part, getattr(cells[-1], part) + line + "\n")
    return cells


class Sandbox:
    """Opens sessions one after the other, through the test driver of the C library."""

    def __init__(self, env=None, template="data"):
        self.env = {"RECKON_LIBEXEC": str(BUILD / "libexec"), **os.environ, **(env or {})}
        self.template = template
        self.driver = None
        self.opened = 0

    def ask(self, **request):
        self.driver.stdin.write(json.dumps(request) + "\n")
        self.driver.stdin.flush()
        answer = json.loads(self.driver.stdout.readline())
        if "failed" in answer:
            raise RuntimeError(answer["failed"]["message"])
        return answer

    def run(self, *cells):
        """Runs cells in a new session; returns their records, up to the first that lost the session."""
        if self.driver is None or self.opened == OPENED_MAX:
            self.close()
            self.driver = subprocess.Popen([str(DRIVER), "--private"], env=self.env, text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.opened = 0
        self.opened += 1
        session = self.ask(op="open", template=self.template)["session"]
        records = []
        for code in cells:
            answer = self.ask(op="exec", session=session, code=code, timeout_ms=TIMEOUT_MS)
            records.append(answer.get("record", answer))
            if records[-1]["status"] in ("killed", "kernel_died", "out_of_memory"):
                break
        self.ask(op="close", session=session)
        return records

    def close(self):
        if self.driver is not None:
            self.driver.stdin.close()
            self.driver.wait(timeout=60)
            self.driver.stdout.close()
            self.driver = None
