"""A sweep refuses a database on a network file system, says why, and leaves nothing there; a flag
lets it work there all the same. What only reads such a database does so."""

import os
import shutil

from disk_faults import SHIM
from fake_slurm import FakeSlurm
from program import Folder, expect, expect_equal, finish

NETWORK = {
    "6969": "NFS", "ff534d42": "CIFS", "fe534d42": "SMB", "517b": "SMB", "564c": "NCP",
    "1021997": "9p", "5346414f": "AFS", "6b414653": "AFS", "73757245": "Coda", "c36400": "Ceph",
    "bd00bd0": "Lustre", "47504653": "GPFS", "19830326": "BeeGFS", "aad7aaea": "PanFS",
    "20030528": "OrangeFS", "7461636f": "OCFS2", "1161970": "GFS2",
}
# ext4, xfs, btrfs, tmpfs, overlay, zfs, and FUSE at a device that is none
LOCAL = ("ef53", "58465342", "9123683e", "1021994", "794c7630", "2fc12fc1", "65735546")


def on(magic, name=""):
    return {"LD_PRELOAD": SHIM,
            "APPROXTRAIN_FAULT_FILE_SYSTEM": magic + (f":{name}" if name else "")}


def refused(folder, arguments, env, said, what):
    before = sorted(os.listdir(folder.path))
    code, out, err = folder.run(*arguments, env=env)
    expect_equal((code, out, err.count("\n")), (6, "", 1), f"{what}: exit code ({err})")
    expect(err.startswith("approxtrain: ") and said in err and "--network-db" in err,
           f"{what}: {err}")
    expect_equal(sorted(os.listdir(folder.path)), before, f"{what}: files")


def every_type():
    with Folder() as folder:
        for magic, name in NETWORK.items():
            refused(folder, ("sweep", "sweep.toml", "--db", "t.db"), on(magic),
                    f"t.db: is on a network file system ({name})", name)
        refused(folder, ("train", "--network", "small_cnn", "--dataset", "mnist14", "--db", "t.db"),
                on("6969"), "(NFS)", "train")
        refused(folder, ("sweep", "@adelman2021:figure1", "--db", "t.db"), on("6969"), "(NFS)",
                "a study")
        code, _, err = folder.sweep("--dry-run", env=on("6969"))
        expect_equal(code, 0, f"a plan writes nothing ({err})")
        for magic in LOCAL:
            code, _, err = folder.sweep("--seeds", "0", "--progress", "none", env=on(magic))
            expect_equal(code, 0, f"{magic}: exit code ({err})")
            os.remove(folder.file("t.db"))
            shutil.rmtree(folder.file("t.runs"))


def with_the_flag():
    with Folder() as folder:
        code, _, err = folder.sweep("--network-db", "--progress", "none", env=on("6969"))
        expect_equal(code, 0, f"--network-db: exit code ({err})")
        expect_equal(set(folder.states().values()), {"finished"}, "--network-db: runs")
        # Another time without it, and each part alone.
        again = ("sweep", "sweep.toml", "--db", "t.db", "--seeds", "7")
        refused(folder, again, on("6969"), "t.db: is on a network file system", "a known one")
        refused(folder, again, on("6969", "t.db"), "t.db: is on a network file system", "the file")
        refused(folder, again, on("6969", "t.runs"), "t.runs: is on a network file system",
                "the folder of runs")
        for command in (("report", "table"), ("report", "runs"), ("db", "check"),
                        ("db", "backup", "copy.db"), ("show", "run", "1")):
            code, _, err = folder.run(*command, "--db", "t.db", env=on("6969"))
            expect_equal(code, 0, f"{command}: exit code ({err})")


def tasks_of_a_cluster():
    """The folder that all nodes see is on a network. Each task has a database of its own there."""
    with FakeSlurm() as folder:
        folder.submit(env=on("6969"))
        for task in range(2):
            code, _, err = folder.work(task, env=on("6969"))
            expect_equal(code, 0, f"task {task}: exit code ({err})")
        folder.set("queue")
        folder.submit(env=on("6969"))
        expect_equal(set(folder.states().values()), {"finished"}, "a cluster: states")


every_type()
with_the_flag()
tasks_of_a_cluster()
print(f"{len(NETWORK)} network file systems refused, {len(LOCAL)} local ones accepted")
finish()
