"""Inner products with a B of few columns, which lie side by side in each of its rows, or in one
packed panel: it is transposed first, once for all rows of A.

Register tiles would have the columns in a vector, most of which stays empty; along K it is full.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.blis_pairs import PAIR
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.kernels.inner import InnerPlan, inner_plan
from kgen.targets.cpu.plan.kernels.inner_vectors import may_transpose_b
from kgen.targets.cpu.plan.packing.panel import Side
from kgen.targets.cpu.plan.packing.transpose import RegisterTranspose, register_transpose
from kgen.targets.cpu.plan.vectors import Access
from kgen_runtime.values import frozen


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
        return self.splits_m

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"inner products of vectors of {self.k_vector} along K, which is contiguous in A and, "
            "once it is transposed, in B: a task is mc rows of out, in tiles of mr rows of A and "
            "nr columns of B",
        )

    # -- B as it comes packed ------------------------------------------------------------------

    @property
    def has_pairs(self) -> bool:
        """It comes in pairs along K."""
        return self.b_is_packed and self.spec.b_type is DType.BF16

    @property
    def b_width(self) -> int:
        return COLUMNS if self.dot else super().b_width

    @property
    def b_depth(self) -> int:
        return PAIR if self.has_pairs else 1

    @property
    def k_unit(self) -> int:
        return self.b_depth

    # -- B along K -----------------------------------------------------------------------------

    @property
    def moved(self) -> Access:
        """What is moved as one, along K: an element, or a pair."""
        return Access(dtype=DType.S32 if self.has_pairs else self.spec.b_type, compute=self.sums)

    @property
    def b_steps(self) -> int:
        """So many of K."""
        return -(-self.spec.k // self.b_depth)

    @property
    def b_between(self) -> int:
        """Bytes of B from one of them to the next."""
        return self.b_depth * self.b_strides[1]

    @property
    def b_column(self) -> int:
        """Whole lines, and one more, lest columns meet in few sets of a cache."""
        lines = -(-self.b_steps * self.moved.itemsize // LINE_BYTES)
        return (lines + 1) * LINE_BYTES

    @property
    def b_pack_bytes(self) -> int:
        return self.spec.n * self.b_column

    @property
    def b_transpose(self) -> RegisterTranspose | None:
        """None where there are too few steps for one."""
        found = register_transpose(self.moved.dtype, stride=self.b_between, pack_row=self.b_column)
        return found if self.b_steps >= found.size else None

    @property
    def columns_overlap(self) -> bool:
        """There are as many as a transpose has: the last ones overlap those before."""
        return self.b_transpose is not None and self.spec.n >= self.b_transpose.size

    @property
    def b_steps_whole(self) -> int:
        """In whole transposes, whose rows all end inside B, however few columns it has."""
        if self.b_transpose is None:
            return 0
        size, step = self.b_transpose.size, self.b_between // self.moved.itemsize
        past = -(-max(size - self.spec.n, 0) // step)
        return max(self.b_steps - past, 0) // size * size

    @property
    def b_sides(self) -> tuple[Side, ...]:
        """The columns, of which each becomes a row."""
        size = self.moved.itemsize
        return tuple(
            Side(index=i, start=i * size, to=i * self.b_column) for i in range(self.spec.n)
        )

    @property
    def b_block(self) -> str:
        return "%b.pack"

    @property
    def scratch_besides_b(self) -> int:
        return super().scratch_besides_b + self.b_pack_bytes

    @property
    def scratch_map(self) -> tuple[str, ...]:
        order = f"{self.moved.stored.scalar} [n][k], {self.b_column} B a row"
        return (*super().scratch_map, f"%b.pack: {order}, {self.b_pack_bytes} B")


def plan_inner_transposed(spec: Matmul, target: Target, schedule: InnerMatmul) -> InnerPlan:
    """Raises ScheduleError as plan_inner does, and where B has more columns than a panel."""
    if not may_transpose_b(spec, target):
        raise ScheduleError(
            f"an inner schedule with pack_b=1 transposes rows of B, and k lies side by side in A, "
            f"which is not so of {spec.key}; take pack_b=0"
        )
    if schedule.nc < spec.n:
        raise ScheduleError(
            f"nc={schedule.nc} is less than n={spec.n}: an inner schedule with pack_b=1 transposes "
            f"all columns; try nc={spec.n}"
        )
    plan = inner_plan(spec, target, schedule, InnerTransposedPlan)
    if plan.b_is_packed and spec.n > plan.b_width:
        raise ScheduleError(
            f"n={spec.n} is more than the {plan.b_width} columns of a packed panel, as an inner "
            "schedule with pack_b=1 takes; use CpuMatmul"
        )
    return plan
