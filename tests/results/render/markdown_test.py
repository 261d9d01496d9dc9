#!/usr/bin/env python3
"""What a CommonMark renderer with GitHub's tables shows of a Markdown table is the table's texts,
character for character, as cells, headers, titles and notes.

Usage: markdown_test.py PROGRAM, that of markdown_tables.cpp. Skipped without markdown-it-py."""

import json
import random
import subprocess
import sys

try:
    from markdown_it import MarkdownIt
except ImportError:
    print("skipped: this python has no markdown-it-py (scripts/setup installs it)")
    sys.exit(77)

HOSTILE = [
    "</table><b>bold", "<script>alert(1)</script>", "<b>x</b>", "a <br> b", "<!-- x -->", "<?x?>",
    "<http://a.invalid>", "<a@b.invalid>", "<1@b.invalid>", "a<b", "a < b", "1 <2> 3", "a<b>c",
    "a|b", r"a\|b", r"a\\|b", r"a\\\|b", "|", "||", "|---|", r"\|", r"|\|", "a|", "|a", r"a\|",
    "*x*", "**x**", "***x***", "2*3*4", "* x", "x *", "a * b * c", "*", "**", "***", "* * *",
    "_x_", "__x__", "snake_case_name", "_private", "a_", "_a_b_", "a__b__c", "__init__", "___",
    "~~x~~", "~x~", "~5 % to ~6 %", "~~~", "`x`", "``x` y``", "`", "```", "a ` b ` c", r"\`x`",
    "&amp;", "&lt;b&gt;", "&#38;", "&#x26;", "&nosuch;", "a & b", "&&amp;", r"\&amp;", "&copy",
    "[x](y)", "![x](y)", "[x]", "[x][y]", "[x]: y", "[a,b]", "x [a,b]", "[^1]", "[^1]: y", "[ ] x",
    "[ ]: x", "[ ]", "[x]", "-- x", "- -", "-- --",
    "[x] y", "[](y)", "[[x]](y)", r"[x\](y)", "[x](<y>)",
    "#", "# x", "x #", "x ##", r"x \#", "x#", "#x", "####### x", "###",
    "-", "- x", "-x", "--", "---", "- - -", "-20", "+", "+ x", "+1", "=", "===", "> x", ">x", ">",
    "1.", "1. x", "1) x", "1.5", "12345678901. x", "2026. A year",
    "\\", "\\\\", "\\\\\\", "a\\", r"a\b", r"\*x\*", "C:\\x\\", "a\\ b", r"\<b>", "!", "!x", ":",
    "$x$",
    "a\nb", "a\tb", "a\r\nb", "\n# x", "    x", "\tx", "a  b", " a ", "", " ", "\x1b[31m", "\x00",
    "\\\x1b", "\u00e9_x_\u00e9", "\u00b5*x*", "1.09\u00d7 [1.07, 1.11]", "\u2013",
    "\u201c*x*\u201d",
    "\U0001f642", "\u00a0*x*\u00a0", "\u3000x", "\u65e5\u672c*\u8a9e*", "e\u0301", "\u202eabc",
    "https://a.invalid/_x_", "www.a.invalid", "\"x\"", "'x'", "(c)", "--x--", "...", "%%", "{{x}}",
]
ALPHABET = ["*", "_", "~", "`", "\\", "|", "<", ">", "&", ";", "#", "[", "]", "(", ")", "!",
            "-", "+", ".", "1", "a", "b", " ", " ", "@", "/", ":", "\u00e9", "\u00d7", "\n", "\t",
            "amp;", "x"]
RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def random_texts(count):
    draws = random.Random(20261127)
    return ["".join(draws.choice(ALPHABET) for _ in range(draws.randint(1, 12)))
            for _ in range(count)]


def shown(text):
    """A text as it is meant to be read: line ends and tabs as blanks, none at the ends, other
    control characters as escapes."""
    blanks = "".join(" " if c in "\n\t\r" else c for c in text)
    return "".join(f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c for c in blanks).strip()


def text_of(token):
    """The text of one inline token; anything but text is markup that was read out of a label."""
    for child in token.children:
        if child.type != "text":
            return f"markup: {child.type} in {token.content!r}"
    return "".join(child.content for child in token.children).strip()


def read_back(markdown):
    """Title, rows with the header first, notes of a rendered table, and the tokens that have no
    place in one."""
    title, rows, notes, strange, stack = "", [], [], [], []
    for token in RENDERER.parse(markdown):
        if token.nesting == 1:
            stack.append(token.type)
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "list_item_open":
                notes.append("")
        elif token.nesting == -1:
            stack.pop()
        elif token.type == "inline":
            if stack == ["heading_open"]:
                title = text_of(token)
            elif stack[-1] in ("th_open", "td_open"):
                rows[-1].append(text_of(token))
            elif stack == ["bullet_list_open", "list_item_open", "paragraph_open"]:
                notes[-1] = text_of(token)
            else:
                strange.append(f"{stack}: {token.content!r}")
        else:
            strange.append(f"{stack}: {token.type} {token.content!r}")
    return title, rows, notes, strange


def main():
    texts = HOSTILE + random_texts(600)
    tables = [{"title": text, "columns": ["n", text, "z"],
               "rows": [[text, "1", text], ["a", text, ""]], "notes": [text, "a plain note"]}
              for text in texts]
    # All of them one below the other, too.
    tables.append({"title": "all", "columns": ["label", "n"],
                   "rows": [[text, "1"] for text in texts], "notes": texts})
    made = subprocess.run([sys.argv[1]], input=json.dumps(tables), capture_output=True, text=True,
                          check=True).stdout.split("\n%%\n")
    wrong = []
    for table, markdown in zip(tables, made, strict=False):
        expected = (shown(table["title"]),
                    [[shown(cell) for cell in row] for row in [table["columns"], *table["rows"]]],
                    [shown(note) for note in table["notes"]])
        *found, strange = read_back(markdown)
        for what, ours, theirs in zip(("title", "rows", "notes"), expected, found, strict=True):
            if ours != theirs:
                wrong.append(f"{table['title']!r}: {what}: expected {ours}, shown {theirs}")
        wrong += [f"{table['title']!r}: {each}" for each in strange]
    assert len(made) == len(tables) + 1 and made[-1] == "", (len(made), len(tables))
    if wrong:
        print("\n".join(line[:600] for line in wrong[:40]))
        sys.exit(f"{len(wrong)} texts are not shown as they are")
    print(f"{len(tables)} tables")


main()
