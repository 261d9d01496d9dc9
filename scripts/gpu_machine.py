"""What the scripts share that run a finished build on a machine with an NVIDIA GPU."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA_TESTS = "*Cuda*:*CUDA*"
SMALL = "small"  # lies in a packed build that can read no archives
PARTS = 8  # of tests, side by side: nothing is timed then
GPU_COLUMNS = ("name,driver_version,pstate,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,"
               "power.draw,power.limit,clocks_throttle_reasons.active,memory.total,"
               "ecc.mode.current")


class Together(list):
    """Commands that run side by side."""


def in_parts(command):
    """Tests of one program by several processes: an error on a GPU ends all that a process has."""
    return Together(["env", f"GTEST_TOTAL_SHARDS={PARTS}", f"GTEST_SHARD_INDEX={part}", *command]
                    for part in range(PARTS))


def find_torch():
    """A Python that has PyTorch, and the folders of LibTorch and of the CUDA libraries that came
    with it; None where there is none."""
    # To import it takes seconds; where it is and which, its files say.
    code = ('import glob, importlib.metadata, importlib.util, os\n'
            'assert importlib.metadata.version("torch").split("+")[0] == "2.11.0"\n'
            'torch = os.path.dirname(importlib.util.find_spec("torch").origin)\n'
            'lib = os.path.join(torch, "lib")\n'
            'print(":".join([lib, *sorted(glob.glob(os.path.join(lib, "../../nvidia/*/lib")))]))')
    for python in (str(ROOT / ".venv/bin/python"), "python3", "python", "/opt/conda/bin/python",
                   "/usr/local/bin/python3"):
        if shutil.which(python):
            done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=ROOT)
            if done.returncode == 0:
                return python, done.stdout.strip()
    return None


def listed_gpus():
    """What nvidia-smi lists, None where it finds nothing."""
    if shutil.which("nvidia-smi") is None:
        return None
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def gpu_count():
    return sum(line.startswith("GPU ") for line in (listed_gpus() or "").splitlines())


def unpacked(build, folder):
    """The folder of a finished build: `build` itself, or, where that is a file of gpu-suite --pack,
    what it holds, put into `folder`."""
    if not build.is_file():
        return build
    with tarfile.open(build) as archive:
        archive.extractall(folder, filter="data")
    return pathlib.Path(folder, "packed")


def library_path(build, torch):
    """LD_LIBRARY_PATH for the programs of a build: its own libraries, those packed with it, and
    LibTorch's."""
    return ":".join(filter(None, [str(build), f"{build}/lib", torch,
                                  os.environ.get("LD_LIBRARY_PATH")]))


def shown(command):
    if isinstance(command, Together):
        return f"{len(command)} side by side: {shown(command[0])}"
    return shlex.join(map(str, command))


def limited(commands, out, log, seconds, grace=20, every=None, tick=None):
    """Runs them side by side. The exit code of the first that fails, 0 where none does; 124 where
    one was stopped for its time, as Ctrl-C does, and killed `grace` seconds later. `tick` is called
    about every `every` seconds meanwhile."""
    end = time.monotonic() + max(seconds, 1)
    started = [start(command, out, log) for command in commands]
    try:
        codes = [127 if process is None else ended(process, end, grace, every, tick)
                 for process in started]
    except BaseException:  # Ctrl-C, a job's limit: what was begun does not go on by itself
        for process in started:
            if process is not None and process.poll() is None:
                stop(process, grace)
        raise
    return next((code for code in codes if code), 0)


def start(command, out, log):
    try:
        return subprocess.Popen(command, stdout=out, stderr=log, cwd=ROOT, start_new_session=True)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=log, flush=True)
        return None


def ended(process, end, grace, every=None, tick=None):
    while True:
        left = max(end - time.monotonic(), 0.1)
        try:
            return process.wait(min(left, every or left))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                stop(process, grace)
                return 124
            if tick is not None:
                tick()


def stop(process, grace):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def planned_line(done):
    """What a sweep's dry run (a CompletedProcess with text) says of how many runs there are; else
    the last line that it printed."""
    lines = done.stdout.splitlines() or done.stderr.splitlines() or [""]
    return next((line for line in reversed(lines) if " runs, " in line), lines[-1])
