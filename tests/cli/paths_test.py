"""Odd paths and stores work or are refused in one line with the path in it, and a refusal leaves
everything as it was."""

import json
import os
import shutil
import socket
import stat
import subprocess

from program import Folder, PROGRAM, expect, expect_equal, finish

cases = 0


def count(cases_more=1):
    global cases
    cases += cases_more



def run_bytes(folder, *arguments):
    done = subprocess.run([PROGRAM.encode(), *arguments], cwd=folder.path.encode(),
                          env=folder.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


def works():
    for name in (b"-", b"with space", b"new\nline", b"quote'\"", b"\xff\xfe not UTF-8", b"-leading",
                 "ümlaut ✓".encode(), b"semi;colon", b"a.b.c", b"%s%n", b"x" * 200):
        count()
        with Folder() as folder:
            os.mkdir(os.path.join(folder.path.encode(), name))
            spec = b"./" + name + b"/" + name[:100] + b".toml"
            os.rename(os.path.join(folder.path.encode(), b"sweep.toml"),
                      os.path.join(folder.path.encode(), spec))
            db = b"./" + name + b"/" + name[:100] + b".db"
            code, _, err = run_bytes(folder, b"sweep", spec, b"--db", db, b"--seeds", b"0",
                                     b"--progress", b"none")
            expect_equal(code, 0, f"{name!r}: exit code ({err!r})")
            code, _, err = run_bytes(folder, b"sweep", spec, b"--db", db, b"--seeds", b"0")
            expect(b"nothing left to do" in err, f"{name!r}: {err!r}")
            code, out, err = run_bytes(folder, b"sweep", spec, b"--db", db, b"--dry-run",
                                       b"--format", b"json")
            expect_equal(code, 0, f"{name!r}: exit code of --dry-run --format json ({err!r})")
            expect_equal(len(json.loads(out)["runs"]), 6, f"{name!r}: runs of the plan")
            copy, table = b"./" + name + b"/copy", b"./" + name + b"/" + name[:100]
            for words in ((b"report", b"table", b"--db", db), (b"db", b"check", b"--db", db),
                          (b"db", b"backup", copy, b"--db", db),
                          (b"db", b"export", table, b"--db", db),
                          (b"report", b"runs", b"--db", copy, b"--out", table + b".csv"),
                          (b"db", b"merge", copy, b"--db", db)):
                code, _, err = run_bytes(folder, *words)
                expect_equal(code, 0, f"{name!r}: {words[:2]}: exit code ({err!r})")


def runs_of_two_databases_are_apart():
    with Folder() as folder:
        for db in ("r.v1", "r.v2", "r.db"):
            count()
            code, _, err = folder.run("sweep", "sweep.toml", "--db", db, "--seeds", "0")
            expect_equal(code, 0, f"{db}: exit code ({err!r})")
        for runs in ("r.v1-runs", "r.v2-runs", "r.runs"):
            expect(os.path.isdir(folder.file(runs)), f"{runs}: {os.listdir(folder.path)}")


def broken_cells():
    """What is no JSON in a store is the store's fault, said in one line."""
    count()
    with Folder() as folder:
        folder.sweep("--progress", "none")
        folder.change("UPDATE cell SET config = '{'")
        code, _, err = folder.run("report", "table", "--db", "t.db")
        expect_equal(code, 6, f"broken JSON: exit code ({err!r})")
        expect(err.startswith("approxtrain: t.db: malformed JSON") and err.count("\n") == 1,
               f"broken JSON: {err!r}")


def odd_ways():
    """Names of files that lead somewhere else."""
    with Folder() as folder:
        os.makedirs(folder.file("real/deep"))
        os.symlink("real", folder.file("linked"))
        os.symlink("real/to.db", folder.file("dangling.db"))
        shutil.copy(folder.file("sweep.toml"), folder.file("real/deep/sweep.toml"))
        for db in ("linked/t.db", "real/../linked/u.db", "./linked//v.db", folder.file("real/w.db"),
                   "linked/deep/../x.db", "/proc/self/cwd/y.db", "dangling.db"):
            count()
            code, _, err = folder.run("sweep", "linked/deep/../deep//sweep.toml", "--db", db,
                                      "--seeds", "0", "--progress", "none")
            expect_equal(code, 0, f"{db}: exit code ({err})")
            code, out, err = folder.run("report", "runs", "--db", db, "--format", "csv")
            expect_equal((code, out.count("\n")), (0, 3), f"{db}: its runs ({err})")
        expect(os.path.islink(folder.file("dangling.db")), "the link is one")


def everything(folder):
    """Kind, size and time of each file, folder and link."""
    found = {}
    for place, folders, names in os.walk(folder.path):
        for name in names + folders:
            path = os.path.join(place, name)
            status = os.lstat(path)
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            found[path] = (stat.S_IFMT(status.st_mode), size, status.st_mtime_ns)
    return found


LONG = "x" * 300
SWEEP, TABLE = ("sweep", "sweep.toml", "--db"), ("report", "table", "--db")
BENCH = ("bench-kernel", "--no-store")
TRAIN = ("train", "--network", "small_cnn", "--dataset", "mnist14", "--db", "new.db")

# The words of a command, its exit code, and the path as it is said.
REFUSED = [
    # Experiment files.
    (("sweep", "loop"), 2, "loop"),
    (("sweep", "folder.db"), 2, "folder.db"),
    (("sweep", ""), 2, ""),
    (("sweep", "-"), 2, "-"),
    (("sweep", "missing\nline.toml"), 2, "missing\\x0aline.toml"),
    (("sweep", "\udcff\udcfe.toml"), 2, "\\xff\\xfe.toml"),
    (("sweep", "text.db/sweep.toml"), 2, "text.db/sweep.toml"),
    (("sweep", LONG), 2, "xxx"),
    (("sweep", "pipe"), 2, "pipe"),
    (("sweep", "/dev/null"), 2, "/dev/null"),
    # Databases to write to.
    ((*SWEEP, "text.db"), 6, "text.db"),
    ((*SWEEP, "folder.db"), 6, "folder.db"),
    ((*SWEEP, "loop"), 6, "loop"),
    ((*SWEEP, "no/such/folder/t.db"), 6, "no/such/folder"),
    ((*SWEEP, "/proc/t.db"), 6, "/proc/t.db"),
    ((*SWEEP, LONG + ".db"), 6, "xxx"),
    ((*SWEEP, "text.db/t.db"), 6, "text.db/t.db"),
    ((*SWEEP, "text.db", "--dry-run"), 6, "text.db"),
    ((*SWEEP, "."), 6, "."),
    ((*SWEEP, "folder.db/"), 6, "folder.db/"),
    ((*SWEEP, ""), 2, "--db"),
    ((*SWEEP, "pipe"), 6, "pipe"),
    ((*SWEEP, "socket"), 6, "socket"),
    ((*SWEEP, "/dev/full"), 6, "/dev/full"),
    ((*SWEEP, "/dev/zero"), 6, "/dev/zero"),
    ((*SWEEP, "no\nsuch/t.db"), 6, "no\\x0asuch/t.db"),
    ((*SWEEP, "short.db"), 6, "short.db"),
    ((*SWEEP, "t.db-journal"), 2, "t.db-journal"),
    (("bench-kernel", "--shape", "N1,C1,K1,H4", "--db", "text.db"), 6, "text.db"),
    # Databases to read.
    ((*TABLE, "missing.db"), 6, "missing.db"),
    ((*TABLE, "missing\nline.db"), 6, "missing\\x0aline.db"),
    ((*TABLE, "\udcff.db"), 6, "\\xff.db"),
    ((*TABLE, "loop"), 6, "loop"),
    ((*TABLE, "folder.db"), 6, "folder.db"),
    ((*TABLE, "text.db"), 6, "text.db"),
    ((*TABLE, "text.db/t.db"), 6, "text.db/t.db"),
    ((*TABLE, "pipe"), 6, "pipe"),
    ((*TABLE, "socket"), 6, "socket"),
    ((*TABLE, "/dev/zero"), 6, "/dev/zero"),
    ((*TABLE, LONG + ".db"), 6, "xxx"),
    ((*TABLE, "short.db"), 6, "short.db"),
    (("report", "compare", "t.db", "missing.db"), 6, "missing.db"),
    (("db", "check", "--db", "folder.db"), 6, "folder.db"),
    (("db", "gc", "--db", "loop"), 6, "loop"),
    (("db", "migrate", "--db", "missing.db"), 6, "missing.db"),
    (("db", "merge", "missing.db", "--db", "t.db"), 6, "missing.db"),
    (("db", "merge", "loop", "--db", "t.db"), 2, "loop"),
    (("db", "merge", "folder.db", "--db", "t.db"), 2, "folder.db"),
    # Files and folders to write.
    ((*TABLE, "t.db", "--out", "folder.db"), 2, "folder.db"),
    ((*TABLE, "t.db", "--out", "no/such/out.md"), 2, "no/such/out.md"),
    ((*TABLE, "t.db", "--out", "loop"), 2, "loop"),
    ((*TABLE, "t.db", "--out", "text.db/out.md"), 2, "text.db/out.md"),
    ((*TABLE, "t.db", "--out", LONG), 2, "xxx"),
    ((*TABLE, "t.db", "--out", "socket"), 2, "socket"),
    ((*TABLE, "t.db", "--out", "/proc/out.md"), 2, "/proc/out.md"),
    (("db", "backup", "no/such/copy.db", "--db", "t.db"), 2, "no/such/copy.db"),
    (("db", "backup", "loop", "--db", "t.db"), 2, "loop"),
    (("db", "backup", "folder.db", "--db", "t.db"), 2, "folder.db"),
    (("db", "export", "text.db", "--db", "t.db"), 2, "text.db"),
    (("db", "export", "tables", "--db", "/dev/null"), 6, "/dev/null"),
    (("db", "rebuild", "no/such/new.db", "--db", "t.db"), 2, "no/such/new.db"),
    ((*TRAIN, "--record", "text.db"), 2, "text.db"),
    # Other files to read.
    ((*BENCH, "--shapes", "folder.db"), 2, "folder.db"),
    ((*BENCH, "--shapes", "loop"), 2, "loop"),
    ((*BENCH, "--shapes", "missing.txt"), 2, "missing.txt"),
    ((*TRAIN, "--kernel-rules", "missing.rules"), 2, "missing.rules"),
    ((*TRAIN, "--kernel-rules", "folder.db"), 2, "folder.db"),
    ((*TRAIN, "--python", "missing.py"), 2, "missing.py"),
    (("data", "import", "mnist", "missing"), 5, "missing"),
    (("data", "import", "mnist", "loop"), 5, "loop"),
    (("data", "import", "cifar10", "text.db"), 5, "text.db"),
    (("data", "import", "cifar10", "pipe"), 5, "pipe"),
    (("sweep", "sweep.toml", "--dataset", "mnist", "--data-dir", "text.db", "--db", "new.db"), 5,
     "text.db"),
    (("sweep", "sweep.toml", "--dataset", "mnist", "--data-dir", "loop", "--db", "new.db"), 5,
     "loop"),
]


def refused():
    with Folder() as folder:
        folder.sweep("--seeds", "0", "--progress", "none")
        os.symlink("loop", folder.file("loop"))
        with open(folder.file("text.db"), "w") as out:
            out.write("this is no database\n" * 100)
        with open(folder.file("t.db"), "rb") as whole, open(folder.file("short.db"), "wb") as out:
            out.write(whole.read(5000))
        os.mkdir(folder.file("folder.db"))
        os.mkfifo(folder.file("pipe"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(folder.file("socket"))
        before = everything(folder)
        for words, wanted, text in REFUSED:
            count()
            try:
                code, out, err = folder.run(*words, timeout=30)
            except subprocess.TimeoutExpired:
                expect(False, f"{words}: waits")
                continue
            expect_equal(code, wanted, f"{words}: exit code ({err!r})")
            expect(err.count("\n") == 1 and err.startswith("approxtrain: "),
                   f"{words}: not one clear line: {err!r}")
            expect(text in err, f"{words}: {text!r} is not in {err!r}")
            expect_equal(out, "", f"{words}: stdout")
            expect(everything(folder) == before, f"{words}: a file has changed")
            before = everything(folder)
        listener.close()


def unwritable():
    """Run directories cannot be made beside the database."""
    count(2)
    with Folder() as folder:
        with open(folder.file("t.runs"), "w") as out:
            out.write("in the way")
        code, _, err = folder.sweep()
        expect_equal(code, 1, f"t.runs is a file ({err})")
        expect("t.runs" in err.splitlines()[-1], f"t.runs is a file: {err!r}")
        os.remove(folder.file("t.runs"))
        code, _, err = folder.sweep()
        expect_equal(code, 0, f"t.runs out of the way ({err})")
    with Folder() as folder:
        folder.sweep("--seeds", "0")
        os.chmod(folder.file("t.db"), stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        os.chmod(folder.path, 0o777)
        # Permissions do not bind root.
        other = {} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", **other)
        err = process.communicate(timeout=120)[1].decode()
        expect_equal(process.returncode, 6, f"read-only database ({err})")
        expect("t.db" in err, f"read-only database: {err!r}")


works()
runs_of_two_databases_are_apart()
broken_cells()
odd_ways()
refused()
unwritable()
print(f"{cases} odd paths and stores")
finish()
