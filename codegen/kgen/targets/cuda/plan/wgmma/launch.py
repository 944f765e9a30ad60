"""The launch of a product by warpgroups: clusters, and persistent CTAs."""

from __future__ import annotations

import dataclasses

from kgen.schedule import WgmmaMatmul
from kgen.targets.contraction.grid import numbered
from kgen.targets.contraction.raster import Raster
from kgen.targets.cuda.plan.reduction.stream_k import StreamK
from kgen_runtime.manifest import Launch


def cluster_tile(schedule: WgmmaMatmul) -> tuple[int, int]:
    """Return the rows and columns of the output that a cluster computes."""
    return schedule.block_m * schedule.cluster_m, schedule.block_n * schedule.cluster_n


def arranged(
    launch: Launch,
    schedule: WgmmaMatmul,
    raster: Raster,
    arguments: tuple[str, ...],
    stream: StreamK | None,
) -> Launch:
    """Return the launch with clusters, and with at most as many persistent CTAs as block tiles."""
    launch = dataclasses.replace(launch, arguments=arguments)
    cluster, count = schedule.cluster, schedule.num_workgroups
    if stream is not None:
        return stream.launch(launch, raster)
    if count:
        launch = numbered(launch, raster, min(count, cluster * raster.total))
        return dataclasses.replace(launch, cluster=(cluster, 1, 1))
    return dataclasses.replace(
        launch,
        grid=(raster.cols * schedule.cluster_n, raster.rows * schedule.cluster_m, raster.batch),
        cluster=(schedule.cluster_n, schedule.cluster_m, 1),
    )
