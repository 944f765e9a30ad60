"""Row-wise kernels: one row per group of threads, kept in registers where it fits."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import ClusterRows, GpuRows
from kgen.spec import Rowwise
from kgen.targets.base import Target, launch_of
from kgen.targets.cuda.expressions import RegisterType, renderer_of
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.row_phases import PhasePlan, RowPhases
from kgen.targets.header import counted
from kgen.targets.powers_of_two import log2
from kgen.targets.rows.folds_and_phases import RowInput, RowOutput
from kgen.targets.rows.online import exponentials_of
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import is_interleaved, tile_of, walked_itemsize, widest_vector
from kgen_runtime.values import frozen

#: Bytes of a partial result: each fold has one per warp.
PARTIAL_BYTES = 4
#: Largest cluster that every GPU with clusters supports, in CTAs (CUDA C++ Programming Guide 12.9,
#: "Thread Block Clusters").
MAX_CLUSTER = 8


@frozen
class RowwisePlan(cuda_plan.FormulaPlan):
    spec: Rowwise
    schedule: GpuRows

    @cached_property
    def row(self) -> RowPlan:
        return RowPlan(
            spec=self.spec,
            vector=self.schedule.vector,
            lanes=self.threads_per_row,
            native=renderer_of(self.target, self.type).native,
            online=None if self.schedule.resident else exponentials_of,
        )

    # -- a row's threads -----------------------------------------------------------------------

    @property
    def threads_per_row(self) -> int:
        return self.schedule.threads_per_row

    @property
    def threads_per_row_log2(self) -> int:
        return log2(self.threads_per_row)

    @property
    def column_mask(self) -> int:
        return self.threads_per_row - 1

    @property
    def interleaved(self) -> bool:
        """Whether neighbouring threads have neighbouring rows."""
        return False

    @property
    def row_edge(self) -> bool:
        return self.spec.rows % self.schedule.rows_per_block != 0

    @property
    def cluster(self) -> int:
        """CTAs that share a row."""
        return cluster_of(self.schedule)

    @property
    def is_clustered(self) -> bool:
        return self.cluster > 1

    @property
    def cluster_mask(self) -> int:
        return self.cluster - 1

    @property
    def num_warps(self) -> int:
        return self.num_threads // self.target.subgroup

    @property
    def across_warps(self) -> bool:
        """Whether the threads of a row exchange partial results through shared memory."""
        return bool(self.row.folds) and self.threads_per_row > self.target.subgroup

    @property
    def warp_mask(self) -> int:
        return self.num_warps - 1

    @property
    def shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over the lanes of a warp that share a row."""
        return butterfly(min(self.threads_per_row, self.target.subgroup))

    @property
    def warp_shuffles(self) -> tuple[int, ...]:
        """Shuffle distances over one value per warp."""
        return butterfly(self.num_warps)

    @property
    def cluster_shuffles(self) -> tuple[int, ...]:
        """Shuffle distances over one value per CTA."""
        return butterfly(self.cluster)

    @property
    def num_parts(self) -> int:
        """Partial results of a fold in shared memory, one per warp."""
        return self.num_warps

    @property
    def part_noun(self) -> str:
        return "warps"

    @property
    def partials(self) -> dict[str, int]:
        """Byte offset of each fold's partial results; separate places spare a barrier."""
        nbytes = self.num_parts * PARTIAL_BYTES
        return {fold.name: i * nbytes for i, fold in enumerate(self.row.folds)}

    @property
    def cluster_partials(self) -> dict[str, int]:
        """Byte offset of each fold's results per CTA of the cluster, after the results of warps."""
        first = len(self.row.folds) * self.num_parts * PARTIAL_BYTES
        nbytes = self.cluster * PARTIAL_BYTES
        return {fold.name: first + i * nbytes for i, fold in enumerate(self.row.folds)}

    @property
    def notes(self) -> tuple[str, ...]:
        ctas = f" in {self.cluster} CTAs" if self.is_clustered else ""
        threads = counted(self.threads_per_row, "thread")
        return (self.row.note(threads + ctas, is_resident=bool(self.schedule.resident)),)

    @property
    def shared_map(self) -> tuple[str, ...]:
        number = self.spec.compute
        parts = f"{number} for each of {self.num_parts} {self.part_noun}"
        found = [f"{name}: {parts}, at byte {at}" for name, at in self.partials.items()]
        if self.is_clustered:
            of = self.cluster_partials.items()
            each = f"{number} for each CTA of the cluster"
            found += [f"{name}: {each}, at byte {at}" for name, at in of]
        return tuple(found)

    # -- memory --------------------------------------------------------------------------------

    def vector_bytes(self, name: str) -> int:
        """Return the bytes of a tensor's vector."""
        return self.schedule.vector * self.row.dtype_of(name).itemsize

    def turn_bytes(self, name: str) -> int:
        """Return the bytes from a thread's vector to its next one."""
        return self.threads_per_row * self.vector_bytes(name)

    def first_byte(self, of: RowInput) -> int:
        """Return the byte offset of the first element that is read."""
        return of.offset * self.row.dtype_of(of.name).itemsize

    def row_terms(self, of: RowInput | RowOutput) -> tuple[tuple[int, int], ...]:
        """Return pairs of a row coordinate and the bytes per step of it."""
        itemsize = self.row.dtype_of(of.name).itemsize
        return tuple((d, stride * itemsize) for d, stride in of.row_terms)

    def out_row_bytes(self, of: RowOutput) -> int:
        """Return the bytes from an output's row to the next one."""
        return of.row_stride * self.row.dtype_of(of.name).itemsize

    # -- the expression ------------------------------------------------------------------------

    @property
    def type(self) -> RegisterType:
        """Register type of the compute dtype."""
        return RegisterType(dtype=self.spec.compute)

    @cached_property
    def row_phases(self) -> RowPhases:
        return RowPhases(
            row=self.row,
            target=self.target,
            type=self.type,
            resident=bool(self.schedule.resident),
            guarded=self.row_edge,
        )

    @property
    def phases(self) -> tuple[PhasePlan, ...]:
        return self.row_phases.made

    @property
    def has_last(self) -> bool:
        """Whether only some threads have the last vector of a resident row."""
        return bool(self.schedule.resident) and self.row.pieces[-1].partial

    @property
    def last_limit(self) -> int:
        """Limit of the number of a thread's first vector, below which it has a last vector."""
        return self.row.row_vectors - self.row.pieces[-1].offset

    @property
    def numbers_columns(self) -> bool:
        """Whether the kernel needs the number of a vector in its row."""
        bodies = (body for phase in self.phases for body in phase.bodies)
        return any(body.columns or body.has_terms for body in bodies)

    @property
    def forms_addresses(self) -> bool:
        """Whether some vector is not at a constant distance from the thread's first."""
        return any(i.columns and not i.columns.linear for i in self.row.tensors)

    @property
    def row_guard(self) -> str:
        return "@%in_matrix " if self.row_edge else ""

    @property
    def results_of_row(self) -> tuple[tuple[str, str], ...]:
        """Outputs with one element per row, and their registers."""
        known = self.phases[-1].row_known
        return tuple(
            (of.name, known[of.result].removeprefix("%")) for of in self.row.reduced_outputs
        )


