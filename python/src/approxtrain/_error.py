"""How far a method's products lie from the exact ones, layer by layer."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor, nn

from ._apply import apply, approximated_layers, remove
from ._layers import ApproxConv2d, ApproxLinear
from ._schedule import ScheduleLike
from ._text import PRODUCTS


@dataclass(frozen=True)
class LayerError:
    """One product of one layer; as the program's study `gradient-error` defines these columns."""

    layer: str
    product: str
    draws: int
    cosine: float  # mean over the draws of the cosine with the exact product
    relative_error: float  # mean |draw - exact| / |exact|
    bias: float  # |mean draw - exact| / |exact|
    bias_noise: float  # what the bias of as many unbiased draws would be
    variance: float  # mean |draw - mean draw|^2 / |exact|^2


class GradientErrors(list[LayerError]):
    """A row for each product of each layer; as a text it is a table."""

    def __str__(self) -> str:
        lines: list[tuple[str, ...]] = [
            ("layer", "product", "draws", "cosine", "error", "bias", "noise", "variance")]
        for row in self:
            numbers = (row.cosine, row.relative_error, row.bias, row.bias_noise, row.variance)
            lines.append((row.layer, row.product, str(row.draws),
                          *(f"{number:.4f}" for number in numbers)))
        widths = [max(len(line[place]) for line in lines) for place in range(8)]
        return "\n".join("  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


@dataclass
class _Seen:
    x: Tensor
    dy: Optional[Tensor] = None
    needs_dx: bool = False


def _watch(model: nn.Module, layers: Sequence[tuple[str, nn.Module]]) -> dict[str, _Seen]:
    seen: dict[str, _Seen] = {}

    def hook(name: str) -> Callable[..., None]:
        def on_forward(_module: nn.Module, inputs: Any, y: Tensor) -> None:
            one = seen[name] = _Seen(inputs[0].detach().clone(), None, inputs[0].requires_grad)

            def on_backward(dy: Tensor) -> None:
                one.dy = dy.detach().clone()
            if y.requires_grad:
                y.register_hook(on_backward)
        return on_forward

    for name, module in layers:
        module.register_forward_hook(hook(name))
    return seen


def _products(layer: ApproxConv2d | ApproxLinear, seen: _Seen,
              products: int) -> list[Optional[Tensor]]:
    """y, dx and dw of what was seen, in double precision; exact ones for products = 0."""
    x = seen.x.clone().requires_grad_(seen.needs_dx)
    y = layer.approximate(x, products) if products else layer.exact_forward(x)
    wanted = [tensor for tensor in (x, layer.weight) if tensor.requires_grad]
    assert seen.dy is not None
    given = dict(zip(map(id, wanted), torch.autograd.grad(y, wanted, seen.dy.to(y.dtype),
                                                          allow_unused=True)))
    tensors = (y.detach(), given.get(id(x)), given.get(id(layer.weight)))
    return [None if tensor is None else tensor.double() for tensor in tensors]


def _row(name: str, product: str, exact: Tensor, draws: list[Tensor]) -> LayerError:
    count, size = len(draws), float(exact.norm())

    def over(number: float, by: float) -> float:
        return number / by if by else math.nan
    mean = torch.stack(draws).mean(0)
    variance = over(sum(float((draw - mean).square().sum()) for draw in draws),
                    size * size * max(1, count - 1))
    return LayerError(
        layer=name, product=product, draws=count,
        cosine=sum(over(float((draw * exact).sum()), float(draw.norm()) * size)
                   for draw in draws) / count,
        relative_error=sum(over(float((draw - exact).norm()), size) for draw in draws) / count,
        bias=over(float((mean - exact).norm()), size),
        bias_noise=math.sqrt(variance / count) if variance >= 0 else math.nan, variance=variance)


def gradient_error(model: nn.Module, batch: Sequence[Any], loss: Callable[[Any, Any], Tensor],
                   method: str, *, draws: int = 20, skip_first: Optional[bool] = None,
                   schedule: Optional[ScheduleLike] = None, seed: int = 0) -> GradientErrors:
    """How far a method's products lie from the exact ones, on a batch, layer by layer.

    `batch` is (inputs, targets); the exact gradients are those of loss(model(inputs), targets).
    Each layer's products are then computed `draws` times from its exact operands, so errors do not
    add up over the layers. A product without randomness is computed once. `skip_first`, `schedule`
    and `seed` are those of `apply`; the schedule decides by step 0. The model is not changed: all
    this is done on a copy in training mode. Raises ValueError or TypeError as `apply` does.
    """
    if draws < 2:
        raise ValueError(f"draws = {draws}: expected 2 at least")
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise ValueError("batch: expected (inputs, targets)")
    subject = copy.deepcopy(model)
    remove(subject)
    subject.train()
    apply(subject, method, skip_first=skip_first, schedule=schedule, seed=seed)
    layers = approximated_layers(subject)
    planned = {name: layer._approxtrain.products() for name, layer in layers}
    for _, layer in layers:
        layer._approxtrain.exact = True  # for the pass that shows the operands
    seen = _watch(subject, layers)
    state = torch.random.get_rng_state()
    loss(subject(batch[0]), batch[1]).backward()
    torch.random.set_rng_state(state)
    rows = GradientErrors()
    for name, layer in layers:
        if name not in seen or seen[name].dy is None or not planned[name]:
            continue
        exact = _products(layer, seen[name], 0)
        drawn: list[list[Tensor]] = [[], [], []]
        for step in range(draws):
            layer._approxtrain.step = step
            for place, tensor in enumerate(_products(layer, seen[name], planned[name])):
                if tensor is not None and planned[name] >> place & 1:
                    drawn[place].append(tensor)
            if step == 1 and all(len(some) < 2 or torch.equal(*some) for some in drawn):
                drawn = [some[:1] for some in drawn]
                break
        for place, product in enumerate(PRODUCTS):
            reference = exact[place]
            if drawn[place] and reference is not None:
                rows.append(_row(name, product, reference, drawn[place]))
    return rows
