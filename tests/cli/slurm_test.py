"""A sweep as Slurm job arrays, on a real Slurm that is started here: tasks that are cancelled, put
back into the queue and killed, and at the end the report of a sweep that nobody disturbed.

`slurm_test.py [RUNS KILLS]`: 8 runs and 4 kills unless told.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from cluster import Cluster
from program import Folder, expect, expect_equal, finish, wait_until

RUNS, KILLS = (int(number) for number in sys.argv[1:3] or (8, 4))

# Four arms: a comparison is a seed.
SWEEP = """id = "fake:slurm"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position", "sdgp"]
seeds = "0-{last}"
threads = 1
[slurm]
time = "10min"
memory = "100M"
"""

TIMED = """id = "fake:timed"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
purpose = ["accuracy", "timing"]
seeds = "0-1"
threads = 1
"""

# Trained for real: seconds, with a checkpoint when it is asked to stop.
REAL = """id = "real"
network = "small_cnn:width=4"
dataset = "mnist14"
method = "dense"
recipe = { optimizer = "adam", learning_rate = 1e-3, epochs = 60 }
threads = 1
"""

# Needs no more than two processors, as the others.
RANKED = """id = "fake:ranked"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
ranks = [1, 2]
batch_size = 120
threads = 1
seeds = "0-1"
[slurm]
time = "10min"
memory = "200M"
"""

# Time to be killed in: a run takes five steps.
STEP = {"APPROXTRAIN_FAKE_STEP_MS": "300"}
SLOW_STEP = {"APPROXTRAIN_FAKE_STEP_MS": "800"}
WAYS = ("requeue", "cancel", "step", "worker", "warn")


class SlurmFolder(Folder):
    def __init__(self, sweep, cluster):
        super().__init__(sweep)
        self.cluster = cluster

    def environment(self, fake="", **more):
        return super().environment(fake, **{**self.cluster.environment, **STEP, **more})

    def submit(self, *arguments, wanted=0, **how):
        code, out, err = self.sweep("--slurm", *arguments, **how)
        expect_equal(code, wanted, f"--slurm {arguments}: exit code ({err})")
        return out, err

    def submissions(self):
        try:
            return sorted(name for name in os.listdir(self.file("t.slurm")) if name != "lock")
        except FileNotFoundError:
            return []

    def report(self, *, db="t.db"):
        code, out, err = self.run("report", "table", "--format", "csv", "--db", db)
        expect_equal(code, 0, f"report: exit code ({err})")
        return out

    def wait_for_the_end(self, seconds=300):
        if not wait_until(lambda: not self.cluster.queue(), seconds):
            print(self.cluster.command("squeue"))

    def past_a_run(self):
        """Tasks of the first submission, as Slurm names them, that work and have ended a run."""
        logs = os.path.join(self.file("t.slurm"), self.submissions()[0])

        def ended(task):
            try:
                with open(os.path.join(logs, f"task-{task.split('_')[1]}.log")) as log:
                    return ": finished" in log.read()
            except FileNotFoundError:
                return False
        return [task for task in self.cluster.running() if ended(task)]

    def logs(self):
        text = ""
        for folder, _, files in os.walk(self.file("t.slurm")):
            for name in sorted(files):
                if name.endswith(".log"):
                    with open(os.path.join(folder, name), errors="replace") as log:
                        text += f"--- {name}\n{log.read()}"
        return text


class RealFolder(SlurmFolder):
    """A folder whose sweeps train, with the engine that comes with the program."""

    def environment(self, fake="", **more):
        env = super().environment(fake, **more)
        del env["APPROXTRAIN_ENGINE"]
        return env

    def status_notes(self):
        _, out, _ = self.run("sweep", "status", "--db", "t.db", "--format", "json")
        return " ".join(json.loads(out)["notes"])


def several_ranks(cluster):
    """Tasks of runs of two ranks, which srun starts, or mpirun inside of a task."""
    if shutil.which("mpirun") is None:
        print("no mpirun: nothing with several ranks")
        return
    launchers = ["mpirun"]
    if "pmix" in cluster.command("srun", "--mpi=list").split():
        launchers.append("srun")
    else:
        print("Slurm without PMIx: ranks by mpirun alone")
    for launcher in launchers:
        chosen = [] if launcher == launchers[-1] else ["--launcher", launcher]
        with SlurmFolder(RANKED, cluster) as folder:
            _, err = folder.submit(*chosen, "--slurm-tasks", "1", env=SLOW_STEP)
            expect("fake:ranked: 2 runs in 1 task: " in err, f"{launcher}: {err}")
            expect("fake:ranked:2-ranks: 2 runs in 1 task: " in err, f"{launcher}: {err}")
            submission = folder.file(f"t.slurm/{folder.submissions()[0]}")
            with open(os.path.join(submission, "accuracy-2-ranks.sh")) as script:
                lines = script.read().split("\n")
            expect("#SBATCH --ntasks=2" in lines, f"{launcher}: {lines}")
            expect_equal("#SBATCH --nodes=1" in lines, launcher == "mpirun", f"{launcher}: nodes")
            # One of its ranks is killed at work, later all are warned.
            wait_until(lambda: len(ranks_of(folder)) == 2, 60)
            time.sleep(2)  # past the first step
            os.kill(chance.choice(ranks_of(folder)), signal.SIGKILL)
            wait_until(lambda: "goes on after step" in folder.logs(), 60)
            wait_until(lambda: len(ranks_of(folder)) == 2, 60)
            for task in cluster.running():
                cluster.command("scancel", "--signal=USR1", task)
            folder.wait_for_the_end()
            states = folder.states()
            expect_equal(set(states.values()), {"finished"}, f"{launcher}: {folder.logs()}")
            rows = folder.query("SELECT state, error, environment FROM run JOIN cell "
                                "USING(cell_id) WHERE json_extract(config, '$.ranks') = 2 "
                                "ORDER BY run_id")
            lost = [error for state, error, _ in rows if state == "lost"]
            expect(len(lost) == 1 and lost[0].startswith("rank ") and
                   "was killed by signal 9 (Killed)" in lost[0], f"{launcher}: {lost}")
            used = {json.loads(environment)["engine"]["launcher"]
                    for state, _, environment in rows if state == "finished"}
            expect_equal(used, {launcher}, f"{launcher}: what started them")
            wait_until(lambda: not ranks_of(folder), 20)


def command_lines():
    """What runs now: pid and words."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
        except OSError:
            continue
        yield int(pid), words


