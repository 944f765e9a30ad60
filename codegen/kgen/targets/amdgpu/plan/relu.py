"""Relu: a packed tensor as one stream of elements."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GpuRelu
from kgen.spec import Relu
from kgen.targets.amdgpu.plan.banks import WIDEST
from kgen.targets.amdgpu.plan.base import AmdgpuPlan, check_grid, check_num_threads
from kgen.targets.base import Target
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class ReluPlan(AmdgpuPlan):
    """Whole vectors first, then what is left of the tensor element by element."""

    spec: Relu
    schedule: GpuRelu

    @property
    def vector(self) -> FloatType:
        return FloatType(dtype=self.spec.dtype, lanes=self.schedule.vector)

    @property
    def scalar(self) -> FloatType:
        return FloatType(dtype=self.spec.dtype)

    @property
    def accesses(self) -> tuple[int, ...]:
        """The first thread's vectors in the workgroup's block; thread t has each of them plus t."""
        return tuple(range(0, self.block_vectors, self.threads))

    @property
    def block_vectors(self) -> int:
        return self.threads * self.schedule.unroll

    @property
    def vectors(self) -> int:
        """Whole vectors in the tensor."""
        return self.spec.elements // self.schedule.vector

    @property
    def guarded(self) -> bool:
        """The last workgroup has fewer vectors than threads and accesses for them.

        It may have none, only the rest.
        """
        return self.vectors != self.launches[0].grid[0] * self.block_vectors

    @property
    def rest(self) -> int:
        """Elements behind the last whole vector; the last workgroup does them."""
        return self.spec.elements % self.schedule.vector

    @property
    def rest_start(self) -> int:
        return self.spec.elements - self.rest

    @property
    def last_block(self) -> int:
        return self.launches[0].grid[0] - 1


def plan(spec: Relu, target: Target, schedule: GpuRelu) -> ReluPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    check_num_threads(target, schedule.num_threads)
    limit = WIDEST // spec.dtype.itemsize
    if schedule.vector > limit or schedule.vector & (schedule.vector - 1):
        raise ScheduleError(
            f"vector={schedule.vector} elements of {spec.dtype} are no access that {target.name} "
            f"has; it has powers of two up to {WIDEST} B; try vector={limit}"
        )
    if schedule.num_threads < schedule.vector:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} cannot do the rest of a vector={schedule.vector} "
            f"at once; try num_threads={target.subgroup}"
        )
    grid = (-(-spec.elements // schedule.block_elements), 1, 1)
    check_grid(grid, schedule.num_threads, target, f"unroll={schedule.unroll * 2}")
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.elements,), extent=(schedule.block_elements,), axes=(0,)),
    )
    return ReluPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/relu.ll.j2",
        launches=(launch,),
    )
