"""A row's phases as vectors: what each loads, computes, keeps and folds, and names of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.expression import node, unknown, variable
from kgen.ops.rows import COLUMN
from kgen.targets.cpu.expressions import CpuRenderer
from kgen.targets.cpu.plan.base import Run
from kgen.targets.cpu.plan.kernels.kept import Kept
from kgen.targets.row import Fold, Phase, RowOutput, RowPlan
from kgen_runtime.values import frozen


@frozen
class Cut:
    """A part of a line: from element `start` to `stop` in steps of `units` vectors, or the last
    `valid` elements."""

    name: str
    start: int
    stop: int
    units: int = 1
    valid: int = 0


@frozen
class Body:
    """What is done with one vector. `name` starts the names of its values; it begins at the line's
    element `index`, `offset` behind the loop's. `reads` are slots, `writes` operands and the slots
    that they go to; `results` are what the last phase stores, by output."""

    name: str
    index: str
    loop_index: str
    offset: int
    loads: tuple[str, ...]
    reads: tuple[int, ...]
    has_column: bool
    lines: tuple[str, ...]
    writes: tuple[tuple[str, int], ...]
    results: Mapping[str, str]

    @property
    def has_place(self) -> bool:
        """It asks for the place in the row."""
        return bool(self.has_column or self.slots or self.results)

    @property
    def slots(self) -> tuple[int, ...]:
        return tuple(sorted({*self.reads, *(slot for _, slot in self.writes)}))


@frozen
class Stretch:
    """A cut of a line in a phase. `carried` are a loop's accumulators: name, first and next value;
    `joins`, behind it, make one of several, and `totals` are the folds' values then."""

    cut: Cut
    step: int
    carried: tuple[tuple[str, str, str], ...]
    bodies: tuple[Body, ...]
    joins: tuple[str, ...]
    totals: tuple[str, ...]


@frozen
class PhasePlan:
    """`row_values` are lines that come first, and compute in all elements of vectors;
    `results_of_row` are the outputs of which a row has one element. `carried` are the accumulators
    of a loop over lines, if there are several; `exchange` ends with each fold's value in all
    elements."""

    phase: Phase
    row_values: tuple[str, ...]
    results_of_row: Mapping[str, str]
    stretches: tuple[Stretch, ...]
    carried: tuple[tuple[str, str, str], ...]
    exchange: tuple[str, ...]

    @property
    def has_place(self) -> bool:
        """Some vector asks for its place in the row."""
        return any(body.has_place for stretch in self.stretches for body in stretch.bodies)


