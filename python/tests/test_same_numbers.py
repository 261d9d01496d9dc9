"""The package and the program train alike: the same images, weights, draws, losses.

The program records the operands of every step (`train --record`). Its first weights, its images and
its labels come from there; the package then trains by itself, and must give the program's losses
and its weights in every later step.
"""

import hashlib
import json
import math
import subprocess

import approxtrain
import pytest
import torch
from torch import nn

from pytorch_networks_path import resnet20

STEPS, BATCH, RATE, SEED = 4, 16, 0.01, 4
RECIPE = {"optimizer": "sgd", "learning_rate": RATE, "momentum": 0.9, "nesterov": "true",
          "weight_decay": 0, "lr_schedule": "constant", "epochs": 1}


def read_operands(path):
    """The state and the tensors of a file of recorded operands (core/data/tensor_bytes.h)."""
    content = path.read_bytes()
    assert hashlib.sha256(content[44:]).digest() == content[12:44]
    length = int.from_bytes(content[44:52], "little")
    header = json.loads(content[52:52 + length])
    tensors, at = {}, 52 + length
    for one in header["tensors"]:
        count = math.prod(one["shape"])
        tensors[one["name"]] = torch.frombuffer(bytearray(content[at:at + 4 * count]),
                                                dtype=torch.float32).view(one["shape"])
        at += one["bytes"]
    return header["state"], tensors


def train_by_program(program, folder, method, schedule):
    """The operands of each step, layer by layer, and the mean loss of the epoch."""
    settings = [f"--set=recipe.{key}={value}" for key, value in RECIPE.items()]
    done = subprocess.run(
        [program, "train", "--network", "resnet20", "--dataset", "mnist14", "--method", method,
         "--schedule", schedule, "--batch-size", str(BATCH), "--seed", str(SEED), "--threads", "1",
         f"--set=train_examples={STEPS * BATCH}", *settings, "--record",
         str(folder / "operands"), "--record-every", "1ba", "--db", str(folder / "runs.db")],
        capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    steps = {}
    for path in (folder / "operands").rglob("*.operands"):
        state, tensors = read_operands(path)
        steps.setdefault(state["step"], {})[state["position"]] = (state, tensors)
    import sqlite3
    database = sqlite3.connect(folder / "runs.db")
    losses = database.execute("SELECT value FROM metric WHERE name = 'loss' AND split = 'train'")
    ordered = [[layers[at] for at in sorted(layers)] for _, layers in sorted(steps.items())]
    return ordered, losses.fetchall()[0][0]


def labels_and_loss(layers):
    """What dY of the last layer, (softmax - one hot) / N, says of a batch; and log softmax."""
    dy = layers[-1][1]["dy"].flatten(1).double()
    target = dy.argmin(1)
    share = dy * len(dy) + nn.functional.one_hot(target, dy.shape[1])
    return target, -share.gather(1, target[:, None]).log().mean().item(), share.log()


def our_model(layers):
    """ResNet-20 as a PyTorch user writes it, with the program's first weights."""
    model = resnet20(10)
    model[0][0] = nn.Conv2d(1, 16, 3, padding=1, bias=False)
    own = [module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
    assert len(own) == len(layers) == 20
    with torch.no_grad():
        for module, (_, tensors) in zip(own, layers):
            module.weight.copy_(tensors["w"].view_as(module.weight))
        # Biases are not recorded: log softmax is w x + b but for a constant of each image.
        last = layers[-1][1]
        product = last["x"].flatten(1).double() @ own[-1].weight.double().T
        rest = labels_and_loss(layers)[2] - product
        own[-1].bias.copy_((rest - rest.mean(1, keepdim=True)).mean(0))
    return model.to(memory_format=torch.channels_last), own


def update_angle(module, now, before):
    """The cosine between this module's update since the first step and the program's."""
    own, wanted = (one.view_as(before) - before for one in (module.weight.detach(), now))
    return (nn.functional.cosine_similarity(own.flatten().double(), wanted.flatten().double(), 0)
            .item())


def follow(steps, method, schedule, seed):
    """Trains from the first weights on the recorded batches: losses, the program's losses, and the
    smallest cosine between updates over the layers and steps."""
    model, own = our_model(steps[0])
    approxtrain.apply(model, method, schedule=schedule, seed=seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, nesterov=True)
    losses, recorded, angle = [], [], 1.0
    for number, layers in enumerate(steps):
        target, loss_then, _ = labels_and_loss(layers)
        for module, (_, now), (_, first) in zip(own, layers, steps[0]) if number else ():
            angle = min(angle, update_angle(module, now["w"], first["w"].view_as(module.weight)))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(layers[0][1]["x"]), target)
        losses.append(loss.item())
        recorded.append(loss_then)
        loss.backward()
        optimizer.step()
    return losses, recorded, angle


# Rounding turns a ReLU around now and then: one entry of dY among thousands.
LOSS, ANGLE = 1e-2, 0.99


@pytest.mark.parametrize("method, schedule, draws", [
    ("stochastic_pruning:p=0.9", "slice", True), ("topk_position:k=1", "wang2019_s1", False),
    pytest.param("crs:ratio=0.5", "slice:layers=2::2,steps=::2", True, marks=pytest.mark.slow)])
def test_same_losses_and_weights(program, tmp_path, method, schedule, draws):
    steps, mean_loss = train_by_program(program, tmp_path, method, schedule)
    assert len(steps) == STEPS
    losses, recorded, angle = follow(steps, method, schedule, SEED)
    assert losses[0] == pytest.approx(recorded[0], rel=1e-5)
    assert losses == pytest.approx(recorded, rel=LOSS)
    assert sum(losses) / STEPS == pytest.approx(mean_loss, rel=LOSS)
    assert angle > ANGLE
    # Another seed, or no approximation, is not the same training.
    other = follow(steps, method, schedule, SEED + 1) if draws else follow(
        steps, "dense", schedule, SEED)
    assert other[2] < ANGLE
