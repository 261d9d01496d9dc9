"""scripts/rank-bandwidth: the bytes that the program counts are those that cross the loopback; what
the CSV has is not measured again; whatever is wrong is one line. Nothing here looks at a time."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
SCRIPT = os.path.join(SCRIPTS, "rank-bandwidth")
sys.path.insert(0, SCRIPTS)  # where the script, as a module too, finds what lies beside it
SKIPPED = 77
# Enough to see bytes.
SMALL = ["--batch-size", "16", "--bandwidths", "1000"]


def script(*arguments, **environment):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                          check=False, timeout=800,
                          env={**os.environ, "APPROXTRAIN_PROGRAM": PROGRAM, **environment})
    return done.returncode, done.stdout, done.stderr


def expect_failure(code, what, *arguments, **environment):
    found, _, said = script(*arguments, **environment)
    last = said.strip().splitlines()[-1]
    assert found == code and what in last and "Traceback" not in said, (arguments, found, said)
    if code == 1:
        assert said.count("\n") == 1, said


def module():
    loader = importlib.machinery.SourceFileLoader("rank_bandwidth", SCRIPT)
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(loaded)
    return loaded


def check_words(folder):
    expect_failure(2, "one of the arguments --csv --model --smoke is required")
    expect_failure(2, "no arm is called dents; there are dense", "--smoke", "--arms", "dents")
    expect_failure(2, "invalid list value: '0'", "--smoke", "--bandwidths", "0")
    expect_failure(2, "one rank sends nothing", "--smoke", "--ranks", "1")
    expect_failure(2, "--into goes with --model", "--smoke", "--into", "page.md")
    expect_failure(2, "--format csv goes with --model", "--smoke", "--format", "csv")
    expect_failure(1, "nowhere is not there", "--smoke", APPROXTRAIN_PROGRAM=folder + "/nowhere")
    expect_failure(1, "No such file", "--model", os.path.join(folder, "nothing.csv"))


def write_cells(path, script_module, bandwidths, network="resnet20"):
    """What a finished measurement of one repetition leaves, with times that nobody measured."""
    from bandwidth_model import COLUMNS
    options = script_module.parse(["--csv", path])
    with open(path, "w", encoding="utf-8") as file:
        file.write("# made by a test\n" + ",".join(COLUMNS) + "\n")
        for i, arm in enumerate(script_module.ARMS.values()):
            for bandwidth in bandwidths:
                values = {
                    "repetition": 0, "bandwidth_mbit": bandwidth, "delay_ms": 0, "ranks": 2,
                    "threads": 1, "network": network, "dataset": options.dataset,
                    "batch_size": 128, "blocks": options.blocks,
                    "block_steps": options.block_steps, "method": arm.method,
                    "schedule": arm.label, "steps": 8, "step_ms": 10 + i + 1e4 / (bandwidth or 1e9),
                    "step_ms_low": 1, "step_ms_high": 1e3, "paired_dense_ms": 10,
                    "bytes_counted_per_step": 1e6, "bytes_measured_per_step": 1e6,
                    "measured_over_counted": 1, "exchanges": 3, "disturbed": 0}
                file.write(",".join(str(values[name] or "") if name == "bandwidth_mbit" else
                                    str(values[name]) for name in COLUMNS) + "\n")


def check_pages(folder, script_module):
    cells, page = os.path.join(folder, "cells.csv"), os.path.join(folder, "page.md")
    write_cells(cells, script_module, ["", 1000, 100, 50])
    with open(page, "w", encoding="utf-8") as file:
        file.write("before\n<!-- rank-bandwidth -->\nold\n<!-- /rank-bandwidth -->\nafter\n")
    code, said, _ = script("--model", cells, "--into", page)
    assert code == 0, said
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text, text
    assert said.strip() in text and "**A model, not a measurement:**" in text, text
    with open(page, "w", encoding="utf-8") as file:
        file.write("no mark\n")
    expect_failure(1, "has no lines <!-- rank-bandwidth -->", "--model", cells, "--into", page)


def check_resuming(folder, script_module):
    cells = os.path.join(folder, "cells.csv")
    write_cells(cells, script_module, ["", 100])
    flags = ["--csv", cells, "--bandwidths", "unlimited,100", "--repetitions", "1"]
    with open(cells, encoding="utf-8") as file:
        before = file.read()
    code, _, said = script(*flags)
    assert code == 0 and said == "rank-bandwidth: nothing left to do\n", (code, said)
    with open(cells, encoding="utf-8") as file:
        assert file.read() == before
    # A cell that was disturbed is to be done again, and so is another repetition.
    options = script_module.parse(flags)
    disturbed = os.path.join(folder, "disturbed.csv")
    with open(disturbed, "w", encoding="utf-8") as file:
        file.write(before.strip()[:-1] + "1\n")
    done = script_module.done_cells(disturbed, options)
    left = [cell for cell in script_module.planned(options)
            if script_module.key_of(*cell) not in done]
    assert len(left) == 1 and left[0][1] == 100, left
    more = script_module.planned(script_module.parse([*flags[:-1], "3"]))
    assert len(more) == 3 * len(script_module.ARMS) * 2 and more[:6] != more[6:12], more
    expect_failure(1, "its cells are of network = resnet20, not resnet9", *flags, "--network",
                   "resnet9")
    expect_failure(1, "its cells are of block_steps = ", *flags, "--block-steps", "77")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_words(folder)
        script_module = module()
        check_pages(folder, script_module)
        code, said, complaints = script("--smoke", *SMALL)
        if code == SKIPPED:
            print(complaints.strip())
            sys.exit(SKIPPED)
        print(said.strip())
        assert code == 0, (said, complaints)
        assert said.count("counted") == len(script_module.ARMS), said
        check_resuming(folder, script_module)


if __name__ == "__main__":
    main()
