"""Chunks: the equal parts of a tile of A or B that each thread copies to LDS.

A chunk is loaded as vectors along memory's contiguous axis and stored as vectors along the slots of
the LDS tile. If these axes differ, the thread transposes the chunk in its registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgen_runtime.values import frozen


@frozen
class ChunkLoad:
    """Vector load of a chunk: `row`, `k` and `offset` count from the chunk's first element."""

    index: int
    row: int
    k: int
    offset: int


@frozen
class ChunkStore:
    """Vector store of a chunk to LDS: `row` and `k` count from the chunk's first element.

    `elements` are the sources of its elements as (load, lane) pairs.
    """

    index: int
    row: int
    k: int
    elements: tuple[tuple[int, int], ...]


@frozen
class Shape:
    """Shape of a chunk: `vector` elements per load, `fast` elements along memory's contiguous axis,
    `slow` across."""

    vector: int
    fast: int
    slow: int

    @property
    def loads(self) -> int:
        return self.fast // self.vector * self.slow


def shapes(vector: int, slot: int, *, same_axis: bool) -> Iterator[Shape]:
    """Yield chunks to try, those with the fewest accesses per element first.

    `vector` is the number of elements of the widest load, `slot` of a slot of the LDS tile.
    """
    if same_axis:
        for fast in _halves(slot):
            yield Shape(vector=min(vector, fast), fast=fast, slow=1)
        return
    transposed = [Shape(vector=v, fast=v, slow=s) for v in _halves(vector) for s in _halves(slot)]
    # A chunk has a vector load for each of `slow`, and a vector store for each of `fast`.
    yield from sorted(transposed, key=lambda s: (1 / s.fast + 1 / s.slow, -s.slow))


def _halves(value: int) -> Iterator[int]:
    while value:
        yield value
        value //= 2


def power_of_two_divisor(value: int, limit: int) -> int:
    """Return the largest power of two that divides `value`, up to `limit`, which is a power of
    two."""
    return min(value & -value, limit)
