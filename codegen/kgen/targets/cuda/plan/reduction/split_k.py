"""Matmul with split-k, for outputs too small to fill the GPU with CTAs.

The slices of K are a batch of products. The kernel that multiplies them is an ordinary one that
stores partial sums in a workspace. A second kernel adds them in a fixed order and applies the
epilogue; or the first kernel does both (last_arriving.py). Past the end of K, the last slice reads
zeros.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import SplitFmaMatmul, WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.partial_sums import PARTS
from kgen.targets.cuda.plan.cuda_plan import ptx_version
from kgen.targets.cuda.plan.epilogue.output import OutputPlan
from kgen.targets.cuda.plan.matmul_fma import FmaPlan, plan_fma
from kgen.targets.cuda.plan.matrix import MAX_IMMEDIATE
from kgen.targets.cuda.plan.mma.matmul import MmaPlan, plan_mma
from kgen.targets.cuda.plan.reduction.joined_outputs import JoinedOutputs, share_outputs
from kgen.targets.cuda.plan.reduction.k_slices import (
    F32_BYTES,
    SplitSchedule,
    part_spec,
    part_tiles,
)
from kgen.targets.cuda.plan.reduction.last_arriving import is_last_arriving
from kgen.targets.cuda.plan.reduction.two_kernels import TwoKernelPlan
from kgen.targets.cuda.plan.wgmma.matmul import WgmmaPlan, plan_wgmma
from kgen_runtime.manifest import Workspace
from kgen_runtime.values import frozen

#: Plans of kernels that multiply slices.
PartPlan = MmaPlan | FmaPlan | WgmmaPlan


@frozen
class PartLoad:
    """Load of one part of a thread's outputs into registers, `offset` from its first part."""

    offset: int
    registers: tuple[str, ...]


@frozen
class Addition:
    """Addition of registers: `to` becomes `before` + `value`."""

    to: str
    before: str
    value: str


@frozen
class ReductionPlan(OutputPlan):
    """Plan of the second kernel, whose threads add the parts of their outputs."""

    spec: Matmul
    schedule: SplitSchedule
    threads: JoinedOutputs

    @property
    def accumulators(self) -> tuple[str, ...]:
        return self.output.accumulators(self.output.rows[0])

    @property
    def matrix_bytes(self) -> int:
        """Bytes from a matrix's first part to that of the next matrix of the batch."""
        return _parts_bytes(self.spec, self.schedule)

    @property
    def parts(self) -> tuple[PartLoad, ...]:
        size = self.spec.m * self.spec.n * F32_BYTES
        return tuple(
            PartLoad(offset=part * size, registers=self._registers(part))
            for part in range(self.schedule.split_k)
        )

    def _registers(self, part: int) -> tuple[str, ...]:
        return tuple(f"part{part}_n{i}" for i in range(self.threads.width))

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Additions in order of k, first part to last."""
        sums = self._registers(0)
        found = []
        for part in range(1, self.schedule.split_k):
            for to, before, value in zip(
                self.accumulators, sums, self._registers(part), strict=True
            ):
                found.append(Addition(to=to, before=before, value=value))
            sums = self.accumulators
        return tuple(found)


@frozen
class SplitPlan(TwoKernelPlan):
    """Plan of both kernels."""

    spec: Matmul
    schedule: SplitSchedule
    part: PartPlan
    reduction: ReductionPlan

    @property
    def part_library(self) -> str:
        """Macro library of the first kernel."""
        return f"ptx/lib/matmul/{self.schedule.mainloop}_kernel.j2"

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"split-k: {self.schedule.split_k} slices of {self.part.spec.k}, one per grid z"
            f"{' and matrix' if self.spec.batch > 1 else ''}; partial sums in workspace parts",
            *self.part.notes,
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on how operands are copied to shared memory, and how parts are added."""
        split = self.schedule.split_k
        return (*self.part.remarks, f"split-k: {split} slices, added in order by a second kernel")


