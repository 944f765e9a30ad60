"""Plan of rowwise_interleaved.ll.j2: a vector computes adjacent rows together, column by column.

The kernel serves rows that are interleaved in memory, as for the sums of a matrix's columns. Each
element of a vector belongs to another row, so elements of a vector are never combined. The last
vector of a line of rows overlaps the vector before; a line shorter than a vector is masked.
"""

from __future__ import annotations

from functools import cached_property

from kgen.schedule import CpuRows
from kgen.spec import Rowwise
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import Run, vector_for
from kgen.targets.cpu.plan.kernels.rows.rowwise import RowwisePlan, check_rows, unchecked_rows
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.rows.folds_and_phases import RowInput, RowOutput
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import is_interleaved, split, tile_of
from kgen.targets.stream import operand_terms
from kgen_runtime.values import frozen


@frozen
class InterleavedPlan(RowwisePlan):
    """Plan of interleaved rows; `run` is the loop over columns, each a vector of rows."""

    is_along_row = False
    lines = 1

    @cached_property
    def row(self) -> RowPlan:
        return RowPlan(spec=self.spec, vector=1, lanes=1, form=self._form, online=self.online_with)

    @property
    def line(self) -> int:
        return split(self.spec).rows[-1]

    @property
    def valid(self) -> int:
        """Rows of a line if it is shorter than a vector; otherwise 0."""
        return self.line if self.line < self.compute.count else 0

    @property
    def line_vectors(self) -> int:
        return -(-self.line // self.compute.count)

    @property
    def overlaps(self) -> bool:
        """Whether the last vector of a line overlaps the vector before."""
        return not self.valid and self.line % self.compute.count != 0

    @property
    def last_start(self) -> int:
        """First element of the last vector of a line."""
        return self.line - self.compute.count

    @property
    def units(self) -> int:
        """Number of vectors of rows, which are divided among tasks."""
        return self.spec.rows // self.line * self.line_vectors

    @property
    def unit_words(self) -> tuple[str, ...]:
        return ("vector of rows", "vectors of rows")

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"a vector holds one column of {self.compute.count} adjacent rows",)

    @property
    def masked_accesses(self) -> set[Vector]:
        is_masked = self.valid > 1
        return {self.access(of.name).stored for of in self.row.tensors if is_masked}

    def is_streamed(self, of: RowInput) -> bool:
        return of.columns is not None

    @property
    def may_prefetch(self) -> bool:
        """Whether the kernel prefetches: never, because the hardware prefetcher tracks strides."""
        return False

    def may_shift(self, head: int) -> bool:
        """Return False: variances are computed in two passes."""
        return False

    def is_vector(self, name: str) -> bool:
        """Return whether an input has an element of its own for each row; such elements are
        adjacent."""
        return split(self.spec).strides[name][0][-1] != 0

    def column_terms(self, name: str, body: str, index: str) -> tuple[tuple[str, int], ...]:
        """Return the address terms of a tensor's column: operands, and bytes per unit of each."""
        of = self._tensor(name)
        assert of.columns is not None
        if of.columns.linear and of.columns.terms:
            return ((index, self.itemsize(of)),)
        dimensions = self.row.column_dimensions
        return self._bytes(of, operand_terms(f"%{body}", index, dimensions, of.columns.terms))

    def pointer_of(self, name: str) -> str:
        """Return the address of a vector's first row."""
        return self.row_pointer(self._tensor(name))

    def _tensor(self, name: str) -> RowInput | RowOutput:
        return next(of for of in self.row.tensors if of.name == name)

    @property
    def row_bytes(self) -> int:
        """Bytes of one vector for every column."""
        return self.spec.cols * self.compute.bytes

    @property
    def row_as_place(self) -> str:
        """Slot for kept values in an output: none, because an output's columns are not adjacent."""
        return ""


def plan_rows(spec: Rowwise, target: Target, schedule: CpuRows) -> RowwisePlan:
    """Plan contiguous or interleaved rows. Raises ScheduleError for fields that do not fit."""
    plan = unchecked_plan(spec, target, schedule)
    check_rows(plan)
    return plan


def unchecked_plan(spec: Rowwise, target: Target, schedule: CpuRows) -> RowwisePlan:
    """Return the plan of a schedule that may not fit."""
    if not is_interleaved(spec):
        return unchecked_rows(spec, target, schedule)
    line = split(spec).rows[-1]
    compute = vector_for(target, spec.compute, line)
    vectors = -(-line // compute.count)
    tasks = -(-(spec.rows // line * vectors) // schedule.task)
    # A task writes one box of the output unless vectors overlap.
    exact = line % compute.count == 0 or line < compute.count
    return InterleavedPlan.single(
        spec,
        target,
        schedule,
        compute,
        template="rowwise_interleaved",
        tasks=tasks,
        tile=tile_of(spec, schedule.task * min(line, compute.count)) if exact else None,
        run=Run(length=spec.cols, vector=1, unroll=schedule.unroll),
    )
