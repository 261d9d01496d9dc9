"""`db target`: what it stores, what reports make of it, and that merges and rebuilds keep it."""

import csv
import io
import os

from program import Folder, expect, expect_equal, finish

SWEEP = """id = "fake:target"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-9"
"""


def said(folder, *arguments, wanted=0):
    code, out, err = folder.run(*arguments)
    expect_equal(code, wanted, f"{' '.join(arguments)} ({err})")
    return out, err


def targets(folder, db, *arguments):
    """(per cent, dense runs, stored) of each row."""
    out, _ = said(folder, "report", "tta", "--format", "csv", "--db", db, *arguments)
    return {(float(row["target_pct"]), row["target_dense_runs"], row["target_stored"])
            for row in csv.DictReader(io.StringIO(out))}


with Folder(SWEEP) as folder:
    # The engine's accuracy is 50 % and a point a seed.
    said(folder, "sweep", "sweep.toml", "--db", "t.db", "--progress", "none", "--set", "seeds=0-3")
    expect_equal(targets(folder, "t.db"), {(51.0, "4", "0")}, "derived when it is shown")
    for margin in ("60pp", "-1", "x"):
        said(folder, "db", "target", "--margin", margin, "--db", "t.db", wanted=2)
    said(folder, "db", "target", "nothing", "--db", "t.db", wanted=2)
    expect_equal(folder.query("SELECT count(*) FROM study_run"), [(0,)], "nothing was stored")

    out, err = said(folder, "db", "target", "@fake:target", "--db", "t.db")
    expect("small_cnn on mnist14" in out and
           ": 51.00 %, median best of 4 dense runs less 0.5 points" in out, out)
    expect("fewer than 10 dense runs" in err, err)
    said(folder, "sweep", "sweep.toml", "--db", "t.db", "--progress", "none")
    expect_equal(targets(folder, "t.db"), {(51.0, "4", "1")}, "it does not move")
    expect_equal(targets(folder, "t.db", "--margin", "1pp"), {(53.5, "10", "0")}, "asked anew")
    out, _ = said(folder, "report", "table", "--db", "t.db")
    expect("target: 51 % accuracy: median best of 4 dense runs less 0.5 points, derived" in out and
           "its target rests on fewer than 10 dense runs" in out, out)

    out, err = said(folder, "db", "target", "fake:target", "--margin", "10%", "--db", "t.db")
    expect("median best of 10 dense runs less 10 % of the dense error" in out, out)
    expect_equal(err, "", "ten are enough")
    now = targets(folder, "t.db")
    expect_equal({(runs, stored) for _, runs, stored in now}, {("10", "1")}, "the newer one counts")
    # 54.5 less a tenth of 45.5.
    expect(all(abs(percent - 49.95) < 1e-9 for percent, _, _ in now), now)

    said(folder, "db", "check", "--db", "t.db")
    said(folder, "db", "merge", "t.db", "--db", "other.db")
    expect_equal(targets(folder, "other.db"), now, "merged")
    said(folder, "db", "rebuild", "again.db", "--db", "t.db")
    expect_equal(targets(folder, "again.db"), now, "rebuilt")
    for db in ("other.db", "again.db"):
        said(folder, "db", "check", "--db", db)
    said(folder, "db", "target", "--db", "none.db", wanted=6)
    expect(not os.path.exists(folder.file("none.db")), "no database is made of nothing")

finish()
