"""What `report table`, `tta` and `pairs` should say: a dictionary a row."""

import math

import numpy
import scipy.stats

from samples import (half_width, mean, one_sided_bounds, ratio_of_logs, ratio_of_pairs,
                     ratio_of_ratios, sign_flip_p)
from stored import (OF_LENGTH, SECOND, holm_of_declared, holm_over, in_state, length_of,
                    occasion_of)

SEEDS_FOR_A_WORD = 6  # fewer can never show a difference at 5 %
PROCESSES_FOR_A_WORD = 10
PROCESSES_FOR_AN_EARLY_WORD = 5
LEAST_GAIN = 1.02


def triple(name, ratio):
    return {name: ratio[0], name + "_lo": ratio[1], name + "_hi": ratio[2]}


def spread(name, of_runs):
    return {name + "_half": half_width(of_runs), name + "_runs": len(of_runs) or None}


def labels(row):
    first = row.first
    return {"network": first.network_label, "dataset": first.dataset,
            "schedule": first.schedule_label, "method": first.method_label}


def expected_table(rows):
    tests = holm_over(rows)
    for row, (p, adjusted) in zip(rows, tests):
        finals, bests, losses = row.finals(), row.bests(), row.losses()
        reached, tried, longest = row.times_to_target()
        images, isolated, of_runs = row.images_per_s(rows)
        speedup, (ceiling, estimate) = row.speedup(), row.bounds()
        ceilings, estimates = row.bounds_of_runs()
        reductions = row.reductions() or row.reductions(purpose="timing")
        has_target = row.target is not None
        finished, diverged = in_state(row, "finished"), in_state(row, "diverged")
        failed = in_state(row, "failed", "oom", "timeout")
        yield {
            **labels(row), "n": len(finals),
            "accuracy_pct": mean(finals), "accuracy_pct_half": half_width(finals),
            "accuracy_pct_sd": float(numpy.std(finals, ddof=1)) if len(finals) > 1 else None,
            "best_accuracy_pct": mean(bests), "best_accuracy_pct_half": half_width(bests),
            "loss_pp": mean(losses), "loss_pp_half": half_width(losses),
            "loss_pairs": len(losses), "loss_p": p, "loss_p_holm": adjusted,
            **triple("speedup", speedup), "speedup_runs": speedup[3],
            **triple("speedup_vs_stock", row.speedup_vs_stock(rows)),
            "speedup_block_pairs": sum(len(pairs) for pairs in row.block_pairs()),
            **triple("speedup_not_isolated", row.shared_speedup()),
            "target": row.target, "time_to_target_s": mean(reached) if has_target else None,
            "target_reached": len(reached) if has_target else None,
            "target_runs": tried if has_target else None,
            "target_budget_s": longest if has_target and tried else None,
            "time_to_target_s_half": half_width(reached) if has_target else None,
            "images_per_s": images, "images_per_s_isolated": isolated,
            **spread("images_per_s", of_runs), **spread("speedup_ceiling", ceilings),
            **spread("speedup_estimated", estimates),
            "planned": len(row.cells), "finished": finished, "diverged": diverged,
            "failed": failed, "missing": len(row.cells) - finished - diverged - failed,
            "speedup_ceiling": ceiling, "speedup_estimated": estimate,
            "compute_reduction_pct": mean(reductions),
            "compute_reduction_pct_half": half_width(reductions),
            **triple("realisation", row.realisation()),
        }


class TargetRow:
    """The attempts of a row at a target, and how long all runs that finished were watched."""

    def __init__(self, row, share):
        self.row, self.share = row, share
        self.times, self.arrived, self.diverged, self.watched, self.efforts = [], [], [], [], {}
        self.cut_off = 0
        for cell in row.on_the_way():
            points = row.store.judged(cell)
            if not points:
                if cell.run.state == "diverged":  # it never arrives
                    self.times.append((cell.run.train_ns or 0) / SECOND)
                    self.arrived.append(False)
                    self.diverged.append(True)
                    self.efforts[cell.cell_id] = None
                continue
            hits = [point for point in points if point["value"] >= share]
            if cell.run.finished:
                self.watched.append(points[-1]["train_ns"] / SECOND)
            at = hits[0] if hits else points[-1]
            seconds = at["train_ns"] / SECOND
            self.times.append(seconds)
            self.arrived.append(bool(hits))
            self.diverged.append(not hits and cell.run.state == "diverged")
            self.cut_off += not hits and cell.run.cut_off
            came = hits and seconds > 0 and at["step"] > 0
            self.efforts[cell.cell_id] = (at["step"], seconds) if came else None


