"""Parts of the limbs matmul, which multiplies an f32 A, split into signed bytes, with B of bytes.

The parts are the supported operands, instructions, blocks of A, vectors of B, and sizes of buffers.
"""

from __future__ import annotations

from kgen.spec import ConstantOperand, DType, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import are_windows
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.tiles.dots import VPDPBUSD, VPMADDUBSW, Dot
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.blocks import BLOCK
from kgen_runtime.values import frozen

#: Limbs (signed bytes) of the integer that replaces a number of A. Four limbs hold an f32 exactly
#: if it is at least 2^-7 of the largest number of its block: activations have outliers, and other
#: numbers must keep their digits beside them. Three limbs suffice for the shorter blocks of s4.
LIMBS, LIMBS_OF_S4 = 4, 3
#: Largest K for which a row of limbs fits a thread's stack.
MOST_K = 49152
#: Elements of K in a group, whose products one instruction adds.
GROUP = RoundingUnit(4)
#: Elements of K that share an exponent if B has no quantisation blocks.
SHARED_K = 64
#: Numbers that a block's bytes hold in their lower halves.
HALF_BLOCK = RoundingUnit(BLOCK // 2)
#: Bytes of a block's scale, and bytes of its numbers per lane of a vector.
SCALE_BYTES, RUN = 2, 4
#: Vectors of B per iteration ("turn") of the loop over a block.
TURN = 4
#: Addend that makes s8 unsigned.
HALF_OF_BYTES = 128
#: Bytes of a block's unit, and of the start value of a limb's sums.
UNIT_BYTES = 4


#: Feature, bytes of vectors and instruction, and types of B that do not overflow its sums; a kernel
#: uses the first instruction that the target supports. 16-bit sums of VPMADDUBSW do not saturate in
#: a block of s4: 8 x 2 x 15 x 128 is below 2^15.
LIMB_DOTS: tuple[tuple[str, Dot, tuple[BType, ...]], ...] = tuple(
    (feature, dot.of(feature, nbytes), types)
    for feature, nbytes, dot, types in (
        ("avx512_vnni", 64, VPDPBUSD, (BType.S8, BType.S4)),
        ("avx512bw", 64, VPMADDUBSW, (BType.S4,)),
        ("avx_vnni", 32, VPDPBUSD, (BType.S8, BType.S4)),
        ("avx2", 32, VPMADDUBSW, (BType.S4,)),
    )
)


def limb_dot(spec: Matmul, target: Target) -> Dot | None:
    """Return the instruction for a constant B and an f32 A contiguous along K; None without one."""
    if (
        ConstantOperand.B not in spec.constant
        or spec.a_strides[2] != 1
        or spec.dtype is not DType.F32
        or are_windows(spec)
    ):
        return None
    if spec.k > MOST_K and not spec.has_blocks:
        return None
    return next(
        (dot for feature, dot, types in LIMB_DOTS if target.has(feature) and spec.b_dtype in types),
        None,
    )


@frozen
class Factor:
    """Vector of numbers of B that is multiplied with one group of A.

    The numbers are the bytes of the stored vector `vector`, or the `upper` or lower halves of the
    bytes. `at` and `a` are the byte offsets of the vector and of the group of A in the turn. The
    products are added to the sums with suffix `before`, which gives those with suffix `after`.
    """

    name: str
    vector: str
    at: int
    is_first: bool
    upper: bool
    a: int
    before: str
    after: str


@frozen
class Limb:
    """Limb of all integers of a block: the byte at bit `bits`.

    The limbs are stored together, `plane` bytes after the block's first ones. Their sums start from
    zero, or from a value that depends on the integers named `starts`; that value is stored `start`
    bytes after the block's unit.
    """

    name: str
    bits: int
    plane: int
    starts: str
    start: int


@frozen
class BlocksOfA:
    """A in block floating point, with `count` blocks along K; the first `whole` are complete."""

    count: int
    whole: int
    #: Bytes of limbs per block and per row. The hardware prefetcher sees a row as one stream.
    limbs: int
    limb_row: int
    #: Bytes of units and start values per block (:func:`block_of_a`) and per row.
    kept: int
    kept_row: int


@frozen
class BlocksOfLimbs:
    """Sizes of a prepacked B for products of bytes, in bytes."""

    #: One panel in one block of K.
    block: int
    #: One column, and one panel, in all blocks of K.
    column: int
    panel: int
    #: Offset of a block's numbers, which follow its scales.
    numbers_at: int
    #: Numbers in one vector, in one turn of the loop, and in one panel of a block.
    step: int
    turn: int
    numbers: int
    #: Shift that converts an offset in B to the offset in a limb of A.
    lanes_shift: int

    @property
    def group_mask(self) -> int:
        """Mask that extracts the position in a block from a position in K. Positions are numbers
        of vectors of B, times GROUP."""
        return (self.numbers // self.step - 1) * GROUP


@frozen
class LimbConstants:
    """Constants with which numbers of A become integers, and integers become limbs."""

    #: Integer with half of a byte (128) in each limb, and in the two lower limbs.
    halves: int
    lower_halves: int
    #: log2 of the ratio of a block's largest power of two to its unit. It is two bits less than an
    #: integer has: one is the sign, one holds numbers up to twice that power.
    unit_below: int
    #: Sum of the biased exponents of a block and of the inverse of its unit.
    per_unit: int


def limb_count(spec: Matmul) -> int:
    return LIMBS_OF_S4 if spec.has_blocks else LIMBS


def limb_registers(limbs: int, rows: int, vectors: int) -> int:
    """Return the registers of a tile: integer sums per limb, float sums, two halves of each vector
    of B, a limb of A and a constant."""
    return (limbs + 1) * rows * vectors + 2 * vectors + 2


def shared_k(spec: Matmul) -> RoundingUnit:
    """Return the elements of K that share an exponent: a quantisation block of B, or SHARED_K."""
    return RoundingUnit(BLOCK if spec.has_blocks else SHARED_K)


def starts_of_limbs(spec: Matmul) -> tuple[tuple[str, int], ...]:
    """Return, for each limb, the start value of its sums: the name of the integers whose sum it is,
    and the number of its 4-byte word among a block's unit and start values.

    The name is empty for limbs that start from zero. Three limbs become one float, four become two;
    the integers of a float include all limbs that are added to it.
    """
    if spec.has_blocks:
        return (("integers", 1), ("", 0), ("", 0))
    return (("lower", 1), ("", 0), ("upper", 2), ("", 0))


def block_of_a(spec: Matmul) -> int:
    """Return the bytes per block of A for its unit and the start values of its limbs' sums."""
    return UNIT_BYTES * (1 + max(at for _, at in starts_of_limbs(spec)))


def limbs_scratch(spec: Matmul) -> int:
    """Return the bytes of stack that a row of A needs."""
    kc = shared_k(spec)
    return -(-spec.k // kc) * (limb_count(spec) * kc + block_of_a(spec)) + LINE_BYTES


def packed_otherwise(spec: Matmul, target: Target) -> bool:
    """Return whether B is prepacked for AMX tiles or byte products, which all M share."""
    if limb_dot(spec, target) is not None:
        return True
    return bool(spec.constant) and tile_product(spec.dtype, target) is not None
