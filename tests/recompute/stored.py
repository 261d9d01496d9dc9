"""What a database holds, read from its tables and not from its views, and its rows: cells with
equal settings, judged by the statistics in samples.py."""

import collections
import json
import math
import os
import sqlite3

import numpy

from samples import holm, mean, ratio_of_logs, ratio_of_ratios, sign_flip_p

RESULT = ("finished", "diverged")
CUT_OFF = ("timeout", "oom", "interrupted", "lost")  # from outside
SECOND = 1e9  # ns
# What a shorter training of the same recipe has otherwise.
OF_LENGTH = ("epochs", "last_epoch", "eval_every", "decay", "decay_epochs", "milestones",
             "peak_epoch", "warmup_epochs", "first_bias_epochs", "grow_from", "grow_until")
PRODUCTS = ("forward", "data_gradient", "weight_gradient")


class Run:
    """The attempt of a cell that counts: its last with a result, else its last."""

    def __init__(self, row):
        self.__dict__.update(dict(row))
        self.finished = self.state == "finished"
        self.result = self.state in RESULT
        self.cut_off = self.state in CUT_OFF


class Cell:
    def __init__(self, row):
        self.__dict__.update(dict(row))
        self.config = json.loads(self.config)
        self.run = None
        setting = dict(self.config)
        for key in ("seed", "purpose", "method", "schedule", "network", "dataset", "blocks",
                    "block_steps", "timed_against", "selection"):
            setting.pop(key, None)
        # An arm is a method, a selection of examples, or both.
        self.selection = self.config.get("selection", "")
        self.all_settings = json.dumps(setting, sort_keys=True)
        setting["recipe"] = {key: value for key, value in setting["recipe"].items()
                             if key != "learning_rate"}
        self.settings_but_rate = json.dumps(setting, sort_keys=True)
        self.timed_against = self.config.get("timed_against", "")
        self.stock = self.config.get("operators") == "library"

    @property
    def trained(self):
        return (self.network, self.dataset, self.all_settings, self.schedule, self.method,
                self.selection)

    @property
    def setting(self):
        """The rate of a tuned row belongs to it, like its method."""
        return self.settings_but_rate if self.tuned else self.all_settings

    @property
    def short_seconds(self):
        """Trained on a GPU by a program that timed not all of it."""
        if self.purpose != "accuracy" or self.device == "cpu" or self.run is None:
            return False
        engine = json.loads(self.run.environment).get("engine") or {}
        return "device_time" not in engine

    def trained_like(self, other):
        """Whether its accuracy may be compared with the other's: steps may be graphs or none."""
        def without_graphs(cell):
            return {key: value for key, value in json.loads(cell.all_settings).items()
                    if key != "graphs"}
        return self.setting == other.setting or without_graphs(self) == without_graphs(other)

    @property
    def key(self):
        return (self.network, self.dataset, self.setting, self.schedule, self.method,
                self.selection)

    @property
    def dense(self):
        return self.method == "dense" and not self.selection


def occasion_of(cell):
    """Day and build of a timing."""
    engine = json.loads(cell.run.environment).get("engine") or {}
    return cell.run.started_utc[:10], engine.get("library") or cell.run.git_sha


def arm_of(config):
    """What the trials of its learning rate have in common with a run."""
    arm = {key: value for key, value in config.items()
           if key not in ("purpose", "split", "blocks", "block_steps", "timed_against", "stop_at",
                          "patience", "seed")}
    arm["recipe"] = {key: value for key, value in arm["recipe"].items()
                     if key not in ("learning_rate", *OF_LENGTH)}
    return json.dumps(arm, sort_keys=True)


def encloses(trials, rate):
    """Whether a rate is the best by the mean, with worse ones on both sides, and two seeds have
    their own best inside, too. `trials`: by rate, by seed."""
    seeds = {seed for by_seed in trials.values() for seed in by_seed}
    complete = {each: by_seed for each, by_seed in trials.items() if by_seed.keys() == seeds}
    if rate not in complete:
        return False
    rates = sorted(complete)
    table = numpy.array([[complete[each][seed] for seed in sorted(seeds)] for each in rates])
    means = table.mean(axis=1)
    best = int(numpy.argmax(means))  # the first, so the lowest, of equals
    ends = numpy.maximum(table[0], table[-1])
    inside = (table.max(axis=0) > ends).sum()
    return (rates[best] == rate and 0 < best and means[best] > max(means[0], means[-1]) and
            inside >= 2)


