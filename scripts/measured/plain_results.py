"""Reports in the form in which docs/results/ shows them: narrow tables, footnotes that say what to
make of a number, and one line that says what came out. No number is changed; legends that
docs/reading-tables.md has are left out."""

import dataclasses
import functools
import os
import re

import pages
from measured.cells import markdown
from measured.printed import NOTHING, Printed, parsed
from measured.store import ROOT

# Columns that say the same in every row of many tables. Then a line above the table says it.
OF_ALL_ROWS = ("network", "data set", "schedule", "setting", "tuned rate", "method", "machine", "n",
               "seeds", "epochs", "margin, pp", "measured", "part", "runs", "measurements")
# What docs/reading-tables.md says of every table.
LEGENDS = ("yes: the speedup's", "no: slower", "with exact trainings of three lengths",
           "a speedup of one day", "ahead of dense in the same time:", "p of ahead:",
           "these verdicts hold only", "break-even:", "exact epochs as accurate:", "gap:",
           "a verdict needs six seeds", "ahead:", "p: exact sign-flip test, and",
           "±, [ ]: 95 %", "speedup vs exact: over", "ours: medians")
MARKS = {"yes": "✔ yes", "no": "✘ no", "undecided": "? undecided"}
VERDICTS = ("REPRODUCED", "BY CONSTRUCTION", "DIFFERS", "NOT COMPARABLE", "NOT RUN")
REFERENCE = "the reference"
MARKED = re.compile(r"\[([a-z]{1,2}(?:,[a-z]{1,2})*)\]")  # letters of footnotes in a cell
# Reasons that are hard to read as the program words them.
PHRASES = {"how long an exact training of the same time is takes its speed":
           "it needs the speed, which was not measured",
           "perhaps not faster, so that no exact training is shorter":
           "perhaps not faster, so no exact training is shorter",
           "its accuracy was not measured beside dense": "its accuracy was not measured",
           "its speed was not measured": "not measured"}
# Columns of studies by plain names.
NAMES = {"layer_index": "layer no.", "k": "pairs taken", "ratio": "share taken",
         "rms": "root mean square", "rms_closed_form": "root mean square, by formula",
         "tau": "threshold", "nonzero_before": "density before", "kept": "density after",
         "kept_if_normal": "density after, if normal", "zeros": "share of zeros",
         "l1_ratio": "sum of magnitudes over exact", "macs": "multiply-accumulates",
         "share": "share of exact time", "rounds": "measurements", "estimated_ms": "estimated, ms"}
TWIN = ("random in place of", "random, unscaled, in place of")  # labels of random twins begin so


@dataclasses.dataclass
class Part:
    """A report as a page shows it."""

    text: str
    outcome: str = ""  # one sentence or two; "" where numbers alone do not say
    finding: str = ""  # the paper's conclusion


@functools.cache
def footnote_meanings():
    """{a footnote as the program prints it: (its name, what docs/reading-tables.md says of it)}."""
    source = pages.read(os.path.join(ROOT, "results", "rows", "notes.cpp"))
    listed = re.search(r"kNoteTexts\[kNotes\] = \{(.*?)\n\};", source, re.S)[1]
    texts = {name: "".join(re.findall(r'"([^"]*)"', text))
             for name, text in re.findall(r'\{"([^"]+)",\s*((?:"[^"]*"\s*)+)\}', listed)}
    table = pages.read(os.path.join(ROOT, "docs", "reading-tables.md"))
    table = table.partition("## Footnotes")[2].partition("\n## ")[0]
    meanings = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", table, re.M))
    return {text: (name, meanings[name]) for name, text in texts.items() if name in meanings}


def note_lines(notes):
    """The notes of a table as a list, those with a letter first, without legends."""
    kept = [note for note in notes if not note.startswith(LEGENDS)]
    letters = [note for note in kept if is_footnote(note)]
    others = [note for note in kept if not is_footnote(note)]
    return [*map(footnote, letters), *(f"* {plain_note(note)}" for note in others)]


def is_footnote(note):
    return re.match(r"[a-z]{1,2}: ", note) and not note.startswith("p: exact sign-flip")


def footnote(note):
    letter, text = note.split(": ", 1)
    if text in footnote_meanings():
        name, meaning = footnote_meanings()[text]
        return f"* **{letter}** *{name}*: {meaning}"
    if text.startswith("not trained as in the paper: "):
        other = re.findall(r"(?:^|; )(\w+)=", text.partition(": ")[2])
        text = f"not trained as in the paper: other {', '.join(map(words, other))}"
    return f"* **{letter}** {text}"


