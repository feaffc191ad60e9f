"""The financial analyst: a recorded model, a real loop, real data, real files.

The model's turns are a recording (examples/analyst/recording.md). The tests compare the results
with the generated events before values were removed from them, without pandas.
"""
import collections
import csv
import importlib.machinery
import importlib.util
import json
import random
import re
import subprocess
import zipfile
from xml.etree import ElementTree

import jsonschema
import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT, parse_json
from test_ask import SCHEMA, WAYS, Ask, texts_of

EXAMPLE = ROOT / "examples/analyst"
TITLES = ["Sales in Q1 2026", "Monthly dynamics", "Top 10 products", "ABC analysis",
          "Conversion funnel", "Data and method"]
STATUSES = ["ok", "error", "ok", "ok", "ok", "ok", "ok"]
# For each page: its text, the number of its images, the used share of its height down to the footer,
# the largest empty share in one piece, and the used share of its width.
LOOK = """
import json, numpy, pypdf, pypdfium2
pages = []
drawn = pypdfium2.PdfDocument("report.pdf")
for number, page in enumerate(pypdf.PdfReader("report.pdf").pages):
    picture = numpy.asarray(drawn[number].render(scale=1).to_pil().convert("L"))
    body = picture[: int(len(picture) * 0.93)]
    inked = numpy.flatnonzero((body < 250).any(axis=1))
    pages.append({"text": page.extract_text(), "images": len(page.images),
                  "used": inked[-1] / len(body), "gap": numpy.diff(inked).max() / len(body),
                  "right": numpy.flatnonzero((body < 250).any(axis=0))[-1] / body.shape[1]})
print(json.dumps(pages, default=float))
"""


