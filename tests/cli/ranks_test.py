"""Runs of several ranks, started by mpirun: one stream of events, and whatever dies or hangs, the
run ends, is recorded with who it was, and leaves nothing behind.

`ranks_test.py [KILLS]`: 6 ranks killed and 2 that hang, unless told.
"""

import contextlib
import fcntl
import glob
import json
import os
import random
import shutil
import signal
import sys
import time

from program import Folder, expect, expect_equal, finish, wait_until
from rank_processes import nobody, processes

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
RANKS = 3

SWEEP = f"""id = "fake:ranks"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
batch_size = 120
threads = 1
ranks = {RANKS}
seeds = "0"
"""

SHARED = ["--oversubscribe", "--progress", "none"]  # any machine that runs this may be small
STEP = {"APPROXTRAIN_FAKE_STEP_MS": "1000"}  # a run takes five


def stale_sessions():
    """Of anybody's jobs: folders that nobody holds. The next job removes such."""
    stale = []
    for path in glob.glob("/dev/shm/approxtrain-job-*"):
        try:
            held = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path):
                stale.append(path)
        except OSError:
            pass
        finally:
            os.close(held)
    return stale


def nothing_left(folder, what):
    wait_until(lambda: nobody(processes(folder)), 10)
    expect(nobody(processes(folder)), f"{what}: left {processes(folder)}")
    # Another test's may be there for the moment that it takes to remove it.
    wait_until(lambda: not stale_sessions(), 20)


def run_folder(folder, attempt=1):
    found = glob.glob(folder.file(f"t.runs/*-{attempt}"))
    return found[0] if found else folder.file("none")


def text_of(folder, name, attempt=1):
    try:
        with open(os.path.join(run_folder(folder, attempt), name), errors="replace") as text:
            return text.read()
    except OSError:
        return ""


def attempts(folder):
    return folder.query("SELECT state, signal, error FROM run ORDER BY attempt")


def begin(folder, *flags, fake="*=slow", env=None):
    """A sweep whose ranks are all at work."""
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", *SHARED, *flags, fake=fake,
                           env={**STEP, **(env or {})})
    at_work = lambda: len(processes(folder)["ranks"]) == RANKS and all(
        f"rank {rank} on" in text_of(folder, f"rank-{rank}.log") for rank in range(RANKS))
    wait_until(at_work, 60)
    return process


def end(process, seconds=60):
    err = process.communicate(timeout=seconds)[1].decode()
    return process.returncode, err


def uninterrupted():
    with Folder(SWEEP) as folder:
        code, _, err = folder.sweep(*SHARED)
        expect_equal(code, 0, f"uninterrupted: exit code ({err})")
        return [row[0] for row in folder.query("SELECT value FROM metric ORDER BY 1")]


def one_stream():
    """Rank 0 alone is heard; what each prints is apart; the run says how it was started."""
    with Folder(SWEEP) as folder:
        code, _, err = folder.sweep(*SHARED, "--rank-timeout", "90s")
        expect_equal(code, 0, f"one stream: exit code ({err})")
        expect_equal(folder.states(), {("zero", 0): "finished"}, "one stream")
        with open(os.path.join(run_folder(folder), "events.jsonl")) as lines:
            kinds = [json.loads(line)["event"] for line in lines]
        expect_equal(kinds, ["start", "metric", "metric", "metric", "final"], "one stream: events")
        for rank in range(RANKS):
            text = text_of(folder, f"rank-{rank}.log")
            expect(text.startswith(f"rank {rank} on ") and text.count("\n") == 1,
                   f"one stream: log of rank {rank}: {text!r}")
            expect("waits 90000 ms" in text, f"one stream: --rank-timeout: {text!r}")
        (row,), = folder.query("SELECT environment FROM run")
        engine = json.loads(row)["engine"]
        expect_equal((engine["ranks"], engine["launcher"]), (RANKS, "mpirun"), "one stream: engine")
        expect_equal(text_of(folder, "stderr.log"), "", "one stream: what the launcher printed")
        nothing_left(folder, "one stream")
        folder.check_database()