def plain_note(note):
    if (adjusted := re.match(r"p: exact sign-flip test .* over the (?:(\d+) losses|one loss).*"
                             r"takes (\d+) seeds", note)):
        count = f"{adjusted[1]} losses" if adjusted[1] else "one loss"
        return f"p is adjusted for {count}. It can be below 0.05 from {adjusted[2]} seeds on."
    if (measured := re.match(r"measured on \S+ with (\w+)$", note)):
        return f"Measured by commit {measured[1]}."
    if note == "nothing departs from the full setting":
        return "All settings are those of the full scale."
    if note.startswith("left out of the full setting: "):
        return f"Left out at this scale: {note.partition(': ')[2].replace(' and ', ', ')}."
    if note.startswith(("printed in the paper: ", "not in the paper: ")):
        note = note.replace("; ours ", ". Ours: ")
    if (of := re.match(r"([a-z_]{3,}): (.+)", note)):
        named = {"accuracy_loss": "loss vs dense"}.get(of[1], words(of[1]))
        return f"*{named}*: {of[2]}"
    begin = note[0].upper() if re.match(r"[a-z]+[ ,]", note) else note[0]
    return begin + note[1:] + ("" if note.endswith((".", "?")) else ".")


def words(name):
    return name.replace("_", " ")


def drawn(name, cell):
    """A cell of a verdict on a method, with its mark."""
    return MARKS.get(cell, cell) if name in ("worth it?", "pays?") else cell


def above(table):
    """(the table without columns that say the same in every row, the line that says it)."""
    said, gone = [], []
    hosts = {cell for cell in table.column("machine") if not cell.endswith(" machines")}
    if len(hosts - {*NOTHING}) <= 1 and len(set(table.column("machine"))) > 1:
        gone.append("machine")  # a footnote says which rows are of several
    for name in OF_ALL_ROWS:
        values = set(table.column(name))
        if len(values) != 1 or (value := values.pop()) in NOTHING:
            continue
        if name == "method" and len(table.rows) == 1:
            continue
        gone.append(name)
        if name == "part" or name == "machine" and not value.endswith("machines"):
            continue  # the name of a host says nothing here
        said.append(f"margin {value} points" if name == "margin, pp" else
                    f"on {value}" if name == "machine" else f"{name} {code(name, value)}")
    table = table.without(gone)
    table, settings = without_common_settings(table)
    lines = [f"In all rows: {'; '.join(said)}."] if said else []
    return table, "\n\n".join([*lines, *settings])


def without_common_settings(table):
    """(the table without settings that all rows of a network share, the lines that say them)."""
    if "setting" not in table.header:
        return table, []
    at, lines, common = table.header.index("setting"), [], {}
    networks = table.column("network") or ["all rows"] * len(table.rows)
    for network in dict.fromkeys(networks):
        of_network = [row[at].split() for row, own in zip(table.rows, networks, strict=True)
                      if own == network]
        common[network] = [pair for pair in of_network[0]
                           if all(pair in other for other in of_network)]
        if common[network]:
            lines.append(f"Settings of {network}: `{' '.join(common[network])}`.")
    rows = [[*row[:at], " ".join(pair for pair in row[at].split() if pair not in common[network]),
             *row[at + 1:]] for row, network in zip(table.rows, networks, strict=True)]
    return shortened(Printed(table.header, rows, table.notes), ["setting"]), lines


def code(name, value):
    """Settings and names that are typed stand as code."""
    typed = name in ("setting", "network", "data set", "method") and " " not in value
    return f"`{value}`" if typed or name == "setting" else value


def blocks(*parts):
    return "\n\n".join(part if isinstance(part, str) else "\n".join(part)
                       for part in parts if part)


def shortened(table, names=None):
    """The table without those of its columns (None: all) that have nothing in any row."""
    return table.without([name for name in table.empty_columns() if names is None or name in names])


