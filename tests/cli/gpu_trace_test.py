"""Traces of a GPU without one: libapproxtrain_trace.so with a library in the place of CUPTI, and
scripts/gpu-trace on traces whose times are known.

  gpu_trace_test.py [TRACE_LIBRARY FOLDER_OF_THE_FAKE]   without these, scripts/gpu-trace alone
"""

import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/gpu-trace"
NORM = "void approx::gpu_kernel<approx::NormApplyGpu<approx::BFloat16, 4> >(int)"
PEAK = "void approx::gpu_kernel<approx::PlanePeak<float, 1> >(approx::PlanePeak<float, 1>)"
DRAWS = "void approx::gpu_kernel<approx::Fresh>(approx::Fresh)"
NAMES = {0: "sm90_xmma_fprop_implicit_gemm_bf16", 1: "sm90_xmma_wgrad_implicit_gemm_bf16", 2: NORM,
         3: PEAK, 4: "void at::native::vectorized_elementwise_kernel<4>(int)", 5: DRAWS,
         6: "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<int>(int)"}


def equal(actual, expected, what):
    assert actual == expected, f"{what}: {actual!r}, not {expected!r}"


class Clock:
    """A trace that is written kernel after kernel."""

    def __init__(self, label):
        self.lines = [f"approxtrain-trace 1 {label}"]
        self.lines += [f"n {number} {name}" for number, name in NAMES.items()]
        self.now, self.launch = 0, 0

    def kernel(self, name, length, graph=0, node=0, launch=None):
        if launch is None:
            self.launch += 1
            launch = self.launch
        self.lines.append(f"k {name} {self.now} {length} 40 0 1 1 1 256 1 1 "
                          f"7 {graph} {node} {launch}")
        self.now += length

    def wait(self, length):
        self.now += length

    def replay(self, graph, kernels, gap=1000, same_launch=None):
        """`kernels`: (name, length), with a gap between any two."""
        self.launch += 1
        launch = self.launch if same_launch is None else same_launch
        for node, (name, length) in enumerate(kernels):
            if node:
                self.wait(gap)
            self.kernel(name, length, graph, node + 1, launch)

    def text(self, end=True):
        return "\n".join(self.lines + (["e 100 0"] if end else [])) + "\n"


def analysed(text, *arguments, code=0):
    with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as folder:
        path = os.path.join(folder, "some.trace")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        done = subprocess.run([sys.executable, SCRIPT, *arguments, path], capture_output=True,
                              text=True)
        equal(done.returncode, code, f"exit code ({done.stderr})")
        return done.stdout if code == 0 else done.stderr


def rows(text):
    return {row["arm"]: row for row in map(json.loads, analysed(text, "--format",
                                                                  "jsonl").splitlines())}


def timing_run(method="topk_position", approximated=((0, 5000), (3, 2000), (2, 3000))):
    """Blocks of three steps, exact, approximated, exact, approximated."""
    clock = Clock(f"small_cnn {method}")
    for graph, kernels in ((3, [(0, 5000), (1, 4000), (2, 3000)]), (8, approximated)) * 2:
        clock.wait(500_000)
        for _ in range(3):
            clock.kernel(4, 700)
            clock.wait(300)
            clock.replay(graph, kernels)
    return clock


