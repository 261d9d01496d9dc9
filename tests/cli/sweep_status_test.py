"""A second look at a sweep from another shell, and stopping it from there."""

import json

from program import Folder, expect, expect_equal, finish, wait_until

SWEEP = """id = "fake:long"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-3"
"""


def status(folder):
    code, out, err = folder.run("sweep", "status", "--db", "t.db", "--format", "json")
    expect_equal(code, 0, f"sweep status ({err})")
    table = json.loads(out)
    return table["rows"], table["notes"]


def counts(folder):
    rows, _ = status(folder)
    expect_equal([row["experiment"] for row in rows], ["fake:long"], "experiments")
    return {key: rows[0][key] for key in ("runs", "finished", "failed", "running", "to_do")}


with Folder(SWEEP) as folder:
    code, _, err = folder.run("sweep", "status", "--db", "t.db")
    expect_equal(code, 6, f"no store ({err})")
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="0=exit3;*=finish",
                           env={"APPROXTRAIN_FAKE_STEP_MS": "400"})
    wait_until(lambda: ("zero", 2) in folder.states())
    expect_equal(counts(folder),
                 {"runs": 4, "finished": 1, "failed": 1, "running": 1, "to_do": 1}, "at work")
    _, notes = status(folder)
    expect(any(note.startswith("running: zero, ") and "seed 2" in note for note in notes),
           f"no line of the running one: {notes}")
    expect(any(note.startswith("failed: zero, ") and "exited with code 3" in note
               for note in notes), f"no line of the failed one: {notes}")
    code, out, _ = folder.run("sweep", "status", "fake:long", "--db", "t.db")
    expect_equal(code, 0, "of one experiment")
    expect("| fake:long" in out, f"of one experiment: {out}")
    code, _, err = folder.run("sweep", "status", "fake:other", "--db", "t.db")
    expect_equal((code, err), (2, "approxtrain: t.db: no experiment fake:other is in it\n"),
                 "of none")

    code, _, err = folder.run("sweep", "stop", "fake:other", "--db", "t.db")
    expect_equal((code, err), (0, "t.db: no sweep of fake:other is at work on this machine\n"),
                 "stop: another experiment")
    code, _, err = folder.run("sweep", "stop", "--db", "t.db")
    expect_equal((code, err), (0, f"asked process {process.pid} to stop\n"), "stop")
    err = process.communicate(timeout=60)[1].decode()
    expect_equal(process.returncode, 128 + 15, f"stopped ({err})")
    expect_equal(counts(folder),
                 {"runs": 4, "finished": 1, "failed": 1, "running": 0, "to_do": 2}, "stopped")
    code, _, err = folder.run("sweep", "stop", "--db", "t.db")
    expect_equal((code, err), (0, "t.db: no sweep is at work on this machine\n"), "stop: twice")

    # A coordinator that was killed leaves a run that nobody has.
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=hang")
    wait_until(lambda: counts(folder)["running"] == 1)
    process.kill()
    process.communicate()
    wait_until(lambda: any(note.startswith("gone, the next sweep takes it up: zero, ")
                           for note in status(folder)[1]))
    expect_equal(folder.sweep("--rerun", "failed")[0], 0, "at last")
    expect_equal(counts(folder), {"runs": 4, "finished": 4, "failed": 0, "running": 0, "to_do": 0},
                 "at last")

# What failed alike stands in one row.
with Folder(SWEEP) as folder:
    code, _, err = folder.sweep(fake="0=throw-data;*=exit3")
    expect_equal(code, 3, "failures: exit code")
    rows = [line for line in err.splitlines() if line.startswith("| ")]
    expect_equal([row.split("|")[1].strip() for row in rows], ["runs", "3", "1"],
                 f"failures: {err}")
finish()
