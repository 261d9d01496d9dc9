"""A sweep with a budget of time: whole comparisons first, nothing begun that would not end."""

import json

from program import Folder, expect, expect_equal, finish

# A fake run takes five steps.
SLOW = {"APPROXTRAIN_FAKE_STEP_MS": "400"}

with Folder() as folder:
    code, _, err = folder.sweep("--budget", "5s", "--progress", "none", env=SLOW)
    expect_equal(code, 0, f"the first ({err})")
    expect("the budget is used up; the same command goes on" in err, err)
    done = sorted(folder.states())
    expect_equal(done, [("dense", 0), ("zero", 0)], f"begun ({err})")

    # What is left, by what those took.
    code, out, _ = folder.sweep("--dry-run")
    expect(" 4 to do, 0 excluded; about " in out and "one by one, by runs in the store" in out, out)
    code, out, _ = folder.sweep("--dry-run", "--format", "json")
    expected = [run["expected_s"] for run in json.loads(out)["runs"]]
    expect(len(expected) == 6 and all(1.5 < seconds < 4 for seconds in expected), f"{expected}")

    # No time for one: none is begun.
    code, _, err = folder.sweep("--budget", "1s", "--progress", "none", env=SLOW)
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

finish()
