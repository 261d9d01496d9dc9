"""How long a training step of several ranks takes, as a model of the bandwidth between them, fitted
to the cells that scripts/rank-bandwidth measured.

  step = compute(arm) + messages * delay + max(0, slowdown * send(arm) - overlap * compute(arm))
  send = bytes(arm) / bandwidth,  bytes at N ranks = 2 (N - 1) / N of what has to be summed

`compute` is all that the bandwidth leaves alone, what messages take by themselves included;
`slowdown` is 1 where a byte takes what the bandwidth says; `overlap` is the share of the compute
behind which sending hides (buckets are sent while the backward pass goes on). `messages` is fitted
where cells differ in delay, `overlap` where the data ask for it. Errors count relative to the step:
cells of 100 ms and of 10 s weigh the same.
"""

import csv
import dataclasses
import io
import math
import statistics

import numpy as np

COLUMNS = ("repetition", "bandwidth_mbit", "delay_ms", "ranks", "threads", "network", "dataset",
           "batch_size", "blocks", "block_steps", "method", "schedule", "steps", "step_ms",
           "step_ms_low", "step_ms_high", "paired_dense_ms", "bytes_counted_per_step",
           "bytes_measured_per_step", "measured_over_counted", "exchanges", "disturbed")
# One file has one of each.
SETTINGS = ("ranks", "threads", "network", "dataset", "batch_size", "blocks", "block_steps")
DENSE = "dense"
MBIT = 1e6 / 8  # bytes
OVERLAPS = np.linspace(0, 1, 201)
SLOWEST = 1.0  # Mbit/s, to which the model is asked where an arm pays


class BadCells(Exception):
    """What is wrong with a file of cells, and where; one line."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One arm at one bandwidth, over all repetitions."""

    arm: str
    bandwidth: float  # Mbit/s that each rank may send; infinite: as much as the machine can
    delay_ms: float   # added to each packet
    step_ms: float    # the median
    low_ms: float
    high_ms: float
    repetitions: int
    bytes: float      # that a rank sends in a step, as the program counts them, else as measured
    ratio: float      # bytes measured over bytes counted; NaN where nothing was counted
    ranks: int
    exchanges: float

    def send_ms(self):
        return send_ms(self.bytes, self.bandwidth)


@dataclasses.dataclass
class Model:
    """What was fitted; see the top of this file."""

    compute_ms: dict
    slowdown: float
    overlap: float           # 0 where the data did not ask for it
    messages: float | None   # None: no two cells differ in delay
    errors: list             # |predicted / measured - 1|, by cell
    without_overlap: float   # median error of the model without an overlap

    def step_ms(self, arm, sent_bytes, bandwidth, delay_ms=0.0):
        compute = self.compute_ms[arm]
        shown = self.slowdown * send_ms(sent_bytes, bandwidth) - self.overlap * compute
        return compute + (self.messages or 0) * delay_ms + max(0.0, shown)


def send_ms(sent_bytes, bandwidth):
    return 1e3 * sent_bytes / (bandwidth * MBIT)


def of_ring(ranks):
    """How often a rank sends what has to be summed."""
    return 2 * (ranks - 1) / ranks


# Reading.

