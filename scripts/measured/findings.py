"""Fills the pages of docs/ that are written around numbers (docs/**/*.md.in) from the databases
under results/measured/. A line

  {{let study = several-machines/study; table study:cifar10_resnet20}}

gives a report of a database a name. Behind that name stand what its row is like and a column:

  {{study; method=Exact; accuracy_pct; 2}}

becomes that number with two decimals, and with its interval where the report has one. A line

  {{table study; method; loss_pp as loss, points:2; worth}}

becomes a table of all rows, or of those that are so (NAME=VALUE; NAME!=VALUE: that are not;
VALUE*: that begin so), with these columns: `-` before a name turns the sign, `as` another header,
`:` decimals. Conditions that fit no row, or several where one is wanted, are an error.

A line `{{file PATH}}` becomes that file of the tree, as it is, and a line `{{help}}` the help texts
of all commands.
"""

import os
import re

import program_help
from measured.cells import BadText, markdown, shown
from measured.store import PROGRAM, ROOT, Store


class Findings:
    """One text, filled from the databases in the folder `measured`."""

    def __init__(self, measured):
        self.measured = measured
        self.reports = {}  # (database, arguments of the report), by name
        self.known = {}    # rows, by name

    def filled(self, text):
        """`text` with all of its places filled. Throws BadText, which names the line."""
        lines = []
        for count, line in enumerate(text.splitlines(), 1):
            try:
                if (named := re.fullmatch(r"\{\{let (\w+) = ([^;]+);(.+)\}\}", line)):
                    self.reports[named[1]] = (named[2].strip(), named[3].split())
                elif (asked := re.fullmatch(r"\{\{file (.+)\}\}", line)):
                    lines.append(file_text(asked[1]))
                elif line == "{{help}}":
                    lines.append(program_help.reference(PROGRAM))
                elif (asked := re.fullmatch(r"\{\{table (.+)\}\}", line)):
                    lines.append(self.table(parts_of(asked[1])))
                else:
                    lines.append(re.sub(r"\{\{(.*?)\}\}",
                                        lambda place: self.value(parts_of(place[1])), line))
            except (BadText, program_help.NoHelp) as error:
                raise BadText(f"line {count}: {error}") from error
        return "\n".join(lines).strip() + "\n"

    def sources(self):
        """The commands that print what was taken."""
        return sorted({" ".join(["approxtrain report", *report, "--db",
                                 f"results/measured/{store}.db"])
                       for store, report in map(self.reports.get, self.known)})

    def rows(self, name):
        if name not in self.reports:
            raise BadText(f"no report was given the name {name}")
        if name not in self.known:
            store, report = self.reports[name]
            path = os.path.join(self.measured, store + ".db")
            if not os.path.exists(path):
                raise BadText(f"there is no {store}.db")
            self.known[name] = Store(path).rows(*report)
        return self.known[name]

    def chosen(self, name, conditions):
        wanted = [condition_of(condition) for condition in conditions]
        rows = self.rows(name)
        for column, _, _ in wanted:
            if rows and column not in rows[0]:
                raise BadText(f"{name} has no column {column}")
        return [row for row in rows
                if all(fits(plain(row[column]), value) == is_so
                       for column, value, is_so in wanted)]

    def value(self, parts):
        if len(parts) < 3 or not parts[-1].isdigit():
            raise BadText("a number wants a report, conditions, a column and its decimals")
        name, *conditions, column, digits = parts
        found = self.chosen(name, conditions)
        if len(found) != 1:
            raise BadText(f"{len(found)} rows of {name} are so: {'; '.join(conditions)}")
        return shown(found[0], column, int(digits))

    def table(self, parts):
        name, *rest = parts
        conditions = [part for part in rest if "=" in part]
        columns = [column_of(part) for part in rest if "=" not in part]
        found = self.chosen(name, conditions)
        if not columns or not found:
            raise BadText(f"a table of {name} has {len(columns)} columns and {len(found)} rows")
        return "\n".join(markdown([header for _, header, _ in columns],
                               [[shown(row, column, digits) for column, _, digits in columns]
                                for row in found]))


def file_text(path):
    """A file of the tree, which the page shows as it is."""
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read().rstrip("\n")
    except OSError as error:
        raise BadText(f"{path}: {error.strerror}") from error


def parts_of(text):
    return [part.strip() for part in text.split(";")]


def condition_of(part):
    """(name, value, whether it is to be so) of "method!=random*"."""
    name, _, value = part.partition("=")
    return name.removesuffix("!").strip(), value, not name.endswith("!")


def fits(text, value):
    return text.startswith(value[:-1]) if value.endswith("*") else text == value


def column_of(part):
    """(name, header, decimals) of "loss_pp as loss, points:2"."""
    name, _, digits = part.partition(":")
    name, _, header = name.partition(" as ")
    return name.strip(), header.strip() or name.strip(), int(digits or 0)


def plain(value):
    return "" if value is None else str(value)
