#!/usr/bin/env python3
"""Says what is in the columns of a CSV, TSV or JSON-lines file. Reads it row by row; keeps little in memory."""

import csv
import json
import sys

MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
MOST_DISTINCT = 1000
EXAMPLES = 3


class Column:
    def __init__(self):
        self.rows = self.missing = self.numbers = 0
        self.least = self.greatest = None
        self.distinct = set()
        self.examples = []

    def add(self, value):
        self.rows += 1
        text = "" if value is None else str(value).strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        try:
            number = float(text)
            self.numbers += 1
            self.least = number if self.least is None else min(self.least, number)
            self.greatest = number if self.greatest is None else max(self.greatest, number)
        except ValueError:
            pass
        if len(self.distinct) <= MOST_DISTINCT:
            self.distinct.add(text)
        if len(self.examples) < EXAMPLES and text not in self.examples:
            self.examples.append(text[:30])

    def line(self, name):
        there = self.rows - self.missing
        kind = "number" if there and self.numbers == there else "mixed" if self.numbers else "text"
        distinct = f">{MOST_DISTINCT}" if len(self.distinct) > MOST_DISTINCT else str(len(self.distinct))
        span = f"{self.least:g} … {self.greatest:g}" if self.least is not None else ""
        return [name, kind, str(self.missing), distinct, span, ", ".join(self.examples)]


def rows(path):
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        if path.endswith((".jsonl", ".ndjson")):
            for line in file:
                if line.strip():
                    yield json.loads(line)
            return
        sample = file.read(65536)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel_tab if path.endswith(".tsv") else csv.excel
        yield from csv.DictReader(file, dialect=dialect)


def main(path):
    columns, count = {}, 0
    for row in rows(path):
        count += 1
        for name, value in row.items():
            columns.setdefault(str(name), Column()).add(value)
    table = [["column", "kind", "missing", "distinct", "least … greatest", "examples"]]
    table += [column.line(name) for name, column in columns.items()]
    widths = [max(len(row[place]) for row in table) for place in range(6)]
    print(f"{count} rows, {len(columns)} columns")
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: profile.py FILE")
    main(sys.argv[1])
