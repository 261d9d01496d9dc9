"""Files and folders that a user may not read or write, odd umasks and locales: a command works, or
ends with one line that names the path, and leaves no part of a file.

Root is bound by no permissions, so its commands are those of another user here.
"""

import os
import re
import shutil
import stat
import subprocess

from old_store import make_old
from program import Folder, expect, expect_equal, finish

IS_ROOT = os.geteuid() == 0
NOBODY = 65534
USER = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT else {}
REFUSED = (1, 2, 5, 6)
cases = 0


class Owned(Folder):
    """A folder that belongs to the user of the commands."""

    def __init__(self):
        super().__init__()
        os.chmod(self.path, 0o755)
        self.give()

    def __exit__(self, *_):
        os.chmod(self.path, 0o700)
        for place, folders, _ in os.walk(self.path):
            for name in folders:
                if not os.path.islink(os.path.join(place, name)):
                    os.chmod(os.path.join(place, name), 0o700)
        super().__exit__()

    def give(self):
        """To the user, with all that is in it."""
        for place, _, names in os.walk(self.path):
            for path in (place, *(os.path.join(place, name) for name in names)):
                if IS_ROOT:
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def keep(self, name, mode):
        """Takes a file or folder away from the user, who has only what all have by `mode`."""
        if IS_ROOT:
            os.chown(self.file(name), 0, 0)
        os.chmod(self.file(name), mode)

    def command(self, *words, umask=-1, env=None):
        process = self.start(*words, env=env, stdin=subprocess.DEVNULL, umask=umask, **USER)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()

    def filled(self):
        code, _, err = self.command("sweep", "sweep.toml", "--db", "t.db", "--seeds", "0",
                                    "--progress", "none")
        expect_equal(code, 0, f"the sweep of before ({err})")
        return self

    def everything(self):
        """The content of each file, and the names of the rest."""
        found = {}
        for place, folders, names in os.walk(self.path):
            for name in names:
                with open(os.path.join(place, name), "rb") as file:
                    found[os.path.join(place, name)] = file.read()
            found.update((os.path.join(place, name), None) for name in folders)
        return found


def case():
    global cases
    cases += 1


def refused(folder, words, said, what, codes=REFUSED, env=None):
    case()
    if IS_ROOT:
        before = folder.everything()
    code, out, err = folder.command(*words, env=env)
    last = err.splitlines()[-1:] or [""]
    expect(code in codes, f"{what}: exit code {code} ({err})")
    expect_equal((err.count("\n"), last[0].startswith("approxtrain: "), out), (1, True, ""),
                 f"{what}: one line ({err!r})")
    expect(said in last[0], f"{what}: {said} is not named ({err!r})")
    if IS_ROOT:  # who alone may look at everything
        after = folder.everything()
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        expect_equal(changed, set(), f"{what}: files")


def umasks():
    """No file is more open than the user's umask says, and each is as the owner needs it."""
    for umask in (0o077, 0o027, 0o022, 0o002, 0o000):
        case()
        with Owned() as folder:
            before = set(folder.everything())
            for words in (("sweep", "sweep.toml", "--db", "t.db", "--progress", "none"),
                          ("report", "table", "--db", "t.db", "--out", "table.md"),
                          ("db", "backup", "copy.db", "--db", "t.db"),
                          ("db", "export", "tables", "--db", "t.db"),
                          ("db", "rebuild", "new.db", "--db", "t.db")):
                code, _, err = folder.command(*words, umask=umask)
                expect_equal(code, 0, f"umask {umask:03o}: {words[:2]}: exit code ({err})")
            for path in set(folder.everything()) - before:
                mode = stat.S_IMODE(os.lstat(path).st_mode)
                wanted = 0o700 if os.path.isdir(path) else 0o600
                expect(mode & umask == 0, f"umask {umask:03o}: {path} has {mode:03o}")
                expect_equal(mode & 0o700, wanted, f"umask {umask:03o}: {path}")
    case()
    with Owned() as folder:  # under which nobody can use what he has made
        code, _, err = folder.command("sweep", "sweep.toml", "--db", "t.db", "--progress", "none",
                                      umask=0o777)
        expect(code in (1, 3, 6), f"umask 777: exit code {code} ({err})")
        expect("t.db" in err or "t.runs" in err, f"umask 777: {err}")


def locales():
    """Equal bytes under each: with decimal commas, a Turkish i, another encoding, none at all."""
    with Owned() as folder:
        folder.filled()
        made = {}
        for name, source, encoding in (("de_DE.UTF-8", "de_DE", "UTF-8"),
                                       ("tr_TR.UTF-8", "tr_TR", "UTF-8"),
                                       ("ja_JP.EUC-JP", "ja_JP", "EUC-JP")):
            made[name] = subprocess.run(
                ["localedef", "-c", "-i", source, "-f", encoding, folder.file(name)],
                capture_output=True, check=False).returncode == 0 if shutil.which("localedef") \
                else False
        print(f"locales: {', '.join(name for name in made if made[name])}")
        commands = (("report", "table", "--db", "t.db"),
                    ("report", "runs", "--db", "t.db", "--format", "csv"),
                    ("report", "runs", "--db", "t.db", "--format", "json"),
                    ("sweep", "sweep.toml", "--db", "t.db", "--dry-run", "--format", "json"),
                    ("list", "methods"), ("--help",), ("report", "missing"))

        def done(words, **env):
            code, out, err = folder.command(*words, env=env)
            return code, re.sub(r'"free_bytes": \d+', "", out), err

        wanted = [done(words) for words in commands]
        expect("." in wanted[1][1], "the report has fractions")
        for name in (*(name for name in made if made[name]), "C", "POSIX", "xx_YY.UTF-8", "",
                     "../../etc", "x" * 5000):
            case()
            env = {"LC_ALL": name, "LANG": name, "LANGUAGE": name, "LOCPATH": folder.path}
            for words, before in zip(commands, wanted):
                expect_equal(done(words, **env), before,
                             f"LC_ALL={name[:20]}: {words}")


