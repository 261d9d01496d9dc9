"""Every way in which a worker can go wrong: its run is recorded as what it was, and the sweep goes
on."""

import errno
import fcntl
import glob
import json
import os
import resource
import signal
import sqlite3
import time

from program import (Folder, expect, expect_equal, finish, is_locked, wait_until,
                     workers_of)

ONE = """id = "fake:one"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-1"
"""

FILES = 24  # descriptors that are enough for some workers and not for ten

# What seed 0 does, its state, what its error says. Seed 1 finishes.
CASES = [
    ("throw", "failed", "the fake engine\\x0afails"),
    ("throw-data", "failed", "the fake data are gone"),
    ("throw-device", "failed", "the fake device is lost"),
    ("throw-oom", "oom", "out of memory"),
    ("throw-unknown", "failed", "signal 6"),
    ("abort", "failed", "signal 6"),
    ("segv", "failed", "signal 11"),
    ("exit0", "failed", "exited with code 0 and without a final event"),
    ("exit3", "failed", "exited with code 3"),
    ("early", "failed", "exited with code 9"),
    ("no-final", "failed", "exited with code 0 and without a final event"),
    ("talk", "failed", "last words"),
    ("diverge", "diverged", ""),
    ("garbage", "finished", ""),
    ("deep", "finished", ""),
    ("wrong", "finished", "malformed"),
]


def memory():
    """A run that wants more than it may have costs itself; with more it does what it would."""
    for word in ("hoard", "hoard-noexcept"):
        with Folder(ONE) as folder:
            code, _, err = folder.sweep("--memory", "512M", fake=f"0={word}")
            expect_equal(code, 3, f"{word}: exit code ({err})")
            expect_equal(folder.states(), {("zero", 0): "oom", ("zero", 1): "finished"}, word)
            (text,), = folder.query("SELECT error FROM run WHERE state = 'oom'")
            expect_equal(text, "out of memory (a run may have 512 MiB: --memory)", word)
            code, _, err = folder.sweep("--memory", "8G", "--rerun", "oom", fake=f"0={word}")
            expect_equal(code, 0, f"{word} in 8G: exit code ({err})")
            code, _, err = folder.sweep("--memory", "lots")
            expect_equal(code, 2, f"{word}, --memory lots: exit code ({err})")


def forced():
    """Every second of forty runs ends for want of memory or of its device; the others finish."""
    for word, state, flags in (("hoard", "oom", ("--memory", "512M")), ("throw-oom", "oom", ()),
                               ("throw-device", "failed", ())):
        with Folder(ONE.replace("0-1", "0-39")) as folder:
            code, _, err = folder.sweep(
                *flags, fake=";".join(f"{seed}={word}" for seed in range(0, 40, 2)))
            expect_equal(code, 3, f"forty with {word}: exit code ({err})")
            expect_equal(folder.states(), {("zero", seed): "finished" if seed % 2 else state
                                           for seed in range(40)}, f"forty with {word}")
            expect_equal(workers_of(folder), [], f"forty with {word}: workers that are left")


def the_kernel_takes_a_worker_first():
    """Where the whole machine is out of memory, a worker is killed before its coordinator."""
    with Folder(ONE) as folder:
        sweep = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="0=once:hang")
        wait_until(lambda: os.path.exists(folder.file("mark.0")))
        (worker,) = workers_of(folder)
        scores = []
        for pid in (worker, sweep.pid):
            with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
                scores.append(int(file.read()))
        expect(scores[0] == 500 > scores[1], f"oom_score_adj of worker and coordinator: {scores}")
        os.kill(worker, signal.SIGKILL)
        err = sweep.communicate(timeout=120)[1].decode()
        expect_equal(sweep.returncode, 0, f"oom_score_adj: the sweep ({err})")


