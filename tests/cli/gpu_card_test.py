"""scripts/gpu-card without a GPU: its stages over a program, tests and an nvidia-smi that only
pretend. What lies in the folder of results when a stage fails or runs out of time, or when the
script is killed."""

import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

from program import PROGRAM, expect, expect_equal, finish, wait_until

CARD = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/gpu-card"
FILES = ["card.log", "files.tar.gz", "lines.jsonl", "results.db"]

# Fails at what FAIL names, and takes long over what SLOW names, deaf to Ctrl-C.
STUB = r"""#!/usr/bin/env python3
import os, signal, sqlite3, sys, time
said = " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
if said == "nvidia-smi -L":
    print("GPU 0: Some GPU (UUID: x)")
    sys.exit()
if os.environ["FAIL"] in said:
    print("this went wrong", file=sys.stderr)
    sys.exit(3)
if "--db" in said:
    with sqlite3.connect(sys.argv[sys.argv.index("--db") + 1]) as store:
        store.execute("CREATE TABLE IF NOT EXISTS asked(what)")
        store.execute("INSERT INTO asked VALUES(?)", [said])
    folder = os.path.join(os.path.dirname(sys.argv[sys.argv.index("--db") + 1]), "results.runs/1-1")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "stderr.log"), "w") as out:
        out.write("a worker said this")
if os.environ["SLOW"] in said:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("begun", flush=True)
    time.sleep(60)
if said.startswith("core_test"):
    part = os.environ["GTEST_SHARD_INDEX"] if "GTEST_SHARD_INDEX" in os.environ else "0"
    print(f"[ RUN      ] Cuda.Test{part}")
    if part == "1":
        sys.exit(9)  # died in the middle
    print(f"[  FAILED  ] Cuda.Test{part}, where it was 1 (5 ms)" if part == "2" else
          f"[       OK ] Cuda.Test{part} (5 ms)")
    print('{"kernel": "norm", "before_us": 3, "after_us": 1}' if "Sums" in said else "")
    sys.exit(part == "2")
if "APPROXTRAIN_TRACE" in os.environ and "NONE" not in os.environ["FAIL"]:
    with open(os.environ["APPROXTRAIN_TRACE"] + ".77.trace", "w") as out:
        print("approxtrain-trace 1", os.environ["APPROXTRAIN_TRACE_LABEL"], file=out)
        print("n 0 sm90_xmma_fprop", file=out)
        for step in range(8):
            graph = 3 + step // 4
            times = f"{1000 * step} {900 - 100 * graph}"
            print(f"k 0 {times} 40 0 1 1 1 1 1 1 7 {graph} 1 {step}", file=out)
        print("e 8 0", file=out)
"""


