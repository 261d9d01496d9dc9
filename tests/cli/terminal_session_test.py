"""A session at a terminal of 80 x 24, held to the text in terminal_session.txt: what the progress
display draws and redraws, and what is left on the screen. The same session through pipes is held to
it, too: lines alone. `--write` renews the text."""

import os
import re
import subprocess
import sys

from program import PROGRAM, Folder, expect, expect_equal, finish, read_terminal, terminal

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "terminal_session.txt")
COLUMNS, ROWS = 80, 24
STEP_MS = 250  # a few redraws of the line in each step

SWEEP = """id = "fake:table"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
seeds = "0-1"
"""

COMMANDS = [("--dry-run",), (), ()]  # the plan, the sweep, and nothing left to do
TIME = re.compile(r"\b\d+(\.\d)? (ms|s)\b|\b\d+ min \d\d s\b")
THROUGH_PIPES, AT_WORK = "\nThrough pipes:\n", "\nDrawn while runs were at work:\n"
DRAWN = re.compile("\r([^\r\n\x1b]*)\x1b\\[K")


class Screen:
    """What a terminal shows of characters, carriage returns, line feeds and "erase the rest of the
    line", which is all that the program may use."""

    def __init__(self):
        self.lines, self.wrapped, self.column = [""], [False], 0

    def feed(self, text):
        at = 0
        while at < len(text):
            if text.startswith("\x1b[K", at):
                self.lines[-1] = self.lines[-1][:self.column]
                at += 3
                continue
            letter = text[at]
            at += 1
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.new_line(wraps=False)
            else:
                expect(letter.isprintable(), f"sends {letter!r}")
                if self.column == COLUMNS:
                    self.new_line(wraps=True)
                    self.column = 0
                line = self.lines[-1].ljust(self.column)
                self.lines[-1] = line[:self.column] + letter + line[self.column + 1:]
                self.column += 1

    def new_line(self, wraps):
        self.wrapped[-1] = wraps
        self.lines.append("")
        self.wrapped.append(False)

    def text(self):
        """The lines as they were written, those that the terminal broke joined, without times."""
        joined = ""
        for line, wraps in zip(self.lines, self.wrapped):
            joined += line if wraps else line.rstrip() + "\n"
        return TIME.sub("TIME", joined).rstrip("\n") + "\n"


def at_terminal(folder, *arguments):
    """Everything that a command sends to its terminal, and its exit code."""
    ours, theirs = terminal(ROWS, COLUMNS)
    env = folder.environment(TERM="xterm", APPROXTRAIN_FAKE_STEP_MS=str(STEP_MS))
    env.pop("COLUMNS", None)
    process = subprocess.Popen([PROGRAM, *arguments], cwd=folder.path, env=env, stdin=theirs,
                               stdout=theirs, stderr=theirs)
    os.close(theirs)
    sent = read_terminal(ours)
    return process.wait(timeout=60), sent


def is_step(frame):
    """Whether a drawn line shows a step that was done, and not what comes right before the end:
    the others are there for moments that nobody need see."""
    return re.search(r"step [1-4]/5", frame) and "accuracy" not in frame


def frames_of(sent):
    """The lines that were drawn of steps, each once, without times."""
    frames = []
    for drawn in DRAWN.findall(sent):
        expect(len(drawn) < COLUMNS, f"a drawn line of {len(drawn)} columns: {drawn}")
        frame = TIME.sub("TIME", drawn)
        if is_step(frame) and frame not in frames[-1:]:
            frames.append(frame)
    return frames


def alike(frame, wanted):
    """Whether two lines are equal as far as both go: a longer time moves the cut."""
    length = min(len(text.removesuffix("…")) for text in (frame, wanted))
    cut = frame.endswith("…") and wanted.endswith("…")
    return frame[:length] == wanted[:length] and (cut or abs(len(frame) - len(wanted)) < 8)


def session():
    texts, drawn = [], []
    with Folder(SWEEP) as folder:
        for flags in COMMANDS:
            words = ["sweep", "sweep.toml", "--db", "t.db", *flags]
            code, sent = at_terminal(folder, *words)
            expect_equal(code, 0, f"{words}: {sent}")
            screen = Screen()
            screen.feed(sent)
            texts.append(f"$ approxtrain {' '.join(words)}\n{screen.text()}")
            drawn += frames_of(sent)
    return "\n".join(texts), drawn


def session_through_pipes():
    """The same commands where neither stream is a terminal."""
    texts = []
    with Folder(SWEEP) as folder:
        for flags in COMMANDS:
            words = ["sweep", "sweep.toml", "--db", "t.db", *flags]
            done = subprocess.run([PROGRAM, *words], cwd=folder.path, env=folder.environment(),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            expect_equal(done.returncode, 0, f"{words}: {done.stdout}")
            expect(all(letter.isprintable() or letter == "\n" for letter in done.stdout),
                   f"a pipe got {done.stdout!r}")
            # Where the machine is slow a run may say meanwhile how far it is.
            lines = [line for line in TIME.sub("TIME", done.stdout).splitlines(keepends=True)
                     if not re.match(r"\[\d/4\] .*step \d/5", line)]
            texts.append(f"$ approxtrain {' '.join(words)}\n{''.join(lines)}")
    return "\n".join(texts)


shown, drawn = session()
piped = session_through_pipes()
if "--write" in sys.argv:
    with open(GOLDEN, "w", encoding="utf-8") as out:
        out.write(shown + THROUGH_PIPES + piped + AT_WORK + "\n".join(drawn) + "\n")
with open(GOLDEN, encoding="utf-8") as golden:
    wanted, lines = golden.read().split(AT_WORK)
wanted, wanted_through_pipes = wanted.split(THROUGH_PIPES)
expect_equal(shown, wanted, "the screen")
expect_equal(piped, wanted_through_pipes, "through pipes")
lines = lines.splitlines()
for number in range(1, 5):
    expect(any(frame.startswith(f"[{number}/4]") for frame in drawn), f"run {number}: {drawn}")
# A machine that is slow may not draw each: those that it draws are in the order of the text.
rest = list(lines)
for frame in drawn:
    while rest and not alike(frame, rest[0]):
        del rest[0]
    if not expect(rest, f"draws what the text has not, or not there: {frame}"):
        break
finish()
