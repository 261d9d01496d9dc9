"""The list of methods in docs/methods.md is the program's own. `docs_test.py --write` writes it."""

import os
import subprocess
import sys

PROGRAM = os.path.abspath(os.environ.get("APPROXTRAIN_PROGRAM", "build/approxtrain"))
PAGE = os.path.join(os.path.dirname(__file__), "../../docs/methods.md")
BEGIN, END = "<!-- approxtrain list methods -->\n", "<!-- end of the list -->\n"


def main():
    table = subprocess.run([PROGRAM, "list", "methods"], check=True, capture_output=True,
                           text=True).stdout
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as page:
            page.write(text[:begin] + table + text[end:])
    elif text[begin:end] != table:
        sys.exit("docs/methods.md does not list the methods as they are; run "
                 "tests/cli/docs_test.py --write")


if __name__ == "__main__":
    main()
