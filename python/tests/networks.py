"""Small models and what tests do with them."""

import torch
from torch import nn


def small(seed=0):
    """Two convolutions and a linear layer, for [N,3,8,8]."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(),
                         nn.Linear(8 * 64, 10))


def images(count=4, seed=1):
    return torch.randn(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def labels(count=4):
    return torch.arange(count) % 10


def gradients(model, x=None, loss=nn.functional.cross_entropy):
    """The gradients of one backward pass by parameter name."""
    x = images() if x is None else x
    model.zero_grad()
    loss(model(x), labels(len(x))).backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()
            if parameter.grad is not None}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)
