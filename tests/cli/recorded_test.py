"""Operands of a real training on their way: recorded, benchmarked, stored, reported; and what is
said of files that are not what they were."""

import os
import sys

from program import RealFolder, expect, expect_equal, finish

TRAIN = ["train", "--network", "small_cnn:width=4", "--dataset", "mnist14", "--threads", "1",
         "--method", "stochastic_pruning:p=0.9", "--schedule", "slice:layers=1::1", "--epochs", "2",
         "--set", "train_examples=512", "--db", "t.db", "--progress", "none"]
BENCH = ["bench-kernel", "--recorded", "operands", "--method", "stochastic_pruning:p=0.9", "--op",
         "all", "--db", "t.db", "--repetitions", "2", "--min-time", "1ms", "--progress", "none"]


def through_the_program(folder):
    code, _, err = folder.run(*TRAIN, "--record", "operands", timeout=600)
    expect_equal(code, 0, f"train: exit code ({err})")
    files = sorted(os.listdir(folder.file("operands")))
    expect_equal(len(files), 8, f"4 layers in 2 epochs: {files}")
    key = folder.query("SELECT run_key FROM cell")[0][0]
    expect(all(name.startswith(key[:12]) and name.endswith(".operands") for name in files),
           f"names: {files}")

    # Each layer at each epoch once; the images have no gradient, and the method no forward product.
    rows = folder.rows(*BENCH, timeout=600)
    methods = [row for row in rows if row["method"] != "dense"]
    places = {(row["op"], row["shape"], float(row["epoch"])) for row in methods}
    label = "small_cnn:width=4 "
    layers = [("data_gradient", "conv 2"), ("data_gradient", "conv 3"),
              ("data_gradient", "linear 1"), ("weight_gradient", "conv 1"),
              ("weight_gradient", "conv 2"), ("weight_gradient", "conv 3"),
              ("weight_gradient", "linear 1")]
    expect_equal(places, {(op, label + layer, epoch) for op, layer in layers
                          for epoch in (1.0, 2.0)}, "layers and epochs")
    steps = {float(row["epoch"]): int(row["step"]) for row in rows}
    expect_equal(steps, {1.0: 3, 2.0: 7}, "steps of 128 images")
    expect_equal({row["run_key"] for row in rows}, {key}, "run")
    expect_equal({row["operands"] for row in rows}, {"recorded"}, "operands")
    expect(all(row["trained_by"].startswith("stochastic_pruning:p=0.9") for row in rows),
           "trained by")
    pruned = [float(row["density"]) for row in methods if "conv" in row["shape"]]
    expect(all(0 < density < 1 for density in pruned), f"densities of convolutions: {pruned}")
    worst = max(float(row["max_rel_error"]) for row in rows)
    expect(worst < 1e-4, f"the largest error is {worst}")

    # The store tells them from random operands of the same shape.
    shape = "N128,C4,K8,H7,R3,P1"
    folder.rows("bench-kernel", "--shape", shape, *BENCH[3:], timeout=600)
    stored = folder.rows("report", "kernels", "--db", "t.db")
    expect_equal(sum(row["operands"] == "recorded" for row in stored), len(rows), "stored rows")
    expect_equal({row["epoch"] for row in stored if row["operands"] == "random"}, {""}, "no epoch")

    explained = folder.rows(*BENCH, "--explain", timeout=600)
    expect_equal({float(row["epoch"]) for row in explained}, {1.0, 2.0}, "explained")
    wanted = {(row["op"], row["shape"], row["epoch"], row["density"]) for row in methods}
    got = {(row["op"], row["shape"], row["epoch"], row["density"]) for row in explained
           if row["method"] != "dense"}
    expect_equal(got, wanted, "densities of explained plans")


def refused(folder):
    name = sorted(os.listdir(folder.file("operands")))[3]
    path = folder.file("operands/" + name)
    with open(path, "rb") as file:
        whole = file.read()
    altered = bytearray(whole)
    altered[len(whole) // 2] ^= 1
    for what, content in (("altered", bytes(altered)), ("truncated", whole[:-5])):
        with open(path, "wb") as file:
            file.write(content)
        code, out, err = folder.run(*BENCH)
        expect_equal(code, 5, f"{what}: exit code")
        expect(err.count("\n") == 1 and name in err and "damaged" in err, f"{what}: {err}")
        expect_equal(out, "", f"{what}: stdout")
    with open(path, "wb") as file:
        file.write(whole)

    code, _, err = folder.run(*BENCH[:1], "--recorded", "missing")
    expect_equal((code, err.count("\n")), (5, 1), f"no such folder: {err}")
    os.mkdir(folder.file("empty"))
    code, _, err = folder.run(*BENCH[:1], "--recorded", "empty")
    expect(code == 5 and "train --record writes them" in err, f"an empty folder: {err}")

    code, _, err = folder.run(*TRAIN, "--record", "operands")
    expect(code == 0 and "was done before and was not recorded now" in err, f"done before: {err}")
    again = [*TRAIN, "--seed", "1", "--record", "more", "--record-every"]
    for text, step in (("3ep", 12), ("9ba", 9)):
        code, _, err = folder.run(*again, text)
        expect(code == 2 and f"the first recorded step would be {step}; record more often" in err,
               f"too seldom: {err}")
    for text in ("0ep", "2", "ep", "1.5ep", "5m"):
        code, _, err = folder.run(*again, text)
        expect(code == 2 and "--record-every" in err, f"{text}: {err}")
    code, _, err = folder.run(*TRAIN, "--purpose", "timing", "--record", "more")
    expect(code == 2 and "only accuracy runs" in err, f"timing: {err}")


def main():
    with RealFolder() as folder:
        through_the_program(folder)
        refused(folder)
    finish()


if __name__ == "__main__":
    sys.exit(main())
