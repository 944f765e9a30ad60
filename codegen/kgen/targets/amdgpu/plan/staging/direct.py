"""Copies of a tile of A or B directly from memory to LDS, and the loads of fragments.

One instruction copies 16 bytes per lane to consecutive bytes of LDS, in the order of lanes, so the
order of threads determines the layout of the tile. Each lane may read any bytes of memory, so the
swizzle applies to the address in memory: the 16-byte chunks of a line are permuted within the line.

A line is contiguous in memory: the depths of a row, or the rows at a depth. In the second case,
ds_read_b64_tr_b16 loads fragments and transposes blocks of 4 depths by 16 rows, or
ds_read_b64_tr_b8 transposes blocks of 8 depths by 16 rows (CDNA4 ISA, "DS_READ_B64_TR_B16").
"""

from __future__ import annotations

from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.lds.tile import Swizzle
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.llvm_ir import ELEMENT
from kgen_runtime.values import frozen

#: Least bytes of a line of contiguous rows: those of all banks of LDS.
LEAST_LINE = 256
#: Rows of the block that a transposing load transposes.
BLOCK_ROWS = 16


@frozen
class DirectTile:
    """Tile of an operand in LDS. Rows are m of A and n of B; `staging` describes its place in
    memory."""

    staging: Staging
    stages: int
    threads: int
    wave: int

    @property
    def name(self) -> str:
        return self.staging.name

    @property
    def transposes(self) -> bool:
        """Whether lines are the rows at a depth, and loads of fragments transpose."""
        return self.staging.memory_axis == "row"

    @property
    def chunk(self) -> int:
        """Number of elements of a chunk of 16 bytes."""
        return WIDEST // self.staging.memory.itemsize

    @property
    def line(self) -> int:
        """Number of elements of a line."""
        return self.staging.block_rows if self.transposes else self.staging.block_k

    @property
    def line_chunks(self) -> int:
        return self.line // self.chunk

    @property
    def lines(self) -> int:
        return self.staging.block_rows * self.staging.block_k // self.line

    @property
    def fitting_rows(self) -> int:
        """Rows of the block tile, rounded up so that the copies of all threads fill whole lines."""
        rows = self.staging.block_rows
        if self.transposes:
            return max(LEAST_LINE // self.staging.memory.itemsize, 1 << (rows - 1).bit_length())
        at_once = self.threads // self.line_chunks
        return -(-rows // at_once) * at_once

    @property
    def swizzle(self) -> Swizzle:
        """Swizzle of the chunks of a line.

        Eight lanes that load 16 bytes of different rows reach different banks. So do the depths of
        a block: four of 64 bytes in neighbouring blocks, or eight of 32 bytes.
        """
        if self.transposes and self.staging.memory.itemsize == 1:
            return Swizzle(line_mask=14, line_scale=1)
        if self.transposes:
            return Swizzle(line_mask=12, line_scale=2)
        return Swizzle(line_mask=7, line_shift=1)

    @property
    def copies(self) -> tuple[int, ...]:
        """First line of each copy of the first wave."""
        return tuple(range(0, self.lines, self.threads // self.line_chunks))

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the buffer from which a workgroup reads its tiles.

        No address exceeds it, because documents disagree whether the bounds check includes the
        scalar part of an offset.
        """
        return 2**31 - 1

    @property
    def reach(self) -> int:
        """Bytes from the first element of a block's first tile to the end of its last tile."""
        access = self.staging.access
        return access.offset(self.staging.block_rows, access.depth) * access.dtype.itemsize

    @property
    def step_bytes(self) -> int:
        """Bytes from one K-tile to the next."""
        return self.staging.steps(1) * self.staging.memory.itemsize

    @property
    def buffer_flags(self) -> int:
        """Last word of the buffer's descriptor: 32-bit data (CDNA3 ISA, "Buffer Resource")."""
        return 0x27000

    @property
    def array(self) -> str:
        """IR type of all stages."""
        element = ELEMENT[self.staging.memory]
        return f"[{self.stages} x [{self.lines} x [{self.line} x {element}]]]"

    @property
    def nbytes(self) -> int:
        return self.stages * self.lines * self.line * self.staging.memory.itemsize

    @property
    def wave_lines(self) -> int:
        """Number of lines that a wave copies at once."""
        return self.wave // self.line_chunks

    @property
    def last_row(self) -> int:
        """Last row of the matrix at which a copy may start."""
        return self.staging.rows - (self.chunk if self.transposes else 1)

    @property
    def interleaves(self) -> bool:
        return self.staging.tile.interleave > 1

    @property
    def swizzle_line(self) -> str:
        """Comment that describes the swizzle in the operand's indices."""
        return str(self.swizzle).replace("position", "place").replace("line", self.line_name)

    @property
    def line_name(self) -> str:
        return "k" if self.transposes else self.staging.axis_name("row")

    @property
    def chunk_name(self) -> str:
        return self.staging.axis_name("row") if self.transposes else "k"
