"""The help texts of all commands of the program: for the page of commands (docs/cli.md.in) and for
the test that holds their words."""

import re
import subprocess

TEXT_COLUMN = 26  # of an entry's text (cli/help.cpp)
ABOVE = re.compile(r"\nOptions of (approxtrain [\w -]+):\n(?:  .*\n)+")
EVERYWHERE = re.compile(r"\nOptions of every command .*\n")


class NoHelp(Exception):
    """A command that prints no help; one line."""


def help_of(program, command):
    """What `program COMMAND... --help` prints. Throws NoHelp."""
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or done.stderr or not done.stdout:
        raise NoHelp(f"{' '.join([*command, '--help'])} ended with {done.returncode}: "
                     f"{done.stderr.strip()}")
    return done.stdout


def sections(text):
    """(heading, lines) of the parts of a help text that have one, such as "Options:"."""
    return [(heading, body.splitlines())
            for heading, body in re.findall(r"^(\S.*):\n((?:  .*\n)+)", text, re.M)]


def subcommands(text):
    """The names under "Commands:"."""
    return [line.split()[0] for heading, lines in sections(text) if heading == "Commands"
            for line in lines if re.match(r"  \S", line)]


def commands(program, command=()):
    """(words, help text) of a command and of all below it, in the order of the help. Throws
    NoHelp."""
    text = help_of(program, command)
    yield command, text
    for name in subcommands(text):
        yield from commands(program, (*command, name))


def entries(text):
    """(what is explained, its text) of a help text: its description, its commands, arguments and
    options. Examples and the usage line explain nothing."""
    found = [("", said) for said in re.findall(r"((?:^  \S.*\n)+)\nUsage: ", text, re.M)]
    for heading, lines in sections(text):
        if heading == "Example":
            continue
        for line in lines:
            if re.match(r"  \S", line):
                has_room = line[TEXT_COLUMN - 2:TEXT_COLUMN] == "  "
                head = line[:TEXT_COLUMN] if has_room else line
                found.append((head.strip(), ""))
            if line[TEXT_COLUMN - 2:TEXT_COLUMN] == "  ":
                what, before = found[-1]
                found[-1] = what, f"{before} {line[TEXT_COLUMN:]}".strip()
    return [(what, " ".join(said.split())) for what, said in found]


def reference(program):
    """Markdown: a heading and the help text of each command. Throws NoHelp."""
    parts = []
    for command, text in commands(program):
        text = ABOVE.sub(r"\nOptions of \1 as well.\n", text)
        if command:
            text = EVERYWHERE.sub("", text)
        heading = "#" * (3 if len(command) < 2 else 4) + " " + (" ".join(command) or "approxtrain")
        parts.append(f"{heading}\n\n```\n{text.rstrip()}\n```\n")
    return "\n".join(parts)
