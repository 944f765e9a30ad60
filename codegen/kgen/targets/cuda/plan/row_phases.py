"""Loads, computations, folds and stores of a row-wise kernel's phases, for the template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kgen.ops import Expression
from kgen.ops.expression import node, unknown, variable
from kgen.targets.base import Target
from kgen.targets.cuda.expressions import PtxRenderer, RegisterType, renderer_of
from kgen.targets.cuda.plan.constants import CONSTANTS
from kgen.targets.expressions import Rendered
from kgen.targets.rows.folds_and_phases import RowFold, RowPhase, RowVector
from kgen.targets.rows.online import EXTREME, VALUE, online_of
from kgen.targets.rows.plan import RowPlan
from kgen.targets.stream import StreamInput
from kgen_runtime.values import frozen


@frozen
class RowAccess:
    """Access to a vector of one input or output.

    The address is `nbytes` from the thread's first vector if the tensor is `linear`, else the sum
    of the `terms`: (coordinate, bytes per step).
    """

    name: str
    registers: tuple[str, ...]
    linear: bool
    nbytes: int
    terms: tuple[tuple[int, int], ...]


@frozen
class FoldStep:
    """Expressions computed for each element, and the lines that fold them into accumulators.

    `rescale` comes first: it scales the accumulators after the old maximum was saved.
    """

    rendered: tuple[Rendered, ...]
    folds: tuple[str, ...] = ()
    rescale: Rendered | None = None


@frozen
class VectorBody:
    """Work of a phase on one vector of a thread.

    `columns` are the registers of the columns' numbers, `steps` are the computations and folds in
    order. `predicate` is true in the threads that have the vector; it is "" if all have it.
    """

    piece: RowVector
    predicate: str
    loads: tuple[RowAccess, ...]
    columns: tuple[str, ...]
    steps: tuple[FoldStep, ...]
    stores: tuple[RowAccess, ...]
    #: Prefix of the names of its coordinates.
    vector: str

    @property
    def guard(self) -> str:
        return f"@%{self.predicate} " if self.predicate else ""

    @property
    def has_terms(self) -> bool:
        """Whether some input's address is made of the column's coordinates."""
        places: tuple[RowAccess, ...] = (*self.loads, *self.stores)
        return any(of.terms and not of.linear for of in places)


@frozen
class PhasePlan:
    phase: RowPhase
    row_values: Rendered
    #: Registers of values that are constant along a row.
    row_known: Mapping[Expression, str]
    bodies: tuple[VectorBody, ...]

    @property
    def linear(self) -> tuple[str, ...]:
        """Inputs whose next vector each iteration of a loop reads."""
        return tuple(load.name for load in self.bodies[0].loads if load.linear)

    @property
    def linear_outputs(self) -> tuple[str, ...]:
        """Outputs whose next vector each iteration writes."""
        return tuple(store.name for store in self.bodies[0].stores if store.linear)


@frozen
class RowPhases:
    """Phases of a row-wise kernel, in registers of `type`.

    Rows that are `resident` stay in registers. With `guarded`, the rows of some threads do not
    exist.
    """

    row: RowPlan
    target: Target
    type: RegisterType
    resident: bool
    guarded: bool

    @property
    def renderer(self) -> PtxRenderer:
        return renderer_of(self.target, self.type)

    @cached_property
    def made(self) -> tuple[PhasePlan, ...]:
        leaves = {i.name: f"%{i.name}_of_row" for i in self.row.of_row} | {"row": "%row_number"}
        row_known = {variable(name): register for name, register in leaves.items()}
        pieces = self.row.pieces if self.resident else self.row.pieces[:1]
        kept = [self._nothing_known() for _ in pieces]
        found = []
        for phase in self.row.phases:
            row_values = self.renderer.compute(phase.row_values, row_known, f"%row{phase.number}")
            if not self.resident:
                kept = [self._nothing_known()]
            for known in kept:
                for element in known:
                    element |= row_known
            bodies = tuple(
                self._body(phase, piece, known) for piece, known in zip(pieces, kept, strict=True)
            )
            found.append(
                PhasePlan(
                    phase=phase, row_values=row_values, row_known=dict(row_known), bodies=bodies
                )
            )
            row_known |= {fold.step: f"%{fold.name}" for fold in phase.folds}
        return tuple(found)

    def _nothing_known(self) -> list[dict[Expression, str]]:
        """Return an empty table of known registers for each element of a vector."""
        return [{} for _ in range(self.row.vector)]

    def _body(
        self, phase: RowPhase, piece: RowVector, known: list[dict[Expression, str]]
    ) -> VectorBody:
        """Return the loads and steps of one vector, and add the phase's results to `known` for each
        element."""
        loads = []
        for of in self.row.inputs:
            if of.columns and of.name in phase.inputs and variable(of.name) not in known[0]:
                loads.append(load := self._load(of.columns, phase, piece))
                for e, element in enumerate(known):
                    register = load.registers[e % len(load.registers)]
                    element[variable(of.name)] = f"%{register}"
        columns = self._columns(phase, piece, known)
        partial = self.resident and piece.partial
        # Threads whose row does not exist skip the loop.
        guarded = self.resident and self.guarded
        return VectorBody(
            piece=piece,
            predicate="has_last" if partial else "in_matrix" if guarded else "",
            loads=tuple(loads),
            columns=columns,
            steps=tuple(self._steps(phase, piece, known, partial)),
            stores=() if phase.folds else tuple(self._stores(piece, known)),
            vector=f"{phase.name}_v{piece.index}_at",
        )

    def _stores(self, piece: RowVector, known: list[dict[Expression, str]]) -> Iterator[RowAccess]:
        for of in self.row.outputs:
            if of.columns:
                itemsize = self.row.dtype_of(of.name).itemsize
                yield RowAccess(
                    name=of.name,
                    registers=tuple(e[of.result].removeprefix("%") for e in known),
                    linear=of.columns.linear,
                    nbytes=piece.offset * self.row.vector * itemsize,
                    terms=tuple((d, stride * itemsize) for d, stride in of.columns.terms),
                )

    def _steps(
        self, phase: RowPhase, piece: RowVector, known: list[dict[Expression, str]], partial: bool
    ) -> Iterator[FoldStep]:
        """Yield one step for the arguments of all folds, then one for each online sum after its
        maximum."""
        together = [fold for fold in phase.folds if not fold.relative_to]
        prefix = f"%{phase.name}_v{piece.index}"
        yield self._step(together, phase, prefix, known, partial)
        for fold in phase.folds:
            if fold.relative_to:
                top = next(f for f in together if f.name == fold.relative_to)
                for element in known:
                    element[top.step] = f"%{top.name}"
                yield self._step([fold], phase, f"{prefix}_{fold.name}", known, partial)

    def _step(
        self,
        folds: Sequence[RowFold],
        phase: RowPhase,
        prefix: str,
        known: list[dict[Expression, str]],
        partial: bool,
    ) -> FoldStep:
        wanted = [fold.argument for fold in folds] or phase.wanted
        rendered = tuple(
            self.renderer.compute(wanted, element, f"{prefix}_{e}")
            for e, element in enumerate(known)
        )
        lines = (
            line
            for fold in folds
            for element in known
            for line in self._fold(fold, element[fold.argument], partial)
        )
        online = [fold for fold in folds if fold.relative_to]
        return FoldStep(
            rendered=rendered,
            folds=tuple(lines),
            rescale=self.rescale(online[0], f"{prefix}_rescaled") if online else None,
        )

    def rescale(self, fold: RowFold, prefix: str) -> Rendered:
        """Return the lines that rescale an online sum, in its register, to the new maximum."""
        top = next(each for each in self.row.folds if each.name == fold.relative_to)
        moved, value = online_of(fold, top).moved, f"%{fold.name}"
        known = {VALUE: value, EXTREME: f"%{fold.before}", top.step: f"%{top.name}"}
        rendered = self.renderer.compute([moved], known, prefix, {moved: value})
        return replace(rendered, numbers=rendered.numbers[:-1])

    def _load(self, of: StreamInput, phase: RowPhase, piece: RowVector) -> RowAccess:
        count = 1 if of.single else self.row.vector
        itemsize = self.row.dtype_of(of.name).itemsize
        return RowAccess(
            name=of.name,
            registers=tuple(f"{of.name}_{phase.name}_v{piece.index}_{e}" for e in range(count)),
            linear=of.linear,
            nbytes=piece.offset * self.row.vector * itemsize,
            terms=tuple((d, stride * itemsize) for d, stride in of.terms),
        )

    def _columns(
        self, phase: RowPhase, piece: RowVector, known: list[dict[Expression, str]]
    ) -> tuple[str, ...]:
        """Return registers for the columns' numbers, if this phase is the first that uses them."""
        asked = any(s.name == "column" for s in unknown(phase.wanted, known[0]))
        if not asked:
            return ()
        registers = tuple(f"column_{phase.name}_v{piece.index}_{e}" for e in range(len(known)))
        for register, element in zip(registers, known, strict=True):
            element[variable("column")] = f"%{register}"
        return registers

    def _fold(self, fold: RowFold, value: str, partial: bool) -> list[str]:
        """Return the lines that fold a value into the accumulator, unless the vector is missing."""
        lines = self.combine(fold, f"%{fold.name}", value)
        if not partial:
            return lines
        if len(lines) == 1:
            return [f"@%has_last {lines[0]}"]
        register, identity = self.type.register, self._identity(fold)
        chosen = [f"selp.{register} %chosen, {value}, {identity}, %has_last;"]
        return [
            "{",
            f".reg .{register} %chosen;",
            *chosen,
            *self.combine(fold, f"%{fold.name}", "%chosen"),
            "}",
        ]

    def combine(self, fold: RowFold, value: str, other: str) -> list[str]:
        """Return the lines that fold another register into a value."""
        step = node(fold.reduction.combine, variable("value"), variable("other"))
        return self.renderer.instruction(step, value, [value, other])

    def identity(self, fold: RowFold) -> str:
        """Return the start value of an accumulator.

        The maximum of an online sum starts from a finite number: -inf minus itself is a NaN.
        """
        tops = {f.relative_to for phase in self.row.phases for f in phase.folds}
        return CONSTANTS.lowest if fold.name in tops else self._identity(fold)

    def _identity(self, fold: RowFold) -> str:
        return self.renderer.constant(self.row.identity(fold))
