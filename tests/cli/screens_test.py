"""Tables on a terminal: no line is wider than it, and those that compare methods show what matters.
What is not on a terminal stays whole Markdown.

screens_test.py DATABASE, one with methods, timings and accuracies."""

import os
import re
import shutil
import subprocess
import sys

from program import PROGRAM, Folder, expect, expect_equal, finish, read_terminal, terminal


def on_terminal(folder, columns, *arguments, wanted=0, stream="stdout", **variables):
    """What a command shows on a terminal of so many columns (0: of one that does not know them),
    which is its standard output or its standard error."""
    ours, theirs = terminal(24, columns)
    env = folder.environment(**{"TERM": "xterm", **variables})
    env = {key: value for key, value in env.items() if key != "COLUMNS" or "COLUMNS" in variables}
    other = "stderr" if stream == "stdout" else "stdout"
    process = subprocess.Popen([PROGRAM, *arguments], cwd=folder.path, env=env,
                               stdin=subprocess.DEVNULL,
                               **{stream: theirs, other: subprocess.PIPE})
    os.close(theirs)
    shown = read_terminal(ours)
    with getattr(process, other) as pipe:
        said = pipe.read().decode()
    code = process.wait(timeout=60)
    expect(code in (wanted if isinstance(wanted, tuple) else (wanted,)),
           f"{arguments}: exit code {code}: {said}")
    return shown.replace("\r\n", "\n")


def widest(text):
    return max((len(line) for line in text.split("\n")), default=0)


def fits(folder):
    commands = [["report"], ["report", "advice"], ["report", "table", "--wide"],
                ["report", "advice", "--wide"], ["report", "tta"], ["report", "runs"],
                ["report", "pareto"], ["report", "pairs"], ["report", "cascade"],
                ["advice"], ["list"], ["list", "methods"], ["list", "schedules"],
                ["list", "selections"], ["list", "networks"], ["list", "datasets"],
                ["list", "papers"], ["data", "list"],
                ["doctor"], ["sweep", "status"], ["sweep", "@quickstart", "--dry-run"],
                ["sweep", "@wang2019:table5", "--dry-run"], ["show", "run", "1"],
                ["study", "matmul-error", "--no-store"]]
    for columns in (80, 120):
        for command in commands:
            text = on_terminal(folder, columns, *command, "--db", "q.db", wanted=(0, 4))
            what = f"{command} at {columns} columns"
            expect(widest(text) <= columns, f"{what}: {widest(text)} wide\n{text}")
            expect(text.strip() != "", f"{what}: nothing is shown")
            expect(not re.search(r"^\|", text, re.M), f"{what}: Markdown\n{text}")


def a_comparison(folder):
    """The sentence, the columns that matter, and the next command."""
    text = on_terminal(folder, 120, "report", "--db", "q.db")
    expect(re.search(r"^3 methods: none worth it, .*\.$", text, re.M), f"no sentence in {text}")
    expect(re.search(r"^method +accuracy % +loss vs dense, pp +speedup vs exact +verdict$", text,
                     re.M), f"columns of {text}")
    expect("\nnetwork small_cnn, 32 channels · data set mnist14 · schedule every batch · n 6\n" in
           text, f"shared values of {text}")
    expect(re.search(r"^zero .* ✘ loses too much$", text, re.M), f"no verdict in {text}")
    expect("images/s" not in text, f"too many columns in {text}")
    expect(re.search(r"^\d+ more columns: --wide shows all", text, re.M), f"no hint in {text}")
    expect(text.endswith("\nNext: approxtrain report advice --db q.db\n"), f"end of {text}")
    wide = on_terminal(folder, 200, "report", "--wide", "--db", "q.db")
    expect("images/s" in wide and "more columns" not in wide, f"--wide: {wide}")
    some = on_terminal(folder, 80, "report", "--columns", "method,images,verdict", "--db", "q.db")
    expect(re.search(r"^method +images/s +verdict$", some, re.M), f"--columns: {some}")


def sentences(folder):
    """Above each table a sentence, below it the command to go on with."""
    for command, sentence, following in (
            (["report", "table"], r"3 methods: .*\.", "approxtrain report advice"),
            (["report", "advice"], r"3 methods: .*\.", "approxtrain report html"),
            (["report", "pareto"], r"3 rows: \d on the front, \d perhaps, \d not\.",
             "approxtrain report pareto --format svg --out pareto.svg"),
            (["report", "tta"],
             r"4 rows: \d reached the target in every run, \d in some, \d in none\.",
             "approxtrain report tta --format svg --out tta.svg"),
            (["report", "pairs"], r"\d pairs: the method ahead in \d, behind in \d, \d undecided\.",
             "approxtrain report advice"),
            (["list", "papers"], r"\d+ items: none with results, \d pictures, \d+ to do\.",
             "approxtrain sweep @")):
        text = on_terminal(folder, 150, *command, "--db", "q.db")
        first = re.search(rf"^{sentence}$", text, re.M)
        next_one = re.search(rf"^Next: {re.escape(following)}.* --db q\.db$", text, re.M)
        table = re.search(r"^──", text, re.M)
        expect(first and next_one and table and
               first.start() < table.start() < next_one.start(), f"{command}:\n{text}")


def plans(folder):
    """The table of a dry run: what all runs have alike stands above it, and its sums below."""
    text = on_terminal(folder, 80, "sweep", "@quickstart", "--dry-run", "--db", "new.db")
    expect(text.startswith("schedule every batch · network small_cnn, 32 channels · "
                           "data set mnist14\n\n"), f"a plan: {text}")
    expect(re.search(r"^ +run +method +purpose +seed +state$", text, re.M), f"columns: {text}")
    expect(re.search(r"^ 8 runs +dense +accuracy +0-7 +to do$", text, re.M), f"rows: {text}")
    expect("\nquickstart: " in text, f"sums: {text}")
    _, whole, _ = folder.run("sweep", "@quickstart", "--dry-run", "--db", "new.db")
    expect(whole.startswith("| run "), f"in a pipe: {whole[:200]}")
    expect(re.search(r"^quickstart: .*\n", whole, re.M), f"in a pipe: {whole}")


