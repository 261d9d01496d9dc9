"""Tables on a terminal: no line is wider than it, and those that compare methods show what matters.
What is not on a terminal stays whole Markdown.

screens_test.py DATABASE, one with methods, timings and accuracies."""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

from program import PROGRAM, Folder, expect, expect_equal, finish


def on_terminal(folder, columns, *arguments, wanted=0, **variables):
    """What a command shows on a terminal of so many columns (0: of one that does not know them)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = folder.environment(**{"TERM": "xterm", **variables})
    env = {key: value for key, value in env.items() if key != "COLUMNS" or "COLUMNS" in variables}
    process = subprocess.Popen([PROGRAM, *arguments], cwd=folder.path, env=env, stdout=theirs,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(ours)
    said = process.stderr.read().decode()
    process.stderr.close()
    code = process.wait(timeout=60)
    expect(code in (wanted if isinstance(wanted, tuple) else (wanted,)),
           f"{arguments}: exit code {code}: {said}")
    return shown.decode().replace("\r\n", "\n")


def widest(text):
    return max((len(line) for line in text.split("\n")), default=0)


def fits(folder):
    commands = [["report"], ["report", "advice"], ["report", "table", "--wide"],
                ["report", "advice", "--wide"], ["report", "tta"], ["report", "runs"],
                ["list", "methods"], ["data", "list"], ["doctor"], ["sweep", "status"]]
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
             r"--columns: JSON has all.*")):
        code, _, err = folder.run(*arguments)
        expect(code == 2 and re.fullmatch(rf"approxtrain: {said}\n", err),
               f"{arguments}: exit code {code}: {err}")


def main():
    with Folder() as folder:
        shutil.copy(sys.argv[1], folder.file("q.db"))
        fits(folder)
        a_comparison(folder)
        widths(folder)
        elsewhere(folder)
        errors(folder)
    finish()


if __name__ == "__main__":
    main()
