"""Runs side by side have cores of their own, one after the other as many as there are; with and
without, the results are the same."""

import glob
import json
import os
import signal
import sys

from program import Folder, RealFolder, expect, expect_equal, finish, wait_until

ALLOWED = sorted(os.sched_getaffinity(0))

SWEEP = """id = "fake:cores"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
threads = 1
seeds = "0-5"
"""

# Long enough that runs overlap.
SLOW = {"APPROXTRAIN_FAKE_STEP_MS": "150"}


def masks(folder):
    """Of each run: what it was given, where it computed."""
    rows = folder.query("SELECT environment FROM run ORDER BY run_id")
    engines = [json.loads(row[0])["engine"] for row in rows]
    return [(engine.get("cpus"), engine["mask"]) for engine in engines]


def events_of(folder):
    """What runs have reported."""
    text = ""
    for path in glob.glob(folder.file("t.runs/*/events.jsonl")):
        with open(path) as events:
            text += events.read()
    return text


def cpus(text):
    """Of "0-2,8"."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def parallel():
    with Folder(SWEEP) as folder:
        code, _, err = folder.sweep("--jobs", "2", "--progress", "none", env=SLOW)
        expect_equal(code, 0, f"two jobs ({err})")
        runs = masks(folder)
        expect_equal(len(runs), 6, "runs")
        for given, mask in runs:
            expect(given is not None and cpus(given) == mask, f"given {given}, computed on {mask}")
            expect(set(mask) <= set(ALLOWED), f"{mask} of {ALLOWED}")
        # The first two are at work together; a core that a run gives back is another's.
        first, second = set(runs[0][1]), set(runs[1][1])
        expect(not first & second, f"both on {first & second}")
        expect(all(set(mask) in (first, second) for _, mask in runs), f"{runs}")


def more_runs_than_cores():
    with Folder(SWEEP) as folder:
        jobs = len(ALLOWED) + 1
        code, _, err = folder.sweep("--jobs", str(jobs), "--seeds", f"0-{jobs - 1}", "--progress",
                                    "none", env=SLOW)
        expect_equal(code, 0, f"{jobs} jobs ({err})")
        runs = masks(folder)
        without = [mask for given, mask in runs if given is None]
        expect(len(without) >= 1, f"{runs}")
        expect(all(mask == ALLOWED for mask in without), f"{without}")


def not_pinned():
    for flags in (["--jobs", "2", "--no-pin"], []):
        with Folder(SWEEP) as folder:
            code, _, err = folder.sweep("--progress", "none", *flags)
            expect_equal(code, 0, f"{flags} ({err})")
            runs = masks(folder)
            expect(all(run == (None, ALLOWED) for run in runs), f"{flags}: {runs}")


def timings():
    with Folder(SWEEP + 'purpose = "timing"\ntiming_seeds = "0-1"\n') as folder:
        code, _, err = folder.sweep("--jobs", "2", "--progress", "none")
        expect_equal(code, 0, f"timings ({err})")
        for given, mask in masks(folder):
            expect(given is not None and cpus(given) == mask, f"given {given}, computed on {mask}")


def two_sweeps():
    """Each takes cores that the other has not."""
    with Folder(SWEEP) as one, Folder(SWEEP) as two:
        # The same part of the machine.
        env = dict(SLOW, APPROXTRAIN_TIMING_LOCK=one.path)
        jobs = ["--jobs", "2", "--seeds", "0", "--progress", "none"]
        # The first is at work from before the second begins until after it has ended.
        first = one.start("sweep", "sweep.toml", "--db", "t.db", *jobs, "--grace", "1s",
                          fake="*=hang", env=env)
        wait_until(lambda: events_of(one))
        code, _, err = two.sweep(*jobs, env=env)
        expect_equal(code, 0, f"the second ({err})")
        expect_equal(first.poll(), None, "the first")
        first.send_signal(signal.SIGTERM)
        err = first.communicate(timeout=60)[1].decode()
        expect_equal(first.returncode, 143, f"the first ({err})")
        (given, mask), (other, elsewhere) = masks(one)[0], masks(two)[0]
        expect(given is not None and other is not None, f"{given}, {other}")
        expect(not set(mask) & set(elsewhere), f"both on {set(mask) & set(elsewhere)}")


def same_results():
    """By the engine that computes: to the bit what one run after the other gives."""
    sweep = SWEEP.replace('"zero"', '["dense", "random"]').replace("0-5", "0-1")
    sweep += 'train_examples = 300\nrecipe = { base = "mnist14_sgd", epochs = 1 }\n'
    results = []
    for flags in (["--jobs", "2"], ["--jobs", "2", "--no-pin"], []):
        with RealFolder(sweep) as folder:
            code, _, err = folder.sweep("--progress", "none", *flags, timeout=400)
            expect_equal(code, 0, f"{flags} ({err})")
            results.append(folder.query(
                "SELECT c.run_key, m.name, m.split, m.step, m.value FROM run r "
                "JOIN cell c USING(cell_id) JOIN metric m USING(run_id) "
                "WHERE m.name IN ('loss', 'accuracy') ORDER BY 1, 2, 3, 4"))
    expect(len(results[0]) >= 4 * 3, f"{len(results[0])} metrics")
    expect(results[0] == results[2] and results[1] == results[2], "results differ")


not_pinned()
timings()
more_runs_than_cores()
if len(ALLOWED) > 1:
    parallel()
    two_sweeps()
else:
    print("one CPU alone: no two runs with cores of their own", file=sys.stderr)
same_results()
finish()
