"""Softmax and log-softmax: one row per group of threads, kept in registers where it fits."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import ClusterSoftmax, GpuSoftmax
from kgen.spec import Softmax
from kgen.targets.base import Target
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: One f32 per warp, for the maximum and again for the sum.
PARTIAL_BYTES = 4
#: CTAs of a cluster that every GPU with clusters takes (CUDA C++ Programming Guide 12.9, "Thread
#: Block Clusters").
MAX_CLUSTER = 8


@frozen
class Vector:
    """One vector of a thread's share of a row, in bytes from the thread's first.

    `registers` hold its elements; `predicate` names that of the threads that have it, if not all.
    """

    in_bytes: int
    out_bytes: int
    registers: tuple[str, ...]
    predicate: str


@frozen
class SoftmaxPlan(base.CudaPlan):
    spec: Softmax
    schedule: GpuSoftmax

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
    def row_edge(self) -> bool:
        return self.spec.rows % self.schedule.rows_per_block != 0

    @property
    def row_bytes(self) -> int:
        return self.spec.cols * self.spec.dtype.itemsize

    @property
    def out_row_bytes(self) -> int:
        return self.spec.cols * self.spec.out.itemsize

    @property
    def vector_bytes(self) -> int:
        return self.schedule.vector * self.spec.dtype.itemsize

    @property
    def out_vector_bytes(self) -> int:
        return self.schedule.vector * self.spec.out.itemsize

    @property
    def vectors_per_row(self) -> int:
        return self.spec.cols // self.schedule.vector

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """A thread's vectors: all of them if the row is resident, else the one of each turn."""
        return tuple(self._vector(i) for i in range(self._turns if self.schedule.resident else 1))

    @property
    def _turns(self) -> int:
        return -(-self.vectors_per_row // self.threads_per_row)

    @property
    def partial_vector(self) -> bool:
        """Whether only some threads have a last vector."""
        return bool(self.schedule.resident) and self.vectors_per_row % self.threads_per_row != 0

    @property
    def last_limit(self) -> int:
        """Threads whose first vector is below this have a last one."""
        return self.vectors_per_row - (self._turns - 1) * self.threads_per_row

    def _vector(self, index: int) -> Vector:
        width = self.schedule.vector
        partial = self.partial_vector and index == self._turns - 1
        return Vector(
            in_bytes=index * self.turn_bytes,
            out_bytes=index * self.out_turn_bytes,
            registers=tuple(f"x{index * width + j}" for j in range(width)),
            predicate="has_last" if partial else "in_matrix" if self.row_edge else "",
        )

    @property
    def turn_bytes(self) -> int:
        """From a thread's vector to its next."""
        return self.threads_per_row * self.vector_bytes

    @property
    def out_turn_bytes(self) -> int:
        return self.threads_per_row * self.out_vector_bytes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the header says about the schedule."""
        kept = "kept in registers" if self.schedule.resident else "read twice"
        ctas = f" in {self.cluster} CTAs" if self.cluster > 1 else ""
        return (f"{self.threads_per_row} threads{ctas} for each row, which is {kept}",)

    @property
    def cluster(self) -> int:
        """CTAs that share a row."""
        return cluster_of(self.schedule)

    @property
    def shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over the lanes of a warp that share a row."""
        lanes = min(self.threads_per_row, self.target.subgroup)
        return tuple(1 << bit for bit in reversed(range(base.log2(lanes))))

    @property
    def num_warps(self) -> int:
        return self.num_threads // self.target.subgroup

    @property
    def across_warps(self) -> bool:
        return self.threads_per_row > self.target.subgroup

    @property
    def warp_shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over one value per warp."""
        return tuple(1 << bit for bit in reversed(range(base.log2(self.num_warps))))

    @property
    def warp_mask(self) -> int:
        return self.num_warps - 1

    @property
    def partials(self) -> dict[str, int]:
        """Where each reduction keeps its value per warp; two places spare a barrier."""
        return {"max": 0, "add": self.num_warps * PARTIAL_BYTES}

    @property
    def cluster_partials(self) -> dict[str, int]:
        """The same per CTA of the cluster."""
        first = 2 * self.num_warps * PARTIAL_BYTES
        return {"max": first, "add": first + self.cluster * PARTIAL_BYTES}

    @property
    def cluster_shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over one value per CTA."""
        return tuple(1 << bit for bit in reversed(range(base.log2(self.cluster))))


def plan_softmax(spec: Softmax, target: Target, schedule: GpuSoftmax) -> SoftmaxPlan:
    """Raises ScheduleError if the vector does not divide a row or the row does not fit."""
    _check(spec, target, schedule)
    blocks = -(-spec.rows // schedule.rows_per_block)
    cluster = cluster_of(schedule)
    launch = Launch(
        entry_point=spec.key,
        grid=(blocks, 1, 1) if cluster == 1 else (cluster, spec.rows, 1),
        cluster=(cluster, 1, 1),
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(
            shape=(spec.rows, spec.cols),
            extent=(schedule.rows_per_block, spec.cols),
            axes=(0 if cluster == 1 else 1, -1),
        ),
    )
    across_warps = schedule.threads_per_row > target.subgroup
    partials = schedule.num_threads // target.subgroup + (cluster if cluster > 1 else 0)
    return SoftmaxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/softmax.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        shared_bytes=2 * PARTIAL_BYTES * partials if across_warps else 0,
        ptx_version=base.ptx_version(target, *(["clusters"] if cluster > 1 else [])),
    )


def cluster_of(schedule: GpuSoftmax) -> int:
    return schedule.cluster if isinstance(schedule, ClusterSoftmax) else 1


def widest_vector(spec: Softmax) -> int:
    """Elements of the widest access that keeps every row aligned on both sides."""
    widest = MAX_ACCESS_BYTES // max(spec.dtype.itemsize, spec.out.itemsize)
    while spec.cols % widest:
        widest //= 2
    return widest


def _check(spec: Softmax, target: Target, schedule: GpuSoftmax) -> None:
    cluster = cluster_of(schedule)
    fields = {name: getattr(schedule, name) for name in ("num_threads", "rows_per_block", "vector")}
    for name, value in (fields | {"cluster": cluster}).items():
        if value & (value - 1):
            raise ScheduleError(
                f"{name}={value} is not a power of two; try {1 << (value.bit_length() - 1)}"
            )
    if cluster > (MAX_CLUSTER if target.has("clusters") else 1):
        raise ScheduleError(
            f"cluster={cluster}: {target.name} takes up to "
            f"{MAX_CLUSTER if target.has('clusters') else 1}; try cluster=1"
        )
    if cluster > 1 and spec.rows > target.limits["grid_y"]:
        raise ScheduleError(
            f"cluster={cluster}: {spec.rows} rows of clusters are more than "
            f"{target.limits['grid_y']}; try cluster=1"
        )
    base.check_threads(schedule.num_threads, target, "num_threads=256")
    if schedule.vector > widest_vector(spec):
        raise ScheduleError(
            f"vector={schedule.vector} does not keep rows of {spec.cols} elements aligned; "
            f"try vector={widest_vector(spec)}"
        )
    if schedule.rows_per_block > 1 and schedule.threads_per_row > target.subgroup:
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} with num_threads={schedule.num_threads} "
            f"gives a row {schedule.threads_per_row} threads; rows share a block only with up to "
            f"{target.subgroup} each; try rows_per_block=1"
        )
    if schedule.resident:
        share = schedule.threads_per_row * schedule.vector
        held = -(-spec.cols // share) * schedule.vector
        base.check_registers(
            held, f"a resident row of {spec.cols}", schedule.num_threads, target, "resident=0"
        )
