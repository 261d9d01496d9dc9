"""The notebooks of docs/notebooks/: what is in their cells, what of their outputs is equal on every
machine, and the page that the site makes of each. Needs the standard library alone."""

import json
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "docs/notebooks"
PICTURE = "image/svg+xml"
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d[\d.,]*(?:e[-+]?\d+)?|\bnan\b|\binf\b)", re.I)


def paths():
    """Of all notebooks, from the root of the checkout."""
    return sorted(f"{FOLDER}/{name}" for name in os.listdir(os.path.join(ROOT, FOLDER))
                  if name.endswith(".ipynb"))


def joined(text):
    """A text that a notebook may hold as a list of lines."""
    return "".join(text) if isinstance(text, list) else text


def cells(text):
    """The cells of a notebook's file. Throws ValueError if it is none."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("has no cells")
    return notebook["cells"]


def markdown(text):
    """The Markdown cells of a notebook's file as one page."""
    return "\n".join(joined(cell["source"]).strip("\n") + "\n" for cell in cells(text)
                     if cell["cell_type"] == "markdown")


def without_numbers(text):
    """Words and signs of an output: "#" for each number, one blank between columns."""
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r"-{3,}", "-", NUMBER.sub("#", text))
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def shape(output):
    """What of an output is equal on every machine: its kind, and its text without numbers. A
    picture has its kind alone."""
    if output["output_type"] == "error":
        return ("error", f"{output['ename']}: {output['evalue']}")
    if output["output_type"] == "stream":
        return (output["name"], without_numbers(joined(output["text"])))
    data = output["data"]
    if PICTURE in data:
        return (PICTURE, "")
    kind = "text/html" if "text/html" in data else "text/plain"
    return (kind, without_numbers(joined(data[kind])))


def fenced(text, language):
    return f"```{language}\n{text.rstrip()}\n```\n"


def table(html):
    """The table of a frame's HTML, for the style of a page."""
    found = re.search(r"<table.*?</table>", html, re.S)
    return re.sub(r"<(\w+)[^>]*?((?: (?:row|col)span=\"\d+\")*)>", r"<\1\2>", found[0]) + "\n"


def output_page(output, name, pictures):
    """Markdown of an output. A picture goes into `pictures`, by a name that begins with `name`."""
    if output["output_type"] == "stream":
        return fenced(joined(output["text"]), "text")
    data = output["data"]
    if PICTURE in data:
        pictures[f"{name}_{len(pictures) + 1}.svg"] = joined(data[PICTURE])
        return f"![]({list(pictures)[-1]})\n"
    if "<table" in joined(data.get("text/html", "")):
        return table(joined(data["text/html"]))
    return fenced(joined(data["text/plain"]), "text")


def page(path):
    """(Markdown, {name: SVG}) of the notebook at `path`, a page of the site with its outputs."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        found = cells(file.read())
    name = os.path.basename(path).removesuffix(".ipynb")
    pictures, parts = {}, []
    for cell in found:
        source = joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.rstrip() + "\n")
            continue
        parts.append(fenced(source, "python"))
        parts += [output_page(output, name, pictures) for output in cell["outputs"]]
    title, _, rest = parts[0].partition("\n")
    parts[0] = f"{title}\n\n[This page as a notebook]({name}.ipynb)\n{rest}"
    return "\n".join(parts), pictures
