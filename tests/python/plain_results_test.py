"""What scripts/measured/plain_results.py makes of reports: narrow tables, the same numbers, and a
line that says what came out."""

import os
import re
import sys

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from measured import plain_results as plain  # noqa: E402  (lies beside the scripts that use it)
from measured import uses  # noqa: E402
from measured.cells import BadText  # noqa: E402
from measured.printed import Printed, parsed  # noqa: E402

ADVICE = """
| network | data set | setting | machine | method, schedule | worth it? | decided by | speedup \
vs exact | loss, pp | margin, pp | measured | time to target | why |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| n1 | d | epochs=6 rate=1 | h | random in place of A, all [a] | undecided | speed | – | 9.00 ± \
1.00 (n=6) | 3.30 | 2026-01-02 | – | unknown |
| n1 | d | epochs=6 rate=2 | h | A, all [a,b] | no | loss, break-even | 1.10× [1.08, 1.11] | \
4.00 ± 0.38 (n=6) | 3.30 | 2026-01-02 | – | loses; slow |
| n2 | d | epochs=7 | h | B, all | undecided | loss | 0.90× (n=1) | -0.50 (n=1) | 3.30 | \
2026-01-02 | – | few seeds |

- a: lossy data: the images went through JPEG
- b: something of its own
- yes: the speedup's whole 95 % interval is above 1, and so on
- p: exact sign-flip test against no difference from dense, Holm-adjusted over the 3 losses that \
were declared, which takes 7 seeds before any can be below 0.05
- n1: not compared with exact training in bf16
"""

PAPER = """
| network | Base: accuracy, % | Base: loss vs dense, pp | Top: accuracy, % | Top: loss vs dense, \
pp | Top: speedup, x |
|---|---|---|---|---|---|
| A | paper 98; ours 97.9 ± 0.1 (n=6) [a]; REPRODUCED [b] | the reference | paper 97; ours 90.0 \
± 0.1 (n=6) [c]; DIFFERS [b] | paper 1; ours 7.9 ± 0.1 (n=6) [c]; NOT COMPARABLE [d] | paper 2x; \
NOT RUN [e] |
| B | paper 76; NOT RUN [f] | the reference | paper 75; NOT RUN [f] | paper 1; NOT RUN [f] | \
paper 3x; NOT RUN [f] |

- departs from the full setting: network wide:depth=10,width=2, not wide:depth=28,width=10; \
momentum 0.9
- departs from the full setting for B: learning_rate tuned (of 0.1, 0.2), not 0.15
- left out of the full setting: B
- the paper: All is well.
- accuracy_loss: a remark
- a: lossy data: the images went through JPEG
- b: within 0.3 % around the paper's number
- c: some runs are by an earlier version of their method, which differs only by rounding
- d: not trained as in the paper: batch_size=64, not 256; train_examples=1500, not all
- e: no timing run in the store
- f: not part of the reduced scale
- ±, [ ]: 95 % intervals. REPRODUCED: all of it
"""

PRODUCTS = """
| shape | dense over approximated, x | ours: method | ours: exact, ms | ours: speedup |
|---|---|---|---|---|
| 8x8 | 1.7 | m:k=1,s=e, lists, fp32 | 0.095 | 2.00× [2.00, 2.01], faster |
| | | m:k=1,s=e, densify, bf16 | 0.096 | 0.60× [0.60, 0.60], slower |

- fp32: what a layer takes is faster than the fastest exact path on 1 of 1 shapes, slower on 0; \
geometric mean 2.00×
"""

STUDY = """
| part | method | k | error | error_half | ms | lo | hi | rms_closed_form | empty |
|---|---|---|---|---|---|---|---|---|---|
| x | a | 1 | 0.5 | 0.01 | 3 | 2 | 4 | – | – |
| x | b | 2 | 0.6 | – | 5 | 4 | 6 | 0.7 | – |

- measured on host with cd8ba3b65076
"""

