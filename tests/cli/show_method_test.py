"""`show method`: the declaration, the page and the results of each method."""

import json
import os
import re
import subprocess

from program import Folder, expect, expect_equal, finish

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/methods")
SWEEP = """id = "fake:shown"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

with Folder(SWEEP) as folder:
    code, out, err = folder.run("list", "methods", "--format", "json")
    methods = [row["name"] for row in json.loads(out)["rows"]]
    expect(len(methods) > 10, f"{methods}")
    for method in methods:
        code, out, err = folder.run("show", "method", method, "--db", "none.db")
        expect_equal((code, err), (0, ""), method)
        expect(out.startswith(f"# `{method}`\n\n"), f"{method}: {out[:100]}")
        expect("](" not in out, f"{method}: a link into nowhere")
        expect(out.endswith("## In this database\n\nIt has no results of this method.\n"),
               f"{method}: {out[-200:]}")
        for section in ("What it does", "Cost", "Where it pays, and where not"):
            expect_equal(len(re.findall(f"^## {section}$", out, re.M)), 1, f"{method}: {section}")
        expect("## Parameters" not in out, f"{method}: its parameters stand above")
        expect(re.search(r"[^\n]\n#", out) is None and "\n\n\n" not in out, f"{method}: {out}")
        code, out, err = folder.run("show", "method", method, "--format", "json", "--db", "none.db")
        card = json.loads(out)
        expect_equal((card["method"]["name"], card["results"]), (method, None), method)

    code, out, err = folder.run("show", "method", "sdgp", "--db", "none.db")
    names = [param["name"] for param in json.loads(
        folder.run("show", "method", "sdgp", "--format", "json")[1])["method"]["params"]]
    expect(len(names) > 2, f"{names}")
    for name in names:
        expect(re.search(rf"^\| {name} +\| \S", out, re.M) is not None, f"{name} in {out[:900]}")

    # As the page says it, with the texts of its links.
    with open(os.path.join(PAGES, "zero.md"), encoding="utf-8") as page:
        (first,) = re.findall(r"^## What it does\n\n(.*?)\n\n", page.read(), re.M | re.S)
    code, out, err = folder.run("show", "method", "zero")
    expect(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first) in out, first)
    expect("The ceiling follows" in out, "a link is its text")

    code, _, err = folder.sweep("--progress", "none")
    expect_equal(code, 0, err)
    code, out, err = folder.run("show", "method", "zero", "--db", "t.db")
    expect(re.search(r"^\| seeds beside dense +\| 2 ", out, re.M) is not None, out[-900:])
    code, out, err = folder.run("show", "method", "topk_crs", "--db", "t.db")
    expect("It has no results of this method." in out, out[-300:])

    code, out, err = folder.run("completion", "bash")
    with open(folder.file("completion"), "w", encoding="utf-8") as file:
        file.write(out)
    script = ("source completion; COMP_LINE='approxtrain show method topk_c'; "
              "COMP_POINT=${#COMP_LINE}; _approxtrain; echo ${COMPREPLY[@]}")
    done = subprocess.run(["bash", "-c", script], cwd=folder.path, capture_output=True, text=True,
                          check=False)
    expect_equal(done.stdout.split(), ["topk_crs"], f"completion ({done.stderr})")

    code, out, err = folder.run("show", "method", "zro", "--db", "t.db")
    expect_equal((code, out), (2, ""), "an unknown one")
    expect(err.startswith('approxtrain: unknown method "zro" (did you mean "zero"?)'), err)
finish()
