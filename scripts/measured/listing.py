"""docs/results.md: every database with the items of papers that it has most results of, whether its
methods are worth using, and what it is made of."""

import glob
import json
import os
import re

import pages
from measured.store import MEASURED, Store

NOT_RUN = os.path.join(MEASURED, "not_run.json")
# Lines of a study's table that a picture shows better.
DRAWN = ("histogram", "pixel")
HEAD = """# Measured results

Written by `scripts/make-results` from the databases in `results/measured/`; edit those, not this
page. How to read a paper's table: [reading-tables.md](reading-tables.md). What the numbers of the
other tables mean: [statistics.md](internals/statistics.md). A folder is one machine, but for
`several-machines`: long trainings go on there wherever there is time. Times are never compared
between machines."""


class BadReason(Exception):
    """A reason in not_run.json for what has been run, or does not exist; one line."""


def folders():
    """(name, its databases) of every folder that has any."""
    for folder in sorted(glob.glob(os.path.join(MEASURED, "*/"))):
        if stores := [Store(path) for path in sorted(glob.glob(os.path.join(folder, "*.db")))]:
            yield os.path.basename(folder.rstrip("/")), stores


def page(figures):
    """The text of the page. `figures` are those of pages.toml."""
    parts, shown = [], {}
    for name, stores in folders():
        of_folder = shown_items(stores)
        shown.update(of_folder)
        parts += [f"## {name}", *(section(store, of_folder[store], figures) for store in stores)]
    return "\n\n".join([HEAD, "## What has been measured", index(shown), *parts]) + "\n"


def without_title(text):
    """A report's table without its own heading, and without what is drawn beside it."""
    lines = text.split("\n")
    lines = lines[2:] if lines[0].startswith("#") else lines
    return "\n".join(line for line in lines if line[2:].split(" ")[0] not in DRAWN).strip()


def finished(state):
    """How many results a state of `list papers` tells of: "12 of 60 runs, 5 timing runs"; "done"
    is one."""
    if state == "done":
        return 1
    return sum(map(int, re.findall(r"(\d+) (?:of|accuracy|timing)", state)))


def items_of(store):
    """How many results the database has of each paper item, by (name, scale, title)."""
    found = {}
    for item in store.papers():
        for scale in ("full", "reduced"):
            if count := finished(item[scale] or ""):
                found[item["name"], scale, item["title"]] = count
    return found


def shown_items(stores):
    """The items that stand under each database: those that no other of the folder has more of. A
    run is of every item that plans it, so that a tuning of dense training has some of many."""
    have = {store: items_of(store) for store in stores}
    return {store: [item for item, count in items.items()
                    if all(other.get(item, 0) < count or other is items
                           for other in have.values())]
            for store, items in have.items()}


def index(shown):
    """Every item of the papers: how much of it the databases have in which it is shown, or why
    nothing is (not_run.json). Throws BadReason."""
    listed = {store: {item["name"]: item for item in store.papers()} for store in shown}
    reasons = json.loads(pages.read(NOT_RUN))
    lines = ["| item | what | full | reduced |", "|---|---|---|---|"]
    for name, item in next(iter(listed.values())).items():
        cells = {scale: "<br>".join(f"{listed[store][name][scale]}: `{store.name}`"
                                    for store, items in shown.items()
                                    if (name, scale, item["title"]) in items)
                 for scale in ("full", "reduced")}
        if "a picture" in item.values():
            cells["reduced"] = "drawn from its file"
        if not any(cells.values()):
            cells["reduced"] = f"NOT RUN: {reasons.pop(name, 'not yet')}"
        if name in reasons:
            raise BadReason(f"{NOT_RUN}: {name} has results: take its reason out")
        lines.append(f"| `{name}` | {item['title']} | {cells['full'] or '–'} | "
                     f"{cells['reduced'] or '–'} |")
    if reasons:
        raise BadReason(f"{NOT_RUN}: no such items: {', '.join(reasons)}")
    return "\n".join(lines)


def section(store, items, figures):
    heading = f"### `{store.name}.db`"
    if store.has_products_alone:
        return (f"{heading}\n\n"
                "Products of single layers: [performance.md](internals/performance.md).")
    parts = [heading, store.provenance()]
    for item, scale, title in items:
        report = store.text("paper", item, "--scale", scale)
        title_shown = report.split("\n")[0].lstrip("# ") if report.startswith("#") else title
        parts += [f"**{title_shown}**", without_title(report)]
        parts += [f"![{title}](figures/{figure}.svg)" for figure, drawn in figures.items()
                  if drawn == [store.name, f"paper {item} --scale {scale}"]]
    advice = store.text("advice")
    if advice.strip() and "|" in advice and advice.count("\n|") > 2:
        parts += ["**Is it worth using?**", without_title(advice)]
    breakeven = store.text_if_any("breakeven")
    if breakeven.count("\n|") > 2:
        parts += ["**Is it faster than break-even?**", without_title(breakeven)]
    for report in ("table", "kernels"):
        table = store.text(report)
        if len(parts) == 2 and table.count("\n") > 2:
            parts.append(without_title(table))
    return "\n\n".join(parts)
