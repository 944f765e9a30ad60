"""Softmax and log-softmax: a row per group of invocations, maximum, sum and output one by one."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GpuSoftmax
from kgen.spec import Softmax
from kgen.targets.base import Target
from kgen.targets.vulkan.plan.base import (
    Shared,
    VulkanPlan,
    bits_of,
    check_powers_of_two,
    check_threads,
    check_vector,
    fold_grid,
    log2,
    tensors,
)
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: Scalars of a row that an invocation may hold; drivers spill what does not fit in registers.
MAX_RESIDENT = 64
#: Two, so that one barrier per exchange is enough: the next one writes where nobody reads.
EXCHANGE_BUFFERS = 2


@frozen
class Exchange:
    """A step of a reduction: every invocation combines its value with the one `distance` away."""

    index: int
    distance: int
    buffer: int


@frozen
class Piece:
    """A vector that an invocation holds: its place in the row from the invocation's first.

    `guarded`: some invocations have none there.
    """

    index: int
    offset: int
    guarded: bool


@frozen
class SoftmaxPlan(VulkanPlan):
    """Indices count vectors; `row_vectors` of them make a row."""

    schedule: GpuSoftmax
    spec: Softmax
    folded: bool
    guarded: bool

    @property
    def notes(self) -> tuple[str, ...]:
        return ("a row with NaN or +inf, or only -inf, is NaN: the maximum is taken on integers",)

    @property
    def lanes(self) -> int:
        """Invocations of one row."""
        return self.schedule.threads_per_row

    @property
    def lane_mask(self) -> int:
        return self.lanes - 1

    @property
    def lane_bits(self) -> int:
        return log2(self.lanes)

    @property
    def row_vectors(self) -> int:
        return self.spec.cols // self.schedule.vector

    @property
    def last_row(self) -> int:
        return self.spec.rows - 1

    @property
    def components(self) -> range:
        """Scalars of a vector."""
        return range(self.schedule.vector)

    @property
    def widens(self) -> bool:
        return self.tensor("x").scalar == "ushort"

    @property
    def narrows(self) -> bool:
        return self.tensor("out").scalar == "ushort"

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What an invocation holds of a resident row."""
        return tuple(
            Piece(index=index, offset=offset, guarded=offset + self.lanes > self.row_vectors)
            for index, offset in enumerate(range(0, self.row_vectors, self.lanes))
        )

    def exchanges(self, reduction: int) -> tuple[Exchange, ...]:
        """The steps of the first (0) or second (1) reduction over a row's invocations."""
        first = reduction * self.lane_bits
        return tuple(
            Exchange(index=i, distance=1 << i, buffer=(first + i) % EXCHANGE_BUFFERS)
            for i in range(self.lane_bits)
        )


def plan_softmax(spec: Softmax, target: Target, schedule: GpuSoftmax) -> SoftmaxPlan:
    """Raises ScheduleError if the schedule does not fit the shape or the target."""
    _check(spec, target, schedule)
    grid = fold_grid(-(-spec.rows // schedule.rows_per_block))
    folded = grid[1] > 1
    tile = Tile(
        shape=(spec.rows, spec.cols), extent=(schedule.rows_per_block, spec.cols), axes=(0, -1)
    )
    launch = Launch(
        entry_point=spec.key,
        grid=grid,
        block=(schedule.num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=None if folded else tile,
    )
    buffers = tensors(spec, {"x": bits_of(spec.dtype), "out": bits_of(spec.out)}, schedule.vector)
    conversions = tuple(
        f"{'widen' if t.read_only else 'narrow'}_{t.dtype}" for t in buffers if t.scalar == "ushort"
    )
    exchange = tuple(
        Shared(name=f"exchange{i}", element="uint", length=schedule.num_threads)
        for i in range(EXCHANGE_BUFFERS)
    )
    name = "softmax_resident" if schedule.resident else "softmax_stream"
    return SoftmaxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template=f"spirv/{name}.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=buffers,
        shared=exchange if schedule.threads_per_row > 1 else (),
        functions=(*conversions, "ordered", "unordered"),
        folded=folded,
        guarded=grid[0] * grid[1] * schedule.rows_per_block != spec.rows,
    )


def _check(spec: Softmax, target: Target, schedule: GpuSoftmax) -> None:
    check_powers_of_two(schedule, "num_threads", "rows_per_block", "vector")
    check_threads(schedule.num_threads, target, "num_threads=128")
    check_vector(schedule.vector, spec.cols, "columns")
    held = -(-spec.cols // (schedule.threads_per_row * schedule.vector)) * schedule.vector
    if schedule.resident and held > MAX_RESIDENT:
        raise ScheduleError(
            f"resident=1 makes an invocation hold {held} elements of a row of {spec.cols}; "
            f"{target.name} kernels hold up to {MAX_RESIDENT}; try resident=0"
        )
