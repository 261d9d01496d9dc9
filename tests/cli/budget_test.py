"""A sweep with a budget of time: whole comparisons first, nothing begun that would not end. What a
dry run says of time and disk."""

import json
import os
import re
import time

from program import Folder, expect, expect_equal, finish

# A fake run takes five steps.
SLOW = {"APPROXTRAIN_FAKE_STEP_MS": "400"}
# 7.5 s, so that a budget of 21 s has room for two also where each takes 2 s longer, and never for
# three.
LONG = {"APPROXTRAIN_FAKE_STEP_MS": "1500"}

with Folder() as folder:
    begin = time.monotonic()
    code, _, err = folder.sweep("--budget", "21s", "--progress", "none", env=LONG)
    took = time.monotonic() - begin
    expect_equal(code, 0, f"the first ({err})")
    expect("the budget is used up; the same command goes on" in err, err)
    done = sorted(folder.states())
    expect_equal(done, [("dense", 0), ("zero", 0)], f"begun ({err})")

    # What is left, by what those took.
    code, out, _ = folder.sweep("--dry-run")
    expect(" 4 to do, 0 excluded; about " in out and "one by one, by runs in the store" in out, out)
    code, out, _ = folder.sweep("--dry-run", "--format", "json")
    expected = [run["expected_s"] for run in json.loads(out)["runs"]]
    # As long as five steps at least, and both together no longer than the sweep; in the store are
    # whole seconds.
    expect(len(expected) == 6 and all(6 < seconds < took / 2 + 1 for seconds in expected),
           f"{expected}, two in {took} s")

    # No time for one: none is begun.
    code, _, err = folder.sweep("--budget", "1s", "--progress", "none", env=LONG)
    expect_equal(code, 0, f"none ({err})")
    expect_equal(len(folder.states()), 2, f"none ({err})")

    code, _, err = folder.sweep("--budget", "10min", "--progress", "none")
    expect_equal(code, 0, f"the rest ({err})")
    expect("budget" not in err, err)
    expect_equal(len(folder.states()), 6, f"the rest ({err})")

# Of runs that nobody knows the first is begun, and asked to stop when the time is over.
with Folder() as folder:
    code, _, err = folder.sweep("--budget", "1s", "--progress", "none", env=SLOW)
    expect_equal(code, 0, f"one alone ({err})")
    expect_equal(list(folder.states().values()), ["interrupted"], f"one alone ({err})")
    expect("1 interrupted, 5 not started: the budget is used up" in err, err)
    code, _, err = folder.sweep("--progress", "none")
    expect_equal(code, 0, f"all ({err})")

# The disk, by what a finished run keeps there: its folder and its share of the database.
with Folder() as folder:
    code, out, _ = folder.sweep("--dry-run")
    expect("of disk" not in out, f"nothing is known of it: {out}")
    code, _, err = folder.sweep("--seeds", "0", "--progress", "none")
    expect_equal(code, 0, err)
    kept = os.path.getsize(folder.file("t.db"))
    for path, _, names in os.walk(folder.file("t.runs")):
        kept += sum(os.path.getsize(os.path.join(path, name)) for name in names)
    code, out, _ = folder.sweep("--dry-run", "--format", "json")
    plan = json.loads(out)
    sizes = [run["expected_bytes"] for run in plan["runs"]]
    # Two runs made all of it, and differ in little.
    expect(all(0.4 * kept <= size <= 0.6 * kept for size in sizes), f"{sizes} of {kept}")
    # Three checkpoints of the ten weights that the engine claims, and of the momentum of each.
    expect_equal(plan["checkpoint_bytes"], 3 * 10 * 4 * 2, "checkpoints")
    expect(plan["free_bytes"] > 0, f"{plan['free_bytes']}")
    code, out, err = folder.sweep("--dry-run")
    expect(re.search(r" 4 to do, .*; about [0-9.]+ .iB of disk, .* of it for checkpoints$",
                     out.strip()), out)
    expect_equal(err, "", "enough is free")
    code, out, err = folder.sweep("--dry-run", "--checkpoint-every", "0")
    expect("of disk\n" in out, out)
    shim = {"LD_PRELOAD": os.path.abspath(os.environ["APPROXTRAIN_FAULT_SHIM"])}
    for free, warned in (("16384", True), ("1000000000", False)):
        code, out, err = folder.sweep("--dry-run", env=dict(shim, APPROXTRAIN_FAULT_FREE=free))
        expect_equal(code, 0, f"{free} free ({err})")
        expect(("left: free some, or choose another --db" in err) == warned,
               f"{free} free: {err!r}")

finish()
