"""Row-wise kernels: one row per group of threads, kept in registers where it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import Expression
from kgen.ops.expression import node, unknown, variable
from kgen.schedule import ClusterRows, GpuRows
from kgen.spec import Rowwise
from kgen.targets.base import Target
from kgen.targets.cuda.expressions import PtxRenderer
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.expressions import Rendered
from kgen.targets.row import (
    Fold,
    Phase,
    Piece,
    RowInput,
    RowOutput,
    RowPlan,
    is_interleaved,
    maximum_of,
    widest_vector,
)
from kgen.targets.stream import StreamInput
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: One f32 per warp for each fold.
PARTIAL_BYTES = 4
#: CTAs of a cluster that every GPU with clusters takes (CUDA C++ Programming Guide 12.9, "Thread
#: Block Clusters").
MAX_CLUSTER = 8
#: Threads of an interleaved row: each reads what all of them have folded.
MAX_PARTNERS = 32


@frozen
class Load:
    """A vector's elements of one input: `nbytes` behind the thread's first of a linear one, else at
    the coordinates' `terms`, in bytes for each step of them."""

    name: str
    registers: tuple[str, ...]
    linear: bool
    nbytes: int
    terms: tuple[tuple[int, int], ...]


@frozen
class Step:
    """Computed element by element; then lines that fold it into accumulators. `rescale` comes
    first, after the old maximum was kept."""

    rendered: tuple[Rendered, ...]
    folds: tuple[str, ...] = ()
    rescale: Rendered | None = None


@frozen
class Store:
    """A vector of an output, at `nbytes` behind the thread's first of a linear one, else at `terms`
    as of a :class:`Load`."""

    name: str
    registers: tuple[str, ...]
    linear: bool
    nbytes: int
    terms: tuple[tuple[int, int], ...]


@frozen
class Body:
    """What a phase does with one of a thread's vectors: `columns` are registers of the columns'
    numbers, `steps` what is computed and folded, one after another. `predicate` names that of the
    threads that have the vector, if not all."""

    piece: Piece
    predicate: str
    loads: tuple[Load, ...]
    columns: tuple[str, ...]
    steps: tuple[Step, ...]
    stores: tuple[Store, ...]
    #: What the names of its coordinates start with.
    vector: str

    @property
    def guard(self) -> str:
        return f"@%{self.predicate} " if self.predicate else ""

    @property
    def has_terms(self) -> bool:
        """Whether some input's address is made of the column's coordinates."""
        places: tuple[Load | Store, ...] = (*self.loads, *self.stores)
        return any(of.terms and not of.linear for of in places)


@frozen
class PhasePlan:
    phase: Phase
    row_values: Rendered
    #: What is the same for a whole row.
    row_known: Mapping[Expression, str]
    bodies: tuple[Body, ...]

    @property
    def linear(self) -> tuple[str, ...]:
        """Inputs of which every turn of a loop reads the next vector."""
        return tuple(load.name for load in self.bodies[0].loads if load.linear)

    @property
    def linear_outputs(self) -> tuple[str, ...]:
        """Outputs of which every turn writes the next vector."""
        return tuple(store.name for store in self.bodies[0].stores if store.linear)