def ranks_of(folder):
    """Processes of ranks of tasks of this folder."""
    return [pid for pid, words in command_lines()
            if b"--as-rank" in words and words[1:2] == [b"train"] and folder.path in cwd_of(pid)]


def coordinators_of(folder, task):
    """Processes of this folder's `sweep task FOLDER N`, where Slurm calls the task JOB_N."""
    number = task.split("_")[1].encode()
    return [pid for pid, words in command_lines()
            if b"task" in words and number in words and b"srun" not in words[0] and
            b"train" in words[0] and folder.path in cwd_of(pid)]


def kill(folder, way, task):
    """One kill of a task at work; whether there was one."""
    if way == "requeue":
        return "error" not in folder.cluster.command("scontrol", "requeue", task)
    if way == "cancel":
        return "error" not in folder.cluster.command("scancel", task)
    if way == "warn":
        return "error" not in folder.cluster.command("scancel", "--signal=USR1", task)
    coordinators = coordinators_of(folder, task)
    if not coordinators:
        return False
    pid = coordinators[0]
    if way == "worker":
        children = children_of(pid)
        if not children:
            return False
        pid = children[0]
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def cwd_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as line:
            return [int(child) for child in line.read().split()]
    except OSError:
        return []


def alone(sweep):
    with Folder(sweep) as folder:
        code, _, err = folder.sweep("--progress", "none")
        expect_equal(code, 0, f"alone: exit code ({err})")
        code, out, err = folder.run("report", "table", "--format", "csv", "--db", "t.db")
        expect_equal(code, 0, f"alone: report ({err})")
        checked, _, _ = folder.run("db", "check", "--db", "t.db")
        return folder.results(), out, checked