def target_share(row, points):
    if row.target is not None:
        return row.target
    if row.dense is None:
        return None
    best = [max((point["value"] for point in row.store.judged(cell)), default=0)
            for cell in row.dense.trained()]
    return float(numpy.median(best)) - points(row) / 100 if best else None


def runs_of_target(row):
    """How many exact trainings a derived target rests on; None for one that is told."""
    return len(row.dense.trained()) if row.target is None else None


def wilson(successes, n):
    interval = scipy.stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
    return interval.low, interval.high


def survival(times, arrived, budget):
    """(median, restricted mean, its error) by Kaplan and Meier, Greenwood's variance."""
    steps, survivors, points = [], 1.0, sorted(zip(times, arrived))
    for time in sorted({time for time, hit in points if hit}):
        risk = sum(other >= time for other, _ in points)
        hits = sum(other == time and hit for other, hit in points)
        survivors *= 1 - hits / risk
        steps.append((time, survivors, risk, hits))
    if steps:  # SciPy's curve is the same
        censored = scipy.stats.CensoredData(
            uncensored=[time for time, hit in points if hit],
            right=[time for time, hit in points if not hit])
        curve = scipy.stats.ecdf(censored).sf
        for time, value, _, _ in steps:
            assert abs(float(curve.evaluate(time)) - value) < 1e-12
    median = next((time for time, value, _, _ in steps if value <= 0.5 + 1e-12), None)
    if not times or not (budget <= max(times) or steps and steps[-1][1] == 0):
        return median, None, None
    edges = [0.0] + [time for time, *_ in steps if time < budget] + [budget]
    heights = [1.0] + [value for time, value, *_ in steps if time < budget]
    areas = [height * (right - left) for height, left, right in zip(heights, edges, edges[1:])]
    variance = sum(sum(areas[at + 1:]) ** 2 * hits / (risk * (risk - hits))
                   for at, (time, _, risk, hits) in enumerate(steps)
                   if time < budget and risk > hits)
    error = math.sqrt(variance) if len(times) > 1 and len(edges) > 2 else None
    return median, sum(areas), error


def median_interval(times, arrived):
    """By the sign test: SciPy's quantile of the number of times below the median."""
    outside = int(scipy.stats.binom.ppf(0.025, len(times), 0.5))
    if not outside:
        return None, None
    greatest = sorted((time if hit else math.inf for time, hit in zip(times, arrived)))[-outside]
    return sorted(times)[outside - 1], greatest if math.isfinite(greatest) else None


def restarts_half(times, arrived):
    """Of all time over the successes, by leaving one attempt out at a time."""
    n, total, hits = len(times), sum(times), sum(arrived)
    if hits < 2:
        return None
    without = [(total - time) / (hits - hit) for time, hit in zip(times, arrived)]
    error = math.sqrt((n - 1) / n * sum((each - mean(without)) ** 2 for each in without))
    return scipy.stats.t.ppf(0.975, n - 1) * error


def product_of(first, second):
    if first[0] is None or second[0] is None:
        return None, None, None
    middle = math.log(first[0] * second[0])
    if first[1] is None or second[1] is None:
        return math.exp(middle), None, None
    low = math.hypot(math.log(first[0] / first[1]), math.log(second[0] / second[1]))
    high = math.hypot(math.log(first[2] / first[0]), math.log(second[2] / second[0]))
    return math.exp(middle), math.exp(middle - low), math.exp(middle + high)


