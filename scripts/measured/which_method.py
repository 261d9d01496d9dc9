"""Which method to use on which hardware: docs/which-method.md, the answer in README.md, and the
file that `approxtrain advice` reads.

results/measured/which-method.toml says which rows of which databases are lines here. Numbers and
verdicts are the program's (`report table`, `report advice`), but for exact training in another
precision, whose step and loss lie in databases of their own: step_ratio() and paired_loss().
"""

import functools
import itertools
import json
import math
import os
import statistics
import tomllib

from measured.cells import BadText, fixed, markdown, shown
from measured.products import t_quantile
from measured.store import MEASURED, named

SCHEMA = "approxtrain.advice/1"
DATA = os.path.join(MEASURED, "which-method.json")
MARKS = {"yes": "✔", "no": "✘", "undecided": "?"}
YES, NO, UNDECIDED = MARKS
# As results/stats/deciding.h and docs/internals/statistics.md have them.
PROCESSES, FEW_PROCESSES, SEEDS, MARGIN, ONE_DAY = 10, 5, 6, 0.1, 0.03
# Of a line, in the order of the file's rows.
FIELDS = ("hardware", "precision", "method", "network", "primary", "verdict", "speedup",
          "speedup_lo", "speedup_hi", "processes", "loss_pp", "loss_pp_half", "seeds",
          "margin_pp", "decided_by", "why", "speed_machine", "speed_date", "speed_commit",
          "speed_data", "speed_database", "loss_machine", "loss_date", "loss_commit", "loss_data",
          "loss_database", "lossy_data")


def settings_of():
    with open(os.path.join(MEASURED, "which-method.toml"), "rb") as file:
        return tomllib.load(file)


