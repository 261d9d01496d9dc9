"""What a layer computes under a method of one's own. Apart from the methods themselves (_own): a
worker of the program has no library of operators."""

from __future__ import annotations

from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._library import ops
from ._own import pruned_for, seed_of
from ._state import LayerState, find_state


def own_gradients(dy: Tensor, x: Tensor, w: Tensor, key: Tensor, stride: list[int],
                  padding: list[int], dilation: list[int], groups: int, products: int,
                  flat: bool, asked: list[bool]) -> list[Tensor]:
    """The gradients asked for, of x, w and the bias, by the layer's own method.

    approxtrain::_own_gradients: runs as it is, within a compiled graph too.
    """
    record, step = ops.layer_of_key(key.item())
    state = find_state(record)
    if state is None or state.own is None:
        raise RuntimeError("approxtrain: a layer was removed before its backward pass")
    shown = dy.flatten(1) if flat else dy
    pruned = pruned_for(state.info.name, state.own, shown, state.method, seed_of(state, step))
    pruned = pruned.reshape(dy.shape)
    kept = pruned.count_nonzero()
    macs = float(dy.numel()) * (w.numel() // w.shape[0])
    result = []
    for place, like in ((1, x), (2, w)):
        if not asked[place - 1]:
            continue
        prunes = bool(products >> place & 1)
        if prunes:
            spent: Any = state.own_spent[place]  # its sums become tensors: nothing waits for them
            spent.calls += 1
            spent.replaced_macs += macs
            spent.needed_macs = spent.needed_macs + kept.double() * (macs / dy.numel())
            spent.entries += dy.numel()
            spent.kept = spent.kept + kept.double()
        gradient = torch.ops.aten.convolution_backward(
            pruned if prunes else dy, x, w, None, stride, padding, dilation, False, [0, 0],
            groups, [place == 1, place == 2, False])[place - 1]
        laid_out = torch.empty_like(like)
        result.append(gradient if gradient.stride() == laid_out.stride()
                      else laid_out.copy_(gradient))
    if asked[2]:
        result.append(dy.sum((0, 2, 3)))
    return result


def _shapes(dy: Tensor, x: Tensor, w: Tensor, key: Tensor, stride: list[int], padding: list[int],
            dilation: list[int], groups: int, products: int, flat: bool,
            asked: list[bool]) -> list[Tensor]:
    results = (torch.empty_like(x), torch.empty_like(w), w.new_empty(w.shape[:1]))
    return [result for result, wanted in zip(results, asked) if wanted]


class _PrunedConv2d(torch.autograd.Function):
    """An exact forward product; gradients of the pruned dy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, bias: Optional[Tensor], key: Tensor, geometry: Any,
                products: int, flat: bool, _state: Optional[LayerState]) -> Tensor:
        ctx.save_for_backward(x, w, key)
        ctx.geometry, ctx.products, ctx.flat = geometry, products, flat
        ctx.state = _state  # kept alive
        return F.conv2d(x, w, bias, *geometry)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Any:
        x, w, key = ctx.saved_tensors
        asked = list(ctx.needs_input_grad[:3])
        computed = ops._own_gradients(dy, x, w, key, *ctx.geometry, ctx.products, ctx.flat, asked)
        each = iter(computed)
        return (*(next(each) if one else None for one in asked), None, None, None, None, None)


def pruned_conv2d(x: Tensor, w: Tensor, bias: Optional[Tensor], geometry: Any, state: LayerState,
                  products: int) -> Tensor:
    """A convolution whose gradients go by the layer's own method. A linear layer's x is
    [N,C,1,1]."""
    device = x.device.type
    if torch.is_autocast_enabled(device):
        kind = torch.get_autocast_dtype(device)
        x, w = x.to(kind), w.to(kind)
        bias = None if bias is None else bias.to(kind)
    with torch.autocast(device, enabled=False):
        return _PrunedConv2d.apply(x, w, bias, ops._layer_draw(state.key), geometry, products,
                                   not state.info.is_conv,
                                   None if torch.compiler.is_compiling() else state)


_library = torch.library.Library("approxtrain", "FRAGMENT")
_library.define(
    "_own_gradients(Tensor dy, Tensor x, Tensor w, Tensor key, int[] stride, int[] padding, "
    "int[] dilation, int groups, int products, bool flat, bool[] asked) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides, torch.Tag.cudagraph_unsafe))
_library.impl("_own_gradients", own_gradients, "CompositeExplicitAutograd")
torch.library.register_fake("approxtrain::_own_gradients", _shapes, lib=_library)
