"""Batch norms that are computed with the ReLU behind them.

A norm cannot know what reads its result. So in training it computes the statistics of the batch and
returns a `Pending` tensor, which has no numbers yet. A ReLU of it computes norm and ReLU at once.
Any other reader gets PyTorch's norm. The call itself decides, so no fusion can be wrong: neither
modules that a forward pass calls twice, nor functions in place of modules, nor branches matter.

A norm whose result has had another reader than a ReLU is PyTorch's from the next step on.
"""

from __future__ import annotations

from typing import Any, Optional, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils._pytree import tree_map

from ._library import ops

_RELUS = {F.relu, torch.relu, Tensor.relu, torch.relu_, Tensor.relu_}
_IN_PLACE = {torch.relu_, Tensor.relu_}
# What a tensor without numbers can say of itself.
_KNOWN = {Tensor.size, Tensor.dim, Tensor.stride, Tensor.numel, Tensor.is_floating_point,
          Tensor.is_contiguous, Tensor.__len__,
          *(getattr(Tensor, name).__get__ for name in (
              "shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_leaf", "is_cuda",
              "is_cpu", "is_meta", "is_sparse", "is_quantized"))}


class NormState:
    """Beside a fused norm's parameters: which way it goes, and how often it went."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waits = True  # for the reader of its result
        self.other_reader = False  # a result had another reader than a ReLU
        self.passed = False  # a backward pass came through such a result
        self.fused = 0  # calls that were computed with their ReLU

    def waits_now(self) -> bool:
        # Not in the middle of a step: gradient checkpointing must find the same way there.
        if self.other_reader and self.passed and torch._C._current_graph_task_id() == -1:
            self.waits = False
        return self.waits


class _Call:
    """One call of a norm: what its result is computed from."""

    def __init__(self, norm: FusedNorm, x: Tensor, statistics: list[Tensor]) -> None:
        self.state, self.epsilon = norm._approxtrain_norm, norm.eps
        self.x, self.weight, self.bias = x, norm.weight, norm.bias
        self.statistics = statistics
        self.versions = (x._version, norm.weight._version, norm.bias._version)
        self.result: Optional[Tensor] = None  # what readers get, once one came
        self.version = 0  # of the result, as it was computed

    def refuse(self, what: str) -> RuntimeError:
        return RuntimeError(f"{self.state.name}: {what}: call apply without fuse_norms")

    def check(self) -> None:
        """Raises RuntimeError if what the norm read has changed since, or is gone: FSDP frees the
        parameters of a module behind its forward pass."""
        if self.weight.untyped_storage().nbytes() == 0:
            raise self.refuse("this norm's parameters were freed before its result was read")
        if self.versions != (self.x._version, self.weight._version, self.bias._version):
            raise self.refuse("what this norm read was changed in place before its result was read")

    def is_changed(self) -> bool:
        return self.result is not None and self.result._version != self.version

    def rectified(self) -> Tensor:
        """Norm and ReLU, computed at once."""
        self.check()
        self.state.fused += 1
        return ops.norm_relu(self.x, self.weight, self.bias, *self.statistics)

    def normed(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """PyTorch's norm. The running statistics have moved already."""
        return F.batch_norm(x, None, None, weight, bias, True, 0.0, self.epsilon)

    def revealed(self) -> Tensor:
        """What a reader that is no ReLU gets: the same tensor each time, with its graph."""
        if self.result is None:
            self.check()
            self.state.other_reader = True
            with torch.enable_grad():
                self.result = self.normed(self.x, self.weight, self.bias)
            self.version = self.result._version
            self.result.register_hook(self._came_back)
        elif self.is_changed() and not torch.is_grad_enabled():
            # Inside an autograd function the graph of the change would be lost.
            raise self.refuse("the result of this norm was changed in place and is read without a "
                              "graph")
        return self.result

    def _came_back(self, _gradient: Tensor) -> None:
        self.state.passed = True