class Source:
    """The rows of one experiment in one database, by the program's reports."""

    def __init__(self, database, experiment):
        self.store = named(database)
        self.experiment = experiment
        if self.store is None or not os.path.exists(self.store.path):
            raise BadText(f"which-method.toml: there is no {database}.db")

    def rows(self, network, precision):
        """Rows of `report table` with what `report advice` says of them."""
        def key(row):
            return tuple(row[name] for name in ("network", "setting", "schedule", "method"))
        judged = {key(row): row for row in self.store.rows("advice", self.experiment)}
        rows = []
        for row in self.store.rows("table", self.experiment):
            settings = dict(part.split("=", 1) for part in (row["setting"] or "").split())
            known = {settings["precision"]} if "precision" in settings else self.precisions(network)
            if row["network"] == network and known == {precision} and key(row) in judged:
                rows.append({**row, **judged[key(row)]})
        return rows

    def precisions(self, network):
        found = self.store.query("""
            SELECT DISTINCT c.precision FROM cell c JOIN experiment_cell x USING(cell_id)
            JOIN experiment e USING(experiment_id) WHERE e.name = ?1 AND x.network_label = ?2""",
            self.experiment, network)
        return {precision for precision, in found}

    def threads(self, network, precision):
        """Of its timings, in ascending order."""
        return [count for count, in self.store.query("""
            SELECT DISTINCT c.threads FROM cell c JOIN experiment_cell x USING(cell_id)
            JOIN experiment e USING(experiment_id) WHERE e.name = ?1 AND x.network_label = ?2
              AND c.precision = ?3 AND c.purpose = 'timing' AND c.device = 'cpu' ORDER BY 1""",
            self.experiment, network, precision)]

    def origin(self, network, precision, purpose, method=None):
        """(machines, date, commit) of the runs that count, of all methods without `method`. Date
        and commit are those of the newest run."""
        found = self.store.query("""
            SELECT h.gpu_model, h.cpu_model, c.device, substr(max(r.started_utc), 1, 10),
              substr(b.git_sha, 1, 12), b.dirty
            FROM run r JOIN cell c USING(cell_id) JOIN experiment_cell x USING(cell_id)
            JOIN experiment e USING(experiment_id) JOIN host h USING(host_id)
            JOIN build b USING(build_id)
            WHERE e.name = ?1 AND x.network_label = ?2 AND c.precision = ?3 AND c.purpose = ?4
              AND ?5 IN ('', x.method_label) AND r.state IN ('finished', 'diverged')
              AND (c.purpose <> 'timing' OR r.timing_valid = 1)
              AND r.attempt = (SELECT max(attempt) FROM run y WHERE y.cell_id = r.cell_id
                               AND y.state IN ('finished', 'diverged'))
            GROUP BY 1, 2, 3, 5, 6 ORDER BY 4 DESC, max(r.started_utc) DESC""",
            self.experiment, network, precision, purpose, method or "")
        if not found:
            raise BadText(f"which-method.toml: {self.store.name} has no {purpose} runs of "
                          f"{self.experiment}, {network} in {precision}")
        machines = sorted({cpu if device == "cpu" else gpu for gpu, cpu, device, *_ in found})
        _, _, _, date, commit, dirty = found[0]
        return "; ".join(machines), date, commit + (" (changed)" if dirty else "")

    def exact_steps(self, network, precision):
        """For each process that timed a method: the mean logarithm of its exact steps."""
        found = self.store.query("""
            SELECT r.run_id, b.ns, b.steps FROM timing_block b JOIN run r USING(run_id)
            JOIN cell c USING(cell_id) JOIN experiment_cell x USING(cell_id)
            JOIN experiment e USING(experiment_id)
            WHERE e.name = ?1 AND x.network_label = ?2 AND c.precision = ?3 AND b.arm = 'dense'
              AND r.state = 'finished' AND r.timing_valid = 1 AND r.isolated = 1
              AND coalesce(json_extract(c.config, '$.operators'), 'best') <> 'library'
              AND r.attempt = (SELECT max(attempt) FROM run y WHERE y.cell_id = r.cell_id
                               AND y.state = 'finished')
            ORDER BY 1""", self.experiment, network, precision)
        return [statistics.fmean(math.log(ns / steps) for _, ns, steps in blocks)
                for _, blocks in itertools.groupby(found, key=lambda block: block[0])]

    def exact_accuracies(self, network, precision):
        """Per cent, by seed."""
        return {seed: 100 * accuracy for seed, accuracy in self.store.query("""
            SELECT f.seed, f.accuracy FROM v_final f JOIN experiment_cell x USING(cell_id)
            JOIN experiment e USING(experiment_id) WHERE e.name = ?1 AND x.network_label = ?2
            AND f.precision = ?3 AND x.method_label = 'Exact'""",
            self.experiment, network, precision)}

    def why_exact_rate_open(self, network, precision):
        """Why the learning rate of the exact training is not enclosed; "" where it is."""
        def rows(experiment, columns):
            return self.store.query(f"""
                SELECT {columns} FROM cell c JOIN experiment_cell x USING(cell_id)
                JOIN experiment e USING(experiment_id) JOIN run r USING(cell_id)
                WHERE e.name = ?1 AND x.network_label = ?2 AND c.precision = ?3
                  AND x.method_label = 'Exact' AND c.purpose = 'accuracy'
                  AND r.state IN ('finished', 'diverged')
                ORDER BY r.attempt""", experiment, network, precision)
        rate = "json_extract(c.config, '$.recipe.learning_rate')"
        trials = {}
        for tried, recipe, seed, accuracy in rows(self.experiment + ":tune", f"""
                {rate}, json_remove(json_extract(c.config, '$.recipe'), '$.learning_rate'), c.seed,
                CASE WHEN r.state = 'finished' THEN (SELECT m.value FROM metric m
                  WHERE m.run_id = r.run_id AND m.name = 'accuracy' AND m.split = 'holdout'
                  ORDER BY m.step DESC LIMIT 1) ELSE 0 END"""):
            trials.setdefault(recipe, {}).setdefault(tried, {})[seed] = accuracy
        for used, in set(rows(self.experiment, rate)):
            if not any(encloses(each, used) for each in trials.values()):
                return f"its learning rate in {precision}, {used:g}, is not enclosed"
        return ""


def encloses(trials, rate):
    """Whether worse rates were tried on both sides of `rate`, by the mean and by two seeds.
    `trials`: accuracies by rate, by seed. Rates that lack a seed do not count."""
    most = max(map(len, trials.values()))
    trials = {tried: by_seed for tried, by_seed in trials.items() if len(by_seed) == most}
    if rate not in trials:
        return False

    def mean(by_seed):
        return statistics.fmean(by_seed.values())

    def best_inside(value):
        """Whether the best by `value` is better than the lowest and the highest rate."""
        ends = (value(trials[end]) for end in (min(trials), max(trials)))
        return max(map(value, trials.values())) > max(ends)
    best = max(sorted(trials), key=lambda tried: mean(trials[tried]))  # the lowest of equals
    inside = sum(best_inside(lambda by_seed, seed=seed: by_seed.get(seed, 0))
                 for seed in trials[rate])
    return rate == best and best_inside(mean) and inside >= 2


