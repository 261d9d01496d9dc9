"""Suspension is not silence: time in which a sweep did not run counts in no limit of a run, and
taints a timing. A worker that is stopped while its sweep runs is a stall all the same. Durations
are of a clock that nobody sets."""

import concurrent.futures
import datetime
import glob
import itertools
import os
import signal
import time

from program import Folder, RealFolder, expect, expect_equal, finish, wait_until, workers_of

ONE = """id = "fake:one"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0"
"""
NOT_AGAIN = ("--timing-retries", "0")
TIMING = ONE.replace('seeds = "0"', 'purpose = "timing"\ntiming_seeds = "0"')

# Some seconds of a real training.
TRAINING = ONE.replace("small_cnn", "resnet14") + """
recipe = { base = "mnist14_sgd", epochs = 2 }
train_examples = 1500
threads = 1
"""

STEPS_OF_THE_DAY = (3600, -3600, 10 * 31557600, -10 * 31557600, 0)  # seconds
LIMIT = 3  # of silence, in seconds
PAUSE = 5


class Sweep:
    """One that is at work, in a folder of its own, with a run of two seconds."""

    def __init__(self, name, *flags, text=ONE, folder=Folder, **more):
        self.name = name
        self.folder = folder(text)
        self.step_clocks(0, 0)
        env = {**more, "APPROXTRAIN_FAKE_STEP_MS": "400",
               "APPROXTRAIN_CLOCKS": self.folder.file("clocks"),
               "LD_PRELOAD": os.path.abspath(os.environ["APPROXTRAIN_CLOCK_SHIM"])}
        self.process = self.folder.start("sweep", "sweep.toml", "--db", "t.db", "--grace", "1s",
                                         "--progress", "log", *flags, env=env)
        wait_until(self.has_begun)
        self.worker = workers_of(self.folder)[0]

    def has_begun(self):
        with open(glob.glob(self.folder.file("t.runs/*/events.jsonl"))[0]) as events:
            return '"start"' in events.read() and workers_of(self.folder)

    def step_clocks(self, day, slept):
        with open(self.folder.file("clocks.new"), "w") as out:
            out.write(f"{day} {slept}")
        os.rename(self.folder.file("clocks.new"), self.folder.file("clocks"))

    def send(self, what, *processes):
        for process in processes:
            os.kill(process, what)

    def end(self, code):
        self.err = self.process.communicate(timeout=120)[1].decode()
        expect_equal(self.process.returncode, code, f"{self.name}: exit code ({self.err})")
        self.attempts = self.folder.query("SELECT state, error, taint FROM run ORDER BY run_id")
        self.folder.check_database()
        self.folder.__exit__()
        return [state for state, _, _ in self.attempts]


def both(name, *flags, how=None):
    """Stopped and gone on together: nothing has happened."""
    sweep = Sweep(name, *flags)
    pair = (sweep.process.pid, sweep.worker)
    thaw = how(pair) if how else None
    if not how:
        sweep.send(signal.SIGSTOP, *pair)
    time.sleep(PAUSE)
    if how:
        thaw()
    else:
        sweep.send(signal.SIGCONT, pair[0])
        time.sleep(0.5)  # it looks after a worker that is still stopped
        sweep.send(signal.SIGCONT, pair[1])
    expect_equal(sweep.end(0), ["finished"], f"{name}: attempts {sweep.attempts}")
    expect("paused for " in sweep.err, f"{name}: is not said: {sweep.err}")


def worker_alone():
    sweep = Sweep("worker alone", "--stall-timeout", f"{LIMIT}s")
    sweep.send(signal.SIGSTOP, sweep.worker)
    expect_equal(sweep.end(3), ["failed"], f"worker alone: {sweep.attempts}")
    expect("--stall-timeout" in sweep.attempts[0][1], f"worker alone: {sweep.attempts}")


def coordinator_alone():
    sweep = Sweep("coordinator alone", "--stall-timeout", f"{LIMIT}s", "--timeout", f"{LIMIT + 1}s")
    sweep.send(signal.SIGSTOP, sweep.process.pid)
    time.sleep(PAUSE)
    sweep.send(signal.SIGCONT, sweep.process.pid)
    expect_equal(sweep.end(0), ["finished"], f"coordinator alone: {sweep.attempts}")


def worker_that_stays_away():
    """Nobody knows what it would have done without the pause: it is begun again."""
    sweep = Sweep("stays away", "--stall-timeout", f"{LIMIT}s")
    sweep.send(signal.SIGSTOP, sweep.process.pid)
    time.sleep(0.6)  # it speaks once more before the pause, and is heard after it
    sweep.send(signal.SIGSTOP, sweep.worker)
    time.sleep(PAUSE)
    sweep.send(signal.SIGCONT, sweep.process.pid)
    expect_equal(sweep.end(0), ["interrupted", "finished"], f"stays away: {sweep.attempts}")
    expect("beside a pause of" in sweep.attempts[0][1], f"stays away: {sweep.attempts}")


def timing(name, of_sweep, of_worker, wanted):
    sweep = Sweep(name, *NOT_AGAIN, text=TIMING)
    stopped = [sweep.process.pid] * of_sweep + [sweep.worker] * of_worker
    sweep.send(signal.SIGSTOP, *stopped)
    time.sleep(2)
    sweep.send(signal.SIGCONT, *stopped)
    expect_equal(sweep.end(0), ["finished"], name)
    expect(f'"{wanted} ' in sweep.attempts[0][2], f"{name}: taint is {sweep.attempts[0][2]}")


