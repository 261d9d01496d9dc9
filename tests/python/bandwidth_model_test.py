"""The model of step time against bandwidth (scripts/bandwidth_model.py): of cells made by a known
model it finds the numbers again, with noise too; where an arm pays is where lines of known slopes
cross; and a file that is none is refused in one line."""

import csv
import dataclasses
import io
import math
import os
import random
import sys
import tempfile

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
sys.path.insert(0, SCRIPTS)
import bandwidth_model as model  # noqa: E402  (lies beside the script that uses it)

BANDWIDTHS = (math.inf, 2000, 1000, 500, 200, 100, 50, 20)
COMPUTE = {"dense": 100.0, "topk_weights:ratio=0.5 all": 104.0, "topk_weights:ratio=0.25 all": 60.0}
BYTES = {"dense": 4e6, "topk_weights:ratio=0.5 all": 2e6, "topk_weights:ratio=0.25 all": 1e6}
SLOWDOWN = 1.1


def true_step(arm, bandwidth, overlap, messages=0.0, delay=0.0):
    """The model in plain words, apart from the code under test."""
    sending = 0.0 if math.isinf(bandwidth) else BYTES[arm] * 8 / (bandwidth * 1e6) * 1000
    shown = SLOWDOWN * sending - overlap * COMPUTE[arm]
    return COMPUTE[arm] + messages * delay + (shown if shown > 0 else 0.0)


def row_of(arm, bandwidth, step, repetition=0, delay=0.0, **more):
    method, _, schedule = arm.partition(" ")
    row = {"repetition": repetition, "bandwidth_mbit": "" if math.isinf(bandwidth) else bandwidth,
           "delay_ms": delay, "ranks": 2, "threads": 1, "network": "resnet20",
           "dataset": "synthetic32", "batch_size": 128, "blocks": 4, "block_steps": 8,
           "method": method, "schedule": schedule, "steps": 160, "step_ms": step,
           "step_ms_low": 0.9 * step, "step_ms_high": 1.1 * step, "paired_dense_ms": step,
           "bytes_counted_per_step": BYTES[arm], "bytes_measured_per_step": 1.005 * BYTES[arm],
           "measured_over_counted": 1.005, "exchanges": 5, "disturbed": 0, **more}
    assert set(row) == set(model.COLUMNS)
    return {name: str(row[name]) for name in model.COLUMNS}


def made(overlap, noise=0.0, repetitions=1, delays=(0.0,), messages=0.0):
    rng = random.Random(1)
    return [row_of(arm, bandwidth,
                   true_step(arm, bandwidth, overlap, messages, delay) * (1 + rng.gauss(0, noise)),
                   repetition, delay)
            for repetition in range(repetitions) for delay in delays for bandwidth in BANDWIDTHS
            for arm in COMPUTE]


def close(found, expected, tolerance, what):
    assert abs(found / expected - 1) < tolerance, (what, found, expected)


def check_parameters(found, overlap, tolerance):
    close(found.slowdown, SLOWDOWN, tolerance, "slowdown")
    for arm, ms in COMPUTE.items():
        close(found.compute_ms[arm], ms, tolerance, arm)
    assert abs(found.overlap - overlap) < 10 * tolerance, (found.overlap, overlap)


def check_known_models():
    for overlap in (0.0, 0.3, 0.62):
        found = model.fit(model.cells_of(made(overlap)))
        check_parameters(found, overlap, 1e-3)
        assert max(found.errors) < 1e-3, found.errors
        assert found.messages is None
        # Without the term the same cells are badly fitted, where there is something to hide.
        assert (found.without_overlap > 0.01) == (overlap > 0), (overlap, found.without_overlap)
    delayed = model.fit(model.cells_of(made(0.3, delays=(0.0, 1.0, 5.0), messages=10)))
    check_parameters(delayed, 0.3, 1e-3)
    close(delayed.messages, 10, 1e-3, "messages")


