"""scripts/null-timings counts what it says: on stores whose timings are drawn, and so known."""

import math
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/null-timings")


def fill(path, ratios):
    """A store of dense timing runs, each a list of ratios of its pairs of blocks."""
    schema = subprocess.run([PROGRAM, "db", "schema"], check=True, capture_output=True,
                            text=True).stdout
    with sqlite3.connect(path) as db:
        db.executescript(schema)
        db.execute("INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}')")
        db.execute("INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '')")
        for run, pairs in enumerate(ratios, start=1):
            db.execute("INSERT INTO cell(cell_id, run_key, purpose, method, schedule, network,"
                       " dataset, seed, split, train_examples, recipe, batch_size, precision,"
                       " threads, device, config) VALUES(?, ?, 'timing', 'dense', '[]', 'n', 'd',"
                       " ?, 'paper', 0, '{}', 1, 'fp32', 1, 'cpu', '{}')", (run, str(run), run))
            db.execute("INSERT INTO run(run_id, cell_id, attempt, host_id, build_id, state, "
                       "isolated, timing_valid, run_directory, started_utc, ended_utc, environment)"
                       " VALUES(?, ?, 1, 1, 1, 'finished', 1, 1, '', 'a', 'b', '{}')", (run, run))
            for pair, ratio in enumerate(pairs):
                for arm, ns in (("dense", round(1e9 * ratio)), ("approx", 1_000_000_000)):
                    db.execute("INSERT INTO timing_block(run_id, pair, arm, block_order, steps, ns)"
                               " VALUES(?, ?, ?, ?, 1, ?)",
                               (run, pair, arm, int(arm == "dense"), ns))


def count(path, *arguments):
    done = subprocess.run([sys.executable, SCRIPT, path, *arguments], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    # Processes differ by 3 % and the pairs of one by 1 %: fair, but not to a process by itself.
    draw = random.Random(1)
    ratios = []
    for _ in range(200):
        process = draw.gauss(0, 0.03)
        ratios.append([math.exp(process + draw.gauss(0, 0.01)) for _ in range(4)])
    means = [statistics.fmean(math.log(ratio) for ratio in pairs) for pairs in ratios]
    expected = sum(
        abs(statistics.fmean(means[i::40])) > 2.776445 * statistics.stdev(means[i::40]) / 5 ** 0.5
        for i in range(40))
    with tempfile.TemporaryDirectory() as folder:
        fair = os.path.join(folder, "fair.db")
        fill(fair, ratios)
        code, text = count(fair)
        assert re.search(rf"^exclude 1: {expected} \(", text, re.M), (expected, text)
        assert code == (1 if expected > 2 else 0), (code, text)
        alone = int(re.search(r"pairs of blocks: (\d+) of 200", text).group(1))
        assert alone > 80, text
        # All processes favour one side: that must not pass.
        biased = os.path.join(folder, "biased.db")
        fill(biased, [[1.1 * ratio for ratio in pairs] for pairs in ratios])
        code, text = count(biased, "--timings", "20")
        assert code == 1 and text.startswith("20 timings of 5 processes"), text
        few = os.path.join(folder, "few.db")
        fill(few, ratios[:4])
        assert count(few)[0] == 2


if __name__ == "__main__":
    main()
