"""What each approximated layer computed and left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from torch import nn

from ._apply import approximated_layers
from ._text import PRODUCTS


@dataclass(frozen=True)
class ProductStats:
    """One product of one layer, since `apply`, in this process."""

    layer: str
    kind: str
    method: str
    product: str
    calls: int  # of the method
    density: Optional[float]  # share of a gradient's entries that were kept; None: no meaning
    macs: float  # multiply-accumulates of the exact product
    macs_left_out: float  # of these


class Stats(list[ProductStats]):
    """A row for each product of each layer; as a text it is a table."""

    @property
    def macs(self) -> float:
        return sum(row.macs for row in self)

    @property
    def macs_left_out(self) -> float:
        return sum(row.macs_left_out for row in self)

    def __str__(self) -> str:
        lines = [("layer", "product", "calls", "density", "macs", "left out")]
        for row in self:
            density = "" if row.density is None else f"{row.density:.3f}"
            share = row.macs_left_out / row.macs if row.macs else 0.0
            lines.append((row.layer, row.product, str(row.calls), density, f"{row.macs:.3g}",
                          f"{100 * share:.1f} %"))
        widths = [max(len(line[place]) for line in lines) for place in range(6)]
        return "\n".join("  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def stats(model: nn.Module) -> Stats:
    """What each product of each approximated layer took part in since `apply`, in this process.

    On a GPU this waits for it. Recomputed forward passes (gradient checkpointing) are counted as
    often as they were computed. Raises ValueError if no layer is approximated.
    """
    layers = approximated_layers(model)
    if not layers:
        raise ValueError(f"the model ({type(model).__name__}) has no approximated layer: call "
                         "approxtrain.apply first")
    rows = Stats()
    for name, module in layers:
        state = module._approxtrain
        for product, spent in zip(PRODUCTS, state.spent()):
            rows.append(ProductStats(
                layer=name, kind=state.info.kind, method=state.method, product=product,
                calls=spent.calls, density=spent.kept / spent.entries if spent.entries else None,
                macs=spent.exact_macs, macs_left_out=spent.replaced_macs - spent.needed_macs))
    return rows
