#!/usr/bin/env python3
"""That scripts/check-text finds wrong includes, wrong tables of arrows, links that lead nowhere,
messages in long sentences and long subjects of commits, in a small checkout."""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import commit_subjects  # noqa: E402

FILES = {
    "base/a.h": "",
    "cli/text.h": '#include "base/a.h"\n',
    "cli/sweep/sweep.cpp": '#include "cli/text.h"\n#include "results/store/store.h"\n'
                           '#include "core/door.h"\n',
    "core/door.h": "",
    "core/far.h": '#include "core/door.h"\n#include "base/a.h"\n',
    "results/store/store.h": '#include "base/a.h"\n',
}
TABLE = """
base <-
core <- base core/door.h
core/door.h <-
results/store <- base
cli <- base
cli/sweep <- cli results core/door.h
"""
PICTURE = "<!-- rooms -->\n```\n 1  base\n```\n<!-- /rooms -->\n"
# Pages of a site, with links of each kind.
PAGES = {
    "mkdocs.yml": "nav:\n  - Start:\n      - A: a.md\n      - in/b.md\n"
                  "      - Measured:\n          - results/index.md\n"
                  "          - Rooms: internals/architecture.md\n",
    "docs/a.md": "# One\n\n[a](in/b.md#two-a--bh), [b](in/b.md#two-a--bh-1), [c](#one), "
                 "[d](in/b.md), [e](https://example.org/#f)\n",
    "docs/in/b.md": "# Two, `a` & b.h\n\n## Two, [a](../a.md) & b.h\n\n"
                    "```\n[no link](gone.md)\n```\n",
    "docs/results/index.md": "# R\n",
    "docs/results/x.md": "# X\n\n[up](../in/b.md#two-a--bh)\n",
}
# One of its notebooks, whose Markdown is the text that is filled in.
NOTEBOOK = "docs/notebooks/own-method.ipynb"
CELLS = ('{"cells": [{"cell_type": "code", "source": ["[no link](gone.md)"]},\n'
         '{"cell_type": "markdown", "source": ["# One\\n", "\\n", "%s"]}]}\n')
