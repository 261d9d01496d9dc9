"""docs/results/: a page for each experiment, with what every database has of it, and an index."""

import dataclasses
import glob
import json
import os
import re

import pages
from measured import plain_results, uses
from measured.cells import markdown
from measured.store import MEASURED, Store, with_result

NOT_RUN = os.path.join(MEASURED, "not_run.json")
SCALES = ("full", "reduced")
# Lines of a study's table that a picture shows better.
DRAWN = ("histogram", "pixel")
INDEX = """# Measured results

Each experiment has a page: what was asked, what came out, and every table. Start with the
[findings](../findings.md): they say what all of this comes to.
[Reading tables](../reading-tables.md) explains columns, verdicts and footnotes.

A line is one experiment in one database. Never compare times of different machines. The databases
in `several-machines` hold long trainings that moved between machines. Every other folder is one
machine. *Reduced* is a smaller scale than the paper's: fewer epochs, images or seeds.
"12 of 60 runs" means that 12 of 60 planned runs are finished."""
HEADINGS = {"full": "Beside the paper, at the full scale",
            "reduced": "Beside the paper, at the reduced scale"}
PLAIN_HEADINGS = {"full": "At the full scale", "reduced": "At the reduced scale"}
READING = ("How to read this: [tables](../reading-tables.md#pages-of-results), "
           "[words](../glossary.md), [statistics](../internals/statistics.md). "
           "[All results](index.md).")
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
    parts: list = dataclasses.field(default_factory=list)     # plain_results.Part, for the page
    commands: list = dataclasses.field(default_factory=list)  # which print them

    def outcome(self):
        """What came out, in a sentence or some; "" where only the tables say it."""
        return " ".join(dict.fromkeys(part.outcome for part in self.parts if part.outcome))

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


def texts(settings):
    """The text of each page, by its name in docs/results/. `settings` are pages.toml. Throws
    BadReason."""
    shown = {}
    for name, of_name in entries().items():
        bodies = [(entry, body) for entry in of_name
                  if (body := section(name, entry, settings))]
        if bodies:
            shown[name] = bodies
    about = About(settings)
    return {"index.md": index({name: [entry for entry, _ in bodies]
                               for name, bodies in shown.items()}),
            **{file_name(name): page(name, bodies, about) for name, bodies in shown.items()}}


class About:
    """What pages say beside tables."""

    def __init__(self, settings):
        self.questions = settings.get("asked", {})
        self.files = settings.get("files", {})
        self.uses = uses.all_uses(settings["part"])

    def asked(self, name, finding):
        """The question of an experiment; "" where nobody wrote one."""
        if name in self.questions:
            return self.questions[name]
        return f"Does this claim of the paper hold here? “{finding}”" if finding else ""

    def links(self, name, entries_of):
        """Lines that lead to the experiment's file and to the pages that use it."""
        lines = []
        if (path := uses.experiment_file(name, self.files)):
            lines.append(f"Experiment `{name}`: [{path}](../../{path}).")
        else:
            lines.append(f"Experiment `{name}`.")
        stores = {entry.store.name for entry in entries_of}
        users = {use.page: use.title for use in self.uses
                 if use.experiment == name and use.store in stores}
        if (paper := uses.paper_page(name)):
            users.pop(paper, None)
            lines.append(f"The paper's claims, judged: [{uses.title_of(paper)}](../{paper}).")
        if users:
            lines.append("Used in " + ", ".join(
                f"[{title}](../{page})" for page, title in sorted(users.items())) + ".")
        return " ".join(lines)


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
                         entry.outcome() or "see the tables"))
    for store in stores:
        if store.has_products_alone:
            rows.append(("products", "[products](../internals/performance.md)", PRODUCTS,
                         *Entry(store, PRODUCTS).machine_and_date(), "–", "see the tables"))
    if reasons:
        raise BadReason(f"{NOT_RUN}: no such items: {', '.join(reasons)}")
    papers = [item["name"] for item in stores[0].papers()]
    rows.sort(key=lambda row: row[0])
    header = ["experiment", "what it is", "machine", "date", "done", "came out"]
    first, others = (markdown(header, [row[1:] for row in rows if (row[0] in papers) is of_papers])
                     for of_papers in (False, True))
    return "\n".join([INDEX, "", "## Studies and timings", "", *first, "",
                      "## Tables and figures of papers, and what they leave open", "", *others, ""])


