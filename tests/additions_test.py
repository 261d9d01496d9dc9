"""One file each is enough: what tests/additions/ holds is there in a program built with it.

That program consists of the project's own objects and of the files of that folder; no list anywhere
names them. Its working directory is the folder, so that its experiments are found.
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
ENGINE = os.path.abspath(os.environ["APPROXTRAIN_ENGINE"])
ADDITIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "additions")

VALUES = """
id = "values"
title = "Methods that drop nothing"
network = "added_network"
dataset = "added_dataset"
recipe = "added_recipe"
batch_size = 16
threads = 1
seeds = "0"
method = [
  { label = "dense", method = "dense" },
  { label = "factor 1", method = "added_method" },
  { label = "factor 0.5", method = "added_method:scale=0.5" },
  { label = "signs", method = "added_signs" },
  { label = "all channels", method = "topk_crs:ratio=1" },
  { label = "exact", method = "exact" },
]
"""


# Trained by a table of rules that takes the added variant wherever it fits.
RULED = """
id = "ruled"
title = "A kernel variant with a rule"
network = "added_network"
dataset = "added_dataset"
recipe = "added_recipe"
batch_size = 16
threads = 1
seeds = "0"
method = "meprop:ratio=0.1"
kernel_rules = ["builtin", "added.rules"]
"""


def run(folder, *arguments):
    env = {key: value for key, value in os.environ.items() if not key.startswith("APPROXTRAIN_")}
    env["APPROXTRAIN_ENGINE"] = ENGINE
    db = os.path.join(folder, "store.db")
    # What there is to name is asked for before there is a store, too.
    named = ["--db", db] if os.path.exists(db) or arguments[0] != "list" else []
    env["XDG_DATA_HOME"] = folder
    done = subprocess.run([PROGRAM, *arguments, *named, "--data-dir", folder], capture_output=True,
                          text=True, cwd=ADDITIONS, env=env, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def names(folder, what):
    listed = json.loads(run(folder, "list", what, "--format", "json"))
    return {row["name"] for row in listed["rows"]}


def main():
    folder = tempfile.mkdtemp(prefix="approxtrain-additions-")
    try:
        for what, name in (("methods", "added_method"), ("schedules", "added_schedule"),
                           ("selections", "added_selection"), ("networks", "added_network"),
                           ("datasets", "added_dataset"), ("papers", "added:table1")):
            known = names(folder, what)
            assert name in known, f"list {what}: no {name} in {sorted(known)}"

        # The paper's table: trained by the recipe, stored, and reported beside its numbers.
        run(folder, "sweep", "@added:table1", "--progress", "none")
        runs = rows(run(folder, "report", "runs", "--format", "csv"))
        assert len(runs) == 4 and all(row["state"] == "finished" for row in runs), runs
        paper = rows(run(folder, "report", "paper", "added:table1", "--format", "csv"))
        table = [row for row in paper if row["quantity"] == "accuracy"]
        assert [row["row"] for row in table] == ["Exact", "Added"], table
        assert all(int(row["n"]) == 2 for row in table), table
        layers = rows(run(folder, "report", "layers", "--format", "csv"))
        approximated = {(row["layer"], row["product"]) for row in layers
                        if row["method"] == "Added" and row["calls"] != row["exact_calls"]}
        assert approximated == {("second", "weight_gradient")}, layers
        assert all(row["variants"] for row in layers), layers

        study = rows(run(folder, "study", "added-study", "--most", "4", "--format", "csv"))
        assert [row["mean"] for row in study] == [row["closed_form"] for row in study], study
        assert len(study) == 4, study

        # The report over what the sweep stored.
        report = rows(run(folder, "report", "added-report", "--format", "csv"))
        assert [row["method"] for row in report] == ["Exact", "Added"], report
        assert all(row["seeds"] == "2" for row in report), report

        # Whose products were all exact ones: a method that drops nothing may still change values.
        experiment = os.path.join(folder, "values.toml")
        with open(experiment, "w", encoding="utf-8") as file:
            file.write(VALUES)
        run(folder, "sweep", experiment, "--progress", "none")
        table = rows(run(folder, "report", "table", "values", "--format", "csv"))
        idle = {row["method"] for row in table if "approximated nothing" in row["notes"]}
        assert len(table) == 6, table
        assert idle == {"factor 1", "all channels", "exact"}, table

        # A training that leaves out examples is an arm of its own.
        run(folder, "train", "--network", "added_network", "--dataset", "added_dataset",
            "--recipe", "added_recipe", "--batch-size", "16", "--threads", "1",
            "--selection", "added_selection")
        table = rows(run(folder, "report", "table", "train", "--format", "csv"))
        assert [row["method"] for row in table] == ["added_selection"], table

        # The kernel variant is measured, and agrees with the reference of its plan.
        kernels = rows(run(folder, "bench-kernel", "--shape", "N2,C3,K4,H5", "--op",
                           "weight_gradient", "--method", "added_method", "--repetitions", "2",
                           "--min-time", "1ms", "--format", "csv"))
        added = [row for row in kernels if row["variant"] == "added"]
        assert added, kernels
        assert all(float(row["max_rel_error"]) < 1e-5 for row in added), added

        # One with a rule is measured by its name, and taken where a table of rules says so.
        tuned = run(folder, "tune-kernels", "--shape", "N2,C3,K4,H5", "--variant", "added_entries",
                    "--repetitions", "3", "--min-time", "1ms", "--progress", "none")
        assert sum(line.startswith("added_entries ") for line in tuned.split("\n")) == 1, tuned
        with open(os.path.join(folder, "ruled.toml"), "w", encoding="utf-8") as file:
            file.write(RULED)
        with open(os.path.join(folder, "added.rules"), "w", encoding="utf-8") as file:
            file.write("added_entries * * * * * * *\n")
        run(folder, "sweep", os.path.join(folder, "ruled.toml"), "--progress", "none")
        layers = rows(run(folder, "report", "layers", "ruled", "--format", "csv"))
        taken = [("added_entries" in row["variants"]) for row in layers
                 if row["product"] == "weight_gradient"]
        assert any(taken) and not all(taken), layers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
