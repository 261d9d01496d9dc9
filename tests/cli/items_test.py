"""Every table and figure of the papers runs through at smoke scale and is reported in every format.

What `list papers` names is swept in one store; its table is then asked for as text, CSV, JSON and
LaTeX, and the reports that stand on the same store are made once each. Without gnuplot the figures
are left out.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("APPROXTRAIN_PROGRAM", "build/approxtrain"))
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
VERDICTS = {"", "REPRODUCED", "BY CONSTRUCTION", "DIFFERS", "NOT COMPARABLE", "NOT RUN"}


def run(folder, *arguments, code=0):
    """The output of the program, which must end with `code`."""
    db = os.path.join(folder, "store.db")
    # What was run of each item is asked for before there is a store, too.
    named = ["--db", db] if os.path.exists(db) or arguments[0] != "list" else []
    command = [PROGRAM, *arguments, *named, "--data-dir", os.path.join(folder, "data")]
    env = {key: value for key, value in os.environ.items() if key != "APPROXTRAIN_DB"}
    env["XDG_DATA_HOME"] = folder
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def check_item(folder, item):
    name = item["name"]
    run(folder, "sweep", "@" + name, "--scale", "smoke", "--progress", "none",
        "--checkpoint-every", "0", "--timing-retries", "0")
    # Beside other tests a timing is disturbed.
    arguments = ("report", "--include-tainted", "paper", name, "--scale", "smoke", "--format")
    table = list(csv.DictReader(io.StringIO(run(folder, *arguments, "csv"))))
    assert table, f"{name}: its table is empty"
    # No number of ours has a verdict other than these, and none of nonsense data is a judgement.
    for row in table:
        assert row.get("verdict", "") in VERDICTS, (name, row)
        assert row.get("verdict") not in ("REPRODUCED", "BY CONSTRUCTION", "DIFFERS"), (name, row)
    if item["smoke"] is not None and "runs" in item["smoke"]:
        measured = [row for row in table if int(row["n"]) > 0]
        assert measured, f"{name}: nothing of it is measured"
    assert json.loads(run(folder, *arguments, "json"))["rows"], name
    assert re.search(r"\\begin\{(tabular|longtable)\}", run(folder, *arguments, "tex")), name
    text = run(folder, *arguments, "md")
    assert item["title"] in text, f"{name}: no title in\n{text}"


def check_lacks(folder, items):
    """What an item wants and is not here is said of each scale: data sets, and a GPU."""
    lacks = {item["name"]: item["lacks"] for item in items}
    gpu = [] if os.path.exists("/proc/driver/nvidia/version") else ["a GPU"]
    assert all(of.get("smoke", []) == [] for of in lacks.values()), lacks
    assert lacks["ye2020:table2"] == {"full": ["cifar100"], "reduced": ["cifar100"], "smoke": []}
    assert lacks["ye2020:table3"]["full"] == ["imagenet", *gpu], lacks["ye2020:table3"]
    assert lacks["ye2020:figure2"]["full"] == ["cifar10", *gpu], lacks["ye2020:figure2"]
    assert lacks["wang2019:table1_cuda"]["reduced"] == gpu, lacks["wang2019:table1_cuda"]
    table = list(csv.DictReader(io.StringIO(run(folder, "list", "papers", "--format", "csv"))))
    said = {row["item"]: row["lacks here"] for row in table}
    assert said["@ye2020:table2"] == "full: cifar100; reduced: cifar100", said
    data = os.path.join(folder, "data")
    os.makedirs(data)
    packed = os.path.join(data, "cifar100.packed")
    with open(packed, "wb"):
        pass
    after = json.loads(run(folder, "list", "papers", "--format", "json"))["rows"]
    lacks = {item["name"]: item["lacks"] for item in after}
    assert lacks["ye2020:table2"] == {"full": [], "reduced": [], "smoke": []}, lacks
    assert lacks["ye2020:table1"]["full"] == ["cifar10"], lacks
    os.remove(packed)


def check_plan_without_data(folder):
    """A plan is what the store says of it, also where the data of its runs are not here."""
    db = os.path.join(folder, "study.db")
    shutil.copyfile(os.path.join(ROOT, "results/measured/several-machines/study.db"), db)
    done = subprocess.run([PROGRAM, "sweep", "@wang2019:table3", "--scale", "reduced", "--dry-run",
                           "--format", "json", "--db", db, "--data-dir",
                           os.path.join(folder, "none")],
                          capture_output=True, text=True, cwd=ROOT, check=True)
    states = {run["state"] for run in json.loads(done.stdout)["runs"]
              if run["method"] == "Zero Gradient"}
    assert states == {"finished"}, states
    assert done.stderr.count('data set "cifar10" is not in') == 1, done.stderr


def check_scale_with_most_results(folder):
    """Runs of other experiments count at each scale, and where there is no picture the scale that
    has one is named."""
    db = os.path.join(folder, "study.db")
    arguments = [PROGRAM, "report", "paper", "wang2019:figure6", "--db", db]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "(reduced scale)" in done.stdout.splitlines()[0], done.stdout[:200]
    done = subprocess.run([*arguments, "--scale", "full", "--format", "svg"], capture_output=True,
                          text=True, cwd=ROOT, check=False)
    assert done.returncode == 2 and "--scale reduced" in done.stderr, done


def check_kernel_picture(folder):
    """A picture of a kernel item has none of another item's benchmarks."""
    db = os.path.join(folder, "kernels.db")
    shutil.copyfile(os.path.join(ROOT, "results/measured/amd-epyc-2core-2026-11-22/kernels.db"), db)
    done = subprocess.run([PROGRAM, "report", "paper", "wang2019:table1_cuda", "--db", db,
                           "--format", "svg"], capture_output=True, text=True, cwd=ROOT,
                          check=False)
    assert done.returncode == 2 and "nothing to draw yet" in done.stderr, done


