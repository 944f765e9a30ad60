"""Code of a row's phases in vectors: which values each loads, computes, keeps and folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from kgen.ops import Expression
from kgen.ops import Primitive as P
from kgen.ops.expression import node, unknown, variable
from kgen.ops.rows import COLUMN
from kgen.targets.cpu.expressions import CpuRenderer, CpuWholeRenderer
from kgen.targets.cpu.plan.cpu_plan import Run
from kgen.targets.cpu.plan.kernels.rows.bodies import (
    Body,
    Cut,
    Fetch,
    PartialResult,
    PhasePlan,
    Stretch,
    accumulator,
    cuts_of,
)
from kgen.targets.rows.folds_and_phases import RowFold, RowOutput, RowPhase
from kgen.targets.rows.kept import Kept
from kgen.targets.rows.online import (
    ELEMENT,
    EXTREME,
    LEAST_F32,
    VALUE,
    Exponentials,
    FirstPlace,
    Online,
    online_of,
)
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.shifted import head_of, in_head
from kgen_runtime.values import frozen

#: Multiply-add of a product x * y to an accumulator z.
ADD_PRODUCT = node(P.FMA, variable("x"), variable("y"), variable("z"))


@frozen
class RowPhases:
    """Phases of a row. `loaded` are the inputs that are read vector by vector. `known_of_row` maps
    inputs that are constant along a row to their operands. The operand of an input that is constant
    along a line is %<phase>.line.<name>.all."""

    row: RowPlan
    run: Run
    renderer: CpuRenderer | CpuWholeRenderer
    #: Whether a multiply-add is one instruction.
    fuses: bool
    #: Outputs whose results are rounded to whole numbers.
    rounded: frozenset[str]
    kept: tuple[Kept, ...]
    known_of_row: Mapping[str, str]
    loaded: tuple[str, ...]
    fetches: tuple[Fetch, ...] = ()
    #: Whether non-temporal stores write the output.
    past_caches: bool = False
    #: Whether a row has several lines.
    has_lines: bool = False
    #: Operands of the first element and of the ends of a part of a row; empty for whole rows.
    ends: tuple[str, ...] = ()
    #: Whether a vector holds elements of one row, whose folds are exchanged.
    is_along_row: bool = True

    def phases(self) -> tuple[PhasePlan, ...]:
        known = self.known()
        return tuple(self.planned(phase, known) for phase in self.row.phases)

    def known(self) -> dict[Expression, str]:
        """Return the operands that are known before the first phase."""
        return {variable(name): operand for name, operand in self.known_of_row.items()}

    def planned(self, each: RowPhase, known: dict[Expression, str]) -> PhasePlan:
        """Return the plan of a phase, and add its row values and folds to `known`."""
        kept = {k.step: k.slot for k in self.kept if k.phase < each.number}
        head = 0 if self.has_lines else head_of(each)
        phase = self.row.given(in_head(each) if head else each, kept)
        row_values = self.renderer.compute(phase.row_values, known, f"%row{phase.number}")
        if head:
            cuts = cuts_of(phase.name, replace(self.run, length=min(head, self.run.length)))
        elif self.past_caches and not phase.folds:
            cuts = self.aligned_cuts(phase.name)
        else:
            cuts = cuts_of(phase.name, self.run, self.ends)
        code = PhaseCode(rows=self, phase=phase, known=known, kept=kept)
        found = code.plan(cuts, row_values.lines)
        known |= {fold.step: f"%row.{fold.name}" for fold in each.folds}
        return found

    def combined(
        self, phase: RowPhase, partial: Sequence[PartialResult], known: dict[Expression, str]
    ) -> PhasePlan:
        """Return the phase that combines tasks' partial results, and add its folds to `known`."""
        vectors = dict.fromkeys(result.prefix(phase) for result in partial)
        code = PhaseCode(rows=self, phase=phase, known=known)
        lines, totals = code.join(list(vectors), everything=True)
        found = PhasePlan(
            phase=phase,
            partial_results=tuple(partial),
            exchange=(*lines, *code.finish(totals)),
        )
        known |= {fold.step: f"%row.{fold.name}" for fold in phase.folds}
        return found

    def aligned_cuts(self, name: str) -> tuple[Cut, ...]:
        """Return the cuts of an output that non-temporal stores write in whole aligned vectors. The
        first and the last vector are stored normally; they overlap the aligned ones."""
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

    @cached_property
    def online(self) -> Mapping[str, Online]:
        """Folds that are computed in one pass with an extreme, by their names."""
        folds = {fold.name: fold for fold in self.row.folds}
        relative = [fold for fold in folds.values() if fold.relative_to]
        return {fold.name: online_of(fold, folds[fold.relative_to]) for fold in relative}

    @cached_property
    def together(self) -> frozenset[str]:
        """Folds that add all vectors of a step at once: sums of exponentials, so that they are
        rescaled once per step, and their maxima."""
        sums = [each for each in self.online.values() if isinstance(each, Exponentials)]
        return frozenset(fold.name for each in sums for fold in (each.fold, each.extreme))

    def there(self, cut: Cut, fold: RowFold, value: str, after: str, lines: list[str]) -> str:
        """Return the vector to fold: `value`, with the fold's identity in masked elements."""
        if not cut.valid:
            return value
        there = f"{after}.there"
        lines.append(self._select(there, cut.valid, value, self.start(fold)))
        return there

    def moved(
        self, online: Online, value: str, extreme: str, known: Mapping[Expression, str], name: str
    ) -> tuple[list[str], str]:
        """Return the lines that make a value relative to the known extreme, and the result.
        `extreme` is the extreme that the value was relative to."""
        operands = {**known, VALUE: value, EXTREME: extreme}
        rendered = self.renderer.compute([online.moved], operands, name)
        return list(rendered.lines), rendered.result

    def start(self, fold: RowFold) -> str:
        if fold.name in self.online:
            return self.renderer.constant(0.0)
        sums = [o for o in self.online.values() if isinstance(o, Exponentials)]
        if any(online.extreme is fold for online in sums):
            return self.renderer.constant(LEAST_F32)
        return self.renderer.constant(self.row.identity(fold))

    def adds_product(self, fold: RowFold) -> bool:
        """Return whether one instruction multiplies and adds to the fold; the product must have no
        other use."""
        product = fold.argument
        return (
            self.fuses
            and fold.reduction.combine is P.ADD
            and product.primitive is P.MUL
            and all(kept.step is not product for kept in self.kept)
        )

    def _select(self, result: str, valid: int, value: str, other: str) -> str:
        """Return the line that selects the first `valid` elements of `value`, then of `other`."""
        t = self.renderer.type
        mask = ", ".join(f"i1 {int(i < valid)}" for i in range(t.lanes))
        return f"{result} = select {t.condition} <{mask}>, {t} {value}, {t} {other}"

    def combine(self, fold: RowFold, result: str, x: str, y: str) -> list[str]:
        return self.renderer.instruction(combination(fold), result, [x, y])

    def exchange(self, fold: RowFold, value: str) -> list[str]:
        """Return the lines of a butterfly that leaves the fold of all elements in each element."""
        t, lines = self.renderer.type, []
        if not self.is_along_row:
            return [self.renderer.move(f"%row.{fold.name}", value)]
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


