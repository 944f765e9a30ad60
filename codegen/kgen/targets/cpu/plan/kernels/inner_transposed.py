"""Inner products with a B of few columns, which lie side by side in each of its rows, or in packed
panels: it is transposed first, once for all rows of A.

Register tiles would have the columns in a vector, most of which stays empty; along K it is full.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.kernels.blis_pairs import PAIR
from kgen.targets.cpu.plan.kernels.inner import InnerPlan, inner_plan
from kgen.targets.cpu.plan.kernels.inner_vectors import (
    column_bytes,
    may_transpose_b,
    panel_columns,
)
from kgen.targets.cpu.plan.packing.panel import Side
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.packing.transpose import RegisterTranspose, register_transpose
from kgen.targets.cpu.plan.tiles.tile_loop import PanelBuffer, TileLoop
from kgen.targets.cpu.plan.vectors import Access
from kgen_runtime.values import frozen


@frozen
class Columns:
    """`count` columns of B, side by side in `steps` of K, and how many are `there` at all in each;
    `start` and `to` are bytes in B and where it is transposed, by transposes of `size` columns and
    steps; a step is `row` columns from the next."""

    name: str
    count: int
    there: int
    start: int
    to: int
    steps: int
    size: int
    row: int

    @property
    def overlap(self) -> bool:
        """There are as many as a transpose has: the last ones overlap those before."""
        return min(self.count, self.steps) >= self.size

    @property
    def whole(self) -> int:
        """Steps in whole transposes, whose rows all end inside B."""
        past = -(-max(self.size - self.there, 0) // self.row)
        return max(self.steps - past, 0) // self.size * self.size


@frozen
class InnerTransposedPlan(InnerPlan):
    @property
    def packs_b(self) -> bool:
        """Not panel by panel."""
        return False

    @property
    def transposes_b(self) -> bool:
        return True

    @property
    def rows_are_fastest(self) -> bool:
        """The first of some tasks transposes B for all."""
        return self.blocking.splits_m

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"inner products: vectors of {self.k_vector} along K, which is contiguous in A; a task "
            "transposes B into scratch memory, then computes mc rows of out in mr x nr tiles",
        )

    # -- B as it comes packed ------------------------------------------------------------------

    @property
    def has_pairs(self) -> bool:
        """It comes in pairs along K."""
        return b_is_packed(self.spec) and self.spec.b_type is DType.BF16

    @property
    def b_format(self) -> PanelFormat:
        depth = PAIR if self.has_pairs else 1
        width = panel_columns(self.spec, self.target)
        return PanelFormat(width=width, depth=depth, k_unit=depth)

    # -- B along K -----------------------------------------------------------------------------

    @property
    def moved(self) -> Access:
        """What is moved as one, along K: an element, or a pair."""
        return Access(dtype=DType.S32 if self.has_pairs else self.spec.b_type, compute=self.sums)

    @property
    def b_steps(self) -> int:
        """So many of K."""
        return -(-self.spec.k // self.b_format.depth)

    @property
    def b_between(self) -> int:
        """Bytes of B from one of them to the next."""
        return self.b_format.depth * self.tensors.b_strides[1]

    @property
    def b_column(self) -> int:
        return column_bytes(self.spec)

    @property
    def b_transpose(self) -> RegisterTranspose:
        return register_transpose(self.moved.dtype, stride=self.b_between, pack_row=self.b_column)

    @property
    def b_parts(self) -> tuple[Columns, ...]:
        """Where they lie side by side: all of them, or those of each packed panel."""
        n, size = self.spec.n, self.moved.itemsize
        width = self.b_format.width if self.b_is_packed else n
        return tuple(
            Columns(
                name=f"b{first // width}",
                count=min(width, n - first),
                there=width,
                start=first * self.tensors.b_strides[2] if self.b_is_packed else first * size,
                to=first * self.b_column,
                steps=self.b_steps,
                size=self.b_transpose.size,
                row=self.b_between // size,
            )
            for first in range(0, n, width)
        )

    def b_sides(self, part: Columns) -> tuple[Side, ...]:
        """Its columns, of which each becomes a row."""
        size = self.moved.itemsize
        return tuple(Side(index=i, start=i * size, to=i * self.b_column) for i in range(part.count))

    @cached_property
    def loop(self) -> TileLoop:
        return replace(super().loop, b_block="%b.pack")

    @property
    def b_buffer(self) -> PanelBuffer:
        return PanelBuffer(panel_bytes=self.spec.n * self.b_column, columns=self.spec.n)

    @property
    def scratch_besides_b(self) -> int:
        return super().scratch_besides_b + self.b_buffer.bytes

    @property
    def scratch_map(self) -> tuple[str, ...]:
        order = f"{self.moved.stored.scalar} [n][k], {self.b_column} B per row"
        return (*super().scratch_map, f"%b.pack: {order}, {self.b_buffer.bytes} B")


def plan_inner_transposed(spec: Matmul, target: Target, schedule: InnerMatmul) -> InnerPlan:
    """Raises ScheduleError as plan_inner does."""
    if not may_transpose_b(spec, target):
        raise ScheduleError(
            "mainloop=inner with pack_b=1 requires a row-major B and an A contiguous along k, not "
            f"{spec.key}; use pack_b=0"
        )
    if schedule.nc < spec.n:
        raise ScheduleError(
            f"nc={schedule.nc} is less than n={spec.n}; mainloop=inner with pack_b=1 transposes "
            f"all columns at once; try nc={spec.n}"
        )
    return inner_plan(spec, target, schedule, InnerTransposedPlan)
