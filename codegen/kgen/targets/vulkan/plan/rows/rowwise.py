"""Row-wise kernels: a group of invocations holds a row, or reads it again in each phase."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import GpuRows
from kgen.spec import Rowwise
from kgen.targets.base import Target, launch_of
from kgen.targets.header import counted
from kgen.targets.powers_of_two import check_powers_of_two, log2
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import tile_of, walked_itemsize, widest_vector
from kgen.targets.vulkan.expressions import SpirvRenderer, SpirvWholeRenderer
from kgen.targets.vulkan.limits import SHUFFLE
from kgen.targets.vulkan.plan.checks import check_threads
from kgen.targets.vulkan.plan.elementwise import Conversion, conversions
from kgen.targets.vulkan.plan.memory import VECTOR_WIDTHS, WORD, Shared, Tensor, buffer_of
from kgen.targets.vulkan.plan.rows.phases import (
    EXCHANGE_BUFFERS,
    LaneFold,
    PhasePlan,
    RowPhases,
    RowRenderer,
)
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan, fold_grid
from kgen_runtime.values import frozen

#: Lanes of the largest subgroup of any device (Vulkan 1.3, "Limits", maxSubgroupSize).
LARGEST_SUBGROUP = 128
#: Most scalars of a row that an invocation holds; more would spill.
MAX_RESIDENT = 64


@frozen
class RowwisePlan(VulkanPlan):
    schedule: GpuRows
    spec: Rowwise
    row: RowPlan
    renderer: RowRenderer
    folded: bool
    guarded: bool

    @property
    def notes(self) -> tuple[str, ...]:
        lanes = counted(self.lanes, "invocation")
        return (self.row.note(lanes, is_resident=bool(self.schedule.resident)),)

    # -- a row's invocations -------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """Invocations of one row."""
        return self.row.lanes

    @property
    def interleaved(self) -> bool:
        """Whether neighbouring invocations have neighbouring rows."""
        return False

    @property
    def lane_mask(self) -> int:
        return self.lanes - 1

    @property
    def lane_bits(self) -> int:
        return log2(self.lanes)

    @property
    def distances(self) -> tuple[int, ...]:
        """Distances between the invocations of a row that exchange values, step by step."""
        return tuple(1 << bit for bit in range(self.lane_bits))

    @property
    def shuffles(self) -> bool:
        """Whether lanes exchange values by shuffles. That requires full subgroups, so a workgroup
        of at least the largest subgroup."""
        has_folds = bool(self.shared) and self.num_threads >= LARGEST_SUBGROUP
        return self.target.has(SHUFFLE) and has_folds

    @property
    def nearest(self) -> int:
        """Distance from a lane of a row to the next one."""
        return self.distances[0]

    @property
    def row_reach(self) -> int:
        """Number of consecutive invocations that holds all lanes of a row, a power of two."""
        return 2 * self.distances[-1]

    @property
    def other_rows(self) -> str:
        """Id of the mask of an invocation's number that selects the row."""
        return f"uint_0x{-self.row_reach % 2**32:x}"

    @property
    def fold_type(self) -> str:
        """Type of a function with an invocation's number and value as parameters."""
        return "uint_from_2_uint" if self.on_integers else "float_from_uint_float"

    @property
    def folds(self) -> tuple[LaneFold, ...]:
        """Folds over the lanes of a row that are functions of the module."""
        return tuple(fold for each in self.phases for fold in each.lane_folds)

    @property
    def last_row(self) -> int:
        return self.spec.rows - 1

    @property
    def row_read(self) -> str:
        """Id of the row that is read: the last row if the invocation's own does not exist."""
        return "row_read" if self.guarded else "row"

    @cached_property
    def row_phases(self) -> RowPhases:
        return RowPhases(
            row=self.row,
            renderer=self.renderer,
            tensors={tensor.name: tensor for tensor in self.tensors},
            resident=bool(self.schedule.resident),
            row_read=self.row_read,
            distances=self.distances,
            shuffles=self.shuffles,
        )

    @property
    def on_integers(self) -> bool:
        return self.renderer.computes_in.is_integer

    @property
    def number(self) -> str:
        """Type of the values that the kernel computes with."""
        return self.renderer.scalar

    def conversions(self, tensor: Tensor) -> tuple[Conversion, ...]:
        """Return the functions between the tensor's stored bits and the values computed with."""
        return conversions(tensor, self.renderer)

    @property
    def phases(self) -> tuple[PhasePlan, ...]:
        return self.row_phases.made

    @property
    def ordered(self) -> tuple[str, ...]:
        return tuple(result for each in self.phases for result in each.ordered)


