"""Stores of a warpgroup's outputs by TMA: fragments -> swizzled strips -> memory.

A strip is 64 x 64 outputs of 16 bits, a box of the output's tensor map. TMA does not write elements
outside of the matrix. While the copy engine reads one strip, the warpgroup writes the next, by
stmatrix, or word by word if operands are swapped. In the second case lane l holds two adjacent
columns from 2 (l / 4) on, of two adjacent rows of eight from 2 (l % 4) on: 32 bytes of four rows,
without bank conflicts.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.plan.epilogue.output import OutputColumns, OutputRow, OutputTile
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, matrices
from kgen.targets.cuda.plan.staging.copy_units import xor_suffix
from kgen.targets.cuda.plan.staging.tiles import HALF_BYTES, SwizzledTile
from kgen.targets.cuda.plan.staging.tma import MAX_STRIDE, ROW_BYTES
from kgen.targets.cuda.plan.wgmma.products import EIGHT, WgmmaProducts
from kgen_runtime.manifest import TensorMap
from kgen_runtime.values import frozen

ROWS, COLS = 64, 64
#: stmatrix.x4 writes 16 rows x 16 columns of a warp.
QUAD = 16
MAP = "out_map"


@frozen
class Put:
    """Store of pairs of accumulators to a strip, given by row and columns in the instruction's
    order. `xor` and `offset` are applied to the lane's address."""

    pairs: tuple[tuple[OutputRow, OutputColumns], ...]
    xor: int
    offset: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)


@frozen
class TmaBox:
    """Box at row `m` and column `n` of the warpgroup's tile; `offset` is the byte of its buffer.

    Nothing has read a `fresh` buffer yet. Before another buffer is written, all copies but the
    `pending` latest must have read theirs.
    """

    m: int
    n: int
    offset: int
    fresh: bool
    pending: int
    puts: tuple[Put, ...]
    rows: tuple[OutputRow, ...]
    columns: tuple[OutputColumns, ...]

    def at(self, put: Put) -> int:
        """Bytes from the lane's address in the first buffer."""
        return self.offset + put.offset

    @property
    def last_row(self) -> int:
        return self.m + ROWS - 1

    @property
    def last_col(self) -> int:
        return self.n + COLS - 1


@frozen
class TmaStore:
    """Stores of all warpgroups. Their buffers, `buffers` for each, begin at byte `base`."""

    spec: Matmul
    schedule: WgmmaMatmul
    products: WgmmaProducts
    output: OutputTile
    base: int

    @property
    def by_words(self) -> bool:
        return self.products.swapped

    @property
    def buffers(self) -> int:
        return buffers(self.schedule)

    @property
    def tile(self) -> SwizzledTile:
        return SwizzledTile(rows=ROWS, row_bytes=ROW_BYTES)

    @property
    def row_pair_bytes(self) -> int:
        return 2 * self.tile.row_bytes

    @property
    def group_bytes(self) -> int:
        return self.buffers * self.tile.nbytes

    @property
    def xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of the stores; the first is 0."""
        return tuple(sorted({put.xor for put in self.strips[0].puts}))

    @property
    def strips(self) -> tuple[TmaBox, ...]:
        products = self.products
        height, width = products.rows, products.columns
        if products.swapped:
            height, width = width, height
        places = [(m, n) for m in range(0, height, ROWS) for n in range(0, width, COLS)]
        return tuple(
            self._strip(index, *place, count=len(places)) for index, place in enumerate(places)
        )

    def _strip(self, index: int, m: int, n: int, *, count: int) -> TmaBox:
        # Copies since the one that read this buffer, which may belong to the previous block tile.
        since = index + (count - 1 - index) % self.buffers
        return TmaBox(
            m=m,
            n=n,
            offset=index % self.buffers * self.tile.nbytes,
            fresh=index < self.buffers and not self.schedule.num_workgroups,
            pending=self.buffers - 1 if index >= self.buffers else since,
            puts=self._words(m, n) if self.by_words else self._quads(m, n),
            rows=tuple(row for row in self.output.rows if m <= row.offset < m + ROWS),
            columns=tuple(c for c in self.output.columns if n <= c.offset < n + COLS),
        )

    def _quads(self, m: int, n: int) -> tuple[Put, ...]:
        """Return the stores by stmatrix."""
        return tuple(
            Put(
                pairs=tuple(
                    (self._row(m + i), self._pair(n + col + j))
                    for j in (0, EIGHT)
                    for i in self.products.parts
                ),
                xor=col * HALF_BYTES,
                offset=0,
            )
            for col in range(0, COLS, QUAD)
        )

    def _words(self, m: int, n: int) -> tuple[Put, ...]:
        """Return the stores of a lane's columns by words, row by row."""
        found = []
        for row in range(0, ROWS, EIGHT):
            for j in (0, 1):
                xor, offset = self.tile.split((row + j) * ROW_BYTES)
                pair = (self._row(m + row + j), self._pair(n))
                found.append(Put(pairs=(pair,), xor=xor, offset=offset))
        return tuple(found)

    def _row(self, m: int) -> OutputRow:
        return OutputRow(offset=m, nbytes=m * self.output.row_stride)

    def _pair(self, n: int) -> OutputColumns:
        return OutputColumns(elements=(n, n + 1), nbytes=n * HALF_BYTES)

    @property
    def batched(self) -> bool:
        return self.output.batch_stride != 0

    @property
    def dimensions(self) -> int:
        return 3 if self.batched else 2

    @property
    def tensor_map(self) -> TensorMap:
        spec = self.spec
        batch, row, _ = spec.out_strides
        return TensorMap(
            name=MAP,
            tensor="out",
            dtype=spec.out,
            shape=(*((spec.batch,) if self.batched else ()), spec.m, spec.n),
            strides=(*((batch,) if self.batched else ()), row, 1),
            box=(*((1,) if self.batched else ()), ROWS, COLS),
            swizzle=ROW_BYTES,
        )


