"""Pointers as LLVM makes them: by steps through an array, one for each coordinate."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.stream import Dimension
from kgen_runtime.values import frozen


@frozen
class Move:
    """`result` is `count` (an i64 operand) times `stride` elements behind `base`."""

    result: str
    base: str
    stride: int
    count: str

    def step(self, element: str) -> str:
        """The type whose size is that of one step."""
        return f"[{self.stride} x {element}]" if self.stride > 1 else element


def moves(result: str, base: str, terms: Sequence[tuple[str, int]]) -> tuple[Move, ...]:
    """How a pointer gets from `base` to `result` by (count, stride) terms; see :func:`moved`."""
    terms = [term for term in terms if term[0] != "0"]
    last = len(terms) - 1
    names = [base, *(f"{result}{i}" for i in range(last)), result]
    return tuple(
        Move(result=names[i + 1], base=names[i], stride=stride, count=count)
        for i, (count, stride) in enumerate(terms)
    )


def moved(base: str, by: Sequence[Move]) -> str:
    """The pointer after the moves: `base` itself if there are none."""
    return by[-1].result if by else base


def coordinate(name: str, number: str, dimension: Dimension) -> str:
    """The i64 operand for a coordinate of `number`: %<name>.at<d>, as templates compute it, or the
    number itself, if the dimension is all there is."""
    return number if dimension.is_whole else f"%{name}.at{dimension.number}"
