"""The notebooks of docs/notebooks/ run, and show what is stored in them but for numbers; a notebook
that fails or shows something else is told. Skipped (77) without nbclient, ipykernel or pandas."""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SCRIPT = os.path.join(ROOT, "scripts", "run-notebooks")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import docs_notebooks  # noqa: E402

SECONDS = 300  # for all of them; a minute on two quiet cores
PRINTS = "import pandas\npandas.DataFrame({'a': [1.5, 2], 'b': ['x', 'y']})"


def run(*arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


def notebook(path, *sources):
    """Writes one with these cells of code and without outputs."""
    cells = [{"cell_type": "code", "id": f"c{number}", "execution_count": None, "metadata": {},
              "outputs": [], "source": source} for number, source in enumerate(sources)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, file)


def check_shapes():
    """Two outputs that differ in numbers alone have one shape; others have not."""
    def frame(header, *rows):
        lines = "".join(f"<tr><th>{row[0]}</th><td>{row[1]}</td></tr>\n" for row in rows)
        text = (f"<div>\n<table border='1'><tr><th></th><th>{header}</th></tr>\n{lines}</table>\n"
                "</div>")
        return {"output_type": "execute_result", "data": {"text/html": text, "text/plain": "?"}}

    shape = docs_notebooks.shape
    one = frame("loss, points", ("zero", "-0.25"), ("sdgp", "1e-05"))
    assert shape(one) == shape(frame("loss, points", ("zero", "12.5"), ("sdgp", "nan")))
    assert shape(one) != shape(frame("loss", ("zero", "-0.25"), ("sdgp", "1e-05")))
    assert shape(one) != shape(frame("loss, points", ("zero", "-0.25")))
    assert shape(one) != shape(frame("loss, points", ("zero", "-0.25"), ("other", "1e-05")))
    assert docs_notebooks.without_numbers("a 1   |-----|") == docs_notebooks.without_numbers(
        "a 2.25 |---|")
    # Digits of a name are no number.
    assert docs_notebooks.without_numbers("conv2") != docs_notebooks.without_numbers("conv3")
    assert docs_notebooks.table(frame("a", ("b", "1"))["data"]["text/html"]) == (
        "<table><tr><th></th><th>a</th></tr>\n<tr><th>b</th><td>1</td></tr>\n</table>\n")


def check_small(folder):
    path = os.path.join(folder, "small.ipynb")
    notebook(path, PRINTS, "import random; print(random.random(), 'drawn')")
    code, said = run("--check", path)
    if code == 77:
        print(said, end="")
        sys.exit(77)
    assert code == 1 and "has no outputs of a run" in said, said
    assert run(path)[0] == 0
    code, said = run("--check", path)
    assert code == 0, said
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("drawn\\n", "taken\\n"))
    code, said = run("--check", path)
    assert code == 1 and "cell 2 shows something else" in said, said
    notebook(path, "1 + 1", "raise ValueError('too far')")
    code, said = run(path)
    assert code == 1 and "a cell failed" in said and "too far" in said, said


def check_stored():
    """Every cell of code ran, in order and without an error, and the page of the site has them."""
    for path in docs_notebooks.paths():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            cells = [cell for cell in docs_notebooks.cells(file.read())
                     if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), path
        kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
        assert "error" not in kinds, path
        assert not any(output.get("name") == "stderr" for cell in cells
                       for output in cell["outputs"]), path
        page, pictures = docs_notebooks.page(path)
        assert page.startswith("# ") and page.count("```python\n") == len(cells), path
        assert all(f"]({name})" in page and "<svg" in pictures[name] for name in pictures), path


def main():
    check_shapes()
    with tempfile.TemporaryDirectory() as folder:
        check_small(folder)
    check_stored()
    code, said = run("--check")
    print(said)
    assert code == 0
    assert len(docs_notebooks.paths()) >= 3


if __name__ == "__main__":
    main()
