"""What the tests of the program share: how to start it, in a folder of its own, with the engine
that misbehaves on demand."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.parse

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
ENGINE = os.path.abspath(os.environ["APPROXTRAIN_FAKE_ENGINE"])

SWEEP = """id = "fake:table"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-2"
"""


def wait_until(what, seconds=60):
    """Whether it came true: a store that is not there yet, or not whole, is waited for too."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if what():
                return True
        except (sqlite3.Error, OSError, LookupError):
            pass
        time.sleep(0.02)
    return expect(False, f"waited for {seconds} s")


class Folder:
    """A working directory with a sweep file, gone afterwards."""

    def __init__(self, sweep=SWEEP):
        self.path = tempfile.mkdtemp(prefix="approxtrain-test-")
        with open(os.path.join(self.path, "sweep.toml"), "w") as out:
            out.write(sweep)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def environment(self, fake="", **more):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("APPROXTRAIN_", "XDG_"))}
        env.update(APPROXTRAIN_ENGINE=ENGINE, APPROXTRAIN_FAKE=fake, HOME=self.path,
                   APPROXTRAIN_TIMING_LOCK=self.path, TERM="dumb", LC_ALL="C.UTF-8",
                   APPROXTRAIN_FAKE_MARK=self.file("mark"))
        env.update(more)
        return env

    def start(self, *arguments, fake="", env=None, **how):
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.path,
                                env=self.environment(fake, **(env or {})), **how)

    def run(self, *arguments, fake="", env=None, timeout=120):
        process = self.start(*arguments, fake=fake, env=env, stdin=subprocess.DEVNULL)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            if process.poll() is None:
                process.kill()
        return process.returncode, out.decode(), err.decode()

    def sweep(self, *arguments, fake="", **how):
        return self.run("sweep", "sweep.toml", "--db", "t.db", *arguments, fake=fake, **how)

    def query(self, sql, db="t.db"):
        path = urllib.parse.quote(self.file(db))
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def change(self, sql, db="t.db"):
        connection = sqlite3.connect(self.file(db))
        with connection:
            connection.execute(sql)
        connection.close()

    def states(self):
        """State of the last attempt of each cell, by method and seed."""
        return {(method.split(":")[0], seed): state for method, seed, state in self.query(
            "SELECT c.method, c.seed, r.state FROM run r JOIN cell c USING(cell_id) "
            "ORDER BY r.attempt")}

    def results(self):
        """Everything that a report shows, without what differs between two attempts."""
        metrics = self.query(
            "SELECT c.run_key, m.name, m.split, m.step, m.epoch, m.train_ns, m.value, m.special, "
            "r.state, r.steps, r.train_ns, r.step_ns FROM run r JOIN cell c USING(cell_id) "
            "JOIN metric m USING(run_id) WHERE r.state IN ('finished', 'diverged') "
            "ORDER BY 1, 2, 3, 4")
        return metrics

    def tables(self, db="t.db"):
        """Every table as it is exported, by name."""
        out = self.file("tables-of-" + db)
        code, _, err = self.run("db", "export", out, "--db", db)
        expect_equal(code, 0, f"export of {db} ({err})")
        texts = {}
        for name in sorted(os.listdir(out)):
            with open(os.path.join(out, name), encoding="utf-8") as text:
                texts[name] = text.read()
        shutil.rmtree(out)
        return texts

    def check_database(self, db="t.db"):
        expect(self.query("PRAGMA integrity_check", db) == [("ok",)], "integrity_check")
        expect(self.query("PRAGMA foreign_key_check", db) == [], "foreign_key_check")
        # A timing that was disturbed is made again, and both stay.
        doubled = self.query("SELECT cell_id FROM run JOIN cell USING(cell_id) WHERE state IN "
                             "('finished', 'diverged') AND NOT (purpose = 'timing' AND taint <> "
                             "'[]') GROUP BY cell_id HAVING count(*) > 1", db)
        expect(doubled == [], f"cells with two results: {doubled}")


def terminal(rows, columns):
    """Our end of a new terminal of that size (0 columns: it does not know them), and the other."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return ours, theirs


def read_terminal(ours):
    """Everything that is sent until the other end is closed or silent for a minute; closes ours."""
    sent = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            block = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        sent += block
    os.close(ours)
    return sent.decode()


class RealFolder(Folder):
    """A folder whose sweeps train, with the engine that comes with the program."""

    def environment(self, fake="", **more):
        env = super().environment(fake, **more)
        del env["APPROXTRAIN_ENGINE"]
        return env

    def rows(self, *arguments, timeout=120):
        """The table that a command prints."""
        code, out, err = self.run(*arguments, "--format", "csv", timeout=timeout)
        expect_equal(code, 0, f"{arguments[0]}: exit code ({err})")
        return list(csv.DictReader(io.StringIO(out)))

    def metrics(self, where):
        """(method, seed, name, split, step, value) of runs of these cells (c)."""
        return self.query(
            "SELECT c.method, c.seed, m.name, m.split, m.step, m.value FROM run r "
            "JOIN cell c USING(cell_id) JOIN metric m USING(run_id) WHERE m.name IN "
            f"('loss', 'accuracy', 'learning_rate') AND {where} ORDER BY 1, 2, 5, 3, 4")

    def held_out_curves(self):
        """[(step, accuracy)] of the images that are held out, by method and seed."""
        curves = {}
        for method, seed, _, _, step, value in self.metrics(
                "m.name = 'accuracy' AND m.split = 'holdout'"):
            curves.setdefault((method, seed), []).append((step, value))
        return curves


failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)
    return condition


def expect_equal(got, wanted, what):
    return expect(got == wanted, f"{what}: got {got!r}, expected {wanted!r}")


def finish():
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


SAID_TO_BE_FINISHED = re.compile(r"^\[\d+/\d+\] (\w+),.* seed (\d+): finished", re.MULTILINE)


def said_to_be_finished(err):
    """(method, seed) of each run that a sweep with `--progress log` called finished."""
    return [(method, int(seed)) for method, seed in SAID_TO_BE_FINISHED.findall(err)]


def ends_as_finished(folder):
    """Whether the log in a run's folder ends in a whole line that says so."""
    try:
        with open(os.path.join(folder, "events.jsonl")) as log:
            *_, last = log
        event = json.loads(last) if last.endswith("\n") else {}
    except (OSError, ValueError):
        return False
    return (event.get("event"), event.get("state")) == ("final", "finished")


def processes_in(folder):
    """(id, command line) of those that work in this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == folder.path:
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    found.append((int(pid), line.read()))
        except OSError:
            pass
    return found


def workers_of(folder):
    return [pid for pid, line in processes_in(folder) if b"--worker" in line]


def is_locked(path):
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
