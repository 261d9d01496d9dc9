"""A run of an experiment or a recipe that was changed since the program was built is dirty."""

import json
import os
import shutil

from program import Folder, expect, expect_equal, finish

EXPERIMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../experiments")


def clean(folder, *words):
    """Exit code and message of a sweep that asks for clean sources, and the runs it leaves."""
    code, _, err = folder.run("sweep", *words, "--db", "clean.db", "--method", "dense", "--seeds",
                              "0", "--set", "purpose=accuracy", "--progress", "none",
                              "--require-clean")
    return code, err, os.path.exists(folder.file("clean.db"))


BENCH = ["bench-kernel", "--shape", "N1,C1,K1,H4,R3", "--method", "zero", "--min-time", "1ms",
         "--repetitions", "2"]
TUNE = ["tune-kernels", "--shape", "N2,C16,K16,H8", "--variant", "sparse_rows", "--repetitions",
        "3", "--min-time", "1ms", "--out", "measured.db"]
STUDY = ["study", "gradient-error", "--recipe", "mnist14_sgd"]


def measured_clean(folder, command):
    """Exit code and message of a measurement that asks for clean sources, and whether it stores."""
    code, _, err = folder.run(*command, "--db", "measured.db", "--progress", "none",
                              "--require-clean")
    return code, err, os.path.exists(folder.file("measured.db"))


def origin(folder, seed, spec="@quickstart"):
    """What the run of that seed says: its changed files, and whether it is dirty."""
    code, _, err = folder.run("sweep", spec, "--db", "t.db", "--seeds", str(seed), "--method",
                              "dense", "--set", "purpose=accuracy", "--progress", "none")
    expect_equal(code, 0, f"sweep of seed {seed} ({err})")
    (environment, dirty), = folder.query(
        "SELECT r.environment, b.dirty FROM run r JOIN build b USING(build_id) JOIN cell c "
        f"USING(cell_id) WHERE c.seed = {seed}")
    return json.loads(environment)["engine"].get("changed_files"), dirty


with Folder() as folder:
    shutil.copytree(EXPERIMENTS, folder.file("experiments"))
    changed, built_dirty = origin(folder, 0)
    expect_equal(changed, None, "as the program was built with")

    code, err, ran = clean(folder, "@quickstart")
    if built_dirty:
        expect(err.startswith("approxtrain: --require-clean: the program was built from sources "
                              "with uncommitted changes ("), err)
        expect_equal((code, err.count("\n"), ran), (2, 1, False), "a dirty build is refused")
        code, _, err = folder.run("train", "--network", "small_cnn", "--dataset", "mnist14",
                                  "--require-clean")
        expect_equal((code, "uncommitted" in err), (2, True), f"train ({err})")
        code, out, err = folder.run("sweep", "@quickstart", "--dry-run", "--require-clean")
        expect_equal(code, 0, f"a plan starts nothing ({err})")
        for command in (STUDY, BENCH, [*BENCH, "--no-store"], TUNE):
            code, err, stored = measured_clean(folder, command)
            expect(err.startswith("approxtrain: --require-clean: the program was built from "
                                  "sources with uncommitted changes ("), f"{command}: {err}")
            expect_equal((code, err.count("\n"), stored), (2, 1, False), f"{command} is refused")
    else:
        expect_equal((code, ran), (0, True), f"a clean build ({err})")
        for command in (STUDY, BENCH):
            code, err, stored = measured_clean(folder, command)
            expect_equal((code, stored), (0, True), f"{command} of a clean build ({err})")

    recipe = folder.file("experiments/recipes/mnist14_sgd.toml")
    with open(recipe, "a", encoding="utf-8") as out:
        out.write("# changed\n")
    changed, dirty = origin(folder, 1)
    expect_equal(changed, ["experiments/recipes/mnist14_sgd.toml"], "a changed recipe")
    expect_equal(dirty, 1, "a changed recipe is dirty")

    if not built_dirty:
        code, err, _ = clean(folder, "@quickstart", "--seeds", "9")
        expect_equal((code, err), (2, "approxtrain: --require-clean: changed since the program was "
                                      "built: experiments/recipes/mnist14_sgd.toml; commit and "
                                      "build again\n"), "a changed recipe is refused")
        code, err, _ = measured_clean(folder, STUDY)
        expect_equal((code, "recipes/mnist14_sgd.toml" in err), (2, True),
                     f"by a study, too ({err})")
        code, err, _ = measured_clean(folder, BENCH)
        expect_equal(code, 0, f"no recipe is read ({err})")

    code, _, err = folder.run(*STUDY, "--db", "t.db")
    expect_equal(code, 0, f"a study of the changed recipe ({err})")
    (environment, dirty), = folder.query(
        "SELECT s.environment, b.dirty FROM study_run s JOIN build b USING(build_id)")
    expect_equal((json.loads(environment)["changed_files"], dirty),
                 (["experiments/recipes/mnist14_sgd.toml"], 1),
                 "a study of a changed recipe is dirty")

    with open(folder.file("experiments/quickstart.toml"), "a", encoding="utf-8") as out:
        out.write("# changed as well\n")
    expect_equal(origin(folder, 2)[0], ["experiments/quickstart.toml",
                                        "experiments/recipes/mnist14_sgd.toml"], "both changed")

with Folder() as folder:
    changed, dirty = origin(folder, 0, "sweep.toml")
    expect_equal((changed, dirty), (None, built_dirty), "a file of one's own is no changed one")
finish()
