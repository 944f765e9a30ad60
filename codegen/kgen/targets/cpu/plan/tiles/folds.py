"""Sums of the elements of several vectors at once, side by side in one vector of results.

One vector after the other would take as many steps for each as this takes for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.tiles.tile import Row, Sum
from kgen.targets.cpu.plan.vectors import index_list
from kgen_runtime.values import frozen


@frozen
class Fold:
    """Step: `result`, of `count` elements, is elements `low` of x and y plus elements `high`
    (shuffle masks of two vectors of `width`); without a `y`, of x alone."""

    result: str
    x: str
    y: str | None
    width: int
    count: int
    low: str
    high: str


@frozen
class FoldedSums:
    """Sums of one row whose elements are added up together."""

    name: str
    row: Row
    sums: tuple[Sum, ...]
    folds: tuple[Fold, ...]


def folds(prefix: str, vectors: Sequence[str], width: int) -> tuple[Fold, ...]:
    """Return the steps that add up the elements of each of at most `width` vectors of that many
    elements, a power of two. The last result has the totals in order, the last one repeated up to a
    power of two.

    A vector consists of segments, one for each vector that was folded into it; each step halves
    them all. Results are named from `prefix`.
    """
    names = list(vectors)
    names += names[-1:] * ((1 << (len(names) - 1).bit_length()) - len(names))
    found: list[Fold] = []
    segments, length = 1, width
    while length > 1:
        pairs: list[tuple[str, str | None]] = [(names[0], None)]
        if len(names) > 1:
            pairs = list(zip(names[::2], names[1::2], strict=True))
        names = []
        for x, y in pairs:
            names.append(f"{prefix}.f{len(found)}")
            found.append(_fold(names[-1], x, y, segments, length))
        segments = found[-1].count // (length // 2)
        length //= 2
    return tuple(found)


def _fold(result: str, x: str, y: str | None, segments: int, length: int) -> Fold:
    """Return the step that adds the halves of all segments of one or two vectors."""
    starts = range(0, segments * length * (1 if y is None else 2), length)
    low = [start + i for start in starts for i in range(length // 2)]
    return Fold(
        result=result,
        x=x,
        y=y,
        width=segments * length,
        count=len(low),
        low=index_list(low),
        high=index_list([index + length // 2 for index in low]),
    )
