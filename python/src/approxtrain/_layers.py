"""Conv2d and Linear with approximated products, in place of PyTorch's own.

A layer keeps its object, its parameters and its hooks: `apply` changes its class alone. In
evaluation mode, and under `dense`, it is PyTorch's layer: it counts nothing then.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._compile import _disable_dynamo

from ._library import ops
from ._own_layers import pruned_conv2d
from ._state import LayerState, rank
from ._traced import traced

KEY = "approxtrain"  # of a layer's entry in a state_dict's metadata


def _padded(layer: nn.Conv2d, x: Tensor) -> tuple[Tensor, tuple[int, int]]:
    """The input, padded where a convolution cannot pad it, and the zeros that it is left to add."""
    sides = layer._reversed_padding_repeated_twice  # left, right, top, bottom
    if layer.padding_mode != "zeros":
        return F.pad(x, sides, mode=layer.padding_mode), (0, 0)
    if not isinstance(layer.padding, str):
        top, left = layer.padding
        return x, (top, left)
    left, right, top, bottom = sides
    if left == right and top == bottom:
        return x, (top, left)
    return F.pad(x, sides), (0, 0)


def _conv2d(layer: ApproxConv2d, x: Tensor, products: int) -> Tensor:
    state = layer._approxtrain
    x, padding = _padded(layer, x)
    batched = x if x.dim() == 4 else x.unsqueeze(0)
    geometry = (layer.stride, padding, layer.dilation, layer.groups)
    if state.own is not None:
        y = pruned_conv2d(batched, layer.weight, layer.bias, geometry, state, products)
    else:
        y = ops.layer_conv2d(batched, layer.weight, layer.bias, *geometry, *_call(state, products))
    return y if batched is x else y.squeeze(0)


def _linear(layer: ApproxLinear, x: Tensor, products: int) -> Tensor:
    state = layer._approxtrain
    if state.own is None:
        return ops.layer_linear(x, layer.weight, layer.bias, *_call(state, products))
    rows = x.reshape(-1, x.shape[-1], 1, 1)
    y = pruned_conv2d(rows, layer.weight[:, :, None, None], layer.bias,
                      ((1, 1), (0, 0), (1, 1), 1), state, products)
    return y.reshape(*x.shape[:-1], layer.weight.shape[0])


def _call(state: LayerState, products: int) -> tuple[Any, ...]:
    """The arguments that both operators end in."""
    return state.method, products, state.key


def _compute(layer: Any, x: Tensor) -> Tensor:
    """One call of a layer in training."""
    state: LayerState = layer._approxtrain
    products = state.products()
    if not products or x.numel() == 0 or x.is_meta:
        y = layer.exact_forward(x)
        state.count_exact(x, layer.weight, y)
    else:
        try:
            y = layer.approximate(x, products)
        except (ValueError, TypeError, RuntimeError) as error:
            raise type(error)(f"{state.info.name}: {error}") from error
        if state.own is not None:
            state.count_exact(x, layer.weight, y)
    return state.watch(y)


_compute_outside = _disable_dynamo(_compute)


def _train(layer: Any, x: Tensor) -> Tensor:
    if not torch.compiler.is_compiling():
        return _compute(layer, x)
    # A rank that `apply` did not know yet: the layer notes it between two graphs, once.
    if rank() != layer._approxtrain.rank:
        return _compute_outside(layer, x)
    return traced(layer, x)


class _Approximated(nn.Module):
    """What both layers share. The step lies in the state_dict's metadata and not under a key, so a
    plain model loads it and is loaded."""

    _approxtrain: LayerState

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        metadata = getattr(destination, "_metadata", None)
        if metadata is not None:
            metadata.setdefault(prefix[:-1], {})[KEY] = {"step": self._approxtrain.step}

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              *others: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)
        saved = local_metadata.get(KEY)
        if saved is not None:
            self._approxtrain.step = int(saved["step"])

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, approximated={self._approxtrain.method}"


class ApproxConv2d(_Approximated, nn.Conv2d):
    """torch.nn.Conv2d whose products are approximated in training."""

    exact_forward = nn.Conv2d.forward
    approximate = _conv2d

    def forward(self, input: Tensor) -> Tensor:
        return (_train(self, input) if self.training and self._approxtrain.able
                else nn.Conv2d.forward(self, input))


class ApproxLinear(_Approximated, nn.Linear):
    """torch.nn.Linear whose products are approximated in training."""

    exact_forward = nn.Linear.forward
    approximate = _linear

    def forward(self, input: Tensor) -> Tensor:
        return (_train(self, input) if self.training and self._approxtrain.able
                else nn.Linear.forward(self, input))


PLAIN_OF: dict[type[nn.Module], type[nn.Module]] = {ApproxConv2d: nn.Conv2d,
                                                    ApproxLinear: nn.Linear}
APPROXIMATED_OF = {plain: own for own, plain in PLAIN_OF.items()}
