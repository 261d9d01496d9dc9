"""Type hints: of the package, and as a program sees them that uses it."""

from pathlib import Path

import approxtrain
import pytest

api = pytest.importorskip("mypy.api", reason="mypy is not installed")
PACKAGE = Path(approxtrain.__file__).parent

CLIENT = """\
import torch
from torch import nn

import approxtrain

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 10))
loss = nn.functional.cross_entropy


@approxtrain.method("keep_large", products=["weight_gradient"])
def keep_large(dy: torch.Tensor, times: float = 2.0) -> torch.Tensor:
    return dy * (dy.abs() >= times * dy.abs().mean())


@approxtrain.method("keep_first")
def keep_first(dy: torch.Tensor) -> approxtrain.Channels:
    return approxtrain.Channels(torch.arange(1))


names: list[str] = approxtrain.apply(model, "keep_large", skip_first=True, seed=1)
approxtrain.apply(model, "dense", schedule="wang2019_s1")
approxtrain.apply(model, "dense", schedule={"layers": "2::2", "products": ["weight_gradient"]})
approxtrain.apply(model, "dense", schedule=[{"until": "300ba"}, {"from": "300ba"}])
steps: dict[str, int] = approxtrain.steps(model)
approxtrain.set_steps(model, steps)
rows: list[approxtrain.ProductStats] = approxtrain.stats(model)
share: float = approxtrain.stats(model).macs_left_out / rows[0].macs
images, labels = torch.zeros(1, 3, 3, 3), torch.zeros(1)
errors = approxtrain.gradient_error(model, (images, labels), loss, "keep_first", draws=3)
worst: float = max(row.relative_error for row in errors)
approxtrain.load("runs.db", frames="pandas").comparisons.groupby("method")
pruned: torch.Tensor = keep_large(images, 3.0)
removed: list[str] = approxtrain.remove(model)
"""

WRONG = {
    'approxtrain.apply(model, 3)': "arg-type",
    'approxtrain.apply(model, "dense", schedule=3)': "arg-type",
    'approxtrain.apply(model, "dense", True)': "call-arg|misc",
    'approxtrain.stats(model)[0].densities': "attr-defined",
    'count: int = approxtrain.remove(model)': "assignment",
    'keep_large("dy")': "arg-type",
    'approxtrain.method("no_plan")(len)': "type-var|arg-type",
    'approxtrain.nothing': "attr-defined",
}


def check(monkeypatch, folder, *what):
    """mypy's findings, one line each."""
    monkeypatch.setenv("MYPYPATH", f"{folder}:{PACKAGE.parent}" if PACKAGE.parent.name == "src"
                       else str(folder))
    out, errors, _ = api.run(["--python-version", "3.10", "--no-error-summary", "--hide-error-"
                              "context", "--config-file=", f"--cache-dir={folder / 'cache'}",
                              *what])
    assert not errors, errors
    return out.splitlines()


@pytest.mark.slow
def test_the_package_and_its_users(monkeypatch, tmp_path):
    (tmp_path / "client.py").write_text(CLIENT)
    found = check(monkeypatch, tmp_path, "-p", "approxtrain", "-m", "client")
    assert found == []
    for number, line in enumerate(WRONG, 1):
        (tmp_path / f"wrong{number}.py").write_text(f"from client import *\n{line}\n")
    found = check(monkeypatch, tmp_path, *(f"-mwrong{number}" for number in
                                           range(1, len(WRONG) + 1)))
    for number, (line, codes) in enumerate(WRONG.items(), 1):
        mine = [one for one in found if f"wrong{number}.py:2: error" in one]
        assert any(f"[{code}]" in one for one in mine for code in codes.split("|")), (line, found)
    assert len(found) >= len(WRONG)
