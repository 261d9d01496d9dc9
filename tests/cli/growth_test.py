"""A sweep over many cells takes no more memory, no more files and no more time of a processor for
each run at its end than at its middle, and of that less than a hundredth of runs of two seconds.

`growth_test.py [CELLS]`: 400 unless told.
"""

import os
import sys
import time

from program import Folder, expect, expect_equal, finish

CELLS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
MOST_GROWTH = 1.05
SPARE_KB = 2048  # that an allocator may take at any time
FILES_AT_WORK = 8  # of two workers: a sample may see one, another none

SWEEP = f"""id = "fake:growth"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-{CELLS - 1}"
"""


def memory_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def seconds_of_processor(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ms_a_cell(samples):
    """Of the coordinator's processor time, between the first of them and the last."""
    (first, *_, before), (last, *_, after) = samples[0], samples[-1]
    return 1000 * (after - before) / max(1, (last - first) * CELLS)


with Folder(SWEEP) as folder:
    with open(folder.file("log"), "wb") as log:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--jobs", "2", "--progress",
                               "log", env={"APPROXTRAIN_FAKE_STEP_MS": "0"}, stderr=log)
    samples = []  # share done, memory, files, of which those while runs are at work
    while process.poll() is None:
        time.sleep(0.05)
        try:
            with open(folder.file("log"), "rb") as text:
                done = text.read().count(b": finished")
            samples.append((done / CELLS, memory_kb(process.pid), files(process.pid),
                            seconds_of_processor(process.pid)))
        except (OSError, StopIteration):
            break
        if CELLS > 5000:
            time.sleep(1)
    expect_equal(process.wait(), 0, "exit code")
    middle = [sample for sample in samples if 0.4 < sample[0] < 0.6]
    late = [sample for sample in samples if 0.8 < sample[0] < 1]
    if expect(middle and late, f"{len(samples)} samples"):
        before, after = (max(memory for _, memory, _, _ in part) for part in (middle, late))
        expect(after <= MOST_GROWTH * before + SPARE_KB, f"memory: {before} kB, then {after}")
        before_files, after_files = (max(count for _, _, count, _ in part)
                                     for part in (middle, late))
        expect(after_files <= before_files + FILES_AT_WORK,
               f"files: {before_files}, then {after_files}")
        early_ms, late_ms = ms_a_cell(middle), ms_a_cell(late)
        if CELLS >= 1000:  # of fewer the clock's ticks are too coarse
            expect(late_ms <= 2 * early_ms + 1, f"ms a cell: {early_ms:.2f}, then {late_ms:.2f}")
            expect(late_ms < 20, f"{late_ms:.2f} ms a cell")
        print(f"{CELLS} cells: {before} and {after} kB, {before_files} and {after_files} files, "
              f"{early_ms:.1f} and {late_ms:.1f} ms of processor time a cell")
    expect_equal(folder.query("SELECT count(DISTINCT cell_id) FROM run WHERE state = 'finished'"),
                 [(CELLS,)], "runs")
    folder.check_database()
finish()
