"""A flag that is misspelt by one edit is refused, and the one that was meant is named: dropped and
swapped letters of each flag, of `sweep` all of them, and some added and replaced ones. Of the less
used commands each flag has one slip."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from program import PROGRAM, expect, expect_equal, finish

MUCH_USED = ["sweep", "train", "report", "bench-kernel", "tune-kernels", "doctor"]


def help_of(command):
    return subprocess.run([PROGRAM, *command.split(), "--help"], capture_output=True, text=True,
                          check=True).stdout


def commands_of(parent=""):
    """The commands that --help lists, and theirs: "report", "report tta"."""
    listed = re.search(r"^Commands:\n((?: .*\n)+)", help_of(parent), re.M)
    for name in re.findall(r"^  ([a-z][a-z-]*)\b", listed.group(1) if listed else "", re.M):
        command = f"{parent} {name}".strip()
        yield command
        yield from commands_of(command)


def flags_of(command):
    return sorted(set(re.findall(r"^ +(?:-\w, ?)?(--[a-z][a-z-]+)", help_of(command), re.M)))


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
    done = subprocess.run([PROGRAM, *command.split(), "--" + slip, "1"], capture_output=True,
                          text=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
    what = f"{command} --{slip}: {done.returncode} {done.stderr!r}"
    expect_equal(done.returncode, 2, what)
    expect_equal(done.stderr.count("\n"), 1, what)
    meant = re.search(r'did you mean "(--[a-z-]+)"\?', done.stderr)
    if expect(meant, what):
        expect(one_edit(meant.group(1)[2:], slip), what)


def main():
    commands = list(commands_of())
    expect(len(commands) > 50 and set(MUCH_USED) <= set(commands), f"commands: {commands}")
    with ThreadPoolExecutor(2) as pool:
        for command in commands:
            if command == "completion":  # refuses the 1 behind a slip first: it is no shell
                continue
            flags = flags_of(command)
            if command in MUCH_USED:
                expect(len(flags) >= 2, f"{command}: {flags}")
                every = 1 if command == "sweep" else 4
                slips = {slip for flag in flags for slip in slips_of(flag, every)}
            else:  # a letter is lost in the middle
                slips = {flag[2:len(flag) // 2 + 1] + flag[len(flag) // 2 + 2:] for flag in flags}
            slips = [slip for slip in sorted(slips)
                     if slip and "--" + slip not in flags and not slip.startswith("-")]
            list(pool.map(lambda slip, of=command: refused(of, slip), slips))
            print(f"{command}: {len(slips)} slips of {len(flags)} flags")
    finish()


if __name__ == "__main__":
    sys.exit(main())
