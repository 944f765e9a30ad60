"""What a CTA does for one tile along k, as the model of run time counts it."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.schedule import GpuMatmul, WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.devices import Device
from kgen.targets.cuda.plan.wgmma_limits import OTHER_REGISTERS, WARPGROUP, WARPS, WGMMA_M

#: Clocks of a barrier, a wait and the first loads behind it, once per tile.
TILE_OVERHEAD = 60
#: The same of wgmma: products of the tile before still run meanwhile.
ASYNC_OVERHEAD = 20
#: Instructions for a wgmma with its descriptors, and of the rest of its loop.
WGMMA_INSTRUCTIONS, RING_INSTRUCTIONS = 6, 20


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one CTA does for one k tile, and what it holds."""

    num_warps: int
    registers: int
    shared_bytes: int
    product_clocks: float
    shared_traffic: int
    instructions: int
    warp_clocks: float
    loaded_bytes: int
    in_flight_bytes: int
    tile_overhead: int = TILE_OVERHEAD


def loaded_bytes(spec: Matmul, schedule: GpuMatmul) -> int:
    """Bytes of both tiles that lie in the matrices."""
    edge = min(schedule.block_m, spec.m) + min(schedule.block_n, spec.n)
    return edge * min(schedule.block_k, spec.k) * spec.dtype.itemsize


def wgmma_work(spec: Matmul, device: Device, schedule: WgmmaMatmul) -> Work:
    """wgmma reads both operands from shared memory, B once for each consumer."""
    depth, itemsize = schedule.block_k, spec.dtype.itemsize
    m, n, rows = schedule.block_m, schedule.block_n, schedule.rows
    steps = depth * itemsize // 32
    stage = (m + n) * depth * itemsize
    loaded = loaded_bytes(spec, schedule)
    threads = (1 + schedule.consumers) * WARPGROUP
    held = rows * n // WARPGROUP + OTHER_REGISTERS
    return Work(
        num_warps=(1 + schedule.consumers) * WARPS,
        registers=held if schedule.consumers == 1 else 65536 // threads // 8 * 8,
        shared_bytes=schedule.num_stages * stage,
        product_clocks=m * n * depth / device.wgmma_fmas,
        shared_traffic=stage + schedule.consumers * (rows + n) * depth * itemsize,
        instructions=rows // WGMMA_M * steps * WGMMA_INSTRUCTIONS + RING_INSTRUCTIONS,
        warp_clocks=rows * n * depth / device.wgmma_fmas,
        loaded_bytes=loaded,
        in_flight_bytes=(schedule.num_stages - 1) * loaded,
        tile_overhead=ASYNC_OVERHEAD,
    )
