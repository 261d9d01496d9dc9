"""scripts/python-clients: the three lines, and the programs that it brings along."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import approxtrain
import pytest
import torch
from torch import nn

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clients():
    loader = importlib.machinery.SourceFileLoader("python_clients",
                                                  str(ROOT / "scripts/python-clients"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def test_three_lines_are_put_in(clients):
    ours = [one for one in clients.CLIENTS if "/" not in one.program]
    assert len(ours) == 3
    for client in ours:
        text = clients.program_of(client, ROOT).read_text()
        patched = clients.with_three_lines(text, client, clients.METHOD)
        compile(patched, client.program, "exec")
        assert clients.changed_lines(text, patched) == 3
        added = [line.strip() for line in patched.split("\n") if "approxtrain" in line and
                 line not in text.split("\n")]
        assert added[0] == "import approxtrain" and added[2] == "approxtrain.remove(model)"
        assert added[1].startswith(f'approxtrain.apply(model, "{clients.METHOD}"')
        assert text.count("import approxtrain") == 0


def test_a_program_without_the_place_is_refused(clients):
    with pytest.raises(SystemExit, match="mnist/main.py has no line like model = Net"):
        clients.with_three_lines("import torch\n", clients.CLIENTS[0], "zero")


def test_what_is_missing_is_said(clients, tmp_path):
    assert clients.missing(clients.CLIENTS[0], tmp_path).startswith("no examples/mnist/main.py in")


def test_linear_layers_alone_take_the_schedule(clients):
    client = next(one for one in clients.CLIENTS if one.schedule)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(16, 8),
                          nn.Linear(8, 2))
    client.apply(model, "meprop:k=2")
    assert [name for name, one in model.named_modules() if hasattr(one, "_approxtrain")] == [
        "3", "4"]
    assert torch.isfinite(model(torch.randn(2, 1, 6, 6))).all()
    approxtrain.remove(model)
