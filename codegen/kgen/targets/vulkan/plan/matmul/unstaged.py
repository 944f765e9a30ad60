"""Matmul by multiply-adds directly from the buffers, without staging in workgroup memory.

This suits skinny GEMMs (small M or N), whose invocations do not share loads, and CPUs, where
workgroup memory only duplicates cached data. `slices` parts of a workgroup process K-tiles of
block_k in turn; the first part adds the sums of all at the end.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import UnstagedMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.powers_of_two import check_powers_of_two, log2
from kgen.targets.vulkan.plan.checks import check_shared
from kgen.targets.vulkan.plan.matmul.matmul_plan import (
    MatmulPlan,
    check_grid,
    check_thread_tiles,
    common_fields,
    sides_of,
)
from kgen.targets.vulkan.plan.matmul.matrix import plan_matrix, refuse_guards
from kgen.targets.vulkan.plan.matmul.operand import TiledOperand
from kgen.targets.vulkan.plan.matmul.outputs import SumGroup, ThreadOutputs
from kgen.targets.vulkan.plan.memory import Shared
from kgen_runtime.values import frozen


@frozen
class EdgeAccess:
    """Position of an invocation's accesses along the edge: its number, and its distance from the
    first, in accesses."""

    number: int
    distance: int


@frozen
class TileLoad:
    """Load of a K-tile: position `edge` along the edge, `k` accesses along k after the K-tile's
    first.

    Its index is that of the first load plus `distance`.
    """

    edge: int
    k: int
    distance: int

    @property
    def name(self) -> str:
        return f"{self.edge}_k{self.k}"


@frozen
class UnstagedOperand(TiledOperand):
    """Operand A or B, of which each invocation loads the elements that it multiplies."""

    @property
    def edge_thread(self) -> int:
        """Accesses along the edge from an invocation's first to its neighbour's first."""
        return self.side.group // self.matrix.edge_width

    @property
    def edge_accesses(self) -> tuple[EdgeAccess, ...]:
        width = self.matrix.edge_width
        return tuple(
            EdgeAccess(number=i // width, distance=distance // width)
            for i, distance in self.side.values
            if i % width == 0
        )

    def loads(self, steps: int) -> tuple[TileLoad, ...]:
        """Return the loads of a K-tile of `steps` steps."""
        matrix = self.matrix
        return tuple(
            TileLoad(
                edge=access.number,
                k=k,
                distance=matrix.access.offset(0, k * matrix.k_width) // matrix.width,
            )
            for k in range(steps // matrix.k_width)
            for access in self.edge_accesses
        )

    @property
    def as_loaded(self) -> bool:
        """Whether an access is a group of f32, which is multiplied without conversion."""
        tensor = self.matrix.tensor
        return (
            self.edge == "n"
            and not self.matrix.k_inner
            and tensor.scalar == "float"
            and tensor.width == self.side.group
        )

    def load(self, stem: str, number: int, step: int) -> str:
        """Return the id of the access with value `number` along the edge at a step."""
        edge, k = number // self.matrix.edge_width, step // self.matrix.k_width
        return f"{stem}_{self.name}{edge}_k{k}"

    def value(self, stem: str, number: int, step: int) -> str:
        """Return the id of value `number` along the edge at a step."""
        element = (step if self.matrix.k_inner else number) % self.matrix.width
        return f"{self.load(stem, number, step)}_{element}"


@frozen
class UnstagedPhase:
    """Phase of K-tiles of `steps` steps; its ids begin with `name`, those of its initial
    accumulators with `before`."""

    name: str
    steps: int
    before: str | None


@frozen
class UnstagedPlan(MatmulPlan):
    schedule: UnstagedMatmul
    a: UnstagedOperand
    b: UnstagedOperand

    @property
    def notes(self) -> tuple[str, ...]:
        found = (self.k_note, self.invocations_note)
        slices = f"split-k within the workgroup: {self.schedule.slices} slices"
        return (*found, slices) if self.split else found

    @property
    def split(self) -> bool:
        return self.schedule.slices > 1

    # Work of an invocation

    @property
    def slices_inside(self) -> bool:
        """Whether neighbouring invocations belong to neighbouring slices. Their reads are
        contiguous if the larger operand is contiguous along k."""
        larger = max(self.b, self.a, key=lambda operand: operand.matrix.access.rows)
        return self.split and larger.matrix.k_inner

    @property
    def slice_mask(self) -> int:
        return self.schedule.slices - 1

    @property
    def slice_log2(self) -> int:
        return log2(self.schedule.slices)

    @property
    def tile_threads(self) -> int:
        """Number of invocations of a slice."""
        return self.outputs.m.threads * self.outputs.n.threads

    @property
    def tile_log2(self) -> int:
        return log2(self.tile_threads)

    @property
    def tile_mask(self) -> int:
        return self.tile_threads - 1

    # K

    @property
    def first_k_tile(self) -> str:
        """Id of the first K-tile's number."""
        return "slice" if self.split else "uint_0"

    @property
    def k_tiles(self) -> int:
        return self.spec.k // self.schedule.block_k

    @property
    def main(self) -> UnstagedPhase | None:
        """Loop over whole K-tiles; None if K has none."""
        if self.k_tiles == 0:
            return None
        return UnstagedPhase(name="main", steps=self.schedule.block_k, before="acc")

    @property
    def tail(self) -> UnstagedPhase | None:
        """Partial K-tile; None if there is none."""
        steps = self.spec.k % self.schedule.block_k
        if steps == 0:
            return None
        return UnstagedPhase(name="tail", steps=steps, before="acc" if self.main else None)

    def before(self, phase: UnstagedPhase, step: int, sum: SumGroup) -> str:
        """Return the id of an accumulator before a step."""
        if step:
            return f"{phase.name}_total{step - 1}_{sum.name}"
        return f"{phase.before}_{sum.name}" if phase.before else self.outputs.zero

    def after(self, phase: UnstagedPhase, step: int, sum: SumGroup) -> str:
        last = step == phase.steps - 1
        return f"{phase.name}_total{'' if last else step}_{sum.name}"

    # Operands of a step

    @property
    def gathers(self) -> bool:
        """Whether groups of columns are composed of single values."""
        return self.outputs.is_vector and not self.b.as_loaded

    def row(self, phase: UnstagedPhase, m: int, step: int) -> str:
        """Return the id of a value of A, broadcast to a group of columns."""
        value = self.a.value(phase.name, m, step)
        return f"{phase.name}_m{m}_k{step}" if self.outputs.is_vector else value

    def column(self, phase: UnstagedPhase, n: int, step: int) -> str:
        """Return the id of a group of columns of B."""
        first = n * self.outputs.n.group
        if self.b.as_loaded:
            return self.b.load(phase.name, first, step)
        if self.gathers:
            return f"{phase.name}_n{n}_k{step}"
        return self.b.value(phase.name, first, step)

    def members(self, phase: UnstagedPhase, n: int, step: int) -> tuple[str, ...]:
        """Return the ids of a group's values."""
        first = n * self.outputs.n.group
        return tuple(self.b.value(phase.name, first + i, step) for i in self.outputs.n.members)

    @property
    def slice_totals(self) -> str:
        """Prefix of a slice's final accumulators."""
        if self.tail is None:
            return "acc"
        return "slice_total" if self.split else "tail_total"

    def skipped(self, sum: SumGroup) -> str:
        """Return the id of an accumulator in slices that have no part of the partial K-tile."""
        return f"acc_{sum.name}" if self.main else self.outputs.zero

    @property
    def totals(self) -> str:
        return "total" if self.split else self.slice_totals

    # Partial sums of slices

    def partial(self, number: int) -> int:
        """Return the offset in workgroup memory of the accumulators with a number."""
        return number * self.num_threads