@frozen
class RowwisePlan(base.FormulaPlan):
    spec: Rowwise
    schedule: GpuRows

    @cached_property
    def row(self) -> RowPlan:
        return RowPlan(
            spec=self.spec,
            vector=self.schedule.vector,
            lanes=self.threads_per_row,
            native=PtxRenderer(target=self.target).native,
            online=None if self.schedule.resident else maximum_of,
        )

    # -- a row's threads -----------------------------------------------------------------------

    @property
    def threads_per_row(self) -> int:
        return self.schedule.threads_per_row

    @property
    def threads_per_row_log2(self) -> int:
        return base.log2(self.threads_per_row)

    @property
    def column_mask(self) -> int:
        return self.threads_per_row - 1

    @property
    def interleaved(self) -> bool:
        """Neighbouring threads have neighbouring rows."""
        return self.row.interleaved and self.schedule.rows_per_block > 1

    @property
    def rows_per_block_log2(self) -> int:
        return base.log2(self.schedule.rows_per_block)

    @property
    def row_mask(self) -> int:
        return self.schedule.rows_per_block - 1

    def partners(self, fold: Fold) -> tuple[int, ...]:
        """Where the lanes of an interleaved row have their parts in shared memory."""
        first, step = self.partials[fold.name], self.schedule.rows_per_block * PARTIAL_BYTES
        return tuple(first + lane * step for lane in range(self.threads_per_row))

    @property
    def row_edge(self) -> bool:
        return self.spec.rows % self.schedule.rows_per_block != 0

    @property
    def cluster(self) -> int:
        """CTAs that share a row."""
        return cluster_of(self.schedule)

    @property
    def num_warps(self) -> int:
        return self.num_threads // self.target.subgroup

    @property
    def across_warps(self) -> bool:
        """A row's threads meet in shared memory."""
        if self.interleaved:
            return self.threads_per_row > 1
        return self.threads_per_row > self.target.subgroup

    @property
    def warp_mask(self) -> int:
        return self.num_warps - 1

    @property
    def shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over the lanes of a warp that share a row."""
        return butterfly(min(self.threads_per_row, self.target.subgroup))

    @property
    def warp_shuffles(self) -> tuple[int, ...]:
        """Those over one value per warp."""
        return butterfly(self.num_warps)

    @property
    def cluster_shuffles(self) -> tuple[int, ...]:
        """Those over one value per CTA."""
        return butterfly(self.cluster)

    @property
    def _folds(self) -> tuple[Fold, ...]:
        return tuple(fold for phase in self.row.phases for fold in phase.folds)

    @property
    def partials(self) -> dict[str, int]:
        """Where each fold keeps its value per warp, or per thread of interleaved rows; a place for
        each spares a barrier."""
        nbytes = (self.num_threads if self.interleaved else self.num_warps) * PARTIAL_BYTES
        return {fold.name: i * nbytes for i, fold in enumerate(self._folds)}

    @property
    def cluster_partials(self) -> dict[str, int]:
        """The same per CTA of the cluster."""
        first = len(self._folds) * self.num_warps * PARTIAL_BYTES
        nbytes = self.cluster * PARTIAL_BYTES
        return {fold.name: first + i * nbytes for i, fold in enumerate(self._folds)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the header says about the schedule."""
        times = len([p for p in self.row.phases if p.inputs])
        kept = "kept in registers" if self.schedule.resident else f"read {times} times"
        ctas = f" in {self.cluster} CTAs" if self.cluster > 1 else ""
        threads = f"{self.threads_per_row} thread{'s' if self.threads_per_row > 1 else ''}"
        found = [f"{threads}{ctas} for each row, which is {kept}"]
        if self.interleaved:
            found.append("neighbouring threads have neighbouring rows, which are contiguous")
        return tuple(found)

    # -- memory --------------------------------------------------------------------------------

    @property
    def turn_bytes(self) -> int:
        """From a thread's vector to its next."""
        return self.threads_per_row * self.vector_bytes

    @property
    def out_turn_bytes(self) -> int:
        return self.threads_per_row * self.out_vector_bytes

    def row_terms(self, of: RowInput | RowOutput) -> tuple[tuple[int, int], ...]:
        """(coordinate of the row, bytes for each step of it)."""
        itemsize = self.itemsize if isinstance(of, RowInput) else self.spec.out.itemsize
        return tuple((d, stride * itemsize) for d, stride in of.row_terms)

    def out_row_bytes(self, of: RowOutput) -> int:
        """From an output's row to the next."""
        return of.row_stride * self.spec.out.itemsize

    # -- the expression ------------------------------------------------------------------------

    @property
    def renderer(self) -> PtxRenderer:
        return PtxRenderer(target=self.target)

    @cached_property
    def of_row(self) -> tuple[RowInput, ...]:
        """Inputs of which a row has one element."""
        return tuple(i for i in self.row.inputs if i.columns is None)

    @cached_property
    def phases(self) -> tuple[PhasePlan, ...]:
        leaves = {i.name: f"%{i.name}_of_row" for i in self.of_row} | {"row": "%row_number"}
        row_known = {variable(name): register for name, register in leaves.items()}
        pieces = self.row.pieces if self.schedule.resident else self.row.pieces[:1]
        kept = [self._nothing_known() for _ in pieces]
        found = []
        for phase in self.row.phases:
            row_values = self.renderer.compute(phase.row_values, row_known, f"%row{phase.number}")
            if not self.schedule.resident:
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
        """The registers of each element of a vector."""
        return [{} for _ in range(self.schedule.vector)]

    def _body(self, phase: Phase, piece: Piece, known: list[dict[Expression, str]]) -> Body:
        """What the phase computes comes to what is known of the vector's elements."""
        loads = []
        for of in self.row.inputs:
            if of.columns and of.name in phase.inputs and variable(of.name) not in known[0]:
                loads.append(load := self._load(of.columns, phase, piece))
                for e, element in enumerate(known):
                    register = load.registers[e % len(load.registers)]
                    element[variable(of.name)] = f"%{register}"
        columns = self._columns(phase, piece, known)
        partial = bool(self.schedule.resident) and piece.partial
        return Body(
            piece=piece,
            predicate="has_last" if partial else "in_matrix" if self._loads_rows else "",
            loads=tuple(loads),
            columns=columns,
            steps=tuple(self._steps(phase, piece, known, partial)),
            stores=() if phase.folds else tuple(self._stores(piece, known)),
            vector=f"{phase.name}_v{piece.index}_at",
        )

    def _stores(self, piece: Piece, known: list[dict[Expression, str]]) -> Iterator[Store]:
        itemsize = self.spec.out.itemsize
        for of in self.row.outputs:
            if of.columns:
                yield Store(
                    name=of.name,
                    registers=tuple(e[of.result].removeprefix("%") for e in known),
                    linear=of.columns.linear,
                    nbytes=piece.offset * self.out_vector_bytes,
                    terms=tuple((d, stride * itemsize) for d, stride in of.columns.terms),
                )

    def _steps(
        self, phase: Phase, piece: Piece, known: list[dict[Expression, str]], partial: bool
    ) -> Iterator[Step]:
        """All folds' arguments together; an online sum's after its maximum."""
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
        folds: Sequence[Fold],
        phase: Phase,
        prefix: str,
        known: list[dict[Expression, str]],
        partial: bool,
    ) -> Step:
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
        return Step(
            rendered=rendered,
            folds=tuple(lines),
            rescale=self.rescale(online[0], f"{prefix}_rescaled") if online else None,
        )

    def rescale(self, fold: Fold, prefix: str) -> Rendered:
        """An online sum in the maximum as it is, from what it was; it ends in its register."""
        names = (fold.name, fold.relative_to, fold.before)
        known = {variable(name): f"%{name}" for name in names}
        result = {fold.rescaled: f"%{fold.name}"}
        rendered = self.renderer.compute([fold.rescaled], known, prefix, result)
        return replace(rendered, numbers=rendered.numbers[:-1])

    @property
    def _loads_rows(self) -> bool:
        """Threads whose row does not exist are told apart at every vector; a loop has none."""
        return bool(self.schedule.resident) and self.row_edge

    def _load(self, of: StreamInput, phase: Phase, piece: Piece) -> Load:
        count = 1 if of.single else self.schedule.vector
        return Load(
            name=of.name,
            registers=tuple(f"{of.name}_{phase.name}_v{piece.index}_{e}" for e in range(count)),
            linear=of.linear,
            nbytes=piece.offset * self.vector_bytes,
            terms=tuple((d, stride * self.itemsize) for d, stride in of.terms),
        )

    def _columns(
        self, phase: Phase, piece: Piece, known: list[dict[Expression, str]]
    ) -> tuple[str, ...]:
        """Registers for the numbers of the elements' columns, if the phase is the first to ask."""
        asked = any(s.name == "column" for s in unknown(phase.wanted, known[0]))
        if not asked:
            return ()
        registers = tuple(f"column_{phase.name}_v{piece.index}_{e}" for e in range(len(known)))
        for register, element in zip(registers, known, strict=True):
            element[variable("column")] = f"%{register}"
        return registers

    def _fold(self, fold: Fold, value: str, partial: bool) -> list[str]:
        """Lines that fold a value into the accumulator; none of a vector that is not there."""
        lines = self.combine(fold, f"%{fold.name}", value)
        if not partial:
            return lines
        if len(lines) == 1:
            return [f"@%has_last {lines[0]}"]
        identity = float_bits(fold.reduction.identity)
        chosen = [f"selp.f32 %chosen, {value}, {identity}, %has_last;"]
        return [
            "{",
            ".reg .f32 %chosen;",
            *chosen,
            *self.combine(fold, f"%{fold.name}", "%chosen"),
            "}",
        ]

    def combine(self, fold: Fold, value: str, other: str) -> list[str]:
        """Lines that fold another register into a value."""
        step = node(fold.reduction.combine, variable("value"), variable("other"))
        return self.renderer.instruction(step, value, [value, other])

    @property
    def has_last(self) -> bool:
        """Whether only some threads have a last vector, which they then keep."""
        return bool(self.schedule.resident) and self.row.pieces[-1].partial

    @property
    def last_limit(self) -> int:
        """Threads whose first vector is below this have a last one."""
        return self.row.row_vectors - self.row.pieces[-1].offset

    @property
    def numbers_columns(self) -> bool:
        """Whether a vector's number in its row is asked for."""
        bodies = (body for phase in self.phases for body in phase.bodies)
        return any(body.columns or body.has_terms for body in bodies)

    @property
    def forms_addresses(self) -> bool:
        """Whether some vector is not behind the thread's first."""
        return any(i.columns and not i.columns.linear for i in self.row.tensors)

    @property
    def row_guard(self) -> str:
        return "@%in_matrix " if self.row_edge else ""

    @property
    def whole_names(self) -> tuple[str, ...]:
        """Registers of results that are rounded to whole numbers."""
        return tuple(f"whole{i}" for i in range(self.schedule.vector))

    @property
    def results_of_row(self) -> tuple[tuple[str, str], ...]:
        """Outputs of which a row has one element, and their registers."""
        known = self.phases[-1].row_known
        return tuple(
            (of.name, known[of.result].removeprefix("%")) for of in self.row.reduced_outputs
        )

    def identity(self, fold: Fold) -> str:
        """What an accumulator starts from. The maximum of an online sum starts from a number: -inf
        less itself is none."""
        tops = {f.relative_to for f in self._folds}
        return self.constants.lowest if fold.name in tops else float_bits(fold.reduction.identity)


