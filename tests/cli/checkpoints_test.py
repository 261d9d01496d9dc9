"""Workers and coordinators killed at random moments of real trainings that write checkpoints: the
same command goes on from them, and every number is that of a sweep that nobody disturbed."""

import os
import random
import signal
import sys
import time

from program import RealFolder, expect, expect_equal, finish

SWEEP = """id = "checkpoints"
network = "small_cnn:width=4"
dataset = "mnist14"
method = ["dense", "msbp"]
schedule = "slice:layers=1::1,steps=::2"
recipe = { optimizer = "adam", learning_rate = 1e-3, ema = 0.9, epochs = 12, crop_padding = 1 }
threads = 1
"""

# By which signal a sweep is asked to stop; a batch system sends its own to all processes of a job.
ASKED = {"interrupted": signal.SIGINT, "warned": signal.SIGUSR1}

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 12


class Trainings(RealFolder):
    def command(self):
        return ["sweep", "sweep.toml", "--db", "t.db", "--checkpoint-every", "100ms",
                "--progress", "log"]

    def metrics(self):
        return self.query(
            "SELECT c.run_key, m.name, m.split, m.step, m.epoch, m.value, m.special, r.state, "
            "r.steps FROM run r JOIN cell c USING(cell_id) JOIN metric m USING(run_id) "
            "WHERE r.state = 'finished' ORDER BY 1, 2, 3, 4")

    def layers(self):
        return self.query(
            "SELECT c.run_key, l.layer, l.product, l.method, l.calls, l.exact_calls, l.macs_done, "
            "l.density FROM run r JOIN cell c USING(cell_id) JOIN layer_metric l USING(run_id) "
            "WHERE r.state = 'finished' ORDER BY 1, 2, 3, 4")

    def variants(self):
        return self.query(
            "SELECT c.run_key, v.layer, v.product, v.plan, v.variant, v.calls "
            "FROM run r JOIN cell c USING(cell_id) JOIN layer_variant v USING(run_id) "
            "WHERE r.state = 'finished' ORDER BY 1, 2, 3, 4, 5")

    def checkpoints(self):
        runs = self.file("t.runs")
        if not os.path.isdir(runs):
            return []
        return [name for name in os.listdir(runs) if name.endswith(".checkpoint")]


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as line:
            return [int(child) for child in line.read().split()]
    except OSError:
        return []


def undisturbed():
    with Trainings(SWEEP) as folder:
        code, _, err = folder.run(*folder.command(), timeout=600)
        expect_equal(code, 0, f"undisturbed: exit code ({err})")
        expect_equal(folder.checkpoints(), [], "undisturbed: checkpoints left")
        expect_equal(folder.query("SELECT taint FROM run"), [("[]",)] * 2, "undisturbed: taint")
        expect(folder.variants(), "undisturbed: no variants")
        return folder.metrics(), folder.layers() + folder.variants()


def wait_for_checkpoint(folder, process):
    while process.poll() is None and not folder.checkpoints():
        time.sleep(0.01)


def sweep_to_its_end(folder, how, rng):
    """How often a run was disturbed, and how often one went on from a checkpoint."""
    disturbances = 0
    went_on = 0
    code = None
    for _ in range(20 * KILLS):
        process = folder.start(*folder.command())
        if disturbances < KILLS:
            if rng.random() < 0.8:
                wait_for_checkpoint(folder, process)
            time.sleep(rng.uniform(0, 0.5))
            targets = children_of(process.pid) if how == "worker" else [process.pid]
            number = ASKED.get(how, signal.SIGKILL)
            if how == "warned":
                targets += children_of(process.pid)
            for target in targets:
                if process.poll() is None:
                    try:
                        os.kill(target, number)
                        disturbances += 1
                    except ProcessLookupError:
                        pass
        _, err = process.communicate(timeout=600)
        went_on += err.decode().count("goes on after step")
        code = process.returncode
        if code == 0:
            break
    expect_equal(code, 0, f"{how}: the sweep never came to its end")
    return disturbances, went_on


def disturbed(how, rng, wanted, layers):
    # A fast machine can be done before it is disturbed, or between checkpoints: then once more.
    for _ in range(8):
        with Trainings(SWEEP) as folder:
            disturbances, went_on = sweep_to_its_end(folder, how, rng)
            folder.check_database()
            expect_equal(folder.metrics(), wanted, f"{how}: metrics")
            expect_equal(folder.layers() + folder.variants(), layers, f"{how}: layers")
            expect_equal(folder.checkpoints(), [], f"{how}: checkpoints left")
            taints = folder.query("SELECT count(*) FROM run WHERE state = 'finished' AND "
                                  "taint LIKE '%went on from a checkpoint%' AND NOT timing_valid")
            expect(went_on == 0 or taints[0][0] > 0, f"{how}: no run says that it went on")
        if disturbances > 0 and went_on > 0:
            return
    expect(False, f"{how}: nothing went on from a checkpoint")


def bad_intervals():
    with Trainings(SWEEP) as folder:
        for text in ("0ep", "-1ep", "ep", "1.5ep", "ten", "5 parsecs"):
            code, _, err = folder.run("sweep", "sweep.toml", "--checkpoint-every", text)
            expect_equal(code, 2, f"--checkpoint-every {text}: exit code")
            expect("--checkpoint-every" in err, f"--checkpoint-every {text}: {err}")


seed = int(os.environ.get("APPROXTRAIN_TEST_SEED", time.time_ns() % 1_000_000))
print(f"APPROXTRAIN_TEST_SEED={seed}", flush=True)
rng = random.Random(seed)
metrics, layers = undisturbed()
expect(len(metrics) >= 2 * 6 * 12, f"undisturbed: {len(metrics)} metrics")
for how in ("worker", "coordinator", *ASKED):
    disturbed(how, rng, metrics, layers)
bad_intervals()
finish()
