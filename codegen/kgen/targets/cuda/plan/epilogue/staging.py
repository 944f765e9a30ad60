"""Staging of the epilogue: a warp's fragments become whole lines of the output in shared memory.

A fragment holds two adjacent outputs per lane and row (four if bytes of B were paired). Stored
directly, outputs of 8 or 16 bits would fill only a part of each 32-byte sector. So the warp writes
them to a swizzled tile of its own and reads them back in units of up to 16 bytes along the rows.
Addends take the opposite way. The tile holds a strip of the warp's rows, in the memory of the
pipeline's stages.
"""

from __future__ import annotations

import math

from kgen.schedule import MmaMatmul
from kgen.spec import Matmul
from kgen.targets.batch import batch_terms
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.epilogue.output import OutputColumns, OutputRow
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.products import Products
from kgen.targets.cuda.plan.staging.copy_units import Words, xor_suffix
from kgen.targets.cuda.plan.staging.tiles import SwizzledTile
from kgen.targets.epilogue import FusedEpilogue
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen

#: Rows of the product of one mma, and the lanes that hold one row.
MIN_ROWS = 16
LANES_PER_ROW = 4
#: Registers for addends that are read from the strip but not yet added. Beside the accumulators of
#: a 64x64 warp tile, no more are free.
MAX_ADDENDS = 32
#: Bytes of a sector of global memory.
SECTOR_BYTES = 32


@frozen
class LineUnit:
    """Outputs that one lane moves at once, as distances from its first unit of the warp's tile.

    `row` and `col` count elements, `nbytes` is the distance in global memory, `xor` and `shared`
    give the address in the strip.
    """

    row: int
    col: int
    nbytes: int
    xor: int
    shared: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)


@frozen
class FragmentRun:
    """Adjacent outputs of a fragment: offsets of their registers and of their strip elements."""

    row: OutputRow
    column: OutputColumns
    xor: int
    shared: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)

    def names(self, prefix: str) -> tuple[str, ...]:
        return self.column.names(f"{prefix}_m{self.row.offset}")


@frozen
class StagedStrip:
    """Rows of the warp's tile that are in shared memory at the same time."""

    first: int
    rows: int
    runs: tuple[FragmentRun, ...]
    units: tuple[LineUnit, ...]

    @property
    def last(self) -> int:
        return self.first + self.rows - 1


@frozen
class EpilogueStaging:
    """Tile of one warp in shared memory; `width` of its elements are one global access.

    `products` give the outputs of each fragment.
    """

    tile: SwizzledTile
    products: Products
    width: int
    row_stride: int

    @property
    def warp_m(self) -> int:
        return self.products.a.extent

    @property
    def warp_n(self) -> int:
        return self.tile.row_bytes // self.tile.itemsize

    @property
    def is_padded(self) -> bool:
        """Whether rows of the strip have more elements than the products, which nothing writes."""
        return self.warp_n > self.products.b.extent

    @property
    def unit_bytes(self) -> int:
        return self.width * self.tile.itemsize

    @property
    def run_bytes(self) -> int:
        """Bytes of a fragment's adjacent outputs, which are one access of shared memory."""
        return self.products.run * self.tile.itemsize

    @property
    def row_step_bytes(self) -> int:
        """Bytes from the first run of a row to the first run of the next lane's row."""
        return self.tile.row_bytes * self.tile.row_step

    @property
    def run_type(self) -> str:
        return f"b{8 * self.run_bytes}"

    @property
    def words(self) -> Words:
        """Registers of a unit."""
        return Words(nbytes=self.unit_bytes)

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
    def strips(self) -> tuple[StagedStrip, ...]:
        return tuple(
            StagedStrip(first=m, rows=self.tile.rows, runs=self._runs(m), units=self._units(m))
            for m in range(0, self.warp_m, self.tile.rows)
        )

    def _runs(self, first: int) -> tuple[FragmentRun, ...]:
        rows = [row for row in self.products.rows if first <= row < first + self.tile.rows]
        cols = self.products.cols[:: self.products.run]
        return tuple(self._run(first, row, col) for row in rows for col in cols)

    def _run(self, first: int, row: int, col: int) -> FragmentRun:
        xor, shared = self.tile.place(row - first, col)
        return FragmentRun(
            row=OutputRow(offset=row, nbytes=row * self.row_stride),
            column=OutputColumns(
                elements=tuple(range(col, col + self.products.run)), nbytes=col * self.tile.itemsize
            ),
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
            nbytes=(first + row) * self.row_stride + col * self.tile.itemsize,
            xor=xor,
            shared=shared,
        )

    @property
    def run_xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of a lane's addresses when it accesses fragments; the first
        is 0."""
        return tuple(sorted({run.xor for run in self.strips[0].runs}))

    @property
    def unit_xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of a lane's addresses when it reads whole lines."""
        return tuple(sorted({unit.xor for unit in self.strips[0].units}))


def plan_epilogue_staging(
    spec: Matmul, schedule: MmaMatmul, products: Products, stage_bytes: int
) -> EpilogueStaging | None:
    """Return the staging; None if fragments fill whole sectors, with four lanes per row.

    The height of the strip is limited by `stage_bytes`, the memory of all stages, and by the
    registers for its addends.
    """
    itemsize = spec.out.itemsize
    if LANES_PER_ROW * products.run * itemsize >= SECTOR_BYTES:
        return None
    row_bytes = schedule.warp_n * itemsize
    rows = schedule.warp_m
    addends = len(FusedEpilogue(spec=spec).full)
    while rows > MIN_ROWS and (
        schedule.num_warps * rows * row_bytes > stage_bytes
        or addends * rows * schedule.warp_n > MAX_ADDENDS * WARP_SIZE
    ):
        rows //= 2
    row_stride = spec.out_strides[1] if spec.m > 1 else 0
    batch_strides = (term.stride for term in batch_terms(spec, "c"))
    # Units of a small strip are narrower, so that every lane has a part of it.
    share = rows * schedule.warp_n // WARP_SIZE
    width = math.gcd(MAX_ACCESS_BYTES // itemsize, share, row_stride, *batch_strides, spec.n)
    return EpilogueStaging(
        tile=SwizzledTile(
            rows=rows, row_bytes=row_bytes, itemsize=itemsize, row_step=products.a.stride
        ),
        products=products,
        width=width,
        row_stride=spec.out_strides[1] * itemsize,
    )
