"""A disk that is full, fails or may not be written to, at one call after the other of a program
(fault_shim.cpp)."""

import errno
import os

SHIM = os.path.abspath(os.environ["APPROXTRAIN_FAULT_SHIM"])
KINDS = ("write", "sync", "rename", "open", "remove")
# What fails, and whether all that follows does too: a full disk stays full.
FAULTS = [(errno.ENOSPC, ""), (errno.EIO, ":1"), (errno.EROFS, "")]


def calls_in(path):
    """Of each kind, by each process that wrote down its own."""
    with open(path) as lines:
        return [dict(zip(KINDS, map(int, line.split()))) for line in lines]


def calls_of(calls, every, rng):
    """Of each kind every so many of its calls, from a random one on."""
    for kind in KINDS:
        start = 1 + rng.randrange(min(every, max(1, calls[kind])))
        for call in range(start, calls[kind] + 1, every):
            yield kind, call


def faults(calls, every, rng):
    """Each kind of fault at every so many of its calls, from a random one on."""
    for number, count in FAULTS:
        for kind, call in calls_of(calls, every, rng):
            yield f"{kind}:{call}:{number}{count}"
