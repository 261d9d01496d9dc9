"""Recordings of pages (docs/recordings/) are those of the pages as they are today: the commands and
files of a page in its order, a link from the page, and a text that is what the film shows."""

import importlib.machinery
import importlib.util
import os
import re
import shlex
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import docs_recordings  # noqa: E402

LARGEST = 300_000  # bytes of a file
BEFORE = {  # what a page says that one needs
    "docs/own-method.md": ["scripts/quickstart"],
    "docs/own-method-python.md": ["scripts/build"],
}


def script():
    """scripts/record-page as a module."""
    path = os.path.join(ROOT, "scripts", "record-page")
    loader = importlib.machinery.SourceFileLoader("record_page", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("record_page", loader))
    loader.exec_module(module)
    return module


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def faults(cast, page_text, text, record_page):
    """What is wrong with the recording `cast` of a page that has this text, and with `text` beside
    it."""
    header, events = docs_recordings.read_cast(cast)
    page = header["title"]
    wrong = []
    if page not in BEFORE:
        return [f"is of {page}, of which nobody knows what it needs: add it to BEFORE"]
    command = ["scripts/record-page", page]
    for line in BEFORE[page]:
        command += ["--before", line]
    if shlex.split(header["command"]) != command:
        wrong.append(f"was made by {header['command']}")
    todo = [("run", line) for line in BEFORE[page]] + record_page.steps(page_text)
    typed = [event for event in events if event.startswith(docs_recordings.PROMPT)]
    wanted = [docs_recordings.shown(step) for step in todo]
    for number in range(max(len(typed), len(wanted))):
        recorded, now = typed[number:number + 1], wanted[number:number + 1]
        if recorded != now:
            wrong.append(f"step {number + 1} is {recorded}, the page has {now}")
            break
    if text != record_page.plain("".join(events)):
        wrong.append("the text beside it is another recording's")
    link = f"recordings/{os.path.basename(cast).removesuffix('.cast')}.txt"
    if f"]({link})" not in page_text:
        wrong.append(f"{page} has no link to {link}")
    return wrong


def check_that_faults_are_found(record_page):
    """A recording of a small page, and what is said once page or text are others."""
    page = "docs/own-method.md"
    text = ("Write `a.txt`:\n\n```text\none\n```\n\n"
            "```\ncat \\\n  a.txt\n```\n[r](recordings/small.txt)\n")
    assert record_page.steps(text)[1:] == [("run", "cat \\\n  a.txt")]
    with tempfile.TemporaryDirectory() as folder:
        cast = os.path.join(folder, "small.cast")
        recording = record_page.Recording(
            cast, page, f"scripts/record-page {page} --before scripts/quickstart", 1.0)
        for step in [("run", "scripts/quickstart"), *record_page.steps(text)]:
            recording.type(step)
            recording.show("said\r\n")
        recording.close()
        shown = read(os.path.join(folder, "small.txt"))
        assert faults(cast, text, shown, record_page) == []
        for other, says in ((text.replace("  a.txt", "  b.txt"), "step 3 is"),
                            (text.replace("one", "two"), "step 2 is"),
                            (text + "```\ndate\n```\n", "step 4 is []"),
                            (text.replace("[r]", "r"), "has no link")):
            wrong = faults(cast, other, shown, record_page)
            assert len(wrong) == 1 and says in wrong[0], (says, wrong)
        assert "another recording's" in faults(cast, text, shown + "x", record_page)[0]


def main():
    record_page = script()
    check_that_faults_are_found(record_page)
    wrong, seen = [], set()
    for path in docs_recordings.paths():
        cast = path.removesuffix(".txt") + ".cast"
        page = docs_recordings.read_cast(cast)[0]["title"]
        seen.add(page)
        wrong += [f"{cast}: {what}" for what in faults(cast, read(page), read(path), record_page)]
        wrong += [f"{one}: {os.path.getsize(os.path.join(ROOT, one))} bytes, {LARGEST} at most"
                  for one in (path, cast) if os.path.getsize(os.path.join(ROOT, one)) > LARGEST]
        if not re.search(r"^# .+\n\n.+\n\n```text\n", docs_recordings.page(path)[:600], re.S):
            wrong.append(f"{path}: is no page of the site")
    wrong += [f"{page} has no recording: scripts/record-page makes one" for page in BEFORE
              if page not in seen]
    print("\n".join([*wrong, f"{len(seen)} recordings, {len(wrong)} faults"]))
    return 1 if wrong else 0


sys.exit(main())