# Data sets whose classes are not ten.
CLASSES = {"cifar100": 100, "imagenet": 1000}


def guesses(accuracy, dataset):
    return accuracy * CLASSES.get(dataset, 10) < 1.2


def length_of(recipe):
    """Of a training, in epochs."""
    return recipe["epochs"] - 1 + recipe.get("last_epoch", 1)


def see_tuned(cells):
    """What was tuned under one name is so under all."""
    tuned = {cell.trained for cell in cells if cell.tuned}
    for cell in cells:
        cell.tuned = cell.trained in tuned


class Store:
    """Cells under the first experiment that has them, in the order of those; what a later version
    superseded only if asked for. `experiment`: its name, or a pattern such as "*"; without one all
    but the trials of tunings. `tuned_by`: the experiment whose tuning counts, not each one's."""

    include_tainted = False  # whether timings that were disturbed count

    def __init__(self, path, experiment=None, superseded=False, tuned_by=None):
        db = sqlite3.connect(f"file:{os.path.abspath(path)}?immutable=1", uri=True)
        db.row_factory = sqlite3.Row
        self.db = db
        cells = {}
        for row in db.execute(
                "SELECT c.*, m.method_label, m.schedule_label, m.network_label, e.experiment_id, "
                "m.position, e.name AS experiment, e.target_value, "
                "EXISTS(SELECT 1 FROM experiment t "
                "WHERE t.name = coalesce(?2, e.name) || ':tune') AS tuned "
                "FROM cell c "
                "JOIN experiment_cell m USING(cell_id) "
                "JOIN experiment e USING(experiment_id) "
                # Tunings are shown where one asks for them.
                "WHERE (?1 IS NULL AND e.name NOT LIKE '%:tune') OR e.name GLOB ?1 "
                "ORDER BY e.experiment_id", (experiment, tuned_by)):
            if row["cell_id"] not in cells:
                cells[row["cell_id"]] = Cell(row)
            cell = cells[row["cell_id"]]
            cell.tuned |= row["tuned"]
            if row["target_value"] is not None:
                cell.target_value = row["target_value"]
        self.waiting = {tuple(row) for row in db.execute(
            "SELECT m.method_label, m.schedule_label, m.network_label FROM experiment_cell m "
            "JOIN experiment e USING(experiment_id) WHERE m.purpose = 'accuracy' AND "
            "m.excluded LIKE '%not tuned yet%' AND (?1 IS NULL OR e.name GLOB ?1)",
            (experiment,))}
        see_tuned(cells.values())
        for row in db.execute(
                "SELECT r.*, coalesce(d.lossy, 0) AS lossy, b.dirty, b.git_sha, h.hostname "
                "FROM run r "
                "JOIN build b USING(build_id) JOIN host h USING(host_id) "
                "LEFT JOIN dataset d USING(dataset_id) ORDER BY r.cell_id, r.attempt"):
            cell = cells.get(row["cell_id"])
            if cell is None:
                continue
            run = Run(row)
            if cell.run is None or run.result or not cell.run.result:
                cell.run = run
        newest = {}
        for cell in cells.values():
            identity = self.identity(cell)
            newest[identity] = max(newest.get(identity, 0), cell.cell_id)
        kept = [cell for cell in cells.values()
                if superseded or newest[self.identity(cell)] == cell.cell_id]
        self.cells = sorted(kept, key=lambda cell: (cell.experiment_id, cell.position))
        self.curves = collections.defaultdict(list)
        for row in db.execute("SELECT * FROM metric WHERE value IS NOT NULL ORDER BY step"):
            self.curves[row["run_id"], row["name"], row["split"]].append(row)
        self.blocks = collections.defaultdict(dict)
        for row in db.execute("SELECT * FROM timing_block ORDER BY run_id, pair"):
            pair = self.blocks[row["run_id"]].setdefault(row["pair"], {})
            pair[row["arm"]] = row["ns"] / row["steps"]
        # By arm, by recipe without its rate: (epochs, trials by rate, by seed).
        self.trials = collections.defaultdict(dict)
        for row in db.execute(
                "SELECT c.config, r.run_id, r.state FROM cell c JOIN run r USING(cell_id) "
                "WHERE c.purpose = 'accuracy' AND r.state IN ('finished', 'diverged') AND "
                "cell_id IN (SELECT cell_id FROM experiment_cell "
                "JOIN experiment USING(experiment_id) WHERE name LIKE '%:tune') "
                "ORDER BY r.attempt"):
            held_out = self.curves[row["run_id"], "accuracy", "holdout"]
            if row["state"] != "diverged" and not held_out:
                continue
            config = json.loads(row["config"])
            recipe = dict(config["recipe"])
            rate = recipe.pop("learning_rate")
            _, trials = self.trials[arm_of(config)].setdefault(
                json.dumps(recipe, sort_keys=True), (length_of(recipe), {}))
            accuracy = 0.0 if row["state"] == "diverged" else held_out[-1]["value"]
            trials.setdefault(rate, {})[config["seed"]] = \
                0.0 if guesses(accuracy, config["dataset"]) else accuracy
        self.layers = collections.defaultdict(list)
        for row in db.execute("SELECT * FROM layer_metric"):
            self.layers[row["run_id"]].append(row)
        # An immutable file stays at its schema, which may be older than this table.
        counted = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'layer_traffic'").fetchone()
        self.traffic = {run: (sent, dense) for run, sent, dense in db.execute(
            "SELECT run_id, sum(bytes), sum(bytes_dense) FROM layer_traffic GROUP BY 1"
        )} if counted else {}
        for run, rows in self.layers.items():
            self.layers[run] = without_gradient_of_images(rows)

    def rate_enclosed(self, config):
        """By the longest trials that have its rate and are no longer than the training."""
        rate = config["recipe"]["learning_rate"]
        tried = [(epochs, trials) for epochs, trials in self.trials[arm_of(config)].values()
                 if rate in trials and epochs <= length_of(config["recipe"]) + 1e-9]
        return bool(tried) and encloses(max(tried, key=lambda each: each[0])[1], rate)

    def untuned(self, rows):
        """How many methods were declared and have no row yet."""
        known = {(cell.method_label, cell.schedule_label, cell.network_label)
                 for row in rows for cell in row.cells}
        exact = {cell.method_label for row in rows if row.first.dense for cell in row.cells}
        return sum(arm not in known and arm[0] not in exact and
                   not arm[0].startswith(("dense in the time of ", "dense for "))
                   for arm in self.waiting)

    def counts(self, run):
        return run.timing_valid or self.include_tainted

    @staticmethod
    def identity(cell):
        timing = (cell.config.get("blocks"), cell.config.get("block_steps"), cell.timed_against)
        return cell.key + (cell.purpose, cell.seed) + timing

    def accuracies(self, run, split):
        return self.curves[run.run_id, "accuracy", split]

    def judged(self, cell):
        held_out = self.accuracies(cell.run, "holdout") if cell.split == "holdout" else []
        return held_out or self.accuracies(cell.run, "test")


