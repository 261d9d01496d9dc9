"""What scripts write into pages of docs/: a part between two lines, `<!-- NAME -->` and
`<!-- /NAME -->`, and of which commit it is."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class NoPart(Exception):
    """A page has no such lines; one line."""


def commit():
    """Of the checkout that the scripts are of."""
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=ROOT,
                          text=True, capture_output=True, check=False)
    return done.stdout.strip() or "unknown"


def split_at(text, name, path):
    """The text of the page at `path` up to the end of the first line, between the lines, and from
    the last on. Throws NoPart."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, marked, rest = text.partition(begin)
    inside, ended, after = rest.partition(end)
    if not marked or not ended:
        raise NoPart(f"{path} has no lines {begin.strip()} and {end.strip()}")
    return before + begin, inside, end + after


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def part(path, name):
    """What is between the lines. Throws NoPart."""
    return split_at(read(path), name, path)[1]


class Page:
    """The text of a page, to be changed in parts."""

    def __init__(self, path):
        self.path, self.text = path, read(path)

    def put(self, name, text):
        """Sets what is between the lines to `text`, which ends in a line feed. Throws NoPart."""
        before, _, after = split_at(self.text, name, self.path)
        self.text = before + text + after
        return self


def put_into(path, name, text):
    """Writes `text` over what is between the lines. Throws NoPart."""
    page = Page(path).put(name, text + "\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.text)