@functools.cache
def source(database, experiment):
    return Source(database, experiment)


def half_width(values, inside=0.95):
    """Of the t-interval of their mean; None of one value."""
    if len(values) < 2:
        return None
    return t_quantile(len(values) - 1, inside) * statistics.stdev(values) / math.sqrt(len(values))


def step_ratio(own, other, inside=0.95):
    """(ratio, low, high) of two exact steps, timed in processes of their own: on logarithms the
    half widths add as squares."""
    mean = statistics.fmean(own) - statistics.fmean(other)
    halves = half_width(own, inside), half_width(other, inside)
    if None in halves:
        return math.exp(mean), None, None
    half = math.hypot(*halves)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def paired_loss(own, other):
    """(losses of the same seeds, the losses beyond a tenth of the error of `own`)."""
    pairs = [(own[seed], other[seed]) for seed in sorted(own.keys() & other.keys())]
    return ([mine - theirs for mine, theirs in pairs],
            [mine - theirs - MARGIN * (100 - mine) for mine, theirs in pairs])


def exact_verdict(own, other, beyond, open_rate=""):
    """(verdict, decided by, why) of exact training in another precision, by the logarithms of its
    steps and its losses beyond the margin: whether it may stand for exact training, as `vs best
    exact` of docs/internals/statistics.md asks. `open_rate`: why a loss is no verdict on either."""
    speed = loss = None
    processes = min(len(own), len(other))
    ratio, low, _ = step_ratio(own, other, 0.95 if processes >= PROCESSES else 0.999)
    if processes < FEW_PROCESSES:
        speed = UNDECIDED, f"its step was timed in {processes} processes of {FEW_PROCESSES}"
    elif min(low, ratio / (1 + ONE_DAY)) <= 1:
        speed = UNDECIDED, "its speedup cannot be told from 1"
    if not beyond:
        loss = UNDECIDED, "its loss was not measured"
    elif len(beyond) < SEEDS:
        loss = UNDECIDED, f"{len(beyond)} seeds cannot bound the loss, {SEEDS} can"
    elif open_rate:
        loss = UNDECIDED, open_rate
    else:
        mean, half = statistics.fmean(beyond), half_width(beyond, 0.90)  # one-sided 95 %
        if mean - half > 0:
            loss = NO, "loses more than a tenth of the error"
        elif mean + half >= 0:
            loss = UNDECIDED, "the loss may be above a tenth of the error"
    open_parts = {name: part for name, part in (("speed", speed), ("loss", loss)) if part}
    if not open_parts:
        return YES, "speed, loss", "faster; loses no more than a tenth of the error"
    verdict = NO if any(part[0] == NO for part in open_parts.values()) else UNDECIDED
    deciding = {name: part[1] for name, part in open_parts.items() if part[0] == verdict}
    return verdict, ", ".join(deciding), "; ".join(deciding.values())


def reason_of(row, name):
    """What a row of `report advice` says of one of the parts that decided it; None of others."""
    names, reasons = row["decided_by"].split(", "), row["reason"].split("; ")
    if name not in names:
        return None
    return reasons[names.index(name)] if len(names) == len(reasons) else row["reason"]


def combined(speed, loss):
    """(verdict, decided by, why) of a step and a loss, each a row of `report advice` or None. If
    both are one row it is that row's. Otherwise it is never yes: no exact training had the same
    time. What the loss's own machine says of its speed counts nothing here."""
    if speed is loss:
        return speed["worth"], speed["decided_by"], speed["reason"]
    if speed and speed["worth"] == NO:
        return NO, speed["decided_by"], speed["reason"]
    if loss and loss["worth"] == NO and (why := reason_of(loss, "loss")):
        return NO, "loss", why

    def part(row, name, missing):
        if row is None:
            return missing
        return reason_of(row, name) if row["worth"] == UNDECIDED else None
    parts = {"speed": part(speed, "speed", "its speed was not measured"),
             "loss": part(loss, "loss", "its loss was not measured"),
             "same time": "no exact training of the same time"}
    parts = {name: why for name, why in parts.items() if why}
    return UNDECIDED, ", ".join(parts), "; ".join(parts.values())


