"""Real trainings that end at their target: to that evaluation they are the training to the end, to
the bit; they are runs of their own, which have times to the target and no accuracy."""

from program import RealFolder, expect, expect_equal, finish

SWEEP = """id = "stops"
network = "small_cnn:width=4"
dataset = "mnist14"
method = ["dense", "zero"]
schedule = "slice:layers=1::1,steps=::2"
recipe = { base = "mnist14_sgd", epochs = 5 }
train_examples = 1000
threads = 1
seeds = "0-1"
"""



with RealFolder(SWEEP) as folder:
    code, _, err = folder.sweep("--progress", "none")
    expect_equal(code, 0, f"to the end ({err})")
    curves = folder.held_out_curves()
    expect_equal(sorted(len(curve) for curve in curves.values()), [5] * 4, "evaluations")
    # The best of a run's first three evaluations: others need more or fewer, or never reach it.
    target = max(value for _, value in curves[("dense", 0)][:3])

    code, _, err = folder.sweep("--progress", "none", "--stop-at-target")
    expect_equal(code, 2, f"without a target ({err})")
    expect("give one with --set target=accuracy>=SHARE" in err, err)
    aim = ["--set", f"target=accuracy>={target!r}"]
    code, out, err = folder.sweep("--dry-run", "--stop-at-target", *aim)
    expect(": 4 runs, 4 to do" in out, f"runs of their own: {out} {err}")
    code, _, err = folder.sweep("--progress", "none", "--stop-at-target", *aim)
    expect_equal(code, 0, f"to the target ({err})")
    expect("4 runs ended, 4 finished" in err, err)

    whole = folder.metrics("c.stop_at = 0")
    stopped = folder.metrics("c.stop_at > 0")
    for key, curve in curves.items():
        last = next((step for step, value in curve if value >= target), curve[-1][0])
        wanted = [row for row in whole if row[:2] == key and row[4] <= last]
        got = [row for row in stopped if row[:2] == key]
        expect(got == wanted, f"{key}: {len(got)} metrics, {len(wanted)} until step {last}")
        steps = folder.query(f"SELECT r.steps FROM run r JOIN cell c USING(cell_id) WHERE "
                             f"c.stop_at > 0 AND c.method = '{key[0]}' AND c.seed = {key[1]}")
        expect_equal(steps, [(last,)], f"{key}: steps")

    # Seeds that also went to the end count once, by those runs.
    for row in folder.rows("report", "table", "--db", "t.db"):
        expect_equal((row["n"], row["planned"]), ("2", "2"), f"{row}")
    # The same command has nothing left to do, and neither has the one without.
    for flags in (["--stop-at-target", *aim], []):
        code, _, err = folder.sweep("--progress", "none", *flags)
        expect("nothing left to do" in err, err)

# Alone they have a time and no accuracy.
with RealFolder(SWEEP) as folder:
    code, _, err = folder.sweep("--progress", "none", "--stop-at-target", "--set",
                                "target=accuracy>=0.2", "--method", "dense")
    expect_equal(code, 0, err)
    table, = folder.rows("report", "table", "--db", "t.db")
    expect_equal((table["n"], table["accuracy_pct"]), ("0", ""), f"{table}")
    expect("stopped at a target" in table["notes"], f"{table}")
    row, = folder.rows("report", "tta", "--db", "t.db")
    expect_equal((row["runs"], row["reached"]), ("2", "2"), f"{row}")
    expect_equal(row["stopped_at_target"], "2", f"{row}")
    code, out, err = folder.run("db", "check", "--db", "t.db")
    expect_equal(code, 0, f"db check ({out} {err})")

finish()
