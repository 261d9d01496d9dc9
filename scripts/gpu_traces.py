"""Reads traces of libapproxtrain_trace.so and says where the time of replayed steps goes. The
format of a trace stands in core/train/trace/trace_writer.h."""

import bisect
import re
import statistics

# A step is left out when it took longer than this many medians: something else ran on the GPU.
LONGEST = 1.5

# Our own kernels, by the struct that a launch names.
OWN = {
    "norm": r"(?:Smooth)?Norm\w*",
    "choosing": r"PlanePeaks?|PlaneMagnitudes|LargestScores|NmPrune\w*|StochasticPrune|"
                r"PartialMagnitudes|MeanOfPartials|CompressTwoOfFour|ColumnSquaresGpu|"
                r"ColumnNormsEnd|RowNormsGpu",
    "gather and scatter": r"TakeChannels|PutChannels|GatherWeights",
    "sparse products": r"EntriesWeightGradient|RowsDataGradient|TilesDataGradient|SumOfParts|"
                       r"ListedWeightGradient|ListPixels|ListRows|MarkTiles|SparseDataGradient|"
                       r"SampledSum|SampledSpread",
    "draws": r"UniformDraws|GaussianDraws",
}
# Those of libraries, by a part of their name; the first that fits.
LIBRARIES = (
    ("optimizer", r"multi_tensor_apply|fused_?sgd|fused_?adam"),
    ("convolution, layout", r"nchwToNhwc|nhwcToNchw|cudnn\w*::\w*(transpose|convert|Transform)"),
    ("convolution, weight gradient", r"wgrad|backward_filter"),
    ("convolution, data gradient", r"dgrad|backward_data"),
    ("convolution, forward", r"fprop|implicit_convolve|conv2d|convolve"),
    ("matrix products", r"gemm|nvjet|splitk|cublas"),
    ("convolution, other", r"cudnn|cutlass|xmma"),
    ("loss", r"softmax|nll_loss|cross_entropy"),
    ("pooling", r"pool"),
    ("reductions", r"reduce_kernel"),
    ("elementwise and casts", r"elementwise|CatArray|fill|copy_kernel"),
    ("indexing", r"index|scatter|gather|sort|scan"),
)
BESIDE = "beside the graph: batch, augmentation"
COPIES = "copies and memory sets"
APPROXIMATING = ("choosing", "gather and scatter", "sparse products")


class Record:
    """A kernel, a copy or a memory set. Times in nanoseconds."""

    __slots__ = ("name", "start", "end", "graph", "node", "launch", "line")

    def __init__(self, name, start, length, launched, line):
        self.name, self.start, self.end = name, start, start + length
        _, self.graph, self.node, self.launch = launched
        self.line = line


class Trace:
    """What one process did. `whole`: the process ended in order. `lost`: records without times."""

    def __init__(self, lines):
        self.label, self.records, self.names, self.whole, self.lost = "", [], {}, False, 0
        self.unread = 0
        lines = iter(lines)
        magic, version, *label = next(lines, "").rstrip("\n").split(" ", 2) + [""]
        if (magic, version) != ("approxtrain-trace", "1"):
            raise ValueError("not a trace: the first line is not 'approxtrain-trace 1 ...'")
        self.label = label[0]
        for line in lines:
            try:
                self.take(line)
            except (ValueError, IndexError):  # the last line of a process that was killed
                self.unread += 1
        if self.unread > 1:
            raise ValueError(f"{self.unread} lines are no records")
        self.records.sort(key=lambda record: (record.start, record.end))

    def take(self, line):
        if not line.endswith("\n"):
            raise ValueError("no line break")
        kind, rest = line[0], line[2:]
        if kind == "n":
            number, name = rest.rstrip("\n").split(" ", 1)
            self.names[int(number)] = name
            return
        numbers = [int(text) for text in rest.split()]
        if kind == "k":
            if numbers[0] not in self.names or len(numbers) != 15:
                raise ValueError("no such kernel")
            name, times = self.names[numbers[0]], numbers[1:3]
        elif kind == "c" and len(numbers) == 8:
            name, times = f"copy ({copy_kind(numbers[0])})", numbers[2:4]
        elif kind == "s" and len(numbers) == 7:
            name, times = "memory set", numbers[1:3]
        elif kind == "e":
            self.whole, self.lost = True, numbers[1]
            return
        else:
            raise ValueError("no such record")
        self.records.append(Record(name, *times, numbers[-4:], line))