def butterfly(lanes: int) -> tuple[int, ...]:
    return tuple(1 << bit for bit in reversed(range(log2(lanes))))


def plan_rowwise(spec: Rowwise, target: Target, schedule: GpuRows) -> RowwisePlan:
    """Return a plan for rows of contiguous columns, or for one row per CTA. Raises ScheduleError if
    the vector does not divide a row or the row does not fit."""
    check(spec, target, schedule)
    if schedule.shares_block and schedule.threads_per_row > target.subgroup:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives each row {schedule.threads_per_row} threads; the limit for rows that share a "
            f"block is {target.subgroup}; try rows_per_block=1"
        )
    return planned(RowwisePlan, spec, target, schedule)


def planned(
    kind: type[RowwisePlan], spec: Rowwise, target: Target, schedule: GpuRows
) -> RowwisePlan:
    """Return a plan for contiguous or interleaved rows. Raises ScheduleError if a resident row does
    not fit."""
    blocks = -(-spec.rows // schedule.rows_per_block)
    cluster = cluster_of(schedule)
    across = cluster > 1
    launch = launch_of(
        spec,
        (cluster, spec.rows, 1) if across else (blocks, 1, 1),
        schedule.num_threads,
        tile_of(spec, schedule.rows_per_block, axis=1 if across else 0),
        cluster=(cluster, 1, 1),
    )
    features = [
        *(["clusters"] if cluster > 1 else []),
        *(["max_nan"] if target.has("max_nan") else []),
    ]
    made = kind(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/rowwise.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        ptx_version=cuda_plan.ptx_version(target, spec, *features),
    )
    if schedule.resident:
        cuda_plan.check_registers(
            made.row.held,
            f"a resident row of {spec.cols}",
            schedule.num_threads,
            target,
            "resident=0",
        )
    if not made.across_warps:
        return made
    parts = made.num_parts + (cluster if cluster > 1 else 0)
    return replace(made, shared_bytes=len(made.partials) * PARTIAL_BYTES * parts)


def cluster_of(schedule: GpuRows) -> int:
    return schedule.cluster if isinstance(schedule, ClusterRows) else 1


def vector_of(spec: Rowwise) -> int:
    """Return the elements of the widest access that is aligned in every row."""
    return widest_vector(spec, MAX_ACCESS_BYTES // walked_itemsize(spec))


def check(spec: Rowwise, target: Target, schedule: GpuRows) -> None:
    cuda_plan.check_powers_of_two(schedule.override(resident=1))
    cuda_plan.check_threads(schedule.num_threads, target, "num_threads=256")
    cluster = cluster_of(schedule)
    most = MAX_CLUSTER if target.has("clusters") else 1
    if cluster > most:
        raise ScheduleError(
            f"cluster={cluster} is more than {most}, the largest cluster of {target.name}; "
            f"try cluster={most}"
        )
    if cluster > 1 and spec.rows > target.limits["grid_y"]:
        raise ScheduleError(
            f"cluster={cluster} puts the {spec.rows} rows along y of the grid, where "
            f"{target.name} allows {target.limits['grid_y']}; try cluster=1"
        )
    if schedule.vector > vector_of(spec):
        raise ScheduleError(
            f"vector={schedule.vector} is more than {vector_of(spec)}, the widest aligned access "
            f"to rows of {spec.cols} elements; try vector={vector_of(spec)}"
        )
    if cluster > 1 and is_interleaved(spec):
        raise ScheduleError(
            f"cluster={cluster} requires contiguous rows, and these are interleaved; try cluster=1"
        )
