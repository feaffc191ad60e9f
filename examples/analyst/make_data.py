#!/usr/bin/python3
"""Makes sales events of a shop in the first quarter of 2026, with the defects of real exports.

usage: make_data.py FILE.csv [ROWS]

Writes 45,000 rows by default, the same ones every time: visits, some of which become carts,
check-outs and purchases; about 2 % of the rows are duplicates, and some values are missing.
"""
import csv
import datetime
import random
import sys

STAGES = ["view", "cart", "checkout", "purchase"]
GOES_ON = [0.42, 0.55, 0.7]
COLUMNS = ["event_id", "timestamp", "customer_id", "product", "category", "stage", "quantity",
           "unit_price"]
CATEGORIES = ["Kitchen", "Garden", "Office", "Toys", "Sport"]


def catalogue(dice):
    """(name, category, price, weight): few products sell much, many little."""
    return [(f"{CATEGORIES[i % 5]} {chr(65 + i % 26)}{i:02d}", CATEGORIES[i % 5],
             round(dice.uniform(3, 240), 2), 1 / (i + 1) ** 0.9) for i in range(40)]


def events(dice, rows):
    products = catalogue(dice)
    weights = [product[3] for product in products]
    start = datetime.datetime(2026, 1, 1)
    number = 0
    while number < rows:
        name, category, price, _ = dice.choices(products, weights)[0]
        # Sales grow during the quarter.
        when = start + datetime.timedelta(seconds=int(90 * 86400 * dice.random() ** 0.8) - 1)
        when = max(when, start)
        customer = f"C{dice.randrange(9000):05d}"
        quantity = dice.choice([1, 1, 1, 2, 2, 3, 5])
        for i, stage in enumerate(STAGES):
            number += 1
            yield [f"E{number:06d}", when.isoformat(), customer, name, category, stage, quantity,
                   f"{price:.2f}"]
            when += datetime.timedelta(seconds=dice.randrange(20, 900))
            if stage == "purchase" or dice.random() > GOES_ON[i]:
                break


def spoil(dice, row):
    """Removes a few values at random."""
    row = list(row)
    for column, chance in ((3, 0.01), (6, 0.012), (7, 0.008)):
        if dice.random() < chance:
            row[column] = ""
    return row


def main():
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 45000
    dice = random.Random(2026)
    clean = list(events(dice, int(rows * 0.98)))[:int(rows * 0.98)]
    table = [spoil(dice, row) for row in clean]
    table += [list(row) for row in dice.choices(table, k=rows - len(table))]
    dice.shuffle(table)
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(table)


if __name__ == "__main__":
    main()
