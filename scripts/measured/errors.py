"""What `study gradient-error` of a store found: bias and noise of methods, means over layers."""

import csv
import io
import json
import math
import statistics

from measured.cells import BadText, fixed, markdown

PRODUCTS = ("data_gradient", "weight_gradient")
PRODUCT_NAMES = {"data_gradient": "data gradient", "weight_gradient": "weight gradient"}


def newest(store):
    """The newest study of the store: its rows as dictionaries, and a sentence on what was asked,
    where, when and by which commit."""
    found = store.query("""
        SELECT s.params, s.content, h.cpu_model, s.started_utc, b.git_sha, b.dirty
        FROM study_run s JOIN host h USING(host_id) JOIN build b USING(build_id)
        WHERE s.name = 'gradient-error' ORDER BY s.study_run_id DESC LIMIT 1""")
    if not found:
        raise BadText(f"{store.name} has no study gradient-error")
    params, content, cpu, started, commit, dirty = found[0]
    asked = json.loads(params)
    sentence = (f"Network `{asked['network']}` on `{asked['dataset']}` after {asked['steps']} "
                f"exact steps, batches of {asked['batch-size']}, {asked['draws']} draws; {cpu}, "
                f"{started[:10]}, commit {commit[:12]}{' (changed)' if dirty else ''}.")
    content = json.loads(content)
    return [dict(zip(content["columns"], row)) for row in content["rows"]], sentence


def own_bias(row):
    """The bias without what as many unbiased draws would show by chance."""
    return math.sqrt(max(0, row["bias"] ** 2 - row["bias_noise"] ** 2))


def means(rows):
    """By method, by product: the means over the layers, beside the share of the work."""
    groups = {}
    for row in rows:
        groups.setdefault(row["method"], {}).setdefault(row["product"], []).append(row)
    return {method: {product: {
        "work": statistics.fmean(row["work"] for row in layers),
        # None: the product is zero.
        "cosine": statistics.fmean(row["cosine"] or 0 for row in layers),
        "bias": statistics.fmean(own_bias(row) for row in layers),
        "noise": statistics.fmean(math.sqrt(row["variance"]) for row in layers),
    } for product, layers in products.items() if product in PRODUCTS}
        for method, products in groups.items()}


def table(store):
    """A row for each method: what it needs of the multiply-accumulates, cosine, bias and noise."""
    studied, sentence = newest(store)
    rows = []
    for method, products in means(studied).items():
        cells = [f"`{method}`"]
        for product in PRODUCTS:
            found = products.get(product)
            cells += ["exact", "–", "–", "–"] if found is None else [
                f"{100 * found['work']:.0f} %",
                *(fixed(found[name], 2) for name in ("cosine", "bias", "noise"))]
        rows.append(cells)
    header = ["method", *(text for short in ("dX", "dW") for text in (
        f"{short}: work", "cosine", "bias", "noise"))]
    return "\n".join([*markdown(header, rows), "", sentence]) + "\n"


def figure(store):
    """The points of plots/gradient_error.gp as CSV."""
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(["product", "method", "bias", "noise"])
    for method, products in means(newest(store)[0]).items():
        for product, found in products.items():
            written.writerow([PRODUCT_NAMES[product], method, found["bias"], found["noise"]])
    return text.getvalue()
