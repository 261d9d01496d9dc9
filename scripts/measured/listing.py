"""docs/results/: a page for each experiment, with what every database has of it, and an index."""

import dataclasses
import glob
import json
import os
import re

import pages
from measured.cells import markdown
from measured.store import MEASURED, Store, with_result

NOT_RUN = os.path.join(MEASURED, "not_run.json")
SCALES = ("full", "reduced")
# Lines of a study's table that a picture shows better.
DRAWN = ("histogram", "pixel")
INDEX = """# Measured results

One line for each experiment and database; its name leads to the tables. Times of different machines
are never compared. `several-machines` holds long trainings, which go on wherever there is time;
every other folder is one machine.

How to read a paper's table: [reading-tables.md](../reading-tables.md). What the numbers mean:
[statistics.md](../internals/statistics.md). `scripts/make-results` writes these pages from the
databases in `results/measured/`: edit those."""
PRODUCTS = "Products of single layers"


class BadReason(Exception):
    """A reason in not_run.json for what has been run, or does not exist; one line."""


@dataclasses.dataclass
class Entry:
    """What one database has of one experiment."""

    store: Store
    title: str
    items: list = dataclasses.field(default_factory=list)        # scales of the paper's item
    experiments: list = dataclasses.field(default_factory=list)  # names in the database
    state: str = ""  # "60 of 60 runs" of an item

    def machine_and_date(self):
        """Two cells."""
        made = self.store.made_by(*self.experiments) or self.store.made_by()
        days = sorted({day for _, day in made})
        return ("<br>".join(sorted({machine for machine, _ in made})),
                "<br>".join(dict.fromkeys([days[0], days[-1]])) if days else "–")


def folders():
    """(name, its databases) of every folder that has any."""
    for folder in sorted(glob.glob(os.path.join(MEASURED, "*/"))):
        if stores := [Store(path) for path in sorted(glob.glob(os.path.join(folder, "*.db")))]:
            yield os.path.basename(folder.rstrip("/")), stores


def texts(figures):
    """The text of each page, by its name in docs/results/. `figures` are those of pages.toml.
    Throws BadReason."""
    found = entries()
    shown = {name: [(entry, body) for entry in of_name if (body := section(name, entry, figures))]
             for name, of_name in found.items()}
    written = {file_name(name): page(name, sections)
               for name, sections in shown.items() if sections}
    return {"index.md": index({name: [entry for entry, _ in sections]
                               for name, sections in shown.items() if sections}), **written}


def entries():
    """{experiment: [Entry]}: items of papers first, in their order, then the others by name."""
    found = {item["name"]: [] for item in next(folders())[1][0].papers()}
    others = {}
    for _, stores in folders():
        items = shown_items(stores)
        for store in stores:
            for name, entry in of_store(store, items[store]).items():
                (found if name in found else others).setdefault(name, []).append(entry)
    return {**found, **dict(sorted(others.items()))}


def of_store(store, items):
    """{experiment: Entry} of one database."""
    found = {}
    for name, scale, title in items:
        found.setdefault(name, Entry(store, title)).items.append(scale)
    for experiment, title in store.experiments():
        if not experiment.endswith(":tune"):
            name = experiment.removesuffix(":reduced")
            found.setdefault(name, Entry(store, title)).experiments.append(experiment)
    listed = {item["name"]: item for item in store.papers()}
    for name, entry in found.items():
        entry.state = "<br>".join(f"{scale}: {listed[name][scale]}" for scale in entry.items)
        if not entry.items and (runs := with_result(store.runs(*entry.experiments))):
            entry.state = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    return found


def file_name(experiment):
    return experiment.replace(":", "_") + ".md"


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
        for scale in SCALES:
            if count := finished(item[scale] or ""):
                found[item["name"], scale, item["title"]] = count
    return found


def shown_items(stores):
    """The items that are shown of each database: those that no other of the folder has more of. A
    run is of every item that plans it, so that a tuning of dense training has some of many."""
    have = {store: items_of(store) for store in stores}
    return {store: [item for item, count in items.items()
                    if all(other.get(item, 0) < count or other is items
                           for other in have.values())]
            for store, items in have.items()}


