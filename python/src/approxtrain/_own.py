"""Methods of one's own: functions from a layer's output gradient to the one in its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._library import ops
from ._plans import Channels, NofM, Plan, Positions
from ._text import parse_spec, product_bits

if TYPE_CHECKING:
    from ._state import LayerState

GRADIENTS = ("data_gradient", "weight_gradient")
Function = TypeVar("Function", bound=Callable[..., Plan])


class OwnMethod:
    """A registered function with its parameters."""

    def __init__(self, name: str, function: Callable[..., Plan], products: int) -> None:
        self.name, self.function, self.products = name, function, products
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters:
            raise ValueError(f"{name}: the function takes no gradient: def {name}(dy): ...")
        self.draws = any(one.name == "generator" for one in parameters[1:])
        self.defaults = {one.name: one.default for one in parameters[1:] if one.name != "generator"}
        for key, default in self.defaults.items():
            if not isinstance(default, (bool, int, float, str)):
                raise ValueError(f"{name}: parameter {key} needs a number, a text or a truth value "
                                 "as its default")

    def arguments(self, given: dict[str, str]) -> dict[str, Any]:
        """The function's keyword arguments of a method's text. Raises ValueError."""
        values = dict(self.defaults)
        for key, text in given.items():
            if key not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise ValueError(f"{self.name}: unknown parameter {key}; it has {known}")
            kind = type(self.defaults[key])
            try:
                values[key] = {"true": True, "false": False}[text] if kind is bool else kind(text)
            except (KeyError, ValueError):
                raise ValueError(f"{self.name}: {key} = {text}: expected a value like "
                                 f"{self.defaults[key]}") from None
        return values

    def pruned(self, dy: Tensor, text: str, seed: int) -> Tensor:
        """What takes dy's place: of its shape, type and device, without a graph.

        `seed` decides the draws. Raises ValueError or TypeError that says what is wrong with what
        the function returned.
        """
        keywords = self.arguments(parse_spec(text)[1])
        if self.draws:
            keywords["generator"] = torch.Generator(dy.device).manual_seed(seed)
        with torch.no_grad():
            returned = self.function(dy, **keywords)
            if isinstance(returned, (Channels, Positions, NofM)):
                try:
                    returned = returned.pruned(dy)
                except (IndexError, RuntimeError, ValueError) as error:
                    kind = type(returned).__name__
                    raise ValueError(f"{self.name}: {kind} does not fit dy {tuple(dy.shape)}: "
                                     f"{str(error).splitlines()[0]}") from error
        self._check(dy, returned)
        return returned

    def _check(self, dy: Tensor, returned: object) -> None:
        if not isinstance(returned, Tensor):
            raise TypeError(f"{self.name} returned {type(returned).__name__}, expected a tensor, "
                            "Channels, Positions or NofM")
        if returned.requires_grad:
            raise ValueError(f"{self.name} returned a tensor with a graph: detach it")
        if returned.shape != dy.shape:
            raise ValueError(f"{self.name} returned {tuple(returned.shape)}, expected the shape of "
                             f"dy, {tuple(dy.shape)}")
        if returned.dtype != dy.dtype:
            raise TypeError(f"{self.name} returned {returned.dtype}, expected dy's {dy.dtype}")
        if returned.device != dy.device:
            raise ValueError(f"{self.name} returned a tensor on {returned.device}, dy is on "
                             f"{dy.device}")
        # Under a loss scale that is too large dy itself is not finite, and the step is left out.
        if not bool(torch.isfinite(returned).all()) and bool(torch.isfinite(dy).all()):
            raise ValueError(f"{self.name} returned NaN or infinity of a finite dy")


_registered: dict[str, OwnMethod] = {}


def method(name: str, products: Sequence[str] = GRADIENTS) -> Callable[[Function], Function]:
    """Registers a function `dy -> dy'` as a method, to be named in `apply` and `gradient_error`.

    `dy` is the gradient of a layer's output, [N,C,H,W] or for a linear layer [N,C]; the function
    returns a tensor of its shape, or a plan: Channels, Positions or NofM. Further parameters with a
    default are parameters of the method (`my_pruning:times=1.5`). A parameter `generator` gets a
    torch.Generator that is seeded by seed, layer, step and rank. `products` says which gradients go
    by dy'. Raises ValueError for a name or products that cannot be.

        @approxtrain.method("my_pruning")
        def my_pruning(dy, times=2.0):
            return dy * (dy.abs() >= times * dy.abs().mean())
    """
    if not name.replace("_", "").isalnum():
        raise ValueError(f'method "{name}": a name has letters, digits and _ alone')
    bits = product_bits(list(products))
    if not bits or bits & 1:
        raise ValueError(f"method {name}: a function of dy approximates {' and '.join(GRADIENTS)} "
                         "alone")

    def register(function: Function) -> Function:
        _registered[name] = OwnMethod(name, function, bits)
        return function
    return register


def find_own(text: str) -> Optional[OwnMethod]:
    """The registered method of this text; None if it names one of the library's."""
    return _registered.get(text.partition(":")[0].strip())


def seed_of(state: LayerState, step: int) -> int:
    """A seed for the draws of one layer, step and rank."""
    number = state.seed
    for part in (state.number, step, state.rank):  # splitmix64
        number = (number + part + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        number = (number ^ number >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        number ^= number >> 31
    return number >> 1


def pruned_for(layer: str, own: OwnMethod, dy: Tensor, text: str, seed: int) -> Tensor:
    """As own.pruned; whatever the function raises becomes one error with the layer's name."""
    try:
        return own.pruned(dy, text, seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{layer}: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{layer}: {own.name}: {error}") from error


def own_gradients(dy: Tensor, x: Tensor, w: Tensor, key: Tensor, stride: list[int],
                  padding: list[int], dilation: list[int], groups: int, products: int,
                  flat: bool, asked: list[bool]) -> list[Tensor]:
    """The gradients asked for, of x, w and the bias, by the layer's own method.

    approxtrain::_own_gradients: runs as it is, within a compiled graph too.
    """
    from ._state import find_state
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
