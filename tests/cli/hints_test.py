"""What the program tells a newcomer to run is run: how to get a data set that is missing, what
`scripts/quickstart` says comes next, and the overview that `list` alone prints."""

import html
import os
import re
import shlex
import shutil

from program import Folder, expect, expect_equal, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
STORED = "results/measured/amd-epyc-2core-2026-11-22/quickstart.db"
UNDECIDED = "results/measured/amd-epyc-zen4-2core-2026-11-28/quickstart.db"


def write_cifar10(folder):
    """Files in the format of CIFAR-10's binary version: the right sizes, no pictures."""
    os.mkdir(folder)
    image = bytes(range(256)) * 12
    for number, name in enumerate(["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                                   "data_batch_5", "test_batch"]):
        with open(os.path.join(folder, name + ".bin"), "wb") as out:
            for i in range(10_000):
                out.write(bytes([(i + number) % 10]) + image)


def commands_in(text):
    """The `approxtrain ...` commands of a message."""
    return [part.strip() for part in re.findall(r"(?:run|or): (approxtrain .*?)(?=, or: |$)", text,
                                                re.M)]


def missing_data():
    with Folder() as folder:
        write_cifar10(folder.file("cifar files"))
        data = ["--data-dir", folder.file("data")]
        sweep = ["sweep", "sweep.toml", "--db", "t.db", "--dataset", "cifar10", "--seeds", "0",
                 *data]
        code, _, err = folder.run(*sweep)
        expect_equal(code, 5, f"a missing data set: {err!r}")
        hints = commands_in(err)
        expect_equal(hints, ["approxtrain data fetch cifar10",
                             "approxtrain data import cifar10 PATH"], "the hints")
        # From a machine that does not answer: the command is understood and fails at its work.
        code, _, err = folder.run(*shlex.split(hints[0])[1:], "--mirror", "https://localhost:9/",
                                  *data)
        expect(code not in (0, 2), f"{hints[0]}: {code} {err!r}")
        for how in (["PATH"], ["--from", "PATH"]):
            shutil.rmtree(folder.file("data"), ignore_errors=True)
            words = shlex.split(hints[1])[1:-1] + how
            words = [folder.file("cifar files") if word == "PATH" else word for word in words]
            code, out, err = folder.run(*words, *data)
            expect_equal(code, 0, f"{words}: {err!r}")
            expect("50000 + 10000 images" in out, f"{words}: {out!r}")
        code, _, err = folder.run(*sweep)
        expect_equal(code, 0, f"after the import: {err!r}")
        for how in ([], [folder.file("cifar files"), "--from", "x"]):
            code, _, err = folder.run("data", "import", "cifar10", *how, *data)
            expect_equal(code, 2, f"data import with {how}: {err!r}")
            expect("approxtrain data import cifar10 PATH" in err, err)


def next_steps():
    with open(os.path.join(ROOT, "scripts/quickstart"), encoding="utf-8") as file:
        text = file.read()
    steps = re.findall(r"^  build/approxtrain (.*)$", text[text.index("\nNext: "):], re.M)
    expect_equal(len(steps), 3, f"three next commands: {steps}")
    with Folder() as folder:
        shutil.copy(os.path.join(ROOT, STORED), folder.file("quickstart.db"))
        shutil.copytree(os.path.join(ROOT, "experiments"), folder.file("experiments"))
        for step in steps:
            words = shlex.split(step.replace("$db", "quickstart.db"))
            if words[0] == "sweep":
                words.append("--dry-run")
            code, out, err = folder.run(*words)
            expect(code == 0 and out.count("\n") > 3, f"{step}: {code} {out!r} {err!r}")


def said_next(folder, stored):
    """What the page of a stored database says comes next."""
    shutil.copy(os.path.join(ROOT, stored), folder.file("quickstart.db"))
    code, _, err = folder.run("report", "html", "--db", "quickstart.db", "--out", "page.html")
    expect_equal(code, 0, f"report html: {err!r}")
    with open(folder.file("page.html"), encoding="utf-8") as file:
        said = re.search(r'class="next">(.*?)</p>', file.read(), re.S)
    return html.unescape(re.sub(r"<[^>]*>", "", said[1])) if said else ""


def page_says_what_is_next():
    """A page names the sweep that its own experiment lacks, and no table of a paper."""
    with Folder() as folder:
        shutil.copytree(os.path.join(ROOT, "experiments"), folder.file("experiments"))
        said = said_next(folder, STORED)
        expect("approxtrain report advice" in said and "sweep @" not in said,
               f"nothing is missing: {said!r}")
        said = said_next(folder, UNDECIDED)
        command = re.fullmatch(r"What to do next: approxtrain (sweep @quickstart .*)", said)
        if expect(command, f"what is missing: {said!r}"):
            code, out, err = folder.run(*shlex.split(command[1]), "--dry-run")
            expect(code == 0 and out.count("\n") > 3, f"{command[1]}: {code} {out!r} {err!r}")


def overview():
    with Folder() as folder:
        shutil.copytree(os.path.join(ROOT, "experiments"), folder.file("experiments"))
        code, out, err = folder.run("list")
        expect_equal(code, 0, f"list: {err!r}")
        commands = re.findall(r"approxtrain (list \w+)", out)
        expect_equal(len(commands), 7, f"list: {out}")
        for command in commands:
            code, shown, err = folder.run(*command.split())
            expect(code == 0 and len(shown) > 100, f"{command}: {code} {err!r}")


def main():
    missing_data()
    next_steps()
    page_says_what_is_next()
    overview()
    finish()


if __name__ == "__main__":
    main()
