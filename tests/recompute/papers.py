"""What `report paper` should say of our numbers and of their verdicts."""

import copy
import itertools
import json
import os
import subprocess

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

import numpy

from samples import half_width, holm, mean, sign_flip_p
from stored import Store, in_state, rows_of, see_tuned
from tables import PROCESSES_FOR_A_WORD, SEEDS_FOR_A_WORD

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


SPEEDS = ("speedup", "time_saved", "realisation")
TIMES = SPEEDS + ("time", "time_to_target")
OPTIMIZER = {"sgd": ("momentum", "nesterov"), "adam": ("beta1", "beta2", "epsilon")}


def on_other_device(run):
    """The run there, or where it is if only a GPU computes in its precision."""
    run = copy.deepcopy(run)
    config = run["config"]
    if config["device"] == "cpu":
        config["device"] = "cuda"
    elif config["precision"] not in ("tf32", "fp16"):
        config["device"] = "cpu"
    return run


class Item:
    """An item of a paper at one scale, its file as TOML and its runs as the program plans them."""

    def __init__(self, program, name, scale, path):
        with open(os.path.join(ROOT, "experiments", *name.split(":")) + ".toml", "rb") as file:
            self.toml = tomllib.load(file)
        self.report = self.toml["report"]
        self.scale = scale
        self.id = self.toml["id"] + ("" if scale == "full" else ":" + scale)
        self.full, self.shown = (self.plan(program, name, each) for each in ("full", scale))
        self.rows, self.columns = self.labels("rows"), self.labels("columns")
        target = {**self.toml, **self.toml.get("scale", {}).get(scale, {})}.get("target")
        self.target = float(target.split(">=")[1]) if target else None
        self.store = Store(path)
        # Without a database the plan has no rates that were tuned: they are found here.
        scales = self.toml.get("scale", {})
        self.tune = {**self.toml, **scales.get(scale, {})}.get("tune")
        # A configuration that leaves the threads open has those of this machine.
        self.threads = "threads" in self.toml or "threads" in scales.get(scale, {})
        self.shown = self.on_its_device(path)
        self.full = [run for run in self.full if not run["excluded"]]
        self.cells = self.own_cells(path)

    @staticmethod
    def plan(program, name, scale):
        done = subprocess.run([program, "sweep", "@" + name, "--scale", scale, "--dry-run",
                               "--format", "json", "--db", os.path.join(ROOT, "none.db")],
                              capture_output=True, text=True, cwd=ROOT, check=True)
        return [run for run in json.loads(done.stdout)["runs"]
                if not run["excluded"] or "not tuned yet" in run["excluded"]]

    def axis(self, which):
        return self.report.get(which, "method" if which == "rows" else "")

    def labels(self, which):
        axis = self.axis(which)
        if not axis:
            return [""]
        found = []
        for run in self.full:
            label = self.label(run, axis)
            if label and label not in found:
                found.append(label)
        return found

    @staticmethod
    def label(run, axis):
        return run["config"]["dataset"] if axis == "dataset" else run[axis]

    def stands(self, run, place):
        for which, labels, at in zip(("rows", "columns"), (self.rows, self.columns), place):
            axis = self.axis(which)
            if axis and self.label(run, axis) != labels[at] and not (
                    axis == "schedule" and not self.label(run, axis) and at == 0):
                return False
        return True

    def planned(self, plan, place):
        return next((run for run in plan if self.stands(run, place)), None)

    def baseline(self, place):
        """Where the exact training stands that a cell is compared with."""
        own, elsewhere = self.planned(self.full, place), None
        apart = [self.axis(which) in ("network", "dataset") for which in ("rows", "columns")]
        for at in itertools.product(range(len(self.rows)), range(len(self.columns))):
            run = self.planned(self.full, at)
            if run is None or run["config"]["method"] != "dense":
                continue
            if all(not fixed or here == there for fixed, here, there in zip(apart, at, place)):
                return at
            if own is not None and elsewhere is None and all(
                    run["config"][key] == own["config"][key] for key in ("network", "dataset")):
                elsewhere = at
        return elsewhere

    def identity(self, config):
        return json.dumps({key: value for key, value in keyed(config).items()
                           if self.threads or key != "threads"}, sort_keys=True)

    def on_its_device(self, path):
        """The planned runs as the file has them, or on the other device where the database has more
        of them there; at the rates that were tuned."""
        plans = [self.shown, [on_other_device(run) for run in self.shown]]
        if self.tune:
            plans = [list(self.tuned(plan, path)) for plan in plans]
        done = {self.identity(cell.config) for cell in Store(path, None, superseded=True).cells
                if cell.run is not None and cell.run.result}
        return max(plans, key=lambda plan: sum(
            self.identity(run["config"]) in done for run in plan))

    def tuned(self, plan, path):
        """The planned runs at the rate that was best for their arm on held-out images, of two alike
        the lower one; none of an arm that lacks a trial."""
        store, reached = Store(path, "*", superseded=True), {}
        for cell in store.cells:
            if cell.purpose == "accuracy" and cell.run is not None and cell.run.result:
                held_out = store.accuracies(cell.run, "holdout")
                accuracy = held_out[-1]["value"] if held_out else None
                accuracy = 0 if cell.run.state == "diverged" else accuracy
                if accuracy is not None:
                    reached[self.identity(cell.config)] = accuracy
        for run in plan:
            if not run["excluded"]:  # its rate is its own
                yield run
                continue
            best = None
            for rate in sorted(self.tune["learning_rate"]):
                trials = [reached.get(self.identity({
                    **run["config"], "purpose": "accuracy", "split": "holdout", "seed": seed,
                    "recipe": {**run["config"]["recipe"], "learning_rate": rate}}))
                    for seed in seeds_of(self.tune["seeds"])]
                if None in trials:
                    break
                if best is None or mean(trials) > best[0]:
                    best = mean(trials), rate
            else:
                run["config"]["recipe"]["learning_rate"] = best[1]
                run["tuned"] = True
                yield run

    def own_cells(self, path):
        """Cells that are planned now, whatever asked for them, and those under the item's name."""
        wanted = {}
        for run in self.shown:
            wanted.setdefault(self.identity(run["config"]), run)
        cells = {}
        stores = [Store(path, name, superseded=True, tuned_by=self.id) for name in (self.id, None)]
        for cell in stores[0].cells + stores[1].cells:
            run = wanted.get(self.identity(cell.config))
            if cell.cell_id in cells or run is None and cell.experiment != self.id:
                continue
            cell.planned = run is not None
            if run is not None:
                cell.method_label, cell.schedule_label = run["method"], run["schedule"]
                cell.network_label = run["network"]
                cell.target_value = self.target
                cell.tuned |= run.get("tuned", False)
            cells[cell.cell_id] = cell
        see_tuned(cells.values())
        newest = {}
        for cell in cells.values():
            known = newest.get(Store.identity(cell))
            if known is None or (known.planned, known.cell_id) < (cell.planned, cell.cell_id):
                newest[Store.identity(cell)] = cell
        cells = list(newest.values())
        latest = {}
        for cell in cells:
            names = (cell.network_label, cell.dataset, cell.setting, cell.schedule_label,
                     cell.method_label)
            cell.names = names
            known = latest.get(names)
            if known is None or (known.planned, known.cell_id) < (cell.planned, cell.cell_id):
                latest[names] = cell

        def what(cell):
            return cell.schedule, cell.method, cell.network

        return [cell for cell in cells if what(cell) == what(latest[cell.names])]

    def table_rows(self):
        rows = rows_of(self.store, self.cells)
        for row in rows:
            row.planned = any(cell.planned for cell in row.cells)
        return rows

    def find(self, rows, place, purpose="accuracy"):
        """The planned row there with most results of a purpose: an item may time other numbers of
        ranks than it trains."""
        best = None
        for row in rows:
            first = row.first
            stands = self.stands({"method": first.method_label, "schedule": first.schedule_label,
                                  "network": first.network_label,
                                  "config": {"dataset": first.dataset}}, place)
            finished = in_state(row, "finished", purpose=purpose)
            rank = finished > 0 and row.planned, finished, in_state(row, "finished")
            if stands and (best is None or rank > best[0]):
                best = rank, row
        return best[1] if best else None

    def value(self, line):
        """What the file says of the quantity of a line. Derived ones are in no file."""
        keys = ("quantity", "definition", "basis", "hardware")
        found = [value for value in self.report.get("value", [])
                 if all(value.get(key, "measured-e2e" if key == "basis" else "") == line[key]
                        for key in keys)]
        return found[0] if found else {}

    def reference(self, line, place):
        """Whether a cell is what the others of its quantity are held against."""
        against = self.value(line).get("against")
        if against:
            return self.rows[place[0]] == against
        return self.baseline(place) == place and (
            line["quantity"] in SPEEDS + ("accuracy_loss",) or
            line["definition"] == "of the approximated layers")

    def departs(self, place):
        """Whether a loss there is of another training than the paper's."""
        ours, paper = self.planned(self.shown, place), self.planned(self.full, place)
        if ours is None or paper is None:
            return False
        if other_training(ours["config"], paper["config"]):
            return True
        base = self.baseline(place)
        if base is not None:
            bases = self.planned(self.shown, base), self.planned(self.full, base)
            if None not in bases and other_training(bases[0]["config"], bases[1]["config"]):
                return True
        for stated in self.report.get("departs", []):
            if all(not stated.get(axis) or paper[axis] in numpy.atleast_1d(stated[axis])
                   for axis in ("method", "schedule", "network")):
                return True
        return False


