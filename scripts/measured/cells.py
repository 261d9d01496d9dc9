"""Numbers and tables as Markdown."""

import math


class BadText(Exception):
    """What is wrong with a place of a page; one line."""


def markdown(header, rows):
    """The lines of a table of texts."""
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|",
            *("| " + " | ".join(row) + " |" for row in rows)]


def markdown_text(header, rows):
    return "\n".join(markdown(header, rows)) + "\n"


def us(ns):
    """Microseconds, as a cell."""
    return "–" if ns is None else f"{ns / 1e3:.1f}"


def milliseconds(value):
    """Milliseconds, as a cell of three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def fixed(value, digits):
    """Never "-0.00"."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def shown(row, column, digits, unit=""):
    """A cell of a report: a text as it is, a number with its interval: "1.08 [1.07, 1.09]",
    "67.05 ± 0.43", "–", "[1.33, –]" of a bound. An interval without length is left out: all runs
    counted alike, or so nearly that whole numbers and tenths do not show it.

    `-` before the column turns the sign. Throws BadText where the report has no such column.
    """
    sign, column = (-1, column[1:]) if column.startswith("-") else (1, column)
    if column not in row:
        raise BadText(f"there is no column {column}")
    value = row[column]
    if isinstance(value, str) and value:
        return value
    before = "" if column == "mean" else column + "_"  # of curves
    half, low, high = (row.get(before + end) for end in ("half", "lo", "hi"))
    known = value is not None and value != ""
    text = fixed(sign * value, digits) + unit if known else "–"
    if (low is None) != (high is None):  # a bound, of what lies beyond what was measured
        low, high = (None if end is None else sign * end for end in (low, high))
        if sign < 0:
            low, high = high, low
        ends = ("–" if end is None else fixed(end, digits) for end in (low, high))
        return f"{text} [{', '.join(ends)}]" if known else f"[{', '.join(ends)}]"
    if half is not None and digits < 2 and round(half, digits) == 0:
        half = 0
    if not known or half == 0 or low is not None and math.isclose(low, high, rel_tol=1e-9):
        return text
    if half is not None:
        return f"{text} ± {half:.{digits}f}"
    if low is not None:
        low, high = sorted((sign * low, sign * high))
        return f"{text} [{fixed(low, digits)}, {fixed(high, digits)}]"
    return text
