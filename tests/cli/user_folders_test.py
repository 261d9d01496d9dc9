"""A temporary folder or a home folder that is missing, or is none: whatever needs none does its
work, and what needs one says so in one line. Figures are left out where there is no gnuplot."""

import os
import shutil
import subprocess
import tempfile

from program import PROGRAM, Folder, expect, expect_equal, finish

DRAWS = shutil.which("gnuplot") is not None
FIGURE = ("report", "curves", "--db", "t.db", "--format", "svg")


def temporary(folder):
    os.mkdir(folder.file("tmp"))
    with open(folder.file("file"), "w", encoding="utf-8") as file:
        file.write("no folder")
    for given in ("", "missing", folder.file("missing"), "file", "tmp", folder.file("tmp"),
                  "/proc", "x" * 300):
        env = {"TMPDIR": given}
        code, out, err = folder.run(*FIGURE, env=env)
        expect_equal((code, err, "<svg" in out), (0, "", True), f"TMPDIR={given[:30]!r}: a figure")
    code, out, err = folder.run("report", "html", "--db", "t.db", env={"TMPDIR": "missing"})
    expect_equal((code, "Not drawn" in out, "<svg" in out), (0, False, True), f"the page ({err})")
    expect_equal(os.listdir(folder.file("tmp")), [], "what a figure leaves")


def no_temporary(folder):
    """Where /tmp cannot be written to either; only root can have that here."""
    # What is mounted there hides what is in it.
    place = tempfile.mkdtemp(prefix="approxtrain-test-", dir="/var/tmp")
    shutil.copy(folder.file("t.db"), place)
    try:
        without_any(folder, place)
    finally:
        shutil.rmtree(place)


def without_any(folder, place):
    line = 'mount -t tmpfs -o ro none /tmp && exec "$@"'

    def run(*arguments):
        env = folder.environment(TMPDIR="missing", HOME="/")
        return subprocess.run(["unshare", "--mount", "bash", "-c", line, "bash", *arguments],
                              cwd=place, env=env, capture_output=True, text=True, timeout=120,
                              check=False)

    if PROGRAM.startswith("/tmp/") or not shutil.which("unshare") or run("true").returncode:
        print("not tried without any temporary folder: no file system can be mounted here")
        return
    for words in (FIGURE, ("report", "html", "--db", "t.db")):
        done = run(PROGRAM, *words)
        expect_equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                     f"{words}: no temporary folder ({done.stderr})")
        expect(all(word in done.stderr for word in ("TMPDIR", "/missing: ", "/tmp: ")),
               f"{words}: {done.stderr}")
    done = run(PROGRAM, "report", "table", "--db", "t.db")
    expect_equal((done.returncode, done.stderr), (0, ""), "a table needs none")


# What no default path is needed for, and what it is.
NEEDS_NONE = (("list",), ("list", "methods"), ("list", "datasets"), ("list", "papers"),
              ("completion", "bash"), ("schedule", "show", "slice", "--network", "small_cnn"),
              ("data", "list"), ("data", "verify", "mnist14"), ("db", "schema"), ("--version",),
              ("sweep", "sweep.toml", "--dry-run"), ("report", "table", "--db", "t.db"),
              ("report", "html", "--db", "t.db"), ("report", "compare", "t.db", "t.db"),
              ("report", "paper", "wang2019:table5"), ("db", "check", "--db", "t.db"),
              ("db", "backup", "copy.db", "--db", "t.db"),
              ("sweep", "sweep.toml", "--db", "t.db", "--progress", "none"),
              ("bench-kernel", "--shape", "N1,C2,K2,H4", "--no-store", "--repetitions", "2",
               "--min-time", "1ms", "--progress", "none"))
NEEDS_ONE = (("report", "table"), ("report", "html"),
             ("show", "run", "1"), ("db", "check"), ("db", "backup", "copy.db"), ("db", "gc"),
             ("db", "migrate"), ("db", "rebuild"), ("db", "export", "tables"),
             ("db", "merge", "t.db"), ("sweep", "sweep.toml"), ("sweep", "status"),
             ("sweep", "stop"),
             ("train", "--network", "small_cnn", "--dataset", "mnist14"),
             ("bench-kernel", "--shape", "N1,C2,K2,H4", "--progress", "none"),
             ("study", "matmul-error", "--runs", "2"))
NEEDS_DATA = (("data", "import", "cifar10", "x.tar.gz"), ("data", "fetch", "cifar10"),
              ("data", "verify", "cifar10"),
              ("train", "--db", "t.db", "--network", "small_cnn", "--dataset", "cifar10"))


def home(folder):
    nobody = {} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}
    os.chmod(folder.path, 0o777)
    os.mkdir(folder.file("closed"), 0o000)
    with open(folder.file("file home"), "w", encoding="utf-8") as file:
        file.write("no folder")
    for what, variables in (("HOME is empty", {"HOME": ""}), ("no HOME", {}),
                            ("HOME is relative", {"HOME": "here"}),
                            ("HOME is a file", {"HOME": folder.file("file home")}),
                            ("HOME is closed", {"HOME": folder.file("closed")}),
                            ("XDG_DATA_HOME is closed", {"HOME": folder.path,
                                                         "XDG_DATA_HOME": folder.file("closed")})):
        # Permissions do not bind root.
        user = nobody if "closed" in what else {}

        def run(*arguments):
            env = folder.environment(**variables)
            if "HOME" not in variables:
                del env["HOME"]
            done = subprocess.run([PROGRAM, *arguments], cwd=folder.path, env=env,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=120, check=False, **user)
            return done.returncode, done.stderr

        # All of them where there is no home, and where it is another's.
        few = what not in ("no HOME", "HOME is closed")
        for words in NEEDS_NONE[:2] if few else NEEDS_NONE:
            if user and "t.db" in words:
                continue  # it is another's
            if os.path.exists(folder.file("copy.db")):
                os.remove(folder.file("copy.db"))
            code, err = run(*words)
            expect_equal(code, 0, f"{what}: {' '.join(words)} ({err})")
        if not few:
            doctor, err = run("doctor")
            expect(doctor in (0, 4), f"{what}: doctor: {doctor} ({err})")
        for words in (NEEDS_ONE[:1] + NEEDS_DATA[:1]) if few else NEEDS_ONE + NEEDS_DATA:
            if user and "t.db" in words:
                continue
            code, err = run(*words)
            flag = "--data-dir" if words in NEEDS_DATA else "--db"
            expect_equal((code, err.count("\n"), flag in err), (2, 1, True),
                         f"{what}: {' '.join(words)} ({err})")
    expect(not os.path.exists(folder.file("-runs")), "runs of no database")
    # One that cannot be made.
    code, _, err = folder.run("sweep", "sweep.toml", env={"HOME": "/proc"})
    expect_equal((code, err.count("\n"), "--db" in err), (2, 1, True), f"HOME=/proc ({err})")


with Folder() as place:
    place.sweep("--progress", "none")
    if DRAWS:
        temporary(place)
        no_temporary(place)
    names = set(os.listdir(place.path))
    home(place)
    left = set(os.listdir(place.path)) - names
    expect_equal(left, {"closed", "file home"}, "what is left")
finish()
