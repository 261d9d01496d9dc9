"""Every method trains a small network on the real MNIST, on every layer but the first and in every
step, to over 97 % of the test set. Needs APPROXTRAIN_TEST_DATA (skipped without it).

Two do not get there at ratio 0.5 and have 0.75 here. crs, whose forward product is noisy on 16
channels, reaches 96.2 % in two epochs and 97.8 % in five. topk_weights reaches 94.8 and 93.1 %:
a channel that is not taken is not trained, so it is never taken, but evaluation is exact and
uses it.

zero and random get there too, although they give the convolutions no information: batch norms and
the classifier learn on convolutions that stay, or wander, where they were initialised. Which is
why this says that a method runs and does no harm on an easy set, and nothing about its worth.
"""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
DATA = os.environ.get("APPROXTRAIN_TEST_DATA")
SKIPPED = 77
REACHED = 0.97
# Controls choose blindly what others choose by looking, and are expected to lose by it: 30 entries
# of an example, or one position of a map. `random` looks at nothing at all: six seeds gave 96.94 to
# 97.54 % (97.2 on the average, with a deviation of 0.24) on a processor with AVX2, and one seed is
# another training on each kind of processor.
BLIND = {"random_entries": 0.85, "random_position": 0.95, "random": 0.96}

WIDER = {"crs": "crs:ratio=0.75", "topk_weights": "topk_weights:ratio=0.75"}

SWEEP = """id = "test:methods"
network = "small_cnn"
dataset = "mnist"
recipe = {{ base = "mnist14_sgd", epochs = 3 }}
train_examples = 12000
batch_size = 64
threads = 1
seeds = 0
method = {methods}
schedule = [{{ label = "every layer and step", layers = "::1" }}]
"""


def run(folder, *arguments):
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("APPROXTRAIN_", "XDG_"))}
    done = subprocess.run([PROGRAM, *arguments, "--data-dir", folder, "--db", folder + "/t.db"],
                          cwd=folder, env=dict(env, HOME=folder), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    if not DATA or not os.path.isdir(os.path.join(DATA, "mnist")):
        print("skipped: APPROXTRAIN_TEST_DATA has no mnist/")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "data", "import", "mnist", "--from", os.path.join(DATA, "mnist"))
        methods = json.loads(run(folder, "list", "methods", "--format", "json"))["rows"]
        # This network has no blocks.
        names = [row["name"] for row in methods if not row.get("stops_blocks")]
        names.remove("mixed")
        texts = [WIDER.get(name, name) for name in names]
        with open(os.path.join(folder, "methods.toml"), "w") as out:
            out.write(SWEEP.format(methods=json.dumps(texts)))
        run(folder, "sweep", "methods.toml", "--jobs", "2", "--progress", "none")
        rows = json.loads(run(folder, "report", "runs", "--format", "json"))["rows"]
        accuracies = {row["method"].split(":")[0]: row["accuracy_pct"] / 100 for row in rows}
        for name, accuracy in sorted(accuracies.items(), key=lambda pair: -pair[1]):
            print(f"{name:20} {100 * accuracy:.2f} %")
        missing = [name for name in names if name not in accuracies]
        short = [name for name, accuracy in accuracies.items()
                 if not accuracy > BLIND.get(name, REACHED)]
        if missing or short:
            sys.exit(f"not run: {missing}; not over {BLIND} or {REACHED}: {short}")


if __name__ == "__main__":
    main()
