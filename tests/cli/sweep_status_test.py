"""A second look at a sweep from another shell, and stopping it from there."""

import contextlib
import fcntl
import glob
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile

from program import Folder, expect, expect_equal, finish, is_locked, wait_until

SWEEP = """id = "fake:long"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-3"
"""


def status(folder):
    code, out, err = folder.run("sweep", "status", "--db", "t.db", "--format", "json")
    expect_equal(code, 0, f"sweep status ({err})")
    table = json.loads(out)
    return table["rows"], table["notes"]


def counts(folder):
    rows, _ = status(folder)
    expect_equal([row["experiment"] for row in rows], ["fake:long"], "experiments")
    return {key: rows[0][key] for key in ("runs", "finished", "failed", "running", "to_do")}


def left_s(folder):
    rows, _ = status(folder)
    return rows[0]["left_s"]


def expect_left(folder, text, what):
    """In words, as a reader sees it."""
    code, out, _ = folder.run("sweep", "status", "--db", "t.db")
    row, = [line for line in out.splitlines() if line.startswith("| fake:long")]
    expect_equal((code, row.split("|")[-2].strip()), (0, text), f"{what}: left")


with Folder(SWEEP) as folder:
    code, _, err = folder.run("sweep", "status", "--db", "t.db")
    expect_equal(code, 6, f"no store ({err})")
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--grace", "1s",
                           fake="0=exit3;2=hang;*=finish")
    wait_until(lambda: ("zero", 2) in folder.states())
    expect_equal(counts(folder),
                 {"runs": 4, "finished": 1, "failed": 1, "running": 1, "to_do": 1}, "at work")
    _, notes = status(folder)
    expect(any(note.startswith("running: zero, ") and "seed 2" in note for note in notes),
           f"no line of the running one: {notes}")
    expect(any(note.startswith("failed: zero, ") and "exited with code 3" in note
               for note in notes), f"no line of the failed one: {notes}")
    # As if the one that finished had taken ten minutes: one to do, and half of the one at work.
    folder.change("UPDATE run SET wall_ns = 600000000000 WHERE state = 'finished'")
    expect_equal(left_s(folder), 900, "at work: left")
    expect_left(folder, "15 min", "at work")
    code, out, _ = folder.run("sweep", "status", "fake:long", "--db", "t.db")
    expect_equal(code, 0, "of one experiment")
    expect("| fake:long" in out, f"of one experiment: {out}")
    code, _, err = folder.run("sweep", "status", "fake:other", "--db", "t.db")
    expect_equal((code, err), (2, "approxtrain: t.db: no experiment fake:other is in it\n"),
                 "of none")

    code, _, err = folder.run("sweep", "stop", "fake:other", "--db", "t.db")
    expect_equal((code, err), (0, "t.db: no sweep of fake:other is at work on this machine\n"),
                 "stop: another experiment")
    code, _, err = folder.run("sweep", "stop", "--db", "t.db")
    expect_equal((code, err), (0, f"asked process {process.pid} to stop\n"), "stop")
    err = process.communicate(timeout=60)[1].decode()
    expect_equal(process.returncode, 128 + 15, f"stopped ({err})")
    expect_equal(counts(folder),
                 {"runs": 4, "finished": 1, "failed": 1, "running": 0, "to_do": 2}, "stopped")
    expect_equal(left_s(folder), 1200, "stopped: left")
    code, _, err = folder.run("sweep", "stop", "--db", "t.db")
    expect_equal((code, err), (0, "t.db: no sweep is at work on this machine\n"), "stop: twice")

    # A coordinator that was killed leaves a run that nobody has.
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=hang")
    wait_until(lambda: counts(folder)["running"] == 1)
    process.kill()
    process.communicate()
    wait_until(lambda: any(note.startswith("gone, the next sweep takes it up: zero, ")
                           for note in status(folder)[1]))
    # Where its folder is not, as in a copy of the database on another machine, nobody can tell.
    os.rename(folder.file("t.runs"), folder.file("elsewhere"))
    (host,), = folder.query("SELECT DISTINCT hostname FROM host")
    _, notes = status(folder)
    expect(any(note.startswith(f"running on {host}: zero, ") for note in notes),
           f"no line of the one on {host}: {notes}")
    os.rename(folder.file("elsewhere"), folder.file("t.runs"))
    expect_equal(folder.sweep("--rerun", "failed")[0], 0, "at last")
    expect_equal(counts(folder), {"runs": 4, "finished": 4, "failed": 0, "running": 0, "to_do": 0},
                 "at last")
    expect_equal(left_s(folder), None, "at last: left")
    expect_left(folder, "–", "at last")

