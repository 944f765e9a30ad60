"""TMA copies of tiles to shared memory, and the matrix descriptors by which wgmma reads them.

A tile consists of boxes. A box has rows of 128 bytes, whose 16-byte chunks are swizzled over eight
rows (PTX ISA 5.5.7). For 16-bit types:

- If the matrix is contiguous along k, a row of a box is 64 k of one m (or n).
- If it is contiguous along m (or n), a row is 64 m of one k.
- In both cases, 64 rows of A or columns of B take 8192 bytes, and eight rows of a box take 1024.

A row has 128 elements of 8 bits or 32 of tf32. wgmma requires these types to be contiguous along k.
"""

from __future__ import annotations

import itertools
from typing import Final

from kgen.spec import DType
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix
from kgen.targets.header import counted
from kgen_runtime.manifest import TensorMap
from kgen_runtime.values import frozen

ROW_BYTES: Final = 128
#: Bytes of eight rows, after which the swizzle repeats.
GROUP_BYTES = 8 * ROW_BYTES
#: Swizzle of a byte's offset: offset ^ (offset >> SHIFT & MASK).
SWIZZLE_SHIFT, SWIZZLE_MASK = 3, 0x70
#: Bytes of k per instruction.
STEP_BYTES = 32
#: Most rows of a box, and the limit of a tensor map's strides in bytes (cuTensorMapEncodeTiled).
MAX_BOX, MAX_STRIDE = 256, 1 << 40
#: Bits 62 and 63 of a matrix descriptor, in its upper word: swizzled over 128 bytes.
SWIZZLE_128 = 1 << 30


@frozen
class Box:
    """Box that one instruction copies.

    Its first m (or n) is `along` behind the first one of the CTA's share, and its first k is `k`
    behind that of the tile. In a stage, the box of the first share begins at byte `offset`.
    """

    along: int
    offset: int
    k: int = 0


@frozen
class TmaOperand:
    """Tile of A or B: `extent` rows of A or columns of B by `depth` of k.

    `base` is its first byte in a stage. Each of `shares` CTAs of a cluster loads a part of the tile
    for all of them. `batch` has the name and the size of each coordinate of the batch.
    """

    matrix: Matrix
    batch: tuple[tuple[str, int], ...]
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
        return 2 + len(self.matrix.batch_terms)

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
    def box_depth(self) -> int:
        """Extent of k in a box."""
        return min(self.depth, self.per_row) if self.k_inner else self.depth

    @property
    def divides_k(self) -> bool:
        """Whether boxes divide the tile along k."""
        return self.box_depth < self.depth

    @property
    def box_bytes(self) -> int:
        return self.box_extent * self.box_depth * self.matrix.dtype.itemsize

    @property
    def boxes(self) -> tuple[Box, ...]:
        places = itertools.product(
            range(0, self.depth, self.box_depth), range(0, self.share_extent, self.box_extent)
        )
        return tuple(
            Box(along=along, offset=self.base + i * self.box_bytes, k=k)
            for i, (k, along) in enumerate(places)
        )

    @property
    def tensor_map(self) -> TensorMap:
        """Tensor map of the matrix; the coordinates of its batch are the outermost dimensions."""
        matrix, itemsize = self.matrix, self.matrix.dtype.itemsize
        # A matrix of one row has no stride, but the driver requires one.
        row_stride = matrix.row_stride or -(-matrix.cols * itemsize // ROW_BYTES) * ROW_BYTES
        box = (self.box_extent, self.box_depth)
        sizes, terms = dict(self.batch), matrix.batch_terms
        return TensorMap(
            name=self.map_name,
            tensor=self.name,
            dtype=matrix.dtype,
            shape=(*(sizes[term.name] for term in terms), matrix.rows, matrix.cols),
            strides=(*(term.stride // itemsize for term in terms), row_stride // itemsize, 1),
            box=(*(1 for _ in terms), *(box if self.k_inner else box[::-1])),
            swizzle=ROW_BYTES,
            # wgmma multiplies f32 as tf32 and would truncate it; TMA rounds it.
            tf32=matrix.dtype is DType.F32,
        )

    def coordinates(self, k: str, along: str) -> str:
        """Return the coordinates of a box for the instruction, innermost dimension first."""
        batch = (f"%{term.name}" for term in reversed(self.matrix.batch_terms))
        return ", ".join((*((k, along) if self.k_inner else (along, k)), *batch))

    def step_words(self, step: int) -> int:
        """Return the distance from the first step of k, in the descriptors' units of 16 bytes."""
        if not self.k_inner:
            return step * STEP_BYTES // self.matrix.dtype.itemsize * ROW_BYTES // MAX_ACCESS_BYTES
        row, byte = divmod(step * STEP_BYTES, ROW_BYTES)
        return (row * self.extent * ROW_BYTES + byte) // MAX_ACCESS_BYTES

    @property
    def descriptor_low(self) -> int:
        """Lower word of a descriptor without the address: the leading dimension byte offset (PTX
        ISA 9.7.15.5.1).

        If the operand is contiguous along m (or n), that is the distance from one 64 m to the next.
        """
        leading = MAX_ACCESS_BYTES if self.k_inner else self.depth * ROW_BYTES
        return leading // MAX_ACCESS_BYTES << 16

    @property
    def first_low(self) -> int:
        """Lower word of the first stage's descriptor, relative to the address of shared memory."""
        return self.base // MAX_ACCESS_BYTES + self.descriptor_low

    @property
    def descriptor_high(self) -> int:
        """Upper word of a descriptor: the bytes from eight rows to the next eight, and the
        swizzle."""
        return GROUP_BYTES // MAX_ACCESS_BYTES | SWIZZLE_128

    @property
    def is_transposed(self) -> int:
        """Immediate of wgmma: 1 if the operand is contiguous along m (or n)."""
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
        """Comment with the fields of a matrix descriptor, from its lowest bit on."""
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
        """Comment that describes the tile and its copy."""
        boxes = counted(len(self.boxes), "box", "boxes")
        rows, cols = self.tensor_map.box[-2:]
        return (
            f"{self.name.upper()}: {boxes} of {rows}x{cols} as stored by TMA, "
            f"k {'along' if self.k_inner else 'across'} the rows"
            + (f", for all {self.shares} CTAs of the cluster" if self.is_shared else "")
        )
