"""What a submission asks of Slurm's commands, and what it makes of their answers, by commands that
write down what they were told: no Slurm is needed. What a real one does is in slurm_test.py."""

import glob
import json
import os
import signal
import subprocess
import sys

from fake_slurm import SWEEP, FakeSlurm
from program import expect, expect_equal, finish, wait_until, workers_of


def content(path):
    """Nothing where there is no file."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def what_the_commands_are_told():
    users = {"SQUEUE_STATES": "RUNNING", "SQUEUE_PARTITION": "other", "SQUEUE_NAMES": "none",
             "SBATCH_ARRAY_INX": "0-99", "SBATCH_WAIT": "1", "SBATCH_TIMELIMIT": "1",
             "SBATCH_ACCOUNT": "vision", "SBATCH_PARTITION": "short", "SLURM_CONF": "/there"}
    with FakeSlurm() as folder:
        folder.submit("--slurm-partition", "long", env=users)
        # The account is the site's; where to is said by a flag.
        expect_equal(folder.variables("sbatch", "SBATCH_"), ["SBATCH_ACCOUNT=vision"], "sbatch")
        expect_equal(folder.variables("sbatch", "SLURM_"), ["SLURM_CONF=/there"], "sbatch")
        folder.submit(env=users)
        expect_equal(folder.variables("squeue", "SQUEUE_"), [], "squeue")
        expect_equal(folder.variables("squeue", "SLURM_"), ["SLURM_CONF=/there"], "squeue")
        expect("--all" in folder.lines("squeue.words"), f"squeue: {folder.lines('squeue.words')}")
    with FakeSlurm() as folder:
        folder.submit(env=users)
        expect_equal(folder.variables("sbatch", "SBATCH_"),
                     ["SBATCH_ACCOUNT=vision", "SBATCH_PARTITION=short"], "sbatch, no partition")


def paths_that_slurm_reads_otherwise():
    with FakeSlurm() as folder:
        for name in ("a%j.db", "a\\b.db"):
            code, _, err = folder.run("sweep", "sweep.toml", "--slurm", "--db", name)
            expect_equal(code, 2, f"{name}: exit code ({err})")
            expect("give --db another folder" in err, f"{name}: {err}")
        expect(not os.path.exists(folder.command_file("jobs")), "odd paths: submitted")


def killed_before_it_heard():
    """A job that was taken, whose id nobody wrote down, is known by its folder."""
    with FakeSlurm() as folder:
        folder.set("kill")
        folder.submit(wanted=-signal.SIGKILL)
        folder.unset("kill")
        expect_equal(len(folder.lines("jobs")), 1, "killed: jobs")
        err = folder.submit()
        expect("4 runs are with tasks that wait or work" in err, f"killed: {err}")
        expect("fake:slurm: nothing to submit" in err, f"killed: {err}")
        expect_equal(len(folder.lines("jobs")), 1, "killed: jobs, once more")
        code, out, err = folder.run("sweep", "status", "--db", "t.db", "--format", "json")
        expect_equal((code, [row["to_do"] for row in json.loads(out)["rows"]]), (0, [4, 4]),
                     f"killed: status ({err})")
        # It works, and is gone.
        for task in range(2):
            expect_equal(folder.work(task)[0], 0, f"killed: task {task}")
        folder.set("queue")
        err = folder.submit()
        expect("4 results added" in err and "nothing to submit" in err, f"killed: {err}")
    # One that was never taken is submitted anew.
    with FakeSlurm() as folder:
        folder.set("refuse")
        folder.submit(wanted=2)
        folder.unset("refuse")
        err = folder.submit()
        expect("4 runs in 2 tasks: Slurm job 17" in err, f"refused: {err}")


def checkpoints_are_handed_on():
    def checkpoint(folder, runs, step):
        """That of a run that was left there, whatever is in it."""
        path = os.path.join(folder.file(runs), key + ".checkpoint")
        os.makedirs(path)
        with open(os.path.join(path, "step"), "w") as out:
            out.write(step)

    def found(folder):
        return sorted((os.path.relpath(path, folder.path), content(path).decode())
                      for path in glob.glob(glob.escape(folder.path) + "/**/*.checkpoint/step",
                                            recursive=True))

    with FakeSlurm() as folder:
        _, out, _ = folder.sweep("--dry-run", "--format", "json")
        key = json.loads(out)["runs"][0]["run_key"][:12]
        here = f"t.runs/{key}.checkpoint/step"

        def of_task(number):
            return f"t.slurm/fake:slurm-{number}/task-0.runs/{key}.checkpoint/step"

        checkpoint(folder, "t.runs", "here")
        folder.set("refuse")
        err = folder.submit(wanted=2)
        expect("sbatch failed: sbatch: error: not today" in err, f"checkpoints: {err}")
        expect_equal(found(folder), [(here, "here")], "checkpoints: refused")
        folder.unset("refuse")
        folder.submit()
        expect_equal(found(folder), [(of_task(2), "here")], "checkpoints: submitted")
        # Cancelled before it began: there is no database of that task.
        folder.set("queue")
        folder.submit()
        expect_equal(found(folder), [(of_task(3), "here")], "checkpoints: never begun")
        # One that is newer, of a sweep here, goes before it.
        folder.set("queue")
        checkpoint(folder, "t.runs", "newer")
        folder.submit()
        expect((of_task(4), "newer") in found(folder), f"checkpoints: {found(folder)}")


# Begins to write to a database, as a task on another machine does, and ends without an end.
UNFINISHED = """import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = TRUNCATE")
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE cell SET config = config || hex(zeroblob(20000))")
db.execute("UPDATE run SET error = hex(zeroblob(20000))")
os._exit(0)
"""


def tasks_at_work_are_only_read():
    """Their databases are written to on other machines, whose locks may not be seen."""
    with FakeSlurm() as folder:
        folder.submit("--slurm-tasks", "2")
        for task in range(2):
            expect_equal(folder.work(task)[0], 0, f"at work: task {task}")
        task = os.path.join(folder.submission(), "task-1.db")
        subprocess.run([sys.executable, "-c", UNFINISHED, task], check=True)
        journal = task + "-journal"
        before = content(task), content(journal)
        expect(before[1][:1] not in (b"", b"\0"), "at work: nothing is unfinished")

        code, out, err = folder.run("sweep", "status", "--db", "t.db", "--format", "json")
        expect_equal(code, 0, f"at work: status ({err})")
        expect("task-1.db: it is being written" in err, f"at work: status ({err})")
        row = json.loads(out)["rows"][1]
        expect_equal((row["finished"], row["to_do"]), (2, 2), "at work: status")
        expect((content(task), content(journal)) == before, "at work: status wrote to it")

        # Task 1 is in the queue, task 0 has ended.
        folder.set("queue", f"17 1 {folder.submission()}\n")
        err = folder.submit()
        expect("2 results added" in err and
               "2 runs are with tasks that wait or work" in err, f"at work: {err}")
        expect((content(task), content(journal)) == before, "at work: sweep --slurm wrote to it")

        # That one has ended as well: it was killed while it wrote.
        folder.set("queue")
        err = folder.submit()
        expect("2 results added" in err and "nothing to submit" in err, f"ended: {err}")
        expect_equal(set(folder.states().values()), {"finished"}, "ended: states")


def takes_nothing_from_a_sweep_at_work():
    with FakeSlurm() as folder:
        slow = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="0=once:hang")
        wait_until(lambda: workers_of(folder) and folder.states())
        with open(folder.file("sweep.toml"), "w") as out:
            out.write(SWEEP.replace("zero", "random").replace("dense", "sdgp"))
        folder.submit()
        expect(slow.poll() is None, "a sweep at work: it was over too early")
        os.kill(workers_of(folder)[0], signal.SIGKILL)  # it is tried again
        err = slow.communicate(timeout=120)[1].decode()
        expect_equal(slow.returncode, 0, f"a sweep at work: exit code ({err})")
        expect_equal(set(folder.states().values()), {"finished"}, f"a sweep at work ({err})")
        expect_equal(len(folder.states()), 4, f"a sweep at work: its runs ({err})")


def takes_up_what_a_dead_sweep_had_begun():
    with FakeSlurm() as folder:
        dead = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="0=hang")
        wait_until(lambda: workers_of(folder) and "running" in folder.states().values())
        dead.kill()
        dead.communicate()
        wait_until(lambda: not workers_of(folder))
        expect("running" in folder.states().values(), "a dead sweep: nothing was left running")
        finished = sum(state == "finished" for state in folder.states().values())
        err = folder.submit("--slurm-tasks", "1")
        expect("lost" in folder.states().values(), f"a dead sweep: {folder.states()} ({err})")
        expect(f"{4 - finished} runs in 1 task: Slurm job 17" in err, f"a dead sweep: {err}")
        expect_equal(folder.work(0)[0], 0, "a dead sweep: the task")
        folder.set("queue")
        folder.submit()
        expect_equal(set(folder.states().values()), {"finished"}, "a dead sweep: states")
        expect_equal(len(folder.states()), 4, "a dead sweep: its runs")


def merged_by_its_script():
    """By the batch script, in a folder whose name is a pattern to a shell."""
    with FakeSlurm() as folder:
        folder.submit()
        script = os.path.join(folder.submission(), "merge.sh")

        def merge():
            done = subprocess.run(["bash", script], cwd=folder.submission(), text=True,
                                  env=folder.environment(), capture_output=True)
            return done.returncode, done.stderr
        expect_equal(merge(), (0, ""), "merged: nothing to take")
        expect_equal(folder.query("SELECT count(*) FROM run"), [(0,)], "merged: nothing")
        for task in range(2):
            expect_equal(folder.work(task)[0], 0, f"merged: task {task}")
        code, err = merge()
        expect_equal(code, 0, f"merged: exit code ({err})")
        expect("4 results added" in err, f"merged: {err}")
        expect_equal(set(folder.states().values()), {"finished"}, "merged: states")


what_the_commands_are_told()
paths_that_slurm_reads_otherwise()
killed_before_it_heard()
checkpoints_are_handed_on()
tasks_at_work_are_only_read()
takes_nothing_from_a_sweep_at_work()
takes_up_what_a_dead_sweep_had_begun()
merged_by_its_script()
finish()
