"""Which table stands where: the parts of pages.toml."""

import os
import subprocess
import tomllib

import pages
from measured import errors, gpu, products, steps, which_method
from measured.store import MEASURED, ROOT, named, newest_file

PAGES = os.path.join(MEASURED, "pages.toml")


def bandwidth_model(*arguments):
    """What scripts/rank-bandwidth fits to the newest of its files."""
    return subprocess.run([os.path.join(ROOT, "scripts", "rank-bandwidth"), "--model",
                           newest_file("rank_bandwidth.csv"), *arguments],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


# By the name that `table` of a part says: the table of a store, with the part's other settings. A
# part without a database has a table that chooses its own.
TABLES = {
    "answer": lambda _: which_method.answer(),
    "quickstart": steps.quickstart,
    "steps": steps.steps,
    "trainings": steps.trainings,
    "verdicts": steps.verdicts,
    "products": lambda store, of: products.section(store, of),
    "cuDNN's engines": lambda store: gpu.engines(gpu.kernel_rows(store)),
    "pruning on a GPU": lambda store, precision: gpu.pruning(gpu.kernel_rows(store, precision)),
    "crossover": lambda store, also, precision: gpu.crossover(
        [*gpu.kernel_rows(store), *gpu.kernel_rows(named(also), precision)]),
    "sampled on a GPU": lambda store: gpu.sampled(gpu.kernel_rows(store)),
    "layers on a GPU": gpu.layers,
    "errors of gradients": errors.table,
}


def read():
    """pages.toml as a dictionary."""
    with open(PAGES, "rb") as file:
        return tomllib.load(file)


def filled_pages(parts):
    """The text of every page that has parts, by its path. Throws pages.NoPart."""
    texts = {}
    parallel = pages.Page(os.path.join(ROOT, "docs", "internals", "parallel.md"))
    texts[parallel.path] = parallel.put("rank-bandwidth", bandwidth_model())
    for part in parts:
        settings = dict(part)
        path = os.path.join(ROOT, settings.pop("page"))
        page = texts.setdefault(path, pages.Page(path))
        mark, table, store = (settings.pop(key, None) for key in ("mark", "table", "database"))
        page.put(mark, TABLES[table](named(store) if store else None, **settings))
    return {path: page.text for path, page in texts.items()}
