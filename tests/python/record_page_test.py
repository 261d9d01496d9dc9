"""scripts/record-page follows a page's own commands and stops at the first that fails."""

import json
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "record-page")
WRITES = "Write `told.txt`:\n\n```text\nold news\n```\n\n"
DRAWS = "```\ncat told.txt\nprintf 'half\\rwhole\\n'\nprintf '\\033[31mred\\033[0m\\n'\n"
SLOW = "(seq 4; sleep 3; seq 2)\n```\n"


def record(folder, page):
    """Exit code, what was said, events of the cast, text; the last two None where there is none."""
    path, cast = os.path.join(folder, "page.md"), os.path.join(folder, "out.cast")
    tree = os.path.join(folder, "tree")  # what is cloned
    os.makedirs(tree)
    for command in (["init", "-q"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q",
                                     "--allow-empty", "-m", "one"]):
        subprocess.run(["git", "-C", tree, *command], check=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
    done = subprocess.run([sys.executable, SCRIPT, path, "--tree", tree, "--cast", cast,
                           "--into", os.path.join(folder, "clone")], capture_output=True, text=True)
    if not os.path.exists(cast):
        return done.returncode, done.stdout + done.stderr, None, None
    with open(cast, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    with open(os.path.join(folder, "out.txt"), encoding="utf-8") as file:
        return done.returncode, done.stdout + done.stderr, events, file.read()


def check_long_outputs(folder):
    """The middle of a long output is left out, and frames that are drawn over at once."""
    code, said, events, text = record(folder, "```\nseq 1000\n"
                                      "printf '\\r1 %%\\033[K\\r2 %%\\033[K\\n'\n```\n")
    assert code == 0, said
    lines = text.splitlines()
    assert lines[:4] == ["$ seq 1000", "1", "2", "3"], lines[:4]
    assert lines[40:43] == ["40", "... 860 lines ...", "901"], lines[38:45]
    assert lines[141:] == ["1000", "$ printf '\\r1 %%\\033[K\\r2 %%\\033[K\\n'", "2 %"], lines[141:]
    assert "1 %\x1b[K" not in "".join(event[2] for event in events[1:])


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_long_outputs(folder)
    with tempfile.TemporaryDirectory() as folder:
        code, said, events, text = record(folder, WRITES + DRAWS + SLOW)
        assert code == 0, said
        assert events[0]["version"] == 2 and events[0]["width"] == 100, events[0]
        times = [event[0] for event in events[1:]]
        assert times == sorted(times) and all(event[1] == "o" for event in events[1:])
        assert text.splitlines() == [
            "$ cat > told.txt <<'END'", "old news", "END", "$ cat told.txt", "old news",
            "$ printf 'half\\rwhole\\n'", "whole", "$ printf '\\033[31mred\\033[0m\\n'", "red",
            "$ (seq 4; sleep 3; seq 2)", "1", "2", "3", "4", "1", "2"], text
        # A step is an event; lines that come together are one, and a pause ends it.
        typed = [event[2] for event in events[1:] if event[2].startswith("\x1b[32m$")]
        assert len(typed) == 5 and typed[1].endswith("cat told.txt\r\n"), typed
        assert len(events) - 1 == 5 + 5, events
        assert all(after - when <= 2.0 + 1e-6 for when, after in zip(times, times[1:])), times
        assert events[0]["title"].endswith("page.md")
        assert events[0]["command"].startswith("scripts/record-page"), events[0]
        assert "\x1b[31mred" in "".join(event[2] for event in events[1:])
    with tempfile.TemporaryDirectory() as folder:
        code, said, events, text = record(folder, "```\nfalse\necho later\n```\n")
        assert code == 1 and "'false' ended with 1" in said, said
        assert "later" not in text
    with tempfile.TemporaryDirectory() as folder:
        code, said, events, text = record(folder, "```\ngit clone ADDRESS here\n```\n")
        assert code == 1 and events is None and "has a placeholder" in said, said


if __name__ == "__main__":
    main()
