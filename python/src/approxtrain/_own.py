"""Methods of one's own: functions from a layer's output gradient to the one in its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypeVar

import torch
from torch import Tensor

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
