"""Memory planner: the offset of every intermediate buffer in one arena.

Buffers with overlapping live ranges get disjoint memory. The algorithm is greedy by size (Y.
Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): place the
largest buffer first, each at the lowest offset that is free during its live range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from kgen_runtime.values import frozen

#: Alignment of offsets in bytes: the largest that a Vulkan device may require.
ALIGNMENT = 256
#: First byte and end of a range in the arena.
Range = tuple[int, int]


@frozen
class Life:
    """Live range of a buffer: from the step that writes it to the last that reads it."""

    nbytes: int
    first: int
    last: int

    @property
    def taken(self) -> int:
        """Bytes that the buffer occupies in the arena: `nbytes` rounded up to the alignment."""
        return -(-self.nbytes // ALIGNMENT) * ALIGNMENT


@frozen
class MemoryPlan:
    """Offset of each buffer, size of the arena, and a lower bound for any plan, all in bytes."""

    offsets: Mapping[str, int]
    nbytes: int
    least: int


def plan(lives: Mapping[str, Life]) -> MemoryPlan:
    offsets: dict[str, int] = {}
    placed = _Placed(1 + max((life.last for life in lives.values()), default=0))
    # Sort by size, then by length of the live range, then by its start, so that equal repeated
    # layers get equal plans. Names make the order unique.
    order = sorted(
        lives,
        key=lambda name: (
            *(-lives[name].nbytes, lives[name].first - lives[name].last, lives[name].first),
            name,
        ),
    )
    for name in order:
        life = lives[name]
        at = 0
        for start, end in placed.ranges(life):
            if at + life.taken <= start:
                break
            at = max(at, end)
        offsets[name] = at
        placed.add(life, at)
    nbytes = max((offsets[name] + lives[name].taken for name in lives), default=0)
    return MemoryPlan(offsets=offsets, nbytes=nbytes, least=least(lives))


class _Placed:
    """Occupied ranges of the arena by step, in a segment tree over the steps.

    Each node of the tree holds disjoint ranges, so a query inspects few of them.
    """

    def __init__(self, steps: int) -> None:
        self.size = 1 << (steps - 1).bit_length()
        #: Ranges by tree node: `through` those occupied in all of its steps, `within` in some of
        #: them.
        self.through: dict[int, list[Range]] = {}
        self.within: dict[int, list[Range]] = {}

    def add(self, life: Life, offset: int) -> None:
        nodes: set[int] = set()
        found = (offset, offset + life.taken)
        for node in self._cover(life):
            _join(self.through.setdefault(node, []), found)
            while node and node not in nodes:
                nodes.add(node)
                node //= 2
        for node in nodes:
            _join(self.within.setdefault(node, []), found)

    def ranges(self, life: Life) -> list[Range]:
        """Return the ranges that are occupied in any step of a live range, by their start."""
        found: set[Range] = set()
        for node in self._cover(life):
            found.update(self.within.get(node, ()))
            while node := node // 2:
                found.update(self.through.get(node, ()))
        return sorted(found)

    def _cover(self, life: Life) -> Iterator[int]:
        """Yield the largest nodes that together cover a live range.

        Node n has the children 2n and 2n + 1.
        """
        first, end = life.first + self.size, life.last + 1 + self.size
        while first < end:
            if first % 2:
                yield first
                first += 1
            if end % 2:
                end -= 1
                yield end
            first, end = first // 2, end // 2


def _join(ranges: list[Range], new: Range) -> None:
    """Insert a range into sorted, disjoint ranges, and merge those that it overlaps or touches."""
    first = bisect_left(ranges, new[0], key=lambda known: known[1])
    stop = bisect_right(ranges, new[1], lo=first, key=lambda known: known[0])
    if first < stop:
        new = (min(new[0], ranges[first][0]), max(new[1], ranges[stop - 1][1]))
    ranges[first:stop] = [new]


def least(lives: Mapping[str, Life]) -> int:
    """Return the peak of live bytes over all steps, which is a lower bound for every plan."""
    changes: dict[int, int] = {}
    for life in lives.values():
        changes[life.first] = changes.get(life.first, 0) + life.taken
        changes[life.last + 1] = changes.get(life.last + 1, 0) - life.taken
    most = now = 0
    for step in sorted(changes):
        now += changes[step]
        most = max(most, now)
    return most