def outcomes():
    for word, state, error in CASES:
        with Folder(ONE) as folder:
            code, _, err = folder.sweep("--progress", "log", fake=f"0={word}")
            wanted = 0 if state in ("finished", "diverged") else 3
            expect_equal(code, wanted, f"{word}: exit code ({err})")
            expect_equal(folder.states(), {("zero", 0): state, ("zero", 1): "finished"}, word)
            (text,), = folder.query("SELECT r.error FROM run r JOIN cell c USING(cell_id) "
                                    "WHERE c.seed = 0 ORDER BY attempt DESC LIMIT 1")
            expect(error in text, f"{word}: error is {text!r}")
            expect("\n" not in text, f"{word}: error has several lines: {text!r}")
            if wanted == 3:
                expect("first failure: zero" in err.splitlines()[-1], f"{word}: {err!r}")
            folder.check_database()
            # Again: a result stays, a failure is done again only when asked.
            code, _, err = folder.sweep(fake=f"0={word}")
            expect_equal(code, wanted, f"{word}: exit code of the second sweep ({err})")
            if wanted == 3:
                code, _, err = folder.sweep("--rerun", state)
                expect_equal(code, 0, f"{word}: exit code with --rerun ({err})")
                expect_equal(folder.states()[("zero", 0)], "finished", f"{word}: --rerun")


def killed_workers_are_tried_again():
    with Folder(ONE) as folder:
        code, _, err = folder.sweep(fake="0=once:kill")
        expect_equal(code, 0, f"once:kill: exit code ({err})")
        states = folder.query("SELECT state, signal FROM run JOIN cell USING(cell_id) "
                              "WHERE seed = 0 ORDER BY attempt")
        expect_equal(states, [("lost", 9), ("finished", None)], "once:kill")
    with Folder(ONE) as folder:
        code, _, err = folder.sweep(fake="0=kill")
        expect_equal(code, 3, f"kill: exit code ({err})")
        states = folder.query("SELECT state FROM run JOIN cell USING(cell_id) WHERE seed = 0")
        expect_equal(states, [("lost",)] * 3, "kill: tried three times")
        code, _, err = folder.sweep()
        expect_equal(code, 0, f"kill: a lost run is done again unasked ({err})")


def overdue():
    """A run that hangs has failed. A time limit is the user's, and no failure."""
    for word, flag, state, wanted in (("hang", "--stall-timeout", "failed", 3),
                                      ("stubborn", "--timeout", "timeout", 0)):
        with Folder(ONE) as folder:
            begin = time.monotonic()
            # The run that does no wrong has so long too, to start and to end.
            code, _, err = folder.sweep(flag, "8s", "--grace", "1s", fake=f"0={word}")
            took = time.monotonic() - begin
            expect_equal(code, wanted, f"{word}: exit code ({err})")
            expect_equal(folder.states(), {("zero", 0): state, ("zero", 1): "finished"}, word)
            expect(took < 60, f"{word}: took {took:.1f} s")
            (text,), = folder.query("SELECT error FROM run WHERE error <> ''")
            expect(flag in text, f"{word}: error is {text!r}")
            if state != "timeout":
                continue
            expect("2 runs ended, 1 finished, 1 cut off by --timeout\n" in err, err)
            expect("failure" not in err and "failed" not in err, err)
            code, _, err = folder.sweep("--fail-fast")
            expect_equal(code, 0, f"{word}, again: exit code ({err})")
            expect("0 runs ended, 1 done before, 1 cut off by --timeout before (--rerun timeout "
                   "does them again)\n" in err, err)
            code, out, err = folder.run("--db", "t.db", "report", "table", "--format", "json")
            row, = json.loads(out)["rows"]
            expect_equal((row["finished"], row["failed"], row["missing"]), (1, 0, 0), "table")
            code, out, err = folder.run("--db", "t.db", "report", "table")
            expect("1/2, 1 cut off" in out, out)
            code, out, err = folder.run("--db", "t.db", "sweep", "status", "--format", "json")
            expect_equal([(row["cut_off"], row["failed"]) for row in json.loads(out)["rows"]],
                         [(1, 0)], f"status ({out})")
            code, _, err = folder.sweep("--rerun", "timeout")
            expect_equal(code, 0, f"{word}, once more: exit code ({err})")
            expect_equal(set(folder.states().values()), {"finished"}, f"{word}, once more")

    # Nor does it count for a limit on failures.
    with Folder(ONE) as folder:
        code, _, err = folder.sweep("--timeout", "2s", "--grace", "1s", "--fail-fast",
                                    fake="*=stubborn")
        expect_equal(code, 0, f"--fail-fast: exit code ({err})")
        expect_equal(set(folder.states().values()), {"timeout"}, "--fail-fast")
        expect_equal(len(folder.states()), 2, "--fail-fast")


