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


def parted(path, name):
    """The page up to the end of the first line, between the lines, and from the last on. Throws
    NoPart."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    with open(path, encoding="utf-8") as file:
        before, marked, rest = file.read().partition(begin)
    inside, ended, after = rest.partition(end)
    if not marked or not ended:
        raise NoPart(f"{path} has no lines {begin} and {end}")
    return before + begin, inside, end + after


def put_into(path, name, text):
    """Writes `text` over what is between the lines. Throws NoPart."""
    before, _, after = parted(path, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}\n{text}\n{after}")
