"""What keeps a store, on a disk that is full, fails or may not be written to, at one call after the
other: what it changes is as before or as it was to be, what it makes is whole or not there, it
leaves nothing half done, and the same command, once the disk is well again, comes to where an
undisturbed one does. The same after a kill at one call after the other, which may leave files.

`store_faults_test.py [EVERY]`: every so many calls of a command, 24 unless told.
"""

import errno
import glob
import os
import random
import shutil
import signal
import sys
import time

from disk_faults import KINDS, SHIM, calls_in, calls_of, faults
from old_store import content, make_old
from program import Folder, expect, expect_equal, finish

EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 24

SWEEP = """id = "fake:kept"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

# What is done; the store that it changes or makes.
COMMANDS = {
    "backup": (("db", "backup", "copy.db", "--db", "t.db"), "copy.db"),
    "rebuild": (("db", "rebuild", "new.db", "--db", "t.db"), "new.db"),
    "merge": (("db", "merge", "other.db", "--db", "t.db"), "t.db"),
    "gc": (("db", "gc", "--finished", "--backups", "--db", "t.db"), "t.db"),
    "migrate": (("db", "migrate", "--db", "old.db"), "old.db"),
}
STORES = ("t.db", "other.db", "old.db")
SAFETY_COPY = "old.db.v6.backup"


class Kept:
    """Stores of which each trial gets a copy where they were: they say where their runs lie."""

    def __init__(self):
        self.folder = Folder(SWEEP)
        for db, more, fake in (("t.db", (), "1=throw"), ("other.db", ("--seeds", "2-3"), "")):
            code, _, err = self.folder.run("sweep", "sweep.toml", "--db", db, "--progress", "none",
                                           *more, fake=fake)
            expect(code in (0, 3), f"{db}: exit code {code} ({err})")
        make_old(self.folder.file("old.db"), 6, 20, 2)
        shutil.copy(self.folder.file("old.db"), self.folder.file("t.db.v6.backup"))
        self.saved = self.folder.path + ".saved"
        shutil.copytree(self.folder.path, self.saved)

    def fresh(self):
        shutil.rmtree(self.folder.path)
        shutil.copytree(self.saved, self.folder.path)
        return self.folder

    def remove(self):
        for path in (self.folder.path, self.saved):
            shutil.rmtree(path)


def stores(folder):
    """What is in each that is there; opening one undoes what was half written."""
    return {os.path.basename(path): content(path) for path in glob.glob(folder.file("*.db"))}


def folders(folder):
    """Beside t.db, of runs and checkpoints."""
    return sorted(name for name in os.listdir(folder.file("t.runs")) if name != "journal")


def undisturbed(kept, command):
    """What the stores and the folders are then, and how many calls of each kind it takes."""
    folder = kept.fresh()
    counts = folder.file("counts")
    code, _, err = folder.run(*COMMANDS[command][0], env={"LD_PRELOAD": SHIM,
                                                          "APPROXTRAIN_FAULT_COUNTS": counts})
    expect_equal(code, 0, f"{command}: exit code ({err})")
    (calls,) = calls_in(counts)
    return stores(folder), folders(folder), calls


def rebuild(folder, command, what):
    """From the journal and the logs that are left. What was merged is in neither until the journal
    begins anew, and is asked for again."""
    code, _, err = folder.run("db", "rebuild", "rebuilt", "--db", "t.db")
    said = "nothing is missing" in err or command == "merge" and "merge them again" in err
    expect_equal((code, said), (0, True), f"{what}: rebuilt ({err})")
    if command == "merge":
        code, _, err = folder.run("db", "merge", "other.db", "--db", "rebuilt")
        expect_equal(code, 0, f"{what}: merged into what was rebuilt ({err})")


def disturbed(kept, command, fault, before, after):
    """Whether the command felt it."""
    what, (arguments, changed) = f"{command}, {fault}", COMMANDS[command]
    folder = kept.fresh()
    names = set(os.listdir(folder.path))
    first, _, err = folder.run(*arguments, env={"LD_PRELOAD": SHIM, "APPROXTRAIN_FAULT": fault})
    refusal = 6 if changed in STORES else 2  # of a store, or of a copy that the user names
    expect_equal(first, refusal if "approxtrain: " in err else 0, f"{what}: exit code ({err})")
    left = set(os.listdir(folder.path)) - names
    if not fault.startswith("remove"):  # what cannot be removed stays
        expect(left <= {changed, f"{changed}-journal", SAFETY_COPY}, f"{what}: left {left}")
    now = stores(folder)
    expect(all(now[db] == before[db] for db in STORES if db != changed),
           f"{what}: another store has changed")
    expect(now.get(changed) in (before.get(changed), after[changed]),
           f"{what}: {changed} is neither the old one nor the new one ({err})")
    if first == 0:
        expect(now.get(changed) == after[changed], f"{what}: exit code 0, and not done ({err})")
    if SAFETY_COPY in left:
        expect(content(folder.file(SAFETY_COPY)) == before["old.db"], f"{what}: the copy of before")
    if changed == "t.db":
        rebuild(folder, command, what)
    # Of what is there already nothing is made again.
    if changed in STORES or changed not in now:
        again, _, err = folder.run(*arguments)
        expect_equal(again, 0, f"{what}: exit code of another try ({err})")
        expect(stores(folder) == after, f"{what}: after another try ({err})")
    if changed == "t.db":
        expect(folder.tables("rebuilt") == folder.tables("t.db"), f"{what}: rebuilt otherwise")
    return first != 0


def killed(kept, command, kind, call, before, after, of_runs):
    """At this call; what it leaves beside the store is SQLite's and the journal's to undo."""
    what, (arguments, changed) = f"{command}, killed at {kind} {call}", COMMANDS[command]
    folder = kept.fresh()
    code, _, _ = folder.run(*arguments, env={"LD_PRELOAD": SHIM,
                                             "APPROXTRAIN_FAULT": f"{kind}:{call}:0"})
    expect_equal(code, -signal.SIGKILL, f"{what}: exit code")
    if changed == "t.db":  # before anything opens it
        rebuild(folder, command, what)
    now = stores(folder)
    expect(all(now[db] == before[db] for db in STORES if db != changed),
           f"{what}: another store has changed")
    expect(now.get(changed) in (before.get(changed), after[changed]),
           f"{what}: {changed} is neither the old one nor the new one")
    if changed in STORES or changed not in now:
        code, _, err = folder.run(*arguments)
        expect_equal(code, 0, f"{what}: exit code of another try ({err})")
        now = stores(folder)
        expect(all(now[db] == content for db, content in after.items()), f"{what}: another try")
        expect_equal(folders(folder), of_runs, f"{what}: folders after another try")
    if changed == "t.db":
        expect(folder.tables("rebuilt") == folder.tables("t.db"), f"{what}: rebuilt otherwise")


def new_names(kept):
    """What appeared meanwhile is not replaced; not every file system can see to that itself."""
    for number, code, said in ((errno.EEXIST, 2, "exists already; nothing is replaced"),
                               (errno.EINVAL, 0, "nothing is missing")):
        folder = kept.fresh()
        got, _, err = folder.run(*COMMANDS["rebuild"][0], env={
            "LD_PRELOAD": SHIM, "APPROXTRAIN_FAULT": f"rename:1:{number}:1"})
        expect_equal((got, said in err), (code, True), f"rename, {number}: ({err})")
        expect_equal(glob.glob(folder.file("new.db*")), [folder.file("new.db")] * (code == 0),
                     f"rename, {number}: left")


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
kept = Kept()
at_first = stores(kept.folder)
for command in COMMANDS:
    at_last, of_runs, calls = undisturbed(kept, command)
    print(f"calls of db {command}: {calls}", flush=True)
    tried = felt = 0
    for kind in KINDS:
        expect(calls[kind] > 0, f"db {command}: no {kind} was seen")
    for fault in faults(calls, EVERY, rng):
        felt += disturbed(kept, command, fault, at_first, at_last)
        tried += 1
    print(f"{tried} faults of db {command}, {felt} ended it with an error", flush=True)
    expect(felt > tried / 2, f"db {command}: most faults were not felt")
    kills = list(calls_of(calls, EVERY, rng))
    for kind, call in kills:
        killed(kept, command, kind, call, at_first, at_last, of_runs)
    print(f"{len(kills)} kills of db {command}", flush=True)
new_names(kept)
kept.remove()
finish()
