"""Loads, computations, folds and exchanges of a row-wise kernel's phases, for the template.

The kernel computes values that vary along a row in vectors, and values that are constant along a
row as scalars, which it splats where vectors need them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cached_property

from kgen.ops import Expression, Primitive
from kgen.ops.expression import node, unknown, variable
from kgen.targets.amdgpu.expressions import renderer_of
from kgen.targets.amdgpu.plan.rows.lanes import ends_in_last_lane, of_last_lane, other_lane
from kgen.targets.amdgpu.plan.rows.pointers import Move, moved, moves
from kgen.targets.expressions import Rendered
from kgen.targets.llvm_expressions import LlvmRenderer
from kgen.targets.llvm_ir import FloatType
from kgen.targets.rows.folds_and_phases import RowFold, RowInput, RowOutput, RowPhase, RowVector
from kgen.targets.rows.plan import RowPlan
from kgen.targets.stream import Dimension, StreamInput, operand_terms
from kgen_runtime.values import frozen

COLUMN = variable("column")


@frozen
class LaneVector:
    """Vector of a lane: `index` (i32) is its number in the row, `wide` is the same number as i64.

    If some lanes lack the vector, its `number` may be past the end of the row. `dimensions` are the
    coordinates that loads need. `columns` says whether the numbers of its columns are needed.
    """

    name: str
    piece: RowVector
    number: str
    index: str
    wide: str
    dimensions: tuple[Dimension, ...]
    columns: bool

    @property
    def is_computed(self) -> bool:
        """Whether the index is computed, not a constant."""
        return self.index.startswith("%")

    @property
    def is_moved(self) -> bool:
        """Whether the index differs from that of the lane's first vector."""
        return self.is_computed and self.piece.offset > 0

    @property
    def is_located(self) -> bool:
        return self.is_computed or self.columns or bool(self.dimensions)


@frozen
class RowLoad:
    """Load of a vector of an input as `value`, or of one element for all lanes (`single`)."""

    name: str
    value: str
    moves: tuple[Move, ...]
    pointer: str
    single: bool


@frozen
class RowStore:
    """Store of `value` to an output; `stem` is the prefix of the converted values' names."""

    name: str
    stem: str
    value: str
    moves: tuple[Move, ...]
    pointer: str


@frozen
class Splat:
    """Number or truth value that is broadcast to every lane of a vector."""

    result: str
    value: str
    truth: bool


@frozen
class VectorBody:
    """Work of a phase on one vector: `folds` are lines that fold it into the lane's values.

    `stores` are the stores of the last phase.
    """

    place: LaneVector
    loads: tuple[RowLoad, ...]
    rendered: Rendered
    folds: tuple[str, ...]
    stores: tuple[RowStore, ...]

    @property
    def is_computed(self) -> bool:
        """Whether this phase computes the result, which is neither a row value nor from an earlier
        phase."""
        return bool(self.loads or self.rendered.lines or self.folds)


@frozen
class LaneExchange:
    """Exchange of a lane's value with the lane `distance` away.

    `fetch` are the lines that read it, `combine` is the line that folds both values.
    """

    distance: int
    fetch: tuple[str, ...]
    combine: str


@frozen
class RowReduction:
    """Reduction of the lanes' folds to one `result` per row.

    The line `across` reduces the elements of a vector, `steps` the lanes of a wave. The line
    `share` broadcasts the last lane's value, `wave`, if only that lane has it; the line
    `across_waves` reduces the waves of a row. A loop folds from `identity` on.
    """

    name: str
    identity: str
    across: str
    steps: tuple[LaneExchange, ...]
    share: str
    wave: str
    across_waves: str
    result: str


@frozen
class PhasePlan:
    """Phase in the form of the template; `block` is the label of the block in which it begins."""

    phase: RowPhase
    block: str
    row_values: Rendered
    #: Values that are constant along a row.
    row_known: Mapping[Expression, str]
    splats: tuple[Splat, ...]
    bodies: tuple[VectorBody, ...]
    exchanges: tuple[RowReduction, ...]


