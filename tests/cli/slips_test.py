"""A flag that is misspelt by one edit is refused, and the one that was meant is named: dropped and
swapped letters of each flag, of `sweep` all of them, and some added and replaced ones."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from program import PROGRAM, expect, expect_equal, finish

COMMANDS = ["sweep", "train", "report", "bench-kernel", "tune-kernels", "doctor"]


def flags_of(command):
    out = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^ +(?:-\w, ?)?(--[a-z][a-z-]+)", out.stdout, re.M)))


def slips_of(flag, every):
    word = flag[2:]
    for i in range(0, len(word), every):
        yield word[:i] + word[i + 1:]
        if i + 1 < len(word):
            yield word[:i] + word[i + 1] + word[i] + word[i + 2:]
    middle = len(word) // 2
    yield word + "x"
    yield "x" + word
    yield word[:middle] + "q" + word[middle:]
    yield word[:middle] + "q" + word[middle + 1:]


def one_edit(a, b):
    """Whether b is a with one letter dropped, added, replaced or two neighbours swapped."""
    if len(a) == len(b):
        differ = [i for i in range(len(a)) if a[i] != b[i]]
        swapped = (len(differ) == 2 and differ[1] == differ[0] + 1 and
                   a[differ[0]] == b[differ[1]] and a[differ[1]] == b[differ[0]])
        return len(differ) == 1 or swapped
    if len(a) > len(b):
        a, b = b, a
    return len(b) == len(a) + 1 and any(b[:i] + b[i + 1:] == a for i in range(len(b)))


def refused(command, slip):
    done = subprocess.run([PROGRAM, command, "--" + slip, "1"], capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))
    what = f"{command} --{slip}: {done.returncode} {done.stderr!r}"
    expect_equal(done.returncode, 2, what)
    expect_equal(done.stderr.count("\n"), 1, what)
    meant = re.search(r'did you mean "(--[a-z-]+)"\?', done.stderr)
    if expect(meant, what):
        expect(one_edit(meant.group(1)[2:], slip), what)


def main():
    with ThreadPoolExecutor(2) as pool:
        for command in COMMANDS:
            flags = flags_of(command)
            expect(len(flags) >= 2, f"{command}: {flags}")
            every = 1 if command == "sweep" else 4
            slips = {slip for flag in flags for slip in slips_of(flag, every)}
            slips = [slip for slip in sorted(slips)
                     if slip and "--" + slip not in flags and not slip.startswith("-")]
            list(pool.map(lambda slip, of=command: refused(of, slip), slips))
            print(f"{command}: {len(slips)} slips of {len(flags)} flags")
    finish()


if __name__ == "__main__":
    sys.exit(main())
