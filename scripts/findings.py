"""Fills docs/findings.md.in with numbers from the databases under results/measured/. A line

  {{let study = several-machines/study; table study:cifar10_resnet20}}

gives a report of a database a name. Behind that name stand what its row is like and a column:

  {{study; method=Exact; accuracy_pct; 2}}

becomes that number with two decimals, and with its interval where the report has one. A line

  {{table study; method; loss_pp as loss, points:2; worth}}

becomes a table of all rows, or of those that are so (NAME=VALUE; NAME!=VALUE: that are not;
VALUE*: that begin so), with these columns: `-` before a name turns the sign, `as` another header,
`:` decimals. Conditions that fit no row, or several where one is wanted, are an error.
"""

import json
import math
import os
import re


class BadText(Exception):
    """What is wrong with a place of the text; one line."""


class Findings:
    """One text; `program` runs approxtrain with arguments and returns what it prints."""

    def __init__(self, program, measured):
        self.program, self.measured = program, measured
        self.reports = {}  # (database, arguments of the report), by name
        self.known = {}    # rows, by name

    def filled(self, text):
        """`text` with all of its places filled. Throws BadText, which names the line."""
        lines = []
        for count, line in enumerate(text.splitlines(), 1):
            try:
                if (named := re.fullmatch(r"\{\{let (\w+) = ([^;]+);(.+)\}\}", line)):
                    self.reports[named[1]] = (named[2].strip(), named[3].split())
                elif (table := re.fullmatch(r"\{\{table (.+)\}\}", line)):
                    lines.append(self.table(parts_of(table[1])))
                else:
                    lines.append(re.sub(r"\{\{(.*?)\}\}",
                                        lambda place: self.value(parts_of(place[1])), line))
            except BadText as error:
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
            printed = self.program("report", *report, "--db", path, "--format", "json")
            self.known[name] = json.loads(printed)["rows"]
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
        lines = ["| " + " | ".join(header for _, header, _ in columns) + " |",
                 "|---" * len(columns) + "|"]
        for row in found:
            cells = (shown(row, column, digits) for column, _, digits in columns)
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


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


def fixed(value, digits):
    """Never "-0.00"."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def shown(row, column, digits, unit=""):
    """A text as it is; a number with its interval: "1.08 [1.07, 1.09]", "67.05 ± 0.43", "–".

    Without one where that has no length: what was counted alike by all.
    """
    sign, column = (-1, column[1:]) if column.startswith("-") else (1, column)
    if column not in row:
        raise BadText(f"there is no column {column}")
    value = row[column]
    if value is None or value == "":
        return "–"
    if isinstance(value, str):
        return value
    text = fixed(sign * value, digits) + unit
    before = "" if column == "mean" else column + "_"  # of curves
    half, low, high = (row.get(before + end) for end in ("half", "lo", "hi"))
    if half == 0 or low is not None and math.isclose(low, high, rel_tol=1e-9):
        return text
    if half is not None:
        return f"{text} ± {half:.{digits}f}"
    if low is not None:
        low, high = sorted((sign * low, sign * high))
        return f"{text} [{fixed(low, digits)}, {fixed(high, digits)}]"
    return text
