"""Loads, computations, folds and exchanges of a row-wise kernel's phases, for the templates.

Indices count vectors, or scalars if a tensor is read by scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from kgen.ops import Expression
from kgen.ops.expression import node, unknown, variable
from kgen.targets.expressions import Rendered
from kgen.targets.rows.folds_and_phases import RowFold, RowInput, RowOutput, RowPhase
from kgen.targets.rows.plan import RowPlan
from kgen.targets.stream import Dimension
from kgen.targets.vulkan.expressions import SpirvRenderer, SpirvWholeRenderer
from kgen.targets.vulkan.plan.index import Index, coordinate_names, index_of
from kgen.targets.vulkan.plan.memory import Tensor
from kgen_runtime.values import frozen

RowRenderer = SpirvRenderer | SpirvWholeRenderer
#: Number of exchange buffers. With two, one barrier per exchange suffices: the next exchange writes
#: to the buffer that is not being read.
EXCHANGE_BUFFERS = 2
COLUMN, ROW = variable("column"), variable("row")


@frozen
class LaneVector:
    """Vector of a lane: `index` names its number in the row, `offset` counts from the lane's first.

    With `partial`, some lanes do not have it (%<name>_inside is false) and read the row's first
    vector. `coordinates` and `columns` (names of the scalars' columns) are those that loads or
    expressions need.
    """

    name: str
    index: str
    offset: int = 0
    partial: bool = False
    scalars: int
    coordinates: tuple[Dimension, ...]
    columns: tuple[str, ...]

    @property
    def read(self) -> str:
        return f"{self.name}_read" if self.partial else self.index

    @property
    def first_column(self) -> Index:
        return index_of(f"{self.name}_scalar", [(self.read, self.scalars)])


@frozen
class RowLoad:
    """Load of an array element of a tensor; its scalars are %<name>_<c>, with the renderer's
    suffix."""

    name: str
    tensor: Tensor
    index: Index


@frozen
class RowStore:
    """Store of `values` (ids of numbers) to an array element of a tensor; `name` is the prefix of
    intermediate names."""

    name: str
    tensor: Tensor
    index: Index
    values: tuple[str, ...]


@frozen
class VectorBody:
    """Work of a phase on one vector of a lane: `lines` compute and fold.

    `ordered` are the results among the lines, `stores` are the stores of the last phase.
    """

    vector: LaneVector
    loads: tuple[RowLoad, ...]
    lines: tuple[str, ...]
    ordered: tuple[str, ...]
    stores: tuple[RowStore, ...]


@frozen
class Carried:
    """Value of a lane's fold in a loop over its vectors: `initial` first, then `following`."""

    value: str
    initial: str
    following: str


@frozen
class SubgroupExchange:
    """Step of a fold over a row's lanes.

    `lines` combine `mine` with %<name>_theirs, the value of the lane `distance` away.
    """

    name: str
    distance: int
    buffer: int
    mine: str
    lines: tuple[str, ...]


@frozen
class LaneFold:
    """Fold over a row's lanes, as a function of the module.

    `near` steps combine %<name>_value with the value of a lane of the subgroup. `far` steps combine
    %<name>_total with the value of another subgroup, through `buffer`.
    """

    name: str
    mine: str
    buffer: int
    near: tuple[str, ...]
    far: tuple[str, ...]


@frozen
class PhasePlan:
    """Phase in the form of the template. `after` is the label of the block before its loop;
    `row_stores` are the outputs with one element per row."""

    phase: RowPhase
    after: str
    row_values: Rendered
    row_stores: tuple[RowStore, ...]
    bodies: tuple[VectorBody, ...]
    carried: tuple[Carried, ...]
    exchanges: tuple[SubgroupExchange, ...]
    lane_folds: tuple[LaneFold, ...]

    @property
    def title(self) -> str:
        return ", ".join(fold.title for fold in self.phase.folds)

    @property
    def ordered(self) -> tuple[str, ...]:
        of_bodies = (result for body in self.bodies for result in body.ordered)
        return (*self.row_values.ordered, *of_bodies)


@frozen
class RowPhases:
    """Phases of a row-wise kernel.

    Lanes hold `resident` rows. `row_read` is the id of the row that is read. `distances` are the
    distances between lanes that exchange partial results.
    """

    row: RowPlan
    renderer: RowRenderer
    tensors: Mapping[str, Tensor]
    resident: bool
    row_read: str
    distances: tuple[int, ...]
    shuffles: bool

    # -- addresses ------------------------------------------------------------------------------

    @property
    def row_starts(self) -> tuple[Index, ...]:
        """Index of the row's first element in each tensor that has elements per row."""
        starts = map(self._start, self.row.tensors)
        return tuple(start for start in starts if start.terms)

    def _start(self, of: RowInput | RowOutput) -> Index:
        names = coordinate_names(self.row_read, self.row.row_dimensions)
        scalars = self.tensors[of.tensor].width
        if isinstance(of, RowOutput) and of.row_stride:
            return index_of(f"{of.name}_first", [("row", of.row_stride // scalars)])
        terms = [(names[d], stride // scalars) for d, stride in of.row_terms]
        if of.offset:
            terms.append((f"uint_{of.offset // scalars}", 1))
        return index_of(f"{of.name}_first", terms)

    @property
    def of_row(self) -> Mapping[str, RowLoad]:
        """Inputs with one element per row, by name."""
        return {
            of.name: RowLoad(
                name=f"{of.name}_of_row", tensor=self.tensors[of.tensor], index=self._start(of)
            )
            for of in self.row.inputs
            if of.columns is None
        }

    def _load(self, of: RowInput, vector: LaneVector) -> RowLoad:
        name = f"{of.name}_{vector.name}"
        index = self._index(of, vector, vector.read)
        return RowLoad(name=name, tensor=self.tensors[of.tensor], index=index)

    def _index(self, of: RowInput | RowOutput, vector: LaneVector, number: str) -> Index:
        """Return the index of a vector in a tensor; `number` is the id of the row's number."""
        assert of.columns is not None
        tensor, start = self.tensors[of.tensor], self._start(of)
        names = coordinate_names(vector.read, vector.coordinates)
        terms = [(start.name, 1)] if start.terms else []
        if of.columns.linear:
            terms.append((number, 1))
        else:
            terms += [(names[d], stride // tensor.width) for d, stride in of.columns.terms]
        return index_of(f"{of.name}_{vector.name}_at", terms)

    @cached_property
    def vectors(self) -> tuple[LaneVector, ...]:
        """Vectors of a resident row that a lane holds."""
        return tuple(
            self._vector(
                f"v{piece.index}",
                f"v{piece.index}" if piece.offset else "lane",
                piece.offset,
                piece.partial,
                has_coordinates=True,
                has_columns=self.row.asks_column,
            )
            for piece in self.row.pieces
        )

    def _turn(self, phase: RowPhase, has_columns: bool) -> LaneVector:
        """Return the vector of an iteration of a phase's loop."""
        name = f"turn{phase.number}"
        near = [i.columns for i in self.row.inputs if i.name in phase.inputs]
        near += [] if phase.folds else [of.columns for of in self.row.outputs]
        has_coordinates = any(c and c.terms and not c.linear for c in near)
        return self._vector(
            name, name, 0, False, has_coordinates=has_coordinates, has_columns=has_columns
        )

    def _vector(
        self,
        name: str,
        index: str,
        offset: int,
        partial: bool,
        *,
        has_coordinates: bool,
        has_columns: bool,
    ) -> LaneVector:
        scalars = self.row.vector
        return LaneVector(
            name=name,
            index=index,
            offset=offset,
            partial=partial,
            scalars=scalars,
            coordinates=self.row.column_dimensions if has_coordinates else (),
            columns=tuple(f"{name}_column{c}" for c in range(scalars)) if has_columns else (),
        )

    # -- the expression -------------------------------------------------------------------------

    @cached_property
    def made(self) -> tuple[PhasePlan, ...]:
        """Phases that fold, and the last phase."""
        return tuple(self._phases())

    def _phases(self) -> Iterator[PhasePlan]:
        resident = self.resident
        suffix = self.renderer.suffix
        #: Ids of values that are constant along a row.
        row_known = {variable(of): f"%{load.name}_0{suffix}" for of, load in self.of_row.items()}
        row_known[ROW] = "%row_number"
        vectors = self.vectors if resident else ()
        held = [_columns_known(vector) for vector in vectors]
        after, first_exchange = "entry", 0
        for phase in self.row.phases:
            row_values = self.renderer.compute(phase.row_values, row_known, f"%row{phase.number}")
            if not resident:
                vectors = (self._turn(phase, COLUMN in unknown(phase.wanted, row_known)),)
                held = [_columns_known(vector) for vector in vectors]
            #: Partial result of the lane for each fold.
            lane = {f: "" if resident else f"%{f.name}_lane" for f in phase.folds}
            initial = dict(lane)
            bodies = []
            for vector, known in zip(vectors, held, strict=True):
                for element in known:
                    element |= row_known
                bodies.append(self._body(phase, vector, known, lane))
            carried = tuple(
                Carried(value=initial[f], initial=self.identity(f), following=lane[f])
                for f in ([] if resident else phase.folds)
            )
            exchanges: list[SubgroupExchange] = []
            lane_folds: list[LaneFold] = []
            for fold in phase.folds:
                mine = lane[fold] if resident else initial[fold]
                done = first_exchange + len(exchanges) + len(lane_folds)
                if self.shuffles:
                    lane_folds.append(self._lane_fold(fold, mine, done))
                else:
                    exchanges += self._exchanges(fold, mine, done)
                row_known[fold.step] = f"%{fold.name}" if self.distances else mine
            row_stores: tuple[RowStore, ...] = ()
            if not phase.folds:
                row_stores = tuple(self._row_stores(row_known))
                after = "row_stored" if row_stores else after
            yield PhasePlan(
                phase=phase,
                after=after,
                row_values=row_values,
                row_stores=row_stores,
                bodies=tuple(bodies),
                carried=carried,
                exchanges=tuple(exchanges),
                lane_folds=tuple(lane_folds),
            )
            after = f"{phase.name}_done"
            first_exchange += len(exchanges) + len(lane_folds)

    def _body(
        self,
        phase: RowPhase,
        vector: LaneVector,
        known: list[dict[Expression, str]],
        lane: dict[RowFold, str],
    ) -> VectorBody:
        """Return the loads and steps of one vector, and add the results to `known`, for each scalar
        of the vector, and to `lane`."""
        loads = []
        for of in self.row.inputs:
            if of.columns and of.name in phase.inputs and variable(of.name) not in known[0]:
                loads.append(load := self._load(of, vector))
                for c, element in enumerate(known):
                    scalar = 0 if of.columns.single else c
                    element[variable(of.name)] = f"%{load.name}_{scalar}{self.renderer.suffix}"
        lines: list[str] = []
        ordered: list[str] = []
        for c, element in enumerate(known):
            prefix = f"%{phase.name}_{vector.name}_{c}"
            rendered = self.renderer.compute(phase.wanted, element, prefix)
            lines += rendered.lines
            ordered += rendered.ordered
        for fold in phase.folds:
            values = [element[fold.argument] for element in known]
            lines += self._fold(fold, values, vector, lane)
        return VectorBody(
            vector=vector,
            loads=tuple(loads),
            lines=tuple(lines),
            ordered=tuple(ordered),
            stores=() if phase.folds else tuple(self._stores(vector, known)),
        )

    def _stores(self, vector: LaneVector, known: list[dict[Expression, str]]) -> Iterator[RowStore]:
        for of in self.row.whole_outputs:
            yield RowStore(
                name=f"{of.name}_{vector.name}",
                tensor=self.tensors[of.name],
                index=self._index(of, vector, vector.index),
                values=tuple(element[of.result] for element in known),
            )

    def _row_stores(self, known: dict[Expression, str]) -> Iterator[RowStore]:
        for of in self.row.reduced_outputs:
            yield RowStore(
                name=f"{of.name}_of_row",
                tensor=self.tensors[of.name],
                index=self._start(of),
                values=(known[of.result],),
            )

    def _fold(
        self, fold: RowFold, values: Sequence[str], vector: LaneVector, lane: dict[RowFold, str]
    ) -> list[str]:
        """Return the lines that fold values into the lane's partial result, unless the vector is
        missing."""
        lines, before = [], lane[fold]
        total = before
        for c, value in enumerate(values):
            if not total:
                total = value
                continue
            result = f"%{vector.name}_{fold.name}_{c}"
            lines += self.combine(fold, result, total, value)
            total = result
        if vector.partial:
            chosen = f"%{vector.name}_{fold.name}"
            otherwise = before or self.identity(fold)
            scalar = self.renderer.scalar
            lines.append(f"{chosen} = OpSelect %{scalar} %{vector.name}_inside {total} {otherwise}")
            total = chosen
        lane[fold] = total
        return lines

    def _exchanges(self, fold: RowFold, value: str, first: int) -> list[SubgroupExchange]:
        """Return the steps after which every lane has the fold over all lanes; `first` steps come
        before."""
        found = []
        for i, distance in enumerate(self.distances):
            name = f"{fold.name}_step{i}"
            result = f"%{fold.name}" if distance == self.distances[-1] else f"%{name}"
            found.append(
                SubgroupExchange(
                    name=name,
                    distance=distance,
                    buffer=(first + i) % EXCHANGE_BUFFERS,
                    mine=value,
                    lines=tuple(self.combine(fold, result, value, f"%{name}_theirs")),
                )
            )
            value = result
        return found

    def _lane_fold(self, fold: RowFold, mine: str, number: int) -> LaneFold:
        """Return the fold over lanes; `number` folds come before it."""
        name = f"{fold.name}_of_lanes"
        near = self.combine(fold, f"%{name}_both", f"%{name}_value", f"%{name}_theirs")
        far = self.combine(fold, f"%{name}_more", f"%{name}_total", f"%{name}_other")
        return LaneFold(
            name=fold.name,
            mine=mine,
            buffer=number % EXCHANGE_BUFFERS,
            near=tuple(near),
            far=tuple(far),
        )

    def combine(self, fold: RowFold, result: str, value: str, other: str) -> list[str]:
        """Return the lines that combine two values."""
        step = node(fold.reduction.combine, variable("value"), variable("other"))
        return self.renderer.instruction(step, result, [value, other])

    def identity(self, fold: RowFold) -> str:
        return self.renderer.constant(self.row.identity(fold))


def _columns_known(vector: LaneVector) -> list[dict[Expression, str]]:
    """Return a table of known values with the columns of a vector's scalars, if they are needed."""
    if not vector.columns:
        return [{} for _ in range(vector.scalars)]
    return [{COLUMN: f"%{column}"} for column in vector.columns]