def target_rows(rows, points):
    """TargetRow of each row that has a target, with its budget and its ratios against dense."""
    found = []
    for row in rows:
        share = target_share(row, points)
        if share is None or row.first.method_label.startswith((CONTROL, SHORTER)):
            continue
        line = TargetRow(row, share)
        if line.times:
            found.append(line)
    budgets, longest, hosts = {}, {}, {}
    for line in found:
        group = line.row.first.key[:3]
        longest[group] = max(longest.get(group, 0), max(line.times))
        hosts.setdefault(group, set()).update(cell.run.host_id for cell in line.row.on_the_way())
        if line.watched:
            budgets[group] = min(budgets.get(group, math.inf), min(line.watched))
    found = [line for line in found if longest[line.row.first.key[:3]] > 0]
    for line in found:
        row, group = line.row, line.row.first.key[:3]
        line.budget, line.machines = budgets.get(group, longest[group]), len(hosts[group])
        line.restart = sum(line.times) / sum(line.arrived) if any(line.arrived) else None
        line.restart_half = restarts_half(line.times, line.arrived)
        line.times = [max(time, line.budget) if diverged else time
                      for time, diverged in zip(line.times, line.diverged)]
        line.steps = line.step_time = line.speedup = (None, None, None)
        line.pairs, line.both, line.alike = 0, 0, False
        if row.dense is None or row.dense is row:
            continue
        reference = TargetRow(row.dense, line.share).efforts
        timed = row.speedup()
        pairs = []
        for cell in row.cells:
            if cell.cell_id not in line.efforts:
                continue
            other = row.partner_of(cell, any_machine=timed[0] is not None)
            if other is None or other.cell_id not in reference:
                continue
            line.pairs += 1
            if reference[other.cell_id] and line.efforts[cell.cell_id]:
                pairs.append((reference[other.cell_id], line.efforts[cell.cell_id]))
        line.both = len(pairs)
        line.alike = bool(pairs) and line.both == line.pairs and \
            all(dense[0] == own[0] for dense, own in pairs)
        if line.both == line.pairs:
            line.steps = ratio_of_pairs([dense[0] for dense, _ in pairs],
                                        [own[0] for _, own in pairs])
        told = line.steps[0] is not None and not line.alike
        short = any(cell.short_seconds for cell in row.on_the_way() + row.dense.on_the_way())
        if timed[0] is not None:
            line.step_time = timed
            line.speedup = product_of(line.steps, timed) if told else line.speedup
        elif not short:
            line.step_time = ratio_of_pairs([dense[1] / dense[0] for dense, _ in pairs],
                                            [own[1] / own[0] for _, own in pairs])
            if told:
                line.speedup = ratio_of_pairs([dense[1] for dense, _ in pairs],
                                              [own[1] for _, own in pairs])
    return found


def expected_tta(rows, points):
    for line in target_rows(rows, points):
        n, reached = len(line.times), sum(line.arrived)
        low, high = wilson(reached, n)
        median, restricted, error = survival(line.times, line.arrived, line.budget)
        shortest, greatest = median_interval(line.times, line.arrived)
        budget = line.budget
        if line.machines > 1:  # what all were watched for is then no one time
            restricted = error = budget = None
        yield {
            **labels(line.row), "target_pct": 100 * line.share,
            "target_dense_runs": runs_of_target(line.row), "target_stored": 0,
            "runs": n, "reached": reached,
            "fraction": reached / n, "fraction_lo": low, "fraction_hi": high, "median_s": median,
            "median_s_lo": shortest, "median_s_hi": greatest,
            "restricted_mean_s": restricted, "restricted_mean_se": error,
            "restricted_mean_half": error and scipy.stats.norm.ppf(0.975) * error,
            "cut_off": line.cut_off, "stopped_at_target": 0, "out_of_patience": 0,
            "budget_s": budget, "restart_s": line.restart, "restart_s_half": line.restart_half,
            "pairs": line.pairs, "pairs_arrived": line.both, "same_evaluation": int(line.alike),
            **triple("steps_ratio", line.steps), **triple("step_time_ratio", line.step_time),
            **triple("speedup", line.speedup),
        }


def is_unsound(row):
    """However many processes timed it."""
    _, low, _, _ = row.speedup()
    ceiling, _ = row.bounds()
    return row.machines_timed() > 1 or ceiling is not None and low is not None and low > ceiling


def is_sound(row, early=False):
    enough = PROCESSES_FOR_AN_EARLY_WORD if early else PROCESSES_FOR_A_WORD
    return row.speedup()[3] >= enough and not is_unsound(row)


