"""The recordings of docs/recordings/, which scripts/record-page makes: what was typed in them, and
the page that the site makes of each. Needs the standard library alone."""

import glob
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "docs/recordings"
PROMPT = "\x1b[32m$\x1b[0m "


def paths():
    """The texts of all recordings, from the root of the checkout. Each has a .cast beside it."""
    return sorted(os.path.relpath(path, ROOT)
                  for path in glob.glob(os.path.join(ROOT, FOLDER, "*.txt")))


def read_cast(path):
    """(header, texts that were shown) of an asciicast."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        header, *events = map(json.loads, file)
    return header, [event[2] for event in events]


def shown(step):
    """What a terminal shows of a step, ("write", path, text) or ("run", command), before its
    output."""
    text = step[-1].replace("\n", "\r\n")
    if step[0] == "run":
        return f"{PROMPT}{text}\r\n"
    return f"{PROMPT}cat > {step[1]} <<'END'\r\n{text}END\r\n"


def page(path):
    """Markdown of a recording, a page of the site."""
    name = os.path.basename(path).removesuffix(".txt")
    header, _ = read_cast(path.removesuffix(".txt") + ".cast")
    source = header["title"]
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        title = file.readline().removeprefix("# ").strip()
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    return (f"# A recording: {title}\n\n"
            f"A script followed [{title}](../{os.path.relpath(source, 'docs')}) to the letter, in "
            "a clean clone. It typed the commands of the page. This is what stood on the screen "
            "in the end.\n\n"
            f"`asciinema play` shows it as a film: [{name}.cast]({name}.cast).\n\n"
            f"```text\n{text}```\n")
