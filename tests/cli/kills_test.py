"""Coordinators and workers killed at random moments: the same command finishes the sweep, nothing
is lost or doubled, and its results are those of a sweep that nobody disturbed."""

import os
import random
import signal
import sys
import time

from program import Folder, expect, expect_equal, finish

SWEEP = """id = "fake:kills"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position"]
seeds = "0-3"
"""

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
STEP = {"APPROXTRAIN_FAKE_STEP_MS": "10"}


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


def disturbed(victim, wanted, table, rng):
    kills = 0
    while kills < KILLS:
        with Folder(SWEEP) as folder:
            code = None
            for _ in range(200):
                process = folder.start("sweep", "sweep.toml", "--db", "t.db", env=STEP)
                if kills < KILLS:
                    time.sleep(rng.uniform(0, 0.5))
                    targets = [process.pid] if victim == "coordinator" else children_of(process.pid)
                    for target in targets:
                        if process.poll() is None:
                            try:
                                os.kill(target, signal.SIGKILL)
                                kills += 1
                            except ProcessLookupError:
                                pass
                process.communicate(timeout=120)
                code = process.returncode
                if code == 0:
                    break
            expect_equal(code, 0, f"{victim}: the sweep never came to its end")
            folder.check_database()
            expect_equal(folder.results(), wanted, f"{victim}: results")
            expect_equal(report(folder), table, f"{victim}: report")
            running = folder.query("SELECT count(*) FROM run WHERE state = 'running'")
            expect_equal(running, [(0,)], f"{victim}: runs still running")


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
results, table = undisturbed()
expect(len(results) == 36, f"undisturbed: {len(results)} metrics")
disturbed("coordinator", results, table, rng)
disturbed("worker", results, table, rng)
finish()
