"""The lists in docs/methods.md, docs/networks.md and docs/selections.md and the help texts in
docs/cli.md are the program's own (`docs_test.py --write` writes them), docs/reading-tables.md
explains every footnote, and the files to copy of docs/experiments.md are experiments."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))

import program_help  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("APPROXTRAIN_PROGRAM", "build/approxtrain"))
DOCS = os.path.join(os.path.dirname(__file__), "../../docs")
END = "<!-- end of the list -->\n"


def check(what, write):
    path = os.path.join(DOCS, f"{what}.md")
    mark = f"<!-- approxtrain list {what} -->\n"
    table = subprocess.run([PROGRAM, "list", what], check=True, capture_output=True,
                           text=True).stdout
    with open(path, encoding="utf-8") as page:
        text = page.read()
    begin, end = text.index(mark) + len(mark), text.index(END)
    if write:
        with open(path, "w", encoding="utf-8") as page:
            page.write(text[:begin] + table + text[end:])
    elif text[begin:end] != table:
        sys.exit(f"docs/{what}.md does not list the {what} as they are; run "
                 "tests/cli/docs_test.py --write")


def check_commands(write):
    path = os.path.join(DOCS, "cli.md")
    with open(path + ".in", encoding="utf-8") as template:
        text = template.read().replace("{{help}}\n", program_help.reference(PROGRAM))
    with open(path, encoding="utf-8") as page:
        is_now = page.read()
    if write:
        with open(path, "w", encoding="utf-8") as page:
            page.write(text)
    elif is_now != text:
        sys.exit("docs/cli.md does not show the commands as they are; run "
                 "tests/cli/docs_test.py --write")


def check_footnotes():
    with open(os.path.join(DOCS, "../results/rows/notes.cpp"), encoding="utf-8") as source:
        names = re.findall(r'\{"([^"]+)",', re.search(r"kNoteTexts\[kNotes\] = \{(.*?)\};",
                                                     source.read(), re.S)[1])
    with open(os.path.join(DOCS, "reading-tables.md"), encoding="utf-8") as page:
        table = page.read().partition("## Footnotes")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| ([a-z ]+) \| .+ \|$", table, re.M)[1:]  # behind the header
    if explained != names:
        sys.exit("docs/reading-tables.md does not explain the footnotes as they are: "
                 f"{sorted(set(explained) ^ set(names)) or 'another order'}")


def check_files_to_copy():
    with open(os.path.join(DOCS, "experiments.md"), encoding="utf-8") as page:
        section = page.read().partition("## Three files to copy\n")[2].partition("\n## ")[0]
    files = re.findall(r"^```toml\n(.*?)^```$", section, re.M | re.S)
    if len(files) != 3:
        sys.exit(f"docs/experiments.md has {len(files)} files to copy, not three")
    with tempfile.TemporaryDirectory() as folder:
        for text in files:
            path = os.path.join(folder, "copied.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(
                [PROGRAM, "sweep", path, "--dry-run", "--db", os.path.join(folder, "runs.db")],
                capture_output=True, text=True, cwd=os.path.join(DOCS, ".."))
            if done.returncode != 0:
                sys.exit(f"docs/experiments.md, a file to copy: {done.stderr}")


def main():
    write = sys.argv[1:] == ["--write"]
    for what in ["methods", "networks", "selections"]:
        check(what, write)
    check_commands(write)
    check_footnotes()
    check_files_to_copy()


if __name__ == "__main__":
    main()