def from_origin(what, found, data, store):
    """Where the speed or the loss of a line is from. A loss knows whether its images are lossy."""
    parts = ("machine", "date", "commit", "data", "database")
    origin = dict(zip((f"{what}_{part}" for part in parts), (*found, data, store.name)))
    lossy = what == "loss" and store.query(
        "SELECT 1 FROM dataset WHERE name = ?1 AND lossy LIMIT 1", data)
    return {**origin, "lossy_data": data} if lossy else origin


def exact_line(entry):
    """The line of exact training in another precision."""
    network, precision, other = entry["network"], entry["precision"], entry["in"]
    timed = source(*entry["speed"])
    # Steps in this precision may be another experiment's, of the same machine and day.
    own_timed = source(*entry.get("own_speed", entry["speed"]))
    steps = [own_timed.exact_steps(network, precision), timed.exact_steps(network, other)]
    if not all(steps):
        raise BadText(f"which-method.toml: {own_timed.store.name} or {timed.store.name} has no "
                      f"exact steps of {network} in {precision} and {other}")
    ratio, low, high = step_ratio(*steps)
    processes = min(map(len, steps))
    line = {"method": f"Exact training in {other}", "threads": timed.threads(network, other),
            "speedup": ratio, "speedup_lo": low,
            "speedup_hi": high, "processes": processes, "is_exact": True, "in": other,
            "needs": entry.get("needs"),
            **from_origin("speed", timed.origin(network, other, "timing"),
                          entry.get("speed_data", "synthetic"), timed.store)}
    losses, beyond, open_rate = [], [], ""
    if "own" in entry:
        own, others = source(*entry["own"]), source(*entry["other"])
        trained = own.exact_accuracies(network, precision)
        losses, beyond = paired_loss(trained, others.exact_accuracies(network, other))
        open_rate = (own.why_exact_rate_open(network, precision) or
                     others.why_exact_rate_open(network, other))
        line |= {"loss_pp": statistics.fmean(losses), "loss_pp_half": half_width(losses),
                 "margin_pp": MARGIN * (100 - statistics.fmean(trained.values())),
                 **from_origin("loss", others.origin(network, other, "accuracy", "Exact"),
                               "cifar10", others.store)}
    line["seeds"] = len(losses) or None
    verdict = exact_verdict(*steps, beyond, open_rate)
    return line | dict(zip(("verdict", "decided_by", "why"), verdict))


def row_of(entry, what, labels):
    """(source, row) of a method in the source of its `speed` or `loss`; Nones where it has none."""
    if what not in entry:
        return None, None
    found = source(*entry[what])
    measured = "speedup" if what == "speed" else "loss_pp"
    rows = [row for row in found.rows(entry["network"], entry["precision"])
            if row["method"] in labels and row[measured] is not None]
    if len(rows) > 1:
        raise BadText(f"which-method.toml: {len(rows)} rows of {found.store.name} are "
                      f"{' or '.join(labels)}")
    return (found, rows[0]) if rows else (None, None)


def measured_line(entry, method, labels, schedules):
    """The line of a method; None where it was not measured there."""
    speed_from, speed = row_of(entry, "speed", labels)
    loss_from, loss = row_of(entry, "loss", labels)
    if "speed" in entry and speed is None:
        return None
    if speed and loss and speed["schedule"] != loss["schedule"]:
        loss = None  # the loss of another schedule is not that of this one
    if not speed and not loss:
        return None
    schedule = (speed or loss)["schedule"]
    line = {"method": ", ".join([method, *([schedules[schedule]] if schedules else [])]),
            "base": method, "needs": entry.get("needs")}
    network, precision = entry["network"], entry["precision"]
    if speed:
        line |= {"threads": speed_from.threads(network, precision),
                 "speedup": speed["speedup"], "speedup_lo": speed["speedup_lo"],
                 "speedup_hi": speed["speedup_hi"], "processes": speed["speedup_runs"],
                 **from_origin("speed", speed_from.origin(network, precision, "timing",
                                                          speed["method"]),
                               speed["dataset"], speed_from.store)}
    if loss:
        line |= {"loss_pp": loss["loss_pp"], "loss_pp_half": loss["loss_pp_half"],
                 "seeds": loss["loss_pairs"], "margin_pp": loss["margin_pp"],
                 **from_origin("loss", loss_from.origin(network, precision, "accuracy",
                                                        loss["method"]),
                               loss["dataset"], loss_from.store)}
    same = speed and loss and speed_from is loss_from
    line["verdict"], line["decided_by"], line["why"] = combined(speed, speed if same else loss)
    return line


