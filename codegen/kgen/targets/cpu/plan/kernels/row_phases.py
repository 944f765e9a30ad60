"""A row's phases as vectors: what each loads, computes, keeps and folds, and names of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.expression import node, unknown, variable
from kgen.ops.rows import COLUMN
from kgen.targets.cpu.expressions import CpuRenderer, CpuWholeRenderer
from kgen.targets.cpu.plan.base import Run
from kgen.targets.cpu.plan.kernels.kept import Kept
from kgen.targets.row import Fold, Phase, RowOutput, RowPlan
from kgen_runtime.values import frozen

#: A product added to what there is.
ADD_PRODUCT = node(P.FMA, variable("x"), variable("y"), variable("z"))


@frozen
class Cut:
    """A part of a line: from element `start` to `stop`, operands, in a loop of steps of `units`
    vectors; or one vector alone, of which `valid` elements count, all if 0."""

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
    """Lines of a tensor that a phase's steps fetch, `ahead` bytes from a step's place in the row at
    `pointer`. `locality` is LLVM's: 3 for the first-level cache, 2 for the second."""

    phase: int
    name: str
    pointer: str
    ahead: int
    locality: int
    itemsize: int


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
    fetches: tuple[Fetch, ...]
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
    def past_caches(self) -> bool:
        """It writes the output past the caches."""
        return any(stretch.cut.past_caches for stretch in self.stretches)

    @property
    def has_place(self) -> bool:
        """Some vector asks for its place in the row."""
        return any(body.has_place for stretch in self.stretches for body in stretch.bodies)


@frozen
class RowPhases:
    """`loaded` are the inputs that are read vector by vector, `known_of_row` operands of those that
    are the same for a row; those that are for a line are %<phase>.line.<name>.all.
    """

    row: RowPlan
    run: Run
    renderer: CpuRenderer | CpuWholeRenderer
    #: Products and sums are one instruction.
    fuses: bool
    #: Outputs whose results are rounded to whole numbers.
    rounded: frozenset[str]
    kept: tuple[Kept, ...]
    known_of_row: Mapping[str, str]
    loaded: tuple[str, ...]
    fetches: tuple[Fetch, ...] = ()
    #: The output is written past the caches.
    past_caches: bool = False

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
            aligned = self.past_caches and not phase.folds
            for cut in self.aligned_cuts(phase.name) if aligned else self.cuts(phase.name):
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
        run, found = self.run, []
        if run.has_unrolled:
            found.append(Cut(name=f"{name}.u", start="0", stop=str(run.unrolled), units=run.unroll))
        if run.has_single:
            found.append(Cut(name=f"{name}.s", start=str(run.unrolled), stop=str(run.whole)))
        if run.tail:
            found.append(Cut(name=f"{name}.t", start=str(run.whole), valid=run.tail))
        return tuple(found)

    def aligned_cuts(self, name: str) -> tuple[Cut, ...]:
        """The same for an output that is written past the caches, by whole vectors of memory: its
        first and its last vector go through the caches and overlap the others."""
        return (
            Cut(name=f"{name}.f", start="0"),
            Cut(
                name=f"{name}.u",
                start="%aligned.start",
                stop="%unrolled.stop",
                units=self.run.unroll,
                past_caches=True,
            ),
            Cut(name=f"{name}.s", start="%unrolled.stop", stop="%whole.stop"),
            Cut(name=f"{name}.l", start=str(self.run.length - self.run.vector)),
        )

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
            if not cut.is_loop:
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
            carried=tuple(carried) if cut.is_loop else (),
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
        added = [
            fold
            for fold in phase.folds
            if not cut.valid and fold.argument not in known and self.adds_product(fold)
        ]
        wanted = [] if phase.folds else [*phase.wanted]
        for fold in phase.folds:
            wanted += fold.argument.arguments if fold in added else [fold.argument]
        rendered = self.renderer.compute(wanted, known, f"%{name}")
        lines = list(rendered.lines)
        for fold, (before, after) in zip(phase.folds, accumulators, strict=True):
            if fold in added:
                factors = [known[factor] for factor in fold.argument.arguments]
                lines += self.renderer.instruction(ADD_PRODUCT, after, [*factors, before])
                continue
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
            index=f"%{name}.first.i" if unit else f"%{cut.name}" if cut.is_loop else cut.start,
            loop_index=f"%{cut.name}",
            offset=unit * self.run.vector,
            loads=loads,
            reads=tuple(sorted(slot for step, slot in kept.items() if step in used)),
            fetches=tuple(
                fetch
                for fetch in self.fetches
                if fetch.phase == phase.number and cut.units > 1 and not unit
            ),
            has_column=COLUMN in leaves,
            lines=tuple(lines),
            writes=tuple((known[k.step], k.slot) for k in self.kept if k.phase == phase.number),
            results=results,
        )

    def adds_product(self, fold: Fold) -> bool:
        """A product is added to the fold in one instruction, unless something else takes it too."""
        product = fold.argument
        return (
            self.fuses
            and fold.reduction.combine is P.ADD
            and product.primitive is P.MUL
            and all(kept.step is not product for kept in self.kept)
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
            results[of.name] = value = known[of.result]
            if of.name in self.rounded:
                results[of.name] = whole = f"{prefix}.{of.name}.whole"
                lines += self.renderer.instruction(node(P.ROUND, variable("x")), whole, [value])
        return lines, results

    def _select(self, result: str, valid: int, value: str, other: str) -> str:
        """A vector's first elements, and others."""
        t = self.renderer.type
        mask = ", ".join(f"i1 {int(i < valid)}" for i in range(t.lanes))
        return f"{result} = select {t.condition} <{mask}>, {t} {value}, {t} {other}"

    def identity(self, fold: Fold) -> str:
        return self.renderer.constant(self.row.identity(fold))

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
