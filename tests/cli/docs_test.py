"""The lists in docs/methods.md and docs/networks.md are the program's own (`docs_test.py --write`
writes them), and docs/reading-tables.md explains every footnote."""

import os
import re
import subprocess
import sys

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


def main():
    for what in ["methods", "networks"]:
        check(what, write=sys.argv[1:] == ["--write"])
    check_footnotes()


if __name__ == "__main__":
    main()
