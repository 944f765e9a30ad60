"""Plan of rowwise_split.ll.j2: long rows, each divided into parts for several threads.

Each pass over the rows is a launch. The folds of a part go to a workspace as partial results. In
the next launch, each task combines the partial results of its row and continues with its part. The
schedule sets the parts, so results do not depend on the number of threads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import CpuSplitRows
from kgen.spec import Rowwise
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, check_task
from kgen.targets.cpu.plan.kernels.rows.bodies import Fetch, PartialResult, PhasePlan
from kgen.targets.cpu.plan.kernels.rows.rowwise import (
    RowwisePlan,
    check_head,
    is_one_line,
    unchecked_rows,
)
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.rows.folds_and_phases import RowOutput, RowPhase
from kgen.targets.rows.kept import Kept
from kgen.targets.rows.shifted import head_of
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Name of the workspace of partial results; no input can have this name.
PARTIAL_RESULTS = "partial.results"


@frozen
class SplitKernel:
    """Launch over the parts of each row or, if nothing is left to read, over the rows. `saved` are
    operands, and the byte offsets of the first part's results in the row's record; `writes` are
    outputs."""

    launch: Launch
    is_split: bool
    phases: tuple[PhasePlan, ...]
    saved: tuple[tuple[str, int], ...]
    writes: tuple[RowOutput, ...]

    @property
    def loop(self) -> str:
        """Name of the number of a task."""
        return "task" if self.is_split else "row"

    @property
    def results_of_row(self) -> bool:
        """Whether the kernel writes outputs with one element per row."""
        return bool(self.phases[-1].results_of_row)


@frozen
class SplitRowsPlan(RowwisePlan):
    part_ends = ("%part.start", "%part.unrolled", "%part.whole", "%part.stop")

    schedule: CpuSplitRows

    @property
    def splits(self) -> int:
        return -(-self.spec.cols // self.schedule.task)

    @property
    def is_online(self) -> bool:
        """Whether sums are rescaled: always, because each launch reads its part from memory."""
        return True

    @property
    def head(self) -> int:
        return self.schedule.variance_head

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        return ()

    @property
    def task_words(self) -> str:
        columns = min(self.schedule.task, self.spec.cols)
        return f"up to {columns} columns of a row" if self.kernels[-1].is_split else "a row"

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"rows are split into {self.splits} parts of {self.schedule.task} columns; each launch "
            "reads every row once and combines the partial results of the launch before it; "
            f"partial results take {self.record_bytes} B per row, {self.fold_bytes} B per "
            "reduction",
        )

    @cached_property
    def fetches(self) -> tuple[Fetch, ...]:
        """Prefetches of inputs at a short distance."""
        if not self.schedule.prefetch:
            return ()
        return tuple(
            self._fetch(phase.number, i.name, self.schedule.prefetch, 2)
            for phase in self._reading
            for i in self.row.inputs
            if phase.folds and i.name in phase.inputs and i.columns is not None
            if i.columns.linear and self.is_streamed(i)
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        partial = {self.stage.stored} if self.splits % self.compute.count > 1 else set()
        return super().masked_accesses | partial

    @property
    def _reading(self) -> tuple[RowPhase, ...]:
        """Phases that pass over the row, each in a launch."""
        return tuple(phase for phase in self.row.phases if not head_of(phase))

    @property
    def fold_bytes(self) -> int:
        """Bytes of one fold's partial results of a row, in whole lines."""
        nbytes = self.splits * self.stage.itemsize
        return -(-nbytes // LINE_BYTES) * LINE_BYTES

    @cached_property
    def fold_offsets(self) -> dict[str, int]:
        names = [fold.name for phase in self._reading for fold in phase.folds]
        return {name: i * self.fold_bytes for i, name in enumerate(names)}

    @property
    def record_bytes(self) -> int:
        return len(self.fold_offsets) * self.fold_bytes

    def partial_results(self, phase: RowPhase) -> tuple[PartialResult, ...]:
        count = self.compute.count
        return tuple(
            PartialResult(
                fold=fold,
                number=number,
                offset=self.fold_offsets[fold.name] + number * self.compute.bytes,
                valid=min(count, self.splits - number * count) % count,
                start=self.row_phases.start(fold),
            )
            for fold in phase.folds
            for number in range(-(-self.splits // count))
        )

    @property
    def last_columns(self) -> tuple[tuple[str, int], ...]:
        """Ends of the row's last part: unrolled steps, whole vectors, columns."""
        run = self.run
        return (("unrolled", run.unrolled), ("whole", run.whole), ("stop", run.length))

    def planned_launches(self) -> Iterator[Launch]:
        """Yield the launches, one per pass over the row; only the last one writes outputs."""
        *_, last = self._reading
        inputs = tuple(self.spec.inputs)
        for phase in self._reading:
            is_last = phase is last
            arguments = (*inputs, *self.spec.outputs) if is_last else inputs
            parts = self.splits if self.is_split(phase) else 1
            yield Launch(
                entry_point=self.spec.key + ("" if is_last else f"_partial{phase.number}"),
                grid=(self.spec.rows * parts, 1, 1),
                arguments=(*arguments, PARTIAL_RESULTS),
            )

    def is_split(self, phase: RowPhase) -> bool:
        """Return whether a phase loops over the parts of a row."""
        return bool(phase.folds or self.row.whole_outputs)

    @cached_property
    def kernels(self) -> tuple[SplitKernel, ...]:
        found = []
        for launch, reading in zip(self.launches, self._reading, strict=True):
            phases = []
            known = self.row_phases.known()
            for phase in self.row.phases[: reading.number + 1]:
                if phase is reading or head_of(phase):
                    phases.append(self.row_phases.planned(phase, known))
                else:
                    results = self.partial_results(phase)
                    phases.append(self.row_phases.combined(phase, results, known))
            found.append(
                SplitKernel(
                    launch=launch,
                    is_split=self.is_split(reading),
                    phases=tuple(phases),
                    saved=tuple(
                        (f"%row.{fold.name}", self.fold_offsets[fold.name])
                        for fold in reading.folds
                    ),
                    writes=() if reading.folds else self.row.outputs,
                )
            )
        return tuple(found)


def plan_split_rows(spec: Rowwise, target: Target, schedule: CpuSplitRows) -> SplitRowsPlan:
    if not is_one_line(spec):
        raise ScheduleError(
            "mainloop=split requires contiguous rows, and inputs that broadcast along all of the "
            "reduced axes or none; use mainloop=stream"
        )
    if schedule.nontemporal:
        raise ScheduleError("nontemporal=1 requires mainloop=stream; try nontemporal=0")
    whole = unchecked_rows(spec, target, schedule)
    check_task(schedule, whole.run.step)
    if schedule.task >= spec.cols:
        raise ScheduleError(
            f"task={schedule.task} does not split a row of {spec.cols} columns; "
            f"try task={whole.run.step}"
        )
    fields = {f.name: getattr(whole, f.name) for f in dataclasses.fields(whole)}
    plan = SplitRowsPlan(**fields | {"template": "cpu/rowwise_split.ll.j2"})
    check_head(plan)
    return dataclasses.replace(
        plan,
        launches=tuple(plan.planned_launches()),
        workspaces=(Workspace(name=PARTIAL_RESULTS, nbytes=spec.rows * plan.record_bytes),),
    )
