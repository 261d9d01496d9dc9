"""Ranks that are all stopped for longer than they wait for each other go on as if nothing had
happened: `pause_test.py MPIRUN PARALLEL_CHECKS`."""

import os
import signal
import subprocess
import sys
import time

PAUSE = 4  # seconds; the ranks wait for 1.5


def ranks_of(program, launcher):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/stat") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
                if parent == launcher and line.read().startswith(program.encode()):
                    found.append(int(pid))
        except (OSError, ValueError):
            pass
    return found


def main():
    mpirun, program = sys.argv[1:3]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    job = subprocess.Popen([mpirun, "--oversubscribe", "--bind-to", "none", "-n", "3", program,
                            "late"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=environment)
    job.stdout.readline()
    ranks = ranks_of(program, job.pid)
    time.sleep(0.3)  # two of them wait for the third
    for what, pause in ((signal.SIGSTOP, PAUSE), (signal.SIGCONT, 0)):
        for rank in ranks:
            os.kill(rank, what)
        time.sleep(pause)
    out, err = job.communicate(timeout=90)
    if len(ranks) == 3 and job.returncode == 0:
        return 0
    print(f"{len(ranks)} ranks, exit code {job.returncode}\n{out}{err}")
    return 1


sys.exit(main())
