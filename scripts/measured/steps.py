"""Tables of whole steps and of trainings."""

from measured.cells import markdown, shown


def quickstart(store):
    """The columns of `report table` that matter in a first table."""
    rows = [[row["schedule"], row["method"], str(row["n"]), shown(row, "accuracy_pct", 2),
             shown(row, "loss_pp", 2), shown(row, "speedup", 2, "×")]
            for row in store.rows("table")
            if not row["method"].startswith("dense in the time of ")]
    run = store.rows("runs")[0]
    return "\n".join([
        *markdown(["schedule", "method", "seeds", "accuracy, %",
                         "loss against dense, points", "speedup"], rows),
        "", f"{run['cpu']}, {run['started_utc'][:10]}, commit {run['git_sha'][:12]}; "
        "± and [ ] are 95 % intervals."]) + "\n"


def speedup_cell(row):
    """"1.08 [1.07, 1.09] (1.21); 1.30": over the best exact step; in brackets what it would be if
    products took time in proportion to their multiply-accumulates; over a stock step, where the
    store has one."""
    text = shown(row, "speedup", 2)
    if row["speedup"] is not None and row["speedup_lo"] is None:
        text += " (one process)"
    if row["speedup_estimated"] is not None:
        text += f" ({row['speedup_estimated']:.2f})"
    if row["speedup_vs_stock"] is not None:
        text += f"; {shown(row, 'speedup_vs_stock', 2)}"
    return text


def column_name(row, columns):
    """"resnet18, bf16" where `columns` is "network, precision"."""
    settings = dict(part.split("=", 1) for part in (row["setting"] or "").split())
    return ", ".join(row[column] if column in row else settings[column]
                     for column in columns.split(", "))


def steps(store, columns="network"):
    """The speedup of a step under each method, in a column for each network (and precision)."""
    by_name = {}
    for row in store.rows("table"):
        by_name.setdefault((row["method"], column_name(row, columns)), row)
    names = list(dict.fromkeys(column for _, column in by_name))
    rows = []
    for method in dict.fromkeys(method for method, _ in by_name):
        cells = [by_name.get((method, column)) for column in names]
        name = method if " " in method else f"`{method}`"  # a label, or the text of a method
        rows.append([name, *("–" if row is None else speedup_cell(row) for row in cells)])
    if "precision" in columns:  # what somebody can train with who approximates nothing
        exact = {column: row["images_per_s"] / row["speedup"]
                 for (_, column), row in by_name.items() if row["speedup"]}
        rows.append(["exact, images/s", *(f"{exact[column]:.0f}" for column in names)])
    return "\n".join([*markdown(["method", *names], rows), "", store.provenance()]) + "\n"


def densities(store, study, method):
    """Per cent of dY that is kept, by layer and epoch, the mean over the seeds. A method may have
    had another label in another sweep. No rows where all was kept."""
    found = store.query("""
        SELECT m.split, m.epoch, 100 * avg(m.value) FROM metric m JOIN run r USING(run_id)
        JOIN cell c USING(cell_id) JOIN experiment_cell x USING(cell_id)
        JOIN experiment e USING(experiment_id) WHERE m.name = 'density' AND e.name = ?1 AND
        r.state = 'finished' AND m.split LIKE '%:weight_gradient' AND c.method IN (
            SELECT method FROM cell JOIN experiment_cell y USING(cell_id) WHERE
            y.experiment_id = e.experiment_id AND y.method_label = ?2)
        GROUP BY 1, 2 ORDER BY 1, 2""", study, method)
    layers = {}
    for split, epoch, value in found:
        layers.setdefault(split.split(":")[0], {})[round(epoch)] = value
    epochs = sorted({epoch for values in layers.values() for epoch in values})
    rows = [[f"`{layer}`", *(f"{values[e]:.1f}" if e in values else "–" for e in epochs)]
            for layer, values in layers.items()]
    return markdown(["per cent left of dY in epoch", *map(str, epochs)], rows) if rows else []


def trainings(store, studies):
    """Trainings under each method of the studies, beside the exact ones of as many epochs and of
    the same time; under it how much of each dY was kept."""
    rows, kept = [], []
    for study in studies:
        judged = {row["method"]: row for row in store.rows("advice", study)}
        for row in store.rows("table", study):
            if not row["n"] or row["speedup"] is None:  # not trained or not timed
                continue
            advice = judged.get(row["method"])  # none of the exact training
            rows.append([row["network"], row["method"], str(row["n"]),
                         shown(row, "accuracy_pct", 2), shown(row, "loss_pp", 2),
                         shown(row, "speedup", 2),
                         shown(advice, "iso_time_pp", 2) if advice else "–"])
            if table := densities(store, study, row["method"]):
                kept += [f"{row['network']}, {row['method']}:", "", *table, ""]
    header = ["network", "method", "seeds", "accuracy, %", "loss against exact, points",
              "speedup of a step", "exact in the same time, minus it, points"]
    return "\n".join([*markdown(header, rows), "", store.provenance(), "", *kept])


def verdicts(store, study):
    """What each method of a study came to: accuracy, speedup, and whether it is worth using."""
    judged = {row["method"]: row for row in store.rows("advice", study)}
    rows = []
    for row in store.rows("table", study):
        advice = judged.get(row["method"])  # none of the exact training
        rows.append([row["method"], str(row["tuned_rate"] or "–"), shown(row, "accuracy_pct", 2),
                     shown(row, "loss_pp", 2), shown(row, "speedup", 2),
                     *([shown(advice, "-iso_time_pp", 2),
                        f"{advice['worth']} ({advice['decided_by']})"] if advice else "––")])
    header = ["method", "learning rate", "accuracy, %", "loss against exact, points",
              "speedup of a step", "ahead of exact in the same time, points", "worth it?"]
    return "\n".join([*markdown(header, rows), "", store.provenance(study)]) + "\n"
