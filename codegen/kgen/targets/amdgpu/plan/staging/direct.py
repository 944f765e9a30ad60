"""How a tile of A or B travels straight from memory to LDS, and how fragments are loaded there.

One instruction copies 16 bytes per lane to consecutive bytes of LDS, lane after lane: the tile
there lies as threads are numbered. Which bytes a lane reads from memory is free, so what is
swizzled is the address in memory: the chunk of 16 bytes at a place of a line is another one of that
line.

A line is what lies side by side in memory: the depths of a row, or the rows at a depth. In the
second case fragments are loaded by ds_read_b64_tr_b16, which transposes blocks of 4 depths by 16
rows, or ds_read_b64_tr_b8, of 8 depths by 16 rows (CDNA4 ISA, "DS_READ_B64_TR_B16").
"""

from __future__ import annotations

from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.lds.tile import Swizzle
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.llvm_ir import ELEMENT
from kgen_runtime.values import frozen

#: Rows that lie side by side are copied in lines of at least all banks of LDS, in bytes.
LEAST_LINE = 256
#: Rows of a block that a transposing load turns.
BLOCK_ROWS = 16


@frozen
class DirectTile:
    """A tile of an operand in LDS. Rows are m of A and n of B; `staging` is its way in memory."""

    staging: Staging
    stages: int
    threads: int
    wave: int

    @property
    def name(self) -> str:
        return self.staging.name

    @property
    def transposes(self) -> bool:
        """Lines are rows at a depth, and fragments are loaded by transposing."""
        return self.staging.memory_axis == "row"

    @property
    def chunk(self) -> int:
        """Elements of 16 bytes."""
        return WIDEST // self.staging.memory.itemsize

    @property
    def line(self) -> int:
        """Elements side by side."""
        return self.staging.block_rows if self.transposes else self.staging.block_k

    @property
    def line_chunks(self) -> int:
        return self.line // self.chunk

    @property
    def lines(self) -> int:
        return self.staging.block_rows * self.staging.block_k // self.line

    @property
    def fitting_rows(self) -> int:
        """The rows of the block, or so many more that copies of all threads fill whole lines."""
        rows = self.staging.block_rows
        if self.transposes:
            return max(LEAST_LINE // self.staging.memory.itemsize, 1 << (rows - 1).bit_length())
        at_once = self.threads // self.line_chunks
        return -(-rows // at_once) * at_once

    @property
    def swizzle(self) -> Swizzle:
        """Eight lanes that load 16 bytes of as many rows reach different banks, as do the depths of
        a block, four of 64 bytes in neighbouring blocks or eight of 32."""
        if self.transposes and self.staging.memory.itemsize == 1:
            return Swizzle(line_mask=14, line_scale=1)
        if self.transposes:
            return Swizzle(line_mask=12, line_scale=2)
        return Swizzle(line_mask=7, line_shift=1)

    @property
    def copies(self) -> tuple[int, ...]:
        """The first line of each copy of the first wave."""
        return tuple(range(0, self.lines, self.threads // self.line_chunks))

    @property
    def buffer_bytes(self) -> int:
        """Size of the buffer that a workgroup's tiles are read as. No address exceeds it: documents
        disagree whether the scalar part of an offset counts for the bounds check."""
        return 2**31 - 1

    @property
    def reach(self) -> int:
        """Bytes from the first element of a block's first tile to behind the last of its last."""
        access = self.staging.access
        return access.offset(self.staging.block_rows, access.depth) * access.dtype.itemsize

    @property
    def step_bytes(self) -> int:
        """Bytes from one K-tile to the next."""
        return self.staging.steps(1) * self.staging.memory.itemsize

    @property
    def buffer_flags(self) -> int:
        """The last word of its descriptor: data of 32 bits (CDNA3 ISA, "Buffer Resource")."""
        return 0x27000

    @property
    def array(self) -> str:
        """The IR type of all stages."""
        element = ELEMENT[self.staging.memory]
        return f"[{self.stages} x [{self.lines} x [{self.line} x {element}]]]"

    @property
    def nbytes(self) -> int:
        return self.stages * self.lines * self.line * self.staging.memory.itemsize

    @property
    def wave_lines(self) -> int:
        """Lines that a wave copies at once."""
        return self.wave // self.line_chunks

    @property
    def last_row(self) -> int:
        """The last row of the matrix at which a copy may start."""
        return self.staging.rows - (self.chunk if self.transposes else 1)

    @property
    def interleaves(self) -> bool:
        return self.staging.tile.interleave > 1

    @property
    def swizzle_line(self) -> str:
        """For a comment, in the words of the operand."""
        return str(self.swizzle).replace("position", "place").replace("line", self.line_name)

    @property
    def line_name(self) -> str:
        return "k" if self.transposes else self.staging.axis_name("row")

    @property
    def chunk_name(self) -> str:
        return self.staging.axis_name("row") if self.transposes else "k"