def load(name):
    """A program of the example, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.partition(".")[0], str(EXAMPLE / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Truth:
    """The expected numbers, from the generated events before values were removed from them."""

    def __init__(self):
        made, dice = load("make_data.py"), random.Random(2026)
        rows = list(made.events(dice, 44100))[:44100]
        self.prices = {name: price for name, _, price, _ in made.catalogue(random.Random(2026))}
        self.months, self.products = collections.Counter(), collections.Counter()
        self.customers, self.visits = collections.defaultdict(set), collections.Counter()
        for _, when, customer, product, _, stage, quantity, price in rows:
            if when >= "2026-04":
                continue
            self.visits[stage] += 1
            self.customers[stage].add(customer)
            if stage == "purchase":
                self.months[when[:7]] += quantity * float(price)
                self.products[product] += quantity * float(price)
        self.total = sum(self.months.values())


def gaps(path):
    """How often each value is missing, without repeated rows."""
    with open(path, encoding="utf-8") as lines:
        rows = {row["event_id"]: row for row in csv.DictReader(lines)}.values()
    return {name: sum(row[name] == "" for row in rows)
            for name in ("product", "unit_price", "quantity")}


def sheet(book, number):
    """The rows of a sheet by the names of its columns."""
    space = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(book) as parts:
        shared = ElementTree.fromstring(parts.read("xl/sharedStrings.xml"))
        words = ["".join(item.itertext()) for item in shared.findall("x:si", space)]
        table = ElementTree.fromstring(parts.read(f"xl/worksheets/sheet{number}.xml"))
    rows = []
    for row in table.findall(".//x:row", space):
        cells = {}
        for cell in row.findall("x:c", space):
            value = cell.findtext("x:v", None, space)
            column = re.match("[A-Z]+", cell.get("r"))[0]
            if value is not None:
                cells[column] = words[int(value)] if cell.get("t") == "s" else float(value)
        rows.append(cells)
    return [{rows[0].get(column, ""): value for column, value in row.items()} for row in rows[1:]]


def check_book(book, truth, missing):
    near = lambda value: pytest.approx(value, abs=0.011)  # noqa: E731
    assert {row["timestamp"]: row["revenue"] for row in sheet(book, 1)} == {
        month: near(worth) for month, worth in truth.months.items()}
    assert truth.months["2026-01"] < truth.months["2026-02"] < truth.months["2026-03"]
    best = truth.products.most_common()
    assert [(row["product"], row["revenue"], row["price"]) for row in sheet(book, 2)] == [
        (name, near(worth), truth.prices[name]) for name, worth in best[:10]]
    abc = sheet(book, 3)
    assert [(row["product"], row["revenue"]) for row in abc] == [
        (name, near(worth)) for name, worth in best]  # and no unknown product
    so_far, expected = 0, []
    for _, worth in best:
        so_far += worth / truth.total
        expected.append("A" if so_far <= 0.8 else "B" if so_far <= 0.95 else "C")
    assert [row["class"] for row in abc] == expected
    assert {row["stage"]: (row["visits"], row["customers"]) for row in sheet(book, 4)} == {
        stage: (truth.visits[stage], len(who)) for stage, who in truth.customers.items()}
    for row in sheet(book, 5):
        (name,) = [value for value in row.values() if isinstance(value, str)]
        counts = [value for key, value in row.items() if key and value != name]
        assert row["missing"] == missing[name] == sum(counts) - row["missing"]


def check_report(pages, truth, missing):
    assert [page["text"].splitlines()[0] for page in pages] == TITLES
    assert [page["images"] for page in pages] == [1, 1, 1, 1, 1, 0]
    for page in pages:
        assert page["used"] > 0.75 and page["gap"] < 0.06 and page["right"] < 0.96, page
        assert len(page["text"].split()) > 90
    text = [" ".join(page["text"].split()) for page in pages]
    months = sorted(truth.months.values())
    assert f"{truth.total:,.2f}" in text[0]
    assert f"grew by {(months[2] / months[0] - 1) * 100:.1f} %" in text[0]
    assert f"February grew by {(months[1] / months[0] - 1) * 100:.1f} %" in text[1]
    best = truth.products.most_common()
    first = ", ".join(name for name, _ in best[:3])
    share = sum(worth for _, worth in best[:3]) / truth.total * 100
    assert f"The first three, {first}, bring {share:.1f} % of all revenue" in text[2]
    assert f"a gap of {best[2][1] - best[3][1]:,.0f}" in text[2]
    visits = truth.visits
    assert f"{visits['cart'] / visits['view'] * 100:.1f} % of the visits put" in text[4]
    assert all(f"{stage} {count:,} " in text[4] for stage, count in visits.items())
    # The report describes how the data was cleaned.
    assert "900 of them repeat another row" in text[5] and "2.0 % less" in text[5]
    assert f"Missing {missing['product']} {missing['unit_price']} {missing['quantity']}" in text[5]
    assert not any("unknown" in page for page in text)


@pytest.fixture(scope="module")
def truth():
    return Truth()


def look(reckon, folder):
    return json.loads(reckon("run", "-t", "data", "-f", f"{folder}/report.pdf", "-c", LOOK)
                      .expect(0).out)


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_the_analyst_without_a_model(reckon, truth):
    """examples/analyst/replay: the numbers are right, and the pages are filled and describe their charts."""
    done = subprocess.run([EXAMPLE / "replay", "out", "--json"], cwd=reckon.cwd, timeout=170,
                          env={**reckon.env, "RECKON_BIN": str(reckon.place.program)},
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    answer = parse_json(done.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert [step["record"]["status"] for step in answer["steps"]] == STATUSES
    assert answer["stop"] == "answer" and f"**{truth.total:,.2f}**" in answer["answer"]
    data = reckon.cwd / "out/sales_q1_2026.csv"
    assert sum(1 for _ in open(data, encoding="utf-8")) == 45001
    missing = gaps(data)
    assert sorted(path.name for path in data.parent.glob("*.png")) == [
        "daily.png", "funnel.png", "monthly.png", "pareto.png", "top10.png"]  # each chart once
    check_book(reckon.cwd / "out/sales_q1_2026.xlsx", truth, missing)
    check_report(look(reckon, "out"), truth, missing)


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_the_analyst_over_another_protocol(reckon, truth):
    provider, recorded = "anthropic", load("replay")
    path = reckon.cwd / "sales_q1_2026.csv"
    subprocess.run(["/usr/bin/python3", EXAMPLE / "make_data.py", path], check=True)
    assert set(WAYS) > {provider}
    script = [Reply(text=message, calls=[] if cell is None else [cell], pieces=40)
              for message, cell in recorded.turns()]
    ask = Ask(reckon, provider)
    ask.args = lambda *args: ("ask", "--model", f"{provider}/m", "-t", "data", *args)
    with ModelServer(*script) as model:
        answer = ask.json(model, "--vision", "on", "-o", "out", recorded.QUESTION, path.name,
                          "--timeout", "60s", timeout=170)
        assert len(model.requests) == len(script)
    assert answer["stop"] == "answer" and "[report.pdf](out/report.pdf)" in answer["answer"]
    assert [step["record"]["status"] for step in answer["steps"]] == STATUSES
    # The model got the error, the name of the column, and the figure.
    assert any("KeyError" in text and "Revenue" in text for text in texts_of(model.requests[2]))
    assert "iVBORw0KGgo" in json.dumps(model.requests[4].body)
    check_book(reckon.cwd / "out/sales_q1_2026.xlsx", truth, gaps(path))
