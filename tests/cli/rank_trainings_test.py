"""Trainings by two ranks, of which one is killed now and then: the sweep goes on from the
checkpoint, and every number is that of a training that nobody disturbed.

`rank_trainings_test.py [KILLS]`: 4 unless told.
"""

import os
import random
import re
import shutil
import signal
import sys
import time

from program import RealFolder, expect, expect_equal, finish, wait_until
from rank_processes import nobody, processes

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
RANKS = 2

# What msbp remembers goes by the image of the batch: each rank has its part of it.
SWEEP = f"""id = "ranks"
network = "small_cnn:width=4"
dataset = "mnist14"
method = ["dense", "msbp"]
schedule = "slice:layers=1::1,steps=::2"
recipe = {{ optimizer = "adam", learning_rate = 1e-3, ema = 0.9, epochs = 12, crop_padding = 1 }}
threads = 1
ranks = {RANKS}
"""
COMMAND = ["sweep", "sweep.toml", "--db", "t.db", "--checkpoint-every", "100ms", "--oversubscribe",
           "--progress", "log"]


def metrics(folder):
    return folder.query(
        "SELECT c.run_key, m.name, m.split, m.step, m.epoch, m.value, m.special, r.steps "
        "FROM run r JOIN cell c USING(cell_id) JOIN metric m USING(run_id) "
        "WHERE r.state = 'finished' ORDER BY 1, 2, 3, 4")


def undisturbed():
    with RealFolder(SWEEP) as folder:
        code, _, err = folder.run(*COMMAND, timeout=600)
        expect_equal(code, 0, f"undisturbed: exit code ({err})")
        return metrics(folder)


def has_checkpoint(folder):
    return any(name.endswith(".checkpoint") for name in os.listdir(folder.file("t.runs")))


def kill(pid):
    """How many that killed: it may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
        return 1
    except ProcessLookupError:
        return 0


def disturbed(rng, wanted):
    with RealFolder(SWEEP) as folder:
        kills = went_on = 0
        for _ in range(4 * KILLS):
            sweep = folder.start(*COMMAND)
            while sweep.poll() is None and kills < KILLS:
                if not wait_until(lambda: sweep.poll() is not None or (
                        has_checkpoint(folder) and len(processes(folder)["ranks"]) == RANKS), 120):
                    break
                time.sleep(rng.uniform(0, 0.5))
                at_work = sorted(processes(folder)["ranks"].values())
                if at_work:
                    kills += kill(rng.choice(at_work))
                wait_until(lambda: nobody(processes(folder)), 60)
            err = sweep.communicate(timeout=600)[1].decode()
            went_on += err.count("goes on after step")
            if sweep.returncode == 0:
                break
        expect_equal(sweep.returncode, 0, f"the sweep never came to its end ({err})")
        folder.check_database()
        expect(kills > 0 and went_on > 0, f"{kills} kills, {went_on} times from a checkpoint")
        expect_equal(metrics(folder), wanted, "metrics")
        lost = folder.query("SELECT error FROM run WHERE state = 'lost'")
        expect(lost, "no run was lost")
        for (error,) in lost:
            expect(re.match(r"rank \d was killed by signal 9 \(Killed\)", error), f"error: {error}")
        states = folder.query("SELECT DISTINCT state FROM run ORDER BY 1")
        expect_equal(states, [("finished",), ("lost",)], "states")
        expect(nobody(processes(folder)), f"left: {processes(folder)}")


if shutil.which("mpirun") is None:
    print("skipped: mpirun is not installed")
    sys.exit(77)
seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
numbers = undisturbed()
expect(len(numbers) >= 2 * 6 * 12, f"undisturbed: {len(numbers)} metrics")
disturbed(random.Random(seed), numbers)
finish()
