"""Ranks with a GPU each where there is none: what is missing is said in one line, and what a
cluster is asked for."""

import os
import shutil
import sys

from program import PROGRAM, Folder, RealFolder, expect, expect_equal, finish

BUILD = os.path.dirname(PROGRAM)
RANKS = ["--network", "small_cnn:width=4", "--dataset", "mnist14", "--ranks", "2", "--threads", "1",
         "--device", "cuda", "--oversubscribe", "--progress", "none"]

SWEEP = """id = "gpus"
network = "small_cnn"
dataset = "mnist14"
method = "dense"
threads = 1
ranks = 2
device = "cuda"
"""


def refusal(folder, env):
    code, out, err = folder.run("train", "--db", "t.db", *RANKS, env=env)
    expect_equal(code, 3, f"train: exit code ({out}{err})")
    (state, error), = folder.query("SELECT state, error FROM run")
    expect_equal(state, "failed", "train: state")
    expect("\n" not in error, f"train: more than a line: {error}")
    return error


def without_the_library():
    with Folder() as folder:
        for name in ("libapproxtrain.so", "libapproxtrain_mpi.so"):
            shutil.copy(os.path.join(BUILD, name), folder.file(name))
        error = refusal(folder, {"APPROXTRAIN_ENGINE": folder.file("libapproxtrain.so")})
        expect("ranks = 2 with device = cuda: libapproxtrain_nccl.so is not beside this library"
               in error, f"without NCCL: {error}")


def with_too_few_gpus():
    if not os.path.exists(os.path.join(BUILD, "libapproxtrain_nccl.so")):
        return
    with RealFolder() as folder:
        error = refusal(folder, {"CUDA_VISIBLE_DEVICES": "7"})
        expect(error.endswith("device cuda: 2 ranks on this machine need a GPU each, and 1 is here "
                              "(CUDA_VISIBLE_DEVICES=7): give fewer ranks"), f"too few: {error}")


def asked_of_a_cluster():
    with Folder(SWEEP) as folder:
        os.mkdir(folder.file("bin"))
        for name in ("squeue", "srun", "sbatch"):
            with open(folder.file(f"bin/{name}"), "w") as stub:
                stub.write("#!/bin/sh\nexit 0\n")
            os.chmod(folder.file(f"bin/{name}"), 0o755)
        env = {"PATH": f"{folder.file('bin')}:{os.environ['PATH']}"}
        for flags, wanted, others in (
                (["--launcher", "mpirun"], "--gres=gpu:2", "--gpus-per-task"),
                (["--launcher", "srun"], "--gpus-per-task=1", "--gres"),
                (["--launcher", "srun", "--slurm-gpus", "4"], "--gres=gpu:4", "--gpus-per-task"),
                (["--launcher", "srun", "--device", "cpu"], "--ntasks=2", "gpu")):
            code, out, err = folder.sweep("--slurm", "--dry-run", *flags, env=env)
            expect_equal(code, 0, f"{flags}: exit code ({err})")
            expect(f"#SBATCH {wanted}\n" in out, f"{flags}: {out}")
            expect(not any(others in line for line in out.splitlines()
                           if line.startswith("#SBATCH") and "--job-name" not in line),
                   f"{flags}: {out}")


asked_of_a_cluster()
if shutil.which("mpirun") is None or not os.path.exists(
        os.path.join(BUILD, "libapproxtrain_mpi.so")):
    print("skipped: mpirun is not installed")
    sys.exit(77)
without_the_library()
with_too_few_gpus()
finish()
