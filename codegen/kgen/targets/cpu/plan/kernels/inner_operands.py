"""Operands of the inner-product matmul: vectors along K, 4-bit blocks of B, and a transposed B.

A skinny B (small N) is transposed once for all rows of A. Vectors along N would be mostly empty;
vectors along K are full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, access, vector_for
from kgen.targets.cpu.plan.kernels.blis import has_pairs
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.packing.panel import (
    PanelFormat,
    RegisterTranspose,
    Side,
    b_is_packed,
    register_transpose,
)
from kgen.targets.cpu.plan.tiles.dots import WORD, dot_for, takes_words
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, scalar_type, vector_parts
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.values import frozen

#: Registers that widening needs between loads and multiply-adds.
WIDENING_REGISTERS = 4


def is_inner(spec: Matmul) -> bool:
    """Return whether A and the unpacked B are contiguous along K."""
    return not b_is_packed(spec) and spec.a_strides[2] == 1 and spec.b_strides[1] == 1


def may_transpose_b(spec: Matmul, target: Target) -> bool:
    """Return whether a kernel may transpose B. A must be contiguous along K. B must be row-major or
    prepacked in panels, and of float type."""
    if spec.a_strides[2] != 1 or spec.has_blocks or spec.accumulate.is_integer:
        return False
    if not b_is_packed(spec):
        return spec.b_strides[2] == 1
    pairs = has_pairs(spec) or (spec.dtype is DType.BF16 and dot_for(spec.dtype, target))
    return bool(pairs) or (spec.b_dtype is None and spec.dtype in (DType.F32, DType.F64))


def column_bytes(spec: Matmul) -> int:
    """Return the bytes per column of a transposed B: whole cache lines and one line of padding,
    which avoids set conflicts of columns."""
    return (-(-spec.k * spec.b_type.itemsize // LINE_BYTES) + 1) * LINE_BYTES


def k_of_step(spec: Matmul, target: Target) -> int:
    """Return the elements of K per step: a vector, or a quantisation block of B."""
    along, _ = vector_along(spec, target)
    return BLOCK if spec.has_blocks else along.compute.count


def vector_along(spec: Matmul, target: Target) -> tuple[Access, Vector]:
    """Return the access to vectors along K, and the type of their accumulators."""
    dot = dot_for(spec.dtype, target)
    if dot or takes_words(spec, target):
        sums = vector_for(target, DType.F32, COLUMNS)
        along = Vector(count=sums.count * (dot.group if dot else WORD), scalar="float")
        return access(target, spec.dtype, along), sums.of(scalar_type(spec.accumulate))
    sums = vector_for(target, spec.accumulate, spec.k)
    return access(target, spec.dtype, sums), sums


def tile_registers(spec: Matmul, target: Target, rows: int, columns: int, unroll: int) -> int:
    """Return the registers of a tile: its shorter side stays in registers, the other one streams.
    Widening needs a few more registers, which LLVM would otherwise spill."""
    along, sums = vector_along(spec, target)
    needed = registers_needed(max(rows, columns), min(rows, columns))
    needed += (unroll - 1) * rows * columns
    dot = dot_for(spec.dtype, target)
    if dot is not None:
        return needed + dot.extra_registers
    if takes_words(spec, target):
        # Both halves of the streamed word, second halves of the words in registers, and a mask.
        return needed + min(rows, columns) + WORD
    widened = not along.is_wide and along.compute == sums
    widened |= spec.b_type is not spec.dtype
    return needed + WIDENING_REGISTERS + unroll - 1 if widened else needed


#: Bytes of a block's scale, which precedes its numbers.
SCALE_BYTES = 2
#: Bits of 2^23 in f32; its lowest mantissa bit has the value 1.
EXPONENT = 0x4B000000


@frozen
class BlockPiece:
    """Vector of a block's numbers, from element `at` on. The numbers are the `upper` or the lower
    halves of the block's bytes from `byte` on. `valid` is as in :class:`VectorPart`."""

    name: str
    at: int
    byte: int
    upper: bool
    valid: int


