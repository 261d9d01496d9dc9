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

from program import PROGRAM, expect, expect_equal, finish

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
OLD = 6  # the schema of what is migrated
RUNS, EPOCHS = 2000, 20  # large enough that a kill meets it on its way
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEED = int(os.environ.get("APPROXTRAIN_TEST_SEED", random.randrange(1 << 30)))


def make_old(db):
    """A store as a program of schema OLD left it."""
    connection = sqlite3.connect(db)
    for version in range(1, OLD + 1):
        name = "schema.sql" if version == 1 else f"schema{version}.sql"
        with open(os.path.join(ROOT, "results/store", name), encoding="utf-8") as sql:
            connection.executescript(sql.read())
    connection.execute(f"PRAGMA user_version = {OLD}")
    with connection:
        connection.execute("INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}')")
        connection.execute("INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '')")
        connection.execute("INSERT INTO dataset VALUES(1, 'mnist', 'full', 'feed', 9, 9, 0)")
        connection.execute("INSERT INTO experiment VALUES(1, 'test:old', '', '', '', '', NULL, "
                           "NULL, 'null', '2026-01-01T00:00:00Z')")
        connection.executemany(
            "INSERT INTO cell VALUES(?1, printf('%016x', ?1), 'accuracy', 'zero', '[]', 'lenet', "
            "'mnist', ?1, 'paper', 9, '{}', 1, 'fp32', 1, 'cpu', '{}', 'shared')",
            [(number,) for number in range(1, RUNS + 1)])
        connection.execute(
            "INSERT INTO experiment_cell SELECT cell_id, 1, cell_id, seed, 'zero', '', 'lenet', "
            "dataset, purpose, seed, '' FROM cell")
        connection.execute(
            "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
            "run_directory, started_utc, ended_utc, train_ns, wall_ns, environment) "
            "SELECT cell_id, 1, 1, 1, 1, 'finished', 0, 'runs/' || cell_id, "
            "'2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z', 1, 2, '{}' FROM cell")
        connection.executemany(
            "INSERT INTO metric SELECT run_id, 'accuracy', 'test', ?1, ?1, ?1, 0.5, NULL FROM run",
            [(epoch,) for epoch in range(1, EPOCHS + 1)])
    connection.close()


def version_of(db):
    connection = sqlite3.connect(db)
    try:
        expect_equal(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",), db)
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def content(db):
    """Every row of every table."""
    connection = sqlite3.connect(db)
    try:
        return list(connection.iterdump())
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
    make_old(store)
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
