"""The statistics of docs/internals/statistics.md, of plain lists of numbers, by NumPy and SciPy."""

import math

import numpy
import scipy.stats


def half_width(values):
    """Of the t-interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, loc=numpy.mean(values),
                                       scale=scipy.stats.sem(values)) \
        if numpy.std(values) > 0 else (0, 0)
    return (high - low) / 2


def mean(values):
    return float(numpy.mean(values)) if len(values) else None


def sign_flip_p(differences):
    n = len(differences)
    if not 2 <= n <= 20:
        return None
    sums = numpy.zeros(1)
    for difference in differences:  # all sums of n with either sign
        sums = numpy.concatenate([sums + difference, sums - difference])
    sums = numpy.abs(sums)
    observed = abs(sum(differences))
    return float(numpy.mean(sums >= observed - 1e-12 * numpy.sum(numpy.abs(differences))))


def holm(values):
    """Adjusted p-values, in their order."""
    order = numpy.argsort(values, kind="stable")
    scaled = [(len(values) - rank) * values[at] for rank, at in enumerate(order)]
    running = numpy.minimum(1, numpy.maximum.accumulate(scaled)) if len(values) else []
    adjusted = [0.0] * len(values)
    for rank, at in enumerate(order):
        adjusted[at] = float(running[rank])
    return adjusted


def one_sided_bounds(values):
    if len(values) < 2:
        return None, None
    reach = scipy.stats.t.ppf(0.95, len(values) - 1) * scipy.stats.sem(values)
    return mean(values) - reach, mean(values) + reach


def ratio_of_logs(logs):
    """(ratio, lo, hi, n) by the mean of logarithms and its t-interval."""
    if not len(logs):
        return None, None, None, 0
    middle, reach = mean(logs), half_width(logs)
    if reach is None:
        return math.exp(middle), None, None, len(logs)
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), len(logs)


def ratio_of_ratios(a, b):
    """(ratio, low, high) of a / b, measured apart: on logarithms half widths add as squares."""
    middle = math.log(a[0] / b[0])
    if a[1] is None or b[1] is None:
        return math.exp(middle), None, None
    down = math.hypot(math.log(a[0] / a[1]), math.log(b[2] / b[0]))
    up = math.hypot(math.log(a[2] / a[0]), math.log(b[0] / b[1]))
    return math.exp(middle), math.exp(middle - down), math.exp(middle + up)


def ratio_of_pairs(numerators, denominators):
    return ratio_of_logs(numpy.log(numpy.array(numerators) / numpy.array(denominators))
                         if numerators else [])