# Before the first has ended nobody can tell how long they take.
with Folder(SWEEP) as folder:
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=hang")
    wait_until(lambda: "running" in folder.states().values())
    expect_equal(left_s(folder), None, "the first: left")
    process.kill()
    process.communicate()

# What failed alike stands in one row.
with Folder(SWEEP) as folder:
    code, _, err = folder.sweep(fake="0=throw-data;*=exit3")
    expect_equal(code, 3, "failures: exit code")
    rows = [line for line in err.splitlines() if line.startswith("| ")]
    expect_equal([row.split("|")[1].strip() for row in rows], ["runs", "3", "1"],
                 f"failures: {err}")


def hold(path, user, says):
    if user is not None:
        os.setgid(user)
        os.setuid(user)
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        says.set()
        signal.pause()


@contextlib.contextmanager
def holder(path, user=None):
    """A process that holds the lock of a file, of this user or another."""
    fork = multiprocessing.get_context("fork")
    says = fork.Event()
    process = fork.Process(target=hold, args=(path, user, says))
    process.start()
    try:
        expect(says.wait(60), f"{path}: is not locked")
        yield process
    finally:
        process.kill()
        process.join()


def memory_file_systems():
    """A folder in each, as many as may be written to. Each numbers its files by itself."""
    found = {}
    with open("/proc/mounts") as mounts:
        places = [line.split()[1] for line in mounts if line.split()[2] == "tmpfs"]
    for place in ["/dev/shm", *places]:
        try:
            found.setdefault(os.stat(place).st_dev, tempfile.mkdtemp(dir=place))
        except OSError:
            pass
    return list(found.values())


def same_number(one, two):
    """Makes two files, in place of any that are there, that have the same number, if it can."""
    paths, numbers = (one, two), [0, 0]
    for _ in range(300_000):
        if numbers[0] == numbers[1] != 0:
            return True
        behind = numbers.index(min(numbers))
        if numbers[behind]:
            os.remove(paths[behind])
        with open(paths[behind], "w"):
            numbers[behind] = os.stat(paths[behind]).st_ino
    return False


def others_are_left_alone():
    """Who has locked a file of the same number in another file system is no sweep."""
    folders = memory_file_systems()
    try:
        if len(folders) < 2:
            print("no two file systems in memory: not tried", file=sys.stderr)
            return
        with Folder(SWEEP) as folder:
            db = os.path.join(folders[0], "t.db")
            expect_equal(folder.run("sweep", "sweep.toml", "--db", db)[0], 0, "alone: exit code")
            lock, = glob.glob(os.path.join(folders[0], "t.runs/sweeps/*"))
            other = os.path.join(folders[1], "other")
            os.remove(lock)
            if not same_number(lock, other):
                print("no two files of the same number: not tried", file=sys.stderr)
                return
            with holder(other) as stranger:
                code, _, err = folder.run("sweep", "stop", "--db", db)
                expect_equal((code, err), (0, f"{db}: no sweep is at work on this machine\n"),
                             "a stranger, no sweep")
                process = folder.start("sweep", "sweep.toml", "--db", db, "--rerun", "finished",
                                       "--grace", "1s", fake="*=hang")
                wait_until(lambda: is_locked(lock))
                code, _, err = folder.run("sweep", "stop", "--db", db)
                expect_equal((code, err), (0, f"asked process {process.pid} to stop\n"),
                             "a stranger, a sweep")
                process.communicate(timeout=60)
                expect(stranger.is_alive(), "a stranger was stopped")
    finally:
        for made in folders:
            shutil.rmtree(made, ignore_errors=True)


def one_that_cannot_be_stopped():
    """Another user's sweep is named; the others are stopped all the same."""
    if os.geteuid() != 0:
        print("only root can be two users: not tried", file=sys.stderr)
        return
    with Folder(SWEEP) as folder:
        os.chmod(folder.path, 0o777)
        expect_equal(folder.sweep()[0], 0, "two users: exit code")
        sweeps = folder.file("t.runs/sweeps")
        os.chmod(sweeps, 0o777)
        lock, = os.listdir(sweeps)
        with holder(os.path.join(sweeps, lock)) as first, \
                holder(os.path.join(sweeps, lock[:-1] + "1"), user=65534) as second:
            stop = folder.start("sweep", "stop", "--db", "t.db", user=65534, group=65534,
                                extra_groups=[])
            err = stop.communicate(timeout=60)[1].decode()
            expect_equal(stop.returncode, 2, f"two users: exit code of stop ({err})")
            expect(f"process {first.pid} cannot be stopped: Operation not permitted" in err,
                   f"two users: {err}")
            second.join(60)
            expect_equal(second.exitcode, -signal.SIGTERM, "two users: the other one")
            expect(first.is_alive(), "two users: the first")


others_are_left_alone()
one_that_cannot_be_stopped()
finish()
