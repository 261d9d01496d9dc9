"""A rank that does not come is named by the others: `hang_test.py MPIRUN PARALLEL_CHECKS`."""

import os
import subprocess
import sys

RANKS = 3


def main():
    mpirun, program = sys.argv[1:3]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    failures = 0
    for which in range(RANKS):
        done = subprocess.run([mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(RANKS),
                               program, "hang", str(which)], capture_output=True, text=True,
                              env=environment, timeout=90, check=False)
        said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
        wanted = [f"rank {other}: rank {which} did not come to an exchange that others waited "
                  "1.5 s for (--rank-timeout)" for other in range(RANKS) if other != which]
        if done.returncode != 3 or said != wanted:
            print(f"rank {which} hangs: exit code {done.returncode}, {said}\n{done.stderr}")
            failures += 1
    print(f"{failures} failures")
    return 1 if failures else 0


sys.exit(main())
