"""apply and remove: a model's layers with approximated products, and back."""

from __future__ import annotations

from typing import Optional, Union, cast

import torch
from torch import nn

from ._layers import APPROXIMATED_OF, PLAIN_OF, ApproxConv2d, ApproxLinear
from ._library import ops
from ._norms import fitting_norms, fuse, separate
from ._own import OwnMethod, find_own, pruned_for
from ._schedule import Extent, LayerInfo, Rule, ScheduleLike, make_schedule, select_layers
from ._state import LayerState
from ._text import parse_spec, product_names

TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
Plain = Union[nn.Conv2d, nn.Linear]


def approximated_layers(model: nn.Module) -> list[tuple[str, ApproxConv2d | ApproxLinear]]:
    """The layers of a model that `apply` has changed, with their names."""
    return [(name, module) for name, module in model.named_modules()
            if isinstance(module, (ApproxConv2d, ApproxLinear))]


def fitting_layers(model: nn.Module) -> list[tuple[LayerInfo, Plain]]:
    """The Conv2d and Linear layers of a model, in the order of model.named_modules().

    Subclasses are no such layers: they may compute something else.
    """
    found: list[tuple[LayerInfo, Plain]] = []
    convolutions = linears = 0
    for name, module in model.named_modules():
        if type(module) is nn.Conv2d:
            convolutions += 1
            height, width = module.kernel_size
            kind = f"conv{height}x{width}"
            found.append((LayerInfo(name or "model", kind, convolutions), module))
        elif type(module) is nn.Linear:
            linears += 1
            found.append((LayerInfo(name or "model", "linear", linears), module))
    return found


def norms_behind(model: nn.Module) -> set[int]:
    """The ids of layers whose next module, as registered, is a batch normalisation."""
    behind: set[int] = set()
    last = None
    passed = (nn.Identity, nn.Dropout, nn.Dropout2d, nn.MaxPool2d, nn.AvgPool2d)
    for module in model.modules():
        if next(module.children(), None) is not None or isinstance(module, passed):
            continue
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and last is not None:
            behind.add(id(last))
        last = module if type(module) in APPROXIMATED_OF or type(module) in PLAIN_OF else None
    return behind


def _able(method: str) -> tuple[int, bool, int]:
    """The products of a method as bits, whether they go by one sample, its fewest channels."""
    own = find_own(method)
    if own is not None:
        own.arguments(parse_spec(method)[1])
        return own.products, False, 0
    if parse_spec(method)[0] == "dense":
        return 0, False, 0
    bits, one_sample, least = ops.method_facts(method)
    return bits, bool(one_sample), least


def _check_rules(rules: list[Rule], method: str, able: int, one_sample: bool,
                 selected: list[tuple[LayerInfo, Plain]]) -> None:
    for rule in rules:
        others = rule.products & ~able
        chosen = select_layers(rule.layers, [info for info, _ in selected])
        name = next(info.name for (info, _), one in zip(selected, chosen) if one)
        if others and able:
            raise ValueError(f"{name}: {method} approximates {' and '.join(product_names(able))}, "
                             f"the schedule asks for {' and '.join(product_names(others))}")
        if one_sample and rule.products and rule.products != able:
            raise ValueError(f"{name}: {method} draws one sample for all its products: leave "
                             "products out of the schedule, or take another mode")


def _check_layer(info: LayerInfo, module: Plain, method: str, own: Optional[OwnMethod],
                 seed: int) -> None:
    weight = module.weight
    if weight.dtype not in TYPES:
        raise TypeError(f"{info.name}: its weight is {weight.dtype}; expected float32, float64, "
                        "float16 or bfloat16")
    if weight.device.type not in ("cpu", "cuda", "meta"):
        raise ValueError(f"{info.name}: is on {weight.device}; expected the CPU or a CUDA device")
    if own is None:
        return
    # What it returns of a small gradient shows most mistakes before anything is changed.
    device = "cpu" if weight.device.type == "meta" else weight.device
    sizes = (2, weight.shape[0], 4, 4) if info.is_conv else (2, weight.shape[0])
    drawn = torch.Generator().manual_seed(seed)
    dy = torch.randn(sizes, generator=drawn).to(device=device, dtype=weight.dtype)
    pruned_for(info.name, own, dy, method, seed)


