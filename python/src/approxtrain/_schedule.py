"""Which products of which layers are approximated in which steps.

The rules are those of the program's experiment files (docs/experiments.md). Layers count from 1
over the convolutions, steps from 0 over the backward passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Optional, Union

from ._text import parse_spec, product_bits

ScheduleLike = Union[str, Mapping[str, object], Sequence[Mapping[str, object]]]


@dataclass(frozen=True)
class Slice:
    """start:stop:step as in Python; a stop of -1 is open."""

    start: int = 0
    stop: int = -1
    step: int = 1

    def contains(self, at: int) -> bool:
        return (at >= self.start and (self.stop < 0 or at < self.stop)
                and (at - self.start) % self.step == 0)


def parse_slice(text: str, default_start: int) -> Slice:
    """`start:stop:step` or a number; `default_start` is what a missing start means.

    Raises ValueError.
    """
    expected = "expected start:stop:step or a number"
    parts = [part.strip() for part in text.split(":")]
    if not text.strip():
        raise ValueError(f"an empty selection; {expected}")
    if len(parts) > 3:
        raise ValueError(f'"{text}" has more than three parts; {expected}')
    for part in parts:
        if part and not (part.isascii() and part.isdigit()):
            raise ValueError(f'"{part}" is not a whole number; {expected}')
    start = int(parts[0]) if parts[0] else default_start
    if len(parts) == 1:
        return Slice(start, start + 1)
    stop = int(parts[1]) if parts[1] else -1
    step = int(parts[2]) if len(parts) == 3 and parts[2] else 1
    if step == 0:
        raise ValueError(f'"{text}": the step must be at least 1')
    if 0 <= stop <= start:
        raise ValueError(f'"{text}" selects nothing: the stop {stop} is exclusive and must lie '
                         f"above the start {start}")
    return Slice(start, stop, step)


@dataclass(frozen=True)
class LayerInfo:
    """A layer as schedules see it."""

    name: str  # as in model.named_modules()
    kind: str  # "conv3x3", "conv1x1", "linear"
    index: int  # from 1; convolutions and linear layers each count for themselves

    @property
    def is_conv(self) -> bool:
        return self.kind != "linear"


@dataclass(frozen=True)
class Rule:
    """One rule: layers, steps, products (bits; 0 means all of the method), window and ranks."""

    layers: str = "::1"
    steps: Slice = Slice()
    products: int = 0
    begin: int = 0
    end: int = -1
    ranks: Slice = Slice()

    def holds(self, step: int, rank: int) -> bool:
        """Whether the rule holds at this step on this rank."""
        return (step >= self.begin and (self.end < 0 or step < self.end)
                and self.steps.contains(step) and self.ranks.contains(rank))


@dataclass(frozen=True)
class Extent:
    """How long a training is: for windows in epochs, and in shares of the whole."""

    steps_per_epoch: Optional[int] = None
    total_steps: Optional[int] = None


_UNITS = {"ep": ("steps_per_epoch", "epochs"), "dur": ("total_steps", "shares")}


def _batches(key: str, text: str, missing: int, extent: Extent) -> int:
    """A window's end as a step: `300ba`, `10ep`, `0.25dur`."""
    text = text.strip()
    if not text:
        return missing
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ba|ep|dur)", text, re.ASCII)
    if found is None:
        raise ValueError(f'{key} = "{text}": expected 300ba (batches), 10ep (epochs) or 0.25dur '
                         "(share of the training)")
    value, unit = float(found[1]), found[2]
    if unit == "ba":
        if not value.is_integer():
            raise ValueError(f'{key} = "{text}": batches are whole')
        return int(value)
    if unit == "dur" and value > 1:
        raise ValueError(f'{key} = "{text}": a share of the training is at most 1dur')
    argument, what = _UNITS[unit]
    steps = getattr(extent, argument)
    if steps is None:
        raise ValueError(f'{key} = "{text}": a window in {what} needs apply(..., {argument}=...)')
    return int(value * steps + 0.5)


_KEYS = ("layers", "steps", "products", "from", "until", "ranks")


def make_rule(values: Mapping[str, object], extent: Extent = Extent()) -> Rule:
    """A rule of the keys of an experiment file: layers, steps, products, from, until, ranks.

    Raises ValueError.
    """
    for key in values:
        if key not in _KEYS:
            raise ValueError(f'{key}: unknown key of a schedule; expected {", ".join(_KEYS)}')

    def text(key: str, fallback: str) -> str:
        return str(values.get(key, fallback))

    products = values.get("products", "")
    if isinstance(products, str):
        names = [part.strip() for part in products.split("+")] if products.strip() else []
    elif isinstance(products, (list, tuple)):
        names = [str(part) for part in products]
    else:
        raise ValueError(f"products = {products!r}: expected names joined by +, or a list")
    try:
        steps = parse_slice(text("steps", "::1"), 0)
    except ValueError as error:
        raise ValueError(f'steps = "{values["steps"]}": {error}') from None
    ranks = text("ranks", "")
    rule = Rule(layers=text("layers", "::1"), steps=steps, products=product_bits(names),
                begin=_batches("from", text("from", ""), 0, extent),
                end=_batches("until", text("until", ""), -1, extent),
                ranks=parse_slice(ranks, 0) if ranks else Slice())
    if 0 <= rule.end <= rule.begin:
        raise ValueError(f"until = {values['until']} is not above from")
    _terms(rule.layers)
    return rule


