"""Matmul on multiply-adds: every thread owns a thread_m x thread_n piece of the block tile.

A thread's rows come in groups of up to four neighbours, so that a group is one LDS load, and the
groups of all threads lie side by side, so that neighbouring threads read neighbouring vectors.
Columns likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.schedule import FmaMatmul, GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.amdgpu.plan import staging
from kgen.targets.amdgpu.plan.base import check_grid, check_threads
from kgen.targets.amdgpu.plan.matmul import MatmulPlan, check_lds, epilogue, k_loop, launch
from kgen.targets.amdgpu.plan.staging import power_of_two_divisor
from kgen.targets.base import Target
from kgen.targets.llvm_ir import FloatType

#: Depths that code generation unrolls together. Measured on 2000x2001x2003 f32 on all targets: 4
#: keep 128 x 128 tiles at 150-200 registers, 8 take up to 270, 16 spill hundreds.
UNROLL = 4
#: f32 values in the widest LDS access.
WIDEST = staging.WIDEST // DType.F32.itemsize
#: Elements behind each line of an LDS tile: 16 bytes shift the lines against each other, so that
#: a transposing store does not meet one bank over and over.
PADDING = 4


@dataclass(frozen=True, kw_only=True)
class Side:
    """One operand's share of a thread: its rows (or columns) in groups of `vector` neighbours."""

    thread_rows: int
    threads: int

    @property
    def type(self) -> FloatType:
        return FloatType(dtype=DType.F32, lanes=power_of_two_divisor(self.thread_rows, WIDEST))

    @property
    def vector(self) -> int:
        return self.type.lanes

    @property
    def groups(self) -> tuple[int, ...]:
        """The first row of each group of thread 0; thread t's are t * vector further on."""
        count = self.thread_rows // self.vector
        return tuple(group * self.vector * self.threads for group in range(count))

    @property
    def rows(self) -> tuple[int, ...]:
        """All rows of thread 0."""
        return tuple(group + lane for group in self.groups for lane in range(self.vector))


@dataclass(frozen=True, kw_only=True)
class Columns:
    """One store: `lanes` of column group `group` from lane `lane` on, at column `first`."""

    group: int
    lane: int
    first: int


@dataclass(frozen=True, kw_only=True)
class FmaPlan(MatmulPlan):
    schedule: FmaMatmul
    m: Side
    n: Side

    @property
    def accumulators(self) -> tuple[tuple[int, int], ...]:
        """(row, column group) of a thread's accumulators, each a vector of neighbouring columns."""
        return tuple(
            (row, group) for row in range(len(self.m.rows)) for group in range(len(self.n.groups))
        )

    @property
    def accumulator_names(self) -> tuple[str, ...]:
        return tuple(f"%acc.m{m}.n{n}" for m, n in self.accumulators)

    def row_number(self, group: int, lane: int) -> int:
        """A row of a group among all rows of the thread."""
        return group * self.m.vector + lane

    @property
    def unroll(self) -> int:
        return min(UNROLL, self.schedule.block_k)

    @property
    def loop_metadata(self) -> dict[str, int]:
        """Metadata number of each step's loop over depths; 0 to 2 are taken."""
        steps = ["loop"] * self.k_loop.has_loop + ["tail"] * self.k_loop.has_tail + ["last"]
        return {step: number for number, step in enumerate(steps, 3)}

    @property
    def whole_groups(self) -> bool:
        """A column group is stored as one vector."""
        return self.epilogue.value.lanes == self.n.vector

    @property
    def columns(self) -> tuple[Columns, ...]:
        step = self.epilogue.value.lanes
        return tuple(
            Columns(group=number, lane=lane, first=first + lane)
            for number, first in enumerate(self.n.groups)
            for lane in range(0, self.n.vector, step)
        )

    @property
    def a_alignment(self) -> int:
        return min(self.a.lds_alignment, self.m.type.nbytes)

    @property
    def b_alignment(self) -> int:
        return min(self.b.lds_alignment, self.n.type.nbytes)

    @property
    def declarations(self) -> tuple[str, ...]:
        t = self.n.type
        fma = f"{t} @llvm.fma.{t.suffix}({t}, {t}, {t})"
        return (*(d for d in super().declarations if d != fma), fma)


def plan(spec: Matmul, target: Target, schedule: FmaMatmul) -> FmaPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    threads = schedule.num_threads
    check_threads(target, threads, "thread_m", schedule.thread_m)
    loop = k_loop(spec, schedule)
    check_lds(schedule, target, lds_bytes, granule_k=1)
    b_batch, b_k, b_n = spec.b_strides
    a, b = (
        staging.make(
            name=name,
            memory=spec.dtype,
            lds=DType.F32,
            shape=(rows, spec.k),
            block=(block, schedule.block_k),
            threads=threads,
            stages=schedule.num_stages,
            strides=strides,
            lds_axis="row",
            padding=PADDING,
        )
        for name, rows, block, strides in (
            ("a", spec.m, schedule.block_m, spec.a_strides),
            ("b", spec.n, schedule.block_n, (b_batch, b_n, b_k)),
        )
    )
    launched = launch(spec, schedule, threads)
    check_grid(launched.grid, threads, "a larger block")
    n = Side(thread_rows=schedule.thread_n, threads=schedule.block_n // schedule.thread_n)
    # A stored vector must lie wholly inside or outside the output.
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
        m=Side(thread_rows=schedule.thread_m, threads=schedule.block_m // schedule.thread_m),
        n=n,
    )


def lds_bytes(schedule: GpuMatmul) -> int:
    """Bytes of the LDS tiles of A and B, all stages."""
    lines = schedule.num_stages * schedule.block_k
    return lines * (schedule.block_m + schedule.block_n + 2 * PADDING) * DType.F32.itemsize
