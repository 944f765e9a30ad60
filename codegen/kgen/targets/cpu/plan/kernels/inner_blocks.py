"""Inner products with a B of 4 bits in blocks along K (:mod:`kgen_runtime.blocks`).

A chain's step is a block. Its numbers become floats by their place among the digits of 2^23, and
its products are added up before they are scaled, once for all of them.
"""

from __future__ import annotations

from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import access
from kgen.targets.cpu.plan.kernels.inner_vectors import Chain
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.values import frozen

#: Bytes of a block before its numbers.
SCALE_BYTES = 2
#: The bits of 2^23 in f32, whose last place is 1.
EXPONENT = 0x4B000000


@frozen
class BlockPiece:
    """A vector of numbers of a block, `at` elements from its first, whose bytes are `byte` from the
    block's; `valid` as of a chain."""

    name: str
    at: int
    byte: int
    upper: bool
    valid: int


@frozen
class BlocksOfB:
    """Blocks of a B of 4 bits, multiplied into sums of type `sums`; `scale` reads a block's scale
    into the first element of the narrowest vector."""

    sums: Vector
    scale: Access

    @property
    def bytes(self) -> int:
        return BLOCK_BYTES

    @property
    def shift(self) -> int:
        """Divides a number of elements by those of a block."""
        return BLOCK.bit_length() - 1

    @property
    def numbers(self) -> Vector:
        """Bytes that have a vector's numbers in one of their halves."""
        return self.sums.of("i8")

    @property
    def exponent(self) -> str:
        return self.sums.integers.splat(EXPONENT)

    @property
    def zero(self) -> str:
        """Constant that is subtracted from a number once it has its exponent."""
        return self.sums.splat(2.0**23 + OFFSET)

    def pieces(self, chain: Chain) -> tuple[BlockPiece, ...]:
        """A block's vectors, but for those past the end of K."""
        count, half = self.sums.count, BLOCK // 2
        valid = chain.valid or BLOCK
        return tuple(
            BlockPiece(
                name=f"{chain.name}p{at}",
                at=at,
                byte=SCALE_BYTES + at % half,
                upper=at >= half,
                valid=0 if at + count <= valid else valid - at,
            )
            for at in range(0, BLOCK, count)
            if at < valid
        )


def blocks_of_b(target: Target, sums: Vector) -> BlocksOfB:
    scale = access(target, DType.F16, Vector(count=4, scalar="float"))
    return BlocksOfB(sums=sums, scale=scale)