PAIRS = """
| network | method | against | its setting | seeds | ahead, pp | seeds ahead | p | p, Holm |
|---|---|---|---|---|---|---|---|---|
| n | A | Exact | last_epoch=0.72 | 12 | 0.99 ± 0.32 | 12 | 0.00049 | 0.002 |
| n | A | Exact, short | last_epoch=0.54 | 12 | 0.49 ± 0.50 | 8 | 0.053 | 0.11 |
| n | B | Exact | | 5 | -0.91 ± 0.94 | 1 | – | – |
| n | B | Exact, short | | 6 | -1.43 ± 0.48 | 0 | 0.031 | 0.04 |

- ahead: the method's test accuracy minus the exact training's
- no p stands where it could not be below 0.05
"""


def numbers(text):
    return set(re.findall(r"\d+\.\d+", text))


def check_parsed():
    table = parsed(ADVICE)
    assert table.column("worth it?") == ["undecided", "no", "undecided"]
    assert table.column("none") == [] and len(table.notes) == 5
    assert parsed("| a |\n|---|\n| x \\| y |").rows == [["x \\| y"]]
    assert parsed("| a | b | a |\n|---|---|---|\n").header == ["a", "b", "a, no. 2"]
    for bad in ("", "words", "| a |\n|---|\n| b |\nwords"):
        try:
            parsed(bad)
        except BadText:
            continue
        raise AssertionError(f"accepted {bad!r}")


def check_advice():
    part = plain.advice(ADVICE)
    # The random twin is a control.
    assert part.outcome == ("Verdicts: 1 no (by loss 1, break-even 1); 1 undecided (open: loss 1). "
                            "Speedups 0.90 to 1.10×; losses -0.50 to 4.00 points."), part.outcome
    assert "In all rows: data set `d`; margin 3.30 points; measured 2026-01-02." in part.text
    assert "Settings of n1: `epochs=6`." in part.text
    assert "Settings of n2: `epochs=7`." in part.text
    rows = [row for row in part.text.split("\n") if row.startswith("| ")]
    assert rows == [
        "| method, schedule | network | setting | worth it? | reason | speedup vs exact "
        "| loss, pp |",
        "| A, all [a,b] | n1 | rate=2 | ✘ no | (1) | 1.10× [1.08, 1.11] | 4.00 ± 0.38 (n=6) |",
        "| B, all | n2 |  | ? undecided | (2) | 0.90× (n=1) | -0.50 (n=1) |",
        "| random in place of A, all [a] | n1 | rate=1 | ? undecided | (3) | – "
        "| 9.00 ± 1.00 (n=6) |",
    ], rows
    assert "* (1) *loss*: loses. *break-even*: slow.\n" in part.text
    assert "* (3) *speed*: unknown.\n" in part.text
    assert plain.reason_text("speed, loss", "a; b; c") == "*speed, loss*: a; b; c."
    assert "Not measured here: time to target." in part.text
    # The table of footnotes of docs/reading-tables.md speaks; the others stay as they are.
    assert "* **a** *lossy data*: images that went through JPEG" in part.text
    assert "* **b** something of its own" in part.text
    assert "p is adjusted for 3 losses. It can be below 0.05 from 7 seeds on." in part.text
    assert "the speedup's whole" not in part.text and "* n1: not compared" in part.text
    assert numbers(ADVICE) == numbers(part.text), numbers(ADVICE) ^ numbers(part.text)