@frozen
class BlocksOfB:
    """Blocks along K of a 4-bit B (:mod:`kgen_runtime.blocks`), with accumulators of type `sums`.

    A number becomes a float by insertion into the lowest mantissa bits of 2^23. The products of a
    block are added before they are scaled. `scale` is the access to a block's scale, which it
    reads into the first element of the narrowest vector.
    """

    bytes: ClassVar[int] = BLOCK_BYTES
    #: log2 of the elements per block.
    shift: ClassVar[int] = BLOCK.bit_length() - 1

    sums: Vector
    scale: Access

    @property
    def numbers(self) -> Vector:
        """Vector of bytes that hold a vector's numbers in their upper or lower halves."""
        return self.sums.of("i8")

    @property
    def exponent(self) -> str:
        return self.sums.integers.splat(EXPONENT)

    @property
    def zero(self) -> str:
        """Constant to subtract from a number that was inserted into 2^23."""
        return self.sums.splat(2.0**23 + OFFSET)

    def pieces(self, block: VectorPart) -> tuple[BlockPiece, ...]:
        """Return a block's vectors, except those past the end of K."""
        half = BLOCK // 2
        return tuple(
            BlockPiece(
                name=f"k{block.index}p{part.first}",
                at=part.first,
                byte=SCALE_BYTES + part.first % half,
                upper=part.first >= half,
                valid=part.valid,
            )
            for part in vector_parts(block.valid or BLOCK, self.sums.count)
        )


@frozen
class ColumnsOfB:
    """Range of `count` adjacent columns of B, with `steps` steps along K. `start` and `to` are its
    byte offsets in B and in the transposed B. In memory, each step has `stored` columns, and the
    next step begins `row` columns later. A transpose has `size` columns and `size` steps."""

    name: str
    count: int
    stored: int
    start: int
    to: int
    steps: int
    size: int
    row: int

    @property
    def overlap(self) -> bool:
        """Whether the range has room for a transpose. The last transposes along both dimensions
        then overlap the ones before them."""
        return min(self.count, self.steps) >= self.size

    @property
    def whole(self) -> int:
        """Number of steps in whole transposes that read no element past the end of B."""
        past = -(-max(self.size - self.stored, 0) // self.row)
        return max(self.steps - past, 0) // self.size * self.size

    @property
    def leaves_steps(self) -> bool:
        return self.whole < self.steps


@frozen
class TransposedB:
    """Skinny B (small N), transposed to rows along K in %b.pack. `sums` is the type of
    accumulators, `format` the order of a prepacked B. `strides` are the strides of B in bytes along
    the batch, K and N."""

    spec: Matmul
    sums: Vector
    format: PanelFormat
    is_prepacked: bool
    strides: Sequence[int]

    @property
    def moved(self) -> Access:
        """Access to the unit of the transpose: an element, or a pair along K."""
        dtype = DType.S32 if self.format.depth > 1 else self.spec.b_type
        return Access(dtype=dtype, compute=self.sums)

    @property
    def steps(self) -> int:
        return -(-self.spec.k // self.format.depth)

    @property
    def between(self) -> int:
        """Bytes in B from one step along K to the next."""
        return self.format.depth * self.strides[1]

    @property
    def column(self) -> int:
        return column_bytes(self.spec)

    @property
    def transpose(self) -> RegisterTranspose:
        return register_transpose(self.moved.dtype, stride=self.between, pack_row=self.column)

    @property
    def parts(self) -> tuple[ColumnsOfB, ...]:
        """Ranges of contiguous columns: one for all, or one per prepacked panel."""
        n, size = self.spec.n, self.moved.itemsize
        width = self.format.width if self.is_prepacked else n
        return tuple(
            ColumnsOfB(
                name=f"b{first // width}",
                count=min(width, n - first),
                stored=width,
                start=first * self.strides[2],
                to=first * self.column,
                steps=self.steps,
                size=self.transpose.size,
                row=self.between // size,
            )
            for first in range(0, n, width)
        )

    def sides(self, part: ColumnsOfB) -> tuple[Side, ...]:
        """Return the columns of a range, with the row that each becomes."""
        size = self.moved.itemsize
        return tuple(Side(index=i, start=i * size, to=i * self.column) for i in range(part.count))

    @property
    def buffer(self) -> Buffer:
        order = f"{self.moved.stored.scalar} [n][k], {self.column} B per row"
        return Buffer(name="%b.pack", holds=order, bytes=self.spec.n * self.column)