def page(name, sections, about):
    """The text of an experiment's page. `sections` are (Entry, text)."""
    of_name = [entry for entry, _ in sections]
    finding = next((part.finding for entry in of_name for part in entry.parts if part.finding), "")
    asked = about.asked(name, finding)
    return "\n\n".join([f"# {of_name[0].title}",
                        *([f"**Asked.** {asked}"] if asked else []),
                        *came_out(of_name),
                        f"{about.links(name, of_name)} {READING}",
                        *(f"## `{entry.store.name}.db`\n\n{body}" for entry, body in sections),
                        ]).rstrip("\n") + "\n"


def came_out(of_name):
    """What came out, as paragraphs: a list of the databases where there are several."""
    if len(of_name) == 1:
        return [f"**Came out.** {of_name[0].outcome()}"] if of_name[0].outcome() else []
    if not any(entry.outcome() for entry in of_name):
        return []
    return ["**Came out,** by database:",
            "\n".join(f"* [{entry.store.name}](#{anchor(entry.store)}): "
                      f"{entry.outcome() or 'see the tables.'}" for entry in of_name)]


def section(name, entry, settings):
    """What the page says of one database; "" where that has nothing to show."""
    store, figures, texts_of = entry.store, settings["figures"], []

    def add(heading, part, *report):
        if part.text:
            entry.parts.append(part)
            entry.commands.append(" ".join(["approxtrain report", *report, "--db",
                                            f"results/measured/{store.name}.db"]))
            texts_of.extend([f"### {heading}", part.text] if heading else [part.text])

    for scale in entry.items:
        report = ("paper", name, "--scale", scale)
        part = plain_results.paper(without_title(store.text(*report)), name)
        if part.outcome and len(entry.items) > 1:
            part.outcome = f"At the {scale} scale, {part.outcome[0].lower()}{part.outcome[1:]}"
        add((HEADINGS if part.finding else PLAIN_HEADINGS)[scale], part, *report)
        texts_of += pictures(entry, figures, " ".join(report))
    for experiment in entry.experiments:
        add_verdicts(store, experiment, add)
        for kind in ("pareto", "curves"):
            texts_of += pictures(entry, figures, kind, f"{kind} {experiment}")
    if not texts_of:
        for experiment in entry.experiments:
            add("", plain_results.main_table(without_title(store.text("table", experiment))),
                "table", experiment)
    if not texts_of:
        return ""
    if name in settings.get("pairs", []):
        for experiment in entry.experiments:
            add("Is it ahead of an exact training?",
                plain_results.pairs(without_title(store.text("pairs", experiment))), "pairs",
                experiment)
    printed = "\n".join(["These tables are made from what these commands print:", "", "```",
                         *entry.commands, "```"])
    return "\n\n".join([provenance(entry), *texts_of, *([printed] if entry.commands else [])])


def provenance(entry):
    """How many runs, on what, when, by which commits."""
    store = entry.store
    machines, days = (part.replace("<br>", joint) for part, joint in
                      zip(entry.machine_and_date(), (", ", " to "), strict=True))
    runs = store.runs(*entry.experiments)
    if not runs:
        return f"Single products or gradients, no trainings. {machines}, {days}."
    count = len(with_result(runs))
    commits = sorted({row["git_sha"][:12] + (" (changed)" if row["dirty"] else "")
                      for row in runs})
    made = f"{count} finished {'run' if count == 1 else 'runs'}"
    if not entry.experiments:
        made = ("Runs of other experiments that have the same settings. The whole database has "
                f"{made}")
    return (f"{made}. {machines}, {days}; {'commit' if len(commits) == 1 else 'commits'} "
            f"{', '.join(commits)}.")


def pictures(entry, figures, *reports):
    """The figures that are drawn by one of these reports of the database."""
    return [f"![{entry.title}](../figures/{figure}.svg)"
            for figure, (store, report) in figures.items()
            if store == entry.store.name and report in reports]


def add_verdicts(store, experiment, add):
    """Whether its methods are worth using, where they were trained and timed."""
    text = store.text("advice", experiment)
    if "|" in text and text.count("\n|") > 2:
        add("Is it worth using?", plain_results.advice(without_title(text)), "advice", experiment)
    text = store.text_if_any("breakeven", experiment)
    if text.count("\n|") > 2:
        add("Is it faster than break-even?", plain_results.breakeven(without_title(text)),
            "breakeven", experiment)
