#!/usr/bin/env python3
"""Which changes of a checkout make a build dirty: those of files that enter the build.

Usage: build_info_test.py CMAKE"""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CMAKE = sys.argv[1]

# What is committed, then per case what is written besides, and whether that is a dirty build.
COMMITTED = ["CMakeLists.txt", "CMakePresets.json", "README.md", "base/a.h", "cli/a.cpp",
             "cmake/a.cmake", "core/a.cpp", "core/notes.md", "docs/a.md", "experiments/a.toml",
             "kernels/a.cu", "plots/a.gp", "results/a.cpp", "results/measured/m/a.csv",
             "scripts/build", "tests/a_test.cpp"]
CASES = [
    ([], False),
    (["quickstart.html", "report.html", "pareto.csv", "curves.png", "notes.txt"], False),
    (["README.md"], False),
    (["docs/a.md"], False),
    (["docs/b.md"], False),
    (["plots/a.gp"], False),
    (["tests/a_test.cpp"], False),
    (["tests/b_test.cpp"], False),
    (["results/measured/m/a.csv"], False),
    (["results/measured/m/b.cpp"], False),
    (["core/scratch.html"], False),
    (["core/x.o"], False),  # ignored
    (["core/x.cpp"], True),
    (["core/deep/folder/x.h"], True),
    (["core/\u00e9.cpp"], True),
    (["kernels/x.cu"], True),
    (["experiments/deep/x.toml"], True),
    (["results/store/x.sql"], True),
    (["core/datasets/x/CMakeLists.txt"], True),
    (["base/a.h"], True),
    (["cli/a.cpp"], True),
    (["cmake/a.cmake"], True),
    (["core/a.cpp"], True),
    (["experiments/a.toml"], True),
    (["kernels/a.cu"], True),
    (["results/a.cpp"], True),
    (["CMakeLists.txt"], True),
    (["CMakePresets.json"], True),
]


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.invalid",
                    "-c", "commit.gpgsign=false", *arguments], check=True, capture_output=True)


def write(folder, path, text):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def is_dirty(folder, out):
    header = os.path.join(out, "build_info.h")
    subprocess.run([CMAKE, f"-DSOURCE={folder}", "-DVERSION=1", f"-DHEADER={header}",
                    f"-DDIGESTS={os.path.join(out, 'digests.h')}", "-DTYPE=x", "-DCOMPILER=x",
                    "-DFLAGS=x", "-P", os.path.join(ROOT, "cmake", "build_info.cmake")],
                   check=True, capture_output=True)
    with open(header, encoding="utf-8") as file:
        text = file.read()
    flag = "#define APPROX_GIT_DIRTY 1" in text
    if flag != ('-dirty"' in text) or "unknown" in text:
        sys.exit(f"the header contradicts itself:\n{text}")
    return flag


def main():
    if shutil.which("git") is None:
        print("skipped: git is missing")
        sys.exit(77)
    wrong = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        for path in COMMITTED:
            write(folder, path, "committed\n")
        write(folder, ".gitignore", "*.o\n")
        git(folder, "init", "--quiet")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", "all")
        for paths, expected in CASES:
            for path in paths:
                write(folder, path, "changed\n")
            if is_dirty(folder, out) != expected:
                wrong.append(f"{paths}: expected {'dirty' if expected else 'clean'}")
            git(folder, "reset", "--quiet", "--hard")
            git(folder, "clean", "--quiet", "-d", "--force", "-x")
        # What is staged is no less a change.
        write(folder, "core/x.cpp", "staged\n")
        git(folder, "add", "--all")
        if not is_dirty(folder, out):
            wrong.append("a staged file: expected dirty")
    # What the README, quickstart and docs/own-method.md tell to write is ignored.
    for path in ("quickstart.html", "report.html", "pareto.csv", "pareto.svg", "curves.csv",
                 "curves.png", "quickstart.db", "mine.db", "mine.db-journal", "mine.runs/1"):
        done = subprocess.run(["git", "-C", ROOT, "check-ignore", "--quiet", path], check=False)
        if done.returncode == 1:
            wrong.append(f"{path} is not ignored")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(CASES) + 1} states of a checkout")


main()
