"""Row-wise kernels: groups of threads keep rows in registers, or each phase reads them again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import Expression, Primitive, steps
from kgen.ops.expression import node, rebuilt, variable
from kgen.schedule import GpuRows
from kgen.spec import Rowwise
from kgen.targets.amdgpu.expressions import (
    DIVISION_ULPS,
    INEXACT,
    exponentials,
    remainders,
    renderer_of,
    rounding,
)
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan, check_grid, check_num_threads
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.rows import lanes
from kgen.targets.amdgpu.plan.rows.phases import PhasePlan, RowPhases
from kgen.targets.amdgpu.plan.rows.pointers import Move
from kgen.targets.base import Target, launch_of
from kgen.targets.header import counted
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen.targets.rows.folds_and_phases import RowPhase
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import is_interleaved, tile_of, walked_itemsize, widest_vector
from kgen_runtime.values import frozen

#: Most f32 values of a resident row per thread; more would leave too few registers.
MAX_RESIDENT = 64
#: Most threads of an interleaved row. Each thread reads the partial results of all of them.
MAX_PARTNERS = 32


@frozen
class RowwisePlan(AmdgpuPlan):
    spec: Rowwise
    schedule: GpuRows

    @cached_property
    def row(self) -> RowPlan:
        return RowPlan(
            spec=self.spec,
            vector=self.schedule.vector,
            lanes=self.schedule.threads_per_row,
            native=renderer_of(FloatType(dtype=self.spec.compute)).native,
            form=with_negated_folds,
        )

    @cached_property
    def vectors(self) -> RowPhases:
        return RowPhases(
            row=self.row,
            resident=self.resident,
            first=self.first,
            distances=self.distances,
            wave=self.wave,
            waves=self.row_waves,
        )

    @property
    def phases(self) -> tuple[PhasePlan, ...]:
        return self.vectors.made

    @property
    def resident(self) -> bool:
        return bool(self.schedule.resident)

    # -- types ---------------------------------------------------------------------------------

    @property
    def single(self) -> FloatType:
        return self.vectors.single

    @property
    def value(self) -> FloatType:
        return self.vectors.value

    def access(self, name: str) -> FloatType:
        """Return the type of an access to a tensor's vector."""
        return FloatType(dtype=self.row.dtype_of(name), lanes=self.value.lanes)

    def one(self, name: str) -> FloatType:
        """Return the type of an access to a tensor with one element for a whole vector or row."""
        return FloatType(dtype=self.row.dtype_of(name))

    @property
    def column_offsets(self) -> str:
        """Constant vector with the columns of a vector, counted from its first."""
        one = self.single
        return f"<{', '.join(f'{one} {one.constant(e)}' for e in range(self.schedule.vector))}>"

    @property
    def to_number(self) -> str:
        """Instruction that converts an i32 to a number of the compute type, exactly."""
        return "bitcast" if self.single.is_integer else "uitofp"

    # -- a row's threads -----------------------------------------------------------------------

    @property
    def lanes_share(self) -> bool:
        """Whether a row has several threads."""
        return self.row.lanes > 1

    @property
    def interleaved(self) -> bool:
        """Whether neighbouring threads have neighbouring rows, each of several threads."""
        return self.row.interleaved and self.schedule.shares_block and self.lanes_share

    @property
    def part_of_row(self) -> str:
        """Number of a thread's partial result among those of its row."""
        return "%first" if self.interleaved else "%wave_in_row"

    @property
    def row_number(self) -> str:
        return "%row" if self.schedule.shares_block else "%block"

    @property
    def row_in_block(self) -> str:
        if not self.schedule.shares_block:
            return "0"
        return "%row_in_block" if self.lanes_share else "%thread"

    @property
    def first(self) -> str:
        """Number of the thread's first vector in its row."""
        if not self.lanes_share:
            return "0"
        return "%first" if self.schedule.shares_block else "%thread"

    @property
    def row_edge(self) -> bool:
        """Whether the last workgroup has threads whose rows do not exist."""
        return self.spec.rows % self.schedule.rows_per_block != 0

    @property
    def last_row(self) -> int:
        return self.spec.rows - 1

    @property
    def row_read(self) -> str:
        """Row that a thread reads, which always exists."""
        return "%row.read" if self.row_edge else self.row_number

    @property
    def first_writes(self) -> bool:
        """Whether only the first thread of a row writes the result."""
        return bool(self.row.reduced_outputs) and self.lanes_share

    @property
    def write_conditions(self) -> tuple[str, ...]:
        """Conditions under which a thread writes."""
        found = ["%row.exists"] if self.row_edge else []
        if self.first_writes and not self.row.whole_outputs:
            found.append("%is_first")
        elif self.vectors.idle_lanes and self.row.whole_outputs:
            found.append("%first.exists")
        return tuple(found)

    @property
    def has_write_conditions(self) -> bool:
        """Whether a thread writes under several conditions."""
        return len(self.write_conditions) > 1

    @property
    def writes(self) -> str:
        """Condition of threads that write; empty if all do."""
        return "%writes" if self.has_write_conditions else "".join(self.write_conditions)

    @property
    def loops_to_exit(self) -> bool:
        """Whether the last phase is a loop that ends at the exit."""
        return not self.resident and bool(self.row.whole_outputs)

    @property
    def writes_row_first(self) -> bool:
        """Whether one thread writes a row's results before all threads write its elements."""
        return self.first_writes and bool(self.row.whole_outputs)

    @property
    def last_block(self) -> str:
        """Label of the block before the loop of the last phase."""
        if self.writes_row_first:
            return "row.written"
        return "out.entry" if self.writes else self.phases[-1].block

    @property
    def has_exit(self) -> bool:
        """Whether some threads branch to the exit from within the last phase."""
        lacks_last = self.row.pieces[-1].partial and bool(self.row.whole_outputs)
        return bool(self.writes) or self.loops_to_exit or lacks_last

    # -- exchanges -----------------------------------------------------------------------------

    @property
    def distances(self) -> tuple[int, ...]:
        """Lane distances of the exchanges of a row within a wave."""
        lanes = 1 if self.interleaved else min(self.row.lanes, self.wave)
        return tuple(1 << bit for bit in range(lanes.bit_length() - 1))

    @property
    def row_waves(self) -> int:
        """Number of waves that share a row. Several waves, and all lanes of an interleaved row,
        exchange partial results through LDS."""
        return self.row.lanes if self.interleaved else max(1, self.row.lanes // self.wave)

    @property
    def has_barriers(self) -> bool:
        return self.row_waves > 1

    @property
    def parts(self) -> FloatType:
        return self.vectors.parts

    @property
    def parts_array(self) -> str:
        return f"[{self.schedule.rows_per_block} x [{self.row_waves} x {self.single}]]"

    @property
    def parts_alignment(self) -> int:
        return min(WIDEST, self.parts.nbytes)

    @property
    def exchanges(self) -> bool:
        """Whether lanes combine partial results."""
        return self.lanes_share or self.value.lanes > 1

    def title(self, phase: RowPhase) -> str:
        if not phase.folds:
            return f"epilogue: {self.spec.formula}"
        return f"mainloop: {', '.join(fold.title for fold in phase.folds)}"

    @property
    def notes(self) -> tuple[str, ...]:
        threads = counted(self.row.lanes, "thread")
        found = [self.row.note(threads, is_resident=self.resident)]
        if self.row.interleaved and self.schedule.shares_block:
            found.append("adjacent threads process adjacent rows, which are contiguous in memory")
        return tuple(found)

    @property
    def memory_map(self) -> tuple[str, ...]:
        if not self.has_barriers:
            return ()
        rows, of = self.schedule.rows_per_block, "thread" if self.interleaved else "wave"
        nbytes = self.parts.nbytes * rows
        layout = f"{self.spec.compute} [row: {rows}][{of}: {self.row_waves}], {nbytes} B"
        found = (f"@{fold.name}_parts: {layout}" for fold in self.row.folds)
        return (f"LDS, {nbytes * len(self.row.folds)} B", *found)

    # -- addresses of rows ---------------------------------------------------------------------

    @property
    def row_moves(self) -> tuple[tuple[Move, str], ...]:
        """Address moves from each tensor's first element to the row's, with LLVM's element type."""
        return tuple(
            (move, self.one(of.name).element)
            for of in self.row.tensors
            for move in self.vectors.row_moves(of)
        )

    # -- the expression ------------------------------------------------------------------------

    @property
    def results_of_row(self) -> tuple[tuple[str, str], ...]:
        """Outputs with one element per row, and the values that the last phase computes for
        them."""
        known = self.phases[-1].row_known
        return tuple((of.name, known[of.result]) for of in self.row.reduced_outputs)

    @property
    def division_ulps(self) -> str:
        inexact = any(s.primitive in INEXACT for s in steps(*self.row.results))
        return f"{DIVISION_ULPS:e}" if inexact else ""

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return remainders({step.primitive for step in steps(*self.row.results)})

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        of_vectors = (s for s in steps(*self.row.results) if not self.row.is_of_row(s))
        return exponentials((self.value, {step.primitive for step in of_vectors}))

    @property
    def declarations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._intrinsics()))

    def _intrinsics(self) -> Iterator[str]:
        """Return declarations of the intrinsics that the kernel calls."""
        of_rows, of_vectors = renderer_of(self.single), renderer_of(self.value)
        for step in steps(*self.row.results):
            yield from (of_rows if self.row.is_of_row(step) else of_vectors).declaration(step)
        for fold in self.row.folds:
            primitive = fold.reduction.combine
            step = node(primitive, variable("x"), variable("y"))
            if self.row.turns > 1 or not self.resident:
                yield from of_vectors.declaration(step)
            if self.value.lanes > 1:
                yield of_vectors.across_declaration(primitive)
            if self.distances:
                yield from of_rows.declaration(step)
            if self.has_barriers:
                yield renderer_of(self.parts).across_declaration(primitive)
        for of in self.row.whole_outputs:
            yield from rounding(self.value, self.access(of.name))
        for of in self.row.reduced_outputs:
            yield from rounding(self.single, self.one(of.name))
        yield from lanes.declarations(self.distances, self.wave, self.single)
        if self.has_barriers:
            yield "void @llvm.amdgcn.s.barrier()"


