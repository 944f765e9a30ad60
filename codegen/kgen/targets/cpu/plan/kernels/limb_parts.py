"""Parts of products of bytes: the operands and instructions that they suit, blocks of A, vectors of
B, and tiles of sums."""

from __future__ import annotations

from kgen.spec import ConstantOperand, DType, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.cpu.limits import AVX_VNNI_FEATURES, VNNI_FEATURES
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.packing.packed_windows import are_windows
from kgen_runtime.blocks import BLOCK
from kgen_runtime.values import frozen

#: Signed bytes of an integer. Four hold each f32 as it is that is within 2^-7 of the largest one of
#: its block: a model's activations have outliers, which the others of a block must not vanish
#: beside. A block of s4 is shorter, and has fewer bytes to read while its limbs are multiplied.
LIMBS, LIMBS_OF_S4 = 4, 3
#: The longest K of which a row of limbs fits a thread's stack.
MOST_K = 49152
#: K in a group that an instruction adds up.
GROUP = 4
#: K that shares an exponent, where B has no blocks of its own.
SHARED_K = 64
#: Bytes of a block's scale, and of its numbers in a vector's lane.
SCALE_BYTES, RUN = 2, 4
#: Vectors of numbers of B in a turn of the loop over them.
TURN = 4
#: What is added to s8, so that its numbers are from 0 on.
HALF_OF_BYTES = 128
#: Bytes of a block's unit, and of what the sums of a limb of it start from.
UNIT_BYTES = 4


@frozen
class LimbDot:
    """An instruction for products of bytes, B's from 0 on and A's signed ones. Without `widen`
    four of them are added to a sum of 32 bits; else two become one of 16, of which a block has
    eight, and the instruction `widen` makes sums of 32 bits of those in the end."""

    mnemonic: str
    intrinsic: str
    widen: str = ""
    features: tuple[str, ...] = ()


#: Intel SDM volume 2: VPDPBUSD adds four products; VPMADDUBSW adds two, and saturates, which those
#: of a number of 4 bits stay far from: eight times 2 x 15 x 128 is under 2^15.
_VNNI_512 = LimbDot(
    mnemonic="vpdpbusd", intrinsic="llvm.x86.avx512.vpdpbusd.512", features=tuple(VNNI_FEATURES)
)
_VNNI_256 = LimbDot(
    mnemonic="vpdpbusd", intrinsic="llvm.x86.avx512.vpdpbusd.256", features=tuple(AVX_VNNI_FEATURES)
)
_BYTES_512 = LimbDot(
    mnemonic="vpmaddubsw",
    intrinsic="llvm.x86.avx512.pmaddubs.w.512",
    widen="llvm.x86.avx512.pmaddw.d.512",
)
_BYTES_256 = LimbDot(
    mnemonic="vpmaddubsw", intrinsic="llvm.x86.avx2.pmadd.ub.sw", widen="llvm.x86.avx2.pmadd.wd"
)
#: By the feature that brings it, and the types of B that it has room for; the first that is there.
LIMB_DOTS: tuple[tuple[str, LimbDot, tuple[BType, ...]], ...] = (
    ("avx512_vnni", _VNNI_512, (BType.S8, BType.S4)),
    ("avx512bw", _BYTES_512, (BType.S4,)),
    ("avx_vnni", _VNNI_256, (BType.S8, BType.S4)),
    ("avx2", _BYTES_256, (BType.S4,)),
)


def limb_dot(spec: Matmul, target: Target) -> LimbDot | None:
    """The instruction for a constant B of few bits and a matrix A whose K lies side by side."""
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
class PieceOfA:
    """A vector of a block of A, `at` elements from its first; `valid` is 0 for a whole one, else
    how many of its elements there are. An `absent` one is past K."""

    name: str
    at: int
    valid: int = 0
    absent: bool = False


@frozen
class Factor:
    """Numbers of B in the stored vector `vector`, `at` bytes from the turn's first: its bytes, or
    the `upper` or lower halves of them. They are multiplied by groups of A that are `a` bytes from
    the turn's first, and added to the sums that end with `before`."""

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
    """A byte of each integer, `bits` from its least significant one: `plane` bytes from a block's
    first limbs to these. Their sums start from zero, or from what `starts` says of the integers and
    is `start` bytes from a block's unit."""

    name: str
    bits: int
    plane: int
    starts: str
    start: int


