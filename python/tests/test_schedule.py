"""Schedules select what those of the program select."""

import csv
import io
import subprocess

import approxtrain
import pytest

from pytorch_networks_path import resnet20, wang_cnn2

STEPS = 12
CASES = ["wang2019_s1", "wang2019_s2", "wang2019_s3", "wang2019_s3:first=true", "wang2019_cnn2",
         "slice", "slice:layers=2::2,steps=::4", "slice:layers=1,steps=3",
         "slice:layers=2:9:3+5,steps=1:8:2", "slice:layers=kind=linear,steps=2::3",
         "slice:layers=kind=conv*,from=3ba,until=7ba", "slice:products=weight_gradient",
         "slice:from=1ep,until=2.5ep", "slice:from=.5dur", "slice:until=0.3dur"]
EXTENT = dict(steps_per_epoch=3, total_steps=11)


@pytest.mark.parametrize("schedule", CASES)
@pytest.mark.parametrize("network, make", [("resnet20", resnet20), ("wang_cnn2", wang_cnn2)])
def test_agrees_with_schedule_show(program, schedule, network, make):
    shown = subprocess.run(
        [program, "schedule", "show", schedule, "--network", network, "--method", "zero", "--steps",
         str(STEPS), "--steps-per-epoch", str(EXTENT["steps_per_epoch"]), "--total-steps",
         str(EXTENT["total_steps"]), "--format", "csv"], capture_output=True, text=True)
    model = make(10)
    if shown.returncode:  # a selector that matches nothing there matches nothing here
        with pytest.raises(ValueError, match="matches no layer"):
            approxtrain.apply(model, "zero", schedule=schedule, **EXTENT)
        return
    wanted: dict[str, set[int]] = {}
    for row in csv.DictReader(io.StringIO(shown.stdout)):
        wanted.setdefault(row["layer"], set())
        if row["method"]:
            wanted[row["layer"]].add(int(row["step"]))
    names = approxtrain.apply(model, "zero", schedule=schedule, **EXTENT)
    from approxtrain._apply import approximated_layers
    layers = dict(approximated_layers(model))
    assert list(layers) == names
    got = []
    # In the order of the forward pass in both.
    for name, module in model.named_modules():
        if module.__class__.__name__ in ("Conv2d", "Linear", "ApproxConv2d", "ApproxLinear"):
            held = set()
            for step in range(STEPS):
                if name in layers:
                    layers[name]._approxtrain.step = step
                    if layers[name]._approxtrain.products():
                        held.add(step)
            got.append(held)
    assert got == list(wanted.values())
