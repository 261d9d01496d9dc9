"""A disk that is full, fails or may not be written to, at one call after the other of a small
sweep, of its coordinator or of one of its workers: its database opens, what was said to be finished
is in it and in its log, and the same command, once the disk is well again, has the results of a
sweep that nothing happened to. What a worker cannot write costs its run and no other.

`faults_test.py [EVERY]`: every so many calls of the coordinator, 8 unless told; 1 takes some
minutes. A worker makes few: each of them fails.
"""

import os
import random
import sys
import time

from disk_faults import KINDS, SHIM, calls_in, faults
from program import Folder, ends_as_finished, expect, expect_equal, finish, said_to_be_finished

EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 8

SWEEP = """id = "fake:faults"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

FINISHED = ("SELECT r.uid, r.attempt, r.ended_utc, c.run_key, r.run_directory FROM run r "
            "JOIN cell c USING(cell_id) WHERE r.state = 'finished'")
WORKERS = "APPROXTRAIN_FAULT_WORKERS"


def sweep(folder, **shim):
    env = {"LD_PRELOAD": SHIM, **shim} if shim else {}
    return folder.sweep("--progress", "log", "--rerun", "failed", env=env, timeout=300)


def undisturbed(**shim):
    """The results, how many calls of each kind one process makes, the cells and their keys."""
    with Folder(SWEEP) as folder:
        counts = folder.file("counts")
        code, _, err = sweep(folder, APPROXTRAIN_FAULT_COUNTS=counts, **shim)
        expect_equal(code, 0, f"undisturbed: exit code ({err})")
        expect_equal(len(said_to_be_finished(err)), 4, f"undisturbed: {err}")
        processes = calls_in(counts)
        calls = {kind: max(one[kind] for one in processes) for kind in KINDS}
        keys = {(method.split(":")[0], seed): key for method, seed, key in
                folder.query("SELECT method, seed, run_key FROM cell ORDER BY run_key")}
        return folder.results(), calls, keys


def is_there(folder):
    return os.path.exists(folder.file("t.db")) and os.path.getsize(folder.file("t.db")) > 0


def disturbed(fault, wanted, victim=None, keys=None):
    """Whether the sweep felt it. Of one run's worker, or (None) of the coordinator."""
    what = f"{victim or 'coordinator'}, {fault}"
    shim = {WORKERS: keys[victim][:12]} if victim else {}
    with Folder(SWEEP) as folder:
        first, _, err = sweep(folder, APPROXTRAIN_FAULT=fault, **shim)
        said = set(said_to_be_finished(err))
        expect(first in range(8), f"{what}: exit code {first} ({err})")
        if victim:
            others = set(keys) - {victim}
            expect((first, said) in ((3, others), (0, set(keys))),
                   f"{what}: exit code {first}, finished {said} ({err})")
        if said:
            expect(is_there(folder), f"{what}: no database of {said}")
        # Whoever opens it next takes back what was half written.
        if is_there(folder):
            code, _, message = folder.run("report", "table", "--db", "t.db")
            expect_equal(code, 0, f"{what}: report ({message})")
        kept = set()
        if is_there(folder) and folder.query("SELECT 1 FROM sqlite_schema WHERE name = 'run'"):
            folder.check_database()
            states = folder.states()
            lost = {one for one in said if states.get(one) != "finished"}
            expect(not lost, f"{what}: {lost} were said to be finished ({err})")
            kept = set(folder.query(FINISHED))
            # It would not come back if the database were lost.
            torn = [run for run in kept if not ends_as_finished(run[-1])]
            expect(not torn, f"{what}: finished, and not by their logs: {torn}")
        code, _, err = sweep(folder)
        expect_equal(code, 0, f"{what}: exit code of the second sweep ({err})")
        expect_equal(folder.results(), wanted, f"{what}: results")
        expect(kept <= set(folder.query(FINISHED)), f"{what}: runs that were finished are gone")
        folder.check_database()
        return first != 0


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
for process, every, shim in (("coordinator", EVERY, {}), ("worker", 1, {WORKERS: "--worker"})):
    results, calls, keys = undisturbed(**shim)
    print(f"calls of a {process}: {calls}", flush=True)
    tried = felt = 0
    for kind in KINDS:
        expect(calls[kind] > 0 or kind in ("rename", "remove"),
               f"no {kind} was seen: is the shim loaded?")
    for fault in faults(calls, every, rng):
        victim = rng.choice(list(keys)) if shim else None
        felt += disturbed(fault, results, victim, keys)
        tried += 1
    print(f"{tried} faults of a {process}, {felt} ended its sweep with an error", flush=True)
    expect(felt > tried / 2, f"{process}: most faults were not felt")
finish()
