"""What scripts/measured/which_method.py makes of rows: intervals, verdicts, answer, page."""

import json
import math
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from measured import which_method as which  # noqa: E402  (lies beside the scripts that use it)

EXACT_ROW = {"worth": "undecided", "decided_by": "loss, same time",
             "reason": "its loss is open; no shorter training"}


def close(a, b):
    return math.isclose(a, b, abs_tol=5e-4)


def check_intervals():
    # Student's t of 2, 5 and 9 degrees of freedom, from published tables; the standard error is 1.
    assert close(which.half_width([-math.sqrt(3), 0, math.sqrt(3)]), 4.3027)
    six = [value * math.sqrt(5) for value in (-1, -1, -1, 1, 1, 1)]
    assert close(which.half_width(six), 2.5706)
    assert close(which.half_width(six, 0.90), 2.0150)
    assert close(which.half_width(six, 0.999), 6.8688)
    assert which.half_width([1.0]) is None
    # Half widths add as squares on logarithms.
    logs = [0.1 * value for value in six]
    ratio, low, high = which.step_ratio([1 + each for each in logs], logs)
    assert close(ratio, math.e) and close(math.log(high), 1 + 0.25706 * math.sqrt(2))
    assert close(low * high, ratio * ratio)
    assert which.step_ratio([1.0], [0.5, 0.5])[1:] == (None, None)


def check_paired_loss():
    losses, beyond = which.paired_loss({1: 70.0, 2: 80.0, 3: 50.0}, {2: 79.0, 1: 71.0, 4: 1.0})
    assert losses == [-1.0, 1.0] and beyond == [-4.0, -1.0], (losses, beyond)


def steps(gain, count):
    return [gain + 0.001 * (i % 2) for i in range(count)]


def check_exact_verdict():
    def verdict(gain, count, beyond):
        return which.exact_verdict(steps(gain, count), steps(0, count), beyond)[:2]
    kept, lost = [-3.0, -2.9, -3.1] * 2, [3.0, 2.9, 3.1] * 2
    assert verdict(0.5, 10, kept) == ("yes", "speed, loss")
    assert verdict(0.5, 10, lost) == ("no", "loss")
    assert verdict(0.5, 10, [-9.0, 9.0] * 3) == ("undecided", "loss")
    assert verdict(0.5, 10, kept[:5]) == ("undecided", "loss")
    assert verdict(0.5, 10, []) == ("undecided", "loss")
    assert verdict(0.5, 5, kept) == ("yes", "speed, loss")  # obvious
    assert verdict(0.5, 4, kept) == ("undecided", "speed")
    assert verdict(0.02, 10, kept) == ("undecided", "speed")  # within 3 %, of one day
    assert verdict(-0.5, 10, []) == ("undecided", "speed, loss")
    # A loss at a rate that is not enclosed may be the rate's, in either direction.
    for beyond in kept, lost:
        assert which.exact_verdict(steps(0.5, 10), steps(0, 10), beyond, "0.4 is open") == (
            "undecided", "loss", "0.4 is open")


def check_encloses():
    good = {0.1: {1: 0.3, 2: 0.2}, 0.2: {1: 0.5, 2: 0.4}, 0.4: {1: 0.4, 2: 0.3}}
    assert which.encloses(good, 0.2)
    assert not which.encloses(good, 0.1) and not which.encloses(good, 0.4)
    assert not which.encloses(good, 0.3)
    assert not which.encloses({rate: {1: of[1]} for rate, of in good.items()}, 0.2)  # one seed
    assert not which.encloses({**good, 0.4: {1: 0.5, 2: 0.4}}, 0.2)  # as good at the end
    assert not which.encloses({**good, 0.4: {1: 0.3, 2: 0.45}}, 0.2)  # best there by one of two
    # A rate without all seeds is no end.
    assert not which.encloses({0.1: {1: 0.3}, **{rate: good[rate] for rate in (0.2, 0.4)}}, 0.2)


def check_combined():
    timed = {"worth": "undecided", "decided_by": "speed, loss, same time",
             "reason": "2 processes; no loss; no training"}
    # Of one row the verdict is that row's, a yes too.
    yes = {"worth": "yes", "decided_by": "speed, loss, same time", "reason": "a; b; c"}
    assert which.combined(yes, yes) == ("yes", "speed, loss, same time", "a; b; c")
    # Of two it is never yes, and says which parts are open.
    assert which.combined(yes, EXACT_ROW) == (
        "undecided", "loss, same time", "its loss is open; no exact training of the same time")
    assert which.combined(timed, None) == (
        "undecided", "speed, loss, same time",
        "2 processes; its loss was not measured; no exact training of the same time")
    assert which.combined(None, dict(EXACT_ROW, decided_by="speed, same time",
                                     reason="not timed; none")) == (
        "undecided", "speed, same time",
        "its speed was not measured; no exact training of the same time")
    # A no of either is a no.
    slower = {"worth": "no", "decided_by": "speed", "reason": "slower than dense"}
    assert which.combined(slower, EXACT_ROW) == ("no", "speed", "slower than dense")
    assert which.combined(timed, dict(slower, decided_by="loss", reason="loses")) == (
        "no", "loss", "loses")
    both = dict(slower, decided_by="speed, loss", reason="slower; loses")
    assert which.combined(timed, both) == ("no", "loss", "loses")
    # Where the loss was measured the method may be slow; the step here is another machine's.
    assert which.combined(timed, slower)[0] == "undecided"