def seeds_of(text):
    """ "100", "0-5", "1,3-4"; a number is itself."""
    for part in str(text).split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def keyed(config):
    """What of a configuration is in the run's key: blocks are of timing runs alone."""
    blocks = ("blocks", "block_steps", "timed_against")
    return {key: value for key, value in config.items()
            if config["purpose"] == "timing" or key not in blocks}


def other_method(ours, paper):
    return any(ours[key] != paper[key] for key in ("network", "method", "schedule"))


def other_training(ours, paper):
    if other_method(ours, paper):
        return True
    mine, theirs = ours["recipe"], paper["recipe"]
    rule = ("optimizer",) + OPTIMIZER[mine["optimizer"]]
    rule += ("weight_decay", "decay_norm", "clip_norm", "ema", "epochs")
    # Settings that came later are not written at their defaults.
    rule += ("decay_form", "norm_bias_rate", "lookahead_every", "lookahead_decay")
    return any(mine.get(key) != theirs.get(key) for key in rule) or any(
        ours[key] != paper[key] for key in ("batch_size", "train_examples"))


def measured(item, rows, place, line):
    """(value, lo, hi, n, p, what else a verdict needs) of a cell; n is 0 where there is none."""
    quantity, definition = line["quantity"], line["definition"]
    row = item.find(rows, place, "timing" if quantity in SPEEDS else "accuracy")
    if row is None:
        return None
    best = definition.startswith("best")
    values, extra = None, {"row": row, "same": False, "base": None}
    if line["basis"] == "estimated":
        return estimated(item, rows, row, line) + (None, extra)
    if quantity == "realisation":
        ceiling, _ = row.bounds()
        low = row.speedup()[1]
        extra["above"] = ceiling is not None and low is not None and low > ceiling
        return row.realisation() + (None, extra)
    if quantity in SPEEDS:
        backward = line["basis"] == "measured-backward"
        ratio, low, high, n = row.backward_speedup() if backward else row.speedup()
        ceiling, _ = row.bounds()
        extra["above"] = not backward and None not in (ceiling, low) and low > ceiling
        if n and quantity == "time_saved":
            ratio, low, high = (None if each is None else 100 * (1 - 1 / each)
                                for each in (ratio, low, high))
        return ratio, low, high, n, None, extra
    if quantity == "accuracy":
        values = row.bests() if best else row.finals()
    elif quantity == "accuracy_loss":
        base = item.baseline(place)
        dense = item.find(rows, base) if base is not None else None
        extra["base"] = dense
        values = row.losses(dense, best) if dense is not None and dense is not row else []
    elif quantity == "compute_reduction":
        values = row.reductions(definition == "of the approximated layers")
        extra["same"] = len(values) > 1 and len(set(values)) == 1
    elif quantity == "communication_reduction":
        values = row.traffic_reductions()
        extra["same"] = len(values) > 1 and len(set(values)) == 1
    elif quantity == "density":
        curves = [row.store.curves[cell.run.run_id, "gradient_density", "train"]
                  for cell in row.trained()]
        values = [mean([point["value"] for point in curve]) for curve in curves if curve]
        extra["same"] = len(values) > 1 and len(set(values)) == 1
    elif quantity == "time_to_target":
        values = row.times_to_target()[0]
    elif quantity == "loss":
        curves = [row.store.curves[cell.run.run_id, "loss", "train"] for cell in row.trained()]
        values = [curve[-1]["value"] for curve in curves if curve]
    assert values is not None, f"{quantity} is not computed here"
    half = half_width(values)
    value = mean(values)
    low, high = (None, None) if half is None else (value - half, value + half)
    base = extra["base"]
    tested = base is not None and row.first.trained_like(base.first)
    p = sign_flip_p(values) if tested else None
    return value, low, high, len(values), p, extra


