"""Units of a tile's copy: the address of each memory access, and its guards."""

from __future__ import annotations

from collections.abc import Callable

from kgen_runtime.values import frozen

#: Shared address of element (row, col): (address of the tile's first ^ xor) + offset.
Place = Callable[[int, int], tuple[int, int]]


@frozen
class Words:
    """The registers that hold a unit of `nbytes`, a power of two up to 16, and their access."""

    nbytes: int

    @property
    def count(self) -> int:
        return max(1, self.nbytes // 4)

    @property
    def is_short(self) -> bool:
        """Whether a unit is in a register of 16 bits."""
        return self.nbytes < 4

    @property
    def type(self) -> str:
        """Type of a register."""
        return "b16" if self.is_short else "b32"

    @property
    def access(self) -> str:
        """The type of what a load or store moves to or from each."""
        return f"b{8 * min(4, self.nbytes)}"

    def names(self, stem: str) -> tuple[str, ...]:
        return tuple(f"{stem}{i}" for i in range(self.count))


@frozen
class Unit:
    """Place of unit t + iT relative to unit t: elements, global bytes, shared bytes."""

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
class GuardRegister:
    """How many bytes of some units lie inside the matrix along m (or n), in a register.

    `along` is the units' distance from the thread's first in that direction, in elements.
    """

    register: str
    along: int


def xor_suffix(xor: int) -> str:
    """Registers of addresses with something xored in are named by it."""
    return f"_xor{xor}" if xor else ""
