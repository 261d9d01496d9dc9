"""What `report breakeven` should say: a dictionary a line."""

import math

import numpy
import scipy.optimize
import scipy.stats

from samples import half_width, mean, ratio_of_logs
from stored import OF_LENGTH, in_state, occasion_of
from tables import (OF_ROW, PROCESSES_FOR_AN_EARLY_WORD, SEEDS_FOR_A_WORD, deciding_ends, labels,
                    other_than, triple)

LENGTHS_FOR_A_CURVE = 3


def last_epoch(row, cell):
    return row.store.accuracies(cell.run, "test")[-1]["epoch"]


def exact_points(row, rows, epochs):
    """(seed, epochs, percent) of exact trainings of half to twice as many epochs."""
    config, dense = row.first.config, row.dense
    if dense is None:
        return []
    data = {cell.run.dataset_id for cell in row.trained()}
    recipe = dense.first.config["recipe"]
    points = []

    def add(exact, every):
        for cell in exact.trained():
            tests = row.store.accuracies(cell.run, "test")
            if cell.run.dataset_id in data:
                points.extend((cell.seed, point["epoch"], 100 * point["value"])
                              for point in (tests if every else tests[-1:])
                              if epochs / 2 - 1e-9 <= point["epoch"] <= 2 * epochs + 1e-9)
    constant = recipe["lr_schedule"] == "constant" and not recipe["warmup_epochs"] and \
        not recipe["start_size"]
    add(dense, constant)
    for other in () if constant else rows:
        theirs = other.first.config
        if other.first.dense and other is not dense and \
                other_than(theirs, OF_ROW) == other_than(config, OF_ROW) and \
                other_than(theirs["recipe"], OF_LENGTH) == other_than(recipe, OF_LENGTH):
            add(other, False)
    return points


class Equivalent:
    """Where the exact curve has the method's accuracy; lengths in epochs, None beyond those that
    were trained."""

    def __init__(self, points, method):
        """`method`: (seed, percent)."""
        lengths = numpy.array([length for _, length, _ in points])
        self.runs, self.distinct = len(points), len(numpy.unique(lengths.round(6)))
        self.length = self.low = self.high = None
        self.place = ""
        if not method or self.distinct < LENGTHS_FOR_A_CURVE:
            return
        self.shortest, self.longest = lengths.min(), lengths.max()
        self.middle = (math.log(self.shortest) + math.log(self.longest)) / 2
        self.half = (math.log(self.longest) - math.log(self.shortest)) / 2
        seeds = numpy.array([seed for seed, _, _ in points])
        places = (numpy.log(lengths) - self.middle) / self.half
        values = numpy.array([value for _, _, value in points])
        ours = numpy.array([value for _, value in method])
        our_seeds = numpy.array([seed for seed, _ in method])
        own = len(set(our_seeds))
        self.seeds = min(len(set(seeds)), own)
        self.fewest = min(own, *(len(set(seeds[numpy.isclose(places, place, atol=1e-6)]))
                                 for place in places))

        # In the slopes at both ends, which are not below 0, beside a constant.
        ends = numpy.stack([numpy.ones(len(places)), places / 2 - places ** 2 / 4,
                            places / 2 + places ** 2 / 4], 1)
        constant, left, right = scipy.optimize.lsq_linear(
            ends, values, ([-numpy.inf, 0, 0], numpy.inf), method="bvls", tol=1e-14).x
        self.curve = numpy.polynomial.Polynomial(
            [constant, (left + right) / 2, (right - left) / 4])
        rising = self.curve - ours.mean()
        self.place = "below the shortest" if rising(-1) > 0 else \
            "above the longest" if rising(1) < 0 else "within"
        if self.place == "within":
            self.length = self.at(scipy.optimize.brentq(rising, -1, 1, xtol=1e-15))

        def difference(without=None):
            kept = seeds != without
            fit = numpy.polynomial.Polynomial.fit(places[kept], values[kept], 2, domain=[-1, 1])
            return fit.convert() - ours[our_seeds != without].mean()
        if self.seeds < 2:
            return
        whole = difference()
        exact, own = set(seeds), set(our_seeds)
        groups = [(self.seeds, exact & own), (len(exact), exact - own), (len(own), own - exact)]
        groups = [(count, [difference(seed) for seed in sorted(group)]) for count, group in groups
                  if group]

        def beyond(place):
            """How far the difference is from what may be none; below 0 where it may."""
            parts = [(1 - 1 / count) * sum((other(place) - whole(place)) ** 2 for other in others)
                     for count, others in groups]
            degrees = sum(parts) ** 2 / sum(part ** 2 / max(1, len(others) - 1)
                                            for part, (_, others) in zip(parts, groups))
            return abs(whole(place)) - scipy.stats.t.ppf(0.975, degrees) * math.sqrt(sum(parts))
        self.set_interval(whole, beyond)

    def at(self, place):
        return math.exp(self.middle + self.half * place)

    def set_interval(self, whole, beyond):
        grid = numpy.linspace(-1, 1, 257)
        inside = [at for at, place in enumerate(grid) if beyond(place) <= 0]
        if not inside:
            if whole(-1) > 0 and whole(1) > 0:
                self.high = self.shortest
            if whole(-1) < 0 and whole(1) < 0:
                self.low = self.longest
            if self.length and self.low is None and self.high is None:
                self.low = self.high = self.length
            return
        first, last = inside[0], inside[-1]
        if first > 0:
            self.low = self.at(scipy.optimize.brentq(beyond, grid[first - 1], grid[first],
                                                     xtol=1e-15))
        if last < len(grid) - 1:
            self.high = self.at(scipy.optimize.brentq(beyond, grid[last], grid[last + 1],
                                                      xtol=1e-15))
        if self.length and self.low:
            self.low = min(self.low, self.length)
        if self.length and self.high:
            self.high = max(self.high, self.length)
        if self.place == "below the shortest":
            self.low = None
        if self.place == "above the longest":
            self.high = None