def estimated(item, rows, row, line):
    """(value, lo, hi, n) of a number that is computed from measured steps and shares of time."""
    against = item.value(line).get("against")
    if line["quantity"] == "speedup":
        other = item.find(rows, (item.rows.index(against), 0))
        return row.estimated_speedup_to_target(other) if other else (None, None, None, 0)
    assert line["quantity"] == "time_to_target", f"no estimate of {line['quantity']} here"
    values = row.estimated_times_to_target()
    value, half = mean(values), half_width(values)
    if half is None:
        return value, None, None, len(values)
    return value, value - half, value + half, len(values)


def verdict(item, line, found, place):
    quantity = line["quantity"]
    value = item.value(line)
    n = found[3] if found else 0
    if n == 0:
        return "NOT RUN"
    middle, low, high, _, _, extra = found
    if line["reported"] == "":
        return ""
    row, base = extra["row"], extra["base"]
    ours, full = item.planned(item.shown, place), item.planned(item.full, place)
    same_run = None not in (full, ours) and keyed(full["config"]) == keyed(ours["config"])
    is_loss = quantity == "accuracy_loss"
    is_count = line["basis"] == "count" or quantity in ("compute_reduction",
                                                        "communication_reduction")
    by_construction = is_count and extra["same"]
    least = PROCESSES_FOR_A_WORD if quantity in SPEEDS else SEEDS_FOR_A_WORD
    tolerance = value.get("tolerance", item.report.get("margin", 1) if is_loss
                          else 1 if is_count else 0)
    obstacles = [
        item.scale == "smoke",
        not row.planned or base is not None and not base.planned,
        value.get("hardware") and quantity in TIMES,
        line["basis"] == "estimated",
        is_loss and item.departs(place),
        by_construction and ours and full and other_method(ours["config"], full["config"]),
    ]
    if not by_construction:
        if not is_loss:
            lossy = any(cell.run is not None and cell.run.result and cell.run.lossy
                        for cell in row.cells)
            obstacles += [item.scale != "full" and not same_run, lossy]
        obstacles += [extra.get("above"), n < least, low is None, tolerance <= 0]
    if any(obstacles):
        return "NOT COMPARABLE"
    low, high = (middle, middle) if low is None else (low, high)
    reported = float(line["reported"])
    if low >= reported - tolerance and high <= reported + tolerance:
        return "BY CONSTRUCTION" if by_construction else "REPRODUCED"
    return "DIFFERS" if low > reported + tolerance or high < reported - tolerance \
        else "NOT COMPARABLE"


def expected_paper(item, printed):
    rows = item.table_rows()
    results = []
    for line in printed:
        place = item.rows.index(line["row"]), item.columns.index(line["column"])
        reference = item.reference(line, place)
        against = item.value(line).get("against") == line["row"]
        found = None
        not_run = item.value(line).get("not_run")
        if not not_run and not against and not (reference and line["quantity"] not in SPEEDS):
            found = measured(item, rows, place, line)
        if found is not None and found[3] == 0:
            found = None
        word = "" if reference else verdict(item, line, found, place)
        results.append((found or (None, None, None, 0, None), word))
    adjusted = iter(holm([found[4] for found, _ in results if found[4] is not None]))
    for found, word in results:
        yield {"scale": item.scale, "measured": found[0], "measured_lo": found[1],
               "measured_hi": found[2], "n": found[3], "verdict": word, "p": found[4],
               "p_holm": None if found[4] is None else next(adjusted)}
