"""Odd paths work or are refused in one line with the path in it."""

import json
import os
import stat
import subprocess

from program import Folder, PROGRAM, expect, expect_equal, finish



def run_bytes(folder, *arguments):
    done = subprocess.run([PROGRAM.encode(), *arguments], cwd=folder.path.encode(),
                          env=folder.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


def works():
    for name in (b"with space", b"new\nline", b"quote'\"", b"\xff\xfe not UTF-8", b"-leading",
                 "ümlaut ✓".encode(), b"semi;colon", b"a.b.c", b"%s%n", b"x" * 200):
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


def runs_of_two_databases_are_apart():
    with Folder() as folder:
        for db in ("r.v1", "r.v2", "r.db"):
            code, _, err = folder.run("sweep", "sweep.toml", "--db", db, "--seeds", "0")
            expect_equal(code, 0, f"{db}: exit code ({err!r})")
        for runs in ("r.v1-runs", "r.v2-runs", "r.runs"):
            expect(os.path.isdir(folder.file(runs)), f"{runs}: {os.listdir(folder.path)}")


def broken_cells():
    """What is no JSON in a store is the store's fault, said in one line."""
    with Folder() as folder:
        folder.sweep("--progress", "none")
        folder.change("UPDATE cell SET config = '{'")
        code, _, err = folder.run("report", "table", "--db", "t.db")
        expect_equal(code, 6, f"broken JSON: exit code ({err!r})")
        expect(err.startswith("approxtrain: t.db: malformed JSON") and err.count("\n") == 1,
               f"broken JSON: {err!r}")


def refused():
    with Folder() as folder:
        os.symlink("loop", folder.file("loop"))
        with open(folder.file("text.db"), "w") as out:
            out.write("this is no database\n" * 100)
        os.mkdir(folder.file("folder.db"))
        os.mkfifo(folder.file("fifo.toml.d"))
        cases = [
            (["sweep", "loop"], {2}, "loop"),
            (["sweep", "folder.db"], {2}, "folder.db"),
            (["sweep", ""], {2}, ""),
            (["sweep", "missing\nline.toml"], {2}, "missing\\x0aline.toml"),
            (["sweep", "sweep.toml", "--db", "text.db"], {6}, "text.db"),
            (["sweep", "sweep.toml", "--db", "folder.db"], {6}, "folder.db"),
            (["sweep", "sweep.toml", "--db", "loop"], {6}, "loop"),
            (["sweep", "sweep.toml", "--db", "no/such/folder/t.db"], {6}, "no/such/folder"),
            (["sweep", "sweep.toml", "--db", "/proc/t.db"], {6}, "/proc/t.db"),
            (["sweep", "sweep.toml", "--db", "x" * 300 + ".db"], {6}, "xxx"),
            (["sweep", "sweep.toml", "--db", "text.db/t.db"], {6}, "text.db/t.db"),
            (["sweep", "sweep.toml", "--db", "text.db", "--dry-run"], {6}, "text.db"),
            (["bench-kernel", "--shape", "N1,C1,K1,H4", "--db", "text.db"], {6}, "text.db"),
            (["bench-kernel", "--shapes", "folder.db"], {2}, "folder.db"),
        ]
        for arguments, codes, text in cases:
            code, out, err = folder.run(*arguments)
            expect(code in codes, f"{arguments}: exit code {code}, expected {codes}: {err!r}")
            expect(err.count("\n") == 1 and err.startswith("approxtrain: "),
                   f"{arguments}: not one clear line: {err!r}")
            expect(text in err, f"{arguments}: {text!r} is not in {err!r}")
            expect_equal(out, "", f"{arguments}: stdout")
        with open(folder.file("text.db")) as unchanged:
            expect_equal(unchanged.read(), "this is no database\n" * 100, "text.db")


def unwritable():
    """Run directories cannot be made beside the database."""
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
refused()
unwritable()
finish()
