"""No output replaces what the command reads or what belongs to a store, by whichever name; what is
written is whole or as it was, and leaves nothing beside it."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading

from program import PROGRAM, Folder, expect, expect_equal, finish, wait_until

SHAPES = "tiny N1,C2,K2,H4\n"
OWN = """id = "own"
network = "small_cnn"
dataset = "mnist14"
method = ["dense"]
"""
BENCH = ("bench-kernel", "--no-store", "--repetitions", "2", "--min-time", "1ms", "--progress",
         "none")
OLD = "what was there before\n"


def write(folder, name, text):
    os.makedirs(os.path.dirname(folder.file(name)), exist_ok=True)
    with open(folder.file(name), "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())


def content(path):
    if os.path.islink(path):
        return "link to " + os.readlink(path)
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return "no file"
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def everything(folder):
    """All files with their contents."""
    return {os.path.relpath(os.path.join(place, name), folder.path):
            content(os.path.join(place, name))
            for place, folders, names in os.walk(folder.path) for name in names + folders}


def filled():
    """Two stores, and one file of each other kind that this program reads."""
    folder = Folder()
    for db, seeds in (("t.db", "0"), ("other.db", "1")):
        code, _, err = folder.run("sweep", "sweep.toml", "--db", db, "--seeds", seeds,
                                  "--progress", "none")
        expect_equal(code, 0, f"{db}: exit code ({err})")
    write(folder, "shapes.txt", SHAPES)
    write(folder, "own.rules", "")
    write(folder, "experiments/own.toml", OWN)
    write(folder, "t.db.v6.backup", "what a migration kept")
    write(folder, "t.runs/0123456789ab.checkpoint/newest.checkpoint", b"APTXCKPT and more")
    write(folder, "operands/a.operands", b"APTXOPER and more")
    write(folder, "elsewhere.checkpoint", b"APTXCKPT and more")
    write(folder, "data/cifar10.packed", b"APXDATA\n and more")
    write(folder, "elsewhere.packed", b"APXDATA\n and more")
    os.mkdir(folder.file("d"))
    os.symlink(".", folder.file("linked"))
    os.symlink("t.db", folder.file("link"))
    os.symlink("t.db-wal", folder.file("link to none"))
    os.link(folder.file("t.db"), folder.file("hard"))
    run = next(name for name in os.listdir(folder.file("t.runs")) if name.endswith("-1"))
    os.link(folder.file(f"t.runs/{run}/events.jsonl"), folder.file("hard events"))
    os.mkdir(folder.file("moved"))
    os.symlink(folder.file("moved"), folder.file("t.runs/linked"))
    write(folder, "moved/kept", "kept")
    return folder, run


# Each command that writes where it is told to; OUT stands for the name.
WRITERS = {
    "table": ("report", "table", "--db", "t.db", "--out", "OUT"),
    "json": ("report", "runs", "--db", "t.db", "--format", "json", "--out", "OUT"),
    "tex": ("report", "table", "--db", "t.db", "--format", "tex", "--out", "OUT"),
    "svg": ("report", "curves", "--db", "t.db", "--format", "svg", "--out", "OUT"),
    "paper": ("report", "paper", "wang2019:table5", "--db", "t.db", "--out", "OUT"),
    "html": ("report", "html", "--db", "t.db", "--out", "OUT"),
    "compare": ("report", "compare", "t.db", "other.db", "--out", "OUT", "--db", "t.db"),
    "tune": ("tune-kernels", "--db", "t.db", "--shapes", "shapes.txt", "--repetitions", "3",
             "--min-time", "1ms", "--progress", "none", "--out", "OUT"),
    "choices": (*BENCH, "--db", "t.db", "--shapes", "shapes.txt", "--cudnn-choices", "OUT"),
    "backup": ("db", "backup", "OUT", "--db", "t.db"),
    "rebuild": ("db", "rebuild", "OUT", "--db", "t.db"),
    "export": ("db", "export", "OUT", "--db", "t.db"),
    "record": ("train", "--network", "small_cnn", "--dataset", "mnist14", "--db", "t.db",
               "--record", "OUT", "--progress", "none"),
    "record a sweep": ("sweep", "sweep.toml", "--db", "t.db", "--record", "OUT", "--progress",
                       "none"),
}


def kept(run):
    """Names that no output may have, whether they are there yet or not."""
    return ["t.db", "t.db-journal", "t.db-wal", "t.db-shm", "t.db.v6.backup", "t.runs",
            "t.runs/new", f"t.runs/{run}/events.jsonl", f"t.runs/{run}/config.json",
            "t.runs/0123456789ab.checkpoint/newest.checkpoint", "t.slurm", "other.db",
            "data/cifar10.packed", "elsewhere.packed", "elsewhere.checkpoint",
            "operands/a.operands"]


def spellings(folder):
    return ["./t.db", "d/../t.db", "linked/t.db", "linked/linked/t.db-journal", "link", "hard",
            "link to none", "hard events", "linked/t.runs/new", folder.file("t.db"),
            "d/../t.runs/../t.db", "moved/new", "moved/kept", "/proc/self/cwd/t.db"]


def refused(folder, arguments, what):
    before = everything(folder)
    code, out, err = folder.run(*arguments)
    after = everything(folder)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    expect_equal((code, err.count("\n"), err.startswith("approxtrain: "), out, changed),
                 (2, 1, True, "", set()), f"{what} ({err!r})")


def every_output_over_every_input():
    folder, run = filled()
    with folder:
        with_data = ("--data-dir", "data")
        for name, words in WRITERS.items():
            if name == "svg" and shutil.which("gnuplot") is None:
                continue
            for out in kept(run) + (spellings(folder) if name in ("table", "backup") else []):
                arguments = [out if word == "OUT" else word for word in words]
                refused(folder, [*arguments, *with_data], f"{name} over {out}")
        # What one command reads and others do not.
        for words, out in (
                (("report", "html", "--db", "t.db", "--out"), "experiments/own.toml"),
                (("tune-kernels", "--shapes", "shapes.txt", "--out"), "shapes.txt"),
                (("tune-kernels", "--shapes", "shapes.txt", "--out"), "linked/shapes.txt"),
                ((*BENCH, "--shapes", "shapes.txt", "--cudnn-choices"), "shapes.txt"),
                ((*BENCH, "--recorded", "operands", "--cudnn-choices"), "operands/new"),
                (("sweep", "sweep.toml", "--db", "t.db", "--record"), "sweep.toml"),
                (("sweep", "sweep.toml", "--db", "t.db", "--kernel-rules", "own.rules",
                  "--record"), "own.rules"),
                (("sweep", "sweep.toml", "--progress", "none", "--db"), "sweep.toml"),
                (("sweep", "sweep.toml", "--kernel-rules", "own.rules", "--progress", "none",
                  "--db"), "own.rules"),
                (("db", "merge", "other.db", "./t.db", "--db"), "t.db"),
                (("db", "merge", "hard", "--db"), "t.db"),
                (("db", "merge", "other.db", "--db"), "t.db-journal"),
                (("db", "merge", "other.db", "--db"), "t.runs/new.db"),
                (("sweep", "sweep.toml", "--db"), "linked/t.runs/new.db"),
                (("data", "import", "--data-dir", "data", "cifar10"), "data/cifar10.packed"),
                (("data", "import", "--data-dir", "data", "cifar10"), "linked/data/cifar10.packed"),
                (("tune-kernels", "--out"), "t.runs/new")):
            db = () if "--db" in words else ("--db", "t.db")
            refused(folder, [*words, out, *db], f"{' '.join(words)} {out}")
        # A table of an export is as little a link to what is read.
        os.mkdir(folder.file("tables"))
        os.symlink("../t.db", folder.file("tables/run.csv"))
        before = content(folder.file("t.db"))
        code, _, err = folder.run("db", "export", "tables", "--db", "t.db")
        expect_equal((code, content(folder.file("t.db"))), (2, before), f"export ({err})")
        # Where the shell has opened it.
        shell(folder, "true")
        before = everything(folder)
        for redirection in (">>t.db", ">>hard", ">>link", "--out /dev/stdout >>t.db",
                            "--out /dev/fd/3 3>>t.db"):
            code, err = shell(folder, f"approxtrain report table --db t.db {redirection}")
            expect_equal((code, err.count("\n")), (2, 1), f"{redirection} ({err})")
        expect(everything(folder) == before, "a redirection has changed a file")
        # A folder of databases may have the one that they are merged into.
        code, _, err = folder.run("db", "merge", ".", "--db", "t.db")
        expect_equal(code, 0, f"merge of its own folder ({err})")


def shell(folder, line):
    os.makedirs(folder.file("bin"), exist_ok=True)
    if not os.path.exists(folder.file("bin/approxtrain")):
        os.symlink(PROGRAM, folder.file("bin/approxtrain"))
    env = folder.environment(PATH=folder.file("bin") + os.pathsep + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", line], cwd=folder.path, env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def text(folder, name):
    with open(folder.file(name), encoding="utf-8") as file:
        return file.read()


REPORT = ("report", "runs", "--db", "t.db", "--format", "csv")


def where_it_goes(folder, wanted):
    """Files keep their permissions and links, and what is none is written to."""
    write(folder, "out.csv", OLD)
    os.chmod(folder.file("out.csv"), 0o640)
    os.symlink("out.csv", folder.file("to out"))
    os.symlink("made.csv", folder.file("to none"))
    for out, file in (("to out", "out.csv"), ("to none", "made.csv"), ("x" * 255, "x" * 255)):
        code, _, err = folder.run(*REPORT, "--out", out)
        expect_equal((code, err, text(folder, file)), (0, "", wanted), f"--out '{out[:9]}'")
        os.remove(folder.file(out) if out == file else folder.file(file))
        write(folder, "out.csv", OLD)
        os.chmod(folder.file("out.csv"), 0o640)
    folder.run(*REPORT, "--out", "out.csv")
    expect_equal(stat.S_IMODE(os.stat(folder.file("out.csv")).st_mode), 0o640, "permissions")
    expect(os.path.islink(folder.file("to out")), "the link is one")
    os.remove(folder.file("out.csv"))

    line = "approxtrain report runs --db t.db --format csv"
    for written in (f"(echo before; {line} --out /dev/stdout; echo after) >both",
                    f"(echo before; {line} --out /dev/fd/1; echo after) >both",
                    f"(echo before; {line} --out /proc/self/fd/7; echo after) 7>both >&7",
                    f"(echo before; {line} --out -; echo after) >both",
                    f"(echo before; {line} --out /dev/stdout; echo after) | cat >both"):
        code, err = shell(folder, written)
        expect_equal((code, err, text(folder, "both")), (0, "", f"before\n{wanted}after\n"),
                     written)
    os.remove(folder.file("both"))
    os.mkfifo(folder.file("pipe"))
    code, err = shell(folder, f"cat pipe >read & {line} --out pipe; wait")
    expect_equal((code, err, text(folder, "read")), (0, "", wanted), "a pipe")
    expect(stat.S_ISFIFO(os.stat(folder.file("pipe")).st_mode), "the pipe is one")
    os.remove(folder.file("read"))

    # Nobody reads it any more.
    def leave():
        os.close(os.open(folder.file("pipe"), os.O_RDONLY))

    reader = threading.Thread(target=leave)
    reader.start()
    long = folder.start("report", "html", "--db", "t.db", "--out", "pipe")
    err = long.communicate(timeout=60)[1].decode()
    reader.join()
    expect_equal((long.returncode, err.splitlines()[-1:]),
                 (1, ["approxtrain: pipe: cannot be written: its reader has gone"]), "no reader")
    code, err = shell(folder, f"set -o pipefail; {line} --out /dev/stdout | (exec <&-; sleep 0.5)")
    expect_equal((code, err.count("\n"), "its reader has gone" in err), (1, 1, True),
                 f"/dev/stdout without a reader ({err})")
    os.remove(folder.file("pipe"))
    if os.geteuid():
        write(folder, "read only", OLD)
        os.chmod(folder.file("read only"), 0o444)
        code, _, err = folder.run(*REPORT, "--out", "read only")
        expect_equal((code, text(folder, "read only")), (2, OLD), f"read only ({err})")
        os.remove(folder.file("read only"))


def no_room(folder):
    """The old file stays where there is no room for a new one, and nothing beside it."""
    write(folder, "out", OLD)
    os.mkdir(folder.file("tables"))
    names = everything(folder)
    commands = {"report runs --format csv --out out": "out", "report html --out out": "out",
                "report runs --format csv --out new": "new", "db backup copy.db": "copy.db",
                "db rebuild copy.db": "copy.db", "db export tables": "tables"}
    for words, path in commands.items():
        code, err = shell(folder, f"ulimit -f 0; approxtrain {words} --db t.db")
        last = err.splitlines()[-1:] or [""]
        expect_equal((code, last[0].startswith(f"approxtrain: {path}")), (2, True),
                     f"ulimit -f 0: {words} ({err})")
        expect_equal(everything(folder), names, f"ulimit -f 0: {words}: what is there")
    code, err = shell(folder, "ulimit -f 0; approxtrain report table --db t.db >printed")
    expect_equal((code, err.count("\n")), (1, 1), f"ulimit -f 0: standard output ({err})")
    os.remove(folder.file("printed"))
    # That of a store is told as before.
    code, err = shell(folder, "ulimit -f 0; approxtrain sweep sweep.toml --db new.db")
    expect(code in (1, 6) and err.count("\n") == 1, f"ulimit -f 0: the store: {code} ({err})")
    for name in os.listdir(folder.path):
        if name.startswith("new."):
            shutil.rmtree(folder.file(name), ignore_errors=True)
            if os.path.exists(folder.file(name)):
                os.remove(folder.file(name))
    code, _, err = folder.run(*REPORT, "--out", "/dev/full")
    expect_equal((code, err.count("\n"), "/dev/full" in err), (2, 1, True), f"/dev/full ({err})")
    expect(stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full is a device")

    os.mkdir(folder.file("full"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder.file("full")]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        print("no small disk: a tmpfs cannot be mounted here")
        return
    try:
        write(folder, "full/out", OLD)
        with open(folder.file("full/filler"), "wb", buffering=0) as filler:
            filler.write(b"x" * 65536)  # as much of it as there is room for
        names = everything(folder)
        for words in ("report html --out full/out", "db backup full/copy.db",
                      "db export full/tables", "report html --out full/new"):
            shutil.rmtree(folder.file("full/tables"), ignore_errors=True)
            code, err = shell(folder, f"approxtrain {words} --db t.db")
            expect_equal((code, "full/" in err.splitlines()[-1]), (2, True),
                         f"a full disk: {words} ({err})")
            shutil.rmtree(folder.file("full/tables"), ignore_errors=True)
            expect_equal(everything(folder), names, f"a full disk: {words}: what is there")
    finally:
        subprocess.run(["umount", folder.file("full")], check=True)


def stopped(folder):
    """While a figure is drawn: neither its folder stays nor half a file."""
    os.makedirs(folder.file("slow"))
    with open(folder.file("slow/gnuplot"), "w", encoding="utf-8") as script:
        script.write('#!/bin/bash\n[[ $1 == --version ]] && exit 0\n'
                     'touch log "$TMPDIR/../drawing"\nexec sleep 60\n')
    os.chmod(folder.file("slow/gnuplot"), 0o755)
    os.mkdir(folder.file("temporary"))
    write(folder, "out", OLD)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        env = {"TMPDIR": folder.file("temporary"),
               "PATH": folder.file("slow") + os.pathsep + os.environ["PATH"]}
        process = folder.start("report", "curves", "--db", "t.db", "--format", "svg", "--out",
                               "out", env=env, start_new_session=True)
        wait_until(lambda: os.path.exists(folder.file("drawing")))
        process.send_signal(number)
        process.wait(timeout=60)
        os.killpg(process.pid, signal.SIGKILL)  # the group is this process's and its gnuplot's
        process.stdout.close()
        process.stderr.close()
        os.remove(folder.file("drawing"))
        expect_equal((process.returncode, os.listdir(folder.file("temporary")),
                      text(folder, "out")), (-number, [], OLD), f"signal {number}")


every_output_over_every_input()
with Folder() as plain:
    plain.sweep("--seeds", "0", "--progress", "none")
    code, csv, err = plain.run(*REPORT)
    expect_equal((code, err), (0, ""), "the report")
    first = set(os.listdir(plain.path))
    where_it_goes(plain, csv)
    expect_equal(set(os.listdir(plain.path)) - first, {"bin", "to out", "to none"}, "strays")
    no_room(plain)
    stopped(plain)
finish()
