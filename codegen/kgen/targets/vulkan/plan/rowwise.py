"""Row-wise kernels: one row per group of invocations, held by them or read again by each phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import Expression
from kgen.ops.expression import node, unknown, variable
from kgen.schedule import GpuRows
from kgen.spec import DType, Rowwise
from kgen.targets.base import Target
from kgen.targets.row import Fold, Phase, RowInput, RowOutput, RowPlan, widest_vector
from kgen.targets.stream import Dimension
from kgen.targets.vulkan.expressions import SpirvRenderer
from kgen.targets.vulkan.plan.base import (
    VECTOR_WIDTHS,
    Shared,
    Tensor,
    VulkanPlan,
    bits_of,
    check_powers_of_two,
    check_threads,
    fold_grid,
    log2,
)
from kgen.targets.vulkan.plan.index import Index, coordinate_names, index_of
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

RENDERER = SpirvRenderer()
#: Scalars of a row that an invocation may hold; drivers spill what does not fit in registers.
MAX_RESIDENT = 64
#: Two, so that one barrier per exchange is enough: the next one writes where nobody reads.
EXCHANGE_BUFFERS = 2
COLUMN, ROW = variable("column"), variable("row")


@frozen
class Vector:
    """One of a lane's vectors of a row. `index` names its number in the row, `offset` behind the
    lane's first. `partial`: some lanes have none, as %<name>_inside says, and read the row's first.

    `coordinates` and `columns` (names of the scalars' columns, as f32) are what is needed of it.
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
class Load:
    """%<name>_<c>_float are the scalars of a tensor's element."""

    name: str
    tensor: Tensor
    index: Index


@frozen
class Store:
    """`values` (ids of floats) to an element of a tensor; `name` starts names on the way."""

    name: str
    tensor: Tensor
    index: Index
    values: tuple[str, ...]


@frozen
class Body:
    """What a phase does with one of a lane's vectors: `lines` compute and fold; `stores` are what
    the last phase writes."""

    vector: Vector
    loads: tuple[Load, ...]
    lines: tuple[str, ...]
    stores: tuple[Store, ...]


@frozen
class Carried:
    """A lane's value of a fold in a loop over its vectors: at first `initial`, then `following`."""

    value: str
    initial: str
    following: str


@frozen
class Exchange:
    """A step of a fold over a row's lanes: `lines` combine `mine` with %<name>_theirs, the value of
    the lane `distance` away."""

    name: str
    distance: int
    buffer: int
    mine: str
    lines: tuple[str, ...]


@frozen
class PhasePlan:
    """`after` is the label of the block from which a loop is entered; `row_stores` are outputs of
    which a row has one element."""

    phase: Phase
    after: str
    row_lines: tuple[str, ...]
    row_stores: tuple[Store, ...]
    bodies: tuple[Body, ...]
    carried: tuple[Carried, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def title(self) -> str:
        return ", ".join(fold.title for fold in self.phase.folds)


@frozen
class RowwisePlan(VulkanPlan):
    """Indices count vectors, or scalars of tensors that are read by scalars."""

    schedule: GpuRows
    spec: Rowwise
    row: RowPlan
    folded: bool
    guarded: bool

    @property
    def notes(self) -> tuple[str, ...]:
        times = len([p for p in self.row.phases if p.inputs])
        kept = "which they hold" if self.schedule.resident else f"which they read {times} times"
        found = [f"{self.lanes} invocations for each row, {kept}"]
        if self.interleaved:
            found.append("neighbouring invocations have neighbouring rows")
        return tuple(found)

    # -- a row's invocations -------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """Invocations of one row."""
        return self.row.lanes

    @property
    def shares_block(self) -> bool:
        """Whether a workgroup has several rows."""
        return self.schedule.rows_per_block > 1

    @property
    def interleaved(self) -> bool:
        """Neighbouring invocations have neighbouring rows."""
        return self.row.interleaved and self.shares_block

    @property
    def row_mask(self) -> int:
        return self.schedule.rows_per_block - 1

    @property
    def row_bits(self) -> int:
        return log2(self.schedule.rows_per_block)

    @property
    def lane_mask(self) -> int:
        return self.lanes - 1

    @property
    def lane_bits(self) -> int:
        return log2(self.lanes)

    @property
    def last_row(self) -> int:
        return self.spec.rows - 1

    @property
    def row_read(self) -> str:
        """The id of the row that is read, the last one's beyond it."""
        return "row_read" if self.guarded else "row"

    # -- where things lie ----------------------------------------------------------------------

    @property
    def row_starts(self) -> tuple[Index, ...]:
        """Where the row starts in each tensor that has an element of its own for it."""
        starts = map(self._start, self.row.tensors)
        return tuple(start for start in starts if start.terms)

    def _start(self, of: RowInput | RowOutput) -> Index:
        names = coordinate_names(self.row_read, self.row.row_dimensions)
        scalars = self.tensor(of.name).vector
        if isinstance(of, RowOutput) and of.row_stride:
            return index_of(f"{of.name}_first", [("row", of.row_stride // scalars)])
        return index_of(
            f"{of.name}_first", [(names[d], stride // scalars) for d, stride in of.row_terms]
        )

    @property
    def of_row(self) -> tuple[Load, ...]:
        """Inputs of which a row has one element."""
        return tuple(
            Load(name=f"{of.name}_of_row", tensor=self.tensor(of.name), index=self._start(of))
            for of in self.row.inputs
            if of.columns is None
        )

    def _load(self, of: RowInput, vector: Vector) -> Load:
        name = f"{of.name}_{vector.name}"
        index = self._index(of, vector, vector.read)
        return Load(name=name, tensor=self.tensor(of.name), index=index)

    def _index(self, of: RowInput | RowOutput, vector: Vector, number: str) -> Index:
        """Where a tensor has a vector, of which the row's `number` is given."""
        assert of.columns is not None
        tensor, start = self.tensor(of.name), self._start(of)
        names = coordinate_names(vector.read, vector.coordinates)
        terms = [(start.name, 1)] if start.terms else []
        if of.columns.linear:
            terms.append((number, 1))
        else:
            terms += [(names[d], stride // tensor.vector) for d, stride in of.columns.terms]
        return index_of(f"{of.name}_{vector.name}_at", terms)

    @cached_property
    def vectors(self) -> tuple[Vector, ...]:
        """What a lane holds of a resident row."""
        return tuple(
            self._vector(
                f"v{piece.index}",
                f"v{piece.index}" if piece.offset else "lane",
                piece.offset,
                piece.partial,
                has_coordinates=True,
                has_columns="column" in self.row.coordinates,
            )
            for piece in self.row.pieces
        )

    def _turn(self, phase: Phase, has_columns: bool) -> Vector:
        """The vector of a turn of a phase's loop."""
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
    ) -> Vector:
        scalars = self.schedule.vector
        return Vector(
            name=name,
            index=index,
            offset=offset,
            partial=partial,
            scalars=scalars,
            coordinates=self.row.column_dimensions if has_coordinates else (),
            columns=tuple(f"{name}_column{c}" for c in range(scalars)) if has_columns else (),
        )

    # -- the expression ------------------------------------------------------------------------

    @cached_property
    def phases(self) -> tuple[PhasePlan, ...]:
        """Those that fold, and the last one."""
        return tuple(self._phases())

    def _phases(self) -> Iterator[PhasePlan]:
        resident = self.schedule.resident
        #: Ids of what is the same for a whole row.
        row_known = {variable(load.tensor.name): f"%{load.name}_0_float" for load in self.of_row}
        row_known[ROW] = "%row_number"
        vectors = self.vectors if resident else ()
        held = [_columns_known(vector) for vector in vectors]
        after, first_exchange = "entry", 0
        for phase in self.row.phases:
            row_values = RENDERER.compute(phase.row_values, row_known, f"%row{phase.number}")
            if not resident:
                vectors = (self._turn(phase, COLUMN in unknown(phase.wanted, row_known)),)
                held = [_columns_known(vector) for vector in vectors]
            #: What the lane has of each fold.
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
            exchanges: list[Exchange] = []
            for fold in phase.folds:
                mine = lane[fold] if resident else initial[fold]
                steps = self._exchanges(fold, mine, first_exchange + len(exchanges))
                exchanges += steps
                row_known[fold.step] = f"%{fold.name}" if steps else mine
            row_stores: tuple[Store, ...] = ()
            if not phase.folds:
                row_stores = tuple(self._row_stores(row_known))
                after = "row_stored" if row_stores else after
            yield PhasePlan(
                phase=phase,
                after=after,
                row_lines=row_values.lines,
                row_stores=row_stores,
                bodies=tuple(bodies),
                carried=carried,
                exchanges=tuple(exchanges),
            )
            after = f"{phase.name}_done"
            first_exchange += len(exchanges)

    def _body(
        self,
        phase: Phase,
        vector: Vector,
        known: list[dict[Expression, str]],
        lane: dict[Fold, str],
    ) -> Body:
        """What is computed is added to `known`, of the vector's scalars, and to `lane`."""
        loads = []
        for of in self.row.inputs:
            if of.columns and of.name in phase.inputs and variable(of.name) not in known[0]:
                loads.append(load := self._load(of, vector))
                for c, element in enumerate(known):
                    scalar = 0 if of.columns.single else c
                    element[variable(of.name)] = f"%{load.name}_{scalar}_float"
        lines: list[str] = []
        for c, element in enumerate(known):
            prefix = f"%{phase.name}_{vector.name}_{c}"
            lines += RENDERER.compute(phase.wanted, element, prefix).lines
        for fold in phase.folds:
            values = [element[fold.argument] for element in known]
            lines += self._fold(fold, values, vector, lane)
        return Body(
            vector=vector,
            loads=tuple(loads),
            lines=tuple(lines),
            stores=() if phase.folds else tuple(self._stores(vector, known)),
        )

    def _stores(self, vector: Vector, known: list[dict[Expression, str]]) -> Iterator[Store]:
        for of in self.row.whole_outputs:
            yield Store(
                name=f"{of.name}_{vector.name}",
                tensor=self.tensor(of.name),
                index=self._index(of, vector, vector.index),
                values=tuple(element[of.result] for element in known),
            )

    def _row_stores(self, known: dict[Expression, str]) -> Iterator[Store]:
        for of in self.row.reduced_outputs:
            yield Store(
                name=f"{of.name}_of_row",
                tensor=self.tensor(of.name),
                index=self._start(of),
                values=(known[of.result],),
            )

    def _fold(
        self, fold: Fold, values: Sequence[str], vector: Vector, lane: dict[Fold, str]
    ) -> list[str]:
        """Lines that fold values into the lane's, but not those of a vector that is not there."""
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
            lines.append(f"{chosen} = OpSelect %float %{vector.name}_inside {total} {otherwise}")
            total = chosen
        lane[fold] = total
        return lines

    def _exchanges(self, fold: Fold, value: str, first: int) -> list[Exchange]:
        """The steps that give every lane the fold over all of them; `first` steps come before."""
        found = []
        for i in range(self.lane_bits):
            name = f"{fold.name}_step{i}"
            result = f"%{fold.name}" if i == self.lane_bits - 1 else f"%{name}"
            found.append(
                Exchange(
                    name=name,
                    distance=(self.schedule.rows_per_block if self.interleaved else 1) << i,
                    buffer=(first + i) % EXCHANGE_BUFFERS,
                    mine=value,
                    lines=tuple(self.combine(fold, result, value, f"%{name}_theirs")),
                )
            )
            value = result
        return found

    @staticmethod
    def combine(fold: Fold, result: str, value: str, other: str) -> list[str]:
        """Lines that make one of two values."""
        step = node(fold.reduction.combine, variable("value"), variable("other"))
        return RENDERER.instruction(step, result, [value, other])

    @staticmethod
    def identity(fold: Fold) -> str:
        return RENDERER.constant(fold.reduction.identity)

    @property
    def row_repeats(self) -> bool:
        """Whether there are several matrices, of which each counts its rows from 0."""
        return self.row.height < self.spec.rows


def _columns_known(vector: Vector) -> list[dict[Expression, str]]:
    """The columns of a vector's scalars, if they are needed."""
    if not vector.columns:
        return [{} for _ in range(vector.scalars)]
    return [{COLUMN: f"%{column}"} for column in vector.columns]


def plan_rowwise(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Raises ScheduleError if the schedule does not fit the shapes or the target."""
    check_powers_of_two(schedule, "num_threads", "rows_per_block", "vector")
    check_threads(schedule.num_threads, target, "num_threads=128")
    row = RowPlan(
        spec=spec,
        vector=schedule.vector,
        lanes=schedule.threads_per_row,
        native=RENDERER.native,
    )
    _check(row, target, schedule)
    grid = fold_grid(-(-spec.rows // schedule.rows_per_block))
    folded = grid[1] > 1
    cols = spec.out_cols
    tile = Tile(shape=(spec.rows, cols), extent=(schedule.rows_per_block, cols), axes=(0, -1))
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=None if folded else tile,
    )
    buffers = tuple(_buffers(row))
    conversions = [f"widen_{b.dtype}" for b in buffers if b.read_only and b.scalar == "ushort"]
    if spec.out is not DType.F32:
        conversions.append(f"narrow_{spec.out}")
    exchange = tuple(
        Shared(name=f"exchange{i}", element="float", length=schedule.num_threads)
        for i in range(EXCHANGE_BUFFERS)
    )
    folds = [fold for phase in row.phases for fold in phase.folds]
    identities = (fold.reduction.identity for fold in folds)
    return RowwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        row=row,
        template=f"spirv/rowwise_{'resident' if schedule.resident else 'stream'}.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=buffers,
        shared=exchange if folds and row.lanes > 1 else (),
        functions=tuple(dict.fromkeys([*conversions, *RENDERER.functions(*row.results)])),
        constants=RENDERER.constants(*row.results, further=identities),
        folded=folded,
        guarded=grid[0] * grid[1] * schedule.rows_per_block != spec.rows,
    )


def vector_of(spec: Rowwise) -> int:
    """The widest vector of which every row of these shapes is a whole number."""
    return widest_vector(spec, VECTOR_WIDTHS[0])


def fewest_lanes(row: RowPlan) -> int:
    """Two where a row has one value only, so that its folds come back from another lane: drivers
    that see a value less its own maximum take it for 0, also where it is NaN or infinite."""
    folds = [fold for phase in row.phases for fold in phase.folds]
    alone = row.spec.cols == 1 or any(row.is_of_row(fold.argument) for fold in folds)
    return 2 if folds and alone else 1


def _buffers(row: RowPlan) -> Iterator[Tensor]:
    """Tensors of bits; one of which a row or a vector has a single element is taken by scalars."""
    single = {i.name for i in row.inputs if i.columns is None or i.columns.single}
    single |= {of.name for of in row.reduced_outputs}
    for binding, p in enumerate(row.spec.parameters):
        yield Tensor(
            name=p.name,
            binding=binding,
            dtype=p.dtype,
            scalar=bits_of(p.dtype),
            vector=1 if p.name in single else row.vector,
            read_only=p.role == "input",
        )


def _check(row: RowPlan, target: Target, schedule: GpuRows) -> None:
    widest = vector_of(row.spec)
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} does not divide a row of these shapes, or is more than "
            f"{VECTOR_WIDTHS[0]}; try vector={widest}"
        )
    if row.lanes < fewest_lanes(row):
        half = schedule.num_threads // 2
        remedy = f"rows_per_block={half}" if half else "num_threads=2"
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} gives a row of one value 1 invocation, and "
            f"drivers then lose its NaN; try {remedy}"
        )
    # What is not kept from phase to phase is unrolled all the same.
    held = row.turns * row.vector * max(1, row.values_kept)
    if schedule.resident and held > MAX_RESIDENT:
        raise ScheduleError(
            f"resident=1 makes an invocation hold {held} numbers of a row of {row.spec.cols}; "
            f"{target.name} kernels hold up to {MAX_RESIDENT}; try resident=0"
        )