def advice(report):
    """`report advice` of an experiment."""
    table = parsed(report)
    outcome = verdicts_of(table)
    empty = [name.removesuffix(", pp") for name in table.empty_columns()
             if name not in ("machine", "setting")]
    shown, said = above(twins_last(shortened(table)))
    reasons = list(dict.fromkeys(zip(shown.column("decided by"), shown.column("why"), strict=True)))
    why = [str(reasons.index(reason) + 1)
           for reason in zip(shown.column("decided by"), shown.column("why"), strict=True)]
    shown.header = [*shown.header, "reason"]
    shown.rows = [[*row, f"({number})"] for row, number in zip(shown.rows, why, strict=True)]
    shown = shown.with_cells(drawn)
    of_row = [name for name in shown.header if name in ("network", "data set", "setting")]
    numbers = [name for name in shown.header
               if name not in ("method, schedule", "worth it?", "decided by", "why", "reason",
                               "time to target", *of_row)]
    main = shown.choose(["method, schedule", *of_row, "worth it?", "reason", *numbers])
    targets = shown.choose(["method, schedule", *of_row, "time to target"])
    return Part(blocks(
        said, main.lines(),
        f"Not measured here: {', '.join(empty)}." if empty else "",
        ["Reasons, behind the parts that decide or that are open:", "",
         *(f"* ({number}) {reason_text(*reason)}" for number, reason in enumerate(reasons, 1))],
        ["Times to the target:", "", *targets.lines()]
        if "time to target" in targets.header else "",
        note_lines(table.notes)), outcome)


def reason_text(parts, why):
    """Each part with its own reason; all parts with all reasons where they do not pair."""
    names, reasons = parts.split(", "), why.split("; ")
    if len(names) != len(reasons):
        names, reasons = [parts], [why]
    return " ".join(f"*{name}*: {plainly(reason)}." for name, reason in
                    zip(names, reasons, strict=True))


def plainly(reason):
    return PHRASES.get(reason, reason)


def twins_last(table):
    """The rows of random twins, which are controls, behind the others."""
    at = table.header.index("method, schedule" if "method, schedule" in table.header else "method")
    return Printed(table.header, sorted(table.rows, key=lambda row: row[at].startswith(TWIN)),
                   table.notes)


def in_lines(cell):
    return cell.replace("; ", "<br>")


def verdicts_of(table):
    """How many rows are worth it, and the range of what was measured. Random twins are controls:
    they are not counted."""
    at = table.header.index("method, schedule")
    judged = table.of_rows(lambda row: not row[at].startswith(TWIN))
    answers = judged.column("worth it?")
    if not answers:
        return ""
    counts = []
    for answer in MARKS:
        if answer not in answers:
            continue
        parts = [part for by, given in zip(judged.column("decided by"), answers, strict=True)
                 if given == answer for part in by.split(", ")]
        by = ", ".join(f"{part} {parts.count(part)}" for part in dict.fromkeys(parts))
        behind = {"no": f" (by {by})", "undecided": f" (open: {by})"}.get(answer, "")
        counts.append(f"{answers.count(answer)} {answer}{behind}")
    return f"Verdicts: {'; '.join(counts)}.{ranges(judged)}"


def ranges(table):
    """Least and largest value of the main columns, each as it is printed."""
    said = []
    for name, one, several, unit in (("speedup vs exact", "speedup", "speedups", "×"),
                                     ("loss, pp", "loss", "losses", " points"),
                                     ("accuracy %", "accuracy", "accuracies", " %")):
        values = [number[0] for cell in table.column(name)
                  if (number := re.match(r"-?\d+(\.\d+)?", cell))]
        if values:
            least, most = min(values, key=float), max(values, key=float)
            said.append(f"{one} {least}{unit}" if least == most
                        else f"{several} {least} to {most}{unit}")
    text = "; ".join(said)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def breakeven(report):
    table = parsed(report)
    shown, said = above(twins_last(shortened(table)))
    order = ["method", "schedule", "network", "data set", "setting", "pays?", "speedup vs exact",
             "break-even", "gap, %"]
    rest = [name for name in shown.header if name not in order and name != "why"]
    shown = shown.choose([*order, *rest, "why"]).with_cells(drawn)
    return Part(blocks(said, shown.lines(), note_lines(table.notes)))


def pairs(report):
    """`report pairs` of an experiment."""
    table = parsed(report)
    sure = [ahead for ahead, p in zip(table.column("ahead, pp"), table.column("p, Holm"),
                                      strict=True) if p not in NOTHING and float(p) < 0.05]
    behind = sum(ahead.startswith("-") for ahead in sure)
    count = len(table.rows)
    outcome = (f"{count} {'comparison' if count == 1 else 'comparisons'} with an exact training: "
               f"{len(sure) - behind} ahead and {behind} behind, by p below 0.05, adjusted over "
               "all of them.")
    shown, said = above(shortened(table))
    shown = shown.choose(["method", "against", "ahead, pp", "seeds ahead", "seeds", "p", "p, Holm",
                          *(name for name in shown.header if name not in ("its setting",))])
    return Part(blocks(said, shown.lines(), note_lines(table.notes)), outcome)


