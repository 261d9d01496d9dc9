"""Methods in Python (--python): trained like built-in ones, keyed by their file, refused where they
say nothing. Needs PyTorch in the Python that runs this; skipped (77) without it."""

import hashlib
import json
import os
import platform
import signal
import sys
import time

from program import RealFolder, expect, expect_equal, finish

try:
    import torch
except ImportError:
    sys.exit(77)

SWEEP = """id = "own"
network = "small_cnn:width=4"
dataset = "mnist14"
method = {methods}
schedule = {{ label = "every batch", layers = "2:" }}
recipe = {{ base = "mnist14_sgd", epochs = {epochs} }}
train_examples = 1000
threads = 1
"""

# What meprop computes, in PyTorch: of equal magnitudes the one at the lower place.
MINE = '''import approxtrain


@approxtrain.method("mine")
def mine(dy, share=0.25):
    """The largest entries of each example."""
    flat = dy.flatten(1)
    kept = max(1, int(flat.shape[1] * share))
    order = flat.abs().argsort(dim=1, descending=True, stable=True)[:, :kept]
    return flat.new_zeros(flat.shape).scatter(1, order, flat.gather(1, order)).view(dy.shape)


@approxtrain.method("coin")
def coin(dy, p=0.5, generator=None):
    return dy * (dy.new_empty(dy.shape).uniform_(generator=generator) < p) / p


@approxtrain.method("pairs", products=["data_gradient"])
def pairs(dy):
    return approxtrain.NofM(1, 2)


@approxtrain.method("narrow")
def narrow(dy):
    return dy[:, :1]


@approxtrain.method("undefined")
def undefined(dy):
    return dy / 0


@approxtrain.method("raises")
def raises(dy):
    return {}["no such key"]
'''
RAISES_IN_LINE = MINE.splitlines().index('    return {}["no such key"]') + 1


class Trainings(RealFolder):
    def __init__(self, methods, epochs=1, text=MINE):
        super().__init__(SWEEP.format(methods=json.dumps(methods), epochs=epochs))
        self.write(text)

    def write(self, text):
        with open(self.file("my.py"), "w") as out:
            out.write(text)

    def python(self, file="my.py"):
        return ["--python", file, "--python-executable", sys.executable]

    def plan(self, *arguments):
        code, out, err = self.sweep(*arguments, "--dry-run", "--format", "json")
        expect_equal((code, err), (0, ""), "plan")
        return {run["config"]["method"].split(":")[0]: run for run in json.loads(out)["runs"]}

    def metrics(self, method):
        return self.query(
            "SELECT m.name, m.split, m.step, m.epoch, m.value FROM run r "
            "JOIN cell c USING(cell_id) JOIN metric m USING(run_id) WHERE r.state = 'finished' "
            f"AND c.method LIKE '{method}:%' AND m.name IN ('loss', 'accuracy') ORDER BY 1, 2, 3")

    def densities(self, method):
        return self.query(
            "SELECT l.layer, l.product, l.calls, l.macs_done, l.density FROM run r "
            "JOIN cell c USING(cell_id) JOIN layer_metric l USING(run_id) "
            f"WHERE r.state = 'finished' AND c.method LIKE '{method}:%' ORDER BY 1, 2")


def trains_like_the_built_in_one_and_goes_on():
    with Trainings(["mine", "meprop:ratio=0.25"], epochs=12) as folder:
        command = ["sweep", "sweep.toml", "--db", "t.db", *folder.python(), "--checkpoint-every",
                   "50ms", "--progress", "log"]
        process = folder.start(*command)
        runs = folder.file("t.runs")
        while process.poll() is None:
            if os.path.isdir(runs) and any(n.endswith(".checkpoint") for n in os.listdir(runs)):
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1].decode()
        expect_equal(process.returncode, 130, f"interrupted ({err})")
        code, _, err = folder.run(*command)
        expect_equal(code, 0, f"the sweep ({err})")
        expect("mine" in err, f"the log names the method: {err}")
        first, second = folder.metrics("mine"), folder.metrics("meprop")
        expect(len(first) > 20 and first == second, f"metrics differ: {first} {second}")
        first, second = folder.densities("mine"), folder.densities("meprop")
        expect(first and first == second, f"densities differ: {first} {second}")
        attempts = folder.query("SELECT max(attempt) FROM run")
        expect_equal(attempts, [(2,)], "attempts")
        code, _, err = folder.run(*command)
        expect(code == 0 and folder.query("SELECT count(*) FROM run") == [(3,)],
               f"nothing is left to do ({err})")
        # A report needs neither Python nor the file.
        os.remove(folder.file("my.py"))
        code, out, err = folder.run("report", "runs", "--db", "t.db", "--format", "json")
        rows = {row["method"] for row in json.loads(out)["rows"]}
        expect_equal((code, rows), (0, {"mine", "meprop:ratio=0.25"}), f"report ({err})")
        code, out, err = folder.run("report", "table", "own", "--db", "t.db", "--format", "json")
        rows = {row["method"]: row for row in json.loads(out)["rows"]}
        expect_equal([rows["mine"]["images_per_s"], "interpreted method" in rows["mine"]["notes"]],
                     [None, True], "images a second of a method in Python")
        expect(rows["meprop:ratio=0.25"]["images_per_s"], "images a second of a built-in method")


