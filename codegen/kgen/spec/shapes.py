"""Shapes: their text, packed strides and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kgen.errors import Unfit
from kgen.ops.expression import Expression, shown

MAX_RANK = 8

Shape = tuple[int, ...]


def by_x(shape: Shape) -> str:
    """Return a shape as written in messages and keys: 2x3."""
    return "x".join(map(str, shape)) or "()"


def packed(shape: Shape) -> Shape:
    """Return the strides of a tensor without gaps, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def broadcast(operands: Iterable[tuple[str, str | Expression, Shape]]) -> Shape:
    """Return the shape that operands broadcast to, as in numpy.

    An operand is a name, its text or expression, and its shape. Raises Unfit for the first one that
    does not fit.
    """
    known = list(operands)
    rank = max(len(shape) for *_, shape in known)
    padded = [(1,) * (rank - len(shape)) + shape for *_, shape in known]
    found = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    for (name, text, given), shape in zip(known, padded, strict=True):
        if any(n not in (1, m) for n, m in zip(shape, found, strict=True)):
            words = shown(text) if isinstance(text, Expression) else text
            raise Unfit(
                name,
                f"{words} of shape {by_x(given)} does not broadcast to {by_x(found)}; "
                "make each size that of the output, or 1",
            )
    return found
