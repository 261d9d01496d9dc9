"""What `report advice` should say: a dictionary a line."""

from breakeven import break_even, pays
from samples import half_width, mean, one_sided_bounds, ratio_of_ratios, sign_flip_p
from stored import holm_over
from tables import (SEEDS_FOR_A_WORD, best_exact, is_unsound, labels, loss_word, same_time,
                    speed_word, target_rows, triple)


def by_three(parts):
    """(word, names of the parts that decided): no by one, yes by all."""
    words = [word for _, word in parts]
    word = "no" if "no" in words else "undecided" if "undecided" in words else "yes"
    return word, ", ".join(name for name, own in parts if own == word)


def same_time_word(advantages, enough, sooner):
    if len(sooner) >= SEEDS_FOR_A_WORD and mean(sooner) - half_width(sooner) > 0:
        return "no"
    if advantages is None or len(advantages) < SEEDS_FOR_A_WORD:
        return "undecided"
    middle, reach = mean(advantages), half_width(advantages)
    return "yes" if middle + reach < 0 and enough else "undecided"


# The words for the loss alone.
LOSS_VERDICTS = {"yes": "NON-INFERIOR", "no": "INFERIOR", "undecided": "INCONCLUSIVE"}


def expected_advice(rows, share_of_error):
    tests = holm_over(rows)
    targets = {id(line.row): line for line in target_rows(rows, lambda row: 0.5)}
    for row, (p, adjusted) in zip(rows, tests):
        speedup, losses = row.speedup(), row.losses()
        if row.first.dense or speedup[3] == 0 and not losses:
            continue
        target = targets.get(id(row))
        dense = row.dense.finals() if row.dense else []
        margin = share_of_error * (100 - mean(dense)) if dense else None
        low, high = one_sided_bounds(losses)
        control = same_time(row, rows, target.share if target else None)
        advantages, epochs, trained, reached, tried, source, enough, sooner = \
            control or (None, None, None, 0, 0, "", False, [])
        needed = break_even(row, rows)
        precision, over_own, processes, occasions = best_exact(row, rows, share_of_error)
        elsewhere = precision != row.first.config["precision"]
        over_best = ratio_of_ratios(speedup[:3], over_own) if elsewhere else speedup[:3]
        processes = min(processes, speedup[3])
        if needed and needed.found.fewest >= SEEDS_FOR_A_WORD:
            name, shorter = "break-even", "undecided"
            if not speedup[3] or not is_unsound(row):
                shorter = pays(row, (*over_best, processes), occasions, needed)
        else:
            name, shorter = "same time", same_time_word(advantages, enough, sooner)
        if elsewhere and shorter == "yes":
            shorter = "undecided"
        loss = loss_word(row, share_of_error)
        if not row.rates_enclosed():
            loss = shorter = "undecided"
        loss_verdict = LOSS_VERDICTS[loss] if dense else None
        worth, decided_by = by_three([("speed", speed_word(row, over_best, processes,
                                                           occasions)),
                                      ("loss", loss), (name, shorter)])
        yield {
            **labels(row), "worth": worth, "decided_by": decided_by, **triple("speedup", speedup),
            **triple("speedup_vs_stock", row.speedup_vs_stock(rows)),
            **triple("speedup_vs_best", over_best), "best_exact": precision,
            "loss_pp": mean(losses), "loss_pp_lower": low, "loss_pp_upper": high, "n": len(losses),
            "loss_p": p, "loss_p_holm": adjusted, "margin_pp": margin,
            "loss_verdict": loss_verdict,
            "iso_time_pp": mean(advantages or []), "iso_time_pp_half": half_width(advantages or []),
            "iso_time_p": sign_flip_p(advantages or []),
            "iso_time_n": len(advantages or []), "iso_time_epochs": epochs,
            "iso_time_trained": trained or None, "iso_time_source": source,
            # By steps that were timed apart.
            **triple("target_speedup",
                     target.speedup if target and speedup[3] else (None, None, None)),
            "target_pct": 100 * target.share if target else None,
            "target_reached": sum(target.arrived) if target else None,
            "target_runs": len(target.times) if target else None,
            "iso_time_reached": reached, "iso_time_runs": tried,
            **triple("breakeven", needed.speedup if needed else (None, None, None)),
        }