def without_gradient_of_images(rows):
    """Older runs counted a data gradient of the layer that reads the images; nobody computes it."""
    names = {row["layer"] for row in rows}
    first = next((name for name in ("stem", "conv1", "conv1_1", "linear1") if name in names), None)
    return [row for row in rows
            if (row["layer"], row["product"]) != (first, "data_gradient")]


class Row:
    def __init__(self, store, cells):
        self.store, self.cells, self.first = store, cells, cells[0]
        self.dense = None
        targets = [cell.target_value for cell in cells if cell.target_value is not None]
        self.target = targets[-1] if targets else None

    def trained(self, diverged=False):
        """Its accuracy cells with a run that finished; with `diverged` also those."""
        return [cell for cell in self.cells if cell.purpose == "accuracy" and cell.run is not None
                and (cell.run.finished or diverged and cell.run.result)]

    def final(self, cell):
        tests = self.store.accuracies(cell.run, "test")
        return 100 * tests[-1]["value"] if tests else None

    def best(self, cell):
        """The test accuracy at the first evaluation that what judges calls best."""
        by = self.store.judged(cell)
        if not by:
            return None
        step = by[int(numpy.argmax([point["value"] for point in by]))]["step"]
        at = [point for point in self.store.accuracies(cell.run, "test") if point["step"] == step]
        return 100 * at[0]["value"] if at else None

    def finals(self):
        return [value for value in map(self.final, self.trained()) if value is not None]

    def bests(self):
        return [value for value in map(self.best, self.trained()) if value is not None]

    def partner_of(self, cell, dense=None, any_machine=True):
        """The dense cell of its seed and data: of its machine, else of any."""
        alike = [other for other in (dense or self.dense).cells
                 if other is not cell and other.purpose == "accuracy" and other.run is not None and
                 (other.seed, other.run.dataset_id) == (cell.seed, cell.run.dataset_id)]
        here = [other for other in alike if other.run.host_id == cell.run.host_id]
        return next(iter(here or (alike if any_machine else [])), None)

    def pairs(self, dense=None):
        """(cell, dense cell) of one seed and data, both of which finished."""
        dense = dense or self.dense
        if dense is None or dense is self:
            return []
        found = []
        for cell in self.trained():
            other = self.partner_of(cell, dense)
            if other is not None and other.run.finished:
                found.append((cell, other))
        return found

    def losses(self, dense=None, best=False):
        value = self.best if best else self.final
        pairs = [(value(cell), value(other)) for cell, other in self.pairs(dense)]
        return [theirs - ours for ours, theirs in pairs if ours is not None and theirs is not None]

    def on_the_way(self):
        """Trainings with a result, then of seeds without one those that were cut off from outside.
        (No committed store has trainings that stop at a target.)"""
        trained = self.trained(diverged=True)
        seeds = {cell.seed for cell in trained}
        return trained + [cell for cell in self.cells
                          if cell.purpose == "accuracy" and cell.run is not None and
                          cell.run.cut_off and cell.seed not in seeds]

    def times_to_target(self):
        """(seconds of the runs that reached its target, how many tried, the longest training)."""
        reached, tried, longest = [], 0, 0
        for cell in self.on_the_way():
            points = self.store.judged(cell)
            if cell.run.cut_off and not points:
                continue
            tried += 1
            watched = points[-1]["train_ns"] if cell.run.cut_off else cell.run.train_ns or 0
            longest = max(longest, watched / SECOND)
            if self.target is None:
                continue
            hits = [point for point in points if point["value"] >= self.target]
            reached += [hits[0]["train_ns"] / SECOND] if hits else []
        return reached, tried, longest

    def timings(self):
        """Its timing cells that count: not disturbed, and all of one kind of comparison."""
        timed = [cell for cell in self.cells if cell.purpose == "timing" and cell.run is not None
                 and cell.run.finished]
        if any(cell.timed_against for cell in timed):
            timed = [cell for cell in timed if cell.timed_against]
        return [cell for cell in timed if self.store.counts(cell.run)]

    def block_pairs(self):
        """For each timing run that has any: its pairs of ns a step, (dense, approximated)."""
        groups = []
        for cell in self.timings():
            pairs = [(pair["dense"], pair["approx"])
                     for pair in self.store.blocks[cell.run.run_id].values() if len(pair) == 2]
            if pairs:
                groups.append(pairs)
        return groups

    def machines_timed(self):
        return len({cell.run.host_id for cell in self.timings()})

    def occasions(self):
        """Days and builds of its timings."""
        return len({occasion_of(cell) for cell in self.timings()})

    def rates_enclosed(self):
        """Its learning rates and those of its exact training, where they were tuned."""
        return all(row.own_rates_enclosed() for row in (self, self.dense) if row is not None)

    def own_rates_enclosed(self):
        return all(self.store.rate_enclosed(cell.config) for cell in self.cells if cell.tuned)

    def speedup(self):
        """Over processes: one number each, the mean over its pairs of blocks."""
        return ratio_of_logs([mean([math.log(dense / ours) for dense, ours in pairs])
                              for pairs in self.block_pairs()])

    def speedup_vs_stock(self, rows):
        """(exact / ours) / (exact / stock), the stock timing being one of the same step on the same
        machine; the exact step stands at 1."""
        is_exact = self.first.dense and not self.against()
        if self.first.stock or not is_exact and not self.speedup()[3]:
            return None, None, None
        cells = self.trained(diverged=True) if is_exact else self.timings()
        hosts = {cell.run.host_id for cell in cells}
        for stock in rows:
            ratio, low, high, n = stock.speedup()
            if not stock.first.stock or not n or self.step() != stock.step() or len(hosts) != 1 \
                    or hosts != {cell.run.host_id for cell in stock.timings()}:
                continue
            ours = (1.0, 1.0, 1.0) if is_exact else self.speedup()[:3]
            return ratio_of_ratios(ours, (ratio, low, high))
        return None, None, None

    def against(self):
        return next((cell.timed_against for cell in self.cells if cell.timed_against and
                     cell.run is not None and cell.run.finished), "")

    def step(self):
        """What makes the exact step of its speedup the same as another's."""
        config = self.first.config
        return (self.against() or self.first.network, self.first.dataset,
                *(config.get(key) for key in ("batch_size", "precision", "threads", "device")),
                *(config["recipe"].get(key) for key in ("image_size", "optimizer")))

    def backward_speedup(self):
        """The same of the gradients of the convolutions alone, whose pairs share a step."""
        logs = []
        for cell in self.timings():
            dense, ours = ({point["step"]: point["value"]
                            for point in self.store.curves[cell.run.run_id, "backward_ns", arm]
                            if point["value"] > 0} for arm in ("dense", "approx"))
            pairs = [math.log(dense[step] / ours[step]) for step in sorted(dense) if step in ours]
            if pairs:
                logs.append(mean(pairs))
        return ratio_of_logs(logs)

    def estimated_speedup(self):
        """Of a step whose products take time in proportion to the work that is left of them."""
        return 1.0 if self.first.dense else self.bounds()[1]

    def steps_to_target(self):
        """By seed, of the trainings that reached it."""
        steps = {}
        for cell in self.on_the_way():
            hits = [point["step"] for point in self.store.judged(cell)
                    if self.target is not None and point["value"] >= self.target]
            if hits:
                steps[cell.seed] = hits[0]
        return steps

    def estimated_times_to_target(self):
        dense = [dense for pairs in self.block_pairs() for dense, _ in pairs]
        speedup = self.estimated_speedup()
        if not dense or speedup is None:
            return []
        return [steps * float(numpy.median(dense)) / SECOND / speedup
                for steps in self.steps_to_target().values()]

    def estimated_speedup_to_target(self, other):
        """Over seeds that both have: their steps, each divided by its estimated speedup."""
        ours, theirs = self.estimated_speedup(), other.estimated_speedup()
        if ours is None or theirs is None:
            return ratio_of_logs([])
        steps, others = self.steps_to_target(), other.steps_to_target()
        return ratio_of_logs([math.log(others[seed] / theirs / (steps[seed] / ours))
                              for seed in steps if seed in others])

    def shared_speedup(self):
        logs = [math.log(other.run.train_ns / cell.run.train_ns) for cell, other in self.pairs()
                if other.run.host_id == cell.run.host_id and
                not cell.short_seconds and not other.short_seconds and
                (cell.run.train_ns or 0) > 0 and (other.run.train_ns or 0) > 0]
        return ratio_of_logs(logs)

    def bounds(self):
        """(ceiling, estimate) of the speedup: medians over its timing runs that have counts."""
        return tuple(float(numpy.median(values)) if values else None
                     for values in self.bounds_of_runs())

    def bounds_of_runs(self):
        """(ceilings, estimates), one a timing run. Several ranks have none: they gain by what they
        do not send, too, and a selection by whole examples, which layers do not count."""
        ceilings, estimates = [], []
        if self.first.dense or self.first.selection or self.first.config.get("ranks", 1) > 1:
            return ceilings, estimates
        for cell in self.cells:
            run = cell.run
            if cell.purpose != "timing" or run is None or not (
                    run.finished and self.store.counts(run)):
                continue
            layers = self.store.layers[run.run_id]
            touched = saved = phases = 0
            for product in PRODUCTS:
                shares = self.store.curves[run.run_id, "phase_share", product]
                counts = [row for row in layers if row["product"] == product]
                dense = sum(row["macs_dense"] for row in counts)
                phases += len(shares)
                if not shares or dense <= 0:
                    continue
                share = shares[-1]["value"]
                done = sum(row["macs_done"] for row in counts)
                methods = sum(row["macs_dense"] for row in counts if row["method"] != "dense")
                touched += share * methods / dense
                saved += share * (1 - done / dense)
            if layers and phases and touched < 1 and saved < 1:
                ceilings.append(1 / (1 - touched))
                estimates.append(1 / (1 - saved))
        return ceilings, estimates

    def left_out(self, cell, of_approximated=False):
        """Percent of the multiply-accumulates that its run left out, None without counts."""
        layers = [layer for layer in self.store.layers[cell.run.run_id]
                  if not of_approximated or layer["method"] != "dense"]
        dense = sum(layer["macs_dense"] for layer in layers)
        return 100 * (1 - sum(layer["macs_done"] for layer in layers) / dense) if dense else None

    def reductions(self, of_approximated=False, purpose="accuracy"):
        if self.first.selection:
            return []
        values = [self.left_out(cell, of_approximated) for cell in self.cells
                  if cell.purpose == purpose and cell.run is not None and cell.run.finished]
        return [value for value in values if value is not None]

    def traffic_reductions(self):
        """Percent of the bytes of exact training that each training's ranks did not send."""
        sums = [self.store.traffic.get(cell.run.run_id, (0, 0)) for cell in self.trained()]
        return [100 * (1 - sent / dense) for sent, dense in sums if dense]

    def realisation(self):
        """Share of the time saved over share of the work saved, with the speedup's interval."""
        timed = [self.left_out(cell) for cell in self.timings()]
        saved = [value for value in timed if value is not None] or self.reductions()
        ratio, low, high, n = self.speedup()
        elsewhere = any(cell.timed_against and cell.run is not None and cell.run.finished
                        for cell in self.cells)
        if elsewhere or not n or not saved or mean(saved) <= 0:
            return None, None, None, 0
        return tuple(None if each is None else 100 * (1 - 1 / each) / mean(saved)
                     for each in (ratio, low, high)) + (n,)

    def images_per_s(self, rows):
        """(median, whether it is of timing runs, the median of each run)."""
        batch = self.first.batch_size
        runs = [[ours for _, ours in pairs] for pairs in self.block_pairs()]
        if not runs and self.dense is self:
            runs = [[dense for dense, _ in pairs] for row in rows if row.dense is self
                    for pairs in row.block_pairs()]
        isolated = bool(runs)
        if not runs:
            runs = [[cell.run.step_ns_median] for cell in self.trained()
                    if cell.run.step_ns_median]
        speeds = [[batch * SECOND / ns for ns in run] for run in runs]
        if not speeds:
            return None, None, []
        return (float(numpy.median(sum(speeds, []))), int(isolated),
                [float(numpy.median(run)) for run in speeds])


