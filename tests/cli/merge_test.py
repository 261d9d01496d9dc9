"""What two machines computed, in one database: the same reports in any order, nothing run again."""

import os

from program import Folder, expect, expect_equal, finish

SWEEP = """id = "fake:shared"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-3"
"""

with Folder(SWEEP) as folder:
    def run(*arguments, wanted=0):
        code, out, err = folder.run(*arguments)
        expect_equal(code, wanted, f"{' '.join(arguments)} ({err})")
        return out, err

    for db, seeds in (("one.db", "0-1"), ("two.db", "1-3")):
        run("sweep", "sweep.toml", "--db", db, "--set", f"seeds={seeds}", "--progress", "none")
    _, said = run("db", "merge", "one.db", "two.db", "--db", "all.db")
    expect_equal(said, "all.db: 10 results added, 0 were there already\n", "merged")
    run("db", "merge", "two.db", "--db", "other.db")
    _, said = run("db", "merge", "one.db", "all.db", "--db", "other.db")
    expect_equal(said, "other.db: 4 results added, 6 were there already\n",
                 "merged in another order")
    for report in ("table", "runs"):
        ours, _ = run("report", report, "--db", "all.db", "--format", "csv")
        theirs, _ = run("report", report, "--db", "other.db", "--format", "csv")
        expect(ours.count("\n") > 1, f"{report}: {ours}")
        expect_equal(ours, theirs, f"report {report}")

    # The whole sweep goes on from there: of seed 1 the attempts of both count as one result.
    run("sweep", "sweep.toml", "--db", "all.db", "--progress", "none")
    _, said = run("db", "merge", "all.db", "--db", "other.db")
    expect_equal(said, "other.db: 0 results added, 10 were there already\n",
                 "nothing was run again")

    # Of a folder the databases in it.
    os.mkdir(folder.file("shared"))
    for db in ("one.db", "two.db"):
        os.rename(folder.file(db), folder.file("shared/" + db))
    _, said = run("db", "merge", "shared", "--db", "fourth.db")
    expect_equal(said, "fourth.db: 10 results added, 0 were there already\n", "merged a folder")
    os.mkdir(folder.file("empty"))
    _, said = run("db", "merge", "empty", "--db", "fourth.db", wanted=2)
    expect_equal(said, "approxtrain: empty: no file in it ends in .db\n", "merged nothing")

    _, said = run("db", "merge", "none.db", "--db", "all.db", wanted=6)
    expect(said.startswith("approxtrain: none.db: "), said)

finish()