def keys_follow_the_file():
    with Trainings(["dense", "mine"]) as folder:
        before = folder.plan(*folder.python())
        text = before["mine"]["config"]["method"]
        digest = hashlib.sha256(MINE.encode()).hexdigest()
        expect_equal(text, f"mine:share=0.25,file={digest},python={platform.python_version()},"
                     f"pytorch={torch.__version__}", "the method's text")
        expect_equal(before["mine"]["method"], "mine", "its label")
        folder.write(MINE + "# another text\n")
        after = folder.plan(*folder.python())
        expect(before["mine"]["run_key"] != after["mine"]["run_key"], "the key of another file")
        expect_equal(before["dense"]["run_key"], after["dense"]["run_key"], "the key of dense")
        alone = folder.plan("--method", "dense")
        expect_equal(alone["dense"]["run_key"], after["dense"]["run_key"], "dense without Python")
        other = folder.plan(*folder.python(), "--method", "mine:share=0.5")
        expect(other["mine"]["run_key"] != after["mine"]["run_key"], "the key of a parameter")


def timings_are_refused():
    with Trainings(["mine"]) as folder:
        code, out, err = folder.sweep(*folder.python(), "--purpose", "timing")
        expect_equal((code, out, len(err.splitlines())), (2, "", 1), f"timing ({err})")
        expect("purpose = timing: mine is in Python, and its interpreter's time would be measured"
               in err, f"the reason: {err}")
        runs = folder.plan(*folder.python(), "--method", "dense,mine", "--purpose", "timing")
        expect("is in Python" in runs["mine"]["excluded"], "the plan says why")
        expect_equal(runs["dense"]["excluded"], "", "dense is timed")


def faults_are_recorded():
    with Trainings(["narrow", "undefined", "raises"]) as folder:
        code, _, err = folder.sweep(*folder.python(), "--progress", "log")
        expect_equal(code, 3, f"exit code ({err})")
        errors = {method.split(":")[0]: error for method, error in folder.query(
            "SELECT c.method, r.error FROM run r JOIN cell c USING(cell_id)")}
        # The last convolution is the first whose gradient is pruned.
        expect_equal(errors, {
            "narrow": "conv3: narrow returned (128, 1, 3, 3), expected the shape of dy, "
                      "(128, 8, 3, 3)",
            "undefined": "conv3: undefined returned NaN or infinity of a finite dy",
            "raises": f"conv3: raises: KeyError: 'no such key' (line {RAISES_IN_LINE})",
        }, "errors")


def refused(what, *arguments, text=MINE, says):
    with Trainings(["mine"], text=text) as folder:
        code, out, err = folder.sweep(*arguments)
        expect_equal((code, out), (2, ""), f"{what} ({err})")
        expect(says in err.splitlines()[-1], f"{what}: {err}")
        expect(not os.path.exists(folder.file("t.db")), f"{what}: made a store")


def bad_files_are_refused():
    mine = ["--python", "my.py", "--python-executable"]
    here = [*mine, sys.executable]
    refused("no file", "--python", "none.py", says="none.py")
    refused("no interpreter", *mine, "/no/such/python3", says="/no/such/python3 does not start")
    refused("an exception", *here, text="1 / 0\n",
            says="ZeroDivisionError: division by zero (line 1)")
    refused("no Python", *mine, "/bin/false", says="ended with exit code 1")
    refused("a default", *here, text=MINE.replace("share=0.25", "share=float('inf')"),
            says="the default of share is not finite")
    refused("no method", *here, text="x = 1\n", says="it declares no method")
    refused("a built-in name", *here, text=MINE.replace('"mine"', '"zero"'),
            says="method zero: the program has one of that name")
    refused("a parameter of the key", *here, text=MINE.replace("share=0.25", "file=0.25"),
            says="parameter file: the name is taken")
    refused("slurm", *here, "--slurm", says="--slurm")


def gradient_error():
    with Trainings(["mine"]) as folder:
        code, out, err = folder.run(
            "study", "gradient-error", *folder.python(), "--method",
            "meprop:ratio=0.25,mine,coin,pairs,sdgp:n=1,m=2,rescale=none", "--network",
            "small_cnn:width=4", "--draws", "3", "--no-store", "--format", "json")
        if not expect_equal(code, 0, f"study ({err})"):
            return
        table = json.loads(out)
        at = {name: place for place, name in enumerate(table["columns"])}
        rows = {}
        for row in table["rows"]:
            name = row[at["method"]].split(":")[0]
            rows.setdefault(name, []).append([row[at["layer"]], row[at["product"]],
                                              row[at["draws"]], row[at["cosine"]],
                                              row[at["bias"]]])
        expect_equal(rows["mine"], rows["meprop"], "gradient errors")
        expect({row[2] for row in rows["mine"]} == {1}, "mine draws nothing")
        expect({row[2] for row in rows["coin"]} == {3}, "coin draws anew")
        expect_equal([row[:2] for row in rows["pairs"]], [row[:2] for row in rows["sdgp"]],
                     "n of m has one product")
        apart = [abs(a[3] - b[3]) for a, b in zip(rows["pairs"], rows["sdgp"])]
        expect(max(apart) < 1e-4, f"n of m is sdgp's: {apart}")


def main():
    trains_like_the_built_in_one_and_goes_on()
    keys_follow_the_file()
    timings_are_refused()
    faults_are_recorded()
    bad_files_are_refused()
    gradient_error()
    finish()


main()