@frozen
class RowPhases:
    """`loaded` are the inputs that are read vector by vector, `known_of_row` operands of those that
    are the same for a row; those that are for a line are %<phase>.line.<name>.all."""

    row: RowPlan
    run: Run
    renderer: CpuRenderer
    #: Results are rounded to whole numbers.
    rounds: bool
    kept: tuple[Kept, ...]
    known_of_row: Mapping[str, str]
    loaded: tuple[str, ...]

    @property
    def has_lines(self) -> bool:
        """There are several lines in a row."""
        return self.row.row_vectors > 1

    def phases(self) -> tuple[PhasePlan, ...]:
        known = {variable(name): operand for name, operand in self.known_of_row.items()}
        found = []
        for each in self.row.phases:
            kept = {k.step: k.slot for k in self.kept if k.phase < each.number}
            phase = self.row.given(each, kept)
            row_values = self.renderer.compute(phase.row_values, known, f"%row{phase.number}")
            found.append(self._phase(phase, row_values.lines, known, kept))
            known |= {fold.step: f"%row.{fold.name}" for fold in phase.folds}
        return tuple(found)

    def _phase(
        self,
        phase: Phase,
        row_values: Sequence[str],
        known: Mapping[Expression, str],
        kept: Mapping[Expression, int],
    ) -> PhasePlan:
        stretches: list[Stretch] = []
        several = self.has_lines
        identities = tuple(map(self.identity, phase.folds))
        names = tuple(accumulator(f"{phase.name}.line", fold) for fold in phase.folds)
        totals = names if several else identities
        if phase.folds or self.row.whole_outputs:
            for cut in self.cuts(phase.name):
                stretches.append(self._stretch(phase, cut, totals, known, kept))
                totals = stretches[-1].totals
        rounding, results = self._results(phase, self.row.reduced_outputs, known, "%row")
        return PhasePlan(
            phase=phase,
            row_values=(*row_values, *rounding),
            results_of_row=results,
            stretches=tuple(stretches),
            carried=tuple(zip(names, identities, totals, strict=True)) if several else (),
            exchange=tuple(
                line
                for fold, total in zip(phase.folds, names if several else totals, strict=True)
                for line in self.exchange(fold, total)
            ),
        )

    def cuts(self, name: str) -> tuple[Cut, ...]:
        """A line's unrolled steps, the vectors behind them, and its tail; those that it has."""
        run = self.run
        cuts = (
            Cut(name=f"{name}.u", start=0, stop=run.unrolled, units=run.unroll),
            Cut(name=f"{name}.s", start=run.unrolled, stop=run.whole),
            Cut(name=f"{name}.t", start=run.whole, stop=run.length, valid=run.tail),
        )
        return tuple(cut for cut in cuts if cut.start < cut.stop)

    def _stretch(
        self,
        phase: Phase,
        cut: Cut,
        before: tuple[str, ...],
        known: Mapping[Expression, str],
        kept: Mapping[Expression, int],
    ) -> Stretch:
        """`before` are the folds' values so far. Each vector of a loop's step has accumulators."""
        carried, joins, totals, bodies = [], [], [], []
        names = [f"{cut.name}{u}" for u in range(cut.units)]
        for u, name in enumerate(names):
            accumulators = [accumulator(name, fold) for fold in phase.folds]
            pairs = [(a, f"{a}.next") for a in accumulators]
            if cut.valid:
                pairs = list(zip(before, accumulators, strict=True))
            bodies.append(self._body(phase, cut, u, pairs, known, kept))
            carried += [
                (a, first if u == 0 else self.identity(fold), f"{a}.next")
                for fold, a, first in zip(phase.folds, accumulators, before, strict=True)
            ]
        for fold in phase.folds:
            total, *others = [accumulator(name, fold) for name in names]
            for other in others:
                joins += self.combine(fold, f"{other}.joined", total, other)
                total = f"{other}.joined"
            totals.append(total)
        return Stretch(
            cut=cut,
            step=cut.units * self.run.vector,
            carried=() if cut.valid else tuple(carried),
            bodies=tuple(bodies),
            joins=tuple(joins),
            totals=tuple(totals),
        )

    def _body(
        self,
        phase: Phase,
        cut: Cut,
        unit: int,
        accumulators: Sequence[tuple[str, str]],
        known_of_row: Mapping[Expression, str],
        kept: Mapping[Expression, int],
    ) -> Body:
        """`accumulators` are what each fold comes to before and after it."""
        name = f"{cut.name}{unit}"
        known = dict(known_of_row)
        known |= {step: f"%{name}.kept.{slot}" for step, slot in kept.items()}
        missing = unknown(phase.wanted, known)
        leaves = [s.name for s in missing if s.primitive is P.INPUT]
        loads = tuple(leaf for leaf in leaves if leaf in self.loaded)
        for leaf in leaves:
            own = leaf in loads or leaf == COLUMN
            known[variable(leaf)] = f"%{name}.{leaf}" if own else f"%{phase.name}.line.{leaf}.all"
        rendered = self.renderer.compute(phase.wanted, known, f"%{name}")
        lines = list(rendered.lines)
        for fold, (before, after) in zip(phase.folds, accumulators, strict=True):
            value = known[fold.argument]
            if cut.valid:
                there = f"{after}.there"
                lines.append(self._select(there, cut.valid, value, self.identity(fold)))
                value = there
            lines += self.combine(fold, after, value, before)
        rounding, results = self._results(phase, self.row.whole_outputs, known, f"%{name}")
        lines += rounding
        used = {*phase.wanted, *(a for step in missing for a in step.arguments)}
        return Body(
            name=name,
            index=str(cut.start) if cut.valid else f"%{name}.first.i" if unit else f"%{cut.name}",
            loop_index=f"%{cut.name}",
            offset=unit * self.run.vector,
            loads=loads,
            reads=tuple(sorted(slot for step, slot in kept.items() if step in used)),
            has_column=COLUMN in leaves,
            lines=tuple(lines),
            writes=tuple((known[k.step], k.slot) for k in self.kept if k.phase == phase.number),
            results=results,
        )

    def _results(
        self,
        phase: Phase,
        outputs: Sequence[RowOutput],
        known: Mapping[Expression, str],
        prefix: str,
    ) -> tuple[list[str], dict[str, str]]:
        """What the last phase writes to some outputs, by their names, and lines that round it."""
        lines, results = [], {}
        for of in () if phase.folds else outputs:
            rounding, results[of.name] = self._rounded(
                known[of.result], f"{prefix}.{of.name}.whole"
            )
            lines += rounding
        return lines, results

    def _rounded(self, value: str, name: str) -> tuple[list[str], str]:
        """Lines that make a result a whole number of this name, if it is to be one."""
        if not self.rounds:
            return [], value
        return self.renderer.instruction(node(P.ROUND, variable("x")), name, [value]), name

    def _select(self, result: str, valid: int, value: str, other: str) -> str:
        """A vector's first elements, and others."""
        t = self.renderer.type
        mask = ", ".join(f"i1 {int(i < valid)}" for i in range(t.lanes))
        return f"{result} = select {t.condition} <{mask}>, {t} {value}, {t} {other}"

    def identity(self, fold: Fold) -> str:
        return self.renderer.constant(fold.reduction.identity)

    def combine(self, fold: Fold, result: str, x: str, y: str) -> list[str]:
        """Lines that make one of two values."""
        return self.renderer.instruction(combination(fold), result, [x, y])

    def exchange(self, fold: Fold, value: str) -> list[str]:
        """A butterfly over a vector's elements: each ends with what all of them come to."""
        t, lines = self.renderer.type, []
        distance = t.lanes // 2
        while distance:
            other = f"%{fold.name}.by{distance}"
            result = f"{other}.folded" if distance > 1 else f"%row.{fold.name}"
            mask = ", ".join(f"i32 {i ^ distance}" for i in range(t.lanes))
            lines.append(
                f"{other} = shufflevector {t} {value}, {t} poison, <{t.lanes} x i32> <{mask}>"
            )
            lines += self.combine(fold, result, value, other)
            value, distance = result, distance // 2
        return lines


def accumulator(name: str, fold: Fold) -> str:
    """What a fold comes to, beside other values whose names begin so."""
    return f"%{name}.fold.{fold.name}"


def combination(fold: Fold) -> Expression:
    """How two values of a fold become one."""
    return node(fold.reduction.combine, variable("x"), variable("y"))
