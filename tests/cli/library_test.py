"""A library that is rebuilt under a sweep, or before it: no run by it is stored, and the same
command goes on as soon as program and library are of one build. A program that is replaced under
a sweep: all its runs are by the old one.

`library_test.py [TIMES]`: each case once, unless told.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

from program import ENGINE, PROGRAM, Folder, expect, expect_equal, finish, wait_until

SWEEP = """id = "fake:one"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-3"
"""
WHAT_TO_DO = ("no run of it is stored: once program and library are of one build, the same "
              "command goes on")


class Library:
    """The fake library in a folder of its own, to be replaced as a build does it."""

    def __init__(self, folder):
        self.path = folder.file("engine.so")
        self.id = folder.file("id")
        shutil.copy(ENGINE, self.path)
        with open(self.path, "rb") as file:
            self.content = file.read()
        self.env = {"APPROXTRAIN_ENGINE": self.path, "APPROXTRAIN_FAKE_LIBRARY": self.id,
                    "APPROXTRAIN_FAKE_STEP_MS": "60"}
        self.of_build("first")

    def of_build(self, name):
        with open(self.id + ".new", "w") as file:
            file.write(name)
        os.rename(self.id + ".new", self.id)

    def put(self, content):
        with open(self.path + ".new", "wb") as file:
            file.write(content)
        os.rename(self.path + ".new", self.path)

    def of_another_commit(self):
        """The same, built from something else: the first digit of what it says is another."""
        with Folder(SWEEP) as folder:
            err = folder.sweep(env={"APPROXTRAIN_FAKE_SOURCE": "x"})[2]
        source = re.search(r"and this program from (\S+):", err).group(1).encode()
        expect(self.content.count(source) > 0, "the library holds its commit")
        self.put(self.content.replace(source, b"z" + source[1:]))

    def overwritten(self):
        with open(self.path, "ab") as file:
            file.write(b"more")


# What happens to the library, what is said of it, and how many runs have ended by then.
CASES = {
    "another build": (lambda library: library.of_build("second"),
                      "the library was replaced by another build during the sweep"),
    "another commit": (Library.of_another_commit, "is built from z"),
    "none": (lambda library: os.remove(library.path), "the computing library does not open"),
    "half of one": (lambda library: library.put(library.content[:len(library.content) // 2]),
                    "is not whole"),
    "no library": (lambda library: library.put(b"text " * 100),
                   "the computing library does not open"),
    "overwritten": (Library.overwritten, "was overwritten while a run computed with it"),
}


def is_pending(folder, name, err, code):
    expect_equal(code, 1, f"{name}: exit code ({err})")
    lines = [line for line in err.splitlines() if line.startswith("approxtrain: ")]
    expect_equal(len(lines), 1, f"{name}: {err}")
    expect(CASES[name][1] in err and WHAT_TO_DO in err, f"{name}: {err}")
    states = folder.query("SELECT state FROM run")
    expect_equal(set(states) - {("finished",)}, set(), f"{name}: states")
    left = [at for at in os.listdir(folder.file("t.runs")) if at not in ("sweeps", "journal")]
    expect_equal(len(left), len(states), f"{name}: folders of runs {left}")
    return len(states)


def mended(folder, library, name):
    library.of_build("third")
    library.put(library.content)
    code, _, err = folder.sweep(env=library.env)
    expect_equal(code, 0, f"{name}: mended ({err})")
    expect_equal(folder.query("SELECT state, attempt FROM run"), [("finished", 1)] * 4,
                 f"{name}: mended")
    before = folder.tables()
    code, _, err = folder.run("db", "rebuild", "new.db", "--db", "t.db")
    expect_equal(code, 0, f"{name}: rebuild ({err})")
    expect(folder.tables("new.db") == before, f"{name}: a rebuilt store is another")
    folder.check_database()


def during_a_sweep(name):
    with Folder(SWEEP) as folder:
        library = Library(folder)
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", env=library.env)
        # In the middle of the second run.
        wait_until(lambda: len(folder.states()) > 1)
        CASES[name][0](library)
        err = process.communicate(timeout=120)[1].decode()
        ended = is_pending(folder, name, err, process.returncode)
        expect(0 < ended < 4, f"{name}: {ended} runs have ended")
        mended(folder, library, name)


def before_a_sweep(name):
    with Folder(SWEEP) as folder:
        library = Library(folder)
        CASES[name][0](library)
        code, _, err = folder.sweep("--jobs", "2", env=library.env)
        expect_equal(is_pending(folder, name, err, code), 0, f"{name}: nothing has ended")
        mended(folder, library, name)


def a_crash_while_it_is_replaced():
    """Which may be a file in the middle of being written; without it the crash is the run's."""
    with Folder(SWEEP) as folder:
        library = Library(folder)
        code, _, err = folder.sweep(env=library.env, fake="0=segv")
        expect_equal((code, folder.states()[("zero", 0)]), (3, "failed"), f"a crash ({err})")
    with Folder(SWEEP) as folder:
        library = Library(folder)
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", env=library.env,
                               fake="0=late-segv")
        wait_until(lambda: len(folder.states()) > 0)
        library.put(library.content)
        err = process.communicate(timeout=120)[1].decode()
        expect_equal(process.returncode, 1, f"a crash beside a new file: exit code ({err})")
        expect("was replaced while a run was at work, whose worker crashed" in err, err)
        expect_equal(folder.query("SELECT state FROM run"), [], "a crash beside a new file")


def a_replaced_program():
    """Workers are started from the file that the sweep runs, whatever has its name by then."""
    with Folder(SWEEP) as folder:
        program, env = folder.file("program"), {"APPROXTRAIN_FAKE_STEP_MS": "60"}
        shutil.copy(PROGRAM, program)
        process = subprocess.Popen([program, "sweep", "sweep.toml", "--db", "t.db"],
                                   cwd=folder.path, env=folder.environment(**env),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: len(folder.states()) > 1)
        with open(program + ".new", "w") as file:
            file.write("#!/bin/sh\nexit 5\n")
        os.chmod(program + ".new", 0o755)
        os.rename(program + ".new", program)
        err = process.communicate(timeout=120)[1].decode()
        expect_equal(process.returncode, 0, f"a replaced program: exit code ({err})")
        expect_equal(folder.query("SELECT state, attempt FROM run"), [("finished", 1)] * 4,
                     "a replaced program: runs")


def a_single_training():
    with Folder(SWEEP) as folder:
        library = Library(folder)
        library.of_another_commit()
        code, out, err = folder.run("train", "--network", "small_cnn", "--dataset", "mnist14",
                                    "--db", "t.db", env=library.env)
        expect_equal((code, out), (1, ""), f"train: {err}")
        expect("is built from z" in err, f"train: {err}")
        expect_equal(folder.query("SELECT state FROM run"), [], "train: runs")


with concurrent.futures.ThreadPoolExecutor() as pool:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    pending = [pool.submit(during_a_sweep, case) for case in list(CASES) * times]
    programs = [pool.submit(a_replaced_program) for _ in range(times)]
    pending += [pool.submit(before_a_sweep, case)
                for case in ("another commit", "none", "half of one")]
    pending += [pool.submit(a_crash_while_it_is_replaced), pool.submit(a_single_training)]
    for task in pending + programs:
        task.result()
print(f"{len(pending)} times a library that does not fit, {len(programs)} times another program")
finish()
