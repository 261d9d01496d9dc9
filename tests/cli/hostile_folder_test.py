"""Figures drawn in a folder that somebody else made: nothing in it is run. Skipped (77) where there
is no gnuplot."""

import os
import shutil
import sys

from program import Folder, expect, expect_equal, finish

TRAP = 'system("touch \'{}\'")\n'


def draws(folder, what, **env):
    code, out, err = folder.run("report", "curves", "--db", "t.db", "--format", "svg", env=env)
    expect_equal((code, err, "<svg" in out), (0, "", True), what)
    expect(not os.path.exists(folder.file("trap")), f"{what}: ran what the folder holds")


def main():
    if shutil.which("gnuplot") is None:
        sys.exit(77)
    with Folder() as folder:
        expect_equal(folder.sweep("--progress", "none")[0], 0, "the sweep")
        os.mkdir(folder.file("plots"))
        trap = TRAP.format(folder.file("trap"))
        for name in ("plots/curves.gp", "plots/style.gp", ".gnuplot"):
            with open(folder.file(name), "w") as out:
                out.write(trap)
        draws(folder, "scripts of the working directory")
        for name in ('a "; touch trap; " b', "$(touch trap)", "it's"):
            os.mkdir(folder.file(name))
            draws(folder, f"a temporary folder named {name}", TMPDIR=folder.file(name))
    finish()


main()