def anchor(store):
    """That of the database's heading, as renderers of Markdown make it."""
    return re.sub(r"[^\w -]", "", f"{store.name}.db".lower())


def index(shown):
    """The page of all experiments; of an item that nothing is shown of it says why (not_run.json).
    Throws BadReason."""
    reasons = json.loads(pages.read(NOT_RUN))
    stores = [store for _, of_folder in folders() for store in of_folder]
    rows = []
    for item in stores[0].papers():
        name = item["name"]
        if name in shown and name in reasons:
            raise BadReason(f"{NOT_RUN}: {name} has results: take its reason out")
        if name not in shown:
            why = ("drawn from its file" if "a picture" in item.values()
                   else f"NOT RUN: {reasons.pop(name, 'not yet')}")
            rows.append((name, f"`{name}`", item["title"], "–", "–", why, "–"))
    for name, of_name in shown.items():
        for entry in of_name:
            link = f"[`{name}`]({file_name(name)}#{anchor(entry.store)})"
            rows.append((name, link, entry.title, *entry.machine_and_date(), entry.state or "–",
                         entry.store.name))
    for store in stores:
        if store.has_products_alone:
            rows.append(("products", "[products](../internals/performance.md)", PRODUCTS,
                         *Entry(store, PRODUCTS).machine_and_date(), "–", store.name))
    if reasons:
        raise BadReason(f"{NOT_RUN}: no such items: {', '.join(reasons)}")
    papers = [item["name"] for item in stores[0].papers()]
    rows.sort(key=lambda row: (row[0] not in papers, row[0]))
    header = ["experiment", "what it asks", "machine", "date", "how much of it", "database"]
    return "\n".join([INDEX, "", *markdown(header, [row[1:] for row in rows]), ""])


def page(name, sections):
    """The text of an experiment's page. `sections` are (Entry, text)."""
    intro = (f"`{name}`, as the databases in `results/measured/` have it "
             "([all results](index.md)). How to read the tables: "
             "[reading-tables.md](../reading-tables.md), "
             "[statistics.md](../internals/statistics.md).")
    return "\n\n".join([f"# {sections[0][0].title}", intro,
                        *(f"## `{entry.store.name}.db`\n\n{body}" for entry, body in sections),
                        ""]).rstrip("\n") + "\n"


def section(name, entry, figures):
    """What the page says of one database; "" where that has nothing to show."""
    store, parts = entry.store, []
    for scale in entry.items:
        parts += [f"### {scale.capitalize()} scale",
                  without_title(store.text("paper", name, "--scale", scale))]
        parts += pictures(entry, figures, f"paper {name} --scale {scale}")
    for experiment in entry.experiments:
        parts += verdicts(store, experiment)
        for kind in ("pareto", "curves"):
            parts += pictures(entry, figures, kind, f"{kind} {experiment}")
    if not parts:
        parts = [text for experiment in entry.experiments
                 if (text := main_table(store, experiment))]
    if not parts:
        return ""
    made = store.provenance(*entry.experiments)
    if not entry.experiments:
        made = f"Other experiments asked for these runs. This database has {made}"
    return "\n\n".join([made, *parts])


def pictures(entry, figures, *reports):
    """The figures that are drawn by one of these reports of the database."""
    return [f"![{entry.title}](../figures/{figure}.svg)"
            for figure, (store, report) in figures.items()
            if store == entry.store.name and report in reports]


def verdicts(store, experiment):
    """Whether its methods are worth using, where they were trained and timed."""
    parts = []
    advice = store.text("advice", experiment)
    if "|" in advice and advice.count("\n|") > 2:
        parts += ["### Is it worth using?", without_title(advice)]
    breakeven = store.text_if_any("breakeven", experiment)
    if breakeven.count("\n|") > 2:
        parts += ["### Is it faster than break-even?", without_title(breakeven)]
    return parts


def main_table(store, experiment):
    table = without_title(store.text("table", experiment))
    return table if len(re.findall(r"^\|", table, re.M)) > 2 else ""