def deciding_ends(ratio, low, high, processes, occasions):
    """The interval that decides: by fewer than ten processes one of 99.9 %, of one day and build at
    least 3 % to either side."""
    early, usual = (scipy.stats.t.ppf((1 + confidence) / 2, processes - 1)
                    for confidence in (0.999, 0.95))
    wider = early / usual if processes < PROCESSES_FOR_A_WORD else 1
    spread = math.log(1.03) if occasions < 2 else 0
    return (ratio / math.exp(max(wider * math.log(ratio / low), spread)),
            ratio * math.exp(max(wider * math.log(high / ratio), spread)))


def speed_word(row, over_best, processes, occasions):
    ratio, low, high = over_best
    if not is_sound(row, early=True) or low is None or processes < PROCESSES_FOR_AN_EARLY_WORD:
        return "undecided"
    processes = min(processes, row.speedup()[3])
    low, high = deciding_ends(ratio, low, high, processes, occasions)
    return "no" if high < LEAST_GAIN else "yes" if low > 1 else "undecided"


def loss_word(row, share_of_error, against=None):
    losses = row.losses(against)
    if in_state(row, "diverged", purpose="accuracy"):
        return "no"
    if len(losses) < SEEDS_FOR_A_WORD:
        return "undecided"
    exact = [100 - row.final(other) for cell, other in row.pairs(against)
             if row.final(cell) is not None and row.final(other) is not None]
    low, high = one_sided_bounds([loss - share_of_error * error
                                  for loss, error in zip(losses, exact)])
    return "yes" if high < 0 else "no" if low > 0 else "undecided"


def exact_step(rows, precision, host):
    """(in ns, over the processes that timed a method against it on a machine; their occasions)."""
    timed = [(cell, blocks)
             for row in rows if row.first.config["precision"] == precision and not row.against()
             for cell in row.timings() if cell.run.host_id == host
             for blocks in [[pair for pair in row.store.blocks[cell.run.run_id].values()
                             if len(pair) == 2]] if blocks]
    return (ratio_of_logs([mean([math.log(pair["dense"]) for pair in blocks])
                           for _, blocks in timed]),
            len({occasion_of(cell) for cell, _ in timed}))


def best_exact(row, rows, share_of_error):
    """(its precision, the exact step of the row over it, how many processes timed both, on how many
    occasions): of those that train as well, at rates that are enclosed."""
    own = row.first.config["precision"]
    best = own, (1.0, 1.0, 1.0), PROCESSES_FOR_A_WORD, row.occasions()
    hosts = {cell.run.host_id for cell in row.timings()}
    if row.dense is None or row.against() or len(hosts) != 1:
        return best
    settings = other_than(row.first.config, OF_PRECISION)
    beside = [other for other in rows if other_than(other.first.config, OF_PRECISION) == settings]
    step, occasions = exact_step(beside, own, *hosts)
    for precision in ("fp32", "tf32", "bf16", "fp16"):
        its, its_occasions = exact_step(beside, precision, *hosts)
        exact = [other for other in beside
                 if other.first.dense and other.first.config["precision"] == precision]
        if precision == own or not its[3] or not exact or not exact[0].own_rates_enclosed() or \
                not row.dense.own_rates_enclosed() or \
                loss_word(exact[0], share_of_error, row.dense) != "yes":
            continue
        over = ratio_of_ratios(step[:3], its[:3])
        if over[0] > best[1][0]:
            best = (precision, over, min(step[3], its[3]),
                    min(occasions, its_occasions, row.occasions()))
    return best


# Exact trainings that are no method: in a method's time, and of lengths that were declared.
CONTROL, SHORTER = "dense in the time of ", "dense for "
# What cells of equal settings may differ in.
OF_ROW = ("recipe", "method", "selection", "schedule", "seed", "purpose", "blocks", "block_steps",
          "graphs")
OF_PRECISION = ("precision", "method", "schedule", "seed", "purpose", "blocks", "block_steps",
                "graphs")


def other_than(config, keys):
    return {key: value for key, value in config.items() if key not in keys}


def reached_by(judged, epochs, share):
    """Whether the target is reached no later than at the first evaluation from that epoch on."""
    before = sum(point["epoch"] < epochs - 1e-9 for point in judged)
    return any(point["value"] >= share for point in judged[:before + 1])