def butterfly(lanes: int) -> tuple[int, ...]:
    return tuple(1 << bit for bit in reversed(range(base.log2(lanes))))


def plan_rowwise(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Raises ScheduleError if the vector does not divide a row or the row does not fit."""
    _check(spec, target, schedule)
    blocks = -(-spec.rows // schedule.rows_per_block)
    cluster = cluster_of(schedule)
    out_cols = spec.out_cols
    launch = Launch(
        entry_point=spec.key,
        grid=(blocks, 1, 1) if cluster == 1 else (cluster, spec.rows, 1),
        cluster=(cluster, 1, 1),
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(
            shape=(spec.rows, out_cols),
            extent=(schedule.rows_per_block, out_cols),
            axes=(0 if cluster == 1 else 1, -1),
        ),
    )
    features = [
        *(["clusters"] if cluster > 1 else []),
        *(["max_nan"] if target.has("max_nan") else []),
    ]
    made = RowwisePlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/rowwise.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        ptx_version=base.ptx_version(target, *features),
    )
    if schedule.resident:
        base.check_registers(
            made.row.held,
            f"a resident row of {spec.cols}",
            schedule.num_threads,
            target,
            "resident=0",
        )
    if not made.across_warps:
        return made
    if made.interleaved:
        return replace(made, shared_bytes=len(made.partials) * PARTIAL_BYTES * made.num_threads)
    partials = made.num_warps + (cluster if cluster > 1 else 0)
    return replace(made, shared_bytes=len(made.partials) * PARTIAL_BYTES * partials)


def cluster_of(schedule: GpuRows) -> int:
    return schedule.cluster if isinstance(schedule, ClusterRows) else 1


def vector_of(spec: Rowwise) -> int:
    """Elements of the widest access that keeps every row aligned."""
    return widest_vector(spec, MAX_ACCESS_BYTES // max(spec.dtype.itemsize, spec.out.itemsize))


def _check(spec: Rowwise, target: Target, schedule: GpuRows) -> None:
    base.check_powers_of_two(schedule.override(resident=1))
    base.check_threads(schedule.num_threads, target, "num_threads=256")
    cluster = cluster_of(schedule)
    most = MAX_CLUSTER if target.has("clusters") else 1
    if cluster > most:
        raise ScheduleError(f"cluster={cluster}: {target.name} takes up to {most}; try cluster=1")
    if cluster > 1 and spec.rows > target.limits["grid_y"]:
        raise ScheduleError(
            f"cluster={cluster}: {spec.rows} rows of clusters are more than "
            f"{target.limits['grid_y']}; try cluster=1"
        )
    if schedule.vector > vector_of(spec):
        raise ScheduleError(
            f"vector={schedule.vector} does not keep rows of {spec.cols} elements aligned; "
            f"try vector={vector_of(spec)}"
        )
    if is_interleaved(spec):
        if cluster > 1:
            raise ScheduleError(f"cluster={cluster} is for rows that are contiguous; try cluster=1")
        if schedule.rows_per_block > 1 and schedule.threads_per_row > MAX_PARTNERS:
            raise ScheduleError(
                f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
                f"gives a row {schedule.threads_per_row} threads; {MAX_PARTNERS} is the limit; "
                f"try rows_per_block={schedule.num_threads // MAX_PARTNERS}"
            )
        return
    if schedule.rows_per_block > 1 and schedule.threads_per_row > target.subgroup:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives a row {schedule.threads_per_row} threads; rows share a block only with up to "
            f"{target.subgroup} each; try rows_per_block=1"
        )
