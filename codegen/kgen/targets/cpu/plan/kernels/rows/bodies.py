"""Plan values that templates render a row's phase from: cuts of lines, vectors, lines of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kgen.targets.cpu.plan.cpu_plan import Run
from kgen.targets.rows.folds_and_phases import RowFold, RowPhase
from kgen_runtime.values import frozen


@frozen
class Cut:
    """Part of a line: a loop, or a single vector if `stop` is empty. A loop goes from element
    `start` to `stop` (operands) in steps of `units` vectors. `valid` is the number of elements of a
    partial vector, and 0 for whole vectors."""

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
    """Prefetch in each step of a phase. `lines` are byte offsets from the step's first element in
    the row at `pointer`; `locality` is the argument of llvm.prefetch."""

    phase: int
    name: str
    pointer: str
    lines: tuple[int, ...]
    locality: int
    itemsize: int


@frozen
class Body:
    """Work on one vector.

    `name` is the prefix of the names of its values. The vector begins at element `index` of the
    line, `offset` elements after the loop's index. `reads` are the slots of kept values that are
    loaded; `writes` are pairs of a value and the slot that keeps it. `results` are the values that
    the last phase stores, by output.
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
    """Cut of a line with the work of a phase. `carried` are a loop's accumulators: name, first
    value and next value. The lines `joins` after the loop combine them, which gives each fold's
    value in `totals`."""

    cut: Cut
    step: int
    carried: tuple[tuple[str, str, str], ...]
    bodies: tuple[Body, ...]
    joins: tuple[str, ...]
    totals: tuple[str, ...]


@frozen
class PartialResult:
    """Vector of a fold's partial results, at `offset` bytes from the first of the row. If `valid`
    is not 0, it is the number of partial results; the other elements have the value `start`."""

    fold: RowFold
    number: int
    offset: int
    valid: int
    start: str

    def prefix(self, phase: RowPhase) -> str:
        """Return the name prefix of the vectors, one per fold, with the results of these tasks."""
        return f"{phase.name}.p{self.number}"

    def name(self, phase: RowPhase) -> str:
        return accumulator(self.prefix(phase), self.fold)


@frozen
class PhasePlan:
    """Code of one phase of a row, as the template renders it.

    - `row_values`: lines before all others, which compute values that are constant along the row.
    - `results_of_row`: outputs that have one element per row.
    - `carried`: accumulators of the loop over lines; empty if a row is one line.
    - `exchange`: lines that end with each fold's value in all elements of a vector.
    - `partial_results`: vectors that `exchange` combines; empty if it combines the row's own.
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


def cuts_of(name: str, run: Run, ends: Sequence[str] = ()) -> tuple[Cut, ...]:
    """Return the parts of a line that exist: unrolled steps, single vectors, a remainder. `ends`
    are operands of the start and of the end of each part, if these are no constants."""
    start, unrolled, whole, stop = ends or ("0", str(run.unrolled), str(run.whole), "")
    found = []
    if run.has_unrolled:
        found.append(Cut(name=f"{name}.u", start=start, stop=unrolled, units=run.unroll))
    if run.has_single:
        found.append(Cut(name=f"{name}.s", start=unrolled, stop=whole))
    if run.tail:
        found.append(Cut(name=f"{name}.t", start=whole, stop=stop, valid=run.tail))
    return tuple(found)
