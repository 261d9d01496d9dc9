"""The site that scripts/docs builds: every page is there and says what its Markdown says, links
lead somewhere, nothing is fetched from elsewhere, and faults end the build.

Usage: site_test.py [VENV]; skipped where mkdocs is not installed there (default: .venv)"""

import collections
import glob
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))

import docs_notebooks  # noqa: E402
import docs_recordings  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
VENV = os.path.abspath(sys.argv[1] if sys.argv[1:] else os.path.join(ROOT, ".venv"))
# What fetches by itself.
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"),
           ("object", "data"), ("source", "src")}
COUNTED = ("table", "td", "pre", "ul", "ol", "li", "h1", "h2", "h3", "h4")


class PageText(html.parser.HTMLParser):
    """What a page links to and fetches, its ids, and what its article is made of."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.ids = [], [], set()
        self.inside, self.tags = False, collections.Counter()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.add(values.get("id"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        for name, value in attrs:
            if (tag, name) in FETCHED:
                self.fetched.append(value)
        if tag == "article":
            self.inside = True
        elif self.inside:
            self.tags[tag] += 1

    def handle_endtag(self, tag):
        if tag == "article":
            self.inside = False


def build(root, into):
    """Exit code and what was said."""
    done = subprocess.run([os.path.join(root, "scripts", "docs"), "--no-install", "--venv", VENV,
                           "--into", into], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources():
    """{page of the site: its Markdown}"""
    found = {"index.html": "README.md", "plots.html": "plots/README.md"}
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith(".md"):
                found[path.removeprefix("docs/").removesuffix(".md") + ".html"] = path
    return found


def made():
    """{page of the site: Markdown} of pages that are made of notebooks and recordings."""
    found = {path: docs_notebooks.page(path)[0] for path in docs_notebooks.paths()}
    found |= {path: docs_recordings.page(path) for path in docs_recordings.paths()}
    return {path.removeprefix("docs/").rsplit(".", 1)[0] + ".html": text
            for path, text in found.items()}


def rendered(markdown):
    """How many tags of each kind another renderer makes of it; None where it is not installed."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        return None
    text = MarkdownIt("commonmark").enable("table").render(markdown)
    return PageText(f"<article>{text}</article>").tags


def check_page(site, page, pages, faults):
    folder = os.path.dirname(os.path.join(site, page))
    for target in pages[page].fetched:
        if "//" in target or not os.path.exists(os.path.join(folder, target.split("?")[0])):
            faults.append(f"{page} fetches {target}")
    for target in pages[page].links:
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        place = os.path.relpath(os.path.normpath(os.path.join(folder, parts.path)), site)
        place = place if parts.path else page
        if not os.path.exists(os.path.join(site, place)):
            faults.append(f"{page} links to {target}: no such file")
        elif parts.fragment and place in pages and parts.fragment not in pages[place].ids:
            faults.append(f"{page} links to {target}: no such heading")


def check_site(site):
    faults = []
    of = {page: read(os.path.join(ROOT, path)) for page, path in sources().items()} | made()
    pages = {}
    for page in of:
        if not os.path.exists(os.path.join(site, page)):
            faults.append(f"{page} is no page of the site")
        else:
            pages[page] = PageText(read(os.path.join(site, page)))
    index = read(os.path.join(site, "search", "search_index.js"))
    for page in pages:
        check_page(site, page, pages, faults)
        if f'"location":"{page}' not in index:
            faults.append(f"{page} is not found by the search")
        wanted = rendered(of[page])
        for tag in COUNTED if wanted is not None else ():
            if pages[page].tags[tag] != wanted[tag]:
                faults.append(f"{page} has {pages[page].tags[tag]} {tag}, its text {wanted[tag]}")
    return faults, len(pages)


def check_search(site, folder):
    """A search on a page in a folder, opened from disk; where there is a Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return []
    page = f"file://{site}/internals/gpu.html?q=break-even"
    done = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                           f"--user-data-dir={folder}/browser", "--virtual-time-budget=20000",
                           page], capture_output=True, text=True, timeout=120)
    found = re.search(r'search-result__meta">(\d+) matching documents', done.stdout)
    return [] if found else [f"the search finds nothing: {done.stderr[-1000:]}"]


def check_faults(folder):
    """A copy with a fault of each kind."""
    for name in ("mkdocs.yml", "README.md"):
        shutil.copy(os.path.join(ROOT, name), folder)
    shutil.copytree(os.path.join(ROOT, "plots"), os.path.join(folder, "plots"))
    shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(folder, "docs"),
                    ignore=lambda path, names: [name for name in names if name != "index.md"]
                    if path.endswith("/results") else [])
    os.makedirs(os.path.join(folder, "scripts"))
    for path in glob.glob(os.path.join(ROOT, "scripts", "docs*")):
        shutil.copy(path, os.path.join(folder, "scripts"))
    with open(os.path.join(folder, "docs", "install.md"), "a", encoding="utf-8") as page:
        page.write("\n[a](gone.md), [b](data.md#gone), [c](../gone/README.md)\n")
    with open(os.path.join(folder, "docs", "alone.md"), "w", encoding="utf-8") as page:
        page.write("# Alone\n")
    code, said = build(folder, os.path.join(folder, "site"))
    faults = [] if code == 1 else [f"a site with faults ended with {code}"]
    return faults + [
        f"{text} was not complained of: {said[-2000:]}"
        for text in ("gone.md", "data.md#gone", "../gone/README.md", "alone.md")
        if text not in said]


def main():
    with tempfile.TemporaryDirectory(prefix="approxtrain-site-",
                                     ignore_cleanup_errors=True) as folder:
        site = os.path.join(folder, "site")
        code, said = build(ROOT, site)
        if code == 77:
            print(said, end="")
            return 77
        if code:
            print(f"scripts/docs ended with {code}: {said}")
            return 1
        faults, pages = check_site(site)
        faults += check_search(site, folder)
        kept = os.path.join(folder, "kept")
        os.makedirs(kept)
        with open(os.path.join(kept, "mine"), "w", encoding="utf-8"):
            pass
        if build(ROOT, kept)[0] != 1 or os.listdir(kept) != ["mine"]:
            faults.append("a folder with other files was written to")
        copy = os.path.join(folder, "copy")
        os.makedirs(copy)
        faults += check_faults(copy)
    print("\n".join([*faults, f"{pages} pages, {len(faults)} faults"]))
    return 1 if faults else 0


sys.exit(main())