def plan_unstaged(spec: Matmul, target: Target, schedule: UnstagedMatmul) -> UnstagedPlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the target."""
    _check(spec, target, schedule)
    a, b = (
        _operand(spec, target, schedule, access, side)
        for access, side in zip(access_maps(spec), sides_of(spec, schedule), strict=True)
    )
    fields = common_fields(spec, target, schedule, (a, b))
    partials = Shared(
        name="partials",
        scalar="float",
        vector=b.side.group,
        length=schedule.num_threads * len(fields["outputs"].sums),
    )
    shared = (partials,) if schedule.slices > 1 else ()
    plan = UnstagedPlan(template="spirv/matmul_unstaged.spvasm.j2", shared=shared, **fields)
    check_shared(plan, "slices")
    return plan


def _operand(
    spec: Matmul, target: Target, schedule: UnstagedMatmul, access: AccessMap, side: ThreadOutputs
) -> UnstagedOperand:
    most = schedule.block_k if access.inner == "k" else side.group
    return UnstagedOperand(
        matrix=plan_matrix(spec, target, access, most), side=side, block_k=schedule.block_k
    )


def _check(spec: Matmul, target: Target, schedule: UnstagedMatmul) -> None:
    refuse_guards(spec, schedule)
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "thread_m", "thread_n", "slices")
    if schedule.num_stages != 1:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 1; mainloop=unstaged uses no workgroup "
            "memory; try num_stages=1"
        )
    check_thread_tiles(schedule, target)
    check_grid(spec, target, schedule)