def line(method, verdict, low, loss=None, **more):
    known = {"hardware": "cpu", "precision": "fp32", "network": "resnet20:form=cifar",
             "method": method, "verdict": verdict, "speedup": low + 0.01, "speedup_lo": low,
             "speedup_hi": low + 0.02, "processes": 10, "margin_pp": 3.0, "base": method}
    if loss is not None:
        known |= {"loss_pp": loss, "loss_pp_half": 0.5, "seeds": 6}
    return known | more


def check_answer():
    group = {"title": "CPU, fp32", "hardware": "cpu", "precisions": ["fp32"]}
    methods = {"A": [], "B": []}
    which.settings_of = lambda: {"hardware": [group], "methods": methods, "cards": {}}

    def answer(*lines):
        which.lines = lambda: list(lines)
        use, chosen, undecided = which.answer_of(group)
        names = [each["method"] for each in chosen]
        return use, ", ".join(names) or None, undecided and undecided["method"]

    none = line("B", None, 0.0)
    exact = {"base": "", "is_exact": True, "in": "bf16", "needs": None}
    assert answer(line("A", "no", 1.1, 0.1), none) == ("Train exactly", None, None)
    assert answer(line("A", "undecided", 1.1, 0.1), none) == ("Train exactly", None, "A")
    # Slower, of a loss that nobody measured, or that may be too large: not worth a try.
    assert answer(line("A", "undecided", 0.9, 0.1), none)[2] is None
    assert answer(line("A", "undecided", 1.1), none)[2] is None
    assert answer(line("A", "undecided", 1.1, 2.6), none)[2] is None
    assert answer(line("A", "yes", 1.1, 0.1), line("B", "yes", 1.2, 0.1))[:2] == ("B", "B")
    assert answer(line("E", "yes", 1.6, 0.1, **exact), line("A", "no", 1.1), none) == (
        "Train exactly in bf16", "E", None)
    assert answer(line("E", "yes", 1.6, 0.1, **exact | {"needs": "X"}),
                  line("A", "no", 1.1), none)[0] == (
        "Train exactly in bf16 if the CPU has X, else in fp32")
    # Two that are shown to pay were measured on different machines: neither is the one to use.
    assert answer(line("E", "yes", 1.6, 0.1, **exact | {"needs": "X"}),
                  line("A", "yes", 1.3, 0.1, needs="Y"), line("B", "yes", 1.2, 0.1))[:2] == (
        "Time both: exact bf16 (X), A (Y)", "E, A")
    assert answer(line("A", "yes", 1.1, 0.1, needs="Y"), none)[0] == "A (Y)"
    assert answer(line("E", "undecided", 1.6, **exact), line("A", "no", 1.1), none) == (
        "Train exactly; try bf16", "E", None)
    assert answer(line("E", "no", 1.6, **exact), line("A", "no", 1.1), none)[0] == "Train exactly"
    # A line of both speed and loss says more than one of a speed alone.
    which.lines = lambda: [line("A", "no", 0.9), line("A", "undecided", 1.1, 0.1), none]
    assert [each["verdict"] for each in which.page_lines(group)] == ["undecided", None]
    # And a speed alone more than a loss alone.
    loss_alone = line("A", "undecided", 1.0, 0.1) | {"speedup": None, "processes": None}
    assert which.best_said([loss_alone, line("A", "no", 0.9)])["verdict"] == "no"
    # A decided line says more than an undecided one, however few its processes.
    decided = line("A", "yes", 1.1, 0.1) | {"processes": 5}
    assert which.best_said([line("A", "undecided", 1.2, 0.1), decided]) is decided
    page = which.page()
    assert "| A | 1.11 [1.10, 1.12] | 0.10 ± 0.50 | ? | resnet20 | – | 10 | 6 |\n" in page, page
    assert "\n\nNot measured: B.\n" in page and "No method is shown to pay" in page, page
    assert json.loads(which.data())["rows"][2]["verdict"] == "not measured"


def check_committed_page():
    """It is short: 400 words, 15 in a cell."""
    with open(os.path.join(ROOT, "docs", "which-method.md"), encoding="utf-8") as file:
        page = file.read()

    def words(text):
        return [word for word in text.replace("|", " ").split() if re.search(r"\w|[✔✘?]", word)]
    assert len(words(page)) <= 400, len(words(page))
    for row in page.split("\n"):
        if row.startswith("| "):
            assert all(len(words(cell)) <= 15 for cell in row.split("|")), row


if __name__ == "__main__":
    check_committed_page()
    check_intervals()
    check_paired_loss()
    check_exact_verdict()
    check_encloses()
    check_combined()
    check_answer()
