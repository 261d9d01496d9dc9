"""Holds subjects of commits to their length. Used by scripts/check-text."""

import subprocess

LONGEST = 72  # characters
SINCE = "04822d420edf8fca5d288e2d369316246c9a0ca1"  # subjects up to this commit are as they are
EXCEPTED = ()  # commits that are too long and that others have: they stay


def _git(folder, *arguments):
    """(exit code, output) of git there."""
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout.strip()


def why_unknown(folder, since=SINCE):
    """Why the commits after `since` cannot be listed; "" where they can."""
    code, shallow = _git(folder, "rev-parse", "--is-shallow-repository")
    if code != 0:
        return "not a git checkout"
    if shallow == "true":
        return "a shallow clone"
    if _git(folder, "cat-file", "-e", since + "^{commit}")[0] != 0:
        return f"{since[:12]} is unknown here"
    if _git(folder, "rev-parse", "-q", "--verify", "HEAD")[0] != 0:
        return "no commit yet"
    return ""


def faults(folder, since=SINCE, excepted=EXCEPTED):
    """(commit, what is wrong with its subject) of the commits after `since`."""
    lines = _git(folder, "log", "--format=%H %s", f"{since}..HEAD")[1].splitlines()
    subjects = (line.partition(" ")[::2] for line in lines)
    return [(commit[:12], f"a subject of {len(subject)} characters, {LONGEST} at most: {subject}")
            for commit, subject in subjects if len(subject) > LONGEST and commit not in excepted]
