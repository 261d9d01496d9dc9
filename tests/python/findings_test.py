"""What scripts/measured/findings.py makes of places in a text."""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
from measured import cells, findings, store  # noqa: E402  (lies beside the scripts that use it)

ROWS = [
    {"method": "Exact", "schedule": None, "loss": None, "speed": 1.0, "speed_lo": None,
     "speed_hi": None, "n": 6, "mean": 0.25, "lo": 0.125, "hi": 0.375},
    {"method": "Half, of it", "schedule": "all", "loss": 1.234, "loss_half": 0.056, "speed": 1.5,
     "speed_lo": 1.449, "speed_hi": 1.551, "n": 6},
    {"method": "Half, of it", "schedule": "some", "loss": -0.5, "loss_half": None, "speed": 1.25,
     "speed_lo": 1.2, "speed_hi": 1.3, "n": 1},
]
NAMED = "{{let one = folder/store; table some:experiment --scale reduced}}\n"


def program(*arguments):
    assert arguments[:4] == ("report", "table", "some:experiment", "--scale"), arguments
    assert arguments[4:6] == ("reduced", "--db"), arguments
    assert arguments[7:] == ("--format", "json"), arguments
    return json.dumps({"rows": ROWS})


def filled(folder, text):
    page = findings.Findings(folder)
    return page.filled(NAMED + text), page.sources()


def expect_bad(folder, text, words):
    try:
        filled(folder, text)
    except cells.BadText as error:
        assert str(error).startswith("line 2: ") and words in str(error), error
        return
    raise AssertionError(f"{text} was taken")


def main():
    store.program = program
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "folder"))
        with open(os.path.join(folder, "folder", "store.db"), "w", encoding="utf-8"):
            pass
        half = "one; method=Half, of it; schedule=all"
        text, sources = filled(folder,
                               f"It is {{{{{half}; speed; 2}}}} and {{{{{half}; loss; 1}}}}.")
        assert text == "It is 1.50 [1.45, 1.55] and 1.2 ± 0.1.\n", text
        assert sources == ["approxtrain report table some:experiment --scale reduced --db "
                           "results/measured/folder/store.db"], sources
        assert filled(folder, "None.") == ("None.\n", [])
        text, _ = filled(folder, "{{one; method=Exact; schedule=; loss; 2}} {{one; n=1; n; 0}}")
        assert text == "– 1\n", text
        text, _ = filled(folder, "{{one; method=Exact; mean; 3}}")
        assert text == "0.250 [0.125, 0.375]\n", text
        text, _ = filled(folder, "```\n{{file tests/python.cmake}}\n```")
        with open(os.path.join(os.path.dirname(__file__), "../python.cmake"),
                  encoding="utf-8") as file:
            assert text == f"```\n{file.read()}```\n", text
        expect_bad(folder, "{{file tests/none.cmake}}", "tests/none.cmake: No such file")
        # All counted the same, one to the last bit of a mean.
        assert cells.shown({"cut": 49.2, "cut_lo": 49.2, "cut_hi": 49.2 * (1 + 1e-15)},
                              "cut", 0, " %") == "49 %"
        assert cells.shown({"cut": 49.2, "cut_half": 0.0}, "cut", 1) == "49.2"
        # A bound: beyond what was measured an end is not known, nor is a value there.
        below = {"cut": None, "cut_lo": 1.333, "cut_hi": None}
        assert cells.shown(below, "cut", 2) == "[1.33, –]"
        assert cells.shown(below, "-cut", 2) == "[–, -1.33]"
        within = {"cut": 1.02, "cut_lo": None, "cut_hi": 1.06}
        assert cells.shown(within, "cut", 2) == "1.02 [–, 1.06]"
        text, _ = filled(
            folder, "{{table one; n=6; method as what is done; loss as points:2; speed:1}}")
        assert text == ("| what is done | points | speed |\n|---|---|---|\n| Exact | – | 1.0 |\n"
                        "| Half, of it | 1.23 ± 0.06 | 1.5 [1.4, 1.6] |\n"), text
        # What is not so, what begins so, and the other way round.
        text, _ = filled(folder, "{{one; method=Half*; schedule!=all; -speed; 2}}")
        assert text == "-1.25 [-1.30, -1.20]\n", text
        text, _ = filled(folder, "{{table one; method!=Exact; schedule!=so*; -loss as gain:2}}")
        assert text == "| gain |\n|---|\n| -1.23 ± 0.06 |\n", text
        expect_bad(folder, "{{two; n=1; n; 0}}", "no report was given the name two")
        expect_bad(folder, "{{one; n=6; n; 0}}", "2 rows of one are so: n=6")
        expect_bad(folder, "{{one; n=7; n; 0}}", "0 rows of one are so")
        expect_bad(folder, "{{one; m=6; n; 0}}", "one has no column m")
        expect_bad(folder, "{{one; n=1; m; 0}}", "there is no column m")
        expect_bad(folder, "{{one; n=1; n}}", "a number wants")
        expect_bad(folder, "{{table one; n=7; n}}", "0 rows")
        os.remove(os.path.join(folder, "folder", "store.db"))
        expect_bad(folder, "{{one; n=1; n; 0}}", "there is no folder/store.db")


if __name__ == "__main__":
    main()