class _Promise(torch.autograd.Function):
    """The graph behind a Pending tensor, for what takes it without asking it: autograd's own
    functions, and code in other languages."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, call: _Call) -> Tensor:
        ctx.call = call
        return Pending(call)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Optional[Tensor], ...]:
        call = ctx.call
        if call.is_changed():
            raise call.refuse("the result of this norm was changed in place")
        call.check()
        with torch.enable_grad():
            read = [one.detach().requires_grad_() for one in (call.x, call.weight, call.bias)]
            return (*torch.autograd.grad(call.normed(*read), read, dy), None)


class Pending(Tensor):
    """The result of a norm, before its reader is known."""

    _call: _Call

    @staticmethod
    def __new__(cls, call: _Call) -> Pending:
        x = call.x
        pending = Tensor._make_wrapper_subclass(cls, x.size(), strides=x.stride(), dtype=x.dtype,
                                                device=x.device)
        pending._call = call
        return pending

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _KNOWN:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func in _RELUS and args and isinstance(args[0], Pending):
            call = args[0]._call
            if call.result is None and torch.is_grad_enabled():
                rectified = call.rectified()
                if func in _IN_PLACE or True in (*args[1:], kwargs.get("inplace")):
                    # The promise was of the norm alone: its result counts as changed.
                    call.result, call.version = rectified, -1
                return rectified
        return func(*tree_map(_revealed, args), **tree_map(_revealed, kwargs))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (),  # type: ignore[override]
                           kwargs: Any = None) -> Any:
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} would change the result of a norm that waits for its ReLU: "
                               "call apply without fuse_norms")
        return func(*tree_map(_numbers, args), **tree_map(_numbers, kwargs or {}))


def _revealed(value: Any) -> Any:
    return value._call.revealed() if isinstance(value, Pending) else value


def _numbers(value: Any) -> Any:
    """The numbers alone: below autograd, which has the promise's graph."""
    if not isinstance(value, Pending):
        return value
    call = value._call
    if call.is_changed():
        raise call.refuse("the result of this norm was changed in place")
    if call.result is not None:
        return call.result.detach()
    call.check()
    return call.normed(call.x.detach(), call.weight.detach(), call.bias.detach())


def _is_watched(x: Tensor) -> bool:
    """Whether a trace or a transform looks on."""
    return (type(x) is not Tensor or torch.jit.is_tracing()
            or torch._C._are_functorch_transforms_active())


class FusedNorm(nn.BatchNorm2d):
    """torch.nn.BatchNorm2d that is computed with the ReLU behind it in training."""

    _approxtrain_norm: NormState

    def forward(self, input: Tensor) -> Tensor:
        if (self.training and not torch.compiler.is_compiling() and torch.is_grad_enabled()
                and not _is_watched(input)):
            pending = self._pending(input)
            if pending is not None:
                return pending
        return nn.BatchNorm2d.forward(self, input)

    def _pending(self, x: Tensor) -> Optional[Tensor]:
        weight, bias, tracked = self.weight, self.bias, self.num_batches_tracked
        if (not self._approxtrain_norm.waits_now() or tracked is None or self.running_mean is None
                or not (x.requires_grad or weight.requires_grad or bias.requires_grad)):
            return None
        momentum = self.momentum if self.momentum is not None else 1.0 / (float(tracked) + 1.0)
        statistics = ops.norm_statistics(x, weight, bias, self.running_mean, self.running_var,
                                         momentum, self.eps)
        if not statistics:
            return None
        tracked.add_(1)
        return _Promise.apply(x, weight, bias, _Call(self, x, statistics))


def fitting_norms(model: nn.Module) -> list[tuple[str, nn.BatchNorm2d]]:
    """The batch norms that can be fused: with parameters and running statistics, no subclasses."""
    return [(name or "model", module) for name, module in model.named_modules()
            if type(module) is nn.BatchNorm2d and module.affine and module.track_running_stats]


def fuse(norms: list[tuple[str, nn.BatchNorm2d]]) -> None:
    for name, module in norms:
        cast(FusedNorm, module)._approxtrain_norm = NormState(name)
        cast(nn.Module, module).__class__ = FusedNorm


def separate(model: nn.Module) -> None:
    """Makes fused norms PyTorch's again."""
    for module in model.modules():
        if type(module) is FusedNorm:
            del module._approxtrain_norm
            cast(nn.Module, module).__class__ = nn.BatchNorm2d