@functools.cache
def lines():
    """Every line, by hardware and precision; in each group exact training first, then the methods.
    A method that was not measured has a line without a verdict."""
    settings = settings_of()
    found = []
    for group in settings["hardware"]:
        for precision in group["precisions"]:
            place = {"hardware": group["hardware"], "precision": precision}

            def here(entries):
                return [entry for entry in entries
                        if all(entry[name] == value for name, value in place.items())]
            for entry in here(settings["exact"]):
                found.append({**place, "network": entry["network"], **exact_line(entry)})
            for method, labels in settings["methods"].items():
                own = [{**place, "network": entry["network"], **line}
                       for entry in here(settings["measured"])
                       if method in entry.get("only", settings["methods"]) and
                       (line := measured_line(entry, method, labels,
                                              settings["schedules"].get(method)))]
                found += own or [{**place, "network": None, "method": method, "base": method,
                                  "verdict": None}]
    for _, alike in itertools.groupby(
            sorted(found, key=way_of), key=way_of):  # a stable order
        best_said(list(alike))["primary"] = 1
    return found


def way_of(line):
    """What a line is about but for its network and schedule."""
    return line["hardware"], line["precision"], line.get("in", ""), line.get("base", "")


def best_said(candidates):
    """The line that says most: speed and loss, then a speed, then a verdict, then yes or no, then
    seeds, then processes; else the first."""
    def weight(line):
        seeds, processes = line.get("seeds") or 0, line.get("processes") or 0
        return (bool(seeds) and bool(processes), bool(processes), bool(line["verdict"]),
                line["verdict"] in (YES, NO), seeds, processes)
    return max(candidates, key=weight, default=None)


def page_lines(group):
    """One line for each way to train on the hardware of a table; not measured ones last."""
    own = [line for line in lines() if line["hardware"] == group["hardware"] and
           line["precision"] in group["precisions"]]
    exact = dict.fromkeys(line["in"] for line in own if "is_exact" in line)
    chosen = [best_said([line for line in own if line.get("in") == precision])
              for precision in exact]
    for method in settings_of()["methods"]:
        chosen.append(best_said([line for line in own if line.get("base") == method]))
    return chosen


def answer_of(group):
    """(what to use, the lines of it, none for exact training as it is, the most promising line that
    is undecided or None)."""
    own = [line for line in page_lines(group) if line["verdict"]]
    methods = [line for line in own if "is_exact" not in line]
    exact = [line for line in own if "is_exact" in line and (line["speedup_lo"] or 0) > 1]

    def fastest(candidates):
        return max(candidates, key=lambda line: line["speedup_lo"], default=None)

    def may_pay(line):  # faster, and a loss that is allowed
        bound = (line["loss_pp"] or 0) + (line["loss_pp_half"] or 0) if line.get("seeds") else None
        return (line["verdict"] == UNDECIDED and (line.get("speedup_lo") or 0) > 1 and
                bound is not None and bound <= line["margin_pp"])
    def with_needs(text, line):
        return f"{text} ({line['needs']})" if line.get("needs") else text
    undecided = fastest(filter(may_pay, methods))
    worth = fastest(line for line in methods if line["verdict"] == YES)
    shown_to_do = fastest(line for line in exact if line["verdict"] == YES)
    if worth and shown_to_do:
        # They were measured on machines of their own, so neither is the faster one everywhere.
        exactly = with_needs(f"exact {shown_to_do['in']}", shown_to_do)
        return (f"Time both: {exactly}, {with_needs(worth['method'], worth)}",
                [shown_to_do, worth], undecided)
    if worth:
        return with_needs(worth["method"], worth), [worth], undecided
    if shown_to_do:
        needs = (f" if the {group['hardware'].upper()} has {shown_to_do['needs']}, else in "
                 f"{group['precisions'][0]}") if shown_to_do["needs"] else ""
        return f"Train exactly in {shown_to_do['in']}{needs}", [shown_to_do], undecided
    if faster := fastest(line for line in exact if line["verdict"] == UNDECIDED):
        return f"Train exactly; try {faster['in']}", [faster], undecided
    return "Train exactly", [], undecided


