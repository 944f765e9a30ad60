"""Pointer arithmetic in LLVM: one getelementptr per coordinate."""

from __future__ import annotations

from collections.abc import Sequence

from kgen_runtime.values import frozen


@frozen
class Move:
    """Pointer addition: `result` = `base` + `count` (an i64 operand) times `stride` elements."""

    result: str
    base: str
    stride: int
    count: str

    def step(self, element: str) -> str:
        """Return the type whose size is `stride` elements."""
        return f"[{self.stride} x {element}]" if self.stride > 1 else element


def moves(result: str, base: str, terms: Sequence[tuple[str, int]]) -> tuple[Move, ...]:
    """Return the moves from `base` to `result` by (count, stride) terms; see :func:`moved`."""
    terms = [term for term in terms if term[0] != "0"]
    last = len(terms) - 1
    names = [base, *(f"{result}{i}" for i in range(last)), result]
    return tuple(
        Move(result=names[i + 1], base=names[i], stride=stride, count=count)
        for i, (count, stride) in enumerate(terms)
    )


def moved(base: str, by: Sequence[Move]) -> str:
    """Return the pointer after the moves: `base` itself if there are none."""
    return by[-1].result if by else base
