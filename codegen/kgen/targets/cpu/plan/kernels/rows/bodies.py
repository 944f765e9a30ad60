"""Work of a phase of a row in the form of templates: cuts of lines, vectors, and their lines of
code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kgen.targets.cpu.plan.cpu_plan import Run
from kgen.targets.rows.folds_and_phases import RowFold, RowPhase
from kgen_runtime.values import frozen


@frozen
class Cut:
    """Part of a line, from element `start` to `stop` (operands), in a loop of steps of `units`
    vectors; or a single vector, of which `valid` elements count, all if 0."""

    name: str
    start: str
    stop: str = ""
    units: int = 1
    valid: int = 0
    past_caches: bool = False

    @property
    def is_loop(self) -> bool:
        return bool(self.stop)


@frozen
class Fetch:
    """Prefetch in a phase's steps: `lines` are bytes from a step's first element in the row at
    `pointer`, `locality` is that of llvm.prefetch."""

    phase: int
    name: str
    pointer: str
    lines: tuple[int, ...]
    locality: int
    itemsize: int


@frozen
class Body:
    """Work on one vector.

    `name` is the prefix of its values' names. It begins at the line's element `index`, `offset`
    after the loop's. `reads` are slots; `writes` are operands and the slots that they go to;
    `results` are the values that the last phase stores, by output.
    """

    name: str
    index: str
    loop_index: str
    offset: int
    loads: tuple[str, ...]
    reads: tuple[int, ...]
    fetches: tuple[Fetch, ...]
    has_column: bool
    lines: tuple[str, ...]
    writes: tuple[tuple[str, int], ...]
    results: Mapping[str, str]

    @property
    def has_place(self) -> bool:
        return bool(self.has_column or self.slots or self.results)

    @property
    def slots(self) -> tuple[int, ...]:
        return tuple(sorted({*self.reads, *(slot for _, slot in self.writes)}))


@frozen
class Stretch:
    """Cut of a line in a phase. `carried` are a loop's accumulators: name, first and next value;
    `joins`, after it, combine them, and `totals` are the folds' values then."""

    cut: Cut
    step: int
    carried: tuple[tuple[str, str, str], ...]
    bodies: tuple[Body, ...]
    joins: tuple[str, ...]
    totals: tuple[str, ...]


@frozen
class PartialResult:
    """Vector of partial results of a fold, `valid` of its elements if not 0, and `start` in the
    others; `offset` is in bytes from the row's first one."""

    fold: RowFold
    number: int
    offset: int
    valid: int
    start: str

    def prefix(self, phase: RowPhase) -> str:
        """Return the prefix of the names of vectors that hold the same tasks' results."""
        return f"{phase.name}.p{self.number}"

    def name(self, phase: RowPhase) -> str:
        return accumulator(self.prefix(phase), self.fold)


@frozen
class PhasePlan:
    """Phase in the form of the template.

    `row_values` are lines that come first, and compute in all elements of vectors; `results_of_row`
    are the outputs of which a row has one element. `carried` are the accumulators of a loop over
    lines, if there are several; `exchange` ends with each fold's value in all elements.
    `partial_results` are what it is made of, if not of the row.
    """

    phase: RowPhase
    exchange: tuple[str, ...]
    row_values: tuple[str, ...] = ()
    results_of_row: Mapping[str, str] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()
    carried: tuple[tuple[str, str, str], ...] = ()
    partial_results: tuple[PartialResult, ...] = ()

    @property
    def past_caches(self) -> bool:
        return any(stretch.cut.past_caches for stretch in self.stretches)

    @property
    def has_place(self) -> bool:
        return any(body.has_place for stretch in self.stretches for body in stretch.bodies)


def accumulator(name: str, fold: RowFold) -> str:
    """Return the name of a fold's result; `name` is the prefix of a body's names."""
    return f"%{name}.fold.{fold.name}"


def cuts_of(name: str, run: Run) -> tuple[Cut, ...]:
    """Return the parts that a line has: unrolled steps, single vectors, and a remainder."""
    found = []
    if run.has_unrolled:
        found.append(Cut(name=f"{name}.u", start="0", stop=str(run.unrolled), units=run.unroll))
    if run.has_single:
        found.append(Cut(name=f"{name}.s", start=str(run.unrolled), stop=str(run.whole)))
    if run.tail:
        found.append(Cut(name=f"{name}.t", start=str(run.whole), valid=run.tail))
    return tuple(found)
