"""Tables of what `scripts/gpu-suite` measured. Each takes rows of `report kernels`."""

import json
from statistics import median

from measured.cells import markdown_text, us

SDGP, PRUNING, AT_RANDOM = "sdgp:", "stochastic_pruning:p=0.9", "pruned_at_random:density="
DENSITIES = ("0.5", "0.1", "0.02", "0.01")
ENTRIES = ("sparse_", "block_")  # variants that multiply the entries or tiles that are left


def kernel_rows(store, precision=None):
    """The cases that were measured."""
    return [row for row in store.rows("kernels") if row["verdict"] != "skipped" and
            precision in (None, row["precision"])]


def fastest(rows, key="ns_median"):
    return min((row[key] for row in rows if row[key] is not None), default=None)


def by_shape(rows, op):
    shapes = dict.fromkeys(row["shape"] for row in rows if row["op"] == op)
    return {shape: [row for row in rows if (row["shape"], row["op"]) == (shape, op)]
            for shape in shapes if "/" in shape}


def engines(rows):
    """In how many exact products the engine of cuDNN that was chosen is faster than the faster of
    LibTorch's layouts, and in how many slower."""
    lines = []
    for precision in ("fp32", "tf32", "bf16"):
        ratios = []
        own = [row for row in rows if row["precision"] == precision and
               row["method"] == "dense" and row["caches"] == "warm"]
        for op, shape in dict.fromkeys((row["op"], row["shape"]) for row in own):
            one = [row for row in own if (row["op"], row["shape"]) == (op, shape)]
            theirs, libtorch = (fastest(row for row in one if row["variant"].startswith(name))
                                for name in ("cudnn", "libtorch"))
            if theirs is not None and libtorch is not None:
                ratios.append(libtorch / theirs)
        lines.append([precision, f"{len(ratios)}", f"{sum(ratio > 1.03 for ratio in ratios)}",
                      f"{sum(ratio < 1 / 1.03 for ratio in ratios)}",
                      f"{median(ratios):.2f}" if ratios else "–"])
    return markdown_text(["", "products", "engine more than 3 % faster", "more than 3 % slower",
                    "LibTorch's time over its, median"], lines)


def pruning(rows):
    """Microseconds of a data gradient under pruning, choosing included."""
    lines = []
    for shape, cases in by_shape(rows, "data_gradient").items():
        def of(method, *variants):
            return [row for row in cases if row["method"].startswith(method) and
                    (not variants or row["variant"].startswith(variants))]
        if not of(SDGP):
            continue
        lines.append([f"`{shape}`", us(fastest(of("dense"))), us(fastest(of(SDGP, "masked"))),
                      us(fastest(of(SDGP, "mma_sp"))), us(fastest(of(SDGP, "cusparselt"))),
                      us(fastest(of(PRUNING), "plan_ns")), us(fastest(of(PRUNING, "exact"))),
                      us(fastest(of(PRUNING, *ENTRIES)))])
    header = ["layer", "exact, µs", "2:4, written out", "2:4, `mma_sp`", "2:4, `cusparselt`",
              "p = 0.9, choosing", "p = 0.9, exact product", "p = 0.9, entries or tiles"]
    return markdown_text(header, lines)


def crossover(rows):
    """Exact time over that of the faster of entries and tiles, by the share that is left."""
    lines = []
    for precision in ("fp32", "tf32", "bf16"):
        for op in ("data_gradient", "weight_gradient"):
            for shape, cases in by_shape(rows, op).items():
                own = [row for row in cases if row["precision"] == precision and
                       row["method"].startswith(AT_RANDOM) and row["variant"].startswith(ENTRIES)]
                exact = median([row["baseline_ns_median"] for row in own] or [None])
                cells = []
                for density in DENSITIES:
                    ratio = max((row["speedup"] for row in own
                                 if row["method"] == AT_RANDOM + density and row["speedup"]),
                                default=None)
                    cells.append("–" if ratio is None else
                                 f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}")
                if any(cell != "–" for cell in cells):
                    lines.append([precision, op.replace("_", " "), f"`{shape}`", us(exact), *cells])
    left = [f"{float(density):.0%} left" for density in DENSITIES]
    return markdown_text(["", "product", "layer", "exact, µs", *left], lines)


def sampled(rows):
    """Of 1x1 products with half or a tenth of the channels, the fastest way and its speedup."""
    lines = []
    for op in ("forward", "data_gradient"):
        for shape, cases in by_shape(rows, op).items():
            exact = fastest(row for row in cases if row["method"] == "dense")
            line = [op.replace("_", " "), f"`{shape}`", us(exact)]
            own = [row for row in cases if row["method"].startswith("topk_weights:")]
            for ratio in ("0.5", "0.1"):
                both = [row for row in own if f"ratio={ratio}," in row["method"] and
                        "mode=both" in row["method"]]
                best = min(both, key=lambda row: row["ns_median"], default=None)
                line.append("–" if best is None else
                            f"{us(best['ns_median'])}, `{best['variant']}`, choosing alone "
                            f"{us(best['plan_ns'])}: {exact / best['ns_median']:.2f}")
            if own:
                lines.append(line)
    header = ["product", "layer", "exact, µs", "half of the channels", "a tenth"]
    return markdown_text(header, lines)


def images_of(batch):
    """Of a step on synthetic224, which has 128 images to train on, a tenth of them held out."""
    return min(int(batch), 128 - 128 // 10)


def layers(store):
    """All data gradients of a network together, exact and 2:4 by each way, in milliseconds."""
    newest = {}
    for params, content in store.query("SELECT params, content FROM study_run WHERE "
                                       "name = 'layer-times' ORDER BY study_run_id"):
        of, table = json.loads(params), json.loads(content)
        rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
        newest[of["network"], of["batch-size"]] = {
            (row["method"], row["variant"]): row for row in rows
            if row["layer"] == "all layers" and row["product"] == "data_gradient"}
    lines = []
    for (network, batch), sums in newest.items():
        exact = sums["dense", None]["ms"]
        line = [f"{network}, {images_of(batch)} images", f"{exact:.2f}", f"{exact / 2:.2f}"]
        for variant in ("masked", "mma_sp", "cusparselt"):
            row = sums.get(("sdgp", variant))
            line.append("–" if row is None else f"{row['ms']:.2f}")
        lines.append(line)
    header = ["network", "exact, ms", "as the paper estimates", "written out", "`mma_sp`",
              "`cusparselt` where it can"]
    return markdown_text(header, lines)