def main():
    folder = tempfile.mkdtemp()
    try:
        items = json.loads(run(folder, "list", "papers", "--format", "json"))["rows"]
        papers = {item["name"].split(":")[0] for item in items}
        assert {"wang2019", "ye2020", "adelman2021", "mcdanel2022", "open"} <= papers, papers
        check_lacks(folder, items)
        check_plan_without_data(folder)
        check_scale_with_most_results(folder)
        check_kernel_picture(folder)
        for item in items:
            check_item(folder, item)
        after = json.loads(run(folder, "list", "papers", "--format", "json"))["rows"]
        for item in after:
            state = item["smoke"] or ""
            assert not state.startswith("0 of") and state != "to do", item
        # Again: nothing is left to do.
        run(folder, "sweep", "@wang2019:table5", "--scale", "smoke", "--progress", "none")
        for kind in ("table", "tta", "pareto", "curves", "layers", "advice", "runs", "kernels",
                     "cascade", "cards"):
            rows = list(csv.DictReader(io.StringIO(
                run(folder, "report", kind, "--include-tainted", "--format", "csv"))))
            assert rows, f"report {kind} is empty"
        run(folder, "report", "profile", "wang2019:table5:smoke")
        store = os.path.join(folder, "store.db")
        run(folder, "report", "compare", store, store, "--fail-on", "slower,inferior,differs")
        page = os.path.join(folder, "page.html")
        run(folder, "report", "html", "--scale", "smoke", "--out", page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        assert "http://" not in text.replace("http://www.w3.org", ""), "the page leaves the disk"
        for item in items:
            assert item["title"].replace("&", "&amp;") in text, f"{item['name']} is not on the page"
        if shutil.which("gnuplot"):
            for kind in ("curves", "pareto", "tta", "layers", "kernels"):
                figure = run(folder, "report", kind, "--include-tainted", "--format", "svg")
                assert "<svg" in figure, kind
            # Without a timing that counts there is no front: the numbers themselves are drawn.
            for name in ("mcdanel2022:figure10", "wang2019:table5"):
                paper = ("report", "paper", name, "--scale", "smoke")
                figure = run(folder, *paper, "--format", "svg")
                assert ">ours<" in figure, name
                # The paper's may be estimates: they are drawn beside ours, which need a timing that
                # nothing disturbed.
                without = "no timing run in the store" in run(folder, *paper)
                assert ">the paper<" in figure or without, name
            assert "<svg" in text, "the page has no figure"
        run(folder, "db", "check")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
