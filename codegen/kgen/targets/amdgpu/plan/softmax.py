"""Softmax: each row by a group of threads that share maximum and sum."""

from __future__ import annotations

import math

from kgen.errors import ScheduleError
from kgen.schedule import GpuSoftmax
from kgen.spec import DType, Softmax
from kgen.targets.amdgpu.plan.banks import WIDEST
from kgen.targets.amdgpu.plan.base import AmdgpuPlan, check_grid, check_num_threads
from kgen.targets.base import Target
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: f32 values of a resident row per thread; more would leave few registers for anything else.
MAX_RESIDENT = 64


@frozen
class SoftmaxPlan(AmdgpuPlan):
    """A thread reads `vector` columns at a time, a stride of `step` columns apart."""

    spec: Softmax
    schedule: GpuSoftmax

    @property
    def row_threads(self) -> int:
        return self.schedule.threads_per_row

    @property
    def resident(self) -> bool:
        return bool(self.schedule.resident)

    @property
    def value(self) -> FloatType:
        return FloatType(dtype=DType.F32, lanes=self.schedule.vector)

    @property
    def read(self) -> FloatType:
        return FloatType(dtype=self.spec.dtype, lanes=self.schedule.vector)

    @property
    def written(self) -> FloatType:
        return FloatType(dtype=self.spec.out, lanes=self.schedule.vector)

    @property
    def step(self) -> int:
        """Columns that the threads of a row cover at once."""
        return self.row_threads * self.schedule.vector

    @property
    def whole_steps(self) -> int:
        """Steps in which every thread has columns."""
        return self.spec.cols // self.step

    @property
    def rest(self) -> int:
        """Columns behind the whole steps; 0 if the steps divide the row."""
        return self.spec.cols % self.step

    @property
    def rest_start(self) -> int:
        return self.whole_steps * self.step

    @property
    def accesses(self) -> tuple[tuple[int, bool], ...]:
        """(first column of thread 0, partial) of a resident row's steps."""
        steps = [(i * self.step, False) for i in range(self.whole_steps)]
        return (*steps, *[(self.rest_start, True)] * (self.rest > 0))

    @property
    def ragged_rows(self) -> bool:
        return self.spec.rows % self.schedule.rows_per_block != 0

    @property
    def lane_steps(self) -> tuple[int, ...]:
        """Distances of the exchanges between the lanes of a row in one wave."""
        lanes, steps = min(self.row_threads, self.wave), []
        distance = 1
        while distance < lanes:
            steps.append(distance)
            distance *= 2
        return tuple(steps)

    @property
    def row_waves(self) -> int:
        """Waves that share a row; more than one exchange their parts through LDS."""
        return max(1, self.row_threads // self.wave)

    @property
    def has_barriers(self) -> bool:
        return self.row_waves > 1

    @property
    def parts(self) -> FloatType:
        """The parts of a row's waves, read from LDS at once."""
        return FloatType(dtype=DType.F32, lanes=self.row_waves)

    @property
    def parts_array(self) -> str:
        return f"[{self.schedule.rows_per_block} x [{self.row_waves} x float]]"

    @property
    def parts_alignment(self) -> int:
        return min(WIDEST, self.parts.nbytes)

    @property
    def single(self) -> FloatType:
        return FloatType(dtype=DType.F32)

    @property
    def widens(self) -> bool:
        return self.spec.dtype is not DType.F32

    @property
    def narrows(self) -> bool:
        return self.spec.out is not DType.F32

    @property
    def minus_infinity(self) -> str:
        return self.value.constant(-math.inf)

    @property
    def last_row(self) -> int:
        return self.spec.rows - 1

    def conditions(self, columns_exist: str | None) -> tuple[str, ...]:
        """What must hold for a store: the row exists, its columns exist, or nothing."""
        rows = ("%row.exists",) if self.ragged_rows else ()
        return rows if columns_exist is None else (*rows, columns_exist)

    def last_of(self, first: str, later: str) -> str:
        """The value that holds all accesses: `first`0 itself, or what the last one was put into."""
        count = len(self.accesses)
        return f"%{first}0" if count == 1 else f"%{later}{count - 1}"

    @property
    def out_latch(self) -> str:
        """The block that ends the writing loop."""
        return "out.whole.done" if self.ragged_rows else "out.loop"

    @property
    def declarations(self) -> tuple[str, ...]:
        v = self.value
        found = [f"{v} @llvm.exp.{v.suffix}({v})"]
        vectors = {t.suffix: t for t in (self.single, v)}.values()
        found += [f"{t} @llvm.maxnum.{t.suffix}({t}, {t})" for t in vectors]
        for t in {t.suffix: t for t in (v, self.parts) if t.lanes > 1}.values():
            found.append(f"float @llvm.vector.reduce.fmax.{t.suffix}({t})")
            found.append(f"float @llvm.vector.reduce.fadd.{t.suffix}(float, {t})")
        if self.lane_steps:
            found.append("i32 @llvm.amdgcn.ds.bpermute(i32, i32)")
        if self.has_barriers:
            found.append("void @llvm.amdgcn.s.barrier()")
        if self.spec.log:
            found.append("float @llvm.log.f32(float)")
        return tuple(found)

    @property
    def memory_map(self) -> tuple[str, ...]:
        if not self.has_barriers:
            return ()
        nbytes = self.parts.nbytes * self.schedule.rows_per_block
        return (f"LDS:      @max_parts and @sum_parts, {nbytes} B each of f32: [row][wave]",)


def plan(spec: Softmax, target: Target, schedule: GpuSoftmax) -> SoftmaxPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    check_num_threads(target, schedule.num_threads)
    _check_shape(spec, target, schedule)
    grid = (-(-spec.rows // schedule.rows_per_block), 1, 1)
    check_grid(grid, schedule.num_threads, target, f"rows_per_block={schedule.rows_per_block * 2}")
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(
            shape=(spec.rows, spec.cols),
            extent=(schedule.rows_per_block, spec.cols),
            axes=(0, -1),
        ),
    )
    name = "softmax_resident" if schedule.resident else "softmax_streamed"
    made = SoftmaxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template=f"amdgpu/{name}.ll.j2",
        launches=(launch,),
    )
    held = len(made.accesses) * schedule.vector
    if made.resident and held > MAX_RESIDENT:
        raise ScheduleError(
            f"resident=1 keeps {held} values of a row of {spec.cols} in each of "
            f"{made.row_threads} threads; the limit is {MAX_RESIDENT}; try resident=0"
        )
    return made


def _check_shape(spec: Softmax, target: Target, schedule: GpuSoftmax) -> None:
    widest = WIDEST // max(spec.dtype.itemsize, spec.out.itemsize)
    if spec.cols % schedule.vector or schedule.vector > widest:
        fits = min(spec.cols & -spec.cols, widest)
        raise ScheduleError(
            f"vector={schedule.vector} must divide the row of {spec.cols} and be {widest} or less; "
            f"try vector={fits}"
        )
    for name in ("threads_per_row", "vector"):
        value = getattr(schedule, name)
        if value & (value - 1):
            raise ScheduleError(
                f"{name}={value} is not a power of two; try {1 << value.bit_length()}"
            )
    if schedule.threads_per_row % target.subgroup and target.subgroup % schedule.threads_per_row:
        raise ScheduleError(
            f"{schedule.threads_per_row} threads per row do not go with waves of {target.subgroup}"
        )