@frozen
class PhaseCode:
    """Code of one phase. `known` are the operands that are known before its vectors, `kept` the
    slots of the values that earlier phases kept."""

    rows: RowPhases
    phase: RowPhase
    known: Mapping[Expression, str]
    kept: Mapping[Expression, int] = field(default_factory=dict)

    def plan(self, cuts: Sequence[Cut], row_values: Sequence[str]) -> PhasePlan:
        """Return the plan of a phase; its vectors are those of `cuts` if it folds or stores."""
        phase, rows = self.phase, self.rows
        stretches: list[Stretch] = []
        several = rows.has_lines
        identities = tuple(map(rows.start, phase.folds))
        names = tuple(accumulator(f"{phase.name}.line", fold) for fold in phase.folds)
        totals = names if several else identities
        for cut in cuts if phase.folds or rows.row.whole_outputs else ():
            stretches.append(self._stretch(cut, totals))
            totals = stretches[-1].totals
        rounding, results = self._results(rows.row.reduced_outputs, self.known, "%row")
        return PhasePlan(
            phase=phase,
            row_values=(*row_values, *rounding),
            results_of_row=results,
            stretches=tuple(stretches),
            carried=tuple(zip(names, identities, totals, strict=True)) if several else (),
            exchange=tuple(self.finish(names if several else totals)),
        )

    def _stretch(self, cut: Cut, before: tuple[str, ...]) -> Stretch:
        """Return a cut of a line with its work; `before` are the folds' values so far. Each vector
        of a loop's step has its own accumulators, except for the folds in `together`."""
        carried, bodies, units = [], [], []
        names = [f"{cut.name}{u}" for u in range(cut.units)]
        for u, name in enumerate(names):
            pairs = {}
            for fold, first in zip(self.phase.folds, before, strict=True):
                own = accumulator(name, fold)
                pairs[fold.name] = (own, f"{own}.next") if cut.is_loop else (first, own)
                if u == 0 or fold.name not in self.rows.together:
                    carried.append((own, first if u == 0 else self.rows.start(fold), f"{own}.next"))
            units.append((pairs, *self._body(cut, u, pairs)))
        bodies = [body for _, body, _ in units]
        lines = self._add_together(cut, units[0][0], [known for *_, known in units])
        bodies[-1] = replace(bodies[-1], lines=(*bodies[-1].lines, *lines))
        joins, totals = self.join(names)
        return Stretch(
            cut=cut,
            step=cut.units * self.rows.run.vector,
            carried=tuple(carried) if cut.is_loop else (),
            bodies=tuple(bodies),
            joins=tuple(joins),
            totals=tuple(totals),
        )

    def join(
        self, names: Sequence[str], *, everything: bool = False
    ) -> tuple[list[str], list[str]]:
        """Return the lines that combine the accumulators of several vectors, and each fold's
        result. With `everything`, folds in `together` have several accumulators, too."""
        lines: list[str] = []
        found: dict[str, list[str]] = {}
        for fold in self.phase.folds:
            totals = found[fold.name] = [accumulator(names[0], fold)]
            several = everything or fold.name not in self.rows.together
            for name in names[1:] if several else ():
                other, before = accumulator(name, fold), totals[-1]
                if online := self.rows.online.get(fold.name):
                    of, extremes = online.extreme, found[online.extreme.name]
                    now = {**self.known, of.step: extremes[len(totals)]}
                    values = []
                    for value, extreme in (
                        (before, extremes[len(totals) - 1]),
                        (other, accumulator(name, of)),
                    ):
                        moving, moved = self.rows.moved(
                            online, value, extreme, now, f"{value}.moved"
                        )
                        lines += moving
                        values.append(moved)
                    before, other = values
                totals.append(f"{accumulator(name, fold)}.joined")
                lines += self.rows.combine(fold, totals[-1], before, other)
        return lines, [found[fold.name][-1] for fold in self.phase.folds]

    def _body(
        self, cut: Cut, unit: int, accumulators: Mapping[str, tuple[str, str]]
    ) -> tuple[Body, Mapping[Expression, str]]:
        """Return the work on a vector, and the values that are known after it. `accumulators` has
        the names of each fold's accumulator before and after the vector."""
        phase, rows = self.phase, self.rows
        name = f"{cut.name}{unit}"
        known = dict(self.known)
        known |= {step: f"%{name}.kept.{slot}" for step, slot in self.kept.items()}
        missing = unknown(phase.wanted, known)
        leaves = [s.name for s in missing if s.primitive is P.INPUT]
        loads = tuple(leaf for leaf in leaves if leaf in rows.loaded)
        for leaf in leaves:
            own = leaf in loads or leaf == COLUMN
            known[variable(leaf)] = f"%{name}.{leaf}" if own else f"%{phase.name}.line.{leaf}.all"
        alone = [fold for fold in phase.folds if fold.name not in rows.together]
        places = [o for f in alone if isinstance(o := rows.online.get(f.name), FirstPlace)]
        plain = [f for f in alone if all(f not in (o.fold, o.extreme) for o in places)]
        added = [
            fold
            for fold in plain
            if not cut.valid and fold.argument not in known and rows.adds_product(fold)
        ]
        wanted = [] if phase.folds else [*phase.wanted]
        for fold in alone:
            place = any(fold is online.fold for online in places)
            wanted += fold.argument.arguments if fold in added else [] if place else [fold.argument]
        rendered = rows.renderer.compute(wanted, known, f"%{name}")
        lines = list(rendered.lines)
        for fold in plain:
            before, after = accumulators[fold.name]
            if fold in added:
                factors = [known[factor] for factor in fold.argument.arguments]
                lines += rows.renderer.instruction(ADD_PRODUCT, after, [*factors, before])
                continue
            value = rows.there(cut, fold, known[fold.argument], after, lines)
            lines += rows.combine(fold, after, value, before)
        for online in places:
            before, after = accumulators[online.fold.name]
            extreme, extreme_after = accumulators[online.extreme.name]
            x = known[online.extreme.argument]
            element = rows.there(cut, online.extreme, x, extreme_after, lines)
            operands = {**known, ELEMENT: element, EXTREME: extreme, VALUE: before}
            named = dict(zip(online.next, (extreme_after, after), strict=True))
            lines += rows.renderer.compute(online.next, operands, after, named).lines
        rounding, results = self._results(rows.row.whole_outputs, known, f"%{name}")
        lines += rounding
        used = {*phase.wanted, *(a for step in missing for a in step.arguments)}
        body = Body(
            name=name,
            index=f"%{name}.first.i" if unit else f"%{cut.name}" if cut.is_loop else cut.start,
            loop_index=f"%{cut.name}",
            offset=unit * rows.run.vector,
            loads=loads,
            reads=tuple(sorted(slot for step, slot in self.kept.items() if step in used)),
            fetches=tuple(
                fetch
                for fetch in rows.fetches
                if fetch.phase == phase.number and cut.units > 1 and not unit
            ),
            has_column=COLUMN in leaves,
            lines=tuple(lines),
            writes=tuple((known[k.step], k.slot) for k in rows.kept if k.phase == phase.number),
            results=results,
        )
        return body, known

    def _add_together(
        self,
        cut: Cut,
        accumulators: Mapping[str, tuple[str, str]],
        units: Sequence[Mapping[Expression, str]],
    ) -> list[str]:
        """Return the lines that add a step's vectors to the folds in `together`. `units` has the
        known values of each vector."""
        lines: list[str] = []
        rows, now = self.rows, dict(self.known)
        for fold in self.phase.folds:
            if fold.name not in rows.together:
                continue
            before, after = accumulators[fold.name]
            of_row = [
                s for s in unknown([fold.argument], now) if rows.row.is_of_row(s) and s.arguments
            ]
            lines += rows.renderer.compute(of_row, now, f"{after}.row").lines
            total = ""
            for u, known in enumerate(units):
                name = f"{after}.unit{u}"
                rendered = rows.renderer.compute([fold.argument], {**known, **now}, name)
                lines += rendered.lines
                value = rows.there(cut, fold, rendered.result, name, lines)
                if total:
                    lines += rows.combine(fold, f"{name}.total", value, total)
                total = f"{name}.total" if total else value
            if online := rows.online.get(fold.name):
                extreme, _ = accumulators[online.extreme.name]
                moving, before = rows.moved(online, before, extreme, now, f"{after}.moved")
                lines += moving
            lines += rows.combine(fold, after, total, before)
            now[fold.step] = after
        return lines

    def finish(self, totals: Sequence[str]) -> list[str]:
        """Return the lines that compute each fold's value of the row."""
        lines: list[str] = []
        phase, rows, now = self.phase, self.rows, dict(self.known)
        elements = {f.name: total for f, total in zip(phase.folds, totals, strict=True)}
        for fold in phase.folds:
            total = elements[fold.name]
            if online := rows.online.get(fold.name):
                extreme = elements[online.extreme.name]
                moving, total = rows.moved(online, total, extreme, now, f"%{fold.name}.moved")
                lines += moving
            lines += rows.exchange(fold, total)
            now[fold.step] = f"%row.{fold.name}"
        return lines

    def _results(
        self, outputs: Sequence[RowOutput], known: Mapping[Expression, str], prefix: str
    ) -> tuple[list[str], dict[str, str]]:
        """Return the lines that round the last phase's results to whole numbers, and the results by
        output."""
        lines, results = [], {}
        for of in () if self.phase.folds else outputs:
            results[of.name] = value = known[of.result]
            if of.name in self.rows.rounded:
                results[of.name] = whole = f"{prefix}.{of.name}.whole"
                lines += self.rows.renderer.instruction(
                    node(P.ROUND, variable("x")), whole, [value]
                )
        return lines, results


def combination(fold: RowFold) -> Expression:
    return node(fold.reduction.combine, variable("x"), variable("y"))