PLACED = {**PAGES, "mkdocs.yml": PAGES["mkdocs.yml"] + "      - notebooks/own-method.md\n"}
LONG = " ".join("w" * 25)
# What is changed of the files and of the table, and what is found then; None: nothing.
CASES = [
    ("as it is", {}, [], None),
    ("a picture of other rooms", {"docs/internals/architecture.md": PICTURE}, [],
     "docs/internals/architecture.md:1: not the rooms of ARROWS"),
    ("no picture", {"docs/internals/architecture.md": ""}, [],
     "docs/internals/architecture.md:1: no picture of the rooms"),
    ("an include against the arrows", {"base/a.h": '#include "cli/text.h"\n'}, [],
     "base/a.h:1: base must not include cli/text.h"),
    ("a room's name does not stand for rooms inside it",
     {"cli/text.h": '#include "base/a.h"\n#include "cli/sweep/sweep.cpp"\n'}, [],
     "cli/text.h:2: cli must not include cli/sweep/sweep.cpp"),
    ("an arrow to one file is none to its room",
     {"cli/sweep/sweep.cpp": FILES["cli/sweep/sweep.cpp"] + '#include "core/far.h"\n'}, [],
     "cli/sweep/sweep.cpp:4: cli/sweep must not include core/far.h"),
    ("a file that is not there", {"cli/text.h": '#include "base/a.h"\n#include "base/b.h"\n'}, [],
     "cli/text.h:2: includes base/b.h: no such file"),
    ("a folder without a room", {"results/render/page.h": ""}, [],
     "results/render/page.h:1: is in no room"),
    ("two rooms that include each other",
     {"cli/text.h": '#include "base/a.h"\n#include "cli/sweep/sweep.cpp"\n'},
     [("cli <- base", "cli <- base cli/sweep")], "an arrow climbs: cli <- cli/sweep <- cli"),
    ("a circle through a folder of rooms",
     {"results/store/store.h": '#include "base/a.h"\n#include "cli/sweep/sweep.cpp"\n'},
     [("results/store <- base", "results/store <- base cli/sweep")],
     "an arrow climbs: results/store <- cli/sweep <- results/store"),
    ("a circle through one file",
     {"core/door.h": '#include "core/far.h"\n'},
     [("core/door.h <-", "core/door.h <- core")],
     "an arrow climbs: core <- core/door.h <- core"),
    ("an arrow that no file needs", {}, [("cli <- base", "cli <- base results")],
     "cli <- results: no file needs this arrow"),
    ("an arrow to nowhere", {}, [("cli <- base", "cli <- base basic")],
     "cli <- basic: no such room or file"),
    ("a room that is no folder", {}, [("base <-", "base <-\ngone <-")], "gone: no such room"),
    ("a page for strangers in long sentences", {"docs/glossary.md": "word " * 26 + "\n"}, [],
     "docs/glossary.md:1: a sentence of 26 words"),
    ("a part that a script writes in long sentences",
     {"docs/internals/reliability.md":
      "<!-- reliability -->\nA" + " a" * 25 + "\n<!-- /reliability -->\n"}, [], None),
    ("a sentence behind a part that a script writes",
     {"docs/internals/reliability.md":
      "<!-- reliability -->\nA\n<!-- /reliability -->\nA" + " a" * 25 + "\n"}, [],
     "docs/internals/reliability.md:4: a sentence of 26 words"),
    ("a part of another name in long sentences",
     {"docs/internals/reliability.md": "<!-- b -->\nA" + " a" * 25 + "\n<!-- /b -->\n"}, [],
     "docs/internals/reliability.md:2: a sentence of 26 words"),
    ("a header in long sentences",
     {"core/studies/a.h": "// A word.\n// One" + " a" * 25 + "\n"}, [],
     "core/studies/a.h:1: a sentence of 26 words"),
    ("links that lead somewhere", PAGES, [], None),
    ("a link to no file", {**PAGES, "docs/in/b.md": "[a](a.md)\n"}, [],
     "docs/in/b.md:1: link to a.md: no such file"),
    ("a link to no heading", {**PAGES, "docs/a.md": "# One\n\n[c](in/b.md#two-2)\n"}, [],
     "docs/a.md:3: link to in/b.md#two-2: no such heading"),
    ("a link to no heading of its own page", {**PAGES, "docs/a.md": "# One\n\n[c](#two)\n"}, [],
     "docs/a.md:3: link to #two: no such heading"),
    ("what looks like a heading in code", {**PAGES, "docs/in/b.md": "```\n# Two, `a` & b.h\n```\n"},
     [], "docs/a.md:3: link to in/b.md#two-a--bh: no such heading"),
    ("a page without a place", {**PAGES, "docs/in/c.md": "# C\n"}, [],
     "docs/in/c.md:1: has no place in nav of mkdocs.yml"),
    ("a place without a page",
     {**PAGES, "mkdocs.yml": PAGES["mkdocs.yml"] + "      - in/c.md\n"}, [],
     "mkdocs.yml:1: docs/in/c.md: no such page"),
    ("a notebook", {**PLACED, NOTEBOOK: CELLS % "[a](../a.md#one)"}, [], None),
    ("a notebook that leads nowhere", {**PLACED, NOTEBOOK: CELLS % "[a](../a.md#two)"}, [],
     f"{NOTEBOOK}:3: link to ../a.md#two: no such heading"),
    ("a notebook in long sentences", {**PLACED, NOTEBOOK: CELLS % f"W {LONG}"}, [],
     f"{NOTEBOOK}:3: (of the Markdown cells) a sentence of 26 words"),
    ("a notebook without a place", {**PAGES, NOTEBOOK: CELLS % "a"}, [],
     "docs/notebooks/own-method.md:1: has no place in nav of mkdocs.yml"),
    ("what is no notebook", {**PLACED, NOTEBOOK: "[]\n"}, [],
     f"{NOTEBOOK}:1: is no notebook: has no cells"),
    ("a recording without a place", {**PAGES, "docs/recordings/a.txt": "$ date\n"}, [],
     "docs/recordings/a.md:1: has no place in nav of mkdocs.yml"),
    ("a long message", {"cli/text.h": FILES["cli/text.h"] + f'f("{LONG}"\n  " {{:.2f}}");\n'}, [],
     "cli/text.h:2: a sentence of 26 words, 25 at most: W w"),
    ("a message without its subject", {"cli/text.h": FILES["cli/text.h"] +
                                       'f("{}: of {} runs some are wrong");\n'}, [],
     "cli/text.h:2: a sentence begins with Of"),
    ("a long comment, and messages of two sentences each",
     {"cli/text.cpp": f'// "{LONG} w"\n' +
      f"f('\"', \"{LONG}.\"\n  \" X {LONG[3:]}\\n\"\n  \"{LONG}\");\n"}, [], None),
    ("two rows of one room", {}, [("base <-", "base <-\nbase <-")],
     "ARROWS has two rows for a room"),
]