def check_noise():
    for overlap in (0.0, 0.4):
        found = model.fit(model.cells_of(made(overlap, noise=0.02, repetitions=5)))
        check_parameters(found, overlap, 0.03)
        assert 1e-4 < max(found.errors) < 0.06, found.errors


def check_cells():
    rows = [row_of("dense", 100, step, repetition) for repetition, step in enumerate((3, 1, 2))]
    rows.append(row_of("dense", 100, 50, 3, disturbed=1))
    (cell,) = model.cells_of(rows)
    assert (cell.step_ms, cell.low_ms, cell.high_ms, cell.repetitions) == (2, 1, 3, 3), cell
    (alone,) = model.cells_of(rows[:1])
    assert (round(alone.low_ms, 6), round(alone.high_ms, 6)) == (2.7, 3.3), alone
    # 4 MB at 100 Mbit/s.
    close(cell.send_ms(), 320, 1e-9, "send")
    order = [(cell.arm, cell.bandwidth) for cell in model.cells_of(list(reversed(made(0.0))))]
    assert order[:2] == [("dense", math.inf), ("dense", 2000)], order[:2]
    uncounted = row_of("dense", 100, 1, bytes_counted_per_step="", measured_over_counted="")
    (cell,) = model.cells_of([uncounted])
    close(cell.bytes, 1.005 * BYTES["dense"], 1e-9, "bytes where the program counts none")


def check_crossings():
    # 1 / bandwidth; the gain is 0 a third of the way from 1 to 4: at 2.
    assert model.crossing([(0, -3), (1, -1), (4, 2)]) == (0.5, "below")
    assert model.crossing([(0, 2), (1, 1), (3, -1)]) == (0.5, "above")
    assert model.crossing([(0, 1), (1, 2)]) == (None, "all")
    assert model.crossing([(0, -1), (1, 0)]) == (None, "none")
    assert model.crossing([(0, 1), (1, -1), (2, 1)]) == (None, "unclear")
    assert model.words((None, "none"), "measured") == "at none"
    assert model.words((None, "all"), "measured") == "at all measured"
    assert model.words((250.4, "below"), "measured") == "below 250 Mbit/s"
    cells = model.cells_of(made(0.3))
    found = model.fit(cells)
    half, quarter = list(COMPUTE)[1:]
    # Dense shows its sending above 30 ms of it. 104 = 100 + 1.1 * 32000 / b - 30 at b = 35200 / 34;
    # there half the bytes still hide (17 ms behind 31 ms).
    bandwidth, kind = model.pays_by_model(half, cells, found)
    assert kind == "below", kind
    close(bandwidth, 35200 / 34, 1e-3, "crossing by the model")
    bandwidth, kind = model.pays_measured(half, cells)
    assert kind == "below" and 1000 < bandwidth < 2000, (bandwidth, kind)
    assert model.pays_measured(quarter, cells) == (None, "all")
    assert model.pays_by_model(quarter, cells, found) == (None, "all")


def check_extrapolation():
    cells = model.cells_of(made(0.3))
    found = model.fit(cells)
    dense = cells[0]
    # A ring of 8 sends 2 * 7 / 8 where two ranks send 1; five exchanges of 2 * 3 messages.
    expected = 100 + 1.1 * (4e6 * 1.75 * 8 / 1e9 * 1000) - 30 + 30 * 0.05
    close(model.extrapolated_ms(found, dense, 8, 1000, 50), expected, 1e-3, "8 ranks")
    close(model.extrapolated_ms(found, dense, 2, 1000, 0), 100 + 1.1 * 32 - 30, 1e-3, "2 ranks")
    turning = [cell if cell.arm == "dense" else dataclasses.replace(cell, arm="zero by turns")
               for cell in cells]
    table = "\n".join(model.extrapolation_table(turning, model.fit(turning), [8], [1], 10))
    assert "| dense |" in table and "zero by turns" not in table, table
    delayed = model.cells_of(made(0.3, delays=(0.0, 1.0, 5.0), messages=10))
    close(model.extrapolated_ms(model.fit(delayed), delayed[0], 8, 1000, 50), expected, 1e-3,
          "8 ranks, 10 messages measured among two")


