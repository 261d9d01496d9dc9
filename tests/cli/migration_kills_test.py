"""Stores of every released schema are migrated, and `db migrate` is killed meanwhile: at random
moments and before one call of the file system after the other. The database is the old one or the
new one, never between, and the next try brings it to where an undisturbed one is. A migration keeps
every value.

`migration_kills_test.py [KILLS [EVERY]]`: so many at random moments, by turns over the schemas, 10
unless told; and at every so many calls, 24 unless told.
"""

import glob
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from disk_faults import SHIM, calls_in, calls_of
from old_store import content, make_old, migrations, rows
from program import PROGRAM, expect, expect_equal, finish

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
EVERY = int(sys.argv[2]) if len(sys.argv) > 2 else 24
NEW = len(migrations())
# Large enough that a kill meets the migration on its way.
RUNS, EPOCHS = (2000, 20) if KILLS > 10 else (500, 20)
SEED = int(os.environ.get("APPROXTRAIN_TEST_SEED", random.randrange(1 << 30)))


def version_of(db):
    connection = sqlite3.connect(db)
    try:
        expect_equal(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",), db)
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


class Migration:
    """Of a store of one schema; trials work on copies."""

    def __init__(self, folder, schema, runs, epochs):
        self.schema = schema
        self.old = os.path.join(folder, f"old-{schema}-{runs}.db")
        self.trial = os.path.join(folder, "trial.db")
        make_old(self.old, schema, runs, epochs)
        self.before = content(self.old)
        self.counts = os.path.join(folder, "counts")
        self.fresh()
        begin = time.monotonic()
        self.done(LD_PRELOAD=SHIM, APPROXTRAIN_FAULT_COUNTS=self.counts)
        self.took = time.monotonic() - begin
        (self.calls,) = calls_in(self.counts)
        os.remove(self.counts)
        self.after = content(self.trial)
        expect_equal(version_of(self.trial), NEW, f"schema {schema}: afterwards")
        kept = rows(self.trial, like=self.old)
        for table, wanted in rows(self.old).items():
            expect(wanted != [], f"schema {schema}: no rows in {table}")
            expect(kept[table] == wanted, f"schema {schema}: {table} has other values")

    def fresh(self):
        for left in glob.glob(self.trial + "*"):
            os.remove(left)
        shutil.copy(self.old, self.trial)

    def start(self, **env):
        return subprocess.Popen([PROGRAM, "db", "migrate", "--db", self.trial], text=True,
                                env={**os.environ, **env}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def done(self, **env):
        process = self.start(**env)
        err = process.communicate(timeout=120)[1]
        expect_equal(process.returncode, 0, f"schema {self.schema}: exit code ({err})")

    def after_a_kill(self, what):
        """Whether it is the new one."""
        what = f"schema {self.schema}, killed {what}"
        now = version_of(self.trial)
        expect(now in (self.schema, NEW), f"{what}: schema {now}")
        wanted = self.before if now == self.schema else self.after
        expect(content(self.trial) == wanted, f"{what}: content of schema {now}")
        backup = f"{self.trial}.v{self.schema}.backup"
        if os.path.exists(backup):
            expect(content(backup) == self.before, f"{what}: the copy of before")
        self.done()
        expect(content(self.trial) == self.after, f"{what}: after another try")
        return now == NEW

    def kill_after(self, seconds):
        self.fresh()
        process = self.start()
        time.sleep(seconds)
        process.kill()
        process.communicate()
        return self.after_a_kill(f"after {seconds:.3f} s")

    def kill_at(self, kind, call):
        self.fresh()
        process = self.start(LD_PRELOAD=SHIM, APPROXTRAIN_FAULT=f"{kind}:{call}:0")
        process.communicate(timeout=120)
        expect_equal(process.returncode, -signal.SIGKILL, f"schema {self.schema}: {kind} {call}")
        return self.after_a_kill(f"at {kind} {call}")


def main():
    print(f"APPROXTRAIN_TEST_SEED={SEED}", flush=True)
    folder = tempfile.mkdtemp(prefix="approxtrain-test-")
    draw = random.Random(SEED)
    schemas = range(1, NEW)
    at_calls, new = 0, 0
    for schema in schemas:
        small = Migration(folder, schema, 20, 2)
        for kind, call in calls_of(small.calls, EVERY, draw):
            new += small.kill_at(kind, call)
            at_calls += 1
    print(f"{at_calls} kills at calls of the file system: {at_calls - new} old, {new} new, none "
          "between")
    new = 0
    for schema in schemas:
        large = Migration(folder, schema, RUNS, EPOCHS)
        for _ in range(schema - 1, KILLS, len(schemas)):
            new += large.kill_after(draw.uniform(0, 1.2 * large.took))
        os.remove(large.old)
    shutil.rmtree(folder)
    print(f"{KILLS} kills at random moments during migrations from schema 1 to {NEW - 1} to {NEW}: "
          f"{KILLS - new} old, {new} new, none between")


main()
finish()
