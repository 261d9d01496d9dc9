"""The power is cut at one change of the disk after the other, of a small sweep and of `db gc`: the
database opens, each run that was said to be finished is in it and comes back from the journal and
the logs, and the same command, once the power is back, comes to where an undisturbed one does
(power_cut.py says what may be left on a disk). The test sees it when the program does not
synchronise what it must.

`power_loss_test.py [CUTS]`: of each command, drawn at random, 24 unless told; `all`: before each
change twice, and each kind of file that is never synchronised.
"""

import copy
import dataclasses
import os
import random
import sqlite3
import sys
import time

from disk_faults import SHIM
from old_store import content
from power_cut import Cut, Disk, read_trace, restore
from program import Folder, ends_as_finished, expect, expect_equal, finish, said_to_be_finished

ALL = sys.argv[1:] == ["all"]
CUTS = int(sys.argv[1]) if sys.argv[1:] and not ALL else 24
MOST_TRIES = 400  # for a cut that shows that nothing was synchronised

SWEEP = """id = "fake:power"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

FINISHED = ("SELECT c.method, c.seed, r.uid, r.attempt, c.run_key, r.run_directory FROM run r "
            "JOIN cell c USING(cell_id) WHERE r.state = 'finished'")

# Whether a sync is left out, to see that the test misses it.
UNSYNCED = {
    "everything": lambda sync: True,
    "the database": lambda sync: sync.data.endswith(b"t.db"),
    "SQLite's journal": lambda sync: sync.data.endswith(b"t.db-journal"),
    "the store's journal": lambda sync: b"/journal/" in sync.data,
    "logs of runs": lambda sync: sync.data.endswith(b"events.jsonl"),
    "folders": lambda sync: sync.of_folder,
}


@dataclasses.dataclass
class Traced:
    """A command that nothing happened to."""
    folder: Folder
    disk: Disk  # before it
    changes: list
    said: str


def traced(folder, *arguments):
    trace, said = folder.path + ".trace", folder.path + ".said"
    before = Disk(folder.path)
    disk = copy.deepcopy(before)
    env = {"LD_PRELOAD": SHIM, "APPROXTRAIN_TRACE": trace, "APPROXTRAIN_TRACE_FOLDER": folder.path,
           "APPROXTRAIN_TRACE_SAID": said}
    try:
        with open(said, "wb") as err:
            process = folder.start(*arguments, env=env, stderr=err)
        process.communicate(timeout=120)
        with open(said, encoding="utf-8") as err:
            text = err.read()
        expect_equal(process.returncode, 0, f"{arguments}: exit code ({text})")
        changes = read_trace(trace)
    finally:
        for path in (trace, said):
            if os.path.exists(path):
                os.remove(path)
    for change in changes:
        disk.apply(change)
    there, known = Disk(folder.path).now(), disk.now()
    unlike = {path for path in there | known if there.get(path, 0) != known.get(path, 0)}
    expect(not unlike, f"{arguments}: changes that were not written down, of {unlike}")
    return Traced(folder, before, changes, text)


class Problems(list):
    def expect(self, condition, what):
        if not condition:
            self.append(what)
        return condition


def is_there(folder):
    return os.path.exists(folder.file("t.db")) and os.path.getsize(folder.file("t.db")) > 0


def finished_in(folder, db="t.db"):
    """The rows, and (method, seed) of each."""
    if not folder.query("SELECT 1 FROM sqlite_schema WHERE name = 'run'", db):
        return set(), set()
    rows = set(folder.query(FINISHED, db))
    return rows, {(row[0].split(":")[0], row[1]) for row in rows}


def expect_sound(folder, problems):
    problems.expect(folder.query("PRAGMA integrity_check") == [("ok",)], "integrity_check")
    problems.expect(folder.query("PRAGMA foreign_key_check") == [], "foreign_key_check")


def opens(folder, problems):
    code, _, err = folder.run("report", "table", "--db", "t.db")
    problems.expect(code == 0, f"report: exit code {code} ({err})")
    expect_sound(folder, problems)


def sweeps_on(folder, wanted, kept, problems):
    code, _, err = folder.sweep()
    problems.expect(code == 0, f"the sweep goes on: exit code {code} ({err})")
    problems.expect(folder.results() == wanted, "the sweep goes on: results")
    gone = kept - finished_in(folder)[0]
    problems.expect(not gone, f"the sweep goes on: runs that were finished are gone: {gone}")
    expect_sound(folder, problems)
    code, out, err = folder.run("db", "check", "--db", "t.db")
    problems.expect(code == 0, f"db check at last: exit code {code} ({out} {err})")


def rebuilds(folder, said, problems):
    code, _, err = folder.run("db", "rebuild", "rebuilt", "--db", "t.db")
    if not problems.expect(code == 0, f"db rebuild: exit code {code} ({err})"):
        return
    lost = set(said) - finished_in(folder, "rebuilt")[1]
    problems.expect(not lost, f"db rebuild: {lost} were said to be finished ({err})")


def after_sweep(folder, said, wanted):
    """What is wrong with what is left of a sweep, after these runs were said to be finished."""
    problems, kept = Problems(), set()
    if said:
        problems.expect(is_there(folder), f"no database, and {said} were said to be finished")
        rebuilds(folder, said, problems)
    if is_there(folder):
        opens(folder, problems)
        kept, there = finished_in(folder)
        lost = set(said) - there
        problems.expect(not lost, f"{lost} were said to be finished")
        torn = [row for row in kept if not ends_as_finished(row[-1])]
        problems.expect(not torn, f"finished, and not by their logs: {torn}")
    sweeps_on(folder, wanted, kept, problems)
    return problems


def after_gc(folder, before, after):
    problems = Problems()
    code, _, err = folder.run("db", "rebuild", "rebuilt", "--db", "t.db")
    problems.expect(code == 0 and "nothing is missing" in err, f"db rebuild: {code} ({err})")
    opens(folder, problems)
    now = content(folder.file("t.db"))
    problems.expect(now in (before, after), "the database is neither the old one nor the new one")
    problems.expect(folder.tables("rebuilt") == folder.tables("t.db"), "db rebuild: other tables")
    code, _, err = folder.run("db", "gc", "--finished", "--backups", "--db", "t.db")
    problems.expect(code == 0, f"db gc again: exit code {code} ({err})")
    problems.expect(content(folder.file("t.db")) == after, "db gc again: another database")
    sweeps_on(folder, folder.results(), finished_in(folder)[0], problems)
    return problems


def power_is_cut(run, count, cut, check, unsynced=None):
    """What is wrong after so many changes, where some syncs do nothing (`unsynced`)."""
    disk = copy.deepcopy(run.disk)
    for change in run.changes[:count]:
        if change.kind != "sync" or unsynced is None or not unsynced(change):
            disk.apply(change)
    restore(run.folder.path, disk.left(cut))
    said = run.changes[count].said if count < len(run.changes) else len(run.said.encode())
    try:
        return check(said_to_be_finished(run.said.encode()[:said].decode(errors="replace")))
    except (sqlite3.Error, OSError) as error:
        return [f"{type(error).__name__}: {error}"]


def cuts_of(run, seed):
    """How many changes were made before each, and what is left."""
    rng = random.Random(seed)
    everywhere = range(len(run.changes) + 1)
    if ALL:
        for count in everywhere:
            yield count, Cut(rng, 0, 0)
            yield count, Cut.draw(rng)
    else:
        for count in rng.sample(everywhere, min(CUTS, len(everywhere))):
            yield count, Cut.draw(rng)


def cut_everywhere(what, run, check, seed):
    tried = 0
    for count, cut in cuts_of(run, seed):
        at = run.changes[count] if count < len(run.changes) else "the end"
        for problem in power_is_cut(run, count, cut, check):
            expect(False, f"{what}, cut before change {count} ({at}), {cut}: {problem}")
        tried += 1
    print(f"{tried} cuts of {what}, which makes {len(run.changes)} changes", flush=True)


def sees_missing_syncs(run, check, seed):
    """Cuts show that a program does not synchronise some of its files."""
    tries = {}
    for what, unsynced in UNSYNCED.items() if ALL else [("everything", UNSYNCED["everything"])]:
        left_out = [change for change in run.changes if change.kind == "sync" and unsynced(change)]
        expect(left_out, f"{what}: no sync of it was written down")
        rng = random.Random(seed)
        for number in range(1, MOST_TRIES + 1):
            count = rng.randrange(len(run.changes) + 1)
            if power_is_cut(run, count, Cut.draw(rng), check, unsynced):
                tries[what] = number
                break
        else:
            expect(False, f"without syncs of {what}: {MOST_TRIES} cuts did no harm")
    print("cuts until it shows that syncs are left out, of " +
          ", ".join(f"{what} {number}" for what, number in tries.items()), flush=True)


def sweep(seed):
    with Folder(SWEEP) as folder:
        run = traced(folder, "sweep", "sweep.toml", "--db", "t.db", "--progress", "log")
        expect_equal(len(said_to_be_finished(run.said)), 4, f"the sweep: {run.said}")
        wanted = folder.results()

        def check(said):
            return after_sweep(folder, said, wanted)

        cut_everywhere("a sweep", run, check, seed)
        sees_missing_syncs(run, check, seed)


def garbage(seed):
    with Folder(SWEEP) as folder:
        code, _, err = folder.sweep(fake="1=throw")
        expect_equal(code, 3, f"a sweep that fails: exit code ({err})")
        code, _, err = folder.sweep("--rerun", "failed")
        expect_equal(code, 0, f"the sweep again: exit code ({err})")
        before = content(folder.file("t.db"))
        run = traced(folder, "db", "gc", "--finished", "--backups", "--db", "t.db")
        removed = [change for change in run.changes if change.kind == "remove"]
        expect(len(removed) > 6, f"db gc removed {len(removed)} files and folders")
        after = content(folder.file("t.db"))
        cut_everywhere("db gc", run, lambda _: after_gc(folder, before, after), seed)


seed = os.environ.get("APPROXTRAIN_TEST_SEED", str(time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
sweep(seed)
garbage(seed)
finish()
