"""Coordinators and workers killed at random moments: the same command finishes the sweep, nothing
is lost or doubled, what was finished at a kill is the same run at the end and was not done again,
and the results are those of a sweep that nobody disturbed.

`kills_test.py [KILLS]`: so many of each, 20 unless told.
"""

import collections
import os
import random
import shutil
import signal
import sqlite3
import sys
import time

from program import Folder, ends_as_finished, expect, expect_equal, finish, said_to_be_finished

SWEEP = """id = "fake:kills"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position"]
seeds = "0-3"
"""

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
STEP = {"APPROXTRAIN_FAKE_STEP_MS": "10"}

Run = collections.namedtuple("Run", "uid method seed attempt state started ended folder")
RUNS = ("SELECT r.uid, c.method, c.seed, r.attempt, r.state, r.started_utc, r.ended_utc, "
        "r.run_directory FROM run r JOIN cell c USING(cell_id)")


def undisturbed():
    with Folder(SWEEP) as folder:
        code, _, err = folder.sweep(env=STEP)
        expect_equal(code, 0, f"undisturbed: exit code ({err})")
        return folder.results(), report(folder)


def report(folder):
    code, out, err = folder.run("report", "table", "--format", "csv", "--db", "t.db")
    expect_equal(code, 0, f"report: exit code ({err})")
    return out


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as line:
            return [int(child) for child in line.read().split()]
    except OSError:
        return []


def cell(run):
    return run.method.split(":")[0], run.seed


def runs_at_work(folder):
    """The runs while a coordinator writes; none where there is no store yet."""
    try:
        return [Run(*row) for row in folder.query(RUNS)]
    except sqlite3.Error:
        return []


def runs_left(folder):
    """The runs that were committed, when nobody writes any more. Of a copy with its journal: who
    looks takes back what was half written, which is for the next sweep to do."""
    for name in ("db", "db-journal"):
        if os.path.exists(folder.file(f"t.{name}")):
            shutil.copy(folder.file(f"t.{name}"), folder.file(f"copy.{name}"))
    connection = sqlite3.connect(folder.file("copy.db"))
    try:
        there = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchone()
        return [Run(*row) for row in connection.execute(RUNS)] if there else []
    finally:
        connection.close()


class Kept:
    """What must be there at the end, as it was when something was killed."""

    def __init__(self):
        self.runs = set()  # finished, by the database
        self.logged = set()  # by their log, with nobody left to record it: uid
        self.said = []  # by a coordinator: (method, seed)

    def see(self, runs):
        self.runs |= {run for run in runs if run.state == "finished"}

    def coordinator_is_gone(self, runs, err, what):
        said = said_to_be_finished(err)
        self.said += said
        self.see(runs)
        unknown = set(said) - {cell(run) for run in self.runs}
        expect(not unknown, f"{what}: {unknown} were said to be finished ({err})")

    def expect_in(self, runs, what):
        lost = self.runs - set(runs)
        expect(not lost, f"{what}: finished at a kill and not there at the end: {lost}")
        finished = {run.uid: run for run in runs if run.state == "finished"}
        expect(self.logged <= set(finished), f"{what}: finished by their log alone, not at the "
               f"end: {self.logged - set(finished)}")
        attempts = collections.Counter(cell(run) for run in runs)
        kept = self.runs | {finished[uid] for uid in self.logged & set(finished)}
        again = [run for run in kept if attempts[cell(run)] != run.attempt]
        expect(not again, f"{what}: done again: {again}")
        doubled = {one for one, times in collections.Counter(self.said).items() if times > 1}
        expect(not doubled, f"{what}: said to be finished more than once: {doubled}")


def kill(process, victim):
    """How many were killed: the coordinator, or its workers."""
    killed = 0
    for target in [process.pid] if victim == "coordinator" else children_of(process.pid):
        if process.poll() is None:
            try:
                os.kill(target, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    return killed


def disturbed(victim, wanted, table, rng):
    kills = met = 0
    while kills < KILLS:
        with Folder(SWEEP) as folder:
            code, kept = None, Kept()
            for _ in range(200):
                process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--progress", "log",
                                       env=STEP)
                killed = 0
                while kills < KILLS and process.poll() is None:
                    time.sleep(rng.uniform(0, 0.5))
                    killed = kill(process, victim)
                    kills += killed
                    if victim == "coordinator":
                        break
                    kept.see(runs_at_work(folder))
                    met += killed * len(kept.runs)
                err = process.communicate(timeout=120)[1].decode()
                code = process.returncode
                runs = runs_left(folder)
                kept.coordinator_is_gone(runs, err, victim)
                if victim == "coordinator":
                    met += killed * len(kept.runs)
                    # Of a worker that was killed itself the coordinator knows better than its log.
                    kept.logged |= {run.uid for run in runs
                                    if run.state == "running" and ends_as_finished(run.folder)}
                if code == 0:
                    break
            expect_equal(code, 0, f"{victim}: the sweep never came to its end")
            folder.check_database()
            kept.expect_in([Run(*row) for row in folder.query(RUNS)], victim)
            expect_equal(folder.results(), wanted, f"{victim}: results")
            expect_equal(report(folder), table, f"{victim}: report")
            running = folder.query("SELECT count(*) FROM run WHERE state = 'running'")
            expect_equal(running, [(0,)], f"{victim}: runs still running")
    return kills, met / kills


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
results, table = undisturbed()
expect(len(results) == 36, f"undisturbed: {len(results)} metrics")
for victim in ("coordinator", "worker"):
    kills, met = disturbed(victim, results, table, rng)
    print(f"{kills} kills of a {victim}, with {met:.1f} of 12 runs finished on average", flush=True)
    expect(met > 0, f"{victim}: no kill met a sweep that had finished something")
finish()