def write(folder, path, text):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check(changes, replaced):
    """What check-text prints of such a checkout, and its exit code."""
    with open(os.path.join(ROOT, "scripts", "check-text"), encoding="utf-8") as file:
        script = file.read()
    table = TABLE
    for old, new in replaced:
        assert f"\n{old}\n" in table, old
        table = table.replace(f"\n{old}\n", f"\n{new}\n")
    start = script.index('ARROWS = """') + len('ARROWS = """')
    script = script[:start] + table + script[script.index('"""', start):]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**FILES, "docs/internals/architecture.md": PICTURE, **changes}.items():
            write(folder, path, text)
        write(folder, "scripts/check-text", script)
        for module in ("commit_subjects.py", "docs_notebooks.py", "plain_words.py"):
            shutil.copy(os.path.join(ROOT, "scripts", module), os.path.join(folder, "scripts"))
        # What the format of C++ is, is not the question here.
        write(folder, ".venv/bin/clang-format", "#!/bin/sh\n")
        for path in ("scripts/check-text", ".venv/bin/clang-format"):
            os.chmod(os.path.join(folder, path), 0o755)
        subprocess.run(["git", "init", "-q", folder], check=True)
        command = [sys.executable, os.path.join(folder, "scripts", "check-text")]
        if "docs/internals/architecture.md" not in changes:  # draws it
            subprocess.run([*command, "--fix"], capture_output=True, check=False)
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout + done.stderr, done.returncode


def commit(folder, subject):
    """Makes a commit; returns its hash."""
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def subjects():
    """What is wrong with the check of subjects, as texts."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        if "not a git checkout" not in commit_subjects.why_unknown(folder):
            wrong.append("no checkout is taken for one")
        subprocess.run(["git", "init", "-q", folder], check=True)
        commit(folder, "s" * 73)
        since = commit(folder, "s" * 74)
        fit, long = commit(folder, "é" * 72), commit(folder, "l" * 73)
        if commit_subjects.why_unknown(folder, since) or not commit_subjects.why_unknown(folder):
            wrong.append("a known commit is unknown, or an unknown one known")
        found = commit_subjects.faults(folder, since, excepted=())
        if [short for short, _ in found] != [long[:12]]:
            wrong.append(f"of {fit} and {long} found {found}")
        if commit_subjects.faults(folder, since, excepted=(long,)):
            wrong.append("a commit that is excepted is found")
        shallow = os.path.join(folder, "shallow")
        subprocess.run(["git", "clone", "-q", "--depth", "1", "file://" + folder, shallow],
                       check=True, capture_output=True)
        if "shallow" not in commit_subjects.why_unknown(shallow, since):
            wrong.append("a shallow clone is checked")
    return wrong


def main():
    if shutil.which("git") is None:
        print("skipped: git is missing")
        return 77
    failed = 0
    for what, changes, replaced, expected in CASES:
        output, code = check(changes, replaced)
        ok = code == 0 if expected is None else code == 1 and expected in output
        if not ok:
            failed += 1
            print(f"{what}: expected {expected or 'no finding'}, found:\n{output}")
    for what in subjects():
        failed += 1
        print(f"subjects of commits: {what}")
    print(f"{len(CASES)} checkouts, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