def limits_on_failures():
    for flags in (["--fail-fast"], ["--max-failures", "2"]):
        with Folder(ONE.replace("0-1", "0-5")) as folder:
            code, _, err = folder.sweep(*flags, fake="*=exit3")
            expect_equal(code, 3, f"{flags}: exit code ({err})")
            count = len(folder.query("SELECT 1 FROM run"))
            expect_equal(count, 1 if flags == ["--fail-fast"] else 2, f"{flags}: runs started")
            expect("not started" in err, f"{flags}: {err!r}")
    with Folder(ONE.replace("0-1", "0-5")) as folder:
        code, _, err = folder.sweep(fake="*=throw-device")
        expect_equal(code, 7, f"three device failures in a row ({err})")
        expect_equal(len(folder.query("SELECT 1 FROM run")), 3, "device failures")


def flood():
    with Folder(ONE) as folder:
        code, _, err = folder.sweep(fake="0=flood")
        expect_equal(code, 0, f"flood: exit code ({err})")
        expect("no events were skipped" in err, f"flood: {err!r}")
        logs = [os.path.join(at, name) for at, _, names in os.walk(folder.path) for name in names
                if name == "stderr.log"]
        sizes = [os.path.getsize(log) for log in logs]
        expect(sizes and max(sizes) < 2 << 20, f"flood: sizes of logs {sizes}")
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    expect(peak_mb < 200, f"flood: {peak_mb:.0f} MB")


def jobs():
    with Folder(ONE.replace("0-1", "0-7")) as folder:
        code, _, err = folder.sweep("--jobs", "4", fake="3=abort;*=finish")
        expect_equal(code, 3, f"--jobs: exit code ({err})")
        states = folder.states()
        expect_equal(sum(state == "finished" for state in states.values()), 7, "--jobs: finished")
        expect_equal(states[("zero", 3)], "failed", "--jobs: seed 3")


def two_sweeps_share_a_database():
    with Folder(ONE.replace("0-1", "0-9")) as folder:
        both = [folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=finish",
                             env={"APPROXTRAIN_FAKE_STEP_MS": "20"}) for _ in range(2)]
        for process in both:
            err = process.communicate(timeout=120)[1].decode()
            expect_equal(process.returncode, 0, f"two sweeps ({err})")
        expect_equal(len(folder.query("SELECT 1 FROM run")), 10, "two sweeps: each run once")
        folder.check_database()


def a_sweep_that_begins_is_seen_in_time():
    """Whether others are at work is asked when nobody can add their runs any more, not before."""
    with Folder(ONE) as folder:
        folder.sweep("--fail-fast", fake="0=exit3")  # seed 1 is to be run
        lock = glob.glob(folder.file("t.runs/sweeps/*-0"))[0]
        with open(folder.file("sweep.toml"), "w") as out:
            out.write(ONE.replace("zero", "random"))
        browser = sqlite3.connect(folder.file("t.db"), isolation_level=None)
        browser.execute("BEGIN IMMEDIATE")
        process = folder.start("sweep", "sweep.toml", "--db", "t.db")
        wait_until(lambda: is_locked(lock))
        time.sleep(1)  # it waits for the database
        with open(lock[:-1] + "1", "w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            browser.execute("ROLLBACK")
            browser.close()
            err = process.communicate(timeout=120)[1].decode()
        expect_equal(process.returncode, 0, f"in time: exit code ({err})")
        cells = folder.query("SELECT method, seed FROM cell")
        expect_equal(sorted((method.split(":")[0], seed) for method, seed in cells),
                     [("random", 0), ("random", 1), ("zero", 0), ("zero", 1)], "in time: cells")


def an_edited_file_takes_nothing_from_a_sweep_at_work():
    with Folder(ONE.replace("0-1", "0-5")) as folder:
        # At work until its worker is killed, which is tried again.
        slow = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="0=once:hang")
        wait_until(lambda: os.path.exists(folder.file("mark.0")) and folder.states())
        with open(folder.file("sweep.toml"), "w") as out:
            out.write(ONE.replace("zero", "random"))
        code, _, err = folder.sweep()
        expect_equal(code, 0, f"an edited file: the second sweep ({err})")
        with open(folder.file("sweep.toml"), "w") as out:
            out.write('id = "fake:one"\n[study]\nname = "matmul-error"\nparams = { runs = 2 }\n')
        folder.sweep()  # an item that is no grid
        expect(slow.poll() is None, "an edited file: the first sweep was over too early")
        os.kill(workers_of(folder)[0], signal.SIGKILL)
        err = slow.communicate(timeout=120)[1].decode()
        expect_equal(slow.returncode, 0, f"an edited file: the first sweep ({err})")
        expect_equal(len(folder.states()), 8, "an edited file: runs of both")
        expect_equal(set(folder.states().values()), {"finished"}, "an edited file: states")
    # With nobody at work, what is not asked for any more goes.
    with Folder(ONE) as folder:
        folder.sweep("--fail-fast", fake="0=exit3")
        with open(folder.file("sweep.toml"), "w") as out:
            out.write(ONE.replace("zero", "random"))
        expect_equal(folder.sweep()[0], 0, "an edited file: alone")
        methods = [method.split(":")[0] for method, in folder.query("SELECT method FROM cell")]
        expect_equal(sorted(methods), ["random", "random", "zero"], "an edited file: cells")