def what_a_rank_may_do():
    """What rank 1 (or 0) does, the states of the attempts, what the error says."""
    cases = [
        ("rank1:throw-data", ["failed"], "rank 1: the fake data are gone"),
        ("rank2:throw-oom", ["oom"], "rank 2: out of memory"),
        ("rank1:exit3", ["failed"], "rank 1 exited with code 3"),
        ("rank1:segv", ["failed"], "rank 1 was killed by signal 11"),
        ("rank2:talk", ["failed"], "rank 2 exited with code 4: last words"),
        ("rank0:throw-data", ["failed"], "the fake data are gone"),
        ("rank0:abort", ["failed"], "rank 0 was killed by signal 6"),
        ("rank1:kill", ["lost"] * 3, "rank 1 was killed by signal 9 (Killed)"),
        ("rank0:once:throw-lost", ["lost", "finished"], ""),
        ("rank0:no-final", ["failed"], "mpirun exited with code 0 and no rank reported an end"),
        ("rank1:once:kill", ["lost", "finished"], ""),
        ("rank0:garbage", ["finished"], ""),
        ("rank1:garbage", ["finished"], ""),
        ("rank1:flood", ["finished"], ""),
        ("rank1:hang", ["finished"], ""),
    ]
    for word, states, error in cases:
        with Folder(SWEEP) as folder:
            # Rank 0 waits for nobody: with checkpoints it would come to its end all the same.
            code, _, err = folder.sweep(*SHARED, "--checkpoint-every", "0", fake=f"*={word}")
            rows = attempts(folder)
            expect_equal([state for state, _, _ in rows], states, f"{word}: states ({err})")
            expect_equal(code, 0 if states[-1] == "finished" else 3, f"{word}: exit code ({err})")
            text = rows[-1][2]
            expect(error in text and "\n" not in text, f"{word}: error is {text!r}")
            if word == "rank0:once:throw-lost":
                expect_equal(rows[0][1:], (None, "no answer from another rank for a while"), word)
            if "kill" in word:
                expect_equal(rows[0][1], 9, f"{word}: signal")
                expect("rank 1 was killed" in rows[0][2], f"{word}: first error {rows[0][2]!r}")
            if "rank0:garbage" in word:
                expect("lines that are no events were skipped" in text_of(folder, "stderr.log"),
                       f"{word}: {text_of(folder, 'stderr.log')!r}")
            nothing_left(folder, word)
            folder.check_database()


def kill(folder, victim, rng):
    """One kill by signal 9; whom."""
    found = processes(folder)
    if victim == "rank":
        rank = rng.choice(sorted(found["ranks"]))
        os.kill(found["ranks"][rank], signal.SIGKILL)
        return f"rank {rank}"
    os.kill(found[victim][0], signal.SIGKILL)
    return victim


def killed(rng, wanted):
    """A rank, the launcher or the job is killed: the run is recorded as lost, with whose end it
    was, and tried again from its checkpoint to the result of one that nobody disturbed."""
    for number in range(KILLS):
        victim = ("rank", "rank", "mpirun", "job")[number % 4] if KILLS < 20 else "rank"
        with Folder(SWEEP) as folder:
            # Ten seconds: after the first checkpoint, and long before rank 0 is done, which waits
            # for nobody here, while mpirun needs a second or more to end the others.
            process = begin(folder, env={"APPROXTRAIN_FAKE_STEP_MS": "2000"})
            wait_until(lambda: glob.glob(folder.file("t.runs/*.checkpoint/step")))
            time.sleep(rng.uniform(0, 1.5))
            at = time.monotonic()
            whom = kill(folder, victim, rng)
            wait_until(lambda: len(attempts(folder)) > 1 and attempts(folder)[0][0] != "running")
            expect(time.monotonic() - at < 30, f"{whom}: its run took long to end")
            code, err = end(process)
            expect_equal(code, 0, f"{whom}: exit code ({err})")
            rows = attempts(folder)
            expect_equal([state for state, _, _ in rows], ["lost", "finished"], f"{whom}: states")
            said = "" if victim == "job" else f"{whom} was "
            expect_equal(rows[0][1], 9, f"{whom}: signal")
            expect(rows[0][2].startswith(f"{said}killed by signal 9 (Killed)"),
                   f"{whom}: error is {rows[0][2]!r}")
            values = [row[0] for row in folder.query(
                "SELECT value FROM run JOIN metric USING(run_id) WHERE state = 'finished' "
                "ORDER BY 1")]
            expect_equal(values, wanted, f"{whom}: results")
            expect("goes on after step" in text_of(folder, "stderr.log", 2),
                   f"{whom}: the second attempt began anew")
            nothing_left(folder, f"{whom} killed")
            folder.check_database()


