"""Holds pages that strangers read, comments of headers and what the program says to plain words:
sentences of 25 words at most, cells of a table of 15, a length for each page. Used by
scripts/check-text and by tests."""

import re

SENTENCE = 25  # words
CELL = 15
# Pages and how many words each may have (None: any number). A page is added once it is rewritten.
PAGES = {
    "README.md": 450,
    "docs/findings.md": 1200,
    "docs/glossary.md": 600,
    "docs/adding.md": None,
    "docs/analysis.md": None,
    "docs/cli.md": None,
    "docs/data.md": None,
    "docs/experiments.md": None,
    "docs/install.md": 600,
    "docs/methods.md": None,
    "docs/methods/bernoulli_crs.md": None,
    "docs/methods/crs.md": None,
    "docs/methods/exact.md": None,
    "docs/methods/meprop.md": None,
    "docs/methods/msbp.md": None,
    "docs/methods/random.md": None,
    "docs/methods/random_entries.md": None,
    "docs/methods/random_position.md": None,
    "docs/methods/sdgp.md": None,
    "docs/methods/stochastic_pruning.md": None,
    "docs/methods/topk_crs.md": None,
    "docs/methods/topk_position.md": None,
    "docs/methods/topk_weights.md": None,
    "docs/methods/uniform_crs.md": None,
    "docs/methods/zero.md": None,
    "docs/networks.md": None,
    "docs/notebooks/is-it-worth-it.ipynb": None,
    "docs/notebooks/own-method.ipynb": None,
    "docs/notebooks/read-a-store.ipynb": None,
    "docs/python.md": None,
    "docs/reading-tables.md": None,
    "docs/slurm.md": None,
    "docs/own-method.md": 900,
    "docs/own-method-python.md": 900,
    "docs/start.md": None,
    "docs/studies.md": None,
    "docs/which-method.md": 400,
    "docs/history/changed-verdicts.md": None,
    "docs/history/first-results.md": None,
    "docs/history/what-did-not-help.md": None,
    "docs/internals/architecture.md": None,
    "docs/internals/development.md": None,
    "docs/internals/events.md": None,
    "docs/internals/gpu.md": None,
    "docs/internals/known-gaps.md": None,
    "docs/internals/parallel.md": None,
    "docs/internals/performance.md": None,
    "docs/internals/reliability.md": None,
    "docs/internals/statistics.md": None,
    "docs/internals/store.md": None,
    "docs/papers/adelman2021.md": None,
    "docs/papers/mcdanel2022.md": None,
    "docs/papers/wang2019.md": None,
    "docs/papers/ye2020.md": None,
}
# Pages that scripts/make-results writes from reports. Their cells, which reports print, are not
# counted; their sentences are.
RESULTS = "docs/results/"
# Parts of these pages, between <!-- NAME --> and <!-- /NAME -->, that scripts write from what tests
# and measurements printed. They are not held to plain words; other generated parts are.
GENERATED = {
    "docs/internals/parallel.md": ("rank-bandwidth",),
    "docs/internals/performance.md": ("throughput", "training"),
    "docs/internals/reliability.md": ("reliability", "fuzz"),
}
# Folders whose headers have comments in plain words, folders in them included. A folder is added
# once its headers are rewritten.
HEADERS = ("base", "cli", "core", "kernels", "products", "results")
LIST_BEGINS = "<!-- approxtrain list "
LIST_ENDS = "<!-- end of the list -->"
NO_BEGINNINGS = ("Of", "Those", "What", "The same", "As many")  # of a sentence, unless it asks