def a_run_that_cannot_be_started_costs_itself():
    with Folder(ONE.replace("0-1", "0-9")) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--jobs", "10",
                               env={"APPROXTRAIN_FAKE_STEP_MS": "300"},
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                     (FILES, FILES)))
        err = process.communicate(timeout=120)[1].decode()
        expect_equal(process.returncode, 3, f"too few files: exit code ({err})")
        states = list(folder.states().values())
        expect("finished" in states, f"too few files: {states}")
        errors = folder.query("SELECT DISTINCT error FROM run WHERE state = 'failed'")
        expect("could not be started" in err, f"too few files: {err!r} {errors}")
        folder.check_database()
        expect_equal(folder.sweep("--rerun", "failed")[0], 0, "too few files: all the same later")
        expect_equal(set(folder.states().values()), {"finished"}, "too few files: states at last")


def what_is_at_work_ends_in_order_where_the_store_fails():
    """Whichever call of a coordinator lacks a descriptor, once: no worker is cut off."""
    for call in range(10, 22):
        with Folder(ONE) as folder:
            code, _, err = folder.sweep("--jobs", "2", env={
                "LD_PRELOAD": os.path.abspath(os.environ["APPROXTRAIN_FAULT_SHIM"]),
                "APPROXTRAIN_FAULT": f"open:{call}:{errno.EMFILE}:1",
                "APPROXTRAIN_FAKE_STEP_MS": "300"})
            for state, directory in folder.query("SELECT state, run_directory FROM run"):
                with open(os.path.join(directory, "events.jsonl")) as log:
                    last = json.loads((log.read().splitlines() or ['{"event": "none"}'])[-1])
                expect(state != "running" or last["event"] == "final",
                       f"call {call}: {state} after {last}, exit code {code} ({err})")
            code, _, err = folder.sweep("--rerun", "failed")
            expect_equal(code, 0, f"call {call}: all the same later ({err})")
            expect_equal(set(folder.states().values()), {"finished"}, f"call {call}: at last")
            folder.check_database()


def timings_of_two_users():
    """Two users time one after the other, by the same lock."""
    name = f"test-{os.getpid()}"
    with Folder(ONE + 'purpose = "timing"\ntiming_seeds = "0"\n') as folder:
        os.chmod(folder.path, 0o777)
        lock = {"APPROXTRAIN_TIMING_LOCK": name}
        first = folder.start("sweep", "sweep.toml", "--db", "a.db",
                             env={"APPROXTRAIN_FAKE_STEP_MS": "1200", **lock})
        wait_until(lambda: folder.query("SELECT 1 FROM run", "a.db"))
        other = {} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}
        second = folder.start("sweep", "sweep.toml", "--db", "b.db", "--progress", "log",
                              env={"TMPDIR": folder.path, **lock}, **other)
        err = second.communicate(timeout=120)[1].decode()
        expect_equal(second.returncode, 0, f"two users: the second ({err})")
        expect(f"waiting for another timing on this machine (process {first.pid} of user "
               f"{os.geteuid()})" in err, f"two users: {err!r}")
        expect(first.poll() is not None, "two users: at the same time")
        first.communicate()


