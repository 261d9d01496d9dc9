"""What a method written in Python may return in place of a pruned gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

import torch
from torch import Tensor


@dataclass(frozen=True)
class Channels:
    """Keep these output channels of dY, times `scale`; the others become zero."""

    kept: Tensor  # [k], whole numbers
    scale: float = 1.0

    def pruned(self, dy: Tensor) -> Tensor:
        result = torch.zeros_like(dy)
        result[:, self.kept] = dy[:, self.kept] * self.scale
        return result


@dataclass(frozen=True)
class Positions:
    """Keep these positions of each plane dY[n,c], counted row by row, or put `values` there.

    A linear layer's planes have one position.
    """

    at: Tensor  # [N,C,k], whole numbers
    values: Optional[Tensor] = None  # [N,C,k]

    def pruned(self, dy: Tensor) -> Tensor:
        planes = dy.reshape(dy.shape[0], dy.shape[1], -1)
        values = planes.gather(-1, self.at) if self.values is None else self.values.to(dy.dtype)
        return torch.zeros_like(planes).scatter(-1, self.at, values).reshape(dy.shape)


@dataclass(frozen=True)
class NofM:
    """Keep the n largest magnitudes of every m neighbouring channels; m divides the channels."""

    n: int
    m: int

    def pruned(self, dy: Tensor) -> Tensor:
        if not 1 <= self.n <= self.m or dy.shape[1] % self.m:
            raise ValueError(f"{self.n} of {self.m} do not fit {dy.shape[1]} channels")
        groups = dy.reshape(dy.shape[0], -1, self.m, *dy.shape[2:])
        order = groups.abs().argsort(dim=2, descending=True, stable=True)
        kept = torch.zeros_like(groups, dtype=torch.bool).scatter(2, order[:, :, :self.n], True)
        return (groups * kept).reshape(dy.shape)


Plan = Union[Tensor, Channels, Positions, NofM]