def in_runs_of_their_own(row, rows, epochs, surely, share):
    """As same_time, of the exact trainings, the recipe otherwise the same, that are the shortest of
    those with so many epochs, or else the longest of those with fewer; a fiftieth off at most."""
    config, exact = row.first.config, row.dense.first.config["recipe"]
    enough, less, within = [], [], []
    for control in rows:
        theirs = control.first.config
        if control.first.method_label.startswith(CONTROL) and control.finals() and \
                other_than(theirs, OF_ROW) == other_than(config, OF_ROW) and \
                other_than(theirs["recipe"], OF_LENGTH) == \
                other_than(exact, OF_LENGTH):
            trained = min(row.store.accuracies(cell.run, "test")[-1]["epoch"]
                          for cell in control.trained())
            if trained <= surely + 1e-9:
                within.append((trained, control))
            if abs(trained - epochs) <= length_of(exact) / 50:
                (enough if trained >= epochs - 1e-9 else less).append((trained, control))
    if not enough and not less:
        return None
    trained, control = min(enough, key=lambda each: each[0]) if enough else \
        max(less, key=lambda each: each[0])
    curves = [row.store.judged(cell) for cell in control.trained()]
    curves = [judged for judged in curves if judged and share is not None]
    longest = max(within, key=lambda each: each[0])[1] if within else None
    return (row.losses(control), epochs, trained,
            sum(reached_by(judged, trained, share) for judged in curves), len(curves),
            "runs of their own", bool(enough), row.losses(longest) if longest else [])


def same_time(row, rows, share):
    """Dense minus method in points where the method's time is up at the latest, the epochs of dense
    that fit into it, those that it has, how many dense runs of how many reach the target until
    then, what said so, whether dense has no fewer epochs, and its advantage where the method's
    time is surely not up yet. None where nothing does."""
    recipe, (ratio, low, high, *_) = row.first.config["recipe"], row.speedup()
    least = ratio if low is None else low
    if row.dense is None or ratio is None or least <= 1:
        return None
    epochs = length_of(recipe) / least
    surely = length_of(recipe) / high if high is not None and is_sound(row) else 0
    if recipe["lr_schedule"] != "constant" or recipe["warmup_epochs"] or recipe["start_size"] or \
            recipe.get("lookahead_every") or recipe.get("first_bias_epochs"):
        return in_runs_of_their_own(row, rows, epochs, surely, share)
    advantages, sooner, trained, reached, tried = [], [], 0, 0, 0
    for cell, dense in row.pairs():
        before = [point for point in row.store.accuracies(dense.run, "test")
                  if point["epoch"] <= surely + 1e-9]
        if before:
            sooner.append(100 * before[-1]["value"] - row.final(cell))
        later = [point for point in row.store.accuracies(dense.run, "test")
                 if point["epoch"] >= epochs - 1e-9]
        if not later:
            continue
        advantages.append(100 * later[0]["value"] - row.final(cell))
        trained = later[0]["epoch"]
        if share is None:
            continue
        tried += 1
        reached += reached_by(row.store.judged(dense), epochs, share)
    return advantages, epochs, trained, reached, tried, "the dense runs' curves", True, sooner


def expected_pairs(rows):
    def longest(row):
        return max(row.store.accuracies(cell.run, "test")[-1]["epoch"] for cell in row.trained())
    def seeds(row):
        return {cell.seed for cell in row.cells if cell.purpose == "accuracy"}
    compared = [(row, exact, [-loss for loss in row.losses(exact)])
                for row in rows if not row.first.dense
                for exact in rows if exact.first.dense and seeds(row) & seeds(exact) and other_than(
                    exact.first.config, OF_ROW) == other_than(row.first.config, OF_ROW)]
    tests = [sign_flip_p(ahead) for _, _, ahead in compared]
    for (row, exact, ahead), p, p_holm in zip(compared, tests, holm_of_declared(tests)):
        if not ahead:
            continue
        yield {
            **labels(row), "epochs": longest(row), "exact": exact.first.method_label,
            "exact_epochs": longest(exact), "n": len(ahead), "ahead_pp": mean(ahead),
            "ahead_pp_half": half_width(ahead), "seeds_ahead": sum(value > 0 for value in ahead),
            "p": p, "p_holm": p_holm,
        }