@frozen
class RowPhases:
    """Phases of a row-wise kernel.

    `first` is the number of a lane's first vector. The exchanges in a wave have the lane
    `distances`; `waves` waves of `wave` lanes share a row.
    """

    row: RowPlan
    resident: bool
    first: str
    distances: tuple[int, ...]
    wave: int
    waves: int

    @property
    def single(self) -> FloatType:
        return FloatType(dtype=self.row.spec.compute)

    @property
    def value(self) -> FloatType:
        return FloatType(dtype=self.row.spec.compute, lanes=self.row.vector)

    @property
    def parts(self) -> FloatType:
        """Vector type of the partial results of a row's waves, which are read from LDS at once."""
        return FloatType(dtype=self.row.spec.compute, lanes=self.waves)

    @property
    def idle_lanes(self) -> bool:
        """Whether some lanes have no vector of a streamed row."""
        return not self.resident and self.row.row_vectors < self.row.lanes

    @cached_property
    def made(self) -> tuple[PhasePlan, ...]:
        row_known = {variable(of.name): f"%{of.name}.of_row" for of in self.row.of_row}
        row_known[variable("row")] = "%row.number"
        splat: dict[Expression, str] = {}
        kept: list[dict[Expression, str]] = [{} for _ in self.places]
        block, found = "entry", []
        for phase in self.row.phases:
            row_values = renderer_of(self.single).compute(
                phase.row_values, row_known, f"%row{phase.number}"
            )
            splats = self._splats(phase, row_known, splat)
            folded = {} if self.resident else {f.name: f"%{f.name}.before" for f in phase.folds}
            kept = kept if self.resident else [{}]
            bodies = []
            for place, known in zip(self.places or [self._turn(phase, splat)], kept, strict=True):
                known |= splat
                bodies.append(self._body(phase, place, known, folded))
            exchanges = tuple(self._exchange(fold, folded[fold.name]) for fold in phase.folds)
            found.append(
                PhasePlan(
                    phase=phase,
                    block=block,
                    row_values=row_values,
                    row_known=dict(row_known),
                    splats=splats,
                    bodies=tuple(bodies),
                    exchanges=exchanges,
                )
            )
            row_known |= {f.step: e.result for f, e in zip(phase.folds, exchanges, strict=True)}
            if self.waves > 1:
                block = f"{phase.name}.shared"
            elif not self.resident:
                block = f"{phase.name}.done"
        return tuple(found)

    def _splats(
        self, phase: RowPhase, row_known: Mapping[Expression, str], splat: dict[Expression, str]
    ) -> tuple[Splat, ...]:
        """Return the row values that the phase's vectors need, and add their names to `splat`."""
        wanted = self._wanted(phase)
        taken = {a for step in self.row.elements(wanted) for a in step.arguments}.union(wanted)
        found = []
        for value in phase.row_values:
            if value in splat or value not in taken or value.primitive is Primitive.CONSTANT:
                continue
            splat[value] = row_known[value]
            if self.value.lanes > 1:
                splat[value] += ".splat"
                made = Splat(result=splat[value], value=row_known[value], truth=value.truth)
                found.append(made)
        return tuple(found)

    def _wanted(self, phase: RowPhase) -> tuple[Expression, ...]:
        """Return the expressions that a phase computes on vectors."""
        if phase.folds:
            return phase.wanted
        return tuple(of.result for of in self.row.whole_outputs)

    # -- a lane's vectors ----------------------------------------------------------------------

    @cached_property
    def places(self) -> tuple[LaneVector, ...]:
        """Vectors of a resident row, which all phases share."""
        terms = any(of.columns and not of.columns.linear for of in self.row.tensors)
        columns = self.row.asks_column
        pieces = self.row.pieces if self.resident else ()
        return tuple(self._place(f"v{p.index}", p, terms, columns) for p in pieces)

    def _turn(self, phase: RowPhase, known: Container[Expression]) -> LaneVector:
        """Return the vector of one iteration of a loop along a streamed row."""
        used = [of.columns for of in self.row.inputs if of.name in phase.inputs and of.columns]
        if not phase.folds:
            used += [of.columns for of in self.row.outputs if of.columns]
        terms = not all(columns.linear for columns in used)
        columns = COLUMN in unknown(self._wanted(phase), known)
        return self._place(phase.name, self.row.pieces[0], terms, columns)

    def _place(self, name: str, piece: RowVector, terms: bool, columns: bool) -> LaneVector:
        index, wide = f"%{name}.index", f"%{name}.wide"
        if self.resident and self.row.lanes == 1:
            index = wide = str(piece.offset)
        elif self.resident and not piece.offset and not piece.partial:
            index = self.first
        computed = self.row.computed_columns
        return LaneVector(
            name=name,
            piece=piece,
            number=f"%{name}.number" if piece.offset else self.first,
            index=index,
            wide=wide,
            dimensions=computed if terms else (),
            columns=columns,
        )

    def _body(
        self,
        phase: RowPhase,
        place: LaneVector,
        known: dict[Expression, str],
        folded: dict[str, str],
    ) -> VectorBody:
        """Return the loads and steps of one vector, and add the phase's results to `known` and
        `folded`."""
        loads = []
        for of in self.row.inputs:
            if of.columns and of.name in phase.inputs and variable(of.name) not in known:
                loads.append(load := self._load(place, of, of.columns))
                known[variable(of.name)] = load.value
        if place.columns:
            known[COLUMN] = f"%{place.name}.column"
        name = f"%{phase.name}.{place.name}" if self.resident else f"%{phase.name}"
        renderer = renderer_of(self.value)
        rendered = renderer.compute(self._wanted(phase), known, name)
        folds = []
        for fold in phase.folds:
            value = known[fold.argument]
            if self.resident and place.piece.partial:
                chosen = f"%{fold.name}.chosen"
                folds.append(self._or_identity(fold, chosen, place, value))
                value = chosen
            if fold.name in folded:
                result = f"%{fold.name}.lane{place.piece.index if self.resident else ''}"
                folds.append(combine(renderer, fold, result, folded[fold.name], value))
                value = result
            folded[fold.name] = value
        return VectorBody(
            place=place,
            loads=tuple(loads),
            rendered=rendered,
            folds=tuple(folds),
            stores=() if phase.folds else tuple(self._stores(place, known)),
        )

    def _stores(self, place: LaneVector, known: Mapping[Expression, str]) -> Iterator[RowStore]:
        for of in self.row.whole_outputs:
            row, stem = self.row_pointer(of), f"%{of.name}.{place.name}"
            by = moves(f"{stem}.at", row, self._column_terms(place, of.columns))
            yield RowStore(
                name=of.name, stem=stem, value=known[of.result], moves=by, pointer=moved(row, by)
            )

    def _or_identity(self, fold: RowFold, result: str, place: LaneVector, value: str) -> str:
        """Return the line that replaces a missing vector by the fold's identity."""
        t, identity = self.value, self.value.constant(self.row.identity(fold))
        return f"{result} = select i1 %{place.name}.exists, {t} {value}, {t} {identity}"

    def _load(self, place: LaneVector, of: RowInput, columns: StreamInput) -> RowLoad:
        row = self.row_pointer(of)
        value = f"%{of.name}.{place.name}"
        by = moves(f"{value}.at", row, self._column_terms(place, columns))
        return RowLoad(
            name=of.name, value=value, moves=by, pointer=moved(row, by), single=columns.single
        )

    def _column_terms(
        self, place: LaneVector, columns: StreamInput | None
    ) -> tuple[tuple[str, int], ...]:
        """Return the terms of a vector's offset in its row, as pairs of a value and the elements
        per unit of it."""
        assert columns is not None
        if columns.linear:
            return ((place.wide, self.row.vector),)
        dimensions = self.row.column_dimensions
        return operand_terms(f"%{place.name}", place.wide, dimensions, columns.terms)

    # -- addresses of rows ---------------------------------------------------------------------

    def row_moves(self, of: RowInput | RowOutput) -> tuple[Move, ...]:
        """Return the pointer moves from a tensor's first element to the row's first."""
        terms = self.row.row_operands(of, "%row.wide")
        return moves(f"%{of.name}.row", self.origin(of), terms)

    def origin(self, of: RowInput | RowOutput) -> str:
        """Return the name of the pointer from which a tensor is accessed."""
        return f"%{of.name}.origin" if of in self.row.views else f"%{of.name}.ptr"

    def row_pointer(self, of: RowInput | RowOutput) -> str:
        return moved(self.origin(of), self.row_moves(of))

    # -- exchanges -----------------------------------------------------------------------------

    def _exchange(self, fold: RowFold, lane: str) -> RowReduction:
        name, whole, across = f"%{fold.name}", f"%row.{fold.name}", ""
        here = f"{name}.seen" if self.idle_lanes else lane
        if self.value.lanes > 1:
            result = whole if self.row.lanes == 1 else f"{name}.by1"
            across = renderer_of(self.value).across(fold.reduction.combine, result, here)
            here = result
        found = []
        last_lane = ends_in_last_lane(self.distances, self.wave)
        for distance in self.distances:
            ends = distance == self.distances[-1] and self.waves == 1 and not last_lane
            result = whole if ends else f"{name}.by{2 * distance}"
            single = renderer_of(self.single)
            line = combine(single, fold, result, here, f"{here}.other")
            fetch = other_lane(here, distance, self.distances, self.wave, self.single)
            found.append(LaneExchange(distance=distance, fetch=fetch, combine=line))
            here = result
        share = ""
        if last_lane:
            result = whole if self.waves == 1 else f"{name}.wave"
            share, here = of_last_lane(result, here, self.single), result
        waves = renderer_of(self.parts)
        return RowReduction(
            name=fold.name,
            identity=self.value.constant(self.row.identity(fold)),
            across=across,
            steps=tuple(found),
            share=share,
            wave=here,
            across_waves=waves.across(fold.reduction.combine, whole, f"{name}.parts"),
            result=whole if self.waves > 1 else here,
        )


def combine(renderer: LlvmRenderer, fold: RowFold, result: str, x: str, y: str) -> str:
    """Return the line that folds two values into one."""
    step = node(fold.reduction.combine, variable("x"), variable("y"))
    (line,) = renderer.instruction(step, result, [x, y])
    return line
