"""Commands in the place of Slurm's that write down what they are told."""

import os
import shutil

from program import Folder, expect_equal

SWEEP = """id = "fake:slurm"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
threads = 1
"""

# Each script of sbatch is a task of job 17, 18 ... in the file "queue" of its folder.
SBATCH = """#!/bin/bash
cd "$COMMANDS"
env >sbatch.env
for word; do echo "$word"; done >sbatch.words
[[ ! -e refuse ]] || { echo "sbatch: error: not today" >&2; exit 1; }
for word; do [[ $word != --chdir=* ]] || folder=${word#--chdir=}; done
number=$((17 + $(cat jobs 2>/dev/null | wc -l)))
echo "$number" >>jobs
array=$(sed -n 's/^#SBATCH --array=//p' "${@: -1}")
[[ -z $array ]] || for task in $(seq ${array%-*} ${array#*-}); do
  echo "$number $task $folder"
done >>queue
[[ ! -e kill ]] || kill -9 $PPID
echo "$number"
"""

SQUEUE = """#!/bin/bash
cd "$COMMANDS"
env >squeue.env
for word; do echo "$word"; done >squeue.words
cat queue 2>/dev/null
exit 0
"""


class FakeSlurm(Folder):
    """Its sweeps find these commands in place of Slurm's."""

    def __init__(self, sweep=SWEEP, name="it's [a-z]*? $HOME `folder`; &1"):
        super().__init__(sweep)
        self.outer, self.path = self.path, os.path.join(self.path, name)
        os.mkdir(self.path)
        shutil.move(os.path.join(self.outer, "sweep.toml"), self.path)
        self.commands = os.path.join(self.outer, "commands")
        os.mkdir(self.commands)
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE)):
            with open(os.path.join(self.commands, name), "w") as out:
                out.write(text)
                os.fchmod(out.fileno(), 0o755)

    def __exit__(self, *_):
        shutil.rmtree(self.outer, ignore_errors=True)

    def environment(self, fake="", **more):
        return super().environment(fake, **{
            "PATH": f"{self.commands}:{os.environ['PATH']}", "COMMANDS": self.commands, **more})

    def command_file(self, name):
        return os.path.join(self.commands, name)

    def set(self, name, text=""):
        with open(self.command_file(name), "w") as out:
            out.write(text)

    def unset(self, name):
        os.remove(self.command_file(name))

    def lines(self, name):
        with open(self.command_file(name)) as text:
            return text.read().splitlines()

    def variables(self, command, prefix):
        return sorted(line for line in self.lines(f"{command}.env") if line.startswith(prefix))

    def submit(self, *arguments, wanted=0, **how):
        code, out, err = self.sweep("--slurm", *arguments, **how)
        expect_equal(code, wanted, f"--slurm {arguments}: exit code ({err})")
        return err

    def submission(self, number=1):
        return self.file(f"t.slurm/fake:slurm-{number}")

    def work(self, task, number=1, *flags, **how):
        """What Slurm would start."""
        return self.run("sweep", "task", self.submission(number), str(task), "--progress", "none",
                        *flags, **how)
