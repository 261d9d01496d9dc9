"""Every command has a help text with an example, in 80 columns. Its words are plain: each
description of a command, an argument and an option is held to scripts/plain_words.py."""

import os
import re
import sys

from program import PROGRAM, expect, expect_equal, finish

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))

import plain_words  # noqa: E402
import program_help  # noqa: E402

SAMPLE = """Example:
  approxtrain x --long-option-of-many-words NAME

  Do this
  and that

Usage: approxtrain x [OPTIONS] [NAME]

Arguments:
  NAME                    of a thing that has no subject. It goes
                          on here

Options:
  --long-option-of-many-words NAME,...
                          its text
  --help, -h              show this help
"""


def check_the_check():
    expect_equal(program_help.entries(SAMPLE),
                 [("", "Do this and that"),
                  ("NAME", "of a thing that has no subject. It goes on here"),
                  ("--long-option-of-many-words NAME,...", "its text"),
                  ("--help, -h", "show this help")], "the entries of a sample")
    expect_equal(list(faults_of("of a thing that has no subject. It goes on here")),
                 ["a sentence begins with Of: put its subject first"], "a bad beginning")
    expect_equal(len(list(faults_of("of it"))), 1, "a bad beginning of a short text")
    expect_equal(len(list(faults_of("so " + "long " * 25 + "a text"))), 1, "a long sentence")
    expect_equal(list(faults_of("short. " + "Long " * 25)), [], "sentences of a text")


def faults_of(text):
    return (fault for sentence in plain_words.spoken(text, least=1)
            for fault in plain_words.sentence_faults(sentence))


def main():
    check_the_check()
    known = list(program_help.commands(PROGRAM))
    known.append((("throughput",), program_help.help_of(PROGRAM, ["throughput"])))  # hidden
    texts = 0
    for command, text in known:
        name = " ".join(["approxtrain", *command])
        expect(re.match(r"Example:\n  .*approxtrain", text) or command == ("throughput",),
               f"{name}: no example comes first")
        for line in text.splitlines():
            expect(len(line) <= 80, f"{name}: a line of {len(line)} columns: {line}")
        for what, said in program_help.entries(text):
            texts += 1
            expect(said, f"{name}: {what} says nothing")
            for fault in faults_of(said):
                expect(False, f"{name}: {what}: {fault}")
    expect(len(known) > 50 and texts > 400, f"only {len(known)} commands with {texts} texts")
    print(f"{len(known)} commands, {texts} texts")
    finish()


if __name__ == "__main__":
    main()