def with_negated_folds(expression: Expression) -> Expression:
    """Return the expression with x - r replaced by x + (-r) if r depends only on folds.

    v_pk_add_f32 has no counterpart that subtracts, and -r is computed once per row.
    """
    return rebuilt(expression, _with_negated_fold)


def _with_negated_fold(step: Expression) -> Expression:
    if step.primitive is not Primitive.SUB:
        return step
    x, y = step.arguments
    if not is_made_of_folds(y) or is_made_of_folds(x):
        return step
    return x + node(Primitive.NEG, y)


def is_made_of_folds(expression: Expression) -> bool:
    """Return whether all leaves of an expression are reductions and constants."""
    if expression.primitive in (Primitive.REDUCE, Primitive.CONSTANT):
        return True
    return bool(expression.arguments) and all(map(is_made_of_folds, expression.arguments))


def vector_of(spec: Rowwise) -> int:
    """Return the elements of the widest access that is aligned in every row."""
    return widest_vector(spec, WIDEST // walked_itemsize(spec))


def plan(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    check_num_threads(target, schedule.num_threads)
    _check_shape(spec, target, schedule)
    grid = (-(-spec.rows // schedule.rows_per_block), 1, 1)
    check_grid(grid, schedule.num_threads, target, f"rows_per_block={schedule.rows_per_block * 2}")
    tile = tile_of(spec, schedule.rows_per_block)
    launch = launch_of(spec, grid, schedule.num_threads, tile)
    made = RowwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/rowwise.ll.j2",
        launches=(launch,),
    )
    # If nothing of a row is kept, its vectors need few registers, but each vector needs text.
    held = made.row.turns * schedule.vector * max(1, made.row.values_kept)
    if made.resident and held > MAX_RESIDENT:
        raise ScheduleError(
            f"resident=1 keeps {held} values of a row of {spec.cols} in each of "
            f"{made.row.lanes} threads; the limit is {MAX_RESIDENT}; try resident=0"
        )
    return made


def _check_shape(spec: Rowwise, target: Target, schedule: GpuRows) -> None:
    per_row, vector = schedule.threads_per_row, schedule.vector
    if per_row & (per_row - 1):
        lower = 1 << (per_row.bit_length() - 1)
        raise ScheduleError(
            f"num_threads={schedule.num_threads} with rows_per_block={schedule.rows_per_block} "
            f"gives each row {per_row} threads, which is not a power of two; "
            f"try num_threads={lower * schedule.rows_per_block}"
        )
    if vector & (vector - 1):
        raise ScheduleError(
            f"vector={vector} is not a power of two; try vector={1 << (vector.bit_length() - 1)}"
        )
    if is_interleaved(spec) and schedule.shares_block and per_row > MAX_PARTNERS:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives each row {per_row} threads; the limit is {MAX_PARTNERS}; "
            f"try rows_per_block={schedule.num_threads // MAX_PARTNERS}"
        )
    if schedule.vector > vector_of(spec):
        raise ScheduleError(
            f"vector={schedule.vector} is more than {vector_of(spec)}: an access has at most "
            f"{WIDEST} bytes and divides a row of {spec.cols} elements; "
            f"try vector={vector_of(spec)}"
        )
