"""Plan of rowwise.ll.j2: a row-wise kernel that computes one row at a time.

Each phase of a row is a loop over unrolled vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.expression import node
from kgen.ops.signs import with_nonpositive_exponentials
from kgen.schedule import CpuRows, CpuStream
from kgen.spec import DType, Rowwise
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import CpuRenderer, CpuWholeRenderer, renderer_of
from kgen.targets.cpu.plan.cpu_plan import (
    LINE_BYTES,
    Buffer,
    FormulaPlan,
    Run,
    access,
    check_unroll,
    fuses,
    vector_for,
)
from kgen.targets.cpu.plan.kernels.rows.bodies import Fetch, PhasePlan
from kgen.targets.cpu.plan.kernels.rows.phases import ADD_PRODUCT, RowPhases, combination
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.rows.folds_and_phases import RowInput, RowOutput, RowPhase
from kgen.targets.rows.kept import EXPENSIVE, Kept, kept_values
from kgen.targets.rows.online import extreme_of, first_place_of
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.shifted import head_of, with_shift
from kgen.targets.rows.split import is_interleaved, line_length, tile_of
from kgen.targets.stream import Dimension, operand_terms
from kgen_runtime.values import frozen

#: A one-pass variance subtracts the mean of the row's head. The head is at least 1/LONGEST_SHARE of
#: the row, which bounds the error (shifted.py), and at most 1/SHORTEST_SHARE, because it is read
#: twice.
LONGEST_SHARE, SHORTEST_SHARE = 128, 4


@frozen
class RowwisePlan(FormulaPlan):
    #: IR values of the bounds of a part of a row, if rows are divided.
    part_ends: ClassVar[tuple[str, ...]] = ()
    #: Whether a vector holds elements of one row.
    is_along_row: ClassVar[bool] = True

    spec: Rowwise

    @property
    def choices(self) -> CpuRows:
        assert isinstance(self.schedule, CpuRows)
        return self.schedule

    @cached_property
    def row(self) -> RowPlan:
        """Row cut into lines, along which no input starts over."""
        return RowPlan(
            spec=self.spec,
            vector=self.run.length,
            lanes=1,
            form=self._form,
            online=self.online_with,
        )

    @property
    def online_with(self) -> Callable[[Expression], Expression | None] | None:
        """Function that finds the maximum or minimum to which the exponents of an f32 fold are
        relative; None for other types."""
        if self.spec.compute is not DType.F32:
            return None
        return extreme_of if self.is_online else first_place_of

    @property
    def is_online(self) -> bool:
        return self.choices.online

    @property
    def head(self) -> int:
        """Columns of the row's head, whose mean a one-pass variance subtracts; 0 for no head."""
        return self.choices.variance_head

    def _form(self, expression: Expression) -> Expression:
        """Rewrite variances for one pass if the schedule says so."""
        if self.head:
            expression = with_shift(expression, self.head)
        return with_nonpositive_exponentials(expression, self.spec.compute)

    def may_shift(self, head: int) -> bool:
        """Return whether a one-pass variance may subtract the mean of the first `head` columns.
        Rows must be single lines in f32. `head` must be a multiple of the step, within the
        limits."""
        one_line = self.run.length == self.spec.cols
        within = SHORTEST_SHARE * head <= self.spec.cols <= LONGEST_SHARE * head
        return self.spec.compute is DType.F32 and one_line and within and head % self.run.step == 0

    def access(self, name: str) -> Access:
        return access(
            self.target,
            self.row.dtype_of(name),
            self.compute,
            rounded_by_cpu=name in self.rounded_by_cpu,
        )

    @cached_property
    def rounded_by_cpu(self) -> tuple[str, ...]:
        """bf16 outputs whose subnormal numbers may become zero."""
        return flushed_outputs(self.spec, self.target)

    def itemsize(self, of: RowInput | RowOutput) -> int:
        return self.row.dtype_of(of.name).itemsize

    @property
    def units(self) -> int:
        return self.spec.rows

    # -- the expression ------------------------------------------------------------------------

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, digits_of(self.spec))

    @property
    def renderer(self) -> CpuRenderer | CpuWholeRenderer:
        return renderer_of(self.spec.compute, self.compute.count, self.target)

    @property
    def rounded(self) -> frozenset[str]:
        """Outputs whose results are rounded to whole numbers before they are converted."""
        return frozenset(n for n in self.spec.outputs if self.access(n).is_whole_words)

    @property
    def module_functions(self) -> tuple[str, ...]:
        renderer = self.renderer
        return renderer.functions(*self.row.results) if isinstance(renderer, CpuRenderer) else ()

    @property
    def declarations(self) -> tuple[str, ...]:
        computed = [*self.row.results, *map(combination, self.row.folds)]
        computed += [node(P.ROUND, of.result) for of in self.row.outputs if of.name in self.rounded]
        computed += [ADD_PRODUCT] if any(map(self.row_phases.adds_product, self.row.folds)) else []
        found = list(self.renderer.declarations(*computed))
        if self.module_functions:
            found += self.functions.declarations(self.compute)
        found += [self.access(name).saturating for name in sorted(self.rounded)]
        return tuple(dict.fromkeys(found))

    def row_terms(self, of: RowInput | RowOutput) -> tuple[tuple[str, int], ...]:
        """Return the address terms of a tensor's row: operands, and bytes per unit of each."""
        return self._bytes(of, self.row.row_operands(of, "%row"))

    def row_pointer(self, of: RowInput | RowOutput) -> str:
        if isinstance(of, RowOutput):
            return f"%{of.name}.row"
        return f"%{of.name}.row" if of.row_terms else self.origin(of)

    def origin(self, of: RowInput) -> str:
        """Return the name of the pointer from which a tensor is read."""
        return f"%{of.name}.origin" if of in self.row.views else self.pointer(of.tensor)

    def first_byte(self, of: RowInput) -> int:
        return of.offset * self.itemsize(of)

    def _bytes(
        self, of: RowInput | RowOutput, terms: Sequence[tuple[str, int]]
    ) -> tuple[tuple[str, int], ...]:
        itemsize = self.itemsize(of)
        return tuple((operand, stride * itemsize) for operand, stride in terms)

    # -- lines of a row ------------------------------------------------------------------------

    @property
    def lines(self) -> int:
        """Lines per row: one, unless an input broadcasts along some of the row's axes."""
        return self.row.row_vectors

    def inputs_of_lines(self, phase: RowPhase) -> list[RowInput]:
        """Return the inputs of a phase whose address depends on the line."""
        return [i for i in self.row.inputs if i.columns and i.name in phase.inputs]

    @property
    def line_dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions that split a line's number into the coordinates that inputs need."""
        return tuple(d for d in self.row.computed_columns if d.number < self._inner)

    @property
    def _inner(self) -> int:
        """Number of the dimension along a line."""
        return next(len(i.columns.strides) for i in self.row.tensors if i.columns) - 1

    def line_terms(self, of: RowInput | RowOutput, line: str) -> tuple[tuple[str, int], ...]:
        """Return the address terms of a line in the row: operands, and bytes per unit of each."""
        assert of.columns is not None
        if of.columns.linear:
            return ((line, self.run.length * self.itemsize(of)),)
        terms = tuple((d, stride) for d, stride in of.columns.terms if d < self._inner)
        return self._bytes(of, operand_terms(line, line, self.row.column_dimensions, terms))

    def line_pointer(self, name: str, line: str) -> str:
        of = next(i for i in self.row.tensors if i.name == name)
        if self.lines == 1 or not self.line_terms(of, line):
            return self.row_pointer(of)
        return f"{line}.{name}.at"

    def is_streamed(self, of: RowInput) -> bool:
        """Return whether an input is read vector by vector: a line has several elements of it."""
        return of.columns is not None and (self.lines == 1 or not of.columns.single)

    # -- what is kept between phases -----------------------------------------------------------

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in the compute type, in whole vectors."""
        return -(-self.spec.cols // self.compute.count) * self.compute.bytes

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Slots for kept values: buffers on the stack, and the output's row if it holds floats."""
        stack = tuple(f"%kept{i}" for i in range(self.choices.kept_bytes // self.row_bytes))
        if not self.row_as_place or self.schedule.nontemporal:
            return stack
        row = self.row_as_place
        return (row, *stack) if self.choices.keep_in_output else (*stack, row)

    @property
    def row_as_place(self) -> str:
        """Pointer to a row of an output with the same layout as a buffer, or ""."""
        names = [
            of.name
            for of in self.row.whole_outputs
            if of.columns and of.columns.linear and self.access(of.name).is_wide
        ]
        return f"%{names[-1]}.row" if names else ""

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        return kept_values(self.row, len(self.places))

    @property
    def row_buffers(self) -> tuple[str, ...]:
        used = dict.fromkeys(self.places[kept.slot] for kept in self.kept)
        return tuple(place for place in used if place != self.row_as_place)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        holds, nbytes = f"{self.spec.compute}, values of a row kept between phases", self.row_bytes
        return tuple(Buffer(name=place, holds=holds, bytes=nbytes) for place in self.row_buffers)

    def kept_valid(self, slot: int, valid: int) -> int:
        """Return the number of valid elements of a vector that is stored to a slot; 0 if all are.

        A partial vector is stored whole if its slot has room, because a later load would wait for
        a masked store to complete.
        """
        return 0 if self.places[slot] in self.row_buffers and self.lines == 1 else valid

    @property
    def stage(self) -> Access:
        return Access(dtype=self.spec.compute, compute=self.compute)

    @property
    def masked_accesses(self) -> set[Vector]:
        if self.run.tail <= 1:
            return set()
        types = {self.access(i.name).stored for i in self.row.inputs if self.is_streamed(i)}
        kept_masks = (self.kept_valid(kept.slot, self.run.tail) for kept in self.kept)
        return types | ({self.stage.stored} if any(kept_masks) else set())

    # -- memory --------------------------------------------------------------------------------

    @cached_property
    def fetches(self) -> tuple[Fetch, ...]:
        """Lines that are prefetched. A reduction prefetches a few lines ahead, or the next row.
        Otherwise the last phase prefetches the next row, if its elements have 32 bits. The phase
        before the last prefetches the output's row, unless nontemporal stores write it."""
        if not self.may_prefetch:
            return ()
        inputs = [i for i in self.row.inputs if i.row_terms and self.is_streamed(i)]
        names = [i.name for i in inputs if i.columns is not None and i.columns.linear]
        rows = {name: self.spec.cols * self.row.dtype_of(name).itemsize for name in names}
        last = self.row.phases[-1].number
        if not self.row.whole_outputs:
            found = []
            if distance := self.choices.prefetch:
                first = int(bool(head_of(self.row.phases[0])))
                found.append((first, dict.fromkeys(names, distance)))
            if self.choices.prefetch_next_row:
                found.append((max(last - 1, 0), rows))
            return tuple(
                self._fetch(phase, name, ahead[name], 2)
                for phase, ahead in found
                for name in names
                if name in self.row.phases[phase].inputs
            )
        if not self.choices.prefetch_next_row:
            return ()
        wide = [name for name in names if self.access(name).is_wide]
        fetched = [self._fetch(last, name, rows[name], 2) for name in wide]
        if last > 1 and not self.schedule.nontemporal:
            fetched.append(self._fetch(last - 1, "out", 0, 3))
        return tuple(fetched)

    @property
    def may_prefetch(self) -> bool:
        """Whether rows are single lines with unrolled steps, and have one output."""
        return self.lines == 1 and self.run.has_unrolled and self.spec.outputs == ("out",)

    @property
    def keeps_in_output(self) -> bool:
        """Whether a value is kept in the output's row, which is cached before the last phase."""
        return any(self.places[kept.slot] == self.row_as_place for kept in self.kept)

    def _fetch(self, phase: int, name: str, ahead: int, locality: int) -> Fetch:
        of = next((i for i in self.row.inputs if i.name == name), None)
        itemsize = self.access(name).itemsize
        lines = range(ahead, ahead + self.run.step * itemsize, LINE_BYTES)
        return Fetch(
            phase=phase,
            name=name,
            pointer=self.row_pointer(of) if of else "%out.row",
            lines=tuple(line for line in lines if self.reaches(name, line)),
            locality=locality,
            itemsize=itemsize,
        )

    @cached_property
    def row_phases(self) -> RowPhases:
        known = {i.name: f"%{i.name}.all" for i in self.row.of_row} | {"row": "%row.number"}
        return RowPhases(
            row=self.row,
            run=self.run,
            renderer=self.renderer,
            fuses=fuses(self.target) and not self.spec.compute.is_integer,
            rounded=self.rounded,
            kept=self.kept,
            known_of_row=known,
            loaded=tuple(i.name for i in self.row.inputs if self.is_streamed(i)),
            fetches=self.fetches,
            past_caches=self.schedule.nontemporal,
            has_lines=self.lines > 1,
            ends=self.part_ends,
            is_along_row=self.is_along_row,
        )

    @cached_property
    def phases(self) -> tuple[PhasePlan, ...]:
        return self.row_phases.phases()


def digits_of(spec: Rowwise) -> DType:
    """Return the type whose precision functions need: the output's, or f32 if outputs differ."""
    return DType.F32 if spec.out_dtypes else spec.out


def is_one_line(spec: Rowwise) -> bool:
    """Return whether a row is one line of contiguous elements."""
    return not is_interleaved(spec) and line_length(spec) == spec.cols


def may_pass_caches(spec: Rowwise, target: Target) -> bool:
    """Return whether non-temporal stores can write the output: each row is one line of at least a
    vector."""
    single = spec.outputs == ("out",) and not spec.reduced["out"] and is_one_line(spec)
    return single and vector_for(target, spec.compute, spec.cols).count <= spec.cols


def check_rows(plan: RowwisePlan) -> None:
    """Raise ScheduleError for stores, passes, slots and prefetches that the rows do not allow."""
    spec, schedule = plan.spec, plan.choices
    if schedule.nontemporal and not may_pass_caches(spec, plan.target):
        raise ScheduleError(
            f"nontemporal=1 requires an output of whole rows of at least {plan.compute.count} "
            "elements, and inputs that broadcast along all of the reduced axes or none; "
            "try nontemporal=0"
        )
    if schedule.nontemporal:
        check_unroll(schedule, ", which nontemporal=1 requires")
    if schedule.kept_bytes > (room := plan.target.limits["stack_bytes"]):
        raise ScheduleError(
            f"kept_bytes={schedule.kept_bytes} is more than a thread's stack has on "
            f"{plan.target.name}; try kept_bytes={room}"
        )
    if schedule.online and spec.compute is not DType.F32:
        raise ScheduleError(f"online=1 requires rows in f32, not {spec.compute}; try online=0")
    check_head(plan)
    if schedule.keep_in_output and (not plan.row_as_place or schedule.nontemporal):
        raise ScheduleError(
            f"keep_in_output=1 requires an output of whole rows in {spec.compute}, and "
            "nontemporal=0; try keep_in_output=0"
        )
    if schedule.prefetch and (not plan.may_prefetch or plan.row.whole_outputs):
        raise ScheduleError(
            f"prefetch={schedule.prefetch} requires long contiguous rows and outputs of one "
            "element per row; try prefetch=0"
        )
    if schedule.prefetch_next_row and not plan.may_prefetch:
        raise ScheduleError(
            "prefetch_next_row=1 requires long contiguous rows and one output; "
            "try prefetch_next_row=0"
        )


def check_head(plan: RowwisePlan) -> None:
    """Raise ScheduleError if a one-pass variance cannot subtract the mean of the row's head."""
    if plan.head and not plan.may_shift(plan.head):
        raise ScheduleError(
            f"variance_head={plan.head} requires rows in f32, inputs that broadcast along all of "
            f"the reduced axes or none, and a multiple of {plan.run.step} within 1/{LONGEST_SHARE} "
            f"and 1/{SHORTEST_SHARE} of {plan.spec.cols} columns; try variance_head=0"
        )


def unchecked_rows(spec: Rowwise, target: Target, schedule: CpuStream) -> RowwisePlan:
    """Return the plan of a schedule that may not fit."""
    line = line_length(spec)
    compute = vector_for(target, spec.compute, line)
    return RowwisePlan.single(
        spec,
        target,
        schedule,
        compute,
        template="rowwise",
        tasks=-(-spec.rows // schedule.task),
        tile=tile_of(spec, schedule.task),
        run=Run(length=line, vector=compute.count, unroll=schedule.unroll),
    )


#: Primitives whose result has an error if any operand has one.
ARITHMETIC = frozenset({P.ADD, P.SUB, P.MUL, P.FMA, P.NEG, P.ABS, P.REDUCE})
#: Primitives whose result is one of the operands.
CHOICES = frozenset({P.MIN, P.MAX, P.MAXNUM})


def flushed_outputs(spec: Rowwise, target: Target) -> tuple[str, ...]:
    """Return the outputs that VCVTNEPS2BF16 rounds, if the target has that instruction."""
    if not target.has("avx512_bf16"):
        return ()
    found = zip(spec.outputs, spec.primitives(), strict=True)
    return tuple(
        name
        for name, result in found
        if spec.dtype_of(name) is DType.BF16 and may_be_flushed(result)
    )


def may_be_flushed(step: Expression) -> bool:
    """Return whether a value may already have an error of the smallest normal number.
    Approximations of functions have such an error, so turning a subnormal number into zero is no
    worse."""
    if step.primitive in EXPENSIVE:
        return True
    if step.primitive in ARITHMETIC:
        return any(map(may_be_flushed, step.arguments))
    if step.primitive in CHOICES:
        return all(map(may_be_flushed, step.arguments))
    return step.primitive is P.SELECT and all(map(may_be_flushed, step.arguments[1:]))
