"""What scripts that time something share: the processor's name, and the spread of numbers."""

import platform
import statistics


def cpuinfo():
    """What /proc/cpuinfo says of the first processor, by its names."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        first = file.read().partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.split("\n"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def processor():
    """The processor's name; that of its architecture where it has none."""
    return cpuinfo().get("model name", platform.machine())


def quartiles(values):
    """(lower, upper); of one value, that value twice."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
