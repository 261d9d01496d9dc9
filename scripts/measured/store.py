"""A database under results/measured/, read by the program's reports."""

import contextlib
import functools
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get(
    "APPROXTRAIN_PROGRAM", os.path.join(ROOT, "build", "approxtrain")))
MEASURED = os.path.join(ROOT, "results", "measured")


@functools.cache  # pages ask for the same
def run_of(*arguments):
    """What `approxtrain ARGUMENTS` came to."""
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT,
                          check=False)


def program(*arguments):
    """What `approxtrain ARGUMENTS` prints. Ends this program where that one fails."""
    done = run_of(*arguments)
    if done.returncode:
        sys.exit(f"{os.path.basename(sys.argv[0])}: approxtrain {' '.join(arguments)} ended with "
                 f"{done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Store:
    """One database. Its name is its path under results/measured/ without ".db"."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.relpath(path, MEASURED).removesuffix(".db")
        self.has_products_alone = os.path.basename(path) == "products.db"

    def text(self, *report, form="md"):
        """A report as it is printed: ("table", EXPERIMENT), ("paper", ITEM, "--scale", "full")."""
        return program("report", *report, "--db", self.path, "--format", form)

    def text_if_any(self, *report):
        """The report as it is printed, "" where the database has exact trainings of too few
        lengths for it."""
        done = run_of("report", *report, "--db", self.path, "--format", "md")
        too_few = done.returncode == 2 and "exact_lengths" in done.stderr
        return "" if too_few else self.text(*report)

    def rows(self, *report):
        return json.loads(self.text(*report, form="json"))["rows"]

    def papers(self):
        """What it has of each item of a paper: the rows of `list papers`."""
        return json.loads(program("list", "papers", "--db", self.path, "--format", "json"))["rows"]

    def query(self, sql, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as db:
            return db.execute(sql, values).fetchall()

    def last_measured(self):
        (at,), = self.query("SELECT max(at) FROM (SELECT max(started_utc) AS at FROM run UNION ALL "
                            "SELECT max(started_utc) FROM kernel_run)")
        return at or ""

    def experiments(self):
        """(name, title) of those that asked for runs, kernel benchmarks or studies."""
        return self.query("SELECT name, title FROM experiment ORDER BY experiment_id")

    def made_by(self, *experiments):
        """(machine, day) of everything that these experiments asked for, or of all that there is:
        a machine is its GPU where that computed, else its processor."""
        gpus = " and ".join(sorted(gpu for gpu, in self.query(
            "SELECT DISTINCT gpu_model FROM host WHERE gpu_model <> ''")))
        made = {(gpus if row["device"].startswith("cuda") else row["cpu"], row["started_utc"][:10])
                for row in self.runs(*experiments)}
        if made:
            return made
        return {(gpu or cpu, started[:10]) for table in ("kernel_run", "study_run")
                for cpu, gpu, started in self.query(
                    "SELECT cpu_model, gpu_model, started_utc "
                    f"FROM {table} JOIN host USING(host_id)")}

    def runs(self, *experiments):
        """Attempts at runs of these experiments, or at all; each once."""
        rows = [row for experiment in experiments or [None]
                for row in self.rows("runs", *([experiment] if experiment else []))]
        return list({row["run"]: row for row in rows}.values())

    def provenance(self, *experiments):
        """A sentence: how many runs, on what, when, by which commits."""
        rows = self.runs(*experiments)
        if not rows:
            return "No trainings; kernel benchmarks or studies only."
        commits = sorted({row["git_sha"][:12] + (" (changed)" if row["dirty"] else "")
                          for row in rows})
        finished = len(with_result(rows))
        days = sorted({row["started_utc"][:10] for row in rows})
        span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        return (f"{finished} runs with a result on "
                f"{', '.join(sorted({row['cpu'] for row in rows}))}, "
                f"{span}, commit {', '.join(commits)}.")


def with_result(runs):
    return [row for row in runs if row["state"] in ("finished", "diverged")]


def named(name):
    """The store of that name. "newest NAME" is the NAME.db of any folder that something was
    measured for last; None where there is none."""
    if not name.startswith("newest "):
        return Store(os.path.join(MEASURED, name + ".db"))
    paths = glob.glob(os.path.join(MEASURED, "*", name.removeprefix("newest ") + ".db"))
    return max(map(Store, paths), key=Store.last_measured, default=None)


def newest_file(name):
    """The path of a file, by the date at the end of its folder's name."""
    return max(glob.glob(os.path.join(MEASURED, "*", name)),
               key=lambda path: (re.search(r"[\d-]*$", os.path.dirname(path)).group(), path))
