"""What an approximated layer remembers: its method, its schedule, its step, what it spent."""

from __future__ import annotations

import weakref
from typing import Any, Optional

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


def computed_products(x: Tensor, w: Tensor) -> int:
    """The products that a call computes, now or in its backward pass, as bits."""
    if not torch.is_grad_enabled():
        return 1
    return 1 | (2 if x.requires_grad else 0) | (4 if w.requires_grad else 0)


def macs_per_entry(w: Tensor) -> int:
    """The multiply-accumulates of one entry of a layer's output."""
    return w.numel() // w.shape[0] if w.numel() else 0


class Spent:
    """What one product of a layer took part in: counted from `apply` on, in this process."""

    def __init__(self) -> None:
        self.calls = 0  # of the method
        self.exact_macs = 0.0  # multiply-accumulates of the exact product, whoever computed it
        self.replaced_macs = 0.0  # those of calls of the method
        self.needed_macs = 0.0  # that the method needed in their place
        self.entries = 0.0  # of gradients that were replaced
        self.kept = 0.0  # of them


_by_number: weakref.WeakValueDictionary[int, LayerState] = weakref.WeakValueDictionary()


def find_state(number: int) -> Optional[LayerState]:
    """The state with this number; None if it is gone."""
    return _by_number.get(number)


class LayerState:
    """Beside a layer's parameters. Copies and pickles keep the step and begin to count anew.

    A trace holds places for `key` and `tick`, so that neither a step nor a layer is a constant
    there. It reads `planned`, which changes only where the schedule does.
    """

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
        self._begin_to_count(0)

    def _begin_to_count(self, step: int) -> None:
        self._task = -1  # the backward pass that has come through last
        self.own_spent = [Spent(), Spent(), Spent()]  # by methods written in Python
        self.record = int(ops.new_layer(self.seed, self.number, self.norm_follows))
        _by_number[self.record] = self
        with torch.inference_mode(False), torch.device("cpu"):
            self.key = torch.tensor(0)  # the record and the step, for the library
            self.tick = torch.zeros((), requires_grad=True)  # see layer_watched
        self.rank = 0
        self.step = step

    def __getstate__(self) -> dict[str, Any]:
        names = ("info", "method", "able", "rules", "seed", "norm_follows", "exact", "number",
                 "step")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state.items() if name != "step"})
        self._begin_to_count(state["step"])

    @property
    def step(self) -> int:
        """How many backward passes came through this layer."""
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._step = step
        self.key.fill_(ops.layer_key(self.record, step))
        self._plan()

    def _plan(self) -> None:
        """Notes the rank and what to approximate in this step."""
        here = rank()
        if here != self.rank:
            ops.set_layer_rank(self.record, here)
            self.rank = here
        bits = self.able if self.rules is None else 0
        for rule in self.rules or ():
            if rule.holds(self._step, here):
                bits |= rule.products or self.able
        self.planned = bits & self.able

    @property
    def own(self) -> OwnMethod | None:
        """The method, if it is one that was registered in Python."""
        return find_own(self.method)

    def forget(self) -> None:
        """Lets the library's counts go."""
        ops.drop_layer(self.record)

    def products(self) -> int:
        """The products to approximate in this step, as bits."""
        if rank() != self.rank:  # the processes met after `apply`
            self._plan()
        return 0 if self.exact else self.planned

    def count_exact(self, x: Tensor, w: Tensor, y: Tensor) -> None:
        """Adds the multiply-accumulates of the exact products of one call, which the library's
        operators for layers count themselves."""
        ops.count_exact(self.record, float(y.numel()) * macs_per_entry(w), computed_products(x, w))

    def watch(self, y: Tensor) -> Tensor:
        """Returns y, and counts a step when a backward pass that comes through it has ended.

        Not in `forward`: gradient checkpointing calls that twice, the second time inside the
        backward pass, and must find the same step there.
        """
        if y._is_view():  # would lose a hook if it is changed in place
            return ops.layer_watched(y, self.tick, self.key)
        if y.requires_grad:
            y.register_hook(self.reached)
        return y

    def reached(self, _gradient: Tensor) -> None:
        """Notes that the backward pass that is running comes through the layer."""
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            torch.autograd.Variable._execution_engine.queue_callback(self._passed)

    def _passed(self) -> None:
        self.step += 1

    def spent(self) -> list[Spent]:
        """What each product took, in the order of PRODUCTS. Waits for the device."""
        result = []
        values = ops.layer_counts(self.record)
        for place in range(len(PRODUCTS)):
            spent = Spent()
            calls, exact, replaced, needed, entries, kept = values[6 * place:6 * place + 6]
            own = self.own_spent[place]
            spent.calls = int(calls) + own.calls
            spent.exact_macs = exact
            spent.replaced_macs = replaced + own.replaced_macs
            spent.needed_macs = needed + float(own.needed_macs)
            spent.entries = entries + own.entries
            spent.kept = kept + float(own.kept)
            result.append(spent)
        return result
