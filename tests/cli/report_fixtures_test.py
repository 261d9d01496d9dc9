"""Reports of stores that are empty, partial, of one seed, of several machines, disturbed or full of
equal and extreme numbers: each is made, has finite numbers alone, and says where one run is all.

`report_fixtures_test.py [all]`: the main reports as Markdown, or all in each format.
"""

import concurrent.futures
import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import sys

from old_store import ROOT, make_old
from program import Folder, expect, expect_equal, finish

ALL = sys.argv[1:] == ["all"]
MEASURED = os.path.join(ROOT, "results/measured")
QUICKSTART = os.path.join(MEASURED, "amd-epyc-zen4-2core-2026-11-28/quickstart.db")
KERNELS = os.path.join(MEASURED, "amd-epyc-2core-2026-11-22/kernels.db")
MAIN = ("table", "tta", "advice")
NOT_FINITE = re.compile(r"(?<![\w./-])[-+±]?(nan|inf|infinity)(?![\w./-])", re.IGNORECASE)

DENSE = "cell_id IN (SELECT cell_id FROM cell WHERE method = 'dense')"
METHODS = "cell_id IN (SELECT cell_id FROM cell WHERE method <> 'dense')"
TIMINGS = "cell_id IN (SELECT cell_id FROM cell WHERE purpose = 'timing')"
TRAININGS = "cell_id IN (SELECT cell_id FROM cell WHERE purpose = 'accuracy')"
SEEDS = "cell_id IN (SELECT cell_id FROM cell WHERE seed >= {})"
ODD = "cell_id IN (SELECT cell_id FROM cell WHERE seed % 2 = 1)"
OTHER_HOST = ("INSERT INTO host SELECT host_id + 1, 'other', 'other', 'Another CPU', 64, 9, '', "
              "'{}' FROM host ORDER BY host_id DESC LIMIT 1")
OTHER_DATA = ("INSERT INTO dataset SELECT dataset_id + 1, name, 'jpeg', 'other', n_train, n_test, "
              "1 FROM dataset ORDER BY dataset_id DESC LIMIT 1")
OTHER_BUILD = ("INSERT INTO build SELECT build_id + 1, 'other', 1, compiler, flags, torch, cuda, "
               "cudnn FROM build ORDER BY build_id DESC LIMIT 1")


def ended(state):
    return f"UPDATE run SET state = '{state}', error = 'it ended', timing_valid = 0"


