"""A unit of a tile's copy, one memory access: where it lies, and what guards it."""

from __future__ import annotations

from collections.abc import Callable

from kgen_runtime.values import frozen

#: Shared address of element (row, col): (address of the tile's first ^ xor) + offset.
Place = Callable[[int, int], tuple[int, int]]


@frozen
class Unit:
    """Where unit t + iT lies, seen from unit t: elements, global bytes, shared bytes."""

    index: int
    row: int
    col: int
    source: int
    xor: int
    shared: int

    @property
    def put(self) -> str:
        """The suffix of the register with the address that its xor gives."""
        return xor_suffix(self.xor)


@frozen
class Guard:
    """How many bytes of some units lie inside the matrix along m (or n), in a register.

    `along` is the units' distance from the thread's first in that direction, in elements.
    """

    register: str
    along: int


def xor_suffix(xor: int) -> str:
    """Registers of addresses with something xored in are named by it."""
    return f"_xor{xor}" if xor else ""