def apply(model: nn.Module, method: str, *, skip_first: Optional[bool] = None,
          schedule: Optional[ScheduleLike] = None, seed: int = 0,
          fuse_norms: bool = False, steps_per_epoch: Optional[int] = None,
          total_steps: Optional[int] = None) -> list[str]:
    """Approximates products of a model's Conv2d and Linear layers in training, by `method`.

    `method` is a text of the program (`stochastic_pruning:p=0.9`), or names a method registered by
    `approxtrain.method`. Without a `schedule` all layers but the first convolution are approximated
    in every step (a model without one: all but the first layer). A schedule names the layers, steps
    and products: `wang2019_s1`, `slice:layers=2::2,steps=::4`, a mapping with these keys, or a list
    of mappings. Windows in epochs (`until=10ep`) need `steps_per_epoch`, those in shares of the
    training (`from=0.5dur`) need `total_steps`. `skip_first` says whether the first layer stays
    exact, whatever selects it; None: as above. `seed` decides the draws, with the layer, the step
    and the rank. With `fuse_norms` a BatchNorm2d and the ReLU that reads its result are computed at
    once.

    A layer's step is the number of backward passes that came through it. Call it before fully_shard
    and before or after DDP wraps the model. Returns the names of the approximated layers. Raises
    ValueError or TypeError in one line, and then has changed nothing.
    """
    layers = fitting_layers(model)
    applied = approximated_layers(model)
    if applied:
        raise ValueError(f"{applied[0][0]}: is approximated already, by "
                         f"{applied[0][1]._approxtrain.method}: call approxtrain.remove first")
    if not layers:
        raise ValueError(f"the model ({type(model).__name__}) has no layers that fit: none is a "
                         "torch.nn.Conv2d or a torch.nn.Linear (subclasses are left alone)")
    own = find_own(method)
    able, one_sample, least = _able(method)
    first = next((info for info, _ in layers if info.is_conv), layers[0][0])
    skipped = {first.name} if skip_first or (skip_first is None and schedule is None) else set()
    per_layer: dict[str, list[Rule]] = {}
    if schedule is not None:
        rules = make_schedule(schedule, Extent(steps_per_epoch, total_steps))
        _check_rules(rules, method, able, one_sample, layers)
        for rule in rules:
            chosen = select_layers(rule.layers, [info for info, _ in layers])
            for (info, _), is_chosen in zip(layers, chosen):
                if is_chosen:
                    per_layer.setdefault(info.name, []).append(rule)
    changed = [(info, module) for info, module in layers if info.name not in skipped
               and (schedule is None or info.name in per_layer)]
    if not changed:
        raise ValueError(f"{first.name}: is the only layer that fits, and stays exact: say "
                         "skip_first=False")
    wide = [(info, module) for info, module in changed if _input_channels(module) >= least]
    if not wide:
        raise ValueError(f"{changed[0][0].name}: has {_input_channels(changed[0][1])} input "
                         f"channels, {method} approximates layers from {least}; no other fits")
    for info, module in wide:
        _check_layer(info, module, method, own, seed)
    norms = fitting_norms(model) if fuse_norms else []
    if fuse_norms and not norms:
        raise ValueError(f"the model ({type(model).__name__}) has no batch norm to fuse: none is a "
                         "torch.nn.BatchNorm2d with parameters and running statistics")
    behind = norms_behind(model)
    for info, module in wide:
        state = LayerState(info, method, able, per_layer.get(info.name), seed, id(module) in behind)
        cast("ApproxConv2d | ApproxLinear", module)._approxtrain = state
        cast(nn.Module, module).__class__ = APPROXIMATED_OF[type(module)]
    fuse(norms)
    return [info.name for info, _ in wide]


def _input_channels(module: Plain) -> int:
    return module.in_channels if isinstance(module, nn.Conv2d) else module.in_features


def remove(model: nn.Module) -> list[str]:
    """Makes a model's layers plain again: PyTorch's classes, the same parameters. Their steps and
    counts are gone.

    Returns the names of the layers; none if none was approximated. Raises ValueError for a model
    that fully_shard has sharded since, and then has changed nothing.
    """
    layers = approximated_layers(model)
    for name, module in layers:
        if type(module) not in PLAIN_OF:
            raise ValueError(f"{name}: is a {type(module).__name__} by now: call remove before "
                             "fully_shard")
    separate(model)
    for _, module in layers:
        module._approxtrain.forget()
        del module._approxtrain
        cast(nn.Module, module).__class__ = PLAIN_OF[type(module)]
    return [name for name, _ in layers]


def steps(model: nn.Module) -> dict[str, int]:
    """The step of each approximated layer, for checkpoints that do not keep a state_dict's metadata
    (torch.distributed.checkpoint, safetensors)."""
    return {name: module._approxtrain.step for name, module in approximated_layers(model)}


def set_steps(model: nn.Module, steps: dict[str, int]) -> None:
    """Sets what `steps` gave. Raises ValueError for a name that is no approximated layer, and then
    has changed nothing."""
    layers = dict(approximated_layers(model))
    for name in steps:
        if name not in layers:
            raise ValueError(f"{name}: is no approximated layer of the model")
    for name, step in steps.items():
        layers[name]._approxtrain.step = int(step)
