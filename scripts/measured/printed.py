"""A report as the program prints it in Markdown, as data: one table and the notes below it."""

import dataclasses
import re

from measured.cells import BadText, markdown

NOTHING = ("", "–")


@dataclasses.dataclass
class Printed:
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def column(self, name):
        """Its cells; none where there is no such column."""
        if name not in self.header:
            return []
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def choose(self, wanted):
        """With these columns, in this order, each once, of those that there are."""
        places = [self.header.index(name) for name in dict.fromkeys(wanted) if name in self.header]
        return self.placed(places)

    def without(self, names):
        return self.placed([i for i, name in enumerate(self.header) if name not in names])

    def placed(self, places):
        return Printed([self.header[i] for i in places],
                       [[row[i] for i in places] for row in self.rows], self.notes)

    def of_rows(self, fits):
        """With the rows of which `fits` is true."""
        return Printed(self.header, [row for row in self.rows if fits(row)], self.notes)

    def with_cells(self, change):
        """With `change(column's name, cell)` in each cell."""
        return Printed(self.header, [[change(name, cell) for name, cell in
                                      zip(self.header, row, strict=True)]
                                     for row in self.rows], self.notes)

    def empty_columns(self):
        """Names of the columns that have nothing in any row."""
        return [name for i, name in enumerate(self.header)
                if all(row[i] in NOTHING for row in self.rows)]

    def lines(self):
        return markdown(self.header, self.rows)


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def parsed(text):
    """`text` is a report without its heading. Throws BadText where it is not one table with notes
    below."""
    lines = [line for line in text.split("\n") if line.strip()]
    table = [cells_of(line) for line in lines if line.startswith("|")]
    notes = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    if len(table) < 2 or len(table) + len(notes) != len(lines):
        raise BadText(f"a report is not one table with notes below: {text[:60]!r}")
    header, _, *rows = table
    return Printed(told_apart(header), rows, notes)


def told_apart(names):
    """The names, with a count behind one that was there before: columns are found by name."""
    return [name if (count := names[:i].count(name)) == 0 else f"{name}, no. {count + 1}"
            for i, name in enumerate(names)]