def steps_are_found():
    found = rows(timing_run().text())
    equal(sorted(found), ["exact", "topk_position"], "arms")
    exact = found["exact"]
    # Of each block of three steps two follow a replay of the same graph. 5 + 1 + 4 + 1 + 3 µs in
    # the replay; before it 0.7 of a kernel and 0.3 of nothing.
    equal((exact["steps"], exact["step_us"], exact["kernels"]), (4, 15.0, 3.0), "exact")
    equal((exact["gaps"], exact["gaps_us"], exact["median_gap_us"]), (2.0, 2.0, 1.0), "gaps")
    equal((exact["kernel_us"], exact["busy_us"]), (12.7, 12.7), "sum of kernels")
    equal((exact["between_replays_us"], exact["kernels_beside"]), (1.0, 1.0), "between replays")
    equal(exact["families"], {"convolution, forward": 5.0, "convolution, weight gradient": 4.0,
                              "norm": 3.0, "beside the graph: batch, augmentation": 0.7},
          "families")
    equal(found["topk_position"]["families"]["choosing"], 2.0, "choosing")
    equal([(row["kernel"], row["calls"], row["us"]) for row in exact["by_kernel"]][:1],
          [(NAMES[0], 1.0, 5.0)], "kernels")
    equal((exact["network"], exact["whole"]), ("small_cnn", True), "label")


def arms_are_told():
    # Nothing but a product is left out: the shorter graph is the approximated one.
    found = rows(timing_run("zero", ((0, 5000), (2, 3000))).text())
    equal(found["zero"]["families"].get("convolution, weight gradient"), None, "zero")
    equal(found["exact"]["step_us"], 15.0, "exact beside zero")
    # One graph alone is nobody's.
    clock = Clock("small_cnn zero")
    for _ in range(3):
        clock.replay(4, [(0, 1000)])
    equal(sorted(rows(clock.text())), ["zero, graph 4"], "one graph")


def odd_traces():
    # A launch number that stays: a node that comes again begins a step.
    clock = Clock("n m")
    for _ in range(3):
        clock.replay(4, [(0, 1000), (2, 1000)], same_launch=9)
        clock.wait(500)
    equal(rows(clock.text())["m, graph 4"]["steps"], 2, "steps by their nodes")
    # Kernels side by side count twice in the sum and once in the time that the GPU was busy.
    clock = Clock("n m")
    for launch in range(3):
        clock.kernel(0, 2000, 4, 1, 50 + launch)
        clock.now -= 2000
        clock.kernel(2, 3000, 4, 2, 50 + launch)
        clock.wait(1000)
    row = rows(clock.text())["m, graph 4"]
    equal((row["step_us"], row["kernel_us"], row["busy_us"], row["gaps"]), (4.0, 5.0, 3.0, 0.0),
          "side by side")
    # A step that waited for something else is left out.
    clock = Clock("n m")
    for wait in (0, 0, 0, 90_000, 0):
        clock.wait(wait)
        clock.replay(4, [(0, 1000)])
    equal(rows(clock.text())["m, graph 4"]["steps"], 3, "a step that waited")
    # A process that was killed: the last line is cut.
    killed = timing_run().text(end=False)
    row = rows(killed[:-12])["exact"]
    equal((row["whole"], row["steps"]), (False, 4), "killed")
    said = analysed("approxtrain-trace 1 n m\n", code=1)
    assert "no two replays" in said, said
    assert "not a trace" in analysed("something\n", code=1)
    assert "2 lines are no records" in analysed("approxtrain-trace 1 n m\nx\ny\n", code=1)


def tables_are_written():
    text = analysed(timing_run().text())
    assert "| small_cnn | topk_position | exact | 15.0 | 3.0 | 12.7 | 2.0 | 2.0 |" in text, text
    assert "| norm | 3.0 | 3.0 |" in text, text
    assert "| `PlanePeak<float, 1>` | choosing | 1.0 | 2.0 |" in text, text


def a_sample_says_the_same():
    with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as folder:
        whole = timing_run().text()
        analysed(whole, "--sample", folder)
        small = pathlib.Path(folder, "some.trace").read_text(encoding="utf-8")
        assert small.count("\nk ") == 2 * 3 * 4 - 2, small
        for name, row in rows(small).items():
            equal(row["families"], rows(whole)[name]["families"], "a sample")