def buffers(schedule: WgmmaMatmul) -> int:
    """Return the buffers of a warpgroup: two, or one for a single strip."""
    return min(2, schedule.rows // ROWS * (schedule.columns // COLS))


def store_bytes(schedule: WgmmaMatmul) -> int:
    """Return the bytes of shared memory for the strips of all warpgroups."""
    if not schedule.tma_store:
        return 0
    return schedule.consumers * buffers(schedule) * ROWS * ROW_BYTES


def obstacle(spec: Matmul, *, block_m: int, block_n: int, swap: bool = False) -> str | None:
    """Return the reason why TMA cannot write this output; None if it can."""
    if spec.out.itemsize != HALF_BYTES:
        return f"TMA stores 16-bit outputs here, and the output is {spec.out}"
    for name, stride, count in zip(
        ("batches", "rows"), spec.out_strides, (spec.batch, spec.m), strict=False
    ):
        apart = f"the output's {name} are {stride * HALF_BYTES} bytes apart, and TMA requires"
        if count > 1 and stride * HALF_BYTES % MAX_ACCESS_BYTES:
            return f"{apart} a multiple of {MAX_ACCESS_BYTES}"
        if count > 1 and stride * HALF_BYTES >= MAX_STRIDE:
            return f"{apart} less than {MAX_STRIDE}"
    sides = ("block_m", block_m, ROWS, "rows") if swap else ("block_n", block_n, COLS, "columns")
    name, extent, unit, what = sides
    if extent % unit:
        return f"TMA stores {unit} {what} at a time, and {name}={extent} is not a multiple of that"
    left = matrices(spec)[swap]
    if left.k_inner and swap:
        return f"swap=1 with K contiguous in {left.name} gives a lane outputs of several columns"
    if not left.k_inner and spec.dtype.itemsize > HALF_BYTES:
        return (
            f"{left.name} of {spec.dtype} with K strided goes through registers, and a warp's "
            "outputs are then too far apart"
        )
    return None


def plan_store(
    spec: Matmul, schedule: WgmmaMatmul, products: WgmmaProducts, output: OutputTile, base: int
) -> TmaStore | None:
    """Return the stores by TMA; None if the schedule does not ask for them. Raises ScheduleError if
    TMA cannot write the output."""
    if not schedule.tma_store:
        return None
    if (why := obstacle_of(spec, schedule)) is not None:
        raise ScheduleError(f"tma_store=1 is not possible: {why}; try tma_store=0")
    return TmaStore(spec=spec, schedule=schedule, products=products, output=output, base=base)


def obstacle_of(spec: Matmul, schedule: WgmmaMatmul) -> str | None:
    """Return the reason why a schedule's block tile cannot be stored by TMA; None if it can."""
    return obstacle(spec, block_m=schedule.block_m, block_n=schedule.block_n, swap=schedule.swap)
