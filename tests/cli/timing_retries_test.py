"""A disturbed timing is made again by the same sweep, once, after all other runs. Both attempts are
in the store, and where retries are in vain too the sweep gives up."""

import json

from program import Folder, expect, expect_equal, finish

TIMINGS = """id = "fake:timings"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
purpose = "timing"
timing_seeds = "0-4"
"""
RUNS = "SELECT c.seed, r.attempt, r.taint FROM run r JOIN cell c USING(cell_id) ORDER BY r.run_id"


def runs(folder):
    """(seed, attempt, whether the engine was disturbed), in the order in which they were begun."""
    return [(seed, attempt, "load" in json.loads(taint))
            for seed, attempt, taint in folder.query(RUNS)]


def once():
    with Folder(TIMINGS) as folder:
        code, _, err = folder.sweep("--progress", "log", fake="1=once:disturbed",
                                    env={"APPROXTRAIN_FAKE_MARK": folder.file("mark")})
        expect_equal(code, 0, f"disturbed once: {err}")
        done = runs(folder)
        first = [(0, 1, False), (1, 1, True), (2, 1, False), (3, 1, False), (4, 1, False)]
        expect_equal(done[:5], first, f"every run comes before a second one ({err})")
        # Other work on this machine may disturb others as well.
        expect((1, 2, False) in done[5:], f"made again: {done}")
        expect("timed again after a disturbance" in err, err)
        expect("seed 1: finished: disturbed, to be timed again at the end" in err, err)
        expect(err.splitlines()[-1].startswith("fake:timings: 5 runs ended, 5 finished, "), err)


def in_vain():
    with Folder(TIMINGS) as folder:
        code, _, err = folder.sweep("--progress", "none", fake="*=disturbed")
        expect_equal(code, 0, f"always disturbed: {err}")
        expect_equal(runs(folder), [(seed, 1, True) for seed in range(5)] +
                     [(seed, 2, True) for seed in range(3)], "three in vain are enough")
        expect("3 timed again after a disturbance, 5 tainted (--rerun tainted" in err, err)


def unasked():
    with Folder(TIMINGS) as folder:
        code, _, err = folder.sweep("--progress", "none", "--timing-retries", "0",
                                    fake="*=disturbed")
        expect_equal(code, 0, f"no retries: {err}")
        expect_equal(len(runs(folder)), 5, "no retries")
        expect("timed again" not in err and "5 tainted (--rerun tainted" in err, err)


once()
in_vain()
unasked()
finish()
