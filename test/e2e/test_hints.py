"""
Hints are right. Each cell of test/data/hints fails, and its judged hints follow it:

    #%% NAME | EXCEPTION[,EXCEPTION]     the cell
    #%% right                            hints that lead to working code
    #%% useless                          true, but no help

A hint without a judgement counts as wrong, so each new hint must be reviewed.
"""
import ast
import dataclasses
import re

import pytest
from reckon_cli import ROOT, templates_dir
import repair_cells
from repair_cells import Sandbox

FOLDER = ROOT / "test" / "data" / "hints"


@dataclasses.dataclass
class Judged:
    """One failing cell and its judged hints."""
    name: str
    errors: list
    code: str = ""
    right: list = dataclasses.field(default_factory=list)
    useless: list = dataclasses.field(default_factory=list)


def read_cells():
    cells, part = [], None
    for path in sorted(FOLDER.glob("*.cells")):
        for line in path.read_text(encoding="utf-8").splitlines():
            head = [word.strip() for word in line[4:].split(" | ")] if line.startswith("#%% ") else []
            if len(head) == 2:
                cells.append(Judged(head[0], head[1].split(",")))
                part = "code"
            elif head:
                (part,) = head
            elif part == "code":
                cells[-1].code += line + "\n"
            else:
                getattr(cells[-1], part).append(line)
    return cells


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    made = Sandbox({"RECKON_STATE": str(tmp_path_factory.mktemp("state")),
                    "RECKON_TEMPLATES": str(templates_dir())})
    yield made
    made.close()


@pytest.fixture(scope="module")
def failed(sandbox):
    """[(cell, its error)], each run once."""
    return [(cell, sandbox.run(cell.code)[0]["error"]) for cell in read_cells()]


def test_no_hint_is_wrong(failed):
    counts, wrong = {"right": 0, "useless": 0, "none": 0, "wrong": 0}, []
    for cell, error in failed:
        assert error is not None and error["name"] in cell.errors, (cell.name, error)
        unjudged = [h for h in error["hints"] if h not in cell.right and h not in cell.useless]
        if unjudged:
            counts["wrong"] += 1
            wrong.append(f"{cell.name}:\n  " + "\n  ".join(unjudged))
        elif any(hint in cell.right for hint in error["hints"]):
            counts["right"] += 1
        else:
            counts["useless" if error["hints"] else "none"] += 1
            assert not cell.right, f"{cell.name} has lost its hint: {cell.right}"
    print(counts)
    assert not wrong, f"{counts}\n" + "\n".join(wrong)
    assert sum(counts.values()) >= 340
    assert counts["right"] >= 0.85 * sum(counts.values())


# ---- each alternative of each pattern has a cell -------------------------------------------------

def split(text):
    """(alternatives, [(start, end) of the groups]) of a pattern, at its top level."""
    alternatives, groups, depth, start, at = [], [], 0, 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            at = text.index("]", at + 2)
        elif text[at] == "(":
            depth += 1
            if depth == 1:
                opened = at
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                groups.append((opened, at))
        elif text[at] == "|" and depth == 0:
            alternatives.append(text[start:at])
            start = at + 1
        at += 1
    return [*alternatives, text[start:]], groups


def variants(text):
    """The patterns that result if one place with alternatives is reduced to one of them."""
    found = []
    alternatives, groups = split(text)
    if len(alternatives) > 1:
        return [each for alternative in alternatives for each in variants(alternative)]
    for start, end in groups:
        inner = re.match(r"\(\?(?::|=|!|<=|<!|P<\w+>)|\(", text[start:])[0]
        chosen = variants(text[start + len(inner):end])
        if len(chosen) > 1:
            found += [text[:start] + inner + each + text[end:] for each in chosen]
    return found or [text]


