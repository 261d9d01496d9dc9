"""What valgrind says of the kernels: `valgrind_checks.py memory|instructions PROGRAM [--write]`.

memory: no variant reads what nobody wrote, or what is not its own.
instructions: no hot kernel needs 2 % more instructions than instructions.txt says. Unlike times
these are the same on any machine, loaded or not, for one compiler: another one skips the test.
`--write` records them anew. Valgrind shows programs a machine with AVX2, which is what is checked.

Exits with 77 where valgrind is missing.
"""

import pathlib
import re
import shutil
import subprocess
import sys

RECORD = pathlib.Path(__file__).with_name("instructions.txt")
MOST = 1.02
CASES = "40"


def valgrind(tool, *command):
    return subprocess.run(["valgrind", f"--tool={tool}", *command], text=True, capture_output=True)


def memory(program):
    done = valgrind("memcheck", "--quiet", "--error-exitcode=9", program, "agree", CASES)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


def listed(program, command):
    return subprocess.run([program, command], text=True, capture_output=True, check=True).stdout


def counts(program):
    found = {}
    for name in listed(program, "list").splitlines():
        done = valgrind("callgrind", "--callgrind-out-file=/dev/null",
                        "--toggle-collect=counted_work", program, "count", name)
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not collected or int(collected[1]) == 0:
            sys.exit(f"{name}: nothing counted\n{done.stderr}")
        found[name] = int(collected[1])
    return found


def instructions(program, write):
    compiler = listed(program, "compiler").strip()
    if write:
        lines = [f"{name}\t{count}" for name, count in counts(program).items()]
        RECORD.write_text("\n".join([f"compiler\t{compiler}", *lines]) + "\n")
        return 0
    recorded = dict(line.split("\t") for line in RECORD.read_text().splitlines())
    if recorded.pop("compiler") != compiler:
        print(f"skipped: {RECORD.name} is of another compiler than {compiler}")
        return 77
    found = counts(program)
    if found.keys() != recorded.keys():
        print(f"{RECORD.name} names other kernels: record them with --write")
        return 1
    worse = 0
    for name, count in found.items():
        ratio = count / int(recorded[name])
        worse += ratio > MOST
        remark = "more than recorded" if ratio > MOST else ""
        print(f"{name}: {count} instructions, {ratio:.3f} of the recorded {remark}".rstrip())
    return 1 if worse else 0


def main():
    what, program, *options = sys.argv[1:]
    if shutil.which("valgrind") is None:
        print("skipped: there is no valgrind (scripts/setup --dev installs it)")
        return 77
    return memory(program) if what == "memory" else instructions(program, "--write" in options)


sys.exit(main())