def read_rows(path):
    """(rows, comment lines). Throws BadCells."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadCells(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    remarks = [line[1:].strip() for line in lines if line.startswith("#")]
    numbered = [(i, line) for i, line in enumerate(lines, 1) if line and not line.startswith("#")]
    if not numbered:
        raise BadCells(f"{path}: no cells in it")
    rows = list(csv.DictReader([line for _, line in numbered], strict=True))
    missing = [name for name in COLUMNS if name not in next(csv.reader([numbered[0][1]]))]
    if missing:
        raise BadCells(f"{path}:{numbered[0][0]}: no column {missing[0]}; scripts/rank-bandwidth "
                       "writes them")
    for (number, _), row in zip(numbered[1:], rows):
        check_row(f"{path}:{number}", row)
    for name in SETTINGS:
        if len(values := sorted({row[name] for row in rows})) > 1:
            raise BadCells(f"{path}: cells of two settings, {name} = {values[0]} and {values[1]}: "
                           "one file has one")
    return rows, remarks


def number(where, row, name, least, empty=None):
    text = row[name]
    if text == "" and empty is not None:
        return empty
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise BadCells(f"{where}: {name} = {text!r}: expected a number of {least:g} or more")
    return value


def check_row(where, row):
    if None in row or None in row.values():
        raise BadCells(f"{where}: not as many values as columns")
    number(where, row, "ranks", 2)
    number(where, row, "delay_ms", 0)
    number(where, row, "bytes_measured_per_step", 0)
    number(where, row, "bytes_counted_per_step", 0, empty=0)
    number(where, row, "measured_over_counted", 0, empty=0)
    number(where, row, "exchanges", 0)
    for name in ("step_ms", "step_ms_low", "step_ms_high", "bandwidth_mbit"):
        number(where, row, name, 1e-6, empty=1 if name == "bandwidth_mbit" else None)
    if row["disturbed"] not in ("0", "1"):
        raise BadCells(f"{where}: disturbed = {row['disturbed']!r}: expected 0 or 1")


def arm_of(row):
    return " ".join(filter(None, (row["method"], row["schedule"])))


def cells_of(rows):
    """The cells by arms, dense first, and from fast to slow; disturbed runs are left out."""
    groups = {}
    for row in rows:
        if row["disturbed"] == "0":
            key = (arm_of(row), float(row["bandwidth_mbit"] or "inf"), float(row["delay_ms"]))
            groups.setdefault(key, []).append(row)
    arms = sorted(dict.fromkeys(arm for arm, _, _ in groups), key=lambda arm: arm != DENSE)
    order = sorted(groups, key=lambda key: (arms.index(key[0]), -key[1], key[2]))
    return [cell_of(*key, groups[key]) for key in order]


def cell_of(arm, bandwidth, delay_ms, rows):
    def median(name):
        values = [float(row[name]) for row in rows if row[name] != ""]
        return statistics.median(values) if values else math.nan

    steps = [float(row["step_ms"]) for row in rows]
    counted = median("bytes_counted_per_step")
    return Cell(
        arm=arm, bandwidth=bandwidth, delay_ms=delay_ms, step_ms=statistics.median(steps),
        # Of several runs from the smallest to the largest, of one the quartiles of its blocks.
        low_ms=min(steps) if len(rows) > 1 else median("step_ms_low"),
        high_ms=max(steps) if len(rows) > 1 else median("step_ms_high"),
        repetitions=len(rows),
        bytes=median("bytes_measured_per_step") if math.isnan(counted) else counted,
        ratio=median("measured_over_counted"), ranks=int(rows[0]["ranks"]),
        exchanges=median("exchanges"))


# Fitting.

def fit(cells):
    """The model by least squares. Throws BadCells where the cells are too few for it."""
    if DENSE not in {cell.arm for cell in cells}:
        raise BadCells("no undisturbed cell of the arm dense, which the others are held against")
    with_delay = len({cell.delay_ms for cell in cells}) > 1
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    unknowns = len(arms) + 1 + with_delay
    if len(cells) < unknowns + 2:
        raise BadCells(f"{len(cells)} undisturbed cells for {unknowns} unknowns; at least "
                       f"{unknowns + 2} are needed")
    if len({cell.send_ms() for cell in cells}) < 2:
        raise BadCells("all cells have one bandwidth: nothing says what a byte takes")
    plain = solve(cells, arms, with_delay, 0.0)
    hiding = best_overlap(cells, arms, with_delay)
    n = len(cells)
    chosen = (hiding if criterion(squares(hiding, cells), n, unknowns + 1)
              < criterion(squares(plain, cells), n, unknowns) else plain)
    chosen.errors = [abs(relative_error(chosen, cell)) for cell in cells]
    chosen.without_overlap = statistics.median(
        abs(relative_error(plain, cell)) for cell in cells)
    return chosen


def best_overlap(cells, arms, with_delay):
    """By a scan, since the sum of squares has kinks, then between the neighbours of the best."""
    def loss(overlap):
        return squares(solve(cells, arms, with_delay, overlap), cells)

    at = int(np.argmin([loss(overlap) for overlap in OVERLAPS]))
    low, high = OVERLAPS[max(at - 1, 0)], OVERLAPS[min(at + 1, len(OVERLAPS) - 1)]
    for _ in range(40):
        third = (high - low) / 3
        if loss(low + third) < loss(high - third):
            high -= third
        else:
            low += third
    return solve(cells, arms, with_delay, float(low + high) / 2)


def solve(cells, arms, with_delay, overlap):
    """All but the overlap. What is hidden depends on the compute that is sought, and which cells
    show any sending on both: from the fastest step of each arm on, it is put in until it stays."""
    compute = {arm: min(cell.step_ms for cell in cells if cell.arm == arm) for arm in arms}
    slowdown, messages = 1.0, 0.0
    for _ in range(50):
        shows = [slowdown * cell.send_ms() > overlap * compute[cell.arm] for cell in cells]
        rows = []
        for cell, sends in zip(cells, shows):
            own = 1 - overlap if sends else 1.0
            rows.append([own if arm == cell.arm else 0.0 for arm in arms]
                        + [cell.send_ms() if sends else 0.0] + [cell.delay_ms] * with_delay)
        weights = np.array([1 / cell.step_ms for cell in cells])
        solution = np.linalg.lstsq(np.array(rows) * weights[:, None], np.ones(len(cells)),
                                   rcond=None)[0]
        before = slowdown, compute
        compute = dict(zip(arms, map(float, solution)))
        slowdown = float(solution[len(arms)]) if any(shows) else slowdown
        messages = float(solution[-1]) if with_delay else 0.0
        if (slowdown, compute) == before:
            break
    return Model(compute, slowdown, overlap, messages if with_delay else None, [], math.nan)


def relative_error(model, cell):
    return model.step_ms(cell.arm, cell.bytes, cell.bandwidth, cell.delay_ms) / cell.step_ms - 1


def squares(model, cells):
    return sum(relative_error(model, cell) ** 2 for cell in cells)


def criterion(loss, n, unknowns):
    """Akaike's, corrected for few cells: lower is better, one more unknown must earn its place."""
    if n - unknowns - 1 <= 0:
        return math.inf
    return (n * math.log(max(loss / n, 1e-24)) + 2 * unknowns
            + 2 * unknowns * (unknowns + 1) / (n - unknowns - 1))


