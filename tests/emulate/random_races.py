"""Random programs of accesses by a few lanes to a few cells, for tests of the race detectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from hypothesis import strategies as st

#: Two waves; the lanes that access are few, so that they often meet.
LANES, WAVE, CELLS = 64, 32, 4
#: Which lanes access which cell: each is a function of the lane, None for no access.
LANES_OF = {
    "one": lambda lane, cell: cell if lane == 0 else None,
    "other": lambda lane, cell: cell if lane == 32 else None,
    "neighbours": lambda lane, cell: (cell + lane) % CELLS if lane < 2 else None,
    "both": lambda lane, cell: cell if lane in (1, 33) else None,
    "apart": lambda lane, cell: (cell + lane // 32) % CELLS if lane in (3, 35) else None,
    "twins": lambda lane, cell: cell if lane in (2, 3) else None,
    "four": lambda lane, cell: cell if 30 <= lane < 34 else None,
}
ACCESSES = ("load", "store", "peek", "put", "atomic")
_WRITES, _ATOMICS = {"store", "put", "atomic"}, {"peek", "put", "atomic"}

#: What is done, by which lanes, at which cell; all lanes do what is no access.
Step = tuple[str, str, int]


def programs(fences: list[str]) -> st.SearchStrategy[list[Step]]:
    access = st.tuples(
        st.sampled_from(ACCESSES), st.sampled_from(list(LANES_OF)), st.integers(0, CELLS - 1)
    )
    fence = st.tuples(st.sampled_from(fences), st.just(""), st.just(0))
    return st.lists(st.one_of(access, fence), min_size=2, max_size=9)


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Two lanes that access one cell; at least one writes, and not both are atomic."""

    first: int
    last: int
    same_wave: bool


def conflicts(program: list[Step]) -> Iterator[Conflict]:
    events = [
        (step, lane, cell, kind)
        for step, (kind, lanes, base) in enumerate(program)
        if kind in ACCESSES
        for lane in range(LANES)
        if (cell := LANES_OF[lanes](lane, base)) is not None
    ]
    for (s1, l1, c1, k1), (s2, l2, c2, k2) in combinations(events, 2):
        kinds = {k1, k2}
        if c1 == c2 and l1 != l2 and not kinds <= _ATOMICS and kinds & _WRITES:
            yield Conflict(first=s1, last=s2, same_wave=l1 // WAVE == l2 // WAVE)


def may_meet(
    program: list[Step], conflict: Conflict, releases: set[str], acquires: set[str]
) -> bool:
    """Whether atomics between a release of one lane and an acquire of the other may order the
    two, for some scheduling. Waves progress independently, so steps need not come in order."""
    kinds = [kind for kind, _, _ in program]
    for first, last in (conflict.first, conflict.last), (conflict.last, conflict.first):
        released = [i for i, kind in enumerate(kinds) if kind in releases and i > first]
        acquired = [i for i, kind in enumerate(kinds) if kind in acquires and i < last]
        leaves = released and any(kind in ("put", "atomic") for kind in kinds[released[0] :])
        reads = acquired and any(kind in ("peek", "atomic") for kind in kinds[: acquired[-1]])
        if leaves and reads:
            return True
    return False


def masks(step: Step) -> tuple[int, int, int]:
    """Return bits by lane: whether it accesses, and the two bits of the cell."""
    _, lanes, base = step
    cells = {lane: LANES_OF[lanes](lane, base) for lane in range(LANES)}
    bits = [0, 0, 0]
    for lane, cell in cells.items():
        if cell is not None:
            bits[0] |= 1 << lane
            bits[1] |= (cell & 1) << lane
            bits[2] |= (cell >> 1) << lane
    return bits[0], bits[1], bits[2]
