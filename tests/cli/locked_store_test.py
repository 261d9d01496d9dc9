"""Another program locks the database during a sweep. The sweep waits, and loses nothing. After a
minute it gives up; the runs that ended meanwhile are recorded by the next sweep, not done again.

`locked_store_test.py [TRIALS [LONG]]`: locks of up to two seconds, 4 unless told, and locks of 90
seconds, none unless told. Several trials run at a time: they mostly wait.
"""

import concurrent.futures
import os
import random
import sqlite3
import sys
import time

from program import Folder, ends_as_finished, expect, expect_equal, finish, wait_until

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
LONG = int(sys.argv[2]) if len(sys.argv) > 2 else 0
SHORT_S = 2 if TRIALS < 20 else 5
LONG_S = 90  # the program gives up after 60

SWEEP = """id = "fake:locked"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-2"
"""
STEP = {"APPROXTRAIN_FAKE_STEP_MS": "20"}
RUNS = "SELECT uid, state, run_directory FROM run"


def lock(folder, seconds):
    """By a connection that waits for its turn, and then keeps everybody out."""
    other = sqlite3.connect(folder.file("t.db"), isolation_level=None, timeout=30)
    other.execute("BEGIN EXCLUSIVE")
    time.sleep(seconds)
    other.execute("ROLLBACK")
    other.close()


def trial(number, seed, is_long, wanted):
    rng = random.Random(seed)
    with Folder(SWEEP) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--jobs", "2", env=STEP)
        wait_until(lambda: folder.query("SELECT 1 FROM run"))
        time.sleep(rng.uniform(0, 0.4))
        seconds = LONG_S if is_long else rng.uniform(0.05, SHORT_S)
        lock(folder, seconds)
        err = process.communicate(timeout=300)[1].decode()
        what = f"trial {number}, a lock of {seconds:.2f} s"
        # A sweep that had written all before the lock does not meet it.
        gave_up = process.returncode == 6
        expect(process.returncode in (0, 6), f"{what}: exit code {process.returncode} ({err})")
        expect(not gave_up or is_long, f"{what}: given up ({err})")
        done = {uid for uid, state, path in folder.query(RUNS)
                if state == "finished" or state == "running" and ends_as_finished(path)}
        code, _, err = folder.sweep()
        expect_equal(code, 0, f"{what}: exit code of the second sweep ({err})")
        expect_equal(folder.results(), wanted, f"{what}: results")
        kept = {uid for uid, state, _ in folder.query(RUNS) if state == "finished"}
        expect(done <= kept, f"{what}: {len(done - kept)} trainings were lost")
        expect_equal(len(kept), 6, f"{what}: finished runs")
        folder.check_database()
        return gave_up


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
with Folder(SWEEP) as folder:
    code, _, err = folder.sweep(env=STEP)
    expect_equal(code, 0, f"undisturbed: exit code ({err})")
    results = folder.results()
with concurrent.futures.ThreadPoolExecutor(max_workers=4 if not LONG else LONG) as pool:
    tried = [pool.submit(trial, number, f"{seed}-{number}", number < LONG, results)
             for number in range(TRIALS + LONG)]
    gave_up = sum(one.result() for one in tried)
print(f"{TRIALS} locks of up to {SHORT_S} s and {LONG} of {LONG_S} s: {gave_up} sweeps gave up, "
      "nothing was lost")
finish()