def the_coordinator_is_killed():
    for also in ((), ("job",), ("mpirun",)):
        with Folder(SWEEP) as folder:
            process = begin(folder)
            found = processes(folder)
            for pid in [process.pid, *(found[who][0] for who in also)]:
                # On a busy machine what lives no longer than its coordinator may be gone by now.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.communicate()
            wait_until(lambda: nobody(processes(folder)), 10)
            if not also:
                nothing_left(folder, "coordinator killed")
            code, _, err = folder.sweep(*SHARED)
            expect_equal(code, 0, f"coordinator and {also} killed: exit code ({err})")
            expect_equal([state for state, _, _ in attempts(folder)], ["lost", "finished"],
                         f"coordinator and {also} killed: states")
            nothing_left(folder, f"coordinator and {also} killed")


def hung(rng):
    """A rank that hangs ends its run by --stall-timeout at the latest."""
    # Its steps are shorter than that, the run is longer.
    slow = {"APPROXTRAIN_FAKE_STEP_MS": "3000"}
    for number in range(max(2, KILLS // 10)):
        rank = rng.randrange(RANKS)
        with Folder(SWEEP) as folder:
            # By itself, ignoring all signals but one; or stopped from outside.
            if number % 2 == 0:
                process = begin(folder, "--stall-timeout", "10s", "--grace", "1s",
                                fake=f"*=rank{rank}:hang", env=slow)
                if rank != 0:
                    # The fake ranks wait for nobody: rank 0 says its last, and hung ones are ended.
                    os.kill(processes(folder)["ranks"][0], signal.SIGSTOP)
            else:
                process = begin(folder, "--stall-timeout", "10s", "--grace", "1s", env=slow)
                for pid in processes(folder)["ranks"].values():
                    os.kill(pid, signal.SIGSTOP)
            at = time.monotonic()
            code, err = end(process, 120)
            expect(time.monotonic() - at < 60, f"rank {rank} hangs: slow to end")
            expect_equal(code, 3, f"rank {rank} hangs: exit code ({err})")
            (state, _, error), = attempts(folder)
            expect_equal(state, "failed", f"rank {rank} hangs")
            expect("--stall-timeout" in error, f"rank {rank} hangs: {error!r}")
            nothing_left(folder, f"rank {rank} hangs")


def stopped():
    """One signal: each rank ends its step, what was reached is kept. Two: all at once."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        with Folder(SWEEP) as folder:
            process = begin(folder)
            process.send_signal(number)
            code, err = end(process)
            expect_equal(code, 128 + number, f"stopped by {number}: exit code ({err})")
            expect_equal([state for state, _, _ in attempts(folder)], ["interrupted"],
                         f"stopped by {number}")
            with open(os.path.join(run_folder(folder), "events.jsonl")) as lines:
                last = json.loads(lines.readlines()[-1])
            expect_equal((last["event"], last.get("state")), ("final", "interrupted"),
                         f"stopped by {number}: last event")
            nothing_left(folder, f"stopped by {number}")
            code, _, err = folder.sweep("--oversubscribe", "--progress", "log")
            expect_equal(code, 0, f"stopped by {number}: goes on ({err})")
            expect("goes on after step" in err, f"stopped by {number}: {err}")
    with Folder(SWEEP) as folder:
        process = begin(folder, "--grace", "300s", fake="*=hang")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        expect_equal(process.poll(), None, "twice: the first lets ranks end their step")
        process.send_signal(signal.SIGINT)
        code, err = end(process)
        expect_equal(code, 130, f"twice: exit code ({err})")
        nothing_left(folder, "twice")
    # A batch system tells every process of a job.
    for number in (signal.SIGTERM, signal.SIGUSR1):
        with Folder(SWEEP) as folder:
            process = begin(folder)
            found = processes(folder)
            for pid in [process.pid, *found["job"], *found["mpirun"], *found["ranks"].values()]:
                os.kill(pid, number)
            code, err = end(process)
            expect_equal(code, 128 + number, f"all told {number}: exit code ({err})")
            expect_equal([state for state, _, _ in attempts(folder)], ["interrupted"],
                         f"all told {number}")
            nothing_left(folder, f"all told {number}")


def refused():
    def refuse(what, *flags, sweep=SWEEP, env=None):
        with Folder(sweep) as folder:
            code, out, err = folder.sweep(*flags, env=env)
            expect_equal(code, 2, f"{flags}: exit code ({err})")
            expect(what in err and err.count("\n") == 1, f"{flags}: {err!r}")
            expect_equal(out, "", f"{flags}: stdout")
            expect(not os.path.exists(folder.file("t.db")) or
                   folder.query("SELECT 1 FROM run") == [], f"{flags}: a run was begun")

    many = SWEEP.replace(f"ranks = {RANKS}", "ranks = 4096").replace("120", "4096")
    refuse("ranks = 4096 with threads = 1 need 4096 cores", sweep=many)
    refuse("a timing needs a core for each thread", "--oversubscribe",
           sweep=many + 'purpose = "timing"\n')
    # The program's folder and no other: what would start the ranks is missing.
    refuse("started by mpirun, which is not installed: install Open MPI", "--oversubscribe",
           env={"PATH": "/nonexistent"})
    refuse("--launcher srun: this is no allocation of Slurm", "--launcher", "srun",
           "--oversubscribe")
    refuse('--launcher: unknown value "mpiron" (did you mean "mpirun"?)', "--launcher", "mpiron")
    refuse("--record: no process of a run of several ranks has all operands", "--record", "there")


def nothing_needed_for_one():
    """Without Open MPI runs of one process are what they were."""
    with Folder(SWEEP.replace(f"ranks = {RANKS}", "ranks = 1")) as folder:
        code, _, err = folder.sweep("--progress", "none", env={"PATH": "/nonexistent"})
        expect_equal(code, 0, f"one rank without mpirun: exit code ({err})")
        expect("stderr.log" not in os.listdir(run_folder(folder)), "one rank: output")


def planned():
    """A dry run counts the cores of all ranks."""
    with Folder(SWEEP.replace("threads = 1", "threads = 2")) as folder:
        code, out, err = folder.sweep("--dry-run", "--jobs", "2")
        expect_equal(code, 0, f"dry run: exit code ({err})")
        expect(f"; up to {4 * RANKS} cores at a time, {RANKS} ranks x 2 threads a run" in out,
               f"dry run: {out}")
        _, out, _ = folder.sweep("--dry-run", "--format", "json")
        expect_equal(json.loads(out)["runs"][0]["cores"], 2 * RANKS, "dry run: cores")


def cores():
    """Where there is a core for each, ranks share none."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        print("one CPU alone: no ranks with cores of their own", file=sys.stderr)
        return
    two = SWEEP.replace(f"ranks = {RANKS}", "ranks = 2")
    for flags, apart in (([], True), (["--no-pin"], False), (["--oversubscribe"], False)):
        with Folder(two) as folder:
            code, _, err = folder.sweep("--progress", "none", *flags)
            if code == 2 and "need 2 cores" in err:
                print("hardware threads of one core: not tried", file=sys.stderr)
                return
            expect_equal(code, 0, f"cores {flags}: exit code ({err})")
            masks = [json.loads(text_of(folder, f"rank-{rank}.log").split(" on ")[1]
                                .rsplit(", waits", 1)[0]) for rank in range(2)]
            shared = set(masks[0]) & set(masks[1])
            expect_equal(not shared, apart, f"cores {flags}: {masks}")


if shutil.which("mpirun") is None:
    print("skipped: no mpirun (scripts/setup installs Open MPI)")
    sys.exit(77)
seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
chance = random.Random(seed)
result = uninterrupted()
expect_equal(len(result), 3, "uninterrupted: metrics")
if KILLS < 20:
    one_stream()
    what_a_rank_may_do()
    the_coordinator_is_killed()
    stopped()
    refused()
    nothing_needed_for_one()
    planned()
    cores()
killed(chance, result)
hung(chance)
finish()
