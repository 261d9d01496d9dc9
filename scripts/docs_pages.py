"""What the site needs beside docs/ (a hook of mkdocs, see mkdocs.yml): pages that lie elsewhere,
pages of notebooks and recordings, a place in `nav` for each page of docs/results/, and text in
place of links to files that are no pages."""

import os
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import docs_notebooks  # noqa: E402
import docs_recordings  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Page of the site: the file of the checkout that it is.
ELSEWHERE = {"index.md": "README.md", "plots.md": "plots/README.md"}
# Files that pages load. Where none has iframe-worker in its name, the plugin `offline` adds one of
# another host.
LOADED = {"assets/iframe-worker.js": "scripts/docs_search.js",
          "assets/docs.css": "scripts/docs_style.css"}
RESULTS = "results/index.md"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def on_config(config):
    """Puts the pages of single experiments behind their index."""
    def fill(part):
        if isinstance(part, dict):
            part = next(iter(part.values()))
        if not isinstance(part, list):
            return
        if RESULTS in part:
            folder = os.path.join(ROOT, "docs", "results")
            part += [{name.removesuffix(".md").replace("_", ": ", 1): f"results/{name}"}
                     for name in sorted(os.listdir(folder))
                     if name.endswith(".md") and name != "index.md"]
        for inner in part:
            fill(inner)

    fill(config.nav)
    return config


def on_files(files, config):
    made = {page: read(path) for page, path in (ELSEWHERE | LOADED).items()}
    for path in docs_notebooks.paths():
        page, pictures = docs_notebooks.page(path)
        made[made_page(path)] = page
        made |= {f"notebooks/{name}": picture for name, picture in pictures.items()}
    for path in docs_recordings.paths():
        made[made_page(path)] = docs_recordings.page(path)
    for page, content in made.items():
        files.append(File.generated(config, page, content=content))
    return files


def made_page(path):
    """The page that is made of a notebook or of a recording's text; None for another file."""
    made = re.fullmatch(r"docs/(notebooks/.*)\.ipynb|docs/(recordings/.*)\.txt", path)
    return f"{made[1] or made[2]}.md" if made else None


def site_link(page, target):
    """What a link of a page leads to on the site: another page, or None for a file of the checkout
    that is no page. `page` is the page's place on the site."""
    folder = os.path.dirname(ELSEWHERE.get(page, f"docs/{page}"))
    path = os.path.normpath(os.path.join(folder, target))
    if os.path.exists(os.path.join(ROOT, path)) and made_page(path) not in (None, page):
        path = made_page(path)  # on its own page a link leads to the file itself
    elif path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif path in ELSEWHERE.values():
        path = next(name for name, source in ELSEWHERE.items() if source == path)
    elif os.path.exists(os.path.join(ROOT, path)):
        return None
    else:
        return target  # which mkdocs complains of
    return os.path.relpath(path, os.path.dirname(page) or ".")


def on_page_markdown(markdown, page, **_):
    def follow(link):
        picture, shown, target, anchor = link[1], link[2], link[3], link[4] or ""
        if re.match(r"[a-z]+:", target):
            return link[0]
        place = site_link(page.file.src_uri, target)
        return shown if place is None else f"{picture}[{shown}]({place}{anchor})"

    return re.sub(r"(!?)\[([^]\[]*)\]\(([^)#\s]+)(#[^)\s]*)?\)", follow, markdown)
