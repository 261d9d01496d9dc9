"""Where results are asked for and used: the experiment's file, the question that pages.toml has for
it, and the pages of docs/ that take numbers from it."""

import dataclasses
import glob
import os
import re
import tomllib

import pages
from measured.store import MEASURED, ROOT, named

DOCS = os.path.join(ROOT, "docs")
WHICH_METHOD = ("which-method.md", "Which method to use")


def without_scale(experiment):
    return experiment.removesuffix(":tune").removesuffix(":reduced")


def experiment_file(experiment, files):
    """Its path from the root of the tree; "" where there is none. `files` are those of pages.toml
    that do not lie where the name says."""
    path = files.get(experiment, f"experiments/{experiment.replace(':', '/')}.toml")
    return path if os.path.exists(os.path.join(ROOT, path)) else ""


def paper_page(experiment):
    """The page of the paper that the experiment is of, under docs/; "" for others."""
    path = f"papers/{experiment.partition(':')[0]}.md"
    return path if os.path.exists(os.path.join(DOCS, path)) else ""


@dataclasses.dataclass(frozen=True)
class Use:
    page: str  # under docs/
    title: str
    store: str
    experiment: str


def title_of(page):
    """Of a page under docs/."""
    return re.search(r"^# (.+)$", pages.read(os.path.join(DOCS, page)), re.M)[1]


def written_uses():
    """Reports of one experiment that pages around numbers (PAGE.md.in) take from."""
    found = []
    for template in sorted(glob.glob(os.path.join(DOCS, "**", "*.md.in"), recursive=True)):
        page = os.path.relpath(template, DOCS).removesuffix(".in")
        for store, report in re.findall(r"^\{\{let \w+ = ([^;]+);(.+)\}\}$", pages.read(template),
                                        re.M):
            arguments = [word for word in report.split()[1:] if not word.startswith("-")]
            if arguments:
                found.append(Use(page, title_of(page), store.strip(), without_scale(arguments[0])))
    return found


def part_uses(parts):
    """Tables of pages.toml: of the studies that they name, or of all timings of whole steps in the
    database."""
    found = []
    for part in parts:
        page = os.path.relpath(os.path.join(ROOT, part["page"]), DOCS)
        of = [*part.get("studies", []), *filter(None, [part.get("study")])]
        if not of and part["table"] in ("steps", "quickstart"):
            of = [name for name, _ in named(part["database"]).experiments() if ":" not in name]
        found += [Use(page, title_of(page), named(part["database"]).name, name) for name in of]
    return found


def which_method_uses():
    """Rows of the decision table."""
    with open(os.path.join(MEASURED, "which-method.toml"), "rb") as file:
        found = sources_in(tomllib.load(file))
    return [Use(*WHICH_METHOD, named(store).name, without_scale(experiment))
            for store, experiment in found]


def sources_in(value):
    """The pairs [database, experiment] anywhere in a table."""
    if isinstance(value, dict):
        return [pair for inner in value.values() for pair in sources_in(inner)]
    if not isinstance(value, list):
        return []
    if len(value) == 2 and all(isinstance(part, str) for part in value) and (
            "/" in value[0] or value[0].startswith("newest ")):
        return [tuple(value)]
    return [pair for inner in value for pair in sources_in(inner)]


def all_uses(parts):
    return list(dict.fromkeys([*written_uses(), *part_uses(parts), *which_method_uses()]))
