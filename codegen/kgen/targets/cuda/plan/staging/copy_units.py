"""Units of a tile's copy: the address of each memory access, and its guards."""

from __future__ import annotations

from collections.abc import Callable

from kgen_runtime.values import frozen

#: Function from (row, col) of an element to (xor, offset) of its shared address, which is
#: (address of the tile's first element ^ xor) + offset.
Place = Callable[[int, int], tuple[int, int]]


@frozen
class Words:
    """Registers that hold a unit of `nbytes`, a power of two up to 16, and the type of its
    access."""

    nbytes: int

    @property
    def count(self) -> int:
        return max(1, self.nbytes // 4)

    @property
    def is_short(self) -> bool:
        """Whether a unit is smaller than a 32-bit register."""
        return self.nbytes < 4

    @property
    def type(self) -> str:
        """Type of a register."""
        return "b16" if self.is_short else "b32"

    @property
    def access(self) -> str:
        """Type that a load or store has for each register."""
        return f"b{8 * min(4, self.nbytes)}"

    def names(self, stem: str) -> tuple[str, ...]:
        return tuple(f"{stem}{i}" for i in range(self.count))


@frozen
class Unit:
    """Distance of unit t + iT from unit t: in elements, in global bytes, in shared bytes."""

    index: int
    row: int
    col: int
    source: int
    xor: int
    shared: int

    @property
    def put(self) -> str:
        """Suffix of the register with the address for this xor."""
        return xor_suffix(self.xor)


@frozen
class GuardRegister:
    """Register with the number of bytes of some units that are inside the matrix along m (or n).

    `along` is the units' distance from the thread's first in that direction, in elements.
    """

    register: str
    along: int


def xor_suffix(xor: int) -> str:
    """Return the suffix of the name of an address register, which names its xor."""
    return f"_xor{xor}" if xor else ""
