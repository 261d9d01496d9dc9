"""Answers to a newcomer's questions (questions.toml) stand where a reader finds them: at most two
links from README, within 600 words of the heading that is named, or of the page's beginning."""

import os
import re
import sys
import tomllib

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LINKS = 2
WORDS = 600


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def links_of(page):
    """The Markdown pages that `page` links to, as paths from the root of the tree."""
    targets = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", read(page))
    paths = (os.path.normpath(os.path.join(os.path.dirname(page), target)) for target in targets
             if "://" not in target)
    return {path for path in paths if os.path.exists(os.path.join(ROOT, path))}


def reached(start, links):
    """The pages that a reader gets to from `start` by so many links."""
    pages = newest = {start}
    for _ in range(links):
        newest = set().union(*map(links_of, newest)) - pages
        pages = pages | newest
    return pages


def first_words(text, heading):
    """The first WORDS words under `heading` (None: of the page); None without such a heading."""
    if heading is not None:
        found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
        if not found:
            return None
        text = text[found.end():]
        if (end := re.search(rf"^#{{1,{len(found[1])}}} ", text, re.MULTILINE)):
            text = text[:end.start()]
    return " ".join(text.split()[:WORDS])


def fault(question, pages):
    """What is wrong with the answer to `question`; None if it stands where it should."""
    page = question["page"]
    if page not in pages:
        return f"{page} is more than {LINKS} links from README.md"
    words = first_words(read(page), question.get("heading"))
    if words is None:
        return f"{page} has no heading '{question['heading']}'"
    missing = [what for what in question["says"] if what.lower() not in words.lower()]
    if not missing:
        return None
    return f"{page} does not say {', '.join(missing)} in the first {WORDS} words"


def check_the_check():
    text = "# A\nzero\n## B\n" + "word " * WORDS + "late\n## C\nnext\n"
    assert first_words(text, "B").split() == ["word"] * WORDS
    assert first_words(text, "C") == "next" and first_words(text, "D") is None
    assert first_words(text, None).startswith("# A zero")


def main():
    check_the_check()
    with open(os.path.join(os.path.dirname(__file__), "questions.toml"), "rb") as file:
        questions = tomllib.load(file)["question"]
    pages = reached("README.md", LINKS)
    faults = [f"{question['ask']}: {wrong}" for question in questions
              if (wrong := fault(question, pages))]
    if len(questions) < 20:
        faults.append(f"{len(questions)} questions, and there were twenty")
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
