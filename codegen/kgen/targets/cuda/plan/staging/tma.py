"""How TMA brings a tile of a matrix to shared memory, and how wgmma finds it there.

Boxes have rows of 128 bytes, whose 16-byte chunks are swizzled over eight rows (PTX ISA 5.5.7). A
matrix stored with k inside has its tile in one box: 64 of k in each row. One stored with m (or n)
inside has a box for each 64 of these, with one k in each row. Either way 64 rows of A, or 64
columns of B, take 8192 bytes, and eight rows of a box 1024. (Numbers are those of 16-bit types.
Bytes have 128 elements in a row, tf32 has 32, and wgmma takes both with k inside only.)
"""

from __future__ import annotations

from typing import Final

from kgen.spec import DType
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix
from kgen.targets.header import counted
from kgen_runtime.manifest import TensorMap
from kgen_runtime.values import frozen

ROW_BYTES: Final = 128
#: Eight rows, over which the swizzle repeats.
GROUP_BYTES = 8 * ROW_BYTES
#: Which bits of a byte's offset the swizzle adds, by exclusive or, to which others.
SWIZZLE_SHIFT, SWIZZLE_MASK = 3, 0x70
#: Of k in an instruction: 32 bytes.
STEP_BYTES = 32
#: Most rows of a box, and where a tensor map's strides end, in bytes (cuTensorMapEncodeTiled).
MAX_BOX, MAX_STRIDE = 256, 1 << 40
#: Bits 62 and 63 of a matrix descriptor, in its upper word: swizzled over 128 bytes.
SWIZZLE_128 = 1 << 30


@frozen
class Box:
    """Box that one instruction copies.

    It starts `along` m (or n) from the first of the CTA's share. `offset` is its place in the
    stage, in bytes, where that share is the tile's first.
    """

    along: int
    offset: int


@frozen
class TmaOperand:
    """A's or B's tile: `extent` rows of A or columns of B, `depth` of k; `base` is its first byte
    in a stage. `shares` CTAs of a cluster load a part of it each, for all of them."""

    matrix: Matrix
    batch: int
    extent: int
    depth: int
    base: int
    shares: int = 1

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def k_inner(self) -> bool:
        return self.matrix.k_inner

    @property
    def per_row(self) -> int:
        """Elements in a row of a box."""
        return ROW_BYTES // self.matrix.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.extent * self.depth * self.matrix.dtype.itemsize

    @property
    def map_name(self) -> str:
        return f"{self.name}_map"

    @property
    def batched(self) -> bool:
        return self.matrix.batch_stride != 0

    @property
    def dimensions(self) -> int:
        return 3 if self.batched else 2

    @property
    def share_extent(self) -> int:
        """Extent of m (or n) that this CTA loads."""
        return self.extent // self.shares

    @property
    def share_bytes(self) -> int:
        return self.nbytes // self.shares

    @property
    def box_extent(self) -> int:
        """Extent of m (or n) in a box."""
        if not self.k_inner:
            return self.per_row
        return self.share_extent // -(-self.share_extent // MAX_BOX)

    @property
    def box_bytes(self) -> int:
        return self.box_extent * self.depth * self.matrix.dtype.itemsize

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(
            Box(along=i * self.box_extent, offset=self.base + i * self.box_bytes)
            for i in range(self.share_extent // self.box_extent)
        )

    @property
    def tensor_map(self) -> TensorMap:
        """The matrix, its batch outermost where each product has its own."""
        matrix, itemsize = self.matrix, self.matrix.dtype.itemsize
        # A matrix of one row has no stride; the driver wants one all the same.
        row_stride = matrix.row_stride or -(-matrix.cols * itemsize // ROW_BYTES) * ROW_BYTES
        box = (self.box_extent, self.depth) if self.k_inner else (self.depth, self.box_extent)
        outer = (self.batch,) if self.batched else ()
        batch_strides = (matrix.batch_stride // itemsize,) if self.batched else ()
        return TensorMap(
            name=self.map_name,
            tensor=self.name,
            dtype=matrix.dtype,
            shape=(*outer, matrix.rows, matrix.cols),
            strides=(*batch_strides, row_stride // itemsize, 1),
            box=(*((1,) if self.batched else ()), *box),
            swizzle=ROW_BYTES,
            # wgmma only ever multiplies f32 as tf32, of which it would cut what is too long.
            tf32=matrix.dtype is DType.F32,
        )

    def coordinates(self, k: str, along: str, batch: str) -> str:
        """A box's place for the instruction, innermost dimension first, from operands."""
        inner, outer = (k, along) if self.k_inner else (along, k)
        return ", ".join((inner, outer, batch) if self.batched else (inner, outer))

    @property
    def step_words(self) -> int:
        """Distance between steps of k, in the 16-byte units of descriptors."""
        step = STEP_BYTES if self.k_inner else STEP_BYTES // self.matrix.dtype.itemsize * ROW_BYTES
        return step // MAX_ACCESS_BYTES

    @property
    def descriptor_low(self) -> int:
        """The lower word of a descriptor but the address: with m (or n) inside, the bytes from 64
        of them to the next 64 (PTX ISA 9.7.15.5.1, leading dimension byte offset)."""
        leading = MAX_ACCESS_BYTES if self.k_inner else self.depth * ROW_BYTES
        return leading // MAX_ACCESS_BYTES << 16

    @property
    def first_low(self) -> int:
        """The lower word of the first stage's descriptor, less the address of shared memory."""
        return self.base // MAX_ACCESS_BYTES + self.descriptor_low

    @property
    def descriptor_high(self) -> int:
        """The upper word: the bytes from eight rows to the next, and the swizzle."""
        return GROUP_BYTES // MAX_ACCESS_BYTES | SWIZZLE_128

    @property
    def is_transposed(self) -> int:
        """wgmma's immediate: 1 where the operand has m (or n) inside."""
        return 0 if self.k_inner else 1

    @property
    def unit(self) -> int:
        """Granularity of the extent of a share."""
        return 8 if self.k_inner else self.per_row

    @property
    def layout(self) -> str:
        """Layout of the tile's bytes, for a comment."""
        boxes = counted(len(self.boxes) * self.shares, "box", "boxes")
        return (
            f"{boxes}, rows of {ROW_BYTES} B, byte o of a box stored at "
            f"o ^ (o >> {SWIZZLE_SHIFT} & {SWIZZLE_MASK:#x})"
        )

    @property
    def descriptor_words(self) -> tuple[str, ...]:
        """A comment: the fields of a matrix descriptor, from its lowest bit on."""
        leading = (self.descriptor_low >> 16) * MAX_ACCESS_BYTES
        return (
            f"{self.name.upper()}'s descriptor: bits 0-13 start address / 16; 16-29 leading "
            f"dimension byte offset {leading} / 16;",
            f"32-45 stride dimension byte offset {GROUP_BYTES} / 16; 62-63 swizzle mode 1 "
            f"({ROW_BYTES} bytes)",
        )

    @property
    def is_shared(self) -> bool:
        return self.shares > 1

    @property
    def description(self) -> str:
        """A comment: the tile and how it is copied."""
        boxes = counted(len(self.boxes), "box", "boxes")
        rows, cols = self.tensor_map.box[-2:]
        return (
            f"{self.name.upper()}: {boxes} of {rows}x{cols} as stored by TMA, "
            f"k {'along' if self.k_inner else 'across'} the rows"
            + (f", for all {self.shares} CTAs of the cluster" if self.is_shared else "")
        )
