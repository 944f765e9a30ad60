"""Relu: a stream over packed elements, in vectors, with a scalar tail."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GpuRelu
from kgen.spec import Relu
from kgen.targets.base import Target
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class Access:
    """One vector of a thread: how many vectors and bytes after its first, and its registers."""

    index: int
    vectors: int
    nbytes: int
    words: tuple[str, ...]
    guard: str


@frozen
class ReluPlan(base.CudaPlan):
    spec: Relu
    schedule: GpuRelu

    @property
    def vector_bytes(self) -> int:
        return self.schedule.vector * self.spec.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        return self.schedule.block_elements * self.spec.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.spec.dtype.itemsize

    @property
    def item_type(self) -> str:
        """The register type of one element."""
        return f"b{8 * self.itemsize}"

    @property
    def words(self) -> int:
        """Registers per vector."""
        return max(1, self.vector_bytes // 4)

    @property
    def word_type(self) -> str:
        return "b32" if self.vector_bytes >= 4 else "b16"

    @property
    def paired(self) -> bool:
        """Whether a register holds two elements."""
        return self.itemsize == 2 and self.word_type == "b32"

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(self._access(i) for i in range(self.schedule.unroll))

    def _access(self, index: int) -> Access:
        vectors = index * self.num_threads
        return Access(
            index=index,
            vectors=vectors,
            nbytes=vectors * self.vector_bytes,
            words=tuple(f"x{index}_{word}" for word in range(self.words)),
            guard=f"@%inside{index} " if self.guarded else "",
        )

    @property
    def vectors(self) -> int:
        """Whole vectors in the tensor."""
        return self.spec.elements // self.schedule.vector

    @property
    def block_vectors(self) -> int:
        return self.num_threads * self.schedule.unroll

    @property
    def guarded(self) -> bool:
        """Whether the last CTA has fewer vectors than its threads could take."""
        return self.vectors != (self.last_block + 1) * self.block_vectors

    @property
    def tail(self) -> int:
        """Elements after the last whole vector; the last CTA takes one per thread."""
        return self.spec.elements % self.schedule.vector

    @property
    def tail_bytes(self) -> int:
        """Where the tail starts."""
        return self.vectors * self.vector_bytes

    @property
    def last_block(self) -> int:
        return self.launches[0].grid[0] - 1


def plan_relu(spec: Relu, target: Target, schedule: GpuRelu) -> ReluPlan:
    """Raises ScheduleError if a vector is no legal access or the grid is too long."""
    base.check_powers_of_two(schedule)
    base.check_threads(schedule.num_threads, target, "num_threads=256")
    widest = MAX_ACCESS_BYTES // spec.dtype.itemsize
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} of {spec.dtype} is more than the {MAX_ACCESS_BYTES} bytes "
            f"of one access; try vector={widest}"
        )
    blocks = -(-spec.elements // schedule.block_elements)
    limit = target.limits["grid_x"]
    if blocks > limit:
        raise ScheduleError(
            f"num_threads={schedule.num_threads} x vector={schedule.vector} x "
            f"unroll={schedule.unroll} needs {blocks} blocks; {target.name} allows {limit}; "
            f"try unroll={schedule.unroll << (blocks // limit).bit_length()}"
        )
    launch = Launch(
        entry_point=spec.key,
        grid=(blocks, 1, 1),
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=Tile(shape=(spec.elements,), extent=(schedule.block_elements,), axes=(0,)),
    )
    features = ["max_nan"] if target.has("max_nan") else []
    return ReluPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/relu.ptx.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        ptx_version=base.ptx_version(target, *features),
    )