def the_time_of_day_steps():
    """By an hour and by ten years, forward and back."""
    limits = ("--stall-timeout", f"{LIMIT}s", "--timeout", f"{PAUSE}s")
    sweep = Sweep("time of day", *NOT_AGAIN, *limits, text=TIMING)
    for step in STEPS_OF_THE_DAY:
        sweep.step_clocks(step, 0)
        time.sleep(0.25)
    expect_equal(sweep.end(0), ["finished"], f"time of day: {sweep.attempts}")
    expect("paused" not in sweep.attempts[0][2] + sweep.err, f"time of day: {sweep.attempts}")


def durations_are_of_a_steady_clock():
    """All times of a run, while the time of day steps and is that of another zone than UTC."""
    before = time.monotonic()
    sweep = Sweep("durations", text=TRAINING, folder=RealFolder, TZ="Pacific/Auckland")
    begun = datetime.datetime.now(datetime.timezone.utc)
    for step in itertools.cycle(STEPS_OF_THE_DAY):
        if sweep.process.poll() is not None:
            break
        sweep.step_clocks(step, 0)
        time.sleep(0.25)
    passed = time.monotonic() - before
    err = sweep.process.communicate(timeout=120)[1].decode()
    expect_equal(sweep.process.returncode, 0, f"durations: exit code ({err})")
    ((started, wall, *parts),) = sweep.folder.query(
        "SELECT started_utc, wall_ns, train_ns, eval_ns, warmup_ns, start_ns, aside_ns FROM run")
    expect(min(parts) >= 0, f"durations: a negative one: {parts}")
    apart = wall - sum(parts)
    expect(0 <= apart <= max(wall / 100, 30e6), f"durations: {parts} are {apart} ns from {wall}")
    # Loading the program and ending the sweep are outside of it.
    expect(wall / 1e9 <= passed <= wall / 1e9 + 20, f"durations: {wall} ns of {passed} s")
    started = datetime.datetime.fromisoformat(started.replace("Z", "+00:00"))
    expect(abs((begun - started).total_seconds()) < 60, f"durations: begun {begun}, not {started}")
    sweep.folder.check_database()
    sweep.folder.__exit__()


def the_machine_sleeps():
    sweep = Sweep("sleep", *NOT_AGAIN, "--stall-timeout", f"{LIMIT}s", "--timeout", f"{PAUSE}s",
                  text=TIMING)
    sweep.step_clocks(0, 3600)
    expect_equal(sweep.end(0), ["finished"], f"sleep: {sweep.attempts}")
    expect('"paused for 3600.0 s ' in sweep.attempts[0][2], f"sleep: taint {sweep.attempts}")


def a_budget_is_used_up_in_sleep():
    sweep = Sweep("budget", "--budget", "30m")
    sweep.step_clocks(0, 3600)
    expect_equal(sweep.end(0), ["interrupted"], f"budget: {sweep.attempts}")
    expect("the budget is used up" in sweep.err, f"budget: {sweep.err}")


def freeze(processes):
    """Puts them into a frozen cgroup; returns what takes them out again. OSError where it can't."""
    name = f"approxtrain-test-{os.getpid()}"
    for base, file, on, off in (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
                                ("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
                                ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0")):
        group, back = os.path.join(base, name), os.path.join(base, "cgroup.procs")
        if not os.path.exists(back):
            continue
        try:
            os.mkdir(group)
        except OSError:
            continue
        if not os.path.exists(os.path.join(group, file)):
            os.rmdir(group)
            continue

        def write(path, text):
            with open(path, "w") as out:
                out.write(text)

        def thaw():
            write(os.path.join(group, file), off)
            for process in processes:
                write(back, str(process))
            os.rmdir(group)

        for process in processes:
            write(os.path.join(group, "cgroup.procs"), str(process))
        write(os.path.join(group, file), on)
        return thaw
    raise OSError("no cgroup can be made")


def frozen():
    try:
        freeze([])()
    except OSError as error:
        print(f"SKIPPED: a frozen cgroup: {error}")
        return
    both("frozen", "--stall-timeout", f"{LIMIT}s", how=freeze)


with concurrent.futures.ThreadPoolExecutor() as pool:
    pending = [pool.submit(both, "stall", "--stall-timeout", f"{LIMIT}s"),
               pool.submit(both, "timeout", "--timeout", f"{PAUSE}s"),
               pool.submit(worker_alone), pool.submit(coordinator_alone),
               pool.submit(worker_that_stays_away), pool.submit(frozen),
               pool.submit(the_time_of_day_steps), pool.submit(the_machine_sleeps),
               pool.submit(durations_are_of_a_steady_clock),
               pool.submit(a_budget_is_used_up_in_sleep)]
    for task in pending:
        task.result()
with concurrent.futures.ThreadPoolExecutor() as pool:
    pending = [pool.submit(timing, "both of a timing", True, True, "paused for"),
               pool.submit(timing, "worker of a timing", False, True, "paused for"),
               pool.submit(timing, "coordinator of a timing", True, False,
                           "its sweep was paused for")]
    for task in pending:
        task.result()
finish()