def write(folder, rows, remarks=("# commit abc, 2026-11-24",), columns=model.COLUMNS):
    path = os.path.join(folder, "cells.csv")
    with open(path, "w", encoding="utf-8") as file:
        lines = [*remarks, ",".join(columns)]
        lines += [",".join(row[name] for name in columns) for row in rows]
        file.write("".join(line + "\n" for line in lines))
    return path


def refused(folder, what, rows, **how):
    path = write(folder, rows, **how)
    try:
        model.page(path, [8], [1], 10)
    except model.BadCells as error:
        text = str(error)
        assert what in text and text.startswith(path) and "\n" not in text, text
        return
    raise AssertionError(f"{what}: not refused")


def check_refusals(folder):
    good = made(0.3)
    refused(folder, "no cells in it", [], remarks=(), columns=("",))
    refused(folder, "no column exchanges", good, columns=model.COLUMNS[:-2])
    refused(folder, ":3: step_ms = 'fast'", [{**good[0], "step_ms": "fast"}])
    refused(folder, ":3: step_ms = 'nan'", [{**good[0], "step_ms": "nan"}])
    refused(folder, ":4: bandwidth_mbit = '0'", [good[0], {**good[1], "bandwidth_mbit": "0"}])
    refused(folder, "disturbed = '2'", [{**good[0], "disturbed": "2"}])
    refused(folder, "ranks = 2 and 4", [good[0], {**good[1], "ranks": "4"}])
    refused(folder, "of the arm dense", [row for row in good if row["method"] != "dense"])
    refused(folder, "3 undisturbed cells for 4 unknowns", good[:3])
    delays = [row_of("dense", math.inf, 100, delay=delay) for delay in (1, 2, 3, 4)]
    refused(folder, "one bandwidth", made(0.3)[:3] + delays)
    try:
        model.read_rows(os.path.join(folder, "nothing.csv"))
    except model.BadCells as error:
        assert str(error).endswith("nothing.csv: No such file or directory"), error
    else:
        raise AssertionError("a file that is not there is not refused")


def check_page(folder):
    rows = [*made(0.3), row_of("dense", 100, 9e9, 1, disturbed=1)]
    twice = ("# commit abc, 2026-11-24",) * 2
    text = model.page(write(folder, rows, remarks=twice), [8, 64], [1, 10], 10)
    for what in ("commit abc, 2026-11-24", "disturbed runs, left out: 1",
                 "| dense | unlimited | 0 |", "behind 30 % of it",
                 "1.10 times what the bandwidth says",
                 "**A model, not a measurement:**", "| 64 ranks, 10 Gbit/s |",
                 "| topk_weights:ratio=0.25 all | at all measured | at all above 1 Mbit/s |"):
        assert what in text, f"{what!r} is not in\n{text}"
    assert text.count("commit abc") == 1 and " \n" not in text, text


def check_curves(folder):
    rows = [*made(0.3), row_of("dense", 100, 9e9, 1, disturbed=1)]
    table = list(csv.DictReader(io.StringIO(model.curves(write(folder, rows)))))
    assert len(table) == len(COMPUTE) * len(BANDWIDTHS), table
    assert [row["bandwidth_mbit"] for row in table[:2]] == ["", "2000"], table[:2]
    for row in table:
        bandwidth = float(row["bandwidth_mbit"] or "inf")
        truth = true_step(row["arm"], bandwidth, 0.3)
        close(float(row["step_ms"]), truth, 1e-4, "measured")
        close(float(row["model_ms"]), truth, 2e-3, "model")


def main():
    check_known_models()
    check_noise()
    check_cells()
    check_crossings()
    check_extrapolation()
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(folder)
        check_page(folder)
        check_curves(folder)


if __name__ == "__main__":
    main()