def copy_kind(number):
    return {1: "host to device", 2: "device to host", 8: "on the device", 10: "peer"}.get(
        number, f"kind {number}")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return Trace(file)


def family(record, beside=False):
    """What a kernel does in a step, by its name."""
    if beside:
        return BESIDE
    if record.name.startswith("copy (") or record.name == "memory set":
        return COPIES
    own = re.search(r"gpu_kernel<\s*approx::(?:\(anonymous namespace\)::)?(\w+)", record.name)
    if own:
        return next((name for name, pattern in OWN.items() if re.fullmatch(pattern, own[1])),
                    "own kernels, other")
    return next((name for name, pattern in LIBRARIES if re.search(pattern, record.name, re.I)),
                "other")


class Replay:
    """One replay of a graph."""

    def __init__(self, first):
        self.graph, self.launch = first.graph, first.launch
        self.records, self.nodes = [], set()
        self.start, self.end = first.start, first.end

    def takes(self, record):
        return (record.graph == self.graph and record.launch == self.launch and
                record.node not in self.nodes)

    def add(self, record):
        self.records.append(record)
        self.nodes.add(record.node)
        self.end = max(self.end, record.end)


def replays(trace):
    """Replays in the order of their start. A new one begins with another launch, and where a node
    of the graph comes again."""
    found, open_ones = [], {}
    for record in trace.records:
        if record.graph == 0:
            continue
        replay = open_ones.get(record.graph)
        if replay is None or not replay.takes(record):
            replay = open_ones[record.graph] = Replay(record)
            found.append(replay)
        replay.add(record)
    return found


class Step:
    """From the end of one replay to the end of the next of the same graph. `beside`: what ran
    between the two."""

    def __init__(self, before, replay, beside):
        self.replay, self.beside = replay, beside
        self.begin, self.end = before.end, replay.end

    def length(self):
        return self.end - self.begin

    def idle(self, begin, records):
        """Lengths of the stretches from `begin` on in which nothing ran."""
        gaps, reached = [], begin
        for record in sorted(records, key=lambda each: each.start):
            if record.start > reached:
                gaps.append(record.start - reached)
            reached = max(reached, record.end)
        return gaps


def steps_of(trace):
    """The steps of each graph that followed a replay of the same graph at once."""
    found = replays(trace)
    beside = [record for record in trace.records if record.graph == 0]
    starts = [record.start for record in beside]
    steps = {}
    for before, replay in zip(found, found[1:]):
        if before.graph != replay.graph or replay.start < before.end:
            continue
        between = beside[bisect.bisect_left(starts, before.end):bisect.bisect_left(starts,
                                                                                  replay.end)]
        steps.setdefault(replay.graph, []).append(Step(before, replay, between))
    for graph, mine in steps.items():
        usual = statistics.median(step.length() for step in mine)
        steps[graph] = [step for step in mine if step.length() <= LONGEST * usual]
    return steps


def microseconds(nanoseconds):
    return round(nanoseconds / 1000, 2)


def summary(steps):
    """Where the time of these steps goes, in microseconds a step: means, but for `step_us`."""
    count = len(steps)
    families, kernels = {}, {}
    in_replay, beside_gaps, busy = [], [], 0
    for step in steps:
        for records, is_beside in ((step.replay.records, False), (step.beside, True)):
            for record in records:
                name = family(record, is_beside)
                length = record.end - record.start
                families[name] = families.get(name, 0) + length
                calls, total = kernels.get((name, record.name), (0, 0))
                kernels[name, record.name] = calls + 1, total + length
        in_replay += step.idle(step.replay.start, step.replay.records)
        gaps = step.idle(step.begin, step.replay.records + step.beside)
        busy += step.length() - sum(gaps)
        beside_gaps.append(step.replay.start - step.begin)
    return {
        "steps": count,
        "step_us": microseconds(statistics.median(step.length() for step in steps)),
        "mean_step_us": microseconds(sum(step.length() for step in steps) / count),
        "kernels": round(sum(len(step.replay.records) for step in steps) / count, 1),
        "kernels_beside": round(sum(len(step.beside) for step in steps) / count, 1),
        "kernel_us": microseconds(sum(families.values()) / count),
        "busy_us": microseconds(busy / count),
        "gaps": round(len(in_replay) / count, 1),
        "gaps_us": microseconds(sum(in_replay) / count),
        "median_gap_us": microseconds(statistics.median(in_replay)) if in_replay else 0,
        "between_replays_us": microseconds(sum(beside_gaps) / count),
        "families": {name: microseconds(total / count) for name, total in
                     sorted(families.items(), key=lambda item: -item[1])},
        "by_kernel": [{"family": name, "kernel": kernel, "calls": round(calls / count, 2),
                       "us": microseconds(total / count)} for (name, kernel), (calls, total) in
                      sorted(kernels.items(), key=lambda item: -item[1][1])],
    }