class Stubs:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.build = self.folder / "build"
        self.build.mkdir()
        (self.folder / "tmp").mkdir()
        for stub in (self.build / "approxtrain", self.build / "core_test",
                     self.folder / "nvidia-smi"):
            stub.write_text(STUB.replace("/usr/bin/env python3", sys.executable))
            stub.chmod(0o755)
        self.runs = 0

    def start(self, *arguments, fail="NOTHING", slow="NOTHING"):
        self.runs += 1
        self.out = self.folder / f"out{self.runs}"
        env = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", FAIL=fail, SLOW=slow,
                   TMPDIR=str(self.folder / "tmp"))
        return subprocess.Popen([sys.executable, CARD, "--build", self.build, "--out", self.out,
                                 *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=env, start_new_session=True)

    def run(self, *arguments, **how):
        process = self.start(*arguments, **how)
        out, err = process.communicate(timeout=200)
        return process.returncode, out + err

    def lines(self):
        with open(self.out / "lines.jsonl", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def line(self, stage, command):
        return next(row for row in self.lines()
                    if (row["stage"], row["command"]) == (stage, command) and "exit" in row)

    def archive(self):
        with tarfile.open(self.out / "files.tar.gz") as archive:
            return archive.getnames()

    def asked(self):
        with sqlite3.connect(self.out / "results.db") as store:
            return [row[0] for row in store.execute("SELECT what FROM asked")]


def all_stages(stubs):
    code, said = stubs.run("--reductions", "Cuda.Sums*")
    if "no Python here has PyTorch" in said:
        print("skipped: no PyTorch for the libraries of a GPU")
        sys.exit(77)
    expect_equal(code, 1, f"two tests fail: exit code ({said})")
    expect_equal(sorted(path.name for path in stubs.out.iterdir()), FILES, "what is there")
    tests = stubs.line("tests", "run")
    expect_equal((tests["passed"], tests["failed"], tests["died"]),
                 (6, ["Cuda.Test2"], ["Cuda.Test1"]), "tests")
    expect(any(row.get("after_us") == 1 and row["stage"] == "reductions" for row in stubs.lines()),
           f"a line of JSON that a command printed: {stubs.lines()[:9]}")
    traced = [row for row in stubs.lines() if row["stage"] == "trace" and "arm" in row]
    expect_equal(len(traced), 30, "an exact and an approximated step of each traced run")
    expect_equal({row["network"].split(":")[0] for row in traced},
                 {"resnet18", "wide_resnet", "resnet50"}, "traced networks")
    expect_equal(stubs.line("trace", "resnet50-zero")["step_us"], {"exact": 1.0, "zero": 1.0},
                 "steps of a trace")
    expect("| resnet50 | zero | exact | 1.0 |" in said, f"tables of traces: {said[-2000:]}")
    names = stubs.archive()
    expect({"trace.md", "tests-run.txt", "resnet50-zero.77.trace",
            "results.runs/1-1/stderr.log"} <= set(names),
           f"archive: {names}")
    asked = stubs.asked()
    expect(all(any(name in what for what in asked) for name in ("@null_timings", "@switching")) and
           not any("blocks=2" in what for what in asked), f"traced runs are apart: {asked}")
    expect_equal([*(stubs.folder / "tmp").iterdir()], [], "what is left of the work")


def a_failure_ends_nothing(stubs):
    code, said = stubs.run("--stages", "trace,steps", fail="topk_crs")
    expect_equal(code, 1, f"a failure: exit code ({said})")
    failed = stubs.line("trace", "resnet18-topk_crs")
    expect(failed["exit"] == 3 and "no replayed steps" in failed["error"], f"a failure: {failed}")
    expect_equal(stubs.line("trace", "resnet18-sdgp")["exit"], 0, "the next command")
    expect_equal(stubs.line("steps", "resnet18")["exit"], 0, "the next stage")
    log = (stubs.out / "card.log").read_text(encoding="utf-8")
    expect("this went wrong" in log, f"a failure: {log}")


def failures_in_a_row_end_a_stage(stubs):
    code, said = stubs.run("--stages", "trace,steps", fail="blocks=2")
    expect_equal(code, 1, f"failures in a row: exit code ({said})")
    failed = [row for row in stubs.lines() if row["stage"] == "trace"]
    expect_equal(len(failed), 3, f"failures in a row: {failed}")
    expect_equal(stubs.line("steps", "resnet18")["exit"], 0, "the stage after failures in a row")


def time_runs_out(stubs):
    code, said = stubs.run("--stages", "steps,null", "--seconds", "11", slow="@steps_gpu")
    expect_equal(code, 1, f"out of time: exit code ({said})")
    row = stubs.line("steps", "resnet18")
    expect(row["exit"] == 124 and row["seconds"] < 12, f"out of time: {row}")
    expect("null: not begun" in said, f"out of time: {said}")
    # What the sweep had stored when it was killed.
    expect_equal(len(stubs.asked()), 1, "out of time: the store")


def killed_in_the_middle(stubs):
    process = stubs.start("--stages", "tests,reductions,steps",
                          "--reductions", "Cuda.Sums*", slow="@steps_gpu --only .*network=resnet18")
    begun = lambda: "steps: " in (stubs.out / "card.log").read_text(encoding="utf-8")
    wait_until(begun)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    files = sorted(path.name for path in stubs.out.iterdir())
    expect_equal([name for name in files if not name.startswith("new-")],
                 [name for name in FILES if name != "results.db"], "killed: what is there")
    expect(len(files) <= 8, f"killed: {files}")
    expect_equal(sum("after_us" in row for row in stubs.lines()), 1, "killed: lines")
    expect("reductions-run.txt" in stubs.archive(), f"killed: {stubs.archive()}")
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):  # the sweep that nobody stops now
        try:
            if str(stubs.build).encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            pass


def renewed_while_a_command_runs(stubs):
    process = stubs.start("--stages", "steps", "--every", "0.5", slow="@steps_gpu")
    wait_until(stubs.asked)
    expect(process.poll() is None, "renewed: the command still runs")
    process.terminate()
    out, err = process.communicate(timeout=60)
    expect_equal(process.returncode, 143, f"stopped: exit code ({out + err})")


def nothing_to_run_on(stubs):
    code, said = stubs.run("--stages", "stepps")
    expect(code == 2 and 'no stage "stepps"' in said, f"an unknown stage: {code} {said}")
    (stubs.folder / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    code, said = stubs.run()
    expect(code == 7 and "no NVIDIA GPU" in said, f"no GPU: {code} {said}")


def the_real_program_plans_every_sweep():
    done = subprocess.run([sys.executable, CARD, "--dry-run", "--build", os.path.dirname(PROGRAM)],
                          capture_output=True, text=True)
    expect_equal(done.returncode, 0, f"dry run: exit code ({done.stdout + done.stderr})")
    # A run for each trace; seven rows of five processes, the same of the wide network, five of
    # ResNet-50; twenty; three methods, four schedules, captured and not, five processes.
    counts = [int(count) for count in re.findall(r"^ +\w+: (\d+) runs,", done.stdout, re.M)]
    expect_equal(counts, [1] * 15 + [35, 35, 25, 20, 120], f"dry run: {done.stdout}")


with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as place:
    stubs = Stubs(place)
    all_stages(stubs)
    a_failure_ends_nothing(stubs)
    failures_in_a_row_end_a_stage(stubs)
    time_runs_out(stubs)
    killed_in_the_middle(stubs)
    renewed_while_a_command_runs(stubs)
    nothing_to_run_on(stubs)
the_real_program_plans_every_sweep()
finish()
