"""`db migrate` killed at random moments: the database is the old one or the new one, never between,
and the next try brings it to where an undisturbed one is.

`migration_kills_test.py [KILLS]`: so many, 10 unless told.
"""

import glob
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from old_store import content, make_old
from program import PROGRAM, expect, expect_equal, finish

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
OLD = 6  # the schema of what is migrated
RUNS, EPOCHS = 2000, 20  # large enough that a kill meets it on its way
SEED = int(os.environ.get("APPROXTRAIN_TEST_SEED", random.randrange(1 << 30)))


def version_of(db):
    connection = sqlite3.connect(db)
    try:
        expect_equal(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",), db)
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def migrate(db):
    return subprocess.run([PROGRAM, "db", "migrate", "--db", db], capture_output=True, text=True)


def whole_or_absent(backup, old):
    if os.path.exists(backup):
        expect_equal(version_of(backup), old, "the copy of before")


def main():
    folder = tempfile.mkdtemp(prefix="approxtrain-test-")
    draw = random.Random(SEED)
    store, new, old = os.path.join(folder, "old.db"), os.path.join(folder, "new.db"), OLD
    make_old(store, OLD, RUNS, EPOCHS)
    shutil.copy(store, new)
    begin = time.monotonic()
    done = migrate(new)
    took = time.monotonic() - begin
    expect_equal(done.returncode, 0, done.stderr)
    expect(version_of(new) > old, "this program migrates nothing")
    wanted, before = content(new), content(store)
    found = {"old": 0, "new": 0}
    for kill in range(KILLS):
        db = os.path.join(folder, f"{kill}.db")
        shutil.copy(store, db)
        process = subprocess.Popen([PROGRAM, "db", "migrate", "--db", db],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 1.2 * took))
        process.kill()
        process.wait()
        now = version_of(db)
        expect(now in (old, version_of(new)), f"kill {kill}: schema {now}")
        expect_equal(content(db) == (before if now == old else wanted), True,
                     f"kill {kill}: content of schema {now}")
        found["old" if now == old else "new"] += 1
        whole_or_absent(f"{db}.v{old}.backup", old)
        done = migrate(db)
        expect_equal(done.returncode, 0, done.stderr)
        expect(content(db) == wanted, f"kill {kill}: after another try")
        for left in glob.glob(db + "*"):
            os.remove(left)
    shutil.rmtree(folder)
    print(f"{KILLS} kills during a migration from schema {old} to {version_of_text(wanted)}: "
          f"{found['old']} old, {found['new']} new, none between (seed {SEED})")


def version_of_text(_):
    done = subprocess.run([PROGRAM, "db", "schema"], capture_output=True, text=True)
    return done.stdout.count("-- Version ") + 1


main()
finish()
