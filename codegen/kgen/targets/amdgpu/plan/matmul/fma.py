"""Matmul on multiply-adds: every thread computes thread_m x thread_n outputs of the block tile.

A thread's rows are groups of up to four neighbours, so that a group is one LDS load. Neighbouring
threads have neighbouring groups, so that they read neighbouring vectors. The same holds for
columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.errors import ScheduleError
from kgen.schedule import FmaMatmul, GpuMatmul
from kgen.spec import DType, Math, Matmul
from kgen.targets.amdgpu.plan.amdgpu_plan import check_grid, check_threads, larger_blocks
from kgen.targets.amdgpu.plan.lds.banks import WIDEST, Lanes, slots_per_cycle
from kgen.targets.amdgpu.plan.lds.tile import LdsTile
from kgen.targets.amdgpu.plan.matmul.epilogue import epilogue
from kgen.targets.amdgpu.plan.matmul.k_loop import check_stages, walked
from kgen.targets.amdgpu.plan.matmul.matmul_plan import MatmulPlan, check_lds, launch
from kgen.targets.amdgpu.plan.staging import layout
from kgen.targets.amdgpu.plan.staging.chunks import power_of_two_divisor
from kgen.targets.amdgpu.plan.staging.layout import Loads
from kgen.targets.base import Target
from kgen.targets.contraction.access import access_maps
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen

#: Number of depths that code generation unrolls. With more, tiles of 128 x 128 spill registers.
UNROLL = 4
#: Rows of a slot of LDS: 16 bytes of f32.
SLOT_ROWS = WIDEST // DType.F32.itemsize


@frozen
class ThreadRows:
    """Rows of A, or columns of B, that a thread multiplies, in groups of `vector`
    neighbours."""

    thread_rows: int
    threads: int

    @property
    def type(self) -> FloatType:
        return FloatType(dtype=DType.F32, lanes=power_of_two_divisor(self.thread_rows, SLOT_ROWS))

    @property
    def vector(self) -> int:
        return self.type.lanes

    @property
    def groups(self) -> tuple[int, ...]:
        """First row of each group of thread 0; those of thread t are t * vector higher."""
        count = self.thread_rows // self.vector
        return tuple(group * self.vector * self.threads for group in range(count))

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows that thread 0 computes."""
        return tuple(group + lane for group in self.groups for lane in range(self.vector))


@frozen
class StoredColumns:
    """Columns of one store: `lanes` columns of column group `group` from `lane` on, at column
    `first` of the output."""

    group: int
    lane: int
    first: int


@frozen
class FmaPlan(MatmulPlan):
    schedule: FmaMatmul
    m: ThreadRows
    n: ThreadRows

    @property
    def accumulators(self) -> tuple[tuple[int, int], ...]:
        """Pairs (row, column group) of a thread's accumulators, which are vectors of neighbouring
        columns."""
        return tuple(
            (row, group) for row in range(len(self.m.rows)) for group in range(len(self.n.groups))
        )

    @property
    def accumulator_names(self) -> tuple[str, ...]:
        return tuple(f"%acc.m{m}.n{n}" for m, n in self.accumulators)

    def row_number(self, group: int, lane: int) -> int:
        """Return the number of a group's row among all rows of the thread."""
        return group * self.m.vector + lane

    @property
    def unroll(self) -> int:
        return min(UNROLL, self.schedule.block_k)

    @property
    def loop_metadata(self) -> dict[str, int]:
        """Metadata number of each step's loop over depths; numbers 0 to 2 are in use."""
        return {step: number for number, step in enumerate(self.k_loop.blocks, 3)}

    @property
    def whole_groups(self) -> bool:
        """Whether a column group is stored as one vector."""
        return self.epilogue.value.lanes == self.n.vector

    @property
    def columns(self) -> tuple[StoredColumns, ...]:
        step = self.epilogue.value.lanes
        return tuple(
            StoredColumns(group=number, lane=lane, first=first + lane)
            for number, first in enumerate(self.n.groups)
            for lane in range(0, self.n.vector, step)
        )

    @property
    def declarations(self) -> tuple[str, ...]:
        t = self.n.type
        fma = f"{t} @llvm.fma.{t.suffix}({t}, {t}, {t})"
        return (*(d for d in super().declarations if d != fma), fma)


def plan(spec: Matmul, target: Target, schedule: FmaMatmul) -> FmaPlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    if spec.dtype.itemsize == 1:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} multiplies in f32 and does not support "
            f"dtype={spec.dtype}; try mainloop=mma"
        )
    if spec.math is not Math.EXACT:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} multiplies exactly in f32 and does not support "
            f"math={spec.math}; try mainloop=mma"
        )
    threads = schedule.num_threads
    check_threads(target, threads, "thread_m", schedule.thread_m)
    check_stages(schedule)
    check_lds(schedule, target, lambda s: lds_bytes(s, target), granule_k=1)
    m = ThreadRows(thread_rows=schedule.thread_m, threads=schedule.block_m // schedule.thread_m)
    n = ThreadRows(thread_rows=schedule.thread_n, threads=schedule.block_n // schedule.thread_n)
    wave = range(min(threads, target.subgroup))
    a, b = (
        layout.make(
            access,
            target=target,
            tile=LdsTile(
                dtype=DType.F32,
                stages=schedule.num_stages,
                rows=block,
                depth=schedule.block_k,
                slot_rows=SLOT_ROWS,
                slot_k=1,
            ),
            threads=threads,
            loads=fragment_loads(side, [divmod(t, n.threads)[number] for t in wave]),
            overhang=True,
        )
        for number, (access, block, side) in enumerate(
            zip(access_maps(spec), (schedule.block_m, schedule.block_n), (m, n), strict=True)
        )
    )
    loop, a, b = walked(schedule, a, b)
    launched = launch(spec, schedule, threads)
    check_grid(launched.grid, threads, target, larger_blocks(schedule))
    # A stored vector must be wholly inside or outside the output.
    lanes = n.vector if spec.n % n.vector == 0 else 1
    return FmaPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/matmul_fma.ll.j2",
        launches=(launched,),
        a=a,
        b=b,
        k_loop=loop,
        epilogue=epilogue(spec, schedule, lanes=lanes),
        m=m,
        n=n,
    )


def lds_bytes(schedule: GpuMatmul, target: Target) -> int:
    """Return the most bytes of the LDS tiles of A and B, for all stages."""
    shortest = slots_per_cycle(target)
    slots = sum(
        max(-(-rows // SLOT_ROWS), shortest) for rows in (schedule.block_m, schedule.block_n)
    )
    return schedule.num_stages * schedule.block_k * slots * WIDEST


def fragment_loads(side: ThreadRows, places: Sequence[int]) -> Loads:
    """Return the loads of a wave's lanes at the first depth; `places` are the lanes' positions in
    `side`."""

    def loads(tile: LdsTile) -> tuple[Lanes, Lanes, int]:
        rows = np.array(places) * side.vector + np.array(side.groups)[:, None]
        return rows, np.zeros_like(rows), side.type.nbytes

    return loads
