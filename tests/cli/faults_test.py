"""A disk that is full, fails or may not be written to, at one call after the other of a small
sweep: its database opens, what was said to be finished is in it, and the same command, once the
disk is well again, has the results of a sweep that nothing happened to.

`faults_test.py [EVERY]`: every so many calls, 8 unless told; 1 takes some minutes.
"""

import errno
import os
import random
import re
import sys
import time

from program import Folder, expect, expect_equal, finish

SHIM = os.path.abspath(os.environ["APPROXTRAIN_FAULT_SHIM"])
EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 8

SWEEP = """id = "fake:faults"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

KINDS = ("write", "sync", "rename", "open")
# What fails, and whether all that follows does too: a full disk stays full.
FAULTS = [(errno.ENOSPC, ""), (errno.EIO, ":1"), (errno.EROFS, "")]
SAID_TO_BE_FINISHED = re.compile(r"^\[\d+/\d+\] (\w+),.* seed (\d+): finished", re.MULTILINE)


def sweep(folder, fault="", counts=None):
    env = {"LD_PRELOAD": SHIM, "APPROXTRAIN_FAULT": fault} if fault else {}
    if counts:
        env = {"LD_PRELOAD": SHIM, "APPROXTRAIN_FAULT_COUNTS": counts}
    return folder.sweep("--progress", "log", "--rerun", "failed", env=env, timeout=300)


def undisturbed():
    with Folder(SWEEP) as folder:
        counts = folder.file("counts")
        code, _, err = sweep(folder, counts=counts)
        expect_equal(code, 0, f"undisturbed: exit code ({err})")
        expect_equal(len(SAID_TO_BE_FINISHED.findall(err)), 4, f"undisturbed: {err}")
        with open(counts) as lines:
            calls = [max(numbers) for numbers in zip(*(map(int, line.split()) for line in lines))]
        return folder.results(), dict(zip(KINDS, calls))


def is_there(folder):
    return os.path.exists(folder.file("t.db")) and os.path.getsize(folder.file("t.db")) > 0


def disturbed(fault, wanted):
    with Folder(SWEEP) as folder:
        code, _, err = sweep(folder, fault)
        expect(code in range(8), f"{fault}: exit code {code} ({err})")
        said = {(method, int(seed)) for method, seed in SAID_TO_BE_FINISHED.findall(err)}
        if said:
            expect(is_there(folder), f"{fault}: no database of {said}")
        # Whoever opens it next takes back what was half written.
        if is_there(folder):
            code, _, message = folder.run("report", "table", "--db", "t.db")
            expect_equal(code, 0, f"{fault}: report ({message})")
        if is_there(folder) and folder.query("SELECT 1 FROM sqlite_schema WHERE name = 'run'"):
            folder.check_database()
            states = folder.states()
            lost = {one for one in said if states.get(one) != "finished"}
            expect(not lost, f"{fault}: {lost} were said to be finished ({err})")
        code, _, err = sweep(folder)
        expect_equal(code, 0, f"{fault}: exit code of the second sweep ({err})")
        expect_equal(folder.results(), wanted, f"{fault}: results")
        folder.check_database()


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
results, calls = undisturbed()
print(f"calls: {calls}", flush=True)
tried = 0
for kind in KINDS:
    expect(calls[kind] > 0 or kind == "rename", f"no {kind} was seen: is the shim loaded?")
    for number, count in FAULTS:
        for first in range(1 + rng.randrange(min(EVERY, max(1, calls[kind]))), calls[kind] + 1,
                           EVERY):
            disturbed(f"{kind}:{first}:{number}{count}", results)
            tried += 1
print(f"{tried} faults")
finish()