def check_paper():
    part = plain.paper(PAPER, "x:table1")
    assert part.finding == "All is well."
    assert part.outcome == ("The paper's numbers: 1 reproduced, 1 differs, 1 not comparable, "
                            "5 not run."), part.outcome
    rows = [row for row in part.text.split("\n") if row.startswith("| ")]
    assert rows[:2] == [
        "| network | Base: accuracy, % | Top: accuracy, % | Top: loss vs dense, pp |",
        "| A | paper 98<br>ours 97.9 ± 0.1 (n=6) [a]<br>REPRODUCED [b] "
        "| paper 97<br>ours 90.0 ± 0.1 (n=6) [c]<br>DIFFERS [b] "
        "| paper 1<br>ours 7.9 ± 0.1 (n=6) [c]<br>NOT COMPARABLE [d] |"], rows
    assert rows[2:] == [
        "| rows | setting | here | full scale |",
        "| all | `network` | wide:depth=10,width=2 | wide:depth=28,width=10 |",
        "| all | `momentum` | 0.9 | not set |",
        "| B | `learning_rate` | tuned (of 0.1, 0.2) | 0.15 |"], rows
    assert "* B: not part of the reduced scale" in part.text
    assert "* Top: speedup, x: no timing run in the store" in part.text
    assert "Left out at this scale" not in part.text  # the list of what was not run says it
    assert "* **d** not trained as in the paper: other batch size, train examples" in part.text
    assert "**e**" not in part.text and "**f**" not in part.text  # no row has them any more
    table = plain.relettered(Printed(["a"], [["1 [b,e]"], ["2 [e]"]],
                                     ["a: one", "b: two", "x: of y", "e: five", "p of it"]))
    assert table.rows == [["1 [a,b]"], ["2 [b]"]]
    assert table.notes == ["a: two", "b: five", "p of it"], table.notes
    assert "* *loss vs dense*: a remark" in part.text
    nothing = "\n".join(line for line in PAPER.split("\n") if not line.startswith("| A "))
    assert plain.paper(nothing, "x:table1") == plain.Part("", finding="All is well.")


def check_products_and_studies():
    part = plain.paper(PRODUCTS, "x")
    assert part.outcome == ("In fp32 the method is faster than the fastest exact product on 1 of 1 "
                            "shapes and slower on 0."), part.outcome
    assert "In all rows: method `m:k=1,s=e`." in part.text
    assert "| shape | paper: dense over approximated, x | variant | precision |" in part.text
    assert "|  |  | densify | bf16 | 0.096 | 0.60× [0.60, 0.60], slower |" in part.text
    part = plain.paper(STUDY, "x")
    assert part.outcome == ""
    assert part.text.split("\n\n")[0].split("\n") == [
        "| method | pairs taken | error | ms | root mean square, by formula |",
        "|---|---|---|---|---|",
        "| a | 1 | 0.5 ± 0.01 | 3 [2, 4] | – |", "| b | 2 | 0.6 | 5 [4, 6] | 0.7 |"], part.text
    assert "* Measured by commit cd8ba3b65076." in part.text


def check_pairs():
    part = plain.pairs(PAIRS)
    assert part.outcome == ("4 comparisons with an exact training: 1 ahead and 1 behind, by p "
                            "below 0.05, adjusted over all of them."), part.outcome
    assert "| method | against | ahead, pp | seeds ahead | seeds | p | p, Holm |\n" in part.text
    assert "In all rows: network `n`." in part.text and "* No p stands" in part.text
    assert "test accuracy minus" not in part.text


def check_footnotes():
    meanings = plain.footnote_meanings()
    assert len(meanings) > 20
    assert meanings["runs of several machines"][0] == "mixed hosts"
    text = ("runs that were interrupted and went on from a checkpoint: their times are from "
            "several processes")  # of two lines in the source
    assert meanings[text][0] == "resumed runs"


def check_uses():
    assert uses.without_scale("a:b:reduced") == "a:b" == uses.without_scale("a:b:tune")
    assert uses.sources_in({"a": [["x/y", "z"], ["p", "q"]], "b": {"c": ["newest n", "m"]}}) == [
        ("x/y", "z"), ("newest n", "m")]
    assert uses.experiment_file("wang2019:table5", {}) == "experiments/wang2019/table5.toml"
    assert uses.experiment_file("other", {"other": "README.md"}) == "README.md"
    assert uses.experiment_file("none", {}) == ""
    assert uses.paper_page("wang2019:table5") == "papers/wang2019.md"
    assert uses.paper_page("steps") == ""
    found = uses.written_uses()
    assert any(use.page == "findings.md" and use.experiment == "study:cifar10_resnet20"
               and use.store == "several-machines/study" for use in found)


def check_empty():
    assert plain.main_table("| method | accuracy % |\n|---|---|\n| a | – |").text == ""
    assert Printed(["a", "b"], [["–", "1"], ["", "–"]]).empty_columns() == ["a"]


def main():
    check_parsed()
    check_advice()
    check_paper()
    check_products_and_studies()
    check_pairs()
    check_footnotes()
    check_uses()
    check_empty()


if __name__ == "__main__":
    main()