def dry_run(cluster):
    with SlurmFolder(SWEEP.format(last=RUNS // 4 - 1), cluster) as folder:
        before = sorted(os.listdir(folder.path))
        out, _ = folder.submit("--dry-run", "--slurm-at-once", "2")
        expect_equal(sorted(os.listdir(folder.path)), before, "dry run: it wrote")
        expect_equal(folder.cluster.queue(), [], "dry run: it submitted")
        for line in (f"#SBATCH --array=0-{RUNS // 4 - 1}%2", "#SBATCH --time=0-00:10:00",
                     "#SBATCH --mem=102400K", "#SBATCH --job-name=fake:slurm"):
            expect(line in out.split("\n"), f"dry run: no {line} in {out}")
        again, _ = folder.submit("--dry-run", "--slurm-at-once", "2")
        expect_equal(out, again, "dry run: twice")
        done = subprocess.run(["bash", "-n"], input=out, text=True, capture_output=True)
        expect_equal((done.returncode, done.stderr), (0, ""), "dry run: what bash says")


def disturbed(cluster, rng):
    sweep = SWEEP.format(last=RUNS // 4 - 1)
    results, table, checked = alone(sweep)
    # A folder whose name wants quoting.
    with SlurmFolder(sweep, cluster) as folder:
        odd = folder.file("it's [a-z]* $HOME `folder`; &1")
        os.rename(folder.path, folder.path + ".whole")
        os.mkdir(folder.path)
        os.rename(folder.path + ".whole", odd)
        outer, folder.path = folder.path, odd
        _, err = folder.submit("--slurm-tasks", str(RUNS // 2), env=SLOW_STEP)
        expect(f"{RUNS} runs in {RUNS // 2} tasks: Slurm job" in err, f"submitted: {err}")
        # Two runs a task. The first kill is of a task in its second run: it goes on, does not begin
        # anew and is left alone then. The others come whenever they come.
        spared = ""

        def victims():
            if not spared:
                return folder.past_a_run()
            return [task for task in cluster.running() if task != spared]

        kills, cancelled, turn = 0, 0, 0
        while kills < KILLS:
            if not wait_until(victims, 120):
                break
            if spared:
                time.sleep(rng.uniform(0.1, 1))
            way = WAYS[turn % len(WAYS)]
            tasks = victims()
            if tasks and kill(folder, way, task := rng.choice(tasks)):
                print(f"kill {kills}: {way}", flush=True)
                kills += 1
                cancelled += way == "cancel"
                spared = spared or task
            turn += kills > 0
            if not cluster.queue():
                folder.submit("--slurm-tasks", str(RUNS // 2))
        expect_equal(kills, KILLS, "kills")
        folder.wait_for_the_end()
        # What was cancelled for good is missing; the same command submits that and no more.
        for _ in range(3):
            missing = RUNS - len({key for key, *_ in folder.results()})
            print(f"{missing} of {RUNS} runs are missing", flush=True)
            _, err = folder.submit("--slurm-tasks", str(RUNS // 2))
            if "nothing to submit" in err:
                break
            expect(f"{missing} run" in err, f"{missing} are missing: {err}")
            folder.wait_for_the_end()
        _, err = folder.submit()
        expect("fake:slurm: nothing to submit\n" in err, f"at the end: {err}")
        folder.check_database()
        if not (expect_equal(folder.results(), results, "results") and
                expect_equal(folder.report(), table, "report")):
            print(folder.logs())
        requeued = folder.logs().count("took up a run") + folder.logs().count("done before")
        expect(KILLS < 4 or requeued > 0, f"no task went on: {folder.logs()}")
        code, _, err = folder.run("db", "check", "--db", "t.db")
        expect_equal(code, checked, f"db check ({err})")
        folder.path = outer
    print(f"{RUNS} runs, {KILLS} kills ({cancelled} for good): the report is that of a sweep alone")


def only_what_is_missing(cluster):
    """While tasks wait their runs are not submitted again; more seeds are."""
    with SlurmFolder(SWEEP.format(last=1), cluster) as folder:
        hold = "--slurm-option=--hold"
        _, err = folder.submit(hold, "--set", "seeds=0")
        expect("4 runs in 1 task: " in err, f"the first: {err}")
        # What the user wants squeue to show is not all that there is.
        _, err = folder.submit(hold, env={"SQUEUE_STATES": "RUNNING", "SQUEUE_NAMES": "none"})
        expect("4 runs are with tasks that wait or work" in err, f"the second: {err}")
        expect("4 runs in 1 task: " in err, f"the second: {err}")
        _, err = folder.submit(hold)
        expect("nothing to submit" in err, f"the third: {err}")
        # As if the first had been killed before it heard the id of its job.
        record = folder.file(f"t.slurm/{folder.submissions()[0]}/submission.json")
        with open(record) as text:
            submission = json.load(text)
        submission["jobs"][0]["id"] = ""
        with open(record, "w") as text:
            json.dump(submission, text)
        _, err = folder.submit(hold)
        expect("nothing to submit" in err, f"the fourth: {err}")
        expect_equal(len(folder.submissions()), 2, "submissions")
        code, out, err = folder.run("sweep", "status", "--db", "t.db", "--format", "json")
        expect_equal(code, 0, f"status ({err})")
        rows = [(row["experiment"].split(" Slurm")[0], row["to_do"])
                for row in json.loads(out)["rows"]]
        expect_equal(rows, [("fake:slurm", 8), ("fake:slurm,", 4), ("fake:slurm,", 4)], "status")
        cluster.command("scancel", "--user=root")
        folder.wait_for_the_end()
        _, err = folder.submit("--set", "seeds=0")
        expect("4 runs in 1 task: " in err, f"after the cancellation: {err}")
        wait_until(cluster.running, 60)
        wait_until(lambda: json.loads(folder.run("sweep", "status", "--db", "t.db", "--format",
                                                 "json")[1])["rows"][1]["finished"] > 0)
        folder.wait_for_the_end()
        expect_equal(len(folder.results()), 4 * 3, "merged by the dependent job")
        code, _, err = folder.sweep("--progress", "none")
        expect("4 runs ended, 4 finished, 4 done before" in err, f"goes on here: {err}")


def timings_apart(cluster):
    with SlurmFolder(TIMED, cluster) as folder:
        _, err = folder.submit()
        expect("fake:timed: 4 runs in 2 tasks: " in err, f"timed: {err}")
        expect("fake:timed:timing: 4 runs in 2 tasks: " in err, f"timed: {err}")
        submission = folder.file(f"t.slurm/{folder.submissions()[0]}")
        for name, exclusive in (("accuracy.sh", False), ("timing.sh", True)):
            with open(os.path.join(submission, name)) as script:
                expect_equal("#SBATCH --exclusive\n" in script.read(), exclusive, name)
        folder.wait_for_the_end()
        expect_equal(set(folder.states().values()), {"finished"}, f"timed ({folder.logs()})")
        expect_equal(folder.query("SELECT count(*) FROM run WHERE isolated"), [(4,)], "isolated")


def refusals(cluster):
    def refused(what, *arguments, sweep=SWEEP.format(last=0), env=None):
        with SlurmFolder(sweep, cluster) as folder:
            _, err = folder.submit(*arguments, wanted=2, env=env)
            expect(what in err and err.count("\n") == 1, f"{arguments}: {err}")
            expect_equal(cluster.queue(), [], f"{arguments}: submitted")

    refused("give --threads N", sweep=SWEEP.format(last=0).replace("threads = 1\n", ""))
    refused("sweep.toml:8:8: slurm.time: \"soon\" is not a duration",
            sweep=SWEEP.format(last=0).replace("10min", "soon"))
    refused("--slurm-cpus 1: too few, since a task has 2 threads", "--slurm-cpus", "1", "--jobs",
            "2")
    refused("--budget: ", "--budget", "1h")
    refused("sbatch failed: sbatch: error: invalid partition specified: none",
            "--slurm-partition", "none")
    refused("sbatch: ", env={"PATH": "/nonexistent"})
    with SlurmFolder(SWEEP.format(last=0), cluster) as folder:
        code, _, err = folder.run("sweep", "sweep.toml", "--slurm", "--db", "a%j.db")
        expect_equal(code, 2, f"a % in the path ({err})")
        expect("Slurm cannot use a path with %" in err, f"a % in the path: {err}")


def another_program(cluster):
    """A task whose key this program would not give does nothing."""
    with SlurmFolder(SWEEP.format(last=0), cluster) as folder:
        folder.submit("--slurm-option=--hold")
        cluster.command("scancel", "--user=root")
        path = folder.file(f"t.slurm/{folder.submissions()[0]}/task-0.json")
        with open(path) as task:
            text = task.read()
        with open(path, "w") as task:
            task.write(text.replace('"batch_size": 128', '"batch_size": 64'))
        code, _, err = folder.run("sweep", "task", os.path.dirname(path), "0")
        expect_equal(code, 2, f"changed: exit code ({err})")
        expect("submit the sweep again" in err, f"changed: {err}")
        with open(path, "w") as task:
            task.write(text[:100])
        code, _, err = folder.run("sweep", "task", os.path.dirname(path), "0")
        expect_equal(code, 5, f"cut: exit code ({err})")
        folder.wait_for_the_end()


def at_its_time_limit(cluster):
    """Slurm warns ahead of a limit of two minutes: the task goes on in other turns, to its end."""
    with SlurmFolder(SWEEP.format(last=1), cluster) as folder:
        # Slurm's warning may come a minute early, so 20 to 80 s after the start: a step is there by
        # then, and 96 s of runs are not at their end.
        folder.submit("--slurm-tasks", "1", "--slurm-time", "2min",
                      "--slurm-option=--signal=USR1@40", env={"APPROXTRAIN_FAKE_STEP_MS": "2400"})
        folder.wait_for_the_end(500)
        log = folder.logs()
        expect("exit code 138" in log and " done before" in log, f"limit: {log}")
        expect_equal(len(folder.results()), 8 * 3, f"limit: results ({log})")


def got_nowhere(cluster):
    """A task that is warned before anything of it ended or was saved is not put back for ever."""
    with SlurmFolder(SWEEP.format(last=0), cluster) as folder:
        folder.submit("--slurm-option=--hold")
        cluster.command("scancel", "--user=root")
        submission = folder.file(f"t.slurm/{folder.submissions()[0]}")
        process = folder.start("sweep", "task", submission, "0",
                               env={"APPROXTRAIN_FAKE_STEP_MS": "2000"})
        wait_until(lambda: os.listdir(os.path.join(submission, "task-0.runs")))
        process.send_signal(signal.SIGUSR1)
        err = process.communicate(timeout=60)[1].decode()
        expect_equal(process.returncode, 1, f"nowhere: exit code ({err})")
        expect("task 0 made no progress within its time limit" in err, f"nowhere: {err}")
        folder.wait_for_the_end()


def goes_on_from_a_checkpoint(cluster):
    def metrics(folder):
        return folder.query("SELECT m.name, m.split, m.step, m.value FROM run r JOIN metric m "
                            "USING(run_id) WHERE r.state = 'finished' ORDER BY 1, 2, 3")

    with RealFolder(REAL, cluster) as folder:
        code, _, err = folder.sweep("--progress", "none")
        expect_equal(code, 0, f"real, alone: exit code ({err})")
        wanted = metrics(folder)
    for way in (("scancel", "--signal=USR1"), ("scontrol", "requeue")):
        with RealFolder(REAL, cluster) as folder:
            folder.submit()
            wait_until(lambda: "epoch" in folder.status_notes())
            cluster.command(*way, cluster.running()[0])
            folder.wait_for_the_end()
            expect("goes on after step" in folder.logs(), f"real, {way}: {folder.logs()}")
            expect_equal(metrics(folder), wanted, f"real, {way}: metrics")


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
chance = random.Random(seed)
with Cluster() as started:
    dry_run(started)
    refusals(started)
    another_program(started)
    only_what_is_missing(started)
    timings_apart(started)
    several_ranks(started)
    got_nowhere(started)
    at_its_time_limit(started)
    goes_on_from_a_checkpoint(started)
    disturbed(started, chance)
finish()