def databases_of_others():
    sweep = ("sweep", "sweep.toml", "--db", "t.db", "--seeds", "1", "--progress", "none")
    table = ("report", "table", "--db", "t.db")
    with Owned() as folder:
        folder.filled()
        folder.keep("t.db", 0o444)
        refused(folder, sweep, "t.db", "a database that may only be read", (6,))
        refused(folder, ("db", "gc", "--db", "t.db"), "t.db", "gc of it", (6,))
        case()
        code, out, err = folder.command(*table)
        expect_equal((code, "small_cnn" in out), (0, True), f"a report of it ({err})")
        folder.keep("t.db", 0o000)
        refused(folder, table, "t.db", "a report of a closed database", (6,))
        refused(folder, ("db", "backup", "copy.db", "--db", "t.db"), "t.db", "a copy of it", (6,))
    with Owned() as folder:
        folder.filled()
        os.remove(folder.file("t.db-journal"))
        folder.keep("", 0o555)
        refused(folder, sweep, "t.db", "a folder without room for a journal", (6,))
        case()
        code, out, err = folder.command(*table)
        expect_equal((code, "small_cnn" in out), (0, True), f"a report there ({err})")
        refused(folder, (*table, "--out", "table.md"), "table.md", "a table there", (2,))
        refused(folder, ("db", "backup", "copy.db", "--db", "t.db"), "copy.db", "a copy there",
                (2,))
        refused(folder, ("db", "export", "tables", "--db", "t.db"), "tables", "tables there", (2,))
        refused(folder, ("db", "rebuild", "new.db", "--db", "t.db"), "new.db", "rebuilt there",
                (2,))
        folder.keep("", 0o444)
        refused(folder, table, "t.db", "a folder that may not be entered", (6,))
    with Owned() as folder:
        make_old(folder.file("old.db"), 6, 3, 2)
        folder.give()
        folder.keep("", 0o555)
        refused(folder, ("db", "migrate", "--db", "old.db"), "old.db", "no room for a copy", (6,))


def folders_of_others():
    sweep = ("sweep", "sweep.toml", "--db", "t.db", "--progress", "none", "--seeds")
    with Owned() as folder:
        folder.filled()
        for name, seed in (("t.runs", "1"), ("t.runs/journal", "2")):
            folder.keep(name, 0o555)
            for file in os.listdir(folder.file("t.runs/journal")):
                folder.keep(f"t.runs/journal/{file}", 0o444)
            case()
            code, _, err = folder.command(*sweep, seed)
            expect(code in (1, 3, 6), f"{name}: exit code {code} ({err})")
            expect("t.runs" in err, f"{name}: {err}")
            expect_equal(folder.query("SELECT count(*) FROM run WHERE state = 'running'"), [(0,)],
                         f"{name}: runs at work")
            folder.check_database()
            folder.give()
            os.chmod(folder.file(name), 0o755)
            for file in os.listdir(folder.file("t.runs/journal")):
                os.chmod(folder.file(f"t.runs/journal/{file}"), 0o644)
        code, _, err = folder.command(*sweep, "1-2", "--rerun", "failed")
        expect_equal(code, 0, f"folders given back: exit code ({err})")
    with Owned() as folder:
        folder.keep("sweep.toml", 0o000)
        refused(folder, ("sweep", "sweep.toml", "--db", "t.db"), "sweep.toml", "a closed file",
                (2,))
        os.mkdir(folder.file("data"))
        folder.keep("data", 0o000)
        refused(folder, ("train", "--network", "small_cnn", "--dataset", "mnist", "--data-dir",
                         "data", "--db", "t.db"), "data", "closed data", (5,))
        os.mkdir(folder.file("home"))
        folder.keep("home", 0o555)
        env = {"HOME": folder.file("home")}
        refused(folder, ("train", "--network", "small_cnn", "--dataset", "mnist14"), "home",
                "a home without room", (2, 6), env)
    with Owned() as folder:
        shutil.copy(folder.environment()["APPROXTRAIN_ENGINE"], folder.file("engine.so"))
        folder.keep("engine.so", 0o000)
        case()
        code, _, err = folder.command("sweep", "sweep.toml", "--db", "t.db", "--progress", "none",
                                      env={"APPROXTRAIN_ENGINE": folder.file("engine.so")})
        expect_equal((code, "engine.so" in err), (1, True), f"a closed library ({err})")
        expect_equal(folder.query("SELECT count(*) FROM run"), [(0,)], "a closed library: runs")


umasks()
locales()
databases_of_others()
folders_of_others()
print(f"{cases} cases of permissions, umasks and locales")
finish()
