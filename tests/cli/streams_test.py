"""Standard streams that are closed or full, or that nobody reads: a command that cannot print its
result does not end as if it had, one that lacks only stderr does all its work, and no file is
written in the place of a closed stream."""

import hashlib
import os
import subprocess

from program import PROGRAM, Folder, expect, expect_equal, finish

UNREAD = (0, 141)  # SIGPIPE may end a command that has done its work

# Command, streams, exit code, a text in what it says ("": it says nothing that is looked at).
CASES = [
    ("--version", ">&-", 1, "standard output: "),
    ("--version", ">/dev/full", 1, "standard output: No space left on device"),
    ("--help", ">&-", 1, "standard output: "),
    ("list methods", ">&-", 1, "standard output: "),
    ("list methods", ">/dev/full", 1, "standard output: "),
    ("report table --db t.db", ">&-", 1, "standard output: "),
    ("report table --db t.db", ">/dev/full", 1, "standard output: No space left on device"),
    ("report table --db t.db", "| true", UNREAD, ""),
    ("report table --db t.db", "2>&-", 0, ""),
    ("report table --db t.db", "2>/dev/full", 0, ""),
    ("report table --db t.db", "<&-", 0, ""),
    ("report table --db t.db", ">&- 2>&-", 1, ""),
    ("report table --db t.db", "<&- >&- 2>&-", 1, ""),
    ("report runs --db t.db --format csv", ">&-", 1, "standard output: "),
    ("report html --db t.db --out page.html", "<&- >&- 2>&-", 0, ""),
    ("report table --db t.db --out /dev/stdout", ">&-", 2, "/dev/stdout: cannot be written"),
    ("report table --db t.db --out /dev/stdout", ">/dev/full", 2, "No space left on device"),
    ("db check --db t.db", ">&-", 0, ""),  # it has nothing to print
    ("db schema", ">&-", 1, "standard output: "),
    ("sweep sweep.toml --db t.db --dry-run", ">&-", 1, "standard output: "),
    ("sweep sweep.toml --db new.db", ">&-", 0, ""),
    ("sweep sweep.toml --db new.db", "<&- >&- 2>&-", 0, ""),
    ("sweep sweep.toml --db new.db --progress log", "2>/dev/full", 0, ""),
    ("sweep sweep.toml --db new.db --progress log", "2>&1 >/dev/null | true", UNREAD, ""),
    ("report nothing", "2>&-", 2, ""),
]


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


with Folder() as folder:
    code, _, err = folder.sweep("--progress", "none")
    expect_equal(code, 0, f"the sweep: exit code ({err})")
    before = hash_of(folder.file("t.db"))
    os.symlink(PROGRAM, folder.file("approxtrain"))
    for words, streams, wanted, said in CASES:
        what = f"{words} {streams}"
        # The exit code of the program, and not of who reads it.
        line = f"./approxtrain {words} {streams}; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], cwd=folder.path, env=folder.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False)
        codes = wanted if wanted is UNREAD else (wanted,)
        expect(done.returncode in codes, f"{what}: exit code {done.returncode} ({done.stderr})")
        expect(said in done.stderr, f"{what}: {done.stderr!r}")
        if wanted in (1, 2) and "2>&-" not in streams:
            expect_equal(done.stderr.count("\n"), 1, f"{what}: lines ({done.stderr!r})")
        if "new.db" in words:
            expect_equal(folder.query("SELECT state, count(*) FROM run GROUP BY 1", "new.db"),
                         [("finished", 6)], f"{what}: runs")
            folder.check_database("new.db")
            folder.run("db", "gc", "--finished", "--db", "new.db")
            os.remove(folder.file("new.db"))
    expect(hash_of(folder.file("t.db")) == before, "the database has changed")
    print(f"{len(CASES)} cases of closed, full and unread streams")
finish()
