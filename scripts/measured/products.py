"""Tables of single products: which cases each wants (scripts/measure-products measures them), and
how each is written from a database.

Every table has a list of shapes, experiments/shapes/performance_NAME.txt. A ratio is the geometric
mean over pairs of repetitions, the fastest exact path over the other, with its 95 % t-interval;
of several products of one layer the i-th repetitions are added up first. Of each method that
variant stands here which a layer takes.
"""

import array
import json
import math
import os
import re
import sqlite3
import statistics

from measured.cells import markdown, milliseconds
from measured.store import ROOT

FORWARD, DATA, WEIGHT = "forward", "data_gradient", "weight_gradient"
PRODUCTS = (FORWARD, DATA, WEIGHT)
GRADIENTS = (DATA, WEIGHT)
DENSITIES = ("0.5", "0.4", "0.3", "0.2", "0.1", "0.05", "0.01")
AT_RANDOM = "pruned_at_random:density="
STRUCTURED = {"2:4": "sdgp:n=2,m=4", "1:4": "sdgp:n=1,m=4"}
SAMPLED = "topk_crs:ratio=0.5"
SHARES = ("0.5", "0.625", "0.75")
POSITION = "topk_position:k=1"
CHOOSING = {"stochastic_pruning:p=0.9": DATA, POSITION: WEIGHT, SAMPLED: FORWARD}

# What each table is made of: (product, how the method's full text begins).
CASES = {
    "exact": [(product, "dense") for product in PRODUCTS],
    "pruned": [(product, AT_RANDOM + density) for product in GRADIENTS for density in DENSITIES],
    "structured": [(DATA, method) for method in STRUCTURED.values()],
    "sampled": [(product, SAMPLED) for product in PRODUCTS],
    "narrow": [(DATA, "topk_crs:ratio=" + share) for share in SHARES],
    "position": [(WEIGHT, POSITION)],
    "choosing": [(product, method) for method, product in CHOOSING.items()],
}
# Tables that show every variant and not only what a layer takes.
ALL_VARIANTS = {"narrow"}
LISTS = os.path.join(ROOT, "experiments", "shapes")
# Variants that multiply as much as the exact product does: the rules leave the layer to it.
WHOLE = {"exact", "whole", "mask"}
LIBRARY = "libtorch"


def listed(table, folder=LISTS):
    """The shapes of a table in the order of its list, as text: "N128,C64,K64,H32,R3,S1,P1"."""
    with open(os.path.join(folder, f"performance_{table}.txt"), encoding="utf-8") as file:
        return [line.split("#")[0].split()[1] for line in file if line.split("#")[0].strip()]


def letters(shape):
    return {part[0]: int(part[1:]) for part in shape.split(",")}


def layer_name(shape):
    """"128,64,32,64,3x3/1": N, Ci, map, Co, kernel/stride."""
    of = letters(shape)
    return f"{of['N']},{of['C']},{of['H']},{of['K']},{of['R']}x{of['R']}/{of['S']}"


