"""Parts of products of bytes: the operands and instructions that they suit, blocks of A, vectors of
B, and tiles of sums."""

from __future__ import annotations

from collections.abc import Collection

from kgen.spec import ConstantOperand, DType, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import are_windows
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.tiles.dots import VPDPBUSD, VPMADDWD
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.blocks import BLOCK
from kgen_runtime.values import frozen

#: Signed bytes of an integer. Four hold each f32 within 2^-7 of the largest one of its block
#: exactly: activations of models have outliers, and other numbers of the block need their digits.
#: Three are enough for a block of s4, which is shorter.
LIMBS, LIMBS_OF_S4 = 4, 3
#: The longest K of which a row of limbs fits a thread's stack.
MOST_K = 49152
#: K in a group that an instruction adds up.
GROUP = RoundingUnit(4)
#: K that shares an exponent, where B has no blocks of its own.
SHARED_K = 64
#: Numbers in the lower halves of a block's bytes.
HALF_BLOCK = RoundingUnit(BLOCK // 2)
#: Bytes of a block's scale, and of its numbers in a vector's lane.
SCALE_BYTES, RUN = 2, 4
#: Vectors of numbers of B in a turn of the loop over them.
TURN = 4
#: Offset of s8 that makes its numbers unsigned.
HALF_OF_BYTES = 128
#: Bytes of a block's unit, and of what the sums of a limb of it start from.
UNIT_BYTES = 4


@frozen
class LimbDot:
    """Instruction for products of unsigned bytes of B and signed ones of A. Without `widen` it adds
    four of them to a sum of 32 bits, else two of them to one of 16, which `widen` makes sums of 32
    bits after a block's eight."""

    mnemonic: str
    intrinsic: str
    widen: str = ""
    features: Collection[str] = ()


def _vnni(feature: str, nbytes: int) -> LimbDot:
    dot = VPDPBUSD.of(feature, nbytes)
    return LimbDot(mnemonic=dot.mnemonic, intrinsic=dot.intrinsic, features=dot.features)


def _pairs(nbytes: int, intrinsic: str) -> LimbDot:
    """Return VPMADDUBSW, which adds two products and saturates: eight times 2 x 15 x 128 is under
    2^15 (Intel SDM volume 2)."""
    widen = VPMADDWD.intrinsics[nbytes]
    return LimbDot(mnemonic="vpmaddubsw", intrinsic=intrinsic, widen=widen)


#: Instructions by the feature that brings each, with the types of B that fit its sums; the first
#: one that the target has is used.
LIMB_DOTS: tuple[tuple[str, LimbDot, tuple[BType, ...]], ...] = (
    ("avx512_vnni", _vnni("avx512_vnni", 64), (BType.S8, BType.S4)),
    ("avx512bw", _pairs(64, "llvm.x86.avx512.pmaddubs.w.512"), (BType.S4,)),
    ("avx_vnni", _vnni("avx_vnni", 32), (BType.S8, BType.S4)),
    ("avx2", _pairs(32, "llvm.x86.avx2.pmadd.ub.sw"), (BType.S4,)),
)


def limb_dot(spec: Matmul, target: Target) -> LimbDot | None:
    """Return the instruction for a constant B of few bits and an A contiguous along K."""
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
    """Numbers of B in the stored vector `vector`, `at` bytes from the turn's first: its bytes, or
    the `upper` or lower halves of them.

    Groups of A, `a` bytes from the turn's first, are multiplied by them and added to the sums that
    end with `before`.
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
    """Byte of each integer, `bits` from its least significant one, and `plane` bytes from a block's
    first limbs.

    Its sums start from zero, or from the integers `starts`, whose sum is `start` bytes from a
    block's unit.
    """

    name: str
    bits: int
    plane: int
    starts: str
    start: int


@frozen
class BlocksOfA:
    """A in block floating point: `count` blocks of K, of which `whole` are whole."""

    count: int
    whole: int
    #: Bytes of the limbs of a block, and of a row, which is a stream for the hardware prefetcher.
    limbs: int
    limb_row: int
    #: Bytes that are kept of a block (:func:`block_of_a`), and of a row.
    kept: int
    kept_row: int


@frozen
class BlocksOfLimbs:
    """Prepacked B for byte products; sizes and strides are in bytes."""

    #: Panel of a block of K.
    block: int
    #: Column of all blocks, and a panel of them.
    column: int
    panel: int
    #: Scales of a block, which precede its numbers.
    numbers_at: int
    #: Vector of numbers, those of a turn of the loop, and all of a panel in a block.
    step: int
    turn: int
    numbers: int
    #: Shift that divides bytes of B to get those of a limb of A.
    lanes_shift: int

    @property
    def group_mask(self) -> int:
        """Mask of a place in a block: the place's vector of numbers, times GROUP."""
        return (self.numbers // self.step - 1) * GROUP


@frozen
class LimbConstants:
    """Constants for integers that become limbs."""

    #: Half of a byte in each limb, and in the two lower ones.
    halves: int
    lower_halves: int
    #: Powers of two from a block's unit to its exponent: integers have a sign, and the exponent's
    #: power is half of one that is above the largest number.
    unit_below: int
    #: Sum of a block's biased exponent and that of the inverse of its unit.
    per_unit: int


def limb_count(spec: Matmul) -> int:
    return LIMBS_OF_S4 if spec.has_blocks else LIMBS


def limb_registers(limbs: int, rows: int, vectors: int) -> int:
    """Return the registers of a tile: sums of limbs and of floats, halves of vectors of B, a limb
    of A and a constant."""
    return (limbs + 1) * rows * vectors + 2 * vectors + 2


def shared_k(spec: Matmul) -> RoundingUnit:
    """Return the elements of K that share an exponent: a block of B, if it has any."""
    return RoundingUnit(BLOCK if spec.has_blocks else SHARED_K)


def starts_of_limbs(spec: Matmul) -> tuple[tuple[str, int], ...]:
    """Return, for each limb, the integers that its sums start from (its own and those of the limbs
    that are added to it), or none, and their place among what is kept of a block. Three limbs
    become one float, four two."""
    if spec.has_blocks:
        return (("integers", 1), ("", 0), ("", 0))
    return (("lower", 1), ("", 0), ("upper", 2), ("", 0))


def block_of_a(spec: Matmul) -> int:
    """Return the bytes kept of a block of A: its unit, and start values of its limbs' sums."""
    return UNIT_BYTES * (1 + max(at for _, at in starts_of_limbs(spec)))


def limbs_scratch(spec: Matmul) -> int:
    """Return the bytes of the stack for a row of A."""
    kc = shared_k(spec)
    return -(-spec.k // kc) * (limb_count(spec) * kc + block_of_a(spec)) + LINE_BYTES


def packed_otherwise(spec: Matmul, target: Target) -> bool:
    """Return whether B is prepacked for AMX tiles or byte products, which all M share."""
    if limb_dot(spec, target) is not None:
        return True
    return bool(spec.constant) and tile_product(spec.dtype, target) is not None
