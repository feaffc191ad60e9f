"""The financial analyst: a recorded model, a real loop, real data, real files.

The model's turns are a recording (examples/analyst/recording.json). What they compute is checked
against figures that this test computes itself, without pandas.
"""
import collections
import csv
import json
import re
import statistics
import subprocess
import zipfile

import pytest
from model_server import ModelServer, Reply
from reckon_cli import ROOT
from test_ask import WAYS, Ask, texts_of

EXAMPLE = ROOT / "examples/analyst"
RECORDING = json.loads((EXAMPLE / "recording.json").read_text(encoding="utf-8"))
LOOK = """
import io, json, pypdf, pypdfium2
pages = []
drawn = pypdfium2.PdfDocument("report.pdf")
for number, page in enumerate(pypdf.PdfReader("report.pdf").pages):
    picture = drawn[number].render(scale=0.5).to_pil().convert("RGB")
    pages.append({"text": page.extract_text(), "images": len(page.images),
                  "colours": len(set(picture.get_flattened_data()))})
print(json.dumps(pages))
"""


def figures(path):
    """Months, products and funnel, from the file alone."""
    seen, rows = set(), []
    with open(path, encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["event_id"] not in seen and (row["product"] or row["unit_price"]):
                rows.append(row)
            seen.add(row["event_id"])
    prices = collections.defaultdict(list)
    for row in rows:
        if row["product"] and row["unit_price"]:
            prices[row["product"]].append(float(row["unit_price"]))
    months, products = collections.Counter(), collections.Counter()
    customers = collections.defaultdict(set)
    for row in rows:
        customers[row["stage"]].add(row["customer_id"])
        if row["stage"] != "purchase":
            continue
        price = float(row["unit_price"] or statistics.median(prices[row["product"]]))
        worth = float(row["quantity"] or 1) * price
        months[row["timestamp"][:7]] += worth
        products[row["product"] or "unknown"] += worth
    return months, products, {stage: len(who) for stage, who in customers.items()}


def sheet(book, number):
    """Rows of a sheet, texts and numbers."""
    with zipfile.ZipFile(book) as parts:
        shared = re.findall(r"<t[^>]*>([^<]*)</t>", parts.read("xl/sharedStrings.xml").decode()) \
            if "xl/sharedStrings.xml" in parts.namelist() else []
        text = parts.read(f"xl/worksheets/sheet{number}.xml").decode()
    rows = []
    for row in re.findall(r"<row.*?</row>", text, re.S):
        cells = []
        for attributes, inner in re.findall(r"<c ([^>]*)>(.*?)</c>", row, re.S):
            value = re.search(r"<v>(.*?)</v>", inner)
            inline = re.search(r"<t[^>]*>([^<]*)</t>", inner)
            if value and 't="s"' in attributes:
                cells.append(shared[int(value.group(1))])
            elif value:
                cells.append(float(value.group(1)) if "t=\"str\"" not in attributes
                             else value.group(1))
            else:
                cells.append(inline.group(1) if inline else None)
        rows.append(cells)
    return rows


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_the_analyst(reckon, provider):
    path = reckon.cwd / "sales_q1_2026.csv"
    subprocess.run(["/usr/bin/python3", EXAMPLE / "make_data.py", path], check=True)
    assert sum(1 for _ in open(path, encoding="utf-8")) == 45001
    months, products, funnel = figures(path)
    assert len(months) == 3 and len(products) == 41 and set(WAYS) > {provider}

    script = [Reply(text=turn["text"], calls=[turn["code"]] if "code" in turn else [], pieces=40)
              for turn in RECORDING["turns"]]
    ask = Ask(reckon, provider)
    ask.args = lambda *args: ("ask", "--model", f"{provider}/m", "-t", "data", *args)
    with ModelServer(*script) as model:
        answer = ask.json(model, "--vision", "on", "-o", "out", RECORDING["question"], path.name,
                          "--timeout", "60s", timeout=170)
        assert len(model.asked) == len(script)
    assert answer["stop"] == "answer" and "[report.pdf](out/report.pdf)" in answer["answer"]
    statuses = [step["record"]["status"] for step in answer["steps"]]
    assert statuses == ["ok", "error", "ok", "ok", "ok", "ok", "ok"], statuses
    # The model was shown the mistake, with what is known to help, and the figure.
    assert any("KeyError" in text and "Revenue" in text for text in texts_of(model.asked[2]))
    assert "iVBORw0KGgo" in json.dumps(model.asked[4].body)

    book = reckon.cwd / "out/sales_q1_2026.xlsx"
    monthly = {row[0]: row[1] for row in sheet(book, 1)[1:]}
    assert monthly == {month: pytest.approx(worth, abs=0.01) for month, worth in months.items()}
    assert months["2026-01"] < months["2026-02"] < months["2026-03"]
    top = sheet(book, 2)[1:]
    assert [row[0] for row in top] == [name for name, _ in products.most_common(10)]
    assert [row[1] for row in top] == [pytest.approx(worth, abs=0.01)
                                       for _, worth in products.most_common(10)]
    classes = collections.Counter(row[3] for row in sheet(book, 3)[1:])
    total, so_far, expected = sum(products.values()), 0, collections.Counter()
    for _, worth in products.most_common():
        so_far += worth / total
        expected["A" if so_far <= 0.8 else "B" if so_far <= 0.95 else "C"] += 1
    assert classes == expected
    assert {row[0]: row[1] for row in sheet(book, 4)[1:]} == funnel

    done = reckon("run", "-t", "data", "-f", "out/report.pdf", "-c", LOOK).expect(0)
    pages = json.loads(done.out)
    assert [page["text"].splitlines()[0] for page in pages] == [
        "Sales in Q1 2026", "Top 10 products", "ABC analysis", "Conversion funnel"]
    assert all(page["images"] == 1 and page["colours"] > 20 for page in pages)
    assert f"{sum(months.values()):,.2f}" in pages[0]["text"]
    assert all(f"{stage}: {count:,} customers" in pages[3]["text"]
               for stage, count in funnel.items())