# What is done to the database that a quickstart leaves.
FIXTURES = {
    "whole": (),
    "no runs": ("DELETE FROM run",),
    "no cells": ("DELETE FROM run", "DELETE FROM experiment_cell", "DELETE FROM cell"),
    "no experiment": ("DELETE FROM experiment",),
    "failed alone": (ended("failed"),),
    "out of memory alone": (ended("oom"),),
    "cut off alone": (ended("timeout"),),
    "interrupted alone": (ended("interrupted"),),
    "lost alone": (ended("lost"),),
    "diverged alone": (ended("diverged"),),
    "at work alone": ("UPDATE run SET state = 'running', ended_utc = NULL, timing_valid = 0",),
    "half diverged": (ended("diverged") + f" WHERE {ODD}",),
    "one run": ("DELETE FROM run WHERE run_id > (SELECT min(run_id) FROM run)",),
    "no exact runs": (f"DELETE FROM run WHERE {DENSE}",),
    "exact runs alone": (f"DELETE FROM run WHERE {METHODS}",),
    "one seed": (f"DELETE FROM run WHERE {SEEDS.format(1)}",),
    "two seeds": (f"DELETE FROM run WHERE {SEEDS.format(2)}",),
    "one seed of the methods": (f"DELETE FROM run WHERE {METHODS} AND {SEEDS.format(1)}",),
    "no seed in common": (f"DELETE FROM run WHERE {METHODS} AND {ODD}",
                          f"DELETE FROM run WHERE {DENSE} AND NOT {ODD}"),
    "no timings": (f"DELETE FROM run WHERE {TIMINGS}",),
    "timings alone": (f"DELETE FROM run WHERE {TRAININGS}",),
    "one timing": (f"DELETE FROM run WHERE {TIMINGS} AND {SEEDS.format(1)}",),
    "disturbed": ("UPDATE run SET taint = '[\"load\"]', timing_valid = 0",),
    "half disturbed": ("UPDATE run SET taint = '[\"load\"]', timing_valid = 0 "
                       f"WHERE {TIMINGS} AND {ODD}",),
    "two machines": (OTHER_HOST, f"UPDATE run SET host_id = host_id + 1 WHERE {ODD}"),
    "methods on another machine": (OTHER_HOST,
                                   f"UPDATE run SET host_id = host_id + 1 WHERE {METHODS}"),
    "two builds": (OTHER_BUILD, "UPDATE run SET build_id = (SELECT max(build_id) FROM build) "
                   f"WHERE {ODD}"),
    "two data sets": (OTHER_DATA, f"UPDATE run SET dataset_id = dataset_id + 1 WHERE {ODD}"),
    "lossy data": ("UPDATE dataset SET lossy = 1",),
    "no data": ("UPDATE run SET dataset_id = NULL",),
    "no evaluations": ("DELETE FROM metric",),
    "no test evaluations": ("DELETE FROM metric WHERE split = 'test'",),
    "evaluations that are not finite": ("UPDATE metric SET value = NULL, special = 'nan'",),
    "infinite losses": ("UPDATE metric SET value = NULL, special = '+inf' WHERE name = 'loss'",),
    "nothing learnt": ("UPDATE metric SET value = 0 WHERE name = 'accuracy'",),
    "all learnt": ("UPDATE metric SET value = 1 WHERE name = 'accuracy'",),
    "equal accuracies": ("UPDATE metric SET value = 0.5 WHERE name = 'accuracy'",),
    "no times": ("UPDATE run SET train_ns = NULL, eval_ns = NULL, wall_ns = NULL, "
                 "warmup_ns = NULL, step_ns = NULL, step_ns_median = NULL, step_ns_q1 = NULL, "
                 "step_ns_q3 = NULL",),
    "times of nothing": ("UPDATE run SET train_ns = 0, eval_ns = 0, wall_ns = 0, warmup_ns = 0, "
                         "step_ns_median = 0, step_ns_q1 = 0, step_ns_q3 = 0",
                         "UPDATE metric SET train_ns = 0"),
    "no step times": ("UPDATE run SET step_ns = x'', steps = 0",),
    "equal blocks": ("UPDATE timing_block SET ns = 1000, steps = 1",),
    "one pair of blocks": ("DELETE FROM timing_block WHERE pair > 1",),
    "no blocks": ("DELETE FROM timing_block",),
    "one arm": ("DELETE FROM timing_block WHERE arm = 'approx'",),
    "blocks of years": ("UPDATE timing_block SET ns = 900000000000000000 WHERE arm = 'dense'",
                        "UPDATE timing_block SET ns = 1 WHERE arm = 'approx'"),
    "layers without work": (
        "UPDATE layer_metric SET macs_dense = 0, macs_done = 0, density = NULL",),
    "no layers": ("DELETE FROM layer_metric", "DELETE FROM layer_variant"),
    "a target out of reach": (
        "UPDATE experiment SET target_metric = 'accuracy', target_value = 1",),
    "a target of nothing": ("UPDATE experiment SET target_metric = 'accuracy', target_value = 0",),
    "excluded alone": ("DELETE FROM run", "UPDATE experiment_cell SET cell_id = NULL, "
                       "excluded = 'needs a GPU'", "DELETE FROM cell"),
    "labels of odd characters": ("UPDATE experiment_cell SET method_label = method_label || "
                                 "'|,\"<&' || char(10) || char(233)",),
}