def main_table(report):
    """`report table`; "" where it has no number."""
    table = parsed(report)
    if all(cell in NOTHING for name in ("accuracy %", "speedup vs exact", "images/s")
           for cell in table.column(name)):
        return Part("")
    shown, said = above(shortened(table))
    return Part(blocks(said, shown.lines(), note_lines(table.notes)),
                ranges(table).strip())


def paper(report, item):
    """`report paper ITEM`."""
    table = parsed(report)
    finding = next((note.partition(": ")[2] for note in table.notes
                    if note.startswith("the paper: ")), "")
    away = [note for note in table.notes if note.startswith("departs from the full setting")]
    table.notes = [note for note in table.notes
                   if note not in away and not note.startswith("the paper: ")]
    if "ours: method" in table.header:
        part = products(table)
    elif any("ours" in cell or "NOT RUN" in cell for row in table.rows for cell in row):
        part = beside_paper(table, item)
    else:
        part = study(table)
    if part.text:
        part.text = blocks(part.text, departures(away))
    part.finding = finding
    return part


def beside_paper(table, item):
    """Cells such as "paper 50; ours 48.2 ± 0.1 (n=6) [a]; DIFFERS [b]". Nothing without ours."""
    if not any("ours" in cell for row in table.rows for cell in row):
        return Part("")
    outcome = paper_verdicts([cell for row in table.rows for cell in row[1:]])
    bare = [name for i, name in enumerate(table.header) if i > 0
            and all(row[i] in ("", REFERENCE) for row in table.rows)]
    table = table.without(bare)
    not_run = {row[0]: reasons_of(row[1:], table.notes) for row in table.rows
               if not any("ours" in cell for cell in row[1:])
               and any("NOT RUN" in cell for cell in row[1:])}
    ran = table.of_rows(lambda row: row[0] not in not_run)
    columns = [name for i, name in enumerate(ran.header) if i > 0 and ran.rows
               and not any("ours" in row[i] for row in ran.rows)
               and any("NOT RUN" in row[i] for row in ran.rows)]
    there = {name.rpartition(": ")[0] for name in ran.header if name not in columns}
    for name in columns:
        short = name.rpartition(": ")[0]
        not_run[short if short and short not in there else name] = reasons_of(
            ran.column(name), table.notes)
    ran = ran.without([*columns, *ran.empty_columns()])
    by_reason = {}
    for name, reasons in not_run.items():
        by_reason.setdefault("; ".join(reasons) or "no reason is stored", []).append(name)
    ran.notes = [note for note in ran.notes if not is_said(note, by_reason)]
    ran = relettered(ran)
    left_out = [f"* {'; '.join(names)}: {reason.replace('; ', '. Also: ')}"
                for reason, names in by_reason.items()]
    printed = (f" (`approxtrain report paper {item}` has the paper's numbers)"
               if any(cell.startswith("paper ") for row in table.rows for cell in row) else "")
    return Part(blocks(
        ran.with_cells(lambda _, cell: in_lines(cell)).lines(),
        note_lines(ran.notes),
        [f"Not run here{printed}:", "", *left_out] if left_out else ""), outcome)


def is_said(note, by_reason):
    """Whether the list of what was not run says it too."""
    if note.startswith("left out of the full setting: "):
        return any(reason.startswith("not part of the ") for reason in by_reason)
    return note.startswith("left out: ") and any(note.endswith(f": {part}") for reason in by_reason
                                                 for part in reason.split("; "))


def reasons_of(cells, notes):
    """Why cells were not run, each reason once."""
    letters = [letter for cell in cells for marks in re.findall(r"NOT RUN \[([a-z,]+)\]", cell)
               for letter in marks.split(",")]
    texts = dict(note.split(": ", 1) for note in notes if is_footnote(note))
    return list(dict.fromkeys(texts[letter] for letter in letters if letter in texts))


def relettered(table):
    """Without footnotes whose letter no row has; the others get letters from a on."""
    used = {letter for row in table.rows for cell in row for marks in MARKED.findall(cell)
            for letter in marks.split(",")}
    old = [note.partition(":")[0] for note in table.notes if is_footnote(note)]
    new = dict(zip([letter for letter in old if letter in used], old))
    table = table.with_cells(lambda _, cell: MARKED.sub(
        lambda marks: f"[{','.join(new.get(letter, letter) for letter in marks[1].split(','))}]",
        cell))
    table.notes = [f"{new[letter]}:{text}" if is_footnote(note) else note for note in table.notes
                   for letter, _, text in [note.partition(":")]
                   if not is_footnote(note) or letter in new]
    return table