def rows_of(store, cells=None):
    groups = {}
    for cell in store.cells if cells is None else cells:
        groups.setdefault(cell.key, []).append(cell)
    rows = [Row(store, cells) for cells in groups.values()]
    for row in rows:
        alike = [other for other in rows
                 if other.first.dense and other.first.key[:2] == row.first.key[:2]]
        same = [other for other in alike if other.first.setting == row.first.setting] or [
            other for other in alike if other.first.all_settings == row.first.all_settings]
        row.dense = same[-1] if same else None
    return rows


def holm_over(rows):
    """Each row's (p, adjusted p); adjusted over all rows that were declared with accuracies, and
    over those that wait for their learning rates."""
    p = [sign_flip_p(row.losses()) for row in rows]
    declared = [value is not None or not row.first.dense and
                any(cell.purpose == "accuracy" for cell in row.cells)
                for row, value in zip(rows, p)]
    tests = [value for value, is_one in zip(p, declared) if is_one]
    untuned = rows[0].store.untuned(rows) if rows else 0
    adjusted = iter(holm_of_declared(tests + untuned * [None]))
    return [(value, next(adjusted) if is_one else None) for value, is_one in zip(p, declared)]


def holm_of_declared(p):
    """A test that was not made counts as 1."""
    adjusted = holm([1 if value is None else value for value in p])
    return [None if value is None else its for value, its in zip(p, adjusted)]


def in_state(row, *states, purpose=None):
    return sum(cell.run is not None and cell.run.state in states for cell in row.cells
               if purpose in (None, cell.purpose))
