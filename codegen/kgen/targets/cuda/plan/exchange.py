"""How a warp turns its fragments into whole lines of the output, through shared memory.

A fragment holds two adjacent outputs per lane and row: stored as they are, 16-bit outputs fill half
of each 32-byte sector. So the warp writes them to a swizzled tile of its own and reads them back in
units of up to 16 bytes along the rows; addends come the opposite way. The tile holds a strip of the
warp's rows, in the memory that the pipeline's stages had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kgen.schedule import MmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.base import log2
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES, xor_suffix
from kgen.targets.cuda.plan.output import Column, Row
from kgen.targets.cuda.plan.tiles import HALF_BYTES, SwizzledTile

#: Rows of one mma's product.
MIN_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class LineUnit:
    """Outputs that one lane moves at once: distances from its first unit of the warp's tile.

    `row`, `col` in elements, `nbytes` of the row in global memory, `xor` and `shared` in the strip.
    """

    row: int
    col: int
    nbytes: int
    xor: int
    shared: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two adjacent outputs of a fragment: their registers' place and theirs in the strip."""

    row: Row
    column: Column
    xor: int
    shared: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)

    def names(self, prefix: str) -> tuple[str, ...]:
        return self.column.names(f"{prefix}_m{self.row.offset}")


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Rows of the warp's tile that are in shared memory at once."""

    first: int
    rows: int
    pairs: tuple[Pair, ...]
    units: tuple[LineUnit, ...]

    @property
    def last(self) -> int:
        return self.first + self.rows - 1


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One warp's tile in shared memory, `width` elements of which are one global access."""

    tile: SwizzledTile
    warp_m: int
    warp_n: int
    width: int
    row_stride: int

    @property
    def unit_bytes(self) -> int:
        return self.width * HALF_BYTES

    @property
    def unit_words(self) -> tuple[str, ...]:
        return tuple(f"word{i}" for i in range(max(1, self.unit_bytes // 4)))

    @property
    def word_type(self) -> str:
        return "b32" if self.unit_bytes >= 4 else "b16"

    @property
    def units_per_row(self) -> int:
        return self.warp_n // self.width

    @property
    def units_per_row_log2(self) -> int:
        return log2(self.units_per_row)

    @property
    def unit_mask(self) -> int:
        return self.units_per_row - 1

    @property
    def strips(self) -> tuple[Strip, ...]:
        return tuple(
            Strip(first=m, rows=self.tile.rows, pairs=self._pairs(m), units=self._units(m))
            for m in range(0, self.warp_m, self.tile.rows)
        )

    def _pairs(self, first: int) -> tuple[Pair, ...]:
        return tuple(
            self._pair(first, row, col)
            for row in range(0, self.tile.rows, 8)
            for col in range(0, self.warp_n, 8)
        )

    def _pair(self, first: int, row: int, col: int) -> Pair:
        xor, shared = self.tile.place(row, col)
        return Pair(
            row=Row(offset=first + row, nbytes=(first + row) * self.row_stride),
            column=Column(elements=(col, col + 1), nbytes=col * HALF_BYTES),
            xor=xor,
            shared=shared,
        )

    def _units(self, first: int) -> tuple[LineUnit, ...]:
        count = self.tile.rows * self.units_per_row // WARP_SIZE
        return tuple(self._unit(first, i) for i in range(count))

    def _unit(self, first: int, index: int) -> LineUnit:
        row, unit = divmod(index * WARP_SIZE, self.units_per_row)
        col = unit * self.width
        xor, shared = self.tile.place(row, col)
        return LineUnit(
            row=first + row,
            col=col,
            nbytes=(first + row) * self.row_stride + col * HALF_BYTES,
            xor=xor,
            shared=shared,
        )

    @property
    def pair_xors(self) -> tuple[int, ...]:
        """The distinct exclusive ors on the fragments' side; the first is 0."""
        return tuple(sorted({pair.xor for pair in self.strips[0].pairs}))

    @property
    def unit_xors(self) -> tuple[int, ...]:
        """The same on the lines' side."""
        return tuple(sorted({unit.xor for unit in self.strips[0].units}))


def plan_exchange(spec: Matmul, schedule: MmaMatmul, stage_bytes: int) -> Exchange | None:
    """None where fragments fill whole sectors as they are: two f32 per lane, four lanes a row.

    The strip is as high as `stage_bytes`, the memory of all stages, allow.
    """
    if spec.out.itemsize != HALF_BYTES:
        return None
    row_bytes = schedule.warp_n * HALF_BYTES
    rows = schedule.warp_m
    while rows > MIN_ROWS and schedule.num_warps * rows * row_bytes > stage_bytes:
        rows //= 2
    row_stride = spec.out_strides[1] if spec.m > 1 else 0
    batch_stride = spec.out_strides[0] if spec.batch > 1 else 0
    width = math.gcd(MAX_ACCESS_BYTES // HALF_BYTES, row_stride, batch_stride, spec.n)
    return Exchange(
        tile=SwizzledTile(rows=rows, row_bytes=row_bytes),
        warp_m=schedule.warp_m,
        warp_n=schedule.warp_n,
        width=width,
        row_stride=spec.out_strides[1] * HALF_BYTES,
    )
