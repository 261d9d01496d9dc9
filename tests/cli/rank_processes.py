"""What works on a run of several ranks."""

import os


def status_of(pid, key):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(key + ":"):
                return line.split()[1]
    raise LookupError(key)


def processes(folder):
    """What works in this folder: the pids of the job, of its launcher, and of each rank."""
    found = {"job": [], "mpirun": [], "ranks": {}}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") != folder.path or status_of(pid, "State") == "Z":
                continue
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
            if words[0] == b"mpirun":
                found["mpirun"].append(int(pid))
            elif b"--as-rank" in words:
                with open(f"/proc/{pid}/environ", "rb") as environment:
                    for variable in environment.read().split(b"\0"):
                        if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                            found["ranks"][int(variable.split(b"=")[1])] = int(pid)
            elif b"--job" in words:
                found["job"].append(int(pid))
        except (OSError, LookupError):
            pass
    return found


def nobody(found):
    return not (found["job"] or found["mpirun"] or found["ranks"])