def words(text):
    """Those of `text` that have a letter: numbers and signs are none. Code in backticks is one."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return [word for word in text.split() if re.search(r"[^\W\d_]", word)]


def sentences(text):
    """Of a paragraph. A colon ends none, an abbreviation may end one too early. One may begin with
    an enumerator or a constant (kName), but with no other word in small letters."""
    return re.split(r"(?<=[.!?])[*_)]*\s+(?=[^a-z\s]|k[A-Z])", text)


def blocks(page):
    """(first line, kind, text) of paragraphs, list items and cells, without code, headings and
    lists that the program prints (between LIST_BEGINS and LIST_ENDS)."""
    found = []
    fence = False
    printed = False  # by the program
    open_block = None  # index into `found` of the paragraph that a line may go on with
    for count, line in enumerate(page.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fence = not fence
        if stripped.startswith(LIST_BEGINS):
            printed = True
        elif stripped == LIST_ENDS:
            printed = False
        if printed or fence or not stripped or stripped.startswith(("```", "#", "<!--")):
            open_block = None
        elif stripped.startswith("|"):
            open_block = None
            cells = re.split(r"(?<!\\)\|", stripped.strip("|"))
            found += [(count, "cell", cell.strip()) for cell in cells
                      if not re.fullmatch(r"\s*:?-+:?\s*", cell)]
        elif open_block is not None and not re.match(r"([*-]|\d+\.) ", stripped):
            first, kind, text = found[open_block]
            found[open_block] = (first, kind, f"{text} {stripped}")
        else:
            found.append((count, "text", re.sub(r"^([*-]|\d+\.) ", "", stripped)))
            open_block = len(found) - 1
    return found


def without_generated(path, page):
    """The page with empty lines in place of its parts in GENERATED."""
    for name in GENERATED.get(path, ()):
        page = re.sub(rf"^<!-- {name} -->\n.*?^<!-- /{name} -->$",
                      lambda part: "\n" * part[0].count("\n"), page, flags=re.S | re.M)
    return page


def sentence_faults(text):
    """What is wrong with the sentences of `text`, as texts."""
    wrong = []
    for sentence in sentences(text):
        if len(words(sentence)) > SENTENCE:
            wrong.append(f"a sentence of {len(words(sentence))} words, {SENTENCE} at most: "
                         f"{' '.join(sentence.split()[:5])} ...")
        bare = sentence.lstrip("*_ ")
        if not bare.rstrip("*_ ").endswith("?") and (begun := next(
                (begin for begin in NO_BEGINNINGS if bare.startswith(begin + " ")), None)):
            wrong.append(f"a sentence begins with {begun}: put its subject first")
    return wrong


def faults(path, page):
    """(line, what is wrong) of a page; none if `path` is not among PAGES or in RESULTS."""
    if path not in PAGES and not path.startswith(RESULTS):
        return []
    wrong = []
    total = 0
    for line, kind, text in blocks(without_generated(path, page)):
        total += len(words(text))
        if kind == "cell":
            if len(words(text)) > CELL and not path.startswith(RESULTS):
                wrong.append((line, f"a cell of {len(words(text))} words, {CELL} at most"))
            continue
        wrong += [(line, what) for what in sentence_faults(text)]
    if (limit := PAGES.get(path)) is not None and total > limit:
        wrong.append((1, f"{total} words, {limit} at most"))
    return wrong


def comment(line):
    """(column, whether code precedes it, text behind `//`) of a line of C++; None without `//`."""
    # A string's text may contain `//`; a quote of a character or inside a number opens no string.
    plain = re.sub(r"""'(?:\\.|[^'\\])'|"(?:\\.|[^"\\])*"|//.*""",
                   lambda found: found[0] if found[0][0] == "/" else "_" * len(found[0]), line)
    column = plain.find("//")
    if column < 0:
        return None
    return column, bool(line[:column].strip()), line[column:].lstrip("/").rstrip()


def comment_blocks(header):
    """(first line, text) of the `//` comments of a header. Lines of comments on end are one block,
    and so is a comment behind code with the lines below that go on in its column. An item of a list
    and a line that is indented (code, an equation, a row of a table) begin a block of their own,
    which deeper lines go on with."""
    found = []
    open_block = None  # (column of `//`, spaces behind it, whether an item or a row)
    for count, line in enumerate(header.splitlines(), 1):
        column, trails, text = comment(line) or (None, False, "")
        stripped = text.strip()
        if not stripped or stripped.startswith(("NOLINT", "clang-format o")):
            open_block = None
            continue
        indent = len(text) - len(text.lstrip())
        item = re.match(r"([*-]|\d+\.) ", stripped)
        goes_on = False
        if open_block is not None and not trails and not item and column == open_block[0]:
            goes_on = indent > open_block[1] if open_block[2] else indent == open_block[1]
        if goes_on:
            first, begun = found[-1]
            found[-1] = (first, f"{begun} {stripped}")
        else:
            found.append((count, stripped[item.end():] if item else stripped))
            open_block = (column, indent, bool(item) or indent > 1)
    return found


def comment_faults(header):
    """(line, what is wrong) of the comments of a header."""
    return [(line, what) for line, text in comment_blocks(header)
            for what in sentence_faults(text)]


def header_faults(path, header):
    """comment_faults() of a header in one of the folders HEADERS; none of another file."""
    if not path.endswith(".h") or not path.startswith(tuple(f"{folder}/" for folder in HEADERS)):
        return []
    return comment_faults(header)


# Folders of C++ whose texts a person reads: messages, help, notes below tables.
SPEAKING = ("cli/", "core/config/", "core/experiment/", "core/data/", "results/reports/",
            "results/rows/")
SILENT = ("results/reports/page",)  # headings of a page are no sentences
# C++ as far as its literals need it: comments, raw strings, characters, strings side by side.
TOKENS = re.compile(r'''//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|\'(?:\\.|[^\'\\\n])\'|'''
                    r'''(?P<text>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)''', re.S)
A_SENTENCE = 5  # words; a shorter text is a name or a heading


def literals(code):
    """(line, text) of each string of C++, those that the compiler joins as one."""
    for token in TOKENS.finditer(code):
        if token["text"]:
            parts = re.findall(r'"((?:\\.|[^"\\])*)"', token["text"])
            yield code[:token.start()].count("\n") + 1, "".join(parts)


def spoken(text, least=A_SENTENCE):
    """The lines of a message or of a help text's entry, as a page would have them: a name for each
    place that is filled in, a capital letter first, without the name of the column or the flag that
    is explained. None of fewer than `least` words."""
    text = re.sub(r"\{[^{}]*\}", "x", text).replace('\\"', '"')
    for line in text.replace("\\n", "\n").splitlines():
        line = re.sub(r"^[^.:;]{0,24}: (?=\S)", "", line.strip())
        if len(words(line)) >= least and not line.startswith("SELECT "):
            yield line[:1].upper() + line[1:]


def message_faults(path, code):
    """(line, what is wrong) of the strings of a C++ file; none of rooms that nobody hears."""
    if not path.startswith(SPEAKING) or path.startswith(SILENT):
        return []
    return [(line, what) for line, text in literals(code) for sentence in spoken(text)
            for what in sentence_faults(sentence)]
