"""Memory that runs out at one allocation after the other: readers of all inputs (the targets of
tests/fuzz/) and commands end with one clear error, and nothing is damaged.

`memory_test.py [full]`: some allocations of each, or all but of what makes very many.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys

from program import PROGRAM, Folder, expect, expect_equal, finish

FULL = sys.argv[1:] == ["full"]
SHIM = os.path.abspath(os.environ["APPROXTRAIN_MEMORY_SHIM"])
# Allocations of an input, and inputs. A full test leaves some out where an input takes long.
SOME, ALL = (3, 3), (1_000_000, 1_000_000)
MOST = {"store": (60, 60), "experiment": (60, 40), "packed": (300, 2), "photo": (300, 10),
        "archive": (400, 30), "events": (300, 6)}
aborted = []  # by a library; whether all allocations failed from one on
KILLS = 100 if FULL else 6  # runs of a command, with another allocation that fails in each

READERS = (("--version",), ("--help",), ("list", "methods", "--format", "csv"),
           ("report", "table", "--db", "t.db"),
           ("report", "runs", "--db", "t.db", "--format", "json"),
           ("show", "run", "1", "--db", "t.db"), ("db", "check", "--db", "t.db"),
           ("sweep", "sweep.toml", "--db", "t.db", "--dry-run", "--format", "json"))
SWEEP = """id = "fake:short"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-1"
"""


def inputs():
    """The targets of tests/fuzz/, which are beside the program."""
    programs = sorted(glob.glob(os.path.join(os.path.dirname(PROGRAM), "fuzz_*")))
    programs = [path for path in programs if os.access(path, os.X_OK) and "." not in
                os.path.basename(path)]
    expect(len(programs) >= 12, f"targets: {programs}")
    for program in programs:
        name = os.path.basename(program)[len("fuzz_"):]
        most, number = MOST.get(name, ALL) if FULL else SOME
        with Folder() as folder:
            done = subprocess.run([program, "--short-of-memory", str(most), str(number)],
                                  cwd=folder.path, capture_output=True, text=True, timeout=1800,
                                  check=False)
            if done.returncode == 77:
                sys.exit(77)
            expect_equal(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
            print(f"{name}: {done.stdout.strip()}", flush=True)


def allocations(folder, words):
    """What an undisturbed command prints, and how many allocations it takes."""
    count = folder.file("count")
    code, out, err = folder.run(*words, env={"LD_PRELOAD": SHIM,
                                             "APPROXTRAIN_MEMORY_COUNT": count})
    expect_equal(code, 0, f"{words}: exit code ({err})")
    with open(count) as text:
        number = int(text.read())
    os.remove(count)
    return out, number


def numbers(most):
    return range(1, most + 1, max(1, most // KILLS))


def ends_cleanly(folder, words, number, every, what):
    """Exit code and output of a command under which an allocation fails. A library that allocates
    in a destructor may end it without a message of ours."""
    code, out, err = folder.run(*words, env={
        "LD_PRELOAD": SHIM, "APPROXTRAIN_MEMORY": f"{number}:all" if every else f"{number}"})
    known = "bad_alloc" in err or every and "without an active exception" in err
    if code == -signal.SIGABRT and known:
        aborted.append(every)
        return code, out
    expect(code in (0, 1, 2, 3, 6), f"{what}: exit code {code} ({err})")
    lines = [line for line in err.splitlines() if line.startswith("approxtrain: ")]
    if code in (1, 2, 6):
        expect_equal(len(lines), 1, f"{what}: messages ({err})")
    return code, out


def without_disk(text):
    """What is printed, without the free space of the disk, which changes."""
    return re.sub(r'"free_bytes": \d+', "", text)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def readers():
    with Folder(SWEEP) as folder:
        folder.sweep("--progress", "none")
        before = content(folder.file("t.db"))
        tried = ended = 0
        for words in READERS:
            wanted, most = allocations(folder, words)
            for number in numbers(most):
                for every in (False, True):
                    what = f"{' '.join(words)}: allocation {number} of {most}, all {every}"
                    code, out = ends_cleanly(folder, words, number, every, what)
                    if code == 0:
                        expect(without_disk(out) == without_disk(wanted), f"{what}: another output")
                    tried, ended = tried + 1, ended + (code != 0)
        expect(content(folder.file("t.db")) == before, "readers: the database has changed")
        expect(ended > tried / 4, f"readers: {ended} of {tried} felt it")
        print(f"{tried} times short of memory in {len(READERS)} commands, {ended} ended by it")


def sweeps():
    """A run that is called finished is one, and the same command does the rest."""
    words = ("sweep", "sweep.toml", "--db", "t.db", "--progress", "none")
    with Folder(SWEEP) as folder:
        _, most = allocations(folder, words)
        wanted = folder.results()
        tried = ended = 0
        for number in numbers(most):
            for every in (False, True):
                what = f"sweep: allocation {number} of {most}, all {every}"
                for left in os.listdir(folder.path):
                    if left.startswith("t."):
                        path = folder.file(left)
                        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
                code, _ = ends_cleanly(folder, words, number, every, what)
                again, _, err = folder.run(*words)
                if again == 3:  # a run that could not be started
                    again, _, err = folder.run(*words, "--rerun", "failed,oom")
                expect_equal(again, 0, f"{what}: the next sweep ({err})")
                expect(folder.results() == wanted, f"{what}: other results")
                folder.check_database()
                tried, ended = tried + 1, ended + (code != 0)
        print(f"{tried} sweeps short of memory, {ended} ended by it")


inputs()
readers()
sweeps()
print(f"{len(aborted)} commands ended by a library, {aborted.count(False)} of them at one failure")
finish()
