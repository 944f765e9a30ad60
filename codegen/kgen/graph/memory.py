"""The memory plan: every buffer's place in one arena, so that those that live at once are apart.

Greedy by size (Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural Net
Inference", 2020): the largest buffer first, each at the lowest offset at which it meets none that
lives while it does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from kgen_runtime.values import frozen

#: Offsets are multiples of it, in bytes: the most that a Vulkan device may ask for.
ALIGNMENT = 256
#: Where something begins and ends in an arena, in bytes.
Range = tuple[int, int]


@frozen
class Life:
    """A buffer of `nbytes`, from the step that writes it to the last one that reads it."""

    nbytes: int
    first: int
    last: int

    @property
    def taken(self) -> int:
        """Bytes that it takes of an arena."""
        return -(-self.nbytes // ALIGNMENT) * ALIGNMENT


@frozen
class MemoryPlan:
    """Offset of each buffer in the arena, the arena's bytes, and a lower bound of any
    plan's bytes."""

    offsets: Mapping[str, int]
    nbytes: int
    least: int


def plan(lives: Mapping[str, Life]) -> MemoryPlan:
    offsets: dict[str, int] = {}
    placed = _Placed(1 + max((life.last for life in lives.values()), default=0))
    # Among equal sizes the longest life comes first, then the earliest one, so that the turns of a
    # repetition have equal plans. Names make the order unique.
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
    """Ranges of the arena that are occupied, by the steps in which they are: a segment tree over
    steps, whose nodes have ranges that are apart, so that few are looked at."""

    def __init__(self, steps: int) -> None:
        self.size = 1 << (steps - 1).bit_length()
        #: By node of the tree: ranges occupied in all of its steps, and those in some of them.
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
        """Ranges that are occupied in one of a life's steps, by where they begin."""
        found: set[Range] = set()
        for node in self._cover(life):
            found.update(self.within.get(node, ()))
            while node := node // 2:
                found.update(self.through.get(node, ()))
        return sorted(found)

    def _cover(self, life: Life) -> Iterator[int]:
        """The largest nodes whose steps are those of a life together; node n has 2n and 2n + 1."""
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
    """Add a range to sorted ones that are apart; those that it meets or touches become one."""
    first = bisect_left(ranges, new[0], key=lambda known: known[1])
    stop = bisect_right(ranges, new[1], lo=first, key=lambda known: known[0])
    if first < stop:
        new = (min(new[0], ranges[first][0]), max(new[1], ranges[stop - 1][1]))
    ranges[first:stop] = [new]


def least(lives: Mapping[str, Life]) -> int:
    """The most bytes that live at one step, which every plan needs."""
    changes: dict[int, int] = {}
    for life in lives.values():
        changes[life.first] = changes.get(life.first, 0) + life.taken
        changes[life.last + 1] = changes.get(life.last + 1, 0) - life.taken
    most = now = 0
    for step in sorted(changes):
        now += changes[step]
        most = max(most, now)
    return most