def patterns():
    for path in sorted((ROOT / "src/inside/py/hints").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "on":
                for keyword in node.keywords:
                    if keyword.arg == "says" and isinstance(keyword.value, ast.Constant):
                        yield path.name, keyword.value.value


def test_each_alternative_of_a_pattern_has_a_cell(failed, sandbox):
    """A cell of test/data/hints or test/data/repair fails with a message that the alternative matches."""
    assert variants("a(?:b|c(d|[|)]))e|f") == ["a(?:b)e", "a(?:c(d))e", "a(?:c([|)]))e", "f"]
    messages = [error["value"] for _, error in failed]
    for cell in repair_cells.read_cells():
        error = sandbox.run(cell.before, cell.fails)[-1]["error"]
        messages += [error["value"]] if error is not None else []
    missing = [f"{name}: {variant}" for name, pattern in patterns() for variant in variants(pattern)
               if not any(re.search(variant, each, re.S) for each in messages)]
    assert not missing, "no cell of test/data/hints fails with this:\n" + "\n".join(missing)


# ---- the trial of suggested code changes nothing -------------------------------------------------

HOSTILE = """
import numpy, os
class Odd(numpy.ndarray):
    def __and__(self, other): effect(); return self
odd = numpy.arange(3).view(Odd)
tried = []
def delete(): os.unlink("/mnt/data/kept.txt")
def empty(): open("/mnt/data/kept.txt", "w")
def start(): import subprocess; subprocess.run(["touch", "/mnt/data/made.txt"])
def low_level(): os.close(os.open("/mnt/data/made.txt", os.O_CREAT | os.O_WRONLY))
def hang():
    while True: pass
def end(): os._exit(3)
def fill(): [bytearray(1 << 20) for _ in range(100_000)]
def remember(): tried.append(1)
def speak(): print("heard"); os.write(1, b"heard"); os.write(3, b"x" * 64)
open("/mnt/data/kept.txt", "w").write("kept")
"""


@pytest.mark.parametrize("effect", ["delete", "empty", "start", "low_level", "hang", "end", "fill",
                                    "remember", "speak"])
def test_a_trial_changes_nothing(sandbox, effect):
    records = sandbox.run(HOSTILE, f"effect = {effect}\nodd and odd",
                          "print(open('/mnt/data/kept.txt').read(), os.listdir('/mnt/data'), tried)")
    failed, after = records[1], records[2]
    assert failed["error"]["name"] == "ValueError"
    assert failed["stdout"] == "" and failed["files"] == []
    assert failed["receipt"]["wall_s"] < 5
    assert after["status"] == "ok" and after["stdout"] == "kept ['kept.txt'] []\n"
    offered = [hint for hint in failed["error"]["hints"] if "&" in hint]
    assert bool(offered) == (effect == "remember")


def test_values_of_symbols_are_shown(sandbox):
    code = "import sympy\nx, y = sympy.symbols('x y')\ne = sympy.sin(x) ** 2 + y\n"
    view = sandbox.run(code + "e + undefined")[0]["error"]["repair"]
    assert "e = y + sin(x)**2 (Add of sympy)" in view
    large = "import sympy\nx = sympy.symbols('x')\ne = sympy.expand((x + 1) ** 400)\nn = sympy.Integer(7) ** 99999\n"
    record = sandbox.run(large + "e + n + undefined")[0]
    assert "e = Add of sympy, a large one" in record["error"]["repair"]
    assert "n = Integer of sympy, a large one" in record["error"]["repair"]


def test_a_hint_is_left_out_if_its_code_fails(sandbox):
    record = sandbox.run("import pandas as pd\nt = pd.DataFrame({'q': [1, 2], 'c': ['a', 'b']})\n"
                         "t[(t.q > 1) and ('a')]")[0]
    assert record["error"]["name"] == "ValueError"
    assert not [hint for hint in record["error"]["hints"] if "&" in hint], record["error"]["hints"]


def test_the_names_of_the_cells_are_unique():
    assert len({cell.name for cell in read_cells()}) == len(read_cells()) >= 60
