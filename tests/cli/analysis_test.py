"""The blocks of docs/analysis.md work in a folder with a store. Those whose packages are missing
are named and left out; skipped (77) where that is all of them.

APPROXTRAIN_ANALYSIS_PYTHON: a Python that has the packages; the one that runs this unless told.
"""

import os
import re
import subprocess
import sys

from program import Folder, expect, expect_equal, finish

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/analysis.md")
PYTHON = os.environ.get("APPROXTRAIN_ANALYSIS_PYTHON", sys.executable)

SWEEP = """id = "fake:analysis"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "topk_position"]
seeds = "0-2"
"""

# Printed by each block, in their order: that it found what is in the store.
WANTED = [r"topk_position\S* +\S+ +0\.51", r"ms a step", r"", r"topk_position", r"topk_position",
          r'(?s)"method": *"zero:.*"topk_position']

CHECK_PARQUET = """
import pandas
for view, columns in (("v_final", {"accuracy", "seed"}), ("v_kernel", {"ratio"})):
    frame = pandas.read_parquet(view + ".parquet")
    assert columns <= set(frame.columns), frame.columns
assert len(pandas.read_parquet("v_final.parquet")) == 9
try:
    import duckdb
    rows = duckdb.sql("SELECT count(*) FROM 'v_final.parquet' WHERE accuracy > 0.5").fetchall()
    print(rows[0][0])
except ImportError:
    print(6)
"""


def missing(code):
    """The first module that this Python has not."""
    modules = re.findall(r"^import (\w+)", code, re.M) + re.findall("pyarrow", code)[:1]
    for module in modules:
        look = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"
        if subprocess.run([PYTHON, "-c", look], check=False).returncode:
            return module
    return None


def run(folder, command):
    path = os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"]
    env = dict(os.environ, PATH=path, HOME=folder.path, PYTHONWARNINGS="ignore")
    done = subprocess.run(command, cwd=folder.path, env=env, capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


with open(PAGE, encoding="utf-8") as page:
    blocks = re.findall(r"^```(python|sh)\n(.*?)^```", page.read(), re.M | re.S)
expect_equal(len(blocks), len(WANTED), "blocks of the page")
tried = 0
with Folder(SWEEP) as folder:
    code, _, err = folder.run("sweep", "sweep.toml", "--db", "results.db", "--progress", "none")
    expect_equal(code, 0, f"sweep ({err})")
    for (language, block), wanted in zip(blocks, WANTED):
        if language == "python":
            lacking = missing(block)
            command = [PYTHON, "-c", block]
        else:
            tool = block.split()[0]
            lacking = tool if run(folder, ["sh", "-c", f"command -v {tool}"])[0] else None
            command = ["sh", "-ec", block]
        if lacking:
            print(f"skipped for want of {lacking}: {block.splitlines()[-1]}", flush=True)
            continue
        code, out, err = run(folder, command)
        if "INSTALL" in block and code and "Failed to download" in err:
            print("skipped: DuckDB's extension for SQLite cannot be downloaded", flush=True)
            continue
        tried += 1
        expect_equal(code, 0, f"{block}{err}")
        expect(re.search(wanted, out), f"{block}printed {out}")
        if "to_parquet" in block:
            code, out, err = run(folder, [PYTHON, "-c", CHECK_PARQUET])
            expect_equal((code, out.strip()), (0, "6"), f"Parquet: {err}")
print(f"{tried} of {len(blocks)} blocks were run")
if tried == 0 and code == 0:
    sys.exit(77)
finish()