# Where an arm pays.

def crossing(points):
    """Of (1 / bandwidth, time of dense minus that of the arm), from fast to slow: in words."""
    signs = [gain > 0 for _, gain in points]
    if all(signs):
        return None, "all"
    if not any(signs):
        return None, "none"
    changes = [(a, b) for a, b in zip(points, points[1:]) if (a[1] > 0) != (b[1] > 0)]
    if len(changes) > 1:
        return None, "unclear"
    (x, gain), (next_x, next_gain) = changes[0]
    inverse = x + (next_x - x) * gain / (gain - next_gain)
    return (1 / inverse if inverse > 0 else math.inf), "above" if signs[0] else "below"


def words(found, all_of):
    bandwidth, kind = found
    if kind in ("above", "below"):
        return f"{kind} {bandwidth:.0f} Mbit/s"
    return {"all": f"at all {all_of}", "none": "at none", "unclear": "not monotone"}[kind]


def pays_measured(arm, cells):
    """Between the bandwidths that were measured by straight lines in 1 / bandwidth."""
    plain = [cell for cell in cells if cell.delay_ms == 0]
    dense = {cell.bandwidth: cell.step_ms for cell in plain if cell.arm == DENSE}
    points = sorted((1 / cell.bandwidth, dense[cell.bandwidth] - cell.step_ms)
                    for cell in plain if cell.arm == arm and cell.bandwidth in dense)
    return crossing(points) if points else (None, "none")


def pays_by_model(arm, cells, model):
    """The same of the model, which is made of straight lines between its kinks."""
    sent = {cell.arm: cell.bytes for cell in cells}
    kinks = {0.0, 1 / SLOWEST}
    for name in (arm, DENSE):
        if sent[name] > 0 and model.slowdown > 0:
            per_inverse = model.slowdown * send_ms(sent[name], 1.0)
            kinks.add(min(model.overlap * model.compute_ms[name] / per_inverse, 1 / SLOWEST))

    def step(name, inverse):
        return model.step_ms(name, sent[name], 1 / inverse if inverse > 0 else math.inf)

    return crossing([(x, step(DENSE, x) - step(arm, x)) for x in sorted(kinks)])


# Beyond what was measured.

# In the label of a schedule whose ranks leave out gradients by turns: sums over some of the ranks
# grow otherwise with their number.
BY_TURNS = "by turns"


def extrapolated_ms(model, cell, ranks, bandwidth, latency_us):
    """A step of `ranks` ranks, each with the batch that a rank had in the cell."""
    sent = cell.bytes * of_ring(ranks) / of_ring(cell.ranks)
    # Rabenseifner's algorithm, which the program asks for, halves and doubles: so many messages one
    # after the other in each exchange. What those of the cell took is a part of its compute: on one
    # machine next to nothing.
    messages = (2 * cell.exchanges if model.messages is None else
                model.messages / math.log2(cell.ranks)) * math.ceil(math.log2(ranks))
    return model.step_ms(cell.arm, sent, bandwidth) + messages * 1e-3 * latency_us


# Tables.

def named(bandwidth):
    return "unlimited" if math.isinf(bandwidth) else f"{bandwidth:g}"


def measured_table(cells, model):
    lines = ["| arm | Mbit/s of a rank | delay, ms | step, ms | runs | KB a rank sends in a step "
             "| measured / counted | model, ms | error |", "|---|---|---|---|---|---|---|---|---|"]
    for cell in cells:
        ratio = "" if math.isnan(cell.ratio) else f"{cell.ratio:.4f}"
        predicted = model.step_ms(cell.arm, cell.bytes, cell.bandwidth, cell.delay_ms)
        lines.append(
            f"| {cell.arm} | {named(cell.bandwidth)} | {cell.delay_ms:g} | {cell.step_ms:.1f} "
            f"[{cell.low_ms:.1f}, {cell.high_ms:.1f}] | {cell.repetitions} "
            f"| {cell.bytes / 1e3:.1f} | {ratio} | {predicted:.1f} "
            f"| {100 * (predicted / cell.step_ms - 1):+.1f} % |")
    return lines