def plan_rowwise(
    spec: Rowwise, target: Target, schedule: GpuRows, kind: type[RowwisePlan] = RowwisePlan
) -> RowwisePlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the shapes or the
    target."""
    check_powers_of_two(schedule, "num_threads", "rows_per_block", "vector")
    check_threads(schedule.num_threads, target, "num_threads=128")
    renderer = SpirvWholeRenderer() if spec.compute.is_integer else SpirvRenderer()
    row = RowPlan(
        spec=spec, vector=schedule.vector, lanes=schedule.threads_per_row, native=renderer.native
    )
    _check(row, target, schedule)
    grid = fold_grid(-(-spec.rows // schedule.rows_per_block))
    folded = grid[1] > 1
    tile = None if folded else tile_of(spec, schedule.rows_per_block)
    launch = launch_of(spec, grid, schedule.num_threads, tile)
    buffers = tuple(_buffers(row, target))
    needed = [each.name for buffer in buffers for each in conversions(buffer, renderer)]
    exchange = tuple(
        Shared(name=f"exchange{i}", scalar=renderer.scalar, length=schedule.num_threads)
        for i in range(EXCHANGE_BUFFERS)
    )
    identities = map(row.identity, row.folds)
    return kind(
        spec=spec,
        target=target,
        schedule=schedule,
        row=row,
        renderer=renderer,
        template=f"spirv/rowwise_{'resident' if schedule.resident else 'stream'}.spvasm.j2",
        launches=(launch,),
        num_threads=schedule.num_threads,
        tensors=buffers,
        shared=exchange if row.folds and row.lanes > 1 else (),
        functions=tuple(dict.fromkeys([*needed, *renderer.functions(*row.results)])),
        constants=renderer.constants(*row.results, further=identities),
        folded=folded,
        guarded=grid[0] * grid[1] * schedule.rows_per_block != spec.rows,
    )


def vector_of(spec: Rowwise) -> int:
    """Return the widest vector that divides every row of these shapes; one element if a tensor that
    is read by vectors has elements of two words."""
    return 1 if walked_itemsize(spec) > WORD else widest_vector(spec, VECTOR_WIDTHS[0])


def fewest_lanes(row: RowPlan) -> int:
    """Return the least number of lanes of a row: two if a row has only one value.

    Its folds then come from another lane. Otherwise drivers would see a value minus its own maximum
    and replace it by 0, even if it is NaN or infinite.
    """
    alone = row.spec.cols == 1 or any(row.is_of_row(fold.argument) for fold in row.folds)
    return 2 if row.folds and alone else 1


def _buffers(row: RowPlan, target: Target) -> Iterator[Tensor]:
    """Yield the buffers, as tensors of bits. A tensor is read by scalars if a row or a vector has a
    single element of it."""
    single = {i.tensor for i in row.inputs if i.columns is None or i.columns.single}
    single |= {of.name for of in row.reduced_outputs}
    for binding, p in enumerate(row.spec.parameters):
        yield buffer_of(p, binding, target, 1 if p.name in single else row.vector)


def _check(row: RowPlan, target: Target, schedule: GpuRows) -> None:
    widest = vector_of(row.spec)
    if schedule.vector > widest:
        raise ScheduleError(
            f"vector={schedule.vector} is more than {widest}: an access has at most "
            f"{VECTOR_WIDTHS[0]} elements and divides a row of each input; try vector={widest}"
        )
    if row.lanes < fewest_lanes(row):
        half = schedule.num_threads // 2
        remedy = f"rows_per_block={half}" if half else "num_threads=2"
        raise ScheduleError(
            f"rows_per_block={schedule.rows_per_block} gives a row of one value a single "
            f"invocation, and some drivers then lose a NaN; try {remedy}"
        )
    # Vectors are unrolled even if nothing is kept from phase to phase.
    held = row.turns * row.vector * max(1, row.values_kept)
    if schedule.resident and held > MAX_RESIDENT:
        raise ScheduleError(
            f"resident=1 keeps {held} values of a row of {row.spec.cols} in each invocation; the "
            f"limit is {MAX_RESIDENT}; try resident=0"
        )
