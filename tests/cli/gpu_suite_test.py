"""scripts/gpu-suite without a GPU: its stages over a program and an nvidia-smi that only say what
they were asked."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from program import PROGRAM, expect, expect_equal, finish

SUITE = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/gpu-suite"

# All that need no PyTorch of a GPU.
STAGES = ("machine,tests,ranks,memcheck,racecheck,data,kernels,crossover,layers18,layers50,null,"
          "steps,switching,quickstart,table1,adelman,wang3,wang5,study,again,reduced,mcdanel10,"
          "report")

# What the times of layers on sparse tensor cores are asked of.
SPARSE_LAYERS = ("study layer-times", "--batch-size 256", "--device cuda", "--precision bf16",
                 "--variants all")

# Fails at what FAIL names, and takes long over what SLOW names.
STUB = """#!/bin/sh
echo "${0##*/} $@" >> "$CALLS"
case "${0##*/} $*" in "nvidia-smi -L") for i in $GPUS; do echo "GPU $i: some"; done; exit 0 ;; esac
case "$*" in *"$FAIL"*) echo "this went wrong" >&2; exit 3 ;; esac
case "$*" in *"$SLOW"*) trap 'exit 130' INT; sleep 60 & wait ;; esac
exit 0
"""


class Stubs:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.build = self.folder / "build"
        self.build.mkdir()
        for stub in (self.build / "approxtrain", self.build / "parallel_checks",
                     self.folder / "nvidia-smi", self.folder / "mpirun"):
            stub.write_text(STUB)
            stub.chmod(0o755)

    def suite(self, *arguments, fail="NOTHING", slow="NOTHING", gpus="0"):
        """Exit code, summary and what was asked of the program."""
        calls = self.folder / "calls"
        calls.write_text("")
        env = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", CALLS=str(calls),
                   FAIL=fail, SLOW=slow, GPUS=gpus)
        out = self.folder / "out"
        (out / "summary.txt").unlink(missing_ok=True)
        if "--stages" not in arguments:
            arguments = ("--stages", STAGES, *arguments)
        done = subprocess.run(
            [sys.executable, SUITE, "--build", self.build, "--out", out, "--data",
             self.folder / "none", *arguments], capture_output=True, text=True, env=env)
        summary = out / "summary.txt"
        return (done.returncode, summary.read_text() if summary.exists() else done.stderr,
                calls.read_text())


def a_small_pack_leaves_archives_out(folder):
    """Programs of a line each, one of which reads archives."""
    build = pathlib.Path(folder, "small")
    build.mkdir()
    main = "int main(void) { puts(\"Cuda.\\n  Test\"); return use(); }"
    for name, code, flags in (
            ("libapproxtrain.so", "void* archive_read_new(void); "
             "int use(void) { return archive_read_new() == 0; }",
             ["-shared", "-fPIC", "-larchive"]),
            ("approxtrain", f"#include <stdio.h>\nint use(void);\n{main}", []),
            ("core_test", "#include <stdio.h>\nint use(void) { return 0; }\n" + main, [])):
        linked = [build / "libapproxtrain.so"] if name == "approxtrain" else []
        made = subprocess.run(["cc", "-x", "c", "-", "-x", "none", *linked, "-o", build / name,
                               *flags], input=code, text=True, capture_output=True)
        if made.returncode:
            print(f"skipped: no program could be made that reads archives ({made.stderr[:200]})")
            return
    packed, there = build / "packed.tar.xz", build / "packed"
    done = subprocess.run([sys.executable, SUITE, "--build", build, "--pack", packed, "--small"],
                          capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(build)))
    expect_equal(done.returncode, 0, f"a small pack: exit code ({done.stderr})")
    expect("MiB of the tree" in done.stderr, f"a small pack: {done.stderr}")
    with tarfile.open(packed) as archive:
        archive.extractall(build, filter="data")
    # What libarchive needs itself is left out too.
    expect_equal(os.listdir(there / "lib"), ["libarchive.so.13"], "a small pack: libraries")
    expect((there / "small").exists(), "the mark of a small pack")
    # All functions are there, so that a library that is loaded whole can be.
    ran = subprocess.run([there / "approxtrain"], capture_output=True, text=True, env=dict(
        os.environ, LD_LIBRARY_PATH=f"{there}:{there / 'lib'}", LD_BIND_NOW="1"))
    expect_equal((ran.returncode, ran.stderr),
                 (1, "libarchive.so.13 was not packed (gpu-suite --small)\n"), "a packed program")


def the_real_program_plans_every_sweep():
    done = subprocess.run([sys.executable, SUITE, "--dry-run", "--build",
                           os.path.dirname(PROGRAM)], capture_output=True, text=True)
    if "no Python here has PyTorch" in done.stderr:
        return
    expect_equal(done.returncode, 0, f"dry run: exit code ({done.stderr})")
    expect(" runs, " in done.stderr, f"dry run: {done.stderr}")
    for network in ("resnet18", "resnet50"):
        expect(any(network in line and all(text in line for text in SPARSE_LAYERS)
                   for line in done.stderr.splitlines()), f"dry run, {network}: {done.stderr}")
    # Three methods, four schedules, captured and not, five processes.
    _, _, said = done.stderr.partition("gpu-suite: switching:")
    expect("@switching" in said and " 120 runs, " in said.partition("gpu-suite: quickstart")[0],
           f"dry run of the stage switching: {said[:500]}")


with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as place:
    stubs = Stubs(place)
    code, said, calls = stubs.suite()
    if "no Python here has PyTorch" in said:
        print("skipped: no PyTorch for the libraries of a GPU")
        sys.exit(77)
    expect_equal(code, 0, f"all stages: exit code ({said})")
    expect("steps        done" in said and "quickstart   done" in said, f"all stages: {said}")
    # A sanitizer that is not here, and data that is not.
    expect("data         skipped: there is nothing to run" in said, f"no data: {said}")

    expect(all(text in calls for text in ("layer-times --network resnet18", *SPARSE_LAYERS[1:])),
           f"layers: {calls}")

    # One rank without mpirun; with it as many as there are GPUs.
    expect("parallel_checks cuda" in calls and "mpirun" not in calls, f"one rank: {calls}")
    code, said, calls = stubs.suite("--stages", "ranks", "--again", "ranks", gpus="0 1 2",
                                    fail="hang")
    expect(any(line.startswith("mpirun ") and "-n 3 " in line and line.endswith("cuda")
               for line in calls.splitlines()), f"three ranks: {calls}")
    expect_equal(code, 1, f"a rank that is not named: exit code ({said})")

    # What is done is not done again, what is of the machine is.
    code, said, calls = stubs.suite()
    expect_equal(code, 0, f"again: exit code ({said})")
    expect("steps        done before" in said, f"again: {said}")
    expect("@steps" not in calls and "--version" in calls, f"again: {calls}")
    code, said, calls = stubs.suite("--again", "steps")
    expect("@steps" in calls and "@null_timings" not in calls, f"--again: {calls}")

    # An error ends its stage alone, which is then not done.
    code, said, calls = stubs.suite("--again", "null,steps", fail="@null_timings")
    expect_equal(code, 1, f"an error: exit code ({said})")
    expect("null         exit 3" in said and "steps        done" in said, f"an error: {said}")
    expect("this went wrong" in (stubs.folder / "out/null.log").read_text(), "an error: its log")

    # So does time; the stages after it are not begun.
    code, said, calls = stubs.suite("--stages", "steps,quickstart", "--again", "steps,quickstart",
                                    "--seconds", "7", slow="@steps")
    expect_equal(code, 1, f"out of time: exit code ({said})")
    expect("steps        not through" in said, f"out of time: {said}")
    expect("quickstart   not begun" in said, f"out of time: {said}")

    a_small_pack_leaves_archives_out(place)

    code, said, _ = stubs.suite("--stages", "stepps")
    expect(code == 2 and 'no stage "stepps"' in said, f"an unknown stage: {code} {said}")

the_real_program_plans_every_sweep()
finish()
