"""Launch of a matmul by mma.sync: one block tile per CTA, split-k or stream-k."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import MmaMatmul, SplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.batch import refuse_batch_dims
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.contraction.raster import Raster
from kgen.targets.cuda.plan.cuda_plan import plan_launch
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.reduction.last_arriving import LastArriving, plan_last_arriving
from kgen.targets.cuda.plan.reduction.stream_k import StreamK, plan_stream
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen


@frozen
class Arrangement:
    """Launch, and the values by which its CTAs share block tiles. `shared_bytes` is all the shared
    memory of a CTA."""

    launch: Launch
    shared_bytes: int
    workspaces: tuple[Workspace, ...] = ()
    last_arriving: LastArriving | None = None
    stream: StreamK | None = None
    raster: Raster | None = None


def streams(schedule: MmaMatmul) -> bool:
    """Return whether CTAs share block tiles along k."""
    return isinstance(schedule, SplitMatmul) and schedule.stream_k


def ticket_bytes(schedule: MmaMatmul) -> int:
    """Return the bytes of shared memory, after the tiles, for the ticket that one thread draws for
    all."""
    return MAX_ACCESS_BYTES if streams(schedule) else 0


def arrange(
    spec: Matmul,
    target: Target,
    schedule: MmaMatmul,
    sums: PartialSums,
    k_tiles: int,
    shared_bytes: int,
) -> Arrangement:
    """Return the arrangement of a kernel that stores `spec`.

    `sums.threads` threads hold the accumulators; tiles take `shared_bytes` of shared memory. Raises
    ScheduleError if the schedule's kind of sharing is not possible.
    """
    if not (isinstance(schedule, SplitMatmul) and schedule.stream_k):
        _check_alone(schedule)
        launch = plan_launch(spec, schedule, sums.threads, shared_bytes, target)
        last_arriving = plan_last_arriving(schedule, sums, launch)
        if last_arriving is None:
            return Arrangement(launch=launch, shared_bytes=shared_bytes)
        return Arrangement(
            launch=last_arriving.launch(launch),
            shared_bytes=shared_bytes,
            workspaces=last_arriving.workspaces,
            last_arriving=last_arriving,
        )
    refuse_batch_dims(spec, "stream_k=1", "stream_k=0")
    raster = block_tiles(spec, schedule.block_m, schedule.block_n, group=schedule.group_m)
    stream = plan_stream(raster.total, k_tiles, schedule, sums)
    assert stream is not None
    shared_bytes += ticket_bytes(schedule)
    launch = plan_launch(spec, schedule, sums.threads, shared_bytes, target)
    return Arrangement(
        launch=stream.launch(launch, raster),
        shared_bytes=shared_bytes,
        workspaces=stream.workspaces,
        stream=stream,
        raster=raster,
    )


def _check_alone(schedule: MmaMatmul) -> None:
    if isinstance(schedule, SplitMatmul) and (schedule.num_workgroups or schedule.group_m > 1):
        raise ScheduleError(
            f"num_workgroups={schedule.num_workgroups} and group_m={schedule.group_m} need "
            "stream_k=1, where persistent CTAs share block tiles; try num_workgroups=0,group_m=1"
        )
