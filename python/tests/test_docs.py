"""The examples of docs/python.md run."""

import re
from pathlib import Path

import torch
from networks import gradients, images, labels
from pytorch_networks_path import resnet20
from torch import nn

PAGE = Path(__file__).parents[2] / "docs/python.md"


def test_the_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    applied, compiled, printed, own, results, traced = examples
    assert ".load(" in results  # needs a store: test_load.py
    model = resnet20(10)
    names = {"model": model, "images": images(), "labels": labels(),
             "loss_function": nn.functional.cross_entropy, "train": lambda model: gradients(model)}
    exec(compile(applied, str(PAGE), "exec"), names)
    exec(compile(compiled, str(PAGE), "exec"), names | {"torch": torch})
    gradients(model)
    exec(compile(printed, str(PAGE), "exec"), names)
    assert "weight_gradient" in capsys.readouterr().out
    names["approxtrain"].remove(model)
    exec(compile(own, str(PAGE), "exec"), names)
    assert "cosine" in capsys.readouterr().out
    x, w, b = torch.randn(2, 4, 5, 5), torch.randn(6, 4, 3, 3), torch.zeros(6)
    names = {"torch": torch, "x": x, "w": w, "b": b}
    exec(compile(traced, str(PAGE), "exec"), names)
    assert names["y"].shape == (2, 6, 5, 5)