def one_run(folder):
    text = on_terminal(folder, 60, "show", "run", "1", "--db", "q.db")
    expect(text.startswith("Run 1\n\nattempt ") and re.search(r"^run_id +1$", text, re.M),
           f"a run: {text[:500]}")
    expect("───" not in text.split("Configuration")[0], f"a rule below no header: {text[:500]}")
    expect("\nConfiguration\n" in text and "\nMetrics\n" in text, f"parts: {text[:3000]}")
    _, whole, _ = folder.run("show", "run", "1", "--db", "q.db")
    expect(whole.startswith("### Run 1\n\n| "), f"in a pipe: {whole[:200]}")
    expect("\n\n\n" not in whole and not whole.endswith("\n\n"), "empty lines in a pipe")


def failures_of_a_sweep():
    """The table at the end of a sweep goes to standard error, and is fitted to that terminal."""
    with Folder() as folder:
        for columns in (60, 120):
            text = on_terminal(folder, columns, "sweep", "sweep.toml", "--db", f"{columns}.db",
                               "--progress", "none", wanted=3, stream="stderr",
                               APPROXTRAIN_FAKE="0=throw;1=throw-data;*=exit3")
            table = text[text.index("\nruns "):]
            expect(widest(table) <= columns, f"{columns} columns: {table}")
            expect(re.search(r"^runs +state +why +first of them$", table, re.M), f"in {text}")
            expect(len(re.findall(r"^   2  failed", table, re.M)) == 3, f"three reasons: {table}")


def widths(folder):
    for columns, variables, width in ((0, {}, 80), (0, {"COLUMNS": "50"}, 50),
                                      (0, {"COLUMNS": "wide"}, 80), (60, {"COLUMNS": "200"}, 60)):
        text = on_terminal(folder, columns, "report", "--db", "q.db", **variables)
        expect(width - 20 < widest(text) <= width,
               f"{columns} columns, {variables}: {widest(text)} wide")


def elsewhere(folder):
    """Whole Markdown, whatever COLUMNS says."""
    code, whole, _ = folder.run("report", "--db", "q.db", env={"COLUMNS": "40"})
    expect(code == 0 and whole.startswith("| network"), f"a pipe: {whole[:200]}")
    expect("verdict" not in whole and "images/s" in whole, f"columns of a pipe: {whole[:400]}")
    expect_equal(on_terminal(folder, 80, "report", "--format", "md", "--db", "q.db"), whole,
                 "--format md on a terminal")
    expect_equal(on_terminal(folder, 80, "report", "--out", "t.md", "--db", "q.db"), "", "--out")
    with open(folder.file("t.md"), encoding="utf-8") as written:
        expect_equal(written.read(), whole, "--out on a terminal")
    code, wide, _ = folder.run("report", "--wide", "--db", "q.db")
    expect_equal(wide, whole, "--wide in a pipe")
    code, some, _ = folder.run("report", "--columns", "speedup,method", "--db", "q.db")
    expect(some.startswith("| speedup vs exact   | method"), f"--columns in a pipe: {some[:200]}")
    code, csv, _ = folder.run("report", "--columns", "method,loss_pp,verdict", "--format", "csv",
                              "--db", "q.db")
    expect(csv.startswith("method,loss_pp,verdict\ndense,,–\nzero,"), f"--columns of CSV: {csv}")
    code, methods, _ = folder.run("list", "methods", "--columns", "method", "--format", "csv")
    expect(methods.startswith("method\ndense\n"), f"list --columns: {methods[:100]}")


def errors(folder):
    db = ("--db", "q.db")
    for arguments, said in (
            (["report", "--columns", "acuracy_pct", *db],
             r'--columns: no column "acuracy_pct" \(did you mean "accuracy_pct"\?\); known: '
             r"network, dataset, .*"),
            (["report", "--columns", "method,method", *db],
             r'--columns: "method" is given twice'),
            (["report", "--columns", ",", *db], r"--columns: no name in it"),
            (["report", "advice", "--columns", "nothing", *db],
             r'--columns: no column "nothing"; known: .*worth.*'),
            (["report", "--columns", "method", "--wide", *db], r".*--wide.*"),
            (["report", "html", "--columns", "method", *db],
             r"--columns: a page has no columns to choose; leave it out"),
            (["report", "pareto", "--format", "svg", "--columns", "method", *db],
             r"--columns: a picture has no columns to choose; leave it out"),
            (["list", "methods", "--columns", "sumary"],
             r'--columns: no column "sumary" \(did you mean "summary"\?\); known: method, '
             r"parameters, products, source, summary"),
            (["list", "methods", "--columns", "method", "--format", "json"],
             r"--columns: JSON always has all.*")):
        code, _, err = folder.run(*arguments)
        expect(code == 2 and re.fullmatch(rf"approxtrain: {said}\n", err),
               f"{arguments}: exit code {code}: {err}")


def main():
    with Folder() as folder:
        shutil.copy(sys.argv[1], folder.file("q.db"))
        fits(folder)
        a_comparison(folder)
        sentences(folder)
        plans(folder)
        one_run(folder)
        failures_of_a_sweep()
        widths(folder)
        elsewhere(folder)
        errors(folder)
    finish()


if __name__ == "__main__":
    main()
