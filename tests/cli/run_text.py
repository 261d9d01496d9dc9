"""Runs a file of command-line tests: `run_text.py FILE.test`.

A test is a block of lines, separated from the next one by an empty line:

    # name of the test, or any remark
    $ approxtrain --version | head -1     the command, run by bash in an empty folder
    VAR=value                             (before the command) an environment variable
    > a line that stdout has              lines of stdout, all of them, in order
    >~ regular expression                 the same, searched for in the line
    >* at least these                     a regular expression that some line matches
    ! a line that stderr has              likewise !~ and !*
    = 2                                   the exit code, 0 if left out

A stream without a line of its own is not looked at, `>-` and `!-` say that it is empty. Every
stderr of a test with exit code 2 has to be one line that starts with `approxtrain: `.
"""

import os
import re
import subprocess
import sys

from program import Folder, PROGRAM, expect, finish


def blocks(path):
    block, start = [], 1
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if line:
                if not block:
                    start = number
                block.append(line)
            elif block:
                yield start, block
                block = []
    if block:
        yield start, block


def check_stream(place, stream, wanted, got):
    lines = got.splitlines()
    if any(kind == "-" for kind, _ in wanted):
        expect(not lines, f"{place}: {stream} is not empty: {got!r}")
        return
    for kind, text in wanted:
        if kind == "*":
            expect(any(re.search(text, line) for line in lines),
                   f"{place}: no line of {stream} matches {text!r}: {got!r}")
    exact = [(kind, text) for kind, text in wanted if kind != "*"]
    if not exact:
        return
    if not expect(len(lines) == len(exact),
                  f"{place}: {stream} has {len(lines)} lines, expected {len(exact)}: {got!r}"):
        return
    for line, (kind, text) in zip(lines, exact):
        matches = re.search(text, line) if kind == "~" else line == text
        expect(matches, f"{place}: {stream}: got {line!r}, expected {kind}{text!r}")


def run_block(place, block):
    command, code, env = None, 0, {}
    streams = {">": [], "!": []}
    for line in block:
        if line.startswith("#"):
            continue
        if line.startswith("$ "):
            command = line[2:]
        elif line.startswith("= "):
            code = int(line[2:])
        elif line[0] in streams:
            kind = line[1:2] if line[1:2] in ("~", "*", "-") else ""
            streams[line[0]].append((kind, line[1 + len(kind):].removeprefix(" ")))
        else:
            name, value = line.split("=", 1)
            env[name] = value
    if command is None:
        return False
    with Folder() as folder:
        full = folder.environment(**env)
        full["PATH"] = os.path.dirname(PROGRAM) + ":" + full["PATH"]
        done = subprocess.run(["bash", "-c", command], cwd=folder.path, env=full, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True)
    out = done.stdout.decode(errors="backslashreplace")
    err = done.stderr.decode(errors="backslashreplace")
    expect(done.returncode == code,
           f"{place}: {command}: exit code {done.returncode}, expected {code}: {err!r}")
    check_stream(place, "stdout", streams[">"], out)
    check_stream(place, "stderr", streams["!"], err)
    if code == 2:
        expect(err.count("\n") == 1 and err.startswith("approxtrain: "),
               f"{place}: {command}: not one clear line: {err!r}")
    return True


def main():
    path = sys.argv[1]
    count = 0
    for number, block in blocks(path):
        count += run_block(f"{os.path.basename(path)}:{number}", block)
    expect(count > 0, f"{path}: no tests in it")
    print(f"{count} tests")
    finish()


main()
