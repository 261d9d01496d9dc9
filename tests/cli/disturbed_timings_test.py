"""A timing is disturbed where its own threads waited for a core, and not where others use cores
that it does not need.

`disturbed_timings_test.py [TIMINGS]`: so many of each kind, on a machine that does nothing else.
"""

import json
import multiprocessing
import os
import sys
import time

from program import Folder, expect, expect_equal, finish

TIMING = """id = "fake:one"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
purpose = "timing"
timing_seeds = "0"
"""


def busy(cpu):
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    while True:
        pass


def sleepy(_):
    while True:
        time.sleep(0.001)


def timing(others):
    """(share of the time that it waited, its taints), beside `others`: (what it does, CPU)."""
    processes = [multiprocessing.Process(target=work, args=(cpu,), daemon=True)
                 for work, cpu in others]
    for process in processes:
        process.start()
    try:
        with Folder(TIMING) as folder:
            code, _, err = folder.sweep("--timing-retries", "0", fake="0=compute",
                                        env={"APPROXTRAIN_FAKE_STEP_MS": "100"})
            expect_equal(code, 0, f"exit code ({err})")
            (taint,), = folder.query("SELECT taint FROM run")
            measured = folder.query("SELECT split, value FROM metric WHERE name = 'core_wait'")
            expect_equal([split for split, _ in measured], ["schedstat"], "the measure")
            return sum(share for _, share in measured), [
                reason for reason in json.loads(taint) if "core" in reason or "other" in reason]
    finally:
        for process in processes:
            process.kill()
            process.join()


def on_all_cores():
    cpus = sorted(os.sched_getaffinity(0))
    waited, taint = timing([(busy, cpu) for cpu in cpus] * 2)
    expect(waited > 0.1, f"busy cores: waited {waited}")
    expect(any(reason.startswith("waited for a core ") for reason in taint), f"busy cores: {taint}")


def busy_seconds():
    """What all processors of this machine have worked since it booted."""
    with open("/proc/stat") as text:
        _, user, nice, system, _, _, irq, softirq, steal, *_ = text.readline().split()
    ticks = sum(map(int, (user, nice, system, irq, softirq, steal)))
    return ticks / os.sysconf("SC_CLK_TCK")


def used_by_foreigners(work):
    """(what `work` returns, the cores that processes which are not this test's used meanwhile)."""
    def own():
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    start, busy_before, own_before = time.monotonic(), busy_seconds(), own()
    result = work()
    seconds = time.monotonic() - start
    return result, (busy_seconds() - busy_before - (own() - own_before)) / seconds


def beside(what, others):
    """Not flagged, where nothing else makes it wait. A try beside foreign work says nothing."""
    flagged = []
    for _ in range(8):
        (waited, taint), foreign = used_by_foreigners(lambda: timing(others))
        if not taint:
            expect(waited < 0.02, f"{what}: waited {waited} and is not tainted")
            return
        flagged.append((foreign, taint))
    undisturbed = [taint for foreign, taint in flagged if foreign < 0.03]
    if len(undisturbed) < 3:
        print(f"SKIPPED: {what}: this machine has other work: {flagged[-1]}")
    else:
        expect(False, f"{what}: {undisturbed}")


def shares(timings):
    """At least 95 % of disturbed timings are flagged, and at most 2 % of others. A timing beside
    foreign work is none of the others: it is made again."""
    cpus = sorted(os.sched_getaffinity(0))
    for what, others, least, most in (
            ("beside busy cores", [(busy, cpu) for cpu in cpus] * 2, 0.95, 1),
            ("alone", [], 0, 0.02),
            ("beside a process on an idle core", [(busy, None)] * (len(cpus) > 1), 0, 0.02)):
        flagged = counted = tries = 0
        while counted < timings and tries < 5 * timings:
            (_, taint), foreign = used_by_foreigners(lambda: timing(others))
            tries += 1
            if least == 0 and foreign > 0.01:
                continue
            counted += 1
            flagged += bool(taint)
        left_out = f", {tries - counted} beside foreign work left out" * (tries > counted)
        print(f"{what}: {flagged} of {counted} timings flagged{left_out}")
        expect_equal(counted, timings, f"{what}: timings without foreign work")
        expect(least * counted <= flagged <= most * counted, f"{what}: {flagged} of {counted}")


def read_schedstat():
    with open("/proc/self/schedstat") as text:
        return text.read().split()


if not os.path.exists("/proc/self/schedstat") or read_schedstat() == ["0", "0", "0"]:
    print("SKIPPED: this kernel does not count how long threads wait for cores")
    finish()
if len(sys.argv) > 1:
    shares(int(sys.argv[1]))
    finish()
on_all_cores()
beside("sleepers", [(sleepy, None)] * 4)
if len(os.sched_getaffinity(0)) > 1:
    beside("a process on an idle core", [(busy, None)])
finish()
