"""A database that was lost comes back from what lies beside it: equal in every row, with the same
reports, whatever became of its runs.

`rebuild_test.py [KILLS]`: of coordinators at random moments, 12 unless told.
"""

import os
import random
import shutil
import signal
import sys
import time

from program import Folder, expect, expect_equal, finish, wait_until

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 12

SWEEP = """id = "fake:rebuilt"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position"]
seeds = "0-10"
exclude = [{ method = "zero", reason = "a reason, with \\"marks\\"" }]
[report]
rows = "method"
"""

TIMING = """id = "fake:timings"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
purpose = "timing"
seeds = "0-1"
"""

FAKES = "1=throw;2=diverge;3=hang;4=segv;5=once:kill;6=garbage;7=wrong;8=no-final;9=talk"


def reports(folder, db):
    texts = []
    for kind in ("table", "runs", "curves", "kernels", "layers"):
        for form in ("md", "csv", "json"):
            code, out, err = folder.run("report", kind, "--db", db, "--format", form,
                                        "--include-tainted")
            expect_equal(code, 0, f"report {kind} of {db} ({err})")
            texts.append(out.replace(db, "DB"))
    return texts


def expect_rebuilt(folder, what):
    new = folder.file("new.db")
    if os.path.exists(new):
        os.remove(new)
    code, _, err = folder.run("db", "rebuild", "new.db", "--db", "t.db")
    expect_equal(code, 0, f"{what}: exit code ({err})")
    expect("nothing is missing" in err, f"{what}: {err}")
    ours, theirs = folder.tables("t.db"), folder.tables("new.db")
    for name, text in ours.items():
        expect_equal(theirs.get(name), text, f"{what}: {name}")
    return ours


def every_end():
    """Runs that end in every way, benchmarks, a study; then the database is deleted."""
    with Folder(SWEEP) as folder:
        with open(folder.file("timing.toml"), "w") as out:
            out.write(TIMING)

        def run(*arguments, wanted=0, **how):
            code, out, err = folder.run(*arguments, "--db", "t.db", **how)
            expect_equal(code, wanted, f"{' '.join(arguments)} ({err})")

        sweep = ("sweep", "sweep.toml", "--progress", "none", "--stall-timeout", "1s", "--jobs",
                 "2")
        run(*sweep, "--seeds", "0-4", fake=FAKES, wanted=3)
        run("sweep", "sweep.toml", "--progress", "none", "--timeout", "1s", "--grace", "1s",
            "--seeds", "10", fake="10=stubborn")
        # One that is asked to stop, and then goes on.
        process = folder.start(*sweep, "--db", "t.db", fake="*=slow")
        wait_until(lambda: folder.query("SELECT 1 FROM run WHERE state = 'running'"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        expect_equal(folder.query("SELECT count(*) > 0 FROM run WHERE state = 'interrupted'"),
                     [(1,)], "interrupted runs")
        run(*sweep, "--rerun", "failed", fake=FAKES, wanted=3)
        run("sweep", "timing.toml", "--progress", "none")
        run("bench-kernel", "--shape", "N2,C4,K4,H8", "--method", "zero", "--repetitions", "4",
            "--min-time", "1ms", "--progress", "none")
        run("study", "matmul-error", "--runs", "3")
        states = {state for (state,) in folder.query("SELECT DISTINCT state FROM run")}
        expect(states >= {"finished", "diverged", "failed", "timeout", "interrupted", "lost"},
               f"states: {states}")
        for table in ("kernel_result", "study_run", "metric"):
            expect(folder.query(f"SELECT count(*) FROM {table}")[0][0] > 0, f"{table} is empty")
        excluded = folder.query("SELECT count(*) FROM experiment_cell WHERE excluded <> ''")
        expect(excluded[0][0] > 0, "nothing is excluded")

        wanted = expect_rebuilt(folder, "every end")
        texts = reports(folder, "t.db")
        expect_equal(reports(folder, "new.db"), texts, "reports")

        # The folder may be elsewhere by then.
        code, _, err = folder.run("db", "rebuild", "--db", "t.db")
        expect_equal((code, "exists already" in err), (2, True), "nothing is replaced")
        os.remove(folder.file("t.db"))
        os.mkdir(folder.file("elsewhere"))
        os.rename(folder.file("t.runs"), folder.file("elsewhere/t.runs"))
        code, _, err = folder.run("db", "rebuild", "--db", "elsewhere/t.db")
        expect_equal(code, 0, f"elsewhere: exit code ({err})")
        os.rename(folder.file("elsewhere/t.runs"), folder.file("t.runs"))
        os.rename(folder.file("elsewhere/t.db"), folder.file("t.db"))
        expect_equal(folder.tables("t.db"), wanted, "elsewhere")

        # The sweep goes on in the new one as it would have in the old one.
        run(*sweep, "--rerun", "failed,timeout")
        folder.check_database()
        expect_rebuilt(folder, "after going on")
        code, out, err = folder.run("db", "check", "--db", "new.db")
        expect("running rows" not in out, out)


def killed(rng):
    """Coordinators that are killed anywhere: between the journal and the database too."""
    step = {"APPROXTRAIN_FAKE_STEP_MS": "2"}
    with Folder(SWEEP) as folder:
        for number in range(KILLS):
            process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--jobs", "2", env=step)
            time.sleep(rng.uniform(0.05, 0.5))
            process.kill()
            process.communicate()
            if os.path.exists(folder.file("t.db")) and os.path.getsize(folder.file("t.db")):
                # Settles what the dead one left, and undoes what it did not commit.
                folder.sweep("--seeds", "0", "--method", "dense")
                expect_rebuilt(folder, f"kill {number}")
        code, _, err = folder.sweep(env=step)
        expect_equal(code, 0, f"after the kills: exit code ({err})")
        folder.check_database()
        expect_rebuilt(folder, "after the kills")


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
every_end()
killed(random.Random(seed))
finish()