def plan_split(spec: Matmul, target: Target, schedule: SplitSchedule) -> SplitPlan:
    """Return the plan. Raises ScheduleError if k has fewer slices than `split_k`, or a slice does
    not fit the target."""
    _check(spec, schedule)
    part = _plan_part(spec, target, schedule)
    launch = dataclasses.replace(part.launches[0], entry_point=f"{spec.key}_parts")
    # One module has both kernels, and only the second converts to the output's type.
    version = max(part.ptx_version, ptx_version(target, spec))
    reduction = _plan_reduction(spec, target, schedule, version)
    tile = launch.tile
    assert tile is not None
    order = [p.name for p in spec.parameters]
    operands = sorted(launch.arguments[:-1], key=lambda n: order.index(n) if n in order else -1)
    launch = dataclasses.replace(launch, arguments=(*operands, launch.arguments[-1]))
    part = dataclasses.replace(part, launches=(launch,))
    to_workspace = dataclasses.replace(
        launch,
        arguments=(*operands, PARTS),
        tile=dataclasses.replace(tile, shape=(spec.batch, spec.m, spec.n), parts=schedule.split_k),
    )
    return SplitPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_split.ptx.j2",
        launches=(to_workspace, *reduction.launches),
        workspaces=(Workspace(name=PARTS, nbytes=spec.batch * _parts_bytes(spec, schedule)),),
        tensor_maps=part.tensor_maps,
        num_threads=part.num_threads,
        shared_bytes=part.shared_bytes,
        ptx_version=version,
        part=part,
        reduction=reduction,
    )


def plan_one_kernel(spec: Matmul, target: Target, schedule: SplitSchedule) -> PartPlan:
    """Plan one kernel that multiplies parts and adds them. Raises as `plan_split` does."""
    _check(spec, schedule)
    return _plan_part(spec, target, schedule)


def _plan_part(spec: Matmul, target: Target, schedule: SplitSchedule) -> PartPlan:
    part = part_spec(spec, schedule)
    if isinstance(schedule, WgmmaMatmul):
        return plan_wgmma(part, target, schedule, whole=spec)
    if isinstance(schedule, SplitFmaMatmul):
        return plan_fma(part, target, schedule, whole=spec)
    return plan_mma(part, target, schedule, whole=spec)


def _parts_bytes(spec: Matmul, schedule: SplitSchedule) -> int:
    """Bytes of the partial sums of one matrix."""
    return schedule.split_k * spec.m * spec.n * F32_BYTES


def _plan_reduction(
    spec: Matmul, target: Target, schedule: SplitSchedule, version: int
) -> ReductionPlan:
    threads = share_outputs(spec)
    names = [p.name for p in spec.parameters if p.name not in ("a", "b")]
    return ReductionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_split.ptx.j2",
        launches=(threads.launch(spec.key, (PARTS, *names)),),
        num_threads=threads.num_threads,
        ptx_version=version,
        threads=threads,
        output=threads.tile,
    )


def _check(spec: Matmul, schedule: SplitSchedule) -> None:
    split, each = schedule.split_k, part_tiles(spec, schedule)
    tiles = -(-spec.k // schedule.block_k)
    filled = -(-tiles // each)
    if split > filled:
        raise ScheduleError(
            f"split_k={split} leaves slices of k={spec.k} empty: {tiles} K-tiles of "
            f"block_k={schedule.block_k}, {each} to a slice, fill {filled}; try split_k={filled}"
        )
    if isinstance(schedule, WgmmaMatmul) and schedule.num_workgroups:
        raise ScheduleError(
            f"split_k={split} gives each slice a CTA of its own, and "
            f"num_workgroups={schedule.num_workgroups} asks for persistent CTAs; "
            "try num_workgroups=0,group_m=1"
        )
    if (needed := _parts_bytes(spec, schedule)) > MAX_IMMEDIATE and not is_last_arriving(schedule):
        raise ScheduleError(
            f"split_k={split} needs {needed} B of workspace per matrix; the limit is "
            f"{MAX_IMMEDIATE} B; try split_k={max(1, split * MAX_IMMEDIATE // needed)}"
        )