def _flag(name: str, arguments: Mapping[str, str], key: str) -> bool:
    value = arguments.get(key, "false")
    if value not in ("true", "false"):
        raise ValueError(f"{name}: {key} = {value}: expected true or false")
    return value == "true"


def _known(name: str, arguments: Mapping[str, str], *keys: str) -> None:
    for key in arguments:
        if key not in keys:
            raise ValueError(f"{name}: unknown parameter {key}"
                             + (f'; it has {", ".join(keys)}' if keys else "; it has none"))


def _named(name: str, arguments: Mapping[str, str], extent: Extent) -> Rule:
    """The schedules of core/config/schedules/."""
    if name == "slice":
        _known(name, arguments, *_KEYS)
        return make_rule(arguments, extent)
    if name == "wang2019_s3":
        _known(name, arguments, "first")
        layers, steps = "1::1" if _flag(name, arguments, "first") else "2::1", "::4"
    else:
        by_name = {"wang2019_s1": ("2::4", "::1"), "wang2019_s2": ("2::2", "::2"),
                   "wang2019_cnn2": ("2", "::2")}
        if name not in by_name:
            known = ", ".join(sorted([*by_name, "slice", "wang2019_s3"]))
            raise ValueError(f'"{name}" is no schedule: expected {known}, or a mapping of '
                             "layers, steps and products")
        _known(name, arguments)
        layers, steps = by_name[name]
    return make_rule({"layers": layers, "steps": steps, "products": "weight_gradient"})


def make_schedule(given: ScheduleLike, extent: Extent = Extent()) -> list[Rule]:
    """The rules of a name (`wang2019_s1`, `slice:layers=2::2,steps=::4`), of a mapping with an
    experiment file's keys, or of a list of such mappings. Raises ValueError."""
    if isinstance(given, str):
        return [_named(*parse_spec(given), extent)]
    if isinstance(given, Mapping):
        return [make_rule(given, extent)]
    if isinstance(given, Iterable):
        rules = []
        for one in given:
            if not isinstance(one, Mapping):
                raise ValueError(f"schedule: {one!r} is no mapping of layers, steps and products")
            rules.append(make_rule(one, extent))
        if rules:
            return rules
    raise ValueError(f"schedule = {given!r}: expected a name, a mapping or a list of mappings")


def _terms(text: str) -> list[Slice | tuple[str, str]]:
    """The terms of `layers`: slices, and (kind or name, pattern)."""
    terms: list[Slice | tuple[str, str]] = []
    for part in text.replace("+", ",").split(","):
        key, equals, pattern = (piece.strip() for piece in part.partition("="))
        if equals:
            if key not in ("kind", "name") or not pattern:
                raise ValueError(f'layers = "{text}": "{part}": expected kind=GLOB or name=GLOB')
            terms.append((key, pattern))
            continue
        try:
            chosen = parse_slice(part, 2)
        except ValueError as error:
            raise ValueError(f'layers = "{text}": {error}') from None
        if chosen.start == 0:
            raise ValueError(f'layers = "{text}": convolutions count from 1; write 1 for the first')
        terms.append(chosen)
    return terms


def _matches(term: Slice | tuple[str, str], layer: LayerInfo) -> bool:
    if isinstance(term, Slice):
        return layer.is_conv and term.contains(layer.index)
    key, pattern = term
    if key == "name":
        return fnmatchcase(layer.name, pattern)
    return not (layer.is_conv and layer.index == 1) and fnmatchcase(layer.kind, pattern)


def select_layers(text: str, layers: Sequence[LayerInfo]) -> list[bool]:
    """For each layer whether a term of `layers` matches it. Raises ValueError for a term that
    matches none."""
    selected = [False] * len(layers)
    for term in _terms(text):
        matched = [_matches(term, layer) for layer in layers]
        if not any(matched):
            convolutions = sum(layer.is_conv for layer in layers)
            what = (f"the model has {convolutions} convolutions" if isinstance(term, Slice)
                    else "the model has " + ", ".join(
                        dict.fromkeys(layer.kind if term[0] == "kind" else layer.name
                                      for layer in layers)))
            raise ValueError(f'layers = "{text}" matches no layer; {what}')
        selected = [one or other for one, other in zip(selected, matched)]
    return selected
