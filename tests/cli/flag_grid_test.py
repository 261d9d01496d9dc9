"""A sweep whose grid is flags alone: held to plain loops over the flags, and to the file that
--save writes."""

import itertools
import json
import os
import random
import re

from program import Folder, expect, expect_equal, finish


def pieces(draw, low, high, write):
    """Pieces of a list, and their numbers, none twice. `write` writes a number of the range."""
    while True:
        texts, values = [], []
        for _ in range(draw.randint(1, 3)):
            first = draw.randint(low, high)
            last = draw.randint(first, high)
            step, factor = draw.randint(1, high - low), draw.randint(2, 3)
            kind = draw.randrange(3)
            if kind == 0:
                texts.append(write(first))
                values.append(first)
            elif kind == 1:
                texts.append(f"{write(first)}-{write(last)}+{write(step)}")
                values += range(first, last + 1, step)
            else:
                texts.append(f"{write(first)}-{write(last)}*{factor}")
                while first <= last:
                    values.append(first)
                    first *= factor
        if len(set(values)) == len(values):
            return texts, values


def flags(draw, flag, texts):
    """The pieces as one flag or several."""
    words = []
    for text in texts:
        if words and draw.random() < 0.5:
            words[-1] += f",{text}"
        else:
            words += [flag, text]
    return words


def planned(folder, *words):
    code, out, err = folder.run("--db", "t.db", "sweep", *words, "--dry-run", "--format", "json")
    expect_equal(code, 0, f"{words}: {err}")
    return (json.loads(out) if code == 0 else {"runs": []}), err


def cell(run):
    config = run["config"]
    ratio = re.search(r"\bratio=([^,]*)", config["method"])
    return (run["network"], float(ratio[1]) if ratio else 0, config["batch_size"],
            config["recipe"]["epochs"], config["seed"])


def tenth(number):
    return f"0.{number}"


with Folder() as folder:
    for trial in range(30):
        draw = random.Random(trial)
        batch_texts, batches = pieces(draw, 8, 13, str)
        seed_texts, seeds = pieces(draw, 1, 4, str)
        epoch_texts, epochs = pieces(draw, 1, 3, str)
        ratio_texts, ratios = pieces(draw, 1, 9, tenth)
        methods = ["dense"] + [f"topk_crs:ratio={text}" for text in ratio_texts]
        networks = ["small_cnn", "mnist_mlp"][:draw.randint(1, 2)]
        words = ["--dataset", "mnist14"]
        for flag, texts in (("--network", networks), ("--method", methods), ("--seeds", seed_texts),
                            ("--batch-size", batch_texts), ("--epochs", epoch_texts)):
            words += flags(draw, flag, texts)
        saved = f"grid{trial}.toml"
        plan, err = planned(folder, *words, "--save", saved)
        expect_equal(err, f"grid{trial}: saved; `approxtrain sweep {saved}` is this sweep\n", saved)
        expect_equal(sorted(map(cell, plan["runs"])),
                     sorted(itertools.product(networks, [0] + [float(tenth(r)) for r in ratios],
                                              batches, epochs, seeds)), f"{words}")
        again, err = planned(folder, saved)
        expect_equal(err, "", saved)
        expect_equal([run["run_key"] for run in again["runs"]],
                     [run["run_key"] for run in plan["runs"]], f"{words}")
    expect(not os.path.exists(folder.file("t.db")), "a dry run made a store")

# The whole way: the runs are stored, and the saved file has nothing left to do.
with Folder() as folder:
    words = ["--network", "small_cnn", "--dataset", "mnist14", "--method", "dense,zero",
             "--seeds", "0-1"]
    code, _, err = folder.run("--db", "t.db", "--progress", "none", "sweep", *words,
                              "--save", "mine.toml")
    expect_equal(code, 0, err)
    expect_equal(len(folder.states()), 4, "trained")
    code, _, err = folder.run("--db", "t.db", "--progress", "none", "sweep", "mine.toml")
    expect_equal(code, 0, err)
    expect_equal(folder.query("SELECT count(*) FROM run"), [(4,)], "trained again")
    with open(folder.file("mine.toml"), encoding="utf-8") as file:
        expect_equal(folder.query("SELECT name, text FROM experiment"), [("mine", file.read())],
                     "the stored text")
    code, out, err = folder.run("--db", "t.db", "report", "table", "mine")
    expect_equal(code, 0, err)
    expect("zero" in out, out)

    # A file that says something else stays.
    with open(folder.file("other.toml"), "w", encoding="utf-8") as file:
        file.write("mine\n")
    code, out, err = folder.run("sweep", *words, "--save", "other.toml")
    expect_equal((code, err), (2, "approxtrain: --save: other.toml is there with another text; "
                                  "delete it or choose another name\n"), "kept")
    with open(folder.file("other.toml"), encoding="utf-8") as file:
        expect_equal(file.read(), "mine\n", "kept")

    # A recipe's name may mean another file beside the saved one.
    for path, epochs in (("recipes", 1), ("there/recipes", 2)):
        os.makedirs(folder.file(path))
        with open(folder.file(f"{path}/short.toml"), "w", encoding="utf-8") as file:
            file.write(f"epochs = {epochs}\n")
    code, out, err = folder.run("sweep", *words, "--recipe", "short", "--save", "there/grid.toml")
    expect_equal((code, err), (2, "approxtrain: --save: beside there/grid.toml is another recipe "
                                  "of this name; save it elsewhere\n"), "another recipe")
    expect(not os.path.exists(folder.file("there/grid.toml")), "it was written")
finish()