def arms(trace):
    """A summary for each graph of a timing run: "exact" and the method's. The approximated graph is
    the one that spends more in kernels that only methods launch. Where neither has any (`zero`), it
    is the one with less kernel time."""
    network, _, method = trace.label.partition(" ")
    found = [dict(summary(steps), graph=graph) for graph, steps in steps_of(trace).items() if steps]
    found.sort(key=lambda arm: arm["graph"])

    def approximating(arm):
        return (sum(arm["families"].get(name, 0) for name in APPROXIMATING), -arm["kernel_us"])

    approximated = max(found, key=approximating)["graph"] if len(found) == 2 else None
    for arm in found:
        name = method if arm["graph"] == approximated else "exact"
        if approximated is None:
            name = f"{method or '?'}, graph {arm['graph']}"
        arm.update(network=network, method=method, arm=name, whole=trace.whole, lost=trace.lost)
    return found


def sample(trace, out):
    """Writes a trace of the last three replays of each graph that follow one another at once."""
    found = replays(trace)
    kept = {}
    for run in zip(found, found[1:], found[2:]):
        if len({replay.graph for replay in run}) == 1:
            kept[run[0].graph] = run
    windows = [(run[0].start, run[2].end) for run in kept.values()]
    records = [record for record in trace.records
               if any(begin <= record.start < end for begin, end in windows)]
    numbers = {name: number for number, name in trace.names.items()}
    used = {record.name for record in records}
    out.write(f"approxtrain-trace 1 {trace.label}\n")
    for name in sorted(used & numbers.keys(), key=numbers.get):
        out.write(f"n {numbers[name]} {name}\n")
    for record in records:
        out.write(record.line)
    if trace.whole:
        out.write(f"e {len(records)} {trace.lost}\n")


def short(name):
    """A kernel's name without its arguments and the words that all have."""
    text = re.sub(r"^void |approx::|at::native::|\(anonymous namespace\)::", "", name)
    text = re.sub(r"\(.*", "", text)
    text = re.sub(r"^gpu_kernel<\s*(.*?)\s*>$", r"\1", text)
    return text if len(text) <= 70 else text[:67] + "..."


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def markdown(found, kernels=0):
    """One table of steps, one of families for each network, and of each arm its longest kernels."""
    text = table(
        ["network", "run", "step of", "step, µs", "kernels", "kernel time, µs", "gaps in a replay",
         "gaps, µs", "median gap, µs", "between replays, µs", "steps"],
        [[arm["network"], arm["method"], arm["arm"], arm["step_us"], arm["kernels"],
          arm["kernel_us"], arm["gaps"], arm["gaps_us"], arm["median_gap_us"],
          arm["between_replays_us"], arm["steps"]] for arm in found])
    for network in dict.fromkeys(arm["network"] for arm in found):
        mine, columns = [], set()
        for arm in found:  # one exact step for each network: the first run's
            if arm["network"] == network and arm["arm"] not in columns:
                columns.add(arm["arm"])
                mine.append(arm)
        names = sorted({name for arm in mine for name in arm["families"]},
                       key=lambda name: -max(arm["families"].get(name, 0) for arm in mine))
        text += f"\n{network}, µs a step:\n\n" + table(
            ["kernels", *(arm["arm"] for arm in mine)],
            [[name, *(arm["families"].get(name, "–") for arm in mine)] for name in names])
        for arm in mine if kernels else []:
            text += f"\n{network}, {arm['arm']}, longest kernels:\n\n" + table(
                ["kernel", "family", "calls", "µs"],
                [[f"`{short(row['kernel'])}`", row["family"], row["calls"], row["us"]]
                 for row in arm["by_kernel"][:kernels]])
    return text
