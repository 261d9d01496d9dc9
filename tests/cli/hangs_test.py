"""Runs that hang are ended by --stall-timeout, each within 15 seconds of it.

`hangs_test.py [HANGS]`: 10 unless told.
"""

import sys

from program import Folder, expect, expect_equal, finish, workers_of

HANGS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
STALL_S, GRACE_S, MOST_S = 2, 1, 15

SWEEP = f"""id = "fake:hangs"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-{HANGS - 1}"
"""

with Folder(SWEEP) as folder:
    code, _, err = folder.sweep("--stall-timeout", f"{STALL_S}s", "--grace", f"{GRACE_S}s",
                                "--jobs", "5", fake="*=hang", timeout=60 + 10 * HANGS)
    expect_equal(code, 3, f"exit code ({err})")
    runs = folder.query("SELECT c.seed, r.state, r.error, (julianday(r.ended_utc) - "
                        "julianday(r.started_utc)) * 86400 FROM run r JOIN cell c USING(cell_id)")
    expect_equal(sorted(run[0] for run in runs), list(range(HANGS)), "runs that ended")
    for seed, state, error, took in runs:
        expect_equal(state, "failed", f"seed {seed}")
        expect("--stall-timeout" in error, f"seed {seed}: {error!r}")
        expect(STALL_S - 1 <= took <= STALL_S + MOST_S, f"seed {seed}: ended after {took:.1f} s")
    expect_equal(workers_of(folder), [], "workers left")
    longest = max(run[-1] for run in runs)
    print(f"{len(runs)} of {HANGS} hung runs ended, after at most {longest:.1f} s with a limit of "
          f"{STALL_S} s")
    folder.check_database()
finish()
