"""Horizontal sums of several vectors together: one vector has the sum of each vector's elements.

Summing the vectors together needs fewer instructions than summing each on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.tiles.tile import Row, Sum
from kgen.targets.cpu.plan.vectors import index_list
from kgen_runtime.values import frozen


@frozen
class Fold:
    """Step of a horizontal sum: `result` = elements `low` + elements `high` of x and y. `low` and
    `high` are shuffle masks of two vectors of `width` elements; `result` has `count` elements.
    Without `y`, the elements are those of x."""

    result: str
    x: str
    y: str | None
    width: int
    count: int
    low: str
    high: str


@frozen
class FoldedSums:
    """Accumulators of one row whose elements are summed together."""

    name: str
    row: Row
    sums: tuple[Sum, ...]
    folds: tuple[Fold, ...]


def folds(prefix: str, vectors: Sequence[str], width: int) -> tuple[Fold, ...]:
    """Return the steps that sum the elements of each vector; names of results begin with `prefix`.

    There are at most `width` vectors, each of `width` elements, a power of two. The last result has
    the totals in order; the last total is repeated up to a power of two. Each step combines pairs
    of vectors. A result has one segment for each original vector, and each step halves the
    segments.
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
    """Return the step that adds the two halves of each segment, in one or two vectors."""
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
