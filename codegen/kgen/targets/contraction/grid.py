"""The launch grid of a contraction: which workgroup computes which block tile."""

from __future__ import annotations

import dataclasses

from kgen.schedule import GpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import launch_of
from kgen.targets.contraction.raster import Raster
from kgen_runtime.manifest import Launch


def block_tiles(
    spec: Matmul, block_m: int, block_n: int, *, group: int = 1, dies: int = 1
) -> Raster:
    """Return the raster of a contraction's output: block tiles in groups of rows."""
    return Raster(
        shape=(spec.batch, spec.m, spec.n), extent=(1, block_m, block_n), group=group, dies=dies
    )


def plan_launch(spec: Matmul, schedule: GpuMatmul, threads: int, shared_bytes: int = 0) -> Launch:
    """Return the launch of one workgroup per block tile: n along x, m along y, matrices along z.

    `shared_bytes` is the size of dynamic shared memory.
    """
    tiles = block_tiles(spec, schedule.block_m, schedule.block_n)
    extents = (tiles.cols, tiles.rows, tiles.batch)
    return launch_of(
        spec, extents, threads, tiles.by_coordinates, dynamic_shared_memory=shared_bytes
    )


def numbered(launch: Launch, raster: Raster, workgroups: int) -> Launch:
    """Return the launch of `workgroups` that take block tiles by number, in `raster`'s order."""
    return dataclasses.replace(launch, grid=(workgroups, 1, 1), tile=raster.by_number)
