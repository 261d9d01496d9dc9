"""What `--format tex` writes, compiled: every report of every committed database, and a label with
every sign that the format knows, none wider than the page. Skipped (77) where there is no pdflatex
with array, booktabs and longtable."""

import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
REPORTS = ["table", "tta", "pareto", "pairs", "advice", "kernels", "cascade", "cards"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def program(*arguments):
    return subprocess.run([PROGRAM, *arguments, "--format", "tex"], check=True, capture_output=True,
                          text=True, cwd=ROOT).stdout


def every_sign():
    """What results/render/tex_text.cpp has a command for, and all of ASCII and Latin 1."""
    with open(os.path.join(ROOT, "results/render/tex_text.cpp"), encoding="utf-8") as source:
        named = re.findall(r"\{U'([^'\\])'", source.read())
    return "".join(map(chr, [*range(0x20, 0x7F), *range(0xC0, 0x100)])) + "".join(named) + "⁰⁹₀₉字"


def tables(folder):
    databases = sorted(glob.glob(os.path.join(ROOT, "results/measured/*/*.db")))
    study = next(db for db in databases if db.endswith("several-machines/study.db"))
    for db in databases:
        for report in REPORTS:
            yield program("report", report, "--db", db)
    # Every column, of many rows; `layers` has thousands.
    for report in ("table", "advice", "runs", "layers"):
        yield program("report", report, "--wide", "--db", study)
    with_papers = next(db for db in databases if db.endswith("wang2019.db"))
    for item in ("wang2019:table1", "wang2019:table3", "adelman2021:table1"):
        yield program("report", "paper", item, "--db", with_papers)
    odd = os.path.join(folder, "odd.db")
    shutil.copy(next(db for db in databases if db.endswith("quickstart.db")), odd)
    with sqlite3.connect(odd) as store:
        store.execute("UPDATE experiment_cell SET method_label = method_label || ?",
                      (" " + every_sign(),))
    yield program("report", "table", "--db", odd)


def main():
    if shutil.which("pdflatex") is None:
        skip("no pdflatex; scripts/setup --dev installs it")
    if subprocess.run(["kpsewhich", "array.sty", "booktabs.sty", "longtable.sty"],
                      capture_output=True, check=False).returncode:
        skip("this LaTeX has no array, booktabs or longtable")
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for number, table in enumerate(tables(folder)):
            name = f"table{number}.tex"
            with open(os.path.join(folder, name), "w", encoding="ascii") as out:
                out.write(table)
            parts.append(rf"\input{{{name}}}\clearpage")
        with open(os.path.join(folder, "all.tex"), "w", encoding="ascii") as out:
            out.write("\n".join([r"\documentclass{article}",
                                 r"\usepackage{array,booktabs,longtable}",
                                 r"\begin{document}", *parts, r"\end{document}", ""]))
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error",
                               "-no-shell-escape", "all.tex"], cwd=folder, capture_output=True,
                              check=False)
        with open(os.path.join(folder, "all.log"), encoding="latin-1") as log:
            text = log.read()
        assert done.returncode == 0, text[-3000:]
        wide = re.findall(r"Overfull \\hbox.*", text)
        assert not wide, wide[:5]
        missing = re.findall(r"Missing character:.*", text)
        assert not missing, missing[:5]
        pages = int(re.search(r"Output written on all\.pdf \((\d+) page", text).group(1))
        assert pages >= len(parts) // 2, (pages, len(parts))  # an empty table makes no page
        print(f"{len(parts)} tables on {pages} pages")


if __name__ == "__main__":
    main()
