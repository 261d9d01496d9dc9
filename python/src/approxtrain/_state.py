"""What an approximated layer remembers: its method, its schedule, its step, what it spent."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ._library import ops
from ._own import OwnMethod, find_own
from ._schedule import LayerInfo, Rule
from ._text import PRODUCTS

LINEAR_BIT = 1 << 15  # tells linear layers from convolutions in the number that keys draws


def rank() -> int:
    """This process's rank in the training, 0 if it trains alone."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


class Spent:
    """What one product of a layer took part in: counted from `apply` on, in this process."""

    def __init__(self) -> None:
        self.calls = 0  # of the method
        self.exact_macs = 0.0  # multiply-accumulates of the exact product, whoever computed it
        self.replaced_macs = 0.0  # those of calls of the method
        self.needed_macs = 0.0  # that the method needed in their place
        self.entries = 0.0  # of gradients that were replaced
        self.kept = 0.0  # of them


class LayerState:
    """Beside a layer's parameters. Copies and pickles keep the step and begin to count anew."""

    def __init__(self, info: LayerInfo, method: str, able: int, rules: list[Rule] | None,
                 seed: int, norm_follows: bool) -> None:
        self.info = info
        self.method = method  # its full text
        self.able = able  # products that the method approximates, as bits
        self.rules = rules  # of the schedule, that select this layer; None: in every step
        self.seed = seed
        self.norm_follows = norm_follows
        self.exact = False  # whether to approximate nothing, whatever the rules say
        self.number = info.index if info.is_conv else LINEAR_BIT | info.index
        self.step = 0  # backward passes that came through this layer
        self._begin_to_count()

    def _begin_to_count(self) -> None:
        self._task = -1  # the backward pass that has come through last
        self._counts = 0
        self.exact_macs = [0.0, 0.0, 0.0]
        self.own_spent = [Spent(), Spent(), Spent()]  # by methods written in Python

    def __getstate__(self) -> dict[str, Any]:
        names = ("info", "method", "able", "rules", "seed", "norm_follows", "exact", "number",
                 "step")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_to_count()

    @property
    def own(self) -> OwnMethod | None:
        """The method, if it is one that was registered in Python."""
        return find_own(self.method)

    @property
    def counts(self) -> int:
        """The number by which the library counts for this layer."""
        if self._counts == 0:
            self._counts = ops.new_layer_counts()
        return self._counts

    def forget(self) -> None:
        """Lets the library's counts go."""
        if self._counts:
            ops.drop_layer_counts(self._counts)
            self._counts = 0

    def products(self) -> int:
        """The products to approximate in this step, as bits."""
        if self.exact:
            return 0
        if self.rules is None:
            return self.able
        bits = 0
        here = rank()
        for rule in self.rules:
            if rule.holds(self.step, here):
                bits |= rule.products or self.able
        return bits & self.able

    def count_exact(self, x: Tensor, w: Tensor, y: Tensor) -> None:
        """Adds the multiply-accumulates of the exact products of one call."""
        macs = float(y.numel()) * (w.numel() // w.shape[0] if w.numel() else 0)
        self.exact_macs[0] += macs
        if torch.is_grad_enabled():
            if x.requires_grad:
                self.exact_macs[1] += macs
            if w.requires_grad:
                self.exact_macs[2] += macs

    def watch(self, y: Tensor) -> None:
        """Counts a step when a backward pass that comes through `y` has ended.

        Not in `forward`: gradient checkpointing calls that twice, the second time inside the
        backward pass, and must find the same step there.
        """
        if y.requires_grad:
            y.register_hook(self._reached)

    def _reached(self, _gradient: Tensor) -> None:
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            torch.autograd.Variable._execution_engine.queue_callback(self._passed)

    def _passed(self) -> None:
        self.step += 1

    def spent(self) -> list[Spent]:
        """What each product took, in the order of PRODUCTS. Waits for the device."""
        result = []
        values = ops.layer_counts(self._counts) if self._counts else [0.0] * 15
        for place in range(len(PRODUCTS)):
            spent = Spent()
            calls, replaced, needed, entries, kept = values[5 * place:5 * place + 5]
            own = self.own_spent[place]
            spent.calls = int(calls) + own.calls
            spent.exact_macs = self.exact_macs[place]
            spent.replaced_macs = replaced + own.replaced_macs
            spent.needed_macs = needed + float(own.needed_macs)
            spent.entries = entries + own.entries
            spent.kept = kept + float(own.kept)
            result.append(spent)
        return result
