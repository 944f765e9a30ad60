"""Relu: a stream of vectors, on bits."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GpuRelu
from kgen.spec import Relu
from kgen.targets.base import Target
from kgen.targets.vulkan.plan.base import (
    VulkanPlan,
    bits_of,
    check_powers_of_two,
    check_threads,
    check_vector,
    fold_grid,
    tensors,
)
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class ReluPlan(VulkanPlan):
    """Indices count vectors. `guarded`: some invocation has a vector beyond the last."""

    schedule: GpuRelu
    spec: Relu
    vectors: int
    folded: bool
    guarded: bool

    @property
    def block_vectors(self) -> int:
        return self.schedule.num_threads * self.schedule.unroll

    @property
    def accesses(self) -> tuple[tuple[int, int], ...]:
        """Each access of an invocation: its number, and how far from the first it is."""
        return tuple((u, u * self.num_threads) for u in range(self.schedule.unroll))

    @property
    def components(self) -> range:
        """Scalars of a vector."""
        return range(self.schedule.vector)

    @property
    def function(self) -> str:
        return f"relu_{self.spec.dtype}"


def plan_relu(spec: Relu, target: Target, schedule: GpuRelu) -> ReluPlan:
    """Raises ScheduleError if the schedule does not fit the shape or the target."""
    check_powers_of_two(schedule, "num_threads", "vector", "unroll")
    check_threads(schedule.num_threads, target, "num_threads=128")
    check_vector(schedule.vector, spec.elements, "elements")
    blocks = -(-spec.elements // schedule.block_elements)
    grid = fold_grid(blocks)
    covered = grid[0] * grid[1] * schedule.block_elements
    folded = grid[1] > 1
    bits = bits_of(spec.dtype)
    if covered >= 2**32:
        raise ScheduleError(
            f"the grid covers {covered} elements, and indices are 32-bit; "
            "try a smaller num_threads or unroll"
        )
    tile = Tile(shape=(spec.elements,), extent=(schedule.block_elements,), axes=(0,))
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=None if folded else tile,
    )
    return ReluPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="spirv/relu.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=tensors(spec, {"x": bits, "out": bits}, schedule.vector),
        functions=(f"relu_{spec.dtype}",),
        vectors=spec.elements // schedule.vector,
        folded=folded,
        guarded=covered != spec.elements,
    )
