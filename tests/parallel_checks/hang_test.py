"""A rank that does not come is named by the others: `hang_test.py MPIRUN PARALLEL_CHECKS`. With
`--cuda N` behind, of N ranks with a GPU each: that one of them hangs is said by all others."""

import os
import subprocess
import sys


def main():
    mpirun, program = sys.argv[1:3]
    gpus = int(sys.argv[4]) if sys.argv[3:4] == ["--cuda"] else 0
    ranks = gpus or 3
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    failures = 0
    for which in range(ranks):
        done = subprocess.run([mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
                               program, "hang", str(which), *(["cuda"] if gpus else [])],
                              capture_output=True, text=True, env=environment, timeout=90,
                              check=False)
        said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
        words = (f"the GPUs of all {ranks} ranks did not go on within 20 s (--rank-timeout): one "
                 "of them hangs, or did not come to an exchange" if gpus else
                 f"rank {which} did not come to an exchange that others waited 1.5 s for "
                 "(--rank-timeout)")
        wanted = [f"rank {other}: {words}" for other in range(ranks) if other != which]
        if done.returncode != 3 or said != wanted:
            print(f"rank {which} hangs: exit code {done.returncode}, {said}\n{done.stderr}")
            failures += 1
    print(f"{failures} failures")
    return 1 if failures else 0


sys.exit(main())
