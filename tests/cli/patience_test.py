"""Real trainings that end when they gain no more: to that evaluation they are the training to the
end, to the bit; they are runs of their own, no failures, and have no accuracy."""

from program import RealFolder, expect, expect_equal, finish

# Too low a rate to gain anything for long.
SWEEP = """id = "patient"
network = "small_cnn:width=4"
dataset = "mnist14"
method = ["dense", "zero"]
schedule = "slice:layers=1::1,steps=::2"
recipe = { base = "mnist14_sgd", epochs = 6, learning_rate = 1e-7 }
train_examples = 1000
threads = 1
target = "accuracy>=0.99"
seeds = "0-1"
"""

PATIENCE = 2


def last_step(curve, epoch):
    """Where a run of that curve ends by its patience, read from the definition."""
    best, since = -1, 0
    for step, value in curve:
        if value > best:
            best, since = value, step
        if step - since >= PATIENCE * epoch:
            return step
    return curve[-1][0]


with RealFolder(SWEEP) as folder:
    code, _, err = folder.sweep("--progress", "none")
    expect_equal(code, 0, f"to the end ({err})")
    curves = folder.held_out_curves()
    expect_equal(sorted(len(curve) for curve in curves.values()), [6] * 4, "evaluations")
    epoch = curves[("dense", 0)][0][0]
    ends = {key: last_step(curve, epoch) for key, curve in curves.items()}
    early = sum(end < 6 * epoch for end in ends.values())
    expect(early > 0, f"no run gains nothing for {PATIENCE} epochs: {curves}")

    aim = ["--patience", str(PATIENCE)]
    code, out, err = folder.sweep("--dry-run", *aim)
    expect(": 4 runs, 4 to do" in out, f"runs of their own: {out} {err}")
    expect("early end: 4 runs end after 2 epochs without a better accuracy (patience)" in out, out)
    code, _, err = folder.sweep("--progress", "none", *aim)
    expect_equal(code, 0, f"no failure ({err})")
    expect("4 runs ended, 4 finished" in err, err)
    for key, end in ends.items():
        wanted = [row for row in folder.metrics("c.patience = 0")
                  if row[:2] == key and row[4] <= end]
        got = [row for row in folder.metrics("c.patience > 0") if row[:2] == key]
        expect(got == wanted, f"{key}: {len(got)} metrics, {len(wanted)} until step {end}")
        state, = folder.query(
            "SELECT r.state, r.ended_by, r.steps FROM run r JOIN cell c USING(cell_id) WHERE "
            f"c.patience = {PATIENCE} AND c.method = '{key[0]}' AND c.seed = {key[1]}")
        expect_equal(state, ("finished", "patience" if end < 6 * epoch else "", end), f"{key}")
    # A patience that outlasts the training is none: nothing is left to do.
    for flags in (aim, [], ["--patience", "6"]):
        code, _, err = folder.sweep("--progress", "none", *flags)
        expect("nothing left to do" in err, f"{flags}: {err}")
    code, _, err = folder.sweep("--patience", "soon")
    expect_equal((code, err.count("\n"), "--patience" in err), (2, 1, True), err)

# Alone: times to a target, no accuracy, and a word for the end.
with RealFolder(SWEEP) as folder:
    code, _, err = folder.sweep("--progress", "none", "--patience", str(PATIENCE), "--method",
                                "dense")
    expect_equal(code, 0, err)
    table, = folder.rows("report", "table", "--db", "t.db")
    expect_equal((table["n"], table["accuracy_pct"], table["failed"]), ("0", "", "0"), f"{table}")
    expect("ends by a patience" in table["notes"], f"{table}")
    row, = folder.rows("report", "tta", "--db", "t.db")
    expect_equal((row["runs"], row["reached"], row["cut_off"]), ("2", "0", "0"), f"{row}")
    ended = folder.query("SELECT count(*) FROM run WHERE ended_by = 'patience'")[0][0]
    expect_equal(row["out_of_patience"], str(ended), f"{row}")
    if ended:
        number, = folder.query("SELECT min(run_id) FROM run WHERE ended_by = 'patience'")[0]
        code, out, err = folder.run("show", "run", str(number), "--db", "t.db")
        expect(code == 0 and "ended_by" in out and "patience" in out, f"show run: {out} {err}")
        code, out, err = folder.run("report", "runs", "--db", "t.db", "--format", "md")
        expect("finished, patience" in out, f"report runs: {out} {err}")
    code, out, err = folder.run("db", "check", "--db", "t.db")
    expect_equal(code, 0, f"db check ({out} {err})")

# The flags alone, and the file that they stand for.
with RealFolder(SWEEP) as folder:
    grid = ["--network", "small_cnn:width=4", "--dataset", "mnist14", "--method", "dense",
            "--recipe", "mnist14_sgd", "--epochs", "6", "--patience", "2"]
    code, _, err = folder.run("sweep", *grid, "--save", "saved.toml", "--dry-run", "--db", "t.db")
    expect_equal(code, 0, f"--save ({err})")
    with open(folder.file("saved.toml"), encoding="utf-8") as saved:
        text = saved.read()
    expect("\npatience = 2\n" in text, text)

finish()
