"""Inner products with a B of 4 bits in blocks along K (:mod:`kgen_runtime.blocks`).

A chain's step is a block. Its numbers become floats by their place among the digits of 2^23, and
its products are added up before they are scaled, once for all of them.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import access
from kgen.targets.cpu.plan.kernels.inner import Chain, InnerPlan, plan_inner
from kgen.targets.cpu.plan.vectors import Access, Vector, float_constant
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.values import frozen

#: Bytes of a block before its numbers.
SCALE_BYTES = 2
#: The bits of 2^23 in f32, whose last place is 1.
EXPONENT = 0x4B000000


@frozen
class Piece:
    """A vector of numbers of a block, `at` elements from its first, whose bytes are `byte` from the
    block's; `valid` as of a chain."""

    name: str
    at: int
    byte: int
    upper: bool
    valid: int


@frozen
class InnerBlocksPlan(InnerPlan):
    @property
    def has_blocks(self) -> bool:
        return True

    @property
    def k_vector(self) -> int:
        return BLOCK

    @property
    def block_bytes(self) -> int:
        return BLOCK_BYTES

    @property
    def block_shift(self) -> int:
        """Divides a number of elements by those of a block."""
        return BLOCK.bit_length() - 1

    @property
    def scale(self) -> Access:
        """A block's scale, in the first element of the narrowest vector."""
        return access(self.target, DType.F16, Vector(count=4, scalar="float"))

    @property
    def number_bytes(self) -> Vector:
        """Bytes that have a vector's numbers in one of their halves."""
        return self.sums.of("i8")

    @property
    def exponent(self) -> str:
        return self.sums.integers.splat(EXPONENT)

    @property
    def zero(self) -> str:
        """What a number is away from, once it has the exponent."""
        value = float_constant(2.0**23 + OFFSET, self.sums.scalar)
        return f"splat ({self.sums.scalar} {value})"

    def pieces(self, chain: Chain) -> tuple[Piece, ...]:
        """A block's vectors, but for those past the end of K."""
        count, half = self.sums.count, BLOCK // 2
        valid = chain.valid or BLOCK
        return tuple(
            Piece(
                name=f"{chain.name}p{at}",
                at=at,
                byte=SCALE_BYTES + at % half,
                upper=at >= half,
                valid=0 if at + count <= valid else valid - at,
            )
            for at in range(0, BLOCK, count)
            if at < valid
        )

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.spec.k % self.sums.count > 1:
            types = types | {self.along.stored}
        return tuple(sorted(types, key=str))


def plan_inner_blocks(spec: Matmul, target: Target, schedule: InnerMatmul) -> InnerPlan:
    """Raises ScheduleError as plan_inner does."""
    if schedule.pack_b:
        raise ScheduleError("pack_b=1 is not supported for a B of s4; try pack_b=0")
    return plan_inner(spec, target, schedule, InnerBlocksPlan)
