"""A layer's call as torch.compile traces it: no step and no layer is a constant of the graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

from ._library import ops
from ._state import LayerState, computed_products, find_state, macs_per_entry


def traced(layer: Any, x: Tensor) -> Tensor:
    """One call of a layer in training. A graph holds one pattern of the schedule."""
    state: LayerState = layer._approxtrain
    products = 0 if state.exact else state.planned
    y = layer.approximate(x, products) if products else layer.exact_forward(x)
    if not products or state.own is not None:
        ops._layer_counted(y, state.key, macs_per_entry(layer.weight),
                           computed_products(x, layer.weight))
    return ops.layer_watched(y, state.tick, state.key)


def _reached(dy: Tensor, key: Tensor) -> Tensor:
    state = find_state(ops.layer_of_key(key.item())[0])
    if state is not None:
        state.reached(dy)
    return torch.zeros((), device="cpu")


def _reached_shape(dy: Tensor, key: Tensor) -> Tensor:
    return torch.empty((), device="cpu")


_library = torch.library.Library("approxtrain", "FRAGMENT")
_library.impl("_layer_reached", _reached, "CompositeExplicitAutograd")
torch.library.register_fake("approxtrain::_layer_reached", _reached_shape, lib=_library)
# Counting is all that it does: a compiler must keep it.
_register_effectful_op("approxtrain::_layer_counted", _EffectType.ORDERED)
