"""The launch of a product by warpgroups: clusters, and persistent CTAs."""

from __future__ import annotations

import dataclasses

from kgen.schedule import WgmmaMatmul
from kgen.targets.cuda.plan.reduction.stream_k import StreamK
from kgen.targets.raster import Raster
from kgen_runtime.manifest import Launch


def cluster_tile(schedule: WgmmaMatmul) -> tuple[int, int, int]:
    """Of the batch, rows and columns, what a cluster multiplies."""
    return 1, schedule.block_m * schedule.cluster_m, schedule.block_n * schedule.cluster_n


def arranged(
    launch: Launch,
    schedule: WgmmaMatmul,
    raster: Raster,
    arguments: tuple[str, ...],
    stream: StreamK | None,
) -> Launch:
    """The launch with its clusters, and with no more CTAs than persistent ones have tiles."""
    cluster = schedule.cluster
    if stream is not None:
        return stream.launch(dataclasses.replace(launch, arguments=arguments), raster)
    if schedule.num_workgroups:
        return dataclasses.replace(
            launch,
            grid=(min(schedule.num_workgroups, cluster * raster.total), 1, 1),
            cluster=(cluster, 1, 1),
            arguments=arguments,
            tile=raster.tile,
        )
    grid = (raster.cols * schedule.cluster_n, raster.rows * schedule.cluster_m, launch.grid[2])
    return dataclasses.replace(
        launch,
        grid=grid,
        cluster=(schedule.cluster_n, schedule.cluster_m, 1),
        arguments=arguments,
    )
