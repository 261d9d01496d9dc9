"""Several coordinators over one database: each cell is done once, and none is told of another.

`coordinators_test.py [COORDINATORS CELLS ROUNDS]`: 4 40 2 unless told.
"""

import sys

from program import Folder, expect, expect_equal, finish

COORDINATORS, CELLS, ROUNDS = map(int, sys.argv[1:4]) if len(sys.argv) > 3 else (4, 40, 2)

SWEEP = f"""id = "fake:many"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-{CELLS - 1}"
"""

for turn in range(ROUNDS):
    with Folder(SWEEP) as folder:
        logs = [folder.file(f"stderr.{i}") for i in range(COORDINATORS)]
        at_work = []
        for log in logs:
            with open(log, "wb") as out:
                at_work.append(folder.start("sweep", "sweep.toml", "--db", "t.db", "--progress",
                                            "log", env={"APPROXTRAIN_FAKE_STEP_MS": "1"},
                                            stderr=out))
        done = 0
        for process, log in zip(at_work, logs):
            code = process.wait(timeout=3600)
            with open(log) as text:
                err = text.read()
            expect_equal(code, 0, f"round {turn}: exit code ({err[-2000:]})")
            expect("locked" not in err, f"round {turn}: {err[-2000:]}")
            done += err.count(": finished")
        expect_equal(done, CELLS, f"round {turn}: cells that were said to be finished")
        runs = folder.query("SELECT count(*), count(DISTINCT cell_id), min(state), max(state) "
                            "FROM run")
        expect_equal(runs, [(CELLS, CELLS, "finished", "finished")], f"round {turn}: runs")
        folder.check_database()
finish()
