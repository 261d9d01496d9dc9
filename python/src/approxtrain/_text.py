"""Texts as the program has them: name:key=value,key=value."""

from __future__ import annotations

PRODUCTS = ("forward", "data_gradient", "weight_gradient")  # the bit of each is 1 << its place


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Name and arguments of `name:key=value,key=value`. Raises ValueError."""
    name, colon, rest = text.partition(":")
    name = name.strip()
    if not name:
        raise ValueError(f'"{text}": expected name or name:key=value,key=value')
    arguments: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise ValueError(f'"{text}": "{part.strip()}" is not key=value')
        if key in arguments:
            raise ValueError(f'"{text}": {key} is given twice')
        arguments[key] = value
    return name, arguments


def product_bits(names: list[str] | tuple[str, ...]) -> int:
    """The products of these names as bits. Raises ValueError for an unknown one."""
    bits = 0
    for name in names:
        if name not in PRODUCTS:
            raise ValueError(f'"{name}" is no product: expected {", ".join(PRODUCTS)}')
        bits |= 1 << PRODUCTS.index(name)
    return bits


def product_names(bits: int) -> list[str]:
    """The names of products given as bits, in their order."""
    return [name for place, name in enumerate(PRODUCTS) if bits >> place & 1]