@frozen
class BlocksOfA:
    """A in block floating point: `count` blocks of K, of which `whole` are whole; vectors of a
    whole block and of the one that K ends in.

    In bytes: the limbs of a block and of a row, which are side by side because a tile reads a
    stream for each row, and what is kept of a block and of a row's blocks.
    """

    count: int
    whole: int
    pieces: tuple[PieceOfA, ...]
    last_pieces: tuple[PieceOfA, ...]
    limbs: int
    limb_row: int
    kept: int
    kept_row: int


@frozen
class BlocksOfLimbs:
    """Prepacked B for byte products, in bytes: a column and a panel of a block and of all blocks, a
    block's scales before its numbers, a vector of numbers, those of a turn of the loop, and all
    numbers of a panel in a block. `lanes_shift` divides bytes of B to get those of a limb of A."""

    column_block: int
    block: int
    column: int
    panel: int
    numbers_at: int
    step: int
    turn: int
    numbers: int
    lanes_shift: int


@frozen
class PlaceOfNumber:
    """Place of a number of B by its index along K, for rows that are multiplied in f32.

    A shift gives the block and a mask the place in it. In the place, masks give the vector of
    numbers (times GROUP) and the byte of a lane, and a shift the half of the byte.
    """

    block_shift: int
    place_mask: int
    group_mask: int
    byte_mask: int
    half_shift: int


@frozen
class LimbConstants:
    """Constants for integers that become limbs: half of a byte in each limb, and in the two lower
    ones; powers of two from a block's unit to its exponent (they have a sign, and the exponent's
    power is half of one that is above the largest number); the biased exponents of a power of two
    and of its inverse, added."""

    halves: int
    lower_halves: int
    unit_below: int
    per_unit: int


@frozen
class LimbRow:
    """A row of a tile: bytes from the first one to its limbs, blocks and sums."""

    name: str
    limbs: int
    blocks: int
    acc: int


@frozen
class LimbColumns:
    """A vector of columns: bytes from the first one to its panel of B, and to its sums."""

    name: str
    b: int
    acc: int


@frozen
class LimbTile:
    rows: tuple[LimbRow, ...]
    columns: tuple[LimbColumns, ...]

    @property
    def name(self) -> str:
        return f"tile_{len(self.rows)}x{len(self.columns)}"

    @property
    def sums(self) -> tuple[str, ...]:
        return tuple(f"{m.name}_{v.name}" for m in self.rows for v in self.columns)


def limb_count(spec: Matmul) -> int:
    return LIMBS_OF_S4 if spec.has_blocks else LIMBS


def limb_registers(limbs: int, rows: int, vectors: int) -> int:
    """Return the registers of a tile: sums of limbs and of floats, both halves of a vector of B for
    each, a limb of A, and a constant."""
    return (limbs + 1) * rows * vectors + 2 * vectors + 2


def shared_k(spec: Matmul) -> int:
    """K that shares an exponent: a block of B, if it has any."""
    return BLOCK if spec.has_blocks else SHARED_K


def starts_of_limbs(spec: Matmul) -> tuple[tuple[str, int], ...]:
    """For each limb the integers, of it and those above that are added to it before they become
    floats, that its sums start from, or none, and the place of that among what is kept of a block:
    three limbs become one float, four two."""
    if spec.has_blocks:
        return (("integers", 1), ("", 0), ("", 0))
    return (("lower", 1), ("", 0), ("upper", 2), ("", 0))


def block_of_a(spec: Matmul) -> int:
    """Bytes of what the kernel keeps of a block of A: its unit, and what its limbs' sums start
    from."""
    return UNIT_BYTES * (1 + max(at for _, at in starts_of_limbs(spec)))


def limbs_scratch(spec: Matmul) -> int:
    kc = shared_k(spec)
    return -(-spec.k // kc) * (limb_count(spec) * kc + block_of_a(spec)) + LINE_BYTES


def packed_otherwise(spec: Matmul, target: Target) -> bool:
    """Return whether B is prepacked for AMX tiles or byte products: a target has one order of
    prepacked weights, which kernels of all M read."""
    if limb_dot(spec, target) is not None:
        return True
    return bool(spec.constant) and tile_product(spec.dtype, target) is not None
