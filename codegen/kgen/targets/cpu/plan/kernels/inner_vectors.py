"""Vectors along K: the operands that they suit, how they are read, and the registers of a tile."""

from __future__ import annotations

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, access, vector_for
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.kernels.blis_pairs import has_pairs
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.packing.prepacked import b_is_packed
from kgen.targets.cpu.plan.tiles.dots import WORD, dot_for, takes_words
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.plan.vectors import Access, Vector, scalar_type
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.values import frozen

#: Registers that elements pass through between memory and multiply-adds, where they are widened.
WIDENING_REGISTERS = 4


@frozen
class Chain:
    """Vector of K, `at` elements from the step's or the row's first; `valid` is 0 for a whole one,
    else the number of its elements."""

    name: str
    at: int
    valid: int


@frozen
class StepsAlongK:
    """Steps of the loop along `depth` of K, each of `unroll` vectors of `vector` elements."""

    depth: int
    vector: int
    unroll: int

    @property
    def step(self) -> int:
        return self.vector * self.unroll

    @property
    def whole(self) -> int:
        """Elements of K in whole steps."""
        return self.depth - self.depth % self.step

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Vectors of a step, each with sums of its own."""
        return tuple(Chain(name=f"k{u}", at=u * self.vector, valid=0) for u in range(self.unroll))

    @property
    def rest(self) -> tuple[Chain, ...]:
        """Vectors after whole steps."""
        left = self.depth - self.whole
        return tuple(
            Chain(
                name=chain.name,
                at=self.whole + chain.at,
                valid=0 if chain.at + self.vector <= left else left - chain.at,
            )
            for chain in self.chains
            if chain.at < left
        )


def is_inner(spec: Matmul) -> bool:
    """Return whether A and the unpacked B are contiguous along K."""
    return not b_is_packed(spec) and spec.a_strides[2] == 1 and spec.b_strides[1] == 1


def may_transpose_b(spec: Matmul, target: Target) -> bool:
    """Return whether A is contiguous along K, and B along its rows or in panels."""
    if spec.a_strides[2] != 1 or spec.has_blocks or spec.accumulate.is_integer:
        return False
    if not b_is_packed(spec):
        return spec.b_strides[2] == 1
    pairs = has_pairs(spec) or (spec.dtype is DType.BF16 and dot_for(spec.dtype, target))
    return bool(pairs) or (spec.b_dtype is None and spec.dtype in (DType.F32, DType.F64))


def panel_columns(spec: Matmul, target: Target) -> int:
    """Return the columns per panel of a prepacked B."""
    if dot_for(spec.dtype, target):
        return COLUMNS
    return vector_for(target, finishing_type(spec), spec.n).count


def column_bytes(spec: Matmul) -> int:
    """Return the bytes per column of a transposed B, incomplete pairs included: whole lines and one
    more, lest columns map to few sets of a cache."""
    return (-(-spec.k * spec.b_type.itemsize // LINE_BYTES) + 1) * LINE_BYTES


def k_of_step(spec: Matmul, target: Target) -> int:
    """Return the elements of K that a chain of products takes at once: a vector, or a block of
    B."""
    along, _ = vector_along(spec, target)
    return BLOCK if spec.has_blocks else along.compute.count


def vector_along(spec: Matmul, target: Target) -> tuple[Access, Vector]:
    """Return the access to vectors of K, and the vector of sums that they are multiplied into."""
    dot = dot_for(spec.dtype, target)
    if dot or takes_words(spec, target):
        sums = vector_for(target, DType.F32, COLUMNS)
        along = Vector(count=sums.count * (dot.group if dot else WORD), scalar="float")
        return access(target, spec.dtype, along), sums.of(scalar_type(spec.accumulate))
    sums = vector_for(target, spec.accumulate, spec.k)
    return access(target, spec.dtype, sums), sums


def tile_registers(spec: Matmul, target: Target, rows: int, columns: int, unroll: int) -> int:
    """Return the registers of a tile: the shorter of rows and columns is held while the others
    stream. Widening needs a few more, which LLVM would otherwise spill."""
    along, sums = vector_along(spec, target)
    needed = registers_needed(max(rows, columns), min(rows, columns))
    needed += (unroll - 1) * rows * columns
    dot = dot_for(spec.dtype, target)
    if dot is not None:
        return needed + dot.extra_registers
    if takes_words(spec, target):
        # A word beside each half of the one that goes by, the other halves of those held; a mask.
        return needed + min(rows, columns) + WORD
    widened = not along.is_wide and along.compute == sums
    widened |= spec.b_type is not spec.dtype
    return needed + WIDENING_REGISTERS + unroll - 1 if widened else needed


#: Bytes of a block before its numbers.
SCALE_BYTES = 2
#: The bits of 2^23 in f32, whose last place is 1.
EXPONENT = 0x4B000000


@frozen
class BlockPiece:
    """Vector of numbers of a block, `at` elements from its first, in the bytes from `byte` of the
    block on; `valid` as in a chain."""

    name: str
    at: int
    byte: int
    upper: bool
    valid: int


@frozen
class BlocksOfB:
    """Blocks along K of a B of 4 bits (:mod:`kgen_runtime.blocks`), multiplied into sums of type
    `sums`; `scale` reads a block's scale into the first element of the narrowest vector.

    A chain's step is a block. Its numbers become floats by their place among the digits of 2^23,
    and its products are added up before they are scaled, once for all of them.
    """

    sums: Vector
    scale: Access

    @property
    def bytes(self) -> int:
        return BLOCK_BYTES

    @property
    def shift(self) -> int:
        """Shift that divides a number of elements by those of a block."""
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
        """Return a block's vectors, except those past the end of K."""
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
    """Return the blocks of B for sums of a type."""
    scale = access(target, DType.F16, Vector(count=4, scalar="float"))
    return BlocksOfB(sums=sums, scale=scale)