def megabytes(shape, op):
    """Of x where the product is the forward one, else of dY."""
    of = letters(shape)
    if op == FORWARD:
        return 4e-6 * of["N"] * of["C"] * of["H"] ** 2
    return 4e-6 * of["N"] * of["K"] * ((of["H"] + 2 * of["P"] - of["R"]) // of["S"] + 1) ** 2


class Case:
    """A row of kernel_result."""

    def __init__(self, row):
        (self.run, self.op, self.method, self.variant, shape, self.threads, self.chosen,
         self.gflops, self.ceiling, self.plan_ns, self.reason, ns, baseline) = row
        of = json.loads(shape)
        self.shape = (f"N{of['batch']},C{of['in_channels']},K{of['out_channels']},H{of['size']},"
                      f"R{of['kernel']},S{of['stride']},P{of['padding']}")
        self.ns, self.baseline_ns = array.array("q", ns), array.array("q", baseline)

    @property
    def ms(self):
        return statistics.median(self.ns) / 1e6

    @property
    def baseline_ms(self):
        return statistics.median(self.baseline_ns) / 1e6


class Products:
    """What a store has of products on random operands in fp32 on the CPU, the newest of each."""

    def __init__(self, path):
        self.path = path
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            rows = db.execute(
                "SELECT v.kernel_run_id, v.op, v.method, v.variant, v.shape, v.threads, v.chosen, "
                "v.gflops, v.ceiling_gflops, v.plan_ns, v.reason, r.ns, r.baseline_ns "
                "FROM v_kernel v JOIN kernel_result r USING(kernel_run_id, kernel_case_id) "
                "WHERE v.experiment = '' AND v.device = 'cpu' AND v.precision = 'fp32' AND r.n > 0 "
                "AND json_extract(v.shape, '$.recorded') IS NULL "
                "AND json_extract(v.shape, '$.groups') = 1 "
                "ORDER BY v.kernel_run_id, v.kernel_case_id").fetchall()
            self.runs = {
                run: (day[:10], sha[:12] + (" (changed)" if dirty else ""), json.loads(environment))
                for run, day, sha, dirty, environment in db.execute(
                    "SELECT kernel_run_id, started_utc, git_sha, dirty, environment "
                    "FROM kernel_run JOIN build USING(build_id)")}
        db.close()
        newest = {}
        for case in map(Case, rows):
            newest[case.threads, case.shape, case.op, case.method, case.variant] = case
        self.cases = list(newest.values())

    def threads(self):
        return sorted({case.threads for case in self.cases})

    def taken(self, threads, shape, op, method):
        """The case of a method whose full text begins so, None where there is none."""
        found = [case for case in self.of(threads, shape, op, method) if case.chosen]
        return max(found, key=lambda case: case.run, default=None)

    def of(self, threads, shape, op, method):
        return [case for case in self.cases if (case.threads, case.shape, case.op) ==
                (threads, shape, op) and re.match(re.escape(method) + "(,|$)", case.method)]

    def has(self, table, threads, shape):
        return all(self.taken(threads, shape, *case) and (table not in ALL_VARIANTS or any(
            not other.chosen for other in self.of(threads, shape, *case))) for case in CASES[table])


def t_quantile(degrees, inside=0.95):
    """Student's t: what that share lies within."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(
        degrees * math.pi)

    def area(end, pieces=2000):  # from 0, by Simpson's rule
        def density(t):
            return scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2)
        step = end / pieces
        odd = sum(density((i + 0.5) * step) for i in range(pieces))
        even = sum(density(i * step) for i in range(1, pieces))
        return step / 6 * (density(0) + density(end) + 4 * odd + 2 * even)

    low, high = 1.5, 13.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if area(middle) > inside / 2 else (middle, high)
    return low


class Ratio:
    """Times of repetitions over others beside them; each a list of products that are added up."""

    known = {}

    def __init__(self, numerators, denominators):
        logs = [math.log(sum(above) / sum(below))
                for above, below in zip(zip(*numerators), zip(*denominators))]
        n, mean = len(logs), statistics.fmean(logs)
        quantile = self.known.setdefault(n, t_quantile(n - 1))
        half = quantile * statistics.stdev(logs) / math.sqrt(n)
        self.value, self.low, self.high = (math.exp(mean + each) for each in (0, -half, half))
        self.percent = 100 * math.expm1(half)

    def text(self, interval=True):
        value = f"{self.value:.2f}"
        return f"{value} [{self.low:.2f}, {self.high:.2f}]" if interval else value


def ratio_of(cases):
    return Ratio([case.baseline_ns for case in cases], [case.ns for case in cases])


def ratio_text(cases, interval=True):
    """Of one product or several; in parentheses where the rules leave all to the exact product."""
    if not all(cases):
        return "–"
    text = ratio_of(cases).text(interval)
    return f"({text})" if all(case.variant in WHOLE for case in cases) else text


def exact_ms(cases):
    """The exact products beside them, added up."""
    return milliseconds(sum(case.baseline_ms for case in cases)) if all(cases) else "–"


class Table:
    """Lines of one table at one number of threads, and the cases that it has used."""

    def __init__(self, products, threads, lists):
        self.products, self.threads, self.lists, self.used = products, threads, lists, []

    def taken(self, shape, op, method):
        case = self.products.taken(self.threads, shape, op, method)
        if case:
            self.used.append(case)
        return case

    def measured(self, table):
        """The shapes of its list of which there is anything."""
        return [shape for shape in listed(table, self.lists)
                if any(self.products.of(self.threads, shape, *case) for case in CASES[table])]

    def exact(self):
        layers, paths = [], []
        for shape in self.measured("exact"):
            for op in PRODUCTS:
                cases = {case.variant: case
                         for case in self.products.of(self.threads, shape, op, "dense")}
                if cases:
                    # Side by side: those of the newest run alone.
                    last = max(case.run for case in cases.values())
                    layers.append((shape, op, {path: case for path, case in cases.items()
                                               if case.run == last}))
                    paths += [path for path in cases if path not in paths]
        paths.sort(key=lambda path: (not path.startswith(LIBRARY), "first" in path, path))
        rows = []
        for shape, op, cases in layers:
            self.used += cases.values()
            cells = []
            for path in paths:
                case = cases.get(path)
                text = "–" if case is None else (
                    f"{milliseconds(case.ms)} ({case.gflops:.0f}, "
                    f"{100 * case.gflops / case.ceiling:.0f} %)")
                cells.append(f"**{text}**" if case and case.chosen else text)
            library = [case for path, case in cases.items() if path.startswith(LIBRARY)]
            ours = [case for path, case in cases.items() if not path.startswith(LIBRARY)]
            best = [min(side, key=lambda case: case.ms, default=None) for side in (library, ours)]
            ratio = "–" if None in best else Ratio([best[0].ns], [best[1].ns]).text()
            rows.append([layer_name(shape), op.replace("_", " "), *cells, ratio])
        names = [path.replace(LIBRARY, "oneDNN,") if path.startswith(LIBRARY) else
                 path.removesuffix(" channels last") for path in paths]
        return markdown(["N, Ci, map, Co, kernel/stride", "product", *names, "ratio"], rows) + [
            "", "ms (GFLOP/s, share of the rate of multiply-adds in registers); in bold what a "
            "layer takes. Padding counts as multiplied. Ratio: the better layout of oneDNN over "
            "the fastest of ours."]

    def pruned(self):
        rows, widths = [], []
        for shape in self.measured("pruned"):
            for ops, name in ((GRADIENTS[:1], "data gradient"), (GRADIENTS[1:], "weight gradient"),
                              (GRADIENTS, "both")):
                cells, exact = [], "–"
                for density in DENSITIES:
                    cases = [self.taken(shape, op, AT_RANDOM + density) for op in ops]
                    cells.append(ratio_text(cases, interval=False))
                    if all(cases):
                        widths.append(ratio_of(cases).percent)
                        exact = exact_ms(cases) if exact == "–" else exact
                rows.append([layer_name(shape) if len(ops) == 1 and ops[0] == DATA else "",
                             f"{name} ({exact})", *cells])
        text = markdown(["layer", "product (exact, ms)", "share that is not zero: " + DENSITIES[0],
                        *DENSITIES[1:]], rows)
        if widths:
            text += ["", f"Ratios to the exact product; half of their intervals are within "
                     f"± {statistics.median(widths):.1f} %, all within ± {max(widths):.1f} %. In "
                     f"parentheses: the rules leave it to the exact product."]
        return text

    def structured(self):
        rows = []
        for shape in self.measured("structured"):
            cases = [self.taken(shape, DATA, method) for method in STRUCTURED.values()]
            rows.append([layer_name(shape), exact_ms(cases[:1]),
                         *(ratio_text([case]) for case in cases)])
        return markdown(["layer", "exact, ms", *STRUCTURED], rows)

    def sampled(self):
        rows = []
        for shape in self.measured("sampled"):
            cases = [self.taken(shape, op, SAMPLED) for op in PRODUCTS]
            rows.append([layer_name(shape),
                         *(f"{ratio_text([case])}, {exact_ms([case])} ms" for case in cases),
                         ratio_text(cases)])
        header = ["layer", *(op.replace("_", " ") for op in PRODUCTS), "all three"]
        return markdown(header, rows) + [
            "", "Ratios to the exact product, and its ms. In parentheses: computed as a whole."]

    def narrow(self):
        rows = []
        for shape in self.measured("narrow"):
            by_share = [{case.variant: case for case in self.products.of(
                self.threads, shape, DATA, "topk_crs:ratio=" + share)} for share in SHARES]
            for name, variant in (("gathered", "gather"), ("whole", "whole")):
                cells = []
                for case in (cases.get(variant) for cases in by_share):
                    self.used += [case] if case else []
                    text = ratio_of([case]).text() if case else "–"
                    cells.append(f"**{text}**" if case and case.chosen else text)
                rows.append([layer_name(shape) if variant == "gather" else "", name,
                             exact_ms([by_share[0].get(variant)]), *cells])
        return markdown(["layer", "channels", "exact, ms", "share of them: " + SHARES[0],
                        *SHARES[1:]], rows) + ["", "In bold what a layer takes."]

    def position(self):
        rows = []
        for shape in self.measured("position"):
            case = self.taken(shape, WEIGHT, POSITION)
            rows.append([layer_name(shape), exact_ms([case]),
                         milliseconds(case.ms) if case else "–", ratio_text([case])])
        return markdown(["layer", "exact, ms", "one position, ms", "ratio"], rows)

    def choosing(self):
        rows = []
        for shape in self.measured("choosing"):
            for method, op in CHOOSING.items():
                case = self.taken(shape, op, method)
                if case and case.plan_ns:
                    rows.append([f"`{method}`", "x" if op == FORWARD else "dY",
                                 f"{megabytes(shape, op):.1f}", milliseconds(case.plan_ns / 1e6)])
        return markdown(["method", "chooses from", "MB", "ms"], rows)

    def origin(self):
        """On what it was measured."""
        runs = [self.products.runs[run] for run in sorted({case.run for case in self.used})]
        environments = [environment for _, _, environment in runs]
        machines = [each.get("cpu_model") or each.get("hostname") for each in environments]

        def all_of(values):
            return ", ".join(sorted({str(value) for value in values}))
        days = sorted({day for day, _, _ in runs})
        ceilings = sorted({f"{case.ceiling:.0f}" for case in self.used if case.ceiling}, key=float)
        span = " to ".join(dict.fromkeys(ceilings[:1] + ceilings[-1:]))
        remarks = sum(bool(case.reason) for case in self.used)
        least = min(len(case.ns) for case in self.used)
        return (f"{all_of(machines)}, "
                f"{all_of(each.get('cpu_capability', '?') for each in environments)}, "
                f"{self.threads} {'thread' if self.threads == 1 else 'threads'}, multiply-adds in "
                f"registers {span} GFLOP/s, "
                f"{days[0] if len(days) == 1 else f'{days[0]} to {days[-1]}'}, commit "
                f"{all_of(sha for _, sha, _ in runs)}; {least} pairs or more, [ ] are 95 % "
                f"intervals. {remarks} of {len(self.used)} measurements were disturbed or stayed "
                f"noisy.")


def command(table, db):
    return f"`scripts/measure-products --tables {table} {db}`"


def section(store, table, lists=LISTS):
    """The text of a table of CASES; without a database how to make one."""
    if store is None:
        db = "results/measured/MACHINE-DATE/products.db"
        return f"Not measured yet: {command(table, db)}.\n"
    products = Products(store.path)
    parts = [f"Made by {command(table, os.path.relpath(store.path, ROOT))}."]
    for threads in products.threads():
        one = Table(products, threads, lists)
        lines = getattr(one, table)()
        if one.used:
            parts += ["\n".join(lines), one.origin()]
    if len(parts) == 1:
        return section(None, table)
    return "\n\n".join(parts) + "\n"