def gap_of(speedup, breakeven):
    """(percent, low, high) of a measured speedup above break-even."""
    ratio, low, high, _ = speedup
    value, at_least, at_most = breakeven
    if ratio is None:
        return None, None, None

    def percent(log):
        return 100 * (math.exp(log) - 1)
    if value is None:
        return (None,
                None if low is None or at_most is None else percent(math.log(low / at_most)),
                None if low is None or at_least is None else percent(math.log(high / at_least)))
    middle = math.log(ratio / value)
    down = up = None
    if low is not None and at_most is not None:
        down = percent(middle - math.hypot(math.log(ratio / low), math.log(at_most / value)))
    if low is not None and at_least is not None:
        up = percent(middle + math.hypot(math.log(high / ratio), math.log(value / at_least)))
    return percent(middle), down, up


class BreakEven:
    """The curve beside a row, and the speedup that it asks for."""

    def __init__(self, row, rows):
        self.dense = row.dense
        self.epochs = max(last_epoch(row, cell) for cell in row.trained())
        self.method = [(cell.seed, row.final(cell)) for cell in row.trained()
                       if row.final(cell) is not None]
        self.points = exact_points(row, rows, self.epochs)
        self.found = Equivalent(self.points, self.method)
        self.speedup = tuple(None if length is None else self.epochs / length
                             for length in (self.found.length, self.found.high, self.found.low))


def break_even(row, rows):
    """None without a curve."""
    if row.first.dense or not row.finals():
        return None
    needed = BreakEven(row, rows)
    return needed if needed.found.place else None


def pays(row, speedup, occasions, needed):
    """By a speedup (ratio, low, high, processes)."""
    ratio, low, high, processes = speedup
    ceiling, _ = row.bounds()
    if in_state(row, "diverged", purpose="accuracy"):
        return "no"
    if processes < PROCESSES_FOR_AN_EARLY_WORD or low is None or \
            needed.found.fewest < SEEDS_FOR_A_WORD or ceiling is not None and low > ceiling:
        return "undecided"
    ends = deciding_ends(ratio, low, high, processes, occasions)
    _, least, most = gap_of((ratio, *ends, processes), needed.speedup)
    return "yes" if least is not None and least > 0 else \
        "no" if most is not None and most < 0 else "undecided"


def speedups_by_machine(row):
    """(speedup, occasions) of each machine in the order of the timings; one of nothing without
    any."""
    logs, occasions = {}, {}
    for cell in row.timings():
        pairs = [math.log(pair["dense"] / pair["approx"])
                 for pair in row.store.blocks[cell.run.run_id].values() if len(pair) == 2]
        logs.setdefault(cell.run.host_id, []).extend([mean(pairs)] if pairs else [])
        occasions.setdefault(cell.run.host_id, set()).add(occasion_of(cell))
    return [(ratio_of_logs(each), len(occasions[host])) for host, each in logs.items()] or \
        [(ratio_of_logs([]), 0)]


def expected_breakeven(rows):
    """None where methods were trained and none has a curve: the report is then an error."""
    lines, curves, trained = [], {}, False
    for row in rows:
        finals = row.finals()
        if row.first.dense or not finals:
            continue
        trained = True
        needed = break_even(row, rows)
        if needed is None:
            continue
        found = needed.found
        curves.setdefault((id(row.dense), needed.epochs), needed)
        for speedup, occasions in speedups_by_machine(row):
            word = pays(row, speedup, occasions, needed)
            lines.append({
                **labels(row), "part": "method", "accuracy_pct": mean(finals),
                "accuracy_pct_half": half_width(finals), "n": len(needed.method),
                "epochs": needed.epochs,
                "exact_runs": found.runs, "exact_lengths": found.distinct,
                "exact_shortest": found.shortest, "exact_longest": found.longest,
                "equivalent_place": found.place, "equivalent_epochs": found.length,
                "equivalent_epochs_lo": found.low, "equivalent_epochs_hi": found.high,
                **triple("breakeven", needed.speedup), **triple("speedup", speedup),
                "speedup_runs": speedup[3] or None,
                **triple("gap_pct", gap_of(speedup, needed.speedup)),
                "pays": word if row.rates_enclosed() else "undecided",
            })
    for needed in curves.values():
        lines.extend(lines_of_curve(needed))
    return lines if lines or not trained else None


def lines_of_curve(needed):
    """Exact trainings, a line a length, and the curve at seventeen lengths."""
    nothing = dict.fromkeys((
        "exact_runs", "exact_lengths", "exact_shortest", "exact_longest", "equivalent_place",
        "equivalent_epochs", "equivalent_epochs_lo", "equivalent_epochs_hi", "breakeven",
        "breakeven_lo", "breakeven_hi", "speedup", "speedup_lo", "speedup_hi", "speedup_runs",
        "gap_pct", "gap_pct_lo", "gap_pct_hi", "pays"))
    for length in sorted({length for _, length, _ in needed.points}):
        values = [value for _, its, value in needed.points if its == length]
        yield {**labels(needed.dense), **nothing, "part": "exact", "epochs": length,
               "accuracy_pct": mean(values), "accuracy_pct_half": half_width(values),
               "n": len(values)}
    for place in numpy.linspace(-1, 1, 17):
        yield {**labels(needed.dense), **nothing, "part": "curve", "epochs": needed.found.at(place),
               "accuracy_pct": needed.found.curve(place), "accuracy_pct_half": None, "n": None}