def timing():
    timing_sweep = ONE + 'purpose = "timing"\ntiming_seeds = "0-1"\n'
    with Folder(timing_sweep) as folder:
        code, _, err = folder.sweep("--jobs", "4", "--timing-retries", "0")
        expect_equal(code, 0, f"timing: exit code ({err})")
        rows = folder.query("SELECT isolated, taint FROM run")
        expect(rows and all(isolated == 1 for isolated, _ in rows), f"timing: {rows}")

        # One that was disturbed is done again when asked, the other is not.
        folder.change("UPDATE run SET timing_valid = 1, taint = '[]'")
        folder.change("UPDATE run SET timing_valid = 0, taint = '[\"load\"]' WHERE run_id = 1")
        code, out, _ = folder.sweep("--dry-run", "--rerun", "tainted")
        expect_equal(code, 0, "tainted: exit code of the dry run")
        expect_equal(out.count("finished, tainted, to do again"), 1, f"tainted: {out}")
        code, _, err = folder.sweep()
        expect("1 tainted (--rerun tainted times them again)" in err, f"tainted: {err!r}")
        code, _, err = folder.sweep("--rerun", "tainted", "--timing-retries", "0")
        expect_equal(code, 0, f"--rerun tainted: exit code ({err})")
        expect("1 run ended, 1 finished, 1 done before" in err, f"--rerun tainted: {err!r}")
        expect_equal(folder.query("SELECT attempt FROM run ORDER BY run_id"), [(1,), (1,), (2,)],
                     "--rerun tainted: attempts")


def results_of_older_code():
    """Of another commit than the program's: they count, and are repeated on demand."""
    with Folder(ONE) as folder:
        code, _, err = folder.sweep()
        expect_equal(code, 0, err)
        code, out, _ = folder.sweep("--dry-run")
        expect("older" not in out, f"of this commit: {out}")
        code, _, err = folder.sweep("--rerun", "older")
        expect("nothing left to do, 2 done before" in err, f"of this commit: {err}")

        folder.change(f"UPDATE build SET git_sha = '{40 * '0'}'")
        code, out, _ = folder.sweep("--dry-run")
        expect("| finished, older code" in out and " 0 to do" in out, f"older: {out}")
        code, out, _ = folder.sweep("--dry-run", "--format", "json")
        expect_equal([run["older"] for run in json.loads(out)["runs"]], [True, True], "older")
        code, _, err = folder.sweep()
        expect("nothing left to do, 2 done before" in err, f"unasked: {err}")
        code, out, _ = folder.sweep("--dry-run", "--rerun", "older,failed")
        expect("| finished, older code, to do again" in out and " 2 to do" in out, out)
        code, _, err = folder.sweep("--rerun", "older")
        expect_equal(code, 0, err)
        expect_equal(folder.query("SELECT attempt FROM run ORDER BY run_id"),
                     [(1,), (1,), (2,), (2,)], "attempts")
        code, out, _ = folder.sweep("--dry-run", "--rerun", "older")
        expect("older" not in out and " 0 to do" in out, f"again: {out}")

        # A build without a known commit is neither older nor newer.
        folder.change("UPDATE build SET git_sha = 'unknown' WHERE build_id = "
                      "(SELECT max(build_id) FROM build)")
        code, out, _ = folder.sweep("--dry-run", "--rerun", "older")
        expect("older" not in out and " 0 to do" in out, f"unknown: {out}")


def worker_files():
    with Folder(ONE) as folder:
        folder.sweep("--seeds", "0", fake="0=talk")
        runs = [name for name in os.listdir(folder.file("t.runs"))
                if name not in ("sweeps", "journal")]
        expect(len(runs) == 1 and runs[0].endswith("-1"), f"run directories: {runs}")
        files = sorted(os.listdir(os.path.join(folder.file("t.runs"), runs[0])))
        for name in ("config.json", "events.jsonl", "lock", "stderr.log"):
            expect(name in files, f"{name} is not among {files}")


memory()
forced()
the_kernel_takes_a_worker_first()
outcomes()
killed_workers_are_tried_again()
overdue()
limits_on_failures()
flood()
jobs()
two_sweeps_share_a_database()
an_edited_file_takes_nothing_from_a_sweep_at_work()
a_sweep_that_begins_is_seen_in_time()
a_run_that_cannot_be_started_costs_itself()
what_is_at_work_ends_in_order_where_the_store_fails()
timings_of_two_users()
timing()
results_of_older_code()
worker_files()
finish()