def fit_lines(model):
    compute = ", ".join(f"{arm} {ms:.1f} ms" for arm, ms in model.compute_ms.items())
    hidden = (f"sending hides behind {100 * model.overlap:.0f} % of it (without that the median "
              f"error is {100 * model.without_overlap:.1f} %)" if model.overlap > 0 else
              "the data ask for no overlap of sending with it")
    delay = ("no cell has a delay, so what messages take by themselves is in the compute"
             if model.messages is None else
             f"{model.messages:.1f} messages after one another a step")
    return [f"Model fitted by least squares of relative errors: compute {compute}; {hidden}; a "
            f"byte takes {model.slowdown:.2f} times what the bandwidth says; {delay}. Relative "
            f"error of a cell: median {100 * statistics.median(model.errors):.1f} %, largest "
            f"{100 * max(model.errors):.1f} %."]


def pays_table(cells, model):
    lines = ["| arm | faster than dense, measured (straight lines between) | by the model |",
             "|---|---|---|"]
    for arm in model.compute_ms:
        if arm != DENSE:
            measured = words(pays_measured(arm, cells), "measured")
            modelled = words(pays_by_model(arm, cells, model), f"above {SLOWEST:g} Mbit/s")
            lines.append(f"| {arm} | {measured} | {modelled} |")
    return lines


def extrapolation_table(cells, model, ranks, bandwidths, latency_us):
    """`bandwidths` in Gbit/s."""
    columns = [(n, bandwidth) for n in ranks for bandwidth in bandwidths]
    of_arm = {cell.arm: cell for cell in reversed(cells)}
    lines = [
        "**A model, not a measurement:** ms of a step (speedup over dense) of more ranks, each "
        f"with the images and the compute that it had among {cells[0].ranks}, by a rank's "
        f"bandwidth. 2 (N - 1) / N of a sum are sent; that a message takes {latency_us:g} us is "
        "an assumption. Without arms whose ranks take turns, which send another share of a sum.",
        "",
        "| arm |" + "".join(f" {n} ranks, {bandwidth:g} Gbit/s |" for n, bandwidth in columns),
        "|---|" + "---|" * len(columns)]
    dense = of_arm[DENSE]
    for arm in model.compute_ms:
        if BY_TURNS in arm:
            continue
        entries = []
        for n, bandwidth in columns:
            ms = extrapolated_ms(model, of_arm[arm], n, 1e3 * bandwidth, latency_us)
            whole = extrapolated_ms(model, dense, n, 1e3 * bandwidth, latency_us)
            entries.append(f"{ms:.1f} ({whole / ms:.2f})")
        lines.append(f"| {arm} | " + " | ".join(entries) + " |")
    return lines


def fitted(path):
    """(rows, remarks, cells, model) of a file. Throws BadCells."""
    rows, remarks = read_rows(path)
    cells = cells_of(rows)
    try:
        return rows, remarks, cells, fit(cells)
    except BadCells as error:
        raise BadCells(f"{path}: {error}") from error


def curves(path):
    """The cells beside the model as CSV, which plots/bandwidth.gp draws. Throws BadCells."""
    _, _, cells, model = fitted(path)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["arm", "ranks", "bandwidth_mbit", "delay_ms", "step_ms", "step_ms_low",
                     "step_ms_high", "runs", "model_ms"])
    for cell in cells:
        predicted = model.step_ms(cell.arm, cell.bytes, cell.bandwidth, cell.delay_ms)
        writer.writerow([cell.arm, cell.ranks,
                         "" if math.isinf(cell.bandwidth) else f"{cell.bandwidth:g}",
                         f"{cell.delay_ms:g}", f"{cell.step_ms:.3f}", f"{cell.low_ms:.3f}",
                         f"{cell.high_ms:.3f}", cell.repetitions, f"{predicted:.3f}"])
    return out.getvalue()


def page(path, ranks, bandwidths, latency_us):
    """All of it as Markdown. Throws BadCells."""
    rows, remarks, cells, model = fitted(path)
    left_out = sum(row["disturbed"] == "1" for row in rows)
    return "\n".join([
        *[f"* {remark}" for remark in dict.fromkeys(remarks)],  # each start wrote its own
        *([f"* disturbed runs, left out: {left_out}"] if left_out else []),
        "", *measured_table(cells, model), "", *fit_lines(model), "", *pays_table(cells, model), "",
        *extrapolation_table(cells, model, ranks, bandwidths, latency_us)])
