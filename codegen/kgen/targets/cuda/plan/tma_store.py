"""How a warpgroup's outputs leave through TMA: fragments -> stmatrix -> swizzled strips -> memory.

A strip is 64 x 64 outputs of 16 bits, a box of the output's tensor map; the copy leaves out what
lies outside of the matrix. While one strip is read by the copy engine, the next is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES, xor_suffix
from kgen.targets.cuda.plan.output import Column, OutputTile, Row
from kgen.targets.cuda.plan.tiles import HALF_BYTES, SwizzledTile
from kgen.targets.cuda.plan.tma import MAX_STRIDE, ROW_BYTES
from kgen_runtime.manifest import TensorMap

ROWS, COLS = 64, 64
#: stmatrix.x4 writes 16 rows x 16 columns of a warp.
QUAD = 16
MAP = "out_map"


@dataclass(frozen=True, kw_only=True)
class Quad:
    """What one stmatrix writes: pairs of accumulators, by (row, columns), in its order; `xor` moves
    the lane's address to its columns."""

    pairs: tuple[tuple[Row, Column], ...]
    xor: int

    @property
    def at(self) -> str:
        return xor_suffix(self.xor)


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A box at row `m` and column `n` of the warpgroup's tile; `offset` is its buffer's byte.

    Nothing has read a `fresh` buffer yet; before another is written, all copies but the `pending`
    latest must have read theirs.
    """

    m: int
    n: int
    offset: int
    fresh: bool
    pending: int
    quads: tuple[Quad, ...]
    columns: tuple[Column, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Of a lane's fragments."""
        return (self.m, self.m + 8)

    @property
    def last_row(self) -> int:
        return self.m + ROWS - 1

    @property
    def last_col(self) -> int:
        return self.n + COLS - 1


@dataclass(frozen=True, kw_only=True)
class TmaStore:
    """`base` is the first byte of the warpgroups' buffers, `buffers` for each."""

    spec: Matmul
    schedule: WgmmaMatmul
    output: OutputTile
    base: int

    @property
    def buffers(self) -> int:
        return buffers(self.schedule)

    @property
    def tile(self) -> SwizzledTile:
        return SwizzledTile(rows=ROWS, row_bytes=ROW_BYTES)

    @property
    def group_bytes(self) -> int:
        return self.buffers * self.tile.nbytes

    @property
    def xors(self) -> tuple[int, ...]:
        """The distinct exclusive ors among the quads; the first is 0."""
        return tuple(range(0, COLS * HALF_BYTES, QUAD * HALF_BYTES))

    @property
    def strips(self) -> tuple[Strip, ...]:
        places = [
            (m, n)
            for m in range(0, self.schedule.rows, ROWS)
            for n in range(0, self.schedule.block_n, COLS)
        ]
        return tuple(
            self._strip(index, *place, count=len(places)) for index, place in enumerate(places)
        )

    def _strip(self, index: int, m: int, n: int, *, count: int) -> Strip:
        # Copies since the one that read this buffer, which may be the block tile's before.
        since = index + (count - 1 - index) % self.buffers
        return Strip(
            m=m,
            n=n,
            offset=index % self.buffers * self.tile.nbytes,
            fresh=index < self.buffers and not self.schedule.num_ctas,
            pending=self.buffers - 1 if index >= self.buffers else since,
            quads=tuple(self._quad(m, n, col) for col in range(0, COLS, QUAD)),
            columns=tuple(c for c in self.output.columns if n <= c.offset < n + COLS),
        )

    def _quad(self, m: int, n: int, col: int) -> Quad:
        return Quad(
            pairs=tuple(
                (self._row(m + i), self._pair(n + col + j)) for j in (0, 8) for i in (0, 8)
            ),
            xor=col * HALF_BYTES,
        )

    def _row(self, m: int) -> Row:
        return Row(offset=m, nbytes=m * self.output.row_stride)

    def _pair(self, n: int) -> Column:
        return Column(elements=(n, n + 1), nbytes=n * HALF_BYTES)

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
    """Two, unless the warpgroup has a single strip."""
    return min(2, schedule.rows // ROWS * (schedule.block_n // COLS))


def store_bytes(schedule: WgmmaMatmul) -> int:
    """Shared memory that the strips of all warpgroups take."""
    if not schedule.tma_store:
        return 0
    return schedule.consumers * buffers(schedule) * ROWS * ROW_BYTES


def obstacle(spec: Matmul, block_n: int) -> str | None:
    """Why TMA cannot write this output, or None if it can."""
    if spec.out.itemsize != HALF_BYTES:
        return f"it writes 16-bit outputs, not {spec.out}"
    for name, stride, count in zip(
        ("batches", "rows"), spec.out_strides, (spec.batch, spec.m), strict=False
    ):
        if count > 1 and stride * HALF_BYTES % MAX_ACCESS_BYTES:
            return f"the output's {name} are no multiples of {MAX_ACCESS_BYTES} bytes"
        if count > 1 and stride * HALF_BYTES >= MAX_STRIDE:
            return f"the output's {name} are {stride * HALF_BYTES} bytes apart"
    if block_n % COLS:
        return f"it writes {COLS} columns at once, and block_n={block_n} is no multiple of them"
    return None


def plan_store(
    spec: Matmul, schedule: WgmmaMatmul, output: OutputTile, base: int
) -> TmaStore | None:
    """None if the schedule does not ask for it. Raises ScheduleError if TMA cannot do it."""
    if not schedule.tma_store:
        return None
    if (why := obstacle(spec, schedule.block_n)) is not None:
        raise ScheduleError(f"tma_store=1 cannot be: {why}; try tma_store=0")
    return TmaStore(spec=spec, schedule=schedule, output=output, base=base)