def speed_cell(line):
    return shown({"speedup": None, **line}, "speedup", 2)


def loss_cell(line):
    if line.get("loss_pp") is None:
        return "–"
    half = line["loss_pp_half"]
    return fixed(line["loss_pp"], 2) + ("" if half is None else f" ± {half:.2f}")


def short_network(line, group):
    own = line["precision"] if line["precision"] != group["precisions"][0] else ""
    return ", ".join(filter(None, [line["network"].split(":")[0], own]))


def linked(line):
    """The method's name, as a link to its card."""
    card = settings_of()["cards"].get(line.get("base"))
    return f"[{line['method']}](methods/{card}.md)" if card else line["method"]


def answer():
    """The table of README.md: what to use on each hardware."""
    rows = []
    for group in settings_of()["hardware"]:
        use, used, undecided = answer_of(group)
        still = "none"
        if undecided:
            still = (f"{undecided['method']}: {speed_cell(undecided)}, loss "
                     f"{loss_cell(undecided)}")
        cells = ("; ".join(map(speed_cell, used)) or "1",
                 "; ".join(loss_cell(line) if line.get("seeds") else "not measured"
                           for line in used) or "0")
        rows.append([group["title"], use, *cells, still])
    header = ["hardware", "what to use", "step speedup", "loss, points",
              "may pay, but undecided"]
    return "\n".join([*markdown(header, rows), "",
                      "Speedups are over the exact step of the same precision; that of exact bf16 "
                      "is over exact fp32. [ ] and ± are 95 % intervals. Method by method: "
                      "[Which method?](docs/which-method.md), or `approxtrain advice`."
                      ]) + "\n"


HEAD = """# Which method to use

{shown}*Step speedup*: over the exact step of its precision (exact bf16, tf32: fp32).
*Loss*: exact accuracy minus the method's, points. [ ], ±: 95 % intervals.
✔ yes; ✘ no; ? undecided; – not measured; \\* from two databases.{lossy}
A verdict: six seeds, an [enclosed](glossary.md) rate, ten processes (five if obvious)."""


def page():
    """The text of docs/which-method.md."""
    is_shown = any(line["verdict"] == YES for line in lines() if "is_exact" not in line)
    lossy = sorted({line["lossy_data"] for line in lines() if "lossy_data" in line})
    parts = [HEAD.format(shown="" if is_shown else
                         "No method is shown to pay. ✔ is exact training in another "
                         "precision.\n\n",
                         lossy=f"\nLossy (JPEG): {', '.join(lossy)}." if lossy else "")]
    for group in settings_of()["hardware"]:
        rows, missing = [], []
        for line in page_lines(group):
            if line["verdict"] is None:
                # One that is of other hardware, such as 8-bit integers of a CPU, is not missed.
                where = {other["hardware"] for other in lines()
                         if other.get("base") == line["base"] and other["verdict"]}
                if not where or group["hardware"] in where:
                    missing.append(line["method"])
                continue
            apart = (line.get("speed_database") and line.get("loss_database") and
                     line["speed_database"] != line["loss_database"])
            rows.append([linked(line) + (" \\*" if apart else ""), speed_cell(line),
                         loss_cell(line), MARKS[line["verdict"]], short_network(line, group),
                         ", ".join(map(str, line.get("threads") or "–")),
                         str(line.get("processes") or "–"), str(line.get("seeds") or "–")])
        header = ["method", "step speedup", "loss", "use?", "network", "threads", "processes",
                  "seeds"]
        parts += [f"## {group['title']}", f"**{answer_of(group)[0]}.**",
                  "\n".join(markdown(header, rows))]
        if missing:
            parts.append(f"Not measured: {'; '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def data():
    """The text of the file that `approxtrain advice` reads."""
    def whole(line):
        row = {name: line.get(name) for name in FIELDS}
        return {**row, "verdict": row["verdict"] or "not measured", "primary": row["primary"] or 0}
    document = {"schema": SCHEMA, "rows": [whole(line) for line in lines()]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
