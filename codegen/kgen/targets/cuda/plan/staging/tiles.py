"""Layouts of tiles in shared memory that avoid bank conflicts."""

from __future__ import annotations

from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen

#: ldmatrix reads rows of 16 bytes, eight at a time; shared memory has 32 banks of 4 bytes.
CHUNK_BYTES = 16
BANK_LINE_BYTES = 128
#: ldmatrix moves elements of 16 bits.
HALF_BYTES = 2


@frozen
class SwizzledTile:
    """Tile of rows of `row_bytes`, whose chunks are permuted by exclusive or with the row's number.

    The chunk's number (address bits 4 to 6 for 16-byte chunks) is combined, by exclusive or, with
    the address bits just above a 128-byte line or a row, whichever is longer. So the chunks that
    are read together, 128 bytes in one column of successive rows, are in different banks. With a
    `row_step` of 2, they are in every other row.

    `row_bytes` is a power of two, at least a chunk. `base` is the tile's first byte in a stage, a
    multiple of 128.
    """

    rows: int
    row_bytes: int
    base: int = 0
    itemsize: int = HALF_BYTES
    chunk_bytes: int = CHUNK_BYTES
    row_step: int = 1

    @property
    def nbytes(self) -> int:
        return self.rows * self.row_bytes

    @property
    def shift(self) -> int:
        """Shift from the bits that steer the swizzle to the chunk number."""
        return log2(max(BANK_LINE_BYTES, self._step_bytes)) - log2(self.chunk_bytes)

    @property
    def mask(self) -> int:
        """Bits of a byte offset that the permutation changes."""
        return min(self._step_bytes, BANK_LINE_BYTES) - self.chunk_bytes

    @property
    def is_swizzled(self) -> bool:
        return self.mask != 0

    @property
    def mask_word(self) -> str:
        """Mask in words, for a comment."""
        return f"{self.mask:#x}"

    @property
    def _step_bytes(self) -> int:
        """Bytes between rows that are accessed together."""
        return self.row_bytes * self.row_step

    @property
    def description(self) -> str:
        """Layout of the tile's bytes, for a comment."""
        rows = f"rows of {self.row_bytes} B"
        if not self.is_swizzled:
            return f"{rows}, no swizzle"
        return f"{rows}, byte o stored at o ^ (o >> {self.shift} & {self.mask_word})"

    def swizzle(self, offset: int) -> int:
        """Return the swizzled offset of the byte at `offset` of the row-major tile."""
        return offset ^ ((offset >> self.shift) & self.mask)

    def split(self, offset: int) -> tuple[int, int]:
        """Return (xor, offset) that move an address by `offset`, whose bits the address does not
        have."""
        moved = self.swizzle(offset)
        return moved & self.mask, moved & ~self.mask

    def place(self, row: int, col: int) -> tuple[int, int]:
        """Return (xor, offset) of the element in a stored row and column, from the stage's
        first."""
        xor, offset = self.split(row * self.row_bytes + col * self.itemsize)
        return xor, self.base + offset


@frozen
class PaddedTile:
    """Tile of f32 rows along m or n, one per k, each followed by `padding` elements.

    If the matrix is contiguous along k, adjacent threads store to adjacent rows. The padding
    spreads these stores over the banks and keeps rows aligned to 16 bytes. `base` is the tile's
    first byte in a stage.
    """

    depth: int
    width: int
    transposed: bool
    base: int = 0

    ITEM_BYTES = 4
    PADDING = 4

    @property
    def description(self) -> str:
        """Comment that gives the address of an element."""
        return f"f32, {self.width} for each k, {self.pitch} B from one k to the next"

    @property
    def pitch(self) -> int:
        """Bytes from one k to the next."""
        return (self.width + (self.PADDING if self.transposed else 0)) * self.ITEM_BYTES

    @property
    def nbytes(self) -> int:
        return self.depth * self.pitch

    def place(self, row: int, col: int) -> tuple[int, int]:
        """Return (xor, offset) of the element in a stored row and column; the xor is always 0."""
        k, free = (col, row) if self.transposed else (row, col)
        return 0, self.base + k * self.pitch + free * self.ITEM_BYTES