def paper_verdicts(cells):
    held = [cell for cell in cells if re.match(r"paper [^-]", cell) or "; NOT RUN" in cell]
    held = [cell for cell in held if REFERENCE not in cell]
    ours = sum("ours" in cell for cell in cells)
    if not held:
        missing = sum("NOT RUN" in cell for cell in cells)
        return (f"{ours} {'number' if ours == 1 else 'numbers'} measured"
                f"{f', {missing} not run' if missing else ''}; none is printed to compare with.")
    counts = [f"{count} {verdict.lower()}" for verdict in VERDICTS
              if (count := sum(verdict in cell for cell in held))]
    if (unjudged := sum(not any(verdict in cell for verdict in VERDICTS) for cell in held)):
        counts.append(f"{unjudged} not judged")
    return f"The paper's numbers: {', '.join(counts)}."


def products(table):
    """Timings of single products. The columns without "ours:" are the paper's."""
    first = table.header[0]
    table.header = [name if name == first or name.startswith("ours: ") else f"paper: {name}"
                    for name in table.header]
    rows, at = [], table.header.index("ours: method")
    for row in table.rows:
        method, *rest = row[at].split(", ")
        variant, precision = (*rest, "", "")[:2]
        rows.append([*row[:at], method, variant, precision, *row[at + 1:]])
    table.header[at:at + 1] = ["method", "variant", "precision"]
    table.rows = rows
    outcome = " ".join(
        f"In {precision} the method is faster than the fastest exact product on {faster} of {all_} "
        f"shapes and slower on {slower}."
        for note in table.notes for precision, faster, all_, slower in re.findall(
            r"^(\w+): what a layer takes is faster than the fastest exact path on (\d+) of (\d+) "
            r"shapes, slower on (\d+)", note))
    table.notes = [summary_note(note) for note in table.notes]
    shown, said = above(shortened(table))
    return Part(blocks(said, shown.lines(), note_lines(table.notes)), outcome)


def summary_note(note):
    """"fp32: what a layer takes is faster ..; geometric mean ..; the bytes .." in sentences."""
    if "what a layer takes is faster" not in note:
        return note
    note = note.replace("what a layer takes is faster than the fastest exact path",
                        "the variant that a layer takes is faster than the fastest exact product")
    return note.replace("; geometric", ". Geometric").replace("; the bytes", ". The bytes")


def study(table):
    """Numbers of a study, with half widths and bounds in the cell of their number."""
    for name in [name for name in table.header if f"{name}_half" in table.header]:
        merge(table, name, [f"{name}_half"], "{} ± {}")
    if {"ms", "lo", "hi"} <= set(table.header):
        merge(table, "ms", ["lo", "hi"], "{} [{}, {}]")
    table.header = [NAMES.get(name, words(name)) for name in table.header]
    shown, said = above(shortened(table))
    return Part(blocks(said, shown.lines(), note_lines(table.notes)))


def merge(table, name, others, form):
    """Puts columns into the cells of another, where they have something."""
    at, places = table.header.index(name), [table.header.index(other) for other in others]
    for row in table.rows:
        if not any(row[i] in NOTHING for i in (at, *places)):
            row[at] = form.format(row[at], *(row[i] for i in places))
    kept = [i for i in range(len(table.header)) if i not in places]
    table.header = [table.header[i] for i in kept]
    table.rows = [[row[i] for i in kept] for row in table.rows]


def departures(notes):
    """Lines such as "departs from the full setting for A: epochs 4, not 250; ..." as a table."""
    rows = []
    for note in notes:
        of, changes = re.fullmatch(r"departs from the full setting(?: for (.+?))?: (.+)",
                                   note).groups()
        for change in changes.split("; "):
            key, here = change.split(" ", 1)
            here, _, full = here.rpartition(", not ") if ", not " in here else (here, "", "not set")
            rows.append([of or "all", f"`{key}`", here, full])
    if not rows:
        return ""
    header = ["rows", "setting", "here", "full scale"]
    if all(row[0] == "all" for row in rows):
        header, rows = header[1:], [row[1:] for row in rows]
    return "\n".join(["How this scale differs from the full one "
                      "([settings](../experiments.md#keys)):", "", *markdown(header, rows)])
