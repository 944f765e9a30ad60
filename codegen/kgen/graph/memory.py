"""The memory plan: every buffer's place in one arena, so that those that live at once are apart.

Greedy by size (Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural Net
Inference", 2020): the largest buffer first, each at the lowest offset at which it meets none that
lives while it does.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen_runtime.values import frozen

#: Offsets are multiples of it, in bytes: the most that a Vulkan device may ask for.
ALIGNMENT = 256


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

    def meets(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@frozen
class Plan:
    """Offsets by buffer; the arena's bytes, and how many no plan can do without."""

    offsets: Mapping[str, int]
    nbytes: int
    least: int


def plan(lives: Mapping[str, Life]) -> Plan:
    offsets: dict[str, int] = {}
    # Of one size, the longer one first; by name, so that a plan depends on nothing else.
    order = sorted(
        lives, key=lambda name: (-lives[name].nbytes, lives[name].first - lives[name].last, name)
    )
    for name in order:
        life = lives[name]
        taken = sorted(
            (offset, offset + lives[other].taken)
            for other, offset in offsets.items()
            if lives[other].meets(life)
        )
        at = 0
        for start, end in taken:
            if at + life.taken <= start:
                break
            at = max(at, end)
        offsets[name] = at
    nbytes = max((offsets[name] + lives[name].taken for name in lives), default=0)
    return Plan(offsets=offsets, nbytes=nbytes, least=least(lives))


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