def make(folder, name):
    """The database of a fixture."""
    db = folder.file(name.replace(" ", "-") + ".db")
    if name == "empty":
        make_old(db, 9, 0, 0)
        return db
    if name == "as of old":
        make_old(db, 9, 3, 4)
        # No program leaves a cell without its configuration.
        with sqlite3.connect(db) as connection:
            connection.execute("UPDATE cell SET config = json_object('method', 'zero', 'network', "
                               "'lenet', 'dataset', 'mnist')")
        connection.close()
        return db
    if name.startswith("kernels"):
        shutil.copy(KERNELS, db)
        changes = {"kernels": (), "kernels without times": (
            "UPDATE kernel_result SET ns_median = NULL, baseline_ns_median = NULL, ratio = NULL, "
            "ratio_lo = NULL, ratio_hi = NULL, verdict = 'skipped', reason = 'none'",),
            "kernels of one repetition": (
                "UPDATE kernel_result SET n = 1, ns = substr(ns, 1, 8), baseline_n = 1, "
                "baseline_ns = substr(baseline_ns, 1, 8), ratio_lo = NULL, ratio_hi = NULL "
                "WHERE n > 0 AND baseline_n > 0",)}[name]
    else:
        shutil.copy(QUICKSTART, db)
        changes = FIXTURES[name]
    connection = sqlite3.connect(db)
    connection.execute("PRAGMA foreign_keys = ON")
    with connection:
        for change in changes:
            expect(connection.execute(change).rowcount > 0, f"{name}: nothing is changed: {change}")
    connection.close()
    return db


def reports(folder):
    """The names of the reports about one database."""
    text = folder.run("report", "--help")[1]
    commands = text[text.index("Commands:"):]
    return [name for name in re.findall(r"^  ([a-z]+)  +[A-Z]", commands, re.MULTILINE)
            if name not in ("paper", "compare", "html")]


def check_finite(text, what):
    found = NOT_FINITE.search(text)
    expect(found is None, f"{what}: {text[max(0, found.start() - 60):found.end() + 20]!r}"
           if found else what)


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def check_csv(text, what):
    lines = list(csv.reader(io.StringIO(text)))
    expect_equal({len(line) for line in lines} - {len(lines[0])} if lines else set(), set(),
                 f"{what}: cells of a line")
    for cell in (cell for line in lines for cell in line):
        try:
            expect(math.isfinite(float(cell)), f"{what}: {cell}")
        except ValueError:
            pass


def check(folder, db, report, form, what):
    arguments = ["report", report, "--db", db]
    arguments += ["--out", "/dev/stdout"] if report == "html" else ["--format", form]
    code, out, err = folder.run(*arguments)
    # It needs exact trainings of several lengths, and says so.
    codes = (0, 2) if report == "breakeven" else (0,)
    expect(code in codes, f"{what}: exit code {code} ({err})")
    expect_equal(err.count("\n") <= 1, True, f"{what}: {err}")
    if code != 0:
        return
    check_finite(out, what)
    if form == "csv":
        check_csv(out, what)
    if form == "json":
        try:
            json.loads(out, parse_constant=no_constant)
        except ValueError as error:
            expect(False, f"{what}: {error}")


def one_run_is_said(folder, databases):
    """A mean of one run has no interval, and a note says so."""
    for name, note in (("one seed", "one seed has no interval"),
                       ("one timing", "one process has no interval")):
        code, out, err = folder.run("report", "table", "--db", databases[name])
        expect_equal((code, note in out), (0, True), f"{name}: the note ({err}{out})")
    code, out, _ = folder.run("report", "table", "--db", databases["one seed"], "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    expect(any(row["n"] == "1" for row in rows), f"one seed: n ({out})")
    for row in rows:
        if row["n"] == "1":
            expect_equal([row[column] for column in row if column.startswith("accuracy") and
                          column.endswith(("_half", "_sd", "_lo", "_hi"))], [""] *
                         sum(column.startswith("accuracy") and
                             column.endswith(("_half", "_sd", "_lo", "_hi")) for column in row),
                         "one seed: its interval")


def main():
    with Folder() as folder:
        names = ["empty", "as of old", *FIXTURES, "kernels", "kernels without times",
                 "kernels of one repetition"]
        databases = {name: make(folder, name) for name in names}
        known = reports(folder)
        expect(len(known) >= 12 and set(MAIN) <= set(known), f"reports: {known}")
        tried = []
        for name in names:
            main_reports = ("kernels",) if name.startswith("kernels") else MAIN
            for report in known if ALL else main_reports:
                forms = ("md", "csv", "json") if ALL else ("csv",) if report == "table" else ("md",)
                tried += [(name, report, form) for form in forms]
        if ALL:
            tried += [(name, "html", "html") for name in names]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda one: check(folder, databases[one[0]], one[1], one[2],
                                            f"{one[0]}: {one[1]} as {one[2]}"), tried))
        one_run_is_said(folder, databases)
        print(f"{len(tried)} reports of {len(names)} databases")


main()
finish()
