"""What the program prints of the committed databases, computed a second time by other means.

Reads the tables of the databases themselves (no view, no code of the program), computes with NumPy
and SciPy what docs/internals/statistics.md says, and compares with the CSV of `report table`,
`tta`, `advice`, `pairs`, `breakeven` and `paper`, cell by cell. A column that this script does not
know is an error, so that none is added without a second computation; those that only repeat what is
stored are named at each table.

  recompute_test.py PROGRAM FOLDER|DATABASE...
  recompute_test.py PROGRAM --smoke ITEM...

Of a folder, what is there when the test runs: FOLDER/*/*.db. The second form runs items at smoke
scale and looks at their tables: what no committed database has.
"""

import csv
import glob
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from advice import expected_advice
from breakeven import expected_breakeven
from papers import ROOT, Item, expected_paper
from stored import Store, rows_of
from tables import expected_pairs, expected_table, expected_tta

SETTINGS = ("setting", "tuned_rate")  # texts


class Comparison:
    def __init__(self, program):
        self.program, self.cells, self.problems = program, 0, []

    def csv(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--format", "csv"], capture_output=True,
                              text=True, cwd=ROOT, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def rows(self, what, printed, expected, stored_text):
        """Compares a table with what it should be; `stored_text`: columns without a computation."""
        expected = list(expected)
        if len(printed) != len(expected):
            self.problems.append(f"{what}: {len(printed)} rows, not {len(expected)}")
            return
        for line, wanted in zip(printed, expected):
            unknown = set(line) - set(wanted) - set(stored_text)
            missing = set(wanted) - set(line)
            if unknown or missing:
                self.problems.append(f"{what}: columns {sorted(unknown)} are computed nowhere "
                                     f"here, {sorted(missing)} are not in the table")
                return
            for column, value in wanted.items():
                self.cells += 1
                if not same(line[column], value):
                    place = ", ".join(line.get(key, "") for key in ("schedule", "row", "column",
                                                                    "method", "quantity"))
                    self.problems.append(
                        f"{what}: {place}: {column} is {line[column]!r}, should be {value!r}")


def same(printed, value):
    if value is None:
        return printed == ""
    if isinstance(value, str):
        return printed.removesuffix(" (earlier)") == value
    if printed == "":
        return False
    return math.isclose(float(printed), value, rel_tol=1e-9, abs_tol=1e-9)


def compare_database(comparison, path):
    name, rows = os.path.basename(path), rows_of(Store(path))
    comparison.rows(f"{name}: table", comparison.csv("report", "table", "--db", path),
                    expected_table(rows), (*SETTINGS, "notes", "speedup_vs_stock_missing"))
    comparison.rows(f"{name}: tta", comparison.csv("report", "tta", "--db", path),
                    expected_tta(rows, lambda row: 0.5),
                    (*SETTINGS, "target_origin", "step_time_source", "joules_to_target",
                     "joules_to_target_half", "joules_runs", "notes"))
    comparison.rows(f"{name}: advice", comparison.csv("report", "advice", "--db", path),
                    expected_advice(rows, share_of_error=0.1),
                    (*SETTINGS, "machine", "reason", "measured_utc", "commit", "notes",
                     "speedup_vs_stock_missing"))
    comparison.rows(f"{name}: pairs", comparison.csv("report", "pairs", "--db", path),
                    expected_pairs(rows),
                    (*SETTINGS, "exact_setting", "exact_tuned_rate", "notes"))
    compare_breakeven(comparison, path, rows)
    for item, scale in items_with_runs(comparison.program, path):
        compare_item(comparison, path, item, scale)


def compare_breakeven(comparison, path, rows):
    """Without a curve beside any method the report is an error."""
    expected, what = expected_breakeven(rows), f"{os.path.basename(path)}: breakeven"
    if expected is not None:
        comparison.rows(what, comparison.csv("report", "breakeven", "--db", path), expected,
                        (*SETTINGS, "machine", "cpu", "reason", "notes"))
        return
    done = subprocess.run([comparison.program, "report", "breakeven", "--db", path],
                          capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 2 or "exact_lengths" not in done.stderr:
        comparison.problems.append(f"{what}: ended with {done.returncode}, there is no curve")


def compare_item(comparison, path, item, scale, *flags):
    printed = comparison.csv("report", *flags, "paper", item, "--scale", scale, "--db", path)
    comparison.rows(f"{os.path.basename(path)}: {item} {scale}", printed,
                    expected_paper(Item(comparison.program, item, scale, path), printed),
                    ("item", "row", "column", "quantity", "definition", "unit", "basis",
                     "hardware", "printed", "reported", "reason", "notes", "paper_note"))
    return printed


def compare_smoke(comparison, items):
    """Beside other tests timings are disturbed; here they count."""
    Store.include_tainted = True
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "smoke.db")
        for item in items:
            subprocess.run([comparison.program, "sweep", "@" + item, "--scale", "smoke", "--db",
                            path, "--progress", "none", "--checkpoint-every", "0"], cwd=ROOT,
                           check=True)
            printed = compare_item(comparison, path, item, "smoke", "--include-tainted")
            # Of each quantity that we measure there is something to be compared.
            for line in printed:
                same = [other for other in printed if other["quantity"] == line["quantity"] and
                        other["basis"] == line["basis"]]
                if not any(other["measured"] for other in same):
                    comparison.problems.append(f"{item}: no {line['quantity']} ({line['basis']})")


def items_with_runs(program, path):
    """(item, scale) of which the database has trainings."""
    done = subprocess.run([program, "list", "papers", "--db", path, "--format", "json"],
                          capture_output=True, text=True, cwd=ROOT, check=True)
    for item in json.loads(done.stdout)["rows"]:
        for scale in ("full", "reduced"):
            # "12 of 60 runs, 5 timing runs"
            if any(map(int, re.findall(r"(\d+) (?:of|accuracy|timing)", item[scale] or ""))):
                yield item["name"], scale


def main():
    comparison = Comparison(os.path.abspath(sys.argv[1]))
    if sys.argv[2] == "--smoke":
        compare_smoke(comparison, sys.argv[3:])
    else:
        for given in sys.argv[2:]:
            folder = os.path.isdir(given)
            for path in sorted(glob.glob(os.path.join(given, "*/*.db"))) if folder else [given]:
                compare_database(comparison, path)
    for problem in comparison.problems:
        print(problem)
    print(f"{comparison.cells} cells, {len(comparison.problems)} of them otherwise")
    sys.exit(1 if comparison.problems or not comparison.cells else 0)


if __name__ == "__main__":
    main()