def families_are_known():
    sys.path.insert(0, str(SCRIPT.parent))
    import gpu_traces
    # Every struct that a GPU runs has a family.
    source = SCRIPT.parent.parent / "kernels"
    kernel = re.compile(r"^struct (\w+) \{(?:(?!^\};).)*?\bgrid\(", re.M | re.S)
    structs = [(name, header.name) for header in source.glob("*/*_gpu.h")
               for name in kernel.findall(header.read_text(encoding="utf-8"))]
    assert len(structs) > 20, structs
    for name, header in structs:
        kernel = gpu_traces.Record(f"void approx::gpu_kernel<approx::{name}<float> >()", 0, 1,
                                   (0, 1, 1, 1), "")
        known = gpu_traces.family(kernel) != "own kernels, other"
        # One is of a benchmark, the other a part of a kernel.
        assert known or name in ("CopyRounds", "FoursOfDY"), f"{name} ({header}) has no family"
    names = {"nvjet_hsh_128x256": "matrix products",
             "void cudnn::ops::nchwToNhwcKernel<float>": "convolution, layout",
             "sm90_xmma_dgrad_implicit_gemm": "convolution, data gradient",
             "void at::native::max_pool_backward_nhwc": "pooling", "what": "other"}
    for name, expected in names.items():
        equal(gpu_traces.family(gpu_traces.Record(name, 0, 1, (0, 1, 1, 1), "")), expected, name)


def traced(library, fake, ending, preload=True, **more):
    """What a process that CUDA starts in, and that ends so, leaves behind: traces, and what it
    said."""
    code = (f"import ctypes, os, sys\nlibrary = ctypes.CDLL({library!r})\n"
            f"print('began', library.InitializeInjection(), flush=True)\n{ending}\n")
    with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as folder:
        env = dict(os.environ, APPROXTRAIN_TRACE=f"{folder}/t",
                   APPROXTRAIN_TRACE_LABEL="small_cnn zero", LD_LIBRARY_PATH=fake or "/nowhere")
        env.update({"LD_PRELOAD": library} if preload else {}, **more)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        texts = [pathlib.Path(path).read_text(encoding="utf-8")
                 for path in glob.glob(f"{folder}/t.*.trace")]
    return texts, done.stdout + done.stderr


def the_library_writes(library, fake):
    whole = "e 10 4\n"
    for ending, preload in (("os._exit(3)", True), ("sys.exit(0)", False), ("sys.exit(0)", True)):
        texts, said = traced(library, fake, ending, preload)
        equal((len(texts), said), (1, "began 1\n"), f"{ending}, preload {preload}")
        assert texts[0].endswith(whole), (ending, texts[0])
        row = rows(texts[0])["zero, graph 5"]
        equal((row["steps"], row["step_us"], row["kernel_us"], row["gaps"], row["lost"]),
              (2, 10.0, 5.0, 1.0, 4), "what it wrote")
    # Killed after a flush: all but the last line is there.
    texts, _ = traced(library, fake, "import time; time.sleep(3); os.kill(os.getpid(), 9)")
    assert texts[0].count("\nk ") == 6 and "\ne " not in texts[0], texts[0]
    # A child of the traced process writes nothing, and does not end the trace.
    texts, said = traced(library, fake, "if os.fork() == 0: os._exit(0)\nos.wait()\n"
                                        "print('still', flush=True)\nos._exit(0)")
    assert texts[0].count("\ne ") == 1 and "still" in said, (texts, said)
    # No CUPTI, or one that finds no driver.
    texts, said = traced(library, None, "os._exit(0)")
    equal(len(texts), 0, "without CUPTI")
    assert "began 0" in said and "nothing is traced" in said, said
    texts, said = traced(library, fake, "os._exit(0)", FAKE_CUPTI="refuse")
    equal(len(texts), 0, "no records")
    assert "began 0" in said and "not supported here" in said, said


for check in (steps_are_found, arms_are_told, odd_traces, tables_are_written,
              a_sample_says_the_same, families_are_known):
    check()
if len(sys.argv) > 2:
    the_library_writes(*sys.argv[1:3])
