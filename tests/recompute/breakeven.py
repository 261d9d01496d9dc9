"""What `report breakeven` should say: a dictionary a line."""

import math

import numpy
import scipy.optimize
import scipy.stats

from samples import half_width, mean, ratio_of_logs
from stored import in_state
from tables import OF_ROW, PROCESSES_FOR_A_WORD, SEEDS_FOR_A_WORD, labels, other_than, triple

LENGTHS_FOR_A_CURVE = 3
OF_LENGTH = ("epochs", "last_epoch", "eval_every", "decay", "decay_epochs", "milestones",
             "peak_epoch", "warmup_epochs", "grow_from", "grow_until")


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
        self.seeds = min(len(set(seeds)), len(set(our_seeds)))

        # In the slopes at both ends, which are not below 0, beside a constant.
        ends = numpy.stack([numpy.ones(len(places)), places / 2 - places ** 2 / 4,
                            places / 2 + places ** 2 / 4], 1)
        constant, left, right = scipy.optimize.lsq_linear(
            ends, values, ([-numpy.inf, 0, 0], numpy.inf), method="bvls", tol=1e-14).x
        rising = numpy.polynomial.Polynomial(
            [constant - ours.mean(), (left + right) / 2, (right - left) / 4])
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


def pays(row, speedup, seeds, gap):
    ceiling, _ = row.bounds()
    if in_state(row, "diverged", purpose="accuracy"):
        return "no"
    if speedup[3] < PROCESSES_FOR_A_WORD or seeds < SEEDS_FOR_A_WORD or \
            ceiling is not None and speedup[1] > ceiling or not row.rates_enclosed():
        return "undecided"
    return "yes" if gap[1] is not None and gap[1] > 0 else \
        "no" if gap[2] is not None and gap[2] < 0 else "undecided"


def speedups_by_machine(row):
    """Of each machine in the order of the timings; one of nothing without any."""
    logs = {}
    for cell in row.timings():
        pairs = [math.log(pair["dense"] / pair["approx"])
                 for pair in row.store.blocks[cell.run.run_id].values() if len(pair) == 2]
        logs.setdefault(cell.run.host_id, []).extend([mean(pairs)] if pairs else [])
    return [ratio_of_logs(each) for each in logs.values()] or [ratio_of_logs([])]


def expected_breakeven(rows):
    """None where methods were trained and none has a curve: the report is then an error."""
    lines, trained = [], False
    for row in rows:
        finals = row.finals()
        if row.first.dense or not finals:
            continue
        trained = True
        epochs = max(last_epoch(row, cell) for cell in row.trained())
        method = [(cell.seed, row.final(cell)) for cell in row.trained()
                  if row.final(cell) is not None]
        found = Equivalent(exact_points(row, rows, epochs), method)
        if not found.place:
            continue
        breakeven = tuple(None if length is None else epochs / length
                          for length in (found.length, found.high, found.low))
        for speedup in speedups_by_machine(row):
            gap = gap_of(speedup, breakeven)
            lines.append({
                **labels(row), "accuracy_pct": mean(finals),
                "accuracy_pct_half": half_width(finals), "n": len(method), "epochs": epochs,
                "exact_runs": found.runs, "exact_lengths": found.distinct,
                "exact_shortest": found.shortest, "exact_longest": found.longest,
                "equivalent_place": found.place, "equivalent_epochs": found.length,
                "equivalent_epochs_lo": found.low, "equivalent_epochs_hi": found.high,
                **triple("breakeven", breakeven), **triple("speedup", speedup),
                "speedup_runs": speedup[3], **triple("gap_pct", gap),
                "pays": pays(row, speedup, found.seeds, gap),
            })
    return lines if lines or not trained else None
