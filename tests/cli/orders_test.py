"""The order in which the runs of a sweep are made does not change its reports: in random orders, in
pieces, side by side and interrupted they are byte for byte those of one sweep.

`orders_test.py [ORDERS [trained]]`: 5 unless told; `trained`: by the engine that trains.
"""

import os
import random
import signal
import sys
import time

from program import Folder, RealFolder, expect, expect_equal, finish

ORDERS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
TRAINED = sys.argv[2:] == ["trained"]

SWEEP = """id = "fake:orders"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position"]
seeds = "0-3"
recipe = { base = "mnist14_sgd", epochs = 1 }
"""
METHODS = ("dense", "zero", "topk_position")
# Without the times of these trainings, which no two have in common.
COLUMNS = ("--columns", "method,accuracy_pct,loss_pp") if TRAINED else ()


def reports(folder):
    texts = []
    for words in (("table", "--format", "csv", *COLUMNS), ("table", "--format", "md", *COLUMNS),
                  ("pairs", "--format", "csv")):
        code, out, err = folder.run("report", *words, "--db", "t.db")
        expect_equal(code, 0, f"report {words}: exit code ({err})")
        expect(out.count("\n") > 2, f"report {words}: {out}")
        texts.append(out)
    return texts


def in_pieces(folder, rng):
    """Each run by itself or a few together, one of them interrupted; then what is left."""
    pieces = [(method, seed) for method in METHODS for seed in range(4)]
    rng.shuffle(pieces)
    for method, seed in pieces[:rng.randrange(4, 12)]:
        code, _, err = folder.sweep("--method", method, "--seeds", str(seed))
        expect_equal(code, 0, f"{method}, seed {seed}: exit code ({err})")
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--jobs", "2")
    time.sleep(rng.uniform(0.05, 0.5))
    process.send_signal(rng.choice((signal.SIGINT, signal.SIGKILL)))
    process.communicate(timeout=120)
    code, _, err = folder.sweep("--jobs", str(rng.randrange(1, 4)))
    expect_equal(code, 0, f"the rest: exit code ({err})")
    return pieces


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
kind = RealFolder if TRAINED else Folder
with kind(SWEEP) as folder:
    code, _, err = folder.sweep()
    expect_equal(code, 0, f"one sweep: exit code ({err})")
    wanted = reports(folder)
for number in range(ORDERS):
    with kind(SWEEP) as folder:
        order = in_pieces(folder, rng)
        for got, text in zip(reports(folder), wanted):
            expect_equal(got, text, f"order {number}, {order}")
        folder.check_database()
print(f"{ORDERS} orders of 12 runs{', trained' if TRAINED else ''}: the reports are those of one "
      "sweep")
finish()
